//! One thread's noise: at each loop and call path a small automaton that first learns how long iterations take, then
//! measures burst after burst, each of one variant, until every mode is known well enough.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use poise_profile::Burst;

use super::collect::{Path, SharedSeries, described, publish};
use super::settings::Settings;
use super::sweep::{Random, Sweep};
use super::{Choice, Inside, Module, NONE, Ran, Site, Variant, buffer, cost_of_timing, text};
use crate::clock;
use crate::thread;
use crate::tree::Node;

/// An iteration of a loop around the target that lasts longer than this, in nanoseconds, is no burst: then the target
/// itself is split into bursts.
const LONGEST_ITERATION: u64 = 50_000;
/// The first iteration touches memory for the first time or waits for the processor: only one that lasts longer than this, in nanoseconds,
/// says by itself that the others last long, too.
const LONGEST_FIRST: u64 = 20_000_000;
/// A loop that is entered for the first time for so few iterations at most leaves them to the loops inside: were one of them spent on
/// learning how long it is, a loop that a run enters once would be over.
const FEW_ITERATIONS: u64 = 8;
/// Nor is one that lasts longer than this and holds several loops, whose executions are long enough to be timed one by one.
const LONGEST_SHARED: u64 = 500;
/// Nor is one of which the target takes less than this share, by its executions timed one by one: it would be charged the time of the rest.
const LEAST_OWN: f64 = 0.7;
/// A clock that is read more often than this, in nanoseconds, shows other things than the loop's time: filling and emptying the window of
/// instructions in flight, and what a variant does before its first iteration, take 10 to 20 ns.
const SHORTEST: u64 = 200;
/// After so many rounds of nothing else, one after another, a loop is given up.
const MOST_BRIEF: u32 = 40;
/// Rounds that are worth nothing if all others of a loop are so: their bursts without noise may have been interrupted.
const ON_TRIAL: u32 = 2;
/// So often that share is measured, in so small a part of a burst each; the median counts.
const TIMINGS: usize = 5;
const TIMING: u64 = 4;
/// Times are trusted when they add up to this, in nanoseconds, while learning.
const TO_LEARN: u64 = 20_000;
/// Iterations of a burst that are worth waiting longer for: the times of few differ by chance, where each waits for memory.
const MANY: u64 = 400;
/// How many times longer than wanted a burst may be for their sake.
const PATIENCE: u64 = 10;
/// Iterations of a first try.
const FIRST_TRY: u64 = 16;
/// Iterations after which a loop whose clock stands still is believed anyway.
const MOST_TRIES: u64 = 1 << 24;
/// Part of a burst that only warms up caches and predictors after the variant before it.
const WARM: u64 = 4;
/// An inner loop with a smaller share of all inner iterations is not measured.
const SMALLEST_SHARE: f64 = 0.02;
/// Bursts kept per loop, call path and thread, 48 bytes each; nine modes of twelve quantities have 34,560 where each is measured as often as any may be.
/// With as many a loop is done.
const MOST_BURSTS: usize = 50_000;
/// What a forced variant's chunks are, at most: a power of two.
const FORCED_CHUNK: usize = 20;

/// A thread's state.
pub struct Local {
    number: u32,
    settings: &'static Settings,
    random: Random,
    /// By site and call path.
    places: HashMap<(u32, usize), Box<Place>>,
    /// The place entered last, to save the search.
    last: Option<((u32, usize), *mut Place)>,
    /// The place whose variant runs.
    running: *mut Place,
    /// Nanoseconds per 2^20 ticks.
    scale: u64,
    /// See `cost_of_timing`.
    cost: (u64, u64),
}

/// What is being done at a place.
enum Phase {
    /// Learning how long an iteration is.
    Learn,
    /// Learning how often the targets iterate per iteration of the loop around them: the index of the target.
    Count(usize),
    /// Learning which share of that iteration's time the targets take: the index of the target.
    Time(usize),
    /// Measuring.
    Measure,
    /// Nothing at this level: the loops inside choose for themselves.
    Decline,
    /// Nothing any more, nor inside.
    Done,
}

/// A loop with noise inside a site.
struct Target {
    /// Number in the module.
    number: u32,
    /// Iterations per iteration of the site's loop.
    share: f64,
    /// The share of that iteration's time that it takes, timing by timing.
    own: Vec<f64>,
    executions: u64,
    /// Whether it is not known to have run: that it has too few executions is said of no loop that never ran.
    is_idle: bool,
    sweeps: Vec<(u32, Sweep)>,
    series: Arc<Mutex<SharedSeries>>,
    round: u32,
}

