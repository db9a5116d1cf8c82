//! Which hypotheses compete on a layout: libraries built when first needed and shared by all its series.

use crate::decompose;
use crate::effort::{Found, common_step};
use crate::exact_sum;
use crate::library::{FactorColumn, Library, Rounding, Shape, factor_columns};
use crate::line;
use crate::linear::{least_squares, residual};
use crate::options::{ExponentSets, NegativeExponents, STEEP_SETS};
use crate::plain_sums::PlainSums;
use crate::roughness::{self, Lines};
use crate::screen::{Axis, Heads, Screen};
use crate::separable::{Grid, Near};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// With more varying parameters than this the products are too many to hold; each series then chooses the factors
/// that fit its lines.
const MOST_SHARED: usize = 2;
/// How many factors per parameter a series keeps when it chooses, by the number of varying parameters.
const KEPT_FACTORS: [usize; 4] = [14, 7, 4, 3];
/// So many values of one parameter show whether they have noise.
const TELLING: usize = 8;
/// Of so many values it is no accident that a function of few terms gives all of them exactly.
const TELLING_EXACT: usize = 4;
/// Where a count falls by more than this share from one value to the next some term of it does.
const FALL: f64 = 0.01;
/// Lines of few different values are given by plain functions by chance: logarithms of how many there are, by value beyond the coefficients, up
/// to which they say nothing. Those of `16 n (p - 1)` at five values each say 14, those of counters of 98 to 102 at four values each 3.
const BY_CHANCE: f64 = 10.0;
/// Products of factors of lines that are looked at.
const MOST_PRODUCTS: usize = 81;
/// Roughness that values of smooth functions do not have: where a sum of two powers goes over from one to the other, over doubling
/// values, it is off a cubic by about as much.
const SMOOTH: f64 = 0.005;
/// The same where the rank of the values speaks for a sum too: of `n/p`, `log2(p)`, `p` and `n^2` at 5 x 5 doubling values those of two and
/// three terms have 0.004 to 0.0075, and noise of 3 % that comes again along a parameter 0.023 to 0.029.
const NEARLY_SMOOTH: f64 = 0.015;
/// How many of the simplest factors it keeps in any case.
const SIMPLE_FACTORS: usize = 3;
/// Rounding is not taken to change a count by more than this share.
const MOST_ROUNDING: f64 = 3e-3;
/// Fewer values above zero say nothing by themselves, as without zeros.
const FEWEST_NONZERO: usize = 3;
/// Reduced hypotheses are kept for so many varying parameters at most.
const MOST_CACHED: usize = 6;
/// On one set of points functions found by a search are kept of so many counts, some megabytes at most.
const MOST_SEARCHED: usize = 1000;
/// The ways of rounding in the order in which they are tried.
const ROUNDINGS: [Rounding; 4] = [Rounding::None, Rounding::Floor, Rounding::Ceiling, Rounding::Nearest];

/// The hypotheses on one set of points.
#[derive(Debug)]
pub(crate) struct Hypotheses<'a> {
    /// Coordinates of the points.
    pub points: Vec<&'a [f64]>,
    sets: ExponentSets,
    /// Bits of the parameters that get exponents beyond those of `sets`.
    steep: usize,
    varying: Vec<usize>,
    /// By way of rounding and mask of varying parameters with negative exponents.
    shared: Vec<OnceLock<Arc<Library>>>,
    grid: OnceLock<Option<Grid>>,
    /// By varying parameter, without and with negative exponents.
    axes: Vec<OnceLock<Axis>>,
    /// Of at most two varying parameters, without and with negative exponents of the first.
    heads: [OnceLock<Heads>; 2],
    /// By varying parameter: see [`Self::lines`].
    lines: Vec<OnceLock<Vec<Vec<usize>>>>,
    /// By mask of the varying parameters that a count depends on.
    reduced: Vec<OnceLock<Arc<Reduced<'a>>>>,
    /// By some of the points: see [`Self::among`].
    among: Mutex<BTreeMap<Vec<usize>, Arc<Reduced<'a>>>>,
    /// Sums along lines, which hypotheses on other points have, too.
    plain: Arc<PlainSums>,
    /// By the bits of counts: see [`Self::once`].
    searched: Mutex<HashMap<Vec<u64>, Vec<Found>>>,
}

