//! Builds models from what the searches found: coefficients, growth, statistics, uncertainty and warnings.

use crate::coefficients::{self, CoefficientFit, LeastSquares};
use crate::cross;
use crate::data::Data;
use crate::effort::{self, Found};
use crate::experiment::{Experiment, MetricId};
use crate::lack_of_fit::LackOfFit;
use crate::library::Shape;
use crate::model::{
    Exponent, Growth, Kind, Method, Model, Quality, Role, RunnerUp, Scale, Term, Uncertainty, term_of_one,
};
use crate::noise::{Noise, PossibleNoise};
use crate::noise_estimate::{Beliefs, DEFAULT, NoiseEstimate};
use crate::noise_pool::NoisePool;
use crate::priors::{Group, Prior, terms_of};
use crate::quality::{adjusted_r2, left_out_error, smape};
use crate::robust;
use crate::runner_up::{Although, percent, runner_up};
use crate::shape_search::Candidate;
use crate::warning::{self, warning};
use std::borrow::Cow;

/// Terms below this share of the model at the largest scale do not count as its growth.
const MATTERS: f64 = 0.01;
/// What times differ by from the shape of their effort counts as a contradiction above this, and above this multiple of
/// their noise. Chosen so that what caches do to the time of a block should stay below.
const MISFIT: (f64, f64) = (0.3, 4.0);
/// Deviations from the measured points count as misfit from so many times the noise on: below, chance and an uncertain
/// estimate of the noise explain them.
const BEYOND_NOISE: f64 = 2.0;
/// Relative deviations up to this are rounding errors.
const EXACT: f64 = 1e-6;
/// What another algorithm than the one whose cost the prior has must gain, in units of twice a log likelihood, beside what its
/// coefficient costs: as much as a change of behaviour.
const DEPARTURE: f64 = 10.0;
/// Above this noise a warning tells.
const NOISY: f64 = 0.3;

/// Relative residual up to which a function explains a count.
const EXPLAINED: f64 = 0.01;
/// Root mean square of the relative differences above which a function that explains a count is doubted all the same.
pub(crate) const OFF: f64 = 0.1;

impl Found {
    /// How many coefficients other than zero it has.
    pub fn coefficients(&self) -> usize {
        self.terms.len() + usize::from(self.constant != 0.0)
    }

    /// The function of a count's `model` of `data`.
    pub fn of_model(model: &Model, data: &Data) -> Self {
        let terms = model.terms.iter().map(|t| (t.factors.clone(), t.coefficient)).collect();
        let mut found = Self { constant: model.constant, terms, residual: 0.0, exact: false, score: 0.0 };
        found.residual = found.differs_by(&data.points, &data.medians);
        found
    }

    /// Root mean square of the relative differences from the counts `y` at `points`; zeros have none.
    pub fn differs_by(&self, points: &[&[f64]], y: &[f64]) -> f64 {
        let square = |(x, y): (&&[f64], &f64)| if *y == 0.0 { 0.0 } else { (self.at(x) / y - 1.0).powi(2) };
        let sum: f64 = points.iter().zip(y).map(square).sum();
        (sum / y.len().max(1) as f64).sqrt()
    }

    /// Whether the function is nowhere negative where parameters are one or more: its terms add, but for one that another, or the constant, is
    /// as large as, such as the part of `n (p - 1)` that is taken off.
    pub fn is_never_negative(&self) -> bool {
        let power = |shape: &Shape, l: usize| -> (Exponent, i32) {
            shape.iter().find(|f| f.parameter == l).map_or((0.into(), 0), |f| (f.exponent, f.log_exponent))
        };
        let grows_as_fast = |shape: &Shape, than: &Shape| {
            shape.iter().chain(than).map(|f| f.parameter).all(|l| {
                let ((exponent, log), (of_other, log_of_other)) = (power(shape, l), power(than, l));
                exponent >= of_other && log == log_of_other
            })
        };
        let mut taken_off = self.terms.iter().filter(|(_, c)| *c < 0.0);
        let none = Shape::new();
        let is_covered = taken_off.next().is_none_or(|(taken, c)| {
            let all = self.terms.iter().map(|(shape, d)| (shape, *d)).chain([(&none, self.constant)]);
            all.into_iter().any(|(shape, d)| d >= -c * (1.0 - EXACT) && grows_as_fast(shape, taken))
        });
        self.constant >= 0.0 && is_covered && taken_off.next().is_none()
    }

