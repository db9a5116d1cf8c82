//! Measured counts against the truth, to the last digit: visits and bytes are what the truth says, and basic blocks are
//! a whole sum of the iterations. Whatever part of the chain miscounts or loses something shows here.

use benchgen::Point;
use benchgen::truth::{CallPathTruth, Kind, RankBytes, Truth};
use modeler::Experiment;
use modeler::experiment::{CallPathId, OverRanks};
use serde::Serialize;

use super::find;
use crate::error::{Error, Result};

/// A count that is not what the truth says.
#[derive(Clone, Debug, Serialize)]
pub struct Wrong {
    /// Names from the root.
    pub callpath: Vec<String>,
    /// Which count.
    pub metric: &'static str,
    /// At which point, one coordinate per parameter.
    pub at: Vec<f64>,
    /// What was measured.
    pub measured: f64,
    /// What the truth says; of basic blocks, the nearest sum of the iterations.
    pub expected: f64,
}

/// What was checked.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Exactness {
    /// Number of counts compared.
    pub checked: usize,
    /// Those that were wrong.
    pub wrong: Vec<Wrong>,
}

/// Compares all counts of `experiment`, which holds every measured point, with the truth.
///
/// # Errors
/// A call path of the truth was not measured at all, or not its effort: part of the chain is missing.
pub fn check(truth: &Truth, experiment: &Experiment) -> Result<Exactness> {
    let mut found = Exactness::default();
    for callpath in &truth.callpaths {
        let name = callpath.callpath.join(" -> ");
        let lost = |what: &str| Error::Partial(format!("{name}: {what}. `poise doctor` tells what is missing."));
        let id = find(experiment, &callpath.callpath).ok_or_else(|| lost("this call path was not measured"))?;
        let counted = Counted { truth: callpath, experiment, id };
        found.compare(&counted, "visits", OverRanks::Mean, |at| exact(&callpath.visits, at))?;
        match callpath.kind {
            Kind::Computation => found.blocks(&counted).ok_or_else(|| lost("its effort was not measured"))?,
            Kind::Communication => found.bytes(&counted)?,
        }
    }
    Ok(found)
}

fn exact(count: &benchgen::complexity::Count, at: &Point) -> f64 {
    count.exact_at(at).map_or(f64::NAN, |n| n as f64)
}

/// A call path, what is known of it and what was counted.
struct Counted<'a> {
    truth: &'a CallPathTruth,
    experiment: &'a Experiment,
    id: CallPathId,
}

impl Counted<'_> {
    /// The counts of `metric` with their points; `None` where it was not counted.
    fn values(&self, metric: &str, over: OverRanks) -> Option<Vec<(&[f64], f64)>> {
        let metric = self.experiment.metric(metric, Some(over))?;
        let series = self.experiment.series_of(self.id, metric)?;
        let each = |(point, values)| -> Vec<(&[f64], f64)> {
            let values: &[f64] = values;
            values.iter().map(|&v| (point, v)).collect()
        };
        Some(self.experiment.measurements(series).flat_map(each).collect())
    }

    fn point(&self, at: &[f64]) -> Point {
        self.experiment.parameters.iter().cloned().zip(at.iter().copied()).collect()
    }

    fn wrong(&self, metric: &'static str, at: &[f64], measured: f64, expected: f64) -> Wrong {
        Wrong { callpath: self.truth.callpath.clone(), metric, at: at.to_vec(), measured, expected }
    }
}

impl Exactness {
    /// Compares a count with what `expected` says. What was counted nowhere must be zero everywhere.
    fn compare(
        &mut self,
        counted: &Counted,
        metric: &'static str,
        over: OverRanks,
        expected: impl Fn(&Point) -> f64,
    ) -> Result<()> {
        let values = counted.values(metric, over).unwrap_or_else(|| {
            counted.values("visits", OverRanks::Mean).unwrap_or_default().into_iter().map(|(at, _)| (at, 0.0)).collect()
        });
        for (at, measured) in values {
            let expected = expected(&counted.point(at));
            self.checked += 1;
            // Means over ranks are quotients; sums and counts are whole.
            let is_right = (measured - expected).abs() <= 1e-9 * expected.abs();
            if !is_right {
                self.wrong.push(counted.wrong(metric, at, measured, expected));
            }
        }
        Ok(())
    }

