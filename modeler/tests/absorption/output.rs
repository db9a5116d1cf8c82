//! What `poise absorb` prints, read back by other means.

use modeler::absorption::Report;

use crate::synthetic::{QUANTITIES, Truth, profile_of};
use crate::{QUIET, report, sharp};

fn example() -> Report {
    let truths: [Truth; 3] = [sharp("fp_add64", 24.0, 0.03), sharp("l1_ld64", 0.0, 0.1), sharp("nop", 900.0, 0.01)];
    let mut profile = profile_of(2.0, &truths, &QUANTITIES, 30, QUIET, 4);
    let mut other = profile.noise.loops[0].clone();
    (other.id, other.line, other.refusal) = (1, 77, "it has exception edges".into());
    other.function = "_ZN4heat5solveEi".into();
    profile.noise.loops.push(other);
    report(&profile)
}

#[test]
fn json_has_the_members_of_the_contract() {
    let json: serde_json::Value = serde_json::from_str(&example().json()).unwrap();
    assert_eq!((&json["schema"], &json["schema_version"]), (&"counterpoise/absorption".into(), &1.into()));
    let the_loop = &json["loops"][0];
    assert_eq!(the_loop["callpath"], serde_json::json!(["main", "solve"]));
    assert_eq!((&the_loop["loop"], &the_loop["executions"]), (&"solve.c:41".into(), &1200.into()));
    assert_eq!(the_loop["class"], "load-store");
    let mode = &the_loop["modes"]["fp_add64"];
    for name in ["raw", "lower", "upper", "slope_ns"] {
        assert!(mode[name].is_number(), "{name}: {mode}");
    }
    for name in ["relative", "payload", "overhead", "spills"] {
        assert!(mode.get(name).is_some_and(serde_json::Value::is_null), "{name}: without the binary nobody knows");
    }
    assert_eq!((&mode["state"], &the_loop["modes"]["nop"]["state"]), (&"measured".into(), &"at-least".into()));
    assert_eq!(the_loop["modes"]["nop"]["upper"], serde_json::Value::Null);
    assert_eq!(mode["points"].as_array().unwrap().len(), QUANTITIES.len() + 1);
    assert_eq!(json["refused"][0]["reason"], "it has exception edges");
    assert_eq!((&json["refused"][0]["callpath"], &the_loop["concerns"]), (&serde_json::Value::Null, &[(); 0].into()));
}

#[test]
fn each_loop_says_what_disturbed_its_times() {
    let mut report = example();
    report.concerns = vec!["huge pages are off".to_owned(), "other virtual machines took processor time".to_owned()];
    let text = report.human();
    let lines = "  To be doubted: huge pages are off.\n  To be doubted: other virtual machines took processor time.\n";
    assert_eq!(text.matches(lines).count(), report.loops.len(), "{text}");
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(json["loops"][0]["concerns"], serde_json::json!(report.concerns));
}

#[test]
fn csv_has_a_row_per_mode() {
    let text = example().csv();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|h| h == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.iter().map(|r| &r[column("mode")]).collect::<Vec<_>>(), ["fp_add64", "l1_ld64", "nop"]);
    let raw: f64 = rows[0][column("raw")].parse().unwrap();
    assert!((raw - 24.0).abs() < 1.0, "{raw}");
    assert_eq!(&rows[2][column("slope_ns")], "");
}

#[test]
fn people_read_what_binds_the_loop_and_what_is_free() {
    let text = example().human();
    let sentence = "Bound by loads and stores in the core: first-level loads are not absorbed, arithmetic is; about 24 \
                    floating-point instructions per iteration are free.";
    assert!(text.contains(sentence), "{text}");
    assert!(text.starts_with("main -> solve  solve.c:41\n"), "{text}");
    assert!(text.contains("64 or more"), "{text}");
    assert!(text.ends_with("solve.c:77 in heat::solve: not measured, because it has exception edges.\n"), "{text}");
}

#[test]
fn the_plot_is_well_formed_and_shows_every_quantity() {
    let svg = example().svg();
    let mut reader = quick_xml::Reader::from_str(&svg);
    let mut circles = 0;
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Eof => break,
            quick_xml::events::Event::Empty(tag) => circles += usize::from(tag.name().as_ref() == "circle"),
            _ => {}
        }
    }
    // Three modes with 13 quantities, and three marks in the legend; all ratios are below 8.
    assert_eq!(circles, 3 * 13 + 3);
}
