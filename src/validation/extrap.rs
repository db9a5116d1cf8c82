//! Extra-P, where it is installed, on the same times: one file with all call paths, one run, and its formulas read back.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use modeler::formats::{self, Format};
use modeler::model::Exponent;

use super::figures::Scorer;
use super::score::Score;
use super::times;
use crate::error::{Error, Result};
use crate::install;
use crate::interrupt;

/// What separates fields of its output: in no name and no formula.
const SEPARATOR: &str = " | ";
/// Terms below this share of the model at the largest measured scale do not count as growth, as in our own models.
const MATTERS: f64 = 0.01;

/// The Extra-P that was asked for, or the one on the PATH; none where it was forbidden or is not there.
///
/// # Errors
/// The one that was asked for is not there.
pub fn find(asked: Option<&str>) -> Result<Option<PathBuf>> {
    match asked {
        Some("off") => Ok(None),
        Some(path) => match install::find_program(path) {
            Some(program) => Ok(Some(program)),
            None => Err(Error::Usage(format!("--extrap names {path}, which is no program."))),
        },
        None => Ok(install::find_program("extrap")),
    }
}

/// Its scores, in the subjects' order. What it wrote stays in `folder`, and a second call reads it there.
///
/// # Errors
/// It cannot be run, or fails.
pub fn scores(program: &Path, folder: &Path, scorer: &Scorer) -> Result<Vec<Option<Score>>> {
    let subjects: Vec<_> = scorer.subjects.iter().collect();
    let variants: Vec<_> = subjects.iter().map(|s| vec![s.times.clone()]).collect();
    let experiment = times::experiment(scorer.trained, &subjects, false, &variants);
    let mut text = Vec::new();
    formats::write(&experiment, Format::ExtraPText, &mut text).map_err(|e| Error::Defect(e.to_string()))?;
    let (input, output) = (folder.join("extrap.txt"), folder.join("extrap.models.txt"));
    if fs::read(&input).ok().as_deref() != Some(&text[..]) || !output.is_file() {
        fs::write(&input, &text).map_err(|e| Error::cannot_write(&input, &e))?;
        let said = run(program, &input)?;
        fs::write(&output, said).map_err(|e| Error::cannot_write(&output, &e))?;
    }
    let said = fs::read_to_string(&output).map_err(|e| Error::cannot_read(&output, &e))?;
    let models: HashMap<&str, &str> = said.lines().filter_map(|line| line.split_once(SEPARATOR)).collect();
    let parameters = &scorer.trained.parameters;
    let corner: Vec<f64> =
        (0..parameters.len()).map(|l| scorer.trained.points.iter().map(|x| x[l]).fold(0.0, f64::max)).collect();
    let test = scorer.plan.test();
    let score = |subject: &times::Subject| {
        let formula = models.get(subject.truth.callpath.join("->").as_str())?;
        let terms = parse(formula, parameters)?;
        let predicted: f64 = terms.iter().map(|t| t.at(&test)).sum();
        let growth = growth(&terms, &corner);
        Some(Score::new(subject.truth, parameters, &growth, (subject.unseen, predicted), (*formula).to_owned()))
    };
    Ok(scorer.subjects.iter().map(score).collect())
}

fn run(program: &Path, input: &Path) -> Result<Vec<u8>> {
    let print = format!("{{callpath}}{SEPARATOR}{{model:python}}");
    let mut command = Command::new(program);
    command.args(["--disable-progress", "--measure", "median", "--print", &print, "--text"]).arg(input);
    let failed = |why: String| Error::Usage(format!("{} {why}; --extrap off leaves it out.", program.display()));
    let output = command.output().map_err(|e| failed(format!("cannot be started: {e}")))?;
    interrupt::check()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(format!("failed: {}", said.lines().last().unwrap_or("it said nothing"))))
}

/// A product `coefficient · Π x^exponent · log2(x)^log`.
#[derive(Debug, PartialEq)]
struct Product {
    coefficient: f64,
    /// Exponents of each parameter and of its logarithm.
    powers: Vec<(Exponent, i32)>,
}

