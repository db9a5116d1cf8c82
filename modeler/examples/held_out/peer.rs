//! Extra-P beside us: its Python library, run by the interpreter that its program `extrap` names in its first line.

use crate::Split;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const SCRIPT: &str = include_str!("extrap_models.py");

/// An installed Extra-P.
pub(crate) struct Peer {
    interpreter: PathBuf,
    /// As it names itself.
    pub version: String,
}

impl Peer {
    /// The one whose `extrap` is first on the search path.
    pub fn find() -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let program = std::env::split_paths(&path).map(|folder| folder.join("extrap")).find(|p| p.is_file())?;
        let text = std::fs::read_to_string(program).ok()?;
        let interpreter = PathBuf::from(text.lines().next()?.strip_prefix("#!")?.trim());
        let version = "import extrap; print(extrap.__version__)";
        let output = Command::new(&interpreter).args(["-c", version]).output().ok()?;
        let version = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        output.status.success().then_some(Self { interpreter, version })
    }

    /// Its predictions at the held-out points, not a number where it has none.
    pub fn predict(&self, parameters: &[String], splits: &[&Split]) -> Vec<Vec<f64>> {
        let series = |s: &&Split| json!({"points": s.points, "values": s.values, "at": s.at});
        let request = json!({"parameters": parameters, "series": splits.iter().map(series).collect::<Vec<_>>()});
        let mut child = Command::new(&self.interpreter)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the interpreter of `extrap` starts");
        child.stdin.take().expect("it is piped").write_all(request.to_string().as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let answer: Vec<Vec<Value>> = serde_json::from_slice(&output.stdout).expect("the script answers in JSON");
        answer.iter().map(|of| of.iter().map(|v| v.as_f64().unwrap_or(f64::NAN)).collect()).collect()
    }
}
