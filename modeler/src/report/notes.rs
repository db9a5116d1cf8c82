//! What the reader should know before trusting the models: diagnostics grouped by code, and series without a model.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::page::path_text;
use crate::experiment::{CallPathId, Experiment};
use crate::fit::Fits;
use crate::warning::ALL;

/// How many call paths a diagnostic names.
const NAMED: usize = 6;

/// One diagnostic and where it applies.
struct Group<'a> {
    code: &'a str,
    /// The distinct sentences, in the order in which they were met.
    messages: Vec<&'a str>,
    /// Call paths and metrics.
    series: Vec<(CallPathId, &'a str)>,
}

/// What binds the call paths that were measured with noise, a sentence each; nothing where none was.
pub(crate) fn bound(experiment: &Experiment) -> Markup {
    let sentences = crate::absorption::scaling::sentences(experiment);
    html! {
        @if !sentences.is_empty() {
            section #bound {
                h2 { "What binds them" }
                ul { @for (callpath, sentence) in &sentences { li { (path_text(experiment, *callpath)) ": " (sentence) } } }
            }
        }
    }
}

/// The warnings section; nothing where there is nothing to warn about.
pub(crate) fn warnings(experiment: &Experiment, fits: &Fits, of_caller: &[String]) -> Markup {
    let metric = |id: u32| experiment.metrics[id as usize].name.as_str();
    let of_models = fits
        .models
        .iter()
        .flat_map(|m| m.warnings.iter().map(move |w| (w.code, w.message.as_str(), m.callpath, metric(m.metric))));
    let of_skipped = fits.skipped.iter().map(|s| (s.code, s.reason.as_str(), s.callpath, metric(s.metric)));
    let models = group(of_models);
    let skipped = group(of_skipped);
    if models.is_empty() && skipped.is_empty() && of_caller.is_empty() {
        return html! {};
    }
    html! {
        section #warnings {
            h2 { "Warnings" }
            @if !of_caller.is_empty() {
                ul { @for warning in of_caller { li { (warning) } } }
            }
            @if !models.is_empty() { (list(experiment, &models)) }
            @if !skipped.is_empty() {
                h3 { "Measured, but not modelled" }
                (list(experiment, &skipped))
            }
        }
    }
}

fn group<'a>(diagnostics: impl Iterator<Item = (&'a str, &'a str, CallPathId, &'a str)>) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
    for (code, message, callpath, metric) in diagnostics {
        let group = groups.entry(code).or_insert(Group { code, messages: Vec::new(), series: Vec::new() });
        if !group.messages.contains(&message) && group.messages.len() < NAMED {
            group.messages.push(message);
        }
        group.series.push((callpath, metric));
    }
    groups.into_values().collect()
}

fn list(experiment: &Experiment, groups: &[Group]) -> Markup {
    html! {
        dl.warnings {
            @for group in groups {
                dt { code { (group.code) } " " (title(group.code).unwrap_or_default()) " (" (group.series.len()) ")" }
                dd {
                    p { (explanation(group)) }
                    ul {
                        @for (callpath, metric) in group.series.iter().take(NAMED) {
                            li { (path_text(experiment, *callpath)) ", " (metric) }
                        }
                        @if group.series.len() > NAMED { li { "and " (group.series.len() - NAMED) " more" } }
                    }
                }
            }
        }
    }
}

fn title(code: &str) -> Option<&'static str> {
    ALL.iter().find(|e| e.code == code).map(|e| e.title)
}

/// The one sentence if all agree, otherwise the general explanation.
fn explanation<'a>(group: &Group<'a>) -> &'a str {
    match group.messages[..] {
        [only] => only,
        _ => ALL.iter().find(|e| e.code == group.code).map_or("", |e| e.text),
    }
}