/// The burst that is under way.
#[derive(Default)]
struct Current {
    variant: usize,
    mode: u32,
    k: u32,
    /// Iterations to run before time counts.
    warming: u64,
    /// Iterations to run while it counts.
    left: u64,
    iterations: u64,
    ticks: u64,
    /// How often the clock was read.
    readings: u64,
    /// Executions of the target, or chunks of them.
    entries: u64,
}

/// A loop at a call path.
struct Place {
    site: &'static Site,
    phase: Phase,
    /// Iterations and ticks while learning.
    learned: (u64, u64),
    /// Those of the attempt that took longest.
    longest: (u64, u64),
    /// Nanoseconds of an iteration as learned.
    each: u64,
    counted: u64,
    /// The timing that is under way.
    inside: Inside,
    attempt: u64,
    /// How often lengths were learned so far: the first times tell which targets run at all.
    attempts: usize,
    /// Nanoseconds of the first iteration, where it was not believed.
    first: u64,
    /// Whether the loop was entered for few iterations and left them to the loops inside, which happens once.
    was_left: bool,
    targets: Vec<Target>,
    /// Iterations of a burst.
    length: u64,
    /// Target, sweep and quantities of the round that are still to come.
    round: (usize, usize, Vec<u32>),
    /// Quantity and time per iteration of the round's bursts so far.
    times: Vec<(u32, f64)>,
    /// The fewest iterations between two readings of the clock in the round so far.
    shortest: f64,
    /// Ticks per iteration without noise, at best: others were interrupted.
    base: f64,
    /// Rounds one after another with a burst that was too brief, and all others.
    brief: u32,
    kept: u32,
    burst: Current,
    started: u64,
}

impl Local {
    /// The state of the thread with this number.
    pub fn new(number: u32, settings: &'static Settings) -> Self {
        Self {
            number,
            settings,
            random: Random::new(settings.seed << 20 | u64::from(number)),
            places: HashMap::new(),
            last: None,
            running: std::ptr::null_mut(),
            scale: clock::rough_scale(),
            cost: cost_of_timing(),
        }
    }

    /// See `poise_noise_begin` and `poise_noise_begin_of`; `left` iterations are to come where that is known.
    pub fn begin(&mut self, site: &'static Site, left: u64) -> Choice {
        let node = thread::current();
        if !self.running.is_null() || node.is_null() {
            return Choice::PLAIN;
        }
        if self.settings.forced.is_some() {
            return self.force(site);
        }
        let key = (site.number(), node as usize);
        let place = match self.last {
            Some((last, place)) if last == key => place,
            _ => self.place(key, site, node),
        };
        self.last = Some((key, place));
        // SAFETY: places are boxed and live as long as the thread's state.
        let place_ref = unsafe { &mut *place };
        let choice = place_ref.choose(self, left);
        if !choice.function.is_null() {
            self.running = place;
            place_ref.started = clock::settled();
        }
        choice
    }

    /// See `poise_noise_end`.
    pub fn end(&mut self, now: u64, ran: &Ran) {
        let place = std::mem::replace(&mut self.running, std::ptr::null_mut());
        // SAFETY: as in `begin`.
        if let Some(place) = unsafe { place.as_mut() } {
            let ticks = now.saturating_sub(place.started);
            place.learn_of(self, ticks, ran);
        }
    }

    fn place(&mut self, key: (u32, usize), site: &'static Site, node: *mut Node) -> *mut Place {
        if !self.places.contains_key(&key) {
            let place = Place::new(site, node, self);
            self.places.insert(key, Box::new(place));
        }
        self.places.get_mut(&key).map_or(std::ptr::null_mut(), |place| std::ptr::from_mut(&mut **place))
    }

    fn nanoseconds(&self, ticks: u64) -> u64 {
        u64::try_from((u128::from(ticks) * u128::from(self.scale)) >> 20).unwrap_or(u64::MAX)
    }

