//! Functions that are known come back exactly from their values: counts with rounded loop bounds, bytes, times
//! without noise.

mod bounds;
mod counts;
mod one_rank;
mod sums;
mod times;

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::{Experiment, Fits, Model, Options, fit};

const P: [f64; 5] = [2.0, 4.0, 8.0, 16.0, 32.0];

const N: [f64; 5] = [200.0, 400.0, 600.0, 800.0, 1000.0];

fn metric(name: &str) -> Metric {
    let unit = match name {
        "time" => "s",
        n if n.starts_with("bytes") => "bytes",
        _ => "",
    };
    Metric { name: name.into(), unit: unit.into(), over_ranks: None }
}

/// One call path `main -> path` with these metrics over p.
fn over_p(path: &str, metrics: &[(&str, &dyn Fn(f64) -> f64)]) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p"]);
    let callpath = builder.callpath(["main", path]);
    for (name, function) in metrics {
        let metric = builder.metric(metric(name));
        for p in P {
            let point = builder.point(&[p]);
            builder.add(callpath, metric, point, function(p));
        }
    }
    builder.finish()
}

/// A function of p and n.
type OfTwo<'a> = &'a dyn Fn(f64, f64) -> f64;

/// One call path `main -> path` with these metrics over p and n.
fn over_p_and_n(path: &str, metrics: &[(&str, OfTwo)]) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let callpath = builder.callpath(["main", path]);
    for (name, function) in metrics {
        let metric = builder.metric(metric(name));
        for p in P {
            for n in N {
                let point = builder.point(&[p, n]);
                builder.add(callpath, metric, point, function(p, n));
            }
        }
    }
    builder.finish()
}

fn the_model<'a>(fits: &'a Fits, experiment: &Experiment, name: &str) -> &'a Model {
    let is = |m: &&Model| experiment.metrics[m.metric as usize].name == name;
    fits.models.iter().find(is).unwrap_or_else(|| panic!("no model of {name}: {:?}", fits.skipped))
}

fn expression(experiment: &Experiment, name: &str) -> String {
    the_model(&fit(experiment, &Options::default()), experiment, name).expression(&experiment.parameters)
}

fn blocks_of_n_and_p(function: OfTwo) -> String {
    expression(&over_p_and_n("solve", &[("basic_blocks", function)]), "basic_blocks")
}
