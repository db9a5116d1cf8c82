//! `poise analyze` on tables and measured runs, as a user calls it.

mod common;

use common::World;

/// 120 rows: the time falls with p and is twice as long on node3; the stride and the seed explain nothing.
fn rows() -> String {
    let mut text = String::from("p,stride,node,time\n");
    for i in 0..120u32 {
        let (p, stride, node) = (2 << (i % 4), 1 << (i / 4 % 3), ["node1", "node2", "node3"][(i / 12 % 3) as usize]);
        // Noise within 10 %, by multiplicative hashing.
        let noise = 1.0 + 0.1 * f64::from(i.wrapping_mul(2_654_435_761) ^ i.wrapping_mul(40_503)) / f64::from(u32::MAX);
        let time = 8.0 / f64::from(p) * if node == "node3" { 2.1 } else { 1.0 } * noise;
        text.push_str(&format!("{p},{stride},{node},{time}\n"));
    }
    text
}

fn with_rows() -> World {
    let world = World::new();
    world.write("rows.csv", &rows());
    world
}

#[test]
fn the_answer_names_what_explains_the_metric() {
    let world = with_rows();
    let out = world.poise(["analyze", "rows.csv"]).status(0);
    let first = out.stdout.lines().next().unwrap();
    assert!(first.starts_with("time is explained above all by p") && first.contains("then node"), "{first}");
    assert!(first.contains("stride makes no difference"), "{first}");
    let only_one = world.poise(["analyze", "rows.csv", "--where", "node != 'node3'"]).status(0);
    assert!(only_one.stdout.starts_with("time is explained by p ("), "{}", only_one.stdout);
}

#[test]
fn json_csv_and_pictures_tell_the_same() {
    let world = with_rows();
    let arguments =
        ["analyze", "rows.csv", "--report", "page.html", "--plots", "plots", "-o", "found.json", "--format", "json"];
    world.poise(arguments).status(0);
    let found = world.json("found.json");
    assert_eq!((&found["schema"], &found["schema_version"]), (&"counterpoise/analysis".into(), &1.into()));
    assert_eq!((&found["rows"], &found["factors"][0]["name"]), (&120.into(), &"p".into()));
    let tested: u64 = found["tree"]["confusion"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|r| r.as_array().unwrap())
        .map(|c| c.as_u64().unwrap())
        .sum();
    assert_eq!((tested, &found["tree"]["test_rows"]), (24, &24.into()));
    let table = world.poise(["analyze", "rows.csv", "--format", "csv"]).status(0).stdout;
    assert!(table.starts_with("p,stride,node,time,category,predicted_category,part\n"));
    assert_eq!(table.lines().filter(|l| l.ends_with(",test")).count(), 24);
    assert_eq!(table.lines().count(), 121);
    assert!(world.read("page.html").contains("time is explained above all by p"));
    for name in ["importance", "density", "tree", "scatter-p", "line-p-node"] {
        assert!(world.read(&format!("plots/{name}.svg")).starts_with("<svg"), "{name}");
    }
}

#[test]
fn points_of_an_experiment_are_rows() {
    let world = World::new();
    let mut text = String::from("PARAMETER p\nPARAMETER n\nPOINTS");
    let points: Vec<(u32, u32)> = (1..=5).flat_map(|p| (1..=4).map(move |n| (p, n))).collect();
    points.iter().for_each(|(p, n)| text.push_str(&format!(" ( {p} {n} )")));
    text.push_str("\nREGION solve\nMETRIC time\n");
    points.iter().for_each(|(p, n)| text.push_str(&format!("DATA {} {}\n", 10 * p, 10 * p + u32::from(n % 2 == 0))));
    world.write("times.txt", &text);
    let out = world
        .poise(["analyze", "times.txt", "--categories", "5", "--callpath", "solve", "--scale", "linear"])
        .status(0);
    assert!(out.stdout.starts_with("time is explained by p ("), "{}", out.stdout);
    let wrong = world.poise(["analyze", "times.txt", "--callpath", "slove"]).status(4);
    assert!(wrong.stderr.contains("no call path is `slove`"), "{}", wrong.stderr);
}

