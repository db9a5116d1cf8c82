//! Noise injection while the program runs: which variant of a loop each execution gets, and how long it took.
//!
//! This file is what compiled loops call and what `counters/pass/cpp` describes of them; `local` decides, per thread,
//! `sweep` which quantities come next, `settings` what is asked for, `buffer` has the memory that noise loads from.
//! Without POISE_ABSORB no module is asked for noise and every thread's state stays null, so that no loop ever calls
//! anything of this.

mod buffer;
mod collect;
mod local;
mod settings;
mod sweep;

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

pub use collect::{collect, mistake, variants};
use local::Local;
use settings::Settings;

use crate::{clock, words};

// `poise_noise` must be reached without a call, as `poise_thread` of `../thread.rs`.
words::define!("poise_noise", 32);

/// The contents of `poise_noise`, all zero in a new thread.
#[repr(C)]
struct Block {
    /// The thread's state; null where it is to have no noise.
    local: *mut Local,
    /// What the counting variants count.
    count: u64,
    /// What the timing variants spend in their loop.
    inside: Inside,
}

/// Executions of a loop that were timed one by one.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Inside {
    ticks: u64,
    executions: u64,
}

/// The calling thread's block.
#[inline(always)]
fn here() -> *mut Block {
    words::address!("poise_noise")
}

/// A table that the pass emits.
#[repr(C)]
struct Table<T> {
    items: *const T,
    length: u64,
}

impl<T> Table<T> {
    fn items(&self) -> &'static [T] {
        if self.items.is_null() {
            return &[];
        }
        // SAFETY: the pass emits tables of this length, constant and alive as long as the process.
        unsafe { std::slice::from_raw_parts(self.items, usize::try_from(self.length).unwrap_or(0)) }
    }
}

/// What the pass tells of a compiled file.
#[repr(C)]
pub struct Module {
    next: AtomicPtr<Module>,
    modes: Table<*const c_char>,
    loops: Table<Loop>,
    sites: Table<*const Site>,
    /// Whether its functions go on in their copies with noise; read by them alone.
    asked: *const AtomicU64,
}

impl Module {
    /// From now on its functions run with noise.
    fn ask(&self) {
        // SAFETY: the pass emits the variable with the module, or nothing.
        if let Some(asked) = unsafe { self.asked.as_ref() } {
            asked.store(1, Ordering::Relaxed);
        }
    }
}

// SAFETY: apart from what is atomic, modules are constant.
unsafe impl Sync for Module {}

/// What the pass tells of a loop.
#[repr(C)]
struct Loop {
    function: *const c_char,
    file: *const c_char,
    refusal: *const c_char,
    line: u32,
    id: u32,
    width: u32,
    reserved: u32,
}

/// A place where a variant is chosen.
#[repr(C)]
pub struct Site {
    variants: Table<Variant>,
    /// 0 at an innermost loop, 1 at the loop around one.
    level: u64,
    /// Number of the site in this process, from 1; 0 until it is first reached.
    number: AtomicU32,
    module: AtomicPtr<Module>,
    reserved: [u64; 3],
}

/// One variant of a loop.
#[repr(C)]
struct Variant {
    function: *const c_void,
    /// The loop that has the noise, by its number in the module; [`NONE`] where none has.
    target: u32,
    /// Its mode; [`NONE`] in the variant that counts iterations.
    mode: u32,
    k: u32,
    reserved: u32,
}

/// No mode, or no loop.
const NONE: u32 = u32::MAX;

/// What a loop is to do next.
#[repr(C)]
pub struct Choice {
    /// The variant; null if the loop is to run as it is, to its end.
    function: *const c_void,
    /// The most iterations to run before the next choice, at least 1.
    budget: u64,
}

impl Choice {
    const PLAIN: Self = Self { function: std::ptr::null(), budget: 0 };
}

static MODULES: AtomicPtr<Module> = AtomicPtr::new(null_mut());
static SITES: AtomicU32 = AtomicU32::new(0);
static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// What a text of the pass's says.
fn text(text: *const c_char) -> &'static str {
    if text.is_null() {
        return "";
    }
    // SAFETY: the pass's texts end with NUL and live as long as the process.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// All modules whose start-up code ran.
fn modules() -> impl Iterator<Item = &'static Module> {
    let get = |pointer: &AtomicPtr<Module>| {
        // SAFETY: modules are static objects of the program and its libraries, which are never unloaded.
        unsafe { pointer.load(Ordering::Acquire).as_ref() }
    };
    std::iter::successors(get(&MODULES), move |module| get(&module.next))
}

/// Reads the environment, in a process that measures; says what is wrong with it.
pub fn start(text: &str) -> Result<(), String> {
    if let Some(settings) = Settings::parse(text)? {
        if clock::is_none() {
            return Err("there is no time by POISE_CLOCK=none".into());
        }
        let _ = SETTINGS.set(settings);
        // Those whose start-up code ran before the runtime's.
        modules().for_each(Module::ask);
    }
    Ok(())
}

/// What launchers say of this process's rank; 0 without one.
fn rank() -> u32 {
    let names = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok()).unwrap_or(0)
}

