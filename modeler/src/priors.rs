//! What effort says about the shape of a time: the groups of terms whose coefficients the times may choose.
//!
//! Computation takes the terms of the block counts. Communication takes the cost of its operation, as
//! `docs/priors.md` lists and cites them, with the measured calls, bytes and communicator put in.

use crate::effort::Found;
use crate::model::{Exponent, Factor, Role, Scale, Term};

/// Terms with one free coefficient in common; their own coefficients are their ratios.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    /// The terms; those without factors are parts of the constant.
    pub terms: Vec<Term>,
}

impl Group {
    /// Value at `x` with a coefficient of one.
    pub fn at(&self, x: &[f64]) -> f64 {
        self.terms.iter().map(|t| t.at(x)).sum()
    }

    fn constant() -> Self {
        Self { terms: vec![term(1.0, Role::Computation, Vec::new())] }
    }
}

/// Shapes that a time may have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prior {
    /// The ways in which groups may be combined, simplest first.
    pub shapes: Vec<Vec<Group>>,
    /// The same with a summand that only another published algorithm's cost has.
    pub departures: Vec<Vec<Group>>,
    /// Whether that algorithm is the usual one for messages of this size. Where not, times must speak clearly for it.
    pub is_usual: bool,
    /// The parameter, if there is one, at whose value one the effort is not that of these shapes.
    pub apart_at_one: Option<usize>,
}

impl Prior {
    fn of(shapes: Vec<Vec<Group>>) -> Self {
        Self { shapes, departures: Vec::new(), is_usual: false, apart_at_one: None }
    }

    /// The shape with all groups, without those of other algorithms.
    pub fn richest(&self) -> &[Group] {
        longest(&self.shapes)
    }

    /// The shape with all groups.
    pub fn fullest(&self) -> &[Group] {
        if self.departures.is_empty() { self.richest() } else { longest(&self.departures) }
    }
}

fn longest(shapes: &[Vec<Group>]) -> &[Group] {
    shapes.iter().max_by_key(|shape| shape.len()).map_or(&[], Vec::as_slice)
}

fn term(coefficient: f64, role: Role, factors: Vec<Factor>) -> Term {
    Term { coefficient, role, scale: Scale::One, factors }
}

/// All terms of a count, its constant among them.
pub(crate) fn terms_of(found: &Found, role: Role) -> Vec<Term> {
    let mut terms: Vec<Term> = found.terms.iter().map(|(shape, c)| term(*c, role, shape.clone())).collect();
    if found.constant != 0.0 {
        terms.push(term(found.constant, role, Vec::new()));
    }
    terms
}

/// The prior of a time that a count gives its shape, computation or waiting: the count as a whole; a constant and its
/// growth as a whole; a constant and each growing term on its own.
///
/// `matters` says which terms are worth a coefficient; where none that grow are, times follow the count as a whole.
pub(crate) fn counted(count: &Found, role: Role, matters: impl Fn(&Term) -> bool) -> Prior {
    let terms = terms_of(count, role);
    let growing: Vec<Term> = terms.iter().filter(|t| !t.factors.is_empty()).cloned().collect();
    if growing.is_empty() {
        return Prior::of(vec![vec![Group::constant()]]);
    }
    let mut prior = vec![vec![Group { terms }]];
    // A coefficient of its own for growth that is next to nothing would take up whatever else the times do.
    if growing.iter().any(&matters) {
        prior.push(vec![Group::constant(), Group { terms: growing.clone() }]);
    }
    let each: Vec<Group> = growing
        .into_iter()
        .filter(|t| t.coefficient > 0.0 && matters(t))
        .map(|t| Group { terms: vec![Term { coefficient: 1.0, ..t }] })
        .collect();
    if each.len() > 1 {
        prior.push(each.clone());
        prior.push(std::iter::once(Group::constant()).chain(each).collect());
    }
    Prior::of(prior)
}

/// Most parts of logical waiting that times may weigh on their own.
const MOST_WAITING: usize = 3;

