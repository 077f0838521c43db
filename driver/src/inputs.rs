//! Input values from files, by name: `.npy` and `.npz` from NumPy, `.pb` as ONNX stores test data.

use std::path::{Path, PathBuf};

use tcc_frontend::onnx::types::{TensorType, ValueType};
use tcc_frontend::onnx::{data, to_ir};
use tcc_ir::{Tensor, Value};

use crate::fill::{Fill, Sizes};
use crate::port::{Port, PortType};
use crate::{Code, Diagnostic, Diagnostics, Result, npy};

/// Where the inputs come from. A later source is asked for what an earlier one leaves open.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// `NAME=FILE` as given.
    pub files: Vec<String>,
    pub npz: Option<PathBuf>,
    pub fill: Option<Fill>,
}

/// The values of all inputs, in order. `sizes` is what fills are made to.
///
/// # Errors
/// Every unreadable file, unknown name, value of another type, and input that nothing is given for.
pub fn gather(ports: &[Port], sources: &Sources, sizes: &mut Sizes) -> Result<Vec<Value>> {
    let mut problems = Vec::new();
    let mut given: Vec<Option<Value>> = vec![None; ports.len()];
    let mut take = |read: Result<(usize, Value)>| match read {
        Ok((index, value)) => given[index] = Some(value),
        Err(found) => problems.extend(found.0),
    };
    if let Some(path) = &sources.npz {
        match npy::read_npz(path) {
            Ok(arrays) => arrays.into_iter().for_each(|(name, tensor)| {
                take(find(ports, &name).map(|at| (at, Value::Tensor(typed(tensor, &ports[at])))));
            }),
            Err(error) => take(Err(unreadable(&error).into())),
        }
    }
    for option in &sources.files {
        take(from_file(ports, option));
    }
    let mut values = Vec::new();
    for (port, value) in ports.iter().zip(given) {
        let value = match (value, sources.fill) {
            (Some(value), _) => check(port, &value).map(|()| value),
            (None, Some(fill)) => fill.value(port, sizes),
            (None, None) => absent(port),
        };
        match value {
            Ok(value) => values.push(value),
            Err(found) => problems.extend(found.0),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(Diagnostics(problems)) }
}

fn absent(port: &Port) -> Result<Value> {
    match port.ty {
        PortType::Optional(_) => Ok(Value::Optional(None)),
        _ => Err(mismatch(format!("input `{}` ({}) isn't given", port.name, port.ty))
            .help(format!("add --input '{}=FILE.npy', --inputs FILE.npz or --fill zeros", port.name))
            .into()),
    }
}

/// Names may hold `=`, so the option is split where the left part is a name.
fn from_file(ports: &[Port], option: &str) -> Result<(usize, Value)> {
    let splits = || option.match_indices('=').map(|(at, _)| (&option[..at], &option[at + 1..]));
    let named = splits().find_map(|(name, file)| Some((find(ports, name).ok()?, file)));
    let (index, file) = match (named, splits().next()) {
        (Some(found), _) => found,
        (None, Some((name, _))) => return Err(find(ports, name).expect_err("no split has a known name")),
        (None, None) => {
            return Err(mismatch(format!("`--input {option}` has no `=`"))
                .help("write --input NAME=FILE.npy")
                .into());
        }
    };
    read_file(Path::new(file), &ports[index]).map(|value| (index, value))
}

fn find(ports: &[Port], name: &str) -> Result<usize> {
    ports.iter().position(|port| port.name == name).ok_or_else(|| {
        let known: Vec<String> = ports.iter().map(|port| format!("`{}` ({})", port.name, port.ty)).collect();
        let help = match known.is_empty() {
            true => "the model has no inputs".to_string(),
            false => format!("the inputs are {}", known.join(", ")),
        };
        mismatch(format!("the model has no input `{name}`")).help(help).into()
    })
}

/// Reads a value for a port from a `.npy` or `.pb` file.
pub fn read_file(path: &Path, port: &Port) -> Result<Value> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => {
            let tensor = npy::read_file(path).map_err(|error| unreadable(&error))?;
            Ok(Value::Tensor(typed(tensor, port)))
        }
        Some("pb") => Ok(to_ir::value(&data::read(path, &encoding(&port.ty))?)?),
        _ => Err(mismatch(format!("{}: inputs are read from .npy and .pb files", path.display())).into()),
    }
}

