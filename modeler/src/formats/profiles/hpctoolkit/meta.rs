//! `meta.db`: which metrics there are and the tree of contexts.
//!
//! Functions and loops of the tree become nodes of the call tree; source lines and instructions count for the function
//! or loop that they are in, and whatever an MPI operation calls for that operation.

use std::collections::HashMap;
use std::path::Path;

use super::super::profile::Profile;
use super::view::View;
use crate::formats::error::ReadError;

/// A metric and the numbers under which `profile.db` holds its values.
#[derive(Clone, Debug, Default)]
pub(super) struct Metric {
    /// The name as measured, such as `CPUTIME (sec)`.
    pub name: String,
    /// Values as measured, of each context alone.
    pub point: Option<u16>,
    /// Values with those of all contexts below.
    pub execution: Option<u16>,
}

/// A context: whose call path it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    /// The profile's node.
    pub node: u32,
    /// The node of the context around it, where this one begins a node.
    pub begins_below: Option<Option<u32>>,
}

/// What a database says of itself.
pub(super) struct Meta {
    pub metrics: Vec<Metric>,
    /// Contexts by their number.
    pub contexts: HashMap<u32, Context>,
    /// Which kind of an identifier is that of ranks.
    pub rank_kind: Option<u8>,
}

/// Where each section's pointer stands in the header.
const IDENTIFIERS: u64 = 1;
const METRICS: u64 = 2;
const CONTEXTS: u64 = 3;

/// Reads `meta.db`; nodes are added to `profile`.
pub(super) fn read(view: &View, profile: &mut Profile) -> Result<Meta, ReadError> {
    let mut tree = Tree { view, profile, contexts: HashMap::new(), functions: HashMap::new() };
    tree.read()?;
    let contexts = tree.contexts;
    Ok(Meta { metrics: metrics(view)?, contexts, rank_kind: rank_kind(view)? })
}

fn rank_kind(view: &View) -> Result<Option<u8>, ReadError> {
    let section = view.section(IDENTIFIERS)?;
    let kinds = view.u8(section + 8)?;
    for (kind, at) in (0..kinds).zip(view.items(view.pointer(section)?, kinds.into(), 8)?) {
        if view.text(at)? == "RANK" {
            return Ok(Some(kind));
        }
    }
    Ok(None)
}

fn metrics(view: &View) -> Result<Vec<Metric>, ReadError> {
    /// The two scopes whose values are read, as their type says it.
    const POINT: u8 = 1;
    const EXECUTION: u8 = 2;
    let section = view.section(METRICS)?;
    let (count, stride) = (view.u32(section + 8)?, view.u8(section + 12)?);
    let instance_stride = u64::from(view.u8(section + 13)?);
    let mut metrics = Vec::new();
    for at in view.items(view.pointer(section)?, count.into(), stride.into())? {
        let mut metric = Metric { name: view.text(at)?, ..Metric::default() };
        for instance in view.items(view.pointer(at + 8)?, view.u16(at + 0x18)?.into(), instance_stride)? {
            let number = view.u16(instance + 8)?;
            match view.u8(view.pointer(instance)? + 8)? {
                POINT => metric.point = Some(number),
                EXECUTION => metric.execution = Some(number),
                _ => {}
            }
        }
        metrics.push(metric);
    }
    Ok(metrics)
}

/// The context tree while it is read.
struct Tree<'a> {
    view: &'a View<'a>,
    profile: &'a mut Profile,
    contexts: HashMap<u32, Context>,
    /// Names of functions by where they stand.
    functions: HashMap<u64, String>,
}

/// Contexts that are still to be read: the bytes from `at` to `end`, below the node `node`.
struct Pending {
    at: u64,
    end: u64,
    node: u32,
    /// Whether they are inside an MPI operation.
    in_mpi: bool,
}

/// What stands in a context's `flex`.
#[derive(Default)]
struct Lexical {
    function: Option<u64>,
    source: Option<(u64, u32)>,
    point: Option<(u64, u64)>,
}

