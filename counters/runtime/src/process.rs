//! What exists once per process: the settings, the list of threads, and the profile at the end.
//!
//! The list's lock is taken when a thread enters its first region, when it ends, and when the profile is taken; never
//! while the program's own code runs.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use poise_profile::EncodedPhases;

use crate::checkpoint;
use crate::clock::{Instant, Scale, Source};
use crate::marks;
use crate::noise;
use crate::phases;
use crate::sanitizers;
use crate::shielded;
use crate::stack;
use crate::thread;
use crate::totals::Totals;
use crate::tree::Tree;

/// Whether this process measures. Cleared in forked children, which share nothing with the profile.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Whether somebody else writes the profile.
static CLAIMED: AtomicBool = AtomicBool::new(false);
/// Whether somebody else has taken it.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether ranks of this process take turns on its threads.
static SHARED: AtomicBool = AtomicBool::new(false);
/// Whether somebody measures waiting.
static WAITING: AtomicBool = AtomicBool::new(false);
/// The POSIX key whose destructor tells that a thread ends; the last moment the thread's own code cannot come after.
static KEY: AtomicU32 = AtomicU32::new(0);

static SETTINGS: OnceLock<Settings> = OnceLock::new();
static THREADS: Mutex<Threads> = Mutex::new(Threads { live: Vec::new(), ended: None });

/// What the environment said when the process started.
struct Settings {
    path: CString,
    metadata: BTreeMap<String, String>,
    start: Instant,
    /// Whether the profile keeps what each rank had.
    keeps_ranks: bool,
}

/// The trees of all threads.
struct Threads {
    live: Vec<*mut Tree>,
    ended: Option<Totals>,
}

// SAFETY: trees may be read by any thread while they live, and they live while they are in the list.
unsafe impl Send for Threads {}

/// Says `message` in one line on standard error.
pub fn say(message: &str) {
    // In one write, so that what several ranks say does not mix.
    let _ = std::io::stderr().write_all(format!("poise: {message}\n").as_bytes());
}

/// The same of a wrong setting, which all ranks have: the first says it. Where each has its own, those of others are not told.
fn say_of_environment(message: &str) {
    if poise_profile::own_rank().unwrap_or(0) == 0 {
        say(message);
    }
}

/// Kinds of lines that one process says for all of a run.
const SAID: [&str; 2] = ["failed", "waiting"];

/// Says in one line, for all processes of the run, that `what` happened, so that there is no profile; and what there is instead.
pub fn fail(what: &str) {
    let Some(settings) = SETTINGS.get().filter(|_| is_active()) else { return };
    // Nobody else writes one, either, which would be of this process alone.
    CLAIMED.store(true, Ordering::Relaxed);
    TAKEN.store(true, Ordering::Relaxed);
    say_once(settings, SAID[0], &failure(what, checkpoint::last()));
}

/// The line of a failure, with what was saved.
fn failure(what: &str, saved: Option<String>) -> String {
    let saved = saved.unwrap_or_else(|| "POISE_CHECKPOINT would have saved what there was".into());
    format!("{what}; this run has no profile; {saved}.")
}

/// What a process says in which nothing may allocate, or take a lock, any more.
struct LastWords {
    /// Where the first process of the run leaves it.
    marker: CString,
    /// The time that the file has there.
    date: libc::timespec,
    /// One that is not younger is of an earlier run.
    earlier: libc::timespec,
    /// The whole line with a checkpoint, and without.
    lines: [String; 2],
}

static LAST_WORDS: OnceLock<LastWords> = OnceLock::new();

/// Before every last word on standard error; not where it is left for others.
const OURS: &str = "poise: ";

/// Prepares what [`die`] says happened.
pub fn prepare_to_die(what: &str) {
    let Some(settings) = SETTINGS.get() else { return };
    let profile = PathBuf::from(OsStr::from_bytes(settings.path.as_bytes()));
    let marker = CString::new(poise_profile::said_beside(&profile, SAID[0]).into_os_string().into_encoded_bytes());
    let lines = [checkpoint::whereabouts(), None].map(|saved| format!("{OURS}{}\n", failure(what, saved)));
    let [date, earlier] = [poise_profile::date(), poise_profile::earlier()].map(timespec);
    if let Ok(marker) = marker {
        LAST_WORDS.get_or_init(|| LastWords { marker, date, earlier, lines });
    }
}

