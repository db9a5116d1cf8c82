//! What llvm-mca says of a loop: what a processor's model makes of its instructions if all data are in the first-level cache.
//! This file reads what the program prints; it starts nothing.
//!
//! The paper counts, in gem5, instructions that wait for operands, N(W), and instructions that could start but for a free unit, N(S)
//! (section 4.1). llvm-mca's timeline has both: from dispatch to readiness, and from there to issue. By Little's law
//! their sums over the simulated cycles are average numbers of instructions.

use std::collections::BTreeMap;

use serde_json::Value;

use super::chains::{self, Chain, Instruction, Times};
use super::loops::CLEAR;
use super::memory;
use super::registers;

/// What llvm-mca found of a loop.
///
/// ```
/// use modeler::detect::mca::Schedule;
/// let sum = Schedule { cycles: 4.0, units: 1.0, front_end: 0.5, chain: Some(4.0), ..Schedule::default() };
/// assert_eq!(sum.chain, Some(sum.cycles)); // it takes as long as its chain
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// The processor whose model it is.
    pub processor: String,
    /// Simulated cycles of an iteration.
    pub cycles: f64,
    /// Cycles for which an iteration takes the most wanted unit.
    pub units: f64,
    /// Name of that unit.
    pub unit: String,
    /// Cycles that the front end takes to dispatch an iteration.
    pub front_end: f64,
    /// Cycles of the critical chain of dependencies from one iteration to the next; `None` where the simulation has none.
    pub chain: Option<f64>,
    /// Its instructions.
    pub chain_code: Vec<String>,
    /// Whether the chain may take fewer cycles: one of its instructions loads and computes, and may wait for the load.
    pub chain_may_be_shorter: bool,
    /// Whether llvm-mca does not simulate the chain, which goes through a move: the cycles are the chain's.
    pub chain_by_move: bool,
    /// Whether it does not, since the chain goes through memory.
    pub chain_by_memory: bool,
    /// Cycles of an iteration if each load waited for the stores before it, where it is not known whether some do and that would take clearly longer.
    pub aliased: Option<f64>,
    /// Whether the addresses show that some do, in some iterations alone, and wait for what was stored just before.
    pub is_conditional: bool,
    /// N(W): instructions that wait for operands, on average over the cycles.
    pub waiting: f64,
    /// N(S): instructions that wait for a unit.
    pub stalled: f64,
}

/// Reads llvm-mca's JSON (`-json -timeline`), the text of its bottleneck analysis (`-bottleneck-analysis`), and its JSON where loads wait for
/// stores (`-json -noalias=false`). `certain` says of the loop's instructions whether next to all iterations execute them.
///
/// ```
/// use modeler::detect::mca::read;
/// let json = r#"{"CodeRegions": [{"Instructions": [], "SummaryView":
///     {"Iterations": 100, "TotalCycles": 400, "TotaluOps": 300, "DispatchWidth": 6}}]}"#;
/// let schedule = read(json, "", json, &[])?;
/// assert_eq!((schedule.cycles, schedule.front_end), (4.0, 0.5)); // 400 / 100, 300 / 100 / 6
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// What of it is missing, in words.
pub fn read(json: &str, text: &str, aliased: &str, certain: &[bool]) -> Result<Schedule, String> {
    let parse = |json: &str| serde_json::from_str(json).map_err(|e| format!("llvm-mca's JSON cannot be read: {e}"));
    let (document, aliased): (Value, Value) = (parse(json)?, parse(aliased)?);
    let region = &document["CodeRegions"][0];
    let number = |name: &str| number(region, name);
    let iterations = number("Iterations")?.max(1.0);
    let count = region["Instructions"].as_array().map_or(0, Vec::len);
    let (units, unit) = most_wanted(&document, region, count);
    let cycles = number("TotalCycles")?;
    let code = instructions(region, count, certain);
    let operands = registers::of(code.iter().map(|instruction| instruction.text));
    let memory = memory::of(&code, &operands);
    let found = chains::tightest(&code, &operands, &times(region), &memory.forwards);
    let named = named_chain(region, text, &chains::come_back(&operands)).map(|mut named| {
        // Latencies count loads and what is read late in full, and may add up to more than an iteration takes.
        named.cycles = named.cycles.min(cycles / iterations);
        named
    });
    // One of the same instructions is that which was found, whose cycles are those of the timeline.
    let is_another = |named: &Chain, found: &Chain| {
        named.cycles >= CLEAR * found.cycles && named.code.iter().any(|index| !found.code.contains(index))
    };
    let chain = match (found, named) {
        (Some(found), Some(named)) if is_another(&named, &found) => Some(named),
        (found, named) => found.or(named),
    };
    let (waiting, stalled) = waits(region, cycles);
    let is = |what: fn(&Chain) -> bool| chain.as_ref().is_some_and(what);
    // An iteration takes as long as a chain of which the simulation knows nothing.
    let chains_cycles = chain.as_ref().filter(|chain| chain.by_move || chain.by_memory).map_or(0.0, |c| c.cycles);
    let cycles = (cycles / iterations).max(chains_cycles);
    let aliased = self::number(&aliased["CodeRegions"][0], "TotalCycles")? / iterations;
    Ok(Schedule {
        processor: document["TargetInfo"]["CPUName"].as_str().unwrap_or_default().to_owned(),
        cycles,
        units,
        unit,
        front_end: number("TotaluOps")? / iterations / number("DispatchWidth")?.max(1.0),
        chain: chain.as_ref().map(|chain| chain.cycles),
        chain_code: chain.iter().flat_map(|chain| &chain.code).map(|&index| instruction_text(region, index)).collect(),
        chain_may_be_shorter: is(|chain| chain.at_most),
        chain_by_move: is(|chain| chain.by_move),
        chain_by_memory: is(|chain| chain.by_memory),
        aliased: ((memory.is_open || memory.is_conditional) && aliased >= CLEAR * cycles).then_some(aliased),
        is_conditional: memory.is_conditional,
        waiting,
        stalled,
    })
}

