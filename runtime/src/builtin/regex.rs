//! A small regular expression engine: whole-string matching only, so no captures and no preference between matches.
//! Patterns become a program whose possible states are followed all at once, in time linear in the text.

use std::iter::Peekable;
use std::str::Chars;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Regex {
    program: Vec<Inst>,
}

#[derive(Clone, Debug)]
enum Inst {
    /// Takes one character.
    Set(Set),
    /// Goes on at both places.
    Split(usize, usize),
    Jump(usize),
    Assert(Assertion),
    Match,
}

/// Ranges of characters, or all others.
#[derive(Clone, Debug, PartialEq)]
struct Set {
    ranges: Vec<(char, char)>,
    negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Assertion {
    Start,
    End,
    WordBoundary,
    NotWordBoundary,
}

/// A parsed pattern.
#[derive(Clone, Debug)]
enum Node {
    Set(Set),
    Assert(Assertion),
    Concat(Vec<Node>),
    Either(Vec<Node>),
    /// At least and at most so many times.
    Repeat(Box<Node>, u32, Option<u32>),
}

/// Largest repeat count, as in RE2, and largest program.
const MAX_REPEAT: u32 = 1000;
const MAX_PROGRAM: usize = 20_000;
/// How deep groups nest: the parser recurses.
const MAX_DEPTH: u32 = 100;

type Parsed<T> = Result<T, String>;

impl Regex {
    /// Compiles RE2's syntax without flags, named classes and Unicode classes, which are errors.
    pub fn new(pattern: &str) -> Parsed<Regex> {
        let mut parser = Parser { rest: pattern.chars().peekable(), depth: 0 };
        let node = parser.alternatives()?;
        if parser.rest.peek().is_some() {
            return Err("a closing parenthesis without an opening one".into());
        }
        let mut program = Vec::new();
        emit(&node, &mut program)?;
        program.push(Inst::Match);
        Ok(Regex { program })
    }

    /// Whether the pattern matches all of the text.
    pub fn matches(&self, text: &str) -> bool {
        let mut now = States::new(self.program.len());
        let mut next = States::new(self.program.len());
        let mut rest = text.chars();
        let mut character = rest.next();
        self.follow(0, &mut now, None, character);
        while let Some(c) = character {
            let after = rest.next();
            for &at in &now.list {
                if let Inst::Set(set) = &self.program[at]
                    && set.contains(c)
                {
                    self.follow(at + 1, &mut next, Some(c), after);
                }
            }
            std::mem::swap(&mut now, &mut next);
            next.clear();
            character = after;
        }
        now.list.iter().any(|&at| matches!(self.program[at], Inst::Match))
    }

    /// Adds the states that can be reached from one without taking a character.
    fn follow(&self, start: usize, states: &mut States, before: Option<char>, after: Option<char>) {
        let mut todo = vec![start];
        while let Some(at) = todo.pop() {
            if std::mem::replace(&mut states.seen[at], true) {
                continue;
            }
            match self.program[at] {
                Inst::Jump(to) => todo.push(to),
                Inst::Split(a, b) => todo.extend([b, a]),
                Inst::Assert(assertion) if assertion.holds(before, after) => todo.push(at + 1),
                Inst::Assert(_) => {}
                Inst::Set(_) | Inst::Match => states.list.push(at),
            }
        }
    }
}

struct States {
    list: Vec<usize>,
    seen: Vec<bool>,
}

impl States {
    fn new(len: usize) -> States {
        States { list: Vec::new(), seen: vec![false; len] }
    }

    fn clear(&mut self) {
        self.list.clear();
        self.seen.fill(false);
    }
}

impl Set {
    fn of(ranges: &[(char, char)]) -> Set {
        Set { ranges: ranges.into(), negated: false }
    }

    fn contains(&self, c: char) -> bool {
        self.ranges.iter().any(|&(low, high)| (low..=high).contains(&c)) != self.negated
    }
}

impl Assertion {
    fn holds(self, before: Option<char>, after: Option<char>) -> bool {
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        match self {
            Assertion::Start => before.is_none(),
            Assertion::End => after.is_none(),
            Assertion::WordBoundary => is_word(before) != is_word(after),
            Assertion::NotWordBoundary => is_word(before) == is_word(after),
        }
    }
}

fn emit(node: &Node, program: &mut Vec<Inst>) -> Parsed<()> {
    if program.len() > MAX_PROGRAM {
        return Err("the pattern is too large".into());
    }
    match node {
        Node::Set(set) => program.push(Inst::Set(set.clone())),
        Node::Assert(assertion) => program.push(Inst::Assert(*assertion)),
        Node::Concat(nodes) => nodes.iter().try_for_each(|node| emit(node, program))?,
        Node::Either(nodes) => {
            let mut ends = Vec::new();
            for (at, node) in nodes.iter().enumerate() {
                let split = program.len();
                let is_last = at + 1 == nodes.len();
                if !is_last {
                    program.push(Inst::Split(split + 1, 0));
                }
                emit(node, program)?;
                if !is_last {
                    ends.push(program.len());
                    program.push(Inst::Jump(0));
                    program[split] = Inst::Split(split + 1, program.len());
                }
            }
            for end in ends {
                program[end] = Inst::Jump(program.len());
            }
        }
        Node::Repeat(node, least, most) => {
            for _ in 0..*least {
                let before = program.len();
                emit(node, program)?;
                // What matches nothing but the empty string needn't be repeated, however often is asked for.
                if program.len() == before {
                    break;
                }
            }
            let Some(most) = most else {
                let split = program.len();
                program.push(Inst::Split(split + 1, 0));
                emit(node, program)?;
                program.push(Inst::Jump(split));
                program[split] = Inst::Split(split + 1, program.len());
                return Ok(());
            };
            let mut splits = Vec::new();
            for _ in *least..*most {
                splits.push(program.len());
                program.push(Inst::Split(program.len() + 1, 0));
                emit(node, program)?;
            }
            for split in splits {
                program[split] = Inst::Split(split + 1, program.len());
            }
        }
    }
    Ok(())
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    depth: u32,
}

impl Parser<'_> {
    fn alternatives(&mut self) -> Parsed<Node> {
        let mut all = vec![self.sequence()?];
        while self.rest.next_if_eq(&'|').is_some() {
            all.push(self.sequence()?);
        }
        Ok(Node::Either(all))
    }

