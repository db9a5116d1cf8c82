//! Counts whose loop bounds are rounded values of functions with factors: the function comes back, and what rounding
//! alone explains is no term.

use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::model::{Exponent, Growth};
use modeler::{Experiment, ExponentSets, Options, fit};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// The basic blocks of one function, one value per point of p and n.
fn experiment(name: &str, p: &[f64], n: &[f64], count: impl Fn(&[f64]) -> f64) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let callpath = builder.callpath(["main", "solve"]);
    let metric = builder.metric(Metric { name: name.into(), unit: String::new(), over_ranks: None });
    for x in p.iter().flat_map(|&p| n.iter().map(move |&n| [p, n])) {
        let point = builder.point(&x);
        builder.add(callpath, metric, point, count(&x));
    }
    builder.finish()
}

const RANKS: [f64; 5] = [2.0, 4.0, 8.0, 16.0, 32.0];

#[test]
fn a_measured_loop_of_a_twentieth_of_a_power_has_two_terms() {
    // Blocks counted in a loop of round(n^(3/2) / 20) trips and ten blocks besides, the same at every p.
    let sizes = [50_000.0, 100_000.0, 150_000.0, 200_000.0, 250_000.0];
    let counts = [559_027.0, 1_581_149.0, 2_904_748.0, 4_472_146.0, 6_250_010.0];
    let count = |x: &[f64]| counts[sizes.iter().position(|n| *n == x[1]).unwrap()];
    let experiment = experiment("basic_blocks", &RANKS, &sizes, count);
    let model = &fit(&experiment, &Options::default()).models[0];
    assert_eq!(model.terms.len(), 1, "{}", model.expression(&experiment.parameters));
    assert_eq!(model.growth[0], Growth { exponent: Exponent::from_integer(0), log_exponent: 0 });
    assert_eq!(model.growth[1], Growth { exponent: Exponent::new(3, 2), log_exponent: 0 });
    assert!((model.terms[0].coefficient / 0.05 - 1.0).abs() < 1e-5, "{:?}", model.terms);
    assert!((model.constant - 10.0).abs() < 1.0, "{}", model.constant);
}

#[test]
fn bytes_of_a_rounded_message_have_no_constant() {
    let sizes = [1000.0, 2000.0, 3000.0, 4000.0, 5000.0];
    let bytes = |x: &[f64]| 8.0 * 4.0 * (4.0 * x[1].sqrt() * x[0]).round();
    let experiment = experiment("bytes_sent", &RANKS, &sizes, bytes);
    let model = &fit(&experiment, &Options::default()).models[0];
    let text = model.expression(&experiment.parameters);
    assert_eq!((model.terms.len(), model.constant), (1, 0.0), "{text}");
    assert_eq!(model.growth[0], Growth { exponent: Exponent::from_integer(1), log_exponent: 0 });
    assert_eq!(model.growth[1], Growth { exponent: Exponent::new(1, 2), log_exponent: 0 });
    assert!((model.terms[0].coefficient / 128.0 - 1.0).abs() < 1e-4, "{text}");
}

/// How a program makes an integer of a bound.
type Round = fn(f64) -> f64;

/// A loop's bound `factor · p^i log2(p)^j · n^k log2(n)^l`, rounded, as `[(i, j), (k, l)]`.
#[derive(Clone, Debug)]
struct Bound {
    factor: f64,
    powers: [(Exponent, i32); 2],
}

impl Bound {
    fn smooth(&self, x: &[f64]) -> f64 {
        let power = |l: usize| {
            let (exponent, log) = self.powers[l];
            x[l].powf(f64::from(*exponent.numer()) / f64::from(*exponent.denom())) * x[l].log2().powi(log)
        };
        self.factor * power(0) * power(1)
    }

    fn times(&self, other: &Self) -> Self {
        let powers = [0, 1].map(|l| (self.powers[l].0 + other.powers[l].0, self.powers[l].1 + other.powers[l].1));
        Self { factor: self.factor * other.factor, powers }
    }

    fn is_nameable(&self) -> bool {
        let sets = ExponentSets::default();
        self.powers.iter().all(|(e, j)| sets.exponents.contains(e) && *j <= 2)
    }
}

/// `Σ blocks_t Π round(bound)` and a constant.
struct Nest {
    constant: f64,
    /// Blocks per iteration and the loops around them.
    terms: Vec<(f64, Vec<Bound>)>,
    round: Round,
}

impl Nest {
    fn count(&self, x: &[f64]) -> f64 {
        let trips = |bounds: &[Bound]| bounds.iter().map(|b| (self.round)(b.smooth(x))).product::<f64>();
        self.constant + self.terms.iter().map(|(blocks, bounds)| blocks * trips(bounds)).sum::<f64>()
    }

