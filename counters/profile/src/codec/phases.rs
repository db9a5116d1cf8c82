//! The bytes of a profile's phases.

use super::{Input, put};
use crate::{Bin, BinUnit, Code, Modelled, Phases, Place, ProfileError, Share, Shares, Timeline};

/// The units in the order of their codes.
const UNITS: [BinUnit; 3] = [BinUnit::Blocks, BinUnit::Instructions, BinUnit::Time];

/// Appends the phases.
pub(super) fn put_phases(out: &mut Vec<u8>, phases: &Phases) {
    out.push(phases.unit as u8);
    put(out, phases.width.into());
    put(out, phases.places.len() as u128);
    phases.places.iter().for_each(|place| put_place(out, place));
    put(out, phases.timelines.len() as u128);
    for timeline in &phases.timelines {
        put(out, timeline.rank.into());
        put(out, timeline.thread.into());
        put(out, timeline.bins.len() as u128);
        // Some numbers take two or three bytes.
        out.reserve(timeline.bins.iter().map(|bin| 2 + 8 * bin.shares.len()).sum());
        timeline.bins.iter().for_each(|bin| put_bin(out, bin));
    }
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

fn put_bin(out: &mut Vec<u8>, bin: &Bin) {
    put(out, bin.lines.map_or(0, |lines| u128::from(lines) + 1));
    put(out, bin.shares.len() as u128);
    for share in &bin.shares {
        put(out, share.place.into());
        // Most numbers are zero: a bit for each says which are there.
        let bits = out.len();
        out.push(0);
        for (bit, number) in share.numbers().into_iter().enumerate() {
            if number > 0 {
                out[bits] |= 1 << bit;
                put(out, number.into());
            }
        }
    }
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
