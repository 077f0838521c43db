//! Mutations of attributes.

use fastrand::Rng;
use prost::Message;
use prost::bytes::Bytes;
use tcc_frontend::onnx::proto::{AttributeProto, AttributeType, GraphProto};

use super::tensor;
use crate::{numbers, pick_mut, shuffle};

/// Attributes that many operators have.
const INTS: [&str; 22] = [
    "axis",
    "to",
    "keepdims",
    "group",
    "ceil_mode",
    "exclusive",
    "reverse",
    "largest",
    "sorted",
    "batch_dims",
    "k",
    "num_heads",
    "kv_num_heads",
    "blocksize",
    "block_size",
    "hidden_size",
    "direction",
    "num_outputs",
    "dtype",
    "count_include_pad",
    "allowzero",
    "saturate",
];
const INT_LISTS: [&str; 9] = [
    "axes",
    "pads",
    "strides",
    "dilations",
    "kernel_shape",
    "perm",
    "split",
    "output_padding",
    "output_shape",
];
const FLOATS: [&str; 6] = ["alpha", "beta", "epsilon", "clip", "value_float", "spatial_scale"];
const TEXTS: [(&str, &[&str]); 6] = [
    ("auto_pad", &["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]),
    ("mode", &["linear", "cubic", "nearest", "constant", "edge", "reflect", "wrap", "DCR", "CRD"]),
    ("coordinate_transformation_mode", &["half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]),
    ("direction", &["forward", "reverse", "bidirectional"]),
    ("equation", &["ij,jk->ik", "...ii->...i", "ij->", "a,a", "ab...,bc...->ac..."]),
    ("reduction", &["none", "add", "mul", "max", "min", "mean", "sum"]),
];

/// An attribute that some operator knows.
pub fn known(rng: &mut Rng) -> AttributeProto {
    let mut attribute = AttributeProto::default();
    let (name, ty) = match rng.u8(0..4) {
        0 => {
            attribute.i = Some(numbers::int(rng, 1));
            (INTS[rng.usize(..INTS.len())], AttributeType::Int)
        }
        1 => {
            attribute.ints = (0..rng.usize(..6)).map(|_| numbers::int(rng, 1)).collect();
            (INT_LISTS[rng.usize(..INT_LISTS.len())], AttributeType::Ints)
        }
        2 => {
            attribute.f = Some(numbers::float(rng, 1.0));
            (FLOATS[rng.usize(..FLOATS.len())], AttributeType::Float)
        }
        _ => {
            let (name, values) = TEXTS[rng.usize(..TEXTS.len())];
            attribute.s = Some(Bytes::from_static(values[rng.usize(..values.len())].as_bytes()));
            (name, AttributeType::String)
        }
    };
    attribute.name = Some(name.to_string());
    attribute.r#type = Some(ty as i32);
    attribute
}

/// Changes what the attribute holds, or its kind; `change_graph` changes the graphs in it.
pub fn change(attribute: &mut AttributeProto, change_graph: fn(&mut GraphProto, &mut Rng), rng: &mut Rng) {
    if rng.u8(0..24) == 0 {
        attribute.r#type = Some(rng.i32(0..16));
        return;
    }
    if let Some(i) = &mut attribute.i {
        *i = numbers::int(rng, *i);
    }
    if let Some(f) = &mut attribute.f {
        *f = numbers::float(rng, *f);
    }
    if let Some(text) = &attribute.s {
        let known = TEXTS.iter().find(|(_, values)| values.iter().any(|value| value.as_bytes() == text));
        let mut changed = text.to_vec();
        match known {
            Some((_, values)) => changed = values[rng.usize(..values.len())].as_bytes().to_vec(),
            None => shuffle(rng, &mut changed),
        }
        attribute.s = Some(changed.into());
    }
    match rng.u8(0..3) {
        0 => shuffle(rng, &mut attribute.ints),
        _ => {
            if let Some(i) = pick_mut(rng, &mut attribute.ints) {
                *i = numbers::int(rng, *i);
            }
        }
    }
    match pick_mut(rng, &mut attribute.floats) {
        Some(f) if rng.bool() => *f = numbers::float(rng, *f),
        _ => shuffle(rng, &mut attribute.floats),
    }
    shuffle(rng, &mut attribute.strings);
    if let Some(held) = &mut attribute.t {
        tensor::change(held, rng);
    }
    if let Some(held) = &mut attribute.sparse_tensor {
        tensor::change_sparse(held, rng);
    }
    if let Some(held) = &mut attribute.tp {
        tensor::change_type(held, rng);
    }
    if let Some(bytes) = &mut attribute.g
        && let Ok(mut graph) = GraphProto::decode(bytes.clone())
    {
        change_graph(&mut graph, rng);
        *bytes = graph.encode_to_vec().into();
    }
}
