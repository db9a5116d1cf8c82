//! The values of a study's parameters, and the cases they make: lists, ranges, values that depend on others, conditions
//! that leave cases out, and points of their own.

use std::collections::BTreeSet;

use modeler::report::coordinate;
use modeler::words::suggestion;

use super::expression::{Expression, Term};
use super::file::meant_above;
use super::template::is_name;
use super::{Case, Factor, Point, Value};

/// One parameter as the study says it.
#[derive(Debug)]
pub struct Parameter {
    name: String,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Numbers(Vec<Value>),
    Texts(Vec<Factor>),
    Range(Range),
    Computed(Vec<Expression>),
}

/// `from`, in steps or by factors, up to and including `to`.
#[derive(Debug)]
struct Range {
    from: Expression,
    to: Expression,
    next: Next,
}

#[derive(Debug)]
enum Next {
    Step(Expression),
    Factor(Expression),
    /// This many values, evenly spaced, on a logarithmic scale if asked.
    Count(usize, bool),
}

/// More values of one parameter than anybody measures; a range that gives more is a mistake.
const MOST_VALUES: usize = 100_000;
/// More cases than anybody measures.
const MOST_CASES: usize = 1_000_000;

impl Parameter {
    /// Reads one entry of `[parameters]`.
    pub fn read(name: &str, value: &toml::Value) -> Result<Self, String> {
        check_name(name)?;
        let values = match value {
            toml::Value::Array(list) => {
                listed(name, list).map_err(|what| format!("{}{}.", what.trim_end_matches('.'), meant_above(name)))?
            }
            toml::Value::Table(table) => {
                described(table).map_err(|what| format!("parameter `{name}`: {what}{}.", meant_above(name)))?
            }
            _ => {
                return Err(format!(
                    "parameter `{name}` is no list; write its values in [brackets], or {{ from = 1, to = 64, factor = 2 }}{}.",
                    meant_above(name)
                ));
            }
        };
        Ok(Self { name: name.to_owned(), values })
    }

    /// The parameters of a study that lists its points alone: what the first of them names beside [`REPETITIONS`], with no values
    /// to combine.
    pub fn of_points(points: &[toml::Table]) -> Result<Vec<Self>, String> {
        let is_number = |value: &toml::Value| matches!(value, toml::Value::Integer(_) | toml::Value::Float(_));
        let of = |name: &String| -> Result<Self, String> {
            check_name(name)?;
            let is_numeric = points.iter().filter_map(|point| point.get(name)).all(is_number);
            let values = if is_numeric { Values::Numbers(Vec::new()) } else { Values::Texts(Vec::new()) };
            Ok(Self { name: name.clone(), values })
        };
        points.first().into_iter().flat_map(|point| point.keys()).filter(|name| *name != REPETITIONS).map(of).collect()
    }