    fn sequence(&mut self) -> Parsed<Node> {
        let mut nodes = Vec::new();
        while let Some(&c) = self.rest.peek() {
            if matches!(c, '|' | ')') {
                break;
            }
            let atom = self.atom()?;
            nodes.push(self.repeats(atom)?);
        }
        Ok(Node::Concat(nodes))
    }

    fn atom(&mut self) -> Parsed<Node> {
        Ok(match self.rest.next() {
            Some('(') => self.group()?,
            Some('[') => Node::Set(self.class()?),
            Some('.') => Node::Set(Set { ranges: vec![('\n', '\n')], negated: true }),
            Some('^') => Node::Assert(Assertion::Start),
            Some('$') => Node::Assert(Assertion::End),
            Some('\\') => self.escape()?,
            Some(c @ ('*' | '+' | '?')) => return Err(format!("{c} repeats nothing")),
            Some(c) => Node::Set(Set::of(&[(c, c)])),
            None => return Err("the pattern ends too early".into()),
        })
    }

    fn group(&mut self) -> Parsed<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("groups nest too deep".into());
        }
        if self.rest.next_if_eq(&'?').is_some() {
            match self.rest.next() {
                Some(':') => {}
                Some('P') => {
                    self.rest.next_if_eq(&'<').ok_or("(?P is followed by no name")?;
                    while self.rest.next().ok_or("a group's name has no end")? != '>' {}
                }
                _ => return Err("flags of groups aren't supported".into()),
            }
        }
        let node = self.alternatives()?;
        self.rest.next_if_eq(&')').ok_or("a parenthesis isn't closed")?;
        self.depth -= 1;
        Ok(node)
    }

    /// Quantifiers after an atom. A lazy one matches the same whole strings as a greedy one.
    fn repeats(&mut self, mut node: Node) -> Parsed<Node> {
        loop {
            let (least, most) = match self.rest.peek() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                Some('{') => match self.counts()? {
                    Some(counts) => counts,
                    None => return Ok(node),
                },
                _ => return Ok(node),
            };
            // The counts' closing brace, or the sign.
            self.rest.next();
            self.rest.next_if_eq(&'?');
            node = Node::Repeat(Box::new(node), least, most);
        }
    }

    /// The counts of `{2}`, `{2,}` or `{2,5}`, up to the closing brace. Anything else in braces is literal text.
    fn counts(&mut self) -> Parsed<Option<(u32, Option<u32>)>> {
        let text: String = self.rest.clone().skip(1).take_while(|&c| c != '}').collect();
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
        let counts = match text.split_once(',') {
            None => number(&text).map(|n| (n, Some(n))),
            Some((least, "")) => number(least).map(|n| (n, None)),
            Some((least, most)) => number(least).zip(number(most)).map(|(least, most)| (least, Some(most))),
        };
        let is_closed = self.rest.clone().nth(text.chars().count() + 1) == Some('}');
        let Some((least, most)) = counts.filter(|_| is_closed) else { return Ok(None) };
        if least.max(most.unwrap_or(0)) > MAX_REPEAT || most.is_some_and(|most| most < least) {
            return Err(format!("{{{text}}} isn't a count from 0 to {MAX_REPEAT}"));
        }
        for _ in 0..=text.chars().count() {
            self.rest.next();
        }
        Ok(Some((least, most)))
    }

    fn escape(&mut self) -> Parsed<Node> {
        let c = self.rest.next().ok_or("the pattern ends in a backslash")?;
        let assertion = match c {
            'A' => Assertion::Start,
            'z' => Assertion::End,
            'b' => Assertion::WordBoundary,
            'B' => Assertion::NotWordBoundary,
            _ => return self.escaped_set(c).map(Node::Set),
        };
        Ok(Node::Assert(assertion))
    }

    /// The characters that a backslash and a letter stand for.
    fn escaped_set(&mut self, c: char) -> Parsed<Set> {
        let one = |c: char| Set::of(&[(c, c)]);
        let mut set = match c.to_ascii_lowercase() {
            'd' => Set::of(&[('0', '9')]),
            'w' => Set::of(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]),
            's' => Set::of(&[('\t', '\n'), ('\x0c', '\r'), (' ', ' ')]),
            _ => {
                return Ok(match c {
                    'n' => one('\n'),
                    't' => one('\t'),
                    'r' => one('\r'),
                    'f' => one('\x0c'),
                    'v' => one('\x0b'),
                    'a' => one('\x07'),
                    'x' => one(self.hex()?),
                    c if c.is_ascii_alphanumeric() => return Err(format!("\\{c} isn't supported")),
                    c => one(c),
                });
            }
        };
        set.negated = c.is_ascii_uppercase();
        Ok(set)
    }

    /// Two hexadecimal digits, or any number in braces.
    fn hex(&mut self) -> Parsed<char> {
        let digits: String = if self.rest.next_if_eq(&'{').is_some() {
            self.rest.by_ref().take_while(|&c| c != '}').collect()
        } else {
            self.rest.by_ref().take(2).collect()
        };
        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
        code.ok_or_else(|| format!("\\x{digits} is no character"))
    }

    /// A class in brackets, after the opening one.
    fn class(&mut self) -> Parsed<Set> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges = Vec::new();
        let mut is_first = true;
        loop {
            let c = self.rest.next().ok_or("a bracket isn't closed")?;
            let low = match c {
                ']' if !is_first => break,
                '[' if self.rest.peek() == Some(&':') => return Err("named classes aren't supported".into()),
                '\\' => {
                    let c = self.rest.next().ok_or("the pattern ends in a backslash")?;
                    let set = self.escaped_set(c)?;
                    match set.ranges[..] {
                        [(low, high)] if low == high && !set.negated => low,
                        _ => {
                            ranges.extend(complement_if(set));
                            is_first = false;
                            continue;
                        }
                    }
                }
                c => c,
            };
            is_first = false;
            let mut ahead = self.rest.clone();
            let is_range = ahead.next() == Some('-') && !matches!(ahead.next(), Some(']') | None);
            if !is_range {
                ranges.push((low, low));
                continue;
            }
            self.rest.next();
            let high = match self.rest.next() {
                Some('\\') => {
                    let c = self.rest.next().ok_or("the pattern ends in a backslash")?;
                    match self.escaped_set(c)?.ranges[..] {
                        [(low, high)] if low == high => low,
                        _ => return Err("a range ends in a class".into()),
                    }
                }
                Some(c) => c,
                None => return Err("a bracket isn't closed".into()),
            };
            if high < low {
                return Err(format!("the range {low}-{high} is empty"));
            }
            ranges.push((low, high));
        }
        Ok(Set { ranges, negated })
    }
}

