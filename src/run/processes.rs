//! The processes of a run, however they were started: all that carry the run's folder in their environment. Found in
//! `/proc`, so that a program that leaves its process group or is adopted by another is found as well.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use poise_profile::told_by_launcher;

use super::{PROFILE, RUN};

/// How often processes without an environment are looked at, all together, a millisecond apart; and those that have no
/// command line either, which are just replacing their program and may have to wait for a processor.
const REPLACED: usize = 20;
const REPLACED_UNNAMED: usize = 1000;

/// Bytes of an environment that are looked at; Linux gives a program at most a quarter of its stack, by default 2 MiB.
const MOST_ENVIRONMENT: usize = 2 << 20;

/// A launcher that waits uses less of the processor than this, in ticks, in the last part of a time limit.
const IDLE_TICKS: u64 = 5;

/// Variables in which launchers tell a rank its number and how many there are: Open MPI's, those of MPICH and of srun for
/// either library, and those of srun with PMIx. `SLURM_PROCID` says nothing, since launchers have it, too.
const RANKS: [(&str, &str); 3] =
    [("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("PMIX_RANK", "SLURM_STEP_NUM_TASKS")];

/// Variables in which launchers tell a rank its number among those of its node: Open MPI's, MPICH's, Slurm's.
const LOCAL_RANKS: [&str; 3] = ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"];
/// Those that tell it how many of its node there are: Open MPI's and MPICH's.
const LOCAL_SIZES: [&str; 2] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];

/// Whether this process's rank is certain to be on rank 0's node: all ranks below it are on its own then.
pub fn is_beside_rank_0(rank: u32) -> bool {
    rank == 0 || told_by_launcher(LOCAL_RANKS) == Some(rank)
}

/// Whether all ranks are certain to be on this node.
pub fn are_all_here() -> bool {
    let size = told_by_launcher(RANKS.map(|(_, size)| size));
    size.is_some() && size == told_by_launcher(LOCAL_SIZES) || told_by_launcher(["SLURM_STEP_NUM_NODES"]) == Some(1)
}

/// Whether there is no other rank.
pub fn is_alone() -> bool {
    told_by_launcher(RANKS.map(|(_, size)| size)) == Some(1)
}

/// A process of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Its number.
    pub id: i32,
    /// Its parent's; where that has ended, of whoever adopted it.
    pub parent: i32,
    /// Its program's name, cut to 15 characters by the kernel.
    pub name: String,
    /// Processor time that it has used, in the kernel's ticks.
    pub ticks: u64,
}

/// The living processes of the run in `folder`, this one aside.
pub fn of_run(folder: &Path) -> Vec<Process> {
    carrying(RUN, folder, &|| std::thread::sleep(Duration::from_millis(1)))
}

/// Whether a living process is to write the profile of the run in `folder`.
pub fn is_measured_into(folder: &Path) -> bool {
    !measured_into(folder).is_empty()
}

fn measured_into(folder: &Path) -> Vec<Process> {
    carrying("POISE_PROFILE", &folder.join(PROFILE), &|| std::thread::sleep(Duration::from_millis(1)))
}

/// Ends what a single run that was interrupted has left, which would write the profile of the run in `folder`.
pub fn end_measured_into(folder: &Path) {
    end_found(&|| measured_into(folder), Duration::ZERO);
}

/// The numbers of all processes but this one.
fn others() -> impl Iterator<Item = u32> {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|&id| id != std::process::id())
}

/// The living processes with a variable of this value, this one aside. A process that is just replacing its program has no
/// environment for a moment, so those without one are looked at again after a pause, which is for all of them.
fn carrying(name: &str, value: &Path, pause: &dyn Fn()) -> Vec<Process> {
    let mut marker = format!("{name}=").into_bytes();
    marker.extend(value.as_os_str().as_encoded_bytes());
    let mut open: Vec<u32> = others().collect();
    let (mut found, mut buffer) = (Vec::new(), vec![0; MOST_ENVIRONMENT]);
    for round in 0..REPLACED_UNNAMED {
        if round > 0 {
            pause();
        }
        open.retain(|&id| {
            let environment = environment(id, &mut buffer);
            if environment.is_some_and(|bytes| bytes.split(|&byte| byte == 0).any(|entry| entry == marker)) {
                found.push(id);
            }
            environment.is_none() && (round + 1 < REPLACED || is_unnamed(id))
        });
        if open.is_empty() {
            break;
        }
    }
    found.into_iter().filter_map(process).collect()
}

