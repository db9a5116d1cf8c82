//! Files that tools wrote; the numbers were taken from them by hand or with awk.

use super::*;

fn one(input: &Input, path: &str, metric: &str, over: Option<OverRanks>) -> f64 {
    values(input, path, metric, over).last().unwrap().1[0]
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs()
}

#[test]
fn folded_stacks_are_samples_of_call_paths() {
    let input = read("tools/spin.n200000.folded");
    assert_eq!((input.format, &input.experiment.parameters[..]), (Format::Folded, &["n".to_owned()][..]));
    let path = "<module> (spin.py:10)->other (spin.py:9)";
    assert_eq!(one(&input, path, "samples", None), 1.0);
    assert_eq!(one(&input, &format!("{path}->leaf (spin.py:4)"), "samples", None), 125.0);
    // Samples outside of all functions.
    assert_eq!(one(&input, "<root>", "samples", None), 4.0);
}

#[test]
fn pprof_gives_samples_and_seconds() {
    let input = read("tools/spin.n200000.pb.gz");
    assert_eq!(input.format, Format::Pprof);
    let e = &input.experiment;
    let leaves: Vec<(Vec<&str>, f64)> = e.series.iter().map(|s| (e.path(s.callpath), e.values_of(s)[0])).collect();
    let path = |f: &str| {
        vec!["_bootstrap", "_bootstrap_inner", "run", "run", f, "leaf"]
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let of = |f: &str| leaves.iter().filter(|(p, _)| *p == path(f)).map(|(_, v)| *v).collect::<Vec<f64>>();
    // The builder was told 42 and 21 samples of 5 ms.
    let (outer, other) = (of("outer"), of("other"));
    assert!(outer.contains(&42.0) && other.contains(&21.0), "{outer:?} {other:?}");
    assert!(outer.iter().any(|&v| close(v, 42.0 * 0.005)), "{outer:?}");
}

/// Go puts the time before the types, and samples of one stack may be several; `go tool pprof -traces` says the same.
#[test]
fn profiles_that_go_writes_are_recognised() {
    let input = read("tools/sines.n400.pb.gz");
    assert_eq!(input.format, Format::Pprof);
    let path = "runtime.main->main.main->main.axpy->math.Sin->math.sin";
    assert!(close(one(&input, path, "time", None), 0.09));
    assert_eq!(one(&input, path, "samples", None), 9.0);
    assert!(close(one(&input, &format!("{path}->runtime.asyncPreempt"), "time", None), 0.01));

    // Longer ones, where a field ends behind what is looked at first: strings that nothing refers to.
    let packed = std::fs::read(dataset("tools/sines.n400.pb.gz")).unwrap();
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut plain).unwrap();
    (0..100).for_each(|_| plain.extend([&[0x32, 99][..], &[b'x'; 99]].concat()));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &plain).unwrap();
    for bytes in [encoder.finish().unwrap(), plain] {
        let long = formats::read_bytes("sines.n400.pb.gz", bytes, &ReadOptions::default()).unwrap();
        assert_eq!((long.format, one(&long, path, "samples", None)), (Format::Pprof, 9.0));
    }

    let input = read("tools/sines_heap.n400.pb.gz");
    assert_eq!(input.format, Format::Pprof);
    let names: Vec<&str> = input.experiment.metrics.iter().map(|m| &*m.name).collect();
    assert_eq!(names, ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]);
}

/// A folder of Caliper's profiles that the third of `runs` names, with the job sizes and problem sizes of the first two, and a
/// record of what both together make where `total` asks for it.
fn caliper(runs: &[(u32, u32, &str)], total: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(dataset("hatchet/spot.p64.cali")).unwrap();
    let setting = |text: String, attribute: u32, old: u32, new: u32| {
        let (from, to) = (format!("attr={attribute},data={old},"), format!("attr={attribute},data={new},"));
        assert_eq!(text.matches(&from).count(), 1);
        text.replace(&from, &to)
    };
    let (jobsize, problem_size) = (190, 183);
    for (p, n, name) in runs {
        let mut text = setting(setting(text.clone(), jobsize, 64, *p), problem_size, 30, *n);
        if total {
            let known = "__rec=node,id=183,attr=8,data=problem_size,parent=179\n";
            let own = "__rec=node,id=90001,attr=8,data=cells_of_all,parent=179\n";
            let value = format!("__rec=node,id=90002,attr=90001,data={}\n", p * n * n);
            text = text.replace(known, &[known, own, &value].concat()).replace("ref=243=233", "ref=243=233=90002");
        }
        std::fs::write(folder.path().join(format!("{name}.cali")), text).unwrap();
    }
    folder
}

