//! Memory traffic of a program's variants (section 4.2 of the paper): which function of which variant moves more or less for the
//! same work. The paper found a variant with as many loads and half the read requests, for which nobody had looked.

use std::collections::BTreeMap;

use poise_profile::Profile;

use super::listing::Listing;
use super::{Finding, Variant};
use crate::formats::Names;
use crate::phases;

/// What a function did to memory.
///
/// ```
/// use modeler::detect::Traffic;
/// let copy = Traffic { function: "copy".into(), accesses: 2000, fills: [250, 250], ..Traffic::default() };
/// assert_eq!(copy.accesses / copy.fills[1], 8); // numbers of 8 bytes in lines of 64
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// The function; `(whole program)` for all of them.
    pub function: String,
    /// Executed instructions that access memory.
    pub accesses: u64,
    /// Lines fetched into the first and into the second level of the caches.
    pub fills: [u64; 2],
    /// Different lines accessed in a bin, on average over the bins that have the function's label; `None` where there is
    /// none, or lines were not counted.
    pub lines: Option<f64>,
    /// Instructions of a bin; 0 where there are no lines.
    pub width: u64,
    /// Bins with that label.
    pub bins: usize,
}

/// Stands for the whole program.
pub const WHOLE: &str = "(whole program)";
/// How many times more or less than the others makes a finding.
const UNLIKE: f64 = 1.5;
/// The least part of a variant's accesses that makes a function matter.
const SHARE: f64 = 0.05;

impl Traffic {
    /// Lines fetched from beyond the modelled caches for a thousand accesses.
    #[must_use]
    pub(crate) fn fetched(&self) -> f64 {
        1000.0 * self.fills[1] as f64 / self.accesses.max(1) as f64
    }
}

/// The traffic of a run: the whole program's, then every function's, the one of the most accesses first.
pub fn of(profile: &Profile, listings: &[Listing], names: &Names) -> Vec<Traffic> {
    let analysis = phases::analyse(profile, &phases::default_thresholds(profile));
    // The bin of what ran before `main` has a width of its own.
    let bins = || analysis.timelines.iter().flat_map(|t| t.alike().1);
    let mean = |belongs: &dyn Fn(&phases::Bin) -> bool| {
        let lines: Vec<u64> = bins().filter(|bin| belongs(bin)).filter_map(|bin| bin.totals.lines).collect();
        (!lines.is_empty()).then(|| (lines.iter().sum::<u64>() as f64 / lines.len() as f64, lines.len()))
    };
    let sum = |function: String, listings: &mut dyn Iterator<Item = &Listing>, lines: Option<(f64, usize)>| {
        let width = if lines.is_some() { profile.phases.width } else { 0 };
        let (lines, bins) = lines.unzip();
        let mut traffic = Traffic { function, lines, width, bins: bins.unwrap_or(0), ..Traffic::default() };
        for line in listings.flat_map(|listing| &listing.lines).filter(|line| line.is_access) {
            traffic.accesses += line.executions;
            traffic.fills = [0, 1].map(|level| traffic.fills[level] + line.fills[level]);
        }
        traffic
    };
    let mut all: Vec<Traffic> = listings
        .iter()
        .map(|listing| {
            let lines = mean(&|bin| bin.labels == [listing.region]);
            sum(names.show(&profile.regions[listing.region as usize]), &mut std::iter::once(listing), lines)
        })
        .collect();
    all.sort_by(|a, b| b.accesses.cmp(&a.accesses).then_with(|| a.function.cmp(&b.function)));
    all.insert(0, sum(WHOLE.to_owned(), &mut listings.iter(), mean(&|_| true)));
    all
}