/// What ranks wait for, each with all of its growth with the parameter `ranks`: a stage's work and its message cost more or
/// less than the clock takes them for. One part where they cannot be told apart, or could be less than nothing at `points`.
/// Beside them stands the number of `stages`, where it is known: the start-up of a stage's message takes no tick.
pub(crate) fn waiting(
    found: &Found,
    stages: Option<&Found>,
    ranks: Option<usize>,
    points: &[&[f64]],
) -> Vec<Vec<Term>> {
    let terms = terms_of(found, Role::Waiting);
    let others = |term: &Term| -> Vec<Factor> {
        term.factors.iter().filter(|factor| Some(factor.parameter) != ranks).copied().collect()
    };
    let mut parts: Vec<Vec<Term>> = Vec::new();
    for term in &terms {
        match parts.iter_mut().find(|part| others(&part[0]) == others(term)) {
            Some(part) => part.push(term.clone()),
            None => parts.push(vec![term.clone()]),
        }
    }
    let is_negative = |part: &Vec<Term>| points.iter().any(|x| part.iter().map(|t| t.at(x)).sum::<f64>() < 0.0);
    if parts.len() > MOST_WAITING || parts.iter().any(is_negative) {
        parts = vec![terms];
    }
    let startups = stages.map(|stages| terms_of(stages, Role::Waiting));
    let grows_alike =
        |a: &[Term], b: &[Term]| a.len() == b.len() && a.iter().all(|t| b.iter().any(|u| u.factors == t.factors));
    parts.extend(startups.filter(|startups| !parts.iter().any(|part| grows_alike(part, startups))));
    parts
}

/// The size of the communicator that an operation used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Communicator {
    /// Always so many ranks.
    Constant(f64),
    /// `factor · x^exponent` of one parameter.
    Power {
        /// Index of the parameter.
        parameter: usize,
        /// Its exponent.
        exponent: Exponent,
        /// Multiplier.
        factor: f64,
    },
}

impl Communicator {
    /// What the measured sizes say, where they are a constant or one power.
    pub fn of(found: &Found) -> Option<Self> {
        match found.terms.as_slice() {
            [] => Some(Self::Constant(found.constant.max(1.0))),
            [(shape, factor)] if found.constant == 0.0 => match shape.as_slice() {
                [Factor { parameter, exponent, log_exponent: 0 }] => {
                    Some(Self::Power { parameter: *parameter, exponent: *exponent, factor: *factor })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The whole world, sized by this parameter.
    pub fn world(parameter: usize) -> Self {
        Self::Power { parameter, exponent: Exponent::from_integer(1), factor: 1.0 }
    }

    /// The size at `x`.
    fn at(&self, x: &[f64]) -> f64 {
        match *self {
            Self::Constant(q) => q,
            Self::Power { .. } => 1.0 + self.others(Role::Latency).iter().map(|t| t.at(x)).sum::<f64>(),
        }
    }

    /// `log2` of the size.
    fn logarithm(&self, role: Role) -> Vec<Term> {
        match *self {
            Self::Constant(q) => vec![term(q.log2(), role, Vec::new())],
            Self::Power { parameter, exponent, factor } => {
                let power = f64::from(*exponent.numer()) / f64::from(*exponent.denom());
                let logarithm = Factor { parameter, exponent: Exponent::from_integer(0), log_exponent: 1 };
                let mut terms = vec![term(power, role, vec![logarithm])];
                if factor != 1.0 {
                    terms.push(term(factor.log2(), role, Vec::new()));
                }
                terms
            }
        }
    }

    /// The size less one.
    fn others(&self, role: Role) -> Vec<Term> {
        match *self {
            Self::Constant(q) => vec![term(q - 1.0, role, Vec::new())],
            Self::Power { parameter, exponent, factor } => {
                let power = Factor { parameter, exponent, log_exponent: 0 };
                vec![term(factor, role, vec![power]), term(-1.0, role, Vec::new())]
            }
        }
    }

    /// The share of the data that belongs to other ranks: `(q-1)/q`.
    fn remote_share(&self, role: Role) -> Vec<Term> {
        match *self {
            Self::Constant(q) => vec![term((q - 1.0) / q, role, Vec::new())],
            Self::Power { parameter, exponent, factor } if exponent == Exponent::from_integer(1) && factor == 1.0 => {
                vec![Term { coefficient: 1.0, role, scale: Scale::Remote(parameter), factors: Vec::new() }]
            }
            Self::Power { parameter, exponent, factor } => {
                let inverse = Factor { parameter, exponent: -exponent, log_exponent: 0 };
                vec![term(1.0, role, Vec::new()), term(-1.0 / factor, role, vec![inverse])]
            }
        }
    }
}

/// How often an operation pays the start-up of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Startups {
    /// Once per call.
    Once,
    /// Once per level of a tree over the communicator.
    Tree,
    /// Once per other rank.
    Linear,
}

/// Which part of the bytes counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    /// All.
    All,
    /// What belongs to other ranks.
    Remote,
    /// All, once per level of a tree.
    Levels,
}

/// Which rank's bytes stand for the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bytes {
    /// The most that any rank sent.
    Sent,
    /// The most that any rank received.
    Received,
}

impl Bytes {
    /// The metric that counts them.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sent => "bytes_sent",
            Self::Received => "bytes_received",
        }
    }
}