    /// Whether its values are numbers, which models know as coordinates.
    pub fn is_numeric(&self) -> bool {
        !matches!(self.values, Values::Texts(_))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names that its values depend on.
    pub fn needs(&self) -> BTreeSet<&str> {
        match &self.values {
            Values::Numbers(_) | Values::Texts(_) => BTreeSet::new(),
            Values::Computed(list) => list.iter().flat_map(Expression::names).collect(),
            Values::Range(range) => {
                let next = match &range.next {
                    Next::Step(e) | Next::Factor(e) => Some(e),
                    Next::Count(..) => None,
                };
                [&range.from, &range.to].into_iter().chain(next).flat_map(Expression::names).collect()
            }
        }
    }

    /// Its values where the parameters that it depends on are those of `case`.
    fn values_at(&self, case: &Case) -> Result<Vec<Chosen>, String> {
        let numbers = match &self.values {
            Values::Numbers(list) => return Ok(list.iter().cloned().map(Chosen::Number).collect()),
            Values::Texts(list) => return Ok(list.iter().cloned().map(Chosen::Text).collect()),
            Values::Computed(list) => {
                list.iter().map(|e| e.number(&|name| case.term(name))).collect::<Result<_, _>>()?
            }
            Values::Range(range) => range.values(case)?,
        };
        let mut values: Vec<f64> = Vec::new();
        for number in numbers {
            if number <= 0.0 {
                return Err(format!("the value {number} is not positive"));
            }
            // What depends on others may well fall together; the point is measured once.
            if !values.contains(&number) {
                values.push(number);
            }
        }
        Ok(values.into_iter().map(|x| Chosen::Number(Value::of(x))).collect())
    }
}

/// That `name` can be a parameter of a study.
///
/// # Errors
/// What a name has.
pub fn check_name(name: &str) -> Result<(), String> {
    match is_name(name) {
        true => Ok(()),
        false => {
            Err(format!("parameter `{name}`: a name has letters, digits and `_`, and begins with none of the digits."))
        }
    }
}

/// One value of one parameter.
enum Chosen {
    Number(Value),
    Text(Factor),
}

fn listed(name: &str, list: &[toml::Value]) -> Result<Values, String> {
    if list.is_empty() {
        return Err(format!("parameter `{name}` has no values; give at least one."));
    }
    if list.iter().any(|v| matches!(v, toml::Value::String(_) | toml::Value::Array(_) | toml::Value::Boolean(_))) {
        let texts: Vec<Factor> = list.iter().map(|v| text_value(name, v)).collect::<Result<_, _>>()?;
        for (i, text) in texts.iter().enumerate() {
            if texts[..i].contains(text) {
                return Err(format!("parameter `{name}` has the value {text} twice; `repetitions` measures again."));
            }
        }
        return Ok(Values::Texts(texts));
    }
    let values: Vec<Value> = list.iter().map(|v| number_value(name, v)).collect::<Result<_, _>>()?;
    for (i, value) in values.iter().enumerate() {
        if values[..i].iter().any(|earlier| earlier.number == value.number) {
            return Err(format!(
                "parameter `{name}` has the value {} twice; `repetitions` measures again.",
                value.text
            ));
        }
    }
    Ok(Values::Numbers(values))
}

/// A positive number as TOML has it.
pub fn number_value(name: &str, value: &toml::Value) -> Result<Value, String> {
    let value = match value {
        toml::Value::Integer(i) => Value { number: *i as f64, text: i.to_string() },
        toml::Value::Float(x) if x.is_finite() => Value { number: *x, text: x.to_string() },
        other => return Err(format!("parameter `{name}` has the value {other}, which is no finite number.")),
    };
    if value.number <= 0.0 {
        return Err(format!(
            "parameter `{name}` has the value {}; parameters are positive. Write \"{0}\" if it is a name and no quantity.",
            value.text
        ));
    }
    Ok(value)
}

/// A text, or a list of them that become several arguments.
pub fn text_value(name: &str, value: &toml::Value) -> Result<Factor, String> {
    let word = |v: &toml::Value| match v {
        toml::Value::String(text) if text.contains('\0') => {
            Err(format!("parameter `{name}` has a value with a zero byte, which no program can be given."))
        }
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(i) => Ok(i.to_string()),
        toml::Value::Float(x) => Ok(x.to_string()),
        toml::Value::Boolean(truth) => Ok(truth.to_string()),
        other => Err(format!("parameter `{name}` has the value {other}, which is neither a number nor a text.")),
    };
    match value {
        toml::Value::Array(words) => words.iter().map(word).collect::<Result<_, _>>().map(Factor),
        single => word(single).map(|text| Factor(vec![text])),
    }
}

fn described(table: &toml::Table) -> Result<Values, String> {
    const KEYS: [&str; 7] = ["from", "to", "step", "factor", "count", "scale", "equals"];
    if let Some(unknown) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("`{unknown}` is none of {}{}", KEYS.join(", "), suggestion(unknown, KEYS)));
    }
    if let Some(equals) = table.get("equals") {
        if table.len() > 1 {
            return Err("`equals` stands alone".into());
        }
        let list = equals.as_array().map_or(std::slice::from_ref(equals), Vec::as_slice);
        if list.is_empty() {
            return Err("`equals` is empty".into());
        }
        return list.iter().map(expression).collect::<Result<_, _>>().map(Values::Computed);
    }
    let of = |key: &str| table.get(key).map(expression).transpose();
    let (Some(from), Some(to)) = (of("from")?, of("to")?) else {
        return Err("give `from` and `to`, or `equals`".into());
    };
    let is_geometric = match table.get("scale").map(|s| s.as_str()) {
        None | Some(Some("linear")) => false,
        Some(Some("log")) => true,
        _ => return Err("`scale` is \"linear\" or \"log\"".into()),
    };
    let count = table.get("count").map(|c| c.as_integer().filter(|&c| c >= 2).and_then(|c| usize::try_from(c).ok()));
    let next = match (of("step")?, of("factor")?, count) {
        (Some(step), None, None) => Next::Step(step),
        (None, Some(factor), None) => Next::Factor(factor),
        (None, None, Some(Some(count))) if count <= MOST_VALUES => Next::Count(count, is_geometric),
        (None, None, Some(_)) => return Err(format!("`count` is a whole number from 2 to {MOST_VALUES}")),
        _ => return Err("a range needs one of `step`, `factor` and `count`".into()),
    };
    Ok(Values::Range(Range { from, to, next }))
}

