//! What data that comes in means: whether values hold those of callees, in which unit they are, and what else lies in a
//! folder. Expected numbers are computed here from the files themselves.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::World;
use serde_json::Value;

fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets").join(name)
}

/// Means of the two repetitions at the last point, which is the largest, by region of a file of Extra-P text.
fn at_the_largest_point(text: &str) -> Vec<(String, f64)> {
    let regions = text.split("REGION").skip(1);
    let of = |region: &str| {
        let (name, data) = region.split_once('\n').unwrap();
        let last = data.lines().rfind(|line| line.starts_with("DATA")).unwrap();
        let values: Vec<f64> = last.split_whitespace().skip(1).map(|v| v.parse().unwrap()).collect();
        (name.trim().to_owned(), values.iter().sum::<f64>() / values.len() as f64)
    };
    regions.map(of).collect()
}

/// The cell of a column in the row of a plain table that begins so.
fn cell(text: &str, row: &str, heading: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| line.trim_start().starts_with('#')).unwrap();
    // Numbers are aligned to the right, so a column ends where its rule does.
    let rule = lines[head + 1];
    let from = lines[head].find(heading).unwrap();
    let start = rule[..from].rfind("  ").map_or(0, |at| at + 2);
    let end = rule[from..].find(' ').map_or(usize::MAX, |at| from + at);
    let line: Vec<char> = lines.iter().find(|line| line.contains(row)).unwrap().chars().collect();
    line[start..end.min(line.len())].iter().collect::<String>().trim().to_owned()
}

fn seconds(cell: &str) -> f64 {
    let (number, unit) = cell.split_once(' ').unwrap();
    let factor = match unit {
        "s" => 1.0,
        "µs" => 1e-6,
        "ms" => 1e-3,
        "min" => 60.0,
        "h" => 3600.0,
        other => panic!("{other}"),
    };
    number.parse::<f64>().unwrap() * factor
}

#[test]
fn flat_names_below_a_main_are_not_added_up_unless_that_is_said() {
    let world = World::new();
    let file = dataset("relearn2p/relearn_data.txt");
    let measured = at_the_largest_point(&fs::read_to_string(&file).unwrap());
    let main = measured.iter().find(|(name, _)| name == "main()").unwrap().1;
    let sum: f64 = measured.iter().map(|(_, value)| value).sum();
    assert!(sum > 2.0 * main, "the example's point: {sum} and {main}");
    let report = |flags: &[&str]| world.poise([&["report", file.to_str().unwrap()], flags].concat()).status(0).stdout;
    for (flags, expected, sentence) in [
        (&[][..], main, "since main() is the largest at every point: it is the total"),
        (&["--inclusive"], main, "the total is that of main()"),
        (&["--exclusive"], sum, ""),
    ] {
        let text = report(flags);
        let found = seconds(&cell(&text, " total", "measured"));
        assert!((found / expected - 1.0).abs() < 0.006, "{flags:?}: {found} and {expected}\n{text}");
        assert!(text.contains(sentence), "{text}");
        assert_eq!(text.contains("Values"), !sentence.is_empty(), "{text}");
        assert_eq!(cell(&text, "main()", "share today") == "100 %", expected == main, "{text}");
    }
    // Without a main nothing tells, which is told.
    let headless = fs::read_to_string(&file).unwrap().replace("main()", "part of it");
    world.write("headless.txt", &headless);
    let text = world.poise(["report", "headless.txt"]).status(0).stdout;
    assert!(text.contains("Values are taken to be exclusive") && text.contains("Give --inclusive"), "{text}");
}

#[test]
fn inclusive_profiles_have_the_root_as_their_total_and_differences_as_own_shares() {
    let world = World::new();
    let folder = dataset("cube/matrix");
    let folder = folder.to_str().unwrap();
    // The total is the same, whichever way it is told: exclusive values add up to the root's inclusive one.
    let total = |arguments: &[&str]| {
        let text = world.poise(arguments).status(0).stdout;
        (seconds(&cell(&text, " total", "measured")), text)
    };
    let (exclusive, text) = total(&["report", folder]);
    assert!(!text.contains("own then") && !text.contains("Values"), "{text}");
    let (inclusive, text) = total(&["report", folder, "--inclusive"]);
    assert!((inclusive / exclusive - 1.0).abs() < 0.006, "{inclusive} {exclusive}\n{text}");
    assert!(text.contains("own then") && text.contains("the sum of the outermost call paths"), "{text}");
    // What is written as our own JSON keeps its meaning.
    world.poise(["import", folder, "--inclusive", "-o", "inclusive.json"]).status(0);
    assert_eq!(world.json("inclusive.json")["callees"], "included");
    let (kept, again) = total(&["report", "inclusive.json"]);
    assert_eq!((kept, &again), (inclusive, &text));
    let refused = world.poise(["report", "inclusive.json", "--exclusive"]).status(3).stderr;
    assert!(refused.contains("include those of callees here, and exclude them"), "{refused}");
    world.poise(["import", folder, "-o", "exclusive.json"]).status(0);
    let refused = world.poise(["compare", "inclusive.json", "exclusive.json"]).status(4).stderr;
    assert!(refused.contains("in the first experiment and not in the second"), "{refused}");
}

