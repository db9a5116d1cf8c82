//! What the logical clock says of waiting gives the time of an MPI operation its shape.

use modeler::experiment::{ExperimentBuilder, Metric, MetricId, OverRanks};
use modeler::model::{Exponent, Kind, Method, Role};
use modeler::{Experiment, Fits, Options};

const STARTUP: f64 = 1e-6;
const PER_BYTE: f64 = 1e-10;
const PER_TICK: f64 = 0.8e-9;

/// The receives of a wavefront over cubes of ranks: 10 sweeps, stages of n² blocks and messages of 80 bytes. Every time
/// is off by a few percent, and some by much more, always upwards.
fn wavefront(with_clock: bool) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let mut metric = |name: &str, unit: &str| {
        let over_ranks = Some(OverRanks::Mean);
        builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks })
    };
    let (time, visits, bytes) = (metric("time", "s"), metric("visits", ""), metric("bytes_received", "bytes"));
    let (clock, seconds) = (metric("logical_wait", "ticks"), metric("wait_time", "s"));
    let receive = builder.callpath(["main", "sweep", "MPI_Recv"]);
    let mut number = 0_u64;
    for p in [8.0_f64, 27.0, 64.0, 125.0, 216.0] {
        for n in [100.0, 150.0, 200.0, 300.0, 400.0] {
            let point = builder.point(&[p, n]);
            let waited = 9.5 * 3.0 * (p.cbrt() - 1.0) * (n * n + 1000.0 + 10.0);
            let moved = 10.0 * 80.0 * 3.0 * (1.0 - 1.0 / p.cbrt());
            number += 1;
            let noise = 1.0 + 0.02 * (number * 7 % 5) as f64 + if number.is_multiple_of(6) { 0.4 } else { 0.0 };
            builder.add(receive, visits, point, 30.0);
            builder.add(receive, bytes, point, moved.round());
            builder.add(receive, time, point, noise * (30.0 * STARTUP + moved * PER_BYTE + waited * PER_TICK));
            if with_clock {
                builder.add(receive, clock, point, waited.round());
                builder.add(receive, seconds, point, noise * waited * PER_TICK);
            }
        }
    }
    builder.finish()
}

/// Logical waiting, visits, bytes received and time, as means over the ranks.
fn metrics(builder: &mut ExperimentBuilder) -> [MetricId; 4] {
    [("logical_wait", "ticks"), ("visits", ""), ("bytes_received", "bytes"), ("time", "s")].map(|(name, unit)| {
        builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks: Some(OverRanks::Mean) })
    })
}

fn fit(experiment: &Experiment) -> Fits {
    modeler::fit(experiment, &Options::default())
}

#[test]
fn receives_grow_as_the_sweep_is_deep() {
    let experiment = wavefront(true);
    let fits = fit(&experiment);
    let model = |name: &str| {
        let id = experiment.metric(name, Some(OverRanks::Mean)).unwrap();
        fits.models.iter().find(|model| model.metric == id).unwrap()
    };
    for (name, kind) in [("time", Kind::Communication), ("wait_time", Kind::Waiting)] {
        let model = model(name);
        assert_eq!((model.method, model.kind), (Method::Effort, kind), "{name}");
        let growth: Vec<Exponent> = model.growth.iter().map(|growth| growth.exponent).collect();
        assert_eq!(growth, [Exponent::new(1, 3), Exponent::from_integer(2)], "{name}");
        assert!(model.terms.iter().any(|term| term.role == Role::Waiting && term.coefficient > 0.0), "{name}");
        // Four times the ranks of the largest point, and twice the problem.
        let (p, n) = (1000.0_f64, 800.0);
        let expected = 9.5 * 3.0 * (p.cbrt() - 1.0) * (n * n + 1010.0) * PER_TICK;
        let predicted = model.predict(&[p, n], 0.9).value;
        assert!((predicted / expected - 1.0).abs() < 0.1, "{name}: {predicted} instead of {expected}");
    }
    assert_eq!(model("logical_wait").kind, Kind::Waiting);
}

