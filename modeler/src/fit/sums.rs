//! Sums that a search of times need not come to, since no product of theirs is near alone: looked for where the values tell that the function
//! found is not theirs.

use crate::data::Data;
use crate::effort::Workspace;
use crate::hypotheses::Hypotheses;
use crate::library::Shape;
use crate::model::Factor;
use crate::shape_search::{self, Candidate, Extent, MOST_PRODUCTS, PLAIN_PRICE};

/// Of five and six values that fall and then rise sums are the function where they leave at most this share of what points that are left out
/// are off by; of more, which tell more, where the likelihood of such a share is as small. Of repeated values that tell them apart from a sum,
/// too, the same share of the squares.
const MUCH_CLOSER: f64 = 0.2;
/// What six values leave free that have a constant, two terms and some choice of these.
const FREE_OF_SIX: f64 = 2.0;
/// Residuals of less say nothing for a sum of few values: of so many sums some are nearer to them than their noise is large.
const LEAST_NOISE: f64 = 0.02;
/// On grids, functions that points left out are off by no more than so many times what the values are off cubics miss nothing but noise.
const NO_ROUGHER: f64 = 1.25;
/// Those that points left out are off by more miss something, on grids of two parameters and of more, whose many more lines say better how
/// rough values are.
const MISSED: [f64; 2] = [4.0, 1.5];
/// With more parameters the products that lines suggest apart from grids are too many, and most are no candidates of the search.
const MOST_PARAMETERS: usize = 2;
/// Terms of the longest sums that are tried.
const MOST_TERMS: usize = 4;
/// Of the shapes along a line the factors of so many are tried.
const OF_LINE: usize = 3;

/// The sums that may be the function of the values of `data`, the chosen one first, where these tell that `first` is not: repetitions by
/// their test of lack of fit, and values measured once where they fall and then rise, which no single product does. None where nothing
/// better is found, and of more than two parameters that are no grid, which have too many products.
pub(super) fn beside(
    first: &Candidate,
    data: &Data,
    hypotheses: &Hypotheses,
    workspace: &mut Workspace,
) -> Vec<Candidate> {
    if hypotheses.varying() > MOST_PARAMETERS && !hypotheses.is_grid() {
        return Vec::new();
    }
    if data.may_tell_apart() {
        let tells = |candidate: &Candidate| data.tells_apart(&candidate.basis());
        let variance = data.variance_of_points();
        if !tells(first) {
            return Vec::new();
        }
        let proposed = proposed(hypotheses, data, variance);
        let mut sums = all(hypotheses, data, variance, &proposed, workspace);
        sums.retain(|sum| sum.score < first.score);
        let (mut untold, mut told): (Vec<_>, Vec<_>) = sums.into_iter().partition(|sum| !tells(sum));
        if untold.is_empty() {
            untold = longer(&proposed, data, variance);
            untold.retain(|sum| !tells(sum));
        }
        told.retain(|sum| sum.left_out < MUCH_CLOSER * first.left_out);
        return if untold.is_empty() { told } else { untold };
    }
    let roughness = || data.lines.roughness(data.levels());
    let is_rougher = |times: f64| roughness().is_some_and(|roughness| first.left_out > (times * roughness).powi(2));
    let missed = MISSED[usize::from(hypotheses.varying() > 2)];
    let is_missed = || hypotheses.is_grid() && hypotheses.varying() > 1 && is_rougher(missed);
    if first.is_exact() || !data.lines.fall_and_rise(data.levels()) && !is_missed() {
        return Vec::new();
    }
    let free = FREE_OF_SIX + data.points.len().saturating_sub(6) as f64;
    let most = MUCH_CLOSER.powf(2.0 * FREE_OF_SIX / free) * first.left_out;
    let are_few = hypotheses.varying() == 1 || !hypotheses.is_grid();
    let is_better = |sum: &Candidate| match are_few {
        true => sum.left_out < most,
        false => sum.score < first.score - PLAIN_PRICE,
    };
    if !are_few && roughness().is_some() && !is_rougher(NO_ROUGHER) {
        return Vec::new();
    }
    let variance = if are_few { LEAST_NOISE * LEAST_NOISE } else { 0.0 };
    let proposed = proposed(hypotheses, data, variance);
    let (mut better, others): (Vec<_>, Vec<_>) =
        all(hypotheses, data, variance, &proposed, workspace).into_iter().partition(is_better);
    if !better.is_empty() {
        better.extend(others);
    }
    better
}

