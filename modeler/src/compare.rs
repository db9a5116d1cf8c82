//! Two experiments side by side: how their models differ at a scale, and from which scale one overtakes the other.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::experiment::{CallPathId, Experiment, MetricId, OverRanks};
use crate::fit::Fits;
use crate::model::{Model, Prediction};

/// Steps of the search for crossovers, per parameter; between two steps a function of the sets crosses another once.
const STEPS: usize = 512;
/// Crossovers are looked for up to this multiple of the largest measured value.
const REACH: f64 = 1024.0;
/// Models closer than this are the same: coefficients have their own rounding.
const SAME: f64 = 1e-9;

/// One of the two experiments with its models.
///
/// ```
/// use modeler::compare::{Side, compare};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (before, after) = (of(|p| 4.0 * p), of(|p| 2.0 * p));
/// let [first, second] = [&before, &after].map(|(experiment, fits)| Side { experiment, fits });
/// assert_eq!(compare(first, second, &[64.0], 0.9)?.pairs[0].ratio.value, 0.5);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// What was measured.
    pub experiment: &'a Experiment,
    /// Its models.
    pub fits: &'a Fits,
}

/// A quotient with the interval that holds it at the level of the predictions that it was made of.
///
/// ```
/// use modeler::compare::Ratio;
/// let ratio = Ratio { value: 1.2, lower: 1.1, upper: 1.3 };
/// assert!(ratio.is_decided()); // certainly slower
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The quotient of the two values; infinite where only the denominator is zero, one where both are.
    pub value: f64,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl Ratio {
    /// `numerator / denominator` of two independent predictions. On the scale of logarithms errors of a quotient add as
    /// squares, so the half-widths of the two intervals do.
    ///
    /// ```
    /// use modeler::{Prediction, compare::Ratio};
    /// let exact = |value| Prediction { value, lower: value, upper: value, level: 0.9 };
    /// let half = Ratio::of(exact(3.0), exact(6.0));
    /// assert_eq!((half.lower, half.value, half.upper), (0.5, 0.5, 0.5));
    /// ```
    #[must_use]
    pub fn of(numerator: Prediction, denominator: Prediction) -> Self {
        if numerator.value == denominator.value && numerator.value == 0.0 {
            return Self { value: 1.0, lower: 1.0, upper: 1.0 };
        }
        let value = numerator.value / denominator.value;
        let width = |a: f64, b: f64| (a / b).ln();
        let down = width(numerator.value, numerator.lower).hypot(width(denominator.upper, denominator.value));
        let up = width(numerator.upper, numerator.value).hypot(width(denominator.value, denominator.lower));
        let end = |exponent: f64| if exponent.is_nan() { value } else { value * exponent.exp() };
        Self { value, lower: end(-down), upper: end(up) }
    }

    /// Whether the interval lies on one side of one.
    ///
    /// ```
    /// use modeler::compare::Ratio;
    /// assert!(Ratio { value: 1.2, lower: 1.1, upper: 1.3 }.is_decided());
    /// assert!(!Ratio { value: 1.2, lower: 0.9, upper: 1.6 }.is_decided());
    /// ```
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.lower > 1.0 || self.upper < 1.0
    }
}

/// Which of two models is the smaller.
///
/// ```
/// use modeler::compare::{Side, Smaller, compare};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (linear, square) = (of(|p| 100.0 * p), of(|p| p * p));
/// let [first, second] = [&linear, &square].map(|(experiment, fits)| Side { experiment, fits });
/// let comparison = compare(first, second, &[64.0], 0.9)?;
/// assert_eq!(comparison.pairs[0].crossovers[0].then, Smaller::First); // p² is the larger beyond p = 100
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smaller {
    /// The first experiment's.
    First,
    /// The second experiment's.
    Second,
}

