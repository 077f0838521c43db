//! What is recorded of a node beyond its operator: output types, symbolic elements, run-time checks. Inference
//! gives them when a node is made; passes refine them since. The text form shows where they differ.

use super::{Check, Def, Graph, Node, SymbolSource, ValueId, small_int};
use crate::diag::Loc;
use crate::op::{Fact, InferCx, Mismatch};
use crate::ops::Op;
use crate::types::{Dim, Symbol, Type};

/// What inference alone says of a node.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Inferred {
    pub types: Vec<Type>,
    /// Elements of the first output.
    pub elems: Option<Vec<Dim>>,
    pub checks: Vec<Check>,
    pub symbols: Vec<(Symbol, SymbolSource)>,
}

impl Graph {
    /// Infers a node whose outputs begin at `first`.
    pub(crate) fn infer(&self, op: &Op, inputs: &[ValueId], first: ValueId) -> Result<Inferred, Mismatch> {
        if !op.arity().admits(inputs.len()) {
            return Err(Mismatch::new(format!(
                "{} takes {} inputs, not {}",
                op.name(),
                op.arity(),
                inputs.len()
            )));
        }
        let mut cx = InferCx::new(&self.prefix, first).avoiding(&self.symbols);
        let facts: Vec<Fact> = inputs.iter().map(|v| self.fact(*v)).collect();
        let types = op.infer(&mut cx, &facts)?;
        let elems = types.first().and_then(small_int).and_then(|ty| match ty.static_shape()?.contains(&0) {
            // Its other extents may be huge: nothing is to be asked for each index along them.
            true => Some(Vec::new()),
            false => self.held(ty.dtype, op.elems(&facts, ty)?),
        });
        let (symbols, checks) = (cx.symbols, cx.checks);
        Ok(Inferred { types, elems, checks, symbols })
    }

    /// As [`Graph::infer`], in terms of output types that are known already: a symbol that inference makes for an
    /// extent becomes the recorded extent.
    pub(crate) fn infer_against(
        &self,
        op: &Op,
        inputs: &[ValueId],
        first: ValueId,
        recorded: &[Type],
    ) -> Result<Inferred, Mismatch> {
        let mut found = self.infer(op, inputs, first)?;
        if found.types.len() != recorded.len() {
            return Err(Mismatch::new(format!(
                "gives {} outputs, not {}",
                found.types.len(),
                recorded.len()
            )));
        }
        let known: Vec<(Symbol, Dim)> = found
            .symbols
            .drain(..)
            .filter_map(|(symbol, source)| {
                let SymbolSource::Axis { value, axis } = source else { return None };
                let shape = &recorded.get((value.0 - first.0) as usize)?.as_tensor()?.shape;
                Some((symbol, shape.get(axis)?.clone()))
            })
            .collect();
        if !known.is_empty() {
            let lookup = |s: &Symbol| known.iter().find(|(k, _)| k.name == s.name).map(|(_, d)| d.clone());
            let mut put = |d: &Dim| d.substitute(&lookup);
            found.types.iter_mut().for_each(|t| t.map_dims(&mut put));
            found.elems.iter_mut().flatten().for_each(|d| *d = put(d));
            for c in &mut found.checks {
                (c.a, c.b) = (put(&c.a), put(&c.b));
            }
            found.checks.retain(|c| Dim::compare(c.cmp, &c.a, &c.b) != Some(true));
        }
        for (stated, inferred) in recorded.iter().zip(&found.types) {
            if !super::verify::compatible(stated, inferred) {
                return Err(Mismatch::new(format!("the result is {inferred}, not {stated}")));
            }
        }
        Ok(found)
    }

    /// Appends a node with what inference says of it.
    pub(crate) fn push_node(
        &mut self,
        op: Op,
        inputs: &[ValueId],
        loc: &Loc,
        found: Inferred,
    ) -> Vec<ValueId> {
        let node = super::NodeId(self.nodes.len() as u32);
        let outputs: Vec<ValueId> = found
            .types
            .into_iter()
            .enumerate()
            .map(|(index, ty)| self.push_value(ty, None, Def::Output { node, index }))
            .collect();
        if let Some(first) = outputs.first() {
            self.values[first.0 as usize].elems = found.elems;
        }
        self.symbols.extend(found.symbols);
        self.nodes.push(Some(Node {
            op,
            inputs: inputs.to_vec(),
            outputs: outputs.clone(),
            loc: loc.clone(),
            checks: found.checks,
        }));
        self.order.push(node);
        outputs
    }

    /// An input without the binding of symbols that [`Graph::add_input`] does.
    pub(crate) fn push_input(&mut self, name: Option<String>, ty: Type) -> ValueId {
        let id = self.push_value(ty, name, Def::Input(self.inputs.len()));
        self.inputs.push(id);
        id
    }

    pub fn set_elems(&mut self, value: ValueId, elems: Option<Vec<Dim>>) {
        self.values[value.0 as usize].elems = elems;
    }

    pub(crate) fn set_symbols(&mut self, symbols: Vec<(Symbol, SymbolSource)>) {
        self.symbols = symbols;
    }
}
