//! `poise advise` and `poise bench instructions`, as a user calls them.

mod common;

use common::World;

/// 2 + 0.01 n p^(1/2) seconds with a fixed pattern of 10 % noise.
fn times() -> String {
    let mut text = String::from("PARAMETER p\nPARAMETER n\nPOINTS");
    let points: Vec<(f64, f64)> =
        [4.0, 8.0, 16.0, 32.0, 64.0].iter().flat_map(|&p| [100.0, 200.0, 300.0, 400.0].map(|n| (p, n))).collect();
    points.iter().for_each(|(p, n)| text.push_str(&format!(" ( {p} {n} )")));
    text.push_str("\nREGION solve\nMETRIC time\n");
    for (i, (p, n)) in points.iter().enumerate() {
        text.push_str(&format!("DATA {}\n", (2.0 + 0.01 * n * p.sqrt()) * (1.0 + 0.1 * (i as f64 * 2.3).sin())));
    }
    text
}

#[test]
fn advice_is_ordered_priced_and_within_the_budget() {
    let world = World::new();
    world.write("times.txt", &times());
    let arguments =
        ["advise", "times.txt", "--at", "p=256,n=1000", "--tolerance", "0.0001", "--format", "json", "--budget", "0.5"];
    let found: serde_json::Value = serde_json::from_str(&world.poise(arguments).status(0).stdout).unwrap();
    assert_eq!((&found["schema"], &found["schema_version"]), (&"counterpoise/advice".into(), &1.into()));
    let steps = found["steps"].as_array().unwrap();
    let number = |v: &serde_json::Value| v.as_f64().unwrap();
    assert!(!steps.is_empty() && steps.iter().map(|s| number(&s["core_hours"])).sum::<f64>() <= 0.5, "{found}");
    for step in steps {
        let cost = number(&step["seconds"]) * number(&step["at"]["p"]) / 3600.0;
        assert!((number(&step["core_hours"]) / cost - 1.0).abs() < 1e-9, "{step}");
    }
    // For people, runs that follow each other at one point are one row.
    let human = world
        .poise(["advise", "times.txt", "--at", "p=256,n=1000", "--tolerance", "0.0001", "--budget", "0.5"])
        .status(0)
        .stdout;
    let cells = human.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows: Vec<Vec<&str>> = cells.filter(|row| row.len() > 4 && ["again", "new"].contains(&row[2])).collect();
    assert_eq!(rows.iter().map(|row| row[3].parse::<usize>().unwrap()).sum::<usize>(), steps.len(), "{human}");
    assert!(rows.windows(2).all(|rows| rows[0][..2] != rows[1][..2]), "{human}");
    let text = world.poise(["advise", "times.txt", "--at", "p=256,n=1000", "--tolerance", "0.5"]).status(0).stdout;
    assert!(text.contains("Enough: ") && text.contains(" the prediction is known to 50 % or better already"), "{text}");
}

#[test]
fn runs_smaller_than_all_measured_ones_are_named_where_they_are_allowed() {
    let world = World::new();
    world.write("times.txt", &times());
    let ranks = |more: &[&str]| -> Vec<f64> {
        let arguments = ["advise", "times.txt", "--at", "p=256,n=1000", "--tolerance", "0.0001", "--format", "json"];
        let text = world.poise([&arguments[..], more].concat()).status(0).stdout;
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        found["steps"].as_array().unwrap().iter().map(|step| step["at"]["p"].as_f64().unwrap()).collect()
    };
    let least = |ranks: Vec<f64>| ranks.into_iter().fold(f64::INFINITY, f64::min);
    assert!(least(ranks(&[])) >= 4.0);
    assert_eq!(least(ranks(&["--down-to", "p=2"])), 2.0);
    assert!(least(ranks(&["--down-to", "n=10"])) >= 4.0);
}

