//! Inputs and outputs of a model, described alike for graphs and packages.

use tcc_codegen::program::expr_text;
use tcc_ir::{Dim, Graph, Type, ValueId};
use tcc_runtime::package::{self, Expr, Form, Manifest};

use crate::execute;

/// One input or output.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    pub name: String,
    pub ty: PortType,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PortType {
    Tensor { dtype: tcc_ir::DType, dims: Vec<PortDim> },
    Sequence(tcc_ir::DType),
    Optional(tcc_ir::DType),
}

/// Extent of an axis as far as it is known before inputs are given.
#[derive(Clone, Debug, PartialEq)]
pub enum PortDim {
    Fixed(i64),
    Named(String),
    /// An expression over named extents, or one that depends on data.
    Other(String),
}

impl std::fmt::Display for PortDim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PortDim::Fixed(size) => size.fmt(f),
            PortDim::Named(text) | PortDim::Other(text) => f.write_str(text),
        }
    }
}

impl std::fmt::Display for PortType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PortType::Tensor { dtype, dims } if dims.is_empty() => write!(f, "{dtype}"),
            PortType::Tensor { dtype, dims } => {
                let dims: Vec<String> = dims.iter().map(PortDim::to_string).collect();
                write!(f, "{dtype}[{}]", dims.join(", "))
            }
            PortType::Sequence(dtype) => write!(f, "sequence of {dtype}"),
            PortType::Optional(dtype) => write!(f, "optional {dtype}"),
        }
    }
}

/// The inputs of a graph.
pub fn graph_inputs(graph: &Graph) -> Vec<Port> {
    let name = |id: ValueId| graph.value(id).name.clone().unwrap_or_default();
    graph.inputs().iter().map(|&id| Port { name: name(id), ty: type_of(graph.ty(id)) }).collect()
}

/// The outputs of a graph.
pub fn graph_outputs(graph: &Graph) -> Vec<Port> {
    let outputs = graph.outputs().iter().zip(graph.output_names());
    outputs.map(|(&id, name)| Port { name: name.clone(), ty: type_of(graph.ty(id)) }).collect()
}

fn type_of(ty: &Type) -> PortType {
    match ty {
        Type::Tensor(tensor) => {
            PortType::Tensor { dtype: tensor.dtype, dims: tensor.shape.iter().map(dim).collect() }
        }
        Type::Sequence(element) => PortType::Sequence(element_dtype(element)),
        Type::Optional(element) => PortType::Optional(element_dtype(element)),
        Type::Unranked(dtype) => {
            PortType::Tensor { dtype: *dtype, dims: vec![PortDim::Other("*".to_string())] }
        }
    }
}

fn element_dtype(ty: &Type) -> tcc_ir::DType {
    match ty {
        Type::Tensor(tensor) => tensor.dtype,
        Type::Unranked(dtype) => *dtype,
        Type::Sequence(element) | Type::Optional(element) => element_dtype(element),
    }
}

fn dim(dim: &Dim) -> PortDim {
    match (dim.as_const(), dim.as_symbol()) {
        (Some(size), _) => PortDim::Fixed(size),
        (None, Some(symbol)) => PortDim::Named(symbol.name.to_string()),
        (None, None) => PortDim::Other(dim.to_string()),
    }
}

/// The inputs of a package.
pub fn package_inputs(manifest: &Manifest) -> Vec<Port> {
    manifest.inputs.iter().map(|io| package_port(manifest, io)).collect()
}

/// The outputs of a package.
pub fn package_outputs(manifest: &Manifest) -> Vec<Port> {
    manifest.outputs.iter().map(|io| package_port(manifest, io)).collect()
}

fn package_port(manifest: &Manifest, io: &package::Io) -> Port {
    let value = &manifest.values[io.value.index()];
    let dtype = execute::ir_dtype(value.dtype);
    let ty = match value.form {
        Form::Tensor => {
            PortType::Tensor { dtype, dims: value.dims.iter().map(|&at| package_dim(manifest, at)).collect() }
        }
        Form::Sequence => PortType::Sequence(dtype),
        Form::Optional | Form::OptionalSequence => PortType::Optional(dtype),
    };
    Port { name: io.name.clone(), ty }
}

fn package_dim(manifest: &Manifest, at: package::ExprId) -> PortDim {
    match manifest.exprs[at.index()] {
        Expr::Const(size) => PortDim::Fixed(size),
        Expr::Symbol(symbol) => PortDim::Named(manifest.symbols[symbol.index()].name.clone()),
        _ => PortDim::Other(expr_text(manifest, at)),
    }
}
