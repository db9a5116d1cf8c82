//! The phases of runs that carry effort over time: one run's timeline with the regions of code under it, and how the phases that
//! all runs have in common scale.

use maud::{Markup, PreEscaped, html};
use poise_profile::BinUnit;

use super::costs::Costs;
use super::data::address;
use super::markup::{at, breakable, share_bar, sum};
use super::page::numeric;
use super::quantity::{interval, quantity, shape};
use super::ranking::{default_target, rank, ranked_metric};
use super::reach;
use crate::experiment::Experiment;
use crate::fit::{Fits, fit};
use crate::formats::MeasuredRun;
use crate::options::Options;
use crate::phases::matching::{At, Matched, largest, matched};
use crate::phases::{Analysis, analyse_all, default_thresholds};

/// Bins are given as a file below the timeline where that takes at most so many bytes.
const MOST_BYTES: usize = 1 << 20;

/// What the report shows of phases.
///
/// ```
/// use modeler::report::{Phases, ReportOptions};
/// // Of runs without bins over time a report shows none.
/// let options = ReportOptions { phases: Phases::of(Vec::new(), &modeler::Options::default()), ..ReportOptions::default() };
/// assert!(options.phases.is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Phases {
    /// The run whose timeline is drawn: its name, and the first of its threads.
    drawn: (String, Analysis),
    /// How many threads the drawn run has.
    threads: usize,
    /// The phases that all runs have, as call paths, and their models; nothing where there is one run only.
    matched: Option<(Matched, Fits)>,
    /// Why phases could not be matched.
    unmatched: Option<String>,
}

impl Phases {
    /// The phases of those runs that have bins; nothing where none has several.
    ///
    /// ```
    /// use modeler::{Options, formats::measured_runs, report::Phases};
    /// # use poise_profile::{Metric, RankBuilder, Region, RegionKind};
    /// # let mut builder = RankBuilder::new();
    /// # let main = builder.node(None, Region { name: "main".into(), file: String::new(), line: 0, kind: RegionKind::Function });
    /// # builder.add(main, Metric::BasicBlocks, 42);
    /// # let profile = builder.finish(0);
    /// # let folder = tempfile::tempdir()?;
    /// profile.write(folder.path().join("a.poise"))?;
    /// let runs = measured_runs(folder.path())?;
    /// assert!(Phases::of(runs, &Options::default()).is_none()); // its effort is not told over time
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of(mut runs: Vec<MeasuredRun>, options: &Options) -> Option<Self> {
        runs.retain(|run| run.profile.phases.timelines.iter().any(|timeline| timeline.bins.len() > 1));
        let chosen: Vec<_> = runs.iter().map(|run| (&run.profile, default_thresholds(&run.profile))).collect();
        let analyses = analyse_all(&chosen);
        let at = |(run, analysis): (MeasuredRun, Analysis)| At { name: run.name, parameters: run.parameters, analysis };
        let runs: Vec<At> = runs.into_iter().zip(analyses).map(at).collect();
        let run = largest(&runs)?;
        let threads = run.analysis.timelines.len();
        let first = run.analysis.timelines.iter().take(1).cloned().collect();
        let drawn = (short(&run.name), Analysis { timelines: first, ..run.analysis.clone() });
        let (matched, unmatched) = match matched(&runs) {
            _ if runs.len() == 1 => (None, None),
            Ok(matched) => {
                let fits = fit(&matched.experiment, options);
                let why =
                    matched.phases.is_empty().then(|| "No phase that all of the runs have can be modelled.".into());
                (Some((matched, fits)), why)
            }
            Err(why) => (None, Some(format!("Phases of different runs were not matched: {why}."))),
        };
        Some(Self { drawn, threads, matched, unmatched })
    }

    /// The section, ranked at the point `target` of the parameters `names`.
    pub(super) fn markup(&self, names: &[String], target: &[f64], level: f64) -> Markup {
        let (run, analysis) = &self.drawn;
        let csv = analysis.csv();
        html! {
            section #phases {
                h2 { "Phases" }
                p {
                    "A " dfn { "phase" } " is a stretch of a run that belongs to one function, as far as "
                    @if analysis.unit == BinUnit::Time { "bins of equal time tell, one after the other: which function took most of each. " }
                    @else { dfn { "effort" } " tells: what is executed in bins of the same width, one after the other. " }
                    "Above is what happened in each bin, below the regions of code."
                }
                figure {
                    @if let Some(first) = analysis.timelines.first() { div.scroll { (PreEscaped(analysis.svg(first, 1))) } }
                    figcaption {
                        "the run " (run) ", the largest"
                        @if let Some(width) = analysis.width_text() { ", in bins of " (width) }
                        @if let Some(first) = analysis.timelines.first() {
                            ": rank " (first.rank) ", thread " (first.thread) " of " (self.threads)
                            @if let Some(outside) = analysis.outside(first) { ". " (outside) }
                        }
                        @if csv.len() <= MOST_BYTES {
                            " " a download="bins.csv" href=(address("text/csv", &csv)) { "bins as CSV" }
                        }
                    }
                }
                @if let Some(told) = analysis.shared() { p.warning { (told) } }
                @if let Some((matched, fits)) = &self.matched {
                    @if !matched.phases.is_empty() {
                        (models(&matched.experiment, fits, &ordered(&matched.experiment, names, target), level))
                        @if let Some(outside) = &matched.outside { p.note { "Shares are parts of all phases in the table. " (outside) } }
                    }
                    @if let Some(widths) = &matched.widths { p.note { (widths) } }
                    @if !matched.unmatched.is_empty() { ul { @for told in &matched.unmatched { li.warning { (told) } } } }
                }
                @if let Some(told) = &self.unmatched { p.warning { (told) } }
                p.note { "All threads and other thresholds: " code { "poise phases --page FILE.html RUNS" } "." }
            }
        }
    }
}