/// A table of 3 p and its repetition, in a unit of `factor` seconds.
fn table(factor: f64) -> String {
    let rows = [2, 4, 8, 16, 32].map(|p| format!("{p},{}\n", 3.0 * f64::from(p) / factor));
    format!("p,t\n{}", rows.concat())
}

#[test]
fn times_are_compared_in_seconds_whatever_unit_they_come_in() {
    let world = World::new();
    world.write("hours.csv", &table(3600.0));
    let read = |columns: &str, status: i32| {
        let outcome = world.poise(["import", "other.csv", "--columns", columns]).status(status);
        (outcome.stdout, outcome.stderr)
    };
    for (unit, factor) in [("msec", 1e-3), ("usec", 1e-6), ("minutes", 60.0), ("s", 1.0), ("ns", 1e-9)] {
        world.write("other.csv", &table(factor));
        let (text, _) = read(&format!("p=parameter,t=metric:time[{unit}]"), 0);
        let found: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(found["metrics"][0]["unit"], "s");
        for (value, p) in found["values"].as_array().unwrap().iter().zip([2.0, 4.0, 8.0, 16.0, 32.0]) {
            assert!((value.as_f64().unwrap() / (3.0 * p) - 1.0).abs() < 1e-12, "{unit} {value}");
        }
        world.write("other.json", &text);
    }
    // A header's unit is that of its values, whatever the column is called then.
    for header in ["t [ms]", "t (ms)"] {
        world.write("other.csv", &table(1e-3).replacen("p,t\n", &format!("p,{header}\n"), 1));
        for role in ["metric", "metric:time", "metric:wall"] {
            let (text, _) = read(&format!("p=parameter,{header}={role}"), 0);
            let found: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(found["metrics"][0]["unit"], "s", "{header} {role}");
            assert!((found["values"][0].as_f64().unwrap() - 6.0).abs() < 1e-9, "{header} {role}: {found}");
        }
    }
    // The options of reading count for both, and the first is in hours.
    world.write("a.csv", &table(1e-3));
    world.write("b.csv", &table(0.5e-3));
    let columns = ["--columns", "p=parameter,t=metric:time[ms]"];
    let outcome = world.poise(["compare", "a.csv", "b.csv", "--format", "json"].iter().chain(&columns)).status(0);
    let found: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!((found["pairs"][0]["ratio"]["value"].as_f64().unwrap() - 2.0).abs() < 1e-6, "{found}");
    assert!((found["pairs"][0]["first"]["value"].as_f64().unwrap() - 192.0).abs() < 1e-3, "{found}");
    let (_, error) = read("p=parameter,t=metric:time[parsec]", 2);
    assert!(error.contains("`parsec` is no unit of `time`, which may be in ns, us, ms"), "{error}");
}

#[test]
fn what_is_in_other_units_is_refused() {
    let world = World::new();
    world.write("t.csv", &table(1.0));
    for unit in ["J", "ms"] {
        let columns = format!("p=parameter,t=metric:cost[{unit}]");
        world.poise(["import", "t.csv", "--columns", &columns, "-o", &format!("{unit}.json")]).status(0);
    }
    let error = world.poise(["compare", "J.json", "ms.json"]).status(4).stderr;
    assert!(error.contains("cost is in J in the first and in s in the second"), "{error}");
    world.write("e.toml", "[[expect]]\ncallpath = \"*\"\nmetric = \"cost\"\nbaseline = \"J.json\"\n");
    let error = world.poise(["check", "ms.json", "--expect", "e.toml"]).status(3).stderr;
    assert!(error.contains("e.toml:4: ") && error.contains("cost in `J` and the input in `s`"), "{error}");
}

#[test]
fn hints_about_cells_and_roles_are_about_what_is_wrong() {
    let world = World::new();
    world.write("t.csv", "p,t\n2,1\n4,NaN\n");
    let hint = |columns: &str| world.poise(["import", "t.csv", "--columns", columns]).status(3).stderr;
    let error = hint("p=parameter,t=metric:time");
    assert!(error.contains("t.csv:3:2") && error.contains("Leave the cell empty"), "{error}");
    assert!(!error.contains("role callpath"), "{error}");
    world.write("t.csv", "p,t\n2,1\nfour,2\n");
    assert!(hint("p=parameter,t=metric:time").contains("role callpath"));
    world.write("t.csv", "p,t\n2,1\n4,2\n");
    let error = hint("t=metric:time");
    assert!(error.contains("a column with the role parameter") && error.contains("as in p=parameter"), "{error}");
}

/// Copies profiles of hatchet's and Score-P's into one folder.
fn mixed(world: &World) {
    for p in [1, 8, 27] {
        let name = format!("lulesh.p{p}.n4.r1");
        fs::create_dir_all(world.path(&format!("mixed/{name}"))).unwrap();
        let from = dataset("cube/lulesh").join(&name);
        let file = fs::read_dir(&from).unwrap().map(|e| e.unwrap().path()).find(|p| p.extension().is_some());
        fs::copy(file.unwrap(), world.path(&format!("mixed/{name}/profile.cubex"))).unwrap();
        world.write(&format!("mixed/{name}/scorep.cfg"), "SCOREP_ENABLE_PROFILING=true\n");
    }
    fs::copy(dataset("hatchet/lulesh.p1.cali"), world.path("mixed/odd.p1.cali")).unwrap();
}

