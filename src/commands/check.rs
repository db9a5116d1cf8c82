//! `poise check`: judge models against expectations, with intervals, so that noise does not fail a build.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use modeler::compare::{Models, Side};
use modeler::experiment::{CallPathId, MetricId};
use modeler::formats::Input;
use modeler::model::Growth;
use modeler::report::terminal::{Narrow, fitted, wrapped};
use modeler::report::{Table, coordinate, growth, largest, quantity};
use modeler::verdict::{self, Apart, FAMILY_DOUBT, Together, Verdict};
use modeler::{Experiment, Fits, Model, Prediction};
use serde::Serialize;

use crate::cli::{Assignments, CheckArgs, GlobalArgs, OutputFormat};
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
    /// Why it is undecided and what would decide it, where that is more than an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Line in the file of expectations.
    line: usize,
}

#[derive(Serialize)]
struct CheckFile<'a> {
    schema: &'static str,
    schema_version: u32,
    level: f64,
    /// How probable it is that noise alone fails none of them.
    family_level: f64,
    passed: usize,
    failed: usize,
    undecided: usize,
    checks: &'a [Judged],
}

/// Reads, fits, judges, prints.
pub fn check(arguments: &CheckArgs, global: &GlobalArgs) -> Result<()> {
    let expected = expectations::read(&arguments.expect)?;
    output::check_all_new([(&arguments.junit, "--junit"), (&arguments.fitted.output.output, "-o")])?;
    let of_inputs = &arguments.fitted.input;
    let input = input::read_paths(&of_inputs.inputs, &of_inputs.read, global)?;
    // Fitting may take long: what is wrong with the expectations is told before.
    let baselines = read_all(&expected, &input.experiment, arguments, global)?;
    // Baselines may be tables where the input is none.
    if baselines.is_empty() {
        input::unused_columns(&[&input], &of_inputs.read, global);
    }
    let Input { experiment, .. } = input;
    let named: Vec<CallPathId> = expected.iter().flat_map(|e| named(&experiment, e)).map(|(path, _)| path).collect();
    let fits = input::fit_callpaths(&experiment, &arguments.fitted.fit, &named)?;
    let baselines = fit_all(baselines, &experiment, &fits, arguments)?;
    let baselines = baselines
        .iter()
        .map(|(path, (experiment, fits))| (path.as_path(), Side { experiment, fits }))
        .map(|(path, side)| (path, (side, Models::of(side))))
        .collect();
    let mut judge = Judge { arguments, experiment: &experiment, fits: &fits, baselines, together: Together(0) };
    let matching = expected.iter().map(|e| judge.matching(e)).collect::<Result<Vec<_>>>()?;
    let chances = expected.iter().zip(&matching).map(|(e, matching)| judge.judgements_of(e) * matching.len());
    judge.together = Together(chances.sum());
    let mut checks = Vec::new();
    for (expectation, matching) in expected.iter().zip(matching) {
        checks.extend(judge.all(expectation, matching)?);
    }
    let text = match arguments.fitted.output.format {
        OutputFormat::Human => for_people(&checks, output::width(arguments.fitted.output.output.as_deref())),
        OutputFormat::Json => json(&checks, arguments.level.level),
        OutputFormat::Csv => csv(&checks),
    };
    if let Some(path) = &arguments.junit {
        output::deliver_by("--junit", &junit(&checks), path)?;
    }
    output::deliver(&text, arguments.fitted.output.output.as_deref())?;
    match count(&checks, Verdict::Fail) {
        0 => Ok(()),
        failed => {
            let all = output::counted(checks.len(), "expectation", "expectations");
            let fail = if failed == 1 { "fails" } else { "fail" };
            Err(Error::Gate(format!("{failed} of {all} {fail}.")))
        }
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

/// Reads every baseline once, and refuses expectations that this experiment cannot be judged by.
fn read_all(
    expected: &[Expectation],
    experiment: &Experiment,
    arguments: &CheckArgs,
    global: &GlobalArgs,
) -> Result<BTreeMap<PathBuf, Experiment>> {
    let (mut baselines, mut notes) = (BTreeMap::new(), BTreeSet::new());
    for expectation in expected {
        point(experiment, expectation, arguments)?;
        if named(experiment, expectation).is_empty() {
            return Err(no_match(experiment, expectation, arguments));
        }
        match &expectation.requirement {
            Requirement::Growth(bounds) => known_parameters(experiment, expectation, bounds, arguments)?,
            Requirement::AtMost(_) => {}
            Requirement::Baseline { path, .. } => {
                if !baselines.contains_key(path) {
                    let baseline = read_baseline(path, experiment, expectation, arguments, global)?;
                    baselines.insert(path.clone(), baseline);
                }
                let baseline = &baselines[path];
                same_unit(experiment, baseline, expectation, arguments)?;
                let note = assumed(experiment, baseline, path, &expectation.metric);
                notes.extend(note.filter(|_| !global.quiet));
            }
        }
    }
    notes.iter().for_each(output::say);
    Ok(baselines)
}

/// That a metric was taken for the same although only one of the two tells which value over ranks it is, if so.
fn assumed(experiment: &Experiment, baseline: &Experiment, path: &Path, metric: &str) -> Option<String> {
    let is_told = |of: &Experiment| of.metrics.iter().any(|m| m.name == metric && m.over_ranks.is_some());
    let silent = match (is_told(experiment), is_told(baseline)) {
        (true, false) => format!("the baseline {}", path.display()),
        (false, true) => "the input".to_owned(),
        _ => return None,
    };
    Some(format!(
        "{silent} does not tell which value over ranks {metric} is; it was taken for the same as in the other."
    ))
}

fn known_parameters(
    experiment: &Experiment,
    expectation: &Expectation,
    bounds: &[(String, Growth)],
    arguments: &CheckArgs,
) -> Result<()> {
    let unknown = bounds.iter().find(|(name, _)| !experiment.parameters.contains(name));
    unknown.map_or(Ok(()), |(name, _)| {
        let known = experiment.parameters.join(", ");
        let what = format!("`growth` names {name}, which is no parameter; there are {known}");
        Err(at_line(arguments, expectation.lines.requirement, &what))
    })
}

fn read_baseline(
    path: &Path,
    experiment: &Experiment,
    expectation: &Expectation,
    arguments: &CheckArgs,
    global: &GlobalArgs,
) -> Result<Experiment> {
    let here = |what: &str| at_line(arguments, expectation.lines.requirement, what);
    let input = input::read_baseline(path, &arguments.fitted.input.read, global).map_err(|error| match error {
        Error::Input(what) => here(&format!("the baseline cannot be used: {what}")),
        other => other,
    })?;
    let (mut ours, mut theirs) = (experiment.parameters.clone(), input.experiment.parameters.clone());
    ours.sort();
    theirs.sort();
    if ours != theirs {
        let (ours, theirs) = (ours.join(", "), theirs.join(", "));
        return Err(Error::NotModelable(format!(
            "The baseline {} is over the parameters {theirs}, the input over {ours}; they must be the same.",
            path.display()
        )));
    }
    input::check_included(experiment, &input.experiment)?;
    Ok(input.experiment)
}

/// Refuses a baseline that has the metric in a unit that cannot be converted.
fn same_unit(
    experiment: &Experiment,
    baseline: &Experiment,
    expectation: &Expectation,
    arguments: &CheckArgs,
) -> Result<()> {
    let metric = &expectation.metric;
    let unit = |of: &Experiment| of.metrics.iter().find(|m| m.name == *metric).map(|m| m.unit.clone());
    match (unit(experiment), unit(baseline)) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            let what =
                format!("the baseline has {metric} in `{theirs}` and the input in `{ours}`, which cannot be compared");
            Err(at_line(arguments, expectation.lines.requirement, &what))
        }
        _ => Ok(()),
    }
}

