//! The result of a validation as one page without a network: the tables, and figures 4 and 5 as drawings.

use std::fmt::Write as _;

use modeler::report::Table;

use super::result::Outcome;
use super::score::{Group, Tally, Way};
use super::text::{self, sections};
use super::times::{LEVELS, Pattern};

/// Size of a drawing and of its margins.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 40.0;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;\
background:#fff}h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.2rem}table{border-collapse:collapse;margin:.8rem 0;\
font-size:.85rem}th,td{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #d8dee4;\
font-variant-numeric:tabular-nums}.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(22rem,1fr));gap:1rem}\
figure{margin:0}figcaption{font-weight:600;font-size:.9rem}svg{width:100%;height:auto}text{font-size:11px;fill:#57606a}\
.effort{stroke:#0969da;fill:#0969da}.time{stroke:#cf4a22;fill:#cf4a22}.thin{stroke-width:1;opacity:.35;fill:none}\
.thick{stroke-width:2.5;fill:none}.grid{stroke:#d8dee4}";

/// A line of a drawing.
struct Curve {
    way: Way,
    /// One of several patterns, or the mean over them.
    is_mean: bool,
    points: Vec<(usize, f64)>,
}

/// One drawing.
struct Drawing {
    title: String,
    /// Labels along the horizontal axis, equally spaced.
    labels: Vec<String>,
    along: &'static str,
    curves: Vec<Curve>,
}

/// The page.
pub fn html(outcome: &Outcome) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Validation</title><style>{STYLE}</style></head><body>\
         <h1>Models of generated functions against the truth</h1>"
    );
    for (title, intro, tables) in sections(outcome) {
        let _ = write!(page, "<h2>{}</h2>", escaped(title));
        intro.lines().for_each(|line| {
            let _ = write!(page, "<p>{}</p>", escaped(line));
        });
        let drawings = match title {
            title if title.contains("figure 4") => noise(outcome),
            title if title.contains("figure 5") => repetitions(outcome),
            _ => Vec::new(),
        };
        if !drawings.is_empty() {
            page.push_str("<div class=\"figures\">");
            drawings.iter().for_each(|d| page.push_str(&d.svg()));
            page.push_str("</div>");
        }
        tables.iter().for_each(|t| page.push_str(&table(t)));
    }
    page.push_str("<h2>Call paths whose effort model deviates</h2>");
    page.push_str(&table(&misses(outcome)));
    page.push_str("</body></html>\n");
    page
}

fn misses(outcome: &Outcome) -> Table {
    let header = ["call path", "exponents of the truth", "effort model", "times alone"];
    let is_miss = |row: &&super::result::Row| {
        row.scores.get(&Way::Effort).and_then(Option::as_ref).is_none_or(|score| !score.is_right())
    };
    let cells = |row: &super::result::Row| {
        let truth: Vec<String> = row.truth.iter().map(|(name, exponent)| format!("{name}: {exponent}")).collect();
        let model = |way| {
            let score = row.scores.get(&way).and_then(Option::as_ref);
            score.map_or_else(|| "no model".into(), |s| s.expression.clone())
        };
        vec![row.callpath[1..].join(" → "), truth.join(", "), model(Way::Effort), model(Way::Time)]
    };
    Table {
        header: header.map(str::to_owned).to_vec(),
        rows: outcome.callpaths.iter().filter(is_miss).map(cells).collect(),
    }
}

/// The quantities of the paper's panels.
type Quantity = (&'static str, fn(&Tally) -> Option<f64>);
const QUANTITIES: [Quantity; 2] = [
    ("mean exponent deviation", |tally| Some(tally.mean_deviation())),
    ("mean relative error in %", Tally::mean_error),
];

/// Figure 4: one drawing per quantity and kind.
fn noise(outcome: &Outcome) -> Vec<Drawing> {
    let levels: Vec<u32> = [0].into_iter().chain(LEVELS).collect();
    let curve = |group, way, pattern, quantity: fn(&Tally) -> Option<f64>| -> Vec<(usize, f64)> {
        let at = |level: u32| if level == 0 { (Pattern::None, 0) } else { (pattern, level) };
        let value = |level: &u32| text::tally(&outcome.noise, group, way, &at(*level)).and_then(quantity);
        levels.iter().enumerate().filter_map(|(i, level)| Some((i, value(level)?))).collect()
    };
    let patterns = || Pattern::ALL.into_iter().skip(1);
    panels(|group, quantity| {
        let mut curves = Vec::new();
        for way in [Way::Time, Way::Effort] {
            let all: Vec<Vec<(usize, f64)>> = patterns().map(|p| curve(group, way, p, quantity)).collect();
            curves.push(Curve { way, is_mean: true, points: mean(&all) });
            curves.extend(all.into_iter().map(|points| Curve { way, is_mean: false, points }));
        }
        (levels.iter().map(|level| format!("{level} %")).collect(), "noise", curves)
    })
}

/// Figure 5, likewise.
fn repetitions(outcome: &Outcome) -> Vec<Drawing> {
    let counts: Vec<usize> = (1..=outcome.repetitions as usize).collect();
    panels(|group, quantity| {
        let curve = |way| {
            let value = |count: &usize| text::tally(&outcome.fewer_repetitions, group, way, count).and_then(quantity);
            let points = counts.iter().enumerate().filter_map(|(i, count)| Some((i, value(count)?))).collect();
            Curve { way, is_mean: true, points }
        };
        (counts.iter().map(usize::to_string).collect(), "repetitions", [Way::Time, Way::Effort].map(curve).into())
    })
}

fn panels(
    mut of: impl FnMut(Group, fn(&Tally) -> Option<f64>) -> (Vec<String>, &'static str, Vec<Curve>),
) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    for group in Group::ALL {
        for (name, quantity) in QUANTITIES {
            let (labels, along, curves) = of(group, quantity);
            drawings.push(Drawing { title: format!("{}: {name}", capitalised(group.name())), labels, along, curves });
        }
    }
    drawings
}

fn capitalised(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

/// The mean of curves over the same places.
fn mean(curves: &[Vec<(usize, f64)>]) -> Vec<(usize, f64)> {
    let longest = curves.iter().map(Vec::len).max().unwrap_or(0);
    let at = |i: usize| {
        let values: Vec<f64> = curves.iter().flatten().filter(|p| p.0 == i).map(|p| p.1).collect();
        (!values.is_empty()).then(|| (i, values.iter().sum::<f64>() / values.len() as f64))
    };
    (0..longest).filter_map(at).collect()
}

impl Drawing {
    fn svg(&self) -> String {
        let values = self.curves.iter().flat_map(|c| &c.points).map(|p| p.1);
        let top = round_up(values.fold(0.0, f64::max));
        let across = |i: usize| LEFT + (WIDTH - LEFT - RIGHT) * i as f64 / (self.labels.len().max(2) - 1) as f64;
        let up = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top;
        let mut svg = format!(
            "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escaped(&self.title),
            escaped(&self.title)
        );
        for step in 0..=4 {
            let value = top * f64::from(step) / 4.0;
            let y = up(value);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                short(value)
            );
        }
        for (i, label) in self.labels.iter().enumerate() {
            let (x, y) = (across(i), HEIGHT - BOTTOM + 15.0);
            let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>", escaped(label));
        }
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 8.0,
            self.along
        );
        for curve in &self.curves {
            let points: Vec<String> =
                curve.points.iter().map(|&(i, value)| format!("{:.1},{:.1}", across(i), up(value))).collect();
            let class = if curve.way == Way::Effort { "effort" } else { "time" };
            let width = if curve.is_mean { "thick" } else { "thin" };
            let _ = write!(
                svg,
                "<polyline class=\"{class} {width}\" style=\"fill:none\" points=\"{}\"/>",
                points.join(" ")
            );
        }
        for (way, class, x) in [(Way::Effort, "effort", LEFT), (Way::Time, "time", LEFT + 110.0)] {
            let _ = write!(
                svg,
                "<line class=\"{class} thick\" x1=\"{x}\" x2=\"{}\" y1=\"11\" y2=\"11\"/><text x=\"{}\" y=\"15\">{}</text>",
                x + 18.0,
                x + 24.0,
                way.name()
            );
        }
        svg.push_str("</svg></figure>");
        svg
    }
}

/// The next of 1, 2 and 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|&top| top >= value).unwrap_or(10.0 * power)
}

fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn table(table: &Table) -> String {
    let row = |tag: &str, cells: &[String]| {
        cells.iter().fold(String::from("<tr>"), |row, cell| row + &format!("<{tag}>{}</{tag}>", escaped(cell)))
            + "</tr>"
    };
    let rows: String = table.rows.iter().map(|cells| row("td", cells)).collect();
    format!("<table><thead>{}</thead><tbody>{rows}</tbody></table>", row("th", &table.header))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers_and_text_is_escaped() {
        assert_eq!([0.0, 0.013, 3.0, 50.0, 51.0].map(round_up), [1.0, 0.02, 5.0, 50.0, 100.0]);
        assert_eq!(escaped("a<b>&\""), "a&lt;b&gt;&amp;&quot;");
        assert_eq!(mean(&[vec![(0, 1.0), (1, 2.0)], vec![(0, 3.0)]]), [(0, 2.0), (1, 2.0)]);
    }
}