/// The ranges of a set; of a negated one, those between its ranges, which are in order.
fn complement_if(set: Set) -> Vec<(char, char)> {
    if !set.negated {
        return set.ranges;
    }
    let mut outside = Vec::new();
    let mut start = 0u32;
    for (low, high) in set.ranges {
        if let (Some(from), Some(to)) =
            (char::from_u32(start), (low as u32).checked_sub(1).and_then(char::from_u32))
            && from <= to
        {
            outside.push((from, to));
        }
        start = high as u32 + 1;
    }
    outside.extend(char::from_u32(start).map(|from| (from, char::MAX)));
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}")).matches(text)
    }

    #[test]
    fn whole_strings_match() {
        let cases = [
            (r"www\.[\w.-]+\.\bcom\b", "www.google.com", true),
            (r"www\.[\w.-]+\.\bcom\b", "www.facebook.com", true),
            (r"www\.[\w.-]+\.\bcom\b", "www.bbc.co.uk", false),
            (r"(\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$)", "account@gmail.com", true),
            (r"(\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$)", "account@hotmail.com", false),
            ("a|bc*", "bccc", true),
            ("a|bc*", "ac", false),
            ("", "", true),
            ("", "x", false),
            ("(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false),
            ("x{2,3}", "x", false),
            ("x{2,3}?", "xxx", true),
            ("x{2,}", "xxxxx", true),
            ("x{a", "x{a", true),
            ("[^a-c]+", "xyz", true),
            ("[^a-c]+", "xbz", false),
            (r"[\D]", "7", false),
            (r"[\Dx]", "ä", true),
            ("[]a-]+", "]-a", true),
            (r"\x41\x{e4}", "Aä", true),
            (".", "\n", false),
            ("(?:a(?P<n>b))+", "abab", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text:?}");
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for pattern in [
            "(",
            ")",
            "[a",
            "*",
            "a{9999}",
            r"\p",
            "(?i)a",
            "[[:alpha:]]",
            r"\",
            "((a{1000}){1000}){1000}",
            r"[z-a]",
        ] {
            assert!(Regex::new(pattern).is_err(), "{pattern}");
        }
        assert!(Regex::new("(((){1000}){1000}){1000}").is_ok(), "and quick");
        assert!(Regex::new(&"(".repeat(100_000)).is_err());
    }
}
