//! The analysis against published implementations and on rows whose explanation is known.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::Value;

use super::*;

/// What scikit-learn, KDEpy and kde-diffusion gave; the file names their versions.
fn reference() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../datasets/tools/analysis_reference.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn counts(value: &Value) -> Vec<usize> {
    numbers(value).into_iter().map(|v| v as usize).collect()
}

#[test]
fn bandwidths_densities_and_valleys_are_those_of_published_implementations() {
    for sample in reference()["densities"].as_array().unwrap() {
        let values = numbers(&sample["values"]);
        for (name, rule) in [("silverman", Bandwidth::Silverman), ("isj", Bandwidth::ImprovedSheatherJones)] {
            let expected = &sample["rules"][name];
            let mut density = Density::of(&values, rule).unwrap();
            let bandwidth = expected["bandwidth"].as_f64().unwrap();
            let what = format!("{} {name}: {} instead of {bandwidth}", sample["name"], density.bandwidth);
            assert!((density.bandwidth / bandwidth - 1.0).abs() < 1e-6, "{what}");
            density.bandwidth = bandwidth;
            for (x, y) in numbers(&expected["places"]).into_iter().zip(numbers(&expected["density"])) {
                assert!((density.at(x) - y).abs() < 1e-9, "{what}");
            }
            let (valleys, places) = (density.peaks_and_valleys().1, numbers(&expected["valleys"]));
            assert_eq!(valleys.len(), places.len(), "{what}: {valleys:?} instead of {places:?}");
            // The reference looked at 20,001 places.
            let range = values.iter().copied().fold(0.0, f64::max) - values.iter().copied().fold(0.0, f64::min);
            assert!(valleys.iter().zip(&places).all(|(a, b)| (a - b).abs() < range / 10_000.0), "{what}: {valleys:?}");
        }
    }
}

/// The reference's rows as factors, with their categories.
fn classification() -> (Value, Vec<Column>, Vec<usize>) {
    let reference = reference()["classification"].clone();
    let rows: Vec<Vec<f64>> = reference["numbers"].as_array().unwrap().iter().map(numbers).collect();
    let column = |name: &str, values| Column { name: name.into(), unit: String::new(), chosen: true, values };
    let mut factors: Vec<Column> =
        (0..3).map(|c| column("x", Values::Numbers(rows.iter().map(|r| r[c]).collect()))).collect();
    for name in ["node", "flag"] {
        let texts = counts(&reference[name]).iter().map(|v| format!("{name}{v}")).collect();
        factors.push(column(name, Values::Texts(texts)));
    }
    let category = counts(&reference["label"]);
    (reference, factors, category)
}

#[test]
fn the_tree_is_scikit_learns() {
    let (reference, factors, category) = classification();
    let features = features(&factors);
    let expected = &reference["tree"];
    let is_test: Vec<bool> = (0..400).map(|row| row >= 320).collect();
    let found = Categories {
        labels: ["a", "b", "c"].map(str::to_owned).to_vec(),
        borders: Vec::new(),
        peaks: Vec::new(),
        of: category,
        rule: String::new(),
        is_logarithmic: false,
        density: None,
        notes: Vec::new(),
    };
    let result = learn(&features, 5, &found, TreeLimits { depth: 4, leaf: 12 }, is_test);
    // Ours asks texts the other way round, so the nodes come in another order.
    let mut ours: Vec<(usize, i64, i64)> = Vec::new();
    for node in &result.tree.nodes {
        let threshold = match node.split.as_ref().map(|s| &s.question) {
            Some(Question::AtMost(x)) => (x * 1e4).round() as i64,
            Some(Question::Is(_)) => 5000,
            None => -20_000,
        };
        ours.push((node.rows(), (node.impurity * 1e6).round() as i64, threshold));
    }
    let mut theirs: Vec<(usize, i64, i64)> = Vec::new();
    for node in expected["nodes"].as_array().unwrap() {
        let scaled = |key: &str, by: f64| (node[key].as_f64().unwrap() * by).round() as i64;
        theirs.push((node["rows"].as_u64().unwrap() as usize, scaled("impurity", 1e6), scaled("threshold", 1e4)));
    }
    ours.sort_unstable();
    theirs.sort_unstable();
    assert_eq!(ours, theirs);
    for (ours, theirs) in result.importance.iter().zip(numbers(&expected["importance"])) {
        assert!((ours - theirs).abs() < 1e-9, "{ours} {theirs}");
    }
    assert!((result.accuracy - expected["accuracy"].as_f64().unwrap()).abs() < 1e-12);
    let confusion: Vec<Vec<usize>> = expected["confusion"].as_array().unwrap().iter().map(counts).collect();
    assert_eq!(result.confusion, confusion);
    // By hand: the most frequent category of the 320, named for all 80.
    let usual = result.tree.nodes[0].category();
    assert_eq!(result.baseline, confusion[usual].iter().sum::<usize>() as f64 / 80.0);
}

