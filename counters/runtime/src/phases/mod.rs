//! Effort over time: bins of each thread, where POISE_PHASES asks for them. This file is what the hooks call and what
//! becomes of it in the profile; `recorder` holds a thread's bins, `collected` brings those of all threads to the places of a profile.
//!
//! A hook compares the blocks and the clock with where the current bin ends, and the bin of a call path that it comes to with the
//! current one; it does so without POISE_PHASES, too, where no bin ever ends.

mod collected;
mod recorder;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use poise_profile::{BinUnit, EncodedPhases, Profile};

use crate::clock::{self, Scale};
use crate::process::{self, say};
use crate::thread::{self, alone};
use crate::totals::Totals;
use crate::tree::Node;
use collected::Collected;
use recorder::Recorder;

/// What a thread's hooks look at, behind its `poise_thread`. All zero in a thread that has entered nothing, whose hooks do not
/// look at it. The thread alone does.
#[repr(C)]
pub struct Bins {
    /// The blocks at which the current bin is full; more than there can be where that does not depend on them.
    limit: u64,
    /// The clock at which it is, likewise.
    until: u64,
    /// Number of the current bin, from 1; 0 where there are none.
    bin: u64,
    /// Null where there are none.
    local: *const Local,
    /// Blocks of inlined functions that were told since the clock was last read for such.
    told: u64,
}

impl Bins {
    /// No bins: none ever ends.
    const NONE: Self = Self { limit: u64::MAX, until: u64::MAX, bin: 0, local: null(), told: 0 };

    /// Whether to read the clock where `blocks` of an inlined function are told, for which the function around it has no hook and has `own` blocks that
    /// are not attributed yet. Where there are fewer since it was last read here than the narrowest bins hold, reading it would cost more than it says.
    #[inline(always)]
    pub fn want_time_of(&mut self, own: u64, blocks: u64) -> bool {
        if self.local.is_null() {
            return false;
        }
        // No thread executes as many as would wrap.
        self.told = self.told.wrapping_add(blocks);
        let wants = own.wrapping_add(self.told) >= FIRST_BLOCKS;
        if wants {
            self.told = 0;
        }
        wants
    }

    /// Where the current bin ends, in its unit.
    fn end(&mut self, is_time: bool) -> &mut u64 {
        if is_time { &mut self.until } else { &mut self.limit }
    }
}

/// What has just been counted.
#[derive(Clone, Copy)]
pub struct Done {
    /// Where blocks were executed. It was prepared, as `timed` was.
    pub node: *mut Node,
    /// The blocks.
    pub blocks: u64,
    /// Visits there that had no hook.
    pub visits: u64,
    /// What has their time: the same, or the function that an inlined one is in.
    pub timed: *mut Node,
    /// The time.
    pub ticks: u64,
}

/// The bins of a thread, which others may read.
struct Local {
    is_time: bool,
    /// Number of the thread in its process.
    thread: u32,
    recorder: Mutex<Recorder>,
    /// What it has reached, until somebody has the recorder.
    reached: Reached,
    /// What operations turned out to have waited, until somebody has the recorder: the last one told, which leads to those before.
    late: AtomicPtr<Moment>,
}

// SAFETY: what the recorder points to are regions, which are constant, and nodes, which other threads only read while their
// tree lives: `thread_ends` makes the recorder forget them.
unsafe impl Send for Local {}
// SAFETY: as above.
unsafe impl Sync for Local {}

impl Local {
    fn new(is_time: bool, thread: u32, recorder: Recorder) -> Self {
        Self {
            is_time,
            thread,
            recorder: Mutex::new(recorder),
            reached: Reached::default(),
            late: AtomicPtr::new(null_mut()),
        }
    }

    /// The recorder, which has all that was reached and told late, unless that is in use: by a hook that a signal handler interrupted, or by
    /// the thread that makes the profile.
    fn get(&self) -> Option<MutexGuard<'_, Recorder>> {
        let mut recorder = match self.recorder.try_lock() {
            Ok(recorder) => recorder,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.bring(&mut recorder);
        Some(recorder)
    }