/// Where one model overtakes the other as one parameter grows and the others stay at the target.
///
/// ```
/// use modeler::compare::{Side, compare};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (linear, square) = (of(|p| 100.0 * p), of(|p| p * p));
/// let [first, second] = [&linear, &square].map(|(experiment, fits)| Side { experiment, fits });
/// let comparison = compare(first, second, &[64.0], 0.9)?;
/// let [crossover] = comparison.pairs[0].crossovers.as_slice() else { panic!("one crossover") };
/// assert!((crossover.at - 100.0).abs() < 1e-6); // 100 p = p²
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Crossover {
    /// Index of the parameter in the first experiment.
    pub parameter: usize,
    /// The value at which both are equal.
    pub at: f64,
    /// Up to this value, from the crossover before it, the order before this one is certain, the intervals being apart; `None` where it never is.
    pub lower: Option<f64>,
    /// From this value on the order after the crossover is certain; `None` where it is not up to the next crossover or the end of the search.
    pub upper: Option<f64>,
    /// From this value on the order before is certain up to `lower`; `None` where it is from the crossover before it, or the search's beginning.
    pub since: Option<f64>,
    /// Up to this value the order after is certain from `upper` on; `None` where it is up to the next crossover or the end of the search.
    pub to: Option<f64>,
    /// Which model is the smaller beyond it.
    pub then: Smaller,
}

/// The models of one metric at one call path in both experiments.
///
/// ```
/// use modeler::compare::{Side, compare};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (before, after) = (of(|p| 4.0 * p), of(|p| 5.0 * p));
/// let [first, second] = [&before, &after].map(|(experiment, fits)| Side { experiment, fits });
/// let pair = &compare(first, second, &[64.0], 0.9)?.pairs[0];
/// assert_eq!((pair.callpath.as_slice(), pair.metric), (&["solve"][..], "visits"));
/// assert_eq!((pair.first.1.value, pair.second.1.value, pair.ratio.value), (256.0, 320.0, 1.25));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pair<'a> {
    /// Names from the root to the call path.
    pub callpath: Vec<&'a str>,
    /// The metric's name.
    pub metric: &'a str,
    /// The metric's unit.
    pub unit: &'a str,
    /// The first experiment's model and its prediction at the target.
    pub first: (&'a Model, Prediction),
    /// The second experiment's model and its prediction at the target.
    pub second: (&'a Model, Prediction),
    /// Second over first at the target: above one, the second is the slower.
    pub ratio: Ratio,
    /// By parameter, the crossovers within the search, in ascending order.
    pub crossovers: Vec<Crossover>,
}

/// A metric that both experiments have in units of which none can be converted into the other.
///
/// ```
/// use modeler::compare::OtherUnits;
/// let units = OtherUnits { metric: "power", first: "W", second: "" };
/// assert_eq!(units.to_string(), "power is in W in the first and without a unit in the second");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherUnits<'a> {
    /// The metric's name.
    pub metric: &'a str,
    /// Its unit in the first experiment; empty where none is told.
    pub first: &'a str,
    /// Its unit in the second experiment.
    pub second: &'a str,
}

impl fmt::Display for OtherUnits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = |unit: &str| if unit.is_empty() { "without a unit".to_owned() } else { format!("in {unit}") };
        write!(f, "{} is {} in the first and {} in the second", self.metric, unit(self.first), unit(self.second))
    }
}

/// A metric of which only one experiment tells the statistic over ranks, and which was taken for the same in both.
///
/// ```
/// use modeler::{compare::Assumed, experiment::OverRanks};
/// let assumed = Assumed { metric: "time", first: Some(OverRanks::Mean), second: None };
/// let said = "time is the mean over ranks in the first and does not tell which value over ranks it is in the second";
/// assert_eq!(assumed.to_string(), said);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumed<'a> {
    /// The metric's name.
    pub metric: &'a str,
    /// What the first experiment says.
    pub first: Option<OverRanks>,
    /// What the second experiment says.
    pub second: Option<OverRanks>,
}

