//! A thread's timeline as a drawing: what happened per bin as curves, below them the regions of code, as figures 2 and 6 of
//! the paper show them. Curves may be smoothed by a median filter, which data never are.

use std::collections::HashMap;

use maud::{Markup, PreEscaped, html};

use super::names::PhaseNames;
use super::{Analysis, Timeline, Totals};
use crate::machine::classes::Class;
use crate::report::{plain, quantity};

const WIDTH: f64 = 940.0;
/// Left of the curves: names of functions, of which a letter takes some seven units and a wide one more, or numbers.
const LEFT: std::ops::RangeInclusive<f64> = 64.0..=210.0;
const LETTER: f64 = 7.4;
const RIGHT: f64 = 150.0;
/// Height of a panel of curves, and of the gap below it.
const PANEL: f64 = 130.0;
const GAP: f64 = 26.0;
/// Height of a function's row of regions.
const ROW: f64 = 19.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 40.0;
/// Height of a line of text below the axis.
const LINE: f64 = 16.0;
/// Characters of a function's name at most.
const NAME: usize = 30;
/// Points of a curve at most.
const POINTS: usize = 470;
/// Functions with a row of their own at most, those of the most bins.
const ROWS: usize = 14;
/// Colours that people with any colour vision tell apart (Okabe and Ito, Color universal design, 2008).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333"];
/// Rules for what is in the drawing alone: a page may hold other drawings beside it.
const STYLE: &str = ".timeline{background:#fff;font:12px system-ui,sans-serif;fill:#222}.timeline .grid{stroke:#ddd}\
                     .timeline .axis{stroke:#555}.timeline .curve{fill:none;stroke-width:1.4}.timeline .title{font-weight:600}";

/// A curve: its name, and for each point its place in bins and its value.
struct Curve {
    name: &'static str,
    colour: &'static str,
    points: Vec<(f64, f64)>,
}

/// Curves that share an axis.
struct Panel {
    title: String,
    curves: Vec<Curve>,
}

/// The median over a window of `width` bins around each, by which single outliers vanish and edges stay; at the ends the
/// window is shorter. For pictures only.
#[must_use]
pub fn median_filter(values: &[f64], width: usize) -> Vec<f64> {
    let half = width / 2;
    let median = |at: usize| {
        let mut window = values[at.saturating_sub(half)..(at + half + 1).min(values.len())].to_vec();
        window.sort_by(f64::total_cmp);
        let middle = window.len() / 2;
        if window.len() % 2 == 1 { window[middle] } else { 0.5 * (window[middle - 1] + window[middle]) }
    };
    (0..values.len()).map(median).collect()
}

impl Analysis {
    /// The timeline of one thread as a stand-alone SVG document, curves smoothed over `smooth` bins (1: not at all).
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(analysis.svg(&analysis.timelines[0], 1).starts_with("<svg "));
    /// ```
    #[must_use]
    pub fn svg(&self, timeline: &Timeline, smooth: usize) -> String {
        self.drawing(timeline, smooth).into_string() + "\n"
    }

    /// All timelines as one page that needs no network and no script.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(analysis.page("A run", 1).contains("rank 0, thread 0"));
    /// ```
    #[must_use]
    pub fn page(&self, title: &str, smooth: usize) -> String {
        const MOST: usize = 64;
        let text = self.human(true);
        let main = html! {
            @for timeline in self.timelines.iter().take(MOST) {
                section {
                    h2 { "rank " (timeline.rank) ", thread " (timeline.thread) }
                    // Wider than a narrow screen, on which it is moved sideways and stays readable.
                    div.scroll { (self.drawing(timeline, smooth)) }
                }
            }
            @if self.timelines.len() > MOST { p { (self.timelines.len() - MOST) " more threads are not drawn." } }
            @if let Some(told) = self.shared() { p.warning { (told) } }
            div.scroll { pre { (text.as_str()) } }
        };
        plain(title, text.lines().next().unwrap_or_default(), &main)
    }