/// One number has one interval: that of the report, the sums of the ends that predict gives for the call paths.
#[test]
fn the_interval_is_that_of_predict_and_report() {
    let world = World::new();
    let solve = times();
    let exchange = solve.split_once("REGION solve").unwrap().1.replace("DATA ", "DATA 0");
    world.write("times.txt", &format!("{solve}REGION exchange{exchange}"));
    let at = ["--at", "p=256,n=1000", "--level", "0.8"];
    let json = |command: &str| -> serde_json::Value {
        let out = world.poise([&[command, "times.txt"][..], &at, &["--format", "json"]].concat()).status(0);
        serde_json::from_str(&out.stdout).unwrap()
    };
    let predictions = json("predict")["predictions"].as_array().unwrap().clone();
    assert_eq!(predictions.len(), 2);
    let sum = |key: &str| predictions.iter().map(|p| p[key].as_f64().unwrap()).sum::<f64>();
    let advice = json("advise");
    for (ours, theirs) in [("seconds", "value"), ("lower", "lower"), ("upper", "upper")] {
        assert!((advice[ours].as_f64().unwrap() / sum(theirs) - 1.0).abs() < 1e-9, "{ours}: {advice}");
    }
    assert!(advice["upper"].as_f64() > advice["seconds"].as_f64());
    let human = world.poise([&["advise", "times.txt"][..], &at].concat()).status(0).stdout;
    assert!(human.contains("80 % interval") && !human.contains('±'), "{human}");
}

#[test]
fn sentences_fit_the_table_width() {
    let world = World::new();
    world.write("times.txt", &times());
    let rows: String = (0..60).map(|i| format!("{},{},{}\n", 1 << (i % 4), i % 5, 64 >> (i % 4))).collect();
    world.write("rows.csv", &format!("p,environment.OMP_NUM_THREADS,time\n{rows}"));
    for command in [&["advise", "times.txt", "--at", "p=256,n=4000"][..], &["analyze", "rows.csv"]] {
        let whole = world.poise(command).status(0).stdout;
        assert!(whole.lines().any(|line| line.chars().count() > 200), "{whole}");
        let narrow = world.poise([command, &["--table-width", "80"]].concat()).status(0).stdout;
        for line in narrow.lines() {
            assert!(line.chars().count() <= 80, "{command:?}: {line}\n{narrow}");
        }
        // No word of the first paragraph is lost.
        let words = |text: &str| text.split_whitespace().take(20).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&narrow), words(&whole));
    }
}

/// Where models miss what was measured, the call path that has most of it is named.
#[test]
fn the_call_path_whose_model_misses_most_is_named() {
    let world = World::new();
    let mut text = String::new();
    for p in [4.0_f64, 8.0, 16.0, 32.0, 64.0] {
        for n in [100.0, 200.0, 300.0, 400.0, 500.0] {
            // Blocks grow with n alone, and the times of one of two call paths also with p^(1/10), as where caches are shared.
            for (name, seconds) in [("solve", 0.01 * n * p.powf(0.1)), ("exact", 0.02 * n)] {
                for (metric, value) in [("basic_blocks", 1000.0 * n), ("time", seconds)] {
                    text += &format!(
                        "{{\"params\":{{\"p\":{p},\"n\":{n}}},\"callpath\":\"main->{name}\",\"metric\":\"{metric}\",\"value\":{value}}}\n"
                    );
                }
            }
        }
    }
    world.write("times.jsonl", &text);
    let advise = ["advise", "times.jsonl", "--at", "p=256,n=1000", "--tolerance", "0.01"];
    let human = world.poise(advise).status(0).stdout;
    assert!(human.contains("the largest part that of main -> solve, whose function misses them by "), "{human}");
    let printed = world.poise(advise.into_iter().chain(["--format", "json"])).status(0).stdout;
    let advice: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(advice["missed"]["callpath"], "main -> solve");
    assert_eq!(advice["end"], "nothing-helps");
    // How large the error is stands beside what was asked for.
    let said = human.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = said
        .split_once("The error of the prediction is ")
        .and_then(|(_, after)| after.split_once(" % of it, with 1 % asked for."));
    let told: f64 = told.unwrap_or_else(|| panic!("{said}")).0.parse().unwrap();
    let expected = 100.0 * advice["relative_half_width"].as_f64().unwrap();
    assert!((told / expected - 1.0).abs() < 0.01, "{expected}: {said}");
    // The five values of p^(1/10) are off any constant by this at least.
    assert!(advice["missed"]["relative_misfit"].as_f64().unwrap() > 0.09, "{advice}");
}

