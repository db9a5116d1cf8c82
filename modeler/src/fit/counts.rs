//! The functions behind counts, and the models of counts that have one, have two, or have none.

use super::smooth_counts::{rounded_factor, rounded_sums, smooth_function};
use super::{Fitter, first_value};
use crate::build::{Pooled, constant_model, count_model, deviation};
use crate::data::Data;
use crate::depth::{self, Waiting};
use crate::effort::{self, Count, Found, Workspace};
use crate::experiment::Series;
use crate::hypotheses::Hypotheses;
use crate::model::{Kind, Model, Warning};
use crate::segments;
use crate::warning::{self, warning};

/// The search of times replaces the function of a count where it leaves at most this share of the deviation.
pub(super) const MUCH_CLOSER: f64 = 0.5;
/// Whole numbers from here on need not be whole.
const BEYOND_WHOLE: f64 = 9_007_199_254_740_992.0;
/// So many more of them than coefficients agree with no function by chance.
const SPARE: usize = 3;
/// Roughness that such numbers have at most where a function gives them.
const SMOOTH_COUNT: f64 = 0.03;
/// Root mean square of relative differences that rounding of loop bounds is not taken to make.
const BEYOND_ROUNDING: f64 = 0.2;
/// Summands of a function beside what is zero at one rank.
const MOST_BESIDE_ZEROS: usize = 2;

/// A series' counts and the function found behind them.
#[derive(Debug, Default)]
pub(super) struct Effort {
    /// Candidates, best first.
    pub(super) found: Vec<Found>,
    /// Of waiting, the stages that are waited for, where it is so many times what one costs.
    pub(super) stages: Option<Found>,
    /// How far the best candidate is off the count, as the root mean square of the relative differences; its own residual counts large values
    /// for more.
    pub(super) off: f64,
    /// Whether the count repeats exactly.
    pub(super) repeats: bool,
    /// The parameter, if there is one, at whose value one the count is not that of `found`, which gives all others exactly.
    pub(super) apart_at_one: Option<usize>,
    /// Where no exact function was found and parameters with two values change the count: another one, and what is not known of it.
    pub(super) of_two_values: Option<(Found, Warning)>,
    /// Where no function comes near the count: its model as that of a noisy measurement, if this comes much closer, and the function.
    pub(super) like_noise: Option<(Model, Found)>,
}

impl Effort {
    /// The function that times may take their shape from: one that explains the counts, or else the best that cannot
    /// fall below zero away from the measured points.
    pub(super) fn shape(&self) -> Option<&Found> {
        let cannot_fall = |f: &&Found| f.constant >= 0.0 && f.terms.iter().all(|t| t.1 >= 0.0);
        let best = self.found.first().filter(|f| f.is_explained());
        let of_two_values = self.of_two_values.iter().map(|(found, _)| found);
        let others = of_two_values.chain(self.like_noise.iter().map(|(_, found)| found)).chain(&self.found);
        best.or_else(|| others.into_iter().find(cannot_fall))
    }
}

impl<'a> Fitter<'a> {
    pub(super) fn fit_count(&self, series: &Series, data: &Data<'a>, workspace: &mut Workspace) -> Model {
        let effort = self.effort_of(data, workspace);
        if effort.repeats {
            let whole = count_model(self.experiment, data, series.metric, &effort.found, self.options.runners_up);
            let split = self.count_in_segments(data, effort, workspace);
            return split.or_else(|| self.inexact_count(data, effort, &whole, workspace)).unwrap_or(whole);
        }
        let mut data = data.clone();
        let message = "The count differs between repetitions and is modelled like a noisy measurement.";
        data.warnings.push(warning(warning::EFFORT_VARIES, message));
        if data.medians.iter().all(|y| *y == 0.0) {
            return constant_model(&data, Kind::Other, 0.0);
        }
        self.searched_count(&data, None, workspace)
    }

