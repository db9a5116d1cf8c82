//! Finds the function behind a count: counts have no noise, so a sum of terms either explains them to their own
//! precision or it is not the function.
//!
//! Terms are added one at a time to a few best sets at once, and exchanged while that helps. What a count may differ
//! from its function is the rounding of loop bounds, so each way of rounding is tried on its own; a way that makes the
//! difference vanish is taken for the truth, and the simplest such sum wins. Where none does, an information
//! criterion that knows how many hypotheses competed decides whether another term is worth having.

use crate::bounds;
use crate::library::{Library, Rounding, Shape};
use crate::linear::{least_squares, residual};
use std::sync::Arc;

/// Relative root mean square below which a sum explains a count exactly.
const EXACT: f64 = 1e-10;
/// Relative root mean square up to which a function gives values without noise.
pub(crate) const EXPLAINS: f64 = 1e-8;
/// Terms of less than this share everywhere are artefacts of double precision.
const NEGLIGIBLE: f64 = 1e-9;
/// An exact sum of no more terms than this is no accident, and no other way of rounding is tried.
const SETTLED: usize = 2;
/// So few values show whether a constant and one term give them exactly, and nothing more.
const FEWEST: usize = 3;
/// How many sums of two terms and more are pursued.
const BEAM: [usize; 3] = [6, 4, 4];
/// How many times the least that rounding causes a mean square may be to be explained by it.
const EXPLAINED: f64 = 4.0;
/// What a constant costs in the criterion beside the logarithm of the number of points.
const CONSTANT_PRICE: f64 = 2.0;
/// How many sums of a size have their terms exchanged.
const EXCHANGED: usize = 3;
/// How many continuations of each sum are looked at.
const CONTINUATIONS: usize = 6;
/// How many sums of a search are reported.
const REPORTED: usize = 4;
/// How many sums of each size are tried with rounded bounds.
const NEAR: usize = 16;
/// How many pairs of simple candidates are tried with rounded bounds, and how many are continued.
const PAIRS: usize = 48;
const CONTINUED_PAIRS: usize = 8;
/// Square of the sine of the angle below which two candidates are one.
const APART: f64 = 1e-8;

/// The function of a count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// Constant summand.
    pub constant: f64,
    /// The other summands.
    pub terms: Vec<(Shape, f64)>,
    /// Root mean square of the relative residuals.
    pub residual: f64,
    /// Whether the residual is that of double precision.
    pub exact: bool,
    /// The criterion; smaller is better.
    pub score: f64,
}

/// A count with what is known of its precision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count<'a> {
    /// Coordinates of the points.
    pub points: &'a [&'a [f64]],
    /// One value per point.
    pub y: &'a [f64],
    /// How many of the values can differ from a function independently of each other.
    pub independent: f64,
    /// By point: the step in which the count can change there, as far as its differences tell.
    pub steps: &'a [f64],
}

/// How the difference between a count and its function grows with the count: its power. The rounding of one loop is
/// the same everywhere, that of a loop inside another is multiplied by the outer one's trips.
const SPREADS: [f64; 3] = [0.0, 0.5, 1.0];

/// The powers under which sums are proposed.
const PROPOSING: [f64; 2] = [0.0, 1.0];

/// A sum of candidates on its way.
#[derive(Clone, Debug)]
struct State {
    /// Indices of candidates, ascending.
    selected: Vec<usize>,
    /// Orthonormal basis of the weighted columns, the constant's first.
    basis: Vec<Vec<f64>>,
    /// What the sum leaves of the weighted data.
    residual: Vec<f64>,
    /// Its square sum.
    rss: f64,
    /// Criterion.
    score: f64,
}

/// Buffers that searches reuse.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    squares: Vec<f64>,
    gains: Vec<f64>,
    norms: Vec<f64>,
    sums: Vec<f64>,
    weights: Vec<f64>,
    /// Those of searches in times.
    pub searched: crate::shape_search::Workspace,
    /// Those of searches as Extra-P does them.
    pub extra_p: crate::extra_p_space::Workspace,
}

