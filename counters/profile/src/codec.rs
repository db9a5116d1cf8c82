//! The bytes of a profile, versions 1 to 7. `docs/formats.md` is the specification; what is written there and here agrees.

use std::collections::BTreeMap;

use crate::{Burst, Loop, Metric, Node, Noise, OverRanks, Phases, Profile, ProfileError, Region, RegionKind, Series};

mod messages;
mod phases;

pub use phases::EncodedPhases;

/// The first bytes of every profile. The first is no text, and the line ends show a transfer that converted them.
const MAGIC: [u8; 8] = *b"\x8fPOISE\r\n";
/// The newest version that this crate reads. It writes the oldest that can hold the profile.
const VERSION: u32 = 7;
/// The version that added noise.
const WITH_NOISE: u32 = 2;
/// The version that added the metrics from [`Metric::LogicalWait`] on.
const WITH_WAITING: u32 = 3;
/// The version that added phases, inlined functions, and the metrics from [`Metric::Instructions`] on.
const WITH_PHASES: u32 = 4;
/// The version that added what models say of places.
const WITH_MODELS: u32 = 5;
/// The version that added messages, values by rank, and the metrics from [`Metric::Peers`] on.
const WITH_MESSAGES: u32 = 6;
/// The version that added which timelines have a first bin that is apart.
const WITH_APART: u32 = 7;
/// Magic, version, ranks and length.
const HEADER: usize = 24;
/// The checksum at the end.
const TRAILER: usize = 8;

/// 64-bit FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv). Each step is a bijection of the state, so a change of any
/// single byte always changes the result.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

impl Profile {
    /// The profile as bytes of the file format, in the oldest version that holds all of it. [`Profile::decode`] gives an equal profile back if
    /// [`Profile::check`] accepts this one.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.encode_as(self.version(self.phases.is_empty()), 0, |out| phases::put_phases(out, &self.phases))
    }

    /// The same where the phases, of which the profile has none, are these.
    #[must_use]
    pub fn encode_with(&self, phases: &EncodedPhases) -> Vec<u8> {
        let put_phases = |out: &mut Vec<u8>| phases::put_encoded(out, phases);
        self.encode_as(self.version(phases.is_empty()), phases.len(), put_phases)
    }

    /// The profile as bytes of this version, with the phases that `put_phases` appends, of which there are some `of_phases` bytes as far as that is known.
    fn encode_as(&self, version: u32, of_phases: usize, put_phases: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER + 8 * (self.nodes.len() + 2 * self.values.len()) + of_phases);
        out.extend(MAGIC);
        out.extend(version.to_le_bytes());
        out.extend(self.ranks.to_le_bytes());
        out.extend(0u64.to_le_bytes()); // The length, known at the end.
        put(&mut out, self.metadata.len() as u128);
        for (key, value) in &self.metadata {
            put_text(&mut out, key);
            put_text(&mut out, value);
        }
        put(&mut out, self.regions.len() as u128);
        self.regions.iter().for_each(|region| put_region(&mut out, region));
        put(&mut out, self.nodes.len() as u128);
        for node in &self.nodes {
            put(&mut out, node.parent.map_or(0, |parent| u128::from(parent) + 1));
            put(&mut out, u128::from(node.region));
        }
        put_values(&mut out, &self.values);
        if version >= WITH_NOISE {
            put_noise(&mut out, &self.noise);
        }
        if version >= WITH_PHASES {
            put_phases(&mut out);
        }
        if version >= WITH_MODELS {
            phases::put_modelled(&mut out, &self.phases.modelled);
        }
        if version >= WITH_MESSAGES {
            messages::put_messages(&mut out, &self.messages);
            messages::put_by_rank(&mut out, &self.by_rank);
        }
        if version >= WITH_APART {
            phases::put_apart(&mut out, &self.phases.timelines);
        }
        let length = (out.len() + TRAILER) as u64;
        out[HEADER - 8..HEADER].copy_from_slice(&length.to_le_bytes());
        let sum = checksum(&out);
        out.extend(sum.to_le_bytes());
        out
    }

    /// The oldest version that holds all of the profile, whose phases may be elsewhere.
    fn version(&self, has_no_phases: bool) -> u32 {
        let newest = self.values.keys().map(|&(_, metric)| metric).max();
        let has_inlined = self.regions.iter().any(|region| region.kind == RegionKind::Inlined);
        match newest {
            _ if self.phases.timelines.iter().any(|timeline| timeline.first_apart) => WITH_APART,
            Some(metric) if metric >= Metric::Peers => WITH_MESSAGES,
            _ if !self.messages.is_empty() || !self.by_rank.is_empty() => WITH_MESSAGES,
            _ if !self.phases.modelled.is_empty() => WITH_MODELS,
            Some(metric) if metric >= Metric::Instructions => WITH_PHASES,
            _ if has_inlined || !has_no_phases => WITH_PHASES,
            Some(metric) if metric >= Metric::LogicalWait => WITH_WAITING,
            _ if !self.noise.is_empty() => WITH_NOISE,
            _ => 1,
        }
    }

    /// The profile that `bytes` encode. Memory stays within a constant multiple of their number.
    ///
    /// # Errors
    /// Whatever is wrong with the bytes; never a panic.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProfileError> {
        let (version, ranks, body) = open(bytes)?;
        let mut input = Input { rest: body, length: body.len() };
        let metadata = input.metadata()?;
        let regions = input.list("regions", 4, Input::region)?;
        let nodes = input.list("nodes", 2, Input::node)?;
        let values = input.values()?;
        let noise = if version >= WITH_NOISE { input.noise()? } else { Noise::default() };
        let mut phases = if version >= WITH_PHASES { input.phases()? } else { Phases::default() };
        if version >= WITH_MODELS {
            phases.modelled = input.modelled()?;
        }
        let mut messages = BTreeMap::new();
        let mut by_rank = BTreeMap::new();
        if version >= WITH_MESSAGES {
            (messages, by_rank) = (input.messages()?, input.by_rank()?);
        }
        if version >= WITH_APART {
            input.apart(&mut phases.timelines)?;
        }
        if !input.rest.is_empty() {
            return Err(input.inconsistent("bytes follow the last item"));
        }
        let profile = Self { metadata, ranks, regions, nodes, values, noise, phases, messages, by_rank };
        profile.check()?;
        Ok(profile)
    }
}

