//! Bytes of point-to-point calls, worked out by hand from `programs/messages.c` and `programs/threads.c`: a ring of p
//! ranks, ints of 4 bytes; and of `programs/ledger.c` as that says itself.

mod common;

use common::{BOTH, Calls, Checked, Mode, Mpi, Run, one};
use poise_profile::Metric;

#[test]
fn messages_are_credited_where_they_are_sent_and_where_they_arrive() {
    for mpi in BOTH {
        for ranks in [1, 2, 3, 4] {
            let run = Checked::new("messages", mpi, ranks);
            modes(&run);
            exchanges(&run);
            completions(&run);
            persistent_and_matched(&run);
        }
    }
}

fn modes(run: &Checked) {
    let p = run.ranks;
    let own = |r: u64| 4 * (r + 1);
    let arrives = move |r: u64| 4 * ((r + p - 1) % p + 1);
    for (case, send) in [("send", "MPI_Send"), ("ssend", "MPI_Ssend"), ("rsend", "MPI_Rsend")] {
        run.expect(&[case, send], |r| one(own(r), 0, p));
        run.expect(&[case, "MPI_Irecv"], |_| one(0, 0, p));
        run.expect(&[case, "MPI_Wait"], |r| one(0, arrives(r), p));
    }
    run.expect(&["bsend", "MPI_Bsend"], |r| one(own(r), 0, p));
    run.expect(&["bsend", "MPI_Recv"], |r| one(0, arrives(r), p));
    run.expect(&["isend", "MPI_Isend"], |r| one(own(r), 0, p));
    run.expect(&["isend", "MPI_Recv"], |r| one(0, arrives(r), p));
    run.expect(&["isend", "MPI_Wait"], |_| one(0, 0, 0));
}

fn exchanges(run: &Checked) {
    let p = run.ranks;
    run.expect(&["sendrecv", "MPI_Sendrecv"], |r| one(4 * (r + 1), 4 * ((r + p - 1) % p + 1), p));
    run.expect(&["sendrecv_replace", "MPI_Sendrecv_replace"], |_| one(28, 28, p));
    let up = |r: u64| if r + 1 < p { 16 } else { 0 };
    let down = |r: u64| if r > 0 { 16 } else { 0 };
    run.expect(&["nobody", "MPI_Sendrecv"], |r| one(up(r), down(r), p));
    run.expect(&["nobody", "MPI_Isend"], |r| one(up(r), 0, p));
    // Rank 0 has nothing to wait for, so its call names no communicator.
    run.expect(&["nobody", "MPI_Waitall"], |r| one(0, down(r), if r > 0 { p } else { 0 }));
    run.expect(&["derived", "MPI_Sendrecv"], |_| one(24, 24, p));
}

/// Six messages of 1 to 6 ints.
fn completions(run: &Checked) {
    const ALL: u64 = 4 * (1 + 2 + 3 + 4 + 5 + 6);
    let p = run.ranks;
    for case in ["waitall", "waitall_statuses"] {
        run.expect(&[case, "MPI_Isend"], |_| Some(Calls { calls: 6, sent: ALL, received: 0, comm_size: p }));
        run.expect(&[case, "MPI_Irecv"], |_| Some(Calls { calls: 6, sent: 0, received: 0, comm_size: p }));
        run.expect(&[case, "MPI_Waitall"], |_| one(0, ALL, p));
    }
    run.expect(&["waitany", "MPI_Waitany"], |_| Some(Calls { calls: 7, sent: 0, received: ALL, comm_size: p }));
    for (case, call) in [
        ("waitsome", "MPI_Waitsome"),
        ("test", "MPI_Test"),
        ("testall", "MPI_Testall"),
        ("testany", "MPI_Testany"),
        ("testsome", "MPI_Testsome"),
    ] {
        run.expect_moved(&[case, call], |_| 0, |_| ALL);
    }
}

fn persistent_and_matched(run: &Checked) {
    let p = run.ranks;
    let own = |r: u64| 4 * (r + 1);
    let arrives = |r: u64| 4 * ((r + p - 1) % p + 1);
    let calls = |calls, sent, received, comm_size| Some(Calls { calls, sent, received, comm_size });
    run.expect(&["persistent", "MPI_Send_init"], |_| one(0, 0, p));
    run.expect(&["persistent", "MPI_Recv_init"], |_| one(0, 0, p));
    run.expect(&["persistent", "MPI_Startall"], |r| calls(3, 3 * own(r), 0, p));
    run.expect(&["persistent", "MPI_Waitall"], |r| calls(3, 0, 3 * arrives(r), p));
    run.expect(&["persistent", "MPI_Start"], |r| calls(2, own(r), 0, p));
    run.expect(&["persistent", "MPI_Wait"], |r| calls(3, 0, arrives(r), p));
    run.expect(&["persistent", "MPI_Waitany"], |_| one(0, 0, 0));
    run.expect(&["matched", "MPI_Mprobe"], |_| one(0, 0, p));
    run.expect(&["matched", "MPI_Mrecv"], |r| one(0, arrives(r), 0));
    run.expect(&["matched", "MPI_Imrecv"], |_| one(0, 0, 0));
    run.expect_moved(&["matched", "MPI_Wait"], |_| 0, arrives);
    run.expect_moved(&["cancelled", "MPI_Wait"], |_| 0, |_| 0);
    run.expect_moved(&["no_message", "MPI_Wait"], |_| 0, |_| 0);
    run.expect(&["refused", "MPI_Send"], |_| one(0, 0, 0));
    run.expect(&["refused", "MPI_Bcast"], |_| one(0, 0, 0));
}

