//! What specifications are refused, with the place; what drawn ones are; and that all of it is deterministic.

mod common;

use benchgen::spec::Arrangement;
use benchgen::{Spec, generate, memory_at};
use common::generated;
use proptest::prelude::*;

/// A specification with one function made of these lines, which begin at line 6.
fn with(function: &str) -> String {
    format!("name = \"t\"\n[parameters]\np = [2, 4]\nn = [1000, 2000]\n[[function]]\n{function}\n")
}

fn refused(text: &str, place: &str, message: &str) {
    let error = Spec::parse(text, "t.toml").expect_err(text).to_string();
    assert!(error.starts_with(&format!("t.toml:{place}: ")), "{place}: {error}");
    assert!(error.contains(message), "{message}: {error}");
}

#[test]
fn errors_have_their_place_and_say_what_to_do() {
    let function = |rest: &str| with(&format!("name = \"f\"\n{rest}"));
    refused(
        &function("kernels = [{ complexty = \"n\" }]"),
        "7:14",
        "unknown key `complexty`; expected one of `complexity`",
    );
    refused(&function("kernels = [{ complexty = \"n\" }]"), "7:14", "did you mean `complexity`?");
    refused(
        &function("kernels = [{ complexity = \"n * q\" }]"),
        "7:32",
        "`q` is no parameter; expected one of `p`, `n`",
    );
    refused(
        &function("kernels = [{ complexity = \"n\", operation = \"vector_reducton\" }]"),
        "7:44",
        "unknown operation `vector_reducton`; expected one of `vector_reduction`, `multiply`, `add`, `stencil`, `sparse_access`; \
         did you mean `vector_reduction`?",
    );
    refused(&function("kernels = [{ complexity = \"n\", element = \"long\" }]"), "7:42", "unknown element type `long`");
    refused(&function("kernels = [{ complexity = \"n\", factor = -1 }]"), "7:41", "expected a positive number");
    refused(&function("arrangement = \"nestd\""), "7:15", "did you mean `nested`?");
    refused(&function("mpi = [{ operation = \"bcast\", elements = \"n\" }]"), "7:22", "unknown MPI operation `bcast`");
    refused(&function("mpi = [{ operation = \"broadcast\" }]"), "7:22", "no `elements`");
    refused(&function("mpi = [{ operation = \"barrier\", elements = \"n\" }]"), "7:44", "a barrier has no elements");
    refused(&function("kernels = 3"), "7:11", "invalid type: integer `3`, expected a sequence");
    refused(&function("kernels = ["), "7:12", "unclosed array");
    refused(&with("name = \"while\""), "6:8", "function name `while` is a keyword of C or C++");
    refused(&with("name = \"2f\""), "6:8", "no C identifier");
    refused(&with("name = \"n\""), "6:8", "used twice");
    refused(&with("name = \"f\"\n[[function]]\nname = \"f\""), "8:8", "used twice");
    refused(&with("name = \"f\"\n[test]\np = 8"), "7:1", "the test point has no value for `n`");
    refused(&with("name = \"f\"\n[test]\nm = 8"), "8:1", "unknown parameter `m`");
    refused(&with("name = \"f\"\n[sets]\nexponents = [\"1/x\"]"), "8:14", "expected a fraction");
    refused("name = \"t\"\n[parameters]\nn = [1]\n", "2:1", "no parameter `p`");
    refused("name = \"t\"\n[parameters]\np = [0]\n", "3:6", "0 is no coordinate; expected an integer from 1 to 2^53");
    refused("name = \"t\"\n[parameters]\np = [2, 2]\n", "3:5", "different values");
    refused("name = \"t\"\n[parameters]\np = [2]\nverify = [1]\n", "4:1", "generated programs use");
    refused("name = \"t\"\n[parameters]\np = [2]\n", "1:1", "no functions");
    refused("", "1:1", "missing field `name`");
}

#[test]
fn names_that_a_language_could_not_take_are_refused() {
    refused(&with("name = \"restrict\""), "6:8", "a keyword of C or C++");
    refused(&with("name = \"f\"\n[[function]]\nname = \"F\""), "8:8", "used twice");
    refused(&with("name = \"N\""), "6:8", "used twice");
    refused("name = \"t\"\n[parameters]\np = [2]\nn = [1]\nN = [1]\n", "4:1", "used twice, case apart");
    refused("name = \"t\"\n[parameters]\np = [2]\nRANKS = [1]\n", "4:1", "generated programs use");
    refused(&with(&format!("name = \"{}\"", "f".repeat(51))), "6:8", "longer than 50 characters");
}

