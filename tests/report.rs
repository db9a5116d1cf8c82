//! `poise report` as people meet it: the table on a terminal and in a pipe, and the page in a browser.

mod browser;
mod common;

use std::fmt::Write as _;

use browser::Browser;
use common::World;
use serde_json::{Value, json};

/// A name that wants to be markup, and would tell if it became some.
const HOSTILE: &str = "<img src=x onerror=\"window.hacked=1\"></script><script>window.hacked=1</script> & 'é計'";
/// Call paths below main, more than the program draws.
const KERNELS: usize = 56;

/// What call path `kernel` executes at p ranks and size n, by five kinds of growth.
fn blocks(kernel: usize, p: f64, n: f64) -> f64 {
    let size = (1000 * (kernel + 1)) as f64;
    size * [1.0, n, n * n / 100.0, p, n * p.log2()][kernel % 5]
}

/// Measurements as JSON Lines: exact counts, and times of one nanosecond per block, a little more in the second of two.
fn measurements() -> String {
    let mut text = String::new();
    for kernel in 0..KERNELS {
        let callpath = match kernel {
            0 => format!("main->{HOSTILE}"),
            k => format!("main->group{}->kernel{k}", k % 3),
        };
        for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
            for n in [100.0, 200.0, 300.0, 400.0, 500.0] {
                let count = blocks(kernel, p, n);
                let mut line = |metric: &str, value: f64| {
                    let point = json!({"p": p, "n": n});
                    let _ = writeln!(
                        text,
                        "{}",
                        json!({"params": point, "callpath": callpath, "metric": metric, "value": value})
                    );
                };
                line("basic_blocks", count);
                line("time", 1e-9 * count);
                line("time", 1.01e-9 * count);
            }
        }
    }
    text
}

/// A folder with the measurements and the page of them.
fn with_page() -> World {
    let world = World::new();
    world.write("times.jsonl", &measurements());
    world.poise(["report", "times.jsonl", "--at", "p=256,n=500", "-o", "page.html"]).status(0);
    world
}

/// What models miss is not what repetitions scatter, and both are told where there are repetitions.
#[test]
fn scatter_about_models_is_told_apart_from_that_of_repetitions() {
    let world = World::new();
    // Two repetitions half a percent above and below what no function here follows.
    let rows = |repetitions: &[f64]| -> String {
        let points = [2.0_f64, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0].into_iter().enumerate();
        let one = |(i, p): (usize, f64)| {
            let missed = 1.0 + 0.2 * [1.0, -0.6, 0.8, -1.0, 0.5, 0.9, -0.9, -0.7][i];
            repetitions.iter().map(|off| format!("{p},{}\n", p * missed * (1.0 + off))).collect::<String>()
        };
        format!("p,time\n{}", points.map(one).collect::<String>())
    };
    let told = |file: &str, repetitions: &[f64]| {
        world.write(&format!("{file}.csv"), &rows(repetitions));
        let page = format!("{file}.html");
        let arguments = ["report", &format!("{file}.csv"), "--columns", "p=parameter,time=metric", "-o", &page];
        world.poise(arguments).status(0);
        world.read(&page)
    };
    let twice = told("twice", &[-0.005, 0.005]);
    // Of two values at ± d the standard deviation is d times the root of two: 0.71 %.
    assert!(
        twice.contains("and repetitions about their mean by at most 0.7 %: the rest is what the models miss"),
        "{twice}"
    );
    assert!(twice.contains("repetitions by 0.7 % about their mean"), "at the call path");
    let once = told("once", &[0.0]);
    assert!(once.contains("which only repetitions would tell apart") && !once.contains("repetitions about their mean"));
    assert!(!once.contains("Noise, which is"), "what is not known is not called so");
    what_is_said_of_scatter_is_what_the_table_shows(&once);
}

/// The scatter of the only call path of a page is the root of the mean square of what the table of measured values says, and the
/// furthest measurement is the furthest there.
fn what_is_said_of_scatter_is_what_the_table_shows(page: &str) {
    let article = page.split_once("<article").unwrap().1.split_once("</article>").unwrap().0;
    let number = |text: &str| text.strip_suffix(" %")?.replace('−', "-").parse::<f64>().ok();
    let cells = article.split("<td class=\"number\">").skip(1).filter_map(|cell| cell.split_once('<'));
    let off: Vec<(&str, f64)> = cells.filter_map(|(cell, _)| Some((cell, number(cell)?))).collect();
    assert!(off.len() > 5, "{article}");
    let told = |after: &str, before: &str| {
        let rest = article.split_once(after).unwrap_or_else(|| panic!("{after}: {article}")).1;
        rest.split_once(before).unwrap().0.to_owned()
    };
    let usual = (off.iter().map(|(_, off)| off * off).sum::<f64>() / off.len() as f64).sqrt();
    let said = told("measurements scatter by ", " about the model");
    assert!((number(&said).unwrap() - usual).abs() < 1.0, "{said}, and {usual}");
    let furthest = off.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap();
    assert_eq!(told("the furthest is ", " off at"), furthest.0);
    // All of one call path's cost has its scatter.
    assert!(page.contains(&format!("For half of the cost, measurements scatter about their models by at most {said}")));
}

/// One of a kind is told in the singular.
#[test]
fn one_of_a_kind_is_no_plural() {
    let world = World::new();
    let mut text = String::new();
    for p in [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0] {
        let seconds = if p == 4.0 {
            -1.0
        } else if p == 8.0 {
            0.0
        } else {
            1e-3 * p
        };
        for (metric, value) in [("basic_blocks", 100.0 * p), ("time", seconds)] {
            let line = json!({"params": {"p": p}, "callpath": "main", "metric": metric, "value": value});
            let _ = writeln!(text, "{line}");
        }
    }
    world.write("one.jsonl", &text);
    let models = world.poise(["model", "one.jsonl"]).stdout;
    assert!(models.contains("main: 1 value is negative, not finite or beyond 1e150 and was left out. ["), "{models}");
    assert!(models.contains("main: 1 time is exactly zero. ["), "{models}");
    let compared = world.poise(["compare", "one.jsonl", "one.jsonl"]).stdout;
    assert!(compared.contains("1 pair of effort metrics is not shown;"), "{compared}");
    let explained = world.poise(["import", "one.jsonl", "--explain"]).status(0).stdout;
    assert!(explained.contains("with 1 repetition of each") && explained.contains(": 1 call path\n"), "{explained}");
}

