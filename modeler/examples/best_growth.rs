//! How often the growth of communication can be told from times alone at best: `cargo run --release -p modeler --example
//! best_growth -- [--functions N] [--seed S] [--fineness F] [--background B] [--machines one|any] [--cases K]`.
//!
//! The programs and measurements are those of `time_alone`. What answers knows how both are drawn, to the probability of
//! every loop bound and the density of the noise, and answers with the growth that is the most probable after the 25
//! measurements. Whoever knows no more is not right more often. *Machine known* knows how long messages on it take to
//! start and per byte, to the ranges that `programs` draws from; *machine unknown* holds both for a factor of up to 1000
//! slower or faster, each by itself. Where the computation is exact, the mean probability of the answers is the rate of
//! right ones up to chance, if the programs are drawn as was supposed: `--machines any` draws machines as *machine
//! unknown* supposes, of which *machine known* says nothing. `--fineness 2` integrates twice as finely, and `--background`
//! sets the standard deviation of what disturbs every measurement. `--cases K` looks only at the first K kinds of noise.

mod programs;

use modeler::model::Exponent;
use programs::{
    ALPHA, BACKGROUND, BETA, Bound, N, OPERATIONS, P, Pattern, Program, TEST, bounds_growth, communication_on, is_sent,
    measured_in, message_cost, volume,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rayon::prelude::*;
use std::process::ExitCode;

const POINTS: usize = P.len() * N.len();
/// What is dropped is less probable than the best cell by this factor, as a logarithm.
const NEGLIGIBLE: f64 = 12.0;
/// Logarithm of the factor by which an unknown machine is at most slower or faster.
const UNKNOWN: f64 = 3.0 * std::f64::consts::LN_10;
/// Cells are not wider, however little times change in them, since what is known beforehand does change.
const WIDEST: f64 = 0.5;
/// Nodes and weights of Gauss's quadrature with three nodes on an interval from 0 to 1.
const GAUSS: [(f64, f64); 3] =
    [(0.112_701_665_379_258_3, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];
/// Those with two.
const GAUSS_OF_TWO: [f64; 2] = [0.211_324_865_405_187_1, 0.788_675_134_594_812_9];

/// The points in the order of `time_alone`.
fn points() -> impl Iterator<Item = [f64; 2]> {
    P.iter().flat_map(|&p| N.map(|n| [p, n]))
}

/// How dense measurements are by their ratio to the undisturbed time: the density of their logarithms, which is what no
/// unit of time changes.
struct Noise {
    least: f64,
    by_step: f64,
    ln_density: Vec<f64>,
    /// Never less than the density, and rising to the mode and falling beyond.
    envelope: Vec<f64>,
    mode: f64,
    /// The envelope at the mode.
    most: f64,
    background: f64,
}

/// Values of the artificial noise with their probabilities.
fn artificial(pattern: Pattern) -> Vec<(f64, f64)> {
    const CELLS: usize = 2000;
    let evenly = |density: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        let middles = (0..CELLS).map(|i| (i as f64 + 0.5) / CELLS as f64);
        let values: Vec<_> = middles.map(|u| (u, density(u))).collect();
        let total: f64 = values.iter().map(|v| v.1).sum();
        values.iter().map(|&(u, d)| (u, d / total)).collect()
    };
    match pattern {
        Pattern::None => vec![(0.0, 1.0)],
        Pattern::Uniform => evenly(&|_| 1.0),
        Pattern::Normal => evenly(&|u| (-0.5 * u * u).exp()),
        Pattern::Exponential => {
            // What would be greater than one is one.
            let beyond = (-1f64).exp();
            let mut values = evenly(&|u| (-u).exp());
            values.iter_mut().for_each(|v| v.1 *= 1.0 - beyond);
            values.push((1.0, beyond));
            values
        }
        Pattern::Poisson => unreachable!("not asked for"),
    }
}

impl Noise {
    fn new(pattern: Pattern, level: f64, background: f64, fineness: f64) -> Self {
        let step = 0.02 * background / fineness;
        // Beyond twenty standard deviations nothing is probable, and how little is of no matter.
        let least = (1.0 - 20.0 * background).max(0.1);
        let count = (((1.0 + level) * (1.0 + 20.0 * background) - least) / step) as usize + 1;
        let factors: Vec<_> = artificial(pattern).iter().map(|&(u, p)| (1.0 + level * u, p)).collect();
        let density = |ratio: f64| -> f64 {
            let of_normal = |x: f64| {
                let z = (x - 1.0) / background;
                x * (-0.5 * z * z).exp() / (background * std::f64::consts::TAU.sqrt())
            };
            factors.iter().map(|&(factor, p)| p * of_normal(ratio / factor)).sum()
        };
        let ln_density: Vec<f64> =
            (0..count).into_par_iter().map(|i| density(least + step * i as f64).ln().max(-700.0)).collect();
        let mode = (0..count).max_by(|&a, &b| ln_density[a].total_cmp(&ln_density[b])).expect("there are values");
        let mut envelope = ln_density.clone();
        (1..mode).for_each(|i| envelope[i] = envelope[i].max(envelope[i - 1]));
        (mode + 1..count - 1).rev().for_each(|i| envelope[i] = envelope[i].max(envelope[i + 1]));
        let most = envelope[mode];
        Self { least, by_step: 1.0 / step, ln_density, envelope, mode: least + step * mode as f64, most, background }
    }

    fn between(&self, values: &[f64], ratio: f64) -> f64 {
        let at = ((ratio - self.least) * self.by_step).clamp(0.0, values.len() as f64 - 1.001);
        let i = at as usize;
        values[i] + (at - i as f64) * (values[i + 1] - values[i])
    }

    fn ln_density(&self, ratio: f64) -> f64 {
        self.between(&self.ln_density, ratio)
    }

    /// No density from `low` to `high` is greater.
    fn at_most(&self, low: f64, high: f64) -> f64 {
        self.between(&self.envelope, self.mode.max(low).min(high))
    }
}

/// What is known beforehand of alpha or beta, as logarithms of their multiples of 1e-6 or 1e-10 seconds.
#[derive(Clone, Copy)]
struct Axis {
    most: f64,
    /// Logarithm of the greatest factor of the machine, either way.
    factor: f64,
}

impl Axis {
    fn new([least, most]: [f64; 2], factor: f64) -> Self {
        assert!(least == 1.0, "logarithms begin at zero");
        Self { most, factor }
    }

    fn range(self) -> [f64; 2] {
        [-self.factor, self.most.ln() + self.factor]
    }

    /// Probability of less on the known machine.
    fn of_known(self, x: f64) -> f64 {
        (x.exp().clamp(1.0, self.most) - 1.0) / (self.most - 1.0)
    }

    fn density(self, x: f64) -> f64 {
        if self.factor == 0.0 {
            x.exp() / (self.most - 1.0)
        } else {
            (self.of_known(x + self.factor) - self.of_known(x - self.factor)) / (2.0 * self.factor)
        }
    }

    /// Of the interval is no more probable.
    fn at_most(self, [low, high]: [f64; 2]) -> f64 {
        if self.factor == 0.0 { self.of_known(high) - self.of_known(low) } else { (high - low) / (2.0 * self.factor) }
    }
}

/// Seconds by 1e-6 of alpha, by 1e-10 of beta, and neither.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    start: f64,
    bytes: f64,
    fixed: f64,
}

