//! Programs that run in QEMU's user mode with our plugin in it: the command that does so, and the profile that comes of it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use modeler::machine;
use poise_profile::Profile;

use super::{Bins, Cache, PROFILE, launcher};
use crate::error::{Error, Result};
use crate::install::{self, EMULATION};
use crate::output::counted;
use crate::study::Point;

/// What files of the plugin are called in a run's folder, with the rank behind.
pub const RAW: &str = "machine.poise";
/// The metadata in which the plugin says how many ranks were launched.
const LAUNCHED: &str = "launched";

/// An instruction set that QEMU and the plugin know: its number in ELF files, QEMU's program for it, the compilers' name.
const MACHINES: [(u16, &str, &str); 3] = [
    (62, "qemu-x86_64", "x86_64-linux-gnu"),
    (183, "qemu-aarch64", "aarch64-linux-gnu"),
    (243, "qemu-riscv64", "riscv64-linux-gnu"),
];

/// What is to be known of an ELF program.
struct Program {
    machine: u16,
    /// Whether it needs a loader.
    is_dynamic: bool,
}

/// `command` with QEMU before the program in it: the first word, or behind a launcher the word that is the program; a `--` before
/// that is left out, since not every launcher knows it.
///
/// # Errors
/// There is no such program, several words could be it, there is no QEMU for its instruction set, or no plugin.
pub fn command(command: &[String], folder: &Path, bins: Option<Bins>) -> Result<Vec<String>> {
    let (at, path, program) = find(command)?;
    let (_, emulator, triple) = machine(&path, &program)?;
    let emulator = install::find_program(emulator).ok_or_else(|| {
        Error::Usage(format!("{emulator} is not on the PATH. Install it (on Debian: apt install qemu-user)."))
    })?;
    let before = if at > 1 && command[at - 1] == "--" { at - 1 } else { at };
    let mut words = command[..before].to_vec();
    words.push(emulator.display().to_string());
    if emulator.ends_with("qemu-x86_64") {
        // Everything that the emulator knows, so that programs for newer processors run.
        words.extend(["-cpu".into(), "max".into()]);
    }
    let root = Path::new("/usr").join(triple);
    if program.is_dynamic && !triple.starts_with(std::env::consts::ARCH) && root.is_dir() {
        words.extend(["-L".into(), root.display().to_string()]);
    }
    // Functions are found when the program starts, not when they are first called, which would look like calls.
    words.extend(["-E".into(), "LD_BIND_NOW=1".into(), "-plugin".into(), plugin(folder, bins)?]);
    words.push(path.display().to_string());
    words.extend_from_slice(&command[at + 1..]);
    Ok(words)
}

/// The file of the program in `command`, if that is clear.
pub fn program(command: &[String]) -> Option<PathBuf> {
    let (_, path, _) = (!command.is_empty()).then(|| find(command).ok()).flatten()?;
    Some(path)
}

/// The instruction set of the program in `command`, as profiles name it.
///
/// # Errors
/// There is no such program, several words could be it, or it is for an instruction set that is not known.
pub fn instruction_set(command: &[String]) -> Result<&'static str> {
    let (_, path, program) = find(command)?;
    let (.., triple) = machine(&path, &program)?;
    Ok(triple.split('-').next().unwrap_or(triple))
}

/// The machine that a program is for.
fn machine(path: &Path, program: &Program) -> Result<(u16, &'static str, &'static str)> {
    MACHINES.into_iter().find(|m| m.0 == program.machine).ok_or_else(|| {
        Error::Usage(format!(
            "{} is for an instruction set that is none of x86-64, AArch64 and RISC-V.",
            path.display()
        ))
    })
}

/// The plugin and its arguments; commas in paths are doubled.
fn plugin(folder: &Path, bins: Option<Bins>) -> Result<String> {
    let escaped = |path: PathBuf| path.display().to_string().replace(',', ",,");
    let width = match bins {
        None => "0".to_owned(),
        Some(Bins { width: Some(width), .. }) => width.to_string(),
        Some(Bins { width: None, .. }) => "grow".to_owned(),
    };
    let lines = if bins.is_some_and(|bins| bins.lines) { ",lines=on" } else { "" };
    let library = escaped(install::library(EMULATION)?);
    let level = |(bytes, ways): (u64, u64)| format!("{bytes}x{ways}");
    let models = bins.and_then(|bins| bins.cache).map(|Cache(levels)| levels.map(level).join("+"));
    let models = models.map(|levels| format!(",models={levels}")).unwrap_or_default();
    Ok(format!("file={library},out={},width={width}{lines}{models}", escaped(folder.join(RAW))))
}

