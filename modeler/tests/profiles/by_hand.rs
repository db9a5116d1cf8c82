//! Formats whose tools are not at hand here: texts by hand, after the real files that the readers were tried on.

use super::*;

fn read_named(name: &str, text: &str) -> Input {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    read_with(&path, &ReadOptions::default())
}

#[test]
fn tau_counts_each_function_once_and_averages_over_threads() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("app.p2.n10.r1");
    std::fs::create_dir(&run).unwrap();
    for (thread, time) in [(0, 100), (1, 300)] {
        let text = format!(
            "5 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls # <metadata></metadata>\n\
                 \".TAU application\" 1 2 50 {} 0 GROUP=\"TAU_DEFAULT\"\n\
                 \"MPI_Send()  \" 3 0 {time} {time} 0 GROUP=\"MPI\"\n\
                 \".TAU application => MPI_Send()  \" 1 0 {time} {time} 0 GROUP=\"TAU_CALLPATH|MPI\"\n\
                 \".TAU application => int f(int)\" 2 1 7 9 0 GROUP=\"TAU_CALLPATH\"\n\
                 \".TAU application => int f(int) => MPI_Send()  \" 2 0 2 2 0 GROUP=\"TAU_CALLPATH|MPI\"\n\
                 0 aggregates\n1 userevents\n# eventname numevents max min mean sumsqr\n\
                 \"Message size sent to all nodes\" 4 8 8 8 256\n",
            time + 59
        );
        std::fs::write(run.join(format!("profile.{thread}.0.0")), text).unwrap();
    }
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!((input.format, input.experiment.points.clone()), (Format::Tau, vec![vec![2.0, 10.0]]));
    let one = |path: &str, metric: &str, over| values(&input, path, metric, Some(over))[0].1[0];
    assert!((one(".TAU application->MPI_Send", "time", OverRanks::Mean) - 200e-6).abs() < 1e-15);
    assert!((one(".TAU application->MPI_Send", "time", OverRanks::Maximum) - 300e-6).abs() < 1e-15);
    assert_eq!(one(".TAU application->int f(int)->MPI_Send", "visits", OverRanks::Mean), 2.0);
    assert_eq!(one("<root>", "bytes_sent", OverRanks::Sum), 64.0);
    let e = &input.experiment;
    assert!(e.series.iter().all(|s| e.path(s.callpath) != ["MPI_Send"]), "its own line is the sum of the others");
}

#[test]
fn gem5_adds_dumps_that_are_reset_and_takes_the_last_of_those_that_are_not() {
    let dump = |ticks: u64, end: u64| {
        format!(
            "\n---------- Begin Simulation Statistics ----------\n\
                 simSeconds 0.5 # Number of seconds simulated (Second)\n\
                 simTicks {ticks} # Number of ticks simulated (Tick)\n\
                 finalTick {end} # Number of ticks from beginning of simulation (Tick)\n\
                 system.cpu.numCycles {ticks} # Number of cpu cycles simulated (Cycle)\n\
                 system.cpu.ipc 0.25 # IPC: instructions per cycle ((Count/Cycle))\n\
                 system.l2.mshrs::total nan # quotient (Ratio)\n\
                 ---------- End Simulation Statistics   ----------\n"
        )
    };
    let reset = read_named("run.n4.txt", &(dump(100, 100) + &dump(50, 150)));
    assert_eq!(reset.format, Format::Gem5);
    let of = |input: &Input, path: &str, metric: &str| values(input, path, metric, None)[0].1[0];
    assert_eq!(of(&reset, "system->cpu", "numCycles"), 150.0);
    assert_eq!(of(&reset, "<root>", "time"), 1.0);
    assert_eq!(codes(&reset), ["W103"], "rates do not add up");
    let running = read_named("run.n4.txt", &(dump(100, 100) + &dump(150, 150)));
    assert_eq!(of(&running, "system->cpu", "numCycles"), 150.0);
    assert_eq!(of(&running, "system->cpu", "ipc"), 0.25);
    // A checkpoint at tick 1000 was restored; the third dump was reset, the others after the first were not.
    let restored = [(100, 1100), (150, 1150), (30, 1180), (40, 1190)].map(|(ticks, end)| dump(ticks, end)).concat();
    let restored = read_named("run.n4.txt", &restored);
    assert_eq!(of(&restored, "system->cpu", "numCycles"), 190.0);
    assert_eq!(of(&restored, "<root>", "time"), 1.0);
    assert_eq!(codes(&restored), ["W103"]);
    let only = read_named("run.n4.txt", &(dump(100, 1100) + &dump(150, 1150)));
    assert_eq!((of(&only, "system->cpu", "numCycles"), of(&only, "system->cpu", "ipc")), (150.0, 0.25));
}

