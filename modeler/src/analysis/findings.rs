//! What an analysis found, in sentences for people who have never seen a tree.

use super::ranks::trends;
use super::tree::{Question, Split, Tree};
use super::{Analysis, Values};
use crate::noise::normal_distribution;
use crate::predict::quantile;
use crate::report::quantity;

/// A forest of factors that explain nothing seems better than always naming the most frequent category, by so many standard
/// deviations, once in twenty times.
const BEYOND_CHANCE: f64 = 1.645;

/// A factor of which that cannot be said is plain by so many of its own errors.
const PLAIN: f64 = 4.0;

/// A factor that explains nothing may seem to in so many tables, if it is the only one; several share that, so that each has to be the surer.
const BY_CHANCE: f64 = 0.023;

/// Whether the factor makes a difference: without it, more than one row in a hundred and more than one row at all would be
/// named wrongly, beyond what chance does to the shuffles and to the rows, and either
/// the forest names more of them right than chance would or the factor is plain.
pub(crate) fn matters(analysis: &Analysis, factor: usize) -> bool {
    let importance = &analysis.forest.importance[factor];
    let least = (1.0 / analysis.table.rows() as f64).max(0.01);
    let deviations = quantile(1.0 - BY_CHANCE / analysis.factors.len() as f64, normal_distribution);
    let error = importance.deviation.max(importance.error);
    // Factors that explain nothing may spoil a forest, in which one that does is plain all the same.
    let is_beyond = analysis.forest.certainty > BEYOND_CHANCE || importance.permutation > PLAIN * error;
    importance.permutation > least && importance.permutation > deviations * error && is_beyond
}

/// Factors from the one that matters most.
pub(crate) fn by_importance(analysis: &Analysis) -> Vec<usize> {
    let mut order: Vec<usize> = (0..analysis.factors.len()).collect();
    let of = |f: usize| analysis.forest.importance[f].permutation;
    order.sort_by(|&a, &b| of(b).total_cmp(&of(a)));
    order
}

/// The answer in whole sentences: what explains the metric, where it is highest and lowest, and how far to trust that.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert!(modeler::analysis::findings(&found).iter().any(|sentence| sentence.contains("threads")));
/// ```
#[must_use]
pub fn findings(analysis: &Analysis) -> Vec<String> {
    let metric = &analysis.table.columns[analysis.metric];
    let mut said = vec![explained(analysis)];
    if by_importance(analysis).iter().any(|&f| matters(analysis, f)) {
        let ordered = matches!(metric.values, Values::Numbers(_));
        if ordered {
            said.extend(
                [("highest", analysis.categories.labels.len() - 1), ("lowest", 0)]
                    .map(|(what, c)| place(analysis, what, c))
                    .into_iter()
                    .flatten(),
            );
        }
    }
    said.push(trust(analysis));
    said
}

