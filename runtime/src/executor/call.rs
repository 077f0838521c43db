//! Calls of built-in routines: their arguments, and how they make results whose sizes they alone know.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Executor, Workspace};
use crate::error::{Error, Result};
use crate::load::Package;
use crate::memory::{Growable, Memory, Place, value_name};
use crate::object::{Object, Tensor};
use crate::package::{BlockId, BuiltinStep, DType, Value, ValueId, is_plain};

/// Why a routine stopped: a cause to report with the routine's name, or an error of the runtime.
#[derive(Debug)]
pub(crate) enum Fault {
    Cause(String),
    Error(Error),
}

impl From<String> for Fault {
    fn from(cause: String) -> Fault {
        Fault::Cause(cause)
    }
}

impl From<&str> for Fault {
    fn from(cause: &str) -> Fault {
        Fault::Cause(cause.into())
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Error(error)
    }
}

pub(crate) type Outcome<T = ()> = std::result::Result<T, Fault>;

/// Objects that a routine made, stored when it returns.
pub(crate) type Pending = Vec<(ValueId, Object)>;

/// An argument as the workspace keeps it, without lifetimes.
#[derive(Debug)]
pub(crate) struct RawInput {
    shape: Range<usize>,
    kind: RawKind,
}

#[derive(Debug)]
enum RawKind {
    Missing,
    Plain { dtype: DType, place: Place, buffer: Option<Growable> },
    Object(*const Object),
}

/// A tensor argument of plain elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    pub dtype: DType,
    pub shape: &'a [i64],
    pub bytes: &'a [u8],
}

/// A routine's view of its step.
pub(crate) struct Call<'a> {
    package: &'a Package,
    memory: &'a mut Memory,
    step: &'a BuiltinStep,
    inputs: &'a [RawInput],
    shapes: &'a [i64],
    /// Results that were handed out.
    outputs: &'a mut Vec<(Place, Option<Growable>)>,
    pending: &'a mut Pending,
    scratch: &'a mut crate::buffer::Buffer,
    scratch_taken: bool,
    seed: u64,
    draws: &'a mut u64,
}

