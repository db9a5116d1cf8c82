//! `poise compare` and `poise check`, as a user and a CI system call them, on experiments whose functions are known.

mod common;

use std::collections::HashMap;

use common::World;
use serde_json::Value;

/// Extra-P text over p and n with one region: `cost(p, n)` in the named metric, disturbed by `noise(i)`.
fn experiment(metric: &str, cost: impl Fn(f64, f64) -> f64, noise: impl Fn(usize) -> f64) -> String {
    let points: Vec<(f64, f64)> = [4.0, 8.0, 16.0, 32.0, 64.0]
        .iter()
        .flat_map(|&p| [100.0, 200.0, 300.0, 400.0, 500.0].map(|n| (p, n)))
        .collect();
    let mut text = String::from("PARAMETER p\nPARAMETER n\nPOINTS");
    points.iter().for_each(|(p, n)| text.push_str(&format!(" ( {p} {n} )")));
    text.push_str(&format!("\nREGION main->solve\nMETRIC {metric}\n"));
    points
        .iter()
        .enumerate()
        .for_each(|(i, &(p, n))| text.push_str(&format!("DATA {}\n", cost(p, n) * (1.0 + noise(i)))));
    text
}

/// Pseudo-random, between -1 and 1.
fn disturbance(i: usize) -> f64 {
    (((i * 7919 + 13) % 101) as f64 / 50.0) - 1.0
}

#[test]
fn comparing_finds_where_one_version_overtakes_the_other() {
    let world = World::new();
    // 2 n and n p / 100 are equal at p = 200.
    world.write("a.txt", &experiment("basic_blocks", |_, n| 2.0 * n, |_| 0.0));
    world.write("b.txt", &experiment("basic_blocks", |p, n| p * n / 100.0, |_| 0.0));
    let outcome = world.poise(["compare", "a.txt", "b.txt", "--at", "p=800,n=1000", "--format", "json"]).status(0);
    let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(found["schema"], "counterpoise/comparison");
    let pair = &found["pairs"][0];
    assert_eq!(pair["callpath"], serde_json::json!(["main", "solve"]));
    assert!((pair["ratio"]["value"].as_f64().unwrap() - 4.0).abs() < 1e-6, "{pair}");
    let crossover = &pair["crossovers"][0];
    assert_eq!((&crossover["parameter"], &crossover["smaller_beyond"]), (&"p".into(), &"first".into()));
    assert!((crossover["value"].as_f64().unwrap() - 200.0).abs() < 0.1, "{crossover}");
    let people = world.poise(["compare", "a.txt", "b.txt"]).status(0).stdout;
    assert!(people.contains("from p = 200 on A is smaller"), "{people}");
    let csv = world.poise(["compare", "a.txt", "b.txt", "--at", "p=800,n=1000", "--format", "csv"]).status(0).stdout;
    assert!(csv.starts_with("p,n,callpath,metric,unit,first,") && csv.contains("800,1000,main->solve,"), "{csv}");
    // The table for programs has the crossover of the JSON.
    let mut lines = csv.lines().map(|line| line.split(','));
    let cells: HashMap<&str, &str> = lines.next().unwrap().zip(lines.next().unwrap()).collect();
    assert_eq!((cells["crossover_parameter"], cells["smaller_beyond"]), ("p", "first"), "{csv}");
    for (column, key) in [("crossover", "value"), ("certain_until", "certain_until"), ("certain_from", "certain_from")]
    {
        assert_eq!(cells[column].parse::<f64>().ok(), crossover[key].as_f64(), "{column}: {csv}");
    }
    let alike = world.poise(["compare", "a.txt", "a.txt", "--format", "csv"]).status(0).stdout;
    assert!(alike.lines().skip(1).all(|line| line.ends_with(",,,,,,,")), "no crossover: {alike}");
}

#[test]
fn experiments_over_other_parameters_are_not_compared() {
    let world = World::new();
    world.write("a.txt", &experiment("time", |p, n| p * n, |_| 0.0));
    world.write("b.txt", &experiment("time", |p, n| p * n, |_| 0.0).replace("PARAMETER n", "PARAMETER m"));
    let outcome = world.poise(["compare", "a.txt", "b.txt"]).status(4);
    assert!(outcome.stderr.contains("p, n in the first and p, m in the second"), "{}", outcome.stderr);
}

