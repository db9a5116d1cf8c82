//! Programs that run in QEMU's user mode with our plugin in it: the command that does so, and the profile that comes of it.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use modeler::machine;
use poise_profile::Profile;

use super::{Bins, PROFILE};
use crate::error::{Error, Result};
use crate::install::{self, EMULATION};
use crate::study::Point;

/// What files of the plugin are called in a run's folder, with the rank behind.
const RAW: &str = "machine.poise";

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

/// `command` with QEMU before the program in it: the first word, or behind a launcher the first word that is a program.
///
/// # Errors
/// There is no such program, none for its instruction set, or no plugin.
pub fn command(command: &[String], folder: &Path, bins: Option<Bins>) -> Result<Vec<String>> {
    let (at, path, program) = find(command)?;
    let (_, emulator, triple) = MACHINES.into_iter().find(|m| m.0 == program.machine).ok_or_else(|| {
        Error::Usage(format!(
            "{} is for an instruction set that is none of x86-64, AArch64 and RISC-V.",
            path.display()
        ))
    })?;
    let emulator = install::find_program(emulator).ok_or_else(|| {
        Error::Usage(format!("{emulator} is not on the PATH. Install it (on Debian: apt install qemu-user)."))
    })?;
    let mut words = command[..at].to_vec();
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
    Ok(format!("file={library},out={},width={width}{lines}", escaped(folder.join(RAW))))
}

/// Which word of a command is the program, where that is, and what it is.
fn find(command: &[String]) -> Result<(usize, PathBuf, Program)> {
    let name = Path::new(&command[0]).file_name().unwrap_or_default().to_string_lossy();
    let is_launcher = ["mpirun", "mpiexec", "orterun", "prterun", "srun"].iter().any(|l| name.starts_with(l));
    let candidates = if is_launcher { 1..command.len() } else { 0..1 };
    let found = candidates.clone().find_map(|at| {
        let path = install::find_program(&command[at])?;
        Some((at, elf(&path)?)).map(|(at, program)| (at, path, program))
    });
    found.ok_or_else(|| {
        let what = if is_launcher {
            "No word behind the launcher".to_owned()
        } else {
            format!("{} is no program, or", command[0])
        };
        match is_launcher {
            true => Error::Usage(format!("{what} is an ELF program that QEMU could run.")),
            false => Error::Usage(format!("{what} no ELF file; a script's own programs have to be named.")),
        }
    })
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
/// The files cannot be read or do not fit together.
pub fn collect(folder: &Path, point: &Point) -> Result<()> {
    let failed = |what: String| Error::Defect(format!("What QEMU's plugin measured cannot be used: {what}."));
    let mut raw = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| failed(e.to_string()))? {
        let path = entry.map_err(|e| failed(e.to_string()))?.path();
        let rank = path.file_name().and_then(|n| n.to_str()?.strip_prefix(RAW)?.strip_prefix('.')?.parse::<u32>().ok());
        raw.extend(rank.map(|rank| (rank, path)));
    }
    raw.sort();
    let mut whole: Option<Profile> = None;
    for (_, path) in &raw {
        let profile = Profile::read(path).map_err(|e| failed(e.to_string()))?;
        let profile = machine::resolve(profile);
        match &mut whole {
            None => whole = Some(profile),
            Some(sum) => sum.merge(profile).map_err(|e| failed(e.to_string()))?,
        }
    }
    let Some(mut whole) = whole else { return Ok(()) };
    whole.metadata.extend(point.iter().map(|(name, value)| (format!("parameter.{name}"), value.text.clone())));
    whole.write(folder.join(PROFILE)).map_err(|e| failed(e.to_string()))?;
    for (_, path) in raw {
        fs::remove_file(&path).map_err(|e| Error::cannot_write(&path, &e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_behind_a_launcher() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let of = |text: &str| find(&words(text)).ok().map(|(at, ..)| at);
        assert_eq!(of("/bin/true -n 4"), Some(0));
        assert_eq!(of("mpirun -n 4 --map-by core /bin/true x"), Some(5));
        assert_eq!(of("mpirun -n 4 ./nothing"), None);
        assert_eq!(of("/etc/passwd"), None, "no program");
        let program = elf(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!(program.machine == 62, cfg!(target_arch = "x86_64"));
        assert!(program.is_dynamic);
    }
}
