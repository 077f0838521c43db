//! Text in `.npy` files: elements of one length, filled up with zeros.

use anyhow::{Context, Result};

/// How the characters of an element are stored.
#[derive(Debug, PartialEq, Clone, Copy)]
pub enum Encoding {
    /// NumPy's str: four bytes a character.
    Utf32 { big_endian: bool },
    /// NumPy's bytes, which must be UTF-8 here.
    Utf8,
}

impl Encoding {
    /// Bytes of one unit of an element's length.
    pub fn unit(self) -> usize {
        match self {
            Encoding::Utf32 { .. } => 4,
            Encoding::Utf8 => 1,
        }
    }
}

/// Reads elements of `characters` units each, without the zeros at their ends.
pub fn decode(bytes: &[u8], characters: usize, encoding: Encoding) -> Result<Vec<String>> {
    let elements = bytes.chunks_exact(characters * encoding.unit());
    elements
        .map(|element| {
            let text: String = match encoding {
                Encoding::Utf8 => std::str::from_utf8(element).context("a string is not UTF-8")?.into(),
                Encoding::Utf32 { big_endian } => {
                    let (units, _) = element.as_chunks::<4>();
                    let code = |unit: &[u8; 4]| {
                        if big_endian { u32::from_be_bytes(*unit) } else { u32::from_le_bytes(*unit) }
                    };
                    let text: Option<String> = units.iter().map(|unit| char::from_u32(code(unit))).collect();
                    text.context("a string is not Unicode")?
                }
            };
            Ok(text.trim_end_matches('\0').to_string())
        })
        .collect()
}

/// The type code and the bytes of `strings`, as long as the longest. Zeros at a string's end are lost, as in NumPy.
pub fn encode(strings: &[String]) -> (String, Vec<u8>) {
    let longest = strings.iter().map(|string| string.chars().count()).max().unwrap_or(0).max(1);
    let units = strings.iter().flat_map(|string| string.chars().chain(std::iter::repeat('\0')).take(longest));
    (format!("<U{longest}"), units.flat_map(|c| u32::from(c).to_le_bytes()).collect())
}