    /// The model of what is measured in whole numbers and is no time, where a function gives all of them exactly: a count of which nothing
    /// says that it has no noise, as of messages or floating-point operations.
    pub(super) fn fit_whole_numbers(
        &self,
        series: &Series,
        data: &Data<'a>,
        workspace: &mut Workspace,
    ) -> Option<Model> {
        let y = &data.medians;
        let are_whole = y.iter().all(|v| v.fract() == 0.0 && *v < BEYOND_WHOLE);
        if !are_whole || !data.repeats_exactly() || self.experiment.metrics[series.metric as usize].is_lengthened() {
            return None;
        }
        let hypotheses = self.hypotheses(data);
        let are_zeros_at_one =
            || data.points.iter().zip(y).all(|(x, v)| *v != 0.0 || x.contains(&1.0)) && y.contains(&0.0);
        let are_smooth = || data.lines.roughness(y).is_none_or(|roughness| roughness <= SMOOTH_COUNT);
        // Of noisy values no function would be found, after a long search.
        let are_plain = || match hypotheses.nonzero(y) {
            Some(nonzero) => nonzero.hypotheses.lines_are_plain(&nonzero.values(y)),
            None => hypotheses.lines_are_plain(y),
        };
        let functions = match (are_smooth() || are_zeros_at_one()) && are_plain() {
            true => self.function_of_few(y, &hypotheses, workspace),
            false => return None,
        };
        let is_it = |f: &Found| f.exact && !f.terms.is_empty() && f.coefficients() + SPARE <= y.len();
        let found = functions.into_iter().find(is_it)?;
        let model = count_model(self.experiment, data, series.metric, &[found], self.options.runners_up);
        Some(Model { kind: self.kind(series), ..model })
    }

    /// The model of a count that no function explains and another comes much closer to: the search of times, as to means over
    /// ranks of few points that are no whole numbers, or, where a parameter with two values changes the count, also functions
    /// that are exact at either.
    fn inexact_count(
        &self,
        data: &Data<'a>,
        effort: &Effort,
        whole: &Model,
        workspace: &mut Workspace,
    ) -> Option<Model> {
        if let Some((model, _)) = &effort.like_noise {
            let mut model = model.clone();
            let said = format!(
                "No function of counts comes closer to it than {:.1} %, so it is modelled like a noisy measurement.",
                100.0 * effort.found[0].residual
            );
            model.warnings.push(warning(warning::EFFORT_INEXACT, said));
            return Some(model);
        }
        let two = self.parameters_of_two_values(data);
        let is_inexact = effort.found.first().is_none_or(|found| found.residual > segments::ROUNDED);
        if two.is_empty() || !is_inexact {
            return None;
        }
        let data = &*self.without_first_value(data, workspace);
        if let Some((found, warning)) = effort.of_two_values.clone() {
            let mut model = count_model(self.experiment, data, data.series.metric, &[found], self.options.runners_up);
            model.warnings.retain(|w| w.code != warning::EFFORT_INEXACT);
            model.warnings.push(warning);
            return Some(model);
        }
        let mut model = self.noisy_count(data, workspace);
        model.warnings.push(self.two_values_warning(&two));
        (deviation(&model, data) < MUCH_CLOSER * deviation(whole, data)).then_some(model)
    }

    /// The model of a count near which none of the functions `found` comes, and its function, where the search of times comes much closer.
    fn count_like_noise(&self, data: &Data<'a>, found: &[Found], workspace: &mut Workspace) -> Option<(Model, Found)> {
        let best = found.first().filter(|best| best.residual > BEYOND_ROUNDING)?;
        if !self.parameters_of_two_values(data).is_empty() {
            return None;
        }
        let data = &*self.without_first_value(data, workspace);
        let whole = count_model(self.experiment, data, data.series.metric, found, 0);
        let model = self.noisy_count(data, workspace);
        let residual = deviation(&model, data);
        let terms = model.terms.iter().map(|term| (term.factors.clone(), term.coefficient)).collect();
        let function = Found { constant: model.constant, terms, residual, exact: false, score: best.score };
        (residual < MUCH_CLOSER * deviation(&whole, data)).then_some((model, function))
    }

