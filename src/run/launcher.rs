//! Which word of a launcher's command line is the program: options and their values come before it.

use std::path::Path;

use poise_profile::LAUNCHERS;

/// Options of Open MPI's, MPICH's and Intel MPI's launchers with one value, without the hyphens before them.
const MPI: &str = "n np c N npernode npersocket map-by rank-by bind-to host H hosts hostfile machinefile f ppn perhost \
                   x wdir wd path prefix preload-files genvlist envlist launcher rmk iface launcher-exec timeout \
                   output output-filename app configfile tune am personality stdin s ranks-per-proc cpu-set cpu-list rf rankfile";
/// Options of srun with one value.
const SRUN: &str = "n ntasks N nodes c cpus-per-task ntasks-per-node ntasks-per-core ntasks-per-socket p partition mpi cpu-bind m \
                    distribution w nodelist x exclude t time A account J job-name o output e error i input mem mem-per-cpu mem-bind \
                    q qos C constraint gres gpus G export D chdir reservation hint threads-per-core jobid het-group \
                    cpu-freq d dependency";
/// Options with two values.
const TWO: &str = "mca gmca prtemca pmixmca genv env";
/// Options without a value.
const FLAGS: &str = "oversubscribe nooversubscribe allow-run-as-root quiet verbose v l label prepend-rank tag-output \
                     use-hwthread-cpus exclusive overlap report-bindings display-map display-allocation do-not-launch nolocal K \
                     kill-on-bad-exit u unbuffered genvall envall genvnone envnone bynode bycore byslot bind-to-core";

/// Whether a command's first word is a launcher.
pub fn is_launcher(word: &str) -> bool {
    let name = Path::new(word).file_name().unwrap_or_default().to_string_lossy();
    LAUNCHERS.iter().any(|launcher| name.starts_with(launcher))
}

/// Whether a command's first word starts programs under SimGrid's SMPI.
pub fn is_simulator(word: &str) -> bool {
    let name = Path::new(word).file_name().unwrap_or_default().to_string_lossy();
    ["smpirun", "smpimain"].iter().any(|simulator| name.starts_with(simulator))
}

/// The places of words that may be the program that `command`, which begins with a launcher, starts. Lists of them, to be tried
/// in turn: the first that has a program in it decides, if it has one alone.
pub fn programs(command: &[String]) -> Vec<Vec<usize>> {
    let is_srun = Path::new(&command[0]).ends_with("srun");
    let with_value = if is_srun { SRUN } else { MPI };
    let (mut at, mut is_certain, mut words) = (1, true, Vec::new());
    let mut behind = None;
    while at < command.len() {
        let word = command[at].as_str();
        let has = |list: &str| list.split_whitespace().any(|option| option == word.trim_start_matches('-'));
        if word == "--" {
            behind.get_or_insert(at + 1);
        } else if !word.starts_with('-') {
            if is_certain && words.is_empty() {
                // All options before are known, so this is the program; unless it is a script
                // that is given the program's path.
                return vec![vec![at], paths(command, at + 1)];
            }
            words.push(at);
        } else if words.is_empty() && has(TWO) {
            at += 2;
        } else if words.is_empty() && has(with_value) {
            at += 1;
        } else {
            // `--option=value` and srun's `-n4` are one word.
            is_certain &= word.contains('=') || has(FLAGS) || is_srun && !word.starts_with("--") && word.len() > 2;
        }
        at += 1;
    }
    let after: Vec<usize> = behind.filter(|&at| at < command.len()).into_iter().collect();
    let paths = words.iter().copied().filter(|&at| command[at].contains('/')).collect();
    vec![after, paths, words]
}

/// Places from `from` on of words that are paths.
fn paths(command: &[String], from: usize) -> Vec<usize> {
    (from..command.len()).filter(|&at| command[at].contains('/')).collect()
}