impl Tree<'_> {
    fn read(&mut self) -> Result<(), ReadError> {
        let view = self.view;
        let section = view.section(CONTEXTS)?;
        let (count, stride) = (view.u16(section + 8)?, view.u8(section + 10)?);
        let mut pending = Vec::new();
        for at in view.items(view.pointer(section)?, count.into(), stride.into())? {
            let name = view.text(at + 0x18)?;
            let node = self.profile.node(None, if name.is_empty() { "unknown entry" } else { &name });
            self.add(at + 0x10, Context { node, begins_below: Some(None) })?;
            pending.extend(self.children(at, node, false)?);
        }
        while let Some(mut siblings) = pending.pop() {
            if siblings.at >= siblings.end {
                continue;
            }
            let at = siblings.at;
            siblings.at += 0x20 + 8 * u64::from(view.u8(at + 0x17)?);
            let (node, in_mpi) = self.context(at, &siblings)?;
            pending.push(siblings);
            pending.extend(self.children(at, node, in_mpi)?);
        }
        Ok(())
    }

    /// Notes the context whose number stands at `at`. No number occurs twice, so that no damaged file is endless.
    fn add(&mut self, at: u64, context: Context) -> Result<(), ReadError> {
        match self.contexts.insert(self.view.u32(at)?, context) {
            None => Ok(()),
            Some(_) => Err(self.view.wrong(at, "a context's number occurs twice in the tree")),
        }
    }

    fn children(&self, at: u64, node: u32, in_mpi: bool) -> Result<Option<Pending>, ReadError> {
        let (size, start) = (self.view.u64(at)?, self.view.pointer(at + 8)?);
        if start == 0 || size == 0 {
            return Ok(None);
        }
        Ok(Some(Pending { at: start, end: self.view.end(start, size, 1)?, node, in_mpi }))
    }

    /// Reads the context at `at`: the node that it counts for, and whether that is an MPI operation.
    fn context(&mut self, at: u64, siblings: &Pending) -> Result<(u32, bool), ReadError> {
        const FUNCTION: u8 = 0;
        const LOOP: u8 = 1;
        let parent = siblings.node;
        let lexical = self.lexical(at)?;
        let name = match self.view.u8(at + 0x16)? {
            FUNCTION if !siblings.in_mpi => self.function(&lexical)?,
            LOOP if !siblings.in_mpi => format!("loop {}", self.place(&lexical)?),
            _ => {
                self.add(at + 0x10, Context { node: parent, begins_below: None })?;
                return Ok((parent, siblings.in_mpi));
            }
        };
        let node = self.profile.node(Some(parent), &name);
        self.add(at + 0x10, Context { node, begins_below: Some(Some(parent)) })?;
        Ok((node, name.starts_with("MPI_")))
    }

    /// Fields are packed into words of eight bytes in a fixed order; the line of a source takes half a word, which the
    /// next number of 32 bits could share and none does.
    fn lexical(&self, at: u64) -> Result<Lexical, ReadError> {
        let (flags, words) = (self.view.u8(at + 0x14)?, u64::from(self.view.u8(at + 0x17)?));
        let sizes = [(1, 1), (2, 2), (4, 2)];
        let needed: u64 = sizes.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, words)| words).sum();
        if needed > words {
            return Err(self.view.wrong(at, format!("a context has {words} words where its flags need {needed}")));
        }
        let mut next = at + 0x20;
        let mut lexical = Lexical::default();
        if flags & 1 != 0 {
            lexical.function = Some(self.view.pointer(next)?);
            next += 8;
        }
        if flags & 2 != 0 {
            lexical.source = Some((self.view.pointer(next)?, self.view.u32(next + 8)?));
            next += 16;
        }
        if flags & 4 != 0 {
            lexical.point = Some((self.view.pointer(next)?, self.view.u64(next + 8)?));
        }
        Ok(lexical)
    }

    /// The name of a function; MPI operations are named as in MPI, whichever entry into the library was called.
    fn function(&mut self, lexical: &Lexical) -> Result<String, ReadError> {
        let Some(at) = lexical.function else { return Ok(format!("function {}", self.place(lexical)?)) };
        if let Some(known) = self.functions.get(&at) {
            return Ok(known.clone());
        }
        let view = self.view;
        let mut name = view.text(at)?;
        if name.is_empty() {
            let module = Some(view.pointer(at + 8)?).filter(|&m| m != 0);
            let file = Some(view.pointer(at + 0x18)?).filter(|&f| f != 0);
            let lexical = Lexical {
                source: file.map(|file| Ok((file, view.u32(at + 0x20)?))).transpose()?,
                point: module.map(|module| Ok((module, view.u64(at + 0x10)?))).transpose()?,
                ..Lexical::default()
            };
            name = format!("function {}", self.place(&lexical)?);
        }
        if name.starts_with("PMPI_") {
            name.remove(0);
        }
        // The library's name follows where nothing is known of the source.
        if let (true, Some((operation, _))) = (name.starts_with("MPI_"), name.split_once(" [")) {
            name = operation.to_owned();
        }
        self.functions.insert(at, name.clone());
        Ok(name)
    }

    /// `at file.c:12`, or `at libfoo.so+0x1234`; without folders, so that it is the same wherever the program was built.
    fn place(&self, lexical: &Lexical) -> Result<String, ReadError> {
        let file_name = |at: u64| {
            let path = self.view.text(at + 8)?;
            Ok::<_, ReadError>(Path::new(&path).file_name().map_or(path.clone(), |n| n.to_string_lossy().into_owned()))
        };
        match (lexical.source, lexical.point) {
            // Where no line is known, the file stands for the library.
            (Some((file, 0)), _) if file != 0 => Ok(format!("in {}", file_name(file)?)),
            (Some((file, line)), _) if file != 0 => Ok(format!("at {}:{line}", file_name(file)?)),
            (_, Some((module, offset))) if module != 0 => Ok(format!("at {}+{offset:#x}", file_name(module)?)),
            _ => Ok("at an unknown place".to_owned()),
        }
    }
}
