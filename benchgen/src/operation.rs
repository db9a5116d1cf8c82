//! What a benchmark function may do: its element types, its kernels' operations and its MPI operations, with all that
//! the generator, the truth and the memory estimate must know of each in one table.

/// Type of the elements of an array or message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Element {
    /// 32-bit integer.
    Int,
    /// Single precision.
    Float,
    /// Double precision.
    Double,
}

/// What a kernel does with its array in each iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Adds up the elements.
    VectorReduction,
    /// Multiplies an element.
    Multiply,
    /// Adds to an element.
    Add,
    /// Averages three neighbours in place.
    Stencil,
    /// Adds up elements in an order given by an index array.
    SparseAccess,
}

/// An MPI operation of a benchmark function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MpiOperation {
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Allreduce`, a sum.
    Allreduce,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast` from rank 0.
    Broadcast,
    /// `MPI_Gather` to rank 0.
    Gather,
    /// `MPI_Sendrecv` to the right and to the left neighbour of a ring.
    Halo,
    /// `MPI_Reduce` to rank 0, a sum.
    Reduce,
    /// `MPI_Scatter` from rank 0.
    Scatter,
    /// `MPI_Send` and `MPI_Recv` between ranks 2k and 2k + 1, both ways.
    SendReceive,
    /// `MPI_Recv` and `MPI_Send` in sweeps over a plane of ranks, to and fro between two opposite corners.
    Wavefront2d,
    /// The same over a cuboid of ranks.
    Wavefront3d,
}

/// A number of elements at one rank, of a message law's m.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// None.
    Nothing,
    /// m.
    Message,
    /// m for every rank: p · m.
    PerRank,
}

/// Elements at rank 0 and at every other rank; in a wavefront, at ranks that have all neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByRank {
    /// At rank 0.
    pub root: Extent,
    /// At the others.
    pub others: Extent,
}

/// One MPI function that an operation calls once in each of its iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MpiCall {
    /// Name as in MPI.
    pub function: &'static str,
    /// Calls per iteration.
    pub repeats: u64,
    /// What one call sends, by the meaning of its arguments.
    pub sent: ByRank,
    /// What one call receives, by the meaning of its arguments.
    pub received: ByRank,
}

/// Which row of the seed paper's Table I an operation's time follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// `log2(p)·α`.
    Synchronisation,
    /// `α + B·β`.
    PointToPoint,
    /// `log2(p)·α + B·β`.
    Broadcast,
    /// `log2(p)·α + B·(p-1)/p·β`, B being what all ranks hold together.
    Distribution,
    /// `log2(p)·α + (β + (p-1)/p·γ)·B`.
    Reduction,
    /// `p·α + B·(p-1)/p·β`, pairwise exchange; not in Table I.
    Exchange,
}

const NOTHING: ByRank = ByRank { root: Extent::Nothing, others: Extent::Nothing };
const MESSAGE: ByRank = ByRank { root: Extent::Message, others: Extent::Message };
const PER_RANK: ByRank = ByRank { root: Extent::PerRank, others: Extent::PerRank };
const ROOT_MESSAGE: ByRank = ByRank { root: Extent::Message, others: Extent::Nothing };
const ROOT_PER_RANK: ByRank = ByRank { root: Extent::PerRank, others: Extent::Nothing };

const fn once(function: &'static str, sent: ByRank, received: ByRank) -> MpiCall {
    MpiCall { function, repeats: 1, sent, received }
}

impl Element {
    /// All, in the order in which errors list them.
    pub const ALL: [Self; 3] = [Self::Int, Self::Float, Self::Double];

    /// Name in specifications.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Float => "float",
            Self::Double => "double",
        }
    }

    /// Size in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Int | Self::Float => 4,
            Self::Double => 8,
        }
    }
}

impl Operation {
    /// All, in the order in which errors list them.
    pub const ALL: [Self; 5] = [Self::VectorReduction, Self::Multiply, Self::Add, Self::Stencil, Self::SparseAccess];

    /// Name in specifications.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::VectorReduction => "vector_reduction",
            Self::Multiply => "multiply",
            Self::Add => "add",
            Self::Stencil => "stencil",
            Self::SparseAccess => "sparse_access",
        }
    }
}