impl fmt::Display for Assumed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |over: Option<OverRanks>| {
            over.map_or_else(
                || "does not tell which value over ranks it is".to_owned(),
                |o| format!("is the {} over ranks", o.name()),
            )
        };
        write!(f, "{} {} in the first and {} in the second", self.metric, side(self.first), side(self.second))
    }
}

/// A series by its names.
pub type SeriesName<'a> = (Vec<&'a str>, &'a str);

/// What two experiments have in common, and what only one of them has.
///
/// ```
/// use modeler::compare::{Side, compare};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let before = of(|p| 4.0 * p);
/// let nothing = (before.0.clone(), modeler::Fits::default());
/// let [first, second] = [&before, &nothing].map(|(experiment, fits)| Side { experiment, fits });
/// let comparison = compare(first, second, &[64.0], 0.9)?;
/// assert_eq!((comparison.pairs.len(), comparison.target), (0, vec![64.0]));
/// assert_eq!(comparison.only_first, [(vec!["solve"], "visits")]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The first experiment's parameters: the order of all coordinates here.
    pub parameters: &'a [String],
    /// The point that the pairs are compared at.
    pub target: Vec<f64>,
    /// Series modelled in both, in the first experiment's order.
    pub pairs: Vec<Pair<'a>>,
    /// Metrics that were taken for the same although only one experiment tells the statistic over ranks.
    pub assumed: Vec<Assumed<'a>>,
    /// Metrics whose models are in units that cannot be compared, in the first experiment's order.
    pub other_units: Vec<OtherUnits<'a>>,
    /// Call path and metric of models that only the first has.
    pub only_first: Vec<SeriesName<'a>>,
    /// Call path and metric of models that only the second has.
    pub only_second: Vec<SeriesName<'a>>,
}

/// Compares the models of two experiments over the same parameters, in whatever order each names them. `target` has
/// one coordinate per parameter of the first, in its order; intervals hold with probability `level`.
///
/// ```
/// use modeler::compare::{Side, compare};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (before, after) = (of(|p| 10.0 + p), of(|p| 2.0 * p));
/// let [first, second] = [&before, &after].map(|(experiment, fits)| Side { experiment, fits });
/// let comparison = compare(first, second, &[40.0], 0.9)?;
/// assert_eq!(comparison.pairs[0].ratio.value, 80.0 / 50.0);
/// assert!((comparison.pairs[0].crossovers[0].at - 10.0).abs() < 1e-6);
/// let other = modeler::ExperimentBuilder::new(["n"]).finish();
/// assert!(compare(first, Side { experiment: &other, fits: &after.1 }, &[40.0], 0.9).is_err());
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// A sentence, where the parameters of the two differ.
pub fn compare<'a>(first: Side<'a>, second: Side<'a>, target: &[f64], level: f64) -> Result<Comparison<'a>, String> {
    let order = parameter_order(first.experiment, second.experiment)?;
    let (ours, theirs) = (Models::of(first), Models::of(second));
    // Each must be the other's counterpart: what pairs exactly with one does not pair with a third that tells less.
    let matched: Vec<(&Model, &Model)> = (first.fits.models.iter())
        .filter_map(|model| Some((model, theirs.counterpart(first, model)?)))
        .filter(|(model, other)| ours.counterpart(second, other).is_some_and(|back| std::ptr::eq(back, *model)))
        .collect();
    let metric = |side: Side<'a>, model: &Model| &side.experiment.metrics[model.metric as usize];
    let (mut assumed, mut other_units): (Vec<Assumed>, Vec<OtherUnits>) = (Vec::new(), Vec::new());
    let mut comparable = Vec::new();
    for &(model, other) in &matched {
        let (a, b) = (metric(first, model), metric(second, other));
        if a.unit != b.unit {
            let units = OtherUnits { metric: &a.name, first: &a.unit, second: &b.unit };
            if !other_units.contains(&units) {
                other_units.push(units);
            }
            continue;
        }
        comparable.push((model, other));
        let taken = Assumed { metric: &a.name, first: a.over_ranks, second: b.over_ranks };
        if a.over_ranks != b.over_ranks && !assumed.contains(&taken) {
            assumed.push(taken);
        }
    }
    let range = Range { first: first.experiment, second: second.experiment, order: &order };
    let pair = |(model, other): (&'a Model, &'a Model)| {
        let both = Both { first: model, second: other, order: &order, level };
        let (a, b) = both.at(target);
        let (callpath, metric) = names(first, model);
        Pair {
            callpath,
            metric,
            unit: &first.experiment.metrics[model.metric as usize].unit,
            first: (model, a),
            second: (other, b),
            ratio: Ratio::of(b, a),
            crossovers: (0..target.len()).flat_map(|l| both.crossovers(l, target, range.of(l))).collect(),
        }
    };
    let series = |model: &Model| (model.callpath, model.metric);
    let alone = |side: Side<'a>, matched: HashSet<(CallPathId, MetricId)>| {
        side.fits.models.iter().filter(|m| !matched.contains(&series(m))).map(|m| names(side, m)).collect()
    };
    Ok(Comparison {
        parameters: &first.experiment.parameters,
        target: target.to_vec(),
        only_first: alone(first, matched.iter().map(|(m, _)| series(m)).collect()),
        only_second: alone(second, matched.iter().map(|(_, m)| series(m)).collect()),
        pairs: comparable.into_iter().map(pair).collect(),
        assumed,
        other_units,
    })
}