/// A function called as something that `main` has would be hidden by it where it is called.
#[test]
fn names_that_the_generated_main_has_are_refused() {
    let spec = Spec::parse(
        &with("name = \"work\"\nkernels = [{ complexity = \"n\" }]\nmpi = [{ operation = \"broadcast\", elements = \"1000\" }, { operation = \"wavefront_2d\", elements = \"1000\", work = \"n\" }]"),
        "t.toml",
    )
    .expect("a valid specification");
    for language in [benchgen::Language::Cpp, benchgen::Language::C] {
        let source = benchgen::generate_in(&spec, language).source;
        let main = &source[source.find("\nint main(").expect("a main function")..];
        // Texts, members and the library's qualified names hide nothing.
        let code: String = main.split('"').step_by(2).collect::<Vec<_>>().join(" ").replace("->", ".");
        let names: std::collections::BTreeSet<&str> = code
            .split(|c: char| !(c.is_alphanumeric() || "_.:".contains(c)))
            .map(|word| word.split(['.', ':']).next().unwrap_or_default())
            .filter(|word| {
                word.starts_with(|c: char| c.is_ascii_alphabetic()) && *word != "work" && *word != "n" && *word != "p"
            })
            .collect();
        assert!(
            names.contains("parameters") && names.contains("elements1") && names.contains("sizes_fit"),
            "{names:?}"
        );
        for name in names {
            let text = with(&format!("name = \"{name}\""));
            assert!(Spec::parse(&text, "t.toml").is_err(), "{name} is accepted");
        }
    }
}

#[test]
fn impossible_wavefronts_are_refused() {
    let message = |text: &str| with(&format!("name = \"f\"\nmpi = [{text}]"));
    let wave = "{ operation = \"wavefront_2d\", elements = \"n\" }";
    assert!(Spec::parse(&message(wave), "t.toml").is_ok());
    refused(
        &message(wave).replace("p = [2, 4]", "p = [2, 4, 10]"),
        "7:22",
        "p = 10 ranks make 5 x 2, too long for waiting to grow as p^(1/2); choose powers of two or numbers near a square",
    );
    refused(&message(&format!("{wave}, {wave}")), "7:22", "shares its MPI_Send and MPI_Recv with another operation");
    refused(
        &message(&format!("{{ operation = \"send_receive\", elements = \"n\" }}, {wave}")),
        "7:70",
        "give each a function of its own",
    );
    refused(
        &message("{ operation = \"halo\", elements = \"n\", work = \"n\" }"),
        "7:53",
        "only wavefronts work between their messages",
    );
    refused(
        &message(&wave.replace("\"n\"", "\"n\", work = \"0.01 * n^(1/2)\"")),
        "7:61",
        "which rounding changes by 100.0 %",
    );
    refused(
        &message(&wave.replace("\"n\"", "\"n\", calls = \"n^2\", work = \"n^3\"")),
        "6:8",
        "the loops run 3.2000e16 iterations at n=2000",
    );
}

#[test]
fn the_memory_of_all_ranks_can_be_limited() {
    // Four ranks send 2000 doubles, and 2000 from each of four are received by all: 8 · 2000 · (1 + 4) · 4.
    let text = with("name = \"f\"\nmpi = [{ operation = \"allgather\", elements = \"n\" }]");
    assert!(Spec::parse(&format!("total_memory_limit = 320_000\n{text}"), "t.toml").is_ok());
    refused(
        &format!("total_memory_limit = 319_999\n{text}"),
        "7:8",
        "`f` needs 320000 bytes on all ranks at n=2000, p=4, more than total_memory_limit = 319999 bytes",
    );
    refused(&format!("total_memory_limit = 0\n{text}"), "1:22", "expected a positive number of bytes");
}

