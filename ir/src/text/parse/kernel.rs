//! Reads fused kernels. Buffers, axes and `let`s may have any name; their order gives them their ids.

use super::{Parsed, Parser};
use crate::kernel::{Acc, AccOp, AxisId, BufferId, BufferKind, Builder, ExprId, Kernel, Stage, Store};
use crate::ops::BinaryKind;
use crate::text::lex::Tok;
use crate::text::print::buffer_kind_name;
use indexmap::IndexMap;

const BUFFER_KINDS: [BufferKind; 3] = [BufferKind::Input, BufferKind::Output, BufferKind::Temp];

/// What a name inside a kernel stands for.
#[derive(Clone, Copy)]
pub(super) enum Named {
    Buffer(BufferId),
    Axis(AxisId),
    Expr(ExprId),
}

/// A kernel in the making.
pub(super) struct KernelDraft {
    pub builder: Builder,
    pub names: IndexMap<String, Named>,
    /// How deep each expression is.
    pub depths: Vec<usize>,
}

impl Parser<'_> {
    /// A kernel, from the word `kernel` to its closing brace.
    pub(super) fn kernel(&mut self) -> Parsed<Kernel> {
        let pos = self.pos();
        self.expect_word("kernel")?;
        let builder = Builder::new(self.at_name()?);
        let mut draft = KernelDraft { builder, names: IndexMap::new(), depths: Vec::new() };
        self.expect("{")?;
        while !self.eat("}") {
            self.kernel_item(&mut draft)?;
        }
        let kernel = draft.builder.finish();
        if let Err(found) = kernel.verify() {
            return self.invalid(pos, format!("kernel @{}: {}", kernel.name, found.join("; ")));
        }
        Ok(kernel.canonical())
    }

    fn kernel_item(&mut self, draft: &mut KernelDraft) -> Parsed<()> {
        let pos = self.pos();
        let word = self.word()?;
        if let Some(kind) = BUFFER_KINDS.into_iter().find(|k| buffer_kind_name(*k) == word) {
            let name = self.new_name(draft)?;
            self.expect(":")?;
            let ty = self.tensor_type()?;
            let id = draft.builder.buffer(kind, ty);
            draft.names.insert(name, Named::Buffer(id));
            return Ok(());
        }
        match word.as_str() {
            "axis" => {
                let name = self.new_name(draft)?;
                self.expect(":")?;
                let extent = self.dim()?;
                let id = draft.builder.axis(extent);
                draft.names.insert(name, Named::Axis(id));
                Ok(())
            }
            "serial" | "outer" => {
                if word == "serial" {
                    self.expect_word("outer")?;
                }
                let outer = self.axes(draft)?;
                let kernel = draft.builder.kernel_mut();
                (kernel.outer, kernel.serial) = (outer, word == "serial");
                Ok(())
            }
            "stage" => {
                let stage = self.stage(draft)?;
                draft.builder.stage(stage);
                Ok(())
            }
            _ => self.syntax(pos, format!("`{word}` is no part of a kernel")),
        }
    }

    fn new_name(&mut self, draft: &KernelDraft) -> Parsed<String> {
        let pos = self.pos();
        let name = self.word()?;
        if draft.names.contains_key(&name) {
            return self.invalid(pos, format!("`{name}` is defined twice"));
        }
        Ok(name)
    }

    fn axes(&mut self, draft: &KernelDraft) -> Parsed<Vec<AxisId>> {
        self.expect("(")?;
        self.list(")", |p| {
            let pos = p.pos();
            let name = p.word()?;
            match draft.names.get(&name) {
                Some(Named::Axis(a)) => Ok(*a),
                _ => p.invalid(pos, format!("`{name}` is no axis")),
            }
        })
    }

    fn stage(&mut self, draft: &mut KernelDraft) -> Parsed<Stage> {
        let mut stage = Stage::default();
        if self.eat_word("map") {
            stage.axes = self.axes(draft)?;
        }
        if self.eat_word("reduce") {
            stage.reduce = self.axes(draft)?;
        }
        stage.scan = self.eat_word("scan");
        self.expect("{")?;
        while !self.eat("}") {
            self.stage_line(draft, &mut stage)?;
        }
        Ok(stage)
    }

    /// `let t0 = expr`, `acc0 = sum(f32, expr)` or `b0[i0] = expr`.
    fn stage_line(&mut self, draft: &mut KernelDraft, stage: &mut Stage) -> Parsed<()> {
        let pos = self.pos();
        let word = self.word()?;
        if word == "let" {
            let name = self.new_name(draft)?;
            self.expect("=")?;
            let value = self.scalar(draft)?;
            draft.names.insert(name, Named::Expr(value));
            return Ok(());
        }
        if let Some(Named::Buffer(buffer)) = draft.names.get(&word).copied() {
            stage.stores.push(self.store(draft, buffer)?);
            return Ok(());
        }
        if word != format!("acc{}", stage.accs.len()) {
            let what = format!("expected `let`, a buffer or `acc{}`, found `{word}`", stage.accs.len());
            return self.syntax(pos, what);
        }
        self.expect("=")?;
        let pos = self.pos();
        let name = self.word()?;
        let Some(op) = AccOp::ALL.into_iter().find(|op| op.name() == name) else {
            return self.syntax(pos, format!("`{name}` is no accumulation"));
        };
        self.expect("(")?;
        let dtype = self.dtype()?;
        self.expect(",")?;
        let value = self.scalar(draft)?;
        self.expect(")")?;
        stage.accs.push(Acc { op, value, dtype });
        Ok(())
    }

    fn store(&mut self, draft: &mut KernelDraft, buffer: BufferId) -> Parsed<Store> {
        self.expect("[")?;
        let index = self.list("]", |p| p.scalar(draft))?;
        let mut update = None;
        if let Tok::Word(w) = self.peek().clone() {
            let pos = self.pos();
            self.next();
            update = BinaryKind::from_name(&w);
            if update.is_none() {
                return self.syntax(pos, format!("`{w}` is no binary function"));
            }
        }
        self.expect("=")?;
        let value = self.scalar(draft)?;
        let guard = if self.eat_word("if") { Some(self.scalar(draft)?) } else { None };
        Ok(Store { buffer, index, value, update, guard })
    }
}
