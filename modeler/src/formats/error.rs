//! What can go wrong while reading: where, what was expected and what to do. Also the warnings of readers that read on.

use std::fmt;

use crate::warning::Explanation;

/// Where in an input something stands.
///
/// ```
/// use modeler::formats::{Format, ReadOptions, read_bytes};
/// let options = ReadOptions { format: Some(Format::ExtraPText), ..ReadOptions::default() };
/// let error = read_bytes("runs.txt", b"PARAMETER p\nPOINTS 2 x\n".to_vec(), &options).unwrap_err();
/// assert_eq!((error.place.file.as_str(), error.place.line), ("runs.txt", Some(2)));
/// assert!(error.place.to_string().starts_with("runs.txt:2"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Name of the file as the user gave it, `<standard input>`, or `archive/member` inside an archive.
    pub file: String,
    /// Line, counted from 1, where the format has lines.
    pub line: Option<usize>,
    /// Column in bytes, counted from 1.
    pub column: Option<usize>,
}

impl Place {
    /// A whole file.
    #[must_use]
    pub(crate) fn file(file: impl Into<String>) -> Self {
        Self { file: file.into(), line: None, column: None }
    }

    /// A line and column of a file, both counted from 1.
    #[must_use]
    pub(crate) fn at(file: impl Into<String>, line: usize, column: usize) -> Self {
        Self { file: file.into(), line: Some(line), column: Some(column) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        Ok(())
    }
}

/// Why an input could not be read.
///
/// ```
/// use modeler::formats::{ErrorKind, read};
/// let error = read(&["no/such/file".into()], &Default::default()).unwrap_err();
/// assert_eq!(error.kind, ErrorKind::Unreadable);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The operating system did not give the content.
    Unreadable,
    /// No reader knows the format, or several do.
    NotRecognised,
    /// The format is known and the content breaks its rules.
    Malformed,
    /// The content is valid and holds nothing that can be modelled.
    NotModelable,
    /// One of [`ReadOptions`](super::ReadOptions) cannot be understood, whatever the content is.
    BadOption,
}

/// An input that could not be read: where, what is wrong, what was expected, what to do.
/// Shown as one line, `place: what; expected expected. advice.`
///
/// ```
/// use modeler::formats::{ErrorKind, read_bytes};
/// let error = read_bytes("empty.txt", Vec::new(), &Default::default()).unwrap_err();
/// assert_eq!(error.kind, ErrorKind::NotRecognised);
/// assert_eq!(error.to_string(), "empty.txt: the input is empty.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Why.
    pub kind: ErrorKind,
    /// Where.
    pub place: Place,
    /// What is wrong, a clause without a full stop.
    pub what: Box<str>,
    /// What was expected instead, a noun phrase.
    pub expected: Option<Box<str>>,
    /// What to do, an imperative clause without a full stop.
    pub advice: Option<Box<str>>,
    /// Where no reader knows the input: every reader's reason, which few people want to read.
    pub reasons: Option<Box<Reasons>>,
}

/// Formats and why an input has none of them, a clause each.
///
/// ```
/// use modeler::formats::{Format, Reasons};
/// let reasons = Reasons(vec![(Format::Csv, "it has no header".into()), (Format::Tau, "it is a file".into())]);
/// assert_eq!(reasons.to_string(), "  csv: it has no header\n  tau: it is a file");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reasons(pub Vec<(super::Format, String)>);

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(|(format, reason)| format!("  {format}: {reason}")).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// A message without the middle of what it quotes, if that is longer than anybody reads: a line may be as long as its file.
pub(super) fn readable(message: String) -> String {
    const LONGEST: usize = 4096;
    if message.len() <= LONGEST {
        return message;
    }
    let boundary = |at: usize| (0..=at).rev().find(|&at| message.is_char_boundary(at)).unwrap_or(0);
    let (head, tail) = (boundary(LONGEST / 2), boundary(message.len() - LONGEST / 2));
    format!("{} … {}", &message[..head], &message[tail..])
}

impl ReadError {
    /// An error of this kind at this place.
    #[must_use]
    pub(crate) fn new(kind: ErrorKind, place: Place, what: impl Into<String>) -> Self {
        Self { kind, place, what: readable(what.into()).into(), expected: None, advice: None, reasons: None }
    }

