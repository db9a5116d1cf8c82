//! Stamps of blocking collective operations: each rank learns the latest stamp of those ranks whose data it needed, by an operation
//! of the same dependences after the program's, or by messages before it where few ranks depend on each other. Where every rank needs every other's data, that is an allreduce of the
//! maximum; it makes nobody wait who would not have waited in the program's own.

use super::communicators::{Known, known};
use super::replies::Question;
use super::{Wait, board, messages, offsets};
use crate::library::{self, Family, Handle, Int, Ptr, SUCCESS, family};
use crate::runtime::Stamp;

/// Whose data a rank needs in a collective operation.
#[derive(Clone, Copy)]
pub enum Needs<'a> {
    /// Nobody's, as far as this rank's.
    Nothing,
    /// Every rank needs everybody's.
    All,
    /// Every rank needs the root's.
    FromRoot(Int),
    /// The root needs everybody's.
    AtRoot(Int),
    /// Those of the ranks up to itself.
    Below,
    /// Those of the ranks before itself.
    Before,
    /// Everybody needs the data of the same ranks: those of which this says so.
    FromSome(&'a (dyn Fn(usize) -> bool + Sync)),
    /// These ranks', each of which has called [`send_pairs`] before.
    Ranks(&'a [Int]),
}

/// A collective operation begins. Where stamps lie in memory this rank's is written now; the operation's number there. `is_for_all`
/// says that no rank leaves before all have entered.
pub fn depart(comm: Handle, entry: &Stamp, is_for_all: bool) -> u64 {
    let Some(family) = family() else { return 0 };
    let Some(known) = known(family, comm) else { return 0 };
    match known.board {
        Some(board) if is_for_all => board.meet(entry),
        _ if family.has_coroutines => board::enter(&known, *entry),
        _ => 0,
    }
}

/// A nonblocking collective operation begins; its number, 0 where its stamps do not travel.
pub fn begin_later(comm: Handle, entry: &Stamp) -> u64 {
    let Some(family) = family() else { return 0 };
    let Some(known) = known(family, comm) else { return 0 };
    match known.board {
        Some(board) => board.begin(entry),
        None if family.has_coroutines => board::enter(&known, *entry),
        None => 0,
    }
}

/// A nonblocking collective operation that is to be completed.
pub struct Joined {
    known: Known,
    number: u64,
    needs: Needs<'static>,
    /// What it costs, in ticks.
    pub cost: u64,
}

impl Joined {
    /// It is complete: the latest stamp of the ranks that it needed. Once.
    pub fn latest(&self) -> Option<Stamp> {
        let Self { known, number, needs, .. } = *self;
        let family = family()?;
        let Some(board) = known.board else { return from_board(family, &known, number, &needs) };
        let own = known.rank.unsigned_abs() as usize;
        match needs {
            Needs::All => board.complete(number, |_| true),
            Needs::FromRoot(root) => board.complete(number, |rank| rank == root.unsigned_abs() as usize),
            Needs::AtRoot(root) => board.complete(number, |_| root == known.rank),
            Needs::Below => board.complete(number, |rank| rank <= own),
            Needs::Before => board.complete(number, |rank| rank < own),
            Needs::Nothing | Needs::FromSome(_) | Needs::Ranks(_) => board.complete(number, |_| false),
        }
    }
}

/// The nonblocking operation of this number needs this when it completes; `None` where nothing is to be done then.
pub fn joined(comm: Handle, number: u64, needs: &Needs<'_>, cost: u64) -> Option<Joined> {
    let known = family().and_then(|family| known(family, comm)).filter(|_| number != 0)?;
    let needs = match *needs {
        Needs::All => Needs::All,
        Needs::FromRoot(root) => Needs::FromRoot(root),
        Needs::AtRoot(root) => Needs::AtRoot(root),
        Needs::Below => Needs::Below,
        Needs::Before => Needs::Before,
        Needs::Nothing | Needs::FromSome(_) | Needs::Ranks(_) => {
            complete_later(comm, number, &Needs::Nothing);
            return None;
        }
    };
    Some(Joined { known, number, needs, cost })
}

/// The nonblocking operation of this number is not looked at any more.
pub fn complete_later(comm: Handle, number: u64, needs: &Needs<'_>) {
    let known = family().and_then(|family| known(family, comm)).filter(|_| number != 0);
    if let (Some(known), Needs::Nothing) = (known, needs) {
        let _ = Joined { known, number, needs: Needs::Nothing, cost: 0 }.latest();
    }
}

/// Sends this rank's stamp to each of `ranks` before the operation: those that need its data where others do not.
pub fn send_pairs(comm: Handle, ranks: impl IntoIterator<Item = Int>, entry: &Stamp) {
    let Some(family) = family().filter(|family| !family.has_coroutines) else { return };
    let Some(known) = known(family, comm) else { return };
    let others = ranks.into_iter().filter(|&rank| rank != family.proc_null && rank != known.rank);
    others.for_each(|rank| messages::post(family.byte, known.pairs, rank, 0, entry, Question::NONE));
}

/// Number of ranks of a communicator with stamps; 0 of any other.
pub fn size(comm: Handle) -> u64 {
    family().and_then(|family| known(family, comm)).map_or(0, |known| known.size.into())
}

/// This rank in a communicator with stamps.
pub fn rank(comm: Handle) -> Option<Int> {
    family().and_then(|family| known(family, comm)).map(|known| known.rank)
}

/// Whether a communicator is one with stamps and with neighbours.
pub fn has_topology(comm: Handle) -> bool {
    let Some(family) = family().filter(|family| known(family, comm).is_some()) else { return false };
    let mut kind = 0;
    // SAFETY: the communicator is one that MPI made.
    unsafe { library::topo_test(comm, &mut kind) == SUCCESS && family.topologies.contains(&kind) }
}

/// It ends; where MPI refused it, `needs` is nothing. `number` is what [`depart`] returned.
pub fn arrive(comm: Handle, number: u64, needs: &Needs<'_>, wait: &mut Wait<'_>) {
    if let Some(latest) = latest(comm, number, needs, wait.entry) {
        wait.collective(latest);
    }
}

/// It ends, as for [`arrive`], having begun at `entry`: the latest stamp of the ranks that it needed.
pub fn latest(comm: Handle, number: u64, needs: &Needs<'_>, entry: &Stamp) -> Option<Stamp> {
    let family = family()?;
    let known = known(family, comm)?;
    if let (Some(board), true) = (known.board, number != 0) {
        // Where nothing moved, all ranks take the same number for the next.
        if matches!(needs, Needs::All) { board.met(number) } else { None }
    } else if known.shadow == 0 {
        from_board(family, &known, number, needs)
    } else {
        let own = Stamp { time: offsets::to_wire(entry.time), ..*entry };
        let exchange = Exchange { family, known, own };
        match needs {
            Needs::Ranks(ranks) => exchange.of_pairs(ranks),
            _ => exchange.latest(needs).map(|latest| Stamp { time: offsets::from_wire(latest.time), ..latest }),
        }
    }
}

/// The latest stamp of all ranks of the communicator that they have just made together, to whose handle `new` leads. `None` where it has no stamps, and where they lie
/// in the memory of one process, in which no rank waits for what another has not yet written.
///
/// # Safety
/// MPI has accepted the call that made it.
pub unsafe fn latest_of_new(new: Ptr, entry: &Stamp) -> Option<Stamp> {
    let family = family().filter(|family| !family.has_coroutines)?;
    // SAFETY: the caller's promise.
    let comm = unsafe { family.read(new, 0) };
    latest(comm, 0, &Needs::All, entry)
}

fn from_board(family: &Family, known: &Known, number: u64, needs: &Needs<'_>) -> Option<Stamp> {
    use board::Of::{Everybody, Nobody, Those};
    let own = known.rank.unsigned_abs() as usize;
    let leave = |of: board::Of<'_>| board::leave(known, number, &of);
    match *needs {
        Needs::AtRoot(root) if root == known.rank => leave(Everybody),
        Needs::Nothing | Needs::AtRoot(_) => leave(Nobody),
        Needs::All => leave(Everybody),
        Needs::FromRoot(root) => leave(Those(&|rank| rank == root.unsigned_abs() as usize)),
        Needs::Below => leave(Those(&|rank| rank <= own)),
        Needs::Before => leave(Those(&|rank| rank < own)),
        Needs::FromSome(from) => leave(Those(from)),
        Needs::Ranks(ranks) => {
            let ranks: Vec<usize> = ranks
                .iter()
                .filter(|&&rank| rank != family.proc_null)
                .map(|rank| rank.unsigned_abs() as usize)
                .collect();
            leave(Those(&|rank| ranks.contains(&rank)))
        }
    }
}

/// Words of a stamp.
const WORDS: Int = 2;

/// The exchange of stamps on a communicator of the library's own.
struct Exchange {
    family: &'static Family,
    known: Known,
    own: Stamp,
}

impl Exchange {
    fn latest(&self, needs: &Needs<'_>) -> Option<Stamp> {
        let Family { uint64, max, .. } = *self.family;
        let comm = self.known.shadow;
        let own: Ptr = (&raw const self.own).cast_mut().cast();
        // SAFETY: here and below: every rank of the communicator, which is ours, makes the same call, and buffers have room.
        let one = |exchange: &dyn Fn(Ptr) -> Int| {
            let mut latest = self.own;
            (exchange((&raw mut latest).cast()) == SUCCESS).then_some(latest)
        };
        match *needs {
            Needs::Nothing => None,
            // SAFETY: as above.
            Needs::All => one(&|to| unsafe { library::allreduce(own, to, WORDS, uint64, max, comm) }),
            // SAFETY: as above.
            Needs::FromRoot(root) => one(&|to| unsafe { library::bcast(to, WORDS, uint64, root, comm) }),
            Needs::AtRoot(root) => {
                // SAFETY: as above.
                let latest = one(&|to| unsafe { library::reduce(own, to, WORDS, uint64, max, root, comm) });
                latest.filter(|_| root == self.known.rank)
            }
            // SAFETY: as above.
            Needs::Below => one(&|to| unsafe { library::scan(own, to, WORDS, uint64, max, comm) }),
            Needs::Before => {
                // SAFETY: as above.
                let latest = one(&|to| unsafe { library::exscan(own, to, WORDS, uint64, max, comm) });
                latest.filter(|_| self.known.rank > 0)
            }
            Needs::FromSome(from) => self.of_some(from),
            Needs::Ranks(_) => None,
        }
    }

    fn of_some(&self, from: &dyn Fn(usize) -> bool) -> Option<Stamp> {
        let mut counts: Vec<Int> =
            (0..self.known.size as usize).map(|rank| if from(rank) { WORDS } else { 0 }).collect();
        let mut places = counts.clone();
        let mut next = 0;
        places.iter_mut().for_each(|place| next += std::mem::replace(place, next));
        let mut room = vec![Stamp::default(); (next / WORDS).max(1).unsigned_abs() as usize];
        let count = counts[self.known.rank.unsigned_abs() as usize];
        let own: Ptr = (&raw const self.own).cast_mut().cast();
        let (to, word) = (room.as_mut_ptr().cast(), self.family.uint64);
        let (counts, places) = (counts.as_mut_ptr().cast(), places.as_mut_ptr().cast());
        // SAFETY: every rank of the communicator, which is ours, makes the same call; there is room for all stamps.
        let code = unsafe { library::allgatherv(own, count, word, to, counts, places, word, self.known.shadow) };
        if code == SUCCESS { room.into_iter().reduce(Stamp::later) } else { None }
    }

    fn of_pairs(&self, ranks: &[Int]) -> Option<Stamp> {
        let others = ranks.iter().filter(|&&rank| rank != self.family.proc_null && rank != self.known.rank);
        others.filter_map(|&rank| Some(messages::receive(self.known.pairs, rank, 0)?.stamp)).reduce(Stamp::later)
    }
}