/// An MPI operation's cost; `docs/priors.md` gives the formula and source of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Operation {
    startups: &'static [Startups],
    bandwidth: Option<Share>,
    reduction: Option<Share>,
    /// Which bytes count.
    pub bytes: Bytes,
    /// What another algorithm costs that the formula leaves out.
    departure: Option<Departure>,
}

/// Bytes to each rank up to which MPICH exchanges all with all by Bruck's algorithm, where there are so many ranks; Open MPI does up to
/// 200 of more than 12.
const SHORT: f64 = 256.0;
const MANY: f64 = 8.0;

/// A summand of the cost of another published algorithm for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departure {
    /// A start-up.
    Startups(Startups),
    /// Bytes.
    Bandwidth(Share),
}

const fn operation(
    startups: &'static [Startups],
    bandwidth: Option<Share>,
    reduction: Option<Share>,
    bytes: Bytes,
) -> Operation {
    Operation { startups, bandwidth, reduction, bytes, departure: None }
}

impl Operation {
    const fn or(self, departure: Departure) -> Self {
        Self { departure: Some(departure), ..self }
    }
}

use Share::{All, Levels, Remote};
use Startups::{Linear, Once, Tree};

/// Names in lower case without `mpi_`, without the `i` of nonblocking forms and the `v` of those with counts.
const OPERATIONS: &[(&str, Operation)] = &[
    ("send", operation(&[Once], Some(All), None, Bytes::Sent)),
    ("bsend", operation(&[Once], Some(All), None, Bytes::Sent)),
    ("ssend", operation(&[Once], Some(All), None, Bytes::Sent)),
    ("rsend", operation(&[Once], Some(All), None, Bytes::Sent)),
    ("start", operation(&[Once], Some(All), None, Bytes::Sent)),
    ("startall", operation(&[Once], Some(All), None, Bytes::Sent)),
    ("recv", operation(&[Once], Some(All), None, Bytes::Received)),
    ("mrecv", operation(&[Once], Some(All), None, Bytes::Received)),
    ("sendrecv", operation(&[Once], Some(All), None, Bytes::Received)),
    ("sendrecv_replace", operation(&[Once], Some(All), None, Bytes::Received)),
    ("wait", operation(&[Once], Some(All), None, Bytes::Received)),
    ("waitall", operation(&[Once], Some(All), None, Bytes::Received)),
    ("waitany", operation(&[Once], Some(All), None, Bytes::Received)),
    ("waitsome", operation(&[Once], Some(All), None, Bytes::Received)),
    ("barrier", operation(&[Tree], None, None, Bytes::Received)),
    ("bcast", operation(&[Tree], Some(All), None, Bytes::Received)),
    ("scatter", operation(&[Tree], Some(Remote), None, Bytes::Sent).or(Departure::Startups(Linear))),
    ("gather", operation(&[Tree], Some(Remote), None, Bytes::Received).or(Departure::Startups(Linear))),
    ("allgather", operation(&[Tree], Some(Remote), None, Bytes::Received).or(Departure::Startups(Linear))),
    ("reduce", operation(&[Tree], Some(All), Some(Remote), Bytes::Sent)),
    ("allreduce", operation(&[Tree], Some(All), Some(Remote), Bytes::Sent)),
    ("alltoall", operation(&[Tree, Linear], Some(All), None, Bytes::Received).or(Departure::Bandwidth(Levels))),
    ("reduce_scatter", operation(&[Tree], Some(Remote), Some(Remote), Bytes::Sent)),
    ("reduce_scatter_block", operation(&[Tree], Some(Remote), Some(Remote), Bytes::Sent)),
    ("scan", operation(&[Tree], Some(Levels), Some(Levels), Bytes::Sent)),
    ("exscan", operation(&[Tree], Some(Levels), Some(Levels), Bytes::Sent)),
    ("neighbor_allgather", operation(&[Once], Some(All), None, Bytes::Received)),
    ("neighbor_alltoall", operation(&[Once], Some(All), None, Bytes::Received)),
];

