//! Which run a process belongs to, and what its processes say once for all of them, in files beside the profile. Of a run is what is not older than its
//! launcher: the nearest process above that starts ranks.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use crate::file::folder;

/// Launchers, by how their names begin.
pub const LAUNCHERS: [&str; 5] = ["mpirun", "mpiexec", "orterun", "prterun", "srun"];
/// What MPICH's launcher starts on each node, by how its name begins.
pub const HYDRA: &str = "hydra";
/// What Open MPI's starts there.
const DAEMONS: [&str; 3] = ["orted", "prted", "prte"];
/// What Slurm starts there for a step; for a batch script, too, which is no run.
const SLURM: &str = "slurmstepd";

/// Where no launcher is to be seen, `poise preload` says in this variable when the run began, in nanoseconds of the system's clock.
pub const BEGAN: &str = "POISE_BEGAN";

/// By how much what a run said is younger than the run: more than its processes differ in when it began, and less than a run takes.
const GRAIN: Duration = Duration::from_millis(1);

/// Whether a process of this name is a launcher or what one starts on each node.
#[must_use]
pub fn starts_ranks(name: &str) -> bool {
    LAUNCHERS.iter().any(|launcher| name.starts_with(launcher)) || name.starts_with(HYDRA) || DAEMONS.contains(&name)
}

/// What the kernel tells of a process.
struct Process {
    parent: u32,
    name: String,
    /// When it began, in ticks since the machine did.
    began: u64,
}

fn process(id: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name may hold anything.
    let (start, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let name = start.split_once('(')?.1.to_owned();
    Some(Process { parent: fields.get(1)?.parse().ok()?, name, began: fields.get(19)?.parse().ok()? })
}

/// A time in ticks since the machine began, on the system's clock; up to a tick of 10 ms early, and the same for all processes but for a fraction of
/// [`GRAIN`].
fn on_the_clock(ticks: u64) -> Option<SystemTime> {
    // SAFETY: the call cannot fail with this name.
    let in_a_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    // Another process may have the processor between two clocks: the closest of many readings counts.
    let reading = || {
        let before = since_boot();
        let now = SystemTime::now();
        (since_boot().saturating_sub(before), now, before)
    };
    let (_, now, since_boot) = (0..20).map(|_| reading()).min_by_key(|(gap, ..)| *gap)?;
    now.checked_sub(since_boot.checked_sub(Duration::from_millis(ticks * 1000 / in_a_second))?)
}

fn since_boot() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut now) };
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// This process's run.
struct Run {
    began: SystemTime,
    /// Whether this process knows of a run with others; it is its own otherwise.
    is_known: bool,
    /// Whether the nearest launcher is MPICH's or Slurm's. No name is kept: what has freed memory in it may hide a program's leaks.
    is_of_mpich_or_slurm: bool,
}

/// It stays the same when the launcher has ended.
fn run() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| {
        let is_step = std::env::var_os("SLURM_STEP_NUM_TASKS").is_some();
        let mut next = process(std::process::id()).and_then(|own| process(own.parent));
        while let Some(above) = next {
            let is_launcher = starts_ranks(&above.name) || is_step && above.name == SLURM;
            if is_launcher && let Some(began) = on_the_clock(above.began) {
                let is_of_mpich_or_slurm = above.name.starts_with(HYDRA) || above.name == SLURM;
                return Run { began, is_known: true, is_of_mpich_or_slurm };
            }
            next = process(above.parent);
        }
        let told = std::env::var(BEGAN).ok().and_then(|told| told.parse().ok());
        let began = told.map_or_else(SystemTime::now, |nanos| SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos));
        Run { began, is_known: told.is_some(), is_of_mpich_or_slurm: false }
    })
}