const EXPECTATIONS: &str = "\
at = { p = 128, n = 1000 }
[[expect]]
callpath = \"main -> *\"
growth = \"p * n^(3/2)\"
at_most = 20.0
";

#[test]
fn a_gate_passes_fails_and_leaves_open_with_the_right_status() {
    let world = World::new();
    // 1e-4 p n: 12.8 s at the target.
    world.write("exact.txt", &experiment("time", |p, n| 1e-4 * p * n, |_| 0.0));
    world.write("noisy.txt", &experiment("time", |p, n| 1e-4 * p * n, |i| 0.1 * disturbance(i)));
    world.write("pass.toml", EXPECTATIONS);
    world.write("fail.toml", &EXPECTATIONS.replace("p * n^(3/2)", "sqrt(p) * n"));
    world.write("close.toml", &EXPECTATIONS.replace("20.0", "12.9"));
    let run = |input: &str, expect: &str, status: i32| {
        let outcome = world.poise(["check", input, "--expect", expect, "--format", "json"]).status(status);
        serde_json::from_str::<Value>(&outcome.stdout).unwrap()
    };
    let counts = |v: &Value| ["passed", "failed", "undecided"].map(|key| v[key].as_u64().unwrap());
    assert_eq!(counts(&run("exact.txt", "pass.toml", 0)), [2, 0, 0]);
    let failed = run("exact.txt", "fail.toml", 1);
    assert_eq!(counts(&failed), [1, 1, 0]);
    assert_eq!((&failed["checks"][0]["verdict"], &failed["checks"][0]["line"]), (&"fail".into(), &2.into()));
    // 10 % of noise cannot tell 12.8 s from 12.9 s, and that fails no build.
    let open = run("noisy.txt", "close.toml", 0);
    let limit = |c: &&Value| c["expected"].as_str().unwrap().starts_with("at most");
    let judged = open["checks"].as_array().unwrap().iter().find(limit).unwrap();
    assert_eq!(judged["verdict"], "undecided", "{judged}");
    world.poise(["check", "noisy.txt", "--expect", "close.toml", "--junit", "open.xml"]).status(0);
    let [passed, failed, undecided] = counts(&open).map(|count| count as usize);
    assert_eq!(counts_of_valid_junit(&world.read("open.xml")), [passed + failed + undecided, failed, undecided]);
    assert!(undecided > 0);
}

/// An element's name, the element that it is in, and its attributes, with whether they are required.
type Element = (&'static str, &'static str, &'static [(&'static str, bool)]);

/// The elements of JUnit's XML that we write, as junit-10.xsd of Jenkins' xUnit plugin has them.
const JUNIT: [Element; 5] = [
    ("testsuites", "", &[("name", false), ("tests", false), ("failures", false), ("errors", false), ("time", false)]),
    (
        "testsuite",
        "testsuites",
        &[("name", true), ("tests", true), ("failures", true), ("errors", true), ("skipped", false)],
    ),
    ("testcase", "testsuite", &[("name", true), ("classname", false)]),
    ("failure", "testcase", &[("message", false)]),
    ("skipped", "testcase", &[("message", false)]),
];

