//! Draws functions at random: kernels, operations, complexities from the seed paper's F (equation 3) and messages, each
//! scaled so that its cost at the largest point lies in a given range and the training points tell how it grows
//! ([`crate::distinct`]). The same seed and version draw the same.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::weighted::WeightedIndex;
use rand_distr::{Distribution, Uniform};

use crate::check::{self, Limits};
use crate::complexity::{Factor, Point, Term};
use crate::distinct::Distinction;
use crate::law::Sets;
use crate::operation::{Element, MpiOperation, Operation};
use crate::spec::{Arrangement, Function, Kernel, Message, Spec};
use crate::truth;

/// What to draw.
pub struct Draw {
    /// Number of functions.
    pub functions: usize,
    /// Seed of the generator.
    pub seed: u64,
    /// Names are this and a number.
    pub prefix: String,
    /// Smallest and largest number of loop iterations of a function at the largest point.
    pub iterations: [f64; 2],
    /// Smallest and largest number of bytes of one message at the largest point.
    pub message_bytes: [f64; 2],
    /// Smallest and largest number of calls of an MPI operation there.
    pub calls: [f64; 2],
    /// Arrangements to draw from.
    pub arrangements: Vec<Arrangement>,
    /// Operations to draw from.
    pub operations: Vec<Operation>,
    /// Element types to draw from, for kernels and messages.
    pub elements: Vec<Element>,
    /// Laws of the arrays to draw from.
    pub arrays: Vec<Term>,
    /// MPI operations to draw from.
    pub mpi: Vec<MpiOperation>,
}

/// Attempts at the laws of one function or message before something else is drawn in its place.
const ATTEMPTS: usize = 5_000;

/// Functions or messages drawn in vain before the ranges are held to be impossible.
const REDRAWS: usize = 100;

/// Shares of functions with one, two and three kernels.
const KERNELS: [f64; 3] = [0.4, 0.4, 0.2];

/// Share of functions that communicate.
const COMMUNICATING: f64 = 0.7;

/// From how many calls on their number may follow a law.
const MANY_CALLS: f64 = 16.0;

/// Share of laws in which a given parameter occurs.
const OCCURS: f64 = 0.6;

struct Drawer<'a> {
    random: StdRng,
    names: Vec<&'a str>,
    sets: &'a Sets,
    points: &'a [Point],
    distinction: Distinction<'a>,
    limits: Limits,
    largest: Point,
}

/// The functions of `draw`, each of which passes the checks of a specification.
///
/// # Errors
/// Where no function in the given ranges can be found.
pub fn functions(draw: &Draw, spec: &Spec, points: &[Point]) -> Result<Vec<Function>, String> {
    let mut drawer = Drawer {
        random: StdRng::seed_from_u64(draw.seed),
        names: spec.parameter_names().collect(),
        sets: &spec.sets,
        points,
        distinction: Distinction::new(&spec.parameters, spec.points(), &spec.sets),
        limits: Limits::of(spec),
        largest: spec.largest_point(),
    };
    let digits = (draw.functions - 1).to_string().len();
    let names = (0..draw.functions).map(|i| format!("{}{i:0digits$}", draw.prefix));
    names
        .map(|name| {
            drawer.function(draw, name).ok_or_else(|| {
                "no function was found whose cost lies in the given ranges at every point of the study; \
                 widen `iterations` or `message_bytes`, or narrow the parameters' values"
                    .to_owned()
            })
        })
        .collect()
}

