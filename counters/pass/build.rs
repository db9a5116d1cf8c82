//! Finds LLVM by its `llvm-config` and compiles the C++ part of the plugin against its headers.
//!
//! POISE_LLVM_CONFIG names another `llvm-config`; the plugin then is for that LLVM's compilers.

use std::process::{Command, exit};

/// Major versions that the C++ part knows, the preferred one first.
const KNOWN: [u32; 1] = [19];

/// The C++ part.
const SOURCES: [&str; 5] = ["cpp/glue.cpp", "cpp/close.cpp", "cpp/noise.cpp", "cpp/variants.cpp", "cpp/inject.cpp"];

fn main() {
    println!("cargo:rerun-if-env-changed=POISE_LLVM_CONFIG");
    println!("cargo:rerun-if-changed=cpp");
    let (program, version) = find().unwrap_or_else(|reasons| {
        println!("cargo::error=no usable LLVM was found; install llvm-19-dev or set POISE_LLVM_CONFIG");
        reasons.iter().for_each(|reason| println!("cargo::error={reason}"));
        exit(1);
    });
    let ask = |what: &str| query(&program, what).unwrap_or_default();
    println!("cargo:rustc-env=POISE_LLVM_VERSION={version}");
    let mut build = cc::Build::new();
    // Headers of others as system headers: their warnings are not ours.
    build.cpp(true).std("c++17").files(SOURCES).flag("-isystem").flag(ask("--includedir"));
    // As LLVM itself is built: without run-time type information a plugin must not refer to any.
    build.flag("-fno-rtti").flag("-fno-exceptions").warnings(true);
    for macro_name in ["__STDC_CONSTANT_MACROS", "__STDC_FORMAT_MACROS", "__STDC_LIMIT_MACROS"] {
        build.define(macro_name, None);
    }
    build.compile("poise_glue");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libpoise_pass.so");
}

/// The first `llvm-config` of a known major version, with the version, or why there is none.
fn find() -> Result<(String, String), Vec<String>> {
    let candidates = match std::env::var("POISE_LLVM_CONFIG") {
        Ok(program) => vec![program],
        Err(_) => KNOWN.iter().map(|major| format!("llvm-config-{major}")).chain(["llvm-config".to_owned()]).collect(),
    };
    let mut reasons = Vec::new();
    for program in candidates {
        match query(&program, "--version") {
            Err(reason) => reasons.push(reason),
            Ok(version) => match version.split('.').next().and_then(|major| major.parse().ok()) {
                Some(major) if KNOWN.contains(&major) => return Ok((program, version)),
                _ => reasons.push(format!("{program} is of LLVM {version}; known are {KNOWN:?}")),
            },
        }
    }
    Err(reasons)
}

/// What `program` answers to `option`.
fn query(program: &str, option: &str) -> Result<String, String> {
    let output = Command::new(program).arg(option).output().map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{program} {option}: {}", output.status)) }
}
