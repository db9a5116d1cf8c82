//! Reading and writing experiments in the formats of the field. One trait, one reader per format; which of them an input
//! needs is detected, never declared.

mod collect;
mod comparison;
mod csv;
pub(crate) mod engines;
mod error;
mod extra_p;
mod extra_p_write;
mod extrap_json;
mod folders;
mod guess;
mod json;
mod json_lines;
mod models;
mod npy;
mod own_json;
#[cfg(feature = "parquet")]
mod parquet;
mod plain_line;
mod profiles;
mod record;
mod regions;
mod runs;
mod source;
mod survey;
mod tables;
mod text;
pub(crate) mod units;
mod write;
mod write_json;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::experiment::Experiment;
use collect::Collector;
pub(crate) use source::text;
use source::{Content, Source};

pub use crate::experiment::Values;
pub use comparison::comparison_json;
pub use csv::{comparison_csv, predictions_csv};
pub use error::{EXPLANATIONS, ErrorKind, Place, RUN_LEFT_OUT, ReadError, ReadWarning, Reasons};
pub use extra_p_write::write_extra_p;
pub(crate) use models::growth_text;
pub use models::{ModelsWriter, PredictionAt, models_csv, models_json, predictions_json};
pub use profiles::statistics_of_gem5;
pub(crate) use regions::{Names, demangled};
pub(crate) use runs::{Dropped, Selection as RunSelection, run_folders};
pub use runs::{MeasuredRun, kept_runs, measured_runs};
pub use survey::{Survey, survey};
pub(crate) use tables::has_decimal_comma;
pub use write::{WriteError, write};

/// A format that is read, written or both.
///
/// ```
/// use modeler::formats::{Format, read_bytes};
/// let text = "p,callpath,metric,over_ranks,unit,repetition,value\n2,solve,time,,s,1,0.5\n4,solve,time,,s,1,0.75\n";
/// assert_eq!(read_bytes("runs.csv", text.into(), &Default::default())?.format, Format::Csv);
/// assert_eq!("extra-p".parse(), Ok(Format::ExtraPArchive));
/// assert_eq!(Format::ExtraPArchive.to_string(), "extra-p");
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Runs measured by `poise run`. Read.
    Runs,
    /// Our own experiment JSON. Read and written.
    Experiment,
    /// Extra-P text. Read and written.
    ExtraPText,
    /// Extra-P JSON Lines. Read and written.
    ExtraPJsonLines,
    /// Extra-P JSON. Both dialects are read, the newer, nested one is written.
    ExtraPJson,
    /// The older dialect of Extra-P JSON, with numbered parts. Written; it is read as [`Format::ExtraPJson`].
    ExtraPJsonNumbered,
    /// TaLPas, JSON Lines with semicolons. Read and written.
    Talpas,
    /// Extra-P's own `.extra-p` archives. Read and written.
    ExtraPArchive,
    /// Comma-separated values: one row per measurement as written, or columns with roles. Read and written.
    Csv,
    /// Apache Parquet, the table of [`Format::Csv`]. Written, with the feature `parquet`.
    Parquet,
    /// Cube profiles of Score-P and Scalasca. Read.
    Cubex,
    /// Caliper's `.cali` streams. Read.
    Cali,
    /// Caliper's `json-split`. Read.
    CaliperJson,
    /// HPCToolkit's databases of version 4. Read.
    HpcToolkit,
    /// TAU's `profile.N.C.T` files. Read.
    Tau,
    /// mpiP's text reports. Read.
    MpiP,
    /// gem5's `stats.txt`. Read.
    Gem5,
    /// Basic-block vectors of SimPoint and exp-bbv. Read.
    SimPoint,
    /// pprof's protocol buffers. Read.
    Pprof,
    /// Folded stacks of flame-graph tools. Read.
    Folded,
    /// Google Benchmark's JSON. Read.
    GoogleBenchmark,
    /// hyperfine's JSON. Read.
    Hyperfine,
    /// criterion's folder of results. Read.
    Criterion,
}