    /// A variant for the whole run, in chunks of all lengths.
    fn force(&mut self, site: &'static Site) -> Choice {
        let Some((mode, k)) = &self.settings.forced else { return Choice::PLAIN };
        // Both at the innermost loop and at the one around it.
        if site.level > 0 && self.random.below(2) == 0 {
            return Choice::PLAIN;
        }
        let variants = site.variants.items();
        let is_wanted = |variant: &&Variant| match k {
            0 => variant.target == NONE,
            _ => variant.k == *k && variant.mode != NONE && site.mode(variant.mode) == mode,
        };
        let fitting: Vec<&Variant> = variants.iter().filter(is_wanted).collect();
        let Some(variant) = fitting.get(self.random.below(fitting.len())) else { return Choice::PLAIN };
        let bits = self.random.below(FORCED_CHUNK + 1);
        Choice { function: variant.function, budget: 1 + self.random.below(1 << bits) as u64 }
    }
}

impl Site {
    /// The site's number in this process; given when it is first reached.
    fn number(&self) -> u32 {
        use std::sync::atomic::Ordering::Relaxed;
        match self.number.load(Relaxed) {
            0 => {
                let new = 1 + super::SITES.fetch_add(1, Relaxed);
                self.number.compare_exchange(0, new, Relaxed, Relaxed).map_or_else(|known| known, |_| new)
            }
            known => known,
        }
    }

    fn module(&self) -> Option<&'static Module> {
        // SAFETY: modules are static objects.
        unsafe { self.module.load(std::sync::atomic::Ordering::Acquire).as_ref() }
    }

    fn mode(&self, mode: u32) -> &'static str {
        self.module().and_then(|module| module.modes.items().get(mode as usize)).map_or("", |&name| text(name))
    }
}

impl Place {
    fn new(site: &'static Site, node: *mut Node, local: &mut Local) -> Self {
        // SAFETY: the node is the thread's current one.
        let path = unsafe { Path::of(node) };
        let mut targets = Vec::new();
        if let Some(module) = site.module().filter(|_| path.is_wanted(&local.settings.callpaths)) {
            let mut numbers: Vec<u32> =
                site.variants.items().iter().map(|variant| variant.target).filter(|&target| target != NONE).collect();
            numbers.dedup();
            for number in numbers {
                if local.settings.wants(&described(&module.loops.items()[number as usize])) {
                    targets.push(Target::new(site, module, number, &path, local));
                }
            }
        }
        targets.retain(|target| !target.sweeps.is_empty());
        let phase = if targets.is_empty() { Phase::Done } else { Phase::Learn };
        Self {
            site,
            phase,
            learned: (0, 0),
            each: 0,
            counted: 0,
            inside: Inside::default(),
            attempts: 0,
            first: 0,
            was_left: false,
            attempt: if site.level > 0 { 1 } else { FIRST_TRY },
            targets,
            length: 0,
            round: (0, 0, Vec::new()),
            times: Vec::new(),
            shortest: f64::INFINITY,
            base: 0.0,
            longest: (0, 0),
            brief: 0,
            kept: 0,
            burst: Current::default(),
            started: 0,
        }
    }

    fn choose(&mut self, local: &mut Local, left: u64) -> Choice {
        match self.phase {
            Phase::Learn if self.site.level > 0 && self.attempts == 0 && left <= FEW_ITERATIONS && !self.was_left => {
                self.was_left = true;
                return Choice::PLAIN;
            }
            Phase::Decline => return Choice::PLAIN,
            Phase::Done => return self.run(self.variant(NONE, NONE, 0), u64::MAX),
            Phase::Learn => {
                let probed = self.probed().map_or(NONE, |index| self.targets[index].number);
                return self.run(self.variant(probed, NONE, 0), self.attempt);
            }
            Phase::Count(index) => {
                let number = self.targets[index].number;
                return self.run(self.variant(number, NONE, 0), self.attempt);
            }
            Phase::Time(index) => {
                let number = self.targets[index].number;
                return self.run(self.variant(number, NONE, 1), (self.attempt / TIMING).max(1));
            }
            Phase::Measure => {}
        }
        if self.burst.warming + self.burst.left == 0 && !self.next(local) {
            self.phase = Phase::Done;
            return self.run(self.variant(NONE, NONE, 0), u64::MAX);
        }
        let budget = if self.burst.warming > 0 { self.burst.warming } else { self.burst.left };
        self.run(Some(self.burst.variant), budget)
    }

    fn variant(&self, target: u32, mode: u32, k: u32) -> Option<usize> {
        self.site.variants.items().iter().position(|v| v.target == target && v.mode == mode && v.k == k)
    }

