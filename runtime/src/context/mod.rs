//! A context runs one package: it takes inputs, binds shapes, owns all memory of a run, and hands out results.

mod bind;

use std::sync::Arc;

use crate::buffer::ALIGN;
use crate::error::{Error, Result};
use crate::executor::device::Session;
use crate::executor::{Executor, Workspace};
use crate::load::Package;
use crate::memory::{Memory, Place, has_kind};
use crate::object::{Object, element_count};
use crate::package::{DType, Form, Io, Value};
use crate::pool::Pool;
use crate::profile::{Profile, ProfileRow};
use bind::PlanCache;

/// A package with bound shapes and memory. One run at a time; contexts of one package share code and weights.
#[derive(Debug)]
pub struct Context {
    package: Arc<Package>,
    pool: Arc<Pool>,
    /// What executes the kernels, when they're for a device.
    session: Option<Arc<dyn Session>>,
    memory: Memory,
    workspace: Workspace,
    plans: PlanCache,
    profile: Option<Profile>,
    /// Shapes changed since the last binding.
    shapes_changed: bool,
    /// Addresses changed since the last binding.
    places_changed: bool,
    /// Where the results of the last run are; empty when there was none, or it failed.
    results: Vec<Option<Place>>,
    /// Whether `results` are those of the inputs as they are.
    finished: bool,
}

// SAFETY: the places point into memory that the context owns, or that the caller promised to keep.
unsafe impl Send for Context {}

/// A result in plain memory, valid until the context changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorView<'a> {
    pub dtype: DType,
    pub shape: &'a [i64],
    /// Elements, row-major and dense, in the machine's byte order.
    pub bytes: &'a [u8],
}

impl Context {
    /// A context without inputs. Contexts may share a pool: a run that finds it busy uses its own thread alone.
    pub fn new(package: Arc<Package>, pool: Arc<Pool>) -> Context {
        let manifest = package.manifest();
        let session = package.device().map(|device| device.clone().session());
        Context {
            memory: Memory::new(manifest, session.as_ref()),
            session,
            workspace: Workspace::new(manifest, &pool),
            plans: PlanCache::default(),
            profile: None,
            shapes_changed: true,
            places_changed: true,
            results: vec![None; manifest.outputs.len()],
            finished: false,
            package,
            pool,
        }
    }

    pub fn package(&self) -> &Package {
        &self.package
    }

    /// Index of the input with this name.
    pub fn input_index(&self, name: &str) -> Option<usize> {
        self.package.manifest().inputs.iter().position(|io| io.name == name)
    }

    /// Index of the output with this name.
    pub fn output_index(&self, name: &str) -> Option<usize> {
        self.package.manifest().outputs.iter().position(|io| io.name == name)
    }

    /// Copies a tensor of plain elements into input `index`.
    pub fn set_input(&mut self, index: usize, dtype: DType, shape: &[i64], bytes: &[u8]) -> Result<()> {
        self.check_input(index, dtype, shape, bytes.len())?;
        let port = &mut self.memory.inputs[index];
        if port.caller.take().is_some() || bytes.len() > port.own.capacity() {
            self.places_changed = true;
        }
        port.own.reserve(bytes.len() as u64, &self.package.manifest().inputs[index].name)?;
        // SAFETY: the buffer has room for the bytes, and can't overlap a slice of the caller's.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), port.own.as_ptr(), bytes.len()) };
        self.set_shape(index, shape);
        Ok(())
    }

    /// Lets input `index` be read from the caller's memory.
    ///
    /// # Safety
    /// `start` must be valid for reading `bytes` bytes, aligned for the element type, and unchanged during each run,
    /// until the input is set again or the context is dropped.
    pub unsafe fn bind_input(
        &mut self,
        index: usize,
        dtype: DType,
        shape: &[i64],
        start: *const u8,
        bytes: usize,
    ) -> Result<()> {
        self.check_input(index, dtype, shape, bytes)?;
        let place = Some(caller_place(start.cast_mut(), bytes));
        let port = &mut self.memory.inputs[index];
        self.places_changed |= port.caller != place;
        port.caller = place;
        self.set_shape(index, shape);
        Ok(())
    }

