//! A heat map: the model over two parameters as colours and contour lines, with what was measured in the same colours.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::axis::Axis;
use super::plot::{BOTTOM, HEIGHT, LEFT, TOP, WIDTH, tick_label};
use super::quantity::number;

/// Room for the key of the colours.
const RIGHT: f64 = 92.0;
/// Cells across and up.
const CELLS: (usize, usize) = (54, 34);
/// From low to high: cividis (Nuñez, Anderton and Renslow, Optimizing colormaps with consideration for color vision
/// deficiency, PLOS ONE 13, 2018), which people with and without colour vision deficiency order alike.
const COLOURS: [&str; 20] = [
    "#00224e", "#002c64", "#0c3470", "#273e6e", "#38476c", "#46516c", "#535a6d", "#5f636f", "#6b6d72", "#777776",
    "#828079", "#908b78", "#9c9576", "#aaa073", "#b8aa6e", "#c6b667", "#d4c15f", "#e4ce53", "#f2da44", "#fee838",
];

/// What a heat map shows.
pub(crate) struct Heat<'a> {
    /// Names of the parameters along both axes.
    pub names: (&'a str, &'a str),
    /// Smallest and largest value along both axes.
    pub ranges: [(f64, f64); 2],
    /// Largest measured values.
    pub measured_to: (f64, f64),
    /// Places and middle values of what was measured.
    pub measured: Vec<(f64, f64, f64)>,
    /// Unit of the values.
    pub unit: &'a str,
    /// What the plot shows, for people who cannot see it.
    pub description: String,
}

/// Both axes and that of the colours.
struct Frame {
    x: Axis,
    y: Axis,
    value: Axis,
}

impl Frame {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        inside(self.x.place(x), self.y.place(y))
    }

    fn colour(&self, value: f64) -> usize {
        let place = self.value.place(value);
        ((place * COLOURS.len() as f64).floor().max(0.0) as usize).min(COLOURS.len() - 1)
    }
}

/// From places between 0 and 1 to the drawing.
fn inside(x: f64, y: f64) -> (f64, f64) {
    (LEFT + x * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM))
}