/// A number, or a text that is an expression.
pub fn expression(value: &toml::Value) -> Result<Expression, String> {
    match value {
        toml::Value::Integer(i) => Expression::parse(&i.to_string()),
        toml::Value::Float(x) if x.is_finite() => Expression::parse(&x.to_string()),
        toml::Value::String(text) => Expression::parse(text),
        other => Err(format!("{other} is neither a number nor an expression")),
    }
}

impl Range {
    fn values(&self, case: &Case) -> Result<Vec<f64>, String> {
        let at = |e: &Expression| e.number(&|name| case.term(name));
        let (from, to) = (at(&self.from)?, at(&self.to)?);
        // Sums and products of decimal fractions miss the end by a few roundings.
        let reaches = |x: f64, roundings: f64| x <= to + roundings;
        let mut values = Vec::new();
        match &self.next {
            Next::Count(count, is_geometric) => {
                if from <= 0.0 || to <= 0.0 {
                    return Err("a range with `count` is between positive numbers".into());
                }
                let share = |i: usize| i as f64 / (*count - 1) as f64;
                let between = |i: usize| match is_geometric {
                    true => (from.ln() + share(i) * (to / from).ln()).exp(),
                    false => from + share(i) * (to - from),
                };
                // Sizes are whole numbers where the ends are.
                let whole = from.fract() == 0.0 && to.fract() == 0.0;
                values.extend((0..*count).map(|i| if whole { between(i).round() } else { between(i) }));
                // The logarithm's roundings are not to lead beyond the end.
                if let Some(last) = values.last_mut() {
                    *last = to;
                }
                values.dedup();
            }
            Next::Step(step) => {
                let step = at(step)?;
                if step <= 0.0 {
                    return Err(format!("`step` is {step}, which does not lead from {from} to {to}"));
                }
                // Multiplied, not added up, so that roundings do not.
                let roundings = (1e-9 * step).max(2.0 * f64::EPSILON * to.abs());
                values.extend((0..=MOST_VALUES).map(|i| from + i as f64 * step).take_while(|&x| reaches(x, roundings)));
            }
            Next::Factor(factor) => {
                let factor = at(factor)?;
                if factor <= 1.0 || from <= 0.0 {
                    return Err(format!("`factor` {factor} does not lead from {from} to {to}"));
                }
                // Between whole numbers half a step is none.
                let is_whole = from.fract() == 0.0 && factor.fract() == 0.0;
                let roundings = if is_whole { (1e-9 * to).min(0.5) } else { 1e-9 * to };
                let products = std::iter::successors(Some(from), |x| Some(x * factor));
                values.extend(products.take_while(|&x| reaches(x, roundings)).take(MOST_VALUES + 1));
            }
        }
        match values.len() {
            0 => Err(format!("the range from {from} to {to} is empty")),
            n if n > MOST_VALUES => Err(format!("the range has more than {MOST_VALUES} values")),
            _ => Ok(values.into_iter().map(rounded).collect()),
        }
    }
}

/// `0.1 + 2 * 0.1` as people write it; whole numbers as they are.
fn rounded(x: f64) -> f64 {
    if x.fract() == 0.0 {
        return x;
    }
    format!("{x:.12e}").parse().unwrap_or(x)
}

/// All cases: every combination of values, dependent ones where what they depend on is known, less those that a
/// condition leaves out, and then the points given one by one.
pub fn cases(
    parameters: &[Parameter],
    derived: &[(String, Expression)],
    conditions: &[Expression],
    points: &[toml::Table],
) -> Result<Vec<Case>, String> {
    let mut cases = vec![Case::default()];
    for parameter in in_order_of_need(parameters)? {
        let mut extended = Vec::new();
        for case in &cases {
            let values = parameter
                .values_at(case)
                .map_err(|what| format!("parameter `{}`{}: {what}.", parameter.name, case.place()))?;
            extended.extend(values.into_iter().map(|value| case.with(&parameter.name, value)));
            if extended.len() > MOST_CASES {
                return Err(format!("the study has more than {MOST_CASES} points."));
            }
        }
        cases = extended;
    }
    let names: Vec<&str> = parameters.iter().map(Parameter::name).collect();
    let mut kept = Vec::new();
    for mut case in cases {
        case.sort_as(&names);
        case.derive(derived)?;
        if conditions.iter().try_fold(true, |all, c| {
            Ok::<_, String>(all && c.truth(&|name| case.term(name)).map_err(|what| format!("`where` has {what}"))?)
        })? {
            kept.push(case);
        }
    }
    for table in points {
        let mut case = given(table, parameters)?;
        case.derive(derived)?;
        match kept.iter_mut().find(|known| (&known.point, &known.factors) == (&case.point, &case.factors)) {
            Some(known) => known.repetitions = known.repetitions.max(case.repetitions),
            None => kept.push(case),
        }
    }
    Ok(kept)
}