#[test]
fn a_parameter_that_is_called_as_a_metric_is_told_from_it() {
    let world = World::new();
    let points: Vec<u32> = (1..=20).collect();
    let mut text = String::from("PARAMETER time\nPOINTS");
    points.iter().for_each(|p| text.push_str(&format!(" {p}")));
    text.push_str("\nREGION solve\nMETRIC time\n");
    points.iter().for_each(|p| text.push_str(&format!("DATA {}\n", if *p > 10 { 500 } else { 3 })));
    world.write("times.txt", &text);
    let out = world.poise(["analyze", "times.txt", "--categories", "values", "--format", "csv"]).status(0).stdout;
    assert!(out.starts_with("parameters.time,"), "{out}");
    // A study's runs: the record's parameter and the profile's metric.
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/echo.c");
    world.poise(["cc", "-O1", source.to_str().unwrap(), "-o", "echo"]).status(0);
    world
        .write("s.toml", "command = [\"./echo\", \"{time}\"]\nrepetitions = 5\n[parameters]\ntime = [100, 200, 300]\n");
    world.poise(["run", "s.toml"]).status(0);
    let out = world.poise(["analyze", "s.runs", "--categories", "2", "--format", "csv"]).status(0).stdout;
    let mut rows = out.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap_or_else(|| panic!("{name}: {head:?}"));
    let (parameter, metric) = (column("parameters.time"), column("time"));
    for row in rows {
        assert!(["100", "200", "300"].contains(&row[parameter]), "{row:?}");
        assert!(row[metric].parse::<f64>().unwrap() < 1.0, "seconds: {row:?}");
    }
}

#[test]
fn what_cannot_be_analysed_ends_with_the_contracts_codes() {
    let world = with_rows();
    for (arguments, status, expected) in [
        (&["rows.csv", "--metric", "tiem"][..], 2, "did you mean `time`? The columns are p, stride, node, time"),
        (&["rows.csv", "--where", "p >"], 2, "column 4"),
        (&["rows.csv", "--where", "q > 1"], 2, "no column `q`"),
        (&["rows.csv", "--where", "p > 99"], 4, "No row satisfies"),
        (&["rows.csv", "--categories", "1"], 2, "2 to 26"),
        (&["rows.csv", "--plot", "pie"], 2, "is no plot"),
        (&["absent.csv"], 3, "absent.csv"),
        (&["text.csv"], 3, "not recognised"),
        (&["ragged.csv"], 3, "ragged.csv:3:1"),
        (&["empty.csv"], 4, "not one row"),
        (&["constant.csv"], 4, "is 7 in all 12 rows"),
        (&["nan.csv"], 4, "no value in any row"),
        (&["few.csv"], 4, "at least 10"),
    ] {
        world.write("text.csv", "there is no table in here\n");
        world.write("ragged.csv", "p,time\n1,2\n3\n");
        world.write("empty.csv", "p,time\n");
        world.write("constant.csv", &format!("p,time\n{}", (0..12).map(|i| format!("{i},7\n")).collect::<String>()));
        world.write("nan.csv", &format!("p,time\n{}", (0..12).map(|i| format!("{i},nan\n")).collect::<String>()));
        world.write("few.csv", "p,time\n1,2\n2,3\n");
        let out = world.poise([&["analyze"][..], arguments].concat()).status(status);
        assert!(out.stderr.contains(expected), "{arguments:?}: {}", out.stderr);
    }
}

