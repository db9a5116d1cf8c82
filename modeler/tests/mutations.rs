//! Files that are damaged at random, and files that are made to fill a memory: no reader panics, and none takes more memory
//! than some multiple of the input's size.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use modeler::formats::{self, Format, Input, ReadError, ReadOptions, Values};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Counts what is allocated.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grown(by: usize) {
    let now = NOW.fetch_add(by, Ordering::Relaxed) + by;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call is forwarded to the system's allocator as it is; only sizes are added up beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Held while memory is measured, since tests run at the same time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `read` gives, and how many bytes were allocated at the same time at most.
fn metered<T>(read: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let value = read();
    (value, PEAK.load(Ordering::Relaxed).saturating_sub(before))
}

fn measured(bytes: Vec<u8>, options: &ReadOptions) -> (Result<Input, ReadError>, usize) {
    metered(|| formats::read_bytes("input.p4.n8", bytes, options))
}

fn dataset(file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(file);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn mutate(bytes: &mut Vec<u8>, random: &mut StdRng) {
    const PIECES: [&[u8]; 14] = [
        b"\"",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b";",
        b"->",
        b"1e999",
        b"-",
        b"NaN",
        b"18446744073709551616",
        b"\\u0000",
        b"\xff\xfe",
    ];
    let at = random.random_range(0..=bytes.len());
    let until = (at + random.random_range(0..40)).min(bytes.len());
    match random.random_range(0..6) {
        0 if at < bytes.len() => bytes[at] = random.random(),
        1 => drop(bytes.drain(at..until)),
        2 => bytes.truncate(at),
        3 => {
            let piece = bytes[at..until].to_vec();
            bytes.splice(at..at, piece);
        }
        4 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
        _ => drop(bytes.splice(at..at, PIECES[random.random_range(0..PIECES.len())].iter().copied())),
    }
}

/// The members of an archive changed and packed again, since a change of its bytes only breaks a checksum.
fn repacked(archive: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut from = zip::ZipArchive::new(std::io::Cursor::new(archive)).unwrap();
    let mut to = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let changed = random.random_range(0..from.len());
    for index in 0..from.len() {
        let mut member = from.by_index(index).unwrap();
        let (name, mut content) = (member.name().to_owned(), Vec::new());
        std::io::copy(&mut member, &mut content).unwrap();
        if index == changed {
            (0..random.random_range(1..4)).for_each(|_| mutate(&mut content, random));
        }
        to.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        to.write_all(&content).unwrap();
    }
    to.finish().unwrap().into_inner()
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(bytes), &mut plain).unwrap();
    plain
}

/// How a file is changed.
#[derive(Clone, Copy, PartialEq)]
enum Wrapping {
    /// As it is.
    Plain,
    /// Half of the times inside a ZIP archive, which is made again.
    Archive,
    /// The content of a gzip file, which is compressed again.
    Gzip,
}

/// Valid files of every format: name, content, wrapping, and the columns of a table.
fn originals() -> Vec<(&'static str, Vec<u8>, Wrapping, Option<&'static str>)> {
    use Wrapping::{Archive, Gzip, Plain};
    let written = |format: Format| {
        let from =
            formats::read_bytes("input", dataset("extrap_formats/nested.json"), &ReadOptions::default()).unwrap();
        let mut bytes = Vec::new();
        formats::write(&from.experiment, format, &mut bytes).unwrap();
        bytes
    };
    let file = |name: &'static str, wrapping| {
        let bytes = dataset(name);
        (name, if wrapping == Gzip { unzipped(&bytes) } else { bytes }, wrapping, None)
    };
    let columns = Some("p=parameter,n=parameter,region=callpath,time=metric:time[ms],run=repetition");
    let mut all = vec![
        file("relearn2p/relearn_data.txt", Plain),
        file("mpi_collectives/mpi_collectives.jsonl", Plain),
        file("extrap_formats/call_tree.txt", Plain),
        file("extrap_formats/two_parameters.txt", Plain),
        file("extrap_formats/numbered.json", Plain),
        file("extrap_formats/nested.json", Plain),
        file("extrap_formats/talpas.txt", Plain),
        file("extrap_formats/statistics.extra-p", Archive),
        file("extrap_formats/values.extra-p", Archive),
        file("cube/matrix/mm.x2000y1z1.r1/profile.cubex", Plain),
        file("cube/threads/example.f3/cube-example3.cubex", Plain),
        file("cube/types/cube-values_example.cubex", Plain),
        file("tools/mpip/ring.p2.n1000.r1/ring.mpiP", Plain),
        file("tools/simpoint/work.n24.bb", Plain),
        file("tools/google_benchmark.json", Plain),
        file("tools/hyperfine.json", Plain),
        file("hatchet/lulesh.p1.cali", Plain),
        file("hatchet/cpi-callpath.p4.json", Plain),
        file("tools/spin.n200000.folded", Plain),
        file("tools/spin.n200000.pb.gz", Gzip),
        ("own JSON", written(Format::Experiment), Plain, None),
        ("own CSV", written(Format::Csv), Plain, None),
    ];
    let texts = [("Caliper", CALI), ("json-split", JSON_SPLIT), ("TAU", TAU), ("gem5", GEM5)];
    all.extend(texts.map(|(name, text)| (name, text.as_bytes().to_vec(), Plain, None)));
    all.push(("a table", TABLE.as_bytes().to_vec(), Plain, columns));
    all
}

