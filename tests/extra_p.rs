//! What `poise export --to extra-p` writes, opened by Extra-P itself, and what Extra-P writes, read by poise. Skipped,
//! saying so, where no Python with Extra-P is found: `POISE_TEST_EXTRAP` names one.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::World;
use serde_json::Value;

/// A Python that can import Extra-P.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("POISE_TEST_EXTRAP").map(PathBuf::from);
    let python = named.unwrap_or_else(|| PathBuf::from("python3"));
    let found = Command::new(&python).args(["-c", "import extrap"]).output().is_ok_and(|o| o.status.success());
    if !found {
        eprintln!(
            "skipped: {} has no Extra-P; `pip install extrap`, then name its Python in POISE_TEST_EXTRAP",
            python.display()
        );
    }
    found.then_some(python)
}

fn extra_p(python: &Path, archive: &Path, arguments: &[&str]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/extra_p.py");
    let output = Command::new(python).arg(script).arg(archive).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let start = text.find('{').unwrap_or(text.len());
    serde_json::from_str(&text[start..]).unwrap_or(Value::Null)
}

fn dataset(name: &str) -> String {
    format!("{}/datasets/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn close(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[test]
fn extra_p_finds_our_measurements_and_models_in_our_archive() {
    let Some(python) = python() else { return };
    let points = [[32.0, 5000.0], [512.0, 9000.0], [4096.0, 48000.0]];
    let at: Vec<String> = points.iter().map(|p| format!("p={},n={}", p[0], p[1])).collect();
    let written: Vec<String> = points.iter().map(|p| format!("{},{}", p[0], p[1])).collect();
    let written: Vec<&str> = written.iter().map(String::as_str).collect();
    let world = World::new();
    let input = dataset("relearn2p/relearn_data.txt");
    world.poise(["export", &input, "--to", "extra-p", "-o", "ours.extra-p"]).status(0);
    let found = extra_p(&python, &world.path("ours.extra-p"), &written);
    assert_eq!(found["parameters"], serde_json::json!(["p", "n"]));

    let mut compared = 0;
    for (i, at) in at.iter().enumerate() {
        let predicted = world.poise(["predict", &input, "--at", at, "--format", "json"]).status(0).stdout;
        let predicted: Value = serde_json::from_str(&predicted).unwrap();
        let models = found["models"].as_array().unwrap();
        assert_eq!(models.len(), predicted["predictions"].as_array().unwrap().len());
        for (model, ours) in models.iter().zip(predicted["predictions"].as_array().unwrap()) {
            let path: Vec<&str> = ours["callpath"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
            assert_eq!(model["callpath"], path.join("->"));
            assert_eq!(model["modeler"], "Counterpoise");
            assert!(close(&model["at"][i], &ours["value"]), "{model} {ours}");
            compared += 1;
        }
    }
    assert_eq!(compared, 3 * 14);

    // Our own reading of the text is the other opinion on the measurements.
    let lines = world.poise(["export", &input, "--to", "extrap-jsonl"]).status(0).stdout;
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let series = found["measurements"].as_array().unwrap().iter().find(|m| m["callpath"] == line["callpath"]);
        let series = series.unwrap();
        let point = serde_json::json!([line["params"]["p"].as_f64().unwrap(), line["params"]["n"].as_f64().unwrap()]);
        let index = series["points"].as_array().unwrap().iter().position(|p| *p == point).unwrap();
        assert_eq!(series["values"][index], line["value"]);
        let values: Vec<f64> = line["value"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!(close(&series["statistics"][index][1], &mean.into()));
    }
}

#[test]
fn what_extra_p_writes_is_read_value_by_value() {
    let Some(python) = python() else { return };
    let world = World::new();
    for (name, file) in [("text", "relearn2p/relearn_data.txt"), ("tree", "extrap_formats/call_tree.txt")] {
        let archive = world.path(&format!("{name}.extra-p"));
        extra_p(&python, &archive, &["--write", &dataset(file)]);
        let original = world.poise(["export", &dataset(file), "--to", "extrap-jsonl"]).status(0).stdout;
        let read = world.poise(["export", archive.to_str().unwrap(), "--to", "extrap-jsonl"]).status(0);
        assert_eq!(read.stdout, original, "{name}");
        assert!(read.stderr.contains("models of `Default` were not read"), "{}", read.stderr);
    }
}
