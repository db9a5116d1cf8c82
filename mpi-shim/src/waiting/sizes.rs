//! Sizes of the datatypes that a thread has sent last: before a call MPI must not be asked about its arguments.

use std::cell::Cell;

/// Datatypes whose sizes a thread remembers.
pub const REMEMBERED: usize = 16;

/// What a thread remembers of them.
#[derive(Default)]
pub struct Sizes {
    /// Handles and sizes. No datatype has the handle 0.
    known: [Cell<(usize, u64)>; REMEMBERED],
    /// Which is forgotten next.
    next: Cell<usize>,
}

impl Sizes {
    /// A message of `count` elements of a datatype had so many bytes.
    pub fn note(&self, datatype: usize, count: u64, bytes: u64) {
        let Some(size) = bytes.checked_div(count) else { return };
        let place = self.known.iter().find(|known| known.get().0 == datatype).unwrap_or_else(|| {
            let next = self.next.get();
            self.next.set((next + 1) % REMEMBERED);
            &self.known[next]
        });
        place.set((datatype, size));
    }

    /// The size of an element, if it is remembered.
    pub fn of(&self, datatype: usize) -> Option<u64> {
        self.known.iter().map(Cell::get).find(|known| known.0 == datatype).map(|known| known.1)
    }
}
