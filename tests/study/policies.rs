//! How often a study makes its runs, in which order, and which of them count: repetition policies, budgets, and advised points.

use crate::common::World;
use crate::with_echo;

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
    // What was said of a point stays as long as its runs do, whether the study still has the point or not.
    let dropped = || {
        let dropped = world.json("s.runs/selection.json")["dropped"].as_array().unwrap().clone();
        dropped.iter().map(|drop| drop["run"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    world.write("s.toml", &study.replace("[1]", "[2]"));
    world.poise(["run", "s.toml"]).status(0);
    assert_eq!(dropped(), ["n1.r2", "n1.r3", "n2.r2", "n2.r3"]);
    std::fs::remove_dir_all(world.path("s.runs/n1.r2")).unwrap();
    world.poise(["run", "s.toml"]).status(0);
    assert_eq!(dropped(), ["n1.r3", "n2.r2", "n2.r3"]);
    world.write("s.toml", study);
    world.poise(["run", "s.toml"]).status(0);
    assert_eq!(dropped(), ["n2.r2", "n2.r3", "n1.r2", "n1.r3"]);
}

/// Of a study with texts the lines say these, too, since each point names every parameter.
#[test]
fn advised_lines_name_the_texts_of_their_group() {
    let world = with_echo();
    let study = |points: &str| {
        world.write("s.toml", &format!("command = [\"./echo\", \"{{n}}\", \"{{opt}}\"]\npoints = [\n{points}]\n"));
        world.poise(["run", "s.toml"]).status(0);
    };
    let points: String =
        (1..=5).map(|n| format!("    {{ n = {n}, opt = \"-a\" }},\n    {{ n = {n}, opt = \"-b x\" }},\n")).collect();
    study(&points);
    let groups = world.names("s.runs").into_iter().filter(|name| name.starts_with("opt=")).collect::<Vec<_>>();
    let advise = |group: &String| {
        let input = format!("s.runs/{group}");
        world.poise(["advise", &input, "--at", "n=50", "--tolerance", "1e-9"]).status(0).stdout
    };
    let human = advise(groups.iter().find(|group| group.as_str() == "opt=-a").unwrap());
    let lines: Vec<&str> = human.lines().filter(|line| line.starts_with("    { n = ")).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line.contains("opt = \"-a\"")), "{human}");
    study(&(points + &lines.join("\n") + "\n"));
    // Whether a text with a blank is one word or two is not known.
    let other = advise(groups.iter().find(|group| group.as_str() != "opt=-a").unwrap());
    assert!(!other.contains("    { n = "), "{other}");
}