/// Bytes alone tell nothing of it: their model is a constant.
#[test]
fn without_the_clock_bytes_see_a_constant() {
    let experiment = wavefront(false);
    let time = experiment.metric("time", Some(OverRanks::Mean)).unwrap();
    let fits = fit(&experiment);
    let model = fits.models.iter().find(|model| model.metric == time).unwrap();
    assert_eq!(model.method, Method::Effort);
    assert!(model.growth[1].exponent == Exponent::from_integer(0), "{:?}", model.growth);
    assert!(model.growth[0].exponent < Exponent::new(1, 3), "{:?}", model.growth);
}

/// Planes of ranks as they are, not as squares: how many, extents, and stages between the first and the last rank.
const PLANES: [(f64, [f64; 2], f64); 5] = [
    (8.0, [4.0, 2.0], 4.0),
    (16.0, [4.0, 4.0], 6.0),
    (32.0, [8.0, 4.0], 10.0),
    (64.0, [8.0, 8.0], 14.0),
    (128.0, [16.0, 8.0], 22.0),
];
const SIZES: [f64; 5] = [8000.0, 16000.0, 24000.0, 32000.0, 40000.0];

/// Waiting of one sweep over a plane whose stages take p^(1/4)·n iterations of four blocks: each rank's work depends on how
/// many there are.
#[test]
fn stages_that_depend_on_the_ranks_are_told_from_the_depth() {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let [clock, visits, bytes, time] = metrics(&mut builder);
    let receive = builder.callpath(["main", "sweep", "MPI_Recv"]);
    for (p, extents, depth) in PLANES {
        for n in SIZES {
            let point = builder.point(&[p, n]);
            let waited = 0.5 * depth * (4.0 * (p.powf(0.25) * n).round() + 1021.0);
            builder.add(receive, clock, point, waited);
            builder.add(receive, visits, point, 2.0);
            builder.add(receive, bytes, point, 80.0 * extents.iter().map(|x| 1.0 - 1.0 / x).sum::<f64>());
            builder.add(receive, time, point, STARTUP + waited * PER_TICK);
        }
    }
    let experiment = builder.finish();
    let fits = fit(&experiment);
    for name in ["logical_wait", "time"] {
        let id = experiment.metric(name, Some(OverRanks::Mean)).unwrap();
        let model = fits.models.iter().find(|model| model.metric == id).unwrap();
        let growth: Vec<Exponent> = model.growth.iter().map(|growth| growth.exponent).collect();
        // 1/4 + 1/2, that of the depth.
        assert_eq!(growth, [Exponent::new(3, 4), Exponent::from_integer(1)], "{name}");
    }
    // A square, of 30 stages.
    let (p, n) = (256.0_f64, 48000.0);
    let expected = STARTUP + 0.5 * 30.0 * (4.0 * p.powf(0.25) * n + 1021.0) * PER_TICK;
    let model = fits.models.iter().find(|model| model.metric == time).unwrap();
    let predicted = model.predict(&[p, n], 0.9).value;
    assert!((predicted / expected - 1.0).abs() < 0.01, "{predicted} instead of {expected}");
}