/// File names that Caliper makes up say nothing of a run; its globals do.
#[test]
fn settings_that_vary_are_parameters_where_names_are_chosen_by_caliper() {
    let drawn = ["FSY8b8cKSEEi", "eWbGeyrlBOPT", "OV0UMVFsW6yp"].map(|r| format!("230525-151723_1930647_{r}"));
    let folder = caliper(&[(64, 30, &drawn[0]), (64, 60, &drawn[1]), (512, 30, &drawn[2])], false);
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!(input.experiment.parameters, ["p", "problem_size"]);
    let mut points = input.experiment.points.clone();
    points.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(points, [[64.0, 30.0], [64.0, 60.0], [512.0, 30.0]]);
    assert_eq!(codes(&input), Vec::<&str>::new());
}

/// A setting that the others determine is no dimension of the experiment.
#[test]
fn settings_that_follow_from_others_are_no_parameters_and_are_told() {
    let drawn = |i: usize| format!("230525-151723_1930647_FSY8b8cKSEE{i}");
    let sizes = [(8, 10), (8, 20), (8, 40), (27, 10), (27, 20), (27, 40)];
    let names: Vec<String> = (0..sizes.len()).map(drawn).collect();
    let runs: Vec<(u32, u32, &str)> = sizes.iter().zip(&names).map(|(&(p, n), name)| (p, n, &**name)).collect();
    let input = read_with(caliper(&runs, true).path(), &ReadOptions::default());
    assert_eq!(input.experiment.parameters, ["p", "problem_size"]);
    assert_eq!(codes(&input), ["W103"]);
    let told = input.warnings[0].to_string();
    assert!(
        told.contains("What follows from p and problem_size is no parameter of its own: `cells_of_all`."),
        "{told}"
    );
    assert!(told.contains("as in app.cells_of_all800.r1"), "{told}");
    // Sizes that grow with the ranks alone are not told from them.
    let diagonal = [runs[0], runs[4]];
    let input = read_with(caliper(&diagonal, false).path(), &ReadOptions::default());
    assert_eq!(input.experiment.parameters, ["p"]);
    assert!(input.warnings[0].to_string().contains("`problem_size`"));
}

/// One that takes fewer values than another that determines it would be chosen first, and then both would be parameters.
#[test]
fn a_setting_that_is_a_function_of_a_finer_one_is_no_parameter() {
    let drawn = |i: usize| format!("230525-151723_1930647_FSY8b8cKSEE{i}");
    // Sizes, the levels of each, and whether these come first.
    let read = |cases: &[(u32, u32, u32)], is_first: bool| {
        let names: Vec<String> = (0..cases.len()).map(drawn).collect();
        let runs: Vec<(u32, u32, &str)> = cases.iter().zip(&names).map(|(&(p, n, _), name)| (p, n, &**name)).collect();
        let folder = caliper(&runs, true);
        for (&(p, n, levels), name) in cases.iter().zip(&names) {
            let path = folder.path().join(format!("{name}.cali"));
            let text = std::fs::read_to_string(&path).unwrap().replace("cells_of_all", "levels");
            let (cells, own) = (format!("attr=90001,data={}\n", p * n * n), format!("attr=90001,data={levels}\n"));
            assert!(text.contains(&cells));
            let (last, first) = ("ref=243=233=90002", "ref=90002=243=233");
            let order = if is_first { first } else { last };
            std::fs::write(&path, text.replace(&cells, &own).replace(last, order)).unwrap();
        }
        read_with(folder.path(), &ReadOptions::default())
    };
    for is_first in [false, true] {
        let input = read(&[(64, 10, 1), (64, 20, 1), (64, 40, 2)], is_first);
        assert_eq!((&input.experiment.parameters[..], codes(&input)), (&["problem_size".to_owned()][..], vec!["W103"]));
        let told = input.warnings[0].to_string();
        assert!(told.contains("is no parameter of its own: `levels`. To model over it instead"), "{told}");
        // One to one, the one with a name that parameters have.
        let input = read(&[(64, 10, 1), (64, 20, 2), (64, 40, 3)], is_first);
        assert_eq!((&input.experiment.parameters[..], codes(&input)), (&["problem_size".to_owned()][..], vec!["W103"]));
        // Levels that are chosen for themselves are a parameter.
        let input = read(&[(64, 10, 1), (64, 10, 2), (64, 20, 1), (64, 40, 2)], is_first);
        assert_eq!(input.experiment.parameters.len(), 2);
        assert_eq!(codes(&input), Vec::<&str>::new());
    }
}

