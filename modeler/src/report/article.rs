//! One call path in full: plots, model, runner-up, effort against time, absorption, measured values.

use maud::{Markup, html};

use super::Extra;
use super::data::address;
use super::heat::Heat;
use super::markup::path;
use super::page::path_text;
use super::plot::{Plot, Scatter};
use super::quantity::{coordinate, percent, quantity};
use super::view::{CallPathView, View};
use crate::experiment::median;
use crate::model::Model;

/// What an article needs beside the view.
struct Article<'v> {
    view: &'v View<'v>,
    model: &'v Model,
    of: CallPathView<'v>,
    extra: Option<&'v Extra>,
}

/// A call path in full.
pub(crate) fn article<'v>(view: &'v View<'v>, model: &'v Model) -> Markup {
    let extra = view.options.extras.iter().find(|e| (e.callpath, e.metric) == (model.callpath, model.metric));
    let article = Article { view, model, of: view.callpath(model), extra };
    article.markup()
}

impl Article<'_> {
    fn markup(&self) -> Markup {
        let of = &self.of;
        html! {
            article id=(format!("c{}", of.id)) {
                h3 title=(path_text(self.view.experiment, of.id)) { (path(self.view.experiment, of.id)) }
                p.facts {
                    span.tag { (of.kind) } " " span.tag { (of.shape) } " "
                    span.tag { (percent(of.shares[0])) " today, " (percent(of.shares[1])) " at the target" }
                }
                p.expression { code { (of.expression) } }
                (self.second_expression())
                div.plots {
                    @for l in 0..self.view.experiment.parameters.len() { (self.plot(l)) }
                    (self.heat())
                    (self.scatter())
                }
                @if let Some(effort) = &of.effort {
                    p.verdict.disagrees[effort.disagrees] { strong { "Effort against time. " } (effort.verdict) }
                }
                (self.absorption())
                @if let Some(parts) = &of.parts { p.note { (parts) } }
                p.note { (of.quality) }
                @if let Some(doubt) = &of.doubt { p.warning.doubt { (doubt) } }
                @if let Some((expression, reason)) = of.runner_up {
                    p.note { "Runner-up: " code { (expression) } ". Why it lost: " (reason) "." }
                }
                @for (code, message) in &of.warnings { p.warning { code { (code) } " " (message) } }
                (self.measured())
                (self.others())
            }
        }
    }

    fn second_expression(&self) -> Markup {
        let second = self.extra.and_then(|e| e.model.as_ref().map(|m| (e, m)));
        html! {
            @if let Some((extra, model)) = second {
                p.expression.other { (extra.label) ": " code { (model.expression(&self.view.experiment.parameters)) } }
            }
        }
    }

    /// Points and repetitions.
    fn measurements(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        let series = self.view.experiment.series_of(self.of.id, self.model.metric);
        series.into_iter().flat_map(|s| self.view.experiment.measurements(s))
    }

    /// The plot along one parameter, the others where most was measured, the largest values winning a tie.
    fn plot(&self, parameter: usize) -> Markup {
        let experiment = self.view.experiment;
        let slice = &self.view.slices[self.of.layout as usize][parameter];
        let matches =
            |point: &[f64]| point.iter().zip(&slice.fixed).enumerate().all(|(i, (a, b))| i == parameter || a == b);
        let measured = self.measurements().filter(|(point, _)| matches(point));
        let measured =
            measured.flat_map(|(point, values)| values.iter().map(move |&v| (point[parameter], v))).collect();
        let held_out = self.extra.map(|e| e.held_out.as_slice()).unwrap_or_default();
        let caption = caption(&experiment.parameters, parameter, &slice.fixed);
        let plot = Plot {
            parameter: (&experiment.parameters[parameter], parameter),
            slice,
            unit: self.view.unit(),
            model: self.model,
            second: self.extra.and_then(|e| e.model.as_ref()),
            band: &self.of.bands[parameter],
            change: self.of.function.change().filter(|(l, _)| *l == parameter).map(|(_, c)| (c.below, c.above)),
            measured,
            held_out: held_out.iter().filter(|(p, _)| matches(p)).map(|(p, v)| (p[parameter], *v)).collect(),
            description: format!("{} {caption}", path_text(experiment, self.of.id)),
        };
        let id = format!("clip-{}-{parameter}", self.of.id);
        html! { figure { (plot.svg(&id)) figcaption { (caption) } } }
    }

    /// The model over the two parameters with most values, where there are two that vary.
    fn heat(&self) -> Markup {
        let experiment = self.view.experiment;
        let values = experiment.levels();
        let mut varying: Vec<usize> = (0..values.len()).filter(|&l| values[l].len() > 1).collect();
        varying.sort_by_key(|&l| std::cmp::Reverse(values[l].len()));
        let [a, b, ..] = varying[..] else { return html! {} };
        let (a, b) = (a.min(b), a.max(b));
        let fixed = &self.view.slices[self.of.layout as usize][a].fixed;
        let on_plane = |x: &[f64]| (0..fixed.len()).all(|l| l == a || l == b || x[l] == fixed[l]);
        let range = |l: usize| (values[l][0], self.view.costs.target[l].max(self.view.costs.today[l]));
        let caption = plane_caption(&experiment.parameters, (a, b), fixed);
        let heat = Heat {
            names: (&experiment.parameters[a], &experiment.parameters[b]),
            ranges: [range(a), range(b)],
            measured_to: (self.view.costs.today[a], self.view.costs.today[b]),
            measured: self
                .measurements()
                .filter(|(x, _)| on_plane(x))
                .map(|(x, values)| (x[a], x[b], median(values)))
                .collect(),
            unit: self.view.unit(),
            description: format!("{} {caption}", path_text(experiment, self.of.id)),
        };
        let at = |x: f64, y: f64| {
            let mut point = fixed.clone();
            (point[a], point[b]) = (x, y);
            self.model.at(&point)
        };
        html! { figure.heat { (heat.svg(at)) figcaption { (caption) } } }
    }

    fn scatter(&self) -> Markup {
        let Some(effort) = self.of.effort.as_ref().filter(|e| varies(&e.counts)) else { return html! {} };
        let counted = self.measurements().zip(&effort.counts).filter(|(_, count)| **count > 0.0);
        let measured: Vec<(f64, f64)> =
            counted.flat_map(|((_, values), &count)| values.iter().map(move |&v| (count, v))).collect();
        let ratios: Vec<f64> = measured.iter().map(|(count, value)| value / count).collect();
        let caption = format!("time against {}", effort.metric);
        let scatter = Scatter {
            effort: effort.metric,
            unit: self.view.unit(),
            measured,
            ratio: median(&ratios),
            description: format!("{} {caption}", path_text(self.view.experiment, self.of.id)),
        };
        let id = format!("clip-{}-e", self.of.id);
        html! { figure { (scatter.svg(&id)) figcaption { (caption) } } }
    }

    fn absorption(&self) -> Markup {
        html! {
            @if !self.of.absorption.is_empty() {
                p.note {
                    strong { "Absorption. " } "So many extra instructions of a kind fit into one iteration before it becomes slower. "
                    "Where few of a kind fit, what executes them is already full: that is the bottleneck."
                }
                div.scroll { table.metrics {
                    thead { tr { th scope="col" { "instructions" } @for (point, _) in &self.of.absorption[0].at {
                        th.number scope="col" { (self.at(*point)) }
                    } } }
                    tbody { @for mode in &self.of.absorption {
                        tr { th scope="row" { (mode.mode) } @for (_, value) in &mode.at { td.number { (value) } } }
                    } }
                } }
            }
        }
    }

    fn at(&self, point: u32) -> String {
        super::markup::at(&self.view.experiment.parameters, &self.view.experiment.points[point as usize])
    }

    /// Every measured value, with what the model says there.
    fn measured(&self) -> Markup {
        let unit = self.view.unit();
        let name = format!("callpath-{}.csv", self.of.id);
        html! {
            details.values {
                summary { "Measured values" }
                div.scroll { table.metrics {
                    thead { tr {
                        @for name in &self.view.experiment.parameters { th.number scope="col" { (name) } }
                        th scope="col" { "repetitions" } th.number scope="col" { "model" } th.number scope="col" { "median off by" }
                    } }
                    tbody { @for (point, values) in self.measurements() {
                        @let model = self.model.at(point);
                        tr {
                            @for x in point { td.number { (coordinate(*x)) } }
                            td { @for (i, v) in values.iter().enumerate() { @if i > 0 { ", " } (quantity(*v, unit)) } }
                            td.number { (quantity(model, unit)) }
                            td.number { (signed_percent(median(values) / model - 1.0)) }
                        }
                    } }
                } }
                p.note { a download=(name) href=(address("text/csv", &self.csv())) { "These values as CSV" } }
            }
        }
    }

    fn csv(&self) -> String {
        let experiment = self.view.experiment;
        let metric = &experiment.metrics[self.model.metric as usize].name;
        let mut text = format!("{},repetition,{metric},model\n", experiment.parameters.join(","));
        for (point, values) in self.measurements() {
            let coordinates: Vec<String> = point.iter().map(f64::to_string).collect();
            for (i, value) in values.iter().enumerate() {
                let row = [
                    coordinates.join(","),
                    (i + 1).to_string(),
                    format!("{value:e}"),
                    format!("{:e}", self.model.at(point)),
                ];
                text.push_str(&row.join(","));
                text.push('\n');
            }
        }
        text
    }

    fn others(&self) -> Markup {
        html! {
            @if !self.of.others.is_empty() {
                table.metrics {
                    @for (metric, expression) in &self.of.others {
                        tr { th scope="row" { (metric) } td { code { (expression) } } }
                    }
                }
            }
        }
    }
}

