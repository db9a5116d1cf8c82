//! The compiler wrappers `poise cc`, `poise c++` and `poise fc`: the user's own command, with our pass put in where
//! something is compiled and our runtime where something is linked. Everything else is forwarded untouched.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::install::{self, Language};
use crate::output;

/// Replaces this process by the compiler; returns only if that fails.
pub fn exec(language: Language, arguments: &[OsString]) -> Result<std::convert::Infallible> {
    if arguments == ["--help"] {
        output::deliver(&help(language), None)?;
        std::process::exit(0);
    }
    let is_off = env::var_os("POISE_WRAPPER").is_some_and(|v| v == "off");
    let compiler = if is_off { install::any_compiler(language)? } else { install::compiler(language)? };
    let mut command = Command::new(&compiler);
    let (arguments, wishes) = without_ours(arguments);
    command.envs(wishes.into_iter().filter(|(variable, _)| env::var_os(variable).is_none()));
    let arguments = if language == Language::Fortran { without_gnus(arguments) } else { arguments };
    let arguments = &arguments[..];
    let plan = Plan::of(&expanded(arguments));
    if !is_off && plan.links && plan.links_smpi {
        // SMPI's programs are loaded each into a scope of its own, past what is preloaded, and look in their libraries
        // in the order in which they were linked: ours come before SimGrid's.
        let shim = install::library(install::SHIM)?;
        command.arg(joined("-Wl,-rpath,", shim.parent().unwrap_or(Path::new("/"))));
        command.args([shim, install::library(install::RUNTIME)?]);
    }
    if !is_off && plan.links && !plan.links_smpi && !plan.links_statically {
        // Before all other libraries: the runtime stands in front of functions that start threads.
        let runtime = install::library(install::RUNTIME)?;
        command.arg(joined("-Wl,-rpath,", runtime.parent().unwrap_or(Path::new("/")))).arg(runtime);
    }
    command.args(arguments);
    if !is_off {
        command.args(additions(language, &plan)?);
    }
    let failure = command.exec();
    Err(Error::Usage(format!("Cannot start {}: {failure}.", compiler.display())))
}

/// What `--help` prints: what we add. A compiler's own help is hundreds of lines long.
fn help(language: Language) -> String {
    let (name, compiler, source) = match language {
        Language::C => ("cc", "clang", "app.c"),
        Language::Cxx => ("c++", "clang++", "app.cpp"),
        Language::Fortran => ("fc", "flang", "app.f90"),
    };
    format!(
        "poise {name}: {compiler} with counters in every basic block. Write it where the compiler stands; all arguments but ours are {compiler}'s.\n
Usage: poise {name} [OPTIONS OF OURS] ARGUMENTS...\n
Options of ours, each also a variable (docs/counters.md):
  --filter=FILE           which functions are call paths, as in Score-P's filter files (POISE_FILTER)
  --small=RULE            which functions count for their callers: leaves, or blocks=N (POISE_SMALL)
  --weights=loops         count entries and loop headers alone, not all blocks (POISE_WEIGHTS)
  --inlined=off           inlined functions count for those that they were inlined into (POISE_INLINED)
  --noise, --noise=WISH   put noise into loops for poise absorb (docs/absorption.md; POISE_NOISE)
Environment:
  POISE_WRAPPER=off       call the compiler alone, as configure scripts may need\n
Examples:
  poise {name} -O2 {source} -o app              compile and link
  poise {name} -O2 -c {source} && poise {name} app.o -o app
  poise {name} -help                           the help of {compiler} itself\n",
    )
}

/// Our own options, the variables of the pass that they stand for, and what an option without `=` means.
const OURS: [(&str, &str, Option<&str>); 5] = [
    ("--noise", "POISE_NOISE", Some("on")),
    ("--inlined", "POISE_INLINED", None),
    ("--weights", "POISE_WEIGHTS", None),
    ("--small", "POISE_SMALL", None),
    ("--filter", "POISE_FILTER", None),
];

