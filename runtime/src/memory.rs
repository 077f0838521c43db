//! Where each value of a running model is: resolves values to addresses, sizes what is known only during the run.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::executor::device::{Home, Session};
use crate::expr::Exprs;
use crate::layout::{byte_size, element_count};
use crate::load::Package;
use crate::object::{Object, Tensor};
use crate::package::{BindTime, DType, Form, Manifest, Storage, SymbolId, Value, ValueId};

/// A value's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub start: *mut u8,
    pub bytes: usize,
}

impl Place {
    /// The bytes, for reading.
    ///
    /// # Safety
    /// Nothing may write or free the memory while the slice is used.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: a place is valid for `bytes` initialised bytes; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    pub fn overlaps(self, other: Place) -> bool {
        let end = |place: Place| place.start as usize + place.bytes;
        self.bytes > 0
            && other.bytes > 0
            && (self.start as usize) < end(other)
            && (other.start as usize) < end(self)
    }
}

/// A model input or output: the caller's memory or our own, or an object.
#[derive(Debug)]
pub(crate) struct Port {
    /// The caller's memory and its size.
    pub caller: Option<Place>,
    pub own: Buffer,
    pub object: Option<Object>,
    /// Whether the caller has set this input.
    pub bound: bool,
    /// Of an input, what the caller gave; of an output, what the last run made.
    pub shape: Vec<i64>,
}

/// A buffer that can move when it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growable {
    Late(u32),
    Output(u32),
}

/// All memory of a context but the scratch of its threads.
#[derive(Debug)]
pub(crate) struct Memory {
    pub exprs: Exprs,
    /// Whether steps use the caller's memory as it is; a device doesn't see it.
    caller_in_place: bool,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    pub arena: Buffer,
    /// Offset in the arena, per value with that storage.
    pub offsets: Vec<u64>,
    late: Vec<Buffer>,
    objects: Vec<Option<Object>>,
    strings: BTreeMap<ValueId, Object>,
    /// Per value: its address or size can change during a run.
    dynamic: Vec<bool>,
    /// Per value that isn't dynamic: its place. `None` where it has none at these shapes (an error if it's used).
    places: Vec<Option<Place>>,
}

// SAFETY: the pointers are to memory that the context owns or that the caller promised to it.
unsafe impl Send for Memory {}

impl Memory {
    /// Memory for a context, in places that the session's device sees.
    pub fn new(manifest: &Manifest, session: Option<&Arc<dyn Session>>) -> Memory {
        let ports = |values: Vec<ValueId>| -> Vec<Port> {
            let rank = |value: ValueId| manifest.values[value.index()].dims.len();
            values
                .into_iter()
                .map(|v| Port {
                    caller: None,
                    own: Buffer::shared(session, Home::Host),
                    object: None,
                    bound: false,
                    shape: Vec::with_capacity(rank(v)),
                })
                .collect()
        };
        let bind_time = BindTime::new(manifest);
        let mut exprs = Exprs::new(manifest);
        let strings = string_constants(manifest, &mut exprs);
        Memory {
            exprs,
            caller_in_place: session.is_none(),
            inputs: ports(manifest.inputs.iter().map(|io| io.value).collect()),
            outputs: ports(manifest.outputs.iter().map(|io| io.value).collect()),
            arena: Buffer::shared(session, Home::Device),
            offsets: vec![0; manifest.values.len()],
            late: (0..manifest.late_slots).map(|_| Buffer::shared(session, Home::Host)).collect(),
            objects: (0..manifest.object_slots).map(|_| None).collect(),
            strings,
            dynamic: manifest.values.iter().map(|value| !bind_time.places(value)).collect(),
            places: vec![None; manifest.values.len()],
        }
    }

    /// Finds the places of all values whose size and address stay the same during a run.
    pub fn resolve_all(&mut self, package: &Package) {
        for at in 0..self.places.len() {
            let value = ValueId(at as u32);
            // A value that has no place now may belong to a branch that isn't taken: the error comes with its use.
            self.places[at] = if self.dynamic[at] { None } else { self.resolve(package, value).ok() };
        }
    }

    /// Makes room for the inputs that are in the caller's memory, where that can't be used as it is.
    pub fn reserve_copies(&mut self, manifest: &Manifest) -> Result<()> {
        if self.caller_in_place {
            return Ok(());
        }
        for (port, io) in self.inputs.iter_mut().zip(&manifest.inputs) {
            if let Some(caller) = port.caller {
                port.own.reserve(caller.bytes as u64, &io.name)?;
            }
        }
        Ok(())
    }

    /// Copies those inputs, whose contents may change from run to run.
    pub fn copy_inputs(&mut self) {
        if self.caller_in_place {
            return;
        }
        for port in &self.inputs {
            if let Some(caller) = port.caller {
                // SAFETY: room was reserved when places were resolved; the caller's memory is another.
                unsafe { std::ptr::copy_nonoverlapping(caller.start, port.own.as_ptr(), caller.bytes) };
            }
        }
    }

