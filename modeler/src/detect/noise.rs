//! What noise injection found of loops: the JSON that `poise absorb` writes.

use std::collections::BTreeSet;

use serde_json::Value;

/// A loop's absorption.
///
/// ```
/// use modeler::detect::noise::read;
/// let text = r#"{"schema": "counterpoise/absorption",
///     "loops": [{"callpath": ["main", "sum"], "loop": "sum.c:7", "class": "dependency", "modes": {}}]}"#;
/// let absorbed = read(text)?.remove(0);
/// assert_eq!((absorbed.function.as_str(), absorbed.class.as_str()), ("sum", "dependency"));
/// # Ok::<(), String>(())
/// ```
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
    /// The classes of a loop that has several, and is undecided for that.
    pub several: Vec<String>,
}

/// The class of what was measured and says nothing.
const UNDECIDED: &str = "undecided";

/// Reads the report of `poise absorb --format json`.
///
/// ```
/// use modeler::detect::noise::read;
/// assert!(read(r#"{"schema": "counterpoise/absorption", "loops": []}"#)?.is_empty());
/// assert!(read(r#"{"schema": "counterpoise/models"}"#).is_err());
/// # Ok::<(), String>(())
/// ```
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
        several: Vec::new(),
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
/// their lines, the nearest to the first. Where lines are missing it is the function's only loop. It was measured on each of its call
/// paths, and for each kind of its executions: where these have several classes, nobody knows which of them is that of the run.
#[must_use]
pub(crate) fn of(all: &[Absorbed], function: &str, places: &[String]) -> Option<Absorbed> {
    let found = nearest(all, function, places);
    let decided = || found.iter().filter(|a| a.class != UNDECIDED);
    let classes: BTreeSet<&str> = decided().map(|a| a.class.as_str()).collect();
    let first = decided().next().or(found.first())?;
    if classes.len() < 2 {
        return Some((*first).clone());
    }
    Some(Absorbed {
        function: first.function.clone(),
        place: first.place.clone(),
        class: UNDECIDED.to_owned(),
        floating_point: Vec::new(),
        several: classes.into_iter().map(str::to_owned).collect(),
    })
}

/// All that was measured of the loop.
fn nearest<'a>(all: &'a [Absorbed], function: &str, places: &[String]) -> Vec<&'a Absorbed> {
    // `solve` and `solve(int)`.
    let plain = |name: &str| name.split('(').next().unwrap_or_default().to_owned();
    let same: Vec<&Absorbed> = all.iter().filter(|a| plain(&a.function) == plain(function)).collect();
    let is_one_loop = same.iter().all(|a| a.place == same[0].place);
    let Some((file, line)) = places.first().and_then(|place| at(place)) else {
        return if is_one_loop { same } else { Vec::new() };
    };
    if is_one_loop && same.iter().all(|a| at(&a.place).is_none()) {
        return same;
    }
    let lines =
        || places.iter().filter_map(|place| at(place)).filter(|(other, _)| *other == file).map(|(_, line)| line);
    let first = lines().min().unwrap_or(line).saturating_sub(ABOVE);
    let range = first..=lines().max().unwrap_or(line);
    let distance = |a: &Absorbed| {
        let (other, begins) = at(&a.place)?;
        (other == file && range.contains(&begins)).then(|| begins.abs_diff(line))
    };
    let least = same.iter().filter_map(|a| distance(a)).min();
    same.into_iter().filter(|a| least.is_some() && distance(a) == least).collect()
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
            of(all, function, &places.iter().map(|&p| p.into()).collect::<Vec<_>>()).map(|a| a.class)
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

    /// One loop in the first-level cache on one path, and from memory on another; the one of `g` is decided on one of its paths.
    #[test]
    fn several_classes_of_a_loop_are_none() {
        let absorbed = |function: &str, place: &str, class: &str, amount: &str| Absorbed {
            function: function.into(),
            place: place.into(),
            class: class.into(),
            floating_point: vec![amount.into()],
            several: Vec::new(),
        };
        let all = [
            absorbed("f", "a.c:10", "compute", "1"),
            absorbed("f", "a.c:10", "undecided", "2"),
            absorbed("f", "a.c:10", "bandwidth", "3"),
            absorbed("f", "a.c:10", "compute", "4"),
            absorbed("f", "a.c:14", "latency", "5"),
            absorbed("g", "a.c:20", "undecided", "6"),
            absorbed("g", "a.c:20", "dependency", "7"),
            absorbed("g", "a.c:20", "dependency", "8"),
            absorbed("h", "a.c:30", "undecided", "9"),
            absorbed("h", "a.c:30", "undecided", "10"),
        ];
        let of = |all: &[Absorbed], function: &str, places: &[&str]| {
            of(all, function, &places.iter().map(|&place| place.into()).collect::<Vec<String>>())
        };
        let several = Absorbed {
            floating_point: Vec::new(),
            several: ["bandwidth", "compute"].map(String::from).into(),
            ..absorbed("f", "a.c:10", "undecided", "")
        };
        assert_eq!(of(&all, "f", &["a.c:11", "a.c:10", "a.c:14"]), Some(several.clone()));
        let reversed: Vec<Absorbed> = all.iter().rev().cloned().collect();
        assert_eq!(of(&reversed, "f", &["a.c:11", "a.c:10", "a.c:14"]), Some(several), "in whatever order");
        assert_eq!(of(&all, "f", &["a.c:13", "a.c:14"]), Some(all[4].clone()), "another loop's are not its own");
        assert_eq!(of(&all, "g", &["a.c:20"]), Some(all[6].clone()));
        assert_eq!(of(&all, "h", &["a.c:20", "a.c:30"]), Some(all[8].clone()));
        // On all of its paths it is the function's only loop.
        assert_eq!((of(&all, "g", &[]), of(&all, "f", &[])), (Some(all[6].clone()), None));
    }
}
