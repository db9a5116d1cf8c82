//! `poise check`: judge models against expectations, with intervals, so that noise does not fail a build.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use modeler::compare::Ratio;
use modeler::experiment::{CallPathId, MetricId};
use modeler::formats::Input;
use modeler::report::terminal::table;
use modeler::report::{Table, growth, largest, quantity};
use modeler::verdict::{self, Verdict};
use modeler::{Experiment, Fits, Model};
use serde::Serialize;

use crate::cli::{Assignments, CheckArgs, GlobalArgs, InputArgs, OutputFormat};
use crate::commands::input;
use crate::error::{Error, Result};
use crate::expectations::{self, Expectation, Requirement};
use crate::junit::{self, Case, Outcome};
use crate::output;

/// One expectation of one call path, judged.
#[derive(Serialize)]
struct Judged {
    callpath: Vec<String>,
    metric: String,
    /// What was expected, in words.
    expected: String,
    verdict: &'static str,
    /// What was found.
    found: String,
    /// Line in the file of expectations.
    line: usize,
}

#[derive(Serialize)]
struct CheckFile<'a> {
    schema: &'static str,
    schema_version: u32,
    level: f64,
    passed: usize,
    failed: usize,
    undecided: usize,
    checks: &'a [Judged],
}

/// Reads, fits, judges, prints.
pub fn check(arguments: &CheckArgs, global: &GlobalArgs) -> Result<()> {
    let expected = expectations::read(&arguments.expect)?;
    let Input { experiment, .. } = input::read(&arguments.fitted.input, global)?;
    let named: Vec<CallPathId> = expected.iter().flat_map(|e| named(&experiment, e)).map(|(path, _)| path).collect();
    let fits = input::fit_callpaths(&experiment, &arguments.fitted.fit, &named)?;
    let mut judge = Judge { arguments, global, experiment: &experiment, fits: &fits, baselines: HashMap::new() };
    let mut checks = Vec::new();
    for expectation in &expected {
        checks.extend(judge.all(expectation)?);
    }
    let text = match arguments.fitted.output.format {
        OutputFormat::Human => for_people(&checks),
        OutputFormat::Json => json(&checks, arguments.level.level),
        OutputFormat::Csv => csv(&checks),
    };
    if let Some(path) = &arguments.junit {
        output::deliver(&junit(&checks), Some(path))?;
    }
    output::deliver(&text, arguments.fitted.output.output.as_deref())?;
    match count(&checks, Verdict::Fail) {
        0 => Ok(()),
        failed => Err(Error::Gate(format!("{failed} of {} expectations fail.", checks.len()))),
    }
}

/// How many letters have to be changed, added or taken away to make one text of the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let best = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}

fn count(checks: &[Judged], verdict: Verdict) -> usize {
    checks.iter().filter(|c| c.verdict == verdict.name()).count()
}

struct Judge<'a> {
    arguments: &'a CheckArgs,
    global: &'a GlobalArgs,
    experiment: &'a Experiment,
    fits: &'a Fits,
    /// Read and fitted once each.
    baselines: HashMap<PathBuf, (Experiment, Fits)>,
}

