//! What llvm-mca says of a loop: what a processor's model makes of its instructions if all data are in the first-level cache.
//! This file reads what the program prints; it starts nothing.
//!
//! The paper counts, in gem5, instructions that wait for operands, N(W), and instructions that could start but for a free unit, N(S)
//! (section 4.1). llvm-mca's timeline has both: from dispatch to readiness, and from there to issue. By Little's law
//! their sums over the simulated cycles are average numbers of instructions.

use std::collections::BTreeMap;

use serde_json::Value;

/// What llvm-mca found of a loop.
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
    /// N(W): instructions that wait for operands, on average over the cycles.
    pub waiting: f64,
    /// N(S): instructions that wait for a unit.
    pub stalled: f64,
}

/// Reads llvm-mca's JSON (`-json -timeline`) and the text of its bottleneck analysis (`-bottleneck-analysis`).
///
/// # Errors
/// What of it is missing, in words.
pub fn read(json: &str, text: &str) -> Result<Schedule, String> {
    let document: Value = serde_json::from_str(json).map_err(|e| format!("llvm-mca's JSON cannot be read: {e}"))?;
    let region = &document["CodeRegions"][0];
    let summary = &region["SummaryView"];
    let number = |name: &str| summary[name].as_f64().ok_or_else(|| format!("llvm-mca's summary has no {name}"));
    let iterations = number("Iterations")?.max(1.0);
    let count = region["Instructions"].as_array().map_or(0, Vec::len);
    let (units, unit) = most_wanted(&document, region, count);
    let cycles = number("TotalCycles")?;
    let (chain_code, chain) = chain(region, text);
    // Latencies count from all operands, of which some are needed late, such as the sum in an addition of what is loaded: but
    // what leads from iteration to iteration takes no longer than they do.
    let chain = chain.map(|sum| sum.min(cycles / iterations));
    let (waiting, stalled) = waits(region, cycles);
    Ok(Schedule {
        processor: document["TargetInfo"]["CPUName"].as_str().unwrap_or_default().to_owned(),
        cycles: cycles / iterations,
        units,
        unit,
        front_end: number("TotaluOps")? / iterations / number("DispatchWidth")?.max(1.0),
        chain,
        chain_code,
        waiting,
        stalled,
    })
}

/// The resource with the highest pressure: cycles of an iteration, and its name. Sums over all instructions stand behind the last.
fn most_wanted(document: &Value, region: &Value, instructions: usize) -> (f64, String) {
    let usages = region["ResourcePressureView"]["ResourcePressureInfo"].as_array();
    let sums = usages.into_iter().flatten().filter(|usage| usage["InstructionIndex"] == instructions);
    let of = |usage: &Value| Some((usage["ResourceUsage"].as_f64()?, usage["ResourceIndex"].as_u64()? as usize));
    let most = sums.filter_map(of).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let name = |index: usize| {
        // Parts of a unit have a zero byte in their names.
        let name = document["TargetInfo"]["Resources"][index].as_str().unwrap_or_default();
        name.trim_end_matches('\0').trim_end_matches('.').to_owned()
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
/// instructions, and their latencies added up.
fn chain(region: &Value, text: &str) -> (Vec<String>, Option<f64>) {
    let none = (Vec::new(), None);
    let Some(start) = text.find("Critical sequence") else { return none };
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
    // The first is drawn in part, and so is a third one; the second is whole.
    let Some(whole) = iterations.get(1) else { return none };
    if whole.is_empty() || whole.values().any(|&is_resource| is_resource) {
        return none;
    }
    let latency = |index: usize| region["InstructionInfoView"]["InstructionList"][index]["Latency"].as_f64();
    let code = |index: usize| region["Instructions"][index].as_str().unwrap_or_default().replace('\t', " ");
    let sum = whole.keys().filter_map(|&index| latency(index)).sum();
    (whole.keys().map(|&index| code(index)).collect(), Some(sum))
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
        "TargetInfo": {"CPUName": "znver4", "Resources": ["Zn4ALU0", "Zn4FP0"]}}"#;
    const TEXT: &str = "Critical sequence based on the simulation:\n\n              Instruction      Dependency Information\n \
        +----< 0.    vfmadd213sd\t%xmm2\n |\n |    < loop carried > \n |\n \
        +----> 0.    vfmadd213sd\t%xmm2  ## REGISTER dependency:  %xmm0\n |      1.    addq\n |\n |    < loop carried > \n |\n \
        +----> 0.    vfmadd213sd\t%xmm2  ## REGISTER dependency:  %xmm0\n\nInstruction Info:\n";

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
}
