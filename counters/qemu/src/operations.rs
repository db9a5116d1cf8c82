//! Where MPI operations begin, and `main`. What operations execute inside depends on how long they wait, so that it is no effort of the
//! program's: it is not counted, and neither are threads that MPI starts for itself.

use std::collections::HashMap;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// What begins somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// An MPI operation.
    Operation,
    /// The program's own code.
    Main,
}

/// Operations and `main` by the files that define them.
#[derive(Default)]
pub struct Operations {
    /// By path, the positions in the file of first instructions.
    files: HashMap<String, HashMap<u64, Beginning>>,
}

impl Operations {
    /// What begins at `position` of the file at `path`.
    pub fn begins(&mut self, path: &str, position: u64) -> Option<Beginning> {
        if !self.files.contains_key(path) {
            let content = std::fs::read(path).unwrap_or_default();
            self.files.insert(path.to_owned(), positions(&content).unwrap_or_default());
        }
        self.files[path].get(&position).copied()
    }
}

/// Where the MPI operations of an executable or a shared library begin in it, and `main`.
fn positions(content: &[u8]) -> Option<HashMap<u64, Beginning>> {
    let file = object::File::parse(content).ok()?;
    let position = |address: u64| {
        let segment = file.segments().find(|s| (s.address()..s.address() + s.file_range().1).contains(&address))?;
        Some(address - segment.address() + segment.file_range().0)
    };
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let beginning = |name| match name {
        "main" => Some(Beginning::Main),
        name => is_operation(name).then_some(Beginning::Operation),
    };
    let functions = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let found = functions.filter_map(|symbol| Some((position(symbol.address())?, beginning(symbol.name().ok()?)?)));
    Some(found.collect())
}

/// Whether MPI names an operation so: `MPI_Send`, or `PMPI_Send` by its name for tools.
fn is_operation(name: &str) -> bool {
    let name = name.strip_prefix('P').unwrap_or(name);
    name.strip_prefix("MPI_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[unsafe(no_mangle)]
    extern "C" fn MPI_Of_this_test() -> u32 {
        7
    }

    #[test]
    fn operations_are_found_where_they_are_in_the_file() {
        assert!(is_operation("MPI_Send") && is_operation("PMPI_Send"));
        assert!(!is_operation("MPI_init_internal") && !is_operation("ompi_mpi_init") && !is_operation("PMPIX"));
        let here = std::hint::black_box(MPI_Of_this_test as extern "C" fn() -> u32) as usize as u64;
        let program = std::env::current_exe().unwrap();
        // The line of the mapping that holds it: `start-end permissions offset …`.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let at = maps.lines().find_map(|line| {
            let mut fields = line.split(' ');
            let (start, end) = fields.next()?.split_once('-')?;
            let is_here = (number(start)..number(end)).contains(&here);
            is_here.then(|| here - number(start) + number(fields.nth(1).unwrap()))
        });
        let mut operations = Operations::default();
        assert_eq!(operations.begins(program.to_str().unwrap(), at.unwrap()), Some(Beginning::Operation));
        assert_eq!(operations.begins(program.to_str().unwrap(), at.unwrap() + 1), None);
        assert_eq!(operations.begins("/none", 0), None);
        let begun = operations.files[program.to_str().unwrap()].values();
        assert_eq!(begun.filter(|beginning| **beginning == Beginning::Main).count(), 1);
    }
}
