//! Reads a specification from TOML: the raw form with its places, and the step from it to the checked [`Spec`].

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::check::{self, Limits, Place};
use crate::complexity::{Exponent, Point, Term};
use crate::draw::{self, Draw};
use crate::law::{self, Sets};
use crate::names;
use crate::operation::{Element, MpiOperation, Operation};
use crate::spec::{Arrangement, Function, Kernel, Message, Parameter, Spec, SpecError};

type Text = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSpec {
    name: Text,
    memory_limit: Option<Spanned<i64>>,
    total_memory_limit: Option<Spanned<i64>>,
    parameters: Spanned<BTreeMap<Text, Spanned<Vec<Spanned<i64>>>>>,
    test: Option<Spanned<BTreeMap<Text, Spanned<i64>>>>,
    sets: Option<RawSets>,
    #[serde(default)]
    function: Vec<RawFunction>,
    random: Option<RawRandom>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSets {
    #[serde(default)]
    exponents: Vec<Text>,
    #[serde(default)]
    log_exponents: Vec<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFunction {
    name: Text,
    arrangement: Option<Text>,
    array: Option<Text>,
    #[serde(default)]
    kernels: Vec<RawKernel>,
    #[serde(default)]
    mpi: Vec<RawMessage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKernel {
    complexity: Text,
    factor: Option<Spanned<f64>>,
    operation: Option<Text>,
    element: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMessage {
    operation: Text,
    elements: Option<Text>,
    element: Option<Text>,
    calls: Option<Text>,
    work: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRandom {
    functions: Spanned<i64>,
    seed: Spanned<i64>,
    prefix: Option<Text>,
    iterations: Option<Spanned<[f64; 2]>>,
    message_bytes: Option<Spanned<[f64; 2]>>,
    calls: Option<Spanned<[f64; 2]>>,
    arrangements: Option<Spanned<Vec<Text>>>,
    operations: Option<Spanned<Vec<Text>>>,
    elements: Option<Spanned<Vec<Text>>>,
    arrays: Option<Spanned<Vec<Text>>>,
    mpi: Option<Spanned<Vec<Text>>>,
}

/// The text that is read, and what of it is known so far.
struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    names: Vec<String>,
    sets: Sets,
    /// Every point of the study, the test point included.
    points: Vec<Point>,
}

impl Spec {
    /// Reads and checks a specification; `file` is how errors name it.
    ///
    /// # Errors
    /// With file, line and column, where the text is no valid TOML, has unknown keys or names, or asks for what cannot
    /// be generated or run: see `docs/benchgen.md` for what is checked.
    pub fn parse(text: &str, file: &str) -> Result<Self, SpecError> {
        let raw: RawSpec = toml::from_str(text).map_err(|error| toml_error(&error, file, text))?;
        let mut reader = Reader { file, text, names: Vec::new(), sets: Sets::default(), points: Vec::new() };
        reader.identifier(&raw.name, "program")?;
        let parameters = reader.parameters(&raw.parameters)?;
        reader.names = parameters.iter().map(|p| p.name.clone()).collect();
        reader.extend_sets(raw.sets)?;
        let test = raw.test.as_ref().map(|t| reader.test(t)).transpose()?;
        let mut spec = Self {
            name: raw.name.into_inner(),
            parameters,
            test,
            memory_limit: reader.memory_limit(raw.memory_limit.as_ref())?.unwrap_or(1 << 30),
            total_memory_limit: reader.memory_limit(raw.total_memory_limit.as_ref())?,
            sets: reader.sets.clone(),
            functions: Vec::new(),
        };
        reader.points = spec.points().into_iter().chain(spec.test.clone()).collect();
        for function in &raw.function {
            let checked = reader.function(function, &spec)?;
            spec.functions.push(checked);
        }
        if let Some(random) = &raw.random {
            let drawn = reader.random(random, &spec)?;
            spec.functions.extend(drawn);
        }
        if spec.functions.is_empty() {
            return Err(reader.error(&(0..0), "no functions; give [[function]] tables or a [random] table"));
        }
        Ok(spec)
    }
}

impl Reader<'_> {
    fn error(&self, span: &Range<usize>, message: impl Into<String>) -> SpecError {
        SpecError::at(self.file, self.text, span, message)
    }

    fn identifier(&self, name: &Text, what: &str) -> Result<(), SpecError> {
        names::check(name.get_ref(), what).map_err(|message| self.error(&name.span(), message))
    }

    /// Whether a function or parameter has that name already, case apart.
    fn is_taken(&self, name: &str, spec: &Spec) -> bool {
        let functions = spec.functions.iter().map(|f| &f.name);
        functions.chain(&self.names).any(|known| names::same_in_fortran(known, name))
    }

    fn parameters(
        &self,
        raw: &Spanned<BTreeMap<Text, Spanned<Vec<Spanned<i64>>>>>,
    ) -> Result<Vec<Parameter>, SpecError> {
        let mut parameters = Vec::new();
        for (name, values) in raw.get_ref() {
            self.identifier(name, "parameter")?;
            let mut checked = values.get_ref().iter().map(|v| self.coordinate(v)).collect::<Result<Vec<f64>, _>>()?;
            checked.sort_by(f64::total_cmp);
            checked.dedup();
            if checked.is_empty() || checked.len() < values.get_ref().len() {
                return Err(self.error(&values.span(), "expected one or more different values"));
            }
            if parameters.iter().any(|p: &Parameter| names::same_in_fortran(&p.name, name.get_ref())) {
                return Err(
                    self.error(&name.span(), format!("the name `{}` is used twice, case apart", name.get_ref()))
                );
            }
            parameters.push(Parameter { name: name.get_ref().clone(), values: checked });
        }
        // A stable sort: the others stay in the order of their names.
        parameters.sort_by_key(|p| p.name != "p");
        if parameters.first().is_none_or(|p| p.name != "p") {
            return Err(self.error(&raw.span(), "no parameter `p`, the number of ranks; add `p = [2, 4, …]`"));
        }
        if let Some(&ranks) = parameters[0].values.last().filter(|&&ranks| ranks > 1e6) {
            return Err(self.error(&raw.span(), format!("p = {ranks} ranks; at most 1000000 are supported")));
        }
        let size = parameters.iter().try_fold(1_usize, |n, p| n.checked_mul(p.values.len()).filter(|&n| n <= 100_000));
        match size {
            Some(_) => Ok(parameters),
            None => Err(self.error(&raw.span(), "the grid has more than 100000 points")),
        }
    }

    fn coordinate(&self, value: &Spanned<i64>) -> Result<f64, SpecError> {
        match *value.get_ref() {
            x @ 1..=check::LARGEST_INTEGER => Ok(x as f64),
            x => Err(self.error(&value.span(), format!("{x} is no coordinate; expected an integer from 1 to 2^53"))),
        }
    }

    fn extend_sets(&mut self, raw: Option<RawSets>) -> Result<(), SpecError> {
        let Some(raw) = raw else { return Ok(()) };
        for text in &raw.exponents {
            let exponent: Exponent = text
                .get_ref()
                .parse()
                .ok()
                .filter(|e: &Exponent| e.numer().unsigned_abs() <= 64 && *e.denom() <= 64)
                .ok_or_else(|| self.error(&text.span(), "expected a fraction such as \"5/6\", its parts at most 64"))?;
            self.sets.exponents.push(exponent);
        }
        for value in &raw.log_exponents {
            let exponent = u32::try_from(*value.get_ref()).ok().filter(|&j| j <= 16);
            let exponent = exponent.ok_or_else(|| self.error(&value.span(), "expected an integer from 0 to 16"))?;
            self.sets.log_exponents.push(exponent);
        }
        self.sets.exponents.sort();
        self.sets.exponents.dedup();
        self.sets.log_exponents.sort();
        self.sets.log_exponents.dedup();
        Ok(())
    }

    fn test(&self, raw: &Spanned<BTreeMap<Text, Spanned<i64>>>) -> Result<Point, SpecError> {
        let mut point = Point::new();
        for (name, value) in raw.get_ref() {
            if !self.names.contains(name.get_ref()) {
                let message = unknown("parameter", name.get_ref(), self.names.iter().map(String::as_str));
                return Err(self.error(&name.span(), message));
            }
            point.insert(name.get_ref().clone(), self.coordinate(value)?);
        }
        match self.names.iter().find(|name| !point.contains_key(*name)) {
            Some(name) => Err(self.error(&raw.span(), format!("the test point has no value for `{name}`"))),
            None => Ok(point),
        }
    }

    fn memory_limit(&self, raw: Option<&Spanned<i64>>) -> Result<Option<u64>, SpecError> {
        match raw.map(|limit| (u64::try_from(*limit.get_ref()), limit.span())) {
            None => Ok(None),
            Some((Ok(limit), _)) if limit > 0 => Ok(Some(limit)),
            Some((_, span)) => Err(self.error(&span, "expected a positive number of bytes")),
        }
    }

    /// The law in `text`, and whether its coefficient was chosen by hand.
    fn law(&self, text: &Text) -> Result<(Term, bool), SpecError> {
        law::parse(text.get_ref(), &self.names, &self.sets).map_err(|error| {
            // Behind the opening quote, if the text is written as it reads.
            let plain =
                self.text.get(text.span().start + 1..).is_some_and(|rest| rest.starts_with(text.get_ref().as_str()));
            let start = text.span().start + if plain { 1 + error.at.start } else { 0 };
            self.error(&(start..start), error.message)
        })
    }

    fn named<T: Copy>(&self, what: &str, text: &Text, all: &[T], name: fn(T) -> &'static str) -> Result<T, SpecError> {
        let found = all.iter().copied().find(|&t| name(t) == text.get_ref());
        found.ok_or_else(|| {
            let message = unknown(what, text.get_ref(), all.iter().map(|&t| name(t)));
            self.error(&text.span(), message)
        })
    }

    fn element(&self, text: Option<&Text>) -> Result<Element, SpecError> {
        text.map_or(Ok(Element::Double), |text| self.named("element type", text, &Element::ALL, Element::name))
    }

    fn function(&self, raw: &RawFunction, spec: &Spec) -> Result<Function, SpecError> {
        self.identifier(&raw.name, "function")?;
        let name = raw.name.get_ref();
        if self.is_taken(name, spec) {
            return Err(self.error(&raw.name.span(), format!("the name `{name}` is used twice; choose another")));
        }
        let arrangement = raw.arrangement.as_ref().map_or(Ok(Arrangement::Sequential), |text| {
            self.named("arrangement", text, &Arrangement::ALL, Arrangement::name)
        })?;
        let levels = if arrangement == Arrangement::Nested { raw.kernels.len() } else { 1 };
        let function = Function {
            name: name.clone(),
            arrangement,
            kernels: raw.kernels.iter().map(|k| self.kernel(k, levels)).collect::<Result<_, _>>()?,
            array: raw.array.as_ref().map_or(Ok(Term::constant(1024.0)), |text| Ok(self.law(text)?.0))?,
            messages: raw.mpi.iter().map(|m| self.message(m)).collect::<Result<_, _>>()?,
        };
        check::function(&function, &self.points, Limits::of(spec)).map_err(|problem| {
            let span = match problem.place {
                Place::Function => raw.name.span(),
                Place::Array => raw.array.as_ref().map_or(raw.name.span(), Spanned::span),
                Place::Kernel(i) => raw.kernels[i].complexity.span(),
                Place::Elements(i) => raw.mpi[i].elements.as_ref().map_or(raw.name.span(), Spanned::span),
                Place::Calls(i) => raw.mpi[i].calls.as_ref().map_or(raw.name.span(), Spanned::span),
                Place::Work(i) => raw.mpi[i].work.as_ref().map_or(raw.name.span(), Spanned::span),
                Place::Message(i) => raw.mpi[i].operation.span(),
            };
            self.error(&span, problem.message)
        })?;
        Ok(function)
    }

    fn kernel(&self, raw: &RawKernel, levels: usize) -> Result<Kernel, SpecError> {
        let (mut trips, mut chosen) = self.law(&raw.complexity)?;
        if let Some(factor) = &raw.factor {
            chosen = true;
            trips.coefficient *= *factor.get_ref();
            if !(trips.coefficient.is_finite() && *factor.get_ref() > 0.0) {
                return Err(self.error(&factor.span(), "expected a positive number"));
            }
        }
        if !chosen {
            trips.coefficient = check::automatic_factor(&trips, levels, &self.points);
        }
        let operation = raw.operation.as_ref().map_or(Ok(Operation::VectorReduction), |text| {
            self.named("operation", text, &Operation::ALL, Operation::name)
        })?;
        Ok(Kernel { trips, operation, element: self.element(raw.element.as_ref())? })
    }

    fn message(&self, raw: &RawMessage) -> Result<Message, SpecError> {
        let operation = self.named("MPI operation", &raw.operation, &MpiOperation::ALL, MpiOperation::name)?;
        let elements = match (&raw.elements, operation) {
            (Some(text), MpiOperation::Barrier) => return Err(self.error(&text.span(), "a barrier has no elements")),
            (None, MpiOperation::Barrier) => Term::constant(0.0),
            (Some(text), _) => self.law(text)?.0,
            (None, _) => {
                return Err(self.error(
                    &raw.operation.span(),
                    "no `elements`; give the elements of a message, as in `elements = \"n\"`",
                ));
            }
        };
        let calls = raw.calls.as_ref().map_or(Ok(Term::constant(1.0)), |text| Ok(self.law(text)?.0))?;
        let element = self.element(raw.element.as_ref())?;
        let work = match (&raw.work, operation.dimensions()) {
            (None, _) => None,
            (Some(text), Some(_)) => {
                Some(Kernel { trips: self.law(text)?.0, operation: Operation::VectorReduction, element })
            }
            (Some(text), None) => return Err(self.error(&text.span(), "only wavefronts work between their messages")),
        };
        Ok(Message { operation, element, elements, calls, work })
    }

    /// What may be drawn: all, or what the specification lists.
    fn choice<T: Clone>(
        &self,
        raw: Option<&Spanned<Vec<Text>>>,
        all: &[T],
        read: impl Fn(&Text) -> Result<T, SpecError>,
    ) -> Result<Vec<T>, SpecError> {
        match raw {
            None => Ok(all.to_vec()),
            Some(list) if list.get_ref().is_empty() => {
                Err(self.error(&list.span(), "expected one or more to draw from"))
            }
            Some(list) => list.get_ref().iter().map(read).collect(),
        }
    }

    fn random(&self, raw: &RawRandom, spec: &Spec) -> Result<Vec<Function>, SpecError> {
        let functions = match *raw.functions.get_ref() {
            n @ 1..=10_000 => n as usize,
            _ => return Err(self.error(&raw.functions.span(), "expected a number of functions from 1 to 10000")),
        };
        let seed = u64::try_from(*raw.seed.get_ref());
        let seed = seed.map_err(|_| self.error(&raw.seed.span(), "expected a seed from 0 to 2^63 - 1"))?;
        let range = |raw: Option<&Spanned<[f64; 2]>>, default: [f64; 2], most: f64| match raw {
            None => Ok(default),
            Some(range)
                if 1.0 <= range.get_ref()[0]
                    && range.get_ref()[0] < range.get_ref()[1]
                    && range.get_ref()[1] <= most =>
            {
                Ok(*range.get_ref())
            }
            Some(range) => Err(self.error(&range.span(), format!("expected [smallest, largest] between 1 and {most}"))),
        };
        let draw = Draw {
            functions,
            seed,
            prefix: raw.prefix.as_ref().map_or_else(|| "f".to_owned(), |text| text.get_ref().clone()),
            iterations: range(raw.iterations.as_ref(), [1e5, 1e7], 1e12)?,
            message_bytes: range(raw.message_bytes.as_ref(), [1e3, 1e6], 1e9)?,
            calls: range(raw.calls.as_ref(), [1.0, 64.0], 1e6)?,
            arrangements: self.choice(raw.arrangements.as_ref(), &Arrangement::ALL, |text| {
                self.named("arrangement", text, &Arrangement::ALL, Arrangement::name)
            })?,
            operations: self.choice(raw.operations.as_ref(), &Operation::ALL, |text| {
                self.named("operation", text, &Operation::ALL, Operation::name)
            })?,
            elements: self.choice(raw.elements.as_ref(), &Element::ALL, |text| self.element(Some(text)))?,
            arrays: self.choice(raw.arrays.as_ref(), &[Term::constant(1024.0)], |text| Ok(self.law(text)?.0))?,
            mpi: self.choice(raw.mpi.as_ref(), &MpiOperation::ALL, |text| {
                self.named("MPI operation", text, &MpiOperation::ALL, MpiOperation::name)
            })?,
        };
        let drawn =
            draw::functions(&draw, spec, &self.points).map_err(|message| self.error(&raw.functions.span(), message))?;
        for function in &drawn {
            let span = raw.prefix.as_ref().map_or(raw.functions.span(), Spanned::span);
            names::check(&function.name, "function").map_err(|message| self.error(&span, message))?;
            if self.is_taken(&function.name, spec) {
                return Err(
                    self.error(&span, format!("the name `{}` is used twice; choose another prefix", function.name))
                );
            }
        }
        Ok(drawn)
    }
}

/// "unknown x `y`; expected one of …; did you mean …?"
fn unknown<'a>(what: &str, found: &str, all: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<&str> = all.collect();
    let hint = closest(found, &all).map_or(String::new(), |name| format!("; did you mean `{name}`?"));
    format!("unknown {what} `{found}`; expected one of `{}`{hint}", all.join("`, `"))
}

/// The candidate that is at most a third of its letters away.
fn closest<'a>(found: &str, all: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &&&str| edit_distance(found, name);
    all.iter().min_by_key(distance).filter(|name| 3 * distance(name) <= name.len().max(3)).copied()
}

/// Levenshtein's distance in characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// A TOML error with its place; where a key is unknown, with the key that was probably meant.
fn toml_error(error: &toml::de::Error, file: &str, text: &str) -> SpecError {
    let message = error.message();
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let message = match quoted.split_first() {
        Some((found, expected)) if message.starts_with("unknown field") => {
            unknown("key", found, expected.iter().copied())
        }
        _ => message.to_owned(),
    };
    SpecError::at(file, text, &error.span().unwrap_or(0..0), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("same", "same"), 0);
        assert_eq!(closest("vector_reducton", &["add", "vector_reduction"]), Some("vector_reduction"));
        assert_eq!(closest("fourier", &["add", "vector_reduction"]), None);
    }
}
