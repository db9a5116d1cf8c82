//! The truth about a generated program: for every call path its exact counts and how they grow, and the form that its
//! time is expected to have. Written beside the program as JSON; `docs/benchgen.md` describes the format.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::complexity::{Complexity, Count, Factor, Growth, MissingParameter, Point, RoundedProduct, Term};
use crate::decomposition::{Quantity, Sweep};
use crate::operation::{ByRank, Cost, Extent, MpiCall};
use crate::spec::{Arrangement, Function, Message, Spec};

/// Name of the format.
pub const SCHEMA: &str = "counterpoise/truth";
/// Version of the format.
pub const SCHEMA_VERSION: u32 = 1;

/// What is known about a generated program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of the generator.
    pub tool_version: String,
    /// Name of the program.
    pub name: String,
    /// Names of the execution parameters, `p` first.
    pub parameters: Vec<String>,
    /// What is known of each call path; `main` itself only sets up and is left out.
    pub callpaths: Vec<CallPathTruth>,
}

/// What is known of one call path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallPathTruth {
    /// Names from the root.
    pub callpath: Vec<String>,
    /// What its cost consists of.
    pub kind: Kind,
    /// How often each rank enters it.
    pub visits: Count,
    /// Loop iterations of each rank, which its basic blocks are proportional to term by term; computation only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<Count>,
    /// What it moves; communication only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// How ranks wait; the receives of wavefronts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// The expected time, a sum.
    pub time: Vec<TimeTerm>,
    /// Leading growth per parameter.
    pub growth: Growths,
}

/// What the cost of a call path consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Loops.
    Computation,
    /// An MPI operation.
    Communication,
}

/// Bytes that one rank sends and receives in all calls of a call path, by the meaning of the calls' arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bytes {
    /// Sent.
    pub sent: RankBytes,
    /// Received.
    pub received: RankBytes,
    /// B of the seed paper's Table I, summed over the calls: what the expected time is stated in.
    pub transferred: Count,
}

/// Bytes and the ranks that they are counted at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RankBytes {
    /// By the role of the rank. In pairs of an odd number of ranks the last has no partner and moves nothing.
    ByRole {
        /// At rank 0.
        root: Count,
        /// At every other rank.
        others: Count,
    },
    /// On all ranks together: in a wavefront each has as many neighbours as its place gives it.
    Together {
        /// The sum.
        all: Count,
    },
}

/// How the ranks of a wavefront wait. Sweeps go to and fro between two corners, so that each waits for the whole of the
/// one before; a rank waits `sweeps - 1/2` times the decomposition's depth in stages, as the mean over the ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    /// Dimensions of the decomposition.
    pub dimensions: u8,
    /// Number of sweeps.
    pub sweeps: Count,
    /// Stages that a rank waits in all, as the mean over the ranks, where p is a perfect square or cube.
    pub stages: Complexity,
    /// What one stage takes: the work of one rank and one message.
    pub stage: Vec<TimeTerm>,
}

/// A summand of the expected time: `coefficient · unit cost · scale · Π factors`, the unit cost of its role unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeTerm {
    /// Iterations, messages or bytes that the role's unit cost is paid for.
    pub coefficient: f64,
    /// What is paid for.
    pub role: Role,
    /// `1`, or `(p-1)/p`.
    pub scale: Scale,
    /// How the coefficient grows.
    pub factors: Vec<Factor>,
    /// Of waiting: the role of what is waited for, whose unit cost is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited: Option<Role>,
}

/// What a summand of the time is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Iterations.
    Computation,
    /// Messages: α.
    Latency,
    /// Bytes: β.
    Bandwidth,
    /// Bytes combined by a reduction: γ.
    Reduction,
    /// What other ranks do first.
    Waiting,
}

/// A multiplier that is no PMNF factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// None.
    #[serde(rename = "1")]
    One,
    /// The share that crosses the network.
    #[serde(rename = "(p-1)/p")]
    Remote,
}

/// Leading growth per parameter of what a modeler may model. Of iterations and bytes only terms count that are at least
/// a hundredth of the whole where every parameter has the study's largest value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growths {
    /// Of basic blocks (computation) or transferred bytes (communication).
    pub effort: BTreeMap<String, Growth>,
    /// Of the expected time; that of a computation grows as its iterations.
    pub time: BTreeMap<String, Growth>,
}

