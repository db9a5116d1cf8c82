//! Counted things in sentences for people.

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