/// Ranks, the extents of their plane and of their cuboid, and the stages between the first and the last rank of either.
type Grids = (f64, [&'static [f64]; 2], [f64; 2]);

/// Those that validations measure.
const GRIDS: [Grids; 5] = [
    (128.0, [&[16.0, 8.0], &[8.0, 4.0, 4.0]], [22.0, 13.0]),
    (256.0, [&[16.0, 16.0], &[8.0, 8.0, 4.0]], [30.0, 17.0]),
    (512.0, [&[32.0, 16.0], &[8.0, 8.0, 8.0]], [46.0, 21.0]),
    (1024.0, [&[32.0, 32.0], &[16.0, 8.0, 8.0]], [62.0, 29.0]),
    (2048.0, [&[64.0, 32.0], &[16.0, 16.0, 8.0]], [94.0, 37.0]),
];

/// Receives in `sweeps` sweeps over such a grid, each going back where the last one came from, as a run counts them: whole iterations
/// of a block each, whole elements of four bytes, ranks without a neighbour that call, too. The simulated network takes 1 µs and
/// 0.1 ns per byte, and no time for the work.
fn sweeps(
    dimensions: usize,
    sweeps: impl Fn(f64) -> f64,
    work: impl Fn(f64, f64) -> f64,
    elements: impl Fn(f64, f64) -> f64,
) -> Experiment {
    sweeps_over(&GRIDS, dimensions, sweeps, work, elements)
}

/// The same over other grids; a rank alone gets nothing and waits for nobody.
fn sweeps_over(
    grids: &[Grids],
    dimensions: usize,
    sweeps: impl Fn(f64) -> f64,
    work: impl Fn(f64, f64) -> f64,
    elements: impl Fn(f64, f64) -> f64,
) -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let [clock, visits, bytes, time] = metrics(&mut builder);
    let [most_visits, most_bytes] = [("visits", ""), ("bytes_received", "bytes")].map(|(name, unit)| {
        builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks: Some(OverRanks::Maximum) })
    });
    let receive = builder.callpath(["main", "sweep", "MPI_Recv"]);
    for &(p, extents, depths) in grids {
        let (extents, depth) = (extents[dimensions - 2], depths[dimensions - 2]);
        for n in SIZES {
            let point = builder.point(&[p, n]);
            let (number, message) = (sweeps(p).round(), 4.0 * elements(p, n).round());
            let neighbours: f64 = extents.iter().map(|x| 1.0 - 1.0 / x).sum();
            let d = dimensions as f64;
            let ticks = work(p, n).round() + 4.0 + 1000.0 + (message / 8.0).floor();
            builder.add(receive, clock, point, (number - 0.5) * depth * ticks);
            builder.add(receive, visits, point, number * d);
            builder.add(receive, most_visits, point, number * d);
            builder.add(receive, bytes, point, number * neighbours * message);
            builder.add(receive, most_bytes, point, if p > 1.0 { number * d * message } else { 0.0 });
            let stage = STARTUP + message * PER_BYTE;
            builder.add(receive, time, point, number * neighbours * stage + (number - 0.5) * depth * stage);
        }
    }
    builder.finish()
}

/// The exponents of p and n in the growth of the waiting and the time.
fn growth_of_sweeps(experiment: &Experiment) -> [Vec<Exponent>; 2] {
    let fits = fit(experiment);
    ["logical_wait", "time"].map(|name| {
        let id = experiment.metric(name, Some(OverRanks::Mean)).unwrap();
        let model = fits.models.iter().find(|model| model.metric == id).unwrap();
        model.growth.iter().map(|growth| growth.exponent).collect()
    })
}

/// The work of a stage and its message are rounded apart. Their sum alone is explained as well by n^(4/5), or by n and others.
#[test]
fn the_work_and_the_message_of_a_stage_are_told_apart() {
    let [one, half] = [(1, 1), (1, 2)].map(|(n, d)| Exponent::new(n, d));
    let plane = sweeps(2, |_| 1.0, |p, _| 211.0 * p.log2(), |_, n| 0.00385 * n.powf(0.75) * n.log2().powi(2));
    assert_eq!(growth_of_sweeps(&plane), [[half, Exponent::new(3, 4)], [half, Exponent::new(3, 4)]]);
    let plane = sweeps(2, |_| 1.0, |_, n| 0.0022 * n.powf(0.75) * n.log2().powi(2), |p, _| 12.5 * p.powf(2.0 / 3.0));
    let expected = [half + Exponent::new(2, 3), Exponent::new(3, 4)];
    assert_eq!(growth_of_sweeps(&plane), [expected, expected]);
    // More sweeps the more ranks there are, in a cuboid.
    let cuboid = sweeps(3, |p| 0.5 * p, |_, n| 0.05 * n, |p, _| 40.0 * p.sqrt());
    let expected = [one + half + Exponent::new(1, 3), one];
    assert_eq!(growth_of_sweeps(&cuboid), [expected, expected]);
}

/// A run with one rank says nothing of what waiting grows with: its stages are none, and its messages have no size.
#[test]
fn a_rank_alone_does_not_hide_the_growth_of_a_sweep() {
    let alone: Grids = (1.0, [&[1.0, 1.0], &[1.0, 1.0, 1.0]], [0.0, 0.0]);
    let grids: Vec<Grids> = std::iter::once(alone).chain(GRIDS).collect();
    let [one, third] = [(1, 1), (1, 3)].map(|(n, d)| Exponent::new(n, d));
    let plane =
        sweeps_over(&grids, 2, |_| 1.0, |_, n| 0.0022 * n.powf(0.75) * n.log2().powi(2), |p, _| 12.5 * p.sqrt());
    assert_eq!(growth_of_sweeps(&plane), [[one, Exponent::new(3, 4)], [one, Exponent::new(3, 4)]]);
    let cuboid = sweeps_over(&grids, 3, |_| 4.0, |_, n| 0.05 * n, |_, _| 40.0);
    assert_eq!(growth_of_sweeps(&cuboid), [[third, one], [third, one]]);
}

