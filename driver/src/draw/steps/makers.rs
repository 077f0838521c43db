//! Who made the values that a step reads: the nodes that wrote them, or parts of the memory that they are in.
//!
//! A value may have any number of parts, and any number of steps may read it, so how much is looked at has a limit.

use tcc_runtime::package::{Storage, ValueId};

use super::Drawing;
use crate::draw::scene::{Kind, Wire};
use crate::draw::values::type_text;
use crate::{Code, Diagnostic, Result};

/// Most values and writers that are looked at; each end of a wire comes of one.
const MOST_LOOKED_AT: usize = 1 << 20;

impl Drawing<'_> {
    /// Counts what is looked at.
    fn look(&mut self, count: usize) -> Result<()> {
        self.looked_at += count;
        if self.looked_at <= MOST_LOOKED_AT {
            return Ok(());
        }
        let found = Diagnostic::error(Code::ResourceLimit, "the graph is too large to be drawn");
        Err(found.help("read the steps of its package: `tcc inspect PACKAGE --plan`").into())
    }

    /// From now on `node` is where the value comes from; also what the other branch of a choice made is.
    pub(super) fn writes(&mut self, node: usize, value: ValueId) -> Result<()> {
        let mut writers = std::mem::take(&mut self.writers[value.index()]);
        self.look(writers.len())?;
        writers.retain(|&other| self.exclusive(other, Some(node)));
        writers.push(node);
        self.writers[value.index()] = writers;
        Ok(())
    }

    /// The nodes, each with the value it hands on, that made what a node in `parent` reads.
    pub(super) fn sources(&mut self, value: ValueId, parent: Option<usize>) -> Result<Vec<(usize, ValueId)>> {
        let mut at = value;
        let made = loop {
            let made = self.makers(at, parent)?;
            match self.manifest.values[at.index()].storage {
                Storage::Alias { of, .. } if made.is_empty() => at = of,
                _ => break made,
            }
        };
        if made.is_empty() || self.same_type(at, value) {
            return Ok(made);
        }
        if let Some((view, _)) = self.views.get(&(value, parent)).filter(|(_, of)| *of == made) {
            return Ok(vec![(*view, value)]);
        }
        let view = self.node(Kind::Small, parent, "view", vec![self.ty(value)]);
        made.iter().for_each(|&(from, value)| self.connect(from, value, view));
        self.views.insert((value, parent), (view, made));
        Ok(vec![(view, value)])
    }

    pub(super) fn connect(&mut self, from: usize, value: ValueId, to: usize) {
        let at = *self.wires.entry((from, value)).or_insert_with(|| {
            let name = self.manifest.values[value.index()].name.clone();
            let label = type_text(self.manifest, value);
            self.scene.wires.push(Wire { from, to: Vec::new(), label, name });
            self.scene.wires.len() - 1
        });
        let targets = &mut self.scene.wires[at].to;
        // What one reader takes is added in one go.
        if targets.last() != Some(&to) {
            targets.push(to);
        }
    }

    /// The nodes that wrote the value or a part of it.
    fn makers(&mut self, value: ValueId, parent: Option<usize>) -> Result<Vec<(usize, ValueId)>> {
        let mut found = Vec::new();
        let mut todo = vec![value];
        while let Some(at) = todo.pop() {
            self.look(1 + self.writers[at.index()].len())?;
            let writers = self.writers[at.index()].iter().filter(|&&node| !self.exclusive(node, parent));
            found.extend(writers.map(|&node| (node, at)));
            todo.extend(&self.parts[at.index()]);
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Whether the nodes are in different branches of one choice: never both of them run.
    fn exclusive(&self, a: usize, b: Option<usize>) -> bool {
        let Some(b) = b else { return false };
        // A parent's number is lower: the higher one of two goes up until they meet.
        let (mut a_at, mut b_at) = (a, b);
        while a_at != b_at {
            let higher = if a_at > b_at { &mut a_at } else { &mut b_at };
            let Some(parent) = self.scene.nodes[*higher].parent else { return false };
            *higher = parent;
        }
        a_at != a && a_at != b && self.scene.nodes[a_at].kind == Kind::Choice
    }

    fn same_type(&self, a: ValueId, b: ValueId) -> bool {
        let [a, b] = [a, b].map(|id| &self.manifest.values[id.index()]);
        a.form == b.form && a.dtype == b.dtype && a.dims == b.dims
    }
}
