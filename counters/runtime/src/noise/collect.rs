//! What all threads measured, for the profile. Threads share what they publish here and nothing else of their state.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use poise_profile::{Burst, Loop, Noise, Profile, Region, Series};

use super::{Module, NONE, modules, text};
use crate::tree::{self, Node};

/// A call path as the profile has it: regions, outermost first, without operations of which the program wants no record.
#[derive(Clone)]
pub struct Path(Vec<*const tree::Region>);

// SAFETY: regions are constant and live as long as the process.
unsafe impl Send for Path {}

impl Path {
    /// The path of a node.
    ///
    /// # Safety
    /// `node` must be of the calling thread's tree.
    pub unsafe fn of(node: *mut Node) -> Self {
        // SAFETY: the caller's promise.
        let mut regions = unsafe { Node::regions(node) };
        // SAFETY: regions live.
        regions.retain(|&region| unsafe { !(*region).is_unrecorded() });
        Self(regions)
    }

    /// Whether the path is at or below one of `wanted`, of which none means all.
    pub fn is_wanted(&self, wanted: &[String]) -> bool {
        // SAFETY: regions live.
        let names: Vec<String> = self.0.iter().map(|&region| unsafe { (*region).to_profile() }.name).collect();
        let path = format!("/{}/", names.join("/"));
        wanted.is_empty() || wanted.iter().any(|start| path.contains(&format!("/{}/", start.trim_matches('/'))))
    }
}

/// The bursts of one loop, call path and thread.
pub struct SharedSeries {
    module: &'static Module,
    target: u32,
    path: Path,
    thread: u32,
    /// Executions of the loop.
    pub executions: u64,
    bursts: Vec<Burst>,
    left_out: u64,
    /// Whether it takes too little of the time for anything to be said of it.
    pub is_forgotten: bool,
}

impl SharedSeries {
    /// Keeps a burst, unless there are `most` already; false where there are.
    pub fn push(&mut self, burst: Burst, most: usize) -> bool {
        let has_room = self.bursts.len() < most;
        if has_room {
            self.bursts.push(burst);
        } else {
            self.left_out += 1;
        }
        has_room
    }

    /// Leaves the bursts of the last round out: its executions were too brief to have times of their own.
    pub fn take_back(&mut self, round: u32) {
        while self.bursts.last().is_some_and(|burst| burst.round == round) {
            self.bursts.pop();
        }
        self.left_out += 1;
    }

    /// Leaves all bursts out, for that reason.
    pub fn take_back_all(&mut self) {
        self.left_out += self.bursts.len() as u64;
        self.bursts.clear();
    }
}

static ALL: Mutex<Vec<Arc<Mutex<SharedSeries>>>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<Arc<Mutex<SharedSeries>>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new series, which the profile will have.
pub fn publish(module: &'static Module, target: u32, path: &Path, thread: u32) -> Arc<Mutex<SharedSeries>> {
    let series = SharedSeries {
        module,
        target,
        path: path.clone(),
        thread,
        executions: 0,
        bursts: Vec::new(),
        left_out: 0,
        is_forgotten: false,
    };
    let series = Arc::new(Mutex::new(series));
    all().push(Arc::clone(&series));
    series
}

/// What was measured, for a profile of one rank whose nodes are known. Empty where no noise was asked for.
pub fn collect(rank: u32, profile: &Profile) -> Noise {
    let mut noise = Noise::default();
    if super::SETTINGS.get().is_none_or(|settings| settings.forced.is_some()) {
        return noise;
    }
    // Where each module's loops and modes begin in the lists of all.
    let mut starts = HashMap::new();
    for module in modules() {
        starts.insert(std::ptr::from_ref(module), noise.loops.len() as u32);
        noise.loops.extend(module.loops.items().iter().map(described));
        if noise.modes.is_empty() {
            noise.modes = module.modes.items().iter().map(|&mode| text(mode).to_owned()).collect();
        }
    }
    let mut forgotten = Vec::new();
    for series in all().iter() {
        let series = series.lock().unwrap_or_else(PoisonError::into_inner);
        let start = starts.get(&std::ptr::from_ref(series.module));
        let (Some(&start), Some(node)) = (start, node(profile, &series.path)) else { continue };
        let target = start + series.target;
        if series.is_forgotten {
            forgotten.push((node, target, series.thread));
        }
        noise.series.push(Series {
            node,
            target,
            rank,
            thread: series.thread,
            executions: series.executions,
            left_out: series.left_out,
            bursts: series.bursts.clone(),
        });
    }
    // What ran too briefly for a burst is said, not left out. Only of loops that are not worth it nothing is, whether they chose for
    // themselves before or not.
    let is_forgotten = |series: &Series| forgotten.contains(&(series.node, series.target, series.thread));
    noise.series.retain(|series| !series.bursts.is_empty() || series.executions > 0 && !is_forgotten(series));
    noise
}