/// What the report says of far targets, whose shapes come from times alone, is said here too.
#[test]
fn far_targets_of_times_alone_are_called_in_doubt() {
    let world = World::new();
    world.write("times.txt", &times());
    let advise =
        |at: &str, format: &str| world.poise(["advise", "times.txt", "--at", at, "--format", format]).status(0).stdout;
    let doubt = |at: &str| serde_json::from_str::<serde_json::Value>(&advise(at, "json")).unwrap()["doubt"].clone();
    let far = doubt("p=256,n=4000");
    assert!(
        far.as_str()
            .is_some_and(|text| text.contains("n = 4000 after 100 to 400") && text.contains("for 100 % of the cost")),
        "{far}"
    );
    assert!(advise("p=256,n=4000", "human").contains("the shapes come from times alone"));
    let report = world.poise(["report", "times.txt", "--at", "p=256,n=4000"]).status(0).stdout;
    assert!(report.contains(far.as_str().unwrap()), "{report}");
    assert!(doubt("p=64,n=400").is_null());
    assert!(!advise("p=64,n=400", "human").contains("times alone"));
}

/// What one value of a parameter cannot tell is measured before anything is enough, and predict, report and advise say so in the same words.
#[test]
fn a_parameter_of_one_value_is_measured_at_others_first() {
    let world = World::new();
    let mut text = String::from("PARAMETER p\nPARAMETER n\nPOINTS ( 2 100 ) ( 2 200 ) ( 2 300 ) ( 2 400 ) ( 2 500 )\n");
    text.push_str("REGION solve\nMETRIC time\nDATA 1\nDATA 2\nDATA 3\nDATA 4\nDATA 5\n");
    world.write("times.txt", &text);
    let advise = ["advise", "times.txt", "--at", "p=16,n=500"];
    let json = world.poise([&advise[..], &["--format", "json"]].concat()).status(0).stdout;
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((found["end"].as_str(), found["steps"].as_array().map(Vec::len)), (Some("unmeasured"), Some(0)));
    let first: Vec<(u64, u64)> = found["first"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| (at["p"].as_u64().unwrap(), at["n"].as_u64().unwrap()))
        .collect();
    assert_eq!(first, [(4, 100), (8, 100), (16, 100)]);
    let doubt =
        "All points have p = 2, so that no measurement says what p = 16 changes: the prediction takes it for nothing.";
    assert_eq!(found["doubt"], doubt);
    let csv = world.poise([&advise[..], &["--format", "csv"]].concat()).status(0).stdout;
    assert!(csv.ends_with("\n4,100,false,,,,\n8,100,false,,,,\n16,100,false,,,,\n"), "{csv}");
    let human = world.poise(advise).status(0).stdout;
    assert!(human.contains("Points to measure first") && human.contains(doubt) && !human.contains("nough"), "{human}");
    let predicted = world.poise(["predict", "times.txt", "--at", "p=16,n=500", "--at", "p=16,n=600"]).status(0);
    assert_eq!(predicted.stderr, format!("poise: {doubt}\n"), "once");
    assert_eq!(world.poise(["predict", "times.txt", "--at", "p=2,n=600"]).status(0).stderr, "");
    let report = world.poise(["report", "times.txt", "--at", "p=16,n=500"]).status(0).stdout;
    let line: String = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains(doubt), "{report}");
}

