//! What `tcc run` does with results: a summary on the screen, and files.

use std::path::PathBuf;

use tcc::port::Port;
use tcc::{Result, npy, write};
use tcc_ir::{DType, Tensor, Value};

#[derive(clap::Args)]
pub struct OutputArgs {
    /// Write each output to NAME.npy in this folder
    #[arg(long, value_name = "D")]
    output_dir: Option<PathBuf>,
    /// Write all outputs to one file
    #[arg(long, value_name = "FILE.npz")]
    outputs: Option<PathBuf>,
}

impl OutputArgs {
    /// Writes the files asked for and prints a line each output.
    pub fn deliver(&self, ports: &[Port], values: &[Value]) -> Result<()> {
        let mut tensors = Vec::new();
        for (port, value) in ports.iter().zip(values) {
            flatten(&port.name, value, &mut tensors);
        }
        if let Some(folder) = &self.output_dir {
            for (name, tensor) in &tensors {
                let write = |path: &std::path::Path| npy::write_file(path, tensor).map_err(show_chain);
                write::whole(&folder.join(npy::file_name(name)), write)?;
            }
        }
        if let Some(path) = &self.outputs {
            let arrays = tensors.iter().map(|(name, tensor)| (name.as_str(), *tensor));
            write::whole(path, |path| npy::write_npz(path, arrays).map_err(show_chain))?;
        }
        for (port, value) in ports.iter().zip(values) {
            if !matches!(value, Value::Tensor(_)) {
                println!("{}: {}", port.name, describe(value));
            }
        }
        for (name, tensor) in &tensors {
            println!("{name}: {}", summary(tensor));
        }
        Ok(())
    }
}

fn show_chain(error: anyhow::Error) -> String {
    format!("{error:#}")
}

/// The tensors in a value: an element of a sequence has its number behind the name.
fn flatten<'a>(name: &str, value: &'a Value, into: &mut Vec<(String, &'a Tensor)>) {
    match value {
        Value::Tensor(tensor) => into.push((name.to_string(), tensor)),
        Value::Sequence(elements) => {
            elements.iter().enumerate().for_each(|(at, e)| flatten(&format!("{name}.{at}"), e, into));
        }
        Value::Optional(element) => element.iter().for_each(|element| flatten(name, element, into)),
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => tensor.tensor_type().to_string(),
        Value::Sequence(elements) => format!("a sequence of {}", elements.len()),
        Value::Optional(None) => "nothing".to_string(),
        Value::Optional(Some(element)) => describe(element),
    }
}

/// Elements up to which a tensor is shown whole.
const SHORT: usize = 8;

/// Type, and either all elements or what they are like.
fn summary(tensor: &Tensor) -> String {
    let ty = tensor.tensor_type();
    let count = tensor.n_elements();
    if tensor.dtype() == DType::String {
        let shown: Vec<String> = tensor.strings().iter().take(SHORT).map(|s| format!("{s:?}")).collect();
        return format!("{ty} {}{}", shown.join(" "), if count > SHORT { " ..." } else { "" });
    }
    if tensor.dtype().is_complex() {
        return ty.to_string();
    }
    let values = tensor.floats();
    if count <= SHORT {
        let shown: Vec<String> = match tensor.dtype().is_float() {
            true => values.iter().map(|v| format!("{v:.6}")).collect(),
            false => tensor.ints().iter().map(i128::to_string).collect(),
        };
        return format!("{ty} {}", shown.join(" "));
    }
    let numbers = || values.iter().copied().filter(|v| !v.is_nan());
    let nans = count - numbers().count();
    let (low, high) = (numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max));
    let mean = numbers().sum::<f64>() / (count - nans).max(1) as f64;
    let nans = if nans > 0 { format!(", {nans} NaN") } else { String::new() };
    format!("{ty} min {low:.6}, max {high:.6}, mean {mean:.6}{nans}")
}