impl Drawer<'_> {
    /// A function whose kernels were drawn first and whose message, if any, after them.
    fn function(&mut self, draw: &Draw, name: String) -> Option<Function> {
        let mut function = (0..REDRAWS).find_map(|_| self.computation(draw, &name))?;
        if self.random.random_bool(COMMUNICATING) {
            let message = (0..REDRAWS).find_map(|_| self.communication(draw, &function))?;
            function.messages.push(message);
        }
        Some(function)
    }

    /// Draws what kernels a function has, and then laws for them until one choice passes the checks.
    fn computation(&mut self, draw: &Draw, name: &str) -> Option<Function> {
        let kernels = 1 + WeightedIndex::new(KERNELS).ok()?.sample(&mut self.random);
        let arrangement = if kernels > 1 { self.pick(&draw.arrangements) } else { Arrangement::Sequential };
        let nested = arrangement == Arrangement::Nested;
        let loops: Vec<(Operation, Element)> =
            (0..kernels).map(|_| (self.pick(&draw.operations), self.pick(&draw.elements))).collect();
        let array = draw.arrays[self.random.random_range(0..draw.arrays.len())].clone();
        (0..ATTEMPTS).find_map(|_| {
            let iterations = self.log_uniform(draw.iterations);
            let trips = if nested { self.nested(kernels, iterations) } else { self.sequential(kernels, iterations) }?;
            let kernel = |(trips, &(operation, element))| Kernel { trips, operation, element };
            let kernels = trips.into_iter().zip(&loops).map(kernel).collect();
            let array = array.clone();
            self.checked(Function { name: name.to_owned(), arrangement, kernels, array, messages: Vec::new() })
        })
    }

    /// Draws what message a function sends, and then laws for it until one choice passes the checks.
    fn communication(&mut self, draw: &Draw, function: &Function) -> Option<Message> {
        let operation = self.pick(&draw.mpi);
        let element = self.pick(&draw.elements);
        // No law helps where the numbers of ranks make no wavefront.
        if let Some(dimensions) = operation.dimensions() {
            check::decompositions(dimensions, self.points).ok()?;
        }
        (0..ATTEMPTS).find_map(|_| {
            let mut message = self.message(operation, element, draw)?;
            if operation.dimensions().is_some() {
                message.work = Some(self.work(&message, function)?);
            }
            let with = Function { messages: vec![message.clone()], ..function.clone() };
            self.checked(with).map(|_| message)
        })
    }

    fn checked(&self, function: Function) -> Option<Function> {
        check::function(&function, self.points, self.limits).ok()?;
        let counts = function.messages.iter().flat_map(truth::counts);
        let mut all = std::iter::once(truth::iterations(&function).exact).chain(counts);
        all.all(|count| self.distinction.holds(&count)).then_some(function)
    }

    /// Different terms, each with a share of the iterations that can be seen.
    fn sequential(&mut self, kernels: usize, iterations: f64) -> Option<Vec<Term>> {
        let mut trips: Vec<Term> = Vec::new();
        for _ in 0..kernels {
            let law = self.law();
            if trips.iter().any(|known| known.factors == law.factors) {
                return None;
            }
            let share = Uniform::new(0.3, 1.0).ok()?.sample(&mut self.random) / kernels as f64;
            trips.push(self.scaled(law, iterations * share)?);
        }
        Some(trips)
    }

    /// Terms whose products from the outermost loop down to each depth are in the sets, since the count of a nest is
    /// their sum. Laws that are whole numbers at every point stand as they are; the others share the remaining
    /// iterations.
    fn nested(&mut self, kernels: usize, iterations: f64) -> Option<Vec<Term>> {
        let laws: Vec<Term> = (0..kernels).map(|_| self.law()).collect();
        laws.iter()
            .try_fold(Term::constant(1.0), |outer, law| outer.times(law).filter(|product| self.sets.hold(product)))?;
        let whole: Vec<bool> =
            laws.iter().map(|law| self.points.iter().all(|p| law.at(p).is_ok_and(|v| v == v.round()))).collect();
        let values = laws.iter().zip(&whole).filter(|(_, whole)| **whole);
        let remaining = values.fold(iterations, |left, (law, _)| left / law.at(&self.largest).unwrap_or(f64::NAN));
        let shares: Vec<f64> = (0..kernels).map(|_| self.random.random_range(0.5..1.0)).collect();
        let total: f64 = shares.iter().zip(&whole).filter(|(_, whole)| !**whole).map(|(share, _)| share).sum();
        let scale = |((law, whole), share): ((Term, &bool), &f64)| match whole {
            true => Some(law),
            false => self.scaled(law, remaining.powf(share / total)),
        };
        let trips: Vec<Term> = laws.into_iter().zip(&whole).zip(&shares).map(scale).collect::<Option<_>>()?;
        // Where all laws stand as they are, nothing was left to fit them to the range.
        (total > 0.0 || (0.3..3.0).contains(&remaining)).then_some(trips)
    }

    fn message(&mut self, operation: MpiOperation, element: Element, draw: &Draw) -> Option<Message> {
        let bytes = self.log_uniform(draw.message_bytes);
        let law = self.law();
        let elements = match operation {
            MpiOperation::Barrier => Term::constant(0.0),
            _ => self.scaled(law, bytes / element.bytes() as f64)?,
        };
        let [least, most] = draw.calls;
        // Few calls are a constant number of them; rounding spares only the laws of many.
        let calls = if most >= MANY_CALLS && self.random.random_bool(0.2) {
            let law = self.law();
            let calls = self.random.random_range(least.max(most / 4.0)..most);
            self.scaled(law, calls)?
        } else {
            Term::constant(self.random.random_range(least..=most.min(least.max(8.0))).round())
        };
        Some(Message { operation, element, elements, calls, work: None })
    }

    /// The work of a wavefront: in all sweeps together about as much as the function's kernels do.
    fn work(&mut self, message: &Message, function: &Function) -> Option<Kernel> {
        let kernels = function.kernels.iter().map(|k| k.trips.at(&self.largest));
        let kernels = kernels.collect::<Result<Vec<f64>, _>>().ok()?;
        let iterations: f64 = match function.arrangement {
            Arrangement::Sequential => kernels.iter().sum(),
            Arrangement::Nested => kernels.iter().product(),
        };
        let share: f64 = self.random.random_range(0.3..1.0);
        let law = self.law();
        let trips = self.scaled(law, iterations * share / message.calls.at(&self.largest).ok()?)?;
        let all = trips.times(&message.calls)?;
        let kernel = Kernel { trips, operation: Operation::VectorReduction, element: message.element };
        self.sets.hold(&all).then_some(kernel)
    }

    /// A product over F with at least one factor, its coefficient 1.
    fn law(&mut self) -> Term {
        loop {
            let mut term = Term::constant(1.0);
            for name in self.names.clone() {
                let factor = Factor {
                    parameter: name.to_owned(),
                    exponent: self.pick(&self.sets.exponents),
                    log_exponent: self.pick(&self.sets.log_exponents),
                };
                let grows = factor.log_exponent > 0 || factor.exponent != 0.into();
                if self.random.random_bool(OCCURS) && grows {
                    term.factors.push(factor);
                }
            }
            if !term.factors.is_empty() {
                return term;
            }
        }
    }

    /// The law with a coefficient of three digits, such that its value at the largest point is about `value`; without
    /// one where the law itself is within a factor of two, since plain laws are worth having too.
    fn scaled(&self, law: Term, value: f64) -> Option<Term> {
        let plain = law.at(&self.largest).ok()?;
        let factor = value / plain;
        if !factor.is_normal() {
            return None;
        }
        let short: f64 = format!("{factor:.2e}").parse().ok()?;
        let coefficient = if (0.5..2.0).contains(&factor) { 1.0 } else { short };
        Some(Term { coefficient, ..law })
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.random_range(0..all.len())]
    }

    fn log_uniform(&mut self, [least, most]: [f64; 2]) -> f64 {
        let unit: f64 = self.random.random();
        (least.ln() + unit * (most / least).ln()).exp()
    }
}