impl Heat<'_> {
    /// The heat map of `f` as SVG, or nothing where there is nothing finite to draw.
    pub fn svg(&self, f: impl Fn(f64, f64) -> f64) -> Markup {
        match self.frame(&f) {
            Some(frame) => self.draw(&frame, &f),
            None => html! {},
        }
    }

    fn frame(&self, f: &impl Fn(f64, f64) -> f64) -> Option<Frame> {
        let axis = |(low, high): (f64, f64)| Axis::over([low, high].into_iter(), false).map(|a| a.padded(0.04));
        let (x, y) = (axis(self.ranges[0])?, axis(self.ranges[1])?);
        let corners = cells().map(|(i, j)| f(x.value(i), y.value(j))).filter(|v| v.is_finite());
        let values: Vec<f64> = corners.chain(self.measured.iter().map(|m| m.2)).collect();
        Some(Frame { x, y, value: Axis::over(values.into_iter(), false)? })
    }

    fn draw(&self, frame: &Frame, f: &impl Fn(f64, f64) -> f64) -> Markup {
        html! {
            svg.plot viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.description) {
                g shape-rendering="crispEdges" {
                    @for (colour, d) in areas(frame, f).iter().enumerate() {
                        @if !d.is_empty() { path fill=(COLOURS[colour]) d=(d) {} }
                    }
                }
                path.contour d=(contours(frame, f)) {}
                (self.measured_range(frame))
                @for &(x, y, value) in &self.measured {
                    @let (cx, cy) = frame.at(x, y);
                    circle.cell cx=(format!("{cx:.1}")) cy=(format!("{cy:.1}")) r="4.5" fill=(COLOURS[frame.colour(value)]) {}
                }
                (self.axes(frame))
                (self.key(frame))
            }
        }
    }

    /// A dashed line around what was measured.
    fn measured_range(&self, frame: &Frame) -> Markup {
        let (right, top) = frame.at(self.measured_to.0, self.measured_to.1);
        let ((left, bottom), (end, head)) = (inside(0.0, 0.0), inside(1.0, 1.0));
        let beyond = right < end - 12.0 || top > head + 12.0;
        let (right, top) = ((right + 7.0).min(end), (top - 7.0).max(head));
        html! { @if beyond { path.range d=(format!("M{left:.1} {top:.1}H{right:.1}V{bottom:.1}")) {} } }
    }

    fn axes(&self, frame: &Frame) -> Markup {
        let bottom = HEIGHT - BOTTOM;
        let (right, _) = inside(1.0, 0.0);
        html! {
            @for tick in frame.x.ticks() {
                @let (x, _) = frame.at(tick, 1.0);
                line.tick x1=(format!("{x:.1}")) x2=(format!("{x:.1}")) y1=(bottom) y2=(bottom + 4.0) {}
                text x=(format!("{x:.1}")) y=(bottom + 17.0) text-anchor="middle" { (number(tick)) }
            }
            @for tick in frame.y.ticks() {
                @let (_, y) = frame.at(1.0, tick);
                line.tick x1=(LEFT - 4.0) x2=(LEFT) y1=(format!("{y:.1}")) y2=(format!("{y:.1}")) {}
                text x=(LEFT - 7.0) y=(format!("{:.1}", y + 3.8)) text-anchor="end" { (number(tick)) }
            }
            text.name x=(format!("{:.1}", (LEFT + right) / 2.0)) y=(HEIGHT - 6.0) text-anchor="middle" { (self.names.0) }
            text.name transform=(format!("translate(14 {:.1}) rotate(-90)", (TOP + bottom) / 2.0)) text-anchor="middle" { (self.names.1) }
        }
    }

    /// Which colour is which value.
    fn key(&self, frame: &Frame) -> Markup {
        let left = WIDTH - RIGHT + 18.0;
        let height = (HEIGHT - TOP - BOTTOM) / COLOURS.len() as f64;
        html! {
            g shape-rendering="crispEdges" {
                @for (i, colour) in COLOURS.iter().enumerate() {
                    rect x=(left) y=(format!("{:.2}", HEIGHT - BOTTOM - (i as f64 + 1.0) * height)) width="12" height=(format!("{:.2}", height + 0.3)) fill=(colour) {}
                }
            }
            @for tick in frame.value.ticks() {
                @let (_, y) = inside(0.0, frame.value.place(tick));
                line.tick x1=(left + 12.0) x2=(left + 16.0) y1=(format!("{y:.1}")) y2=(format!("{y:.1}")) {}
                text x=(left + 19.0) y=(format!("{:.1}", y + 3.8)) { (tick_label(tick, self.unit)) }
            }
        }
    }
}

/// The centres of all cells.
fn cells() -> impl Iterator<Item = (f64, f64)> {
    (0..CELLS.1).flat_map(|j| (0..CELLS.0).map(move |i| (centre(i, CELLS.0), centre(j, CELLS.1))))
}

fn centre(i: usize, of: usize) -> f64 {
    (i as f64 + 0.5) / of as f64
}

/// By colour, the cells that have it; neighbours in a row are one rectangle.
fn areas(frame: &Frame, f: &impl Fn(f64, f64) -> f64) -> Vec<String> {
    let mut paths = vec![String::new(); COLOURS.len()];
    let (w, h) = ((WIDTH - LEFT - RIGHT) / CELLS.0 as f64, (HEIGHT - TOP - BOTTOM) / CELLS.1 as f64);
    for j in 0..CELLS.1 {
        let y = frame.y.value(centre(j, CELLS.1));
        let colours: Vec<usize> = (0..CELLS.0).map(|i| frame.colour(f(frame.x.value(centre(i, CELLS.0)), y))).collect();
        let mut start = 0;
        for i in 1..=CELLS.0 {
            if i == CELLS.0 || colours[i] != colours[start] {
                let (x, top) = (LEFT + start as f64 * w, HEIGHT - BOTTOM - (j as f64 + 1.0) * h);
                let width = (i - start) as f64 * w;
                let _ = write!(paths[colours[start]], "M{x:.1} {top:.1}h{width:.1}v{h:.1}h-{width:.1}z");
                start = i;
            }
        }
    }
    paths
}

