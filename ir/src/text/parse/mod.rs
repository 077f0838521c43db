//! Reads the text form. A statement that is wrong is reported and skipped, so that one run shows all errors.
//!
//! Errors go into `Parser::errors` where they are found; `Stop` only says that parsing can't go on from there. A
//! value whose definition failed is known but has no id: its uses fail without another report.

mod attr;
mod dim;
mod graph;
mod kernel;
mod node;
mod scalar;
mod tensor;

use super::WeightRef;
use super::lex::{self, Pos, Tok, Token};
use crate::diag::{Code, Diagnostic};
use crate::graph::Graph;
use crate::tensor::Tensor;
use crate::types::Symbol;
use indexmap::IndexMap;

/// Regions inside regions, lists inside lists, parentheses: beyond this the text is refused.
const MAX_DEPTH: usize = 100;

/// Errors beyond this add nothing.
const MAX_ERRORS: usize = 100;

/// Parsing can't go on here; the reason has been reported.
struct Stop;

type Parsed<T> = Result<T, Stop>;

type Weights<'a> = &'a dyn Fn(&WeightRef) -> Option<Tensor>;

struct Parser<'a> {
    tokens: Vec<Token>,
    /// How many braces are open at each token; a closing brace counts as outside.
    braces: Vec<usize>,
    at: usize,
    depth: usize,
    errors: Vec<Diagnostic>,
    weights: Weights<'a>,
    /// The symbols of the enclosing graphs, outermost first.
    scopes: Vec<Scope>,
}

#[derive(Default)]
struct Scope {
    symbols: IndexMap<String, (Symbol, Pos)>,
    /// Whether an unknown symbol becomes one of this graph: so in the types of inputs.
    open: bool,
}

pub(super) fn parse(text: &str, weights: Weights) -> Result<Graph, Vec<Diagnostic>> {
    let (tokens, errors) = lex::tokens(text);
    let braces = brace_depths(&tokens);
    let mut parser = Parser { tokens, braces, at: 0, depth: 0, errors, weights, scopes: Vec::new() };
    let graph = parser.graph();
    if graph.is_ok() && !matches!(parser.peek(), Tok::End) {
        let _ = parser.unexpected::<()>("the end of the text");
    }
    match graph {
        Ok(graph) if parser.errors.is_empty() => Ok(graph),
        _ => {
            parser.errors.truncate(MAX_ERRORS);
            Err(parser.errors)
        }
    }
}

fn brace_depths(tokens: &[Token]) -> Vec<usize> {
    let mut open = 0usize;
    let mut depth = |t: &Token| match t.tok {
        Tok::Punct("{") => {
            open += 1;
            open - 1
        }
        Tok::Punct("}") => {
            open = open.saturating_sub(1);
            open
        }
        _ => open,
    };
    tokens.iter().map(&mut depth).collect()
}

impl Parser<'_> {
    fn peek(&self) -> &Tok {
        &self.tokens[self.at].tok
    }

    /// The token after the next one.
    fn peek_second(&self) -> &Tok {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].tok
    }

    fn pos(&self) -> Pos {
        self.tokens[self.at].pos
    }

    /// Takes the next token; the last one, `End`, stays.
    fn next(&mut self) -> Tok {
        let tok = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        tok
    }

    fn report(&mut self, code: Code, pos: Pos, what: impl Into<String>) {
        self.errors.push(Diagnostic::error(code, what).at(pos));
    }

    fn fail<T>(&mut self, code: Code, pos: Pos, what: impl Into<String>) -> Parsed<T> {
        self.report(code, pos, what);
        Err(Stop)
    }

    fn syntax<T>(&mut self, pos: Pos, what: impl Into<String>) -> Parsed<T> {
        self.fail(Code::TextSyntax, pos, what)
    }

    fn invalid<T>(&mut self, pos: Pos, what: impl Into<String>) -> Parsed<T> {
        self.fail(Code::InvalidIr, pos, what)
    }

    fn unexpected<T>(&mut self, wanted: &str) -> Parsed<T> {
        let found = self.peek().to_string();
        self.syntax(self.pos(), format!("expected {wanted}, found {found}"))
    }

    fn is(&self, punct: &str) -> bool {
        matches!(self.peek(), Tok::Punct(p) if *p == punct)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Tok::Word(w) if w == word)
    }

    /// Takes the punctuation if it is next.
    fn eat(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        if found {
            self.next();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, punct: &str) -> Parsed<()> {
        if self.eat(punct) { Ok(()) } else { self.unexpected(&format!("`{punct}`")) }
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { self.unexpected(&format!("`{word}`")) }
    }

    fn word(&mut self) -> Parsed<String> {
        match self.peek().clone() {
            Tok::Word(w) => {
                self.next();
                Ok(w)
            }
            _ => self.unexpected("a word"),
        }
    }

    /// A word or a string.
    fn name(&mut self) -> Parsed<String> {
        match self.peek().clone() {
            Tok::Word(w) | Tok::Str(w) => {
                self.next();
                Ok(w)
            }
            _ => self.unexpected("a name"),
        }
    }

    fn at_name(&mut self) -> Parsed<String> {
        match self.peek().clone() {
            Tok::At(w) => {
                self.next();
                Ok(w)
            }
            _ => self.unexpected("`@` and a name"),
        }
    }

    fn string(&mut self) -> Parsed<String> {
        match self.peek().clone() {
            Tok::Str(s) => {
                self.next();
                Ok(s)
            }
            _ => self.unexpected("a string"),
        }
    }

    /// An integer with an optional sign.
    fn integer(&mut self) -> Parsed<i64> {
        let pos = self.pos();
        let sign = if self.eat("-") { "-" } else { "" };
        match self.peek().clone() {
            Tok::Int(digits) => {
                self.next();
                match format!("{sign}{digits}").parse() {
                    Ok(v) => Ok(v),
                    Err(_) => self.syntax(pos, "the number leaves the 64-bit range"),
                }
            }
            _ => self.unexpected("an integer"),
        }
    }

    fn natural(&mut self) -> Parsed<usize> {
        let pos = self.pos();
        let v = self.integer()?;
        match usize::try_from(v) {
            Ok(v) => Ok(v),
            Err(_) => self.syntax(pos, "expected a natural number"),
        }
    }

    /// Items between an opening punctuation, which is taken already, and `close`.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut out = Vec::new();
        if self.eat(close) {
            return Ok(out);
        }
        loop {
            out.push(item(self)?);
            if self.eat(close) {
                return Ok(out);
            }
            if !self.eat(",") {
                return self.unexpected(&format!("`,` or `{close}`"));
            }
        }
    }

    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            let pos = self.pos();
            return self.syntax(pos, format!("nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// The symbol of that name, of the innermost graph that has it.
    fn symbol(&self, name: &str) -> Option<Symbol> {
        self.scopes.iter().rev().find_map(|s| s.symbols.get(name)).map(|(s, _)| s.clone())
    }
}
