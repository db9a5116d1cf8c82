//! Plots: measured points, the model with its interval, a second model and held-out points along one parameter; and
//! effort against time. The page's script draws the same for call paths that the program does not draw.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::axis::Axis;
use super::quantity::{number, quantity};
use super::view::Slice;
use crate::model::Model;

/// Size in the units of the drawing.
pub(super) const WIDTH: f64 = 460.0;
pub(super) const HEIGHT: f64 = 270.0;
pub(super) const LEFT: f64 = 66.0;
const RIGHT: f64 = 14.0;
pub(super) const TOP: f64 = 12.0;
pub(super) const BOTTOM: f64 = 42.0;
/// Places at which curves are evaluated.
const STEPS: usize = 64;

/// What a plot shows.
pub(crate) struct Plot<'a> {
    /// Name of the parameter along the horizontal axis, and its index.
    pub parameter: (&'a str, usize),
    /// The line along the parameter.
    pub slice: &'a Slice,
    /// Unit of the values.
    pub unit: &'a str,
    /// The model.
    pub model: &'a Model,
    /// The second model.
    pub second: Option<&'a Model>,
    /// The ends of the interval relative to the model at the slice's places.
    pub band: &'a [(f64, f64)],
    /// The largest measured value below a change of the parameter, and the smallest above.
    pub change: Option<(f64, f64)>,
    /// Measured values by the parameter's value.
    pub measured: Vec<(f64, f64)>,
    /// Measurements that no model has seen.
    pub held_out: Vec<(f64, f64)>,
    /// What the plot shows, for people who cannot see it.
    pub description: String,
}

/// Both axes.
struct Frame {
    x: Axis,
    y: Axis,
}

impl Frame {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let across = LEFT + self.x.place(x) * (WIDTH - LEFT - RIGHT);
        // What lies outside is drawn just outside, where it is clipped.
        let up = self.y.place(y).clamp(-1.0, 2.0);
        (across, HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM))
    }

    fn path(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        for (x, y) in points {
            let (x, y) = self.at(x, y);
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
        }
        path
    }
}

