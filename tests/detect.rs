//! `poise detect`: programs of which it is known by construction what binds their loops, what they fetch from memory and which of their
//! branches can be predicted. Nothing here depends on how fast or busy the machine is.

mod common;

use std::collections::BTreeSet;

use common::{World, outcome};
use serde_json::Value;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/detect");

/// Builds `examples/detect/NAME.c` as `target`.
fn build(world: &World, compiler: &[&str], name: &str, target: &str) {
    let source = format!("{SOURCES}/{name}.c");
    let arguments = [&compiler[1..], &["-O2", "-g", &source, "-o", target, "-lm"]].concat();
    outcome(world.command(compiler[0], arguments).output().unwrap()).status(0);
}

/// `poise detect` as JSON.
fn detect(world: &World, arguments: &[&str]) -> Value {
    let done = world.poise([&["detect", "--format", "json"], arguments].concat()).status(0);
    serde_json::from_str(&done.stdout).unwrap()
}

/// The first of these in a list of `variants[0]` whose function is `name`.
fn of<'a>(found: &'a Value, list: &str, name: &str) -> &'a Value {
    let is_it = |item: &&Value| item["place"]["function"] == name || item["function"] == name;
    found["variants"][0][list]
        .as_array()
        .unwrap()
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("{list} {name}: {found:#}"))
}

