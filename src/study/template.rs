//! Templates: text with `{name}` where a value goes. Values are put in once, as they are: what a value holds is never
//! read as a template again, and no shell takes part.

/// What stands for the run's own folder until the run has one. No argument of a program can hold this character.
pub const FOLDER: &str = "\0";

/// A text with names in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Name(String),
}

impl Template {
    /// Reads a template. `{name}` is a name, `{{name}}` the text `{name}`, and braces around anything else are text.
    pub fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        let mut literal = String::new();
        while let Some(open) = rest.find('{') {
            literal.push_str(&rest[..open]);
            let after = &rest[open..];
            if let Some(name) = named(after, "{{", "}}") {
                literal.push_str(&format!("{{{name}}}"));
                rest = &after[name.len() + 4..];
            } else if let Some(name) = named(after, "{", "}") {
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
                pieces.push(Piece::Name(name.to_owned()));
                rest = &after[name.len() + 2..];
            } else {
                literal.push('{');
                rest = &after[1..];
            }
        }
        literal.push_str(rest);
        pieces.push(Piece::Text(literal));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Self { pieces }
    }

    /// The names in it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Name(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The text with values in it; a value of several words has blanks between them.
    pub fn fill(&self, values: &dyn Fn(&str) -> Vec<String>) -> String {
        let filled = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Name(name) => values(name).join(" "),
        });
        filled.collect()
    }

    /// As arguments: a template that is one name alone becomes as many as its value has words.
    pub fn arguments(&self, values: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
        match self.pieces.as_slice() {
            [Piece::Name(name)] => values(name),
            _ => vec![self.fill(values)],
        }
    }
}

/// The name that `text` begins with between `open` and `close`.
fn named<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (name, _) = text.strip_prefix(open)?.split_once(close)?;
    is_reference(name).then_some(name)
}

/// Whether `{text}` is a name: of a parameter, or of a file, which may have dots and dashes.
pub fn is_reference(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && characters.all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// Whether a text can be a parameter's name.
pub fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && characters.all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(name: &str) -> Vec<String> {
        match name {
            "p" => vec!["4".into()],
            "text" => vec!["{p}; 'x' \"y\"\n$(z)".into()],
            "words" => vec!["-O3".into(), "-D A".into()],
            _ => vec![format!("<{name}>")],
        }
    }

    #[test]
    fn values_are_put_in_once_and_as_they_are() {
        assert_eq!(Template::parse("--n={text}-{p}").fill(&values), "--n={p}; 'x' \"y\"\n$(z)-4");
        assert_eq!(
            Template::parse("{literal brace} { {} {1} {{p}} }{p}{").fill(&values),
            "{literal brace} { {} {1} {p} }4{"
        );
        assert_eq!(Template::parse("{\"a\": {\"b\": {p}}}").fill(&values), "{\"a\": {\"b\": 4}}");
        assert_eq!(Template::parse("").arguments(&values), [""], "an empty argument is one");
    }

    #[test]
    fn several_words_are_several_arguments_only_where_they_stand_alone() {
        assert_eq!(Template::parse("{words}").arguments(&values), ["-O3", "-D A"]);
        assert_eq!(Template::parse("x{words}").arguments(&values), ["x-O3 -D A"]);
        assert_eq!(Template::parse("{p}{q}").names().collect::<Vec<_>>(), ["p", "q"]);
    }
}