impl MpiOperation {
    /// All, in the order in which errors list them.
    pub const ALL: [Self; 12] = [
        Self::Allgather,
        Self::Allreduce,
        Self::Alltoall,
        Self::Barrier,
        Self::Broadcast,
        Self::Gather,
        Self::Halo,
        Self::Reduce,
        Self::Scatter,
        Self::SendReceive,
        Self::Wavefront2d,
        Self::Wavefront3d,
    ];

    /// Name in specifications.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allgather => "allgather",
            Self::Allreduce => "allreduce",
            Self::Alltoall => "alltoall",
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::Gather => "gather",
            Self::Halo => "halo",
            Self::Reduce => "reduce",
            Self::Scatter => "scatter",
            Self::SendReceive => "send_receive",
            Self::Wavefront2d => "wavefront_2d",
            Self::Wavefront3d => "wavefront_3d",
        }
    }

    /// The dimensions of a wavefront's decomposition; `None` for what is none.
    #[must_use]
    pub const fn dimensions(self) -> Option<u8> {
        match self {
            Self::Wavefront2d => Some(2),
            Self::Wavefront3d => Some(3),
            _ => None,
        }
    }

    /// The MPI functions that one iteration calls, and what each moves. A broadcast of m elements sends p·m from the
    /// root and each rank receives m (seed paper, section III-A): what goes from one rank to another is sent and received,
    /// each rank's part for itself included. In reductions each rank sends its contribution once, and who is given the
    /// result receives it once.
    #[must_use]
    pub fn calls(self) -> Vec<MpiCall> {
        match self {
            Self::Allgather => vec![once("MPI_Allgather", PER_RANK, PER_RANK)],
            Self::Allreduce => vec![once("MPI_Allreduce", MESSAGE, MESSAGE)],
            Self::Alltoall => vec![once("MPI_Alltoall", PER_RANK, PER_RANK)],
            Self::Barrier => vec![once("MPI_Barrier", NOTHING, NOTHING)],
            Self::Broadcast => vec![once("MPI_Bcast", ROOT_PER_RANK, MESSAGE)],
            Self::Gather => vec![once("MPI_Gather", MESSAGE, ROOT_PER_RANK)],
            Self::Halo => vec![MpiCall { function: "MPI_Sendrecv", repeats: 2, sent: MESSAGE, received: MESSAGE }],
            Self::Reduce => vec![once("MPI_Reduce", MESSAGE, ROOT_MESSAGE)],
            Self::Scatter => vec![once("MPI_Scatter", ROOT_PER_RANK, MESSAGE)],
            Self::SendReceive => vec![once("MPI_Send", MESSAGE, NOTHING), once("MPI_Recv", NOTHING, MESSAGE)],
            Self::Wavefront2d | Self::Wavefront3d => {
                let repeats = self.dimensions().map_or(0, u64::from);
                let call = |function, sent, received| MpiCall { function, repeats, sent, received };
                vec![call("MPI_Recv", NOTHING, MESSAGE), call("MPI_Send", MESSAGE, NOTHING)]
            }
        }
    }

    /// Elements of the buffers that the program allocates: what is sent, and what is received.
    #[must_use]
    pub const fn buffers(self) -> (ByRank, ByRank) {
        match self {
            Self::Allgather => (MESSAGE, PER_RANK),
            Self::Allreduce | Self::Halo | Self::SendReceive | Self::Wavefront2d | Self::Wavefront3d => {
                (MESSAGE, MESSAGE)
            }
            Self::Alltoall => (PER_RANK, PER_RANK),
            Self::Barrier => (NOTHING, NOTHING),
            Self::Broadcast => (MESSAGE, NOTHING),
            Self::Gather => (MESSAGE, ROOT_PER_RANK),
            Self::Reduce => (MESSAGE, ROOT_MESSAGE),
            Self::Scatter => (ROOT_PER_RANK, MESSAGE),
        }
    }

    /// Which expected time it has, and the bytes B of that time.
    #[must_use]
    pub const fn cost(self) -> (Cost, Extent) {
        match self {
            Self::Barrier => (Cost::Synchronisation, Extent::Nothing),
            Self::Broadcast => (Cost::Broadcast, Extent::Message),
            Self::Allgather | Self::Gather | Self::Scatter => (Cost::Distribution, Extent::PerRank),
            Self::Allreduce | Self::Reduce => (Cost::Reduction, Extent::Message),
            Self::Alltoall => (Cost::Exchange, Extent::PerRank),
            Self::Halo | Self::SendReceive | Self::Wavefront2d | Self::Wavefront3d => {
                (Cost::PointToPoint, Extent::Message)
            }
        }
    }
}
