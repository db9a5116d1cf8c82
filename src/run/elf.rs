//! What a program's file says of itself before it is started.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use object::{Object as _, ObjectSection as _};

/// Whether `program` is one that nothing can be preloaded into, for want of a dynamic linker, and that does not hold the runtime itself.
pub fn is_out_of_reach(program: &Path) -> bool {
    // Of the others, which may be large and are started on many ranks at once, no more is read than the headers.
    let is_static = File::open(program).ok().and_then(|file| is_static(&file));
    is_static == Some(true) && fs::read(program).is_ok_and(|bytes| !has_runtime(&bytes))
}

/// Whether poise cc, c++ or fc compiled code of `program`, which calls the runtime then. A static one that was stripped has no names, but the
/// runtime itself.
pub fn is_instrumented(program: &Path) -> bool {
    const CALLED: &[u8] = b"poise_enter";
    let is_static = || File::open(program).ok().and_then(|file| is_static(&file)) == Some(true);
    fs::read(program).is_ok_and(|bytes| holds(&bytes, CALLED) || has_runtime(&bytes) && is_static())
}

/// Whether an ELF file of 64 bits names no dynamic linker and is none itself, which has the name of a library; `None` for other files,
/// such as scripts. Places are those of the System V ABI's `Elf64_Ehdr`, `Elf64_Phdr` and `Elf64_Dyn`.
fn is_static(file: &File) -> Option<bool> {
    const DYNAMIC: u32 = 2;
    const INTERPRETER: u32 = 3;
    const NAME_OF_A_LIBRARY: u64 = 14;
    /// Bytes of the three.
    const HEADER: usize = 64;
    const PART: usize = 56;
    const ENTRY: usize = 16;
    /// More than any dynamic section has.
    const MOST: u64 = 1 << 20;
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0).ok()?;
    let short = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let long = |bytes: &[u8], at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    if !header.starts_with(b"\x7fELF\x02\x01") || short(54) != PART {
        return None;
    }
    let mut parts = vec![0; PART * short(56)];
    file.read_exact_at(&mut parts, long(&header, 32)?).ok()?;
    let part = |kind: u32| parts.chunks_exact(PART).find(|part| part.starts_with(&kind.to_le_bytes()));
    if part(INTERPRETER).is_some() {
        return Some(false);
    }
    let Some(dynamic) = part(DYNAMIC) else { return Some(true) };
    let mut entries = vec![0; usize::try_from(long(dynamic, 32)?.min(MOST)).ok()?];
    file.read_exact_at(&mut entries, long(dynamic, 8)?).ok()?;
    Some(!entries.chunks_exact(ENTRY).any(|entry| long(entry, 0) == Some(NAME_OF_A_LIBRARY)))
}

/// Whether the runtime is in the program, which then reads this variable.
fn has_runtime(bytes: &[u8]) -> bool {
    const ASKED_BY: &[u8] = b"POISE_PROFILE";
    holds(bytes, ASKED_BY)
}

/// The compilers that made `program`, in their own words, as they leave them in its section `.comment`; none where it has none.
pub fn compilers(program: &Path) -> Option<String> {
    let content = fs::read(program).ok().filter(|content| content.starts_with(b"\x7fELF"))?;
    let file = object::File::parse(content.as_slice()).ok()?;
    let said = file.section_by_name(".comment")?.data().ok()?;
    let said: BTreeSet<_> =
        said.split(|&byte| byte == 0).map(String::from_utf8_lossy).filter(|text| !text.is_empty()).collect();
    (!said.is_empty()).then(|| Vec::from_iter(said).join("; "))
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}