impl Format {
    /// All formats and their names on the command line.
    pub const ALL: [(Self, &'static str); 23] = [
        (Self::Runs, "runs"),
        (Self::Experiment, "json"),
        (Self::ExtraPText, "extrap"),
        (Self::ExtraPJsonLines, "extrap-jsonl"),
        (Self::ExtraPJson, "extrap-json"),
        (Self::ExtraPJsonNumbered, "extrap-json-numbered"),
        (Self::Talpas, "talpas"),
        (Self::ExtraPArchive, "extra-p"),
        (Self::Csv, "csv"),
        (Self::Parquet, "parquet"),
        (Self::Cubex, "cubex"),
        (Self::Cali, "cali"),
        (Self::CaliperJson, "caliper-json"),
        (Self::HpcToolkit, "hpctoolkit"),
        (Self::Tau, "tau"),
        (Self::MpiP, "mpip"),
        (Self::Gem5, "gem5"),
        (Self::SimPoint, "simpoint"),
        (Self::Pprof, "pprof"),
        (Self::Folded, "folded"),
        (Self::GoogleBenchmark, "google-benchmark"),
        (Self::Hyperfine, "hyperfine"),
        (Self::Criterion, "criterion"),
    ];

    /// Names of the formats that [`write()`] writes.
    pub const WRITTEN: [&'static str; 9] = [
        "json",
        "extrap",
        "extrap-jsonl",
        "extrap-json",
        "extrap-json-numbered",
        "talpas",
        "extra-p",
        "csv",
        "parquet",
    ];

    /// Formats whose values may be read with those of the callees: [`Values::Inclusive`].
    pub const INCLUSIVE: [Self; 2] = [Self::Cubex, Self::HpcToolkit];

    /// Formats that do not tell what values include (our own JSON may), so that the user may say it.
    pub const UNTOLD: [Self; 7] = [
        Self::Experiment,
        Self::ExtraPText,
        Self::ExtraPJsonLines,
        Self::ExtraPJson,
        Self::Talpas,
        Self::ExtraPArchive,
        Self::Csv,
    ];

    /// Names of the formats that are read.
    ///
    /// ```
    /// use modeler::formats::Format;
    /// let names: Vec<&str> = Format::read_names().collect();
    /// assert!(names.contains(&"cubex") && !names.contains(&"parquet")); // which is written alone
    /// ```
    pub fn read_names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().filter(|(format, _)| *format != Self::Parquet).map(|(_, name)| *name)
    }

    /// The name on the command line.
    ///
    /// ```
    /// use modeler::formats::Format;
    /// assert_eq!([Format::Runs, Format::Csv].map(Format::name), ["runs", "csv"]);
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(format, _)| *format == self).map_or("", |(_, name)| name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let names = Self::ALL.map(|(_, name)| name).join(", ");
        let found = Self::ALL.iter().find(|(_, known)| *known == name).map(|(format, _)| *format);
        found.ok_or_else(|| format!("`{name}` is no format; the formats are {names}"))
    }
}

/// What a reader thinks of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Detection {
    /// It is this format.
    Yes,
    /// It is not, and why.
    No(String),
    /// It may be, and why that is not sure.
    CannotTell(String),
}

impl Detection {
    fn no(reason: &str) -> Self {
        Self::No(reason.to_owned())
    }
}

/// Reads one format.
trait Reader {
    /// Which.
    fn format(&self) -> Format;
    /// Whether `source`, of which only the beginning is known, has this format.
    fn detect(&self, source: &Source) -> Detection;
    /// Adds the measurements of `source`.
    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError>;
}

const READERS: [&dyn Reader; 21] = [
    &runs::Runs,
    &own_json::OwnJson,
    &text::Text,
    &json_lines::JsonLines,
    &extrap_json::ExtraPJson,
    &json_lines::Talpas,
    &extra_p::ExtraPArchive,
    &profiles::CUBEX,
    &profiles::CALI,
    &profiles::CALIPERJSON,
    &profiles::HPCTOOLKIT,
    &profiles::TAU,
    &profiles::MPIP,
    &profiles::GEM5,
    &profiles::SIMPOINT,
    &profiles::PPROF,
    &profiles::FOLDED,
    &tables::GoogleBenchmark,
    &tables::Hyperfine,
    &tables::Criterion,
    &tables::Columns,
];