/// What differs in every run, as its memory does, would else be the finest parameter, and take the place of the others.
#[test]
fn results_that_differ_in_every_run_are_no_parameters() {
    let drawn = |i: usize| format!("230525-151723_1930647_FSY8b8cKSEE{i}");
    let names: Vec<String> = (0..9).map(drawn).collect();
    let sizes = |i: usize| [10, 20, 40][i / 3];
    let runs: Vec<(u32, u32, &str)> = names.iter().enumerate().map(|(i, name)| (64, sizes(i), &**name)).collect();
    let folder = caliper(&runs, true);
    for (i, name) in names.iter().enumerate() {
        let path = folder.path().join(format!("{name}.cali"));
        let text = std::fs::read_to_string(&path).unwrap().replace("cells_of_all", "peak_rss_kb");
        let (cells, own) = (64 * sizes(i) * sizes(i), 5000 + 37 * i);
        let (from, to) = (format!("attr=90001,data={cells}\n"), format!("attr=90001,data={own}\n"));
        assert_eq!(text.matches(&from).count(), 1);
        std::fs::write(&path, text.replace(&from, &to)).unwrap();
    }
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!(input.experiment.parameters, ["problem_size"]);
    let mut points = input.experiment.points.clone();
    points.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(points, [[10.0], [20.0], [40.0]]);
    let e = &input.experiment;
    assert!(e.series.iter().flat_map(|s| e.measurements(s)).any(|(_, values)| values.len() == 3), "three runs each");
    assert_eq!(codes(&input), ["W103"]);
    let told = input.warnings[0].to_string();
    assert!(told.contains("in every run is a result of it and no parameter: `peak_rss_kb`."), "{told}");
    // The same in two runs, nobody can tell it from a parameter.
    let path = folder.path().join(format!("{}.cali", names[1]));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("attr=90001,data=5037\n", "attr=90001,data=5000\n")).unwrap();
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!(input.experiment.parameters, ["problem_size", "peak_rss_kb"]);
    assert_eq!(codes(&input), ["W113"]);
    let told = input.warnings[0].to_string();
    assert!(told.contains("`peak_rss_kb`, of which 9 runs have 8 values"), "{told}");
}

/// Names decide, and hide nothing silently.
#[test]
fn settings_that_differ_between_runs_of_one_name_are_told() {
    let runs = [(64, 30, "a.p64.r1"), (64, 60, "a.p64.r2"), (512, 30, "a.p512.r1"), (512, 60, "a.p512.r2")];
    let input = read_with(caliper(&runs, false).path(), &ReadOptions::default());
    assert_eq!((&input.experiment.parameters[..], codes(&input)), (&["p".to_owned()][..], vec!["W103"]));
    let told = input.warnings[0].to_string();
    assert!(told.contains("differ in `problem_size`: these count as repetitions"), "{told}");
    // Where the names say it, there is nothing to tell.
    let named = [(64, 30, "a.p64.n30"), (64, 60, "a.p64.n60"), (512, 30, "a.p512.n30"), (512, 60, "a.p512.n60")];
    let input = read_with(caliper(&named, true).path(), &ReadOptions::default());
    assert_eq!((&input.experiment.parameters[..], codes(&input)), (&["p".to_owned(), "n".to_owned()][..], vec![]));
}

/// 512K is 512 in no case, and which it is only people know.
#[test]
fn suffixes_of_numbers_in_names_are_refused_unless_they_tell_no_runs_apart() {
    let read = |names: [&str; 3], pattern: Option<&str>| {
        let folder = tempfile::tempdir().unwrap();
        let set = folder.path().join("set");
        std::fs::create_dir(&set).unwrap();
        for (i, name) in names.iter().enumerate() {
            std::fs::write(set.join(format!("{name}.folded")), format!("main;solve {i}\n")).unwrap();
        }
        let options = ReadOptions { pattern: pattern.map(str::to_owned), ..ReadOptions::default() };
        formats::read(&[set], &options)
    };
    let in_kilo = ["app_p4_n512K", "app_p4_n1024K", "app_p4_n2048K"];
    for names in [in_kilo, ["app_n512K", "app_n1M", "app_n2M"], ["app_p4_n512", "app_p4_n1K", "app_p4_n2K"]] {
        let told = read(names, None).map(|_| ()).unwrap_err().to_string();
        assert!(told.contains("may stand for powers of 1000 or of 1024") && told.contains("--pattern"), "{told}");
    }
    let points = |input: Input| {
        let mut points = input.experiment.points;
        points.sort_by(|a, b| a.partial_cmp(b).unwrap());
        (input.experiment.parameters, points)
    };
    let n = |points: [f64; 3]| (vec!["n".to_owned()], points.map(|n| vec![n]).to_vec());
    assert_eq!(points(read(in_kilo, Some("*n{n}K*")).unwrap()), n([512.0, 1024.0, 2048.0]));
    assert_eq!(points(read(["app_n1e3", "app_n2e3", "app_n4e3"], None).unwrap()), n([1000.0, 2000.0, 4000.0]));
    let constant = read(["app_p4_n512K", "app_p8_n512K", "app_p9_n512K"], None).unwrap();
    let p = (vec!["p".to_owned()], [4.0, 8.0, 9.0].map(|p| vec![p]).to_vec());
    assert_eq!(points(constant), p);
    // What a folder is called matters only where files of the same point lie in several.
    let in_folders = |files: [&str; 3]| {
        let folder = tempfile::tempdir().unwrap();
        for (i, file) in files.iter().enumerate() {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("main;solve {i}\n")).unwrap();
        }
        formats::read(&[folder.path().to_owned()], &ReadOptions::default())
    };
    let apart = ["box-64GB/app.p4.folded", "box-64GB/app.p8.folded", "box-128GB/app.p9.folded"];
    assert_eq!(points(in_folders(apart).unwrap()), p);
    let alike = ["box-64GB/app.p4.folded", "box-64GB/app.p8.folded", "box-128GB/app.p8.folded"];
    let told = in_folders(alike).map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("may stand for powers of 1000 or of 1024"), "{told}");
}