/// Version, number of ranks and body of a file whose header, length and checksum are right.
fn open(bytes: &[u8]) -> Result<(u32, u32, &[u8]), ProfileError> {
    let found = bytes.len() as u64;
    if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) || bytes.is_empty() {
        return Err(ProfileError::NotAProfile);
    }
    let short = || ProfileError::Truncated { expected: (HEADER + TRAILER) as u64, found };
    let (version, rest) = bytes[MAGIC.len().min(bytes.len())..].split_first_chunk().ok_or_else(short)?;
    let version = u32::from_le_bytes(*version);
    match version {
        0 => return Err(ProfileError::NotAProfile),
        1..=VERSION => {}
        newer => return Err(ProfileError::NewerVersion { found: newer, known: VERSION }),
    }
    let (ranks, rest) = rest.split_first_chunk().ok_or_else(short)?;
    let (length, rest) = rest.split_first_chunk().ok_or_else(short)?;
    let expected = u64::from_le_bytes(*length);
    if expected != found {
        return Err(ProfileError::Truncated { expected, found });
    }
    let (body, sum) = rest.split_last_chunk().ok_or_else(short)?;
    let (expected, found) = (checksum(&bytes[..bytes.len() - TRAILER]), u64::from_le_bytes(*sum));
    if expected != found {
        return Err(ProfileError::Checksum { expected, found });
    }
    Ok((version, u32::from_le_bytes(*ranks), body))
}

/// Appends `number` as unsigned LEB128: seven bits a byte, lowest first, the high bit set in all but the last.
fn put(out: &mut Vec<u8>, mut number: u128) {
    while number > u64::MAX.into() {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    // Nearly all fit into 64 bits, which are far cheaper to shift; a program waits at its end for thousands of them.
    let mut number = number as u64;
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a text's length and bytes.
fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u128);
    out.extend(text.as_bytes());
}

fn put_region(out: &mut Vec<u8>, region: &Region) {
    put_text(out, &region.name);
    put_text(out, &region.file);
    put(out, u128::from(region.line));
    out.push(match region.kind {
        RegionKind::Function => 0,
        RegionKind::Mpi => 1,
        RegionKind::User => 2,
        RegionKind::Inlined => 3,
    });
}