/// What to measure next is chosen for the time, and a page that ranks by something else does not say it.
#[test]
fn advice_is_only_where_time_is_ranked() {
    let world = World::new();
    let row = |(i, p): (usize, f64)| format!("{p},{},{}\n", p * (1.0 + 0.1 * (2.3 * i as f64).sin()), 0.1 * p * p);
    let rows: String = [2.0_f64, 4.0, 8.0, 16.0, 32.0].into_iter().enumerate().map(row).collect();
    world.write("t.csv", &format!("p,time,waited\n{rows}"));
    for (metric, is_told) in [("time", true), ("wait_time", false)] {
        let page = format!("{metric}.html");
        let columns = "p=parameter,time=metric,waited=metric:wait_time";
        world.poise(["report", "t.csv", "--columns", columns, "--metric", metric, "-o", &page]).status(0);
        let page = world.read(&page);
        assert_eq!(page.contains("What to measure next:"), is_told, "{metric}");
        if is_told {
            // No narrower interval is claimed than the ranking's.
            let between = |start: &str, end: &str| page.split_once(start).unwrap().1.split_once(end).unwrap().0;
            let (advice, total) = (between("What to measure next:", "</li>"), between("<tfoot>", "</tfoot>"));
            let interval = total.split_once("<td class=\"interval wide\">").unwrap().1.split_once('<').unwrap().0;
            assert!(interval.contains(" – "), "{total}");
            assert!(advice.contains(&format!("The interval of the ranking, {interval}, adds up")), "{advice}");
            assert!(!advice.contains('±'), "{advice}");
        }
    }
}

#[test]
fn without_a_file_the_ranking_is_a_plain_table() {
    let world = World::new();
    world.write("times.jsonl", &measurements());
    let text = world.poise(["report", "times.jsonl", "--at", "p=256,n=500"]).status(0).stdout;
    assert!(!text.contains('\u{1b}') && !text.contains('▁') && !text.contains('…'), "{text}");
    let rows: Vec<&str> = text.lines().skip(3).take(KERNELS).collect();
    assert_eq!(rows.len(), KERNELS);
    totals_and_measurements_are_told(&text, &rows);
    // Predictions at the target are a multiple of the blocks there; some are the same and may stand in any order.
    let kernel = |row: &&str| cells(row).last().unwrap().rsplit_once("kernel").map_or(0, |(_, k)| k.parse().unwrap());
    let costs: Vec<f64> = rows.iter().map(|row| blocks(kernel(row), 256.0, 500.0)).collect();
    assert!(costs.is_sorted_by(|a, b| a >= b), "{text}");
    assert!(costs[0] > 100.0 * costs[KERNELS - 1], "{text}");
}

/// Of many shapes that are searched in noisy times some have a steep term by chance. Far beyond the measurements these predict more
/// than all others, and do not lead the ranking: who leads is who costs most in truth.
#[test]
fn growth_by_chance_does_not_lead_the_ranking() {
    const CALLPATHS: usize = 1500;
    let mut state: u64 = 3;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut text, mut truth) = (String::new(), Vec::new());
    for kernel in 0..CALLPATHS {
        let size = 10_f64.powf(-4.0 + 5.0 * uniform());
        let cost = |p: f64, n: f64| size * [1.0, n / 100.0, p / 2.0, p.log2(), n * p.log2() / 100.0][kernel % 5];
        truth.push((cost(1024.0, 2000.0), format!("kernel{kernel}")));
        for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
            for n in [100.0, 200.0, 300.0, 400.0, 500.0] {
                for _ in 0..2 {
                    // Twelve uniform numbers less six have a deviation of one: the noise has 5 %.
                    let noise = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                    let value = cost(p, n) * (1.0 + 0.05 * noise);
                    let params = json!({"p": p, "n": n});
                    let line = json!({"params": params, "callpath": format!("main->kernel{kernel}"), "metric": "time", "value": value});
                    let _ = writeln!(text, "{line}");
                }
            }
        }
    }
    truth.sort_by(|a, b| b.0.total_cmp(&a.0));
    let world = World::new();
    world.write("times.jsonl", &text);
    let arguments = ["report", "times.jsonl", "--exclusive", "--at", "p=1024,n=2000"];
    let table = world.poise(arguments).status(0).stdout;
    let rows: Vec<&str> = table.lines().skip(3).take(CALLPATHS).collect();
    let name = |row: &str| row.rsplit_once("main -> ").map_or(String::new(), |(_, name)| name.to_owned());
    let place = |row: &&str| truth.iter().position(|(_, known)| *known == name(row)).unwrap();
    // Neighbours in truth differ by a few percent, less than the predictions err.
    let places: Vec<usize> = rows.iter().take(10).map(place).collect();
    assert!(places.iter().all(|place| *place < 13), "{places:?}");
    // Somebody is predicted to cost more than the first, and told to be in doubt.
    let doubtful: Vec<&&str> = rows.iter().filter(|row| cells(row)[1].ends_with(" (?)")).collect();
    assert!(!doubtful.is_empty());
    let told = format!("(?): of 1500 call paths, {} may owe their growth to chance", doubtful.len());
    assert!(table.contains(&told), "{told}");
    world.poise(arguments.into_iter().chain(["-o", "page.html"])).status(0);
    let told = format!("</i> in the column of growths: of 1500 call paths, {} may owe", doubtful.len());
    assert!(world.read("page.html").contains(&told), "{told}");
}

