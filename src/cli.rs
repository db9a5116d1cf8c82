//! The command line: what can be typed. Parsing never looks at the machine, so `--help` always works.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use modeler::formats::Format;
use modeler::model::Exponent;

use crate::commands::advise::AdviseArgs;
use crate::commands::analyze::AnalyzeArgs;
use crate::commands::instructions::InstructionsArgs;
use crate::commands::manual::{CompletionsArgs, ManArgs};
use crate::output;

/// Scaling models for parallel programs that noise cannot mislead.
///
/// Counterpoise measures the effort of every call path of an MPI program (basic blocks executed, bytes moved), which has
/// no noise, lets effort decide the shape of each scaling model, and uses time only for its coefficients.
#[derive(Parser, Debug)]
#[command(name = "poise", version, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  poise doctor                                      what this machine has
  poise demo                                        everything, on an example
  OMPI_CXX=poise-c++ mpicxx app.cpp -o app          build with counters
  poise run study.toml                              measure a study
  poise model study.runs                            fit models
  poise predict study.runs --at p=4096,n=48000      evaluate, with intervals
  poise report study.runs -o report.html            one page to look at
  poise absorb -- ./app                             what binds each loop
  poise compare old.runs new.runs                   two versions side by side
  poise advise study.runs --at p=4096,n=48000       what to measure next
  poise analyze study.runs                          which factors explain time
  poise check study.runs --expect expect.toml       a gate for CI

Exit codes:
   0  done
   1  done, but a gate failed
   2  usage, or a program or folder that cannot be used
   3  input unreadable or not recognised
   4  input valid but not modelable
   5  some call paths or runs failed, the rest was written
  70  a defect of poise";

