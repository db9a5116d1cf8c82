//! Models whose shape is searched in the measured values themselves: times without effort, and counts that vary like times.

use super::{Fitter, first_value, off_by, stray, sums};
use crate::build::{Pooled, constant_model, deviation, searched_model};
use crate::data::Data;
use crate::effort::{self, Count, Found, Workspace};
use crate::exact_sum;
use crate::experiment::Series;
use crate::hypotheses::Hypotheses;
use crate::library::Shape;
use crate::model::{Kind, Model, Role, Term};
use crate::options::MethodChoice;
use crate::priors;
use crate::segments;
use crate::shape_search::{self, Extent};
use crate::warning::{self, warning};
use std::borrow::Cow;

/// A shape searched in the times replaces that of the effort where it leaves at most this share of the deviation.
const CONTRADICTED: f64 = 0.25;

impl<'a> Fitter<'a> {
    /// The model of a time whose shape is searched in the times.
    pub(super) fn fit_search(&self, series: &Series, data: &Data<'a>, workspace: &mut Workspace) -> Model {
        let is_one_sided = self.experiment.metrics[series.metric as usize].is_lengthened();
        let pool = is_one_sided.then(|| self.pooled(series));
        let data = &*self.without_first_value(data, workspace);
        let may_stray = is_one_sided && self.plain_function(data).is_none();
        let data =
            &*if may_stray { stray::without_stray_repetitions(self.experiment, data) } else { Cow::Borrowed(data) };
        let data = &*if may_stray { data.with_lower_ends() } else { Cow::Borrowed(data) };
        let data = &*if may_stray { self.without_stray(data, workspace) } else { Cow::Borrowed(data) };
        let mut searched = |data: &Data<'a>| {
            if data.medians.iter().all(|y| *y == 0.0) {
                return constant_model(data, self.kind(series), 0.0);
            }
            let candidates = self.shapes(data, workspace);
            searched_model(self.experiment, data, self.kind(series), candidates, pool.as_ref(), self.options.runners_up)
        };
        let whole = searched(data);
        let cuts = segments::cuts(data).into_iter();
        let parts = cuts.map(|cut| (cut, searched(&cut.part(data, true)), searched(&cut.part(data, false)))).collect();
        segments::better(data, &whole, parts).unwrap_or(whole)
    }

    /// The model of a computation whose times are off the shape of its effort by `left`, searched in the times, where that
    /// comes so much closer that the blocks cannot be what sets the time: much of the work is not counted, as in the
    /// functions of libraries.
    pub(super) fn fit_contradicting(
        &self,
        series: &Series,
        data: &Data<'a>,
        left: f64,
        workspace: &mut Workspace,
    ) -> Option<Model> {
        if self.options.method != MethodChoice::Auto || self.kind(series) != Kind::Computation {
            return None;
        }
        let mut model = self.fit_search(series, data, workspace);
        let off = deviation(&model, data);
        let message = format!(
            "The times differ from the shape of the effort by {} and from this one, searched in the times, by {}.",
            off_by(left),
            off_by(off)
        );
        model.warnings.push(warning(warning::PRIOR_MISFIT, message));
        (off <= CONTRADICTED * left).then_some(model)
    }

    /// The model of a count whose shape is searched as that of a time, with noise either way where there is no `pool`.
    pub(super) fn searched_count(&self, data: &Data<'a>, pool: Option<&Pooled>, workspace: &mut Workspace) -> Model {
        let data = &*self.without_first_value(data, workspace);
        let candidates = self.shapes(data, workspace);
        searched_model(self.experiment, data, Kind::Other, candidates, pool, self.options.runners_up)
    }

    /// The shapes for the values of `data`, best first.
    pub(super) fn shapes(&self, data: &Data<'a>, workspace: &mut Workspace) -> Vec<shape_search::Candidate> {
        let hypotheses = self.hypotheses(data);
        let power = data.weight_power();
        let mut found = shape_search::search(
            &hypotheses,
            data.levels(),
            power,
            (Extent::Usual, data.told_variance()),
            &mut workspace.searched,
        );
        if let Some(exact) = self.without_noise(data, &found, &hypotheses, workspace) {
            found.insert(0, exact);
        } else if let Some(rounded) = self.rounded_time(data, &found, &hypotheses, workspace) {
            return rounded;
        }
        let sums = found.first().map(|first| sums::beside(first, data, &hypotheses, workspace)).unwrap_or_default();
        if sums.is_empty() { found } else { sums }
    }

    /// The function that gives times without noise exactly, where the search of noisy ones did not find it: a sum of more products than that
    /// looks at, or one of which no product is near alone.
    fn without_noise(
        &self,
        data: &Data<'a>,
        found: &[shape_search::Candidate],
        hypotheses: &Hypotheses,
        workspace: &mut Workspace,
    ) -> Option<shape_search::Candidate> {
        let first = found.first()?;
        if first.is_exact() || !data.repeats_exactly() {
            return None;
        }
        let plain = || self.plain_function(data).cloned();
        let exact = plain().or_else(|| self.exact_of_all(data, hypotheses, workspace))?;
        let mut terms = priors::terms_of(&exact, Role::Computation);
        terms.retain(|term| !term.factors.is_empty());
        let (constant, fitted) = (exact.constant, data.medians.clone());
        Some(shape_search::Candidate { constant, terms, fitted, left_out: 0.0, score: first.score })
    }

    /// The sum of functions of few factors along each parameter that gives the times exactly.
    fn plain_function<'d>(&self, data: &'d Data<'a>) -> Option<&'d Found> {
        data.plain_function(|| {
            let of_lines = || self.hypotheses(data).exact_of_lines(&shares_of_largest(data));
            let (constant, terms) = data.repeats_exactly().then(of_lines)??;
            exact_time(data, constant, terms)
        })
    }

    /// The function that gives the times on a full grid exactly, of all points at once.
    fn exact_of_all(&self, data: &Data, hypotheses: &Hypotheses, workspace: &mut Workspace) -> Option<Found> {
        let y = &shares_of_largest(data);
        if !hypotheses.may_be_exact(y, &data.lines) {
            return None;
        }
        if let Some((constant, terms)) = hypotheses.smooth_function(y) {
            return exact_time(data, constant, terms);
        }
        if !hypotheses.is_worth_searching(y, &data.lines) {
            return None;
        }
        let steps = hypotheses.steps(y);
        let count = Count { points: &data.points, y, independent: y.len() as f64, steps: &steps };
        let propose = |weights: &[f64], floor, negative| hypotheses.proposals(y, weights, floor, negative);
        let found =
            effort::search(count, hypotheses.smooth_libraries(y), self.options.maximum_terms, propose, workspace);
        found.into_iter().find_map(|found| exact_time(data, found.constant, found.terms))
    }

    /// The data without those at one rank that are far below all others, unless the function of all has the terms that the one of the others
    /// has and this is next to nothing there.
    pub(super) fn without_first_value<'d>(&self, data: &'d Data<'a>, workspace: &mut Workspace) -> Cow<'d, Data<'a>> {
        // Of what a plain sum gives exactly nothing is off, however much it bends.
        if self.plain_function(data).is_some() {
            return Cow::Borrowed(data);
        }
        let beyond = first_value::without_far_below(self.experiment, data, self.options.minimum_points);
        let Some(beyond) = beyond else { return self.without_told_first_value(data, workspace) };
        let is_beyond = |x: &&[f64]| beyond.points.contains(x);
        let is_nothing = |term: &Term| data.points.iter().filter(|x| !is_beyond(x)).all(|x| term.at(x) == 0.0);
        let mut first = |of: &Data<'a>| self.shapes(of, workspace).into_iter().next();
        let (Some(of_all), Some(own)) = (first(data), first(&beyond)) else { return Cow::Owned(beyond) };
        let factors = |of: &shape_search::Candidate| of.terms.iter().map(|t| t.factors.clone()).collect::<Vec<_>>();
        let is_nothing_at_one = !own.terms.is_empty()
            && own.terms.iter().all(is_nothing)
            && own.fitted.iter().all(|value| own.constant < first_value::APART * value);
        if is_nothing_at_one && factors(&of_all) == factors(&own) { Cow::Borrowed(data) } else { Cow::Owned(beyond) }
    }

    /// The data without those at one rank that are below all others, where repetitions tell that no function found is that of all, or only
    /// one that has two coefficients more than that of the others: with what is at one, the simpler explanation.
    fn without_told_first_value<'d>(&self, data: &'d Data<'a>, workspace: &mut Workspace) -> Cow<'d, Data<'a>> {
        // The coefficients of the function that explains the values, if one does.
        let mut explained = |of: &Data<'a>| {
            let basis = self.shapes(of, workspace).first()?.basis();
            (!of.tells_apart(&basis)).then_some(basis.len())
        };
        let least = self.options.minimum_points;
        let mut beyond = first_value::without_below_as_told(self.experiment, data, least).peekable();
        if !data.may_tell_apart() || beyond.peek().is_none() {
            return Cow::Borrowed(data);
        }
        let most = explained(data).unwrap_or(usize::MAX);
        let told = beyond.find(|beyond| explained(beyond).is_some_and(|own| own + 1 < most));
        told.map_or(Cow::Borrowed(data), Cow::Owned)
    }
}

