//! Noise injection in compiled programs: nothing but time changes, and what the profile says of it is true.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use poise_profile::{Noise, Profile};

use super::tools::{Bench, Source, libraries, succeed, total};

const MODES: [&str; 9] =
    ["fp_add64", "fp_mul64", "fma64", "int64_add", "l1_ld64", "memory_ld64", "nop", "fp_div64", "store64"];

const KERNELS: Source<'_> = Source { text: include_str!("programs/kernels.c"), language: "c" };

/// The program with the noise that `wish` asks for.
fn build(bench: &Bench, source: &Source<'_>, wish: &str, flags: &[&str]) -> PathBuf {
    let (libraries, program) = (libraries(), bench.path("noisy"));
    let folder = libraries.display();
    let mut command = bench.compile(source, flags);
    command.env("POISE_NOISE", wish).arg(format!("-fpass-plugin={folder}/libpoise_pass.so")).arg("-gline-tables-only");
    command.arg(format!("-L{folder}")).arg("-lpoise_runtime").arg(format!("-Wl,-rpath,{folder}"));
    succeed(command.args(["-lm", "-o"]).arg(&program));
    program
}

/// Exit status and standard output of a run, and its profile.
type Ran = (Option<i32>, String, Profile);

/// A run with the noise that `absorb` asks for.
fn run(bench: &Bench, program: &Path, absorb: &str, arguments: &[&str]) -> Ran {
    let path = bench.path("profile.poise");
    let _ = std::fs::remove_file(&path);
    let mut command = Command::new(program);
    command.args(arguments).env("POISE_PROFILE", &path).env("POISE_ABSORB", absorb);
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), Profile::read(&path).unwrap())
}

fn same_for_all(source: &Source<'_>, flags: &[&str], arguments: &[&str]) {
    let bench = Bench::new();
    let modes = MODES.join(",");
    let native = Command::new(bench.native(source, &[flags, &["-lm"]].concat())).args(arguments).output().unwrap();
    let native = (native.status.code(), String::from_utf8(native.stdout).unwrap());
    let program = build(&bench, source, &format!("modes={modes};k=1,5,17"), flags);
    let (status, plain, profile) = run(&bench, &program, "off", arguments);
    assert_eq!((status, plain), native);
    assert!(profile.noise.is_empty());
    let blocks = total(&profile);
    for mode in MODES {
        for k in [0, 1, 5, 17] {
            let (status, noisy, profile) = run(&bench, &program, &format!("force={mode}:{k};seed={k}"), arguments);
            assert_eq!((status, noisy), native, "{mode} {k} {flags:?}");
            assert_eq!(total(&profile), blocks, "{mode} {k} {flags:?}");
        }
    }
    let (status, measured, _) = run(&bench, &program, "burst=1", arguments);
    assert_eq!((status, measured), native);
}

#[test]
fn programs_print_the_same_and_count_the_same_with_all_noise() {
    for flags in [&["-O0"][..], &["-O3"], &["-O2", "-march=native", "-ffp-contract=off"]] {
        same_for_all(&KERNELS, flags, &["300"]);
    }
}

#[test]
fn exceptions_threads_and_jumps_survive_noise() {
    let mixed = Source { text: include_str!("programs/mixed.c"), language: "c" };
    same_for_all(&mixed, &["-O2"], &[]);
    let threads = Source { text: include_str!("programs/threads.cpp"), language: "cpp" };
    same_for_all(&threads, &["-O2", "-pthread"], &[]);
    let jumping = Source { text: include_str!("programs/jumping.c"), language: "c" };
    same_for_all(&jumping, &["-O1"], &[]);
    let throwing = Source { text: include_str!("programs/throwing.cpp"), language: "cpp" };
    same_for_all(&throwing, &["-O2"], &[]);
}

#[test]
fn arguments_and_results_of_all_kinds_reach_functions_with_noise() {
    let twins = Source { text: include_str!("programs/twins.c"), language: "c" };
    for flags in [&["-O0"][..], &["-O2"], &["-O3", "-fno-pic", "-no-pie"]] {
        same_for_all(&twins, flags, &["12"]);
    }
}