impl Judge<'_> {
    /// The expectation for every call path that it matches.
    fn all(&mut self, expectation: &Expectation) -> Result<Vec<Judged>> {
        let at = self.point(expectation)?;
        if let Requirement::Baseline { path, .. } = &expectation.requirement {
            self.read_baseline(path, expectation)?;
        }
        let matching = self.matching(expectation)?;
        matching.into_iter().map(|(callpath, metric)| self.one(expectation, callpath, metric, &at)).collect()
    }

    /// The call paths with the metric whose names are nearest to the pattern, for the message that none matches.
    fn nearest(&self, expectation: &Expectation) -> String {
        const TOLD: usize = 3;
        let has_metric = |m: MetricId| self.experiment.metrics[m as usize].name == expectation.metric;
        let series = self.experiment.series.iter().filter(|s| has_metric(s.metric));
        let mut paths: Vec<String> = series.map(|s| self.experiment.path(s.callpath).join(" -> ")).collect();
        paths.dedup();
        paths.sort_by_cached_key(|path| distance(path, &expectation.callpath));
        let told: Vec<String> = paths.iter().take(TOLD).map(|path| format!("`{path}`")).collect();
        match told.len() {
            0 => "the input does not hold that metric".to_owned(),
            _ => format!("the nearest of {} are {}", paths.len(), told.join(", ")),
        }
    }

    /// Series that the expectation names. One that matches nothing is an error: a gate that judges nothing would pass
    /// for ever after a function was renamed.
    fn matching(&self, expectation: &Expectation) -> Result<Vec<(CallPathId, MetricId)>> {
        let mut found = named(self.experiment, expectation);
        found.retain(|&(path, metric)| self.is_judged(path, metric));
        if found.is_empty() {
            return Err(self.at_line(
                expectation.line,
                &format!(
                    "no call path with the metric {} matches `{}`; {}",
                    expectation.metric,
                    expectation.callpath,
                    self.nearest(expectation)
                ),
            ));
        }
        Ok(found)
    }

    /// Whether a series has a model, or was to have one: of the statistics over ranks only one is modelled.
    fn is_judged(&self, callpath: CallPathId, metric: MetricId) -> bool {
        self.model(callpath, metric).is_some()
            || self.fits.skipped.iter().any(|s| (s.callpath, s.metric) == (callpath, metric))
    }

    fn model(&self, callpath: CallPathId, metric: MetricId) -> Option<&Model> {
        self.fits.models.iter().find(|m| (m.callpath, m.metric) == (callpath, metric))
    }

    fn one(&self, expectation: &Expectation, callpath: CallPathId, metric: MetricId, at: &[f64]) -> Result<Judged> {
        let (verdict, expected, found) = match self.model(callpath, metric) {
            Some(model) => self.judge(expectation, model, at)?,
            None => {
                let reason = self.fits.skipped.iter().find(|s| (s.callpath, s.metric) == (callpath, metric));
                let reason = reason.map_or_else(String::new, |s| s.reason.clone());
                (Verdict::Undecided, "a model".to_owned(), format!("no model: {reason}"))
            }
        };
        Ok(Judged {
            callpath: self.experiment.path(callpath).into_iter().map(str::to_owned).collect(),
            metric: expectation.metric.clone(),
            expected,
            verdict: verdict.name(),
            found,
            line: expectation.line,
        })
    }

    fn judge(&self, expectation: &Expectation, model: &Model, at: &[f64]) -> Result<(Verdict, String, String)> {
        let unit = &self.experiment.metrics[model.metric as usize].unit;
        let interval = |p: modeler::Prediction| {
            format!("{} ({} to {})", quantity(p.value, unit), quantity(p.lower, unit), quantity(p.upper, unit))
        };
        let prediction = model.predict(at, self.arguments.level.level);
        Ok(match &expectation.requirement {
            Requirement::Growth(bounds) => {
                let verdicts = self.growth_verdicts(expectation, model, bounds)?;
                let worst = verdicts.into_iter().max().unwrap_or(Verdict::Pass);
                let names: Vec<String> = bounds.iter().map(|(name, _)| name.clone()).collect();
                let growths: Vec<_> = bounds.iter().map(|(_, g)| *g).collect();
                let found = growth(&self.experiment.parameters, &model.growth);
                (worst, format!("grows at most as {}", growth(&names, &growths)), format!("grows as {found}"))
            }
            Requirement::AtMost(limit) => {
                let expected = format!("at most {} at {}", quantity(*limit, unit), self.shown(at));
                (verdict::at_most(prediction, *limit), expected, interval(prediction))
            }
            Requirement::Baseline { path, tolerance } => {
                let (ratio, old) = self.against(path, model, at);
                let percent = 100.0 * tolerance;
                let expected = format!("no more than {percent} % above {} at {}", path.display(), self.shown(at));
                match ratio {
                    Some(ratio) => {
                        let found = format!(
                            "{} times {} ({} to {})",
                            quantity(ratio.value, ""),
                            quantity(old, unit),
                            quantity(ratio.lower, ""),
                            quantity(ratio.upper, "")
                        );
                        (verdict::no_worse(ratio, *tolerance), expected, found)
                    }
                    None => (Verdict::Undecided, expected, "the baseline has no model of it".to_owned()),
                }
            }
        })
    }

    fn growth_verdicts(
        &self,
        expectation: &Expectation,
        model: &Model,
        bounds: &[(String, modeler::model::Growth)],
    ) -> Result<Vec<Verdict>> {
        let corner = largest(self.experiment);
        let one = |(name, bound): &(String, modeler::model::Growth)| {
            let index = self.experiment.parameters.iter().position(|p| p == name).ok_or_else(|| {
                let known = self.experiment.parameters.join(", ");
                self.at_line(
                    expectation.line,
                    &format!("`growth` names {name}, which is no parameter; there are {known}"),
                )
            })?;
            Ok(model.grows_at_most(index, *bound, &corner))
        };
        bounds.iter().map(one).collect()
    }

    /// The quotient of this model and the baseline's of the same series at a point, and the baseline's value.
    fn against(&self, path: &PathBuf, model: &Model, at: &[f64]) -> (Option<Ratio>, f64) {
        let (experiment, fits) = &self.baselines[path];
        let names = self.experiment.path(model.callpath);
        let metric = &self.experiment.metrics[model.metric as usize];
        let same = |m: &&Model| {
            let other = &experiment.metrics[m.metric as usize];
            other.name == metric.name && other.over_ranks == metric.over_ranks && experiment.path(m.callpath) == names
        };
        let Some(old) = fits.models.iter().find(same) else { return (None, f64::NAN) };
        let position = |name: &String| self.experiment.parameters.iter().position(|p| p == name);
        let theirs: Vec<f64> = experiment.parameters.iter().filter_map(position).map(|k| at[k]).collect();
        let old = old.predict(&theirs, self.arguments.level.level);
        (Some(Ratio::of(model.predict(at, self.arguments.level.level), old)), old.value)
    }

    fn read_baseline(&mut self, path: &PathBuf, expectation: &Expectation) -> Result<()> {
        if self.baselines.contains_key(path) {
            return Ok(());
        }
        let input = input::read(&InputArgs::of(path.clone(), None), self.global).map_err(|error| match error {
            Error::Input(what) => self.at_line(expectation.line, &format!("the baseline cannot be used: {what}")),
            other => other,
        })?;
        let (mut ours, mut theirs) = (self.experiment.parameters.clone(), input.experiment.parameters.clone());
        ours.sort();
        theirs.sort();
        if ours != theirs {
            let (ours, theirs) = (ours.join(", "), theirs.join(", "));
            return Err(Error::NotModelable(format!(
                "The baseline {} is over the parameters {theirs}, the input over {ours}; they must be the same.",
                path.display()
            )));
        }
        let ours: HashSet<Vec<&str>> = self.fits.models.iter().map(|m| self.experiment.path(m.callpath)).collect();
        let all = 0..input.experiment.callpaths.len() as CallPathId;
        let same: Vec<CallPathId> = all.filter(|&id| ours.contains(&input.experiment.path(id))).collect();
        let fits = input::fit_callpaths(&input.experiment, &self.arguments.fitted.fit, &same)?;
        self.baselines.insert(path.clone(), (input.experiment, fits));
        Ok(())
    }

    /// Where the expectation is judged: as it says, or at the largest measured values.
    fn point(&self, expectation: &Expectation) -> Result<Vec<f64>> {
        match &expectation.at {
            Some(at) => input::coordinates(self.experiment, &Assignments(at.clone()))
                .map_err(|e| self.at_line(expectation.at_line, &e.to_string().replace("--at", "`at`"))),
            None => Ok(largest(self.experiment)),
        }
    }

    fn shown(&self, at: &[f64]) -> String {
        let named: Vec<String> = self.experiment.parameters.iter().zip(at).map(|(p, x)| format!("{p} = {x}")).collect();
        named.join(", ")
    }

    fn at_line(&self, line: usize, what: &str) -> Error {
        let file = self.arguments.expect.display();
        Error::Input(format!("{file}:{line}: {}.", what.trim_end_matches('.')))
    }
}

