//! Fits per second: effort searches, shapes searched in time, and coefficients under priors.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use modeler::experiment::{Experiment, ExperimentBuilder, Metric};
use modeler::{ExponentSets, MethodChoice, Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::hint::black_box;

/// Series per experiment, so that building the shared hypotheses weighs as in use.
const PATHS: u32 = 200;

/// Call paths of the experiment that is fitted as Extra-P does: enough that what they share weighs little.
const MANY: u32 = 20_000;

/// A value at a point p, n of the call path with this index.
type Value = fn(u32, f64, f64) -> f64;

fn experiment(metrics: &[(&str, Value)]) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    for path in 0..PATHS {
        let callpath = builder.callpath(["main", &format!("loop{path}")]);
        for (name, value) in metrics {
            let metric = Metric { name: (*name).into(), unit: String::new(), over_ranks: None };
            let metric = builder.metric(metric);
            for p in [128.0, 256.0, 512.0, 1024.0, 2048.0] {
                for n in [8000.0, 16000.0, 24000.0, 32000.0, 40000.0] {
                    let point = builder.point(&[p, n]);
                    builder.add(callpath, metric, point, value(path, p, n));
                }
            }
        }
    }
    builder.finish()
}

fn blocks(path: u32, p: f64, n: f64) -> f64 {
    let power = [0.5, 0.75, 1.0, 4.0 / 3.0][path as usize % 4];
    f64::from(path + 1) + 3.0 * n.powf(power).floor() * p.log2() + 2.0 * p
}

/// A sum of up to three products over the sets of equation 2, the same for a path whenever it is asked for: of one factor of either parameter each,
/// a quarter of which are one.
fn products(path: u32, p: f64, n: f64) -> f64 {
    let sets = ExponentSets::default();
    let mut generator = StdRng::seed_from_u64(path.into());
    let mut factor = |x: f64, middle: f64| {
        let (exponent, log) = (generator.random_range(1..sets.exponents.len()), generator.random_range(0..3));
        let power = f64::from(*sets.exponents[exponent].numer()) / f64::from(*sets.exponents[exponent].denom());
        let of = |x: f64| x.powf(power) * x.log2().powi(log);
        if generator.random_range(0..4) == 0 { 1.0 } else { of(x) / of(middle) }
    };
    let product = |size: f64| size * factor(p, 512.0) * factor(n, 24_000.0);
    [7e5, 3e6, 2e7].map(product).iter().take(1 + path as usize % 3).sum::<f64>() + f64::from(path % 2) * 12_345.0
}

fn rounded_products(path: u32, p: f64, n: f64) -> f64 {
    products(path, p, n).round()
}

/// Twenty per cent of noise that depends on the point and the path alone.
fn seconds(path: u32, p: f64, n: f64) -> f64 {
    let hash = (f64::from(path) * 12.9898 + p * 78.233 + n * 37.719).sin() * 43_758.545;
    1e-9 * blocks(path, p, n) * (1.0 + 0.2 * (hash - hash.floor()))
}

/// Times of call paths that depend on `parameters` parameters, five values of each.
fn times_alone(parameters: usize, paths: u32) -> Experiment {
    let values = [128.0, 256.0, 512.0, 1024.0, 2048.0_f64];
    let mut builder = ExperimentBuilder::new(["a", "b", "c"].into_iter().take(parameters));
    let metric = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
    for path in 0..paths {
        let callpath = builder.callpath(["main", &format!("loop{path}")]);
        for at in 0..values.len().pow(parameters as u32) {
            let x: Vec<f64> = (0..parameters).map(|l| values[at / values.len().pow(l as u32) % values.len()]).collect();
            let point = builder.point(&x);
            let others: f64 = x[1..].iter().product();
            builder.add(callpath, metric, point, seconds(path, x[0], others));
        }
    }
    builder.finish()
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fit");
    group.throughput(Throughput::Elements(u64::from(PATHS))).sample_size(10);
    let cases: [(&str, &[(&str, Value)]); 5] = [
        ("effort search", &[("basic_blocks", blocks)]),
        ("effort search, sums of products", &[("basic_blocks", products)]),
        ("effort search, rounded sums of products", &[("basic_blocks", rounded_products)]),
        ("shape searched in time", &[("time", seconds)]),
        ("effort and time", &[("basic_blocks", blocks), ("time", seconds)]),
    ];
    for (name, metrics) in cases {
        let experiment = experiment(metrics);
        group.bench_function(name, |b| b.iter(|| fit(black_box(&experiment), &Options::default())));
    }
    for parameters in 1..=3 {
        let experiment = times_alone(parameters, PATHS);
        let name = format!("times alone, {parameters} parameters");
        group.bench_function(name, |b| b.iter(|| fit(black_box(&experiment), &Options::default())));
    }
    let one_core = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be started");
    let options = Options { method: MethodChoice::ExtraP, ..Options::default() };
    group.throughput(Throughput::Elements(u64::from(MANY)));
    for parameters in 1..=2 {
        let experiment = times_alone(parameters, MANY);
        let name = format!("as Extra-P, {parameters} parameters, one core");
        group.bench_function(name, |b| b.iter(|| one_core.install(|| fit(black_box(&experiment), &options))));
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
