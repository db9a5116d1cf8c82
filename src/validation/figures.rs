//! The scores: each call path's models of the measured times, and, as the paper's figures 4 and 5, of times with
//! artificial noise and of fewer repetitions. Call paths are scored in portions, each of which is written down when it
//! is done, so that an interrupted validation does not score it again.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use modeler::{Experiment, MethodChoice, Model, Options};
use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::score::{Group, Score, Tally, Way, exponents};
use super::times::{self, LEVELS, Pattern, Subject, Times};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::progress::Progress;

/// Nominal probability of the intervals, which are not scored here.
const LEVEL: f64 = 0.9;
/// Call paths of a portion.
const PORTION: usize = 8;

/// One point of a figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell<K> {
    /// Kind of call paths.
    pub group: Group,
    /// How they were modelled.
    pub way: Way,
    /// Where in the figure.
    pub at: K,
    /// Their scores.
    pub tally: Tally,
}

/// Pattern and intensity in percent.
pub type Noise = (Pattern, u32);

/// Figures 4 and 5.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// By pattern and intensity of noise.
    pub noise: Vec<Cell<Noise>>,
    /// By number of repetitions.
    pub repetitions: Vec<Cell<usize>>,
}

impl Figures {
    fn merge(&mut self, other: Self) {
        merge(&mut self.noise, other.noise);
        merge(&mut self.repetitions, other.repetitions);
    }
}

fn merge<K: PartialEq>(all: &mut Vec<Cell<K>>, more: Vec<Cell<K>>) {
    for cell in more {
        match all.iter_mut().find(|c| (c.group, c.way) == (cell.group, cell.way) && c.at == cell.at) {
            Some(known) => known.tally.merge(&cell.tally),
            None => all.push(cell),
        }
    }
}

fn add<K: PartialEq>(all: &mut Vec<Cell<K>>, group: Group, way: Way, at: K, score: &Score) {
    let mut tally = Tally::default();
    tally.add(score);
    merge(all, vec![Cell { group, way, at, tally }]);
}

/// What is scored, and how.
pub struct Scorer<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The training points.
    pub trained: &'a Experiment,
    /// All call paths whose truth is known.
    pub subjects: &'a [Subject<'a>],
}