#[test]
fn the_forest_is_scikit_learns_up_to_its_random_numbers() {
    let (reference, factors, category) = classification();
    let expected = &reference["forest"];
    let result =
        Forest { features: &features(&factors), category: &category, categories: 3, trees: 500, seed: 7 }.result();
    assert!((result.accuracy - expected["out_of_bag_accuracy"].as_f64().unwrap()).abs() < 0.011, "{}", result.accuracy);
    let (impurity, permutation) = (numbers(&expected["importance"]), numbers(&expected["permutation"]));
    for (i, found) in result.importance.iter().enumerate() {
        assert!((found.impurity - impurity[i]).abs() < 0.02, "{i}: {} {}", found.impurity, impurity[i]);
        assert!((found.permutation - permutation[i]).abs() < 0.02, "{i}: {} {}", found.permutation, permutation[i]);
    }
}

fn plan() -> Plan {
    Plan {
        metric: "time".into(),
        factors: None,
        filter: None,
        normalization: None,
        rule: Rule::Peaks(Bandwidth::ImprovedSheatherJones),
        scale: Scale::Auto,
        limits: TreeLimits { depth: 4, leaf: 1 },
        trees: 100,
        test_share: 0.2,
        seed: 1,
    }
}

/// 160 rows whose time depends on p and on the node, with 3 % noise, and on nothing else.
fn table() -> Table {
    let mut random = StdRng::seed_from_u64(5);
    let mut cells: [Vec<String>; 5] = Default::default();
    for i in 0..160 {
        let (p, n) = (2u32 << (i % 4), 100 * (1 + i / 4 % 5));
        let node = if random.random::<f64>() < 0.3 { "slow" } else { "fast" };
        let noise = 1.0 + 0.03 * (random.random::<f64>() - 0.5);
        let time = 64.0 / f64::from(p) * if node == "slow" { 1.5 } else { 1.0 } * noise;
        let row = [p.to_string(), n.to_string(), node.to_owned(), "-O2".to_owned(), time.to_string()];
        row.into_iter().zip(&mut cells).for_each(|(cell, column)| column.push(cell));
    }
    let names = ["p", "n", "node", "flag", "time"];
    Table { columns: names.iter().zip(cells).map(|(n, c)| Column::of_cells(n, c, true)).collect() }
}

#[test]
fn what_explains_a_metric_is_found_and_what_does_not_is_not() {
    let found = analyze(&table(), &plan()).unwrap();
    let said = findings(&found);
    assert!(said[0].starts_with("time is explained above all by p ("), "{said:?}");
    assert!(said[0].contains("then node") && said[0].contains("n makes no difference"), "{said:?}");
    assert!(
        said[1].contains("time is highest") && said[1].contains("p ≤ 3") && said[1].contains("node is slow"),
        "{said:?}"
    );
    assert!(found.notes.iter().any(|n| n.contains("`flag` is -O2 in all rows")), "{:?}", found.notes);
    assert!(found.tree.accuracy > 0.9 && found.tree.accuracy > found.tree.baseline, "{said:?}");
    assert_eq!(found.tree.is_test.iter().filter(|&&t| t).count(), 32);
}

#[test]
fn pure_noise_is_explained_by_nothing() {
    let mut false_alarms = 0;
    for seed in 0..20 {
        let mut random = StdRng::seed_from_u64(100 + seed);
        let mut column = |name: &str, chosen| {
            let values = Values::Numbers((0..60).map(|_| random.random()).collect());
            Column { name: name.into(), unit: String::new(), chosen, values }
        };
        let table = Table { columns: vec![column("a", true), column("b", true), column("time", false)] };
        let found = analyze(&table, &Plan { rule: Rule::Bins(3), ..plan() }).unwrap();
        false_alarms += usize::from(!findings(&found)[0].starts_with("None"));
    }
    assert!(false_alarms <= 2, "{false_alarms} of 20");
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads_but_on_the_seed() {
    let at = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| analysis_json(&analyze(&table(), &Plan { seed, ..plan() }).unwrap()))
    };
    let one = at(1, 1);
    assert_eq!(at(3, 1), one);
    assert_ne!(at(1, 2), one);
}