/// Any other MPI function: a start-up per call and one per level of a tree, since some of them synchronise.
const OTHER: Operation = operation(&[Once, Tree], None, None, Bytes::Received);

/// A function that only looks into its own process, whatever the communicator: each call costs the same.
const LOCAL: Operation = operation(&[Once], None, None, Bytes::Received);

/// Functions that MPI 4.1 calls local and that move no message: their completion depends on the calling process alone.
/// Names as in [`OPERATIONS`].
const LOCAL_NAMES: [&str; 44] = [
    "address",
    "aint_add",
    "aint_diff",
    "alloc_mem",
    "attr_get",
    "buffer_attach",
    "cart_coords",
    "cart_get",
    "cart_rank",
    "cart_shift",
    "cartdim_get",
    "comm_compare",
    "comm_get_attr",
    "comm_get_errhandler",
    "comm_get_name",
    "comm_group",
    "comm_rank",
    "comm_remote_group",
    "comm_remote_size",
    "comm_set_attr",
    "comm_set_errhandler",
    "comm_set_name",
    "comm_size",
    "comm_test_inter",
    "dims_create",
    "error_class",
    "error_string",
    "finalized",
    "free_mem",
    "get_address",
    "get_library_version",
    "get_processor_name",
    "get_version",
    "initialized",
    "is_thread_main",
    "pcontrol",
    "query_thread",
    "reduce_local",
    "topo_test",
    "win_get_attr",
    "win_get_group",
    "win_get_name",
    "wtick",
    "wtime",
];
/// Beginnings of names that only local functions have: data types, groups, statuses, operators and infos are objects of one
/// process, and sizes of packed data are computed from them.
const LOCAL_BEGINNINGS: [&str; 14] = [
    "type_",
    "group_",
    "status_",
    "op_",
    "info_",
    "get_count",
    "get_elements",
    "pack",
    "unpack",
    "graph_get",
    "graphdims_get",
    "graph_neighbors",
    "dist_graph_neighbors",
    "errhandler_",
];

/// Whether the function of this plain name is local.
fn is_local(plain: &str) -> bool {
    LOCAL_NAMES.contains(&plain) || LOCAL_BEGINNINGS.iter().any(|beginning| plain.starts_with(beginning))
}

impl Operation {
    /// The operation that a call path's last name denotes, if it begins with `MPI_`.
    ///
    /// Nonblocking forms (`MPI_Ibcast`) and forms with counts (`MPI_Allgatherv`) have the cost of their plain forms.
    pub fn named(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let plain = lower.strip_prefix("mpi_")?.trim_end_matches('_');
        let find = |n: &str| OPERATIONS.iter().find(|(known, _)| *known == n).map(|(_, o)| *o);
        let without_counts = |n: &str| n.strip_suffix(['v', 'w']).and_then(find);
        let blocking = plain.strip_prefix('i');
        let found = find(plain)
            .or_else(|| blocking.and_then(find))
            .or_else(|| without_counts(plain))
            .or_else(|| blocking.and_then(without_counts));
        Some(found.unwrap_or(if is_local(plain) { LOCAL } else { OTHER }))
    }

    /// Whether its cost depends on how many bytes it moves.
    pub fn moves_bytes(&self) -> bool {
        self.bandwidth.is_some()
    }

    /// Whether it is between two ranks, so that the mean over ranks of its time is that of the mean rank's messages.
    pub fn is_between_two(&self) -> bool {
        matches!(self.startups, [Once]) && matches!(self.bandwidth, Some(All))
    }

