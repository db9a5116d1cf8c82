//! How far exact counts are predicted from few points: `cargo run --release -p modeler --example designs [functions [seed
//! [verbose]]]`.
//!
//! Two kinds of counts are drawn: sums of up to three loops whose bounds are products of p and n, work that is shared out
//! included, each bound rounded down as a whole; and nests over a rank's share of the work, `floor(n / p)` or
//! `ceil(n / p)`. Designs are full grids, grids with a point missing, and the crosses with three points beside with which
//! `poise advise` begins. Predictions are judged at twice the largest p and n.

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::{Options, fit};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Predictions that are farther off than this are counted.
const FAR: f64 = 0.02;

/// A function of p and n.
type Function = Box<dyn Fn(f64, f64) -> f64>;
/// A factor of one parameter with its name, and a nest of loops over both.
type Factor = (&'static str, fn(f64) -> f64);
type Nest = (&'static str, fn(f64, f64) -> f64);

/// A count and what it is, for people.
struct Case {
    count: Function,
    text: String,
}

/// Counts of one kind, and where they are taken.
struct Kind {
    name: &'static str,
    draw: fn(&mut StdRng) -> Case,
    ranks: [f64; 5],
    sizes: [f64; 5],
}

/// The points of an experiment.
struct Design {
    name: &'static str,
    points: Vec<[f64; 2]>,
}

/// One of `of`.
fn any<T: Copy>(rng: &mut StdRng, of: &[T]) -> T {
    of[rng.random_range(0..of.len())]
}

/// A sum of one to three loops with bounds of both parameters.
fn sum_of_loops(rng: &mut StdRng) -> Case {
    const OF_P: [Factor; 4] = [("1", |_| 1.0), ("log2(p)", f64::log2), ("p", |p| p), ("4096/p", |p| 4096.0 / p)];
    const OF_N: [Factor; 7] = [
        ("1", |_| 1.0),
        ("n", |n| n),
        ("n^2", |n| n * n),
        ("n log2(n)", |n| n * n.log2()),
        ("log2(n)", f64::log2),
        ("n^(3/2)", |n| n.powf(1.5)),
        ("n^(1/2)", f64::sqrt),
    ];
    let mut loops: Vec<(usize, usize, f64)> = Vec::new();
    for _ in 0..any(rng, &[1, 2, 2, 3]) {
        let (i, j) = (rng.random_range(0..OF_P.len()), rng.random_range(0..OF_N.len()));
        if (i, j) != (0, 0) && !loops.iter().any(|l| (l.0, l.1) == (i, j)) {
            loops.push((i, j, any(rng, &[1.0, 2.0, 3.0, 5.0, 7.0, 12.0, 40.0, 250.0, 1000.0])));
        }
    }
    let constant = any(rng, &[0.0, 1.0, 4.0, 30.0]);
    let term = |(i, j, cost): &(usize, usize, f64)| format!(" + {cost} floor({} {})", OF_P[*i].0, OF_N[*j].0);
    let text = format!("{constant}{}", loops.iter().map(term).collect::<String>());
    let trips = |(i, j, cost): &(usize, usize, f64), p: f64, n: f64| {
        // A bound that is whole in exact arithmetic must not lose one to double precision.
        cost * (OF_P[*i].1(p) * OF_N[*j].1(n) + 1e-9).floor()
    };
    Case { count: Box::new(move |p, n| constant + loops.iter().map(|l| trips(l, p, n)).sum::<f64>()), text }
}

/// Nests over a rank's share of the work, and sometimes a loop over all ranks, all of the work, or stages.
fn share_of_work(rng: &mut StdRng) -> Case {
    const NESTS: [Nest; 8] = [
        ("floor(n/p)", |p, n| (n / p).floor()),
        ("ceil(n/p)", |p, n| (n / p).ceil()),
        ("n floor(n/p)", |p, n| n * (n / p).floor()),
        ("floor(n/p)^2", |p, n| (n / p).floor().powi(2)),
        ("floor(n/p) floor(log2(p))", |p, n| (n / p).floor() * p.log2().floor()),
        ("floor(sqrt(n/p))", |p, n| (n / p).sqrt().floor()),
        ("floor(n/sqrt(p))^2", |p, n| (n / p.sqrt()).floor().powi(2)),
        ("floor(n/sqrt(p))", |p, n| (n / p.sqrt()).floor()),
    ];
    const BESIDE: [Nest; 5] = [
        ("nothing", |_, _| 0.0),
        ("n", |_, n| n),
        ("p", |p, _| p),
        ("floor(log2(p))", |p, _| p.log2().floor()),
        ("floor(n/p)", |p, n| (n / p).floor()),
    ];
    let ((nest, trips), (beside, others)) = (any(rng, &NESTS), any(rng, &BESIDE));
    let (constant, inner, outer) =
        (any(rng, &[0.0, 3.0, 5.0]), any(rng, &[2.0, 7.0, 20.0]), any(rng, &[1.0, 9.0, 60.0]));
    let text = format!("{constant} + {inner} {nest} + {outer} {beside}");
    Case { count: Box::new(move |p, n| constant + inner * trips(p, n) + outer * others(p, n)), text }
}

/// Full, with a point missing, and the cross of advice.
fn designs(rng: &mut StdRng, ranks: &[f64], sizes: &[f64]) -> Vec<Design> {
    let grid = |ranks: &[f64]| ranks.iter().flat_map(|&p| sizes.iter().map(move |&n| [p, n])).collect::<Vec<_>>();
    let mut without_one = |ranks: &[f64]| {
        let mut points = grid(ranks);
        points.remove(rng.random_range(0..points.len()));
        points
    };
    let beside = [[ranks[4], sizes[1]], [ranks[4], sizes[4]], [ranks[1], sizes[2]]];
    let is_first = |x: &[f64; 2]| x[0] == ranks[0] || x[1] == sizes[0] || beside.contains(x);
    vec![
        Design { name: "3 values of p, one point missing", points: without_one(&ranks[..3]) },
        Design { name: "4 values of p, one point missing", points: without_one(&ranks[..4]) },
        Design { name: "5 values of p, one point missing", points: without_one(ranks) },
        Design { name: "cross and three points", points: grid(ranks).into_iter().filter(is_first).collect() },
        Design { name: "full grid", points: grid(ranks) },
    ]
}

/// How far the prediction of each case is off at twice the largest p and n.
fn errors(design: &Design, cases: &[Case], verbose: bool) -> Vec<f64> {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let metric = builder.metric(Metric { name: "basic_blocks".into(), unit: String::new(), over_ranks: None });
    for (i, case) in cases.iter().enumerate() {
        let callpath = builder.callpath(["main", &format!("f{i}")]);
        for x in &design.points {
            let point = builder.point(x);
            builder.add(callpath, metric, point, (case.count)(x[0], x[1]));
        }
    }
    let experiment = builder.finish();
    let corner = [0, 1].map(|l| 2.0 * design.points.iter().map(|x| x[l]).fold(0.0, f64::max));
    let fits = fit(&experiment, &Options::default());
    assert_eq!(fits.models.len(), cases.len(), "every count has a model");
    let error = |(case, model): (&Case, &modeler::Model)| {
        let error = (model.at(&corner) / (case.count)(corner[0], corner[1]) - 1.0).abs();
        if verbose && error > FAR {
            println!("    {:.3} {} is {}", error, case.text, model.expression(&experiment.parameters));
        }
        error
    };
    cases.iter().zip(&fits.models).map(error).collect()
}

fn main() {
    let argument = |n: usize| std::env::args().nth(n).and_then(|a| a.parse().ok());
    let (functions, seed) = (argument(1).unwrap_or(150), argument(2).unwrap_or(1));
    let verbose = std::env::args().nth(3).is_some();
    let mut rng = StdRng::seed_from_u64(seed);
    let kinds = [
        Kind {
            name: "sums of loops",
            draw: sum_of_loops,
            ranks: [1.0, 2.0, 4.0, 8.0, 16.0],
            sizes: [64.0, 128.0, 192.0, 256.0, 320.0],
        },
        Kind {
            name: "shares, powers of two",
            draw: share_of_work,
            ranks: [2.0, 4.0, 8.0, 16.0, 32.0],
            sizes: [1000.0, 2000.0, 3000.0, 4000.0, 5000.0],
        },
        Kind {
            name: "shares, odd numbers",
            draw: share_of_work,
            ranks: [3.0, 5.0, 7.0, 12.0, 24.0],
            sizes: [100.0, 170.0, 330.0, 520.0, 1000.0],
        },
    ];
    println!("{:24}{:36}{:>8}{:>14}{:>10}", "counts", "design", "points", "off by > 2 %", "worst");
    for Kind { name, draw, ranks, sizes } in kinds {
        let cases: Vec<Case> = (0..functions).map(|_| draw(&mut rng)).collect();
        for design in designs(&mut rng, &ranks, &sizes) {
            let errors = errors(&design, &cases, verbose);
            let far = errors.iter().filter(|e| **e > FAR).count();
            let worst = errors.iter().copied().fold(0.0, f64::max);
            println!("{name:24}{:36}{:>8}{far:>14}{worst:>10.3}", design.name, design.points.len());
        }
    }
}