/// Fits the call paths of each baseline that have models here.
fn fit_all(
    baselines: BTreeMap<PathBuf, Experiment>,
    experiment: &Experiment,
    fits: &Fits,
    arguments: &CheckArgs,
) -> Result<HashMap<PathBuf, (Experiment, Fits)>> {
    let ours: HashSet<Vec<&str>> = fits.models.iter().map(|m| experiment.path(m.callpath)).collect();
    let fitted = |(path, baseline): (PathBuf, Experiment)| {
        let all = 0..baseline.callpaths.len() as CallPathId;
        let same: Vec<CallPathId> = all.filter(|&id| ours.contains(&baseline.path(id))).collect();
        let fits = input::fit_callpaths(&baseline, &arguments.fitted.fit, &same)?;
        Ok((path, (baseline, fits)))
    };
    baselines.into_iter().map(fitted).collect()
}

/// Where the expectation is judged: as it says, or at the largest measured values.
fn point(experiment: &Experiment, expectation: &Expectation, arguments: &CheckArgs) -> Result<Vec<f64>> {
    match &expectation.at {
        Some(at) => input::coordinates(experiment, &Assignments(at.clone()))
            .map_err(|e| at_line(arguments, expectation.lines.at, &e.to_string().replace("--at", "`at`"))),
        None => Ok(largest(experiment)),
    }
}