impl Plot<'_> {
    /// The plot as SVG, or nothing where there is nothing finite to draw.
    pub fn svg(&self, id: &str) -> Markup {
        match self.frame() {
            Some(frame) => self.draw(&frame, id),
            None => html! { p.note { "There is nothing finite to draw." } },
        }
    }

    fn frame(&self) -> Option<Frame> {
        let known = || self.measured.iter().chain(&self.held_out);
        let ends = [self.slice.until, self.lowest_x()];
        let x = Axis::over(known().map(|&(x, _)| x).chain(ends), false)?;
        let places = [self.lowest_x(), self.largest_x(), self.slice.until];
        let curve = places.map(|x| self.model.at(&self.coordinates(x)));
        let highest = curve.into_iter().chain(known().map(|&(_, y)| y)).fold(0.0, f64::max);
        // A very wide interval is cut off rather than pressing everything else to the ground.
        let band = places.map(|x| self.interval(x).1.min(3.0 * highest));
        let positive = curve.into_iter().chain(band).filter(|&y| y > 0.0);
        let y = Axis::over(known().map(|&(_, y)| y).chain(positive).collect::<Vec<_>>().into_iter(), true)?;
        Some(Frame { x: x.padded(0.05), y: y.padded(0.08) })
    }

    fn lowest_x(&self) -> f64 {
        self.measured.iter().map(|&(x, _)| x).fold(self.slice.until, f64::min)
    }

    fn largest_x(&self) -> f64 {
        self.measured.iter().map(|&(x, _)| x).fold(f64::NEG_INFINITY, f64::max)
    }

    fn coordinates(&self, x: f64) -> Vec<f64> {
        let mut coordinates = self.slice.fixed.clone();
        coordinates[self.parameter.1] = x;
        coordinates
    }

    /// The ends of the interval at `x`: relative to the model they are interpolated between the slice's places, on
    /// logarithmic scales, and stay as they are beyond.
    fn interval(&self, x: f64) -> (f64, f64) {
        let value = self.model.at(&self.coordinates(x)).max(0.0);
        let places = &self.slice.places;
        let after = places.iter().position(|&place| place >= x).unwrap_or(places.len()).min(places.len().max(1) - 1);
        let before = after.max(1) - 1;
        let (Some(a), Some(b)) = (self.band.get(before), self.band.get(after)) else { return (value, value) };
        let (from, to) = (places[before], places[after]);
        let t = match () {
            () if to <= from => 1.0,
            () if from > 0.0 => ((x / from).ln() / (to / from).ln()).clamp(0.0, 1.0),
            () => ((x - from) / (to - from)).clamp(0.0, 1.0),
        };
        let between = |a: f64, b: f64| if a > 0.0 { a * (b / a).powf(t) } else { a + t * (b - a) };
        (value * between(a.0, b.0), value * between(a.1, b.1))
    }

    /// Places along the axis between the lowest measured value and the end of the curves; a change lies between two.
    fn steps(&self, frame: &Frame) -> Vec<f64> {
        let until = self.held_out.iter().map(|&(x, _)| x).fold(self.slice.until, f64::max);
        let (from, to) = (frame.x.place(self.lowest_x()), frame.x.place(until));
        let mut steps: Vec<f64> =
            (0..=STEPS).map(|i| frame.x.value(from + (to - from) * i as f64 / STEPS as f64)).collect();
        if let Some((below, above)) = self.change {
            steps.retain(|&x| x < below || x > above);
            steps.extend([below, above]);
            steps.sort_by(f64::total_cmp);
        }
        steps
    }

    /// The steps on either side of the change.
    fn pieces<'s>(&self, steps: &'s [f64]) -> Vec<&'s [f64]> {
        match self.change {
            None => vec![steps],
            Some((below, _)) => {
                let (lower, upper) = steps.split_at(steps.partition_point(|&x| x <= below));
                vec![lower, upper]
            }
        }
    }

    fn draw(&self, frame: &Frame, id: &str) -> Markup {
        let steps = self.steps(frame);
        let (inside, beyond): (Vec<f64>, Vec<f64>) = steps.iter().partition(|&&x| x <= self.largest_x());
        // The extrapolation starts where the measured range ends.
        let beyond: Vec<f64> = inside.last().copied().into_iter().chain(beyond).collect();
        let along = |model: &Model, xs: &[f64]| {
            let curve = |xs: &[f64]| {
                frame.path(xs.iter().map(|&x| (x, model.at(&self.coordinates(x)))).filter(|(_, y)| y.is_finite()))
            };
            self.pieces(xs).into_iter().map(curve).collect::<String>()
        };
        html! {
            svg.plot viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.description) {
                clipPath id=(id) {
                    rect x=(LEFT) y=(TOP) width=(WIDTH - LEFT - RIGHT) height=(HEIGHT - TOP - BOTTOM) {}
                }
                (self.beyond_measured(frame))
                (self.changing(frame))
                (self.grid(frame))
                g clip-path=(format!("url(#{id})")) {
                    path.band d=(self.band(frame, &steps)) {}
                    path.line d=(along(self.model, &inside)) {}
                    path.line.beyond d=(along(self.model, &beyond)) {}
                    @if let Some(second) = self.second {
                        path.second d=(along(second, &steps)) {}
                    }
                    @for &(x, y) in &self.measured {
                        @let (x, y) = frame.at(x, y);
                        circle.measured cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="3.2" {}
                    }
                    @for &(x, y) in &self.held_out {
                        @let (cx, cy) = frame.at(x, y);
                        path.held d=(diamond(cx, cy)) { title { "held out: " (quantity(y, self.unit)) } }
                    }
                }
            }
        }
    }

    fn band(&self, frame: &Frame, steps: &[f64]) -> String {
        let piece = |steps: &[f64]| {
            let intervals: Vec<_> = steps.iter().map(|&x| (x, self.interval(x))).collect();
            let upper = intervals.iter().map(|(x, interval)| (*x, interval.1));
            let lower = intervals.iter().rev().map(|(x, interval)| (*x, interval.0));
            let path = frame.path(upper.chain(lower).filter(|(_, y)| y.is_finite()));
            if path.is_empty() { path } else { path + "Z" }
        };
        self.pieces(steps).into_iter().map(piece).collect()
    }

    /// A tint between the two measured values that a change lies between.
    fn changing(&self, frame: &Frame) -> Markup {
        let Some((below, above)) = self.change else { return html! {} };
        let ((from, _), (to, _)) = (frame.at(below, 1.0), frame.at(above, 1.0));
        html! {
            rect.change x=(format!("{from:.1}")) y=(TOP) width=(format!("{:.1}", to - from)) height=(HEIGHT - TOP - BOTTOM) {}
            text.faint x=(format!("{:.1}", (from + to) / 2.0)) y=(TOP + 11.0) text-anchor="middle" { "change" }
        }
    }

    /// A tint over what lies beyond the largest measured value.
    fn beyond_measured(&self, frame: &Frame) -> Markup {
        let (start, _) = frame.at(self.largest_x(), 1.0);
        let end = WIDTH - RIGHT;
        let last = self.held_out.iter().map(|&(x, _)| x).fold(self.slice.until, f64::max);
        if !start.is_finite() || last <= self.largest_x() {
            return html! {};
        }
        html! {
            rect.extrapolated x=(format!("{start:.1}")) y=(TOP) width=(format!("{:.1}", end - start)) height=(HEIGHT - TOP - BOTTOM) {}
            text.faint x=(format!("{:.1}", end - 4.0)) y=(HEIGHT - BOTTOM - 7.0) text-anchor="end" { "not measured" }
        }
    }

    fn grid(&self, frame: &Frame) -> Markup {
        let bottom = HEIGHT - BOTTOM;
        html! {
            (rows(frame, self.unit))
            @for tick in self.x_ticks(frame) {
                @let (x, _) = frame.at(tick, 1.0);
                line.tick x1=(format!("{x:.1}")) x2=(format!("{x:.1}")) y1=(bottom) y2=(bottom + 4.0) {}
                text x=(format!("{x:.1}")) y=(bottom + 17.0) text-anchor="middle" { (number(tick)) }
            }
            (foot(self.parameter.0))
        }
    }

    /// Measured and held-out values of the parameter, and the end; those that would overlap are left out.
    fn x_ticks(&self, frame: &Frame) -> Vec<f64> {
        let held_out = self.held_out.iter().map(|&(x, _)| x);
        let mut ticks: Vec<f64> =
            self.measured.iter().map(|&(x, _)| x).chain(held_out).chain([self.slice.until]).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let mut kept: Vec<f64> = Vec::new();
        // From the right, because the end matters most.
        for &tick in ticks.iter().rev() {
            let room = 7.0 * number(tick).len() as f64 + 8.0;
            if kept.last().is_none_or(|&next| frame.at(next, 1.0).0 - frame.at(tick, 1.0).0 >= room) {
                kept.push(tick);
            }
        }
        kept
    }
}

