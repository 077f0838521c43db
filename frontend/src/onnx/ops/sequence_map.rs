//! SequenceMap: a loop over the elements of sequences.

use tcc_ir::ops::{Loop, SequenceAt, SequenceEmpty, SequenceInsert, SequenceLength, varying};
use tcc_ir::{DType, Dim, Graph, Type, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[onnx("SequenceMap", 17, sequence_map)];

fn sequence_map(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let body = cx.graph("body")?;
    let inputs = cx.inputs()?;
    let first = cx.input(0)?;
    let captures = cx.captures(&[body]);
    let controls = [
        ("iteration", Type::tensor(DType::I64, Vec::<Dim>::new())),
        ("condition", Type::tensor(DType::Bool, Vec::<Dim>::new())),
    ];
    let read: Vec<(&str, Type)> = inputs.iter().map(|&value| ("mapped", cx.ty(value).clone())).collect();
    // The body once on its own, for the types of what it makes.
    let formals = [&controls[..1], &read[..]].concat();
    let probe = cx.region("probe", &formals, &captures, &[body], |cx, values| {
        let elements = elements_at(cx, values[0], &values[1..])?;
        cx.inline(body, &elements)
    })?;
    let mut sequences = Vec::new();
    for &output in probe.outputs() {
        let ty = outside(probe.ty(output), &probe);
        sequences.push(cx.add(SequenceEmpty { ty }, &[])?);
    }
    let n_carried = sequences.len();
    let carried: Vec<(&str, Type)> = sequences.iter().map(|&value| ("made", cx.ty(value).clone())).collect();
    let formals = [&controls[..], &carried[..], &read[..]].concat();
    let region = cx.region("body", &formals, &captures, &[body], |cx, values| {
        let (made, read) = values[2..].split_at(n_carried);
        let elements = elements_at(cx, values[0], read)?;
        let results = cx.inline(body, &elements)?;
        let mut outputs = vec![values[1]];
        for (&sequence, result) in made.iter().zip(results) {
            outputs.push(cx.add(SequenceInsert {}, &[sequence, result])?);
        }
        Ok(outputs)
    })?;
    let mut operands = vec![cx.add(SequenceLength {}, &[first])?];
    operands.extend(sequences);
    operands.extend(&inputs);
    operands.extend(cx.captured_values(&captures));
    cx.add_all(Loop { body: region, n_carried, has_trip: true, has_cond: false }, &operands)
}

/// What an iteration works on: an element of each sequence, and tensors as they are.
fn elements_at(cx: &mut NodeCx, iteration: ValueId, values: &[ValueId]) -> Result<Vec<ValueId>> {
    let mut elements = Vec::new();
    for &value in values {
        elements.push(match cx.ty(value) {
            Type::Sequence(_) => cx.add(SequenceAt {}, &[value, iteration])?,
            _ => value,
        });
    }
    Ok(elements)
}

/// A type as it is outside of a region: extents that only the region gives a meaning to vary.
fn outside(ty: &Type, region: &Graph) -> Type {
    let mut ty = ty.clone();
    ty.map_dims(&mut |dim| {
        let mut is_local = false;
        dim.visit_symbols(&mut |symbol| is_local |= region.symbol_source(symbol).is_some());
        if is_local { varying() } else { dim.clone() }
    });
    ty
}
