//! The functions that addresses are in, by the symbol tables of the program's files.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

use object::read::ReadCache;
use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _, ObjectSymbolTable as _, SymbolKind};

use super::Frame;
use crate::tree::Region;

/// Regions by name, which live as long as the process: the same for all threads.
static REGIONS: Mutex<Option<HashMap<CString, usize>>> = Mutex::new(None);
/// What compilers append to the name of a function of which they made another.
const VARIANTS: [&str; 6] = [".cold", ".constprop", ".isra", ".part", ".llvm", ".poise"];

/// What follows `libmpi` in the names of MPI's libraries: Open MPI's, MPICH's and those made of them.
const MPI: [&str; 9] = [".so", "ch.so", "chfort", "fort", "cxx", "_cxx", "_mpifh", "_usempi", "_cray"];
/// Beginnings of the names of libraries that start programs and threads.
const SYSTEM: [&[u8]; 6] = [b"libc.so", b"libpthread.so", b"ld-linux", b"libgomp.so", b"libomp.so", b"libiomp5.so"];

/// The part of a stack that is the program's.
pub struct Part {
    /// The frame that called the library between the program and MPI: the program's, or one of MPI's for Fortran.
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
        let is_mpi = module.as_ref().is_some_and(|m| is_mpi(file_name(&m.path)));
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
    let first = frames.iter().rposition(|f| place(f).0).map_or(0, |at| at + 1);
    // MPI's Fortran functions call those of C.
    let outside = first + frames[first..].iter().take_while(|f| place(f).1).count();
    let (mut regions, mut last) = (Vec::new(), outside);
    for (at, frame) in frames.iter().enumerate().skip(outside) {
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

/// The region of the function that is called from before `address`; null for what starts programs and threads, and for
/// this library.
fn function(address: usize) -> *const Region {
    // A call may be a function's last instruction.
    let address = address - 1;
    let Some(module) = module(address) else { return null() };
    let (name, is_program) = (file_name(&module.path), module.start == program());
    let is_own = !is_program && module.start == self::module(function as *const () as usize).map_or(0, |m| m.start);
    if is_own || SYSTEM.iter().any(|system| name.starts_with(system)) {
        return null();
    }
    // The loader knows the program by the name that it was started with, which may be no path from here.
    let path = if is_program { Path::new("/proc/self/exe") } else { Path::new(OsStr::from_bytes(&module.path)) };
    let symbol = File::open(path).ok().and_then(|file| symbol(file, address, module.start));
    let unknown = || [name, format!("+{:#x}", address + 1 - module.start).as_bytes()].concat();
    match symbol.unwrap_or_else(unknown) {
        name if name == b"_start" || is_program && name.starts_with(b"poise_") => null(),
        name => region(&name),
    }
}

/// Where the program itself begins in memory.
fn program() -> usize {
    // SAFETY: it gives a number that the kernel passed.
    module(unsafe { libc::getauxval(libc::AT_PHDR) } as usize).map_or(0, |m| m.start)
}

fn is_mpi(name: &[u8]) -> bool {
    name.strip_prefix(b"libmpi").is_some_and(|rest| MPI.iter().any(|mpi| rest.starts_with(mpi.as_bytes())))
}

/// How many libraries have gone so far, whose addresses others may have now.
pub fn gone() -> u64 {
    extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, gone: *mut libc::c_void) -> i32 {
        // SAFETY: the loader gives a description, and what `gone` gave it.
        unsafe { *gone.cast::<u64>() = (*info).dlpi_subs };
        1
    }
    let mut gone = 0_u64;
    // SAFETY: the function writes the number and asks for no more.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut gone).cast()) };
    gone
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// The name of the function at `address` of a file that begins at `start` in memory. Only what tells names is read of it.
fn symbol(file: File, address: usize, start: usize) -> Option<Vec<u8>> {
    let parts = ReadCache::new(file);
    let file: ElfFile64<Endianness, &ReadCache<File>> = ElfFile64::parse(&parts).ok()?;
    let endian = file.endian();
    let loaded = file.elf_program_headers().iter().filter(|header| header.p_type(endian) == object::elf::PT_LOAD);
    let first = loaded.map(|header| header.p_vaddr(endian) & !0xfff).min()?;
    let wanted = (address - start) as u64 + first;
    let table = file.symbol_table().filter(|table| table.symbols().next().is_some()).or(file.dynamic_symbol_table())?;
    let mut functions = table.symbols().filter(|s| s.kind() == SymbolKind::Text);
    let name = functions.find(|s| wanted.wrapping_sub(s.address()) < s.size())?.name_bytes().ok()?.to_vec();
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
        let region = Region { name: name.as_ptr(), file: null(), line: 0, kind: 0, flags: 0 };
        Box::into_raw(Box::new(region)) as usize
    });
    *made as *const Region
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_mpi_are_told_from_those_that_use_it() {
        let of_mpi = ["libmpi.so.40", "libmpich.so.12", "libmpichfort.so.12", "libmpi_mpifh.so.40", "libmpifort.so"];
        assert!(of_mpi.iter().all(|name| is_mpi(name.as_bytes())));
        assert!(!["libmpihelpers.so", "libmpi_solver.so", "mpi.so"].iter().any(|name| is_mpi(name.as_bytes())));
    }
}
