//! Categories of a metric: bins of equal width, the peaks of its density, or the values that it has.

use super::density::{Bandwidth, Density};
use super::table::{Column, Values};
use crate::report::quantity;

/// How a metric becomes categories.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert_eq!(found.categories.counts(), [20, 20]); // of `Rule::Bins(2)`
/// let found = analyze(&table, &Plan { rule: Rule::Bins(7), ..plan }).expect("there are two categories");
/// assert_eq!(found.categories.counts(), [20, 20]); // bins between 1 s and 8 s are empty and left out
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// So many bins of equal width from the lowest to the highest value.
    Bins(usize),
    /// One category per peak of a kernel density estimate, with borders at the valleys.
    Peaks(Bandwidth),
    /// Each different value is a category.
    Values,
}

/// On which scale bins and densities are formed.
///
/// ```
#[doc = include_str!("example.txt")]
/// assert!(!found.categories.is_logarithmic); // `Scale::Linear`
/// let found = analyze(&table, &Plan { scale: Scale::Logarithmic, ..plan }).expect("times are positive");
/// assert!(found.categories.is_logarithmic);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Logarithmic where all values are positive and the highest is at least ten times the lowest.
    Auto,
    /// As they are.
    Linear,
    /// The decimal logarithm.
    Logarithmic,
}

/// The categories of a metric.
///
/// ```
#[doc = include_str!("example.txt")]
/// let border = found.categories.borders[0];
/// assert!((1.1..8.0).contains(&border)); // between the two groups
/// ```
#[derive(Clone, Debug)]
pub struct Categories {
    /// What each is called: `A: below 1.20 s`, or the value itself.
    pub labels: Vec<String>,
    /// Borders between neighbours in the metric's unit, ascending; none where values are categories.
    pub borders: Vec<f64>,
    /// Peaks of the density in the metric's unit; none without a density.
    pub peaks: Vec<f64>,
    /// The category of each row.
    pub of: Vec<usize>,
    /// The rule, by name, as it was used in the end.
    pub rule: String,
    /// Whether the scale was logarithmic.
    pub is_logarithmic: bool,
    /// The estimate on that scale, if there was one.
    pub density: Option<Density>,
    /// What was not done as asked, in full sentences.
    pub notes: Vec<String>,
}

/// A category holds at least so many rows, or is joined to a neighbour: fewer cannot be learnt.
const FEWEST: usize = 2;
/// Categories that peaks make, at most: a table of more is not read. A number of bins may be more.
const MOST_PEAKS: usize = 6;
/// Bins where a density has one peak.
const BINS: usize = 3;
/// Different values that are categories each, at most.
const MOST: usize = 26;

impl Categories {
    /// The categories of `metric`.
    ///
    /// # Errors
    /// All rows have the same value, the logarithm of a value does not exist, or there are too many different values.
    pub(crate) fn of(metric: &Column, rule: Rule, scale: Scale) -> Result<Self, String> {
        if metric.is_constant() {
            return Err(format!(
                "The metric `{}` is {} in all {} rows, so there is nothing to explain.",
                metric.name,
                metric.cell(0),
                metric.len()
            ));
        }
        match (&metric.values, rule) {
            (Values::Texts(_), _) | (_, Rule::Values) => by_value(metric),
            (Values::Numbers(values), Rule::Bins(count)) => bins(metric, values, count, scale),
            (Values::Numbers(values), Rule::Peaks(bandwidth)) => peaks(metric, values, bandwidth, scale),
        }
    }

    /// Rows of each category.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(found.categories.counts(), [20, 20]);
    /// ```
    #[must_use]
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.labels.len()];
        self.of.iter().for_each(|&c| counts[c] += 1);
        counts
    }
}

fn by_value(metric: &Column) -> Result<Categories, String> {
    // Of the two zeros one is the other.
    let cell = |row: usize| match &metric.values {
        Values::Numbers(values) => (values[row] + 0.0).to_string(),
        Values::Texts(_) => metric.cell(row),
    };
    let mut labels: Vec<String> = match &metric.values {
        Values::Texts(_) => metric.levels(),
        Values::Numbers(values) => {
            let mut sorted: Vec<f64> = values.iter().map(|v| v + 0.0).collect();
            sorted.sort_by(f64::total_cmp);
            sorted.iter().map(f64::to_string).collect()
        }
    };
    labels.dedup();
    if labels.len() > MOST {
        let advice = metric
            .decimal_commas()
            .or_else(|| metric.nearly_numbers())
            .unwrap_or("Give a number of bins, or isj, to --categories.".into());
        return Err(format!(
            "The metric `{}` has {} different values, more than the {MOST} that can be categories each. {advice}",
            metric.name,
            labels.len()
        ));
    }
    let place = |row: usize| labels.iter().position(|l| *l == cell(row)).unwrap_or(0);
    let of = (0..metric.len()).map(place).collect();
    let (borders, peaks, notes) = (Vec::new(), Vec::new(), Vec::new());
    Ok(Categories { of, labels, borders, peaks, rule: "values".into(), is_logarithmic: false, density: None, notes })
}

