//! The notebook of `examples/notebook`: its outputs are those of a whole run, say what poise says now, and its cells run. The
//! last needs a Python with pandas and matplotlib, which `POISE_TEST_PANDAS` names, and is skipped, saying so, without one.
//! `CONTRIBUTING.md` has the command that renews the outputs.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{World, outcome};
use serde_json::Value;

const NOTEBOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/notebook/models.ipynb");

/// What one cell showed: its tables as rows of cells, and its texts.
type Shown = (Vec<Vec<String>>, String);

/// The cells of all rows of an HTML table, without the header's and those of row names.
fn rows(html: &str) -> Vec<Vec<String>> {
    let text = |cell: &str| cell.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let cells = |row: &str| {
        row.split("<td>").skip(1).filter_map(|c| c.split_once("</td>")).map(|(cell, _)| text(cell)).collect::<Vec<_>>()
    };
    html.split("<tr").map(cells).filter(|row| !row.is_empty()).collect()
}

/// A text of a notebook, which may be in pieces.
fn joined(text: &Value) -> String {
    match text {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

/// What each code cell of the notebook shows as it is stored.
fn stored() -> Vec<Shown> {
    let notebook: Value = serde_json::from_str(&std::fs::read_to_string(NOTEBOOK).unwrap()).unwrap();
    let code = notebook["cells"].as_array().unwrap().iter().filter(|c| c["cell_type"] == "code");
    let shown = |cell: &Value| {
        let outputs = cell["outputs"].as_array().unwrap();
        let tables = outputs.iter().flat_map(|o| rows(&joined(&o["data"]["text/html"]))).collect();
        (tables, outputs.iter().map(|o| joined(&o["text"])).collect())
    };
    code.map(shown).collect()
}

/// Whether a cell of a table holds this number, as far as it has digits; what resampling moves may move by a fiftieth.
fn is_near(cell: &str, number: &Value) -> bool {
    let (shown, number) = (cell.parse::<f64>().unwrap(), number.as_f64().unwrap());
    let last_digit = 10_f64.powi(-i32::try_from(cell.split_once('.').map_or(0, |(_, d)| d.len())).unwrap());
    (shown - number).abs() <= 0.02 * number.abs() + last_digit
}

/// No cell was left out or failed, and no folder is that of somebody's machine.
#[test]
fn the_outputs_are_those_of_a_whole_run() {
    let text = std::fs::read_to_string(NOTEBOOK).unwrap();
    assert!(text.len() < 100_000, "{} bytes", text.len());
    for folder in ["/home/", "/tmp/", "/root/", "/Users/"] {
        assert!(!text.contains(folder), "{folder}");
    }
    let notebook: Value = serde_json::from_str(&text).unwrap();
    let cells = notebook["cells"].as_array().unwrap();
    let code: Vec<_> = cells.iter().filter(|c| c["cell_type"] == "code").collect();
    for (number, cell) in code.iter().enumerate() {
        assert_eq!(cell["execution_count"], number + 1, "{cell}");
        assert!(cell["outputs"].as_array().unwrap().iter().all(|o| o["output_type"] != "error"), "{cell}");
    }
    assert!(code.len() >= 5);
}

#[test]
fn the_outputs_say_what_poise_says_now() {
    let (world, stored) = (World::new(), stored());
    let input = format!("{}/datasets/relearn2p/relearn_data.txt", env!("CARGO_MANIFEST_DIR"));
    let says = |arguments: &[&str]| -> Value {
        serde_json::from_str(&world.poise([arguments, &["--format", "json"]].concat()).status(0).stdout).unwrap()
    };
    let path = |entry: &Value| {
        let names = entry["callpath"].as_array().unwrap().iter().filter_map(Value::as_str);
        names.collect::<Vec<_>>().join(" -> ")
    };

    // The first models in the order of the file.
    let models = says(&["model", &input]);
    let table = &stored[1].0;
    assert_eq!(table.len(), 8);
    for (row, model) in table.iter().zip(models["models"].as_array().unwrap()) {
        let growth = |p: &str| joined(&model["growth"][p]["exponent"]);
        let exact = [path(model), joined(&model["metric"]), joined(&model["expression"]), growth("p"), growth("n")];
        assert_eq!([&row[0], &row[1], &row[2], &row[4], &row[5]], exact.each_ref());
        assert!(is_near(&row[3], &model["quality"]["noise"]), "{row:?}");
    }

    // The largest predictions, with their intervals.
    let predicted = says(&["predict", &input, "--at", "p=4096,n=9000"]);
    let mut predicted = predicted["predictions"].as_array().unwrap().clone();
    predicted.sort_by(|a, b| b["value"].as_f64().unwrap().total_cmp(&a["value"].as_f64().unwrap()));
    let table = &stored[2].0;
    assert_eq!(table.len(), 8);
    for (row, prediction) in table.iter().zip(&predicted) {
        assert_eq!(row[0], path(prediction));
        for (cell, name) in row[1..].iter().zip(["value", "lower", "upper"]) {
            assert!(is_near(cell, &prediction[name]), "{name} of {row:?}: {prediction}");
        }
    }
}

/// A Python that has what the notebook imports.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("POISE_TEST_PANDAS").map(PathBuf::from);
    let python = named.unwrap_or_else(|| PathBuf::from("python3"));
    let found = Command::new(&python).args(["-c", "import pandas, matplotlib"]).output();
    let found = found.is_ok_and(|o| o.status.success());
    if !found {
        eprintln!("skipped: {} has no pandas and matplotlib; name a Python in POISE_TEST_PANDAS", python.display());
    }
    found.then_some(python)
}

/// Runs all cells, as Jupyter would, and compares what they show with what is stored.
#[test]
fn the_cells_run() {
    let Some(python) = python() else { return };
    let world = World::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/notebook.py");
    let mut command = world.command(&python.display().to_string(), [script, NOTEBOOK]);
    let ran = command.current_dir(Path::new(NOTEBOOK).parent().unwrap()).env("MPLBACKEND", "Agg").output().unwrap();
    let shown: Value = serde_json::from_str(&outcome(ran).status(0).stdout).unwrap();
    let stored = stored();
    assert_eq!(shown.as_array().unwrap().len(), stored.len());
    for (now, (table, text)) in shown.as_array().unwrap().iter().zip(stored) {
        let now_table = rows(&joined(&now["html"]));
        assert_eq!(now_table.len(), table.len(), "{now}");
        for (a, b) in now_table.iter().flatten().zip(table.iter().flatten()) {
            assert!(
                a == b || (b.parse::<f64>().is_ok() && is_near(b, &Value::from(a.parse::<f64>().unwrap()))),
                "{a} and {b}"
            );
        }
        // Errors of rounding may differ; what was compared may not.
        assert_eq!(joined(&now["text"]).split(" to ").next(), text.split(" to ").next());
    }
}
