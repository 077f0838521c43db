//! Copies values, sizing the destination.

use super::Executor;
use crate::error::{Error, Result};
use crate::memory::{Growable, Place, value_name};
use crate::package::{SymbolId, ValueId, is_plain};

/// A source whose address stays known when its buffer moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    place: Place,
    /// The buffer that may move, and the address it had.
    buffer: Option<(Growable, *mut u8)>,
}

impl Source {
    pub fn bytes(&self) -> usize {
        self.place.bytes
    }
}

impl Executor<'_> {
    /// Copies a value of any form; dims of `to` that are symbols of `sets` take the sizes of `from`.
    pub(super) fn copy(&mut self, from: ValueId, to: ValueId, sets: &[SymbolId]) -> Result<()> {
        if !is_plain(&self.manifest().values[from.index()]) {
            let object = self.memory.object(self.manifest(), from)?.clone();
            return self.memory.set_object(self.manifest(), to, object, sets);
        }
        let source = self.source(from)?;
        self.set_sizes(from, to, sets)?;
        self.fill(to, source)
    }

    /// Where a plain value is now.
    pub(super) fn source(&mut self, from: ValueId) -> Result<Source> {
        let place = self.memory.place(self.package, from)?;
        let growable = self.memory.growable(self.manifest(), from);
        Ok(Source { place, buffer: growable.map(|g| (g, self.memory.buffer(g).as_ptr())) })
    }

    /// The place of a source after buffers may have moved.
    pub(super) fn place_of(&mut self, source: Source) -> Place {
        let Some((growable, old)) = source.buffer else { return source.place };
        let moved = self.memory.buffer(growable).as_ptr();
        let offset = source.place.start as usize - old as usize;
        Place { start: moved.wrapping_add(offset), ..source.place }
    }

    fn set_sizes(&mut self, from: ValueId, to: ValueId, sets: &[SymbolId]) -> Result<()> {
        let mut shape = std::mem::take(&mut self.workspace.shapes);
        shape.clear();
        let agreed = self
            .memory
            .push_shape(self.manifest(), from, &mut shape)
            .and_then(|()| self.memory.agree(self.manifest(), to, shape.iter().copied(), sets));
        self.workspace.shapes = shape;
        agreed
    }

    /// Copies the source's bytes into a value whose sizes are known.
    pub(super) fn fill(&mut self, to: ValueId, source: Source) -> Result<()> {
        let id = to;
        let to = self.memory.place(self.package, id)?;
        let from = self.place_of(source);
        if from.bytes != to.bytes {
            let cause = format!("it has {} bytes, {} would be copied to it", to.bytes, from.bytes);
            return Err(Error::Size { place: value_name(&self.manifest().values[id.index()], id), cause });
        }
        // SAFETY: both places are valid for their bytes; `copy` allows overlap.
        unsafe { std::ptr::copy(from.start, to.start, from.bytes) };
        Ok(())
    }
}
