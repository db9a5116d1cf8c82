//! The plugin of QEMU's user mode: counts the machine code that a program executes which nobody can compile anew, or
//! which is of another instruction set. This file is what QEMU calls; `thread` holds what a thread does, `flow` what
//! instructions do, `maps` where code comes from, `operations` what is MPI's, `output` makes the profile of it.
//!
//! QEMU loads it with `-plugin libpoise_qemu.so,out=FILE,width=0`; `poise run --engine qemu` and `poise phases` do that. The
//! profile names functions by their addresses: `modeler::machine` finds out which they are.

mod api;
mod flow;
mod maps;
mod models;
mod operations;
mod output;
mod thread;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use api::{Api, Id, Info};
use flow::Isa;
use maps::Maps;
use models::{Level, Models};
use operations::{Beginning, Operations};
use thread::{Block, Thread, Width};

/// The version of the plugin interface that this library is written for, which QEMU reads when it has loaded it.
#[unsafe(no_mangle)]
pub static mut qemu_plugin_version: c_int = 1;

/// Runs before QEMU looks at the version. From QEMU 9.0 on versions before 2 are refused; what is used here has not changed.
extern "C" fn choose_version() {
    if api::symbol(c"qemu_plugin_num_vcpus").is_some() {
        // SAFETY: nothing else runs while the library is loaded.
        unsafe { qemu_plugin_version = 2 };
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static CHOOSE_VERSION: extern "C" fn() = choose_version;

/// What is to be done.
struct Settings {
    api: Api,
    isa: Isa,
    output: PathBuf,
    width: Width,
    /// Whether lines of memory are counted.
    lines: bool,
    /// The caches' levels as they were asked for, and what that means, where caches and branches are modelled.
    models: Option<(String, [Level; 2])>,
    /// The process that measures; its forked children do not.
    process: u32,
}

/// What all threads share.
#[derive(Default)]
struct Shared {
    blocks: HashMap<(u64, Vec<u8>), &'static Block>,
    /// By number.
    list: Vec<&'static Block>,
    maps: Maps,
    operations: Operations,
    threads: Vec<*mut Thread>,
    /// Linux's numbers of threads that were started within MPI operations.
    started_by_mpi: HashSet<i64>,
}

// SAFETY: threads are read when the guest has stopped; before, only the thread itself uses what is its own.
unsafe impl Send for Shared {}

static SETTINGS: OnceLock<Settings> = OnceLock::new();
static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

thread_local! {
    /// The guest's thread that runs on this thread.
    static THREAD: Cell<*mut Thread> = const { Cell::new(null_mut()) };
}

fn shared() -> MutexGuard<'static, Option<Shared>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says `message` in one line on standard error.
fn say(message: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("poise: {message}\n").as_bytes());
}

/// Whether a defect was met: what is counted from then on could be wrong, so that nothing is.
static BROKEN: AtomicBool = AtomicBool::new(false);

/// Runs `action`; a defect ends the measurement and not the program.
fn shielded(action: impl FnOnce()) {
    if BROKEN.load(Ordering::Relaxed) {
        return;
    }
    if catch_unwind(AssertUnwindSafe(action)).is_err() && !BROKEN.swap(true, Ordering::Relaxed) {
        say("QEMU's plugin has a defect; this process has no profile.");
    }
}

/// QEMU loads the plugin.
///
/// # Safety
/// QEMU's contract: `info` and the `count` arguments live during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    info: *const Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: the caller's promise.
    let arguments: Vec<String> = (0..count as usize).map(|i| text(unsafe { *arguments.add(i) })).collect();
    // SAFETY: the caller's promise.
    let target = text(unsafe { (*info).target });
    // SAFETY: the caller's promise.
    let newest = unsafe { (*info).versions[1] };
    if newest > api::NEWEST {
        say(&format!(
            "this QEMU has version {newest} of the plugin interface; what is counted was checked with versions up to {}.",
            api::NEWEST
        ));
    }
    match settings(&target, &arguments) {
        Ok(settings) => {
            *shared() = Some(Shared::default());
            let settings = SETTINGS.get_or_init(|| settings);
            // SAFETY: QEMU's functions, with the plugin's own identity and callbacks that live as long as the process.
            unsafe {
                (settings.api.on_translation)(id, translated);
                (settings.api.on_exit_of_processor)(id, thread_ends);
                (settings.api.on_system_call)(id, system_called);
                (settings.api.at_exit)(id, guest_ends, null_mut());
            }
            0
        }
        Err(what) => {
            say(&format!("{what}; nothing is counted."));
            1
        }
    }
}

