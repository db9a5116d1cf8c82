//! Effort over time: bins of each thread, where POISE_PHASES asks for them. This file is what the hooks call and what
//! becomes of it in the profile; `recorder` holds a thread's bins.
//!
//! Without POISE_PHASES each hook reads one word and goes on; with it, mostly three.

mod recorder;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use poise_profile::{Bin, BinUnit, Phases, Place, Profile, Region, Share, Timeline};

use crate::clock::{self, Scale};
use crate::process::say;
use crate::thread::alone;
use crate::tree::{Counter, Node};
use crate::words;
use recorder::{Path, Recorder};

// `poise_bins` must be reached without a call, as `poise_thread` of `../thread.rs`.
words::define!("poise_bins", 8);

/// Where the calling thread's pointer to its bins is; null where it has none.
#[inline(always)]
fn here() -> *mut *const Local {
    words::address!("poise_bins")
}

/// The bins of a thread: what its hooks look at, and behind a lock what changes from bin to bin.
struct Local {
    /// Number of the current bin, from 1.
    bin: Counter,
    /// The blocks or the time at which it is full.
    limit: Counter,
    is_time: bool,
    /// Number of the thread in its process.
    thread: u32,
    recorder: Mutex<Recorder>,
}

// SAFETY: what the recorder points to are regions, which are constant, and nodes, which other threads only read while their
// tree lives: `thread_ends` makes the recorder forget them.
unsafe impl Send for Local {}
// SAFETY: as above; the counters are atomic, and only the thread itself writes them.
unsafe impl Sync for Local {}

impl Local {
    /// Runs `action` on the recorder, unless that is in use: by a hook that a signal handler interrupted, or by the thread
    /// that makes the profile.
    fn with(&self, action: impl FnOnce(&mut Recorder)) -> bool {
        match self.recorder.try_lock() {
            Ok(mut recorder) => action(&mut recorder),
            Err(TryLockError::Poisoned(poisoned)) => action(&mut poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => return false,
        }
        true
    }
}

/// What POISE_PHASES asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Settings {
    unit: BinUnit,
    /// Blocks or nanoseconds; `None` where bins widen as needed.
    width: Option<u64>,
}

/// Blocks of the first bins where they widen as needed.
const FIRST_BLOCKS: u64 = 1 << 14;
/// Nanoseconds of the first bins.
const FIRST_TIME: u64 = 100_000;

static SETTINGS: OnceLock<Settings> = OnceLock::new();
/// Whether bins are not to be made after all.
static STOPPED: AtomicBool = AtomicBool::new(false);
static ALL: Mutex<Vec<Arc<Local>>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<Arc<Local>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Settings {
    /// Reads `blocks`, `time`, or either with `=WIDTH`; nothing for an empty text.
    fn parse(text: &str) -> Result<Option<Self>, String> {
        let (what, width) =
            text.trim().split_once('=').map_or((text.trim(), None), |(what, width)| (what, Some(width)));
        let unit = match what {
            "" if width.is_none() => return Ok(None),
            "blocks" => BinUnit::Blocks,
            "time" => BinUnit::Time,
            other => return Err(format!("`{other}` is neither blocks nor time")),
        };
        let parsed = |text: &str| match text.parse::<u64>() {
            Ok(width) if width > 0 => Ok(width),
            _ => Err(format!("`{text}` is no width")),
        };
        Ok(Some(Self { unit, width: width.map(parsed).transpose()? }))
    }

    /// The width in blocks or ticks.
    fn in_ticks(self) -> u64 {
        match self.unit {
            BinUnit::Time => {
                let nanoseconds = u128::from(self.width.unwrap_or(FIRST_TIME));
                let scale = u128::from(clock::rough_scale().max(1));
                u64::try_from((nanoseconds << 20) / scale).unwrap_or(u64::MAX).max(1)
            }
            _ => self.width.unwrap_or(FIRST_BLOCKS),
        }
    }
}

/// Reads the environment, in a process that measures; says what is wrong with it.
pub fn start(text: &str) -> Result<(), String> {
    if let Some(settings) = Settings::parse(text)? {
        let _ = SETTINGS.set(settings);
    }
    Ok(())
}

fn settings() -> Option<&'static Settings> {
    SETTINGS.get().filter(|_| !STOPPED.load(Ordering::Acquire))
}

