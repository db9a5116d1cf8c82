//! Draws functions at random: kernels, operations, complexities from the seed paper's F (equation 3) and messages, each
//! scaled so that its cost at the largest point lies in a given range. The same seed and version draw the same.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::weighted::WeightedIndex;
use rand_distr::{Distribution, Uniform};

use crate::check;
use crate::complexity::{Factor, Point, Term};
use crate::law::Sets;
use crate::operation::{Element, MpiOperation, Operation};
use crate::spec::{Arrangement, Function, Kernel, Message, Spec};

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
}

/// Attempts at one function before the ranges are held to be impossible.
const ATTEMPTS: usize = 100_000;

/// Shares of functions with one, two and three kernels.
const KERNELS: [f64; 3] = [0.4, 0.4, 0.2];

/// Share of functions that communicate.
const COMMUNICATING: f64 = 0.7;

/// Share of laws in which a given parameter occurs.
const OCCURS: f64 = 0.6;

struct Drawer<'a> {
    random: StdRng,
    names: Vec<&'a str>,
    sets: &'a Sets,
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
        largest: spec.largest_point(),
    };
    let digits = (draw.functions - 1).to_string().len();
    (0..draw.functions)
        .map(|i| {
            let name = format!("{}{i:0digits$}", draw.prefix);
            let found = (0..ATTEMPTS).find_map(|_| {
                let function = drawer.function(draw, name.clone())?;
                check::function(&function, points, spec.memory_limit).is_ok().then_some(function)
            });
            found.ok_or_else(|| {
                "no function was found whose cost lies in the given ranges at every point of the study; \
                 widen `iterations` or `message_bytes`, or narrow the parameters' values"
                    .to_owned()
            })
        })
        .collect()
}

impl Drawer<'_> {
    fn function(&mut self, draw: &Draw, name: String) -> Option<Function> {
        let kernels = 1 + WeightedIndex::new(KERNELS).ok()?.sample(&mut self.random);
        let nested = kernels > 1 && self.random.random_bool(0.5);
        let arrangement = if nested { Arrangement::Nested } else { Arrangement::Sequential };
        let iterations = self.log_uniform(draw.iterations);
        let trips = if nested { self.nested(kernels, iterations) } else { self.sequential(kernels, iterations) }?;
        let kernels = trips
            .into_iter()
            .map(|trips| Kernel { trips, operation: self.pick(&Operation::ALL), element: self.pick(&Element::ALL) })
            .collect();
        let communicates = self.random.random_bool(COMMUNICATING);
        let messages = if communicates { vec![self.message(draw.message_bytes)?] } else { Vec::new() };
        Some(Function { name, arrangement, kernels, array: Term::constant(1024.0), messages })
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

    /// Terms whose product is in the sets, the bounds sharing the iterations geometrically.
    fn nested(&mut self, kernels: usize, iterations: f64) -> Option<Vec<Term>> {
        let shares: Vec<f64> = (0..kernels).map(|_| self.random.random_range(0.5..1.0)).collect();
        let total: f64 = shares.iter().sum();
        let mut product = Term::constant(1.0);
        let mut trips = Vec::new();
        for share in shares {
            let law = self.law();
            product = product.times(&law)?;
            trips.push(self.scaled(law, iterations.powf(share / total))?);
        }
        self.sets.hold(&product).then_some(trips)
    }

    fn message(&mut self, bytes: [f64; 2]) -> Option<Message> {
        let operation = self.pick(&MpiOperation::ALL);
        let element = self.pick(&Element::ALL);
        let bytes = self.log_uniform(bytes);
        let law = self.law();
        let elements = match operation {
            MpiOperation::Barrier => Term::constant(0.0),
            _ => self.scaled(law, bytes / element.bytes() as f64)?,
        };
        let calls = if self.random.random_bool(0.2) {
            let law = self.law();
            let most = self.random.random_range(16.0..64.0);
            self.scaled(law, most)?
        } else {
            Term::constant(f64::from(self.random.random_range(1..=8_u32)))
        };
        Some(Message { operation, element, elements, calls })
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