/// Lines of equal value at the key's ticks, by marching squares over the corners of the cells.
fn contours(frame: &Frame, f: &impl Fn(f64, f64) -> f64) -> String {
    let place = |i: usize, j: usize| {
        let (x, y) = (i as f64 / CELLS.0 as f64, j as f64 / CELLS.1 as f64);
        (x, y, frame.value.place(f(frame.x.value(x), frame.y.value(y))))
    };
    let mut path = String::new();
    for tick in frame.value.ticks() {
        let level = frame.value.place(tick);
        for j in 0..CELLS.1 {
            for i in 0..CELLS.0 {
                let corners = [place(i, j), place(i + 1, j), place(i + 1, j + 1), place(i, j + 1)];
                for pair in crossings(&corners, level).chunks_exact(2) {
                    let _ = write!(path, "M{:.1} {:.1}L{:.1} {:.1}", pair[0].0, pair[0].1, pair[1].0, pair[1].1);
                }
            }
        }
    }
    path
}

/// Where a line of one value crosses the edges of a cell, in the drawing: none, two or four places.
fn crossings(corners: &[(f64, f64, f64); 4], level: f64) -> Vec<(f64, f64)> {
    let edge = |k: usize| {
        let (a, b) = (corners[k], corners[(k + 1) % 4]);
        let crosses = (a.2 < level) != (b.2 < level) && a.2.is_finite() && b.2.is_finite();
        let t = (level - a.2) / (b.2 - a.2);
        crosses.then(|| inside(a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1)))
    };
    (0..4).filter_map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contours_lie_where_the_function_has_their_value() {
        let heat = Heat {
            names: ("p", "n"),
            ranges: [(1.0, 64.0), (1.0, 64.0)],
            measured_to: (32.0, 32.0),
            measured: vec![(2.0, 2.0, 4.0)],
            unit: "",
            description: String::new(),
        };
        let f = |x: f64, y: f64| x * y;
        let frame = heat.frame(&f).unwrap();
        let path = contours(&frame, &f);
        let ticks = frame.value.ticks();
        assert!(path.len() > 1000 && ticks.len() > 2);
        for segment in path.split('M').skip(1) {
            for end in segment.split('L') {
                let (x, y) = end.split_once(' ').unwrap();
                let x = frame.x.value((x.parse::<f64>().unwrap() - LEFT) / (WIDTH - LEFT - RIGHT));
                let y = frame.y.value((HEIGHT - BOTTOM - y.parse::<f64>().unwrap()) / (HEIGHT - TOP - BOTTOM));
                assert!(ticks.iter().any(|t| (x * y / t - 1.0).abs() < 0.02), "{x} {y}");
            }
        }
    }

    #[test]
    fn areas_cover_the_plot_once() {
        let axis = |low: f64, high: f64| Axis::over([low, high].into_iter(), false).unwrap();
        let frame = Frame { x: axis(1.0, 16.0), y: axis(1.0, 16.0), value: axis(1.0, 256.0) };
        let mut covered = 0.0;
        for path in areas(&frame, &|x, y| x * y) {
            for run in path.split('M').skip(1) {
                let numbers = |from: char, to: char| -> f64 {
                    let start = run.find(from).unwrap() + 1;
                    run[start..start + run[start..].find(to).unwrap()].parse().unwrap()
                };
                covered += numbers('h', 'v') * numbers('v', 'h');
            }
        }
        let whole = (WIDTH - LEFT - RIGHT) * (HEIGHT - TOP - BOTTOM);
        assert!((covered / whole - 1.0).abs() < 0.01, "{covered} of {whole}");
    }
}