/// How a value of the type is encoded in a `.pb` file, as far as the reader asks.
pub fn encoding(ty: &PortType) -> ValueType {
    match ty {
        PortType::Tensor { .. } => ValueType::Tensor(TensorType { dtype: None, shape: None }),
        PortType::Sequence(_) => ValueType::Sequence(None),
        PortType::Optional(_) => ValueType::Optional(None),
    }
}

/// NumPy has no name for some types: their bits come as integers.
fn typed(tensor: Tensor, port: &Port) -> Tensor {
    match &port.ty {
        PortType::Tensor { dtype, .. } => npy::reinterpret(&tensor, *dtype).unwrap_or(tensor),
        _ => tensor,
    }
}

/// Element type and rank. Sizes are compared where they are bound.
fn check(port: &Port, value: &Value) -> Result<()> {
    let (PortType::Tensor { dtype, dims }, Value::Tensor(tensor)) = (&port.ty, value) else { return Ok(()) };
    if tensor.dtype() == *dtype && tensor.rank() == dims.len() {
        return Ok(());
    }
    let message = format!("input `{}` should be {}, not {}", port.name, port.ty, tensor.tensor_type());
    Err(mismatch(message).into())
}

fn unreadable(error: &anyhow::Error) -> Diagnostic {
    Diagnostic::error(Code::FileUnreadable, format!("{error:#}"))
}

fn mismatch(message: String) -> Diagnostic {
    Diagnostic::error(Code::InputMismatch, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::PortDim;
    use tcc_ir::DType;

    fn ports() -> Vec<Port> {
        let tensor = |dtype, n| PortType::Tensor { dtype, dims: vec![PortDim::Fixed(n)] };
        let port = |name: &str, ty| Port { name: name.into(), ty };
        vec![port("a=b", tensor(DType::I64, 2)), port("c", tensor(DType::BF16, 1))]
    }

    #[test]
    fn files_are_found_by_name_and_get_their_type() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, tensor: &Tensor| {
            let path = folder.path().join(name);
            npy::write_file(&path, tensor).unwrap();
            path.display().to_string()
        };
        let a = Tensor::from_i64s(&[1, 2]);
        let c = Tensor::from_floats(DType::BF16, vec![1], [1.5]);
        let files = vec![format!("a=b={}", file("x=y.npy", &a)), format!("c={}", file("c.npy", &c))];
        let sources = Sources { files, ..Sources::default() };
        let values = gather(&ports(), &sources, &mut Sizes::default()).unwrap();
        assert_eq!(values, [Value::Tensor(a.clone()), Value::Tensor(c)]);

        let wrong = Sources { files: vec![format!("c={}", file("a.npy", &a))], ..Sources::default() };
        let found = gather(&ports(), &wrong, &mut Sizes::default()).unwrap_err();
        let messages: Vec<&str> = found.0.iter().map(|d| &d.message[..]).collect();
        assert_eq!(messages, ["input `a=b` (i64[2]) isn't given", "input `c` should be bf16[1], not i64[2]"]);
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        let sources = Sources { files: vec!["d=x.npy".into()], fill: Some(Fill::Ones), ..Sources::default() };
        let found = gather(&ports(), &sources, &mut Sizes::default()).unwrap_err();
        assert_eq!(found.0[0].message, "the model has no input `d`");
        assert!(found.0[0].help.as_ref().unwrap().contains("`a=b` (i64[2])"));
    }
}
