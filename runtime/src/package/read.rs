//! Reads the parts of a package file that is in memory or mapped.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::header::{Header, Part};
use super::manifest::Manifest;
use super::validate::validate;
use crate::error::{Error, Result};
use crate::os::Map;

/// What a package file holds: its manifest, validated, and where the rest is.
#[derive(Debug)]
pub struct Contents {
    pub header: Header,
    pub manifest: Manifest,
}

/// Reads and checks a package: header, layout, padding, the hashes of manifest and code, and every reference in the
/// manifest. The weights' hash is left to [`Contents::verify_weights`], since it would read all of them.
pub fn read_package(file: &[u8]) -> Result<Contents> {
    let header = Header::decode(file)?;
    for (name, part) in [("manifest", header.manifest), ("code", header.code)] {
        verify(name, part, file)?;
    }
    for (before, after) in [(header.manifest, header.code), (header.code, header.weights)] {
        let gap = &file[(before.offset + before.len) as usize..after.offset as usize];
        if gap.iter().any(|&b| b != 0) {
            return Err(Error::corrupt("file", "the padding between its parts isn't zero"));
        }
    }
    let (manifest, rest) = postcard::take_from_bytes::<Manifest>(bytes_of(header.manifest, file))
        .map_err(|e| Error::corrupt("manifest", &format!("it can't be decoded ({e})")))?;
    if !rest.is_empty() {
        return Err(Error::corrupt("manifest", "bytes are left after its end"));
    }
    validate(&manifest, header.code.len, header.weights.len)?;
    Ok(Contents { header, manifest })
}

/// Reads and checks all of a package file, its weights too, without loading it: it may be for another machine.
pub fn read_package_file(path: impl AsRef<Path>) -> Result<Contents> {
    let (_, map) = Map::whole(path.as_ref())?;
    let contents = read_package(map.bytes())?;
    contents.verify_weights(map.bytes())?;
    Ok(contents)
}

impl Contents {
    /// Reads all weights of the file that this was read from, and compares their hash.
    pub fn verify_weights(&self, file: &[u8]) -> Result<()> {
        verify("weights", self.header.weights, file)
    }
}

/// The part's bytes; the header's layout was checked against the file.
fn bytes_of(part: Part, file: &[u8]) -> &[u8] {
    &file[part.offset as usize..][..part.len as usize]
}

fn verify(name: &'static str, part: Part, file: &[u8]) -> Result<()> {
    if xxh3_64(bytes_of(part, file)) == part.hash {
        Ok(())
    } else {
        Err(Error::corrupt(name, "its hash doesn't match"))
    }
}
