//! What a function of a specification must satisfy at every point of its study: loop bounds that rounding hardly
//! changes, counts that fit the types that hold them, memory that fits the limit.

use crate::complexity::{Point, Term};
use crate::decomposition::{self, LOPSIDED};
use crate::memory::{self, Memory};
use crate::operation::MpiOperation;
use crate::spec::{Arrangement, Function, Message, Spec};

/// The largest integer up to which all integers are exact in double precision.
pub const LARGEST_INTEGER: i64 = 1 << 53;

/// Largest relative change by rounding of a loop's total trip count.
const ROUNDING: f64 = 0.01;

/// The part of a function that is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The function as a whole.
    Function,
    /// Its array law.
    Array,
    /// The complexity of a kernel.
    Kernel(usize),
    /// The message-size law of an MPI operation.
    Elements(usize),
    /// The law of its number of calls.
    Calls(usize),
    /// The law of a wavefront's work.
    Work(usize),
    /// The operation itself.
    Message(usize),
}

/// What is wrong, and with which part.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The part.
    pub place: Place,
    /// What is wrong and what to do.
    pub message: String,
}

/// Most bytes that a program may allocate at any point.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// On one rank.
    pub per_rank: u64,
    /// On all ranks together, if there is such a limit.
    pub all_ranks: Option<u64>,
}

impl Limits {
    /// Those of a specification.
    pub fn of(spec: &Spec) -> Self {
        Self { per_rank: spec.memory_limit, all_ranks: spec.total_memory_limit }
    }
}

/// Checks a function at all points.
pub fn function(function: &Function, points: &[Point], limits: Limits) -> Result<(), Problem> {
    let fail = |place| move |message| Problem { place, message };
    let whole = LARGEST_INTEGER as f64;
    exponents(function).map_err(fail(Place::Function))?;
    let levels = if function.arrangement == Arrangement::Nested { function.kernels.len() } else { 1 };
    for (i, kernel) in function.kernels.iter().enumerate() {
        law(&kernel.trips, "iterations", whole, ROUNDING / levels as f64, points).map_err(fail(Place::Kernel(i)))?;
    }
    iterations(function, points).map_err(fail(Place::Function))?;
    // Accesses are indexed with 32 bits.
    law(&function.array, "elements", f64::from(u32::MAX), f64::INFINITY, points).map_err(fail(Place::Array))?;
    for (i, message) in function.messages.iter().enumerate() {
        let count = f64::from(i32::MAX);
        if message.operation != MpiOperation::Barrier {
            law(&message.elements, "elements", count, ROUNDING / 2.0, points).map_err(fail(Place::Elements(i)))?;
        }
        law(&message.calls, "calls", whole, ROUNDING / 2.0, points).map_err(fail(Place::Calls(i)))?;
        if let Some(work) = &message.work {
            law(&work.trips, "iterations", whole, ROUNDING / 2.0, points).map_err(fail(Place::Work(i)))?;
        }
        wavefront(function, i, points).map_err(fail(Place::Message(i)))?;
    }
    points.iter().try_for_each(|point| within_memory(function, point, limits)).map_err(fail(Place::Function))
}

/// What a wavefront asks of its function and of the numbers of ranks.
fn wavefront(function: &Function, i: usize, points: &[Point]) -> Result<(), String> {
    let Some(dimensions) = function.messages[i].operation.dimensions() else { return Ok(()) };
    let shares = |m: &Message| m.operation.dimensions().is_some() || m.operation == MpiOperation::SendReceive;
    if function.messages.iter().enumerate().any(|(j, m)| j != i && shares(m)) {
        return Err("a wavefront shares its MPI_Send and MPI_Recv with another operation of the function; \
                    give each a function of its own"
            .to_owned());
    }
    decompositions(dimensions, points)
}

/// Whether the numbers of ranks make planes or cuboids over which waiting grows as it should.
pub fn decompositions(dimensions: u8, points: &[Point]) -> Result<(), String> {
    for point in points {
        let ranks = value(&Term::parameter("p"), point)?;
        if decomposition::lopsidedness(ranks, dimensions) > LOPSIDED {
            let extents = decomposition::extents(ranks as u64, dimensions);
            let extents = extents.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
            return Err(format!(
                "p = {ranks} ranks make {extents}, too long for waiting to grow as p^(1/{dimensions}); \
                 choose powers of two or numbers near a {}",
                if dimensions == 2 { "square" } else { "cube" }
            ));
        }
    }
    Ok(())
}

