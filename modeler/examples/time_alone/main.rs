//! How good models are that come of times alone: `cargo run --release -p modeler --example time_alone -- [--extra-p
//! PYTHON] [--functions N] [--seed S] [--parameters 1] [--repetitions R] [--astray FACTOR]`.
//!
//! Programs of known complexity (`programs`) are measured at 5 x 5 points, or with `--parameters 1` at five values of p with the n of the
//! test point, once or R times, and no effort is told. With `--astray` one time of each program took FACTOR times as long, not one of
//! the last point. With `--extra-p`
//! and the name of a Python that has Extra-P (`pip install extrap`), Extra-P fits the same times in the same run. The rows `as
//! it` are our own fits in Extra-P's hypothesis space (`poise model --method extra-p`).

#[path = "../programs/mod.rs"]
mod programs;

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::model::Exponent;
use modeler::{Experiment, MethodChoice, Options, fit};
use programs::{N, P, Pattern, Program, TEST, communication, computation, measured, model_growth};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

/// Reads JSON Lines from standard input, and prints for each call path the value at the test point, the exponents of
/// each term and the seconds it took.
const EXTRA_P: &str = include_str!("extra_p.py");

const PARAMETERS: [&str; 2] = ["p", "n"];

/// How often each call path is fitted in Extra-P's own hypothesis space.
const COPIES: usize = 100;

/// The times of one call path: coordinates of a point, and the seconds of each repetition there.
type Times = Vec<(Vec<f64>, Vec<f64>)>;

/// What one modeler says of one program.
struct Answer {
    /// Value at the test point.
    value: f64,
    /// Leading exponents over the terms of at least 1 % there.
    growth: [Exponent; 2],
    /// Whether a new measurement is inside the 90 % interval.
    inside: Option<bool>,
}

/// Answers with the processor's seconds they took.
type Answers = (Vec<Answer>, f64);

fn experiment(times: &[Times], copies: usize) -> Experiment {
    let parameters = times.first().map_or(0, |times| times[0].0.len());
    let mut builder = ExperimentBuilder::new(PARAMETERS[..parameters].iter().copied());
    let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    for (i, of_program) in (0..copies).flat_map(|_| times).enumerate() {
        let callpath = builder.callpath(["main", &format!("program{i}")]);
        for (x, seconds) in of_program {
            let point = builder.point(x);
            seconds.iter().for_each(|seconds| builder.add(callpath, time, point, *seconds));
        }
    }
    builder.finish()
}

/// Seconds this thread has been running.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|t| t.parse::<f64>().ok());
    nanoseconds.expect("Linux tells how long threads have been running") * 1e-9
}

fn ours(times: &[Times], held_out: &[f64], method: MethodChoice) -> Answers {
    // What takes microseconds is done often enough to be measured.
    let copies = if method == MethodChoice::ExtraP { COPIES } else { 1 };
    let experiment = experiment(times, copies);
    let start = processor_seconds();
    let fits = fit(&experiment, &Options { method, ..Options::default() });
    let seconds = (processor_seconds() - start) / copies as f64;
    let answer = |(model, held_out): (&modeler::Model, &f64)| {
        let prediction = model.predict(&TEST[..experiment.parameters.len()], 0.9);
        let inside = (prediction.lower..=prediction.upper).contains(held_out);
        Answer { value: prediction.value, growth: model_growth(model), inside: Some(inside) }
    };
    (fits.models.iter().zip(held_out).map(answer).collect(), seconds)
}

fn json_lines(times: &[Times]) -> String {
    let mut text = String::new();
    for (i, of_program) in times.iter().enumerate() {
        for (x, seconds) in of_program {
            let params: Vec<String> = PARAMETERS.iter().zip(x).map(|(name, x)| format!("\"{name}\":{x}")).collect();
            let params = params.join(",");
            for seconds in seconds {
                let _ = writeln!(
                    text,
                    r#"{{"params":{{{params}}},"callpath":"program{i}","metric":"time","value":{seconds:?}}}"#
                );
            }
        }
    }
    text
}