fn timespec(time: SystemTime) -> libc::timespec {
    let time = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanoseconds = libc::c_long::from(time.subsec_nanos().cast_signed());
    libc::timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: nanoseconds }
}

/// As [`fail`] where the process is in an unknown state: it may have died within the allocator. What it has done since its last checkpoint
/// is lost.
pub fn die() {
    let Some(words) = LAST_WORDS.get().filter(|_| is_active()) else { return };
    TAKEN.store(true, Ordering::Relaxed);
    let line = words.lines[usize::from(!checkpoint::has_written())].as_bytes();
    let left = &line[OURS.len()..];
    // SAFETY: the path ends with a NUL, and both texts are there; nothing here allocates.
    unsafe {
        let create = || {
            libc::open(words.marker.as_ptr(), libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC, 0o666)
        };
        let mut marker = create();
        let mut there = std::mem::MaybeUninit::<libc::stat>::uninit();
        if marker < 0 && libc::stat(words.marker.as_ptr(), there.as_mut_ptr()) == 0 {
            let written = there.assume_init();
            // Of an earlier run that said it late.
            if (written.st_mtime, written.st_mtime_nsec) <= (words.earlier.tv_sec, words.earlier.tv_nsec) {
                libc::unlink(words.marker.as_ptr());
                marker = create();
            }
        }
        if marker < 0 && *libc::__errno_location() == libc::EEXIST {
            return;
        }
        if marker >= 0 {
            libc::write(marker, left.as_ptr().cast(), left.len());
            libc::futimens(marker, [words.date; 2].as_ptr());
            libc::close(marker);
        }
        libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len());
    }
}

/// Says in one line, for all processes of the run, that waiting is not measured.
pub fn say_of_waiting(line: &str) {
    if let Some(settings) = SETTINGS.get() {
        say_once(settings, SAID[1], line);
    }
}

fn say_once(settings: &Settings, kind: &str, line: &str) {
    let path = PathBuf::from(OsStr::from_bytes(settings.path.as_bytes()));
    if poise_profile::is_first_to_say(&path, kind, line) {
        say(line);
    }
}

/// Reads the environment; measuring begins if POISE_PROFILE names a file.
pub fn start() {
    let Some(path) = std::env::var_os("POISE_PROFILE").filter(|path| !path.is_empty()) else { return };
    let profile = PathBuf::from(&path);
    let Ok(path) = CString::new(path.as_bytes()) else { return };
    let (clock, source) = match std::env::var("POISE_CLOCK").as_deref() {
        Ok("cpu") => ("cpu", Source::ThreadCpu),
        Ok("none") => ("none", Source::None),
        Ok("wall" | "") | Err(_) => ("wall", Source::wall()),
        Ok("simulated") if Source::find_simulated() => ("simulated", Source::Simulated),
        Ok("simulated") => {
            say_of_environment("POISE_CLOCK=simulated, but no SimGrid runs this program; wall is used.");
            ("wall", Source::wall())
        }
        Ok(other) => {
            say_of_environment(&format!("POISE_CLOCK={other} is none of wall, cpu, none and simulated; wall is used."));
            ("wall", Source::wall())
        }
    };
    source.choose();
    let mut metadata = parameters(&std::env::var("POISE_PARAMETERS").unwrap_or_default());
    metadata.insert("tool_version".into(), env!("CARGO_PKG_VERSION").into());
    metadata.insert("clock".into(), clock.into());
    if source != Source::None {
        metadata.insert("clock_source".into(), source.name().into());
    }
    metadata.insert("host".into(), host());
    let mut key = 0;
    // SAFETY: `key` is writable, and both functions are of the kinds that the calls want.
    let ready = unsafe {
        libc::pthread_key_create(&mut key, Some(thread_ends)) == 0
            && libc::pthread_atfork(None, None, Some(forked)) == 0
    };
    if !ready {
        say("the system lacks resources to measure; this run has no profile.");
        return;
    }
    KEY.store(key, Ordering::Relaxed);
    let keeps_ranks = match std::env::var("POISE_RANKS").as_deref() {
        Ok("1") => true,
        Ok("0" | "") | Err(_) => false,
        Ok(other) => {
            say_of_environment(&format!(
                "POISE_RANKS={other} is neither 0 nor 1; values of single ranks are not kept."
            ));
            false
        }
    };
    for kind in SAID {
        poise_profile::forget_earlier_runs(&profile, kind);
    }
    let settings = Settings { path, metadata, start: Instant::now(), keeps_ranks };
    ACTIVE.store(SETTINGS.set(settings).is_ok(), Ordering::Release);
    let wish = std::env::var("POISE_CHECKPOINT").unwrap_or_default();
    if let Err(what) = checkpoint::start(&wish, &profile) {
        say_of_environment(&format!("POISE_CHECKPOINT: {what}; there are no checkpoints."));
    }
    match std::env::var("POISE_STACK").as_deref() {
        // Ranks that share a process have copies of the program of their own, which are deleted once they are loaded.
        _ if Source::find_simulated() => {}
        Ok("on" | "") | Err(_) => stack::start(),
        Ok("off") => {}
        Ok(other) => say_of_environment(&format!("POISE_STACK={other} is neither on nor off; off is used.")),
    }
    // Simulated time does not see what instructions cost.
    if clock != "simulated"
        && let Err(what) = noise::start(&std::env::var("POISE_ABSORB").unwrap_or_default())
    {
        say_of_environment(&format!("POISE_ABSORB: {what}; no noise is injected."));
    }
    if clock != "simulated"
        && let Err(what) = phases::start(&std::env::var("POISE_PHASES").unwrap_or_default())
    {
        say_of_environment(&format!("POISE_PHASES: {what}; no bins are made."));
    }
}

