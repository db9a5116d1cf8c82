//! The quality of the experiment: how noisy each point is, what is missing, what to measure next.

use std::collections::HashSet;

use maud::{Markup, html};

use super::article::signed_percent;
use super::markup::{at, counted};
use super::quantity::{coordinate, interval, number, percent, quantity};
use super::view::View;
use crate::advise::{AdviseOptions, End, Step, advise, time_of};
use crate::experiment::{CallPathId, median};
use crate::fit::{Fits, RANKS};
use crate::model::Model;

/// Call paths with at least this part of today's cost tell how noisy a point is.
const LARGE: f64 = 0.01;
/// A point is named where it is off the models by more than this, and by more than three times the usual.
const DISTURBED: f64 = 0.1;
/// Repetitions agree that spread by less than this part of what they are off the models.
const AGREEING: f64 = 1.0 / 3.0;
/// What disturbs measurements is told to grow with a parameter where they are this much further above the models at its end.
const DRIFT: f64 = 0.25;
/// Missing combinations are listed where at least this part of all was measured.
const GRID: f64 = 0.5;
/// At most so many missing combinations are named.
const NAMED: usize = 12;
/// Tables of more points fold away.
const OPEN_POINTS: usize = 30;
/// Runs of the advice.
const STEPS: usize = 3;
/// Half the width of an interval, relative to the value, that needs no advice.
const ENOUGH: f64 = 0.05;
/// So many call paths decide about the advice.
const MOST_ADVISED: usize = 40;
/// Fewer values of a parameter are few.
const ENOUGH_VALUES: usize = 5;

/// What is known about one point.
struct Point<'a> {
    coordinates: &'a [f64],
    repetitions: usize,
    /// Largest less smallest repetition over the middle one, in the middle of the large call paths.
    spread: Option<f64>,
    /// How far the measurements are above the models, in the middle of the large call paths' cost: half of it is off by more.
    off: f64,
    /// Modelled call paths without a measurement here.
    missing: usize,
}

impl Point<'_> {
    /// What to do about a point that is off the models; where its repetitions agree, more of them hardly say another thing.
    fn remedy(&self) -> String {
        match self.spread {
            Some(spread) if spread < AGREEING * self.off.abs() => format!(
                ", and its repetitions lie only {} apart: the models miss what happens there, or all its runs were disturbed alike.",
                percent(spread)
            ),
            _ => "; measure this point again.".to_owned(),
        }
    }
}

/// The section on the experiment's quality.
pub(crate) fn quality(view: &View) -> Markup {
    let points = points(view);
    let usual = 1.4826 * median(&points.iter().map(|p| p.off.abs()).filter(|off| off.is_finite()).collect::<Vec<_>>());
    let is_disturbed = |p: &Point| p.off.abs() > DISTURBED.max(3.0 * usual);
    let disturbed: Vec<&Point> = points.iter().filter(|p| is_disturbed(p)).collect();
    let parameters = &view.experiment.parameters;
    html! {
        section #quality {
            h2 { "Quality of the experiment" }
            p {
                "Numbers of a point are those in the middle of all " (view.options.noun) "s that make at least 1 % of today's cost. "
                dfn { "Spread" } " is how far repetitions of the same point lie apart, relative to their median (n/a where there is one). "
                dfn { "Off the models" } " is how far measurements lie above (+) or below (−) the models there, in the middle of the cost: where the whole "
                "point is off, a disturbed machine is more likely than a property of the program."
            }
            ul {
                @for point in &disturbed {
                    li.warning { "At " (at(parameters, point.coordinates)) " everything is " (signed_percent(point.off)) " off the models" (point.remedy()) }
                }
                @for (l, name) in parameters.iter().enumerate() {
                    @if let Some(drift) = drift(&points, l) { li.warning { (drift.sentence(name)) } }
                }
                @if points.iter().all(|p| p.repetitions == 1) && points.len() > 1 {
                    li { "No point was repeated: how noisy the measurements are is known only from how far they lie off the models. Two or three repetitions tell it." }
                }
                @for sentence in missing(view, &points) { li { (sentence) } }
                @for sentence in &view.options.machine { li.warning { (sentence) } }
                @for sentence in next(view) { li { (sentence) } }
            }
            details open[points.len() <= OPEN_POINTS] {
                summary { (counted(points.len(), "point")) }
                div.scroll { table.points {
                    thead { tr {
                        @for name in parameters { th.number scope="col" { (name) } }
                        th.number scope="col" { "repetitions" } th.number scope="col" { "spread" }
                        th.number scope="col" { "off the models" } th.number scope="col" { (view.options.noun) "s missing" }
                    } }
                    tbody { @for point in &points {
                        tr.disturbed[is_disturbed(point)] {
                            @for x in point.coordinates { td.number { (coordinate(*x)) } }
                            td.number { (point.repetitions) }
                            td.number { (point.spread.map_or("n/a".into(), percent)) }
                            td.number { (signed_percent(point.off)) }
                            td.number { (point.missing) }
                        }
                    } }
                } }
            }
        }
    }
}