/// Whether the counts, of which those that are not positive are not drawn, differ: over one and the same count times say
/// nothing of how they follow it.
fn varies(counts: &[f64]) -> bool {
    let drawn = || counts.iter().copied().filter(|c| *c > 0.0);
    let (low, high) = drawn().fold((f64::INFINITY, 0.0_f64), |(low, high), c| (low.min(c), high.max(c)));
    high > low * (1.0 + 1e-9)
}

fn caption(parameters: &[String], along: usize, fixed: &[f64]) -> String {
    let others = others(parameters, &[along], fixed);
    format!("along {}{others}", parameters[along])
}

fn plane_caption(parameters: &[String], plane: (usize, usize), fixed: &[f64]) -> String {
    let others = others(parameters, &[plane.0, plane.1], fixed);
    format!(
        "over {} and {}{others}: the model; circles are what was measured",
        parameters[plane.0], parameters[plane.1]
    )
}

fn others(parameters: &[String], shown: &[usize], fixed: &[f64]) -> String {
    let others = (0..fixed.len()).filter(|l| !shown.contains(l));
    let texts: Vec<String> = others.map(|l| format!("{} = {}", parameters[l], coordinate(fixed[l]))).collect();
    if texts.is_empty() { String::new() } else { format!(", at {}", texts.join(", ")) }
}

/// `+12 %`, `-3.4 %`.
pub(crate) fn signed_percent(share: f64) -> String {
    if !share.is_finite() {
        return "n/a".into();
    }
    match percent(share.abs()) {
        // Neither more nor less, as far as the digits go.
        small if small.starts_with('<') || small.starts_with("0.0") => small,
        text => format!("{}{text}", if share < 0.0 { "−" } else { "+" }),
    }
}
