//! `poise preload` behind a launcher: what stands beside ranks and tells that a run has no profile, and that neither the program nor its launcher notices it.

mod common;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{World, kernel_tells_how_processes_ended, outcome};

/// A world whose commands are rank 0 of a run that is to be measured.
fn rank_0(profile: &str) -> World {
    let mut world = World::new();
    world.set("PMI_RANK", "0");
    world.set("POISE_PROFILE", profile);
    world
}

fn preload(world: &World, command: &[&str]) -> Command {
    let mut preload = world.command(env!("CARGO_BIN_EXE_poise"), ["preload"]);
    preload.args(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    preload
}

fn text(mut from: impl std::io::Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

/// The process that watches over `program`, once it has closed what it had from its parent.
fn watcher(world: &World, program: &Child) -> PathBuf {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        let found = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).find(|process| {
            let is = |link: &str, path: &Path| std::fs::read_link(process.join(link)).is_ok_and(|of| of == path);
            let files = std::fs::read_dir(process.join("fd")).into_iter().flatten().count();
            is("cwd", &world.path("").canonicalize().unwrap())
                && is("exe", &Path::new(env!("CARGO_BIN_EXE_poise")).canonicalize().unwrap())
                && !process.ends_with(program.id().to_string())
                && files == 3
        });
        if let Some(found) = found {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nobody watches")
}

fn kill(signal: &str, process: &str) {
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

/// Kills the process by a signal that it cannot see; what came on standard error, until nobody has it any more.
fn killed(mut child: Child) -> String {
    child.kill().unwrap();
    child.wait().unwrap();
    text(child.stderr.take().unwrap())
}

/// Launchers and shells wait for pipes to be closed; who watches keeps none open but standard error, until the program has ended.
#[test]
fn what_the_program_closes_is_closed() {
    let world = rank_0("run.poise");
    outcome(world.command("mkfifo", ["pipe"]).output().unwrap()).status(0);
    let program = format!("exec {} preload sh -c 'exec >&- 3>&-; exec sleep 60' 3>pipe", env!("CARGO_BIN_EXE_poise"));
    let mut shell = world.command("sh", ["-c", &program]);
    let began = Instant::now();
    let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pipe = std::fs::File::open(world.path("pipe")).unwrap();
    watcher(&world, &child);
    assert_eq!((text(pipe).as_str(), text(child.stdout.take().unwrap()).as_str()), ("", ""));
    assert!(child.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(50), "the program goes on");
    assert!(killed(child).contains("before there was a profile"));
}

/// Launchers that end a run send signals to all that belongs to it.
#[test]
fn signals_are_for_the_program() {
    let world = rank_0("run.poise");
    let child = preload(&world, &["sleep", "60"]).spawn().unwrap();
    let watcher = watcher(&world, &child);
    for signal in ["-TERM", "-INT", "-HUP", "-QUIT", "-USR1", "-ALRM", "-TSTP"] {
        kill(signal, watcher.file_name().unwrap().to_str().unwrap());
    }
    let said = killed(child);
    assert!(said.contains("this run has no profile; nothing was saved") && said.lines().count() == 1, "{said}");
    assert_eq!(world.read("run.poise.failed"), said.trim_start_matches("poise: "));
}

/// Ranks and launchers write to the same place meanwhile: a line comes whole, in one write, which is one message to a socket.
#[test]
fn a_line_is_one_write() {
    let world = rank_0("run.poise");
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    ours.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let status = preload(&world, &["sh", "-c", "kill -9 $$"]).stderr(OwnedFd::from(theirs)).status().unwrap();
    assert!(!status.success());
    let mut message = [0; 4096];
    let length = ours.recv(&mut message).unwrap();
    let line = std::str::from_utf8(&message[..length]).unwrap();
    assert!(line.starts_with("poise: ") && line.contains("nothing was saved") && line.ends_with('\n'), "{line}");
}

/// Somebody may have locked the profile's folder for as long as the run takes, and wait for all that the run says.
#[test]
fn a_lock_of_another_keeps_nothing_back() {
    let world = rank_0("run.poise");
    let folder = std::fs::File::open(world.path("")).unwrap();
    folder.lock().unwrap();
    let mut child = preload(&world, &["sh", "-c", "kill -9 $$"]).spawn().unwrap();
    child.wait().unwrap();
    let stderr = child.stderr.take().unwrap();
    let (told, said) = std::sync::mpsc::channel();
    std::thread::spawn(move || told.send(text(stderr)));
    let said = said.recv_timeout(Duration::from_secs(60)).expect("it waits for the lock");
    assert!(ours(&said).len() == 1 && said.contains("this run has no profile"), "{said}");
}

/// A program may wait for whatever child there is, and find none that it did not start, even where orphans become its children.
#[test]
fn the_program_has_no_child_that_it_did_not_start() {
    let world = rank_0("run.poise");
    world.write(
        "children.c",
        "#include <errno.h>
        #include <string.h>
        #include <sys/prctl.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(int count, char **values) {
            if (count > 1) {
                prctl(PR_SET_CHILD_SUBREAPER, 1);
                execvp(values[1], values + 1);
                return 7;
            }
            usleep(300000);
            return waitpid(-1, 0, WNOHANG) == -1 && errno == ECHILD ? 0 : 1;
        }",
    );
    outcome(world.command("cc", ["children.c", "-o", "children"]).output().unwrap()).status(0);
    outcome(preload(&world, &["./children"]).output().unwrap()).status(0);
    outcome(world.command("./children", [env!("CARGO_BIN_EXE_poise"), "preload", "./children"]).output().unwrap())
        .status(0);
}

/// What is said otherwise is not said again, and nothing is said where there is nothing to say.
#[test]
fn one_line_says_why_there_is_no_profile() {
    let mut world = rank_0("run.poise");
    let said = |world: &World, command: &[&str], status: Option<i32>| {
        let ended = outcome(preload(world, command).output().unwrap());
        assert_eq!(ended.status, status, "{}", ended.stderr);
        ended.stderr
    };
    // A program that the system does not start says so itself.
    world.write("script", "#!/no/such/interpreter\n");
    outcome(world.command("chmod", ["+x", "script"]).output().unwrap()).status(0);
    let line = said(&world, &["./script"], Some(2));
    assert!(line.starts_with("poise: Cannot start ./script") && line.lines().count() == 1, "{line}");
    assert!(!world.path("run.poise.failed").exists());
    // One that is not measured.
    let line = said(&world, &["true"], Some(0));
    assert!(line.contains("before there was a profile") && line.lines().count() == 1, "{line}");
    assert!(!line.contains("earlier run"));
    // A program that goes elsewhere, or that a script starts there, has its profile where the run began.
    world.write("main.c", "#include <unistd.h>\nstatic volatile int sum; int main(void) { for (int i = 0; i < 9; i++) sum = i; return chdir(\"/\"); }");
    world.poise(["cc", "-O1", "main.c", "-o", "counted"]).status(0);
    let counted = world.path("counted").display().to_string();
    for command in [&["./counted"][..], &["sh", "-c", &format!("cd /tmp && exec {counted}")]] {
        assert_eq!(said(&world, command, Some(0)), "");
        std::fs::remove_file(world.path("run.poise")).unwrap();
    }
    // A profile that was there is kept, and is not taken for this run's.
    world.write("run.poise", "earlier");
    let line = said(&world, &["sh", "-c", "kill -9 $$"], None);
    assert!(
        line.contains(&format!("{} is of an earlier run", world.path("run.poise").display()))
            && line.lines().count() == 1,
        "{line}"
    );
    for _ in 0..2 {
        let line = said(&world, &["./counted"], Some(0));
        assert!(line.contains("there is a file already") && line.lines().count() == 1, "{line}");
    }
    // What that one left beside the profile is not this run's word.
    assert!(world.path("run.poise.conflict").exists());
    let line = said(&world, &["sh", "-c", "kill -9 $$"], None);
    assert!(line.contains("is of an earlier run") && line.lines().count() == 1, "{line}");
    // Profiles that cannot be written: no folder; a name that is as long as names are, and so too long for a file beside it with a longer one.
    for name in ["nowhere/run.poise".to_owned(), "n".repeat(248)] {
        world.set("POISE_PROFILE", &name);
        let line = said(&world, &["./counted"], Some(0));
        assert!(line.contains("cannot write the profile") && line.lines().count() == 1, "{line}");
    }
    // Of its own runs poise run tells more.
    world.set("POISE_PROFILE", "run.poise");
    world.set("POISE_RUN", "/nowhere");
    std::fs::remove_file(world.path("run.poise")).unwrap();
    assert_eq!(said(&world, &["true"], Some(0)), "");
}

const LAUNCHERS: [(&str, &str, &[&str]); 2] =
    [("openmpi", "mpirun.openmpi", &["--oversubscribe"]), ("mpich", "mpiexec.mpich", &[])];

/// What was said of ours.
fn ours(said: &str) -> Vec<&str> {
    said.lines().filter_map(|line| line.strip_prefix("poise: ")).collect()
}

/// However a rank ends, the launcher's status is the one without poise, and one line tells each time that there is no profile: at once, to who launched the
/// program, and by the commands that are to read the profile.
#[test]
fn however_a_rank_ends_the_status_stays_and_one_line_tells_it() {
    let ways: [(&str, Option<&str>); 9] = [
        ("exit 0", Some("MPI_Finalize was never reached on rank")),
        ("exit 3", Some("MPI_Finalize was never reached on rank")),
        ("_exit 4", Some("before there was a profile")),
        ("MPI_Finalize, exit 3", None),
        ("MPI_Finalize, _exit 4", None),
        ("MPI_Abort", Some("the program called MPI_Abort with 7 on rank")),
        ("SIGKILL", Some("before there was a profile")),
        ("SIGSEGV", Some("before there was a profile")),
        ("fatal error", Some("before there was a profile")),
    ];
    for (mpi, launcher, options) in LAUNCHERS {
        let world = ends(mpi);
        for ranks in ["2", "4"] {
            for (how, words) in ways {
                let run = |program: &[&str], profile: &str| {
                    let command = [options, &["-n", ranks], program, &["./ends", how]].concat();
                    let mut command = world.command(launcher, command);
                    outcome(command.env("POISE_PROFILE", profile).stdin(Stdio::null()).output().unwrap())
                };
                // MPICH's status is that of the rank, or 9 of those that the launcher kills then, as it happens: on four ranks often, on two hardly ever.
                let agrees = (0..32).any(|turn| {
                    let profile = format!("{how}.{ranks}.{turn}.poise");
                    let (bare, measured) = (run(&[], ""), run(&[env!("CARGO_BIN_EXE_poise"), "preload"], &profile));
                    let what = format!("{how} under {mpi} on {ranks} ranks: {}", measured.stderr);
                    match (words, &ours(&measured.stderr)[..]) {
                        (None, []) => assert!(world.path(&profile).exists(), "{what}"),
                        (Some(words), [line]) => {
                            assert!(line.contains(words) && line.contains("this run has no profile"), "{what}");
                            // Signals by which launchers end ranks, and what no kernel tells of, may be those of other ranks.
                            assert!(
                                !line.contains("SIGKILL") || line.contains(", or another of those that were killed,")
                            );
                            let is_certain = line.contains("SIGSEGV") || line.contains("with status 4");
                            let rank = ranks.parse::<u32>().unwrap() - 1;
                            let is_own = line.contains(" on rank ");
                            assert!(!is_own || line.contains(&format!(" on rank {rank};")), "{what}");
                            assert!(!is_certain || line.starts_with(&format!("rank {rank} ")), "{what}");
                            assert_eq!(world.read(&format!("{profile}.failed")).trim_end(), *line, "{what}");
                            let expected = format!("poise: {profile}: there is no such profile: {line}\n");
                            for reads in [&["messages"][..], &["model"], &["report", "-o", "page.html"]] {
                                let read = world.poise(reads.iter().copied().chain([profile.as_str()])).status(3);
                                assert_eq!(read.stderr, expected);
                            }
                        }
                        _ => panic!("{what}"),
                    }
                    bare.status == measured.status
                });
                assert!(agrees, "{how} under {mpi} on {ranks} ranks");
            }
        }
    }
}

/// Where the launcher's standard error is a file, what is said there and what the launcher writes do not overwrite each other.
#[test]
fn a_line_in_a_file_stands_beside_what_the_launcher_wrote() {
    for (mpi, launcher, options) in LAUNCHERS {
        let world = ends(mpi);
        let run = |program: &str| {
            let command = format!("{launcher} {} -n 2 {program} ./ends SIGKILL 2> said", options.join(" "));
            world
                .command("sh", ["-c", &command])
                .env("POISE_PROFILE", "run.poise")
                .stdout(Stdio::null())
                .status()
                .unwrap();
        };
        run("");
        let lines = world.read("said").lines().count();
        run(&format!("{} preload", env!("CARGO_BIN_EXE_poise")));
        // The launcher may end before the line is written.
        let end = Instant::now() + Duration::from_secs(20);
        while ours(&world.read("said")).is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        let said = world.read("said");
        assert_eq!((ours(&said).len(), said.lines().count()), (1, lines + 1), "{mpi}: {said}");
        assert_eq!(ours(&said)[0], world.read("run.poise.failed").trim_end());
    }
}

/// A file that somebody else has emptied since the launcher's end is theirs.
#[test]
fn no_line_comes_into_the_next_commands_log() {
    for (mpi, launcher, options) in LAUNCHERS {
        let world = ends(mpi);
        let program = format!("{} preload ./ends 'fatal error'", env!("CARGO_BIN_EXE_poise"));
        let script = format!("{launcher} {} -n 2 {program} > log 2>&1; echo next > log", options.join(" "));
        world.command("sh", ["-c", &script]).env("POISE_PROFILE", "run.poise").status().unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while !world.path("run.poise.failed").exists() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(world.read("log"), "next\n", "{mpi}");
        assert!(world.read("run.poise.failed").contains("this run has no profile"), "{mpi}");
    }
}

/// What all ranks are asked for is wrong for all of them.
#[test]
fn wrong_settings_are_told_in_one_line_each() {
    for (mpi, launcher, options) in LAUNCHERS {
        let world = ends(mpi);
        let wrong = [
            ("WAITING", "yes"),
            ("RANKS", "many"),
            ("CHECKPOINT", "often"),
            ("CLOCK", "sun"),
            ("PARAMETERS", "n"),
            ("STACK", "?"),
        ];
        let command = [options, &["-n", "3", env!("CARGO_BIN_EXE_poise"), "preload", "./ends", "well"]].concat();
        let mut command = world.command(launcher, command);
        command.envs(wrong.map(|(name, value)| (format!("POISE_{name}"), value))).env("POISE_PROFILE", "run.poise");
        let ran = outcome(command.stdin(Stdio::null()).output().unwrap()).status(0);
        let said = ours(&ran.stderr);
        for (name, _) in wrong {
            let told = said.iter().filter(|line| line.starts_with(&format!("POISE_{name}"))).count();
            assert_eq!(told, 1, "{mpi}, {name}: {}", ran.stderr);
        }
        assert_eq!(said.len(), wrong.len(), "{mpi}: {}", ran.stderr);
        assert!(world.path("run.poise").exists(), "the rest is measured");
    }
}

/// What the library refuses to measure it says in one line for all ranks, and nobody says more.
#[test]
fn programs_of_another_mpi_or_of_two_are_told_in_one_line() {
    let world = World::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/ends.c");
    let source = source.to_str().unwrap();
    for (mpi, _, _) in LAUNCHERS {
        let arguments = [source, "-o", mpi];
        outcome(world.command(&format!("mpicc.{mpi}"), arguments).output().unwrap()).status(0);
    }
    let options = outcome(world.command("mpicc.openmpi", ["-showme:link"]).output().unwrap()).status(0).stdout;
    let both = [source, "-o", "both", "-Wl,--no-as-needed"].into_iter().chain(options.split_whitespace());
    outcome(world.command("mpicc.mpich", both).output().unwrap()).status(0);
    for (mpi, launcher, options) in LAUNCHERS {
        for (program, _, _) in LAUNCHERS.iter().filter(|(of, _, _)| *of != mpi).chain([&("both", "", &[][..])]) {
            // A rank may find at once that it is alone, and end.
            for how in ["well", "MPI_Abort", "SIGSEGV"] {
                let profile = format!("{mpi}.{program}.{how}.poise");
                // Another run's, which is forgotten.
                world.write(&format!("{profile}.failed"), "An earlier run said this.\n");
                std::thread::sleep(Duration::from_millis(50));
                let words = if *program == "both" { "two MPI libraries" } else { "the launcher started 3 ranks" };
                let command =
                    [options, &["-n", "3", env!("CARGO_BIN_EXE_poise"), "preload", &format!("./{program}"), how]];
                let mut command = world.command(launcher, command.concat());
                let ran = outcome(command.env("POISE_PROFILE", &profile).stdin(Stdio::null()).output().unwrap());
                let said = ours(&ran.stderr);
                assert!(said.len() == 1 && said[0].contains(words), "{program} under {mpi}, {how}: {}", ran.stderr);
                assert_eq!(world.read(&format!("{profile}.failed")).trim_end(), said[0]);
            }
        }
    }
}

/// What a signal kills says nothing itself: a process beside the rank does, in one line for all ranks.
#[test]
fn what_ranks_had_saved_is_told_when_one_is_killed() {
    for (mpi, launcher, options) in LAUNCHERS {
        let world = ends(mpi);
        let run = |profile: &str, program: &[&str], seconds: &str| {
            let command = [options, &["-n", "2"], &PRELOAD, &["./ends"], program].concat();
            let mut command = world.command(launcher, command);
            outcome(command.env("POISE_PROFILE", profile).env("POISE_CHECKPOINT", seconds).output().unwrap())
        };
        let program = ["SIGKILL", "saved.poise.checkpoint.0", "saved.poise.checkpoint.1"];
        let killed = run("saved.poise", &program, "0.05");
        let said = ours(&killed.stderr);
        assert!(said.len() == 1, "{mpi}: {}", killed.stderr);
        assert!(said[0].contains("2 ranks") && said[0].contains("saved.poise.checkpoint.*"), "{mpi}: {}", said[0]);
        assert!(world.path("saved.poise.checkpoint.1").exists());
        // What rank 0 says itself, as here of a name that is too long for a file beside it, is not said again.
        let unwritten = run(&"n".repeat(248), &["well"], "");
        let said = ours(&unwritten.stderr);
        assert!(said.len() == 1 && said[0].contains("cannot write the profile"), "{mpi}: {said:?}");
        // Nor where nothing can be made at all.
        let nowhere = run("/proc/run.poise", &["well"], "");
        let said = ours(&nowhere.stderr);
        assert!(said.len() == 1 && said[0].contains("choose a path in a folder"), "{mpi}: {said:?}");
        let whole = run("whole.poise", &["well"], "0.05");
        assert!(whole.status == Some(0) && ours(&whole.stderr).is_empty(), "{mpi}: {}", whole.stderr);
        assert!(world.path("whole.poise").exists() && !world.path("whole.poise.failed").exists());
    }
}

/// `tests/programs/ends.c` for an MPI, as `ends`.
fn ends(mpi: &str) -> World {
    let world = World::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/ends.c");
    outcome(world.command(&format!("mpicc.{mpi}"), [source.to_str().unwrap(), "-o", "ends"]).output().unwrap())
        .status(0);
    world
}

/// What is said of ours where `command` runs with the profile `run.poise`.
fn said_in_run(world: &World, command: &[&str]) -> Vec<String> {
    let mut run = world.command(command[0], &command[1..]);
    let ran = outcome(run.env("POISE_PROFILE", "run.poise").stdin(Stdio::null()).output().unwrap());
    ours(&ran.stderr).into_iter().map(str::to_owned).collect()
}

const PRELOAD: [&str; 2] = [env!("CARGO_BIN_EXE_poise"), "preload"];

/// Runs follow each other at once, each with its own words: who comes late to tell of one says nothing of the next.
#[test]
fn runs_with_one_profile_tell_each_of_itself() {
    for (mpi, launcher, options) in LAUNCHERS {
        let world = ends(mpi);
        for _ in 0..5 {
            for (how, words) in [("SIGKILL", Some("SIGKILL")), ("SIGSEGV", Some("SIGSEGV")), ("well", None)] {
                let command = [&[launcher], options, &["-n", "4"], &PRELOAD, &["./ends", how]].concat();
                let said = said_in_run(&world, &command);
                assert_eq!(said.len(), usize::from(words.is_some()), "{mpi}, {how}: {said:?}");
                let is_told = |words| said[0].contains(words) || !kernel_tells_how_processes_ended();
                assert!(words.is_none_or(is_told), "{mpi}, {how}: {said:?}");
            }
            assert!(!world.path("run.poise.failed").exists(), "{mpi}");
            std::fs::remove_file(world.path("run.poise")).unwrap();
        }
    }
}

/// What a signal has killed could not say that nothing can be written.
#[test]
fn a_killed_rank_is_told_where_nothing_can_be_written() {
    if !kernel_tells_how_processes_ended() {
        eprintln!("skipped: this kernel does not tell how processes ended");
        return;
    }
    for (mpi, launcher, options) in LAUNCHERS {
        let world = ends(mpi);
        let command = [options, &["-n", "2"], &PRELOAD, &["./ends", "SIGSEGV"]].concat();
        let mut run = world.command(launcher, command);
        let ran = outcome(run.env("POISE_PROFILE", "nowhere/run.poise").stdin(Stdio::null()).output().unwrap());
        let said = ours(&ran.stderr);
        // That there can be no profile was said before that.
        assert!(
            said.len() == 2
                && said[0].contains("cannot write the profile")
                && said[1].starts_with("rank 1 was killed by signal 11 (SIGSEGV)"),
            "{mpi}: {}",
            ran.stderr
        );
    }
}

/// Ranks that outlive a launcher that was killed keep nothing open of it.
#[test]
fn the_launchers_standard_error_ends_soon_after_the_launcher() {
    let world = World::new();
    let (_, launcher, options) = LAUNCHERS[0];
    let rank = ["sh", "-c", "echo $$ >> processes; exec sleep 60"];
    let command = [options, &["-n", "2"], &PRELOAD, &rank].concat();
    let mut run = world.command(launcher, command);
    run.env("POISE_PROFILE", "run.poise").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = run.spawn().unwrap();
    let processes = || std::fs::read_to_string(world.path("processes")).unwrap_or_default();
    while processes().lines().count() < 2 {
        std::thread::sleep(Duration::from_millis(20));
    }
    killed(child);
    let lives = processes().lines().all(|process| Path::new("/proc").join(process).exists());
    processes().lines().for_each(|process| kill("-KILL", process));
    assert!(lives, "who reads the launcher's standard error waited for its ranks");
}

/// Of a run is what is younger than its launcher, whichever of its processes comes late or starts others.
#[test]
fn what_a_run_said_stays_until_the_next() {
    for (mpi, launcher, options) in LAUNCHERS {
        let world = World::new();
        world.write(
            "starts.c",
            "#include <mpi.h>
            #include <stdlib.h>
            #include <unistd.h>
            int main(int count, char **values) {
                int rank;
                MPI_Init(&count, &values);
                MPI_Comm_rank(MPI_COMM_WORLD, &rank);
                if (rank == 1) exit(0);
                usleep(500000);
                system(\"sh -c 'sleep 0.1; ls > listed'; true\");
                _exit(0);
            }",
        );
        outcome(world.command(&format!("mpicc.{mpi}"), ["starts.c", "-o", "starts"]).output().unwrap()).status(0);
        let run = |program: &[&str]| said_in_run(&world, &[&[launcher], options, program].concat());
        let said = run(&[&["-n", "2"], &PRELOAD[..], &["./starts"]].concat());
        assert!(said.len() == 1 && said[0].contains("MPI_Finalize was never reached"), "{mpi}: {said:?}");
        assert_eq!(world.read("run.poise.failed").trim_end(), said[0]);
        // Rank 0 comes when another has ended, unless that needs very long.
        let poise = PRELOAD[0];
        let late = format!(
            "test ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} = 1 && exec {poise} preload true; sleep 0.6; exec {poise} preload true"
        );
        let said = run(&["-n", "2", "sh", "-c", &late]);
        assert!(said.len() == 1 && said[0].contains(" ended with status 0 "), "{mpi}: {said:?}");
        // A rank may run programs one after the other.
        world.write(
            "main.c",
            "static volatile int sum; int main(void) { for (int i = 0; i < 9; i++) sum = i; return 0; }",
        );
        world.poise(["cc", "-O1", "main.c", "-o", "counted"]).status(0);
        let said = run(&["-n", "4", "sh", "-c", &format!("for i in 1 2 3 4; do {poise} preload ./counted; done")]);
        assert!(
            said.iter().all(|line| line.contains("there is a file already")) && said.len() == 15,
            "{mpi}: {said:?}"
        );
        assert!(!world.path("run.poise.failed").exists(), "{mpi}");
    }
}

/// The nearest launcher says which rank a process is.
#[test]
fn a_launcher_below_another_numbers_the_ranks() {
    let mut world = ends("mpich");
    world.set("POISE_CHECKPOINT", "0.05");
    let saved = [0, 1, 2].map(|rank| format!("run.poise.checkpoint.{rank}"));
    let launchers = ["mpirun.openmpi", "-n", "1", "mpiexec.mpich", "-n", "3"];
    let program = [&["./ends", "SIGSEGV"][..], &saved.each_ref().map(String::as_str)].concat();
    let said = said_in_run(&world, &[&launchers, &PRELOAD[..], &program].concat());
    assert!(said.len() == 1 && said[0].contains("SIGSEGV") && said[0].starts_with("rank 2 "), "{said:?}");
    assert!(said[0].contains("3 ranks"), "{said:?}");
}

/// What earlier runs left is neither this run's profile nor what this one saved.
#[test]
fn what_earlier_runs_left_is_told_from_this_ones() {
    let world = rank_0("run.poise");
    world.write("main.c", "static volatile int sum; int main(void) { for (int i = 0; i < 9; i++) sum = i; return 0; }");
    world.poise(["cc", "-O1", "main.c", "-o", "counted"]).status(0);
    world.write("run.poise", "earlier");
    world.write("run.poise.checkpoint.0", "earlier");
    std::thread::sleep(Duration::from_millis(50));
    let ended = outcome(preload(&world, &["sh", "-c", "rm -f run.poise; exec ./counted"]).output().unwrap());
    assert_eq!(ended.stderr, "");
    std::fs::remove_file(world.path("run.poise")).unwrap();
    let ended = outcome(preload(&world, &["true"]).output().unwrap());
    assert!(ended.stderr.contains("nothing was saved"), "{}", ended.stderr);
}
