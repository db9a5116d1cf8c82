//! Sizes and peers of messages, by rank and over ranks, worked out once more from the plan of `programs/traffic.c`.

mod common;

use std::collections::BTreeMap;

use common::{BOTH, Checked, Mode, Mpi, Run, over_ranks};
use poise_profile::{Messages, Metric, OfRank, Traffic};

/// Sizes in bytes, sent and received, with the other rank, of one operation on one rank; collective ones have no other rank.
type Ledger = Vec<(bool, u64, Option<u32>)>;

/// What every rank does, by operation; `matched` is what receives where other MPIs probe first.
fn plan(rank: u32, size: u32, matched: &'static str) -> BTreeMap<&'static str, Ledger> {
    let mut ledgers: BTreeMap<&'static str, Ledger> = BTreeMap::new();
    for i in 0..60 {
        let backwards = i % 4 == 3;
        let number = |rank: u32| if backwards { size - 1 - rank } else { rank };
        let shift = if size > 1 { 1 + i % (size - 1) } else { 0 };
        let (to, from) = (number((number(rank) + shift) % size), number((number(rank) + size - shift) % size));
        let bytes = u64::from(if i % 5 == 0 { 0 } else { i * i * 7 % 5000 });
        let (send, receive, times) = [
            ("MPI_Sendrecv", "MPI_Sendrecv", 1),
            ("MPI_Isend", "MPI_Waitall", 1),
            ("MPI_Isend", "MPI_Recv", 1),
            ("MPI_Startall", "MPI_Waitall", 2),
            ("MPI_Isend", matched, 1),
            ("MPI_Isend", "MPI_Wait", 1),
        ][i as usize % 6];
        for _ in 0..times {
            ledgers.entry(send).or_default().push((true, bytes, Some(to)));
            ledgers.entry(receive).or_default().push((false, bytes, Some(from)));
        }
        if i % 6 == 0 && i > 0 {
            let sums = ledgers.entry("MPI_Allreduce").or_default();
            sums.extend([(true, i.into(), None), (false, i.into(), None)]);
        }
    }
    ledgers
}

/// The bucket of a number, by counting.
fn bucket(value: u64) -> u8 {
    (0..64).find(|&bits| value < 1 << bits).expect("a small number")
}

fn messages(rank: u32, ledger: &Ledger) -> Messages {
    let mut messages = Messages::default();
    for &(is_sent, bytes, peer) in ledger {
        let sizes = if is_sent { &mut messages.sent } else { &mut messages.received };
        *sizes.counts.entry(bucket(bytes)).or_default() += 1;
        if let Some(peer) = peer {
            *messages.distances.counts.entry(bucket(peer.abs_diff(rank).into())).or_default() += 1;
        }
    }
    messages
}

fn peers(ledger: &Ledger) -> BTreeMap<Option<u32>, Traffic> {
    let mut peers: BTreeMap<Option<u32>, Traffic> = BTreeMap::new();
    for &(is_sent, bytes, peer) in ledger.iter().filter(|message| message.2.is_some()) {
        let traffic = peers.entry(peer).or_default();
        let sums = if is_sent { &mut traffic.sent } else { &mut traffic.received };
        (sums.0, sums.1) = (sums.0 + 1, sums.1 + bytes);
    }
    peers
}

fn is_as_planned(run: &Checked, matched: &'static str) {
    let ranks = run.profile.ranks;
    for (node, name) in (0..).zip(run.profile.nodes.iter().map(|node| &run.profile.regions[node.region as usize].name))
    {
        let ledgers: Vec<Ledger> =
            (0..ranks).map(|r| plan(r, ranks, matched).remove(&name[..]).unwrap_or_default()).collect();
        let mut all = Messages::default();
        for (rank, ledger) in (0..).zip(&ledgers) {
            let expected = messages(rank, ledger);
            all.merge(&expected);
            let OfRank { values, messages, peers: with } = run.profile.by_rank[&(node, rank)].clone();
            assert_eq!((messages, with), (expected, peers(ledger)), "{name} on rank {rank}");
            let sum = |is_sent| ledger.iter().filter(|m| m.0 == is_sent).map(|m| m.1).sum::<u64>();
            assert_eq!([values[&Metric::BytesSent], values[&Metric::BytesReceived]], [sum(true), sum(false)], "{name}");
        }
        assert_eq!(run.profile.messages.get(&node).cloned().unwrap_or_default(), all, "{name}");
        let number = |ledger: &Ledger| Some(peers(ledger).len() as u64).filter(|&number| number > 0);
        assert_eq!(run.value(&[&name[..]], Metric::Peers), over_ranks(ledgers.iter().map(number)), "peers of {name}");
    }
}

#[test]
fn sizes_and_peers_are_those_of_the_plan() {
    for mpi in BOTH {
        for ranks in [1, 2, 5] {
            let run = Run::of("traffic", mpi, ranks, Mode::EachRank);
            is_as_planned(&Checked::of(&run, "traffic", mpi, ranks), "MPI_Mrecv");
        }
    }
}

#[test]
fn they_are_under_smpi() {
    if let Some(run) = Run::simulated_with("traffic", 6, &[("POISE_RANKS", "1")]) {
        // What is said of the MPI is for messages alone.
        is_as_planned(&Checked::of(&run, "traffic", Mpi::OpenMpi, 6), "MPI_Recv");
    }
}

/// Single ranks are kept on request alone; sums are the same then.
#[test]
fn ranks_are_kept_on_request() {
    let profile = |mode| Checked::of(&Run::of("traffic", Mpi::Mpich, 3, mode), "traffic", Mpi::Mpich, 3).profile;
    let (asked, plain) = (profile(Mode::EachRank), profile(Mode::Measured));
    assert!(plain.by_rank.is_empty() && !asked.by_rank.is_empty());
    assert_eq!(plain.messages, asked.messages);
}
