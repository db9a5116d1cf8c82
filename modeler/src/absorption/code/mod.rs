//! The machine code of a program's loops and of their variants with noise: how much of each variant is noise, and what else
//! came with it.
//!
//! The pass gives every variant of a loop a function of its own, `solve.noise.0.fp_add64.8` for loop 0 of `solve`, and
//! `solve.noise.0.plain` without noise. They are read from the final binary, so that what the compiler's back end did to
//! them counts too.

pub(crate) mod a64;
pub(crate) mod cycle;
pub(crate) mod recurrence;
pub(crate) mod x86;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use object::{Architecture, Object, ObjectSection, ObjectSymbol};
use poise_profile::Loop;

use super::{Code, Injected};
use recurrence::{Dataflow, Recurrence};

/// Where an instruction may continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Behind itself; calls come back.
    Next,
    /// At this address.
    Jump(u64),
    /// At this address or behind itself.
    Branch(u64),
    /// Nowhere that can be seen.
    Stop,
}

/// What an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    None,
    /// The function's own frame.
    Stack,
    /// Memory elsewhere.
    Memory,
}

/// One decoded instruction.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Where it is.
    pub address: u64,
    /// Where it may continue.
    pub flow: Flow,
    /// What it accesses.
    pub access: Access,
    /// Its operation and the kind of its memory operand; the same for all patterns of one mode.
    pub key: String,
}

/// Where a function's code is.
#[derive(Clone, Copy, Debug)]
struct Place {
    address: u64,
    start: usize,
    length: usize,
}

/// A program whose loops carry noise.
///
/// ```
/// use modeler::absorption::code::Binary;
/// let loops = Binary::among(&["mpirun", "./app"]); // no file of these names has loops that carry noise
/// assert!(loops.is_empty());
/// ```
pub struct Binary {
    content: Vec<u8>,
    architecture: Architecture,
    /// By function and number of the loop, then by variant: `plain`, or `mode.k`.
    loops: BTreeMap<(String, u32), BTreeMap<String, Vec<Place>>>,
}

impl Binary {
    /// Reads the program at `path`; `None` if it is no ELF file with loops that carry noise, or stripped of its symbols.
    #[must_use]
    pub(crate) fn open(path: &Path) -> Option<Self> {
        Self::parse(fs::read(path).ok()?)
    }

    /// The programs among the words of a command.
    ///
    /// ```
    /// use modeler::absorption::code::Binary;
    /// # let folder = tempfile::tempdir()?;
    /// let script = folder.path().join("app.sh");
    /// std::fs::write(&script, "#!/bin/sh\n")?;
    /// assert!(Binary::among(&["sh", &script.display().to_string()]).is_empty()); // it is no ELF file
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn among<S: AsRef<str>>(command: &[S]) -> Vec<Self> {
        let paths = command.iter().map(|word| Path::new(word.as_ref()));
        paths.filter(|path| path.is_file()).filter_map(Self::open).collect()
    }

    /// As [`Binary::open`], of a file's content.
    #[must_use]
    pub(crate) fn parse(content: Vec<u8>) -> Option<Self> {
        let file = object::File::parse(content.as_slice()).ok()?;
        let architecture = file.architecture();
        let mut loops: BTreeMap<(String, u32), BTreeMap<String, Vec<Place>>> = BTreeMap::new();
        for symbol in file.symbols().filter(|s| s.is_definition() && s.size() > 0) {
            let Some((key, variant)) = symbol.name().ok().and_then(named) else { continue };
            let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
            let Some((offset, size)) = section.as_ref().and_then(ObjectSection::file_range) else { continue };
            let base = section.map_or(0, |s| s.address());
            let Some(within) = symbol.address().checked_sub(base).filter(|w| w + symbol.size() <= size) else {
                continue;
            };
            let place =
                Place { address: symbol.address(), start: (offset + within) as usize, length: symbol.size() as usize };
            loops.entry(key).or_default().entry(variant).or_default().push(place);
        }
        (!loops.is_empty()).then_some(Self { architecture, loops, content })
    }

