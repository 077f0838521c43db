//! Mutations of tensors and types.

use fastrand::Rng;
use tcc_frontend::onnx::proto::{
    DATA_LOCATION_EXTERNAL, Dimension, DimensionValue, SparseTensorProto, StringStringEntryProto, TensorProto,
    TensorShapeProto, TypeProto, type_proto,
};

use crate::{numbers, pick_mut, shuffle};

/// Numbers of ONNX's element types end before this one.
const N_TYPES: i32 = 30;

pub fn change(tensor: &mut TensorProto, rng: &mut Rng) {
    match rng.u8(0..10) {
        0 => tensor.data_type = Some(rng.i32(0..N_TYPES)),
        1 => shuffle(rng, &mut tensor.dims),
        2 => {
            if let Some(dim) = pick_mut(rng, &mut tensor.dims) {
                *dim = numbers::int(rng, *dim);
            }
        }
        3 => reshape(tensor),
        4 => make_external(tensor, rng),
        _ => change_elements(tensor, rng),
    }
}

/// One dim for all elements.
fn reshape(tensor: &mut TensorProto) {
    let count = tensor.dims.iter().try_fold(1i64, |count, &dim| count.checked_mul(dim));
    tensor.dims = count.into_iter().collect();
}

fn make_external(tensor: &mut TensorProto, rng: &mut Rng) {
    tensor.data_location = Some(DATA_LOCATION_EXTERNAL);
    let entry = |key: &str, value: String| StringStringEntryProto { key: Some(key.into()), value: Some(value) };
    let places = ["weights.bin", "../weights.bin", "", ".", "missing", "\0"];
    tensor.external_data = vec![entry("location", places[rng.usize(..places.len())].to_string())];
    if rng.bool() {
        tensor.external_data.push(entry("offset", numbers::int(rng, 0).to_string()));
    }
    if rng.bool() {
        tensor.external_data.push(entry("length", numbers::int(rng, 16).to_string()));
    }
}

fn change_elements(tensor: &mut TensorProto, rng: &mut Rng) {
    if let Some(raw) = &tensor.raw_data {
        let mut bytes = raw.to_vec();
        let value = numbers::int(rng, 1).to_le_bytes();
        match rng.u8(0..4) {
            0 => bytes.truncate(rng.usize(..=bytes.len())),
            1 => bytes.extend(value),
            // Most tensors that matter to shapes are a few i64.
            _ if bytes.len() >= 8 => {
                let at = rng.usize(..bytes.len() / 8) * 8;
                bytes[at..at + 8].copy_from_slice(&value);
            }
            _ => shuffle(rng, &mut bytes),
        }
        tensor.raw_data = Some(bytes.into());
    }
    if let Some(element) = pick_mut(rng, &mut tensor.int64_data) {
        *element = numbers::int(rng, *element);
    }
    if let Some(element) = pick_mut(rng, &mut tensor.int32_data) {
        *element = numbers::int(rng, i64::from(*element)) as i32;
    }
    if let Some(element) = pick_mut(rng, &mut tensor.float_data) {
        *element = numbers::float(rng, *element);
    }
    shuffle(rng, &mut tensor.string_data);
}

pub fn change_sparse(sparse: &mut SparseTensorProto, rng: &mut Rng) {
    match rng.u8(0..3) {
        0 => sparse.values.iter_mut().for_each(|tensor| change(tensor, rng)),
        1 => sparse.indices.iter_mut().for_each(|tensor| change(tensor, rng)),
        _ => match pick_mut(rng, &mut sparse.dims) {
            Some(dim) => *dim = numbers::int(rng, *dim),
            None => sparse.dims.push(1),
        },
    }
}

pub fn change_type(ty: &mut TypeProto, rng: &mut Rng) {
    use type_proto::Value::{OptionalType, SequenceType, TensorType};
    match &mut ty.value {
        Some(TensorType(tensor)) if rng.u8(0..16) > 0 => change_tensor_type(tensor, rng),
        Some(SequenceType(element) | OptionalType(element)) if rng.u8(0..4) > 0 => {
            change_type(element.elem_type.get_or_insert_default(), rng);
        }
        value => {
            let inner = Some(Box::new(TypeProto { value: value.take() }));
            let element = Box::new(type_proto::Element { elem_type: inner });
            *value = match rng.u8(0..3) {
                0 => Some(SequenceType(element)),
                1 => Some(OptionalType(element)),
                _ => Some(TensorType(type_proto::Tensor { elem_type: Some(1), shape: None })),
            };
        }
    }
}

fn change_tensor_type(tensor: &mut type_proto::Tensor, rng: &mut Rng) {
    match rng.u8(0..8) {
        0 => tensor.elem_type = Some(rng.i32(0..N_TYPES)),
        1 => tensor.shape = rng.bool().then(TensorShapeProto::default),
        2 => shuffle(rng, &mut tensor.shape.get_or_insert_default().dim),
        _ => {
            let dims = &mut tensor.shape.get_or_insert_default().dim;
            match pick_mut(rng, dims) {
                Some(dim) => dim.value = dim_value(dim.value.take(), rng),
                None => dims.push(Dimension { value: dim_value(None, rng) }),
            }
        }
    }
}

fn dim_value(old: Option<DimensionValue>, rng: &mut Rng) -> Option<DimensionValue> {
    let symbols = ["N", "M", "batch", "2*N", "N + 1", "floor(N/2)", "?", ""];
    match (rng.u8(0..8), old) {
        (0, _) => None,
        (1..4, _) => Some(DimensionValue::DimParam(symbols[rng.usize(..symbols.len())].to_string())),
        (_, Some(DimensionValue::DimValue(old))) => Some(DimensionValue::DimValue(numbers::int(rng, old))),
        _ => Some(DimensionValue::DimValue(rng.i64(0..8))),
    }
}