fn put_values(out: &mut Vec<u8>, values: &BTreeMap<(u32, Metric), OverRanks>) {
    put(out, values.len() as u128);
    let mut last = 0;
    for (&(node, metric), value) in values {
        put(out, u128::from(node - last));
        last = node;
        out.push(metric as u8);
        put(out, u128::from(value.ranks));
        put(out, u128::from(value.minimum.0));
        put(out, u128::from(value.minimum.1));
        // One rank's sum and maximum are its minimum: most bytes of what a single rank sends say nothing.
        if value.ranks != 1 {
            put(out, u128::from(value.maximum.0));
            put(out, u128::from(value.maximum.1));
            put(out, value.sum);
        }
    }
}

fn put_noise(out: &mut Vec<u8>, noise: &Noise) {
    put(out, noise.modes.len() as u128);
    noise.modes.iter().for_each(|mode| put_text(out, mode));
    put(out, noise.loops.len() as u128);
    for target in &noise.loops {
        put_text(out, &target.function);
        put_text(out, &target.file);
        [target.line, target.id, target.width].into_iter().for_each(|number| put(out, number.into()));
        put_text(out, &target.refusal);
    }
    put(out, noise.series.len() as u128);
    for series in &noise.series {
        [series.node, series.target, series.rank, series.thread].into_iter().for_each(|number| put(out, number.into()));
        put(out, series.executions.into());
        put(out, series.left_out.into());
        put(out, series.bursts.len() as u128);
        let mut last = 0;
        for burst in &series.bursts {
            // Where the rounds go back, which no valid profile has, a number too large for the reader.
            put(out, u128::from(burst.round).wrapping_sub(last));
            last = burst.round.into();
            put(out, burst.mode.into());
            put(out, burst.k.into());
            put(out, burst.entries.into());
            put(out, burst.iterations.map_or(0, |iterations| u128::from(iterations) + 1));
            put(out, burst.nanoseconds.into());
        }
    }
}

/// What is left to read of the body.
struct Input<'a> {
    rest: &'a [u8],
    /// Length of the whole body, to tell where something is wrong.
    length: usize,
}

