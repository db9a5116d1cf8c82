//! Late receivers: a send that cannot end before its receive begins waits for that. When the receive began only the receiver knows;
//! it answers when it has the message, and the sender is credited when the answer is there, which may be after the
//! send has long ended. Nobody waits for an answer.
//!
//! Asked are synchronous sends, and others from the size on from which MPI libraries may wait for the receiver: those have waited
//! only if the receive began before they ended. What a thread sends of a datatype for the first time is asked about, too, since its size
//! is not known before.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::communicators::Known;
use super::messages::{self, Wire};
use super::offsets;
use crate::library::{self, Family, Handle, Int, Ptr, SUCCESS, family};
use crate::runtime::{Credit, Stamp};

/// Answers that are awaited at the same time; more are not asked for. They have the tags from 1 to this.
pub const MOST: usize = 1000;
/// Answers that are looked for when another is asked for.
const LOOKS: usize = 4;
/// How long answers may take that are under way when MPI ends.
const PATIENCE: Duration = Duration::from_millis(20);

/// A question: its place among all, and one. The receiver's answer has it for a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Question(u32);

impl Question {
    /// No question.
    pub const NONE: Self = Self(0);

    /// As it is sent with the message.
    pub fn number(self) -> u64 {
        self.0.into()
    }

    /// Whether there is one.
    pub fn is_some(self) -> bool {
        self.0 != 0
    }
}

/// A send that waits for an answer, or a free place.
#[derive(Default)]
struct Asked {
    is_taken: bool,
    is_synchronous: bool,
    /// The receive of the answer; 0 where it comes through memory, or is there.
    request: Handle,
    /// Where the answer goes: never freed, since MPI may write to it.
    answer: Option<&'static mut Wire>,
    /// When the receive began.
    posted: Option<u64>,
    /// The call in which the send may have waited: whose it is, its beginning and its end.
    call: Option<(Credit, u64, u64)>,
}

static ASKED: Mutex<Vec<Asked>> = Mutex::new(Vec::new());

fn asked() -> MutexGuard<'static, Vec<Asked>> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Datatypes whose sizes a thread remembers.
const REMEMBERED: usize = 16;

thread_local! {
    /// Sizes of the datatypes that this thread has sent last: before a call MPI must not be asked about its arguments.
    static SIZES: [Cell<(Handle, u64)>; REMEMBERED] = const { [const { Cell::new((0, 0)) }; REMEMBERED] };
}

fn place(datatype: Handle) -> usize {
    (datatype ^ (datatype >> 6) ^ (datatype >> 10)) % REMEMBERED
}

/// A message of `count` elements of a datatype had so many bytes.
pub fn note_size(datatype: Handle, count: u64, bytes: u64) {
    if let Some(size) = bytes.checked_div(count) {
        SIZES.with(|sizes| sizes[place(datatype)].set((datatype, size)));
    }
}

/// Whether a message may be so large that its send may wait for the receiver, as far as it is known before: of a datatype that
/// this thread has not sent lately any element may be.
pub fn may_be_large(datatype: Handle, count: i64) -> bool {
    let count = u64::try_from(count).unwrap_or(0);
    let (known, size) = SIZES.with(|sizes| sizes[place(datatype)].get());
    if known == datatype { may_wait(count.saturating_mul(size)) } else { count > 0 }
}

/// Whether a send of so many bytes may wait for its receiver.
pub fn may_wait(bytes: u64) -> bool {
    family().is_some_and(|family| bytes >= family.may_wait_from)
}

/// Asks when the receive of a message to `dest` will have begun; the answer goes to a receive that is posted now.
pub fn ask(family: &Family, known: &Known, dest: Int, is_synchronous: bool) -> Question {
    let mut all = asked();
    collect(family, &mut all, LOOKS);
    let free = all.iter().position(|asked| !asked.is_taken);
    let index = match free {
        Some(index) => index,
        None if all.len() < MOST => {
            all.push(Asked::default());
            all.len() - 1
        }
        None => return Question::NONE,
    };
    let place = &mut all[index];
    let mut request: Handle = 0;
    if known.shadow != 0 {
        let answer = place.answer.get_or_insert_with(|| Box::leak(Box::default()));
        let buffer: *mut u8 = (&raw mut **answer).cast();
        let tag = index as Int + 1;
        // SAFETY: the buffer is never freed, and used by nobody else until the request is complete.
        let code =
            unsafe { library::irecv(buffer, messages::LENGTH, family.byte, dest, tag, known.pairs, &mut request) };
        if code != SUCCESS {
            return Question::NONE;
        }
    }
    (place.is_taken, place.is_synchronous, place.request) = (true, is_synchronous, request);
    (place.posted, place.call) = (None, None);
    Question(index as u32 + 1)
}