    /// Whether the function gives the count closely enough to say how it goes on. What rounding of loop bounds may do
    /// to counts of few large steps is not close.
    pub fn is_explained(&self) -> bool {
        self.residual <= EXPLAINED
    }

    /// Whether all terms add: what adds and takes off again may come near anything.
    pub fn adds(&self) -> bool {
        self.terms.iter().all(|t| t.1 > 0.0)
    }

    /// Value at `x`.
    pub fn at(&self, x: &[f64]) -> f64 {
        terms_of(self, Role::Computation).iter().map(|t| t.at(x)).sum()
    }
}

/// A model without terms.
pub(crate) fn constant_model(data: &Data, kind: Kind, constant: f64) -> Model {
    let mut model = skeleton(data, kind, Method::Time, constant, Vec::new());
    finish(&mut model, data, &[], 0);
    model
}

/// The model of a count.
pub(crate) fn count_model(
    experiment: &Experiment,
    data: &Data,
    metric: MetricId,
    found: &[Found],
    runners_up: usize,
) -> Model {
    let Some(best) = found.first() else { return undetermined_count(data) };
    let terms: Vec<Term> = terms_of(best, Role::Computation).into_iter().filter(|t| !t.factors.is_empty()).collect();
    let mut model = skeleton(data, Kind::Other, Method::Effort, best.constant, terms);
    model.effort_metric = Some(metric);
    let y = data.values();
    let fitted = data.fitted(&model);
    let k = model.terms.len() + 1;
    if best.residual != 0.0 {
        let noise = Noise::background(coefficients::deviation(&y, &fitted, k));
        model.uncertainty.noises = vec![PossibleNoise::certain(noise)];
    }
    model.uncertainty.freedom = y.len().saturating_sub(k) as f64;
    let error = if best.exact { 0.0 } else { best.residual };
    model.uncertainty.coefficient_errors = vec![error; model.terms.len() + 1];
    let off = best.differs_by(&data.points, &data.medians);
    if !best.is_explained() {
        let message = format!("No function that the search found comes closer than {:.1} %.", 100.0 * best.residual);
        model.warnings.push(warning(warning::EFFORT_INEXACT, message));
    } else if off > OFF {
        let message = format!(
            "The function is right where the count is large, and off by {:.0} % on average: it may be another one where the count is small.",
            100.0 * off
        );
        model.warnings.push(warning(warning::EFFORT_INEXACT, message));
    }
    model.runners_up = found[1..].iter().take(runners_up).map(|f| count_runner_up(experiment, data, best, f)).collect();
    if !best.exact {
        model.uncertainty.rivals = found[1..].iter().take(3).map(|f| count_rival(best, f)).collect();
    }
    let columns = columns_of_terms(&model, data);
    finish(&mut model, data, &columns, k);
    model.uncertainty.centre = cross::centre(&data.points);
    model
}

/// A count that differs between too few values of the parameters to determine any function: its mean stands for it.
fn undetermined_count(data: &Data) -> Model {
    let y = data.values();
    let mean = y.iter().sum::<f64>() / y.len().max(1) as f64;
    let mut model = constant_model(data, Kind::Other, mean);
    let off = coefficients::deviation(&y, &vec![mean; y.len()], 1);
    model.uncertainty.noises = vec![PossibleNoise::certain(Noise::background(off))];
    let message = format!(
        "The count differs between too few values of the parameters to determine a function; its mean is off by {:.1} %.",
        100.0 * off
    );
    model.warnings.push(warning(warning::EFFORT_INEXACT, message));
    model
}

fn count_rival(best: &Found, rival: &Found) -> (f64, f64, Vec<Term>) {
    let terms = terms_of(rival, Role::Computation);
    ((0.5 * (best.score - rival.score)).exp(), 0.0, terms)
}

fn count_runner_up(experiment: &Experiment, data: &Data, best: &Found, found: &Found) -> RunnerUp {
    let terms = terms_of(found, Role::Computation).into_iter().filter(|t| !t.factors.is_empty()).collect();
    let model = skeleton(data, Kind::Other, Method::Effort, found.constant, terms);
    let reason = if found.exact {
        "it gives the counts as exactly but is less simple".to_owned()
    } else if found.residual > best.residual {
        let [own, chosen] = [found.residual, best.residual].map(percent);
        format!("it misses the counts by {own}, the chosen one by {chosen}")
    } else {
        "it comes hardly closer to the counts and is less simple".to_owned()
    };
    RunnerUp { expression: model.expression(&experiment.parameters), score: found.residual, reason }
}

