//! Waiting: the logical clock of a thread, and what it executes while it only asks MPI again and again.
//!
//! The clock shows the basic blocks that the thread has executed, without those of polling, and how far waiting and
//! messages have set it ahead. No noise can change it where the program does not depend on the order of messages.
//!
//! What a thread does after an MPI test without success is noted by call path. If the next MPI operation is a test too, it
//! was polling and leaves the effort; otherwise it was work.

use crate::tree::Node;

/// Call paths that are told apart between two tests; where there are more, what happens there stays work.
const MOST: usize = 32;

/// What one call path did since the last test.
struct Part {
    node: *mut Node,
    blocks: u64,
    ticks: u64,
}

/// What a thread did since its last MPI operation, if that was a test without success.
#[derive(Default)]
pub struct Polls {
    parts: Vec<Part>,
    /// The test's own call path, and what the shim did itself after the test, while the program was waiting as well.
    own: Option<(*mut Node, u64)>,
    /// Whether more call paths were visited than can be told apart.
    is_full: bool,
}

impl Polls {
    /// With room for all that it will hold, so that nothing allocates later.
    pub fn new() -> Self {
        Self { parts: Vec::with_capacity(MOST), own: None, is_full: false }
    }

    /// Forgets what was noted.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.own = None;
        self.is_full = false;
    }

    /// The shim took so long itself after the test at `node`.
    pub fn note_own(&mut self, node: *mut Node, ticks: u64) {
        self.own = Some((node, ticks));
    }

    /// Notes what `node` did.
    #[cold]
    pub fn note(&mut self, node: *mut Node, blocks: u64, ticks: u64) {
        let has_room = self.parts.len() < MOST;
        match self.parts.iter_mut().find(|part| part.node == node) {
            Some(part) => (part.blocks, part.ticks) = (part.blocks + blocks, part.ticks + ticks),
            None if has_room => self.parts.push(Part { node, blocks, ticks }),
            None => self.is_full = true,
        }
    }

    /// It was polling: moves it out of the effort. Returns the number of blocks.
    ///
    /// # Safety
    /// The nodes that were noted are of the calling thread's tree.
    pub unsafe fn settle(&mut self) -> u64 {
        if let Some((node, ticks)) = self.own {
            // SAFETY: as below.
            let node = unsafe { &*node };
            node.ticks.add(ticks);
            node.wait_ticks.add(ticks);
        }
        if self.is_full {
            return 0;
        }
        let mut blocks = 0;
        for part in &self.parts {
            // SAFETY: the caller's promise; nodes live as long as their tree.
            let node = unsafe { &*part.node };
            node.blocks.take(part.blocks);
            node.polling_blocks.add(part.blocks);
            node.wait_ticks.add(part.ticks);
            blocks += part.blocks;
        }
        blocks
    }
}

/// A moment of a thread, as it is sent with messages: `struct poise_stamp`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The logical clock.
    pub clock: u64,
    /// Time in ticks of the runtime's clock.
    pub time: u64,
}
