//! The modeler's diagnostics: each has a stable code, one sentence at the place, and an explanation for
//! `poise explain`.

use crate::model::Warning;

/// A stable code such as `W004`.
pub type Code = &'static str;

/// What a code means and what to do about it.
///
/// ```
/// use modeler::warning::{ALL, TOO_FEW_POINTS};
/// let explanation = ALL.iter().find(|explanation| explanation.code == TOO_FEW_POINTS).unwrap();
/// assert_eq!((explanation.code, explanation.title), ("W004", "too few points"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The stable code.
    pub code: Code,
    /// What happened, in a few words.
    pub title: &'static str,
    /// Why it matters and what to do.
    pub text: &'static str,
}

/// A value that is not a number, infinite, beyond 1e150, negative or far below its repetitions was left out.
pub const UNUSABLE_VALUE: &str = "W001";
/// A time of zero.
pub const ZERO_TIME: &str = "W002";
/// A count beyond 2^53 has lost its last digits.
pub const BEYOND_EXACT: &str = "W003";
/// Too few points to choose a function.
pub const TOO_FEW_POINTS: &str = "W004";
/// A parameter never changes.
pub const ONE_VALUE: &str = "W005";
/// A count that should repeat exactly does not.
pub const EFFORT_VARIES: &str = "W006";
/// No hypothesis explains a count to its own precision.
pub const EFFORT_INEXACT: &str = "W007";
/// The times do not follow the effort.
pub const PRIOR_MISFIT: &str = "W008";
/// The method that was asked for needs effort that was not measured.
pub const NO_EFFORT: &str = "W009";
/// The measurements are very noisy.
pub const NOISY: &str = "W010";
/// The time is below what the clock resolves, or the same everywhere.
pub const CONSTANT: &str = "W011";
/// The behaviour changes within the measured range.
pub const CHANGE: &str = "W016";
/// The memory, not the core, sets the time.
pub const BOUND_BY_MEMORY: &str = "W017";
/// A time far off what the others say was left out.
pub const ASTRAY: &str = "W018";

/// What was measured at one rank is apart from all others and was left out.
pub const FIRST_VALUE: &str = "W019";