    /// The model of a count as that of a time. Its noise is taken for that of a time: fitted through the middle, such a model would be
    /// preferred to the functions of rounded bounds that counts have.
    fn noisy_count(&self, data: &Data<'a>, workspace: &mut Workspace) -> Model {
        self.searched_count(data, Some(&Pooled::default()), workspace)
    }

    /// The two functions that give a count exactly which no single one explains.
    fn count_in_segments(&self, data: &Data<'a>, effort: &Effort, workspace: &mut Workspace) -> Option<Model> {
        let (metric, runners_up) = (data.series.metric, self.options.runners_up);
        if let Some(l) = effort.apart_at_one {
            let cut = first_value::cut(data, l)?;
            let (at_one, beyond) = (cut.part(data, true), cut.part(data, false));
            let found = self.functions_behind(&at_one, workspace);
            let lower = count_model(self.experiment, &at_one, metric, &found, runners_up);
            let upper = count_model(self.experiment, &beyond, metric, &effort.found, runners_up);
            let inexact = lower.warnings.iter().find(|w| w.code == warning::EFFORT_INEXACT).cloned();
            let mut model = segments::joined(data, cut, lower, upper);
            let at_one =
                |w: Warning| warning(w.code, format!("At {} = 1: {}", self.experiment.parameters[l], w.message));
            model.warnings.extend(inexact.map(at_one));
            return Some(model);
        }
        let found = effort.found.first()?;
        // A function that is right where the count is large may be off elsewhere.
        let is_rounded = found.exact && effort.off <= BEYOND_ROUNDING;
        if is_rounded || effort.off <= segments::ROUNDED {
            return None;
        }
        let kinks = if found.residual > segments::ROUNDED { segments::cuts(data) } else { Vec::new() };
        // Beyond the kinks that stand out both sides tell at once whether they are exact, and where the lower one is not, no longer one is.
        let is_exact = |part: Data<'a>| exact_function(&part.medians, &self.hypotheses(&part)).is_some();
        let parameters = 0..data.points.first().map_or(0, |x| x.len());
        let of_parameter =
            |l: usize| segments::places(data, l).into_iter().take_while(|cut| is_exact(cut.part(data, true)));
        let others =
            parameters.flat_map(of_parameter).filter(|cut| !kinks.contains(cut) && is_exact(cut.part(data, false)));
        kinks.iter().copied().chain(others).find_map(|cut| {
            let mut side = |lower: bool| {
                let part = cut.part(data, lower);
                let found = self.functions_behind(&part, workspace);
                segments::is_sure(found.first()?, &part)
                    .then(|| count_model(self.experiment, &part, metric, &found, runners_up))
            };
            let (lower, upper) = (side(true)?, side(false)?);
            // One function with rounded bounds is exact on both sides of any place.
            let is_one = lower.constant == upper.constant && lower.terms == upper.terms;
            (!is_one).then(|| segments::joined(data, cut, lower, upper))
        })
    }

    /// The function behind a count.
    pub(super) fn effort_of(&self, data: &Data<'a>, workspace: &mut Workspace) -> &Effort {
        let key = (data.series.callpath, data.series.metric);
        let index = self.experiment.series.partition_point(|s| (s.callpath, s.metric) < key);
        self.efforts[index].get_or_init(|| {
            let (found, stages) = match self.waiting(data, workspace) {
                Some(Waiting { found, stages }) => (found, stages),
                None => (self.function_of_few(&data.medians, &self.hypotheses(data), workspace), None),
            };
            let (repeats, best) = (data.repeats_exactly(), found.first());
            let off = best.map_or(0.0, |best| best.differs_by(&data.points, &data.medians));
            if repeats
                && best.is_none_or(|best| !best.exact || best.coefficients() > 1)
                && let Some((parameter, found)) = self.function_beyond_one(data, best, workspace)
            {
                return Effort { found, repeats, apart_at_one: Some(parameter), ..Effort::default() };
            }
            let is_inexact = best.is_none_or(|best| best.residual > segments::ROUNDED);
            let of_two_values =
                (repeats && is_inexact).then(|| self.count_of_two_values(data, best, workspace)).flatten();
            let is_like_noise = repeats && is_inexact && of_two_values.is_none();
            let like_noise = is_like_noise.then(|| self.count_like_noise(data, &found, workspace)).flatten();
            Effort { found, stages, off, repeats, apart_at_one: None, of_two_values, like_noise }
        })
    }