/// Checks one law: finite, at most `most`, and changed by rounding by at most the share `rounding`.
fn law(term: &Term, unit: &str, most: f64, rounding: f64, points: &[Point]) -> Result<(), String> {
    for point in points {
        let value = value(term, point)?;
        if !value.is_finite() || value > most {
            return Err(format!("{term} overflows: {value:.4e} {unit} at {}, at most {most:.4e}", show(point)));
        }
        let error = rounding_error(value);
        if error > rounding {
            return Err(format!(
                "{term} is {value:.4} {unit} at {}, which rounding changes by {:.1} % (at most {:.1} %); \
                 multiply it by {:.0} or more",
                show(point),
                100.0 * error,
                100.0 * rounding,
                (0.5 / rounding / value).ceil()
            ));
        }
    }
    Ok(())
}

/// The products that the truth states must have exponents that can be held.
fn exponents(function: &Function) -> Result<(), String> {
    let computation = product(function.kernels.iter().map(|k| &k.trips));
    let work = |m: &Message| m.work.as_ref().map_or(Term::constant(1.0), |work| work.trips.clone());
    let mut communication =
        function.messages.iter().flat_map(|m| [product([&m.elements, &m.calls]), product([&work(m), &m.calls])]);
    match computation.is_some() && communication.all(|product| product.is_some()) {
        true => Ok(()),
        false => {
            Err("the exponents of its laws multiply to fractions that cannot be held; use simpler ones".to_owned())
        }
    }
}

/// The product of p and the terms; `None` where an exponent of it cannot be held.
fn product<'a>(terms: impl IntoIterator<Item = &'a Term>) -> Option<Term> {
    terms.into_iter().try_fold(Term::parameter("p"), |product, term| product.times(term))
}

/// The products of nested loops must be countable too.
fn iterations(function: &Function, points: &[Point]) -> Result<(), String> {
    for point in points {
        let mut product = 1.0;
        for kernel in &function.kernels {
            let trips = value(&kernel.trips, point)?;
            product = if function.arrangement == Arrangement::Nested { product * trips } else { trips };
            countable(product, point)?;
        }
        for message in &function.messages {
            let work = message.work.as_ref().map_or(Ok(1.0), |work| value(&work.trips, point))?;
            countable(work * value(&message.calls, point)?, point)?;
        }
    }
    Ok(())
}

fn countable(iterations: f64, point: &Point) -> Result<(), String> {
    match iterations <= LARGEST_INTEGER as f64 {
        true => Ok(()),
        false => Err(format!("the loops run {iterations:.4e} iterations at {}, at most 2^53", show(point))),
    }
}

fn within_memory(function: &Function, point: &Point, limits: Limits) -> Result<(), String> {
    let Memory { per_rank, all_ranks } = memory::of_function(function, point).map_err(|e| e.to_string())?;
    let within = |bytes: u128, ranks: &str, key: &str, limit: u64| match bytes <= u128::from(limit) {
        true => Ok(()),
        false => Err(format!(
            "`{}` needs {bytes} bytes on {ranks} at {}, more than {key} = {limit} bytes; \
             shrink its laws or raise {key}",
            function.name,
            show(point)
        )),
    };
    within(per_rank, "one rank", "memory_limit", limits.per_rank)?;
    limits.all_ranks.map_or(Ok(()), |limit| within(all_ranks, "all ranks", "total_memory_limit", limit))
}

/// The smallest power of ten that keeps rounding within bounds; one where none up to 10^9 does.
pub fn automatic_factor(trips: &Term, levels: usize, points: &[Point]) -> f64 {
    let fits = |&factor: &f64| {
        let scaled = Term { coefficient: factor, ..trips.clone() };
        points.iter().all(|p| value(&scaled, p).is_ok_and(|v| rounding_error(v) <= ROUNDING / levels as f64))
    };
    (0..10).map(|k| 10_f64.powi(k)).find(fits).unwrap_or(1.0)
}

/// The share by which rounding changes a value.
fn rounding_error(value: f64) -> f64 {
    if value == value.round() { 0.0 } else { (value.round() - value).abs() / value }
}

fn value(term: &Term, point: &Point) -> Result<f64, String> {
    term.at(point).map_err(|e| e.to_string())
}

/// `p=4, n=1000`
fn show(point: &Point) -> String {
    point.iter().map(|(name, x)| format!("{name}={x}")).collect::<Vec<_>>().join(", ")
}
