//! Models of Cube profiles that other tools measured: a matrix multiplication under Score-P, in which the number of
//! operations stands for what tools that count basic blocks write into the same files (no public set has such counts); and
//! LULESH with the bytes of its MPI operations.

use std::path::Path;

use modeler::formats::{self, ReadOptions};
use modeler::model::{Kind, Method, Role};
use modeler::{Experiment, Model, Options, fit};

/// Name and content of the members of a ustar archive, whose checksums do not matter here.
fn unpacked(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let text = |field: &[u8]| String::from_utf8(field.split(|&b| b == 0).next().unwrap().to_vec()).unwrap();
    let (mut rest, mut members) = (bytes, Vec::new());
    while rest.len() >= 512 && rest[0] != 0 {
        let size = usize::from_str_radix(text(&rest[124..136]).trim(), 8).unwrap();
        members.push((text(&rest[..100]), rest[512..512 + size].to_vec()));
        rest = &rest[(512 + size.next_multiple_of(512)).min(rest.len())..];
    }
    members
}

fn packed(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in members {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[257..262].copy_from_slice(b"ustar");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&b| u32::from(b)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        archive.extend(header);
        archive.extend(content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

/// The profiles of the matrix multiplication, the metric of operations renamed.
fn matrix(name: &str) -> Experiment {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/cube/matrix");
    let folder = tempfile::tempdir().unwrap();
    for run in std::fs::read_dir(from).unwrap() {
        let run = run.unwrap();
        let mut members = unpacked(&std::fs::read(run.path().join("profile.cubex")).unwrap());
        let (_, anchor) = members.iter_mut().find(|(member, _)| member == "anchor.xml").unwrap();
        let mut text = String::new();
        if std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&anchor[..]), &mut text).is_err() {
            text = String::from_utf8(anchor.clone()).unwrap();
        }
        *anchor = text.replace("PAPI_FP_OPS", name).into_bytes();
        let to = folder.path().join(run.file_name());
        std::fs::create_dir(&to).unwrap();
        std::fs::write(to.join("profile.cubex"), packed(&members)).unwrap();
    }
    let input = formats::read(&[folder.path().to_owned()], &ReadOptions::default()).unwrap();
    assert!(input.warnings.is_empty(), "{:?}", input.warnings);
    input.experiment
}

fn model<'a>(experiment: &Experiment, models: &'a [Model], path: &str, metric: &str) -> &'a Model {
    let is_it = |m: &&Model| {
        experiment.path(m.callpath).join("->") == path && experiment.metrics[m.metric as usize].name == metric
    };
    models.iter().find(is_it).unwrap_or_else(|| panic!("no model of {metric} at {path}"))
}

/// One row of length x times a matrix with one column: 2 x operations, and time that follows them.
#[test]
fn counts_of_other_tools_are_the_priors_of_times() {
    for spelling in ["BB_COUNT", "Basic Blocks"] {
        let experiment = matrix(spelling);
        let fits = fit(&experiment, &Options::default());
        let time = model(&experiment, &fits.models, "main->mat_mul", "time");
        assert_eq!(time.method, Method::Effort, "{spelling}: {time:?}");
        assert_eq!(time.growth[0].exponent, 1.into(), "{time:?}");
        assert_eq!(time.growth[0].log_exponent, 0);
        let at = |x: f64| time.predict(&[x], 0.9).value;
        // Measured: 6.3 microseconds at 2000, about 1 without work.
        let measured =
            experiment.series_of(time.callpath, time.metric).map(|s| *experiment.values_of(s).last().unwrap());
        let measured = measured.unwrap();
        assert!((at(2000.0) / measured - 1.0).abs() < 0.2, "{} {measured}", at(2000.0));
    }
    let experiment = matrix("PAPI_FP_OPS");
    let fits = fit(&experiment, &Options::default());
    let operations = model(&experiment, &fits.models, "main->mat_mul", "PAPI_FP_OPS");
    let slope = (operations.predict(&[4000.0], 0.9).value - operations.predict(&[2000.0], 0.9).value) / 2000.0;
    assert!((slope - 2.0).abs() < 0.1, "{slope}");
    assert_eq!(model(&experiment, &fits.models, "main->mat_mul", "time").method, Method::Time);
}

/// What pycubexr finds in the profiles of LULESH: 19 calls of MPI_Allreduce, each of one double, which Score-P takes for 152 p bytes of each
/// rank, and one of MPI_Reduce with 8 bytes. Costs are those of seed Table I: log2(p) messages, and a share of the bytes.
#[test]
fn bytes_of_other_tools_are_the_priors_of_mpi_operations() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/cube/lulesh");
    let experiment = formats::read(&[folder], &ReadOptions::default()).unwrap().experiment;
    let fits = fit(&experiment, &Options::default());
    assert_eq!(fits.skipped.len(), 0);
    let of =
        |path: &str, metric: &str| model(&experiment, &fits.models, &format!("lulesh.scorepx->main->{path}"), metric);
    let p = experiment.parameters.iter().position(|name| name == "p").unwrap();
    let at = |ranks: f64| {
        let mut x = vec![12.0; 2];
        x[p] = ranks;
        x
    };
    for ranks in [1.0, 8.0, 27.0, 1000.0] {
        let exact = [("TimeIncrement(Domain&)->MPI_Allreduce", 19.0 * 8.0, 19.0), ("MPI_Reduce", 8.0, 1.0)];
        for (path, bytes, calls) in exact {
            assert!((of(path, "bytes_sent").at(&at(ranks)) / bytes - 1.0).abs() < 1e-9, "{path} at {ranks}");
            assert!((of(path, "visits").at(&at(ranks)) / calls - 1.0).abs() < 1e-9, "{path} at {ranks}");
        }
    }
    for (path, effort) in [
        ("TimeIncrement(Domain&)->MPI_Allreduce", "bytes_sent"),
        ("MPI_Reduce", "bytes_sent"),
        ("MPI_Barrier", "visits"),
    ] {
        let time = of(path, "time");
        assert_eq!((time.method, time.kind), (Method::Effort, Kind::Communication), "{time:?}");
        assert_eq!(time.effort_metric.map(|m| experiment.metrics[m as usize].name.as_str()), Some(effort));
        assert!(time.terms.iter().all(|t| t.coefficient >= 0.0), "{time:?}");
        let latency = time.terms.iter().find(|t| t.role == Role::Latency).unwrap();
        assert_eq!(
            latency.factors.iter().map(|f| (f.parameter, f.log_exponent)).collect::<Vec<_>>(),
            [(p, 1)],
            "{time:?}"
        );
    }
    // Sends differ between 8 and 27 ranks only, which determines no function; they are no zero for that.
    let sends =
        of("CommSend(Domain&, int, int, double& (Domain::**)(int), int, int, int, bool, bool)->MPI_Isend", "visits");
    let value = sends.at(&at(27.0));
    assert!((7.0..11.71).contains(&value) && sends.warnings.iter().any(|w| w.code == "W007"), "{sends:?}");
}