    fn run(&self, variant: Option<usize>, budget: u64) -> Choice {
        let variant = variant.and_then(|index| self.site.variants.items().get(index));
        variant.map_or(Choice::PLAIN, |variant| Choice { function: variant.function, budget: budget.max(1) })
    }

    /// Begins the next burst; false if all is measured.
    fn next(&mut self, local: &mut Local) -> bool {
        if self.round.2.is_empty() && !self.next_round(local) {
            return false;
        }
        let (target, sweep, ref mut quantities) = self.round;
        let Some(k) = quantities.pop() else { return false };
        let number = self.targets[target].number;
        let mode = self.targets[target].sweeps[sweep].0;
        let variant = if k == 0 { self.variant(NONE, NONE, 0) } else { self.variant(number, mode, k) };
        let Some(variant) = variant else { return false };
        let warming = self.length / WARM;
        self.burst = Current { variant, mode, k, warming, left: self.length, ..Current::default() };
        true
    }

    fn next_round(&mut self, local: &mut Local) -> bool {
        let mut open: Vec<((bool, usize), usize, usize)> = Vec::new();
        for (index, target) in self.targets.iter().enumerate() {
            let sweeps = target.sweeps.iter().enumerate().filter(|(_, (_, sweep))| !sweep.is_done());
            open.extend(sweeps.map(|(place, (_, sweep))| (sweep.turn(), index, place)));
        }
        // Where the run may end too early for all, all are known about equally well.
        let first = open.iter().map(|sweep| sweep.0).min();
        open.retain(|sweep| Some(sweep.0) == first);
        if open.is_empty() {
            return false;
        }
        let (_, target, sweep) = open[local.random.below(open.len())];
        let (mode, next) = &self.targets[target].sweeps[sweep];
        if self.site.mode(*mode) == "memory_ld64" {
            // Made now, not while time counts.
            buffer::stream();
        }
        self.round = (target, sweep, next.round(&mut local.random));
        self.times.clear();
        self.shortest = f64::INFINITY;
        self.targets[target].round += 1;
        true
    }

    /// The variant chosen last ran.
    fn learn_of(&mut self, local: &Local, ticks: u64, ran: &Ran) {
        if let Some(index) = self.probed() {
            self.targets[index].is_idle &= ran.counted == 0;
        }
        let executions = if self.site.level > 0 { ran.iterations } else { u64::from(ran.done) };
        for target in &mut self.targets {
            target.executions += executions;
            target.tell();
        }
        match self.phase {
            Phase::Learn => self.learn_length(local, ticks, ran.iterations),
            Phase::Count(index) => self.learn_share(index, ran.iterations, ran.counted),
            Phase::Time(index) => self.learn_own(local, index, ticks, ran),
            Phase::Measure => self.learn_time(local, ticks, ran.iterations),
            Phase::Decline | Phase::Done => {}
        }
    }

    /// The target whose iterations are counted while lengths are learned: each in turn, inside the loop around them.
    fn probed(&self) -> Option<usize> {
        let is_probed = matches!(self.phase, Phase::Learn) && self.site.level > 0 && self.attempts < self.targets.len();
        is_probed.then_some(self.attempts)
    }

    /// The loops inside choose for themselves from now on, and say of themselves what there is to say.
    fn decline(&mut self) {
        self.targets.drain(..).for_each(|target| target.leave());
        self.phase = Phase::Decline;
    }

    fn learn_length(&mut self, local: &Local, ticks: u64, iterations: u64) {
        self.attempts += 1;
        if self.site.level > 0 && self.attempts == 1 {
            self.attempt = 2;
            self.first = local.nanoseconds(ticks) / iterations.max(1);
            // The loops inside were not measured in it, and it may be the only one: the executions that were seen stay told.
            if self.first > LONGEST_FIRST {
                self.phase = Phase::Decline;
            }
            return;
        }
        self.learned = (self.learned.0 + iterations, self.learned.1 + ticks);
        self.attempt = self.attempt.saturating_mul(2);
        // The attempt that took longest may have been interrupted: the others speak for all.
        if self.longest.1 <= ticks {
            self.longest = (iterations, ticks);
        }
        let others = self.learned.0 - self.longest.0;
        if others == 0 {
            // Iterations that long are the target's, or what is around it is; a single slow one says nothing.
            let each = self.first.min(local.nanoseconds(ticks) / iterations.max(1));
            if self.site.level > 0 && each > LONGEST_ITERATION {
                self.phase = Phase::Decline;
            }
            return;
        }
        self.base = (self.learned.1 - self.longest.1) as f64 / others as f64;
        let time = local.nanoseconds((self.base * self.learned.0 as f64) as u64);
        let each = time / self.learned.0;
        if self.site.level > 0 && each > LONGEST_ITERATION {
            self.phase = Phase::Decline;
        } else if time >= TO_LEARN || self.learned.0 >= MOST_TRIES {
            let length = u128::from(local.settings.burst) * u128::from(self.learned.0) / u128::from(time.max(1));
            let length = u64::try_from(length).unwrap_or(u64::MAX);
            self.length = length.max(MANY.min(length.saturating_mul(PATIENCE))).clamp(1, MOST_TRIES);
            self.attempt = self.length;
            self.each = each;
            self.learned = (0, 0);
            self.phase = if self.site.level > 0 { Phase::Count(0) } else { Phase::Measure };
        }
    }