    /// Each term as one product with its value at the largest point.
    fn products(&self, corner: &[f64]) -> Vec<(f64, Bound)> {
        let one = Bound { factor: 1.0, powers: [(Exponent::from_integer(0), 0); 2] };
        let product = |bounds: &[Bound]| bounds.iter().fold(one.clone(), |a, b| a.times(b));
        let at_corner = |(blocks, bounds): &(f64, Vec<Bound>)| {
            let product = product(bounds);
            (blocks * product.smooth(corner), product)
        };
        self.terms.iter().map(at_corner).collect()
    }

    fn growth(&self, corner: &[f64]) -> Vec<Growth> {
        let products = self.products(corner);
        let total: f64 = products.iter().map(|p| p.0).sum();
        let leading = |l: usize| {
            let matter = products.iter().filter(|p| p.0 >= 0.01 * total).map(|p| p.1.powers[l]);
            let (exponent, log_exponent) = matter.max().unwrap();
            Growth { exponent, log_exponent }
        };
        vec![leading(0), leading(1)]
    }
}

fn draw_bound(rng: &mut StdRng) -> Bound {
    let sets = ExponentSets::default();
    loop {
        let mut powers = [(Exponent::from_integer(0), 0); 2];
        for power in &mut powers {
            if rng.random_bool(0.6) {
                *power = (sets.exponents[rng.random_range(0..sets.exponents.len())], rng.random_range(0..3));
            }
        }
        if powers.iter().any(|p| *p != (Exponent::from_integer(0), 0)) {
            let factor: f64 = 0.05 * 2000f64.powf(rng.random());
            return Bound { factor: format!("{factor:.2e}").parse().unwrap(), powers };
        }
    }
}

/// A nest of one to three loops, in each other or one after the other, whose bounds rounding changes by at most 1 % and
/// whose terms can be seen.
fn draw(rng: &mut StdRng, points: &[Vec<f64>]) -> Nest {
    let corner = points.last().unwrap();
    loop {
        let loops: Vec<Bound> = (0..rng.random_range(1..4)).map(|_| draw_bound(rng)).collect();
        let round = [f64::floor, f64::ceil, f64::round][rng.random_range(0..3)];
        let nested = rng.random_bool(0.5);
        let around = |i: usize| if nested { loops[..=i].to_vec() } else { vec![loops[i].clone()] };
        let blocks = |rng: &mut StdRng| f64::from(rng.random_range(1..9));
        let terms = (0..loops.len()).map(|i| (blocks(rng), around(i))).collect();
        let nest = Nest { constant: f64::from(rng.random_range(0..20)), terms, round };
        let products = nest.products(corner);
        let total: f64 = products.iter().map(|p| p.0).sum();
        let rounds_little = |b: &Bound| {
            points.iter().all(|x| (round(b.smooth(x)) / b.smooth(x) - 1.0).abs() <= 0.01 / loops.len() as f64)
        };
        let visible = products.iter().all(|p| nested || p.0 >= 0.05 * total);
        let doubtful = products.iter().any(|p| (0.005..0.02).contains(&(p.0 / total)));
        let distinct = (0..products.len()).all(|i| products[..i].iter().all(|p| p.1.powers != products[i].1.powers));
        if loops.iter().all(rounds_little)
            && products.iter().all(|p| p.1.is_nameable())
            && visible
            && distinct
            && !doubtful
            && (1e4..1e13).contains(&total)
        {
            return nest;
        }
    }
}

#[test]
fn nests_of_rounded_loops_have_their_growth() {
    let many: Vec<f64> = (7..12).map(|k| f64::from(1 << k)).collect();
    let grids = [
        (RANKS.to_vec(), vec![1000.0, 2000.0, 3000.0, 4000.0, 5000.0]),
        (RANKS.to_vec(), vec![50_000.0, 100_000.0, 150_000.0, 200_000.0, 250_000.0]),
        (many, vec![8000.0, 16_000.0, 24_000.0, 32_000.0, 40_000.0]),
    ];
    let rng = &mut StdRng::seed_from_u64(17);
    let (mut right, mut wrong) = (0, Vec::new());
    for (p, n) in &grids {
        let points: Vec<Vec<f64>> = p.iter().flat_map(|&p| n.iter().map(move |&n| vec![p, n])).collect();
        for _ in 0..20 {
            let nest = draw(rng, &points);
            let experiment = experiment("basic_blocks", p, n, |x| nest.count(x));
            let model = &fit(&experiment, &Options::default()).models[0];
            if model.growth == nest.growth(points.last().unwrap()) {
                right += 1;
            } else {
                wrong.push(format!("{:?} became {}", nest.terms, model.expression(&experiment.parameters)));
            }
        }
    }
    // A few nests cannot be told from simpler ones, or have rounding that repeats along p and passes for a term.
    assert!(right >= 58, "{right} of 60 right; wrong:\n{}", wrong.join("\n"));
}