impl Product {
    fn at(&self, x: &[f64]) -> f64 {
        let power = |(x, (exponent, log)): (&f64, &(Exponent, i32))| {
            x.powf(f64::from(*exponent.numer()) / f64::from(*exponent.denom())) * x.log2().powi(*log)
        };
        x.iter().zip(&self.powers).map(power).product::<f64>() * self.coefficient
    }
}

/// Leading exponents over the terms that matter.
fn growth(terms: &[Product], corner: &[f64]) -> Vec<Exponent> {
    let total: f64 = terms.iter().map(|t| t.at(corner)).sum();
    let matter = || terms.iter().filter(|t| t.at(corner).abs() >= MATTERS * total.abs());
    let of = |l: usize| matter().map(|t| t.powers[l].0).max().unwrap_or_default();
    (0..corner.len()).map(of).collect()
}

/// Reads a formula such as `2.1e-05+4.1e-08*n**(3/2)*log2(p)**(1)`; `None` of anything else.
fn parse(formula: &str, parameters: &[String]) -> Option<Vec<Product>> {
    let text: String = formula.replace("**", "^").chars().filter(|c| !c.is_whitespace()).collect();
    let mut terms = Vec::new();
    let mut start = 0;
    let bytes = text.as_bytes();
    for i in 1..=bytes.len() {
        let ends = i == bytes.len()
            || matches!(bytes[i], b'+' | b'-')
                && !matches!(bytes[i - 1], b'e' | b'E' | b'(' | b'^' | b'*' | b'+' | b'-');
        if ends {
            terms.push(product(text[start..i].trim_start_matches('+'), parameters)?);
            start = i;
        }
    }
    Some(terms)
}

fn product(text: &str, parameters: &[String]) -> Option<Product> {
    let (sign, text) = text.strip_prefix('-').map_or((1.0, text), |rest| (-1.0, rest));
    let mut product = Product { coefficient: sign, powers: vec![Default::default(); parameters.len()] };
    for factor in text.split('*') {
        if let Ok(number) = factor.parse::<f64>() {
            product.coefficient *= number;
            continue;
        }
        let (base, exponent) = factor.split_once('^').unwrap_or((factor, "1"));
        let exponent: Exponent = exponent.trim_matches(['(', ')']).parse().ok()?;
        let logarithm = base.strip_prefix("log2(").and_then(|rest| rest.strip_suffix(')'));
        let l = parameters.iter().position(|p| p == logarithm.unwrap_or(base))?;
        match logarithm {
            Some(_) => product.powers[l].1 += exponent.is_integer().then(|| exponent.to_integer())?,
            None => product.powers[l].0 += exponent,
        }
    }
    Some(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_of_extra_p_are_read() {
        let parameters = ["p".to_owned(), "n".to_owned()];
        let formula = "2.1742199996003058e-05+4e-08*n**(3/2)*log2(n)**(1)-1e-06*p**(1)*log2(n)**(2)";
        let terms = parse(formula, &parameters).unwrap();
        let expected = 2.1742199996003058e-05 + 4e-8 * 64.0 * 8.0_f64.powi(1) * 4.0 - 1e-6 * 2.0 * 16.0;
        let value: f64 = terms.iter().map(|t| t.at(&[2.0, 16.0])).sum();
        assert!((value - (expected - 4e-8 * 64.0 * 8.0 * 4.0 + 4e-8 * 64.0 * 4.0)).abs() < 1e-15);
        assert_eq!(growth(&terms, &[2.0, 1e6]), [Exponent::from_integer(0), Exponent::new(3, 2)]);
        assert_eq!(parse("5", &parameters).unwrap()[0].at(&[1.0, 1.0]), 5.0);
        assert_eq!(parse("nan", &parameters).map(|t| t[0].coefficient.is_nan()), Some(true));
        assert_eq!(parse("1e-3*q**(2)", &parameters), None);
    }
}
