//! Machine code that an emulator counted: which functions it belongs to. QEMU's plugin leaves a profile whose functions are
//! addresses; [`resolve`] gives it names, source lines and the shape that profiles of compiled programs have.

pub(crate) mod classes;
pub(crate) mod riscv;
pub(crate) mod sources;
mod sve;
pub(crate) mod symbols;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::rc::Rc;

use poise_profile::{Metric, Place, Profile, RankBuilder, Region, RegionKind};
use symbols::Image;

/// The root that holds what is executed before `main`, after it and in no function of the program.
pub(crate) const OUTSIDE: &str = "(outside main)";
/// The metadata that tells which files the code came from.
const MAPPINGS: &str = "mappings";
/// Functions of a program that its compiler brings, which are no functions to begin a call path with.
const START_UP: [&str; 8] = [
    "_start",
    "_init",
    "_fini",
    "frame_dummy",
    "__do_global_dtors_aux",
    "register_tm_clones",
    "deregister_tm_clones",
    "_dl_relocate_static_pie",
];

/// A function that code was found in, or all code of a file of which nothing more is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Known {
    region: Region,
    /// Address of the first instruction while the program ran; 0 where no function is known.
    start: u64,
    /// Whether it is of a shared library, which is the one that calls the program.
    is_library: bool,
    /// Whether it is a stub that jumps on to another function.
    is_stub: bool,
}

/// A part of a file in memory.
struct Mapping {
    end: u64,
    offset: u64,
    path: String,
}

/// Finds functions by address.
pub(crate) struct Finder {
    mappings: BTreeMap<u64, Mapping>,
    images: HashMap<String, Option<Image>>,
    found: HashMap<u64, Known>,
}

impl Finder {
    /// A finder by the lines of a profile's metadata: first address, address behind the last, position in the file, path.
    fn new(lines: &str) -> Self {
        let mut mappings = BTreeMap::new();
        for line in lines.lines() {
            let mut fields = line.splitn(4, ' ');
            let mut number = || u64::from_str_radix(fields.next()?, 16).ok();
            if let (Some(start), Some(end), Some(offset), Some(path)) = (number(), number(), number(), fields.next()) {
                mappings.insert(start, Mapping { end, offset, path: path.to_owned() });
            }
        }
        Self { mappings, images: HashMap::new(), found: HashMap::new() }
    }

    /// What is known of the code at `address`.
    fn find(&mut self, address: u64) -> Known {
        if let Some(known) = self.found.get(&address) {
            return known.clone();
        }
        let known = self.look(address);
        self.found.insert(address, known.clone());
        known
    }

    fn look(&mut self, address: u64) -> Known {
        let region = |name: String| Region { name, file: String::new(), line: 0, kind: RegionKind::User };
        let unknown = |name: String| Known { region: region(name), start: 0, is_library: false, is_stub: false };
        let Some((start, mapping)) = self.mappings.range(..=address).next_back().filter(|(_, m)| address < m.end)
        else {
            return unknown("(code of no file)".into());
        };
        let image = self.images.entry(mapping.path.clone()).or_insert_with(|| Image::open(Path::new(&mapping.path)));
        let file = mapping.path.rsplit('/').next().unwrap_or_default();
        let is_library = file.contains(".so");
        let nameless = Known { is_library, ..unknown(format!("(code of {file})")) };
        let Some(image) = image else { return nameless };
        let Some(inside) = image.address(address - start + mapping.offset) else { return nameless };
        if image.is_stub(inside) {
            return Known { is_stub: true, ..nameless };
        }
        let Some(function) = image.function(inside) else { return nameless };
        let (file, line) = image.line(function.start).unwrap_or_default();
        let kind = if is_mpi(&function.name) { RegionKind::Mpi } else { RegionKind::Function };
        let region = Region { name: function.name.clone(), file, line, kind };
        Known { region, start: address - (inside - function.start), is_library, is_stub: false }
    }
}

