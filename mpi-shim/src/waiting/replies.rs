//! Late receivers: a send that cannot end before its receive begins waits for that. When the receive began only the receiver knows;
//! it answers when it has the message, and the sender is credited when the answer is there, which may be after the
//! send has long ended. Nobody waits for an answer.
//!
//! Asked are synchronous sends, and others from the size on from which MPI libraries may wait for the receiver: those have waited
//! only if the receive began before they ended. What a thread sends of a datatype for the first time is asked about, too, since its size
//! is not known before.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::communicators::Known;
use super::messages::{self, Wire};
use super::offsets;
use crate::library::{self, Family, Handle, Int, Ptr, SUCCESS, family};
use crate::own;
use crate::runtime::{Credit, Stamp};

/// Answers that are awaited at the same time; more are not asked for. They have the tags from 1 to this.
pub const MOST: usize = 1000;
/// Answers that are looked for when another is asked for: more than one, so that those that are there become fewer.
const LOOKS: usize = 2;
/// How long answers may take that are under way when MPI ends.
const PATIENCE: Duration = Duration::from_millis(20);

/// A question: its place among all, and one. The receiver's answer has it for a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Question(u32);

impl Question {
    /// No question.
    pub const NONE: Self = Self(0);

    #[cfg(test)]
    pub fn from_number(number: u64) -> Self {
        Self(number as u32)
    }

    /// As it is sent with the message.
    pub fn number(self) -> u64 {
        self.0.into()
    }

    /// Whether there is one.
    pub fn is_some(self) -> bool {
        self.0 != 0
    }
}

/// A call in which sends may have waited.
struct Call {
    /// Whose it is.
    credit: Credit,
    /// Up to when it is told already what the call waited for, which other sends may have in common with it.
    told: Arc<AtomicU64>,
    end: u64,
}

/// What is known of a send that asked.
#[derive(Default)]
enum Sender {
    /// There is none: the place is free.
    #[default]
    Nobody,
    /// It has not ended.
    Sends,
    /// It has ended, in a call in which it may have waited.
    Ended(Call),
    /// It has not waited, whatever the answer says.
    HasNotWaited,
}

/// A place for a send that waits for an answer.
#[derive(Default)]
struct Asked {
    sender: Sender,
    is_synchronous: bool,
    /// The receive of the answer; 0 where it comes through memory, or is there.
    request: Handle,
    /// Where the answer goes: never freed, since MPI may write to it.
    answer: Option<&'static mut Wire>,
    /// When the receive began.
    posted: Option<u64>,
}

/// All places.
struct Answers {
    places: Vec<Asked>,
    /// Those that are free.
    free: Vec<usize>,
    /// Those that wait for a message, in the order in which they are looked at.
    under_way: VecDeque<usize>,
}

static ASKED: Mutex<Answers> = Mutex::new(Answers { places: Vec::new(), free: Vec::new(), under_way: VecDeque::new() });

fn asked() -> MutexGuard<'static, Answers> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a message may be so large that its send may wait for the receiver, as far as it is known before: of a datatype that
/// this thread has not sent lately any element may be.
pub fn may_be_large(datatype: Handle, count: i64) -> bool {
    let count = u64::try_from(count).unwrap_or(0);
    own::with(|own| own.sizes.of(datatype)).map_or(count > 0, |size| may_wait(count.saturating_mul(size)))
}

/// Whether a send of so many bytes may wait for its receiver.
pub fn may_wait(bytes: u64) -> bool {
    family().is_some_and(|family| bytes >= family.may_wait_from)
}

/// Asks when the receive of a message to `dest` will have begun; the answer goes to a receive that is posted now.
pub fn ask(family: &Family, known: &Known, dest: Int, is_synchronous: bool) -> Question {
    let mut all = asked();
    all.collect(family, LOOKS);
    let Some(index) = all.free_place() else { return Question::NONE };
    let place = &mut all.places[index];
    let mut request: Handle = 0;
    if known.shadow != 0 {
        let answer = place.answer.get_or_insert_with(|| Box::leak(Box::default()));
        let buffer: *mut u8 = (&raw mut **answer).cast();
        let tag = index as Int + 1;
        // SAFETY: the buffer is never freed, and used by nobody else until the request is complete.
        let code =
            unsafe { library::irecv(buffer, messages::LENGTH, family.byte, dest, tag, known.pairs, &mut request) };
        if code != SUCCESS {
            all.free.push(index);
            return Question::NONE;
        }
        all.under_way.push_back(index);
    }
    let place = &mut all.places[index];
    (place.sender, place.is_synchronous, place.request, place.posted) = (Sender::Sends, is_synchronous, request, None);
    Question(index as u32 + 1)
}

/// The call that completed these sends has ended; `begin` is where its waiting for other things had. However many receivers were late, it
/// waited once.
pub fn waited(questions: impl Iterator<Item = Question>, begin: &Stamp, end: u64) {
    let mut told = None;
    for question in questions.filter(|question| question.is_some()) {
        let told = told.get_or_insert_with(|| Arc::new(AtomicU64::new(begin.time))).clone();
        let call = Call { credit: Credit::now(), told, end };
        asked().change(question, |asked| asked.sender = Sender::Ended(call));
    }
}