/// The noise of an experiment's times, and under which index a series was pooled into it if it was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pooled<'a> {
    /// The noise, where it was pooled.
    pub pool: Option<&'a NoisePool>,
    /// The series' index.
    pub index: Option<usize>,
}

/// What to believe of the noise of the times `y`, of which least squares in their most flexible shape is `start`, and
/// what its residuals say of it, where that is known; `None` where they are as exact as two-sided noise is.
fn beliefs<'a>(
    start: &LeastSquares,
    y: &[f64],
    pool: &Pooled<'a>,
) -> Option<(Cow<'a, Beliefs>, Option<NoiseEstimate>)> {
    let logs = start.noisy_residuals(y)?;
    Some(pool.pool.map_or((Cow::Borrowed(&DEFAULT), None), |p| p.beliefs(pool.index, &logs)))
}

/// What the residuals of a time whose shape effort gave say about its noise, if anything.
pub(crate) fn prior_residuals(data: &Data, prior: &Prior) -> Option<Vec<f64>> {
    let y = data.values();
    let (bases, departures) = shapes_of(data, prior, &y);
    let (y, _) = without_lack_of_fit(data, richest_of(prior, departures), y);
    let shapes: Vec<Vec<Vec<f64>>> = bases.iter().chain(departures).map(|basis| data.columns(basis)).collect();
    coefficients::typical_residuals(&shapes, &y, &DEFAULT)
}

/// What the residuals of a time whose shape was searched in the times say about its noise, if anything.
pub(crate) fn searched_residuals(data: &Data, candidates: Vec<Candidate>) -> Option<Vec<f64>> {
    let candidates = robust::chosen_first(candidates, &data.points, &data.medians);
    let basis = candidates.first()?.basis();
    let columns = data.columns(&basis);
    let y = data.values();
    if is_no_noise(data, &LeastSquares::of(&columns, &y)) {
        return None;
    }
    let (y, _) = without_lack_of_fit(data, &basis, y);
    coefficients::typical_residuals(&[columns], &y, &DEFAULT)
}

/// What the shapes of another algorithm must gain.
fn price(prior: &Prior) -> f64 {
    if prior.is_usual { 0.0 } else { DEPARTURE }
}

/// The shapes of `prior` that compete: those of other algorithms only where least squares says that they may gain what they cost.
fn shapes_of<'p>(data: &Data, prior: &'p Prior, y: &[f64]) -> (&'p [Vec<Group>], &'p [Vec<Group>]) {
    if prior.is_usual {
        return (&prior.shapes, &prior.departures);
    }
    let enough = !prior.departures.is_empty() && y.len() > prior.fullest().len() + 1;
    let left = |basis: &[Group]| LeastSquares::of(&data.columns(basis), y).deviation.max(EXACT);
    let is_clear = enough && 2.0 * y.len() as f64 * (left(prior.richest()) / left(prior.fullest())).ln() > DEPARTURE;
    (&prior.shapes, if is_clear { &prior.departures } else { &[] })
}

/// The richest shape that competes.
fn richest_of<'p>(prior: &'p Prior, departures: &[Vec<Group>]) -> &'p [Group] {
    if departures.is_empty() { prior.richest() } else { prior.fullest() }
}

/// The times `y` without what even the `richest` shape misses beyond what repetitions explain, and its relative deviation. It is no
/// noise: a fit that took it for such would look for the undisturbed times at its lower edge.
fn without_lack_of_fit(data: &Data, richest: &[Group], y: Vec<f64>) -> (Vec<f64>, f64) {
    if !LackOfFit::can_be_told(&data.observations, data.points.len()) {
        return (y, 0.0);
    }
    let fit = LeastSquares::of(&data.columns(richest), &y);
    let at_points = fit.at_points(&data.observations, data.points.len());
    match LackOfFit::of(&data.observations, &at_points, fit.used) {
        Some(found) => (found.removed_from(&data.observations), found.deviation),
        None => (y, 0.0),
    }
}