/// The sends of such a sweep: ranks at two sides of the plane call with MPI_PROC_NULL, and there are fewer of them the more
/// ranks there are.
#[test]
fn calls_without_a_neighbour_are_no_messages() {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let mut metric = |name: &str, unit: &str, over: OverRanks| {
        builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks: Some(over) })
    };
    let metrics =
        [OverRanks::Mean, OverRanks::Maximum].map(|o| [metric("visits", "", o), metric("bytes_sent", "bytes", o)]);
    let time = metric("time", "s", OverRanks::Mean);
    let send = builder.callpath(["main", "sweep", "MPI_Send"]);
    for (p, extents, _) in PLANES {
        for n in SIZES {
            let point = builder.point(&[p, n]);
            let neighbours: f64 = extents.iter().map(|x| 1.0 - 1.0 / x).sum();
            let message = 0.1 * n;
            for ([visits, bytes], share) in metrics.iter().zip([neighbours, 2.0]) {
                builder.add(send, *visits, point, 2.0);
                builder.add(send, *bytes, point, share * message);
            }
            builder.add(send, time, point, neighbours * (STARTUP + message * PER_BYTE));
        }
    }
    let fits = fit(&builder.finish());
    let model = fits.models.iter().find(|model| model.metric == time).unwrap();
    let growth: Vec<Exponent> = model.growth.iter().map(|growth| growth.exponent).collect();
    assert_eq!(growth, [Exponent::from_integer(0), Exponent::from_integer(1)]);
    // 16 x 16 ranks, each with 15/8 neighbours on average.
    let expected = 15.0 / 8.0 * (STARTUP + 4800.0 * PER_BYTE);
    let predicted = model.predict(&[256.0, 48000.0], 0.9).value;
    assert!((predicted / expected - 1.0).abs() < 0.02, "{predicted} instead of {expected}");
}

/// The same with so few ranks that planes are lines, and messages that grow with the ranks.
#[test]
fn messages_of_ranks_in_a_line_are_those_of_ranks_in_a_plane() {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let mut metric = |name: &str, unit: &str, over: OverRanks| {
        builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks: Some(over) })
    };
    let metrics =
        [OverRanks::Mean, OverRanks::Maximum].map(|o| [metric("visits", "", o), metric("bytes_sent", "bytes", o)]);
    let time = metric("time", "s", OverRanks::Mean);
    let send = builder.callpath(["main", "sweep", "MPI_Send"]);
    for (p, [wide, high]) in
        [(2.0_f64, [2.0, 1.0]), (4.0, [2.0, 2.0]), (6.0, [3.0, 2.0]), (8.0, [4.0, 2.0]), (12.0, [4.0, 3.0])]
    {
        for n in SIZES {
            let point = builder.point(&[p, n]);
            let neighbours: f64 = [wide, high].iter().map(|x| 1.0 - 1.0 / x).sum();
            let most: f64 = [wide, high].map(|x: f64| f64::from(u8::from(x > 1.0))).iter().sum();
            let message = 8.0 * (605.0 * p.powf(0.25)).floor();
            for ([visits, bytes], share) in metrics.iter().zip([neighbours, most]) {
                builder.add(send, *visits, point, 2.0);
                builder.add(send, *bytes, point, share * message);
            }
            builder.add(send, time, point, neighbours * (STARTUP + message * PER_BYTE));
        }
    }
    let fits = fit(&builder.finish());
    let model = fits.models.iter().find(|model| model.metric == time).unwrap();
    assert_eq!(model.growth[0].exponent, Exponent::new(1, 4), "{model:?}");
    assert_eq!(model.growth[1].exponent, Exponent::from_integer(0), "{model:?}");
}

