//! Reads the text of a complexity law, such as `n^(2/3) * log2(p)^2`, and says where and why one cannot be read.

use std::ops::Range;

use num_rational::Ratio;

use crate::complexity::{Exponent, Factor, Term};

/// Exponents that laws may have: the seed paper's equation 2, and what a specification adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Sets {
    /// I, the exponents of parameters, ascending.
    pub exponents: Vec<Exponent>,
    /// J, the exponents of binary logarithms, ascending.
    pub log_exponents: Vec<u32>,
}

impl Default for Sets {
    /// Equations 2a and 2b.
    fn default() -> Self {
        const I: [(i32, i32); 20] = [
            (0, 1),
            (1, 4),
            (1, 3),
            (1, 2),
            (2, 3),
            (3, 4),
            (4, 5),
            (1, 1),
            (5, 4),
            (4, 3),
            (3, 2),
            (5, 3),
            (7, 4),
            (2, 1),
            (9, 4),
            (7, 3),
            (5, 2),
            (8, 3),
            (11, 4),
            (3, 1),
        ];
        Self { exponents: I.iter().map(|&(n, d)| Ratio::new(n, d)).collect(), log_exponents: vec![0, 1, 2] }
    }
}

impl Sets {
    /// Whether all exponents of the term are in the sets.
    #[must_use]
    pub fn hold(&self, term: &Term) -> bool {
        term.factors
            .iter()
            .all(|f| self.exponents.contains(&f.exponent) && self.log_exponents.contains(&f.log_exponent))
    }
}

/// What is wrong with a law, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LawError {
    /// Byte range in the text.
    pub at: Range<usize>,
    /// What is wrong and what was expected.
    pub message: String,
}

/// What the reader knows: the text, how far it has come, and what may be named.
struct Reader<'a> {
    text: &'a str,
    position: usize,
    parameters: &'a [String],
    sets: &'a Sets,
}

/// Reads a law over `parameters`, all exponents being from `sets`. The second value tells whether the text holds
/// numbers as factors, that is, whether the coefficient was chosen by hand.
///
/// # Errors
/// With the place in the text, where it is no law or an exponent is not in the sets.
pub fn parse(text: &str, parameters: &[String], sets: &Sets) -> Result<(Term, bool), LawError> {
    let mut reader = Reader { text, position: 0, parameters, sets };
    let (mut term, mut has_number) = (Term::constant(1.0), false);
    loop {
        let start = reader.skip_space();
        match reader.factor()? {
            Part::Number(value) => {
                has_number = true;
                term.coefficient *= value;
            }
            Part::Factor(factor) => {
                let overflow = || reader.error(start..reader.position, "the exponents add up beyond what can be held");
                term.push(factor).ok_or_else(overflow)?;
            }
        }
        let end = reader.skip_space();
        match reader.peek() {
            None => break,
            Some('*') => reader.position += 1,
            Some(c) => {
                return Err(reader.error(end..end + c.len_utf8(), format!("`{c}` where `*` or the end was expected")));
            }
        }
    }
    let whole = 0..text.len();
    if !sets.hold(&term) {
        let message = format!("the product {term} has exponents outside the sets; add them under [sets]");
        return Err(LawError { at: whole, message });
    }
    if !(term.coefficient.is_finite() && term.coefficient > 0.0) {
        return Err(LawError {
            at: whole,
            message: "the numbers multiply to zero or to more than can be held".to_owned(),
        });
    }
    Ok((term, has_number))
}

enum Part {
    Number(f64),
    Factor(Factor),
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn error(&self, at: Range<usize>, message: impl Into<String>) -> LawError {
        LawError { at, message: message.into() }
    }

    fn skip_space(&mut self) -> usize {
        self.position += self.rest().len() - self.rest().trim_start().len();
        self.position
    }

    /// Consumes characters while they satisfy `take`.
    fn word(&mut self, take: impl Fn(char) -> bool) -> Range<usize> {
        let start = self.position;
        self.position += self.rest().find(|c| !take(c)).unwrap_or(self.rest().len());
        start..self.position
    }

    fn expect(&mut self, wanted: char) -> Result<(), LawError> {
        let start = self.skip_space();
        match self.peek() {
            Some(c) if c == wanted => {
                self.position += 1;
                Ok(())
            }
            Some(c) => Err(self.error(start..start + c.len_utf8(), format!("`{c}` where `{wanted}` was expected"))),
            None => Err(self.error(start..start, format!("the text ends where `{wanted}` was expected"))),
        }
    }

    fn factor(&mut self) -> Result<Part, LawError> {
        match self.peek() {
            Some(c) if c.is_ascii_digit() => self.number().map(Part::Number),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => self.named().map(Part::Factor),
            found => {
                let what = found.map_or("the text ends".to_owned(), |c| format!("`{c}`"));
                let at = self.position..self.position + found.map_or(0, char::len_utf8);
                let message = format!("{what} where a number, a parameter or log2(parameter) was expected");
                Err(self.error(at, message))
            }
        }
    }

