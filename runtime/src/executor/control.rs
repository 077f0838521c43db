//! Loops: state carried from one iteration to the next, and results stacked over the iterations.

use super::Executor;
use crate::error::{Error, Result};
use crate::layout::byte_size;
use crate::memory::value_name;
use crate::object::{Data, Object, Tensor};
use crate::package::{LoopStep, ScanOut, Storage, ValueId, is_plain};

impl Executor<'_> {
    pub(super) fn run_loop(&mut self, step: &LoopStep) -> Result<()> {
        let trip = step.trip.map(|value| self.read_integer(value, 0)).transpose()?;
        let mut go_on = match step.cond_in {
            Some(value) => self.read_integer(value, 0)? != 0,
            None => true,
        };
        for carried in &step.carried {
            self.copy(carried.init, carried.param, &carried.sets)?;
        }
        let mut count: i64 = 0;
        while go_on && trip.is_none_or(|trip| count < trip) {
            if let Some(iter) = step.iter {
                self.write_integer(iter, count)?;
            }
            self.block(step.body)?;
            self.wait()?;
            if let Some(value) = step.cond_out {
                go_on = self.read_integer(value, 0)? != 0;
            }
            for scan in &step.scans {
                self.append(scan, count)?;
            }
            self.replace_state(step)?;
            count += 1;
        }
        if count == 0 {
            for &symbol in &step.zero_if_empty {
                if !self.memory.exprs.is_set(symbol) {
                    self.memory.exprs.set(symbol, 0);
                }
            }
        }
        step.scans.iter().try_for_each(|scan| self.finish_scan(scan, count))
    }

    fn write_integer(&mut self, value: ValueId, number: i64) -> Result<()> {
        let place = self.memory.place(self.package, value)?;
        let bytes = number.to_ne_bytes();
        if place.bytes < bytes.len() {
            return Err(Error::Internal { cause: "a loop's counter has no room".into() });
        }
        // SAFETY: the place has room for the number.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.start, bytes.len()) };
        Ok(())
    }

    /// `param := next` for all state. All sizes are taken before any is set: a size may be computed from another.
    fn replace_state(&mut self, step: &LoopStep) -> Result<()> {
        let manifest = self.manifest();
        let mut sizes = std::mem::take(&mut self.workspace.sizes);
        let mut sources = std::mem::take(&mut self.workspace.sources);
        sizes.clear();
        sources.clear();
        let taken = (|| {
            for carried in &step.carried {
                let (next, param) =
                    (&manifest.values[carried.next.index()], &manifest.values[carried.param.index()]);
                if is_plain(next) {
                    let source = self.source(carried.next)?;
                    sources.push(Some(source));
                } else {
                    sources.push(None);
                }
                if next.dims.len() != param.dims.len() {
                    let cause = format!("it changes from {} dims to {}", param.dims.len(), next.dims.len());
                    return Err(Error::Size { place: value_name(param, carried.param), cause });
                }
                for (&from, &to) in next.dims.iter().zip(&param.dims) {
                    if let Some(symbol) = self.memory.exprs.as_symbol(to).filter(|s| carried.sets.contains(s))
                    {
                        let size = self.memory.exprs.require(from, || value_name(next, carried.next))?;
                        sizes.push((symbol, size));
                    }
                }
            }
            Ok(())
        })();
        let replaced = taken.and_then(|()| {
            for &(symbol, size) in &sizes {
                self.memory.exprs.set(symbol, size);
            }
            for (carried, source) in step.carried.iter().zip(&sources) {
                match *source {
                    Some(source) => self.fill(carried.param, source)?,
                    None => self.copy(carried.next, carried.param, &carried.sets)?,
                }
            }
            Ok(())
        });
        self.workspace.sizes = sizes;
        self.workspace.sources = sources;
        replaced
    }

    /// Appends an iteration's element to the stacked result.
    fn append(&mut self, scan: &ScanOut, count: i64) -> Result<()> {
        let manifest = self.manifest();
        if !is_plain(&manifest.values[scan.elem.index()]) {
            return self.append_object(scan, count);
        }
        let elem = self.source(scan.elem)?;
        let bytes = elem.bytes();
        let start = (count as u64).saturating_mul(bytes as u64);
        let end = start.saturating_add(bytes as u64);
        let stacked = &manifest.values[scan.stacked.index()];
        if let Some(symbol) = scan.count {
            self.memory.exprs.set(symbol, count + 1);
            let size = byte_size(&mut self.memory.exprs, stacked, || value_name(stacked, scan.stacked))?;
            if size != end {
                return Err(self.wrong_count(scan, count + 1));
            }
        }
        // Whatever has a known size also has its room, which mustn't move: places of such values are kept.
        let may_grow =
            self.memory.is_dynamic(scan.stacked) && !matches!(stacked.storage, Storage::Alias { .. });
        let growable = self.memory.growable(manifest, scan.stacked);
        let to = match growable.filter(|_| may_grow) {
            Some(growable) => {
                let buffer = self.memory.buffer(growable);
                buffer.reserve_appending(end, &stacked.name)?;
                buffer.as_ptr()
            }
            None => {
                let place = self.memory.place(self.package, scan.stacked)?;
                if end > place.bytes as u64 {
                    return Err(self.wrong_count(scan, count + 1));
                }
                place.start
            }
        };
        let from = self.place_of(elem);
        // SAFETY: the stacked value has room up to `end`; the element is another value of `bytes` bytes.
        unsafe { std::ptr::copy(from.start, to.wrapping_add(start as usize), bytes) };
        Ok(())
    }

    /// Strings are stacked as one growing tensor.
    fn append_object(&mut self, scan: &ScanOut, count: i64) -> Result<()> {
        let manifest = self.manifest();
        let elem = self.memory.object(manifest, scan.elem)?.clone();
        let Object::Tensor(Tensor { shape: elem_shape, data: Data::Strings(new), .. }) = elem else {
            return Err(Error::Internal { cause: "only tensors can be stacked".into() });
        };
        let mut strings = Vec::new();
        if count > 0
            && let Object::Tensor(Tensor { data: Data::Strings(old), .. }) =
                self.memory.object(manifest, scan.stacked)?
        {
            strings.extend_from_slice(old);
        }
        strings.extend(new);
        let shape = std::iter::once(count + 1).chain(elem_shape).collect();
        let tensor = Tensor::strings(shape, strings);
        let sets = scan.count.as_slice();
        self.memory.set_object(manifest, scan.stacked, Object::Tensor(tensor), sets)
    }

    /// Sets the count and compares the stacked value's size with what was appended.
    fn finish_scan(&mut self, scan: &ScanOut, count: i64) -> Result<()> {
        let manifest = self.manifest();
        if let Some(symbol) = scan.count {
            self.memory.exprs.set(symbol, count);
        }
        let stacked = &manifest.values[scan.stacked.index()];
        if !is_plain(stacked) {
            if count > 0 {
                return Ok(());
            }
            let mut shape = Vec::new();
            self.memory.push_shape(manifest, scan.stacked, &mut shape)?;
            let empty = Object::Tensor(Tensor::strings(shape, Vec::new()));
            return self.memory.set_object(manifest, scan.stacked, empty, &[]);
        }
        let rows = stacked.dims.first().copied();
        let found = rows
            .map(|dim| self.memory.exprs.require(dim, || value_name(stacked, scan.stacked)))
            .transpose()?;
        if found == Some(count) {
            return Ok(());
        }
        Err(self.wrong_count(scan, count))
    }

    fn wrong_count(&self, scan: &ScanOut, count: i64) -> Error {
        let stacked = &self.manifest().values[scan.stacked.index()];
        let cause = format!("{count} rows of the loop don't make up its shape");
        Error::Size { place: value_name(stacked, scan.stacked), cause }
    }
}
