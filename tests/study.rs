//! The study language and what becomes of it: values that reach programs as they were written, builds, repetition
//! policies, costs, events, and every way a point can fail without costing another.

mod common;

use std::time::{Duration, Instant};

use common::{World, outcome};

/// Values that a shell would take apart, run or lose.
const ODD: [&str; 5] = [
    "two  words",
    "it's \"quoted\"",
    "; touch harm && $(touch harm) `touch harm` | * ? ~",
    "line\nbreak\t",
    "{n} \\ %s",
];

fn toml_text(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A world with tests/programs/echo.c compiled as `echo`.
fn with_echo() -> World {
    let world = World::new();
    compile(&world, "echo");
    world
}

/// Compiles one of tests/programs that needs no MPI.
fn compile(world: &World, name: &str) {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
    world.poise(["cc", "-O1", source.to_str().unwrap(), "-o", name]).status(0);
}

/// The runs below a results folder, group by group.
fn runs(world: &World, results: &str) -> Vec<String> {
    let mut runs = Vec::new();
    for name in world.names(results).into_iter().filter(|name| !name.starts_with('.')) {
        let path = format!("{results}/{name}");
        if world.path(&path).join("run.json").is_file() {
            runs.push(path);
        } else if world.path(&path).is_dir() {
            runs.extend(
                world.names(&path).into_iter().filter(|run| !run.contains("json")).map(|run| format!("{path}/{run}")),
            );
        }
    }
    runs
}

#[test]
fn values_arrive_exactly_as_written_by_argument_variable_and_file() {
    let world = with_echo();
    world.write("input.in", "n = {n}\nvalue = {value}\n{{n}} {\"a\": {\"b\": {n}}}\n");
    let values: Vec<String> = ODD.iter().map(|text| toml_text(text)).collect();
    world.write(
        "s.toml",
        &format!(
            "command = [\"./echo\", \"{{value}}\", \"-x={{value}}\", \"\", \"@{{input.nml}}\"]\n\
             [environment]\nVALUE = \"<{{value}}>\"\n[files]\n\"input.nml\" = \"input.in\"\n\
             [parameters]\nn = [7]\nvalue = [{}]\n",
            values.join(", ")
        ),
    );
    world.poise(["run", "s.toml"]).status(0);
    let runs = runs(&world, "s.runs");
    assert_eq!(runs.len(), ODD.len(), "{runs:?}");
    for run in &runs {
        let record = world.json(&format!("{run}/run.json"));
        let value = record["factors"]["value"].as_str().unwrap();
        assert!(ODD.contains(&value), "{value:?}");
        let printed = world.read(&format!("{run}/stdout.txt"));
        let words: Vec<&str> = printed.split('\0').collect();
        let file = record["command"][4].as_str().unwrap();
        assert_eq!(words[..2], [value, &format!("-x={value}")]);
        assert_eq!(words[2], "", "an empty argument is one");
        assert!(words[3].ends_with("/input.nml") && file.ends_with("/input.nml"));
        assert_eq!(words[4], format!("<{value}>"));
        assert_eq!(words[5], format!("n = 7\nvalue = {value}\n{{n}} {{\"a\": {{\"b\": 7}}}}\n"));
        assert_eq!(std::fs::read_to_string(&file[1..]).unwrap(), words[5], "the record names a file that is there");
        assert_eq!(record["environment"]["VALUE"], format!("<{value}>"));
    }
    assert!(!world.path("harm").exists(), "no shell has read a value");
}

/// Runs by point, where a study has the one parameter n.
fn runs_of(world: &World, results: &str, n: u32) -> usize {
    world.names(results).iter().filter(|name| name.starts_with(&format!("n{n}.r"))).count()
}

#[test]
fn a_point_runs_as_often_as_its_line_says_whatever_the_policy() {
    let world = with_echo();
    let study = |points: &str| {
        let text = format!(
            "command = [\"./echo\", \"{{n}}\"]\nrepetitions = 2\npoints = [{points}]\n[parameters]\nn = [1, 4]\n"
        );
        world.write("s.toml", &text);
        world.poise(["run", "s.toml", "--format", "json"]).status(0).stdout
    };
    let begun = |events: &str| events.lines().filter(|line| line.contains("\"event\":\"run\"")).count();
    let first = study("{ n = 4, repetitions = 3 }, { n = 9, repetitions = 1 }");
    assert_eq!([1, 4, 9].map(|n| runs_of(&world, "s.runs", n)), [2, 3, 1]);
    assert_eq!(begun(&first), 6, "{first}");
    // What is added asks for what is missing, and a line that says less takes nothing away.
    let more = study(
        "{ n = 4, repetitions = 3 }, { n = 9, repetitions = 1 }, { n = 9, repetitions = 4 }, { n = 4, repetitions = 1 }",
    );
    assert_eq!([1, 4, 9].map(|n| runs_of(&world, "s.runs", n)), [2, 3, 4]);
    assert_eq!(begun(&more), 3, "{more}");
    let twice = "command = [\"./echo\", \"{n}\"]\npoints = [\n{ n = 4, repetitions = 3 },\n{ n = 4.0 }]\n";
    world.write("s.toml", twice);
    let told = world.poise(["run", "s.toml"]).status(3).stderr;
    assert!(told.contains("s.toml:4:1: this point is in line 3 already"), "{told}");
}

/// What is advised can be added to the study as it is printed, and makes just the runs that are listed.
#[test]
fn advised_lines_ask_for_the_advised_runs() {
    let world = with_echo();
    let points: String = (1..=5).map(|n| format!("    {{ n = {n} }},\n")).collect();
    let study = |more: &str| {
        world.write("s.toml", &format!("command = [\"./echo\", \"{{n}}\"]\npoints = [\n{points}{more}]\n"));
        world.poise(["run", "s.toml"]).status(0);
    };
    study("");
    let advise = |format: &str| {
        world.poise(["advise", "s.runs", "--at", "n=50", "--tolerance", "1e-9", "--format", format]).status(0).stdout
    };
    let found: serde_json::Value = serde_json::from_str(&advise("json")).unwrap();
    let mut expected = std::collections::BTreeMap::from([1, 2, 3, 4, 5].map(|n| (n, 1)));
    for step in found["steps"].as_array().unwrap() {
        *expected.entry(step["at"]["n"].as_u64().unwrap()).or_default() += 1;
    }
    assert!(expected.values().any(|runs| *runs > 1), "{found}");
    for point in found["points"].as_array().unwrap() {
        assert_eq!(point["runs"].as_u64(), expected.get(&point["at"]["n"].as_u64().unwrap()).copied(), "{found}");
    }
    let human = advise("human");
    // What lies in a file was not measured by a study that could have such lines.
    world.poise(["export", "s.runs", "--to", "json", "-o", "s.json"]).status(0);
    let of_file = world.poise(["advise", "s.json", "--at", "n=50", "--tolerance", "1e-9"]).status(0).stdout;
    assert!(human.contains("Among the `points`") && !of_file.contains("Among the `points`"), "{of_file}");
    let lines: String =
        human.lines().filter(|line| line.starts_with("    { n = ")).map(|line| format!("{line}\n")).collect();
    study(&lines);
    for (n, runs) in expected {
        assert_eq!(runs_of(&world, "s.runs", n as u32) as u64, runs, "n = {n}: {human}");
    }
}

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

/// What a compiler gets as `-D` is what the study says, under the compiler wrappers of every MPI; what the value means in
/// a C string is C's affair.
#[test]
fn values_arrive_exactly_as_written_by_define() {
    let world = World::new();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/echo.c");
    std::fs::copy(source, world.path("echo.c")).unwrap();
    // As a C string writes them, and what C makes of that.
    let odd = [
        ("two  words", "two  words"),
        ("it's \\\"quoted\\\"", "it's \"quoted\""),
        ("; touch harm && $(touch harm) `touch harm` | * ~", "; touch harm && $(touch harm) `touch harm` | * ~"),
        ("line\\nbreak {n} #", "line\nbreak {n} #"),
    ];
    let values: Vec<String> = odd.iter().map(|(written, _)| toml_text(written)).collect();
    for mpi in ["none", "openmpi", "mpich", "smpi"] {
        let executor = if mpi == "smpi" { "smpi" } else { "local" };
        world.write(
            "s.toml",
            &format!(
                "executor = \"{executor}\"\ncommand = [\"{{program}}\", \"{{n}}\"]\ncollect = \"elapsed\"\n\
                 [build]\nsources = [\"echo.c\"]\nmpi = \"{mpi}\"\ndefines = {{ DEFINED = '\"{{value}}\"' }}\n\
                 [parameters]\nn = [1]\nvalue = [{}]\n",
                values.join(", ")
            ),
        );
        world.poise(["run", "s.toml", "-o", mpi]).status(0);
        let mut printed: Vec<String> =
            runs(&world, mpi).iter().map(|run| world.read(&format!("{run}/stdout.txt"))).collect();
        let mut expected = odd.map(|(_, meant)| format!("1\0\0{meant}\0"));
        printed.sort();
        expected.sort();
        assert_eq!(printed, expected, "{mpi}");
    }
    assert!(!world.path("harm").exists(), "no shell has read a value");
}

#[test]
fn values_arrive_exactly_as_written_in_a_simulation() {
    let world = World::new();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/echo.c");
    std::fs::copy(source, world.path("echo.c")).unwrap();
    world.write("input.in", "value = {value}\n");
    let values: Vec<String> = ODD.iter().map(|text| toml_text(text)).collect();
    world.write(
        "s.toml",
        &format!(
            "executor = \"smpi\"\ncollect = \"elapsed\"\n\
             command = [\"{{program}}\", \"{{value}}\", \"--cfg={{value}}\", \"\", \"@{{input.nml}}\"]\n\
             [build]\nsources = [\"echo.c\"]\n[environment]\nVALUE = \"<{{value}}>\"\n[files]\n\"input.nml\" = \"input.in\"\n\
             [parameters]\np = [1]\nvalue = [{}]\n",
            values.join(", ")
        ),
    );
    world.poise(["run", "s.toml"]).status(0);
    let runs = runs(&world, "s.runs");
    assert_eq!(runs.len(), ODD.len(), "{runs:?}");
    for run in &runs {
        let record = world.json(&format!("{run}/run.json"));
        let value = record["factors"]["value"].as_str().unwrap();
        let printed = world.read(&format!("{run}/stdout.txt"));
        let words: Vec<&str> = printed.split('\0').collect();
        assert_eq!(words[..3], [value, &format!("--cfg={value}"), ""]);
        assert_eq!(words[4..], [format!("<{value}>"), format!("value = {value}\n")]);
    }
    assert!(!world.path("harm").exists(), "no shell has read a value");
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
             build = {{ command = [\"sh\", \"-c\", \"test {{n}} = 1 && cp true.sh $1/x\", \"x\", \"{{build}}\"] }}\n\
             repetitions = 2\n[parameters]\nn = [{values}]\n"
        )
    };
    world.write("s.toml", &study("1, 20"));
    let ran = world.poise(["run", "s.toml"]).status(5);
    assert!(ran.stdout.contains("2 runs are complete"), "{}\n{}", ran.stdout, ran.stderr);
    let record = world.json("s.runs/n20.r1/run.json");
    let failed = "The study's build `sh -c 'test 20 = 1 && cp true.sh $1/x' x ";
    assert_eq!((&record["status"], &record["cause"]), (&"failed".into(), &"build".into()));
    assert!(record["reason"].as_str().unwrap().starts_with(failed), "{record}");
    assert!(!world.path("s.runs/n20.r2").exists(), "its other repetition is not tried");
    assert!(ran.stderr.contains(failed) && ran.stderr.contains("ended with status 1."), "{}", ran.stderr);
    world.write("s.toml", &study("20"));
    assert!(world.poise(["run", "s.toml", "-o", "none"]).status(2).stderr.contains(failed), "there is nothing to run");
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
fn a_study_leaves_single_runs_among_its_own_alone() {
    let world = World::new();
    world.write("s.toml", "command = [\"true\", \"{n}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [1]\n");
    let script = "touch begun; while [ ! -e over ]; do sleep 0.05; done";
    let single = ["run", "-o", "s.runs/mine", "--", "sh", "-c", script];
    let mut single = world.command(env!("CARGO_BIN_EXE_poise"), single).spawn().unwrap();
    let begun = Instant::now();
    while !world.path("begun").exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the single run never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    world.poise(["run", "s.toml"]).status(0);
    world.write("over", "");
    single.wait().unwrap();
    assert!(world.path("s.runs/mine/run.json").is_file(), "{:?}", world.names("s.runs"));
}

/// A study whose program takes as long as the file `times` says, run by run; it leaves no profile and needs none.
fn of_times(world: &World, times: &str, repetitions: &str) {
    world.write("times", times);
    let script = "read t < times; tail -n +2 times > left; mv left times; sleep $t";
    world.write(
        "s.toml",
        &format!(
            "command = [\"sh\", \"-c\", \"{script}\", \"{{n}}\"]\ncollect = \"elapsed\"\nrepetitions = {repetitions}\n\
             [parameters]\nn = [1]\n"
        ),
    );
}

/// Elapsed seconds of a point's runs, by repetition.
fn seconds(world: &World) -> Vec<f64> {
    let runs = world.names("s.runs").into_iter().filter(|name| name.starts_with("n1.r")).count();
    (1..=runs).map(|r| world.json(&format!("s.runs/n1.r{r}/run.json"))["seconds"].as_f64().unwrap()).collect()
}

/// However long the sleeps really took: what is dropped is what the rule says of the times that were recorded.
#[test]
fn the_marta_policy_drops_the_ends_and_repeats_what_is_unsteady() {
    let world = World::new();
    of_times(
        &world,
        "0.1\n0.2\n0.9\n0.1\n1.2\n0.3\n0.3\n0.01\n0.3\n0.6\n",
        "{ policy = \"marta\", deviation = 0.3, attempts = 2 }",
    );
    world.poise(["run", "s.toml"]).status(0);
    let times = seconds(&world);
    // The mean of the three in the middle, and the largest deviation from it.
    let deviation = |attempt: &[f64]| {
        let mut sorted = attempt.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mean = (sorted[1] + sorted[2] + sorted[3]) / 3.0;
        (mean - sorted[1]).max(sorted[3] - mean) / mean
    };
    let attempts: Vec<&[f64]> = times.chunks(5).collect();
    let first_is_steady = deviation(attempts[0]) <= 0.3;
    assert_eq!(attempts.len(), if first_is_steady { 1 } else { 2 }, "{times:?}");
    let is_second_better =
        attempts.len() == 2 && (deviation(attempts[1]) <= 0.3 || deviation(attempts[1]) < deviation(attempts[0]));
    let chosen = usize::from(is_second_better);
    let mut kept: Vec<usize> = (chosen * 5..chosen * 5 + 5).collect();
    kept.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
    let mut expected: Vec<String> = kept[1..4].iter().map(|run| format!("n1.r{}", run + 1)).collect();
    expected.sort();

    let selection = world.json("s.runs/selection.json");
    let dropped = selection["dropped"].as_array().unwrap();
    let mut used: Vec<String> = (1..=times.len()).map(|run| format!("n1.r{run}")).collect();
    used.retain(|run| dropped.iter().all(|dropped| dropped["run"] != run.as_str()));
    used.sort();
    assert_eq!(used, expected, "{selection} {times:?}");
    assert!(
        dropped.iter().all(|dropped| dropped["reason"].as_str().unwrap().len() > 10 && dropped["metrics"] == "time")
    );
    let again = world.poise(["run", "s.toml", "--format", "json"]).status(0).stdout;
    assert_eq!(again.lines().count(), 2, "nothing is left to do: {again}");
}

#[test]
fn the_interval_policy_ends_when_it_is_narrow_or_the_budget_is_spent() {
    let world = World::new();
    of_times(&world, &"0.2\n".repeat(20), "{ policy = \"interval\", width = 0.5, at_most = 9 }");
    world.poise(["run", "s.toml"]).status(0);
    // Of 5 to 7 values the interval of the median at 90 % is from the smallest to the largest.
    let times = seconds(&world);
    let width = |times: &[f64]| {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        (sorted[sorted.len() - 1] - sorted[0]) / sorted[sorted.len() / 2]
    };
    assert_eq!(times.len() == 5, width(&times[..5]) <= 0.5, "{times:?}");
    let world = World::new();
    of_times(&world, &"0.01\n0.5\n".repeat(10), "{ policy = \"interval\", width = 0.01, at_most = 7 }");
    let wide = world.poise(["run", "s.toml"]).status(0);
    assert!(wide.stdout.contains("7 runs are complete"), "{}", wide.stdout);
    assert!(wide.stderr.contains("n1 is not as steady as asked: the median of 7 times"), "{}", wide.stderr);
    let world = World::new();
    of_times(&world, &"0.01\n0.5\n".repeat(10), "{ policy = \"interval\", width = 0.01, core_hours = 1e-6 }");
    let spent = world.poise(["run", "s.toml"]).status(0);
    assert!(
        spent.stdout.starts_with("1 run is complete") && spent.stderr.contains("the budget is spent"),
        "{}",
        spent.stderr
    );
}

/// The budget ends a round in its middle: all runs but the one that crosses it cost less.
#[test]
fn a_budget_is_crossed_by_one_run_at_most() {
    let world = World::new();
    let budget = 0.8 / 3600.0;
    world.write(
        "s.toml",
        &format!(
            "command = [\"sh\", \"-c\", \"sleep 0.1\", \"{{n}}\"]\ncollect = \"elapsed\"\n\
             repetitions = {{ policy = \"interval\", width = 0.0001, core_hours = {budget} }}\n\
             [parameters]\nn = [1, 2, 3, 4, 5, 6]\n"
        ),
    );
    world.poise(["run", "s.toml"]).status(0);
    let runs: Vec<String> = world.names("s.runs").into_iter().filter(|name| name.starts_with('n')).collect();
    let seconds = |run: &String| world.json(&format!("s.runs/{run}/run.json"))["seconds"].as_f64().unwrap();
    let times: Vec<f64> = runs.iter().map(seconds).collect();
    let longest = times.iter().copied().fold(0.0, f64::max);
    for n in 1..=6 {
        assert!(runs.contains(&format!("n{n}.r1")), "a point has one run at least: {runs:?}");
    }
    assert!(runs.len() == 6 || times.iter().sum::<f64>() - longest < 0.8, "{times:?}");
    let plan = world.poise(["run", "s.toml", "--dry-run"]).status(0).stdout;
    assert!(plan.contains("\n0 runs are to be made at 6 points"), "{plan}");
}

/// A command of which nothing but its elapsed time is known is modelled by that.
#[test]
fn elapsed_times_are_read_as_those_of_the_whole_run() {
    let world = World::new();
    world.write(
        "s.toml",
        "command = [\"sh\", \"-c\", \"sleep 0.0$1\", \"{p}\", \"{n}\"]\ncollect = \"elapsed\"\n[parameters]\np = [2]\nn = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n",
    );
    world.poise(["run", "s.toml"]).status(0);
    let exported = world.poise(["export", "s.runs", "--to", "csv"]).status(0);
    assert_eq!(exported.stderr.lines().filter(|line| line.contains("ranks")).count(), 0, "{}", exported.stderr);
    for n in 1..=10 {
        let seconds = world.json(&format!("s.runs/p2.n{n}.r1/run.json"))["seconds"].as_f64().unwrap();
        let of_n = |line: &&str| line.starts_with(&format!("2,{n},")) && line.contains("(whole run)");
        let row = exported.stdout.lines().find(of_n).unwrap_or_else(|| panic!("{}", exported.stdout));
        let value = row.split(',').filter_map(|cell| cell.parse::<f64>().ok()).next_back().unwrap();
        assert!((value / seconds - 1.0).abs() < 1e-8, "{seconds}: {row}");
    }
    let modelled = world.poise(["model", "s.runs"]).status(0).stdout;
    assert!(modelled.contains("(whole run)"), "{modelled}");
    let explained = world.poise(["analyze", "s.runs", "--metric", "time"]).status(0).stdout;
    assert!(explained.contains("learnt from 8 rows. On the 2 others"), "{explained}");
    world.write("t.toml", &(world.read("s.toml").replace("[param", "clock = \"cpu\"\n[param")));
    let refused = world.poise(["run", "t.toml"]).status(3);
    assert!(refused.stderr.contains("`clock` says what profiles measure"), "{}", refused.stderr);
}

#[test]
fn runs_of_another_environment_are_told() {
    let mut world = World::new();
    let mut run = |threads: &str, values: &str| {
        let text = format!("command = [\"true\", \"{{n}}\"]\ncollect = \"elapsed\"\n[parameters]\nn = {values}\n");
        world.write("s.toml", &text);
        world.set("OMP_NUM_THREADS", threads);
        world.poise(["run", "s.toml"]).status(0).stderr
    };
    let alone = run("1", "[1, 2]");
    assert!(!alone.contains("OMP_NUM_THREADS"), "{alone}");
    let told = "OMP_NUM_THREADS was `1` when s.runs/n1.r1 was measured and is `4` now";
    let others = run("4", "[1, 2, 3]");
    assert_eq!(others.matches(told).count(), 1, "{others}");
}

/// Four points twelve times: by chance alone, some rounds would begin with the point that ended the one before.
#[test]
fn repetitions_of_a_point_are_not_made_back_to_back_unless_asked() {
    let world = World::new();
    let study =
        "command = [\"sh\", \"-c\", \"echo $0 >> $1\", \"{n}\", \"made\"]\ncollect = \"elapsed\"\nrepetitions = 12\n";
    let made = |order: &str, name: &str| {
        world.write("s.toml", &(study.replace("made", name) + order + "[parameters]\nn = [1, 2, 3, 4]\n"));
        world.poise(["run", "s.toml", "-o", &format!("{name}.runs")]).status(0);
        world.read(name).lines().map(|line| line.parse().unwrap()).collect::<Vec<u32>>()
    };
    let interleaved = made("", "made");
    assert_eq!(interleaved.len(), 48);
    for round in interleaved.chunks(4) {
        let mut points = round.to_vec();
        points.sort_unstable();
        assert_eq!(points, [1, 2, 3, 4], "each point once: {interleaved:?}");
    }
    assert!(interleaved.windows(2).all(|two| two[0] != two[1]), "{interleaved:?}");
    assert!(interleaved.chunks(4).any(|round| round != &interleaved[..4]), "rounds differ: {interleaved:?}");
    assert_eq!(made("order = \"interleaved\"\n", "again"), interleaved, "the order is always the same");
    let one_by_one: Vec<u32> = [1, 2, 3, 4].into_iter().flat_map(|n| [n; 12]).collect();
    assert_eq!(made("order = \"point-by-point\"\n", "one"), one_by_one);
}

#[test]
fn effort_once_takes_effort_from_the_first_run() {
    let world = with_echo();
    let study = "command = [\"./echo\", \"{n}\"]\nrepetitions = { policy = \"effort-once\", runs = 3 }\n[parameters]\nn = [1]\n";
    world.write("s.toml", study);
    world.poise(["run", "s.toml"]).status(0);
    let csv = world.poise(["export", "s.runs", "--to", "csv", "-o", "-"]).status(0).stdout;
    let rows = |metric: &str| csv.lines().filter(|line| line.contains(metric) && line.contains("main")).count();
    assert!(rows("time") > 0 && rows("basic_blocks") > 0, "{csv}");
    assert_eq!(rows("time"), 3 * rows("basic_blocks"), "{csv}");
}

/// `script` of util-linux gives the command a pseudo-terminal; without one there is no bar.
#[test]
fn on_a_terminal_a_bar_counts_runs_and_elsewhere_there_is_none() {
    let world = World::new();
    let study = "command = [\"sh\", \"-c\", \"sleep 0.3; [ $0 != 3 ] || exit 9\", \"{n}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [1, 2, 3, 4]\n";
    world.write("s.toml", study);
    let mut terminal = world.command("script", ["-qec", "stty columns 100; poise run s.toml", "/dev/null"]);
    terminal.env("TERM", "xterm").stdin(std::process::Stdio::null());
    let seen = outcome(terminal.output().unwrap()).status(5).stdout;
    let frames: Vec<&str> = seen.split(['\r', '\n']).filter(|frame| frame.contains("measure [")).collect();
    // Each count stays while the next run, whose name is beside it, is made.
    for run in frames.iter().filter(|frame| frame.contains("; n")) {
        assert!(run.contains(" done, ") && run.contains(" failed, ") && run.contains(" to do"), "{run:?}");
    }
    for counts in ["0 done, 0 failed, 4 to do; n", "to do, about ", "3 done, 1 failed, 0 to do"] {
        assert!(frames.iter().any(|frame| frame.contains(counts)), "{counts}: {seen:?}");
    }
    let filled = |frame: &&str| frame.chars().filter(|c| *c == '=').count();
    assert_eq!((frames.first().map(filled), frames.last().map(filled)), (Some(0), Some(20)));
    let piped = world.poise(["run", "s.toml", "-o", "piped"]).status(5);
    let plain = |text: &str| text.chars().all(|c| c == '\n' || !c.is_control()) && !text.contains("measure [");
    assert!(plain(&piped.stdout) && plain(&piped.stderr), "{:?} {:?}", piped.stdout, piped.stderr);
}

#[test]
fn a_dry_run_learns_what_runs_cost() {
    let world = World::new();
    let study = "command = [\"sh\", \"-c\", \"sleep 0.$0\", \"{n}\"]\ncollect = \"elapsed\"\ntime_limit = 3600\n[parameters]\nn = [1, 2, 4]\n";
    world.write("s.toml", study);
    let plan = |world: &World| {
        let text = world.poise(["run", "s.toml", "--dry-run", "--format", "json"]).status(0).stdout;
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let before = plan(&world);
    assert_eq!(before["points"][0]["seconds_from"], "time limit");
    assert_eq!(before["core_hours"], 3.0, "three runs of at most an hour on a core");
    assert_eq!(before["points"][2]["command"], serde_json::json!(["sh", "-c", "sleep 0.$0", "4"]));
    assert_eq!(before["missing"], serde_json::json!([]));
    world.write("s.toml", &format!("expected_seconds = \"0.5 * n\"\n{study}"));
    let expected = plan(&world)["core_hours"].as_f64().unwrap();
    assert!((expected - 3.5 / 3600.0).abs() < 1e-12, "{expected}");
    // Half an hour, an hour and two: the limit is an hour.
    let ended = |seconds: &str| {
        world.write("s.toml", &format!("expected_seconds = \"{seconds}\"\n{study}"));
        let text = world.poise(["run", "s.toml", "--dry-run"]).status(0).stdout;
        text.lines().find(|line| line.contains("`time_limit`")).map(str::to_owned)
    };
    assert!(ended("1800 * n").is_some_and(|line| line.starts_with("At 2 points a run is expected to take")));
    assert_eq!(ended("800 * n"), None);

    world.write("s.toml", study);
    world.poise(["run", "s.toml"]).status(0);
    std::fs::remove_dir_all(world.path("s.runs/n4.r1")).unwrap();
    let after = plan(&world);
    assert_eq!(after["points"][2]["seconds_from"], "learned");
    assert_eq!((&after["points"][0]["runs"], &after["points"][0]["done"]), (&0.into(), &1.into()));
    let learned = after["points"][2]["seconds"].as_f64().unwrap();
    assert!(learned > 0.15 && learned < 20.0, "more than the run at 1, and no hour: {learned}");
    let people = world.poise(["run", "s.toml", "--dry-run"]).status(0).stdout;
    assert!(people.contains("sh -c 'sleep 0.$0' 4") && people.contains("learned from the runs done"), "{people}");
}

#[test]
fn a_first_study_is_written_and_a_typo_is_answered() {
    let world = World::new();
    world.poise(["run", "--init"]).status(0);
    let shown = world.poise(["run", "study.toml", "--dry-run"]).status(0).stdout;
    assert!(shown.contains("-n 32 ./app 500"), "{shown}");
    let is_told =
        |shown: &str| shown.contains("\n./app is no program that can be started here: build or install it first.\n");
    assert!(is_told(&shown), "{shown}");
    std::fs::copy("/bin/true", world.path("app")).unwrap();
    let shown = world.poise(["run", "study.toml", "--dry-run"]).status(0).stdout;
    assert!(!is_told(&shown), "{shown}");
    // What cannot be known is not said: of programs that are built, found by another PATH or elsewhere.
    std::fs::remove_file(world.path("app")).unwrap();
    let sample = world.read("study.toml");
    for elsewhere in [
        sample.replace("# build = [\"make\", \"--silent\"]", "build = [\"make\", \"--silent\"]"),
        sample.replace("# own_folder = false", "own_folder = true"),
        sample.replace("launcher = \"openmpi\"", "launcher = [\"mpirun\", \"--wdir\", \"/\", \"-n\", \"{ranks}\"]"),
        format!("{sample}\n[environment]\nPATH = \"/usr/bin:/bin\"\n"),
    ] {
        assert_ne!(elsewhere, sample);
        world.write("elsewhere.toml", &elsewhere);
        let shown = world.poise(["run", "elsewhere.toml", "--dry-run"]).status(0).stdout;
        assert!(!shown.contains("is no program"), "{elsewhere}\n{shown}");
    }
    let again = world.poise(["run", "--init"]).status(2);
    assert!(again.stderr.contains("exists") && again.stderr.contains("-o"), "{}", again.stderr);
    for named in [["run", "--init", "-o", "one.toml"].as_slice(), &["run", "--init", "two.toml"]] {
        world.poise(named.iter().copied()).status(0);
        assert_eq!(world.read(named[named.len() - 1]), world.read("study.toml"));
    }
    world.poise(["run", "--init", "three.toml", "-o", "four.toml"]).status(2);
    let mistaken = world.poise(["model", "study.toml"]).status(3).stderr;
    assert!(mistaken.contains("a study is no measurements") && mistaken.contains(".runs"), "{mistaken}");
    world.write("typo.toml", &world.read("study.toml").replace("time_limit", "time_limt"));
    let typo = world.poise(["run", "typo.toml"]).status(3);
    assert!(typo.stderr.contains("did you mean `time_limit`?"), "{}", typo.stderr);
}

#[test]
fn events_are_one_object_a_line() {
    let world = World::new();
    let script = "test $0 -ne 2";
    world.write(
        "s.toml",
        &format!(
            "command = [\"sh\", \"-c\", \"{script}\", \"{{n}}\"]\ncollect = \"elapsed\"\n[parameters]\nn = [1, 2, 3]\n"
        ),
    );
    let told = world.poise(["run", "s.toml", "--format", "json"]).status(5).stdout;
    let events: Vec<serde_json::Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["begin", "run", "ended", "run", "ended", "run", "ended", "end"]);
    assert_eq!((&events[0]["left"], &events[0]["schema"]), (&3.into(), &"counterpoise/run-events".into()));
    let failed = events.iter().find(|event| event["status"] == "failed").unwrap();
    assert_eq!((&failed["run"], &failed["cause"]), (&"n2.r1".into(), &"exit-status".into()));
    assert_eq!((&events[7]["complete"], &events[7]["failed"]), (&2.into(), &1.into()));
    assert_eq!(events[6]["left"], 0);
}

/// Every misfortune is a point of one study; those beside them are complete.
#[test]
fn misfortunes_are_told_apart_and_cost_no_other_point() {
    let world = World::new();
    world.compile("mpicc.openmpi", "sums.c", "sums");
    compile(&world, "hog");
    let mpirun = "exec mpirun.openmpi --oversubscribe -n 2 ./sums 10";
    let cases = [
        ("fine", mpirun, "", ""),
        ("refused", "exec mpirun.openmpi -n 4000 --nooversubscribe ./sums 10", "too-many-ranks", "no room"),
        ("memory", "ulimit -v 200000; exec ./hog 9999", "out-of-memory", "not enough memory"),
        ("signal", "kill -SEGV $$", "signal", "11 (SIGSEGV)"),
        (
            "rank",
            "exec mpirun.openmpi --oversubscribe -n 2 sh -c 'test $OMPI_COMM_WORLD_RANK -eq 0 && exec sleep 60; sleep 1; kill -KILL $$'",
            "rank-killed",
            "Rank 1 was killed by signal 9",
        ),
        ("launcher", "exec mpirun.openmpi --timeout 1 -n 1 sleep 60", "killed-by-launcher", "The launcher ended it"),
        ("silent", "true", "prints-nothing", "printed nothing and left no profile"),
        ("chatty", "echo hello", "no-profile", "left no profile"),
        ("forks", "setsid sleep 4713 & echo", "left-children", "ran on and were ended: sleep"),
        (
            "kept",
            "exec mpirun.openmpi --oversubscribe -n 2 sh -c 'setsid sleep 4713 & exit 0'",
            "left-children",
            "2 of the processes that they had started ran on and kept the launcher waiting",
        ),
        ("hangs", "sleep 4714", "hangs", "done nothing for"),
        ("late", "while :; do :; done", "time-limit", "longer than 5 s"),
        ("missing", "exec ./no-such", "exit-status", "status 127"),
        ("status", "exit 3", "exit-status", "status 3"),
        ("also", mpirun, "", ""),
    ];
    let names: Vec<String> = cases.iter().map(|case| toml_text(case.0)).collect();
    let lines: Vec<String> = cases.iter().map(|(name, script, ..)| format!("{name}) {script};;")).collect();
    world.write("point.sh", &format!("case $1 in\n{}\nesac\n", lines.join("\n")));
    world.write(
        "s.toml",
        &format!(
            "command = [\"sh\", \"point.sh\", \"{{which}}\"]\ntime_limit = 5\n[parameters]\nn = [1]\nwhich = [{}]\n[derived]\n",
            names.join(", ")
        )
        .replace("n = [1]\n", ""),
    );
    let ran = world.poise(["run", "s.toml"]).status(5);
    assert!(ran.stdout.contains("2 runs are complete"), "{}\n{}", ran.stdout, ran.stderr);
    for (name, _, cause, reason) in cases {
        let record = world.json(&format!("s.runs/which={name}/r1/run.json"));
        assert_eq!(record["status"], if cause.is_empty() { "complete" } else { "failed" }, "{name}: {record}");
        assert_eq!(record["cause"].as_str().unwrap_or(""), cause, "{name}: {record}");
        assert!(record["reason"].as_str().unwrap_or("").contains(reason), "{name}: {record}");
    }
    let left =
        world.command("sh", ["-c", "grep -sl 'sleep.471[34]' /proc/[0-9]*/cmdline | grep -v self"]).output().unwrap();
    assert!(left.stdout.is_empty(), "{}", String::from_utf8_lossy(&left.stdout));
}

/// MPI libraries wait without sleeping. A shell that starts a rank does not make it another. The limit leaves ranks much time to start on a busy machine.
#[test]
fn ranks_that_wait_for_each_other_hang_and_those_that_compute_do_not() {
    let world = World::new();
    world.compile("mpicc.openmpi", "deadlock.c", "deadlock");
    world.compile("mpicc.mpich", "deadlock.c", "deadlock.mpich");
    world.write(
        "point.sh",
        "case $1 in\n\
         openmpi) exec mpirun.openmpi --oversubscribe -n 2 ./deadlock;;\n\
         mpich) exec mpiexec.mpich -n 2 sh -c './deadlock.mpich; exit 1';;\n\
         busy) exec mpirun.openmpi --oversubscribe -n 2 ./deadlock busy;;\n\
         esac\n",
    );
    let study = "command = [\"sh\", \"point.sh\", \"{which}\"]\ntime_limit = 16\n\
                 [parameters]\nwhich = [\"openmpi\", \"mpich\", \"busy\"]\n";
    world.write("s.toml", study);
    world.poise(["run", "s.toml"]).status(5);
    let within = "each of its 2 ranks had been within one MPI call for 4 s";
    for (which, cause, reason) in
        [("openmpi", "hangs", within), ("mpich", "hangs", within), ("busy", "time-limit", "longer than 16 s")]
    {
        let record = world.json(&format!("s.runs/which={which}/r1/run.json"));
        assert_eq!(record["cause"], cause, "{record}");
        assert!(record["reason"].as_str().unwrap().contains(reason), "{record}");
    }
    // The last quarter is shorter than what ranks are watched for.
    world.write("s.toml", &study.replace("16", "10").replace(", \"mpich\", \"busy\"", ""));
    world.poise(["run", "s.toml", "-o", "short"]).status(5);
    let record = world.json("short/which=openmpi/r1/run.json");
    assert_eq!(record["cause"], "hangs", "{record}");
    assert!(record["reason"].as_str().unwrap().contains("within one MPI call for 3 s"), "{record}");
}

/// Two looks at the program that are made at the same time find the same, whatever it does.
#[test]
fn a_run_that_computes_does_not_hang_where_poise_was_stopped() {
    let world = World::new();
    world.write(
        "s.toml",
        "command = [\"sh\", \"-c\", \"touch began; while :; do :; done\", \"{n}\"]\ntime_limit = 4\n[parameters]\nn = [1]\n",
    );
    let mut child = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml"]).spawn().unwrap();
    let begun = Instant::now();
    while !world.path("began").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = child.id().to_string();
    let signal = |name: &str| assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
    signal("-STOP");
    std::thread::sleep(Duration::from_secs(5));
    signal("-CONT");
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let record = world.json("s.runs/n1.r1/run.json");
    assert_eq!(record["cause"], "time-limit");
    let concerns = record["machine"]["concerns"].as_array().unwrap();
    let is_told = |concern: &serde_json::Value| concern.as_str().unwrap().starts_with("poise was stopped");
    assert!(concerns.iter().any(is_told), "{concerns:?}");
}

#[test]
fn a_memory_limit_holds_for_each_process() {
    let world = World::new();
    compile(&world, "hog");
    world.write("s.toml", "command = [\"./hog\", \"{n}\"]\nmemory_limit = 500\n[parameters]\nn = [10, 1000]\n");
    world.poise(["run", "s.toml"]).status(5);
    assert_eq!(world.json("s.runs/n10.r1/run.json")["status"], "complete");
    assert_eq!(world.json("s.runs/n1000.r1/run.json")["cause"], "out-of-memory");
}

#[test]
fn a_core_budget_refuses_and_runs_side_by_side_only_if_asked() {
    let world = World::new();
    // Each run notes how many are running, itself included.
    let script = "mkdir -p on; touch on/$$; ls on | wc -l >> most; sleep 1; rm on/$$";
    let study = |p: &str, place: &str| {
        format!(
            "command = [\"sh\", \"-c\", \"{script}\", \"{{p}}\", \"{{n}}\"]\ncollect = \"elapsed\"\n\
             [parameters]\np = {p}\nn = [1, 2, 3, 4]\n[local]\n{place}\n"
        )
    };
    let most = |world: &World| world.read("most").split_whitespace().map(|n| n.parse::<u32>().unwrap()).max();
    world.write("s.toml", &study("[1, 3]", "cores = 2"));
    world.poise(["run", "s.toml"]).status(5);
    assert_eq!(most(&world), Some(1));
    let refused = world.json("s.runs/p3.n1.r1/run.json");
    assert_eq!(refused["cause"], "too-many-ranks", "{refused}");
    world.write("s.toml", &study("[2]", "cores = 5\nside_by_side = true"));
    world.poise(["run", "s.toml", "-o", "together"]).status(0);
    assert_eq!(most(&world), Some(2), "two runs of two cores in five");
}

#[test]
fn programs_run_in_a_simulated_network() {
    let world = World::new();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/sums.c");
    std::fs::copy(source, world.path("sums.c")).unwrap();
    let study = |latency: &str, topology: &str| {
        let text = format!(
            "executor = \"smpi\"\ncommand = [\"{{program}}\", \"{{n}}\", \"{{text}}\"]\n[build]\nsources = [\"sums.c\"]\nflags = [\"-O1\"]\n\
             [parameters]\np = [2, 4, 64]\nn = [100]\ntext = [\"a  b; 'c' *\"]\n[smpi]\nlatency = \"{latency}\"\nbandwidth = \"1GBps\"\n\
             topology = \"{topology}\"\n"
        );
        world.write("s.toml", &text);
    };
    let time = |results: &str, p: u32| {
        let group = world.names(results).into_iter().find(|name| name.starts_with("text=")).unwrap();
        let profile = format!("{results}/{group}/p{p}.n100.r1/profile.poise");
        let profile = poise_profile::Profile::read(world.path(&profile)).unwrap();
        assert_eq!(profile.ranks, p);
        let times = profile.values.iter().filter(|((_, metric), _)| *metric == poise_profile::Metric::Time);
        times.map(|(_, over_ranks)| over_ranks.maximum.0).max().unwrap()
    };
    study("1us", "torus 4x4x2");
    let small = world.poise(["run", "s.toml", "-o", "small"]).status(5);
    assert!(small.stderr.contains("64 ranks, and the simulated network has 32 nodes"), "{}", small.stderr);
    study("10us", "torus 4x4x2");
    world.poise(["run", "s.toml", "-o", "slow"]).status(5);
    // Nothing but latency matters for 24 bytes: ten times the latency is ten times the time, to the bytes' own.
    let ratio = time("slow", 4) as f64 / time("small", 4) as f64;
    assert!((9.0..10.1).contains(&ratio), "{ratio}");
    study("1us", "cluster");
    world.poise(["run", "s.toml", "-o", "cluster"]).status(0);
    assert!(time("cluster", 64) > 2 * time("cluster", 4), "log2(64) = 3 log2(4) rounds");
}

#[test]
fn the_machine_is_recorded_and_quieted() {
    let world = World::new();
    // The priority and the cores that the program has, as the kernel tells them.
    let script = "cut -d' ' -f19 /proc/self/stat; grep Cpus_allowed_list /proc/self/status; $0";
    let study = format!(
        "command = [\"sh\", \"-c\", \"{script}\", \"{{which}}\", \"{{p}}\"]\ncollect = \"elapsed\"\n[parameters]\np = [1]\nwhich = [\"true\"]\n"
    );
    world.write("s.toml", &study);
    world.poise(["run", "s.toml"]).status(0);
    let record = world.json("s.runs/which=true/p1.r1/run.json");
    let machine = &record["machine"];
    for key in ["cores", "governor", "boost", "huge_pages", "running", "load", "probe"] {
        assert!(machine["before"].get(key).is_some() && machine["after"].get(key).is_some(), "{key}: {machine}");
    }
    assert!(machine["before"]["probe"]["fastest_ns"].as_f64().unwrap() > 1e4, "{machine}");
    assert!(machine["concerns"].is_array() && machine.get("steal").is_some(), "{machine}");

    let quiet = world.poise(["run", "s.toml", "-o", "quiet", "--quiet-machine"]).status(0);
    let printed = world.read("quiet/which=true/p1.r1/stdout.txt");
    let cores = std::thread::available_parallelism().unwrap().get();
    if cores > 1 {
        let list = printed.lines().nth(1).unwrap().split_whitespace().last().unwrap();
        assert!(list.parse::<usize>().is_ok(), "one core: {printed}");
        assert_eq!(world.json("quiet/which=true/p1.r1/run.json")["pinned"].as_array().unwrap().len(), 1);
    }
    if !quiet.stderr.contains("only root may raise it") {
        assert_eq!(printed.lines().next(), Some("-10"), "{printed}");
    }
    assert!(!world.path("quiet/.quiet.json").exists());
}

#[test]
fn runs_that_failed_alike_are_named_with_their_groups() {
    let world = World::new();
    world.write(
        "s.toml",
        "command = [\"sh\", \"-c\", \"exit 3\", \"{mode}\", \"{n}\"]\ncollect = \"elapsed\"\n\
         [parameters]\nn = [1]\nmode = [\"sleep\", \"work\"]\n",
    );
    let told = world.poise(["run", "s.toml"]).status(5).stderr;
    let names = |one: &str, other: &str| {
        told.contains(&format!("s.runs/mode={one}/n1.r1 failed. It ended with status 3."))
            && told.contains(&format!("So did 1 other run: mode={other}/n1.r1."))
    };
    assert!(names("sleep", "work") || names("work", "sleep"), "{told}");
}

#[test]
fn what_comes_next_is_of_a_group_that_has_runs_and_the_machine_is_judged_by_what_ran() {
    let world = World::new();
    world.write(
        "s.toml",
        "launcher = [\"mpirun.openmpi\", \"-n\", \"1\"]\ncommand = [\"{w}\", \"{p}\"]\ncollect = \"elapsed\"\n\
         [parameters]\np = [4000]\nw = [\"./no-such\", \"true\"]\n",
    );
    let ran = world.poise(["run", "s.toml"]).status(5);
    assert!(ran.stdout.contains("1 run is complete. Next: poise model s.runs/w=true"), "{}", ran.stdout);
    let causes = runs(&world, "s.runs").into_iter().map(|run| world.json(&format!("{run}/run.json"))["cause"].clone());
    assert_eq!(causes.collect::<Vec<_>>(), ["cannot-start".into(), serde_json::Value::Null]);
    assert!(ran.stderr.contains("1 of 2 runs: 4000 ranks"), "{}", ran.stderr);
}