#[test]
fn folders_of_several_formats_are_refused_and_explained() {
    let world = World::new();
    mixed(&world);
    let error = world.poise(["model", "mixed"]).status(3).stderr;
    assert!(
        error.contains("3 of cubex (such as lulesh.p1.n4.r1/profile.cubex) and 1 of cali (odd.p1.cali)"),
        "{error}"
    );
    assert!(error.contains("--input-format cubex"), "{error}");
    // What explains it refuses it in the same words, and shows what the choice that it names would read.
    let explained = world.poise(["import", "mixed", "--explain"]).status(3);
    assert_eq!(explained.stderr, error);
    let told = explained.stdout;
    assert!(told.starts_with("format cubex, if --input-format cubex chooses it"), "{told}");
    let chosen = world.poise(["import", "mixed", "--explain", "--input-format", "cubex"]).status(5).stdout;
    assert!(chosen.starts_with("format cubex\n") && chosen.lines().skip(1).eq(told.lines().skip(1)), "{chosen}");
    assert!(told.contains("left out mixed/odd.p1.cali: this is cali, and of this folder cubex is read."), "{told}");
    assert!(told.contains("passed over 3 files that hold no measurements: scorep.cfg (3 times)"), "{told}");
    let runs: Vec<&str> = told.lines().filter(|line| line.starts_with("run ")).collect();
    assert_eq!(runs.len(), 3);
    // 8 before 27, which texts order the other way round.
    assert!(runs[1].contains("p = 8") && runs[2].contains("p = 27"), "{told}");
    assert!(told.contains("points: 3, with 1 repetition of each\n"), "{told}");
    world.poise(["import", "mixed", "--input-format", "cubex", "-o", "chosen.json"]).status(0);
    // Another measurement beside more profiles is told, and more of them than profiles are an error.
    fs::remove_file(world.path("mixed/odd.p1.cali")).unwrap();
    let text = "PARAMETER p\nPOINTS 1 2 4 8 16\nREGION f\nMETRIC time\nDATA 1\nDATA 2\nDATA 3\nDATA 4\nDATA 5\n";
    world.write("mixed/a.txt", text);
    let outcome = world.poise(["import", "mixed", "-o", "with-text.json"]).status(0);
    assert!(outcome.stderr.contains("left out: 1 of extrap (a.txt)"), "{}", outcome.stderr);
    assert_eq!(world.read("with-text.json"), world.read("chosen.json"));
    for name in ["b.txt", "c.txt", "d.txt"] {
        world.write(&format!("mixed/{name}"), text);
    }
    let error = world.poise(["import", "mixed"]).status(3).stderr;
    assert!(error.contains("4 of extrap (such as a.txt) and 3 of cubex"), "{error}");
}

/// A pattern that fits no name is one mistake, and is told once.
#[test]
fn a_wrong_pattern_is_told_once() {
    let world = World::new();
    let set = dataset("cube/matrix");
    let arguments = ["import", set.to_str().unwrap(), "--explain", "--pattern", "foo.{p}.x{n}"];
    let told = world.poise(arguments).status(3).stderr;
    assert_eq!(told.lines().count(), 1, "{told}");
    let runs = fs::read_dir(&set).unwrap().filter(|e| e.as_ref().unwrap().path().is_dir()).count();
    assert!(told.contains(&format!("`foo.{{p}}.x{{n}}`, nor of {} others. Change --pattern", runs - 1)), "{told}");
    // What was seen is shown, so that a pattern can be made of it.
    let shown = world.poise(arguments).status(3).stdout;
    let seen = shown.lines().filter(|line| line.starts_with("left out ") && line.contains("/profile.cubex: ")).count();
    assert_eq!(seen, runs, "{shown}");
}

/// A folder in which nothing can be read is shown with what is wrong with each file.
#[test]
fn folders_of_damaged_files_are_explained() {
    let world = World::new();
    fs::create_dir(world.path("bad")).unwrap();
    let whole = fs::read(dataset("tools/spin.n200000.pb.gz")).unwrap();
    for p in [2, 4, 8] {
        fs::write(world.path(&format!("bad/app.p{p}.cubex")), "no archive at all").unwrap();
        fs::write(world.path(&format!("bad/app.p{p}.pb.gz")), &whole[..whole.len() / 2]).unwrap();
    }
    world.write("bad/notes.md", "nothing");
    let explained = world.poise(["import", "bad", "--explain"]).status(3);
    let of =
        |name: &str| explained.stdout.lines().filter(|l| l.starts_with("left out bad/") && l.contains(name)).count();
    assert_eq!((of(".cubex: "), of(".pb.gz: ")), (3, 3), "{}\n{}", explained.stdout, explained.stderr);
    assert!(explained.stdout.contains("cut off"), "{}", explained.stdout);
    assert!(
        explained.stdout.contains("passed over 1 file that holds no measurements: notes.md"),
        "{}",
        explained.stdout
    );
    assert_eq!(explained.stderr.lines().count(), 1, "{}", explained.stderr);
    // So is one of files that nobody knows.
    fs::create_dir(world.path("unknown")).unwrap();
    world.write("unknown/a.dat", "?");
    world.write("unknown/b.dat", "?");
    let explained = world.poise(["import", "unknown", "--explain"]).status(3);
    assert!(
        explained.stdout.contains("passed over 2 files that hold no measurements: a.dat, b.dat"),
        "{}",
        explained.stdout
    );
}

