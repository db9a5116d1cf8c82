//! `poise absorb` from the build to the result: what it measures and what it says where it cannot. Nothing here asserts a
//! time, a class or an absorption: those are the machine's.

mod common;

use std::collections::BTreeSet;

use common::{Outcome, World, outcome};
use poise_profile::{Noise, Profile};

/// Builds tests/programs/loops.c under Open MPI's wrapper with this noise.
fn build(world: &World, wish: &str) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/loops.c");
    let mut command = world.command("mpicc.openmpi", ["-O2", source, "-pthread", "-o", "loops"]);
    command.env("OMPI_CC", format!("{} cc", env!("CARGO_BIN_EXE_poise"))).env("POISE_NOISE", wish);
    outcome(command.output().unwrap()).status(0);
}

fn absorb(world: &World, options: &[&str], command: &[&str]) -> Outcome {
    let fixed = ["absorb", "--samples", "2", "--burst", "5"];
    world.poise([&fixed[..], options, &["--"], command].concat())
}

/// The noise in the profile of a kept run.
fn noise(world: &World, run: &str) -> Noise {
    Profile::read(world.path(run).join("profile.poise")).unwrap().noise
}

#[test]
fn one_build_and_one_run_measure_every_loop_mode_and_quantity() {
    let world = World::new();
    build(&world, "modes=nop,fp_add64,int64_add;k=1,2,4");
    let options = ["--format", "json", "--keep", "kept", "--mode", "nop,int64_add"];
    let done = absorb(&world, &options, &["./loops", "4000", "1"]).status(0);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&report["schema"], &report["schema_version"]), (&"counterpoise/absorption".into(), &1.into()));
    let loops = report["loops"].as_array().unwrap();
    let at = |function: &str| {
        let is_at = |found: &&serde_json::Value| found["callpath"].as_array().unwrap().last().unwrap() == function;
        loops.iter().find(is_at).unwrap_or_else(|| panic!("{function}: {report:#}"))
    };
    for function in ["dot", "scale"] {
        let found = at(function);
        assert!(found["loop"].as_str().unwrap().starts_with("loops.c:"), "{found:#}");
        let modes: Vec<&str> = found["modes"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(modes, ["int64_add", "nop"]);
        for mode in found["modes"].as_object().unwrap().values() {
            assert!(["measured", "at-least", "undecided"].contains(&mode["state"].as_str().unwrap()), "{mode:#}");
            // The decoder finds in the binary what was put into the source.
            assert!([1, 2, 4].contains(&mode["payload"].as_u64().unwrap()) && mode["spills"] == 0, "{mode:#}");
        }
        assert!((3..40).contains(&found["instructions"].as_u64().unwrap()), "{found:#}");
    }
    let kept = noise(&world, "kept");
    let quantities: BTreeSet<u32> = kept.series.iter().flat_map(|s| &s.bursts).map(|burst| burst.k).collect();
    assert_eq!(quantities, BTreeSet::from([0, 1, 2, 4]));
    // What the program printed is in the folder, and the same as without noise.
    let plain = outcome(world.command("./loops", ["4000", "1"]).output().unwrap()).status(0);
    assert_eq!(world.read("kept/stdout.txt"), plain.stdout);
}

#[test]
fn a_study_measures_times_and_with_noise_what_loops_absorb() {
    let world = World::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/loops.c");
    world.write(
        "s.toml",
        &format!(
            "build = {{ sources = [\"{source}\"], flags = [\"-O2\", \"-pthread\"] }}\nlauncher = \"openmpi\"\nabsorption = true\n\
             repetitions = 2\nclock = \"cpu\"\ncommand = [\"{{program}}\", \"{{n}}\", \"1\"]\n\
             [parameters]\np = [1, 2]\nn = [2000, 4000]\n"
        ),
    );
    let planned = world.poise(["run", "s.toml", "--dry-run"]).status(0);
    assert!(planned.stdout.contains("12 runs are to be made at 4 points"), "{}", planned.stdout);
    world.poise(["run", "s.toml"]).status(0);
    let at = |run: &str| Profile::read(world.path(&format!("s.runs/{run}/profile.poise"))).unwrap();
    for point in ["p1.n2000", "p1.n4000", "p2.n2000", "p2.n4000"] {
        assert!(at(&format!("{point}.r2")).noise.series.is_empty());
        assert!(!at(&format!("{point}.noise.r1")).noise.series.is_empty());
        assert!(!world.path(&format!("s.runs/{point}.noise.r2")).exists());
    }
    // Two times at each point, as the run with noise gives none, but three counts; and one class.
    let told = world.poise(["export", "s.runs", "--to", "csv"]).status(0).stdout;
    let lines = |metric: &str| told.lines().filter(|l| l.contains("dot,") && l.contains(metric)).count();
    assert_eq!([",time,mean,", ",visits,mean,", ",bound."].map(lines), [8, 12, 4], "{told}");
    let again = world.poise(["run", "s.toml"]).status(0);
    assert!(again.stdout.contains("12 runs are complete"), "{}{}", again.stdout, again.stderr);
}