fn names<'a>(side: Side<'a>, model: &Model) -> SeriesName<'a> {
    (side.experiment.path(model.callpath), side.experiment.metrics[model.metric as usize].name.as_str())
}

/// The models of one experiment by the names of their series.
///
/// ```
/// use modeler::compare::{Models, Side};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (before, after) = (of(|p| 4.0 * p), of(|p| 5.0 * p));
/// let [old, new] = [&before, &after].map(|(experiment, fits)| Side { experiment, fits });
/// let models = Models::of(old);
/// assert_eq!(models.counterpart(new, &new.fits.models[0]), Some(&old.fits.models[0]));
/// ```
#[derive(Debug)]
pub struct Models<'a>(HashMap<SeriesName<'a>, Vec<(Option<OverRanks>, &'a Model)>>);

impl<'a> Models<'a> {
    /// Those of `side`.
    ///
    /// ```
    /// use modeler::compare::{Models, Side};
    /// let (experiment, fits) = (modeler::Experiment::default(), modeler::Fits::default());
    /// // There is nothing in it.
    /// assert_eq!(format!("{:?}", Models::of(Side { experiment: &experiment, fits: &fits })), "Models({})");
    /// ```
    #[must_use]
    pub fn of(side: Side<'a>) -> Self {
        let mut all: HashMap<SeriesName, Vec<_>> = HashMap::new();
        for model in &side.fits.models {
            let over_ranks = side.experiment.metrics[model.metric as usize].over_ranks;
            all.entry(names(side, model)).or_default().push((over_ranks, model));
        }
        Self(all)
    }

    /// The model of the series that `model` is of in the experiment `side`: with the same call path, metric and statistic over
    /// ranks. Where one of the two does not tell the statistic, as most formats do not, it is the mean: maxima, minima and sums
    /// have names of their own there.
    ///
    /// ```
    /// use modeler::compare::{Models, Side};
    /// # let of = |cost: fn(f64) -> f64| {
    /// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
    /// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
    /// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
    /// #     let fits = modeler::fit(&experiment, &Default::default());
    /// #     (experiment, fits)
    /// # };
    /// let (before, after) = (of(|p| 4.0 * p), of(|p| 5.0 * p));
    /// let [old, new] = [&before, &after].map(|(experiment, fits)| Side { experiment, fits });
    /// let models = Models::of(old);
    /// assert_eq!(models.counterpart(new, &new.fits.models[0]).map(|model| model.at(&[10.0])), Some(40.0));
    /// ```
    #[must_use]
    pub fn counterpart(&self, side: Side, model: &Model) -> Option<&'a Model> {
        let candidates = self.0.get(&names(side, model))?;
        let wanted = side.experiment.metrics[model.metric as usize].over_ranks;
        let exact = candidates.iter().find(|(over, _)| *over == wanted);
        let is_mean = |over: &Option<OverRanks>| matches!(over, None | Some(OverRanks::Mean));
        let mean = || candidates.iter().find(|(over, _)| is_mean(over) && is_mean(&wanted));
        exact.or_else(mean).map(|(_, model)| *model)
    }
}