#[test]
fn what_is_drawn_comes_from_the_given_sets() {
    let text = |random: &str| {
        format!(
            "name = \"t\"\n[parameters]\np = [8, 16, 64]\nn = [1000, 2000]\n[sets]\nexponents = [\"5/6\"]\n\
             [random]\nfunctions = 60\nseed = 5\n{random}"
        )
    };
    let sets = "arrangements = [\"nested\"]\noperations = [\"stencil\", \"add\"]\nelements = [\"float\"]\n\
                arrays = [\"64\", \"n^(5/6)\"]\nmpi = [\"wavefront_3d\", \"alltoall\"]\ncalls = [2, 3]\n";
    let spec = Spec::parse(&text(sets), "t.toml").unwrap();
    let count = |is: &dyn Fn(&benchgen::spec::Function) -> bool| spec.functions.iter().filter(|f| is(f)).count();
    let is =
        |name: &'static str| move |f: &benchgen::spec::Function| f.messages.iter().any(|m| m.operation.name() == name);
    assert_eq!(count(&|f| f.kernels.len() > 1), count(&|f| f.arrangement == Arrangement::Nested));
    assert!(count(&is("wavefront_3d")) > 5 && count(&is("alltoall")) > 5);
    assert!(count(&|f| f.array.to_string() == "64") > 10 && count(&|f| f.array.to_string() == "n^(5/6)") > 10);
    for function in &spec.functions {
        assert!(function.kernels.iter().all(|k| k.element.name() == "float"));
        assert!(function.kernels.iter().all(|k| ["stencil", "add"].contains(&k.operation.name())));
        for message in &function.messages {
            let [least, most] = [8.0, 64.0].map(|p| message.calls.at(&common::point(p as u32, 1000)).unwrap());
            assert!(least == most && [2.0, 3.0].contains(&least), "{}", message.calls);
            assert_eq!(message.work.is_some(), message.operation.name() == "wavefront_3d");
        }
    }
    refused(&text("operations = [\"fft\"]"), "10:15", "unknown operation `fft`");
    refused(&text("mpi = [\"alltoal\"]"), "10:8", "did you mean `alltoall`?");
    refused(&text("elements = []"), "10:12", "expected one or more to draw from");
    refused(&text("arrays = [\"n^(1/7)\"]"), "10:12", "exponent 1/7 is not in the set I");
    refused(&text("calls = [3, 2]"), "10:9", "expected [smallest, largest] between 1 and 1000000");
}

#[test]
fn impossible_costs_are_refused_with_the_point() {
    let kernel = |text: &str| with(&format!("name = \"f\"\nkernels = [{{ {text} }}]"));
    refused(
        &kernel("complexity = \"1e9 * n^3\""),
        "7:27",
        "1000000000 * n^3 overflows: 1.0000e18 iterations at n=1000, p=2, at most 9.0072e15",
    );
    refused(
        &with("name = \"f\"\narrangement = \"nested\"\nkernels = [{ complexity = \"n^3\" }, { complexity = \"n^3\" }]"),
        "6:8",
        "the loops run 1.0000e18 iterations at n=1000",
    );
    refused(
        &kernel("complexity = \"n^(1/4)\", factor = 1"),
        "7:27",
        "n^(1/4) is 5.6234 iterations at n=1000, p=2, which rounding changes by 6.7 % (at most 1.0 %); multiply it by 9 or more",
    );
    let message = |text: &str| with(&format!("name = \"f\"\nmpi = [{{ operation = \"gather\", {text} }}]"));
    refused(
        &message("elements = \"n^3\""),
        "7:43",
        "n^3 overflows: 8.0000e9 elements at n=2000, p=2, at most 2.1475e9",
    );
    refused(&message("elements = \"n\", calls = \"0.001 * n^(1/2)\""), "7:56", "which rounding changes by 100.0 %");
    // 2000² doubles sent and received by each of four: 8 · 4e6 · (1 + 4) = 160 MB at the root.
    let text = format!("memory_limit = 150_000_000\n{}", message("elements = \"n^2\", element = \"double\""));
    refused(
        &text,
        "7:8",
        "`f` needs 160000000 bytes on one rank at n=2000, p=4, more than memory_limit = 150000000 bytes",
    );
    assert!(Spec::parse(&text.replace("150_000_000", "160_000_000"), "t.toml").is_ok());
}

#[test]
fn small_trip_counts_are_scaled_until_rounding_does_not_matter() {
    let scaled = |complexity: &str, more: &str| {
        let text = format!(
            "name = \"t\"\n[parameters]\np = [2, 3]\nn = [1000]\n[[function]]\nname = \"f\"\n{more}\nkernels = [{{ complexity = \"{complexity}\" }}]"
        );
        Spec::parse(&text, "t.toml").unwrap().functions[0].kernels[0].trips.coefficient
    };
    assert_eq!(scaled("n", ""), 1.0);
    assert_eq!(scaled("p^3", ""), 1.0);
    // log2(3) = 1.58 becomes 15.8, which 16 is 0.9 % from... 16 / 15.85 - 1 = 0.95 %.
    assert_eq!(scaled("log2(p)", ""), 10.0);
    // 3^(1/2) = 1.732, 17.32 is off by 1.9 %, 173.2 by 0.12 %; 2^(1/2) = 141.4 by 0.3 %.
    assert_eq!(scaled("p^(1/2)", ""), 100.0);
}