impl Cost {
    /// Of a message of `operation`, by the bytes.
    fn of_operation(operation: &str, p: f64) -> Self {
        let at = |alpha, beta| message_cost(operation, [alpha, beta], p);
        let fixed = at(0.0, 0.0).1;
        Self { start: 1e-6 * at(1.0, 0.0).0, bytes: 1e-10 * (at(0.0, 1.0).1 - fixed), fixed }
    }

    fn of_message(self, bytes: f64) -> Self {
        Self { start: self.start, bytes: bytes * self.bytes, fixed: bytes * self.fixed }
    }

    /// What is fixed on the known machine is on another as much slower as the rest of the bytes' time, which is a multiple
    /// of beta then if this is its value on the known one.
    fn on_unknown(self, beta: f64) -> Self {
        Self { start: self.start, bytes: self.bytes + self.fixed / beta, fixed: 0.0 }
    }

    fn transfer(self, beta: f64) -> f64 {
        beta * self.bytes + self.fixed
    }

    fn seconds(self, [alpha, beta]: [f64; 2]) -> f64 {
        alpha * self.start + self.transfer(beta)
    }
}

/// Costs of operations by ranks, with the share of the operations that cost so.
type Form = ([Cost; P.len()], Cost, f64);

fn forms(known: bool) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    let mut add = |costs, at_test, share| match forms.iter_mut().find(|f| f.0 == costs && f.1 == at_test) {
        Some(form) => form.2 += share,
        None => forms.push((costs, at_test, share)),
    };
    let share = 1.0 / OPERATIONS.len() as f64;
    for operation in OPERATIONS {
        let at = |p| Cost::of_operation(operation, p);
        if known || at(P[0]).fixed == 0.0 {
            add(P.map(at), at(TEST[0]), share);
            continue;
        }
        for node in GAUSS_OF_TWO {
            let on_unknown = |p| at(p).on_unknown(BETA[0] + node * (BETA[1] - BETA[0]));
            add(P.map(on_unknown), on_unknown(TEST[0]), share / GAUSS_OF_TWO.len() as f64);
        }
    }
    forms
}

