//! The HTML page: the answer in a few sentences, ranking, call tree, call paths, quality of the experiment, warnings.

use std::collections::HashSet;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::article::article;
use super::data::{address, json, packed};
use super::markup::{at, breakable, counted, data_table, share_bar, short_path, shortened, sum};
use super::notes::{bound, warnings};
use super::plot::legend;
use super::points::quality;
use super::quantity::{coordinate, interval, percent, quantity, shape};
use super::ranking::{Overtaking, Ranked, default_target, name_among, other_metrics, overtaking, rank, ranked_by};
use super::reach;
use super::terminal::measured_total;
use super::tree::tree;
use super::view::{View, kind, scatter_of_repetitions};
use super::{ReportOptions, Section};
use crate::experiment::{CallPathId, Experiment};
use crate::fit::Fits;
use crate::model::Model;
use crate::scatter::Scatter;

/// What the page does beyond showing tables.
const SCRIPT: &str =
    concat!("\"use strict\";\n(() => {\n", include_str!("plots.js"), include_str!("script.js"), "})();\n");
/// Rows of the ranking that are shown without asking.
const OPEN_ROWS: usize = 20;
/// Rows of the ranking at most; the call tree has all call paths.
const MOST_ROWS: usize = 200;
/// The call paths that together make this part of the target's cost are named at the top.
const MOST_OF_ALL: f64 = 0.8;

/// The head of every page, with `style` beside the style that all have.
pub(crate) fn head(title: &str, style: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            // A page without an icon of its own would ask for one.
            link rel="icon" href="data:,";
            title { (title) }
            style { (PreEscaped(include_str!("style.css"))) (PreEscaped(style)) }
        }
    }
}

/// A page without scripts: its title, a sentence below it, and what follows. What is too wide for the screen may stand in an
/// element of the class `scroll`, in which it is moved sideways.
pub(crate) fn plain(title: &str, lead: &str, main: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, ".scroll{overflow-x:auto}"))
            body {
                header { h1 { (title) } p.lead { (lead) } }
                main { (main) }
            }
        }
    };
    page.into_string() + "\n"
}

/// The whole page.
pub(crate) fn page(experiment: &Experiment, fits: &Fits, options: &ReportOptions) -> Markup {
    let asked = options.target.clone().filter(|t| t.len() == experiment.parameters.len());
    let target = asked.unwrap_or_else(|| default_target(experiment));
    let view = ranked_by(experiment, fits, options).map(|metric| View::new(experiment, fits, options, metric, target));
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&options.title, ""))
            body {
                header { h1 { (options.title) } (summary(experiment, fits, view.as_ref(), options.noun)) @if view.is_some() { (contents(options)) } }
                main {
                    @for section in &options.sections { (extra_section(section)) }
                    @for (title, svg) in &options.pictures { section { h2 { (title) } (PreEscaped(svg)) } }
                    @match &view {
                        Some(view) => (results(view)),
                        None => section { h2 { "Models" } p { "No series could be modelled; the warnings say why." } },
                    }
                    (bound(experiment))
                    (warnings(experiment, fits, &options.warnings))
                }
                footer { "Made by Counterpoise. The page is complete in itself. Numbers for programs: " code { (options.json_command()) } "." }
                @if let Some(view) = &view {
                    script #data type="application/octet-stream" data-parameters=(experiment.parameters.len()) { (PreEscaped(packed(&json(view)))) }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        }
    }
}

/// `main → solve → MPI_Allreduce`.
pub(super) fn path_text(experiment: &Experiment, callpath: CallPathId) -> String {
    experiment.path(callpath).join(" → ")
}