#[test]
fn the_demo_is_what_it_promises() {
    let (spec, generated) = generated(benchgen::DEMO_SPEC);
    assert_eq!(spec.points().len(), 25);
    assert_eq!(spec.test.as_ref().unwrap()["p"], 64.0);
    assert!(spec.functions.iter().any(|f| f.arrangement == Arrangement::Nested));
    let growth = |path: &[&str], parameter: &str| {
        let growth = &generated.truth.find(path).unwrap().growth.effort[parameter];
        (growth.exponent.to_string(), growth.log_exponent)
    };
    assert_eq!(growth(&["main", "nested"], "p"), ("1".to_owned(), 0));
    assert_eq!(growth(&["main", "sequential"], "n"), ("1".to_owned(), 1));
    assert_eq!(growth(&["main", "combine", "MPI_Allreduce"], "n"), ("1/2".to_owned(), 0));
    assert_eq!(growth(&["main", "distribute", "MPI_Bcast"], "p"), ("0".to_owned(), 0));
    // All ranks of the test point fit a small machine.
    assert!(memory_at(&spec, &spec.largest_point()).unwrap().all_ranks < 500_000_000);
}

#[test]
fn the_same_seed_draws_the_same_and_another_does_not() {
    let text = |seed: u32| {
        format!(
            "name = \"drawn\"\n[parameters]\np = [128, 256, 512, 1024, 2048]\nn = [8000, 16000, 24000, 32000, 40000]\n\
             [test]\np = 4096\nn = 48000\n[random]\nfunctions = 200\nseed = {seed}\n"
        )
    };
    let (spec, first) = generated(&text(1));
    let (again, second) = generated(&text(1));
    assert_eq!(first, second);
    assert_ne!(first, generated(&text(2)).1);
    for language in benchgen::Language::ALL {
        assert_eq!(benchgen::generate_in(&spec, language), benchgen::generate_in(&again, language));
    }
    assert_eq!(spec.functions.len(), 200);
    let nested = spec.functions.iter().filter(|f| f.arrangement == Arrangement::Nested).count();
    let communicating = spec.functions.iter().filter(|f| !f.messages.is_empty()).count();
    assert!((20..120).contains(&nested) && (80..180).contains(&communicating), "{nested} {communicating}");
}

#[test]
fn the_documented_example_is_a_specification() {
    let text = include_str!("../../docs/benchgen.md");
    let example =
        text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("docs hold an example");
    let (spec, _) = generated(example);
    assert_eq!(spec.functions.len(), 202);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is drawn, the truth's exact counts stay within rounding of its complexities at every point, and the
    /// iterations in the range that was asked for.
    #[test]
    fn drawn_functions_keep_their_promises(seed in 0_u32..u32::MAX, ranks in 1_u32..6, n in 1000_u32..100_000) {
        let text = format!(
            "name = \"drawn\"\n[parameters]\np = [{}, {}, {}]\nn = [{n}, {}]\n[random]\nfunctions = 8\nseed = {seed}\n",
            ranks, ranks * 2, ranks * 3, 3 * n
        );
        let spec = Spec::parse(&text, "drawn.toml").unwrap();
        let truth = generate(&spec).truth;
        for path in &truth.callpaths {
            for point in spec.points() {
                let count = path.iterations.as_ref().unwrap_or(&path.visits);
                let (exact, smooth) = (count.exact_at(&point).unwrap() as f64, count.complexity.at(&point).unwrap());
                prop_assert!((exact - smooth).abs() <= 0.011 * smooth, "{:?}: {exact} {smooth}", path.callpath);
            }
            if let Some(iterations) = &path.iterations {
                prop_assert!(iterations.complexity.terms.iter().all(|term| spec.sets.hold(term)), "{:?}", path.callpath);
                let top = iterations.complexity.at(&spec.largest_point()).unwrap();
                prop_assert!((1e4..4e7).contains(&top), "{:?}: {top}", path.callpath);
            }
        }
    }

    /// No text makes the reader panic.
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}", law in "[np0-9^()/*. log2-]{0,24}") {
        let _ = Spec::parse(&text, "any.toml");
        let _ = Spec::parse(&with(&format!("name = \"f\"\nkernels = [{{ complexity = '{law}' }}]")), "any.toml");
    }
}