/// What one rank gathers from all is p times the mean, also where the mean alone has a simple function.
#[test]
fn what_a_root_gathers_grows_with_the_ranks() {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let mut metric = |name: &str, unit: &str, over: OverRanks| {
        builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks: Some(over) })
    };
    let [mean, most] = [OverRanks::Mean, OverRanks::Maximum].map(|over| metric("bytes_received", "bytes", over));
    let (visits, time) = (metric("visits", "", OverRanks::Mean), metric("time", "s", OverRanks::Mean));
    let gather = builder.callpath(["main", "f", "MPI_Gather"]);
    for p in [2.0_f64, 4.0, 6.0, 8.0, 12.0] {
        for n in SIZES {
            let point = builder.point(&[p, n]);
            let each = 24.0 * (p * p * p.log2()).floor();
            builder.add(gather, visits, point, 3.0);
            builder.add(gather, mean, point, each);
            builder.add(gather, most, point, p * each);
            builder.add(gather, time, point, p.log2() * STARTUP + (p - 1.0) * each * PER_BYTE);
        }
    }
    let fits = fit(&builder.finish());
    let model = fits.models.iter().find(|model| model.metric == time).unwrap();
    assert_eq!(model.growth[0].exponent, Exponent::from_integer(3), "{model:?}");
}

/// What one rank sends to another is in the mean over ranks as its time is: both are less by the number of ranks.
#[test]
fn what_one_rank_sends_is_no_more_than_its_mean() {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let mut metric = |name: &str, unit: &str, over: OverRanks| {
        builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks: Some(over) })
    };
    let [mean, most] = [OverRanks::Mean, OverRanks::Maximum].map(|over| metric("bytes_sent", "bytes", over));
    let (visits, time) = (metric("visits", "", OverRanks::Mean), metric("time", "s", OverRanks::Mean));
    let send = builder.callpath(["main", "f", "MPI_Send"]);
    for p in [2.0_f64, 4.0, 8.0, 16.0, 32.0] {
        for n in SIZES {
            let point = builder.point(&[p, n]);
            builder.add(send, visits, point, 1.0 / p);
            builder.add(send, mean, point, n);
            builder.add(send, most, point, p * n);
            builder.add(send, time, point, STARTUP / p + n * PER_BYTE);
        }
    }
    let fits = fit(&builder.finish());
    let model = fits.models.iter().find(|model| model.metric == time).unwrap();
    let (predicted, expected) = (model.predict(&[1024.0, 1e6], 0.9).value, STARTUP / 1024.0 + 1e6 * PER_BYTE);
    assert!((predicted / expected - 1.0).abs() < 0.01, "{predicted} instead of {expected}: {model:?}");
}

/// The clock says that a scatter could wait for work of n², the times that it never does: its time grows as its bytes.
#[test]
fn waiting_that_times_do_not_show_is_no_growth() {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let [clock, visits, bytes, time] = metrics(&mut builder);
    let scatter = builder.callpath(["main", "share", "MPI_Scatter"]);
    let received = |p: f64, n: f64| 8.0 * n * p.sqrt();
    let seconds = |p: f64, n: f64| p.log2() * STARTUP + received(p, n) * PER_BYTE * (1.0 - 1.0 / p);
    for p in [4.0_f64, 16.0, 64.0, 256.0, 1024.0] {
        for n in SIZES {
            let point = builder.point(&[p, n]);
            builder.add(scatter, clock, point, 4.0 * n * n);
            builder.add(scatter, visits, point, 1.0);
            builder.add(scatter, bytes, point, received(p, n));
            builder.add(scatter, time, point, seconds(p, n));
        }
    }
    let experiment = builder.finish();
    let fits = fit(&experiment);
    let model = fits.models.iter().find(|model| model.metric == time).unwrap();
    let growth: Vec<Exponent> = model.growth.iter().map(|growth| growth.exponent).collect();
    assert_eq!(growth, [Exponent::new(1, 2), Exponent::from_integer(1)], "{:?}", model.terms);
    let (expected, predicted) = (seconds(4096.0, 48000.0), model.predict(&[4096.0, 48000.0], 0.9).value);
    assert!((predicted / expected - 1.0).abs() < 0.01, "{predicted} instead of {expected}");
}
