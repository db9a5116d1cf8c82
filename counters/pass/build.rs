//! Finds every LLVM by its `llvm-config` and compiles the C++ part of the plugin once for each, into libraries that the
//! plugin holds inside itself: one plugin serves the compilers of all of them.
//!
//! POISE_LLVM_CONFIG names other `llvm-config`s, separated by colons; the plugin then is for these LLVMs alone.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// The oldest major version that the C++ part compiles with.
const OLDEST: u32 = 16;
/// Major versions that are looked for by name. What is newer than this crate is tried, and left out if it does not compile.
const NAMED: std::ops::RangeInclusive<u32> = OLDEST..=30;

/// The C++ part.
const SOURCES: [&str; 7] = [
    "cpp/glue.cpp",
    "cpp/close.cpp",
    "cpp/divide.cpp",
    "cpp/noise.cpp",
    "cpp/twin.cpp",
    "cpp/variants.cpp",
    "cpp/inject.cpp",
];

/// An LLVM that is installed.
struct Llvm {
    major: u32,
    version: String,
    headers: String,
}

fn main() {
    println!("cargo:rerun-if-env-changed=POISE_LLVM_CONFIG");
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libpoise_pass.so");
    let output = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let (found, mut reasons) = find();
    // One thread for each LLVM: the headers are what takes long.
    let built: Vec<_> = std::thread::scope(|scope| {
        let output = &output;
        let threads: Vec<_> = found.iter().map(|llvm| scope.spawn(move || compile(llvm, output))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("the compilation panicked".into())))
            .collect()
    });
    let mut libraries = Vec::new();
    for (llvm, result) in found.iter().zip(built) {
        match result {
            Ok(library) => libraries.push((llvm, library)),
            Err(reason) => {
                println!("cargo::warning=no plugin for LLVM {}: {reason}", llvm.version);
                reasons.push(format!("LLVM {}: {reason}", llvm.version));
            }
        }
    }
    if libraries.is_empty() {
        println!("cargo::error=no usable LLVM was found; install llvm-19-dev or set POISE_LLVM_CONFIG");
        reasons.iter().for_each(|reason| println!("cargo::error={reason}"));
        exit(1);
    }
    if let Err(error) = std::fs::write(output.join("libraries.rs"), table(&libraries)) {
        println!("cargo::error={}: {error}", output.display());
        exit(1);
    }
}

/// Every LLVM of a usable version, newest first and each major version once, and why there are no others.
fn find() -> (Vec<Llvm>, Vec<String>) {
    let candidates = match std::env::var("POISE_LLVM_CONFIG") {
        Ok(programs) => programs.split(':').map(str::to_owned).collect::<Vec<_>>(),
        Err(_) => NAMED.rev().map(|major| format!("llvm-config-{major}")).chain(["llvm-config".to_owned()]).collect(),
    };
    let (mut found, mut reasons) = (Vec::<Llvm>::new(), Vec::new());
    for program in candidates {
        match examine(&program) {
            Ok(llvm) if found.iter().any(|known| known.major == llvm.major) => {}
            Ok(llvm) => found.push(llvm),
            Err(reason) => reasons.push(reason),
        }
    }
    found.sort_by_key(|llvm| std::cmp::Reverse(llvm.major));
    (found, reasons)
}

/// The LLVM of one `llvm-config`.
fn examine(program: &str) -> Result<Llvm, String> {
    let version = query(program, "--version")?;
    let headers = query(program, "--includedir")?;
    match version.split('.').next().and_then(|major| major.parse().ok()) {
        Some(major) if major >= OLDEST => Ok(Llvm { major, version, headers }),
        _ => Err(format!("{program} is of LLVM {version}; the oldest known is {OLDEST}")),
    }
}

/// What `program` answers to `option`.
fn query(program: &str, option: &str) -> Result<String, String> {
    let output = Command::new(program).arg(option).output().map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{program} {option}: {}", output.status)) }
}

/// Compiles the C++ part against one LLVM's headers; gives the shared library.
fn compile(llvm: &Llvm, output: &Path) -> Result<PathBuf, String> {
    let folder = output.join(llvm.major.to_string());
    let mut build = cc::Build::new();
    // Headers of others as system headers: their warnings are not ours.
    build.cpp(true).std("c++17").files(SOURCES).flag("-isystem").flag(&llvm.headers).out_dir(&folder);
    // As LLVM itself is built: without run-time type information a plugin must not refer to any.
    build
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .warnings(true)
        .pic(true)
        .cargo_metadata(false)
        .cargo_warnings(false);
    for macro_name in ["__STDC_CONSTANT_MACROS", "__STDC_FORMAT_MACROS", "__STDC_LIMIT_MACROS"] {
        build.define(macro_name, None);
    }
    let objects = build.try_compile_intermediates().map_err(|error| one_line(&error.to_string()))?;
    let library = folder.join("glue.so");
    let mut link = build.try_get_compiler().map_err(|error| error.to_string())?.to_command();
    let linked = link.args(["-shared", "-s", "-o"].map(OsStr::new)).arg(&library).args(&objects).output();
    match linked {
        Ok(linked) if linked.status.success() => Ok(library),
        Ok(linked) => Err(one_line(&String::from_utf8_lossy(&linked.stderr))),
        Err(error) => Err(error.to_string()),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The Rust text of what the plugin holds. `poise` finds the versions in the plugin's file by the mark before them.
fn table(libraries: &[(&Llvm, PathBuf)]) -> String {
    let versions: Vec<&str> = libraries.iter().map(|(llvm, _)| llvm.version.as_str()).collect();
    let mut text = format!(
        "/// The LLVMs that this plugin serves, after a mark.\npub const VERSIONS: &str = {:?};\n",
        versions.join(" ")
    );
    let mark = format!("poise-llvm-versions:{};", versions.join(" "));
    let _ = writeln!(text, "#[used]\nstatic MARK: [u8; {}] = *b{mark:?};", mark.len());
    let _ = writeln!(
        text,
        "/// Major version and library of each.\npub const LIBRARIES: [(u32, &[u8]); {}] = [",
        libraries.len()
    );
    for (llvm, library) in libraries {
        let _ = writeln!(text, "    ({}, include_bytes!({library:?})),", llvm.major);
    }
    text + "];\n"
}
