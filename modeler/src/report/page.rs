//! The HTML page: caller's sections, ranking, call paths with their plots, warnings.

use std::collections::HashMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::notes::warnings;
use super::plot::{Plot, legend};
use super::quantity::{quantity, shape};
use super::ranking::{Ranked, default_target, largest, rank, ranked_metric};
use super::{Extra, ReportOptions, Section, Table};
use crate::experiment::{CallPathId, Experiment, MetricId, OverRanks};
use crate::fit::Fits;
use crate::model::{Kind, Method, Model};

/// Rows of the ranking that are shown without asking; the others fold away.
const OPEN_ROWS: usize = 25;

/// What all parts of the page need.
struct Page<'a> {
    experiment: &'a Experiment,
    fits: &'a Fits,
    options: &'a ReportOptions,
    /// The point of the ranking.
    target: Vec<f64>,
    /// The largest measured value of each parameter.
    largest: Vec<f64>,
}

/// The whole page.
pub(crate) fn page(experiment: &Experiment, fits: &Fits, options: &ReportOptions) -> Markup {
    let asked = options.target.clone().filter(|t| t.len() == experiment.parameters.len());
    let target = asked.unwrap_or_else(|| default_target(experiment));
    let page = Page { experiment, fits, options, target, largest: largest(experiment) };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (options.title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header { h1 { (options.title) } (page.summary()) }
                main {
                    @for section in &options.sections { (extra_section(section)) }
                    (page.results())
                    (warnings(experiment, fits, &options.warnings))
                }
                footer { "Made by Counterpoise. The page is complete in itself; numbers for machines come from " code { "poise model --format json" } "." }
            }
        }
    }
}

/// `main → solve → MPI_Allreduce`.
pub(super) fn path_text(experiment: &Experiment, callpath: CallPathId) -> String {
    experiment.path(callpath).join(" → ")
}

fn extra_section(section: &Section) -> Markup {
    html! {
        section {
            h2 { (section.title) }
            @if !section.intro.is_empty() { p { (section.intro) } }
            (data_table(&section.table))
        }
    }
}

fn data_table(table: &Table) -> Markup {
    let class = |column: usize| if table.is_numeric(column) { "number" } else { "" };
    html! {
        div.scroll {
            table {
                thead { tr { @for (i, cell) in table.header.iter().enumerate() { th class=(class(i)) scope="col" { (cell) } } } }
                tbody {
                    @for row in &table.rows {
                        tr { @for (i, cell) in row.iter().enumerate() { td class=(class(i)) { (cell_text(cell)) } } }
                    }
                }
            }
        }
    }
}