impl<'a> Call<'a> {
    /// Number of arguments, missing ones included.
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    /// A plain tensor argument that may be missing.
    pub fn optional(&self, index: usize) -> Outcome<Option<Input<'a>>> {
        let Some(input) = self.inputs.get(index) else { return Ok(None) };
        match input.kind {
            RawKind::Missing => Ok(None),
            RawKind::Plain { dtype, place, .. } => {
                // SAFETY: inputs stay where they are until the routine returns: results never share their buffers.
                let bytes = unsafe { place.bytes() };
                Ok(Some(Input { dtype, shape: &self.shapes[input.shape.clone()], bytes }))
            }
            RawKind::Object(object) => {
                // SAFETY: objects are stored when the routine returns, so this one stays.
                match unsafe { &*object } {
                    Object::Tensor(tensor) => match tensor.as_bytes() {
                        Some(bytes) => Ok(Some(Input { dtype: tensor.dtype, shape: &tensor.shape, bytes })),
                        None => Err(format!("argument {index} is a tensor of strings").into()),
                    },
                    _ => Err(format!("argument {index} isn't a tensor").into()),
                }
            }
        }
    }

    /// A plain tensor argument.
    pub fn tensor(&self, index: usize) -> Outcome<Input<'a>> {
        self.optional(index)?.ok_or_else(|| format!("argument {index} is missing").into())
    }

    /// The argument's object, when it is one.
    pub fn object(&self, index: usize) -> Option<&'a Object> {
        match self.inputs.get(index)?.kind {
            // SAFETY: objects are stored when the routine returns, so this one stays.
            RawKind::Object(object) => Some(unsafe { &*object }),
            _ => None,
        }
    }

    /// Shape and elements of a string tensor argument.
    pub fn strings(&self, index: usize) -> Outcome<(&'a [i64], &'a [String])> {
        match self.object(index) {
            Some(Object::Tensor(tensor)) => tensor.as_strings().map(|strings| (&tensor.shape[..], strings)),
            _ => None,
        }
        .ok_or_else(|| format!("argument {index} isn't a tensor of strings").into())
    }

    /// The tensors of a sequence argument.
    pub fn sequence(&self, index: usize) -> Outcome<&'a [Tensor]> {
        match self.object(index) {
            Some(Object::Sequence(tensors)) => Ok(tensors),
            Some(Object::Optional(Some(inner))) => match &**inner {
                Object::Sequence(tensors) => Ok(tensors),
                _ => Err(format!("argument {index} isn't a sequence").into()),
            },
            _ => Err(format!("argument {index} isn't a sequence").into()),
        }
    }

    /// A copy of any tensor argument.
    pub fn owned(&self, index: usize) -> Outcome<Tensor> {
        if let Some(object) = self.object(index) {
            return match object {
                Object::Tensor(tensor) => Ok(tensor.clone()),
                _ => Err(format!("argument {index} isn't a tensor").into()),
            };
        }
        let input = self.tensor(index)?;
        Ok(Tensor::plain(input.dtype, input.shape.to_vec(), input.bytes.to_vec()))
    }

    /// A scalar (or the first element of a) integer argument.
    pub fn integer(&self, index: usize) -> Outcome<i64> {
        let input = self.tensor(index)?;
        crate::builtin::integers(&input)?.next().ok_or_else(|| format!("argument {index} is empty").into())
    }

    fn output_value(&self, index: usize) -> Option<(ValueId, &'a Value)> {
        let id = (*self.step.outputs.get(index)?)?;
        Some((id, &self.package.manifest().values[id.index()]))
    }

    /// The result's declared element type.
    pub fn output_dtype(&self, index: usize) -> Option<DType> {
        self.output_value(index).map(|(_, value)| value.dtype)
    }

    /// The result's shape as its dims say, for results whose sizes are known before.
    pub fn declared_shape(&mut self, index: usize) -> Outcome<Vec<i64>> {
        let mut shape = Vec::new();
        if let Some((id, _)) = self.output_value(index) {
            self.memory.push_shape(self.package.manifest(), id, &mut shape)?;
        }
        Ok(shape)
    }

    /// Room for a plain result of this shape; nothing when the result isn't wanted. May be called once a result.
    pub fn output(&mut self, index: usize, dtype: DType, shape: &[i64]) -> Outcome<&'a mut [u8]> {
        self.output_sized(index, dtype, shape.iter().copied())
    }

    /// As [`Call::output`], for the shape with one axis of another size.
    pub fn output_resized(
        &mut self,
        index: usize,
        dtype: DType,
        shape: &[i64],
        axis: usize,
        size: i64,
    ) -> Outcome<&'a mut [u8]> {
        let sizes = shape.iter().enumerate().map(|(at, &old)| if at == axis { size } else { old });
        self.output_sized(index, dtype, sizes)
    }

    fn output_sized(
        &mut self,
        index: usize,
        dtype: DType,
        sizes: impl ExactSizeIterator<Item = i64>,
    ) -> Outcome<&'a mut [u8]> {
        let Some((id, value)) = self.output_value(index) else { return Ok(&mut []) };
        if value.dtype != dtype {
            return Err(format!("result {index} would be {dtype}, it is declared as {}", value.dtype).into());
        }
        self.memory.agree(self.package.manifest(), id, sizes, &self.step.sets)?;
        self.room(id)
    }

    /// Room for a plain result of the shape that its dims say, whatever its type.
    pub fn declared_output(&mut self, index: usize) -> Outcome<&'a mut [u8]> {
        match self.output_value(index) {
            Some((id, _)) => self.room(id),
            None => Ok(&mut []),
        }
    }

    fn room(&mut self, id: ValueId) -> Outcome<&'a mut [u8]> {
        let manifest = self.package.manifest();
        let value = &manifest.values[id.index()];
        let overlap = || {
            let cause = format!(
                "result {} of {} overlaps another of its values",
                value_name(value, id),
                self.step.op
            );
            Error::invalid(self.step.source.clone(), cause)
        };
        let growable = self.memory.growable(manifest, id);
        let shares = |input: &RawInput| match &input.kind {
            RawKind::Plain { buffer, .. } => buffer.is_some() && *buffer == growable,
            _ => false,
        };
        if self.inputs.iter().any(shares)
            || growable.is_some() && self.outputs.iter().any(|(_, g)| *g == growable)
        {
            return Err(overlap().into());
        }
        let place = self.memory.place(self.package, id)?;
        let touches = |input: &RawInput| match &input.kind {
            RawKind::Plain { place: other, .. } => place.overlaps(*other),
            _ => false,
        };
        if self.inputs.iter().any(touches) || self.outputs.iter().any(|(other, _)| place.overlaps(*other)) {
            return Err(overlap().into());
        }
        self.outputs.push((place, growable));
        // SAFETY: the place is valid for its bytes, overlaps no argument and no other result, and stays where it is: no
        // other value of this call shares its buffer.
        Ok(unsafe { std::slice::from_raw_parts_mut(place.start, place.bytes) })
    }

    /// Makes the result this object, whatever form it has; a plain tensor is copied to its memory.
    pub fn set(&mut self, index: usize, object: Object) -> Outcome {
        let Some((id, value)) = self.output_value(index) else { return Ok(()) };
        match object {
            Object::Tensor(tensor) if is_plain(value) => {
                let bytes = tensor.as_bytes().ok_or("the result would be strings")?;
                self.output(index, tensor.dtype, &tensor.shape)?.copy_from_slice(bytes);
            }
            object => self.pending.push((id, object)),
        }
        Ok(())
    }

    /// Makes the result this string tensor.
    pub fn set_strings(&mut self, index: usize, shape: &[i64], strings: Vec<String>) -> Outcome {
        self.set(index, Object::Tensor(Tensor::strings(shape.to_vec(), strings)))
    }

    /// Memory for `count` items of a plain integer type, zeroed or left from before. May be called once.
    pub fn scratch<T: Word>(&mut self, count: usize) -> Outcome<&'a mut [T]> {
        if std::mem::replace(&mut self.scratch_taken, true) {
            return Err(Error::Internal { cause: "a routine took scratch twice".into() }.into());
        }
        let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
        self.scratch.reserve(bytes, "a thread's scratch")?;
        // SAFETY: the buffer has room, is initialised and aligned for any word, and is handed out once a call.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.scratch.as_ptr().cast(), count) })
    }

    /// A seed for one random tensor: the given one, or the context's, together with how many were drawn before.
    pub fn draw(&mut self, seed: Option<u64>) -> (u64, u64) {
        *self.draws += 1;
        if self.seed == 0 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
            self.seed = now | 1;
        }
        (seed.unwrap_or(self.seed), *self.draws)
    }
}

