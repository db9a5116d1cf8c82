//! How much memory a generated program allocates. Functions run one after the other and release what they had, so a
//! program needs as much as its largest function.

use crate::complexity::{MissingParameter, Point};
use crate::operation::{ByRank, Extent, Operation};
use crate::spec::{Function, Spec};

/// Bytes that a generated program's arrays and messages need at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// On the rank that needs most, which is rank 0.
    pub per_rank: u128,
    /// On all p ranks together.
    pub all_ranks: u128,
}

/// What the program of `spec` allocates at `point`, beside the MPI library's own buffers.
///
/// # Errors
/// If the point lacks a parameter.
pub fn memory_at(spec: &Spec, point: &Point) -> Result<Memory, MissingParameter> {
    spec.functions.iter().try_fold(Memory::default(), |most, function| {
        let needed = of_function(function, point)?;
        Ok(Memory { per_rank: most.per_rank.max(needed.per_rank), all_ranks: most.all_ranks.max(needed.all_ranks) })
    })
}

/// What one function allocates.
pub fn of_function(function: &Function, point: &Point) -> Result<Memory, MissingParameter> {
    let ranks = point.get("p").copied().ok_or_else(|| MissingParameter("p".to_owned()))? as u128;
    let length = array_length(function.array.at(point)?);
    let (mut root, mut other) = (0_u128, 0_u128);
    for kernel in function.with_arrays() {
        // Sparse accesses read their order from 32-bit indices.
        let indices = if kernel.operation == Operation::SparseAccess { 4 } else { 0 };
        let bytes = length.saturating_mul(u128::from(kernel.element.bytes() + indices));
        root += bytes;
        other += bytes;
    }
    for message in &function.messages {
        let elements = message.elements.at(point)?.round() as u128;
        let size = |extent| match extent {
            Extent::Nothing => 0,
            Extent::Message => elements,
            Extent::PerRank => elements.saturating_mul(ranks),
        };
        let (send, receive) = message.operation.buffers();
        let bytes = |pick: fn(ByRank) -> Extent| {
            u128::from(message.element.bytes()).saturating_mul(size(pick(send)) + size(pick(receive)))
        };
        root += bytes(|b| b.root);
        other += bytes(|b| b.others);
    }
    let all_ranks = root.saturating_add(other.saturating_mul(ranks.saturating_sub(1)));
    Ok(Memory { per_rank: root.max(other), all_ranks })
}

/// The length of the arrays for a law's value: the next power of two, at least 4.
fn array_length(elements: f64) -> u128 {
    (elements.round() as u128).max(4).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_by_hand() {
        let text = r#"
            name = "hand"
            [parameters]
            p = [4]
            n = [1000]
            [[function]]
            name = "first"
            array = "n"
            kernels = [{ complexity = "n", operation = "sparse_access" }, { complexity = "n", element = "float" }]
            mpi = [{ operation = "gather", elements = "n", element = "int" }, { operation = "barrier" }]
            [[function]]
            name = "second"
            kernels = [{ complexity = "n" }]
        "#;
        let spec = Spec::parse(text, "hand.toml").unwrap();
        // Arrays of 1024: 1024 · (8 + 4) + 1024 · 4 = 16384. Gather: 4000 sent by all, 16000 received by rank 0.
        // The second function needs 1024 · 8 = 8192 and runs when the first has ended.
        let expected = Memory { per_rank: 16384 + 20000, all_ranks: 4 * 16384 + 4 * 4000 + 16000 };
        assert_eq!(memory_at(&spec, &spec.largest_point()), Ok(expected));
        assert_eq!(memory_at(&spec, &Point::new()), Err(MissingParameter("p".to_owned())));
    }
}
