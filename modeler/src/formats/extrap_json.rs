//! Extra-P JSON in both dialects, and the experiment inside an `.extra-p` archive, which is a third.
//!
//! The older dialect numbers parameters, coordinates, call paths and metrics and lists measurements by number. The newer
//! nests `measurements` by call path and metric. `.extra-p` nests as the newer, keeps statistics of each point, and its
//! `values` say where in the archive the measurements are.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::collect::Collector;
use super::error::{ASSUMED, AVERAGED, ErrorKind, IGNORED, Place, ReadError, STATISTICS_ONLY};
use super::json::{Document, Step, first_object_keys, is_json_object};
use super::source::Source;
use super::{Detection, Format, Reader};
use crate::words::counted;

/// Reads Extra-P JSON.
pub(crate) struct ExtraPJson;

impl Reader for ExtraPJson {
    fn format(&self) -> Format {
        Format::ExtraPJson
    }

    fn detect(&self, source: &Source) -> Detection {
        let Some((head, complete)) = source.head() else { return Detection::no("it is a folder") };
        if !is_json_object(head) {
            return Detection::no("it does not begin with `{`");
        }
        let keys = first_object_keys(head);
        let has = |key: &str| keys.iter().any(|k| k == key);
        if has("schema") || has("params") {
            return Detection::no("its keys are those of another format");
        }
        match is_known(&keys) {
            true => Detection::Yes,
            false if complete => Detection::no("its object has no key `measurements`"),
            false => Detection::CannotTell("its object is long and its first keys are not those of Extra-P".into()),
        }
    }

    fn read(&self, source: Source, into: &mut Collector) -> Result<(), ReadError> {
        let name = source.name.clone();
        let text = source.into_text()?;
        let document = Document { name: &name, text: &text };
        let keys = first_object_keys(text.as_bytes());
        if !is_known(&keys) {
            let what = "the format was not recognised: this JSON has neither `measurements` nor `callpaths` and `coordinates`, as Extra-P's has, nor the keys of another format";
            return Err(ReadError::new(ErrorKind::NotRecognised, Place::file(&name), what));
        }
        if keys.iter().any(|k| k == "coordinates") {
            read_numbered(&document, into)
        } else {
            read_nested(&document, into, &mut |numbers| Ok(numbers.repetitions()))
        }
    }
}

/// Whether an object with these keys is one of the dialects.
fn is_known(keys: &[String]) -> bool {
    let has = |key: &str| keys.iter().any(|k| k == key);
    has("measurements") || (has("callpaths") && has("coordinates"))
}

// The older dialect.

#[derive(serde::Deserialize)]
struct Numbered {
    parameters: Vec<Named>,
    coordinates: Vec<NumberedPoint>,
    callpaths: Vec<Named>,
    metrics: Vec<Named>,
    measurements: Vec<NumberedMeasurement>,
}

#[derive(serde::Deserialize)]
struct Named {
    id: i64,
    name: String,
}

#[derive(serde::Deserialize)]
struct NumberedPoint {
    id: i64,
    parameter_value_pairs: Vec<NumberedCoordinate>,
}

#[derive(serde::Deserialize)]
struct NumberedCoordinate {
    parameter_id: i64,
    parameter_value: f64,
}

#[derive(serde::Deserialize)]
struct NumberedMeasurement {
    callpath_id: i64,
    metric_id: i64,
    coordinate_id: i64,
    value: f64,
}

