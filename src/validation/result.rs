//! The result of a validation: its JSON, schema `counterpoise/validation-scores`, and the gate.

use std::collections::BTreeMap;

use modeler::advise::LeastUncertainty;
use serde::Serialize;

use super::advised;
use super::exact::Exactness;
use super::execute::{Cost, Measurements};
use super::figures::{Cell, Figures, Noise};
use super::plan::{Executor, Plan};
use super::score::{Group, Score, Tally, Way};
use super::times::Subject;
use crate::error::{Error, Result};

/// Least share of call paths whose exponents must all be right.
pub const LEAST_RIGHT: f64 = 0.99;
/// A third of the paper's largest mean relative errors (section V-B.2), in percent: computation, communication.
pub const MOST_ERROR: [f64; 2] = [35.0 / 3.0, 60.0 / 3.0];

/// One call path.
#[derive(Serialize)]
pub struct Row {
    /// Names from the root.
    pub callpath: Vec<String>,
    /// What it consists of.
    pub kind: Group,
    /// Exponents of the truth, by parameter.
    pub truth: BTreeMap<String, String>,
    /// Time at the unseen point in seconds.
    pub measured: f64,
    /// Scores by way of modelling; null where there was no model.
    pub scores: BTreeMap<Way, Option<Score>>,
}

/// A line of Table II.
#[derive(Serialize)]
pub struct Line {
    /// Kind of call paths.
    pub kind: Group,
    /// How they were modelled.
    pub way: Way,
    /// Their scores.
    #[serde(flatten)]
    pub tally: Tally,
    /// Median relative error in percent.
    pub median_error_percent: Option<f64>,
}

/// Everything.
#[derive(Serialize)]
pub struct Outcome<'a> {
    schema: &'static str,
    schema_version: u32,
    tool_version: &'static str,
    /// What ran the programs.
    pub executor: Executor,
    /// Number of functions.
    pub functions: usize,
    /// Names of the parameters.
    pub parameters: &'a [String],
    /// The unseen point.
    pub test: Vec<f64>,
    /// Number of training points.
    pub points: usize,
    /// Measurements per point.
    pub repetitions: u32,
    /// Draws of noise for effort and for times alone.
    pub draws: [u32; 2],
    /// Table II.
    pub table: Vec<Line>,
    /// Figure 4.
    pub noise: Vec<Cell<Noise>>,
    /// Figure 5.
    pub fewer_repetitions: Vec<Cell<usize>>,
    /// One repetition of all training points, with the counters and without.
    pub cost: BTreeMap<&'static str, Cost>,
    /// Whether counts are what the truth says.
    pub exactness: Exactness,
    /// Every call path.
    pub callpaths: Vec<Row>,
    /// Models of advised points beside those of the full grid, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advised: Option<Vec<advised::Line>>,
    /// Ranks that advised runs have at least, where these may be fewer than the grid's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewest_ranks: Option<u32>,
    /// What as many core-hours leave uncertain at least; absent where that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advised_least: Option<LeastUncertainty>,
    /// Why the gate fails; empty where it does not.
    pub failures: Vec<String>,
}

impl<'a> Outcome<'a> {
    /// Sums everything up. `scores` are by [`Way`], each in the subjects' order.
    pub fn new(
        plan: &'a Plan,
        measurements: &'a Measurements,
        exactness: Exactness,
        subjects: &[Subject],
        scores: [Option<Vec<Option<Score>>>; 3],
        figures: Figures,
    ) -> Self {
        let ways = [Way::Effort, Way::Time, Way::ExtraP].into_iter().zip(scores);
        let scores: Vec<(Way, Vec<Option<Score>>)> = ways.filter_map(|(way, scores)| Some((way, scores?))).collect();
        let callpaths: Vec<Row> = subjects.iter().enumerate().map(|(i, s)| row(s, i, &scores)).collect();
        let mut outcome = Self {
            schema: "counterpoise/validation-scores",
            schema_version: 1,
            tool_version: env!("CARGO_PKG_VERSION"),
            executor: plan.executor,
            functions: plan.spec.functions.len(),
            parameters: &measurements.trained.parameters,
            test: plan.test(),
            points: measurements.trained.points.len(),
            repetitions: plan.repetitions,
            draws: [plan.draws, plan.time_draws],
            table: table(&callpaths, &scores),
            noise: figures.noise,
            fewer_repetitions: figures.repetitions,
            cost: BTreeMap::from([("with_counters", measurements.instrumented), ("without", measurements.plain)]),
            exactness,
            callpaths,
            advised: None,
            fewest_ranks: plan.fewest_ranks,
            advised_least: None,
            failures: Vec::new(),
        };
        outcome.failures = outcome.failures();
        outcome
    }