/// Weights `1 / |y|`, zeros counting as a thousandth of the mean.
pub(crate) fn relative_weights(y: &[f64]) -> Vec<f64> {
    let mean = y.iter().map(|v| v.abs()).sum::<f64>() / y.len().max(1) as f64;
    y.iter().map(|v| if mean > 0.0 { 1.0 / v.abs().max(1e-3 * mean) } else { 1.0 }).collect()
}

/// The function behind a count: of all `libraries`, each with its way of rounding, the first that explains the count
/// exactly with few terms, or else the one of shortest description; runners-up follow. `propose` may name sums that are
/// worth trying, given the weights of the values, the mean square that rounding leaves of the weighted values, and
/// whether exponents may be negative.
/// Counts on full grids are tried by [`crate::separable`] before.
pub(crate) fn search(
    count: Count,
    libraries: impl IntoIterator<Item = (Rounding, Arc<Library>)>,
    maximum_terms: usize,
    propose: impl Fn(&[f64], f64, bool) -> Vec<Vec<Shape>>,
    workspace: &mut Workspace,
) -> Vec<Found> {
    if let Some(constant) = constant_count(count.y) {
        return vec![constant];
    }
    let relative = relative_weights(count.y);
    let mut found: Vec<Found> = Vec::new();
    let (mut explained, mut ways) = (false, 0);
    for (rounding, library) in libraries {
        // What differs by rounding alone needs no negative exponents, which come second, unless they give the values exactly.
        ways += usize::from(rounding == Rounding::None);
        let is_explained = explained && ways > 1 && rounding == Rounding::None;
        let weigh = |spread: f64| relative.iter().map(|w| w.powf(spread)).collect::<Vec<f64>>();
        let mut proposals: Vec<Vec<Shape>> = Vec::new();
        for weights in PROPOSING.map(weigh).iter().filter(|_| rounding == Rounding::None) {
            proposals.extend(propose(weights, rounding_floor(count.steps, weights), ways > 1));
        }
        // A way of rounding that is the right one leaves nothing, however the values are weighed.
        let spreads = if rounding == Rounding::None { &SPREADS[..] } else { &SPREADS[2..] };
        let mut near: Vec<Vec<Shape>> = Vec::new();
        for &spread in spreads {
            let weights = weigh(spread);
            let mut search = Search {
                independent: count.independent,
                floor: rounding_floor(count.steps, &weights),
                ..Search::new(count.y, &weights, &library, workspace)
            };
            (search.rounding, search.prices) = (rounding, Prices::COUNT);
            if rounding == Rounding::None {
                search.proposals.clone_from(&proposals);
                search.is_led = ways == 1 && !proposals.is_empty();
            }
            if rounding != Rounding::None || count.y.len() == FEWEST {
                search.prices.spare = 1;
            }
            search.pairs = spread == 1.0 && rounding == Rounding::None;
            let (states, pairs) = search.run(maximum_terms);
            let best: Vec<Found> = states.iter().take(REPORTED).map(|state| search.found(state)).collect();
            for selected in states.iter().map(|state| &state.selected).chain(&pairs) {
                let shapes = search.shapes(selected);
                if !near.contains(&shapes) {
                    near.push(shapes);
                }
            }
            explained |= best.first().is_some_and(|f| search.is_explained(f) && (f.exact || f.adds()));
            let settled = best.first().is_some_and(|f| f.exact && f.terms.len() <= SETTLED);
            let kept =
                |f: &Found| (f.exact || rounding == Rounding::None && !is_explained) && is_determined(f, count.y.len());
            found.extend(best.into_iter().filter(kept));
            if settled {
                return by_score(found);
            }
        }
        near.sort_by_key(Vec::len);
        if rounding == Rounding::None
            && let Some((constant, terms)) = bounds::exact(count.y, count.points, &near)
        {
            let mut exact = exact(constant, terms);
            exact.residual = exact.differs_by(count.points, count.y);
            found.push(exact);
            return by_score(found);
        }
    }
    by_score(found)
}

