//! What noise injection says of a call path changes how its time is modelled.

use modeler::absorption::Bottleneck;
use modeler::absorption::scaling::sentences;
use modeler::experiment::{CallPathId, ExperimentBuilder, Metric, MetricId};
use modeler::model::Method;
use modeler::{Experiment, Fits, Options, fit};

const SIZES: [f64; 10] = [100.0, 150.0, 200.0, 300.0, 400.0, 600.0, 800.0, 1200.0, 1600.0, 2400.0];

fn metric(builder: &mut ExperimentBuilder, name: &str, unit: &str) -> MetricId {
    builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks: None })
}

/// `main -> solve` executes 3·n² blocks in `time(n)` seconds and is bound by `class(n)`.
fn experiment(time: impl Fn(f64) -> f64, class: impl Fn(f64) -> Option<Bottleneck>) -> (Experiment, CallPathId) {
    let mut builder = ExperimentBuilder::new(["n"]);
    let solve = builder.callpath(["main", "solve"]);
    for (i, n) in SIZES.into_iter().enumerate() {
        let point = builder.point(&[n]);
        let blocks = metric(&mut builder, "basic_blocks", "");
        builder.add(solve, blocks, point, 3.0 * n * n);
        let seconds = metric(&mut builder, "time", "s");
        // A little noise, so that nothing is exact.
        builder.add(solve, seconds, point, time(n) * (1.0 + 0.004 * f64::from(i as u32 * 7 % 5)));
        if let Some(class) = class(n) {
            let bound = metric(&mut builder, &format!("bound.{}", class.name()), "");
            builder.add(solve, bound, point, 1.0);
            let absorbed = metric(&mut builder, "absorption.fp_add64", "instructions per iteration");
            builder.add(solve, absorbed, point, if class == Bottleneck::Bandwidth { 60.0 } else { 2.0 });
        }
    }
    (builder.finish(), solve)
}

fn time_model<'a>(experiment: &Experiment, fits: &'a Fits) -> &'a modeler::Model {
    let is_time = |m: &&modeler::Model| experiment.metrics[m.metric as usize].name == "time";
    fits.models.iter().find(is_time).unwrap()
}

#[test]
fn the_core_keeps_the_prior_and_memory_does_not() {
    let linear = |n: f64| 2e-6 * n;
    let (core, _) = experiment(|n| 1e-9 * n * n, |_| Some(Bottleneck::Compute));
    let fits = fit(&core, &Options::default());
    let model = time_model(&core, &fits);
    assert_eq!(model.method, Method::Effort);
    assert!(model.warnings.iter().all(|w| w.code != "W017"), "{:?}", model.warnings);
    let (memory, _) = experiment(linear, |_| Some(Bottleneck::Bandwidth));
    let fits = fit(&memory, &Options::default());
    let model = time_model(&memory, &fits);
    assert_eq!(model.method, Method::Time);
    let warning = model.warnings.iter().find(|w| w.code == "W017").unwrap();
    assert!(warning.message.starts_with("solve is bound by memory bandwidth; about 60 floating-point instructions"));
    // Ten times beyond the largest size the prior's square would be off by far.
    assert!((model.at(&[24000.0]) / linear(24000.0) - 1.0).abs() < 0.1, "{}", model.expression(&memory.parameters));
    // Without noise injection the times contradict their effort, and nothing says why.
    let (blind, _) = experiment(linear, |_| None);
    let fits = fit(&blind, &Options::default());
    let codes: Vec<_> = time_model(&blind, &fits).warnings.iter().map(|w| w.code).collect();
    assert!(codes.contains(&"W008") && !codes.contains(&"W017"), "{codes:?}");
}