    fn drawing(&self, timeline: &Timeline, smooth: usize) -> Markup {
        let panels = self.panels(timeline, smooth);
        let functions = rows(timeline);
        let regions_top = TOP + panels.len() as f64 * (PANEL + GAP);
        let regions_bottom = regions_top + ROW * functions.len().max(1) as f64;
        let names = PhaseNames::new(self, timeline, NAME);
        let told: Vec<String> =
            drawn_from(timeline, smooth).into_iter().chain(panels.iter().filter_map(Panel::cut_off)).collect();
        let height = regions_bottom + BOTTOM + LINE * told.len() as f64;
        let longest = functions.iter().map(|&function| names.function(function).chars().count()).max();
        let left = (longest.unwrap_or(0) as f64 * LETTER + 16.0).clamp(*LEFT.start(), *LEFT.end()).round();
        let scale = &self.scale(timeline, left);
        html! {
            svg.timeline xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {height}")) width=(WIDTH) height=(height) role="img" aria-label="Effort over time and the code that it belongs to" {
                style { (PreEscaped(STYLE)) }
                @for (i, panel) in panels.iter().enumerate() { (draw_panel(panel, TOP + i as f64 * (PANEL + GAP), scale)) }
                text.title x=(left) y=(format!("{:.1}", regions_top - 6.0)) { "code" }
                @for (row, &function) in functions.iter().enumerate() {
                    (draw_row(timeline, (function, self.name(function), names.function(function)), row, regions_top + ROW * row as f64, scale))
                }
                @if functions.is_empty() { text x=(left + 8.0) y=(format!("{:.1}", regions_top + 14.0)) { "no phases were found" } }
                (self.axis(timeline, regions_bottom, scale))
                @for (below, told) in told.iter().rev().enumerate() {
                    text x=(left) y=(format!("{:.1}", height - 4.0 - LINE * below as f64)) { (told) }
                }
            }
        }
    }

    fn axis(&self, timeline: &Timeline, bottom: f64, scale: &Scale) -> Markup {
        let passed = self.passed(timeline);
        let bins = timeline.bins.len();
        // Where the axis says something: its place, and how much had passed then.
        let ticks = (0..=4).map(|i| {
            let part = f64::from(i) / 4.0;
            match self.is_to_scale(&passed) {
                true => (scale.left + (WIDTH - scale.left - RIGHT) * part, part * passed[bins]),
                false => {
                    let bin = (bins.max(1) as f64 * part).round();
                    (scale.x(bin), passed[(bin as usize).min(bins)])
                }
            }
        });
        let ticks: Vec<(f64, f64)> = ticks.collect();
        html! {
            line.axis x1=(scale.left) x2=(WIDTH - RIGHT) y1=(bottom) y2=(bottom) {}
            @for (x, passed) in ticks {
                line.axis x1=(format!("{x:.1}")) x2=(format!("{x:.1}")) y1=(bottom) y2=(bottom + 4.0) {}
                text x=(format!("{x:.1}")) y=(bottom + 17.0) text-anchor="middle" { (self.passed_text(passed)) }
            }
            text x=(0.5 * (scale.left + WIDTH - RIGHT)) y=(bottom + 33.0) text-anchor="middle" { (self.unit_label()) }
        }
    }

    /// What stands at a tick of the axis.
    fn passed_text(&self, passed: f64) -> String {
        match self.unit {
            poise_profile::BinUnit::Time => quantity(passed / 1e9, "s"),
            _ => quantity(passed, ""),
        }
    }

    /// How much of what bins are made of has passed before each bin, and in all: the last bin is shorter than the others, and
    /// those of other tools may all differ.
    fn passed(&self, timeline: &Timeline) -> Vec<f64> {
        let sums = timeline.bins.iter().scan(0.0, |sum, bin| {
            *sum += bin.totals.of(self.unit) as f64;
            Some(*sum)
        });
        std::iter::once(0.0).chain(sums).collect()
    }

    /// Whether bins are drawn as wide as they are: those of gem5 are as long as its user's dumps. Our own are alike but for the first
    /// and the last, and a long way to `main` would leave no room for what follows.
    fn is_to_scale(&self, passed: &[f64]) -> bool {
        self.engine == "gem5" && passed.last().is_some_and(|all| *all > 0.0)
    }

    fn scale(&self, timeline: &Timeline, left: f64) -> Scale {
        let passed = self.passed(timeline);
        let bins = timeline.bins.len().max(1);
        let edges = match self.is_to_scale(&passed) {
            true => passed.iter().map(|edge| edge / passed[bins]).collect(),
            false => (0..=bins).map(|edge| edge as f64 / bins as f64).collect(),
        };
        Scale { edges, left }
    }

    fn unit_label(&self) -> &'static str {
        match self.unit {
            poise_profile::BinUnit::Blocks => "basic blocks executed",
            poise_profile::BinUnit::Instructions => "instructions executed",
            poise_profile::BinUnit::Time => "time",
        }
    }

    /// What is drawn: instruction classes where there are any, else calls, bytes and times, and blocks where bins have not the same of them. A first bin of another width than the
    /// others has no point in curves.
    fn panels(&self, timeline: &Timeline, smooth: usize) -> Vec<Panel> {
        let (before, alike) = timeline.alike();
        let curve = |name: &'static str, of: &dyn Fn(&Totals) -> f64| {
            let values: Vec<f64> = alike.iter().map(|bin| of(&bin.totals)).collect();
            Curve { name, colour: COLOURS[0], points: thinned(before, &median_filter(&values, smooth)) }
        };
        let mut panels = Vec::new();
        if self.has_classes() {
            let share = |class: Class| {
                move |t: &Totals| t.classes.map_or(0.0, |c| c[class as usize] as f64) / t.instructions.max(1) as f64
            };
            let of = |class: Class| curve(class.name(), &share(class));
            let memory = [Class::ScalarLoad, Class::VectorLoad, Class::ScalarStore, Class::VectorStore].map(of);
            panels.push(Panel { title: "loads and stores per instruction".into(), curves: memory.into() });
            let compute = [Class::Fp, Class::SimdFp, Class::Int, Class::SimdInt, Class::Branch].map(of);
            panels.push(Panel { title: "operations per instruction".into(), curves: compute.into() });
            let turns = curve("turns", &|t| t.turns as f64 / t.instructions.max(1) as f64);
            panels.push(Panel {
                title: "branches that do other than the time before, per instruction".into(),
                curves: vec![turns],
            });
        } else {
            let calls = curve("calls", &|t| t.visits as f64);
            panels.push(Panel { title: "calls per bin".into(), curves: vec![calls] });
        }
        let squashed = curve("squashed", &|t| t.squashed as f64 / t.instructions.max(1) as f64);
        panels.push(Panel { title: "squashed instructions per instruction".into(), curves: vec![squashed] });
        // Of bins that became one the number is not known; a curve with zeros in its place would be wrong.
        let is_known = alike.iter().all(|bin| bin.totals.lines.is_some());
        let lines = if is_known { vec![curve("lines", &|t| t.lines.unwrap_or(0) as f64)] } else { Vec::new() };
        let is_time = self.unit == poise_profile::BinUnit::Time;
        let blocks = if is_time { vec![curve("blocks", &|t| t.blocks as f64)] } else { Vec::new() };
        let waiting = curve("waiting", &|t| t.wait_time as f64 * 1e-3);
        // Of bins of equal time each has as much.
        let (times, title) = match is_time {
            true => (vec![Curve::nothing(), waiting], "waiting per bin [µs]"),
            false => (vec![curve("time", &|t| t.time as f64 * 1e-3), waiting], "time per bin [µs]"),
        };
        let optional: [(&str, Vec<Curve>); 4] = [
            ("basic blocks per bin", blocks),
            (
                "bytes per bin by MPI",
                vec![curve("sent", &|t| t.bytes_sent as f64), curve("received", &|t| t.bytes_received as f64)],
            ),
            (title, times),
            ("lines of memory per bin", lines),
        ];
        for (title, curves) in optional {
            if curves.iter().any(Curve::has_something) {
                panels.push(Panel { title: title.into(), curves });
            }
        }
        for panel in &mut panels {
            // The same thing has the same colour in all pictures, whatever else there is.
            panel.curves.iter_mut().zip(COLOURS).for_each(|(curve, colour)| curve.colour = colour);
            panel.curves.retain(Curve::has_something);
        }
        panels.retain(|panel| !panel.curves.is_empty());
        panels
    }
}

