//! Results of tests as JUnit's XML, which CI systems read. Only elements and attributes that the schema of Jenkins' xUnit plugin
//! (junit-10.xsd) knows, and neither times nor hosts, so that the same results give the same bytes.

use std::fmt::Write as _;

/// One test.
pub struct Case {
    /// What was tested.
    pub name: String,
    /// The group that it belongs to.
    pub class: String,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a test ended.
pub enum Outcome {
    /// Well.
    Passed,
    /// Not well, and why.
    Failed(String),
    /// Without a result, and why.
    Skipped(String),
}

/// The tests of one suite as a document.
pub fn document(suite: &str, cases: &[Case]) -> String {
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
    let (all, failed) = (cases.len(), count(|o| matches!(o, Outcome::Failed(_))));
    let skipped = count(|o| matches!(o, Outcome::Skipped(_)));
    let name = escaped(suite);
    let counts = format!("name=\"{name}\" tests=\"{all}\" failures=\"{failed}\" errors=\"0\"");
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite {counts} skipped=\"{skipped}\">\n"
    );
    for case in cases {
        let _ = write!(text, "    <testcase name=\"{}\" classname=\"{}\"", escaped(&case.name), escaped(&case.class));
        let _ = match &case.outcome {
            Outcome::Passed => writeln!(text, "/>"),
            Outcome::Failed(why) => writeln!(text, "><failure message=\"{}\"/></testcase>", escaped(why)),
            Outcome::Skipped(why) => writeln!(text, "><skipped message=\"{}\"/></testcase>", escaped(why)),
        };
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// Text of an attribute's value. Characters that XML 1.0 (section 2.2) has no place for become a replacement character.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // As they are, a reader would make spaces of them.
            '\t' | '\n' | '\r' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_program_are_written() {
        assert_eq!(
            escaped("f<a&&, \"b\">\u{1}\n\u{ffff}é"),
            "f&lt;a&amp;&amp;, &quot;b&quot;&gt;\u{fffd}&#10;\u{fffd}é"
        );
    }
}
