//! What counting costs: `cargo bench -p poise-pass` compiles small programs with and without the pass at -O3, runs them
//! in turns, and prints the ratios of user time and, where valgrind is installed, of instructions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const KERNELS: [&str; 6] = ["gemm.c", "cg.c", "stencil.c", "tree.c", "sort.cpp", "particles.cpp"];
/// Runs per program; the ratio is that of the medians.
const RUNS: usize = 7;

fn main() {
    // Cargo's own checks run every bench target with other arguments.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    println!(
        "{:14}{:>10}{:>10}{:>10}{:>14}{:>14}",
        "program", "time [s]", "idle", "measured", "instr. idle", "measured"
    );
    let mut columns: [Vec<f64>; 4] = Default::default();
    for kernel in KERNELS {
        let (native, counted) = (compile(folder.path(), kernel, false), compile(folder.path(), kernel, true));
        let profile = folder.path().join("profile");
        let mut times: [Vec<f64>; 3] = Default::default();
        for _ in 0..RUNS {
            times[0].push(user_time(&native, None));
            times[1].push(user_time(&counted, None));
            times[2].push(user_time(&counted, Some(&profile)));
        }
        let [alone, idle, measured] = times.map(median);
        let base = instructions(&native, None);
        let ratio = |program: &Path, profile: Option<&Path>| instructions(program, profile) / base;
        let row = [idle / alone, measured / alone, ratio(&counted, None), ratio(&counted, Some(&profile))];
        println!("{kernel:14}{alone:>10.3}{:>10.3}{:>10.3}{:>14.3}{:>14.3}", row[0], row[1], row[2], row[3]);
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    let [a, b, c, d] = columns.map(|c| (c.iter().map(|x| x.ln()).sum::<f64>() / c.len() as f64).exp());
    println!("{:14}{:>10}{a:>10.3}{b:>10.3}{c:>14.3}{d:>14.3}", "geometric mean", "");
}

/// Compiles a kernel; gives the program.
fn compile(folder: &Path, kernel: &str, counted: bool) -> PathBuf {
    let program = folder.join(format!("{kernel}.{counted}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/kernels").join(kernel);
    let mut command = Command::new(if kernel.ends_with("pp") { "clang++-19" } else { "clang-19" });
    command.arg("-O3").arg(source).arg("-o").arg(&program).arg("-lm");
    if counted {
        let path = std::env::current_exe().expect("the bench's own path");
        let folder = path.parent().expect("programs lie in folders").display();
        command.arg(format!("-fpass-plugin={folder}/libpoise_pass.so")).arg("-gline-tables-only");
        command.arg(format!("-L{folder}")).arg("-lpoise_runtime").arg(format!("-Wl,-rpath,{folder}"));
    }
    let status = command.status().expect("clang 19 is installed");
    assert!(status.success(), "{command:?}: {status}");
    program
}

fn prepare(mut command: Command, profile: Option<&Path>) -> Command {
    command.stdout(Stdio::null()).env_remove("POISE_PROFILE");
    if let Some(profile) = profile {
        let _ = std::fs::remove_file(profile);
        command.env("POISE_PROFILE", profile);
    }
    command
}

/// User time of one run in seconds, as the shell's `times` tells it, after the program, for its children.
fn user_time(program: &Path, profile: Option<&Path>) -> f64 {
    let mut command = Command::new("bash");
    command.args(["-c", "TIMEFORMAT=%U; time \"$0\""]).arg(program);
    let output = prepare(command, profile).stderr(Stdio::piped()).output().expect("bash is installed");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.trim().parse().unwrap_or_else(|_| panic!("{}: {text}", program.display()))
}

/// Executed instructions by valgrind's count; NaN where that is not installed.
fn instructions(program: &Path, profile: Option<&Path>) -> f64 {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    let Ok(output) = prepare(command, profile).stderr(Stdio::piped()).output() else { return f64::NAN };
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = text.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count.trim().to_owned());
    count.and_then(|count| count.parse().ok()).unwrap_or(f64::NAN)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