/// Points that a panel's scale must hold, as a part of those that are not zero: what a few do, such as the start of MPI, would leave the others flat.
const SHOWN: f64 = 0.98;
/// By how much others must be above these to be cut off.
const FAR: f64 = 4.0;

impl Panel {
    fn values(&self) -> impl Iterator<Item = f64> {
        self.curves.iter().flat_map(|curve| &curve.points).map(|&(_, value)| value)
    }

    /// The largest value that the scale has room for: the largest of all, unless a few are far above the others. There the largest that
    /// is not far above.
    fn highest(&self) -> f64 {
        let mut values: Vec<f64> = self.values().filter(|&value| value > 0.0).collect();
        values.sort_by(f64::total_cmp);
        let Some(&last) = values.last() else { return f64::MIN_POSITIVE };
        // Few points have no 2 % to leave out.
        let most = values[((values.len() as f64 * SHOWN) as usize).min(values.len() - 1)];
        if last <= FAR * most { last } else { values.into_iter().rfind(|&value| value <= FAR * most).unwrap_or(last) }
    }

    /// What is cut off, for people.
    fn cut_off(&self) -> Option<String> {
        let highest = self.highest();
        let above: Vec<f64> = self.values().filter(|&value| value > highest).collect();
        let largest = above.iter().copied().reduce(f64::max)?;
        let points = if above.len() == 1 { "one point is" } else { &format!("{} points are", above.len()) };
        Some(format!("{}: {points} above the scale, up to {}.", self.title, quantity(largest, "")))
    }
}

