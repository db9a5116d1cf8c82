//! A study's builds and programs: several of one source, failing ones, and programs that change between runs or while they are made.

use crate::common::World;
use crate::{runs, with_echo};

#[test]
fn several_builds_by_flags_and_defines() {
    let world = World::new();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/echo.c");
    std::fs::copy(source, world.path("echo.c")).unwrap();
    world.write(
        "s.toml",
        "command = [\"{program}\", \"{n}\"]\n\
         [build]\nsources = [\"echo.c\"]\nmpi = \"none\"\nflags = [\"{flags}\"]\ndefines = { DEFINED = \"\\\"{n} of {text}\\\"\" }\n\
         [parameters]\nn = [1, 2]\nflags = [\"-O0\", [\"-O2\", \"-funroll-loops\"]]\ntext = [\"a;b $x\"]\n",
    );
    let dry = world.poise(["run", "s.toml", "--dry-run"]).status(0);
    assert_eq!(dry.stdout.lines().filter(|line| line.starts_with("build: ")).count(), 4, "{}", dry.stdout);
    world.poise(["run", "s.toml"]).status(0);
    let runs = runs(&world, "s.runs");
    assert_eq!(runs.len(), 4, "{runs:?}");
    let mut digests = Vec::new();
    for run in &runs {
        let record = world.json(&format!("{run}/run.json"));
        let n = record["parameters"]["n"].as_f64().unwrap();
        let printed = world.read(&format!("{run}/stdout.txt"));
        assert!(printed.ends_with(&format!("{n} of a;b $x\0")), "{printed:?}");
        let program = record["programs"][0].clone();
        let summed = world.command("sha256sum", [program["path"].as_str().unwrap()]).output().unwrap();
        let summed = String::from_utf8(summed.stdout).unwrap();
        assert!(summed.starts_with(program["sha256"].as_str().unwrap()), "{summed} {program}");
        digests.push(summed.split(' ').next().unwrap().to_owned());
    }
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 4, "each combination is a program of its own");
    // Models are of one group; the advice names one.
    let groups = world.poise(["model", "s.runs"]).status(3);
    assert!(
        groups.stderr.contains("2 groups of runs") && groups.stderr.contains("s.runs/flags=-O0,text="),
        "{}",
        groups.stderr
    );
}

#[test]
fn a_changed_program_is_noticed() {
    let world = with_echo();
    world.write("s.toml", "command = [\"./echo\", \"{n}\"]\n[parameters]\nn = [1]\n");
    world.poise(["run", "s.toml"]).status(0);
    world.poise(["run", "s.toml"]).status(0);
    let mut bytes = std::fs::read(world.path("echo")).unwrap();
    bytes.push(0);
    std::fs::remove_file(world.path("echo")).unwrap();
    std::fs::write(world.path("echo"), bytes).unwrap();
    world.command("chmod", ["+x", "echo"]).status().unwrap();
    let changed = world.poise(["run", "s.toml"]).status(2);
    assert!(changed.stderr.contains("/echo has changed since s.runs/n1.r1 was measured"), "{}", changed.stderr);
    world.poise(["run", "s.toml", "--accept-changed"]).status(0);
}

