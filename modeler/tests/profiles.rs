//! Profiles of other tools, against what independent programs read from the same files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use modeler::experiment::OverRanks;
use modeler::formats::{self, Format, Input, ReadError, ReadOptions, Scaling, Values};

fn dataset(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(path)
}

fn read_with(path: &Path, options: &ReadOptions) -> Input {
    formats::read(&[path.to_owned()], options).unwrap_or_else(|e| panic!("{e}"))
}

fn read(path: &str) -> Input {
    read_with(&dataset(path), &ReadOptions::default())
}

fn read_bytes(bytes: Vec<u8>) -> Result<Input, ReadError> {
    formats::read_bytes("input", bytes, &ReadOptions::default())
}

/// Values point by point of one metric at one call path.
fn values(input: &Input, path: &str, metric: &str, over: Option<OverRanks>) -> Vec<(Vec<f64>, Vec<f64>)> {
    let e = &input.experiment;
    let is_it = |m: &modeler::experiment::Metric| m.name == metric && m.over_ranks == over;
    let found = e.series.iter().find(|s| e.path(s.callpath).join("->") == path && is_it(&e.metrics[s.metric as usize]));
    let series = found.unwrap_or_else(|| panic!("no {metric} over {over:?} at {path}"));
    e.measurements(series).map(|(point, values)| (point.to_vec(), values.to_vec())).collect()
}

fn codes(input: &Input) -> Vec<&str> {
    input.warnings.iter().map(|w| w.code).collect()
}

mod cube {
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
        for part in ["tree/profile.cubex: the name says no parameter", "r1/profile.cubex says the parameters (p, size)"]
        {
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
            input
                .experiment
                .series
                .iter()
                .all(|s| input.experiment.measurements(s).all(|(_, values)| values.len() == 1))
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
        for (length, what) in [(520, "at byte 0: the archive ends inside its member"), (5000, "no member `anchor.xml`")]
        {
            let error = read_bytes(good[..length].to_vec()).map(|_| ()).unwrap_err();
            assert_eq!(error.exit_code(), 3);
            assert!(error.to_string().contains(what), "{error}");
        }
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

/// Files that tools wrote; the numbers were taken from them by hand or with awk.
mod tools {
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
        assert_eq!(
            (input.format, &input.experiment.parameters[..]),
            (Format::MpiP, &["p".to_owned(), "n".to_owned()][..])
        );
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
            text += "@--- Callsites: 1 ---\n1 0 solve.c 3 solve Send\n@--- Callsite Time statistics (all, milliseconds) ---\n";
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
                assert!(
                    p.upper / p.value >= 1.0 + 1.6 * floor && p.lower / p.value <= 1.0 - 1.6 * floor,
                    "{name}: {p:?}"
                );
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
        let csv = "jube_res_analyser,jube_wp_iteration,nodes,runtime[s]\nanalyse,0,1,20.5\nanalyse,1,1,21.5\nanalyse,0,2,11.0\n";
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
        assert_eq!(
            values(&input, "osu_test", "elapsed", None),
            [(vec![2.0], vec![0.1205]), (vec![4.0], vec![0.07025])]
        );
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
}

/// Formats whose tools are not at hand here: texts by hand, after the real files that the readers were tried on.
mod by_hand {
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
            assert_eq!(
                values(&input, "main->solve, twice", "time", Some(OverRanks::Maximum)),
                [(vec![2.0], vec![4.0])]
            );
        }
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
        assert!(
            input.warnings[0].to_string().contains("packed with gzip and damaged or cut off"),
            "{}",
            input.warnings[0]
        );
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
        assert!(
            empty.iter().zip(&told).all(|(name, told)| told.contains(name) && told.contains("cut off")),
            "{told:?}"
        );
    }

    /// Beyond what tells the format, wherever the end is missing: an error that says so, never fewer or other values.
    #[test]
    fn files_that_were_cut_off_are_told_so() {
        let cut = |bytes: &[u8], length: usize| {
            let error = read_bytes(bytes[..length].to_vec()).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("cut off") && error.contains("Copy the file again"), "{length}: {error}");
        };
        let files =
            ["google_benchmark.json", "hyperfine.json", "spin.n200000.pb.gz"].map(|name| format!("tools/{name}"));
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

    #[test]
    fn errors_in_profiles_name_their_place() {
        let error = |text: &str| read_bytes(text.into()).map(|_| ()).unwrap_err().to_string();
        let cases = [
            ("T:1:2 :x:3\n", "input:1:7: `:x:3`"),
            (
                "__rec=node,id=1,attr=8,data=a\n__rec=ctx,attr=1=1,data=2\n",
                "input:2:1: there are 2 attributes and 1 values",
            ),
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
                "input:1:10: this row has 1 cells for 2 columns",
            ),
        ];
        for (text, expected) in cases {
            let error = error(text);
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