    /// The functions that give a count exactly but where a parameter is one, as of messages, which one rank has nobody to send to; if that is
    /// simpler than `whole`, where this gives all values exactly.
    fn function_beyond_one(
        &self,
        data: &Data<'a>,
        whole: Option<&Found>,
        workspace: &mut Workspace,
    ) -> Option<(usize, Vec<Found>)> {
        let parameters = data.points.first().map_or(0, |x| x.len());
        (0..parameters).filter(|&l| first_value::is_off_power(data, l, BEYOND_ROUNDING)).find_map(|l| {
            let cut = first_value::cut(data, l)?;
            let (at_one, beyond) = (cut.part(data, true), cut.part(data, false));
            let found = self.functions_behind(&beyond, workspace);
            if !first_value::is_apart(&at_one, &beyond, found.first()?, BEYOND_ROUNDING) {
                return None;
            }
            let gives = |whole: &&Found| whole.exact && whole.residual <= BEYOND_ROUNDING;
            let most = whole.filter(gives).map_or(usize::MAX, Found::coefficients);
            let mut of_one = || self.functions_behind(&at_one, workspace).first().map_or(1, Found::coefficients);
            (most == usize::MAX || found[0].coefficients() + of_one() < most).then_some((l, found))
        })
    }

    /// The functions that explain a count, best first.
    pub(super) fn functions_behind(&self, data: &Data<'a>, workspace: &mut Workspace) -> Vec<Found> {
        match self.waiting(data, workspace) {
            Some(waiting) => waiting.found,
            None => self.function_of_few(&data.medians, &self.hypotheses(data), workspace),
        }
    }

    /// The functions of logical waiting for the stages of a sweep; `None` where `data` are no such waiting.
    pub(super) fn waiting(&self, data: &Data<'a>, workspace: &mut Workspace) -> Option<Waiting> {
        if self.experiment.metrics[data.series.metric as usize].name != "logical_wait" {
            return None;
        }
        self.sweep_function(data, workspace).or_else(|| self.depth_function(data, workspace))
    }

    /// The functions that explain the counts `y` in those parameters that they depend on, best first.
    pub(super) fn function_of_few(&self, y: &[f64], hypotheses: &Hypotheses, workspace: &mut Workspace) -> Vec<Found> {
        match hypotheses.reduced(y) {
            Some(reduced) => self.function_of(&reduced.values(y), &reduced.hypotheses, workspace),
            None => self.function_of(y, hypotheses, workspace),
        }
    }

    /// The functions behind logical waiting, as the depth of a decomposition times a stage where it is that.
    fn depth_function(&self, data: &Data<'a>, workspace: &mut Workspace) -> Option<Waiting> {
        depth::functions(&data.points, &data.medians, self.ranks?, |points, stage| {
            if points.len() == data.points.len() {
                return self.function_of_few(stage, &self.hypotheses(data), workspace);
            }
            self.function_of_few(stage, &Hypotheses::new(points, &self.options.exponents), workspace)
        })
    }

