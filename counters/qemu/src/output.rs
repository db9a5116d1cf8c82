//! The profile of what the guest's threads executed, functions named by the addresses of their first instructions.

use std::collections::{BTreeMap, HashMap};

use poise_profile::{
    BinUnit, Code, Metric, Modelled, Phases, Place, Profile, RankBuilder, Region, RegionKind, Share, Timeline,
};

use crate::flow::{Flow, Isa};
use crate::maps::Maps;
use crate::models::Models;
use crate::thread::{Block, NO_BLOCK, Thread};

/// What launchers say of this process's rank; 0 without one.
pub fn rank() -> u32 {
    let names = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok()).unwrap_or(0)
}

/// How many processes launchers say that there are, if they do; of a batch script alone nothing is said.
fn launched() -> Option<u32> {
    let names = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];
    names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// The profile of rank `rank`. Threads are numbered by the processors that QEMU gave them, then by when they began.
pub fn profile(rank: u32, mut threads: Vec<Thread>, blocks: &[&'static Block], maps: &Maps, isa: Isa) -> Profile {
    threads.sort_by_key(|thread| thread.processor);
    threads.iter_mut().for_each(Thread::end);
    let width = threads.iter().map(|thread| thread.width).max().unwrap_or(0);
    for thread in &mut threads {
        // The widths of all threads are the same one, doubled some times.
        while thread.width < width {
            thread.coarsen();
        }
    }
    let mut builder = RankBuilder::new();
    let mut places = Places { list: Vec::new(), index: HashMap::new() };
    let (mut timelines, mut modelled) = (Vec::new(), BTreeMap::new());
    for (number, thread) in (0..).zip(&mut threads) {
        let nodes = nodes(&mut builder, thread);
        let numbers: Vec<u32> =
            thread.places.iter().map(|&(node, block)| places.number(nodes[node as usize], block)).collect();
        let bins = thread.bins.iter().map(|bin| bin_of(bin, &numbers, &thread.places)).collect();
        timelines.push(Timeline { rank, thread: number, bins, first_apart: thread.has_main() });
        for (counter, found) in thread.models.take().into_iter().flat_map(Models::found) {
            let place = numbers[counter as usize];
            modelled.entry(place).or_insert_with(|| Modelled { place, ..Modelled::default() }).add(&found);
        }
    }
    add_values(&mut builder, &places.list, &timelines, blocks);
    let code =
        |&(node, block): &(u32, u32)| Place { node, code: (block != NO_BLOCK).then(|| code(blocks[block as usize])) };
    let phases = Phases {
        unit: BinUnit::Instructions,
        width,
        places: places.list.iter().map(code).collect(),
        timelines,
        modelled: modelled.into_values().collect(),
    };
    let mut profile = Profile { phases, ..builder.finish(rank) };
    let facts = [
        ("tool_version", env!("CARGO_PKG_VERSION").to_owned()),
        ("engine", "qemu".to_owned()),
        ("instruction_set", format!("{isa:?}").to_lowercase()),
        ("mappings", maps.lines()),
    ];
    profile.metadata = facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    profile.metadata.extend(launched().map(|count| ("launched".to_owned(), count.to_string())));
    profile
}

/// Nodes and blocks of all threads, numbered.
struct Places {
    list: Vec<(u32, u32)>,
    index: HashMap<(u32, u32), u32>,
}

impl Places {
    fn number(&mut self, node: u32, block: u32) -> u32 {
        let next = self.list.len() as u32;
        *self.index.entry((node, block)).or_insert_with(|| {
            self.list.push((node, block));
            next
        })
    }
}

/// The profile's node of each of the thread's.
fn nodes(builder: &mut RankBuilder, thread: &Thread) -> Vec<u32> {
    let mut nodes: Vec<u32> = Vec::with_capacity(thread.nodes.len());
    for node in &thread.nodes {
        let parent = node.parent.map(|parent| nodes[parent as usize]);
        let region =
            Region { name: format!("{:x}", node.entry), file: String::new(), line: 0, kind: RegionKind::Function };
        nodes.push(builder.node(parent, region));
    }
    nodes
}

fn bin_of(bin: &crate::thread::Bin, numbers: &[u32], places: &[(u32, u32)]) -> poise_profile::Bin {
    let share = |count: &crate::thread::Count| {
        let place = numbers[count.place as usize];
        match places[count.place as usize].1 {
            NO_BLOCK => Share { place, visits: count.count, ..Share::default() },
            _ => Share { place, count: count.count, jumps: count.jumps, turns: count.turns, ..Share::default() },
        }
    };
    let shares = bin.counts.iter().map(share).collect();
    poise_profile::Bin { shares, lines: bin.lines }
}

fn code(block: &Block) -> Code {
    let Block { start, tag, instructions, flow, ref bytes, .. } = *block;
    Code { address: start + tag, instructions, ends_block: flow != Flow::Next, bytes: bytes.clone() }
}

/// Adds each call path's visits, blocks and instructions over all bins.
fn add_values(builder: &mut RankBuilder, places: &[(u32, u32)], timelines: &[Timeline], blocks: &[&'static Block]) {
    for share in timelines.iter().flat_map(|t| &t.bins).flat_map(|bin| &bin.shares) {
        let (node, block) = places[share.place as usize];
        if block == NO_BLOCK {
            builder.add(node, Metric::Visits, share.visits);
            continue;
        }
        let block = blocks[block as usize];
        builder.add(node, Metric::BasicBlocks, if block.flow == Flow::Next { 0 } else { share.count });
        builder.add(node, Metric::Instructions, share.count.saturating_mul(block.instructions.into()));
    }
}
