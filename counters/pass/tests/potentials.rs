//! The arithmetic of `src/graph.rs` alone: totals over random walks through random graphs.

#[path = "../src/graph.rs"]
mod graph;

use graph::{Edge, increment, potentials};
use proptest::prelude::*;

/// A number of blocks and edges among them, each pair once, with frequencies.
fn graph() -> impl Strategy<Value = (usize, Vec<Edge>)> {
    (1usize..20).prop_flat_map(|n| {
        let pairs = prop::collection::btree_map((0..n, 0..n), 0u64..100, 0..3 * n);
        let edges = pairs.prop_map(|pairs| {
            pairs.into_iter().map(|((from, to), frequency)| Edge { from, to, frequency }).collect::<Vec<_>>()
        });
        (Just(n), edges)
    })
}

proptest! {
    #[test]
    fn every_walk_from_the_entry_sums_to_its_number_of_blocks(
        (blocks, edges) in graph(), choices in prop::collection::vec(any::<prop::sample::Index>(), 0..60)
    ) {
        let potentials = potentials(blocks, &edges);
        prop_assert_eq!(potentials[0], 1);
        let (mut here, mut accumulator, mut executed) = (0, 0, 1);
        for choice in choices {
            let ways: Vec<_> = edges.iter().filter(|edge| edge.from == here).collect();
            if ways.is_empty() {
                break;
            }
            let edge = choice.get(&ways);
            accumulator += increment(&potentials, edge.from, edge.to);
            here = edge.to;
            executed += 1;
            prop_assert_eq!(accumulator + potentials[here], executed);
        }
    }
}

/// A loop with a cold conditional: only the cold edge and one edge of the loop's cycle add anything.
#[test]
fn frequent_edges_are_free() {
    let edge = |from, to, frequency| Edge { from, to, frequency };
    // 0 entry, 1 header, 2 cold, 3 latch, 4 exit.
    let edges = [edge(0, 1, 1), edge(1, 2, 2), edge(1, 3, 98), edge(2, 3, 2), edge(3, 1, 99), edge(3, 4, 1)];
    let potentials = potentials(5, &edges);
    let adding: Vec<_> = edges.iter().filter(|e| increment(&potentials, e.from, e.to) != 0).collect();
    assert_eq!(adding.len(), 2);
    assert!(adding.iter().any(|e| (e.from == 1 && e.to == 2) || (e.from == 2 && e.to == 3)), "{adding:?}");
}
