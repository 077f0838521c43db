//! Splits the text into tokens, each with its place.

use crate::diag::{Code, Diagnostic};
use std::fmt;

/// Line and column, both from 1; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pos {
    pub line: u32,
    pub column: u32,
}

impl fmt::Display for Pos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Tok {
    Word(String),
    /// `%name`; `%12` has `quoted` false and stands for a value without a name.
    Value {
        name: String,
        named: bool,
    },
    /// `@name`
    At(String),
    /// `$"name"`
    Symbol(String),
    Str(String),
    /// Digits.
    Int(String),
    /// A decimal number with point or exponent.
    Float(String),
    /// `0x...`: raw bits.
    Hex(u128),
    /// `#...`: a content hash.
    Hash(u64),
    Punct(&'static str),
    End,
}

impl fmt::Display for Tok {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tok::Word(w) | Tok::Int(w) | Tok::Float(w) => write!(f, "`{w}`"),
            Tok::Value { name, .. } => write!(f, "`%{name}`"),
            Tok::At(name) => write!(f, "`@{name}`"),
            Tok::Symbol(name) => write!(f, "symbol `{name}`"),
            Tok::Str(_) => f.write_str("a string"),
            Tok::Hex(bits) => write!(f, "`0x{bits:x}`"),
            Tok::Hash(_) => f.write_str("a hash"),
            Tok::Punct(p) => write!(f, "`{p}`"),
            Tok::End => f.write_str("the end of the text"),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token {
    pub tok: Tok,
    pub pos: Pos,
    /// Whether it is the first token of its line.
    pub begins_line: bool,
}

/// Longest first.
const PUNCTUATION: [&str; 26] = [
    "..=", "->", "==", "!=", "<=", ">=", "..", "(", ")", "{", "}", "[", "]", ",", ":", "=", "+", "-", "*",
    "/", "<", ">", "?", "&", "|", "^",
];

/// All tokens, ending with `End`, and what couldn't be read.
pub(super) fn tokens(text: &str) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut lexer = Lexer { rest: text, pos: Pos { line: 1, column: 1 }, begins_line: true };
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    loop {
        lexer.blanks();
        let (pos, begins_line) = (lexer.pos, lexer.begins_line);
        lexer.begins_line = false;
        match lexer.token() {
            Ok(tok) => {
                let end = tok == Tok::End;
                out.push(Token { tok, pos, begins_line });
                if end {
                    return (out, errors);
                }
            }
            Err(what) => errors.push(Diagnostic::error(Code::TextSyntax, what).at(pos)),
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    pos: Pos,
    begins_line: bool,
}

impl<'a> Lexer<'a> {
    /// Takes the next `n` bytes.
    fn take(&mut self, n: usize) -> &'a str {
        let (head, rest) = self.rest.split_at(n);
        for c in head.chars() {
            if c == '\n' {
                self.pos = Pos { line: self.pos.line + 1, column: 1 };
                self.begins_line = true;
            } else {
                self.pos.column += 1;
            }
        }
        self.rest = rest;
        head
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let n = self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len());
        self.take(n)
    }

    fn blanks(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest.starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn token(&mut self) -> Result<Tok, String> {
        let Some(c) = self.rest.chars().next() else { return Ok(Tok::End) };
        match c {
            'a'..='z' | 'A'..='Z' | '_' => Ok(Tok::Word(self.word())),
            '0'..='9' => self.number(),
            '"' => self.string().map(Tok::Str),
            '%' => {
                self.take(1);
                let digits = self.take_while(|c| c.is_ascii_digit());
                if digits.is_empty() {
                    Ok(Tok::Value { name: self.name()?, named: true })
                } else {
                    Ok(Tok::Value { name: digits.to_string(), named: false })
                }
            }
            '@' => {
                self.take(1);
                self.name().map(Tok::At)
            }
            '$' => {
                self.take(1);
                self.name().map(Tok::Symbol)
            }
            '#' => {
                self.take(1);
                let digits = self.take_while(|c| c.is_ascii_hexdigit());
                u64::from_str_radix(digits, 16)
                    .map(Tok::Hash)
                    .map_err(|_| "expected a hash after `#`".to_string())
            }
            _ => match PUNCTUATION.iter().find(|p| self.rest.starts_with(**p)) {
                Some(p) => {
                    self.take(p.len());
                    Ok(Tok::Punct(p))
                }
                None => {
                    self.take(c.len_utf8());
                    Err(format!("unexpected character {c:?}"))
                }
            },
        }
    }

    /// A word; a dot belongs to it only between word characters.
    fn word(&mut self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut out = self.take_while(plain).to_string();
        while self.rest.strip_prefix('.').is_some_and(|r| r.starts_with(plain)) {
            self.take(1);
            out.push('.');
            out.push_str(self.take_while(plain));
        }
        out
    }

    fn name(&mut self) -> Result<String, String> {
        match self.rest.chars().next() {
            Some('"') => self.string(),
            Some('a'..='z' | 'A'..='Z' | '_') => Ok(self.word()),
            _ => Err("expected a name".to_string()),
        }
    }

    fn number(&mut self) -> Result<Tok, String> {
        if self.rest.starts_with("0x") {
            self.take(2);
            let digits = self.take_while(|c| c.is_ascii_hexdigit());
            return u128::from_str_radix(digits, 16)
                .map(Tok::Hex)
                .map_err(|_| "these bits can't be read".to_string());
        }
        let digit = |c: char| c.is_ascii_digit();
        let mut text = self.take_while(digit).to_string();
        let mut float = false;
        // `1..=32` has no fraction.
        if self.rest.strip_prefix('.').is_some_and(|r| r.starts_with(digit)) {
            float = true;
            text.push_str(self.take(1));
            text.push_str(self.take_while(digit));
        }
        let exponent = self.rest.strip_prefix(['e', 'E']).map(|r| r.strip_prefix(['+', '-']).unwrap_or(r));
        if let Some(after) = exponent.filter(|r| r.starts_with(digit)) {
            float = true;
            let n = self.rest.len() - after.len();
            text.push_str(self.take(n));
            text.push_str(self.take_while(digit));
        }
        Ok(if float { Tok::Float(text) } else { Tok::Int(text) })
    }

    /// A string that ends on its line.
    fn string(&mut self) -> Result<String, String> {
        self.take(1);
        let mut out = String::new();
        loop {
            out.push_str(self.take_while(|c| !matches!(c, '"' | '\\' | '\n')));
            match self.rest.chars().next() {
                Some('"') => {
                    self.take(1);
                    return Ok(out);
                }
                Some('\\') => {
                    self.take(1);
                    match self.escape() {
                        Some(c) => out.push(c),
                        None => return Err("unknown escape in a string".to_string()),
                    }
                }
                _ => return Err("the string doesn't end on its line".to_string()),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let c = self.rest.chars().next().filter(|c| *c != '\n')?;
        self.take(c.len_utf8());
        match c {
            '"' | '\\' => Some(c),
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'u' => {
                let end = self.rest.strip_prefix('{')?.find('}')?;
                let code = u32::from_str_radix(self.rest.get(1..=end)?, 16).ok()?;
                self.take(end + 2);
                char::from_u32(code)
            }
            _ => None,
        }
    }
}
