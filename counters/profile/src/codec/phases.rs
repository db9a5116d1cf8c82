//! The bytes of a profile's phases.

use super::{Input, put};
use crate::{Bin, BinUnit, Code, Modelled, Phases, Place, ProfileError, Share, Shares, Timeline};

/// The units in the order of their codes.
const UNITS: [BinUnit; 3] = [BinUnit::Blocks, BinUnit::Instructions, BinUnit::Time];

/// Phases in the bytes of the file format alone: for who has bins in another form and keeps them no longer than it takes to write them.
/// [`Profile::encode_with`](crate::Profile::encode_with) puts them into a profile.
#[derive(Debug)]
pub struct EncodedPhases {
    /// As [`Phases::unit`] and [`Phases::width`].
    bins: (BinUnit, u64),
    /// As [`Phases::places`], of which the shares' places are indices.
    pub places: Vec<Place>,
    /// How many timelines there are.
    timelines: usize,
    /// Their bytes.
    bytes: Vec<u8>,
}

impl EncodedPhases {
    /// Phases without a timeline or place, of bins of this width.
    #[must_use]
    pub fn new(unit: BinUnit, width: u64) -> Self {
        Self { bins: (unit, width), places: Vec::new(), timelines: 0, bytes: Vec::new() }
    }

    /// Adds the bins of a thread of a rank, of each its shares. Which lines of memory they accessed is not known.
    pub fn add_timeline<S>(&mut self, thread: (u32, u32), bins: impl ExactSizeIterator<Item = S>)
    where
        S: Iterator<Item = Share> + Clone,
    {
        self.timelines += 1;
        put_timeline(&mut self.bytes, thread, bins.map(|shares| (None, shares)));
    }

    /// The bytes of the timelines.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was binned.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.timelines == 0
    }
}

/// Appends phases of which the bytes are known.
pub(super) fn put_encoded(out: &mut Vec<u8>, phases: &EncodedPhases) {
    put_head(out, phases.bins, &phases.places, phases.timelines);
    out.extend(&phases.bytes);
}

/// Appends the phases.
pub(super) fn put_phases(out: &mut Vec<u8>, phases: &Phases) {
    put_head(out, (phases.unit, phases.width), &phases.places, phases.timelines.len());
    for timeline in &phases.timelines {
        let bins = timeline.bins.iter().map(|bin| (bin.lines, bin.shares.iter().copied()));
        put_timeline(out, (timeline.rank, timeline.thread), bins);
    }
}

/// Appends what comes before the timelines.
fn put_head(out: &mut Vec<u8>, (unit, width): (BinUnit, u64), places: &[Place], timelines: usize) {
    out.push(unit as u8);
    put(out, width.into());
    put(out, places.len() as u128);
    places.iter().for_each(|place| put_place(out, place));
    put(out, timelines as u128);
}

/// Appends the bins of a thread of a rank: of each the lines of memory that it accessed, if that is known, and its shares.
fn put_timeline<S>(out: &mut Vec<u8>, (rank, thread): (u32, u32), bins: impl ExactSizeIterator<Item = (Option<u64>, S)>)
where
    S: Iterator<Item = Share> + Clone,
{
    put(out, rank.into());
    put(out, thread.into());
    put(out, bins.len() as u128);
    let mut out = Ahead { begin: out.len(), at: out.len(), out };
    // Many have a share or two.
    out.out.resize(out.at + SHARE + 24 * bins.len(), 0);
    bins.for_each(|(lines, shares)| put_bin(&mut out, lines, shares));
    out.out.truncate(out.at);
}

/// Appends which timelines, by their numbers, have a first bin that is apart.
pub(super) fn put_apart(out: &mut Vec<u8>, timelines: &[Timeline]) {
    let apart: Vec<u128> = (0..).zip(timelines).filter(|(_, timeline)| timeline.first_apart).map(|(i, _)| i).collect();
    put(out, apart.len() as u128);
    apart.into_iter().for_each(|number| put(out, number));
}

/// Appends what models said of places.
pub(super) fn put_modelled(out: &mut Vec<u8>, modelled: &[Modelled]) {
    put(out, modelled.len() as u128);
    for place in modelled {
        put(out, place.place.into());
        put(out, place.mispredicted.into());
        put(out, place.fills.len() as u128);
        place.fills.iter().flatten().for_each(|&fills| put(out, fills.into()));
    }
}

fn put_place(out: &mut Vec<u8>, place: &Place) {
    put(out, place.node.into());
    let Some(code) = &place.code else { return out.push(0) };
    out.push(1 + u8::from(code.ends_block));
    put(out, code.address.into());
    put(out, code.instructions.into());
    put(out, code.bytes.len() as u128);
    out.extend(&code.bytes);
}

/// Bytes that are appended to others where there are some already: a program waits at its end for thousands of numbers, none of which has to ask for
/// room.
struct Ahead<'a> {
    out: &'a mut Vec<u8>,
    /// How many there were before.
    begin: usize,
    /// How many count; what is behind them is overwritten.
    at: usize,
}

impl Ahead<'_> {
    /// Room for `most` bytes at [`Ahead::at`], and what else there is.
    #[inline(always)]
    fn room(&mut self, most: usize) -> &mut [u8] {
        if self.out.len() - self.at < most {
            self.grow(most);
        }
        &mut self.out[self.at..]
    }

    #[cold]
    fn grow(&mut self, most: usize) {
        // Twice as many as were appended, so that what is moved is never much, nor what is filled for many timelines.
        self.out.resize(self.at + (self.at - self.begin) + most, 0);
    }
}

