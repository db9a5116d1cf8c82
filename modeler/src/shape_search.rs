//! Searches the shape of a time in the times themselves, where no effort was measured.
//!
//! All products of one factor per parameter are screened at once ([`crate::screen`]), alone, with a constant and beside
//! the best of them; where functions of one parameter each would add up to the times better, also beside the best of
//! these; and with three or four parameters beside the products of parameters themselves. The finalists are fitted with
//! weights relative to the fitted values, and the one of the shortest description wins: that of the residuals, of the
//! coefficients and of the terms, so that the less the noise leaves to tell shapes apart, the more simplicity counts. Coefficients are
//! non-negative, so no prediction is negative where all parameters are positive; but of one parameter a constant less one term
//! competes where values fall.

use crate::coefficients::{combine, measured_weights, weighted_fit};
use crate::effort::EXPLAINS;
use crate::hypotheses::Hypotheses;
use crate::library::{Shape, complexity};
use crate::linear::{MOST_COLUMNS, Orthonormal};
use crate::model::{Role, Scale, Term, term_of_one, value_at};
use crate::priors::Group;
use crate::quality::left_out_errors;
use crate::screen::{Axis, Base, Buffers, COMPLEXITY_PRICE, Product, Screen, Screening, Worth};
use crate::wide::wide;
use smallvec::SmallVec;

/// Finalists that are fitted with weights relative to the fitted values.
const FINALISTS: usize = 8;
/// So many of them are fitted however much worse than the best they score; further ones only where they are worse by less
/// than this: about a hundredth as probable as the best, from which on rivals count.
const ALWAYS_FITTED: usize = 4;
const WORTH_FITTING: f64 = 9.0;
/// Products that a sum has at most.
pub(crate) const MOST_PRODUCTS: usize = 2;
/// How many single terms are looked at, with a constant and without.
const SINGLES: usize = 12;
/// How many of them are continued.
const CONTINUED: usize = 2;
/// How many continuations of each are looked at.
const CONTINUATIONS: usize = 6;
/// Relative deviation below which noise hides little.
const QUIET: f64 = 0.01;
/// How often the functions of all parameters are fitted in turn to what the others leave, at most, and the share of what was left
/// before from which on doing so again changes little.
const MOST_BACKFITS: usize = 20;
const BACKFITTED: f64 = 0.8;
/// With so many parameters sums that begin with a product of parameters themselves are tried too (of more there are too many such
/// products), of which those count that are better than all others by this much before they are fitted relative to their own values:
/// the more sums are tried, the better they follow chance.
const MANY_PARAMETERS: std::ops::RangeInclusive<usize> = 3..=4;
pub(crate) const PLAIN_PRICE: f64 = 12.0;
/// How often terms of the best sum of two are exchanged.
const MOST_EXCHANGES: usize = 4;
/// What a coefficient costs in the criterion beside the logarithm of the number of points.
const COEFFICIENT_PRICE: f64 = 2.0;
/// Degrees of freedom that a sum of one term is taken to leave at least: with fewer, four points could never show growth.
const LEAST_FREEDOM: f64 = 4.0;
/// Weights that change by less make no other fit.
const SETTLED: f64 = 0.01;
/// What is left of values below this is their rounding, and a summand of no more than so many times that explains
/// nothing else.
const EXACT: f64 = 1e-6;
const OF_ROUNDING: f64 = 10.0;
/// Screens cannot tell smaller mean squares of relative residuals from rounding.
const FINEST_SCREENED: f64 = 1e-14;
/// Nor can fits.
const FINEST_FITTED: f64 = 1e-22;
/// Screens that leave less than so many times what they can tell from rounding may have found exact sums.
const NEARLY_EXACT: f64 = 1e4;
/// With so many values of each parameter no sum of two products explains any data whatever.
const TELLING_LEVELS: usize = 4;
/// Fewer values of a parameter do not tell a fall to zero from one that ends before.
const TELLING_FALL: usize = 5;
/// What a function that falls to zero must gain beside what it costs: all that add stay above zero, as times do. With 6 functions that fall
/// linearly are followed about twice as often as with 12 where noise is 2 %, and of fourteen that level off, or grow, the intervals one step
/// on hold as many of what is measured.
const FALL_PRICE: f64 = 6.0;

/// A shape with what speaks for it.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Constant and terms, fitted.
    pub constant: f64,
    /// Terms with coefficients.
    pub terms: Vec<Term>,
    /// Its values at the points.
    pub fitted: Vec<f64>,
    /// Mean squared relative error at points left out one at a time.
    pub left_out: f64,
    /// The search's criterion.
    pub score: f64,
}

