//! What runs leave whose poise was killed or interrupted: an unfinished folder. What was measured until then gets a name
//! that is seen, and nobody takes it for a run.

use std::path::Path;

use super::{EARLIER, PROFILE, beside, partial};
use crate::output;

/// What folders are called, with a number behind, that hold what was measured until poise was killed.
pub const KILLED: &str = "killed-run";

/// Gives the unfinished folder `left` a name in `parent` that is seen, if it holds anything that was measured, with its
/// checkpoints as one profile; what is to be said of it then.
pub fn keep_measured(left: &Path, parent: &Path) -> Option<String> {
    // Where a failed run was about to be replaced it may be the only one that measured anything.
    let earlier = left.join(EARLIER);
    let left = if partial::is_measured(&earlier) { &earlier } else { left };
    if !partial::is_measured(left) {
        return None;
    }
    let gathered = partial::gather(left).map(|what| format!(" {what}")).unwrap_or_default();
    let kept = beside(left.to_owned(), &parent.join(KILLED));
    let file = [PROFILE, partial::PARTIAL].map(|name| kept.join(name)).into_iter().find(|file| file.exists());
    let next =
        file.map(|file| format!(" poise export {} --to csv shows it.", output::shown(&file.display().to_string())));
    Some(format!(
        "{} holds what a run had measured whose poise was killed or interrupted.{gathered}{} Remove the folder when it is not needed.",
        kept.display(),
        next.unwrap_or_default()
    ))
}