    fn number(&mut self) -> Result<f64, LawError> {
        let mut at = self.word(|c| c.is_ascii_alphanumeric() || c == '.');
        // The sign of a decimal exponent belongs to the number.
        if self.text[at.clone()].ends_with(['e', 'E']) && matches!(self.peek(), Some('-' | '+')) {
            self.position += 1;
            self.word(|c| c.is_ascii_digit());
            at.end = self.position;
        }
        let text = &self.text[at.clone()];
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
            _ => Err(self.error(at, format!("`{text}` is no positive number"))),
        }
    }

    fn named(&mut self) -> Result<Factor, LawError> {
        let at = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        let name = &self.text[at.clone()];
        if matches!(name, "log2" | "log" | "ln" | "log10") && self.rest().trim_start().starts_with('(') {
            return if name == "log2" {
                self.logarithm()
            } else {
                Err(self.error(at, "only log2 is a logarithm here"))
            };
        }
        let parameter = self.known(at.clone())?;
        let exponent = self.exponent()?.unwrap_or(Ratio::from_integer(1));
        if !self.sets.exponents.contains(&exponent) {
            let message = format!(
                "exponent {exponent} is not in the set I = {}; add it as `exponents` under [sets]",
                list(&self.sets.exponents)
            );
            return Err(self.error(at.start..self.position, message));
        }
        Ok(Factor { parameter, exponent, log_exponent: 0 })
    }

    fn logarithm(&mut self) -> Result<Factor, LawError> {
        let start = self.position;
        self.expect('(')?;
        self.skip_space();
        let at = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        let parameter = self.known(at)?;
        self.expect(')')?;
        let exponent = self.exponent()?.unwrap_or(Ratio::from_integer(1));
        let known = self.sets.log_exponents.iter().find(|&&j| Ratio::from_integer(j as i32) == exponent);
        match known {
            Some(&log_exponent) => Ok(Factor { parameter, exponent: Ratio::from_integer(0), log_exponent }),
            None => {
                let message = format!(
                    "exponent {exponent} of log2 is not in the set J = {}; add it as `log_exponents` under [sets]",
                    list(&self.sets.log_exponents)
                );
                Err(self.error(start..self.position, message))
            }
        }
    }

    fn known(&self, at: Range<usize>) -> Result<String, LawError> {
        let name = &self.text[at.clone()];
        if self.parameters.iter().any(|p| p == name) {
            return Ok(name.to_owned());
        }
        let known = self.parameters.join("`, `");
        Err(self.error(at, format!("`{name}` is no parameter; expected one of `{known}`")))
    }

    /// `^ 2`, `^(2/3)` or `^(-1)`; `None` where no `^` follows.
    fn exponent(&mut self) -> Result<Option<Exponent>, LawError> {
        self.skip_space();
        if self.peek() != Some('^') {
            return Ok(None);
        }
        self.position += 1;
        let start = self.skip_space();
        let bracketed = self.peek() == Some('(');
        let at = if bracketed {
            self.position += 1;
            let at = self.word(|c| c != ')');
            self.expect(')')?;
            at
        } else {
            self.word(|c| c.is_ascii_digit() || c == '.')
        };
        let text = self.text[at.clone()].replace(' ', "");
        let message = || format!("`{text}` is no exponent; expected an integer or a fraction such as (2/3)");
        let exponent = text.parse::<Exponent>().map_err(|_| self.error(start..self.position, message()))?;
        // Ratio's arithmetic overflows with the smallest integer, which nobody means.
        if exponent.numer().unsigned_abs() > 64 || exponent.denom().unsigned_abs() > 64 {
            return Err(
                self.error(start..self.position, format!("exponent {text} is beyond 64 in numerator or denominator"))
            );
        }
        Ok(Some(exponent))
    }
}

fn list<T: ToString>(values: &[T]) -> String {
    format!("{{{}}}", values.iter().map(T::to_string).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(text: &str) -> Result<(Term, bool), LawError> {
        parse(text, &["p".to_owned(), "n".to_owned()], &Sets::default())
    }

    fn refused(text: &str, at: Range<usize>, message: &str) {
        let error = law(text).unwrap_err();
        assert!(error.message.contains(message), "{text}: {}", error.message);
        assert_eq!(error.at, at, "{text}: {}", error.message);
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        for text in ["n", "n^(2/3)", "n * log2(p)", "p^(1/2) * log2(n)^2", "12.5 * n^2 * log2(n)", "1024"] {
            assert_eq!(law(text).unwrap().0.to_string(), text);
        }
        assert_eq!(law(" 2*n *3e2* n^( 1/2 ) ").unwrap().0.to_string(), "600 * n^(3/2)");
        assert_eq!(law("1e-3*n").unwrap().0.coefficient, 1e-3);
        assert!(law("3 * n").unwrap().1 && !law("n").unwrap().1);
    }

    #[test]
    fn errors_have_a_place_and_a_reason() {
        refused("n * q", 4..5, "`q` is no parameter; expected one of `p`, `n`");
        refused("n + p", 2..3, "`+` where `*` or the end was expected");
        refused("n *", 3..3, "the text ends where a number");
        refused("", 0..0, "the text ends where a number");
        refused("n^(2/7)", 0..7, "exponent 2/7 is not in the set I");
        refused("n^0.5", 2..5, "`0.5` is no exponent");
        refused("n^(1/0)", 2..7, "is no exponent");
        refused("n^(-2147483648/3)", 2..17, "beyond 64");
        refused("log2(n)^3", 4..9, "exponent 3 of log2 is not in the set J");
        refused("log2(n", 6..6, "the text ends where `)` was expected");
        refused("ln(n)", 0..2, "only log2");
        refused("0 * n", 0..1, "`0` is no positive number");
        refused("n^2 * n^2", 0..9, "the product n^4 has exponents outside the sets");
        refused("1e200 * 1e200", 0..13, "multiply to zero or to more");
        refused("n é", 2..4, "`é` where");
    }

    #[test]
    fn equation_2_has_59_factors_that_grow() {
        let sets = Sets::default();
        // 20 exponents by 3 logarithms, one of which is the constant.
        assert_eq!(sets.exponents.len() * sets.log_exponents.len() - 1, 59);
        assert!(sets.exponents.is_sorted());
    }
}
