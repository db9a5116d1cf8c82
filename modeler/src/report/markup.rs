//! Pieces of markup that several parts of the page share: paths, points, growth, tables, bars.

use maud::{Markup, html};

use super::Table;
use super::quantity::{coordinate, percent};
use crate::experiment::{CallPathId, Experiment};
use crate::words;

/// Paths of more callers are shown with the first and the last of them; what shows them has the whole path as its title, and
/// the call tree has all.
const MOST_CALLERS: usize = 12;
const FIRST_CALLERS: usize = 2;
const LAST_CALLERS: usize = 5;

/// The path with its last name first in weight: callers are faint.
pub(crate) fn path(experiment: &Experiment, callpath: CallPathId) -> Markup {
    chain(&experiment.path(callpath))
}

/// As [`path`], with long argument lists left out.
pub(crate) fn short_path(experiment: &Experiment, callpath: CallPathId) -> Markup {
    let names: Vec<String> = experiment.path(callpath).into_iter().map(shortened).collect();
    chain(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Callers, of many only some, and the last name.
fn chain(names: &[&str]) -> Markup {
    let Some((last, callers)) = names.split_last() else { return html! {} };
    let hidden = if callers.len() > MOST_CALLERS { callers.len() - FIRST_CALLERS - LAST_CALLERS } else { 0 };
    html! {
        @for (i, caller) in callers.iter().enumerate() {
            @if hidden > 0 && i == FIRST_CALLERS { span.caller { "… " (hidden) " callers … → " wbr; } }
            @if hidden == 0 || i < FIRST_CALLERS || i >= FIRST_CALLERS + hidden {
                span.caller { (breakable(caller)) " → " wbr; }
            }
        }
        span { (breakable(last)) }
    }
}

/// Argument lists of more characters are left out where room is short.
const LONG_ARGUMENTS: usize = 16;

/// A name whose argument list, if that is long, is `(…)`: `void f(…) const`.
pub(crate) fn shortened(name: &str) -> String {
    let end = name.strip_suffix(" const").unwrap_or(name).len();
    let mut depth = 0_usize;
    let opening = name[..end].char_indices().rev().find(|(_, c)| {
        match c {
            ')' => depth += 1,
            '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    match opening {
        // A name that is one bracket, such as `(code of libm.so.6)`, has no arguments.
        Some((at, '(')) if at > 0 && name[at + 1..end - 1].chars().count() > LONG_ARGUMENTS => {
            format!("{}(…){}", &name[..at], &name[end..])
        }
        _ => name.to_owned(),
    }
}

/// `1 point`, `25 points`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    words::counted(count, what, &format!("{what}s"))
}

/// Words of more characters may be broken anywhere: linker names have hundreds.
const LONG: usize = 40;

/// A name that a line may end in only behind `::`, a bracket, a comma or an operator, never inside a word.
pub(crate) fn breakable(name: &str) -> Markup {
    html! {
        @for (i, piece) in pieces(name).into_iter().enumerate() {
            @if i > 0 { wbr; }
            @if piece.chars().count() > LONG { span.long { (piece) } } @else { (piece) }
        }
    }
}

/// `a::b<c, d>(e&)` as `a::`, `b<`, `c, `, `d>(`, `e&)`.
fn pieces(name: &str) -> Vec<&str> {
    let is_mark = |c: char| "<>,()[]{}&*+-=|/:;→ ".contains(c);
    let mut pieces = Vec::new();
    let (mut start, mut before) = (0, false);
    for (at, c) in name.char_indices() {
        // A bracket that opens a name stays with it.
        if before && !is_mark(c) && !name[start..at].chars().all(is_mark) {
            pieces.push(&name[start..at]);
            start = at;
        }
        before = is_mark(c);
    }
    pieces.push(&name[start..]);
    pieces
}

/// `p = 64, n = 3200`, each pair on one line.
pub(crate) fn at(parameters: &[String], point: &[f64]) -> String {
    let pairs = parameters.iter().zip(point).map(|(name, &x)| format!("{name}\u{a0}=\u{a0}{}", coordinate(x)));
    pairs.collect::<Vec<_>>().join(", ")
}

/// A bar as long as the share, and the share.
pub(crate) fn share_bar(share: f64) -> Markup {
    html! {
        span.bar aria-hidden="true" { span style=(format!("width:{:.1}%", 100.0 * share.clamp(0.0, 1.0))) {} }
        span.value { (percent(share)) }
    }
}

/// A caller's table; columns of numbers are aligned to the right.
pub(crate) fn data_table(table: &Table) -> Markup {
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

/// A cell of a caller's table; functions of parameters are set as such.
fn cell_text(cell: &str) -> Markup {
    if !cell.contains("log2(") && !cell.contains('^') {
        return html! { (cell) };
    }
    sum(cell)
}

/// Summands, each set as a formula.
pub(crate) fn sum(text: &str) -> Markup {
    html! {
        @for (i, term) in text.split(" + ").enumerate() {
            @if i > 0 { " + " wbr; }
            (formula(term))
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
                // A line may end before and behind a factor, not within.
                "log" sub { "2" } @if !exponent.is_empty() { sup { (exponent) } } "\u{a0}" (argument)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_argument_lists_are_left_out() {
        let of = |name: &str| shortened(name);
        assert_eq!(of("void f(const double*, int (*)(int), Domain&) const"), "void f(…) const");
        assert_eq!(of("(anonymous namespace)::g(const double*, const double*)"), "(anonymous namespace)::g(…)");
        for whole in [
            "int main(int, char**)",
            "(a long name in brackets)::g",
            "(code of the library libm.so.6)",
            "!$omp for @x.cc:12",
            "",
            ")",
            "µ)",
        ] {
            assert_eq!(of(whole), whole);
        }
    }

    #[test]
    fn of_many_callers_some_are_shown_and_the_others_counted() {
        let names: Vec<String> = (0..40).map(|i| format!("f{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = |markup: Markup| {
            let html = markup.into_string();
            html.split('<').filter_map(|tag| Some(tag.split_once('>')?.1)).collect::<String>()
        };
        assert_eq!(text(chain(&names)), "f0 → f1 → … 32 callers … → f34 → f35 → f36 → f37 → f38 → f39");
        let few = text(chain(&names[..13]));
        assert_eq!(few.matches('→').count(), 12, "{few}");
        assert_eq!(text(chain(&names[..1])), "f0");
    }

    #[test]
    fn names_break_at_marks_and_never_inside_words() {
        assert_eq!(
            pieces("ns::Solver<double>::solve(Domain&, int)"),
            ["ns::", "Solver<", "double>::", "solve(", "Domain&, ", "int)"]
        );
        assert_eq!(pieces("MPI_Allreduce"), ["MPI_Allreduce"]);
        assert_eq!(pieces("operator->*"), ["operator->*"]);
        assert_eq!(pieces("(anonymous namespace)::solve"), ["(anonymous ", "namespace)::", "solve"]);
        assert_eq!(pieces(""), [""]);
        let text = breakable("a::b").into_string();
        assert_eq!(text, "a::<wbr>b");
        let long = breakable(&"x".repeat(41)).into_string();
        assert!(long.starts_with("<span class=\"long\">"), "{long}");
    }
}
