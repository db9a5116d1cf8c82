//! Registers in instructions: independent copies, and what must not be touched.

/// `count` copies of an instruction in Intel's syntax that differ in their first operand, a register, so that none waits
/// for another. Registers of the other operands are left alone.
///
/// # Errors
/// The first operand is no register that can be renumbered, or there are not enough registers.
pub fn independent(instruction: &str, count: usize) -> Result<Vec<String>, String> {
    let (name, operands) = instruction.trim().split_once(char::is_whitespace).unwrap_or((instruction.trim(), ""));
    let (first, rest) = operands.split_once(',').map_or((operands, ""), |(first, rest)| (first, rest));
    let first = first.trim();
    let is_implicit = IMPLICIT.split_ascii_whitespace().any(|implicit| name.eq_ignore_ascii_case(implicit))
        || name.eq_ignore_ascii_case("imul") && rest.is_empty();
    if is_implicit {
        return Err(format!(
            "`{instruction}` cannot be copied independently: each copy needs what the one before leaves in the flags, or in rax and rdx"
        ));
    }
    let family = family(first).ok_or_else(|| {
        format!("`{instruction}` cannot be copied independently: its first operand is no register such as xmm0, ymm0, zmm0 or r8")
    })?;
    let others = words(rest);
    let is_free = |number: &usize| !others.iter().any(|w| is_same(w, &family, *number));
    let free: Vec<usize> = family.numbers.clone().filter(is_free).take(count).collect();
    if free.len() < count {
        return Err(format!("`{instruction}` has {} independent copies, as there are no more registers", free.len()));
    }
    let copy = |number: usize| {
        let operand = format!("{}{number}{}", family.prefix, family.suffix);
        if rest.is_empty() { format!("{name} {operand}") } else { format!("{name} {operand},{rest}") }
    };
    Ok(free.into_iter().map(copy).collect())
}

/// Registers that differ in a number only.
struct Family {
    prefix: &'static str,
    suffix: String,
    numbers: std::ops::Range<usize>,
}

fn family(register: &str) -> Option<Family> {
    // A mask may follow, as in zmm0{k1}.
    let (register, mask) = register.find('{').map_or((register, ""), |at| register.split_at(at));
    let lower = register.trim().to_ascii_lowercase();
    // Only the encoding of 512 bits has registers from 16 on everywhere.
    for (prefix, numbers) in [("xmm", 0..16), ("ymm", 0..16), ("zmm", 0..32), ("mm", 0..8), ("r", 8..16)] {
        let Some(rest) = lower.strip_prefix(prefix) else { continue };
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let suffix = rest[digits.len()..].to_owned();
        let is_known = suffix.is_empty() || (prefix == "r" && matches!(suffix.as_str(), "d" | "w" | "b"));
        if digits.parse::<usize>().is_ok() && is_known {
            return Some(Family { prefix, suffix: suffix + mask, numbers });
        }
    }
    None
}

/// Whether `word` names register `number` of the family, in any width that shares it.
fn is_same(word: &str, family: &Family, number: usize) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let (prefix, digits) = (&word[..word.len() - digits.len()], digits.trim_end_matches(['d', 'w', 'b']));
    let is_vector = |p: &str| matches!(p, "xmm" | "ymm" | "zmm");
    (prefix == family.prefix || (is_vector(prefix) && is_vector(family.prefix))) && digits.parse() == Ok(number)
}

fn words(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// What may stand before the name of an instruction.
const PREFIXES: &str = "rep repe repz repne repnz lock bnd notrack data16 addr32 xacquire xrelease";
/// Instructions that read what they write beside their operands: flags, or rax and rdx, in any width.
const IMPLICIT: &str = "mul div idiv adc sbb adcx adox rcl rcr cmpxchg cmpxchg8b cmpxchg16b";

/// Why an instruction cannot be timed in our loop: it would leave the loop, or move the stack on which its counter is.
pub fn refusal(instruction: &str) -> Option<String> {
    let words = words(instruction);
    let is_prefix = |word: &&String| PREFIXES.split_ascii_whitespace().any(|prefix| prefix == word.as_str());
    let Some(name) = words.iter().find(|word| !is_prefix(word)).or(words.first()) else {
        return Some("An instruction is empty.".into());
    };
    // Behind the first word there is a colon after a segment only, as in fs:[rdi].
    let is_label = instruction.trim().split(char::is_whitespace).next().is_some_and(|word| word.contains(':'));
    if is_label || instruction.contains(['\n', ';', '#', '"']) || instruction.trim_start().starts_with('.') {
        return Some(format!("`{instruction}` is not one instruction; give each as an argument of its own."));
    }
    let is_stack = words[1..].iter().any(|w| matches!(w.as_str(), "rsp" | "esp" | "sp" | "spl"))
        || ["push", "pop", "enter", "leave"].iter().any(|p| name.starts_with(p) && !name.starts_with("popcnt"));
    if is_stack {
        return Some(format!("`{instruction}` uses the stack, where the loop's counter is."));
    }
    let leaves = name.starts_with('j')
        || ["call", "ret", "iret", "syscall", "sysenter", "int", "loop"].iter().any(|p| name.starts_with(p));
    leaves.then(|| format!("`{instruction}` leaves the loop, so it cannot be timed in one."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_differ_in_their_destination_and_spare_the_sources() {
        let copies = independent("vfmadd213pd ymm0, ymm1, ymm15", 4).unwrap();
        assert_eq!(copies[0], "vfmadd213pd ymm0, ymm1, ymm15");
        assert_eq!(
            copies[1..],
            ["vfmadd213pd ymm2, ymm1, ymm15", "vfmadd213pd ymm3, ymm1, ymm15", "vfmadd213pd ymm4, ymm1, ymm15"]
        );
        assert_eq!(independent("add r8d, 1", 2).unwrap(), ["add r8d, 1", "add r9d, 1"]);
        assert_eq!(independent("inc r9", 1).unwrap(), ["inc r8"]);
        // The low half of ymm0 is xmm0.
        assert_eq!(independent("vcvtps2pd ymm0, xmm0", 1).unwrap(), ["vcvtps2pd ymm1, xmm0"]);
        assert_eq!(independent("vfmadd213pd zmm5, zmm1, zmm2", 30).unwrap().len(), 30);
        assert!(independent("vfmadd213pd ymm0, ymm1, ymm2", 15).unwrap_err().contains("14 independent"));
        assert!(independent("mov [rdi], rax", 2).unwrap_err().contains("no register"));
        for chained in ["mul r8", "imul r9", "DIV r8d", "adc r8, r9"] {
            assert!(independent(chained, 2).unwrap_err().contains("needs what the one before"), "{chained}");
        }
        assert_eq!(independent("imul r8, r9", 2).unwrap(), ["imul r8, r9", "imul r10, r9"]);
        assert!(independent("nop", 2).is_err() && independent("", 1).is_err());
    }

    #[test]
    fn what_would_break_the_loop_is_refused() {
        for bad in [
            "2: jmp 2b",
            "rep ret",
            "bnd jmp rax",
            "push rax",
            "add rsp, 8",
            "jmp 1b",
            "call f",
            "ret",
            "nop; nop",
            ".text",
            "",
            "mov eax, [esp]",
        ] {
            assert!(refusal(bad).is_some(), "{bad}");
        }
        for good in [
            "rep stosb",
            "lock inc qword ptr [rdi]",
            "mov rax, fs:[0]",
            "popcnt rax, rbx",
            "vaddpd ymm0, ymm1, [rsi]",
            "nop",
            "inc rax",
        ] {
            assert_eq!(refusal(good), None, "{good}");
        }
    }
}
