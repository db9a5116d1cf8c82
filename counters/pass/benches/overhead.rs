//! What counting costs, beside what others cost: `cargo bench -p poise-pass` builds small programs in every variant at -O3, runs the
//! variants in turns, and prints the median over the turns of user time by that of the uninstrumented program, and, where
//! valgrind is installed, ratios of instructions, which other work on the machine cannot change. Last come the loops that the compiler
//! vectorised, by its own remarks.
//!
//! `POISE_OVERHEAD=FILE` adds programs of one's own, a line each: `name | folder | build | run`, and, if valgrind is to count a shorter
//! run, ` | run`; `-` leaves the instructions out. The folder is copied for every variant; the commands are the shell's, in the copy, with the
//! variant's compilers in CC and CXX (and FC, where a variant knows Fortran). `POISE_OVERHEAD_ONLY=1` leaves the small programs out,
//! `POISE_OVERHEAD_RUNS=N` sets the number of turns, `POISE_OVERHEAD_VARIANTS=counts,measured` leaves out all other variants, and `POISE_OVERHEAD_INSTRUCTIONS=ours` leaves out the instructions of
//! what is not ours, since counting them takes long, `none` all of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const KERNELS: [&str; 6] = ["gemm.c", "cg.c", "stencil.c", "tree.c", "sort.cpp", "particles.cpp"];
/// Turns unless the environment says another number.
const RUNS: usize = 7;
/// Functions for `-finstrument-functions`, which do nothing.
const HOOKS: &str =
    "__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *f, void *c) { (void)f; (void)c; }
__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *f, void *c) { (void)f; (void)c; }\n";

/// A way of building the programs.
struct Variant {
    title: &'static str,
    /// What is added to the compilers of C and C++; that of Fortran gets it only for what is ours or nothing.
    flags: String,
    is_ours: bool,
    /// What it is asked for, where it runs with POISE_PROFILE.
    wishes: &'static [(&'static str, &'static str)],
}

/// A program and how it is built and run, by the shell.
struct Program {
    name: String,
    folder: PathBuf,
    build: String,
    run: String,
    /// What is run when instructions are counted.
    counted: Option<String>,
}

/// A program built in one variant.
#[derive(Clone)]
struct Built {
    folder: PathBuf,
    /// The loops that the compiler vectorised.
    vectorised: usize,
}

/// Where functions are inlined, in a form that Debian's valgrind reads.
const DEBUG: &str = "-gdwarf-4 -gline-tables-only";
/// Score-P's overhead as published, by the work that these counters follow (section III-A there): on two applications with functions alone, and with basic blocks.
const PUBLISHED: &str = "Score-P, published: 1.11 to 1.18 for time alone, 1.59 to 1.99 with basic blocks.";

fn main() {
    // Cargo's own checks run every bench target with other arguments.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = std::env::var("POISE_OVERHEAD_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(RUNS);
    let variants = variants(folder.path());
    let mut tables: [Vec<Vec<f64>>; 2] = Default::default();
    let titles: Vec<_> = variants.iter().skip(1).map(|variant| format!("{:>12}", variant.title)).collect();
    println!("{:16}{:>10}{}", "user time", "alone [s]", titles.concat());
    let mut names = Vec::new();
    let mut loops = Vec::new();
    for program in programs() {
        let mut built: Vec<Option<Built>> = Vec::new();
        for (at, variant) in variants.iter().enumerate() {
            let same = variants[..at].iter().position(|before| before.flags == variant.flags);
            built.push(same.map_or_else(|| build(folder.path(), &program, variant), |same| built[same].clone()));
        }
        loops.push(built.iter().map(|built| built.as_ref().map_or(f64::NAN, |b| b.vectorised as f64)).collect());
        let (alone, times) = times(&program, &variants, &built, runs);
        println!("{:16}{alone:>10.3}{}", program.name, row(&times));
        tables[0].push(times);
        tables[1].push(instructions(&program, &variants, &built));
        names.push(program.name);
    }
    println!("{:26}{}\n{PUBLISHED}\n\ninstructions", "geometric mean", row(&geometric_means(&tables[0])));
    names.iter().zip(&tables[1]).for_each(|(name, values)| println!("{name:26}{}", row(values)));
    println!("{:26}{}\n\nvectorised loops", "geometric mean", row(&geometric_means(&tables[1])));
    names.iter().zip(&loops).for_each(|(name, values): (_, &Vec<f64>)| {
        let counts = values.iter().map(|count| if count.is_nan() { "-".to_owned() } else { count.to_string() });
        println!("{name:14}{}", counts.map(|count| format!("{count:>12}")).collect::<String>());
    });
}

