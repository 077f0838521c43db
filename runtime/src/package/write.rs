//! Writes package files.

use std::fmt;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::header::{Header, PAGE, Part};
use super::manifest::{CodeFormat, Manifest};
use super::validate::validate;
use crate::error::Error;

/// Why a package couldn't be written.
#[derive(Debug)]
pub enum WriteError {
    Io(io::Error),
    /// The manifest would be refused at load: a mistake of the compiler.
    Invalid(Error),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Io(e) => write!(f, "can't write the package: {e}"),
            WriteError::Invalid(e) => write!(f, "the compiler made an invalid package: {e}"),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<io::Error> for WriteError {
    fn from(e: io::Error) -> Self {
        WriteError::Io(e)
    }
}

/// Passes bytes on, counting and hashing them.
struct Hashing<'a, W> {
    out: &'a mut W,
    hash: Box<Xxh3Default>,
    len: u64,
}

impl<W: Write> Write for Hashing<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.hash.update(&bytes[..n]);
        self.len += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a package: `code` has the bytes of each of `manifest.sections`, whose `offset` and `len` are set here;
/// `weights` writes the weights part. The manifest is validated first as a reader would.
pub fn write_package<W: Write + Seek>(
    manifest: &mut Manifest,
    code: &[&[u8]],
    weights: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    out: &mut W,
) -> Result<(), WriteError> {
    let code = place_sections(manifest, code);
    let encoded = postcard::to_allocvec(&*manifest).map_err(io::Error::other)?;
    let start = out.stream_position()?;

    out.write_all(&[0; Header::SIZE])?;
    out.write_all(&encoded)?;
    let mut at = (Header::SIZE + encoded.len()) as u64;
    let mut header = Header {
        manifest: Part { offset: Header::SIZE as u64, len: encoded.len() as u64, hash: xxh3_64(&encoded) },
        code: Part::default(),
        weights: Part::default(),
    };

    pad(out, &mut at)?;
    out.write_all(&code)?;
    header.code = Part { offset: at, len: code.len() as u64, hash: xxh3_64(&code) };
    at += code.len() as u64;

    pad(out, &mut at)?;
    let mut sink = Hashing { out, hash: Box::default(), len: 0 };
    weights(&mut sink)?;
    header.weights = Part { offset: at, len: sink.len, hash: sink.hash.digest() };

    validate(manifest, header.code.len, header.weights.len).map_err(WriteError::Invalid)?;
    let end = out.stream_position()?;
    out.seek(SeekFrom::Start(start))?;
    out.write_all(&header.encode())?;
    out.seek(SeekFrom::Start(end))?;
    out.flush()?;
    Ok(())
}

/// Writes a package to `path`, through a temporary file beside it: `path` never holds half a package.
pub fn write_package_file(
    path: &Path,
    manifest: &mut Manifest,
    code: &[&[u8]],
    weights: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = (|| {
        let mut out = io::BufWriter::new(std::fs::File::create(&temporary)?);
        write_package(manifest, code, weights, &mut out)?;
        out.into_inner().map_err(|e| e.into_error())?;
        Ok(std::fs::rename(&temporary, path)?)
    })();
    if written.is_err() {
        // The error that is reported is the first one.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Concatenates the sections at page boundaries and notes their places.
fn place_sections(manifest: &mut Manifest, code: &[&[u8]]) -> Vec<u8> {
    let mut all = Vec::new();
    let stored = manifest.sections.iter_mut().filter(|section| section.format != CodeFormat::Native);
    for (section, bytes) in stored.zip(code) {
        all.resize(all.len().next_multiple_of(PAGE as usize), 0);
        section.offset = all.len() as u64;
        section.len = bytes.len() as u64;
        all.extend_from_slice(bytes);
    }
    all
}

fn pad(out: &mut impl Write, at: &mut u64) -> io::Result<()> {
    let padding = at.next_multiple_of(PAGE) - *at;
    out.write_all(&[0; PAGE as usize][..padding as usize])?;
    *at += padding;
    Ok(())
}
