//! The directives of a lit file: RUN (a trailing `\` continues on the next RUN line), REQUIRES and XFAIL.
//!
//! A directive may stand anywhere in a line, after whatever starts a comment there. Nothing else of lit is known.

use libtest_mimic::{Failed, Trial};

/// What a test file asks for.
#[derive(Debug, Default, PartialEq)]
pub struct Directives {
    /// Commands in order, continuations joined, substitutions not yet made.
    pub run: Vec<String>,
    /// Features that must all be there, else the test is ignored.
    pub requires: Vec<String>,
    /// Features any of which makes failure the expected result; `*` is always there.
    pub xfail: Vec<String>,
}

impl Directives {
    /// Reads the directives of `text`; an error if there is no RUN line or a continuation has no end.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut found = Self::default();
        let mut open = false;
        for line in text.lines() {
            if let Some(command) = after(line, "RUN:") {
                let (command, continues) = match command.strip_suffix('\\') {
                    Some(rest) => (rest.trim_end(), true),
                    None => (command, false),
                };
                match found.run.last_mut() {
                    Some(last) if open => {
                        last.push(' ');
                        last.push_str(command);
                    }
                    _ => found.run.push(command.to_string()),
                }
                open = continues;
            } else if let Some(words) = after(line, "REQUIRES:") {
                found.requires.extend(list(words));
            } else if let Some(words) = after(line, "XFAIL:") {
                found.xfail.extend(list(words));
            }
        }
        if open {
            return Err("the last RUN line ends with \\, but no RUN line follows".into());
        }
        if found.run.is_empty() {
            return Err("no RUN line".into());
        }
        Ok(found)
    }
}

/// The text after `keyword`, if the line has it as a word of its own (not as the end of another, such as `MY-RUN:`).
fn after<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let at = line.find(keyword)?;
    let before = line[..at].chars().next_back();
    let own_word = before.is_none_or(|c| !(c.is_alphanumeric() || c == '-' || c == '_'));
    own_word.then(|| line[at + keyword.len()..].trim())
}

fn list(words: &str) -> impl Iterator<Item = String> {
    words.split(',').map(|word| word.trim().to_string())
}

/// The parser's own tests. They are trials because a target without libtest's harness runs no `#[test]`.
pub fn self_tests() -> Vec<Trial> {
    let check = |name: &str, text: &'static str, want: Result<Directives, &'static str>| {
        Trial::test(format!("runner::directives::{name}"), move || {
            let got = Directives::parse(text);
            let same = match (&got, &want) {
                (Ok(got), Ok(want)) => got == want,
                (Err(got), Err(want)) => got.contains(want),
                _ => false,
            };
            if same { Ok(()) } else { Err(Failed::from(format!("wanted {want:?}, got {got:?}"))) }
        })
    };
    let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    vec![
        check(
            "continuation_joins_lines",
            "// RUN: a \\\n// RUN:   | b\n; RUN: c",
            Ok(Directives { run: words(&["a | b", "c"]), ..Directives::default() }),
        ),
        check(
            "lists_are_split_at_commas",
            "# RUN: a\n# REQUIRES: cpu, ptx\n# REQUIRES: spirv\n# XFAIL: *",
            Ok(Directives {
                run: words(&["a"]),
                requires: words(&["cpu", "ptx", "spirv"]),
                xfail: words(&["*"]),
            }),
        ),
        check("keyword_is_a_word", "// DRY-RUN: a", Err("no RUN line")),
        check("continuation_needs_an_end", "// RUN: a \\", Err("ends with \\")),
    ]
}