    /// Sets input `index` to strings, a sequence or an optional.
    pub fn set_input_object(&mut self, index: usize, object: Object) -> Result<()> {
        let (io, value) = self.input(index)?;
        if !has_kind(&object, value.form, value.dtype) || value.form == Form::Tensor && value.dtype.size() > 0
        {
            let expected = format!("{:?} of {}", value.form, value.dtype);
            return Err(Error::Type {
                place: input_name(io),
                expected,
                found: "another kind of object".into(),
            });
        }
        let shape = match &object {
            Object::Tensor(tensor) => tensor.shape.clone(),
            _ => Vec::new(),
        };
        if shape.len() != value.dims.len() {
            return Err(wrong_rank(io, shape.len(), value.dims.len()));
        }
        self.memory.inputs[index].object = Some(object);
        self.set_shape(index, &shape);
        Ok(())
    }

    /// Lets output `index` be written to the caller's memory.
    ///
    /// # Safety
    /// `start` must be valid for writing `capacity` bytes, aligned for the element type, and used by nobody else during
    /// each run, until the output is bound again, unbound, or the context is dropped.
    pub unsafe fn bind_output(&mut self, index: usize, start: *mut u8, capacity: usize) -> Result<()> {
        self.set_output(index, Some(caller_place(start, capacity)))
    }

    /// Lets output `index` be written to memory of the context again.
    pub fn unbind_output(&mut self, index: usize) -> Result<()> {
        self.set_output(index, None)
    }

    fn set_output(&mut self, index: usize, place: Option<Place>) -> Result<()> {
        let count = self.memory.outputs.len();
        let port = self.memory.outputs.get_mut(index);
        let port = port.ok_or_else(|| no_such("output", index, count))?;
        self.places_changed |= port.caller != place;
        port.caller = place;
        self.finished = false;
        Ok(())
    }

    /// Binds shapes now rather than at the start of the next run: checks them and takes all memory that depends on them.
    pub fn prepare(&mut self) -> Result<()> {
        if self.shapes_changed {
            self.bind_shapes()?;
            self.shapes_changed = false;
            self.places_changed = true;
        }
        if self.places_changed {
            self.memory.reserve_copies(self.package.manifest())?;
            self.memory.resolve_all(&self.package);
            self.workspace.tasks.locate(&self.package, &mut self.memory);
            self.places_changed = false;
        }
        Ok(())
    }

    /// Runs the model on the inputs as set. Allocates nothing when the shapes were bound before and the model has no
    /// data-dependent sizes, strings, sequences or optionals.
    pub fn run(&mut self) -> Result<()> {
        self.finished = false;
        self.prepare()?;
        self.memory.copy_inputs();
        let mut executor = Executor {
            package: &self.package,
            pool: &self.pool,
            session: self.session.as_deref(),
            memory: &mut self.memory,
            workspace: &mut self.workspace,
            profile: self.profile.as_mut(),
        };
        executor.run()?;
        self.collect_results()?;
        self.finished = true;
        Ok(())
    }

    /// Notes where the outputs are, and copies those that weren't computed in the caller's memory.
    fn collect_results(&mut self) -> Result<()> {
        let manifest = self.package.manifest();
        for (index, io) in manifest.outputs.iter().enumerate() {
            let value = &manifest.values[io.value.index()];
            let mut shape = std::mem::take(&mut self.memory.outputs[index].shape);
            shape.clear();
            let pushed = self.memory.push_shape(manifest, io.value, &mut shape);
            self.memory.outputs[index].shape = shape;
            pushed?;
            if value.form != Form::Tensor || value.dtype == DType::String {
                self.results[index] = None;
                continue;
            }
            let mut place = self.memory.place(&self.package, io.value)?;
            if let Some(caller) = self.memory.outputs[index].caller
                && caller.start != place.start
            {
                if caller.bytes < place.bytes {
                    let cause =
                        format!("it has {} bytes, the buffer has room for {}", place.bytes, caller.bytes);
                    return Err(Error::Size { place: format!("output \"{}\"", io.name), cause });
                }
                // SAFETY: both are valid for that many bytes; `copy` allows overlap.
                unsafe { std::ptr::copy(place.start, caller.start, place.bytes) };
                place.start = caller.start;
            }
            self.results[index] = Some(place);
        }
        Ok(())
    }