    /// The prior: every subset of the cost's parts and a constant, fewest first. `waiting` holds the parts of the logical
    /// clock's.
    pub fn prior(
        &self,
        visits: &Found,
        bytes: Option<&Found>,
        waiting: Vec<Vec<Term>>,
        communicator: &Communicator,
        points: &[&[f64]],
    ) -> Prior {
        let calls = terms_of(visits, Role::Latency);
        let startups = |startups: Startups| match startups {
            Startups::Once => calls.clone(),
            Startups::Tree => product(&calls, &communicator.logarithm(Role::Latency)),
            Startups::Linear => product(&calls, &communicator.others(Role::Latency)),
        };
        let moved = |share: Share, role: Role| {
            let bytes = terms_of(bytes?, role);
            Some(match share {
                Share::All => bytes,
                Share::Remote => product(&bytes, &communicator.remote_share(role)),
                Share::Levels => product(&bytes, &communicator.logarithm(role)),
            })
        };
        let mut groups: Vec<Vec<Term>> = self.startups.iter().map(|s| startups(*s)).collect();
        groups.extend(self.bandwidth.and_then(|share| moved(share, Role::Bandwidth)));
        groups.extend(self.reduction.and_then(|share| moved(share, Role::Reduction)));
        groups.extend(waiting);
        let mut groups: Vec<Group> = groups.into_iter().filter_map(useful).collect();
        groups.push(Group::constant());
        let departure = match self.departure {
            Some(Departure::Startups(s)) => useful(startups(s)),
            Some(Departure::Bandwidth(share)) => moved(share, Role::Bandwidth).and_then(useful),
            None => None,
        };
        let shapes = subsets(&groups);
        let with = |group: Group| -> Vec<Vec<Group>> {
            let others = std::iter::once(&[][..]).chain(shapes.iter().map(Vec::as_slice));
            others.map(|shape| [shape, std::slice::from_ref(&group)].concat()).collect()
        };
        let size = |x: &[f64]| bytes.map_or(f64::INFINITY, |b| b.at(x) / visits.at(x) / communicator.at(x));
        let is_in_range = |x: &&[f64]| size(x) <= SHORT && communicator.at(x) >= MANY;
        let is_usual = self.departure == Some(Departure::Bandwidth(Levels)) && points.iter().all(is_in_range);
        Prior { departures: departure.map_or(Vec::new(), with), is_usual, ..Prior::of(shapes) }
    }
}

/// A group unless it is zero, or constant, which the constant group says more simply.
fn useful(terms: Vec<Term>) -> Option<Group> {
    let terms: Vec<Term> = terms.into_iter().filter(|t| t.coefficient != 0.0).collect();
    let grows = terms.iter().any(|t| !t.factors.is_empty() || t.scale != Scale::One);
    grows.then_some(Group { terms })
}

/// Every non-empty subset, smaller ones first, earlier groups first.
fn subsets(groups: &[Group]) -> Vec<Vec<Group>> {
    let mut masks: Vec<u32> = (1..1u32 << groups.len()).collect();
    masks.sort_by_key(|m| (m.count_ones(), *m));
    let choose = |mask: &u32| {
        let chosen = groups.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
        chosen.map(|(_, g)| g.clone()).collect()
    };
    masks.iter().map(choose).collect()
}

/// The product of two sums, term by term; the role is the first's.
fn product(a: &[Term], b: &[Term]) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::with_capacity(a.len() * b.len());
    for x in a {
        for y in b {
            let scale = if x.scale == Scale::One { y.scale } else { x.scale };
            let factors = multiply(&x.factors, &y.factors);
            let same = terms.iter_mut().find(|t| t.scale == scale && t.factors == factors);
            match same {
                Some(term) => term.coefficient += x.coefficient * y.coefficient,
                None => terms.push(Term { coefficient: x.coefficient * y.coefficient, role: x.role, scale, factors }),
            }
        }
    }
    terms
}

