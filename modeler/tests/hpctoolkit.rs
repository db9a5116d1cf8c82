//! Databases of HPCToolkit, written by an encoder of their own after the tables of `FORMATS.md`, version 4.0, with strides
//! larger than today's, as later versions may have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use modeler::experiment::OverRanks;
use modeler::formats::{self, Format, Input, ReadOptions, Scaling, Values};

/// What stands at a context of the tree.
enum Lexical {
    /// A function of the list.
    Function(usize),
    /// A loop at this line of the file.
    Loop(u32),
    /// A source line.
    Line(u32),
    /// An instruction at this offset in the module.
    Instruction(u64),
}

struct Context {
    id: u32,
    what: Lexical,
    callees: Vec<Context>,
}

fn context(id: u32, what: Lexical, callees: Vec<Context>) -> Context {
    Context { id, what, callees }
}

/// Functions: main, an MPI operation, one without a name, a small one.
const MAIN: usize = 0;
const BCAST: usize = 1;
const ANONYMOUS: usize = 2;
const WORK: usize = 3;

/// The tree of every run here: two entry points with their numbers and names.
fn tree() -> Vec<(u32, &'static str, Vec<Context>)> {
    use Lexical::{Function, Instruction, Line, Loop};
    let bcast = context(4, Function(BCAST), vec![context(5, Function(WORK), vec![context(6, Loop(99), vec![])])]);
    let main = vec![
        context(3, Line(10), vec![bcast]),
        context(7, Loop(20), vec![context(8, Line(21), vec![context(9, Function(WORK), vec![])])]),
        // Two calls on two lines are one call path.
        context(10, Line(30), vec![context(11, Function(WORK), vec![])]),
        context(12, Line(31), vec![context(13, Instruction(0x40), vec![context(14, Function(WORK), vec![])])]),
    ];
    let thread = context(21, Function(ANONYMOUS), vec![]);
    vec![(1, "main thread", vec![context(2, Function(MAIN), main)]), (20, "application thread", vec![thread])]
}

/// A file that is written from front to back, places that are known later being filled in.
struct Bytes(Vec<u8>);

