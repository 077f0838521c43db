//! Whole models, built from messages: what loads, and what is refused with which words.

use prost::Message;
use prost::bytes::Bytes;

use tcc_ir::diag::{Code, Diagnostics};

use super::attribute::Attribute;
use super::dtype::DataType;
use super::external::ExternalFiles;
use super::model::{Model, load_bytes};
use super::proto::*;
use super::tensor::TensorData;

fn node(op_type: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto {
        op_type: Some(op_type.into()),
        input: inputs.iter().map(|name| name.to_string()).collect(),
        output: outputs.iter().map(|name| name.to_string()).collect(),
        ..Default::default()
    }
}

fn call(op_type: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto { domain: Some("local".into()), ..node(op_type, inputs, outputs) }
}

fn with(mut node: NodeProto, attribute: AttributeProto) -> NodeProto {
    node.attribute.push(attribute);
    node
}

fn attribute(name: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(kind as i32), ..Default::default() }
}

fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute(name, AttributeType::Int) }
}

fn body(name: &str, graph: &GraphProto) -> AttributeProto {
    AttributeProto { g: Some(graph.encode_to_vec().into()), ..attribute(name, AttributeType::Graph) }
}

fn scalar(name: &str) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        data_type: Some(DataType::F32 as i32),
        float_data: vec![1.0],
        ..Default::default()
    }
}

fn info(name: &str) -> ValueInfoProto {
    let tensor = type_proto::Tensor { elem_type: Some(DataType::F32 as i32), shape: None };
    ValueInfoProto {
        name: Some(name.into()),
        r#type: Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)) }),
    }
}

fn graph(inputs: &[&str], nodes: Vec<NodeProto>, outputs: &[&str]) -> GraphProto {
    GraphProto {
        node: nodes,
        input: inputs.iter().map(|name| info(name)).collect(),
        output: outputs.iter().map(|name| info(name)).collect(),
        ..Default::default()
    }
}

fn import(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto { domain: Some(domain.into()), version: Some(version) }
}

fn function(name: &str, inputs: &[&str], nodes: Vec<NodeProto>, outputs: &[&str]) -> FunctionProto {
    FunctionProto {
        name: Some(name.into()),
        domain: Some("local".into()),
        input: inputs.iter().map(|name| name.to_string()).collect(),
        output: outputs.iter().map(|name| name.to_string()).collect(),
        node: nodes,
        opset_import: vec![import("", 17)],
        ..Default::default()
    }
}

fn model(graph: GraphProto, functions: Vec<FunctionProto>) -> ModelProto {
    ModelProto {
        ir_version: Some(10),
        opset_import: vec![import("", 21)],
        graph: Some(graph),
        functions,
        ..Default::default()
    }
}

fn load(proto: &ModelProto) -> Result<Model, Diagnostics> {
    load_bytes(proto.encode_to_vec().into(), ExternalFiles::none())
}

fn load_graph(graph: GraphProto) -> Result<Model, Diagnostics> {
    load(&model(graph, vec![]))
}

fn ops(model: &Model) -> Vec<&str> {
    model.main().nodes.iter().map(|node| node.label.op_type.as_str()).collect()
}

/// The problems of a model that must not load: codes and text.
fn refused(proto: &ModelProto) -> (Vec<Code>, String) {
    let problems = load(proto).unwrap_err();
    (problems.0.iter().map(|problem| problem.code).collect(), problems.to_string())
}

fn refused_graph(graph: GraphProto) -> (Vec<Code>, String) {
    refused(&model(graph, vec![]))
}

#[test]
fn nodes_come_out_in_order() {
    let nodes = vec![node("Add", &["t", "x"], &["y"]), node("Relu", &["x"], &["t"])];
    let model = load_graph(graph(&["x"], nodes, &["y"])).unwrap();
    assert_eq!(ops(&model), ["Relu", "Add"]);
    assert_eq!(model.main().outputs[0].value, model.main().nodes[1].outputs[0].unwrap());
}

#[test]
fn a_cycle_names_its_nodes() {
    let nodes = vec![node("Add", &["b", "x"], &["a"]), node("Relu", &["a"], &["b"])];
    let (kinds, text) = refused_graph(graph(&["x"], nodes, &["b"]));
    assert_eq!(kinds, [Code::InvalidGraph]);
    assert!(text.contains("`#0 -> a`, `#1 -> b`"), "{text}");
    let (kinds, _) = refused_graph(graph(&["x"], vec![node("Add", &["x", "a"], &["a"])], &["a"]));
    assert_eq!(kinds, [Code::InvalidGraph]);
}