fn row(values: &[f64]) -> String {
    values.iter().map(|value| if value.is_nan() { format!("{:>12}", "-") } else { format!("{value:>12.3}") }).collect()
}

/// The variants, the uninstrumented one first.
fn variants(scratch: &Path) -> Vec<Variant> {
    let path = std::env::current_exe().expect("the bench's own path");
    let libraries = path.parent().expect("programs lie in folders").display();
    let runtime = format!("-L{libraries} -Wl,--no-as-needed -lpoise_runtime -Wl,-rpath,{libraries}");
    let ours = format!("-fpass-plugin={libraries}/libpoise_pass.so {DEBUG} {runtime}");
    let (hooks, object) = (scratch.join("hooks.c"), scratch.join("hooks.o"));
    std::fs::write(&hooks, HOOKS).expect("the folder is writable");
    let compiled = Command::new("clang-19").args(["-O3", "-fPIC", "-c", "-o"]).arg(&object).arg(&hooks).status();
    assert!(compiled.expect("clang 19 is installed").success(), "{}", hooks.display());
    let coverage = "-fsanitize-coverage=bb,no-prune,inline-8bit-counters -mllvm -sanitizer-early-opt-ep=1";
    let archive = scratch.join("libhooks.a");
    let archived = Command::new("ar").arg("rc").arg(&archive).arg(&object).status();
    assert!(archived.expect("ar is installed").success(), "{}", archive.display());
    let hooked = format!("-finstrument-functions -L{} -lhooks", scratch.display());
    let theirs = |title, flags: &str| Variant { title, flags: flags.to_owned(), is_ours: false, wishes: &[] };
    let counted = |title, wishes| Variant { title, flags: ours.clone(), is_ours: true, wishes };
    let wanted = std::env::var("POISE_OVERHEAD_VARIANTS").unwrap_or_default();
    let is_wanted = |variant: &Variant| {
        variant.flags.is_empty() || wanted.is_empty() || wanted.split(',').any(|title| title == variant.title)
    };
    let all = vec![
        theirs("native", ""),
        counted("idle", &[]),
        counted("counts", &[("POISE_CLOCK", "none")]),
        counted("measured", &[("POISE_CLOCK", "wall")]),
        counted("phases", &[("POISE_CLOCK", "wall"), ("POISE_PHASES", "blocks")]),
        theirs("naive", coverage),
        theirs("ir-profile", "-fprofile-generate"),
        theirs("fe-profile", "-fprofile-instr-generate"),
        theirs("functions", &hooked),
    ];
    all.into_iter().filter(is_wanted).collect()
}

/// Those of this repository, and those that the environment adds.
fn programs() -> Vec<Program> {
    let mut programs = Vec::new();
    if std::env::var_os("POISE_OVERHEAD_ONLY").is_none() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/kernels");
        programs.extend(KERNELS.map(|name| Program {
            name: name.to_owned(),
            folder: folder.clone(),
            build: format!("${} -O3 {name} -o program -lm", if name.ends_with("pp") { "CXX" } else { "CC" }),
            run: "./program".to_owned(),
            counted: Some("./program".to_owned()),
        }));
    }
    let Some(file) = std::env::var_os("POISE_OVERHEAD") else { return programs };
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let mut fields: Vec<_> = line.split(" | ").map(|field| field.trim().to_owned()).collect();
        let counted = (fields.len() == 5).then(|| fields.pop()).flatten();
        let [name, folder, build, run] = fields.try_into().unwrap_or_else(|_| {
            panic!("{}: a line is \"name | folder | build | run [| run]\": {line}", file.display());
        });
        let counted = Some(counted.unwrap_or_else(|| run.clone())).filter(|line| line != "-");
        programs.push(Program { name, folder: folder.into(), build, run, counted });
    }
    programs
}

/// The shell in `folder`, with the variant's compilers.
fn shell(folder: &Path, line: &str, variant: &Variant) -> Command {
    let mut command = Command::new("bash");
    command.current_dir(folder).args(["-c", line]).env_remove("POISE_PROFILE");
    let told = "-Wno-unused-command-line-argument -Rpass=loop-vectorize";
    command.env("CC", format!("clang-19 {} {told}", variant.flags));
    command.env("CXX", format!("clang++-19 {} {told}", variant.flags));
    let flags = if variant.is_ours { variant.flags.replace(DEBUG, "") } else { String::new() };
    if variant.is_ours || variant.flags.is_empty() {
        command.env("FC", format!("flang-new-19 {flags} -Rpass=loop-vectorize"));
    }
    command
}

