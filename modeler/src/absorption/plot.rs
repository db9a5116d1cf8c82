//! The curves of a run's loops as one drawing: the time over the noise quantity, relative to that without noise.

use std::fmt::Write as _;

use super::hinge::blend;
use super::{LoopReport, Mode, Point, Report};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 40.0;
/// Places at which curves are evaluated.
const STEPS: u32 = 96;
/// Ratios are drawn up to here; a steeper curve leaves the drawing.
const HIGHEST: f64 = 8.0;
/// Colours that people with any colour vision tell apart (Okabe and Ito, Color universal design, 2008).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f"];
const STYLE: &str = "svg{background:#fff;font:12px system-ui,sans-serif;fill:#222}.grid{stroke:#ddd}.axis{stroke:#555}\
                     .curve{fill:none;stroke-width:1.6}.unused{fill-opacity:.25}";

impl Report {
    /// All loops below each other as a stand-alone SVG document.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(report.svg().starts_with("<svg ") && report.svg().contains("fp_add64"));
    /// ```
    #[must_use]
    pub fn svg(&self) -> String {
        let height = HEIGHT * self.loops.len().max(1) as f64;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\"><style>{STYLE}</style>\n"
        );
        if self.loops.is_empty() {
            let _ = writeln!(out, "<text x=\"20\" y=\"40\">No loop was measured.</text>");
        }
        for (i, report) in self.loops.iter().enumerate() {
            let _ = writeln!(out, "<g transform=\"translate(0 {})\">", HEIGHT * i as f64);
            Panel::of(report).draw(&mut out);
            out.push_str("</g>\n");
        }
        out.push_str("</svg>\n");
        out
    }
}

/// One loop's drawing.
struct Panel<'a> {
    report: &'a LoopReport,
    largest: f64,
    highest: f64,
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl<'a> Panel<'a> {
    fn of(report: &'a LoopReport) -> Self {
        let points = || report.modes.iter().flat_map(|mode| &mode.points).filter(|p| p.ratio.is_finite());
        let highest = points().map(|p| p.ratio).fold(1.5, f64::max).min(HIGHEST);
        Self { report, largest: points().map(|p| f64::from(p.k)).fold(1.0, f64::max), highest }
    }

    /// Places of a quantity and a ratio, the latter on a logarithmic axis that begins a little below 1.
    fn at(&self, k: f64, ratio: f64) -> (f64, f64) {
        let (low, high) = (0.85f64.ln(), (self.highest * 1.1).ln());
        let up = (ratio.max(1e-3).ln() - low) / (high - low);
        (LEFT + k / self.largest * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM))
    }

    fn draw(&self, out: &mut String) {
        let report = self.report;
        let title = format!("{}  {}", report.callpath.join(" → "), report.place());
        let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"18\" font-weight=\"600\">{}</text>", escaped(&title));
        let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"34\">{}</text>", escaped(&report.sentence()));
        self.axes(out);
        for (i, mode) in report.modes.iter().enumerate() {
            self.mode(out, mode, COLOURS[i % COLOURS.len()], i);
        }
    }

    fn axes(&self, out: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let ratios = [1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0];
        for ratio in ratios.into_iter().filter(|&r| r <= self.highest * 1.05) {
            let y = self.at(0.0, ratio).1;
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{ratio}</text>",
                LEFT - 6.0,
                y + 4.0
            );
        }
        let step = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0].into_iter().find(|s| self.largest / s <= 9.0);
        let step = step.unwrap_or(self.largest / 4.0);
        for i in 0..=(self.largest / step) as u32 {
            let x = self.at(f64::from(i) * step, 1.0).0;
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                f64::from(i) * step
            );
        }
        let middle = 0.5 * (LEFT + right);
        let _ = writeln!(
            out,
            "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/><text x=\"{middle}\" y=\"{:.0}\" text-anchor=\"middle\">further instructions per iteration</text><text transform=\"translate(16 {:.0}) rotate(-90)\" text-anchor=\"middle\">relative time</text>",
            HEIGHT - 6.0,
            0.5 * (TOP + bottom)
        );
    }

    fn mode(&self, out: &mut String, mode: &Mode, colour: &str, index: usize) {
        for point in mode.points.iter().filter(|p| p.ratio.is_finite() && p.ratio <= HIGHEST) {
            self.point(out, point, colour);
        }
        let curve = self.curve(mode);
        if !curve.is_empty() {
            let _ = writeln!(out, "<path class=\"curve\" stroke=\"{colour}\" d=\"{curve}\"/>");
        }
        let (x, y) = (WIDTH - RIGHT + 14.0, TOP + 12.0 + 18.0 * index as f64);
        let absorbed = match mode.upper {
            _ if !mode.raw.is_finite() => "undecided".to_owned(),
            Some(_) => format!("{:.0}", mode.raw),
            None => format!("≥ {:.0}", mode.raw),
        };
        let _ = writeln!(
            out,
            "<circle cx=\"{x}\" cy=\"{:.0}\" r=\"4\" fill=\"{colour}\"/><text x=\"{}\" y=\"{y:.0}\">{} {absorbed}</text>",
            y - 4.0,
            x + 9.0,
            escaped(&mode.name)
        );
    }

    fn point(&self, out: &mut String, point: &Point, colour: &str) {
        let k = f64::from(point.k);
        let ((x, y), (_, low), (_, high)) = (self.at(k, point.ratio), self.at(k, point.lower), self.at(k, point.upper));
        let class = if point.unused.is_some() { " class=\"unused\"" } else { "" };
        let _ = writeln!(
            out,
            "<line stroke=\"{colour}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/><circle{class} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"{colour}\"/>"
        );
    }

    /// The fitted curve as long as it stays in the drawing; empty where nothing was fitted.
    fn curve(&self, mode: &Mode) -> String {
        if !mode.k1.is_finite() {
            return String::new();
        }
        let slope = mode.slope_ns.map_or(0.0, |slope| slope / self.report.nanoseconds);
        let ratio = |k: f64| 1.0 + slope * blend(k, mode.k1, mode.k2.unwrap_or(mode.k1));
        let steps = (0..=STEPS).map(|i| self.largest * f64::from(i) / f64::from(STEPS));
        let mut path = String::new();
        for k in steps.take_while(|&k| ratio(k) <= self.highest * 1.1) {
            let (x, y) = self.at(k, ratio(k));
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
        }
        path
    }
}
