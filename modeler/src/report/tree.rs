//! The call tree: nested, so that it folds without scripts, with growth and shares beside each call path.

use maud::{Markup, PreEscaped, html};

use super::costs::Own;
use super::markup::{breakable, shortened, sum};
use super::page::Links;
use super::quantity::{percent, quantity, shape};
use super::view::View;
use crate::experiment::{CallPathId, Experiment};

/// Callers of at least this part of the target's cost are unfolded.
const OPEN_SHARE: f64 = 0.05;
/// At most so many callers are unfolded.
const MOST_OPEN: usize = 60;
/// Beyond this depth callees stand beside their caller: browsers stop nesting at some depth.
const DEEPEST: usize = 200;
/// What has a smaller part of the cost now and at the target, callees included, is not printed on paper.
const SMALL: f64 = 1e-3;
/// So many call paths are printed on paper, the most expensive ones: some ten pages, and nobody reads more.
const MOST_PRINTED: usize = 400;

/// The tree's section.
pub(crate) fn tree(view: &View, links: &Links) -> Markup {
    let mut callees: Vec<Vec<CallPathId>> = vec![Vec::new(); view.experiment.callpaths.len()];
    let mut roots = Vec::new();
    for (id, callpath) in view.experiment.callpaths.iter().enumerate() {
        match callpath.parent {
            Some(parent) => callees[parent as usize].push(id as CallPathId),
            None => roots.push(id as CallPathId),
        }
    }
    let by_cost = |ids: &mut Vec<CallPathId>| {
        ids.sort_by(|a, b| view.costs.share_with_callees(*b).total_cmp(&view.costs.share_with_callees(*a)));
    };
    callees.iter_mut().for_each(by_cost);
    by_cost(&mut roots);
    let tree = Tree { view, links, callees, open: open(view), printed: printed(view) };
    html! {
        section #tree {
            h2 { (view.options.all()) }
            p {
                @if view.options.has_callers() { "Who calls whom, the" } @else { "The" } " most expensive at the target first. "
                @if view.options.has_callers() {
                dfn { "Own" } " is what a " (view.options.noun) " costs without what it calls"
                @if view.costs.own.is_none() { " (not known here, since measurements contain what is called and nothing tells who calls whom)" }
                @else if view.costs.is_inclusive() { " (here the difference, since measurements contain what is called)" }
                "; " dfn { "with callees" } " includes that. "
                }
                span.script hidden { "A name leads to the plots and numbers of its " (view.options.noun) "." }
                span.noscript { "A name that is underlined leads to the plots and numbers of its " (view.options.noun) "." }
            }
            form.filter hidden {
                label { "Filter " input type="search" placeholder="part of a name" autocomplete="off"; } " "
                button type="button" data-tree="open" { "Unfold all" } " "
                button type="button" data-tree="close" { "Fold all" } " "
                span.hits role="status" {}
            }
            div.scroll { div.tree.flat[!view.options.has_callers()] data-noun=(view.options.noun) { (tree.head()) (tree.nodes(&roots)) } }
            @if let Some(left_out) = tree.not_printed() { p.printed { (left_out) } }
        }
    }
}

/// By call path, whether it is unfolded at first: the most expensive callers.
fn open(view: &View) -> Vec<bool> {
    let share = |id: usize| view.costs.share_with_callees(id as CallPathId);
    largest(view.experiment, share, |share| share >= OPEN_SHARE, MOST_OPEN)
}

/// By call path, whether it is printed on paper.
fn printed(view: &View) -> Vec<bool> {
    let part = |id: usize| {
        let ((now, then), total) = (view.costs.with_callees[id], view.costs.total);
        (now / total.0).max(then / total.1)
    };
    largest(view.experiment, part, |part| part >= SMALL || part.is_nan(), MOST_PRINTED)
}

/// By call path, whether it is one of the `most` largest whose cost is enough. A callee has its place within its caller, so that
/// a caller counts as much as the largest of its callees: where values hold those of callees, its own may be a little smaller.
fn largest(
    experiment: &Experiment,
    cost: impl Fn(usize) -> f64,
    is_enough: impl Fn(f64) -> bool,
    most: usize,
) -> Vec<bool> {
    let mut costs: Vec<f64> = (0..experiment.callpaths.len()).map(cost).collect();
    // Callers stand before callees.
    for (id, callpath) in experiment.callpaths.iter().enumerate().rev() {
        if let Some(caller) = callpath.parent {
            costs[caller as usize] = costs[caller as usize].max(costs[id]);
        }
    }
    let mut largest: Vec<usize> = (0..costs.len()).filter(|&id| is_enough(costs[id])).collect();
    largest.sort_by(|&a, &b| costs[b].total_cmp(&costs[a]).then(a.cmp(&b)));
    let mut chosen = vec![false; costs.len()];
    largest.iter().take(most).for_each(|&id| chosen[id] = true);
    chosen
}

struct Tree<'v> {
    view: &'v View<'v>,
    links: &'v Links,
    callees: Vec<Vec<CallPathId>>,
    open: Vec<bool>,
    printed: Vec<bool>,
}