/// Number of cases, failures and skipped cases of a document that the schema allows, and whose numbers are those of its
/// elements. (`xmllint --schema junit-10.xsd` says the same of such documents.)
fn counts_of_valid_junit(xml: &str) -> [usize; 3] {
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("a declaration");
    let (mut open, mut found, mut stated) = (vec![""], [0; 3], Vec::new());
    for tag in body.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').expect("tags end, and values have no bare brackets");
        assert!(text.trim().is_empty(), "{text}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let (tag, is_empty) = (tag.trim_end_matches('/'), tag.ends_with('/'));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let (_, parent, known) = JUNIT.iter().find(|e| e.0 == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(open.last(), Some(parent), "{name}");
        let mut parts: Vec<&str> = attributes.split('"').collect();
        assert_eq!(parts.pop(), Some(""), "{attributes}");
        let given: Vec<(&str, &str)> = parts.chunks(2).map(|p| (p[0].trim().trim_end_matches('='), p[1])).collect();
        assert!(given.iter().all(|g| known.iter().any(|k| k.0 == g.0)), "{name}: {given:?}");
        assert!(known.iter().all(|k| !k.1 || given.iter().any(|g| g.0 == k.0)), "{name}: {given:?}");
        let number = |key: &str| Some(given.iter().find(|g| g.0 == key)?.1.parse::<usize>().unwrap());
        match name {
            "testcase" => found[0] += 1,
            "failure" => found[1] += 1,
            "skipped" => found[2] += 1,
            _ => stated.push(["tests", "failures", "skipped"].map(number)),
        }
        if !is_empty {
            open.push(name);
        }
    }
    assert_eq!(open, [""]);
    let is_right = |stated: &[Option<usize>; 3]| stated.iter().zip(found).all(|(s, f)| s.is_none_or(|s| s == f));
    assert!(stated.len() == 2 && stated.iter().all(is_right), "{stated:?} {found:?}");
    found
}

#[test]
fn a_baseline_is_judged_by_effort_exactly() {
    let world = World::new();
    world.write("old.txt", &experiment("basic_blocks", |p, n| 5.0 * p * n, |_| 0.0));
    world.write("new.txt", &experiment("basic_blocks", |p, n| 5.5 * p * n, |_| 0.0));
    let expect = |tolerance: &str| {
        format!(
            "[[expect]]\ncallpath = \"*\"\nmetric = \"basic_blocks\"\nbaseline = \"old.txt\"\ntolerance = {tolerance}\n"
        )
    };
    world.write("strict.toml", &expect("0.05"));
    world.write("lenient.toml", &expect("0.15"));
    let failed = world.poise(["check", "new.txt", "--expect", "strict.toml", "--junit", "out.xml"]).status(1);
    assert!(failed.stderr.contains("1 of 1 expectation fails."), "{}", failed.stderr);
    let xml = world.read("out.xml");
    assert!(xml.contains("<failure message=\"1.10 times"), "{xml}");
    assert_eq!(counts_of_valid_junit(&xml), [1, 1, 0], "{xml}");
    world.poise(["check", "new.txt", "--expect", "lenient.toml"]).status(0);
    // Nothing is overwritten.
    let again = world.poise(["check", "new.txt", "--expect", "lenient.toml", "--junit", "out.xml"]).status(2);
    assert!(
        again.stderr.contains("out.xml exists") && again.stderr.contains("another name with --junit."),
        "{}",
        again.stderr
    );
    assert_eq!(again.stdout, "", "nothing is judged first");
}

/// Of a baseline of 0 no tolerance is a part: that is said, nothing passes as no worse than nothing, and anything fails.
#[test]
fn baselines_of_zero_are_judged_and_told() {
    let world = World::new();
    world.write("zero.txt", &experiment("bytes_sent", |_, _| 0.0, |_| 0.0));
    world.write("some.txt", &experiment("bytes_sent", |p, _| 8.0 * p, |_| 0.0));
    world.write("e.toml", "[[expect]]\ncallpath = \"*\"\nmetric = \"bytes_sent\"\nbaseline = \"zero.txt\"\n");
    let run = |input: &str, status: i32| {
        let outcome = world.poise(["check", input, "--expect", "e.toml", "--format", "json"]).status(status);
        let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let check = &found["checks"][0];
        (check["verdict"].as_str().unwrap().to_owned(), check["found"].as_str().unwrap().to_owned())
    };
    for (input, status, verdict, value) in [("zero.txt", 0, "pass", "0 bytes"), ("some.txt", 1, "fail", "512 B")] {
        let (judged, found) = run(input, status);
        assert_eq!(judged, verdict, "{found}");
        assert!(found.starts_with(value) && found.contains("the baseline is 0"), "{found}");
    }
    let compared = world.poise(["compare", "zero.txt", "zero.txt", "-v"]).status(0).stdout;
    assert!(compared.contains("both 0"), "{compared}");
}

