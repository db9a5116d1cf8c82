//! Hypotheses that lost: how far each misses points left out of its fit, in the same measure as the chosen function's
//! [`Quality::cross_validated_relative_error`](crate::model::Quality), and in plain words why it was not chosen.

use crate::data::Data;
use crate::effort::EXPLAINS;
use crate::experiment::Experiment;
use crate::model::{Model, RunnerUp};
use crate::quality::left_out_error;

/// Why a hypothesis lost though it comes no less close to points left out, on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Although {
    /// It has more coefficients, or less usual exponents.
    LessSimple,
    /// Single points are far from it.
    MissesSome,
}

/// `loser`, whose fitted coefficients belong to `columns` (one value per observation), beside the finished model `chosen`.
pub(crate) fn runner_up(
    experiment: &Experiment,
    data: &Data,
    chosen: &Model,
    loser: &Model,
    columns: &[Vec<f64>],
    although: Although,
) -> RunnerUp {
    let (y, fitted) = (data.values(), data.fitted(loser));
    let own = left_out_error(columns, &y, &fitted);
    let (score, reason) = match (own, chosen.quality.cross_validated_relative_error) {
        (Some(own), Some(chosen)) => (own, compared("points left out of the fit", own, chosen, although)),
        (own, _) => {
            let off = |model: &Model| crate::coefficients::deviation(&y, &data.fitted(model), 0);
            (own.unwrap_or_else(|| off(loser)), compared("the measurements", off(loser), off(chosen), although))
        }
    };
    RunnerUp { expression: loser.expression(&experiment.parameters), score, reason }
}

/// Both errors in a clause, with what decided where the loser's is not the larger one.
fn compared(what: &str, own: f64, chosen: f64, although: Although) -> String {
    if own < EXPLAINS && chosen < EXPLAINS {
        return format!("it misses {what} by as little and is less simple; points elsewhere would tell the two apart");
    }
    let (shown, other) = (percent(own), percent(chosen));
    let why = match although {
        Although::LessSimple => "it is less simple, and noise alone can bring such a function that close",
        Although::MissesSome => "it misses single points by more",
    };
    if shown == other {
        format!("it misses {what} by {shown} on average, as the chosen one does, but {why}")
    } else if own > chosen {
        format!("it misses {what} by {shown} on average, the chosen one by {other}")
    } else {
        format!("it misses {what} by {shown} on average, the chosen one by {other}, but {why}")
    }
}

/// Two significant digits below a tenth of a percent, where errors of nearly exact values lie; else as in reports.
pub(crate) fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".into(),
        p if p < 0.1 => format!("{p:.1e} %"),
        p if p < 9.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{ExperimentBuilder, Metric};
    use crate::{Options, fit};

    #[test]
    fn what_decided_is_said_where_the_error_did_not() {
        let told = |own, chosen, although| compared("points", own, chosen, although);
        assert_eq!(
            told(0.051, 0.032, Although::LessSimple),
            "it misses points by 5.1 % on average, the chosen one by 3.2 %"
        );
        assert!(
            told(0.031, 0.032, Although::LessSimple)
                .ends_with("3.2 %, but it is less simple, and noise alone can bring such a function that close")
        );
        assert!(told(0.0321, 0.0322, Although::MissesSome).contains("as the chosen one does, but it misses single"));
        assert!(told(2e-7, 1e-7, Although::LessSimple).contains("2.0e-5 % on average, the chosen one by 1.0e-5 %"));
    }

    /// The error of a runner-up is that of refits: its function, fitted anew without each measurement in turn by least squares of
    /// relative errors, at the measurement that was left out.
    #[test]
    fn errors_at_points_left_out_are_those_of_refits() {
        let mut builder = ExperimentBuilder::new(["p"]);
        let time = builder.metric(Metric { name: "time".into(), unit: "s".into(), over_ranks: None });
        let solve = builder.callpath(["solve"]);
        let wiggle = [0.03, -0.02, 0.01, -0.03, 0.02, -0.01, 0.025, -0.015];
        let measured: Vec<(f64, f64)> =
            (0..8).map(|i| (2.0 + i as f64, (5.0 + 3.0 * (2.0 + i as f64)) * (1.0 + wiggle[i]))).collect();
        for &(p, value) in &measured {
            let point = builder.point(&[p]);
            builder.add(solve, time, point, value);
        }
        let fits = fit(&builder.finish(), &Options::default());
        let model = &fits.models[0];
        let told = model.quality.cross_validated_relative_error.unwrap();
        assert!(!model.runners_up.is_empty());
        for loser in &model.runners_up {
            assert!(loser.reason.contains("points left out of the fit"), "{}", loser.reason);
            assert!(loser.reason.contains(&percent(told)), "{} names {told}", loser.reason);
            assert!(loser.reason.contains(&percent(loser.score)), "{} names {}", loser.reason, loser.score);
            let naive = refits(&loser.expression, &measured);
            assert!((loser.score / naive - 1.0).abs() < 0.05, "{}: {} and {naive}", loser.expression, loser.score);
        }
    }

    /// Mean relative error of refits of `a + b f(p)`, of which the expression names `f`, each without one measurement.
    fn refits(expression: &str, measured: &[(f64, f64)]) -> f64 {
        let shape = |p: f64| -> f64 {
            let (power, log) = match expression.split_once("p^(") {
                Some((_, rest)) => {
                    let (a, b) = rest.split_once(')').unwrap().0.split_once('/').unwrap();
                    (a.parse::<f64>().unwrap() / b.parse::<f64>().unwrap(), expression.contains("log2(p)"))
                }
                None if expression.contains("p^2") => (2.0, expression.contains("log2(p)")),
                None => (
                    f64::from(u8::from(expression.replace("log2(p)", "").contains('p'))),
                    expression.contains("log2(p)"),
                ),
            };
            let squared = if expression.contains("log2(p)^2") { 2 } else { i32::from(log) };
            p.powf(power) * p.log2().powi(squared)
        };
        let has_constant = expression.contains(" + ");
        let mut total = 0.0;
        for left_out in 0..measured.len() {
            // Normal equations of relative errors, weighted by the measurements themselves: sums of 1, f, f², 1 and f over y.
            let (mut ones, mut mixed, mut squares, mut one, mut own) = (0.0, 0.0, 0.0, 0.0, 0.0);
            for (_, &(p, y)) in measured.iter().enumerate().filter(|(i, _)| *i != left_out) {
                let (a, b) = (if has_constant { 1.0 / y } else { 0.0 }, shape(p) / y);
                ones += a * a;
                mixed += a * b;
                squares += b * b;
                one += a;
                own += b;
            }
            let (p, y) = measured[left_out];
            let value = if has_constant {
                let d = ones * squares - mixed * mixed;
                (one * squares - own * mixed) / d + (ones * own - mixed * one) / d * shape(p)
            } else {
                own / squares * shape(p)
            };
            total += (y / value - 1.0).abs();
        }
        total / measured.len() as f64
    }
}