/// Types that any bytes are a value of.
pub(crate) trait Word: Copy {}
impl Word for u32 {}
impl Word for u64 {}
impl Word for (u64, u64) {}

impl Executor<'_> {
    pub(super) fn builtin(&mut self, block: BlockId, at: usize, step: &BuiltinStep) -> Result<()> {
        let Some(routine) = self.package.routine(block.index(), at) else {
            return Err(Error::Internal { cause: format!("{} wasn't prepared", step.op) });
        };
        let mut inputs = std::mem::take(&mut self.workspace.inputs);
        let mut shapes = std::mem::take(&mut self.workspace.shapes);
        let mut outputs = std::mem::take(&mut self.workspace.outputs);
        let mut pending = std::mem::take(&mut self.workspace.pending);
        outputs.clear();
        let finished = self.gather_inputs(step, &mut inputs, &mut shapes).and_then(|()| {
            let Workspace { scratch, seed, draws, .. } = &mut *self.workspace;
            let mut call = Call {
                package: self.package,
                memory: self.memory,
                step,
                inputs: &inputs,
                shapes: &shapes,
                outputs: &mut outputs,
                pending: &mut pending,
                scratch: &mut scratch[0],
                scratch_taken: false,
                seed: *seed,
                draws,
            };
            let outcome = routine.run(&mut call);
            *seed = call.seed;
            match outcome {
                Ok(()) => Ok(()),
                Err(Fault::Error(error)) => Err(error),
                Err(Fault::Cause(cause)) => {
                    Err(Error::Builtin { op: step.op.clone(), source: step.source.clone(), cause })
                }
            }
        });
        let stored = finished.and_then(|()| {
            pending.drain(..).try_for_each(|(id, object)| {
                self.memory.set_object(self.package.manifest(), id, object, &step.sets)
            })
        });
        pending.clear();
        let workspace = &mut *self.workspace;
        (workspace.inputs, workspace.shapes, workspace.outputs, workspace.pending) =
            (inputs, shapes, outputs, pending);
        stored
    }

    fn gather_inputs(
        &mut self,
        step: &BuiltinStep,
        inputs: &mut Vec<RawInput>,
        shapes: &mut Vec<i64>,
    ) -> Result<()> {
        let manifest = self.package.manifest();
        inputs.clear();
        shapes.clear();
        for &input in &step.inputs {
            let start = shapes.len();
            let kind = match input {
                None => RawKind::Missing,
                Some(id) if is_plain(&manifest.values[id.index()]) => {
                    self.memory.push_shape(manifest, id, shapes)?;
                    RawKind::Plain {
                        dtype: manifest.values[id.index()].dtype,
                        place: self.memory.place(self.package, id)?,
                        buffer: self.memory.growable(manifest, id),
                    }
                }
                Some(id) => RawKind::Object(self.memory.object(manifest, id)?),
            };
            inputs.push(RawInput { shape: start..shapes.len(), kind });
        }
        Ok(())
    }
}