/// The arguments without our own, and the variables that those stand for; of several the last is meant. What is in the
/// environment already goes before: it is what `--method rebuild` gives, and what a user says beside a build that is there.
fn without_ours(arguments: &[OsString]) -> (Vec<OsString>, BTreeMap<&'static str, String>) {
    let mut rest = Vec::new();
    let mut wishes = BTreeMap::new();
    for argument in arguments {
        let text = argument.to_str().unwrap_or_default();
        let wish = OURS.iter().find_map(|&(option, variable, alone)| match text.strip_prefix(option)? {
            "" => Some((variable, alone?.to_owned())),
            value => Some((variable, value.strip_prefix('=')?.to_owned())),
        });
        match wish {
            Some((variable, wish)) => drop(wishes.insert(variable, wish)),
            None => rest.push(argument.clone()),
        }
    }
    (rest, wishes)
}

/// Starts of options of gfortran that Debian's `mpifort.mpich` passes on, that flang refuses, and that change nothing here.
const GNUS: [&str; 7] = [
    "-ffile-prefix-map=",
    "-fdebug-prefix-map=",
    "-fstack-protector",
    "-fstack-clash-protection",
    "-fcf-protection",
    "-fallow-invalid-boz",
    "-fallow-argument-mismatch",
];

/// The arguments without what only gfortran knows.
fn without_gnus(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_gnus = |argument: &OsString| argument.to_str().is_some_and(|text| GNUS.iter().any(|g| text.starts_with(g)));
    arguments.retain(|argument| !is_gnus(argument));
    arguments
}