/// The median; of an even number the lower of the two in the middle, so that of two variants the one that moves less is what is
/// expected.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// Compares the variants; gives findings, and what could not be compared.
pub fn compare(variants: &[Variant]) -> (Vec<Finding>, Vec<String>) {
    let (mut findings, mut notes) = (Vec::new(), Vec::new());
    let Some(first) = variants.first().filter(|_| variants.len() > 1) else { return (findings, notes) };
    if let Some(other) =
        variants.iter().find(|v| (&v.cache, &v.instruction_set) != (&first.cache, &first.instruction_set))
    {
        let what = format!(
            "{} and {} have other caches or instruction sets; their traffic is not compared.",
            first.name, other.name
        );
        return (findings, vec![what]);
    }
    let mut functions: BTreeMap<&str, Vec<&Traffic>> = BTreeMap::new();
    variants.iter().flat_map(|v| &v.traffic).for_each(|t| functions.entry(&t.function).or_default().push(t));
    let whole = |v: &Variant| v.traffic.first().map_or(0, |t| t.accesses);
    // In the order of the first variant.
    let ordered = first.traffic.iter().map(|t| t.function.as_str());
    for function in ordered.filter(|function| functions[function].len() == variants.len()) {
        let all = &functions[function];
        if all.iter().zip(variants).any(|(t, v)| t.accesses as f64 >= SHARE * whole(v) as f64) {
            findings.extend(unlike(variants, all));
        }
    }
    for variant in variants {
        let is_alone = |t: &&Traffic| functions[t.function.as_str()].len() < variants.len();
        let matters = |t: &&Traffic| t.accesses as f64 >= SHARE * whole(variant) as f64;
        let alone: Vec<&str> =
            variant.traffic.iter().filter(is_alone).filter(matters).map(|t| t.function.as_str()).collect();
        if !alone.is_empty() {
            notes.push(format!("{}: not in all variants and not compared: {}.", variant.name, alone.join(", ")));
        }
    }
    (findings, notes)
}

/// Findings about one function: each variant whose traffic is unlike that of the others, for as many accesses and in all: what
/// makes a quarter of the accesses with wider instructions fetches four times as much for each, and no more.
fn unlike(variants: &[Variant], all: &[&Traffic]) -> Vec<Finding> {
    let fetched = Sides::of(all, Traffic::fetched, |t| t.fills[1] as f64);
    let has_lines = all.iter().all(|t| t.lines.is_some() && t.width == all[0].width);
    let lines = Sides::of(all, |t| t.lines.unwrap_or(0.0), |t| t.lines.unwrap_or(0.0) * t.bins as f64);
    let mut findings = Vec::new();
    for (i, (variant, traffic)) in variants.iter().zip(all).enumerate() {
        let (by_fetched, by_lines) = (fetched.is_unlike(i), has_lines && lines.is_unlike(i));
        if !by_fetched && !by_lines {
            continue;
        }
        let function = &traffic.function;
        let what = match by_fetched {
            true => format!("fetches {} as many lines as the other variants in {function}", times(fetched.total(i))),
            false => format!(
                "accesses {} as many different lines in a bin as the other variants in {function}",
                times(lines.each(i))
            ),
        };
        findings.push(Finding {
            detector: "traffic",
            share: 0.0,
            what: format!("{} {what}.", variant.name),
            evidence: evidence(variants, all),
            doubt: doubt(by_fetched, by_lines, has_lines, &variant.cache),
        });
    }
    findings
}

/// A number of all variants from two sides: for a unit of work, and in all.
struct Sides {
    each: Vec<f64>,
    total: Vec<f64>,
}

impl Sides {
    fn of(all: &[&Traffic], each: impl Fn(&Traffic) -> f64, total: impl Fn(&Traffic) -> f64) -> Self {
        Self { each: all.iter().map(|t| each(t)).collect(), total: all.iter().map(|t| total(t)).collect() }
    }

    /// How many times what is usual.
    fn each(&self, variant: usize) -> f64 {
        self.each[variant] / median(&self.each)
    }

    fn total(&self, variant: usize) -> f64 {
        self.total[variant] / median(&self.total)
    }

    /// Whether it is far more, or far less, from both sides.
    fn is_unlike(&self, variant: usize) -> bool {
        // Less than a line (for a thousand accesses) is nothing to a memory.
        let direction = |values: &[f64]| {
            let (value, usual) = (values[variant].max(1.0), median(values).max(1.0));
            (value >= UNLIKE * usual, usual >= UNLIKE * value)
        };
        let direction_of_each = direction(&self.each);
        direction_of_each != (false, false) && direction_of_each == direction(&self.total)
    }
}

fn times(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.2} times") } else { "many times".to_owned() }
}

fn evidence(variants: &[Variant], all: &[&Traffic]) -> Vec<String> {
    let line = |(variant, t): (&Variant, &&Traffic)| {
        let lines = t.lines.map(|lines| format!(", {lines:.0} different lines in a bin of {} instructions", t.width));
        format!(
            "{}: {} accesses, {:.1} lines fetched from beyond the caches for 1000 of them{}.",
            variant.name,
            t.accesses,
            t.fetched(),
            lines.unwrap_or_default()
        )
    };
    variants.iter().zip(all).map(line).collect()
}