/// What is wrong with an expectation is told before anything is fitted: here there is nothing that could be.
#[test]
fn mistakes_are_told_before_the_fit() {
    let world = World::new();
    let few =
        |parameter: &str| format!("PARAMETER {parameter}\nPOINTS 1 2\nREGION main\nMETRIC time\nDATA 1\nDATA 2\n");
    world.write("a.txt", &few("p"));
    world.write("b.txt", &few("n"));
    let check = |keys: &str, status: i32| {
        world.write("e.toml", &format!("[[expect]]\ncallpath = \"main\"\n{keys}\n"));
        let stderr = world.poise(["check", "a.txt", "--expect", "e.toml"]).status(status).stderr;
        std::fs::remove_file(world.path("e.toml")).unwrap();
        stderr
    };
    assert!(check("at_most = 1.0", 4).contains("can be modelled"), "the fit is tried");
    assert!(check("growth = \"n\"", 3).contains("e.toml:3: `growth` names n"));
    assert!(check("baseline = \"b.txt\"", 4).contains("over the parameters n, the input over p"));
    let compared = world.poise(["compare", "a.txt", "b.txt"]).status(4).stderr;
    assert!(compared.contains("p in the first and n in the second"), "{compared}");
}

#[test]
fn expectations_that_judge_nothing_are_errors_with_their_place() {
    let world = World::new();
    world.write("a.txt", &experiment("time", |p, n| p * n, |_| 0.0));
    world.write("e.toml", "[[expect]]\ncallpath = \"main -> slove\"\nat_most = 1.0\n");
    let outcome = world.poise(["check", "a.txt", "--expect", "e.toml"]).status(3);
    assert!(
        outcome.stderr.contains(
            "e.toml:2: no call path with the metric time matches `main -> slove`; the nearest of 1 are `main -> solve`"
        ),
        "{}",
        outcome.stderr
    );
    world.write("e2.toml", "[[expect]]\ncallpath = \"*\"\ngrowth = \"q\"\n");
    let outcome = world.poise(["check", "a.txt", "--expect", "e2.toml"]).status(3);
    assert!(outcome.stderr.contains("e2.toml:3: `growth` names q"), "{}", outcome.stderr);
    let second = |keys: &str| {
        let first = "[[expect]]\ncallpath = \"*\"\nat_most = 1e9\n\n";
        world.write("e3.toml", &format!("{first}[[expect]]\ncallpath = \"*\"\n{keys}\n"));
        let stderr = world.poise(["check", "a.txt", "--expect", "e3.toml"]).status(3).stderr;
        std::fs::remove_file(world.path("e3.toml")).unwrap();
        stderr
    };
    let without_n = second("at_most = 1.0\nat = { p = 64 }");
    assert!(without_n.contains("e3.toml:8: `at` lacks n"), "{without_n}");
    let without_file = second("baseline = \"none.json\"");
    assert!(without_file.contains("e3.toml:7: the baseline cannot be used: none.json"), "{without_file}");
    let without_path = second("at_most = 1.0\n[[expect]]\nat_most = 2.0");
    assert!(without_path.contains("e3.toml:8:1: missing field `callpath`"), "{without_path}");
    let misspelt = second("at_mots = 1.0");
    assert!(misspelt.contains("e3.toml:7:1: unknown field `at_mots`"), "{misspelt}");
    let not_toml = second("at_most = ");
    assert!(not_toml.contains("e3.toml:7:"), "{not_toml}");
    let nothing = second("metric = \"time\"");
    assert!(nothing.contains("e3.toml:5:1: nothing is expected of this call path"), "{nothing}");
}