    /// The functions that explain the counts `y`, best first.
    fn function_of(&self, y: &[f64], hypotheses: &Hypotheses, workspace: &mut Workspace) -> Vec<Found> {
        if let Some(found) = self.function_with_zeros(y, hypotheses, workspace) {
            return vec![found];
        }
        if let Some(found) = smooth_function(y, hypotheses) {
            return vec![found];
        }
        if hypotheses.varying() > 1
            && let Some(found) = rounded_sums(y, false, hypotheses)
        {
            return found;
        }
        if let Some(found) = self.rounded_functions(y, false, hypotheses, workspace) {
            return found;
        }
        if let Some(found) = rounded_factor(y, hypotheses) {
            return found;
        }
        if let Some(found) = exact_function(y, hypotheses) {
            return vec![found];
        }
        if let Some(found) = rounded_sums(y, true, hypotheses) {
            return found;
        }
        if let Some(found) = self.rounded_functions(y, true, hypotheses, workspace) {
            return found;
        }
        hypotheses.once(y, || self.searched_function(y, hypotheses, workspace))
    }

    /// The same by a search among sums of products.
    fn searched_function(&self, y: &[f64], hypotheses: &Hypotheses, workspace: &mut Workspace) -> Vec<Found> {
        let count = Count {
            points: &hypotheses.points,
            y,
            independent: hypotheses.independent(y),
            steps: &hypotheses.steps(y),
        };
        let propose = |weights: &[f64], floor, negative| hypotheses.proposals(y, weights, floor, negative);
        let mut search = |libraries: &mut dyn Iterator<Item = _>| {
            effort::search(count, libraries, self.options.maximum_terms, propose, workspace)
        };
        let found = search(&mut hypotheses.for_count(y));
        if found.first().is_some_and(|f| f.exact || f.adds() && f.is_explained()) {
            return found;
        }
        let falling = search(&mut hypotheses.falling_everywhere(y).into_iter());
        effort::by_score(found.into_iter().chain(falling).collect())
    }

    /// The function of counts `y` that are zero where a parameter is 1 and only there, as of messages, which one rank has nobody to send
    /// to: an exact one times what is zero there. Zeros say little to a search, and weigh much.
    fn function_with_zeros(&self, y: &[f64], hypotheses: &Hypotheses, workspace: &mut Workspace) -> Option<Found> {
        let nonzero = hypotheses.nonzero(y)?;
        let is_only = |l: &usize| hypotheses.points.iter().zip(y).all(|(x, v)| (x[*l] == 1.0) == (*v == 0.0));
        // One other value does not tell what is zero at 1 from anything else that is.
        let is_told = |l: &usize| nonzero.hypotheses.points.iter().any(|x| x[*l] != nonzero.hypotheses.points[0][*l]);
        let parameter = (0..hypotheses.points[0].len()).find(|l| is_only(l) && is_told(l))?;
        let values = nonzero.values(y);
        let with = |zero_at_one: Found| {
            let of_points = nonzero.hypotheses.points.iter().map(|x| zero_at_one.at(x));
            let divided: Vec<f64> = values.iter().zip(of_points).map(|(v, share)| v / share).collect();
            let found = self.function_of_few(&divided, &nonzero.hypotheses, workspace).into_iter().next()?;
            let few = found.exact && found.coefficients() <= MOST_BESIDE_ZEROS;
            let product = few.then(|| depth::times(&found, &zero_at_one))?;
            Some(effort::exact_count(product.constant, product.terms))
        };
        let mut found = depth::zero_at_one(parameter).into_iter().find_map(with)?;
        found.residual = found.differs_by(&hypotheses.points, y);
        Some(found)
    }
}

/// The function that gives the counts `y` exactly, found without a search among sums of all products.
fn exact_function(y: &[f64], hypotheses: &Hypotheses) -> Option<Found> {
    effort::constant_count(y).or_else(|| {
        let (constant, terms) = hypotheses.exact_function(y).or_else(|| hypotheses.exact_of_lines(y))?;
        let mut found = effort::exact_count(constant, terms);
        found.residual = found.differs_by(&hypotheses.points, y);
        Some(found)
    })
}