fn read_numbered(document: &Document, into: &mut Collector) -> Result<(), ReadError> {
    let mut content: Numbered = document.parse()?;
    document.warn_of_lost_digits(&["coordinates", "measurements"], into);
    // Extra-P orders parameters by their number, not by their place in the file.
    content.parameters.sort_by_key(|p| p.id);
    let names: Vec<String> = content.parameters.iter().map(|p| p.name.clone()).collect();
    let order = into.parameters(&names, &document.place(&[Step::Key("parameters")]))?;

    let parameters = by_id(document, "parameters", content.parameters.iter().enumerate().map(|(i, p)| (p.id, i)))?;
    let mut points = Vec::new();
    for (index, point) in content.coordinates.iter().enumerate() {
        let coordinates = coordinates_of(document, index, point, &parameters, names.len())?;
        points.push((point.id, into.point(&order, &coordinates)));
    }
    let points = by_id(document, "coordinates", points.into_iter())?;
    let callpaths = content.callpaths.iter().map(|c| (c.id, into.callpath(&c.name))).collect::<Vec<_>>();
    let callpaths = by_id(document, "callpaths", callpaths.into_iter())?;
    let metrics = content.metrics.iter().map(|m| (m.id, into.metric_named(&m.name))).collect::<Vec<_>>();
    let metrics = by_id(document, "metrics", metrics.into_iter())?;
    for (index, m) in content.measurements.iter().enumerate() {
        let unknown = |key: &'static str, id: i64| {
            let steps = [Step::Key("measurements"), Step::Index(index), Step::Key(key)];
            document.error(&steps, format!("nothing has the number {id}")).expected(format!("a `{key}` in use"))
        };
        let find = |ids: &HashMap<i64, u32>, key, id| ids.get(&id).copied().ok_or_else(|| unknown(key, id));
        let callpath = find(&callpaths, "callpath_id", m.callpath_id)?;
        let metric = metrics.get(&m.metric_id).copied().ok_or_else(|| unknown("metric_id", m.metric_id))?;
        let at = (callpath, metric, find(&points, "coordinate_id", m.coordinate_id)?);
        let steps = [Step::Key("measurements"), Step::Index(index), Step::Key("value")];
        into.add_from(at, m.value, || document.place(&steps));
    }
    Ok(())
}

/// What each number in the array `key` stands for.
fn by_id<T>(
    document: &Document,
    key: &str,
    entries: impl Iterator<Item = (i64, T)>,
) -> Result<HashMap<i64, T>, ReadError> {
    let mut map = HashMap::new();
    for (id, value) in entries {
        if map.insert(id, value).is_some() {
            return Err(document.error(&[Step::Key(key)], format!("the number {id} occurs twice in `{key}`")));
        }
    }
    Ok(map)
}

fn coordinates_of(
    document: &Document,
    index: usize,
    point: &NumberedPoint,
    parameters: &HashMap<i64, usize>,
    count: usize,
) -> Result<Vec<f64>, ReadError> {
    let mut coordinates = vec![None; count];
    let steps = [Step::Key("coordinates"), Step::Index(index), Step::Key("parameter_value_pairs")];
    for pair in &point.parameter_value_pairs {
        let id = pair.parameter_id;
        let slot = parameters.get(&id).map(|&p| &mut coordinates[p]);
        let slot = slot.ok_or_else(|| document.error(&steps, format!("no parameter has the number {id}")))?;
        if slot.replace(pair.parameter_value).is_some() {
            return Err(document.error(&steps, format!("the parameter with the number {id} occurs twice")));
        }
    }
    let complete: Option<Vec<f64>> = coordinates.into_iter().collect();
    complete.ok_or_else(|| document.error(&steps, "a parameter has no value").expected("a value for each parameter"))
}

// The newer dialect and `.extra-p`.

/// The repetitions that a point's `values` stand for, or what is wrong with them.
pub(super) type Unpack<'a> = dyn FnMut(Numbers) -> Result<Repetitions, String> + 'a;

/// One value for each repetition at a point.
pub(super) struct Repetitions {
    /// The values.
    pub values: Vec<f64>,
    /// Whether a repetition held several values, one for each rank or thread, of which this is the mean.
    pub averaged: bool,
}

#[derive(serde::Deserialize)]
struct Nested {
    parameters: Vec<String>,
    #[serde(default)]
    callpaths: HashMap<String, Tags>,
    #[serde(default)]
    metrics: HashMap<String, Tags>,
    measurements: Pairs<Pairs<Vec<NestedPoint>>>,
    #[serde(default)]
    modelers: Vec<NestedModeler>,
}

/// What `.extra-p` knows about a call path or metric beside its name.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Tags {
    tags: HashMap<String, IgnoredAny>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct NestedModeler {
    name: String,
    models: HashMap<String, HashMap<String, IgnoredAny>>,
}

#[derive(serde::Deserialize)]
struct NestedPoint {
    #[serde(alias = "coordinate")]
    point: Numbers,
    #[serde(default)]
    values: Option<Numbers>,
    mean: Option<f64>,
    repetitions: Option<f64>,
}

/// A number, or numbers, or numbers in further arrays (one for each repetition's ranks).
pub(super) enum Numbers {
    One(f64),
    Many(Vec<f64>),
    Nested(Vec<Vec<f64>>),
}

