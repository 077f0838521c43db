//! Checks every reference and every bound in a manifest, so that nothing later has to doubt it.

use super::bind_time::BindTime;
use super::manifest::*;
use super::sections::check_sections;
use super::steps::check_blocks;
use crate::error::{Error, Result};
use crate::expr::{Exprs, children};
use crate::layout::{byte_size, element_count};

/// Checks a manifest against itself and against the sizes of the code and weights parts.
pub fn validate(manifest: &Manifest, code_len: u64, weights_len: u64) -> Result<()> {
    check_exprs(manifest)?;
    for (count, what) in [(manifest.late_slots, "late"), (manifest.object_slots, "object")] {
        if count as usize > manifest.values.len() {
            return Err(Error::invalid("slots", format!("there are more {what} slots than values")));
        }
    }
    let roots = check_values_refs(manifest)?;
    let facts = Facts { manifest, bind_time: BindTime::new(manifest), roots };
    check_symbols(manifest)?;
    check_io(manifest)?;
    check_checks(&facts)?;
    let mut exprs = Exprs::new(manifest);
    for at in 0..manifest.values.len() {
        check_value(&facts, &mut exprs, ValueId(at as u32), weights_len)?;
    }
    check_sections(manifest, code_len)?;
    check_blocks(&facts)
}

/// The manifest and what was found out about it.
pub(super) struct Facts<'a> {
    pub manifest: &'a Manifest,
    pub bind_time: BindTime<'a>,
    /// Per value: the value at the end of its chain of aliases.
    pub roots: Vec<ValueId>,
}

impl Facts<'_> {
    pub fn expr(&self, expr: ExprId, place: impl Fn() -> String) -> Result<()> {
        in_range(expr.index(), self.manifest.exprs.len(), "expression", place)
    }

    /// An expression over input dims alone.
    pub fn bound_expr(&self, expr: ExprId, place: impl Fn() -> String) -> Result<()> {
        self.expr(expr, &place)?;
        if !self.bind_time.knows(expr) {
            return Err(Error::invalid(place(), "it needs sizes that are known only during the run"));
        }
        Ok(())
    }

    pub fn value(&self, value: ValueId, place: impl Fn() -> String) -> Result<&Value> {
        in_range(value.index(), self.manifest.values.len(), "value", place)?;
        Ok(&self.manifest.values[value.index()])
    }

    pub fn root(&self, value: ValueId) -> &Value {
        &self.manifest.values[self.roots[value.index()].index()]
    }
}

pub(super) fn in_range(index: usize, len: usize, what: &str, place: impl Fn() -> String) -> Result<()> {
    if index < len {
        return Ok(());
    }
    Err(Error::invalid(place(), format!("it refers to {what} {index}, there are {len}")))
}

/// Whether the value is a tensor of plain memory, not an object.
pub(crate) fn is_plain(value: &Value) -> bool {
    value.form == Form::Tensor && value.dtype.size() > 0
}

fn check_exprs(manifest: &Manifest) -> Result<()> {
    for (at, expr) in manifest.exprs.iter().enumerate() {
        let place = || format!("expression {at}");
        for child in children(expr) {
            in_range(child.index(), at, "expression", place)?;
        }
        if let Expr::Symbol(symbol) = expr {
            in_range(symbol.index(), manifest.symbols.len(), "symbol", place)?;
        }
    }
    Ok(())
}

/// Checks what values refer to, and follows the aliases.
fn check_values_refs(manifest: &Manifest) -> Result<Vec<ValueId>> {
    let values = &manifest.values;
    for (at, value) in values.iter().enumerate() {
        let place = || format!("value {at} \"{}\"", value.name);
        for dim in &value.dims {
            in_range(dim.index(), manifest.exprs.len(), "expression", place)?;
        }
        if let Storage::Alias { of, byte_offset } = value.storage {
            in_range(of.index(), values.len(), "value", place)?;
            in_range(byte_offset.index(), manifest.exprs.len(), "expression", place)?;
        }
    }
    let mut roots: Vec<Option<ValueId>> = vec![None; values.len()];
    let mut chain = Vec::new();
    for start in 0..values.len() {
        let mut at = start;
        let root = loop {
            match (roots[at], values[at].storage) {
                (Some(root), _) => break root,
                (None, Storage::Alias { of, .. }) => chain.push(std::mem::replace(&mut at, of.index())),
                (None, _) => break ValueId(at as u32),
            }
            if chain.len() > MAX_ALIASES {
                return Err(Error::invalid(
                    format!("value {start} \"{}\"", values[start].name),
                    "its chain of aliases has no end, or is too long",
                ));
            }
        };
        roots[at] = Some(root);
        for link in chain.drain(..) {
            roots[link] = Some(root);
        }
    }
    Ok(roots.into_iter().flatten().collect())
}