/// Before version 24.1 gem5 does not reset `simInsts` with all else, from then on it does.
#[test]
fn instructions_of_gem5_are_added_only_where_they_were_reset() {
    let dump = |(ticks, end, instructions): (u64, u64, u64)| {
        format!(
            "\n---------- Begin Simulation Statistics ----------\nsimTicks {ticks} # Number of ticks simulated (Tick)\n\
                 finalTick {end} # Number of ticks from beginning of simulation (Tick)\n\
                 simInsts {instructions} # Number of instructions simulated (Count)\n\
                 ---------- End Simulation Statistics   ----------\n"
        )
    };
    let instructions = |dumps: &[(u64, u64, u64)]| {
        let input = read_named("run.n4.txt", &dumps.iter().map(|d| dump(*d)).collect::<String>());
        values(&input, "<root>", "simInsts", None)[0].1[0]
    };
    assert_eq!(instructions(&[(100, 100, 70), (50, 150, 90), (10, 160, 95)]), 95.0);
    assert_eq!(instructions(&[(100, 100, 70), (50, 150, 20), (90, 240, 80)]), 170.0);
    assert_eq!(instructions(&[(100, 100, 70), (50, 150, 70)]), 140.0, "a dump after so many instructions each");
    // Where processors count, they tell: dumps of more instructions each are no counter that goes on.
    let told = |simulated: [u64; 3], processor: &str| {
        let own = [70, 90, 95];
        let text: String = (0..3)
                .map(|i| {
                    let whole = dump((100, 100 * (i as u64 + 1), simulated[i]));
                    let (one, other) = (own[i] - 20, 20);
                    let counted = format!(
                        "system.cpu0.{processor} {one} # Number (Count)\nsystem.cpu1.{processor} {other} # Number (Count)\n---------- End"
                    );
                    whole.replace("---------- End", &counted)
                })
                .collect();
        values(&read_named("run.n4.txt", &text), "<root>", "simInsts", None)[0].1[0]
    };
    for processor in ["commitStats0.numInsts", "committedInsts"] {
        assert_eq!(told([70, 90, 95], processor), 255.0, "reset: 70 + 90 + 95");
        assert_eq!(told([70, 160, 255], processor), 255.0, "never reset: the last");
    }
}

#[test]
fn caliper_streams_and_tables_say_the_same() {
    let stream = "__rec=node,id=12,attr=10,data=64,parent=3\n__rec=node,id=14,attr=8,data=attribute.unit,parent=12\n\
            __rec=node,id=15,attr=14,data=sec,parent=5\n__rec=node,id=16,attr=10,data=65,parent=15\n\
            __rec=node,id=17,attr=8,data=sum#time.duration,parent=16\n\
            __rec=node,id=20,attr=10,data=268,parent=3\n__rec=node,id=21,attr=8,data=function,parent=20\n\
            __rec=node,id=22,attr=8,data=mpi.rank,parent=16\n__rec=node,id=30,attr=21,data=main\n\
            __rec=node,id=31,attr=21,data=solve\\, twice,parent=30\n\
            __rec=ctx,ref=30,attr=17=22,data=1.5=0\n__rec=ctx,ref=31,attr=17=22,data=2=0\n\
            __rec=ctx,ref=30,attr=17=22,data=2.5=1\n__rec=ctx,ref=31,attr=17=22,data=4=1\n";
    let table = "{\"data\": [[1500000, 0, 0], [2000000, 0, 1], [2500000, 1, 0], [4000000, 1, 1]],\
            \"columns\": [\"sum#time.duration\", \"mpi.rank\", \"path\"],\
            \"column_metadata\": [{\"is_value\": true}, {\"is_value\": true}, {\"is_value\": false}],\
            \"nodes\": [{\"label\": \"main\", \"column\": \"path\"}, {\"label\": \"solve, twice\", \"column\": \"path\", \"parent\": 0}]}";
    for (name, text, format) in [("a.p2.cali", stream, Format::Cali), ("a.p2.json", table, Format::CaliperJson)] {
        let input = read_named(name, text);
        assert_eq!(input.format, format);
        assert_eq!(values(&input, "main", "time", Some(OverRanks::Mean)), [(vec![2.0], vec![2.0])]);
        assert_eq!(values(&input, "main->solve, twice", "time", Some(OverRanks::Maximum)), [(vec![2.0], vec![4.0])]);
    }
}