    /// Content that breaks the rules of its format.
    #[must_use]
    pub(crate) fn malformed(place: Place, what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, place, what)
    }

    /// Adds what was expected.
    #[must_use]
    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into().into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub(crate) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into().into());
        self
    }

    /// Adds that the file was probably cut off.
    #[must_use]
    pub(super) fn cut_off(self) -> Self {
        self.advice("Copy the file again; it was probably cut off")
    }

    /// Adds every reader's reason.
    #[must_use]
    pub(super) fn reasons(mut self, reasons: Vec<(super::Format, String)>) -> Self {
        self.reasons = Some(Box::new(Reasons(reasons)));
        self
    }

    /// The exit code of the public interface: 2 an option that cannot be understood, 3 unreadable or not recognised, 4 valid but not
    /// modelable.
    ///
    /// ```
    /// use modeler::formats::{read, read_bytes};
    /// assert_eq!(read(&["no/such/file".into()], &Default::default()).unwrap_err().exit_code(), 3);
    /// assert_eq!(read_bytes("empty.txt", Vec::new(), &Default::default()).unwrap_err().exit_code(), 3);
    /// ```
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            ErrorKind::Unreadable | ErrorKind::NotRecognised | ErrorKind::Malformed => 3,
            ErrorKind::NotModelable => 4,
            ErrorKind::BadOption => 2,
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        f.write_str(".")?;
        if let Some(advice) = &self.advice {
            write!(f, " {advice}.")?;
        }
        Ok(())
    }
}

impl std::error::Error for ReadError {}

/// Something a reader noticed and read on after.
///
/// ```
/// use modeler::formats::{Place, RUN_LEFT_OUT, ReadWarning};
/// let place = Place { file: "results/3".into(), line: None, column: None };
/// let warning = ReadWarning { code: RUN_LEFT_OUT, place, message: "The run was left out.".into() };
/// assert_eq!(warning.to_string(), "results/3: The run was left out. [W101]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadWarning {
    /// A stable code that `poise explain` knows, such as `W101`.
    pub code: &'static str,
    /// Where.
    pub place: Place,
    /// What was noticed and what was done about it, in full sentences.
    pub message: String,
}

impl fmt::Display for ReadWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]", self.place, self.message, self.code)
    }
}

/// A run was left out of the experiment.
pub const RUN_LEFT_OUT: &str = "W101";
/// Only statistics of repetitions were kept in the file.
pub const STATISTICS_ONLY: &str = "W102";
/// Something in the file has no meaning for a model and was ignored.
pub const IGNORED: &str = "W103";
/// What a run's record says and what its profile holds differ.
pub const CONTRADICTION: &str = "W104";
/// Values of ranks or threads became one.
pub const AVERAGED: &str = "W105";
/// An archive's checksum is wrong.
pub const CHECKSUM: &str = "W107";
/// A value that cannot be was replaced.
pub const IMPOSSIBLE: &str = "W108";
/// A text report holds rounded values.
pub const ROUNDED: &str = "W109";
/// Whole numbers were rounded.
pub const LOST_DIGITS: &str = "W110";
/// The last line of a text has no end.
pub const UNENDED: &str = "W111";

/// Values of ranks count as repetitions.
pub const OF_RANKS: &str = "W112";

/// Something that a file does not tell was assumed.
pub const ASSUMED: &str = "W113";

/// A parameter is zero or below at some point.
pub const NOT_POSITIVE: &str = "W114";

