//! `poise model`, `predict`, `import`, `export`, `report` and `explain` on files, as a user calls them.

mod common;

use std::io::Write;
use std::process::Stdio;

use common::{Outcome, World, outcome};
use serde_json::Value;

/// An Extra-P text file with two call paths over p and n: `solve` takes exactly 2 + 0.5 n sqrt(p) seconds, `init`
/// exactly 3.
fn extrap_text() -> String {
    let (ps, ns) = ([4.0, 16.0, 64.0, 256.0, 1024.0_f64], [10.0, 20.0, 30.0, 40.0, 50.0]);
    let mut text = String::from("PARAMETER p\nPARAMETER n\n\n");
    let points = || ps.iter().flat_map(|&p| ns.iter().map(move |&n| (p, n)));
    text.push_str("POINTS");
    points().for_each(|(p, n)| text.push_str(&format!(" ( {p} {n} )")));
    for (name, time) in
        [("solve", &(|p: f64, n: f64| 2.0 + 0.5 * n * p.sqrt()) as &dyn Fn(f64, f64) -> f64), ("init", &|_, _| 3.0)]
    {
        text.push_str(&format!("\n\nREGION {name}\nMETRIC time\n"));
        points().for_each(|(p, n)| text.push_str(&format!("DATA {}\n", time(p, n))));
    }
    text
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|e| panic!("{e}: {}", outcome.stdout))
}

fn with_input() -> World {
    let world = World::new();
    world.write("times.txt", &extrap_text());
    world
}

#[test]
fn models_of_exact_times_are_exact_and_say_how_they_were_found() {
    let world = with_input();
    let models = json(&world.poise(["model", "times.txt", "--format", "json"]).status(0));
    assert_eq!((&models["schema"], &models["schema_version"]), (&"counterpoise/models".into(), &1.into()));
    assert_eq!(models["parameters"], serde_json::json!(["p", "n"]));
    let solve =
        models["models"].as_array().unwrap().iter().find(|m| m["callpath"] == serde_json::json!(["solve"])).unwrap();
    assert_eq!(solve["method"], "time");
    assert_eq!(solve["growth"]["p"], serde_json::json!({"exponent": "1/2", "log_exponent": 0}));
    assert_eq!(solve["growth"]["n"], serde_json::json!({"exponent": "1", "log_exponent": 0}));
    assert!((solve["constant"].as_f64().unwrap() - 2.0).abs() < 1e-6, "{solve}");
    assert!((solve["terms"][0]["coefficient"].as_f64().unwrap() - 0.5).abs() < 1e-6, "{solve}");
}

/// `p^(2/5)` is not among the exponents of the seed paper's equation 2, and `p` times a logarithm is.
#[test]
fn exponents_are_those_that_the_user_gives() {
    let world = World::new();
    let data = |of: fn(f64) -> f64| (1..9).map(|i| format!("DATA {}\n", of(f64::from(1 << i)))).collect::<String>();
    let text = |of| format!("PARAMETER p\nPOINTS 2 4 8 16 32 64 128 256\nREGION r\nMETRIC time\n{}", data(of));
    world.write("fifth.txt", &text(|p| 3.0 + 2.0 * p.powf(0.4)));
    world.write("log.txt", &text(|p| 3.0 + 2.0 * p * p.log2()));
    let growth = |arguments: &[&str]| {
        let all = ["model", "--format", "json"].iter().chain(arguments).copied().collect::<Vec<_>>();
        let model = json(&world.poise(all).status(0))["models"][0].clone();
        (model["growth"]["p"]["exponent"].clone(), model["growth"]["p"]["log_exponent"].clone())
    };
    assert_ne!(growth(&["fifth.txt"]).0, "2/5");
    assert_eq!(growth(&["fifth.txt", "--exponents", "1,0.4"]), ("2/5".into(), 0.into()));
    assert_eq!(growth(&["log.txt"]), ("1".into(), 1.into()));
    assert_eq!(growth(&["log.txt", "--log-exponents", "0"]).1, 0);
    for (option, value, said) in [
        ("--exponents", "1/0", "such as 0,1/3,1/2,1,4"),
        ("--exponents", "-1/2", "from 0 on"),
        ("--exponents", "-0.5", "from 0 on"),
        ("--log-exponents", "7", "not in 0..=6"),
        ("--log-exponents", "-1", "not in 0..=6"),
    ] {
        let outcome = world.poise(["model", "log.txt", option, value]).status(2);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    }
    let outcome = world.poise(["model", "log.txt", "--exponents", "1", "--method", "extra-p"]).status(2);
    assert!(outcome.stderr.contains("leave out --exponents"), "{}", outcome.stderr);
}