#[test]
fn normalisation_changes_the_numbers_and_not_the_tree() {
    let plan = Plan { rule: Rule::Bins(3), scale: Scale::Linear, ..plan() };
    let plain = analyze(&table(), &plan).unwrap();
    for how in [Normalization::MinMax, Normalization::ZScore] {
        let found = analyze(&table(), &Plan { normalization: Some(how), ..plan.clone() }).unwrap();
        let Values::Numbers(values) = &found.shown().columns[found.metric].values else { panic!("numbers") };
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        match how {
            Normalization::MinMax => assert_eq!((low, values.iter().copied().fold(0.0, f64::max)), (0.0, 1.0)),
            Normalization::ZScore => {
                let square = values.iter().map(|v| v * v).sum::<f64>() / n;
                assert!(mean.abs() < 1e-12 && (square - 1.0).abs() < 1e-12);
            }
        }
        assert_eq!(found.categories.of, plain.categories.of);
        assert_eq!(found.tree.confusion, plain.tree.confusion);
    }
}

fn named(name: &str, values: Values) -> Column {
    Column { name: name.into(), unit: String::new(), chosen: true, values }
}

/// Times that span a factor of ten have categories on their logarithm, which normalised ones do not have.
#[test]
fn normalisation_changes_no_category() {
    let mut rng = StdRng::seed_from_u64(3);
    let n: Vec<f64> = (0..120).map(|i| f64::from(i % 4)).collect();
    let times = n.iter().map(|n| 10f64.powf(*n) * (1.0 + 0.1 * rng.random::<f64>())).collect();
    let columns = vec![named("n", Values::Numbers(n)), named("time", Values::Numbers(times))];
    let plan = Plan { rule: Rule::Bins(4), scale: Scale::Auto, ..plan() };
    let of =
        |normalization| analyze(&Table { columns: columns.clone() }, &Plan { normalization, ..plan.clone() }).unwrap();
    let plain = of(None);
    assert_eq!((plain.categories.labels.len(), plain.tree.accuracy), (4, 1.0));
    for how in [Normalization::MinMax, Normalization::ZScore] {
        assert_eq!(analysis_json(&of(Some(how))), analysis_json(&plain));
    }
}

#[test]
fn factors_of_nothing_but_chance_are_hardly_ever_named() {
    let mut rng = StdRng::seed_from_u64(7);
    let mut deceived = 0;
    for _ in 0..60 {
        let mut drawn =
            |of: &mut dyn FnMut(&mut StdRng) -> f64| Values::Numbers((0..60).map(|_| of(&mut rng)).collect());
        let columns = vec![
            named("a", drawn(&mut |rng| f64::from(rng.random_range(0..4u8)))),
            named("b", drawn(&mut |rng| (20.0 * rng.random::<f64>()).floor())),
            named("c", drawn(&mut |rng| f64::from(rng.random_range(0..3u8)))),
            named("time", drawn(&mut |rng| 10.0 + rng.random::<f64>() + rng.random::<f64>())),
        ];
        let found = analyze(&Table { columns }, &Plan { trees: 50, ..plan() }).unwrap();
        deceived += usize::from(findings(&found)[0].contains("is explained"));
    }
    // A fifth of such tables had a factor that seemed to matter by its shuffles alone.
    assert!(deceived <= 3, "{deceived} of 60");
}