/// Whether a metric has a value at a call path.
fn has(input: &Input, path: &str, metric: &str, over: OverRanks) -> bool {
    let e = &input.experiment;
    e.series.iter().any(|s| {
        let own = &e.metrics[s.metric as usize];
        e.path(s.callpath).join("->") == path && own.name == metric && own.over_ranks == Some(over)
    })
}

/// With a threshold mpiP leaves out ranks: only the lines of all ranks tell what they had.
#[test]
fn ranks_that_mpip_does_not_list_count_by_the_line_of_all() {
    let text = "@ mpiP\n@--- MPI Time (seconds) ---\nTask AppTime MPITime MPI%\n\
            0 1 0.25 25\n1 1 0.5 50\n2 1 0.25 25\n3 1 0.5 50\n* 4 1.5 37.5\n\
            @--- Callsites: 3 ---\n1 0 a.c 3 solve Send\n2 0 a.c 4 solve Recv\n3 0 a.c 5 solve Bcast\n\
            @--- Callsite Time statistics (all, milliseconds): 3 ---\nName Site Rank Count Max Mean Min App% MPI%\n\
            Bcast 3 0 1 1 1 1 1 1\nBcast 3 1 1 2 2 2 1 1\nBcast 3 2 1 3 3 3 1 1\nBcast 3 3 1 4 4 4 1 1\n\
            Bcast 3 * 4 4 2.5 1 1 1\nSend 1 0 10 2 1.5 1 1 1\nSend 1 * 40 2 1.25 0.5 1 1\nRecv 2 * 8 3 2 1 1 1\n\
            @--- Callsite Message Sent statistics (all, sent bytes) ---\nName Site Rank Count Max Mean Min Sum\n\
            Send 1 0 10 8 8 8 80\nSend 1 * 40 8 8 8 320\n@--- End of Report ---\n";
    let input = read_named("app.p4.mpiP", text);
    let of = |path: &str, metric: &str, over| values(&input, path, metric, Some(over))[0].1[0];
    let is = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
    let [send, receive, cast] = ["Send", "Recv", "Bcast"].map(|name| format!("application->solve->MPI_{name}"));
    // Of 40 calls of 1.25 ms, 8 of 2 ms, and 1, 2, 3 and 4 ms.
    assert!(is(of(&send, "time", OverRanks::Sum), 0.05) && is(of(&send, "time", OverRanks::Mean), 0.0125));
    assert!(is(of(&receive, "time", OverRanks::Sum), 0.016) && is(of(&receive, "time", OverRanks::Mean), 0.004));
    assert!(is(of(&cast, "time", OverRanks::Sum), 0.01) && is(of(&cast, "time", OverRanks::Maximum), 0.004));
    assert_eq!((of(&send, "visits", OverRanks::Sum), of(&send, "visits", OverRanks::Mean)), (40.0, 10.0));
    assert_eq!(of(&send, "bytes_sent", OverRanks::Sum), 320.0);
    for path in [&send, &receive] {
        assert!(!has(&input, path, "time", OverRanks::Maximum) && !has(&input, path, "time", OverRanks::Minimum));
    }
    assert_eq!(codes(&input), ["W105", "W109"]);
    let told = &input.warnings[0].message;
    assert!(told.contains("at `MPI_Send` (call site 1), `MPI_Recv` (call site 2): mean and sum"), "{told}");
}