    /// The machine code of `target` and of its variants; `None` where the program does not hold it, or several that differ.
    ///
    /// ```
    /// use modeler::absorption::{Code, code::Binary};
    /// /// Of a loop of a profile, the code of the program that ran it.
    /// fn code(programs: &[Binary], target: &poise_profile::Loop) -> Option<Code> {
    ///     programs.iter().find_map(|program| program.code(target))
    /// }
    /// # let target = poise_profile::Loop { function: "f".into(), file: String::new(), line: 0, id: 0, width: 1, refusal: String::new() };
    /// assert_eq!(code(&[], &target), None);
    /// ```
    #[must_use]
    pub fn code(&self, target: &Loop) -> Option<Code> {
        let variants = self.loops.get(&(target.function.clone(), target.id))?;
        let body = |variant: &str| self.body(variants.get(variant)?);
        let loops = body("plain")?;
        let plain = Counts::of(&loops);
        let mut by_mode: BTreeMap<&str, Vec<(u32, Counts)>> = BTreeMap::new();
        for name in variants.keys() {
            let Some((mode, k)) = name.rsplit_once('.') else { continue };
            let (Ok(k), Some(steps)) = (k.parse(), body(name)) else { continue };
            by_mode.entry(mode).or_default().push((k, Counts::of(&steps)));
        }
        let mut injected = BTreeMap::new();
        for (mode, counts) in by_mode {
            let Some(pattern) = counts.iter().max_by_key(|(k, _)| *k).and_then(|(_, most)| most.grown(&plain)) else {
                continue;
            };
            injected.extend(counts.iter().map(|(k, c)| ((mode.to_owned(), *k), c.beside(&plain, &pattern))));
        }
        let recurrence = self.recurrence(*variants.get("plain")?.first()?, &loops);
        let Counts { total, memory, stack, .. } = plain;
        Some(Code { instructions: total, accesses: memory, frame: stack, recurrence, variants: injected })
    }

    /// How the iterations of the loop that these instructions of a function are wait for each other.
    fn recurrence(&self, place: Place, body: &[Step]) -> Option<Recurrence> {
        let code = self.content.get(place.start..place.start + place.length)?;
        let (steps, flow) = match self.architecture {
            Architecture::X86_64 => (x86::decode(code, place.address), x86::dataflow(code, place.address)),
            _ => (a64::decode(code, place.address), a64::dataflow(code, place.address)),
        };
        let inside = |step: &Step| body.binary_search_by_key(&step.address, |step| step.address).is_ok();
        let body: BTreeSet<usize> = (0..steps.len()).filter(|&i| inside(&steps[i])).collect();
        let each = cycle::executed_each_time(&cycle::successors(&steps), &body)?;
        let flow = flow.into_iter().enumerate().filter(|(i, _)| body.contains(i));
        let flow = flow.map(|(i, flow)| Dataflow { is_conditional: !each.contains(&i), ..flow }).collect();
        Recurrence::of(flow)
    }

    /// The instructions of the loop that a variant's function is.
    fn body(&self, places: &[Place]) -> Option<Vec<Step>> {
        let (first, others) = places.split_first()?;
        let code = |place: &Place| self.content.get(place.start..place.start + place.length);
        // A function of a header has copies in several files, of which one is used; they must be alike.
        if others.iter().any(|other| other.length != first.length) {
            return None;
        }
        let steps = match self.architecture {
            Architecture::X86_64 => x86::decode(code(first)?, first.address),
            Architecture::Aarch64 => a64::decode(code(first)?, first.address),
            _ => return None,
        };
        cycle::largest(steps)
    }
}

/// Function, loop and variant of a symbol such as `solve.noise.0.fp_add64.8`.
fn named(symbol: &str) -> Option<((String, u32), String)> {
    let (function, rest) = symbol.rsplit_once(".noise.")?;
    let (id, variant) = rest.split_once('.')?;
    Some(((function.to_owned(), id.parse().ok()?), variant.to_owned()))
}

/// What a loop's body consists of.
#[derive(Default)]
struct Counts {
    total: u32,
    memory: u32,
    stack: u32,
    by_key: BTreeMap<(String, bool), u32>,
}

impl Counts {
    fn of(steps: &[Step]) -> Self {
        let mut counts = Self::default();
        for step in steps {
            let stack = step.access == Access::Stack;
            counts.total += 1;
            counts.memory += u32::from(step.access == Access::Memory);
            counts.stack += u32::from(stack);
            *counts.by_key.entry((step.key.clone(), stack)).or_insert(0) += 1;
        }
        counts
    }

    /// How many more instructions of this kind than in `plain`.
    fn more(&self, plain: &Self, key: &(String, bool)) -> u32 {
        let count = |counts: &Self| counts.by_key.get(key).copied().unwrap_or(0);
        count(self).saturating_sub(count(plain))
    }

    /// The kind of instruction that there is most more of than in `plain`: the pattern of the noise.
    fn grown(&self, plain: &Self) -> Option<(String, bool)> {
        self.by_key.keys().max_by_key(|key| self.more(plain, key)).filter(|key| self.more(plain, key) > 0).cloned()
    }

