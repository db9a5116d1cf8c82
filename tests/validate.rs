//! `poise bench validate`: it scores what it really measured, continues where it was interrupted, and fails when any
//! part of the chain miscounts, loses something or models wrongly.

mod common;

use std::fs;

use common::{Outcome, World, has_smpi};
use poise_profile::{Metric, OverRanks, Profile};
use serde_json::Value;

/// Functions whose growth is easy to tell, small enough to run in seconds.
const SMALL: &str = r#"
name = "small"
[parameters]
p = [2, 4, 6, 8, 12]
n = [1000, 2000, 3000, 4000, 5000]
[test]
p = 16
n = 6000

[[function]]
name = "work"
arrangement = "nested"
kernels = [{ complexity = "n", operation = "add", element = "double" }, { complexity = "p", operation = "multiply" }]
mpi = [{ operation = "broadcast", elements = "n", element = "double" }]

[[function]]
name = "talk"
kernels = [{ complexity = "n^(3/2)", operation = "stencil", element = "float" }]
mpi = [{ operation = "send_receive", elements = "4 * n", element = "int" }]
"#;

const COMMAND: [&str; 13] = [
    "bench",
    "validate",
    "small.toml",
    "-o",
    "v",
    "--repetitions",
    "2",
    "--draws",
    "1",
    "--extrap",
    "off",
    "--format",
    "json",
];

fn validate(world: &World) -> Outcome {
    world.poise(COMMAND)
}

fn parsed(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|e| panic!("{e}: {}\n{}", outcome.stdout, outcome.stderr))
}

/// Share of call paths of a kind whose exponents are right by effort, and their number.
fn right(result: &Value, kind: &str) -> (f64, u64) {
    let is_it = |line: &&Value| line["kind"] == kind && line["way"] == "effort";
    let line = result["table"].as_array().unwrap().iter().find(is_it).unwrap();
    let models = line["models"].as_u64().unwrap();
    (line["right"].as_u64().unwrap() as f64 / models as f64, models)
}

/// Changes the value of a metric of a function, or of an MPI function, in the profile of one run.
fn tamper(world: &World, run: &str, name: &str, metric: Metric, change: impl Fn(&mut OverRanks)) {
    let path = world.path(&format!("v/runs/{run}/profile.poise"));
    let mut profile = Profile::read(&path).unwrap();
    let mangled = format!("_Z{}{name}", name.len());
    let is_it = |node: u32| {
        let region = &profile.regions[profile.nodes[node as usize].region as usize].name;
        region == name || region.starts_with(&mangled)
    };
    let found: Vec<_> = profile.values.keys().copied().filter(|&(node, m)| m == metric && is_it(node)).collect();
    assert_eq!(found.len(), 1, "{name} in {run}");
    change(profile.values.get_mut(&found[0]).unwrap());
    fs::remove_file(&path).unwrap();
    profile.write(&path).unwrap();
}

