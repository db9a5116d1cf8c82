//! How long an iteration of a loop takes at least, because it waits for results of the iteration before, on a processor that has
//! units and bandwidth without end.
//!
//! That is the longest cycle of its dependence graph for each iteration that the cycle spans (Rau, Iterative Modulo Scheduling, 1994: the
//! minimum initiation interval of recurrences). The graph is that of registers, of flags, of the frame's places, and of places elsewhere whose
//! address does not change from one iteration to the next, in the order of addresses; what goes through other memory is not seen.

use std::collections::{BTreeMap, BTreeSet};

/// Cycles of a load that the first-level cache holds, and of one from the frame that was stored just before; 4 to 6 on current processors.
pub(super) const LOAD: u64 = 6;
/// Cycles of a load of which nobody knows where from: more than anything else in an iteration.
const FAR: u64 = 1 << 20;
/// Iterations that are followed: behind the first half the longest cycle alone sets the pace.
const ITERATIONS: usize = 128;
/// Nanoseconds of a cycle, at most, where nobody knows the clock.
const CYCLE: f64 = 0.5;

/// What one instruction waits for and makes, by the names of registers and places in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dataflow {
    /// What it reads; a load's address may be among it.
    pub reads: BTreeSet<String>,
    /// What the address of its load needs; `None` if it does not load.
    pub load: Option<BTreeSet<String>>,
    /// What it writes, `moved` left out.
    pub writes: BTreeSet<String>,
    /// The register that it moves on to the next address.
    pub moved: Option<String>,
    /// Cycles from its operands to its result where they take longest; those of a load from elsewhere than the frame come on top.
    pub cycles: u64,
    /// What it accesses beyond the frame, if the address has one register.
    pub access: Option<Operand>,
    /// Whether nobody knows what it does, as of a call or of what is not decoded.
    pub is_opaque: bool,
    /// Whether some iterations leave it out.
    pub is_conditional: bool,
}

/// An access to memory beyond the frame.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub base: String,
    pub offset: i64,
    pub is_read: bool,
    pub is_written: bool,
}

/// How iterations wait for the one before.
///
/// ```
/// use modeler::absorption::{Code, Recurrence};
/// // A sum: each addition waits four cycles for the one before, at 4 GHz.
/// let sum = Recurrence { nanoseconds: 1.0, is_chase: false };
/// assert_eq!(Code { recurrence: Some(sum), ..Code::default() }.recurrence, Some(sum));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recurrence {
    /// Nanoseconds that each may have to wait at most, if all that it loads is in the first-level cache.
    pub nanoseconds: f64,
    /// Whether the address of a load comes from a load of the iteration before.
    pub is_chase: bool,
}

impl Recurrence {
    /// That of a loop's instructions, in their order; `None` where nobody knows what one of them does.
    pub(crate) fn of(mut code: Vec<Dataflow>) -> Option<Self> {
        name_places(&mut code);
        let is_chase = pace(&code, FAR) * ITERATIONS as f64 >= FAR as f64;
        let found = Self { nanoseconds: pace(&code, LOAD) * CYCLE, is_chase };
        (!code.iter().any(|instruction| instruction.is_opaque)).then_some(found)
    }
}

/// Names the places beyond the frame whose address is the same in each iteration: its register is not written in the loop, or is loaded from a
/// place of the frame that is not, as compilers do without optimisation.
fn name_places(code: &mut [Dataflow]) {
    let written: BTreeSet<String> = code.iter().flat_map(|i| i.writes.iter().chain(&i.moved)).cloned().collect();
    let mut holds: BTreeMap<String, String> = BTreeMap::new();
    for instruction in code {
        let origin = |access: &Operand| match written.contains(&access.base) {
            true => holds.get(&access.base).cloned(),
            false => Some(access.base.clone()),
        };
        let place = instruction.access.as_ref().and_then(|access| Some((origin(access)?, access)));
        let registers: Vec<String> = instruction.writes.iter().chain(&instruction.moved).cloned().collect();
        let slot = instruction.reads.iter().find(|name| name.starts_with("stack") && !written.contains(*name)).cloned();
        let is_plain_load = place.is_none() && instruction.load.is_none() && instruction.reads.len() <= 2;
        if let Some((origin, &Operand { offset, is_read, is_written, .. })) = place {
            let name = format!("[{origin}]{offset:+}");
            if is_read {
                instruction.load = None;
                instruction.cycles += LOAD;
                instruction.reads.insert(name.clone());
            }
            if is_written {
                instruction.writes.insert(name);
            }
        }
        for register in &registers {
            holds.remove(register);
        }
        if let ([register], Some(slot), true) = (registers.as_slice(), slot, is_plain_load) {
            holds.insert(register.clone(), slot);
        }
    }
}