/// What lines along single parameters leave open one run tells that repetitions do not, however many there are.
#[test]
fn points_off_the_lines_of_a_cross_are_measured_first() {
    let world = World::new();
    let lines = "( 2 100 ) ( 4 100 ) ( 8 100 ) ( 16 100 ) ( 32 100 ) ( 2 200 ) ( 2 400 ) ( 2 800 ) ( 2 1600 )";
    // 10 + 0.5 p on one line and 10 + 0.01 n on the other: their sum, and in parts of what they share their product.
    let times = "REGION solve\nMETRIC time\nDATA 12.02\nDATA 12.9\nDATA 15.05\nDATA 19.1\nDATA 26.8\nDATA 13.02\nDATA 14.95\nDATA 19.1\nDATA 27.2\n";
    let parameters = "PARAMETER p\nPARAMETER n\n";
    world.write("cross.txt", &format!("{parameters}POINTS {lines}\n{times}"));
    world.write("more.txt", &format!("{parameters}POINTS {lines} ( 32 1600 )\n{times}DATA 42.1\n"));
    // Next to constant, and what grows along one parameter alone.
    let flat: String = (0..9).map(|i| format!("DATA {}\n", 100.0 + 0.001 * f64::from(i % 5))).collect();
    world.write("flat.txt", &format!("{parameters}POINTS {lines}\nREGION solve\nMETRIC time\n{flat}"));
    let one = "DATA 2\nDATA 4.1\nDATA 7.9\nDATA 16.1\nDATA 32\nDATA 2.01\nDATA 1.99\nDATA 2\nDATA 2.01\n";
    world.write("one.txt", &format!("{parameters}POINTS {lines}\nREGION solve\nMETRIC time\n{one}"));
    let advise = |file: &str, at: &str| -> serde_json::Value {
        let text =
            world.poise(["advise", file, "--at", at, "--tolerance", "0.001", "--format", "json"]).status(0).stdout;
        serde_json::from_str(&text).unwrap()
    };
    let corner = serde_json::json!([{"p": 32, "n": 1600}]);
    let found = advise("cross.txt", "p=256,n=6400");
    assert_eq!((&found["end"], &found["first"]), (&"unmeasured".into(), &corner), "{found}");
    // The target is no run on the way to it.
    assert_eq!(advise("cross.txt", "p=32,n=1600")["first"], serde_json::json!([{"p": 16, "n": 800}]));
    let poor = ["advise", "cross.txt", "--at", "p=256,n=6400", "--budget", "0.001"];
    assert!(!world.poise(poor).status(0).stdout.contains("measure first"), "the corner costs more");
    // On the lines nothing is open, and with that run measured not elsewhere either.
    for (file, at) in [
        ("cross.txt", "p=256,n=100"),
        ("more.txt", "p=256,n=6400"),
        ("flat.txt", "p=256,n=6400"),
        ("one.txt", "p=256,n=6400"),
        // A run at the target costs less than one at the corner.
        ("cross.txt", "p=1,n=50"),
    ] {
        let found = advise(file, at);
        assert!(found["end"] != "unmeasured" && found["first"] == serde_json::json!([]), "{found}");
    }
    let human = world.poise(["advise", "cross.txt", "--at", "p=256,n=6400"]).status(0).stdout;
    assert!(
        human.contains("whether what p and n add is a sum or a product") && human.contains("measure first"),
        "{human}"
    );
}

#[test]
fn a_design_names_fewer_points_than_all_combinations() {
    let world = World::new();
    let axes = ["--design", "p=2,4,8,16,32", "--design", "n=1,2,3,4,5", "--design", "q=5,4,3,2,1"];
    let csv = world.poise([&["advise"][..], &axes, &["--format", "csv"]].concat()).status(0).stdout;
    assert_eq!((csv.lines().next(), csv.lines().count()), (Some("p,n,q"), 23));
    for (wrong, expected) in [
        ("p=1,2,3", "needs 4"),
        ("p=a,b,c,d", "no positive number"),
        ("p", "such as p="),
        ("=1,2,3,4", "name is missing"),
        ("p q=1,2,3,4", "a name has letters"),
    ] {
        let out = world.poise(["advise", "--design", wrong]).status(2);
        assert!(out.stderr.contains(expected), "{wrong}: {}", out.stderr);
    }
    let aimed = world.poise(["advise", "--design", "p=1,2,3,4", "--at", "p=8"]).status(2);
    assert!(aimed.stderr.contains("cannot be used with"), "{}", aimed.stderr);
    let twice = world.poise(["advise", "--design", "p=1,2,3,4", "--design", "p=1,2,3,4"]).status(2);
    assert!(twice.stderr.contains("gives p twice"), "{}", twice.stderr);
}

