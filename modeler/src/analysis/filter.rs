//! Conditions on rows: `p >= 4 and host in ("a", "b") and not n / p < 100`.
//!
//! `or`, `and`, `not`, comparisons, `in`, sums, products and parentheses, binding ever tighter. Names are columns; names
//! that are no words stand in backticks. Texts stand in single or double quotes.

use super::table::{Table, Values};

/// A condition on a row.
///
/// ```
/// use modeler::analysis::Filter;
/// assert!(Filter::parse("p > 4").is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    root: Node,
}

/// What is wrong with a condition, and where: a column of its text, counted from 1.
///
/// ```
/// use modeler::analysis::Filter;
/// let error = Filter::parse("").unwrap_err();
/// assert!(error.column >= 1 && !error.what.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the condition, column {column}: {what}")]
pub struct FilterError {
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong and what was expected, a clause.
    pub what: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Text(String),
    Column(String, usize),
    Negative(Box<Node>),
    Not(Box<Node>),
    Arithmetic(char, Box<Node>, Box<Node>),
    Compare(&'static str, Box<Node>, Box<Node>, usize),
    In(Box<Node>, Vec<Node>, usize),
    Both(Box<Node>, Box<Node>),
    Either(Box<Node>, Box<Node>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Text(String),
    Name(String),
    Sign(&'static str),
}

/// What an expression gives.
#[derive(Clone, Debug, PartialEq)]
enum Value<'a> {
    Number(f64),
    Text(&'a str),
    Truth(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Truth,
}

const SIGNS: [&str; 16] = ["<=", ">=", "==", "!=", "&&", "||", "<", ">", "=", "(", ")", ",", "+", "-", "*", "/"];
/// Nested parentheses and negations, at most; nobody types more.
const DEPTH: usize = 64;
/// Words and signs, at most; a chain of conditions is as deep as it is long.
const LENGTH: usize = 2000;

impl Filter {
    /// Reads a condition.
    ///
    /// ```
    /// use modeler::analysis::Filter;
    /// assert!(Filter::parse("p > 4").is_ok());
    /// assert!(Filter::parse("p >").is_err()); // than what?
    /// ```
    ///
    /// # Errors
    /// It breaks the grammar.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let tokens = tokens(text)?;
        if let Some((_, column)) = tokens.get(LENGTH) {
            return Err(FilterError { column: *column, what: format!("this is longer than {LENGTH} words and signs") });
        }
        let mut parser = Parser { tokens: &tokens, at: 0, end: text.chars().count() + 1, depth: 0 };
        let root = parser.either()?;
        match parser.tokens.get(parser.at) {
            None => Ok(Self { root }),
            Some(_) => Err(parser.wrong("the condition should end here, or go on with and, or")),
        }
    }

    /// The rows of `table` for which the condition holds. A row without a value that is asked for is not among them.
    ///
    /// # Errors
    /// A column is unknown, or a text is used as a number or a number as a text.
    pub(crate) fn rows(&self, table: &Table) -> Result<Vec<usize>, FilterError> {
        if self.root.kind(table)? != Kind::Truth {
            return Err(FilterError { column: 1, what: "this is no condition; compare it with something".into() });
        }
        let holds = |row: &usize| self.root.value(table, *row) == Some(Value::Truth(true));
        Ok((0..table.rows()).filter(holds).collect())
    }
}

fn tokens(text: &str) -> Result<Vec<(Token, usize)>, FilterError> {
    let characters: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        let rest = &characters[at..];
        let start = at;
        let c = rest[0];
        let length = |f: &dyn Fn(char) -> bool| rest.iter().take_while(|&&c| f(c)).count();
        if c.is_whitespace() {
            at += 1;
        } else if matches!(c, '"' | '\'' | '`') {
            let inner: String = rest[1..].iter().take_while(|&&other| other != c).collect();
            at += inner.chars().count() + 2;
            if at > characters.len() {
                return Err(FilterError { column: start + 1, what: format!("the closing {c} is missing") });
            }
            found.push((if c == '`' { Token::Name(inner) } else { Token::Text(inner) }, start + 1));
        } else if c.is_ascii_digit() || (c == '.' && rest.get(1).is_some_and(char::is_ascii_digit)) {
            let (number, used) = number(rest);
            at += used;
            let what = || format!("`{number}` is no number");
            let value = number.parse().map_err(|_| FilterError { column: start + 1, what: what() })?;
            found.push((Token::Number(value), start + 1));
        } else if c.is_alphabetic() || c == '_' {
            let used = length(&|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
            at += used;
            found.push((Token::Name(rest[..used].iter().collect()), start + 1));
        } else {
            let sign = SIGNS.into_iter().find(|s| s.chars().eq(rest.iter().copied().take(s.len())));
            let what = || format!("`{c}` has no meaning here; texts stand in quotes, odd names in backticks");
            let sign = sign.ok_or_else(|| FilterError { column: start + 1, what: what() })?;
            at += sign.len();
            found.push((Token::Sign(sign), start + 1));
        }
    }
    Ok(found)
}

/// The number at the beginning and how many characters it has, `1e-3` included.
fn number(rest: &[char]) -> (String, usize) {
    let mut used = 0;
    while let Some(&c) = rest.get(used) {
        let after_exponent = used > 0 && matches!(rest[used - 1], 'e' | 'E');
        if c.is_ascii_alphanumeric() || c == '.' || (matches!(c, '+' | '-') && after_exponent) {
            used += 1;
        } else {
            break;
        }
    }
    (rest[..used].iter().collect(), used)
}

struct Parser<'a> {
    tokens: &'a [(Token, usize)],
    at: usize,
    /// Column behind the text.
    end: usize,
    depth: usize,
}

impl Parser<'_> {
    fn column(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |(_, column)| *column)
    }