fn contents(options: &ReportOptions) -> Markup {
    html! {
        nav {
            a href="#ranking" { "Ranking" } " " a href="#tree" { (options.all()) } " "
            @if options.phases.is_some() { a href="#phases" { "Phases" } " " }
            a href="#callpaths" { (options.each()) } " " a href="#quality" { "Quality" }
        }
    }
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

/// What was measured, in a line.
fn summary(experiment: &Experiment, fits: &Fits, view: Option<&View>, noun: &str) -> Markup {
    let range = |(i, name): (usize, &String)| range(experiment, i, name);
    let ranges: Vec<String> = experiment.parameters.iter().enumerate().map(range).collect();
    let scatter = |part| view.and_then(|view| at_most(view, part, |model| Some(Scatter::of(experiment, model)?.usual)));
    let repeated = view.and_then(|view| at_most(view, HALF, |model| scatter_of_repetitions(experiment, model)));
    html! {
        p.lead {
            (counted(experiment.points.len(), "point")) " over " (ranges.join(" and ")) ", "
            (counted(experiment.callpaths.len(), noun)) ", " (counted(fits.models.len(), "model")) "."
            @if let Some((half, _)) = scatter(HALF) {
                " For half of the cost, measurements scatter about their models by at most " (percent(half))
                @if let Some((repeated, _)) = repeated {
                    ", and repetitions about their mean by at most " (percent(repeated))
                    @if half > MISSED * repeated { ": the rest is what the models miss, or whole points that were disturbed" }
                } @else { ", by noise or because the models miss something, which only repetitions would tell apart" }
                "."
                @if let Some((most, id)) = scatter(MOST_OF_COST).filter(|(most, _)| percent(*most) != percent(half)) {
                    " For nine tenths it is at most " (percent(most)) ", which " (shortened(&name_among(experiment, id))) " has."
                }
                " " dfn { "Scatter" } " is the root of the mean square of how far values lie off, relative to what they lie about."
            }
        }
    }
}

fn range(experiment: &Experiment, parameter: usize, name: &str) -> String {
    let mut values: Vec<f64> = experiment.points.iter().map(|p| p[parameter]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    match values[..] {
        [] => name.to_owned(),
        [only] => format!("{name} = {}", coordinate(only)),
        [first, .., last] => {
            format!("{name} = {}…{} ({} values)", coordinate(first), coordinate(last), values.len())
        }
    }
}

/// What models are off by is no noise where it is so many times what repetitions scatter.
const MISSED: f64 = 2.0;

/// The parts of today's cost of which is told how much its call paths scatter at most.
const HALF: f64 = 0.5;
const MOST_OF_COST: f64 = 0.9;

/// The scatter that call paths with this part of the cost today do not exceed, and the one that has it: small call paths scatter
/// far more, often.
fn at_most(view: &View, part: f64, scatter: impl Fn(&Model) -> Option<f64>) -> Option<(f64, CallPathId)> {
    let of = |r: Ranked| {
        let scatter = scatter(r.model).filter(|s| s.is_finite())?;
        Some((scatter, r.model.callpath))
    };
    let mut scatters: Vec<(f64, CallPathId)> = rank(&view.costs).into_iter().filter_map(of).collect();
    scatters.sort_by(|a, b| a.0.total_cmp(&b.0));
    let share = |id: CallPathId| view.costs.share_now(id);
    let enough = part * scatters.iter().map(|(_, id)| share(*id)).sum::<f64>();
    let mut below = 0.0;
    scatters.into_iter().find(|(_, id)| {
        below += share(*id);
        below >= enough
    })
}

/// Everything that models give.
fn results(view: &View) -> Markup {
    let ranked = rank(&view.costs);
    let has_extra =
        |r: &Ranked| view.options.extras.iter().any(|e| (e.callpath, e.metric) == (r.model.callpath, r.model.metric));
    // Second models and held-out points are not in the data that the script draws from.
    let drawn: Vec<&Ranked> =
        ranked.iter().enumerate().filter(|(i, r)| *i < view.options.plots || has_extra(r)).map(|(_, r)| r).collect();
    let links = Links(drawn.iter().map(|r| r.model.callpath).collect());
    html! {
        (Ranking { view, ranked: &ranked, links: &links }.markup())
        (tree(view, &links))
        @if let Some(phases) = &view.options.phases { (phases.markup(&view.experiment.parameters, &view.costs.target, view.options.level)) }
        section #callpaths {
            h2 { (view.options.each()) }
            (reading(view, drawn.len() < ranked.len()))
            @for r in &drawn { (article(view, r.model)) }
        }
        (quality(view))
    }
}

/// The call paths that the program draws; the script draws the others.
pub(super) struct Links(HashSet<CallPathId>);

impl Links {
    /// A name that leads to its call path's plots: everywhere where they are in the page, or else once scripts run, which make
    /// it lead there.
    pub(super) fn to(&self, id: CallPathId, title: Option<&str>, name: &Markup) -> Markup {
        html! {
            @if self.0.contains(&id) { a href=(format!("#c{id}")) title=[title] { (name) } }
            @else { a data-c=(id) title=[title] { (name) } }
        }
    }
}

/// How to read the plots.
fn reading(view: &View, cut: bool) -> Markup {
    let extras = || view.options.extras.iter().filter(|e| e.metric == view.costs.metric);
    let second = extras().find(|e| e.model.is_some()).map(|e| e.label.as_str());
    let held_out = extras().any(|e| !e.held_out.is_empty());
    html! {
        p {
            "A " dfn { "model" } " is a function of the parameters: a sum of terms, each a coefficient times powers and logarithms of parameters. "
            "A plot along one parameter keeps the others at the value that its caption names; axes are logarithmic where values span "
            "enough, so that powers are straight lines. A model made by "
            dfn { "effort" } " takes its shape from counts that do not depend on noise (executed basic blocks, bytes moved by MPI) and "
            "only its coefficients from time. A " dfn { "basic block" } " is a stretch of code without branches. How often an MPI operation is called and "
            "what it moves is measured, too; its " dfn { "cost model" } " says how that becomes time over so many ranks, such as log2(p) for the levels of a tree. The "
            dfn { "runner-up" } " is the function that came closest to being chosen. Of the numbers below the plots, the error at "
            dfn { "points left out" } " is how far the function misses a measurement when it is fitted to all the others, on average; the "
            "runner-up is judged by the same number. " dfn { "SMAPE" } ", the symmetric mean absolute percentage error, is how far the model misses the measurements that it "
            "was fitted to: the mean of the differences, each relative to the mean of measurement and model, so that too high and too low count alike. "
            dfn { "Adjusted R²" } " is the part of the differences between points that the model explains, 1 being all."
            @if held_out { " " dfn { "Held-out" } " measurements took no part in the fit: they show whether the prediction was right." }
            @if cut { " The most expensive " (view.options.noun) "s are drawn here; " span.script hidden { "a name in the list above adds any other." } span.noscript { "the others are drawn where scripts run." } }
        }
        (legend(view.options.level, second, held_out))
    }
}

/// The ranking's section.
struct Ranking<'v> {
    view: &'v View<'v>,
    ranked: &'v [Ranked<'v>],
    links: &'v Links,
}