#[test]
fn more_than_chance_is_mcnemars_statistic() {
    // Of 40 rows of two categories in equal numbers all are named right: 20 gained and none lost, 20 / sqrt(20).
    let half = |row: usize| f64::from(u8::from(row.is_multiple_of(2)));
    let columns = vec![
        named("a", Values::Numbers((0..40).map(half).collect())),
        named("time", Values::Numbers((0..40).map(|row| 1.0 + half(row)).collect())),
    ];
    let found = analyze(&Table { columns }, &Plan { rule: Rule::Bins(2), ..plan() }).unwrap();
    assert_eq!((found.forest.accuracy, found.forest.certainty), (1.0, 20f64.sqrt()));
    let json: Value = serde_json::from_str(&analysis_json(&found)).unwrap();
    assert_eq!(json["forest"]["mcnemar"], 20f64.sqrt());
    // A row is right, and of the shuffled ones half: the error is that of 40 rows whose losses are all near a half.
    let importance = found.forest.importance[0];
    assert!((importance.permutation - 0.5).abs() < 0.06 && importance.error < 0.03, "{importance:?}");
}

#[test]
fn a_column_that_is_called_as_an_added_one_keeps_its_name() {
    let mut table = table();
    let rows = table.rows();
    table.columns.push(named("category", Values::Numbers(vec![1.0; rows])));
    let header = |table: &Table| analysis_csv(&analyze(table, &plan()).unwrap()).lines().next().map(str::to_owned);
    let first = "p,n,node,flag,time,category,";
    assert_eq!(header(&table), Some(format!("{first}analysis.category,predicted_category,part")));
    table.columns.push(named("analysis.category", Values::Numbers(vec![1.0; rows])));
    let again = "analysis.category,analysis.analysis.category,predicted_category,part";
    assert_eq!(header(&table), Some(format!("{first}{again}")));
}

#[test]
fn text_parameters_of_a_study_are_found_by_their_own_name() {
    let cells = |texts: &[&str]| Values::Texts((0..40).map(|row| texts[row % texts.len()].to_owned()).collect());
    let times = Values::Numbers((0..40).map(|row| if row % 2 == 0 { 1.0 } else { 2.0 }).collect());
    let columns = vec![
        named("factors.flag", cells(&["\"\"", "-O3"])),
        named("factors.kind", cells(&["a", "a", "b", "b"])),
        named("time", times),
    ];
    let with = |filter: &str| {
        let plan = Plan { filter: Some(Filter::parse(filter).unwrap()), factors: Some(vec!["kind".into()]), ..plan() };
        analyze(&Table { columns: columns.clone() }, &plan).map(|found| found.table.rows())
    };
    assert_eq!(with("flag in (\"\", '-O3')"), Ok(40));
    let alone = with("flag == \"\"").unwrap_err().to_string();
    assert!(alone.contains("is 1 in all 20 rows"), "{alone}");
}

#[test]
fn a_metric_of_numbers_and_a_dash_is_told() {
    let mut cells: Vec<String> = (0..40).map(|row| (10 + row).to_string()).collect();
    cells[7] = "-".into();
    cells[8].clear();
    let columns =
        vec![named("a", Values::Numbers((0..40).map(f64::from).collect())), Column::of_cells("time", cells, true)];
    let error = analyze(&Table { columns }, &plan()).unwrap_err().to_string();
    assert!(error.contains("38 of its 39 values are numbers, but not `-`"), "{error}");
    let long = Column::of_cells("time", ["1", "2", &"x".repeat(3_000_000)].map(str::to_owned).to_vec(), true);
    assert!(long.nearly_numbers().is_some_and(|note| note.len() < 300), "a cell of any length is quoted");
}

#[test]
fn a_metric_with_a_value_that_is_no_number_is_told() {
    let cells: Vec<String> =
        (0..40).map(|row| if row == 7 { "FAILED".into() } else { (1 + row % 2).to_string() }).collect();
    let columns = vec![
        named("a", Values::Numbers((0..40).map(|row| f64::from(row % 2)).collect())),
        Column::of_cells("time", cells, true),
    ];
    let notes = analyze(&Table { columns }, &plan()).unwrap().notes;
    assert!(
        notes.iter().any(|note| note.contains("Of `time` 39 of its 40 values are numbers, but not `FAILED`")),
        "{notes:?}"
    );
}

/// A table of these columns of numbers.
fn of_numbers(columns: &[(&str, Vec<f64>)]) -> Table {
    let column =
        |(name, values): &(&str, Vec<f64>)| Column::of_cells(name, values.iter().map(f64::to_string).collect(), true);
    Table { columns: columns.iter().map(column).collect() }
}

