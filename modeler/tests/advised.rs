//! Models of advised points against those of the full grid: a small version of `examples/advised.rs`.

#[path = "../examples/programs/mod.rs"]
mod programs;

use modeler::advise::first_design;
use modeler::experiment::{ExperimentBuilder, Metric};
use modeler::{Options, fit};
use programs::{N, P, Pattern, Program, TEST, computation, measured};
use rand::{SeedableRng, rngs::StdRng};

/// Relative error at the test point of the model of `program` measured once at each of `points`.
fn error(rng: &mut StdRng, program: &Program, points: &[Vec<f64>]) -> f64 {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let metric = |name: &str, unit: &str| Metric { name: name.into(), unit: unit.into(), over_ranks: None };
    let (time, blocks) = (builder.metric(metric("time", "s")), builder.metric(metric("basic_blocks", "")));
    let callpath = builder.callpath(["main", "solve"]);
    for x in points {
        let point = builder.point(x);
        builder.add(callpath, time, point, measured(rng, (program.seconds)(x), Pattern::None, 0.0, 1.0));
        builder.add(callpath, blocks, point, (program.counts[0].1)(x));
    }
    let experiment = builder.finish();
    let fits = fit(&experiment, &Options::default());
    let model = fits.models.iter().find(|m| m.metric == time).unwrap();
    (model.predict(&TEST, 0.9).value / (program.seconds)(&TEST) - 1.0).abs()
}

#[test]
fn the_first_design_predicts_as_the_full_grid_does_for_less_than_half_its_core_hours() {
    let rng = &mut StdRng::seed_from_u64(11);
    let grid: Vec<Vec<f64>> = P.iter().flat_map(|&p| N.map(|n| vec![p, n])).collect();
    let design = first_design(&[P.to_vec(), N.to_vec()]);
    let (mut full, mut sparse) = (Vec::new(), Vec::new());
    for _ in 0..12 {
        let program = computation(rng);
        let cost = |points: &[Vec<f64>]| points.iter().map(|x| (program.seconds)(x) * x[0]).sum::<f64>();
        assert!(cost(&design) < 0.5 * cost(&grid), "{}", cost(&design) / cost(&grid));
        full.push(error(rng, &program, &grid));
        sparse.push(error(rng, &program, &design));
    }
    for errors in [&mut full, &mut sparse] {
        errors.sort_by(f64::total_cmp);
    }
    // With 3 % of noise in single measurements the medians are below 2 %.
    assert!(full[6] < 0.02 && sparse[6] < 0.03, "{full:?} {sparse:?}");
}