    /// Bytes, summed over ranks.
    fn bytes(&mut self, counted: &Counted) -> Result<()> {
        let Some(bytes) = &counted.truth.bytes else { return Ok(()) };
        let is_paired = matches!(counted.truth.callpath.last().map(String::as_str), Some("MPI_Send" | "MPI_Recv"));
        for (metric, of) in [("bytes_sent", &bytes.sent), ("bytes_received", &bytes.received)] {
            let total = |at: &Point| {
                let ranks = at.get("p").copied().unwrap_or(1.0);
                let (root, others) = match of {
                    RankBytes::Together { all } => return exact(all, at),
                    RankBytes::ByRole { root, others } => (root, others),
                };
                // The last of an odd number of ranks has no partner.
                let alone = if is_paired && ranks % 2.0 != 0.0 { 1.0 } else { 0.0 };
                match ranks - 1.0 - alone {
                    number if number < 0.0 => 0.0,
                    number => exact(root, at) + number * exact(others, at),
                }
            };
            self.compare(counted, metric, OverRanks::Sum, total)?;
        }
        Ok(())
    }

    /// Basic blocks: a constant and a multiple of the iterations of each loop, the same at every point and rank.
    fn blocks(&mut self, counted: &Counted) -> Option<()> {
        let iterations = counted.truth.iterations.as_ref()?;
        let values = counted.values("basic_blocks", OverRanks::Mean)?;
        let column = |term: &benchgen::complexity::RoundedProduct| -> Vec<f64> {
            values.iter().map(|(at, _)| term.at(&counted.point(at)).map_or(f64::NAN, |n| n as f64)).collect()
        };
        let mut columns: Vec<Vec<f64>> = iterations.exact.iter().map(column).collect();
        columns.push(vec![1.0; values.len()]);
        let y: Vec<f64> = values.iter().map(|v| v.1).collect();
        let left = remainder(columns, &y);
        for ((at, measured), left) in values.iter().zip(&left) {
            self.checked += 1;
            // A twentieth of a block, or what double precision leaves of a large count.
            if left.abs() > 0.05 + 1e-11 * measured {
                self.wrong.push(counted.wrong("basic_blocks", at, *measured, measured - left));
            }
        }
        // Every rank does the same work; a rank that does not is the one that was miscounted.
        let (least, most) = (OverRanks::Minimum, OverRanks::Maximum);
        let extremes = counted.values("basic_blocks", least)?.into_iter().zip(counted.values("basic_blocks", most)?);
        for ((at, low), (_, high)) in extremes {
            self.checked += 1;
            if low != high {
                self.wrong.push(counted.wrong("basic_blocks", at, high, low));
            }
        }
        Some(())
    }
}

/// What the best sum of multiples of `columns` leaves of `y`: modified Gram-Schmidt, each step done twice because
/// columns of loop iterations differ by orders of magnitude.
fn remainder(columns: Vec<Vec<f64>>, y: &[f64]) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let subtract = |from: &mut [f64], basis: &[Vec<f64>]| {
        for _ in 0..2 {
            for direction in basis {
                let share = dot(from, direction);
                from.iter_mut().zip(direction).for_each(|(x, d)| *x -= share * d);
            }
        }
    };
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for mut column in columns {
        let before = dot(&column, &column).sqrt();
        subtract(&mut column, &basis);
        let norm = dot(&column, &column).sqrt();
        // Columns that are sums of others add nothing.
        if norm > 1e-10 * before {
            column.iter_mut().for_each(|x| *x /= norm);
            basis.push(column);
        }
    }
    let mut left = y.to_vec();
    subtract(&mut left, &basis);
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_columns_leaves_nothing_and_one_block_more_is_seen() {
        let column = |power: f64| (1..=26).map(|x| f64::from(x * 1000).powf(power).round()).collect::<Vec<f64>>();
        let columns = vec![column(2.0), column(1.0), column(1.0), vec![1.0; 26]];
        let sum = |i: usize| 3.0 * columns[0][i] + 7.0 * columns[1][i] + 11.0;
        let mut y: Vec<f64> = (0..26).map(sum).collect();
        assert!(remainder(columns.clone(), &y).iter().all(|left| left.abs() < 0.01));
        y[12] += 1.0;
        let left = remainder(columns, &y);
        assert!(left[12] > 0.5, "{left:?}");
    }
}