    /// What this variant has beside `plain`, if `pattern` is its noise.
    fn beside(&self, plain: &Self, pattern: &(String, bool)) -> Injected {
        let payload = self.more(plain, pattern);
        let on_stack = if pattern.1 { payload } else { 0 };
        Injected {
            payload,
            overhead: self.total.saturating_sub(plain.total + payload),
            spills: self.stack.saturating_sub(plain.stack + on_stack),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// A program with one loop, whose variants are these.
    fn binary(architecture: Architecture, variants: &[(&str, &str)]) -> Binary {
        let (mut content, mut places) = (Vec::new(), BTreeMap::new());
        for (name, hex) in variants {
            let code = bytes(hex);
            let place = Place { address: 0x1000 + content.len() as u64, start: content.len(), length: code.len() };
            content.extend(code);
            places.insert((*name).to_owned(), vec![place]);
        }
        Binary { content, architecture, loops: BTreeMap::from([(("solve".to_owned(), 0), places)]) }
    }

    fn solve() -> Loop {
        Loop { function: "solve".into(), file: String::new(), line: 0, id: 0, width: 0, refusal: String::new() }
    }

    /// `xor; 1: movsd; vaddsd; inc; cmp; jne 1b; ret` as LLVM assembles it, and with a `vxorps`, three `vaddsd` and a spill
    /// with its reload in the loop.
    #[test]
    fn x86_variants_are_counted() {
        let plain = "31c9f20f1004cfc5f358c848ffc14839ce75efc3";
        let noisy = "31c9f20f1004cfc5e057dbc5e358d3c5e358d3c5e358d34889442410c5f358c8488b44241048ffc14839ce75d5c3";
        let code = binary(Architecture::X86_64, &[("plain", plain), ("fp_add64.3", noisy)]).code(&solve()).unwrap();
        assert_eq!((code.instructions, code.accesses), (5, 1));
        let counted = Injected { payload: 3, overhead: 3, spills: 2 };
        assert_eq!(code.variants, BTreeMap::from([(("fp_add64".to_owned(), 3), counted)]));
    }

    /// `mov; 1: ldr; fadd; add; cmp; b.ne 1b; ret`, and with two `fadd` and a spill with its reload.
    #[test]
    fn aarch64_variants_are_counted() {
        let plain = "e8031faa017868fc0028611e080500911f0101eb81ffff54c0035fd6";
        let noisy = "e8031faa017868fc6228631e6228631ee90b00f90028611ee90b40f9080500911f0101eb01ffff54c0035fd6";
        let code = binary(Architecture::Aarch64, &[("plain", plain), ("fp_add64.2", noisy)]).code(&solve()).unwrap();
        assert_eq!((code.instructions, code.accesses), (5, 1));
        let counted = Injected { payload: 2, overhead: 2, spills: 2 };
        assert_eq!(code.variants, BTreeMap::from([(("fp_add64".to_owned(), 2), counted)]));
    }

    /// `1: movq (%rax), %rax; testq; jne 2f; movq (%rdi,%rcx,8), %rax; incq %rcx; 2: decq %rdx; jne 1b; retq` follows pointers, though not from one list to
    /// the next; how often the inner loop of `1: movq (%rdi,%rcx,8), %rax; 2: movq (%rax), %rax; testq; jne 2b; incq; decq; jne 1b; retq` goes round nobody knows.
    #[test]
    fn what_some_iterations_leave_out_ends_no_chain() {
        let of = |hex: &str| binary(Architecture::X86_64, &[("plain", hex)]).code(&solve()).unwrap().recurrence;
        assert_eq!(of("488b004885c07507488b04cf48ffc148ffca75ecc3").map(|r| r.is_chase), Some(true));
        assert_eq!(of("488b04cf488b004885c075f848ffc148ffca75ecc3"), None);
    }

    #[test]
    fn copies_that_differ_say_nothing() {
        let mut binary = binary(Architecture::X86_64, &[("plain", "31c9f20f1004cfc5f358c848ffc14839ce75efc3")]);
        let plain = binary.loops.values_mut().next().unwrap().get_mut("plain").unwrap();
        plain.push(Place { length: 3, ..plain[0] });
        assert_eq!(binary.code(&solve()), None);
        assert!(Binary::parse(b"#!/bin/sh\n".to_vec()).is_none());
    }

    #[test]
    fn variants_are_known_by_their_symbols() {
        let known = |symbol: &str| named(symbol).map(|((function, id), variant)| (function, id, variant));
        assert_eq!(known("solve.noise.0.fp_add64.8"), Some(("solve".into(), 0, "fp_add64.8".into())));
        assert_eq!(known("_ZN1a1bEv.noise.12.plain"), Some(("_ZN1a1bEv".into(), 12, "plain".into())));
        assert_eq!(known("solve.noise.outer.0.plain"), None);
        assert_eq!(known("solve"), None);
    }
}