/// The model of a time whose shape effort gave.
pub(crate) fn prior_model<'p>(
    experiment: &Experiment,
    data: &Data,
    kind: Kind,
    prior: &'p Prior,
    effort_metric: MetricId,
    pool: &Pooled,
    runners_up: usize,
) -> Model {
    let y = data.values();
    let columns = |basis: &[Group]| data.columns(basis);
    let (shapes, departures) = shapes_of(data, prior, &y);
    let richest = richest_of(prior, departures);
    let (y, lack_of_fit) = without_lack_of_fit(data, richest, y);
    let beliefs = beliefs(&LeastSquares::of(&columns(richest), &y), &y, pool).map(|b| b.0);
    let fitted = |basis: &'p Vec<Group>| (coefficients::fit(&columns(basis), &y, beliefs.as_deref()), basis);
    let mut fits: Vec<(CoefficientFit, &Vec<Group>)> = shapes.iter().map(fitted).collect();
    fits.extend(departures.iter().map(fitted).map(|(mut fit, basis)| {
        fit.criterion += price(prior);
        (fit, basis)
    }));
    let best = fits.iter().map(|f| f.0.criterion).fold(f64::INFINITY, f64::min);
    let chosen = fits.iter().position(|f| f.0.criterion <= best).unwrap_or(0);
    let (fit, basis) = fits.remove(chosen);
    fits.sort_by(|a, b| a.0.criterion.total_cmp(&b.0.criterion));
    let mut model = model_of(data, kind, Method::Effort, &fit, basis);
    model.effort_metric = Some(effort_metric);
    // Measurements are off the function by both.
    model.uncertainty.noises.iter_mut().for_each(|n| n.noise.sigma = n.noise.sigma.hypot(lack_of_fit));
    model.uncertainty.open = prior.fullest().iter().map(|group| group.terms.clone()).collect();
    model.uncertainty.rivals = fits.iter().map(|f| rival(&fit, f)).filter(|r| r.0 > 0.01).collect();
    let used: Vec<Vec<f64>> = fit.active().iter().map(|&k| data.column(|x| basis[k].at(x))).collect();
    let k = used.len();
    add_hidden_terms(&mut model, prior);
    finish(&mut model, data, &used, k);
    model.uncertainty.centre = cross::centre(&data.points);
    let corner = model.uncertainty.corner();
    let one = term_of_one();
    let constant = (model.constant >= MATTERS * model.at(&corner)).then_some(&one);
    let mut terms = prior_terms(prior, &corner);
    // That an operation could wait is no growth of its time where the times show nothing of it.
    let is_waiting = |t: &&Term| t.role == Role::Waiting;
    if !terms.iter().all(is_waiting) && !model.terms.iter().any(|t| is_waiting(&t) && t.coefficient != 0.0) {
        terms.retain(|t| !is_waiting(t));
    }
    model.growth = leading_growth(&terms.into_iter().chain(constant).collect::<Vec<_>>(), &corner);
    if runners_up > 0 {
        let describe = |f: &(CoefficientFit, &Vec<Group>)| prior_runner_up(experiment, data, (&fit, &model), f);
        let mut losers: Vec<RunnerUp> = fits.iter().map(describe).collect();
        // Shapes that differ in terms without a coefficient are one function.
        losers.dedup_by(|a, b| a.expression == b.expression);
        let own = model.expression(&experiment.parameters);
        losers.retain(|r| r.expression != own);
        losers.truncate(runners_up);
        model.runners_up = losers;
    }
    model
}

/// Adds the terms of the richest shape that the fit left out, with coefficients of zero.
fn add_hidden_terms(model: &mut Model, prior: &Prior) {
    for term in prior.richest().iter().flat_map(|group| &group.terms).filter(|t| !is_constant(t)) {
        let same = |t: &Term| (t.role, t.scale) == (term.role, term.scale) && t.factors == term.factors;
        if !model.terms.iter().any(same) {
            model.terms.push(Term { coefficient: 0.0, ..term.clone() });
            model.uncertainty.coefficient_errors.push(f64::INFINITY);
        }
    }
}

/// The terms of a prior that make its growth: those that are below their share in no group they belong to. Whether
/// the constant that every time may have matters is for the times to say.
fn prior_terms<'a>(prior: &'a Prior, corner: &[f64]) -> Vec<&'a Term> {
    let groups =
        || prior.shapes.iter().flatten().filter(|group| group.terms.len() > 1 || !group.terms.iter().all(is_constant));
    let is_small = |group: &Group, term: &Term| {
        let same = group.terms.iter().filter(|t| t.scale == term.scale && t.factors == term.factors);
        let total: f64 = group.terms.iter().map(|t| t.at(corner)).sum();
        same.into_iter().any(|t| t.at(corner).abs() < MATTERS * total.abs())
    };
    let terms = groups().flat_map(|group| &group.terms);
    terms.filter(|term| !groups().any(|group| is_small(group, term))).collect()
}