/// `n=1000,p=4` as metadata entries `parameter.n`, `parameter.p`.
fn parameters(text: &str) -> BTreeMap<String, String> {
    let mut metadata = BTreeMap::new();
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        match entry.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                metadata.insert(format!("parameter.{}", name.trim()), value.trim().to_owned());
            }
            _ => say_of_environment(&format!(
                "POISE_PARAMETERS: \"{entry}\" is not of the form name=value; it is left out."
            )),
        }
    }
    metadata
}

fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is writable for its length less one, so that a NUL stays at its end.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let length = name.iter().position(|&byte| byte == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..length]).into_owned()
}

/// Whether this process measures.
#[inline]
pub fn is_active() -> bool {
    ACTIVE.load(Ordering::Acquire)
}

/// See `poise_claim_output`.
pub fn claim() {
    CLAIMED.store(true, Ordering::Relaxed);
}

/// Threads of this process have call paths that take turns on them, each with a tree of its own that may go before the thread
/// does. From the first time on there are no bins, which would mix, and no checkpoints, since what a thread has not
/// attributed yet is not told apart by trees. Each thread that has such call paths calls this before it changes them.
#[inline]
pub fn threads_are_shared() {
    phases::forget();
    if !SHARED.load(Ordering::Relaxed) && !SHARED.swap(true, Ordering::Relaxed) {
        shielded((), || {
            if phases::stop() {
                say("POISE_PHASES: ranks share threads here; no bins are made.");
            }
            if checkpoint::stop() {
                say("POISE_CHECKPOINT: ranks share threads here; there are no more checkpoints.");
            }
        });
    }
}

/// See `poise_profile_is_written`.
pub fn is_written() {
    checkpoint::remove();
}

/// See `poise_measure_waiting`.
pub fn measure_waiting() {
    WAITING.store(true, Ordering::Relaxed);
}

/// See `poise_output_path`.
pub fn output_path() -> *const c_char {
    match SETTINGS.get() {
        Some(settings) if is_active() => settings.path.as_ptr(),
        _ => null(),
    }
}

/// Lets [`thread_ends`] be called when the calling thread ends, whose thread-local block is at `block`.
pub fn watch(block: usize) -> bool {
    // SAFETY: the key exists in an active process.
    is_active() && unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), block as *const c_void) } == 0
}