/// Where the model of what costs most is nothing, as log2(p) at p = 1, nobody is told by what part of it measurements are off.
#[test]
fn no_point_is_off_by_a_part_of_nothing() {
    let world = World::new();
    let mut text = String::new();
    for p in [1.0_f64, 8.0, 27.0] {
        for n in [1.0, 2.0, 3.0, 4.0, 5.0] {
            for run in [0.0, 1.0, 2.0] {
                let noise = ((3.0 * p + 7.0 * n + 5.0 * run) % 5.0) / 4.0;
                // One rank waits for nobody, but for something else in one of its runs.
                let alone = if run == 2.0 { 0.3 * (1.0 + 6.0 * noise) } else { 0.0 };
                let barrier = if p == 1.0 { alone } else { p.log2() * (1.0 + noise) };
                let solve = 0.02 * n * (1.0 + 0.01 * ((5.0 * p + 3.0 * n + run) % 7.0 - 3.0));
                for (name, metric, value) in
                    [("MPI_Barrier", "visits", 1.0), ("MPI_Barrier", "time", barrier), ("solve", "time", solve)]
                {
                    let (params, callpath) = (json!({"p": p, "n": n}), format!("main->{name}"));
                    let line = json!({"params": params, "callpath": callpath, "metric": metric, "value": value});
                    let _ = writeln!(text, "{line}");
                }
            }
        }
    }
    world.write("times.jsonl", &text);
    let model = world.poise(["model", "times.jsonl", "--metric", "time"]).status(0).stdout;
    let barrier = model.lines().find(|line| line.ends_with("main -> MPI_Barrier")).expect("the operation has a model");
    assert!(barrier.contains(" * log2(p)") && !barrier.contains(" + "), "nothing at p = 1: {barrier}");
    world.poise(["report", "times.jsonl", "-o", "page.html"]).status(0);
    let page = world.read("page.html");
    assert!(page.contains("id=\"quality\"") && !page.contains("everything is n/a"), "a part of nothing");
}

/// Another metric is ranked on request, by its own values; each report says what else there is.
#[test]
fn any_metric_can_be_ranked() {
    let world = World::new();
    let mut text = measurements();
    // Visits order the call paths the other way round.
    for kernel in 1..KERNELS {
        for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
            for n in [100.0, 200.0, 300.0, 400.0, 500.0] {
                let (params, callpath) =
                    (json!({"p": p, "n": n}), format!("main->group{}->kernel{kernel}", kernel % 3));
                let visits = json!({"params": params, "callpath": callpath, "metric": "visits", "value": (KERNELS - kernel) as f64 * p});
                let _ = writeln!(text, "{visits}");
            }
        }
    }
    world.write("times.jsonl", &text);
    let report = |more: &[&str]| world.poise([&["report", "times.jsonl", "--at", "p=256,n=500"], more].concat());
    let by_time = report(&[]).status(0).stdout;
    assert!(by_time.starts_with("What will cost most at n = 500, p = 256: time\n"), "{by_time}");
    assert!(
        by_time.contains("\nAlso modelled: basic_blocks, visits; --metric NAME ranks by one of them.\n"),
        "{by_time}"
    );
    let by_visits = report(&["--metric", "visits"]).status(0).stdout;
    assert!(by_visits.contains("\nAlso modelled: basic_blocks, time; --metric NAME"), "{by_visits}");
    let rows: Vec<&str> = by_visits.lines().skip(3).take(KERNELS - 1).collect();
    for (place, row) in rows.iter().enumerate() {
        assert!(row.ends_with(&format!("kernel{}", place + 1)), "{by_visits}");
        let predicted: f64 = ((KERNELS - place - 1) * 256) as f64;
        assert!(row.contains(&format!("  {predicted}  ")), "{row}");
    }
    let unknown = report(&["--metric", "visit"]).status(2);
    assert!(unknown.stderr.contains("which was not measured; did you mean `visits`?"), "{}", unknown.stderr);
    report(&["--metric", "visits", "-o", "visits.html"]).status(0);
    let page = world.read("visits.html");
    assert!(page.contains("Metric: <strong>visits</strong>. Also modelled: basic_blocks, time;"), "the page says so");
    // The same name means the same for `poise model`, in every format.
    let models = world.poise(["model", "times.jsonl", "--metric", "visits", "--format", "json"]).status(0).stdout;
    let models: Value = serde_json::from_str(&models).unwrap();
    let models = models["models"].as_array().unwrap();
    assert!(models.len() == KERNELS - 1 && models.iter().all(|m| m["metric"] == "visits"));
    let table = world.poise(["model", "times.jsonl", "--metric", "visits"]).status(0).stdout;
    assert!(table.starts_with("visits\n") && !table.contains("\ntime"), "{table}");
    world.poise(["model", "times.jsonl", "--metric", "visit"]).status(2);
}

/// The page has one number for how far functions miss points left out, of the model and of its runner-up.
#[test]
fn the_page_judges_model_and_runner_up_by_the_same_number() {
    let world = World::new();
    let wiggle = |x: &[f64]| 1.0 + 0.02 * ((x[0] * 7.3).sin() + (x[0] * 1.9).cos());
    let p: Vec<f64> = (1..=12).map(|i| f64::from(i) * 4.0).collect();
    world.write("one.jsonl", &grid(&[("p", &p)], |x| 1e-3 * (4.0 + x[0]) * wiggle(x)));
    world.poise(["report", "one.jsonl", "-o", "one.html"]).status(0);
    let page = world.read("one.html");
    let after = |text: &str| page.split_once(text).unwrap_or_else(|| panic!("{text}: {page}")).1;
    let told = after("mean error at points left out ").split(" ·").next().unwrap();
    let why = after("Why it lost: ").split(".</p>").next().unwrap();
    assert!(why.starts_with("it misses points left out of the fit by "), "{why}");
    assert!(
        why.contains(&format!("the chosen one by {told}"))
            || why.contains(&format!("{told} on average, as the chosen")),
        "{why}: {told}"
    );
    assert!(page.contains("is how far the function misses a measurement when it is fitted to all the others"));
    let shown = world.poise(["model", "one.jsonl", "-v"]).status(0).stdout;
    assert!(shown.contains("; why it lost: it misses points left out"), "{shown}");
    assert!(shown.contains("Error: how far the function misses a measurement"), "{shown}");
}