impl Bytes {
    fn at(&self) -> u64 {
        self.0.len() as u64
    }
    fn put<const N: usize>(&mut self, bytes: [u8; N]) -> &mut Self {
        self.0.extend(bytes);
        self
    }
    fn pad(&mut self, to: usize) -> &mut Self {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
        self
    }
    fn fill(&mut self, at: u64, value: u64) {
        self.0[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    }
    fn text(&mut self, text: &str) -> u64 {
        let at = self.at();
        self.0.extend(text.bytes().chain([0]));
        at
    }
    /// A header of this many sections, whose places are filled in.
    fn header(format: &[u8; 4], sections: usize) -> Self {
        let mut bytes = Self(b"HPCTOOLKIT".to_vec());
        bytes.put(*format).put([4, 7]);
        bytes.0.resize(16 + 16 * sections, 0);
        bytes
    }
    fn section(&mut self, number: u64) {
        let at = self.pad(8).at();
        self.fill(0x18 + 0x10 * number, at);
    }
}

/// Which numbers metrics have in `profile.db`: values alone, and with what is below.
const ALONE: u16 = 5;
const BELOW: u16 = 9;

/// `meta.db` with the metrics as named, the first of which has `scopes`: (type, number).
fn meta(metric: &str, scopes: &[(u8, u16)]) -> Vec<u8> {
    let mut b = Bytes::header(b"meta", 8);
    b.section(4);
    let [point, name, module, file, main, bcast, work, entry, other, kinds] = [
        "scope",
        metric,
        "/opt/app/lib/libthread.so",
        "/home/me/src/main.c",
        "main",
        "PMPI_Bcast [libmpi.so.40]",
        "work(int)",
        "main thread",
        "application thread",
        "RANK",
    ]
    .map(|text| b.text(text));
    b.section(1);
    let section = b.at();
    b.put((section + 16).to_le_bytes()).put([2]).pad(8).put((kinds + 4).to_le_bytes()).put(kinds.to_le_bytes());
    b.section(5);
    let module_at = b.pad(8).at();
    b.put([0; 8]).put(module.to_le_bytes());
    let file_at = b.at();
    b.put([0; 8]).put(file.to_le_bytes());
    let functions = [(main, 0), (bcast, 0), (0, module_at), (work, 0)].map(|(name, module): (u64, u64)| {
        let at = b.at();
        b.put(name.to_le_bytes()).put(module.to_le_bytes()).put(0x1234_u64.to_le_bytes()).put([0; 8]).put([0; 8]);
        at
    });
    // Scopes, 24 bytes each; instances of 24 bytes; one metric of 40 bytes.
    let scope_at = scopes.iter().map(|&(kind, _)| {
        let at = b.pad(8).at();
        b.put(point.to_le_bytes()).put([kind]).put([0; 15]);
        at
    });
    let scope_at: Vec<u64> = scope_at.collect();
    let instances = b.at();
    for (at, (_, number)) in scope_at.iter().zip(scopes) {
        b.put(at.to_le_bytes()).put(number.to_le_bytes()).put([0; 14]);
    }
    let metric_at = b.at();
    b.put(name.to_le_bytes()).put(instances.to_le_bytes()).put([0; 8]).put((scopes.len() as u16).to_le_bytes());
    b.put([0; 14]);
    b.section(2);
    b.put(metric_at.to_le_bytes()).put(1_u32.to_le_bytes()).put([40, 24, 24, 0]).put([0; 16]);
    // The tree from its leaves upwards.
    let places = Places { functions, file: file_at, module: module_at };
    let tree = tree();
    let children: Vec<(u64, u64)> = tree.iter().map(|(_, _, below)| contexts(&mut b, below, &places)).collect();
    let entries = b.pad(8).at();
    for (((start, size), (id, ..)), name) in children.into_iter().zip(&tree).zip([entry, other]) {
        b.put(size.to_le_bytes()).put(start.to_le_bytes()).put(id.to_le_bytes()).put([1, 0, 0, 0]);
        b.put(name.to_le_bytes()).put([0; 8]);
    }
    b.section(3);
    b.put(entries.to_le_bytes()).put(2_u16.to_le_bytes()).put([40]);
    b.pad(8).put(*b"_meta.db");
    b.0
}

/// Where the things are that contexts refer to.
struct Places {
    functions: [u64; 4],
    file: u64,
    module: u64,
}

/// Writes the callees of each of `list`, then `list`; gives its place and size.
fn contexts(b: &mut Bytes, list: &[Context], places: &Places) -> (u64, u64) {
    let below: Vec<(u64, u64)> = list.iter().map(|c| contexts(b, &c.callees, places)).collect();
    let start = b.pad(8).at();
    for (context, (at, size)) in list.iter().zip(below) {
        b.put(size.to_le_bytes()).put(at.to_le_bytes()).put(context.id.to_le_bytes());
        let (flags, kind, words) = match context.what {
            Lexical::Function(_) => (1, 0, 1),
            Lexical::Loop(_) => (2, 1, 2),
            // One word more than needed.
            Lexical::Line(_) => (2, 2, 3),
            Lexical::Instruction(_) => (4, 3, 2),
        };
        b.put([flags, 1, kind, words]).put([0; 8]);
        match context.what {
            Lexical::Function(f) => b.put(places.functions[f].to_le_bytes()),
            Lexical::Loop(line) => b.put(places.file.to_le_bytes()).put(u64::from(line).to_le_bytes()),
            Lexical::Line(line) => b.put(places.file.to_le_bytes()).put(line.to_le_bytes()).put([0; 12]),
            Lexical::Instruction(offset) => b.put(places.module.to_le_bytes()).put(offset.to_le_bytes()),
        };
    }
    if list.is_empty() { (0, 0) } else { (start, b.at() - start) }
}

/// Values of one thread by context, each alone; the sums with what is below are made here.
struct Thread {
    rank: u32,
    alone: Vec<(u32, f64)>,
}

fn below(context: &Context, thread: &Thread, sums: &mut BTreeMap<u32, f64>) -> f64 {
    let own: f64 = thread.alone.iter().filter(|(id, _)| *id == context.id).map(|(_, v)| v).sum();
    let sum = own + context.callees.iter().map(|c| below(c, thread, sums)).sum::<f64>();
    sums.insert(context.id, sum);
    sum
}

fn profile(threads: &[Thread]) -> Vec<u8> {
    let mut b = Bytes::header(b"prof", 2);
    let mut blocks = Vec::new();
    for thread in threads {
        let mut sums = BTreeMap::new();
        let mut all = 0.0;
        for (entry, _, list) in tree() {
            let sum = list.iter().map(|c| below(c, thread, &mut sums)).sum();
            sums.insert(entry, sum);
            all += sum;
        }
        // The whole run, and an instruction that the tree lacks, as hpcprof leaves them out.
        sums.insert(0, all);
        sums.insert(77, 0.5);
        sums.retain(|_, sum| *sum != 0.0);
        let mut values: Vec<(u16, f64)> = Vec::new();
        let mut index: Vec<(u32, u64)> = Vec::new();
        for (&id, &sum) in &sums {
            index.push((id, values.len() as u64));
            values.extend(thread.alone.iter().filter(|(i, _)| *i == id).map(|&(_, v)| (ALONE, v)));
            values.push((BELOW, sum));
        }
        let start = b.pad(2).at();
        values.iter().for_each(|(metric, value)| {
            b.put(metric.to_le_bytes()).put(value.to_le_bytes());
        });
        let indices = b.pad(4).at();
        index.iter().for_each(|(id, from)| {
            b.put(id.to_le_bytes()).put(from.to_le_bytes());
        });
        blocks.push((values.len() as u64, start, index.len() as u32, indices));
    }
    b.section(1);
    let tuples: Vec<u64> = threads.iter().map(|thread| tuple(&mut b, thread.rank)).collect();
    let summary = ((0, 0, 0, 0), 0, 1_u32);
    let profiles = blocks.into_iter().zip(tuples).map(|(block, tuple)| (block, tuple, 0_u32));
    let array = b.pad(8).at();
    for ((values, start, contexts, indices), tuple, flags) in [summary].into_iter().chain(profiles) {
        b.put(values.to_le_bytes()).put(start.to_le_bytes()).put(contexts.to_le_bytes()).put([0; 4]);
        b.put(indices.to_le_bytes()).put(tuple.to_le_bytes()).put(flags.to_le_bytes()).put([0; 12]);
    }
    b.section(0);
    b.put(array.to_le_bytes()).put((threads.len() as u32 + 1).to_le_bytes()).put([56]).pad(8).put(*b"_prof.db");
    b.0
}

/// Two identifiers: one of another kind, and the rank.
fn tuple(b: &mut Bytes, rank: u32) -> u64 {
    let at = b.pad(8).at();
    b.put(2_u16.to_le_bytes()).put([0; 6]);
    b.put([0, 0, 0, 0]).put(123_u32.to_le_bytes()).put([0; 8]);
    b.put([1, 0, 0, 0]).put(rank.to_le_bytes()).put([0; 8]);
    at
}

/// Three threads of two ranks.
fn threads() -> Vec<Thread> {
    let first = vec![(2, 1.0), (5, 0.25), (6, 0.5), (7, 2.0), (9, 4.0), (11, 8.0), (14, 16.0)];
    let second = vec![(2, 3.0), (4, 0.125), (9, 6.0)];
    [(0, first), (0, vec![(21, 7.0)]), (1, second)].map(|(rank, alone)| Thread { rank, alone }).into()
}

/// A folder whose name says nothing.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let kept = tempfile::tempdir().unwrap();
    let folder = kept.path().join("database");
    (kept, folder)
}

