//! `poise doctor`: what this machine has for measuring and modelling, and why the rest is not there.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::{DoctorArgs, OutputFormat};
use crate::error::{Error, Result};
use crate::install::{self, Language};
use crate::output;

/// One thing looked for.
#[derive(Serialize)]
struct Finding {
    name: &'static str,
    needed_for: &'static str,
    found: bool,
    detail: String,
}

/// A variable that poise or a measured program reads.
struct Variable {
    name: &'static str,
    default: &'static str,
    meaning: &'static str,
}

const VARIABLES: [Variable; 26] = [
    Variable {
        name: "POISE_PROFILE",
        default: "unset",
        meaning: "file the measured program writes its profile to; unset, nothing is measured",
    },
    Variable {
        name: "POISE_CLOCK",
        default: "wall",
        meaning: "what time means: wall (elapsed), cpu (processor time of the thread), none (counts alone) or simulated (SimGrid's clock)",
    },
    Variable {
        name: "POISE_CHECKPOINT",
        default: "unset",
        meaning: "seconds between checkpoints, which a crash or kill leaves beside where the profile would be",
    },
    Variable {
        name: "POISE_GATHERED",
        default: "unset",
        meaning: "set by poise run to the file into which it merges the checkpoints of a run that fails, for what ranks say of them",
    },
    Variable {
        name: "POISE_PARAMETERS",
        default: "unset",
        meaning: "parameter values to note in the profile, such as p=4,n=1000",
    },
    Variable {
        name: "POISE_WAITING",
        default: "0",
        meaning: "1 measures for what MPI operations wait, by a logical clock and in seconds",
    },
    Variable {
        name: "POISE_RANKS",
        default: "0",
        meaning: "1 keeps the values and peers of every single rank in the profile",
    },
    Variable {
        name: "POISE_CLOCK_SKEW",
        default: "0",
        meaning: "ticks that a process's clock is wrong by on purpose in what it tells others of waiting; for tests, where one node stands for several",
    },
    Variable {
        name: "POISE_STACK",
        default: "on",
        meaning: "off puts MPI operations that code without instrumentation calls at the root, not below the functions on the stack",
    },
    Variable {
        name: "POISE_RUN",
        default: "unset",
        meaning: "set for the runs of a study to the run's folder, by which all processes of a run are found",
    },
    Variable {
        name: "POISE_BEGAN",
        default: "unset",
        meaning: "set by poise preload to when the run began, in nanoseconds since 1970, for processes that see no launcher",
    },
    Variable {
        name: "POISE_FINALIZE_SECONDS",
        default: "the time since MPI_Init, at least 60",
        meaning: "how long MPI_Finalize waits for ranks that are not measured before it gives up the profile",
    },
    Variable {
        name: "POISE_NOISE",
        default: "off",
        meaning: "variants with noise that compilers put in: on, or modes=…;k=…;loops=…;level=…;fixed=mode:k",
    },
    Variable {
        name: "POISE_INLINED",
        default: "on",
        meaning: "off lets compilers count inlined functions for what they were inlined into, not as call paths of their own",
    },
    Variable {
        name: "POISE_WEIGHTS",
        default: "blocks",
        meaning: "what compilers count: blocks, or loops (entries of functions and headers of loops)",
    },
    Variable {
        name: "POISE_SMALL",
        default: "leaves",
        meaning: "functions that compilers count for their callers: leaves (no loops, no calls of others), or blocks=N (of at most N blocks)",
    },
    Variable {
        name: "POISE_FILTER",
        default: "unset",
        meaning: "file that says which functions are call paths, in the format of Score-P's filters",
    },
    Variable {
        name: "POISE_ABSORB",
        default: "off",
        meaning: "whether a measured program runs those variants, and which: on, or modes=…;k=…;loops=…;callpaths=…;\
                  ranks=…;threads=…;samples=…;burst=…;seed=…;force=mode:k",
    },
    Variable {
        name: "POISE_PHASES",
        default: "off",
        meaning: "whether a measured program bins its effort over time: blocks, blocks=WIDTH, time, or time=NANOSECONDS",
    },
    Variable {
        name: "POISE_WRAPPER",
        default: "on",
        meaning: "off makes poise cc, c++ and fc forward everything untouched",
    },
    Variable { name: "POISE_CC", default: "the newest clang the pass serves", meaning: "compiler behind poise cc" },
    Variable { name: "POISE_CXX", default: "the newest clang++ the pass serves", meaning: "compiler behind poise c++" },
    Variable { name: "POISE_FC", default: "the newest flang the pass serves", meaning: "compiler behind poise fc" },
    Variable {
        name: "POISE_LIBDIR",
        default: "beside poise, or ../lib/counterpoise",
        meaning: "folder of the pass, the runtime and the shim",
    },
    Variable {
        name: "LD_PRELOAD",
        default: "unset",
        meaning: "set for measured programs; what it holds already is kept",
    },
    Variable { name: "NO_COLOR", default: "unset", meaning: "set, output is never coloured" },
];

