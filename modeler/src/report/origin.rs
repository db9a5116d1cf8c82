//! Where the shape of a model comes from: measured effort, the cost model of an MPI operation, or the modelled measurements
//! themselves.

use super::quantity::shape;
use crate::experiment::Experiment;
use crate::expression::format_shape;
use crate::fit::Fits;
use crate::model::{Kind, Method, Model, Role};
use crate::priors::Operation;

/// The metrics that gave the shape, and `cost model` where that of an MPI operation had a part in it: `basic_blocks`,
/// `visits, bytes_sent, cost model`; the modelled metric itself where the shape was searched in its measurements.
///
/// ```
/// use modeler::report::origin;
/// # let of = |cost: fn(f64) -> f64| {
/// #     let mut text = "PARAMETER p\nPOINTS 2 4 8 16 32\nREGION solve\nMETRIC visits\n".to_owned();
/// #     [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| text += &format!("DATA {}\n", cost(p)));
/// #     let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default()).unwrap().experiment;
/// #     let fits = modeler::fit(&experiment, &Default::default());
/// #     (experiment, fits)
/// # };
/// let (experiment, fits) = of(|p| 4.0 * p);
/// assert_eq!(origin(&experiment, &fits.models[0]), "visits"); // its own measurements
/// ```
#[must_use]
pub fn origin(experiment: &Experiment, model: &Model) -> String {
    let mut parts = metrics(experiment, model);
    if has_cost_model(model) {
        parts.push("cost model");
    }
    parts.join(", ")
}

/// The same in a phrase for the page.
pub(crate) fn phrase(experiment: &Experiment, model: &Model) -> String {
    let effort = metrics(experiment, model).join(", ");
    match model.method {
        Method::Time => "shape searched in the measurements".into(),
        Method::Effort if has_cost_model(model) => {
            format!("shape from effort: {effort}; and from the cost model of {}", operation(experiment, model))
        }
        Method::Effort => format!("shape from effort: {effort}"),
    }
}

/// What each part of an MPI operation's shape comes from, in a sentence; nothing where its cost model had no part in it.
///
/// `log2(p) is the start-up of messages in the cost model of MPI_Allreduce, times visits, measured as constant`
pub(crate) fn parts(experiment: &Experiment, fits: &Fits, model: &Model) -> Option<String> {
    let named = [
        (Role::Latency, "the start-up of messages"),
        (Role::Bandwidth, "the moving of data"),
        (Role::Reduction, "the combining of data"),
        (Role::Waiting, "waiting for other ranks"),
    ];
    let part = |(role, what): (Role, &str)| {
        let mut shapes: Vec<String> = Vec::new();
        for term in shown(model).filter(|t| t.role == role) {
            let text = format_shape(term, &experiment.parameters);
            if !shapes.contains(&text) {
                shapes.push(text);
            }
        }
        if shapes.is_empty() {
            return None;
        }
        let (shapes, metric) = (shapes.join(" + "), counted(experiment, model, role));
        let measured =
            growth_of(experiment, fits, model, metric).map_or(String::new(), |g| format!(", measured as {g}"));
        Some(match role {
            Role::Waiting => format!("{shapes} is {what}, from {metric}{measured}"),
            _ => format!(
                "{shapes} is {what} in the cost model of {}, times {metric}{measured}",
                operation(experiment, model)
            ),
        })
    };
    let parts: Vec<String> = named.into_iter().filter_map(part).collect();
    (has_cost_model(model) && !parts.is_empty()).then(|| format!("Where the shape comes from: {}.", parts.join("; ")))
}

/// The terms that the formula shows.
fn shown(model: &Model) -> impl Iterator<Item = &crate::model::Term> {
    model.terms.iter().filter(|t| t.coefficient != 0.0)
}

fn is_of_cost_model(role: Role) -> bool {
    matches!(role, Role::Latency | Role::Bandwidth | Role::Reduction)
}

fn has_cost_model(model: &Model) -> bool {
    model.method == Method::Effort
        && model.kind == Kind::Communication
        && shown(model).any(|t| is_of_cost_model(t.role))
}

fn operation<'a>(experiment: &'a Experiment, model: &Model) -> &'a str {
    &experiment.callpaths[model.callpath as usize].name
}