fn write(folder: &Path, meta: &[u8], profile: &[u8]) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("meta.db"), meta).unwrap();
    std::fs::write(folder.join("profile.db"), profile).unwrap();
}

fn read(path: &Path, values: Values) -> Input {
    let options = ReadOptions { values: Some(values), ..ReadOptions::default() };
    formats::read(&[path.to_owned()], &options).unwrap_or_else(|e| panic!("{e}"))
}

/// The value of every call path at the only point.
fn by_path(input: &Input, metric: &str, over: Option<OverRanks>) -> BTreeMap<String, f64> {
    let e = &input.experiment;
    let of = |s: &&modeler::experiment::Series| {
        let m = &e.metrics[s.metric as usize];
        m.name == metric && m.over_ranks == over
    };
    e.series.iter().filter(of).map(|s| (e.path(s.callpath).join("->"), e.values_of(s)[0])).collect()
}

const SCOPES: [(u8, u16); 3] = [(1, ALONE), (3, 6), (2, BELOW)];

fn expected(list: &[(&str, f64)]) -> BTreeMap<String, f64> {
    list.iter().map(|&(path, value)| (path.to_owned(), value)).collect()
}

#[test]
fn lines_count_for_their_functions_and_what_mpi_calls_for_the_operation() {
    let (_kept, folder) = folder();
    write(&folder, &meta("CPUTIME (sec)", &SCOPES), &profile(&threads()));
    let input = read(&folder, Values::Exclusive);
    assert_eq!(input.format, Format::HpcToolkit);
    assert_eq!(
        (&input.experiment.parameters[..], &input.experiment.points[..]),
        (&["p".to_owned()][..], &[vec![2.0]][..])
    );
    let sum = by_path(&input, "time", Some(OverRanks::Sum));
    let main = "main thread->main";
    let list = [
        ("main thread", 0.0),
        (main, 4.0),
        (&format!("{main}->MPI_Bcast"), 0.25 + 0.5 + 0.125),
        (&format!("{main}->loop at main.c:20"), 2.0),
        (&format!("{main}->loop at main.c:20->work(int)"), 10.0),
        (&format!("{main}->work(int)"), 24.0),
        ("application thread", 0.0),
        ("application thread->function at libthread.so+0x1234", 7.0),
    ];
    assert_eq!(sum, expected(&list));
    // Over threads: three.
    assert_eq!(by_path(&input, "time", Some(OverRanks::Mean))[main], 4.0 / 3.0);
    assert_eq!(by_path(&input, "time", Some(OverRanks::Maximum))[main], 3.0);
    assert_eq!(input.experiment.metrics[0].unit, "s");
    assert!(input.warnings.is_empty(), "{:?}", input.warnings);
}