/// A truth file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TruthError {
    /// The file cannot be opened or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is no truth file.
    #[error("{}:{}:{}: {source}", path.display(), source.line(), source.column())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The file is of another format or version.
    #[error("{}: schema {found}, expected {SCHEMA} version {SCHEMA_VERSION}; generate the benchmark again", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// What it says it is.
        found: String,
    },
}

impl Truth {
    /// The truth about the program of `spec`.
    pub(crate) fn of(spec: &Spec) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            name: spec.name.clone(),
            parameters: spec.parameter_names().map(str::to_owned).collect(),
            callpaths: spec.functions.iter().flat_map(|function| of_function(function, spec)).collect(),
        }
    }

    /// What is known of the call path with these names.
    #[must_use]
    pub fn find<S: AsRef<str>>(&self, callpath: &[S]) -> Option<&CallPathTruth> {
        self.callpaths.iter().find(|c| c.callpath.iter().map(String::as_str).eq(callpath.iter().map(AsRef::as_ref)))
    }

    /// The truth as JSON text that ends with a line end.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Serialising plain structs with string keys to memory cannot fail.
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }

    /// Writes the truth as JSON.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), TruthError> {
        std::fs::write(path, self.to_json()).map_err(|source| TruthError::Io { path: path.to_owned(), source })
    }

    /// Reads a truth file.
    ///
    /// # Errors
    /// If the file cannot be read, is no truth file or is of another version.
    pub fn load(path: &Path) -> Result<Self, TruthError> {
        #[derive(Deserialize)]
        struct Header {
            schema: String,
            schema_version: u32,
        }
        let text = std::fs::read_to_string(path).map_err(|source| TruthError::Io { path: path.to_owned(), source })?;
        let json = |source| TruthError::Json { path: path.to_owned(), source };
        let header: Header = serde_json::from_str(&text).map_err(json)?;
        if (header.schema.as_str(), header.schema_version) != (SCHEMA, SCHEMA_VERSION) {
            let found = format!("{} version {}", header.schema, header.schema_version);
            return Err(TruthError::Schema { path: path.to_owned(), found });
        }
        serde_json::from_str(&text).map_err(json)
    }
}

/// The function itself and the MPI functions below it.
fn of_function(function: &Function, spec: &Spec) -> Vec<CallPathTruth> {
    let path = vec!["main".to_owned(), function.name.clone()];
    let iterations = iterations(function);
    let time: Vec<TimeTerm> =
        iterations.complexity.terms.iter().map(|t| TimeTerm::new(t.clone(), Role::Computation, Scale::One)).collect();
    let effort = effort_growth(&iterations, spec);
    let growth = Growths { time: effort.clone(), effort };
    let visits = count(vec![RoundedProduct::new(1, Vec::new())]);
    let own = CallPathTruth {
        callpath: path.clone(),
        kind: Kind::Computation,
        visits,
        iterations: Some(iterations),
        bytes: None,
        waiting: None,
        time,
        growth,
    };
    let mut all = vec![own];
    for message in &function.messages {
        for call in &message.operation.calls() {
            let mut callpath = path.clone();
            callpath.push(call.function.to_owned());
            let truth = of_call(callpath, message, call, spec);
            // Two operations of one kind in a function share a call path.
            match all.iter_mut().find(|known| known.callpath == truth.callpath) {
                Some(known) => known.merge(truth, spec),
                None => all.push(truth),
            }
        }
    }
    all
}

/// All loops of a function: kernels, the loops around MPI calls, and the work within those.
pub(crate) fn iterations(function: &Function) -> Count {
    let mut exact: Vec<RoundedProduct> = Vec::new();
    let mut outer: Vec<Term> = Vec::new();
    for kernel in &function.kernels {
        if function.arrangement == Arrangement::Sequential {
            outer.clear();
        }
        outer.push(kernel.trips.clone());
        exact.push(RoundedProduct::new(1, outer.clone()));
    }
    exact.extend(function.messages.iter().map(|m| RoundedProduct::new(1, vec![m.calls.clone()])));
    let work = |m: &Message| Some(RoundedProduct::new(1, vec![m.calls.clone(), m.work.as_ref()?.trips.clone()]));
    exact.extend(function.messages.iter().filter_map(work));
    count(exact)
}