/// The hypotheses in some of the varying parameters, or on some of the points.
#[derive(Debug)]
pub(crate) struct Reduced<'a> {
    /// On the points that differ in those, or on these points.
    pub hypotheses: Hypotheses<'a>,
    /// Which of the points they are.
    chosen: Vec<usize>,
}

impl Reduced<'_> {
    /// The values at the points that remain.
    pub fn values(&self, y: &[f64]) -> Vec<f64> {
        self.chosen.iter().map(|&i| y[i]).collect()
    }
}

impl<'a> Hypotheses<'a> {
    pub fn new(points: Vec<&'a [f64]>, sets: &ExponentSets) -> Self {
        Self::sharing(points, sets, &Arc::default())
    }

    /// The same where sums along lines may be known.
    pub fn sharing(points: Vec<&'a [f64]>, sets: &ExponentSets, plain: &Arc<PlainSums>) -> Self {
        let varying = varying(&points);
        Self::in_parameters(points, (sets.clone(), 0, plain), varying)
    }

    /// Those on these points, where the parameters with bits in `steep` may have exponents beyond the others'.
    pub fn at(&self, points: Vec<&'a [f64]>, steep: usize) -> Self {
        let varying = varying(&points);
        Self::in_parameters(points, (self.sets.clone(), steep, &self.plain), varying)
    }

    /// The exponents they draw from.
    pub fn sets(&self) -> &ExponentSets {
        &self.sets
    }

    fn in_parameters(
        points: Vec<&'a [f64]>,
        (sets, steep, plain): (ExponentSets, usize, &Arc<PlainSums>),
        varying: Vec<usize>,
    ) -> Self {
        let libraries = ROUNDINGS.len() << varying.len().min(MOST_SHARED);
        let shared = (0..libraries).map(|_| OnceLock::new()).collect();
        let reduced = (0..1usize << varying.len().min(MOST_CACHED)).map(|_| OnceLock::new()).collect();
        let axes = (0..2 * varying.len()).map(|_| OnceLock::new()).collect();
        let heads = [OnceLock::new(), OnceLock::new()];
        let lines = varying.iter().map(|_| OnceLock::new()).collect();
        let (grid, among, plain, searched) = (OnceLock::new(), Mutex::default(), Arc::clone(plain), Mutex::default());
        Self { points, sets, steep, varying, shared, grid, axes, heads, lines, reduced, among, plain, searched }
    }

    /// What `search` finds behind the counts `y`, kept for further call paths of the same counts: visits of many are.
    pub fn once(&self, y: &[f64], search: impl FnOnce() -> Vec<Found>) -> Vec<Found> {
        let known = || self.searched.lock().unwrap_or_else(PoisonError::into_inner);
        let bits: Vec<u64> = y.iter().map(|v| v.to_bits()).collect();
        if let Some(found) = known().get(&bits) {
            return found.clone();
        }
        // Others search meanwhile.
        let found = search();
        let mut known = known();
        if known.len() < MOST_SEARCHED {
            known.insert(bits, found.clone());
        }
        found
    }