impl Scorer<'_> {
    /// Models one variant of the times of every call path; `None` where there is no model.
    pub fn models(&self, way: Way, times: impl Fn(&Subject) -> Times) -> Vec<Option<Score>> {
        let subjects: Vec<&Subject> = self.subjects.iter().collect();
        let variants: Vec<Vec<Times>> = subjects.iter().map(|s| vec![times(s)]).collect();
        let scored = self.scored(way, &subjects, &variants);
        scored.into_iter().map(|mut of_subject| of_subject.pop().flatten()).collect()
    }

    /// Scores by subject and variant.
    fn scored(&self, way: Way, subjects: &[&Subject], variants: &[Vec<Times>]) -> Vec<Vec<Option<Score>>> {
        let experiment = times::experiment(self.trained, subjects, way == Way::Effort, variants);
        let method = if way == Way::Effort { MethodChoice::Effort } else { MethodChoice::Time };
        let fits = modeler::fit(&experiment, &Options { method, seed: self.plan.seed, ..Options::default() });
        let test = self.plan.test();
        let score = |subject: &Subject, model: &Model| {
            let predicted = model.predict(&test, LEVEL).value;
            let expression = model.expression(&self.trained.parameters);
            let growth = exponents(&model.growth);
            Score::new(subject.truth, &self.trained.parameters, &growth, (subject.unseen, predicted), expression)
        };
        let mut scores: Vec<Vec<Option<Score>>> = variants.iter().map(|v| vec![None; v.len()]).collect();
        for model in &fits.models {
            let path = experiment.path(model.callpath);
            let Some(i) = subjects.iter().position(|s| s.truth.callpath == path) else { continue };
            if let Some(number) = times::variant(&experiment.metrics[model.metric as usize]) {
                scores[i][number] = Some(score(subjects[i], model));
            }
        }
        scores
    }

    /// Both figures; portions that are written in `folder` already are read instead of scored again.
    pub fn figures(&self, folder: &Path, progress: &Progress) -> Result<Figures> {
        fs::create_dir_all(folder).map_err(|e| Error::cannot_write(folder, &e))?;
        let portions: Vec<&[Subject]> = self.subjects.chunks(PORTION).collect();
        let bar = progress.bar("score", portions.len() as u64);
        let mut figures = Figures::default();
        for (number, portion) in portions.into_iter().enumerate() {
            interrupt::check()?;
            let file = folder.join(format!("portion-{number}-{:016x}.json", self.fingerprint(portion)));
            let known = fs::read_to_string(&file).ok().and_then(|text| serde_json::from_str(&text).ok());
            let done: Figures = match known {
                Some(done) => done,
                None => {
                    let done = self.portion(portion);
                    let text = serde_json::to_string(&done).map_err(|e| Error::Defect(e.to_string()))?;
                    crate::output::write_file(&file, text.as_bytes())?;
                    done
                }
            };
            figures.merge(done);
            bar.advance();
        }
        Ok(figures)
    }

    /// A number that changes with whatever the scores of a portion depend on.
    fn fingerprint(&self, portion: &[Subject]) -> u64 {
        // Fixed keys: the same in every process of one version of the program, which the plan names.
        let mut hasher = DefaultHasher::new();
        for subject in portion {
            format!("{:?}{:?}{}", subject.truth, subject.times, subject.unseen).hash(&mut hasher);
            if let Some(id) = super::find(self.trained, &subject.truth.callpath) {
                for series in self.trained.series.iter().filter(|s| s.callpath == id) {
                    self.trained.values_of(series).iter().for_each(|v| v.to_bits().hash(&mut hasher));
                }
            }
        }
        hasher.finish()
    }

    fn portion(&self, portion: &[Subject]) -> Figures {
        let subjects: Vec<&Subject> = portion.iter().collect();
        let mut figures = Figures::default();
        for way in [Way::Effort, Way::Time] {
            self.noise(&mut figures, way, &subjects);
            self.repetitions(&mut figures, way, &subjects);
        }
        figures
    }

    /// Figure 4. Effort has one measurement per point; what is searched in times has the median of all repetitions.
    fn noise(&self, figures: &mut Figures, way: Way, subjects: &[&Subject]) {
        let draws = if way == Way::Effort { self.plan.draws } else { self.plan.time_draws };
        let mut cells: Vec<Noise> = vec![(Pattern::None, 0)];
        for pattern in Pattern::ALL.into_iter().filter(|p| *p != Pattern::None) {
            cells.extend(LEVELS.map(|level| (pattern, level)));
        }
        let draws_of = |(pattern, _): Noise| if pattern == Pattern::None { 1 } else { draws };
        let variants = |subject: &&Subject| {
            let mut random = times::generator(self.plan.seed, &subject.truth.callpath);
            let times = if way == Way::Effort { subject.times.chosen(&[0]) } else { subject.times.clone() };
            let draw = |(pattern, level)| times.disturbed(pattern, level, &mut random);
            cells.iter().flat_map(|&cell| (0..draws_of(cell)).map(move |_| cell)).map(draw).collect()
        };
        let variants: Vec<Vec<Times>> = subjects.iter().map(variants).collect();
        for (subject, scores) in subjects.iter().zip(self.scored(way, subjects, &variants)) {
            let mut scores = scores.into_iter();
            for &cell in &cells {
                for score in scores.by_ref().take(draws_of(cell) as usize).flatten() {
                    add(&mut figures.noise, Group::of(subject.truth.kind), way, cell, &score);
                }
            }
        }
    }

    /// Figure 5: all combinations of repetitions.
    fn repetitions(&self, figures: &mut Figures, way: Way, subjects: &[&Subject]) {
        let combinations = times::combinations(self.plan.repetitions as usize);
        let chosen: Vec<&Vec<usize>> = combinations.values().flatten().collect();
        let variants = |subject: &&Subject| chosen.iter().map(|c| subject.times.chosen(c)).collect();
        let variants: Vec<Vec<Times>> = subjects.iter().map(variants).collect();
        for (subject, scores) in subjects.iter().zip(self.scored(way, subjects, &variants)) {
            for (combination, score) in chosen.iter().zip(scores) {
                if let Some(score) = score {
                    let at = combination.len();
                    add(&mut figures.repetitions, Group::of(subject.truth.kind), way, at, &score);
                }
            }
        }
    }
}