/// Whether a function is an MPI operation.
fn is_mpi(name: &str) -> bool {
    let name = name.strip_prefix('P').unwrap_or(name);
    name.strip_prefix("MPI_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Where a call path of addresses leads.
#[derive(Clone)]
struct Spot {
    known: Known,
    /// Whether the program's own functions have not begun.
    is_outside: bool,
    /// Whether entering it is a visit of the call path.
    is_visit: bool,
    path: Rc<Step>,
}

/// A call path of the new profile, as a list that shares its beginning with others.
struct Step {
    region: Region,
    node: u32,
    above: Option<Rc<Step>>,
}

/// Builds the profile that has names.
struct Resolver {
    finder: Finder,
    builder: RankBuilder,
    spots: Vec<Spot>,
}

impl Resolver {
    /// The node of `region` below `path`, or where it is on the path already. What an MPI operation calls is its own.
    fn below(&mut self, path: Option<&Rc<Step>>, region: &Region) -> Rc<Step> {
        let mut above = path;
        while let Some(step) = above {
            if step.region == *region || step.region.kind == RegionKind::Mpi {
                return Rc::clone(step);
            }
            above = step.above.as_ref();
        }
        let node = self.builder.node(path.map(|p| p.node), region.clone());
        Rc::new(Step { region: region.clone(), node, above: path.cloned() })
    }

    /// Where the call path `entry` below `parent` leads.
    fn spot(&mut self, parent: Option<u32>, entry: u64) -> Spot {
        let known = self.finder.find(entry);
        let above = parent.map(|parent| self.spots[parent as usize].clone());
        match above {
            Some(above) if known.is_stub => Spot { is_visit: false, ..above },
            Some(above) if !above.is_outside => {
                let path = self.below(Some(&above.path), &known.region);
                // What an MPI operation calls visits nothing.
                Spot { is_visit: path.region == known.region, known, is_outside: false, path }
            }
            above => {
                let is_outside = !begins(above.as_ref().map(|a| &a.known), &known);
                let outside = || Region { name: OUTSIDE.into(), file: String::new(), line: 0, kind: RegionKind::User };
                let region = if is_outside { outside() } else { known.region.clone() };
                let path = self.below(None, &region);
                Spot { known, is_outside, is_visit: true, path }
            }
        }
    }

    /// The call path that code at `address` counts for, which ran at `spot`; and whether a function begins there that was
    /// not called but jumped to.
    fn code(&mut self, spot: u32, address: u64) -> (Rc<Step>, bool) {
        let known = self.finder.find(address);
        let spot = self.spots[spot as usize].clone();
        if spot.is_outside || known.is_stub || known.region == spot.known.region {
            return (spot.path, false);
        }
        let path = self.below(Some(&spot.path), &known.region);
        let begins = known.start == address && path.region == known.region;
        (path, begins)
    }

    /// Adds what was counted at a place to the node that it belongs to, which is the result; nothing where it is left out.
    fn add(&mut self, place: &Place, count: u64, visits: u64) -> Option<u32> {
        let Some(code) = &place.code else {
            let spot = &self.spots[place.node as usize];
            if spot.is_visit {
                self.builder.add(spot.path.node, Metric::Visits, visits);
            }
            return spot.is_visit.then_some(spot.path.node);
        };
        let (path, is_jumped_to) = self.code(place.node, code.address);
        if is_jumped_to {
            self.builder.add(path.node, Metric::Visits, count);
        }
        if path.region.kind != RegionKind::Mpi {
            self.builder.add(path.node, Metric::BasicBlocks, if code.ends_block { count } else { 0 });
            self.builder.add(path.node, Metric::Instructions, count.saturating_mul(code.instructions.into()));
        }
        Some(path.node)
    }
}

/// Whether the program's own call paths begin with `known`, called by `caller`.
fn begins(caller: Option<&Known>, known: &Known) -> bool {
    let name = known.region.name.as_str();
    let is_named = known.region.kind != RegionKind::User && !START_UP.contains(&name);
    let is_called_by_library = caller.is_some_and(|c| c.is_library) && !known.is_library;
    name == "main"
        || caller.is_some_and(|c| c.region.name == "start_thread")
        || is_called_by_library && is_named && !known.is_stub
}

/// Whether a program's machine code was counted and nothing in it has a name: its symbols were taken away.
///
/// ```
/// use poise_profile::Profile;
/// assert!(!modeler::machine::has_no_names(&Profile::default())); // nothing was counted
/// ```
#[must_use]
pub fn has_no_names(profile: &Profile) -> bool {
    !profile.regions.is_empty() && profile.regions.iter().all(|region| region.name == OUTSIDE)
}

/// Gives the functions of a profile that QEMU's plugin wrote their names and lines, from the files that the code came from:
/// the same call paths as of a compiled program, from `main` or a thread's first function on. What runs outside is one root,
/// `(outside main)`; functions that are jumped to are called by those that jump; what MPI operations execute inside is left
/// out, since it spins while it waits. A profile without addresses comes back as it is.
///
/// ```
/// use poise_profile::Profile;
/// // There are no addresses in it.
/// assert_eq!(modeler::machine::resolve(Profile::default()).nodes, Profile::default().nodes);
/// ```
#[must_use]
pub fn resolve(raw: Profile) -> Profile {
    let Some(mappings) = raw.metadata.get(MAPPINGS) else { return raw };
    let builder = RankBuilder::new();
    let mut resolver = Resolver { finder: Finder::new(mappings), builder, spots: Vec::new() };
    for node in &raw.nodes {
        let entry = u64::from_str_radix(&raw.regions[node.region as usize].name, 16).unwrap_or(0);
        let spot = resolver.spot(node.parent, entry);
        resolver.spots.push(spot);
    }
    let mut counts: HashMap<u32, (u64, u64)> = HashMap::new();
    for share in raw.phases.timelines.iter().flat_map(|t| &t.bins).flat_map(|bin| &bin.shares) {
        let sums = counts.entry(share.place).or_default();
        *sums = (sums.0.saturating_add(share.count), sums.1.saturating_add(share.visits));
    }
    let mut nodes = Vec::with_capacity(raw.phases.places.len());
    for (number, place) in (0..).zip(&raw.phases.places) {
        let (count, visits) = counts.get(&number).copied().unwrap_or_default();
        nodes.push(resolver.add(place, count, visits));
    }
    let moved: HashMap<&Place, Option<u32>> = raw.phases.places.iter().zip(nodes).collect();
    let phases = raw.phases.relocated(|place| moved[place]);
    let rank = raw.phases.timelines.first().map_or(0, |timeline| timeline.rank);
    let mut metadata = raw.metadata.clone();
    let mappings = metadata.remove(MAPPINGS);
    if !raw.phases.modelled.is_empty() {
        // Lines of single instructions are looked up when they are asked for.
        metadata.extend(mappings.map(|mappings| (sources::FILES.to_owned(), mappings)));
    }
    let resolved = Profile { metadata, phases, ..resolver.builder.finish(rank) };
    resolved.canonical().unwrap_or(resolved)
}