#[test]
fn inclusive_values_hold_those_of_the_callees() {
    let (_kept, folder) = folder();
    write(&folder, &meta("REALTIME (sec)", &SCOPES), &profile(&threads()));
    let sum = by_path(&read(&folder, Values::Inclusive), "time", Some(OverRanks::Sum));
    assert_eq!(sum["main thread"], 31.75 + 9.125);
    assert_eq!(sum["main thread->main"], sum["main thread"]);
    assert_eq!(sum["main thread->main->loop at main.c:20"], 12.0);
    assert_eq!(sum["main thread->main->MPI_Bcast"], 0.875);
    assert_eq!(sum["main thread->main->work(int)"], 24.0);
}

/// Where only values alone exist, they add up, and what belongs to no context of the tree is mentioned.
#[test]
fn values_alone_are_enough() {
    let (_kept, folder) = folder();
    let mut threads = threads();
    threads[0].alone.push((77, 1.0));
    write(&folder, &meta("PAPI_TOT_INS", &[(1, ALONE)]), &profile(&threads));
    let input = read(&folder, Values::Exclusive);
    let sum = by_path(&input, "PAPI_TOT_INS", Some(OverRanks::Sum));
    assert_eq!(sum["main thread->main->MPI_Bcast"], 0.875);
    assert_eq!(sum["main thread->main->work(int)"], 24.0);
    assert_eq!(input.warnings.iter().map(|w| w.code).collect::<Vec<_>>(), ["W103"]);
    assert!(input.warnings[0].message.starts_with("1 value is of a context"), "{}", input.warnings[0]);
}