/// The series that an expectation names, those without a model too.
fn named(experiment: &Experiment, expectation: &Expectation) -> Vec<(CallPathId, MetricId)> {
    let has_metric = |id: MetricId| experiment.metrics[id as usize].name == expectation.metric;
    let series = experiment.series.iter().map(|s| (s.callpath, s.metric)).filter(|&(_, metric)| has_metric(metric));
    let is_named = |path: CallPathId| matches(&expectation.callpath, &experiment.path(path).join(" -> "));
    let mut found: Vec<(CallPathId, MetricId)> = series.filter(|&(path, _)| is_named(path)).collect();
    found.dedup();
    found
}

/// Whether the text is the pattern, `*` standing for any text, also none.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn for_people(checks: &[Judged]) -> String {
    let header = ["verdict", "call path", "metric", "expected", "found"].map(str::to_owned).to_vec();
    let row = |c: &Judged| {
        vec![c.verdict.to_owned(), c.callpath.join(" -> "), c.metric.clone(), c.expected.clone(), c.found.clone()]
    };
    let mut text = table(&Table { header, rows: checks.iter().map(row).collect() });
    let [pass, fail, open] = [Verdict::Pass, Verdict::Fail, Verdict::Undecided].map(|v| count(checks, v));
    let _ = writeln!(text, "{pass} pass, {fail} fail, {open} undecided.");
    if open > 0 {
        let _ = writeln!(text, "Undecided is what noise leaves open; more points or repetitions decide it.");
    }
    text
}