/// What the findings of a detector say.
fn said(found: &Value, detector: &str) -> Vec<String> {
    let findings = found["findings"].as_array().unwrap().iter().filter(|f| f["detector"] == detector);
    findings.map(|f| f["what"].as_str().unwrap().to_owned()).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_chain_is_told_from_independent_operations() {
    let world = World::new();
    build(&world, &["gcc", "-march=x86-64-v3"], "chains", "chains");
    let found = detect(&world, &["--processor", "znver4", "--", "./chains", "100000"]);
    let (chain, independent) = (of(&found, "loops", "chain"), of(&found, "loops", "independent"));
    assert_eq!((&chain["bound"], &independent["bound"]), (&"dependency".into(), &"unit".into()), "{found:#}");
    assert_eq!((&chain["iterations"], &independent["iterations"]), (&100_000.into(), &100_000.into()));
    // A fused multiply-add takes four cycles on this processor: so does an iteration that waits for the one before.
    assert_eq!(number(&chain["schedule"]["chain"]), 4.0);
    assert!((number(&chain["schedule"]["cycles"]) - 4.0).abs() < 0.2, "{chain:#}");
    // So does each of the ten that are independent, which keep their units busy for longer.
    assert_eq!(number(&independent["schedule"]["chain"]), 4.0);
    assert!(number(&independent["schedule"]["units"]) >= 5.0, "{independent:#}");
    assert!(!found["findings"][0]["doubt"].to_string().contains("another may be longer"), "{found:#}");
    // Instructions wait for operands in the chain, and only among the independent ones for a unit.
    let stalled = |found: &Value| number(&found["schedule"]["stalled"]);
    assert!(stalled(chain) < 0.5 && stalled(independent) > 1.0, "{found:#}");
    let said = said(&found, "dependencies");
    assert!(
        said.iter().any(|s| s.starts_with("The loop in chain (chains.c:") && s.contains("its own results")),
        "{said:?}"
    );
}

/// The sum of a fused multiply-add and another takes four cycles on a Neoverse V2, the loop's counter one.
#[test]
fn the_chain_of_another_machine_is_that_of_the_sums() {
    let world = World::new();
    build(&world, &["aarch64-linux-gnu-gcc", "-static"], "chains", "chains");
    let found = detect(&world, &["--", "./chains", "10000"]);
    let chain = of(&found, "loops", "chain");
    assert_eq!((&chain["bound"], number(&chain["schedule"]["chain"])), (&"dependency".into(), 4.0), "{chain:#}");
    let evidence = found["findings"][0]["evidence"].to_string();
    assert!(evidence.contains("takes 4 cycles: fmadd") && !evidence.contains("b.ne"), "{evidence}");
}

/// Chains whose instructions and cycles are known by hand: the instructions from the source, the cycles of each from LLVM's models
/// of the processors (`X86ScheduleZnver4.td`: an addition or product of doubles 3, a quotient 13, 10 with a load, of which 7 pass before the register is read;
/// shifts and `xor` 1; moves between registers none. `AArch64SchedNeoverseV2.td`: `fadd` 2, `fmul` 3, `fdiv` 15, `fmadd` 4 from a factor on, `eor` with a shift 1).
#[test]
fn chains_of_compiled_loops_are_those_known_by_hand() {
    let world = World::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/recurrences.c");
    let x86 = [
        ("reduce", 3.0, &["addsd"][..]),
        ("xorshift", 6.0, &["shlq $13", "xorq", "shrq $7", "xorq", "shlq $17", "xorq"]),
        // llvm-mca begins the addition, load and all, with the product that it waits for: 10 cycles, where 3 and 3 would do.
        ("horner", 10.0, &["mulsd", "addsd"]),
        // The move between two quotients takes no time, and llvm-mca loses what it hands on.
        ("quotients", 13.0, &["divsd"]),
        // A sum and a product, of the last number; that of the older one, which a move hands on, is no longer waited for.
        ("lasttwo", 6.0, &["addsd", "mulsd"]),
        // Through memory: a load (8, of integers 5), what is computed, and a store (1).
        ("kept", 12.0, &["movsd (%rdi)", "addsd", "movsd %xmm0"]),
        ("prefix", 7.0, &["movq (%rdi)", "xorq", "movq %rax"]),
    ];
    let arm = [
        ("reduce", 2.0, &["fadd"][..]),
        ("xorshift", 3.0, &["eor x0, x0, x0, lsl #13", "eor x0, x0, x0, lsr #7", "eor x0, x0, x0, lsl #17"]),
        ("horner", 4.0, &["fmadd"]),
        ("quotients", 15.0, &["fdiv"]),
        ("lasttwo", 5.0, &["fadd", "fmul"]),
        // A load takes 6 cycles, of integers 4, a store 2, of integers 1.
        ("kept", 10.0, &["ldr", "fadd", "str"]),
        ("prefix", 6.0, &["ldur", "eor", "str"]),
    ];
    for (compiler, processor, expected) in
        [(&["gcc"][..], "znver4", x86), (&["aarch64-linux-gnu-gcc", "-static"], "neoverse-v2", arm)]
    {
        let arguments = [&compiler[1..], &["-O2", "-g", source, "-o", "recurrences"]].concat();
        outcome(world.command(compiler[0], arguments).output().unwrap()).status(0);
        let found = detect(&world, &["--processor", processor, "--", "./recurrences", "20000"]);
        for (function, cycles, code) in expected {
            let chain = of(&found, "loops", function);
            let named = chain["schedule"]["chain_code"].as_array().unwrap();
            let is_expected = named.len() == code.len()
                && named.iter().zip(code).all(|(named, start)| named.as_str().unwrap().starts_with(start));
            assert!(is_expected, "{processor} {function}: {chain:#}");
            assert_eq!(
                (number(&chain["schedule"]["chain"]), &chain["bound"]),
                (cycles, &"dependency".into()),
                "{chain:#}"
            );
            let is_it = |f: &&Value| f["what"].as_str().unwrap().contains(&format!("loop in {function} ("));
            let finding = found["findings"].as_array().unwrap().iter().find(is_it).unwrap();
            let is_held_back = processor == "znver4" && function == "horner";
            assert_eq!(
                finding["evidence"].to_string().contains("takes at most 10 cycles: mulsd"),
                is_held_back,
                "{finding:#}"
            );
            let doubts = |what: &str| finding["doubt"].to_string().contains(what);
            assert_eq!(doubts("loads and computes"), is_held_back, "{finding:#}");
            assert_eq!(doubts("loses"), processor == "znver4" && function == "quotients", "{finding:#}");
            assert_eq!(doubts("goes through memory"), ["kept", "prefix"].contains(&function), "{finding:#}");
        }
        // Where the histogram counts is not known: if always at the same place, an iteration takes a load from there, an addition and a store, behind
        // the load and the mask that say where.
        let histogram = of(&found, "loops", "histogram");
        let aliased = number(&histogram["schedule"]["aliased"]);
        let expected = if processor == "znver4" { 5.0 + 1.0 + 6.0 } else { 4.0 + 1.0 + 4.0 + 1.0 + 1.0 };
        assert!((aliased - expected).abs() < 0.1, "{histogram:#}");
        let is_it = |f: &&Value| f["what"].as_str().unwrap().contains("loop in histogram (");
        let finding = found["findings"].as_array().unwrap().iter().find(is_it).unwrap();
        assert!(finding["doubt"].to_string().contains("addresses do not show"), "{finding:#}");
        // A number that three of four iterations load and store is no chain of every iteration.
        let sometimes = of(&found, "loops", "sometimes");
        let of_schedule = |key: &str| &sometimes["schedule"][key];
        assert_eq!(
            (of_schedule("chain_by_memory"), &sometimes["left_out"]),
            (&false.into(), &0.into()),
            "{sometimes:#}"
        );
        assert!(number(of_schedule("aliased")) > 1.25 * number(of_schedule("cycles")), "{sometimes:#}");
        let is_it = |f: &&Value| f["what"].as_str().unwrap().contains("loop in sometimes (");
        let finding = found["findings"].as_array().unwrap().iter().find(is_it).unwrap();
        let doubts = finding["doubt"].to_string();
        assert!(
            doubts.contains("some iterations alone store") && doubts.contains("not all iterations execute"),
            "{doubts}"
        );
    }
}

#[test]
fn what_noise_injection_measured_stands_beside_it() {
    let world = World::new();
    build(&world, &["poise", "cc", "--noise", "-march=x86-64-v3"], "chains", "noisy");
    let options = ["--format", "json", "-o", "noise.json", "--mode", "fma64", "--samples", "4"];
    world.poise([&["absorb"][..], &options, &["--", "./noisy", "20000000"]].concat()).status(0);
    let mut classes: Value = world.json("noise.json");
    let class = |name: &str| {
        let is_it = |l: &&Value| l["callpath"].as_array().unwrap().last().unwrap() == name;
        let entries = classes["loops"].as_array().unwrap().iter().filter(is_it);
        // Executions of several kinds have an entry each, and need not agree.
        let all: BTreeSet<String> = entries.map(|l| l["class"].as_str().unwrap().to_owned()).collect();
        assert!(!all.is_empty(), "{name}: {classes:#}");
        let decided: Vec<String> = all.into_iter().filter(|class| class != "undecided").collect();
        if let [one] = &decided[..] { one.clone() } else { "undecided".to_owned() }
    };
    build(&world, &["gcc", "-march=x86-64-v3"], "chains", "chains");
    let found = detect(&world, &["--absorption", "noise.json", "--", "./chains", "100000"]);
    for name in ["chain", "independent"] {
        let is_it = |f: &&Value| f["what"].as_str().unwrap().contains(&format!("loop in {name} ("));
        let finding = found["findings"].as_array().unwrap().iter().find(is_it).unwrap();
        let expected = format!("Noise injection: class {}", class(name));
        assert!(finding["evidence"].to_string().contains(&expected), "{expected}: {finding:#}");
        assert!(!finding["doubt"].to_string().contains("Nothing was measured"), "{finding:#}");
        assert_eq!(of(&found, "loops", name)["measured"], class(name).as_str());
    }
    // What is measured is what is said, whatever llvm-mca makes of the loop.
    for entry in classes["loops"].as_array_mut().unwrap() {
        entry["class"] = "latency".into();
    }
    world.write("other.json", &classes.to_string());
    let found = detect(&world, &["--absorption", "other.json", "--", "./chains", "100000"]);
    let chain = of(&found, "loops", "chain");
    assert_eq!((&chain["bound"], &chain["simulated"]), (&"latency".into(), &"dependency".into()), "{chain:#}");
    assert!(said(&found, "dependencies").iter().all(|said| said.ends_with(" waits for memory.")), "{found:#}");
}

/// Misses of data in the last level of the caches, reads and writes, as cachegrind simulates them, of a function.
fn by_cachegrind(world: &World, program: &str, function: &str) -> f64 {
    let caches = ["--D1=32768,8,64", "--LL=1048576,16,64", "--cache-sim=yes"];
    let options = [&["--tool=cachegrind", "--cachegrind-out-file=cache.out"][..], &caches, &[program]].concat();
    outcome(world.command("valgrind", options).output().unwrap()).status(0);
    let listed =
        outcome(world.command("cg_annotate", ["--show=DLmr,DLmw", "--threshold=0.01", "cache.out"]).output().unwrap());
    let line = listed
        .stdout
        .lines()
        .find(|l| l.ends_with(&format!(":{function}")))
        .unwrap_or_else(|| panic!("{}", listed.stdout));
    let words = line.split_whitespace().filter(|w| !w.starts_with('('));
    words.take(2).map(|word| word.replace(',', "").parse::<f64>().unwrap_or(0.0)).sum()
}

#[test]
fn the_variant_that_walks_along_columns_moves_eight_times_the_memory() {
    let world = World::new();
    for (flag, name) in [("-DROWS", "rows"), ("-DCOLUMNS", "columns")] {
        build(&world, &["gcc", flag], "matrix", name);
        let (keep, program) = (format!("runs/{name}"), format!("./{name}"));
        let found = detect(&world, &["--keep", &keep, "--", &program]);
        let fills = number(&of(&found, "traffic", "sum")["fills"][1]);
        // A line holds eight numbers; along columns each is gone when its neighbour is wanted.
        let expected = f64::from(1 << 20) / if name == "rows" { 8.0 } else { 1.0 };
        let simulated = by_cachegrind(&world, &program, "sum");
        assert!(
            (fills / expected - 1.0).abs() < 0.01 && (fills / simulated - 1.0).abs() < 0.01,
            "{fills} {simulated} {expected}"
        );
    }
    let done = world.poise(["detect", "runs", "--format", "json", "--page", "page.html"]).status(0);
    let found: Value = serde_json::from_str(&done.stdout).unwrap();
    let said = said(&found, "traffic");
    let expected = ["(whole program)", "sum"].map(|function| {
        said.iter()
            .any(|s| s.starts_with("runs/columns fetches ") && s.ends_with(&format!("other variants in {function}.")))
    });
    assert_eq!(expected, [true, true], "{said:?}");
    let of_sum = said.iter().find(|s| s.ends_with(" in sum.")).unwrap();
    let times: f64 = of_sum.split(' ').nth(2).unwrap().parse().unwrap();
    assert!((times - 8.0).abs() < 0.1, "{of_sum}");
    assert!(world.read("page.html").contains("runs/columns fetches"));
    // Both loops make as many accesses, one of each number.
    for variant in found["variants"].as_array().unwrap() {
        let sum = variant["traffic"].as_array().unwrap().iter().find(|t| t["function"] == "sum").unwrap();
        assert!((number(&sum["accesses"]) / f64::from(1 << 20) - 1.0).abs() < 0.01, "{sum:#}");
        // Along columns each of a bin's loads touches another line until a column is over, 1024 lines of its own.
        assert!(number(&sum["lines_in_a_bin"]) > 1000.0, "{sum:#}");
    }
}

/// Whether each entry of `guarded.c` passes the test, in the order in which it has them.
fn passes() -> Vec<bool> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 31 == 1
    };
    (0..1 << 16).map(|_| next()).collect()
}