fn rival(best: &CoefficientFit, (fit, basis): &(CoefficientFit, &Vec<Group>)) -> (f64, f64, Vec<Term>) {
    let weight = (0.5 * (best.criterion - fit.criterion)).exp().min(1.0);
    (weight, 0.0, expand(fit, basis))
}

fn prior_runner_up(
    experiment: &Experiment,
    data: &Data,
    (best, chosen): (&CoefficientFit, &Model),
    (fit, basis): &(CoefficientFit, &Vec<Group>),
) -> RunnerUp {
    let loser = model_of(data, chosen.kind, Method::Effort, fit, basis);
    let active = fit.active();
    let columns: Vec<Vec<f64>> = active.iter().map(|&k| data.column(|x| basis[k].at(x))).collect();
    let although = if active.len() > best.active().len() { Although::LessSimple } else { Although::MissesSome };
    runner_up(experiment, data, chosen, &loser, &columns, although)
}

/// All terms of a fitted basis with their coefficients.
fn expand(fit: &CoefficientFit, basis: &[Group]) -> Vec<Term> {
    let scaled = |(group, c): (&Group, &f64)| -> Vec<Term> {
        group.terms.iter().map(|t| Term { coefficient: t.coefficient * c, ..t.clone() }).collect()
    };
    basis.iter().zip(&fit.coefficients).filter(|(_, c)| **c != 0.0).flat_map(scaled).collect()
}

/// A model with the coefficients of `fit`.
fn model_of(data: &Data, kind: Kind, method: Method, fit: &CoefficientFit, basis: &[Group]) -> Model {
    let active = fit.active();
    let k = active.len();
    let error = |i: usize| fit.covariance[i * k + i].max(0.0).sqrt() / fit.coefficients[active[i]];
    let (mut constant, mut terms, mut errors) = (0.0, Vec::new(), vec![0.0]);
    for (i, &group) in active.iter().enumerate() {
        for term in &basis[group].terms {
            let coefficient = term.coefficient * fit.coefficients[group];
            if is_constant(term) {
                constant += coefficient;
                errors[0] = error(i).max(errors[0]);
            } else {
                terms.push(Term { coefficient, ..term.clone() });
                errors.push(error(i));
            }
        }
    }
    let mut model = skeleton(data, kind, method, constant, terms);
    let u = &mut model.uncertainty;
    u.coefficient_errors = errors;
    u.noises = fit.noises.clone();
    u.freedom = fit.freedom;
    u.basis = active.iter().map(|&g| basis[g].terms.clone()).collect();
    u.covariance = fit.covariance.clone();
    model
}

fn is_constant(term: &Term) -> bool {
    term.factors.is_empty() && term.scale == Scale::One
}

