//! Extra-P's archives: what Extra-P 4.2.5 wrote is read value by value, what we write has its structure and evaluates to
//! our models' values, and damaged or hostile archives are refused.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use modeler::experiment::{Metric, OverRanks};
use modeler::formats::{self, Format, Input, ReadError, ReadOptions, write_extra_p};
use modeler::model::Kind;
use modeler::{Experiment, ExperimentBuilder, Fits, Options, fit};
use serde_json::Value;
use zip::write::SimpleFileOptions;

fn dataset(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(path)
}

fn read(bytes: Vec<u8>) -> Result<Input, ReadError> {
    formats::read_bytes("a.extra-p", bytes, &ReadOptions::default())
}

fn read_dataset(path: &str) -> Input {
    formats::read(&[dataset(path)], &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn lines(experiment: &Experiment) -> String {
    let mut bytes = Vec::new();
    formats::write(experiment, Format::ExtraPJsonLines, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Extra-P wrote the archive from that text.
#[test]
fn the_measurements_that_extra_p_kept_are_those_of_its_input() {
    let archive = read_dataset("extrap_formats/values.extra-p");
    assert_eq!(lines(&archive.experiment), lines(&read_dataset("extrap_formats/two_parameters.txt").experiment));
    let warnings: Vec<String> = archive.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("The model of `New model` was not read"), "{warnings:?}");
}

/// An allreduce whose prior has the share (p-1)/p, a computation whose shape its blocks give, and a constant.
fn experiment() -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let mut metric = |name: &str| {
        builder.metric(Metric { name: name.into(), unit: String::new(), over_ranks: Some(OverRanks::Mean) })
    };
    let [time, blocks, bytes, visits] = ["time", "basic_blocks", "bytes_sent", "visits"].map(&mut metric);
    let solve = builder.callpath(["main", "solve"]);
    let reduce = builder.callpath(["main", "solve", "MPI_Allreduce"]);
    for p in [2.0, 4.0, 8.0, 16.0, 32.0_f64] {
        for n in [100.0, 200.0, 400.0, 800.0, 1600.0_f64] {
            let point = builder.point(&[p, n]);
            builder.add(solve, blocks, point, 12.0 + 4.0 * n * n);
            for noise in [1.0, 1.01, 1.03] {
                builder.add(solve, time, point, 1e-9 * noise * n * n);
                let seconds = 2e-6 * p.log2() + 1e-9 * 8.0 * n * (p - 1.0) / p;
                builder.add(reduce, time, point, noise * seconds);
            }
            builder.add(reduce, bytes, point, 8.0 * n);
            builder.add(reduce, visits, point, 1.0);
        }
    }
    builder.finish()
}

fn archive(experiment: &Experiment, fits: &Fits) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_extra_p(experiment, fits, &mut bytes).unwrap();
    bytes
}

fn member(archive: &[u8], name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    zip::ZipArchive::new(Cursor::new(archive)).unwrap().by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

/// A function of Extra-P's schema at a point, by Extra-P's rules.
fn evaluate(function: &Value, x: &[f64]) -> f64 {
    let exponent = |e: &Value| match e.as_str() {
        Some(fraction) => {
            let (a, b) = fraction.split_once('/').unwrap();
            a.parse::<f64>().unwrap() / b.parse::<f64>().unwrap()
        }
        None => e.as_f64().unwrap(),
    };
    let simple = |t: &Value, x: f64| match t["term_type"].as_str().unwrap() {
        "polynomial" => x.powf(exponent(&t["exponent"])),
        "logarithm" => x.log2().powf(exponent(&t["exponent"])),
        other => panic!("{other}"),
    };
    let compound = |t: &Value, x: f64| {
        let product: f64 = t["simple_terms"].as_array().unwrap().iter().map(|s| simple(s, x)).product();
        t["coefficient"].as_f64().unwrap() * product
    };
    let term = |t: &Value| match t.get("parameter_term_pairs") {
        Some(pairs) => {
            let pairs = pairs.as_object().unwrap().iter();
            let product: f64 = pairs.map(|(l, t)| compound(t, x[l.parse::<usize>().unwrap()])).product();
            t["coefficient"].as_f64().unwrap() * product
        }
        None => compound(t, x[0]),
    };
    function["constant_coefficient"].as_f64().unwrap()
        + function["compound_terms"].as_array().unwrap().iter().map(term).sum::<f64>()
}

#[test]
fn our_models_evaluate_to_the_same_numbers_by_extra_ps_rules() {
    let experiment = experiment();
    let fits = fit(&experiment, &Options::default());
    let written: Value = serde_json::from_slice(&member(&archive(&experiment, &fits), "experiment.json")).unwrap();
    assert_eq!(written["parameters"], serde_json::json!(["p", "n"]));
    assert_eq!(written["modelers"][0]["name"], "Counterpoise");
    let mut shares = 0;
    for model in &fits.models {
        let metric = &experiment.metrics[model.metric as usize].name;
        let path = experiment.path(model.callpath).join("->");
        let hypothesis = &written["modelers"][0]["models"][&path][metric]["hypothesis"];
        assert!(hypothesis.is_object(), "{path} {metric}");
        for x in [[2.0, 100.0], [32.0, 1600.0], [4096.0, 48000.0]] {
            let (ours, theirs) = (model.at(&x), evaluate(&hypothesis["function"], &x));
            assert!((ours - theirs).abs() <= 1e-12 * ours.abs(), "{path} {metric} {x:?}: {ours} {theirs}");
        }
        shares += usize::from(hypothesis["function"].to_string().contains("\"exponent\":-1"));
    }
    // Counts at an MPI operation are communication as its time is.
    let kinds = fits.models.iter().map(|m| (experiment.callpaths[m.callpath as usize].name.as_str(), m.kind));
    assert!(kinds.into_iter().all(|(name, kind)| (name == "MPI_Allreduce") == (kind == Kind::Communication)));
    assert_eq!(fits.models.len(), 5);
    assert!(shares >= 1, "the share (p-1)/p of the allreduce: {written}");
}

#[test]
fn repetitions_and_statistics_are_kept() {
    let experiment = experiment();
    let bytes = archive(&experiment, &Fits::default());
    let input = read(bytes.clone()).unwrap();
    assert_eq!(input.warnings, []);
    assert_eq!(lines(&input.experiment), lines(&experiment));
    let written: Value = serde_json::from_slice(&member(&bytes, "experiment.json")).unwrap();
    let first = &written["measurements"]["main->solve"]["time"][0];
    assert_eq!((&first["repetitions"], &first["coordinate"]), (&3.into(), &serde_json::json!([2.0, 100.0])));
    let [a, b, c]: [f64; 3] = [1e-5, 1.01e-5, 1.03e-5];
    let mean = (a + b + c) / 3.0;
    let deviation = (((a - mean).powi(2) + (b - mean).powi(2) + (c - mean).powi(2)) / 3.0_f64).sqrt();
    for (name, expected) in [("mean", mean), ("median", b), ("minimum", a), ("maximum", c), ("std", deviation)] {
        let found = first[name].as_f64().unwrap();
        assert!((found - expected).abs() <= 1e-9 * expected, "{name}: {found} {expected}");
    }
    // One repetition is its own mean and has no array.
    assert!(written["measurements"]["main->solve"]["basic_blocks"][0].get("values").is_none());
}

/// An archive with these members.
fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in members {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn error(bytes: Vec<u8>) -> ReadError {
    let error = read(bytes).map(|_| ()).unwrap_err();
    assert_eq!(error.exit_code(), 3, "{error}");
    error
}

#[test]
fn archives_that_are_cut_off_are_named_as_such() {
    let whole = std::fs::read(dataset("extrap_formats/values.extra-p")).unwrap();
    for length in (4..whole.len()).step_by(97) {
        let error = error(whole[..length].to_vec());
        assert!(error.to_string().starts_with("a.extra-p: this ZIP archive is cut off or damaged"), "{error}");
    }
    assert!(error(zipped(&[("other", b"")])).what.contains("no readable experiment.json"));
}

#[test]
fn an_archive_that_would_fill_the_memory_is_refused() {
    // 32 MiB of blanks shrink to a thousandth.
    let blanks = vec![b' '; 32 << 20];
    let bomb = zipped(&[("experiment.json", &blanks)]);
    assert!(bomb.len() < 1 << 20);
    let error = error(bomb);
    assert!(error.what.contains("over 200 times its size"), "{error}");
}

#[test]
fn references_to_values_that_are_not_there_are_errors_at_their_place() {
    let json = |values: &str| {
        format!(
            "{{\"parameters\":[\"p\"],\"measurements\":{{\"a\":{{\"t\":[\n{{\"coordinate\":[1],\"values\":{values}}}]}}}}}}"
        )
    };
    let index = [b"Extra-P INDEX\0\0\0".as_slice(), &1_u64.to_le_bytes(), &16_u64.to_le_bytes()].concat();
    let array = b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }            \n";
    let values = [b"Extra-P VALUES\0\0".as_slice(), array, &7.5_f64.to_le_bytes()].concat();
    let of = |reference: &str, index: &[u8], values: &[u8]| {
        let json = json(reference);
        zipped(&[("experiment.json", json.as_bytes()), ("values/0.indx", index), ("values/0.vals", values)])
    };
    let good = read(of("[0,0]", &index, &values)).unwrap();
    assert_eq!(good.experiment.values, [7.5]);
    for (bytes, what) in [
        (of("[0,1]", &index, &values), "values/0.vals has no array 1"),
        (of("[1,0]", &index, &values), "no readable values/1.indx"),
        (of("[0]", &index, &values), "does not say which chunk"),
        (of("[0,0]", b"Extra-P INDEX", &values), "values/0.indx is no index"),
        (of("[0,0]", &index, b"Extra-P"), "does not begin as a file of values"),
        (of("[0,0]", &index, &values[..values.len() - 1]), "ends too early"),
    ] {
        let error = error(bytes);
        assert_eq!(error.place.to_string(), "a.extra-p/experiment.json:2:1", "{error}");
        assert!(error.what.contains(what), "{error}");
    }
}

/// Extra-P fills up ranks that have no value with zeros; the mean that it states is of those that have one.
#[test]
fn values_of_ranks_become_their_mean_and_padding_is_noticed() {
    let json = |mean: f64| {
        format!(
            "{{\"parameters\":[\"p\"],\"measurements\":{{\"a\":{{\"t\":[{{\"coordinate\":[1],\"mean\":{mean},\
             \"repetitions\":2,\"values\":[0,0]}}]}}}}}}"
        )
    };
    let index = [b"Extra-P INDEX\0\0\0".as_slice(), &1_u64.to_le_bytes(), &16_u64.to_le_bytes()].concat();
    let array = b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }          \n";
    let numbers = [1.0_f64, 3.0, 5.0, 0.0].map(f64::to_le_bytes).concat();
    let values = [b"Extra-P VALUES\0\0".as_slice(), array, &numbers].concat();
    for (mean, expected, code) in [(2.25, vec![2.0, 2.5], "W105"), (3.0, vec![3.0], "W102")] {
        let json = json(mean);
        let members = [("experiment.json", json.as_bytes()), ("values/0.indx", &index), ("values/0.vals", &values)];
        let input = read(zipped(&members)).unwrap();
        assert_eq!(input.experiment.values, expected);
        assert_eq!(input.warnings.iter().map(|w| w.code).collect::<Vec<_>>(), [code]);
    }
}
