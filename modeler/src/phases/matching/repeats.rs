//! Iterations among the phases of a run: a sequence of labels that follows itself several times.

/// Turns in a row that make iterations; twice the same may be two things.
const TURNS: usize = 3;
/// Phases of an iteration at most.
const LONGEST: usize = 64;

/// The labels' indices, those of one place of an iteration together, by the first of each: for `a b c b c b c d` the lists 0; 1, 3, 5;
/// 2, 4, 6; 7. What repeats at the shortest distance is folded first, from the left, and only once.
pub fn folded(labels: &[String]) -> Vec<Vec<usize>> {
    let mut folded = Vec::new();
    let mut at = 0;
    while at < labels.len() {
        match iterations(&labels[at..]) {
            Some((period, turns)) => {
                folded.extend((0..period).map(|place| (0..turns).map(|turn| at + place + turn * period).collect()));
                at += period * turns;
            }
            None => {
                folded.push(vec![at]);
                at += 1;
            }
        }
    }
    folded
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
        folded(&text.chars().map(String::from).collect::<Vec<_>>())
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
}