    fn learn_share(&mut self, index: usize, iterations: u64, counted: u64) {
        self.learned.0 += iterations;
        self.counted += counted;
        if self.learned.0 < self.length {
            return;
        }
        let target = &mut self.targets[index];
        target.share = self.counted as f64 / self.learned.0 as f64;
        target.is_idle = self.counted == 0;
        target.tell();
        (self.learned, self.counted) = ((0, 0), 0);
        self.phase = Phase::Count(index + 1);
        if index + 1 == self.targets.len() {
            let all: f64 = self.targets.iter().map(|target| target.share).sum();
            let (kept, small): (Vec<Target>, Vec<Target>) =
                self.targets.drain(..).partition(|target| target.share > SMALLEST_SHARE * all);
            small.into_iter().for_each(Target::forget);
            self.targets = kept;
            // The pass has no timing variant where the loop's ends are not its own.
            let can_be_timed = self.targets.iter().all(|target| self.variant(target.number, NONE, 1).is_some());
            match self.targets.len() {
                0 => self.phase = Phase::Done,
                1 if !can_be_timed => self.phase = Phase::Measure,
                2.. if !can_be_timed || self.each > LONGEST_SHARED => self.decline(),
                _ => self.phase = Phase::Time(0),
            }
        }
    }

    /// How much of the time the target takes. One at most takes nearly all; without one each is timed apart.
    fn learn_own(&mut self, local: &Local, index: usize, ticks: u64, ran: &Ran) {
        self.learned = (self.learned.0 + ran.iterations, self.learned.1 + ticks);
        self.inside.ticks = self.inside.ticks.wrapping_add(ran.inside.ticks);
        self.inside.executions += ran.inside.executions;
        if self.learned.0 < self.length / TIMING {
            return;
        }
        let ((_, all), Inside { ticks, executions }) =
            (std::mem::take(&mut self.learned), std::mem::take(&mut self.inside));
        let own = ticks.saturating_sub(executions * local.cost.0) as f64;
        let all = all.saturating_sub(executions * local.cost.1) as f64;
        let target = &mut self.targets[index];
        target.own.push(own / all.max(own).max(1.0));
        if target.own.len() < TIMINGS {
            return;
        }
        target.own.sort_by(f64::total_cmp);
        self.phase = Phase::Time(index + 1);
        if index + 1 == self.targets.len() {
            match self.targets.iter().position(|target| target.own[TIMINGS / 2] >= LEAST_OWN) {
                Some(kept) => {
                    let kept = self.targets.swap_remove(kept);
                    self.targets.drain(..).for_each(|target| target.forget());
                    self.targets.push(kept);
                    self.phase = Phase::Measure;
                }
                None => self.decline(),
            }
        }
    }