/// The environment of a process; empty where it may not be read, and none where there is none although a program runs.
/// What is read of it in parts may end early.
fn environment(id: u32, buffer: &mut [u8]) -> Option<&[u8]> {
    match File::open(format!("/proc/{id}/environ")).and_then(|mut file| file.read(buffer)) {
        Ok(bytes) if bytes > 0 => Some(&buffer[..bytes]),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => Some(&[]),
        _ => (!has_program(id)).then_some(&[]),
    }
}

/// Whether a process has no command line, which even a program without arguments and environment has.
fn is_unnamed(id: u32) -> bool {
    fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.is_empty())
}

/// Whether a process runs a program, as threads of the kernel and what has ended do not.
fn has_program(id: u32) -> bool {
    fs::read_link(format!("/proc/{id}/exe")).is_ok()
}

fn process(id: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    parse_stat(&stat)
}

/// From `/proc/PID/stat`: `42 (name) S …`, where the name may hold anything. None for what has ended.
fn parse_stat(stat: &str) -> Option<Process> {
    let (id, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    let ticks = |i: usize| fields.get(i)?.parse::<u64>().ok();
    let parent = fields.get(1)?.parse().ok()?;
    Some(Process { id: id.parse().ok()?, parent, name: name.to_owned(), ticks: ticks(11)? + ticks(12)? })
}

/// The processes that ranks have left behind, where the launcher `root` runs on although its ranks have ended: launchers
/// wait until nobody holds a rank's output any more. Empty where a rank lives, and where the launcher's processes do more
/// than wait: they had used `before`. Orphans are adopted by an ancestor of ours; ranks that a daemon has started are its.
pub fn left_by_ranks(folder: &Path, root: i32, before: &[Process]) -> Vec<Process> {
    let mut others = of_run(folder);
    let mut waiting = vec![root];
    let mut ticks = 0;
    while let Some(i) = others.iter().position(|p| p.id == root || waiting.contains(&p.parent)) {
        let process = others.swap_remove(i);
        let then = before.iter().find(|b| b.id == process.id).map_or(0, |b| b.ticks);
        ticks += process.ticks.saturating_sub(then);
        waiting.push(process.id);
    }
    others.retain(|process| rank(process).is_some());
    let ancestors = ancestors(std::process::id() as i32);
    let all_orphans = others.iter().all(|process| ancestors.iter().any(|ancestor| ancestor.id == process.parent));
    let a_rank_lives = waiting.iter().any(|&id| process(id as u32).is_some_and(|process| rank(&process).is_some()));
    if ticks > IDLE_TICKS || !all_orphans || a_rank_lives {
        return Vec::new();
    }
    others.sort_by_key(|process| process.id);
    others
}

/// The processes that have started the process `id`, its parent first.
pub fn ancestors(id: i32) -> Vec<Process> {
    let parent = |of: &Process| process(u32::try_from(of.parent).ok().filter(|&parent| parent > 0)?);
    let own = u32::try_from(id).ok().and_then(process);
    std::iter::successors(own.as_ref().and_then(parent), parent).collect()
}

/// A process of a rank.
pub struct Rank {
    /// The process.
    pub process: Process,
    /// The rank's number.
    pub number: usize,
    /// How many ranks there are, where the launcher says it.
    pub size: Option<usize>,
}

/// The processes of ranks; a shell and what it has started may be of the same one.
pub fn ranks(folder: &Path) -> Vec<Rank> {
    of_run(folder).iter().filter_map(rank).collect()
}

/// The first process of each rank that the process `root` has started, by whatever stands between them.
pub fn ranks_below(root: i32) -> Vec<Rank> {
    let (mut found, mut above) = (Vec::new(), vec![root]);
    while let Some(process) = above.pop() {
        for child in children(process) {
            match rank(&child) {
                Some(rank) => found.push(rank),
                None => above.push(child.id),
            }
        }
    }
    found
}

/// The processes that a process has started, by any of its threads.
fn children(id: i32) -> Vec<Process> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers: Vec<u32> =
        children.flat_map(|list| list.split(' ').filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect();
    numbers.into_iter().filter_map(process).collect()
}

/// Whether this process is itself a rank's, so that all it starts carries a rank's number.
pub fn is_a_ranks() -> bool {
    process(std::process::id()).is_some_and(|own| rank(&own).is_some())
}

/// The rank that a process belongs to.
fn rank(process: &Process) -> Option<Rank> {
    let mut buffer = vec![0; MOST_ENVIRONMENT];
    let environment = String::from_utf8_lossy(environment(u32::try_from(process.id).ok()?, &mut buffer)?);
    let entries: Vec<(&str, &str)> = environment.split('\0').filter_map(|entry| entry.split_once('=')).collect();
    let value = |name: &str| entries.iter().find(|(n, _)| *n == name)?.1.parse().ok();
    let (number, size) = RANKS.iter().find_map(|(rank, size)| Some((value(rank)?, value(size))))?;
    Some(Rank { process: process.clone(), number, size })
}

/// The living processes of a process group, this one aside.
fn in_group(group: i32) -> Vec<Process> {
    let is_in_group = |&id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let field = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split_whitespace().nth(2));
        field.is_some_and(|field| field.parse() == Ok(group))
    };
    others().filter(is_in_group).filter_map(process).collect()
}