#[test]
fn runs_of_one_point_with_other_prefixes_are_told() {
    let read = |names: [&str; 4]| {
        let folder = tempfile::tempdir().unwrap();
        let set = folder.path().join("set");
        std::fs::create_dir(&set).unwrap();
        names.iter().for_each(|name| std::fs::write(set.join(format!("{name}.folded")), "main;solve 1\n").unwrap());
        read_with(&set, &ReadOptions::default())
    };
    let mixed = read(["weak_p4", "strong_p4", "weak_p8", "strong_p8"]);
    assert_eq!(codes(&mixed), ["W103"]);
    assert!(mixed.warnings[0].message.contains("begin differently (`strong` and `weak`)"), "{}", mixed.warnings[0]);
    // Of different points, or told apart as runs.
    assert_eq!(codes(&read(["weak_p4", "strong_p5", "weak_p8", "strong_p9"])), Vec::<&str>::new());
    assert_eq!(codes(&read(["run1.p4", "run2.p4", "run1.p8", "run2.p8"])), Vec::<&str>::new());
}

#[test]
fn intervals_of_basic_block_vectors_add_up() {
    let input = read("tools/simpoint");
    assert_eq!(input.format, Format::SimPoint);
    assert_eq!(input.experiment.points, [[24.0], [32.0], [40.0], [48.0]]);
    assert_eq!(one(&input, "<root>", "intervals", None), 8.0);
    assert_eq!(one(&input, "block 915", "instructions", None), 708_596.0);
    let e = &input.experiment;
    let last = e.series.iter().filter(|s| e.metrics[s.metric as usize].name == "instructions");
    let all: f64 = last.filter_map(|s| e.measurements(s).find(|(p, _)| p[0] == 48.0)).map(|(_, v)| v[0]).sum();
    assert_eq!(all, 800_001.0);
}

#[test]
fn call_sites_of_mpip_become_operations_and_its_rounding_is_mentioned() {
    let input = read("tools/mpip");
    assert_eq!((input.format, &input.experiment.parameters[..]), (Format::MpiP, &["p".to_owned(), "n".to_owned()][..]));
    assert_eq!(codes(&input), ["W109"; 4]);
    let path = "application->[unknown]->MPI_Allreduce";
    let (mean, most) = (Some(OverRanks::Mean), Some(OverRanks::Maximum));
    // Means in milliseconds of the four ranks' 20 calls at p = 4, n = 2000.
    assert!(close(one(&input, path, "time", mean), 20e-3 * (0.0344 + 0.0377 + 0.0235 + 0.0248) / 4.0));
    assert!(close(one(&input, path, "time", most), 20e-3 * 0.0377));
    assert_eq!(one(&input, path, "visits", mean), 20.0);
    assert_eq!(one(&input, path, "bytes_sent", mean), 160.0);
    assert_eq!(one(&input, "application->[unknown]->MPI_Sendrecv", "bytes_sent", mean), 20.0 * 2000.0 * 8.0);
}

/// Reports of runs on 2 to 32 ranks whose times and sizes are `1.23 p` in three digits, without any other noise.
fn reports(folder: &Path) -> Vec<std::path::PathBuf> {
    let report = |p: u32| {
        let value = format!("{:.2e}", 1.2345 * f64::from(p));
        let mut text = "@ mpiP\n@--- MPI Time (seconds) ---\n".to_owned();
        (0..p).for_each(|rank| text += &format!("{rank} {value} 0 0\n"));
        text +=
            "@--- Callsites: 1 ---\n1 0 solve.c 3 solve Send\n@--- Callsite Time statistics (all, milliseconds) ---\n";
        (0..p).for_each(|rank| text += &format!("Send 1 {rank} 1 1 {value} 1 1 1\n"));
        text += "@--- Callsite Message Sent statistics (all, sent bytes) ---\n";
        (0..p).for_each(|rank| text += &format!("Send 1 {rank} 1 1 1 1 {value}\n"));
        text += "@--- End of Report ---\n";
        let path = folder.join(format!("app.p{p}.mpiP"));
        std::fs::write(&path, text).unwrap();
        path
    };
    [2, 4, 8, 16, 32].map(report).to_vec()
}