    /// The same for the thread that makes the profile, which waits for it; but where it is that thread's own, interrupted by a handler that ends the
    /// process, it is never done.
    fn wait(&self) -> Option<MutexGuard<'_, Recorder>> {
        let begin = Instant::now();
        // SAFETY: the words are this thread's.
        let is_own = std::ptr::eq(self, unsafe { (*thread::bins()).local });
        loop {
            let recorder = self.get();
            if recorder.is_some() || is_own || begin.elapsed() >= PATIENCE {
                return recorder;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Runs `action` on the recorder, unless that is in use; whether it did.
    fn with(&self, action: impl FnOnce(&mut Recorder)) -> bool {
        self.get().map(|mut recorder| action(&mut recorder)).is_some()
    }

    /// Puts what was reached and what was told late into the bins.
    fn bring(&self, recorder: &mut Recorder) {
        self.reached.take(|node| recorder.reach(node));
        // As a rule there is none, and asking is cheaper than taking.
        if self.late.load(Ordering::Relaxed).is_null() {
            return;
        }
        let mut next = self.late.swap(null_mut(), Ordering::Acquire);
        while !next.is_null() {
            // SAFETY: it came from a box in `Moment::waited`, and whoever took the list has it alone.
            let moment = unsafe { Box::from_raw(next) };
            next = moment.before_it;
            recorder.waited_before(moment.node, moment.waited, moment.place);
        }
    }
}

/// Nodes for which there is room.
const REACHED: usize = 32;

/// Nodes that a thread reached in the current bin and that its recorder does not know of yet. The thread alone adds, in its hooks and in signal
/// handlers that interrupt these, without a lock; whoever has the recorder takes.
#[derive(Default)]
struct Reached {
    nodes: [AtomicPtr<Node>; REACHED],
    /// How many were ever added. Each is at the place of its number, modulo [`REACHED`].
    added: AtomicU64,
    /// How many of them were taken.
    taken: AtomicU64,
}

impl Reached {
    /// Adds a node; false where there is no room.
    fn add(&self, node: *mut Node) -> bool {
        loop {
            let added = self.added.load(Ordering::Relaxed);
            // Acquire: who took what was there before is done with it.
            if added.wrapping_sub(self.taken.load(Ordering::Acquire)) >= REACHED as u64 {
                return false;
            }
            // The number first: a signal handler that comes in between has the next one, and no node is put where another is.
            if self.added.compare_exchange(added, added + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                // Release: the node.
                self.nodes[added as usize % REACHED].store(node, Ordering::Release);
                return true;
            }
        }
    }

    /// Takes the nodes in the order in which they were added, up to one whose number is given and that is not there yet, as where its thread was interrupted. The
    /// caller has the recorder, so that nobody else does.
    fn take(&self, mut with: impl FnMut(*mut Node)) {
        let (mut taken, added) = (self.taken.load(Ordering::Relaxed), self.added.load(Ordering::Relaxed));
        while taken < added {
            let node = self.nodes[taken as usize % REACHED].swap(null_mut(), Ordering::Acquire);
            if node.is_null() {
                break;
            }
            with(node);
            taken += 1;
        }
        self.taken.store(taken, Ordering::Release);
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
const FIRST_BLOCKS: u64 = 1 << 12;
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
        if settings.unit == BinUnit::Time && clock::is_none() {
            return Err("there is no time by POISE_CLOCK=none".into());
        }
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
    unsafe { *thread::bins() = Bins::NONE };
}

/// Gives the calling thread bins, if it is to have some; its blocks are attributed up to `mark`, and it is at `node`.
pub fn thread_begins(mark: u64, node: *mut Node) {
    static THREADS: AtomicU32 = AtomicU32::new(0);
    // SAFETY: the word is this thread's.
    let bins = unsafe { &mut *thread::bins() };
    *bins = Bins::NONE;
    let Some(settings) = settings() else { return };
    let width = settings.in_ticks();
    let is_time = settings.unit == BinUnit::Time;
    let mut recorder = Recorder::new(settings.unit, width, settings.width.is_none());
    recorder.reach(node);
    let thread = THREADS.fetch_add(1, Ordering::Relaxed);
    let local = Arc::new(Local::new(is_time, thread, recorder));
    *bins.end(is_time) = if is_time { clock::now() } else { mark }.saturating_add(width);
    bins.bin = 1;
    // The list keeps it alive as long as the process.
    bins.local = Arc::as_ptr(&local);
    // SAFETY: the caller's promise.
    unsafe { (*node).bin.set(bins.bin) };
    all().push(local);
}

/// The calling thread's tree is about to go. What it did is kept.
pub fn thread_ends() {
    // SAFETY: the words are this thread's; what they point to lives as long as the process.
    if let Some(local) = unsafe { std::mem::replace(&mut *thread::bins(), Bins::NONE).local.as_ref() } {
        // A forked child makes no profile, and the lock may be held by a thread that it does not have.
        if !process::is_active() {
            return;
        }
        // Waits for the thread that makes the profile, which looks at nodes that are about to go.
        let mut recorder = local.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        local.bring(&mut recorder);
        recorder.end();
    }
}

/// The calling thread comes to `node`, of its tree, and will count there. `busy` is the thread's, as for [`alone`].
#[inline(always)]
pub fn prepare(bins: &Bins, node: *mut Node, busy: &mut u64) {
    // SAFETY: the caller's promise.
    if unsafe { &(*node).bin }.get() != bins.bin {
        reach(bins, node, busy);
    }
}

#[cold]
#[inline(never)]
fn reach(bins: &Bins, node: *mut Node, busy: &mut u64) {
    // SAFETY: what is pointed to lives as long as the process.
    let local = unsafe { bins.local.as_ref() };
    if local.is_none_or(|local| local.reached.add(node)) {
        // SAFETY: the caller's promise.
        unsafe { (*node).bin.set(bins.bin) };
    } else {
        reach_more(bins, node, busy);
    }
}

/// The same where there is no room for the node.
#[cold]
#[inline(never)]
fn reach_more(bins: &Bins, node: *mut Node, busy: &mut u64) {
    // SAFETY: as in `reach`.
    let local = unsafe { bins.local.as_ref() };
    if local.is_none_or(|local| make_room(local, busy) && local.reached.add(node)) {
        // SAFETY: the caller's promise.
        unsafe { (*node).bin.set(bins.bin) };
    }
}

/// Has the recorder take what was reached; not where it is in use, so that what comes next is as good as not reached.
fn make_room(local: &Local, busy: &mut u64) -> bool {
    alone(busy, false, AssertUnwindSafe(move || local.with(|_| ())))
}

/// The thread has executed `all` blocks, of these last what was `done`, and it is `now`. `busy` is the thread's, as for [`alone`].
#[inline(always)]
pub fn advance(bins: &mut Bins, done: Done, all: u64, now: u64, busy: &mut u64) {
    if all >= bins.limit || now >= bins.until {
        close(bins, done, (all, now), busy);
    }
}

#[cold]
#[inline(never)]
fn close(bins: &mut Bins, done: Done, (all, now): (u64, u64), busy: &mut u64) {
    // SAFETY: as in `reach`.
    let Some(local) = (unsafe { bins.local.as_ref() }) else { return };
    let at = if local.is_time { now } else { all };
    let end = bins.end(local.is_time);
    let excess = at.saturating_sub(*end);
    let close = move |recorder: &mut Recorder| {
        let left = recorder.close(done, excess);
        *end = (at - left).saturating_add(recorder.width);
    };
    if alone(busy, false, AssertUnwindSafe(move || local.with(close))) {
        bins.bin += 1;
        // SAFETY: the caller's promise.
        unsafe { ((*done.node).bin.set(bins.bin), (*done.timed).bin.set(bins.bin)) };
    }
}

/// `node`, which was prepared, has counted that it waited for `waited` ticks until `until`, before `now`, when its time was attributed.
#[inline(always)]
pub fn waited(bins: &Bins, node: *mut Node, (waited, until): (u64, u64), now: u64, busy: &mut u64) {
    if bins.until != u64::MAX && waited > 0 {
        spread(bins, node, (waited, now.saturating_sub(until)), now, busy);
    }
}

#[cold]
#[inline(never)]
fn spread(bins: &Bins, node: *mut Node, (waited, ago): (u64, u64), now: u64, busy: &mut u64) {
    // SAFETY: as in `reach`.
    let Some(local) = (unsafe { bins.local.as_ref() }) else { return };
    let end = bins.until;
    let spread = move |recorder: &mut Recorder| {
        let until = recorder.place(end.saturating_sub(now)).saturating_sub(ago);
        let path = recorder.path(node);
        recorder.waited(path, waited, until);
    };
    alone(busy, false, AssertUnwindSafe(move || local.with(spread)));
}

/// Where in a thread's bins an operation ended, of which it may turn out later that it had waited.
pub struct Moment {
    local: *const Local,
    /// Number of the call path's node.
    node: u32,
    /// The place, as the recorder has it; `None` where that was in use.
    place: Option<u64>,
    /// How many ticks it waited, and until how many before it ended.
    waited: (u64, u64),
    /// What was told before it, and is in no bin yet either.
    before_it: *mut Self,
}

/// The operation at `node`, which was prepared, has ended, `now`. Nothing where there are no bins. The caller is [`alone`].
pub fn moment(bins: &Bins, node: *mut Node, now: u64) -> Option<Box<Moment>> {
    // SAFETY: as in `reach`.
    let local = unsafe { bins.local.as_ref() }?;
    let left = if local.is_time { bins.until.saturating_sub(now) } else { 0 };
    let mut place = None;
    local.with(|recorder| {
        recorder.path(node);
        place = Some(recorder.place(left));
    });
    // SAFETY: the node is of the calling thread's tree.
    let node = unsafe { (*node).number() };
    Some(Box::new(Moment { local, node, place, waited: (0, 0), before_it: null_mut() }))
}

impl Moment {
    /// It had waited for `ticks`, until `before` ticks before it ended. Any thread may say so at any time, also in a signal handler: it waits for
    /// nobody and allocates nothing. The waiting is in the bins when the thread, or whoever makes a profile, next looks at them; as a thread notes no
    /// operation without doing so, what is told and in no bin yet is never more than what was awaited at one time.
    pub fn waited(mut self: Box<Self>, ticks: u64, before: u64) {
        self.waited = (ticks, before);
        // SAFETY: as in `reach`.
        let late = unsafe { &(*self.local).late };
        let moment = Box::into_raw(self);
        let link = |last: *mut Self| {
            // SAFETY: nobody else has the moment before the list leads to it.
            unsafe { (*moment).before_it = last };
            Some(moment)
        };
        // Release: what is in the moment. The list is taken as a whole only, so that what it led to cannot be there anew.
        let _ = late.fetch_update(Ordering::Release, Ordering::Relaxed, link);
    }
}

/// The last `blocks` were polling and leave the effort: the bin ends that much later.
pub fn polled(bins: &mut Bins, blocks: u64) {
    bins.limit = bins.limit.saturating_add(blocks);
}

/// How long the profile waits for a thread that is changing its bins, which is done in no time unless it is kept from running.
const PATIENCE: Duration = Duration::from_secs(10);

/// The bins of all threads, for the profile of one rank that was made of these totals. Nothing where none were asked for. Until they are
/// encoded nobody else has them: a thread that runs on puts what it does meanwhile into a later bin.
pub fn collect(rank: u32, made: (&Totals, &Profile), scale: &Scale) -> Option<EncodedPhases> {
    let settings = settings()?;
    let locals = all();
    let (mut recorders, mut left_out) = (Vec::with_capacity(locals.len()), Vec::new());
    for local in locals.iter() {
        match local.wait() {
            Some(recorder) => recorders.push((local.thread, recorder)),
            None => left_out.push(local.thread),
        }
    }
    let first = settings.in_ticks();
    let widest = recorders.iter().map(|(_, recorder)| recorder.width).max().unwrap_or(first);
    let nominal = settings.width.unwrap_or(if settings.unit == BinUnit::Time { FIRST_TIME } else { FIRST_BLOCKS });
    let width = nominal.saturating_mul(widest / first);
    let mut collected = Collected::new(made);
    let mut phases = EncodedPhases::new(settings.unit, width);
    let mut binned = BTreeMap::new();
    for (thread, recorder) in recorders {
        let sums = (!left_out.is_empty()).then_some(&mut binned);
        collected.put(&mut phases, (rank, thread), (&recorder, widest), scale, sums);
    }
    if let Some(&thread) = left_out.first() {
        say(&format!(
            "{} of rank {rank} could not be asked for bins, since a signal handler ended the process in the middle of a change; all that is in no other bin is one bin of thread {thread}.",
            if left_out.len() == 1 { format!("thread {thread}") } else { format!("{} threads", left_out.len()) }
        ));
        let rest = collected.rest(&binned);
        phases.add_timeline((rank, thread), [rest.into_iter()].into_iter());
    }
    phases.places = collected.places;
    Some(phases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use poise_profile::{Bin, Metric, Share, Timeline};

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

    #[test]
    fn what_a_thread_did_whose_bins_cannot_be_asked_for_is_one_bin() {
        let region = poise_profile::Region {
            name: "f".into(),
            file: String::new(),
            line: 0,
            kind: poise_profile::RegionKind::Function,
        };
        let mut builder = poise_profile::RankBuilder::new();
        let node = builder.node(None, region);
        builder.add(node, Metric::BasicBlocks, 70);
        builder.add(node, Metric::Visits, 3);
        let profile = builder.finish(5);
        SETTINGS.set(Settings { unit: BinUnit::Blocks, width: Some(10) }).unwrap();
        let recorder = Recorder::new(BinUnit::Blocks, 10, false);
        let local = Arc::new(Local::new(false, 2, recorder));
        all().push(local.clone());
        // As where a signal handler ends the process that this thread interrupted in the middle of a change.
        let held = local.recorder.lock().unwrap();
        // SAFETY: the words are this thread's.
        unsafe { (*thread::bins()).local = Arc::as_ptr(&local) };
        let encoded = collect(5, (&Totals::default(), &profile), &Scale::since(&clock::Instant::now()));
        drop(held);
        let phases = Profile::decode(&profile.encode_with(&encoded.unwrap())).unwrap().phases;
        let share = Share { place: 0, count: 70, visits: 3, ..Share::default() };
        let bins = vec![Bin { shares: vec![share].into(), lines: None }];
        assert_eq!(phases.timelines, [Timeline { rank: 5, thread: 2, bins, first_apart: false }]);
        assert_eq!((phases.places[0].node, phases.width), (0, 10));
    }

    /// More than there is room for at a time, and taken now and then: in their order, each once.
    #[test]
    fn nodes_that_are_reached_are_taken_in_their_order() {
        let reached = Reached::default();
        // They are not looked into.
        let node = |number: usize| null_mut::<Node>().wrapping_byte_add(8 * number + 8);
        let (mut found, mut next) = (Vec::new(), 0);
        for room in [REACHED, 3, REACHED, 0, 7] {
            for _ in 0..room {
                assert!(reached.add(node(next)));
                next += 1;
            }
            // So it is left out, not put in another's place.
            assert_eq!(reached.add(node(1000)), room != REACHED);
            reached.take(|node| found.push(node));
            if room != REACHED {
                assert_eq!(found.pop(), Some(node(1000)));
            }
        }
        assert_eq!(found, (0..next).map(node).collect::<Vec<_>>());
        reached.take(|_| panic!("all was taken"));
    }

    /// Signal handlers add nodes of their own wherever they interrupt their thread's adding: each is taken once, whoever added it.
    #[test]
    fn what_handlers_reach_in_between_is_taken_once() {
        static REACHED_BY_BOTH: Reached = Reached {
            nodes: [const { AtomicPtr::new(null_mut()) }; REACHED],
            added: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        };
        static BY_HANDLER: AtomicU64 = AtomicU64::new(0);
        const HANDLERS: *mut Node = std::ptr::without_provenance_mut(16);
        const THREADS: *mut Node = std::ptr::without_provenance_mut(8);
        extern "C" fn handler(_: libc::c_int) {
            BY_HANDLER.fetch_add(u64::from(REACHED_BY_BOTH.add(HANDLERS)), Ordering::Relaxed);
        }
        // SAFETY: the handler only changes atomic numbers, and no other test uses the signal.
        unsafe { libc::signal(libc::SIGUSR2, handler as *const () as libc::sighandler_t) };
        // SAFETY: it cannot fail.
        let this = unsafe { libc::pthread_self() };
        let done = AtomicBool::new(false);
        let (mut added, mut taken) = (0, [0, 0]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    // SAFETY: the thread waits for this one.
                    unsafe { libc::pthread_kill(this, libc::SIGUSR2) };
                }
            });
            let begin = Instant::now();
            while BY_HANDLER.load(Ordering::Relaxed) < 20_000 && begin.elapsed() < Duration::from_secs(20) {
                (0..8).for_each(|_| added += u64::from(REACHED_BY_BOTH.add(THREADS)));
                REACHED_BY_BOTH.take(|node| taken[usize::from(node == HANDLERS)] += 1);
            }
            done.store(true, Ordering::Relaxed);
        });
        REACHED_BY_BOTH.take(|node| taken[usize::from(node == HANDLERS)] += 1);
        assert!(BY_HANDLER.load(Ordering::Relaxed) > 1000, "signals came: {}", BY_HANDLER.load(Ordering::Relaxed));
        assert_eq!(taken, [added, BY_HANDLER.load(Ordering::Relaxed)]);
    }

