//! Extra-P text: `PARAMETER`, `POINTS`, `METRIC`, `REGION` and `DATA` lines, one `DATA` line of repetitions per point.
//!
//! `REGION` and `METRIC` hold until the next of their kind; either starts again at the first point. Lines that begin
//! with `#` are comments.

use std::collections::HashSet;

use super::collect::{Collector, Order, written_loses_digits};
use super::error::{ASSUMED, Place, ReadError};
use super::record::within_line;
use super::source::{Lines, RawLine, Source, not_utf8};
use super::{Detection, Format, Reader};
use crate::experiment::PointId;
use crate::words::counted;

/// Reads Extra-P text.
pub(crate) struct Text;

const KEYWORDS: [&str; 5] = ["PARAMETER", "POINTS", "METRIC", "REGION", "DATA"];

impl Reader for Text {
    fn format(&self) -> Format {
        Format::ExtraPText
    }

    fn detect(&self, source: &Source) -> Detection {
        let Some((head, _)) = source.head() else { return Detection::no("it is a folder") };
        let text = String::from_utf8_lossy(head);
        match text.trim_start_matches('\u{feff}').lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'))
        {
            None => Detection::no("it is empty"),
            Some(line) if KEYWORDS.contains(&line.split_whitespace().next().unwrap_or_default()) => Detection::Yes,
            Some(_) => Detection::no("its first line does not begin with PARAMETER, POINTS, METRIC, REGION or DATA"),
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        let name = source.name.clone();
        let mut state = State {
            file: &name,
            into,
            parameters: Vec::new(),
            points: Points::default(),
            block: Block::new(),
            known: Known::new(),
            again: None,
        };
        let mut lines = Lines::new(source);
        while let Some(RawLine { number, skipped, bytes }) = lines.next()? {
            let text = std::str::from_utf8(bytes)
                .map_err(|e| not_utf8(Place::at(state.file, number, skipped + e.valid_up_to() + 1)))?;
            state.line(Line { number, text })?;
        }
        state.finish_block(lines.number())?;
        if let Some((count, first)) = state.again.take() {
            let more = if count > 1 { format!(", and others do, {count} in all") } else { String::new() };
            let message =
                format!("This region and metric stand here again{more}: what stands here is taken for repetitions.");
            state.into.warn(ASSUMED, first, message);
        }
        if state.parameters.is_empty() {
            return Err(state.malformed(1, 1, "there is no PARAMETER line").expected("a line such as `PARAMETER p`"));
        }
        Ok(())
    }
}

/// A line of the file.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    /// Column of `part`, which is a slice of this line.
    fn column(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize + 1
    }
}

#[derive(Default)]
struct Points {
    coordinates: Vec<Vec<f64>>,
    /// Line and column of each.
    at: Vec<(usize, usize)>,
    /// Set when the first `DATA` line needs them; no further point may follow.
    ids: Option<Vec<PointId>>,
}

/// The `DATA` lines of one region and metric.
struct Block {
    region: String,
    metric: String,
    data_lines: usize,
}

/// The regions and metrics that have had a block.
type Known = HashSet<(String, String)>;

impl Block {
    fn new() -> Self {
        Self { region: String::new(), metric: String::new(), data_lines: 0 }
    }
}

struct State<'a> {
    file: &'a str,
    into: &'a mut Collector,
    parameters: Vec<String>,
    points: Points,
    block: Block,
    known: Known,
    /// Blocks of regions and metrics that have had one: how many, and where the first is.
    again: Option<(usize, Place)>,
}