/// A number of the summary.
fn number(region: &Value, name: &str) -> Result<f64, String> {
    region["SummaryView"][name].as_f64().ok_or_else(|| format!("llvm-mca's summary has no {name}"))
}

/// The resource with the highest pressure: cycles of an iteration, and its name. Sums over all instructions stand behind the last.
fn most_wanted(document: &Value, region: &Value, instructions: usize) -> (f64, String) {
    let usages = region["ResourcePressureView"]["ResourcePressureInfo"].as_array();
    let sums = usages.into_iter().flatten().filter(|usage| usage["InstructionIndex"] == instructions);
    let of = |usage: &Value| Some((usage["ResourceUsage"].as_f64()?, usage["ResourceIndex"].as_u64()? as usize));
    let most = sums.filter_map(of).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let name = |index: usize| {
        // Parts of a unit have their number in their names, as a byte.
        let name = document["TargetInfo"]["Resources"][index].as_str().unwrap_or_default();
        name.trim_end_matches(char::is_control).trim_end_matches('.').to_owned()
    };
    most.map_or((0.0, String::new()), |(usage, index)| (usage, name(index)))
}

/// N(W) and N(S) from the timeline, which covers the whole simulation.
fn waits(region: &Value, cycles: f64) -> (f64, f64) {
    let (mut waiting, mut stalled) = (0.0, 0.0);
    for entry in region["TimelineView"]["TimelineInfo"].as_array().into_iter().flatten() {
        let at = |name: &str| entry[name].as_f64().unwrap_or(0.0);
        let (dispatched, ready, issued) = (at("CycleDispatched"), at("CycleReady"), at("CycleIssued"));
        waiting += (ready - dispatched).max(0.0);
        stalled += (issued - ready.max(dispatched)).max(0.0);
    }
    (waiting / cycles.max(1.0), stalled / cycles.max(1.0))
}