fn at_line(arguments: &CheckArgs, line: usize, what: &str) -> Error {
    Error::Input(format!("{}:{line}: {}.", arguments.expect.display(), what.trim_end_matches('.')))
}

/// The error that an expectation matches nothing: a gate that judges nothing would pass for ever after a function was
/// renamed. It tells the call paths with the metric whose names are nearest to the pattern.
fn no_match(experiment: &Experiment, expectation: &Expectation, arguments: &CheckArgs) -> Error {
    const TOLD: usize = 3;
    let has_metric = |m: MetricId| experiment.metrics[m as usize].name == expectation.metric;
    let series = experiment.series.iter().filter(|s| has_metric(s.metric));
    let mut paths: Vec<String> = series.map(|s| experiment.path(s.callpath).join(" -> ")).collect();
    paths.dedup();
    let pattern = arrows(&expectation.callpath, " -> ");
    paths.sort_by_cached_key(|path| distance(path, &pattern));
    let told: Vec<String> = paths.iter().take(TOLD).map(|path| format!("`{path}`")).collect();
    let nearest = match told.len() {
        0 => "the input does not hold that metric".to_owned(),
        _ => format!("the nearest of {} are {}", paths.len(), told.join(", ")),
    };
    let Expectation { metric, callpath, lines, .. } = expectation;
    at_line(
        arguments,
        lines.callpath,
        &format!("no call path with the metric {metric} matches `{callpath}`; {nearest}"),
    )
}

struct Judge<'a> {
    arguments: &'a CheckArgs,
    experiment: &'a Experiment,
    fits: &'a Fits,
    baselines: HashMap<&'a Path, (Side<'a>, Models<'a>)>,
    /// How many judgements there are: noise has as many chances.
    together: Together,
}

/// What came of a judgement: the verdict, what was expected and found, and why it is undecided where that is more than an
/// interval.
type Finding = (Verdict, String, String, Option<String>);

