//! What an executable or a shared library says of its own code: functions by address, and their source lines.

use std::cmp::Reverse;
use std::path::Path;

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

/// A function of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Name as the linker knows it.
    pub name: String,
    /// Address of its first instruction, as the object says it.
    pub start: u64,
    end: u64,
}

/// Reads DWARF from memory of its own.
type Reader = gimli::EndianRcSlice<gimli::RunTimeEndian>;

/// An executable or shared library.
pub struct Image {
    /// Position in the file, length, address.
    segments: Vec<(u64, u64, u64)>,
    /// By start.
    functions: Vec<Function>,
    /// Where stubs are that jump on to functions of other objects.
    stubs: Vec<std::ops::Range<u64>>,
    lines: Option<addr2line::Context<Reader>>,
}

impl Image {
    /// Reads the object at `path`; `None` where there is none that can be read.
    pub fn open(path: &Path) -> Option<Self> {
        let content = std::fs::read(path).ok()?;
        let file = object::File::parse(content.as_slice()).ok()?;
        let segment = |s: object::Segment| (s.file_range().0, s.file_range().1, s.address());
        let sections: Vec<_> = file.sections().collect();
        let is_stub = |s: &&object::Section| s.name().is_ok_and(|name| name.starts_with(".plt") || name == ".iplt");
        let stubs = sections.iter().filter(is_stub).map(|s| s.address()..s.address() + s.size()).collect();
        Some(Self {
            segments: file.segments().map(segment).collect(),
            functions: functions(&file),
            stubs,
            lines: lines(&file),
        })
    }

    /// The address, as the object says it, of what is at `offset` in the file.
    pub fn address(&self, offset: u64) -> Option<u64> {
        let within = |&&(start, length, _): &&(u64, u64, u64)| (start..start + length).contains(&offset);
        self.segments.iter().find(within).map(|(start, _, address)| offset - start + address)
    }

    /// The function whose code is at `address`.
    pub fn function(&self, address: u64) -> Option<&Function> {
        let behind = self.functions.partition_point(|f| f.start <= address);
        self.functions[..behind].last().filter(|f| address < f.end)
    }

    /// Whether `address` is in a stub that jumps on to a function of another object.
    pub fn is_stub(&self, address: u64) -> bool {
        self.stubs.iter().any(|stub| stub.contains(&address))
    }

    /// Source file and line of an address.
    pub fn line(&self, address: u64) -> Option<(String, u32)> {
        let location = self.lines.as_ref()?.find_location(address).ok()??;
        Some((location.file?.to_owned(), location.line?))
    }
}

/// The functions of the symbol tables, one for each start.
fn functions(file: &object::File) -> Vec<Function> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let mut named: Vec<_> = symbols
        .filter(|s| s.kind() == SymbolKind::Text && s.is_definition())
        .filter_map(|s| Some((s.address(), s.size(), s.is_local(), s.name().ok().filter(|n| !n.is_empty())?)))
        .collect();
    // Of several names of one address, that which the program's source is most likely to have: global, of the fewest
    // leading underscores, short.
    let underscores = |name: &str| name.len() - name.trim_start_matches('_').len();
    named.sort_by_key(|&(start, size, is_local, name)| {
        (start, is_local, underscores(name), name.len(), name, Reverse(size))
    });
    named.dedup_by_key(|&mut (start, ..)| start);
    let mut functions: Vec<Function> = Vec::with_capacity(named.len());
    for (i, &(start, size, _, name)) in named.iter().enumerate() {
        let next = named.get(i + 1).map_or(u64::MAX, |n| n.0);
        // Functions in assembly may have no size; they end where the next begins.
        let end = if size == 0 { next.min(start + (1 << 16)) } else { start + size };
        // Parts that the compiler has moved away are the function's own, and so is the code of one that calls itself.
        let name = name.strip_suffix(".cold").unwrap_or(name);
        let name = name.strip_suffix(".poise").unwrap_or(name).to_owned();
        functions.push(Function { name, start, end });
    }
    functions
}

fn lines(file: &object::File) -> Option<addr2line::Context<Reader>> {
    let endian = if file.is_little_endian() { gimli::RunTimeEndian::Little } else { gimli::RunTimeEndian::Big };
    let section = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
        let data = file.section_by_name(id.name()).and_then(|s| s.uncompressed_data().ok());
        Ok(gimli::EndianRcSlice::new(std::rc::Rc::from(data.as_deref().unwrap_or(&[])), endian))
    };
    addr2line::Context::from_dwarf(gimli::Dwarf::load(section).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_a_function_of_this_program_with_its_line() {
        let here = this_test_is_a_function_of_this_program_with_its_line as *const () as u64;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let program = std::env::current_exe().unwrap();
        let offset = maps.lines().filter(|l| l.ends_with(program.to_str().unwrap())).find_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let number = |text| u64::from_str_radix(text, 16).ok();
            let (start, end) = (number(start)?, number(end)?);
            let offset = number(rest.split(' ').nth(1)?)?;
            (start..end).contains(&here).then(|| here - start + offset)
        });
        let image = Image::open(&program).unwrap();
        let address = image.address(offset.unwrap()).unwrap();
        let function = image.function(address).unwrap();
        assert!(function.name.contains("this_test_is_a_function_of_this_program"), "{function:?}");
        assert_eq!(function.start, address);
        assert!(image.line(address).unwrap().0.ends_with("symbols.rs"));
        assert!(Image::open(Path::new("/etc/passwd")).is_none());
    }
}