/// From now on nobody gets bins, and the profile has none. Whether there would have been some.
pub fn stop() -> bool {
    STOPPED.store(true, Ordering::Release);
    SETTINGS.get().is_some()
}

/// Takes the calling thread's bins away. Their nodes are looked at no more, since bins are [`stop`]ped for good.
#[inline]
pub fn forget() {
    // SAFETY: the word is this thread's.
    unsafe { *here() = null() };
}

/// Gives the calling thread bins, if it is to have some; its blocks are attributed up to `mark`.
pub fn thread_begins(mark: u64) {
    static THREADS: AtomicU32 = AtomicU32::new(0);
    let Some(settings) = settings() else { return };
    let width = settings.in_ticks();
    let is_time = settings.unit == BinUnit::Time;
    let local = Arc::new(Local {
        bin: Counter::default(),
        limit: Counter::default(),
        is_time,
        thread: THREADS.fetch_add(1, Ordering::Relaxed),
        recorder: Mutex::new(Recorder::new(settings.unit, width, settings.width.is_none())),
    });
    local.bin.add(1);
    local.limit.add(if is_time { clock::now() } else { mark }.saturating_add(width));
    // The list keeps it alive as long as the process.
    let pointer = Arc::as_ptr(&local);
    all().push(local);
    // SAFETY: the word is this thread's.
    unsafe { *here() = pointer };
}

/// The calling thread's tree is about to go. What it did is kept.
pub fn thread_ends() {
    // SAFETY: the word is this thread's; what it points to lives as long as the process.
    if let Some(local) = unsafe { std::mem::replace(&mut *here(), null()).as_ref() } {
        // Waits for the thread that makes the profile, which looks at nodes that are about to go.
        local.recorder.lock().unwrap_or_else(PoisonError::into_inner).end();
    }
}

/// The calling thread's bins; `None` where it has none.
#[inline(always)]
fn local() -> Option<&'static Local> {
    // SAFETY: as in `thread_ends`.
    unsafe { (*here()).as_ref() }
}

/// `node`, of the calling thread's tree, is about to count something. `busy` is the thread's, as for [`alone`].
#[inline(always)]
pub fn prepare(node: *mut Node, busy: &mut u64) {
    if let Some(local) = local() {
        // SAFETY: the caller's promise.
        let node_bin = unsafe { &(*node).bin };
        if node_bin.get() != local.bin.get() {
            reach(local, node, busy);
        }
    }
}

#[cold]
#[inline(never)]
fn reach(local: &'static Local, node: *mut Node, busy: &mut u64) {
    let reach = move |recorder: &mut Recorder| recorder.reach(node, [0, 0]);
    if alone(busy, false, move || local.with(reach)) {
        // SAFETY: the caller's promise.
        unsafe { (*node).bin.set(local.bin.get()) };
    }
}

/// `node` has just counted `blocks` in `ticks`: the thread has executed `all` blocks, and it is `now`. `busy` is the thread's,
/// as for [`alone`].
#[inline(always)]
pub fn advance(node: *mut Node, (blocks, ticks): (u64, u64), all: u64, now: u64, busy: &mut u64) {
    if let Some(local) = local() {
        let at = if local.is_time { now } else { all };
        if at >= local.limit.get() {
            close(local, node, (blocks, ticks), at, busy);
        }
    }
}

#[cold]
#[inline(never)]
fn close(local: &'static Local, node: *mut Node, (blocks, ticks): (u64, u64), at: u64, busy: &mut u64) {
    let close = move |recorder: &mut Recorder| {
        let left = recorder.close(node, blocks, ticks, at - local.limit.get());
        local.limit.set((at - left).saturating_add(recorder.width));
        local.bin.add(1);
    };
    if alone(busy, false, AssertUnwindSafe(move || local.with(close))) {
        // SAFETY: the caller's promise.
        unsafe { (*node).bin.set(local.bin.get()) };
    }
}

/// The last `blocks` were polling and leave the effort: the bin ends that much later.
pub fn polled(blocks: u64) {
    if let Some(local) = local().filter(|local| !local.is_time) {
        local.limit.set(local.limit.get().saturating_add(blocks));
    }
}