#[test]
fn a_branch_that_needs_its_own_node_is_a_cycle() {
    let branch = graph(&[], vec![node("Relu", &["y"], &["r"])], &["r"]);
    let cond = with(node("If", &["c"], &["y"]), body("then_branch", &branch));
    assert_eq!(refused_graph(graph(&["c"], vec![cond], &["y"])).0, [Code::InvalidGraph]);
}

#[test]
fn every_bad_name_is_reported() {
    let nodes = vec![
        node("Add", &["x", "nowhere"], &["a"]),
        node("Relu", &["x"], &["a"]),
        node("Relu", &["x"], &["x"]),
    ];
    let (kinds, text) = refused_graph(graph(&["x"], nodes, &["a", "gone"]));
    assert_eq!(kinds, [Code::InvalidGraph; 4], "{text}");
    for part in ["`nowhere`", "output `a` is already defined", "output `x` is already defined", "`gone`"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn optional_inputs_and_outputs_are_absent() {
    let model = load_graph(graph(&["x"], vec![node("Op", &["x", "", "x"], &["", "y"])], &["y"])).unwrap();
    let node = &model.main().nodes[0];
    assert_eq!(node.inputs[1], None);
    assert_eq!(node.outputs[0], None);
}

#[test]
fn initialised_inputs_are_constants() {
    let mut proto = graph(&["x", "w"], vec![node("Add", &["x", "w"], &["y"])], &["y"]);
    proto.initializer.push(scalar("w"));
    let model = load_graph(proto).unwrap();
    assert_eq!(model.main().inputs.len(), 1);
    assert_eq!(model.main().constants.len(), 1);
}

#[test]
fn constant_nodes_become_constants_in_every_form() {
    let form = |attribute: AttributeProto| {
        let constant = with(node("Constant", &[], &["c"]), attribute);
        let model = load_graph(graph(&[], vec![constant], &["c"])).unwrap();
        assert!(model.main().nodes.is_empty());
        let tensor = model.main().constants[0].1.clone();
        (tensor.dtype, tensor.shape, tensor.data)
    };
    let bytes = |bytes: &[u8]| TensorData::Bytes(Bytes::copy_from_slice(bytes));
    let one = 1f32.to_le_bytes();
    let value = AttributeProto { t: Some(scalar("")), ..attribute("value", AttributeType::Tensor) };
    assert_eq!(form(value), (DataType::F32, vec![], bytes(&one)));
    let float = AttributeProto { f: Some(1.0), ..attribute("value_float", AttributeType::Float) };
    assert_eq!(form(float), (DataType::F32, vec![], bytes(&one)));
    assert_eq!(form(int("value_int", 1)), (DataType::I64, vec![], bytes(&1i64.to_le_bytes())));
    let ints = AttributeProto { ints: vec![1], ..attribute("value_ints", AttributeType::Ints) };
    assert_eq!(form(ints), (DataType::I64, vec![1], bytes(&1i64.to_le_bytes())));
    let text =
        AttributeProto { s: Some(Bytes::from("a")), ..attribute("value_string", AttributeType::String) };
    assert_eq!(form(text), (DataType::String, vec![], TensorData::Strings(vec!["a".into()])));
    let sparse = SparseTensorProto {
        values: Some(TensorProto { dims: vec![1], ..scalar("") }),
        indices: Some(TensorProto {
            dims: vec![1],
            data_type: Some(DataType::I64 as i32),
            int64_data: vec![1],
            ..Default::default()
        }),
        dims: vec![2],
    };
    let sparse = AttributeProto {
        sparse_tensor: Some(sparse),
        ..attribute("sparse_value", AttributeType::SparseTensor)
    };
    assert_eq!(form(sparse), (DataType::F32, vec![2], bytes(&[[0; 4], one].concat())));
}

#[test]
fn a_constant_must_have_one_value() {
    let none = node("Constant", &[], &["c"]);
    let two = with(with(none.clone(), int("value_int", 1)), int("value_other", 1));
    for bad in [none, two] {
        assert_eq!(refused_graph(graph(&[], vec![bad], &["c"])).0, [Code::InvalidGraph]);
    }
}

#[test]
fn captures_pass_through_every_level() {
    let inner = graph(&[], vec![node("Add", &["x", "t"], &["i"])], &["i"]);
    let outer = graph(
        &[],
        vec![node("Relu", &["x"], &["t"]), with(node("If", &["c"], &["o"]), body("then_branch", &inner))],
        &["o"],
    );
    let top = with(node("If", &["c"], &["y"]), body("then_branch", &outer));
    let model = load_graph(graph(&["c", "x"], vec![top], &["y"])).unwrap();
    let names = |graph: usize| -> Vec<&str> {
        model.graphs[graph].captures.iter().map(|&value| model.value(value).name.as_str()).collect()
    };
    assert_eq!(names(0), [""; 0]);
    assert_eq!(names(1), ["c", "x"]);
    assert_eq!(names(2), ["x", "t"]);
}

#[test]
fn a_branch_may_return_an_outer_value_and_hide_an_outer_name() {
    let mut branch = graph(&[], vec![node("Add", &["w", "x"], &["h"])], &["h", "x"]);
    branch.initializer.push(scalar("w"));
    let cond = with(node("If", &["x"], &["y", "z"]), body("then_branch", &branch));
    let mut outer = graph(&["x"], vec![cond], &["y"]);
    outer.initializer.push(scalar("w"));
    let model = load_graph(outer).unwrap();
    assert_eq!(model.graphs[1].outputs[1].value, model.main().inputs[0].value);
    assert_ne!(model.graphs[1].nodes[0].inputs[0], Some(model.main().constants[0].0));
}

#[test]
fn functions_are_inlined() {
    let inner = function("Twice", &["a"], vec![node("Add", &["a", "a"], &["b"])], &["b"]);
    let outer = function(
        "Both",
        &["a"],
        vec![call("Twice", &["a"], &["t"]), call("Twice", &["t"], &["u"])],
        &["u", "a"],
    );
    let main = graph(&["x"], vec![call("Both", &["x"], &["y", "z"])], &["y", "z"]);
    let model = load(&model(main, vec![inner, outer])).unwrap();
    assert_eq!(ops(&model), ["Identity", "Add", "Add"]);
    let [copy, first, second] = &model.main().nodes[..] else { panic!() };
    assert_eq!(copy.inputs[0].unwrap(), model.main().inputs[0].value);
    assert_eq!(second.inputs[0], first.outputs[0]);
    assert_eq!(second.outputs[0].unwrap(), model.main().outputs[0].value);
    assert_eq!(first.label.opset, 17);
}

#[test]
fn attributes_reach_the_body_from_the_call_or_the_default() {
    let reference = |name: &str| AttributeProto {
        ref_attr_name: Some(name.into()),
        ..attribute(name, AttributeType::Int)
    };
    let mut callee = function(
        "F",
        &["a"],
        vec![with(with(with(node("Op", &["a"], &["b"]), reference("p")), reference("q")), reference("r"))],
        &["b"],
    );
    callee.attribute = vec!["p".into(), "r".into()];
    callee.attribute_proto = vec![int("q", 7)];
    let caller = with(call("F", &["x"], &["y"]), int("p", 5));
    let model = load(&model(graph(&["x"], vec![caller], &["y"]), vec![callee])).unwrap();
    let attributes = &model.main().nodes[0].attributes;
    assert_eq!(attributes.get("p"), Some(&Attribute::Int(5)));
    assert_eq!(attributes.get("q"), Some(&Attribute::Int(7)));
    assert_eq!(attributes.get("r"), None);
}

#[test]
fn a_body_inside_a_function_sees_the_function_only() {
    let branch = graph(&[], vec![node("Relu", &["a"], &["r"])], &["r"]);
    let good =
        function("F", &["a"], vec![with(node("If", &["a"], &["b"]), body("then_branch", &branch))], &["b"]);
    let bad = FunctionProto { input: vec!["other".into()], ..good.clone() };
    let main = graph(&["a"], vec![call("F", &["a"], &["y"])], &["y"]);
    let loaded = load(&model(main.clone(), vec![good])).unwrap();
    assert_eq!(loaded.graphs[1].captures, [loaded.main().inputs[0].value]);
    assert!(load(&model(main, vec![bad])).is_err());
}

#[test]
fn recursive_functions_name_the_cycle() {
    let f = function("F", &["a"], vec![call("G", &["a"], &["b"])], &["b"]);
    let g = function("G", &["a"], vec![call("F", &["a"], &["b"])], &["b"]);
    let main = graph(&["x"], vec![call("F", &["x"], &["y"])], &["y"]);
    let (kinds, text) = refused(&model(main, vec![f, g]));
    assert_eq!(kinds, [Code::InvalidGraph]);
    assert!(text.contains("local.F -> local.G -> local.F"), "{text}");
}

#[test]
fn an_expansion_bomb_is_stopped() {
    let level = |level: usize| {
        let next = format!("L{}", level + 1);
        let names: Vec<String> = (0..=10).map(|index| format!("t{index}")).collect();
        let nodes = names.windows(2).map(|pair| call(&next, &[&pair[0]], &[&pair[1]])).collect();
        function(&format!("L{level}"), &["t0"], nodes, &["t10"])
    };
    let last = function("L12", &["a"], vec![node("Relu", &["a"], &["b"])], &["b"]);
    let functions = (0..12).map(level).chain([last]).collect();
    let main = graph(&["x"], vec![call("L0", &["x"], &["y"])], &["y"]);
    assert_eq!(refused(&model(main, functions)).0, [Code::ResourceLimit]);
}

/// `depth` conditionals inside each other.
fn nested(depth: usize) -> GraphProto {
    (0..depth).fold(graph(&[], vec![node("Relu", &["x"], &["r"])], &["r"]), |inner, _| {
        graph(&[], vec![with(node("If", &["c"], &["r"]), body("then_branch", &inner))], &["r"])
    })
}

#[test]
fn deep_nesting_loads_up_to_a_limit() {
    let main = |depth| GraphProto { input: vec![info("c"), info("x")], ..nested(depth) };
    assert_eq!(load_graph(main(500)).unwrap().graphs.len(), 501);
    assert_eq!(refused_graph(main(600)).0, [Code::ResourceLimit]);
}

#[test]
fn versions_outside_the_range_are_refused() {
    let main = || graph(&["x"], vec![], &["x"]);
    for ir_version in [0, 2, 99] {
        let proto = ModelProto { ir_version: Some(ir_version), ..model(main(), vec![]) };
        assert_eq!(refused(&proto).0, [Code::FormatVersion]);
    }
    let proto = ModelProto { opset_import: vec![import("", 99)], ..model(main(), vec![]) };
    assert_eq!(refused(&proto).0, [Code::FormatVersion]);
    let proto =
        ModelProto { opset_import: vec![import("", 13), import("ai.onnx", 14)], ..model(main(), vec![]) };
    assert_eq!(refused(&proto).0, [Code::FileMalformed]);
    let proto = ModelProto { opset_import: vec![], ..model(main(), vec![]) };
    assert_eq!(refused(&proto).0, [Code::FileMalformed]);
}

#[test]
fn a_domain_that_is_not_imported_is_refused() {
    let (kinds, text) = refused_graph(graph(&["x"], vec![call("F", &["x"], &["y"])], &["y"]));
    assert_eq!(kinds, [Code::FormatVersion]);
    assert!(text.contains("domain local"), "{text}");
}

#[test]
fn truncated_or_changed_bytes_never_panic() {
    let branch = graph(&[], vec![node("Relu", &["x"], &["r"])], &["r"]);
    let mut main = graph(
        &["c", "x"],
        vec![with(node("If", &["c"], &["t"]), body("then_branch", &branch)), call("F", &["t"], &["y"])],
        &["y"],
    );
    main.initializer.push(scalar("w"));
    let callee = function("F", &["a"], vec![node("Relu", &["a"], &["b"])], &["b"]);
    let bytes = model(main, vec![callee]).encode_to_vec();
    for end in 0..bytes.len() {
        _ = load_bytes(Bytes::copy_from_slice(&bytes[..end]), ExternalFiles::none());
    }
    for index in 0..bytes.len() {
        for flip in [1, 0x10, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[index] ^= flip;
            _ = load_bytes(changed.into(), ExternalFiles::none());
        }
    }
}