impl Page<'_> {
    /// What was measured, in a line.
    fn summary(&self) -> Markup {
        let e = self.experiment;
        let ranges: Vec<String> = e.parameters.iter().enumerate().map(|(i, name)| self.range(i, name)).collect();
        let noise = self.median_noise();
        html! {
            p.lead {
                (e.points.len()) " points over " (ranges.join(" and ")) ", " (e.callpaths.len()) " call paths, "
                (self.fits.models.len()) " models."
                @if let Some(noise) = noise { " Median noise of the times: " (percent(noise)) "." }
            }
        }
    }

    fn range(&self, parameter: usize, name: &str) -> String {
        let mut values: Vec<f64> = self.experiment.points.iter().map(|p| p[parameter]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        match values[..] {
            [] => name.to_owned(),
            [only] => format!("{name} = {}", quantity(only, "")),
            [first, .., last] => {
                format!("{name} = {}…{} ({} values)", quantity(first, ""), quantity(last, ""), values.len())
            }
        }
    }

    fn median_noise(&self) -> Option<f64> {
        let metric = ranked_metric(self.experiment, self.fits)?;
        let of_metric = self.fits.models.iter().filter(|m| m.metric == metric);
        let mut noise: Vec<f64> = of_metric.filter_map(|m| m.quality.noise).filter(|n| n.is_finite()).collect();
        noise.sort_by(f64::total_cmp);
        noise.get(noise.len() / 2).copied()
    }

    /// The ranking and the call paths.
    fn results(&self) -> Markup {
        let Some(metric) = ranked_metric(self.experiment, self.fits) else {
            return html! { section { h2 { "Models" } p { "No series could be modelled; the warnings say why." } } };
        };
        let ranked = rank(self.fits, metric, &self.target, self.options.level);
        let plotted = &ranked[..ranked.len().min(self.options.plots)];
        html! {
            (self.ranking(metric, &ranked, plotted.len()))
            section #callpaths {
                h2 { "Call paths" }
                (self.reading_the_plots(metric, plotted.len() < ranked.len()))
                @for r in plotted { (self.callpath(r)) }
            }
        }
    }

    fn at(&self, point: &[f64]) -> String {
        let pairs = self
            .experiment
            .parameters
            .iter()
            .zip(point)
            .map(|(name, &x)| format!("{name}\u{a0}=\u{a0}{}", quantity(x, "")));
        pairs.collect::<Vec<_>>().join(", ")
    }

    /// `time per rank (mean)`.
    fn metric_text(&self, metric: MetricId) -> String {
        let metric = &self.experiment.metrics[metric as usize];
        let over = match metric.over_ranks {
            None => "",
            Some(OverRanks::Mean) => ", mean over ranks",
            Some(OverRanks::Maximum) => ", maximum over ranks",
            Some(OverRanks::Minimum) => ", minimum over ranks",
            Some(OverRanks::Sum) => ", sum over ranks",
        };
        format!("{}{over}", metric.name)
    }

    fn ranking(&self, metric: MetricId, ranked: &[Ranked], plotted: usize) -> Markup {
        let (open, folded) = ranked.split_at(ranked.len().min(OPEN_ROWS));
        let inclusive = self.experiment.metrics[metric as usize].over_ranks.is_none();
        html! {
            section #ranking {
                h2 { "What will cost most at " (self.at(&self.target)) }
                p {
                    "A " dfn { "call path" } " is a function with the chain of its callers. " dfn { "Growth" }
                    " is how its cost rises with the parameters once they are large. The prediction comes with an interval that is to hold "
                    (format!("{:.0}", 100.0 * self.options.level)) " of 100 new measurements under the same conditions. " dfn { "Share" }
                    " is the part of the sum over all call paths"
                    @if inclusive { "; call paths that include the time of what they call are counted more than once in it" }
                    ". " dfn { "Noise" } " is how far repeated measurements scatter. Metric: " (self.metric_text(metric)) "."
                }
                div.scroll { table.ranking { (ranking_head(&self.at(&self.largest))) tbody { (self.rows(open, 0, plotted)) } } }
                @if !folded.is_empty() {
                    details {
                        summary { "The other " (folded.len()) " call paths" }
                        div.scroll { table.ranking { (ranking_head(&self.at(&self.largest))) tbody { (self.rows(folded, open.len(), plotted)) } } }
                    }
                }
            }
        }
    }

    fn rows(&self, ranked: &[Ranked], first: usize, plotted: usize) -> Markup {
        html! {
            @for (i, r) in ranked.iter().enumerate() {
                @let unit = &self.experiment.metrics[r.model.metric as usize].unit;
                tr {
                    td.number { (first + i + 1) }
                    td.path {
                        @if first + i < plotted { a href=(format!("#c{}", r.model.callpath)) { (self.path(r.model.callpath)) } }
                        @else { (self.path(r.model.callpath)) }
                    }
                    td { (kind(r.model.kind)) }
                    td.growth { (self.growth(r.model)) }
                    td.number { (quantity(r.model.at(&self.largest), unit)) }
                    td.number { strong { (quantity(r.prediction.value, unit)) } }
                    td.number { (interval(r.prediction.lower, r.prediction.upper, unit)) }
                    td.share { (share_bar(r.share)) }
                    td.number { (r.model.quality.noise.map_or("n/a".into(), percent)) }
                }
            }
        }
    }

    /// The path with its last name first in weight: callers are faint.
    fn path(&self, callpath: CallPathId) -> Markup {
        let names = self.experiment.path(callpath);
        let (last, callers) = names.split_last().unwrap_or((&"", &[]));
        html! { @for caller in callers { span.caller { (caller) " → " wbr; } } span { (last) } }
    }

    fn growth(&self, model: &Model) -> Markup {
        sum(&shape(&self.experiment.parameters, model))
    }

    fn reading_the_plots(&self, metric: MetricId, cut: bool) -> Markup {
        let extras = || self.options.extras.iter().filter(|e| e.metric == metric);
        let second = extras().find(|e| e.model.is_some()).map(|e| e.label.as_str());
        let held_out = extras().any(|e| !e.held_out.is_empty());
        html! {
            p {
                "A plot varies one parameter; the others stay at the value that its caption names. A model made by "
                dfn { "effort" } " takes its shape from counts that do not depend on noise (executed basic blocks, bytes moved by MPI) and "
                "only its coefficients from time. A " dfn { "basic block" } " is a stretch of code without branches."
                @if held_out { " " dfn { "Held-out" } " measurements took no part in the fit: they show whether the prediction was right." }
                @if cut { " Only the most expensive call paths have plots." }
            }
            (legend(self.options.level, second, held_out))
        }
    }

    fn callpath(&self, ranked: &Ranked) -> Markup {
        let model = ranked.model;
        let extra = self.options.extras.iter().find(|e| (e.callpath, e.metric) == (model.callpath, model.metric));
        html! {
            article id=(format!("c{}", model.callpath)) {
                h3 { (self.path(model.callpath)) }
                p.facts {
                    span.tag { (kind(model.kind)) } " "
                    span.tag { @match model.method { Method::Effort => "shape from effort", Method::Time => "shape from time" } }
                    @if let Some(effort) = model.effort_metric { " " span.tag { (self.experiment.metrics[effort as usize].name) } }
                }
                p.expression { code { (model.expression(&self.experiment.parameters)) } }
                (self.second_expression(extra))
                div.plots { @for i in 0..self.experiment.parameters.len() { (self.plot(model, extra, i)) } }
                p.note { (quality_text(model)) }
                @for warning in &model.warnings { p.warning { code { (warning.code) } " " (warning.message) } }
                (self.other_metrics(model))
            }
        }
    }

    fn second_expression(&self, extra: Option<&Extra>) -> Markup {
        let second = extra.and_then(|e| e.model.as_ref().map(|m| (e, m)));
        html! {
            @if let Some((extra, model)) = second {
                p.expression.other { (extra.label) ": " code { (model.expression(&self.experiment.parameters)) } }
            }
        }
    }

    /// The plot along one parameter, the others where most was measured, the largest values winning a tie.
    fn plot(&self, model: &Model, extra: Option<&Extra>, parameter: usize) -> Markup {
        let fixed = self.slice(model, parameter);
        let matches = |point: &[f64]| point.iter().zip(&fixed).enumerate().all(|(i, (a, b))| i == parameter || a == b);
        let mut measured = Vec::new();
        if let Some(series) = self.experiment.series_of(model.callpath, model.metric) {
            for (point, values) in self.experiment.measurements(series).filter(|(point, _)| matches(point)) {
                measured.extend(values.iter().map(|&v| (point[parameter], v)));
            }
        }
        let held_out = extra.map(|e| e.held_out.as_slice()).unwrap_or_default();
        let name = self.experiment.parameters[parameter].as_str();
        let others: Vec<String> = (0..fixed.len())
            .filter(|&i| i != parameter)
            .map(|i| format!("{} = {}", self.experiment.parameters[i], quantity(fixed[i], "")))
            .collect();
        let caption =
            if others.is_empty() { format!("along {name}") } else { format!("along {name}, at {}", others.join(", ")) };
        let plot = Plot {
            parameter: (name, parameter),
            unit: &self.experiment.metrics[model.metric as usize].unit,
            model,
            second: extra.and_then(|e| e.model.as_ref()),
            level: self.options.level,
            measured,
            held_out: held_out.iter().filter(|(p, _)| matches(p)).map(|(p, v)| (p[parameter], *v)).collect(),
            until: self.target[parameter].max(self.largest[parameter]),
            description: format!("{} {caption}", path_text(self.experiment, model.callpath)),
            fixed,
        };
        let id = format!("clip-{}-{}-{parameter}", model.callpath, model.metric);
        html! { figure { (plot.svg(&id)) figcaption { (caption) } } }
    }

    /// Coordinates whose other values have the most points of the series along `parameter`.
    fn slice(&self, model: &Model, parameter: usize) -> Vec<f64> {
        let mut counts: HashMap<Vec<u64>, (usize, Vec<f64>)> = HashMap::new();
        if let Some(series) = self.experiment.series_of(model.callpath, model.metric) {
            for (point, _) in self.experiment.measurements(series) {
                let mut others = point.to_vec();
                others[parameter] = 0.0;
                let key = others.iter().map(|x| x.to_bits()).collect();
                counts.entry(key).or_insert((0, others)).0 += 1;
            }
        }
        let best = counts.into_values().max_by(|a, b| a.0.cmp(&b.0).then_with(|| compare(&a.1, &b.1)));
        let mut fixed = best.map_or_else(|| self.largest.clone(), |(_, others)| others);
        fixed[parameter] = self.largest[parameter];
        fixed
    }

    /// The models of the other metrics at the same call path.
    fn other_metrics(&self, shown: &Model) -> Markup {
        let others: Vec<&Model> =
            self.fits.models.iter().filter(|m| m.callpath == shown.callpath && m.metric != shown.metric).collect();
        html! {
            @if !others.is_empty() {
                table.metrics {
                    @for m in others {
                        tr {
                            th scope="row" { (self.metric_text(m.metric)) }
                            td { code { (m.expression(&self.experiment.parameters)) } }
                        }
                    }
                }
            }
        }
    }
}