impl Candidate {
    /// The sum of a constant and these products for the values `y` at `points`, each of this relative variance: fitted relative to its own
    /// values, without summands that add nothing. `None` where a value alone determines a coefficient.
    pub fn of_sum(products: &[Shape], points: &[&[f64]], y: &[f64], variance: f64) -> Option<Self> {
        let of_shape = |shape: &Shape| Term { factors: shape.clone(), ..term_of_one() };
        let terms: Vec<Term> = std::iter::once(term_of_one()).chain(products.iter().map(of_shape)).collect();
        let columns: Vec<Vec<f64>> = terms.iter().map(|term| points.iter().map(|x| term.at(x)).collect()).collect();
        let coefficients = weighted_fit(&columns, y);
        let fitted = combine(&columns, &coefficients);
        let summands = terms.into_iter().zip(columns).zip(coefficients).filter(|(_, coefficient)| *coefficient > 0.0);
        let (mut terms, columns): (Vec<Term>, Vec<Vec<f64>>) =
            summands.map(|((term, column), coefficient)| (Term { coefficient, ..term }, column)).unzip();
        let n = y.len() as f64;
        let mean = |errors: &mut dyn Iterator<Item = f64>| errors.map(|e| e * e).sum::<f64>() / n;
        let left_out = mean(&mut left_out_errors(&columns, y, &fitted)?.into_iter());
        let missed = mean(&mut y.iter().zip(&fitted).map(|(y, f)| y / f - 1.0));
        let complexity: f64 = terms.iter().map(|term| complexity(&term.factors)).sum();
        let price = coefficient_price(y.len()) * terms.len() as f64 + COMPLEXITY_PRICE * complexity;
        let score = n * missed.max(variance).max(FINEST_FITTED).ln() + price;
        let constant = terms.extract_if(.., |term| term.factors.is_empty()).map(|term| term.coefficient).sum();
        Some(Self { constant, terms, fitted, left_out, score })
    }

    /// Value at `x`.
    pub fn at(&self, x: &[f64]) -> f64 {
        value_at(self.constant, &self.terms, x)
    }

    /// The summands that may each have a coefficient, which is not negative: what a term takes off is written as what is left until
    /// its end, where the least of the fitted values is the constant.
    pub fn basis(&self) -> Vec<Group> {
        let mut basis: Vec<Group> = Vec::new();
        if self.constant != 0.0 || self.terms.is_empty() {
            basis.push(Group { terms: vec![term_of_one()] });
        }
        basis.extend(self.terms.iter().map(|t| match self.until(t) {
            Some(until) => Group {
                terms: vec![Term { coefficient: -1.0, ..t.clone() }, Term { coefficient: until, ..term_of_one() }],
            },
            None => Group { terms: vec![Term { coefficient: 1.0, ..t.clone() }] },
        }));
        basis
    }

    /// The coefficients of [`Self::basis`].
    pub fn of_basis(&self) -> Vec<f64> {
        let falls = self.terms.iter().any(|t| self.until(t).is_some());
        let constant = if falls { self.least() } else { self.constant };
        let terms = self.terms.iter().map(|t| if self.until(t).is_some() { -t.coefficient } else { t.coefficient });
        let has_constant = self.constant != 0.0 || self.terms.is_empty();
        has_constant.then_some(constant).into_iter().chain(terms).collect()
    }

    /// The value of the factors of `term` at the end of a fall, where it takes something off the constant.
    fn until(&self, term: &Term) -> Option<f64> {
        let falls = term.coefficient < 0.0 && self.constant > self.least();
        falls.then(|| (self.constant - self.least()) / -term.coefficient)
    }

    /// The least of the fitted values.
    fn least(&self) -> f64 {
        self.fitted.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// How many summands there are.
    pub fn coefficients(&self) -> usize {
        self.terms.len() + usize::from(self.constant != 0.0)
    }

    /// Whether it gives the values without any noise.
    pub fn is_exact(&self) -> bool {
        self.left_out.sqrt() < EXPLAINS
    }
}

/// Buffers that searches of one thread reuse.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    buffers: Buffers,
    columns: Orthonormal,
    /// The values of a sum's products, one after the other.
    products: Vec<f64>,
    residual: Vec<f64>,
    weights: Vec<f64>,
    fitted: Vec<f64>,
    values: Vec<f64>,
    leverages: Vec<f64>,
    sums: Vec<Sum>,
    singles: Vec<Sum>,
}

/// A sum of the constant and products, or of products alone.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sum {
    constant: bool,
    products: [Option<Product>; MOST_PRODUCTS],
    /// Mean square of the relative residuals.
    mean: f64,
    /// The criterion.
    score: f64,
}

impl Sum {
    fn terms(&self) -> usize {
        self.products.iter().flatten().count()
    }