/// The values on the scale, and whether that is logarithmic.
fn scaled(metric: &Column, values: &[f64], scale: Scale) -> Result<(Vec<f64>, bool), String> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let is_logarithmic = match scale {
        Scale::Linear => false,
        Scale::Auto => low > 0.0 && high / low >= 10.0,
        Scale::Logarithmic if low > 0.0 => true,
        Scale::Logarithmic => {
            return Err(format!(
                "The metric `{}` is {low} in a row, which has no logarithm; leave --scale log out.",
                metric.name
            ));
        }
    };
    Ok((if is_logarithmic { values.iter().map(|v| v.log10()).collect() } else { values.to_vec() }, is_logarithmic))
}

fn bins(metric: &Column, values: &[f64], count: usize, scale: Scale) -> Result<Categories, String> {
    let (scaled, is_logarithmic) = scaled(metric, values, scale)?;
    let low = scaled.iter().copied().fold(f64::INFINITY, f64::min);
    let high = scaled.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let borders = (1..count).map(|i| low + (high - low) * i as f64 / count as f64).collect();
    Ok(split(metric, &scaled, borders, is_logarithmic, format!("{count} bins")))
}

fn peaks(metric: &Column, values: &[f64], bandwidth: Bandwidth, scale: Scale) -> Result<Categories, String> {
    let (scaled, is_logarithmic) = scaled(metric, values, scale)?;
    let mut notes = Vec::new();
    let (density, rule) = match (bandwidth, Density::of(&scaled, bandwidth)) {
        (Bandwidth::ImprovedSheatherJones, Some(density)) => (Some(density), "improved Sheather-Jones"),
        (Bandwidth::ImprovedSheatherJones, None) => {
            notes.push(
                "The Improved Sheather-Jones algorithm found no bandwidth; Silverman's rule was used.".to_owned(),
            );
            (Density::of(&scaled, Bandwidth::Silverman), "Silverman")
        }
        (Bandwidth::Silverman, density) => (density, "Silverman"),
    };
    let density =
        density.ok_or_else(|| format!("The values of `{}` are too close to each other for a density.", metric.name))?;
    let (peaks, valleys) = density.peaks_and_valleys();
    let borders = borders(&density, &peaks, valleys, &scaled);
    if !borders.is_empty() && borders.len() + 1 < peaks.len() {
        notes.push(format!(
            "The density has {} peaks; neighbours with few rows were joined, to {} categories. A number of bins may be larger.",
            peaks.len(),
            borders.len() + 1
        ));
    }
    if borders.is_empty() {
        let why = match peaks.len() {
            0 | 1 => "has one peak and no valley to split it at".to_owned(),
            count => format!("has {count} peaks, of which all but one hold too few rows to be learnt"),
        };
        notes.push(format!(
            "The density ({rule}) {why}, so bins were taken that hold as many rows each as equal values allow."
        ));
    }
    // Of bins of equal width one would hold most rows, and effects that shift few of them beyond its borders would not be seen.
    let (borders, rule) = match borders.is_empty() {
        true => (of_equal_count(&scaled, BINS), format!("{rule}, {BINS} bins of equal count")),
        false => (borders, rule.to_owned()),
    };
    let mut categories = split(metric, &scaled, borders, is_logarithmic, rule);
    categories.peaks = peaks.iter().map(|&x| unscaled(x, is_logarithmic)).collect();
    categories.density = Some(density);
    categories.notes.extend(notes);
    Ok(categories)
}

/// Borders of so many bins that hold about as many values each, halfway between neighbouring values. There are fewer where values
/// repeat.
fn of_equal_count(values: &[f64], count: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let steps: Vec<usize> = (1..sorted.len()).filter(|&i| sorted[i - 1] < sorted[i]).collect();
    let nearest = |wanted: usize| steps.iter().min_by_key(|&&step| (step * count).abs_diff(wanted * sorted.len()));
    let mut steps: Vec<usize> = (1..count).filter_map(nearest).copied().collect();
    steps.dedup();
    // Halves first, since the sum may be beyond all numbers.
    steps.into_iter().map(|i| 0.5 * sorted[i - 1] + 0.5 * sorted[i]).collect()
}

