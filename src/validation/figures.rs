//! The scores: each call path's models of the measured times, and, as the paper's figures 4 and 5, of times with
//! artificial noise and of fewer repetitions. Each variant of the times is an experiment of all call paths, as a user
//! has it. Variants are scored in portions, each of which is written down when it is done, so that an interrupted
//! validation does not score it again.

use std::collections::HashMap;
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

/// A variant of the measured times.
#[derive(Clone, Debug)]
enum Variant {
    /// Figure 4, and which draw.
    Noise(Noise, u32),
    /// Figure 5: these repetitions.
    Repetitions(Vec<usize>),
}

/// Variants that are scored at once, so that what effort says of the shapes is searched for once.
struct Portion {
    way: Way,
    variants: Vec<Variant>,
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
        let variants: Vec<Vec<Times>> = self.subjects.iter().map(|s| vec![times(s)]).collect();
        let scored = self.scored(way, &variants);
        scored.into_iter().map(|mut of_subject| of_subject.pop().flatten()).collect()
    }

    /// Scores by subject and variant.
    fn scored(&self, way: Way, variants: &[Vec<Times>]) -> Vec<Vec<Option<Score>>> {
        let subjects: Vec<&Subject> = self.subjects.iter().collect();
        let experiment = times::experiment(self.trained, &subjects, way == Way::Effort, variants);
        let method = if way == Way::Effort { MethodChoice::Effort } else { MethodChoice::Time };
        let fits = modeler::fit(&experiment, &Options { method, ..super::options(&self.plan.spec, self.plan.seed) });
        let test = self.plan.test();
        let score = |subject: &Subject, model: &Model| {
            let predicted = model.predict(&test, LEVEL).value;
            let expression = model.expression(&self.trained.parameters);
            let growth = exponents(&model.growth);
            Score::new(subject.truth, &self.trained.parameters, &growth, (subject.unseen, predicted), expression)
        };
        let names = subjects.iter().map(|s| s.truth.callpath.iter().map(String::as_str).collect::<Vec<_>>());
        let index: HashMap<Vec<&str>, usize> = names.zip(0..).collect();
        let mut scores: Vec<Vec<Option<Score>>> = variants.iter().map(|v| vec![None; v.len()]).collect();
        for model in &fits.models {
            let Some(number) = times::variant(&experiment.metrics[model.metric as usize]) else { continue };
            if let Some(&i) = index.get(&experiment.path(model.callpath)) {
                scores[i][number] = Some(score(subjects[i], model));
            }
        }
        scores
    }

    /// Both figures; portions that are written in `folder` already are read instead of scored again.
    pub fn figures(&self, folder: &Path, progress: &Progress) -> Result<Figures> {
        fs::create_dir_all(folder).map_err(|e| Error::cannot_write(folder, &e))?;
        let portions = self.portions();
        let fingerprint = self.fingerprint();
        let bar = progress.bar("score", portions.len() as u64);
        let mut figures = Figures::default();
        for (number, portion) in portions.iter().enumerate() {
            interrupt::check()?;
            let file = folder.join(format!("portion-{number}-{fingerprint:016x}.json"));
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

    /// Everything that both figures need.
    fn portions(&self) -> Vec<Portion> {
        let repeated: Vec<Variant> = times::combinations(self.plan.repetitions as usize)
            .into_values()
            .flatten()
            .map(Variant::Repetitions)
            .collect();
        let mut portions = Vec::new();
        for (way, draws) in [(Way::Effort, self.plan.draws), (Way::Time, self.plan.time_draws)] {
            // One draw each, so that an interruption is not waited for long.
            portions.extend((0..draws).map(|draw| Portion { way, variants: noisy(draw) }));
            portions.push(Portion { way, variants: repeated.clone() });
        }
        portions
    }

    /// A number that changes with whatever the scores depend on.
    fn fingerprint(&self) -> u64 {
        // Fixed keys: the same in every process of one version of the program, which the plan names.
        let mut hasher = DefaultHasher::new();
        for subject in self.subjects {
            format!("{:?}{:?}{}", subject.truth, subject.times, subject.unseen).hash(&mut hasher);
            if let Some(id) = super::find(self.trained, &subject.truth.callpath) {
                for series in self.trained.series.iter().filter(|s| s.callpath == id) {
                    self.trained.values_of(series).iter().for_each(|v| v.to_bits().hash(&mut hasher));
                }
            }
        }
        hasher.finish()
    }

    fn portion(&self, portion: &Portion) -> Figures {
        let of = |subject: &Subject| portion.variants.iter().map(|v| self.times(subject, portion.way, v)).collect();
        let variants: Vec<Vec<Times>> = self.subjects.iter().map(of).collect();
        let mut figures = Figures::default();
        for (subject, scores) in self.subjects.iter().zip(self.scored(portion.way, &variants)) {
            let group = Group::of(subject.truth.kind);
            for (variant, score) in portion.variants.iter().zip(scores) {
                let Some(score) = score else { continue };
                match variant {
                    Variant::Noise(noise, _) => add(&mut figures.noise, group, portion.way, *noise, &score),
                    Variant::Repetitions(chosen) => {
                        add(&mut figures.repetitions, group, portion.way, chosen.len(), &score);
                    }
                }
            }
        }
        figures
    }

    /// A variant of a call path's times. With noise, effort has one measurement per point, and what is searched in
    /// times the median of all repetitions.
    fn times(&self, subject: &Subject, way: Way, variant: &Variant) -> Times {
        match variant {
            Variant::Repetitions(chosen) => subject.times.chosen(chosen),
            Variant::Noise((pattern, level), draw) => {
                let times = if way == Way::Effort { subject.times.chosen(&[0]) } else { subject.times.clone() };
                let what = format!("{} {level} {draw}", pattern.name());
                let mut random = times::generator(self.plan.seed, &subject.truth.callpath, &what);
                times.disturbed(*pattern, *level, &mut random)
            }
        }
    }
}

/// Some draws of every pattern and intensity. What has no noise is the same in every draw and is there once.
fn noisy(draw: u32) -> Vec<Variant> {
    let mut variants = Vec::new();
    if draw == 0 {
        variants.push(Variant::Noise((Pattern::None, 0), draw));
    }
    for pattern in Pattern::ALL.into_iter().filter(|p| *p != Pattern::None) {
        variants.extend(LEVELS.map(|level| Variant::Noise((pattern, level), draw)));
    }
    variants
}