/// Ends all processes of a run that are left and tells which they were: those that carry its folder, and those of its process group, if it has one, which
/// may have emptied their environment. Those of a launcher may need a moment to end by themselves; they have `patience`.
pub fn end_left(folder: &Path, group: Option<i32>, patience: Duration) -> Vec<Process> {
    let find = || {
        let mut found = of_run(folder);
        for process in group.map(in_group).unwrap_or_default() {
            if found.iter().all(|known| known.id != process.id) {
                found.push(process);
            }
        }
        found
    };
    end_found(&find, patience)
}

/// Ends what `find` finds after some patience; what that was.
fn end_found(find: &dyn Fn() -> Vec<Process>, patience: Duration) -> Vec<Process> {
    let begun = Instant::now();
    let mut left = find();
    while !left.is_empty() && begun.elapsed() < patience {
        std::thread::sleep(Duration::from_millis(20));
        left = find();
    }
    let found = left.clone();
    // What is killed may have started others in between.
    for _ in 0..10 {
        for process in &left {
            // SAFETY: `kill` only takes numbers; the process was seen a moment ago with the run's name in it or in its group.
            unsafe { libc::kill(process.id, libc::SIGKILL) };
        }
        if left.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
        left = find();
    }
    found
}

/// This start of the machine.
pub fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Process numbers have a meaning within it.
pub fn namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map_or_else(|_| String::new(), |link| link.display().to_string())
}

/// When a process started, in ticks since the machine did; none where it has ended.
pub fn started(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    (!matches!(*fields.first()?, "Z" | "X")).then(|| fields.get(19).map(|ticks| (*ticks).to_owned()))?
}

/// The beginning of a hidden folder's name that says whose it is: of this process, for [`of_dead`].
pub fn own_prefix(start: &str) -> String {
    let process = std::process::id();
    format!("{start}{}-{process}-{}-", machine(), started(process).unwrap_or_default())
}

/// Where and since when process numbers mean what they do.
fn machine() -> String {
    crate::digest::of_bytes(format!("{}{}", boot(), namespace()).as_bytes())[..12].to_owned()
}

