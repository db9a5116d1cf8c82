//! Ranks that wait for each other for ever without ever sleeping, as MPI libraries wait. The shim counts in each rank's
//! memory how many calls have begun and ended; where all ranks are within a call and the counts stand still, nobody
//! does anything but wait. Reading a count disturbs nobody.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use object::{Object as _, ObjectSymbol as _};

use super::processes::{self, Rank};
use crate::install::SHIM;

/// The variable of the shim: a mark, and behind it a number that is odd within a call.
const CALLS: &str = "poise_mpi_calls";
/// The mark; what does not begin with it is another version's, or other memory.
const MARK: &[u8; 8] = b"mpicalls";
/// Set where several threads may be within calls at the same time, or the program has to do with others, so that the
/// number says nothing.
const SILENT: u64 = 1 << 63;

/// By rank, the number of the call that it is within.
pub type Calls = Vec<(i32, u64)>;

/// By process, in order: how often all ranks of the run in `folder` have begun or ended a call, where each is within one;
/// none where one is not, where not all are on this machine, where one is not measured or its memory may not be read.
pub fn within_calls(folder: &Path) -> Option<Calls> {
    let ranks = processes::ranks(folder);
    let size = ranks.first()?.size?;
    let mut within = Vec::new();
    let mut seen = Vec::new();
    for rank in &ranks {
        match calls(rank.process.id) {
            Some(calls) if calls & SILENT == 0 && calls % 2 == 1 => {
                seen.push(rank.number);
                within.push((rank.process.id, calls));
            }
            // Shells and other programs that have started the rank call nothing.
            None | Some(0) if has_child(rank, &ranks) => {}
            _ => return None,
        }
    }
    seen.sort_unstable();
    within.sort_unstable();
    seen.into_iter().eq(0..size).then_some(within)
}

/// Whether a process has started another one of its rank.
fn has_child(rank: &Rank, ranks: &[Rank]) -> bool {
    ranks.iter().any(|other| other.number == rank.number && other.process.parent == rank.process.id)
}

/// The number of a process.
fn calls(process: i32) -> Option<u64> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let memory = File::open(format!("/proc/{process}/mem")).ok()?;
    maps.lines().filter_map(beginning).find_map(|(base, path)| {
        // In a container the path may lead elsewhere from here.
        let content = fs::read(format!("/proc/{process}/root{path}")).ok()?;
        let file = object::File::parse(content.as_slice()).ok()?;
        let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(CALLS))?;
        let mut words = [0; 16];
        memory.read_exact_at(&mut words, base.checked_add(symbol.address())?).ok()?;
        let (mark, number) = words.split_first_chunk()?;
        (mark == MARK).then(|| number.try_into().map(u64::from_ne_bytes).ok())?
    })
}

/// Where the shim begins in memory, and its file, if this line of `/proc/PID/maps` says that:
/// `7f10-7f20 r--p 00000000 08:01 42   /usr/lib/libpoise_mpi.so`.
fn beginning(line: &str) -> Option<(u64, &str)> {
    let (fields, path) = line.split_at_checked(line.find('/')?)?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let is_shim = Path::new(path).file_name().is_some_and(|name| name == SHIM);
    let is_beginning = is_shim && fields.get(2).is_some_and(|offset| offset.bytes().all(|digit| digit == b'0'));
    let address = u64::from_str_radix(fields.first()?.split('-').next()?, 16).ok()?;
    is_beginning.then_some((address, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shim_is_found_where_it_begins() {
        let line = |offset: &str, path: &str| format!("7f10a000-7f20b000 r--p {offset} 08:01 42      {path}");
        let shim = "/opt/a place/libpoise_mpi.so";
        assert_eq!(beginning(&line("00000000", shim)), Some((0x7f10_a000, shim)));
        assert_eq!(beginning(&line("00001000", shim)), None);
        assert_eq!(beginning(&line("00000000", "/opt/libpoise_runtime.so")), None);
        assert_eq!(beginning("7f10-7f20 rw-p 00000000 00:00 0 "), None);
    }
}