    fn learn_time(&mut self, local: &Local, ticks: u64, iterations: u64) {
        let burst = &mut self.burst;
        if burst.warming > 0 {
            burst.warming = burst.warming.saturating_sub(iterations);
            return;
        }
        burst.ticks += ticks.saturating_sub(local.cost.0);
        burst.iterations += iterations;
        burst.readings += 1;
        burst.entries += if self.site.level > 0 { iterations } else { 1 };
        burst.left = burst.left.saturating_sub(iterations);
        if burst.left > 0 {
            return;
        }
        let (target, sweep, rest) = &self.round;
        let target = &mut self.targets[*target];
        let each = burst.ticks as f64 / burst.iterations.max(1) as f64;
        if burst.k == 0 {
            self.base = self.base.min(each);
        }
        if burst.readings > 1 {
            self.shortest = self.shortest.min(burst.iterations as f64 / burst.readings as f64);
        }
        // By what they take without noise, so that all quantities are treated alike; and all of a round, since a burst with noise is
        // worth nothing without the one that it is compared with.
        if self.shortest.is_finite() && local.nanoseconds((self.base * self.shortest) as u64) < SHORTEST {
            if let Ok(mut series) = target.series.try_lock() {
                series.take_back(target.round);
            }
            self.brief += 1;
            self.round.2.clear();
            if self.brief >= MOST_BRIEF {
                // What was kept before it was known how fast the loop is is no better.
                if self.kept <= ON_TRIAL {
                    self.targets.iter().for_each(Target::take_back);
                }
                self.phase = Phase::Done;
            }
            return;
        }
        self.times.push((burst.k, each));
        let done = Burst {
            round: target.round,
            mode: burst.mode,
            k: burst.k,
            entries: burst.entries,
            iterations: Some((burst.iterations as f64 * target.share).round() as u64),
            nanoseconds: local.nanoseconds(burst.ticks),
        };
        let has_room = target.series.try_lock().map_or(true, |mut series| series.push(done, MOST_BURSTS));
        if rest.is_empty() {
            self.brief = 0;
            self.kept += 1;
        }
        if rest.is_empty()
            && let Some(&(_, base)) = self.times.iter().find(|(k, _)| *k == 0)
        {
            for &(k, time) in self.times.iter().filter(|(k, _)| *k > 0) {
                target.sweeps[*sweep].1.learn(k, time, base);
            }
            self.length = adapted(self.length, base, local);
        }
        if !has_room {
            self.phase = Phase::Done;
        }
    }
}

/// The length of bursts in iterations, of `ticks` each without noise: iterations that were slow while they were learned,
/// because memory was touched for the first time, may be fast now.
fn adapted(length: u64, ticks: f64, local: &Local) -> u64 {
    let took = local.nanoseconds((ticks * length as f64) as u64);
    let wanted = local.settings.burst * if length < MANY { PATIENCE } else { 1 };
    let adapted = match took {
        took if took < wanted / 3 => length * 2,
        took if took > wanted * 2 => length / 2,
        _ => length,
    };
    adapted.clamp(1, MOST_TRIES)
}

impl Target {
    fn new(site: &'static Site, module: &'static Module, number: u32, path: &Path, local: &Local) -> Self {
        let settings = local.settings;
        let mut quantities: Vec<(u32, Vec<u32>)> = Vec::new();
        for variant in site.variants.items().iter().filter(|v| v.target == number && v.mode != NONE) {
            let is_mode =
                settings.modes.is_empty() || settings.modes.iter().any(|mode| mode == site.mode(variant.mode));
            if !is_mode || !(settings.quantities.is_empty() || settings.quantities.contains(&variant.k)) {
                continue;
            }
            match quantities.iter_mut().find(|(mode, _)| *mode == variant.mode) {
                Some((_, ks)) => ks.push(variant.k),
                None => quantities.push((variant.mode, vec![variant.k])),
            }
        }
        let sweep = |(mode, ks)| (mode, Sweep::new(ks, settings.samples));
        let series = publish(module, number, path, local.number);
        Self {
            number,
            share: 1.0,
            own: Vec::new(),
            executions: 0,
            is_idle: site.level > 0,
            sweeps: quantities.into_iter().map(sweep).collect(),
            series,
            round: 0,
        }
    }

    /// Publishes how often the loop ran. Of one that is not known to have run nothing is said.
    fn tell(&self) {
        if let Ok(mut series) = self.series.try_lock() {
            series.executions = if self.is_idle { 0 } else { self.executions };
        }
    }

    /// None of its bursts counts: all were too brief.
    fn take_back(&self) {
        if let Ok(mut series) = self.series.try_lock() {
            series.take_back_all();
        }
    }

    /// The loop chooses for itself and counts its own executions.
    fn leave(self) {
        if let Ok(mut series) = self.series.try_lock() {
            series.executions = 0;
        }
    }

    /// The loop is not to be measured here, and not because it ran too rarely, which executions without bursts would say.
    fn forget(self) {
        if let Ok(mut series) = self.series.try_lock() {
            series.is_forgotten = true;
        }
    }
}