/// In the cache n² from the blocks, beyond it something steeper that blocks do not know.
#[test]
fn a_change_of_class_begins_a_segment() {
    let bound = |n: f64| if n <= 400.0 { Bottleneck::Compute } else { Bottleneck::Bandwidth };
    let time = |n: f64| if n <= 400.0 { 1e-9 * n * n } else { 2.5e-11 * n * n * n };
    let (experiment, solve) = experiment(time, |n| Some(bound(n)));
    let fits = fit(&experiment, &Options::default());
    let model = time_model(&experiment, &fits);
    let ends: Vec<_> = model.segments.iter().map(|s| (s.from, s.to, s.model.method)).collect();
    assert_eq!(ends, [(None, Some(400.0), Method::Effort), (Some(600.0), None, Method::Time)], "{model:?}");
    let far = model.at(&[4800.0]) / time(4800.0);
    assert!((far - 1.0).abs() < 0.15, "{far}: {}", model.expression(&experiment.parameters));
    let expected = "From n = 600 on, solve is bound by memory bandwidth; about 60 floating-point instructions per \
                    iteration are free; before, it is bound by arithmetic.";
    assert_eq!(sentences(&experiment), [(solve, expected.to_owned())]);
    let page = modeler::report::html(&experiment, &fits, &modeler::report::ReportOptions::default());
    assert!(page.contains(&format!("main → solve: {expected}")));
    // Absorption is modelled like any metric, classes are not.
    let names: Vec<&str> = fits.models.iter().map(|m| experiment.metrics[m.metric as usize].name.as_str()).collect();
    assert!(names.contains(&"absorption.fp_add64") && names.iter().all(|n| !n.starts_with("bound")), "{names:?}");
}

/// The table of the page has a cell for each mode and point, whatever was found there.
#[test]
fn the_page_shows_what_is_only_known_from_below() {
    let mut builder = ExperimentBuilder::new(["n"]);
    let solve = builder.callpath(["main", "solve"]);
    let unit = "instructions per iteration";
    for (i, n) in SIZES.into_iter().enumerate() {
        let point = builder.point(&[n]);
        let seconds = metric(&mut builder, "time", "s");
        builder.add(solve, seconds, point, 1e-6 * n);
        let nop = metric(&mut builder, if i < 2 { "at_least.nop" } else { "absorption.nop" }, unit);
        builder.add(solve, nop, point, if i < 2 { 64.0 } else { 12.0 });
        if i == 1 {
            let load = metric(&mut builder, "absorption.l1_ld64", unit);
            builder.add(solve, load, point, 3.0);
        }
    }
    let experiment = builder.finish();
    let fits = fit(&experiment, &Options::default());
    let page = modeler::report::html(&experiment, &fits, &modeler::report::ReportOptions::default());
    let row = |mode: &str| {
        let row =
            page.split(&format!("<tr><th scope=\"row\">{mode}</th>")).nth(1).unwrap().split("</tr>").next().unwrap();
        row.replace("</td>", "").split("<td class=\"number\">").skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut expected = vec!["≥ 64"; 2];
    expected.extend(["12"; 8]);
    assert_eq!(row("nop"), expected);
    let mut expected = vec![""; 10];
    expected[1] = "3";
    assert_eq!(row("l1_ld64"), expected);
    // Lower bounds are no measurements that a model could be fitted to.
    let names = fits.models.iter().map(|m| experiment.metrics[m.metric as usize].name.as_str());
    assert!(names.clone().any(|name| name == "absorption.nop") && names.clone().all(|name| name != "at_least.nop"));
    assert!(fits.skipped.iter().all(|s| experiment.metrics[s.metric as usize].name != "at_least.nop"));
}

#[test]
fn the_prior_stays_where_it_is_asked_for() {
    let (memory, _) = experiment(|n| 2e-6 * n, |_| Some(Bottleneck::Latency));
    let options = Options { method: modeler::MethodChoice::Effort, ..Options::default() };
    let fits = fit(&memory, &options);
    let model = time_model(&memory, &fits);
    assert_eq!(model.method, Method::Effort);
    assert!(model.warnings.iter().any(|w| w.code == "W017"));
}