    fn wrong(&self, what: &str) -> FilterError {
        FilterError { column: self.column(), what: what.to_owned() }
    }

    fn sign(&mut self, wanted: &[&'static str]) -> Option<&'static str> {
        let Some((Token::Sign(sign), _)) = self.tokens.get(self.at) else { return None };
        wanted.contains(sign).then(|| {
            self.at += 1;
            *sign
        })
    }

    fn word(&mut self, wanted: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some((Token::Name(name), _)) if name == wanted);
        self.at += usize::from(found);
        found
    }

    fn either(&mut self) -> Result<Node, FilterError> {
        let mut left = self.both()?;
        while self.word("or") || self.sign(&["||"]).is_some() {
            left = Node::Either(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Node, FilterError> {
        let mut left = self.not()?;
        while self.word("and") || self.sign(&["&&"]).is_some() {
            left = Node::Both(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Node, FilterError> {
        if self.word("not") {
            return self.deeper(|parser| Ok(Node::Not(Box::new(parser.not()?))));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Node, FilterError> {
        let left = self.sum()?;
        let column = self.column();
        if self.word("in") {
            let list = self.list()?;
            return Ok(Node::In(Box::new(left), list, column));
        }
        match self.sign(&["<=", ">=", "==", "!=", "<", ">", "="]) {
            Some(sign) => {
                let sign = if sign == "=" { "==" } else { sign };
                Ok(Node::Compare(sign, Box::new(left), Box::new(self.sum()?), column))
            }
            None => Ok(left),
        }
    }

    fn list(&mut self) -> Result<Vec<Node>, FilterError> {
        self.sign(&["("]).ok_or_else(|| self.wrong("expected a list such as (1, 2, 4)"))?;
        let mut list = vec![self.sum()?];
        while self.sign(&[","]).is_some() {
            list.push(self.sum()?);
        }
        self.sign(&[")"]).ok_or_else(|| self.wrong("expected a comma or the closing parenthesis"))?;
        Ok(list)
    }

    fn sum(&mut self) -> Result<Node, FilterError> {
        self.chain(&["+", "-"], Self::product)
    }

    fn product(&mut self) -> Result<Node, FilterError> {
        self.chain(&["*", "/"], Self::atom)
    }

    fn chain(
        &mut self,
        signs: &[&'static str],
        part: fn(&mut Self) -> Result<Node, FilterError>,
    ) -> Result<Node, FilterError> {
        let mut left = part(self)?;
        while let Some(sign) = self.sign(signs) {
            let operation = sign.chars().next().unwrap_or('+');
            left = Node::Arithmetic(operation, Box::new(left), Box::new(part(self)?));
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Node, FilterError> {
        if self.sign(&["-"]).is_some() {
            return self.deeper(|parser| Ok(Node::Negative(Box::new(parser.atom()?))));
        }
        if self.sign(&["("]).is_some() {
            let inner = self.deeper(Self::either)?;
            self.sign(&[")"]).ok_or_else(|| self.wrong("expected the closing parenthesis"))?;
            return Ok(inner);
        }
        let node = match self.tokens.get(self.at) {
            Some((Token::Number(value), _)) => Node::Number(*value),
            // A text that was chosen to be empty stands in tables with its quotes, since an empty cell is missing.
            Some((Token::Text(text), _)) if text.is_empty() => Node::Text("\"\"".into()),
            Some((Token::Text(text), _)) => Node::Text(text.clone()),
            Some((Token::Name(name), column)) => Node::Column(name.clone(), *column),
            _ => return Err(self.wrong("expected a column, a number or a text in quotes")),
        };
        self.at += 1;
        Ok(node)
    }

    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Result<Node, FilterError>) -> Result<Node, FilterError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.wrong("this is nested too deeply"));
        }
        let node = inner(self);
        self.depth -= 1;
        node
    }
}

impl Node {
    fn kind(&self, table: &Table) -> Result<Kind, FilterError> {
        let number = |node: &Node| match node.kind(table)? {
            Kind::Number => Ok(()),
            _ => Err(FilterError { column: node.place(), what: "this is no number".into() }),
        };
        let truth = |node: &Node| match node.kind(table)? {
            Kind::Truth => Ok(()),
            _ => Err(FilterError { column: node.place(), what: "this is no condition; compare it".into() }),
        };
        let same = |a: &Node, b: &Node, column: usize| match (a.kind(table)?, b.kind(table)?) {
            (a, b) if a == b && a != Kind::Truth => Ok(a),
            _ => Err(FilterError { column, what: "a number and a text cannot be compared".into() }),
        };
        match self {
            Self::Number(_) => Ok(Kind::Number),
            Self::Text(_) => Ok(Kind::Text),
            Self::Column(name, column) => match table.find(name) {
                Some(i) if matches!(table.columns[i].values, Values::Numbers(_)) => Ok(Kind::Number),
                Some(_) => Ok(Kind::Text),
                None => Err(FilterError { column: *column, what: format!("there is {}", table.lacks(name, "")) }),
            },
            Self::Negative(inner) => number(inner).map(|()| Kind::Number),
            Self::Arithmetic(_, a, b) => number(a).and_then(|()| number(b)).map(|()| Kind::Number),
            Self::Not(inner) => truth(inner).map(|()| Kind::Truth),
            Self::Both(a, b) | Self::Either(a, b) => truth(a).and_then(|()| truth(b)).map(|()| Kind::Truth),
            Self::Compare(_, a, b, column) => same(a, b, *column).map(|_| Kind::Truth),
            Self::In(a, list, column) => {
                list.iter().try_for_each(|b| same(a, b, *column).map(|_| ()))?;
                Ok(Kind::Truth)
            }
        }
    }

    /// The first column of the condition's text that is known of this part.
    fn place(&self) -> usize {
        match self {
            Self::Number(_) | Self::Text(_) => 1,
            Self::Column(_, column) => *column,
            Self::Negative(a) | Self::Not(a) => a.place(),
            Self::Compare(_, _, _, column) | Self::In(_, _, column) => *column,
            Self::Arithmetic(_, a, _) | Self::Both(a, _) | Self::Either(a, _) => a.place(),
        }
    }

    /// The value for one row; `None` where something is missing.
    fn value<'a>(&'a self, table: &'a Table, row: usize) -> Option<Value<'a>> {
        let truth = |node: &'a Node| match node.value(table, row) {
            Some(Value::Truth(truth)) => Some(truth),
            _ => None,
        };
        let number = |node: &'a Node| match node.value(table, row) {
            Some(Value::Number(v)) if v.is_finite() => Some(v),
            _ => None,
        };
        Some(match self {
            Self::Number(v) => Value::Number(*v),
            Self::Text(t) => Value::Text(t),
            Self::Column(name, _) => match &table.columns[table.find(name)?].values {
                Values::Numbers(values) => Value::Number(values[row]),
                Values::Texts(texts) if texts[row].is_empty() => return None,
                Values::Texts(texts) => Value::Text(&texts[row]),
            },
            Self::Negative(inner) => Value::Number(-number(inner)?),
            Self::Not(inner) => match inner.value(table, row)? {
                Value::Truth(t) => Value::Truth(!t),
                _ => return None,
            },
            Self::Arithmetic(operation, a, b) => {
                let (a, b) = (number(a)?, number(b)?);
                Value::Number(match operation {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a / b,
                })
            }
            Self::Compare(sign, a, b, _) => Value::Truth(compare(sign, &a.value(table, row)?, &b.value(table, row)?)?),
            Self::In(a, list, _) => {
                let a = a.value(table, row)?;
                Value::Truth(
                    list.iter().any(|b| b.value(table, row).is_some_and(|b| compare("==", &a, &b) == Some(true))),
                )
            }
            Self::Both(a, b) => Value::Truth(joined(truth(a), truth(b), false)?),
            Self::Either(a, b) => Value::Truth(joined(truth(a), truth(b), true)?),
        })
    }
}

/// Two truths of which one decides alone where it is `decides`, even if the other is unknown.
fn joined(a: Option<bool>, b: Option<bool>, decides: bool) -> Option<bool> {
    if a == Some(decides) || b == Some(decides) { Some(decides) } else { a.and(b) }
}

fn compare(sign: &str, a: &Value, b: &Value) -> Option<bool> {
    let order = match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.partial_cmp(b)?,
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        _ => return None,
    };
    Some(match sign {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        "!=" => order.is_ne(),
        _ => order.is_eq(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::table::Column;

    fn table() -> Table {
        let column =
            |name: &str, cells: &[&str]| Column::of_cells(name, cells.iter().map(|&c| c.to_owned()).collect(), true);
        Table {
            columns: vec![
                column("p", &["2", "4", "8", ""]),
                column("wall time", &["1", "0.5", "1e-3", "9"]),
                column("host", &["a", "b", "a", ""]),
            ],
        }
    }

    fn rows(condition: &str) -> Result<Vec<usize>, String> {
        Filter::parse(condition).and_then(|f| f.rows(&table())).map_err(|e| e.to_string())
    }

    #[test]
    fn conditions_choose_the_rows_for_which_they_hold() {
        assert_eq!(rows("p >= 4"), Ok(vec![1, 2]));
        assert_eq!(rows("p = 2 or host == 'b'"), Ok(vec![0, 1]));
        assert_eq!(rows("not p > 2 and host != \"b\""), Ok(vec![0]));
        assert_eq!(rows("p in (2, 2 + 6)"), Ok(vec![0, 2]));
        assert_eq!(rows("`wall time` * p < 1 && p > -1"), Ok(vec![2]));
        assert_eq!(rows("p - 2 - 2 == 0"), Ok(vec![1]));
        assert_eq!(rows("p / 2 / 2 == 2"), Ok(vec![2]));
        assert_eq!(rows("(p > 2 or host == 'a') and p < 8"), Ok(vec![0, 1]));
        // Or binds weaker than and.
        assert_eq!(rows("p == 2 or p == 4 and host == 'a'"), Ok(vec![0]));
    }

    #[test]
    fn what_is_missing_satisfies_nothing() {
        assert_eq!(rows("p < 100"), Ok(vec![0, 1, 2]));
        assert_eq!(rows("not p < 100"), Ok(vec![]));
        assert_eq!(rows("host != 'a'"), Ok(vec![1]));
        assert_eq!(rows("not (p < 5 and host == 'a')"), Ok(vec![1, 2]));
        assert_eq!(rows("p < 5 or `wall time` == 9"), Ok(vec![0, 1, 3]));
    }

    #[test]
    fn errors_say_where() {
        for (condition, expected) in [
            ("p >", "column 4: expected a column"),
            ("p > 'x'", "column 3: a number and a text"),
            ("q > 1", "column 1: there is no column `q`; the columns are p, wall time, host"),
            ("p", "compare it with something"),
            ("p > 1 p", "column 7: the condition should end"),
            ("p > 1x", "column 5: `1x` is no number"),
            ("(p > 1", "column 7: expected the closing"),
            ("host > 'a", "column 8: the closing '"),
            ("p > 1 & q", "column 7: `&` has no meaning"),
            ("p and p > 1", "column 1: this is no condition"),
        ] {
            let error = rows(condition).unwrap_err();
            assert!(error.contains(expected), "{condition}: {error}");
        }
        assert!(rows(&"(".repeat(1000)).unwrap_err().contains("too deeply"));
        assert!(rows(&"not ".repeat(1000)).unwrap_err().contains("too deeply"));
        assert!(rows(&format!("p > 1{}", " or p > 1".repeat(50_000))).unwrap_err().contains("longer than 2000"));
        assert_eq!(rows(&format!("p > 2{}", " and p > 2".repeat(400))), Ok(vec![1, 2]));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[a-z0-9 ().,'\"`<>=!&|+*/-]{0,40}|\\PC{0,20}") {
            let _ = rows(&text);
        }

        #[test]
        fn comparisons_agree_with_rust(limit in -10i32..10, sign in 0usize..6) {
            let sign = ["<", "<=", ">", ">=", "==", "!="][sign];
            let holds = |p: f64| match sign {
                "<" => p < f64::from(limit),
                "<=" => p <= f64::from(limit),
                ">" => p > f64::from(limit),
                ">=" => p >= f64::from(limit),
                "==" => p == f64::from(limit),
                _ => p != f64::from(limit),
            };
            let expected: Vec<usize> = [2.0, 4.0, 8.0].iter().enumerate().filter(|(_, p)| holds(**p)).map(|(i, _)| i).collect();
            prop_assert_eq!(rows(&format!("p {sign} {limit}")), Ok(expected));
        }
    }
}