#[test]
fn a_study_without_loops_for_noise_says_so() {
    let world = World::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/echo.c");
    world.write(
        "s.toml",
        &format!("build = {{ sources = [\"{source}\"], mpi = \"none\" }}\nabsorption = true\ncommand = [\"{{program}}\", \"{{n}}\"]\n[parameters]\nn = [1]\n"),
    );
    let done = world.poise(["run", "s.toml"]).status(0);
    assert!(done.stderr.contains("no loop had noise injected"), "{}", done.stderr);
    world.write("t.toml", "absorption = true\ncollect = \"elapsed\"\ncommand = [\"true\"]\n[parameters]\nn = [1]\n");
    let refused = world.poise(["run", "t.toml"]).status(3);
    assert!(refused.stderr.contains("`absorption` compares times of loops"), "{}", refused.stderr);
    let own = "absorption = true\ncommand = [\"true\"]\n[environment]\nPOISE_ABSORB = \"k=1\"\n[parameters]\nn = [1]\n";
    world.write("u.toml", own);
    let refused = world.poise(["run", "u.toml"]).status(3);
    assert!(refused.stderr.contains("leave it out of [environment]"), "{}", refused.stderr);
}

#[test]
fn only_the_chosen_ranks_threads_and_loops_get_noise() {
    let world = World::new();
    build(&world, "modes=nop;k=1");
    let command = ["mpirun.openmpi", "--oversubscribe", "-n", "2", "./loops", "4000", "3"];
    let run = |name: &str, options: &[&str]| {
        absorb(&world, &[options, &["--keep", name]].concat(), &command).status(0);
        let noise = noise(&world, name);
        let who: BTreeSet<(u32, u32)> = noise.series.iter().map(|series| (series.rank, series.thread)).collect();
        let loops = noise.series.iter().map(|series| noise.loops[series.target as usize].function.clone());
        (who, loops.collect::<BTreeSet<String>>())
    };
    // Thread 0 is the one that calls main; it has no loop of this kind.
    let (who, loops) = run("all", &["--loops", "dot,scale"]);
    assert_eq!(who, (0..2).flat_map(|rank| (1..4).map(move |thread| (rank, thread))).collect());
    assert_eq!(loops, BTreeSet::from(["dot".to_owned(), "scale".to_owned()]));
    let (who, loops) = run("some", &["--loops", "dot", "--ranks", "1", "--noisy-threads", "2-3"]);
    assert_eq!(who, BTreeSet::from([(1, 2), (1, 3)]));
    assert_eq!(loops, BTreeSet::from(["dot".to_owned()]));
    // The profile of the first run says which functions are hot.
    let (_, loops) = run("hot", &["--profile", "all"]);
    assert!(loops.contains("dot") && !loops.contains("main"), "{loops:?}");
}

#[test]
fn marked_loops_alone_are_built_with_noise() {
    let world = World::new();
    build(&world, "modes=nop;k=1;loops=marked");
    absorb(&world, &["--keep", "kept"], &["./loops", "1000", "1"]).status(0);
    let functions: BTreeSet<String> = noise(&world, "kept").loops.iter().map(|known| known.function.clone()).collect();
    assert_eq!(functions, BTreeSet::from(["scale".to_owned()]));
}

