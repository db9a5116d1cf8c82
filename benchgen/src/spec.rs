//! The checked specification of a benchmark: execution parameters, points and functions. How it is read from TOML is in
//! `read`; what is refused and why is in `check`.

use std::fmt;
use std::ops::Range;

use crate::complexity::{Point, Term};
use crate::law::Sets;
use crate::operation::{Element, MpiOperation, Operation};

/// A specification that has been read and checked: whatever holds one may generate a program from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Name of the program and of its files; a valid C identifier.
    pub name: String,
    /// Execution parameters, `p` first, then by name.
    pub parameters: Vec<Parameter>,
    /// The held-out point, if the specification names one.
    pub test: Option<Point>,
    /// Most bytes that one rank may allocate at any point of the study.
    pub memory_limit: u64,
    /// Most bytes that all ranks together may allocate at any point of the study, if the specification names it.
    pub total_memory_limit: Option<u64>,
    /// Exponents that laws may have.
    pub sets: Sets,
    /// The benchmark functions in the order in which main calls them.
    pub functions: Vec<Function>,
}

/// An execution parameter. `p` is the number of ranks, the others come from the command line as `n=1000`.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// A valid C identifier.
    pub name: String,
    /// The values to measure at, ascending.
    pub values: Vec<f64>,
}

/// One benchmark function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Name in C++ and in call paths.
    pub name: String,
    /// How the kernels stand to each other.
    pub arrangement: Arrangement,
    /// The computation, outermost first when nested.
    pub kernels: Vec<Kernel>,
    /// Elements of the arrays that the kernels work on, before they are rounded up to a power of two.
    pub array: Term,
    /// The communication, which follows the computation.
    pub messages: Vec<Message>,
}

/// How the kernels of a function are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// One loop after the other: trip counts add.
    Sequential,
    /// Each loop inside the one before: trip counts multiply.
    Nested,
}

/// One loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its trip count before rounding.
    pub trips: Term,
    /// What each iteration does.
    pub operation: Operation,
    /// On which elements.
    pub element: Element,
}

/// One MPI operation, called in a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The operation.
    pub operation: MpiOperation,
    /// Type of its elements.
    pub element: Element,
    /// Elements m of one message before rounding; zero for a barrier.
    pub elements: Term,
    /// Number of times it is called before rounding.
    pub calls: Term,
    /// Of a wavefront: what each rank computes between what it receives and what it sends.
    pub work: Option<Kernel>,
}

impl Function {
    /// All kernels that have an array, in the order of their arrays: those of the computation, then the wavefronts'.
    pub(crate) fn with_arrays(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter().chain(self.messages.iter().filter_map(|m| m.work.as_ref()))
    }

    /// The dimensions of its wavefront, of which a function has at most one.
    pub(crate) fn dimensions(&self) -> Option<u8> {
        self.messages.iter().find_map(|m| m.operation.dimensions())
    }

    /// The number of the array that the work of message `message` uses.
    pub(crate) fn work_array(&self, message: usize) -> usize {
        self.kernels.len() + self.messages[..message].iter().filter(|m| m.work.is_some()).count()
    }
}

impl Spec {
    /// Names of the parameters, `p` first.
    pub fn parameter_names(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(|p| p.name.as_str())
    }

    /// The training points: all combinations of the parameters' values, the last parameter varying fastest.
    #[must_use]
    pub fn points(&self) -> Vec<Point> {
        self.parameters.iter().fold(vec![Point::new()], |points, parameter| {
            let extend = |point: &Point| {
                let with = |&x: &f64| {
                    point.iter().map(|(k, &v)| (k.clone(), v)).chain([(parameter.name.clone(), x)]).collect()
                };
                parameter.values.iter().map(with).collect::<Vec<Point>>()
            };
            points.iter().flat_map(extend).collect()
        })
    }

    /// The point where every parameter has its largest value, the test point included.
    #[must_use]
    pub fn largest_point(&self) -> Point {
        let test = |name: &str| self.test.as_ref().and_then(|point| point.get(name).copied()).unwrap_or(0.0);
        let largest = |p: &Parameter| p.values.iter().copied().fold(test(&p.name), f64::max);
        self.parameters.iter().map(|p| (p.name.clone(), largest(p))).collect()
    }
}

impl Arrangement {
    /// All, in the order in which errors list them.
    pub const ALL: [Self; 2] = [Self::Sequential, Self::Nested];

    /// Name in specifications.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Nested => "nested",
        }
    }
}

/// Why a specification was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Name of the file as the caller gave it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, what was expected and what to do.
    pub message: String,
}

impl SpecError {
    /// The error at a byte range of `text`.
    pub(crate) fn at(file: &str, text: &str, span: &Range<usize>, message: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl std::error::Error for SpecError {}