/// The times, divided by the largest: they have no unit in which they are whole, as counts are.
fn shares_of_largest(data: &Data) -> Vec<f64> {
    let largest = data.medians.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    data.medians.iter().map(|time| time / largest).collect()
}

/// The function of these terms, and of a constant if it needs one, where it gives the times of `data` exactly and is nowhere negative. Along
/// one line nothing may be taken off: what grows from nothing there is seldom told from what begins later.
fn exact_time(data: &Data, constant: f64, terms: Vec<(Shape, f64)>) -> Option<Found> {
    let mut shapes: Vec<Shape> = terms.into_iter().map(|(shape, _)| shape).collect();
    // What the arithmetic leaves of a constant is none.
    let coefficients = exact_sum::coefficients(&data.points, &data.medians, &shapes);
    let (constant, coefficients) = match coefficients {
        Some(coefficients) => (0.0, coefficients),
        None if constant == 0.0 => return None,
        None => {
            shapes.push(Shape::new());
            let mut coefficients = exact_sum::coefficients(&data.points, &data.medians, &shapes)?;
            (coefficients.pop()?, coefficients)
        }
    };
    let found = effort::exact(constant, shapes.into_iter().zip(coefficients).collect());
    let adds = || found.constant >= 0.0 && found.terms.iter().all(|term| term.1 >= 0.0);
    (found.is_never_negative() && (data.lines.varying() > 1 || adds())).then_some(found)
}