/// Extra-P's answers, or why there are none.
fn extra_p(python: &str, times: &[Times]) -> Result<Answers, String> {
    let missing = |what: String| {
        format!(
            "{what}\nThe comparison needs Extra-P: `python3 -m venv DIR`, `DIR/bin/pip install extrap`, then `--extra-p DIR/bin/python`."
        )
    };
    let mut child = Command::new(python)
        .args(["-c", EXTRA_P])
        .args(TEST[..times[0][0].0.len()].iter().map(f64::to_string))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| missing(format!("{python} does not start: {e}.")))?;
    let mut input = child.stdin.take().ok_or("no standard input")?;
    input.write_all(json_lines(times).as_bytes()).map_err(|e| missing(format!("{python} does not read: {e}.")))?;
    drop(input);
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(missing(format!("{python} failed with {}.", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines();
    let seconds = lines.next().and_then(|l| l.parse().ok()).ok_or("Extra-P printed no time")?;
    let answers: Vec<Answer> = lines.filter_map(parse).collect();
    if answers.len() != times.len() {
        return Err(format!("Extra-P gave {} models for {} call paths.", answers.len(), times.len()));
    }
    Ok((answers, seconds))
}

/// A line `value exponent-of-p exponent-of-n`, the last where n is a parameter.
fn parse(line: &str) -> Option<Answer> {
    let mut words = line.split(' ');
    let value = words.next()?.parse().ok()?;
    let p = words.next()?.parse().ok()?;
    let n = words.next().map_or(Some(Exponent::from_integer(0)), |word| word.parse().ok())?;
    Some(Answer { value, growth: [p, n], inside: None })
}

fn print(name: &str, (answers, seconds): &Answers, programs: &[Program], parameters: usize) {
    let n = answers.len() as f64;
    let percent = |right: &dyn Fn(&Answer, &Program) -> bool| {
        100.0 * answers.iter().zip(programs).filter(|(a, p)| right(a, p)).count() as f64 / n
    };
    let mut errors: Vec<f64> =
        answers.iter().zip(programs).map(|(a, p)| 100.0 * (a.value / (p.seconds)(&TEST) - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let mean = errors.iter().sum::<f64>() / n;
    let inside = match answers.iter().filter_map(|a| a.inside).filter(|i| *i).count() {
        0 => "-".to_owned(),
        count => format!("{:.1}", 100.0 * count as f64 / n),
    };
    println!(
        "  {name:<8}{:>8.1}{:>8.1}{mean:>9.2}{:>9.2}{inside:>8}{:>10.0}",
        percent(&|a, p| a.growth[..parameters] == p.growth[..parameters]),
        percent(&|a, p| a.growth[..parameters] == p.time_growth[..parameters]),
        errors[errors.len() / 2],
        n / seconds
    );
}

/// How often our fits in Extra-P's hypothesis space are those of Extra-P.
fn print_same((ours, _): &Answers, (its, _): &Answers) {
    let same = |(a, b): &(&Answer, &Answer)| (a.value / b.value - 1.0).abs() < 1e-6;
    let count = ours.iter().zip(its).filter(same).count();
    println!("  {count} of {} predictions as it are those of Extra-P to six digits", its.len());
}

/// What was asked for.
struct Arguments {
    functions: usize,
    seed: u64,
    python: Option<String>,
    parameters: usize,
    repetitions: usize,
    astray: f64,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments { functions: 300, seed: 1, python: None, parameters: 2, repetitions: 1, astray: 1.0 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value."))?;
        let number = || value.parse::<u64>().map_err(|e| format!("{word} {value}: {e}."));
        match word.as_str() {
            "--functions" => arguments.functions = number()? as usize,
            "--seed" => arguments.seed = number()?,
            "--extra-p" => arguments.python = Some(value),
            "--parameters" if ["1", "2"].contains(&value.as_str()) => arguments.parameters = number()? as usize,
            "--repetitions" if number()? > 0 => arguments.repetitions = number()? as usize,
            "--astray" => arguments.astray = value.parse().map_err(|e| format!("{word} {value}: {e}."))?,
            _ => {
                return Err(format!(
                    "{word} {value} is not known; --functions, --seed, --extra-p, --parameters 1 or 2, --repetitions and --astray are."
                ));
            }
        }
    }
    Ok(arguments)
}

fn run(arguments: &Arguments) -> Result<(), String> {
    println!(
        "effort, time: leading exponents of the counts and of the times right, in %; mean, median: relative error at"
    );
    println!(
        "the test point, in %; inside: new measurements inside the 90 % interval, in %; fits per second of one core"
    );
    let cases = [
        (Pattern::None, 0.0),
        (Pattern::Uniform, 0.1),
        (Pattern::Normal, 0.1),
        (Pattern::Exponential, 0.1),
        (Pattern::Uniform, 0.75),
        (Pattern::Normal, 0.75),
        (Pattern::Exponential, 0.75),
    ];
    for (kind, draw) in [("computation", computation as fn(&mut StdRng) -> Program), ("communication", communication)] {
        let rng = &mut StdRng::seed_from_u64(arguments.seed);
        let programs: Vec<Program> = (0..arguments.functions).map(|_| draw(rng)).collect();
        for (pattern, level) in cases {
            let rng = &mut StdRng::seed_from_u64(arguments.seed + 1);
            let mut measure = |program: &Program, x: &[f64]| measured(rng, (program.seconds)(x), pattern, level, 1.0);
            let sizes = if arguments.parameters == 1 { &TEST[1..] } else { &N[..] };
            let points = || P.iter().flat_map(|&p| sizes.iter().map(move |&n| [p, n]));
            let mut repeated = |program: &Program, x: [f64; 2]| {
                let seconds = (0..arguments.repetitions).map(|_| measure(program, &x)).collect();
                (x[..arguments.parameters].to_vec(), seconds)
            };
            let mut times: Vec<Times> =
                programs.iter().map(|program| points().map(|x| repeated(program, x)).collect()).collect();
            let held_out: Vec<f64> = programs.iter().map(|program| measure(program, &TEST)).collect();
            if arguments.astray != 1.0 {
                let rng = &mut StdRng::seed_from_u64(arguments.seed + 2);
                for times in &mut times {
                    let i = rng.random_range(0..times.len() - 1);
                    times[i].1[0] *= arguments.astray;
                }
            }
            println!(
                "{:<10}{:>8}{:>8}{:>9}{:>9}{:>8}{:>10}   {kind}, {pattern:?} {level}",
                "", "effort", "time", "mean", "median", "inside", "fits/s"
            );
            print("ours", &ours(&times, &held_out, MethodChoice::Auto), &programs, arguments.parameters);
            let its_space = ours(&times, &held_out, MethodChoice::ExtraP);
            print("as it", &its_space, &programs, arguments.parameters);
            if let Some(python) = &arguments.python {
                let its = extra_p(python, &times)?;
                print("Extra-P", &its, &programs, arguments.parameters);
                print_same(&its_space, &its);
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    // One thread, whose time is told.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("nothing has used threads before");
    match arguments().and_then(|a| run(&a)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