/// Every diagnostic of the modeler.
pub const ALL: &[Explanation] = &[
    Explanation {
        code: UNUSABLE_VALUE,
        title: "a measured value cannot be used",
        text: "A value that is not a number, infinite, beyond 1e150 or negative was left out of the fit; the other values of \
               its point were kept. So was a time of less than a fiftieth of the median of three or more repetitions, which \
               interference cannot be the reason of, and one of zero beside a repetition that the clock tells from zero. Look at \
               the run that wrote it.",
    },
    Explanation {
        code: ZERO_TIME,
        title: "a time of zero",
        text: "A time of exactly zero is below the clock's resolution, or the call path was not reached there. It \
               takes part in the fit with the weight of the smallest positive time, and where all times are multiples of \
               what the clock tells apart, as a quarter of that: what it shows as zero is anything less than half.",
    },
    Explanation {
        code: BEYOND_EXACT,
        title: "a count beyond 2^53",
        text: "Counts above 9007199254740992 are not exact in double precision. The model is fitted all the same, \
               but it cannot be exact to the last digit.",
    },
    Explanation {
        code: TOO_FEW_POINTS,
        title: "too few points",
        text: "The series has fewer distinct points than a choice between functions needs. Measure at least five \
               values of each parameter.",
    },
    Explanation {
        code: ONE_VALUE,
        title: "a parameter never changes",
        text: "The parameter has one value in all points of the series, so the model cannot depend on it and \
               predictions at other values of it are guesses. Vary it, or leave it out of the experiment.",
    },
    Explanation {
        code: EFFORT_VARIES,
        title: "a count differs between repetitions",
        text: "Effort should be the same in every repetition. Where it is not, the program polls, works adaptively \
               or races; the count is then treated like a noisy measurement.",
    },
    Explanation {
        code: EFFORT_INEXACT,
        title: "a count is explained only approximately",
        text: "No sum of a few terms of the exponent sets gives the count to its own precision. The closest simple \
               one is reported. Extending the exponent sets may help. Where it is right for large counts only, the program may do \
               something else at small scales: more points tell where that changes. Where a parameter has two values at the call path, \
               as where one rank alone has nobody to talk to, measure a third.",
    },
    Explanation {
        code: PRIOR_MISFIT,
        title: "the times do not follow the effort",
        text: "However the effort's model is scaled, the times lie further from it than repetitions scatter and \
               neighbouring points lie apart. So something that is not counted sets part of the time: memcpy and other \
               functions of libraries that were not built with poise cc, waiting, caches or contention. Look at effort \
               against time in poise report, along which parameter they part. The shape of a computation is then \
               searched in the times, if one is found that comes much closer; with `--method effort` it stays that of \
               the effort.",
    },
    Explanation {
        code: NO_EFFORT,
        title: "no effort was measured",
        text: "The method `effort` was asked for and the call path has no basic-block counts, bytes or visits. \
               Measure with the pass and the shim, or use the method `auto`.",
    },
    Explanation {
        code: NOISY,
        title: "very noisy measurements",
        text: "A measurement is taken to lie more than 30 % off the undisturbed value, by noise or because no function follows it, which \
               repetitions tell apart. Functions have the exponents of --exponents and --log-exponents, where these are given. The interval says \
               what can be known; where it is noise, more repetitions narrow it.",
    },
    Explanation {
        code: CONSTANT,
        title: "no growth found",
        text: "The model is a constant: the effort is the same at all points, or the noise hides any growth.",
    },
    Explanation {
        code: CHANGE,
        title: "the behaviour changes within the range",
        text: "One function holds up to a value of a parameter and another beyond it, as where a program switches its \
               algorithm, MPI its protocol, or data outgrow a cache. Growth and predictions beyond the range are those \
               of the last segment. Between the two values that the change lies between, intervals hold both.",
    },
    Explanation {
        code: BOUND_BY_MEMORY,
        title: "memory sets the time, not the executed instructions",
        text: "Noise injection showed that the loop that takes most of the call path's time waits for the memory's \
               bandwidth or latency. The number of basic blocks then does not set its time, so the shape of the model \
               was searched in the times, from where on this is so. Move fewer bytes, or reuse what caches hold; \
               instructions are free up to the absorption that `poise absorb` tells.",
    },
    Explanation {
        code: ASTRAY,
        title: "a time far off the others was left out",
        text: "One function follows all times of a call path but one, or few of many, which is much longer than it gives there, as \
               where something disturbed that run, or much shorter, as where it failed. Such a time would decide the function, \
               so the model is that of the others. Measure that point again: if the time comes back, it is the program's. Of \
               repetitions one is left out that is off by 1.5 times and more what the others at its point take, where it lies ten \
               times as far off them as repetitions usually lie apart.",
    },
    Explanation {
        code: FIRST_VALUE,
        title: "what is measured at one rank is apart",
        text: "Where a parameter is one, as of one rank, something does not happen that happens everywhere else, such as messages: the \
               effort there is not what the function of all others gives, or, where the shape is searched in the values themselves, \
               they are less than a tenth of what a power through the next two values gives there, or less than 0.7 of it where \
               repetitions tell that no function is that of all. The model is that of larger values, \
               and says nothing of one.",
    },
];

/// A code as it was sent by another process of the same program.
pub(crate) fn known_code<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Code, D::Error> {
    let code = <String as serde::Deserialize>::deserialize(deserializer)?;
    let known = ALL.iter().find(|e| e.code == code).map(|e| e.code);
    known.ok_or_else(|| serde::de::Error::custom(format!("{code} is no code of this version")))
}

/// A diagnostic at one series.
pub(crate) fn warning(code: &'static str, message: impl Into<String>) -> Warning {
    Warning { code, message: message.into() }
}
