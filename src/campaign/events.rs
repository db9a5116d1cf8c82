//! What happens in a campaign, told as it happens: a bar on the terminal, or one JSON object per line on standard output.

use std::cell::RefCell;
use std::io::Write;

use serde_json::{Value, json};

use super::Summary;
use crate::output;
use crate::progress::{Bar, Progress};
use crate::run::misfortune::Outcome;

/// Where events go.
pub struct Events {
    tells: bool,
    progress: Progress,
    bar: RefCell<Option<Bar>>,
    /// What the bar says of the runs that have ended and those that have not.
    counts: RefCell<String>,
    /// Why runs were pending when it was last looked, and whether that has been told.
    pending: RefCell<(String, bool)>,
}

impl Events {
    /// Nothing has happened yet.
    pub fn start(progress: &Progress, tells: bool) -> Self {
        Self {
            tells,
            progress: *progress,
            bar: RefCell::new(None),
            counts: RefCell::default(),
            pending: RefCell::default(),
        }
    }

    fn tell(&self, event: Value) {
        if self.tells {
            // Where standard output is closed there is nobody to tell; the runs go on.
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{event}").and_then(|()| out.flush());
        }
    }

    /// The campaign begins: runs found complete, runs to make and how long they probably take.
    pub fn begin(&self, found: usize, (left, seconds): (usize, Option<f64>)) {
        let bar = self.progress.bar_of_unequal("measure", (found + left) as u64);
        *self.bar.borrow_mut() = Some(bar);
        self.show(found, 0, left, seconds);
        self.tell(json!({
            "event": "begin", "schema": "counterpoise/run-events", "schema_version": 1, "found": found, "left": left,
            "seconds_left": seconds,
        }));
    }

    /// Puts the counts and the time left on the bar, where they stay.
    fn show(&self, complete: usize, failed: usize, left: usize, seconds_left: Option<f64>) {
        let Some(bar) = &*self.bar.borrow() else { return };
        let time = seconds_left.map_or_else(String::new, |s| format!(", about {} left", duration(s)));
        let counts = format!("{complete} done, {failed} failed, {left} to do{time}");
        bar.set((complete + failed) as u64, (complete + failed + left) as u64, &counts);
        *self.counts.borrow_mut() = counts;
    }

    /// A run begins.
    pub fn begins(&self, name: &str) {
        if let Some(bar) = &*self.bar.borrow() {
            bar.message(&format!("{}; {name}", self.counts.borrow()));
        }
        self.tell(json!({"event": "run", "run": name}));
    }

    /// So many runs are in a queue and have not begun. What lasts from one look to the next is told, once for each reason.
    pub fn pending(&self, runs: usize, reason: &str) {
        if let Some(bar) = self.bar.borrow().as_ref().filter(|_| runs > 0) {
            bar.message(&format!("{}; {runs} pending ({reason})", self.counts.borrow()));
        }
        let mut known = self.pending.borrow_mut();
        if known.0 != reason {
            *known = (reason.to_owned(), false);
        } else if runs > 0 && !known.1 {
            known.1 = true;
            self.tell(json!({"event": "pending", "runs": runs, "reason": reason}));
        }
    }

    /// Something that concerns no run alone, in one line.
    pub fn note(&self, text: &str) {
        output::say(text);
        self.tell(json!({"event": "note", "text": text}));
    }

    /// A run has ended; the counts are those after it.
    pub fn ended(
        &self,
        name: &str,
        outcome: &Outcome,
        seconds: f64,
        complete: usize,
        failed: usize,
        (left, seconds_left): (usize, Option<f64>),
    ) {
        self.show(complete, failed, left, seconds_left);
        let (status, cause, reason) = match outcome {
            Outcome::Complete => ("complete", None, None),
            Outcome::Failed { cause, reason, .. } => ("failed", Some(cause.name()), Some(reason)),
        };
        self.tell(json!({
            "event": "ended", "run": name, "status": status, "cause": cause, "reason": reason, "seconds": seconds,
            "complete": complete, "failed": failed, "left": left, "seconds_left": seconds_left,
        }));
    }

    /// The campaign ends.
    pub fn end(&self, summary: &Summary) {
        *self.bar.borrow_mut() = None;
        let unsettled = summary.unsettled.iter().map(|(point, reason)| json!({"point": point, "reason": reason}));
        self.tell(json!({
            "event": "end", "complete": summary.complete, "found": summary.found, "failed": summary.failed.len(),
            "unsettled": unsettled.collect::<Vec<_>>(), "warnings": summary.warnings,
        }));
    }
}

/// `40 s`, `3 min`, `2.5 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