/// Its columns are others than those of the report with all ranks: taken for those, times were counts.
#[test]
fn a_concise_report_of_mpip_has_statistics_over_ranks() {
    let tasks: String = (0..4).map(|rank| format!("@ MPI Task Assignment      : {rank} host\n")).collect();
    let sites = "@--- Callsites: 2 ---\n1 0 a.c 3 solve Send\n2 0 a.c 4 solve Recv\n";
    let text = format!(
        "@ mpiP\n{tasks}@--- Task Time Statistics (seconds) ---\n AppTime MPITime MPI% App Task MPI Task\n\
             Max 1.5 0.5 0 1\nMean 1.25 0.25\nMin 1 0.125 2 3\nStddev 0.1 0.1\nAggregate 5 1 20.00\n{sites}\
             @--- Callsite Time statistics (all callsites, milliseconds): 2 ---\nName Site Tasks Max Mean Min MaxRnk MinRnk\n\
             Send 1 3 400 200 100 0 1\nRecv 2 4 80 50 20 0 1\n\
             @--- Callsite Message Sent statistics (all callsites, sent bytes): 1 ---\n\
             Name Site Tasks Max Mean Min MaxRnk MinRnk\nSend 1 3 64 32 8 0 1\n@--- End of Report ---\n"
    );
    let all = [OverRanks::Mean, OverRanks::Maximum, OverRanks::Minimum, OverRanks::Sum];
    let is = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
    let input = read_named("app.n7.mpiP", &text);
    let of = |path: &str, metric: &str, over| values(&input, path, metric, Some(over))[0].1[0];
    let send = "application->solve->MPI_Send";
    // One of the four ranks was not there: its time is 0.
    let expected = [0.15, 0.4, 0.0, 0.6];
    assert!(all.iter().zip(expected).all(|(&over, wanted)| is(of(send, "time", over), wanted)));
    let expected = [24.0, 64.0, 0.0, 96.0];
    assert!(all.iter().zip(expected).all(|(&over, wanted)| is(of(send, "bytes_sent", over), wanted)));
    let expected = [0.05, 0.08, 0.02, 0.2];
    let receive = "application->solve->MPI_Recv";
    assert!(all.iter().zip(expected).all(|(&over, wanted)| is(of(receive, "time", over), wanted)));
    assert_eq!((of("application", "time", OverRanks::Sum), of("application", "time", OverRanks::Mean)), (4.0, 1.0));
    assert!(!has(&input, "application", "time", OverRanks::Maximum) && !has(&input, send, "visits", OverRanks::Mean));
    assert_eq!(codes(&input), ["W105", "W105", "W109"]);
    assert!(input.warnings[1].message.contains("`visits` is missing"), "{}", input.warnings[1]);
    // Two call sites that are one call path: their largest values may be of different ranks.
    let one = read_named("app.n7.mpiP", &text.replace("solve Recv", "solve Send"));
    assert!(is(values(&one, send, "time", Some(OverRanks::Sum))[0].1[0], 0.8));
    assert!(!has(&one, send, "time", OverRanks::Maximum));
    assert_eq!(codes(&one), ["W105", "W105", "W105", "W109"]);
    // Without a list of call sites the tables name the operations.
    let unlisted = read_named("app.n7.mpiP", &text.replace(sites, ""));
    assert!(is(values(&unlisted, "application->MPI_Recv", "time", Some(OverRanks::Sum))[0].1[0], 0.2));
}