/// For each parameter of the second experiment its index in the first.
///
/// ```
/// use modeler::{ExperimentBuilder, compare::parameter_order};
/// let over = |names: &[&str]| ExperimentBuilder::new(names.iter().copied()).finish();
/// assert_eq!(parameter_order(&over(&["p", "n"]), &over(&["n", "p"])), Ok(vec![1, 0]));
/// assert!(parameter_order(&over(&["p", "n"]), &over(&["n"])).is_err());
/// ```
///
/// # Errors
/// A sentence, where the parameters of the two differ, which can be asked before anything is fitted.
pub fn parameter_order(first: &Experiment, second: &Experiment) -> Result<Vec<usize>, String> {
    let order: Option<Vec<usize>> =
        second.parameters.iter().map(|name| first.parameters.iter().position(|p| p == name)).collect();
    order.filter(|order| order.len() == first.parameters.len()).ok_or_else(|| {
        format!(
            "The parameters differ: {} in the first and {} in the second. Only experiments over the same parameters can be compared.",
            first.parameters.join(", "),
            second.parameters.join(", ")
        )
    })
}

/// The measured values of both experiments.
struct Range<'a> {
    first: &'a Experiment,
    second: &'a Experiment,
    order: &'a [usize],
}

impl Range<'_> {
    /// Smallest and largest value of parameter `l` of the first experiment in either.
    fn of(&self, l: usize) -> (f64, f64) {
        let theirs = self.order.iter().position(|&k| k == l);
        let ours = self.first.points.iter().map(|p| p[l]);
        let all = ours.chain(theirs.into_iter().flat_map(|k| self.second.points.iter().map(move |p| p[k])));
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    }
}

/// Two models of the same series.
struct Both<'a> {
    first: &'a Model,
    second: &'a Model,
    order: &'a [usize],
    level: f64,
}

impl Both<'_> {
    /// Both predictions at `x`, whose coordinates are in the first experiment's order.
    fn at(&self, x: &[f64]) -> (Prediction, Prediction) {
        let theirs: Vec<f64> = self.order.iter().map(|&k| x[k]).collect();
        (self.first.predict(x, self.level), self.second.predict(&theirs, self.level))
    }

    fn ratio(&self, x: &[f64]) -> Ratio {
        let (a, b) = self.at(x);
        Ratio::of(b, a)
    }

    /// The places where the order of the two changes as parameter `l` grows from the smallest measured value on.
    fn crossovers(&self, l: usize, target: &[f64], (low, high): (f64, f64)) -> Vec<Crossover> {
        if !(low > 0.0 && high.is_finite()) {
            return Vec::new();
        }
        let ratio = |x: f64| self.ratio(&with(target, l, x));
        let step = (high * REACH / low).ln() / STEPS as f64;
        let grid: Vec<f64> = (0..=STEPS).map(|i| low * (step * i as f64).exp()).collect();
        let ratios: Vec<Ratio> = grid.iter().map(|&x| ratio(x)).collect();
        // The step before and the step after each change; between them the two may be equal.
        let unequal: Vec<usize> = (0..grid.len()).filter(|&i| order(ratios[i]) != 0).collect();
        let has_changed = |steps: &&[usize]| order(ratios[steps[0]]) != order(ratios[steps[1]]);
        let changes: Vec<(usize, usize)> =
            unequal.windows(2).filter(has_changed).map(|steps| (steps[0], steps[1])).collect();
        let is_certain = |i: &usize, side: i32| ratios[*i].is_decided() && order(ratios[*i]) == side;
        let crossover = |(k, &(before, after)): (usize, &(usize, usize))| {
            let first = if k > 0 { changes[k - 1].1 } else { 0 };
            let last = changes.get(k + 1).map_or(grid.len() - 1, |next| next.0);
            let side = order(ratios[after]);
            let lower = (first..=before).rev().find(|i| is_certain(i, -side));
            let upper = (after..=last).find(|i| is_certain(i, side));
            // Intervals grow with the distance from what was measured, so that they may meet again.
            let doubt_before = lower.and_then(|lower| (first..lower).rev().find(|i| !is_certain(i, -side)));
            let doubt_after = upper.and_then(|upper| (upper..=last).find(|i| !is_certain(i, side)));
            Crossover {
                parameter: l,
                at: bisect(grid[before], grid[after], |x| order(ratio(x)) == side),
                lower: lower.map(|i| grid[i]),
                upper: upper.map(|i| grid[i]),
                since: doubt_before.map(|i| grid[i + 1]),
                to: doubt_after.map(|i| grid[i - 1]),
                then: if side > 0 { Smaller::First } else { Smaller::Second },
            }
        };
        changes.iter().enumerate().map(crossover).collect()
    }
}

