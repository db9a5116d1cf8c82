//! The small expression language of studies: numbers, texts and truth values over the names of parameters, as in
//! `p * n <= 1e6 && solver != "gmres"`. It has no loops, no state and no access to anything outside.

use std::collections::BTreeSet;

use modeler::words::beginning;

/// What an expression gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// True or false.
    Truth(bool),
}

impl Term {
    fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::Truth(_) => "true or false",
        }
    }
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Constant(Term),
    Name(String),
    Unary(char, Box<Node>),
    Binary(&'static str, Box<Node>, Box<Node>),
    Call(&'static Function, Vec<Node>),
}

/// A function of numbers.
#[derive(Debug)]
struct Function {
    name: &'static str,
    arguments: usize,
    compute: fn(&[f64]) -> f64,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

static FUNCTIONS: [Function; 11] = [
    Function { name: "abs", arguments: 1, compute: |x| x[0].abs() },
    Function { name: "cbrt", arguments: 1, compute: |x| x[0].cbrt() },
    Function { name: "ceil", arguments: 1, compute: |x| x[0].ceil() },
    Function { name: "floor", arguments: 1, compute: |x| x[0].floor() },
    Function { name: "log", arguments: 1, compute: |x| x[0].ln() },
    Function { name: "log2", arguments: 1, compute: |x| x[0].log2() },
    Function { name: "max", arguments: 2, compute: |x| x[0].max(x[1]) },
    Function { name: "min", arguments: 2, compute: |x| x[0].min(x[1]) },
    Function { name: "pow", arguments: 2, compute: |x| x[0].powf(x[1]) },
    Function { name: "round", arguments: 1, compute: |x| x[0].round() },
    Function { name: "sqrt", arguments: 1, compute: |x| x[0].sqrt() },
];

/// Binary operators by how strongly they bind, the weakest first; `^` is handled apart since it groups to the right.
const LEVELS: [&[&str]; 5] = [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*", "/", "%"]];

/// So many bytes an expression may have.
const LONGEST: usize = 4096;

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// Says what was expected where, as a fragment that follows the expression's own text.
    pub fn parse(text: &str) -> Result<Self, String> {
        // A chain of operators is as deep a tree as it is long.
        if text.len() > LONGEST {
            let (start, length) = (beginning(text), text.len());
            return Err(format!("`{start}` has {length} bytes, and {LONGEST} are the most of an expression"));
        }
        let mut parser = Parser { text, at: 0, depth: 0 };
        let root = parser.binary(0).and_then(|node| match parser.rest().is_empty() {
            true => Ok(node),
            false => Err(parser.expected("an operator") + parser.meant()),
        });
        root.map(|root| Self { text: text.to_owned(), root }).map_err(|what| format!("`{text}`: {what}"))
    }

    /// The names that it uses.
    pub fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        collect(&self.root, &mut names);
        names
    }

    /// Its value where `lookup` knows the names.
    ///
    /// # Errors
    /// A name is unknown, or an operator does not fit what it is given.
    pub fn evaluate(&self, lookup: &dyn Fn(&str) -> Option<Term>) -> Result<Term, String> {
        evaluate(&self.root, lookup).map_err(|what| format!("`{}`: {what}", self.text))
    }

    /// As [`Self::evaluate`], where only a finite number will do.
    pub fn number(&self, lookup: &dyn Fn(&str) -> Option<Term>) -> Result<f64, String> {
        match self.evaluate(lookup)? {
            Term::Number(x) if x.is_finite() => Ok(x),
            Term::Number(x) => Err(format!("`{}` is {x} here, which is no finite number", self.text)),
            other => Err(format!("`{}` gives {}, where a number is expected", self.text, other.kind())),
        }
    }

    /// As [`Self::evaluate`], where only true or false will do.
    pub fn truth(&self, lookup: &dyn Fn(&str) -> Option<Term>) -> Result<bool, String> {
        match self.evaluate(lookup)? {
            Term::Truth(truth) => Ok(truth),
            other => Err(format!("`{}` gives {}, where true or false is expected", self.text, other.kind())),
        }
    }
}

fn collect<'a>(node: &'a Node, names: &mut BTreeSet<&'a str>) {
    match node {
        Node::Constant(_) => {}
        Node::Name(name) => {
            names.insert(name);
        }
        Node::Unary(_, inner) => collect(inner, names),
        Node::Binary(_, left, right) => [left, right].into_iter().for_each(|side| collect(side, names)),
        Node::Call(_, arguments) => arguments.iter().for_each(|argument| collect(argument, names)),
    }
}