/// A design is the points of a study as it stands, and that of the documentation is one.
#[test]
fn a_design_is_a_study() {
    let world = World::new();
    let design =
        world.poise(["advise", "--design", "p=2,4,8,16,32", "--design", "n=100,200,300,400,500"]).status(0).stdout;
    let points = &design[design.find("points = [").unwrap()..];
    // All that it says, with the sentences before the points.
    world.write("s.toml", &format!("command = [\"sh\", \"-c\", \"true\", \"{{p}}\", \"{{n}}\"]\nlauncher = \"none\"\ncollect = \"elapsed\"\n{design}"));
    world.poise(["run", "s.toml"]).status(0);
    let mut runs: Vec<String> = world.names("s.runs").into_iter().filter(|name| name.ends_with(".r1")).collect();
    let on_lines = [2, 4, 8, 16, 32].map(|p| (p, 100)).into_iter().chain([200, 300, 400, 500].map(|n| (2, n)));
    let pairs = [(4, 200), (8, 300), (16, 400)];
    let mut expected: Vec<String> = on_lines.chain(pairs).map(|(p, n)| format!("p{p}.n{n}.r1")).collect();
    runs.sort();
    expected.sort();
    assert_eq!(runs, expected);
    for page in ["advise", "studies"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/{page}.md"));
        let text = std::fs::read_to_string(path).unwrap();
        let mut blocks = text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        let study = blocks.find(|block| block.contains("points = [")).unwrap();
        world.write(&format!("{page}.toml"), study);
        let plan = world.poise(["run", &format!("{page}.toml"), "--dry-run"]).status(0).stdout;
        let count = study.matches("{ p = ").count();
        assert!(plan.contains(&format!("{count} runs are to be made at {count} points")), "{plan}");
        assert!(page == "studies" || study.ends_with(points), "{study}");
    }
    // A text makes groups; a condition on nothing and a point that lacks a parameter are errors.
    let study = |text: &str| {
        world.write("t.toml", &format!("command = [\"true\", \"{{p}}\", \"{{s}}\"]\n{text}\n"));
        world.poise(["run", "t.toml", "--dry-run"])
    };
    let plan = study("points = [{ p = 1, s = \"x y\" }, { p = 2, s = 3 }]").status(0).stdout;
    assert!(plan.contains("2 runs are to be made at 2 points"), "{plan}");
    for (text, expected) in [
        ("points = [{ p = 1, s = 1 }, { p = 2 }]", "does not say `s`"),
        ("points = [{ p = 1, s = 1 }, { p = 2, s = 2, q = 1 }]", "names `q`"),
        ("points = [{ p = 1, \"s t\" = 1 }]", "a name has letters"),
        ("where = \"p > 1\"\npoints = [{ p = 1, s = 1 }]", "leave it out"),
        ("points = []", "or list `points`"),
        (
            "points = [\n{ p = 1, s = 1 },\n{ p = 2, s = 1 },\n{ s = 1, p = 1.0 }]",
            "t.toml:5:1: this point is in line 3 already",
        ),
        ("points = [{ p = 1, s = 1e250 }]", "would have a name of"),
        ("points = [{ p = 1e250, s = 1 }]", "`ranks` is 1.00e250 at p="),
    ] {
        let out = study(text).status(3);
        assert!(out.stderr.contains(expected), "{text}: {}", out.stderr);
    }
}

