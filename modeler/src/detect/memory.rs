//! Loads that read what the same loop has stored before, found by the texts of addresses: two addresses of the same registers differ by a constant, if
//! the loop adds nothing but constants to these. What some iterations alone store or load is no such thing. llvm-mca takes loads for independent of stores, so that its timeline shows nothing of it.

use std::collections::BTreeMap;

use super::chains::Instruction;
use super::registers::{Operands, parts, register_of};

/// A load that reads what a store wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forward {
    pub store: usize,
    pub load: usize,
    /// How many iterations before.
    pub before: i64,
}

/// What the texts show of a loop's loads and stores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// For each load that surely reads what the loop stored, the last of these stores.
    pub forwards: Vec<Forward>,
    /// Whether there are loads of which the texts do not show whether they read what the loop stored.
    pub is_open: bool,
    /// Whether there are loads that read what the loop stored just before in some iterations alone: not all of them store, or load.
    pub is_conditional: bool,
}

/// How many iterations before a store is at most that counts as just before. Of loads that wait for what was stored so many iterations before as many are
/// on their way at once, and each iteration takes that part of the time. Simulated is what it takes where each load waits for
/// the last store, which for more than a few would be many times too much.
const JUST_BEFORE: i64 = 4;

/// An address: registers, how often each is added, and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Address {
    registers: BTreeMap<String, i64>,
    constant: i64,
}

/// What the texts show of two addresses.
enum Relation {
    /// The second is, so many iterations later, what the first is now.
    Later(i64),
    /// They are never the same.
    Apart,
    /// Nothing.
    Unknown,
}

/// The loop's memory.
pub(super) fn of(code: &[Instruction], operands: &[Operands]) -> Memory {
    let addresses: Vec<Option<Address>> = code.iter().map(|instruction| address(instruction.text)).collect();
    let steps = Steps::of(code, operands);
    let mut memory = Memory::default();
    let moves_data = |i: &usize| !is_hint(code[*i].text);
    for load in (0..code.len()).filter(|&i| code[i].may_load).filter(moves_data) {
        let mut last: Option<Forward> = None;
        for store in (0..code.len()).filter(|&i| code[i].may_store).filter(moves_data) {
            let relation = match (&addresses[store], &addresses[load]) {
                (Some(from), Some(to)) => steps.relation((store, from), (load, to)),
                _ => Relation::Unknown,
            };
            match relation {
                Relation::Later(before) if !code[store].is_certain || !code[load].is_certain => {
                    memory.is_conditional |= before <= JUST_BEFORE;
                }
                Relation::Later(before) => {
                    let forward = Forward { store, load, before };
                    // Of two the later one overwrites what the other wrote.
                    let age = |forward: &Forward| (forward.before, std::cmp::Reverse(forward.store));
                    last = last.into_iter().chain([forward]).min_by_key(age);
                }
                Relation::Apart => {}
                Relation::Unknown => memory.is_open = true,
            }
        }
        memory.forwards.extend(last);
    }
    memory
}

/// Prefetches and fences, which LLVM takes for loads and stores.
fn is_hint(text: &str) -> bool {
    let name = text.split_ascii_whitespace().next().unwrap_or_default();
    name.starts_with("prefetch") || name.ends_with("fence") || matches!(name, "dmb" | "dsb" | "isb")
}

/// Whether an instruction moves x86's stack pointer without naming it.
fn moves_stack(text: &str) -> bool {
    let name = text.split_ascii_whitespace().next().unwrap_or_default();
    matches!(name.trim_end_matches('q'), "push" | "pushf" | "pop" | "popf" | "call" | "leave")
}

/// What an iteration adds to registers.
struct Steps {
    /// By register that is written, each addition: the instruction and how much; `None` where it is written otherwise.
    additions: BTreeMap<String, Option<Vec<(usize, i64)>>>,
    /// Whether the texts show all that is written.
    is_whole: bool,
}

impl Steps {
    fn of(code: &[Instruction], operands: &[Operands]) -> Self {
        let mut additions: BTreeMap<String, Option<Vec<(usize, i64)>>> = BTreeMap::new();
        for (index, (instruction, operands)) in code.iter().zip(operands).enumerate() {
            if moves_stack(instruction.text) {
                additions.insert("rsp".to_owned(), None);
            }
            let added = addition(instruction.text);
            for register in &operands.writes {
                let all = additions.entry(register.clone()).or_insert_with(|| Some(Vec::new()));
                match (&added, all.as_mut()) {
                    (Some((name, amount)), Some(all)) if name == register => all.push((index, *amount)),
                    _ => *all = None,
                }
            }
        }
        Self { additions, is_whole: operands.iter().all(|operands| !operands.writes_more) }
    }