/// Only what an expectation names is fitted, and to the same models as among all others.
#[test]
fn what_is_named_is_judged_as_among_all() {
    let world = World::new();
    let mut text = String::from("PARAMETER p\nPOINTS 2 4 8 16 32 64\n");
    for path in 0..40 {
        text += &format!("REGION main->f{path}\nMETRIC time\n");
        for (i, p) in [2.0_f64, 4.0, 8.0, 16.0, 32.0, 64.0].into_iter().enumerate() {
            let value =
                f64::from(path + 1) * p.powf(0.25 * f64::from(path % 5)) * (1.0 + 0.1 * disturbance(path as usize + i));
            text += &format!("DATA {value}\n");
        }
    }
    world.write("many.txt", &text);
    world.write("all.toml", "[[expect]]\ncallpath = \"*\"\nat_most = 50.0\n");
    world.write("few.toml", "[[expect]]\ncallpath = \"*f1*\"\nat_most = 50.0\n");
    let checks = |expect: &str| {
        let outcome = world.poise(["check", "many.txt", "--expect", expect, "--format", "json"]).status(1);
        let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
        found["checks"].as_array().unwrap().clone()
    };
    let (all, few) = (checks("all.toml"), checks("few.toml"));
    let named = |c: &&Value| c["callpath"][1].as_str().unwrap().starts_with("f1");
    assert_eq!((all.len(), few.len()), (40, 11));
    let without_line = |c: &Value| (c["callpath"].clone(), c["verdict"].clone(), c["found"].clone());
    let expected: Vec<_> = all.iter().filter(named).map(without_line).collect();
    assert_eq!(few.iter().map(without_line).collect::<Vec<_>>(), expected);
}

/// Times of 60 call paths at five p, three repetitions with normal noise of `level`; `cost` is a factor of each call path's own
/// function. Seeded, so that a test is the same every time.
fn noisy_callpaths(seed: u64, level: f64, cost: impl Fn(f64) -> f64) -> String {
    let truth = |path: i32, p: f64| {
        f64::from(1 + path % 7) * (1.0 + p.powf(0.25 * f64::from(path % 6)) * p.log2().powi(path % 2)) * cost(p)
    };
    measured_thrice(seed, level, 60, &[4.0, 8.0, 16.0, 32.0, 64.0], truth)
}

/// Three measurements of so many call paths at each of these p, with normal noise.
fn measured_thrice(seed: u64, level: f64, paths: i32, points: &[f64], truth: impl Fn(i32, f64) -> f64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    // The sum of twelve even numbers between 0 and 1 is nearly normal, with mean 6 and variance 1.
    let mut even = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let all: Vec<String> = points.iter().map(f64::to_string).collect();
    let mut text = format!("PARAMETER p\nPOINTS {}\n", all.join(" "));
    for path in 0..paths {
        text += &format!("REGION main->f{path}\nMETRIC time\n");
        for &p in points {
            let truth = truth(path, p);
            let values = [0; 3].map(|_| {
                let z = (0..12).map(|_| even()).sum::<f64>() - 6.0;
                (truth * (1.0 + level * z).max(0.05)).to_string()
            });
            text += &format!("DATA {}\n", values.join(" "));
        }
    }
    text
}