/// The folders in `parent` that processes of this machine, which have ended, made with [`own_prefix`], by name.
pub fn of_dead(parent: &Path, start: &str) -> Vec<PathBuf> {
    let here = machine();
    let is_dead = |name: &str| {
        let [machine, process, ticks, _] = name.strip_prefix(start)?.split('-').collect::<Vec<_>>()[..] else {
            return None;
        };
        Some(machine == here && started(process.parse().ok()?).as_deref() != Some(ticks))
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let dead = entries.filter(|entry| is_dead(&entry.file_name().to_string_lossy()) == Some(true));
    let mut dead: Vec<PathBuf> = dead.map(|entry| entry.path()).collect();
    dead.sort();
    dead
}

/// How often the kernel has killed for want of memory since it started; 0 where it does not say.
pub fn oom_kills() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 100 0 0 0 7 5 0 0 20 0 1 0 100 1000 10";
        assert_eq!(parse_stat(stat), Some(Process { id: 42, parent: 1, name: "a) b (c".into(), ticks: 12 }));
        assert_eq!(parse_stat("42 (x) Z 1 42 42 0 -1 4194560 100 0 0 0 7 5 0 0"), None);
    }

    #[test]
    fn folders_of_dead_processes_alone_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let own = own_prefix(".x-");
        let dead = own.replace(&format!("-{}-", std::process::id()), &format!("-{}-", child.id()));
        let reused = own.replace(&started(std::process::id()).unwrap(), "1");
        let elsewhere = dead.replace(&machine(), "0123456789ab");
        let names = [own, dead, reused, elsewhere, ".x-".into()].map(|prefix| format!("{prefix}aB3_"));
        names.iter().for_each(|name| fs::create_dir(folder.path().join(name)).unwrap());
        let mut expected = [&names[1], &names[2]].map(|name| folder.path().join(name));
        expected.sort();
        assert_eq!(of_dead(folder.path(), ".x-"), expected);
    }

    #[test]
    fn processes_are_found_by_their_run_wherever_they_went() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(of_run(folder.path()), []);
        let script = "setsid sleep 4712 & wait";
        let mut child = std::process::Command::new("sh").args(["-c", script]).env(RUN, folder.path()).spawn().unwrap();
        let begun = Instant::now();
        while of_run(folder.path()).iter().filter(|p| p.name == "sleep").count() < 1 {
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", of_run(folder.path()));
        }
        let ended = end_left(folder.path(), None, Duration::ZERO);
        assert!(ended.iter().any(|p| p.name == "sleep") && ended.iter().any(|p| p.name == "sh"), "{ended:?}");
        child.wait().unwrap();
        assert_eq!(of_run(folder.path()), []);
    }

    /// Ranks that a daemon has started, as batch systems do, are no orphans although no launcher is above them.
    #[test]
    fn orphans_are_left_by_ranks_and_what_a_daemon_started_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let sh = |script: &str| std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        let marks = |rank: u32| format!("{RUN}='{}' OMPI_COMM_WORLD_RANK={rank}", folder.path().display());
        let mut launcher = std::process::Command::new("sleep").arg("4716").env(RUN, folder.path()).spawn().unwrap();
        let root = launcher.id() as i32;
        sh(&format!("{} sh -c 'sleep 4717 & exit 0'", marks(0))).wait().unwrap();
        // The launcher's own process, and those of ranks as soon as they are the program that they are to become.
        let sleeping = |count: usize| {
            let begun = Instant::now();
            loop {
                let found: Vec<_> = of_run(folder.path()).into_iter().filter(|p| p.name == "sleep").collect();
                if found.len() == count {
                    return found;
                }
                assert!(begun.elapsed() < Duration::from_secs(20), "{found:?}");
            }
        };
        let before = sleeping(2);
        let left = left_by_ranks(folder.path(), root, &before);
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(
            left[0].id != root && ancestors(std::process::id() as i32).iter().any(|above| above.id == left[0].parent),
            "{left:?}"
        );
        let mut daemon = sh(&format!("{} sleep 4718 & wait", marks(1)));
        let before = sleeping(3);
        assert!(before.iter().any(|process| process.parent == daemon.id() as i32), "{before:?}");
        assert_eq!(left_by_ranks(folder.path(), root, &before), [], "a rank that a daemon has started runs");
        end_left(folder.path(), None, Duration::ZERO);
        launcher.wait().unwrap();
        daemon.wait().unwrap();
    }

    #[test]
    fn a_process_that_replaces_its_program_is_found_at_any_moment() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("again.sh");
        fs::write(&script, "exec sh \"$0\"\n").unwrap();
        let mut child = std::process::Command::new("sh").arg(&script).env(RUN, folder.path()).spawn().unwrap();
        let missed = (0..300).filter(|_| of_run(folder.path()).len() != 1).count();
        end_left(folder.path(), None, Duration::ZERO);
        child.wait().unwrap();
        assert_eq!(missed, 0, "about thirty looks meet it between two programs");
    }

    #[test]
    fn processes_without_an_environment_are_waited_for_together() {
        let sleep = || std::process::Command::new("/bin/sleep").arg("4714").env_clear().spawn().unwrap();
        let mut without: Vec<_> = (0..5).map(|_| sleep()).collect();
        let marked = "/marked by this test alone";
        let mut with = std::process::Command::new("sleep").arg("4714").env(RUN, marked).spawn().unwrap();
        let pauses = std::cell::Cell::new(0);
        let count = || pauses.set(pauses.get() + 1);
        // A process has its parent's environment until it is the program that it is to become.
        let environment = |child: &std::process::Child| fs::read(format!("/proc/{}/environ", child.id())).unwrap();
        let begun = Instant::now();
        while !without.iter().all(|child| environment(child).is_empty())
            || !String::from_utf8_lossy(&environment(&with)).contains(marked)
        {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        let found = carrying(RUN, Path::new(marked), &count);
        without.iter_mut().chain([&mut with]).for_each(|child| {
            child.kill().unwrap();
            child.wait().unwrap();
        });
        assert_eq!(found.iter().map(|process| process.id as u32).collect::<Vec<_>>(), [with.id()]);
        assert_eq!(pauses.get(), REPLACED - 1, "as many as for one");
    }
}