const CALI: &str = "__rec=node,id=12,attr=10,data=64,parent=3\n__rec=node,id=14,attr=8,data=attribute.unit,parent=12\n\
    __rec=node,id=15,attr=14,data=sec,parent=5\n__rec=node,id=16,attr=10,data=65,parent=15\n\
    __rec=node,id=17,attr=8,data=sum#time.duration,parent=16\n\
    __rec=node,id=20,attr=10,data=268,parent=3\n__rec=node,id=21,attr=8,data=function,parent=20\n\
    __rec=node,id=22,attr=8,data=mpi.rank,parent=16\n__rec=node,id=30,attr=21,data=main\n\
    __rec=node,id=31,attr=21,data=solve\\, twice,parent=30\n\
    __rec=ctx,ref=30,attr=17=22,data=1.5=0\n__rec=ctx,ref=31,attr=17=22,data=2=0\n\
    __rec=ctx,ref=30,attr=17=22,data=2.5=1\n__rec=ctx,ref=31,attr=17=22,data=4=1\n";
const JSON_SPLIT: &str = "{\"data\": [[1500000, 0, 0], [2000000, 0, 1], [2500000, 1, 0], [4000000, 1, 1]],\
    \"columns\": [\"sum#time.duration\", \"mpi.rank\", \"path\"],\
    \"column_metadata\": [{\"is_value\": true}, {\"is_value\": true}, {\"is_value\": false}],\
    \"nodes\": [{\"label\": \"main\", \"column\": \"path\"}, {\"label\": \"solve\", \"column\": \"path\", \"parent\": 0}]}";
const TAU: &str = "3 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls # <metadata></metadata>\n\
    \".TAU application\" 1 2 50 90 0 GROUP=\"TAU_DEFAULT\"\n\"MPI_Send()  \" 3 0 20 20 0 GROUP=\"MPI\"\n\
    \".TAU application => MPI_Send()  \" 1 0 20 20 0 GROUP=\"TAU_CALLPATH|MPI\"\n0 aggregates\n1 userevents\n\
    # eventname numevents max min mean sumsqr\n\"Message size sent to all nodes\" 4 8 8 8 256\n";
const GEM5: &str = "\n---------- Begin Simulation Statistics ----------\n\
    simSeconds 0.5 # Number of seconds simulated (Second)\nsimTicks 100 # Number of ticks simulated (Tick)\n\
    finalTick 100 # Number of ticks from beginning of simulation (Tick)\n\
    system.cpu.numCycles 1000 # Number of cpu cycles simulated (Cycle)\n\
    system.l2.mshrs::total nan # quotient (Ratio)\n---------- End Simulation Statistics   ----------\n\
    \n---------- Begin Simulation Statistics ----------\nsimTicks 50 # Number of ticks simulated (Tick)\n\
    finalTick 150 # Number of ticks from beginning of simulation (Tick)\n\
    ---------- End Simulation Statistics   ----------\n";
const TABLE: &str = "| p | n | region | time | run | other |\n|---|---|--------|------|-----|-------|\n\
    | 1 | 8 | main   | 20.5 | 0   | x     |\n| 2 | 8 | main->f | 11 | 1   |       |\n";

/// What a reader may take beside `LARGEST` times the input's size.
const HARMLESS: usize = 40 << 20;
/// Bytes of memory for each byte of input. Compressed input unpacks to 200 times its size, as long as it is not refused.
const LARGEST: usize = 1000;

