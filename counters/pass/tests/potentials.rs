//! The arithmetic of `src/graph.rs` alone: totals over random walks through random graphs.

#[path = "../src/graph.rs"]
mod graph;

use graph::{Edge, Forest, increment};
use proptest::prelude::*;

/// The weights of some blocks and edges among them, each pair once, with frequencies.
fn graph() -> impl Strategy<Value = (Vec<i64>, Vec<Edge>)> {
    (1usize..20).prop_flat_map(|n| {
        let pairs = prop::collection::btree_map((0..n, 0..n), 0u64..100, 0..3 * n);
        let edges = pairs.prop_map(|pairs| {
            pairs.into_iter().map(|((from, to), frequency)| Edge { from, to, frequency }).collect::<Vec<_>>()
        });
        (prop::collection::vec(0i64..3, n), edges)
    })
}

proptest! {
    #[test]
    fn every_walk_from_the_entry_sums_to_the_weight_of_its_blocks(
        (weights, edges) in graph(), choices in prop::collection::vec(any::<prop::sample::Index>(), 0..60)
    ) {
        let potentials = Forest::new(weights.len(), &edges).potentials(&weights);
        prop_assert_eq!(potentials[0], weights[0]);
        let (mut here, mut accumulator, mut executed) = (0, 0, weights[0]);
        for choice in choices {
            let ways: Vec<_> = edges.iter().filter(|edge| edge.from == here).collect();
            if ways.is_empty() {
                break;
            }
            let edge = choice.get(&ways);
            accumulator += increment(&weights, &potentials, edge.from, edge.to);
            here = edge.to;
            executed += weights[here];
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
    let forest = Forest::new(5, &edges);
    let adding = |weights: &[i64]| {
        let potentials = forest.potentials(weights);
        let adds = |e: &&Edge| increment(weights, &potentials, e.from, e.to) != 0;
        edges.iter().filter(adds).copied().collect::<Vec<_>>()
    };
    // Where nothing in the loop weighs anything, nothing in it adds.
    assert!(adding(&[1, 0, 0, 0, 1]).is_empty());
    let adding = adding(&[1; 5]);
    assert_eq!(adding.len(), 2);
    assert!(adding.iter().any(|e| (e.from == 1 && e.to == 2) || (e.from == 2 && e.to == 3)), "{adding:?}");
}