/// Puts a number of up to 64 bits at `at`, as [`put`] appends it; gives where the next byte is.
#[inline(always)]
fn put_at(bytes: &mut [u8], mut at: usize, mut number: u64) -> usize {
    while number >= 0x80 {
        bytes[at] = number as u8 | 0x80;
        number >>= 7;
        at += 1;
    }
    bytes[at] = number as u8;
    at + 1
}

/// Appends a bin.
#[inline(always)]
fn put_bin(out: &mut Ahead, lines: Option<u64>, shares: impl Iterator<Item = Share> + Clone) {
    let lines = lines.map_or(0, |lines| u128::from(lines) + 1);
    // The number of as many as most bins have is a byte, and known when they are there.
    let (count, most) = match shares.size_hint().1 {
        Some(most) if most < 0x80 => (0, most),
        _ => {
            let count = shares.clone().count();
            (count, count)
        }
    };
    let bytes = out.room(2 * NUMBER + most * SHARE);
    let counted = put_wide(bytes, lines);
    let mut at = put_at(bytes, counted, count as u64);
    let mut found = 0_usize;
    shares.for_each(|share| {
        found += 1;
        at = put_share(bytes, at, &share);
    });
    if count == 0 {
        bytes[counted] = found as u8;
    }
    out.at += at;
}

/// Puts a number that may have a bit more than 64 at the beginning; gives where the next byte is.
#[inline(always)]
fn put_wide(bytes: &mut [u8], number: u128) -> usize {
    match u64::try_from(number) {
        Ok(number) => put_at(bytes, 0, number),
        Err(_) => {
            bytes[0] = number as u8 | 0x80;
            put_at(bytes, 1, (number >> 7) as u64)
        }
    }
}

/// Bytes of a number at most that has up to 64 bits, or one more.
const NUMBER: usize = 10;

/// Bytes of a share at most: its place, the bits, and eight numbers.
const SHARE: usize = 5 + 1 + 8 * NUMBER;

/// Puts a share at `at`; gives where the next byte is.
#[inline(always)]
fn put_share(bytes: &mut [u8], at: usize, share: &Share) -> usize {
    let bits = put_at(bytes, at, share.place.into());
    // Most numbers are zero: a bit for each says which are there.
    let (mut at, mut present) = (bits + 1, 0);
    for (bit, &number) in share.numbers().iter().enumerate() {
        if number > 0 {
            present |= 1 << bit;
            at = put_at(bytes, at, number);
        }
    }
    bytes[bits] = present;
    at
}

impl Input<'_> {
    /// The phases.
    pub(super) fn phases(&mut self) -> Result<Phases, ProfileError> {
        let code = self.byte()?;
        let unit = UNITS.get(usize::from(code)).copied();
        let unit = unit.ok_or_else(|| self.inconsistent(&format!("there is no unit {code} of bins")))?;
        let width = self.number()?;
        let places = self.list("places", 2, Input::place)?;
        let timelines = self.list("timelines", 3, Input::timeline)?;
        Ok(Phases { unit, width, places, timelines, modelled: Vec::new() })
    }

    /// Marks the timelines whose first bin is apart.
    pub(super) fn apart(&mut self, timelines: &mut [Timeline]) -> Result<(), ProfileError> {
        for number in self.list("timelines with a first bin apart", 1, Input::number::<usize>)? {
            let timeline = timelines.get_mut(number);
            timeline.ok_or_else(|| self.inconsistent(&format!("there is no timeline {number}")))?.first_apart = true;
        }
        Ok(())
    }

    /// What models said of places.
    pub(super) fn modelled(&mut self) -> Result<Vec<Modelled>, ProfileError> {
        self.list("places that models tell of", 3, |input| {
            let (place, mispredicted) = (input.number()?, input.number()?);
            let fills =
                input.list("instructions that models tell of", 2, |input| Ok([input.number()?, input.number()?]))?;
            Ok(Modelled { place, mispredicted, fills })
        })
    }

    fn place(&mut self) -> Result<Place, ProfileError> {
        let node = self.number()?;
        let ends_block = match self.byte()? {
            0 => return Ok(Place { node, code: None }),
            1 => false,
            2 => true,
            other => return Err(self.inconsistent(&format!("there is no kind {other} of places"))),
        };
        let (address, instructions) = (self.number()?, self.number()?);
        let bytes = self.list("bytes of machine code", 1, Input::byte)?;
        Ok(Place { node, code: Some(Code { address, instructions, ends_block, bytes }) })
    }

    fn timeline(&mut self) -> Result<Timeline, ProfileError> {
        let (rank, thread) = (self.number()?, self.number()?);
        Ok(Timeline { rank, thread, bins: self.list("bins", 2, Input::bin)?, first_apart: false })
    }

    fn bin(&mut self) -> Result<Bin, ProfileError> {
        let lines = match self.wide()? {
            0 => None,
            n => Some(u64::try_from(n - 1).map_err(|_| self.inconsistent("a bin has too many lines"))?),
        };
        let count = self.count("places of a bin", 2)?;
        let shares: Result<Shares, _> = (0..count).map(|_| self.share()).collect();
        Ok(Bin { lines, shares: shares? })
    }

    fn share(&mut self) -> Result<Share, ProfileError> {
        let place = self.number()?;
        let present = self.byte()?;
        let mut numbers = [0; 8];
        for (bit, number) in numbers.iter_mut().enumerate() {
            if present & (1 << bit) != 0 {
                *number = self.number()?;
            }
        }
        Ok(Share::of(place, numbers))
    }
}