#[test]
fn names_of_columns_tell_the_unit_of_times() {
    let world = World::new();
    let read = |columns: &str, status: i32| {
        let outcome = world.poise(["import", "t.csv", "--columns", columns]).status(status);
        (serde_json::from_str::<Value>(&outcome.stdout).unwrap_or_default(), outcome.stderr)
    };
    for (header, factor, name) in [
        ("time_ms", 1e-3, "time"),
        ("wall_us", 1e-6, "wall"),
        ("time_s", 1.0, "time"),
        ("t_nsec", 1e-9, "t"),
        ("time[ms]", 1e-3, "time"),
    ] {
        world.write("t.csv", &table(factor).replacen("p,t\n", &format!("p,{header}\n"), 1));
        let (found, _) = read(&format!("p=parameter,{header}=metric"), 0);
        assert_eq!(
            (&found["metrics"][0]["name"], &found["metrics"][0]["unit"]),
            (&name.into(), &"s".into()),
            "{header}"
        );
        assert!((found["values"][0].as_f64().unwrap() / 6.0 - 1.0).abs() < 1e-12, "{header}: {found}");
    }
    // What the hint proposes reads it so.
    world.write("t.csv", &table(1e-3).replacen("p,t\n", "p,time_ms\n", 1));
    let hint = world.poise(["model", "t.csv"]).status(3).stderr;
    assert!(hint.contains("--columns 'p=parameter,time_ms=metric'"), "{hint}");
    // One column in two units is not two repetitions, unless somebody says so.
    world.write("t.csv", "p,time_ms,time_us\n2,1,1000\n4,2,2000\n");
    let (_, error) = read("p=parameter,time_ms=metric,time_us=metric", 2);
    assert!(error.contains("`time_us` and another column are both the metric `time`"), "{error}");
    let (found, _) = read("p=parameter,time_ms=metric:time,time_us=metric:time", 0);
    assert_eq!(found["values"], serde_json::json!([0.001, 0.001, 0.002, 0.002]));
}

#[test]
fn a_table_with_a_row_for_each_value_is_read_as_its_hint_says() {
    let world = World::new();
    let rows = [2, 4, 8, 16, 32].map(|p| {
        // The unit is told once for each p, or once at all.
        format!("{p},time,{},{},solve\n{p},visits,,{p},solve\n", if p == 2 { "ms" } else { "" }, 10 * p)
    });
    world.write("long.csv", &format!("p,metric,unit,value,region\n{}", rows.concat()));
    let hint = world.poise(["model", "long.csv"]).status(3).stderr;
    let columns = hint.split('\'').nth(1).unwrap().to_owned() + ",region=callpath";
    assert_eq!(columns, "p=parameter,metric=name,value=value,unit=unit,region=callpath");
    let text = world.poise(["import", "long.csv", "--columns", &columns]).status(0).stdout;
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["callpaths"], serde_json::json!([{"name": "solve"}]));
    assert_eq!(found["metrics"][0]["unit"], "s");
    let values: Vec<f64> = found["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    let expected = [0.02, 0.04, 0.08, 0.16, 0.32, 2.0, 4.0, 8.0, 16.0, 32.0];
    assert!(values.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-12) && values.len() == 10, "{values:?}");
}

/// Our own JSON without a unit means the unit that the metric has everywhere; and one that does not tell what its values hold does
/// not take that from another.
#[test]
fn our_own_json_tells_what_it_tells_and_no_more() {
    let world = World::new();
    world.write("t.csv", &table(1.0));
    let text = world.poise(["import", "t.csv", "--columns", "p=parameter,t=metric:time"]).status(0).stdout;
    world.write("told.json", &text);
    world.write("bare.json", &text.replace("\"unit\":\"s\"", "\"unit\":\"\""));
    let found = world.poise(["compare", "told.json", "bare.json", "--format", "json"]).status(0).stdout;
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(
        (found["pairs"][0]["ratio"]["value"].as_f64(), found["pairs"][0]["unit"].as_str()),
        (Some(1.0), Some("s"))
    );
    let said =
        world.poise(["import", "t.csv", "--columns", "p=parameter,t=metric:time", "--exclusive"]).status(0).stdout;
    assert!(said.contains("\"callees\":\"excluded\"") && !text.contains("callees"));
    world.write("said.json", &said);
    let both = world.poise(["import", "said.json", "told.json"]).status(0);
    assert!(!both.stdout.contains("callees"), "{}", both.stdout);
    assert!(both.stderr.contains("told.json: It does not tell whether values"), "{}", both.stderr);
    let both = world.poise(["import", "said.json", "told.json", "--exclusive"]).status(0);
    assert!(both.stdout.contains("\"callees\":\"excluded\"") && both.stderr.is_empty(), "{}", both.stderr);
}

