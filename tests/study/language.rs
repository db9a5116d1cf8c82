//! The study language and what becomes of it: values that reach programs as they were written, where runs are made, costs,
//! events, and what is said of them.

use std::time::{Duration, Instant};

use crate::common::{World, outcome};
use crate::{runs, toml_text, with_echo};

/// Values that a shell would take apart, run or lose.
const ODD: [&str; 5] = [
    "two  words",
    "it's \"quoted\"",
    "; touch harm && $(touch harm) `touch harm` | * ? ~",
    "line\nbreak\t",
    "{n} \\ %s",
];

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

/// Libraries that a study preloads stay behind ours, and what it finds by a PATH of its own is what is recorded and watched.
#[test]
fn libraries_and_programs_of_a_studys_own_environment_are_used() {
    let world = with_echo();
    let study = |rest: &str| {
        world.write("s.toml", &format!("{rest}\n[parameters]\nlibrary = [\"libm.so.6\", \"libdl.so.2\"]\n"))
    };
    let script = "printf %s \\\"$LD_PRELOAD\\\" > seen.$2; exec \\\"$@\\\"";
    study(&format!(
        "launcher = [\"sh\", \"-c\", \"{script}\", \"sh\"]\ncommand = [\"./echo\", \"{{library}}\"]\n\
         environment = {{ LD_PRELOAD = \"{{library}}\" }}"
    ));
    world.poise(["run", "s.toml"]).status(0);
    for library in ["libm.so.6", "libdl.so.2"] {
        let seen = world.read(&format!("seen.{library}"));
        assert!(seen.contains("libpoise_runtime.so") && seen.ends_with(&format!(":{library}")), "{seen}");
    }

    std::fs::create_dir(world.path("bin")).unwrap();
    std::fs::copy(world.path("echo"), world.path("bin/own-echo")).unwrap();
    let own = world.path("bin");
    let by_path = |repetitions: u32| {
        let path = format!("{}:/usr/bin:/bin", own.display());
        study(&format!(
            "name = \"path\"\nrepetitions = {repetitions}\ncommand = [\"own-echo\", \"{{library}}\"]\nenvironment = {{ PATH = \"{path}\" }}"
        ));
        world.poise(["run", "s.toml"])
    };
    by_path(1).status(0);
    let record = world.json("path.runs/library=libm.so.6/r1/run.json");
    assert_eq!(record["programs"][0]["path"], own.join("own-echo").display().to_string());
    let compilers = record["versions"]["compilers"].as_str().unwrap();
    assert!(compilers.contains("clang version"), "{compilers}");
    std::fs::copy("/bin/true", world.path("bin/own-echo")).unwrap();
    let changed = by_path(2).status(2).stderr;
    assert!(changed.contains("own-echo has changed since"), "{changed}");
}

/// What a launcher starts, and what a script does, may each write a profile; a study's own way out is told of each.
#[test]
fn several_profiles_are_told_by_who_started_their_programs() {
    let world = with_echo();
    let cause = |command: &str| {
        world.write("s.toml", &format!("command = [{command}, \"{{n}}\"]\n[parameters]\nn = [1]\n"));
        world.poise(["run", "s.toml"]).status(5);
        let record = world.json("s.runs/n1.r1/run.json");
        assert_eq!(record["cause"], "several-profiles");
        record["reason"].as_str().unwrap().to_owned()
    };
    let script = cause("\"sh\", \"-c\", \"./echo a && ./echo b\"");
    assert!(script.contains("a script starts several measured programs"), "{script}");
    let launched = cause("\"mpirun.openmpi\", \"--oversubscribe\", \"-n\", \"2\", \"./echo\"");
    assert!(launched.contains("each MPI has a launcher of its own"), "{launched}");
}

#[test]
fn a_complete_run_without_its_profile_is_told_before_anything_is_run() {
    let world = with_echo();
    let study = |values: &str| {
        world.write("s.toml", &format!("command = [\"./echo\", \"{{n}}\"]\n[parameters]\nn = [{values}]\n"));
        world.poise(["run", "s.toml"])
    };
    study("1, 2").status(0);
    let profile = world.path("s.runs/n2.r1/profile.poise");
    let whole = std::fs::read(&profile).unwrap();
    std::fs::write(&profile, &whole[..whole.len() / 2]).unwrap();
    let cut = study("1, 2, 3").status(2).stderr;
    assert!(cut.contains("n2.r1/run.json is the record of a complete run, whose profile cannot be read"), "{cut}");
    std::fs::remove_file(&profile).unwrap();
    let dry = world.poise(["run", "s.toml", "--dry-run"]).status(0).stderr;
    assert!(dry.contains("without --dry-run makes nothing: ") && dry.contains("Remove the folder"), "{dry}");
    let gone = study("1, 2, 3").status(2).stderr;
    assert!(gone.contains("Remove the folder") && !world.path("s.runs/n3.r1").exists(), "{gone}");
    std::fs::remove_dir_all(world.path("s.runs/n2.r1")).unwrap();
    study("1, 2, 3").status(0);
    assert!(std::fs::read(&profile).unwrap().len() > whole.len() / 2, "it was made again");
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
    assert_eq!(after["points"][2]["seconds_from"], "extrapolated", "no run is left that is as large");
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
    // Where the simulator puts its copies is no part of the study.
    let elsewhere = world.path("elsewhere").display().to_string();
    std::fs::create_dir_all(&elsewhere).unwrap();
    let run = |results: &str| {
        let mut command = world.command(env!("CARGO_BIN_EXE_poise"), ["run", "s.toml", "-o", results]);
        let command = command.env("TMPDIR", &elsewhere).env("LD_LIBRARY_PATH", "/nowhere");
        outcome(command.output().unwrap()).status(0).stdout
    };
    let again = run("cluster");
    assert!(again.contains("3 runs are complete (3 of them from an earlier call)"), "{again}");
    let record = |results: &str| {
        let group = world.names(results).into_iter().find(|name| name.starts_with("text=")).unwrap();
        world.json(&format!("{results}/{group}/p4.n100.r1/run.json"))
    };
    let text = world.read("s.toml");
    world.write("s.toml", &text.replace("[parameters]", "[environment]\nLD_LIBRARY_PATH = \"/studys\"\n[parameters]"));
    run("own");
    assert_eq!(record("own")["environment"]["LD_LIBRARY_PATH"], format!("{elsewhere}:/studys"));
    let launcher = record("own")["versions"]["launcher"].clone();
    assert!(launcher.as_str().unwrap().contains("SimGrid version"), "{launcher}");
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
