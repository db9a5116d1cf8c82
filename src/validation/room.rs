//! Whether the runs of a validation find enough memory on this machine: told before anything is written or run, also
//! where the specification sets no limit.

use std::fs;

use benchgen::{Point, Spec};

use crate::error::{Error, Result};

/// Refuses a specification whose program allocates more than this machine has; `text` is what `file` holds.
///
/// # Errors
/// With the bytes, the point and the place of the function in the specification.
pub fn check(spec: &Spec, text: &str, file: &str) -> Result<()> {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    match total(&meminfo) {
        Some(bytes) => within(spec, text, file, bytes),
        // A system that does not say how much it has.
        None => Ok(()),
    }
}

/// All memory in bytes, by the lines of `/proc/meminfo`.
fn total(meminfo: &str) -> Option<u128> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u128 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kibibytes)
}

fn within(spec: &Spec, text: &str, file: &str, available: u128) -> Result<()> {
    for function in &spec.functions {
        let alone = Spec { functions: vec![function.clone()], ..spec.clone() };
        let needs = |point: &Point| benchgen::memory_at(&alone, point).map_or(0, |memory| memory.all_ranks);
        let Some(point) = spec.points().into_iter().chain(spec.test.clone()).max_by_key(needs) else { continue };
        let bytes = needs(&point);
        if bytes > available {
            let (line, column) = place(text, &function.name);
            let at: Vec<String> = point.iter().map(|(name, x)| format!("{name}={x}")).collect();
            return Err(Error::Input(format!(
                "{file}:{line}:{column}: `{}` needs {bytes} bytes on all ranks at {}, more than the {available} bytes \
                 that this machine has; shrink its laws or the parameters' values",
                function.name,
                at.join(", ")
            )));
        }
    }
    Ok(())
}

/// Line and column of a function's name, or of what it was drawn by.
fn place(text: &str, name: &str) -> (usize, usize) {
    let at = text.find(&format!("\"{name}\"")).or_else(|| text.find("[random]")).unwrap_or(0);
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (1 + before.matches('\n').count(), 1 + before[start..].chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_than_the_machine_is_said_with_its_bytes_and_its_place() {
        let text = "name = \"big\"\n[parameters]\np = [2, 4]\nn = [1000]\n[test]\np = 8\nn = 2000\n\
                    [[function]]\nname = \"wide\"\nmpi = [{ operation = \"allgather\", elements = \"n\" }]\n";
        let spec = Spec::parse(text, "big.toml").unwrap();
        // At p = 8 and n = 2000 each rank sends 2000 doubles and receives those of 8 ranks.
        let bytes = 8 * (2000 * 8 + 8 * 2000 * 8);
        assert!(within(&spec, text, "big.toml", bytes).is_ok());
        let said = within(&spec, text, "big.toml", bytes - 1).unwrap_err().to_string();
        assert!(said.starts_with("big.toml:9:8: `wide` needs 1152000 bytes on all ranks at n=2000, p=8,"), "{said}");
    }

    #[test]
    fn the_machine_tells_its_memory() {
        assert_eq!(total("MemTotal:       24000000 kB\nMemFree: 1 kB\n"), Some(24_576_000_000));
        assert_eq!(total("MemFree: 1 kB\n"), None);
    }
}