/// The valleys that are borders: not those beside which too few values lie, nor so many that nobody keeps them apart.
fn borders(density: &Density, peaks: &[f64], valleys: Vec<f64>, values: &[f64]) -> Vec<f64> {
    let fewest = FEWEST.max(values.len() / 50);
    let mut heights: Vec<f64> = peaks.iter().map(|&x| density.at(x)).collect();
    let mut borders = valleys;
    while !borders.is_empty() {
        let mut counts = vec![0; borders.len() + 1];
        values.iter().for_each(|v| counts[borders.partition_point(|b| b < v)] += 1);
        // The valley's height over that of the lower peak beside it: the higher, the less it separates.
        let flatness = |i: &usize| density.at(borders[*i]) / heights[*i].min(heights[*i + 1]);
        let flattest = |list: Vec<usize>| list.into_iter().max_by(|a, b| flatness(a).total_cmp(&flatness(b)));
        // The smallest first, so that what two small ones become together can stay.
        let small = (0..counts.len()).min_by_key(|&c| counts[c]).filter(|&c| counts[c] < fewest);
        let gone = match small {
            Some(c) => flattest((c.saturating_sub(1)..=c).filter(|&i| i < borders.len()).collect()),
            // Too many are made fewer evenly: the two neighbours that hold the fewest rows together.
            None if counts.len() > MOST_PEAKS => (0..borders.len()).min_by_key(|&i| counts[i] + counts[i + 1]),
            None => None,
        };
        let Some(gone) = gone else { break };
        borders.remove(gone);
        let second = heights.remove(gone + 1);
        heights[gone] = heights[gone].max(second);
    }
    borders
}

fn unscaled(x: f64, is_logarithmic: bool) -> f64 {
    if is_logarithmic { 10f64.powf(x) } else { x }
}

/// Categories between `borders`, which are on the scale of `scaled`; those without any row are left out.
fn split(metric: &Column, scaled: &[f64], borders: Vec<f64>, is_logarithmic: bool, rule: String) -> Categories {
    let category = |v: &f64| borders.partition_point(|b| b < v);
    let mut filled = vec![false; borders.len() + 1];
    scaled.iter().for_each(|v| filled[category(v)] = true);
    // An empty bin goes to its neighbour below.
    let kept: Vec<f64> =
        (0..borders.len()).filter(|&i| filled[i + 1] && filled[..=i].contains(&true)).map(|i| borders[i]).collect();
    let of = scaled.iter().map(|v| kept.partition_point(|b| b < v)).collect();
    let borders: Vec<f64> = kept.iter().map(|&b| unscaled(b, is_logarithmic)).collect();
    let mut notes = Vec::new();
    let empty = filled.iter().filter(|f| !**f).count();
    if empty > 0 {
        let hold = if empty == 1 { "holds no row and is" } else { "hold no row and are" };
        notes.push(format!("{empty} of {} bins {hold} left out.", filled.len()));
    }
    let labels = labels(&borders, &metric.unit);
    Categories { labels, borders, peaks: Vec::new(), of, rule, is_logarithmic, density: None, notes }
}

/// The borders as people read them, or with all their digits where neighbours would be alike.
fn shown(borders: &[f64], unit: &str) -> Vec<String> {
    let short: Vec<String> = borders.iter().map(|border| quantity(*border, unit)).collect();
    if short.windows(2).all(|pair| pair[0] != pair[1]) {
        return short;
    }
    borders.iter().map(|border| format!("{border} {unit}").trim_end().to_owned()).collect()
}