/// The first of these variables of launchers that has a number. Below MPICH's launcher and Slurm's, Open MPI's are those of a launcher that started the
/// launcher.
pub fn told_by_launcher(names: impl IntoIterator<Item = &'static str>) -> Option<u32> {
    let mut names = names.into_iter().filter(|name| !(run().is_of_mpich_or_slurm && name.starts_with("OMPI_")));
    names.find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// The rank that a launcher has told this process, if one has: Open MPI's, MPICH's and its like, PMIx, and Slurm's number where there is no other.
#[must_use]
pub fn own_rank() -> Option<u32> {
    told_by_launcher(["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"])
}

/// ` on rank 3`, for a line of one rank; nothing where this process knows of no rank.
#[must_use]
pub fn on_rank() -> String {
    own_rank().map(|rank| format!(" on rank {rank}")).unwrap_or_default()
}

/// What [`BEGAN`] is to say to what this process starts.
#[must_use]
pub fn began() -> String {
    run().began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

/// The time that a file has in which a process of this run says something: who comes late speaks of its own run, also where the next has begun.
#[must_use]
pub fn date() -> SystemTime {
    run().began + GRAIN
}

/// What is not younger was said in an earlier run; nothing, where this process knows of no run with others.
#[must_use]
pub fn earlier() -> SystemTime {
    if run().is_known { run().began } else { SystemTime::UNIX_EPOCH }
}

/// Whether a process of this process's run has written the file `path`.
#[must_use]
pub fn is_of_this_run(path: &Path) -> bool {
    fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|written| written > run().began)
}

/// Of several processes that fail for the same reason one is to say so: leaves the file `PATH.KIND` with `line` in it. False where
/// another of this run has; true for the first, and where no file can be made, since each must then speak for itself.
#[must_use]
pub fn is_first_to_say(path: &Path, kind: &str, line: &str) -> bool {
    if run().is_known {
        forget_earlier_runs(path, kind);
    }
    leave(path, kind, line, false).map_or_else(|error| error.kind() != io::ErrorKind::AlreadyExists, |_| true)
}

/// Leaves the file `PATH.KIND` with `line` in it, whole or not at all, and in another's place if `replaces`. The file is locked as long as what is returned lives.
///
/// # Errors
/// It cannot be made, or is there.
pub fn leave(path: &Path, kind: &str, line: &str, replaces: bool) -> io::Result<File> {
    let place = said_beside(path, kind);
    // Launchers kill processes as others end: who has nothing to leave begins no file that could stay.
    if !replaces && place.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    // Names may be as long as names are.
    let new = folder(path).join(format!(".poise.{}.tmp", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&new)?;
    let _ = file.try_lock();
    let left = writeln!(file, "{line}").and_then(|()| {
        let _ = file.set_times(FileTimes::new().set_modified(date()));
        match fs::hard_link(&new, &place) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !replaces => Err(error),
            Ok(()) => Ok(()),
            // Some file systems have no hard links.
            Err(_) if !replaces && place.exists() => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(&new, &place),
        }
    });
    let _ = fs::remove_file(new);
    left.map(|()| file)
}

/// Removes what [`is_first_to_say`] left in an earlier run.
pub fn forget_earlier_runs(path: &Path, kind: &str) {
    let said = said_beside(path, kind);
    // What is not there now another process of this run may leave in the next moment.
    let written = fs::metadata(&said).and_then(|file| file.modified());
    if written.is_ok_and(|written| written <= run().began) {
        let _ = fs::remove_file(said);
    }
}

/// Where the first process that says something of a kind leaves it.
#[must_use]
pub fn said_beside(path: &Path, kind: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(kind);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Processes look for what an earlier run said while another says something: that stays, and what an earlier run said goes.
    #[test]
    fn what_this_run_says_is_not_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.poise");
        fs::write(said_beside(&path, "failed"), "earlier").unwrap();
        let earlier = File::options().write(true).open(said_beside(&path, "failed")).unwrap();
        earlier.set_times(FileTimes::new().set_modified(run().began - GRAIN)).unwrap();
        forget_earlier_runs(&path, "failed");
        assert!(!said_beside(&path, "failed").exists());
        let goes_on = AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while goes_on.load(Ordering::Relaxed) {
                    forget_earlier_runs(&path, "failed")
                }
            });
            let lost = (0..2000).filter(|round| {
                leave(&path, "failed", "the line", false).unwrap();
                // Looked at as long as another needs between its two steps.
                let is_lost = (0..round % 40).any(|_| !said_beside(&path, "failed").exists());
                let _ = fs::remove_file(said_beside(&path, "failed"));
                is_lost
            });
            let lost = lost.count();
            goes_on.store(false, Ordering::Relaxed);
            assert_eq!(lost, 0);
        });
    }

    /// A process that is killed as it writes leaves a file behind: who finds that another has spoken writes nothing.
    #[test]
    fn the_second_to_say_something_touches_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.poise");
        assert!(is_first_to_say(&path, "failed", "the line"));
        let long_ago = SystemTime::now() - Duration::from_secs(3600);
        File::open(folder.path()).unwrap().set_modified(long_ago).unwrap();
        assert!(!is_first_to_say(&path, "failed", "the line"));
        // A folder's time is that of the last name that came or went.
        assert_eq!(fs::metadata(folder.path()).unwrap().modified().unwrap(), long_ago);
    }
}
