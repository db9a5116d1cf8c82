//! `poise preload` behind a launcher: what stands beside rank 0 and tells that a run has no profile, and that neither the program nor its launcher notices it.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{World, outcome};

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
    assert!(killed(child).starts_with("poise: rank 0 ended without having written a profile"));
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
    assert!(
        line.starts_with("poise: rank 0 ended without having written a profile") && line.lines().count() == 1,
        "{line}"
    );
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

/// What a signal kills says nothing itself: a process beside rank 0 does, in one line for all ranks.
#[test]
fn ranks_that_a_signal_kills_behind_preload_are_told_with_what_was_saved() {
    let program = "#include <mpi.h>
        #include <signal.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(int count, char **values) {
            int rank;
            MPI_Init(&count, &values);
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            MPI_Barrier(MPI_COMM_WORLD);
            usleep(1000000);
            if (rank == 1 && atoi(values[1])) raise(SIGKILL);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Finalize();
            return 0;
        }";
    for (mpi, launcher, oversubscribe) in
        [("openmpi", "mpirun.openmpi", &["--oversubscribe"][..]), ("mpich", "mpiexec.mpich", &[])]
    {
        let world = World::new();
        world.write("ranks.c", program);
        let built = world.command(&format!("mpicc.{mpi}"), ["ranks.c", "-o", "ranks"]).output().unwrap();
        assert!(built.status.success());
        let run = |profile: &str, dies: &str, checkpoint: &str| {
            let poise = env!("CARGO_BIN_EXE_poise");
            let command = [oversubscribe, &["-n", "2", poise, "preload", "./ranks", dies]].concat();
            let mut command = world.command(launcher, command);
            outcome(command.env("POISE_PROFILE", profile).env("POISE_CHECKPOINT", checkpoint).output().unwrap())
        };
        // Open MPI's launcher may have stopped listening when the line comes, which is left beside the profile's place, too.
        let told = |profile: &str, checkpoint: &str| {
            let killed = run(profile, "1", checkpoint);
            let said: Vec<&str> = killed.stderr.lines().filter(|line| line.starts_with("poise: ")).collect();
            assert!(killed.status != Some(0) && said.len() <= 1, "{mpi}: {}", killed.stderr);
            let left = world.path(&format!("{profile}.failed"));
            for _ in 0..100 {
                if left.exists() && !std::fs::read_to_string(&left).unwrap().is_empty() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            let line = std::fs::read_to_string(&left).unwrap();
            assert!(
                said.iter().all(|said| said.trim_start_matches("poise: ") == line.trim_end()),
                "{mpi}: {said:?} {line}"
            );
            assert!(mpi == "openmpi" || said.len() == 1, "{mpi}: {}", killed.stderr);
            line
        };
        let line = told("killed.poise", "");
        assert!(line.contains("this run has no profile") && line.contains("nothing was saved"), "{mpi}: {line}");
        let line = told("saved.poise", "0.1");
        assert!(line.contains("2 ranks") && line.contains("saved.poise.checkpoint.*"), "{mpi}: {line}");
        assert!(world.path("saved.poise.checkpoint.1").exists());
        // What rank 0 says itself, as here of a name that is too long for a file beside it, is not said again.
        let unwritten = run(&"n".repeat(248), "0", "");
        let said: Vec<&str> = unwritten.stderr.lines().filter(|line| line.starts_with("poise: ")).collect();
        assert!(said.len() == 1 && said[0].contains("cannot write the profile"), "{mpi}: {said:?}");
        let whole = run("whole.poise", "0", "");
        assert!(whole.status == Some(0) && !whole.stderr.contains("poise: "), "{mpi}: {}", whole.stderr);
        assert!(world.path("whole.poise").exists() && !world.path("whole.poise.failed").exists());
    }
}
