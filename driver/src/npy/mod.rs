//! NumPy's array files: `.npy` (one array) and `.npz` (a zip of them, by name), to and from tensors.
//!
//! NumPy has no name for bf16 and for floats and integers of 8 bits and fewer, except i8 and u8. Such tensors are
//! written as the unsigned (i2, i4: signed) integers of the same bits; [`reinterpret`] gives them their type back.
//! Invariant: a file is never trusted. Sizes are checked, and memory grows only with the bytes that are really there.

mod header;
mod strings;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use tcc_ir::tensor::n_elements;
use tcc_ir::{DType, Tensor};

use header::{Element, Header};

/// Reads a `.npy` file.
///
/// # Errors
/// When it can't be read, isn't a `.npy` file, is cut short, or holds Python objects, records or dates.
pub fn read_file(path: &Path) -> Result<Tensor> {
    let open = || read(BufReader::new(File::open(path)?));
    open().with_context(|| format!("cannot read {}", path.display()))
}

/// Writes a `.npy` file.
pub fn write_file(path: &Path, tensor: &Tensor) -> Result<()> {
    let create = || -> Result<()> {
        let mut writer = BufWriter::new(File::create(path)?);
        write(&mut writer, tensor)?;
        Ok(writer.flush()?)
    };
    create().with_context(|| format!("cannot write {}", path.display()))
}

/// Reads every array of a `.npz` file, in the file's order.
///
/// # Errors
/// As [`read_file`], for any of its arrays.
pub fn read_npz(path: &Path) -> Result<Vec<(String, Tensor)>> {
    let open = || -> Result<_> {
        let mut archive = zip::ZipArchive::new(BufReader::new(File::open(path)?))?;
        let mut arrays = Vec::new();
        for index in 0..archive.len() {
            let entry = archive.by_index(index)?;
            let Some(name) = entry.name()?.strip_suffix(".npy").map(str::to_string) else { continue };
            let tensor = read(entry).with_context(|| format!("array {name}"))?;
            arrays.push((name, tensor));
        }
        Ok(arrays)
    };
    open().with_context(|| format!("cannot read {}", path.display()))
}

/// Writes a `.npz` file, not compressed.
pub fn write_npz<'a>(path: &Path, arrays: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<()> {
    let create = || -> Result<()> {
        let mut archive = zip::ZipWriter::new(BufWriter::new(File::create(path)?));
        let stored = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .large_file(true);
        for (name, tensor) in arrays {
            archive.start_file(format!("{name}.npy"), stored)?;
            write(&mut archive, tensor)?;
        }
        Ok(archive.finish()?.flush()?)
    };
    create().with_context(|| format!("cannot write {}", path.display()))
}

/// Reads one array in the `.npy` format. Big-endian and column-major arrays come out little-endian and row-major.
pub fn read(mut reader: impl Read) -> Result<Tensor> {
    let Header { element, column_major, shape } = Header::read(&mut reader)?;
    let count = n_elements(&shape).context("the shape is larger than memory can be")?;
    let size = count.checked_mul(element.size()).context("the shape is larger than memory can be")?;
    // `take` bounds what is read, and the vector grows with it: a lying header reserves nothing.
    let mut bytes = Vec::new();
    reader.take(size as u64).read_to_end(&mut bytes)?;
    ensure!(bytes.len() == size, "the file ends after {} of {size} bytes of data", bytes.len());

    let tensor = match element {
        Element::Number { dtype, big_endian } => {
            if big_endian {
                let part = if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() };
                bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
            }
            if dtype == DType::Bool {
                bytes.iter_mut().for_each(|byte| *byte = (*byte != 0).into());
            }
            Tensor::from_bytes(dtype, shape, bytes.into()).context("the data does not fit the shape")?
        }
        Element::Text { characters, encoding } => {
            Tensor::from_strings(shape, strings::decode(&bytes, characters, encoding)?)
        }
    };
    Ok(if column_major { row_major(&tensor) } else { tensor })
}

/// Writes `tensor` in the `.npy` format.
pub fn write(writer: &mut impl Write, tensor: &Tensor) -> Result<()> {
    if tensor.dtype() == DType::String {
        let (descr, bytes) = strings::encode(tensor.strings());
        header::write(writer, &descr, tensor.shape())?;
        writer.write_all(&bytes)?;
    } else {
        header::write(writer, header::descr(tensor.dtype()), tensor.shape())?;
        writer.write_all(tensor.bytes())?;
    }
    Ok(())
}

/// `tensor` as `dtype`, when that is how [`write`] stores a tensor of `dtype`: u16 as bf16, u8 as f8e4m3fn.
/// None otherwise, also for values that the type doesn't have (17 as u4).
pub fn reinterpret(tensor: &Tensor, dtype: DType) -> Option<Tensor> {
    if tensor.dtype() == dtype {
        return Some(tensor.clone());
    }
    if dtype == DType::String || header::descr(dtype) != header::descr(tensor.dtype()) {
        return None;
    }
    if let Some((low, high)) = dtype.int_range()
        && tensor.ints().iter().any(|value| !(low..=high).contains(value))
    {
        return None;
    }
    Tensor::from_bytes(dtype, tensor.shape().to_vec(), tensor.bytes().to_vec().into())
}

/// A file name for the array `name` of a model: names in models may hold `/`, `..` or anything else.
/// Different names give different file names; ordinary ones are kept.
pub fn file_name(name: &str) -> String {
    let mut safe = String::new();
    for (index, c) in name.chars().enumerate() {
        if c.is_control() || "/\\%".contains(c) || (index == 0 && c == '.') {
            safe.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            safe.push(c);
        }
    }
    safe + ".npy"
}

/// The elements of a tensor whose data was stored with the first axis fastest, put into row-major order.
fn row_major(stored: &Tensor) -> Tensor {
    let shape = stored.shape().to_vec();
    let position = |linear: usize| {
        let (mut rest, mut position) = (linear, 0);
        // From the last axis to the first: `rest` loses an axis a step, and `position` gains it.
        for &dim in shape.iter().rev() {
            position = position * dim + rest % dim;
            rest /= dim;
        }
        position
    };
    stored.gather_linear(shape.clone(), (0..stored.n_elements()).map(position))
}