/// The metrics whose measurements gave the shape, each once.
fn metrics<'a>(experiment: &'a Experiment, model: &Model) -> Vec<&'a str> {
    let name = |id: u32| experiment.metrics[id as usize].name.as_str();
    match (model.method, model.effort_metric) {
        (Method::Time, _) => vec![name(model.metric)],
        (Method::Effort, _) if has_cost_model(model) => {
            let mut found: Vec<&str> = Vec::new();
            for term in shown(model) {
                let metric = counted(experiment, model, term.role);
                if !found.contains(&metric) {
                    found.push(metric);
                }
            }
            found
        }
        (Method::Effort, Some(id)) => vec![name(id)],
        (Method::Effort, None) => vec!["effort"],
    }
}

/// The metric behind the terms of a role.
fn counted<'a>(experiment: &'a Experiment, model: &Model, role: Role) -> &'a str {
    let own = model.effort_metric.map_or("effort", |id| experiment.metrics[id as usize].name.as_str());
    match role {
        Role::Latency => "visits",
        Role::Bandwidth | Role::Reduction if !own.starts_with("bytes") => {
            Operation::named(operation(experiment, model)).map_or(own, |operation| operation.bytes.name())
        }
        Role::Waiting => "logical_wait",
        _ => own,
    }
}

/// The growth of the model of `metric` at the same call path, if it has one.
fn growth_of(experiment: &Experiment, fits: &Fits, model: &Model, metric: &str) -> Option<String> {
    let first = fits.models.partition_point(|m| m.callpath < model.callpath);
    let mut same = fits.models[first..].iter().take_while(|m| m.callpath == model.callpath);
    let of_metric = same.find(|m| experiment.metrics[m.metric as usize].name == metric)?;
    Some(shape(&experiment.parameters, of_metric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};
    use crate::{Options, fit};

    /// `main -> MPI_Allreduce`, called 10 times with 8 n bytes each, and `main -> work`.
    fn check(check: impl Fn(&Experiment, &Fits, &Model, &Model)) {
        let mut builder = ExperimentBuilder::new(["p", "n"]);
        let mut metric =
            |name: &str, unit: &str| builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks: None });
        let [time, visits, bytes, blocks] =
            [("time", "s"), ("visits", ""), ("bytes_sent", "bytes"), ("basic_blocks", "")].map(|(n, u)| metric(n, u));
        let (reduce, work) = (builder.callpath(["main", "MPI_Allreduce"]), builder.callpath(["main", "work"]));
        for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0] {
            for n in [1e3, 2e3, 4e3, 8e3, 16e3] {
                let point = builder.point(&[p, n]);
                builder.add(reduce, visits, point, 10.0);
                builder.add(reduce, bytes, point, 80.0 * n);
                builder.add(reduce, time, point, 10.0 * 4e-5 * p.log2() + 1e-9 * 80.0 * n);
                builder.add(work, blocks, point, 7.0 * n);
                builder.add(work, time, point, 7e-9 * n);
            }
        }
        let experiment = builder.finish();
        let fits = fit(&experiment, &Options::default());
        let of = |callpath, metric| fits.models.iter().find(|m| (m.callpath, m.metric) == (callpath, metric)).unwrap();
        check(&experiment, &fits, of(reduce, time), of(work, time));
    }

    #[test]
    fn logarithms_of_collectives_are_the_cost_models() {
        check(|experiment, fits, reduce, work| {
            assert_eq!(origin(experiment, reduce), "visits, bytes_sent, cost model");
            assert_eq!(
                phrase(experiment, reduce),
                "shape from effort: visits, bytes_sent; and from the cost model of MPI_Allreduce"
            );
            let told = parts(experiment, fits, reduce).unwrap();
            let start = "Where the shape comes from: log2(p) is the start-up of messages in the cost model of MPI_Allreduce, times visits, measured as constant";
            assert!(told.contains(start), "{told}");
            assert!(told.contains("; n is the moving of data"), "{told}");
            assert!(told.contains("times bytes_sent, measured as n"), "{told}");
            assert_eq!(origin(experiment, work), "basic_blocks");
            assert_eq!(parts(experiment, fits, work), None);
        });
    }
}
