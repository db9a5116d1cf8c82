//! Statistics of how well a model fits. Where one is undefined it is `None`, never a number that looks good.

use crate::linear::{dot, inverse_gram};

/// Symmetric mean absolute percentage error in percent: `100/N Σ 2|y - f| / (|y| + |f|)`, pairs of zeros counting as
/// equal. `None` without observations.
pub(crate) fn smape(y: &[f64], fitted: &[f64]) -> Option<f64> {
    let term = |(y, f): (&f64, &f64)| {
        let size = y.abs() + f.abs();
        if size == 0.0 { 0.0 } else { 2.0 * (y - f).abs() / size }
    };
    (!y.is_empty()).then(|| 100.0 * y.iter().zip(fitted).map(term).sum::<f64>() / y.len() as f64)
}

/// Adjusted coefficient of determination `1 - (RSS/(N-k-1)) / (TSS/(N-1))` for k terms beside the constant. `None`
/// where the data do not vary or as many coefficients as observations were fitted.
pub(crate) fn adjusted_r2(y: &[f64], fitted: &[f64], terms: usize) -> Option<f64> {
    let n = y.len();
    if n < terms + 2 {
        return None;
    }
    let mean = y.iter().sum::<f64>() / n as f64;
    let total: f64 = y.iter().map(|v| (v - mean).powi(2)).sum();
    let left: f64 = y.iter().zip(fitted).map(|(y, f)| (y - f).powi(2)).sum();
    let scale = y.iter().map(|v| v * v).sum::<f64>();
    if total <= 1e-24 * scale {
        return None;
    }
    Some(1.0 - left / (n - terms - 1) as f64 / (total / (n - 1) as f64))
}

/// Relative errors at observations left out of the fit one at a time, from one fit: the residual over one less its
/// leverage (Allen's PRESS). `columns` are those with a coefficient, `fitted` the fit, weights relative to `fitted`.
///
/// `None` where an observation alone determines a coefficient.
pub(crate) fn left_out_errors(columns: &[Vec<f64>], y: &[f64], fitted: &[f64]) -> Option<Vec<f64>> {
    if columns.is_empty() || y.len() <= columns.len() || fitted.iter().any(|f| *f <= 0.0) {
        return None;
    }
    let scaled: Vec<Vec<f64>> = columns.iter().map(|c| c.iter().zip(fitted).map(|(x, f)| x / f).collect()).collect();
    let inverse = inverse_gram(&scaled)?;
    let k = scaled.len();
    let mut errors = Vec::with_capacity(y.len());
    let mut row = vec![0.0; k];
    for i in 0..y.len() {
        row.iter_mut().zip(&scaled).for_each(|(r, c)| *r = c[i]);
        let leverage: f64 = (0..k).map(|a| row[a] * dot(&inverse[a * k..(a + 1) * k], &row)).sum();
        if leverage > 1.0 - 1e-9 {
            return None;
        }
        errors.push((y[i] / fitted[i] - 1.0) / (1.0 - leverage));
    }
    Some(errors)
}

/// The mean of the absolute values of [`left_out_errors`].
pub(crate) fn left_out_error(columns: &[Vec<f64>], y: &[f64], fitted: &[f64]) -> Option<f64> {
    let errors = left_out_errors(columns, y, fitted)?;
    Some(errors.iter().map(|e| e.abs()).sum::<f64>() / errors.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::least_squares;
    use proptest::prelude::*;

    #[test]
    fn hand_computed_examples() {
        // |1-2|·2/3 = 2/3 and 0: the mean is 1/3, in percent 33.3.
        assert!((smape(&[1.0, 4.0], &[2.0, 4.0]).unwrap() - 100.0 / 3.0).abs() < 1e-12);
        assert_eq!(smape(&[0.0], &[0.0]), Some(0.0));
        // Mean 2, TSS 2, RSS 0.5: 1 - (0.5/1)/(2/2) = 0.5.
        assert!((adjusted_r2(&[1.0, 2.0, 3.0], &[1.5, 2.0, 2.5], 1).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(adjusted_r2(&[1.0, 2.0], &[1.0, 2.0], 1), None);
        assert_eq!(adjusted_r2(&[5.0, 5.0, 5.0], &[5.0, 5.0, 5.0], 0), None);
    }

    proptest! {
        #[test]
        fn left_out_errors_agree_with_fits_that_leave_points_out(
            y in proptest::collection::vec(1.0..2.0f64, 6),
            x in proptest::collection::vec(1.0..9.0f64, 6),
        ) {
            // Weights are relative to the full fit and stay the same when a point is left out.
            let columns = vec![vec![1.0; 6], x.clone()];
            let fitted = vec![1.5; 6];
            let scale = |c: &[f64]| c.iter().map(|v| v / 1.5).collect::<Vec<_>>();
            let scaled: Vec<_> = columns.iter().map(|c| scale(c)).collect();
            let c = least_squares(&scaled, &scale(&y));
            let full: Vec<f64> = (0..6).map(|i| c[0] + c[1] * x[i]).collect();
            let shifted: Vec<f64> = (0..6).map(|i| y[i] - full[i] + 1.5).collect();
            let Some(errors) = left_out_errors(&columns, &shifted, &fitted) else { return Ok(()) };
            for left_out in 0..6 {
                let keep = |c: &[f64]| (0..6).filter(|i| *i != left_out).map(|i| c[i]).collect::<Vec<_>>();
                let sub: Vec<_> = columns.iter().map(|c| keep(c)).collect();
                let c = least_squares(&sub, &keep(&y));
                let naive = (y[left_out] - c[0] - c[1] * x[left_out]) / 1.5;
                prop_assert!((errors[left_out] - naive).abs() < 1e-6 * (1.0 + naive.abs()));
            }
        }
    }

    proptest! {
        #[test]
        fn smape_agrees_with_a_naive_loop(pairs in proptest::collection::vec((0.1..9.0f64, 0.1..9.0f64), 1..9)) {
            let (y, f): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            let mut total = 0.0;
            for (a, b) in &pairs {
                total += if a > b { a - b } else { b - a } / ((a + b) / 2.0);
            }
            prop_assert!((smape(&y, &f).unwrap() - 100.0 * total / pairs.len() as f64).abs() < 1e-9);
        }
    }
}