    fn is_like(&self, other: &Self) -> bool {
        self.constant == other.constant && self.products == other.products
    }
}

/// Adds sums to some in the order of their criterion, each once, those that are equal behind.
fn sort_in(sums: &mut Vec<Sum>, more: impl IntoIterator<Item = Sum>) {
    for sum in more {
        if let Some(known) = sums.iter().position(|known| known.is_like(&sum)) {
            if sums[known].score <= sum.score {
                continue;
            }
            sums.remove(known);
        }
        let at = sums.partition_point(|s| s.score.total_cmp(&sum.score).is_le());
        sums.insert(at, sum);
    }
}

/// The criterion above which no sum beside these, which are in its order, is fitted.
fn last_score(sums: &[Sum]) -> f64 {
    let last = sums.get(FINALISTS - 1).map_or(f64::INFINITY, |sum| sum.score);
    sums.get(ALWAYS_FITTED - 1).map_or(last, |sure| last.min(sure.score.max(sums[0].score + WORTH_FITTING)))
}

/// Which sums a search looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Extent<'a> {
    /// Those that begin with what is near alone.
    Usual,
    /// All of two factors of the one parameter, falling ones among them, where values tell that the usual one is not theirs: neither of two need
    /// be near alone, as in `1/p + log2(p)` about its least value.
    AllSums,
    /// Also those that begin with these products of several parameters, which fit values along lines together though none may be near alone, as
    /// in `n log2(n)/p + log2(p)`.
    Proposed(&'a [Shape]),
}

/// Shapes for the times `y`, one value per point: the chosen one first, the others by their criterion. Residuals are
/// weighed with the values to the power of minus `power`: one where noise is relative, less where larger values are to be
/// trusted more. `variance` is the relative one of a value as repetitions tell it, below which residuals say nothing for a term, and zero where
/// only residuals tell it.
pub(crate) fn search(
    hypotheses: &Hypotheses,
    y: &[f64],
    power: f64,
    (extent, variance): (Extent<'_>, f64),
    workspace: &mut Workspace,
) -> Vec<Candidate> {
    let mut weights = measured_weights(y);
    if power != 1.0 {
        let values: Vec<f64> = weights.iter().map(|w| 1.0 / w).collect();
        reweigh(&values, power, &mut weights);
    }
    let coefficient_price = coefficient_price(y.len());
    let run = |screen: Screen| {
        Search { screen, y, weights: &weights, power, coefficient_price, extent, variance }.run(workspace)
    };
    hypotheses.with_screen(y, extent != Extent::Usual, run).unwrap_or_default()
}

/// What a coefficient costs in the criterion beside so many values.
fn coefficient_price(values: usize) -> f64 {
    (values as f64).ln() + COEFFICIENT_PRICE
}

/// Weights that go with the values to the power of minus `power`, and make a relative residual that is the same
/// everywhere count as it is.
fn reweigh(values: &[f64], power: f64, weights: &mut [f64]) {
    if power == 1.0 {
        weights.iter_mut().zip(values).for_each(|(w, v)| *w = 1.0 / v);
        return;
    }
    weights.iter_mut().zip(shares(values, power)).zip(values).for_each(|((w, share), v)| *w = share.sqrt() / v);
}

/// How much each squared relative residual of these values counts: one on average.
pub(crate) fn shares(values: &[f64], power: f64) -> Vec<f64> {
    let shares: Vec<f64> = values.iter().map(|v| v.abs().powf(2.0 - 2.0 * power)).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    shares.iter().map(|s| s / mean).collect()
}

wide! {
    /// The values that are fitted to `y` where `residual` is left of the weighted ones; whether all are above `floor`.
    fn fitted_values(of: (&[f64], &[f64], &[f64]), fitted: &mut [f64], floor: f64) -> bool {
        let (y, weights, residual) = of;
        let mut is_low = false;
        for (((fitted, y), weight), left) in fitted.iter_mut().zip(y).zip(weights).zip(residual) {
            *fitted = y - left / weight;
            is_low |= *fitted <= floor;
        }
        !is_low
    }
}

wide! {
    /// Whether weights changed by so little that they make no other fit.
    fn is_settled(before: &[f64], after: &[f64]) -> bool {
        let mut settled = true;
        for (before, after) in before.iter().zip(after) {
            settled &= (before / after - 1.0).abs() < SETTLED;
        }
        settled
    }
}

wide! {
    /// Squares of the relative residuals of `y`, and in the place of the leverages those of the residuals that refits without the
    /// point would leave there.
    fn squares(y: &[f64], fitted: &[f64], of_residuals: &mut [f64], leverages: &mut [f64]) {
        for (((y, fitted), square), leverage) in y.iter().zip(fitted).zip(of_residuals).zip(leverages) {
            let off = y / fitted - 1.0;
            *leverage = (off / (1.0 - *leverage)).powi(2);
            *square = off.powi(2);
        }
    }
}

/// A function of one parameter: by its value how large it is and what all points of that count for.
type Part = SmallVec<[(f64, f64); 8]>;

struct Search<'a> {
    screen: Screen<'a>,
    y: &'a [f64],
    weights: &'a [f64],
    power: f64,
    /// What a coefficient costs in the criterion.
    coefficient_price: f64,
    extent: Extent<'a>,
    /// Relative variance of a value; zero where only residuals tell it.
    variance: f64,
}