#[test]
fn a_load_behind_a_branch_that_is_chance_is_found_and_one_that_is_sorted_is_not() {
    let world = World::new();
    let passing = passes();
    let count = passing.iter().filter(|&&p| p).count() as f64;
    let changes = passing.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
    for (compiler, program) in [
        (&["gcc"][..], "./x86"),
        (&["aarch64-linux-gnu-gcc", "-static"], "./arm"),
        (&["riscv64-linux-gnu-gcc", "-static"], "./riscv"),
    ] {
        build(&world, compiler, "guarded", program);
        let found = detect(&world, &["--", program, "0"]);
        let load = of(&found, "loads", "look");
        assert_eq!(number(&load["executions"]), count, "{program}: {load:#}");
        let branch = &load["branch"];
        assert_eq!(number(&branch["executions"]), 65536.0);
        let jumps = number(&branch["jumps"]);
        assert!(jumps == count || jumps == 65536.0 - count, "{jumps} of {count}");
        // The first outcome may be a change, too.
        let turns = number(&branch["turns"]);
        assert!(turns == changes || turns == changes + 1.0, "{turns} {changes}");
        let p: f64 = count / 65536.0;
        let entropy = -(p * p.log2() + (1.0 - p) * (1.0 - p).log2());
        assert!((number(&branch["entropy"]) - entropy).abs() < 1e-12);
        assert!(number(&branch["mispredicted"]) > 0.4 * 65536.0, "a coin cannot be predicted");
        // The table has sixteen times as many bytes as the caches, and is looked up anywhere.
        assert!(number(&load["fills"][1]) > 0.8 * number(&load["executions"]), "{load:#}");
        assert_eq!(said(&found, "conditioned-loads").len(), 1, "{found:#}");
        let sorted = detect(&world, &["--", program, "1"]);
        assert!(sorted["variants"][0]["loads"].as_array().unwrap().iter().all(|l| l["place"]["function"] != "look"));
    }
}