    /// What a register gains in an iteration, and before an instruction of it.
    fn gains(&self, register: &str, instruction: usize) -> Option<(i64, i64)> {
        let Some(written) = self.additions.get(register) else { return Some((0, 0)) };
        let all = written.as_ref()?;
        let sum = |before: usize| all.iter().filter(|(index, _)| *index < before).map(|(_, amount)| amount).sum();
        Some((sum(usize::MAX), sum(instruction)))
    }

    /// What the load's address is to the store's.
    fn relation(&self, (store, from): (usize, &Address), (load, to): (usize, &Address)) -> Relation {
        // Addresses by the instruction's own place are alike in text only.
        let is_relative = from.registers.contains_key("rip") && store != load;
        if !self.is_whole || from.registers != to.registers || is_relative {
            return Relation::Unknown;
        }
        let (mut stride, mut ahead) = (0, from.constant - to.constant);
        for (register, times) in &from.registers {
            let (Some((all, by_store)), Some((_, by_load))) = (self.gains(register, store), self.gains(register, load))
            else {
                return Relation::Unknown;
            };
            stride += times * all;
            ahead += times * (by_store - by_load);
        }
        let is_before = store < load;
        match stride {
            0 if ahead == 0 => Relation::Later(i64::from(!is_before)),
            0 if ahead.abs() < WIDEST => Relation::Unknown,
            0 => Relation::Apart,
            _ if ahead % stride != 0 => Relation::Unknown,
            _ if ahead / stride > 0 || is_before && ahead == 0 => Relation::Later(ahead / stride),
            _ => Relation::Apart,
        }
    }
}

/// Bytes of the widest accesses: what is nearer may overlap.
const WIDEST: i64 = 64;

/// `-8`, `0x10`, `#8`.
fn number(text: &str) -> Option<i64> {
    let text = text.trim().trim_start_matches(['#', '$']);
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    value.ok().map(|value| sign * value)
}

/// The address that an instruction accesses; `None` where its text does not show it.
fn address(text: &str) -> Option<Address> {
    let (_, operands) = parts(text);
    let place =
        operands.iter().position(|operand| operand.ends_with([')', ']', '!']) && operand.contains(['(', '[']))?;
    let operand = operands[place];
    let open = operand.find(['(', '['])?;
    let is_bracket = operand[open..].starts_with('[');
    let inside = operand[open + 1..].trim_end_matches('!').trim_end_matches([')', ']']);
    let mut address = Address { constant: 0, ..Address::default() };
    if !operand[..open].is_empty() {
        address.constant = number(&operand[..open])?;
    }
    let words: Vec<&str> = inside.split(',').map(str::trim).collect();
    let add = |address: &mut Address, word: &str, times: i64| -> Option<()> {
        *address.registers.entry(register_of(word)?).or_default() += times;
        Some(())
    };
    match words[..] {
        // `%rdi`, `x0`.
        [base] => add(&mut address, base, 1)?,
        // `x0, #8`, also `[x0, #8]!`, whose register has moved on; `x0, x3`; `%rdi, %rax`.
        [base, other] => {
            if !base.is_empty() {
                add(&mut address, base, 1)?;
            }
            match number(other) {
                Some(constant) => address.constant += constant,
                None => add(&mut address, other, 1)?,
            }
        }
        // `x0, x3, lsl #3`.
        [base, index, shift] if is_bracket => {
            add(&mut address, base, 1)?;
            add(&mut address, index, 1 << number(shift.strip_prefix("lsl ")?)?.clamp(0, 8))?;
        }
        // `%rdi, %rax, 8`, and `, %rax, 8`.
        [base, index, scale] => {
            if !base.is_empty() {
                add(&mut address, base, 1)?;
            }
            add(&mut address, index, number(scale)?)?;
        }
        _ => return None,
    }
    Some(address)
}

