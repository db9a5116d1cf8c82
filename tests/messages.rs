//! `poise messages` on profiles of two ranks, made here: what it shows is what was put in.

mod common;

use std::collections::BTreeMap;

use common::World;
use poise_profile::{Messages, Metric, Profile, RankBuilder, Region, RegionKind, Traffic};
use serde_json::{Value, json};

/// A rank that sends `count` messages of 100 bytes to the other.
fn of_rank(rank: u32, count: u64, keeps_rank: bool) -> Profile {
    let region = |name: &str, kind| Region { name: name.into(), file: String::new(), line: 0, kind };
    let mut builder = RankBuilder::new();
    let main = builder.node(None, region("main", RegionKind::Function));
    let send = builder.node(Some(main), region("MPI_Send", RegionKind::Mpi));
    builder.add(main, Metric::Visits, 1);
    builder.add(send, Metric::Visits, count);
    builder.add(send, Metric::BytesSent, 100 * count);
    builder.add(send, Metric::CommSize, 2);
    builder.add(send, Metric::WaitTime, 3_000_000);
    builder.add(send, Metric::LateReceiver, 2_000_000);
    builder.add(send, Metric::LogicalWait, 1_234_567);
    let receive = builder.node(Some(main), region("MPI_Recv", RegionKind::Mpi));
    builder.add(receive, Metric::Time, 5_000);
    builder.add(receive, Metric::WaitTime, 250);
    let mut messages = Messages::default();
    messages.sent.add(7, count);
    let peer = Traffic { sent: (count, 100 * count), received: (0, 0) };
    builder.add_messages(send, &messages, &BTreeMap::from([(Some(1 - rank), peer)]));
    if keeps_rank {
        builder.keep_rank();
    }
    builder.finish(rank)
}

fn write(world: &World, name: &str, keeps_rank: bool) {
    let mut profile = of_rank(0, 5, keeps_rank);
    profile.merge(of_rank(1, 7, keeps_rank)).unwrap();
    profile.write(world.path(name)).unwrap();
}

#[test]
fn sizes_and_peers_are_shown_in_each_format() {
    let world = World::new();
    write(&world, "kept.poise", true);
    let json: Value =
        serde_json::from_str(&world.poise(["messages", "kept.poise", "--ranks", "--format", "json"]).status(0).stdout)
            .unwrap();
    assert_eq!((&json["schema"], &json["runs"][0]["ranks"]), (&json!("counterpoise/messages"), &json!(2)));
    let operations = json["runs"][0]["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 2);
    let operation = operations.iter().find(|of| of["callpath"] == json!(["main", "MPI_Send"])).unwrap();
    assert_eq!(operation["sent"], json!([{"from": 64, "to": 127, "messages": 12}]));
    assert_eq!(operation["distances"], json!([{"from": 1, "to": 1, "messages": 12}]));
    let visits = json!({"ranks": 2, "sum": 12, "minimum": 5, "minimum_rank": 0, "maximum": 7, "maximum_rank": 1});
    assert_eq!(operation["values"]["visits"], visits);
    assert_eq!(operation["values"]["late_receiver_ns"]["sum"], 4_000_000);
    let by_rank = json["runs"][0]["by_rank"].as_array().unwrap();
    assert_eq!(by_rank.len(), 6);
    let last = by_rank.iter().find(|of| of["callpath"] == json!(["main", "MPI_Send"]) && of["rank"] == 1).unwrap();
    let peers =
        json!([{"rank": 0, "messages_sent": 7, "bytes_sent": 700, "messages_received": 0, "bytes_received": 0}]);
    assert_eq!((&last["peers"], &last["values"]["bytes_sent"]), (&peers, &json!(700)));
    let csv = world.poise(["messages", "kept.poise", "--ranks", "--format", "csv"]).status(0).stdout;
    for line in [
        "\"kept.poise\",\"main->MPI_Send\",,bytes_sent,,,1200",
        "\"kept.poise\",\"main->MPI_Send\",,comm_size,,,2",
        "\"kept.poise\",\"main->MPI_Send\",,sent,64,127,12",
        "\"kept.poise\",\"main->MPI_Send\",1,bytes_sent_to,0,,700",
    ] {
        assert!(csv.lines().any(|found| found == line), "{line} is not in\n{csv}");
    }
    let human = world.poise(["messages", "kept.poise", "--ranks"]).status(0).stdout;
    // This profile has no number of bytes received, so that there is no column for it.
    let columns: Vec<&str> =
        human.lines().nth(1).unwrap().split("  ").map(str::trim).filter(|name| !name.is_empty()).collect();
    let expected = [
        "calls",
        "time",
        "ranks",
        "sent",
        "peers",
        "sizes sent",
        "distances",
        "waiting",
        "logical waiting [ticks]",
        "call path",
    ];
    assert_eq!(columns, expected);
    let sends = human.lines().find(|line| line.contains("main -> MPI_Send")).unwrap();
    assert_eq!(sends.split_whitespace().take(5).collect::<Vec<_>>(), ["12", "-", "2", "1200", "1"], "{human}");
    let receives = human.lines().find(|line| line.contains("main -> MPI_Recv")).unwrap();
    assert_eq!(receives.split_whitespace().take(4).collect::<Vec<_>>(), ["-", "10.0", "µs", "-"], "{human}");
    for words in [
        "main -> MPI_Send",
        "64-127 B: 12",
        "6 ms (late receiver 4 ms)",
        "0: 7",
        "logical waiting [ticks]",
        "2469134",
        "1234567",
        "500 ns",
        "250 ns",
    ] {
        assert!(human.contains(words), "{words} is not in\n{human}");
    }
}

#[test]
fn ranks_that_were_not_kept_are_told() {
    let world = World::new();
    write(&world, "plain.poise", false);
    assert!(world.poise(["messages", "plain.poise"]).status(0).stdout.contains("1200"));
    let refused = world.poise(["messages", "plain.poise", "--ranks"]).status(3);
    assert!(refused.stderr.contains("POISE_RANKS=1"), "{}", refused.stderr);
    assert!(world.poise(["messages", "missing"]).status(3).stderr.contains("missing"));
}

/// A profile that was there when a later run was to write its own is kept, and whoever reads it is told.
#[test]
fn a_profile_of_an_earlier_run_is_told() {
    let world = World::new();
    write(&world, "run.poise", false);
    assert_eq!(world.poise(["messages", "run.poise"]).status(0).stderr, "");
    for (kind, line) in [("conflict", "run.poise: there is a file already."), ("failed", "rank 1 was killed.")] {
        world.write(&format!("run.poise.{kind}"), &format!("{line}\n"));
        let told = format!("poise: run.poise is not of the last process that was to write it: {line}\n");
        assert_eq!(world.poise(["messages", "run.poise"]).status(0).stderr, told);
        assert!(world.poise(["export", "run.poise", "--to", "csv", "-o", "-"]).status(0).stderr.contains(&told));
        let of_folder = world.poise(["messages", "."]).status(0).stderr;
        assert_eq!(of_folder, told.replace("run.poise is", "./run.poise is"));
        assert_eq!(world.poise(["messages", "run.poise", "-q"]).status(0).stderr, "");
        std::fs::remove_file(world.path(&format!("run.poise.{kind}"))).unwrap();
    }
}