impl Input<'_> {
    fn inconsistent(&self, what: &str) -> ProfileError {
        let offset = HEADER + self.length - self.rest.len();
        ProfileError::Inconsistent { what: format!("{what} (at byte {offset})") }
    }

    fn byte(&mut self) -> Result<u8, ProfileError> {
        let (&byte, rest) = self.rest.split_first().ok_or_else(|| self.inconsistent("the body ends early"))?;
        self.rest = rest;
        Ok(byte)
    }

    /// One LEB128 number.
    fn wide(&mut self) -> Result<u128, ProfileError> {
        let mut number = 0;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.inconsistent("a number has more than 128 bits"))
    }

    /// One LEB128 number of a narrower type.
    fn number<T: TryFrom<u128>>(&mut self) -> Result<T, ProfileError> {
        let number = self.wide()?;
        T::try_from(number).map_err(|_| self.inconsistent(&format!("the number {number} is too large")))
    }

    fn text(&mut self) -> Result<String, ProfileError> {
        let length = self.number::<usize>()?;
        let (text, rest) =
            self.rest.split_at_checked(length).ok_or_else(|| self.inconsistent("a text is longer than the file"))?;
        let text = str::from_utf8(text).map_err(|_| self.inconsistent("a text is not UTF-8"))?.to_owned();
        self.rest = rest;
        Ok(text)
    }

    /// A number of items that take at least `smallest` bytes each, so that a wrong number cannot claim memory.
    fn count(&mut self, what: &str, smallest: usize) -> Result<usize, ProfileError> {
        let count = self.number::<usize>()?;
        if count > self.rest.len() / smallest {
            return Err(self.inconsistent(&format!("{count} {what} do not fit into the file")));
        }
        Ok(count)
    }

    fn list<T>(
        &mut self,
        what: &str,
        smallest: usize,
        item: fn(&mut Self) -> Result<T, ProfileError>,
    ) -> Result<Vec<T>, ProfileError> {
        let count = self.count(what, smallest)?;
        (0..count).map(|_| item(self)).collect()
    }

    fn metadata(&mut self) -> Result<BTreeMap<String, String>, ProfileError> {
        let mut metadata = BTreeMap::new();
        for _ in 0..self.count("metadata entries", 2)? {
            let key = self.text()?;
            let value = self.text()?;
            if metadata.insert(key, value).is_some() {
                return Err(self.inconsistent("a metadata key appears twice"));
            }
        }
        Ok(metadata)
    }

    fn region(&mut self) -> Result<Region, ProfileError> {
        let (name, file, line) = (self.text()?, self.text()?, self.number()?);
        let kind = match self.byte()? {
            0 => RegionKind::Function,
            1 => RegionKind::Mpi,
            2 => RegionKind::User,
            3 => RegionKind::Inlined,
            other => return Err(self.inconsistent(&format!("there is no region kind {other}"))),
        };
        Ok(Region { name, file, line, kind })
    }

    fn node(&mut self) -> Result<Node, ProfileError> {
        let parent = match self.wide()? {
            0 => None,
            n => Some(u32::try_from(n - 1).map_err(|_| self.inconsistent("a node's caller does not exist"))?),
        };
        Ok(Node { parent, region: self.number()? })
    }

    fn values(&mut self) -> Result<BTreeMap<(u32, Metric), OverRanks>, ProfileError> {
        let mut values = BTreeMap::new();
        let mut last = 0u32;
        for _ in 0..self.count("values", 5)? {
            let step = self.number::<u32>()?;
            last = last.checked_add(step).ok_or_else(|| self.inconsistent("a value's node does not exist"))?;
            let metric = self.metric()?;
            let value = self.over_ranks()?;
            if values.insert((last, metric), value).is_some() {
                return Err(self.inconsistent("a node has the same metric twice"));
            }
        }
        Ok(values)
    }

    fn metric(&mut self) -> Result<Metric, ProfileError> {
        let code = self.byte()?;
        let metric = Metric::ALL.get(usize::from(code)).copied();
        metric.ok_or_else(|| self.inconsistent(&format!("there is no metric {code}")))
    }

    fn over_ranks(&mut self) -> Result<OverRanks, ProfileError> {
        let ranks = self.number()?;
        let minimum = (self.number()?, self.number()?);
        if ranks == 1 {
            return Ok(OverRanks::of_rank(minimum.1, minimum.0));
        }
        let maximum = (self.number()?, self.number()?);
        Ok(OverRanks { ranks, sum: self.wide()?, minimum, maximum })
    }

    fn noise(&mut self) -> Result<Noise, ProfileError> {
        let modes = self.list("noise modes", 1, Input::text)?;
        let loops = self.list("loops", 6, Input::target)?;
        let series = self.list("series of noise bursts", 7, Input::series)?;
        Ok(Noise { modes, loops, series })
    }

    fn target(&mut self) -> Result<Loop, ProfileError> {
        let (function, file) = (self.text()?, self.text()?);
        let (line, id, width) = (self.number()?, self.number()?, self.number()?);
        Ok(Loop { function, file, line, id, width, refusal: self.text()? })
    }

    fn series(&mut self) -> Result<Series, ProfileError> {
        let (node, target, rank, thread) = (self.number()?, self.number()?, self.number()?, self.number()?);
        let (executions, left_out) = (self.number()?, self.number()?);
        let mut bursts = self.list("noise bursts", 6, Input::burst)?;
        let mut round = 0u32;
        for burst in &mut bursts {
            let sum = round.checked_add(burst.round);
            round = sum.ok_or_else(|| self.inconsistent("a burst's round exceeds 32 bits"))?;
            burst.round = round;
        }
        Ok(Series { node, target, rank, thread, executions, left_out, bursts })
    }

    /// One burst, its round counted from the previous burst's.
    fn burst(&mut self) -> Result<Burst, ProfileError> {
        let (round, mode, k, entries) = (self.number()?, self.number()?, self.number()?, self.number()?);
        let iterations = match self.wide()? {
            0 => None,
            n => Some(u64::try_from(n - 1).map_err(|_| self.inconsistent("a burst has too many iterations"))?),
        };
        Ok(Burst { round, mode, k, entries, iterations, nanoseconds: self.number()? })
    }
}
