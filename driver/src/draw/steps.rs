//! A package's steps as a scene: kernels and routines with what they read and write, in frames of task graphs, branches
//! and loops.
//!
//! Steps name places in memory, so who made a value is found by following the steps in their order ([`makers`]).
//! Constants are lines of the boxes that read them. Checks, and sizes that follow from other sizes, aren't drawn.

mod makers;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use tcc_runtime::package::{Block, BlockId, LoopStep, Manifest, Step, Storage, SymbolId, ValueId};

use super::scene::{Kind, Node, Scene};
use super::text::plural;
use super::values::{bytes_text, is_constant, root, type_text};
use crate::Result;

/// Draws all steps of a package.
///
/// # Errors
/// Too many values and steps have to do with each other.
pub fn scene(manifest: &Manifest) -> Result<Scene> {
    let mut parts = vec![Vec::new(); manifest.values.len()];
    for (at, value) in manifest.values.iter().enumerate() {
        if let Storage::Alias { of, .. } = value.storage {
            parts[of.index()].push(ValueId(at as u32));
        }
    }
    let mut drawing = Drawing {
        manifest,
        scene: Scene { title: manifest.model.clone(), ..Scene::default() },
        parts,
        writers: vec![Vec::new(); manifest.values.len()],
        views: BTreeMap::new(),
        wires: BTreeMap::new(),
        task_graphs: 0,
        kernels: 0,
        looked_at: 0,
    };
    drawing.whole()?;
    Ok(drawing.scene)
}

struct Drawing<'m> {
    manifest: &'m Manifest,
    scene: Scene,
    /// Per value: the values that are parts of its memory.
    parts: Vec<Vec<ValueId>>,
    /// Per value: the nodes that made what it is now; two where branches end.
    writers: Vec<Vec<usize>>,
    /// The node of a value that is a view of what others made, one in each frame that reads it.
    views: BTreeMap<(ValueId, Option<usize>), (usize, Vec<(usize, ValueId)>)>,
    /// Position in the scene of the wire of a node's value.
    wires: BTreeMap<(usize, ValueId), usize>,
    task_graphs: usize,
    kernels: usize,
    /// Values and writers that were looked at to find out who made what.
    looked_at: usize,
}

