//! Iterations among the phases of a run: a sequence of labels that follows itself several times.

/// Turns in a row that make iterations; twice the same may be two things.
const TURNS: usize = 3;
/// Phases of an iteration at most.
const LONGEST: usize = 64;

/// Of each sequence the labels' indices, those of one place of an iteration together, by the first of each: for
/// `a b c b c b c d` the lists 0; 1, 3, 5; 2, 4, 6; 7. What repeats at the shortest distance is folded first, from the left, and
/// only once. What makes iterations in one of the sequences makes some in the others, too, where it is there but twice.
pub fn folded(sequences: &[&[String]]) -> Vec<Vec<Vec<usize>>> {
    let mut known: Vec<&[String]> = sequences.iter().flat_map(|labels| words(labels)).collect();
    // The longest first: what is the same place of a short one may be two places of a long one.
    known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    known.dedup();
    let parts = sequences.iter().map(|labels| parts(labels, &known));
    parts.map(|parts| parts.into_iter().flat_map(Part::places).collect()).collect()
}

/// So many turns of so many labels, from a label on; one turn of one label is what does not repeat.
struct Part {
    at: usize,
    period: usize,
    turns: usize,
}

impl Part {
    /// The indices of each place.
    fn places(self) -> impl Iterator<Item = Vec<usize>> {
        (0..self.period).map(move |place| (0..self.turns).map(|turn| self.at + place + turn * self.period).collect())
    }
}

/// The sequence in parts: iterations, what repeats twice of `known`, and the labels between.
fn parts(labels: &[String], known: &[&[String]]) -> Vec<Part> {
    let (mut parts, mut at) = (Vec::new(), 0);
    while at < labels.len() {
        let rest = &labels[at..];
        let twice = |word: &&&[String]| rest.strip_prefix(**word).is_some_and(|rest| rest.starts_with(word));
        let of_others = || known.iter().find(twice).map(|word| (word.len(), 2));
        let (period, turns) = iterations(rest).or_else(of_others).unwrap_or((1, 1));
        parts.push(Part { at, period, turns });
        at += period * turns;
    }
    parts
}

/// What makes iterations of a sequence by itself: the labels of one turn of each.
fn words(labels: &[String]) -> Vec<&[String]> {
    let iterations = parts(labels, &[]).into_iter().filter(|part| part.turns > 1);
    iterations.map(|part| &labels[part.at..part.at + part.period]).collect()
}

/// The shortest period with which the labels begin to repeat, and how often.
fn iterations(labels: &[String]) -> Option<(usize, usize)> {
    let turns = |period: usize| {
        let same = labels.iter().zip(&labels[period..]).take_while(|(a, b)| a == b).count();
        same / period + 1
    };
    let longest = LONGEST.min(labels.len() / TURNS);
    (1..=longest).map(|period| (period, turns(period))).find(|&(_, turns)| turns >= TURNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Vec<usize>> {
        beside(&[text]).remove(0)
    }

    fn beside(texts: &[&str]) -> Vec<Vec<Vec<usize>>> {
        let labels = texts.iter().map(|text| text.chars().map(String::from).collect::<Vec<_>>()).collect::<Vec<_>>();
        folded(&labels.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn what_repeats_three_times_is_folded() {
        assert_eq!(of("abcbcbcd"), [vec![0], vec![1, 3, 5], vec![2, 4, 6], vec![7]]);
        assert_eq!(of("abab"), [[0], [1], [2], [3]], "twice may be two things");
        assert_eq!(of("aaaab"), [vec![0, 1, 2, 3], vec![4]]);
        // A turn that is not complete stands for itself.
        assert_eq!(of("abababa"), [vec![0, 2, 4], vec![1, 3, 5], vec![6]]);
        assert!(of("").is_empty());
    }

    #[test]
    fn what_is_an_iteration_in_one_sequence_is_one_in_all() {
        let found = beside(&["rabw", "rababw", "rababababw", "rbabaxbxb"]);
        assert_eq!(found[0], [[0], [1], [2], [3]]);
        assert_eq!(found[1], [vec![0], vec![1, 3], vec![2, 4], vec![5]]);
        assert_eq!(found[2], [vec![0], vec![1, 3, 5, 7], vec![2, 4, 6, 8], vec![9]]);
        assert_eq!(found[3], [vec![0], vec![1], vec![2], vec![3], vec![4], vec![5], vec![6], vec![7], vec![8]]);
        // Twice the long turn, not twice the short one in it.
        assert_eq!(beside(&["aabaab", "aabaabaab", "aaa"])[0], [[0, 3], [1, 4], [2, 5]]);
    }
}