/// The call that may have waited has ended; `begin` is where its waiting for other things had.
pub fn waited(question: Question, begin: &Stamp, end: u64, credit: Credit) {
    if let Some(asked) = asked().get_mut((question.0 as usize).wrapping_sub(1)) {
        asked.call = Some((credit, begin.time, end));
        asked.settle();
    }
}

/// The receive that completed a message with a question began at `posted`: answers.
pub fn answer(family: &Family, of: &Known, sender: Int, question: u64, posted: u64) {
    if of.shadow == 0 {
        if let Some(asked) = asked().get_mut((question as usize).wrapping_sub(1)) {
            asked.posted = Some(posted);
            asked.settle();
        }
    } else if let Ok(tag) = Int::try_from(question) {
        messages::post(family.byte, of.pairs, sender, tag, &Stamp { clock: 0, time: posted }, Question::NONE);
    }
}

impl Asked {
    /// Credits the waiting where all is known of it.
    fn settle(&mut self) {
        let Some(posted) = self.posted else { return };
        let Some((credit, begin, end)) = self.call.take() else { return };
        // Clocks of different nodes may say that a synchronous send ended before its receive began.
        let until = if self.is_synchronous { posted.min(end) } else { posted };
        if until > begin && until <= end {
            credit.late_receiver(until - begin, end - until);
        }
        self.is_taken = false;
    }

    /// Takes the answer if it is there.
    fn look(&mut self, family: &Family) {
        let mut done: Int = 0;
        // SAFETY: the request is of a receive that was not complete when this was last asked.
        let code = unsafe { library::test(&mut self.request, &mut done, family.status_ignore) };
        if code != SUCCESS || done == 0 {
            return;
        }
        self.request = 0;
        self.posted = self.answer.as_ref().map(|wire| offsets::from_wire(wire.stamp.time));
        self.settle();
    }
}

/// Looks whether some answers are there, the next `most` of them in turn.
fn collect(family: &Family, all: &mut [Asked], most: usize) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = all.len().max(1);
    let first = NEXT.fetch_add(most, Ordering::Relaxed) % number;
    let in_turn = (first..first + number.min(all.len())).map(|index| index % number);
    let open: SmallVec<[usize; 8]> = in_turn.filter(|&index| all[index].request != 0).take(most).collect();
    open.into_iter().for_each(|index| all[index].look(family));
}

/// MPI ends, and all ranks are here, so that all answers that will come have been sent. Receives of others are given up.
pub fn end(family: &Family) {
    let begin = Instant::now();
    let mut all = asked();
    loop {
        collect(family, &mut all, MOST);
        // A send whose end nobody has seen is not asked about any more.
        let is_open = all.iter().any(|asked| asked.request != 0 && asked.call.is_some());
        if !is_open || begin.elapsed() > PATIENCE {
            break;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    for asked in all.iter_mut().filter(|asked| asked.request != 0) {
        // SAFETY: the receive is ours; a cancelled one completes.
        unsafe {
            library::cancel(&mut asked.request);
            library::wait(&mut asked.request, family.status_ignore as Ptr);
        }
        *asked = Asked::default();
    }
}

/// The send that asked is not to be looked at: MPI refused the call, or its request was freed.
pub fn forget(question: Question) {
    let Some(family) = family() else { return };
    if let Some(asked) = asked().get_mut((question.0 as usize).wrapping_sub(1)) {
        if asked.request != 0 {
            // SAFETY: as in `end`. An answer that is under way all the same stays unreceived, which harms nobody.
            unsafe {
                library::cancel(&mut asked.request);
                library::wait(&mut asked.request, family.status_ignore as Ptr);
            }
            asked.request = 0;
        }
        asked.is_taken = false;
    }
}