/// A tick's value with its unit, without digits that say nothing.
pub(super) fn tick_label(value: f64, unit: &str) -> String {
    let text = quantity(value, unit);
    let (digits, unit) = text.split_once(' ').map_or((text.as_str(), ""), |(d, u)| (d, u));
    let (mantissa, exponent) = digits.split_once('e').map_or((digits, String::new()), |(m, e)| (m, format!("e{e}")));
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    format!("{mantissa}{exponent} {unit}").trim_end().to_owned()
}

/// Time over effort: one mark per measurement, and the line on which time is the same multiple of effort throughout.
pub(crate) struct Scatter<'a> {
    /// Name of the counted metric.
    pub effort: &'a str,
    /// Unit of the values.
    pub unit: &'a str,
    /// Effort and time of each measurement.
    pub measured: Vec<(f64, f64)>,
    /// The middle ratio of time to effort.
    pub ratio: f64,
    /// What the plot shows, for people who cannot see it.
    pub description: String,
}

impl Scatter<'_> {
    /// The plot as SVG, or nothing where there is nothing finite to draw.
    pub fn svg(&self, id: &str) -> Markup {
        let x = Axis::over(self.measured.iter().map(|m| m.0), false);
        let y = Axis::over(self.measured.iter().map(|m| m.1), true);
        match x.zip(y) {
            Some((x, y)) => self.draw(&Frame { x: x.padded(0.08), y: y.padded(0.08) }, id),
            None => html! {},
        }
    }

    fn draw(&self, frame: &Frame, id: &str) -> Markup {
        let ends = (0..=STEPS).map(|i| frame.x.value(i as f64 / STEPS as f64)).map(|x| (x, self.ratio * x));
        html! {
            svg.plot viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.description) {
                clipPath id=(id) {
                    rect x=(LEFT) y=(TOP) width=(WIDTH - LEFT - RIGHT) height=(HEIGHT - TOP - BOTTOM) {}
                }
                (rows(frame, self.unit))
                @for tick in frame.x.ticks() {
                    @let (x, _) = frame.at(tick, 1.0);
                    line.tick x1=(format!("{x:.1}")) x2=(format!("{x:.1}")) y1=(HEIGHT - BOTTOM) y2=(HEIGHT - BOTTOM + 4.0) {}
                    text x=(format!("{x:.1}")) y=(HEIGHT - BOTTOM + 17.0) text-anchor="middle" { (number(tick)) }
                }
                (foot(self.effort))
                g clip-path=(format!("url(#{id})")) {
                    path.line.proportional d=(frame.path(ends)) {}
                    @for &(x, y) in &self.measured {
                        @let (x, y) = frame.at(x, y);
                        circle.measured cx=(format!("{x:.1}")) cy=(format!("{y:.1}")) r="3.2" {}
                    }
                }
            }
        }
    }
}

