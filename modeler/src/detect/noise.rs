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

/// What is known of the loop of a function whose first line is `place`: of several loops of the function, the one that begins nearest
/// at or before it.
#[must_use]
pub fn of<'a>(all: &'a [Absorbed], function: &str, place: &str) -> Option<&'a Absorbed> {
    // `solve` and `solve(int)`.
    let plain = |name: &str| name.split('(').next().unwrap_or_default().to_owned();
    let same: Vec<&Absorbed> = all.iter().filter(|a| plain(&a.function) == plain(function)).collect();
    if let [only] = same[..] {
        return Some(only);
    }
    let (file, line) = at(place)?;
    let distance = |a: &&Absorbed| match at(&a.place) {
        Some((other, begins)) if other == file && begins <= line => Some(line - begins),
        _ => None,
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
        let class = |function, place| of(&all, function, place).map(|a| a.class.as_str());
        assert_eq!(class("f", "a.c:12"), Some("dependency"));
        assert_eq!(class("f(int)", "a.c:20"), Some("compute"));
        assert_eq!((class("f", "a.c:9"), class("g", "a.c:12")), (None, None));
        assert!(read("{}").unwrap_err().contains("schema"));
    }
}