/// Parameters such that each comes after those it needs.
fn in_order_of_need(parameters: &[Parameter]) -> Result<Vec<&Parameter>, String> {
    let mut ordered: Vec<&Parameter> = Vec::new();
    while ordered.len() < parameters.len() {
        let is_known = |name: &&str| ordered.iter().any(|p| p.name == **name);
        let next = parameters.iter().find(|p| !is_known(&p.name.as_str()) && p.needs().iter().all(is_known));
        let Some(next) = next else {
            let stuck = parameters.iter().find(|p| !is_known(&p.name.as_str()));
            let (name, needs) = stuck.map_or_else(Default::default, |p| (p.name(), p.needs()));
            let unknown = needs.iter().find(|need| parameters.iter().all(|p| p.name != **need));
            return Err(match unknown {
                Some(unknown) => format!("parameter `{name}` depends on `{unknown}`, which is no parameter."),
                None => {
                    format!("parameter `{name}` depends on itself, by way of {}.", Vec::from_iter(needs).join(", "))
                }
            });
        };
        ordered.push(next);
    }
    Ok(ordered)
}

/// The key of a point that says how often it runs, unless a parameter of `[parameters]` is called so.
pub const REPETITIONS: &str = "repetitions";

/// One of `[[points]]`: every parameter once, and perhaps how often it runs.
fn given(table: &toml::Table, parameters: &[Parameter]) -> Result<Case, String> {
    let mut case = Case::default();
    let is_parameter = |name: &str| parameters.iter().any(|p| p.name == name);
    if let Some(value) = table.get(REPETITIONS).filter(|_| !is_parameter(REPETITIONS)) {
        let count = value.as_integer().and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
        case.repetitions = Some(count.ok_or_else(|| {
            format!("one of `points` has `{REPETITIONS}` = {value}; give a whole number of runs, at least 1.")
        })?);
    }
    if let Some(unknown) = table.keys().find(|key| !is_parameter(key) && *key != REPETITIONS) {
        let known = parameters.iter().map(Parameter::name).chain([REPETITIONS]);
        return Err(format!("one of `points` names `{unknown}`, which is no parameter{}.", suggestion(unknown, known)));
    }
    for parameter in parameters {
        let Some(value) = table.get(&parameter.name) else {
            return Err(format!("one of `points` does not say `{}`; each names every parameter.", parameter.name));
        };
        let value = match parameter.is_numeric() {
            true => Chosen::Number(number_value(&parameter.name, value)?),
            false => Chosen::Text(text_value(&parameter.name, value)?),
        };
        case = case.with(&parameter.name, value);
    }
    Ok(case)
}

impl Case {
    fn with(&self, name: &str, value: Chosen) -> Self {
        let mut case = self.clone();
        match value {
            Chosen::Number(value) => case.point.push((name.to_owned(), value)),
            Chosen::Text(text) => case.factors.push((name.to_owned(), text)),
        }
        case
    }

    fn sort_as(&mut self, names: &[&str]) {
        let place = |name: &str| names.iter().position(|n| *n == name);
        self.point.sort_by_key(|(name, _)| place(name));
        self.factors.sort_by_key(|(name, _)| place(name));
    }

    fn derive(&mut self, derived: &[(String, Expression)]) -> Result<(), String> {
        for (name, expression) in derived {
            let number = expression
                .number(&|name| self.term(name))
                .map_err(|what| format!("`derived.{name}`{}: {what}.", self.place()))?;
            self.derived.push((name.clone(), Value::of(number)));
        }
        Ok(())
    }