/// As mpiP 3.5 writes them with the option -c: nothing in them lists the ranks, but sums and means tell how many there are.
#[test]
fn the_number_of_ranks_follows_from_sums_and_means_of_a_concise_report() {
    // Of 4 ranks: 1.2, 1.4, 1.6 and 1.8 s, of which 0.1, 0.2, 0.4 and 0.3 s in MPI.
    let text = "@ mpiP\n@ Command : ./ring 20\n@ Version                  : 3.5.0\n@ MPIP env var             : -c\n\
            @ Collector Rank           : 0\n@ Report generation        : Single collector task\n\n\
            ---------------------------------------------------------------------------\n\
            @--- Task Time Statistics (seconds) ---------------------------------------\n\
            ---------------------------------------------------------------------------\n                     \
            AppTime           MPITime   MPI%   App Task   MPI Task\n\
            Max                 1.800000          0.400000                 3          2\n\
            Mean                1.500000          0.250000\n\
            Min                 1.200000          0.100000                 0          0\n\
            Stddev              0.258199          0.129099\n\
            Aggregate           6.000000          1.000000  16.67\n\
            @--- Aggregate Time (top twenty, descending, milliseconds) ----------------\n\
            Call                 Site       Time    App%    MPI%      Count    COV\n\
            Send                    1        600   10.00   60.00         20   0.00\n\
            @--- Callsites: 1 ---------------------------------------------------------\n \
            ID Lev File/Address        Line Parent_Funct             MPI_Call\n  \
            1   0 0x7fce4fa1d391           [unknown]                Send\n\
            @--- Callsite Time statistics (all callsites, milliseconds): 1 ------------\n\
            Name              Site   Tasks       Max      Mean       Min MaxRnk MinRnk\n\
            Send                 1       3       300       200       100      2      0\n\
            @--- End of Report --------------------------------------------------------\n";
    let is = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
    let input = read_named("set/ring.mpiP", text);
    assert_eq!((&input.experiment.parameters[..], &input.experiment.points[..]), (&["p".into()][..], &[vec![4.0]][..]));
    let of = |input: &Input, path: &str, over| values(input, path, "time", Some(over))[0].1[0];
    let send = "application->[unknown]->MPI_Send";
    assert!(is(of(&input, "application", OverRanks::Sum), 5.0) && is(of(&input, "application", OverRanks::Mean), 1.25));
    assert!(is(of(&input, send, OverRanks::Sum), 0.6) && is(of(&input, send, OverRanks::Mean), 0.15));
    assert_eq!((of(&input, send, OverRanks::Maximum), of(&input, send, OverRanks::Minimum)), (0.3, 0.0));
    assert_eq!(codes(&input), ["W105", "W105", "W109"]);
    // Times of some microseconds have too few digits for that: 4 ranks, as rank 3 is named, or up to 9.
    let text = text.replace("1.500000          0.250000", "0.000001          0.000000");
    let text = text.replace("6.000000          1.000000", "0.000004          0.000001");
    let short = read_named("app.p4.mpiP", &text);
    let metrics: Vec<_> = short.experiment.metrics.iter().map(|m| (&*m.name, m.over_ranks)).collect();
    assert_eq!(metrics, [("time", Some(OverRanks::Sum))]);
    assert!(is(of(&short, send, OverRanks::Sum), 0.6) && is(of(&short, "application", OverRanks::Sum), 3e-6));
    assert_eq!(codes(&short), ["W105", "W105", "W109"]);
    assert!(short.warnings[0].message.contains("does not tell the number of ranks: sums"), "{}", short.warnings[0]);
    // The name that mpiP gives its reports does, where that can be.
    let named = read_named("set/ring.5.1234.1.mpiP", &text);
    assert_eq!(named.experiment.points, [[5.0]]);
    assert!(is(of(&named, send, OverRanks::Mean), 0.12));
    let options = ReadOptions { pattern: Some("ring.{p}.*.*".to_owned()), ..ReadOptions::default() };
    let wrong = formats::read_bytes("ring.90.1234.1.mpiP", text.into(), &options).unwrap();
    assert_eq!((wrong.experiment.points.clone(), wrong.experiment.metrics.len()), (vec![vec![90.0]], 1));
}

/// Whatever is packed with gzip is read as what it holds, alone and in folders.
#[test]
fn files_packed_with_gzip_are_what_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let packed = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    for n in [10, 20, 30, 40, 50] {
        let path = folder.path().join(format!("app.n{n}.folded.gz"));
        std::fs::write(path, packed(&format!("main;solve {n}\nmain;other 1\n"))).unwrap();
    }
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!((input.format, input.experiment.points.len()), (Format::Folded, 5));
    let measured = values(&input, "main->solve", "samples", None);
    assert!(measured.iter().all(|(at, values)| at == values), "{measured:?}");
    let text = std::fs::read_to_string(dataset("hatchet/annotation.p8.json")).unwrap();
    let packed = read_bytes(packed(&text)).unwrap();
    assert_eq!(packed.experiment.values, read("hatchet/annotation.p8.json").experiment.values);
    // One that was cut off is named, and the others are read.
    let path = folder.path().join("app.n50.folded.gz");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!((input.experiment.points.len(), codes(&input)), (4, vec![formats::RUN_LEFT_OUT]));
    assert!(input.warnings[0].to_string().contains("packed with gzip and damaged or cut off"), "{}", input.warnings[0]);
}

