//! Writes an experiment of many call paths as Extra-P JSON Lines, for measuring throughput and memory: the time of each
//! at 5 x 5 points, a function of one or two parameters with 3 % noise.
//!
//! `cargo run --release -p modeler --example many_callpaths -- 100000 > many.jsonl`
//!
//! The first argument is the number of call paths, a second one the seed. `docs/performance.md` says what was measured
//! with it.

use std::io::{self, BufWriter, Write};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const RANKS: [u32; 5] = [128, 256, 512, 1024, 2048];
const SIZES: [u32; 5] = [8000, 16000, 24000, 32000, 40000];
/// Exponents of a parameter and of its logarithm, all of Extra-P's own hypothesis space.
const FACTORS: [(f64, i32); 8] = [(0.0, 0), (0.0, 1), (0.5, 0), (2.0 / 3.0, 0), (1.0, 0), (1.0, 1), (1.5, 0), (2.0, 0)];
const NOISE: f64 = 0.03;
/// How many call paths share a caller.
const SIBLINGS: usize = 16;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<u64>().expect("arguments are numbers"));
    let callpaths = arguments.next().unwrap_or(1000) as usize;
    let mut random = StdRng::seed_from_u64(arguments.next().unwrap_or(0));
    let mut out = BufWriter::new(io::stdout().lock());
    for callpath in 0..callpaths {
        let mut factor = || FACTORS[random.random_range(0..FACTORS.len())];
        let (of_p, of_n) = (factor(), factor());
        let (constant, scale) = (random.random_range(0.0..1e-2), random.random_range(1e-3..1.0));
        let at = |(exponent, log): (f64, i32), x: f64| x.powf(exponent) * x.log2().powi(log);
        let smallest = at(of_p, RANKS[0].into()) * at(of_n, SIZES[0].into());
        for p in RANKS {
            for n in SIZES {
                let exact = constant + scale * at(of_p, p.into()) * at(of_n, n.into()) / smallest;
                let value = exact * (1.0 + random.random_range(-NOISE..NOISE));
                let caller = callpath / SIBLINGS;
                writeln!(
                    out,
                    r#"{{"params":{{"p":{p},"n":{n}}},"callpath":"main->module_{caller}->function_{callpath}","metric":"time","value":{value}}}"#
                )?;
            }
        }
    }
    out.flush()
}
