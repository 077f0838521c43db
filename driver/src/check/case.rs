//! One case on disk: a folder with `model.onnx`, `test_data_set_N/{input,output}_I.pb` and perhaps `case.json`.

use std::path::{Path, PathBuf};

use tcc_frontend::onnx::types::ValueType;
use tcc_frontend::onnx::{data, to_ir};
use tcc_ir::{DType, Tensor, Value};

use super::judge::{Alternative, Expectation};
use crate::compare::Tolerance;
use crate::fill::{Fill, Sizes};
use crate::inputs::encoding;
use crate::port::{Port, PortType};
use crate::{Code, Diagnostic, Result, report};

/// What is right for a case.
pub struct Case {
    pub folder: PathBuf,
    pub expectation: Expectation,
    pub tolerance: Tolerance,
}

/// Inputs, and the outputs that are right for them.
pub struct DataSet {
    pub inputs: Vec<Value>,
    pub outputs: Vec<Value>,
}

impl Case {
    /// Reads what `case.json` says, if there is one; `tolerance` is what counts otherwise.
    pub fn open(folder: &Path, tolerance: Tolerance) -> Result<Case> {
        let path = folder.join("case.json");
        let mut case = Case { folder: folder.to_path_buf(), expectation: Expectation::default(), tolerance };
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(case),
            text => text.map_err(|error| report::unreadable(&path, error))?,
        };
        let malformed =
            |what: String| Diagnostic::error(Code::FileMalformed, format!("{}: {what}", path.display()));
        let json: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        let number = |key: &str| json.get(key).and_then(serde_json::Value::as_f64);
        case.tolerance.rtol = number("rtol").unwrap_or(tolerance.rtol);
        case.tolerance.atol = number("atol").unwrap_or(tolerance.atol);
        let text = |key: &str| json.get(key).map(|value| value.as_str().unwrap_or_default());
        case.expectation.error = match text("expect") {
            None | Some("values") => false,
            Some("error") => true,
            Some(other) => return Err(malformed(format!("`expect` can't be `{other}`")).into()),
        };
        case.expectation.alternative = match text("alt") {
            None => Alternative::None,
            Some("error") => Alternative::Error,
            Some("values") => Alternative::Values,
            Some("nocrash") => Alternative::NoCrash,
            Some(other) => return Err(malformed(format!("`alt` can't be `{other}`")).into()),
        };
        Ok(case)
    }

    pub fn model(&self) -> PathBuf {
        self.folder.join("model.onnx")
    }

    /// The data sets, in order. Without any, inputs are made up, and outputs are those of `expected_output_I.pb`.
    pub fn data_sets(&self, inputs: &[Port], outputs: &[Port]) -> Result<Vec<DataSet>> {
        let mut sets = Vec::new();
        for number in 0.. {
            let folder = self.folder.join(format!("test_data_set_{number}"));
            if !folder.is_dir() {
                break;
            }
            sets.push(DataSet {
                inputs: read_all(&folder, "input", inputs)?,
                outputs: match self.expectation.error && !folder.join("output_0.pb").exists() {
                    // Nothing is right but an error.
                    true => Vec::new(),
                    false => read_all(&folder, "output", outputs)?,
                },
            });
        }
        if sets.is_empty() {
            let expected = |(index, port): (usize, &Port)| {
                let path = self.folder.join(format!("expected_output_{index}.pb"));
                path.is_file().then(|| read(&path, &port.ty))
            };
            sets.push(DataSet {
                inputs: inputs.iter().map(ramp).collect::<Result<_>>()?,
                outputs: outputs.iter().enumerate().map_while(expected).collect::<Result<_>>()?,
            });
        }
        Ok(sets)
    }
}

/// The values in `folder` of each port. An optional that no file is there for is empty.
fn read_all(folder: &Path, what: &str, ports: &[Port]) -> Result<Vec<Value>> {
    let path = |index: usize| folder.join(format!("{what}_{index}.pb"));
    if path(ports.len()).exists() {
        let message = format!(
            "{}: there are values for more {what}s than the model has without initialisers ({})",
            folder.display(),
            ports.len()
        );
        return Err(Diagnostic::error(Code::InputMismatch, message).into());
    }
    let value = |(index, port): (usize, &Port)| match port.ty {
        PortType::Optional(_) if !path(index).exists() => Ok(Value::Optional(None)),
        _ => read(&path(index), &port.ty),
    };
    ports.iter().enumerate().map(value).collect()
}

fn read(path: &Path, ty: &PortType) -> Result<Value> {
    let tensor = encoding(&PortType::Tensor { dtype: DType::F32, dims: Vec::new() });
    let data = match (encoding(ty), data::read(path, &encoding(ty))) {
        // Some writers store what an optional holds and not the optional.
        (ValueType::Optional(_), Err(_)) => data::read(path, &tensor)?,
        (_, data) => data?,
    };
    let value = to_ir::value(&data)?;
    Ok(match (ty, value) {
        (PortType::Optional(_), value @ (Value::Tensor(_) | Value::Sequence(_))) => {
            Value::Optional(Some(Box::new(value)))
        }
        (_, value) => value,
    })
}

/// What ONNX's runner feeds models without data: 0, 1/n, 2/n and so on in f32.
fn ramp(port: &Port) -> Result<Value> {
    let zeros = Fill::Zeros.value(port, &mut Sizes::default())?;
    Ok(match zeros {
        Value::Tensor(tensor) if tensor.dtype() == DType::F32 => {
            let count = tensor.n_elements();
            let elements = (0..count).map(|at| at as f64 / count as f64);
            Value::Tensor(Tensor::from_floats(DType::F32, tensor.shape().to_vec(), elements))
        }
        other => other,
    })
}
