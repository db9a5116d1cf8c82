//! A heat map: the model over two parameters as colours and contour lines, with what was measured in the same colours.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::axis::Axis;
use super::plot::{BOTTOM, HEIGHT, LEFT, TOP, WIDTH, tick_label};
use super::quantity::number;

/// Room for the key of the colours.
const RIGHT: f64 = 92.0;
/// Cells across and up, inside which the place of a value among the colours is taken for linear.
const CELLS: (usize, usize) = (27, 17);
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

/// A place in the plot, from 0 to 1 both ways, and that of the value there among the colours.
type Corner = (f64, f64, f64);

/// The corners of all cells, row by row.
fn corners(frame: &Frame, f: &impl Fn(f64, f64) -> f64) -> Vec<Corner> {
    let corner = |i: usize, j: usize| {
        let (x, y) = (i as f64 / CELLS.0 as f64, j as f64 / CELLS.1 as f64);
        (x, y, frame.value.place(f(frame.x.value(x), frame.y.value(y))))
    };
    (0..=CELLS.1).flat_map(|j| (0..=CELLS.0).map(move |i| (i, j))).map(|(i, j)| corner(i, j)).collect()
}

/// The four corners of a cell, one after the other around it.
fn cell(corners: &[Corner], i: usize, j: usize) -> [Corner; 4] {
    let at = |i: usize, j: usize| corners[j * (CELLS.0 + 1) + i];
    [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]
}

/// By colour, where values have it or a higher one, which is drawn above: polygons that end where the value does. Whole
/// cells side by side are one rectangle; those that a higher colour covers are left out.
fn areas(frame: &Frame, f: &impl Fn(f64, f64) -> f64) -> Vec<String> {
    let corners = corners(frame, f);
    let least =
        |colour: usize| if colour < COLOURS.len() { colour as f64 / COLOURS.len() as f64 } else { f64::INFINITY };
    let mut paths = vec![rectangle(0, CELLS.0, 0, CELLS.1)];
    for colour in 1..COLOURS.len() {
        let mut path = String::new();
        for j in 0..CELLS.1 {
            let mut start = 0;
            for i in 0..=CELLS.0 {
                let of = (i < CELLS.0).then(|| cell(&corners, i, j));
                let is_above = |colour| of.is_some_and(|cell| cell.iter().all(|c| c.2 >= least(colour)));
                if is_above(colour) && !is_above(colour + 1) {
                    continue;
                }
                path += &rectangle(start, i, j, j + 1);
                start = i + 1;
                if let Some(cell) = of.filter(|_| !is_above(colour)) {
                    path += &above(&cell, least(colour));
                }
            }
        }
        paths.push(path);
    }
    paths
}

/// Cells from one corner to another; nothing where there are none.
fn rectangle(left: usize, right: usize, bottom: usize, top: usize) -> String {
    let (across, up) = (CELLS.0 as f64, CELLS.1 as f64);
    let (x, y) = inside(left as f64 / across, top as f64 / up);
    let (end, foot) = inside(right as f64 / across, bottom as f64 / up);
    if right > left { format!("M{x:.1} {y:.1}H{end:.1}V{foot:.1}H{x:.1}z") } else { String::new() }
}

/// The part of a cell where the value is at least `level`, which some of it is not.
fn above(cell: &[Corner; 4], level: f64) -> String {
    let mut path = String::new();
    let mut to = |(x, y): (f64, f64)| {
        let letter = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{x:.1} {y:.1}");
    };
    for k in 0..4 {
        let (a, b) = (cell[k], cell[(k + 1) % 4]);
        if a.2 >= level {
            to(inside(a.0, a.1));
        }
        if let Some(place) = crossing(a, b, level) {
            to(place);
        }
    }
    if path.is_empty() { path } else { path + "z" }
}