impl Judge<'_> {
    /// The expectation for every call path that it matches.
    fn all(&self, expectation: &Expectation, matching: Vec<(CallPathId, MetricId)>) -> Result<Vec<Judged>> {
        let at = point(self.experiment, expectation, self.arguments)?;
        Ok(matching.into_iter().map(|(callpath, metric)| self.one(expectation, callpath, metric, &at)).collect())
    }

    /// Series that the expectation names, of which there is one at least.
    fn matching(&self, expectation: &Expectation) -> Result<Vec<(CallPathId, MetricId)>> {
        let mut found = named(self.experiment, expectation);
        found.retain(|&(path, metric)| self.is_judged(path, metric));
        if found.is_empty() { Err(no_match(self.experiment, expectation, self.arguments)) } else { Ok(found) }
    }

    /// Whether a series has a model, or was to have one: of the statistics over ranks only one is modelled.
    fn is_judged(&self, callpath: CallPathId, metric: MetricId) -> bool {
        self.model(callpath, metric).is_some()
            || self.fits.skipped.iter().any(|s| (s.callpath, s.metric) == (callpath, metric))
    }

    fn model(&self, callpath: CallPathId, metric: MetricId) -> Option<&Model> {
        self.fits.models.iter().find(|m| (m.callpath, m.metric) == (callpath, metric))
    }

    fn one(&self, expectation: &Expectation, callpath: CallPathId, metric: MetricId, at: &[f64]) -> Judged {
        let (verdict, expected, found, reason) = match self.model(callpath, metric) {
            Some(model) => self.judge(expectation, model, at),
            None => {
                let reason = self.fits.skipped.iter().find(|s| (s.callpath, s.metric) == (callpath, metric));
                let reason = reason.map_or_else(String::new, |s| s.reason.clone());
                (Verdict::Undecided, "a model".to_owned(), format!("no model: {reason}"), None)
            }
        };
        Judged {
            reason,
            callpath: self.experiment.path(callpath).into_iter().map(str::to_owned).collect(),
            metric: expectation.metric.clone(),
            expected,
            verdict: verdict.name(),
            found,
            line: expectation.line,
        }
    }

    fn judge(&self, expectation: &Expectation, model: &Model, at: &[f64]) -> Finding {
        let unit = &self.experiment.metrics[model.metric as usize].unit;
        match &expectation.requirement {
            Requirement::Growth(bounds) => self.growth(model, &self.all_parameters(bounds)),
            Requirement::AtMost(limit) => {
                let level = self.arguments.level.level;
                let judged = model.is_at_most(at, *limit, level, self.together);
                let is_above = verdict::at_most(judged.prediction, *limit) == Verdict::Fail;
                let reason = (is_above && judged.verdict == Verdict::Undecided).then(|| {
                    format!(
                        "the {} is above the limit, but {}only a value of at least {} is certain.",
                        self.interval_name(),
                        self.among(),
                        quantity(judged.at_least, unit)
                    )
                });
                let expected = format!("at most {} at {}", quantity(*limit, unit), self.shown(at));
                (judged.verdict, expected, interval(judged.prediction, unit), reason)
            }
            Requirement::Baseline { path, tolerance } => self.against_baseline(path, *tolerance, model, at),
        }
    }

    /// How many chances noise has to fail an expectation of one call path: growth has one for each parameter.
    fn judgements_of(&self, expectation: &Expectation) -> usize {
        match &expectation.requirement {
            Requirement::Growth(bounds) => self.all_parameters(bounds).len(),
            Requirement::AtMost(_) | Requirement::Baseline { .. } => 1,
        }
    }

    /// The bounds, or none of any parameter where growth is `1`.
    fn all_parameters(&self, bounds: &[(String, Growth)]) -> Vec<(String, Growth)> {
        let still = Growth { exponent: 0.into(), log_exponent: 0 };
        let none = || self.experiment.parameters.iter().map(|name| (name.clone(), still)).collect();
        if bounds.is_empty() { none() } else { bounds.to_vec() }
    }

    fn growth(&self, model: &Model, bounds: &[(String, Growth)]) -> Finding {
        let worst = self.growth_verdicts(model, bounds).max().unwrap_or(Verdict::Pass);
        let names: Vec<String> = bounds.iter().map(|(name, _)| name.clone()).collect();
        let growths: Vec<_> = bounds.iter().map(|(_, g)| *g).collect();
        let found = growth(&self.experiment.parameters, &model.growth);
        let is_still = growths.iter().all(|g| *g.exponent.numer() == 0 && g.log_exponent == 0);
        let expected = match is_still {
            true => format!("does not grow with {}", names.join(" and ")),
            false => format!("grows at most as {}", growth(&names, &growths)),
        };
        let reason = (worst == Verdict::Undecided).then(|| {
            self.doubt(model, bounds).unwrap_or_else(|| {
                "the model grows faster, but whether the measurements themselves do is not certain.".to_owned()
            })
        });
        (worst, expected, format!("grows as {found}"), reason)
    }

    fn against_baseline(&self, path: &Path, tolerance: f64, model: &Model, at: &[f64]) -> Finding {
        let unit = &self.experiment.metrics[model.metric as usize].unit;
        let (side, level) = (Side { experiment: self.experiment, fits: self.fits }, self.arguments.level.level);
        let expected = format!("no more than {} % above {} at {}", 100.0 * tolerance, path.display(), self.shown(at));
        let (old_side, models) = &self.baselines[path];
        let Some(old) = models.counterpart(side, model) else {
            return (Verdict::Undecided, expected, "the baseline has no model of it".to_owned(), None);
        };
        let theirs = self.in_order_of(old_side.experiment, at);
        let before = old.predict(&theirs, level);
        if before.value == 0.0 {
            let new = model.predict(at, level);
            let found = format!("{}; the baseline is 0, and no tolerance is a part of that", interval(new, unit));
            let all = self.together.level();
            let certain = verdict::no_worse_than_nothing(model.predict(at, all), old.predict(&theirs, all));
            let verdict = match verdict::no_worse_than_nothing(new, before) {
                Verdict::Fail if certain != Verdict::Fail => Verdict::Undecided,
                verdict => verdict,
            };
            return (verdict, expected, found, None);
        }
        let judged = verdict::is_no_worse((side, model), (*old_side, old), at, tolerance, level, self.together);
        let ratio = judged.ratio;
        let found = format!(
            "{} times {} ({} to {})",
            quantity(ratio.value, ""),
            quantity(before.value, unit),
            quantity(ratio.lower, ""),
            quantity(ratio.upper, "")
        );
        let is_above = verdict::no_worse(ratio, tolerance) == Verdict::Fail;
        let reason = (is_above && judged.verdict == Verdict::Undecided).then(|| {
            let measured = judged.evidence.map_or_else(
                || "no point was measured in both, and nothing in both measured ranges is".to_owned(),
                |found| {
                    let larger = found.larger();
                    format!(
                        "at the points that both measured it is {} times the baseline, and {}only {} times is certain",
                        quantity(larger.value, ""),
                        self.among(),
                        quantity(larger.lower, "")
                    )
                },
            );
            format!("the {} is above, but {measured}.", self.interval_name())
        });
        (judged.verdict, expected, found, reason)
    }

    /// `90 % interval`.
    fn interval_name(&self) -> String {
        format!("{} % interval", 100.0 * self.arguments.level.level)
    }

    /// `among 60 judgements `.
    fn among(&self) -> String {
        if self.together.0 > 1 { format!("among {} judgements ", self.together.0) } else { String::new() }
    }

    /// Why the growth of a model is undecided, and what would decide it, a sentence.
    fn doubt(&self, model: &Model, bounds: &[(String, Growth)]) -> Option<String> {
        let (parameters, corner) = (&self.experiment.parameters, verdict::corner(self.experiment));
        let of = |(name, bound): &(String, Growth)| {
            let index = parameters.iter().position(|p| p == name)?;
            Some((index, model.rival_of_growth(index, *bound, &corner, self.together)?))
        };
        let (index, rival) = bounds.iter().find_map(of)?;
        let name = &parameters[index..=index];
        let percent = |share: f64| format!("{} %", quantity(100.0 * share, ""));
        let decide = match rival.apart {
            Some(Apart { at, off, runs }) => format!(
                "the two differ by {} at {} = {}: {} there would tell them apart (the noise of a measurement being {})",
                percent(off),
                name[0],
                quantity(at, ""),
                if runs == 1 { "one run".to_owned() } else { format!("{runs} runs") },
                percent(rival.noise)
            ),
            None => format!(
                "the noise of a measurement is {}, so that no few runs at up to 64 times the largest {} would tell them apart: measure on a quieter machine, or effort",
                percent(rival.noise),
                name[0]
            ),
        };
        Some(format!(
            "growth as {} in {} is {} times as probable as the model's {}, and {decide}.",
            growth(name, &[rival.growth]),
            name[0],
            quantity(rival.weight, ""),
            growth(name, &model.growth[index..=index])
        ))
    }

    /// A verdict for each parameter that the bound names; all of them exist.
    fn growth_verdicts(&self, model: &Model, bounds: &[(String, Growth)]) -> impl Iterator<Item = Verdict> {
        let corner = verdict::corner(self.experiment);
        let index = |name: &String| self.experiment.parameters.iter().position(|p| p == name);
        bounds.iter().filter_map(move |(name, bound)| {
            let of = (Side { experiment: self.experiment, fits: self.fits }, model);
            Some(verdict::grows_at_most(of, index(name)?, *bound, &corner, self.together))
        })
    }

    /// A point in the order of a baseline's parameters, which are the same.
    fn in_order_of(&self, baseline: &Experiment, at: &[f64]) -> Vec<f64> {
        let position = |name: &String| self.experiment.parameters.iter().position(|p| p == name);
        baseline.parameters.iter().filter_map(position).map(|k| at[k]).collect()
    }

    fn shown(&self, at: &[f64]) -> String {
        let named: Vec<String> =
            self.experiment.parameters.iter().zip(at).map(|(p, x)| format!("{p} = {}", coordinate(*x))).collect();
        named.join(", ")
    }
}

