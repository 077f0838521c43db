//! Reads a graph: signature, symbols, statements. The symbols stand last in the signature but are needed first, so
//! the parser looks ahead for them; the types of results are read when the symbols of the body are known.

use super::{Parsed, Parser, Scope, Stop};
use crate::graph::{Graph, SymbolSource, ValueId};
use crate::text::lex::{Pos, Tok};
use crate::text::scope::natural_symbols;
use crate::types::{Symbol, Type};
use indexmap::IndexMap;

/// The name of a value in the text, and whether it is a name (`%x`, `%"12"`) or a number (`%12`).
pub(super) type Label = (String, bool);

/// A graph in the making.
pub(super) struct Draft {
    pub graph: Graph,
    /// None: its definition is wrong.
    pub values: IndexMap<Label, Option<ValueId>>,
}

/// An entry of `where`.
struct Fact {
    symbol: Symbol,
    pos: Pos,
    source: Stated,
}

/// Where an entry says that a symbol comes from.
enum Stated {
    /// Nowhere: from an input's type.
    Nothing,
    /// `= ?`
    Free,
    Dim(Label, usize, Pos),
    Elem(Label, usize, Pos),
}

/// Stands in for the source of a symbol until its value is read.
const PENDING: SymbolSource = SymbolSource::Axis { value: ValueId(u32::MAX), axis: 0 };

