//! Noise on AArch64: what the compiler makes of it, and programs with it under QEMU's user mode. Times mean nothing there.
//!
//! Needs the packages gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user, and Rust's library for the target
//! aarch64-unknown-linux-gnu; `scripts/setup test` installs them.

use std::path::{Path, PathBuf};
use std::process::Command;

use poise_profile::Profile;

use super::tools::{Bench, libraries, succeed};

const KERNELS: &str = include_str!("programs/kernels.c");
const TARGET: &str = "aarch64-unknown-linux-gnu";

/// What a pattern of each mode is in assembly.
const PATTERNS: [(&str, &str); 9] = [
    ("fp_add64", "fadd\td"),
    ("fp_mul64", "fmul\td"),
    ("fma64", "fmadd\td"),
    ("int64_add", ", sp, #1"),
    ("l1_ld64", ", [sp]"),
    ("memory_ld64", "ldr\tx"),
    ("nop", "\tnop"),
    ("fp_div64", "fdiv\td"),
    ("store64", "str\txzr"),
];

fn compile(bench: &Bench, kind: &str, output: &str) -> PathBuf {
    let (source, output) = (bench.path("kernels.c"), bench.path(output));
    std::fs::write(&source, KERNELS).unwrap();
    let modes: Vec<&str> = PATTERNS.iter().map(|(mode, _)| *mode).collect();
    let mut command = Command::new("clang-19");
    command.args(["--target=aarch64-linux-gnu", "-O2", "-gline-tables-only", kind]);
    command.arg(format!("-fpass-plugin={}/libpoise_pass.so", libraries().display()));
    succeed(command.env("POISE_NOISE", format!("modes={};k=1,5", modes.join(","))).arg(source).arg("-o").arg(&output));
    output
}

/// The lines of a function in assembly.
fn body<'a>(assembly: &'a str, function: &str) -> Vec<&'a str> {
    let lines = assembly.lines().skip_while(|line| !line.starts_with(&format!("{function}:")));
    let body: Vec<&str> = lines.take_while(|line| !line.contains(".cfi_endproc")).collect();
    assert!(!body.is_empty(), "{function} is not there");
    body
}

#[test]
fn variants_have_k_patterns_more_than_the_plain_loop() {
    let bench = Bench::new();
    let assembly = std::fs::read_to_string(compile(&bench, "-S", "kernels.s")).unwrap();
    for function in ["chase", "collatz"] {
        let plain = body(&assembly, &format!("{function}.noise.0.plain"));
        for (mode, pattern) in PATTERNS {
            let has = |lines: &[&str]| lines.iter().filter(|line| line.contains(pattern)).count();
            for k in [1, 5] {
                let noisy = body(&assembly, &format!("{function}.noise.0.{mode}.{k}"));
                // Further loads of the same kind fetch the buffer and the constants, once per call.
                let further = if mode == "memory_ld64" { 4 } else { 0 };
                let more = has(&noisy) - has(&plain);
                assert!((k..=k + further).contains(&more), "{function} {mode} {k}: {more}\n{}", noisy.join("\n"));
            }
        }
    }
}

/// The runtime as a static library for the target.
fn runtime(bench: &Bench) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aarch64");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(bench.path("")).arg("rustc").arg("--manifest-path");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime/Cargo.toml"));
    command.args(["--quiet", "--release", "--lib", "--crate-type", "staticlib", "--target", TARGET, "--target-dir"]);
    let output = command.arg(&folder).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\nIs {TARGET} there? `rustup target add {TARGET}` installs it.");
    folder.join(TARGET).join("release/libpoise_runtime.a")
}

#[test]
fn programs_print_the_same_under_qemu_with_all_noise() {
    let bench = Bench::new();
    let (object, program) = (compile(&bench, "-c", "kernels.o"), bench.path("kernels"));
    let mut link = Command::new("aarch64-linux-gnu-gcc");
    link.arg("-static").arg(object).arg("-Wl,--whole-archive").arg(runtime(&bench)).arg("-Wl,--no-whole-archive");
    succeed(link.arg("-lm").arg("-o").arg(&program));
    let native = bench.native(&super::tools::Source { text: KERNELS, language: "c" }, &["-O2", "-lm"]);
    let profile = bench.path("profile.poise");
    let run = |size: &str, absorb: &str| {
        let _ = std::fs::remove_file(&profile);
        let expected = succeed(Command::new(&native).arg(size)).stdout;
        let mut command = Command::new("qemu-aarch64");
        command.arg(&program).arg(size).env("POISE_PROFILE", &profile).env("POISE_ABSORB", absorb);
        assert_eq!(succeed(&mut command).stdout, expected, "{absorb}");
    };
    for (mode, _) in PATTERNS {
        [0, 1, 5].iter().for_each(|k| run("300", &format!("force={mode}:{k}")));
    }
    // Executions that are not too brief for the clock, however fast the machine is.
    run("12000", "samples=2;burst=1");
    let noise = Profile::read(&profile).unwrap().noise;
    let measured = noise.series.iter().filter(|series| series.bursts.iter().any(|burst| burst.k == 5)).count();
    assert!(measured > 3, "{measured}");
}