#[test]
fn predictions_are_the_function_and_lie_in_their_intervals() {
    let world = with_input();
    let predicted = json(
        &world.poise(["predict", "times.txt", "--at", "p=4096,n=100", "--format", "json", "--level", "0.8"]).status(0),
    );
    assert_eq!(predicted["level"], 0.8);
    let list = predicted["predictions"].as_array().unwrap();
    assert_eq!(list.len(), 2);
    let solve = list.iter().find(|m| m["callpath"] == serde_json::json!(["solve"])).unwrap();
    let number = |key: &str| solve[key].as_f64().unwrap();
    // 2 + 0.5 * 100 * 64.
    assert!((number("value") - 3202.0).abs() < 1e-3, "{solve}");
    assert!(number("lower") <= number("value") && number("value") <= number("upper"));
    assert_eq!(solve["at"], serde_json::json!({"p": 4096, "n": 100}));
}

#[test]
fn predictions_of_one_metric_are_those_among_all() {
    let world = World::new();
    let line = |p: u32, metric: &str, value: u32| {
        format!("{{\"params\":{{\"p\":{p}}},\"callpath\":\"solve\",\"metric\":\"{metric}\",\"value\":{value}}}\n")
    };
    let lines: String =
        [2, 4, 8, 16, 32].map(|p| line(p, "time", 3 * p) + &line(p, "bytes_sent", p * p)).into_iter().collect();
    world.write("two.json", &lines);
    let predict = |arguments: &[&str]| world.poise([&["predict", "two.json", "--at", "p=64"][..], arguments].concat());
    let list = |arguments: &[&str]| json(&predict(arguments).status(0))["predictions"].as_array().unwrap().clone();
    let all = list(&["--format", "json"]);
    assert_eq!(all.len(), 2);
    for (metric, expected) in [("time", 3.0 * 64.0), ("bytes_sent", 64.0 * 64.0)] {
        let one = list(&["--format", "json", "--metric", metric]);
        let of_all: Vec<_> = all.iter().filter(|prediction| prediction["metric"] == metric).cloned().collect();
        assert_eq!(one, of_all);
        let value = one[0]["value"].as_f64().unwrap();
        assert!((value / expected - 1.0).abs() < 1e-6, "{metric}: {value}");
    }
    let told = predict(&["--metric", "byte_sent"]).status(2).stderr;
    assert!(told.contains("did you mean `bytes_sent`?"), "{told}");
}

#[test]
fn a_prediction_below_zero_is_told() {
    let world = World::new();
    let values: String = [2, 4, 8, 16, 32].iter().map(|p| format!("DATA {}\n", 1002 - p)).collect();
    let text = format!("PARAMETER p\nPOINTS 2 4 8 16 32\nREGION main->work\nMETRIC visits\n{values}");
    world.write("visits.txt", &text);
    let at = |p: &str| world.poise(["predict", "visits.txt", "--format", "csv", "--at", p]).status(0);
    assert_eq!(at("p=1002").stderr, "");
    let below = at("p=1003");
    let told = "The function of main -> work (visits) is below zero at p = 1003, where no cost can be";
    assert!(below.stderr.contains(told), "{}", below.stderr);
    assert!(below.stdout.contains(",0,0,0"), "{}", below.stdout);
}

