//! Comparisons of two experiments as JSON, schema `counterpoise/comparison` version 1, and as CSV.

use serde::Serialize;

use super::models::{ByParameter, Number, json};
use crate::compare::{Assumed, Comparison, Crossover, OtherUnits, Pair, Ratio, SeriesName, Smaller};
use crate::experiment::OverRanks;
use crate::model::Prediction;

#[derive(Serialize)]
struct ComparisonFile<'a> {
    schema: &'static str,
    schema_version: u32,
    level: f64,
    at: ByParameter<'a, Number>,
    pairs: Vec<PairEntry<'a>>,
    assumed: Vec<AssumedEntry<'a>>,
    other_units: Vec<UnitsEntry<'a>>,
    only_first: Vec<SeriesEntry<'a>>,
    only_second: Vec<SeriesEntry<'a>>,
}

#[derive(Serialize)]
struct AssumedEntry<'a> {
    metric: &'a str,
    first: Option<&'static str>,
    second: Option<&'static str>,
}

#[derive(Serialize)]
struct UnitsEntry<'a> {
    metric: &'a str,
    first: &'a str,
    second: &'a str,
}

#[derive(Serialize)]
struct PairEntry<'a> {
    callpath: &'a [&'a str],
    metric: &'a str,
    unit: &'a str,
    first: SideEntry,
    second: SideEntry,
    ratio: IntervalEntry,
    crossovers: Vec<CrossoverEntry<'a>>,
}

#[derive(Serialize)]
struct SideEntry {
    expression: String,
    #[serde(flatten)]
    prediction: IntervalEntry,
}

#[derive(Serialize)]
struct IntervalEntry {
    value: Number,
    lower: Number,
    upper: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl IntervalEntry {
    fn of(value: f64, lower: f64, upper: f64) -> Self {
        let finite = [value, lower, upper].iter().all(|v| v.is_finite());
        let reason = (!finite).then_some("a value or a quotient is not finite at this point");
        Self { value: Number(value), lower: Number(lower), upper: Number(upper), reason }
    }

    fn prediction(p: Prediction) -> Self {
        Self::of(p.value, p.lower, p.upper)
    }

    fn ratio(r: Ratio) -> Self {
        Self::of(r.value, r.lower, r.upper)
    }
}

#[derive(Serialize)]
struct CrossoverEntry<'a> {
    parameter: &'a str,
    value: Number,
    certain_since: Option<Number>,
    certain_until: Option<Number>,
    certain_from: Option<Number>,
    certain_to: Option<Number>,
    smaller_beyond: &'static str,
}

#[derive(Serialize)]
struct SeriesEntry<'a> {
    callpath: &'a [&'a str],
    metric: &'a str,
}

/// The comparison as JSON; intervals hold with probability `level`.
/// `second_parameters` are the second experiment's, in which its formulas are; schema `counterpoise/comparison`, version 1.
///
/// ```
/// use modeler::{compare::{Side, compare}, formats::comparison_json};
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (before, after) = (of(|p| 4.0 * p), of(|p| 5.0 * p));
/// let [first, second] = [&before, &after].map(|(experiment, fits)| Side { experiment, fits });
/// let text = comparison_json(&compare(first, second, &[64.0], 0.9)?, &after.0.parameters, 0.9);
/// let json: serde_json::Value = serde_json::from_str(&text).unwrap();
/// assert_eq!(json["pairs"][0]["ratio"]["value"], 1.25);
/// # Ok::<(), String>(())
/// ```
#[must_use]
pub fn comparison_json(comparison: &Comparison, second_parameters: &[String], level: f64) -> String {
    let pair = |p| pair_entry(comparison, second_parameters, p);
    json(&ComparisonFile {
        schema: "counterpoise/comparison",
        schema_version: 1,
        level,
        at: ByParameter(comparison.parameters, comparison.target.iter().map(|&x| Number(x)).collect()),
        pairs: comparison.pairs.iter().map(pair).collect(),
        assumed: comparison.assumed.iter().map(assumed).collect(),
        other_units: comparison.other_units.iter().map(units).collect(),
        only_first: comparison.only_first.iter().map(series).collect(),
        only_second: comparison.only_second.iter().map(series).collect(),
    })
}

fn pair_entry<'a>(comparison: &'a Comparison, second: &[String], pair: &'a Pair) -> PairEntry<'a> {
    let crossover = |c: &Crossover| CrossoverEntry {
        parameter: &comparison.parameters[c.parameter],
        value: Number(c.at),
        certain_since: c.since.map(Number),
        certain_until: c.lower.map(Number),
        certain_from: c.upper.map(Number),
        certain_to: c.to.map(Number),
        smaller_beyond: smaller(c.then),
    };
    PairEntry {
        callpath: &pair.callpath,
        metric: pair.metric,
        unit: pair.unit,
        first: SideEntry {
            expression: pair.first.0.expression(comparison.parameters),
            prediction: IntervalEntry::prediction(pair.first.1),
        },
        second: SideEntry {
            expression: pair.second.0.expression(second),
            prediction: IntervalEntry::prediction(pair.second.1),
        },
        ratio: IntervalEntry::ratio(pair.ratio),
        crossovers: pair.crossovers.iter().map(crossover).collect(),
    }
}

fn assumed<'a>(of: &Assumed<'a>) -> AssumedEntry<'a> {
    AssumedEntry { metric: of.metric, first: of.first.map(OverRanks::name), second: of.second.map(OverRanks::name) }
}

fn units<'a>(of: &OtherUnits<'a>) -> UnitsEntry<'a> {
    UnitsEntry { metric: of.metric, first: of.first, second: of.second }
}

/// The experiment that is smaller.
pub(super) fn smaller(which: Smaller) -> &'static str {
    match which {
        Smaller::First => "first",
        Smaller::Second => "second",
    }
}

fn series<'a>((callpath, metric): &'a SeriesName) -> SeriesEntry<'a> {
    SeriesEntry { callpath, metric }
}