#[derive(Args, Debug)]
pub struct GlobalArgs {
    /// When to colour the output; NO_COLOR is respected.
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub color: ColorChoice,
    /// Columns that tables for people may have; by default those of the terminal (or COLUMNS there), and elsewhere as many
    /// as they need.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(20..))]
    pub table_width: Option<u16>,
    /// Print results and errors only.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Explain more: runners-up of each model and why they lost.
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Show no progress, not even on a terminal.
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// Threads for fitting; the result does not depend on it. 0 takes one per core.
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    pub threads: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal that wants it.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people; not a stable interface.
    #[default]
    Human,
    /// A stable schema.
    Json,
    /// One table with a header line.
    Csv,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run the whole pipeline on this machine, on a generated benchmark of known complexity.
    Demo(DemoArgs),
    /// Tell what was found on this machine, and why the rest was not.
    Doctor(DoctorArgs),
    /// Compile C as with clang, counters included; usable as CC.
    Cc(CompilerArgs),
    /// Compile C++ as with clang++, counters included; usable as CXX.
    #[command(name = "c++")]
    Cxx(CompilerArgs),
    /// Compile Fortran as with flang, counters included; usable as FC.
    Fc(CompilerArgs),
    /// Run a program with the counters and the MPI shim preloaded: `mpirun … poise preload ./app`.
    Preload(PreloadArgs),
    /// Measure: a whole study, or one program once.
    Run(crate::commands::run::RunArgs),
    /// Make one run of a study as a job's task; jobs that `poise run` submits call this.
    #[command(hide = true)]
    Task(crate::commands::run::TaskArgs),
    /// Fit models.
    Model(ModelArgs),
    /// Evaluate models at other points, with intervals.
    Predict(PredictArgs),
    /// Two experiments side by side: how their models differ, and from which scale one overtakes the other.
    Compare(CompareArgs),
    /// Judge models against expectations, for CI: pass, fail or undecided.
    Check(CheckArgs),
    /// Tell which points to measure next, what each costs, and when it is enough.
    Advise(AdviseArgs),
    /// Tell which factors of a study, or of any table, explain a metric.
    Analyze(AnalyzeArgs),
    /// Inject instructions into loops until they slow down: what they absorb tells which resource binds them.
    Absorb(crate::commands::absorb::AbsorbArgs),
    /// Effort over time: what each bin of a run holds, which code it belongs to, and how its phases scale.
    Phases(crate::commands::phases::PhasesArgs),
    /// The MPI operations of measured runs: bytes, waiting, sizes of messages, and who exchanged them.
    Messages(crate::commands::messages::MessagesArgs),
    /// What of a program's machine code is likely to be slow, and which of its variants moves unlike amounts of memory.
    Detect(crate::commands::detect::DetectArgs),
    /// Generated benchmarks of known complexity, and micro-benchmarks of instructions.
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Read measurements of any known format and write them as one experiment file.
    Import(ImportArgs),
    /// Merge profiles of ranks, such as checkpoints of a run that was killed, into one.
    Merge(MergeArgs),
    /// Write measurements in another tool's format.
    Export(ExportArgs),
    /// What will cost most at scale: a table, or one self-contained HTML page.
    Report(ReportArgs),
    /// Explain a warning's code.
    Explain(ExplainArgs),
    /// Write what completes these commands in a shell.
    Completions(CompletionsArgs),
    /// Write manual pages.
    Man(ManArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "\
The folder holds the generated program, its truth, one folder per run, models.json and report.html. \
Ends with status 1 if the growth of any model deviates from the truth.
Example:
  poise demo --out /tmp/demo")]
pub struct DemoArgs {
    /// Folder for everything that the demo makes; must not exist. By default poise-demo, or the next free number.
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What to print on standard output.
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    #[command(flatten)]
    pub seed: SeedArgs,
}

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// List every environment variable of ours with its default instead.
    #[arg(long)]
    pub env: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
--noise puts variants of all loops into the program for poise absorb, --noise=WISH what POISE_NOISE may ask for. \
--filter=FILE, --small=RULE, --weights=loops and --inlined=off choose what is counted and for which call paths (docs/counters.md). \
POISE_WRAPPER=off forwards everything untouched. POISE_CC, POISE_CXX and POISE_FC name another clang or flang.
Examples:
  poise c++ -O2 -c solver.cpp
  OMPI_CXX=poise-c++ mpicxx -O2 app.cpp -o app
  cmake -DCMAKE_CXX_COMPILER=poise-c++ ..."
)]
pub struct CompilerArgs {
    /// The compiler's own arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  POISE_PROFILE=$PWD/profile.poise mpirun -n 4 poise preload ./app 1000")]
pub struct PreloadArgs {
    /// The program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockChoice {
    /// Elapsed time.
    Wall,
    /// Processor time of the thread.
    Cpu,
    /// The clock of the SimGrid simulation that runs the program.
    Simulated,
    /// None: counts alone.
    None,
}

#[derive(Args, Debug)]
pub struct InputArgs {
    /// Files or folders: our runs, profiles of other tools, Extra-P's formats. `-` is standard input.
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// How inputs are read.
#[derive(Args, Debug, Default)]
pub struct ReadArgs {
    /// Read as this format instead of detecting it.
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = PossibleValuesParser::new(Format::read_names()))]
    pub input_format: Option<String>,
    /// Read as Extra-P text (Extra-P's own flag).
    #[arg(long, conflicts_with = "input_format")]
    pub text: bool,
    /// Read as Extra-P JSON or JSON Lines (Extra-P's own flag).
    #[arg(long, conflicts_with = "input_format")]
    pub json: bool,
    /// Read as TaLPas (Extra-P's own flag).
    #[arg(long, conflicts_with = "input_format")]
    pub talpas: bool,
    /// Read as an .extra-p experiment (Extra-P's own flag).
    #[arg(long, conflicts_with = "input_format")]
    pub experiment: bool,
    /// Read as a folder of Cube profiles (Extra-P's own flag).
    #[arg(long, conflicts_with = "input_format")]
    pub cube: bool,
    /// How names of files and folders say parameters; `{name}` and `*` are anything. By default prefix.p4.n10.r1.
    #[arg(long, value_name = "{name}.p{p}.n{n}.r{repetition}")]
    pub pattern: Option<String>,
    /// Read tables whose columns have these roles: parameter, metric, callpath, repetition; or name, unit and value
    /// where each value has a row. `metric:time[ms]` renames a column and tells its unit.
    #[arg(long, value_name = "p=parameter,time=metric,…", conflicts_with = "input_format")]
    pub columns: Option<String>,
    /// What values over ranks and threads mean in profiles of other tools (Extra-P's own flag).
    #[arg(long, value_enum, default_value_t = ScalingChoice::Weak, value_name = "HOW")]
    pub scaling: ScalingChoice,
    /// Values of call paths hold those of their callees: profiles of cubex and hpctoolkit are read so, and values of formats
    /// that do not tell are taken to be so.
    #[arg(long, conflicts_with = "exclusive")]
    pub inclusive: bool,
    /// Values of call paths do not hold those of their callees, even if they look so.
    #[arg(long)]
    pub exclusive: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ScalingChoice {
    /// The mean over all ranks and threads.
    #[default]
    Weak,
    /// The mean over the ranks and threads whose value is not zero.
    #[value(name = "weak_threaded")]
    WeakThreaded,
    /// The sum over all ranks and threads.
    Strong,
}

#[derive(Args, Debug)]
pub struct SeedArgs {
    /// Seed of everything random; the same seed gives the same bytes.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
}

#[derive(Args, Debug)]
pub struct FitArgs {
    /// Where the shape of a model comes from.
    #[arg(long, value_enum, default_value_t = MethodChoice::Auto)]
    pub method: MethodChoice,
    /// Which rank's value to model, where profiles have several.
    #[arg(long, value_enum, default_value_t = OverRanksChoice::Mean, value_name = "WHICH")]
    pub over_ranks: OverRanksChoice,
    /// Exponents that functions may have of a parameter, instead of 0 to 3 by quarters, thirds and 4/5, and above 3 where values grow
    /// faster; their negatives are tried where values fall, and 0 is always among them.
    #[arg(long, value_delimiter = ',', value_name = "1/3,1,4", value_parser = parse_exponent, allow_hyphen_values = true)]
    pub exponents: Vec<Exponent>,
    /// Exponents that functions may have of a parameter's binary logarithm, instead of 0, 1 and 2; 0 is always among them. Exponents of
    /// the parameter above 3 are tried only where --exponents has them, then.
    #[arg(long, value_delimiter = ',', value_name = "0,1", value_parser = clap::value_parser!(i32).range(0..=MOST_OF_LOG), allow_negative_numbers = true)]
    pub log_exponents: Vec<i32>,
    #[command(flatten)]
    pub seed: SeedArgs,
}

/// Higher powers of a logarithm are taken for mistyped.
const MOST_OF_LOG: i64 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MethodChoice {
    /// Effort where it was measured, time elsewhere.
    Auto,
    /// Effort only; call paths without it are skipped.
    Effort,
    /// Search the shape in the modelled metric itself.
    Time,
    /// As Extra-P 4.2 does: its functions, its choice and its fit, for comparisons.
    ExtraP,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OverRanksChoice {
    /// The mean over all ranks.
    Mean,
    /// The largest of any rank.
    Max,
    /// The smallest of any rank.
    Min,
    /// The sum over all ranks.
    Sum,
}

#[derive(Args, Debug)]
pub struct OutputArgs {
    /// For people, or for programs.
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    /// Write to this file instead of standard output (`-`); an existing file is not overwritten.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl OutputArgs {
    /// Refuses to go on if the file exists or its folder does not; asked before work that takes long.
    pub fn check(&self) -> crate::error::Result<()> {
        output::check_all_new([(&self.output, "-o")])
    }
}

/// What commands share that look at one run of a program, or at runs that were kept.
#[derive(Args, Debug)]
pub struct RunsArgs {
    /// Runs that were kept, instead of a program: profiles, or folders of runs. Several are compared.
    #[arg(value_name = "RUN", required_unless_present = "command", conflicts_with = "command")]
    pub inputs: Vec<PathBuf>,
    /// Keep the run's folder; must not exist.
    #[arg(long, value_name = "DIR", conflicts_with = "inputs")]
    pub keep: Option<PathBuf>,
    /// Also write a page; must not exist.
    #[arg(long, value_name = "FILE.html")]
    pub page: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    /// The program and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

impl RunsArgs {
    /// Refuses to go on if a file that is to be written exists: those that all commands write, and `others` with their options.
    pub fn check(&self, others: &[(&Option<PathBuf>, &str)]) -> crate::error::Result<()> {
        let own = [(&self.output.output, "-o"), (&self.page, "--page")];
        output::check_all_new(own.into_iter().chain(others.iter().copied()))
    }
}

/// What commands share that fit the models of inputs and print something of them.
#[derive(Args, Debug)]
pub struct FittedArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub fit: FitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
pub struct LevelArgs {
    /// Probability with which an interval holds a new measurement.
    #[arg(long, default_value_t = 0.9, value_name = "LEVEL", value_parser = parse_level, allow_negative_numbers = true)]
    pub level: f64,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  poise model study.runs
  poise model kripke.txt --format json -o models.json
  poise model study.runs -v                 also the runners-up and their errors
  poise model study.runs --metric visits    how often call paths are called
  poise model kripke.txt --method extra-p   functions as Extra-P chooses them
  poise model kripke.txt --exponents 0,1,2  these powers, and logarithms")]
pub struct ModelArgs {
    /// Only models of this metric, such as time or bytes_sent; by default all, of which people are shown time.
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    #[command(flatten)]
    pub fitted: FittedArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  poise predict study.runs --at p=4096,n=48000 --at p=8192,n=48000
  poise predict study.runs --at p=4096,n=48000 --metric bytes_sent")]
pub struct PredictArgs {
    /// Only predictions of this metric, such as time or bytes_sent; by default all.
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Where to evaluate, every parameter once; may be given several times.
    #[arg(long, required = true, value_name = "p=4096,n=48000", value_parser = parse_assignments)]
    pub at: Vec<Assignments>,
    #[command(flatten)]
    pub level: LevelArgs,
    #[command(flatten)]
    pub fitted: FittedArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "\
The ratio is the second's prediction over the first's: above one, the second is the slower. What says how inputs are \
read counts for both.
Examples:
  poise compare old.runs new.runs
  poise compare old.csv new.csv --columns 'p=parameter,t=metric:time[ms]'
  poise compare laptop.json cluster.json --at p=4096,n=48000 --format json")]
pub struct CompareArgs {
    /// The first experiment: a file or folder of any known format.
    #[arg(value_name = "A")]
    pub first: PathBuf,
    /// The second experiment, over the same parameters.
    #[arg(value_name = "B")]
    pub second: PathBuf,
    #[command(flatten)]
    pub read: ReadArgs,
    /// The scale to compare at; by default twice the largest measured value of each parameter of A.
    #[arg(long, value_name = "p=4096,n=48000", value_parser = parse_assignments)]
    pub at: Option<Assignments>,
    #[command(flatten)]
    pub level: LevelArgs,
    #[command(flatten)]
    pub fit: FitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Ends with status 1 only if an expectation fails with certainty; what noise leaves open is undecided and passes. \
That noise alone fails any of a file's judgements has a probability of 1 %, however many there are, \
if the models know the noise; limits on few, very noisy repetitions may fail more often.
A file of expectations:
  at = { p = 4096, n = 48000 }       # where at_most and baseline are judged
  [[expect]]
  callpath = \"main -> solve\"        # * stands for any text
  growth = \"p * log2(p)\"            # at most, in these parameters; \"1\" is none
  at_most = 1.2                      # in the metric's unit
  [[expect]]
  callpath = \"*\"
  metric = \"basic_blocks\"           # time, where nothing is said
  baseline = \"baseline.json\"        # any input; beside this file
  tolerance = 0.05
Example:
  poise check study.runs --expect expectations.toml --junit check.xml")]
pub struct CheckArgs {
    /// The file of expectations.
    #[arg(long, value_name = "FILE.toml")]
    pub expect: PathBuf,
    /// Also write the verdicts as JUnit XML; an existing file is not overwritten.
    #[arg(long, value_name = "FILE.xml")]
    pub junit: Option<PathBuf>,
    #[command(flatten)]
    pub level: LevelArgs,
    #[command(flatten)]
    pub fitted: FittedArgs,
}

#[derive(Subcommand, Debug)]
pub enum BenchCommand {
    /// Write a C++ MPI program of known complexity, and its truth.
    Generate(GenerateArgs),
    /// Generate, compile, run and model; score the models against the truth.
    Validate(ValidateArgs),
    /// Time assembly instructions hot: cycles per instruction, and how many in flight saturate.
    Instructions(InstructionsArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  poise bench generate spec.toml --language fortran -o bench
  cmake -S bench -B bench/build")]
pub struct GenerateArgs {
    /// The specification; without it, the demo's is used.
    #[arg(value_name = "SPEC.toml")]
    pub spec: Option<PathBuf>,
    /// Folder for the program, its CMake file and its truth; must not exist.
    #[arg(short, long, value_name = "DIR", default_value = "bench")]
    pub output: PathBuf,
    /// Language of the program.
    #[arg(short, long, value_name = "NAME", default_value = "c++")]
    pub language: ProgramLanguage,
}

/// The languages of generated programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgramLanguage {
    /// C++17.
    #[value(name = "c++")]
    Cpp,
    /// C11.
    C,
    /// Fortran 2008.
    Fortran,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Called again with the same arguments, it does what is missing and nothing twice. Ends with status 1 if a count is not \
what the truth says, if the exponents of more than 1 % of the call paths deviate, or, with --smpi, if an error is too large.
Examples:
  poise bench validate                       200 functions, p = 2 to 64
  poise bench validate --smpi -o simulated   in a simulator, p = 128 to 2048
  poise bench validate --quick               8 functions: does everything work?
  poise bench validate --quick --advised     and how good is poise advise?
  poise bench validate spec.toml             functions of your own")]
pub struct ValidateArgs {
    /// The specification; without it, functions are drawn.
    #[arg(value_name = "SPEC.toml")]
    pub spec: Option<PathBuf>,
    /// Folder for everything that the validation makes; new, or that of an interrupted call.
    #[arg(short, long, value_name = "DIR", default_value = "poise-validation")]
    pub output: PathBuf,
    /// Few functions, ranks and draws: a minute or two instead of many.
    #[arg(long)]
    pub quick: bool,
    /// Run in SimGrid's simulator SMPI: thousands of ranks in one process, their communication times simulated.
    #[arg(long)]
    pub smpi: bool,
    /// Functions to draw; by default 200, and 8 with --quick.
    #[arg(long, value_name = "N", conflicts_with = "spec", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub functions: Option<u32>,
    /// Measurements of each point; by default 5, and 2 with --quick. The effort models use one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10))]
    pub repetitions: Option<u32>,
    /// Draws of each kind of artificial noise; by default 100, and 5 with --quick. Models of times alone get a 20th.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub draws: Option<u32>,
    /// Also follow `poise advise`: how accurate models of advised points are beside those of the full grid, with so many draws of
    /// each kind of noise, 5 if no number is given.
    #[arg(long, value_name = "DRAWS", num_args = 0..=1, require_equals = true, default_missing_value = "5",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub advised: Option<u32>,
    /// With --advised: runs may have as few ranks as this (`poise advise --down-to`); by default no fewer than the grid's.
    #[arg(long, value_name = "N", requires = "advised", value_parser = clap::value_parser!(u32).range(1..))]
    pub fewest_ranks: Option<u32>,
    /// The Extra-P program to compare with; by default the one on the PATH, if any. `off` leaves it out.
    #[arg(long, value_name = "PROGRAM")]
    pub extrap: Option<String>,
    /// What to print on standard output.
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    #[command(flatten)]
    pub seed: SeedArgs,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  poise import study.runs | poise model -
  poise import profiles --explain           what was found, what is odd")]
pub struct ImportArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Say what was found: parameters, points, metrics, call paths; and each input that does not go with the others.
    #[arg(long)]
    pub explain: bool,
    /// Write to this file instead of standard output (`-`); an existing file is not overwritten.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  poise merge run.poise.checkpoint.* -o run.poise")]
pub struct MergeArgs {
    /// The profiles, each of other ranks of one run; a rank that is in two is refused.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write to this file; an existing file is not overwritten.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  poise export study.runs --to extrap-jsonl -o study.jsonl")]
pub struct ExportArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Format to write; an archive of Extra-P, `extra-p`, also holds the models of poise.
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(Format::WRITTEN))]
    pub to: String,
    #[command(flatten)]
    pub fit: FitArgs,
    /// Write to this file instead of standard output (`-`); an existing file is not overwritten.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  poise report study.runs                   what will cost most, as a table
  poise report study.runs -o report.html    that and all the rest as a page
  poise report study.runs -o report.html --at p=4096,n=48000
  poise report study.runs --metric bytes_sent")]
pub struct ReportArgs {
    /// The metric to rank by, such as time or bytes_sent; by default time, or what stands for it.
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    #[command(flatten)]
    pub input: InputArgs,
    /// The scale at which call paths are ranked; by default twice the largest measured value of each parameter.
    #[arg(long, value_name = "p=4096,n=48000", value_parser = parse_assignments)]
    pub at: Option<Assignments>,
    #[command(flatten)]
    pub fit: FitArgs,
    /// The page to write; an existing file is not overwritten. Without it the ranking is printed.
    #[arg(short, long, value_name = "FILE.html")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  poise explain W004")]
pub struct ExplainArgs {
    /// Codes, such as W004; without any, all are listed.
    #[arg(value_name = "CODE")]
    pub codes: Vec<String>,
}

/// One value per named parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignments(pub Vec<(String, f64)>);

pub fn parse_assignment(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("give a parameter and its value, such as p=4096")?;
    let number: f64 = value
        .trim()
        .parse()
        .map_err(|_| format!("`{value}` is not a number: write it in digits, such as 65536 or 1e6, without a unit"))?;
    if name.trim().is_empty() {
        return Err("the parameter's name is missing before `=`".into());
    }
    if !number.is_finite() {
        return Err(format!("`{value}` is not a finite number"));
    }
    Ok((name.trim().to_owned(), number))
}

pub fn parse_assignments(text: &str) -> Result<Assignments, String> {
    text.split(',').map(parse_assignment).collect::<Result<_, _>>().map(Assignments)
}

/// Larger exponents, and fractions with larger denominators, are taken for mistyped.
const LARGEST_EXPONENT: i32 = 10;
const LARGEST_DENOMINATOR: i32 = 60;

/// An exponent of a parameter: a whole number, a fraction or a decimal number.
pub fn parse_exponent(text: &str) -> Result<Exponent, String> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err("give exponents from 0 on: their negatives are tried where values fall".into());
    }
    let number = |digits: &str| {
        let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u16>().ok().filter(|_| are_digits).map(i32::from)
    };
    let (over, under) = match (text.split_once('/'), text.split_once('.')) {
        (Some((over, under)), None) => (number(over), number(under)),
        // Of more digits the fraction is none that anybody means.
        (None, Some((whole, digits))) if (1..=2).contains(&digits.len()) => {
            let whole = if whole.is_empty() { Some(0) } else { number(whole) };
            let under = if digits.len() == 1 { 10 } else { 100 };
            (whole.zip(number(digits)).map(|(whole, digits)| whole * under + digits), Some(under))
        }
        (None, None) => (number(text), Some(1)),
        _ => (None, None),
    };
    let exact = over.zip(under).filter(|(_, under)| *under > 0).map(|(over, under)| Exponent::new(over, under));
    let exact = exact.ok_or("give whole numbers or fractions, such as 0,1/3,1/2,1,4")?;
    if exact > Exponent::from_integer(LARGEST_EXPONENT) || *exact.denom() > LARGEST_DENOMINATOR {
        return Err(format!(
            "exponents are at most {LARGEST_EXPONENT}, and fractions of at most {LARGEST_DENOMINATOR}th parts: write 1/3 for 0.33"
        ));
    }
    Ok(exact)
}

pub fn parse_level(text: &str) -> Result<f64, String> {
    let level: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if level > 0.0 && level < 1.0 { Ok(level) } else { Err("give a probability between 0 and 1, such as 0.9".into()) }
}

/// A number of things of which there must be one.
pub fn parse_count(text: &str) -> Result<usize, String> {
    let count: usize = text.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    if count > 0 { Ok(count) } else { Err("give a number from 1 on".into()) }
}

/// A part of something, 0 and 1 included.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("a share is from 0 to 1, such as 0.01".into()) }
}

#[cfg(test)]
mod tests;