impl Ranking<'_> {
    fn at(&self, point: &[f64]) -> String {
        at(&self.view.experiment.parameters, point)
    }

    fn markup(&self) -> Markup {
        let shown = &self.ranked[..self.ranked.len().min(MOST_ROWS)];
        let columns = self.columns(shown);
        let (open, folded) = shown.split_at(shown.len().min(OPEN_ROWS));
        let rest = self.ranked.len() - shown.len();
        html! {
            section #ranking {
                h2 { "What will cost most at " (self.at(&self.view.costs.target)) (self.unless_time()) }
                (self.answer())
                p {
                    @if self.noun() == "call path" { "A " dfn { "call path" } " is a function with the chain of its callers. " } @else { "A " dfn { (self.noun()) } " is a stretch of the run that belongs to one function. " }
                     dfn { "Growth" }
                    " is how its cost rises with the parameters once they are large. " dfn { "Today" }
                    " is the largest measured value of each parameter (" (self.at(&self.view.costs.today)) "): "
                    @if columns.measured { i { "measured" } " is the median of what was measured there, " i { "model" } " what the model gives; the " }
                    @else { "the numbers are what the models give there, since this combination itself was not measured; the " }
                    dfn { "target" } " is the scale asked for. The prediction comes with an interval that is to hold "
                    (format!("{:.0}", 100.0 * self.view.options.level)) " of 100 new measurements under the same conditions. " dfn { "Share" }
                    " is the part of what " (self.view.options.together()) " cost" @if self.view.options.has_callers() { "s" }
                    @if self.view.costs.is_inclusive() { "; here " (self.noun()) "s include the time of what they call" }
                    "."
                }
                (self.metric())
                @if let Some(sentence) = self.view.costs.callees.sentence(self.view.experiment) { p.note { (sentence) } }
                @if let Some(said) = reach::left_out(self.view.costs.models.iter().flatten().copied()) { p.note { (said) } }
                @if let Some(doubt) = reach::of_ranking(self.view.experiment, &self.view.costs) { p.warning { (doubt) } }
                @if let Some(doubt) = reach::of_places(self.ranked, self.noun()) { p.warning { i { "Not certain" } " in the column of growths: " (doubt) } }
                div.scroll { table.ranking { (ranking_head(columns, self.noun())) tbody { (self.rows(open, 0, columns)) } (self.total(columns)) } }
                @if !folded.is_empty() {
                    details {
                        summary { "The next " (counted(folded.len(), self.noun())) }
                        div.scroll { table.ranking { (ranking_head(columns, self.noun())) tbody { (self.rows(folded, open.len(), columns)) } } }
                    }
                }
                p.note {
                    @if rest > 0 { (self.view.options.all()) " below has the other " @if rest == 1 { (self.noun()) } @else { (counted(rest, self.noun())) } ". " }
                    span.files {
                        "As files: " a download="ranking.csv" href=(address("text/csv", &self.csv(shown))) { "this ranking (CSV)" }
                        span.script hidden { ", " button type="button" data-save="csv" { "all " (self.noun()) "s (CSV)" } ", " button type="button" data-save="json" { "all numbers of this page (JSON)" } }
                        "."
                    }
                }
            }
        }
    }

    /// What call paths are here, in the singular.
    fn noun(&self) -> &'static str {
        self.view.options.noun
    }

    /// What cost is meant, where it is not time.
    fn unless_time(&self) -> String {
        match self.view.experiment.metrics[self.view.costs.metric as usize].name.as_str() {
            "time" => String::new(),
            other => format!(": {other}"),
        }
    }

    /// What is ranked, and what could be.
    fn metric(&self) -> Markup {
        let others = other_metrics(self.view.experiment, self.view.fits, self.view.costs.metric);
        html! {
            p #metric {
                "Metric: " strong { (self.view.metric_text(self.view.costs.metric)) } "."
                @if !others.is_empty() {
                    " Also modelled: " (others.join(", "))
                    @if self.view.options.has_callers() {
                        "; a report with " code { "--metric NAME" } " ranks by one of them."
                    } @else {
                        "; " code { "poise phases RUNS" } " prints the models of all."
                    }
                }
            }
        }
    }

    /// The answer that people come for, in two or three sentences.
    fn answer(&self) -> Markup {
        let costs = &self.view.costs;
        let mut sum = 0.0;
        let enough = self.ranked.iter().take_while(|r| {
            let before = sum;
            sum += costs.share_then(r.model.callpath);
            before < MOST_OF_ALL
        });
        let few: Vec<&Ranked> = enough.take(6).collect();
        let part: f64 = few.iter().map(|r| costs.share_then(r.model.callpath)).sum();
        let leader = self.ranked.iter().min_by_key(|r| r.place_now);
        html! {
            p.answer {
                @if !costs.is_inclusive() && few.len() < 6 {
                    (few.len()) " " (self.noun()) @if few.len() == 1 { " makes " } @else { "s make " } (percent(part)) " of the cost at the target. "
                }
                @if let (Some(first), Some(leader)) = (self.ranked.first(), leader) {
                    @if first.model.callpath == leader.model.callpath {
                        "What costs most today costs most at the target too: " (self.link(first)) ", "
                        (percent(costs.share_now(first.model.callpath))) " today and " (percent(costs.share_then(first.model.callpath))) " there."
                    } @else {
                        (self.link(first)) " will cost most: " (percent(costs.share_now(first.model.callpath))) " today, "
                        (percent(costs.share_then(first.model.callpath))) " at the target. Today's leader, " (self.link(leader)) ", goes from "
                        (percent(costs.share_now(leader.model.callpath))) " to " (percent(costs.share_then(leader.model.callpath))) "."
                    }
                    @if self.ranked.iter().any(|r| r.least.is_some()) {
                        " Shares at the target are of a total that holds growth that is not certain."
                    }
                }
            }
        }
    }

    fn link(&self, ranked: &Ranked) -> Markup {
        let names = self.view.experiment.path(ranked.model.callpath);
        let name = names.last().copied().unwrap_or_default();
        self.links.to(ranked.model.callpath, Some(name), &html! { (shortened(name)) })
    }

    /// The columns that have something in them.
    fn columns(&self, shown: &[Ranked]) -> Columns {
        let (experiment, costs) = (self.view.experiment, &self.view.costs);
        let overtakes = |i| overtaking(experiment, costs, self.ranked, i, self.view.options.level).is_some();
        Columns {
            measured: shown.iter().any(|r| costs.measured(experiment, r.model.callpath).is_some()),
            overtakes: (0..shown.len()).any(overtakes),
        }
    }

    /// The whole program.
    fn total(&self, columns: Columns) -> Markup {
        let (costs, unit) = (&self.view.costs, self.view.unit());
        html! {
            tfoot { tr {
                td {} td { (self.view.options.together()) } td {}
                @if columns.measured { td.number.wide { (measured_total(self.view, self.ranked).map_or_else(String::new, |v| quantity(v, unit))) } }
                td.number.wide { (quantity(costs.total.0, unit)) }
                td.number { (quantity(costs.total.1, unit)) }
                td.interval.wide { (interval(costs.total_interval.0, costs.total_interval.1, unit)) }
                td.share.wide { (share_bar(1.0)) }
                td.share { (share_bar(1.0)) }
                @if columns.overtakes { td.wide {} }
            } }
        }
    }

    fn rows(&self, ranked: &[Ranked], first: usize, columns: Columns) -> Markup {
        let (view, costs) = (self.view, &self.view.costs);
        let unit = view.unit();
        html! {
            @for (i, r) in ranked.iter().enumerate() {
                @let id = r.model.callpath;
                tr {
                    td.number { (first + i + 1) }
                    td.path { (self.links.to(id, Some(&path_text(view.experiment, id)), &short_path(view.experiment, id))) }
                    td.growth { (sum(&shape(&view.experiment.parameters, r.model))) @if r.least.is_some() { " " span.caller { "(not certain)" } } }
                    @if columns.measured {
                        td.number.wide { (costs.measured(view.experiment, id).map_or_else(String::new, |value| quantity(value, unit))) }
                    }
                    td.number.wide { (quantity(costs.now[id as usize], unit)) }
                    td.number { strong { (quantity(r.prediction.value, unit)) } }
                    td.interval.wide { (interval(r.prediction.lower, r.prediction.upper, unit)) }
                    td.share.wide { (share_bar(costs.share_now(id))) }
                    td.share { (share_bar(costs.share_then(id))) }
                    @if columns.overtakes { td.overtakes.wide {
                        @if let Some(found) = overtaking(view.experiment, costs, self.ranked, first + i, view.options.level) { (self.overtakes(&found)) }
                    } }
                }
            }
        }
    }

    /// `from p = 61: sweep and 2 more`.
    fn overtakes(&self, found: &Overtaking) -> Markup {
        let name = name_among(self.view.experiment, found.other);
        html! {
            span title=(name) { (breakable(&name.split(" -> ").map(shortened).collect::<Vec<_>>().join(" → "))) } @if found.more > 0 { " and " (found.more) " more" }
            " from " (self.at_changing(&found.at))
            @if !found.is_certain { " " span.caller { "(not certain)" } }
        }
    }

    /// The coordinates that change between today and the target.
    fn at_changing(&self, point: &[f64]) -> String {
        let costs = &self.view.costs;
        let changes = |l: &usize| costs.today[*l] != costs.target[*l];
        let names = &self.view.experiment.parameters;
        let one = |l: usize| format!("{}\u{a0}=\u{a0}{}", names[l], quantity(point[l], ""));
        (0..point.len()).filter(changes).map(one).collect::<Vec<_>>().join(", ")
    }

    fn csv(&self, ranked: &[Ranked]) -> String {
        let costs = &self.view.costs;
        let mut text = String::from(
            "place,callpath,kind,growth,model,today,predicted,lower,upper,share_today,share_target,measured_today\n",
        );
        for (i, r) in ranked.iter().enumerate() {
            let id = r.model.callpath;
            let parameters = &self.view.experiment.parameters;
            let quoted = |text: String| format!("\"{}\"", text.replace('"', "\"\""));
            let cells = [
                (i + 1).to_string(),
                quoted(self.view.experiment.path(id).join("->")),
                kind(r.model.kind).to_owned(),
                quoted(shape(parameters, r.model)),
                quoted(r.model.expression(parameters)),
                numeric(costs.now[id as usize]),
                numeric(r.prediction.value),
                numeric(r.prediction.lower),
                numeric(r.prediction.upper),
                numeric(costs.share_now(id)),
                numeric(costs.share_then(id)),
                costs.measured(self.view.experiment, id).map_or_else(String::new, numeric),
            ];
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        text
    }
}

/// A number of a CSV table; nothing where it is not finite.
pub(super) fn numeric(value: f64) -> String {
    if value.is_finite() { format!("{value:e}") } else { String::new() }
}

/// Columns of the ranking that are there only where they have something in them.
#[derive(Clone, Copy)]
struct Columns {
    measured: bool,
    overtakes: bool,
}

fn ranking_head(columns: Columns, noun: &str) -> Markup {
    html! {
        thead { tr {
            th.number scope="col" { "#" }
            th scope="col" { (noun) }
            th scope="col" { "growth" }
            @if columns.measured { th.number.wide scope="col" { "today, measured" } }
            th.number.wide scope="col" { "today, model" }
            th.number scope="col" { "predicted" }
            th.interval.wide scope="col" { "interval" }
            th.share.wide scope="col" { "share, today" }
            th.share scope="col" { "share, target" }
            @if columns.overtakes { th.wide scope="col" { "overtakes" } }
        } }
    }
}