    /// The value's place, made large enough for its dims now. Growing one buffer leaves places in others valid.
    pub fn place(&mut self, package: &Package, value: ValueId) -> Result<Place> {
        match self.places[value.index()] {
            Some(place) => Ok(place),
            None => self.resolve(package, value),
        }
    }

    pub fn is_dynamic(&self, value: ValueId) -> bool {
        self.dynamic[value.index()]
    }

    fn resolve(&mut self, package: &Package, id: ValueId) -> Result<Place> {
        let value = &package.manifest().values[id.index()];
        let name = || value_name(value, id);
        let size = byte_size(&mut self.exprs, value, name)?;
        let (start, capacity) = match value.storage {
            Storage::Input(i) => match self.inputs[i as usize].caller.filter(|_| self.caller_in_place) {
                Some(place) => (place.start, place.bytes),
                None => (self.inputs[i as usize].own.as_ptr(), self.inputs[i as usize].own.capacity()),
            },
            Storage::Output(i) => match self.outputs[i as usize].caller.filter(|_| self.caller_in_place) {
                Some(place) => (place.start, place.bytes),
                None => own(&mut self.outputs[i as usize].own, size, name)?,
            },
            Storage::Weight { offset } => {
                let weights = &package.weights()[offset as usize..];
                (weights.as_ptr().cast_mut(), weights.len())
            }
            Storage::Arena { .. } => {
                let offset = self.offsets[id.index()] as usize;
                let rest = self.arena.capacity().saturating_sub(offset);
                (self.arena.as_ptr().wrapping_add(offset), rest)
            }
            Storage::Late { slot } => own(&mut self.late[slot as usize], size, name)?,
            Storage::Alias { of, byte_offset } => {
                let base = self.place(package, of)?;
                let offset = self.exprs.require(byte_offset, name)?;
                let offset = usize::try_from(offset).ok().filter(|&offset| offset <= base.bytes);
                let Some(offset) = offset else {
                    return Err(Error::Size {
                        place: name(),
                        cause: "it starts outside of what it's a part of".into(),
                    });
                };
                (base.start.wrapping_add(offset), base.bytes - offset)
            }
            Storage::Object { .. } | Storage::Strings(_) => {
                return Err(Error::Internal { cause: format!("{} has no plain memory", name()) });
            }
        };
        if size > capacity as u64 {
            let cause = format!("it needs {size} bytes and has room for {capacity}");
            return Err(Error::Size { place: name(), cause });
        }
        Ok(Place { start, bytes: size as usize })
    }

    /// Where a plain value lies among what steps write: the number of a buffer and the first byte there. None for what is
    /// only read. An error for buffers that may move.
    pub fn written(&mut self, manifest: &Manifest, value: ValueId) -> Result<Option<(u32, u64)>> {
        let name = || value_name(&manifest.values[value.index()], value);
        let (mut root, mut start) = (value, 0u64);
        while let Storage::Alias { of, byte_offset } = manifest.values[root.index()].storage {
            let offset = self.exprs.require(byte_offset, name)?;
            start = start.saturating_add(offset.max(0) as u64);
            root = of;
        }
        match manifest.values[root.index()].storage {
            Storage::Arena { .. } => Ok(Some((0, start.saturating_add(self.offsets[root.index()])))),
            Storage::Output(i) if !self.dynamic[root.index()] => Ok(Some((i + 1, start))),
            Storage::Input(_) | Storage::Weight { .. } => Ok(None),
            _ => Err(Error::Internal { cause: format!("{} isn't where shapes decide", name()) }),
        }
    }

    /// The growable buffer that a value lives in, if it lives in one.
    pub fn growable(&self, manifest: &Manifest, mut value: ValueId) -> Option<Growable> {
        loop {
            match manifest.values[value.index()].storage {
                Storage::Alias { of, .. } => value = of,
                Storage::Late { slot } => return Some(Growable::Late(slot)),
                Storage::Output(i) if !self.caller_in_place || self.outputs[i as usize].caller.is_none() => {
                    return Some(Growable::Output(i));
                }
                _ => return None,
            }
        }
    }

    pub fn buffer(&mut self, growable: Growable) -> &mut Buffer {
        match growable {
            Growable::Late(slot) => &mut self.late[slot as usize],
            Growable::Output(i) => &mut self.outputs[i as usize].own,
        }
    }

    /// The object that a value is.
    pub fn object(&self, manifest: &Manifest, id: ValueId) -> Result<&Object> {
        let value = &manifest.values[id.index()];
        let object = match value.storage {
            Storage::Object { slot } => self.objects[slot as usize].as_ref(),
            Storage::Input(i) => self.inputs[i as usize].object.as_ref(),
            Storage::Output(i) => self.outputs[i as usize].object.as_ref(),
            Storage::Strings(_) => self.strings.get(&id),
            _ => None,
        };
        object.ok_or_else(|| Error::Internal {
            cause: format!("{} is used before it is made", value_name(value, id)),
        })
    }