/// The number behind `before` in a text.
fn number(text: &str, before: &str) -> f64 {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no `{before}` in: {text}")).1;
    rest.split([' ', ':']).next().unwrap().parse().unwrap()
}

#[test]
fn an_undecided_growth_names_its_rival_and_what_would_decide() {
    let world = World::new();
    let points = [4.0_f64, 8.0, 16.0, 32.0, 64.0];
    let mut text = String::from("PARAMETER p\nPOINTS 4 8 16 32 64\nREGION main->solve\nMETRIC time\n");
    // p log2(p) with errors of 8 %, which neighbouring powers explain as well.
    let noisy = |p: f64| 1e-3 * p * p.log2() * (1.0 + 0.08 * (p.log2() * 2.1).sin());
    points.iter().for_each(|&p| text.push_str(&format!("DATA {}\n", noisy(p))));
    world.write("noisy.txt", &text);
    let growth = |bound: &str| {
        world.write("e.toml", &format!("[[expect]]\ncallpath = \"*\"\ngrowth = \"{bound}\"\n"));
        let found = world.poise(["check", "noisy.txt", "--expect", "e.toml", "--format", "json"]).status(0).stdout;
        serde_json::from_str::<Value>(&found).unwrap()["checks"][0].clone()
    };
    let open = growth("p * log2(p)");
    assert_eq!(open["verdict"], "undecided");
    let reason = open["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("growth as p^(4/3) in p is 0.") && reason.contains("the model's p * log2(p),"),
        "{reason}"
    );
    // Both shapes through the middle of the measurements, on the scale of logarithms, differ as much as is said.
    let fitted = |shape: &dyn Fn(f64) -> f64, at: f64| {
        let level = points.iter().map(|&p| (noisy(p) / shape(p)).ln()).sum::<f64>() / points.len() as f64;
        level.exp() * shape(at)
    };
    let at = number(reason, "at p = ");
    assert!([128.0, 256.0, 512.0].contains(&at), "{reason}");
    let off = fitted(&|p| p.powf(4.0 / 3.0), at) / fitted(&|p| p * p.log2(), at) - 1.0;
    // Coefficients are not those of the middle, since noise adds more than it takes away.
    let (told, noise) =
        (number(reason, "differ by ") / 100.0, number(reason, "(the noise of a measurement being ") / 100.0);
    assert!((told - off).abs() < 0.05, "{reason}, and {off}");
    let runs = (3.0 * noise / told.ln_1p()).powi(2).ceil();
    assert!(reason.contains(&format!(": {runs} runs there would tell them apart")), "{reason}, and {runs}");
    assert!(growth("p^3")["reason"].is_null(), "what is decided needs no reason");
    world.write("e.toml", "[[expect]]\ncallpath = \"*\"\ngrowth = \"p * log2(p)\"\n");
    let people = world.poise(["check", "noisy.txt", "--expect", "e.toml"]).status(0).stdout;
    assert!(people.contains(&format!("main -> solve: {reason}\n")), "{people}");
}

/// A call path, at how many points it was measured, and its seconds over p.
type Measured<'a> = (&'a str, usize, fn(f64) -> f64);