/// Cycles between iterations, where a load takes so many.
fn pace(code: &[Dataflow], load: u64) -> f64 {
    let mut ready: BTreeMap<&str, u64> = BTreeMap::new();
    let mut done = [0; ITERATIONS];
    for done in &mut done {
        for instruction in code {
            let of = |names: &BTreeSet<String>| names.iter().filter_map(|name| ready.get(name.as_str())).copied().max();
            let loaded = instruction.load.as_ref().map(|address| of(address).unwrap_or(0) + load);
            let result = of(&instruction.reads).max(loaded).unwrap_or(0) + instruction.cycles;
            let moved = instruction
                .moved
                .as_ref()
                .map(|register| (register, ready.get(register.as_str()).map_or(1, |r| r + 1)));
            for (name, at) in instruction.writes.iter().map(|name| (name, result)).chain(moved) {
                // What an iteration may leave out keeps what was there.
                let old = ready.get(name.as_str()).copied().filter(|_| instruction.is_conditional);
                ready.insert(name, old.map_or(at, |old| old.max(at)));
            }
        }
        *done = ready.values().copied().max().unwrap_or(0);
    }
    let half = ITERATIONS / 2;
    done[ITERATIONS - 1].saturating_sub(done[half - 1]) as f64 / half as f64
}