#[test]
fn what_cannot_be_looked_at_is_told() {
    let world = World::new();
    build(&world, &["gcc", "-march=x86-64-v3"], "chains", "chains");
    let refused = |arguments: &[&str], status: i32, expected: &str| {
        let done = world.poise([&["detect"], arguments].concat()).status(status);
        assert!(done.stderr.contains(expected), "{}", done.stderr);
    };
    // The second size is 1 KiB modulo 2^64.
    for cache in ["32K:7,1M:16", "18014398509481985K:8,1M:16"] {
        refused(&["--cache", cache, "--", "./chains", "1"], 2, "two levels are wanted");
    }
    for share in ["nan", "7", "-0.1"] {
        refused(&[&format!("--share={share}"), "--", "./chains", "1"], 2, "a share is from 0 to 1");
    }
    world.write("noise.json", "{}");
    refused(&["--absorption", "noise.json", "--", "./chains", "1"], 3, "noise.json: its schema is not");
    world.poise(["run", "--engine", "qemu", "-o", "plain", "--", "./chains", "1"]).status(0);
    refused(&["plain"], 3, "has no models of caches and branches");
    // A run that was made has its caches and bins.
    for option in [["--cache", "32K:8,1M:16"], ["--width", "1000"]] {
        refused(&["plain", option[0], option[1]], 2, "cannot be used with");
    }
    // A processor that llvm-mca does not know, or not for this instruction set, before anything runs.
    for processor in ["none-such", "neoverse-v2"] {
        let options = ["--processor", processor, "--keep", "kept", "--", "./chains", "1000"];
        refused(&options, 2, &format!("--processor {processor} cannot be simulated: "));
        assert!(!world.path("kept").exists());
    }
    world.poise(["detect", "--keep", "kept", "--", "./chains", "1000"]).status(0);
    refused(&["kept", "--processor", "none-such"], 2, "--processor none-such cannot be simulated: ");
}
