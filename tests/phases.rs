//! `poise phases` and `poise run --engine qemu`: programs whose phases are known, counted by compiled counters and as machine code
//! of three instruction sets. Nothing here depends on how fast or busy the machine is.

mod common;

use std::path::Path;

use common::{World, outcome};
use poise_profile::{Metric, Profile};
use serde_json::Value;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/phases");

/// Builds `examples/phases/NAME.c` as `target`.
fn build(world: &World, compiler: &[&str], name: &str, target: &str) {
    let source = format!("{SOURCES}/{name}.c");
    let arguments = [&compiler[1..], &["-O2", "-g", &source, "-o", target, "-lm"]].concat();
    outcome(world.command(compiler[0], arguments).output().unwrap()).status(0);
}

/// `poise phases` as JSON.
fn phases(world: &World, options: &[&str], command: &[&str]) -> Value {
    let arguments = [&["phases", "--format", "json", "-o", "phases.json"], options, &["--"], command].concat();
    world.poise(arguments).status(0);
    let found = world.json("phases.json");
    std::fs::remove_file(world.path("phases.json")).unwrap();
    found
}

/// Name, first bin and the bin behind the last of each phase of the first thread.
fn regions(found: &Value) -> Vec<(String, u64, u64)> {
    let of = |phase: &Value| {
        let bins = &phase["bins"];
        (phase["name"].as_str().unwrap().to_owned(), bins[0].as_u64().unwrap(), bins[1].as_u64().unwrap())
    };
    found["timelines"][0]["phases"].as_array().unwrap().iter().map(of).collect()
}

/// Effort of functions other than the three before the first of them begins.
fn before(found: &Value) -> u64 {
    let known =
        |part: &Value| KNOWN.iter().any(|name| found["functions"][part[0].as_u64().unwrap() as usize]["name"] == *name);
    let mut sum = 0;
    for bin in found["timelines"][0]["bins"].as_array().unwrap() {
        let parts = bin["functions"].as_array().unwrap();
        sum += parts.iter().filter(|part| !known(part)).map(|part| part[1].as_u64().unwrap()).sum::<u64>();
        if parts.iter().any(known) {
            break;
        }
    }
    sum
}

/// In which bin so much has been executed, and how far into it.
fn place(bins: &[Value], mut effort: u64) -> f64 {
    for (number, bin) in bins.iter().enumerate() {
        let held: u64 = bin["functions"].as_array().unwrap().iter().map(|part| part[1].as_u64().unwrap()).sum();
        if effort < held {
            return number as f64 + effort as f64 / held as f64;
        }
        effort -= held;
    }
    bins.len() as f64
}

/// Checks the three phases of `known` against where the profile's own counts say that they are: the functions run one
/// after the other, so their sums are the boundaries.
fn check_known(found: &Value, effort: [u64; 3]) {
    let regions = regions(found);
    let names: Vec<&str> = regions.iter().map(|r| r.0.as_str()).collect();
    assert_eq!(names, KNOWN, "{regions:?}");
    let bins = found["timelines"][0]["bins"].as_array().unwrap();
    let mut start = before(found);
    for ((name, first, end), effort) in regions.iter().zip(effort) {
        let (from, to) = (place(bins, start), place(bins, start + effort));
        let is_near = |bin: u64, at: f64| (bin as f64 - at).abs() <= 1.0;
        assert!(is_near(*first, from) && is_near(*end, to), "{name}: {from} to {to}, {regions:?}");
        // Every bin that holds nothing else has the label.
        let function = found["functions"].as_array().unwrap().iter().position(|f| f["name"] == *name).unwrap();
        for (bin, found) in bins.iter().enumerate().take(to.floor() as usize).skip(from.ceil() as usize) {
            assert_eq!(found["labels"], serde_json::json!([function]), "bin {bin} of {name}");
        }
        start += effort;
    }
}

/// Sum of a metric at each of these call paths below main.
fn values(profile: &Profile, names: [&str; 3], metric: Metric) -> [u64; 3] {
    let node = |name: &str| {
        let is_it = |&node: &u32| profile.path(node).unwrap().iter().map(|r| r.name.as_str()).eq(["main", name]);
        (0..profile.nodes.len() as u32).find(is_it).unwrap_or_else(|| panic!("{name}"))
    };
    names.map(|name| u64::try_from(profile.values[&(node(name), metric)].sum).unwrap())
}

const KNOWN: [&str; 3] = ["multiply", "triad", "chase"];

#[test]
fn compiled_counters_find_the_known_phases() {
    let world = World::new();
    build(&world, &["poise", "cc"], "known", "known");
    let found = phases(&world, &["--keep", "kept", "--width", "20000"], &["./known", "20"]);
    assert_eq!((&found["engine"], &found["unit"]), (&"counters".into(), &"basic_blocks".into()));
    let profile = Profile::read(world.path("kept/profile.poise")).unwrap();
    let effort = values(&profile, KNOWN, Metric::BasicBlocks);
    // Bins hold what the call tree holds.
    let binned: u64 = profile.phases.timelines[0].bins.iter().flat_map(|b| &b.shares).map(|s| s.count).sum();
    let total: u128 = profile.values.iter().filter(|((_, m), _)| *m == Metric::BasicBlocks).map(|(_, v)| v.sum).sum();
    assert_eq!(u128::from(binned), total);
    check_known(&found, effort);
    let visits: u64 = profile.phases.timelines[0].bins.iter().flat_map(|b| &b.shares).map(|s| s.visits).sum();
    let counted: u128 = profile.values.iter().filter(|((_, m), _)| *m == Metric::Visits).map(|(_, v)| v.sum).sum();
    assert_eq!(u128::from(visits), counted);
    // Bins of equal time hold the same effort, wherever it fell.
    let by_time = phases(&world, &["--keep", "timed", "--by", "time", "--width", "1000000"], &["./known", "20"]);
    assert_eq!(by_time["unit"], "ns");
    let timed = Profile::read(world.path("timed/profile.poise")).unwrap();
    let sum: u64 = timed.phases.timelines[0].bins.iter().flat_map(|b| &b.shares).map(|s| s.count).sum();
    assert_eq!(sum, binned);
    // What is shown of them speaks of time.
    let shown = world.poise(["phases", "timed", "--plot", "timed.svg"]).status(0).stdout;
    assert!(shown.starts_with("Bins of 1000000 ns, counted by counters."), "{shown}");
    let drawing = world.read("timed.svg");
    assert!(drawing.contains(">time</text>") && drawing.contains(">basic blocks per bin<"), "{drawing}");
    // All bins have as much of it.
    assert!(!drawing.contains("time per bin"), "{drawing}");
    assert!(!drawing.contains("basic blocks executed"), "{drawing}");
}