/// What a profile's values over ranks and threads mean, as Extra-P names it.
///
/// ```
/// use modeler::formats::{ReadOptions, Scaling};
/// // `p` is all the work there is, however many ranks share it: only the sum tells anything.
/// let options = ReadOptions { scaling: Scaling::Strong, ..ReadOptions::default() };
/// assert_ne!(options.scaling, Scaling::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// The mean is over all ranks and threads.
    #[default]
    Weak,
    /// The mean and minimum are over the ranks and threads whose value is not zero.
    WeakThreaded,
    /// Only the sum over all ranks and threads is kept, as the one value of its metric.
    Strong,
}

/// How inputs are read.
///
/// ```
/// use modeler::formats::{ReadOptions, read_bytes};
/// // A table of one's own: which column is what has to be said.
/// let columns = Some("ranks=parameter,wall=metric:time[ms],what=callpath".into());
/// let text = "ranks,what,wall\n2,solve,500\n4,solve,750\n";
/// let input = read_bytes("runs.csv", text.into(), &ReadOptions { columns, ..ReadOptions::default() })?;
/// assert_eq!(input.experiment.parameters, ["ranks"]);
/// assert_eq!(input.experiment.values, [0.5, 0.75]); // in seconds
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format of all inputs, or `None` to detect it.
    pub format: Option<Format>,
    /// How names of files and folders say parameters, such as `{name}.p{p}.n{n}.r{repetition}`; `None` for Extra-P's way.
    pub pattern: Option<String>,
    /// What values over ranks and threads mean.
    pub scaling: Scaling,
    /// What a call path's values include, or `None` for what the format has. Profiles are read exclusively, those of
    /// [`Format::INCLUSIVE`] also inclusively; in the formats of [`Format::UNTOLD`] values stay as they are, and this says
    /// what they are.
    pub values: Option<Values>,
    /// Roles of a table's columns, such as `p=parameter,time=metric,region=callpath`; they count for inputs that are tables.
    pub columns: Option<String>,
}

/// What the name of a profile said about its run.
///
/// ```
/// use modeler::formats::read;
/// let folder = tempfile::tempdir()?;
/// let files: Vec<std::path::PathBuf> = [2, 4].iter().map(|p| folder.path().join(format!("app.p{p}.r1.folded"))).collect();
/// files.iter().try_for_each(|file| std::fs::write(file, "main;solve 7\nmain 1\n"))?;
/// let runs = read(&files, &Default::default())?.runs;
/// assert_eq!(runs.iter().map(|run| run.parameters.clone()).collect::<Vec<_>>(), [[("p".into(), 2.0)], [("p".into(), 4.0)]]);
/// assert_eq!(runs[0].repetition, Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RunFound {
    /// The profile.
    pub place: Place,
    /// Its point.
    pub parameters: Vec<(String, f64)>,
    /// Parameters that are the same in all runs and were left out.
    pub constant: Vec<(String, f64)>,
    /// Which repetition it is, where the name says so.
    pub repetition: Option<u32>,
}

/// What was read.
///
/// ```
/// let text = "PARAMETER p\nPOINTS 2 4\nREGION solve\nMETRIC time\nDATA 1\nDATA 2\n";
/// let input = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?;
/// assert_eq!(input.format, modeler::formats::Format::ExtraPText);
/// assert_eq!((input.experiment.values, input.runs.len(), input.phased.len()), (vec![1.0, 2.0], 0, 0));
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Input {
    /// The measurements of all inputs together.
    pub experiment: Experiment,
    /// Their format.
    pub format: Format,
    /// What the readers noticed, in the order of the inputs.
    pub warnings: Vec<ReadWarning>,
    /// Runs whose point was found in the name of a file or folder.
    pub runs: Vec<RunFound>,
    /// Runs whose profiles hold effort over time, which [`crate::phases`] makes phases of.
    pub phased: Vec<MeasuredRun>,
    /// Folders of runs, and what their records say makes the run's times untrustworthy, a clause each.
    pub machine: Vec<(String, String)>,
}

