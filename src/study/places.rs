//! Where a study's runs are made, and what belongs to each place: a core budget, a cluster's options, a simulated
//! machine.

use std::path::PathBuf;

use super::expression::Expression;
use super::file::{LocalFile, SlurmFile, SmpiFile};
use super::template::Template;
use super::values::expression;
use modeler::words::suggestion;

/// This machine.
#[derive(Clone, Debug, Default)]
pub struct Local {
    /// Cores that runs may use; as many as they like where nothing is said.
    pub cores: Option<usize>,
    /// Whether several runs are made at a time where the cores allow it.
    pub side_by_side: bool,
}

/// How a study's runs become jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submit {
    /// One array job for all runs of the same geometry.
    Array,
    /// One job for each run.
    Jobs,
}

/// A Slurm cluster.
#[derive(Clone, Debug)]
pub struct SlurmPlace {
    /// How runs become jobs.
    pub submit: Submit,
    /// `--partition`.
    pub partition: Option<String>,
    /// `--account`.
    pub account: Option<String>,
    /// `--nodes`.
    pub nodes: Option<Expression>,
    /// `--ntasks-per-node`.
    pub tasks_per_node: Option<Expression>,
    /// Further options of sbatch, one argument each.
    pub options: Vec<Template>,
    /// Lines of shell before the run, such as `module load`.
    pub preamble: Vec<String>,
    /// Seconds between two looks at the queue.
    pub poll_seconds: u64,
    /// At most so many runs of the same geometry at a time, of arrays.
    pub at_once: Option<u32>,
}

/// How the simulated machine's nodes are joined.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// A switch without a bottleneck.
    Cluster,
    /// A torus of these extents.
    Torus(Vec<u32>),
    /// A fat tree: levels, children and parents per level, and cables, as SimGrid writes it.
    FatTree(String),
    /// A dragonfly, as SimGrid writes it.
    Dragonfly(String),
}

/// A simulated machine.
#[derive(Clone, Debug)]
pub struct SmpiPlace {
    /// How nodes are joined.
    pub topology: Topology,
    /// Of a link, s.
    pub latency: f64,
    /// Of a link, bytes per second.
    pub bandwidth: f64,
    /// What a message costs its sender beside the network.
    pub overhead: Overhead,
    /// The user's own platform file instead.
    pub platform: Option<PathBuf>,
    /// Further options of smpirun.
    pub options: Vec<Template>,
}

/// What a message costs its sender beside the network, as in the LogGP model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overhead {
    /// Per message, s.
    pub message: f64,
    /// Per byte, s.
    pub byte: f64,
}

impl Default for SmpiPlace {
    fn default() -> Self {
        Self {
            topology: Topology::Cluster,
            latency: 0.5e-6,
            bandwidth: 1e10,
            overhead: Overhead::default(),
            platform: None,
            options: Vec::new(),
        }
    }
}

impl Local {
    pub(super) fn read(file: LocalFile) -> Result<Self, String> {
        match file.cores {
            Some(0) => Err("`local.cores` is 0; give at least 1".into()),
            cores => Ok(Self { cores, side_by_side: file.side_by_side }),
        }
    }
}

impl SlurmPlace {
    pub(super) fn read(file: SlurmFile) -> Result<Self, String> {
        let submit = match file.submit.as_deref() {
            None | Some("array") => Submit::Array,
            Some("jobs") => Submit::Jobs,
            Some(other) => return Err(format!("`slurm.submit` is \"{other}\"; it is \"array\" or \"jobs\"")),
        };
        let number = |key: &str, value: Option<toml::Value>| {
            value.as_ref().map(expression).transpose().map_err(|what| format!("`slurm.{key}`: {what}"))
        };
        if file.poll_seconds == Some(0) {
            return Err("`slurm.poll_seconds` is 0; give at least 1".into());
        }
        match file.at_once {
            Some(0) => return Err("`slurm.at_once` is 0; give at least 1".into()),
            Some(_) if submit == Submit::Jobs => {
                return Err("`slurm.at_once` is for the runs of an array; leave it out, or `submit = \"jobs\"`".into());
            }
            _ => {}
        }
        if let Some(line) = file.preamble.iter().find(|line| line.trim_start().starts_with("#SBATCH")) {
            return Err(format!(
                "`slurm.preamble` has \"{line}\", which Slurm would not read there; put it into `slurm.options`"
            ));
        }
        Ok(Self {
            submit,
            partition: file.partition,
            account: file.account,
            nodes: number("nodes", file.nodes)?,
            tasks_per_node: number("tasks_per_node", file.tasks_per_node)?,
            options: file.options.iter().map(|option| Template::parse(option)).collect(),
            preamble: file.preamble,
            poll_seconds: file.poll_seconds.unwrap_or(10),
            at_once: file.at_once,
        })
    }
}

