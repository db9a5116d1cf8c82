//! SimGrid's SMPI: thousands of ranks in one process, on a simulated machine of known speed.
//!
//! The machine has equal nodes, one rank each. In a cluster a message waits twice a link's latency and goes over its two
//! nodes' links, which it shares with what they send and receive at the time; between the links nothing is the bottleneck.
//! In a torus, a fat tree or a dragonfly it goes over the links of that network. It costs its sender nothing more
//! unless an overhead is asked for (that of the LogGP model). Collective operations are SMPI's own implementations of
//! well-known algorithms, message by message. Computation takes no simulated time.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::install;
use crate::run::Run;
use crate::study::{FOLDER, Overhead, SmpiPlace, Topology};

/// The platform's file name.
pub const PLATFORM: &str = "platform.xml";

/// How SMPI runs, whatever its machine is.
const OPTIONS: [&str; 14] = [
    "--log=root.thres:critical",
    "--cfg=smpi/simulate-computation:no",
    // Latency and bandwidth as the platform has them, without corrections for TCP.
    "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/TCP-gamma:0",
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
    compilers: [PathBuf; 2],
}

impl Smpi {
    /// The SMPI of this machine.
    ///
    /// # Errors
    /// It is not there.
    pub fn find() -> Result<Self> {
        let find = |name: &str| {
            install::find_program(name).ok_or_else(|| {
                Error::Usage(format!(
                    "No SimGrid SMPI: {name} is not on the PATH. Install it (on Debian: apt install libsimgrid-dev), or \
                     run under another MPI."
                ))
            })
        };
        Ok(Self { launcher: find("smpirun")?, compilers: [find("smpicc")?, find("smpicxx")?] })
    }

    /// What SMPI's own compiler wrapper adds to a compiler's arguments, for `cc` or `c++`.
    ///
    /// # Errors
    /// The wrapper does not tell.
    pub fn flags(&self, language: &str) -> Result<Vec<String>> {
        let compiler = &self.compilers[usize::from(language != "cc")];
        let silent = || Error::Usage(format!("{} -show does not show how it links SimGrid.", compiler.display()));
        let output = Command::new(compiler).arg("-show").output().map_err(|_| silent())?;
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut flags: Vec<String> = shown.split_whitespace().skip(1).map(str::to_owned).collect();
        if !flags.iter().any(|flag| flag == "-lsimgrid") {
            return Err(silent());
        }
        flags.retain(|flag| !flag.starts_with("-std="));
        // SMPI replaces `malloc` by a macro, which is no member of namespace std.
        flags.push("-DSMPI_NO_OVERRIDE_MALLOC".into());
        // Every rank gets a copy of the file.
        flags.push("-s".into());
        Ok(flags)
    }

    /// How a run begins, up to the program; `ranks` may be a template.
    pub fn command(&self, place: &SmpiPlace, platform: &str, ranks: &str) -> Vec<String> {
        let mut command = vec![self.launcher.display().to_string()];
        command.extend(["-np", ranks, "-platform", platform].map(str::to_owned));
        command.extend(place.tuning());
        command
    }
}

impl SmpiPlace {
    /// The simulator's options.
    fn tuning(&self) -> Vec<String> {
        let mut options: Vec<String> = OPTIONS.iter().map(|&option| option.to_owned()).collect();
        if self.overhead != Overhead::default() {
            // The sender's time per message of 0 bytes and more, in blocking and in nonblocking sends.
            let Overhead { message, byte } = self.overhead;
            options.extend(["os", "ois"].map(|kind| format!("--cfg=smpi/{kind}:0:{message:e}:{byte:e}")));
        }
        options
    }
}

/// Nodes of a network that has a size of its own.
fn nodes_of(topology: &Topology) -> Option<u64> {
    let numbers = |list: &str| list.split(',').map(|n| n.parse::<u64>().unwrap_or(0)).collect::<Vec<_>>();
    match topology {
        Topology::Cluster => None,
        Topology::Torus(extents) => Some(extents.iter().map(|&e| u64::from(e)).product()),
        // Levels; children of each level; parents; cables.
        Topology::FatTree(shape) => Some(numbers(shape.split(';').nth(1).unwrap_or("")).iter().product()),
        // Groups, chassis and routers, each with its number of links; nodes of a router.
        Topology::Dragonfly(shape) => Some(shape.split(';').map(|part| numbers(part)[0]).product()),
    }
}

/// The simulated machine as SimGrid reads it: as many nodes as the network has, or `ranks` of them.
pub fn platform(place: &SmpiPlace, ranks: u64) -> String {
    let nodes = nodes_of(&place.topology).unwrap_or(ranks);
    let network = match &place.topology {
        Topology::Cluster => String::new(),
        Topology::Torus(extents) => {
            let extents: Vec<String> = extents.iter().map(u32::to_string).collect();
            format!(" topology=\"TORUS\" topo_parameters=\"{}\"", extents.join(","))
        }
        Topology::FatTree(shape) => format!(" topology=\"FAT_TREE\" topo_parameters=\"{shape}\""),
        Topology::Dragonfly(shape) => format!(" topology=\"DRAGONFLY\" topo_parameters=\"{shape}\""),
    };
    format!(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <platform version=\"4.1\">\n  <cluster id=\"machine\" prefix=\"n\" suffix=\"\" radical=\"0-{}\" \
         speed=\"1Gf\" bw=\"{:e}Bps\" lat=\"{:e}s\"{network}/>\n</platform>\n",
        nodes.max(1) - 1,
        place.bandwidth,
        place.latency
    )
}

