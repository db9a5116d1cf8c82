//! What a validation does: which functions, at which points, run by what, how often, and with how many draws of noise.
//! A folder remembers its plan, so that a second call continues the first and nothing else.

use std::fs;
use std::path::Path;

use benchgen::Spec;
use benchgen::complexity::Term;
use serde::Serialize;

use crate::cli::ValidateArgs;
use crate::error::{Error, Result};
use crate::output;

/// The plan's file name in the folder of a validation.
const FILE: &str = "plan.json";

/// What runs the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Executor {
    /// Open MPI on this machine, more ranks than cores.
    OpenMpi,
    /// SimGrid's SMPI: any number of ranks in one process, their time simulated.
    Smpi,
}

/// A validation, complete.
pub struct Plan {
    /// The functions and the points.
    pub spec: Spec,
    /// What runs them.
    pub executor: Executor,
    /// Measurements per point.
    pub repetitions: u32,
    /// Draws of artificial noise for the effort models.
    pub draws: u32,
    /// Draws for the models of times alone, whose shape has to be searched anew in each.
    pub time_draws: u32,
    /// Seed of everything drawn.
    pub seed: u64,
    /// Ranks that advised runs have at least, where these may be fewer than the grid's.
    pub fewest_ranks: Option<u32>,
    text: String,
}

/// The plan as it is written into the folder.
#[derive(Serialize)]
struct File<'a> {
    schema: &'static str,
    schema_version: u32,
    tool_version: &'static str,
    executor: Executor,
    repetitions: u32,
    draws: u32,
    time_draws: u32,
    seed: u64,
    specification: &'a str,
}

/// What differs between the built-in studies.
struct Scale {
    functions: u32,
    p: &'static str,
    test: u32,
    iterations: &'static str,
    message_bytes: &'static str,
    memory_limit: u64,
}

/// Small enough that oversubscribed ranks finish in seconds.
const REAL: Scale = Scale {
    functions: 200,
    p: "2, 4, 8, 16, 32",
    test: 64,
    iterations: "1e4, 1e6",
    message_bytes: "1e2, 3e4",
    memory_limit: 20_000_000,
};

/// The paper's points. All ranks share one process and one core, so that 4096 times a rank's iterations and memory must
/// fit there.
const SIMULATED: Scale = Scale {
    functions: 200,
    p: "128, 256, 512, 1024, 2048",
    test: 4096,
    iterations: "5e3, 1e5",
    message_bytes: "1e2, 3e4",
    memory_limit: 262_144,
};

const REAL_QUICK: Scale = Scale { functions: 8, p: "2, 4, 6, 8, 12", test: 16, ..REAL };
const SIMULATED_QUICK: Scale = Scale { functions: 8, p: "8, 16, 32, 64, 128", test: 256, ..SIMULATED };

impl Plan {
    /// The plan that the command line asks for.
    ///
    /// # Errors
    /// The specification cannot be read or names no test point, or advised runs are asked for that have no fewer ranks than the grid's.
    pub fn new(arguments: &ValidateArgs) -> Result<Self> {
        let executor = if arguments.smpi { Executor::Smpi } else { Executor::OpenMpi };
        let (specification, name) = match &arguments.spec {
            Some(path) => {
                let text = fs::read_to_string(path).map_err(|e| Error::cannot_read(path, &e))?;
                (text, path.display().to_string())
            }
            None => (drawn(arguments, executor), "the built-in specification".to_owned()),
        };
        let mut spec = Spec::parse(&specification, &name).map_err(|e| Error::Input(e.to_string()))?;
        if spec.test.is_none() {
            let what = "The specification names no test point; give one larger than all others, [test].";
            return Err(Error::Input(what.into()));
        }
        super::room::check(&spec, &specification, &name)?;
        if executor == Executor::Smpi && arguments.spec.is_none() {
            // A collective operation of 4096 ranks costs the simulator up to a second.
            spec.functions.iter_mut().flat_map(|f| &mut f.messages).for_each(|m| m.calls = Term::constant(1.0));
        }
        let (repetitions, draws) = if arguments.quick { (2, 5) } else { (5, 100) };
        let repetitions = arguments.repetitions.unwrap_or(repetitions);
        let draws = arguments.draws.unwrap_or(draws);
        let mut plan = Self {
            spec,
            executor,
            repetitions,
            draws,
            time_draws: draws.div_ceil(20),
            seed: arguments.seed.seed,
            fewest_ranks: arguments.fewest_ranks,
            text: String::new(),
        };
        plan.check_fewest_ranks()?;
        plan.text = plan.json(&specification)?;
        Ok(plan)
    }

    fn json(&self, specification: &str) -> Result<String> {
        let file = File {
            schema: "counterpoise/validation-plan",
            schema_version: 1,
            tool_version: env!("CARGO_PKG_VERSION"),
            executor: self.executor,
            repetitions: self.repetitions,
            draws: self.draws,
            time_draws: self.time_draws,
            seed: self.seed,
            specification,
        };
        serde_json::to_string_pretty(&file).map(|text| text + "\n").map_err(|e| Error::Defect(e.to_string()))
    }

    /// Makes `folder` this plan's, or finds that it is already.
    ///
    /// # Errors
    /// The folder holds something else, or another plan.
    pub fn claim(&self, folder: &Path) -> Result<()> {
        let file = folder.join(FILE);
        match fs::read_to_string(&file) {
            Ok(found) if found == self.text => Ok(()),
            Ok(_) => Err(Error::Usage(format!(
                "{} holds another validation; its {FILE} says which. Call it with the same arguments to continue it, or \
                 choose another folder with -o.",
                folder.display()
            ))),
            Err(_) => {
                output::new_folder(folder)?;
                output::write_file(&file, self.text.as_bytes())
            }
        }
    }

    fn check_fewest_ranks(&self) -> Result<()> {
        let least = self.ranks().and_then(|l| self.spec.parameters[l].values.first());
        match (self.fewest_ranks, least) {
            (Some(fewest), Some(least)) if f64::from(fewest) >= *least => Err(Error::Usage(format!(
                "--fewest-ranks is {fewest}, and the grid has runs of {least} ranks; give a smaller number."
            ))),
            _ => Ok(()),
        }
    }

    /// Which parameter is the number of ranks.
    pub fn ranks(&self) -> Option<usize> {
        self.spec.parameters.iter().position(|parameter| parameter.name == "p")
    }

    /// The unseen point, one coordinate per parameter.
    pub fn test(&self) -> Vec<f64> {
        let test = self.spec.test.as_ref();
        self.spec.parameters.iter().filter_map(|p| test?.get(&p.name).copied()).collect()
    }
}

/// The built-in specification of the size asked for.
fn drawn(arguments: &ValidateArgs, executor: Executor) -> String {
    let scale = match (executor, arguments.quick) {
        (Executor::OpenMpi, false) => REAL,
        (Executor::OpenMpi, true) => REAL_QUICK,
        (Executor::Smpi, false) => SIMULATED,
        (Executor::Smpi, true) => SIMULATED_QUICK,
    };
    let functions = arguments.functions.unwrap_or(scale.functions);
    let Scale { p, test, iterations, message_bytes, memory_limit, .. } = scale;
    format!(
        "name = \"validation\"\nmemory_limit = {memory_limit}\n\n[parameters]\np = [{p}]\n\
         n = [8000, 16000, 24000, 32000, 40000]\n\n[test]\np = {test}\nn = 48000\n\n\
         [random]\nfunctions = {functions}\nseed = {}\niterations = [{iterations}]\nmessage_bytes = [{message_bytes}]\n",
        arguments.seed.seed
    )
}