/// As parameters that depend on others are, which would all hide each other.
#[test]
fn what_says_the_same_is_judged_once() {
    let mut random = StdRng::seed_from_u64(11);
    let p: Vec<f64> = (0..48).map(|i| [1.0, 2.0, 4.0][i % 3]).collect();
    let time: Vec<f64> = p.iter().map(|p| p * (1.0 + 0.02 * random.random::<f64>())).collect();
    let chance: Vec<f64> = (0..48).map(|_| random.random::<f64>()).collect();
    let other: Vec<f64> = (0..48).map(|_| random.random::<f64>()).collect();
    let of = |f: fn(&f64) -> f64| p.iter().map(f).collect::<Vec<f64>>();
    let columns = [
        ("p", p.clone()),
        ("k", of(|p| 8.0 * p)),
        ("l", of(|p| 1.0 / p)),
        ("chance", chance),
        ("other", other),
        ("time", time),
    ];
    let found = analyze(&of_numbers(&columns), &plan()).unwrap();
    let said = &findings(&found)[0];
    assert!(said.starts_with("time is explained by p (and with it k and l)"), "{said}");
    assert!(
        found.notes.iter().any(|note| note == "`k` and `l` say the same as `p` in all rows, and are judged with it."),
        "{:?}",
        found.notes
    );
    // Two columns of chance tell all rows apart, too, and have nothing to do with each other.
    assert_eq!(found.factors, [0, 3, 4]);
    let alone = analyze(
        &of_numbers(&[columns[0].clone(), columns[3].clone(), columns[4].clone(), columns[5].clone()]),
        &plan(),
    )
    .unwrap();
    assert_eq!(alone.forest, found.forest);
}

/// Nine factors that say the same, as named ones may, none of which is missed.
#[test]
fn factors_that_explain_together_are_not_called_nothing() {
    let mut random = StdRng::seed_from_u64(12);
    let cause: Vec<usize> = (0..200).map(|_| random.random_range(0..2_usize)).collect();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    // Texts, which have no order that could show it.
    let of = |value: &dyn Fn(usize) -> String, name: &str| {
        Column::of_cells(name, cause.iter().map(|c| value(*c)).collect(), true)
    };
    let mut columns: Vec<Column> = names.iter().map(|name| of(&|c| ["x", "y"][c].to_owned(), name)).collect();
    columns.push(of(&|c| (1 + c).to_string(), "time"));
    let factors = Some(names.map(str::to_owned).to_vec());
    let found = analyze(&Table { columns }, &Plan { rule: Rule::Values, factors, ..plan() }).unwrap();
    let said = &findings(&found)[0];
    assert!(said.starts_with("The factors together explain time: a forest of them puts 100 of 100 rows"), "{said}");
}

/// Two groups of a normal variable 1.5 deviations apart, whose density has one peak.
#[test]
fn an_effect_below_one_peak_is_seen() {
    let mut random = StdRng::seed_from_u64(13);
    for _ in 0..10 {
        let a: Vec<f64> = (0..300).map(|_| f64::from(random.random_range(1..3_u32))).collect();
        let normal = |random: &mut StdRng| (0..12).map(|_| random.random::<f64>()).sum::<f64>();
        let time: Vec<f64> = a.iter().map(|a| 20.0 + 1.5 * a + normal(&mut random)).collect();
        let chance: Vec<f64> = (0..300).map(|_| f64::from(random.random_range(1..5_u32))).collect();
        let found = analyze(&of_numbers(&[("a", a), ("chance", chance), ("time", time)]), &plan()).unwrap();
        let said = &findings(&found)[0];
        assert!(said.starts_with("time is explained by a (") && said.contains("chance makes no difference"), "{said}");
    }
}

/// Where each combination was measured once no tree can name what it has not seen, and the order tells plainly.
#[test]
fn a_grid_with_one_run_at_each_point_is_explained_by_its_order() {
    let points: Vec<(f64, f64)> =
        (1..=5).flat_map(|n| (1..=5).map(move |p| (f64::from(2_u32.pow(p)), 100.0 * f64::from(n)))).collect();
    let of = |f: fn(f64, f64) -> f64| points.iter().map(|&(p, n)| f(p, n)).collect::<Vec<f64>>();
    let mut random = StdRng::seed_from_u64(14);
    let chance: Vec<f64> = (0..25).map(|_| random.random()).collect();
    for (time, falls) in [((|p, n| n * n / p) as fn(f64, f64) -> f64, true), (|p, n| n * p, false)] {
        let columns = [("p", of(|p, _| p)), ("n", of(|_, n| n)), ("chance", Vec::clone(&chance)), ("time", of(time))];
        let found = analyze(&of_numbers(&columns), &plan()).unwrap();
        let said = &findings(&found)[0];
        let before = ["with", "by", "then", "and"];
        let is_told = |name: &str| before.iter().any(|word| said.contains(&format!("{word} {name} (")));
        assert!(is_told("p") && is_told("n") && said.contains("chance makes no difference"), "{said}");
        assert!(!said.contains("with p (") || said.contains("falls with p (") == falls, "{said}");
    }
}