/// A file in a folder is looked at as far as one alone, where that tells what it is.
#[test]
fn profiles_that_begin_with_long_lines_are_found_in_folders_too() {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("set");
    std::fs::create_dir(&set).unwrap();
    let long = ["a_function_with_a_name"; 500].join(";");
    // A long first stack, and many stacks of one frame before the first with a semicolon.
    let many: String = (0..500).map(|i| format!("function{i} 0\n")).collect();
    let texts = ["main;solve 1\n".to_owned(), format!("{long} 7\nmain;solve 2\n"), format!("{many}main;solve 3\n")];
    for (n, text) in (1..).zip(&texts) {
        assert!(n == 1 || text.find("main;solve").unwrap() > 4096);
        std::fs::write(set.join(format!("a.n{n}.folded")), text).unwrap();
    }
    let input = read_with(&set, &ReadOptions::default());
    assert!(values(&input, "main->solve", "samples", None).iter().all(|(at, values)| at == values));
    assert_eq!((input.experiment.points.len(), codes(&input)), (3, vec![]));
    // None is left to be passed over.
    let survey = formats::survey(std::slice::from_ref(&set), &ReadOptions::default());
    assert!(survey.unknown.is_empty() && survey.odd.is_empty(), "{:?} {:?}", survey.unknown, survey.odd);
    // What is left out says how it is read.
    std::fs::copy(dataset("hatchet/annotation.p8.cali"), set.join("odd.p8.cali")).unwrap();
    let options = ReadOptions { format: Some(Format::Folded), ..ReadOptions::default() };
    let odd = formats::survey(std::slice::from_ref(&set), &options).odd;
    let told = format!("poise import {} reads it alone", set.join("odd.p8.cali").display());
    assert!(odd.len() == 1 && odd[0].to_string().contains(&told), "{odd:?}");
}

/// Where not a byte can be unpacked nothing tells the format, but what is wrong all the same.
#[test]
fn damaged_beginnings_of_gzip_are_told() {
    let packed = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let whole = packed("main;solve 12\nmain;other 1\n");
    assert!(formats::read_bytes("a.n1.folded.gz", whole.clone(), &ReadOptions::default()).is_ok());
    let error = |bytes: Vec<u8>| {
        let read = formats::read_bytes("a.n1.folded.gz", bytes, &ReadOptions::default());
        read.map(|_| ()).unwrap_err().to_string()
    };
    // The method, and flags that are reserved.
    for (at, bits) in [(2, 0x55), (3, 0xe0)] {
        let mut damaged = whole.clone();
        damaged[at] ^= bits;
        let told = error(damaged);
        assert!(told.contains("packed with gzip and damaged") && told.contains("Copy the file again"), "{told}");
    }
    let mut unmarked = whole.clone();
    unmarked[0] = b'x';
    for bytes in [unmarked, b"no stacks at all\n".to_vec()] {
        let told = error(bytes);
        assert!(told.contains("this is a damaged or no gzip file") && told.contains("take .gz off its name"), "{told}");
    }
    // A name alone is no harm.
    assert!(formats::read_bytes("a.n1.folded.gz", b"main;solve 12\n".to_vec(), &ReadOptions::default()).is_ok());
    // In a folder of others it was meant to be one of them.
    let folder = tempfile::tempdir().unwrap();
    for n in [1, 2, 3, 4] {
        let mut bytes = packed(&format!("main;solve {n}\n"));
        bytes[2] = if n == 3 { 0 } else { bytes[2] };
        std::fs::write(folder.path().join(format!("a.n{n}.folded.gz")), bytes).unwrap();
    }
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!((input.experiment.points.len(), codes(&input)), (3, vec![formats::RUN_LEFT_OUT]));
    let told = input.warnings[0].to_string();
    assert!(told.contains("a.n3.folded.gz") && told.contains("packed with gzip and damaged"), "{told}");
    // Alone in a folder, it is what is wrong with that.
    [1, 2, 4].iter().for_each(|n| std::fs::remove_file(folder.path().join(format!("a.n{n}.folded.gz"))).unwrap());
    let survey = formats::survey(&[folder.path().to_owned()], &ReadOptions::default());
    assert!(survey.unknown.is_empty() && survey.input.is_err(), "{:?}", survey.unknown);
    assert!(survey.odd.iter().any(|odd| odd.to_string().contains("packed with gzip and damaged")), "{:?}", survey.odd);
}

