//! One plot: measured points, the model with its interval, a second model and held-out points, along one parameter.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::axis::Axis;
use super::quantity::{number, quantity};
use crate::model::Model;

/// Size in the units of the drawing.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 42.0;
/// Places at which curves are evaluated.
const STEPS: usize = 64;

/// What a plot shows.
pub(crate) struct Plot<'a> {
    /// Name of the parameter along the horizontal axis, and its index.
    pub parameter: (&'a str, usize),
    /// Coordinates that hold what does not vary.
    pub fixed: Vec<f64>,
    /// Unit of the values.
    pub unit: &'a str,
    /// The model.
    pub model: &'a Model,
    /// The second model.
    pub second: Option<&'a Model>,
    /// Nominal probability of the band.
    pub level: f64,
    /// Measured values by the parameter's value.
    pub measured: Vec<(f64, f64)>,
    /// Measurements that no model has seen.
    pub held_out: Vec<(f64, f64)>,
    /// Up to where the curves go.
    pub until: f64,
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
        let ends = [self.until, self.lowest_x()];
        let x = Axis::over(known().map(|&(x, _)| x).chain(ends), false)?;
        let places = [self.lowest_x(), self.largest_x(), self.until];
        let curve = places.map(|x| self.model.at(&self.coordinates(x)));
        let highest = curve.into_iter().chain(known().map(|&(_, y)| y)).fold(0.0, f64::max);
        // A very wide interval is cut off rather than pressing everything else to the ground.
        let band = places.map(|x| self.model.predict(&self.coordinates(x), self.level).upper.min(3.0 * highest));
        let positive = curve.into_iter().chain(band).filter(|&y| y > 0.0);
        let y = Axis::over(known().map(|&(_, y)| y).chain(positive).collect::<Vec<_>>().into_iter(), true)?;
        Some(Frame { x: x.padded(0.05), y: y.padded(0.08) })
    }

    fn lowest_x(&self) -> f64 {
        self.measured.iter().map(|&(x, _)| x).fold(self.until, f64::min)
    }

    fn largest_x(&self) -> f64 {
        self.measured.iter().map(|&(x, _)| x).fold(f64::NEG_INFINITY, f64::max)
    }

    fn coordinates(&self, x: f64) -> Vec<f64> {
        let mut coordinates = self.fixed.clone();
        coordinates[self.parameter.1] = x;
        coordinates
    }

    /// Places along the axis between the lowest measured value and the end of the curves.
    fn steps(&self, frame: &Frame) -> Vec<f64> {
        let until = self.held_out.iter().map(|&(x, _)| x).fold(self.until, f64::max);
        let (from, to) = (frame.x.place(self.lowest_x()), frame.x.place(until));
        (0..=STEPS).map(|i| frame.x.value(from + (to - from) * i as f64 / STEPS as f64)).collect()
    }

    fn draw(&self, frame: &Frame, id: &str) -> Markup {
        let steps = self.steps(frame);
        let (inside, beyond): (Vec<f64>, Vec<f64>) = steps.iter().partition(|&&x| x <= self.largest_x());
        // The extrapolation starts where the measured range ends.
        let beyond: Vec<f64> = inside.last().copied().into_iter().chain(beyond).collect();
        let along = |model: &Model, xs: &[f64]| {
            frame.path(xs.iter().map(|&x| (x, model.at(&self.coordinates(x)))).filter(|(_, y)| y.is_finite()))
        };
        html! {
            svg.plot viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.description) {
                clipPath id=(id) {
                    rect x=(LEFT) y=(TOP) width=(WIDTH - LEFT - RIGHT) height=(HEIGHT - TOP - BOTTOM) {}
                }
                (self.beyond_measured(frame))
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
        let intervals = steps.iter().map(|&x| (x, self.model.predict(&self.coordinates(x), self.level)));
        let finite: Vec<_> = intervals.filter(|(_, p)| p.lower.is_finite() && p.upper.is_finite()).collect();
        let upper = finite.iter().map(|(x, p)| (*x, p.upper));
        let lower = finite.iter().rev().map(|(x, p)| (*x, p.lower));
        let mut path = frame.path(upper.chain(lower));
        path.push_str(if path.is_empty() { "" } else { "Z" });
        path
    }

    /// A tint over what lies beyond the largest measured value.
    fn beyond_measured(&self, frame: &Frame) -> Markup {
        let (start, _) = frame.at(self.largest_x(), 1.0);
        let end = WIDTH - RIGHT;
        if !start.is_finite() || start >= end - 1.0 {
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
            @for tick in frame.y.ticks() {
                @let (_, y) = frame.at(1.0, tick);
                line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(format!("{y:.1}")) y2=(format!("{y:.1}")) {}
                text x=(LEFT - 7.0) y=(format!("{:.1}", y + 3.8)) text-anchor="end" { (tick_label(tick, self.unit)) }
            }
            @for tick in self.x_ticks(frame) {
                @let (x, _) = frame.at(tick, 1.0);
                line.tick x1=(format!("{x:.1}")) x2=(format!("{x:.1}")) y1=(bottom) y2=(bottom + 4.0) {}
                text x=(format!("{x:.1}")) y=(bottom + 17.0) text-anchor="middle" { (number(tick)) }
            }
            line.axis x1=(LEFT) x2=(WIDTH - RIGHT) y1=(bottom) y2=(bottom) {}
            text.name x=(format!("{:.1}", (LEFT + WIDTH - RIGHT) / 2.0)) y=(HEIGHT - 6.0) text-anchor="middle" { (self.parameter.0) }
        }
    }

    /// Measured and held-out values of the parameter, and the end; those that would overlap are left out.
    fn x_ticks(&self, frame: &Frame) -> Vec<f64> {
        let held_out = self.held_out.iter().map(|&(x, _)| x);
        let mut ticks: Vec<f64> = self.measured.iter().map(|&(x, _)| x).chain(held_out).chain([self.until]).collect();
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
fn tick_label(value: f64, unit: &str) -> String {
    let text = quantity(value, unit);
    let (digits, unit) = text.split_once(' ').map_or((text.as_str(), ""), |(d, u)| (d, u));
    let (mantissa, exponent) = digits.split_once('e').map_or((digits, String::new()), |(m, e)| (m, format!("e{e}")));
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    format!("{mantissa}{exponent} {unit}").trim_end().to_owned()
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