/// `A: up to 1.20 s`, `B: 1.20 s to 3.00 s`, `C: above 3.00 s`.
fn labels(borders: &[f64], unit: &str) -> Vec<String> {
    let shown = shown(borders, unit);
    let shown = |i: usize| &shown[i];
    let name = |i: usize| {
        char::from_u32('A' as u32 + i as u32).filter(char::is_ascii_uppercase).map_or(format!("K{i}"), String::from)
    };
    let label = |i: usize| match (i, borders.len()) {
        (_, 0) => format!("{}: all", name(i)),
        (0, _) => format!("{}: up to {}", name(i), shown(0)),
        (i, n) if i == n => format!("{}: above {}", name(i), shown(n - 1)),
        (i, _) => format!("{}: {} to {}", name(i), shown(i - 1), shown(i)),
    };
    (0..=borders.len()).map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(values: &[f64]) -> Column {
        Column { name: "time".into(), unit: "s".into(), chosen: false, values: Values::Numbers(values.to_vec()) }
    }

    #[test]
    fn bins_of_equal_count_part_between_values() {
        assert_eq!(of_equal_count(&[4.0, 1.0, 2.0, 3.0, 6.0, 5.0], 3), [2.5, 4.5]);
        assert_eq!(of_equal_count(&[0.0, 0.0, 0.0, 0.0, 1.0, 2.0], 3), [0.5]);
        assert_eq!(of_equal_count(&[1.0, 3.0], 3), [2.0]);
    }

    #[test]
    fn zeros_are_one_value_and_borders_differ_by_their_names() {
        let found = Categories::of(&metric(&[-1.0, -0.0, 0.0, -1.0, 0.0]), Rule::Values, Scale::Linear).unwrap();
        assert_eq!((found.labels, found.of), (vec!["-1".to_owned(), "0".to_owned()], vec![0, 1, 1, 0, 1]));
        let values: Vec<f64> = (0..30).map(|i| 1000.0 + 0.01 * f64::from(i)).collect();
        let found = Categories::of(&metric(&values), Rule::Bins(4), Scale::Linear).unwrap();
        let ends: Vec<&str> = found.labels.iter().map(|label| label.rsplit(' ').nth(1).unwrap()).collect();
        assert!(
            (0..3).all(|i| (ends[i].parse::<f64>().unwrap() - found.borders[i]).abs() < 1e-9),
            "{:?}",
            found.labels
        );
    }

    #[test]
    fn bins_have_equal_width_and_empty_ones_are_left_out() {
        let found = Categories::of(&metric(&[0.0, 1.0, 2.0, 9.0, 10.0]), Rule::Bins(5), Scale::Linear).unwrap();
        // Borders at 2, 4, 6, 8; between 2 and 8 there is nothing.
        assert_eq!(found.borders, [8.0]);
        assert_eq!(found.of, [0, 0, 0, 1, 1]);
        assert_eq!(found.labels, ["A: up to 8 s", "B: above 8 s"]);
        assert!(found.notes[0].starts_with("3 of 5 bins"));
    }

    #[test]
    fn a_wide_range_is_split_on_its_logarithm() {
        let found = Categories::of(&metric(&[1.0, 10.0, 11.0, 100.0]), Rule::Bins(2), Scale::Auto).unwrap();
        assert!(found.is_logarithmic && (found.borders[0] - 10.0).abs() < 1e-9, "{:?}", found.borders);
        assert!(
            Categories::of(&metric(&[0.0, 1.0]), Rule::Bins(2), Scale::Logarithmic).unwrap_err().contains("logarithm")
        );
    }

    #[test]
    fn one_value_is_an_error_and_one_peak_gives_bins() {
        assert!(
            Categories::of(&metric(&[2.0; 8]), Rule::Bins(2), Scale::Auto).unwrap_err().contains("is 2 in all 8 rows")
        );
        let bell: Vec<f64> = (1..100).map(|i| (f64::from(i) / (100.0 - f64::from(i))).ln() + 20.0).collect();
        let found = Categories::of(&metric(&bell), Rule::Peaks(Bandwidth::Silverman), Scale::Auto).unwrap();
        assert!(found.labels.len() == 3 && found.notes[0].contains("one peak"), "{:?}", found.notes);
        // The density that shows it is kept, with its peak in the middle of the bell.
        assert!(found.density.is_some() && found.peaks.len() == 1, "{:?}", found.peaks);
        assert!((found.peaks[0] - 20.0).abs() < 0.1, "{:?}", found.peaks);
    }

    #[test]
    fn a_peak_of_one_row_is_told_and_not_called_none() {
        let mut values: Vec<f64> = (0..24).map(|i| 40.0 + f64::from(i * 7 % 24) * 0.05).collect();
        values.push(150.0);
        let found = Categories::of(&metric(&values), Rule::Peaks(Bandwidth::Silverman), Scale::Linear).unwrap();
        assert!(found.peaks.len() > 1, "{:?}", found.peaks);
        let told = format!("{} peaks, of which all but one hold too few rows", found.peaks.len());
        assert!(found.notes.iter().any(|note| note.contains(&told)), "{:?}", found.notes);
    }

    #[test]
    fn a_lonely_value_joins_the_nearer_category() {
        let mut values: Vec<f64> = (0..60).map(|i| f64::from(i % 20) * 0.1 + if i < 30 { 0.0 } else { 20.0 }).collect();
        values.push(60.0);
        let found =
            Categories::of(&metric(&values), Rule::Peaks(Bandwidth::ImprovedSheatherJones), Scale::Linear).unwrap();
        assert_eq!(found.borders.len(), 1, "{:?}", found.borders);
        assert_eq!(found.counts(), [30, 31]);
    }
}