/// The product of two products of factors.
pub(crate) fn multiply(a: &[Factor], b: &[Factor]) -> Vec<Factor> {
    let mut factors = a.to_vec();
    for factor in b {
        match factors.iter_mut().find(|f| f.parameter == factor.parameter) {
            Some(same) => {
                same.exponent += factor.exponent;
                same.log_exponent += factor.log_exponent;
            }
            None => factors.push(*factor),
        }
    }
    factors.retain(|f| f.exponent != Exponent::from_integer(0) || f.log_exponent != 0);
    factors.sort_by_key(|f| f.parameter);
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(constant: f64, terms: &[(f64, usize, i32)]) -> Found {
        let power = |&(c, parameter, e): &(f64, usize, i32)| {
            (vec![Factor { parameter, exponent: Exponent::from_integer(e), log_exponent: 0 }], c)
        };
        Found { constant, terms: terms.iter().map(power).collect(), residual: 0.0, exact: true, score: 0.0 }
    }

    /// Value of the basis with all groups, each with coefficient one.
    fn groups_at(prior: &Prior, x: &[f64]) -> Vec<f64> {
        prior.richest().iter().map(|g| g.at(x)).collect()
    }

    #[test]
    fn names_find_their_operation_in_every_form() {
        let allgather = Operation::named("MPI_Allgather");
        for name in ["MPI_Iallgather", "MPI_Allgatherv", "MPI_Iallgatherv", "mpi_allgather_"] {
            assert_eq!(Operation::named(name), allgather, "{name}");
        }
        assert_eq!(Operation::named("MPI_Isend"), Operation::named("MPI_Send"));
        assert_eq!(Operation::named("MPI_Init"), Some(OTHER));
        assert_eq!(Operation::named("solve"), None);
    }

    #[test]
    fn local_functions_cost_the_same_however_large_the_communicator() {
        let at = |name: &str, visits: &Found| {
            let prior = Operation::named(name).unwrap().prior(visits, None, Vec::new(), &Communicator::world(0), &[]);
            groups_at(&prior, &[1024.0, 100.0])
        };
        // Three calls at every scale: one constant; five calls for each of n = 100: 500 and a constant.
        let local =
            ["MPI_Comm_rank", "mpi_comm_size_", "MPI_Wtime", "MPI_Get_count", "MPI_Type_commit", "MPI_Pack_size"];
        for name in local.into_iter().chain([
            "MPI_Group_incl",
            "MPI_Initialized",
            "MPI_Cart_coords",
            "MPI_Status_set_cancelled",
        ]) {
            assert_eq!(at(name, &count(3.0, &[])), [1.0], "{name}");
            assert_eq!(at(name, &count(0.0, &[(5.0, 1, 1)])), [500.0, 1.0], "{name}");
        }
        // These synchronise, or may: three calls times log2(1024).
        for name in ["MPI_Comm_split", "MPI_Comm_free", "MPI_Win_create", "MPI_Init", "MPI_Cart_create", "MPI_Comm_dup"]
        {
            assert_eq!(at(name, &count(3.0, &[])), [30.0, 1.0], "{name}");
        }
    }

    #[test]
    fn table_one_at_hand_computed_points() {
        let (visits, world) = (count(3.0, &[]), Communicator::world(0));
        let bytes = count(0.0, &[(4.0, 1, 1)]);
        let at = |name: &str| {
            let prior = Operation::named(name).unwrap().prior(&visits, Some(&bytes), Vec::new(), &world, &[]);
            groups_at(&prior, &[8.0, 100.0])
        };
        // p = 8, n = 100, three calls, 400 bytes: latency 3·log2(8), bandwidth 400, shares 7/8 of 400, constant 1.
        assert_eq!(at("MPI_Bcast"), [9.0, 400.0, 1.0]);
        assert_eq!(at("MPI_Gather"), [9.0, 350.0, 1.0]);
        assert_eq!(at("MPI_Allreduce"), [9.0, 400.0, 350.0, 1.0]);
        assert_eq!(at("MPI_Barrier"), [9.0, 1.0]);
        assert_eq!(at("MPI_Alltoall"), [9.0, 21.0, 400.0, 1.0]);
        assert_eq!(at("MPI_Scan"), [9.0, 1200.0, 1200.0, 1.0]);
        assert_eq!(at("MPI_Send"), [400.0, 1.0]);
    }

    #[test]
    fn sub_communicators_count_their_own_ranks() {
        let (visits, bytes) = (count(1.0, &[]), count(0.0, &[(4.0, 1, 1)]));
        let prior = |c: &Communicator| {
            Operation::named("MPI_Allgather").unwrap().prior(&visits, Some(&bytes), Vec::new(), c, &[])
        };
        let root = Communicator::Power { parameter: 0, exponent: Exponent::new(1, 2), factor: 1.0 };
        // The square root of 64 ranks is 8: log2 is 3, the share 7/8.
        let values = groups_at(&prior(&root), &[64.0, 100.0]);
        assert!((values[0] - 3.0).abs() < 1e-12 && (values[1] - 350.0).abs() < 1e-9, "{values:?}");
        // Four ranks always: the latency is part of the constant.
        assert_eq!(groups_at(&prior(&Communicator::Constant(4.0)), &[64.0, 100.0]), [300.0, 1.0]);
    }

    #[test]
    fn other_algorithms_have_one_summand_more() {
        let (visits, bytes) = (count(3.0, &[]), count(0.0, &[(4.0, 1, 1)]));
        let world = Communicator::world(0);
        let of = |name: &str, points: &[&[f64]]| {
            Operation::named(name).unwrap().prior(&visits, Some(&bytes), Vec::new(), &world, points)
        };
        let more = |prior: &Prior| prior.fullest().last().unwrap().at(&[8.0, 100.0]);
        // p = 8, n = 100, three calls, 400 bytes: 3 · 7 messages of the root's, and 400 · log2(8) bytes of Bruck's algorithm.
        for (name, expected) in
            [("MPI_Scatter", 21.0), ("MPI_Igatherv", 21.0), ("MPI_Allgather", 21.0), ("MPI_Alltoall", 1200.0)]
        {
            let prior = of(name, &[]);
            assert_eq!((prior.fullest().len(), more(&prior)), (prior.richest().len() + 1, expected), "{name}");
            // It competes alone and beside each subset of the others.
            assert_eq!(prior.departures.len(), prior.shapes.len() + 1, "{name}");
        }
        assert_eq!(of("MPI_Bcast", &[]).fullest(), of("MPI_Bcast", &[]).richest());
        // 6144 and 6148 bytes in three calls to eight ranks: 256 bytes to each, and more than that.
        assert!(of("MPI_Alltoall", &[&[8.0, 100.0], &[8.0, 1536.0]]).is_usual);
        assert!(!of("MPI_Alltoall", &[&[8.0, 100.0], &[8.0, 1537.0]]).is_usual);
        assert!(!of("MPI_Alltoall", &[&[4.0, 100.0], &[8.0, 100.0]]).is_usual, "of four ranks");
        assert!(!of("MPI_Scatter", &[&[8.0, 100.0]]).is_usual);
    }

    #[test]
    fn stages_that_are_waited_for_cost_start_ups() {
        // A depth of p - 1 stages of n + 5 ticks each: n (p - 1) and 5 (p - 1), of which the second grows as the stages do.
        let found = Found { constant: -5.0, ..count(0.0, &[(5.0, 0, 1)]) };
        let stages = Found { constant: -1.0, ..count(0.0, &[(1.0, 0, 1)]) };
        let parts = waiting(&found, Some(&stages), Some(0), &[&[4.0, 100.0]]);
        assert_eq!(parts.len(), 1, "stages of one cost are start-ups already: {parts:?}");
        let work = count(0.0, &[(2.0, 1, 1)]);
        let parts = waiting(&work, Some(&stages), Some(0), &[&[4.0, 100.0]]);
        let at: Vec<f64> = parts.iter().map(|part| part.iter().map(|t| t.at(&[4.0, 100.0])).sum()).collect();
        assert_eq!(at, [200.0, 3.0]);
        assert_eq!(waiting(&work, None, Some(0), &[&[4.0, 100.0]]).len(), 1);
    }

    #[test]
    fn visits_that_grow_multiply_the_latency() {
        let visits = count(2.0, &[(5.0, 1, 1)]);
        let prior =
            Operation::named("MPI_Barrier").unwrap().prior(&visits, None, Vec::new(), &Communicator::world(0), &[]);
        assert_eq!(groups_at(&prior, &[16.0, 10.0])[0], 4.0 * 52.0);
    }
}