/// A bit that flipped may leave a stream that unpacks to other bytes, which only its checksum tells.
#[test]
fn flipped_bits_of_gzip_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let stacks: String = (0..10_000).map(|i| format!("main;solve{i} 12\n")).collect();
    // With frames that nothing separates no reader knows it; the others are no text, and end far behind what decides or within it.
    let cases = [
        (&*stacks, &["main"][..], 0x80),
        ("main;solve 12\nmain;other 1\n", &[";solve", ";other"][..], 0x10),
        ("main;solve 12\nmain;other 1\n", &["main"], 0x80),
    ];
    for (text, flipped, bit) in cases {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        let mut bytes = encoder.finish().unwrap();
        let path = folder.path().join("a.n1.folded.gz");
        std::fs::write(&path, &bytes).unwrap();
        let read = || formats::read(std::slice::from_ref(&path), &ReadOptions::default());
        assert!(read().is_ok());
        for part in flipped {
            let at = bytes.windows(part.len()).position(|window| window == part.as_bytes()).unwrap();
            bytes[at] ^= bit;
        }
        std::fs::write(&path, &bytes).unwrap();
        let told = read().map(|_| ()).unwrap_err().to_string();
        assert!(told.contains("packed with gzip and damaged") && told.contains("Copy the file again"), "{told}");
    }
    // In a folder of others it was meant to be one of them.
    for n in [2, 3] {
        std::fs::write(folder.path().join(format!("a.n{n}.folded")), format!("main;solve {n}\n")).unwrap();
    }
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!((input.experiment.points.len(), codes(&input)), (2, vec![formats::RUN_LEFT_OUT]));
}

/// A file that is called as gem5's statistics and lies in what `poise run` left is somebody's own.
#[test]
fn statistics_as_hdf5_are_refused_but_beside_runs() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    for inner in ["n200/output", "data"] {
        std::fs::create_dir_all(kept.join(inner)).unwrap();
        std::fs::write(kept.join(inner).join("stats.h5"), b"\x89HDF\r\n\x1a\n\0\0").unwrap();
    }
    let of = || formats::statistics_of_gem5(std::slice::from_ref(&kept));
    assert!(of().unwrap_err().to_string().contains("data/stats.h5: this is HDF5, which is not read"));
    std::fs::write(kept.join("n200/run.json"), "{}").unwrap();
    assert!(of().unwrap().is_empty());
}

/// Only their names tell what they were.
#[test]
fn profiles_of_which_nothing_is_left_are_told() {
    let folder = tempfile::tempdir().unwrap();
    for p in [2, 4, 8] {
        let to = folder.path().join(format!("app.p{p}.cali"));
        std::fs::copy(dataset("hatchet/annotation.p8.cali"), to).unwrap();
    }
    let empty = ["app.p16.cali.gz", "app.p32.cali"];
    empty.iter().for_each(|name| std::fs::write(folder.path().join(name), "").unwrap());
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!(input.experiment.points.len(), 3);
    let left_out = input.warnings.iter().filter(|warning| warning.code == formats::RUN_LEFT_OUT);
    let told: Vec<String> = left_out.map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(empty.iter().zip(&told).all(|(name, told)| told.contains(name) && told.contains("cut off")), "{told:?}");
}

/// Beyond what tells the format, wherever the end is missing: an error that says so, never fewer or other values.
#[test]
fn files_that_were_cut_off_are_told_so() {
    let cut = |bytes: &[u8], length: usize| {
        let error = read_bytes(bytes[..length].to_vec()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("cut off") && error.contains("Copy the file again"), "{length}: {error}");
    };
    let files = ["google_benchmark.json", "hyperfine.json", "spin.n200000.pb.gz"].map(|name| format!("tools/{name}"));
    let caliper = ["annotation.p8.json", "cpi-callpath.p4.json"].map(|name| format!("hatchet/{name}"));
    for name in files.iter().chain(&caliper) {
        let whole = std::fs::read(dataset(name)).unwrap();
        for percent in [60, 80, 99] {
            cut(&whole, whole.len() * percent / 100);
        }
    }
    // A protocol buffer without compression.
    let packed = std::fs::read(dataset("tools/spin.n200000.pb.gz")).unwrap();
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut plain).unwrap();
    for percent in [50, 70, 90] {
        cut(&plain, plain.len() * percent / 100);
    }
    // In a stream every record stands for itself, and a number that was cut is a number still.
    let stream = std::fs::read(dataset("hatchet/annotation.p8.cali")).unwrap();
    let ends: Vec<usize> = (0..stream.len()).filter(|&i| stream[i] == b'\n').collect();
    let last_value = ends[ends.len() - 3];
    for length in last_value - 40..last_value {
        cut(&stream, length);
    }
}