/// JSON Lines of `main`, and of what it calls, at the first so many of five points.
fn lines(callpaths: &[Measured]) -> String {
    let of = |&(path, count, seconds): &Measured| -> String {
        let line = |&p: &f64| {
            let value = seconds(p);
            format!(r#"{{"params":{{"p":{p}}},"callpath":"{path}","metric":"time","value":{value}}}"#) + "\n"
        };
        [1.0, 2.0, 4.0, 8.0, 16.0][..count].iter().map(line).collect()
    };
    callpaths.iter().map(of).collect()
}

/// By hand: at p = 512 a caller costs 612 s by its own model, and its callees 0.05 p² and 10 s together.
#[test]
fn advice_and_report_are_about_the_same_program() {
    let world = World::new();
    let callees: [Measured; 2] = [("main->a", 5, |p| 0.05 * p * p), ("main->a->b", 5, |p| 0.02 * p * p)];
    let below: Measured = ("main->c", 5, |_| 10.0);
    let expected = 0.05 * 512.0 * 512.0 + 10.0;
    let with_model: Measured = ("main", 5, |p| 100.0 + p);
    // Two points are too few for a model.
    let without: Measured = ("main", 2, |p| 100.0 + p);
    for main in [with_model, without] {
        world.write("all.jsonl", &lines(&[main, callees[0], callees[1], below]));
        let advice = world.poise(["advise", "all.jsonl", "--inclusive", "--at", "p=512", "--format", "json"]);
        let told: Value = serde_json::from_str(&advice.stdout).unwrap_or_else(|_| panic!("{}", advice.stderr));
        let seconds = told["seconds"].as_f64().unwrap_or_else(|| panic!("{told}"));
        assert!((seconds / expected - 1.0).abs() < 1e-3, "{seconds} for {expected}");
        let text = world.poise(["report", "all.jsonl", "--inclusive", "--at", "p=512"]).stdout;
        let total = self::seconds(&cell(&text, " total", "predicted"));
        assert!((total / expected - 1.0).abs() < 1e-2, "{total} for {expected}\n{text}");
    }
}

#[test]
fn times_that_no_number_holds_in_seconds_are_refused() {
    let world = World::new();
    world.write("huge.csv", "p,t\n1,1\n2,2\n4,1e308\n8,3\n16,4\n");
    let refused = world.poise(["import", "huge.csv", "--columns", "p=parameter,t=metric:time[d]", "-o", "huge.json"]);
    assert!(refused.status(3).stderr.contains("1e308"));
    assert!(!world.path("huge.json").exists());
}

/// What nobody may list is told, and is not taken for nothing.
#[test]
fn folders_that_cannot_be_listed_are_told() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    for n in [1, 2, 3, 4, 5] {
        std::fs::create_dir_all(world.path(&format!("set/n{n}"))).unwrap();
        world.write(&format!("set/n{n}/stacks.folded"), &format!("main;solve {n}00\n"));
    }
    std::fs::create_dir_all(world.path("set/n6")).unwrap();
    let allow = |mode: u32| std::fs::set_permissions(world.path("set/n6"), PermissionsExt::from_mode(mode)).unwrap();
    allow(0);
    // Whom permissions do not bind runs without that privilege.
    let is_bound = std::fs::read_dir(world.path("set/n6")).is_err();
    let words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_poise")];
    let before = if is_bound { &words[3..] } else { &words[..] };
    let poise = |arguments: &[&str]| {
        let mut command = world.command(before[0], before[1..].iter().chain(arguments));
        common::outcome(command.output().unwrap())
    };
    let of_set = poise(&["import", "set", "-o", "set.json"]).status(5).stderr;
    assert!(of_set.contains("set/n6: What is in this folder was left out because it cannot be listed"), "{of_set}");
    assert_eq!(world.json("set.json")["points"].as_array().unwrap().len(), 5);
    // Of statistics each run is needed.
    let dump = "---------- Begin Simulation Statistics ----------\nsimTicks 5 # t\n---------- End Simulation Statistics   ----------\n";
    (1..=5).for_each(|n| drop(world.write(&format!("set/n{n}/stats.txt"), dump)));
    let phases = poise(&["phases", "set"]).status(3).stderr;
    assert!(phases.contains("set/n6: the folder cannot be listed"), "{phases}");
    allow(0o755);
}

/// Notes that nobody may read are no runs, and runs that nobody may read are told.
#[test]
fn files_that_nobody_may_read_are_runs_where_their_names_end_so() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    std::fs::create_dir_all(world.path("set")).unwrap();
    for n in [1, 2, 3, 4, 5] {
        world.write(&format!("set/app.n{n}.folded"), &format!("main;solve {n}00\n"));
    }
    let hide = |name: &str| {
        world.write(name, "main;solve 600\n");
        std::fs::set_permissions(world.path(name), PermissionsExt::from_mode(0o000)).unwrap();
    };
    hide("set/notes.txt");
    // Whom permissions do not bind runs without that privilege.
    let is_bound = std::fs::read(world.path("set/notes.txt")).is_err();
    let words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_poise")];
    let before = if is_bound { &words[3..] } else { &words[..] };
    let poise = |arguments: &[&str]| {
        let mut command = world.command(before[0], before[1..].iter().chain(arguments));
        common::outcome(command.output().unwrap())
    };
    let told = poise(&["import", "set", "-o", "five.json"]).status(0).stderr;
    assert!(!told.contains("notes.txt"), "{told}");
    hide("set/app.n6.folded");
    let told = poise(&["import", "set", "-o", "left.json"]).status(5).stderr;
    assert!(told.contains("set/app.n6.folded: The run was left out because it cannot be read"), "{told}");
    assert_eq!(world.json("left.json")["points"].as_array().unwrap().len(), 5);
}

/// What is asked of tables is not silently forgotten.
#[test]
fn roles_of_columns_are_told_where_there_is_no_table() {
    let world = World::new();
    world.write(
        "times.jsonl",
        &[2, 4, 8, 16, 32].map(|p| format!("{{\"params\":{{\"p\":{p}}},\"value\":{p}}}\n")).concat(),
    );
    world.write("times.csv", "p,time\n2,2\n4,4\n8,8\n16,16\n32,32\n");
    let told = |arguments: &[&str]| {
        let roles = ["--columns", "p=parameter,time=metric"];
        world
            .poise([arguments, &roles].concat())
            .status(0)
            .stderr
            .contains("--columns gives roles to the columns of tables and was not used")
    };
    for command in ["model", "report"] {
        assert!(told(&[command, "times.jsonl"]) && !told(&[command, "times.csv"]), "{command}");
    }
    assert!(told(&["import", "times.jsonl", "--explain"]));
    assert!(told(&["compare", "times.jsonl", "times.jsonl"]));
    assert!(!told(&["model", "times.jsonl", "-q"]));
}

