//! Reads one statement: results, operator, operands, attributes, and what is recorded of the node.

use super::graph::{Draft, Label};
use super::{Parsed, Parser};
use crate::attr::Attr;
use crate::diag::{Loc, Source};
use crate::graph::{Check, ValueId};
use crate::ops::Op;
use crate::text::lex::{Pos, Tok};
use crate::text::print::{MNEMONICS, SIGNS};
use crate::types::{Cmp, Dim, Type};

/// What a statement says of a node besides operator and operands; None where it leaves that to inference.
#[derive(Default)]
struct Recorded {
    /// Type and elements of each output.
    outputs: Option<Vec<(Type, Option<Option<Vec<Dim>>>)>>,
    checks: Option<Vec<Check>>,
}

impl Parser<'_> {
    pub(super) fn statement(&mut self, draft: &mut Draft) -> Parsed<()> {
        let mut results: Vec<(Label, Option<String>)> = Vec::new();
        if let Tok::Value { .. } = self.peek() {
            loop {
                let pos = self.pos();
                let (label, name) = self.definition()?;
                if draft.values.contains_key(&label) {
                    return self.invalid(pos, format!("%{} is defined twice", label.0));
                }
                // Known from here on, so that its uses aren't reported if the rest fails.
                draft.values.insert(label.clone(), None);
                results.push((label, name));
                if !self.eat(",") {
                    break;
                }
            }
            self.expect("=")?;
        }
        let pos = self.pos();
        let word = self.word()?;
        let operands = self.operands()?;
        let attrs = if self.is("{") { self.attrs()? } else { Vec::new() };
        let recorded = self.recorded()?;
        let loc = self.loc()?;
        let op = self.operator(&word, attrs, pos)?;
        let mut inputs = Vec::new();
        for (label, pos) in &operands {
            inputs.push(self.value(draft, label, *pos)?);
        }
        let outputs = self.add(draft, op, &inputs, (&loc, pos), recorded, results.len())?;
        for ((label, name), id) in results.into_iter().zip(outputs) {
            draft.values.insert(label, Some(id));
            if let Some(name) = name {
                draft.graph.set_name(id, name);
            }
        }
        Ok(())
    }

    fn operands(&mut self) -> Parsed<Vec<(Label, Pos)>> {
        let mut out = Vec::new();
        // A value on a line of its own begins the next statement.
        if !matches!(self.peek(), Tok::Value { .. }) || self.tokens[self.at].begins_line {
            return Ok(out);
        }
        loop {
            let pos = self.pos();
            out.push((self.label()?, pos));
            if !self.eat(",") {
                return Ok(out);
            }
        }
    }

    fn recorded(&mut self) -> Parsed<Recorded> {
        let mut recorded = Recorded::default();
        if self.eat(":") {
            let mut outputs = Vec::new();
            loop {
                let ty = self.ty()?;
                let elems = self.holds(&ty)?;
                outputs.push((ty, elems));
                if !self.eat(",") {
                    break;
                }
            }
            recorded.outputs = Some(outputs);
        }
        while self.eat_word("check") {
            let checks = recorded.checks.get_or_insert_default();
            if self.eat("?") {
                continue;
            }
            let (a, cmp) = (self.dim()?, self.sign()?);
            checks.push(Check { a, cmp, b: self.dim()?, message: self.string()? });
        }
        Ok(recorded)
    }

    /// `holds [N, 4]` or `holds ?` after a type; None when absent.
    pub(super) fn holds(&mut self, ty: &Type) -> Parsed<Option<Option<Vec<Dim>>>> {
        let pos = self.pos();
        if !self.eat_word("holds") {
            return Ok(None);
        }
        if self.eat("?") {
            return Ok(Some(None));
        }
        self.expect("[")?;
        let elems = self.list("]", Self::dim)?;
        let n = crate::graph::small_int(ty).and_then(|t| crate::tensor::n_elements(&t.static_shape()?));
        if n != Some(elems.len()) {
            return self.invalid(pos, format!("{ty} can't hold {} sizes", elems.len()));
        }
        Ok(Some(Some(elems)))
    }

    pub(super) fn sign(&mut self) -> Parsed<Cmp> {
        match SIGNS.iter().find(|(_, s)| self.is(s)) {
            Some((cmp, _)) => {
                self.next();
                Ok(*cmp)
            }
            None => self.unexpected("a comparison"),
        }
    }

    /// `loc("conv1" "Conv", ...)`.
    fn loc(&mut self) -> Parsed<Loc> {
        if !self.eat_word("loc") {
            return Ok(Loc::default());
        }
        self.expect("(")?;
        let sources = self.list(")", |p| Ok(Source { name: p.string()?.into(), op: p.string()?.into() }))?;
        Ok(Loc::sources_of(sources))
    }

    fn operator(&mut self, word: &str, attrs: Vec<(String, Attr, Pos)>, pos: Pos) -> Parsed<Op> {
        let places: Vec<(String, Pos)> = attrs.iter().map(|(n, _, p)| (n.clone(), *p)).collect();
        let mut attrs: Vec<(String, Attr)> = attrs.into_iter().map(|(n, a, _)| (n, a)).collect();
        let mut found = Op::from_attrs(word, &attrs);
        if found.is_none()
            && let Some((op, field)) = mnemonic(word)
        {
            attrs.push((field.to_string(), Attr::Name(word.to_string())));
            found = Op::from_attrs(op, &attrs);
        }
        match found {
            Some(Ok(op)) => Ok(op),
            Some(Err(e)) => {
                let place = places.iter().find(|(n, _)| *n == e.name).map_or(pos, |(_, p)| *p);
                self.syntax(place, e.to_string())
            }
            None => self.syntax(pos, format!("unknown operator `{word}`")),
        }
    }

    fn add(
        &mut self,
        draft: &mut Draft,
        op: Op,
        inputs: &[ValueId],
        (loc, pos): (&Loc, Pos),
        recorded: Recorded,
        n_results: usize,
    ) -> Parsed<Vec<ValueId>> {
        let graph = &mut draft.graph;
        let first = ValueId(graph.n_values() as u32);
        let types: Option<Vec<Type>> =
            recorded.outputs.as_ref().map(|o| o.iter().map(|(t, _)| t.clone()).collect());
        let inferred = match &types {
            Some(types) => graph.infer_against(&op, inputs, first, types),
            None => graph.infer(&op, inputs, first),
        };
        let mut found = match inferred {
            Ok(found) => found,
            Err(e) => return self.invalid(pos, format!("{}: {e}", op.name())),
        };
        if found.types.len() != n_results {
            let what = format!("{} has {} results, not {n_results}", op.name(), found.types.len());
            return self.invalid(pos, what);
        }
        found.types = types.unwrap_or(found.types);
        found.checks = recorded.checks.unwrap_or(found.checks);
        for (symbol, _) in &found.symbols {
            let scope = self.scopes.last_mut().expect("inside a graph");
            scope.symbols.insert(symbol.name.to_string(), (symbol.clone(), pos));
        }
        let outputs = graph.push_node(op, inputs, loc, found);
        let stated = recorded.outputs.into_iter().flatten().map(|(_, elems)| elems);
        for (id, elems) in outputs.iter().zip(stated) {
            if let Some(elems) = elems {
                graph.set_elems(*id, elems);
            }
        }
        Ok(outputs)
    }
}

/// Operator and attribute that a mnemonic such as `exp` stands for.
fn mnemonic(word: &str) -> Option<(&'static str, &'static str)> {
    let name = || Attr::Name(word.to_string());
    let makes =
        |op: &str, field: &str| Op::from_attrs(op, &[(field.to_string(), name())]).is_some_and(|r| r.is_ok());
    MNEMONICS.into_iter().find(|(op, field)| makes(op, field))
}