impl Curve {
    /// What keeps the colour of one that is not drawn.
    fn nothing() -> Self {
        Self { name: "", colour: COLOURS[0], points: Vec::new() }
    }

    fn has_something(&self) -> bool {
        self.points.iter().any(|&(_, value)| value > 0.0)
    }
}

/// What a point of a curve stands for, where that is not one bin, and which bin has none; a line each.
fn drawn_from(timeline: &Timeline, smooth: usize) -> Vec<String> {
    let (before, alike) = timeline.alike();
    let mean = match each(alike.len()) {
        1 => None,
        each => Some(format!("each point is the mean of {each} bins, which lowers peaks")),
    };
    let median = (smooth > 1).then(|| format!("medians over {smooth} bins"));
    let curves: Vec<String> = median.into_iter().chain(mean).collect();
    let curves = (!curves.is_empty())
        .then(|| format!("Of {} bins curves show: {}.", alike.len(), curves.join(", and of these ")));
    let apart = (before > 0).then(|| "Bin 0, before main, is as wide as that is and in no curve.".to_owned());
    apart.into_iter().chain(curves).collect()
}

/// From bins to places.
struct Scale {
    /// Where each bin begins, and the last one ends, as parts of the drawing's width.
    edges: Vec<f64>,
    /// Where the first one begins.
    left: f64,
}

impl Scale {
    fn x(&self, bin: f64) -> f64 {
        let last = self.edges.len() - 1;
        let (from, to) = ((bin.floor() as usize).min(last), (bin.ceil() as usize).min(last));
        let part = self.edges[from] + (self.edges[to] - self.edges[from]) * bin.fract();
        self.left + (WIDTH - self.left - RIGHT) * part
    }
}

