//! An analysis as JSON, schema `counterpoise/analysis` version 1, and its rows as comma-separated values.

use serde_json::{Value, json};

use super::findings::{by_importance, interval, matters};
use super::tree::{Node, Question};
use super::{Analysis, findings, ranks};

/// The whole analysis. The same input gives the same bytes.
///
/// ```
#[doc = include_str!("example.txt")]
/// let text = modeler::analysis::analysis_json(&found);
/// assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok() && text.contains("threads"));
/// ```
#[must_use]
pub fn analysis_json(analysis: &Analysis) -> String {
    let metric = &analysis.table.columns[analysis.metric];
    let tested = analysis.tree.is_test.iter().filter(|&&t| t).count();
    let (lower, upper) = interval(analysis.tree.accuracy, tested);
    let correlations = ranks::correlations(analysis);
    let file = json!({
        "schema": "counterpoise/analysis",
        "schema_version": 1,
        "tool_version": env!("CARGO_PKG_VERSION"),
        "seed": analysis.seed,
        "metric": metric.name,
        "unit": metric.unit,
        "rows": analysis.table.rows(),
        "findings": findings(analysis),
        "notes": analysis.notes,
        "left_out": analysis.left_out.iter().map(|l| json!({"run": l.run, "reason": l.reason})).collect::<Vec<_>>(),
        "categories": categories(analysis),
        "factors": by_importance(analysis).into_iter().map(|f| factor(analysis, f, correlations[f])).collect::<Vec<_>>(),
        "forest": {"trees": analysis.forest.trees, "out_of_bag_accuracy": analysis.forest.accuracy, "mcnemar": analysis.forest.certainty},
        "tree": {
            "test_rows": tested,
            "accuracy": {"value": analysis.tree.accuracy, "lower": lower, "upper": upper, "level": 0.95},
            "baseline_accuracy": analysis.tree.baseline,
            "confusion": analysis.tree.confusion,
            "nodes": analysis.tree.tree.nodes.iter().map(|n| node(analysis, n)).collect::<Vec<_>>(),
        },
    });
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    text
}

fn categories(analysis: &Analysis) -> Value {
    let found = &analysis.categories;
    json!({
        "rule": found.rule,
        "scale": if found.is_logarithmic { "log" } else { "linear" },
        "bandwidth": found.density.as_ref().map(|d| d.bandwidth),
        "labels": found.labels,
        "rows": found.counts(),
        "borders": found.borders,
        "peaks": found.peaks,
    })
}

fn factor(analysis: &Analysis, factor: usize, correlation: Option<f64>) -> Value {
    let importance = &analysis.forest.importance[factor];
    json!({
        "name": analysis.table.columns[analysis.factors[factor]].name,
        "same_as": analysis.same[factor].iter().map(|&column| &analysis.table.columns[column].name).collect::<Vec<_>>(),
        "matters": matters(analysis, factor),
        "permutation_importance": importance.permutation,
        "permutation_deviation": importance.deviation,
        "permutation_error": importance.error,
        "impurity_importance": importance.impurity,
        "tree_importance": analysis.tree.importance[factor],
        "rank_correlation": correlation,
    })
}

fn node(analysis: &Analysis, node: &Node) -> Value {
    let mut entry = json!({"rows": node.counts, "impurity": node.impurity, "category": analysis.categories.labels[node.category()]});
    if let Some(split) = &node.split {
        let (question, value) = match &split.question {
            Question::AtMost(x) => ("at_most", json!(x)),
            Question::Is(text) => ("is", json!(text)),
        };
        let factor = &analysis.table.columns[analysis.factors[split.factor]].name;
        entry["split"] = json!({"factor": factor, question: value, "yes": split.yes, "no": split.no});
    }
    entry
}

/// The rows that took part, normalised where that was asked, with their category, the one that the tree names, and whether the tree was
/// tested on the row: `category`, `predicted_category` and `part`, each behind `analysis.` as often as the table has such a column.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(modeler::analysis::analysis_csv(&found).lines().count(), 1 + 40); // the header, and the runs
/// ```
#[must_use]
pub fn analysis_csv(analysis: &Analysis) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let shown = analysis.shown();
    let names = shown.columns.iter().map(|c| c.name.clone());
    let is_taken = |name: &str| shown.columns.iter().any(|c| c.name == name);
    let added = ["category", "predicted_category", "part"].map(|name| {
        (0..).map(|times| "analysis.".repeat(times) + name).find(|name| !is_taken(name)).unwrap_or_default()
    });
    let labels = &analysis.categories.labels;
    let row = |row: usize| {
        let part = if analysis.tree.is_test[row] { "test" } else { "training" };
        let cells = shown.columns.iter().map(move |c| c.cell(row));
        let (category, predicted) = (analysis.categories.of[row], analysis.tree.predicted[row]);
        cells.chain([labels[category].clone(), labels[predicted].clone(), part.to_owned()]).collect::<Vec<_>>()
    };
    // Writing to memory does not fail.
    let _ = writer.write_record(names.chain(added));
    for r in 0..shown.rows() {
        let _ = writer.write_record(row(r));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