fn of_call(callpath: Vec<String>, message: &Message, call: &MpiCall, spec: &Spec) -> CallPathTruth {
    let visits = count(vec![RoundedProduct::new(call.repeats, vec![message.calls.clone()])]);
    let (cost, extent) = message.operation.cost();
    let transferred = moved(message, call.repeats, extent);
    let mut time = expected_time(cost, &visits, &transferred);
    let receives = call.received.others != Extent::Nothing;
    let waiting = if receives { waiting(message) } else { None };
    time.extend(waiting.iter().flat_map(Waiting::time));
    let growth = Growths { effort: effort_growth(&transferred, spec), time: growth(&time, spec) };
    let by_rank = |extent: ByRank| rank_bytes(message, call.repeats, extent);
    let bytes = Some(Bytes { sent: by_rank(call.sent), received: by_rank(call.received), transferred });
    CallPathTruth { callpath, kind: Kind::Communication, visits, iterations: None, bytes, waiting, time, growth }
}

/// What must show how a message's cost grows: bytes, number of calls, and of a wavefront what a stage takes, half a tick of
/// the shim's clock being the unit and four blocks an iteration.
pub(crate) fn counts(message: &Message) -> Vec<Vec<RoundedProduct>> {
    let of = |multiplier, law: &Term| RoundedProduct::new(multiplier, vec![law.clone()]);
    let bytes = moved(message, 1, message.operation.cost().1).exact;
    let work = message.work.as_ref().map(|work| of(8, &work.trips));
    let stage = work.map(|work| {
        vec![work, of(message.element.bytes() / 4, &message.elements), RoundedProduct::new(2000, Vec::new())]
    });
    [bytes, vec![of(1, &message.calls)]].into_iter().chain(stage).collect()
}

/// Where how many bytes are moved.
fn rank_bytes(message: &Message, repeats: u64, extent: ByRank) -> RankBytes {
    match (message.operation.dimensions(), extent.others) {
        (Some(dimensions), Extent::Message) => {
            let rounded = vec![message.elements.clone(), message.calls.clone()];
            let sweep = Some(Sweep { dimensions, quantity: Quantity::Messages });
            RankBytes::Together {
                all: count(vec![RoundedProduct { multiplier: message.element.bytes(), rounded, sweep }]),
            }
        }
        (Some(_), _) => RankBytes::Together { all: Count::default() },
        (None, _) => RankBytes::ByRole {
            root: moved(message, repeats, extent.root),
            others: moved(message, repeats, extent.others),
        },
    }
}

/// How ranks wait in a wavefront; `None` where the operation is none.
fn waiting(message: &Message) -> Option<Waiting> {
    let dimensions = message.operation.dimensions()?;
    let sweeps = count(vec![RoundedProduct::new(1, vec![message.calls.clone()])]);
    let depth = Sweep { dimensions, quantity: Quantity::Depth }.smooth();
    let half = Term::constant(-0.5);
    let stages = [&message.calls, &half].into_iter().flat_map(|times| depth.iter().filter_map(|t| t.times(times)));
    let bytes = Term::constant(message.element.bytes() as f64).times(&message.elements)?;
    let term = |term, role| TimeTerm::new(term, role, Scale::One);
    let work = message.work.as_ref().map(|work| term(work.trips.clone(), Role::Computation));
    let message = [term(Term::constant(1.0), Role::Latency), term(bytes, Role::Bandwidth)];
    let stages = Complexity { terms: stages.collect() };
    Some(Waiting { dimensions, sweeps, stages, stage: work.into_iter().chain(message).collect() })
}

/// Bytes that all calls move at a rank where each moves `extent`.
fn moved(message: &Message, repeats: u64, extent: Extent) -> Count {
    let mut rounded = vec![message.elements.clone(), message.calls.clone()];
    match extent {
        Extent::Nothing => return Count::default(),
        Extent::Message => {}
        Extent::PerRank => rounded.push(Term::parameter("p")),
    }
    count(vec![RoundedProduct::new(repeats * message.element.bytes(), rounded)])
}