/// Prints what was found.
pub fn doctor(arguments: &DoctorArgs) -> Result<()> {
    if arguments.env {
        let text = match arguments.output.format {
            OutputFormat::Human => variables_for_people(),
            OutputFormat::Json => json(&variables_as_json())?,
            OutputFormat::Csv => variables_as_csv(),
        };
        return output::deliver(&text, arguments.output.output.as_deref());
    }
    let findings = examine();
    let text = match arguments.output.format {
        OutputFormat::Human => for_people(&findings),
        OutputFormat::Json => {
            json(&serde_json::json!({"schema": "counterpoise/doctor", "schema_version": 1, "findings": findings}))?
        }
        OutputFormat::Csv => as_csv(&findings),
    };
    output::deliver(&text, arguments.output.output.as_deref())
}

fn json(value: &serde_json::Value) -> Result<String> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|e| Error::Defect(e.to_string()))
}

fn examine() -> Vec<Finding> {
    let library = |name, needed_for, file| from_result(name, needed_for, install::library(file).map(shown));
    let preloaded = |name, needed_for, file| from_result(name, needed_for, install::preloadable(file).map(shown));
    let compiler = |name, needed_for, language| from_result(name, needed_for, install::compiler(language).map(shown));
    let mpi = |name, result: Result<install::Mpi>| {
        let described = result.map(|m| format!("{} {}, {}", m.family, m.version, m.launcher.display()));
        from_result(name, "measuring MPI programs", described)
    };
    vec![
        compiler("C compiler", "poise cc", Language::C),
        compiler("C++ compiler", "poise c++, poise demo", Language::Cxx),
        compiler("Fortran compiler", "poise fc", Language::Fortran),
        from_result("LLVM pass", "counting basic blocks", pass()),
        preloaded("runtime", "measured programs", install::RUNTIME),
        preloaded("MPI shim", "measuring MPI programs", install::SHIM),
        mpi("Open MPI", install::open_mpi()),
        mpi("MPICH", install::mpich()),
        program("Slurm", "running studies on a cluster", "sbatch", "slurm-client", install::find_program),
        program(
            "SimGrid SMPI",
            "thousands of simulated ranks on one machine",
            "smpirun",
            "libsimgrid-dev",
            install::find_program,
        ),
        library("QEMU plugin", "programs that cannot be compiled anew", install::EMULATION),
        program(
            "QEMU",
            "programs that cannot be compiled anew",
            &format!("qemu-{}", std::env::consts::ARCH),
            "qemu-user",
            install::find_program,
        ),
        program("llvm-mc", "loops of poise detect", "llvm-mc", "llvm-19", install::llvm_tool),
        program("llvm-mca", "loops of poise detect", "llvm-mca", "llvm-19", install::llvm_tool),
        clock(),
        cores(),
        huge_pages(),
        steal_time(),
    ]
}

/// The plugin, and the LLVMs that it serves.
fn pass() -> Result<String> {
    Ok(format!("{}, for LLVM {}", shown(install::library(install::PASS)?), install::llvms()?.join(", ")))
}

fn shown(path: std::path::PathBuf) -> String {
    path.display().to_string()
}

fn from_result(name: &'static str, needed_for: &'static str, result: Result<String>) -> Finding {
    let found = result.is_ok();
    Finding { name, needed_for, found, detail: result.unwrap_or_else(|reason| reason.to_string()) }
}