    /// The hypotheses in the parameters that the count `y` depends on; `None` if those are all.
    ///
    /// A value that repeats along a parameter is one observation, not several.
    pub fn reduced(&self, y: &[f64]) -> Option<Arc<Reduced<'a>>> {
        let all = self.varying.len();
        let mut mask = (1usize << all) - 1;
        for bit in (0..all).filter(|_| all <= MOST_CACHED) {
            let without = mask & !(1 << bit);
            if without != 0 && self.repeats(y, without) {
                mask = without;
            }
        }
        if mask + 1 == 1 << all {
            return None;
        }
        let reduce = || {
            let varying = (0..all).filter(|bit| mask >> bit & 1 == 1).map(|bit| self.varying[bit]).collect();
            let chosen: Vec<usize> = self.groups(mask).iter().map(|group| group[0]).collect();
            let points = chosen.iter().map(|&i| self.points[i]).collect();
            Arc::new(Reduced {
                hypotheses: Self::in_parameters(points, (self.sets.clone(), self.steep, &self.plain), varying),
                chosen,
            })
        };
        Some(Arc::clone(self.reduced[mask].get_or_init(reduce)))
    }

    /// The hypotheses on the points where the count `y` is not zero; `None` if it is zero nowhere, or hardly anywhere is not.
    ///
    /// A rank that is alone sends nothing, however many bytes it would send to others: zeros say little of a function, and weigh much.
    pub fn nonzero(&self, y: &[f64]) -> Option<Arc<Reduced<'a>>> {
        let chosen: Vec<usize> = (0..y.len()).filter(|&i| y[i] != 0.0).collect();
        if chosen.len() == y.len() || chosen.len() < FEWEST_NONZERO {
            return None;
        }
        Some(self.among(&chosen))
    }

    /// The hypotheses on these points alone.
    fn among(&self, chosen: &[usize]) -> Arc<Reduced<'a>> {
        let mut known = self.among.lock().unwrap_or_else(PoisonError::into_inner);
        let of_chosen = || {
            let points = chosen.iter().map(|&i| self.points[i]).collect();
            Arc::new(Reduced { hypotheses: self.at(points, self.steep), chosen: chosen.to_vec() })
        };
        Arc::clone(known.entry(chosen.to_vec()).or_insert_with(of_chosen))
    }

    /// Whether plain functions give the values `y` exactly along the longest line of each varying parameter, where that is long enough to
    /// tell: they do of a count without noise.
    pub fn lines_are_plain(&self, y: &[f64]) -> bool {
        let mut told = None;
        let longest = (0..self.varying.len()).filter_map(|bit| self.lines(bit).iter().max_by_key(|line| line.len()));
        for line in longest.filter(|line| line.len() >= TELLING_EXACT).map(|line| self.among(line)) {
            let (values, Some(grid)) = (line.values(y), line.hypotheses.grid()) else { continue };
            let Some(coefficients) = grid.plain(&values) else { return false };
            *told.get_or_insert(0.0) += (values.len() - coefficients) as f64 * line::span(&values);
        }
        told.is_none_or(|told| told > BY_CHANCE)
    }

    /// The function that gives the values `y` exactly: the sum of fewest products of the factors that give them along the longest line of each
    /// parameter. Of these it is the one that [`exact_sum::smallest`] takes. Values on full grids that are of no few products have
    /// none.
    pub fn exact_of_lines(&self, y: &[f64]) -> Option<(f64, Vec<(Shape, f64)>)> {
        if self.varying() > 1 && self.grid().is_some_and(|grid| !grid.is_degenerate(y)) {
            return None;
        }
        // Of lines of the same length it is that at the largest values of the others, where most functions matter.
        let longest = |bit: usize| self.lines(bit).iter().max_by_key(|line| line.len());
        // Functions of a logarithm are nothing at one.
        let is_at_one = |bit: usize, line: &[usize]| {
            self.varying.iter().enumerate().any(|(other, &l)| other != bit && self.points[line[0]][l] == 1.0)
        };
        let beyond_one =
            |bit: usize| self.lines(bit).iter().filter(|line| !is_at_one(bit, line)).max_by_key(|line| line.len());
        let bits = || 0..self.varying.len();
        let along = |lines: Option<Vec<&Vec<usize>>>| self.exact_along(&lines?, y);
        let is_any_at_one = bits().any(|bit| longest(bit).is_some_and(|line| is_at_one(bit, line)));
        along(bits().map(longest).collect())
            .or_else(|| is_any_at_one.then(|| along(bits().map(beyond_one).collect())).flatten())
    }

    /// The same by these lines, one of each varying parameter.
    fn exact_along(&self, lines: &[&Vec<usize>], y: &[f64]) -> Option<(f64, Vec<(Shape, f64)>)> {
        let mut products = vec![Shape::new()];
        let (mut tried, mut span) = (1.0, line::span(y));
        for (line, &l) in lines.iter().zip(&self.varying) {
            let points: Vec<&[f64]> = line.iter().map(|&i| self.points[i]).collect();
            let values: Vec<f64> = line.iter().map(|&i| y[i]).collect();
            let (factors, of_line) = self.plain.smallest(&points, (l, self.is_steep(l)), self.sets_of(l), &values)?;
            tried *= of_line as f64;
            if factors != [None] {
                span = span.min(line::most_span(&values));
            }
            let with = |product: &Shape| -> Vec<Shape> {
                factors.iter().map(|factor| product.iter().copied().chain(*factor).collect()).collect()
            };
            if products.len() * factors.len() > MOST_PRODUCTS {
                return None;
            }
            products = products.iter().flat_map(with).collect();
        }
        exact_sum::smallest(&self.points, y, (tried, span, &products))
    }

    /// Whether `y` is the same at all points that agree in the varying parameters of `mask`, of which there must be
    /// two at least for each.
    fn repeats(&self, y: &[f64], mask: usize) -> bool {
        let same = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs();
        self.groups(mask).iter().all(|group| group.len() > 1 && group.iter().all(|&i| same(y[i], y[group[0]])))
    }

    /// The points that agree in the varying parameters of `mask`, by the first of each group.
    fn groups(&self, mask: usize) -> Vec<Vec<usize>> {
        let kept: Vec<usize> =
            (0..self.varying.len()).filter(|b| mask >> b & 1 == 1).map(|b| self.varying[b]).collect();
        let mut groups: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
        for (i, x) in self.points.iter().enumerate() {
            groups.entry(kept.iter().map(|&l| x[l].to_bits()).collect()).or_default().push(i);
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
        groups.sort_unstable();
        groups
    }

    /// How many of the values of `y` can be rounded independently of each other: on a grid, a sum of few products has
    /// fewer loop bounds than points.
    pub fn independent(&self, y: &[f64]) -> f64 {
        self.grid().map_or(y.len(), |grid| grid.independent(y).min(y.len())) as f64
    }

    /// By point: the step in which the count `y` changes along the lines through it, or else anywhere. One trip of a
    /// loop in another costs more the more trips the other has, which lines show.
    pub fn steps(&self, y: &[f64]) -> Vec<f64> {
        let anywhere = common_step(y.iter().copied());
        let mut squares = vec![0.0; y.len()];
        for bit in 0..self.varying.len() {
            for line in self.lines(bit) {
                let step = common_step(line.iter().map(|&i| y[i]));
                line.iter().for_each(|&i| squares[i] += step * step);
            }
        }
        // Counts of n times something are multiples of n, which is no rounding.
        let credible = |(square, v): (&f64, &f64)| square.sqrt().max(anywhere).min(MOST_ROUNDING * v.abs());
        squares.iter().zip(y).map(credible).collect()
    }

    /// The exponents of parameter `l`.
    fn sets_of(&self, l: usize) -> &ExponentSets {
        if self.is_steep(l) { &STEEP_SETS } else { &self.sets }
    }

    /// Whether parameter `l` has exponents beyond the others'.
    fn is_steep(&self, l: usize) -> bool {
        self.steep >> l & 1 == 1
    }

    fn grid(&self) -> Option<&Grid> {
        let sets = if self.steep == 0 { &self.sets } else { &STEEP_SETS };
        self.grid.get_or_init(|| Grid::new(&self.points, &self.varying, sets)).as_ref()
    }

    /// Whether the points are a full grid.
    pub fn is_grid(&self) -> bool {
        self.grid().is_some()
    }

    /// Parameters with one value in all points.
    pub fn fixed(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.points.first().map_or(0, |x| x.len())).filter(|l| !self.varying.contains(l))
    }

    /// The parameters that vary.
    pub fn parameters(&self) -> &[usize] {
        &self.varying
    }

    /// How many parameters vary.
    pub fn varying(&self) -> usize {
        self.varying.len()
    }

    /// Largest coordinate of each parameter.
    pub fn corner(&self) -> Vec<f64> {
        self.range().into_iter().map(|r| r.1).collect()
    }

    /// Smallest and largest coordinate of each parameter.
    pub fn range(&self) -> Vec<(f64, f64)> {
        let parameters = self.points.first().map_or(0, |x| x.len());
        let of = |l: usize| self.points.iter().map(move |x| x[l]);
        (0..parameters)
            .map(|l| (of(l).fold(f64::INFINITY, f64::min), of(l).fold(f64::NEG_INFINITY, f64::max)))
            .collect()
    }

    /// The function that gives the count `y` exactly, where the points are a full grid.
    pub fn exact_function(&self, y: &[f64]) -> Option<(f64, Vec<(Shape, f64)>)> {
        self.grid()?.function(y)
    }

    /// The same with short sums along lines alone: see [`Grid::short_function`].
    pub fn short_exact_function(&self, y: &[f64]) -> Option<(f64, Vec<(Shape, f64)>)> {
        self.grid()?.short_function(y)
    }

    /// The sums without rounding that are near the values `y`, where the points are a full grid: see [`Grid::sums_near`].
    pub fn sums_near(&self, y: &[f64], deviation: f64, is_relative: bool) -> Option<Vec<Near>> {
        Some(self.grid()?.sums_near(y, deviation, is_relative))
    }

    /// Whether nothing in the values `y` speaks of noise, where the points are a full grid. Few values of one parameter do not tell.
    pub fn may_be_exact(&self, y: &[f64], lines: &Lines) -> bool {
        self.grid().is_some_and(|grid| match grid.sizes[..] {
            [values] => values >= TELLING && lines.roughness(y).is_some_and(|rough| rough <= SMOOTH),
            _ => grid.is_degenerate(y),
        })
    }

    /// Whether the values `y` are such of which a long search for the sum that gives them exactly is worth while: those of a full grid that
    /// are smooth, too. Noise that comes again along a parameter leaves less than full rank.
    pub fn is_worth_searching(&self, y: &[f64], lines: &Lines) -> bool {
        self.is_grid() && lines.roughness(y).is_none_or(|rough| rough <= NEARLY_SMOOTH)
    }

    /// The function without rounding that gives the values `y` exactly, where the points are a full grid.
    pub fn smooth_function(&self, y: &[f64]) -> Option<(f64, Vec<(Shape, f64)>)> {
        self.grid()?.smooth_function(y)
    }

    /// The library of smooth functions of several parameters, and that with negative exponents, in which sums are searched that give the
    /// values `y` exactly.
    pub fn smooth_libraries<'b>(&'b self, y: &'b [f64]) -> impl Iterator<Item = (Rounding, Arc<Library>)> + 'b {
        let is_several = self.varying.len() > 1;
        self.for_count(y).filter(move |(rounding, _)| is_several && *rounding == Rounding::None)
    }

    /// Sums that are worth trying for the count `y`, with negative exponents where it falls or levels off; see
    /// [`decompose::propose`].
    pub fn proposals(&self, y: &[f64], weights: &[f64], floor: f64, negative: bool) -> Vec<Vec<Shape>> {
        self.proposals_of(decompose::MOST_FACTORS, y, weights, floor, negative)
    }

    /// The same with so many factors of each parameter at most.
    pub fn proposals_of(
        &self,
        factors: usize,
        y: &[f64],
        weights: &[f64],
        floor: f64,
        negative: bool,
    ) -> Vec<Vec<Shape>> {
        let falling = if negative { self.not_rising(y) } else { 0 };
        self.grid().map_or(Vec::new(), |grid| decompose::propose(grid, y, weights, floor, (falling, factors)))
    }

    /// The libraries in which the count `y` is searched, in order. On grids rounded bounds were tried before, by
    /// [`crate::separable`].
    pub fn for_count<'b>(&'b self, y: &'b [f64]) -> impl Iterator<Item = (Rounding, Arc<Library>)> + 'b {
        let all = (1usize << self.varying.len()) - 1;
        let first = if self.sets.negative == NegativeExponents::Always { all } else { 0 };
        let roundings = if self.grid().is_some() { &ROUNDINGS[..1] } else { &ROUNDINGS[..] };
        let auto = self.sets.negative == NegativeExponents::Auto;
        let falling = if auto { self.not_rising(y) } else { 0 };
        // Work that is shared out falls exactly, where rounding some factor fits only so many values.
        let second = (falling != 0).then_some((Rounding::None, falling));
        let rounded = roundings[1..].iter().map(move |r| (*r, first));
        let tries = std::iter::once((roundings[0], first)).chain(second).chain(rounded);
        tries.map(move |(rounding, mask)| (rounding, self.library(y, rounding, mask)))
    }

    /// The library of smooth functions of which none of [`Self::for_count`] explains the count `y`: all of its parameters have negative exponents.
    /// What falls beside something that grows as much shows in no line. None where those were there, or more than products of two can hold.
    pub fn falling_everywhere(&self, y: &[f64]) -> Option<(Rounding, Arc<Library>)> {
        let all = (1usize << self.varying.len()) - 1;
        let is_new = self.sets.negative == NegativeExponents::Auto && self.not_rising(y) != all;
        // Of noise no function would be found, after a long search.
        let is_smooth = || Lines::of(&self.points).roughness(y).is_none_or(|rough| rough <= NEARLY_SMOOTH);
        (is_new && self.varying.len() <= MOST_SHARED && is_smooth())
            .then(|| (Rounding::None, self.library(y, Rounding::None, all)))
    }

    /// Gives `run` the candidates for the times `y`; `None` if no parameter varies.
    pub fn with_screen<T>(&self, y: &[f64], may_fall: bool, run: impl FnOnce(Screen) -> T) -> Option<T> {
        let all = (1 << self.varying.len()) - 1;
        let mask = match self.sets.negative {
            NegativeExponents::Always => all,
            NegativeExponents::Never => 0,
            NegativeExponents::Auto if may_fall => all,
            NegativeExponents::Auto => self.falling(y),
        };
        let axis = |bit: usize| {
            let (l, negative) = (self.varying[bit], mask >> bit & 1 == 1);
            self.axes[2 * bit + usize::from(negative)]
                .get_or_init(|| Axis::new(&self.points, l, self.sets_of(l), negative))
        };
        let axes: Vec<&Axis> = (0..self.varying.len()).map(axis).collect();
        let (_, before) = axes.split_last()?;
        if axes.len() > MOST_SHARED {
            let kept = self.kept_factors(y, before);
            let heads = Heads::new(self.points.len(), before, &kept);
            return Some(run(Screen { axes: &axes, heads: &heads }));
        }
        let all = |axis: &&Axis| (0..axis.factors.len() as u16).collect();
        let heads = self.heads[mask & 1]
            .get_or_init(|| Heads::new(self.points.len(), before, &before.iter().map(all).collect::<Vec<_>>()));
        Some(run(Screen { axes: &axes, heads }))
    }

    /// The factors of each of `axes` that leave least when a constant and the factor are fitted to each line of `y`,
    /// and the simplest ones.
    fn kept_factors(&self, y: &[f64], axes: &[&Axis]) -> Vec<Vec<u16>> {
        let count = KEPT_FACTORS[(axes.len() - MOST_SHARED).min(KEPT_FACTORS.len() - 1)];
        let of_axis = |(bit, axis): (usize, &&Axis)| {
            let (mut lines, mut along) = (Cow::Borrowed(self.lines(bit)), y.to_vec());
            if lines.is_empty() {
                // Points that share no line are compared after the power of all other parameters was taken out.
                let slopes = self.slopes(y);
                for (v, x) in along.iter_mut().zip(&self.points) {
                    let others = (0..self.varying.len()).filter(|other| *other != bit);
                    *v /= others.map(|other| x[self.varying[other]].powf(slopes[other])).product::<f64>();
                }
                lines = Cow::Owned(vec![(0..y.len()).collect()]);
            }
            let mut scored: Vec<(f64, u16)> = Vec::new();
            for j in 0..axis.factors.len() as u16 {
                let values: Vec<f64> = (0..self.points.len()).map(|i| axis.at(i, j as usize)).collect();
                scored.push((lines.iter().map(|line| left_on_line(&along, &values, line)).sum(), j));
            }
            let mut simple: Vec<u16> = (0..axis.factors.len() as u16).collect();
            simple.sort_by(|&a, &b| axis.complexity[a as usize].total_cmp(&axis.complexity[b as usize]));
            simple.truncate(SIMPLE_FACTORS);
            scored.retain(|s| !simple.contains(&s.1));
            scored.sort_by(|a, b| a.0.total_cmp(&b.0));
            simple.into_iter().chain(scored.into_iter().take(count).map(|s| s.1)).collect()
        };
        axes.iter().enumerate().map(of_axis).collect()
    }

    fn library(&self, y: &[f64], rounding: Rounding, negative: usize) -> Arc<Library> {
        let factors = |kept: Option<usize>| -> Vec<Vec<FactorColumn>> {
            let of = |(bit, &l): (usize, &usize)| {
                let columns = factor_columns(&self.points, l, self.sets_of(l), negative >> bit & 1 == 1, rounding);
                match kept {
                    Some(count) => self.best_factors(y, bit, columns, count),
                    None => columns,
                }
            };
            self.varying.iter().enumerate().map(of).collect()
        };
        if self.varying.len() > MOST_SHARED {
            let kept = KEPT_FACTORS[(self.varying.len() - MOST_SHARED - 1).min(KEPT_FACTORS.len() - 1)];
            return Arc::new(Library::new(&self.points, &factors(Some(kept))));
        }
        let slot = (ROUNDINGS.iter().position(|r| *r == rounding).unwrap_or(0) << self.varying.len()) + negative;
        self.shared[slot].get_or_init(|| Arc::new(Library::new(&self.points, &factors(None)))).clone()
    }

    /// Bits of the varying parameters along which `y` falls by more than a tenth from the lowest to the highest value.
    fn falling(&self, y: &[f64]) -> usize {
        let mut mask = 0;
        for bit in 0..self.varying.len() {
            let (mut logs, mut lines) = (0.0, 0);
            for line in self.lines(bit) {
                let (first, last) = (line[0], line[line.len() - 1]);
                if y[first] > 0.0 && y[last] > 0.0 {
                    logs += (y[last] / y[first]).ln();
                    lines += 1;
                }
            }
            let falls = if lines == 0 { self.slopes(y)[bit] < -0.1 } else { logs / f64::from(lines) < -0.1 };
            mask |= usize::from(falls) << bit;
        }
        mask
    }

    /// Bits of the varying parameters along which counts `y` may have negative exponents: they level off, fall on a line from one value to the
    /// next, or on all lines from each to the next, however little, which is no noise then.
    fn not_rising(&self, y: &[f64]) -> usize {
        let falls = |line: &Vec<usize>, by: f64| line.windows(2).any(|pair| y[pair[1]] < (1.0 - by) * y[pair[0]]);
        let never_rises = |line: &Vec<usize>| falls(line, 0.0) && line.is_sorted_by(|&a, &b| y[a] >= y[b]);
        let little = |bit: usize| {
            let lines = self.lines(bit);
            lines.iter().any(|line| falls(line, FALL)) || !lines.is_empty() && lines.iter().all(never_rises)
        };
        let little: usize = (0..self.varying.len()).map(|bit| usize::from(little(bit)) << bit).sum();
        self.falling(y) | self.levelling(y) | little
    }

    /// Bits of the varying parameters along which `y` levels off, as the share `1 - 1/p` that a rank sends to others does: per doubling
    /// of the parameter it rises less beyond the middle than before it, by at least half as much in logarithms as that share.
    fn levelling(&self, y: &[f64]) -> usize {
        let levels_off = |bit: usize, l: usize| {
            let (mut rises, mut of_share) = ([0.0, 0.0], [0.0, 0.0]);
            for line in self.lines(bit) {
                let [first, middle, last] = [line[0], line[line.len() / 2], line[line.len() - 1]];
                let coordinate = |i: usize| self.points[i][l];
                for (half, [from, to]) in [[first, middle], [middle, last]].into_iter().enumerate() {
                    let doublings = coordinate(to).ln() - coordinate(from).ln();
                    rises[half] += (y[to] - y[from]) / doublings;
                    of_share[half] += (coordinate(from).recip() - coordinate(to).recip()) / doublings;
                }
            }
            rises[0] > 0.0 && rises[1] < (of_share[1] / of_share[0]).sqrt() * rises[0]
        };
        self.varying.iter().enumerate().map(|(bit, &l)| usize::from(levels_off(bit, l)) << bit).sum()
    }

    /// By varying parameter: the power of it that a product of powers fitted to the logarithms of `y` has; zeros where
    /// a coordinate or a value has no logarithm.
    fn slopes(&self, y: &[f64]) -> Vec<f64> {
        let mut columns = vec![vec![1.0; y.len()]];
        columns.extend(self.varying.iter().map(|&l| self.points.iter().map(|x| x[l].ln()).collect::<Vec<f64>>()));
        let logs: Vec<f64> = y.iter().map(|v| v.ln()).collect();
        if logs.iter().chain(columns.iter().flatten()).any(|v| !v.is_finite()) {
            return vec![0.0; self.varying.len()];
        }
        least_squares(&columns, &logs).split_off(1)
    }

    /// Groups of at least three points that differ in the varying parameter of this `bit` alone, each ascending in it.
    pub fn lines(&self, bit: usize) -> &[Vec<usize>] {
        self.lines[bit].get_or_init(|| {
            let l = self.varying[bit];
            roughness::lines(&self.points, l).into_iter().filter(|line| line.len() >= 3).collect()
        })
    }

    /// The constant factor and the `count` others that leave least when a constant and the factor are fitted to each
    /// line of `y`, plus those that are simplest.
    fn best_factors(&self, y: &[f64], bit: usize, columns: Vec<FactorColumn>, count: usize) -> Vec<FactorColumn> {
        let lines = self.lines(bit);
        let mut scored: Vec<(f64, f64, FactorColumn)> = Vec::new();
        for column in columns {
            let left = lines.iter().map(|line| left_on_line(y, &column.values, line)).sum();
            let complexity = column.factor.as_ref().map_or(0.0, |f| crate::library::complexity(&[*f]));
            scored.push((left, complexity, column));
        }
        scored.sort_by(|a, b| a.1.total_cmp(&b.1));
        let simple: Vec<_> = scored.drain(..scored.len().min(3)).collect();
        scored.sort_by(|a, b| a.0.total_cmp(&b.0));
        scored.truncate(count);
        simple.into_iter().chain(scored).map(|s| s.2).collect()
    }
}