/// Which word of a command is the program, where that is, and what it is.
fn find(command: &[String]) -> Result<(usize, PathBuf, Program)> {
    let candidates = if launcher::is_launcher(&command[0]) { launcher::programs(command) } else { vec![vec![0]] };
    let elf_at = |&at: &usize| {
        let path = install::find_program(&command[at])?;
        elf(&path).map(|program| (at, path, program))
    };
    for candidates in &candidates {
        let mut found: Vec<_> = candidates.iter().filter_map(elf_at).collect();
        match found.len() {
            0 => {}
            1 => return Ok(found.remove(0)),
            _ => {
                let words: Vec<&str> = found.iter().map(|(at, ..)| command[*at].as_str()).collect();
                return Err(Error::Usage(format!(
                    "Any of {} could be the program that QEMU is to run. Write -- before it, as in: {} OPTIONS -- {}.",
                    words.join(", "),
                    command[0],
                    words[0]
                )));
            }
        }
    }
    Err(Error::Usage(match launcher::is_launcher(&command[0]) {
        true => "No word behind the launcher is an ELF program that QEMU could run.".into(),
        false => format!("{} is no program, or no ELF file; a script's own programs have to be named.", command[0]),
    }))
}

/// What the head of an ELF file for 64 bits and little-endian numbers says.
fn elf(path: &Path) -> Option<Program> {
    let mut head = Vec::new();
    fs::File::open(path).ok()?.take(1 << 12).read_to_end(&mut head).ok()?;
    let half = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    // Program headers follow the head; PT_INTERP, which names the loader, is of type 3.
    let headers = (0..usize::from(half(56)?)).map(|i| 64 + i * usize::from(half(54).unwrap_or(56)));
    let is_dynamic = headers.filter_map(|at| head.get(at..at + 4)).any(|kind| kind == [3, 0, 0, 0]);
    Some(Program { machine: half(18)?, is_dynamic })
}

/// Makes one profile of what the plugin left in `folder`, if it left anything.
///
/// # Errors
/// In a sentence: a rank left nothing, or the files cannot be read or do not fit together. They stay then.
pub fn collect(folder: &Path, point: &Point) -> std::result::Result<(), String> {
    let raw = raw(folder).map_err(|e| format!("{} cannot be read: {e}.", folder.display()))?;
    let failed = |path: &Path, what: &dyn Display| format!("{} cannot be used: {what}.", path.display());
    let mut whole: Option<Profile> = None;
    let mut launched = 0;
    for (rank, path) in &raw {
        let mut profile = Profile::read(path).map_err(|e| failed(path, &e))?;
        let count = profile.metadata.remove(LAUNCHED).and_then(|count| count.parse().ok());
        launched = launched.max(count.unwrap_or(0)).max(rank + 1);
        let profile = machine::resolve(profile);
        match &mut whole {
            None => whole = Some(profile),
            Some(sum) => sum.merge(profile).map_err(|e| failed(path, &e))?,
        }
    }
    let Some(mut whole) = whole else { return Ok(()) };
    if let Some(missing) = (0..launched).find(|rank| !raw.contains_key(rank)) {
        return Err(format!(
            "{} of {} left no counts, the first of them rank {missing}: they were killed, or are another program.",
            launched as usize - raw.len(),
            counted(launched, "rank", "ranks")
        ));
    }
    whole.metadata.extend(point.iter().map(|(name, value)| (format!("parameter.{name}"), value.text.clone())));
    let path = folder.join(PROFILE);
    whole.write(&path).map_err(|e| failed(&path, &e))?;
    for (_, path) in raw {
        // What stays is a file more in the folder.
        let _ = fs::remove_file(&path);
    }
    Ok(())
}

