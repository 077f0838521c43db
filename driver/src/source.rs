//! Model files: finds out what a file is, and reads it into a graph.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use tcc_frontend::onnx::{import, model, opset, types::ValueType};
use tcc_ir::Graph;
use tcc_runtime::package::MAGIC;

use crate::{Result, report};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A compiled package.
    Package,
    /// The text form of a graph.
    Text,
    /// Anything else is read as ONNX, whose files have no signature.
    Onnx,
}

/// A model as a graph, with what its file says besides.
#[derive(Debug)]
pub struct Model {
    pub graph: Graph,
    /// What an ONNX file says of itself.
    pub onnx: Option<OnnxInfo>,
}

/// What an ONNX file says of itself.
#[derive(Debug)]
pub struct OnnxInfo {
    pub ir_version: i64,
    pub producer: String,
    pub opsets: opset::Opsets,
    pub metadata: Vec<(String, String)>,
    /// Stated types of the inputs that no initialiser fills, in order.
    pub inputs: Vec<Option<ValueType>>,
    pub outputs: Vec<Option<ValueType>>,
    /// Operators with domain (unless the default one) and how often each occurs, in subgraphs too, sorted by name.
    pub operators: Vec<(String, usize)>,
}

/// Bytes that are looked at to tell what a file is.
const PROBED: u64 = 4096;

/// Finds out what the file at `path` is.
pub fn kind(path: &Path) -> Result<Kind> {
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(PROBED).read_to_end(&mut start))
        .map_err(|error| report::unreadable(path, error))?;
    Ok(kind_of(&start))
}

fn kind_of(start: &[u8]) -> Kind {
    if start.starts_with(&MAGIC) {
        return Kind::Package;
    }
    // Text is told by its first word; a control character means that the letters are part of a message.
    let text = String::from_utf8_lossy(start);
    let code = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("//"));
    let is_text = text.chars().all(|c| !c.is_control() || c.is_ascii_whitespace());
    let begins = |word: &str| code.is_some_and(|line| line.split(' ').next() == Some(word));
    if is_text && (begins("graph") || code.is_none()) { Kind::Text } else { Kind::Onnx }
}

/// Reads a model: ONNX or the text form.
///
/// # Errors
/// Everything that is wrong with the file. A package is no model any more, and refused.
pub fn load(path: &Path) -> Result<Model> {
    if std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0) {
        let message = format!("{}: the file is empty, not a model", path.display());
        return Err(crate::Diagnostic::error(crate::Code::FileMalformed, message)
            .help("download or export it again")
            .into());
    }
    let loaded = match kind(path)? {
        Kind::Package => return Err(not_a_model(path)),
        Kind::Text => load_text(path),
        Kind::Onnx => load_onnx(path),
    };
    loaded.map_err(|found| report::in_file(found, path))
}

fn not_a_model(path: &Path) -> crate::Diagnostics {
    let message = format!("{}: this is a compiled package, not a model", path.display());
    crate::Diagnostic::error(crate::Code::FileMalformed, message)
        .help("give the model that it was compiled from; `tcc run` and `tcc bench` take packages")
        .into()
}

fn load_onnx(path: &Path) -> Result<Model> {
    let model = model::load(path)?;
    let graph = import::import(&model)?;
    let main = model.main();
    let mut operators = std::collections::BTreeMap::new();
    for node in model.graphs.iter().flat_map(|graph| &graph.nodes) {
        *operators.entry(qualified(&node.label.domain, &node.label.op_type)).or_insert(0) += 1;
    }
    let onnx = OnnxInfo {
        ir_version: model.ir_version,
        producer: model.producer.clone(),
        opsets: model.opsets.clone(),
        metadata: model.metadata.clone(),
        inputs: main.inputs.iter().map(|input| input.ty.clone()).collect(),
        outputs: main.outputs.iter().map(|output| output.ty.clone()).collect(),
        operators: operators.into_iter().collect(),
    };
    Ok(Model { graph, onnx: Some(onnx) })
}

/// An operator's name with its domain, unless that is the default one.
pub fn qualified(domain: &str, op_type: &str) -> String {
    if domain == opset::ONNX_DOMAIN { op_type.to_string() } else { format!("{domain}::{op_type}") }
}

fn load_text(path: &Path) -> Result<Model> {
    let text = std::fs::read_to_string(path).map_err(|error| report::unreadable(path, error))?;
    let graph = tcc_ir::text::parse(&text).map_err(crate::Diagnostics)?;
    Ok(Model { graph, onnx: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_their_first_bytes() {
        assert_eq!(kind_of(b"TCCPKG\0\0more"), Kind::Package);
        assert_eq!(kind_of(b"// RUN: x\n\n graph @f() {"), Kind::Text);
        assert_eq!(kind_of(b"\x08\x07\x12\x05graph @"), Kind::Onnx);
        assert_eq!(kind_of(b"version https://git-lfs.github.com/spec/v1\n"), Kind::Onnx);
        assert_eq!(kind_of(b"graphics"), Kind::Onnx);
    }
}