/// Two measurements of the same program: no build fails of noise, at the measured range's end and far beyond it, although
/// single intervals of 90 % would. What is truly slower fails.
#[test]
fn noise_alone_fails_no_build_and_a_regression_does() {
    let world = World::new();
    world.write(
        "e.toml",
        "[[expect]]\ncallpath = \"*\"\nbaseline = \"old.txt\"\nat = { p = 64 }\n\n[[expect]]\ncallpath = \"*\"\nbaseline = \"old.txt\"\nat = { p = 1024 }\n",
    );
    let judged = |new: &str, status: i32| {
        std::fs::write(world.path("new.txt"), new).unwrap();
        let outcome = world.poise(["check", "new.txt", "--expect", "e.toml", "--format", "json"]).status(status);
        serde_json::from_str::<Value>(&outcome.stdout).unwrap()
    };
    let limit = |check: &Value| -> (f64, f64) {
        // `1.2 times 3 s (1.1 to 1.4)`
        let found = check["found"].as_str().unwrap();
        let ends = found.rsplit_once('(').unwrap().1.trim_end_matches(')').split_once(" to ").unwrap();
        (ends.0.parse().unwrap(), ends.1.parse().unwrap())
    };
    let mut above = 0;
    let levels = [(1, 0.1), (2, 0.1)].into_iter().chain((3..=18).map(|seed| (seed, 0.3)));
    for (seed, level) in levels {
        std::fs::write(world.path("old.txt"), noisy_callpaths(2 * seed, level, |_| 1.0)).unwrap();
        let found = judged(&noisy_callpaths(2 * seed + 1, level, |_| 1.0), 0);
        assert_eq!((&found["failed"], &found["family_level"]), (&0.into(), &0.99.into()));
        let checks = found["checks"].as_array().unwrap();
        assert_eq!(checks.len(), 120);
        for check in checks.iter().filter(|check| limit(check).0 > 1.05) {
            let reason = check["reason"].as_str().unwrap();
            assert!(check["verdict"] == "undecided" && reason.contains("at the points that both measured"), "{check}");
            assert!(reason.starts_with("the 90 % interval is above, but"), "{reason}");
            above += 1;
        }
    }
    assert!(above > 10, "{above} single intervals were above");
    let count = |found: &Value, p: &str| {
        let is_failure = |c: &&Value| c["verdict"] == "fail" && c["expected"].as_str().unwrap().ends_with(p);
        found["checks"].as_array().unwrap().iter().filter(is_failure).count()
    };
    std::fs::write(world.path("old.txt"), noisy_callpaths(20, 0.1, |_| 1.0)).unwrap();
    let slower = judged(&noisy_callpaths(21, 0.1, |_| 1.5), 1);
    assert!(count(&slower, "p = 64") >= 30, "{} of 60", count(&slower, "p = 64"));
    let growing = judged(&noisy_callpaths(23, 0.1, |p| (p / 4.0).sqrt()), 1);
    assert!(count(&growing, "p = 64") >= 55, "{} of 60", count(&growing, "p = 64"));
    assert!(count(&growing, "p = 1024") >= 50, "{} of 60", count(&growing, "p = 1024"));
}

/// The number of failures of one expectation of every call path, with these keys.
fn failures(new: &str, old: &str, keys: &str) -> (u64, Value) {
    let world = World::new();
    world.write("new.txt", new);
    world.write("old.txt", old);
    world.write("e.toml", &format!("[[expect]]\ncallpath = \"*\"\n{keys}\n"));
    let text = world.poise(["check", "new.txt", "--expect", "e.toml", "--format", "json"]).stdout;
    let found: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (found["failed"].as_u64().unwrap(), found)
}

/// A regression is no straight line in logarithms: one that grows, and one that is at the judged point alone.
#[test]
fn regressions_of_any_shape_fail_where_they_are_measured() {
    const P: [f64; 5] = [4.0, 8.0, 16.0, 32.0, 64.0];
    let count = |paths: i32, new: fn(f64) -> f64| {
        let [old, new] = [(1, (|_| 10.0) as fn(f64) -> f64), (2, new)]
            .map(|(seed, cost)| measured_thrice(seed, 0.01, paths, &P, |_, p| cost(p)));
        failures(&new, &old, "baseline = \"old.txt\"").0
    };
    // At p = 64 41 % more.
    let growing = count(60, |p| 10.0 + 0.001 * p * p);
    assert!(growing >= 55, "{growing} of 60");
    let at_the_end = |p: f64| if p == 64.0 { 1000.0 } else { 10.0 };
    let (one, all) = (count(1, at_the_end), count(60, at_the_end));
    assert!(one == 1 && all >= 55, "{one} of 1, {all} of 60");
    assert_eq!(count(60, |_| 10.0), 0, "the same truth");
}

#[test]
fn growth_beside_a_constant_fails_a_bound_below_it() {
    let p: Vec<f64> = (2..11).map(|k| 2_f64.powi(k)).collect();
    let text = measured_thrice(3, 0.01, 20, &p, |_, p| 10.0 + 0.01 * p * p);
    let (failed, found) = failures(&text, "", "growth = \"p\"");
    assert!(failed >= 18, "{found}");
    let (failed, found) = failures(&text, "", "growth = \"p^2\"");
    assert_eq!(failed, 0, "{found}");
    // Nothing is so many times zero: that point tells no growth, and the others do.
    let text = measured_thrice(4, 0.01, 20, &[0.0, 1.0, 2.0, 4.0, 8.0, 16.0], |_, p| 3.0 + p);
    let (failed, found) = failures(&text, "", "growth = \"1\"");
    assert!(failed >= 18, "{found}");
}