    /// What an expression sees under a name.
    pub fn term(&self, name: &str) -> Option<Term> {
        let of =
            |list: &Point| list.iter().find(|(known, _)| known == name).map(|(_, value)| Term::Number(value.number));
        let factor = || self.factors.iter().find(|(known, _)| known == name);
        of(&self.point).or_else(|| of(&self.derived)).or_else(|| factor().map(|(_, f)| Term::Text(f.to_string())))
    }

    /// ` at p=4, n=100`, for messages; nothing where no parameter is known yet.
    pub fn place(&self) -> String {
        // A text of hundreds of digits is unreadable in a sentence.
        const READABLE: usize = 24;
        let shown =
            |value: &Value| if value.text.len() > READABLE { coordinate(value.number) } else { value.text.clone() };
        let numbers = self.point.iter().map(|(name, value)| format!("{name}={}", shown(value)));
        let texts = self.factors.iter().map(|(name, value)| format!("{name}={value}"));
        let all: Vec<String> = numbers.chain(texts).collect();
        if all.is_empty() { String::new() } else { format!(" at {}", all.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<String>, String> {
        let table: toml::Table = toml::from_str(text).unwrap();
        let empty = toml::Table::new();
        let section = |name: &str| table.get(name).and_then(|v| v.as_table()).unwrap_or(&empty);
        let parameters: Vec<_> =
            section("parameters").iter().map(|(name, v)| Parameter::read(name, v)).collect::<Result<_, _>>()?;
        let derived: Vec<_> = section("derived").iter().map(|(n, e)| (n.clone(), expression(e).unwrap())).collect();
        let conditions: Vec<_> = table.get("where").map(|c| expression(c).unwrap()).into_iter().collect();
        let points: Vec<_> = table.get("points").and_then(|p| p.as_array()).into_iter().flatten().collect();
        let points: Vec<_> = points.iter().map(|p| p.as_table().unwrap().clone()).collect();
        let shown = |case: &Case| {
            let derived: String = case.derived.iter().map(|(name, v)| format!(" {name}={}", v.text)).collect();
            case.place().trim_start_matches(" at ").to_owned() + &derived
        };
        Ok(cases(&parameters, &derived, &conditions, &points)?.iter().map(shown).collect())
    }

    #[test]
    fn ranges_reach_their_end() {
        let of = |range: &str| all(&format!("[parameters]\nn = {range}")).unwrap().join(" ").replace("n=", "");
        assert_eq!(of("{ from = 1, to = 64, factor = 4 }"), "1 4 16 64");
        assert_eq!(of("{ from = 0.1, to = 0.5, step = 0.1 }"), "0.1 0.2 0.3 0.4 0.5");
        assert_eq!(of("{ from = 10, to = 29, step = 5 }"), "10 15 20 25");
        assert_eq!(of("{ from = 1000000000, to = 1000000002, step = 1 }"), "1000000000 1000000001 1000000002");
        assert_eq!(of("{ from = 20000000000001, to = 20000000000003, step = 2 }"), "20000000000001 20000000000003");
        assert_eq!(of("{ from = 500000001, to = 1000000001, factor = 2 }"), "500000001");
        assert_eq!(of("{ from = 1, to = 100, factor = 2.1544346901 }").split(' ').count(), 7);
        let wide = of("{ from = 0.1, to = 1e16, count = 18, scale = \"log\" }");
        assert!(wide.ends_with(" 10000000000000000"), "{wide}");
        assert_eq!(of("{ from = 0.7, to = 2.1, step = 0.7 }"), "0.7 1.4 2.1");
        assert_eq!(of("{ from = 100, to = 500, count = 5 }"), "100 200 300 400 500");
        assert_eq!(of("{ from = 1, to = 1000, count = 4, scale = \"log\" }"), "1 10 100 1000");
        assert_eq!(of("{ from = 1, to = 3, count = 9 }"), "1 2 3", "whole numbers, each once");
    }

    #[test]
    fn values_depend_on_others_wherever_they_stand() {
        let weak = all("[parameters]\nn = { equals = [\"100 * p\", \"200 * p\"] }\np = [2, 4]\n").unwrap();
        assert_eq!(weak, ["n=200, p=2", "n=400, p=2", "n=400, p=4", "n=800, p=4"]);
        let upto = all("[parameters]\np = [2, 3]\nq = { from = 1, to = \"p\", step = 1 }\n").unwrap();
        assert_eq!(upto, ["p=2, q=1", "p=2, q=2", "p=3, q=1", "p=3, q=2", "p=3, q=3"]);
        let derived = all("derived = { a = \"n / p\", b = \"a + 1\" }\n[parameters]\np = [2]\nn = [5]").unwrap();
        assert_eq!(derived, ["p=2, n=5 a=2.5 b=3.5"]);
    }

    #[test]
    fn conditions_leave_out_and_points_are_added() {
        let text = "where = \"p * n <= 400 && (s != 'x' || p > 1)\"\n\
                    points = [{ p = 64, n = 9, s = \"y\" }, { p = 1, n = 100, s = \"y\" }]\n\
                    [parameters]\np = [1, 2]\nn = [100, 200, 300]\ns = [\"x\", \"y\"]\n";
        let found = all(text).unwrap();
        let expected = [
            "p=1, n=100, s=y",
            "p=1, n=200, s=y",
            "p=1, n=300, s=y",
            "p=2, n=100, s=x",
            "p=2, n=100, s=y",
            "p=2, n=200, s=x",
            "p=2, n=200, s=y",
            "p=64, n=9, s=y",
        ];
        assert_eq!(found, expected, "a point that is there already is not measured twice");
    }

    #[test]
    fn points_may_say_how_often_they_run() {
        let counts = |text: &str| -> Vec<(String, Option<u32>)> {
            let table: toml::Table = text.parse().unwrap();
            let points: Vec<_> =
                table["points"].as_array().unwrap().iter().map(|p| p.as_table().unwrap().clone()).collect();
            let of = |(name, value): (&String, &toml::Value)| Parameter::read(name, value).unwrap();
            let parameters = match table.get("parameters") {
                Some(parameters) => parameters.as_table().unwrap().iter().map(of).collect(),
                None => Parameter::of_points(&points).unwrap(),
            };
            let cases = cases(&parameters, &[], &[], &points).unwrap();
            cases.iter().map(|case| (case.place(), case.repetitions)).collect()
        };
        // What stands in several lines runs as often as the line says that says most; a combination may be such a point.
        let points = "points = [{ n = 1, repetitions = 3 }, { n = 4 }, { n = 1, repetitions = 7 }, { n = 1, repetitions = 2 }]\n";
        let alone = [(" at n=1".to_owned(), Some(7)), (" at n=4".to_owned(), None)];
        assert_eq!(counts(points), alone);
        assert_eq!(counts(&format!("{points}[parameters]\nn = [1, 4]")), alone);
        // A parameter that is called so is one.
        let named = counts("points = [{ repetitions = 5 }]\n[parameters]\nrepetitions = [2]");
        assert_eq!(named, [(" at repetitions=2".to_owned(), None), (" at repetitions=5".to_owned(), None)]);
    }

    #[test]
    fn mistakes_are_named() {
        let problem = |text: &str| all(text).unwrap_err();
        assert!(problem("[parameters]\nn = { form = 1, to = 2, step = 1 }").contains("did you mean `from`?"));
        assert!(problem("[parameters]\nn = { from = 1, to = 2 }").contains("one of `step`, `factor` and `count`"));
        assert!(problem("[parameters]\nn = { from = 1, to = 2, factor = 1 }").contains("does not lead"));
        assert!(problem("[parameters]\nn = { from = 1, to = 1e9, step = 1 }").contains("more than 100000"));
        assert!(problem("[parameters]\nn = { from = 3, to = 2, step = 1 }").contains("is empty"));
        assert!(problem("[parameters]\nn = { equals = \"q\" }").contains("`q`, which is no parameter"));
        assert!(problem("[parameters]\na = { equals = \"b\" }\nb = { equals = \"a\" }").contains("depends on itself"));
        assert!(
            problem("[parameters]\np = [1]\nn = { equals = \"p - 1\" }")
                .contains("at p=1: the value 0 is not positive")
        );
        assert!(problem("[parameters]\ns = [\"a\", \"a\"]").contains("a twice"));
        assert!(problem("points = [{ q = 1 }]\n[parameters]\np = [1]").contains("names `q`"));
        for count in ["0", "1.5", "-1", "\"3\"", "5000000000"] {
            let told = problem(&format!("points = [{{ p = 1, repetitions = {count} }}]\n[parameters]\np = [1]"));
            assert!(
                told.contains(&format!("`repetitions` = {count}; give a whole number of runs, at least 1")),
                "{told}"
            );
        }
        assert!(
            problem("points = [{ p = 1, repetition = 3 }]\n[parameters]\np = [1]")
                .contains("did you mean `repetitions`?")
        );
        assert!(problem("where = \"p\"\n[parameters]\np = [1]").contains("true or false is expected"));
    }
}