/// With `-v` a count says why nothing competed, and a time whose shape that is names it.
#[test]
fn models_without_runners_up_say_why() {
    let world = World::new();
    let mut lines = String::new();
    for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0] {
        let blocks = 50.0 + 3.0 * p;
        for (metric, value) in [("basic_blocks", blocks), ("time", 1e-6 * blocks)] {
            let line = json!({"params": {"p": p}, "callpath": "work", "metric": metric, "value": value});
            lines += &format!("{line}\n");
        }
    }
    world.write("work.jsonl", &lines);
    let shown = world.poise(["model", "work.jsonl", "-v"]).status(0).stdout;
    assert!(shown.contains("work: the function gives the values exactly, so no other competed"), "{shown}");
    assert!(shown.contains("work: the shape is that of basic_blocks; what lost stands with its model"), "{shown}");
}

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// What the ranking says of today and of the whole, beside the sums of what was measured.
fn totals_and_measurements_are_told(text: &str, rows: &[&str]) {
    assert_eq!(cells(text.lines().nth(1).unwrap())[2..4], ["measured", "today"], "{text}");
    let seconds = |cell: &str| {
        let (number, unit) = cell.split_once(' ').unwrap();
        let unit = [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)].into_iter().find(|u| u.0 == unit).unwrap().1;
        number.parse::<f64>().unwrap() * unit
    };
    let close = |cell: &str, expected: f64| (seconds(cell) / expected - 1.0).abs() < 0.006;
    // Of two repetitions that are 1 and 1.01 ns per block.
    let measured = |kernel| 1.005e-9 * blocks(kernel, 32.0, 500.0);
    let row = rows.iter().find(|row| row.ends_with("kernel8")).unwrap();
    assert!(close(cells(row)[2], measured(8)), "{row}");
    let total = cells(text.lines().nth(3 + KERNELS).unwrap());
    assert_eq!(*total.last().unwrap(), "total", "{text}");
    assert!(close(total[0], (0..KERNELS).map(measured).sum()), "{total:?}");
    assert!(close(total[2], (0..KERNELS).map(|k| 1e-9 * blocks(k, 256.0, 500.0)).sum()), "{total:?}");
    let (low, high) = total[3].split_once(" to ").unwrap();
    let unit = high.split_once(' ').unwrap().1;
    let low = if low.contains(' ') { low.to_owned() } else { format!("{low} {unit}") };
    assert!(seconds(&low) <= seconds(total[2]) && seconds(total[2]) <= seconds(high), "{total:?}");
    assert!(text.contains("`today` is the model there, `measured` the median"), "{text}");
}

#[test]
fn the_page_opens_from_a_file_and_fetches_nothing() {
    let world = with_page();
    let mut browser = Browser::start(&world.path(""));
    let page = world.path("page.html");
    browser.open(&page, "");
    assert_eq!(browser.value("document.querySelectorAll('#ranking tbody tr').length"), json!(KERNELS));
    assert_eq!(browser.value("typeof window.hacked"), "undefined");
    assert_eq!(
        browser.value("document.querySelector('.tree').textContent.includes(\"</script><script>window.hacked=1\")"),
        true
    );
    filter_finds_names(&mut browser);
    links_lead_to_call_paths(&mut browser);
    the_script_draws_what_the_program_draws(&mut browser);
    data_are_what_was_measured(&mut browser);
    numbers_and_plots_are_saved(&mut browser, &world);
    dark_narrow_and_printed(&mut browser);
    assert_eq!(browser.value("typeof window.hacked"), "undefined");
    assert_eq!(browser.errors(), Vec::<&Value>::new());
    let fetched: Vec<String> = browser
        .requests()
        .into_iter()
        .filter(|url| !["about:blank", "data:,"].contains(&url.as_str()) && !url.starts_with("blob:"))
        .collect();
    assert!(fetched.iter().all(|url| *url == format!("file://{}", page.display())), "{fetched:?}");
    tables_need_no_script(&mut browser, &page);
}

/// Exact times over the given parameters, each with its values, as JSON Lines.
fn grid(parameters: &[(&str, &[f64])], time: impl Fn(&[f64]) -> f64) -> String {
    let mut points: Vec<Vec<f64>> = vec![vec![]];
    for (_, values) in parameters {
        points = points.iter().flat_map(|at| values.iter().map(|&v| [&at[..], &[v]].concat())).collect();
    }
    let line = |at: &Vec<f64>| {
        let point: serde_json::Map<_, _> =
            parameters.iter().zip(at).map(|((name, _), v)| ((*name).to_owned(), json!(v))).collect();
        format!("{}\n", json!({"params": point, "callpath": "main->solve", "metric": "time", "value": time(at)}))
    };
    points.iter().map(line).collect()
}

