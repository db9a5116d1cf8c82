//! What a program does for each MPI operation, in words that every language can spell: calls, branches, work, and what
//! must have been received afterwards.

use crate::operation::MpiOperation;

/// One step of an operation's round.
pub enum Step {
    /// Wipe what is to be received, if results are verified.
    Clear(Received),
    /// An MPI function.
    Call(Call),
    /// One of two lists of calls, the first on even ranks.
    Either([Call; 2], [Call; 2]),
    /// Compare what was received, if results are verified; names the MPI function.
    Check(Received, &'static str),
    /// The work of a wavefront.
    Work,
}

/// An MPI function and its arguments.
#[derive(Clone)]
pub struct Call {
    /// Name as in MPI.
    pub function: &'static str,
    /// Arguments but for Fortran's last.
    pub arguments: Vec<Argument>,
}

/// An argument of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// The buffer that is sent.
    Send,
    /// The buffer that is received into.
    Receive,
    /// The elements of a message.
    Elements,
    /// The datatype of the elements.
    Type,
    /// `MPI_COMM_WORLD` and the like, and numbers.
    Plain(&'static str),
    /// Another rank, or none.
    Peer(Peer),
}

/// Another rank.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Rank 0.
    Root,
    /// The rank before, in a ring.
    Left,
    /// The rank behind, in a ring.
    Right,
    /// The other of a pair, or none.
    Partner,
    /// Where a sweep comes from in a dimension, or none.
    Upstream(u8),
    /// Where a sweep goes to in a dimension, or none.
    Downstream(u8),
}

/// What must be found where after a step.
#[derive(Clone, Copy)]
pub struct Received {
    /// Which ranks receive.
    pub by: Receiver,
    /// Whether it lies in the buffer that is sent.
    pub in_send: bool,
    /// The message of every rank, or of one.
    pub of_all: bool,
    /// The elements' values.
    pub values: Values,
}

/// Which ranks receive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// All.
    All,
    /// Rank 0.
    Root,
    /// All but rank 0.
    Others,
    /// Those that have this peer.
    With(Peer),
}

/// What received elements must be.
#[derive(Clone, Copy)]
pub enum Values {
    /// What this rank and those behind it sent, each a message from its beginning.
    Of(Peer),
    /// The same, each its part for the rank that receives.
    PartOf(Peer),
    /// Sums over all ranks.
    Sums,
}

use Argument::{Elements, Plain, Receive, Send, Type};

const WORLD: Argument = Plain("MPI_COMM_WORLD");
const IGNORE: Argument = Plain("MPI_STATUS_IGNORE");
const SUM: Argument = Plain("MPI_SUM");
const ZERO: Argument = Plain("0");
const ONE: Argument = Plain("1");

fn call(function: &'static str, arguments: &[Argument]) -> Call {
    Call { function, arguments: arguments.to_vec() }
}

fn send(peer: Peer) -> Call {
    call("MPI_Send", &[Send, Elements, Type, Argument::Peer(peer), ZERO, WORLD])
}

fn receive(peer: Peer) -> Call {
    call("MPI_Recv", &[Receive, Elements, Type, Argument::Peer(peer), ZERO, WORLD, IGNORE])
}

fn exchange(to: Peer, from: Peer, tag: Argument) -> Call {
    let (to, from) = (Argument::Peer(to), Argument::Peer(from));
    call("MPI_Sendrecv", &[Send, Elements, Type, to, tag, Receive, Elements, Type, from, tag, WORLD, IGNORE])
}

/// What one round of an operation does.
pub fn steps(operation: MpiOperation) -> Vec<Step> {
    let received = |by, of_all, values| Received { by, in_send: false, of_all, values };
    let all = |values| received(Receiver::All, false, values);
    let of_root = Values::Of(Peer::Root);
    match operation {
        MpiOperation::Barrier => vec![Step::Call(call("MPI_Barrier", &[WORLD]))],
        MpiOperation::Broadcast => checked(
            call("MPI_Bcast", &[Send, Elements, Type, ZERO, WORLD]),
            Received { by: Receiver::Others, in_send: true, of_all: false, values: of_root },
        ),
        MpiOperation::Allgather => checked(
            call("MPI_Allgather", &[Send, Elements, Type, Receive, Elements, Type, WORLD]),
            received(Receiver::All, true, of_root),
        ),
        MpiOperation::Gather => checked(
            call("MPI_Gather", &[Send, Elements, Type, Receive, Elements, Type, ZERO, WORLD]),
            received(Receiver::Root, true, of_root),
        ),
        MpiOperation::Scatter => checked(
            call("MPI_Scatter", &[Send, Elements, Type, Receive, Elements, Type, ZERO, WORLD]),
            all(Values::PartOf(Peer::Root)),
        ),
        MpiOperation::Alltoall => checked(
            call("MPI_Alltoall", &[Send, Elements, Type, Receive, Elements, Type, WORLD]),
            received(Receiver::All, true, Values::PartOf(Peer::Root)),
        ),
        MpiOperation::Reduce => checked(
            call("MPI_Reduce", &[Send, Receive, Elements, Type, SUM, ZERO, WORLD]),
            received(Receiver::Root, false, Values::Sums),
        ),
        MpiOperation::Allreduce => {
            checked(call("MPI_Allreduce", &[Send, Receive, Elements, Type, SUM, WORLD]), all(Values::Sums))
        }
        MpiOperation::SendReceive => {
            let received = received(Receiver::With(Peer::Partner), false, Values::Of(Peer::Partner));
            let (send, receive) = (send(Peer::Partner), receive(Peer::Partner));
            let either = Step::Either([send.clone(), receive.clone()], [receive, send]);
            vec![Step::Clear(received), either, Step::Check(received, "MPI_Send")]
        }
        MpiOperation::Halo => {
            let both = [(Peer::Right, Peer::Left, ZERO), (Peer::Left, Peer::Right, ONE)];
            let round = |(to, from, tag)| checked(exchange(to, from, tag), all(Values::Of(from)));
            both.into_iter().flat_map(round).collect()
        }
        MpiOperation::Wavefront2d | MpiOperation::Wavefront3d => wavefront(operation.dimensions().unwrap_or_default()),
    }
}

/// One sweep: all receives, the work, all sends.
fn wavefront(dimensions: u8) -> Vec<Step> {
    let receives = (0..dimensions).map(Peer::Upstream).flat_map(|from| {
        let by = Receiver::With(from);
        checked(receive(from), Received { by, in_send: false, of_all: false, values: Values::Of(from) })
    });
    let sends = (0..dimensions).map(|dimension| Step::Call(send(Peer::Downstream(dimension))));
    receives.chain([Step::Work]).chain(sends).collect()
}

fn checked(call: Call, received: Received) -> Vec<Step> {
    let function = call.function;
    vec![Step::Clear(received), Step::Call(call), Step::Check(received, function)]
}