/// Cycles of an instruction by its name, without the `v` of vectors or the `f` of AArch64's floating point: the most in Fog's tables (Instruction tables, 2022) for cores from 2013 on, but for 64-bit divisions of integers,
/// which may take twice as long there.
pub(crate) fn cycles(name: &str, writes_a_vector: bool) -> u64 {
    const SIMPLE: [&str; 11] = ["add", "sub", "inc", "dec", "lea", "and", "or", "xor", "eor", "mov", "cmp"];
    const LONGER: [&str; 9] = ["cvt", "popcnt", "cnt", "tzcnt", "lzcnt", "bs", "crc32", "pext", "pdep"];
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    match () {
        () if begins(&["cmpxchg", "xadd"]) => 20,
        () if begins(&["rsqrt"]) => 5,
        () if name.contains("div") || name.contains("sqrt") => 40,
        () if begins(&LONGER) => 7,
        () if writes_a_vector => 5,
        () if name.contains("mul") || name.contains("madd") || name.contains("msub") => 4,
        () if begins(&SIMPLE) => 1,
        () => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{a64, x86};
    use super::*;

    /// Cycles between iterations of each loop, added up by hand, and whether it follows pointers. The loops are as clang 19 assembles them.
    #[test]
    fn iterations_wait_for_each_other_as_the_code_says() {
        let none = None::<(f64, bool)>;
        let x86_loops = [
            // vaddsd (%rdi,%rax,8), %xmm0, %xmm0; incq %rax; cmpq %rsi, %rax; jne: a sum.
            ("c5fb5804c748ffc04839f075f3", Some((5.0, false))),
            // vmovupd (%rsi,%rax), %ymm0; vfmadd213pd (%rdx,%rax), %ymm2, %ymm0; vmovupd %ymm0, (%rdi,%rax); addq $32, %rax; cmpq; jne: a triad.
            ("c5fd100406c4e2eda80402c5fd1104074883c0204839c875e7", Some((1.0, false))),
            // movq (%rax), %rax; decq %rcx; jne: a chase.
            ("488b0048ffc975f8", Some((7.0, true))),
            // movq %rsp, %rbp; movq -8(%rbp), %rax; addq $1, %rax; movq %rax, -8(%rbp); jne: a number in the frame.
            ("4889e5488b45f84883c001488945f875f2", Some((9.0, false))),
            // vdivsd %xmm0, %xmm1, %xmm0; decq %rcx; jne.
            ("c5f35ec048ffc975f7", Some((40.0, false))),
            // vxorps %xmm0, %xmm0, %xmm0; vaddsd (%rdi), %xmm0, %xmm0; vmovsd %xmm0, (%rsi); addq $8, %rsi; decq %rcx; jne: begun anew each time.
            ("c5f857c0c5fb5807c5fb11064883c60848ffc975eb", Some((1.0, false))),
            // leaq 1(%rax), %rbx; cmpq %rdx, (%rdi,%rax,8); cmovaeq %rbx, %rax; decq; jne: a load's place by way of flags.
            ("488d5801483914c7480f43c348ffc975ef", Some((9.0, true))),
            // vmovsd (%rdi), %xmm0; vaddsd (%rsi,%rax,8), %xmm0, %xmm0; vmovsd %xmm0, (%rdi); incq; cmpq; jne: a sum in memory.
            ("c5fb1007c5fb5804c6c5fb110748ffc04839d075eb", Some((17.0, false))),
            // movq %rsp, %rbp; movq -48(%rbp), %rax; movq (%rax), %rcx; movq (%rcx), %rcx; movq %rcx, (%rax); jne: a chase without optimisation.
            ("4889e5488b45d0488b08488b0948890875f1", Some((15.0, true))),
            // vpcmpeqd %ymm2, %ymm2, %ymm2; vgatherqpd %ymm2, (%rdi,%ymm1,8), %ymm3; vmovupd %ymm3, (%rsi); addq; decq; jne: what is merged into.
            ("c5ed76d2c4e2ed931ccfc5fd111e4883c62048ffc975e9", Some((5.0, false))),
            // lodsq; decq; jne.
            ("48ad48ffc975f9", none),
            // callq; jne.
            ("e8fbffffff75f9", none),
        ];
        let a64_loops = [
            // ldr d1, [x0], #8; fadd d0, d0, d1; subs x1, x1, #1; b.ne
            ("018440fc0028611e210400f1a1ffff54", Some((5.0, false))),
            // ldr x0, [x0]; subs x1, x1, #1; b.ne
            ("000040f9210400f1c1ffff54", Some((8.0, true))),
            // ldr x8, [sp, #8]; add x8, x8, #1; str x8, [sp, #8]; b.ne
            ("e80740f908050091e80700f9a1ffff54", Some((9.0, false))),
            // fdiv d0, d1, d0; subs x1, x1, #1; b.ne
            ("2018601e210400f1c1ffff54", Some((40.0, false))),
            // add x9, x8, #1; ldr x10, [x0, x8, lsl #3]; cmp x10, x2; csel x8, x9, x8, hs; subs x1, x1, #1; b.ne
            ("090500910a7868f85f0102eb2821889a210400f161ffff54", Some((11.0, true))),
            // ldp q0, q1, [x0]; ldp q2, q3, [x1], #32; fmla v0.2d, v2.2d, v4.2d; stp q0, q1, [x0], #32; subs x3, x3, #1; b.ne
            ("000440ad220cc1ac40cc644e000481ac630400f161ffff54", Some((1.0, false))),
            // ldr d1, [x2]; ldr d0, [x0], #8; fadd d1, d1, d0; str d1, [x2]; subs x1, x1, #1; b.ne: a sum in memory.
            ("410040fd008440fc2128601e410000fd210400f161ffff54", Some((15.0, false))),
            // ld1 {v0.d}[1], [x0], #8; subs x1, x1, #1; b.ne: the other lane stays.
            ("0084df4d210400f1c1ffff54", Some((2.0, false))),
            // bl; b.ne
            ("00000094e1ffff54", none),
            // fadda d0, p0, d0, z1.d; b.ne: of SVE, which is not decoded.
            ("2020d865e1ffff54", none),
        ];
        type Decoder = fn(&[u8], u64) -> Vec<Dataflow>;
        for (decode, loops) in [(x86::dataflow as Decoder, &x86_loops[..]), (a64::dataflow, &a64_loops)] {
            for (hex, expected) in loops {
                let digits = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
                let code: Vec<u8> = hex.as_bytes().chunks(2).map(digits).collect();
                let found = Recurrence::of(decode(&code, 0x1000)).map(|r| (r.nanoseconds / CYCLE, r.is_chase));
                assert_eq!(found, *expected, "{hex}: {:#?}", decode(&code, 0x1000));
            }
        }
    }
}
