//! What bins hold: over all of them what the call tree holds, waiting as the program itself measures it, of MPI programs that wait the
//! same in each run, and phases of iterations as long as they can be told apart. Nothing here depends on how busy the machine is.

mod common;

use std::collections::BTreeMap;

use common::{World, outcome};
use poise_profile::{Bin, Metric, Profile, Share};
use serde_json::Value;

/// Rank 0 sleeps before each of five messages, which rank 1 asks for, waits for, and prints for how long by MPI's clock.
const LATE: &str = r#"
    #include <mpi.h>
    #include <stdio.h>
    #include <unistd.h>
    int main(int count, char **values) {
        int rank, message = 0;
        double waited = 0;
        MPI_Init(&count, &values);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 5; ++i) {
            if (rank == 0) {
                MPI_Recv(&message, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                usleep(100000);
                MPI_Send(&message, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            } else {
                MPI_Send(&message, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
                double begin = MPI_Wtime();
                MPI_Recv(&message, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                waited += MPI_Wtime() - begin;
            }
            for (volatile int j = 0; j < 100000; ++j) {}
        }
        // A last one, which is sent when rank 1 has asked for it in vain, and that asks again and again.
        MPI_Request request;
        int has_come = rank == 0;
        if (rank == 0) {
            MPI_Recv(&message, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&message, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(&message, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
            for (int i = 0; i < 3; ++i) MPI_Test(&request, &has_come, MPI_STATUS_IGNORE);
            MPI_Send(&rank, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        }
        while (!has_come) MPI_Test(&request, &has_come, MPI_STATUS_IGNORE);
        if (rank == 1) printf("%.9f\n", waited);
        MPI_Finalize();
        return 0;
    }"#;

/// Half of the seconds that rank 0 sleeps: rank 1 may be kept from running between its request and its receive.
const LEAST_WAITED: f64 = 0.25;

/// A message's stamp is sent beside it, in time that is nobody's: so many nanoseconds.
const STAMP: u64 = 200_000;

#[test]
fn waiting_in_bins_is_what_the_program_itself_measures() {
    let mut world = World::new();
    world.write("late.c", LATE);
    world.set("OMPI_CC", &format!("{} cc", env!("CARGO_BIN_EXE_poise")));
    outcome(world.command("mpicc.openmpi", ["-O1", "late.c", "-o", "late"]).output().unwrap()).status(0);
    let command = ["mpirun.openmpi", "--oversubscribe", "-n", "2", "./late"];
    world.poise([&["phases", "--keep", "kept", "--width", "1000", "--"][..], &command].concat()).status(0);
    let measured: f64 = world.read("kept/stdout.txt").trim().parse().unwrap();
    let profile = Profile::read(world.path("kept/profile.poise")).unwrap();
    let timeline = profile.phases.timelines.iter().find(|t| t.rank == 1).unwrap();
    let is_receive = |place: u32| {
        let node = &profile.nodes[profile.phases.places[place as usize].node as usize];
        profile.regions[node.region as usize].name == "MPI_Recv"
    };
    let shares = || timeline.bins.iter().flat_map(|bin| &bin.shares).filter(|share| is_receive(share.place));
    assert!(shares().all(|share| share.wait_time <= share.time + STAMP), "waiting is a part of the time");
    let waited = shares().map(|share| share.wait_time).sum::<u64>() as f64 * 1e-9;
    // Of the time in the calls all was waiting but for what it takes to see that the message is there.
    assert!(waited <= measured && waited > LEAST_WAITED, "{waited} s of {measured} s");
    // Between two of them is enough effort for bins of their own.
    let bins = timeline.bins.iter().filter(|bin| bin.shares.iter().any(|s| is_receive(s.place) && s.wait_time > 0));
    assert!(bins.count() >= 4, "each message has its bin");
    let asked = profile.values.iter().find(|((_, metric), _)| *metric == Metric::PollingBlocks);
    assert!(asked.is_some_and(|(_, value)| value.sum > 0), "rank 1 has polled");
    check_sums(&profile);
    // Bins of a millisecond: a wait of a hundred is in a hundred of them, each of which is as long as it is.
    let options = ["phases", "--by", "time", "--keep", "timed", "--width", "1000000", "--"];
    world.poise([&options[..], &command].concat()).status(0);
    let measured: f64 = world.read("timed/stdout.txt").trim().parse().unwrap();
    let profile = Profile::read(world.path("timed/profile.poise")).unwrap();
    let timeline = profile.phases.timelines.iter().find(|t| t.rank == 1).unwrap();
    let is_receive = |place: u32| {
        let node = &profile.nodes[profile.phases.places[place as usize].node as usize];
        profile.regions[node.region as usize].name == "MPI_Recv"
    };
    let shares: Vec<&Share> =
        timeline.bins.iter().flat_map(|bin| &bin.shares).filter(|share| is_receive(share.place)).collect();
    assert!(shares.iter().all(|share| share.wait_time <= share.time + STAMP), "waiting is a part of the time");
    let waited = shares.iter().map(|share| share.wait_time).sum::<u64>() as f64 * 1e-9;
    assert!(waited <= measured && waited > LEAST_WAITED, "{waited} s of {measured} s");
    let bins = shares.iter().filter(|share| share.wait_time > 0).count() as f64;
    assert!(bins >= 1000.0 * waited, "{waited} s in {bins} bins");
    check_sums(&profile);
}

/// Rank 0 sends five messages, so large that it waits for their receives, before each of which rank 1 sleeps; rank 0 prints for how long
/// it was in these sends by MPI's clock. The first message is the first of its datatype.
const LATE_RECEIVER: &str = r#"
    #include <mpi.h>
    #include <stdio.h>
    #include <unistd.h>
    static double message[1 << 17];
    int main(int count, char **values) {
        int rank;
        double waited = 0;
        MPI_Init(&count, &values);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 5; ++i) {
            if (rank == 0) {
                double begin = MPI_Wtime();
                MPI_Send(message, 1 << 17, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
                waited += MPI_Wtime() - begin;
            } else {
                usleep(100000);
                MPI_Recv(message, 1 << 17, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
            for (volatile int j = 0; j < 100000; ++j) {}
        }
        if (rank == 0) printf("%.9f\n", waited);
        MPI_Finalize();
        return 0;
    }"#;

/// A sender learns after its send has ended that it had waited, by effort when the next bins have long begun.
#[test]
fn waiting_for_late_receivers_is_in_the_bins_in_which_it_happened() {
    let mut world = World::new();
    world.write("late.c", LATE_RECEIVER);
    for (variable, mpi) in [("OMPI_CC", "openmpi"), ("MPICH_CC", "mpich")] {
        world.set(variable, &format!("{} cc", env!("CARGO_BIN_EXE_poise")));
        outcome(world.command(&format!("mpicc.{mpi}"), ["-O1", "late.c", "-o", mpi]).output().unwrap()).status(0);
        let (launcher, program) = (format!("mpirun.{mpi}"), format!("./{mpi}"));
        let oversubscribe: &[&str] = if mpi == "openmpi" { &["--oversubscribe"] } else { &[] };
        let command = [&[&launcher[..]][..], oversubscribe, &["-n", "2", &program[..]]].concat();
        for (by, width) in [("effort", "1000"), ("time", "1000000")] {
            let kept = format!("{mpi}-{by}");
            let options = ["phases", "--by", by, "--keep", &kept, "--width", width, "--"];
            world.poise([&options[..], &command].concat()).status(0);
            let measured: f64 = world.read(&format!("{kept}/stdout.txt")).trim().parse().unwrap();
            let profile = Profile::read(world.path(&format!("{kept}/profile.poise"))).unwrap();
            let is_send = |node: u32| {
                let region = profile.nodes[node as usize].region;
                profile.regions[region as usize].name == "MPI_Send"
            };
            let is_late = |&&(node, metric): &&(u32, Metric)| metric == Metric::LateReceiver && is_send(node);
            let late =
                profile.values.keys().filter(is_late).map(|key| profile.values[key].sum as f64).sum::<f64>() * 1e-9;
            assert!(late <= measured && late > LEAST_WAITED, "{kept}: {late} s of {measured} s");
            // Each call path's waiting is in its bins.
            check_sums(&profile);
            let timeline = profile.phases.timelines.iter().find(|t| t.rank == 0).unwrap();
            let is_here = |share: &&Share| is_send(profile.phases.places[share.place as usize].node);
            let shares: Vec<&Share> =
                timeline.bins.iter().flat_map(|bin| &bin.shares).filter(is_here).filter(|s| s.wait_time > 0).collect();
            let least = if by == "time" { 900.0 * late } else { 5.0 };
            assert!(shares.len() as f64 >= least, "{kept}: {late} s in {} bins", shares.len());
            assert!(shares.iter().all(|share| share.wait_time <= share.time + STAMP), "{kept}: a part of the time");
        }
    }
}

/// Over all bins, each call path did what the call tree says that it did.
fn check_sums(profile: &Profile) {
    let mut sums: BTreeMap<u32, ([u64; 6], u64)> = BTreeMap::new();
    for share in profile.phases.timelines.iter().flat_map(|t| &t.bins).flat_map(|bin| &bin.shares) {
        let (sums, shares) = sums.entry(profile.phases.places[share.place as usize].node).or_default();
        sums.iter_mut().zip(share.numbers()).for_each(|(sum, number)| *sum += number);
        *shares += 1;
    }
    let metrics =
        [Metric::BasicBlocks, Metric::Visits, Metric::BytesSent, Metric::BytesReceived, Metric::Time, Metric::WaitTime];
    for node in 0..profile.nodes.len() as u32 {
        let (sums, shares) = sums.get(&node).copied().unwrap_or_default();
        for (metric, sum) in metrics.into_iter().zip(sums) {
            let expected = profile.values.get(&(node, metric)).map_or(0, |value| value.sum as u64);
            // Nanoseconds are rounded down in each share, and the scale is that of another moment.
            let rounding = if metric == Metric::Time || metric == Metric::WaitTime { 1000 * (shares + 1) } else { 0 };
            assert!(sum.abs_diff(expected) <= rounding, "{:?} {metric:?}: {sum} {expected}", profile.path(node));
        }
    }
}

#[test]
fn bins_of_emulated_ranks_do_not_depend_on_how_long_they_wait() {
    let world = World::new();
    // The time that it prints differs; what it executes for that does not belong here.
    let silent = LATE.replace("if (rank == 1) printf(\"%.9f\\n\", waited);", "");
    // And how often it asks is its own effort.
    let asks = "while (!has_come) MPI_Test(&request, &has_come, MPI_STATUS_IGNORE);";
    assert!(silent != LATE && silent.contains(asks));
    world.write("late.c", &silent.replace(asks, "if (!has_come) MPI_Wait(&request, MPI_STATUS_IGNORE);"));
    outcome(world.command("mpicc.openmpi", ["-O1", "late.c", "-o", "late"]).output().unwrap()).status(0);
    let run = |keep: &str| {
        let launched = ["--", "mpirun.openmpi", "--oversubscribe", "-n", "2", "./late"];
        let options = ["phases", "--engine", "qemu", "--width", "10000", "--keep", keep];
        world.poise([&options[..], &launched].concat()).status(0);
        Profile::read(world.path(keep).join("profile.poise")).unwrap()
    };
    let idle = run("idle");
    let mut burners: Vec<_> =
        (0..2).map(|_| world.command("sh", ["-c", "while :; do :; done"]).spawn().unwrap()).collect();
    let busy = run("busy");
    for burner in &mut burners {
        burner.kill().unwrap();
        burner.wait().unwrap();
    }
    assert_eq!(idle.phases.timelines.len(), 2, "one of each rank, and none of threads that MPI started");
    // What runs before main looks at the environment, in which launchers put other values each time.
    let is_before = |profile: &Profile, node: u32| profile.path(node).unwrap()[0].name == "(outside main)";
    let values = |profile: &Profile| -> Vec<_> {
        let of_main = profile.values.iter().filter(|((node, _), _)| !is_before(profile, *node));
        of_main.map(|((node, metric), value)| (profile.path(*node).unwrap().len(), *metric, *value)).collect()
    };
    assert_eq!(values(&idle), values(&busy));
    // Bins begin anew where main does: by call path, address and count they are the same.
    let bins = |profile: &Profile| -> Vec<Vec<_>> {
        let share = |share: &Share| {
            let place = &profile.phases.places[share.place as usize];
            let path: Vec<String> =
                profile.path(place.node).unwrap().iter().map(|region| region.name.clone()).collect();
            (path, place.code.clone(), Share { place: 0, ..*share })
        };
        let bin = |bin: &Bin| bin.shares.iter().map(share).collect::<Vec<_>>();
        profile.phases.timelines.iter().map(|t| t.bins.iter().skip(1).map(bin).collect()).collect()
    };
    assert!(bins(&idle) == bins(&busy), "the same bins");
    for timeline in &idle.phases.timelines {
        let before = &timeline.bins[0].shares;
        assert!(before.iter().all(|share| is_before(&idle, idle.phases.places[share.place as usize].node)));
    }
    // The loop of 100,000 turns stands five times between operations.
    let executed = |rank: u32| -> u64 {
        let timeline = idle.phases.timelines.iter().find(|t| t.rank == rank).unwrap();
        let of = |share: &Share| {
            let code = idle.phases.places[share.place as usize].code.as_ref();
            share.count * code.map_or(0, |code| u64::from(code.instructions))
        };
        timeline.bins.iter().flat_map(|bin| &bin.shares).map(of).sum()
    };
    for rank in [0, 1] {
        assert!((1_500_000..10_000_000).contains(&executed(rank)), "{}", executed(rank));
    }
}

/// Two ranks compute, then exchange 100 numbers a thousand times, then compute.
const EXCHANGE: &str = r#"
    #include <mpi.h>
    #include <stdio.h>
    __attribute__((noinline)) unsigned compute(unsigned s, long n) {
        while (n--) s = s * 1664525u + 1013904223u;
        return s;
    }
    __attribute__((noinline)) unsigned exchange(unsigned s, int other) {
        double mine[100] = {0}, theirs[100];
        for (int i = 0; i < 1000; ++i) {
            MPI_Sendrecv(mine, 100, MPI_DOUBLE, other, 0, theirs, 100, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int j = 0; j < 400; ++j) s = s * 22695477u + 1u;
        }
        return s;
    }
    int main(int count, char **values) {
        int rank;
        MPI_Init(&count, &values);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        unsigned s = compute(count, 400000);
        s = exchange(s, 1 - rank);
        s = compute(s, 400000);
        printf("%u\n", s);
        MPI_Finalize();
        return 0;
    }"#;

/// Whatever the width of bins, so that none, some and much of what is exchanged is in the phase's first and last bin.
#[test]
fn a_phase_has_the_bytes_that_its_function_had_sent() {
    let mut world = World::new();
    world.write("exchange.c", EXCHANGE);
    world.set("OMPI_CC", &format!("{} cc", env!("CARGO_BIN_EXE_poise")));
    outcome(world.command("mpicc.openmpi", ["-O1", "exchange.c", "-o", "exchange"]).output().unwrap()).status(0);
    let command = ["mpirun.openmpi", "--oversubscribe", "-n", "2", "./exchange"];
    for width in ["4096", "20000", "60000"] {
        let options = ["phases", "--format", "json", "--width", width, "--"];
        let done = world.poise([&options[..], &command].concat()).status(0);
        let found: Value = serde_json::from_str(&done.stdout).unwrap();
        for rank in 0..2 {
            let phases = found["timelines"][rank]["phases"].as_array().unwrap();
            let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
            assert_eq!(names, ["compute #1", "exchange", "compute #2"], "{width}");
            // Each of 1000 calls moves 100 numbers of 8 bytes in either direction.
            let phase = &phases[1];
            assert_eq!((&phase["bytes_sent"], &phase["bytes_received"]), (&800_000.into(), &800_000.into()), "{width}");
            // The calls of its operations, and its own.
            assert_eq!(phase["visits"], 1001, "{width}");
        }
    }
}

/// As many iterations as the first argument says, of which each is 83 parts `product` and 17 parts `dot`; of all iterations together
/// always as much.
const ALTERNATE: &str = r#"
    #include <stdio.h>
    #include <stdlib.h>
    __attribute__((noinline)) unsigned product(unsigned s, long n) {
        while (n--) s = s * 1664525u + 1013904223u;
        return s;
    }
    __attribute__((noinline)) unsigned dot(unsigned s, long n) {
        while (n--) s = s * 22695477u + 1u;
        return s;
    }
    int main(int count, char **values) {
        long iterations = atol(values[1]), work = 400000 / iterations;
        unsigned s = count;
        for (long i = 0; i < iterations; ++i) {
            s = product(s, 83 * work);
            s = dot(s, 17 * work);
        }
        printf("%u\n", s);
        return 0;
    }"#;

#[test]
fn phases_of_iterations_hold_what_the_functions_did_or_are_not_modelled() {
    let world = World::new();
    world.write("alternate.c", ALTERNATE);
    outcome(world.command("poise", ["cc", "-O1", "alternate.c", "-o", "alternate"]).output().unwrap()).status(0);
    let run = |n: u32| {
        let (parameter, keep, n) = (format!("n={n}"), format!("runs/n{n}"), n.to_string());
        world.poise(["phases", "-v", "--param", &parameter, "--keep", &keep, "--", "./alternate", &n]).status(0)
    };
    // Up to where a call of dot fills five bins of the default width.
    for n in [10, 20, 50, 100, 200] {
        let done = run(n);
        assert!(done.stdout.contains("dot #") && !done.stdout.contains("alternates"), "{}", done.stdout);
        check_sums(&Profile::read(world.path(&format!("runs/n{n}/profile.poise"))).unwrap());
    }
    let done = world.poise(["phases", "runs", "--format", "json"]).status(0);
    assert_eq!(done.stderr, "");
    let models: Value = serde_json::from_str(&done.stdout).unwrap();
    for (name, parts) in [("product", 83.0), ("dot", 17.0)] {
        let is_it = |m: &&Value| m["callpath"] == serde_json::json!([name]) && m["metric"] == "basic_blocks";
        let model = models["models"].as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{name}"));
        let value = model["constant"].as_f64().unwrap_or_else(|| panic!("{model:#}"));
        assert!((value / (parts * 400_000.0) - 1.0).abs() < 0.01, "{name}: {value}");
    }
    // Shorter ones are told with the width that would do, and nobody believes that product grows.
    let done = run(2000);
    assert!(done.stdout.contains("dot has 17 % of the effort and no phase, since it alternates"), "{}", done.stdout);
    let width = done.stdout.split("--width ").nth(1).unwrap().split(' ').next().unwrap();
    let refused = world.poise(["phases", "runs"]);
    assert_ne!(refused.status, Some(0), "{}", refused.stdout);
    assert!(refused.stderr.contains("product: 17 % of its phases is what dot did in"), "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("--width {width} would tell its calls apart")), "{}", refused.stderr);
    let narrow = world.poise(["phases", "-v", "--width", width, "--", "./alternate", "2000"]).status(0);
    assert!(narrow.stdout.contains("dot #2000") && !narrow.stdout.contains("alternates"));
}

/// Three loops, which the compiler inlines, one after the other and again; prints what part of the time each took by the processor's clock,
/// whose reading is no call, so that nothing but the loops' ends separates them.
const INLINED: &str = r#"
    #include <stdio.h>
    #include <stdlib.h>
    #include <unistd.h>
    enum { LENGTH = 4096 };
    static double x[LENGTH], y[LENGTH];
    static unsigned next[LENGTH];
    static inline double dot(int times) {
        double sum = 0;
        for (int t = 0; t < times; ++t)
            for (int i = 0; i < LENGTH; ++i) sum += x[i] * y[i];
        return sum;
    }
    static inline unsigned hop(unsigned at, int times) {
        for (int t = 0; t < times; ++t)
            for (int i = 0; i < LENGTH; ++i) at = next[at];
        return at;
    }
    static inline void divide(int times) {
        for (int t = 0; t < times; ++t)
            for (int i = 1; i < LENGTH; ++i) y[i] = (x[i] + 3) / (y[i - 1] + 2);
    }
    int main(int count, char **values) {
        int times = atoi(values[1]), rounds = atoi(values[2]);
        unsigned long long at[3] = {0}, now, last;
        double sum = 0;
        unsigned place = 0;
        for (int i = 0; i < LENGTH; ++i) x[i] = i, next[i] = (5 * i + 1) & (LENGTH - 1);
        last = __builtin_readcyclecounter();
        for (int round = 0; round < rounds; ++round) {
            sum += dot(times);
            now = __builtin_readcyclecounter(), at[0] += now - last, last = now;
            place = hop(place, times);
            now = __builtin_readcyclecounter(), at[1] += now - last, last = now;
            divide(times);
            now = __builtin_readcyclecounter(), at[2] += now - last, last = now;
        }
        usleep(20000);
        double all = at[0] + at[1] + at[2];
        printf("%.6f %.6f %.6f %g %u\n", at[0] / all, at[1] / all, at[2] / all, sum, place);
        return 0;
    }"#;

/// Fewer basic blocks than the first loop of `main` executes.
const IDLE: u64 = 4096;

/// Of the 20 ms that it sleeps, all but a bin at either end.
const LEAST_SLEPT: u64 = 18_000_000;

/// In two languages, by effort and by time.
#[test]
fn inlined_functions_have_their_phases_and_their_time() {
    let world = World::new();
    world.write("inlined.c", INLINED);
    for compiler in ["cc", "c++"] {
        let language = if compiler == "cc" { "c" } else { "c++" };
        let arguments = [compiler, "-O2", "-g", "-x", language, "inlined.c", "-o", compiler];
        outcome(world.command("poise", arguments).output().unwrap()).status(0);
        for by in ["effort", "time"] {
            let width = if by == "time" { "800000" } else { "80000" };
            let program = format!("./{compiler}");
            let measured = |time: usize| -> (String, Value) {
                let kept = format!("{compiler}-{by}-{time}");
                let options = ["phases", "--format", "json", "--by", by, "--width", width, "--keep", &kept, "--"];
                let done = world.poise([&options[..], &[&program, "2000", "3"]].concat()).status(0);
                (kept, serde_json::from_str(&done.stdout).unwrap())
            };
            // A machine that keeps the program from running within the first loop of main makes a phase of that, which is none of the nine.
            let is_disturbed = |found: &Value| {
                let first = &found["timelines"][0]["phases"][0];
                let function = &found["functions"][first["function"].as_u64().unwrap() as usize];
                by == "time" && function["name"] == "main" && first["basic_blocks"].as_u64().unwrap() >= IDLE
            };
            let (kept, found) =
                (0..2).map(measured).find(|(_, found)| !is_disturbed(found)).unwrap_or_else(|| measured(2));
            let timeline = &found["timelines"][0];
            let functions = found["functions"].as_array().unwrap();
            let name = |phase: &Value| functions[phase["function"].as_u64().unwrap() as usize]["name"].clone();
            // The program sleeps at its end, and may be kept from running before its first function: by time that is a phase of main, in
            // which main executes next to nothing. By effort there is no such phase.
            let is_idle = |phase: &&Value| {
                by == "time" && phase["basic_blocks"].as_u64().unwrap() < IDLE && name(phase) == "main"
            };
            let (idle, phases): (Vec<&Value>, Vec<&Value>) =
                timeline["phases"].as_array().unwrap().iter().partition(is_idle);
            let slept: u64 = idle.iter().map(|phase| phase["time_ns"].as_u64().unwrap()).sum();
            assert!(by == "effort" || slept > LEAST_SLEPT, "{kept}: {slept} ns in main");
            let order: Vec<String> = phases.iter().map(|phase| name(phase).as_str().unwrap().to_owned()).collect();
            let names = ["dot", "hop", "divide"];
            assert!(order.len() == 9 && (0..9).all(|i| order[i].contains(names[i % 3])), "{kept}: {order:?}");
            let time = |which: usize| -> f64 {
                (0..3).map(|round| phases[3 * round + which]["time_ns"].as_u64().unwrap() as f64).sum()
            };
            let all: f64 = (0..3).map(time).sum();
            let printed: Vec<f64> = world.read(&format!("{kept}/stdout.txt")).split(' ').flat_map(str::parse).collect();
            for which in 0..3 {
                let (part, expected) = (time(which) / all, printed[which]);
                assert!((part - expected).abs() < 0.05, "{kept} {}: {part} {expected}", names[which]);
            }
            // What is in no phase is what happens before and after.
            let outside = timeline["outside"]["time_ns"].as_u64().unwrap_or(0) as f64;
            assert!(outside < 0.1 * (outside + all), "{kept}: {outside} {all}");
            // No bin has all that a function did.
            let profile = Profile::read(world.path(&kept).join("profile.poise")).unwrap();
            check_sums(&profile);
            let blocks = |bin: &Bin| bin.shares.iter().map(|share| share.count).sum::<u64>();
            let bins = &profile.phases.timelines[0].bins;
            let most = bins.iter().map(blocks).max().unwrap();
            assert!(20 * most < bins.iter().map(blocks).sum(), "{kept}: {most}");
        }
    }
}

/// A program of a few milliseconds makes a thousand bins of the default width, for which it waits at its end; one of half a millisecond has some fifty, with four
/// call paths in each: what they execute with them, as callgrind counts it, is less than 5 % more than what they execute with the counters alone.
#[test]
fn bins_of_a_short_run_cost_less_than_a_twentieth() {
    let world = World::new();
    for program in ["known", "bfs"] {
        let source = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/phases/{}.c"), program);
        outcome(world.command("poise", ["cc", "-O2", "-g", &source, "-o", program]).output().unwrap()).status(0);
    }
    let executed = |program: &[&str], phases: &str| -> (f64, Profile) {
        let file = format!("{}{phases}.poise", program.join("-").trim_start_matches("./"));
        let options = ["--tool=callgrind", "--callgrind-out-file=calls.out"];
        let mut command = world.command("valgrind", options.iter().chain(program));
        let done = outcome(command.env("POISE_PROFILE", &file).env("POISE_PHASES", phases).output().unwrap()).status(0);
        let line = done.stderr.lines().find(|line| line.contains("Collected :"));
        let line = line.unwrap_or_else(|| panic!("{}", done.stderr));
        (line.rsplit(' ').next().unwrap().parse().unwrap(), Profile::read(world.path(&file)).unwrap())
    };
    let runs: [(&[&str], usize, usize, f64); 3] = [
        (&["./known", "4"], 200, 1, 700.0),
        (&["./known", "20"], 1000, 1, 700.0),
        (&["./bfs", "8", "8", "40"], 40, 3, 2000.0),
    ];
    for (program, least, paths, most) in runs {
        let ((alone, _), (with_bins, profile)) = (executed(program, ""), executed(program, "blocks"));
        let bins = &profile.phases.timelines[0].bins;
        assert!(bins.len() > least, "{program:?}: {}", bins.len());
        let shares = bins.iter().map(|bin| bin.shares.len()).sum::<usize>();
        assert!(shares >= paths * bins.len(), "{program:?}: {shares} in {}", bins.len());
        let each = (with_bins - alone) / bins.len() as f64;
        assert!(each < most, "{program:?}: {each} instructions a bin");
        assert!(with_bins < 1.05 * alone, "{program:?}: {with_bins} instead of {alone}");
    }
}