/// Two numbers of one name are no point; the ranks are, unless names say more.
#[test]
fn a_name_that_contradicts_itself_says_nothing() {
    let (_kept, folder) = folder();
    write(&folder.join("app.n1.n2"), &meta("CPUTIME (sec)", &SCOPES), &profile(&threads()));
    assert_eq!(read(&folder, Values::Exclusive).experiment.parameters, ["p"]);
}

/// Folders say points as anywhere else; strong scaling keeps the sum over threads.
#[test]
fn several_databases_are_several_points() {
    let (_kept, folder) = folder();
    for n in [10, 20] {
        let thread = Thread { rank: 0, alone: vec![(9, f64::from(n))] };
        write(&folder.join(format!("app.n{n}")), &meta("CPUTIME (sec)", &SCOPES), &profile(&[thread]));
    }
    let options = ReadOptions { scaling: Scaling::Strong, ..ReadOptions::default() };
    let input = formats::read(std::slice::from_ref(&folder), &options).unwrap();
    assert_eq!((&input.experiment.parameters[..], input.experiment.points.len()), (&["n".to_owned()][..], 2));
    let e = &input.experiment;
    let work = e.series.iter().find(|s| e.path(s.callpath).last() == Some(&"work(int)")).unwrap();
    assert_eq!(e.values_of(work), [10.0, 20.0]);
}

/// What hpcprof wrote until 2022, read alone, as a folder, and as one of several.
#[test]
fn databases_from_before_version_4_are_named() {
    let (kept, folder) = folder();
    std::fs::create_dir(&folder).unwrap();
    let (xml, values) = (folder.join("experiment.xml"), folder.join("1.app-000000-000-a8c00270-160795-0.metric-db"));
    std::fs::write(&values, b"HPCPROF-metricdb__00.10b\0\0\0\x01").unwrap();
    let begins = [
        "<?xml version=\"1.0\"?>\n<HPCToolkitExperiment version=\"2.2\"><Header n=\"app\"><Info/></Header>",
        "<?xml version=\"1.0\"?>\n<!DOCTYPE hpc-experiment [\n<!-- Profile: correlates metrics -->\n]>\n",
    ];
    for begin in begins {
        std::fs::write(&xml, begin).unwrap();
        for path in [&xml, &values, &folder, &kept.path().to_owned()] {
            let error = formats::read(std::slice::from_ref(path), &ReadOptions::default()).map(|_| ()).unwrap_err();
            let told = error.to_string();
            assert!(told.contains("a database of HPCToolkit from before version 4"), "{told}");
            assert!(told.contains("with the hpcprof of a release from 2023 or later"), "{told}");
            assert_eq!((error.exit_code(), told.lines().count()), (3, 1), "{told}");
        }
    }
}

/// Every file cut off and every byte changed gives an error or values, and never a panic or an endless tree.
#[test]
fn damaged_databases_are_refused_in_one_line() {
    let (_kept, folder) = folder();
    let (meta, profile) = (meta("CPUTIME (sec)", &SCOPES), profile(&threads()));
    let outcome = || {
        let read = formats::read(std::slice::from_ref(&folder), &ReadOptions::default());
        read.map(|_| ()).map_err(|error| {
            assert!(matches!(error.exit_code(), 3 | 4), "{error}");
            error.to_string()
        })
    };
    let mut refused = 0;
    for length in (0..profile.len()).step_by(7) {
        write(&folder, &meta, &profile[..length]);
        refused += usize::from(outcome().is_err());
    }
    assert!(refused * 7 >= profile.len() - 16, "only {refused} of {} cut files were refused", profile.len() / 7);
    for at in 14..meta.len() {
        let mut damaged = meta.clone();
        damaged[at] = damaged[at].wrapping_add(0x81);
        write(&folder, &damaged, &profile);
        let _ = outcome();
    }
    for at in 14..profile.len() {
        let mut damaged = profile.clone();
        damaged[at] ^= 0xff;
        write(&folder, &meta, &damaged);
        let _ = outcome();
    }
    let mut older = meta.clone();
    older[14] = 3;
    write(&folder, &older, &profile);
    let error = outcome().unwrap_err();
    assert!(error.contains("meta.db: at byte 14: the database has version 3; expected version 4"), "{error}");
}