/// The critical sequence of an iteration, if it leads from one iteration to the next by dependencies of data alone: its
/// instructions that may wait for their own results (`come_back`), and their latencies added up.
fn named_chain(region: &Value, text: &str, come_back: &[bool]) -> Option<Chain> {
    let start = text.find("Critical sequence")?;
    // Each node of the sequence stands behind an arrow; ` < loop carried > ` separates iterations.
    let mut iterations: Vec<BTreeMap<usize, bool>> = vec![BTreeMap::new()];
    for line in text[start..].lines().skip(1) {
        if line.contains("< loop carried >") {
            iterations.push(BTreeMap::new());
        }
        if line.starts_with("Instruction Info") {
            break;
        }
        let Some(node) = line.strip_prefix(" +----") else { continue };
        let number = node.trim_start_matches(['<', '>']).trim_start().split('.').next().and_then(|n| n.parse().ok());
        if let (Some(number), Some(last)) = (number, iterations.last_mut()) {
            last.insert(number, line.contains("RESOURCE interference"));
        }
    }
    // The first is drawn in part, and so is a third one; the second is whole. What the first one hands on is the last that comes back: behind it
    // is what only reads it, such as a comparison and its branch.
    let handed_on = *iterations[0].last_key_value()?.0;
    let whole = iterations.get(1)?;
    if whole.is_empty() || whole.values().any(|&is_resource| is_resource) {
        return None;
    }
    let is_whole = !whole.contains_key(&handed_on);
    let is_of_it = |&index: &usize| come_back.get(index) == Some(&true) && (is_whole || index <= handed_on);
    let code: Vec<usize> = whole.keys().copied().filter(is_of_it).collect();
    let latency = |index: &usize| region["InstructionInfoView"]["InstructionList"][*index]["Latency"].as_f64();
    let cycles = code.iter().filter_map(latency).sum();
    (!code.is_empty()).then_some(Chain { code, cycles, at_most: false, by_move: false, by_memory: false })
}

/// The loop's instructions.
fn instructions<'a>(region: &'a Value, count: usize, certain: &[bool]) -> Vec<Instruction<'a>> {
    let of = |index: usize| Instruction {
        text: region["Instructions"][index].as_str().unwrap_or_default(),
        may_load: region["InstructionInfoView"]["InstructionList"][index]["mayLoad"] == true,
        may_store: region["InstructionInfoView"]["InstructionList"][index]["mayStore"] == true,
        is_certain: certain.get(index) != Some(&false),
    };
    (0..count).map(of).collect()
}

/// The timeline: the instructions of all iterations in a row. Empty where a number is missing.
fn times(region: &Value) -> Vec<Times> {
    let of = |entry: &Value| {
        let at = |name: &str| entry[name].as_i64();
        Some(Times {
            dispatched: at("CycleDispatched")?,
            ready: at("CycleReady")?,
            issued: at("CycleIssued")?,
            done: at("CycleExecuted")?,
        })
    };
    let entries = region["TimelineView"]["TimelineInfo"].as_array();
    entries.into_iter().flatten().map(of).collect::<Option<_>>().unwrap_or_default()
}