/// A program but for alpha and beta.
struct Candidate {
    /// Index of its growth.
    growth: usize,
    ln_probability: f64,
    costs: [Cost; POINTS],
    at_test: Cost,
    /// Where starting is the greatest share of the time, and where the smallest.
    ends: [usize; 2],
}

/// All sizes of messages with their probabilities; the generator draws anew what is not sent.
fn sizes() -> Vec<(Vec<Bound>, f64)> {
    let every = Bound::every();
    let one = every.iter().map(|&(a, p)| (vec![a], 0.5 * p));
    let two = (0..every.len()).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| {
        // The order of two different bounds makes no difference.
        let orders = if i == j { 1.0 } else { 2.0 };
        (vec![every[i].0, every[j].0], 0.5 * orders * every[i].1 * every[j].1)
    });
    let mut sizes: Vec<_> = one.chain(two).filter(|(bounds, _)| is_sent(bounds)).collect();
    let total: f64 = sizes.iter().map(|s| s.1).sum();
    sizes.iter_mut().for_each(|s| s.1 /= total);
    sizes
}

/// All programs of communication, and the growths there are.
fn candidates(known: bool) -> (Vec<Candidate>, Vec<[Exponent; 2]>) {
    let mut growths = vec![[Exponent::from_integer(0); 2]];
    let mut candidates = Vec::new();
    let forms = forms(known);
    for (bounds, probability) in sizes() {
        let growth = bounds_growth(&bounds);
        let index = growths.iter().position(|g| *g == growth).unwrap_or_else(|| {
            growths.push(growth);
            growths.len() - 1
        });
        let bytes: Vec<f64> = points().map(|x| volume(&bounds, &x)).collect();
        for (by_ranks, at_test, share) in &forms {
            let costs: [Cost; POINTS] = std::array::from_fn(|i| by_ranks[i / N.len()].of_message(bytes[i]));
            let starting = |i: &usize| costs[*i].start / costs[*i].transfer(1.0);
            let by_start = |a: &usize, b: &usize| starting(a).total_cmp(&starting(b));
            let ends = [(0..POINTS).max_by(by_start), (0..POINTS).min_by(by_start)];
            candidates.push(Candidate {
                growth: index,
                ln_probability: (probability * share).ln(),
                costs,
                at_test: at_test.of_message(volume(&bounds, &TEST)),
                ends: ends.map(|end| end.expect("there are points")),
            });
        }
    }
    (candidates, growths)
}

/// Intervals of the logarithms of alpha and beta.
type Area = [[f64; 2]; 2];

/// How probable a candidate is with the measurements, in a unit common to all.
#[derive(Clone, Copy, Default)]
struct Mass {
    /// Where the bytes matter at the test point.
    shown: f64,
    /// Where starting hides them.
    hidden: f64,
    /// No more was not looked at.
    dropped: f64,
}

/// How to integrate over alpha and beta.
struct Search<'a> {
    noise: &'a Noise,
    axes: [Axis; 2],
    times: [f64; POINTS],
    /// In which order points are looked at.
    order: [usize; POINTS],
    /// In a cell times change by no greater factor, as a logarithm.
    change: f64,
    widest: f64,
}