#[test]
fn what_was_measured_at_zero_is_predicted_there() {
    let world = World::new();
    let values: String = [0, 1, 2, 4, 8].iter().map(|p| format!("DATA {}\n", 3 + p)).collect();
    world.write("zero.txt", &format!("PARAMETER p\nPOINTS 0 1 2 4 8\nREGION main\nMETRIC time\n{values}"));
    let at = |p: &str| world.poise(["predict", "zero.txt", "--format", "json", "--at", p]);
    let value = json(&at("p=0").status(0))["predictions"][0]["value"].as_f64().unwrap();
    assert!((value - 3.0).abs() < 1e-9, "{value}");
    let below = at("p=-1").status(2).stderr;
    assert!(below.contains("--at gives p the value -1; parameters are positive."), "{below}");

    let degrees = values.replace("DATA ", "DATA 1");
    world.write("cold.txt", &format!("PARAMETER t\nPOINTS -4 -2 1 4 8\nREGION main\nMETRIC time\n{degrees}"));
    let at = |t: &str| world.poise(["predict", "cold.txt", "--at", t]);
    at("t=-3").status(0);
    let below = at("t=-5").status(2).stderr;
    assert!(below.contains("parameters are positive, or no less than the least that was measured, -4."), "{below}");
}

#[test]
fn the_same_input_gives_the_same_bytes_at_any_number_of_threads() {
    let world = with_input();
    let at =
        |threads: &str| world.poise(["model", "times.txt", "--format", "json", "--threads", threads]).status(0).stdout;
    let one = at("1");
    assert!(one.contains("\"schema\""));
    assert_eq!(at("2"), one);
    assert_eq!(at("7"), one);
}