/// Shapes for the values of `data`, of which each has this relative variance, those among them that begin with any factor of one parameter,
/// or with any product of several parameters that lines suggest, those of `proposed` on grids.
fn all(
    hypotheses: &Hypotheses,
    data: &Data,
    variance: f64,
    proposed: &[Vec<Shape>],
    workspace: &mut Workspace,
) -> Vec<Candidate> {
    let (y, power) = (data.levels(), data.weight_power());
    if hypotheses.varying() == 1 {
        return shape_search::search(hypotheses, y, power, (Extent::AllSums, variance), &mut workspace.searched);
    }
    let products = match hypotheses.is_grid() {
        true => distinct(proposed),
        false => products_of_lines(hypotheses, data, variance, workspace),
    };
    shape_search::search(hypotheses, y, power, (Extent::Proposed(&products), variance), &mut workspace.searched)
}

/// Those of `proposed` with more products than [`shape_search::search`] looks at, each value of this relative variance, the one of the shortest
/// description first.
fn longer(proposed: &[Vec<Shape>], data: &Data, variance: f64) -> Vec<Candidate> {
    // Sums are fitted relative to their values.
    let is_relative = data.weight_power() == 1.0;
    let is_longer = |products: &&Vec<Shape>| is_relative && (MOST_PRODUCTS + 1..=MOST_TERMS).contains(&products.len());
    let fitted = |products: &Vec<Shape>| Candidate::of_sum(products, &data.points, data.levels(), variance);
    let mut longer: Vec<Candidate> = proposed.iter().filter(is_longer).filter_map(fitted).collect();
    longer.sort_by(|a, b| a.score.total_cmp(&b.score));
    longer
}

/// Sums that fit the lines of a grid of several parameters together.
fn proposed(hypotheses: &Hypotheses, data: &Data, variance: f64) -> Vec<Vec<Shape>> {
    if hypotheses.varying() == 1 {
        return Vec::new();
    }
    let y = data.levels();
    let relative: Vec<f64> = y.iter().map(|y| y.recip()).collect();
    let noise = data.lines.roughness(y).map_or(variance, |roughness| variance.max(roughness * roughness));
    hypotheses.proposals_of(MOST_PRODUCTS, y, &relative, noise, true)
}

/// The products of these sums.
fn distinct(sums: &[Vec<Shape>]) -> Vec<Shape> {
    let mut products = Vec::new();
    for product in sums.iter().flatten() {
        if !products.contains(product) {
            products.push(product.clone());
        }
    }
    products
}

/// The products of factors that are near the values along the longest line of each parameter, where points are no grid.
fn products_of_lines(hypotheses: &Hypotheses, data: &Data, variance: f64, workspace: &mut Workspace) -> Vec<Shape> {
    let power = data.weight_power();
    let mut products: Vec<Shape> = vec![Shape::new()];
    for l in 0..data.points[0].len() {
        let Some(line) = data.lines.longest(l) else { continue };
        let y: Vec<f64> = line.iter().map(|&i| data.levels()[i]).collect();
        let along = Hypotheses::new(line.iter().map(|&i| data.points[i]).collect(), hypotheses.sets());
        let found = shape_search::search(&along, &y, power, (Extent::AllSums, variance), &mut workspace.searched);
        let mut factors: Vec<Option<Factor>> = vec![None];
        for factor in found.iter().take(OF_LINE).flat_map(|shape| &shape.terms).flat_map(|term| &term.factors) {
            if !factors.contains(&Some(*factor)) {
                factors.push(Some(*factor));
            }
        }
        let with = |product: &Shape| -> Vec<Shape> {
            factors.iter().map(|factor| product.iter().copied().chain(*factor).collect()).collect()
        };
        products = products.iter().flat_map(with).collect();
    }
    products.retain(|product| !product.is_empty());
    products
}