/// Builds a program in a folder of its own; `None` where the variant cannot, as those of C cannot compile Fortran.
fn build(scratch: &Path, program: &Program, variant: &Variant) -> Option<Built> {
    let folder = scratch.join(format!("{}.{}", program.name, variant.title));
    let copied = Command::new("cp").args(["-r", "--"]).arg(&program.folder).arg(&folder).status();
    assert!(copied.is_ok_and(|status| status.success()), "{} cannot be copied", program.folder.display());
    let output = shell(&folder, &program.build, variant).output().expect("bash is installed");
    if !output.status.success() {
        eprintln!("{} is not built as {}: {}", program.name, variant.title, String::from_utf8_lossy(&output.stderr));
    }
    let told = |text: &[u8]| String::from_utf8_lossy(text).matches("remark: vectorized loop").count();
    output.status.success().then(|| Built { folder, vectorised: told(&output.stdout) + told(&output.stderr) })
}

fn runs_in(folder: &Path, line: &str, variant: &Variant) -> Command {
    let mut command = shell(folder, line, variant);
    command.stdout(Stdio::null()).env("LLVM_PROFILE_FILE", folder.join("default.profraw"));
    command.env_remove("POISE_PHASES").envs(variant.wishes.iter().copied());
    if !variant.wishes.is_empty() {
        let profile = folder.join("overhead.poise");
        let _ = std::fs::remove_file(&profile);
        command.env("POISE_PROFILE", profile);
    }
    command
}

/// Seconds alone, and each other variant's median over the turns of its time by that of the uninstrumented program in the same
/// turn; NaN where it was not built.
fn times(program: &Program, variants: &[Variant], built: &[Option<Built>], runs: usize) -> (f64, Vec<f64>) {
    let mut ratios = vec![Vec::new(); variants.len()];
    for _ in 0..runs {
        let seconds = |(variant, built): (&Variant, &Option<Built>)| {
            built.as_ref().map_or(f64::NAN, |built| user_time(&built.folder, &program.run, variant))
        };
        let turn: Vec<f64> = variants.iter().zip(built).map(seconds).collect();
        ratios[0].push(turn[0]);
        (1..turn.len()).for_each(|variant| ratios[variant].push(turn[variant] / turn[0]));
    }
    let mut medians = ratios.into_iter().map(median);
    (medians.next().unwrap_or(f64::NAN), medians.collect())
}

/// User time of one run in seconds, as the shell's `time` tells it.
fn user_time(folder: &Path, line: &str, variant: &Variant) -> f64 {
    let timed = format!("TIMEFORMAT='poise %U'; time {{ {line}; }}");
    let output = runs_in(folder, &timed, variant).stderr(Stdio::piped()).output().expect("bash is installed");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let time = text.lines().rev().find_map(|line| line.strip_prefix("poise ")?.trim().parse().ok());
    time.unwrap_or_else(|| panic!("{line}: {text}"))
}

/// Each variant's executed instructions by those of the uninstrumented program, by valgrind's count; NaN where it cannot say.
fn instructions(program: &Program, variants: &[Variant], built: &[Option<Built>]) -> Vec<f64> {
    let which = std::env::var("POISE_OVERHEAD_INSTRUCTIONS").unwrap_or_default();
    let is_wanted = |variant: &Variant| match which.as_str() {
        "none" => false,
        "ours" => variant.is_ours || variant.flags.is_empty(),
        _ => true,
    };
    let count = |(variant, built): (&Variant, &Option<Built>)| {
        let (Some(built), Some(run)) = (built.as_ref().filter(|_| is_wanted(variant)), &program.counted) else {
            return f64::NAN;
        };
        let line = format!("valgrind --tool=callgrind --callgrind-out-file=/dev/null {run}");
        let Ok(output) = runs_in(&built.folder, &line, variant).stderr(Stdio::piped()).output() else {
            return f64::NAN;
        };
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let count = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
        count.unwrap_or(f64::NAN)
    };
    let counts: Vec<f64> = variants.iter().zip(built).map(count).collect();
    counts[1..].iter().map(|count| count / counts[0]).collect()
}

/// By column, over the rows that have a value there.
fn geometric_means(rows: &[Vec<f64>]) -> Vec<f64> {
    let columns = rows.first().map_or(0, Vec::len);
    let mean = |column: usize| {
        let logarithms: Vec<f64> = rows.iter().map(|row| row[column].ln()).filter(|value| !value.is_nan()).collect();
        (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
    };
    (0..columns).map(mean).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}