/// Reads `inputs` into one experiment; `-` is standard input. All must have one format and the same parameters, and
/// measurements of one call path, metric and point are repetitions, whichever input they come from.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let files = ["a.txt", "b.txt"].map(|name| folder.path().join(name));
/// for (file, seconds) in files.iter().zip([1.0, 1.5]) {
///     std::fs::write(file, format!("PARAMETER p\nPOINTS 2\nREGION solve\nMETRIC time\nDATA {seconds}\n"))?;
/// }
/// let input = modeler::formats::read(&files, &Default::default())?;
/// assert_eq!(input.experiment.values, [1.0, 1.5]); // repetitions at p = 2
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An input cannot be read, is not recognised, breaks the rules of its format, or nothing at all was measured. The
/// error says where and [`ReadError::exit_code`] which exit code that is.
pub fn read(inputs: &[PathBuf], options: &ReadOptions) -> Result<Input, ReadError> {
    read_sources(inputs.iter().map(|path| Source::open(path)), options)
}

/// Reads `bytes` as if they were the content of a file `name`; see [`read`].
///
/// ```
/// let text = "PARAMETER p\nPOINTS 2 4\nREGION solve\nMETRIC time\nDATA 1.0 1.1\nDATA 2.0\n";
/// let experiment = modeler::formats::read_bytes("solve.txt", text.into(), &Default::default())?.experiment;
/// assert_eq!((experiment.points, experiment.values), (vec![vec![2.0], vec![4.0]], vec![1.0, 1.1, 2.0]));
/// # Ok::<(), modeler::formats::ReadError>(())
/// ```
///
/// # Errors
/// See [`read`].
pub fn read_bytes(name: &str, bytes: Vec<u8>, options: &ReadOptions) -> Result<Input, ReadError> {
    let path = Some(PathBuf::from(name));
    let source = Source::bytes(name.to_owned(), path, Box::new(std::io::Cursor::new(bytes)))?;
    read_sources(std::iter::once(Ok(source)), options)
}

/// The text of a file, unpacked where it is packed with gzip.
///
/// ```
/// let file = tempfile::tempdir()?.keep().join("stats.txt");
/// std::fs::write(&file, "a text")?;
/// assert_eq!(modeler::formats::text_of(&file)?, "a text");
/// std::fs::remove_dir_all(file.parent().unwrap())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// It cannot be read, or is not UTF-8.
pub fn text_of(path: &std::path::Path) -> Result<String, ReadError> {
    Source::open(path)?.into_text()
}

/// Opens one source after the other, since there may be more than a process may have open.
fn read_sources(
    sources: impl Iterator<Item = Result<Source, ReadError>>,
    options: &ReadOptions,
) -> Result<Input, ReadError> {
    let mut gathered = Gathered::new(options);
    for source in sources {
        gathered.add(source?)?;
    }
    gathered.finish()
}

/// What was read of some inputs.
struct Gathered<'a> {
    options: &'a ReadOptions,
    collector: Collector,
    /// The format of the first input, which all others must have, and its place.
    first: Option<(Format, Place)>,
    /// The first input that seems to have another format than the one that was asked for, and was read all the same.
    misnamed: Option<Misnamed>,
    /// Whether this is a [`survey()`], which goes on where several formats lie in one folder.
    is_survey: bool,
}

impl<'a> Gathered<'a> {
    fn new(options: &'a ReadOptions) -> Self {
        let mut collector = Collector::default();
        collector.options = options.clone();
        Self { options, collector, first: None, misnamed: None, is_survey: false }
    }

