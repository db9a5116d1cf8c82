//! Whether every rank measures, found out just before MPI_Finalize (and, where waiting is measured, at the end of MPI_Init)
//! without waiting for ever. A rank to which the
//! launcher did not bring LD_PRELOAD or POISE_PROFILE goes straight to MPI_Finalize and never meets the others, who
//! would keep it waiting there for ever.
//!
//! The ranks meet in a nonblocking barrier, because collective calls, unlike messages, cannot reach a receive that a
//! slower rank still has open. They meet twice: a rank that gave up on the first barrier never begins the second, so
//! that nobody who saw the first complete late goes on without it.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::library::{self, Family, Handle, Int, SUCCESS};
use crate::runtime::say;

/// The least that a rank waits for the others.
const LEAST: Duration = Duration::from_secs(60);

static STARTED: OnceLock<Instant> = OnceLock::new();

/// MPI is there: from here on the program's run is timed.
pub fn begin() {
    STARTED.get_or_init(Instant::now);
}

/// Waits until every rank of MPI_COMM_WORLD is in this function. If they are not: for how many seconds it has waited.
pub fn everybody_is_here(family: &Family) -> Result<(), f64> {
    let patience = patience();
    if (0..2).all(|_| meet(family, patience)) { Ok(()) } else { Err(patience.as_secs_f64()) }
}

/// How long to wait: what POISE_FINALIZE_SECONDS says, else as long as the program has run, so that ranks may have
/// very different work and a mistake at most doubles a long run's time.
fn patience() -> Duration {
    let asked = std::env::var("POISE_FINALIZE_SECONDS").unwrap_or_default();
    match asked.parse().map(Duration::try_from_secs_f64) {
        Ok(Ok(asked)) => return asked,
        _ if asked.is_empty() => {}
        _ => say(&format!("POISE_FINALIZE_SECONDS={asked} is not a number of seconds; the default is used.")),
    }
    STARTED.get().map_or(LEAST, |started| started.elapsed().max(LEAST))
}

/// One barrier. One that does not complete stays behind for MPI_Finalize, as it cannot be cancelled.
fn meet(family: &Family, patience: Duration) -> bool {
    let (mut request, mut done): (Handle, Int) = (0, 0);
    // SAFETY: MPI runs; the request is ours.
    if unsafe { library::ibarrier(family.world, &mut request) } != SUCCESS {
        return false;
    }
    let start = Instant::now();
    let mut pause = Duration::from_micros(10);
    loop {
        // SAFETY: the request is under way: it was not yet done when this was last asked.
        let code = unsafe { library::test(&mut request, &mut done, family.status_ignore) };
        if code != SUCCESS || done != 0 {
            return code == SUCCESS;
        }
        if start.elapsed() >= patience {
            return false;
        }
        // Sleeping leaves the processor to ranks that still work.
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}