/// An instruction as it is written.
fn instruction_text(region: &Value, index: usize) -> String {
    region["Instructions"][index].as_str().unwrap_or_default().replace('\t', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"CodeRegions": [{
        "InstructionInfoView": {"InstructionList": [{"Latency": 4}, {"Latency": 1}, {"Latency": 1}]},
        "Instructions": ["vfmadd213sd\t%xmm2, %xmm1, %xmm0", "addq\t$1, %rax", "jne\t-10"],
        "ResourcePressureView": {"ResourcePressureInfo": [
            {"InstructionIndex": 0, "ResourceIndex": 1, "ResourceUsage": 1},
            {"InstructionIndex": 3, "ResourceIndex": 0, "ResourceUsage": 0.6},
            {"InstructionIndex": 3, "ResourceIndex": 1, "ResourceUsage": 1}]},
        "SummaryView": {"DispatchWidth": 6, "Iterations": 2, "TotalCycles": 10, "TotaluOps": 6},
        "TimelineView": {"TimelineInfo": [
            {"CycleDispatched": 0, "CycleReady": 0, "CycleIssued": 1},
            {"CycleDispatched": 1, "CycleReady": 5, "CycleIssued": 5},
            {"CycleDispatched": 1, "CycleReady": 1, "CycleIssued": 3}]}}],
        "TargetInfo": {"CPUName": "znver4", "Resources": ["Zn4ALU0", "Zn4FP0.\u0001"]}}"#;
    const TEXT: &str = "Critical sequence based on the simulation:\n\n              Instruction      Dependency Information\n \
        +----< 0.    vfmadd213sd\t%xmm2\n |\n |    < loop carried > \n |\n \
        +----> 0.    vfmadd213sd\t%xmm2  ## REGISTER dependency:  %xmm0\n |      1.    addq\n |\n |    < loop carried > \n |\n \
        +----> 0.    vfmadd213sd\t%xmm2  ## REGISTER dependency:  %xmm0\n\nInstruction Info:\n";

    /// Where loads wait for stores as where they do not.
    fn read(json: &str, text: &str) -> Result<Schedule, String> {
        super::read(json, text, json, &[])
    }

    /// Each load waits for the store before it, if it may.
    #[test]
    fn what_loads_would_take_that_wait_for_stores_is_told_where_addresses_are_open() {
        let json = JSON.replace(
            r#"[{"Latency": 4}, {"Latency": 1}"#,
            r#"[{"Latency": 4, "mayLoad": true}, {"Latency": 1, "mayStore": true}"#,
        );
        let json = |cycles: u32| {
            let code = json
                .replace("vfmadd213sd\\t%xmm2,", "vfmadd213sd\\t(%rdi,%rax),")
                .replace("addq\\t$1, %rax", "addl\\t$1, (%rsi)");
            code.replace(r#""TotalCycles": 10"#, &format!(r#""TotalCycles": {cycles}"#))
        };
        assert!(json(10).contains("(%rdi,%rax)") && json(10).contains("(%rsi)"));
        assert_eq!(super::read(&json(10), TEXT, &json(24), &[]).unwrap().aliased, Some(12.0));
        assert_eq!(super::read(&json(10), TEXT, &json(11), &[]).unwrap().aliased, None);
        let same = json(10).replace("(%rdi,%rax)", "64(%rsi)");
        assert_eq!(super::read(&same, TEXT, &json(24), &[]).unwrap().aliased, None, "the addresses are known");
        let always = json(10).replace("(%rdi,%rax)", "(%rsi)");
        let of =
            |certain: &[bool]| super::read(&always, TEXT, &json(40), certain).map(|s| (s.aliased, s.is_conditional));
        assert_eq!([of(&[]), of(&[true, false, true])], [Ok((None, false)), Ok((Some(20.0), true))]);
    }

    #[test]
    fn a_schedule_is_read() {
        let schedule = read(JSON, TEXT).unwrap();
        let expected = Schedule {
            processor: "znver4".into(),
            cycles: 5.0,
            units: 1.0,
            unit: "Zn4FP0".into(),
            front_end: 0.5,
            chain: Some(4.0),
            chain_code: vec!["vfmadd213sd %xmm2, %xmm1, %xmm0".into()],
            chain_may_be_shorter: false,
            chain_by_move: false,
            chain_by_memory: false,
            aliased: None,
            is_conditional: false,
            waiting: 0.4,
            stalled: 0.3,
        };
        assert_eq!(schedule, expected);
    }

    /// llvm-mca draws the last iteration in part only where the sequence goes on into it.
    #[test]
    fn a_chain_of_two_iterations_is_one_and_no_longer_than_an_iteration() {
        let text = TEXT.replace(
            " |\n |    < loop carried > \n |\n +----> 0.    vfmadd213sd\t%xmm2  ## REGISTER dependency:  %xmm0\n\nI",
            "\nI",
        );
        assert_eq!(text.matches("loop carried").count(), 1);
        assert_eq!(read(JSON, &text).unwrap().chain, Some(4.0));
        let slow = JSON.replace(r#"{"Latency": 4}"#, r#"{"Latency": 10}"#);
        assert_eq!(read(&slow, &text).unwrap().chain, Some(5.0), "an iteration takes five cycles");
    }

    #[test]
    fn a_sequence_of_busy_units_is_no_chain() {
        let text = TEXT.replace("REGISTER dependency:  %xmm0\n |      1", "RESOURCE interference:  Zn4FP0\n |      1");
        assert_eq!(read(JSON, &text).unwrap().chain, None);
        assert_eq!(read(JSON, "No resource or data dependency bottlenecks discovered.").unwrap().chain, None);
        assert!(read("{}", "").unwrap_err().contains("no Iterations"));
    }

    /// What llvm-mca 19 says of a fused multiply-add of four cycles that needs its own result, and a counter, in six iterations. It names the
    /// counter's chain, with what compares it and branches.
    #[test]
    fn the_chain_of_the_sum_is_named_and_not_the_counters() {
        let mut timeline = Vec::new();
        for i in 0..6 {
            // Ready and done: the sum at 0 and 5, 5 and 9, …; the counter, its comparison and the branch a cycle after each other.
            let entry = |ready: u64, done: u64| serde_json::json!({"CycleDispatched": 0, "CycleReady": ready, "CycleIssued": ready.max(1), "CycleExecuted": done});
            timeline.push(entry(if i == 0 { 0 } else { 1 + 4 * i }, 5 + 4 * i));
            timeline.push(entry(if i == 0 { 0 } else { 1 + i }, 2 + i));
            timeline.push(entry(2 + i, 3 + i));
            timeline.push(entry(3 + i, 4 + i));
        }
        let latencies = [4, 1, 1, 1].map(|latency| serde_json::json!({ "Latency": latency }));
        let json = serde_json::json!({"CodeRegions": [{
            "InstructionInfoView": {"InstructionList": latencies},
            "Instructions": ["fmadd\td0, d0, d1, d2", "add\tx1, x1, #1", "cmp\tx0, x1", "b.ne\t#-12"],
            "SummaryView": {"DispatchWidth": 16, "Iterations": 6, "TotalCycles": 27, "TotaluOps": 24},
            "TimelineView": {"TimelineInfo": timeline}}]});
        let text = "Critical sequence based on the simulation:\n\n +----< 1.    add\tx1, x1, #1\n |\n |    < loop carried > \n |\n \
                    |      0.    fmadd\td0, d0, d1, d2\n +----> 1.    add\tx1, x1, #1  ## REGISTER dependency:  x1\n \
                    +----> 2.    cmp\tx0, x1  ## REGISTER dependency:  x1\n \
                    +----> 3.    b.ne\t#-12  ## REGISTER dependency:  nzcv\n\nInstruction Info:\n";
        let schedule = read(&json.to_string(), text).unwrap();
        assert_eq!((schedule.chain, schedule.chain_code), (Some(4.0), vec!["fmadd d0, d0, d1, d2".to_owned()]));
    }

    /// The counter's chain of a cycle is in the timeline; the sum's, of ten each iteration, is not always done when the next is ready.
    #[test]
    fn a_named_chain_that_is_clearly_longer_than_the_one_that_is_found_counts() {
        let entry = |ready: u64, done: u64| serde_json::json!({"CycleDispatched": 0, "CycleReady": ready, "CycleIssued": ready, "CycleExecuted": done});
        let timeline: Vec<Value> =
            (0..8).flat_map(|i| [entry(10 * i, 10 * i + 10 + i % 2), entry(1 + i, 2 + i)]).collect();
        let json = |latency: u64| {
            serde_json::json!({"CodeRegions": [{
                "InstructionInfoView": {"InstructionList": [{ "Latency": latency }, { "Latency": 1 }]},
                "Instructions": ["addsd\t%xmm1, %xmm0", "addq\t$1, %rax"],
                "SummaryView": {"DispatchWidth": 16, "Iterations": 8, "TotalCycles": 80, "TotaluOps": 16},
                "TimelineView": {"TimelineInfo": timeline}}]})
            .to_string()
        };
        let named = |node: &str| {
            format!(
                "Critical sequence based on the simulation:\n\n +----< {node}\n |\n |    < loop carried > \n |\n +----> {node} ## REGISTER dependency\n"
            )
        };
        let chain = |json: &str, node: &str| {
            let schedule = read(json, &named(node)).unwrap();
            (schedule.chain.unwrap(), schedule.chain_code.join("; "))
        };
        let counter = "addq $1, %rax".to_owned();
        assert_eq!(chain(&json(10), "0. addsd"), (10.0, "addsd %xmm1, %xmm0".into()));
        assert_eq!(chain(&json(1), "0. addsd"), (1.0, counter.clone()), "not longer");
        assert_eq!(chain(&json(10), "1. addq"), (1.0, counter), "the same");
    }

    /// The counter comes back, what compares it does not.
    #[test]
    fn what_only_reads_a_named_chain_is_no_part_of_it() {
        let text = TEXT.replace(" 0.    vfmadd213sd\t%xmm2", " 1.    addq").replace(
            " |\n |    < loop carried > \n |\n +----> 1.    addq  ## REGISTER dependency:  %xmm0\n\nI",
            " +----> 2.    jne  ## REGISTER dependency:  %eflags\n\nI",
        );
        assert!(text.matches("loop carried").count() == 1 && text.contains("> 2."), "{text}");
        let schedule = read(JSON, &text).unwrap();
        assert_eq!((schedule.chain, schedule.chain_code), (Some(1.0), vec!["addq $1, %rax".to_owned()]));
    }
}
