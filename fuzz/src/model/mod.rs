//! Mutations of ONNX models: of graphs and their nodes here, of what these hold in the files beside.

mod attribute;
mod tensor;

use fastrand::Rng;
use prost::Message;
use tcc_frontend::onnx::ops;
use tcc_frontend::onnx::proto::{FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto};

use crate::{numbers, pick, pick_mut, shuffle};

/// A changed copy of an encoded model; `None` if it can't be decoded.
pub fn mutate(bytes: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let mut model = ModelProto::decode(bytes).ok()?;
    for _ in 0..1 << rng.u8(0..4) {
        change_model(&mut model, rng);
    }
    Some(model.encode_to_vec())
}

fn change_model(model: &mut ModelProto, rng: &mut Rng) {
    match rng.u8(0..32) {
        0 => model.ir_version = Some(numbers::int(rng, model.ir_version.unwrap_or(8))),
        1 | 2 => change_opsets(&mut model.opset_import, rng),
        3 => shuffle(rng, &mut model.functions),
        4 => outline(model, rng),
        5..8 if !model.functions.is_empty() => {
            if let Some(function) = pick_mut(rng, &mut model.functions) {
                change_function(function, rng);
            }
        }
        _ => change_graph(model.graph.get_or_insert_default(), rng),
    }
}

fn change_opsets(opsets: &mut Vec<OperatorSetIdProto>, rng: &mut Rng) {
    match (rng.u8(0..4), pick_mut(rng, opsets)) {
        (0, _) => shuffle(rng, opsets),
        (1, _) => {
            let domains = ["", "ai.onnx.ml", "com.microsoft", "ai.onnx.training", "local"];
            let domain = domains[rng.usize(..domains.len())].to_string();
            opsets.push(OperatorSetIdProto { domain: Some(domain), version: Some(rng.i64(0..30)) });
        }
        (_, Some(opset)) => opset.version = Some(rng.i64(1..30)),
        (_, None) => {}
    }
}

/// Makes one node of the main graph a call of a function that consists of that node.
fn outline(model: &mut ModelProto, rng: &mut Rng) {
    let Some(node) = model.graph.as_mut().and_then(|graph| pick_mut(rng, &mut graph.node)) else { return };
    let name = format!("fn{}", rng.u8(0..8));
    model.functions.push(FunctionProto {
        name: Some(name.clone()),
        domain: Some("local".to_string()),
        input: node.input.clone(),
        output: node.output.clone(),
        node: vec![node.clone()],
        opset_import: model.opset_import.clone(),
        ..FunctionProto::default()
    });
    node.op_type = Some(name);
    node.domain = Some("local".to_string());
    if !model.opset_import.iter().any(|opset| opset.domain.as_deref() == Some("local")) {
        model.opset_import.push(OperatorSetIdProto { domain: Some("local".to_string()), version: Some(1) });
    }
}

fn change_function(function: &mut FunctionProto, rng: &mut Rng) {
    let mut names = [&function.input[..], &function.output[..]].concat();
    names.extend(function.node.iter().flat_map(|node| node.output.iter().cloned()));
    match rng.u8(0..6) {
        0 => shuffle(rng, &mut function.input),
        1 => shuffle(rng, &mut function.output),
        2 => shuffle(rng, &mut function.attribute),
        3 => change_opsets(&mut function.opset_import, rng),
        _ => change_nodes(&mut function.node, &names, rng),
    }
}

fn change_graph(graph: &mut GraphProto, rng: &mut Rng) {
    let names = names(graph);
    match rng.u8(0..16) {
        0 => shuffle(rng, &mut graph.initializer),
        1 => shuffle(rng, &mut graph.input),
        2 => shuffle(rng, &mut graph.output),
        3 | 4 => {
            if let Some(tensor) = pick_mut(rng, &mut graph.initializer) {
                tensor::change(tensor, rng);
            }
        }
        5 | 6 => {
            let ports = if rng.bool() { &mut graph.input } else { &mut graph.output };
            if let Some(port) = pick_mut(rng, ports) {
                tensor::change_type(port.r#type.get_or_insert_default(), rng);
            }
        }
        7 => {
            // What a node makes becomes a result, in the place of another one.
            if let (Some(port), Some(name)) = (pick_mut(rng, &mut graph.output), pick(rng, &names)) {
                port.name = Some(name.clone());
            }
        }
        8 => {
            // An input becomes a constant, or the other way round.
            if let (Some(port), Some(tensor)) = (pick(rng, &graph.input), pick_mut(rng, &mut graph.initializer)) {
                tensor.name.clone_from(&port.name);
            }
        }
        9 => {
            for sparse in &mut graph.sparse_initializer {
                tensor::change_sparse(sparse, rng);
            }
        }
        _ => change_nodes(&mut graph.node, &names, rng),
    }
}

fn names(graph: &GraphProto) -> Vec<String> {
    let inputs = graph.input.iter().filter_map(|port| port.name.clone());
    let constants = graph.initializer.iter().filter_map(|tensor| tensor.name.clone());
    let made = graph.node.iter().flat_map(|node| node.output.iter().cloned());
    inputs.chain(constants).chain(made).chain([String::new()]).collect()
}

fn change_nodes(nodes: &mut Vec<NodeProto>, names: &[String], rng: &mut Rng) {
    if rng.u8(0..8) == 0 {
        return shuffle(rng, nodes);
    }
    let inserted = (rng.u8(0..8) == 0).then(|| insert(nodes, rng)).flatten();
    let at = inserted.or_else(|| (!nodes.is_empty()).then(|| rng.usize(..nodes.len())));
    if let Some(at) = at {
        change_node(&mut nodes[at], names, rng);
    }
}

/// Puts a node of any operator between another one and its readers.
fn insert(nodes: &mut Vec<NodeProto>, rng: &mut Rng) -> Option<usize> {
    let at = (!nodes.is_empty()).then(|| rng.usize(..nodes.len()))?;
    let output = pick_mut(rng, &mut nodes[at].output)?;
    let between = format!("{output}_{}", rng.u16(..));
    let after = std::mem::replace(output, between.clone());
    let mut node = NodeProto { input: vec![between], output: vec![after], ..NodeProto::default() };
    set_operator(&mut node, rng);
    nodes.insert(at + 1, node);
    Some(at + 1)
}

fn set_operator(node: &mut NodeProto, rng: &mut Rng) {
    let entries: Vec<&ops::Entry> = ops::all().collect();
    if let Some(entry) = pick(rng, &entries) {
        node.op_type = Some(entry.op_type.to_string());
        node.domain = Some(entry.domain.to_string());
    }
}

fn change_node(node: &mut NodeProto, names: &[String], rng: &mut Rng) {
    match rng.u8(0..12) {
        0 => set_operator(node, rng),
        1 => shuffle(rng, &mut node.input),
        2 => shuffle(rng, &mut node.output),
        3 | 4 => {
            let name = pick(rng, names).cloned().unwrap_or_default();
            match pick_mut(rng, &mut node.input) {
                Some(input) if rng.u8(0..4) > 0 => *input = name,
                _ => node.input.push(name),
            }
        }
        5 => node.output.push(format!("out{}", rng.u16(..))),
        6 => shuffle(rng, &mut node.attribute),
        7 => node.attribute.push(attribute::known(rng)),
        _ => match pick_mut(rng, &mut node.attribute) {
            Some(attribute) => attribute::change(attribute, change_graph, rng),
            None => node.attribute.push(attribute::known(rng)),
        },
    }
}
