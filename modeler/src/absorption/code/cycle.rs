//! Finds the loop in a function's instructions: natural loops by dominators (Aho, Lam, Sethi and Ullman, Compilers, second
//! edition, section 9.6).

use std::collections::{BTreeMap, BTreeSet};

use super::{Flow, Step};

/// Functions with more instructions are not looked at.
const LARGEST: usize = 8192;

/// The instructions of the natural loop that has most of them; `None` where there is no loop, or too much code.
pub fn largest(steps: Vec<Step>) -> Option<Vec<Step>> {
    if steps.is_empty() || steps.len() > LARGEST {
        return None;
    }
    let successors = successors(&steps);
    let body = bodies(&successors).into_values().max_by_key(BTreeSet::len)?;
    Some(steps.into_iter().enumerate().filter(|(i, _)| body.contains(i)).map(|(_, step)| step).collect())
}

/// Where each instruction continues, by number; jumps out of the function lead nowhere.
pub fn successors(steps: &[Step]) -> Vec<Vec<usize>> {
    let at = |address: u64| steps.binary_search_by_key(&address, |step| step.address).ok();
    let next = |i: usize| Some(i + 1).filter(|&next| next < steps.len());
    let of = |(i, step): (usize, &Step)| match step.flow {
        Flow::Next => next(i).into_iter().collect(),
        Flow::Jump(target) => at(target).into_iter().collect(),
        Flow::Branch(target) => next(i).into_iter().chain(at(target)).collect(),
        Flow::Stop => Vec::new(),
    };
    steps.iter().enumerate().map(of).collect()
}

/// The natural loops by their headers.
pub fn bodies(successors: &[Vec<usize>]) -> BTreeMap<usize, BTreeSet<usize>> {
    let predecessors = predecessors(successors);
    let dominator = immediate_dominators(successors, &predecessors);
    let dominates = |header, node| dominates(&dominator, header, node);
    let mut bodies: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (latch, all) in successors.iter().enumerate() {
        for &header in all.iter().filter(|&&header| dominator[latch].is_some() && dominates(header, latch)) {
            let body = bodies.entry(header).or_insert_with(|| BTreeSet::from([header]));
            let mut rest = vec![latch];
            while let Some(node) = rest.pop() {
                if body.insert(node) {
                    // What nothing leads to is in no loop, wherever it leads.
                    rest.extend(predecessors[node].iter().filter(|&&p| dominator[p].is_some()));
                }
            }
        }
    }
    bodies
}

/// Which nodes of the natural loop `body` each of its iterations executes: those that dominate all that leads back to its header. `None` where the loop
/// holds another, which may go round any number of times, or is no natural loop.
pub fn executed_each_time(successors: &[Vec<usize>], body: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
    let loops = bodies(successors);
    let mut inside = loops.iter().filter(|(_, inner)| inner.is_subset(body));
    let (&header, _) = inside.next().filter(|(_, inner)| *inner == body)?;
    if inside.next().is_some() {
        return None;
    }
    let dominator = immediate_dominators(successors, &predecessors(successors));
    let latches: Vec<usize> = body.iter().copied().filter(|&node| successors[node].contains(&header)).collect();
    let always = |node: usize| latches.iter().all(|&latch| dominates(&dominator, node, latch));
    Some(body.iter().copied().filter(|&node| always(node)).collect())
}

fn predecessors(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut predecessors = vec![Vec::new(); successors.len()];
    for (from, all) in successors.iter().enumerate() {
        all.iter().for_each(|&to| predecessors[to].push(from));
    }
    predecessors
}

/// Whether every way to `node` passes `above`.
fn dominates(dominator: &[Option<usize>], above: usize, mut node: usize) -> bool {
    loop {
        if node == above {
            return true;
        }
        match dominator[node] {
            Some(next) if next != node => node = next,
            _ => return false,
        }
    }
}

/// The immediate dominator of each node that can be reached from the first, which is its own (Cooper, Harvey and Kennedy,
/// A simple, fast dominance algorithm, 2001).
pub fn immediate_dominators(successors: &[Vec<usize>], predecessors: &[Vec<usize>]) -> Vec<Option<usize>> {
    let order = postorder(successors);
    let mut number = vec![0; successors.len()];
    order.iter().enumerate().for_each(|(place, &node)| number[node] = place);
    let mut dominator = vec![None; successors.len()];
    dominator[0] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().rev().filter(|&&node| node != 0) {
            let known = predecessors[node].iter().copied().filter(|&p| dominator[p].is_some());
            let common = known.reduce(|mut a, mut b| {
                while a != b {
                    while number[a] < number[b] {
                        a = dominator[a].unwrap_or(0);
                    }
                    while number[b] < number[a] {
                        b = dominator[b].unwrap_or(0);
                    }
                }
                a
            });
            if common != dominator[node] {
                (dominator[node], changed) = (common, true);
            }
        }
    }
    dominator
}

/// The nodes that can be reached from the first, each after those that it leads to.
fn postorder(successors: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::new();
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((node, next)) = stack.pop() {
        match successors[node].get(next) {
            Some(&to) => {
                stack.push((node, next + 1));
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, 0));
                }
            }
            None => order.push(node),
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether `node` can be reached from the first without passing `without`.
    fn reached(successors: &[Vec<usize>], node: usize, without: Option<usize>) -> bool {
        let mut seen = BTreeSet::new();
        let mut rest = vec![0];
        while let Some(here) = rest.pop() {
            if Some(here) != without && seen.insert(here) {
                rest.extend(&successors[here]);
            }
        }
        seen.contains(&node)
    }

    #[test]
    fn nested_loops_have_their_bodies() {
        // 0 -> 1 -> 2 -> 2, 2 -> 3 -> 1, 3 -> 4
        let bodies = bodies(&[vec![1], vec![2], vec![3, 2], vec![4, 1], vec![]]);
        assert_eq!(bodies, BTreeMap::from([(1, BTreeSet::from([1, 2, 3])), (2, BTreeSet::from([2]))]));
    }

    #[test]
    fn what_each_iteration_executes_is_told() {
        // 0 -> 1 -> {2, 3} -> 4 -> 1, 4 -> 5
        let successors = [vec![1], vec![2, 3], vec![4], vec![4], vec![1, 5], vec![]];
        let body = BTreeSet::from([1, 2, 3, 4]);
        assert_eq!(executed_each_time(&successors, &body), Some(BTreeSet::from([1, 4])));
        // 0 -> 1 -> 2 -> 2, 2 -> 3 -> 1, 3 -> 4: the outer loop holds another.
        let nested = [vec![1], vec![2], vec![3, 2], vec![4, 1], vec![]];
        assert_eq!(executed_each_time(&nested, &BTreeSet::from([1, 2, 3])), None);
        assert_eq!(executed_each_time(&nested, &BTreeSet::from([2])), Some(BTreeSet::from([2])));
    }

    proptest! {
        /// A header is what every way to the rest of its loop passes.
        #[test]
        fn headers_dominate_their_loops(graph in prop::collection::vec(prop::collection::vec(0usize..12, 0..3), 12)) {
            for (header, body) in bodies(&graph) {
                for node in body {
                    prop_assert!(reached(&graph, node, None));
                    prop_assert!(node == header || !reached(&graph, node, Some(header)));
                }
            }
        }
    }
}
