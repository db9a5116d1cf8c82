//! A killed program leaves what its last checkpoint had; one that ends leaves no checkpoint and the same profile as without.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use poise_profile::{Metric, Profile};

use crate::counts::THREADS;
use crate::tools::{Bench, Source, at, total};

#[test]
fn survive_a_kill() {
    let text = "#include <stdio.h>
        static volatile int sum; __attribute__((noinline)) static void work(int n) { for (int i = 0; i < n; i++) sum = i; }
        int main(void) { for (;;) work(1000); }";
    let bench = Bench::new();
    let program = bench.counted(&Source { text, language: "c" }, &["-O1"]);
    let (path, checkpoint) = (bench.path("x.poise"), bench.path("x.poise.checkpoint"));
    let mut command = Command::new(program);
    command.env("POISE_PROFILE", &path).env("POISE_CHECKPOINT", "0.01").stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let seen = || Profile::read(&checkpoint).ok().and_then(|profile| at(&profile, &["main", "work"], Metric::Visits));
    let wait_until = |wanted: &dyn Fn(u128) -> bool| {
        while !seen().is_some_and(wanted) {
            std::thread::sleep(Duration::from_millis(5));
        }
        seen().unwrap()
    };
    // The second one replaces the first.
    let first = wait_until(&|visits| visits > 0);
    let later = wait_until(&|visits| visits > first);
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(9));
    assert!(output.stderr.is_empty() && !path.exists());
    let profile = Profile::read(&checkpoint).unwrap();
    assert!(profile.metadata.contains_key("partial"), "{:?}", profile.metadata);
    assert!(profile.metadata["checkpoint_seconds"].parse::<f64>().unwrap() > 0.0);
    let visits = at(&profile, &["main", "work"], Metric::Visits).unwrap();
    assert!(visits >= later);
    // An activation has 1002 blocks (entry, loop, end) and the last may be open.
    let blocks = at(&profile, &["main", "work"], Metric::BasicBlocks).unwrap();
    assert!(blocks <= visits * 1003 && blocks + 2 * 1003 >= visits * 1000, "{blocks} {visits}");
}

/// What `docs/counters.md` says of them: a recursion that calls nothing else has in a checkpoint what its activations that have come back
/// counted, and nothing of those that are open, however many they are.
#[test]
fn have_of_a_recursion_what_has_come_back() {
    let text = "#include <stdlib.h>\n#include <unistd.h>
        static volatile int sink;
        __attribute__((noinline)) static void down(int n, int stays) {
            if (n == 0) { while (stays) sink = n; return; }
            down(n - 1, stays); sink = n; }
        int main(int c, char **v) { down(5, 0); if (c < 2) return 0; if (write(1, \"x\", 1) == 1) down(atoi(v[1]), 1); return 9; }";
    let (bench, source) = (Bench::new(), Source { text, language: "c" });
    let program = bench.counted(&source, &["-O1"]);
    let path = ["main", "down"];
    let run = bench.measure(&program, &[]);
    assert_eq!(total(run.profile()), bench.covered(&source, &["-O1"], &[]));
    let come_back = at(run.profile(), &path, Metric::BasicBlocks);
    let checkpoint = bench.path("x.poise.checkpoint");
    for depth in ["10", "1000"] {
        let _ = std::fs::remove_file(&checkpoint);
        let mut command = Command::new(&program);
        command.arg(depth).env("POISE_PROFILE", bench.path("x.poise")).env("POISE_CHECKPOINT", "0.01");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let seconds = || {
            let profile = Profile::read(&checkpoint).ok()?;
            profile.metadata["checkpoint_seconds"].parse::<f64>().ok()
        };
        let until = seconds().unwrap_or(0.0) + 0.5;
        while !seconds().is_some_and(|seconds| seconds > until) {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let profile = Profile::read(&checkpoint).unwrap();
        assert_eq!(at(&profile, &path, Metric::BasicBlocks), come_back);
        // The open ones are visits all the same.
        assert!(at(&profile, &path, Metric::Visits) > Some(6));
    }
}

#[test]
fn go_when_the_profile_is_written() {
    let bench = Bench::new();
    let program = bench.counted(&THREADS, &["-O1"]);
    let expected = total(bench.measure(&program, &[]).profile());
    for wish in ["0.0005", "3600"] {
        let path = bench.path("with.poise");
        let _ = std::fs::remove_file(&path);
        let output = Command::new(&program).env("POISE_PROFILE", &path).env("POISE_CHECKPOINT", wish).output().unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let profile = Profile::read(&path).unwrap();
        assert_eq!(total(&profile), expected);
        assert!(!profile.metadata.contains_key("partial"));
        assert!(!bench.path("with.poise.checkpoint").exists());
    }
    let path = bench.path("wrong.poise");
    let output = Command::new(&program).env("POISE_PROFILE", &path).env("POISE_CHECKPOINT", "often").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        said,
        "poise: POISE_CHECKPOINT: \"often\" is no positive number of seconds; there are no checkpoints.\n"
    );
    assert_eq!(total(&Profile::read(&path).unwrap()), expected);
}

/// A checkpoint of an earlier process is kept under another name, as often as there is one.
#[test]
fn replace_no_file_of_others() {
    let text = "#include <stdlib.h>\n#include <unistd.h>
        int main(void) { while (access(getenv(\"OLD\"), F_OK)) usleep(1000); return 4; }";
    let bench = Bench::new();
    let program = bench.counted(&Source { text, language: "c" }, &["-O1"]);
    let (path, checkpoint) = (bench.path("x.poise"), bench.path("x.poise.checkpoint"));
    for (text, old) in [("first", "x.poise.checkpoint.old"), ("second", "x.poise.checkpoint.old2")] {
        let old = bench.path(old);
        std::fs::write(&checkpoint, text).unwrap();
        let _ = std::fs::remove_file(&path);
        let mut command = Command::new(&program);
        command.env("POISE_PROFILE", &path).env("POISE_CHECKPOINT", "0.01").env("OLD", &old);
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(4), &b""[..]));
        assert_eq!(std::fs::read_to_string(&old).unwrap(), text);
        assert!(path.exists());
    }
    assert_eq!(std::fs::read_to_string(bench.path("x.poise.checkpoint.old")).unwrap(), "first");
}