fn program(
    name: &'static str,
    needed_for: &'static str,
    file: &str,
    package: &str,
    find: fn(&str) -> Option<PathBuf>,
) -> Finding {
    let path = find(file).map(shown);
    let missing = || format!("{file} is not on the PATH. Install it (on Debian: apt install {package}).");
    Finding { name, needed_for, found: path.is_some(), detail: path.unwrap_or_else(missing) }
}

/// The time stamp counter is cheap to read but a clock only if it neither stops nor changes its pace.
fn clock() -> Finding {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|f| f == flag);
    let invariant = cfg!(target_arch = "aarch64") || (has("constant_tsc") && has("nonstop_tsc"));
    let detail = if invariant {
        "the processor's counter runs at a constant pace and never stops"
    } else {
        "no constant and unstopping processor counter; the system clock is read instead, which costs more per call"
    };
    Finding { name: "cycle clock", needed_for: "cheap time stamps", found: invariant, detail: detail.to_owned() }
}

fn cores() -> Finding {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let detail = format!("{count} available; beyond that, ranks share cores: measure with the cpu clock");
    Finding { name: "cores", needed_for: "ranks that do not disturb each other", found: true, detail }
}

fn huge_pages() -> Finding {
    let setting = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let active = setting.split(['[', ']']).nth(1).unwrap_or("unknown").to_owned();
    let found = active == "always" || active == "madvise";
    Finding {
        name: "huge pages",
        needed_for: "steady memory latency",
        found,
        detail: format!("transparent huge pages: {active}"),
    }
}

/// Share of processor time that the hypervisor gave to others since boot.
fn steal_time() -> Finding {
    let name = "steal time";
    let needed_for = "trusting times";
    let Some(share) = steal_share(&fs::read_to_string("/proc/stat").unwrap_or_default()) else {
        return Finding { name, needed_for, found: false, detail: "the kernel does not report it".to_owned() };
    };
    let detail = format!("{:.2} % of processor time since boot went to other virtual machines", share * 100.0);
    Finding { name, needed_for, found: true, detail }
}

/// From the first line of /proc/stat: `cpu user nice system idle iowait irq softirq steal …`.
fn steal_share(stat: &str) -> Option<f64> {
    let numbers: Vec<f64> =
        stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map_while(|w| w.parse().ok()).collect();
    let total: f64 = numbers.iter().take(8).sum();
    numbers.get(7).map(|steal| steal / total).filter(|share| share.is_finite())
}

fn for_people(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let mark = if finding.found { "found  " } else { "missing" };
        let _ = writeln!(text, "{mark}  {:16}  {}", finding.name, finding.detail);
        if !finding.found {
            let _ = writeln!(text, "{:27}It is needed for {}.", "", finding.needed_for);
        }
    }
    text
}

fn as_csv(findings: &[Finding]) -> String {
    let mut text = String::from("name,found,needed_for,detail\n");
    for f in findings {
        let _ = writeln!(text, "{},{},{},{}", quoted(f.name), f.found, quoted(f.needed_for), quoted(&f.detail));
    }
    text
}

/// A CSV field by RFC 4180.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}

fn variables_for_people() -> String {
    let mut text = String::new();
    for v in &VARIABLES {
        let now = std::env::var_os(v.name)
            .map_or_else(|| "not set".to_owned(), |x| format!("now {}", Path::new(&x).display()));
        let _ = writeln!(text, "{:17} {}; default: {}; {now}.", v.name, v.meaning, v.default);
    }
    text
}

fn variables_as_json() -> serde_json::Value {
    let list: Vec<_> = VARIABLES
        .iter()
        .map(|v| serde_json::json!({"name": v.name, "default": v.default, "meaning": v.meaning}))
        .collect();
    serde_json::json!({"schema": "counterpoise/environment", "schema_version": 1, "variables": list})
}

fn variables_as_csv() -> String {
    let mut text = String::from("name,default,meaning\n");
    for v in &VARIABLES {
        let _ = writeln!(text, "{},{},{}", v.name, quoted(v.default), quoted(v.meaning));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_number_over_the_first_eight() {
        assert_eq!(steal_share("cpu  10 0 10 70 0 0 0 10 5 5\ncpu0 1"), Some(0.1));
        assert_eq!(steal_share("cpu  1 2 3"), None);
        assert_eq!(steal_share("intr 5"), None);
    }

    #[test]
    fn csv_fields_are_quoted_where_they_must_be() {
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(quoted("plain"), "plain");
    }
}