#[test]
fn bins_that_widen_are_few_and_the_same_on_a_busy_machine() {
    let world = World::new();
    build(&world, &["poise", "cc"], "known", "known");
    let without_time = |mut found: Value| {
        for bins in found["timelines"][0].as_object_mut().unwrap().values_mut().filter_map(Value::as_array_mut) {
            for bin in bins.iter_mut().filter_map(Value::as_object_mut) {
                bin.remove("time_ns");
            }
        }
        found["timelines"][0]["outside"].as_object_mut().unwrap().remove("time_ns");
        found
    };
    let idle = without_time(phases(&world, &[], &["./known", "400", "2"]));
    let mut burner = world.command("sh", ["-c", "while :; do :; done"]).spawn().unwrap();
    let busy = without_time(phases(&world, &[], &["./known", "400", "2"]));
    burner.kill().unwrap();
    burner.wait().unwrap();
    assert_eq!(idle, busy);
    let bins = idle["timelines"][0]["bins"].as_array().unwrap().len();
    assert!((1500..=4096).contains(&bins), "{bins} bins of {}", idle["width"]);
    let names: Vec<String> = regions(&idle).into_iter().map(|r| r.0).collect();
    assert_eq!(names, ["multiply #1", "triad #1", "chase #1", "multiply #2", "triad #2", "chase #2"]);
}

#[test]
fn machine_code_is_the_same_on_a_busy_machine() {
    let world = World::new();
    build(&world, &["gcc"], "known", "known");
    let run = |keep: &str| {
        world.poise(["phases", "--engine", "qemu", "--keep", keep, "--", "./known", "20", "2"]).status(0);
        std::fs::read(world.path(keep).join("profile.poise")).unwrap()
    };
    let idle = run("idle");
    // As many as take the processor away again and again.
    let mut burners: Vec<_> =
        (0..4).map(|_| world.command("sh", ["-c", "while :; do :; done"]).spawn().unwrap()).collect();
    let busy = run("busy");
    for burner in &mut burners {
        burner.kill().unwrap();
        burner.wait().unwrap();
    }
    assert!(idle == busy, "the same bytes");
    let record: Value = world.json("idle/run.json");
    assert_eq!(record["clock"], "none", "an emulator measures no time");
}

/// Two threads that compute, the second four times as long.
const THREADS: &str = r#"
    #include <pthread.h>
    #include <stdio.h>
    static volatile unsigned sink[2];
    __attribute__((noinline)) void step(unsigned *state) { *state = *state * 1664525u + 1013904223u; }
    __attribute__((noinline)) static void *work(void *which) {
        long number = (long)which;
        unsigned state = 1;
        for (long i = 0; i < (number ? 400000 : 100000); ++i) step(&state);
        sink[number] = state;
        return 0;
    }
    int main(void) {
        pthread_t threads[2];
        for (long i = 0; i < 2; ++i) pthread_create(&threads[i], 0, work, (void *)i);
        for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
        printf("%u\n", sink[0] ^ sink[1]);
        return 0;
    }"#;

#[test]
fn each_thread_of_a_guest_has_its_bins() {
    let world = World::new();
    world.write("threads.c", THREADS);
    for (compiler, program) in [(&["gcc"][..], "./x86"), (&["aarch64-linux-gnu-gcc", "-static"], "./arm")] {
        let arguments = [&compiler[1..], &["-O2", "-g", "threads.c", "-o", program, "-lpthread"]].concat();
        outcome(world.command(compiler[0], arguments).output().unwrap()).status(0);
        let found = phases(&world, &["--engine", "qemu", "--width", "10000"], &[program]);
        let step = found["functions"].as_array().unwrap().iter().position(|f| f["name"] == "step").unwrap();
        let calls = |timeline: &Value| -> u64 {
            let bins = timeline["bins"].as_array().unwrap().iter();
            let parts = bins.flat_map(|bin| bin["functions"].as_array().unwrap());
            parts.filter(|part| part[0] == step).map(|part| part[2].as_u64().unwrap()).sum()
        };
        let calls: Vec<u64> = found["timelines"].as_array().unwrap().iter().map(calls).collect();
        assert_eq!(calls, [0, 100_000, 400_000], "{program}");
    }
}

