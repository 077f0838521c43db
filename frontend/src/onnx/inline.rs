//! Calls of model-local functions: checked, bound and replaced by the function's body.

use std::rc::Rc;

use indexmap::IndexMap;

use tcc_ir::diag::{Code, Diagnostic};

use super::function::{Context, Frame, FrameId, MAX_CALL_DEPTH, MAX_EXPANSION_BYTES};
use super::label::NodeLabel;
use super::model::{Node, ValueId};
use super::opset::{ONNX_DOMAIN, OPSETS};
use super::proto::NodeProto;
use super::resolve::{Body, Followed, Resolver};
use super::scope::ScopeId;

/// A node that calls a function, with its names resolved.
pub(super) struct Call<'a> {
    pub node: &'a NodeProto,
    pub label: NodeLabel,
    pub inputs: Vec<Option<ValueId>>,
    pub outputs: Vec<Option<ValueId>>,
}

impl Resolver {
    /// Binds the inputs, outputs and attributes of a call and gives the function's body.
    pub(super) fn call(&mut self, number: usize, call: Call<'_>, ctx: Context) -> Option<Body> {
        if !self.inlining {
            return None;
        }
        let checked = self.check_call(number, &call, ctx);
        self.problems.check(checked.map_err(|problem| problem.at(&call.label)))?;
        let scope = self.scopes.add(None);
        let body_ctx = Context { frame: self.add_frame(number, &call, scope, ctx), scope, ..ctx };
        let function = self.functions.get(number);
        for (index, name) in function.inputs.iter().enumerate() {
            if !self.scopes.declare(body_ctx.scope, name, call.inputs.get(index).copied().flatten()) {
                let message = format!("function {} has two inputs `{name}`", function.title);
                self.problems.push(Diagnostic::error(Code::InvalidGraph, message).at(&call.label));
            }
        }
        let nodes = Rc::clone(&function.nodes);
        let results: Vec<(String, ValueId)> = function
            .outputs
            .iter()
            .zip(&call.outputs)
            .filter_map(|(name, value)| Some((name.clone(), (*value)?)))
            .collect();
        let mut bound = IndexMap::new();
        for (name, value) in &results {
            bound.entry(name.as_str()).or_insert(*value);
        }
        self.declare_outputs(&nodes, &bound, body_ctx);
        for (name, value) in &results {
            self.bind_result(name, *value, &call.label, body_ctx);
        }
        Some(Body { nodes, next: 0, ctx: body_ctx })
    }

    /// Refuses calls that don't fit the function, and those whose expansion would not end or not fit.
    fn check_call(&mut self, number: usize, call: &Call<'_>, ctx: Context) -> Result<(), Diagnostic> {
        let function = self.functions.get(number);
        for (given, most, role) in [
            (call.inputs.len(), function.inputs.len(), "inputs"),
            (call.outputs.len(), function.outputs.len(), "outputs"),
        ] {
            if given > most {
                return Err(Diagnostic::error(
                    Code::InvalidGraph,
                    format!("has {given} {role}, but function {} has {most}", function.title),
                ));
            }
        }
        let callers = self.callers(ctx);
        if let Some(last) = callers.iter().position(|&caller| caller == number) {
            self.inlining = false;
            let cycle: Vec<&str> = std::iter::once(number)
                .chain(callers[..=last].iter().copied())
                .rev()
                .map(|number| self.functions.get(number).title.as_str())
                .collect();
            return Err(Diagnostic::error(
                Code::InvalidGraph,
                format!("functions call each other without end: {}", cycle.join(" -> ")),
            ));
        }
        let prefix = self.frames[ctx.frame.0 as usize].prefix.len() + call.label.name.len();
        self.expanded_bytes = self
            .expanded_bytes
            .saturating_add(function.expansion_bytes)
            .saturating_add(prefix.saturating_mul(2 * function.nodes.len() + 1));
        if self.expanded_bytes > MAX_EXPANSION_BYTES || callers.len() >= MAX_CALL_DEPTH {
            self.inlining = false;
            return Err(Diagnostic::error(
                Code::ResourceLimit,
                format!(
                    "inlining function {} makes the model larger than this reader allows",
                    function.title
                ),
            )
            .help("simplify the model's functions"));
        }
        Ok(())
    }

    /// The functions whose bodies are around `ctx`, innermost first.
    fn callers(&self, ctx: Context) -> Vec<usize> {
        let mut callers = Vec::new();
        let mut frame = ctx.frame;
        while let Some((number, caller)) = self.frames[frame.0 as usize].call {
            callers.push(number);
            frame = caller;
        }
        callers
    }

    fn add_frame(&mut self, number: usize, call: &Call<'_>, scope: ScopeId, ctx: Context) -> FrameId {
        let frame = FrameId(self.frames.len() as u32);
        let mut attributes = IndexMap::new();
        for proto in &call.node.attribute {
            let name = proto.name.clone().unwrap_or_default();
            let followed =
                self.follow(proto, ctx).map_err(|problem| self.located(problem, &name, &call.label));
            match self.problems.check(followed) {
                Some(Followed::Own) => attributes.insert(name, (Rc::new(proto.clone()), ctx)),
                Some(Followed::Given(value, origin)) => attributes.insert(name, (value, origin)),
                Some(Followed::NotGiven) | None => continue,
            };
        }
        let function = self.functions.get(number);
        for default in &function.defaults {
            let name = default.name.clone().unwrap_or_default();
            attributes.entry(name).or_insert_with(|| (Rc::clone(default), Context { frame, scope, ..ctx }));
        }
        self.frames.push(Frame {
            call: Some((number, ctx.frame)),
            opsets: Rc::clone(&function.opsets),
            attributes,
            prefix: format!("{}/", call.label.name),
        });
        frame
    }

    /// Makes `value`, an output of the call, what `name` is in the body. No node of the body defines it where
    /// the function passes an input through or names an output twice: then a copy does.
    fn bind_result(&mut self, name: &str, value: ValueId, label: &NodeLabel, ctx: Context) {
        match self.scopes.own(ctx.scope, name).flatten() {
            Some(defined) if defined == value => {}
            Some(source) => self.graphs[ctx.graph.0 as usize].nodes.push(Node {
                label: NodeLabel {
                    op_type: "Identity".into(),
                    domain: ONNX_DOMAIN.into(),
                    opset: *OPSETS.end(),
                    ..label.clone()
                },
                inputs: vec![Some(source)],
                outputs: vec![Some(value)],
                attributes: IndexMap::new(),
            }),
            None => self.problems.push(
                Diagnostic::error(
                    Code::InvalidGraph,
                    format!("the function's output `{name}` is not defined in its body"),
                )
                .at(label),
            ),
        }
    }
}
