//! What phases are called: by their function, with a number where it has several, and short where there is little room.

use std::collections::BTreeMap;

use super::{Analysis, Phase, Timeline};
use crate::report::markup::shortened;

/// The names of a timeline's phases, made once for all of them, since there may be tens of thousands.
pub(super) struct PhaseNames<'a> {
    analysis: &'a Analysis,
    /// How many phases a function has.
    phases: BTreeMap<u32, usize>,
    /// Short names of functions with phases, and how many of these functions have the same one.
    short: BTreeMap<u32, String>,
    alike: BTreeMap<String, usize>,
}

impl<'a> PhaseNames<'a> {
    /// The names in a timeline, short ones of at most so many characters.
    pub fn new(analysis: &'a Analysis, timeline: &Timeline, most: usize) -> Self {
        let mut phases: BTreeMap<u32, usize> = BTreeMap::new();
        timeline.phases.iter().for_each(|phase| *phases.entry(phase.function).or_default() += 1);
        let short = phases.keys().map(|&function| (function, shortest(analysis.name(function), most)));
        let short: BTreeMap<u32, String> = short.collect();
        let mut alike: BTreeMap<String, usize> = BTreeMap::new();
        short.values().for_each(|name| *alike.entry(name.clone()).or_default() += 1);
        Self { analysis, phases, short, alike }
    }

    /// Name of a phase: its function, and which of that function's phases it is if there are several.
    pub fn full(&self, phase: &Phase) -> String {
        self.numbered(phase, self.analysis.name(phase.function))
    }

    /// The same with the function's short name.
    pub fn short(&self, phase: &Phase) -> String {
        self.numbered(phase, self.function(phase.function))
    }

    /// Short name of a function with phases, unless another one's were the same.
    pub fn function(&self, function: u32) -> &str {
        let short = self.short.get(&function).filter(|short| self.alike[*short] == 1);
        short.map_or_else(|| self.analysis.name(function), String::as_str)
    }

    fn numbered(&self, phase: &Phase, name: &str) -> String {
        let several = self.phases.get(&phase.function).is_some_and(|&count| count > 1);
        if several { format!("{name} #{}", phase.occurrence) } else { name.to_owned() }
    }
}

/// A name in at most so many characters: without the arguments of templates and functions where that is enough, else without its
/// middle.
fn shortest(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    let name = shortened(&without_template_arguments(name));
    let count = name.chars().count();
    if count <= most {
        return name;
    }
    let head = name.chars().take(most / 2);
    head.chain(['…']).chain(name.chars().skip(count + 1 + most / 2 - most)).collect()
}

/// `sort<A, B<C> >(int)` as `sort<…>(int)`.
fn without_template_arguments(name: &str) -> String {
    let (mut short, mut depth, mut before) = (String::new(), 0_usize, ' ');
    for c in name.chars() {
        // Operators have such signs, too.
        let is_bracket = !short.ends_with("operator") && !short.ends_with("operator<") && before != '-';
        if c == '>' && is_bracket {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            short.push(c);
        }
        if c == '<' && is_bracket {
            if depth == 0 {
                short.push('…');
            }
            depth += 1;
        }
        before = c;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::Totals;
    use crate::phases::regions::Thresholds;

    #[test]
    fn phases_are_numbered_where_there_are_several_and_short_where_that_is_unique() {
        let long =
            |arguments: &str| format!("relax<{arguments}>::operator()(std::vector<double>&, std::vector<double>&)");
        let names = [long("double"), "solve".to_owned(), long("float"), "gather<a_long_list_of_types>".to_owned()];
        let phase = |(function, occurrence)| Phase {
            function,
            occurrence,
            bins: 0..5,
            totals: Totals::default(),
            held: Default::default(),
            calls: 0,
            shared_with: None,
        };
        let phases: Vec<Phase> = [(0, 1), (1, 1), (0, 2), (2, 1), (3, 1)].into_iter().map(phase).collect();
        let timeline =
            Timeline { rank: 0, thread: 0, bins: Vec::new(), phases, outside: BTreeMap::new(), first_apart: false };
        let analysis = Analysis {
            engine: "counters".into(),
            unit: poise_profile::BinUnit::Blocks,
            width: 1,
            thresholds: Thresholds::default(),
            functions: names.iter().map(|name| (name.clone(), String::new(), 0)).collect(),
            timelines: Vec::new(),
        };
        let called = PhaseNames::new(&analysis, &timeline, 20);
        let full: Vec<String> = timeline.phases.iter().map(|phase| called.full(phase)).collect();
        let [double, float] = [&names[0], &names[2]];
        assert_eq!(full, [&format!("{double} #1"), "solve", &format!("{double} #2"), float, &names[3]]);
        let short: Vec<String> = timeline.phases.iter().map(|phase| called.short(phase)).collect();
        assert_eq!(short, [&full[0], "solve", &full[2], float, "gather<…>"]);
    }

    #[test]
    fn long_names_lose_what_is_missed_least() {
        assert_eq!(shortest("solve(int)", 10), "solve(int)");
        let sort = "std::sort<std::vector<Body, std::allocator<Body> >::iterator>(int)";
        assert_eq!(shortest(sort, 30), "std::sort<…>(int)");
        assert_eq!(shortest("Matrix::operator<<(std::basic_ostream<char>&)", 30), "Matrix::operator<<(…)");
        assert_eq!(shortest("Pointer::operator->(a_type_of_numbers)", 30), "Pointer::operator->(…)");
        assert_eq!(shortest("0123456789abcdefghij", 10), "01234…ghij");
    }
}
