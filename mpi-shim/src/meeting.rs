//! Whether every rank measures, found out just before MPI_Finalize (and, where waiting is measured, at the end of MPI_Init)
//! without waiting for ever. A rank to which the
//! launcher did not bring LD_PRELOAD or POISE_PROFILE goes straight to MPI_Finalize and never meets the others, who
//! would keep it waiting there for ever.
//!
//! The ranks meet in a nonblocking barrier, because collective calls, unlike messages, cannot reach a receive that a
//! slower rank still has open. They meet twice: a rank that gave up on the first barrier never begins the second, so
//! that nobody who saw the first complete late goes on without it.
//!
//! A meeting that was given up in MPI_Init is gone on with in MPI_Finalize: its barrier is still under way, and the others, who do not
//! measure waiting and never met in MPI_Init, begin theirs there. A new one would pair with their second.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::library::{self, Family, Handle, Int, SUCCESS};
use crate::runtime::say;

/// The least that a rank waits for the others.
const LEAST: Duration = Duration::from_secs(60);

const BARRIERS: usize = 2;

/// Of a meeting that was given up: how many of its barriers are complete, and the request of the one under way.
static GIVEN_UP: Mutex<Option<(usize, Handle)>> = Mutex::new(None);

static STARTED: OnceLock<Instant> = OnceLock::new();

/// MPI is there: from here on the program's run is timed.
pub fn begin() {
    STARTED.get_or_init(Instant::now);
}

/// Waits until every rank of MPI_COMM_WORLD is in this function. If they are not: for how many seconds it has waited.
pub fn everybody_is_here(family: &Family) -> Result<(), f64> {
    let patience = patience();
    let mut given_up = GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner);
    let (complete, mut under_way) = given_up.take().map_or((0, None), |(complete, request)| (complete, Some(request)));
    for barrier in complete..BARRIERS {
        if let Err(left) = meet(family, patience, under_way.take()) {
            *given_up = left.map(|request| (barrier, request));
            return Err(patience.as_secs_f64());
        }
    }
    Ok(())
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

/// One barrier: a new one, or that which is `under_way`. One that does not complete is given back, as it cannot be cancelled; none where
/// MPI refused.
fn meet(family: &Family, patience: Duration, under_way: Option<Handle>) -> Result<(), Option<Handle>> {
    let (mut request, mut done): (Handle, Int) = (under_way.unwrap_or_default(), 0);
    // SAFETY: MPI runs; the request is ours.
    if under_way.is_none() && unsafe { library::ibarrier(family.world, &mut request) } != SUCCESS {
        return Err(None);
    }
    let start = Instant::now();
    let mut pause = Duration::from_micros(10);
    loop {
        // SAFETY: the request is under way: it was not yet done when this was last asked.
        let code = unsafe { library::test(&mut request, &mut done, family.status_ignore) };
        if code != SUCCESS || done != 0 {
            return if code == SUCCESS { Ok(()) } else { Err(None) };
        }
        if start.elapsed() >= patience {
            return Err(Some(request));
        }
        // Sleeping leaves the processor to ranks that still work.
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}
