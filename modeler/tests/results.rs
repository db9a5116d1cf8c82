//! Models and predictions as JSON and CSV, and the HTML report, against the public interface and the fits themselves.

use modeler::experiment::{Metric, OverRanks};
use modeler::formats::{self, PredictionAt};
use modeler::report::{Extra, ReportOptions, Section, Table, html};
use modeler::{Experiment, ExperimentBuilder, Fits, Options, Prediction, fit};
use serde_json::Value;

/// Two call paths over p and n, with exact block counts and times that are multiples of them, two repetitions each; and
/// one call path with too few points, whose name wants to be markup.
fn experiment() -> Experiment {
    let mut builder = ExperimentBuilder::new(["p", "n"]);
    let mut metric = |name: &str, unit: &str| {
        builder.metric(Metric { name: name.into(), unit: unit.into(), over_ranks: Some(OverRanks::Mean) })
    };
    let (blocks, time) = (metric("basic_blocks", ""), metric("time", "s"));
    let paths = [builder.callpath(["main", "small"]), builder.callpath(["main", "large"])];
    let odd = builder.callpath(["main", "<script>alert(1)</script>"]);
    for p in [2.0, 4.0, 8.0, 16.0, 32.0] {
        for n in [100.0, 200.0, 400.0, 800.0, 1600.0] {
            let point = builder.point(&[p, n]);
            for (path, count) in [(paths[0], 3.0 * n), (paths[1], 2.0 * n * n)] {
                for repetition in [1.0, 1.02] {
                    builder.add(path, blocks, point, count);
                    builder.add(path, time, point, 1e-9 * count * repetition);
                }
            }
            if p * n <= 400.0 {
                builder.add(odd, time, point, 1.0);
            }
        }
    }
    builder.finish()
}

