//! Words of sentences for people: counted things, and names that were meant.

use std::fmt::Display;

/// `1 run`, `2 runs`; verbs that follow may go with the noun.
///
/// ```
/// use modeler::words::counted;
/// assert_eq!(counted(1_u32, "run was", "runs were"), "1 run was");
/// assert_eq!([0_usize, 2].map(|count| counted(count, "run", "runs")), ["0 runs", "2 runs"]);
/// ```
#[must_use]
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str, more: &str) -> String {
    let noun = if count == N::from(1) { one } else { more };
    format!("{count} {noun}")
}

/// What a sentence quotes of somebody's text: all of it, or of more than 60 letters the beginning.
///
/// ```
/// use modeler::words::beginning;
/// assert_eq!(beginning("FAILED"), "FAILED");
/// assert_eq!(beginning(&"é".repeat(61)), "é".repeat(60) + "…");
/// ```
#[must_use]
pub fn beginning(text: &str) -> String {
    const LETTERS: usize = 60;
    match text.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// `; did you mean …?` where one of `known` is close to `unknown`, and nothing where none is.
///
/// ```
/// use modeler::words::suggestion;
/// assert_eq!(suggestion("cycels", ["cycles", "energy"]), "; did you mean `cycles`?");
/// assert_eq!(suggestion("xyz", ["cycles", "energy"]), "");
/// ```
#[must_use]
pub fn suggestion<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let similarity = |name: &str| strsim::jaro_winkler(&unknown.to_lowercase(), &name.to_lowercase());
    let best = known.into_iter().map(|name| (similarity(name), name)).max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((similarity, name)) if similarity > 0.75 => format!("; did you mean `{name}`?"),
        _ => String::new(),
    }
}
