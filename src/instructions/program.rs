//! The C program that times bodies of instructions.

use std::fmt::Write as _;

use super::{Body, Syntax};

/// Instructions in the loop, at least: the loop's own two are then less than 2 % of them.
const LOOP: usize = 128;

/// The program's source. It prints, for each body, first quartile, median and third quartile of the cycles per
/// instruction, and the median of its nanoseconds.
pub fn source(bodies: &[Body], syntax: Syntax, has_avx: bool) -> String {
    let mut text = String::from("#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n");
    text.push_str("#include <xmmintrin.h>\n\n");
    // Three cycles each on every x86-64 since 2008, and no processor does multiplications before they are executed.
    let chain = Body { instructions: vec!["imul rax, rax".to_owned()] };
    text.push_str(&function("calibrate", &chain, Syntax::Intel, has_avx));
    for (i, body) in bodies.iter().enumerate() {
        text.push_str(&function(&format!("body{i}"), body, syntax, has_avx));
    }
    text.push_str(MAIN);
    for (i, body) in bodies.iter().enumerate() {
        let _ = writeln!(text, "    report(body{i}, {});", copies(body) * body.instructions.len());
    }
    text.push_str("    return 0;\n}\n");
    text
}

fn copies(body: &Body) -> usize {
    LOOP.div_ceil(body.instructions.len().max(1))
}

/// A function `void name(uint64_t iterations, void *memory)` whose loop holds copies of the body.
fn function(name: &str, body: &Body, syntax: Syntax, has_avx: bool) -> String {
    let mut lines: Vec<String> = [".text", ".p2align 6", ".intel_syntax noprefix"].map(str::to_owned).to_vec();
    lines.push(format!("{name}:"));
    lines.extend(["rbx", "rbp", "r12", "r13", "r14", "r15", "rdi"].map(|r| format!("push {r}")));
    lines.push("mov rdi, rsi".into());
    // Zeros: whatever is computed stays a normal number and takes the usual time.
    lines.extend(
        ["rax", "rbx", "rcx", "rdx", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"]
            .map(|r| format!("xor {r}, {r}")),
    );
    lines.push(if has_avx { "vzeroall".into() } else { "xorps xmm0, xmm0".into() });
    lines.push(".p2align 6".into());
    lines.push("1:".into());
    if syntax == Syntax::Att {
        lines.push(".att_syntax prefix".into());
    }
    for _ in 0..copies(body) {
        lines.extend(body.instructions.iter().cloned());
    }
    lines.push(".intel_syntax noprefix".into());
    lines.push("dec qword ptr [rsp]".into());
    lines.push("jnz 1b".into());
    if has_avx {
        lines.push("vzeroupper".into());
    }
    lines.extend(["rdi", "r15", "r14", "r13", "r12", "rbp", "rbx"].map(|r| format!("pop {r}")));
    lines.push("ret".into());
    lines.push(".att_syntax prefix".into());
    let quoted: String =
        lines.iter().map(|l| format!("    \"{}\\n\"\n", l.replace('\\', "\\\\").replace('"', "\\\""))).collect();
    format!("void {name}(uint64_t iterations, void *memory);\n__asm__(\n{quoted});\n\n")
}

const MAIN: &str = r#"
enum { SAMPLES = 151, CALIBRATION = 128 };
static const double SAMPLE_SECONDS = 1e-4;
static char memory[65536] __attribute__((aligned(4096)));
typedef void body(uint64_t, void *);

static double seconds(body *run, uint64_t iterations) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    run(iterations, memory);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) + 1e-9 * (to.tv_nsec - from.tv_nsec);
}

/* So many iterations take about as long as a sample: short enough that most samples are not interrupted. */
static uint64_t fitting(body *run) {
    uint64_t iterations = 1;
    while (iterations < (1ull << 40) && seconds(run, iterations) < SAMPLE_SECONDS) iterations *= 2;
    return iterations;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(body *run, int instructions) {
    static double cycles[SAMPLES], nanoseconds[SAMPLES];
    uint64_t iterations = fitting(run), calibration = fitting(calibrate);
    /* Warm: code, data, and the clock that rises under load. */
    for (int i = 0; i < 20; i++) { seconds(run, iterations); seconds(calibrate, calibration); }
    for (int i = 0; i < SAMPLES; i++) {
        double before = seconds(calibrate, calibration);
        double time = seconds(run, iterations);
        double after = seconds(calibrate, calibration);
        /* An interruption lengthens one of the two; the shorter is the undisturbed clock. */
        double chain = before < after ? before : after;
        double cycle = chain / (3.0 * CALIBRATION * calibration);
        nanoseconds[i] = 1e9 * time / ((double)iterations * instructions);
        cycles[i] = time / cycle / ((double)iterations * instructions);
    }
    qsort(cycles, SAMPLES, sizeof *cycles, ascending);
    qsort(nanoseconds, SAMPLES, sizeof *nanoseconds, ascending);
    printf("%.6f %.6f %.6f %.6f\n", cycles[SAMPLES / 4], cycles[SAMPLES / 2], cycles[3 * SAMPLES / 4], nanoseconds[SAMPLES / 2]);
    fflush(stdout);
}

int main(void) {
    /* Denormal numbers count as zero, so that none takes longer. */
    _mm_setcsr(_mm_getcsr() | 0x8040);
"#;