/// Whether so many values leave enough to agree: one if all coefficients are whole numbers of blocks, or there are no more and it agrees
/// exactly, which does not happen by chance, and two otherwise.
fn is_determined(found: &Found, values: usize) -> bool {
    let is_whole = |c: f64| c >= 0.0 && c.fract() == 0.0;
    let whole = is_whole(found.constant) && found.terms.iter().all(|t| is_whole(t.1));
    found.terms.len() + if found.exact && (whole || values == FEWEST) { 2 } else { 3 } <= values
}

/// Best first, every sum of the same terms once.
pub(crate) fn by_score(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by(|a, b| a.score.total_cmp(&b.score));
    let shapes = |f: &Found| f.terms.iter().map(|t| t.0.clone()).collect::<Vec<_>>();
    let mut seen: Vec<Vec<Shape>> = Vec::new();
    found.retain(|f| {
        let new = !seen.contains(&shapes(f));
        if new {
            seen.push(shapes(f));
        }
        new
    });
    found
}

/// Mean square of the weighted differences that rounding causes at least, which are uniform within a step.
fn rounding_floor(steps: &[f64], weights: &[f64]) -> f64 {
    weights.iter().zip(steps).map(|(w, step)| (w * step).powi(2)).sum::<f64>() / (12.0 * steps.len() as f64)
}

/// The greatest common divisor of all differences of whole values: whole counts are sums of whole numbers of
/// iterations, so a loop's share changes in multiples of what an iteration costs. Zero where values are not whole.
pub(crate) fn common_step(y: impl IntoIterator<Item = f64>) -> f64 {
    const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;
    let mut values = y.into_iter();
    let Some(first) = values.next() else { return 0.0 };
    let mut step = 0.0;
    for v in values.chain(std::iter::once(first)) {
        if v.fract() != 0.0 || v.abs() > EXACT_INTEGERS {
            return 0.0;
        }
        let (mut a, mut b) = ((v - first).abs(), step);
        while b != 0.0 {
            (a, b) = (b, a % b);
        }
        step = a;
    }
    step
}

/// What a term costs in the criterion.
#[derive(Clone, Copy, Debug)]
struct Prices {
    /// Per term, beside the logarithm of the number of points.
    term: f64,
    /// Per nat of complexity.
    complexity: f64,
    /// As many points as coefficients say nothing of noise; but how small the rounding of a count may be is known.
    least_freedom: f64,
    /// How many single terms are pursued.
    singles: usize,
    /// How many points must be left over to agree.
    spare: usize,
    /// Per negative coefficient: iterations add.
    negative: f64,
}

impl Prices {
    /// Counts differ from their functions systematically, so terms must be worth choosing from thousands.
    const COUNT: Self = Self { term: 8.0, complexity: 2.0, least_freedom: 1.0, singles: 64, spare: 2, negative: 20.0 };
    /// The noise of times is independent.
    const TIME: Self = Self { term: 2.0, complexity: 0.5, least_freedom: 1e-4, singles: 16, spare: 1, negative: 0.0 };
}

/// A count's function that was found to be exact, with its coefficients as whole as they can be.
pub(crate) fn exact_count(constant: f64, terms: Vec<(Shape, f64)>) -> Found {
    exact(snap(constant), terms.into_iter().map(|(shape, c)| (shape, snap(c))).collect())
}

/// A function that was found to be exact.
pub(crate) fn exact(constant: f64, mut terms: Vec<(Shape, f64)>) -> Found {
    sort_terms(&mut terms);
    Found { constant, terms, residual: 0.0, exact: true, score: f64::NEG_INFINITY }
}

fn sort_terms(terms: &mut [(Shape, f64)]) {
    terms.sort_by(|a, b| shape_order(&a.0).partial_cmp(&shape_order(&b.0)).unwrap_or(std::cmp::Ordering::Equal));
}