impl Parser<'_> {
    /// A graph, from the word `graph` to its closing brace.
    pub(super) fn graph(&mut self) -> Parsed<Graph> {
        self.nested(|p| {
            p.scopes.push(Scope::default());
            let result = p.graph_in_scope();
            p.scopes.pop();
            result
        })
    }

    fn graph_in_scope(&mut self) -> Parsed<Graph> {
        self.expect_word("graph")?;
        let graph = Graph::new(self.at_name()?);
        let mut draft = Draft { graph, values: IndexMap::new() };
        let facts = self.facts_ahead()?;
        self.inputs(&mut draft)?;
        let results = self.is("->").then_some(self.at);
        self.skip_to(&["prefix", "where"]);
        if self.eat_word("prefix") {
            draft.graph.prefix = self.string()?;
        }
        self.declare(&mut draft, &facts)?;
        self.skip_to(&[]);
        self.expect("{")?;
        let (n_errors, depth) = (self.errors.len(), self.braces[self.at - 1] + 1);
        self.statements(&mut draft, depth)?;
        let end = self.at;
        if self.errors.len() > n_errors {
            return Err(Stop);
        }
        if let Some(at) = results {
            self.at = at;
            self.results(&draft)?;
        }
        self.at = end;
        self.bind_symbols(&mut draft, &facts)?;
        Ok(draft.graph)
    }

    /// Moves to the graph's opening brace or, before it, to one of the words.
    fn skip_to(&mut self, words: &[&str]) {
        let stop = |t: &Tok| match t {
            Tok::Punct("{") | Tok::End => true,
            Tok::Word(w) => words.contains(&w.as_str()),
            _ => false,
        };
        while !stop(self.peek()) {
            self.next();
        }
    }

    /// Reads the `where` clause ahead and comes back.
    fn facts_ahead(&mut self) -> Parsed<Vec<Fact>> {
        let start = self.at;
        self.skip_to(&["where"]);
        let mut facts: Vec<Fact> = Vec::new();
        if self.eat_word("where") {
            loop {
                let fact = self.fact()?;
                let name = fact.symbol.name.to_string();
                let scope = self.scopes.last_mut().expect("inside a graph");
                if scope.symbols.insert(name, (fact.symbol.clone(), fact.pos)).is_some() {
                    return self
                        .invalid(fact.pos, format!("symbol `{}` is declared twice", fact.symbol.name));
                }
                facts.push(fact);
                if !self.eat(",") {
                    break;
                }
            }
            if !self.is("{") {
                return self.unexpected("`,` or `{`");
            }
        }
        self.at = start;
        Ok(facts)
    }

    /// `N = dim(%x, 0) in 1..=32`, with source and range optional.
    fn fact(&mut self) -> Parsed<Fact> {
        let pos = self.pos();
        let name = match self.peek().clone() {
            Tok::Word(name) | Tok::Symbol(name) => name,
            _ => return self.unexpected("a symbol"),
        };
        self.next();
        let source = if self.eat("=") { self.source()? } else { Stated::Nothing };
        let (mut lo, mut hi) = (0, None);
        if self.eat_word("in") {
            lo = self.integer()?;
            if self.eat("..=") {
                hi = Some(self.integer()?);
            } else {
                self.expect("..")?;
            }
        }
        if hi.is_some_and(|hi| hi < lo) {
            return self.invalid(pos, format!("the range of `{name}` is empty"));
        }
        Ok(Fact { symbol: Symbol::bounded(name, lo, hi), pos, source })
    }

    fn source(&mut self) -> Parsed<Stated> {
        if self.eat("?") {
            return Ok(Stated::Free);
        }
        let pos = self.pos();
        let make = match self.peek() {
            Tok::Word(w) if w == "dim" => Stated::Dim as fn(Label, usize, Pos) -> Stated,
            Tok::Word(w) if w == "elem" => Stated::Elem,
            _ => return self.unexpected("`dim`, `elem` or `?`"),
        };
        self.next();
        self.expect("(")?;
        let label = self.label()?;
        self.expect(",")?;
        let place = self.natural()?;
        self.expect(")")?;
        Ok(make(label, place, pos))
    }

    pub(super) fn label(&mut self) -> Parsed<Label> {
        match self.peek().clone() {
            Tok::Value { name, named } => {
                self.next();
                Ok((name, named))
            }
            _ => self.unexpected("a value"),
        }
    }

    /// A label where a value is defined, and the value's name.
    pub(super) fn definition(&mut self) -> Parsed<(Label, Option<String>)> {
        let label = self.label()?;
        let name = if self.eat_word("as") { Some(self.name()?) } else { label.1.then(|| label.0.clone()) };
        Ok((label, name))
    }

    fn inputs(&mut self, draft: &mut Draft) -> Parsed<()> {
        self.expect("(")?;
        self.scope().open = true;
        let inputs = self.list(")", |p| {
            let pos = p.pos();
            let (label, name) = p.definition()?;
            p.expect(":")?;
            let ty = p.ty()?;
            let elems = p.holds(&ty)?.flatten();
            let id = draft.graph.push_input(name, ty);
            draft.graph.set_elems(id, elems);
            if draft.values.insert(label.clone(), Some(id)).is_some() {
                return p.invalid(pos, format!("%{} is defined twice", label.0));
            }
            Ok(())
        });
        self.scope().open = false;
        inputs.map(|_| ())
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("inside a graph")
    }

    /// Gives the graph its symbols; sources in the body are pending.
    fn declare(&mut self, draft: &mut Draft, facts: &[Fact]) -> Parsed<()> {
        let types: Vec<Type> = draft.graph.inputs().iter().map(|v| draft.graph.ty(*v).clone()).collect();
        let (own, outer) = self.scopes.split_last().expect("inside a graph");
        let natural = natural_symbols(&types, &|n| {
            outer.iter().any(|s| s.symbols.contains_key(n)) && !own.symbols.contains_key(n)
        });
        let stated = |name: &str| facts.iter().find(|f| *f.symbol.name == *name).map(|f| &f.source);
        let mut symbols: Vec<(Symbol, SymbolSource)> = natural
            .into_iter()
            .filter(|(s, _)| matches!(stated(&s.name), None | Some(Stated::Nothing)))
            .collect();
        let mut homeless = Vec::new();
        for (symbol, pos) in own.symbols.values() {
            if symbols.iter().any(|(s, _)| s.name == symbol.name) {
                continue;
            }
            match stated(&symbol.name) {
                None | Some(Stated::Nothing) => homeless.push((symbol.name.clone(), *pos)),
                Some(_) => symbols.push((symbol.clone(), PENDING)),
            }
        }
        draft.graph.set_symbols(symbols);
        if homeless.is_empty() {
            return Ok(());
        }
        for (name, pos) in homeless {
            let what = format!("symbol `{name}` gets no value: no input has it as a whole extent");
            self.report(crate::diag::Code::InvalidIr, pos, what);
        }
        Err(Stop)
    }

    /// Puts the stated sources in place of the pending ones.
    fn bind_symbols(&mut self, draft: &mut Draft, facts: &[Fact]) -> Parsed<()> {
        let mut symbols = draft.graph.symbols().to_vec();
        for fact in facts {
            let (label, place, pos) = match &fact.source {
                Stated::Nothing => continue,
                Stated::Free => {
                    symbols.retain(|(s, _)| s.name != fact.symbol.name);
                    continue;
                }
                Stated::Dim(label, place, pos) | Stated::Elem(label, place, pos) => (label, *place, *pos),
            };
            let value = self.value(draft, label, pos)?;
            let ty = draft.graph.ty(value);
            let size = match (&fact.source, ty) {
                (Stated::Dim(..), Type::Tensor(t)) => t.rank(),
                (_, Type::Tensor(t)) if t.dtype.is_int() || t.dtype == crate::DType::Bool => {
                    t.static_shape().and_then(|s| crate::tensor::n_elements(&s)).unwrap_or(0)
                }
                _ => 0,
            };
            if place >= size {
                return self.invalid(pos, format!("%{} is {ty}: it has no such extent or element", label.0));
            }
            let input = draft.graph.inputs().iter().position(|v| *v == value);
            let source = match (&fact.source, input) {
                (Stated::Dim(..), Some(input)) => SymbolSource::Input { input, axis: place },
                (Stated::Dim(..), None) => SymbolSource::Axis { value, axis: place },
                _ => SymbolSource::Elem { value, index: place },
            };
            let slot = symbols.iter_mut().find(|(s, _)| s.name == fact.symbol.name);
            slot.expect("declared before the body").1 = source;
        }
        draft.graph.set_symbols(symbols);
        Ok(())
    }

    /// The value behind a label. Fails without a report when its definition failed.
    pub(super) fn value(&mut self, draft: &Draft, label: &Label, pos: Pos) -> Parsed<ValueId> {
        match draft.values.get(label) {
            Some(Some(id)) => Ok(*id),
            Some(None) => Err(Stop),
            None => self.invalid(pos, format!("%{} isn't defined before its use", label.0)),
        }
    }

    /// Statements up to the closing brace.
    fn statements(&mut self, draft: &mut Draft, depth: usize) -> Parsed<()> {
        loop {
            let start = self.at;
            match self.peek() {
                Tok::Word(w) if w == "return" => {
                    let result = self.returned(draft);
                    if result.is_err() {
                        self.recover(start, depth);
                    }
                    return self.expect("}");
                }
                Tok::Word(_) | Tok::Value { .. } => {
                    if self.statement(draft).is_err() {
                        self.recover(start, depth);
                    }
                }
                _ => return self.unexpected("a statement or `return`"),
            }
        }
    }

    /// Moves behind the statement that began at token `start` to the next one of the graph, or to its end.
    fn recover(&mut self, start: usize, depth: usize) {
        self.at = self.at.max((start + 1).min(self.tokens.len() - 1));
        loop {
            let (token, open) = (&self.tokens[self.at], self.braces[self.at]);
            let begins = match &token.tok {
                Tok::End => return,
                Tok::Word(w) => w != "check",
                Tok::Value { .. } => true,
                _ => false,
            };
            if open < depth || (open == depth && token.begins_line && begins) {
                return;
            }
            self.next();
        }
    }

    fn returned(&mut self, draft: &mut Draft) -> Parsed<()> {
        self.expect_word("return")?;
        let mut outputs = Vec::new();
        while !self.is("}") {
            if !outputs.is_empty() {
                self.expect(",")?;
            }
            let pos = self.pos();
            let label = self.label()?;
            let name = if self.eat_word("as") { Some(self.name()?) } else { None };
            let value = self.value(draft, &label, pos)?;
            let name = name
                .or_else(|| draft.graph.value(value).name.clone())
                .unwrap_or_else(|| crate::text::print::default_output_name(outputs.len()));
            outputs.push((value, name));
        }
        draft.graph.set_outputs(outputs);
        Ok(())
    }

    /// `-> (f32[N], %y)`: what the signature says of the results, each by type or by value.
    fn results(&mut self, draft: &Draft) -> Parsed<()> {
        self.expect("->")?;
        let pos = self.pos();
        let item = |p: &mut Self| {
            let pos = p.pos();
            if let Tok::Value { .. } = p.peek() {
                let label = p.label()?;
                return Ok((Ok(p.value(draft, &label, pos)?), pos));
            }
            Ok((Err(p.ty()?), pos))
        };
        let stated = if self.eat("(") { self.list(")", item)? } else { vec![item(self)?] };
        let outputs = draft.graph.outputs();
        if stated.len() != outputs.len() {
            let what = format!("{} results are declared, {} returned", stated.len(), outputs.len());
            return self.invalid(pos, what);
        }
        for ((stated, pos), output) in stated.into_iter().zip(outputs) {
            let ty = draft.graph.ty(*output);
            let fits = match &stated {
                Ok(value) => value == output,
                Err(stated) => crate::graph::compatible(stated, ty),
            };
            if !fits {
                let what = match stated {
                    Ok(_) => "another value is returned".to_string(),
                    Err(stated) => format!("the result is {ty}, not {stated}"),
                };
                return self.invalid(pos, what);
            }
        }
        Ok(())
    }
}