fn compare(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    a.iter().zip(b).fold(std::cmp::Ordering::Equal, |order, (x, y)| order.then(x.total_cmp(y)))
}

fn ranking_head(largest: &str) -> Markup {
    html! {
        thead { tr {
            th.number scope="col" { "#" }
            th scope="col" { "call path" }
            th scope="col" { "kind" }
            th scope="col" { "growth" }
            th.number scope="col" { "model at " (largest) }
            th.number scope="col" { "predicted" }
            th.number scope="col" { "interval" }
            th scope="col" { "share" }
            th.number scope="col" { "noise" }
        } }
    }
}

/// `3.80 – 10.9 s`; the unit stands once where both ends have the same.
fn interval(lower: f64, upper: f64, unit: &str) -> String {
    let (lower, upper) = (quantity(lower, unit), quantity(upper, unit));
    match (lower.split_once(' '), upper.split_once(' ')) {
        _ if lower == upper => lower,
        (Some((digits, low)), Some((_, high))) if low == high => format!("{digits} – {upper}"),
        _ => format!("{lower} – {upper}"),
    }
}

fn share_bar(share: f64) -> Markup {
    html! {
        span.bar aria-hidden="true" { span style=(format!("width:{:.1}%", 100.0 * share)) {} }
        span.value { (percent(share)) }
    }
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        p if p > 0.0 && p < 0.1 => "< 0.1 %".into(),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Computation => "computation",
        Kind::Communication => "communication",
        Kind::Waiting => "waiting",
        Kind::Other => "other",
    }
}

