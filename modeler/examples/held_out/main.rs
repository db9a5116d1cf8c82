//! How well models of real measurements predict larger points, beside Extra-P's: `cargo run --release -p modeler
//! --example held_out PATH...`.
//!
//! Each PATH is an experiment in any format that is read, or a folder that holds such. From every experiment with
//! enough points the largest are held out: once the shell (every point at which a parameter has its largest value) and
//! once the corner alone (the point at which all have). Models of the rest predict them; printed is the median over
//! call paths of each call path's median relative error, for call paths of at least 1 % of the metric's total there.
//! Extra-P's default modeler does the same on the same data if the program `extrap` is found on the search path.

mod peer;

use modeler::experiment::{Experiment, ExperimentBuilder, OverRanks, Series};
use modeler::formats::{ReadOptions, read};
use modeler::{Options, fit};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Call paths with less of the total at the held-out points do not count.
const LEAST_SHARE: f64 = 0.01;
/// With fewer points left neither program is asked for a model.
const LEAST_POINTS: usize = 4;

/// A series without the held-out points, and those.
pub(crate) struct Split {
    callpath: u32,
    metric: u32,
    points: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
    /// Held-out points.
    at: Vec<Vec<f64>>,
    /// Mean of the values at each held-out point.
    truth: Vec<f64>,
}

/// Which points are held out.
#[derive(Clone, Copy)]
enum Held {
    Shell,
    Corner,
}

fn main() {
    let paths: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    if paths.is_empty() {
        eprintln!("usage: held_out PATH...\nEach PATH is an experiment or a folder that holds some.");
        std::process::exit(2);
    }
    let verbose = std::env::var_os("HELD_OUT_VERBOSE").is_some();
    let peer = peer::Peer::find();
    match &peer {
        Some(peer) => println!("Extra-P {} is measured beside.\n", peer.version),
        None => println!("The program `extrap` is not on the search path: Extra-P is NOT measured beside.\n"),
    }
    println!("| experiment | metric | held out | call paths | ours | Extra-P | inside 90 % |");
    println!("|---|---|---|---|---|---|---|");
    for path in &paths {
        for (name, experiment) in experiments(path) {
            for held in [Held::Shell, Held::Corner] {
                compare(&name, &experiment, held, peer.as_ref(), verbose);
            }
        }
    }
}

/// The experiment that `path` is, or those in the folder.
fn experiments(path: &Path) -> Vec<(String, Experiment)> {
    let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    if let Ok(input) = read(&[path.to_owned()], &ReadOptions::default()) {
        return vec![(name(path), input.experiment)];
    }
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(path).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    entries.iter().flat_map(|entry| experiments(entry)).collect()
}

/// A line per metric, and one of all where there are several.
fn compare(name: &str, experiment: &Experiment, held: Held, peer: Option<&peer::Peer>, verbose: bool) {
    let splits: Vec<Split> = experiment.series.iter().filter_map(|series| split(experiment, series, held)).collect();
    let held_out = match held {
        Held::Shell => "shell",
        Held::Corner => "corner",
    };
    let mut all: Vec<Compared> = Vec::new();
    for (id, metric) in experiment.metrics.iter().enumerate() {
        // Of the values over ranks the one that is modelled unless another is asked for.
        if metric.over_ranks.is_some_and(|over| over != OverRanks::Mean) {
            continue;
        }
        let mut of_metric: Vec<&Split> = splits.iter().filter(|s| s.metric as usize == id).collect();
        let size = |s: &Split| s.truth.iter().sum::<f64>() / s.truth.len() as f64;
        let total: f64 = of_metric.iter().map(|s| size(s)).sum();
        of_metric.retain(|s| size(s) >= LEAST_SHARE * total && size(s) > 0.0);
        if of_metric.is_empty() {
            continue;
        }
        let (ours, inside) = our_errors(experiment, &of_metric);
        let theirs = peer.map(|peer| peer_errors(peer, experiment, &of_metric));
        if verbose {
            for (i, s) in of_metric.iter().enumerate() {
                let other = theirs.as_ref().map_or(f64::NAN, |t| t[i]);
                let path = experiment.path(s.callpath).join("->");
                eprintln!("{path}: {:.2} % {:.2} %", 100.0 * ours[i], 100.0 * other);
            }
        }
        all.push(Compared { ours, theirs, inside: vec![inside; of_metric.len()] });
        print(name, &metric.name, held_out, &all[all.len() - 1]);
    }
    if all.len() > 1 {
        print(name, "all of these", held_out, &Compared::join(all));
    }
}

/// Median errors of series.
struct Compared {
    ours: Vec<f64>,
    theirs: Option<Vec<f64>>,
    /// Share of held-out points inside the intervals.
    inside: Vec<f64>,
}

impl Compared {
    fn join(parts: Vec<Self>) -> Self {
        let mut all = Self { ours: Vec::new(), theirs: Some(Vec::new()), inside: Vec::new() };
        for part in parts {
            all.ours.extend(part.ours);
            all.inside.extend(part.inside);
            all.theirs = all.theirs.zip(part.theirs).map(|(all, more)| [all, more].concat());
        }
        all
    }
}