/// What is judged below a change is judged by the model there.
#[test]
fn limits_below_a_change_are_judged_by_the_lower_segment() {
    let p: Vec<f64> = (2..12).map(|k| 2_f64.powi(k)).collect();
    let text = measured_thrice(5, 0.01, 1, &p, |_, p| if p <= 64.0 { 100.0 } else { 1e-4 * p * p });
    for (keys, verdict) in [
        ("at_most = 20\nat = { p = 32 }", "fail"),
        ("at_most = 20\nat = { p = 256 }", "pass"),
        ("at_most = 105\nat = { p = 32 }", "pass"),
        ("growth = \"p\"", "fail"),
    ] {
        let (_, found) = failures(&text, "", keys);
        assert_eq!(found["checks"][0]["verdict"], verdict, "{keys}: {found}");
    }
}

#[test]
fn a_growth_of_one_is_none_in_any_parameter() {
    let world = World::new();
    world.write("still.txt", &experiment("time", |_, _| 3.0, |_| 0.0));
    world.write("growing.txt", &experiment("time", |_, n| 3.0 * n, |_| 0.0));
    for (i, written) in ["\"1\"", "\"O(1)\"", "\"constant\"", "1"].iter().enumerate() {
        let file = format!("e{i}.toml");
        world.write(&file, &format!("[[expect]]\ncallpath = \"*\"\ngrowth = {written}\n"));
        let told = world.poise(["check", "still.txt", "--expect", &file]).status(0).stdout;
        assert!(told.contains("does not grow with p and n"), "{told}");
        world.poise(["check", "growing.txt", "--expect", &file]).status(1);
    }
}

#[test]
fn a_bound_of_no_growth_names_its_parameter() {
    let world = World::new();
    world.write(
        "a.txt",
        "PARAMETER p\nPOINTS 1 2 4 8 16\nREGION main\nMETRIC time\nDATA 3\nDATA 3\nDATA 3\nDATA 3\nDATA 3\n",
    );
    world.write("e.toml", "[[expect]]\ncallpath = \"main\"\ngrowth = \"p^0\"\n");
    let told = world.poise(["check", "a.txt", "--expect", "e.toml"]).status(0).stdout;
    assert!(told.contains("does not grow with p"), "{told}");
}

/// Formats of Extra-P tell no statistic over ranks, and Score-P has a metric `min_time` of its own: neither keeps a set of profiles
/// from being compared with what was exported from it, nor from being judged by it.
#[test]
fn a_set_of_profiles_is_the_same_as_its_own_export() {
    let world = World::new();
    let set = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/cube/matrix");
    for (format, file) in [("extrap", "m.txt"), ("extrap-jsonl", "m.jsonl"), ("json", "m.json")] {
        world.poise(["export", set, "--to", format, "-o", file]).status(0);
        let outcome = world.poise(["compare", set, file, "--format", "json"]).status(0);
        let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let pairs = found["pairs"].as_array().unwrap();
        // Four call paths with time, visits and Score-P's own maximum and minimum of time.
        assert_eq!(pairs.len() % 4, 0);
        assert_eq!(pairs.iter().filter(|pair| pair["metric"] == "time").count(), 4, "{file}");
        assert!(pairs.iter().all(|p| p["first"] == p["second"] && p["ratio"]["value"] == 1.0), "{file}");
        assert_eq!(found["only_first"], serde_json::json!([]), "{file}");
        let is_own = format == "json";
        assert_eq!(outcome.stderr.contains("taken for the same: time is the mean over ranks in the first"), !is_own);
        assert_eq!(found["assumed"].as_array().unwrap().is_empty(), is_own);
        // Between the title and what is said of it, which tell the statistic: the table.
        let ranked = |input: &str| -> Vec<String> {
            let text = world.poise(["report", input]).status(0).stdout;
            assert!(text.lines().next().unwrap().contains(": time"), "{text}");
            text.lines().skip(1).take_while(|line| !line.starts_with("Today")).map(str::to_owned).collect()
        };
        assert_eq!(ranked(file), ranked(set), "{file}: time is what is ranked");
        assert_eq!(ranked(set).len(), 2 + 4 + 1);
        world.write("e.toml", &format!("[[expect]]\ncallpath = \"*\"\nbaseline = \"{file}\"\n"));
        let judged = world.poise(["check", set, "--expect", "e.toml", "--format", "json"]).status(0);
        let judged_json: Value = serde_json::from_str(&judged.stdout).unwrap();
        let of_1 = |c: &Value| c["found"].as_str().unwrap().starts_with("1 times");
        assert!(judged_json["checks"].as_array().unwrap().iter().all(of_1), "{}", judged.stdout);
        assert_eq!(judged.stderr.contains("does not tell which value over ranks time is"), !is_own);
        std::fs::remove_file(world.path("e.toml")).unwrap();
    }
}