fn quality_text(model: &Model) -> String {
    let q = &model.quality;
    let mut parts = vec![format!("{} points", q.points)];
    parts.push(if q.repetitions == 1 {
        "one repetition".into()
    } else {
        format!("at least {} repetitions", q.repetitions)
    });
    if let Some(error) = q.cross_validated_relative_error {
        parts.push(format!("mean error at points left out one at a time {}", percent(error)));
    }
    if let Some(smape) = q.smape {
        parts.push(format!("mean error of the fit (SMAPE) {}", percent(smape / 100.0)));
    }
    if let Some(r2) = q.adjusted_r2 {
        parts.push(format!("adjusted R² {r2:.3}"));
    }
    if let Some(noise) = q.noise {
        parts.push(format!("noise {}", percent(noise)));
    }
    format!("{}.", parts.join(" · "))
}

/// A cell of a caller's table; functions of parameters are set as such.
fn cell_text(cell: &str) -> Markup {
    if !cell.contains("log2(") && !cell.contains('^') {
        return html! { (cell) };
    }
    sum(cell)
}

/// Summands, each set as a formula.
fn sum(text: &str) -> Markup {
    html! {
        @for (i, term) in text.split(" + ").enumerate() {
            @if i > 0 { " + " wbr; }
            span.term { (formula(term)) }
        }
    }
}

/// `n^(2/3) * log2(p)^2` with raised exponents and a lowered base.
fn formula(text: &str) -> Markup {
    html! {
        @for (i, factor) in text.split(" * ").enumerate() {
            @if i > 0 { " · " }
            @let (base, exponent) = factor.rsplit_once('^').unwrap_or((factor, ""));
            @let (function, argument) = base.split_once("log2(").map_or(("", base), |(_, a)| ("log", a.trim_end_matches(')')));
            @if function.is_empty() {
                (argument) @if !exponent.is_empty() { sup { (exponent.trim_matches(['(', ')'])) } }
            } @else {
                "log" sub { "2" } @if !exponent.is_empty() { sup { (exponent) } } " " (argument)
            }
        }
    }
}