    /// More call paths in one bin than there is room for between two of its ends: the recorder takes them before, each in the bin in which it was
    /// reached. In a signal handler that interrupted a change of the bins the one too many stays unreached.
    #[test]
    fn a_bin_has_all_call_paths_however_many_are_reached_in_it() {
        let region =
            || Box::leak(Box::new(crate::tree::Region { name: null(), file: null(), line: 1, kind: 0, flags: 0 }));
        let mut tree = Box::new(crate::tree::Tree::new(0));
        // SAFETY: the root is the tree's, and the regions live as long as the process.
        let nodes: Vec<*mut Node> = (0..3 * REACHED + 1).map(|_| unsafe { tree.grow(tree.root(), region()) }).collect();
        let local: &Local = Box::leak(Box::new(Local::new(false, 0, Recorder::new(BinUnit::Blocks, 1000, false))));
        let mut bins = Bins { limit: 1000, bin: 1, local, ..Bins::NONE };
        let (last, others) = nodes.split_last().unwrap();
        let mut busy = 0;
        for &node in others {
            prepare(&bins, node, &mut busy);
            // SAFETY: the node is of this test's tree.
            unsafe { (*node).blocks.add(1) };
        }
        busy = 1;
        prepare(&bins, *last, &mut busy);
        // SAFETY: as above.
        assert_eq!(unsafe { (**last).bin.get() }, 0);
        busy = 0;
        prepare(&bins, *last, &mut busy);
        // SAFETY: as above.
        unsafe { (**last).blocks.add(1004 - others.len() as u64) };
        let done = Done { node: *last, blocks: 1004 - others.len() as u64, visits: 0, timed: *last, ticks: 0 };
        advance(&mut bins, done, 1004, 0, &mut busy);
        let counts = |recorder: &mut Recorder| {
            let of = |bin: &[recorder::Share]| bin.iter().map(|share| share.numbers[0]).collect::<Vec<_>>();
            let mut first = vec![1; others.len()];
            first.push(1000 - others.len() as u64);
            assert_eq!(recorder.bins(|bins| bins.iter().map(of).collect::<Vec<_>>()), [first, vec![4]]);
        };
        assert!(local.with(counts));
        assert_eq!((bins.bin, bins.limit), (2, 2000));
    }