/// The corners first, whose misfit tells most candidates to be wrong.
fn order() -> [usize; POINTS] {
    let mut order: [usize; POINTS] = std::array::from_fn(|i| i);
    let from_middle = |i: &usize| (i / N.len()).abs_diff(P.len() / 2) + (i % N.len()).abs_diff(N.len() / 2);
    order.sort_by_key(|i| std::cmp::Reverse(from_middle(i)));
    order
}

impl Search<'_> {
    /// No greater is the logarithm of the mass in the area; an error as soon as it is known to be below `floor`.
    fn at_most(&self, candidate: &Candidate, area: Area, floor: f64) -> Result<f64, f64> {
        let before = self.axes[0].at_most(area[0]) * self.axes[1].at_most(area[1]);
        let mut sum = candidate.ln_probability + before.ln() + self.noise.most * POINTS as f64;
        let [low, high] = [0, 1].map(|side| area.map(|interval| interval[side].exp()));
        for &i in &self.order {
            let (cost, y) = (candidate.costs[i], self.times[i]);
            sum += self.noise.at_most(y / cost.seconds(high), y / cost.seconds(low)) - self.noise.most;
            if sum < floor {
                return Err(sum);
            }
        }
        Ok(sum)
    }

    /// Halves of the area, across the direction in which times change more, unless it is small enough.
    fn halves(&self, candidate: &Candidate, area: Area) -> Option<[Area; 2]> {
        let [[a, b], [c, d]] = area.map(|interval| interval.map(f64::exp));
        let [started, moved] = candidate.ends.map(|i| candidate.costs[i]);
        let by_alpha = (started.seconds([b, c]) / started.seconds([a, c])).ln();
        let by_beta = (moved.seconds([a, d]) / moved.seconds([a, c])).ln();
        let width = area.map(|[low, high]| high - low);
        // In units of what is small enough.
        let size = [by_alpha, by_beta].map(|change| change / self.change);
        let size = [0, 1].map(|axis| f64::max(size[axis], width[axis] / self.widest));
        let axis = usize::from(size[1] > size[0]);
        (size[axis] > 1.0).then(|| {
            let middle = f64::midpoint(area[axis][0], area[axis][1]);
            let mut halves = [area; 2];
            halves[0][axis][1] = middle;
            halves[1][axis][0] = middle;
            halves
        })
    }

    /// The logarithm of the likelihood; an error above it as soon as it is known to be below `floor`.
    fn ln_likelihood(&self, candidate: &Candidate, alpha_beta: [f64; 2], floor: f64) -> Result<f64, f64> {
        let mut sum = self.noise.most * POINTS as f64;
        for &i in &self.order {
            sum += self.noise.ln_density(self.times[i] / candidate.costs[i].seconds(alpha_beta)) - self.noise.most;
            if sum < floor {
                return Err(sum);
            }
        }
        Ok(sum)
    }

    /// Adds the mass in a small area, by the unit, but for what is below `floor` anywhere.
    fn integrate(&self, candidate: &Candidate, area: Area, ln_unit: f64, floor: f64, mass: &mut Mass) {
        let size: f64 = area.iter().map(|[low, high]| high - low).product();
        let whole = self.axes[0].at_most(area[0]) * self.axes[1].at_most(area[1]);
        let floor = floor - candidate.ln_probability - whole.ln();
        let nodes = [0, 1].map(|axis| {
            GAUSS.map(|(at, weight)| {
                let x = area[axis][0] + at * (area[axis][1] - area[axis][0]);
                (x.exp(), weight * self.axes[axis].density(x))
            })
        });
        for (alpha, first) in nodes[0] {
            for (beta, second) in nodes[1] {
                let by_likelihood = |ln: f64| size * first * second * (ln + candidate.ln_probability - ln_unit).exp();
                match self.ln_likelihood(candidate, [alpha, beta], floor) {
                    Err(bound) => mass.dropped += by_likelihood(bound),
                    // As `programs` decides what of the time grows.
                    Ok(ln) if candidate.at_test.transfer(beta) >= 0.01 * candidate.at_test.seconds([alpha, beta]) => {
                        mass.shown += by_likelihood(ln);
                    }
                    Ok(ln) => mass.hidden += by_likelihood(ln),
                }
            }
        }
    }

    /// The logarithm of the mass of a small cell of the candidate that looks good, if it may be greater than `floor`.
    fn dive(&self, candidate: &Candidate, floor: f64) -> Option<f64> {
        let mut area = self.axes.map(Axis::range);
        while let Some(halves) = self.halves(candidate, area) {
            let [first, second] = halves.map(|half| self.at_most(candidate, half, floor).unwrap_or(f64::NEG_INFINITY));
            if first.max(second) == f64::NEG_INFINITY {
                return None;
            }
            area = halves[usize::from(second > first)];
        }
        let mut mass = Mass::default();
        let ln_unit = self.at_most(candidate, area, f64::NEG_INFINITY).ok()?;
        self.integrate(candidate, area, ln_unit, f64::NEG_INFINITY, &mut mass);
        Some((mass.shown + mass.hidden).ln() + ln_unit)
    }

    /// Adds the mass in an area, by the unit, but for cells that are negligible.
    fn explore(&self, candidate: &Candidate, area: Area, ln_unit: f64, mass: &mut Mass) {
        match self.at_most(candidate, area, ln_unit - NEGLIGIBLE) {
            Err(bound) => mass.dropped += (bound - ln_unit).exp(),
            Ok(_) => match self.halves(candidate, area) {
                Some(halves) => {
                    halves.iter().for_each(|half| self.explore(candidate, *half, ln_unit, mass));
                }
                None => self.integrate(candidate, area, ln_unit, ln_unit - NEGLIGIBLE, mass),
            },
        }
    }

    /// Masses of all candidates in a unit near the greatest.
    fn masses(&self, candidates: &[Candidate]) -> Vec<Mass> {
        let mut ln_unit = f64::NEG_INFINITY;
        for candidate in candidates {
            ln_unit = self.dive(candidate, ln_unit).map_or(ln_unit, |mass| mass.max(ln_unit));
        }
        let range = self.axes.map(Axis::range);
        loop {
            let of = |candidate| {
                let mut mass = Mass::default();
                self.explore(candidate, range, ln_unit, &mut mass);
                mass
            };
            let masses: Vec<_> = candidates.iter().map(of).collect();
            if masses.iter().map(|m| m.shown + m.hidden).sum::<f64>().is_finite() {
                return masses;
            }
            // With very little noise the cells that were dived for can be far from the best.
            ln_unit += 500.0;
        }
    }
}