/// The noise that loops were built with, mode by mode.
fn built() -> BTreeMap<&'static str, BTreeSet<u32>> {
    let mut built: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for module in modules() {
        for &site in module.sites.items() {
            // SAFETY: sites are static objects of the module.
            let variants = unsafe { (*site).variants.items() };
            for variant in variants.iter().filter(|variant| variant.mode != NONE) {
                let Some(&mode) = module.modes.items().get(variant.mode as usize) else { continue };
                built.entry(text(mode)).or_default().insert(variant.k);
            }
        }
    }
    built
}

fn listed((mode, quantities): (&&str, &BTreeSet<u32>)) -> String {
    let quantities: Vec<String> = quantities.iter().map(u32::to_string).collect();
    format!("{mode}:{}", quantities.join(","))
}

/// What the profile's metadata say of it; nothing where no noise was measured.
pub fn variants() -> Option<String> {
    super::SETTINGS.get().filter(|settings| settings.forced.is_none())?;
    let lines: Vec<String> = built().iter().map(listed).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// What is wrong with noise for the whole run that no loop has. Only at the end all libraries with loops are known.
pub fn mistake() -> Option<String> {
    let (mode, k) = super::SETTINGS.get()?.forced.as_ref()?;
    let built = built();
    let is_there = *k == 0 || built.get(mode.as_str()).is_some_and(|quantities| quantities.contains(k));
    let there: Vec<String> = built.iter().map(listed).collect();
    (!is_there && !there.is_empty())
        .then(|| format!("no loop has noise of {mode}:{k}, so that none was injected; there is {}", there.join(" ")))
}

/// A loop as profiles have it.
pub fn described(known: &super::Loop) -> Loop {
    Loop {
        function: text(known.function).to_owned(),
        file: text(known.file).to_owned(),
        line: known.line,
        id: known.id,
        width: known.width,
        refusal: text(known.refusal).to_owned(),
    }
}

/// The profile's node with this path.
fn node(profile: &Profile, path: &Path) -> Option<u32> {
    // SAFETY: regions live as long as the process.
    let wanted: Vec<Region> = path.0.iter().map(|&region| unsafe { (*region).to_profile() }).collect();
    let is_wanted = |&node: &u32| profile.path(node).is_some_and(|path| path.into_iter().eq(wanted.iter()));
    (0..profile.nodes.len() as u32).find(is_wanted)
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::ptr::null;

    use poise_profile::{Metric, RankBuilder, RegionKind};

    use super::*;
    use crate::tree::Tree;

    /// As where MPI calls a function back from an operation between `MPI_Pcontrol(0)` and `MPI_Pcontrol(1)`.
    #[test]
    fn loops_below_operations_without_a_record_have_the_call_path_without_them() {
        let region = |name: &'static CStr, kind: u16| {
            Box::leak(Box::new(tree::Region { name: name.as_ptr(), file: null(), line: 0, kind, flags: 0 }))
        };
        let mut tree = Box::new(Tree::new(0));
        // SAFETY: the nodes are the tree's.
        let path = unsafe {
            let solve = tree.grow(tree.root(), region(c"solve", 0));
            let operation = tree.grow(solve, region(c"MPI", 4));
            Path::of(tree.grow(operation, region(c"add", 0)))
        };
        assert!(path.is_wanted(&["solve/add".to_owned()]) && !path.is_wanted(&["MPI".to_owned()]));
        let mut builder = RankBuilder::new();
        let described =
            |name: &str| Region { name: name.into(), file: String::new(), line: 0, kind: RegionKind::Function };
        let solve = builder.node(None, described("solve"));
        let add = builder.node(Some(solve), described("add"));
        builder.add(add, Metric::BasicBlocks, 1);
        let profile = builder.finish(0);
        let found = node(&profile, &path).and_then(|node| profile.path(node)).expect("a call path of the profile");
        assert_eq!(found, [&described("solve"), &described("add")]);
    }
}
