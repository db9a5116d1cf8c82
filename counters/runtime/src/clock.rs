//! Time: the processor's cycle counter where it runs at a constant rate on all cores, the system's clock elsewhere,
//! or the thread's processor time on request (where wall time would measure the neighbours on a shared core).

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

/// What [`now`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Source {
    /// The processor's constant-rate counter: TSC on x86-64, CNTVCT on AArch64.
    Counter = 0,
    /// CLOCK_MONOTONIC.
    Monotonic = 1,
    /// CLOCK_THREAD_CPUTIME_ID.
    ThreadCpu = 2,
    /// The clock of the SimGrid simulation that runs the program, in picoseconds.
    Simulated = 3,
    /// None: counts alone.
    None = 4,
}

/// Picoseconds of a nanosecond.
const PICOSECONDS: u64 = 1_000;

/// `simgrid_get_clock`, which gives simulated seconds; null where no SimGrid is in the process.
static SIMULATED: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

static SOURCE: AtomicU8 = AtomicU8::new(Source::Monotonic as u8);

impl Source {
    /// The best source of wall time here.
    pub fn wall() -> Self {
        if counter_is_constant() { Self::Counter } else { Self::Monotonic }
    }

    /// Looks for a simulation's clock; false where there is none.
    pub fn find_simulated() -> bool {
        // SAFETY: the name ends with a NUL.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"simgrid_get_clock".as_ptr()) };
        SIMULATED.store(found, Ordering::Relaxed);
        !found.is_null()
    }

    /// Makes [`now`] read this source from now on.
    pub fn choose(self) {
        SOURCE.store(self as u8, Ordering::Relaxed);
    }

    /// For the profile's metadata.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter if cfg!(target_arch = "x86_64") => "tsc",
            Self::Counter => "cntvct",
            Self::Monotonic => "clock_monotonic",
            Self::ThreadCpu => "clock_thread_cputime",
            Self::Simulated => "simgrid_get_clock",
            Self::None => "none",
        }
    }
}

/// Ticks of the chosen source.
#[inline(always)]
pub fn now() -> u64 {
    match SOURCE.load(Ordering::Relaxed) {
        0 => counter(),
        source => other(source),
    }
}

/// Ticks of another source than the counter.
#[cold]
#[inline(never)]
fn other(source: u8) -> u64 {
    match source {
        1 => system(libc::CLOCK_MONOTONIC),
        3 => simulated(),
        4 => 0,
        _ => system(libc::CLOCK_THREAD_CPUTIME_ID),
    }
}

/// The same, once everything before is done and before anything after begins: for times as short as the window of instructions that a
/// processor has in flight. Stores may still be on their way to memory.
#[inline(always)]
pub fn settled() -> u64 {
    settle();
    let ticks = now();
    settle();
    ticks
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn settle() {
    // SAFETY: every x86-64 processor has the instruction, which changes nothing.
    unsafe { std::arch::x86_64::_mm_lfence() };
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn settle() {
    // SAFETY: the barrier changes nothing; what was in flight is waited for by the one for data.
    unsafe { std::arch::asm!("dsb ishld", "isb", options(nostack, preserves_flags)) };
}

/// Whether there is no clock.
pub fn is_none() -> bool {
    SOURCE.load(Ordering::Relaxed) == Source::None as u8
}

/// Whether all threads read one clock, so that their times can be compared.
pub fn is_shared() -> bool {
    !matches!(SOURCE.load(Ordering::Relaxed), source if source == Source::ThreadCpu as u8 || source == Source::None as u8)
}

/// The simulation's clock in picoseconds.
fn simulated() -> u64 {
    let function = SIMULATED.load(Ordering::Relaxed);
    if function.is_null() {
        return 0;
    }
    // SAFETY: SimGrid's header declares `double simgrid_get_clock(void)`, which only reads.
    let clock: extern "C" fn() -> f64 = unsafe { std::mem::transmute(function) };
    (clock() * 1e9 * PICOSECONDS as f64).round() as u64
}

/// A system clock in nanoseconds.
fn system(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable. These clocks exist on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; Linux does not forbid it unless asked to by prctl.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user code read the virtual counter.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}

/// Whether the counter runs at one rate, in sleep too, on all cores alike. The architecture says so on AArch64.
fn counter_is_constant() -> bool {
    if cfg!(target_arch = "aarch64") {
        return true;
    }
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    ["constant_tsc", "nonstop_tsc"].iter().all(|wanted| flags.split_ascii_whitespace().any(|flag| flag == *wanted))
}

/// One reading of the counter and of CLOCK_MONOTONIC at the same moment.
#[derive(Clone, Copy, Debug)]
pub struct Instant {
    ticks: u64,
    nanoseconds: u64,
}

impl Instant {
    /// Both clocks now. Of a few readings the one that took least is kept, the others were interrupted.
    pub fn now() -> Self {
        let read = || {
            let before = counter();
            let nanoseconds = system(libc::CLOCK_MONOTONIC);
            let width = counter().saturating_sub(before);
            (width, Self { ticks: before + width / 2, nanoseconds })
        };
        (0..5).map(|_| read()).min_by_key(|r| r.0).map_or_else(|| read().1, |r| r.1)
    }
}

/// Nanoseconds in 2^20 ticks of the chosen source, to a part in a thousand or better; measured when first asked for.
pub fn rough_scale() -> u64 {
    static SCALE: OnceLock<u64> = OnceLock::new();
    *SCALE.get_or_init(|| {
        let start = Instant::now();
        while system(libc::CLOCK_MONOTONIC) < start.nanoseconds + 2_000_000 {}
        Scale::since(&start).nanoseconds(1 << 20)
    })
}

/// How many nanoseconds a tick has, as a fraction.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    nanoseconds: u64,
    ticks: u64,
}

impl Scale {
    /// The scale of the chosen source, measured from `start` until now where it must be.
    pub fn since(start: &Instant) -> Self {
        let source = SOURCE.load(Ordering::Relaxed);
        if source == Source::Simulated as u8 {
            return Self { nanoseconds: 1, ticks: PICOSECONDS };
        }
        if source != Source::Counter as u8 {
            return Self { nanoseconds: 1, ticks: 1 };
        }
        let end = Instant::now();
        let ticks = end.ticks.saturating_sub(start.ticks).max(1);
        Self { nanoseconds: end.nanoseconds.saturating_sub(start.nanoseconds), ticks }
    }

    /// `ticks` in nanoseconds, rounded down.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        // Bins are many and hold few ticks, whose product fits into 64 bits, where dividing is far cheaper.
        if let Some(product) = ticks.checked_mul(self.nanoseconds) {
            return product / self.ticks;
        }
        let wide = u128::from(ticks) * u128::from(self.nanoseconds) / u128::from(self.ticks);
        u64::try_from(wide).unwrap_or(u64::MAX)
    }
}