fn print(name: &str, metric: &str, held_out: &str, compared: &Compared) {
    let Compared { ours, theirs, inside } = compared;
    let theirs = theirs.as_ref().map_or("not run".to_owned(), |t| percent(median(t.clone())));
    let (count, share) = (ours.len(), inside.iter().sum::<f64>() / inside.len() as f64);
    let ours = percent(median(ours.clone()));
    println!("| {name} | {metric} | {held_out} | {count} | {ours} | {theirs} | {} |", percent(share));
}

fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", 100.0 * share) } else { "no model".to_owned() }
}

/// The series without its largest points; `None` where too few remain or none is held out.
fn split(experiment: &Experiment, series: &Series, held: Held) -> Option<Split> {
    let measurements: Vec<(&[f64], &[f64])> = experiment.measurements(series).collect();
    let parameters = experiment.parameters.len();
    let largest: Vec<f64> =
        (0..parameters).map(|l| measurements.iter().map(|m| m.0[l]).fold(f64::NEG_INFINITY, f64::max)).collect();
    // A parameter that is the same everywhere makes no point large.
    let varies = |l: &usize| measurements.iter().any(|m| m.0[*l] != largest[*l]);
    let varying: Vec<usize> = (0..parameters).filter(varies).collect();
    let is_held = |x: &[f64]| match held {
        Held::Shell => varying.iter().any(|&l| x[l] == largest[l]),
        Held::Corner => varying.iter().all(|&l| x[l] == largest[l]),
    };
    if matches!(held, Held::Shell) && varying.len() < 2 {
        return None;
    }
    let (out, kept): (Vec<_>, Vec<_>) = measurements.into_iter().partition(|m| is_held(m.0));
    let distinct: BTreeSet<Vec<u64>> = kept.iter().map(|m| m.0.iter().map(|x| x.to_bits()).collect()).collect();
    (distinct.len() >= LEAST_POINTS && !out.is_empty()).then(|| Split {
        callpath: series.callpath,
        metric: series.metric,
        points: kept.iter().map(|m| m.0.to_vec()).collect(),
        values: kept.iter().map(|m| m.1.to_vec()).collect(),
        at: out.iter().map(|m| m.0.to_vec()).collect(),
        truth: out.iter().map(|m| m.1.iter().sum::<f64>() / m.1.len() as f64).collect(),
    })
}

/// Our median error per series, and the share of the held-out means inside the 90 % intervals.
fn our_errors(experiment: &Experiment, splits: &[&Split]) -> (Vec<f64>, f64) {
    let mut builder = ExperimentBuilder::new(experiment.parameters.iter().cloned());
    let mut metric = None;
    for split in splits {
        let id = builder.metric(experiment.metrics[split.metric as usize].clone());
        let callpath = builder.callpath(experiment.path(split.callpath));
        metric = Some(id);
        for (point, values) in split.points.iter().zip(&split.values) {
            let point = builder.point(point);
            values.iter().for_each(|&v| builder.add(callpath, id, point, v));
        }
    }
    let training = builder.finish();
    let fits = fit(&training, &Options { minimum_points: LEAST_POINTS, ..Options::default() });
    let (mut inside, mut count) = (0.0, 0.0);
    let mut errors = Vec::new();
    for split in splits {
        let path = experiment.path(split.callpath);
        let model = fits.models.iter().find(|m| training.path(m.callpath) == path && Some(m.metric) == metric);
        let Some(model) = model else {
            errors.push(f64::INFINITY);
            continue;
        };
        let error = |(x, truth): (&Vec<f64>, &f64)| {
            let prediction = model.predict(x, 0.9);
            count += 1.0;
            inside += f64::from(u8::from(prediction.lower <= *truth && *truth <= prediction.upper));
            relative(prediction.value, *truth)
        };
        let of_series = split.at.iter().zip(&split.truth).map(error).collect();
        if std::env::var_os("HELD_OUT_VERBOSE").is_some() {
            eprintln!("  {}: {}", path.join("->"), model.expression(&training.parameters));
        }
        errors.push(median(of_series));
    }
    (errors, inside / count)
}

fn peer_errors(peer: &peer::Peer, experiment: &Experiment, splits: &[&Split]) -> Vec<f64> {
    let predictions = peer.predict(&experiment.parameters, splits);
    let of_series = |(split, values): (&&Split, &Vec<f64>)| {
        median(values.iter().zip(&split.truth).map(|(v, truth)| relative(*v, *truth)).collect())
    };
    splits.iter().zip(&predictions).map(of_series).collect()
}

fn relative(value: f64, truth: f64) -> f64 {
    let error = (value / truth - 1.0).abs();
    if error.is_nan() { f64::INFINITY } else { error }
}

/// The middle value, or the mean of the two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n => 0.5 * (values[(n - 1) / 2] + values[n / 2]),
    }
}