/// A tree for the calling thread, whose thread-local block is at `block`.
pub fn register(block: usize) -> *mut Tree {
    if !watch(block) {
        return null_mut();
    }
    let tree = Box::into_raw(Box::new(Tree::new(block)));
    threads().live.push(tree);
    sanitizers::begin();
    if let Err(what) = checkpoint::begin() {
        say(&format!("POISE_CHECKPOINT: {what}; there are no checkpoints."));
    }
    tree
}

fn threads() -> MutexGuard<'static, Threads> {
    THREADS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A thread ends: its tree joins those of the threads that ended before.
extern "C" fn thread_ends(block: *mut c_void) {
    crate::shielded((), move || {
        let tree = thread::end(block as usize);
        // A forked child has nothing to collect, and the lock may be held by a thread that it does not have.
        if tree.is_null() || !is_active() {
            return;
        }
        let mut threads = threads();
        threads.live.retain(|&live| live != tree);
        // SAFETY: the tree came from a box in `register` and is in no list any more.
        let tree = unsafe { Box::from_raw(tree) };
        // SAFETY: the tree lives until the end of this function.
        unsafe { threads.ended.get_or_insert_default().add(&*tree) };
    });
}

/// In the child of a fork: the profile is the parent's.
extern "C" fn forked() {
    ACTIVE.store(false, Ordering::Release);
}

/// The sum over all threads. `None` where the lock stays taken, which happens if a signal handler that interrupted its
/// holder ends the process.
fn totals() -> Option<Totals> {
    thread::settle();
    let mut patience = 100;
    let threads = loop {
        match THREADS.try_lock() {
            Ok(threads) => break threads,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if patience == 0 => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
        }
        patience -= 1;
    };
    let mut totals = Totals::default();
    if let Some(ended) = &threads.ended {
        totals.merge(ended);
    }
    for &tree in &threads.live {
        // SAFETY: trees in the list live, and the lock keeps them there.
        unsafe { totals.add(tree) };
    }
    Some(totals)
}

/// A profile, with bins where they were asked for, which are encoded already.
struct Measured {
    profile: poise_profile::Profile,
    phases: Option<EncodedPhases>,
}

impl Measured {
    /// The profile as bytes.
    fn encode(&self) -> Vec<u8> {
        self.phases.as_ref().map_or_else(|| self.profile.encode(), |phases| self.profile.encode_with(phases))
    }
}

/// This process's profile as rank `rank`.
fn profile(rank: u32, settings: &Settings) -> Option<Measured> {
    Some(with_metadata(totals()?, rank, settings))
}

fn described(totals: &mut Totals, rank: u32, settings: &Settings) -> poise_profile::Profile {
    let waiting = WAITING.load(Ordering::Relaxed);
    let mut profile = totals.profile(rank, &Scale::since(&settings.start), waiting, settings.keeps_ranks);
    profile.metadata.clone_from(&settings.metadata);
    if let Some(weights) = totals.weights() {
        profile.metadata.insert("weights".into(), weights);
    }
    profile
}

/// The profile so far, for a checkpoint.
pub fn snapshot(rank: u32) -> Option<poise_profile::Profile> {
    let settings = SETTINGS.get().filter(|_| is_active())?;
    Some(described(&mut totals()?, rank, settings))
}

fn with_metadata(mut totals: Totals, rank: u32, settings: &Settings) -> Measured {
    let mut profile = described(&mut totals, rank, settings);
    let phases = phases::collect(rank, (&totals, &profile), &Scale::since(&settings.start));
    profile.noise = noise::collect(rank, &profile);
    if let Some(variants) = noise::variants() {
        profile.metadata.insert(poise_profile::VARIANTS.into(), variants);
    }
    // All ranks are asked for the same.
    if rank == 0
        && let Some(what) = noise::mistake()
    {
        say(&format!("POISE_ABSORB: {what}."));
    }
    if let Some(mismatch) = marks::mismatch() {
        say(&mismatch);
        profile.metadata.insert("marks_that_do_not_match".into(), "yes".into());
    }
    if totals.lacks_messages() {
        profile.metadata.insert("messages_left_out".into(), "yes".into());
        say(
            "the sizes and peers of messages at some call paths are left out, for there are more than fit into 64 MiB.",
        );
    }
    if totals.is_full() {
        profile.metadata.insert("call_paths_left_out".into(), "yes".into());
        say(
            "a thread has more call paths than fit into memory; what is below the last of them counts for their callers.",
        );
    }
    Measured { profile, phases }
}