/// How far measurements lie off the models at the smallest and at the largest value of a parameter, where that differs much.
#[derive(Debug, PartialEq)]
struct Drift {
    /// The value and the middle of how far points with it are off.
    smallest: (f64, f64),
    largest: (f64, f64),
}

impl Drift {
    fn sentence(&self, name: &str) -> String {
        let at = |(value, off): (f64, f64)| {
            format!("{} off the models at {name} = {}", signed_percent(off), coordinate(value))
        };
        format!(
            "Measurements are {} and {}: they may be disturbed the more the larger {name} is, as where ranks share cores or the \
             network. The models follow the lowest measurements.",
            at(self.largest),
            at(self.smallest)
        )
    }
}

fn drift(points: &[Point], l: usize) -> Option<Drift> {
    let values = || points.iter().map(|p| p.coordinates[l]);
    let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    let off = |value: f64| {
        let those: Vec<f64> = points.iter().filter(|p| p.coordinates[l] == value).map(|p| p.off).collect();
        (value, median(&those))
    };
    let (smallest, largest) = (off(low), off(high));
    (low < high && largest.1 - smallest.1 > DRIFT).then_some(Drift { smallest, largest })
}

fn points<'a>(view: &View<'a>) -> Vec<Point<'a>> {
    let experiment = view.experiment;
    let count = experiment.points.len();
    let (mut spreads, mut offs) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    let (mut repetitions, mut present) = (vec![0; count], vec![0; count]);
    let models: Vec<&Model> = view.costs.models.iter().flatten().copied().collect();
    for model in &models {
        let Some(series) = experiment.series_of(model.callpath, model.metric) else { continue };
        let share = view.costs.share_now(model.callpath);
        let ids = &experiment.layouts[series.layout as usize].points;
        for (&id, (x, values)) in ids.iter().zip(experiment.measurements(series)) {
            let id = id as usize;
            present[id] += 1;
            repetitions[id] = repetitions[id].max(values.len());
            if share >= LARGE {
                // Beside a model that is nothing there, as log2(p) is at p = 1, no measurement is off by any part of it.
                offs[id].extend(Some((median(values) / model.at(x) - 1.0, share)).filter(|(off, _)| off.is_finite()));
                spreads[id].extend(spread(values));
            }
        }
    }
    let point = |id: usize| Point {
        coordinates: &experiment.points[id],
        repetitions: repetitions[id],
        spread: Some(median(&spreads[id])).filter(|s| s.is_finite()),
        off: middle(&mut offs[id]),
        missing: models.len() - present[id],
    };
    (0..count).map(point).collect()
}

/// The value with half of the weight on either side, of pairs of value and weight: not a number if there are none.
fn middle(weighted: &mut [(f64, f64)]) -> f64 {
    weighted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * weighted.iter().map(|w| w.1).sum::<f64>();
    let mut below = 0.0;
    let mut reached = weighted.iter().filter(|(_, weight)| {
        below += weight;
        below >= half
    });
    reached.next().map_or(f64::NAN, |w| w.0)
}