#[test]
fn what_leaves_no_row_to_test_is_refused() {
    let cells = |of: &dyn Fn(u32) -> String| (0..12).map(of).collect::<Vec<String>>();
    let columns = vec![
        Column::of_cells("p", cells(&|i| (i % 4).to_string()), true),
        Column::of_cells("kind", cells(&|i| format!("kind{i}")), true),
    ];
    let told = analyze(&Table { columns }, &Plan { metric: "kind".into(), ..plan() }).unwrap_err().to_string();
    assert!(told.contains("no row can be held back"), "{told}");
}

/// A product of two factors and four that are chance, in small tables: of few tables is one of the four named, and the two are not lost for it.
#[test]
fn factors_beside_those_that_matter_are_rarely_named() {
    let mut random = StdRng::seed_from_u64(17);
    let (mut tables, mut wrong, mut found) = (0, 0, 0);
    for (levels, noise) in [(2.0, 0.05), (2.0, 0.6), (4.0, 0.05), (4.0, 0.6)] {
        for rows in 40..100 {
            let mut draw = |least: f64, width: f64| -> Vec<f64> {
                (0..rows).map(|_| least + width * random.random::<f64>()).collect()
            };
            let factors: Vec<Vec<f64>> =
                (0..6).map(|_| draw(1.0, levels).into_iter().map(f64::floor).collect()).collect();
            let noise = draw(1.0 - noise, 2.0 * noise);
            let times = (0..rows).map(|row| 100.0 * factors[0][row] * factors[1][row] * noise[row]).collect();
            let mut columns = vec![named("time", Values::Numbers(times))];
            let names = ["a", "b", "c", "d", "e", "f"].into_iter();
            columns.extend(names.zip(factors).map(|(name, values)| named(name, Values::Numbers(values))));
            let analysis = analyze(&Table { columns }, &plan()).unwrap();
            let matter = |range: std::ops::Range<usize>| range.filter(|&f| findings::matters(&analysis, f)).count();
            tables += 1;
            wrong += usize::from(matter(2..6) > 0);
            found += matter(0..2);
        }
    }
    assert!(wrong <= tables / 20, "{wrong} of {tables} tables");
    assert!(found > tables, "{found} of {} factors", 2 * tables);
}

/// Two factors that matter only together: conditions on others would be chance.
#[test]
fn places_are_told_of_factors_that_matter_alone() {
    let mut random = StdRng::seed_from_u64(11);
    for _ in 0..20 {
        let mut draw = |most: f64| (0..100).map(|_| (random.random::<f64>() * most).floor()).collect::<Vec<f64>>();
        let factors: Vec<Vec<f64>> = (0..6).map(|i| draw(if i == 0 { 2.0 } else { 100.0 })).collect();
        let times = (0..100).map(|row| if (factors[0][row] > 0.5) != (factors[1][row] > 50.0) { 1000.0 } else { 200.0 } + factors[5][row] * 0.3);
        let mut columns = vec![named("time", Values::Numbers(times.collect()))];
        columns.extend(
            ["f", "d", "a", "b", "c"]
                .iter()
                .zip(&factors)
                .map(|(name, values)| named(name, Values::Numbers(values.clone()))),
        );
        let found = analyze(&Table { columns }, &plan()).unwrap();
        let matters = |name: &str| {
            (0..5).any(|f| found.table.columns[found.factors[f]].name == name && findings::matters(&found, f))
        };
        for sentence in findings(&found).iter().filter(|sentence| sentence.contains(" where ")) {
            let (_, conditions) = sentence.split_once(" where ").unwrap();
            for name in ["a", "b", "c"].iter().filter(|name| !matters(name)) {
                assert!(!conditions.contains(&format!("{name} ")), "{sentence}");
            }
        }
    }
}

