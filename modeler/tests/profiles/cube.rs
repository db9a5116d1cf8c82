//! Cube 4 profiles, as Score-P writes them.

use super::*;

/// Each line of what pycubexr reads, file by file.
#[test]
fn profiles_read_as_pycubexr_reads_them() {
    let summary = std::fs::read_to_string(dataset("cube/summary.tsv")).unwrap();
    let lines: Vec<Vec<&str>> = summary.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let files: BTreeSet<&str> = lines.iter().map(|line| line[0]).collect();
    let mut checked = 0;
    for file in files {
        let input = read(&format!("cube/{file}"));
        for line in lines.iter().filter(|line| line[0] == file) {
            let numbers: Vec<f64> = line[4..].iter().map(|n| n.parse().unwrap()).collect();
            let overs = [OverRanks::Mean, OverRanks::Minimum, OverRanks::Maximum];
            for (over, expected) in overs.into_iter().zip(numbers) {
                let read = values(&input, line[1], line[2], Some(over));
                assert_eq!((read.len(), read[0].1.len()), (1, 1), "{line:?}");
                let difference = (read[0].1[0] - expected).abs();
                // Exclusive times are differences of inclusive ones.
                assert!(difference <= 1e-12 * expected.abs() + 1e-12, "{line:?} {over:?}: {}", read[0].1[0]);
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 3 * lines.len());
    assert!(checked > 1300, "{checked}");
}

#[test]
fn folders_say_the_points_and_constant_parameters_are_left_out() {
    let input = read("cube/matrix");
    assert_eq!(input.format, Format::Cubex);
    assert_eq!(input.experiment.parameters, ["x"]);
    let points: Vec<f64> = input.experiment.points.iter().map(|p| p[0]).collect();
    assert_eq!(points, [1.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2000.0]);
    assert_eq!(input.runs.len(), 9);
    assert_eq!(input.runs[0].constant, [("y".to_owned(), 1.0), ("z".to_owned(), 1.0)]);
    assert_eq!(input.runs[0].repetition, Some(1));
    let pattern = Some("mm.x{size}y*".to_owned());
    let options = ReadOptions { pattern, ..ReadOptions::default() };
    assert_eq!(read_with(&dataset("cube/matrix"), &options).experiment.parameters, ["size"]);
}

/// Score-P states the bytes of a reduction's operand once for each of p ranks: 152 p here, for 19 operands of 8 bytes.
#[test]
fn operands_of_reductions_are_counted_once() {
    let input = read("cube/lulesh");
    let e = &input.experiment;
    let path = |name: &str| {
        let paths = e.series.iter().map(|s| e.path(s.callpath).join("->"));
        paths.into_iter().find(|p| p.ends_with(name)).unwrap()
    };
    for (operation, metric, over) in [
        ("MPI_Allreduce", "bytes_sent", OverRanks::Maximum),
        ("MPI_Allreduce", "bytes_received", OverRanks::Maximum),
        ("MPI_Reduce", "bytes_sent", OverRanks::Maximum),
        ("MPI_Reduce", "bytes_received", OverRanks::Maximum),
    ] {
        let path = path(operation);
        let calls: Vec<f64> = values(&input, &path, "visits", Some(over)).into_iter().map(|(_, v)| v[0]).collect();
        let bytes = values(&input, &path, metric, Some(over));
        assert_eq!(
            bytes.iter().map(|(_, v)| v[0]).collect::<Vec<_>>(),
            calls.iter().map(|c| 8.0 * c).collect::<Vec<_>>(),
            "{operation} {metric}"
        );
    }
}

/// As `scaling_type` in Extra-P's reader: all locations, those that are not idle, or their sum.
#[test]
fn scaling_says_what_values_over_threads_mean() {
    let of = |scaling: Scaling, over| {
        let input = read_with(&dataset("cube/threads"), &ReadOptions { scaling, ..ReadOptions::default() });
        let e = &input.experiment;
        let path = e.path(e.series[0].callpath).join("->");
        values(&input, &path, "visits", over).into_iter().map(|(_, v)| v[0]).collect::<Vec<f64>>()
    };
    let mean = of(Scaling::Weak, Some(OverRanks::Mean));
    let threaded = of(Scaling::WeakThreaded, Some(OverRanks::Mean));
    let sum = of(Scaling::Strong, None);
    assert_eq!(sum, of(Scaling::Weak, Some(OverRanks::Sum)));
    for ((mean, threaded), sum) in mean.iter().zip(&threaded).zip(&sum) {
        assert!(mean <= threaded && threaded <= sum, "{mean} {threaded} {sum}");
    }
    assert!(mean != threaded || mean != sum, "{mean:?} {threaded:?} {sum:?}");
}

/// The sum over ranks of an inclusive value is that of the exclusive ones below it, whichever of them is stored.
#[test]
fn inclusive_values_are_those_of_whole_subtrees() {
    let options = ReadOptions { values: Some(Values::Inclusive), ..ReadOptions::default() };
    for folder in ["matrix", "threads", "big_endian"] {
        let path = dataset("cube").join(folder);
        let (own, whole) = (read(&format!("cube/{folder}")), read_with(&path, &options));
        let mut checked = 0;
        for metric in ["time", "visits"] {
            let own = sums(&own, metric);
            for (key, inclusive) in sums(&whole, metric) {
                let below = |(path, point): &&(Vec<String>, usize)| path.starts_with(&key.0) && *point == key.1;
                let sum: f64 = own.keys().filter(below).map(|key| own[key]).sum();
                assert!((inclusive - sum).abs() <= 1e-9 * sum, "{folder} {metric} {key:?}: {inclusive} {sum}");
                checked += 1;
            }
        }
        assert!(checked > 4, "{folder}: {checked}");
    }
    // As pycubexr reads it without conversion.
    let one = read_with(&dataset("cube/matrix/mm.x10y1z1.r1/profile.cubex"), &options);
    assert_eq!(values(&one, "main", "time", Some(OverRanks::Mean))[0].1, [1.7147e-05]);
    assert_eq!(values(&one, "main", "PAPI_L2_TCM", Some(OverRanks::Mean))[0].1, [249.0]);
    let folded = formats::read(&[dataset("tools/spin.n200000.folded")], &options).map(|_| ()).unwrap_err();
    assert!(folded.to_string().contains("values of folded are read without those of the callees"), "{folded}");
}

/// Sums over ranks by call path and point.
fn sums(input: &Input, metric: &str) -> BTreeMap<(Vec<String>, usize), f64> {
    let e = &input.experiment;
    let wanted = e.metric(metric, Some(OverRanks::Sum)).unwrap();
    let of = |s: &modeler::experiment::Series| {
        let path: Vec<String> = e.path(s.callpath).into_iter().map(str::to_owned).collect();
        let points = e.layouts[s.layout as usize].points.iter().map(|&p| p as usize);
        points.zip(e.values_of(s)).map(|(p, &v)| ((path.clone(), p), v)).collect::<Vec<_>>()
    };
    e.series.iter().filter(|s| s.metric == wanted).flat_map(of).collect()
}

#[test]
fn structured_types_become_one_metric_for_each_of_their_numbers() {
    let input = read("cube/types/cube-values_example.cubex");
    let names: BTreeSet<&str> = input.experiment.metrics.iter().map(|m| m.name.as_str()).collect();
    for name in ["RATE.numerator", "TAU_ATOMIC.sum_of_squares", "HISTOGRAM5[4]", "NDOUBLES10[9]", "COMPLEX.real"] {
        assert!(names.contains(name), "{name} {names:?}");
    }
    assert_eq!(codes(&input), ["W103"], "only SCALE_FUNC is not read");
}

#[test]
fn names_of_folders_with_repetitions_are_the_runs_and_must_agree() {
    let folder = tempfile::tempdir().unwrap();
    let add = |run: &str, file: &str| {
        std::fs::create_dir_all(folder.path().join(run)).unwrap();
        let to = folder.path().join(run).join(file);
        std::fs::copy(dataset("cube/matrix/mm.x10y1z1.r1/profile.cubex"), &to).unwrap();
        to
    };
    let read = |path: &std::path::Path| formats::read(&[path.to_owned()], &ReadOptions::default());
    let input = read(&add("bt.p2.r1", "cube4.8_bug.cubex")).unwrap();
    assert_eq!(
        (&input.experiment.parameters[..], &input.experiment.points[0][..]),
        (&["p".to_owned()][..], &[2.0][..])
    );
    std::fs::remove_dir_all(folder.path().join("bt.p2.r1")).unwrap();
    add("fastest.p16.size9.r1", "profile.cubex");
    add("tree", "profile.cubex");
    let error = read(folder.path()).map(|_| ()).unwrap_err().to_string();
    for part in ["tree/profile.cubex: the name says no parameter", "r1/profile.cubex says the parameters (p, size)"] {
        assert!(error.contains(part), "{error}");
    }
}

/// Folders are searched six levels deep; what lies deeper is told, not forgotten.
#[test]
fn profiles_that_lie_too_deep_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let add = |run: &str| {
        std::fs::create_dir_all(folder.path().join(run)).unwrap();
        let from = dataset("cube/matrix/mm.x10y1z1.r1/profile.cubex");
        std::fs::copy(from, folder.path().join(run).join("profile.cubex")).unwrap();
    };
    (1..=5).for_each(|p| add(&format!("monday/mm.p{p}.r1")));
    add("tuesday/again/mm.p6.r1");
    add("tuesday/again/and/again/deep/down/mm.p7.r1");
    std::fs::create_dir_all(folder.path().join("tuesday/again/nothing/in/it")).unwrap();
    let read = |path: &std::path::Path| formats::read(&[path.to_owned()], &ReadOptions::default()).unwrap();
    let input = read(folder.path());
    assert_eq!(input.experiment.points.len(), 6);
    let told: Vec<String> = input.warnings.iter().map(|w| w.place.to_string()).collect();
    assert_eq!((codes(&input), told.len()), (vec!["W101"], 1), "{:?}", input.warnings);
    assert!(told[0].ends_with("tuesday/again/and/again/deep"), "{told:?}");
    let nearer = read(&folder.path().join("tuesday/again"));
    assert_eq!((nearer.experiment.points.len(), codes(&nearer).len()), (2, 0), "{:?}", nearer.warnings);
}

/// What a link leads to is found in its own place, and once.
#[test]
fn links_within_a_folder_are_not_followed() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let add = |folder: &Path, run: &str| {
        std::fs::create_dir_all(folder.join(run)).unwrap();
        let from = dataset("cube/matrix/mm.x10y1z1.r1/profile.cubex");
        std::fs::copy(from, folder.join(run).join("profile.cubex")).unwrap();
    };
    add(folder.path(), "mm.p1.r1");
    add(folder.path(), "mm.p2.r1");
    add(elsewhere.path(), "mm.p4.r1");
    let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
    link(&folder.path().join("mm.p2.r1"), "latest");
    link(folder.path(), "mm.p1.r1/up");
    link(Path::new("nowhere"), "broken");
    link(elsewhere.path(), "more");
    let input = read_with(folder.path(), &ReadOptions::default());
    assert_eq!(input.experiment.points, [[1.0], [2.0], [4.0]]);
    assert!(
        input.experiment.series.iter().all(|s| input.experiment.measurements(s).all(|(_, values)| values.len() == 1))
    );
}