/// Every code that readers warn with, in ascending order.
pub const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: RUN_LEFT_OUT,
        title: "a run was left out",
        text: "A run failed, or its record or profile is missing or damaged, so the experiment does not contain it. Run \
               the study again; complete runs are kept.",
    },
    Explanation {
        code: STATISTICS_ONLY,
        title: "only statistics of the measurements were kept",
        text: "The file holds the mean of repeated measurements and not the measurements. Each point counts as one \
               repetition with the mean as its value, so the noise has to be judged from the fit alone. Import the \
               original measurements if they still exist.",
    },
    Explanation {
        code: IGNORED,
        title: "something in a file was ignored",
        text: "The file holds something that has no meaning for a model, such as an unknown key or a tag. Nothing has to \
               be done unless the key was misspelt. A column of a table that has no role, although rows of one point \
               differ in it, makes repetitions of them; give it a role with --columns. A cell of a measurement that is empty, although its \
               call path has such values elsewhere and none at this point, counts as not measured: fill it in if the value was lost.",
    },
    Explanation {
        code: CONTRADICTION,
        title: "a run's record and its profile disagree",
        text: "The record of a run says another number of ranks than its profile holds. The record's parameters were \
               used. Check that the study passes p to the launcher.",
    },
    Explanation {
        code: AVERAGED,
        title: "the values of ranks were averaged",
        text: "The file holds several values for each repetition, one for each rank or thread, and does not say which is \
               whose. Their mean was taken. Or a report, such as a concise one of mpiP, tells only what they have together at \
               some call paths: those have the statistics over ranks that follow from it, and no others. Nothing has to be \
               done unless the slowest rank is of interest; import the profiles themselves then, or a report of all ranks.",
    },
    Explanation {
        code: CHECKSUM,
        title: "an archive's checksum is wrong",
        text: "A profile's archive has a wrong checksum in a header. CubeWriter 4.8 wrote such archives, and their content \
               is right. The file was read; if another program wrote it, compare it with the original.",
    },
    Explanation {
        code: IMPOSSIBLE,
        title: "a value that cannot be was replaced",
        text: "A counter holds a negative number where it can only count up, mostly because the hardware counter that \
               was read ran backwards or was shared. The value was taken for zero. Distrust this counter.",
    },
    Explanation {
        code: ROUNDED,
        title: "a report holds rounded values",
        text: "A text report prints few digits, so each value is uncertain by that rounding, which no repetition makes \
               smaller. Differences between points below that are not growth. Use a tool that keeps all digits where \
               small growth matters.",
    },
    Explanation {
        code: LOST_DIGITS,
        title: "whole numbers have lost their last digits",
        text: "Measurements are kept in double precision, which holds whole numbers up to 9007199254740992 exactly. The \
               relative error of larger ones is below 1e-15, far below any noise; only an exact count is exact no more.",
    },
    Explanation {
        code: UNENDED,
        title: "the last line of a file has no end",
        text: "The tools that write such files end every line with a line feed, and the last one has none. If the file was \
               cut off there, the count in that line may have lost digits and other lines may be missing, which nothing \
               in the file tells. Copy the file again; if it was written by hand, add the line feed.",
    },
    Explanation {
        code: OF_RANKS,
        title: "values of ranks count as repetitions",
        text: "Every point has as many values as one of its parameters says, so they seem to be those of that many ranks or \
               threads of one run. Repetitions are runs of the same, which only noise tells apart; ranks do different work \
               and wait differently, as those that come late to MPI_Finalize do not wait there at all. What differs between \
               ranks then counts as noise: intervals are wide, or hold few of the values. Give one value for each run, such \
               as the mean or the largest over ranks, or import the profiles themselves, whose values over ranks become mean, \
               maximum, minimum and sum. If they are repetitions, nothing has to be done.",
    },
    Explanation {
        code: ASSUMED,
        title: "something that a file does not tell was assumed",
        text: "A setting that a profile tells of its run counts as a parameter although nearly every run has its own value, \
               which is also so of results, such as used memory, that are the same in two runs by chance: say the parameters \
               in the names of files or folders then. Or the bytes of a reduction, which Score-P states once for each member \
               of a communicator that it does not name, were divided by all processes, and are too few where the communicator \
               was smaller: compare them at points where its share of the processes is the same, or measure with poise, which \
               counts the operand. Or a text names a point, or a region with a metric, twice, Extra-P's JSON a point, a table a repetition, or an input of values with their points holds those of another, \
               and what stands there was taken for repetitions: take it out if it is a copy.",
    },
    Explanation {
        code: NOT_POSITIVE,
        title: "a parameter is zero or negative",
        text: "Models are sums of powers and logarithms of parameters. At zero a parameter has no logarithm and no negative \
               power, which has no end near it, and below zero no logarithm and no broken power either: factors that are no number at one of the points \
               are not tried, so that the model may be another one than without that point; where a model changes within the range, they are on a part \
               without such points. Where zero stands for \
               something else, as for all cores or for a default, write what it stands for, or take these points out.",
    },
];
