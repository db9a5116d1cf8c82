//! `poise messages`: the MPI operations of measured runs, with the sizes and peers of their messages.

use std::path::PathBuf;

use clap::Args;
use modeler::formats;
use modeler::messages::Operations;

use super::input;
use crate::cli::{GlobalArgs, OutputArgs, OutputFormat};
use crate::error::{Error, Result};
use crate::output;
use crate::run::PROFILE;
use crate::run::partial::PARTIAL;

#[derive(Args, Debug)]
#[command(after_help = "\
Numbers are sums over ranks; comm_size in CSV is the largest. Sizes are powers of two; distances are differences of ranks in MPI_COMM_WORLD; peers are the \
fewest and the most ranks that one rank exchanged messages with.
Examples:
  poise messages runs/p8.n100.r1                       one run
  POISE_RANKS=1 poise run -o out -- mpirun -n 4 ./app  keep what each rank had
  poise messages out --ranks --format json             the communication matrix")]
pub struct MessagesArgs {
    /// Profiles, or folders of runs.
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Also what each rank had, where runs were measured with POISE_RANKS=1.
    #[arg(long)]
    pub ranks: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Reads, prints.
pub fn messages(arguments: &MessagesArgs, global: &GlobalArgs) -> Result<()> {
    arguments.output.check()?;
    let mut runs = Vec::new();
    for path in &arguments.inputs {
        runs.extend(formats::measured_runs(path).map_err(input::unreadable)?);
    }
    input::not_of_the_last_run(&arguments.inputs, global);
    if runs.is_empty() {
        let measured =
            |input: &PathBuf| [PROFILE, PARTIAL].map(|name| input.join(name)).into_iter().find(|file| file.is_file());
        let of_failed = arguments.inputs.iter().find_map(measured);
        let hint = of_failed.map_or_else(
            || "poise run makes them.".to_owned(),
            |file| format!("What a run measured that failed is in {}: name that file.", file.display()),
        );
        return Err(Error::Input(format!("There is no complete run. {hint}")));
    }
    if arguments.ranks && runs.iter().all(|run| run.profile.by_rank.is_empty()) {
        let what = "No run kept what single ranks had. Measure with POISE_RANKS=1, in a study under [environment].";
        return Err(Error::Input(what.into()));
    }
    let operations = Operations { runs: &runs, by_rank: arguments.ranks };
    let text = match arguments.output.format {
        OutputFormat::Human => operations.human(output::width(arguments.output.output.as_deref())),
        OutputFormat::Json => operations.json(),
        OutputFormat::Csv => operations.csv(),
    };
    output::deliver(&text, arguments.output.output.as_deref())
}