/// The register to which an instruction adds a constant, and that: `addq $8, %rax`, `add x0, x0, #8`, `ldr d0, [x0], #8`.
fn addition(text: &str) -> Option<(String, i64)> {
    let (name, operands) = parts(text);
    let same = |to: &str, from: &str| register_of(to).filter(|to| Some(to) == register_of(from).as_ref());
    let last = operands.last().copied().unwrap_or_default();
    // An address that is moved on, behind its access or before.
    if let Some(place) = operands.iter().position(|operand| operand.starts_with('[')) {
        let inside = operands[place].trim_start_matches('[');
        let base = register_of(inside.split([',', ']']).next()?)?;
        return match operands.get(place + 1) {
            Some(by) => Some((base, number(by)?)),
            None => {
                let by = inside.strip_suffix("]!")?.split_once(',')?.1;
                Some((base, number(by)?))
            }
        };
    }
    match (name, &operands[..]) {
        ("incq" | "incl", [to]) => Some((register_of(to)?, 1)),
        ("decq" | "decl", [to]) => Some((register_of(to)?, -1)),
        ("addq" | "addl", [by, to]) => Some((register_of(to)?, number(by)?)),
        ("subq" | "subl", [by, to]) => Some((register_of(to)?, -number(by)?)),
        ("leaq" | "leal", [from, to]) => {
            let Address { registers, constant } = address(text)?;
            let is_one = registers.len() == 1 && registers.values().all(|&times| times == 1);
            (is_one && from.contains('(') && registers.contains_key(&register_of(to)?))
                .then_some((register_of(to)?, constant))
        }
        ("add" | "adds" | "addi", [to, from, _]) => Some((same(to, from)?, number(last)?)),
        ("sub" | "subs", [to, from, _]) => Some((same(to, from)?, -number(last)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers;
    use super::*;

    /// What is found where these access memory: loads, stores, and both.
    fn found(texts: &[&str], loads: &[usize], stores: &[usize]) -> (Vec<(usize, usize, i64)>, bool) {
        let code: Vec<Instruction> = (0..)
            .zip(texts)
            .map(|(i, text)| Instruction {
                text,
                may_load: loads.contains(&i),
                may_store: stores.contains(&i),
                is_certain: true,
            })
            .collect();
        let Memory { forwards, is_open, .. } = super::of(&code, &registers::of(texts.iter().copied()));
        (forwards.iter().map(|forward| (forward.store, forward.load, forward.before)).collect(), is_open)
    }

    /// `c[i] = c[i - 1] * f + a[i]` as gcc 12 compiles it: the pointers move on in the middle.
    #[test]
    fn what_the_iteration_before_stored_is_found() {
        let texts = [
            "movsd\t-8(%rax), %xmm0",
            "addq\t$8, %rdx",
            "addq\t$8, %rax",
            "mulsd\t%xmm1, %xmm0",
            "movsd\t%xmm0, -8(%rax)",
        ];
        assert_eq!(found(&texts, &[0], &[4]), (vec![(4, 0, 1)], false));
        // Three numbers before.
        let further = texts.map(|text| text.replace("-8(%rax), %xmm0", "-24(%rax), %xmm0"));
        assert_eq!(found(&further.each_ref().map(String::as_str), &[0], &[4]), (vec![(4, 0, 3)], false));
        // The number after is stored later than it is loaded.
        let ahead = texts.map(|text| text.replace("-8(%rax), %xmm0", "8(%rax), %xmm0"));
        assert_eq!(found(&ahead.each_ref().map(String::as_str), &[0], &[4]), (vec![], false));
        // Another array may be the same or not.
        let other = texts.map(|text| text.replace("-8(%rax), %xmm0", "-8(%rdx), %xmm0"));
        assert_eq!(found(&other.each_ref().map(String::as_str), &[0], &[4]), (vec![], true));
    }

    #[test]
    fn a_number_that_stays_in_memory_is_found() {
        let texts = ["movsd\t(%rdi), %xmm0", "addl\t$1, %eax", "addsd\t%xmm1, %xmm0", "movsd\t%xmm0, (%rdi)"];
        assert_eq!(found(&texts, &[0], &[3]), (vec![(3, 0, 1)], false));
        assert_eq!(found(&["addl\t$1, 16(%rip)", "decq\t%rcx"], &[0], &[0]), (vec![(0, 0, 1)], false));
        // A histogram's place is known when it runs.
        let histogram = ["movl\t(%rdx), %eax", "addq\t$4, %rdx", "addl\t$1, (%rcx,%rax,4)"];
        assert_eq!(found(&histogram, &[2], &[2]), (vec![], true));
        // What is stored and loaded again in an iteration is of that.
        assert_eq!(found(&["movq\t%rax, 8(%rsp)", "movq\t8(%rsp), %rbx"], &[1], &[0]), (vec![(0, 1, 0)], false));
        assert_eq!(found(&["movq\t%rax, 128(%rsp)", "movq\t8(%rsp), %rbx"], &[1], &[0]), (vec![], false));
    }

    /// `if (x[i] > 0) *total += x[i];`
    #[test]
    fn what_some_iterations_alone_store_or_load_is_not_certain() {
        let texts = ["movsd\t(%rdi), %xmm0", "addsd\t%xmm1, %xmm0", "movsd\t%xmm0, (%rdi)"];
        let of = |certain: [bool; 2]| {
            let instruction = |i: usize| Instruction {
                text: texts[i],
                may_load: i == 0,
                may_store: i == 2,
                is_certain: i == 1 || certain[i / 2],
            };
            super::of(&[0, 1, 2].map(instruction), &registers::of(texts.into_iter()))
        };
        let forward = Forward { store: 2, load: 0, before: 1 };
        let certain = Memory { forwards: vec![forward], ..Memory::default() };
        let conditional = Memory { is_conditional: true, ..Memory::default() };
        assert_eq!(of([true, true]), certain);
        assert_eq!([of([true, false]), of([false, true])], [conditional.clone(), conditional]);
    }

    /// `if (x > 0) a[i] = x; … a[i - 1000]`
    #[test]
    fn what_was_stored_long_before_is_not_waited_for() {
        let of = |before: i64, is_certain: bool| {
            let load = format!("movsd\t{}(%rdi,%rax,8), %xmm0", -8 * before);
            let texts = [&load, "movsd\t%xmm1, (%rdi,%rax,8)", "addq\t$1, %rax"];
            let instruction = |i: usize| Instruction {
                text: texts[i],
                may_load: i == 0,
                may_store: i == 1,
                is_certain: i != 1 || is_certain,
            };
            super::of(&[0, 1, 2].map(instruction), &registers::of(texts.into_iter()))
        };
        let conditional = Memory { is_conditional: true, ..Memory::default() };
        assert_eq!([1, 4].map(|before| of(before, false)), [conditional.clone(), conditional]);
        assert_eq!([5, 1000].map(|before| of(before, false)), [Memory::default(), Memory::default()]);
        let forward = Forward { store: 1, load: 0, before: 1000 };
        assert_eq!(of(1000, true), Memory { forwards: vec![forward], ..Memory::default() });
    }

    #[test]
    fn prefetches_store_nothing_and_pushes_move_the_stack() {
        let texts = ["movsd\t(%rdi), %xmm0", "prefetcht0\t512(%rsi)", "addq\t$8, %rdi"];
        assert_eq!(found(&texts, &[0, 1], &[1]), (vec![], false));
        let spilled = ["movq\t%rax, 8(%rsp)", "movq\t8(%rsp), %rcx"];
        assert_eq!(found(&spilled, &[1], &[0]), (vec![(0, 1, 0)], false));
        let pushed = ["movq\t%rax, 8(%rsp)", "pushq\t%rbx", "movq\t8(%rsp), %rcx", "popq\t%rbx"];
        assert_eq!(found(&pushed, &[2], &[0]), (vec![], true));
    }

    #[test]
    fn addresses_of_other_instruction_sets_are_read() {
        let texts = ["ldr\td0, [x0]", "fmul\td0, d0, d1", "str\td0, [x0, #8]!"];
        assert_eq!(found(&texts, &[0], &[2]), (vec![(2, 0, 1)], false));
        let texts = ["ldr\td0, [x0, x3, lsl #3]", "add\tx3, x3, #1", "str\td0, [x0, x3, lsl #3]"];
        assert_eq!(found(&texts, &[0], &[2]), (vec![(2, 0, 1)], false));
        let texts = ["ldr\td0, [sp, #24]", "fadd\td0, d0, d1", "str\td0, [sp, #24]"];
        assert_eq!(found(&texts, &[0], &[2]), (vec![(2, 0, 1)], false));
        let texts = ["fld\tfa5, -8(a0)", "fadd.d\tfa5, fa5, fa4", "fsd\tfa5, 0(a0)", "addi\ta0, a0, 8"];
        assert_eq!(found(&texts, &[0], &[2]), (vec![(2, 0, 1)], false));
    }
}