/// Roles of columns are for tables: the other side of a comparison is what it is.
#[test]
fn a_table_is_compared_with_what_is_none() {
    let world = World::new();
    let columns = "p=parameter,time=metric,region=callpath";
    let table = |factor: f64| {
        let row = |p: f64| format!("{p},{},main->solve\n", factor * 0.1 * p);
        format!("p,time,region\n{}", [2.0, 4.0, 8.0, 16.0, 32.0].map(row).concat())
    };
    world.write("old.csv", &table(1.0));
    world.write("new.csv", &table(3.0));
    world.poise(["import", "old.csv", "--columns", columns, "-o", "old.json"]).status(0);
    for (a, b, ratio) in [("old.json", "new.csv", 3.0), ("new.csv", "old.json", 1.0 / 3.0)] {
        let compared =
            world.poise(["compare", a, b, "--columns", columns, "--at", "p=64", "--format", "json"]).status(0);
        let found: Value = serde_json::from_str(&compared.stdout).unwrap();
        let value = found["pairs"][0]["ratio"]["value"].as_f64().unwrap();
        assert!((value / ratio - 1.0).abs() < 1e-6, "{ratio}: {found}");
    }
}

/// What makes measurements useless is said, not only that they are.
#[test]
fn tables_that_say_little_are_told_why() {
    let world = World::new();
    let columns = ["--columns", "p=parameter,time=metric"];
    let told = |name: &str, text: &str, status: i32| {
        world.write(name, text);
        world.poise(["model", name].into_iter().chain(columns)).status(status).stderr
    };
    let negative = told("negative.csv", "p,time\n1,-1\n2,-2\n4,-3\n8,-4\n16,-5\n", 4);
    assert!(negative.contains("0 usable points") && negative.contains("5 values are negative"), "{negative}");
    let ragged = told("ragged.csv", "p,time\n1,1\n2\n4\n8,8\n16,16\n32,32\n64,64\n", 0);
    assert!(ragged.contains("ragged.csv:3: ") && ragged.contains("2 rows have fewer cells"), "{ragged}");
    let more = told("more.csv", "p,time\n1,1\n4,4,5\n8,8\n16,16\n32,32\n", 3);
    assert!(more.contains("more.csv:3:3: this cell has no column"), "{more}");
    assert!(!told("whole.csv", "p,time\n1,1\n2,2\n4,4\n8,8\n16,16\n", 0).contains("cells"));
    // An object of somebody else's that is too long to be seen whole.
    let members: String = (0..20_000).map(|i| format!("\"{i}\":{{}},")).collect();
    world.write("other.json", &format!("{{{members}\"last\":1}}"));
    let other = world.poise(["import", "other.json"]).status(3).stderr;
    assert!(other.contains("the format was not recognised") && other.contains("measurements"), "{other}");
}