/// The encoded profile, for `poise_take_profile`.
pub fn take(rank: u32) -> Option<Vec<u8>> {
    let settings = SETTINGS.get().filter(|_| is_active())?;
    checkpoint::stop();
    thread::check_open();
    let profile = profile(rank, settings)?;
    TAKEN.store(true, Ordering::Relaxed);
    Some(profile.encode())
}

/// The encoded profile of what runs on this thread alone, for `poise_take_coroutine`. Its tree is gone afterwards.
pub fn take_coroutine(rank: u32) -> Option<Vec<u8>> {
    let settings = SETTINGS.get().filter(|_| is_active())?;
    threads_are_shared();
    TAKEN.store(true, Ordering::Relaxed);
    let tree = thread::detach();
    thread::close();
    let mut totals = Totals::default();
    if !tree.is_null() {
        threads().live.retain(|&live| live != tree);
        // SAFETY: the tree came from a box in `register` and is in no list any more.
        let tree = unsafe { Box::from_raw(tree) };
        // SAFETY: the tree lives until the end of this block, and so does the thread.
        unsafe { totals.add(&*tree) };
    }
    Some(with_metadata(totals, rank, settings).encode())
}

unsafe extern "C" {
    fn __cxa_atexit(handler: extern "C" fn(*mut c_void), argument: *mut c_void, library: *mut c_void) -> c_int;
}

/// The process ends, and libraries are finished one after another: writes the profile unless somebody else does. Who does may be a library that is finished after this one, such
/// as one that was opened later and ends MPI then.
pub fn finish() {
    extern "C" fn all_are_finished(_: *mut c_void) {
        shielded((), miss_the_taker);
    }
    finish_before(|| {
        // SAFETY: a handler that is registered while libraries are finished runs when they all are, and this library stays until the process is gone.
        let is_late = unsafe { __cxa_atexit(all_are_finished, null_mut(), null_mut()) } == 0;
        if !is_late {
            miss_the_taker();
        }
    });
}

/// As [`finish`] where nothing more of the program runs.
pub fn finish_at_once() {
    finish_before(miss_the_taker);
}

/// What to do where a launcher has started several ranks and each writes for itself: MPI's calls are not seen then.
fn of_several_ranks() -> &'static str {
    let ranks = poise_profile::told_by_launcher(["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"]);
    if ranks.is_some_and(|ranks| ranks > 1) {
        " The ranks of an MPI program have one profile together behind the launcher's `poise preload`."
    } else {
        ""
    }
}

/// Says so where somebody was to take the profile and did not.
fn miss_the_taker() {
    if !TAKEN.load(Ordering::Relaxed) {
        fail(&format!("MPI_Finalize was never reached{}", poise_profile::on_rank()));
    }
}

/// Writes the profile, or calls `otherwise` where somebody else does. Once, whoever sees the end first.
fn finish_before(otherwise: impl FnOnce()) {
    static FINISHED: AtomicBool = AtomicBool::new(false);
    let Some(settings) = SETTINGS.get().filter(|_| is_active() && !FINISHED.swap(true, Ordering::Relaxed)) else {
        return;
    };
    if CLAIMED.load(Ordering::Relaxed) {
        return otherwise();
    }
    let path = OsStr::from_bytes(settings.path.as_bytes());
    checkpoint::stop();
    thread::check_open();
    let is_written = match profile(0, settings) {
        // Launchers and shells are preloaded too and enter no region; the profile is the program's that they start.
        Some(measured) if measured.profile.nodes.is_empty() => true,
        Some(measured) => poise_profile::write_encoded(path, || measured.encode())
            .inspect_err(|error| {
                let line = format!("{error}; this process has no profile.{}", of_several_ranks());
                say(&line);
                error.leave_word(path.as_ref(), &line);
            })
            .is_ok(),
        None => {
            say("the process ended while a thread was starting or ending; this run has no profile.");
            false
        }
    };
    if is_written {
        checkpoint::remove();
    }
}