/// A number in the name of the folder that all runs lie in is no parameter of theirs.
#[test]
fn ranks_that_vary_say_more_than_a_folders_number() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("run5");
    std::fs::create_dir(&inner).unwrap();
    for (i, path) in reports(folder.path()).into_iter().enumerate() {
        std::fs::rename(path, inner.join(format!("heat.{}.1234.1.mpiP", 2 << i))).unwrap();
    }
    let input = modeler::formats::read(&[inner], &ReadOptions::default()).unwrap();
    assert_eq!(input.experiment.parameters, ["p"]);
    assert_eq!(input.experiment.points, [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| vec![p]));
}

/// Nobody can tell which number `4Kranks` is, and nobody needs to where the profiles tell their ranks.
#[test]
fn ranks_that_profiles_tell_count_where_names_have_suffixes() {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("set");
    std::fs::create_dir(&set).unwrap();
    let named = |k: usize| set.join(format!("app_{k}Kranks.mpiP"));
    for (i, path) in reports(folder.path()).into_iter().enumerate() {
        std::fs::rename(path, named(4 << i)).unwrap();
    }
    let input = modeler::formats::read(std::slice::from_ref(&set), &ReadOptions::default()).unwrap();
    assert_eq!(input.experiment.parameters, ["p"]);
    assert_eq!(input.experiment.points, [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| vec![p]));
    // Where all have the same ranks, the names must tell.
    for k in [8, 16, 32, 64] {
        std::fs::copy(named(4), named(k)).unwrap();
    }
    let told = modeler::formats::read(&[set], &ReadOptions::default()).map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("may stand for powers of 1000 or of 1024"), "{told}");
}

/// Numbers of runs are neither a parameter, nor do they hide what profiles tell.
#[test]
fn numbers_of_runs_are_no_parameter() {
    let kept = tempfile::tempdir().unwrap();
    // Whose name has no number.
    let folder = kept.path().join("set");
    std::fs::create_dir(&folder).unwrap();
    for i in 1..=3 {
        std::fs::write(folder.join(format!("run{i}.folded")), format!("main;solve {i}\n")).unwrap();
    }
    let read = |pattern: Option<&str>| {
        let options = ReadOptions { pattern: pattern.map(str::to_owned), ..ReadOptions::default() };
        formats::read(std::slice::from_ref(&folder), &options)
    };
    let error = read(None).map(|_| ()).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("its name says no parameter: `run1` only tells runs apart"), "{told}");
    assert!(told.contains("--pattern") && error.exit_code() == 3, "{told}");
    // Who means it says it.
    let input = read(Some("run{size}")).unwrap();
    assert_eq!((&input.experiment.parameters[..], input.experiment.points.len()), (&["size".to_owned()][..], 3));

    // With a parameter beside it, it is the repetition.
    let folder = tempfile::tempdir().unwrap();
    for (n, run) in [(1, 2), (1, 1), (2, 2), (2, 1)] {
        let text = format!("main;solve {}\n", 10 * n + run);
        std::fs::write(folder.path().join(format!("app_n{n}_run{run}.folded")), text).unwrap();
    }
    let input = read_with(folder.path(), &ReadOptions::default());
    let expected = [(vec![1.0], vec![11.0, 12.0]), (vec![2.0], vec![21.0, 22.0])];
    assert_eq!(values(&input, "main->solve", "samples", None), expected);

    // Also where it stands behind the only dot.
    let folder = tempfile::tempdir().unwrap();
    for (n, run) in [(1, 2), (1, 1), (2, 2), (2, 1)] {
        let text = format!("main;solve {}\n", 10 * n + run);
        std::fs::write(folder.path().join(format!("app_p4_n{n}.run{run}.folded")), text).unwrap();
    }
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!(values(&input, "main->solve", "samples", None), expected);

    // The ranks that reports tell are their points.
    let folder = tempfile::tempdir().unwrap();
    for (i, path) in reports(folder.path()).into_iter().enumerate() {
        std::fs::rename(path, folder.path().join(format!("run{i}.mpiP"))).unwrap();
    }
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!(input.experiment.parameters, ["p"]);
    assert_eq!(input.experiment.points, [2.0, 4.0, 8.0, 16.0, 32.0].map(|p| vec![p]));
}