impl SmpiPlace {
    pub(super) fn read(file: SmpiFile) -> Result<Self, String> {
        let network = [("latency", &file.latency), ("bandwidth", &file.bandwidth), ("topology", &file.topology)];
        if let (Some(platform), Some((key, _))) = (&file.platform, network.iter().find(|(_, given)| given.is_some())) {
            return Err(format!(
                "`smpi.{key}` has no meaning beside `smpi.platform`, since {} says what the network is; leave one of them out",
                platform.display()
            ));
        }
        let overhead = file.overhead.as_deref().map_or(Ok(0.0), |text| quantity("overhead", text, &TIMES))?;
        let latency = quantity("latency", file.latency.as_deref().unwrap_or("0.5us"), &TIMES)?;
        let bandwidth = quantity("bandwidth", file.bandwidth.as_deref().unwrap_or("10GBps"), &RATES)?;
        Ok(Self {
            topology: topology(file.topology.as_deref().unwrap_or("cluster"))?,
            latency,
            bandwidth,
            overhead: Overhead { message: overhead, byte: 0.0 },
            platform: file.platform,
            options: file.options.iter().map(|option| Template::parse(option)).collect(),
        })
    }
}

const TIMES: [(&str, f64); 4] = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
/// The longer unit first where one ends with the other.
const RATES: [(&str, f64); 7] = [
    ("GiBps", 1_073_741_824.0),
    ("MiBps", 1_048_576.0),
    ("Gbps", 1.25e8),
    ("Mbps", 1.25e5),
    ("GBps", 1e9),
    ("MBps", 1e6),
    ("Bps", 1.0),
];

/// `1us`, `10GBps`.
fn quantity(key: &str, text: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let found = units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
        (number.is_finite() && number > 0.0).then_some(number * factor)
    });
    let units: Vec<_> = units.iter().map(|(unit, _)| *unit).collect();
    found.ok_or_else(|| format!("`smpi.{key}` is \"{text}\"; give a positive number and one of {}", units.join(", ")))
}

/// `cluster`, `torus 4x4x2`, `fat-tree 2;4,4;1,2;1,2`, `dragonfly 3,4;4,3;5,1;2`.
fn topology(text: &str) -> Result<Topology, String> {
    const NAMES: [&str; 4] = ["cluster", "torus", "fat-tree", "dragonfly"];
    let (name, shape) = text.split_once(' ').map_or((text, ""), |(name, shape)| (name, shape.trim()));
    let is_simgrids = !shape.is_empty() && shape.chars().all(|c| c.is_ascii_digit() || c == ';' || c == ',');
    match name {
        "cluster" if shape.is_empty() => Ok(Topology::Cluster),
        "torus" => {
            let extents: Option<Vec<u32>> = shape.split('x').map(|e| e.parse().ok().filter(|&e| e > 0)).collect();
            let wrong = || format!("`smpi.topology` is \"{text}\"; a torus has extents, as in \"torus 4x4x2\"");
            extents.map(Topology::Torus).ok_or_else(wrong)
        }
        "fat-tree" if is_simgrids => Ok(Topology::FatTree(shape.to_owned())),
        "dragonfly" if is_simgrids => Ok(Topology::Dragonfly(shape.to_owned())),
        "fat-tree" | "dragonfly" => Err(format!(
            "`smpi.topology` is \"{text}\"; give its shape as SimGrid writes it, as in \"fat-tree 2;4,4;1,2;1,2\" or \
             \"dragonfly 3,4;4,3;5,1;2\""
        )),
        _ => Err(format!("`smpi.topology` is \"{text}\", none of {}{}", NAMES.join(", "), suggestion(name, NAMES))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_machines_are_described_in_units() {
        assert_eq!(quantity("latency", "1.5us", &TIMES), Ok(1.5e-6));
        assert_eq!(quantity("latency", "2s", &TIMES), Ok(2.0));
        assert_eq!(quantity("bandwidth", "8Gbps", &RATES), Ok(1e9), "bits");
        assert_eq!(quantity("bandwidth", "2 MiBps", &RATES), Ok(2_097_152.0));
        assert!(quantity("latency", "5", &TIMES).unwrap_err().contains("one of ns, us, ms, s"));
        assert_eq!(topology("torus 4x4x2"), Ok(Topology::Torus(vec![4, 4, 2])));
        assert!(topology("torus").is_err() && topology("fat-tree").is_err());
        let read = |text: &str| SmpiPlace::read(toml::from_str(text).unwrap());
        assert_eq!(read("latency = '1ms'").unwrap().overhead, Overhead::default(), "nothing but the network");
        assert_eq!(read("overhead = '2us'").unwrap().overhead, Overhead { message: 2e-6, byte: 0.0 });
        for (key, value) in [("latency", "1us"), ("bandwidth", "1GBps"), ("topology", "cluster")] {
            let both = read(&format!("platform = 'machine.xml'\n{key} = '{value}'")).unwrap_err();
            assert!(
                both.starts_with(&format!("`smpi.{key}` has no meaning beside")) && both.contains("leave"),
                "{both}"
            );
        }
        assert!(read("platform = 'machine.xml'\noverhead = '1us'").is_ok(), "a platform has no overhead");
        assert!(topology("tours 2x2").unwrap_err().contains("did you mean `torus`?"));
    }
}