/// flang reads no assembly unless it is asked to.
#[test]
fn fortran_prints_the_same_with_all_noise() {
    let text = "program main\n implicit none\n real(8) :: x(2000), y(2000)\n integer :: i, r\n
        x = [(mod(i, 7) * 1.0d0, i = 1, 2000)]\n y = 1\n do r = 1, 20000\n call axpy(x, y, 1.0d-3)\n end do\n print *, sum(y)\n
        contains\n subroutine axpy(x, y, c)\n real(8), intent(in) :: x(:), c\n real(8), intent(inout) :: y(:)\n
        do i = 1, size(x)\n y(i) = y(i) + c * x(i)\n end do\n end subroutine\n end program";
    let bench = Bench::new();
    std::fs::write(bench.path("noisy.f90"), text).unwrap();
    let folder = libraries().display().to_string();
    let compile = |program: &str, with: &[String]| {
        let mut flang = Command::new("flang-new-19");
        flang
            .args(["-O2", "-g1", "noisy.f90", "-o", program])
            .args(with)
            .env("POISE_NOISE", "modes=fp_add64,l1_ld64;k=1,8");
        succeed(flang.current_dir(bench.path("")));
        bench.path(program)
    };
    let native = succeed(&mut Command::new(compile("native", &[]))).stdout;
    let flags = [
        format!("-fpass-plugin={folder}/libpoise_pass.so"),
        "-lpoise_runtime".into(),
        format!("-L{folder}"),
        format!("-Wl,-rpath,{folder}"),
    ];
    let program = compile("noisy", &flags);
    for wish in ["off", "force=fp_add64:8;seed=1", "force=l1_ld64:1;seed=2", "samples=3;burst=5"] {
        let (status, printed, profile) = run(&bench, &program, wish, &[]);
        assert_eq!((status, printed.as_bytes()), (Some(0), native.as_slice()), "{wish}");
        let bursts = profile.noise.series.iter().flat_map(|series| &series.bursts).filter(|burst| burst.k == 8);
        assert_eq!(bursts.count() > 0, wish.contains("burst"), "{wish}");
    }
}

/// Instructions that a run executes, as valgrind counts them.
fn executed(program: &Path, arguments: &[&str]) -> f64 {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args(arguments);
    let output = command.output().expect("valgrind is not installed");
    let told = String::from_utf8_lossy(&output.stderr);
    let count = told.lines().find_map(|line| line.split_once("Collected : ")).expect("valgrind says no count").1;
    count.trim().parse().expect("valgrind's count is no number")
}

/// The kernels of docs/absorption.md, small.
#[test]
fn noise_that_nobody_asks_for_costs_less_than_a_percent() {
    let kernels = [
        (include_str!("../../../../examples/absorption/matmul.c"), &["60", "20"][..]),
        (include_str!("../../../../examples/absorption/stream.c"), &["1", "20", "1"]),
        (include_str!("../../../../examples/absorption/chase.c"), &["1", "1000000"]),
        (include_str!("../../../../examples/absorption/compute.c"), &["1000", "100"]),
        (include_str!("../../../../examples/absorption/spmxv.c"), &["2000", "0", "50", "1"]),
    ];
    for (text, arguments) in kernels {
        let flags = ["-O3", "-march=x86-64-v3", "-pthread"];
        let source = Source { text, language: "c" };
        let bench = Bench::new();
        let without = executed(&build(&bench, &source, "off", &flags), arguments);
        let with = executed(&build(&bench, &source, "modes=fp_add64,memory_ld64,nop;k=2,8", &flags), arguments);
        assert!(with < 1.01 * without, "{with} against {without} instructions of\n{text}");
    }
}

fn at<'a>(noise: &'a Noise, function: &str) -> Vec<&'a poise_profile::Series> {
    noise.series.iter().filter(|series| noise.loops[series.target as usize].function == function).collect()
}