/// Reads `out=FILE`, `width=N` (0 for one bin, `grow` for bins that widen), `lines=on` and `models=LEVEL+LEVEL`.
fn settings(target: &str, arguments: &[String]) -> Result<Settings, String> {
    let isa = Isa::named(target).ok_or_else(|| {
        format!("programs for {target} cannot be followed, only those for x86_64, aarch64 and riscv64")
    })?;
    let api = Api::find().map_err(|name| format!("this QEMU lacks a function of the plugin interface ({name})"))?;
    let (mut output, mut width, mut lines, mut models) = (None, Width::Whole, false, None);
    for argument in arguments {
        match argument.split_once('=') {
            Some(("out", path)) => output = Some(PathBuf::from(path)),
            Some(("width", "grow")) => width = Width::Growing,
            Some(("width", number)) => {
                let number: u64 = number.parse().map_err(|_| format!("`{argument}` has no number"))?;
                width = if number == 0 { Width::Whole } else { Width::Fixed(number) };
            }
            Some(("lines", choice)) => lines = choice == "on" || choice == "true",
            Some(("models", levels)) => {
                let (first, second) =
                    levels.split_once('+').ok_or_else(|| format!("`{argument}` has no two levels"))?;
                models = Some((levels.to_owned(), [first.parse()?, second.parse()?]));
            }
            _ => return Err(format!("`{argument}` is none of out=FILE, width=N, lines=on and models=LEVEL+LEVEL")),
        }
    }
    let output = output.ok_or("out=FILE is missing")?;
    Ok(Settings { api, isa, output, width, lines, models, process: std::process::id() })
}

/// QEMU has translated a block.
extern "C" fn translated(_: Id, translation: *mut c_void) {
    let Some(settings) = SETTINGS.get() else { return };
    shielded(|| {
        let api = &settings.api;
        // SAFETY: the translation and its instructions live during the callback.
        unsafe {
            let count = (api.instructions)(translation);
            let instructions: Vec<*mut c_void> = (0..count).map(|i| (api.instruction)(translation, i)).collect();
            let Some(block) = block(settings, &instructions) else { return };
            (api.on_execution)(translation, executed, 0, std::ptr::from_ref(block).cast_mut().cast());
            if settings.lines || settings.models.is_some() {
                for (number, instruction) in instructions.into_iter().enumerate() {
                    // The number itself is what the callback gets.
                    (api.on_access)(instruction, accessed, 0, 3, std::ptr::without_provenance_mut(number));
                }
            }
        }
    });
}

/// The block of these instructions, which is the same whenever they are translated.
///
/// # Safety
/// The instructions must be those of a translation that lives.
unsafe fn block(settings: &Settings, instructions: &[*mut c_void]) -> Option<&'static Block> {
    let api = &settings.api;
    let (&first, &last) = (instructions.first()?, instructions.last()?);
    // SAFETY: the caller's promise; an instruction's bytes are in memory while it is translated.
    let (start, last_address, base, bytes) = unsafe {
        let bytes_of = |instruction: &*mut c_void| {
            let (memory, size) = ((api.memory)(*instruction), (api.length)(*instruction));
            if memory.is_null() { vec![0; size] } else { std::slice::from_raw_parts(memory, size).to_vec() }
        };
        let bytes: Vec<Vec<u8>> = instructions.iter().map(bytes_of).collect();
        let start = (api.address)(first);
        (start, (api.address)(last), ((api.memory)(first) as u64).wrapping_sub(start), bytes)
    };
    let known = settings.isa.last(bytes.last()?);
    let end = last_address + bytes.last()?.len() as u64;
    let code = bytes.concat();
    let mut shared = shared();
    let shared = shared.as_mut()?;
    if MAPS_CHANGED.swap(false, Ordering::Acquire) {
        shared.maps.forget();
    }
    let tag = shared.maps.learn(start, base);
    let number = shared.list.len() as u32;
    let file = shared.maps.file(start + tag);
    let begins = file.and_then(|(path, position)| shared.operations.begins(path, position));
    let make = || {
        &*Box::leak(Box::new(Block {
            number,
            start,
            last: last_address,
            end,
            tag,
            instructions: instructions.len() as u32,
            flow: known.flow,
            is_operation: begins == Some(Beginning::Operation),
            is_main: begins == Some(Beginning::Main),
            repeats: known.repeats && instructions.len() == 1,
            bytes: code.clone(),
        }))
    };
    let block = *shared.blocks.entry((start + tag, code.clone())).or_insert_with(make);
    if block.number == number {
        shared.list.push(block);
    }
    Some(block)
}