    /// Reads one more input; where that fails, part of it may have been added.
    fn add(&mut self, source: Source) -> Result<(), ReadError> {
        if let Some(error) = empty(&source) {
            return Err(error);
        }
        let reader = match asked(self.options, &source) {
            Some(format) => reader_of(format, &source)?,
            None if self.is_survey => folders::choose_most(&source)?,
            None => folders::choose(&source, &mut self.collector)?,
        };
        let place = source.place();
        let said = self.options.values;
        let is_untold = Format::UNTOLD.contains(&reader.format());
        if said == Some(Values::Inclusive) && !is_untold && !Format::INCLUSIVE.contains(&reader.format()) {
            return Err(no_inclusive(place, reader.format()));
        }
        if let Some(values) = said.or((!is_untold).then_some(Values::Exclusive)) {
            self.collector.include(values, &place)?;
        }
        match &self.first {
            Some((format, other)) if *format != reader.format() => {
                let what = format!("this is {}, while {other} is {format}", reader.format());
                let error = ReadError::new(ErrorKind::NotRecognised, place, what).expected("inputs of one format");
                return Err(error.advice("Convert each with poise import FILE -o NAME.json, and give those"));
            }
            Some(_) => {}
            None => self.first = Some((reader.format(), place.clone())),
        }
        self.collector.begin(place, said.is_some() || !is_untold);
        let misnamed = self.options.format.and_then(|_| Misnamed::of(reader, &source));
        let packed = source.packed_file().map(PathBuf::from);
        // Whatever a reader finds wrong in a damaged file, the damage is why.
        let damage = |error: &ReadError| {
            let packed = packed.filter(|_| error.kind != ErrorKind::Unreadable)?;
            Source::open(&packed).ok()?.damaged()
        };
        reader.read(source, &mut self.collector).map_err(|error| {
            let misnamed = misnamed.as_ref().filter(|misnamed| misnamed.explains(&error, reader.format()));
            damage(&error).or(misnamed.map(|misnamed| misnamed.error.clone())).unwrap_or(error)
        })?;
        self.misnamed = self.misnamed.take().or(misnamed);
        Ok(())
    }

    /// The experiment of all that was added.
    fn finish(mut self) -> Result<Input, ReadError> {
        let Some((format, place)) = self.first.take() else {
            return Err(ReadError::new(ErrorKind::Unreadable, Place::file("poise"), "no input was given"));
        };
        let misnamed = self.misnamed.take();
        let explained = |error| match misnamed {
            Some(misnamed) if misnamed.explains(&error, format) => misnamed.error,
            _ => error,
        };
        self.put_together(format, place).map_err(explained)
    }

    fn put_together(mut self, format: Format, place: Place) -> Result<Input, ReadError> {
        let collector = &mut self.collector;
        runs::add(std::mem::take(&mut collector.runs), collector)?;
        profiles::add(std::mem::take(&mut collector.profiles), self.options, collector)?;
        let runs = std::mem::take(&mut collector.found);
        let machine = std::mem::take(&mut collector.machine);
        let phased = std::mem::take(&mut collector.phased);
        let (experiment, warnings) = self.collector.finish(place)?;
        Ok(Input { experiment, format, warnings, runs, phased, machine })
    }
}

/// The format that `source` is said to have. Roles of columns are for tables, and say nothing of what is certainly something else;
/// lines of stacks and of blocks may look like those of tables.
fn asked(options: &ReadOptions, source: &Source) -> Option<Format> {
    const LINES: [Format; 3] = [Format::Csv, Format::Folded, Format::SimPoint];
    let is_it = |reader: &&dyn Reader| !LINES.contains(&reader.format()) && reader.detect(source) == Detection::Yes;
    let is_table = || options.columns.is_some() && !READERS.iter().any(is_it);
    options.format.or_else(|| is_table().then_some(Format::Csv))
}

/// The error that values of this format cannot be read with those of the callees.
fn no_inclusive(place: Place, format: Format) -> ReadError {
    let known = Format::INCLUSIVE.map(Format::name).join(" and ");
    let what = format!(
        "values of {format} are read without those of the callees; with them only values of {known} can be read"
    );
    ReadError::new(ErrorKind::NotRecognised, place, what).advice("Leave --inclusive out")
}

