//! Natural logarithms of many numbers at once.

use crate::wide::wide;

/// Numbers that are taken side by side.
const SIDE_BY_SIDE: usize = 8;
/// The bits of 1/√2.
const ROOT_OF_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
/// 2⁵², to which whole numbers below are added in the last bits.
const SHIFT: f64 = 4_503_599_627_370_496.0;
/// ln 2 in two parts, of which products of the first with exponents are exact.
const LN_2: (f64, f64) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);
/// Coefficients of `2 artanh s / s - 2` in s², of which the last are those of a minimax polynomial: those of fdlibm's
/// `e_log.c`.
const SERIES: [f64; 7] = [
    0.666_666_666_666_673_5,
    0.399_999_999_994_094_2,
    0.285_714_287_436_623_9,
    0.222_221_984_321_497_84,
    0.181_835_721_616_180_5,
    0.153_138_376_992_093_73,
    0.147_981_986_051_165_86,
];

/// Replaces numbers by their natural logarithms, right to a unit in the last place.
///
/// A number is 2ᵏ m with m between 1/√2 and √2, and with f = m - 1 and s = f / (2 + f) the logarithm of m is
/// `f - s (f - R)` with R an even series in s (fdlibm, `e_log.c`).
pub(crate) fn logarithms(values: &mut [f64]) {
    let (chunks, rest) = values.as_chunks_mut();
    of_chunks(chunks);
    rest.iter_mut().for_each(|v| *v = v.ln());
}

wide! {
    fn of_chunks(chunks: &mut [[f64; SIDE_BY_SIDE]]) {
        for values in chunks {
            let mut is_normal = true;
            for v in values.iter() {
                is_normal &= (*v >= f64::MIN_POSITIVE) & (*v <= f64::MAX);
            }
            if !is_normal {
                for v in values {
                    *v = v.ln();
                }
                continue;
            }
            for v in values {
                let above = v.to_bits().wrapping_sub(ROOT_OF_HALF);
                // The exponent of two, without a conversion of integers of 64 bits, which few processors have for vectors.
                let exponent = f64::from_bits((above.wrapping_add(1024 << 52) >> 52) | SHIFT.to_bits()) - (SHIFT + 1024.0);
                let f = f64::from_bits((above & 0x000f_ffff_ffff_ffff) + ROOT_OF_HALF) - 1.0;
                let s = f / (2.0 + f);
                let square = s * s;
                let mut series = SERIES[6];
                for k in (0..6).rev() {
                    series = series * square + SERIES[k];
                }
                let half = 0.5 * f * f;
                let correction = s * (half + square * series) + exponent * LN_2.1;
                *v = exponent * LN_2.0 - ((half - correction) - f);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    #[test]
    fn they_are_right_to_the_last_place_or_two() {
        let rng = &mut StdRng::seed_from_u64(21);
        let mut numbers: Vec<f64> = (0..200_000).map(|_| f64::from_bits(rng.random::<u64>() >> 1)).collect();
        numbers.retain(|v| v.is_finite());
        // Where logarithms are small, and the ends of the ranges of one exponent.
        numbers.extend((0..100_000).map(|_| 1.0 + rng.random_range(-0.1..0.1)));
        for exponent in -30..30 {
            let edge = std::f64::consts::FRAC_1_SQRT_2 * 2f64.powi(exponent);
            numbers.extend([edge, edge.next_up(), edge.next_down(), 2f64.powi(exponent)]);
        }
        let mut found = numbers.clone();
        logarithms(&mut found);
        for (x, ln) in numbers.iter().zip(found) {
            assert!((ln - x.ln()).abs() <= 2.0 * f64::EPSILON * x.ln().abs(), "{x}: {ln} and {}", x.ln());
        }
    }

    #[test]
    fn what_has_no_logarithm_and_what_is_tiny_is_as_for_one_number() {
        let odd = [0.0, -1.0, f64::INFINITY, f64::NAN, 5e-324, 1e-310, f64::MAX, f64::MIN_POSITIVE, 2.0];
        let mut found = odd;
        logarithms(&mut found);
        for (x, ln) in odd.iter().zip(found) {
            // The sign of what is no number is nobody's promise.
            assert!(ln.to_bits() == x.ln().to_bits() || ln.is_nan() && x.ln().is_nan(), "{x}: {ln}");
        }
    }
}