/// 1 where the second is larger, -1 where it is smaller, 0 where they are the same or nothing can be said.
fn order(ratio: Ratio) -> i32 {
    match ratio.value {
        r if r > 1.0 + SAME => 1,
        r if r < 1.0 - SAME => -1,
        _ => 0,
    }
}

/// `x` with another value of one coordinate.
fn with(x: &[f64], coordinate: usize, value: f64) -> Vec<f64> {
    x.iter().enumerate().map(|(k, &v)| if k == coordinate { value } else { v }).collect()
}

/// The smallest value in between, to 1e-12, from which on `holds` is true.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    while high / low > 1.0 + 1e-12 {
        let middle = (low * high).sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};
    use crate::{Options, fit};

    fn experiment(parameters: [&str; 2], cost: impl Fn(f64, f64) -> f64) -> (Experiment, Fits) {
        let mut builder = ExperimentBuilder::new(parameters);
        let metric = builder.metric(Metric { name: "basic_blocks".into(), unit: String::new(), over_ranks: None });
        let solve = builder.callpath(["main", "solve"]);
        for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
            for n in [100.0, 200.0, 300.0, 400.0, 500.0] {
                let x = if parameters[0] == "p" { [p, n] } else { [n, p] };
                let point = builder.point(&x);
                builder.add(solve, metric, point, cost(p, n));
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        (experiment, fits)
    }

    #[test]
    fn exact_counts_cross_where_their_functions_do() {
        // 1000 n and 10 n p are equal at p = 100, whatever n is; the second names its parameters the other way round.
        let (a, fa) = experiment(["p", "n"], |_, n| 1000.0 * n);
        let (b, fb) = experiment(["n", "p"], |p, n| 10.0 * n * p);
        let side = |experiment, fits| Side { experiment, fits };
        let found = compare(side(&a, &fa), side(&b, &fb), &[400.0, 500.0], 0.9).unwrap();
        let pair = &found.pairs[0];
        assert!((pair.ratio.value - 4.0).abs() < 1e-6 && pair.ratio.is_decided(), "{:?}", pair.ratio);
        let [crossover] = &pair.crossovers[..] else { panic!("{:?}", pair.crossovers) };
        assert_eq!((crossover.parameter, crossover.then), (0, Smaller::First));
        assert!((crossover.at - 100.0).abs() < 1e-3, "{crossover:?}");
        assert!(crossover.lower.unwrap() < 100.0 && crossover.upper.unwrap() > 100.0, "{crossover:?}");
        assert!(crossover.upper.unwrap() < 103.0, "{crossover:?}");
    }

    #[test]
    fn all_crossovers_are_told() {
        // 1000 + p² and 120 p are equal where p is 60 -+ sqrt(3600 - 1000).
        let (a, fa) = experiment(["p", "n"], |p, _| 1000.0 + p * p);
        let (b, fb) = experiment(["p", "n"], |p, _| 120.0 * p);
        let side = |experiment, fits| Side { experiment, fits };
        let found = compare(side(&a, &fa), side(&b, &fb), &[64.0, 500.0], 0.9).unwrap();
        let [small, large] = &found.pairs[0].crossovers[..] else { panic!("{:?}", found.pairs[0].crossovers) };
        let off = 2600.0_f64.sqrt();
        for (crossover, at, then) in [(small, 60.0 - off, Smaller::First), (large, 60.0 + off, Smaller::Second)] {
            assert_eq!((crossover.parameter, crossover.then), (0, then));
            assert!((crossover.at / at - 1.0).abs() < 1e-5, "{crossover:?}");
            let (lower, upper) = (crossover.lower.unwrap(), crossover.upper.unwrap());
            assert!(lower < at && at < upper && upper / lower < 1.1, "{crossover:?}");
            assert_eq!((crossover.since, crossover.to), (None, None), "exact counts are certain everywhere");
        }
    }

    /// Where times are noisy the intervals meet again far away: each place that is said to be certain is, and the next step is not.
    #[test]
    fn what_is_certain_ends_where_intervals_meet() {
        let noisy = |scale: f64, exponent: f64| {
            let mut builder = ExperimentBuilder::new(["p"]);
            let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
            let solve = builder.callpath(["solve"]);
            for (i, p) in [2.0, 4.0, 8.0, 16.0, 32.0_f64].into_iter().enumerate() {
                let point = builder.point(&[p]);
                for r in 0..3 {
                    let off = 1.0 + 0.04 * (((7 * i + 3 * r) % 5) as f64 / 2.0 - 1.0);
                    builder.add(solve, time, point, scale * p.powf(exponent) * off);
                }
            }
            let experiment = builder.finish();
            let fits = fit(&experiment, &Options::default());
            (experiment, fits)
        };
        let ((a, fa), (b, fb)) = (noisy(10.0, 1.0), noisy(1.0, 2.0));
        let compared = |p: f64| {
            let side = |experiment, fits| Side { experiment, fits };
            let found = compare(side(&a, &fa), side(&b, &fb), &[p], 0.9).unwrap();
            (found.pairs[0].ratio, found.pairs[0].crossovers.clone())
        };
        let [crossover] = &compared(64.0).1[..] else { panic!("{:?}", compared(64.0).1) };
        assert!((crossover.at / 10.0 - 1.0).abs() < 0.2, "{crossover:?}");
        let (from, to) = (crossover.upper.unwrap(), crossover.to.unwrap_or(32.0 * REACH));
        for i in 0..=50 {
            let p = from * (to / from).powf(f64::from(i) / 50.0);
            assert!(compared(p).0.is_decided(), "{p} of {from} to {to}");
        }
        if let Some(to) = crossover.to {
            let next = to * (32.0 * REACH / 2.0_f64).powf(1.01 / STEPS as f64);
            assert!(!compared(next).0.is_decided(), "{next} behind {to}");
        }
    }

    #[test]
    fn what_is_in_other_units_is_no_pair() {
        let (a, fa) = experiment(["p", "n"], |_, n| n);
        let (mut b, fb) = experiment(["p", "n"], |_, n| n);
        b.metrics[0].unit = "cycles".into();
        let side = |experiment, fits| Side { experiment, fits };
        let found = compare(side(&a, &fa), side(&b, &fb), &[1.0, 1.0], 0.9).unwrap();
        assert!(found.pairs.is_empty() && found.only_first.is_empty() && found.only_second.is_empty());
        let [only] = &found.other_units[..] else { panic!("{:?}", found.other_units) };
        assert_eq!(only.to_string(), "basic_blocks is without a unit in the first and in cycles in the second");
    }

    /// The same times as the statistics over ranks that `metrics` names.
    fn over_ranks(metrics: &[Option<OverRanks>]) -> (Experiment, Fits) {
        let mut builder = ExperimentBuilder::new(["p"]);
        let solve = builder.callpath(["main", "solve"]);
        for (i, over_ranks) in metrics.iter().enumerate() {
            let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: *over_ranks });
            for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
                let point = builder.point(&[p]);
                builder.add(solve, time, point, (i + 1) as f64 * p);
            }
        }
        let experiment = builder.finish();
        let wanted = metrics[0].unwrap_or(OverRanks::Mean);
        let fits = fit(&experiment, &Options { over_ranks: wanted, ..Options::default() });
        (experiment, fits)
    }

    #[test]
    fn a_statistic_that_one_side_does_not_tell_is_the_mean() {
        let mean = Some(OverRanks::Mean);
        let of = |a: &[Option<OverRanks>], b: &[Option<OverRanks>]| {
            let ((a, fa), (b, fb)) = (over_ranks(a), over_ranks(b));
            let side = |experiment, fits| Side { experiment, fits };
            let found = compare(side(&a, &fa), side(&b, &fb), &[64.0], 0.9).unwrap();
            let values: Vec<[f64; 2]> =
                found.pairs.iter().map(|p| [p.first.1.value, p.second.1.value].map(f64::round)).collect();
            let assumed: Vec<String> = found.assumed.iter().map(ToString::to_string).collect();
            (values, assumed, found.only_first.len(), found.only_second.len())
        };
        let told =
            "time is the mean over ranks in the first and does not tell which value over ranks it is in the second";
        assert_eq!(of(&[mean], &[None]), (vec![[64.0, 64.0]], vec![told.to_owned()], 0, 0));
        assert_eq!(of(&[None], &[mean]).0, [[64.0, 64.0]]);
        assert_eq!(of(&[mean], &[mean]), (vec![[64.0, 64.0]], vec![], 0, 0));
        // A maximum or a sum is not what another program calls the time.
        for other in [OverRanks::Maximum, OverRanks::Minimum, OverRanks::Sum] {
            assert_eq!(of(&[Some(other)], &[None]), (vec![], vec![], 1, 1));
            assert_eq!(of(&[None], &[Some(other)]), (vec![], vec![], 1, 1));
        }
        // What pairs exactly is not taken by another; that one is alone.
        assert_eq!(of(&[None, mean], &[mean]), (vec![[128.0, 64.0]], vec![], 1, 0));
        assert_eq!(of(&[mean], &[None, mean]), (vec![[64.0, 128.0]], vec![], 0, 1));
    }

    #[test]
    fn quotients_add_relative_errors_as_squares() {
        let wide =
            |value: f64, factor: f64| Prediction { value, lower: value / factor, upper: value * factor, level: 0.9 };
        let ratio = Ratio::of(wide(8.0, 1.5), wide(2.0, 1.25));
        // By hand: sqrt(ln(1.5)^2 + ln(1.25)^2) = 0.46277, whose exponential is 1.58848.
        assert!((ratio.value - 4.0).abs() < 1e-12);
        assert!(
            (ratio.upper - 4.0 * 1.588_535).abs() < 1e-5 && (ratio.lower - 4.0 / 1.588_535).abs() < 1e-4,
            "{ratio:?}"
        );
        let zero = Prediction { value: 0.0, lower: 0.0, upper: 0.0, level: 0.9 };
        assert_eq!(Ratio::of(zero, zero).value, 1.0);
        assert_eq!(Ratio::of(wide(1.0, 1.1), zero).value, f64::INFINITY);
    }

    #[test]
    fn other_parameters_cannot_be_compared() {
        let (a, fa) = experiment(["p", "n"], |_, n| n);
        let (b, fb) = experiment(["p", "m"], |_, n| n);
        let error = compare(Side { experiment: &a, fits: &fa }, Side { experiment: &b, fits: &fb }, &[1.0, 1.0], 0.9);
        assert!(error.unwrap_err().contains("p, n in the first and p, m in the second"));
    }
}