/// The name of a run's folder, or of its profile where it has none.
fn short(name: &str) -> String {
    let path = std::path::Path::new(name);
    let folder = path.parent().filter(|_| path.ends_with("run.json")).unwrap_or(path);
    folder.file_name().map_or_else(|| name.to_owned(), |last| last.to_string_lossy().into_owned())
}

/// The target in the order of the phases' own parameters.
fn ordered(experiment: &Experiment, names: &[String], target: &[f64]) -> Vec<f64> {
    let value = |name: &String| names.iter().position(|n| n == name).and_then(|l| target.get(l)).copied();
    let found: Option<Vec<f64>> = experiment.parameters.iter().map(value).collect();
    found.unwrap_or_else(|| default_target(experiment))
}

/// The phases, the most expensive at the target first, and the models of what else was counted.
fn models(experiment: &Experiment, fits: &Fits, target: &[f64], level: f64) -> Markup {
    let Some(metric) = ranked_metric(experiment, fits) else {
        return html! { p.warning { "No phase could be modelled; there are too few points." } };
    };
    let costs = Costs::new(experiment, fits, metric, target.to_vec(), level);
    let unit = experiment.metrics[metric as usize].unit.as_str();
    let name = |id: u32| experiment.callpaths[id as usize].name.as_str();
    let others = || fits.models.iter().filter(|m| m.metric != metric);
    let ranked = rank(&costs);
    html! {
        h3 { "What phases cost at " (at(&experiment.parameters, target)) }
        @if let Some(doubt) = reach::of_places(&ranked, "phase") { p.warning { i { "Not certain" } " in the column of growths: " (doubt) } }
        div.scroll { table.ranking {
            thead { tr {
                th scope="col" { "phase" } th scope="col" { "growth" } th.number.wide scope="col" { "today, model" }
                th.number scope="col" { "predicted" } th.interval.wide scope="col" { "interval" }
                th.share.wide scope="col" { "share, today" } th.share scope="col" { "share, target" } th.wide scope="col" { "model" }
            } }
            tbody { @for r in &ranked {
                @let id = r.model.callpath;
                tr {
                    td { (breakable(name(id))) }
                    td.growth { (sum(&shape(&experiment.parameters, r.model))) @if r.least.is_some() { " " span.caller { "(not certain)" } } }
                    td.number.wide { (quantity(costs.now[id as usize], unit)) }
                    td.number { strong { (quantity(r.prediction.value, unit)) } }
                    td.interval.wide { (interval(r.prediction.lower, r.prediction.upper, unit)) }
                    td.share.wide { (share_bar(costs.share_now(id))) }
                    td.share { (share_bar(costs.share_then(id))) }
                    td.wide { code { (r.model.expression(&experiment.parameters)) } }
                }
            } }
        } }
        p.note {
            "Metric: " (experiment.metrics[metric as usize].name) ", mean over ranks. "
            "As a file: " a download="phases.csv" href=(address("text/csv", &csv(experiment, fits, target, level))) { "models of all quantities (CSV)" } "."
        }
        @if others().next().is_some() {
            details {
                summary { "What else was counted" }
                div.scroll { table.metrics { @for model in others() {
                    tr {
                        th scope="row" { (name(model.callpath)) ", " (experiment.metrics[model.metric as usize].name) }
                        td { code { (model.expression(&experiment.parameters)) } }
                    }
                } } }
            }
        }
    }
}

/// A row for each model of each phase.
fn csv(experiment: &Experiment, fits: &Fits, target: &[f64], level: f64) -> String {
    let mut text = String::from("phase,metric,unit,growth,model,predicted,lower,upper\n");
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    for model in &fits.models {
        let (metric, found) = (&experiment.metrics[model.metric as usize], model.predict(target, level));
        let cells = [
            quoted(&experiment.callpaths[model.callpath as usize].name),
            metric.name.clone(),
            metric.unit.clone(),
            quoted(&shape(&experiment.parameters, model)),
            quoted(&model.expression(&experiment.parameters)),
            numeric(found.value),
            numeric(found.lower),
            numeric(found.upper),
        ];
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}