/// The constant that equals every value, if there is one.
pub(crate) fn constant_count(y: &[f64]) -> Option<Found> {
    let first = *y.first()?;
    let same = y.iter().all(|v| (v - first).abs() <= 1e-12 * first.abs());
    same.then_some(Found { constant: first, terms: Vec::new(), residual: 0.0, exact: true, score: f64::NEG_INFINITY })
}

/// One search in one library.
struct Search<'a> {
    y: &'a [f64],
    weights: &'a [f64],
    library: &'a Library,
    rounding: Rounding,
    prices: Prices,
    /// How many of the residuals are independent of each other.
    independent: f64,
    /// Mean square of weighted residuals that no function can be expected to go below.
    floor: f64,
    /// Mean square of the weighted data.
    size: f64,
    /// Sums that are worth trying.
    proposals: Vec<Vec<Shape>>,
    /// Whether those are found otherwise than one term after the other, so that exchanging their terms is enough.
    is_led: bool,
    /// Whether pairs of simple candidates are tried, which sums that grow one term at a time may miss.
    pairs: bool,
    workspace: &'a mut Workspace,
}

impl<'a> Search<'a> {
    /// A search in noisy values.
    fn new(y: &'a [f64], weights: &'a [f64], library: &'a Library, workspace: &'a mut Workspace) -> Self {
        let size = y.iter().zip(weights).map(|(y, w)| (y * w).powi(2)).sum::<f64>() / y.len() as f64;
        let (rounding, prices, independent) = (Rounding::None, Prices::TIME, y.len() as f64);
        let (proposals, is_led, pairs) = (Vec::new(), false, false);
        Self {
            y,
            weights,
            library,
            rounding,
            prices,
            independent,
            floor: 0.0,
            size,
            proposals,
            is_led,
            pairs,
            workspace,
        }
    }

    /// Sums that come near, best first, and further pairs that do.
    fn run(&mut self, maximum_terms: usize) -> (Vec<State>, Vec<Vec<usize>>) {
        let n = self.y.len();
        let most = maximum_terms.min(n.saturating_sub(1 + self.prices.spare));
        self.workspace.weights = self.weights.iter().map(|w| w * w).collect();
        self.library.square_sums(&self.workspace.weights, &mut self.workspace.squares);
        let mut beam = vec![self.constant_state()];
        let mut kept = beam.clone();
        let mut proposed = self.proposed(most);
        self.exchange(&mut proposed);
        kept.append(&mut proposed);
        let pairs = if self.pairs && most >= 2 { self.simple_pairs() } else { Vec::new() };
        let mut continued: Vec<State> = pairs.iter().take(CONTINUED_PAIRS).map(|pair| self.state_of(pair)).collect();
        if most >= 3 {
            continued.extend(self.longer(&continued, CONTINUED_PAIRS));
        }
        self.exchange(&mut continued);
        kept.append(&mut continued);
        for size in 1..=most {
            let singles = if self.is_led { BEAM[0] } else { self.prices.singles };
            let width = if size == 1 { singles } else { BEAM[(size - 2).min(BEAM.len() - 1)] };
            beam = self.longer(&beam, width);
            if size >= 2 && !self.is_led {
                self.exchange(&mut beam);
            }
            kept.extend(beam.iter().take(NEAR).cloned());
            if beam.iter().any(|s| self.is_exact(s)) || beam.is_empty() {
                break;
            }
        }
        kept.sort_by(|a, b| a.score.total_cmp(&b.score));
        (kept, pairs)
    }

    /// The terms of a sum.
    fn shapes(&self, selected: &[usize]) -> Vec<Shape> {
        selected.iter().map(|&j| self.library.shapes[j].clone()).collect()
    }

