//! SimGrid's SMPI: thousands of ranks in one process, on a simulated machine of known speed.
//!
//! The machine is a cluster of equal nodes, one rank each: a message waits a microsecond, goes over its two nodes' links
//! at 10 GB/s, which it shares with what they send and receive at the time, and costs its sender a microsecond and
//! 0.1 ns per byte (the overhead and gap of the LogGP model). Between the links nothing is the bottleneck. Collective
//! operations are SMPI's own implementations of well-known algorithms, message by message. Computation takes no
//! simulated time.

use std::path::{Path, PathBuf};
use std::process::Command;

use benchgen::Spec;

use crate::error::{Error, Result};
use crate::install;
use crate::output;

/// The platform's file name.
const PLATFORM: &str = "platform.xml";

/// How SMPI runs and what its machine costs.
const OPTIONS: [&str; 16] = [
    "--log=root.thres:critical",
    "--cfg=smpi/simulate-computation:no",
    // Latency and bandwidth as the platform has them, without corrections for TCP.
    "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/TCP-gamma:0",
    // The sender's time per message of 0 bytes and more, in blocking and in nonblocking sends.
    "--cfg=smpi/os:0:1e-6:1e-10",
    "--cfg=smpi/ois:0:1e-6:1e-10",
    // Algorithms by name: the automatic choice changes with the message's size, and the defaults of some operations
    // are linear in the number of ranks, or cost the simulator its cube.
    "--cfg=smpi/bcast:binomial_tree",
    "--cfg=smpi/scatter:ompi_binomial",
    "--cfg=smpi/gather:ompi_binomial",
    "--cfg=smpi/allgather:rdb",
    "--cfg=smpi/alltoall:bruck",
    "--cfg=smpi/reduce:binomial",
    "--cfg=smpi/allreduce:rdb",
    "--cfg=smpi/barrier:ompi_bruck",
    // In KiB; there are thousands.
    "--cfg=contexts/stack-size:256",
];

/// An installed SMPI.
pub struct Smpi {
    launcher: PathBuf,
    /// What smpicxx adds to a compiler's arguments.
    pub flags: Vec<String>,
}

impl Smpi {
    /// The SMPI of this machine.
    ///
    /// # Errors
    /// It is not there.
    pub fn find() -> Result<Self> {
        let missing = || {
            Error::Usage(
                "No SimGrid SMPI: smpirun or smpicxx is not on the PATH. Install it (on Debian: apt install \
                 libsimgrid-dev), or leave --smpi out to run under Open MPI."
                    .into(),
            )
        };
        let launcher = install::find_program("smpirun").ok_or_else(missing)?;
        let compiler = install::find_program("smpicxx").ok_or_else(missing)?;
        let output = Command::new(&compiler).arg("-show").output().map_err(|_| missing())?;
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut flags: Vec<String> = shown.split_whitespace().skip(1).map(str::to_owned).collect();
        if !flags.iter().any(|flag| flag == "-lsimgrid") {
            return Err(Error::Usage(format!("{} -show does not show how it links SimGrid.", compiler.display())));
        }
        flags.retain(|flag| !flag.starts_with("-std="));
        // SMPI replaces `malloc` by a macro, which is no member of namespace std.
        flags.push("-DSMPI_NO_OVERRIDE_MALLOC".into());
        // Every rank gets a copy of the file.
        flags.push("-s".into());
        Ok(Self { launcher, flags })
    }

    /// Writes the simulated machine, a node per rank.
    pub fn write_platform(&self, folder: &Path, spec: &Spec) -> Result<()> {
        let path = folder.join(PLATFORM);
        if path.is_file() {
            return Ok(());
        }
        let ranks = spec.largest_point().get("p").copied().unwrap_or(1.0);
        let text = format!(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
             <platform version=\"4.1\">\n  <cluster id=\"machine\" prefix=\"n\" suffix=\"\" radical=\"0-{}\" \
             speed=\"1Gf\" bw=\"10GBps\" lat=\"0.5us\"/>\n</platform>\n",
            ranks as u64 - 1
        );
        output::write_file(&path, text.as_bytes())
    }

    /// How a run begins, up to the program.
    pub fn command(&self) -> Vec<String> {
        let mut command = vec![self.launcher.display().to_string()];
        let words = ["-np", "{p}", "-platform", PLATFORM];
        command.extend(words.iter().chain(&OPTIONS).map(|&word| word.to_owned()));
        command
    }
}