/// Gives the calling thread a state, if it is to have noise.
pub fn thread_begins() {
    static THREADS: AtomicU32 = AtomicU32::new(0);
    let Some(settings) = SETTINGS.get() else { return };
    // SAFETY: the block is this thread's.
    let block = unsafe { &mut *here() };
    if block.local.is_null() && Settings::has(&settings.ranks, rank()) {
        let number = THREADS.fetch_add(1, Ordering::Relaxed);
        if Settings::has(&settings.threads, number) {
            block.local = Box::into_raw(Box::new(Local::new(number, settings)));
        }
    }
}

/// The calling thread ends. What it measured is kept.
pub fn thread_ends() {
    // SAFETY: the block is this thread's.
    let block = unsafe { &mut *here() };
    let local = std::mem::replace(&mut block.local, null_mut());
    if !local.is_null() {
        // SAFETY: it came from a box in `thread_begins`.
        drop(unsafe { Box::from_raw(local) });
    }
}

/// Adds a compiled file's loops; called when the program or a library of it starts.
///
/// # Safety
/// `module` must be a static object as the pass emits it, given once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_noise_enrol(module: *mut Module) {
    // SAFETY: the caller's promise.
    let enrolled = unsafe { &*module };
    for &site in enrolled.sites.items() {
        // SAFETY: sites are static objects of the module.
        unsafe { (*site).module.store(module, Ordering::Release) };
    }
    let mut head = MODULES.load(Ordering::Acquire);
    loop {
        enrolled.next.store(head, Ordering::Release);
        match MODULES.compare_exchange(head, module, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => break,
            Err(other) => head = other,
        }
    }
    if SETTINGS.get().is_some() {
        enrolled.ask();
    }
}

/// Chooses what the loop at `site` does next.
///
/// # Safety
/// `site` must be of a module that was enrolled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_noise_begin(site: *const Site) -> Choice {
    // SAFETY: the caller's promise.
    unsafe { poise_noise_begin_of(site, u64::MAX) }
}

/// The same where the loop knows that `left` iterations are to come, if it ends where its counter says.
///
/// # Safety
/// `site` must be of a module that was enrolled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poise_noise_begin_of(site: *const Site, left: u64) -> Choice {
    // SAFETY: the block is this thread's, and so is its state.
    let Some(local) = (unsafe { (*here()).local.as_mut() }) else { return Choice::PLAIN };
    // SAFETY: the caller's promise; sites live as long as the process.
    let site: &'static Site = unsafe { &*site };
    crate::shielded(Choice::PLAIN, std::panic::AssertUnwindSafe(move || local.begin(site, left)))
}

/// Tells that the variant chosen last is done with `iterations` iterations, and whether the loop has ended.
#[unsafe(no_mangle)]
pub extern "C" fn poise_noise_end(iterations: u64, done: u64) {
    let now = clock::settled();
    // SAFETY: as in `poise_noise_begin`.
    let block = unsafe { &mut *here() };
    // SAFETY: as in `poise_noise_begin`.
    let Some(local) = (unsafe { block.local.as_mut() }) else { return };
    let ran = Ran {
        iterations,
        done: done != 0,
        counted: std::mem::take(&mut block.count),
        inside: std::mem::take(&mut block.inside),
    };
    crate::shielded((), std::panic::AssertUnwindSafe(move || local.end(now, &ran)));
}

/// What a variant did.
struct Ran {
    iterations: u64,
    /// Whether the loop has ended.
    done: bool,
    /// Iterations of the target, of a counting variant.
    counted: u64,
    /// The target's executions, of a timing variant.
    inside: Inside,
}

/// A timing variant begins an execution of its loop.
#[unsafe(no_mangle)]
pub extern "C" fn poise_noise_inside() {
    // SAFETY: the block is this thread's.
    let inside = unsafe { &mut (*here()).inside };
    inside.ticks = inside.ticks.wrapping_sub(clock::settled());
}

/// The execution has ended.
#[unsafe(no_mangle)]
pub extern "C" fn poise_noise_outside() {
    let now = clock::settled();
    // SAFETY: the block is this thread's.
    let inside = unsafe { &mut (*here()).inside };
    inside.ticks = inside.ticks.wrapping_add(now);
    inside.executions += 1;
}

/// What timing costs per execution, in ticks: of what is charged to the loop, and in all.
fn cost_of_timing() -> (u64, u64) {
    const TIMES: u64 = 64;
    let attempt = |_| {
        let start = clock::settled();
        (0..TIMES).for_each(|_| {
            poise_noise_inside();
            poise_noise_outside();
        });
        let all = clock::settled().saturating_sub(start);
        // SAFETY: the block is this thread's.
        let inside = std::mem::take(unsafe { &mut (*here()).inside });
        (inside.ticks / TIMES, all / TIMES)
    };
    // Those that were interrupted took longer.
    (0..8).map(attempt).min_by_key(|cost| cost.1).unwrap_or_default()
}

/// The calling thread's buffer for loads that miss all caches; its layout is `buffer::Stream`.
#[unsafe(no_mangle)]
pub extern "C" fn poise_noise_buffer() -> *mut c_void {
    buffer::stream().cast()
}