/// Lines of equal value at the key's ticks, by marching squares over the corners of the cells.
fn contours(frame: &Frame, f: &impl Fn(f64, f64) -> f64) -> String {
    let corners = corners(frame, f);
    let mut path = String::new();
    for tick in frame.value.ticks() {
        let level = frame.value.place(tick);
        for j in 0..CELLS.1 {
            for i in 0..CELLS.0 {
                for pair in crossings(&cell(&corners, i, j), level).chunks_exact(2) {
                    let _ = write!(path, "M{:.1} {:.1}L{:.1} {:.1}", pair[0].0, pair[0].1, pair[1].0, pair[1].1);
                }
            }
        }
    }
    path
}

/// Where a line of one value crosses the edges of a cell, in the drawing: none, two or four places.
fn crossings(cell: &[Corner; 4], level: f64) -> Vec<(f64, f64)> {
    (0..4).filter_map(|k| crossing(cell[k], cell[(k + 1) % 4], level)).collect()
}

/// Where a line of one value crosses an edge, in the drawing.
fn crossing(a: Corner, b: Corner, level: f64) -> Option<(f64, f64)> {
    let crosses = (a.2 < level) != (b.2 < level) && a.2.is_finite() && b.2.is_finite();
    let t = (level - a.2) / (b.2 - a.2);
    crosses.then(|| inside(a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1)))
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

    /// Corners of each polygon of a path.
    fn polygons(path: &str) -> Vec<Vec<(f64, f64)>> {
        let corners = |polygon: &str| {
            let (mut at, mut found) = ((0.0, 0.0), Vec::new());
            let spaced = polygon.replace('L', " L").replace('H', " H ").replace('V', " V ").replace('z', "");
            let words: Vec<&str> = spaced.split_whitespace().collect();
            let mut i = 0;
            while i < words.len() {
                let number = |k: usize| words[k].trim_start_matches('L').parse::<f64>().unwrap();
                match words[i] {
                    "H" => at.0 = number(i + 1),
                    "V" => at.1 = number(i + 1),
                    _ => at = (number(i), number(i + 1)),
                }
                i += 2;
                found.push(at);
            }
            found
        };
        path.split('M').skip(1).map(corners).collect()
    }

    /// Whether a place is in a polygon: a ray from it crosses the outline an odd number of times.
    fn holds(polygon: &[(f64, f64)], (x, y): (f64, f64)) -> bool {
        let edges = polygon.iter().zip(polygon.iter().cycle().skip(1));
        let crosses = |(a, b): &(&(f64, f64), &(f64, f64))| {
            (a.1 > y) != (b.1 > y) && x < a.0 + (y - a.1) / (b.1 - a.1) * (b.0 - a.0)
        };
        edges.filter(crosses).count() % 2 == 1
    }

    #[test]
    fn the_colour_drawn_last_at_a_place_is_that_of_its_value() {
        let axis = |low: f64, high: f64| Axis::over([low, high].into_iter(), false).unwrap();
        let frame = Frame { x: axis(1.0, 16.0), y: axis(1.0, 16.0), value: axis(1.0, 512.0) };
        let f = |x: f64, y: f64| x * y.powf(1.25);
        let areas: Vec<Vec<Vec<(f64, f64)>>> = areas(&frame, &f).iter().map(|path| polygons(path)).collect();
        let mut met = [false; COLOURS.len()];
        for step in 0..4000 {
            // Places that follow no grid (Kronecker's sequence of the golden ratio and the root of two).
            let (x, y) = ((f64::from(step) * 0.618_034).fract(), (f64::from(step) * 0.414_214).fract());
            let value = frame.value.place(f(frame.x.value(x), frame.y.value(y))) * COLOURS.len() as f64;
            // The drawing is rounded to tenths.
            if (value - value.round()).abs() < 0.02 {
                continue;
            }
            let drawn = areas.iter().rposition(|polygons| polygons.iter().any(|p| holds(p, inside(x, y))));
            assert_eq!(drawn, Some(value as usize), "{x} {y}");
            met[value as usize] = true;
        }
        assert!(met.iter().all(|met| *met), "{met:?}");
    }
}