#[test]
fn it_scores_what_it_measured_continues_and_notices_whatever_is_wrong() {
    let world = World::new();
    world.write("small.toml", SMALL);
    let first = validate(&world).status(0);
    let result = parsed(&first);
    assert_eq!(result["schema"], "counterpoise/validation-scores");
    assert_eq!(right(&result, "computation"), (1.0, 2));
    assert_eq!(right(&result, "communication"), (1.0, 3), "broadcast, send and receive");
    assert_eq!(result["exactness"]["wrong"], serde_json::json!([]));
    // 5 call paths: visits of all, bytes both ways of 3, blocks of 2 twice (sum and extremes); 25 points twice, 1 twice.
    assert_eq!(result["exactness"]["checked"], (5 + 2 * 3 + 2 * 2) * (25 * 2 + 2));
    for side in ["with_counters", "without"] {
        assert_eq!(result["cost"][side]["runs"], 25);
        assert!(result["cost"][side]["core_seconds"].as_f64().unwrap() > 0.1, "{side}");
    }
    let combinations = |count: u64| {
        let cells = result["fewer_repetitions"].as_array().unwrap().iter();
        let cells = cells.filter(|c| c["at"] == count && c["way"] == "effort" && c["group"] == "computation");
        cells.map(|c| c["tally"]["models"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!([combinations(1), combinations(2)], [4, 2], "two functions, each one of two repetitions, or both");
    let page = world.read("v/validation.html");
    assert_eq!(page.matches("<svg").count(), 8, "four drawings of each figure");

    // Again: nothing runs, and the result is the same to the last byte.
    let record = "v/runs/p2.n1000.r1/run.json";
    let before = [world.read(record), world.read("v/runs/p6.n1000.r1/run.json")];
    assert_eq!(validate(&world).status(0).stdout, first.stdout);
    assert_eq!([world.read(record), world.read("v/runs/p6.n1000.r1/run.json")], before);
    // What is missing is measured, and nothing else.
    fs::remove_dir_all(world.path("v/runs/p2.n1000.r1")).unwrap();
    validate(&world).status(0);
    assert_ne!(world.read(record), before[0]);
    assert_eq!(world.read("v/runs/p6.n1000.r1/run.json"), before[1]);
    let other = COMMAND.into_iter().chain(["--seed", "1"]);
    assert!(world.poise(other).status(2).stderr.contains("holds another validation"));

    miscounts(&world);
}

/// Breaks one thing after another in the measurements; each must be noticed, and all is well again without it.
fn miscounts(world: &World) {
    let run = "p4.n3000.r2";
    let fails = |what: &str| {
        let failed = validate(world).status(1);
        assert!(failed.stderr.contains(what), "{}", failed.stderr);
    };
    let one_more = |v: &mut OverRanks| (v.maximum.0, v.sum) = (v.maximum.0 + 1, v.sum + 1);
    let one_less = |v: &mut OverRanks| (v.maximum.0, v.sum) = (v.maximum.0 - 1, v.sum - 1);
    tamper(world, run, "work", Metric::BasicBlocks, one_more);
    fails("basic_blocks of main -> work at p=4, n=3000");
    tamper(world, run, "work", Metric::BasicBlocks, one_less);

    // Every rank receives 4 · 3000 ints of 4 bytes. One rank's message is lost, and with it its bytes.
    let bytes = 4 * 3000 * 4;
    tamper(world, run, "MPI_Recv", Metric::BytesReceived, |v| {
        assert_eq!((v.minimum.0, v.maximum.0, v.sum), (bytes, bytes, 4 * u128::from(bytes)));
        (v.minimum.0, v.sum) = (0, 3 * u128::from(bytes));
    });
    fails("bytes_received of main -> talk -> MPI_Recv at p=4, n=3000: 144000 instead of 192000");
    tamper(world, run, "MPI_Recv", Metric::BytesReceived, |v| {
        (v.minimum.0, v.sum) = (bytes, 4 * u128::from(bytes));
    });

    // Every count of a function grows with p where the truth does not: the model is wrong.
    for (p, n, r) in [2_u64, 4, 6, 8, 12]
        .iter()
        .flat_map(|&p| [1, 2, 3, 4, 5].map(|n| (p, 1000 * n)))
        .flat_map(|(p, n)| [(p, n, 1), (p, n, 2)])
    {
        tamper(world, &format!("p{p}.n{n}.r{r}"), "talk", Metric::BasicBlocks, |v| {
            (v.minimum.0, v.maximum.0, v.sum) = (v.minimum.0 * p, v.maximum.0 * p, v.sum * u128::from(p));
        });
    }
    fails("Only 1 of 2 computation call paths have the truth's exponents, fewer than 99 %: not talk.");
}

#[test]
fn a_program_that_does_something_else_than_the_truth_says_fails() {
    let world = World::new();
    // Odd numbers of ranks: the last one has nobody to talk to.
    world.write("small.toml", &SMALL.replace("p = [2, 4, 6, 8, 12]", "p = [1, 2, 3, 4, 5]").replace("p = 16", "p = 7"));
    // Without the counters it ends after the first measurements. Then the program is changed.
    let mut command = world.command(env!("CARGO_BIN_EXE_poise"), COMMAND);
    let failed = common::outcome(command.env("POISE_WRAPPER", "off").output().unwrap()).status(5);
    assert!(failed.stderr.contains("was not measured"), "{}", failed.stderr);
    let source = world.read("v/small.cpp");
    for built in ["small", "small-plain"] {
        fs::remove_file(world.path("v").join(built)).unwrap();
    }
    for folder in ["runs", "runs-plain", "test"] {
        fs::remove_dir_all(world.path("v").join(folder)).unwrap();
    }
    // The first rank broadcasts one number less, and everybody expects that.
    let shorter = source.replacen("MPI_Bcast(message.send, elements,", "MPI_Bcast(message.send, elements - 1,", 1);
    // The last rank goes round the outer loop once more.
    let longer = shorter.replacen(
        "const std::int64_t trips0 = bench::rounded(",
        "const std::int64_t trips0 = (parameters.rank + 1 == static_cast<int>(parameters.p) ? 1 : 0) + bench::rounded(",
        1,
    );
    assert!(shorter != source && longer != shorter, "the generated program looks different now");
    fs::write(world.path("v/small.cpp"), longer).unwrap();
    let failed = validate(&world).status(1);
    let result = parsed(&failed);
    let wrong = |metric: &str| {
        let all = result["exactness"]["wrong"].as_array().unwrap().iter();
        all.filter(|w| w["metric"] == metric).count()
    };
    assert!(wrong("bytes_sent") >= 52 && wrong("bytes_received") >= 52, "{}", failed.stderr);
    // With one rank there is no other to differ from.
    assert!(wrong("basic_blocks") >= 42, "{}", failed.stderr);
    assert_eq!(wrong("visits"), 0);
    let all = result["exactness"]["wrong"].as_array().unwrap();
    assert!(all.iter().all(|w| w["callpath"][1] == "work"), "the other function is as it was");
}

#[test]
fn the_quick_validation_of_drawn_functions_finds_their_growth() {
    let world = World::new();
    let quick = ["bench", "validate", "--quick", "-o", "v", "--extrap", "off", "--format", "json"];
    let outcome = world.poise(quick);
    let result = parsed(&outcome);
    assert_eq!(result["functions"], 8);
    assert_eq!(result["exactness"]["wrong"], serde_json::json!([]), "{}", outcome.stderr);
    for kind in ["computation", "communication"] {
        let (share, models) = right(&result, kind);
        assert!(share >= 0.9 && models >= 7, "{share} of {models} {kind}: {}", outcome.stderr);
    }
    // Its gate asks for more, and is what decides.
    let expected = i32::from(!result["failures"].as_array().unwrap().is_empty());
    assert_eq!(outcome.status, Some(expected));
}

#[test]
fn one_wrong_model_of_right_counts_fails() {
    let world = World::new();
    // Two loops, one in the other, whose product has an exponent that no model has: whatever is found for it is wrong. The
    // exponent that the specification adds is one that models may have.
    let odd = SMALL
        .replacen("[[function]]", "[sets]\nexponents = [\"5/6\"]\n\n[[function]]", 1)
        .replace("complexity = \"n\", operation = \"add\"", "complexity = \"n^(1/3)\", operation = \"add\"")
        .replace("complexity = \"p\", operation = \"multiply\"", "complexity = \"n^(1/4)\", operation = \"multiply\"")
        .replace("n^(3/2)", "100 * n^(5/6)");
    world.write("small.toml", &odd);
    let failed = world.poise(COMMAND.map(|word| if word == "2" { "1" } else { word })).status(1);
    let result = parsed(&failed);
    assert_eq!(result["exactness"]["wrong"], serde_json::json!([]), "every count is right");
    assert_eq!(right(&result, "communication"), (1.0, 3));
    let why = "Only 1 of 2 computation call paths have the truth's exponents, fewer than 99 %: not work.";
    assert_eq!(result["failures"], serde_json::json!([why]));
    assert!(failed.stderr.contains(why), "{}", failed.stderr);
    let talk =
        result["callpaths"].as_array().unwrap().iter().find(|c| c["callpath"] == serde_json::json!(["main", "talk"]));
    assert_eq!(talk.unwrap()["truth"]["n"], "5/6", "as the specification says, and its model is right");
}

/// What the runs of a folder cost: the time of the truth's call paths, summed over ranks, by points and repetitions.
fn cost(world: &World, folder: &str) -> Vec<(String, f64)> {
    let of = |run: &String| {
        let profile = Profile::read(world.path(&format!("v/{folder}/{run}/profile.poise"))).unwrap();
        let is_known = |node: u32| {
            let path = profile.path(node).unwrap();
            let first = path.get(1).map_or("", |region| region.name.as_str());
            ["work", "talk"].iter().any(|name| first.contains(name))
        };
        let times = profile.values.iter().filter(|((node, metric), _)| *metric == Metric::Time && is_known(*node));
        times.map(|(_, over_ranks)| over_ranks.sum as f64).sum::<f64>()
    };
    let runs = world.names(&format!("v/{folder}")).into_iter().filter(|name| name.starts_with('p'));
    runs.map(|run| (run.clone(), of(&run))).collect()
}

#[test]
fn advised_points_are_measured_and_compared_with_the_full_grid() {
    let world = World::new();
    world.write("small.toml", SMALL);
    let command = COMMAND.map(|word| if word == "2" { "1" } else { word });
    let result = parsed(&world.poise(command.into_iter().chain(["--advised=1"])));
    let lines = result["advised"].as_array().unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let [grid, advised] = ["runs", "advised"].map(|folder| cost(&world, folder));
    let of_grid: f64 = grid.iter().filter(|(run, _)| run.ends_with(".r1")).map(|(_, cost)| cost).sum();
    // The first design: lines along p and n, and three points in which both grow.
    let design: Vec<String> = [2, 4, 6, 8, 12]
        .map(|p| (p, 1000))
        .into_iter()
        .chain([2000, 3000, 4000, 5000].map(|n| (2, n)))
        .chain([(4, 2000), (6, 3000), (8, 4000)])
        .map(|(p, n)| format!("p{p}.n{n}.r1"))
        .collect();
    let of_design: f64 = advised.iter().filter(|(run, _)| design.contains(run)).map(|(_, cost)| cost).sum();
    let added = advised.iter().filter(|(run, _)| !design.contains(run));
    let dearest = added.map(|(_, cost)| *cost).fold(0.0, f64::max);
    assert_eq!(lines.len(), 4 * 3, "four noises and three ways");
    for three in lines.chunks(3) {
        assert_eq!(["full-grid", "first-design", "advised"], [0, 1, 2].map(|i| three[i]["choice"].as_str().unwrap()));
        assert_eq!(number(&three[0]["runs"]), 25.0);
        // A sum over a sum of the same costs, in whatever order.
        assert!((number(&three[0]["core_hours_percent"]) / 100.0 - 1.0).abs() < 1e-9, "{three:?}");
        assert_eq!(number(&three[1]["runs"]), 12.0);
        for line in three {
            // The call paths one by one have the mean of all, and none is off by less than its mean with the sign.
            let each = line["each"].as_array().unwrap();
            let errors: Vec<f64> = each.iter().map(|path| number(&path["error"])).collect();
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            assert!((mean - number(&line["call_paths"]["mean"])).abs() < 1e-9, "{line:?}");
            assert!(each.iter().all(|path| number(&path["bias"]).abs() <= number(&path["error"]) + 1e-9), "{line:?}");
            for (errors, excess) in [("whole_program", "whole_program_excess"), ("call_paths", "call_paths_excess")] {
                let more = number(&line[errors]["mean"]) - number(&three[0][errors]["mean"]);
                assert!(
                    (number(&line[excess]["mean"]) - more).abs() < 1e-9 && line[excess]["standard_error"].is_null()
                );
            }
        }
        assert!(
            (number(&three[1]["core_hours_percent"]) / (100.0 * of_design / of_grid) - 1.0).abs() < 1e-9,
            "{three:?}"
        );
        // Only the last run may cost more than what was left, and nothing is added to a first design that alone costs more, as
        // on a machine that disturbs its runs.
        let (runs, percent) = (number(&three[2]["runs"]), number(&three[2]["core_hours_percent"]));
        let most = 50.0 + 100.0 * dearest / of_grid;
        assert!(runs >= 12.0 && (percent <= most || runs == 12.0), "{most} {three:?}");
    }
    // Runs of a point are shared by all noises as far as they go.
    let chosen = lines.iter().filter(|line| line["choice"] != "full-grid");
    let most = chosen.map(|line| number(&line["runs"])).fold(0.0, f64::max);
    assert!(advised.len() as f64 >= most && advised.iter().all(|(_, cost)| *cost > 0.0), "{most} {advised:?}");
    assert!(world.read("v/validation.html").contains("Advised points beside the full grid"));

    // It goes on from a validation without it, and makes no run twice.
    let record = world.read("v/advised/p2.n1000.r1/run.json");
    let again = parsed(&world.poise(command.into_iter().chain(["--advised=1"])));
    assert_eq!(again, result);
    assert_eq!(world.read("v/advised/p2.n1000.r1/run.json"), record);
    let least = ["whole_program", "call_paths"].map(|of| again["advised_least"][of].as_f64().unwrap());
    assert!(least.iter().all(|ratio| *ratio > 0.0 && *ratio < 10.0), "{least:?}");
    let without = parsed(&world.poise(command));
    assert!(without["advised"].is_null() && without["advised_least"].is_null());
}

#[test]
fn smpi_counts_what_open_mpi_counts_and_its_times_repeat() {
    if !has_smpi() {
        return;
    }
    let world = World::new();
    world.write(
        "small.toml",
        &SMALL.replace("p = [2, 4, 6, 8, 12]", "p = [2, 4, 8, 16, 32]").replace("p = 16", "p = 64"),
    );
    let run = |folder: &str, more: &[&str]| {
        let all =
            ["bench", "validate", "small.toml", "-o", folder, "--repetitions", "1", "--draws", "1", "--extrap", "off"];
        let result = parsed(&world.poise(all.iter().chain(&["--format", "json"]).chain(more)));
        assert_eq!(result["exactness"]["wrong"], serde_json::json!([]));
        result
    };
    let many = ["bench", "validate", "small.toml", "-o", "many", "--smpi", "--advised=1", "--fewest-ranks", "2"];
    let refused = world.poise(many).status(2).stderr;
    assert!(
        refused.contains("--fewest-ranks is 2, and the grid has runs of 2 ranks; give a smaller number."),
        "{refused}"
    );
    let [mut one, mut two] = ["one", "two"].map(|folder| run(folder, &["--smpi", "--advised=1"]));
    assert_eq!(right(&one, "computation"), (1.0, 2));
    assert_eq!(right(&one, "communication"), (1.0, 3));
    // A point that is asked for again is not simulated again, since it would take the same time.
    let advised: Vec<String> = world.names("one/advised").into_iter().filter(|name| name.starts_with('p')).collect();
    assert!(advised.len() >= 12 && advised.iter().all(|name| name.ends_with(".r1")), "{advised:?}");
    // Simulated times depend on nothing but the program.
    for result in [&mut one, &mut two] {
        result.as_object_mut().unwrap().remove("cost");
    }
    assert_eq!(one, two);

    // The same program under Open MPI: the same counts, to the last one.
    run("real", &[]);
    for point in ["p2.n1000", "p16.n3000", "p32.n5000"] {
        let counts = |folder: &str| {
            let profile = Profile::read(world.path(&format!("{folder}/runs/{point}.r1/profile.poise"))).unwrap();
            let path = |node: u32| profile.path(node).unwrap().iter().map(|r| r.name.clone()).collect::<Vec<_>>();
            let counted = profile.values.iter().filter(|((_, metric), _)| *metric != Metric::Time);
            let mut counts: Vec<_> = counted
                .map(|(&(node, metric), v)| (path(node), metric.name(), (v.ranks, v.sum, v.minimum.0, v.maximum.0)))
                .filter(|(path, _, _)| path.len() > 1 && !["MPI_Init", "MPI_Finalize"].contains(&&*path[1]))
                .collect();
            counts.sort();
            counts
        };
        let [simulated, real] = ["one", "real"].map(counts);
        assert!(simulated.len() >= 15, "{simulated:?}");
        assert_eq!(simulated, real, "{point}");
    }
}