/// Not derived: the errors of that say neither what was found nor where.
impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumbersVisitor;
        impl<'de> Visitor<'de> for NumbersVisitor {
            type Value = Numbers;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number or an array of numbers")
            }
            fn visit_f64<E>(self, value: f64) -> Result<Numbers, E> {
                Ok(Numbers::One(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Numbers, E> {
                Ok(Numbers::One(value as f64))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Numbers, E> {
                Ok(Numbers::One(value as f64))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Numbers, A::Error> {
                let mut many = Vec::new();
                while let Some(element) = numbers.next_element()? {
                    if let Numbers::One(number) = element {
                        many.push(number);
                        continue;
                    }
                    let mut nested: Vec<Vec<f64>> = many.into_iter().map(|number| vec![number]).collect();
                    nested.push(element.flat());
                    while let Some(element) = numbers.next_element::<Numbers>()? {
                        nested.push(element.flat());
                    }
                    return Ok(Numbers::Nested(nested));
                }
                Ok(Numbers::Many(many))
            }
        }
        deserializer.deserialize_any(NumbersVisitor)
    }
}

impl Numbers {
    /// The coordinates that these are, unless an array is among them.
    fn coordinates(&self) -> Option<Vec<f64>> {
        match self {
            Self::One(number) => Some(vec![*number]),
            Self::Many(numbers) => Some(numbers.clone()),
            Self::Nested(_) => None,
        }
    }

    /// Of how many repetitions they seem to be.
    fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(numbers) => numbers.len(),
            Self::Nested(arrays) => arrays.len(),
        }
    }

    /// All numbers, whatever arrays they are in.
    fn flat(self) -> Vec<f64> {
        match self {
            Self::One(number) => vec![number],
            Self::Many(numbers) => numbers,
            Self::Nested(arrays) => arrays.concat(),
        }
    }

    fn repetitions(self) -> Repetitions {
        let Self::Nested(repetitions) = self else { return Repetitions { values: self.flat(), averaged: false } };
        let averaged = repetitions.iter().any(|of_one| of_one.len() > 1);
        Repetitions { values: repetitions.iter().filter_map(|of_one| mean(of_one)).collect(), averaged }
    }
}

/// The arithmetic mean, unless there is nothing to take it of.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    match values {
        [] => None,
        // Not through a division, so that a value stays what it is.
        [one] => Some(*one),
        several => Some(several.iter().sum::<f64>() / several.len() as f64),
    }
}