/// How far repetitions lie apart, relative to the middle one.
fn spread(values: &[f64]) -> Option<f64> {
    let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    (values.len() > 1).then(|| (high - low) / median(values)).filter(|s| s.is_finite())
}

/// Combinations of measured values that were not measured, where most were, and points that some call paths lack.
fn missing(view: &View, points: &[Point]) -> Vec<String> {
    let experiment = view.experiment;
    let levels = experiment.levels();
    let all: usize = levels.iter().map(Vec::len).fold(1, usize::saturating_mul);
    let mut sentences = Vec::new();
    if all > points.len() && points.len() as f64 >= GRID * all as f64 {
        let known: HashSet<Vec<u64>> = points.iter().map(|p| key(p.coordinates)).collect();
        let absent: Vec<Vec<f64>> = combinations(&levels).into_iter().filter(|x| !known.contains(&key(x))).collect();
        let named: Vec<String> =
            absent.iter().take(NAMED).map(|x| format!("({})", at(&experiment.parameters, x))).collect();
        let more = if absent.len() > NAMED { format!(" and {} more", absent.len() - NAMED) } else { String::new() };
        let (count, were) = (absent.len(), if absent.len() == 1 { "was" } else { "were" });
        sentences.push(format!(
            "{count} of {all} combinations of the measured values {were} not measured: {}{more}.",
            named.join(", ")
        ));
    }
    let lacking = points.iter().filter(|p| p.missing > 0).count();
    if lacking > 0 {
        sentences.push(format!(
            "At {lacking} of {} some {}s were not measured.",
            counted(points.len(), "point"),
            view.options.noun
        ));
    }
    sentences
}

fn key(x: &[f64]) -> Vec<u64> {
    x.iter().map(|v| (v + 0.0).to_bits()).collect()
}

fn combinations(levels: &[Vec<f64>]) -> Vec<Vec<f64>> {
    levels.iter().fold(vec![Vec::new()], |all, values| {
        let with = |x: &Vec<f64>| values.iter().map(|&v| [x.as_slice(), &[v]].concat()).collect::<Vec<_>>();
        all.iter().flat_map(with).collect()
    })
}

/// What would help most: more values of a parameter, or what `poise advise` finds.
fn next(view: &View) -> Vec<String> {
    let mut sentences = Vec::new();
    for (name, values) in view.experiment.parameters.iter().zip(view.experiment.levels()) {
        if values.len() < ENOUGH_VALUES {
            sentences
                .push(format!("{name} has {}; five tell functions apart far better.", counted(values.len(), "value")));
        }
    }
    sentences.extend(advice(view));
    sentences
}

/// What the runs would do for the prediction of the whole program at the target that `poise advise` would name first.
fn advice(view: &View) -> Option<String> {
    let (experiment, costs) = (view.experiment, &view.costs);
    // Runs are chosen for the time that they narrow, and a report in counts, bytes or waiting says nothing of that.
    if time_of(experiment, view.fits) != Some(costs.metric) {
        return None;
    }
    let options = AdviseOptions {
        target: costs.target.clone(),
        ranks: experiment.parameters.iter().position(|name| RANKS.contains(&name.to_ascii_lowercase().as_str())),
        budget: None,
        level: view.options.level,
        tolerance: ENOUGH,
        steps: STEPS,
        each: false,
        down_to: Vec::new(),
    };
    let found = advise(experiment, &largest_fits(view), &options)?;
    let has_ranks = options.ranks.is_some();
    let run = |step: &Step| {
        let again = if step.is_repetition { " again" } else { "" };
        let cost = if has_ranks { format!(", {} core-hours", number(step.core_hours)) } else { String::new() };
        format!("({}){again} for {}{cost}", at(&experiment.parameters, &step.at), quantity(step.seconds, "s"))
    };
    let whole = format!("the whole program at {}", at(&experiment.parameters, &costs.target));
    // Advice takes call paths to err independently of each other and leaves out the noise of a run, so its errors are smaller
    // than the interval that stands above, and must not be read for it.
    let (low, high) = costs.total_interval;
    let said = format!(
        "The interval of the ranking, {}, adds up those of all call paths, with the noise of a run.",
        interval(low, high, view.unit())
    );
    Some(match &found.steps[..] {
        [] if found.end == End::Enough => format!(
            "What to measure next: nothing for {whole}. Without the noise of a run and if call paths err independently of each other, \
             its time is known to {} or better, which more runs below it would hardly narrow; a larger target needs more. {said}",
            percent(ENOUGH)
        ),
        [] => format!(
            "What to measure next: no run below {whole} would narrow its prediction noticeably. Measure nearer to it, or the target \
             itself. {said}"
        ),
        [.., last] => format!(
            "What to measure next: {}. If call paths err independently of each other, that takes {} off the error of the time of \
             {whole}; poise advise lists more runs and takes a budget. {said}",
            found.steps.iter().map(run).collect::<Vec<_>>().join(", then "),
            percent(1.0 - last.after / found.before)
        ),
    })
}

