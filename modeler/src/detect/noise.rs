//! What noise injection found of loops: the JSON that `poise absorb` writes.

use serde_json::Value;

/// A loop's absorption.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Absorbed {
    /// The function that the loop is in.
    pub function: String,
    /// `solve.c:41`.
    pub place: String,
    /// The class, such as `dependency`.
    pub class: String,
    /// How much of each mode of floating-point noise it absorbed, for people.
    pub floating_point: Vec<String>,
}

/// Reads the report of `poise absorb --format json`.
///
/// # Errors
/// It is none.
pub fn read(text: &str) -> Result<Vec<Absorbed>, String> {
    let document: Value = serde_json::from_str(text).map_err(|e| format!("it is no JSON: {e}"))?;
    if document["schema"] != "counterpoise/absorption" {
        return Err("its schema is not counterpoise/absorption, as poise absorb --format json writes it".into());
    }
    Ok(document["loops"].as_array().into_iter().flatten().map(absorbed).collect())
}

fn absorbed(found: &Value) -> Absorbed {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let path = found["callpath"].as_array();
    let modes = found["modes"].as_object().into_iter().flatten();
    let is_floating_point = |name: &str| name.starts_with("fp_") || name.starts_with("fma");
    Absorbed {
        function: path.and_then(|path| path.last()).map(text).unwrap_or_default(),
        place: text(&found["loop"]),
        class: text(&found["class"]),
        floating_point: modes.filter(|(name, _)| is_floating_point(name)).map(|(n, m)| mode(n, m)).collect(),
    }
}

/// `fma64 0.3 [0, 1.4]`.
fn mode(name: &str, mode: &Value) -> String {
    let number = |key: &str| mode[key].as_f64().map_or_else(|| "?".to_owned(), |n| format!("{n:.1}"));
    match mode["state"].as_str() {
        Some("measured") => format!("{name} {} [{}, {}]", number("raw"), number("lower"), number("upper")),
        Some("at-least") => format!("{name} at least {}", number("raw")),
        _ => format!("{name} undecided"),
    }
}

/// The file's name and the line of `solve.c:41` or `/src/solve.c:41`.
fn at(place: &str) -> Option<(&str, u32)> {
    let (file, line) = place.rsplit_once(':')?;
    Some((file.rsplit('/').next()?, line.parse().ok()?))
}

/// Lines above a loop's first instruction at which it may begin: `do` and its brace have none.
const ABOVE: u32 = 2;

/// What is known of the loop of a function whose instructions are of `places`, the first one's first: the loop that begins in one of
/// their lines, the nearest to the first. Where lines are missing it is the function's only loop.
#[must_use]
pub fn of<'a>(all: &'a [Absorbed], function: &str, places: &[String]) -> Option<&'a Absorbed> {
    // `solve` and `solve(int)`.
    let plain = |name: &str| name.split('(').next().unwrap_or_default().to_owned();
    let same: Vec<&Absorbed> = all.iter().filter(|a| plain(&a.function) == plain(function)).collect();
    let Some((file, line)) = places.first().and_then(|place| at(place)) else {
        return if let [only] = same[..] { Some(only) } else { None };
    };
    if let [only] = same[..]
        && at(&only.place).is_none()
    {
        return Some(only);
    }
    let lines =
        || places.iter().filter_map(|place| at(place)).filter(|(other, _)| *other == file).map(|(_, line)| line);
    let first = lines().min().unwrap_or(line).saturating_sub(ABOVE);
    let range = first..=lines().max().unwrap_or(line);
    let distance = |a: &&Absorbed| {
        let (other, begins) = at(&a.place)?;
        (other == file && range.contains(&begins)).then(|| begins.abs_diff(line))
    };
    same.into_iter().filter(|a| distance(a).is_some()).min_by_key(|a| distance(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_and_loops_are_found_in_it() {
        let text = r#"{"schema": "counterpoise/absorption", "loops": [
            {"callpath": ["main", "f"], "loop": "a.c:10", "class": "dependency", "modes": {
                "fma64": {"state": "measured", "raw": 12.04, "lower": 11.0, "upper": 13.0},
                "fp_add64": {"state": "at-least", "raw": 64}, "int64_add": {"state": "undecided"}}},
            {"callpath": ["main", "f"], "loop": "a.c:20", "class": "compute", "modes": {}}]}"#;
        let all = read(text).unwrap();
        assert_eq!(all[0].floating_point, ["fma64 12.0 [11.0, 13.0]", "fp_add64 at least 64.0"]);
        let class = |all, function, places: &[&str]| {
            of(all, function, &places.iter().map(|&p| p.into()).collect::<Vec<_>>()).map(|a: &Absorbed| a.class.clone())
        };
        // The header's first instruction is in the body, the loop's line comes with the step or the test.
        assert_eq!(class(&all, "f", &["a.c:13", "a.c:10", "b.h:1"]).unwrap(), "dependency");
        assert_eq!(class(&all, "f(int)", &["/src/a.c:20"]).unwrap(), "compute");
        assert_eq!(class(&all, "f", &["a.c:22", "a.c:23"]).unwrap(), "compute", "do and its brace");
        assert_eq!((class(&all, "f", &["a.c:9"]), class(&all, "g", &["a.c:10"])), (None, None));
        assert_eq!((class(&all, "f", &["a.c:90", "a.c:91"]), class(&all, "f", &["b.c:10"])), (None, None));
        // The only loop is no other one's either, unless nobody knows where it is.
        assert_eq!(class(&all[..1], "f", &["a.c:90"]), None);
        assert_eq!(class(&all[..1], "f", &[]).unwrap(), "dependency");
        let nowhere = [Absorbed { place: String::new(), ..all[0].clone() }];
        assert_eq!(class(&nowhere, "f", &["a.c:90"]).unwrap(), "dependency");
        assert_eq!(class(&all, "f", &[]), None, "which of both is not known");
        assert!(read("{}").unwrap_err().contains("schema"));
    }
}