/// A growth, by its index, and its probability.
type Best = (usize, f64);

/// The best answers to one program.
struct Answer {
    growth: Best,
    time_growth: Best,
    /// What was not looked at is no more probable.
    dropped: f64,
}

fn best(masses: &[f64]) -> Best {
    let total: f64 = masses.iter().sum();
    let index = (0..masses.len()).max_by(|&a, &b| masses[a].total_cmp(&masses[b])).expect("there are growths");
    (index, masses[index] / total)
}

fn answer(candidates: &[Candidate], growths: usize, search: &Search) -> Answer {
    let masses = search.masses(candidates);
    let (mut of_bytes, mut of_time) = (vec![0.0; growths], vec![0.0; growths]);
    for (candidate, mass) in candidates.iter().zip(&masses) {
        of_bytes[candidate.growth] += mass.shown + mass.hidden;
        of_time[candidate.growth] += mass.shown;
        // The first growth is none.
        of_time[0] += mass.hidden;
    }
    let dropped = masses.iter().map(|m| m.dropped).sum::<f64>() / of_bytes.iter().sum::<f64>();
    Answer { growth: best(&of_bytes), time_growth: best(&of_time), dropped }
}

/// What was asked for.
#[derive(Clone, Copy)]
struct Arguments {
    functions: usize,
    seed: u64,
    fineness: f64,
    background: f64,
    any_machine: bool,
    cases: usize,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments =
        Arguments { functions: 300, seed: 5, fineness: 1.0, background: BACKGROUND, any_machine: false, cases: 7 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value."))?;
        let whole = || value.parse::<u64>().map_err(|e| format!("{word} {value}: {e}."));
        let number = || value.parse::<f64>().map_err(|e| format!("{word} {value}: {e}."));
        match (word.as_str(), value.as_str()) {
            ("--functions", _) => arguments.functions = whole()? as usize,
            ("--cases", _) => arguments.cases = whole()? as usize,
            ("--seed", _) => arguments.seed = whole()?,
            ("--fineness", _) => arguments.fineness = number()?,
            ("--background", _) => arguments.background = number()?,
            ("--machines", "one") => arguments.any_machine = false,
            ("--machines", "any") => arguments.any_machine = true,
            _ => return Err(format!("{word} {value} is not known; the first lines of this example say what is.")),
        }
    }
    Ok(arguments)
}

