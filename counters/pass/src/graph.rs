//! Where a function must count so that the total over any path is right, with as few increments as can be.
//!
//! Every block has weight 1. Let `potential(b)` be a constant per block, and let the accumulator `a` obey
//! `blocks executed = a + potential(b)` whenever control is in `b`. Then the edge from `u` to `v` must add
//! `potential(u) + 1 - potential(v)`, and `potential(entry) = 1` with `a = 0`. The potentials are free, so they are
//! chosen to make all edges of a spanning tree add nothing, and the tree to have the most frequent edges (the idea of
//! Ball and Larus, "Optimally profiling and tracing programs", TOPLAS 1994, section 3; only the total is wanted here, so
//! one accumulator serves all chords).

/// An edge between two blocks, once however often a switch repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Number of the block left.
    pub from: usize,
    /// Number of the block entered.
    pub to: usize,
    /// Estimated executions.
    pub frequency: u64,
}

/// The potentials of `blocks` blocks, block 0 being the entry. Blocks that no edges connect with the entry get 1.
pub fn potentials(blocks: usize, edges: &[Edge]) -> Vec<i64> {
    let mut tree = vec![Vec::new(); blocks];
    for edge in spanning_tree(blocks, edges) {
        tree[edge.from].push((edge.to, 1));
        tree[edge.to].push((edge.from, -1));
    }
    let mut potentials = vec![None; blocks];
    for root in 0..blocks {
        if potentials[root].is_some() {
            continue;
        }
        potentials[root] = Some(1);
        let mut reached = vec![root];
        while let Some(block) = reached.pop() {
            for &(neighbour, weight) in &tree[block] {
                if potentials[neighbour].is_none() {
                    potentials[neighbour] = potentials[block].map(|here: i64| here + weight);
                    reached.push(neighbour);
                }
            }
        }
    }
    potentials.into_iter().map(|potential| potential.unwrap_or(1)).collect()
}

/// What the edge adds to the accumulator.
pub fn increment(potentials: &[i64], from: usize, to: usize) -> i64 {
    potentials[from] + 1 - potentials[to]
}

/// A spanning tree (forest) of largest total frequency: Kruskal's algorithm. Of edges equally frequent the first wins,
/// so the result is the same on every run.
fn spanning_tree(blocks: usize, edges: &[Edge]) -> Vec<Edge> {
    let mut order: Vec<Edge> = edges.to_vec();
    order.sort_by_key(|edge| std::cmp::Reverse(edge.frequency));
    let mut group: Vec<usize> = (0..blocks).collect();
    order.retain(|edge| {
        let (a, b) = (find(&mut group, edge.from), find(&mut group, edge.to));
        group[a] = b;
        a != b
    });
    order
}

/// The representative of the group that holds `block`.
fn find(group: &mut [usize], mut block: usize) -> usize {
    while group[block] != block {
        group[block] = group[group[block]];
        block = group[block];
    }
    block
}