/// Reads one expression from left to right.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    /// What is left, without leading blanks.
    fn rest(&mut self) -> &str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn expected(&mut self, what: &str) -> String {
        let rest = self.rest();
        if rest.is_empty() {
            format!("it ends where {what} is expected")
        } else {
            format!("{what} is expected at `{rest}`")
        }
    }

    /// What other languages write where this one has an operator.
    fn meant(&mut self) -> &'static str {
        let rest = self.rest();
        match rest.split(|c: char| !c.is_alphanumeric()).next() {
            Some("and") => "; did you mean `&&`?",
            Some("or") => "; did you mean `||`?",
            _ if rest.starts_with('=') => "; did you mean `==`?",
            _ => "",
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn binary(&mut self, level: usize) -> Result<Node, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().find(|&&o| self.take(o)) {
            let right = self.binary(level + 1)?;
            left = Node::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    /// Signs and `!`, which bind more weakly than `^`: -2^2 is -4, as in mathematics.
    fn unary(&mut self) -> Result<Node, String> {
        // What nests deeper than any person writes would overflow the stack.
        self.depth += 1;
        if self.depth > 100 {
            return Err("it is nested more than 100 deep".into());
        }
        let node = if self.take("-") {
            Node::Unary('-', Box::new(self.unary()?))
        } else if self.take("!") {
            Node::Unary('!', Box::new(self.unary()?))
        } else {
            let base = self.primary()?;
            if self.take("^") { Node::Binary("^", Box::new(base), Box::new(self.unary()?)) } else { base }
        };
        self.depth -= 1;
        Ok(node)
    }

    fn primary(&mut self) -> Result<Node, String> {
        if self.take("(") {
            let inner = self.binary(0)?;
            return if self.take(")") { Ok(inner) } else { Err(self.expected("`)`")) };
        }
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Err(self.expected("a value")) };
        match first {
            '"' | '\'' => self.quoted(first),
            _ if first.is_ascii_digit() || first == '.' => self.number(),
            _ if first.is_alphabetic() || first == '_' => self.name(),
            _ => Err(self.expected("a value")),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Node, String> {
        let inner = &self.text[self.at + 1..];
        let Some(end) = inner.find(quote) else { return Err(format!("a {quote} is not closed")) };
        self.at += end + 2;
        Ok(Node::Constant(Term::Text(inner[..end].to_owned())))
    }

    fn number(&mut self) -> Result<Node, String> {
        let bytes = self.text.as_bytes();
        let mut end = self.at;
        let is_sign_of_exponent = |i: usize| matches!(bytes[i], b'+' | b'-') && matches!(bytes[i - 1], b'e' | b'E');
        while end < bytes.len()
            && (bytes[end].is_ascii_alphanumeric()
                || matches!(bytes[end], b'.' | b'_')
                || (end > self.at && is_sign_of_exponent(end)))
        {
            end += 1;
        }
        let written = &self.text[self.at..end];
        let number = written.replace('_', "").parse::<f64>().ok().filter(|x| x.is_finite());
        let number = number.ok_or_else(|| format!("`{written}` is no number"))?;
        self.at = end;
        Ok(Node::Constant(Term::Number(number)))
    }

    fn name(&mut self) -> Result<Node, String> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = rest[..end].to_owned();
        self.at += end;
        if self.take("(") {
            return self.call(&name);
        }
        Ok(match name.as_str() {
            "true" => Node::Constant(Term::Truth(true)),
            "false" => Node::Constant(Term::Truth(false)),
            _ => Node::Name(name),
        })
    }

    fn call(&mut self, name: &str) -> Result<Node, String> {
        let Some(function) = FUNCTIONS.iter().find(|f| f.name == name) else {
            let known: Vec<_> = FUNCTIONS.iter().map(|f| f.name).collect();
            return Err(format!("there is no function `{name}`; there are {}", known.join(", ")));
        };
        let mut arguments = vec![self.binary(0)?];
        while self.take(",") {
            arguments.push(self.binary(0)?);
        }
        if !self.take(")") {
            return Err(self.expected("`,` or `)`"));
        }
        if arguments.len() != function.arguments {
            return Err(format!("`{name}` takes {} and is given {}", function.arguments, arguments.len()));
        }
        Ok(Node::Call(function, arguments))
    }
}

fn evaluate(node: &Node, lookup: &dyn Fn(&str) -> Option<Term>) -> Result<Term, String> {
    match node {
        Node::Constant(term) => Ok(term.clone()),
        Node::Name(name) => lookup(name).ok_or_else(|| format!("there is no parameter `{name}`")),
        Node::Unary(operator, inner) => match (operator, evaluate(inner, lookup)?) {
            ('-', Term::Number(x)) => Ok(Term::Number(-x)),
            ('!', Term::Truth(truth)) => Ok(Term::Truth(!truth)),
            (_, term) => Err(format!("`{operator}` does not go with {}", term.kind())),
        },
        Node::Binary(operator @ ("&&" | "||"), left, right) => {
            let truth = |node: &Node| match evaluate(node, lookup)? {
                Term::Truth(truth) => Ok(truth),
                other => Err(format!("`{operator}` does not go with {}", other.kind())),
            };
            // The right side counts only where the left leaves it open: `n > 0 && p / n < 4`.
            let left = truth(left)?;
            Ok(Term::Truth(if left == (*operator == "||") { left } else { truth(right)? }))
        }
        Node::Binary(operator, left, right) => combine(operator, evaluate(left, lookup)?, evaluate(right, lookup)?),
        Node::Call(function, arguments) => {
            let mut numbers = Vec::new();
            for argument in arguments {
                match evaluate(argument, lookup)? {
                    // What is no number would be gone behind `max` and `min`.
                    Term::Number(x) if x.is_finite() => numbers.push(x),
                    Term::Number(x) => {
                        return Err(format!("`{}` is given {x}, which is no finite number", function.name));
                    }
                    other => return Err(format!("`{}` does not go with {}", function.name, other.kind())),
                }
            }
            Ok(Term::Number((function.compute)(&numbers)))
        }
    }
}

fn combine(operator: &str, left: Term, right: Term) -> Result<Term, String> {
    if let (Term::Number(a), Term::Number(b)) = (&left, &right) {
        let (a, b) = (*a, *b);
        // What lies beyond all numbers would decide conditions unseen: `p / 0 > 4`.
        let compares = operator.starts_with(['<', '>', '=', '!']);
        if let Some(x) = [a, b].into_iter().find(|x| compares && !x.is_finite()) {
            return Err(format!("`{operator}` is given {x}, which is no finite number"));
        }
        return Ok(match operator {
            "+" => Term::Number(a + b),
            "-" => Term::Number(a - b),
            "*" => Term::Number(a * b),
            "/" => Term::Number(a / b),
            "%" => Term::Number(a % b),
            "^" => Term::Number(a.powf(b)),
            "<" => Term::Truth(a < b),
            "<=" => Term::Truth(a <= b),
            ">" => Term::Truth(a > b),
            ">=" => Term::Truth(a >= b),
            "==" => Term::Truth(a == b),
            _ => Term::Truth(a != b),
        });
    }
    let alike = std::mem::discriminant(&left) == std::mem::discriminant(&right);
    match operator {
        "==" if alike => Ok(Term::Truth(left == right)),
        "!=" if alike => Ok(Term::Truth(left != right)),
        _ => Err(format!("`{operator}` does not go with {} and {}", left.kind(), right.kind())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str) -> Option<Term> {
        match name {
            "p" => Some(Term::Number(4.0)),
            "n" => Some(Term::Number(100.0)),
            "zero" => Some(Term::Number(0.0)),
            "solver" => Some(Term::Text("cg; rm".into())),
            _ => None,
        }
    }

    fn number(text: &str) -> f64 {
        Expression::parse(text).unwrap().number(&at).unwrap()
    }

    fn truth(text: &str) -> bool {
        Expression::parse(text).unwrap().truth(&at).unwrap()
    }

    fn problem(text: &str) -> String {
        Expression::parse(text).and_then(|e| e.evaluate(&at)).unwrap_err()
    }

    #[test]
    fn operators_bind_as_in_mathematics() {
        assert_eq!(number("2 + 3 * 4 - 6 / 2"), 11.0);
        assert_eq!(number("(2 + 3) * 4 % 7"), 6.0);
        assert_eq!(number("2 ^ 3 ^ 2"), 512.0, "powers group to the right");
        assert_eq!(number("-2^2"), -4.0);
        assert_eq!(number("10 - 4 - 3"), 3.0, "differences group to the left");
        assert_eq!(number("2e3 + 1.5E-1 + 1_000"), 3000.15);
        assert_eq!(number("ceil(p / 3) + max(log2(p), sqrt(n)) + min(1, n)"), 13.0);
    }

    #[test]
    fn conditions_join_numbers_and_texts() {
        assert!(truth("p * n <= 400 && solver == 'cg; rm'"));
        assert!(truth("p == 3 || !(n < 100)"));
        assert!(!truth("solver != \"cg; rm\""));
        assert!(truth("p > 3 && p >= 4 && p < 5 && p <= 4 && p != 5"));
        assert!(truth("zero == 0 || p / unknown > 1"), "the right side is not looked at where the left decides");
    }

    #[test]
    fn mistakes_are_named() {
        assert!(problem("p +").contains("ends where a value is expected"));
        assert!(problem("p n").contains("an operator is expected at `n`"));
        assert!(problem("(p").contains("`)` is expected"));
        assert!(problem("q * 2").contains("no parameter `q`"));
        assert!(problem("solver * 2").contains("`*` does not go with a text and a number"));
        assert!(problem("p && true").contains("`&&` does not go with a number"));
        assert!(problem("lg(p)").contains("no function `lg`; there are abs"));
        assert!(problem("max(p)").contains("takes 2 and is given 1"));
        assert!(problem("1e999").contains("no number"));
        assert!(problem("'x").contains("not closed"));
        assert!(problem(&"(".repeat(1000)).contains("100 deep"));
        assert!(problem(&"-".repeat(1000)).contains("100 deep"));
        // As deep as it is long, and read, asked for names, evaluated and dropped by functions that call themselves.
        assert_eq!(number(&vec!["1"; 2048].join("+")), 2048.0);
        assert!(problem(&vec!["1"; 200_000].join("+")).contains("399999 bytes"));
        assert!(problem("max(n % 0, 1)").contains("`max` is given NaN"));
        let division = Expression::parse("p / zero").unwrap().number(&at).unwrap_err();
        assert!(division.contains("no finite number"), "{division}");
        for comparison in ["p / zero > 1", "1 >= -p / zero", "zero / zero == 0", "2 != 1e200 ^ 2", "log(zero) < p"] {
            let what = problem(comparison);
            assert!(what.contains(&format!("`{comparison}`: `")) && what.contains("no finite number"), "{what}");
        }
    }

    #[test]
    fn names_are_those_that_must_be_known() {
        let expression = Expression::parse("min(p, q) * true + n").unwrap();
        assert_eq!(expression.names().into_iter().collect::<Vec<_>>(), ["n", "p", "q"]);
    }
}