    /// In a forked child, as in this process that measures nothing, a thread that ends waits for no lock that a thread it does not have may hold.
    #[test]
    fn a_forked_child_waits_for_no_recorder() {
        let local: &Local = Box::leak(Box::new(Local::new(false, 0, Recorder::new(BinUnit::Blocks, 1000, false))));
        let _held = local.recorder.lock().unwrap();
        // SAFETY: the words are this thread's.
        unsafe { *thread::bins() = Bins { limit: 1000, bin: 1, local, ..Bins::NONE } };
        thread_ends();
        // SAFETY: as above.
        assert!(unsafe { (*thread::bins()).local }.is_null());
    }

    /// As a credit comes while a checkpoint is made, or in a signal handler that interrupted a change.
    #[test]
    fn waiting_that_is_told_while_bins_are_in_use_is_in_them_afterwards() {
        let region =
            Box::leak(Box::new(crate::tree::Region { name: null(), file: null(), line: 1, kind: 0, flags: 0 }));
        let mut tree = Box::new(crate::tree::Tree::new(0));
        // SAFETY: the root is the tree's.
        let node = unsafe { tree.grow(tree.root(), region) };
        let mut recorder = Recorder::new(BinUnit::Time, 100, false);
        recorder.reach(node);
        let local = Local::new(true, 0, recorder);
        let close = |ticks: u64, excess: u64| {
            // SAFETY: the node is of this test's tree.
            unsafe { (*node).ticks.add(ticks) };
            assert!(local.with(|recorder| {
                recorder.close(Done { node, blocks: 0, visits: 0, timed: node, ticks }, excess);
            }));
        };
        close(250, 150);
        // It ended at 230.
        let bins = Bins { until: 300, local: &raw const local, ..Bins::NONE };
        let at = |now: u64| moment(&bins, node, now).expect("there are bins");
        let (first, second) = (at(230), at(230));
        let held = local.recorder.lock().unwrap();
        first.waited(60, 0);
        second.waited(50, 60);
        // The recorder does not say where it is.
        let third = at(240);
        third.waited(7, 0);
        drop(held);
        close(50, 0);
        let waiting = |bin: &[recorder::Share]| bin.iter().map(|share| share.numbers[5]).sum::<u64>();
        let found = |recorder: &Recorder| recorder.bins(|bins| bins.iter().map(waiting).collect::<Vec<u64>>());
        assert_eq!(found(&local.recorder.lock().unwrap()), [0, 80, 37]);
        at(300).waited(9, 0);
        assert!(local.with(|recorder| assert_eq!(found(recorder).iter().sum::<u64>(), 126)));
    }
}
