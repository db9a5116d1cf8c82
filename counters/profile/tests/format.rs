//! The format byte by byte, its errors, and files.

use std::collections::BTreeMap;
use std::fs;

use poise_profile::{
    Bin, BinUnit, Burst, EncodedPhases, Histogram, Loop, Messages, Metric, Node, Noise, OfRank, OverRanks, Place,
    Profile, ProfileError, RankBuilder, Region, RegionKind, Series, Share, Timeline, Traffic, can_be_written,
};

fn example() -> Profile {
    let region = |name: &str, kind| Region { name: name.into(), file: "a.c".into(), line: 300, kind };
    let over_ranks = OverRanks { ranks: 2, sum: 0x180, minimum: (0x80, 1), maximum: (0x100, 0) };
    Profile {
        metadata: BTreeMap::from([("clock".into(), "cpu".into())]),
        ranks: 2,
        regions: vec![region("main", RegionKind::Function), region("MPI_Bcast", RegionKind::Mpi)],
        nodes: vec![Node { parent: None, region: 0 }, Node { parent: Some(0), region: 1 }],
        values: BTreeMap::from([((0, Metric::Visits), OverRanks::of_rank(1, 1)), ((1, Metric::BytesSent), over_ranks)]),
        ..Profile::default()
    }
}

/// The example of the specification, written by hand from its tables.
#[test]
fn the_bytes_are_those_of_the_specification() {
    let mut bytes = b"\x8fPOISE\r\n\x01\0\0\0\x02\0\0\0".to_vec();
    bytes.extend(79u64.to_le_bytes());
    bytes.extend(b"\x01\x05clock\x03cpu");
    bytes.extend(b"\x02\x04main\x03a.c\xac\x02\x00\x09MPI_Bcast\x03a.c\xac\x02\x01");
    bytes.extend(b"\x02\x00\x00\x01\x01");
    bytes.extend(b"\x02\x00\x00\x01\x01\x01\x01\x03\x02\x80\x01\x01\x80\x02\x00\x80\x03");
    let length = bytes.len() as u64 + 8;
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    let encoded = example().encode();
    assert_eq!(encoded[..encoded.len() - 8], bytes);
    assert_eq!(Profile::decode(&encoded).unwrap(), example());
}

fn burst(round: u32, k: u32, nanoseconds: u64) -> Burst {
    Burst { round, mode: 0, k, entries: 2, iterations: (k == 0).then_some(300), nanoseconds }
}

fn noisy_example() -> Profile {
    let target =
        Loop { function: "main".into(), file: "a.c".into(), line: 300, id: 1, width: 4, refusal: String::new() };
    let bursts = vec![burst(3, 0, 128), burst(5, 12, 200)];
    let series = Series { node: 1, target: 0, rank: 1, thread: 2, executions: 9, left_out: 0, bursts };
    let noise = Noise { modes: vec!["nop".into()], loops: vec![target], series: vec![series] };
    Profile { noise, ..example() }
}

/// What noise injection measured stands behind the values, written by hand from the specification's tables.
#[test]
fn noise_follows_the_values() {
    let (plain, noisy) = (example().encode(), noisy_example().encode());
    let mut bytes = plain[..plain.len() - 8].to_vec();
    bytes[8] = 2;
    bytes.extend(b"\x01\x03nop\x01\x04main\x03a.c\xac\x02\x01\x04\x00\x01\x01\x00\x01\x02\x09\x00\x02");
    bytes.extend(b"\x03\x00\x00\x02\xad\x02\x80\x01\x02\x00\x0c\x02\x00\xc8\x01");
    let length = bytes.len() as u64 + 8;
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    assert_eq!(noisy[..noisy.len() - 8], bytes);
    assert_eq!(Profile::decode(&noisy).unwrap(), noisy_example());
}

/// Metrics of waiting make it version 3, which has the lists of version 2.
#[test]
fn waiting_is_version_three() {
    let mut waiting = example();
    waiting.values.insert((1, Metric::PollingBlocks), OverRanks::of_rank(1, 5));
    let (plain, encoded) = (example().encode(), waiting.encode());
    let mut bytes = plain[..plain.len() - 8].to_vec();
    bytes[8] = 3;
    let values = bytes.len() - 17;
    assert_eq!(bytes[values], 2);
    bytes[values] = 3;
    bytes.extend(b"\x00\x08\x01\x05\x01\x00\x00\x00");
    let length = bytes.len() as u64 + 8;
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    assert_eq!(encoded[..encoded.len() - 8], bytes);
    assert_eq!(Profile::decode(&encoded).unwrap(), waiting);
}

/// Inlined functions and what is measured of those that have them make it version 4, which has the lists of version 2.
#[test]
fn inlined_functions_are_version_four() {
    let mut compiled = example();
    compiled.values.insert((1, Metric::CompiledBlocks), OverRanks::of_rank(1, 5));
    let mut inlined = example();
    inlined.regions[1].kind = RegionKind::Inlined;
    for profile in [compiled, inlined] {
        let encoded = profile.encode();
        assert_eq!(encoded[8], 4);
        assert_eq!(Profile::decode(&encoded).unwrap(), profile);
    }
}

