//! The argument table as a whole, and what its values may be.

use clap::CommandFactory;

use super::*;

#[test]
fn the_argument_table_is_consistent_and_every_argument_has_help() {
    fn check(command: &clap::Command) {
        assert!(command.get_about().is_some(), "{} has no help", command.get_name());
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {} has no help", command.get_name(), argument.get_id());
        }
        command.get_subcommands().for_each(check);
    }
    Cli::command().debug_assert();
    check(&Cli::command());
}

/// Lines of examples would lose their columns where a terminal of the usual width broke them, and sentences that are
/// broken in the text would be broken twice.
#[test]
fn examples_fit_a_terminal_and_sentences_are_not_broken_by_hand() {
    fn check(command: &clap::Command) {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let (name, is_example) = (command.get_name(), line.starts_with(' '));
            assert!(!is_example || line.chars().count() <= 80, "{name}: {line}");
            assert!(is_example || line.ends_with(['.', ':', ')']), "{name}: {line}");
        }
        command.get_subcommands().for_each(check);
    }
    check(&Cli::command());
}

#[test]
fn points_are_read_as_typed() {
    assert_eq!(parse_assignments("p=4096, n=0.5"), Ok(Assignments(vec![("p".into(), 4096.0), ("n".into(), 0.5)])));
    assert!(parse_assignments("p").unwrap_err().contains("such as p=4096"));
    assert!(parse_assignments("p=x").unwrap_err().contains("not a number"));
    assert!(parse_assignments("p=inf").unwrap_err().contains("finite"));
    assert!(parse_assignments("=4").unwrap_err().contains("missing"));
}

#[test]
fn exponents_are_read_as_typed() {
    for (text, numerator, denominator) in
        [("1/3", 1, 3), ("4", 4, 1), ("0.25", 1, 4), (".5", 1, 2), ("1.5", 3, 2), ("2/4", 1, 2), ("0", 0, 1)]
    {
        assert_eq!(parse_exponent(text), Ok(Exponent::new(numerator, denominator)), "{text}");
    }
    for (text, said) in [
        ("", "such as"),
        ("x", "such as"),
        ("1/0", "such as"),
        ("0.333", "such as"),
        ("1.-5", "such as"),
        ("1.+5", "such as"),
        ("-1", "from 0 on"),
        ("-1/2", "from 0 on"),
        ("-0.5", "from 0 on"),
        ("11", "at most 10"),
        ("1/61", "60th parts"),
        ("0.33", "write 1/3 for 0.33"),
        ("1/-2147483648", "such as"),
        ("1/2/3", "such as"),
        ("99999999999", "such as"),
    ] {
        assert!(parse_exponent(text).unwrap_err().contains(said), "{text}");
    }
}