/// Which factors explain the metric.
fn explained(analysis: &Analysis) -> String {
    let metric = &analysis.table.columns[analysis.metric].name;
    let name = |f: &usize| {
        let of = |column: &usize| analysis.table.columns[*column].name.clone();
        let same: Vec<String> = analysis.same[*f].iter().map(of).collect();
        let with = if same.is_empty() { String::new() } else { format!(" (and with it {})", list(&same)) };
        of(&analysis.factors[*f]) + &with
    };
    let order = by_importance(analysis);
    let (matter, others): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|&f| matters(analysis, f));
    let trends = trends(analysis);
    let (ordered, others): (Vec<usize>, Vec<usize>) = others.into_iter().partition(|&f| trends[f].is_some());
    let rises = |f: &usize| {
        let rho = trends[*f].unwrap_or_default();
        format!("{} with {} ({rho:.2})", if rho > 0.0 { "rises" } else { "falls" }, name(f))
    };
    let ordered: Vec<String> = ordered.iter().map(rises).collect();
    let loss = |f: &usize| format!("{:.0}", 100.0 * analysis.forest.importance[*f].permutation);
    let rest = if others.is_empty() {
        String::new()
    } else {
        let names: Vec<String> = others.iter().map(name).collect();
        let verb = if names.len() == 1 { "makes" } else { "make" };
        format!(" {} {verb} no difference that these rows could show.", list(&names))
    };
    // What the forest does not see in few rows, or not apart from other factors.
    let also = match ordered.is_empty() {
        true => String::new(),
        false => format!(" It also {}, by rank correlations at equal other factors.", list(&ordered)),
    };
    match matter.split_first() {
        None if !ordered.is_empty() => format!(
            "{metric} {}, by rank correlations at equal other factors; the categories of these rows do not show it.{rest}",
            list(&ordered)
        ),
        // One in a thousand tables of chance would seem to be explained.
        None if analysis.forest.certainty > 3.0 => {
            let usual =
                analysis.categories.counts().into_iter().max().unwrap_or(0) as f64 / analysis.table.rows() as f64;
            format!(
                "The factors together explain {metric}: a forest of them puts {:.0} of 100 rows that it has not seen into the right category, \
                 where the most frequent one is right for {:.0}. None of them explains it alone, or what one of them says the others say as well: {}.",
                100.0 * analysis.forest.accuracy,
                100.0 * usual,
                list(&others.iter().map(name).collect::<Vec<_>>())
            )
        }
        None => format!("None of the factors explains {metric}:{}", rest.trim_end_matches('.').to_owned() + "."),
        Some((first, more)) => {
            let then = more.iter().map(|f| format!(", then {} ({})", name(f), loss(f))).collect::<String>();
            let unit =
                format!("without it {} rows in 100 would be put into the wrong category of {metric}", loss(first));
            format!(
                "{metric} is explained {} by {} ({unit}){then}.{also}{rest}",
                if more.is_empty() { "" } else { "above all" },
                name(first)
            )
            .replace("explained  by", "explained by")
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(names: &[String]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.join(""),
    }
}

/// Where the metric is in `category`: those conditions on the way to the leaf that holds most of its rows that decide it.
fn place(analysis: &Analysis, what: &str, category: usize) -> Option<String> {
    let tree = &analysis.tree.tree;
    let metric = &analysis.table.columns[analysis.metric].name;
    let leaves =
        (0..tree.nodes.len()).filter(|&i| tree.nodes[i].split.is_none() && tree.nodes[i].category() == category);
    let leaf = leaves.max_by_key(|&i| (tree.nodes[i].counts[category], std::cmp::Reverse(i)))?;
    let steps = decisive(analysis, way(tree, leaf), category);
    let conditions = conditions(analysis, &steps);
    // What is asked of factors that make no difference is chance.
    if conditions.is_empty() || steps.iter().any(|(split, _)| !matters(analysis, split.factor)) {
        return None;
    }
    let there = (0..analysis.table.rows()).filter(|&row| !analysis.tree.is_test[row] && leads(analysis, &steps, row));
    let (rows, hits) = there.fold((0, 0_usize), |(rows, hits), row| {
        (rows + 1, hits + usize::from(analysis.categories.of[row] == category))
    });
    // One row is no place.
    if rows < 2 {
        return None;
    }
    let label = analysis.categories.labels[category].split_once(": ").map_or("", |(_, range)| range);
    Some(format!(
        "{metric} is {what} ({label}) where {}: {hits} of the {rows} rows there that the tree was learnt from.",
        conditions.join(" and ")
    ))
}

/// A split on the way to a leaf, and whether the way goes on at yes.
type Step<'a> = (&'a Split, bool);

/// The splits on the way from the root to a node.
fn way(tree: &Tree, node: usize) -> Vec<Step<'_>> {
    let parents = tree.parents();
    let mut steps = Vec::new();
    let mut at = node;
    while let Some((above, is_yes)) = parents[at] {
        steps.extend(tree.nodes[above].split.as_ref().map(|split| (split, is_yes)));
        at = above;
    }
    steps.reverse();
    steps
}

/// Whether a row answers all of these questions so.
fn leads(analysis: &Analysis, steps: &[Step], row: usize) -> bool {
    steps.iter().all(|(split, is_yes)| {
        let answer = match (&split.question, &analysis.table.columns[analysis.factors[split.factor]].values) {
            (Question::AtMost(x), Values::Numbers(values)) => values[row] <= *x,
            (Question::Is(text), Values::Texts(texts)) => texts[row] == *text,
            _ => false,
        };
        answer == *is_yes
    })
}