/// The model of a time whose shape was searched in the times, or of another measurement whose noise goes either way, of which
/// there is no `pool`.
pub(crate) fn searched_model(
    experiment: &Experiment,
    data: &Data,
    kind: Kind,
    candidates: Vec<Candidate>,
    pool: Option<&Pooled>,
    runners_up: usize,
) -> Model {
    let power = data.weight_power();
    let candidates =
        if power == 1.0 { robust::chosen_first(candidates, &data.points, data.levels()) } else { candidates };
    let Some(chosen) = candidates.first() else {
        let mean = data.medians.iter().sum::<f64>() / data.medians.len().max(1) as f64;
        return constant_model(data, kind, mean);
    };
    let basis = chosen.basis();
    let y = data.values();
    let columns = data.columns(&basis);
    let exact = chosen.is_exact();
    let mut model = if exact {
        let mut model = skeleton(data, kind, Method::Time, chosen.constant, chosen.terms.clone());
        model.uncertainty.coefficient_errors = vec![0.0; model.terms.len() + 1];
        // An exact function may be off by so much, and so may what is measured next.
        let noise = chosen.left_out.sqrt().max(effort::EXPLAINS);
        model.uncertainty.noises = vec![PossibleNoise::certain(Noise::background(noise))];
        model.uncertainty.freedom = y.len().saturating_sub(columns.len()) as f64;
        model
    } else {
        let one_sided = |pool: &Pooled| {
            let start = LeastSquares::of(&columns, &y);
            if is_no_noise(data, &start) {
                return None;
            }
            let (noisy, lack_of_fit) = without_lack_of_fit(data, &basis, y.clone());
            let start = if lack_of_fit > 0.0 { LeastSquares::of(&columns, &noisy) } else { start };
            let (beliefs, estimated) = beliefs(&start, &noisy, pool)?;
            Some(coefficients::fit_from(start, &columns, &noisy, Some(&beliefs), estimated))
        };
        let trusting_large = || coefficients::trusting_large(&columns, &y, chosen.of_basis(), power);
        let fit = pool.filter(|_| data.tells_noise()).and_then(one_sided);
        let fit = fit.unwrap_or_else(|| if power == 1.0 { two_sided_fit(&columns, &y) } else { trusting_large() });
        model_of(data, kind, Method::Time, &fit, &basis)
    };
    let at_points = data.at_points(&model);
    let scale = if exact { 1.0 } else { scale_against(&at_points, chosen) };
    let k = columns.len();
    finish_with(&mut model, data, &columns, k, &at_points);
    let scaled = |c: Candidate| -> (f64, Vec<Term>) {
        let of = |t: Term| Term { coefficient: t.coefficient * scale, ..t };
        (c.constant * scale, c.terms.into_iter().map(of).collect())
    };
    let describe = |c: &Candidate| {
        let (constant, terms) = scaled(c.clone());
        let loser = skeleton(data, kind, Method::Time, constant, terms);
        let although = if c.left_out > chosen.left_out { Although::MissesSome } else { Although::LessSimple };
        runner_up(experiment, data, &model, &loser, &data.columns(&c.basis()), although)
    };
    model.runners_up = candidates[1..].iter().take(runners_up).map(describe).collect();
    let best = chosen.score;
    let weight = |c: &Candidate| match exact {
        // What the points do not tell apart is as probable.
        true => f64::from(u8::from(c.is_exact())),
        false => (0.5 * (best - c.score)).exp().min(1.0),
    };
    let weighed = candidates.into_iter().skip(1).map(|c| (weight(&c), c)).filter(|(weight, _)| *weight > 0.01);
    let rival = |(weight, c): (f64, Candidate)| {
        let (constant, terms) = scaled(c);
        (weight, constant, terms)
    };
    model.uncertainty.rivals = weighed.map(rival).collect();
    model.uncertainty.centre = cross::centre(&data.points);
    model
}

/// Whether what least squares leaves cannot be one-sided noise, because the values themselves show less noise: their repetitions
/// scatter by less, or they are less far off the lines between their neighbours.
fn is_no_noise(data: &Data, start: &LeastSquares) -> bool {
    data.relative_noise().is_none_or(|noise| noise < 0.7 * start.deviation)
}

/// A fit that a few values far off do not decide.
fn two_sided_fit(columns: &[Vec<f64>], y: &[f64]) -> CoefficientFit {
    let mut fit = coefficients::fit(columns, &robust::winsorised(columns, y), None);
    let deviation = coefficients::deviation(y, &coefficients::combine(columns, &fit.coefficients), fit.active().len());
    fit.noises = vec![PossibleNoise::certain(Noise::background(deviation))];
    fit
}

/// Relative deviation of the times from the most flexible shape of `prior`, where it is so large that neither noise, as
/// repetitions or neighbours show it, nor caches explain it.
pub(crate) fn misfit(data: &Data, prior: &Prior) -> Option<f64> {
    let richest = prior.fullest();
    let column = |g: &Group| data.points.iter().map(|x| g.at(x)).collect::<Vec<f64>>();
    let columns: Vec<Vec<f64>> = richest.iter().map(column).collect();
    if data.points.len() < columns.len() + 3 {
        return None;
    }
    let left = LeastSquares::of(&columns, &data.medians).deviation;
    let noise = data.relative_noise()?;
    (left > MISFIT.0.max(MISFIT.1 * noise)).then_some(left)
}

