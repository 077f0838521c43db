//! Binding shapes: evaluates dims, runs checks, plans the arena where the compiler didn't, reserves memory.

use super::{Context, input_name};
use crate::arena::{self, Item};
use crate::buffer::ALIGN;
use crate::error::{Error, Result};
use crate::expr::holds;
use crate::layout::byte_size;
use crate::package::{Form, Manifest, Storage, SymbolId, SymbolSource, ValueId};

/// Plans for shapes seen before.
#[derive(Debug, Default)]
pub(super) struct PlanCache {
    plans: Vec<Plan>,
    /// The plan to replace next.
    oldest: usize,
    /// Size of the plan in use.
    pub arena_bytes: u64,
}

#[derive(Debug)]
struct Plan {
    /// Values of the input dims.
    symbols: Vec<i64>,
    offsets: Vec<u64>,
    bytes: u64,
}

/// Plans kept: a few sizes that alternate, such as the buckets of a batcher.
const MAX_PLANS: usize = 16;

impl Context {
    pub(super) fn bind_shapes(&mut self) -> Result<()> {
        let package = self.package.clone();
        let manifest = package.manifest();
        let symbols = self.input_symbols(manifest)?;
        self.memory.exprs.bind(&symbols);
        self.check_shapes(manifest)?;
        for check in manifest.checks.iter().filter(|check| check.at_bind) {
            let a = self.memory.exprs.require(check.a, || check.message.clone())?;
            let b = self.memory.exprs.require(check.b, || check.message.clone())?;
            if !holds(check.cmp, a, b) {
                return Err(Error::Check { message: format!("{} ({a} and {b})", check.message) });
            }
        }
        self.workspace.tasks.forget();
        self.plan_arena(manifest, symbols.iter().map(|&(_, size)| size).collect())?;
        self.workspace.reserve(&package, &mut self.memory.exprs)
    }

    /// The values of all symbols that are dims of inputs.
    fn input_symbols(&self, manifest: &Manifest) -> Result<Vec<(SymbolId, i64)>> {
        if let Some(index) = self.memory.inputs.iter().position(|port| !port.bound) {
            return Err(Error::Unbound { what: input_name(&manifest.inputs[index]) });
        }
        let mut symbols = Vec::new();
        for (at, symbol) in manifest.symbols.iter().enumerate() {
            if let SymbolSource::InputDim { input, axis } = symbol.source {
                symbols.push((SymbolId(at as u32), self.memory.inputs[input as usize].shape[axis as usize]));
            }
        }
        Ok(symbols)
    }

    /// Compares the inputs' shapes with what the model declares.
    fn check_shapes(&mut self, manifest: &Manifest) -> Result<()> {
        for (io, port) in manifest.inputs.iter().zip(&self.memory.inputs) {
            let value = &manifest.values[io.value.index()];
            for (axis, (&dim, &size)) in value.dims.iter().zip(&port.shape).enumerate() {
                let expected = self.memory.exprs.require(dim, || input_name(io))?;
                if expected != size {
                    let cause = format!("dim {axis} is {size}, the model has {expected}");
                    return Err(Error::Shape { place: input_name(io), cause });
                }
            }
        }
        Ok(())
    }

    fn plan_arena(&mut self, manifest: &Manifest, symbols: Vec<i64>) -> Result<()> {
        let known = self.plans.plans.iter().position(|plan| plan.symbols == symbols);
        let at = match known {
            Some(at) => at,
            None => {
                let plan = self.make_plan(manifest, symbols)?;
                self.plans.insert(plan)
            }
        };
        let plan = &self.plans.plans[at];
        self.memory.offsets.copy_from_slice(&plan.offsets);
        self.plans.arena_bytes = plan.bytes;
        self.memory.arena.reserve(plan.bytes, "the arena")
    }

    fn make_plan(&mut self, manifest: &Manifest, symbols: Vec<i64>) -> Result<Plan> {
        let mut ids = Vec::new();
        let mut items = Vec::new();
        for (at, value) in manifest.values.iter().enumerate() {
            let Storage::Arena { fixed, first, last } = value.storage else { continue };
            let place = || crate::memory::value_name(value, ValueId(at as u32));
            debug_assert_eq!(value.form, Form::Tensor);
            // A value without a size may belong to a branch that isn't taken; its use is an error.
            let Ok(bytes) = byte_size(&mut self.memory.exprs, value, place) else { continue };
            if let Some(region) = fixed.filter(|region| region.bytes < bytes) {
                let cause = format!("it needs {bytes} bytes, {} were planned", region.bytes);
                return Err(Error::Size { place: place(), cause });
            }
            ids.push(at);
            items.push(Item { bytes, first, last, fixed: fixed.map(|region| region.offset) });
        }
        let planned = arena::plan(&items, ALIGN as u64);
        let (placed, bytes) =
            planned.ok_or_else(|| Error::Memory { place: "the arena".into(), bytes: u64::MAX })?;
        let mut offsets = vec![0; manifest.values.len()];
        for (at, offset) in ids.into_iter().zip(placed) {
            offsets[at] = offset;
        }
        Ok(Plan { symbols, offsets, bytes: bytes.max(manifest.arena_bytes) })
    }
}

impl PlanCache {
    /// Keeps a plan, in place of the oldest when there are many; its position.
    fn insert(&mut self, plan: Plan) -> usize {
        if self.plans.len() < MAX_PLANS {
            self.plans.push(plan);
            return self.plans.len() - 1;
        }
        let at = self.oldest;
        self.plans[at] = plan;
        self.oldest = (at + 1) % MAX_PLANS;
        at
    }
}