fn fitted() -> (Experiment, Fits) {
    let experiment = experiment();
    let fits = fit(&experiment, &Options::default());
    (experiment, fits)
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn models_json_says_what_the_models_say() {
    let (experiment, fits) = fitted();
    let json = parse(&formats::models_json(&experiment, &fits, "1.2.3", 7));
    assert_eq!(json["schema"], "counterpoise/models");
    assert_eq!((&json["schema_version"], &json["seed"]), (&1.into(), &7.into()));
    assert_eq!(json["tool_version"], "1.2.3");
    assert_eq!(json["parameters"], parse("[\"p\", \"n\"]"));
    let models = json["models"].as_array().unwrap();
    assert_eq!(models.len(), fits.models.len());
    for (entry, model) in models.iter().zip(&fits.models) {
        assert_eq!(entry["callpath"], Value::from(experiment.path(model.callpath)));
        assert_eq!(entry["expression"], model.expression(&experiment.parameters).as_str());
        assert_eq!(entry["constant"].as_f64(), Some(model.constant));
        // Evaluating the JSON gives what the model gives.
        let x = [7.0, 300.0];
        let value: f64 = entry["terms"].as_array().unwrap().iter().map(|t| evaluate(t, &x)).sum();
        let expected = model.at(&x);
        assert!((model.constant + value - expected).abs() <= 1e-12 * expected.abs(), "{entry}");
    }
    let large = models.iter().find(|m| m["callpath"][1] == "large" && m["metric"] == "time").unwrap();
    assert_eq!(
        (&large["kind"], &large["method"], &large["unit"]),
        (&"computation".into(), &"effort".into(), &"s".into())
    );
    assert_eq!(large["effort_metric"], "basic_blocks");
    assert_eq!(
        large["growth"],
        parse(r#"{"p": {"exponent": "0", "log_exponent": 0}, "n": {"exponent": "2", "log_exponent": 0}}"#)
    );
    assert_eq!(large["quality"]["points"], 25);
    let skipped = &json["skipped"][0];
    assert_eq!(skipped["callpath"][1], "<script>alert(1)</script>");
    assert!(skipped["code"].as_str().unwrap().starts_with('W') && !skipped["reason"].as_str().unwrap().is_empty());
}

/// A term of the JSON at `x`, for the parameters p and n.
fn evaluate(term: &Value, x: &[f64; 2]) -> f64 {
    assert_eq!(term["scale"], "1");
    let factor = |f: &Value| {
        let x = if f["parameter"] == "p" { x[0] } else { x[1] };
        let exponent = f["exponent"].as_str().unwrap();
        let (numerator, denominator) = exponent.split_once('/').unwrap_or((exponent, "1"));
        let exponent = numerator.parse::<f64>().unwrap() / denominator.parse::<f64>().unwrap();
        x.powf(exponent) * x.log2().powf(f["log_exponent"].as_f64().unwrap())
    };
    term["coefficient"].as_f64().unwrap() * term["factors"].as_array().unwrap().iter().map(factor).product::<f64>()
}

#[test]
fn what_is_undefined_is_null_with_a_reason() {
    let (experiment, mut fits) = fitted();
    fits.models[0].quality.adjusted_r2 = None;
    fits.models[0].quality.smape = Some(f64::NAN);
    let text = formats::models_json(&experiment, &fits, "1", 0);
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    let quality = &parse(&text)["models"][0]["quality"];
    for statistic in ["adjusted_r2", "smape"] {
        assert_eq!(quality[statistic], Value::Null);
        assert!(quality["undefined"][statistic].is_string(), "{quality}");
    }
    let prediction = Prediction { value: f64::INFINITY, lower: 1.0, upper: f64::NAN, level: 0.9 };
    let at = PredictionAt { callpath: 1, metric: 1, at: vec![4096.0, 0.5], prediction, doubt: Some("far away".into()) };
    let json = parse(&formats::predictions_json(&experiment, &[at], 0.9));
    assert_eq!((&json["schema"], &json["level"]), (&"counterpoise/predictions".into(), &0.9.into()));
    let entry = &json["predictions"][0];
    assert_eq!(entry["at"], parse(r#"{"p": 4096, "n": 0.5}"#));
    assert_eq!((&entry["value"], &entry["lower"], &entry["upper"]), (&Value::Null, &1.into(), &Value::Null));
    assert!(entry["reason"].is_string());
    assert_eq!(entry["doubt"], "far away");
}

#[test]
fn csv_has_a_row_per_model_and_prediction() {
    let (experiment, fits) = fitted();
    let text = formats::models_csv(&experiment, &fits);
    let header = text.lines().next().unwrap();
    assert!(
        header.starts_with("callpath,metric,over_ranks,unit,kind,method,expression,growth_p,growth_n,points"),
        "{header}"
    );
    assert_eq!(text.lines().count(), 1 + fits.models.len());
    assert!(
        text.lines()
            .any(|l| l.starts_with("main->large,time,mean,s,computation,effort,") && l.contains(",1,n^2,25,2,")),
        "{text}"
    );
    let prediction = Prediction { value: 2.0, lower: 1.5, upper: f64::NAN, level: 0.9 };
    let at = PredictionAt { callpath: 1, metric: 1, at: vec![64.0, 10.0], prediction, doubt: None };
    let text = formats::predictions_csv(&experiment, &[at]);
    assert_eq!(
        text,
        "p,n,callpath,metric,over_ranks,unit,value,lower,upper,level,doubt\n64,10,main->small,time,mean,s,2,1.5,,0.9,\n"
    );
}

fn page() -> (Experiment, Fits, String) {
    let (experiment, fits) = fitted();
    let large = fits.models.iter().find(|m| m.metric == 1 && m.callpath == 2).unwrap();
    let extra = Extra {
        callpath: large.callpath,
        metric: large.metric,
        label: "time only".into(),
        model: Some(large.clone()),
        held_out: vec![(vec![32.0, 3200.0], 0.0205), (vec![64.0, 1600.0], 0.0051), (vec![64.0, 3200.0], 0.0205)],
    };
    let table = Table {
        header: vec!["what".into(), "value".into()],
        rows: vec![vec!["a & b".into(), "1.5".into()], vec!["n^(2/3) * log2(p)^2 + p".into(), "2".into()]],
    };
    let section = Section { title: "Of the caller".into(), intro: "First.".into(), table };
    let options = ReportOptions {
        title: "Title <1>".into(),
        sections: vec![section],
        extras: vec![extra],
        warnings: vec!["A warning of the caller.".into()],
        ..ReportOptions::default()
    };
    let page = html(&experiment, &fits, &options);
    (experiment, fits, page)
}

#[test]
fn the_report_is_well_formed_self_contained_and_the_same_each_time() {
    let (_, _, page) = page();
    let markup = without_scripts(&page);
    check_tags(&markup);
    for forbidden in ["http", "<script", "@import", "url(/", "NaN", "inf ", " src="] {
        assert!(!markup.contains(forbidden), "{forbidden}");
    }
    assert_eq!(page.matches("<script").count(), 2, "the data and the script that draws them");
    assert_eq!(page.matches("http").count(), 1, "the name of SVG, which is no address");
    assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("Title &lt;1&gt;") && page.contains("a &amp; b"));
    let formula = "n<sup>2/3</sup> · log<sub>2</sub><sup>2</sup>\u{a0}p + <wbr>";
    assert!(page.contains(formula));
    assert!(page.contains("A warning of the caller."));
    assert_eq!(self::page().2, page);
}

/// The page without what stands in its script elements.
fn without_scripts(page: &str) -> String {
    let mut markup = String::new();
    let mut rest = page;
    while let Some(start) = rest.find("<script") {
        markup.push_str(&rest[..start]);
        rest = &rest[start + rest[start..].find("</script>").unwrap() + "</script>".len()..];
    }
    markup + rest
}

/// Every element is closed in the order in which it was opened.
fn check_tags(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[..end];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        match () {
            () if tag.starts_with('!')
                || ["meta", "wbr", "link", "br", "input"].contains(&name)
                || tag.ends_with('/') => {}
            () if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "near {}", &rest[..end.min(80)]),
            () => open.push(name),
        }
        rest = &rest[end..];
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn the_report_ranks_by_prediction_and_draws_every_measurement_of_a_slice() {
    let (experiment, fits, page) = page();
    let ranking = &page[page.find("id=\"ranking\"").unwrap()..page.find("id=\"tree\"").unwrap()];
    assert!(page.find("Of the caller").unwrap() < page.find("id=\"ranking\"").unwrap());
    // Twice the largest measured values.
    assert!(ranking.contains("p\u{a0}=\u{a0}64, n\u{a0}=\u{a0}3200"), "{ranking}");
    assert!(ranking.find(">large<").unwrap() < ranking.find(">small<").unwrap());
    let model = fits.models.iter().find(|m| m.metric == 1 && m.callpath == 2).unwrap();
    let value = modeler::report::quantity(model.predict(&[64.0, 3200.0], 0.9).value, "s");
    assert!(ranking.contains(&format!("<strong>{value}</strong>")), "{value}: {ranking}");
    let large = &page[page.find("id=\"c2\"").unwrap()..page.find("id=\"c1\"").unwrap()];
    let figures: Vec<&str> = large.split("<figure").skip(1).collect();
    // One along each parameter, one over both, one of time against effort.
    assert_eq!(figures.len(), experiment.parameters.len() + 2);
    assert_eq!(figures[2].matches("class=\"cell\"").count(), 25, "a circle per point");
    assert_eq!(figures[3].matches("class=\"measured\"").count(), 50, "a mark per measurement");
    for plot in &figures[..2] {
        // Five values of one parameter with two repetitions each; of the held-out points one lies in each slice.
        assert_eq!(plot.matches("class=\"measured\"").count(), 10, "{plot}");
        assert_eq!(plot.matches("class=\"held\"").count(), 1, "{plot}");
        assert_eq!(plot.matches("class=\"second\"").count(), 1, "{plot}");
        assert_eq!(plot.matches("class=\"band\"").count(), 1, "{plot}");
    }
    assert_eq!(page.matches("id=\"c0\"").count(), 0, "what has no model has no plot");
}

#[test]
fn a_report_without_a_single_model_says_so() {
    let experiment = experiment();
    let page = html(&experiment, &Fits::default(), &ReportOptions::default());
    check_tags(&without_scripts(&page));
    assert!(page.contains("No series could be modelled"));
}