/// `POISE_MUTATIONS` asks for more than the few thousand of an ordinary run.
#[test]
fn no_mutation_of_a_real_file_makes_a_reader_panic_or_fill_the_memory() {
    let _alone = alone();
    let count: u64 = std::env::var("POISE_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let (mut refused, mut accepted) = (0, 0);
    for (number, (file, original, wrapping, columns)) in originals().into_iter().enumerate() {
        let options = ReadOptions { columns: columns.map(str::to_owned), ..ReadOptions::default() };
        let whole = if wrapping == Wrapping::Gzip { zipped(&original) } else { original.clone() };
        let input = measured(whole, &options).0.unwrap_or_else(|e| panic!("{file}: {e}"));
        // A change at the beginning makes another format of a file, so half of the changed files are told their format.
        let told = (columns.is_none() && input.format != Format::Csv).then_some(input.format);
        // The end of a long text is like its beginning.
        let is_text = wrapping == Wrapping::Plain && input.format != Format::Cubex && !file.ends_with(".json");
        let original = &original[..original.len().min(if is_text { 4000 } else { usize::MAX })];
        let mut random = StdRng::seed_from_u64(number as u64);
        for _ in 0..count {
            let bytes = changed(original, wrapping, &mut random);
            let length = bytes.len();
            let format = told.filter(|_| random.random());
            let inclusive = format.is_some_and(|f| Format::INCLUSIVE.contains(&f)) && random.random();
            let values = inclusive.then_some(Values::Inclusive);
            let (read, memory) = measured(bytes, &ReadOptions { format, values, ..options.clone() });
            assert!(memory < HARMLESS + LARGEST * length, "{file}: {memory} bytes for {length}");
            match read {
                Ok(input) => {
                    assert!(input.experiment.values.iter().all(|v| v.is_finite()), "{file}");
                    accepted += 1;
                }
                Err(error) => {
                    assert!(error.to_string().starts_with("input"), "{file}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > accepted / 10 && accepted > refused / 100, "{refused} refused, {accepted} accepted");
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.iter().flat_map(|path| if path.is_dir() { files(path) } else { vec![path.clone()] }).collect()
}

/// The same for profiles that are folders: one of their files is changed, cut off or gone.
#[test]
fn no_mutation_in_a_real_folder_makes_a_reader_panic_or_fill_the_memory() {
    let _alone = alone();
    let count: u64 = std::env::var("POISE_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    for (number, (folder, format)) in [
        ("tools/criterion", Format::Criterion),
        ("hpctoolkit/ping-pong.p2", Format::HpcToolkit),
        ("hatchet/cpi.p4", Format::Tau),
    ]
    .into_iter()
    .enumerate()
    {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(folder);
        let kept = tempfile::tempdir().unwrap();
        let copy = kept.path().join("run.p4.n8");
        for file in files(&from) {
            let to = copy.join(file.strip_prefix(&from).unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(file, to).unwrap();
        }
        let all = files(&copy);
        let size: u64 = all.iter().map(|file| file.metadata().unwrap().len()).sum();
        let mut random = StdRng::seed_from_u64(1000 + number as u64);
        let (mut refused, mut accepted) = (0, 0);
        for _ in 0..count {
            let file = &all[random.random_range(0..all.len())];
            let whole = std::fs::read(file).unwrap();
            match random.random_range(0..20) {
                0 => std::fs::remove_file(file).unwrap(),
                _ => std::fs::write(file, changed(&whole, Wrapping::Plain, &mut random)).unwrap(),
            }
            let options = ReadOptions { format: random.random::<bool>().then_some(format), ..ReadOptions::default() };
            let (read, memory) = metered(|| formats::read(std::slice::from_ref(&copy), &options));
            std::fs::write(file, whole).unwrap();
            assert!(
                memory < HARMLESS + LARGEST * usize::try_from(size).unwrap(),
                "{folder}: {memory} bytes for {size}"
            );
            match read {
                Ok(input) => {
                    assert!(input.experiment.values.iter().all(|v| v.is_finite()), "{folder}");
                    accepted += 1;
                }
                Err(error) => {
                    assert!(matches!(error.exit_code(), 3 | 4), "{folder}: {error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 0 && accepted > 0, "{folder}: {refused} refused, {accepted} accepted");
    }
}

fn changed(original: &[u8], wrapping: Wrapping, random: &mut StdRng) -> Vec<u8> {
    if wrapping == Wrapping::Archive && random.random() {
        return repacked(original, random);
    }
    let mut bytes = original.to_vec();
    (0..random.random_range(1..5)).for_each(|_| mutate(&mut bytes, random));
    if wrapping == Wrapping::Gzip { zipped(&bytes) } else { bytes }
}

/// A Cube archive of one member.
fn cube(member: &str, content: &[u8]) -> Vec<u8> {
    let mut header = vec![0_u8; 512];
    header[..member.len()].copy_from_slice(member.as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[257..262].copy_from_slice(b"ustar");
    let mut archive = [&header, content].concat();
    archive.resize(archive.len().next_multiple_of(512) + 1024, 0);
    archive
}

/// Small files that unpack to much: each is refused before it has taken what it unpacks to.
#[test]
fn files_that_unpack_to_much_are_refused() {
    let _alone = alone();
    const SIZE: usize = 64 << 20;
    let bomb = |begin: &[u8], fill: u8| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(begin).unwrap();
        let block = vec![fill; 1 << 20];
        (0..SIZE >> 20).for_each(|_| encoder.write_all(&block).unwrap());
        encoder.finish().unwrap()
    };
    let name = b"<cube version=\"4.4\"><metrics><metric id=\"0\" type=\"EXCLUSIVE\"><uniq_name>";
    let cases = [
        ("pprof", bomb(&[0x0a, 0x04, 0x08, 0x01, 0x10, 0x02], 0)),
        ("folded stacks", bomb(b"main;a 1\n", b'x')),
        ("a name in an anchor", cube("anchor.xml", &bomb(name, b'x'))),
        ("a comment in an anchor", cube("anchor.xml", &bomb(b"<cube><!--", b'-'))),
    ];
    for (what, bytes) in cases {
        let length = bytes.len();
        let (read, memory) = measured(bytes, &ReadOptions::default());
        let error = read.map(|_| ()).unwrap_err().to_string();
        assert!(memory < SIZE, "{what}: {memory} bytes for {length}: {error}");
        assert!(error.contains("200 times"), "{what}: {error}");
    }
}