/// With three parameters a heat map shows two of them; menus choose which, and where the third stays.
#[test]
fn three_parameters_have_slices() {
    let world = World::new();
    let (m, n, p) = ([1.0, 2.0, 3.0, 4.0, 5.0], [10.0, 20.0, 30.0, 40.0, 50.0, 60.0], [2.0, 4.0, 8.0, 16.0, 32.0]);
    world.write("three.jsonl", &grid(&[("m", &m), ("n", &n), ("p", &p)], |x| 1e-3 * x[0] * x[1] * x[2]));
    world.poise(["report", "three.jsonl", "-o", "three.html"]).status(0);
    let mut browser = Browser::start(&world.path(""));
    browser.open(&world.path("three.html"), "");
    let menus = browser.value(
        "new Promise(done => {
           document.querySelector('figure.heat').scrollIntoView();
           const look = () => {
             const menus = [...document.querySelectorAll('figure.heat select')];
             if (menus.length) done(menus.map(m => [...m.options].map(o => o.textContent))); else setTimeout(look, 50);
           };
           look();
         })",
    );
    // The target, twice the largest measured value, can be chosen too.
    assert_eq!(menus, json!([["m and n", "n and p", "m and p"], ["2", "4", "8", "16", "32", "64"]]));
    // What the map says and how many circles it has after a choice.
    let mut chosen = |menu: usize, option: usize| {
        browser.value(&format!(
            "(() => {{
               const menu = document.querySelectorAll('figure.heat select')[{menu}];
               menu.selectedIndex = {option};
               menu.dispatchEvent(new Event('change'));
               const heat = document.querySelector('figure.heat');
               return [heat.querySelector('figcaption').textContent.split(':')[0], heat.querySelectorAll('svg .cell').length];
             }})()"
        ))
    };
    assert_eq!(chosen(1, 1), json!(["over m and n, at p = 4", 30]));
    assert_eq!(chosen(1, 5), json!(["over m and n, at p = 64", 0]));
    assert_eq!(chosen(0, 1), json!(["over n and p, at m = 5", 30]));
    assert_eq!(chosen(1, 0), json!(["over n and p, at m = 1", 30]));
    assert_eq!(chosen(0, 2), json!(["over m and p, at n = 60", 25]));
    assert_eq!(browser.errors(), Vec::<&Value>::new());
}

/// On paper, what is said of a call path with one plot stands beside it, and both are on one page.
#[test]
fn text_stands_beside_a_lone_plot_on_paper() {
    let world = World::new();
    world.write("one.jsonl", &grid(&[("p", &[2.0, 4.0, 8.0, 16.0, 32.0])], |x| 1e-3 * x[0]));
    world.poise(["report", "one.jsonl", "-o", "one.html"]).status(0);
    let mut browser = Browser::start(&world.path(""));
    browser.open(&world.path("one.html"), "");
    let page = json!({"width": 720, "height": 1000, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", page);
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    let places = browser.value(
        "(() => {
           const [plot, text, article] = ['article figure', 'article .note', 'article'].map(s => document.querySelector(s));
           const [a, b] = [plot.getBoundingClientRect(), text.getClientRects()[0]];
           return [article.querySelectorAll('figure').length, b.top < a.bottom, getComputedStyle(article).breakInside,
             getComputedStyle(document.querySelector('.files')).display, article.getBoundingClientRect().height < 220];
         })()",
    );
    assert_eq!(places, json!([1, true, "avoid", "none", true]));
}

/// A page of ten thousand call paths is whole and can be searched. How long that takes is printed; `docs/report.md` has the
/// numbers.
#[test]
fn ten_thousand_call_paths_load() {
    let world = World::new();
    let mut text = String::new();
    for path in 0..10_000 {
        for p in [128.0_f64, 256.0, 512.0, 1024.0, 2048.0] {
            for n in [8e3_f64, 16e3, 24e3, 32e3, 40e3] {
                let wiggle = 1.0 + 0.03 * f64::from((path * 31 + p as i32 * 7 + n as i32 / 1000) % 21 - 10) / 10.0;
                let value = 1e-6 * p.powf(f64::from(path % 5) / 4.0) * n.powf(f64::from(path % 7) / 6.0) * wiggle;
                let name = format!("main->module_{}->function_{path}", path / 16);
                let params = json!({"params": {"p": p, "n": n}, "callpath": name, "metric": "time", "value": value});
                text += &format!("{params}\n");
            }
        }
    }
    world.write("many.jsonl", &text);
    world.poise(["report", "many.jsonl", "-o", "many.html"]).status(0);
    let page = world.path("many.html");
    println!("{} bytes", std::fs::metadata(&page).unwrap().len());
    let mut browser = Browser::start(&world.path(""));
    for _ in 0..3 {
        browser.open(&page, "");
        let drawn = browser
            .value("new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)))");
        let first = browser.value("performance.getEntriesByName('first-contentful-paint')[0]?.startTime");
        let filtered = browser.value(
            "(async () => { const start = performance.now(), input = document.querySelector('.filter input');
               input.value = 'function_77'; input.dispatchEvent(new Event('input'));
               await new Promise(done => setTimeout(done, 125));
               await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
               return performance.now() - start; })()",
        );
        println!("first seen after {first} ms, all drawn after {drawn} ms, filtered in {filtered} ms");
    }
    // All functions with their 625 modules and main.
    let all = 10_000 + 10_000 / 16 + 1;
    assert_eq!(browser.value("document.querySelectorAll('.tree [id]').length"), json!(all));
    let of_name = (0..10_000).filter(|path| path.to_string().starts_with("77")).count();
    assert_eq!(type_filter(&mut browser, "function_77")[0], format!("{of_name} of {all} call paths"));
    assert_eq!(browser.value("document.querySelector('.printed').checkVisibility()"), false);
    assert_eq!(type_filter(&mut browser, "")[0], "");
    unfolding_lays_out_what_is_seen(&mut browser);
    paper_has_the_most_expensive(&mut browser, all);
    assert_eq!(browser.errors(), Vec::<&Value>::new());
}