/// What is left of the deviations of a model, whose values at the measured points are `fitted`, from the medians there
/// when the noise is taken off, relative. The noise is what the measurements themselves show, since a fit takes whatever its function misses for noise;
/// that measurements lie above the undisturbed time on average is no misfit.
fn missed(model: &Model, data: &Data, fitted: &[f64]) -> f64 {
    let coefficients = model.uncertainty.basis.len();
    if let Some(found) = LackOfFit::of(&data.observations, fitted, coefficients).filter(|l| l.deviation > EXACT) {
        return found.deviation;
    }
    let level = model.uncertainty.mean_level();
    let ratios = fitted.iter().zip(&data.medians).map(|(f, y)| y / (level * f));
    // Where the model is not above zero no ratio says by how much it misses.
    let squares = ratios.filter(|r| r.is_finite() && *r > 0.0).map(|r| (r - 1.0).powi(2));
    let (sum, count) = squares.fold((0.0, 0_usize), |(sum, count), square| (sum + square, count + 1));
    let Some(noise) = data.relative_noise().filter(|n| n.is_finite() && count > 0) else { return 0.0 };
    let square = sum / count as f64;
    if square > (BEYOND_NOISE * noise).powi(2).max(EXACT * EXACT) { (square - noise.powi(2)).sqrt() } else { 0.0 }
}

/// Relative deviation of the times from a model.
pub(crate) fn deviation(model: &Model, data: &Data) -> f64 {
    coefficients::deviation(&data.medians, &data.at_points(model), model.terms.len() + 1)
}

/// The statistics of a model of two segments over all of `data`, and the sentence that says so.
pub(crate) fn combined(model: &mut Model, data: &Data) {
    let y = data.values();
    let fitted = data.fitted(model);
    let qualities: Vec<Quality> = model.segments.iter().map(|s| s.model.quality.clone()).collect();
    let mean = |of: &dyn Fn(&Quality) -> Option<f64>| {
        let weighted: Option<Vec<f64>> = qualities.iter().map(|q| Some(of(q)? * q.points as f64)).collect();
        weighted.map(|w| w.iter().sum::<f64>() / data.points.len() as f64)
    };
    let terms: usize = model.segments.iter().map(|s| s.model.terms.len() + 1).sum();
    model.quality = Quality {
        points: data.points.len(),
        repetitions: data.repetitions(),
        smape: smape(&y, &fitted),
        adjusted_r2: adjusted_r2(&y, &fitted, terms),
        noise: mean(&|q| q.noise.map(|n| n * n)).map(f64::sqrt),
        cross_validated_relative_error: mean(&|q| q.cross_validated_relative_error),
    };
    model.uncertainty.misfit = missed(model, data, &data.at_points(model));
    model.warnings.retain(|w| w.code != warning::CONSTANT && w.code != warning::TOO_FEW_POINTS);
    let (below, above) = (model.segments[0].to.unwrap_or(f64::NAN), model.segments[1].from.unwrap_or(f64::NAN));
    // They competed for the upper segment alone.
    for loser in &mut model.runners_up {
        loser.reason = format!("from {above} on {}", loser.reason);
    }
    let message = format!("The behaviour changes between {below} and {above}; the growth is that beyond.");
    model.warnings.push(warning(warning::CHANGE, message));
}

/// What the noise estimate did to the level of the chosen shape, so that rivals can be put on the same level.
fn scale_against(at_points: &[f64], chosen: &Candidate) -> f64 {
    let ratios = at_points.iter().zip(&chosen.fitted).map(|(after, before)| after / before);
    ratios.sum::<f64>() / at_points.len() as f64
}

/// A model that has no statistics yet.
fn skeleton(data: &Data, kind: Kind, method: Method, constant: f64, terms: Vec<Term>) -> Model {
    Model {
        callpath: data.series.callpath,
        metric: data.series.metric,
        kind,
        method,
        effort_metric: None,
        constant,
        terms,
        growth: Vec::new(),
        quality: Quality {
            points: data.points.len(),
            repetitions: data.repetitions(),
            smape: None,
            adjusted_r2: None,
            noise: None,
            cross_validated_relative_error: None,
        },
        warnings: data.warnings.clone(),
        runners_up: Vec::new(),
        segments: Vec::new(),
        uncertainty: Uncertainty {
            range: data.range(),
            left_out: data.left_out.iter().map(|(point, value)| (point.to_vec(), *value)).collect(),
            ..Uncertainty::default()
        },
    }
}

/// Adds growth, statistics and the warnings that follow from them; `columns` are the fitted ones.
fn finish(model: &mut Model, data: &Data, columns: &[Vec<f64>], coefficients: usize) {
    let at_points = data.at_points(model);
    finish_with(model, data, columns, coefficients, &at_points);
}