#[test]
fn what_cannot_be_analysed_is_an_error_that_says_why() {
    let error = |change: &dyn Fn(&mut Table, &mut Plan)| {
        let (mut table, mut plan) = (table(), plan());
        change(&mut table, &mut plan);
        analyze(&table, &plan).unwrap_err().to_string()
    };
    let lacks =
        "There is no column `tiem` to be a metric; did you mean `time`? The columns are p, n, node, flag, time.";
    assert_eq!(error(&|_, plan| plan.metric = "tiem".into()), lacks);
    assert!(error(&|_, plan| plan.factors = Some(vec!["nod".into()])).contains("did you mean `node`? The columns"));
    assert!(error(&|_, plan| plan.factors = Some(vec!["time".into()])).contains("cannot explain itself"));
    assert!(error(&|_, plan| plan.factors = Some(vec!["flag".into()])).contains("No factor varies"));
    assert!(error(&|_, plan| plan.filter = Filter::parse("p > 1000").ok()).contains("No row satisfies"));
    assert!(
        error(&|_, plan| plan.filter = Filter::parse("n == 100 and p == 2 ").ok()).contains("at least 10 are needed")
    );
    let set = |table: &mut Table, value: f64| {
        let count = table.rows();
        table.columns[4].values = Values::Numbers(vec![value; count]);
    };
    assert!(error(&|table, _| set(table, f64::NAN)).contains("no value in any row"));
    assert!(error(&|table, _| set(table, 2.0)).contains("is 2 in all 160 rows"));
    assert!(error(&|_, plan| plan.rule = Rule::Bins(1)).contains("one category"));
}

#[test]
fn what_names_single_runs_explains_none_of_them() {
    let mut table = table();
    let job = |i: usize| (4000 + i).to_string();
    let cells = |of: &dyn Fn(usize) -> String| (0..160).map(of).collect::<Vec<String>>();
    table.columns.push(Column::of_cells("environment.SLURM_JOB_ID", cells(&job), true));
    table.columns.push(Column::of_cells("environment.OMP_NUM_THREADS", cells(&|i| (1 + i / 7 % 2).to_string()), true));
    let found = analyze(&table, &plan()).unwrap();
    let factors: Vec<&str> = found.factors.iter().map(|&c| found.table.columns[c].name.as_str()).collect();
    assert_eq!(factors, ["p", "n", "node", "environment.OMP_NUM_THREADS"]);
    let note = "`environment.SLURM_JOB_ID` has 160 different values in 160 rows and is left out.";
    assert!(found.notes.iter().any(|n| n == note), "{:?}", found.notes);
}

/// A study that fills in variables from its parameters is explained as one without them.
#[test]
fn variables_that_follow_a_parameter_share_nothing_with_it() {
    let alone = analyze(&table(), &plan()).unwrap();
    let mut table = table();
    let of = |table: &Table, name: &str, text: &str| {
        let column = &table.columns[table.find(name).unwrap()];
        (0..table.rows()).map(|row| format!("{text}{}", column.cell(row))).collect::<Vec<String>>()
    };
    let echoes = [("OMP_NUM_THREADS", "p", ""), ("OMP_PLACES", "p", "cores-"), ("OMPI_SIZE", "n", "")];
    for (name, parameter, text) in echoes {
        let cells = of(&table, parameter, text);
        table.columns.insert(0, Column::of_cells(&format!("environment.{name}"), cells, true));
    }
    let found = analyze(&table, &plan()).unwrap();
    let names =
        |found: &Analysis| found.factors.iter().map(|&c| found.table.columns[c].name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found), names(&alone));
    assert_eq!((&found.tree.importance, found.tree.accuracy), (&alone.tree.importance, alone.tree.accuracy));
    let said = |note: &str| assert!(found.notes.iter().any(|n| n == note), "{:?}", found.notes);
    said("`environment.OMP_PLACES` and `environment.OMP_NUM_THREADS` are the same wherever `p` is, and are left out.");
    said("`environment.OMPI_SIZE` is the same wherever `n` is, and is left out.");
    // Who names them wants them.
    let named = Plan { factors: Some(vec!["p".into(), "environment.OMP_NUM_THREADS".into()]), ..plan() };
    assert_eq!(analyze(&table, &named).unwrap().factors.len(), 2);
}