fn doubt(by_fetched: bool, by_lines: bool, has_lines: bool, cache: &str) -> Vec<String> {
    let mut doubt = vec![format!(
        "The caches are a model ({cache}); a processor that fetches in advance moves as much and waits less, and one with larger caches moves less."
    )];
    if !by_lines && has_lines {
        doubt.push("Bins access as many different lines: the same ones are fetched again and again.".into());
    }
    if !by_fetched {
        doubt.push("The modelled caches hold what it accesses: memory itself need not see a difference.".into());
    }
    doubt.push("Variants are taken to do the same work: one that is given more to do fetches more.".into());
    doubt
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(name: &str, accesses: u64, fetched: u64, lines: Option<f64>) -> Variant {
        let of = |function: &str, accesses, fetched| Traffic {
            function: function.into(),
            accesses,
            fills: [fetched, fetched],
            lines,
            width: if lines.is_some() { 1000 } else { 0 },
            bins: accesses as usize / 100,
        };
        let traffic = vec![of(WHOLE, 2 * accesses, fetched), of("sum", accesses, fetched), of("main", 1, 1)];
        Variant { name: name.into(), traffic, ..Variant::default() }
    }

    /// Names in front of each finding.
    fn found(variants: &[Variant]) -> Vec<String> {
        compare(variants).0.iter().map(|f| f.what.clone()).collect()
    }

    #[test]
    fn lines_of_what_ran_before_main_are_in_no_mean() {
        let bin = |lines| poise_profile::Bin { lines: Some(lines), ..Default::default() };
        let bins = [1000, 10, 20].map(bin).to_vec();
        let timeline = |first_apart| poise_profile::Timeline { bins: bins.clone(), first_apart, ..Default::default() };
        let whole = |first_apart| {
            let mut profile = Profile::default();
            profile.phases.timelines = vec![timeline(first_apart)];
            let all = of(&profile, &[], &Names::of([&profile]));
            (all[0].lines.unwrap(), all[0].bins)
        };
        assert_eq!((whole(true), whole(false)), ((15.0, 2), (1030.0 / 3.0, 3)));
    }

    #[test]
    fn the_variant_that_is_unlike_the_others_is_named() {
        // As in the paper's figure 5: as many loads, half the requests.
        let variants = [
            variant("b4", 100_000, 12_500, None),
            variant("b8", 100_000, 6_250, None),
            variant("b16", 100_000, 12_600, None),
        ];
        let found = found(&variants);
        assert_eq!(found.len(), 2, "the whole program and the function: {found:?}");
        assert!(found[1].starts_with("b8 fetches 0.50 times as many lines as the other variants in sum"), "{found:?}");
    }

    #[test]
    fn of_two_the_one_that_moves_more_is_named() {
        let found = found(&[variant("columns", 100_000, 100_000, None), variant("rows", 100_000, 12_500, None)]);
        assert!(found.iter().all(|f| f.starts_with("columns fetches 8.00 times")), "{found:?}");
        assert!(
            compare(&[variant("a", 100_000, 50, None), variant("b", 100_000, 5, None)]).0.is_empty(),
            "next to nothing"
        );
    }

    #[test]
    fn fewer_accesses_for_as_many_lines_are_no_finding() {
        // A sum by scalar instructions, and by ones of four numbers: the same lines, in a quarter of the bins.
        let variants = |scalar, wide| {
            [variant("scalar", 400_000, 50_000, Some(scalar)), variant("wide", 100_000, 50_000, Some(wide))]
        };
        assert!(compare(&variants(40.0, 160.0)).0.is_empty());
        // As many lines for each access of a variant that has more to do.
        assert!(
            compare(&[variant("much", 800_000, 80_000, None), variant("little", 100_000, 10_000, None)]).0.is_empty()
        );
    }

    #[test]
    fn lines_of_bins_count_where_the_caches_see_nothing() {
        let (findings, _) = compare(&[variant("a", 100_000, 0, Some(40.0)), variant("b", 100_000, 0, Some(160.0))]);
        assert!(findings[0].what.starts_with("b accesses 4.00 times as many different"), "{findings:?}");
        assert!(findings[0].doubt.iter().any(|d| d.contains("need not see")), "{findings:?}");
        let mut other = variant("b", 100_000, 0, Some(160.0));
        other.traffic.iter_mut().for_each(|t| t.width = 7);
        assert!(compare(&[variant("a", 100_000, 0, Some(40.0)), other]).0.is_empty(), "bins of another width");
    }

    #[test]
    fn functions_that_a_variant_lacks_are_told() {
        let mut other = variant("b", 100_000, 5, None);
        other.traffic[1].function = "add".into();
        let (_, notes) = compare(&[variant("a", 100_000, 5, None), other]);
        assert_eq!(
            notes,
            ["a: not in all variants and not compared: sum.", "b: not in all variants and not compared: add."]
        );
    }
}
