//! Runs models: graphs with the reference evaluator, packages with the runtime. Values are the IR's in both cases.

use tcc_ir::tensor::n_elements;
use tcc_ir::{DType, Graph, Tensor, Value};
use tcc_runtime::package::Form;
use tcc_runtime::{Context, Data, Object};

use crate::{Code, Diagnostic, Result, report};

/// Runs a graph with the reference evaluator: slow, and right by definition.
pub fn evaluate(graph: &Graph, inputs: &[Value]) -> Result<Vec<Value>> {
    tcc_ir::eval::evaluate(graph, inputs).map_err(|failure| report::evaluation(&failure).into())
}

/// Gives a context its inputs, in order.
pub fn set_inputs(context: &mut Context, inputs: &[Value]) -> Result<()> {
    for (index, value) in inputs.iter().enumerate() {
        let set = match value {
            Value::Tensor(tensor) if tensor.dtype() != DType::String => context.set_input(
                index,
                package_dtype(tensor.dtype()),
                &signed(tensor.shape()),
                tensor.bytes(),
            ),
            _ => context.set_input_object(index, object(value)?),
        };
        set.map_err(|error| report::runtime(&error))?;
    }
    Ok(())
}

/// Runs a context on the inputs that it has.
pub fn run(context: &mut Context) -> Result<()> {
    Ok(context.run().map_err(|error| report::runtime(&error))?)
}

/// The results of a context's last run, in order.
pub fn outputs(context: &Context) -> Result<Vec<Value>> {
    let manifest = context.package().manifest();
    (0..manifest.outputs.len()).map(|index| output(context, index)).collect()
}

fn output(context: &Context, index: usize) -> Result<Value> {
    let manifest = context.package().manifest();
    let described = &manifest.values[manifest.outputs[index].value.index()];
    if described.form == Form::Tensor && described.dtype != tcc_runtime::DType::String {
        let view = context.output(index).map_err(|error| report::runtime(&error))?;
        return plain(view.dtype, view.shape, view.bytes.to_vec()).map(Value::Tensor);
    }
    value(context.output_object(index).map_err(|error| report::runtime(&error))?)
}

fn object(value: &Value) -> Result<Object> {
    Ok(match value {
        Value::Tensor(value) => Object::Tensor(runtime_tensor(value)),
        Value::Sequence(elements) => {
            let tensor = |element: &Value| element.as_tensor().map(runtime_tensor).ok_or_else(nested);
            Object::Sequence(elements.iter().map(tensor).collect::<std::result::Result<_, _>>()?)
        }
        Value::Optional(None) => Object::Optional(None),
        Value::Optional(Some(element)) => Object::Optional(Some(Box::new(object(element)?))),
    })
}

fn nested() -> Diagnostic {
    Diagnostic::error(Code::InputMismatch, "packages take sequences of tensors, not of other values")
}

fn runtime_tensor(tensor: &Tensor) -> tcc_runtime::Tensor {
    let shape = signed(tensor.shape());
    match tensor.dtype() {
        DType::String => tcc_runtime::Tensor::strings(shape, tensor.strings().to_vec()),
        dtype => tcc_runtime::Tensor::plain(package_dtype(dtype), shape, tensor.bytes().to_vec()),
    }
}

fn value(object: &Object) -> Result<Value> {
    Ok(match object {
        Object::Tensor(tensor) => Value::Tensor(ir_tensor(tensor)?),
        Object::Sequence(elements) => {
            Value::Sequence(elements.iter().map(|t| ir_tensor(t).map(Value::Tensor)).collect::<Result<_>>()?)
        }
        Object::Optional(None) => Value::Optional(None),
        Object::Optional(Some(element)) => Value::Optional(Some(Box::new(value(element)?))),
    })
}

fn ir_tensor(tensor: &tcc_runtime::Tensor) -> Result<Tensor> {
    match &tensor.data {
        Data::Bytes(bytes) => plain(tensor.dtype, &tensor.shape, bytes.clone()),
        Data::Strings(strings) => {
            let shape = unsigned(&tensor.shape).filter(|s| n_elements(s) == Some(strings.len()));
            Ok(Tensor::from_strings(shape.ok_or_else(inconsistent)?, strings.clone()))
        }
    }
}

fn plain(dtype: tcc_runtime::DType, shape: &[i64], bytes: Vec<u8>) -> Result<Tensor> {
    let tensor = unsigned(shape).and_then(|shape| Tensor::from_bytes(ir_dtype(dtype), shape, bytes.into()));
    Ok(tensor.ok_or_else(inconsistent)?)
}

fn inconsistent() -> Diagnostic {
    Diagnostic::error(Code::CodegenFailed, "the package returned a tensor whose shape and data disagree")
}

fn signed(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|&dim| dim as i64).collect()
}

fn unsigned(shape: &[i64]) -> Option<Vec<usize>> {
    shape.iter().map(|&dim| usize::try_from(dim).ok()).collect()
}

/// The package's name for an element type of the IR. Both lists have the same names.
pub fn package_dtype(dtype: DType) -> tcc_runtime::DType {
    tcc_runtime::DType::from_name(dtype.name()).expect("the IR and packages have the same element types")
}

/// The IR's name for an element type of a package.
pub fn ir_dtype(dtype: tcc_runtime::DType) -> DType {
    DType::from_name(dtype.name()).expect("the IR and packages have the same element types")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_types_are_the_same_in_packages() {
        for dtype in DType::all() {
            assert_eq!(ir_dtype(package_dtype(dtype)), dtype);
        }
        assert_eq!(DType::all().count(), tcc_runtime::DType::all().count());
    }

    #[test]
    fn values_survive_the_way_to_the_runtime_and_back() {
        let tensor = Value::Tensor(Tensor::from_i64s(&[1, -2]));
        let strings = Value::Tensor(Tensor::from_strings(vec![1], vec!["a".to_string()]));
        let sequence = Value::Sequence(vec![tensor.clone(), tensor.clone()]);
        let some = Value::Optional(Some(Box::new(sequence.clone())));
        for before in [tensor, strings, sequence, some, Value::Optional(None)] {
            assert_eq!(value(&object(&before).unwrap()).unwrap(), before);
        }
        assert!(object(&Value::Sequence(vec![Value::Optional(None)])).is_err());
    }
}
