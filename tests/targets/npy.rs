//! NumPy files: version 1, little endian, rows first.

use std::path::Path;

use libtest_mimic::Failed;

use super::models::Input;

/// A file with an input's values.
pub fn encode(input: &Input) -> Vec<u8> {
    with_header(input.dtype, input.shape, &input.bytes())
}

pub fn encode_f32(shape: &[usize], values: &[f32]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    with_header("<f4", shape, &bytes)
}

fn with_header(dtype: &str, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    let dims: String = shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({dims}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes());
    file.extend(bytes);
    file
}

/// The elements' bytes of a file.
pub fn read(path: &Path) -> Result<Vec<u8>, Failed> {
    let file = std::fs::read(path)?;
    let len = file.get(8..10).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]])));
    let data = len.and_then(|len| file.get(10 + len..));
    Ok(data.ok_or_else(|| format!("{}: not a NumPy file", path.display()))?.to_vec())
}