/// Messages and what single ranks had make it version 6 and stand at the end, written by hand from the specification's tables.
#[test]
fn messages_and_ranks_are_version_six() {
    let histogram = |counts: &[(u8, u64)]| Histogram { counts: counts.iter().copied().collect() };
    let mut profile = example();
    let (sent, distances) = (histogram(&[(0, 1), (4, 300)]), histogram(&[(1, 1)]));
    profile.messages.insert(1, Messages { sent, distances, ..Messages::default() });
    let others = Traffic { sent: (1, 2), received: (0, 0) };
    let of = OfRank {
        values: BTreeMap::from([(Metric::BytesSent, 128)]),
        messages: Messages { sent: histogram(&[(4, 1)]), ..Messages::default() },
        peers: BTreeMap::from([(None, others), (Some(0), Traffic { sent: (3, 4), received: (5, 6) })]),
    };
    profile.by_rank.insert((1, 1), of);
    let (plain, encoded) = (example().encode(), profile.encode());
    let mut bytes = plain[..plain.len() - 8].to_vec();
    bytes[8] = 6;
    // No noise, no phases, no models.
    bytes.extend([0; 8]);
    bytes.extend(b"\x01\x01\x02\x00\x01\x04\xac\x02\x00\x01\x01\x01");
    bytes.extend(b"\x01\x01\x01\x01\x03\x80\x01\x01\x04\x01\x00\x00\x02\x00\x01\x02\x00\x00\x01\x03\x04\x05\x06");
    let length = bytes.len() as u64 + 8;
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    assert_eq!(encoded[..encoded.len() - 8], bytes);
    assert_eq!(Profile::decode(&encoded).unwrap(), profile);
    for broken in [
        Messages { received: histogram(&[(65, 1)]), ..Messages::default() },
        Messages { received: histogram(&[(3, 0)]), ..Messages::default() },
    ] {
        let mut wrong = profile.clone();
        wrong.messages.insert(0, broken);
        assert!(matches!(Profile::decode(&wrong.encode()), Err(ProfileError::Inconsistent { .. })));
    }
    profile.messages.insert(2, Messages::default());
    assert!(matches!(Profile::decode(&profile.encode()), Err(ProfileError::Inconsistent { .. })));
}

/// A first bin that is apart makes it version 7, which says so at the end.
#[test]
fn bins_apart_are_version_seven() {
    let mut profile = example();
    let timeline = |first_apart| Timeline { first_apart, bins: vec![Bin::default()], ..Timeline::default() };
    profile.phases.timelines = vec![timeline(false), timeline(true)];
    let (plain, encoded) = (example().encode(), profile.encode());
    let mut bytes = plain[..plain.len() - 8].to_vec();
    bytes[8] = 7;
    // No noise; phases without a width and places, two timelines of one empty bin each; no models, no messages, no ranks; the second.
    bytes.extend(b"\x00\x00\x00\x00\x00\x00\x02\x00\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x01\x01");
    let length = bytes.len() as u64 + 8;
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    assert_eq!(encoded[..encoded.len() - 8], bytes);
    assert_eq!(Profile::decode(&encoded).unwrap(), profile);
    let last = bytes.len() - 1;
    bytes[last] = 2;
    let end = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    bytes.extend(end.to_le_bytes());
    assert!(matches!(Profile::decode(&bytes), Err(ProfileError::Inconsistent { .. })));
}

/// Phases that are encoded bin by bin are those that are encoded as a whole: bins without a share, with one, with numbers of all lengths, and with
/// more shares than a byte can count.
#[test]
fn phases_encoded_bin_by_bin_are_the_same_bytes() {
    let number = |place: u32, bit: u32| (1_u64 << ((7 * place + bit) % 64)) - u64::from(place.is_multiple_of(3));
    let share = |place| Share::of(place, std::array::from_fn(|bit| number(place, bit as u32)));
    let bins: Vec<Vec<Share>> = [0, 1, 3, 127, 128, 300, 0, 2].map(|places| (0..places).map(share).collect()).into();
    let mut profile = example();
    let mut encoded = EncodedPhases::new(BinUnit::Time, 1 << 40);
    encoded.places = vec![Place { node: 1, code: None }; 300];
    for (rank, thread) in [(0, 300), (7, 0)] {
        // Of those that are left out nothing stays.
        let kept = |share: &&Share| thread > 0 || share.place % 2 == 1;
        encoded.add_timeline((rank, thread), bins.iter().map(|bin| bin.iter().filter(kept).copied()));
        let bins = bins.iter().map(|bin| Bin { shares: bin.iter().filter(kept).copied().collect(), lines: None });
        profile.phases.timelines.push(Timeline { rank, thread, bins: bins.collect(), first_apart: false });
    }
    (profile.phases.unit, profile.phases.width) = (BinUnit::Time, 1 << 40);
    profile.phases.places = encoded.places.clone();
    let bytes = profile.encode();
    assert_eq!(example().encode_with(&encoded), bytes);
    assert_eq!(Profile::decode(&bytes).unwrap(), profile);
    assert_eq!(example().encode_with(&EncodedPhases::new(BinUnit::Blocks, 5)), example().encode());
}