/// The same where the model's values at the points are known.
fn finish_with(model: &mut Model, data: &Data, columns: &[Vec<f64>], coefficients: usize, at_points: &[f64]) {
    let corner = model.uncertainty.corner();
    model.growth = growth(model, &corner);
    model.uncertainty.misfit = missed(model, data, at_points);
    let y = data.values();
    let fitted: Vec<f64> = data.observations.iter().map(|o| at_points[o.0]).collect();
    let u = &model.uncertainty;
    let quality = &mut model.quality;
    quality.smape = smape(&y, &fitted);
    quality.adjusted_r2 = adjusted_r2(&y, &fitted, coefficients.saturating_sub(1));
    quality.noise = (y.len() > coefficients).then(|| u.noise_level());
    quality.cross_validated_relative_error = left_out_error(columns, &y, &fitted);
    if quality.noise.is_some_and(|noise| noise > NOISY) {
        let what = "A measurement is taken to lie more than 30 % off the function, by noise or because none that is tried follows it.";
        model.warnings.push(warning(warning::NOISY, what));
    }
    if model.terms.is_empty() {
        model.warnings.push(warning(warning::CONSTANT, "No growth was found."));
    } else if model.terms.iter().all(|t| t.coefficient == 0.0) {
        model.warnings.push(warning(warning::CONSTANT, "The times show none of the growth that the effort has."));
    }
}

impl Model {
    /// The leading growth of what the formula shows: [`Model::growth`], but without effort's terms that the times do not
    /// show.
    ///
    /// ```
    /// use modeler::model::Growth;
    /// # use modeler::experiment::{ExperimentBuilder, Metric};
    /// # let mut builder = ExperimentBuilder::new(["p"]);
    /// # let blocks = builder.metric(Metric { name: "basic_blocks".into(), unit: String::new(), over_ranks: None });
    /// # let solve = builder.callpath(["main", "solve"]);
    /// # for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0] {
    /// #     let point = builder.point(&[p]);
    /// #     builder.add(solve, blocks, point, 7.0 + 3.0 * p * p.log2());
    /// # }
    /// # let fits = modeler::fit(&builder.finish(), &modeler::Options::default());
    /// let model = &fits.models[0]; // of 7 + 3 p log2(p)
    /// assert_eq!(model.shown_growth(), [Growth { exponent: 1.into(), log_exponent: 1 }]);
    /// ```
    #[must_use]
    pub fn shown_growth(&self) -> Vec<Growth> {
        let corner = self.uncertainty.corner();
        let hides = self.terms.iter().any(|t| t.coefficient == 0.0) && corner.len() == self.growth.len();
        if hides { growth(self, &corner) } else { self.growth.clone() }
    }
}

/// Leading growth per parameter over the summands that matter at this corner.
fn growth(model: &Model, corner: &[f64]) -> Vec<Growth> {
    let total = model.at(corner).abs();
    let matters = |value: f64| value.abs() >= MATTERS * total && value != 0.0;
    let one = term_of_one();
    let constant = matters(model.constant).then_some(&one);
    // What is taken off times does not grow, it makes them fall.
    let grows = |t: &&Term| matters(t.at(corner)) && (t.coefficient > 0.0 || model.method == Method::Effort);
    let terms: Vec<&Term> = model.terms.iter().filter(grows).chain(constant).collect();
    leading_growth(&terms, corner)
}

/// Leading growth per parameter of these terms; none in a parameter in which none of them grows.
fn leading_growth(terms: &[&Term], corner: &[f64]) -> Vec<Growth> {
    let still = Growth { exponent: Exponent::from_integer(0), log_exponent: 0 };
    let in_parameter = |parameter: usize| {
        let of_term = |term: &&Term| {
            let factor = term.factors.iter().find(|f| f.parameter == parameter);
            factor.map_or(still, |f| Growth { exponent: f.exponent, log_exponent: f.log_exponent })
        };
        terms.iter().map(of_term).max_by_key(|g| (g.exponent, g.log_exponent)).unwrap_or(still)
    };
    (0..corner.len()).map(in_parameter).collect()
}

/// The columns of a model's constant and terms at every observation.
fn columns_of_terms(model: &Model, data: &Data) -> Vec<Vec<f64>> {
    let mut columns: Vec<Vec<f64>> = Vec::new();
    if model.constant != 0.0 {
        columns.push(vec![1.0; data.observations.len()]);
    }
    columns.extend(model.terms.iter().map(|t| data.column(|x| t.at(x))));
    columns
}