impl Search<'_> {
    fn run(&self, w: &mut Workspace) -> Vec<Candidate> {
        let mut sums = self.finalists(w);
        let worst = sums.first().map_or(0.0, |best| best.score) + WORTH_FITTING;
        sums.truncate(sums.partition_point(|s| s.score <= worst).max(ALWAYS_FITTED));
        let mut candidates = Vec::with_capacity(sums.len());
        // Sums that are about as near have about the same values: the weights of the first that is accepted are where the others begin.
        let mut begin: SmallVec<[f64; 32]> = SmallVec::from_slice(self.weights);
        for sum in &sums {
            w.weights.clear();
            w.weights.extend_from_slice(if sum.score <= worst { &begin } else { self.weights });
            let candidate = self.candidate(sum, false, w);
            if candidates.is_empty() && candidate.is_some() {
                begin.copy_from_slice(&w.weights);
            }
            candidates.extend(candidate);
        }
        candidates.sort_by(|a, b| a.score.total_cmp(&b.score));
        let best = candidates.first().map_or(f64::INFINITY, |best| best.score);
        let mut falling = self.falling(w);
        falling.retain(|falling| falling.score < best);
        candidates.splice(..0, falling);
        candidates
    }

    /// A constant less a factor of the one parameter, where the values fall, the best first: what is shared out among more falls in other
    /// ways, but what is handed over, such as the part of the work that another device does, leaves the less the more that is.
    fn falling(&self, w: &mut Workspace) -> Vec<Candidate> {
        let &[axis] = self.screen.axes else { return Vec::new() };
        if axis.levels() < TELLING_FALL || !axis.falls(self.y) {
            return Vec::new();
        }
        let growing = (1..axis.factors.len()).filter(|j| axis.grows(*j));
        let mut falling: Vec<Candidate> = growing
            .filter_map(|j| {
                let products = [Some(self.screen.pure(0, j)?), None];
                w.weights.clear();
                w.weights.extend_from_slice(self.weights);
                let found = self.candidate(&Sum { constant: true, products, mean: 0.0, score: 0.0 }, true, w)?;
                Some(Candidate { score: found.score + FALL_PRICE, ..found })
            })
            .collect();
        falling.sort_by(|a, b| a.score.total_cmp(&b.score));
        falling.truncate(ALWAYS_FITTED);
        falling
    }

    fn finalists(&self, w: &mut Workspace) -> SmallVec<[Sum; FINALISTS]> {
        let (mut sums, mut singles) = (std::mem::take(&mut w.sums), std::mem::take(&mut w.singles));
        self.collect(&mut sums, &mut singles, w);
        let finalists = sums.iter().take(FINALISTS).copied().collect();
        (w.sums, w.singles) = (sums, singles);
        finalists
    }

    /// Fills in the sums that may be finalists, and the single terms that were continued first, both in the order of the criterion.
    fn collect(&self, sums: &mut Vec<Sum>, singles: &mut Vec<Sum>, w: &mut Workspace) {
        let constant = Sum { constant: true, products: [None; 2], mean: 0.0, score: 0.0 };
        let nothing = Sum { constant: false, ..constant };
        self.singles([&nothing, &constant], FINALISTS, singles, w);
        sums.clear();
        sums.extend_from_slice(singles);
        sort_in(sums, [self.scored(constant, self.rss(&constant, w), FINEST_SCREENED)]);
        let mut i = 0;
        while i < singles.len() {
            if i >= CONTINUED {
                let best = sums.iter().map(|s| s.mean).fold(f64::INFINITY, f64::min);
                // Where noise does not hide it, the right sum may hold a term that alone is not among the best.
                if best > QUIET * QUIET || best <= FINEST_SCREENED {
                    break;
                }
                if i == CONTINUED {
                    self.singles([&nothing, &constant], SINGLES, singles, w);
                }
            }
            let longer = self.longer(&singles[i], CONTINUATIONS, last_score(sums), false, w);
            sort_in(sums, longer);
            i += 1;
        }
        let mut continued: SmallVec<[Sum; SINGLES]> = SmallVec::from_slice(&singles[..i]);
        self.add_up(&mut continued, sums, w);
        self.exchange(&continued, sums, w);
        self.begin_plainly(&continued, sums, w);
        self.begin_with_two_values(sums, w);
        match self.extent {
            Extent::Usual => {}
            Extent::AllSums => {
                let axis = self.screen.axes[0];
                self.begin_with((1..axis.factors.len()).filter_map(|j| self.screen.pure(0, j)), sums, w);
            }
            Extent::Proposed(products) => {
                self.begin_with(products.iter().filter_map(|shape| self.screen.product(shape)), sums, w);
            }
        }
        // Beside an exact sum a constant may be nothing but rounding, which is no summand.
        let exact = sums.iter().filter(|sum| sum.constant && sum.terms() > 0 && sum.mean <= FINEST_SCREENED);
        let exact: SmallVec<[Sum; FINALISTS]> =
            exact.take(FINALISTS).map(|sum| Sum { constant: false, ..*sum }).collect();
        for bare in exact {
            let rss = self.rss(&bare, w);
            sort_in(sums, [self.scored(bare, rss, FINEST_SCREENED)]);
        }
    }

    /// Continues the best function of each parameter alone, where functions of one parameter each would add up to the data better
    /// than the best sum does: such a sum is near no product.
    fn add_up(&self, continued: &mut SmallVec<[Sum; SINGLES]>, sums: &mut Vec<Sum>, w: &mut Workspace) {
        for product in self.addends(&sums[0]) {
            for constant in [true, false] {
                let start = Sum { constant, products: [Some(product), None], mean: 0.0, score: 0.0 };
                if !continued.iter().any(|known| known.is_like(&start)) {
                    let longer = self.longer(&start, CONTINUATIONS, last_score(sums), false, w);
                    sort_in(sums, longer);
                    continued.push(start);
                }
            }
        }
    }

    /// By parameter the product that is closest to its part of the data where these are taken for a sum of functions of one parameter
    /// each, whatever they are; none where such functions would leave more than the sum `best`. They are found by backfitting (Breiman
    /// and Friedman, Journal of the American Statistical Association 80, 1985): each in turn is the mean of what the others leave.
    fn addends(&self, best: &Sum) -> SmallVec<[Product; 4]> {
        let (axes, n) = (self.screen.axes, self.y.len());
        if axes.len() < 2 || best.mean <= FINEST_SCREENED {
            return SmallVec::new();
        }
        let free = 1 + axes.iter().map(|axis| axis.levels() - 1).sum::<usize>();
        let squares: Vec<f64> = self.weights.iter().map(|w| w * w).collect();
        let mut left = self.y.to_vec();
        // By axis and value: the function so far, and what all points of the value count for.
        let mut parts: SmallVec<[Part; 4]> = axes.iter().map(|axis| self.no_part(axis, &squares)).collect();
        let mut means: SmallVec<[f64; 16]> = SmallVec::new();
        let mut before = f64::INFINITY;
        for _ in 0..MOST_BACKFITS {
            for (axis, part) in axes.iter().zip(&mut parts) {
                means.clear();
                means.resize(axis.levels(), 0.0);
                axis.fold(&mut means, &squares, &left);
                means.iter_mut().zip(part.iter_mut()).for_each(|(mean, (part, of_weights))| {
                    *mean /= *of_weights;
                    *part += *mean;
                });
                left.iter_mut().enumerate().for_each(|(i, left)| *left -= means[axis.level(i)]);
            }
            let rss: f64 = left.iter().zip(&squares).map(|(left, square)| left * left * square).sum();
            if rss > BACKFITTED * before {
                before = rss;
                break;
            }
            before = rss;
        }
        // A sum of few terms would leave as much for each degree of freedom.
        let few = n.saturating_sub(best.terms() + 2) as f64;
        if n > free && before * few / (n - free) as f64 >= best.mean * n as f64 {
            return SmallVec::new();
        }
        let closest = |(axis, part): (usize, &Part)| self.screen.pure(axis, axes[axis].closest(part)?);
        parts.iter().enumerate().filter_map(closest).collect()
    }

    /// No function of the parameter of `axis` yet, with what the points of each value count for.
    fn no_part(&self, axis: &Axis, squares: &[f64]) -> Part {
        let mut part = Part::from_elem((0.0, 0.0), axis.levels());
        squares.iter().enumerate().for_each(|(i, square)| part[axis.level(i)].1 += square);
        part
    }

    /// The best single terms beside each of `sums`, so many of each if all are asked for, and else of both.
    fn singles(&self, sums: [&Sum; 2], count: usize, singles: &mut Vec<Sum>, w: &mut Workspace) {
        singles.clear();
        sort_in(singles, self.longer(sums[0], count, f64::INFINITY, true, w));
        let worst = if count == FINALISTS { last_score(singles) } else { f64::INFINITY };
        sort_in(singles, self.longer(sums[1], count, worst, false, w));
    }

    /// Exchanges one term of the best sum of two as long as that makes it better. Its terms `continued` were already.
    fn exchange(&self, continued: &[Sum], sums: &mut Vec<Sum>, w: &mut Workspace) {
        let mut tried: SmallVec<[Sum; FINALISTS]> = SmallVec::from_slice(continued);
        for _ in 0..MOST_EXCHANGES {
            let best = sums[0];
            let parts = best.products.iter().flatten().map(|&p| Sum { products: [Some(p), None], ..best });
            let untried: SmallVec<[Sum; 2]> =
                parts.filter(|part| best.terms() == 2 && !tried.iter().any(|t| t.is_like(part))).collect();
            if untried.is_empty() {
                return;
            }
            for part in &untried {
                let longer = self.longer(part, CONTINUATIONS, last_score(sums), false, w);
                sort_in(sums, longer);
            }
            tried.extend(untried);
        }
    }

    /// Continues the products of parameters themselves where there are many: one product with broken exponents lies near a sum of two
    /// plain ones, whose terms are then far down among the single ones.
    fn begin_plainly(&self, continued: &[Sum], sums: &mut Vec<Sum>, w: &mut Workspace) {
        if !MANY_PARAMETERS.contains(&self.screen.axes.len()) || sums[0].mean <= FINEST_SCREENED {
            return;
        }
        let mut better: Vec<Sum> = Vec::new();
        for product in self.screen.plain_products() {
            for constant in [true, false] {
                let start = Sum { constant, products: [Some(product), None], mean: 0.0, score: 0.0 };
                if !continued.iter().any(|known| known.is_like(&start)) {
                    better.extend(self.longer(&start, CONTINUATIONS, sums[0].score - PLAIN_PRICE, false, w));
                }
            }
        }
        better.retain(|sum| sum.score <= sums[0].score - PLAIN_PRICE);
        sort_in(sums, better);
    }

    /// Continues, of each parameter with two values, the factor that leaves least alone: where all of a function goes with the parameter, its
    /// constant does, too, and is that factor, which need not be near alone.
    fn begin_with_two_values(&self, sums: &mut Vec<Sum>, w: &mut Workspace) {
        let axes = self.screen.axes.iter().enumerate().filter(|(_, axis)| axis.levels() == 2);
        for (position, axis) in axes {
            let alone = (1..axis.factors.len()).filter_map(|j| self.screen.pure(position, j)).map(|product| {
                let sum = Sum { constant: false, products: [Some(product), None], mean: 0.0, score: 0.0 };
                self.scored(sum, self.rss(&sum, w), FINEST_SCREENED)
            });
            if let Some(start) = alone.min_by(|a, b| a.score.total_cmp(&b.score)) {
                let longer = self.longer(&start, SINGLES, last_score(sums), false, w);
                sort_in(sums, longer);
            }
        }
    }

    /// Continues each of these products, alone and beside a constant.
    fn begin_with(&self, products: impl Iterator<Item = Product>, sums: &mut Vec<Sum>, w: &mut Workspace) {
        for (product, constant) in products.flat_map(|product| [(product, true), (product, false)]) {
            let start = Sum { constant, products: [Some(product), None], mean: 0.0, score: 0.0 };
            let longer = self.longer(&start, CONTINUATIONS, last_score(sums), false, w);
            sort_in(sums, longer);
        }
    }

    /// What a sum leaves of the weighted data.
    fn rss(&self, sum: &Sum, w: &mut Workspace) -> f64 {
        self.project(sum, self.weights, w);
        w.residual.iter().map(|r| r * r).sum()
    }

    /// Fits a sum with these weights: columns and residual of the workspace, coefficients.
    fn project(&self, sum: &Sum, weights: &[f64], w: &mut Workspace) -> [f64; MOST_COLUMNS] {
        self.take_products(sum, w);
        self.project_taken(sum, weights, w)
    }

    /// Fills in the values of the products of a sum.
    fn take_products(&self, sum: &Sum, w: &mut Workspace) {
        w.products.clear();
        for &product in sum.products.iter().flatten() {
            self.screen.column(product, &mut w.products);
        }
    }

    /// Fits a sum whose products are in the workspace.
    fn project_taken(&self, sum: &Sum, weights: &[f64], w: &mut Workspace) -> [f64; MOST_COLUMNS] {
        w.columns.clear(self.y.len());
        if sum.constant {
            w.columns.push(weights);
        }
        for column in w.products.chunks_exact(self.y.len().max(1)) {
            w.columns.push_weighted(column, weights);
        }
        w.residual.clear();
        w.residual.extend(self.y.iter().zip(weights).map(|(y, u)| y * u));
        w.columns.project(&mut w.residual)
    }

    /// The best sums with one more product, none of which scores worse than `worst`.
    fn longer(&self, sum: &Sum, count: usize, worst: f64, fresh: bool, w: &mut Workspace) -> SmallVec<[Sum; SINGLES]> {
        let (n, terms) = (self.y.len() as f64, sum.terms());
        if self.y.len() < terms + 3 {
            return SmallVec::new();
        }
        let coefficients = self.project(sum, self.weights, w);
        let rss = w.residual.iter().map(|r| r * r).sum();
        let base = Base {
            weights: self.weights,
            columns: &w.columns,
            residual: &w.residual,
            coefficients: &coefficients[..w.columns.len()],
            rss,
        };
        let price = self.price(sum) + self.coefficient_price;
        let limit = if worst.is_finite() { n * ((worst - price) / n).exp() } else { f64::INFINITY };
        let worth = Worth {
            sure: ALWAYS_FITTED,
            times: (WORTH_FITTING / n).exp(),
            rounding: NEARLY_EXACT * n * FINEST_SCREENED,
        };
        // Of single terms that are to be continued all are wanted, and what is not determined says nothing of others.
        let is_telling = self.screen.axes.iter().all(|axis| axis.levels() >= TELLING_LEVELS);
        let worth = (count <= FINALISTS && is_telling).then_some(worth);
        let best = self.screen.best(base, Screening { fresh, count, limit, worth }, &mut w.buffers);
        let mut sums = SmallVec::new();
        for (left, product) in best {
            let mut longer = *sum;
            if product.head == 0 && product.lane == 0 {
                longer.constant = true;
            } else {
                longer.products[terms] = Some(product);
                if terms == 1 && longer.products[1] < longer.products[0] {
                    longer.products.swap(0, 1);
                }
            }
            if longer.terms() == 0 || self.is_determined(&longer) {
                sums.push(self.scored(longer, left / self.screen.cost(product), FINEST_SCREENED));
            }
        }
        sums
    }

    /// Whether each parameter has more values than factors in the sum, the constant one included: with as many, any
    /// data are explained.
    fn is_determined(&self, sum: &Sum) -> bool {
        match sum.products {
            [Some(a), None] => !sum.constant || self.screen.factors(a).any(|(axis, i)| i != 0 && axis.levels() >= 3),
            [Some(a), Some(b)] => {
                let mut both = self.screen.factors(a).zip(self.screen.factors(b));
                both.all(|((axis, i), (_, j))| i == j || axis.levels() >= if i == 0 || j == 0 { 3 } else { 4 })
            }
            _ => true,
        }
    }

    /// Fills in the criterion: twice the description length of data and sum, the residuals' (corrected for few points),
    /// each coefficient's and each term's. Residuals of less than `finest` are rounding.
    fn scored(&self, sum: Sum, rss: f64, finest: f64) -> Sum {
        let (n, terms) = (self.y.len() as f64, sum.terms() as f64);
        let finest = finest.max(self.variance);
        let mean = (rss / n).max(finest);
        // As many points as coefficients say nothing of noise; but one term must be able to win with four points.
        let least_freedom = if terms == 1.0 { LEAST_FREEDOM } else { 1e-4 };
        // Nor need residuals tell the noise of sums that are looked for where it is known.
        let is_known = self.variance > 0.0 && self.extent != Extent::Usual;
        let is_rounding = mean == finest && self.variance == 0.0;
        let few_points = if terms == 0.0 || is_rounding || is_known {
            0.0
        } else {
            2.0 * (terms + 2.0) * (terms + 3.0) / (n - terms - 3.0).max(least_freedom)
        };
        Sum { mean, score: n * mean.ln() + self.price(&sum) + few_points, ..sum }
    }

    /// What the coefficients and terms of a sum cost in the criterion.
    fn price(&self, sum: &Sum) -> f64 {
        let coefficients = sum.terms() as f64 + f64::from(u8::from(sum.constant));
        let complexity: f64 = sum.products.iter().flatten().map(|&p| self.screen.complexity(p)).sum();
        coefficients * self.coefficient_price + COMPLEXITY_PRICE * complexity
    }

    /// Fits a sum relative to its own values, beginning with the weights of the workspace, and leaves points out. No coefficient may be
    /// negative but those of the terms of one that `falls`, which must be.
    fn candidate(&self, sum: &Sum, falls: bool, w: &mut Workspace) -> Option<Candidate> {
        let n = self.y.len();
        let floor = 1e-3 * self.y.iter().sum::<f64>() / n as f64;
        let mut weights = std::mem::take(&mut w.weights);
        let mut sum = *sum;
        let mut coefficients = [0.0; MOST_COLUMNS];
        self.take_products(&sum, w);
        for _ in 0..3 {
            coefficients = self.project_taken(&sum, &weights, w);
            if sum.constant && coefficients[0] < 0.0 && sum.terms() > 0 {
                sum.constant = false;
                coefficients = self.project_taken(&sum, &weights, w);
            }
            w.fitted.resize(n, 0.0);
            if !fitted_values((self.y, &weights, &w.residual), &mut w.fitted, floor) {
                break;
            }
            w.values.resize(n, 0.0);
            let after = &mut w.values;
            reweigh(&w.fitted, self.power, after);
            let settled = is_settled(&weights, after);
            std::mem::swap(after, &mut weights);
            if settled {
                break;
            }
        }
        w.weights = weights;
        let used = w.columns.len();
        let expected = usize::from(sum.constant) + sum.terms();
        if used < expected || used >= n {
            return None;
        }
        let (constant, of_terms) = coefficients[..used].split_at(usize::from(sum.constant));
        let sign = if falls { -1.0 } else { 1.0 };
        if constant.iter().any(|c| *c <= 0.0) || of_terms.iter().any(|c| sign * c <= 0.0) {
            return None;
        }
        self.judged(&sum, &coefficients, w)
    }

    /// Whether a summand, whose products are in the workspace, is nowhere more than this share of the sum.
    fn is_padded(&self, sum: &Sum, coefficients: &[f64], share: f64, w: &Workspace) -> bool {
        let (first, of_terms) = coefficients.split_at(usize::from(sum.constant));
        let is_small =
            |values: &[f64], c: f64, fitted: &[f64]| values.iter().zip(fitted).all(|(x, f)| (c * x).abs() <= share * f);
        let constant = first.first().is_some_and(|c| w.fitted.iter().all(|f| *c <= share * f));
        constant || w.products.chunks_exact(self.y.len().max(1)).zip(of_terms).any(|(x, c)| is_small(x, *c, &w.fitted))
    }

    fn judged(&self, sum: &Sum, coefficients: &[f64], w: &mut Workspace) -> Option<Candidate> {
        let n = self.y.len();
        w.columns.leverages(&mut w.leverages);
        if w.leverages.iter().any(|l| *l > 1.0 - 1e-9) || w.fitted.iter().any(|f| *f <= 0.0) {
            return None;
        }
        // The squares of the relative residuals, and of those that refits without the point would leave there.
        w.values.resize(n, 0.0);
        squares(self.y, &w.fitted, &mut w.values, &mut w.leverages);
        if self.power != 1.0 {
            let shares = shares(&w.fitted, self.power);
            w.values.iter_mut().zip(&shares).for_each(|(square, share)| *square *= share);
            w.leverages.iter_mut().zip(&shares).for_each(|(square, share)| *square *= share);
        }
        let rss = w.values.iter().sum::<f64>();
        let mean = w.leverages.iter().sum::<f64>() / n as f64;
        let off = (rss / n as f64).sqrt();
        if off < EXACT && self.is_padded(sum, coefficients, OF_ROUNDING * off.max(f64::EPSILON), w) {
            return None;
        }
        let products = sum.products.iter().flatten().zip(&coefficients[usize::from(sum.constant)..]);
        let term = |(&product, c): (&Product, &f64)| Term {
            coefficient: c / self.screen.scale(product),
            role: Role::Computation,
            scale: Scale::One,
            factors: self.screen.shape(product),
        };
        Some(Candidate {
            constant: if sum.constant { coefficients[0] } else { 0.0 },
            terms: products.map(term).collect(),
            fitted: w.fitted.clone(),
            left_out: mean,
            score: self.scored(*sum, rss, FINEST_FITTED).score,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_kept_once_where_its_lower_criterion_places_it() {
        let sum = |head: u32, score: f64| Sum {
            constant: true,
            products: [Some(Product { head, lane: 0 }), None],
            mean: 0.0,
            score,
        };
        let mut sums = Vec::new();
        sort_in(&mut sums, [sum(1, 5.0), sum(2, 3.0), sum(3, 4.0), sum(1, 6.0), sum(3, 2.0), sum(4, 5.0)]);
        assert_eq!(sums, [sum(3, 2.0), sum(2, 3.0), sum(1, 5.0), sum(4, 5.0)]);
    }
}