    /// Stores an object of the value's kind; dims that are symbols of `sets` take the object's sizes.
    pub fn set_object(
        &mut self,
        manifest: &Manifest,
        id: ValueId,
        object: Object,
        sets: &[SymbolId],
    ) -> Result<()> {
        let value = &manifest.values[id.index()];
        if !has_kind(&object, value.form, value.dtype) {
            let cause = format!("{} would become another kind of object", value_name(value, id));
            return Err(Error::Internal { cause });
        }
        if let Object::Tensor(tensor) = &object {
            self.agree(manifest, id, tensor.shape.iter().copied(), sets)?;
        }
        match value.storage {
            Storage::Object { slot } => self.objects[slot as usize] = Some(object),
            Storage::Output(i) => self.outputs[i as usize].object = Some(object),
            _ => {
                return Err(Error::Internal {
                    cause: format!("{} can't hold an object", value_name(value, id)),
                });
            }
        }
        Ok(())
    }

    /// Makes a value's dims and a shape agree: dims that are symbols of `sets` take its sizes, the others must be equal.
    pub fn agree(
        &mut self,
        manifest: &Manifest,
        id: ValueId,
        shape: impl ExactSizeIterator<Item = i64>,
        sets: &[SymbolId],
    ) -> Result<()> {
        let value = &manifest.values[id.index()];
        let name = || value_name(value, id);
        if shape.len() != value.dims.len() {
            let cause = format!("it has {} dims, {} were expected", shape.len(), value.dims.len());
            return Err(Error::Size { place: name(), cause });
        }
        for (axis, (&dim, size)) in value.dims.iter().zip(shape).enumerate() {
            match self.exprs.as_symbol(dim) {
                Some(symbol) if sets.contains(&symbol) => self.exprs.set(symbol, size),
                _ => {
                    let expected = self.exprs.require(dim, name)?;
                    if expected != size {
                        let cause = format!("dim {axis} is {size}, {expected} was expected");
                        return Err(Error::Size { place: name(), cause });
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends the value's sizes now to a list.
    pub fn push_shape(&mut self, manifest: &Manifest, id: ValueId, shape: &mut Vec<i64>) -> Result<()> {
        let value = &manifest.values[id.index()];
        for &dim in &value.dims {
            shape.push(self.exprs.require(dim, || value_name(value, id))?);
        }
        Ok(())
    }

    /// Bytes of arena and of buffers that grew.
    pub fn total_bytes(&self) -> u64 {
        let ports = self.inputs.iter().chain(&self.outputs).map(|port| &port.own);
        ports.chain(&self.late).chain([&self.arena]).map(|buffer| buffer.capacity() as u64).sum()
    }
}

/// How messages name a value.
pub(crate) fn value_name(value: &Value, id: ValueId) -> String {
    match value.name.is_empty() {
        true => format!("value {}", id.0),
        false => format!("\"{}\"", value.name),
    }
}

/// Room for `size` bytes in a buffer of our own.
fn own(buffer: &mut Buffer, size: u64, name: impl Fn() -> String) -> Result<(*mut u8, usize)> {
    if size > buffer.capacity() as u64 {
        buffer.reserve(size, &name())?;
    }
    Ok((buffer.as_ptr(), buffer.capacity()))
}

pub(crate) fn has_kind(object: &Object, form: Form, dtype: DType) -> bool {
    let is_tensor = |tensor: &Tensor| tensor.dtype == dtype && tensor.is_consistent();
    match (object, form) {
        (Object::Tensor(tensor), Form::Tensor) => is_tensor(tensor),
        (Object::Sequence(tensors), Form::Sequence) => tensors.iter().all(is_tensor),
        (Object::Optional(None), Form::Optional | Form::OptionalSequence) => true,
        (Object::Optional(Some(inner)), Form::Optional) => has_kind(inner, Form::Tensor, dtype),
        (Object::Optional(Some(inner)), Form::OptionalSequence) => has_kind(inner, Form::Sequence, dtype),
        _ => false,
    }
}

/// The constant string tensors, by value: two values may see the same strings in different shapes.
fn string_constants(manifest: &Manifest, exprs: &mut Exprs) -> BTreeMap<ValueId, Object> {
    let mut constants = BTreeMap::new();
    for (at, value) in manifest.values.iter().enumerate() {
        if let Storage::Strings(i) = value.storage
            && element_count(exprs, value, String::new).is_ok()
        {
            let shape = value.dims.iter().filter_map(|&dim| exprs.get(dim).ok()).collect();
            let tensor = Tensor::strings(shape, manifest.strings[i as usize].clone());
            constants.insert(ValueId(at as u32), Object::Tensor(tensor));
        }
    }
    constants
}
