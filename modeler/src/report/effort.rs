//! Effort against time: whether a call path's time follows what it does, and what it may be that it follows instead.

use super::quantity::{coordinate, number};
use crate::experiment::{Experiment, MetricId, median};
use crate::fit::RANKS;
use crate::linear::{inverse_gram, least_squares};
use crate::model::{Kind, Method, Model};

/// Changes of the time per effort by less than this factor are not worth a sentence.
const LEAST_CHANGE: f64 = 1.5;
/// Where the time per effort differs by more than this factor without a trend, it is noise that hides whether there is one.
const SCATTER: f64 = 2.0;
/// So many standard errors a change has to be away from none.
const SURE: f64 = 3.0;

/// The effort of one call path beside its times.
pub(crate) struct Effort {
    /// The metric that was counted.
    pub metric: MetricId,
    /// One count per point of the time's layout; NaN where none was measured.
    pub counts: Vec<f64>,
    /// What their comparison says, in full sentences.
    pub verdict: String,
    /// Whether time does not follow effort.
    pub disagrees: bool,
}

/// Compares the times that `model` was fitted to with the effort of its call path, where that was measured.
pub(crate) fn effort(experiment: &Experiment, model: &Model) -> Option<Effort> {
    if experiment.metrics[model.metric as usize].name != experiment.name_of_time() {
        return None;
    }
    let metric = effort_metric(experiment, model)?;
    let times = experiment.series_of(model.callpath, model.metric)?;
    let counted = experiment.series_of(model.callpath, metric)?;
    let points: Vec<&[f64]> = experiment.measurements(times).map(|(x, _)| x).collect();
    let medians: Vec<f64> = experiment.measurements(times).map(|(_, values)| median(values)).collect();
    let counts: Vec<f64> = points
        .iter()
        .map(|point| experiment.measurements(counted).find(|(x, _)| x == point).map_or(f64::NAN, |(_, v)| median(v)))
        .collect();
    let (verdict, disagrees) = verdict(experiment, model, metric, &points, &medians, &counts);
    Some(Effort { metric, counts, verdict, disagrees })
}

/// The metric that gave the shape, or else the one that stands for the work of such a call path.
fn effort_metric(experiment: &Experiment, model: &Model) -> Option<MetricId> {
    let over_ranks = experiment.metrics[model.metric as usize].over_ranks;
    let names: &[&str] = match model.kind {
        Kind::Communication | Kind::Waiting => &["bytes_sent", "bytes_received"],
        _ => &["compiled_blocks", "basic_blocks"],
    };
    let measured = |&id: &MetricId| experiment.series_of(model.callpath, id).is_some();
    let by_name = || names.iter().filter_map(|name| experiment.metric(name, over_ranks)).find(measured);
    model.effort_metric.filter(measured).or_else(by_name)
}

/// What one unit of a count is called.
fn one_of(metric: &str) -> &str {
    match metric {
        "basic_blocks" | "compiled_blocks" => "basic block",
        "bytes_sent" => "byte sent",
        "bytes_received" => "byte received",
        "visits" => "visit",
        other => other,
    }
}

fn verdict(
    experiment: &Experiment,
    model: &Model,
    metric: MetricId,
    points: &[&[f64]],
    times: &[f64],
    counts: &[f64],
) -> (String, bool) {
    // What a message costs is no multiple of its bytes: latency and ranks count too, and the model has them.
    let by_model = matches!(model.kind, Kind::Communication | Kind::Waiting) && model.method == Method::Effort;
    let one = one_of(&experiment.metrics[metric as usize].name);
    let what =
        if by_model { "The time over what messages and bytes explain".into() } else { format!("The time per {one}") };
    let ratios: Vec<(&[f64], f64)> = points
        .iter()
        .enumerate()
        .map(|(i, x)| (*x, times[i] / if by_model { model.at(x) } else { counts[i] }))
        .filter(|(_, r)| r.is_finite() && *r > 0.0)
        .collect();
    let changes = changes(&ratios, experiment.parameters.len());
    if changes.is_empty() {
        return (agreement(&what, &ratios), false);
    }
    let (mut sentences, mut reasons) = (Vec::new(), Vec::new());
    for change in &changes {
        let name = &experiment.parameters[change.parameter];
        let rises = change.factor > 1.0;
        let factor = number(if rises { change.factor } else { 1.0 / change.factor });
        let verb = if rises { "rises" } else { "falls" };
        let (from, to) = (coordinate(change.from), coordinate(change.to));
        sentences.push(format!("{what} {verb} {factor}-fold from {name} = {from} to {name} = {to}."));
        let reason = reason(model.kind, name, rises);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    sentences.extend(reasons.into_iter().map(str::to_owned));
    sentences.extend(waiting(experiment, model));
    (sentences.join(" "), true)
}

fn agreement(what: &str, ratios: &[(&[f64], f64)]) -> String {
    if ratios.len() < 3 {
        return "Too few points have both a time and a count to compare the two.".into();
    }
    let (low, high) = ratios.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), (_, r)| (l.min(*r), h.max(*r)));
    let times = number(high / low);
    match high / low > SCATTER {
        true => format!(
            "{what} has no clear trend but scatters: the largest at any point is {times} times the smallest, so that these \
             measurements cannot tell whether time follows effort."
        ),
        false => {
            format!("Time follows effort. {what} has no trend; the largest at any point is {times} times the smallest.")
        }
    }
}