/// Rows whose time is decided by n alone, and where p = 1 lets some of them be short: the tree asks for p, and names the same
/// category whatever the answer.
#[test]
fn conditions_that_change_no_category_are_not_told() {
    let world = World::new();
    let mut text = String::from("p,n,time\n");
    for i in 0..320 {
        let (p, n) = (1 + i % 2, 1 + i / 2 % 2);
        let is_long = n == 2 && i % 40 != 2;
        text.push_str(&format!("{p},{n},{}\n", if is_long { 100 } else { 1 }));
    }
    world.write("rows.csv", &text);
    let run =
        |format: &str| world.poise(["analyze", "rows.csv", "--categories", "2", "--format", format]).status(0).stdout;
    let found: serde_json::Value = serde_json::from_str(&run("json")).unwrap();
    let nodes = found["tree"]["nodes"].as_array().unwrap();
    assert!(nodes.iter().any(|node| node["split"]["factor"] == "p"), "{found}");
    // Of the rows with n = 2 that the tree was learnt from, those that are long.
    let csv = run("csv");
    let there: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let there: Vec<&Vec<&str>> = there.iter().filter(|row| row[1] == "2" && row[row.len() - 1] == "training").collect();
    let long = there.iter().filter(|row| row[2] == "100").count();
    assert!(long < there.len());
    let human = run("human");
    let expected = format!("where n > 1.50: {long} of the {} rows there", there.len());
    assert!(human.contains(&expected), "{expected}: {human}");
    assert!(!human.contains("p ≤") && !human.contains("p > "), "{human}");
    // A question that decides stays.
    assert!(human.contains("n ≤ 1.50? yes"), "{human}");
}

/// Nothing is printed or written where something that is asked for has no place.
#[test]
fn places_are_looked_at_before_anything_is_said() {
    let world = with_rows();
    world.write("taken.html", "mine");
    std::fs::create_dir(world.path("taken")).unwrap();
    for (words, named) in [
        (["--report", "taken.html"].as_slice(), "taken.html"),
        (&["--report", "no/such.html"], "no/such.html"),
        (&["--report", "new.html", "--plots", "taken"], "taken"),
    ] {
        let refused = world.poise([&["analyze", "rows.csv", "--metric", "time"][..], words].concat()).status(2);
        assert!(refused.stdout.is_empty() && refused.stderr.contains(named), "{}\n{}", refused.stdout, refused.stderr);
        assert!(!refused.stderr.contains(".poise-"), "{}", refused.stderr);
    }
    assert!(!world.path("new.html").exists());
    assert_eq!(world.read("taken.html"), "mine");
}

/// Three repetitions at each of five p, whose time is p/2 exactly: a repetition's number leads a tree to runs of other points only,
/// and must not hide that p explains everything.
#[test]
fn a_repetition_hides_nothing() {
    let world = World::new();
    let mut text = String::from("p,repetition,time\n");
    for (p, repetition) in [1, 2, 4, 8, 16].into_iter().flat_map(|p| (1..=3).map(move |r| (p, r))) {
        text.push_str(&format!("{p},{repetition},{}\n", f64::from(p) / 2.0));
    }
    world.write("rows.csv", &text);
    let said = world.poise(["analyze", "rows.csv"]).status(0).stdout;
    assert!(said.starts_with("time is explained by p ("), "{said}");
    assert!(said.contains("repetition makes no difference"), "{said}");
    let json = world.poise(["analyze", "rows.csv", "--format", "json"]).status(0).stdout;
    let found: serde_json::Value = serde_json::from_str(&json).unwrap();
    let of = |name: &str, key: &str| {
        let factors = found["factors"].as_array().unwrap();
        factors.iter().find(|factor| factor["name"] == name).unwrap()[key].as_f64().unwrap()
    };
    // Trees that ask for p alone name all rows right. A shuffle leaves a row a p of its own three with probability 1/5.
    assert_eq!(found["forest"]["out_of_bag_accuracy"], 1.0);
    assert!((of("p", "permutation_importance") - 0.8).abs() < 0.1, "{json}");
    assert!(of("repetition", "permutation_importance") < 0.0, "{json}");
    assert!((of("p", "impurity_importance") + of("repetition", "impurity_importance") - 1.0).abs() < 1e-9, "{json}");
}