/// With all callers unfolded, rows far below have no layout yet, and a link to one leads there all the same.
fn unfolding_lays_out_what_is_seen(browser: &mut Browser) {
    let seen = browser.value(
        "(async () => {
           const start = performance.now(), drawn = () => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
           document.querySelector('[data-tree=open]').click();
           await drawn();
           const unfolded = performance.now() - start;
           const is_laid_out = node => node.firstElementChild.checkVisibility({ contentVisibilityAuto: true });
           const [first, last] = [0, -1].map(at => [...document.querySelectorAll('.tree div[id]')].at(at));
           const before = [first, last].map(is_laid_out);
           location.hash = last.id;
           await new Promise(done => setTimeout(done, 300));
           const { top, bottom } = last.getBoundingClientRect();
           return [unfolded, before, is_laid_out(last), top < innerHeight && bottom > 0];
         })()",
    );
    println!("unfolded in {} ms", seen[0]);
    assert_eq!((&seen[1][1], &seen[2], &seen[3]), (&json!(false), &json!(true), &json!(true)), "{seen}");
}

/// On paper are the 400 most expensive of `all` call paths, with a word of the others, which are not in the page while it is printed.
fn paper_has_the_most_expensive(browser: &mut Browser, all: usize) {
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    let told = browser.value("document.querySelector('.printed').innerText");
    let left_out = browser.value("document.querySelectorAll('.tree .small').length");
    assert_eq!(left_out, json!(all - 400));
    let told = told.as_str().unwrap();
    assert!(
        told.starts_with(&format!("{left_out} call paths that cost less than these 400 are not printed.")),
        "{told}"
    );
    assert!(told.contains("saves them as CSV"), "{told}");
    // By the numbers of the page, no function that is left out costs more, at either end, than all that are printed.
    let costs = browser.value(
        "poise.data().then(content => {
           const larger = model => Math.max(model.shares[0], model.shares[1]);
           const functions = content.models.filter(model => document.querySelector(`.tree div#n${model.id}`));
           const [left, kept] = [true, false].map(small => functions
             .filter(model => document.getElementById(`n${model.id}`).classList.contains('small') === small).map(larger));
           return [Math.max(...left), Math.min(...kept), kept.length];
         })",
    );
    assert!(costs[0].as_f64() <= costs[1].as_f64() && costs[2].as_u64() > Some(100), "{costs}");
    let start = std::time::Instant::now();
    let pdf = browser.call("Page.printToPDF", json!({"printBackground": false}));
    println!("printed in {:.1} s", start.elapsed().as_secs_f64());
    assert!(pdf["data"].as_str().unwrap().len() > 50_000);
    let there = browser.value(
        "['beforeprint', 'afterprint'].map(kind => {
           window.dispatchEvent(new Event(kind));
           return document.querySelectorAll('.tree [id]').length;
         })",
    );
    assert_eq!(there, json!([400, all]));
    // Who was at a call path that is taken out is there again afterwards, with the keyboard, too.
    browser.call("Emulation.setEmulatedMedia", json!({"media": ""}));
    let focused = browser.value(
        "(() => {
           const link = [...document.querySelectorAll('.tree .small a[href]')].find(link => link.checkVisibility());
           link.focus();
           const is_focused = () => document.activeElement === link;
           const before = is_focused();
           return [before, ...['beforeprint', 'afterprint'].map(kind => { window.dispatchEvent(new Event(kind)); return is_focused(); })];
         })()",
    );
    assert_eq!(focused, json!([true, false, true]));
}

/// Types into the filter and waits until the page has counted.
fn type_filter(browser: &mut Browser, text: &str) -> Value {
    browser.value(&format!(
        "new Promise(done => {{
           const input = document.querySelector('.filter input');
           input.value = {};
           input.dispatchEvent(new Event('input'));
           setTimeout(() => done([document.querySelector('.hits').textContent,
             [...document.querySelectorAll('.tree .hit')].map(n => n.textContent.trim().match(/kernel\\d+/)?.[0]).sort(),
             [...document.querySelectorAll('.tree [id]')].filter(n => n.checkVisibility()).length]), 400);
         }})",
        json!(text)
    ))
}

fn filter_finds_names(browser: &mut Browser) {
    // kernel1, kernel10 to kernel19; their callers are main and three groups.
    let found = type_filter(browser, "KERNEL1");
    let mut expected: Vec<String> =
        (0..KERNELS).map(|k| format!("kernel{k}")).filter(|k| k.starts_with("kernel1")).collect();
    expected.sort();
    assert_eq!(found[0], format!("11 of {} call paths", KERNELS + 4));
    assert_eq!(found[1], json!(expected));
    assert_eq!(found[2], json!(11 + 4));
    assert_eq!(type_filter(browser, "")[0], "");
}

fn links_lead_to_call_paths(browser: &mut Browser) {
    assert_eq!(browser.value("document.querySelectorAll('a:not([href])').length"), json!(0));
    // The last call path of the ranking is none of those that the program drew.
    let last = browser.value("[...document.querySelectorAll('#ranking td.path a')].at(-1).getAttribute('href')");
    let id = last.as_str().unwrap().trim_start_matches('#').to_owned();
    assert_eq!(browser.value(&format!("document.getElementById('{id}')")), Value::Null);
    let text = browser.value(&format!(
        "new Promise(done => {{
           [...document.querySelectorAll('#ranking td.path a')].at(-1).click();
           const look = () => {{
             const made = document.querySelector('#{id}.shown');
             if (made) done(made.innerText); else setTimeout(look, 50);
           }};
           look();
         }})"
    ));
    let text = text.as_str().unwrap();
    assert!(text.contains("shape from effort: basic_blocks") && text.contains("Time follows effort"), "{text}");
    // It executes the same at every point: two plots and a heat map, and none of time against one and the same count.
    assert_eq!(browser.value(&format!("document.querySelectorAll('#{id} svg.plot').length")), json!(3));
    // From there back to the tree, which unfolds.
    let visible = browser.value(&format!(
        "new Promise(done => {{
           document.querySelectorAll('.tree details').forEach(d => {{ d.open = false; }});
           document.querySelector('#{id} .facts a').click();
           setTimeout(() => done(document.getElementById('{}').checkVisibility()), 300);
         }})",
        id.replace('c', "n")
    ));
    assert_eq!(visible, true);
}