/// The name of the study that a TOML file with parameters is: what its first lines say, or the file's.
fn study(source: &Source) -> Option<String> {
    let path = source.path.as_ref().filter(|path| path.extension().is_some_and(|e| e == "toml"))?;
    let text = std::fs::read_to_string(path).ok()?;
    let is_key = |line: &&str, key: &str| line.split('=').next().is_some_and(|name| name.trim() == key);
    let top = || text.lines().take_while(|line| !line.trim_start().starts_with('['));
    if !text.lines().any(|line| line.trim() == "[parameters]") || !top().any(|line| is_key(&line, "command")) {
        return None;
    }
    let named = top().find(|line| is_key(line, "name")).and_then(|line| line.split(['"', '\'']).nth(1));
    named.map(str::to_owned).or_else(|| Some(path.file_stem()?.to_str()?.to_owned()))
}

/// The reader of the format that was asked for.
fn reader_of(format: Format, source: &Source) -> Result<&'static dyn Reader, ReadError> {
    let format = if format == Format::ExtraPJsonNumbered { Format::ExtraPJson } else { format };
    let reader = READERS.iter().find(|r| r.format() == format).copied();
    reader.ok_or_else(|| {
        let what = format!("the format `{format}` is written and not read");
        ReadError::new(ErrorKind::NotRecognised, source.place(), what)
    })
}

/// The error that `source` has not the format that an option says, but another: what the reader of the former finds wrong explains nothing.
struct Misnamed {
    error: ReadError,
    /// Whether it certainly has another format, and not only none that is known.
    is_other: bool,
    /// Whether it is no folder, of which a file may be what cannot be read.
    is_file: bool,
}

impl Misnamed {
    fn of(reader: &dyn Reader, source: &Source) -> Option<Self> {
        let format = reader.format();
        let Detection::No(why) = reader.detect(source) else { return None };
        let other = READERS.iter().find(|other| other.detect(source) == Detection::Yes);
        let what = match other {
            Some(other) => {
                format!("this is of the format {} and not {format}, as it is said to be: {why}", other.format())
            }
            None => format!("this is not of the format {format} that it is said to have: {why}"),
        };
        let known =
            if other.is_some() { "it is recognised" } else { "it is recognised if it is one of those that are read" };
        let error = ReadError::new(ErrorKind::NotRecognised, source.place(), what)
            .advice(format!("Leave out the option that names the format, and {known}"));
        Some(Self { error, is_other: other.is_some(), is_file: source.head().is_some() })
    }

    /// Whether this explains more than the error of the reader. A table is one whatever its columns are.
    fn explains(&self, error: &ReadError, format: Format) -> bool {
        let is_of_all = (self.is_file || error.kind != ErrorKind::Unreadable) && error.place.line.is_none();
        self.is_other || is_of_all && format != Format::Csv
    }
}

/// The error that there is nothing to read.
fn empty(source: &Source) -> Option<ReadError> {
    let is_empty = matches!(&source.content, Content::Bytes { head, complete: true, .. } if head.is_empty());
    is_empty.then(|| ReadError::new(ErrorKind::NotRecognised, source.place(), "the input is empty"))
}

/// The reader for `source`: the one that says yes, or the only one that cannot tell.
fn choose_any(source: &Source) -> Result<&'static dyn Reader, ReadError> {
    if let Some(error) = empty(source) {
        return Err(error);
    }
    if let Some(error) = source::wide(source) {
        return Err(error);
    }
    let mut undecided = Vec::new();
    let mut reasons = Vec::new();
    for reader in READERS {
        match reader.detect(source) {
            Detection::Yes => return Ok(reader),
            Detection::No(reason) => reasons.push((reader.format(), reason)),
            Detection::CannotTell(reason) => {
                reasons.push((reader.format(), format!("perhaps, but {reason}")));
                undecided.push(reader);
            }
        }
    }
    if let Some(name) = study(source) {
        let results = format!("a study is no measurements; poise run leaves its results in {name}.runs");
        return Err(ReadError::new(ErrorKind::NotRecognised, source.place(), results)
            .advice(format!("Give {name}.runs instead")));
    }
    if let [only] = undecided[..]
        && source.content.damage().is_none()
    {
        return Ok(only);
    }
    Err(not_recognised(source, reasons))
}

