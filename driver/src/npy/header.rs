//! The header of a `.npy` file: magic, version, and a Python dictionary with element type, order and shape.

use std::io::{Read, Write};

use anyhow::{Context, Result, bail, ensure};
use tcc_ir::DType;

use super::strings::Encoding;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Far more than any array's header needs; guards against a length that lies.
const LONGEST: usize = 1 << 20;

/// NumPy's type codes, byte order first. A type without a code of its own comes after the type that it is stored as,
/// so that reading a code gives the latter.
const CODES: [(DType, &str); 25] = [
    (DType::F64, "<f8"),
    (DType::F32, "<f4"),
    (DType::F16, "<f2"),
    (DType::I64, "<i8"),
    (DType::I32, "<i4"),
    (DType::I16, "<i2"),
    (DType::I8, "|i1"),
    (DType::I4, "|i1"),
    (DType::I2, "|i1"),
    (DType::U64, "<u8"),
    (DType::U32, "<u4"),
    (DType::U16, "<u2"),
    (DType::BF16, "<u2"),
    (DType::U8, "|u1"),
    (DType::U4, "|u1"),
    (DType::U2, "|u1"),
    (DType::F8E4M3FN, "|u1"),
    (DType::F8E4M3FNUZ, "|u1"),
    (DType::F8E5M2, "|u1"),
    (DType::F8E5M2FNUZ, "|u1"),
    (DType::F8E8M0, "|u1"),
    (DType::F4E2M1, "|u1"),
    (DType::Bool, "|b1"),
    (DType::C64, "<c8"),
    (DType::C128, "<c16"),
];

/// Opaque bytes: what Python's ml_dtypes writes for bf16 (V2) and 8-bit and smaller types (V1).
const OPAQUE: [(DType, &str); 2] = [(DType::U16, "|V2"), (DType::U8, "|V1")];

/// What one element is in the file.
#[derive(Debug, PartialEq)]
pub enum Element {
    Number { dtype: DType, big_endian: bool },
    Text { characters: usize, encoding: Encoding },
}

impl Element {
    /// Bytes of one element in the file; never 0.
    pub fn size(&self) -> usize {
        match self {
            Element::Number { dtype, .. } => dtype.size(),
            Element::Text { characters, encoding } => characters * encoding.unit(),
        }
    }
}

/// What the header says.
#[derive(Debug, PartialEq)]
pub struct Header {
    pub element: Element,
    pub column_major: bool,
    pub shape: Vec<usize>,
}

impl Header {
    /// Reads a header and leaves the reader at the data.
    pub fn read(reader: &mut impl Read) -> Result<Header> {
        let mut start = [0; 8];
        reader.read_exact(&mut start).context("no .npy file: too short")?;
        ensure!(start[..6] == *MAGIC, "no .npy file: it does not start with \\x93NUMPY");
        let length = match start[6] {
            1 => usize::from(u16::from_le_bytes(array(reader)?)),
            2 | 3 => u32::from_le_bytes(array(reader)?) as usize,
            version => bail!("version {version} of .npy is not supported"),
        };
        ensure!(length <= LONGEST, "the header claims {length} bytes");
        let mut text = vec![0; length];
        reader.read_exact(&mut text).context("the file ends in the header")?;
        let text = std::str::from_utf8(&text).context("the header is no text")?;
        parse(text).with_context(|| format!("the header is not understood: {}", text.trim()))
    }
}

fn array<const N: usize>(reader: &mut impl Read) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes).context("the file ends in the header")?;
    Ok(bytes)
}

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, keys in any order.
fn parse(text: &str) -> Result<Header> {
    let mut rest = text.trim().strip_prefix('{').context("no dictionary")?.trim_start();
    let (mut element, mut column_major, mut shape) = (None, None, None);
    while !rest.starts_with('}') {
        let (key, after) = quoted(rest)?;
        rest = after.trim_start().strip_prefix(':').context("no ':' after a key")?.trim_start();
        rest = match key {
            "descr" => {
                ensure!(!rest.starts_with('['), "arrays of records are not supported");
                let (descr, after) = quoted(rest)?;
                element = Some(parse_descr(descr)?);
                after
            }
            "fortran_order" => {
                let word = if rest.starts_with("True") { "True" } else { "False" };
                column_major = Some(word == "True");
                rest.strip_prefix(word).context("fortran_order is neither True nor False")?
            }
            "shape" => {
                let (tuple, after) = rest
                    .strip_prefix('(')
                    .and_then(|tuple| tuple.split_once(')'))
                    .context("the shape is not in brackets")?;
                let dims = tuple.split(',').map(str::trim).filter(|dim| !dim.is_empty());
                shape = Some(
                    dims.map(str::parse).collect::<Result<Vec<usize>, _>>().context("a dim is no number")?,
                );
                after
            }
            _ => bail!("unknown key {key}"),
        };
        rest = rest.trim_start().trim_start_matches(',').trim_start();
    }
    Ok(Header {
        element: element.context("no descr")?,
        column_major: column_major.context("no fortran_order")?,
        shape: shape.context("no shape")?,
    })
}

fn quoted(text: &str) -> Result<(&str, &str)> {
    let quote =
        text.chars().next().filter(|c| "'\"".contains(*c)).context("no quoted word where one belongs")?;
    text[1..].split_once(quote).context("a quote does not end")
}

fn parse_descr(descr: &str) -> Result<Element> {
    let code = without_order(descr);
    let big_endian = descr.starts_with('>');
    let known = CODES.iter().chain(&OPAQUE).find(|(_, known)| without_order(known) == code);
    if let Some(&(dtype, _)) = known {
        return Ok(Element::Number { dtype, big_endian });
    }
    let encoding = match code.chars().next() {
        Some('U') => Encoding::Utf32 { big_endian },
        Some('S') => Encoding::Utf8,
        Some('O') => bail!("arrays of Python objects are not supported; save strings with dtype=str"),
        _ => bail!("elements of type '{descr}' are not supported"),
    };
    let characters =
        code[1..].parse().ok().filter(|&n: &usize| n > 0 && n.checked_mul(encoding.unit()).is_some());
    let characters = characters.with_context(|| format!("text of impossible length '{descr}'"))?;
    Ok(Element::Text { characters, encoding })
}

fn without_order(descr: &str) -> &str {
    descr.trim_start_matches(['<', '>', '|', '='])
}

/// The type code that `dtype`, no string, is stored under.
pub fn descr(dtype: DType) -> &'static str {
    CODES.iter().find(|(known, _)| *known == dtype).expect("every type but string has a code").1
}

/// Writes version 1 of a header that [`Header::read`] reads back; its length aligns the data to 64 bytes.
pub fn write(writer: &mut impl Write, descr: &str, shape: &[usize]) -> Result<()> {
    let dims: String = shape.iter().map(|dim| format!("{dim}, ")).collect();
    // A tuple of one keeps its comma in Python, longer ones need none at the end.
    let dims = if shape.len() == 1 { dims.trim_end() } else { dims.trim_end_matches(", ") };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    let before = MAGIC.len() + 2 + 2;
    let total = (before + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', total - before - text.len() - 1));
    text.push('\n');
    let length = u16::try_from(text.len()).context("too many dims for a .npy file")?;
    writer.write_all(MAGIC)?;
    writer.write_all(&[1, 0])?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(text.as_bytes())?;
    Ok(())
}