/// The parameters that have more than one value.
fn varying(points: &[&[f64]]) -> Vec<usize> {
    let parameters = points.first().map_or(0, |x| x.len());
    (0..parameters).filter(|l| points.iter().any(|x| x[*l] != points[0][*l])).collect()
}

/// Square sum of relative residuals of a constant and `column` fitted to `y` on one line.
fn left_on_line(y: &[f64], column: &[f64], line: &[usize]) -> f64 {
    let weight = |i: usize| 1.0 / y[i].abs().max(1e-300);
    let columns =
        vec![line.iter().map(|&i| weight(i)).collect(), line.iter().map(|&i| weight(i) * column[i]).collect()];
    let data: Vec<f64> = line.iter().map(|&i| weight(i) * y[i]).collect();
    residual(&columns, &data, &least_squares(&columns, &data)).iter().map(|r| r * r).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effort::constant_count;
    use std::cell::Cell;

    #[test]
    fn equal_counts_are_searched_for_once() {
        let points: Vec<&[f64]> = vec![&[2.0], &[4.0], &[8.0]];
        let hypotheses = Hypotheses::new(points, &ExponentSets::default());
        let searches = Cell::new(0);
        let search = |y: [f64; 3]| {
            hypotheses.once(&y, || {
                searches.set(searches.get() + 1);
                constant_count(&y).into_iter().collect()
            })
        };
        assert_eq!(search([3.0; 3])[0].constant, 3.0);
        assert_eq!(search([5.0; 3])[0].constant, 5.0);
        assert_eq!(search([3.0; 3])[0].constant, 3.0);
        assert_eq!(searches.get(), 2);
    }
}