/// The members of an object in the order of the file.
pub(crate) struct Pairs<T>(pub Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for PairsVisitor<T> {
            type Value = Pairs<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

/// What was noticed on the way through a nested document, by number of points or call paths.
#[derive(Default)]
struct Noticed {
    statistics_only: usize,
    averaged: usize,
    padded: usize,
    tagged: usize,
    /// Points that stand in a list twice: how many, and the first.
    again: Option<(usize, Place)>,
}

/// Reads the newer dialect and the experiment of an archive.
pub(super) fn read_nested(document: &Document, into: &mut Collector, unpack: &mut Unpack) -> Result<(), ReadError> {
    let mut content: Nested = document.parse()?;
    document.warn_of_lost_digits(&["measurements"], into);
    let order = into.parameters(&content.parameters, &document.place(&[Step::Key("parameters")]))?;
    let has_tags = |entry: &&Tags| !entry.tags.is_empty();
    let tagged = content.callpaths.values().chain(content.metrics.values()).filter(has_tags).count();
    let mut noticed = Noticed { tagged, ..Noticed::default() };
    let (mut lists, mut known) = (HashSet::new(), HashSet::new());
    // Points are freed on the way, and values moved only once: they may fill most of the memory there is.
    let points = content.measurements.0.iter().flat_map(|(_, metrics)| &metrics.0).flat_map(|(_, points)| points);
    into.expect(points.map(|point| point.values.as_ref().map_or(1, Numbers::count)).sum::<usize>() as u64);
    for (i, (path, metrics)) in content.measurements.0.iter_mut().enumerate() {
        // Older releases of Extra-P store tags behind the path, after the character U+0003.
        let written = path.split_once('\u{3}').map_or(path.as_str(), |(written, _)| written);
        noticed.tagged += usize::from(written.len() < path.len());
        let callpath = into.callpath(written);
        for (j, (name, points)) in metrics.0.iter_mut().enumerate() {
            let metric = into.metric_named(name);
            known.clear();
            // A key that stands twice is another list of the same.
            let is_again = !lists.insert((callpath, name.clone()));
            for (index, point) in std::mem::take(points).into_iter().enumerate() {
                let steps = [Step::Key("measurements"), Step::Member(i), Step::Member(j), Step::Index(index)];
                let coordinates = point.point.coordinates().ok_or_else(|| {
                    let what = "an array stands among the coordinates of this point";
                    document.error(&steps, what).expected("one number for each parameter")
                })?;
                if coordinates.len() != content.parameters.len() {
                    let expected = format!("one for each parameter, {} in all", content.parameters.len());
                    let what = format!("this point has {}", counted(coordinates.len(), "coordinate", "coordinates"));
                    return Err(document.error(&steps, what).expected(expected));
                }
                let at = into.point(&order, &coordinates);
                if !known.insert(at) || is_again {
                    noticed.again.get_or_insert_with(|| (0, document.place(&steps))).0 += 1;
                }
                let values = values_of(point, unpack, &mut noticed).map_err(|what| document.error(&steps, what))?;
                for value in values {
                    into.add_from((callpath, metric, at), value, || document.place(&steps));
                }
            }
        }
    }
    warn(document, into, &noticed);
    warn_of_models(document, into, &content.modelers);
    Ok(())
}

/// The repetitions at a point, or their mean where nothing else was kept.
fn values_of(point: NestedPoint, unpack: &mut Unpack, noticed: &mut Noticed) -> Result<Vec<f64>, String> {
    let Some(numbers) = point.values else {
        let mean = point.mean.ok_or("this point has neither `values` nor a `mean`, expected at least one number")?;
        noticed.statistics_only += usize::from(point.repetitions != Some(1.0));
        return Ok(vec![mean]);
    };
    let repetitions = unpack(numbers)?;
    let Some(found) = mean(&repetitions.values) else {
        return Err("the `values` of this point are empty, expected at least one number".into());
    };
    if let Some(stated) = point.mean
        && (found - stated).abs() > 1e-6 * stated.abs().max(found.abs())
    {
        noticed.padded += 1;
        return Ok(vec![stated]);
    }
    noticed.averaged += usize::from(repetitions.averaged);
    Ok(repetitions.values)
}

fn warn(document: &Document, into: &mut Collector, noticed: &Noticed) {
    let place = document.place(&[Step::Key("measurements")]);
    let Noticed { statistics_only, averaged, padded, tagged, again } = noticed;
    if let Some((count, first)) = again {
        let more = if *count > 1 { format!(", and others do, {count} in all") } else { String::new() };
        let message = format!("This point stands here again{more}: values of one point are taken for repetitions.");
        into.warn(ASSUMED, first.clone(), message);
    }
    let messages = [
        (
            *statistics_only,
            STATISTICS_ONLY,
            format!(
                "{} statistics and not the measurements they were computed from. The mean \
                 was read as one repetition; median, minimum, maximum and standard deviation were not used.",
                counted(*statistics_only, "point holds", "points hold")
            ),
        ),
        (
            *padded,
            STATISTICS_ONLY,
            format!(
                "At {} the values kept do not have the mean that the file states, as where Extra-P fills \
                 up ranks that have none with zeros. There the stated mean was read as one repetition.",
                counted(*padded, "point", "points")
            ),
        ),
        (
            *averaged,
            AVERAGED,
            format!(
                "At {} a repetition holds several values, one for each rank or thread. Their mean was \
                 read as the repetition's value.",
                counted(*averaged, "point", "points")
            ),
        ),
        (
            *tagged,
            IGNORED,
            format!(
                "The tags of {} have no meaning here and were ignored.",
                counted(*tagged, "call path or metric", "call paths or metrics")
            ),
        ),
    ];
    for (_, code, message) in messages.into_iter().filter(|(count, ..)| *count > 0) {
        into.warn(code, place.clone(), message);
    }
}

/// The models in a file are another program's opinion of the measurements; ours are fitted to those.
fn warn_of_models(document: &Document, into: &mut Collector, modelers: &[NestedModeler]) {
    let count: usize = modelers.iter().flat_map(|m| m.models.values()).map(HashMap::len).sum();
    if count > 0 {
        let names: Vec<String> = modelers.iter().map(|m| format!("`{}`", m.name)).collect();
        let models = if count == 1 { "The model".to_owned() } else { format!("The {count} models") };
        let were = if count == 1 { "was" } else { "were" };
        let message = format!("{models} of {} {were} not read, only the measurements.", names.join(", "));
        into.warn(IGNORED, document.place(&[Step::Key("modelers")]), message);
    }
}