    /// The machine-readable result.
    pub fn json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n").map_err(|e| Error::Defect(e.to_string()))
    }

    /// Fails if anything that must hold does not.
    pub fn gate(&self) -> Result<()> {
        if self.failures.is_empty() { Ok(()) } else { Err(Error::Gate(self.failures.join(" "))) }
    }

    fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        if let Some(first) = self.exactness.wrong.first() {
            failures.push(format!(
                "{} of {} counts are not what the truth says, first the {} of {} at {}: {} instead of {}.",
                self.exactness.wrong.len(),
                self.exactness.checked,
                first.metric,
                first.callpath.join(" -> "),
                self.at_text(&first.at),
                first.measured,
                first.expected
            ));
        }
        for line in self.table.iter().filter(|l| l.way == Way::Effort && l.tally.share_right() < LEAST_RIGHT) {
            failures.push(format!(
                "Only {} of {} {} call paths have the truth's exponents, fewer than {:.0} %: not {}.",
                line.tally.right,
                line.tally.models,
                line.kind.name(),
                100.0 * LEAST_RIGHT,
                self.misses(line.kind).join(", ")
            ));
        }
        if self.executor == Executor::Smpi {
            self.error_failures(&mut failures);
        }
        failures
    }

    /// Errors are judged only where times are known. On a machine with fewer cores than ranks the measured time of an
    /// MPI operation is mostly that of waiting for a core.
    fn error_failures(&self, failures: &mut Vec<String>) {
        let limit = |group: Group| MOST_ERROR[usize::from(group == Group::Communication)];
        let mut judge = |group: Group, way: Way, tally: &Tally, where_: String| {
            let error = tally.mean_error().unwrap_or(0.0);
            if way == Way::Effort && error > limit(group) {
                let (kind, most) = (group.name(), limit(group));
                failures.push(format!("The mean error of {kind} {where_} is {error:.1} %, more than {most:.1} %."));
            }
        };
        for cell in &self.noise {
            let (pattern, level) = cell.at;
            judge(
                cell.group,
                cell.way,
                &cell.tally,
                match level {
                    0 => "without noise".to_owned(),
                    _ => format!("with {level} % of {} noise", pattern.name()),
                },
            );
        }
        for cell in self.fewer_repetitions.iter().filter(|cell| cell.at == 1) {
            judge(cell.group, cell.way, &cell.tally, "with one repetition".into());
        }
    }

    /// Call paths of a kind whose effort model deviates.
    pub fn misses(&self, kind: Group) -> Vec<String> {
        let is_miss = |row: &&Row| {
            let score = row.scores.get(&Way::Effort).and_then(Option::as_ref);
            row.kind == kind && score.is_none_or(|s| !s.is_right())
        };
        self.callpaths.iter().filter(is_miss).map(|row| row.callpath[1..].join(" -> ")).collect()
    }

    /// `p=4, n=8000`.
    pub fn at_text(&self, at: &[f64]) -> String {
        let pairs = self.parameters.iter().zip(at).map(|(name, x)| format!("{name}={x}"));
        pairs.collect::<Vec<_>>().join(", ")
    }
}

fn row(subject: &Subject, i: usize, scores: &[(Way, Vec<Option<Score>>)]) -> Row {
    Row {
        callpath: subject.truth.callpath.clone(),
        kind: Group::of(subject.truth.kind),
        truth: subject.truth.growth.time.iter().map(|(name, g)| (name.clone(), g.exponent.to_string())).collect(),
        measured: subject.unseen,
        scores: scores.iter().map(|(way, all)| (*way, all[i].clone())).collect(),
    }
}

fn table(rows: &[Row], scores: &[(Way, Vec<Option<Score>>)]) -> Vec<Line> {
    let mut lines = Vec::new();
    for kind in Group::ALL {
        for &(way, _) in scores {
            let mut tally = Tally::default();
            let mut errors = Vec::new();
            for row in rows.iter().filter(|row| row.kind == kind) {
                match &row.scores[&way] {
                    Some(score) => {
                        tally.add(score);
                        errors.extend(score.relative_error_percent);
                    }
                    // A call path without a model is one whose growth was not found.
                    None => tally.models += 1,
                }
            }
            errors.sort_by(f64::total_cmp);
            let median_error_percent = errors.get(errors.len() / 2).copied();
            lines.push(Line { kind, way, tally, median_error_percent });
        }
    }
    lines
}