/// A parallel region that GCC compiled, of two threads by libgomp, between what one does alone; clang makes no regions for that runtime.
#[test]
fn threads_of_gnus_openmp_have_their_bins() {
    let world = World::new();
    world.write("team.c", "void team(void (*task)(void)) {\n#pragma omp parallel num_threads(2)\n    task();\n}\n");
    world.write(
        "main.c",
        r#"
        void team(void (*task)(void));
        #define STEPS(NAME, N) __attribute__((noinline)) static void NAME(void) { \
            volatile unsigned s = 1; \
            for (long i = 0; i < N; ++i) s = s * 3 + i; }
        STEPS(before, 200000)
        STEPS(together, 400000)
        STEPS(after, 100000)
        int main(void) { before(); team(together); after(); return 0; }"#,
    );
    let built = |compiler: &str, arguments: &[&str]| {
        outcome(world.command(compiler, arguments).output().unwrap()).status(0);
    };
    built("gcc", &["-O2", "-fopenmp", "-c", "team.c", "-o", "team.o"]);
    built("poise", &["cc", "-O1", "-g", "main.c", "team.o", "-l:libgomp.so.1", "-o", "app"]);
    let found = phases(&world, &["--width", "5000", "--keep", "kept"], &["./app"]);
    let timelines = found["timelines"].as_array().unwrap();
    let names = |timeline: &Value| -> Vec<String> {
        let phases = timeline["phases"].as_array().unwrap().iter();
        phases.map(|phase| phase["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(timelines.iter().map(names).collect::<Vec<_>>(), [&["before", "together", "after"][..], &["together"]]);
    // Each of both threads has a call, and as much of what the call tree has of both as the other.
    let function = found["functions"].as_array().unwrap().iter().position(|f| f["name"] == "together").unwrap();
    let of = |timeline: &Value| {
        let parts = timeline["bins"].as_array().unwrap().iter().flat_map(|bin| bin["functions"].as_array().unwrap());
        let parts: Vec<&Value> = parts.filter(|part| part[0] == function).collect();
        [1, 2].map(|number: usize| parts.iter().map(|part| part[number].as_u64().unwrap()).sum::<u64>())
    };
    let [first, second] = [of(&timelines[0]), of(&timelines[1])];
    assert!(first == second && first[0] >= 400_000 && first[1] == 1, "{first:?}, {second:?}");
    let profile = Profile::read(world.path("kept/profile.poise")).unwrap();
    let is_its = |node: u32| profile.regions[profile.nodes[node as usize].region as usize].name == "together";
    let counted = profile.values.iter().filter(|((node, metric), _)| *metric == Metric::BasicBlocks && is_its(*node));
    assert_eq!(counted.map(|(_, value)| value.sum).sum::<u128>(), u128::from(2 * first[0]));
}

#[test]
fn a_library_where_another_was_keeps_its_own_names() {
    let world = World::new();
    // Both want to be at one address.
    let library = |name: &str| {
        let code = format!("unsigned {name}(unsigned n) {{ unsigned s = 1; while (n--) s = s * 3 + n; return s; }}");
        world.write(&format!("{name}.c"), &code);
        let (source, target) = (format!("{name}.c"), format!("lib{name}.so"));
        outcome(
            world
                .command("gcc", ["-O1", "-shared", "-fPIC", "-Wl,-Ttext-segment=0x3000000000", &source, "-o", &target])
                .output()
                .unwrap(),
        )
        .status(0);
    };
    library("first");
    library("other");
    world.write(
        "main.c",
        r#"
        #include <dlfcn.h>
        #include <stdio.h>
        static void *call(const char *file, const char *name, unsigned n) {
            void *library = dlopen(file, RTLD_NOW);
            unsigned (*function)(unsigned) = (unsigned (*)(unsigned))dlsym(library, name);
            printf("%u\n", function(n));
            dlclose(library);
            return (void *)function;
        }
        int main(void) {
            void *first = call("./libfirst.so", "first", 1000);
            void *other = call("./libother.so", "other", 3000);
            return first == other ? 0 : 9;
        }"#,
    );
    outcome(world.command("gcc", ["-O1", "-g", "main.c", "-o", "main", "-ldl"]).output().unwrap()).status(0);
    world.poise(["run", "--engine", "qemu", "-o", "once", "--", "./main"]).status(0);
    let profile = Profile::read(world.path("once/profile.poise")).unwrap();
    // Each turn of the loops is a block or two; both were at the same address, else the program had failed.
    let blocks = |name: &str| -> u128 {
        let is_it = |node: u32| profile.regions[profile.nodes[node as usize].region as usize].name == name;
        let of = profile.values.iter().filter(|((node, metric), _)| *metric == Metric::BasicBlocks && is_it(*node));
        of.map(|(_, value)| value.sum).sum()
    };
    assert!((1000..2500).contains(&blocks("first")), "{}", blocks("first"));
    assert!((3000..7500).contains(&blocks("other")), "{}", blocks("other"));
}

#[test]
fn statistics_of_gem5_are_a_timeline() {
    let world = World::new();
    build(&world, &["aarch64-linux-gnu-gcc", "-static"], "known", "simulated");
    // Where the linker put each function, of which an address is executed most in each of six bins of a dump.
    let listed = outcome(world.command("aarch64-linux-gnu-nm", ["simulated"]).output().unwrap()).stdout;
    let address = |name: &str| {
        let line = listed.lines().find(|line| line.ends_with(&format!(" {name}"))).unwrap();
        u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
    };
    let mut text = String::new();
    for (number, name) in KNOWN.iter().flat_map(|name| [name; 6]).enumerate() {
        let list: Vec<String> = (0..5).map(|i| format!("{:#x},{}", address(name) + 4 * i, 90 - i)).collect();
        text += &format!(
            "\n---------- Begin Simulation Statistics ----------\nsimSeconds 0.000005 # s\nsimTicks 5000000 # t\n\
             finalTick {} # t\nsimInsts 7000 # i\nsystem.cpu.selected | {}; |\n\
             ---------- End Simulation Statistics   ----------\n",
            5_000_000 * (number + 1),
            list.join(";")
        );
    }
    world.write("stats.txt", &text);
    let arguments = ["phases", "stats.txt", "--program", "simulated", "--format", "json", "-o", "gem5.json"];
    world.poise([&arguments[..], &["--plot", "gem5.svg", "--page", "gem5.html"]].concat()).status(0);
    let found = world.json("gem5.json");
    let expected: Vec<(String, u64, u64)> = (0..).zip(KNOWN).map(|(i, n)| (n.to_owned(), 6 * i, 6 * i + 6)).collect();
    assert_eq!(regions(&found), expected);
    assert_eq!((&found["engine"], &found["width"]), (&"gem5".into(), &5000.into()));
    assert_eq!(found["timelines"][0]["phases"][1]["instructions"], 6 * 7000);
    assert_eq!(found["timelines"][0]["bins"][3]["instructions"], 7000);
    assert!(world.read("gem5.svg").contains(">triad<"));
    // A folder as gem5 leaves it is the same; several, named after their points, are runs, of which each phase has a model: of f(n) dumps
    // every phase has a third, of 7000 instructions each.
    std::fs::create_dir(world.path("m5out")).unwrap();
    world.write("m5out/stats.txt", &text);
    world.write("m5out/config.ini", "[root]\n");
    let folder = ["phases", "m5out", "--program", "simulated", "--format", "json", "-o", "folder.json"];
    world.poise(folder).status(0);
    assert_eq!(world.json("folder.json"), found);
    let dumps: Vec<&str> = text.split_inclusive("End Simulation Statistics   ----------\n").collect();
    for n in [1, 2, 3, 4, 5, 6] {
        std::fs::create_dir_all(world.path(&format!("sweep/n{n}"))).unwrap();
        let repeated: String = dumps.chunks(6).flat_map(|of_one| vec![of_one.concat(); n]).collect();
        world.write(&format!("sweep/n{n}/stats.txt"), &repeated);
    }
    world.poise(["phases", "sweep", "--program", "simulated", "--format", "json", "-o", "models.json"]).status(0);
    let models = world.json("models.json");
    for name in KNOWN {
        let is_it = |m: &&Value| m["callpath"] == serde_json::json!([name]) && m["metric"] == "instructions";
        let model = models["models"].as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{models:#}"));
        let term = &model["terms"][0];
        assert!((term["coefficient"].as_f64().unwrap() / (6.0 * 7000.0) - 1.0).abs() < 1e-6, "{model:#}");
        assert_eq!(term["factors"][0], serde_json::json!({"parameter": "n", "exponent": "1", "log_exponent": 0}));
    }
    let mixed = world.poise(["phases", "m5out", "simulated"]).status(2);
    assert!(mixed.stderr.contains("simulated holds no statistics of gem5"), "{}", mixed.stderr);
    // Without the lists there are bins and no phases; HDF5 is told.
    let plain: Vec<&str> = text.lines().filter(|line| !line.contains("selected")).collect();
    world.write("stats.txt", &(plain.join("\n") + "\n"));
    let done = world.poise(["phases", "stats.txt"]).status(0);
    assert!(done.stderr.contains("No bin has a list of its addresses"), "{}", done.stderr);
    std::fs::write(world.path("stats.h5"), b"\x89HDF\r\n\x1a\n\0\0").unwrap();
    assert!(world.poise(["phases", "stats.h5"]).status(3).stderr.contains("HDF5, which is not read"));
    // So is a folder in which gem5 left nothing else, alone and among others, and not one with statistics beside it.
    std::fs::create_dir(world.path("sweep/n7")).unwrap();
    std::fs::copy(world.path("stats.h5"), world.path("sweep/n7/stats.h5")).unwrap();
    for arguments in [["phases", "sweep/n7"], ["phases", "sweep"], ["model", "sweep/n7"]] {
        let refused = world.poise(arguments).status(3).stderr;
        assert!(refused.contains("sweep/n7/stats.h5: this is HDF5, which is not read"), "{arguments:?}: {refused}");
    }
    std::fs::rename(world.path("sweep/n7/stats.h5"), world.path("m5out/stats.h5")).unwrap();
    world.poise(["phases", "m5out", "--program", "simulated", "-o", "beside.txt"]).status(0);
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let world = World::new();
    build(&world, &["gcc"], "known", "known");
    phases(&world, &["--engine", "qemu", "--keep", "kept", "--width", "20000"], &["./known", "10"]);
    let refused = |arguments: &[&str], expected: &str| {
        let done = world.poise([&["phases", "kept"], arguments].concat()).status(2);
        assert!(done.stderr.contains(expected), "{}", done.stderr);
    };
    refused(&["--program", "known"], "no input is gem5's");
    refused(&["--share", "nan"], "a share is from 0 to 1");
    for option in ["--events", "--label", "--smooth"] {
        refused(&[option, "0"], "give a number from 1 on");
    }
    refused(&["--label", "6"], "--label 6 is more than the --events 5");
    let measured = |options: &[&str]| {
        world.poise([&["phases", "--engine", "qemu"], options, &["--", "./known", "1"]].concat()).status(2).stderr
    };
    assert!(measured(&["--program", "known"]).contains("cannot be used with"));
    let said = measured(&["--keep", "kept"]);
    assert!(said.contains("kept exists") && said.contains("Choose another folder with --keep"), "{said}");
    let help = world.poise(["phases", "--help"]).status(0).stdout;
    let label = help.split("--label <N>").nth(1).unwrap().split("--gap").next().unwrap();
    assert!(label.contains("default: 5") && label.contains("3, most of them, without"), "{label}");
    for option in
        [&["--width", "9"][..], &["--keep", "again"], &["--param", "n=1"], &["--engine", "qemu"], &["--lines"]]
    {
        refused(option, "cannot be used with");
    }
}

fn machine_code(world: &World, program: &str) {
    let found = phases(world, &["--engine", "qemu", "--keep", "kept", "--width", "20000"], &[program, "10"]);
    assert_eq!((&found["engine"], &found["unit"]), (&"qemu".into(), &"instructions".into()));
    let first = std::fs::read(world.path("kept/profile.poise")).unwrap();
    let profile = Profile::decode(&first).unwrap();
    assert_eq!(profile.metadata["engine"], "qemu");
    let effort = values(&profile, KNOWN, Metric::Instructions);
    check_known(&found, effort);
    // Where an instruction has one class, classes add up to instructions; x86-64's may read memory besides.
    let bins = found["timelines"][0]["bins"].as_array().unwrap();
    let classes = |bin: &Value| bin["classes"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>();
    if profile.metadata["instruction_set"] != "x86_64" {
        assert!(bins.iter().all(|bin| classes(bin) == bin["instructions"].as_u64().unwrap()), "{program}");
    }
    // Each is called once, and follows the chain of 8192 links a hundred times, a block each.
    let visits = values(&profile, KNOWN, Metric::Visits);
    assert_eq!(visits, [1, 1, 1]);
    let blocks = values(&profile, KNOWN, Metric::BasicBlocks);
    assert!(blocks[2] >= 100 * 8192 && blocks[2] < 100 * 8192 + 1000, "{blocks:?}");
    world.poise(["phases", "--engine", "qemu", "--keep", "again", "--width", "20000", "--", program, "10"]).status(0);
    assert_eq!(first, std::fs::read(world.path("again/profile.poise")).unwrap(), "two runs, the same bytes");
    for kept in ["kept", "again"] {
        std::fs::remove_dir_all(world.path(kept)).unwrap();
    }
}

#[test]
fn machine_code_of_three_instruction_sets_has_the_known_phases() {
    let world = World::new();
    for (compiler, program) in [
        (&["gcc"][..], "./x86"),
        (&["aarch64-linux-gnu-gcc", "-static"], "./arm"),
        (&["riscv64-linux-gnu-gcc", "-static"], "./riscv"),
    ] {
        build(&world, compiler, "known", program);
        machine_code(&world, program);
    }
}

#[test]
fn what_the_loader_does_moves_no_bin_of_main() {
    let mut world = World::new();
    build(&world, &["gcc"], "known", "known");
    let run = |world: &World| phases(world, &["--engine", "qemu", "--width", "1000"], &["./known", "2"]);
    let found = run(&world);
    // The loader looks for libraries in each of these.
    world.set("LD_LIBRARY_PATH", "/nowhere:/nor/here:/nor/there");
    let other = run(&world);
    let bins = |found: &Value| found["timelines"][0]["bins"].as_array().unwrap().clone();
    for found in [&found, &other] {
        let width = &found["timelines"][0]["first_width"];
        assert!(*width == bins(found)[0]["instructions"] && width.as_u64() > Some(10_000), "{width}");
    }
    let (found, other) = (bins(&found), bins(&other));
    assert!(found.len() > 100 && found[1..] == other[1..], "the same bins from main on");
    assert_ne!(found[0]["instructions"], other[0]["instructions"]);
}

/// Two loops of as many turns with a branch each, which in the first goes another way each time.
const BRANCHES: &str = r#"
    static volatile long odd, even;
    __attribute__((noinline)) void alternate(long n) { for (long i = 0; i < n; ++i) if (i & 1) ++odd; else ++even; }
    __attribute__((noinline)) void steady(long n) { for (long i = 0; i < n; ++i) if (n & 1) ++odd; else ++even; }
    int main(void) { alternate(20000); steady(20000); return 0; }"#;

#[test]
fn branches_that_change_their_mind_are_counted_and_drawn() {
    let world = World::new();
    world.write("branches.c", BRANCHES);
    outcome(world.command("gcc", ["-O1", "-g", "branches.c", "-o", "branches"]).output().unwrap()).status(0);
    let found = phases(&world, &["--engine", "qemu", "--width", "5000", "--plot", "turns.svg"], &["./branches"]);
    let phases = found["timelines"][0]["phases"].as_array().unwrap();
    let turns = |name: &str| phases.iter().find(|phase| phase["name"] == name).unwrap()["turns"].as_u64().unwrap_or(0);
    // Each time but the first, and the loop's end.
    assert!((19_999..20_010).contains(&turns("alternate")) && turns("steady") < 10, "{phases:?}");
    assert!(world.read("turns.svg").contains("branches that do other than the time before"));
}

/// Instructions of a function as callgrind counts them, which executes the same machine code in another way.
fn by_callgrind(world: &World, program: &str, function: &str) -> u64 {
    let options = ["--tool=callgrind", "--callgrind-out-file=calls.out", program, "3"];
    outcome(world.command("valgrind", options).output().unwrap()).status(0);
    let listed = outcome(world.command("callgrind_annotate", ["--threshold=100", "calls.out"]).output().unwrap());
    let line = listed
        .stdout
        .lines()
        .find(|l| l.contains(&format!(":{function}")))
        .unwrap_or_else(|| panic!("{}", listed.stdout));
    let number: String =
        line.trim().chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(|c| *c != ',').collect();
    number.parse().unwrap()
}

#[test]
fn instructions_are_those_that_callgrind_counts() {
    let world = World::new();
    build(&world, &["gcc"], "known", "known");
    world.poise(["run", "--engine", "qemu", "-o", "once", "--", "./known", "3"]).status(0);
    let profile = Profile::read(world.path("once/profile.poise")).unwrap();
    assert_eq!(profile.phases.width, 0, "one bin");
    let counted = values(&profile, KNOWN, Metric::Instructions);
    for (function, counted) in KNOWN.into_iter().zip(counted) {
        assert_eq!(counted, by_callgrind(&world, "./known", function), "{function}");
    }
    // The same call paths as compiled counters find.
    let lines: Vec<(String, u32)> = profile.regions.iter().map(|r| (r.name.clone(), r.line)).collect();
    let source = std::fs::read_to_string(Path::new(SOURCES).join("known.c")).unwrap();
    let line = |text: &str| source.lines().position(|l| l.contains(text)).unwrap() as u32 + 1;
    // The line of the first instruction, which a compiler may take from the function's first statement.
    let found = lines.iter().find(|(name, _)| name == "multiply").unwrap().1;
    assert!((line("void multiply(")..=line("void multiply(") + 1).contains(&found), "{lines:?}");
}

#[test]
fn phases_are_matched_over_runs_and_modelled() {
    let world = World::new();
    build(&world, &["poise", "cc"], "known", "known");
    for n in [10, 20, 30, 40, 50] {
        let (parameter, keep) = (format!("n={n}"), format!("runs/n{n}"));
        // Wider in one run, as where bins widen by themselves.
        let width = if n == 30 { "40000" } else { "20000" };
        let options = ["--keep", &keep, "--param", &parameter, "--width", width];
        let found = phases(&world, &options, &["./known", &n.to_string()]);
        // Sums of phases are what the functions did, whatever the width.
        let profile = Profile::read(world.path(&keep).join("profile.poise")).unwrap();
        let in_phases = found["timelines"][0]["phases"].as_array().unwrap().iter();
        let in_phases: Vec<u64> = in_phases.map(|phase| phase["basic_blocks"].as_u64().unwrap()).collect();
        assert_eq!(in_phases, values(&profile, KNOWN, Metric::BasicBlocks));
    }
    let done = world.poise(["phases", "runs", "--format", "json", "--page", "page.html"]).status(0);
    // All phases are matched: how wide bins are changes nothing.
    assert!(!done.stderr.contains("Bins are not as wide"), "{}", done.stderr);
    let models: Value = serde_json::from_str(&done.stdout).unwrap();
    for name in KNOWN {
        let is_it = |m: &&Value| m["callpath"] == serde_json::json!([name]) && m["metric"] == "basic_blocks";
        let model = models["models"].as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(model["growth"]["n"]["exponent"], "1", "{model:#}");
    }
    let page = world.read("page.html");
    assert!(page.contains("<svg") && page.contains(">multiply<"), "the timeline with its regions");
    assert!(!page.contains("Bins are not as wide"));
    // What the page says can be typed: models of phases are no report's, whose ranking has another metric.
    assert!(page.contains("<code>poise phases RUNS</code> prints the models of all") && !page.contains("--metric"));
    assert!(page.contains("<code>poise phases --format json</code>") && !page.contains("poise model --format"));
    assert!(page.contains("3 phases, ") && !page.contains("call paths make"), "phases are called phases");
    for of_call_paths in
        ["Call tree", "Who calls whom", ">Call paths<", "with callees", "own cost", ">the whole program<"]
    {
        assert!(!page.contains(of_call_paths), "{of_call_paths}");
    }
    assert!(page.contains("<h2>All phases</h2>") && page.contains("<h2>Each phase</h2>"));
    report_shows(&world, &models);
    // A run whose phases are others is told and not forced into a place.
    phases(&world, &["--keep", "runs/n60", "--param", "n=60", "--width", "20000"], &["./known", "60", "2"]);
    let done = world.poise(["phases", "runs"]).status(0);
    assert!(done.stdout.contains("in none of the phases that are modelled: "), "{}", done.stdout);
    // The second half of its phases is in no other run: half of all three functions.
    let whose = done.stdout.split("in none of the phases that are modelled: ").nth(1).unwrap().replace('\n', " ");
    assert!(
        whose.contains(" Of the time: ") && KNOWN.iter().any(|name| whose.contains(&format!("{name} "))),
        "{whose}"
    );
    let widths = "Bins are not as wide in all runs: 20000 basic blocks in 5 runs, such as runs/n10/run.json; 40000 basic blocks in runs/n30/run.json.";
    assert!(done.stdout.replace('\n', " ").contains(widths), "{}", done.stdout);
    assert!(done.stderr.contains("3 phases have no counterpart in all other runs"), "{}", done.stderr);
}

/// At the default width a call of `add` fills four or five bins, so that it is a phase in some iterations and in others not, and those of
/// `dot` fill too few in all.
#[test]
fn iterations_that_lack_a_phase_are_told_and_the_others_are_matched() {
    let world = World::new();
    build(&world, &["poise", "cc"], "solver", "solver");
    let mut each = 0;
    for iterations in [10, 20, 40, 80, 160] {
        let (parameter, keep) = (format!("i={iterations}"), format!("runs/i{iterations}"));
        phases(&world, &["--keep", &keep, "--param", &parameter], &["./solver", "100", &iterations.to_string()]);
        let profile = Profile::read(world.path(&keep).join("profile.poise")).unwrap();
        let [blocks, ..] = values(&profile, ["multiply", "precondition", "add"], Metric::BasicBlocks);
        each = blocks / iterations;
    }
    let done = world.poise(["phases", "runs", "--format", "json"]).status(0);
    for told in ["add: its phases hold ", "dot: "] {
        assert!(done.stderr.contains(told), "{told}: {}", done.stderr);
    }
    let models: Value = serde_json::from_str(&done.stdout).unwrap();
    let of = |name: &str| {
        let is_it = |m: &&Value| m["callpath"] == serde_json::json!([name]) && m["metric"] == "basic_blocks";
        models["models"].as_array().unwrap().iter().find(is_it).cloned()
    };
    let multiply = of("multiply").expect("a model of what repeats");
    assert_eq!(multiply["growth"]["i"]["exponent"], "1", "{multiply:#}");
    let slope = multiply["terms"][0]["coefficient"].as_f64().unwrap();
    assert!((slope / each as f64 - 1.0).abs() < 0.01, "{slope} against {each}");
    assert!(of("add").is_none() && of("dot").is_none(), "what is swallowed has no model");
}

#[test]
fn runs_of_two_engines_are_not_put_together() {
    let world = World::new();
    build(&world, &["poise", "cc"], "known", "counted");
    build(&world, &["gcc"], "known", "plain");
    for n in ["4", "5", "6"] {
        let (keep, parameter) = (format!("runs/n{n}"), format!("n={n}"));
        phases(&world, &["--keep", &keep, "--param", &parameter, "--width", "5000"], &["./counted", n]);
    }
    let options = ["--engine", "qemu", "--keep", "runs/n7", "--param", "n=7", "--width", "5000"];
    phases(&world, &options, &["./plain", "7"]);
    for command in ["phases", "model", "report", "analyze"] {
        let told = world.poise([command, "runs"]).status(3).stderr;
        let is_named = |run: &str| told.contains(&format!("runs/{run}/run.json"));
        assert!(told.contains("several engines") && ["n4", "n5", "n6", "n7"].into_iter().all(is_named), "{told}");
        assert!(told.contains("qemu counted runs/n7/run.json"), "{told}");
    }
    // Three and one, then two and one, then one and one.
    for (without, word) in [(None, "most"), (Some("runs/n4"), "most"), (Some("runs/n5"), "others")] {
        without.iter().for_each(|run| std::fs::remove_dir_all(world.path(run)).unwrap());
        let done = world.poise(["import", "--explain", "runs"]);
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(said.contains(" is counted by ") && said.contains(&format!(", and {word} by ")), "{said}");
    }
    std::fs::remove_dir_all(world.path("runs/n7")).unwrap();
    world.poise(["phases", "runs"]).status(0);
}

#[test]
fn a_program_without_symbols_is_told() {
    let world = World::new();
    build(&world, &["gcc"], "known", "whole");
    build(&world, &["gcc", "-s"], "known", "stripped");
    for (program, is_told) in [("whole", false), ("stripped", true)] {
        let keep = format!("kept-{program}");
        let done = world.poise(["phases", "--engine", "qemu", "--keep", &keep, "--", &format!("./{program}"), "2"]);
        let again = world.poise(["phases", &keep]).status(0);
        for said in [&done.status(0).stderr, &again.stderr] {
            assert_eq!(said.contains("The program has no symbols"), is_told, "{program}: {said}");
        }
        let names = |profile: &Profile| profile.regions.iter().any(|region| region.name == "multiply");
        assert_eq!(names(&Profile::read(world.path(&keep).join("profile.poise")).unwrap()), !is_told);
    }
    // Without functions nothing can be looked for, which is not the same as finding nothing.
    let done = world.poise(["detect", "--", "./stripped", "2"]).status(4);
    assert!(done.stderr.contains("no function of it has a name") && done.stdout.is_empty(), "{}", done.stderr);
}

/// Two functions that take turns, as often as the first argument says.
const TURNS: &str = r#"
    #include <stdio.h>
    #include <stdlib.h>
    static volatile unsigned sink;
    __attribute__((noinline)) void one(void) { for (int i = 0; i < 1000; ++i) sink = sink * 3 + i; }
    __attribute__((noinline)) void two(void) { for (int i = 0; i < 1000; ++i) sink = sink * 5 + i; }
    int main(int count, char **values) {
        for (int turn = 0; turn < atoi(values[1]); ++turn) one(), two();
        printf("%u\n", sink);
        return 0;
    }"#;

#[test]
fn functions_that_take_turns_within_bins_are_told_and_have_no_model() {
    let world = World::new();
    world.write("turns.c", TURNS);
    outcome(world.command("poise", ["cc", "-O1", "-g", "turns.c", "-o", "turns"]).output().unwrap()).status(0);
    phases(&world, &["--keep", "once"], &["./turns", "100"]);
    let profile = Profile::read(world.path("once/profile.poise")).unwrap();
    let [call, other, _] = values(&profile, ["one", "two", "one"], Metric::BasicBlocks).map(|blocks| blocks / 100);
    assert_eq!(call, other);
    // A bin holds two calls of one function and one of the other, or about as much, now more of this and then of that.
    let width = (call * 33 / 10).to_string();
    let mut said = String::new();
    for turns in ["300", "400", "500", "600", "700"] {
        let (keep, parameter) = (format!("runs/n{turns}"), format!("n={turns}"));
        let options = ["--format", "json", "--width", &width, "--keep", &keep, "--param", &parameter];
        let done = world.poise([&["phases"], &options[..], &["--", "./turns", turns]].concat()).status(0);
        let found: Value = serde_json::from_str(&done.stdout).unwrap();
        let timeline = &found["timelines"][0];
        let blocks = |of: &Value| of["basic_blocks"].as_u64().unwrap();
        let sum = |what: &str| timeline[what].as_array().unwrap().iter().map(blocks).sum::<u64>();
        assert!(sum("phases") <= sum("bins"), "{} of {}", sum("phases"), sum("bins"));
        let phases = timeline["phases"].as_array().unwrap();
        let pairs: Vec<_> = phases.iter().map(|p| (p["name"].as_str().unwrap(), p["shared_with"].as_str())).collect();
        assert_eq!(pairs, [("one", Some("two")), ("two", Some("one"))]);
        // Each is told once with its own calls, all but those of the run's ends.
        for phase in phases {
            let own = blocks(phase) as f64 / (turns.parse::<u64>().unwrap() * call) as f64;
            assert!((0.97..1.02).contains(&own), "{own}");
        }
        said = done.stderr;
        assert_eq!(said.matches("one and two take turns within bins").count(), 1, "{said}");
    }
    assert!(said.contains("--width"), "{said}");
    world.poise(["report", "runs", "-o", "report.html"]).status(0);
    let page = world.read("report.html");
    assert!(page.contains("one and two take turns within bins") && page.contains("Outside of all phases: "));
    let done = world.poise(["phases", "runs"]).status(4);
    assert!(done.stderr.contains("one: its phases cover the same bins as those of two in "), "{}", done.stderr);
    // Bins of a twelfth of a call tell them apart.
    let narrow = (call / 12).to_string();
    let found = phases(&world, &["--width", &narrow], &["./turns", "20"]);
    let phases = found["timelines"][0]["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 40);
    assert!(phases.iter().all(|phase| phase["shared_with"].is_null()), "{phases:?}");
}

/// What is the same in all runs is too small a part of the largest to have a phase there.
#[test]
fn a_phase_that_is_too_small_in_one_run_is_told_with_the_share_that_gives_it_one() {
    let world = World::new();
    let code = r#"
        #include <stdlib.h>
        static volatile unsigned sink;
        __attribute__((noinline)) void start(void) { for (int i = 0; i < 20000; ++i) sink = sink * 3 + i; }
        __attribute__((noinline)) void work(int n) { for (int i = 0; i < n; ++i) sink = sink * 5 + i; }
        int main(int count, char **values) { start(); work(atoi(values[1])); return 0; }"#;
    world.write("start.c", code);
    outcome(world.command("poise", ["cc", "-O1", "-g", "start.c", "-o", "start"]).output().unwrap()).status(0);
    for n in ["200000", "300000", "400000", "500000", "3000000"] {
        let (keep, parameter) = (format!("runs/n{n}"), format!("n={n}"));
        phases(&world, &["--keep", &keep, "--param", &parameter, "--width", "2000"], &["./start", n]);
    }
    let done = world.poise(["phases", "runs"]).status(0);
    let told = "Less than the 1.0 % of all bins that a function's phases must have (--share): start in runs/n3000000";
    let line = done.stderr.lines().find(|line| line.contains(told)).unwrap_or_else(|| panic!("{}", done.stderr));
    let share = line.split("With --share ").nth(1).unwrap().split(' ').next().unwrap();
    let done = world.poise(["phases", "runs", "--share", share, "--format", "json"]).status(0);
    assert_eq!(done.stderr, "");
    let models: Value = serde_json::from_str(&done.stdout).unwrap();
    let of_blocks = models["models"].as_array().unwrap().iter().filter(|m| m["metric"] == "basic_blocks");
    let names: Vec<&Value> = of_blocks.map(|m| &m["callpath"][0]).collect();
    assert_eq!(names, ["start", "work"]);
    // A run that fills no five bins is told as that: nobody knows whether its functions alternate.
    let done = world.poise(["phases", "--width", "1000000", "--", "./start", "1"]).status(0);
    assert!(done.stdout.contains("since all that it did fills fewer than the 5 bins of --filter"), "{}", done.stdout);
    assert!(!done.stdout.contains("alternates"), "{}", done.stdout);
}

/// The report of the runs has the timeline of the largest of them, with a row of regions for each function, and the models
/// that `poise phases` gives.
fn report_shows(world: &World, models: &Value) {
    world.poise(["report", "runs", "--at", "n=200", "-o", "report.html"]).status(0);
    let page = world.read("report.html");
    let start = page.find("<section id=\"phases\">").expect("a section of phases");
    let section = &page[start..start + page[start..].find("</section>").unwrap()];
    assert!(
        section.contains("<svg class=\"timeline\"")
            && section.contains("the run n50, the largest, in bins of 20000 basic blocks: rank 0, thread 0 of 1")
            && !section.contains("Bins are not as wide")
    );
    for name in KNOWN {
        let rows = section.split("<title>").filter(|title| title.starts_with(&format!("{name}: bins ")));
        assert_eq!(rows.count(), 1, "one region of {name}");
        for metric in ["basic_blocks", "time"] {
            let is_it = |m: &&Value| m["callpath"] == serde_json::json!([name]) && m["metric"] == metric;
            let model = models["models"].as_array().unwrap().iter().find(is_it).unwrap();
            let expression = model["expression"].as_str().unwrap();
            assert!(section.contains(&format!("<code>{expression}</code>")), "{name}, {metric}: {expression}");
        }
    }
    assert!(page.contains("<a href=\"#phases\">"), "the contents name it");
}

#[test]
fn what_cannot_be_done_is_told() {
    let world = World::new();
    build(&world, &["gcc"], "known", "known");
    let refused = |options: &[&str], said: &str| {
        let done = world.poise([&["phases"], options].concat()).status(2);
        assert!(done.stderr.contains(said), "{}", done.stderr);
    };
    refused(&["--", "./known", "1"], "--engine qemu counts any program");
    refused(&["--engine", "qemu", "--by", "time", "--", "./known", "1"], "In QEMU time means nothing");
    refused(&["--lines", "--", "./known", "1"], "--lines needs --engine qemu");
    refused(&["--engine", "qemu", "--lines", "--", "./known", "1"], "--lines needs --width");
    world.write("there", "");
    // Told before the program runs.
    for option in ["--page", "--plot", "-o"] {
        let done = world.poise(["phases", option, "there", "--", "touch", "ran"]).status(2);
        assert!(done.stderr.contains(&format!("Choose another name with {option}")), "{}", done.stderr);
    }
    assert!(!world.path("ran").exists());
    world.write("script", "#!/bin/sh\n");
    refused(&["--engine", "qemu", "--", "./script"], "ELF");
    // Two repetitions are two million instructions.
    let wide =
        world.poise(["phases", "--engine", "qemu", "--width", "1", "-o", "wide", "--", "./known", "2"]).status(0);
    assert!(wide.stderr.contains("Bins are 2 wide: --width 1 would have made more than 1048576"), "{}", wide.stderr);
    assert!(world.read("wide").starts_with("Bins of 2 instructions"));
    // Programs that fail end with their own status, and with what to do.
    world.write("fails.c", "#include <stdio.h>\nint main(void) { puts(\"lost\"); return 2; }\n");
    outcome(world.command("gcc", ["fails.c", "-o", "fails"]).output().unwrap()).status(0);
    outcome(world.command("aarch64-linux-gnu-gcc", ["-static", "fails.c", "-o", "foreign"]).output().unwrap())
        .status(0);
    for (options, expected) in [
        (&["--", "./fails"][..], "--engine qemu counts it."),
        (&["--engine", "qemu", "--", "./fails"], "--keep FOLDER keeps all that it prints."),
        (&["--engine", "qemu", "--keep", "lost", "--", "./foreign"], "All that it printed is in lost."),
        (&["--", "./foreign"], "The program is for aarch64, which this machine is not. --engine qemu runs it."),
    ] {
        refused(options, expected);
    }
    assert_eq!(world.read("lost/stdout.txt"), "lost\n");
    // What a failed run counted is shown where it is given alone, with a word of how it ended, and left out of several.
    world.write("worse.c", "int main(void) { for (volatile int i = 0; i < 1000000; i++) {} return 3; }\n");
    outcome(world.command("poise", ["cc", "worse.c", "-o", "worse"]).output().unwrap()).status(0);
    let failed = world.poise(["phases", "--keep", "kept/worse", "--", "./worse"]).status(3);
    assert!(failed.stderr.contains("shown where kept/worse is given instead of the command"), "{}", failed.stderr);
    for alone in ["kept/worse", "kept"] {
        let shown = world.poise(["phases", alone]).status(0);
        let told = "kept/worse failed, and may have ended early. It ended with status 3.";
        assert!(shown.stderr.contains(told) && shown.stdout.contains("main"), "{}\n{}", shown.stdout, shown.stderr);
    }
    let all = world.poise(["phases", "kept", "kept/worse"]).status(3);
    assert!(all.stderr.contains("is left out") && all.stderr.contains("All of these runs failed"), "{}", all.stderr);
    // Of runs of which nobody said what differs, a line says how to.
    for name in ["a", "b"] {
        let run = ["phases", "--engine", "qemu", "--keep", &format!("points/{name}"), "--", "./known", "2"];
        world.poise(run).status(0);
    }
    let same = world.poise(["phases", "points"]);
    assert!(same.stderr.contains("at one point, p = 1, of which no growth can be told"), "{}", same.stderr);
    // QEMU does not follow a program that executes another in its place.
    let source = "#include <unistd.h>\nint main(void) { execl(\"/bin/true\", \"true\", (char *)0); return 1; }\n";
    world.write("other.c", source);
    outcome(world.command("gcc", ["other.c", "-o", "another"]).output().unwrap()).status(0);
    let another = world.poise(["phases", "--engine", "qemu", "--", "./another"]).status(3);
    let told = another.stderr.matches("QEMU's plugin left no profile").count();
    assert!(told == 1 && another.stderr.contains("give that one as the command"), "{}", another.stderr);
    assert!(!another.stderr.contains("status 0"), "{}", another.stderr);
    // One that is compiled for it and ends without writing its profile is not said to be another.
    world.write(
        "ends.c",
        "#include <stdlib.h>\n#include <signal.h>\n#include <unistd.h>\n\
         int main(int count, char **words) { if (count == 1) raise(SIGKILL); _exit(atoi(words[1])); }\n",
    );
    for (compiler, program) in [(&["poise", "cc"][..], "ends"), (&["gcc"], "other")] {
        let arguments = [&compiler[1..], &["ends.c", "-o", program]].concat();
        outcome(world.command(compiler[0], arguments).output().unwrap()).status(0);
    }
    for (words, status) in [(&["./ends", "0"][..], 2), (&["./ends", "3"], 3), (&["./ends"], 137)] {
        let done = world.poise([&["phases", "--"], words].concat()).status(status);
        let told = done.stderr.contains("It is compiled with poise cc") && done.stderr.contains("not by _exit");
        assert!(told && !done.stderr.contains("not compiled"), "{words:?}: {}", done.stderr);
    }
    refused(&["--", "./other", "0"], "it is not compiled with poise cc");
    refused(&["--", "./other", "2"], "it is not compiled with poise cc");
    // QEMU counts it however it ends, and a checkpoint is what poise run names.
    world.poise(["phases", "--engine", "qemu", "-o", "ends.txt", "--", "./other", "0"]).status(0);
    let run = world.poise(["run", "-o", "ended", "--", "./ends", "0"]);
    assert!(run.status == Some(0) && run.stderr.contains("POISE_CHECKPOINT=SECONDS"), "{}", run.stderr);
    assert_eq!(world.json("ended/run.json")["cause"], "no-profile");
    let failed = world.poise(["run", "--engine", "qemu", "-o", "failed", "--", "/bin/false"]);
    assert_eq!(failed.status, Some(1), "{}", failed.stderr);
}
