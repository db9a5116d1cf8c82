//! Where a function must count so that the total over any path is right, with as few increments as can be.
//!
//! Blocks have weights: what the accumulator adds up. Let `potential(b)` be a constant per block, and let the accumulator `a`
//! obey `weight executed = a + potential(b)` whenever control is in `b`. Then the edge from `u` to `v` must add
//! `potential(u) + weight(v) - potential(v)`, and `potential(entry) = weight(entry)` with `a = 0`. The potentials are free, so they
//! are chosen to make all edges of a spanning tree add nothing, and the tree to have the most frequent edges (the idea of
//! Ball and Larus, "Optimally profiling and tracing programs", TOPLAS 1994, section 3; only the total is wanted here, so
//! one accumulator serves all chords). Edges of a cycle on which all weights are 0 add nothing either.

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

/// The edges that add nothing, for each block with the other end and whether the edge leads there.
pub struct Forest(Vec<Vec<(usize, bool)>>);

impl Forest {
    /// The forest of most frequent edges among `blocks` blocks, block 0 being the entry.
    pub fn new(blocks: usize, edges: &[Edge]) -> Self {
        let mut forest = vec![Vec::new(); blocks];
        for edge in spanning_tree(blocks, edges) {
            forest[edge.from].push((edge.to, true));
            forest[edge.to].push((edge.from, false));
        }
        Self(forest)
    }

    /// The potentials of all blocks for these weights. Blocks that no edges connect with the entry get their own weight.
    pub fn potentials(&self, weights: &[i64]) -> Vec<i64> {
        let mut potentials = vec![None; weights.len()];
        for root in 0..weights.len() {
            if potentials[root].is_some() {
                continue;
            }
            potentials[root] = Some(weights[root]);
            let mut reached = vec![(root, weights[root])];
            while let Some((block, here)) = reached.pop() {
                for &(neighbour, leads_there) in &self.0[block] {
                    if potentials[neighbour].is_none() {
                        let there = if leads_there { here + weights[neighbour] } else { here - weights[block] };
                        potentials[neighbour] = Some(there);
                        reached.push((neighbour, there));
                    }
                }
            }
        }
        potentials.into_iter().zip(weights).map(|(potential, &weight)| potential.unwrap_or(weight)).collect()
    }
}

/// What the edge adds to the accumulator.
pub fn increment(weights: &[i64], potentials: &[i64], from: usize, to: usize) -> i64 {
    potentials[from] + weights[to] - potentials[to]
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