#[test]
fn three_digits_of_mpip_are_the_least_noise_of_its_models() {
    let folder = tempfile::tempdir().unwrap();
    let input = modeler::formats::read(&reports(folder.path()), &ReadOptions::default()).unwrap();
    let mut kept = Vec::new();
    modeler::formats::write(&input.experiment, Format::Experiment, &mut kept).unwrap();
    let again = read_bytes(kept).unwrap();
    // Even between -0.5 % and 0.5 %, at its worst.
    let floor = 0.005 / 3f64.sqrt();
    for experiment in [&input.experiment, &again.experiment] {
        let fits = modeler::fit(experiment, &modeler::Options::default());
        assert!(fits.skipped.is_empty() && fits.models.len() == 4, "{:?}", fits.skipped);
        for model in &fits.models {
            let name = experiment.metrics[model.metric as usize].name.as_str();
            let noise = model.quality.noise.unwrap_or(0.0);
            if name == "visits" {
                assert!(noise < 1e-9, "visits are whole numbers: {noise}");
                continue;
            }
            assert!(noise >= 0.999 * floor, "{name}: {noise}");
            let p = model.predict(&[32.0], 0.9);
            // A normal variable is within 1.645 deviations nine times out of ten.
            assert!(p.upper / p.value >= 1.0 + 1.6 * floor && p.lower / p.value <= 1.0 - 1.6 * floor, "{name}: {p:?}");
            assert!((p.value / experiment_value(experiment, model) - 1.0).abs() < 0.01, "{name}: {p:?}");
        }
    }
}

/// The measured value at the largest point.
fn experiment_value(experiment: &modeler::Experiment, model: &modeler::Model) -> f64 {
    let series = experiment.series_of(model.callpath, model.metric).unwrap();
    *experiment.values_of(series).last().unwrap()
}

#[test]
fn google_benchmark_keeps_repetitions_and_counters() {
    let input = read("tools/google_benchmark.json");
    assert_eq!((input.format, &input.experiment.parameters[..]), (Format::GoogleBenchmark, &["n".to_owned()][..]));
    let time = values(&input, "sum", "time", None);
    assert_eq!(
        time.iter().map(|(p, v)| (p[0], v.len())).collect::<Vec<_>>(),
        [(1024.0, 2), (4096.0, 2), (16384.0, 2), (65536.0, 2), (262_144.0, 2)]
    );
    assert!(close(time[0].1[0], 12_627.427_000_006_7e-9), "{}", time[0].1[0]);
    assert!(close(values(&input, "sum", "cpu_time", None)[0].1[1], 805.1805e-9));
    assert_eq!(values(&input, "sum", "elements", None)[4].1, [262_144.0; 2]);
}

#[test]
fn hyperfine_keeps_each_run() {
    let input = read("tools/hyperfine.json");
    assert_eq!(input.format, Format::Hyperfine);
    let time = values(&input, "./work {n}", "time", None);
    let expected = [0.025143815, 0.06697818900000001, 0.024933943, 0.03456486, 0.028437674000000003];
    assert_eq!(time[1], (vec![200.0], expected.to_vec()));
    assert_eq!(values(&input, "./work {n}", "user_time", None)[1].1, [0.0062927999999999994]);
}

#[test]
fn samples_of_criterion_are_times_per_iteration() {
    let input = read("tools/criterion");
    assert_eq!(input.format, Format::Criterion);
    let time = values(&input, "sum->forward", "time", None);
    assert_eq!(
        time.iter().map(|(p, v)| (p[0], v.len())).collect::<Vec<_>>(),
        [1000.0, 2000.0, 4000.0, 8000.0, 16000.0].map(|n| (n, 10))
    );
    assert!(close(time[2].1[0], 9794.0 / 3.0 * 1e-9), "{}", time[2].1[0]);
}

#[test]
fn tables_are_read_by_the_roles_of_their_columns() {
    let options = |columns: &str| ReadOptions { columns: Some(columns.to_owned()), ..ReadOptions::default() };
    let roles = "density=parameter,cutoff=parameter,time=metric,vectorize_code=callpath,repeat=repetition";
    let table = read_with(&dataset("ls1_mardyn/ls1-bench1.csv"), &options(roles));
    let converted = read("ls1_mardyn/ls1.jsonl");
    assert_eq!(values(&table, "KNL_MASK", "time", None), values(&converted, "ls1", "time", None));
    let roles = "Ranks=parameter:p,mpi=callpath,variable=callpath,mean=metric:time_mean,median=metric:time_median";
    let table = read_with(&dataset("mpi_collectives/mpi_data.csv"), &options(roles));
    let converted = read("mpi_collectives/mpi_collectives.jsonl");
    let path = "IntelMPI->MPI_Barrier";
    for metric in ["time_mean", "time_median"] {
        assert_eq!(values(&table, path, metric, None), values(&converted, path, metric, None));
    }
}