/// The regions of a function, which has a name and a short one.
fn draw_row(
    timeline: &Timeline,
    (function, name, short): (u32, &str, &str),
    row: usize,
    top: f64,
    scale: &Scale,
) -> Markup {
    let colour = COLOURS[row % COLOURS.len()];
    html! {
        text x=(scale.left - 8.0) y=(format!("{:.1}", top + 13.0)) text-anchor="end" { (short) title { (name) } }
        @for phase in timeline.phases.iter().filter(|p| p.function == function) {
            @let (from, to) = (scale.x(phase.bins.start as f64), scale.x(phase.bins.end as f64));
            rect x=(format!("{from:.1}")) y=(format!("{:.1}", top + 2.0)) width=(format!("{:.1}", (to - from).max(1.0))) height=(ROW - 4.0) fill=(colour) {
                title { (name) ": bins " (phase.bins.start) " to " (phase.bins.end - 1) }
            }
        }
    }
}

fn draw_panel(panel: &Panel, top: f64, scale: &Scale) -> Markup {
    let highest = panel.highest();
    let y = |value: f64| top + PANEL * (1.0 - (value / highest).min(1.0));
    let path = |curve: &Curve| {
        let point = |(i, &(bin, value)): (usize, &(f64, f64))| {
            let letter = if i == 0 { 'M' } else { 'L' };
            format!("{letter}{:.1} {:.1}", scale.x(bin), y(value))
        };
        curve.points.iter().enumerate().map(point).collect::<String>()
    };
    html! {
        text.title x=(scale.left) y=(format!("{:.1}", top - 6.0)) { (panel.title) }
        @for part in [0.0, 0.5, 1.0] {
            @let at = y(part * highest);
            line.grid x1=(scale.left) x2=(WIDTH - RIGHT) y1=(format!("{at:.1}")) y2=(format!("{at:.1}")) {}
            text x=(scale.left - 8.0) y=(format!("{:.1}", at + 4.0)) text-anchor="end" { (quantity(part * highest, "")) }
        }
        @for (i, curve) in panel.curves.iter().enumerate() {
            @let colour = curve.colour;
            @let label = top + 12.0 + 17.0 * i as f64;
            path.curve stroke=(colour) d=(path(curve)) {}
            line x1=(WIDTH - RIGHT + 10.0) x2=(WIDTH - RIGHT + 28.0) y1=(label - 4.0) y2=(label - 4.0) stroke=(colour) stroke-width="2.5" {}
            text x=(WIDTH - RIGHT + 34.0) y=(label) { (curve.name.replace('_', " ")) }
        }
    }
}

/// The functions with phases, those of the most bins, in the order in which they first appear.
fn rows(timeline: &Timeline) -> Vec<u32> {
    let mut functions: Vec<(u32, usize)> = Vec::new();
    let mut index: HashMap<u32, usize> = HashMap::new();
    for phase in &timeline.phases {
        let at = *index.entry(phase.function).or_insert(functions.len());
        match functions.get_mut(at) {
            Some((_, bins)) => *bins += phase.bins.len(),
            None => functions.push((phase.function, phase.bins.len())),
        }
    }
    let mut most: Vec<usize> = functions.iter().map(|f| f.1).collect();
    most.sort_unstable_by(|a, b| b.cmp(a));
    let least = most.get(ROWS - 1).copied().unwrap_or(0);
    functions.into_iter().filter(|f| f.1 >= least).map(|f| f.0).take(ROWS).collect()
}

/// Of how many bins a point of a curve is the mean.
fn each(bins: usize) -> usize {
    bins.div_ceil(POINTS).max(1)
}