#[test]
fn every_mode_and_quantity_is_measured_in_rounds_with_one_burst_without_noise() {
    let bench = Bench::new();
    let program = build(&bench, &KERNELS, "modes=nop,int64_add;k=1,2,4", &["-O2"]);
    let (_, _, profile) = run(&bench, &program, "samples=3;burst=5", &["20000"]);
    let noise = &profile.noise;
    let all = at(noise, "triad");
    let series = all.iter().max_by_key(|series| series.bursts.len()).unwrap();
    let names: Vec<&str> = profile.path(series.node).unwrap().iter().map(|region| region.name.as_str()).collect();
    assert_eq!(names, ["main", "triad"]);
    let line = KERNELS.text.lines().position(|line| line.contains("a[i] = b[i]")).unwrap() as u32 + 1;
    assert!(line.abs_diff(noise.loops[series.target as usize].line) <= 1);
    let measured: BTreeSet<(&str, u32)> =
        series.bursts.iter().filter(|b| b.k > 0).map(|b| (noise.modes[b.mode as usize].as_str(), b.k)).collect();
    assert_eq!(measured.len(), 6, "{measured:?}");
    let rounds: BTreeSet<u32> = series.bursts.iter().map(|burst| burst.round).collect();
    for round in rounds.iter().take(rounds.len() - 1) {
        let of_round: Vec<_> = series.bursts.iter().filter(|burst| burst.round == *round).collect();
        assert_eq!(of_round.iter().filter(|burst| burst.k == 0).count(), 1, "{of_round:?}");
    }
    assert_eq!(series.executions, 300);
}

