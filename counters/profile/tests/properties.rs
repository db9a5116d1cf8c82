//! Properties of the format and of merging, on generated profiles.

use std::collections::{BTreeMap, BTreeSet};

use poise_profile::{
    Burst, Histogram, Loop, Messages, Metric, Noise, OverRanks, Profile, RankBuilder, Region, RegionKind, Series,
    Traffic,
};
use proptest::prelude::*;

/// One generated measurement: a call path of region numbers, a metric, a value.
type Entry = (Vec<u8>, u8, u64);

fn region(number: u8) -> Region {
    let kind = [RegionKind::Function, RegionKind::Mpi, RegionKind::User, RegionKind::Inlined][usize::from(number) % 4];
    Region {
        name: format!("f{}", number / 2),
        file: "löser.c".repeat(usize::from(number % 2)),
        line: number.into(),
        kind,
    }
}

/// Values small enough that sums of a few of them fit into 64 bits, and some at the edges.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1u64..100, Just(u64::MAX >> 8)]
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    prop::collection::vec((prop::collection::vec(0u8..6, 1..6), 0u8..6, value()), 0..30)
}

fn build(rank: u32, entries: &[Entry]) -> Profile {
    let mut builder = RankBuilder::new();
    for (path, metric, value) in entries {
        let node = path.iter().fold(None, |parent, &number| Some(builder.node(parent, region(number))));
        builder.add(node.unwrap(), Metric::ALL[usize::from(*metric)], *value);
        let (messages, peers) = one_message(rank, *metric, *value);
        builder.add_messages(node.unwrap(), &messages, &peers);
    }
    builder.keep_rank();
    let mut profile = builder.finish(rank);
    profile.metadata = BTreeMap::from([("host".into(), format!("n{}", rank % 2)), ("clock".into(), "wall".into())]);
    profile.noise = noise(&profile, rank, entries);
    profile
}

/// A message that follows from an entry: as large as its value, from a rank that follows from its metric.
fn one_message(rank: u32, metric: u8, value: u64) -> (Messages, BTreeMap<Option<u32>, Traffic>) {
    let mut messages = Messages::default();
    messages.received.add(Histogram::bucket(value), 1);
    let peer = (metric > 0).then(|| rank + u32::from(metric));
    (messages, BTreeMap::from([(peer, Traffic { sent: (0, 0), received: (1, value) })]))
}

/// Number of messages, of those with a peer, and of different peers over ranks, by call path, the plain way.
fn expected_messages(ranks: &[Vec<Entry>]) -> BTreeMap<Vec<Region>, (u64, u64, usize)> {
    type Found = (u64, u64, BTreeSet<(usize, u8)>);
    let mut all: BTreeMap<Vec<Region>, Found> = BTreeMap::new();
    for (rank, (path, metric, _)) in ranks.iter().enumerate().flat_map(|(rank, e)| e.iter().map(move |e| (rank, e))) {
        let of = all.entry(path.iter().map(|&number| region(number)).collect()).or_default();
        of.0 += 1;
        if *metric > 0 {
            of.1 += 1;
            of.2.insert((rank, *metric));
        }
    }
    all.into_iter().map(|(path, (all, with_peer, peers))| (path, (all, with_peer, peers.len()))).collect()
}

/// The same as a profile has it.
fn messages_by_path(profile: &Profile) -> BTreeMap<Vec<Region>, (u64, u64, usize)> {
    let of = |(&node, messages): (&u32, &Messages)| {
        let path = profile.path(node).unwrap().into_iter().cloned().collect();
        let peers =
            profile.by_rank.range((node, 0)..=(node, u32::MAX)).map(|(_, of)| of.peers.keys().flatten().count());
        (path, (messages.received.total(), messages.distances.total(), peers.sum()))
    };
    profile.messages.iter().map(of).collect()
}

/// Noise whose quantities follow from the entries: a series at each node, a burst for each entry.
fn noise(profile: &Profile, rank: u32, entries: &[Entry]) -> Noise {
    let name = |number: u8| format!("mode {}", number % 3);
    let mut modes: Vec<String> = entries.iter().map(|e| name(e.1)).collect();
    modes.dedup();
    let mode = |entry: &Entry| modes.iter().position(|m| *m == name(entry.1)).unwrap() as u32;
    let bursts: Vec<Burst> = (0..)
        .zip(entries.iter().take(4))
        .map(|(i, e)| Burst {
            round: i / 2,
            mode: mode(e),
            k: e.1.into(),
            entries: 1 + e.2 % 5,
            iterations: e.0.first().map(|&n| n.into()),
            nanoseconds: e.2,
        })
        .collect();
    let target = |i: u32| Loop {
        function: format!("f{}", (i + rank) % 3),
        file: String::new(),
        line: i,
        id: i,
        width: 0,
        refusal: String::new(),
    };
    let loops: Vec<Loop> = (0..profile.nodes.len() as u32).map(target).collect();
    let series = |node: u32| Series {
        node,
        target: node,
        rank,
        thread: node % 2,
        executions: 10,
        left_out: 0,
        bursts: bursts.clone(),
    };
    Noise { series: (0..loops.len() as u32).map(series).collect(), modes, loops }
}

