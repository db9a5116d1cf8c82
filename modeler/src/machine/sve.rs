//! Kinds of AArch64's instructions for vectors of any length (SVE), decoded by Capstone: yaxpeax-arm does not know them.

use capstone::Capstone;
use capstone::arch::BuildsCapstone as _;
use capstone::arch::arm64::ArchMode;

use super::classes::Class;

/// How the names of instructions begin that compute nothing but where numbers stand.
const SHUFFLES: [&str; 14] =
    ["zip", "uzp", "trn", "tbl", "tbx", "ext", "rev", "splice", "compact", "sel", "insr", "last", "clast", "punpk"];

/// A decoder, once something is to be decoded.
#[derive(Default)]
pub(super) struct Sve(Option<Capstone>);

impl Sve {
    /// The class of an instruction word. Shuffles are of the class that they have elsewhere. Predicates are vectors of bits, as masks are on x86-64: what computes them is SIMD integer.
    pub fn class(&mut self, word: &[u8]) -> Class {
        if self.0.is_none() {
            self.0 = Capstone::new().arm64().mode(ArchMode::Arm).build().ok();
        }
        let found = self.0.as_ref().and_then(|capstone| capstone.disasm_count(word, 0, 1).ok());
        let Some(instruction) = found.as_ref().and_then(|found| found.iter().next()) else { return Class::Other };
        let name = instruction.mnemonic().unwrap_or_default();
        let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        // `z0.d` and `p0/m`, in the operands' text.
        let is_vector = |word: &str| {
            word.strip_prefix(['z', 'p']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let mut words = instruction.op_str().unwrap_or_default().split(|c: char| !c.is_ascii_alphanumeric());
        match () {
            () if begins(&["ld"]) => Class::VectorLoad,
            () if begins(&["st"]) => Class::VectorStore,
            () if begins(&["prf", "mov", "fmov", "dup", "fdup", "cpy", "fcpy"]) => Class::Other,
            () if begins(&SHUFFLES) => Class::Other,
            () if begins(&["f", "scvtf", "ucvtf", "bf"]) => Class::SimdFp,
            () if words.any(is_vector) => Class::SimdInt,
            () => Class::Int,
        }
    }
}