/// Every number and label in the plots of drawn call paths, beside those of the same call paths drawn by the script.
fn the_script_draws_what_the_program_draws(browser: &mut Browser) {
    let compared = browser.value(
        "(async () => {
           const content = await poise.data(), found = [];
           const parts = article => [...article.querySelectorAll('.plots svg')].flatMap(svg =>
             [svg.getAttribute('aria-label'), ...[...svg.querySelectorAll('*')].flatMap(e => [e.localName,
               ...['class', 'd', 'x', 'y', 'cx', 'cy', 'r', 'x1', 'y1', 'x2', 'y2', 'width', 'height', 'fill', 'transform', 'text-anchor']
                 .map(a => e.getAttribute(a) ?? ''), e.localName === 'text' ? e.textContent : ''])]);
           const words = article => article.innerText ?? '';
           const numbers = /-?\\d+(\\.\\d+)?/g;
           for (const drawn of [...document.querySelectorAll('#callpaths article')].slice(0, 30)) {
             const made = poise.article(content, content.byId.get(Number(drawn.id.slice(1))));
             const [a, b] = [parts(drawn), parts(made)];
             const texts = of => ['h3', '.facts .tag:nth-child(2)', '.note'].map(s => of.querySelector(s).textContent).join('|');
             if (texts(drawn) !== texts(made)) found.push(`${texts(drawn)} is not ${texts(made)}`);
             if (a.length !== b.length || a.length < 200) { found.push(`${drawn.id}: ${a.length} and ${b.length} parts`); continue; }
             a.forEach((one, i) => {
               const [x, y] = [one.match(numbers) ?? [], b[i].match(numbers) ?? []];
               const same = one.replace(numbers, '#') === b[i].replace(numbers, '#')
                 && x.every((v, k) => Math.abs(v - y[k]) <= 0.1001 * Math.max(1, 1e-3 * Math.abs(v)));
               if (!same) found.push(`${drawn.id}: ${one.slice(0, 300)} is not ${b[i].slice(0, 300)}`);
             });
           }
           return found.slice(0, 3);
         })()",
    );
    assert_eq!(compared, json!([]));
}

fn data_are_what_was_measured(browser: &mut Browser) {
    let content = browser.value("poise.data().then(({ byId, ...all }) => all)");
    assert_eq!(content["schema"], "counterpoise/report");
    let (parameters, models) = (content["parameters"].as_array().unwrap(), content["models"].as_array().unwrap());
    assert_eq!(models.len(), KERNELS);
    for model in models {
        let name = &content["names"]
            [content["callpaths"][model["id"].as_u64().unwrap() as usize][1].as_u64().unwrap() as usize];
        let kernel = name.as_str().unwrap().trim_start_matches("kernel").parse().unwrap_or(0);
        let layout = &content["layouts"][model["layout"].as_u64().unwrap() as usize];
        let mut values = model["values"].as_array().unwrap().iter();
        for (point, count) in
            layout["points"].as_array().unwrap().iter().zip(model["effort"]["counts"].as_array().unwrap())
        {
            let x = &content["points"][point.as_u64().unwrap() as usize];
            let of = |name: &str| x[parameters.iter().position(|p| p == name).unwrap()].as_f64().unwrap();
            let expected = blocks(kernel, of("p"), of("n"));
            let close = |value: &Value, expected: f64| (value.as_f64().unwrap() / expected - 1.0).abs() < 1e-5;
            assert!(close(count, expected), "{name} at {x}: {count}");
            assert!(
                close(values.next().unwrap(), 1e-9 * expected) && close(values.next().unwrap(), 1.01e-9 * expected)
            );
        }
    }
}

/// Evaluates `click` and gives the name and the content of the file that the page then saves.
fn saved(browser: &mut Browser, world: &World, click: &str) -> (String, String) {
    let mut from = browser.events.len();
    browser.value(click);
    let begun = browser.wait(from, "Browser.downloadWillBegin").1;
    loop {
        let (at, progress) = browser.wait(from, "Browser.downloadProgress");
        if progress["state"] == "completed" {
            break;
        }
        from = at + 1;
    }
    let name = begun["suggestedFilename"].as_str().unwrap().to_owned();
    let text = world.read(&format!("saved/{name}"));
    (name, text)
}

fn numbers_and_plots_are_saved(browser: &mut Browser, world: &World) {
    let (name, text) = saved(browser, world, "document.querySelector('[data-save=csv]').click()");
    assert_eq!(name, "callpaths.csv");
    assert_eq!(text.lines().count(), 1 + KERNELS);
    assert!(text.contains(&format!("\"main->{}\"", HOSTILE.replace('"', "\"\""))), "{text}");
    let (name, text) = saved(browser, world, "document.querySelector('#ranking a[download]').click()");
    assert_eq!((name.as_str(), text.lines().count()), ("ranking.csv", 1 + KERNELS));
    let (_, text) = saved(browser, world, "document.querySelector('[data-save=json]').click()");
    let content: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(content["models"].as_array().unwrap().len(), KERNELS);
    let (name, text) = saved(browser, world, "document.querySelector('#callpaths article figcaption button').click()");
    assert!(name.ends_with(".svg") && text.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{name}");
    assert!(!text.contains("var(--"), "colours are filled in");
}

fn dark_narrow_and_printed(browser: &mut Browser) {
    let background = "getComputedStyle(document.body).backgroundColor";
    let light = browser.value(background);
    browser
        .call("Emulation.setEmulatedMedia", json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]}));
    assert_ne!(browser.value(background), light);
    browser.call("Emulation.setEmulatedMedia", json!({"features": []}));
    let narrow = json!({"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", narrow);
    let is_wider = "document.documentElement.scrollWidth > innerWidth";
    assert_eq!(browser.value(is_wider), false, "only tables scroll sideways");
    browser.call("Emulation.clearDeviceMetricsOverride", json!({}));
    let narrow = json!({"width": 720, "height": 1000, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", narrow);
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    let heights = "[...document.querySelectorAll('article')].map(a => a.getBoundingClientRect().height).sort((a, b) => a - b)[20]";
    let height = browser.value(heights).as_f64().unwrap();
    assert!(height < 600.0, "four plots and their text take less than two thirds of a page: {height}");
    // Text stands beside the fourth plot, which begins a row of its own.
    let beside = "[...document.querySelectorAll('article')].filter(a => a.querySelectorAll('figure').length === 4).map(a => {
         const [plot, text] = [a.querySelector('figure:nth-child(4)'), a.querySelector('.note')].map(e => e.getBoundingClientRect());
         const words = a.querySelector('.verdict').getClientRects()[0];
         return words.top < plot.bottom && plot.top >= a.querySelector('figure').getBoundingClientRect().bottom && text.bottom < a.getBoundingClientRect().bottom;
       })";
    let beside = browser.value(beside);
    assert!(beside.as_array().is_some_and(|all| all.len() > 20 && all.iter().all(|b| *b == true)), "{beside}");
    let broken = "getComputedStyle(document.querySelector('article')).breakInside";
    assert_eq!(browser.value(broken), "auto", "no page ends early because a call path does not fit");
    browser.call("Emulation.setEmulatedMedia", json!({"media": ""}));
    browser.call("Emulation.clearDeviceMetricsOverride", json!({}));
    let pdf = browser.call("Page.printToPDF", json!({"printBackground": false}));
    assert!(pdf["data"].as_str().unwrap().len() > 50_000);
}