/// `1.1 s (1.0 s to 1.3 s)`.
fn interval(p: Prediction, unit: &str) -> String {
    format!("{} ({} to {})", quantity(p.value, unit), quantity(p.lower, unit), quantity(p.upper, unit))
}

/// The series that an expectation names, those without a model too.
fn named(experiment: &Experiment, expectation: &Expectation) -> Vec<(CallPathId, MetricId)> {
    let has_metric = |id: MetricId| experiment.metrics[id as usize].name == expectation.metric;
    let series = experiment.series.iter().map(|s| (s.callpath, s.metric)).filter(|&(_, metric)| has_metric(metric));
    let pattern = arrows(&expectation.callpath, "->");
    // Names have arrows, too, such as `call_once<fn() -> i32>`.
    let text = |path: CallPathId| arrows(&experiment.path(path).join("->"), "->");
    // Names in C++ have stars of their own: `main(int, char**)` is that call path, if there is one.
    let is_literal = pattern.contains('*') && experiment.series.iter().any(|s| text(s.callpath) == pattern);
    let is_named = |path: CallPathId| if is_literal { text(path) == pattern } else { matches(&pattern, &text(path)) };
    let mut found: Vec<(CallPathId, MetricId)> = series.filter(|&(path, _)| is_named(path)).collect();
    found.dedup();
    found
}