/// The send that asked has not waited for its receiver.
pub fn has_not_waited(question: Question) {
    asked().change(question, |asked| asked.sender = Sender::HasNotWaited);
}

/// The receive that completed a message with a question began at `posted`: answers.
pub fn answer(family: &Family, of: &Known, sender: Int, question: u64, posted: u64) {
    if of.shadow == 0 {
        let question = Question(u32::try_from(question).unwrap_or(0));
        asked().change(question, |asked| asked.posted = Some(posted));
    } else if let Ok(tag) = Int::try_from(question) {
        messages::post(family.byte, of.pairs, sender, tag, &Stamp { clock: 0, time: posted }, Question::NONE);
    }
}

impl Call {
    /// The receive of one of its sends began at `posted`.
    fn tell(self, posted: u64, is_synchronous: bool) {
        // Clocks of different nodes may say that a synchronous send ended before its receive began.
        let until = if is_synchronous { posted.min(self.end) } else { posted };
        if until <= self.end {
            let told = self.told.fetch_max(until, Ordering::Relaxed);
            if until > told {
                self.credit.late_receiver(until - told, self.end - until);
            }
        }
    }
}

impl Asked {
    /// Tells the waiting where all is known of it; whether the place is free from now on.
    fn settles(&mut self) -> bool {
        let Some(posted) = self.posted else { return false };
        match std::mem::take(&mut self.sender) {
            Sender::Nobody => return false,
            Sender::Sends => {
                self.sender = Sender::Sends;
                return false;
            }
            Sender::Ended(call) => call.tell(posted, self.is_synchronous),
            Sender::HasNotWaited => {}
        }
        true
    }

    /// Takes the answer if it is there.
    fn look(&mut self, family: &Family) {
        let mut done: Int = 0;
        // SAFETY: the request is of a receive that was not complete when this was last asked.
        let code = unsafe { library::test(&mut self.request, &mut done, family.status_ignore) };
        if code == SUCCESS && done != 0 {
            self.request = 0;
            self.posted = self.answer.as_ref().map(|wire| offsets::from_wire(wire.stamp.time));
        }
    }

    /// Gives the receive of the answer up.
    fn cancel(&mut self, family: &Family) {
        // SAFETY: the receive is ours; a cancelled one completes.
        unsafe {
            library::cancel(&mut self.request);
            library::wait(&mut self.request, family.status_ignore as Ptr);
        }
        self.request = 0;
    }
}

impl Answers {
    /// A place that is free, unless there are too many.
    fn free_place(&mut self) -> Option<usize> {
        self.free.pop().or_else(|| {
            (self.places.len() < MOST).then(|| {
                self.places.push(Asked::default());
                self.places.len() - 1
            })
        })
    }

    /// Something is known of the place of a question.
    fn change(&mut self, question: Question, change: impl FnOnce(&mut Asked)) {
        let index = (question.0 as usize).wrapping_sub(1);
        if let Some(asked) = self.places.get_mut(index) {
            change(asked);
            if asked.settles() {
                self.free.push(index);
            }
        }
    }

    /// Looks whether some answers are there, the next `most` of them in turn.
    fn collect(&mut self, family: &Family, most: usize) {
        for _ in 0..most.min(self.under_way.len()) {
            let Some(index) = self.under_way.pop_front() else { return };
            let asked = &mut self.places[index];
            asked.look(family);
            if asked.request != 0 {
                self.under_way.push_back(index);
            } else if asked.settles() {
                self.free.push(index);
            }
        }
    }
}

/// MPI ends, and all ranks are here, so that all answers that will come have been sent. Receives of others are given up.
pub fn end(family: &Family) {
    let begin = Instant::now();
    let mut all = asked();
    loop {
        all.collect(family, MOST);
        // A send whose end nobody has seen is not asked about any more.
        let is_awaited = |&index: &usize| matches!(all.places[index].sender, Sender::Ended(_));
        if !all.under_way.iter().any(is_awaited) || begin.elapsed() > PATIENCE {
            break;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    for index in std::mem::take(&mut all.under_way) {
        all.places[index].cancel(family);
        all.places[index].sender = Sender::Nobody;
        all.free.push(index);
    }
}

/// The send that asked is not to be looked at: MPI refused the call.
pub fn forget(question: Question) {
    let Some(family) = family() else { return };
    let mut all = asked();
    let index = (question.0 as usize).wrapping_sub(1);
    let Some(asked) = all.places.get_mut(index) else { return };
    if asked.request != 0 {
        // An answer that is under way all the same stays unreceived.
        asked.cancel(family);
        all.under_way.retain(|&other| other != index);
    }
    all.places[index].sender = Sender::Nobody;
    all.free.push(index);
}