/// Room is made by what each timeline has, not by what was encoded before it.
#[test]
fn many_timelines_take_about_as_much_memory_as_bytes() {
    let mut profile = example();
    let shares = [Share::of(0, [7; 8])].into_iter().collect();
    let bin = Bin { shares, lines: None };
    profile.phases.places = vec![Place { node: 1, code: None }];
    profile.phases.timelines =
        (0..2000).map(|thread| Timeline { thread, bins: vec![bin.clone(); 100], ..Timeline::default() }).collect();
    let bytes = profile.encode();
    assert!(bytes.len() > 1_000_000 && bytes.capacity() < 2 * bytes.len(), "{} {}", bytes.len(), bytes.capacity());
    assert_eq!(Profile::decode(&bytes).unwrap(), profile);
}

#[test]
fn each_kind_of_damage_has_its_own_error() {
    let good = example().encode();
    let decode = |edit: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        edit(&mut bytes);
        Profile::decode(&bytes).unwrap_err()
    };
    assert!(matches!(decode(&|b| b.clear()), ProfileError::NotAProfile));
    assert!(matches!(decode(&|b| b[0] = b'P'), ProfileError::NotAProfile));
    assert!(matches!(decode(&|b| b[8] = 9), ProfileError::NewerVersion { found: 9, known: 7 }));
    for length in 1..good.len() {
        let error = decode(&|b| b.truncate(length));
        assert!(matches!(error, ProfileError::Truncated { found, .. } if found == length as u64), "{length}: {error}");
    }
    assert!(matches!(decode(&|b| b.push(0)), ProfileError::Truncated { .. }));
    assert!(matches!(decode(&|b| b[40] ^= 1), ProfileError::Checksum { .. }));
}

#[test]
fn profiles_whose_parts_do_not_fit_are_refused() {
    let broken = |edit: &dyn Fn(&mut Profile)| {
        let mut profile = example();
        edit(&mut profile);
        let error = Profile::decode(&profile.encode()).unwrap_err();
        assert!(matches!(error, ProfileError::Inconsistent { .. }), "{error}");
        assert!(example().merge(profile).is_err());
    };
    broken(&|p| p.nodes[1].region = 2);
    broken(&|p| p.nodes[1].parent = Some(1));
    broken(&|p| _ = p.values.insert((2, Metric::Time), OverRanks::of_rank(0, 1)));
    broken(&|p| p.values.get_mut(&(1, Metric::BytesSent)).unwrap().sum += 1);
    broken(&|p| p.ranks = 1);
    let broken_noise = |edit: &dyn Fn(&mut Series)| {
        broken(&|p| {
            p.noise = noisy_example().noise;
            edit(&mut p.noise.series[0]);
        });
    };
    broken_noise(&|s| s.node = 2);
    broken_noise(&|s| s.target = 1);
    broken_noise(&|s| s.bursts[1].mode = 1);
    broken_noise(&|s| s.bursts[1].entries = 0);
    broken_noise(&|s| s.bursts[1].round = 2);
}

#[test]
fn a_written_file_is_whole_alone_and_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.poise");
    example().write(&path).unwrap();
    assert_eq!(Profile::read(&path).unwrap(), example());
    let before = fs::read(&path).unwrap();
    let other = RankBuilder::new().finish(0);
    assert!(matches!(other.write(&path).unwrap_err(), ProfileError::Exists { .. }));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left in the folder");

    fs::write(folder.path().join("cut"), &before[..30]).unwrap();
    let message = Profile::read(folder.path().join("cut")).unwrap_err().to_string();
    assert!(message.contains("cut: ") && message.contains("has 30"), "{message}");
    assert!(matches!(example().write(folder.path().join("missing/run")).unwrap_err(), ProfileError::Io { .. }));
}

/// A process that was killed while it wrote leaves the file that it wrote to, and another one may have its number one day.
#[test]
fn what_a_killed_process_left_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.poise");
    let left = folder.path().join(format!(".run.poise.{}.tmp", std::process::id()));
    fs::write(&left, "part of a profile").unwrap();
    can_be_written(&path).unwrap();
    assert!(!path.exists());
    example().write(&path).unwrap();
    // What the process with that number on another machine is writing stays, too.
    assert_eq!(fs::read_to_string(&left).unwrap(), "part of a profile");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// A call tree far deeper than any stack could follow recursively.
#[test]
fn deep_trees_merge() {
    let region = Region { name: "f".into(), file: String::new(), line: 0, kind: RegionKind::Function };
    let build = |rank| {
        let mut builder = RankBuilder::new();
        let deepest = (0..200_000).fold(None, |parent, _| Some(builder.node(parent, region.clone()))).unwrap();
        builder.add(deepest, Metric::Visits, 1);
        builder.finish(rank)
    };
    let mut profile = build(0);
    profile.merge(build(1)).unwrap();
    assert_eq!(profile.nodes.len(), 200_000);
    assert_eq!(profile.values[&(199_999, Metric::Visits)].sum, 2);
}