/// A call path or a pattern with this arrow between its names, whatever blanks were around the arrows.
fn arrows(written: &str, arrow: &str) -> String {
    written.split("->").map(str::trim).collect::<Vec<_>>().join(arrow)
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

fn for_people(checks: &[Judged], width: Option<usize>) -> String {
    let header = ["verdict", "metric", "expected", "found", "call path"].map(str::to_owned).to_vec();
    let row = |c: &Judged| {
        vec![c.verdict.to_owned(), c.metric.clone(), c.expected.clone(), c.found.clone(), c.callpath.join(" -> ")]
    };
    let narrow = Narrow { least_needed: &["metric"], dear: &[], broken: &["expected", "found"] };
    let mut text = fitted(&Table { header, rows: checks.iter().map(row).collect() }, width, narrow);
    let [pass, fail, open] = [Verdict::Pass, Verdict::Fail, Verdict::Undecided].map(|v| count(checks, v));
    let mut notes = format!("{pass} pass, {fail} fail, {open} undecided.\n");
    if open > 0 {
        let what =
            "Undecided is what the scatter of the measurements leaves open; more points or repetitions decide it.";
        let _ = writeln!(notes, "{what}");
    }
    for (check, reason) in checks.iter().filter_map(|check| Some((check, check.reason.as_ref()?))) {
        let _ = writeln!(notes, "{}: {reason}", check.callpath.join(" -> "));
    }
    text.push_str(&wrapped(&notes, width));
    text
}

fn json(checks: &[Judged], level: f64) -> String {
    let file = CheckFile {
        schema: "counterpoise/checks",
        schema_version: 1,
        level,
        family_level: 1.0 - FAMILY_DOUBT,
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
    let mut text = String::from("verdict,callpath,metric,expected,found,line,reason\n");
    for c in checks {
        let fields = [&c.callpath.join("->"), &c.metric, &c.expected, &c.found].map(|f| quoted(f));
        let reason = c.reason.as_deref().map_or_else(String::new, quoted);
        let _ = writeln!(text, "{},{},{},{reason}", c.verdict, fields.join(","), c.line);
    }
    text
}

fn junit(checks: &[Judged]) -> String {
    let case = |c: &Judged| Case {
        name: format!("{}: {}", c.callpath.join(" -> "), c.expected),
        class: c.metric.clone(),
        outcome: match c.verdict {
            "fail" => Outcome::Failed(format!("{}; expected: {}", c.found, c.expected)),
            "undecided" => {
                let reason = c.reason.as_ref().map_or_else(String::new, |reason| format!("; {reason}"));
                Outcome::Skipped(format!("undecided: {}; expected: {}{reason}", c.found, c.expected))
            }
            _ => Outcome::Passed,
        },
    };
    junit::document("poise check", &checks.iter().map(case).collect::<Vec<Case>>())
}

#[cfg(test)]
mod tests {
    use super::{arrows, matches};

    #[test]
    fn blanks_around_arrows_do_not_matter() {
        for written in ["main->solve", "main -> solve", " main  ->solve "] {
            assert_eq!(arrows(written, " -> "), "main -> solve");
        }
        assert_eq!(arrows("main->*", "->"), "main->*");
    }

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