/// Two loops take turns in a third: 640 additions, then 2,000 divisions that wait for each other. Each is charged its own time.
#[test]
fn loops_beside_each_other_are_timed_apart() {
    let text = "#include <stdio.h>\n#include <stdlib.h>\n
        __attribute__((noinline)) double both(const double *x, long few, long many) {
            double all = 0;
            for (int round = 0; round < 20000; round++) {
                double fast = 0, slow = 1;
                for (long i = 0; i < few; i++)
                    fast = fast + x[i & 63];
                for (long i = 0; i < many; i++)
                    slow = 1 / (slow + x[i & 7]);
                all += fast + slow;
            }
            return all;
        }
        int main(int argc, char **argv) {
            double x[64];
            for (int i = 0; i < 64; i++) x[i] = i % 7 + argc;
            printf(\"%.17g\\n\", both(x, atol(argv[1]), atol(argv[2])));
        }";
    let bench = Bench::new();
    let program = build(&bench, &Source { text, language: "c" }, "modes=nop;k=1,2", &["-O1"]);
    let (few, many) = (640.0, 2000.0);
    let (_, _, profile) = run(&bench, &program, "samples=3;burst=5", &["640", "2000"]);
    // The shortest time of an iteration without noise, by the loop's line.
    let mut times = std::collections::BTreeMap::new();
    for series in at(&profile.noise, "both") {
        let line = profile.noise.loops[series.target as usize].line;
        let time = times.entry(line).or_insert(f64::INFINITY);
        for burst in series.bursts.iter().filter(|burst| burst.k == 0) {
            *time = f64::min(*time, burst.nanoseconds as f64 / burst.iterations.unwrap() as f64);
        }
    }
    let times: Vec<f64> = times.into_values().collect();
    assert!(times.len() == 2 && times.iter().all(|time| time.is_finite()), "{times:?}");
    assert!(few * times[0] < 0.2 * many * times[1], "{times:?}");
}

/// Loops in turn inside another: additions, then divisions that wait for each other, twice.
const IN_TURN: &str = "#include <stdio.h>\n#include <stdlib.h>\n
    __attribute__((noinline)) double turns(const double *x, long rounds, long adds, long divisions, long others) {
        double all = 0;
        for (long round = 0; round < rounds; round++) {
            double sum = round, one = 1, other = 2;
            for (long i = 0; i < adds; i++)
                sum = sum + x[i & 7];
            for (long i = 0; i < divisions; i++)
                one = 1 / (one + x[i & 7]);
            for (long i = 0; i < others; i++)
                other = 1 / (other + x[i & 7]);
            all += sum + one + other;
        }
        return all;
    }
    int main(int argc, char **argv) {
        double x[8];
        for (int i = 0; i < 8; i++) x[i] = i % 7 + argc;
        printf(\"%.17g\\n\", turns(x, atol(argv[1]), atol(argv[2]), atol(argv[3]), atol(argv[4])));
    }";

/// Of loops in turn, run with these arguments: which of the three have executions, the shortest time of an execution without noise of those
/// that were timed, and the most executions of a burst.
fn in_turn(arguments: &[&str; 4]) -> (Vec<usize>, Vec<(usize, f64)>, u64) {
    let bench = Bench::new();
    let program = build(&bench, &Source { text: IN_TURN, language: "c" }, "modes=nop;k=1,2", &["-O1"]);
    let (_, _, profile) = run(&bench, &program, "samples=3;burst=5", arguments);
    let line = |text| IN_TURN.lines().position(|line| line.contains(text)).unwrap() as u32 + 1;
    let lines = ["i < adds", "i < divisions", "i < others"].map(line);
    let mut times = std::collections::BTreeMap::new();
    let (mut ran, mut most) = (Vec::new(), 0);
    for series in at(&profile.noise, "turns") {
        let at = profile.noise.loops[series.target as usize].line;
        let index = lines.iter().position(|line| at.abs_diff(*line) <= 1).unwrap();
        ran.push(index);
        let trips = arguments[index + 1].parse::<f64>().unwrap();
        for burst in &series.bursts {
            most = most.max(burst.entries);
            let time = times.entry(index).or_insert(f64::INFINITY);
            let iterations = burst.iterations.unwrap() as f64;
            *time = f64::min(*time, if burst.k == 0 { burst.nanoseconds as f64 / iterations * trips } else { *time });
        }
    }
    ran.sort_unstable();
    ran.dedup();
    (ran, times.into_iter().collect(), most)
}

/// Three chains of less than 100 ns each: no clock tells them apart, and none is charged the time of all.
#[test]
fn loops_that_take_turns_within_nanoseconds_are_not_measured() {
    let bench = Bench::new();
    let program = build(&bench, &Source { text: IN_TURN, language: "c" }, "modes=nop;k=1,2", &["-O1"]);
    let (_, _, profile) = run(&bench, &program, "samples=3;burst=5", &["300000", "20", "8", "8"]);
    let turns = at(&profile.noise, "turns");
    let lines: BTreeSet<u32> = turns.iter().map(|s| profile.noise.loops[s.target as usize].line).collect();
    assert_eq!(lines.len(), 3, "{turns:#?}");
    // Left out and not lacking: that is why nothing is known.
    assert!(turns.iter().all(|s| s.bursts.is_empty() && s.left_out >= 40 && s.executions > 1000), "{turns:#?}");
    assert!(profile.noise.loops.iter().all(|known| known.refusal.is_empty()), "{:#?}", profile.noise.loops);
}

/// Each execution is of as many iterations as the list says, at one call path.
const LISTED: &str = "#include <stdio.h>\n#include <stdlib.h>\n
    __attribute__((noinline)) double chain(const double *x, long n) {
        double sum = 1;
        for (long i = 0; i < n; i++)
            sum = 1 / (sum + x[i & 7]);
        return sum;
    }
    __attribute__((noinline)) double inside(const double *x, const int *trips, long rounds) {
        double all = 0;
        for (long round = 0; round < rounds; round++) {
            double sum = all;
            for (long i = 0; i < trips[round]; i++)
                sum = 1 / (sum + x[i & 7]);
            all = sum;
        }
        return all;
    }
    int main(int argc, char **argv) {
        double x[8], all = 0;
        long rounds = atol(argv[1]), first = atol(argv[2]), then = atol(argv[3]), slow = atol(argv[4]);
        int *trips = malloc(rounds * sizeof *trips);
        for (int i = 0; i < 8; i++) x[i] = i % 7 + argc;
        for (long i = 0; i < rounds; i++) trips[i] = i < slow ? first : then;
        if (argc > 5) all = inside(x, trips, rounds);
        else for (long i = 0; i < rounds; i++) all += chain(x, trips[i]);
        printf(\"%.17g\\n\", all);
    }";

fn listed(arguments: &[&str]) -> Profile {
    let bench = Bench::new();
    let program = build(&bench, &Source { text: LISTED, language: "c" }, "modes=nop;k=1,2", &["-O1"]);
    run(&bench, &program, "samples=1000;burst=5", arguments).2
}

/// Rounds of a series, as the quantities of their bursts.
fn rounds(series: &poise_profile::Series) -> Vec<Vec<u32>> {
    let of_round = |bursts: &[poise_profile::Burst]| bursts.iter().map(|burst| burst.k).collect();
    series.bursts.chunk_by(|a, b| a.round == b.round).map(of_round).collect()
}

/// Divisions that wait for each other, long executions first, then some of a few nanoseconds: however many of those there are, only the
/// first of them still have noise. What was measured before stays.
#[test]
fn a_loop_that_becomes_too_brief_is_given_up() {
    for executions in ["200000", "400000"] {
        let profile = listed(&[executions, "2000", "4", "500"]);
        let all = at(&profile.noise, "chain");
        let [series] = &all[..] else { panic!("{all:#?}") };
        assert_eq!((series.left_out, series.executions), (40, executions.parse().unwrap()));
        let rounds = rounds(series);
        assert!(rounds.len() > 2, "{rounds:?}");
        // Each burst with noise has one without it.
        assert!(rounds.iter().all(|round| round.iter().filter(|&&k| k == 0).count() == 1), "{rounds:?}");
    }
}

/// The first iteration of the loop around takes ten thousand times as long as the others, in which the loop inside is too brief to
/// be timed by itself.
#[test]
fn one_slow_first_iteration_does_not_decide_how_a_loop_is_timed() {
    // An iteration from which others take the processor for 20 ms does decide.
    let is_shared = || {
        let profile = listed(&["300000", "100000", "10", "1", "inside"]);
        at(&profile.noise, "inside").iter().flat_map(|series| &series.bursts).any(|burst| burst.entries > 10)
    };
    assert!((0..3).any(|_| is_shared()));
}

/// One iteration of the loop around, so that the loop inside is entered once in all: it is measured in chunks, with each quantity.
#[test]
fn a_loop_that_is_entered_once_is_split_into_chunks_inside_another_too() {
    let profile = listed(&["1", "20000000", "0", "1", "inside"]);
    let all = at(&profile.noise, "inside");
    let [series] = &all[..] else { panic!("{all:#?}") };
    let bursts = |k| series.bursts.iter().filter(|burst| burst.k == k).count();
    assert!([0, 1, 2].iter().all(|&k| bursts(k) > 20) && series.executions == 1, "{:?}", [0, 1, 2].map(bursts));
}

/// A thousand additions and a hundred divisions: each takes more than the 200 ns that a clock needs, also where an addition takes two cycles
/// only, and has its time though all take turns within a few microseconds.
#[test]
fn loops_that_take_turns_are_timed_apart() {
    let (_, times, _) = in_turn(&["40000", "1000", "100", "300"]);
    assert_eq!(times.len(), 3, "{times:?}");
    assert!(times[1].1 < 0.5 * times[2].1, "{times:?}");
}

/// Where one loop takes nearly all of the time, the loop around it is what is timed, many iterations at once, and nothing is said of the others.
#[test]
fn a_loop_that_takes_nearly_all_is_timed_with_the_loop_around_it() {
    let (_, times, most) = in_turn(&["300000", "2", "60", "0"]);
    assert!(times.len() == 1 && times[0].0 == 1 && most > 10, "{times:?} {most}");
}

/// However few iterations there are, of a loop that never runs nobody says that it has too few.
#[test]
fn loops_that_never_run_are_not_there() {
    for rounds in ["1", "2", "6", "3000", "100000"] {
        let (ran, _, _) = in_turn(&[rounds, "2000", "0", "400"]);
        assert_eq!(ran, [0, 2], "{rounds}");
    }
}

#[test]
fn loops_that_cannot_be_cloned_say_why_and_the_rest_goes_on() {
    let bench = Bench::new();
    let source = Source { text: include_str!("programs/refused.cpp"), language: "cpp" };
    let program = build(&bench, &source, "modes=nop;k=1", &["-O1"]);
    let (_, _, profile) = run(&bench, &program, "samples=2;burst=1", &[]);
    let refusal = |function: &str| {
        let known = profile.noise.loops.iter().find(|known| known.function == function && !known.refusal.is_empty());
        known.map(|known| known.refusal.as_str()).unwrap_or_default()
    };
    assert!(refusal("fixed_registers").contains("fixed registers"), "{:#?}", profile.noise.loops);
    assert!(refusal("exception_edges").contains("exception"), "{:#?}", profile.noise.loops);
    assert!(refusal("computed_jump").contains("jump"), "{:#?}", profile.noise.loops);
    assert!(refusal("two_entries").contains("several entries"), "{:#?}", profile.noise.loops);
    assert_eq!(refusal("harmless"), "");
    assert!(!at(&profile.noise, "harmless").is_empty());
}