/// The plugin's files in `folder`, by rank.
fn raw(folder: &Path) -> std::io::Result<BTreeMap<u32, PathBuf>> {
    let mut raw = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let rank = path.file_name().and_then(|n| n.to_str()?.strip_prefix(RAW)?.strip_prefix('.')?.parse::<u32>().ok());
        raw.extend(rank.map(|rank| (rank, path)));
    }
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use poise_profile::{Bin, BinUnit, Phases, Place, Region, RegionKind, Share, Timeline};

    use super::*;

    #[test]
    fn the_program_is_found_behind_a_launcher() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let of = |text: &str| find(&words(text)).ok().map(|(at, ..)| at);
        assert_eq!(of("/bin/true -n 4"), Some(0));
        assert_eq!(of("mpirun -n 4 --map-by core /bin/true x"), Some(5));
        // Values of options, and words that happen to be programs on the PATH.
        assert_eq!(of("mpirun --map-by env /bin/true cat"), Some(3));
        assert_eq!(of("srun -n2 --mpi=pmi2 /bin/true /bin/cat"), Some(3));
        assert_eq!(of("mpirun --unknown cat /bin/true"), Some(3), "a path rather than a name");
        assert_eq!(of("mpirun --unknown 3 true"), Some(3));
        assert_eq!(of("mpirun --unknown /bin/cat -- /bin/true -- /bin/ls"), Some(4));
        let several = find(&words("mpirun --unknown /bin/cat /bin/true")).err().unwrap().to_string();
        assert!(several.contains("/bin/cat, /bin/true"), "{several}");
        assert_eq!(of("mpirun -n 4 ./nothing"), None);
        assert_eq!(of("/etc/passwd"), None, "no program");
        let program = elf(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!(program.machine == 62, cfg!(target_arch = "x86_64"));
        assert!(program.is_dynamic);
    }

    #[test]
    fn what_ran_before_main_is_one_bin_however_wide_those_of_other_ranks_are() {
        let folder = tempfile::tempdir().unwrap();
        let leave = |rank: u32, width: u64, counts: &[u64]| {
            let mut builder = poise_profile::RankBuilder::new();
            let region = Region { name: "f".into(), file: String::new(), line: 1, kind: RegionKind::Function };
            let node = builder.node(None, region);
            let bin =
                |&count: &u64| Bin { shares: vec![Share { place: 0, count, ..Share::default() }].into(), lines: None };
            let bins = counts.iter().map(bin).collect();
            let timelines = vec![Timeline { rank, bins, first_apart: true, ..Timeline::default() }];
            let places = vec![Place { node, code: None }];
            let mut profile = builder.finish(rank);
            profile.phases = Phases { unit: BinUnit::Instructions, width, places, timelines, modelled: Vec::new() };
            profile.write(folder.path().join(format!("{RAW}.{rank}"))).unwrap();
        };
        leave(0, 4, &[1000, 4, 4, 4]);
        leave(1, 8, &[3, 8, 8]);
        leave(2, 2, &[70, 2, 2, 2, 2, 2]);
        collect(folder.path(), &Point::default()).unwrap();
        let whole = Profile::read(folder.path().join(PROFILE)).unwrap();
        let of = |t: &Timeline| t.bins.iter().map(|bin| bin.shares[0].count).collect::<Vec<_>>();
        let found: Vec<_> = whole.phases.timelines.iter().map(of).collect();
        assert_eq!(found, [vec![1000, 8, 4], vec![3, 8, 8], vec![70, 8, 2]]);
        assert!(whole.phases.width == 8 && whole.phases.timelines.iter().all(|timeline| timeline.first_apart));
    }

    #[test]
    fn a_rank_that_left_nothing_is_told_and_the_others_counts_stay() {
        let folder = tempfile::tempdir().unwrap();
        let leave = |rank: u32| {
            let mut profile = poise_profile::RankBuilder::new().finish(rank);
            profile.metadata.insert(LAUNCHED.into(), "3".into());
            profile.write(folder.path().join(format!("{RAW}.{rank}"))).unwrap();
        };
        leave(0);
        leave(2);
        let told = collect(folder.path(), &Point::default()).unwrap_err();
        assert!(told.starts_with("1 of 3 ranks left no counts, the first of them rank 1"), "{told}");
        assert!(!folder.path().join(PROFILE).exists() && folder.path().join(format!("{RAW}.2")).exists());
        leave(1);
        collect(folder.path(), &Point::default()).unwrap();
        let whole = Profile::read(folder.path().join(PROFILE)).unwrap();
        assert_eq!((whole.ranks, whole.metadata.get(LAUNCHED)), (3, None));
        assert!(raw(folder.path()).unwrap().is_empty());
    }
}