/// Draws as `time_alone` does, if on one machine.
fn drawn(arguments: &Arguments) -> Vec<Program> {
    let rng = &mut StdRng::seed_from_u64(arguments.seed);
    let machines = &mut StdRng::seed_from_u64(arguments.seed + 2);
    let mut machine = || match arguments.any_machine {
        true => [0; 2].map(|_| machines.random_range(-UNKNOWN..UNKNOWN).exp()),
        false => [1.0; 2],
    };
    (0..arguments.functions).map(|_| communication_on(rng, machine())).collect()
}

/// Prints how often answers are right, and how often they think so.
fn print(name: &str, programs: &[Program], answers: &[Answer], growths: &[[Exponent; 2]]) {
    let percent = |of: &dyn Fn(&Answer, &Program) -> f64| {
        100.0 * answers.iter().zip(programs).map(|(a, p)| of(a, p)).sum::<f64>() / programs.len() as f64
    };
    println!(
        "  {name:<16}{:>8.1}{:>8.1}{:>8.1}{:>8.1}{:>10.0e}",
        percent(&|a, p| f64::from(u8::from(growths[a.growth.0] == p.growth))),
        percent(&|a, _| a.growth.1),
        percent(&|a, p| f64::from(u8::from(growths[a.time_growth.0] == p.time_growth))),
        percent(&|a, _| a.time_growth.1),
        answers.iter().map(|a| a.dropped).fold(0.0, f64::max)
    );
}

fn run(arguments: &Arguments) {
    println!(
        "effort, time: leading exponents of the bytes and of the times right, in %; thought: mean probability that the"
    );
    println!(
        "answers have for who gives them, in %; dropped: no more of the probability was not looked at, in any program"
    );
    let cases = [
        (Pattern::None, 0.0),
        (Pattern::Uniform, 0.1),
        (Pattern::Normal, 0.1),
        (Pattern::Exponential, 0.1),
        (Pattern::Uniform, 0.75),
        (Pattern::Normal, 0.75),
        (Pattern::Exponential, 0.75),
    ];
    let programs = drawn(arguments);
    let knowledge = [("machine known", true, 0.0), ("machine unknown", false, UNKNOWN)];
    // Nothing is known of any machine.
    let knowledge = &knowledge[usize::from(arguments.any_machine)..];
    let knowledge: Vec<_> = knowledge.iter().map(|&(name, known, factor)| (name, factor, candidates(known))).collect();
    for (pattern, level) in cases.into_iter().take(arguments.cases) {
        let noise = Noise::new(pattern, level, arguments.background, arguments.fineness);
        let rng = &mut StdRng::seed_from_u64(arguments.seed + 1);
        let mut measure = |seconds| measured_in(rng, seconds, noise.background, (pattern, level), 1.0);
        let mut times_of =
            |program: &Program| -> Vec<f64> { points().map(|x| measure((program.seconds)(&x))).collect() };
        let times: Vec<[f64; POINTS]> =
            programs.iter().map(|program| times_of(program).try_into().expect("each point once")).collect();
        println!(
            "  {:<16}{:>8}{:>8}{:>8}{:>8}{:>10}   communication, {pattern:?} {level}",
            "", "effort", "thought", "time", "thought", "dropped"
        );
        for (name, factor, (candidates, growths)) in &knowledge {
            let search_in = |&times| Search {
                noise: &noise,
                axes: [Axis::new(ALPHA, *factor), Axis::new(BETA, *factor)],
                times,
                order: order(),
                change: 0.8 * noise.background / arguments.fineness,
                widest: WIDEST / arguments.fineness,
            };
            let answers: Vec<Answer> =
                times.par_iter().map(|t| answer(candidates, growths.len(), &search_in(t))).collect();
            print(name, &programs, &answers, growths);
        }
    }
}

fn main() -> ExitCode {
    match arguments() {
        Ok(arguments) => {
            run(&arguments);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