/// What can be told of a line that was cut is an error, and what cannot is a warning.
#[test]
fn stacks_and_vectors_that_were_cut_off_are_told() {
    let stacks = "main;solve <a b> 12\nmain;other 345\n";
    let vectors = "T:1:10 :2:25\nT:1:10 :3:45\n";
    let sum = |input: &Input, metric: &str| -> f64 {
        let e = &input.experiment;
        e.series.iter().filter(|s| e.metrics[s.metric as usize].name == metric).map(|s| e.values_of(s)[0]).sum()
    };
    for (name, whole, metric, all) in
        [("a.n1.folded", stacks, "samples", 357.0), ("a.n1.bb", vectors, "instructions", 90.0)]
    {
        let read = |length: usize| formats::read_bytes(name, whole[..length].into(), &ReadOptions::default());
        let first = whole.find('\n').unwrap() + 1;
        let input = read(whole.len()).unwrap();
        assert_eq!((sum(&input, metric), codes(&input)), (all, vec![]));
        for length in first + 1..whole.len() {
            match read(length) {
                Ok(input) => {
                    assert_eq!(codes(&input), ["W111"], "{:?}", &whole[..length]);
                    assert!(
                        input.warnings[0].to_string().starts_with(&format!("{name}:2:1: ")),
                        "{:?}",
                        input.warnings
                    );
                }
                Err(error) => {
                    let told = error.to_string();
                    assert!(told.starts_with(&format!("{name}:2:")) && told.contains("cut off"), "{told}");
                }
            }
        }
    }
    // A vector without blocks is none, wherever it stands.
    let error = read_bytes(b"T:1:10\nT\nT:1:10\n".to_vec()).map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("input:2:1: this vector has no block"), "{error}");
    // Comments end the files of exp-bbv, and the vectors above them are whole.
    let input = formats::read_bytes("a.n1.bb", b"T:1:10\n# Total".to_vec(), &ReadOptions::default()).unwrap();
    assert_eq!(codes(&input), Vec::<&str>::new());
}

#[test]
fn errors_in_profiles_name_their_place() {
    let error = |text: &str| read_bytes(text.into()).map(|_| ()).unwrap_err().to_string();
    let cases = [
        ("T:1:2 :x:3\n", "input:1:7: `:x:3`"),
        ("__rec=node,id=1,attr=8,data=a\n__rec=ctx,attr=1=1,data=2\n", "input:2:1: attributes and values are 2 and 1"),
        ("3 templated_functions\n\"f\" 1 0\n", "input:2:4: a column is missing"),
        (
            "3 templated_functions\n\"f\" 1 0 1 1 0\n",
            "input: of the `templated_functions` that it announces 2 are missing. Copy the file again",
        ),
        (
            "@ mpiP\n@--- MPI Time (seconds) ---\n 0 1 1 2\n",
            "input: the report does not come to its end; expected a last heading",
        ),
        ("a;b 1\na;b 1.2.3\n", "input:2:5: `1.2.3` is no number"),
        ("@ mpiP\n@--- MPI Time (seconds) ---\n 0 x 1 2\n", "input:3:4: `x` is no number"),
        (
            "{\"data\":[[1]],\"columns\":[\"count\",\"path\"],\"column_metadata\":[{\"is_value\":true},{}],\"nodes\":[]}",
            "input:1:10: this row has 1 cell for 2 columns",
        ),
    ];
    for (text, expected) in cases {
        let error = error(text);
        assert!(error.starts_with(expected), "{error}");
    }
}