/// What makes a prediction less certain than its interval says is marked, and said in every format.
#[test]
fn predictions_far_away_and_off_the_lines_of_a_cross_are_doubted() {
    let world = World::new();
    world.write("line.csv", "p,time\n2,2.1\n4,4\n8,8.2\n16,15.8\n32,32.1\n");
    let columns = ["--columns", "p=parameter,time=metric"];
    let predict = |at: &str, format: &str| {
        let arguments = ["predict", "line.csv", "--at", at, "--format", format].into_iter().chain(columns);
        let outcome = world.poise(arguments).status(0);
        (outcome.stdout, outcome.stderr)
    };
    let sentence =
        "The target is far beyond what was measured (p = 1024 after 2 to 32), and the shape comes from times alone";
    let (table, said) = predict("p=1024", "human");
    assert!(table.contains(" (?)") && said.starts_with(&format!("poise: (?): {sentence}")), "{table}{said}");
    let (json, _) = predict("p=1024", "json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["predictions"][0]["doubt"].as_str().unwrap().starts_with(sentence), "{json}");
    let (csv, _) = predict("p=1024", "csv");
    assert!(csv.contains(",doubt\n") && csv.contains(sentence), "{csv}");
    // Where it was measured, nothing is.
    let (table, said) = predict("p=32", "human");
    assert!(!table.contains("(?)") && said.is_empty(), "{table}{said}");
    assert!(!predict("p=32", "json").0.contains("doubt"));
    let lines = [(2, 10), (4, 10), (8, 10), (16, 10), (2, 20), (2, 40), (2, 80)];
    let rows: String = lines.iter().map(|(p, n)| format!("{p},{n},{}\n", p * n)).collect();
    world.write("cross.csv", &format!("p,n,time\n{rows}"));
    let cross = |at: &str| {
        let columns = "p=parameter,n=parameter,time=metric";
        world.poise(["predict", "cross.csv", "--columns", columns, "--at", at]).status(0).stderr
    };
    let open = "no measurement says whether what p and n add is a sum or a product";
    assert!(cross("p=16,n=80").contains(open));
    assert_eq!(cross("p=2,n=80"), "");
    let shown = |command: &str, file: &str| {
        world
            .poise([command, file, "--columns", "p=parameter,n=parameter,time=metric"])
            .status(0)
            .stdout
            .replace('\n', " ")
    };
    for command in ["model", "report"] {
        assert!(shown(command, "cross.csv").contains(open), "{command}");
    }
    // Ranks and size that grow together.
    let rows: String = (1..=6).map(|i| format!("{},{},{}\n", 1 << i, 100 << i, 2 + i)).collect();
    world.write("weak.csv", &format!("p,n,time\n{rows}"));
    assert!(shown("model", "weak.csv").contains("At all points each value of p goes with one of n"));
    // Nothing is measured twice by being named twice.
    let twice = world.poise(["model", "weak.csv", "./weak.csv", "--columns", "p=parameter,n=parameter,time=metric"]);
    let said = twice.status(2).stderr;
    assert!(said.contains("./weak.csv is given twice, and its measurements would count as repetitions"), "{said}");
}

/// Growth that another function, which explains the times nearly as well, hardly has is marked where it is shown.
#[test]
fn growth_that_may_be_chance_is_marked() {
    let world = World::new();
    let model = |times: [f64; 6]| {
        let rows: String = times.iter().enumerate().map(|(i, time)| format!("{},{time}\n", 2 << i)).collect();
        world.write("line.csv", &format!("p,time\n{rows}"));
        world.poise(["model", "line.csv", "--columns", "p=parameter,time=metric"]).status(0).stdout
    };
    let clear = model([2.1, 4.0, 8.1, 16.0, 32.2, 64.1]);
    assert!(clear.contains("\np  ") && !clear.contains("(?)"), "{clear}");
    let unclear = model([1.0, 1.3, 1.1, 1.4, 1.2, 2.4]);
    assert!(unclear.contains(" (?)  ") && unclear.contains("\n(?): the growth may be chance"), "{unclear}");
    // Also where the column of the growth has no room.
    let narrow = ["model", "line.csv", "--columns", "p=parameter,time=metric", "--table-width", "40"];
    let narrow = world.poise(narrow).status(0).stdout;
    let (table, left_out) = narrow.split_once("left out: ").unwrap();
    assert!(left_out.split_whitespace().any(|word| word == "growth."), "{narrow}");
    assert_eq!(table.matches("(?)").count(), 1, "{narrow}");
}

/// Extra-P refuses files of its own in which call paths lack points, but for archives.
#[test]
fn exports_that_extra_p_does_not_open_are_told() {
    let world = World::new();
    let line = |p: u32, path: &str| {
        format!("{{\"params\":{{\"p\":{p}}},\"callpath\":\"{path}\",\"metric\":\"time\",\"value\":{p}}}\n")
    };
    let whole: String = [2, 4, 8].iter().map(|p| line(*p, "main") + &line(*p, "main->solve")).collect();
    world.write("whole.jsonl", &whole);
    world.write("part.jsonl", &(whole.clone() + &line(16, "main")));
    for format in ["extrap-jsonl", "extrap-json", "extrap-json-numbered", "talpas"] {
        assert_eq!(world.poise(["export", "whole.jsonl", "--to", format]).status(0).stderr, "", "{format}");
        let told = world.poise(["export", "part.jsonl", "--to", format]).status(0).stderr;
        assert!(told.contains("opens such an experiment as extra-p only"), "{format}: {told}");
    }
    for format in ["csv", "json"] {
        assert_eq!(world.poise(["export", "part.jsonl", "--to", format]).status(0).stderr, "", "{format}");
    }
    let text = world.poise(["export", "part.jsonl", "--to", "extrap"]).status(2).stderr;
    assert!(text.contains("lacks measurements at 1 point.") && text.contains("as extra-p only"), "{text}");
}

/// What has no model is in no total, and is told where it is a noteworthy part of it.
#[test]
fn the_part_of_call_paths_without_a_model_is_told() {
    let world = World::new();
    let lines = |io: f64| -> String {
        let line = |p: u32, path: &str, seconds: f64| {
            format!("{{\"params\":{{\"p\":{p}}},\"callpath\":\"{path}\",\"metric\":\"time\",\"value\":{seconds}}}\n")
        };
        let at = |p: &u32| {
            let own = line(*p, "main", 10.0 + 0.1 * f64::from(*p)) + &line(*p, "main->solve", 0.2 * f64::from(*p));
            if *p < 16 { own } else { own + &line(*p, "main->io", io) }
        };
        [1, 2, 4, 8, 16, 32].iter().map(at).collect()
    };
    // 3 s of 13.2 + 6.4 + 3.
    world.write("much.jsonl", &lines(3.0));
    world.write("little.jsonl", &lines(0.5));
    let part = "1 call path without a model takes 13 % of the cost at the largest measured point";
    for command in ["report", "advise"] {
        let said = |file: &str| {
            let text = world.poise([command, file, "--at", "p=64"]).status(5).stdout;
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(said("much.jsonl").contains(part), "{}", said("much.jsonl"));
        assert!(!said("little.jsonl").contains("without a model"), "{command}");
    }
}