/// Longest chain of aliases; the executor follows it at each use of a late value.
const MAX_ALIASES: usize = 64;

fn check_symbols(manifest: &Manifest) -> Result<()> {
    for symbol in &manifest.symbols {
        let SymbolSource::InputDim { input, axis } = symbol.source else { continue };
        let place = || format!("symbol \"{}\"", symbol.name);
        in_range(input as usize, manifest.inputs.len(), "input", place)?;
        let value = manifest.inputs[input as usize].value;
        in_range(value.index(), manifest.values.len(), "value", place)?;
        in_range(axis as usize, manifest.values[value.index()].dims.len(), "axis", place)?;
    }
    Ok(())
}

fn check_io(manifest: &Manifest) -> Result<()> {
    for (at, input) in manifest.inputs.iter().enumerate() {
        let place = || format!("input \"{}\"", input.name);
        in_range(input.value.index(), manifest.values.len(), "value", place)?;
        if manifest.values[input.value.index()].storage != Storage::Input(at as u32) {
            return Err(Error::invalid(place(), "its value isn't stored in the caller's buffer"));
        }
    }
    for output in &manifest.outputs {
        in_range(output.value.index(), manifest.values.len(), "value", || {
            format!("output \"{}\"", output.name)
        })?;
    }
    Ok(())
}

fn check_checks(facts: &Facts) -> Result<()> {
    for (at, check) in facts.manifest.checks.iter().enumerate() {
        for side in [check.a, check.b] {
            let place = || format!("check {at} ({})", check.message);
            if check.at_bind { facts.bound_expr(side, place) } else { facts.expr(side, place) }?;
        }
    }
    Ok(())
}

fn check_value(facts: &Facts, exprs: &mut Exprs, id: ValueId, weights_len: u64) -> Result<()> {
    let manifest = facts.manifest;
    let value = &manifest.values[id.index()];
    let place = || format!("value {} \"{}\"", id.0, value.name);
    let fail = |cause: &str| Err(Error::invalid(place(), cause));
    if value.form != Form::Tensor && !value.dims.is_empty() {
        return fail("it has dims but is no tensor");
    }
    let is_object = matches!(value.storage, Storage::Object { .. } | Storage::Strings(_));
    let is_either = matches!(value.storage, Storage::Input(_) | Storage::Output(_));
    if !is_either && is_object == is_plain(value) {
        return fail("its storage isn't one for its kind of value");
    }
    let ends_within =
        |offset: u64, bytes: u64, len: u64| offset.checked_add(bytes).is_some_and(|end| end <= len);
    match value.storage {
        Storage::Input(i) => {
            in_range(i as usize, manifest.inputs.len(), "input", place)?;
            if manifest.inputs[i as usize].value != id {
                return fail("the input it's stored in belongs to another value");
            }
        }
        Storage::Output(i) => {
            in_range(i as usize, manifest.outputs.len(), "output", place)?;
            if manifest.outputs[i as usize].value != id {
                return fail("the output it's stored in belongs to another value");
            }
        }
        Storage::Weight { offset } => {
            let bytes = byte_size(exprs, value, place)?;
            if offset % 64 != 0 || !ends_within(offset, bytes, weights_len) {
                return fail("its bytes aren't in the weights, at a multiple of 64");
            }
        }
        Storage::Arena { fixed, first, last } => {
            for &dim in &value.dims {
                facts.bound_expr(dim, place)?;
            }
            if first > last {
                return fail("its lifetime ends before it starts");
            }
            if let Some(region) = fixed
                && (region.offset % 64 != 0
                    || !ends_within(region.offset, region.bytes, manifest.arena_bytes))
            {
                return fail("its place isn't in the arena, at a multiple of 64");
            }
        }
        Storage::Late { slot } => in_range(slot as usize, manifest.late_slots as usize, "late slot", place)?,
        Storage::Object { slot } => {
            in_range(slot as usize, manifest.object_slots as usize, "object slot", place)?
        }
        Storage::Strings(i) => {
            in_range(i as usize, manifest.strings.len(), "string table", place)?;
            if value.form != Form::Tensor
                || element_count(exprs, value, place)? != manifest.strings[i as usize].len() as u64
            {
                return fail("its dims don't agree with its strings");
            }
        }
        Storage::Alias { .. } => {
            if !is_plain(facts.root(id)) {
                return fail("it's an alias of an object");
            }
        }
    }
    Ok(())
}