/// The bins of all threads, for a profile of one rank whose nodes are known. Empty where none were asked for.
pub fn collect(rank: u32, profile: &Profile, scale: &Scale) -> Phases {
    let Some(settings) = settings() else { return Phases::default() };
    let mut collected = Collected::new(profile);
    let mut timelines: Vec<(u64, Timeline)> = Vec::new();
    for local in all().iter() {
        // A thread that is recording right now is done in no time, unless it is this one, interrupted by a handler.
        let mut patience = 100;
        let mut add =
            |recorder: &mut Recorder| timelines.extend(collected.timeline((rank, local.thread), recorder, scale));
        let mut is_added = local.with(&mut add);
        while !is_added && patience > 0 {
            std::thread::sleep(Duration::from_millis(1));
            patience -= 1;
            is_added = local.with(&mut add);
        }
        if !is_added {
            say(&format!(
                "thread {} of rank {rank} was interrupted while it changed its bins; it has none in the profile.",
                local.thread
            ));
        }
    }
    let first = settings.in_ticks();
    let widest = timelines.iter().map(|(width, _)| *width).max().unwrap_or(first);
    let mut phases = Phases { unit: settings.unit, places: collected.places, ..Phases::default() };
    for (width, timeline) in timelines {
        let mut own = Phases { timelines: vec![timeline], ..Phases::default() };
        own.coarsen(widest / width);
        phases.timelines.append(&mut own.timelines);
    }
    let nominal = settings.width.unwrap_or(if settings.unit == BinUnit::Time { FIRST_TIME } else { FIRST_BLOCKS });
    phases.width = nominal.saturating_mul(widest / first);
    phases
}

/// Places of a profile that is being made.
struct Collected<'a> {
    profile: &'a Profile,
    callees: HashMap<(Option<u32>, &'a Region), u32>,
    places: Vec<Place>,
    index: HashMap<u32, u32>,
}

impl<'a> Collected<'a> {
    fn new(profile: &'a Profile) -> Self {
        let key = |node: &poise_profile::Node| (node.parent, &profile.regions[node.region as usize]);
        let callees = profile.nodes.iter().map(key).zip(0..).collect();
        Self { profile, callees, places: Vec::new(), index: HashMap::new() }
    }

    /// A thread's bins, and how many blocks or ticks wide they are; nothing of a thread that did nothing.
    fn timeline(&mut self, (rank, thread): (u32, u32), recorder: &Recorder, scale: &Scale) -> Option<(u64, Timeline)> {
        let places: Vec<Option<u32>> = recorder.paths.iter().map(|path| self.place(path)).collect();
        let share = |share: &recorder::Share| {
            let [count, ticks, visits, bytes_sent, bytes_received, waiting] = share.numbers;
            let (time, wait_time) = (scale.nanoseconds(ticks), scale.nanoseconds(waiting));
            let place = places[share.path as usize]?;
            Some(Share { place, count, visits, bytes_sent, bytes_received, time, wait_time, ..Share::default() })
        };
        let bin =
            |shares: &Vec<recorder::Share>| Bin { shares: shares.iter().filter_map(share).collect(), lines: None };
        let bins: Vec<Bin> = recorder.all_bins().iter().map(bin).collect();
        (!bins.is_empty()).then_some((recorder.width, Timeline { rank, thread, bins }))
    }

    /// The place of a call path.
    fn place(&mut self, path: &Path) -> Option<u32> {
        let mut node = None;
        for &region in path {
            // SAFETY: regions live as long as the process.
            let region = unsafe { (*region).to_profile() };
            node = Some(*self.callees.get(&(node, &region))?);
        }
        // What is executed outside all regions has a root of its own where it counts anything.
        let outside = || {
            let nodes = (0..).zip(&self.profile.nodes);
            let mut roots = nodes.filter(|(_, node)| node.parent.is_none());
            roots.find(|(_, n)| self.profile.regions[n.region as usize].name == "(outside all regions)").map(|(i, _)| i)
        };
        let node = node.or_else(outside)?;
        let next = self.places.len() as u32;
        Some(*self.index.entry(node).or_insert_with(|| {
            self.places.push(Place { node, code: None });
            next
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read_and_mistakes_told() {
        let parse = |text| Settings::parse(text);
        assert_eq!(parse(""), Ok(None));
        assert_eq!(parse("blocks"), Ok(Some(Settings { unit: BinUnit::Blocks, width: None })));
        assert_eq!(parse("time=5000"), Ok(Some(Settings { unit: BinUnit::Time, width: Some(5000) })));
        assert!(parse("cycles").unwrap_err().contains("neither blocks nor time"));
        assert!(parse("blocks=0").unwrap_err().contains("no width"));
        assert!(parse("blocks=many").is_err());
    }
}