fn json(checks: &[Judged], level: f64) -> String {
    let file = CheckFile {
        schema: "counterpoise/checks",
        schema_version: 1,
        level,
        passed: count(checks, Verdict::Pass),
        failed: count(checks, Verdict::Fail),
        undecided: count(checks, Verdict::Undecided),
        checks,
    };
    let mut text = serde_json::to_string_pretty(&file).expect("strings and finite numbers are JSON");
    text.push('\n');
    text
}

fn csv(checks: &[Judged]) -> String {
    let quoted = |field: &str| format!("\"{}\"", field.replace('"', "\"\""));
    let mut text = String::from("verdict,callpath,metric,expected,found,line\n");
    for c in checks {
        let fields = [&c.callpath.join("->"), &c.metric, &c.expected, &c.found].map(|f| quoted(f));
        let _ = writeln!(text, "{},{},{}", c.verdict, fields.join(","), c.line);
    }
    text
}

fn junit(checks: &[Judged]) -> String {
    let case = |c: &Judged| Case {
        name: format!("{}: {}", c.callpath.join(" -> "), c.expected),
        class: c.metric.clone(),
        outcome: match c.verdict {
            "fail" => Outcome::Failed(format!("{}; expected: {}", c.found, c.expected)),
            "undecided" => Outcome::Skipped(format!("undecided: {}; expected: {}", c.found, c.expected)),
            _ => Outcome::Passed,
        },
    };
    junit::document("poise check", &checks.iter().map(case).collect::<Vec<Case>>())
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("main -> solve", "main -> solve"));
        assert!(!matches("main", "main -> solve"));
        assert!(matches("main*", "main -> solve") && matches("*solve", "main -> solve") && matches("*", "x"));
        assert!(matches("main -> * -> MPI_*", "main -> solve -> MPI_Allreduce"));
        assert!(!matches("main -> * -> MPI_*", "main -> MPI_Allreduce"));
        assert!(!matches("ab*ba", "aba"));
    }
}