/// The program of one run replaces its own file, or that of a run before it; to touch it is nothing.
#[test]
fn a_program_that_is_replaced_while_runs_are_made_ends_the_call() {
    let world = World::new();
    world.write("v2", "#!/bin/sh\n# the second version\n");
    let script = |act: &str| format!("#!/bin/sh\n{act}\n");
    let study = |command: &str| {
        format!(
            "command = [{command}]\ncollect = \"elapsed\"\norder = \"point-by-point\"\n[parameters]\nn = [1, 2, 3, 4]\n"
        )
    };
    world.write("app", &script("case $1 in 2) touch app;; 3) cp v2 new && chmod +x new && mv new app;; esac"));
    world.write("own.toml", &study("\"./app\", \"{n}\""));
    for (n, act) in [("1", "exit 0"), ("2", "echo >>a1"), ("3", "exit 0"), ("4", "exit 0")] {
        world.write(&format!("a{n}"), &script(act));
    }
    world.write("other.toml", &study("\"./a{n}\""));
    assert!(world.command("chmod", ["+x", "app", "a1", "a2", "a3", "a4"]).status().unwrap().success());
    for (study, changed, kept) in
        [("own", "app", vec!["n1.r1", "n2.r1", "n3.r1"]), ("other", "a1", vec!["n1.r1", "n2.r1"])]
    {
        let ended = world.poise(["run", &format!("{study}.toml")]).status(2).stderr;
        assert!(ended.contains(&format!("/{changed} has changed since {study}.runs/n1.r1 was measured")), "{ended}");
        assert_eq!(world.names(&format!("{study}.runs")), kept, "no measured run is lost");
        let next = world.poise(["run", &format!("{study}.toml")]).status(2).stderr;
        assert!(ended.ends_with(&next), "the next call says the same: {ended}{next}");
    }
    world.poise(["run", "own.toml", "--accept-changed"]).status(0);
}

#[test]
fn a_build_that_fails_costs_its_own_points_alone_and_can_be_pasted() {
    let world = World::new();
    world.write("true.sh", "#!/bin/sh\n");
    let study = |values: &str| {
        format!(
            "command = [\"sh\", \"{{build}}/x\", \"{{n}}\"]\ncollect = \"elapsed\"\n\
             build = {{ command = [\"sh\", \"-c\", \"test {{n}} = 1 -o -e ok && cp true.sh $1/x\", \"x\", \"{{build}}\"] }}\n\
             repetitions = 2\n[parameters]\nn = [{values}]\n"
        )
    };
    world.write("s.toml", &study("1, 20"));
    let ran = world.poise(["run", "s.toml"]).status(5);
    assert!(ran.stdout.contains("2 runs are complete"), "{}\n{}", ran.stdout, ran.stderr);
    let record = world.json("s.runs/n20.r1/run.json");
    let failed = "The study's build `sh -c 'test 20 = 1 -o -e ok && cp true.sh $1/x' x ";
    assert_eq!((&record["status"], &record["cause"]), (&"failed".into(), &"build".into()));
    assert!(record["reason"].as_str().unwrap().starts_with(failed), "{record}");
    assert!(!world.path("s.runs/n20.r2").exists(), "its other repetition is not tried");
    assert!(ran.stderr.contains(failed) && ran.stderr.contains("ended with status 1."), "{}", ran.stderr);
    world.write("ok", "");
    world.poise(["run", "s.toml"]).status(0);
    std::fs::remove_file(world.path("ok")).unwrap();
    let again = world.poise(["run", "s.toml"]).status(0);
    assert!(
        again.stderr.contains(failed) && again.stderr.contains("Its runs had been made before."),
        "{}",
        again.stderr
    );
    world.write("s.toml", &study("20"));
    assert!(world.poise(["run", "s.toml", "-o", "none"]).status(2).stderr.contains(failed), "there is nothing to run");
}

/// What compilers say is beside what they made, and the events of a call are the only thing on its standard output.
#[test]
fn what_builds_say_is_kept_and_told_and_is_no_event() {
    let world = World::new();
    let script = "echo began $1; echo it is 7 >&2; test $1 != 7 || { echo 'x.c:1: error: no such thing' >&2; echo stops; exit 1; }; cp /bin/true $2";
    world.write(
        "s.toml",
        &format!(
            "command = [\"{{build}}\", \"{{n}}\"]\ncollect = \"elapsed\"\nbuild = [\"sh\", \"-c\", \"{script}\", \"x\", \"{{n}}\", \"{{build}}/x\"]\n\
             [parameters]\nn = [3, 7]\n"
        )
        .replace("[\"{build}\",", "[\"{build}/x\","),
    );
    let ran = world.poise(["run", "s.toml", "--format", "json"]).status(5);
    for line in ran.stdout.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
    assert!(ran.stderr.contains("began 3") && ran.stderr.contains("stops"), "{}", ran.stderr);
    let reason = world.json("s.runs/n7.r1/run.json")["reason"].as_str().unwrap().to_owned();
    let log = reason.split("It said: \"x.c:1: error: no such thing\" (all of it is in ").nth(1).unwrap();
    let log = std::fs::read_to_string(log.strip_suffix(").").unwrap()).unwrap();
    assert_eq!(log, "began 7\nit is 7\nx.c:1: error: no such thing\nstops\n");
}

