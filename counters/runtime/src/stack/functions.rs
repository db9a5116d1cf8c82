//! The functions that addresses are in, by the symbol tables of the program's files.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Object as _, ObjectSymbol as _, ObjectSymbolTable as _, SymbolKind};

use super::Frame;
use crate::tree::Region;

/// Regions by name, which live as long as the process: the same for all threads.
static REGIONS: Mutex<Option<HashMap<CString, usize>>> = Mutex::new(None);
/// What compilers append to the name of a function of which they made another.
const VARIANTS: [&str; 5] = [".cold", ".constprop", ".isra", ".part", ".llvm"];

/// The part of a stack that is the program's.
pub struct Part {
    /// The first frame outside MPI.
    pub first: usize,
    /// The functions, outermost first.
    pub regions: Vec<*const Region>,
    /// The frames up to the outermost of them.
    pub last: usize,
}

/// A file in memory.
struct Module {
    path: Vec<u8>,
    start: usize,
}

/// The file in memory that holds `address`.
fn module(address: usize) -> Option<Module> {
    let mut found =
        libc::Dl_info { dli_fname: null(), dli_fbase: null_mut(), dli_sname: null(), dli_saddr: null_mut() };
    // SAFETY: it looks the address up and writes what it found.
    if unsafe { libc::dladdr(address as *const _, &mut found) } == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's name of the file ends with a NUL.
    let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes().to_vec();
    Some(Module { path, start: found.dli_fbase as usize })
}

/// What is known of an address in the program's code.
pub struct Place {
    /// Where the file begins in memory that holds it; 0 where none does.
    start: usize,
    /// Whether that is MPI's.
    is_mpi: bool,
    /// The function, once it was looked for; null for one that is left out.
    function: Option<*const Region>,
}

impl Place {
    fn of(address: usize) -> Self {
        let module = module(address);
        let is_mpi = module.as_ref().is_some_and(|m| file_name(&m.path).starts_with(b"libmpi"));
        Self { start: module.map_or(0, |m| m.start), is_mpi, function: None }
    }
}

/// The call path that `frames` show below `operation`, a constant of the library that stands between the program and MPI.
pub fn path(frames: &[Frame], operation: *const Region, known: &mut HashMap<usize, Place>) -> Part {
    let ours = module(operation as usize).map_or(0, |m| m.start);
    let mut place = |f: &Frame| -> (bool, bool) {
        let place = known.entry(f.address).or_insert_with(|| Place::of(f.address));
        (place.start == ours, place.is_mpi)
    };
    let inside = frames.iter().rposition(|f| place(f).0).map_or(0, |at| at + 1);
    // MPI's Fortran functions call those of C.
    let first = inside + frames[inside..].iter().take_while(|f| place(f).1).count();
    let (mut regions, mut last) = (Vec::new(), first);
    for (at, frame) in frames.iter().enumerate().skip(first) {
        let place = known.entry(frame.address).or_insert_with(|| Place::of(frame.address));
        let region = *place.function.get_or_insert_with(|| function(frame.address));
        // SAFETY: regions and their names live as long as the process.
        let Some(name) = (unsafe { region.as_ref().map(|r| CStr::from_ptr(r.name)) }) else { continue };
        regions.push(region);
        last = at + 1;
        if name == c"main" {
            break;
        }
    }
    regions.reverse();
    Part { first, regions, last }
}

/// The region of the function that is called from before `address`; null for what starts programs and threads.
fn function(address: usize) -> *const Region {
    // A call may be a function's last instruction.
    let address = address - 1;
    let Some(module) = module(address) else { return null() };
    let name = file_name(&module.path);
    if [&b"libc.so"[..], b"libpthread.so", b"ld-linux"].iter().any(|system| name.starts_with(system)) {
        return null();
    }
    // The loader knows the program by the name that it was started with.
    let is_program = !Path::new(OsStr::from_bytes(&module.path)).is_file() || !name.windows(3).any(|w| w == b".so");
    let path = if is_program { Path::new("/proc/self/exe") } else { Path::new(OsStr::from_bytes(&module.path)) };
    let symbol = Mapped::open(path).and_then(|file| symbol(file.bytes(), address, module.start));
    let unknown = || [name, format!("+{:#x}", address + 1 - module.start).as_bytes()].concat();
    match symbol.unwrap_or_else(unknown) {
        start if start == b"_start" => null(),
        name => region(&name),
    }
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// The name of the function at `address` of a file that begins at `start` in memory.
fn symbol(bytes: &[u8], address: usize, start: usize) -> Option<Vec<u8>> {
    let file: ElfFile64 = ElfFile64::parse(bytes).ok()?;
    let endian = file.endian();
    let loaded = file.elf_program_headers().iter().filter(|header| header.p_type(endian) == object::elf::PT_LOAD);
    let first = loaded.map(|header| header.p_vaddr(endian) & !0xfff).min()?;
    let wanted = (address - start) as u64 + first;
    let table = file.symbol_table().filter(|table| table.symbols().next().is_some()).or(file.dynamic_symbol_table())?;
    let holds = |s: &object::read::elf::ElfSymbol64| {
        s.kind() == SymbolKind::Text && (s.address()..s.address() + s.size()).contains(&wanted)
    };
    let name = table.symbols().find(holds)?.name_bytes().ok()?.to_vec();
    let text = String::from_utf8_lossy(&name);
    let end = VARIANTS.iter().filter_map(|variant| text.find(variant)).min().unwrap_or(text.len());
    Some(text[..end].as_bytes().to_vec())
}

/// The region of the function `name`, the same one each time.
fn region(name: &[u8]) -> *const Region {
    let Ok(name) = CString::new(name) else { return null() };
    let mut regions = REGIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let made = regions.get_or_insert_default().entry(name).or_insert_with_key(|name| {
        let name = Box::leak(name.clone().into_boxed_c_str());
        let region = Region { name: name.as_ptr(), file: null(), line: 0, kind: 0 };
        Box::into_raw(Box::new(region)) as usize
    });
    *made as *const Region
}

/// A file's bytes, mapped as long as the value lives.
struct Mapped {
    address: *mut libc::c_void,
    length: usize,
}

impl Mapped {
    fn open(path: &Path) -> Option<Self> {
        use std::os::fd::AsRawFd as _;
        let file = File::open(path).ok()?;
        let length = usize::try_from(file.metadata().ok()?.len()).ok()?;
        // SAFETY: a new mapping of a file that is open.
        let address =
            unsafe { libc::mmap(null_mut(), length, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        (address != libc::MAP_FAILED).then_some(Self { address, length })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable; programs and libraries that run are not made shorter, as that would end them too.
        unsafe { std::slice::from_raw_parts(self.address.cast(), self.length) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nothing refers to it any more.
        unsafe { libc::munmap(self.address, self.length) };
    }
}