#[test]
fn tables_of_other_shapes_are_read_too() {
    let read = |text: &str, columns: &str| {
        let columns = Some(columns.to_owned());
        formats::read_bytes("input", text.into(), &ReadOptions { columns, ..ReadOptions::default() })
    };
    // As JUBE prints results.
    let pretty = "| nodes | time_ms |\n|-------|---------|\n|     1 |   20.5  |\n|     2 |   11    |\n";
    let input = read(pretty, "nodes=parameter,time_ms=metric:time[ms]").unwrap();
    assert_eq!(values(&input, "<root>", "time", None), [(vec![1.0], vec![0.0205]), (vec![2.0], vec![0.011])]);
    assert_eq!(input.experiment.metrics[0].unit, "s");
    let tabs = "p\tquoted\n1\t\"2\"\n2\t\n";
    assert_eq!(values(&read(tabs, "p=parameter,quoted=metric").unwrap(), "<root>", "quoted", None).len(), 1);
    let error = |text: &str, columns: &str| read(text, columns).map(|_| ()).unwrap_err().to_string();
    assert!(error("p,t\n1,x\n", "p=parameter,t=metric").starts_with("input:2:2: `x` in the column `t`"));
    assert!(error("p,t\n1,2\n", "q=parameter,t=metric").contains("no column `q`; expected one of `p`, `t`"));
    assert!(error("p,t\n1,2\n", "p=parameter,t=time").contains("`time` is no role"));
    assert!(error("p,t\n1,2\n", "p=parameter").contains("no column is a metric"));
    assert!(error("p,t\n1,2\n", "p=parameter,t=value").contains(". Write t=metric, or give the column with the names"));
    // Of rows that cannot be read the first is told, and where the others are.
    let failed = error("p,t\n1,2\n2,x\n4,8\n8,y\n16,1:02:03\n", "p=parameter,t=metric");
    assert!(
        failed.starts_with("input:3:2: `x` ") && failed.ends_with("The rows at lines 5, 6 cannot be read either."),
        "{failed}"
    );
    let many: String = (0..12).map(|p| format!("{p},x\n")).collect();
    let failed = error(&format!("p,t\n{many}"), "p=parameter,t=metric");
    assert!(
        failed.ends_with("The rows at lines 3, 4, 5, 6, 7, 8, 9, 10 and 3 more cannot be read either."),
        "{failed}"
    );
    let clock = error("p,t\n1,1:02:03\n", "p=parameter,t=metric");
    assert!(clock.contains("Write seconds: 3723 if these are hours, minutes and seconds"), "{clock}");
    // Values of two columns would be repetitions of one another.
    let twice = error("a title\np,t,t\n1,2,3\n", "p=parameter,t=metric");
    assert!(twice.starts_with("input:2:3: the header names the column `t` twice"), "{twice}");
    assert!(read("p,u,u,t\n1,2,3,4\n", "p=parameter,t=metric").is_ok(), "what has no role may stand twice");
    let twice = error("p,q,t\n1,2,3\n", "p=parameter,q=parameter:p,t=metric");
    assert!(twice.contains("`p` and `q` are both the parameter `p`") && twice.contains("q=parameter:other"), "{twice}");
    assert!(error("p,t\n1,2\n", "p=parameter,t=metric,p=callpath").contains("the column `p` has two roles"));
}

#[test]
fn a_column_without_a_role_that_makes_repetitions_is_told() {
    let of = |columns: &str| {
        let options = ReadOptions { columns: Some(columns.to_owned()), ..ReadOptions::default() };
        let warnings = read_with(&dataset("ls1_mardyn/ls1-bench1.csv"), &options).warnings;
        warnings.into_iter().map(|w| (w.code, w.message)).collect::<Vec<_>>()
    };
    let told = of("density=parameter,time=metric,vectorize_code=callpath");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].0 == "W103" && told[0].1.contains("`cutoff` has no role and 5 values"), "{told:?}");
    assert_eq!(of("density=parameter,cutoff=parameter,time=metric,vectorize_code=callpath"), []);
}