#[test]
fn what_cannot_be_advised_ends_with_the_contracts_codes() {
    let world = World::new();
    world.write("times.txt", &times());
    world.write("few.txt", "PARAMETER p\nPOINTS 1 2\nREGION a\nMETRIC time\nDATA 1\nDATA 2\n");
    for (arguments, status, expected) in [
        (&["times.txt", "--at", "p=256"][..], 2, "lacks n"),
        (&["times.txt", "--down-to", "q=2"], 2, "--down-to names q, which is no parameter; the parameters are p, n."),
        (&["times.txt", "--down-to", "p=2,p=3"], 2, "--down-to gives p twice."),
        (
            &["times.txt", "--down-to", "p=4"],
            2,
            "--down-to gives p the value 4, and 4 was measured; give a smaller one.",
        ),
        (&["times.txt", "--down-to", "p=0"], 2, "--down-to gives p the value 0; parameters are positive."),
        (&["times.txt", "--budget", "0"], 2, "no positive number"),
        (&["times.txt", "--budget", "-1"], 2, "`-1` is no positive number"),
        (
            &["times.txt", "--at", "p=1e200,n=1e300"],
            2,
            "At p=1.00e200,n=1.00e300 the model of time at solve is larger than any number",
        ),
        (&["absent.txt"], 3, "absent.txt"),
        (&["few.txt"], 4, "points"),
        (&[], 2, "INPUT"),
    ] {
        let out = world.poise([&["advise"][..], arguments].concat()).status(status);
        assert!(out.stderr.contains(expected), "{arguments:?}: {}", out.stderr);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn instructions_are_timed_and_copied_independently() {
    let world = World::new();
    let arguments =
        ["bench", "instructions", "imul r8, r9", "--independent", "3", "--format", "json", "--plot", "plot.svg"];
    let found: serde_json::Value = serde_json::from_str(&world.poise(arguments).status(0).stdout).unwrap();
    let counts: Vec<u64> =
        found["timings"].as_array().unwrap().iter().map(|t| t["in_flight"].as_u64().unwrap()).collect();
    assert_eq!(counts, [1, 2, 3]);
    assert!(found["timings"].as_array().unwrap().iter().all(|t| t["cycles"].as_f64().unwrap() > 0.0), "{found}");
    assert!(world.read("plot.svg").starts_with("<svg"));
    // `ud1` is defined to be an instruction that no processor has.
    let arguments = ["bench", "instructions", "ud1 r8, r9", "imul r8, r9", "--independent", "2"];
    let some = world.poise(arguments).status(5);
    assert!(some.stderr.contains("does not have `ud1 r8, r9`"), "{}", some.stderr);
    assert_eq!(some.stdout.lines().filter(|line| line.starts_with("imul r8, r9 ")).count(), 2, "{}", some.stdout);
    assert!(!some.stdout.contains("ud1"), "{}", some.stdout);
    let json = world.poise([&arguments[..], &["--format", "json", "--plot", "some.svg"]].concat()).status(5).stdout;
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["missing"], serde_json::json!(["ud1 r8, r9"]));
    assert_eq!(found["saturation"].as_array().unwrap().len(), 1, "{found}");
    assert!(!world.read("some.svg").contains("ud1"));
    for (arguments, expected) in [
        (&["ud1 r8, r9", "ud1 r10, r11", "--independent", "2"][..], "does not have the instruction `ud1 r8, r9`"),
        (&["vfmadd999pd ymm0, ymm1"], "refuses"),
        (&["ud2"], "does not have the instruction `ud2`"),
        (&["mov rax, [r8]"], "memory that is not there"),
        (&["div rbx"], "`div rbx`, or one after it, divides by zero"),
        (&["jmp 1b"], "leaves the loop"),
        (&["nop", "--independent", "2"], "no register"),
    ] {
        let out = world.poise([&["bench", "instructions"][..], arguments].concat()).status(2);
        assert!(out.stderr.contains(expected), "{arguments:?}: {}", out.stderr);
    }
}