/// What a trend of the time per effort may come from.
fn reason(kind: Kind, parameter: &str, rises: bool) -> &'static str {
    let is_ranks = RANKS.contains(&parameter);
    match (kind, rises) {
        (_, false) => "That may be a fixed cost, such as starting up, which more and more work shares.",
        (Kind::Communication | Kind::Waiting, true) => {
            "It may be waiting for ranks that come late, or contention in the network, that the amount of data does not explain."
        }
        (_, true) if is_ranks => {
            "It may be that more ranks share a bottleneck that is not executed code, such as the memory bus or a core, or that \
             they wait here."
        }
        (_, true) => "It may be that caches hold less of the data, and that memory becomes the bottleneck.",
    }
}

/// How much of the time was measured to be waiting, where it was.
fn waiting(experiment: &Experiment, model: &Model) -> Option<String> {
    let over_ranks = experiment.metrics[model.metric as usize].over_ranks;
    let metric = experiment.metric("wait_time", over_ranks)?;
    let last = |id| {
        let series = experiment.series_of(model.callpath, id)?;
        experiment.measurements(series).last().map(|(_, values)| median(values))
    };
    let (waited, time) = (last(metric)?, last(model.metric)?);
    let share = 100.0 * waited / time;
    (share.is_finite() && share >= 1.0)
        .then(|| format!("At the largest point {share:.0} % of the time is measured waiting."))
}

/// A trend along one parameter.
struct Change {
    parameter: usize,
    from: f64,
    to: f64,
    /// The ratio at `to` over the one at `from`.
    factor: f64,
}

/// Trends of the ratios: least squares of their logarithms in the logarithms of all parameters that vary.
fn changes(ratios: &[(&[f64], f64)], parameters: usize) -> Vec<Change> {
    let range = |l: usize| {
        let values = ratios.iter().map(|(x, _)| x[l]);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let varying: Vec<usize> = (0..parameters).filter(|&l| range(l).0 > 0.0 && range(l).1 > range(l).0).collect();
    if ratios.len() < varying.len() + 3 {
        return Vec::new();
    }
    let mut columns = vec![vec![1.0; ratios.len()]];
    columns.extend(varying.iter().map(|&l| ratios.iter().map(|(x, _)| x[l].ln()).collect::<Vec<_>>()));
    let y: Vec<f64> = ratios.iter().map(|(_, r)| r.ln()).collect();
    let c = least_squares(&columns, &y);
    let Some(inverse) = inverse_gram(&columns) else { return Vec::new() };
    let fitted = |i: usize| columns.iter().zip(&c).map(|(column, c)| c * column[i]).sum::<f64>();
    let squares: f64 = y.iter().enumerate().map(|(i, y)| (y - fitted(i)).powi(2)).sum();
    let variance = squares / (y.len() - columns.len()) as f64;
    let found = varying.iter().enumerate().filter_map(|(k, &parameter)| {
        let slope = c[k + 1];
        let error = (variance * inverse[(k + 1) * columns.len() + k + 1]).sqrt();
        let (from, to) = range(parameter);
        let change = slope * (to / from).ln();
        let is_clear = slope.abs() > SURE * error && change.abs() > LEAST_CHANGE.ln();
        is_clear.then(|| Change { parameter, from, to, factor: change.exp() })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trends_are_found_where_they_are_and_of_the_right_size() {
        let points: Vec<Vec<f64>> =
            [1.0, 4.0, 16.0].iter().flat_map(|&p| [10.0, 100.0, 1000.0].map(|n| vec![p, n])).collect();
        // A twofold rise from p = 1 to p = 16 with 3 % of noise, and nothing along n.
        let wiggle = [1.0, 1.03, 0.98, 1.01, 0.99, 1.02, 0.97, 1.0, 1.01];
        let ratios: Vec<(&[f64], f64)> =
            points.iter().zip(wiggle).map(|(x, w)| (x.as_slice(), 5e-9 * x[0].powf(0.25) * w)).collect();
        let found = changes(&ratios, 2);
        assert_eq!(found.iter().map(|c| c.parameter).collect::<Vec<_>>(), [0]);
        assert!((found[0].factor / 2.0 - 1.0).abs() < 0.03, "{}", found[0].factor);
        assert_eq!((found[0].from, found[0].to), (1.0, 16.0));
        let flat: Vec<(&[f64], f64)> = points.iter().zip(wiggle).map(|(x, w)| (x.as_slice(), w)).collect();
        assert!(changes(&flat, 2).is_empty());
    }

    #[test]
    fn what_scatters_is_not_said_to_follow() {
        let point = [1.0];
        let ratios = |values: [f64; 4]| values.map(|r| (point.as_slice(), r));
        let calm = agreement("The time per basic block", &ratios([1.0, 1.5, 1.2, 1.0]));
        assert!(calm.starts_with("Time follows effort.") && calm.contains("1.50 times"), "{calm}");
        let wild = agreement("The time per basic block", &ratios([1.0, 11.8, 3.0, 1.0]));
        assert!(wild.contains("11.8 times the smallest, so that these measurements cannot tell"), "{wild}");
        assert!(!wild.contains("Time follows"), "{wild}");
    }

    #[test]
    fn the_middle_of_an_even_number_is_a_mean() {
        assert_eq!(median(&[4.0, 1.0, 3.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