#[test]
fn import_pipes_into_model_and_export_keeps_every_value() {
    let world = with_input();
    let direct = world.poise(["model", "times.txt", "--format", "json"]).status(0).stdout;
    for (command, to) in [("import", None), ("export", Some("extrap-jsonl")), ("export", Some("extrap"))] {
        let arguments = [command, "times.txt"].into_iter().chain(to.into_iter().flat_map(|t| ["--to", t]));
        let converted = world.poise(arguments).status(0).stdout;
        let mut child = world
            .command(env!("CARGO_BIN_EXE_poise"), ["model", "-", "--format", "json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(converted.as_bytes()).unwrap();
        let piped = outcome(child.wait_with_output().unwrap()).status(0).stdout;
        assert_eq!(piped, direct, "through {command} {to:?}");
    }
}

#[test]
fn results_are_never_overwritten_and_tables_are_plain_when_piped() {
    let world = with_input();
    let table = world.poise(["model", "times.txt"]).status(0).stdout;
    assert!(table.contains("n * p^(1/2)") || table.contains("p^(1/2) * n"), "{table}");
    assert!(!table.contains('\u{1b}'), "no escape sequences in a pipe");
    world.poise(["model", "times.txt", "--format", "csv", "-o", "models.csv"]).status(0);
    assert_eq!(world.read("models.csv").lines().count(), 3, "a header and two models");
    let again = world.poise(["model", "times.txt", "-o", "models.csv"]).status(2);
    assert!(again.stderr.contains("is not overwritten"), "{}", again.stderr);
}

#[test]
fn where_results_cannot_go_is_told_before_inputs_are_read() {
    let world = with_input();
    world.write("there", "");
    let commands: [&[&str]; 7] = [
        &["model", "missing.txt"],
        &["predict", "missing.txt", "--at", "p=1,n=1"],
        &["compare", "missing.txt", "missing.txt"],
        &["advise", "missing.txt"],
        &["import", "missing.txt"],
        &["export", "missing.txt", "--to", "csv"],
        &["report", "missing.txt"],
    ];
    for command in commands {
        let to = |file| world.poise(command.iter().copied().chain(["-o", file])).status(2).stderr;
        let told = to("there");
        assert!(told.contains("there exists and is not overwritten"), "{command:?}: {told}");
        let told = to("nowhere/a.json");
        assert!(told.contains("Cannot write nowhere/a.json: No such file or directory (os error 2). Choose"), "{told}");
    }
    // What only writing tells names no file but the user's.
    let told = world.poise(["model", "times.txt", "-o", "/proc/a.json"]).status(2).stderr;
    assert!(told.contains("Cannot write /proc/a.json: ") && !told.contains(".poise-"), "{told}");
}

#[test]
fn the_report_is_one_page_that_fetches_nothing() {
    let world = with_input();
    world.poise(["report", "times.txt", "-o", "page.html"]).status(0);
    let page = world.read("page.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("solve") && page.contains("<svg"));
    for fetching in ["<script src", "rel=\"stylesheet", "@import", "url(http", "src=\"http", "href=\"http"] {
        assert!(!page.contains(fetching), "{fetching}");
    }
}

#[test]
fn every_kind_of_bad_input_has_its_place_and_its_exit_code() {
    let world = with_input();
    world.write("empty.txt", "");
    world.write("noise.bin", "\u{0}\u{1}\u{2} nothing that anybody wrote");
    world.write("broken.txt", &extrap_text().replace("DATA 3\n", "DATA three\n"));
    world.write("few.txt", "PARAMETER p\nPOINTS 1 2\nREGION r\nMETRIC time\nDATA 1\nDATA 2\n");
    let cases: [(&[&str], i32, &str); 7] = [
        (&["model", "missing.txt"], 3, "missing.txt"),
        (&["model", "empty.txt"], 3, "empty"),
        (&["model", "noise.bin"], 3, "not recognised"),
        (&["model", "broken.txt"], 3, "broken.txt:"),
        (&["model", "few.txt"], 4, "points"),
        (&["predict", "times.txt", "--at", "p=1"], 2, "lacks n"),
        (&["model", "times.txt", "--input-format", "nonsense"], 2, "nonsense"),
    ];
    for (arguments, status, said) in cases {
        let outcome = world.poise(arguments).status(status);
        assert!(outcome.stderr.contains(said), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
    }
}

#[test]
fn what_was_left_out_shows_in_the_exit_code() {
    let world = with_input();
    // Call path `late` was measured at one point only.
    let late = "\n\nREGION late\nMETRIC time\nDATA 1\n";
    let jsonl: String = (1..=6)
        .map(|p| format!("{{\"params\":{{\"p\":{p}}},\"callpath\":\"all\",\"metric\":\"time\",\"value\":{p}}}\n"))
        .chain(["{\"params\":{\"p\":1},\"callpath\":\"late\",\"metric\":\"time\",\"value\":1}\n".to_owned()])
        .collect();
    world.write("ragged.jsonl", &jsonl);
    let partly = world.poise(["model", "ragged.jsonl"]).status(5);
    assert!(partly.stdout.contains("all") && partly.stdout.contains("W004"), "{}", partly.stdout);
    world.write("ragged.txt", &(extrap_text() + late));
    world.poise(["model", "ragged.txt"]).status(3);
    world.poise(["model", "times.txt", "--threads", "999999999"]).status(2);
}

#[test]
fn colours_come_where_asked_for() {
    let mut world = with_input();
    assert!(world.poise(["model", "times.txt", "--color", "always"]).status(0).stdout.contains("\u{1b}[1mtime"));
    world.set("NO_COLOR", "1");
    assert!(!world.poise(["model", "times.txt"]).status(0).stdout.contains('\u{1b}'));
}

#[test]
fn every_code_is_explained() {
    let world = World::new();
    let list = world.poise(["explain"]).status(0).stdout;
    assert!(list.lines().count() >= 10, "{list}");
    for line in list.lines() {
        let code = line.split_whitespace().next().unwrap();
        let text = world.poise(["explain", code]).status(0).stdout;
        assert!(text.starts_with(code) && text.lines().count() > 2, "{text}");
    }
    let two = world.poise(["explain", "w113", "W004"]).status(0).stdout;
    assert!(two.starts_with("W113: ") && two.contains("\n\nW004: "), "{two}");
    world.poise(["explain", "W004", "W999"]).status(2);
}

/// All inputs are gone through, and each that does not go with the others is named with its reason.
#[test]
fn explaining_names_every_odd_input() {
    let world = World::new();
    let text = |parameter: &str| {
        format!(
            "PARAMETER {parameter}\nPOINTS 2 4 8 16 32\nREGION main\nMETRIC time\nDATA 1\nDATA 2\nDATA 3\nDATA 4\nDATA 5\n"
        )
    };
    world.write("first.json", "{\"params\":{\"p\":2},\"callpath\":\"main\",\"metric\":\"time\",\"value\":1}\n");
    for (name, content) in
        [("a.txt", text("p")), ("b.txt", text("q")), ("c.txt", text("p")), ("d.txt", text("p") + "DATA x\n")]
    {
        world.write(name, &content);
    }
    world.write("garbage", "\u{1}\u{2}\u{3}");
    let inputs = ["first.json", "a.txt", "b.txt", "garbage", "missing", "c.txt", "d.txt"];
    let outcome = world.poise(["import", "--explain"].into_iter().chain(inputs)).status(5);
    let told: Vec<&str> = outcome.stdout.lines().filter_map(|line| line.strip_prefix("left out ")).collect();
    let expected = [
        ("first.json: ", "this is extrap-jsonl, while most inputs are extrap"),
        ("b.txt:1:1: ", "the parameters are `q`, while those of what was read before are `p`"),
        ("garbage: ", "not recognised"),
        ("missing: ", "cannot be read"),
        ("d.txt:10", "x"),
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for (line, (place, reason)) in told.iter().zip(expected) {
        assert!(line.starts_with(place) && line.contains(reason), "{line}");
    }
    assert!(
        outcome.stdout.contains("parameter p: 2 4 8 16 32\npoints: 5, with 2 repetitions of each\n"),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stderr.contains("5 inputs or runs were left out"), "{}", outcome.stderr);
    world.poise(["import", "--explain", "a.txt", "c.txt"]).status(0);
    // Where nothing can be read, all is told, and the status is that of an input.
    let nothing = world.poise(["import", "--explain", "garbage", "missing"]).status(3);
    assert!(nothing.stderr.contains("garbage: "), "{}", nothing.stderr);
    assert!(nothing.stdout.contains("left out missing: cannot be read"), "{}", nothing.stdout);
}

/// The same for a folder of profiles: one that is cut off, and one whose name says other parameters.
#[test]
fn explaining_names_every_odd_profile() {
    let world = World::new();
    let matrix = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/cube/matrix");
    let mut good = Vec::new();
    for run in std::fs::read_dir(matrix).unwrap().map(|entry| entry.unwrap()).filter(|e| e.path().is_dir()) {
        good = std::fs::read(run.path().join("profile.cubex")).unwrap();
        let folder = world.path("set").join(run.file_name());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("profile.cubex"), &good).unwrap();
    }
    for (run, content) in [("mm.x7y1z1.r1", &good[..good.len() / 2]), ("mm.x8y1z1.r1", &[]), ("mm.n9.r1", &good)] {
        std::fs::create_dir_all(world.path("set").join(run)).unwrap();
        std::fs::write(world.path("set").join(run).join("profile.cubex"), content).unwrap();
    }
    let outcome = world.poise(["import", "set", "--explain"]).status(5);
    let told: Vec<&str> = outcome.stdout.lines().filter(|line| line.starts_with("left out ")).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(
        told[0].contains("mm.n9.r1")
            && told[0].contains("says the parameters (n), and most names say the parameters (x, y, z)")
    );
    assert!(told[1].contains("mm.x7y1z1.r1") && told[2].contains("mm.x8y1z1.r1"), "{told:?}");
    assert!(outcome.stdout.contains("points: 9,"), "{}", outcome.stdout);
    // Models are made of such a set only when its names agree, and then without the damaged runs, which is told.
    world.poise(["model", "set"]).status(3);
    std::fs::remove_dir_all(world.path("set/mm.n9.r1")).unwrap();
    let stderr = world.poise(["model", "set"]).status(5).stderr;
    assert!(stderr.contains("mm.x7y1z1.r1") && stderr.contains("mm.x8y1z1.r1"), "{stderr}");
    world.poise(["import", "set", "-o", "set.json"]).status(5);
    assert!(world.read("set.json").contains("counterpoise/experiment"));
}

/// Profiles of another tool, through the flags that are about them.
#[test]
fn points_found_in_names_are_shown_and_profiles_pipe_into_model() {
    let world = World::new();
    let dataset = |name: &str| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets").join(name);
    let matrix = dataset("cube/matrix").display().to_string();
    let shown = world.poise(["import", &matrix, "--explain"]).status(0).stdout;
    assert!(shown.contains("mm.x1000y1z1.r1/profile.cubex: x = 1000, repetition 1\n"), "{shown}");
    assert!(shown.contains("\nparameter y: 1 everywhere, left out\nparameter z: 1 everywhere, left out\n"), "{shown}");
    assert!(shown.contains("\nmetric time [s], mean, maximum, minimum and sum over ranks: 4 call paths\n"), "{shown}");
    assert!(shown.starts_with("format cubex\n") && shown.contains("points: 9,"), "{shown}");
    let named = world.poise(["import", &matrix, "--explain", "--cube", "--pattern", "mm.x{size}y*"]).status(0).stdout;
    assert!(named.contains("parameter size: 1 10 25"), "{named}");
    let wrong = world.poise(["import", &matrix, "--pattern", "q{q}"]).status(3).stderr;
    assert!(wrong.contains("matches the pattern `q{q}`"), "{wrong}");
    let total = world.poise(["export", &matrix, "--scaling", "strong", "--to", "csv"]).status(0).stdout;
    assert!(total.contains(",time,,s,1,"), "{total}");
    let table = dataset("ls1_mardyn/ls1-bench1.csv").display().to_string();
    let roles = "density=parameter,cutoff=parameter,time=metric,vectorize_code=callpath";
    let imported = world.poise(["import", &table, "--columns", roles]).status(0).stdout;
    world.write("ls1.json", &imported);
    let direct = world.poise(["model", &table, "--columns", roles, "--format", "csv"]).status(0).stdout;
    assert_eq!(world.poise(["model", "ls1.json", "--format", "csv"]).status(0).stdout, direct);
}

/// One input of each format, as it is found in the data sets: what is a single run stands at five points, copied. A pipe
/// between `import` and `model` changes nothing.
#[test]
fn what_every_reader_reads_pipes_into_model() {
    let world = World::new();
    let dataset = |name: &str| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets").join(name);
    let roles = "density=parameter,cutoff=parameter,time=metric,vectorize_code=callpath";
    for (name, format, ending) in [
        ("cube/matrix", "cubex", None),
        ("hatchet/lulesh.p1.cali", "cali", Some("cali")),
        ("hatchet/annotation.p8.json", "caliper-json", Some("json")),
        ("hatchet/cpi.p4", "tau", Some("")),
        ("hpctoolkit/ping-pong.p2", "hpctoolkit", Some("")),
        ("tools/mpip", "mpip", None),
        ("gem5/hello-sparc.p1.txt", "gem5", Some("txt")),
        ("tools/simpoint", "simpoint", None),
        ("tools/spin.n200000.pb.gz", "pprof", Some("pb.gz")),
        ("tools/spin.n200000.folded", "folded", Some("folded")),
        ("tools/google_benchmark.json", "google-benchmark", None),
        ("tools/hyperfine.json", "hyperfine", None),
        ("tools/criterion", "criterion", None),
        ("ls1_mardyn/ls1-bench1.csv", "csv", None),
        ("extrap_formats/two_parameters.txt", "extrap", None),
        ("mpi_collectives/mpi_collectives.jsonl", "extrap-jsonl", None),
        ("extrap_formats/nested.json", "extrap-json", None),
        ("extrap_formats/numbered.json", "extrap-json", None),
        ("extrap_formats/talpas.txt", "talpas", None),
        ("extrap_formats/values.extra-p", "extra-p", None),
    ] {
        let mut input = dataset(name);
        if let Some(ending) = ending {
            let set = world.path(format);
            std::fs::create_dir(&set).unwrap();
            for p in [1, 2, 4, 8, 16] {
                let copy = set.join(format!("run.p{p}.{ending}").trim_end_matches('.'));
                let copied = std::process::Command::new("cp").arg("-r").arg(&input).arg(copy).status().unwrap();
                assert!(copied.success());
            }
            input = set;
        }
        let input = input.display().to_string();
        let columns: &[&str] = if format == "csv" { &["--columns", roles] } else { &[] };
        let explained = world.poise([&["import", &input, "--explain"], columns].concat()).status(0).stdout;
        assert!(explained.starts_with(&format!("format {format}\n")), "{explained}");
        let direct = world.poise([&["model", &input, "--format", "json"], columns].concat());
        let pipe = "poise import \"$@\" | poise model - --format json";
        let piped = world.command("bash", [&["-c", pipe, "bash", &input], columns].concat()).output().unwrap();
        let piped = outcome(piped);
        assert_eq!(piped.status, direct.status, "{name}: {} {}", direct.stderr, piped.stderr);
        assert!(matches!(piped.status, Some(0 | 5)), "{name}: {}", piped.stderr);
        assert!(!json(&direct)["models"].as_array().unwrap().is_empty(), "{name}");
        assert!(piped.stdout == direct.stdout, "{name}: other models through a pipe");
    }
}