/// What to add to the user's arguments.
fn additions(language: Language, plan: &Plan) -> Result<Vec<OsString>> {
    let mut added = Vec::new();
    if plan.compiles {
        added.push(joined("-fpass-plugin=", &install::library(install::PASS)?));
        if !plan.has_debug_information {
            // Names source files, lines and inlined functions; changes no code.
            added.push("-gline-tables-only".into());
            if language != Language::Fortran {
                // Inlined functions have the linker's names in it, as all others do.
                added.push("-fdebug-info-for-profiling".into());
            }
        }
    }
    if plan.links && !plan.links_smpi {
        if plan.links_statically {
            let runtime = install::library(install::STATIC_RUNTIME)?;
            if plan.names_language {
                // The user's `-x c` would make a source file of the library.
                added.extend(["-x".into(), "none".into()]);
            }
            added.push(runtime.into());
            added.push("-Wl,--wrap=pthread_create,--undefined=pthread_create".into());
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

/// The arguments with those in response files (`@file`) in their place, for deciding only.
fn expanded(arguments: &[OsString]) -> Vec<String> {
    let words = |argument: &OsString| -> Vec<String> {
        let argument = argument.to_string_lossy();
        let text = argument.strip_prefix('@').and_then(|file| std::fs::read_to_string(file).ok());
        let unquoted = |word: &str| word.trim_matches(['"', '\'']).to_owned();
        text.map_or_else(|| vec![argument.into_owned()], |t| t.split_whitespace().map(unquoted).collect())
    };
    arguments.iter().flat_map(words).collect()
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
    links_smpi: bool,
    names_language: bool,
    has_debug_information: bool,
}

/// Options that end before linking; the ones in the second list also produce no code.
const NO_LINK: [&str; 6] = ["-c", "-S", "-r", "-emit-ast", "-emit-llvm", "--precompile"];
const NO_CODE: [&str; 7] = ["-E", "-M", "-MM", "-fsyntax-only", "--version", "-###", "-dumpversion"];
/// Options whose value is the next argument, which therefore is no input file.
const TAKES_VALUE: [&str; 19] = [
    "-o",
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
/// Files that are compiled ahead for later compilations, and not linked.
const HEADERS: [&str; 4] = ["h", "hh", "hpp", "hxx"];

impl Plan {
    fn of(arguments: &[String]) -> Self {
        let mut plan = Self {
            compiles: false,
            links: true,
            links_statically: false,
            links_a_library: false,
            links_smpi: false,
            names_language: false,
            has_debug_information: false,
        };
        let mut produces_code = true;
        let mut has_input = false;
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if word == "-x" {
                plan.names_language = true;
                plan.links &= words.next().is_none_or(|language| !language.ends_with("-header"));
            } else if TAKES_VALUE.contains(&word) {
                words.next();
            } else if NO_CODE.contains(&word) || word.starts_with("-print-") {
                produces_code = false;
            } else if NO_LINK.contains(&word) {
                plan.links = false;
            } else if matches!(word, "-static" | "--static" | "-static-pie") {
                plan.links_statically = true;
            } else if word == "-shared" {
                plan.links_a_library = true;
            } else if word == "-lsimgrid" {
                plan.links_smpi = true;
                has_input = true;
            } else if word.starts_with("-g") && word != "-g0" {
                plan.has_debug_information = true;
            } else if !word.starts_with('-') || word == "-" || word.starts_with("-l") {
                has_input = true;
                plan.links &= !is_header(word);
            }
        }
        plan.compiles = produces_code && has_input;
        plan.links &= produces_code && has_input;
        plan
    }
}

fn is_header(file: &str) -> bool {
    Path::new(file).extension().and_then(OsStr::to_str).is_some_and(|extension| HEADERS.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(line: &str) -> (bool, bool) {
        let plan = of(line);
        (plan.compiles, plan.links)
    }

    fn of(line: &str) -> Plan {
        Plan::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_command_is_a_compilation_a_link_both_or_neither() {
        assert_eq!(plan("-O2 a.cpp -o a"), (true, true));
        assert_eq!(plan("-c -O2 a.cpp -o a.o"), (true, false));
        assert!(plan("a.o b.o -lm -o a").1);
        assert!(plan("-shared -o libx.so a.o").1);
        assert_eq!(plan("-E a.c"), (false, false));
        assert_eq!(plan("--version"), (false, false));
        assert_eq!(plan("-v"), (false, false));
        assert_eq!(plan("-print-prog-name=ld"), (false, false));
        assert_eq!(plan("-x c - -o a"), (true, true));
        assert_eq!(plan("-x c-header a.h -o a.pch"), (true, false));
        assert_eq!(plan("a.hpp -o a.pch"), (true, false));
        assert_eq!(plan("-MD -MF a.d -c a.c"), (true, false));
        assert_eq!(plan("-M a.c"), (false, false));
    }

    #[test]
    fn our_options_are_variables() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        let wish = |name, value: &str| BTreeMap::from([(name, value.to_owned())]);
        let (rest, wishes) = without_ours(&words("-O2 --noise=k=1,2 a.c --noise-free"));
        assert_eq!((rest, wishes), (words("-O2 a.c --noise-free"), wish("POISE_NOISE", "k=1,2")));
        assert_eq!(without_ours(&words("--noise a.c")), (words("a.c"), wish("POISE_NOISE", "on")));
        assert_eq!(without_ours(&words("--filter=a --filter=b a.c")), (words("a.c"), wish("POISE_FILTER", "b")));
        assert_eq!(without_ours(&words("--small a.c")), (words("--small a.c"), BTreeMap::new()));
    }

    #[test]
    fn debug_information_of_the_user_is_left_alone() {
        let has = |line: &str| of(line).has_debug_information;
        assert!(has("-g a.c") && has("-ggdb3 a.c") && has("-gdwarf-4 a.c"));
        assert!(!has("-O2 a.c") && !has("-g0 a.c"));
    }

    #[test]
    fn programs_for_smpi_are_recognised_by_what_smpicc_adds() {
        assert!(of("-fPIC -shared a.o -lsimgrid -lm -o a").links_smpi);
        assert!(!of("a.o -lm -o a").links_smpi);
        assert_eq!(plan("-lsimgrid a.c"), (true, true));
    }

    #[test]
    fn response_files_are_looked_into() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("arguments");
        std::fs::write(&file, "-c \"a.c\"\n-O2\n").unwrap();
        let argument = OsString::from(format!("@{}", file.display()));
        assert_eq!(expanded(&["-g".into(), argument]), ["-g", "-c", "a.c", "-O2"]);
    }
}