/// The models of the call paths that cost most at the target, of those that make up the whole: they decide how well it is known.
fn largest_fits(view: &View) -> Fits {
    let costs = &view.costs;
    let mut largest = costs.callees.parts(view.experiment, costs.metric);
    largest.retain(|id| costs.models[*id as usize].is_some());
    largest.sort_by(|a, b| costs.value_then(*b).total_cmp(&costs.value_then(*a)).then(a.cmp(b)));
    let chosen: HashSet<CallPathId> = largest.into_iter().take(MOST_ADVISED).collect();
    let models = view.fits.models.iter().filter(|m| chosen.contains(&m.callpath));
    Fits { models: models.cloned().collect(), ..Fits::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_all_and_in_order() {
        let all = combinations(&[vec![1.0, 2.0], vec![10.0, 20.0]]);
        assert_eq!(all, [[1.0, 10.0], [1.0, 20.0], [2.0, 10.0], [2.0, 20.0]]);
    }

    #[test]
    fn a_point_is_off_as_half_of_its_cost_is() {
        assert_eq!(middle(&mut [(0.21, 0.01), (0.02, 0.88), (0.24, 0.02), (0.3, 0.01)]), 0.02);
        assert_eq!(middle(&mut [(0.5, 1.0), (0.1, 1.0), (0.3, 1.0)]), 0.3);
        assert!(middle(&mut []).is_nan());
    }

    #[test]
    fn disturbances_that_grow_with_a_parameter_are_told() {
        let coordinates: Vec<[f64; 2]> =
            [2.0, 8.0, 32.0].iter().flat_map(|&p| [100.0, 200.0].map(|n| [p, n])).collect();
        let offs = [0.04, 0.05, 0.3, 0.4, 0.7, 0.9];
        let points = coordinates.iter().zip(offs);
        let points: Vec<Point> =
            points.map(|(x, off)| Point { coordinates: x, repetitions: 1, spread: None, off, missing: 0 }).collect();
        let found = drift(&points, 0).unwrap();
        assert_eq!(found, Drift { smallest: (2.0, 0.045), largest: (32.0, 0.8) });
        assert!(found.sentence("p").starts_with("Measurements are +80 % off the models at p = 32 and +4.5 % off"));
        assert_eq!(drift(&points, 1), None, "along n the middle is 0.3 and 0.4");
    }

    #[test]
    fn points_whose_repetitions_agree_are_not_to_be_measured_again() {
        let point = |spread, off| Point { coordinates: &[2.0], repetitions: 5, spread, off, missing: 0 }.remedy();
        for again in [point(None, 0.6), point(Some(0.3), 0.6), point(Some(0.3), -0.6)] {
            assert_eq!(again, "; measure this point again.");
        }
        for missed in [point(Some(0.037), 0.64), point(Some(0.037), -0.64)] {
            assert!(missed.starts_with(", and its repetitions lie only 3.7 % apart: the models miss"), "{missed}");
        }
    }

    #[test]
    fn repetitions_spread_relative_to_the_middle() {
        assert_eq!(spread(&[1.0, 2.0, 4.0]), Some(1.5));
        assert_eq!(spread(&[3.0]), None);
        assert_eq!(spread(&[0.0, 0.0]), None);
    }
}