#[test]
fn numbers_with_decimal_commas_are_told() {
    // Half of the rows have a stride of 0.5 and take a second, the others have 2 and take up to two; one stride is missing.
    let cells = |of: &dyn Fn(usize) -> f64| (0..40).map(|i| of(i).to_string().replace('.', ",")).collect::<Vec<_>>();
    let mut strides = cells(&|i| if i % 2 == 0 { 0.5 } else { 2.0 });
    strides[1] = "NA".into();
    let stride = Column::of_cells("stride", strides, true);
    let told = |name: &str, first: &str, number: &str| {
        format!("The values of `{name}`, such as `{first}`, are taken for names. As a number write {number}.")
    };
    let time = (0..40).map(|i| if i % 2 == 0 { 1.0 } else { 1.5 + 0.01 * i as f64 });
    let time = Column { values: Values::Numbers(time.collect()), ..Column::of_cells("time", Vec::new(), false) };
    let table = Table { columns: vec![stride.clone(), time] };
    let found = analyze(&table, &plan()).unwrap();
    assert_eq!(found.notes[0], told("stride", "0,5", "`0.5`"));
    let time = Column::of_cells("time", cells(&|i| 1.25 + i as f64), false);
    let error = analyze(&Table { columns: vec![stride, time] }, &plan()).unwrap_err();
    assert!(error.to_string().ends_with(&told("time", "1,25", "`1.25`")), "{error}");
    // Words and lists of numbers are names, and so is what a study's environment says.
    let of =
        |name: &str, cells: [&str; 2]| Column::of_cells(name, cells.map(str::to_owned).to_vec(), true).decimal_commas();
    for (name, cells) in [
        ("x", ["a,b", "1,5"]),
        ("x", ["1,2,3", "1,5"]),
        ("x", ["1.5", "2.5"]),
        ("x", ["1,5", "1,5"]),
        ("environment.OMP_NUM_THREADS", ["4,2", "2,2"]),
    ] {
        assert_eq!(of(name, cells), None, "{cells:?}");
    }
    for (cells, number) in [
        (["1,500", "250"], "`1.500`, or `1500` if the comma parts thousands"),
        (["-21,500", "250"], "`-21.500`, or `-21500` if the comma parts thousands"),
        (["0,125", "250"], "`0.125`"),
        (["1,5e2", "250"], "`1.5e2`"),
        (["12345,678", "250"], "`12345.678`"),
        (["1,500", "2,5"], "`1.500`"),
    ] {
        assert_eq!(of("n", cells).unwrap(), told("n", cells[0], number));
    }
}

#[test]
fn rows_without_a_value_are_left_out_and_counted() {
    let mut table = table();
    if let Values::Numbers(values) = &mut table.columns[4].values {
        values[3] = f64::NAN;
    }
    if let Values::Texts(texts) = &mut table.columns[2].values {
        texts[5].clear();
    }
    let found = analyze(&table, &plan()).unwrap();
    assert_eq!(found.table.rows(), 158);
    assert!(found.notes.iter().any(|n| n.starts_with("2 of 160 rows are left out")), "{:?}", found.notes);
}

#[test]
fn every_picture_is_well_formed_and_the_page_holds_them_all() {
    let found = analyze(&table(), &plan()).unwrap();
    let drawn = pictures(&found, &[]).unwrap();
    let names: Vec<&str> = drawn.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["importance", "density", "tree", "line-p-node", "scatter-p", "scatter-node"]);
    for picture in &drawn {
        let file = picture.file();
        let mut reader = quick_xml::Reader::from_str(&file);
        loop {
            match reader.read_event().unwrap() {
                quick_xml::events::Event::Eof => break,
                _ => assert!(!file.contains("NaN"), "{}", picture.name),
            }
        }
    }
    let page = page(&found, "runs", &drawn, &["A run was left out.".into()]);
    assert_eq!(page.matches("<figure>").count(), 6);
    assert!(
        !page.contains("http://") || page.matches("http").count() == page.matches("http://www.w3.org/2000/svg").count()
    );
    assert!(pictures(&found, &[PlotRequest::Scatter("q".into())]).unwrap_err().to_string().contains("no column `q`"));
}