    /// The pairs of simple candidates that with a constant and positive coefficients leave least, best first.
    fn simple_pairs(&self) -> Vec<Vec<usize>> {
        let constant = self.constant_state();
        let unit = |j: usize| {
            let weighted: Vec<f64> =
                self.weights.iter().enumerate().map(|(i, w)| w * self.library.value(i, j)).collect();
            let column = remove(&weighted, &constant.basis[0]);
            let norm = dot(&column, &column).sqrt();
            (norm > APART * dot(&weighted, &weighted).sqrt()).then(|| column.iter().map(|v| v / norm).collect())
        };
        let simple = self.library.simplest().iter();
        let columns: Vec<(usize, Vec<f64>)> = simple.filter_map(|&j| Some((j, unit(j)?))).collect();
        let along: Vec<f64> = columns.iter().map(|(_, column)| dot(column, &constant.residual)).collect();
        let mut pairs: Vec<(f64, [usize; 2])> = Vec::new();
        for (b, (second, column)) in columns.iter().enumerate() {
            for (a, (first, other)) in columns[..b].iter().enumerate() {
                let cosine = dot(column, other);
                let sine = 1.0 - cosine * cosine;
                let (of_first, of_second) = (along[a] - cosine * along[b], along[b] - cosine * along[a]);
                if sine > APART && of_first > 0.0 && of_second > 0.0 {
                    let taken = (along[a] * of_first + along[b] * of_second) / sine;
                    pairs.push((-taken, [*first, *second]));
                }
            }
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let pairs = pairs.into_iter().map(|(_, pair)| pair.to_vec());
        let determined = |pair: &Vec<usize>| (0..2).all(|i| self.is_determined(&pair[..i], pair[i]));
        pairs.filter(determined).take(PAIRS).collect()
    }

    /// The proposed sums of at most `most` terms that are determined, best first.
    fn proposed(&self, most: usize) -> Vec<State> {
        let mut states: Vec<State> = Vec::new();
        for shapes in &self.proposals {
            let indices = shapes.iter().map(|s| self.library.position(s));
            let Some(mut selected) = indices.collect::<Option<Vec<usize>>>() else { continue };
            selected.sort_unstable();
            selected.dedup();
            let determined = (0..selected.len()).all(|i| self.is_determined(&selected[..i], selected[i]));
            if selected.len() <= most && determined && !states.iter().any(|s| s.selected == selected) {
                states.push(self.state_of(&selected));
            }
        }
        states.sort_by(|a, b| a.score.total_cmp(&b.score));
        states
    }

    fn is_exact(&self, state: &State) -> bool {
        self.is_exact_square(state.rss / self.y.len() as f64)
    }

    /// Whether rounding alone can be what the sum leaves.
    fn is_explained(&self, found: &Found) -> bool {
        found.residual.powi(2) * self.size < EXPLAINED * self.floor
    }

    fn is_exact_square(&self, mean: f64) -> bool {
        mean < EXACT * EXACT * self.size
    }

    fn constant_state(&self) -> State {
        let norm = self.weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        let basis: Vec<f64> = self.weights.iter().map(|w| w / norm).collect();
        let data: Vec<f64> = self.weights.iter().zip(self.y).map(|(w, y)| w * y).collect();
        let residual = remove(&data, &basis);
        self.complete(State { selected: Vec::new(), basis: vec![basis], residual, rss: 0.0, score: 0.0 })
    }

    /// Fills in residual sum and criterion.
    fn complete(&self, mut state: State) -> State {
        state.rss = dot(&state.residual, &state.residual);
        state.score = self.score(&state.selected, state.rss);
        if self.prices.negative > 0.0 && !state.selected.is_empty() {
            state.score += self.price_of_signs(&state);
        }
        state
    }

    /// What negative coefficients cost; a negative constant no more than leaving it out.
    fn price_of_signs(&self, state: &State) -> f64 {
        let coefficients = self.coefficients(&state.selected, true);
        let negative = coefficients[1..].iter().filter(|c| **c < 0.0).count() as f64;
        let constant = if coefficients[0] < 0.0 {
            let columns = self.columns(&state.selected);
            let without = least_squares(&columns, &self.data());
            let left = residual(&columns, &self.data(), &without);
            let more = self.score(&state.selected, dot(&left, &left)) - state.score;
            more.clamp(0.0, self.prices.negative)
        } else {
            0.0
        };
        negative * self.prices.negative + constant
    }

    /// Twice the description length of data and sum: the residuals' (corrected for few points), and each term's.
    fn score(&self, selected: &[usize], rss: f64) -> f64 {
        let n = self.independent;
        let k = selected.len() as f64;
        let complexity: f64 = selected.iter().map(|&j| self.library.complexity[j]).sum();
        let mean = rss / self.y.len() as f64;
        let exact = self.is_exact_square(mean);
        let choice = if self.rounding == Rounding::None { 0.0 } else { 2.0 };
        let freedom = (n - k - 3.0).max(self.prices.least_freedom);
        let few_points = if exact || k == 0.0 { 0.0 } else { 2.0 * (k + 2.0) * (k + 3.0) / freedom };
        let residual = if exact { EXACT * EXACT * self.size } else { mean + self.floor };
        n * (residual.ln() + self.volume())
            + k * (n.ln() + self.prices.term)
            + self.prices.complexity * complexity
            + few_points
            + choice
    }

    /// Mean logarithm of the squared unit of the weighted data: it makes scores under different weights comparable.
    fn volume(&self) -> f64 {
        -2.0 * self.weights.iter().map(|w| w.ln()).sum::<f64>() / self.y.len() as f64
    }

    /// The best sums with one more term.
    fn longer(&mut self, beam: &[State], width: usize) -> Vec<State> {
        let mut candidates: Vec<(f64, usize, usize)> = Vec::new();
        for (parent, state) in beam.iter().enumerate() {
            let count = if beam.len() == 1 { width } else { CONTINUATIONS };
            candidates.extend(self.continuations(state, count).into_iter().map(|(rss, j)| (rss, parent, j)));
        }
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut longer: Vec<State> = Vec::with_capacity(width);
        for (_, parent, j) in candidates {
            if longer.len() == width {
                break;
            }
            let state = self.extend(&beam[parent], j);
            if !longer.iter().any(|s| s.selected == state.selected) {
                longer.push(state);
            }
        }
        longer.sort_by(|a, b| a.score.total_cmp(&b.score));
        longer
    }

    /// The `count` candidates that leave least of `state`'s residual, each with the square sum that would be left.
    fn continuations(&mut self, state: &State, count: usize) -> Vec<(f64, usize)> {
        let mut workspace = std::mem::take(self.workspace);
        let best = self.continuations_in(&mut workspace, state, count);
        *self.workspace = workspace;
        best
    }

    fn continuations_in(&self, w: &mut Workspace, state: &State, count: usize) -> Vec<(f64, usize)> {
        weigh(self.weights, &state.residual, &mut w.weights);
        self.library.sums(&w.weights, &mut w.gains);
        w.norms.clone_from(&w.squares);
        for q in &state.basis {
            weigh(self.weights, q, &mut w.weights);
            self.library.sums(&w.weights, &mut w.sums);
            w.norms.iter_mut().zip(&w.sums).for_each(|(norm, s)| *norm -= s * s);
        }
        let room = Room::beside(&state.selected, self.library);
        let mut best: Vec<(f64, usize)> = Vec::with_capacity(count + 1);
        for (j, ((gain, norm), square)) in w.gains.iter().zip(&w.norms).zip(&w.squares).enumerate() {
            // Columns that the sum contains already would only amplify rounding.
            if *norm <= 1e-11 * square {
                continue;
            }
            let left = state.rss - gain * gain / norm;
            if (best.len() < count || left < best[best.len() - 1].0) && room.has(j) {
                let at = best.partition_point(|b| b.0 <= left);
                best.insert(at, (left, j));
                best.truncate(count);
            }
        }
        best
    }

    /// Whether candidate `j` finds room in the sum of `selected`.
    fn is_determined(&self, selected: &[usize], j: usize) -> bool {
        Room::beside(selected, self.library).has(j)
    }

    /// `state` with candidate `j` added.
    fn extend(&self, state: &State, j: usize) -> State {
        let mut column: Vec<f64> = self.weights.iter().enumerate().map(|(i, w)| w * self.library.value(i, j)).collect();
        // Twice is enough: Gram-Schmidt repeated once is orthogonal to machine precision.
        for _ in 0..2 {
            for q in &state.basis {
                column = remove(&column, q);
            }
        }
        let norm = dot(&column, &column).sqrt().max(f64::MIN_POSITIVE);
        column.iter_mut().for_each(|v| *v /= norm);
        let mut next = state.clone();
        next.residual = remove(&state.residual, &column);
        next.basis.push(column);
        next.selected.push(j);
        next.selected.sort_unstable();
        self.complete(next)
    }

    /// The sum of these candidates from scratch.
    fn state_of(&self, selected: &[usize]) -> State {
        selected.iter().fold(self.constant_state(), |state, &j| self.extend(&state, j))
    }

    /// Replaces single terms of the best sums as long as that lowers the residual.
    fn exchange(&mut self, beam: &mut Vec<State>) {
        for index in 0..beam.len().min(EXCHANGED) {
            let mut state = beam[index].clone();
            for _ in 0..6 {
                if self.is_exact(&state) {
                    break;
                }
                let Some(better) = self.exchanged(&state) else { break };
                state = better;
            }
            if state.selected != beam[index].selected {
                beam.push(state);
            }
        }
        beam.sort_by(|a, b| a.score.total_cmp(&b.score));
        beam.dedup_by(|a, b| a.selected == b.selected);
    }

    /// The best sum that differs from `state` in one term, if it is better.
    fn exchanged(&mut self, state: &State) -> Option<State> {
        let mut best: Option<State> = None;
        for &out in &state.selected {
            let rest: Vec<usize> = state.selected.iter().copied().filter(|&j| j != out).collect();
            let rest = self.state_of(&rest);
            for (_, j) in self.continuations(&rest, 2) {
                let candidate = self.extend(&rest, j);
                let limit = best.as_ref().map_or(state.score, |b| b.score);
                if candidate.score < limit - 1e-9 {
                    best = Some(candidate);
                }
            }
        }
        best
    }

    /// Coefficients in the data's own unit, without terms that are artefacts.
    fn found(&self, state: &State) -> Found {
        let mut selected = state.selected.clone();
        let exact = self.is_exact(state);
        let with_constant = exact || !self.explains_without_constant(state);
        let coefficients = loop {
            let coefficients = self.coefficients(&selected, with_constant);
            let negligible = |(i, &j): (usize, &usize)| {
                let share = |(point, w): (usize, &f64)| (w * coefficients[i + 1] * self.library.value(point, j)).abs();
                self.weights.iter().enumerate().map(share).fold(0.0, f64::max) < NEGLIGIBLE
            };
            match selected.iter().enumerate().position(negligible) {
                Some(i) => selected.remove(i),
                None => break coefficients,
            };
        };
        let clean = |c: f64| if exact { snap(c) } else { c };
        let largest = self.y.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let constant = if coefficients[0].abs() < NEGLIGIBLE * largest { 0.0 } else { clean(coefficients[0]) };
        let mut terms: Vec<(Shape, f64)> = selected
            .iter()
            .zip(&coefficients[1..])
            .map(|(&j, c)| (self.library.shapes[j].clone(), clean(c / self.library.scales[j])))
            .collect();
        sort_terms(&mut terms);
        Found {
            constant,
            terms,
            residual: (state.rss / self.y.len() as f64 / self.size).sqrt(),
            exact,
            score: state.score,
        }
    }

    /// Whether the sum explains a count nearly as well without its constant.
    fn explains_without_constant(&self, state: &State) -> bool {
        if self.floor == 0.0 || state.selected.is_empty() {
            return false;
        }
        let points = self.y.len() as f64;
        let coefficients = self.coefficients(&state.selected, false);
        let columns = self.columns(&state.selected);
        let left = residual(&columns, &self.data(), &coefficients[1..]);
        let (with, without) = (state.rss / points, dot(&left, &left) / points);
        let gain = self.independent * ((without + self.floor) / (with + self.floor)).ln();
        gain < self.independent.ln() + CONSTANT_PRICE
    }

    /// Coefficients of the constant and of these candidates' scaled columns.
    fn coefficients(&self, selected: &[usize], with_constant: bool) -> Vec<f64> {
        let mut columns = self.columns(selected);
        if with_constant || selected.is_empty() {
            columns.insert(0, self.weights.to_vec());
            return least_squares(&columns, &self.data());
        }
        std::iter::once(0.0).chain(least_squares(&columns, &self.data())).collect()
    }

    /// These candidates' weighted columns.
    fn columns(&self, selected: &[usize]) -> Vec<Vec<f64>> {
        let column = |&j: &usize| self.weights.iter().enumerate().map(|(i, w)| w * self.library.value(i, j)).collect();
        selected.iter().map(column).collect()
    }

    /// The weighted values.
    fn data(&self) -> Vec<f64> {
        self.weights.iter().zip(self.y).map(|(w, y)| w * y).collect()
    }
}

/// For which candidates a sum has room: each parameter has more values than factors in the sum, the constant one included, since with as many
/// any data are explained. A factor that is rounded counts twice: of its many columns one fits a few values by chance.
struct Room<'a> {
    library: &'a Library,
    /// By parameter, the different factors of the sum.
    factors: Vec<Vec<u32>>,
    /// By parameter, how many more factors its values allow; below zero where those of the sum are too many.
    left: Vec<i64>,
}

