//! Time of inlined functions. A profile has it at the function that was entered, since nothing is entered for them; which part of it is
//! theirs follows, bin by bin, from the blocks.

use std::collections::BTreeMap;

use poise_profile::{Bin, Profile, RegionKind, Timeline};

/// What a function and those inlined into it did in a bin, as far as it has been looked at.
#[derive(Default)]
struct Whole {
    time: u128,
    blocks: u128,
    /// Blocks and time that have been given out.
    blocks_so_far: u128,
    given: u128,
}

/// The timeline with the time of each entered function shared out over it and the functions inlined into it, in proportion to the blocks
/// of each in a bin. Over all of them the sum stays the same.
pub(super) fn with_times(profile: &Profile, timeline: &Timeline) -> Timeline {
    let mut timeline = timeline.clone();
    if profile.regions.iter().any(|region| region.kind == RegionKind::Inlined) {
        let entered: Vec<u32> = (0..profile.nodes.len() as u32).map(|node| entered(profile, node)).collect();
        timeline.bins.iter_mut().for_each(|bin| share_out(profile, &entered, bin));
    }
    timeline
}

/// The node of the function that was entered, around an inlined one's.
fn entered(profile: &Profile, mut node: u32) -> u32 {
    while let Some(outer) = profile.nodes[node as usize].parent
        && profile.regions[profile.nodes[node as usize].region as usize].kind == RegionKind::Inlined
    {
        node = outer;
    }
    node
}

fn share_out(profile: &Profile, entered: &[u32], bin: &mut Bin) {
    let of = |place: u32| entered[profile.phases.places[place as usize].node as usize];
    let mut wholes: BTreeMap<u32, Whole> = BTreeMap::new();
    for share in &bin.shares {
        let whole = wholes.entry(of(share.place)).or_default();
        whole.time += u128::from(share.time);
        whole.blocks += u128::from(share.count);
    }
    for share in &mut bin.shares {
        let Some(whole) = wholes.get_mut(&of(share.place)).filter(|whole| whole.blocks > 0) else { continue };
        whole.blocks_so_far += u128::from(share.count);
        let given = whole.time * whole.blocks_so_far / whole.blocks;
        share.time = (given - whole.given) as u64;
        whole.given = given;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poise_profile::{Node, Phases, Place, Region, Share};

    #[test]
    fn an_inlined_function_has_its_part_of_the_time_around_it() {
        let region = |name: &str, kind| Region { name: name.into(), file: String::new(), line: 1, kind };
        let regions = vec![
            region("main", RegionKind::Function),
            region("dot", RegionKind::Inlined),
            region("deep", RegionKind::Inlined),
            region("solve", RegionKind::Function),
        ];
        let node = |parent, region| Node { parent, region };
        let nodes = vec![node(None, 0), node(Some(0), 1), node(Some(1), 2), node(Some(1), 3)];
        let places = (0..4).map(|node| Place { node, code: None }).collect();
        let phases = Phases { places, ..Phases::default() };
        let profile = Profile { regions, nodes, phases, ..Profile::default() };
        let share = |place, count, time| Share { place, count, time, ..Share::default() };
        // main has 1 of 10 blocks, dot 3 and what is inlined there 6; solve, which is called out of dot, has its own time.
        let first = vec![share(1, 3, 0), share(3, 5, 70), share(0, 1, 100), share(2, 6, 0)];
        // Where nothing was counted, the time stays where it is.
        let second = vec![share(0, 0, 9)];
        let bins = [first, second].map(|shares| Bin { shares: shares.into(), lines: None }).into();
        let timeline = Timeline { rank: 0, thread: 0, bins, first_apart: false };
        let times: Vec<Vec<u64>> = with_times(&profile, &timeline)
            .bins
            .iter()
            .map(|bin| bin.shares.iter().map(|s| s.time).collect())
            .collect();
        assert_eq!(times, [vec![30, 70, 10, 60], vec![9]]);
    }
}