/// The steps without those that decide nothing: all rows that answer the others so are put into `category` by the tree, whatever
/// they answer here. Factors that matter least go first.
fn decisive<'a>(analysis: &Analysis, mut steps: Vec<Step<'a>>, category: usize) -> Vec<Step<'a>> {
    let others = |row: &usize| analysis.tree.predicted[*row] != category;
    let others: Vec<usize> = (0..analysis.table.rows()).filter(others).collect();
    for factor in by_importance(analysis).into_iter().rev() {
        for i in (0..steps.len()).rev().filter(|&i| steps[i].0.factor == factor).collect::<Vec<_>>() {
            let step = steps.remove(i);
            if others.iter().any(|&row| leads(analysis, &steps, row)) {
                steps.insert(i, step);
            }
        }
    }
    steps
}

/// The conditions of some steps, those on one factor made one: `p > 8`, `host is node3`.
fn conditions(analysis: &Analysis, steps: &[Step]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for factor in 0..analysis.factors.len() {
        let column = &analysis.table.columns[analysis.factors[factor]];
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let (mut is, mut is_not): (Option<&str>, Vec<String>) = (None, Vec::new());
        for (split, is_yes) in steps.iter().filter(|(split, _)| split.factor == factor) {
            match (&split.question, is_yes) {
                (Question::AtMost(x), true) => high = high.min(*x),
                (Question::AtMost(x), false) => low = low.max(*x),
                (Question::Is(text), true) => is = Some(text),
                (Question::Is(text), false) => is_not.push(text.clone()),
            }
        }
        let (name, shown) = (&column.name, |x: f64| quantity(x, &column.unit));
        match (low.is_finite(), high.is_finite()) {
            (true, true) => said.push(format!("{} < {name} ≤ {}", shown(low), shown(high))),
            (true, false) => said.push(format!("{name} > {}", shown(low))),
            (false, true) => said.push(format!("{name} ≤ {}", shown(high))),
            (false, false) => {}
        }
        let mut left = column.levels().into_iter().filter(|level| !is_not.contains(level));
        let only = left.next().filter(|_| !is_not.is_empty() && left.next().is_none());
        match is.map(str::to_owned).or(only) {
            Some(text) => said.push(format!("{name} is {text}")),
            None if !is_not.is_empty() => said.push(format!("{name} is not {}", is_not.join(" or "))),
            None => {}
        }
    }
    said
}

/// What the two importances of a factor mean, for beside the table and the picture.
pub const IMPORTANCES: &str = "Permutation importance is by how much the share of rows in the right category falls when the factor's \
    values are shuffled, each row judged by the trees that have not seen it; ± is the standard deviation over 20 shuffles. About zero \
    means that the factor explains nothing. So does a value clearly below zero: asking for the factor misleads about rows that were not \
    seen, as where each combination of all factors was measured once, and shuffling it does less harm; the others are judged without \
    it. Impurity importance is the mean decrease in impurity, a share of one; it is never below zero and favours factors with many \
    values.";

/// How far the tree is to be trusted.
fn trust(analysis: &Analysis) -> String {
    let tested = analysis.tree.is_test.iter().filter(|&&t| t).count();
    let (low, high) = interval(analysis.tree.accuracy, tested);
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let learnt = analysis.tree.is_test.len() - tested;
    format!(
        "The tree was learnt from {learnt} rows. On the {tested} others, which it had not seen, it named the right one of {} categories for {} (95 % interval {} to {}); always naming the most frequent one gives {}.",
        analysis.categories.labels.len(),
        percent(analysis.tree.accuracy),
        percent(low),
        percent(high),
        percent(analysis.tree.baseline)
    )
}

/// Wilson's score interval at 95 %: Wilson, Probable inference, Journal of the American Statistical Association 22, 1927.
pub(crate) fn interval(share: f64, count: usize) -> (f64, f64) {
    if count == 0 {
        return (0.0, 1.0);
    }
    const Z: f64 = 1.959_964;
    let n = count as f64;
    let middle = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_wilsons() {
        // Newcombe, Statistics in Medicine 17, 1998, table I: 81 of 263 gives 0.2553 to 0.3662, 0 of 20 gives 0 to 0.1611.
        let (low, high) = interval(81.0 / 263.0, 263);
        assert!((low - 0.2553).abs() < 1e-4 && (high - 0.3662).abs() < 1e-4);
        let (low, high) = interval(0.0, 20);
        assert!(low == 0.0 && (high - 0.1611).abs() < 1e-4);
    }

    #[test]
    fn lists_read_as_people_write_them() {
        let names = |n: usize| ["a", "b", "c"][..n].iter().map(|&s| s.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            (list(&names(1)), list(&names(2)), list(&names(3))),
            ("a".into(), "a and b".into(), "a, b and c".into())
        );
    }
}