/// The program that `smpirun` ends up starting. The script itself would take arguments with blanks apart and expand
/// their wildcards.
fn simulator(launcher: &Path) -> Option<PathBuf> {
    let script = std::fs::read_to_string(launcher).ok()?;
    let paths = script.split('"').filter(|word| word.starts_with('/') && word.ends_with("/smpimain"));
    paths.map(PathBuf::from).find(|path| path.is_file())
}

/// What starting the simulator takes from this machine, so that it is no part of what a study says.
pub struct Here {
    /// What is started.
    simulator: String,
    /// Where the simulator puts copies of the program.
    temporary: String,
    /// Where programs look for libraries without it.
    libraries: String,
}

impl Here {
    /// This machine.
    ///
    /// # Errors
    /// SMPI is not there.
    pub fn find() -> Result<Self> {
        let smpi = Smpi::find()?;
        let simulator = simulator(&smpi.launcher).ok_or_else(|| {
            Error::Usage(format!("{} does not say where SimGrid's smpimain is.", smpi.launcher.display()))
        })?;
        Ok(Self {
            simulator: simulator.display().to_string(),
            temporary: std::env::temp_dir().display().to_string(),
            libraries: std::env::var("LD_LIBRARY_PATH").unwrap_or_default(),
        })
    }

    /// Any machine, for what a study says.
    pub fn anywhere() -> Self {
        Self { simulator: "\0simulator".to_owned(), temporary: "\0temporary".to_owned(), libraries: String::new() }
    }
}

/// Puts the simulator before the program, and its machine beside it.
///
/// # Errors
/// The user's platform file cannot be read.
pub fn extend(
    run: &mut Run,
    place: &SmpiPlace,
    here: Here,
    ranks: u32,
    words: &dyn Fn(&str) -> Vec<String>,
) -> Result<()> {
    let text = match &place.platform {
        Some(path) => {
            let path = run.directory.join(path);
            std::fs::read_to_string(&path).map_err(|e| Error::cannot_read(&path, &e))?
        }
        None => platform(place, u64::from(ranks)),
    };
    run.files.push((PLATFORM.to_owned(), text));
    let Here { simulator, temporary, libraries } = here;
    let program = run.command.remove(0);
    let mut command = vec![simulator, program];
    // As smpirun does it: each rank has its own copy of the program's variables, and ranks go to nodes in turn.
    command.extend(
        ["privatization:1".to_owned(), format!("np:{ranks}"), "hostfile:".to_owned()]
            .map(|o| format!("--cfg=smpi/{o}")),
    );
    command.push(format!("--cfg=smpi/tmpdir:{temporary}"));
    command.extend(place.tuning());
    command.extend(place.options.iter().flat_map(|option| option.arguments(words)));
    // After the dashes SimGrid takes nothing for an option of its own.
    command.extend([format!("{FOLDER}/{PLATFORM}"), "--".to_owned()]);
    command.append(&mut run.command);
    run.environment.push(("SMPI_GLOBAL_SIZE".to_owned(), ranks.to_string()));
    // The study's own, if it has one, behind where the simulator puts its copies. Of an empty folder the system makes the current one.
    const LIBRARIES: &str = "LD_LIBRARY_PATH";
    let studys = run.environment.iter().rposition(|(name, _)| name == LIBRARIES);
    let libraries = studys.map_or(libraries, |at| run.environment.remove(at).1);
    let libraries = if libraries.is_empty() { temporary } else { format!("{temporary}:{libraries}") };
    run.environment.push((LIBRARIES.to_owned(), libraries));
    run.command = command;
    Ok(())
}

/// Why a run cannot be simulated: its network is too small.
pub fn refusal(place: &SmpiPlace, ranks: u32) -> Option<String> {
    let nodes = nodes_of(&place.topology).filter(|_| place.platform.is_none())?;
    (u64::from(ranks) > nodes).then(|| format!("It has {ranks} ranks, and the simulated network has {nodes} nodes."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(topology: Topology) -> SmpiPlace {
        SmpiPlace { topology, latency: 1e-6, bandwidth: 1e9, ..SmpiPlace::default() }
    }

    #[test]
    fn senders_have_the_overhead_that_is_asked_for_and_no_other() {
        let of = |overhead: Overhead| {
            let options = SmpiPlace { overhead, ..place(Topology::Cluster) }.tuning();
            options.into_iter().filter(|o| o.contains("smpi/os") || o.contains("smpi/ois")).collect::<Vec<_>>()
        };
        assert_eq!(of(Overhead::default()), [""; 0]);
        let both = ["--cfg=smpi/os:0:1e-6:1e-10", "--cfg=smpi/ois:0:1e-6:1e-10"];
        assert_eq!(of(Overhead { message: 1e-6, byte: 1e-10 }), both);
    }

    #[test]
    fn networks_have_the_size_of_their_shape() {
        assert_eq!(nodes_of(&Topology::Torus(vec![4, 4, 2])), Some(32));
        assert_eq!(nodes_of(&Topology::FatTree("2;4,4;1,2;1,2".into())), Some(16));
        assert_eq!(nodes_of(&Topology::Dragonfly("3,4;4,3;5,1;2".into())), Some(120));
        let torus = place(Topology::Torus(vec![2, 2]));
        assert!(platform(&torus, 3).contains("radical=\"0-3\"") && platform(&torus, 3).contains("TORUS"));
        assert!(platform(&place(Topology::Cluster), 3).contains("radical=\"0-2\""));
        assert_eq!(refusal(&torus, 4), None);
        assert!(refusal(&torus, 5).unwrap().contains("4 nodes"));
    }
}