    /// The result of the last run, for an output of plain elements.
    pub fn output(&self, index: usize) -> Result<TensorView<'_>> {
        let value = self.finished_output(index)?;
        let Some(place) = self.results[index] else {
            let name = &self.package.manifest().outputs[index].name;
            let cause =
                format!("output \"{name}\" is {:?} of {}; ask for the object", value.form, value.dtype);
            return Err(Error::Argument { cause });
        };
        // SAFETY: the memory belongs to the context or was promised to it, and nothing writes it while `self` is borrowed.
        let bytes = unsafe { place.bytes() };
        Ok(TensorView { dtype: value.dtype, shape: &self.memory.outputs[index].shape, bytes })
    }

    /// The result of the last run, for an output that is strings, a sequence or an optional.
    pub fn output_object(&self, index: usize) -> Result<&Object> {
        self.finished_output(index)?;
        let manifest = self.package.manifest();
        self.memory.object(manifest, manifest.outputs[index].value)
    }

    fn finished_output(&self, index: usize) -> Result<&Value> {
        let manifest = self.package.manifest();
        let io =
            manifest.outputs.get(index).ok_or_else(|| no_such("output", index, manifest.outputs.len()))?;
        if !self.finished {
            return Err(Error::Unbound {
                what: format!("output \"{}\" (no run has finished on these inputs)", io.name),
            });
        }
        Ok(&manifest.values[io.value.index()])
    }

    /// Seeds the random generators of operators that have no seed of their own.
    pub fn set_seed(&mut self, seed: u64) {
        self.workspace.seed = seed;
        self.workspace.draws = 0;
    }

    /// Bytes of the arena at the shapes bound last.
    pub fn arena_bytes(&self) -> u64 {
        self.plans.arena_bytes
    }

    /// All bytes that the context holds: arena, growable buffers, own inputs and outputs, scratch.
    pub fn memory_bytes(&self) -> u64 {
        self.memory.total_bytes() + self.workspace.scratch_bytes()
    }

    /// Starts (or stops and forgets) measuring the time of each step.
    pub fn enable_profile(&mut self, enabled: bool) {
        self.profile = enabled.then(|| Profile::new(self.package.manifest()));
    }

    /// What was measured since profiling was enabled, in the order of the steps.
    pub fn profile(&self) -> Vec<ProfileRow> {
        self.profile.as_ref().map_or(Vec::new(), |profile| profile.rows(self.package.manifest()))
    }

    fn input(&self, index: usize) -> Result<(&Io, &Value)> {
        let manifest = self.package.manifest();
        let io = manifest.inputs.get(index).ok_or_else(|| no_such("input", index, manifest.inputs.len()))?;
        Ok((io, &manifest.values[io.value.index()]))
    }

    fn check_input(&self, index: usize, dtype: DType, shape: &[i64], bytes: usize) -> Result<()> {
        let (io, value) = self.input(index)?;
        if value.form != Form::Tensor || value.dtype != dtype || dtype == DType::String {
            let expected = match value.form {
                Form::Tensor => value.dtype.to_string(),
                form => format!("{form:?} of {}", value.dtype),
            };
            return Err(Error::Type { place: input_name(io), expected, found: dtype.to_string() });
        }
        if shape.len() != value.dims.len() {
            return Err(wrong_rank(io, shape.len(), value.dims.len()));
        }
        let expected = element_count(shape).and_then(|count| count.checked_mul(dtype.size()));
        if expected != Some(bytes) {
            let cause = format!("shape {shape:?} of {dtype} doesn't make {bytes} bytes");
            return Err(Error::Shape { place: input_name(io), cause });
        }
        Ok(())
    }

    fn set_shape(&mut self, index: usize, shape: &[i64]) {
        self.finished = false;
        let known = &mut self.memory.inputs[index];
        if !known.bound || known.shape != shape {
            known.bound = true;
            known.shape.clear();
            known.shape.extend_from_slice(shape);
            self.shapes_changed = true;
        }
    }
}

fn input_name(io: &Io) -> String {
    format!("input \"{}\"", io.name)
}

fn wrong_rank(io: &Io, found: usize, expected: usize) -> Error {
    Error::Shape { place: input_name(io), cause: format!("it has {found} dims, the model has {expected}") }
}

fn no_such(what: &str, index: usize, count: usize) -> Error {
    Error::Argument { cause: format!("there is no {what} {index}: the model has {count}") }
}

/// The caller's memory; an address even for no bytes at all.
fn caller_place(start: *mut u8, bytes: usize) -> Place {
    let dangling = std::ptr::without_provenance_mut(ALIGN);
    Place {
        start: if start.is_null() { dangling } else { start },
        bytes: if start.is_null() { 0 } else { bytes },
    }
}