#[test]
fn a_refused_build_leaves_the_program_that_was_measured() {
    let world = World::new();
    let build = "[build]\nsources = [\"a.c\"]\nmpi = \"none\"\n";
    world.write("s.toml", &format!("command = [\"{{program}}\", \"{{n}}\"]\n{build}[parameters]\nn = [1]\n"));
    world.write("a.c", "int main(void) { return 0; }\n");
    world.poise(["run", "s.toml"]).status(0);
    let program = || std::fs::read(world.path("s.runs/.builds/only/program")).unwrap();
    let measured = program();
    world.write("a.c", "#include <stdio.h>\nint main(void) { return puts(\"changed\") < 0; }\n");
    let changed = world.poise(["run", "s.toml"]).status(2);
    assert!(changed.stderr.contains("program has changed since s.runs/n1.r1 was measured"), "{}", changed.stderr);
    assert!(program() == measured, "the program in place is the one that was measured");
    assert_eq!(world.names("s.runs/.builds/only"), ["program"], "and nothing else is left");
    world.poise(["run", "s.toml", "--accept-changed"]).status(0);
    assert!(program() != measured);
}

#[test]
fn a_build_is_recorded_and_a_changed_one_is_noticed() {
    let world = World::new();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/echo.c");
    std::fs::copy(source, world.path("echo.c")).unwrap();
    let study = |flags: &str| {
        format!(
            "command = [\"{{program}}\", \"{{n}}\"]\n[build]\nsources = [\"echo.c\"]\nmpi = \"none\"\nflags = [\"{flags}\"]\ndefines = {{ DEFINED = \"\\\"x\\\"\" }}\n\
             [parameters]\nn = [1]\n"
        )
    };
    world.write("s.toml", &study("-O1"));
    world.poise(["run", "s.toml"]).status(0);
    let built = serde_json::json!(["none", "-O1", "-DDEFINED=\"x\"", "echo.c"]);
    assert_eq!(world.json("s.runs/n1.r1/run.json")["build"], built);
    world.write("s.toml", &study("-O2"));
    let told = world.poise(["run", "s.toml"]).status(2).stderr;
    assert!(told.contains("its command, build, environment, input files or limits are not this one's"), "{told}");
    assert_eq!(world.json("s.runs/n1.r1/run.json")["build"], built, "the run stays as it was");
}

#[test]
fn a_build_that_hangs_is_ended_and_costs_its_own_points_alone() {
    let world = World::new();
    world.write(
        "s.toml",
        "command = [\"{build}/a\", \"{n}\"]\ncollect = \"elapsed\"\n[build]\ncommand = [\"sh\", \"-c\", \"[ $1 = 2 ] && sleep 600; cp /bin/true $0/a\", \"{build}\", \"{n}\"]\n\
         time_limit = 2\n[parameters]\nn = [1, 2]\n",
    );
    let begun = std::time::Instant::now();
    let told = world.poise(["run", "s.toml"]).status(5).stderr;
    assert!(told.contains("took longer than 2 s (build.time_limit) and was ended"), "{told}");
    assert_eq!(world.json("s.runs/n1.r1/run.json")["status"], "complete");
    assert_eq!(world.json("s.runs/n2.r1/run.json")["cause"], "build");
    assert!(begun.elapsed().as_secs() < 300, "nobody waited for the build");
}