#[test]
fn a_wrong_checksum_is_mentioned_and_a_file_cut_off_is_refused() {
    let good = std::fs::read(dataset("cube/matrix/mm.x10y1z1.r1/profile.cubex")).unwrap();
    let mut wrong = good.clone();
    wrong[150] ^= 1;
    let (good_input, wrong_input) = (read_bytes(good.clone()).unwrap(), read_bytes(wrong).unwrap());
    assert_eq!((codes(&good_input), codes(&wrong_input)), (vec![], vec!["W107"]));
    assert_eq!(good_input.experiment.values, wrong_input.experiment.values);
    for (length, what) in [(520, "at byte 0: the archive ends inside its member"), (5000, "no member `anchor.xml`")] {
        let error = read_bytes(good[..length].to_vec()).map(|_| ()).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains(what), "{error}");
    }
}

/// Score-P's `min_time` and the minimum of `time` over ranks keep different names.
#[test]
fn metrics_of_a_profile_are_exported_under_different_names() {
    let input = read("cube/matrix");
    let mut bytes = Vec::new();
    formats::write(&input.experiment, Format::ExtraPJsonLines, &mut bytes).unwrap();
    let again = read_bytes(bytes).unwrap().experiment;
    assert_eq!(again.metrics.len(), input.experiment.metrics.len());
    assert_eq!(again.values.len(), input.experiment.values.len());
}