/// Each burst with all that it refers to, spelled out and sorted.
fn spelled_out(profile: &Profile) -> Vec<(Vec<Region>, Loop, u32, String, Burst)> {
    let of_series = |s: &Series| -> Vec<_> {
        let path: Vec<Region> = profile.path(s.node).unwrap().into_iter().cloned().collect();
        let target = profile.noise.loops[s.target as usize].clone();
        let mode = |b: &Burst| profile.noise.modes[b.mode as usize].clone();
        s.bursts.iter().map(|b| (path.clone(), target.clone(), s.rank, mode(b), Burst { mode: 0, ..*b })).collect()
    };
    let mut all: Vec<_> = profile.noise.series.iter().flat_map(of_series).collect();
    all.sort();
    all
}

fn merged(profiles: &[Profile]) -> Profile {
    let mut merged = profiles[0].clone();
    profiles[1..].iter().for_each(|other| merged.merge(other.clone()).unwrap());
    merged
}

/// What merging must give, computed the plain way: one map from call path and metric to the values of ranks.
fn expected(ranks: &[Vec<Entry>]) -> BTreeMap<(Vec<Region>, Metric), OverRanks> {
    let mut values: BTreeMap<_, BTreeMap<u32, u64>> = BTreeMap::new();
    for (rank, entries) in ranks.iter().enumerate() {
        for (path, metric, value) in entries {
            let metric = Metric::ALL[usize::from(*metric)];
            let key = (path.iter().map(|&number| region(number)).collect::<Vec<_>>(), metric);
            let sum = values.entry(key).or_default().entry(rank as u32).or_insert(0);
            *sum = if metric == Metric::CommSize { (*sum).max(*value) } else { *sum + value };
        }
    }
    let over_ranks = |by_rank: BTreeMap<u32, u64>| OverRanks {
        ranks: by_rank.len() as u32,
        sum: by_rank.values().map(|&v| u128::from(v)).sum(),
        minimum: by_rank.iter().map(|(&rank, &value)| (value, rank)).min().unwrap(),
        // `max_by_key` gives the last of several, so the ranks run downwards.
        maximum: by_rank.iter().rev().map(|(&rank, &value)| (value, rank)).max_by_key(|x| x.0).unwrap(),
    };
    values.into_iter().map(|(key, by_rank)| (key, over_ranks(by_rank))).collect()
}

fn by_path(profile: &Profile) -> BTreeMap<(Vec<Region>, Metric), OverRanks> {
    let path = |node| profile.path(node).unwrap().into_iter().cloned().collect();
    // Peers follow from the messages.
    let values = profile.values.iter().filter(|((_, metric), _)| *metric != Metric::Peers);
    values.map(|(&(node, metric), &value)| ((path(node), metric), value)).collect()
}

proptest! {
    #[test]
    fn decoding_gives_back_what_was_encoded(ranks in prop::collection::vec(entries(), 1..4)) {
        let profiles: Vec<_> = ranks.iter().enumerate().map(|(rank, e)| build(rank as u32, e)).collect();
        let profile = merged(&profiles);
        prop_assert_eq!(&Profile::decode(&profile.encode()).unwrap(), &profile);
        prop_assert_eq!(&Profile::decode(&profiles[0].encode()).unwrap(), &profiles[0]);
    }

    #[test]
    fn merging_agrees_with_plain_sums(ranks in prop::collection::vec(entries(), 2..5)) {
        let profiles: Vec<_> = ranks.iter().enumerate().map(|(rank, e)| build(rank as u32, e)).collect();
        let merged = merged(&profiles);
        prop_assert_eq!(merged.ranks as usize, ranks.len());
        prop_assert_eq!(by_path(&merged), expected(&ranks));
        prop_assert_eq!(messages_by_path(&merged), expected_messages(&ranks));
        for (&(node, metric), value) in &merged.values {
            let kept = merged.by_rank.range((node, 0)..=(node, u32::MAX)).filter_map(|(_, of)| of.values.get(&metric));
            prop_assert_eq!(kept.map(|&value| u128::from(value)).sum::<u128>(), value.sum);
        }
        let mut bursts: Vec<_> = profiles.iter().flat_map(spelled_out).collect();
        bursts.sort();
        prop_assert_eq!(spelled_out(&merged), bursts);
        prop_assert_eq!(merged.metadata["host"].as_str(), "n0\nn1");
        prop_assert_eq!(merged.metadata["clock"].as_str(), "wall");
    }

    #[test]
    fn merging_does_not_depend_on_order(a in entries(), b in entries(), c in entries()) {
        let [a, b, c] = [build(0, &a), build(1, &b), build(2, &c)];
        let left = merged(&[a.clone(), b.clone(), c.clone()]);
        prop_assert_eq!(&left, &merged(&[c.clone(), a.clone(), b.clone()]));
        let right = merged(&[a, merged(&[b, c])]);
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(&left.canonical().unwrap(), &left);
    }

    #[test]
    fn damaged_bytes_never_panic(e in entries(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = build(0, &e).encode();
        let at = at.index(bytes.len());
        let before = bytes[at];
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        prop_assert_eq!(Profile::decode(&bytes).is_ok(), !cut && byte == before);
    }

    /// With length and checksum right, damage reaches the code that reads the body.
    #[test]
    fn damaged_bodies_never_panic(e in entries(), edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = build(0, &e).encode();
        let end = bytes.len() - 8;
        for (at, byte) in edits {
            bytes[24 + at.index(end - 24)] = byte;
        }
        let sum = bytes[..end].iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
        if let Ok(profile) = Profile::decode(&bytes) {
            prop_assert!(profile.check().is_ok());
            prop_assert_eq!(&Profile::decode(&profile.encode()).unwrap(), &profile);
        }
    }
}