#[test]
fn a_comparison_that_pairs_nothing_says_what_each_side_has() {
    let world = World::new();
    world.write("a.txt", &experiment("time", |p, n| p * n, |_| 0.0));
    world.write("b.txt", &experiment("time", |p, n| p * n, |_| 0.0).replace("main->solve", "main->solve_all"));
    world.write("c.txt", &experiment("visits", |p, n| p * n, |_| 0.0));
    // What is in common is compared, and the rest told in a line for a metric that the other has nowhere.
    let both = experiment("time", |p, n| 2.0 * p * n, |_| 0.0) + "METRIC energy\n" + &"DATA 1\n".repeat(25);
    world.write("d.txt", &both);
    let compared = world.poise(["compare", "a.txt", "d.txt"]).status(0).stdout;
    assert!(compared.ends_with("only B has the metrics energy\n"), "{compared}");
    let told = |b: &str| world.poise(["compare", "a.txt", b, "--format", "json"]).status(4).stderr;
    assert!(
        told("b.txt").contains("A has time at main -> solve; B has time at main -> solve_all."),
        "{}",
        told("b.txt")
    );
    assert!(told("c.txt").contains("B has visits at main -> solve."), "{}", told("c.txt"));
}

#[test]
fn blanks_around_the_arrows_of_an_expectation_do_not_matter() {
    let world = World::new();
    world.write("a.txt", &experiment("time", |p, n| p * n, |_| 0.0));
    for (i, callpath) in ["main->solve", "main -> solve", "main-> s*", "*->solve"].iter().enumerate() {
        let file = format!("e{i}.toml");
        world.write(&file, &format!("[[expect]]\ncallpath = \"{callpath}\"\nat_most = 1e9\n"));
        let told = world.poise(["check", "a.txt", "--expect", &file]).status(0).stdout;
        assert!(told.contains("1 pass, 0 fail, 0 undecided."), "{callpath}: {told}");
    }
    // A name that holds stars is that call path alone.
    let text = experiment("time", |p, n| p * n, |_| 0.0);
    let other = text[text.find("REGION").unwrap()..].replace("main->solve", "main(int, char**)->solve");
    world.write("stars.txt", &(text.replace("main->solve", "main(int, char**)") + &other));
    world.write("stars.toml", "[[expect]]\ncallpath = \"main(int, char**)\"\nat_most = 1e9\n");
    let told = world.poise(["check", "stars.txt", "--expect", "stars.toml"]).status(0).stdout;
    assert!(told.contains("1 pass, 0 fail, 0 undecided."), "{told}");
    world.write("wrong.toml", "[[expect]]\ncallpath = \"main->slove\"\nat_most = 1.0\n");
    let told = world.poise(["check", "a.txt", "--expect", "wrong.toml"]).status(3).stderr;
    assert!(told.contains("the nearest of 1 are `main -> solve`"), "{told}");
}