fn tables_need_no_script(browser: &mut Browser, page: &std::path::Path) {
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(page, "");
    let visible = |selector: &str| {
        format!("[...document.querySelectorAll('{selector}')].filter(e => e.checkVisibility()).length")
    };
    assert_eq!(browser.value("typeof window.poise"), "undefined", "the script has not run");
    assert_eq!(browser.value(&visible("#ranking tbody tr")), json!(20));
    assert_eq!(browser.value(&visible("button")), json!(0), "nothing is offered that does not work");
    assert!(browser.value(&visible(".tree [id]")).as_u64().unwrap() > 5);
    assert_eq!(browser.value(&visible("article svg.plot")), json!(4 * 40));
    assert_eq!(browser.value(&visible("#quality tbody tr")), json!(25));
    // A link leads somewhere, and what only a script could draw is a name and no link.
    let lost = "[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.getElementById(a.hash.slice(1))).length";
    assert_eq!(browser.value(lost), json!(0));
    assert_eq!(browser.value("document.querySelectorAll('.tree a[href]').length"), json!(40));
    assert!(
        browser.value("document.querySelectorAll('.tree a:not([href])').length").as_u64().unwrap()
            >= KERNELS as u64 - 40
    );
    browser.value("document.querySelectorAll('details').forEach(d => { d.open = true; })");
    assert_eq!(browser.value(&visible(".tree [id]")), json!(KERNELS + 4));
}

/// However deep the call tree is, names keep room beside their numbers, headings stay short, and the whole path is one hover away.
#[test]
fn deep_call_paths_leave_room_for_their_names() {
    const DEPTH: usize = 60;
    let world = World::new();
    let names: Vec<String> = (0..DEPTH).map(|i| format!("solver::Level<double>::descend_{i}")).collect();
    let line = |p: f64| {
        let params = json!({"p": p});
        format!("{}\n", json!({"params": params, "callpath": names.join("->"), "metric": "time", "value": 0.1 * p}))
    };
    world.write("deep.jsonl", &[2.0, 4.0, 8.0, 16.0, 32.0].map(line).concat());
    world.poise(["report", "deep.jsonl", "-o", "deep.html"]).status(0);
    let mut browser = Browser::start(&world.path(""));
    let wide = json!({"width": 1280, "height": 1000, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", wide);
    browser.open(&world.path("deep.html"), "");
    let seen = browser.value(
        "(() => {
           document.querySelectorAll('.tree details').forEach(d => { d.open = true; });
           const rows = [...document.querySelectorAll('.tree summary, .tree div[id]')];
           const width = row => row.firstElementChild.getBoundingClientRect().width;
           const scroll = document.querySelector('#tree .scroll');
           const [h3, link] = ['article h3', '#ranking td.path a'].map(s => document.querySelector(s));
           return [rows.length, Math.min(...rows.map(width)) > 250, scroll.scrollWidth <= scroll.clientWidth,
             h3.textContent.split(' → ').length, link.textContent.split(' → ').length,
             h3.title.split(' → ').length, link.title.split(' → ').length, link.textContent.includes('52 callers')];
         })()",
    );
    // At this width all columns of a ranking are there, also where a call path with a long name overtakes another.
    let point = |n: f64| {
        let of = |name: &str, value: f64| {
            format!(
                "{}\n",
                json!({"params": {"size": n}, "callpath": format!("main->{name}"), "metric": "time", "value": value})
            )
        };
        of("CommSyncPosVel(Domain&, std::vector<double>)", n)
            + &of("CalcQForElems(Domain&, std::vector<double>)", 0.01 * n * n)
    };
    world.write("overtaking.jsonl", &[10.0, 20.0, 40.0, 60.0, 80.0].map(point).concat());
    world.poise(["report", "overtaking.jsonl", "--at", "size=10000", "-o", "overtaking.html"]).status(0);
    browser.open(&world.path("overtaking.html"), "");
    let fits = browser.value(
        "(() => {
           const scroll = document.querySelector('#ranking .scroll');
           const last = [...document.querySelectorAll('#ranking thead th')].at(-1);
           return [last.textContent, scroll.scrollWidth <= scroll.clientWidth];
         })()",
    );
    assert_eq!(fits, json!(["overtakes", true]));
    // Two callers, a count of 52, five callers and the name.
    assert_eq!(seen, json!([DEPTH, true, true, 9, 9, DEPTH, DEPTH, true]));
    assert_eq!(browser.errors(), Vec::<&Value>::new());
}