impl State<'_> {
    fn malformed(&self, line: usize, column: usize, what: impl Into<String>) -> ReadError {
        ReadError::malformed(Place::at(self.file, line, column), what)
    }

    fn line(&mut self, line: Line) -> Result<(), ReadError> {
        let trimmed = line.text.trim();
        if let Some(at) = trimmed.find('\r') {
            let column = line.column(&trimmed[at..]);
            return Err(within_line(Place::at(self.file, line.number, column)));
        }
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return Ok(());
        }
        let keyword = trimmed.split_whitespace().next().unwrap_or_default();
        let rest = trimmed[keyword.len()..].trim();
        match keyword {
            "PARAMETER" => self.parameter(line, rest),
            "POINTS" => self.points(line, rest),
            "METRIC" => {
                self.finish_block(line.number)?;
                rest.clone_into(&mut self.block.metric);
                Ok(())
            }
            "REGION" => {
                self.finish_block(line.number)?;
                rest.clone_into(&mut self.block.region);
                Ok(())
            }
            "DATA" => self.data(line, rest),
            _ => Err(self
                .malformed(line.number, line.column(trimmed), format!("`{keyword}` is no keyword of Extra-P text"))
                .expected("PARAMETER, POINTS, METRIC, REGION, DATA or a comment that begins with #")),
        }
    }

    fn parameter(&mut self, line: Line, rest: &str) -> Result<(), ReadError> {
        if !self.points.coordinates.is_empty() {
            let what = "a PARAMETER line stands after POINTS";
            return Err(self.malformed(line.number, 1, what).expected("all parameters before the first point"));
        }
        if rest.is_empty() {
            return Err(self.malformed(line.number, line.text.len() + 1, "the PARAMETER line names no parameter"));
        }
        for name in rest.split_whitespace() {
            if self.parameters.iter().any(|known| known == name) {
                let what = format!("the parameter `{name}` is named twice");
                return Err(self.malformed(line.number, line.column(name), what).expected("each parameter once"));
            }
            self.parameters.push(name.to_owned());
        }
        Ok(())
    }

    fn points(&mut self, line: Line, rest: &str) -> Result<(), ReadError> {
        if self.points.ids.is_some() {
            let what = "a POINTS line stands after DATA";
            return Err(self.malformed(line.number, 1, what).expected("all points before the first DATA line"));
        }
        if self.parameters.is_empty() {
            return Err(self.malformed(line.number, 1, "no PARAMETER line stands before POINTS"));
        }
        // The column of the opening bracket, and the numbers since.
        let mut tuple: Option<(usize, Vec<f64>)> = None;
        for token in tokens(rest) {
            let column = line.column(token);
            match (token, &mut tuple) {
                ("(", None) => tuple = Some((column, Vec::new())),
                (")", Some((opened, point))) => {
                    let (opened, point) = (*opened, std::mem::take(point));
                    tuple = None;
                    self.add_point(point, line.number, opened)?;
                }
                ("(" | ")", _) => {
                    return Err(if token == "(" {
                        let what = "this bracket opens before the one before it was closed";
                        self.malformed(line.number, column, what).expected("the coordinates of one point, then `)`")
                    } else {
                        let what = "this bracket closes a point that was not opened";
                        self.malformed(line.number, column, what).expected("`(` before the coordinates of a point")
                    });
                }
                (number, Some((_, open))) => {
                    let number = self.number(number, line)?;
                    open.push(number);
                }
                (number, None) => {
                    let number = self.number(number, line)?;
                    self.add_point(vec![number], line.number, column)?;
                }
            }
        }
        match tuple {
            None => Ok(()),
            Some(_) => Err(self.malformed(line.number, line.text.len() + 1, "a point is not closed").expected("`)`")),
        }
    }

    fn add_point(&mut self, point: Vec<f64>, line: usize, column: usize) -> Result<(), ReadError> {
        if point.len() != self.parameters.len() {
            let what = format!("this point has {}", counted(point.len(), "coordinate", "coordinates"));
            let expected = format!("one for each parameter, {} in all", self.parameters.len());
            let advice = "Write points of several parameters in brackets, such as ( 32 5000 )";
            return Err(self.malformed(line, column, what).expected(expected).advice(advice));
        }
        self.points.coordinates.push(point);
        self.points.at.push((line, column));
        Ok(())
    }

    fn data(&mut self, line: Line, rest: &str) -> Result<(), ReadError> {
        let index = self.block.data_lines;
        self.declare_points(line.number)?;
        let Some(&point) = self.points.ids.as_ref().and_then(|ids| ids.get(index)) else {
            let points = self.points.coordinates.len();
            let what = format!("this is DATA line {} of the region, and there are {points} points", index + 1);
            return Err(self.malformed(line.number, 1, what).expected("one DATA line for each point"));
        };
        if rest.is_empty() {
            return Err(self
                .malformed(line.number, line.text.len() + 1, "the DATA line holds no value")
                .expected("the repetitions at one point"));
        }
        self.block.data_lines += 1;
        let callpath = self.into.callpath(&self.block.region);
        let metric = self.into.metric_named(&self.block.metric);
        if index == 0 && !self.known.insert((self.block.region.clone(), self.block.metric.clone())) {
            self.again.get_or_insert_with(|| (0, Place::at(self.file, line.number, 1))).0 += 1;
        }
        for token in rest.split_whitespace() {
            let value = self.number(token, line)?;
            let place = || Place::at(self.file, line.number, line.column(token));
            if written_loses_digits(token) {
                self.into.warn_of_lost_digits(&place());
            }
            self.into.add_from((callpath, metric, point), value, place);
        }
        Ok(())
    }

    /// Gives the points their ids in the experiment, once.
    fn declare_points(&mut self, line: usize) -> Result<(), ReadError> {
        if self.points.ids.is_some() {
            return Ok(());
        }
        if self.points.coordinates.is_empty() {
            return Err(self.malformed(line, 1, "no POINTS line stands before DATA"));
        }
        let order: Order = self.into.parameters(&self.parameters, &Place::at(self.file, 1, 1))?;
        let ids: Vec<PointId> = self.points.coordinates.iter().map(|c| self.into.point(&order, c)).collect();
        let mut known = HashSet::new();
        if let Some(again) = ids.iter().position(|id| !known.insert(id)) {
            let (line, column) = self.points.at[again];
            let message = "This point stands here again: values of one point are taken for repetitions.";
            self.into.warn(ASSUMED, Place::at(self.file, line, column), message);
        }
        self.points.ids = Some(ids);
        Ok(())
    }

    /// Checks that the block which ends before `line` has a `DATA` line for each point.
    fn finish_block(&mut self, line: usize) -> Result<(), ReadError> {
        let (have, points) = (std::mem::take(&mut self.block.data_lines), self.points.coordinates.len());
        if have == 0 || have == points {
            return Ok(());
        }
        let what = format!(
            "the region `{}` ends here with {} for {}",
            self.block.region,
            counted(have, "DATA line", "DATA lines"),
            counted(points, "point", "points")
        );
        Err(self
            .malformed(line, 1, what)
            .expected("one DATA line for each point, since the lines do not say which point they belong to")
            .advice("Use JSON Lines where measurements are missing"))
    }

    fn number(&self, token: &str, line: Line) -> Result<f64, ReadError> {
        match token.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => {
                let error = self
                    .malformed(line.number, line.column(token), format!("`{token}` is not a finite number"))
                    .expected("a number such as 4.25 or 1e-3");
                let has_commas = token.split(',').filter(|part| part.parse::<f64>().is_ok()).count() > 1;
                Err(if has_commas {
                    error.advice(format!(
                        "Part numbers by blanks, as in {}, and write decimal points",
                        token.replace(',', " ")
                    ))
                } else {
                    error
                })
            }
        }
    }
}

/// Words and single brackets of `text`.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let length = if matches!(first, '(' | ')') {
            1
        } else {
            rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | ')')).unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}