/// Lines across at the ticks of the vertical axis.
fn rows(frame: &Frame, unit: &str) -> Markup {
    html! {
        @for tick in frame.y.ticks() {
            @let (_, y) = frame.at(1.0, tick);
            line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(format!("{y:.1}")) y2=(format!("{y:.1}")) {}
            text x=(LEFT - 7.0) y=(format!("{:.1}", y + 3.8)) text-anchor="end" { (tick_label(tick, unit)) }
        }
    }
}

/// The horizontal axis and what it is.
fn foot(name: &str) -> Markup {
    let bottom = HEIGHT - BOTTOM;
    html! {
        line.axis x1=(LEFT) x2=(WIDTH - RIGHT) y1=(bottom) y2=(bottom) {}
        text.name x=(format!("{:.1}", (LEFT + WIDTH - RIGHT) / 2.0)) y=(HEIGHT - 6.0) text-anchor="middle" { (name) }
    }
}

fn diamond(x: f64, y: f64) -> String {
    const R: f64 = 6.0;
    format!("M{:.1} {y:.1}L{x:.1} {:.1}L{:.1} {y:.1}L{x:.1} {:.1}Z", x - R, y - R, x + R, y + R)
}

/// What the marks of all plots mean; `second` is the label of the second model where any plot has one.
pub(crate) fn legend(level: f64, second: Option<&str>, held_out: bool) -> Markup {
    let key = |mark: &str| {
        let inner = format!("<svg class=\"key plot\" viewBox=\"0 0 30 14\" aria-hidden=\"true\">{mark}</svg>");
        PreEscaped(inner)
    };
    html! {
        ul.legend {
            li { (key("<circle class=\"measured\" cx=\"15\" cy=\"7\" r=\"3.2\"/>")) "one measured run" }
            li { (key("<path class=\"line\" d=\"M1 7H29\"/>")) "model" }
            li { (key("<path class=\"line beyond\" d=\"M1 7H29\"/>")) "model beyond the measured range" }
            li { (key("<rect class=\"band\" x=\"1\" y=\"1\" width=\"28\" height=\"12\"/>")) (format!("{:.0} % interval", 100.0 * level)) }
            @if let Some(label) = second {
                li { (key("<path class=\"second\" d=\"M1 7H29\"/>")) "model, " (label) }
            }
            @if held_out {
                li { (key(&format!("<path class=\"held\" d=\"{}\"/>", diamond(15.0, 7.0)))) "measured, but held out of the fit" }
            }
        }
    }
}