/// Messages i of threads t with 1 + (i + t) % 7 ints, i below 400 and t below 4; every other pair of them completes in
/// MPI_Waitall.
#[test]
fn nothing_is_lost_between_threads() {
    let bytes = |wanted: fn(&u64) -> bool| -> u64 {
        (0..4).flat_map(|thread| (0..400).filter(wanted).map(move |i| 4 * (1 + (i + thread) % 7))).sum()
    };
    let (all, pairs) = (bytes(|_| true), bytes(|i| i % 4 >= 2));
    for mpi in BOTH {
        for ranks in [1, 3] {
            let mode = if ranks == 1 { Mode::Measured } else { Mode::Waiting };
            let run = Checked::of(&Run::of("threads", mpi, ranks, mode), "threads", mpi, ranks);
            let calls = |calls, sent, received| Some(Calls { calls, sent, received, comm_size: run.ranks });
            run.expect(&["MPI_Isend"], |_| calls(1600, all, 0));
            run.expect(&["MPI_Irecv"], |_| calls(1600, 0, 0));
            run.expect(&["MPI_Waitall"], |_| calls(400, 0, pairs));
            let received = |call: &str| run.value(&[call], Metric::BytesReceived).map_or(0, |value| value.sum);
            let others = received("MPI_Wait") + received("MPI_Test");
            assert_eq!(others, u128::from((all - pairs) * run.ranks), "{mpi:?} on {ranks} ranks");
        }
    }
}

/// Threads that do everything at once: messages with tags of their own and with wildcards, collective operations, communicators made and freed, requests that
/// another thread completes. What each rank's own ledger says is what the profile has, function by function. `scripts/threads` runs the same program for as long as
/// one likes under ThreadSanitizer.
#[test]
fn nothing_is_lost_of_what_threads_do_at_once() {
    // MPICH's threads take turns at one lock, which takes long where there are more of them than cores.
    for (mpi, ranks, threads) in [(Mpi::OpenMpi, 4, "8"), (Mpi::Mpich, 2, "3")] {
        for mode in [Mode::Measured, Mode::Waiting] {
            let run = Run::with("ledger", &[threads, "50"], mpi, ranks, mode);
            let profile = Checked::of(&run, "ledger", mpi, ranks);
            assert_eq!(profile.expect_ledger(&run.stdout), 23, "{}", run.stdout);
        }
    }
}

/// A thread may start a persistent request while another is in a call that does not complete it, or just does: no start is missed, and with waiting no
/// clock, neither of those messages nor of the last ones.
#[test]
fn requests_may_be_started_while_others_test_them() {
    for mpi in BOTH {
        for mode in [Mode::Measured, Mode::Waiting] {
            let profile = Checked::of(&Run::of("restarted", mpi, 2, mode), "restarted", mpi, 2);
            let sum = |call: &str, metric| profile.value(&[call], metric).map(|value| value.sum);
            assert_eq!(sum("MPI_Start", Metric::BytesSent), Some(4 * (3 + 1000)), "{mpi:?}, {mode:?}");
            assert_eq!(sum("MPI_Testany", Metric::BytesReceived), Some(4 * 1000), "{mpi:?}, {mode:?}");
            let waited = if mode == Mode::Waiting { Some(4 * 100_000) } else { None };
            assert_eq!(sum("MPI_Recv", Metric::LogicalWait), waited, "{mpi:?}, {mode:?}");
        }
    }
}

/// What MPI 4.0 added is in MPICH alone. With waiting, each message's clock is found again by whatever receives it.
#[test]
fn what_mpi_4_added_is_credited_too() {
    for ranks in [1, 3] {
        let finished = Run::of("added", Mpi::Mpich, ranks, Mode::Waiting);
        let run = Checked::of(&finished, "added", Mpi::Mpich, ranks);
        let size = run.ranks;
        let calls = |calls, sent, received| Some(Calls { calls, sent, received, comm_size: size });
        run.expect(&["MPI_Isend_c"], |_| calls(3, 3 * 20, 0));
        run.expect(&["MPI_Recv"], |_| calls(3, 0, 3 * 20));
        run.expect(&["MPI_Isendrecv"], |_| calls(3, 3 * 28, 0));
        run.expect(&["MPI_Wait"], |_| calls(6, 0, 0));
        run.expect(&["MPI_Allgatherv_c"], |r| one(4 * (r + 1) * size, 4 * size * (size + 1) / 2, size));
        run.expect(&["MPI_Bcast_c"], |r| one(if r == 0 { 36 * size } else { 0 }, 36, size));
        run.expect(&["MPI_Allreduce_init"], |_| calls(1, 0, 0));
        run.expect(&["MPI_Start"], |_| calls(2, 24, 24));
        run.expect(&["MPI_Psend_init"], |_| calls(1, 0, 0));
        run.expect(&["MPI_Startall"], |_| calls(1, 96, 96));
        // Nothing but the messages' own cost: all clocks are equal when they are sent.
        let waited = run.value(&["MPI_Recv"], Metric::LogicalWait).expect("waiting");
        assert!(waited.minimum.0 >= 1000 && waited.maximum == (waited.minimum.0, 0), "{waited:?}");
    }
}

/// Open MPI has persistent collective operations as extensions, which count as the standard's.
#[test]
fn extensions_are_credited_as_what_they_became() {
    for ranks in [1, 3] {
        let run = Checked::new("extended", Mpi::OpenMpi, ranks);
        let size = run.ranks;
        run.expect(&["MPI_Allreduce_init"], |_| one(0, 0, size));
        run.expect(&["MPI_Start"], |_| Some(Calls { calls: 3, sent: 3 * 56, received: 3 * 56, comm_size: size }));
        run.expect(&["MPI_Startall"], |_| one(56 + 4 * size, 56 + 4 * size, size));
    }
}