/// At most [`POINTS`] means of values that follow each other, each with the middle of its bins, of which so many stand before.
fn thinned(before: usize, values: &[f64]) -> Vec<(f64, f64)> {
    let each = each(values.len());
    let mean = |(i, chunk): (usize, &[f64])| {
        let count = chunk.len() as f64;
        ((before + i * each) as f64 + 0.5 * count, chunk.iter().sum::<f64>() / count)
    };
    values.chunks(each).enumerate().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::Bin;

    #[test]
    fn a_spike_is_cut_off_and_told_and_a_phase_is_not() {
        let panel = |values: &[f64]| Panel {
            title: "µs per bin".into(),
            curves: vec![Curve {
                name: "time",
                colour: COLOURS[0],
                points: values.iter().enumerate().map(|(i, &value)| (i as f64, value)).collect(),
            }],
        };
        let mut values = vec![14_130.0];
        values.extend((0..99).map(|i| 10.0 + f64::from(i % 3)));
        assert_eq!(panel(&values).highest(), 12.0);
        assert_eq!(panel(&values).cut_off().unwrap(), "µs per bin: one point is above the scale, up to 14130.");
        // Five of a hundred are no exception.
        values[..5].fill(14_130.0);
        assert_eq!((panel(&values).highest(), panel(&values).cut_off()), (14_130.0, None));
        // Neither is one of five.
        assert_eq!(panel(&[0.0, 9.0, 1.0, 1.0, 1.0]).highest(), 9.0);
    }

    /// Values as `scipy.signal.medfilt` gives them inside; at the ends it pads with zeros, which invents data.
    #[test]
    fn the_median_filter_removes_outliers_and_keeps_edges() {
        let values = [1.0, 1.0, 9.0, 1.0, 1.0, 5.0, 5.0, 5.0, 0.0, 5.0];
        assert_eq!(median_filter(&values, 3), [1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0, 2.5]);
        assert_eq!(median_filter(&values, 1), values);
        assert_eq!(median_filter(&[], 5), [0.0f64; 0]);
    }

    #[test]
    fn thinned_curves_keep_their_mean() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let thin = thinned(0, &values);
        assert!(thin.len() <= POINTS);
        // Three bins each, the last one alone.
        assert_eq!((thin[0], thin[1], thin[333]), ((1.5, 1.0), (4.5, 4.0), (999.5, 999.0)));
    }

    fn analysis(widths: &[u64]) -> Analysis {
        let bin = |&time: &u64| {
            let totals = Totals { time, instructions: 1, visits: 1, ..Totals::default() };
            Bin { totals, parts: Vec::new(), labels: Vec::new() }
        };
        Analysis {
            engine: "gem5".into(),
            unit: poise_profile::BinUnit::Time,
            width: widths.iter().sum::<u64>() / widths.len() as u64,
            thresholds: crate::phases::regions::Thresholds::default(),
            functions: Vec::new(),
            timelines: vec![Timeline {
                rank: 0,
                thread: 0,
                bins: widths.iter().map(bin).collect(),
                phases: Vec::new(),
                outside: std::collections::BTreeMap::new(),
                first_apart: false,
            }],
        }
    }

    /// The places of a drawing's points, as parts of the axis.
    fn places(svg: &str) -> Vec<f64> {
        let width = WIDTH - RIGHT - LEFT.start();
        let points = paths(svg)[0].split(['M', 'L']).skip(1);
        points.map(|point| (point.split(' ').next().unwrap().parse::<f64>().unwrap() - LEFT.start()) / width).collect()
    }

    /// The axis adds up what each bin holds: the first and the mean one say nothing of the others. gem5's are drawn as wide as they are,
    /// our own all alike.
    #[test]
    fn the_axis_is_that_of_all_bins() {
        let mut analysis = analysis(&[100, 200, 300, 400]);
        let labels = |svg: &str| -> Vec<String> {
            let texts = svg.split("text-anchor=\"middle\">").skip(1);
            texts.filter_map(|text| Some(text.split('<').next()?.to_owned())).collect()
        };
        let is_near =
            |found: Vec<f64>, expected: [f64; 4]| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-3);
        let svg = analysis.svg(&analysis.timelines[0], 1);
        assert_eq!(labels(&svg), ["0 s", "250 ns", "500 ns", "750 ns", "1 µs", "time"]);
        assert!(is_near(places(&svg), [0.05, 0.2, 0.45, 0.8]), "{:?}", places(&svg));
        assert!(!svg.contains("Of 4 bins"), "each bin is drawn");
        analysis.engine = "qemu".into();
        let svg = analysis.svg(&analysis.timelines[0], 1);
        assert_eq!(labels(&svg), ["0 s", "100 ns", "300 ns", "600 ns", "1 µs", "time"]);
        analysis.unit = poise_profile::BinUnit::Instructions;
        let svg = analysis.svg(&analysis.timelines[0], 1);
        assert_eq!(labels(&svg), ["0", "1", "2", "3", "4", "instructions executed"], "an instruction in each bin");
        analysis.unit = poise_profile::BinUnit::Time;
        assert!(is_near(places(&svg), [0.125, 0.375, 0.625, 0.875]), "{:?}", places(&svg));
        // Blocks are drawn where bins are of time, and not where each has as many.
        analysis.timelines[0].bins.iter_mut().for_each(|bin| bin.totals.blocks = 5);
        let svg = analysis.svg(&analysis.timelines[0], 1);
        assert!(svg.contains(">basic blocks per bin<") && svg.contains(">blocks<"), "{svg}");
        analysis.unit = poise_profile::BinUnit::Blocks;
        assert!(!analysis.svg(&analysis.timelines[0], 1).contains("basic blocks per bin"));
        // Without any time there is nothing to be drawn to.
        let analysis = self::analysis(&[0, 0]);
        assert!(!analysis.svg(&analysis.timelines[0], 1).contains("NaN"));
    }

    /// The paths of the drawing's curves.
    fn paths(svg: &str) -> Vec<&str> {
        svg.split("<path class=\"curve\"").skip(1).filter_map(|t| t.split("d=\"").nth(1)?.split('"').next()).collect()
    }

    #[test]
    fn a_first_bin_that_is_apart_is_in_no_curve_and_no_scale() {
        let mut analysis = analysis(&[9000, 2, 2, 1]);
        analysis.unit = poise_profile::BinUnit::Instructions;
        let (all, timeline) = (analysis.svg(&analysis.timelines[0], 1), &mut analysis.timelines[0]);
        timeline.first_apart = true;
        let apart = analysis.svg(&analysis.timelines[0], 1);
        let points = |svg: &str| paths(svg).iter().map(|path| path.matches(['M', 'L']).count()).collect::<Vec<_>>();
        // Calls, and the time.
        assert_eq!((points(&all), points(&apart)), (vec![4, 4], vec![3, 3]));
        let highest = "text-anchor=\"end\">9</text>";
        assert!(all.contains(highest) && !apart.contains(highest), "{all}");
        analysis.unit = poise_profile::BinUnit::Time;
        let apart = analysis.svg(&analysis.timelines[0], 1);
        assert!(apart.contains("Bin 0, before main, is as wide as that is and in no curve."));
        // What the axis adds up is all.
        assert!(apart.contains(">9.00 µs</text>"));
        let json: serde_json::Value = serde_json::from_str(&analysis.json()).unwrap();
        assert_eq!(json["timelines"][0]["first_width"], 9000);
        assert!(analysis.human(false).contains("Bin 0 is what ran before main, 9000 ns."));
    }

    #[test]
    fn curves_of_means_say_of_how_many_bins() {
        let analysis = analysis(&[7; 1000]);
        let svg = |smooth| analysis.svg(&analysis.timelines[0], smooth);
        assert!(svg(1).contains("Of 1000 bins curves show: each point is the mean of 3 bins"));
        assert!(svg(5).contains("medians over 5 bins, and of these each point is the mean of 3 bins"));
    }
}