/// Layouts as MARTA, JUBE and ReFrame write them, with what surrounds the columns that matter.
#[test]
fn tables_of_harnesses_are_read_as_they_are_printed() {
    let read = |text: &str, columns: &str| {
        let columns = Some(columns.to_owned());
        formats::read_bytes("input", text.into(), &ReadOptions { columns, ..ReadOptions::default() }).unwrap()
    };
    // MARTA: flags with blanks around them, counters with colons in their names.
    let marta = "compiler,compiler_flags,N_THREADS,SIZE,VERSION,MEM_LOAD_UOPS_RETIRED:L1_HIT,n_thread,tsc,BANDWIDTH\n\
            gcc-11, -march=native -O3 ,1,1024,triad,297203.0,0.0,60779160.0,13.912\n\
            gcc-11, -march=native -O3 ,2,1024,triad,288093.0,0.0,30762186.0,27.916\n";
    let roles = "N_THREADS=parameter:threads,SIZE=parameter:n,compiler=callpath,VERSION=callpath,\
            MEM_LOAD_UOPS_RETIRED:L1_HIT=metric:hits,tsc=metric:cycles";
    let input = read(marta, roles);
    assert_eq!(input.experiment.parameters, ["threads", "n"]);
    let hits = values(&input, "gcc-11->triad", "hits", None);
    assert_eq!(hits, [(vec![1.0, 1024.0], vec![297_203.0]), (vec![2.0, 1024.0], vec![288_093.0])]);
    assert_eq!(values(&input, "gcc-11->triad", "cycles", None)[1].1, [30_762_186.0]);

    // JUBE's pretty table and its table of comma-separated values.
    let jube = "result:\n| jube_res_analyser | jube_wp_iteration | nodes | runtime[s] |\n\
            |-------------------|-------------------|-------|------------|\n\
            |           analyse |                 0 |     1 |       20.5 |\n\
            |           analyse |                 1 |     1 |       21.5 |\n\
            |           analyse |                 0 |     2 |       11.0 |\n";
    let roles = "nodes=parameter,runtime[s]=metric:time[s],jube_wp_iteration=repetition";
    let expected = [(vec![1.0], vec![20.5, 21.5]), (vec![2.0], vec![11.0])];
    for heading in ["", "result:\n"] {
        let text = jube.replacen("result:\n", heading, 1);
        assert_eq!(values(&read(&text, roles), "<root>", "time", None), expected, "{heading:?}");
    }
    let csv =
        "jube_res_analyser,jube_wp_iteration,nodes,runtime[s]\nanalyse,0,1,20.5\nanalyse,1,1,21.5\nanalyse,0,2,11.0\n";
    assert_eq!(values(&read(csv, roles), "<root>", "time", None), expected);

    // ReFrame's log of performance, whose lines end with a bar, and its report, drawn with lines.
    let log = "job_completion_time|version|display_name|system|num_tasks|result|elapsed_value|elapsed_unit|\n\
            2024-02-21T22:51:16|4.5.1|osu_test|tresa|2|pass|120.5|ms|\n\
            2024-02-21T22:52:16|4.5.1|osu_test|tresa|4|pass|70.25|ms|\n";
    let roles = "num_tasks=parameter:p,display_name=callpath,elapsed_value=metric:time,elapsed_unit=unit";
    let input = read(log, roles);
    assert_eq!(values(&input, "osu_test", "time", None), [(vec![2.0], vec![0.1205]), (vec![4.0], vec![0.07025])]);
    let report = "┍━━━━━━━━━━┯━━━━━━━━━━━━━┯━━━━━━━━━┯━━━━━━━━┯━━━━━━━━━┑\n\
            │ name     │   num_tasks │ pvar    │   pval │ punit   │\n\
            ┝━━━━━━━━━━┿━━━━━━━━━━━━━┿━━━━━━━━━┿━━━━━━━━┿━━━━━━━━━┥\n\
            │ osu_test │           2 │ elapsed │  120.5 │ ms      │\n\
            ├──────────┼─────────────┼─────────┼────────┼─────────┤\n\
            │ osu_test │           4 │ elapsed │  70.25 │ ms      │\n\
            ┕━━━━━━━━━━┷━━━━━━━━━━━━━┷━━━━━━━━━┷━━━━━━━━┷━━━━━━━━━┙\n";
    let input = read(report, "num_tasks=parameter:p,name=callpath,pvar=name,pval=value,punit=unit");
    assert_eq!(values(&input, "osu_test", "elapsed", None), [(vec![2.0], vec![0.1205]), (vec![4.0], vec![0.07025])]);
}

/// What `poise export --to csv` writes is read back.
#[test]
fn our_own_table_is_read_back() {
    let input = read("tools/mpip");
    let mut bytes = Vec::new();
    formats::write(&input.experiment, Format::Csv, &mut bytes).unwrap();
    let again = read_bytes(bytes).unwrap();
    assert_eq!(again.format, Format::Csv);
    let metric = |i: &Input| i.experiment.metrics.iter().map(|m| format!("{m:?}")).collect::<BTreeSet<_>>();
    assert_eq!(metric(&again), metric(&input));
    let sum = |i: &Input| {
        let mut v = i.experiment.values.clone();
        v.sort_by(f64::total_cmp);
        v
    };
    assert_eq!(sum(&again), sum(&input));
}