impl Drawing<'_> {
    fn whole(&mut self) -> Result<()> {
        for io in &self.manifest.inputs {
            let node = self.node(Kind::Input, None, &io.name, vec![self.ty(io.value)]);
            self.writes(node, io.value)?;
        }
        if !self.manifest.blocks.is_empty() {
            self.block(BlockId(0), None)?;
        }
        for io in &self.manifest.outputs {
            self.reader(Kind::Output, None, &io.name, vec![self.ty(io.value)], &[io.value])?;
        }
        self.scene.subtitle =
            format!("{}, {}", plural(self.kernels, "kernel"), plural(self.task_graphs, "task graph"));
        Ok(())
    }

    fn block(&mut self, id: BlockId, parent: Option<usize>) -> Result<()> {
        let Block { steps, task_graphs } = &self.manifest.blocks[id.index()];
        let mut graphs = task_graphs.iter().peekable();
        let mut frame = None;
        for (at, step) in steps.iter().enumerate() {
            if frame.is_some_and(|(_, end)| at >= end) {
                frame = None;
            }
            if let Some(graph) = graphs.next_if(|graph| graph.first as usize == at) {
                let end = (at + graph.steps as usize).min(steps.len());
                let kernels = steps[at..end].iter().filter(|step| matches!(step, Step::Kernel(_))).count();
                self.task_graphs += 1;
                let title = format!("task graph {}: {}", self.task_graphs, plural(kernels, "kernel"));
                frame = Some((self.node(Kind::Tasks, parent, &title, vec![]), end));
            }
            self.step(step, frame.map_or(parent, |(node, _)| Some(node)))?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, parent: Option<usize>) -> Result<()> {
        match step {
            Step::Kernel(call) => {
                self.kernels += 1;
                let kernel = &self.manifest.kernels[call.kernel.index()];
                let mut lines: Vec<String> = call.outputs.iter().map(|&id| self.ty(id)).collect();
                lines.extend(self.traffic(&call.inputs, &call.outputs));
                lines.push(kernel.source.clone());
                let node = self.reader(Kind::Kernel, parent, &kernel.name, lines, &call.inputs)?;
                call.outputs.iter().try_for_each(|&id| self.writes(node, id))?;
            }
            Step::Builtin(call) => {
                let inputs: Vec<ValueId> = call.inputs.iter().flatten().copied().collect();
                let mut outputs = call.outputs.iter().flatten();
                let mut lines: Vec<String> = outputs.clone().map(|&id| self.ty(id)).collect();
                lines.push(call.source.clone());
                let node = self.reader(Kind::Builtin, parent, &call.op, lines, &inputs)?;
                outputs.try_for_each(|&id| self.writes(node, id))?;
            }
            Step::Copy { from, to, .. } => self.small(parent, "copy", *from, *to)?,
            Step::ReadDim { symbol, value, index } => {
                let title = format!("size {}", self.symbol(*symbol));
                let line = format!("element {index} of {}", self.ty(*value));
                self.reader(Kind::Small, parent, &title, vec![line], &[*value])?;
            }
            Step::SetDim { .. } | Step::Check(_) => {}
            Step::If { cond, then_block, else_block } => {
                let choice = self.reader(Kind::Choice, parent, "if", vec![], &[*cond])?;
                for (title, block) in [("then", then_block), ("else", else_block)] {
                    let branch = self.node(Kind::Branch, Some(choice), title, vec![]);
                    self.block(*block, Some(branch))?;
                }
            }
            Step::Loop(step) => self.repeat(step, parent)?,
        }
        Ok(())
    }

    fn repeat(&mut self, step: &LoopStep, parent: Option<usize>) -> Result<()> {
        let ends: Vec<ValueId> = step.trip.iter().chain(&step.cond_in).copied().collect();
        let title = match step.trip {
            Some(_) => "loop",
            None => "loop while its condition holds",
        };
        let frame = Some(self.reader(Kind::Loop, parent, title, vec![], &ends)?);
        if let Some(iter) = step.iter {
            let node = self.node(Kind::Small, frame, "number of the round", vec![self.ty(iter)]);
            self.writes(node, iter)?;
        }
        for carried in &step.carried {
            self.small(frame, &self.named("carried", carried.param), carried.init, carried.param)?;
        }
        self.block(step.body, frame)?;
        // All are read before any is replaced.
        let next: Vec<usize> = step
            .carried
            .iter()
            .map(|carried| {
                let title = self.named("next", carried.param);
                self.reader(Kind::Small, frame, &title, vec![self.ty(carried.next)], &[carried.next])
            })
            .collect::<Result<_>>()?;
        for scan in &step.scans {
            self.small(frame, &self.named("stack", scan.stacked), scan.elem, scan.stacked)?;
        }
        if let Some(cond) = step.cond_out {
            self.reader(Kind::Small, frame, "go on", vec![self.ty(cond)], &[cond])?;
        }
        for (carried, node) in step.carried.iter().zip(next) {
            self.writes(node, carried.param)?;
        }
        Ok(())
    }

    fn node(&mut self, kind: Kind, parent: Option<usize>, title: &str, lines: Vec<String>) -> usize {
        let title = title.to_string();
        let lines = lines.into_iter().filter(|line| !line.is_empty()).collect();
        self.scene.nodes.push(Node { kind, parent, title, lines, constants: Vec::new() });
        self.scene.nodes.len() - 1
    }

    /// A node with wires, or lines, for the values that it reads.
    fn reader(
        &mut self,
        kind: Kind,
        parent: Option<usize>,
        title: &str,
        lines: Vec<String>,
        values: &[ValueId],
    ) -> Result<usize> {
        // Views of what is read come first, as the scene wants it.
        let mut found: Vec<(usize, ValueId)> = Vec::new();
        let mut constants: Vec<ValueId> = Vec::new();
        let mut known: BTreeSet<ValueId> = BTreeSet::new();
        for &value in values {
            let sources = self.sources(value, parent)?;
            if sources.is_empty() && is_constant(self.manifest, value) && known.insert(value) {
                constants.push(value);
            }
            found.extend(sources);
        }
        let node = self.node(kind, parent, title, lines);
        self.scene.nodes[node].constants = self.constants(&constants);
        for (from, value) in found {
            self.connect(from, value, node);
        }
        Ok(node)
    }

    /// A node that hands a value on.
    fn small(&mut self, parent: Option<usize>, title: &str, from: ValueId, to: ValueId) -> Result<()> {
        let node = self.reader(Kind::Small, parent, title, vec![self.ty(to)], &[from])?;
        self.writes(node, to)
    }

    fn ty(&self, id: ValueId) -> String {
        type_text(self.manifest, id)
    }

    fn symbol(&self, id: SymbolId) -> &str {
        &self.manifest.symbols[id.index()].name
    }

    /// The word with the value's name, if it has one.
    fn named(&self, word: &str, id: ValueId) -> String {
        format!("{word} {}", self.manifest.values[id.index()].name).trim_end().to_string()
    }

    /// A constant's type, size and name.
    fn constant(&self, id: ValueId) -> String {
        let name = &self.manifest.values[root(self.manifest, id).index()].name;
        let bytes = bytes_text(self.manifest, &[id]);
        format!("{} ({bytes}) {name}", self.ty(id)).trim_end().to_string()
    }

    /// Constants a line each, but several scalars in one.
    fn constants(&self, ids: &[ValueId]) -> Vec<String> {
        let is_scalar = |id: &ValueId| self.manifest.values[id.index()].dims.is_empty();
        let (scalars, others): (Vec<ValueId>, Vec<ValueId>) = ids.iter().partition(|id| is_scalar(id));
        let mut lines: Vec<String> = others.iter().map(|&id| self.constant(id)).collect();
        match scalars[..] {
            [] => {}
            [id] => lines.push(self.constant(id)),
            _ => lines.push(format!("{} scalars", scalars.len())),
        }
        lines
    }

    /// Bytes of the activations that a kernel has to do with.
    fn traffic(&self, inputs: &[ValueId], outputs: &[ValueId]) -> Vec<String> {
        let mut read: Vec<ValueId> =
            inputs.iter().copied().filter(|&id| !is_constant(self.manifest, id)).collect();
        read.sort_unstable();
        read.dedup();
        let reads = format!("reads {}", bytes_text(self.manifest, &read));
        let writes = format!("writes {}", bytes_text(self.manifest, outputs));
        let is_short = reads.len() + writes.len() < 42;
        if is_short { vec![format!("{reads}, {writes}")] } else { vec![reads, writes] }
    }
}