/// A thread of the guest executes a block.
extern "C" fn executed(processor: c_uint, block: *mut c_void) {
    shielded(|| {
        let thread = THREAD.get();
        let thread = if thread.is_null() { begin(processor) } else { thread };
        // SAFETY: the thread is this one's alone, and blocks live as long as the process.
        let (thread, block) = unsafe { (thread.as_mut(), &*block.cast::<Block>()) };
        if let Some(thread) = thread {
            thread.execute(block);
        }
    });
}

/// Whether the guest has mapped or unmapped memory since the maps were last looked at.
static MAPS_CHANGED: AtomicBool = AtomicBool::new(false);

/// The guest's system has done what it was called for. What it mapped or unmapped may be code, and a thread that an MPI operation
/// started is MPI's. Before the call another thread, which
/// translates meanwhile, would look at the maps as they were and believe that they are up to date.
extern "C" fn system_called(_: Id, _: c_uint, number: i64, result: i64) {
    let Some(settings) = SETTINGS.get() else { return };
    if settings.isa.maps(number) {
        MAPS_CHANGED.store(true, Ordering::Release);
    }
    // SAFETY: as in `executed`.
    let is_within_mpi = || unsafe { THREAD.get().as_ref() }.is_some_and(Thread::is_within_mpi);
    if settings.isa.starts(number) && is_within_mpi() {
        shielded(|| {
            if let Some(shared) = shared().as_mut() {
                shared.started_by_mpi.insert(result);
            }
        });
    }
}

/// A thread of the guest accesses memory.
extern "C" fn accessed(_: c_uint, kind: u32, address: u64, number: *mut c_void) {
    let Some(settings) = SETTINGS.get() else { return };
    shielded(|| {
        // SAFETY: as in `executed`; QEMU's function reads nothing but its argument.
        unsafe {
            if let Some(thread) = THREAD.get().as_mut() {
                thread.access(number.addr(), address, 1 << (settings.api.size)(kind).min(6));
            }
        }
    });
}

/// A thread executes for the first time. Null in a forked child.
#[cold]
fn begin(processor: u32) -> *mut Thread {
    let Some(settings) = SETTINGS.get().filter(|settings| settings.process == std::process::id()) else {
        return null_mut();
    };
    let mut thread = Thread::new(processor, settings.width, settings.lines);
    // SAFETY: the call has no arguments and cannot fail. The guest's threads are threads of this process.
    thread.system_number = unsafe { libc::syscall(libc::SYS_gettid) };
    thread.models = settings.models.as_ref().map(|(_, levels)| Models::new(*levels));
    let thread = Box::into_raw(Box::new(thread));
    if let Some(shared) = shared().as_mut() {
        shared.threads.push(thread);
    }
    THREAD.set(thread);
    thread
}

/// A thread of the guest ends.
extern "C" fn thread_ends(_: Id, _: c_uint) {
    // SAFETY: as in `executed`. The thread stays in the list of all.
    if let Some(thread) = unsafe { THREAD.replace(null_mut()).as_mut() } {
        shielded(|| thread.end());
    }
}

/// The guest ends; its other threads have stopped.
extern "C" fn guest_ends(_: Id, _: *mut c_void) {
    let Some(settings) = SETTINGS.get().filter(|settings| settings.process == std::process::id()) else { return };
    shielded(|| {
        let Some(shared) = shared().take() else { return };
        // SAFETY: the threads came from boxes in `begin`, and none of them runs any more.
        let threads = shared.threads.into_iter().map(|thread| unsafe { *Box::from_raw(thread) });
        let threads = threads.filter(|thread| !shared.started_by_mpi.contains(&thread.system_number));
        THREAD.set(null_mut());
        let rank = output::rank();
        let mut profile = output::profile(rank, threads.collect(), &shared.list, &shared.maps, settings.isa);
        if let Some((levels, _)) = &settings.models {
            profile.metadata.insert("model.cache".into(), levels.clone());
            profile.metadata.insert("model.branches".into(), "Alpha 21264".into());
        }
        let mut path = settings.output.clone().into_os_string();
        path.push(format!(".{rank}"));
        if let Err(error) = profile.write(&path) {
            say(&format!("{error}; this process has no profile."));
        }
    });
}