#[test]
fn building_anew_measures_the_same_call_paths() {
    let world = World::new();
    world.write(
        "kernel.c",
        "double a[2000]; __attribute__((noinline)) double sum(long n) { double s = 0; \
         for (long i = 0; i < n; i++) s += a[i]; return s; } \
         int main() { double s = 0; for (int r = 0; r < 3000; r++) { a[r % 2000] += 1; s += sum(2000 - r % 2); } \
         return s < 0; }",
    );
    let build = format!("{} cc -O1 kernel.c -o kernel", env!("CARGO_BIN_EXE_poise"));
    let options =
        ["--method", "rebuild", "--build", &build, "--mode", "fp_add64", "--k", "1,20,40", "--format", "json"];
    let done = world.poise([&["absorb"][..], &options, &["--repetitions", "3", "--", "./kernel"]].concat()).status(0);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let callpath = |found: &serde_json::Value| found["callpath"].to_string();
    let paths: Vec<String> = report["loops"].as_array().unwrap().iter().map(callpath).collect();
    assert!(paths.contains(&"[\"main\",\"sum\"]".to_owned()), "{report:#}");
    // What cannot end in an answer is said before anything is built.
    let too_little = |option: &str, value: &str, expected: &str| {
        let options = ["absorb", "--method", "rebuild", "--build", "false", option, value, "--", "./kernel"];
        let refused = world.poise(options).status(2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    };
    too_little("--repetitions", "2", "--repetitions 2: expected 3 or more.");
    too_little("--k", "0,4,8", "--k: expected 3 quantities or more beside 0.");
}

#[test]
fn what_is_asked_for_and_does_not_exist_is_named() {
    let world = World::new();
    build(&world, "modes=nop,fp_add64;k=1,2");
    let refused = |options: &[&str], expected: &str| {
        let done = absorb(&world, options, &["./loops", "20", "1"]).status(2);
        assert!(done.stderr.contains(expected), "{options:?}: {}", done.stderr);
    };
    refused(&["--mode", "nop,foo"], "--mode foo: no loop has such noise; expected one of fp_add64, nop.");
    refused(&["--mode", "fp_div64"], "--mode fp_div64: no loop has such noise; expected one of fp_add64, nop.");
    refused(&["--k", "0"], "--k 0: expected a quantity of noise above 0, too;");
    world.write("there.json", "kept");
    refused(&["-o", "there.json"], "there.json exists and is not overwritten. Choose another name with -o.");
    refused(&["--k", "0,2,5"], "--k 5: no loop has so much noise; expected one of 1, 2.");
    refused(
        &["--loops", "dot,nothere"],
        "--loops nothere: the program has no such loop; expected one of dot (loops.c:",
    );
    refused(&["--callpath", "x"], "--callpath x: the run has no such call path; expected one of ");
    refused(&["--ranks", "1"], "--ranks 1: the run has no such rank; expected 0.");
    refused(&["--ranks", "all"], "--ranks all: expected a number such as 4, or a range such as 4-7.");
    refused(&["--noisy-threads", "3-1"], "--noisy-threads 3-1: expected a number");
    refused(&["--noisy-threads", "7"], "--noisy-threads 7: none of these threads ran a loop long enough");
    // No mistake, but nothing that could be measured either: it ran twice.
    let short = absorb(&world, &["--loops", "dot"], &["./loops", "2", "1"]);
    assert!(short.stdout.contains("too few executions (2"), "{}{}", short.stdout, short.stderr);
    // Other loops' reasons are for those who ask about them.
    assert!(
        short.stdout.lines().all(|line| !line.contains("not measured") || line.contains(" in dot: ")),
        "{}",
        short.stdout
    );
    // Noise for the whole run that no loop has is said by the runtime, once, and changes nothing.
    let run = |absorb: &str| {
        let mut command = world.command("./loops", ["20", "1"]);
        command.env("POISE_PROFILE", world.path("forced.poise")).env("POISE_ABSORB", absorb);
        let done = outcome(command.output().unwrap()).status(0);
        std::fs::remove_file(world.path("forced.poise")).unwrap();
        let said: Vec<String> = done.stderr.lines().filter(|l| l.contains("POISE_ABSORB")).map(str::to_owned).collect();
        (done.stdout, said)
    };
    let (plain, none) = run("off");
    let line =
        "poise: POISE_ABSORB: no loop has noise of foo:5, so that none was injected; there is fp_add64:1,2 nop:1,2.";
    assert_eq!((none, run("force=foo:5")), (vec![], (plain.clone(), vec![line.to_owned()])));
    assert_eq!([run("force=nop:2"), run("force=nop:0")], [(plain.clone(), vec![]), (plain, vec![])]);
}

#[test]
fn programs_without_noise_and_wrong_wishes_say_what_to_do() {
    let world = World::new();
    build(&world, "off");
    let none = absorb(&world, &[], &["./loops", "10", "1"]).status(2);
    assert!(none.stderr.contains("poise cc --noise"), "{}", none.stderr);
    let foreign = absorb(&world, &[], &["sh", "-c", "echo done"]).status(2);
    assert!(foreign.stderr.contains("poise cc --noise") && !foreign.stderr.contains("qemu"), "{}", foreign.stderr);
    let failed = absorb(&world, &[], &["sh", "-c", "echo no luck >&2; exit 7"]).status(7);
    assert!(failed.stderr.contains("no luck"), "{}", failed.stderr);
    world.write("x.c", "int x;");
    let wrong = world.poise(["cc", "--noise=modes=additions", "-c", "x.c"]).status(1);
    assert!(wrong.stderr.contains("\"additions\" is no noise mode"), "{}", wrong.stderr);
}

/// Of each loop of which nothing is known, one line says where and why, whatever the format, those of hot functions and those that are named alike.
#[test]
fn reasons_name_the_call_path_and_are_given_for_every_loop_that_was_asked_about() {
    let world = World::new();
    world.write(
        "reasons.c",
        "#include <stdio.h>\nstatic double x[4096];\n\
         __attribute__((noinline)) double sum(long n) { double s = 0; for (long i = 0; i < n; i++) s += x[i]; return s; }\n\
         __attribute__((noinline)) double often(void) { return sum(4000); }\n\
         __attribute__((noinline)) double once(void) { return sum(10); }\n\
         __attribute__((noinline)) long fixed(long n) { long s = 0; for (long i = 0; i < n; i++) {\n\
         int r = i; __asm__ volatile(\"incl %0\" : \"+b\"(r)); s += r; } return s; }\n\
         int main() { double s = once(); long t = 0; for (int r = 0; r < 3000; r++) { x[r] = r; s += often(); t += fixed(4000); }\n\
         printf(\"%g %ld\\n\", s, t); }",
    );
    world.poise(["cc", "--noise=modes=nop;k=1,2", "-O1", "reasons.c", "-o", "reasons"]).status(0);
    world.poise(["run", "-o", "earlier", "--", "./reasons"]).status(0);
    let refused = |options: &[&str]| {
        let done = absorb(&world, &[options, &["--format", "json"]].concat(), &["./reasons"]).status(0);
        let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        let said = |r: &serde_json::Value| {
            (r["callpath"].to_string(), r["function"].to_string(), r["reason"].as_str().unwrap().to_owned())
        };
        report["refused"].as_array().unwrap().iter().map(said).collect::<Vec<_>>()
    };
    let once =
        ("[\"main\",\"once\",\"sum\"]".to_owned(), "\"sum\"".to_owned(), "it has too few executions (1)".to_owned());
    let of_sum = refused(&["--loops", "sum"]);
    assert_eq!(of_sum, std::slice::from_ref(&once));
    // `fixed` takes a good part of the time of the earlier run.
    let of_both = refused(&["--loops", "sum", "--profile", "earlier"]);
    assert!(of_both.contains(&once), "{of_both:?}");
    let (_, _, why) = of_both.iter().find(|(path, function, _)| path == "null" && function == "\"fixed\"").unwrap();
    assert!(why.contains("fixed registers"), "{why}");
    // A table has no place for reasons.
    let table = absorb(&world, &["--loops", "sum", "--format", "csv"], &["./reasons"]).status(0);
    let line = "sum: not measured at main -> once -> sum, because it has too few executions (1).";
    assert!(table.stderr.contains(line) && !table.stdout.contains("too few"), "{}", table.stderr);
    // A run without times knows no hot functions, which is not to mean all.
    let mut timeless = world.command("./reasons", [""; 0]);
    timeless.env("POISE_PROFILE", world.path("timeless.poise")).env("POISE_CLOCK", "none");
    outcome(timeless.output().unwrap()).status(0);
    let refused = absorb(&world, &["--profile", "timeless.poise"], &["./reasons"]).status(3);
    assert!(refused.stderr.contains("no function is hot"), "{}", refused.stderr);
}

/// What the run's record knows to disturb times, such as processor time that other virtual machines took, stands at each loop.
#[test]
fn what_disturbs_times_is_said_of_each_loop() {
    let world = World::new();
    build(&world, "modes=nop;k=1");
    let options = ["--format", "json", "--loops", "dot,scale", "--keep", "kept"];
    let done = absorb(&world, &options, &["./loops", "1000", "1"]).status(0);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    let record: serde_json::Value = serde_json::from_str(&world.read("kept/run.json")).unwrap();
    let known = &record["machine"]["concerns"];
    let loops = report["loops"].as_array().unwrap();
    assert!(known.is_array() && !loops.is_empty() && loops.iter().all(|l| l["concerns"] == *known), "{report:#}");
}