/// The error that what is at `place` is of a format that its own tools turn into one that is read: its name, and how.
fn not_read(place: Place, (what, how): (&str, &str)) -> ReadError {
    let what = format!("this is {what}, which is not read");
    ReadError::new(ErrorKind::NotRecognised, place, what).advice(how)
}

/// The error that a folder of no known kind is empty, or holds one or few files that are measurements themselves, or would be if they were
/// converted.
fn folder(source: &Source, folder: &std::path::Path) -> Option<ReadError> {
    /// A folder of so many files is told of by its kinds.
    const FEW: usize = 50;
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return Some(source::unreadable(source.place(), &error)),
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let error = |what: String| ReadError::new(ErrorKind::NotRecognised, source.place(), what);
    if files.is_empty() {
        return Some(error("this folder is empty".into()).advice("Give the file or folder that holds measurements"));
    }
    files.sort();
    let format = |file: &PathBuf| {
        let source = Source::open(file).ok().filter(|source| source.head().is_some())?;
        let reader = READERS.iter().find(|reader| reader.detect(&source) == Detection::Yes)?;
        Some((file.file_name()?.to_string_lossy().into_owned(), reader.format()))
    };
    let found: Vec<(String, Format)> = files.iter().take(FEW).filter_map(format).collect();
    let Some((name, format)) = found.first() else {
        let convertible = |file: &PathBuf| {
            let source = Source::open(file).ok()?;
            let (head, _) = source.head()?;
            guess::convertible(head).map(|found| not_read(source.place(), found))
        };
        // A database is a folder itself, and may be one of several here.
        let databases = std::iter::once(folder)
            .chain(files.iter().map(PathBuf::as_path))
            .map(|folder| folder.join(guess::OLD_DATABASE));
        return files.iter().take(FEW).cloned().chain(databases).find_map(|file| convertible(&file));
    };
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more file{} that can be read", if more == 1 { "" } else { "s" }),
    };
    let what = format!("this folder is no format by itself; it holds {name}, which is {format}{more}");
    Some(error(what).advice(format!("Give {} instead", folder.join(name).display())))
}

/// The error that no reader knows `source`, with what keeps it from being the formats that it is nearest to.
fn not_recognised(source: &Source, reasons: Vec<(Format, String)>) -> ReadError {
    if source.is_misnamed_gzip() {
        let what = "this is a damaged or no gzip file: its name ends in .gz, and it does not begin as such files do";
        return ReadError::new(ErrorKind::NotRecognised, source.place(), what)
            .advice("Copy it again, or take .gz off its name if it is not packed")
            .reasons(reasons);
    }
    if let Some(error) = source.damaged() {
        return error.reasons(reasons);
    }
    if let Some(found) = source.head().and_then(|(head, _)| guess::convertible(head)) {
        return not_read(source.place(), found).reasons(reasons);
    }
    if let Some(error) = source
        .head()
        .and_then(|(head, _)| tables::without_roles(source.place(), head, "the format was not recognised: "))
    {
        return error.reasons(reasons);
    }
    if let Some(error) = source.path.as_deref().filter(|_| source.head().is_none()).and_then(|f| folder(source, f)) {
        return error.reasons(reasons);
    }
    let reason = |format: Format| reasons.iter().find(|(of, _)| *of == format);
    let undecided = reasons.iter().filter(|(_, reason)| reason.starts_with("perhaps")).map(|(format, _)| *format);
    let mut told: Vec<Format> = undecided.collect();
    told.extend(guess::nearest(source).into_iter().filter(|f| !told.contains(f)).collect::<Vec<_>>());
    told.truncate(guess::TOLD);
    let lines: Vec<String> =
        told.into_iter().filter_map(reason).map(|(format, why)| format!("\n  {format}: {why}")).collect();
    let advice = format!(
        "Name it with --input-format. Why it is none of the nearest formats (-v: none of all {}):{}",
        reasons.len(),
        lines.concat()
    );
    ReadError::new(ErrorKind::NotRecognised, source.place(), "the format was not recognised")
        .advice(advice)
        .reasons(reasons)
}