impl<'a> Room<'a> {
    /// That of the sum of the candidates `selected`.
    fn beside(selected: &[usize], library: &'a Library) -> Self {
        let mut factors = vec![Vec::new(); library.values_per_parameter.len()];
        let mut left: Vec<i64> = library.values_per_parameter.iter().map(|&values| values as i64 - 2).collect();
        for &j in selected {
            for (parameter, &factor) in library.factors(j).iter().enumerate() {
                if factor != 0 && !factors[parameter].contains(&factor) {
                    factors[parameter].push(factor);
                    left[parameter] -= 1 + i64::from(library.is_rounded(factor));
                }
            }
        }
        Self { library, factors, left }
    }

    /// Whether there is room for candidate `j`.
    fn has(&self, j: usize) -> bool {
        self.library.factors(j).iter().zip(&self.factors).zip(&self.left).all(|((&factor, known), &left)| {
            let more = || if known.contains(&factor) { 0 } else { 1 + i64::from(self.library.is_rounded(factor)) };
            factor == 0 || more() <= left
        })
    }
}

/// Terms print in order of parameters and growth.
fn shape_order(shape: &Shape) -> Vec<(usize, f64)> {
    let exponent = |f: &crate::model::Factor| f64::from(*f.exponent.numer()) / f64::from(*f.exponent.denom());
    shape.iter().map(|f| (f.parameter, exponent(f) + 0.01 * f64::from(f.log_exponent))).collect()
}

/// Coefficients of exact counts are block counts per iteration: whole, or ratios of small numbers.
fn snap(coefficient: f64) -> f64 {
    for denominator in [1.0, 2.0, 3.0, 4.0, 6.0, 8.0] {
        let whole = (coefficient * denominator).round();
        if whole != 0.0 && (coefficient * denominator - whole).abs() < 1e-7 * whole.abs().min(1e3) {
            return whole / denominator;
        }
    }
    coefficient
}

fn weigh(weights: &[f64], values: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.extend(weights.iter().zip(values).map(|(w, v)| w * v));
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `a` without its part along the unit vector `q`.
fn remove(a: &[f64], q: &[f64]) -> Vec<f64> {
    let along = dot(a, q);
    a.iter().zip(q).map(|(x, y)| x - along * y).collect()
}