/// The seed paper's Table I, summed over the calls; pairwise exchange as an all-to-all's.
fn expected_time(cost: Cost, visits: &Count, transferred: &Count) -> Vec<TimeTerm> {
    let mut rounds = Term::parameter("p");
    if cost != Cost::Exchange {
        rounds.factors[0] = Factor { exponent: 0.into(), log_exponent: 1, ..rounds.factors[0].clone() };
    }
    if cost == Cost::PointToPoint {
        rounds = Term::constant(1.0);
    }
    // As in `count`, exponents are in range.
    let latencies = visits.complexity.terms.iter().filter_map(|t| t.times(&rounds));
    let mut time: Vec<TimeTerm> = latencies.map(|t| TimeTerm::new(t, Role::Latency, Scale::One)).collect();
    let mut paid =
        |role, scale| time.extend(transferred.complexity.terms.iter().map(|t| TimeTerm::new(t.clone(), role, scale)));
    match cost {
        Cost::Synchronisation => {}
        Cost::PointToPoint | Cost::Broadcast => paid(Role::Bandwidth, Scale::One),
        Cost::Distribution | Cost::Exchange => paid(Role::Bandwidth, Scale::Remote),
        Cost::Reduction => {
            paid(Role::Bandwidth, Scale::One);
            paid(Role::Reduction, Scale::Remote);
        }
    }
    time
}

/// Growth over the terms that matter at the largest point of the study, which has a value for every parameter.
fn effort_growth(count: &Count, spec: &Spec) -> BTreeMap<String, Growth> {
    count.complexity.growth_that_matters(spec.parameter_names(), &spec.largest_point()).unwrap_or_default()
}

/// Leading growth of a communication's time; `(p-1)/p` tends to one. The unit costs being unknown, all terms matter.
fn growth(time: &[TimeTerm], spec: &Spec) -> BTreeMap<String, Growth> {
    let terms = time.iter().map(|t| Term { coefficient: t.coefficient, factors: t.factors.clone() }).collect();
    Complexity { terms }.growth(spec.parameter_names())
}

/// The products' exponents were checked with the specification, so that none is out of range here.
fn count(exact: Vec<RoundedProduct>) -> Count {
    Count::new(exact).unwrap_or_default()
}

impl TimeTerm {
    fn new(term: Term, role: Role, scale: Scale) -> Self {
        Self { coefficient: term.coefficient, role, scale, factors: term.factors, awaited: None }
    }
}

impl Waiting {
    /// Stages that a rank waits in all, as the mean over the ranks.
    ///
    /// # Errors
    /// If the point lacks a parameter.
    pub fn mean_stages_at(&self, point: &Point) -> Result<f64, MissingParameter> {
        let ranks = Term::parameter("p").at(point)? as u64;
        let depth = Sweep { dimensions: self.dimensions, quantity: Quantity::Depth }.exact_at(ranks);
        Ok((self.sweeps.exact_at(point)? as f64 - 0.5) * depth as f64)
    }

    /// The expected waiting time: the stages, each of which takes what a stage takes. As in `count`, exponents are in
    /// range.
    fn time(&self) -> Vec<TimeTerm> {
        let term = |stages: &Term, cost: &TimeTerm| {
            let one = Term { coefficient: cost.coefficient, factors: cost.factors.clone() };
            let time = TimeTerm::new(stages.times(&one)?, Role::Waiting, Scale::One);
            Some(TimeTerm { awaited: Some(cost.role), ..time })
        };
        self.stage.iter().flat_map(|cost| self.stages.terms.iter().filter_map(move |s| term(s, cost))).collect()
    }
}

impl CallPathTruth {
    /// Adds what another operation of the same function does at the same call path.
    fn merge(&mut self, other: Self, spec: &Spec) {
        self.visits.add(other.visits);
        if let (Some(bytes), Some(more)) = (&mut self.bytes, other.bytes) {
            bytes.sent.merge(more.sent);
            bytes.received.merge(more.received);
            bytes.transferred.add(more.transferred);
            self.growth.effort = effort_growth(&bytes.transferred, spec);
        }
        self.time.extend(other.time);
        self.growth.time = growth(&self.time, spec);
    }
}

impl RankBytes {
    /// Adds what another operation moves. A wavefront shares its call paths with nothing else in its function.
    fn merge(&mut self, more: Self) {
        if let (Self::ByRole { root, others }, Self::ByRole { root: more_root, others: more_others }) = (self, more) {
            root.add(more_root);
            others.add(more_others);
        }
    }
}
