//! The shape that a call path's effort gives its time.

use super::{Effort, Fitter};
use crate::build::OFF;
use crate::data::Data;
use crate::depth;
use crate::effort::{Found, Workspace};
use crate::experiment::{CallPathId, MetricId, OverRanks, Series};
use crate::model::{Role, Warning};
use crate::priors::{self, Bytes, Communicator, Operation, Prior};
use crate::warning::{self, warning};

impl<'a> Fitter<'a> {
    /// The series of the metric `name` at `callpath`, the first there is of these values over ranks.
    pub(super) fn effort_series(
        &self,
        callpath: CallPathId,
        name: &str,
        over: &[Option<OverRanks>],
    ) -> Option<&'a Series> {
        let ids = self.metrics.get(name)?;
        let of = |o: &Option<OverRanks>| ids.iter().find(|&&id| self.experiment.metrics[id as usize].over_ranks == *o);
        over.iter().filter_map(of).find_map(|&id| self.experiment.series_of(callpath, id))
    }

    /// The function behind the count `name` at `callpath`, and its metric.
    fn effort(
        &self,
        callpath: CallPathId,
        name: &str,
        over: &[Option<OverRanks>],
        workspace: &mut Workspace,
    ) -> Option<(&Effort, MetricId, usize)> {
        let series = self.effort_series(callpath, name, over)?;
        let data = self.data(series);
        if data.medians.len() < self.options.minimum_points {
            return None;
        }
        Some((self.effort_of(&data, workspace), series.metric, data.layout))
    }

    /// The shape that effort gives the time of `series`: prior, the metric it came from, and warnings.
    pub(super) fn prior(&self, series: &Series, workspace: &mut Workspace) -> Option<(Prior, MetricId, Vec<Warning>)> {
        let callpath = series.callpath;
        if self.experiment.metrics[series.metric as usize].name == "wait_time" {
            return self.counted_prior(callpath, ("logical_wait", "logical waiting"), Role::Waiting, workspace);
        }
        match Operation::named(&self.experiment.callpaths[callpath as usize].name) {
            Some(operation) => self.communication_prior(callpath, operation, workspace),
            // A function's time is also that of what was inlined into it.
            None => ["compiled_blocks", "basic_blocks"]
                .iter()
                .find_map(|name| self.counted_prior(callpath, (name, "basic blocks"), Role::Computation, workspace)),
        }
    }

    /// The prior of a time whose shape is that of one count, named as a metric and for people.
    fn counted_prior(
        &self,
        callpath: CallPathId,
        (name, what): (&str, &str),
        role: Role,
        workspace: &mut Workspace,
    ) -> Option<(Prior, MetricId, Vec<Warning>)> {
        let over = [Some(self.options.over_ranks), None, Some(OverRanks::Mean), Some(OverRanks::Maximum)];
        let (effort, metric, layout) = self.effort(callpath, name, &over, workspace)?;
        let warnings = effort_warnings(effort, what);
        let found = effort.shape()?;
        let points = &self.hypotheses[layout].points;
        let corner = self.hypotheses[layout].corner();
        let total = |x: &[f64]| found.at(x).abs().max(f64::MIN_POSITIVE);
        let matters = |t: &crate::model::Term| {
            let share = |x: &[f64]| (t.at(x) / total(x)).abs();
            share(&corner) >= 0.01 || points.iter().any(|x| share(x) >= 0.05)
        };
        let prior = Prior { apart_at_one: effort.apart_at_one, ..priors::counted(found, role, matters) };
        Some((prior, metric, warnings))
    }

    fn communication_prior(
        &self,
        callpath: CallPathId,
        operation: Operation,
        workspace: &mut Workspace,
    ) -> Option<(Prior, MetricId, Vec<Warning>)> {
        let over = [Some(self.options.over_ranks), None, Some(OverRanks::Maximum), Some(OverRanks::Mean)];
        let over_waiting = [Some(self.options.over_ranks), None, Some(OverRanks::Mean), Some(OverRanks::Maximum)];
        let mut warnings = Vec::new();
        let visits = self.effort(callpath, "visits", &over, workspace);
        let grid = operation.is_between_two().then(|| self.open_grid(callpath, operation.bytes)).flatten();
        let inside = grid.and_then(|grid| self.bytes_inside(callpath, operation.bytes, grid, workspace));
        let bytes = match &inside {
            Some((effort, metric, layout)) => Some((effort, *metric, *layout)),
            None => self.bytes(callpath, operation, workspace),
        };
        // Without bytes anywhere in the experiment nobody counted them, and a prior of latency alone would be wrong.
        let counted = ["bytes_sent", "bytes_received"].iter().any(|m| self.metrics.contains_key(m));
        if visits.is_none() && bytes.is_none() || operation.moves_bytes() && !counted {
            return None;
        }
        let waiting = self.effort(callpath, "logical_wait", &over_waiting, workspace).filter(|w| w.0.repeats);
        for (effort, what) in [(&visits, "visits"), (&bytes, "bytes"), (&waiting, "logical waiting")] {
            warnings.extend(effort.iter().flat_map(|e| effort_warnings(e.0, what)));
        }
        let once = Found { constant: 1.0, terms: Vec::new(), residual: 0.0, exact: true, score: 0.0 };
        // Polling makes the number of calls a matter of chance; it says nothing of the cost then.
        let calls = visits.as_ref().filter(|v| v.0.repeats).and_then(|v| v.0.found.first()).unwrap_or(&once);
        let volume = bytes.as_ref().and_then(|b| b.0.shape());
        let communicator = self.communicator(callpath, workspace);
        let of_existing = |found: &Found| grid.map(|(ranks, d)| depth::of_existing(found, ranks, d));
        // Where every rank calls, those without a neighbour name MPI_PROC_NULL, which takes no message.
        let most = self.effort(callpath, "visits", &[Some(OverRanks::Maximum)], workspace);
        let messages = of_existing(calls).filter(|_| most.is_some_and(|most| most.0.found.first() == Some(calls)));
        let of_root = |found: &Found| {
            // Where others take no part, the mean of the time is that of the mean bytes.
            let is_of_root = || bytes.is_some_and(|b| self.is_of_root(callpath, b.1));
            let ranks = self.ranks.filter(|_| !operation.is_between_two() && is_of_root())?;
            Some(depth::times_ranks(found, ranks))
        };
        let moved = volume.and_then(|found| of_existing(found).or_else(|| of_root(found)));
        let (calls, volume) = (messages.as_ref().unwrap_or(calls), moved.as_ref().or(volume));
        let metric = bytes.as_ref().or(visits.as_ref())?.1;
        let waits =
            waiting.as_ref().and_then(|w| Some((w.0.shape()?, w.0.stages.as_ref(), &self.hypotheses[w.2].points)));
        let parts = |(found, stages, points): (_, _, &Vec<&[f64]>)| priors::waiting(found, stages, self.ranks, points);
        let waits = waits.map_or_else(Vec::new, parts);
        let points = bytes.as_ref().map_or(&[][..], |b| self.hypotheses[b.2].points.as_slice());
        let apart_at_one =
            [&visits, &bytes, &waiting].into_iter().flatten().find_map(|(effort, ..)| effort.apart_at_one);
        let prior = operation.prior(calls, volume, waits, &communicator, points);
        Some((Prior { apart_at_one, ..prior }, metric, warnings))
    }

    /// The parameter that is the number of ranks and the dimensions of an open grid, where the bytes that ranks move say that they
    /// are one, and the mean over ranks is modelled.
    pub(super) fn open_grid(&self, callpath: CallPathId, which: Bytes) -> Option<(usize, u32)> {
        let of = |over| Some(self.data(self.effort_series(callpath, which.name(), &[Some(over)])?));
        let (ranks, most, mean) = (self.ranks?, of(OverRanks::Maximum)?, of(OverRanks::Mean)?);
        let is_modelled = self.options.over_ranks == OverRanks::Mean && most.points == mean.points;
        let dimensions = is_modelled.then(|| depth::open_grid(&most.points, &most.medians, &mean.medians, ranks));
        Some((ranks, dimensions.flatten()?))
    }

    /// The function of the bytes that a rank inside an open grid moves.
    fn bytes_inside(
        &self,
        callpath: CallPathId,
        which: Bytes,
        grid: (usize, u32),
        workspace: &mut Workspace,
    ) -> Option<(Effort, MetricId, usize)> {
        let (data, inside) = self.bytes_of_inside(callpath, which, grid)?;
        let found = self.function_of_few(&inside, &self.hypotheses(&data), workspace);
        Some((Effort { found, repeats: data.repeats_exactly(), ..Effort::default() }, data.series.metric, data.layout))
    }

    /// The most bytes that a rank of an open grid moves, and what one that has neighbours in all dimensions does. Where the grid
    /// has an extent of one, as for few ranks, no rank has, and the most that one moves is less by their share.
    pub(super) fn bytes_of_inside(
        &self,
        callpath: CallPathId,
        which: Bytes,
        (ranks, dimensions): (usize, u32),
    ) -> Option<(Data<'a>, Vec<f64>)> {
        let series = self.effort_series(callpath, which.name(), &[Some(OverRanks::Maximum)])?;
        let data = self.data(series);
        if data.medians.len() < self.options.minimum_points {
            return None;
        }
        let all = |x: &[f64], most: f64| most / depth::share_of_dimensions(x[ranks], dimensions).unwrap_or(1.0);
        let inside: Vec<f64> = data.points.iter().zip(&data.medians).map(|(x, most)| all(x, *most)).collect();
        Some((data, inside))
    }

    /// Whether `metric` is the mean over ranks of bytes that one rank alone moves, so that this one's are as many times as many as there
    /// are ranks.
    fn is_of_root(&self, callpath: CallPathId, metric: MetricId) -> bool {
        let mean = &self.experiment.metrics[metric as usize];
        let of = |over| Some(self.data(self.effort_series(callpath, &mean.name, &[Some(over)])?));
        let (Some(ranks), Some(most), Some(each)) = (self.ranks, of(OverRanks::Maximum), of(OverRanks::Mean)) else {
            return false;
        };
        let is_all = |((x, most), mean): ((&&[f64], &f64), &f64)| (mean * x[ranks] - most).abs() <= 1e-9 * most;
        let mut values = each.points.iter().zip(&most.medians).zip(&each.medians);
        mean.over_ranks == Some(OverRanks::Mean) && most.points == each.points && values.all(is_all)
    }

    /// The bytes that stand for an operation: those it names, or else the other direction's.
    fn bytes(
        &self,
        callpath: CallPathId,
        operation: Operation,
        workspace: &mut Workspace,
    ) -> Option<(&Effort, MetricId, usize)> {
        let mut over = [Some(OverRanks::Maximum), None, Some(OverRanks::Mean), Some(OverRanks::Sum)];
        // Of messages between two ranks the mean time is that of the mean bytes, whoever sends none.
        if operation.is_between_two() && self.options.over_ranks == OverRanks::Mean {
            over.swap(0, 2);
        }
        let names = match operation.bytes {
            Bytes::Sent => ["bytes_sent", "bytes_received"],
            Bytes::Received => ["bytes_received", "bytes_sent"],
        };
        // Bytes that are zero everywhere belong to the other direction.
        let moves = |e: &Effort| e.found.first().is_some_and(|f| f.constant != 0.0 || !f.terms.is_empty());
        let any =
            names.iter().find(|name| self.effort(callpath, name, &over, workspace).is_some_and(|e| moves(e.0)))?;
        // At the edges of a grid of ranks the largest value is a step, which only a sum of many terms passes through,
        // where the mean is a simple function.
        let mut explained = |o: Option<OverRanks>| {
            let found = self.effort(callpath, any, &[o], workspace)?.0.found.first()?;
            found.is_explained().then_some(found.terms.len())
        };
        let simplest = over.iter().filter_map(|&o| Some((explained(o)?, o))).min_by_key(|(terms, _)| *terms);
        let chosen = simplest.map_or(over.to_vec(), |(_, o)| vec![o]);
        self.effort(callpath, any, &chosen, workspace)
    }

    fn communicator(&self, callpath: CallPathId, workspace: &mut Workspace) -> Communicator {
        let over = [Some(OverRanks::Maximum), None, Some(OverRanks::Mean)];
        let measured = self
            .effort(callpath, "comm_size", &over, workspace)
            .and_then(|(effort, _, _)| effort.found.first().and_then(Communicator::of));
        let world = || self.ranks.map_or(Communicator::Constant(2.0), Communicator::world);
        measured.unwrap_or_else(world)
    }
}

fn effort_warnings(effort: &Effort, what: &str) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if !effort.repeats {
        warnings.push(warning(warning::EFFORT_VARIES, format!("The {what} differ between repetitions.")));
    } else if let Some((_, inexact)) = effort.of_two_values.as_ref().filter(|(found, _)| Some(found) == effort.shape())
    {
        warnings.push(warning(inexact.code, format!("Of the {what}: {}", inexact.message)));
    } else if let Some(found) =
        effort.shape().or(effort.found.first()).filter(|f| !f.is_explained() || effort.off > OFF)
    {
        let percent = 100.0 * if found.is_explained() { effort.off } else { found.residual };
        warnings.push(warning(
            warning::EFFORT_INEXACT,
            format!("The function of the {what} differs from them by {percent:.1} % on average."),
        ));
    }
    warnings
}