impl Tree<'_> {
    fn head(&self) -> Markup {
        html! {
            div.row.head {
                span { (self.view.options.noun) } span { "growth" }
                @if self.view.options.has_callers() {
                    span { "own cost, target" } span { "own share, today" } span { "own share, target" } span { "with callees, target" }
                } @else {
                    span { "cost, target" } span { "share, today" } span { "share, target" }
                }
            }
        }
    }

    /// All call paths under `roots`, callers around callees.
    fn nodes(&self, roots: &[CallPathId]) -> Markup {
        let mut text = String::new();
        // What is still to be written, last first; nothing closes the caller that was entered last.
        let mut rest: Vec<Option<CallPathId>> = roots.iter().rev().map(|&id| Some(id)).collect();
        let mut depth = 0;
        while let Some(next) = rest.pop() {
            let Some(id) = next else {
                text.push_str("</details>");
                depth -= 1;
                continue;
            };
            let callees = &self.callees[id as usize];
            let nests = !callees.is_empty() && depth < DEEPEST;
            text.push_str(&self.node(id, nests).into_string());
            if nests {
                depth += 1;
                rest.push(None);
            }
            rest.extend(callees.iter().rev().map(|&id| Some(id)));
        }
        PreEscaped(text)
    }

    /// One call path: a leaf, or the beginning of a caller, which the caller of this closes.
    fn node(&self, id: CallPathId, nests: bool) -> Markup {
        let class = if self.printed[id as usize] { "" } else { " class=\"small\"" };
        let open = if self.open[id as usize] { " open" } else { "" };
        let row = self.row(id).into_string();
        PreEscaped(match nests {
            true => format!("<details id=\"n{id}\"{class}{open}><summary>{row}</summary>"),
            false => format!("<div id=\"n{id}\"{class}>{row}</div>"),
        })
    }

    /// What paper says of the call paths that it has no room for.
    fn not_printed(&self) -> Option<String> {
        let printed = self.printed.iter().filter(|printed| **printed).count();
        let count = self.printed.len() - printed;
        let (noun, percent) = (self.view.options.noun, 100.0 * SMALL);
        let (s, are) = if count == 1 { ("", "is") } else { ("s", "are") };
        let which = match printed {
            MOST_PRINTED => format!("{count} {noun}{s} that cost less than these {printed} {are} not printed"),
            _ => format!(
                "{count} {noun}{s} with less than {percent} % of the cost, today and at the target, {are} not printed"
            ),
        };
        (count > 0).then(|| {
            format!("{which}. On a screen this page shows and filters all and saves them as CSV; poise model --format csv writes them, too.")
        })
    }

    fn row(&self, id: CallPathId) -> Markup {
        let costs = &self.view.costs;
        let name = &self.view.experiment.callpaths[id as usize].name;
        let short = shortened(name);
        // What is shown whole needs no title, which thousands of call paths would make long to load.
        let title = (short != *name).then_some(name);
        let with_callees = costs.share_with_callees(id);
        let own = costs.own(id);
        let of_own = |text: &dyn Fn(&Own) -> String| own.as_ref().map_or_else(String::new, text);
        html! {
            @match costs.models[id as usize] {
                Some(model) => {
                    span { (self.links.to(id, title.map(String::as_str), &breakable(&short))) }
                    span { (sum(&shape(&self.view.experiment.parameters, model))) }
                    span { (of_own(&|own| quantity(own.then, self.view.unit()))) }
                    span { (of_own(&|own| percent(own.share_now))) }
                    @if self.view.options.has_callers() { span { (of_own(&|own| percent(own.share_then))) } }
                }
                None => { span.caller title=[title] { (breakable(&short)) } span {} span {} span {} span {} }
            }
            span style=(format!("--s:{:.1}%", 100.0 * with_callees)) { (percent(with_callees)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric, Values};
    use crate::report::ReportOptions;
    use crate::{Options, fit};

    /// Which of these call paths are printed, whose times hold those of their callees and are `values` times p.
    fn printed_of(paths: &[&[&str]], values: &[f64]) -> Vec<bool> {
        let mut builder = ExperimentBuilder::new(["p"]);
        builder.include(Values::Inclusive);
        let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        for (path, value) in paths.iter().zip(values) {
            let callpath = builder.callpath(path.iter().copied());
            for p in [1.0, 2.0, 4.0, 8.0, 16.0] {
                let point = builder.point(&[p]);
                builder.add(callpath, time, point, value * p);
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        let options = ReportOptions::default();
        printed(&View::new(&experiment, &fits, &options, time, vec![32.0]))
    }

    #[test]
    fn a_caller_is_printed_with_its_callees() {
        let paths: [&[&str]; 4] = [&["main"], &["main", "a"], &["main", "a", "b"], &["main", "c"]];
        // `b` has a thousandth of the cost, and its caller was measured 3 % below it, as noise does.
        assert_eq!(printed_of(&paths, &[1000.0, 0.98, 1.01, 0.9]), [true, true, true, false]);
        assert_eq!(printed_of(&paths, &[1000.0, 0.98, 0.97, 0.9]), [true, false, false, false]);
    }

    #[test]
    fn of_more_than_paper_has_room_for_callers_come_before_callees() {
        let mut builder = ExperimentBuilder::new(["p"]);
        let main = builder.callpath(["main"]);
        let ids: Vec<(CallPathId, CallPathId)> = (0..5)
            .map(|i| {
                let caller = format!("caller{i}");
                let names = ["main", caller.as_str(), "callee"];
                (builder.callpath(names[..2].iter().copied()), builder.callpath(names))
            })
            .collect();
        let experiment = builder.finish();
        // Every callee is larger than any caller but main.
        let callees: Vec<usize> = ids.iter().map(|(_, callee)| *callee as usize).collect();
        let cost = |id: usize| if id == main as usize || callees.contains(&id) { 1.0 } else { 0.97 };
        let chosen = largest(&experiment, cost, |cost| cost > 0.5, 4);
        assert_eq!(chosen.iter().filter(|chosen| **chosen).count(), 4);
        for (id, callpath) in experiment.callpaths.iter().enumerate() {
            assert!(!chosen[id] || callpath.parent.is_none_or(|caller| chosen[caller as usize]), "{id} in its caller");
        }
    }
}
