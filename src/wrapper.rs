//! The compiler wrappers `poise cc`, `poise c++` and `poise fc`: the user's own command, with our pass put in where
//! something is compiled and our runtime where something is linked. Everything else is forwarded untouched.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::install::{self, Language};

/// Replaces this process by the compiler; returns only if that fails.
pub fn exec(language: Language, arguments: &[OsString]) -> Result<std::convert::Infallible> {
    let compiler = install::compiler(language)?;
    let mut command = Command::new(&compiler);
    command.args(arguments);
    if env::var_os("POISE_WRAPPER").is_none_or(|v| v != "off") {
        command.args(additions(language, arguments)?);
    }
    let failure = command.exec();
    Err(Error::Usage(format!("Cannot start {}: {failure}.", compiler.display())))
}

/// What to add to the user's arguments.
fn additions(language: Language, arguments: &[OsString]) -> Result<Vec<OsString>> {
    let plan = Plan::of(arguments);
    let mut added = Vec::new();
    if plan.compiles {
        let pass = install::library(install::PASS)?;
        added.push(joined("-fpass-plugin=", &pass));
        if !plan.has_debug_information {
            // Names source files, lines and inlined functions; changes no code.
            added.push("-gline-tables-only".into());
        }
    }
    if plan.links {
        let runtime = install::library(install::RUNTIME)?;
        let folder = runtime.parent().unwrap_or(Path::new("/"));
        if plan.links_statically {
            added.push(folder.join("libpoise_runtime.a").into());
        } else {
            added.push(runtime.clone().into());
            added.push(joined("-Wl,-rpath,", folder));
        }
        if plan.links_a_library {
            // The profile names regions by pointers into the library, also after a dlclose.
            added.push("-Wl,-z,nodelete".into());
        }
    }
    if !added.is_empty() && language != Language::Fortran {
        // Clang does not warn of arguments in these brackets that one of its steps has no use for; flang
        // does not know the brackets and does not warn.
        added.insert(0, "--start-no-unused-arguments".into());
        added.push("--end-no-unused-arguments".into());
    }
    Ok(added)
}

fn joined(prefix: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(prefix);
    argument.push(path);
    argument
}

/// What a compiler command does, as far as the additions depend on it.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    compiles: bool,
    links: bool,
    links_statically: bool,
    links_a_library: bool,
    has_debug_information: bool,
}

/// Options that end before linking; the ones in the second list also produce no code.
const NO_LINK: [&str; 5] = ["-c", "-S", "-r", "-emit-ast", "--precompile"];
const NO_CODE: [&str; 7] = ["-E", "-M", "-MM", "-fsyntax-only", "--version", "-###", "-dumpversion"];
/// Options whose value is the next argument, which therefore is no input file.
const TAKES_VALUE: [&str; 20] = [
    "-o",
    "-x",
    "-I",
    "-L",
    "-D",
    "-U",
    "-include",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-Xclang",
    "-Xpreprocessor",
    "-Xassembler",
    "-T",
    "-arch",
    "-target",
];

impl Plan {
    fn of(arguments: &[OsString]) -> Self {
        let mut plan = Self {
            compiles: false,
            links: true,
            links_statically: false,
            links_a_library: false,
            has_debug_information: false,
        };
        let mut produces_code = true;
        let mut has_input = false;
        let mut words = arguments.iter().map(|a| a.to_string_lossy());
        while let Some(word) = words.next() {
            let word = &*word;
            if TAKES_VALUE.contains(&word) {
                words.next();
            } else if NO_CODE.contains(&word) || word.starts_with("-print-") {
                produces_code = false;
            } else if NO_LINK.contains(&word) {
                plan.links = false;
            } else if word == "-static" {
                plan.links_statically = true;
            } else if word == "-shared" {
                plan.links_a_library = true;
            } else if word.starts_with("-g") && word != "-g0" {
                plan.has_debug_information = true;
            } else if !word.starts_with('-') || word == "-" {
                has_input = true;
                plan.compiles |= is_source(word);
            } else if let Some(file) = word.strip_prefix("-l") {
                has_input |= !file.is_empty();
            }
        }
        plan.compiles &= produces_code;
        plan.links &= produces_code && has_input;
        plan
    }
}

/// Whether the compiler compiles this file, rather than passing it to the linker. Link-time optimisation runs the
/// pass when the bitcode is made, so objects need none.
fn is_source(file: &str) -> bool {
    const LINKED: [&str; 6] = ["o", "a", "so", "lo", "la", "obj"];
    let extension = Path::new(file).extension().and_then(OsStr::to_str).unwrap_or("");
    let versioned_library = file.contains(".so.");
    file == "-" || !(LINKED.contains(&extension) || versioned_library || file.starts_with('@') || extension == "ld")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(line: &str) -> (bool, bool) {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let plan = Plan::of(&arguments);
        (plan.compiles, plan.links)
    }

    #[test]
    fn a_command_is_a_compilation_a_link_both_or_neither() {
        assert_eq!(plan("-O2 a.cpp -o a"), (true, true));
        assert_eq!(plan("-c -O2 a.cpp -o a.o"), (true, false));
        assert_eq!(plan("a.o b.o -lm -o a"), (false, true));
        assert_eq!(plan("-shared -o libx.so a.o"), (false, true));
        assert_eq!(plan("-E a.c"), (false, false));
        assert_eq!(plan("--version"), (false, false));
        assert_eq!(plan("-v"), (false, false));
        assert_eq!(plan("-print-prog-name=ld"), (false, false));
        assert_eq!(plan("-x c - -o a"), (true, true));
        assert_eq!(plan("-MD -MF a.d -c a.c"), (true, false));
        assert_eq!(plan("-M a.c"), (false, false));
    }

    #[test]
    fn debug_information_of_the_user_is_left_alone() {
        let has = |line: &str| {
            Plan::of(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>()).has_debug_information
        };
        assert!(has("-g a.c") && has("-ggdb3 a.c") && has("-gdwarf-4 a.c"));
        assert!(!has("-O2 a.c") && !has("-g0 a.c"));
    }
}
