//! Progress on standard error, only on a terminal and only where the user has not asked for quiet.

use std::io::IsTerminal;
use std::time::Duration;

use crate::output;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Whether and how progress is shown.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    shown: bool,
}

impl Progress {
    /// Progress where standard error is a terminal and `wanted` is true.
    pub fn new(wanted: bool) -> Self {
        Self { shown: wanted && std::io::stderr().is_terminal() }
    }

    /// Says what begins now.
    pub fn step(&self, what: &str) {
        if self.shown {
            output::say(what);
        }
    }

    /// A bar over `total` equal parts, with time left.
    pub fn bar(&self, what: &'static str, total: u64) -> Bar {
        self.bar_with("{prefix} [{bar:30}] {pos}/{len}  {msg}  {elapsed} gone{left}", what, total)
    }

    /// A bar over `total` parts that differ: the time left is the caller's to say.
    pub fn bar_of_unequal(&self, what: &'static str, total: u64) -> Bar {
        // Cut where the terminal ends, so that a narrow one is not filled with broken lines.
        self.bar_with("{prefix} [{bar:20}] {elapsed}  {wide_msg}", what, total)
    }

    fn bar_with(&self, template: &'static str, what: &'static str, total: u64) -> Bar {
        let target = if self.shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template(template).expect("the templates are constant").progress_chars("=> ");
        // Before the first part is done nobody knows how long all take.
        let style = style.with_key("left", |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            if state.pos() > 0 {
                let _ = write!(text, ", {:#} left", HumanDuration(state.eta()));
            }
        });
        let bar = ProgressBar::with_draw_target(Some(total), target).with_style(style).with_prefix(what);
        bar.enable_steady_tick(Duration::from_millis(250));
        Bar { bar }
    }
}

/// One bar; it disappears when dropped.
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// What is being done now.
    pub fn message(&self, text: &str) {
        self.bar.set_message(text.to_owned());
    }

    /// Where it is, of how many parts, and what is to be said.
    pub fn set(&self, position: u64, total: u64, text: &str) {
        self.bar.set_length(total);
        self.bar.set_position(position);
        self.bar.set_message(text.to_owned());
    }

    /// One part is done.
    pub fn advance(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
