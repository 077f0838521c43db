//! The fixed header at the start of a package file: versions, and place and hash of each part. Little-endian.

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};

pub const MAGIC: [u8; 8] = *b"TCCPKG\0\0";
/// Version of the file format. A reader takes exactly its own.
pub const FORMAT_VERSION: u32 = 3;
/// Version of the kernel calling convention and of the built-in routines' attributes.
pub const ABI_VERSION: u32 = 1;
/// Code and weights start at multiples of this, the largest page size among the targets (aarch64 may use 64 KiB
/// pages, but maps of smaller alignment are copied there).
pub const PAGE: u64 = 4096;

/// A byte range of the file and its xxh3-64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub offset: u64,
    pub len: u64,
    pub hash: u64,
}

impl Part {
    /// First byte after the part; `None` on overflow.
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub manifest: Part,
    pub code: Part,
    pub weights: Part,
}

impl Header {
    /// Encoded size in bytes.
    pub const SIZE: usize = 8 + 4 + 4 + 3 * 24 + 8;

    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut out = Vec::with_capacity(Self::SIZE);
        out.extend(MAGIC);
        out.extend(FORMAT_VERSION.to_le_bytes());
        out.extend(ABI_VERSION.to_le_bytes());
        for part in [self.manifest, self.code, self.weights] {
            for word in [part.offset, part.len, part.hash] {
                out.extend(word.to_le_bytes());
            }
        }
        let hash = xxh3_64(&out);
        out.extend(hash.to_le_bytes());
        out.try_into().expect("the words above make up SIZE bytes")
    }

    /// Reads the header at the start of `file` and checks that the parts lie in order and fill the file exactly.
    pub fn decode(file: &[u8]) -> Result<Header> {
        let Some((bytes, _)) = file.split_first_chunk::<{ Self::SIZE }>() else {
            return Err(Error::not_a_package(format!("it has {} bytes, fewer than a header", file.len())));
        };
        if bytes[..8] != MAGIC {
            return Err(Error::not_a_package("it doesn't start with TCCPKG".into()));
        }
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        for (what, found, known) in
            [("format", u32_at(8), FORMAT_VERSION), ("kernel interface", u32_at(12), ABI_VERSION)]
        {
            if found != known {
                return Err(Error::Version { what, found, known });
            }
        }
        if u64_at(Self::SIZE - 8) != xxh3_64(&bytes[..Self::SIZE - 8]) {
            return Err(Error::corrupt("header", "its hash doesn't match"));
        }
        let part = |at: usize| Part { offset: u64_at(at), len: u64_at(at + 8), hash: u64_at(at + 16) };
        let header = Header { manifest: part(16), code: part(40), weights: part(64) };
        header.check_layout(file.len() as u64)?;
        Ok(header)
    }

    fn check_layout(&self, file_len: u64) -> Result<()> {
        let mut at = Self::SIZE as u64;
        for (name, part, align) in
            [("manifest", self.manifest, 1), ("code", self.code, PAGE), ("weights", self.weights, PAGE)]
        {
            let end = part.end().filter(|&end| end <= file_len);
            let Some(end) = end else {
                return Err(Error::corrupt(
                    name,
                    "it ends after the end of the file (is the file complete?)",
                ));
            };
            if part.offset != at.next_multiple_of(align) {
                return Err(Error::corrupt(name, "it isn't where the part before it ends"));
            }
            at = end;
        }
        if at != file_len {
            return Err(Error::corrupt("file", "it goes on after the weights"));
        }
        Ok(())
    }
}
