//! A small linker: an ELF object becomes one flat block of bytes that runs wherever it is mapped.
//!
//! Code comes first, then read-only data, each section at its alignment. Every reference is relative to its own
//! place, so the block needs no loader. Anything else (writable data, absolute addresses, outside symbols) is an
//! error that names the section.

mod aarch64;
mod place;
mod riscv64;
#[cfg(test)]
mod tests;
mod x86_64;

use std::collections::{BTreeMap, HashMap};

use object::elf::{self, RelocationType};
use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags,
    SectionIndex,
};

use crate::error::Error;
use place::Place;

/// Position-independent code with its read-only data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The bytes. They have to be mapped at a multiple of [`Image::ALIGN`], readable and executable.
    pub bytes: Vec<u8>,
    /// Offset of each function that the object exports.
    pub entries: BTreeMap<String, u64>,
}

/// A relocation of any of the supported machines, with everything resolved to offsets in the image.
struct Reloc {
    r_type: RelocationType,
    /// Where it is applied.
    at: u64,
    /// What it refers to, the addend included.
    target: i64,
}

/// Applies the relocations of a section. Errors are the reason only; the caller names section and type.
type Apply = fn(&mut Place<'_>, &[Reloc]) -> Result<(), (RelocationType, String)>;

impl Image {
    /// What an image's address must be a multiple of: code may address its data by 4 KiB page.
    pub const ALIGN: u64 = 4096;

    /// Links an object of x86-64, AArch64 or RISC-V.
    pub fn link(object: &[u8]) -> Result<Self, Error> {
        let file = object::File::parse(object).map_err(bad)?;
        let apply: Apply = match (file.format(), file.architecture()) {
            (object::BinaryFormat::Elf, Architecture::X86_64) => x86_64::apply,
            (object::BinaryFormat::Elf, Architecture::Aarch64) => aarch64::apply,
            (object::BinaryFormat::Elf, Architecture::Riscv64) => riscv64::apply,
            (format, arch) => {
                return Err(Error::Object(format!("no flat images of {format:?} for {arch:?}")));
            }
        };
        let (mut bytes, offsets) = lay_out(&file)?;
        for section in file.sections() {
            let Some(&base) = offsets.get(&section.index()) else { continue };
            let name = section.name().map_err(bad)?.to_owned();
            let relocs = resolve(&file, &section, &name, base, &offsets)?;
            apply(&mut Place { bytes: &mut bytes }, &relocs)
                .map_err(|(r_type, message)| fault(&name, format!("relocation type {r_type}: {message}")))?;
        }
        let entries = entries(&file, &offsets)?;
        Ok(Self { bytes, entries })
    }

    /// One image of several, each at a multiple of [`Image::ALIGN`]. No two may export the same name.
    pub fn join(images: impl IntoIterator<Item = Self>) -> Result<Self, Error> {
        let mut joined = Self { bytes: Vec::new(), entries: BTreeMap::new() };
        for image in images {
            let base = joined.bytes.len().next_multiple_of(Self::ALIGN as usize);
            joined.bytes.resize(base, 0);
            joined.bytes.extend_from_slice(&image.bytes);
            for (name, offset) in image.entries {
                if joined.entries.contains_key(&name) {
                    return Err(Error::Object(format!("two modules export `{name}`")));
                }
                joined.entries.insert(name, base as u64 + offset);
            }
        }
        Ok(joined)
    }
}

type Offsets = HashMap<SectionIndex, u64>;

/// Copies the sections that go into memory and says where each lies.
fn lay_out(file: &object::File<'_>) -> Result<(Vec<u8>, Offsets), Error> {
    let mut bytes = Vec::new();
    let mut offsets = Offsets::new();
    for code in [true, false] {
        for section in file.sections() {
            let name = section.name().map_err(bad)?;
            let SectionFlags::Elf { sh_type, sh_flags, .. } = section.flags() else { continue };
            let has = |flag: elf::SectionFlags| sh_flags & flag == flag;
            // Unwinding tables serve nobody: kernels don't unwind, and nothing registers them.
            let unneeded = sh_type == elf::SHT_NOTE || name == ".eh_frame";
            let executable = has(elf::SHF_EXECINSTR);
            if !has(elf::SHF_ALLOC) || section.size() == 0 || unneeded || executable != code {
                continue;
            }
            let relocated = section.relocations().next().is_some();
            if has(elf::SHF_WRITE) && (relocated || !name.starts_with(".data.rel.ro")) {
                return Err(fault(name, "it is writable, or holds absolute addresses".to_owned()));
            }
            let align = section.align().max(1);
            if !align.is_power_of_two() || align > Image::ALIGN {
                return Err(fault(name, format!("its alignment is {align}")));
            }
            let data = section.data().map_err(bad)?;
            let offset = bytes.len().next_multiple_of(align as usize);
            bytes.resize(offset, 0);
            bytes.extend_from_slice(data);
            offsets.insert(section.index(), offset as u64);
        }
    }
    // Addresses within an image are computed in 32 bits on every machine.
    if bytes.len() > i32::MAX as usize {
        return Err(Error::Object(format!("code of {} bytes is too large for an image", bytes.len())));
    }
    Ok((bytes, offsets))
}

/// The section's relocations in terms of the image.
fn resolve(
    file: &object::File<'_>,
    section: &object::Section<'_, '_>,
    name: &str,
    base: u64,
    offsets: &Offsets,
) -> Result<Vec<Reloc>, Error> {
    let mut relocs = Vec::new();
    for (at, reloc) in section.relocations() {
        let RelocationFlags::Elf { r_type } = reloc.flags() else {
            return Err(fault(name, "it has a relocation that isn't ELF's".to_owned()));
        };
        let value = match reloc.target() {
            RelocationTarget::Symbol(index) => {
                let symbol = file.symbol_by_index(index).map_err(bad)?;
                let home = symbol.section_index().and_then(|home| offsets.get(&home));
                match home {
                    Some(home) => home.wrapping_add(symbol.address()),
                    // RISC-V marks places with symbols of no section that nothing reads.
                    None if symbol.name().is_ok_and(str::is_empty) => 0,
                    None => {
                        let symbol = symbol.name().map_err(bad)?;
                        return Err(fault(
                            name,
                            format!("it refers to `{symbol}`, which is not in the image"),
                        ));
                    }
                }
            }
            RelocationTarget::Absolute => 0,
            other => return Err(fault(name, format!("relocation target {other:?}"))),
        };
        if reloc.has_implicit_addend() {
            return Err(fault(name, "a relocation has its addend in the code".to_owned()));
        }
        let (at, target) = (base.wrapping_add(at), (value as i64).wrapping_add(reloc.addend()));
        relocs.push(Reloc { r_type, at, target });
    }
    Ok(relocs)
}

fn entries(file: &object::File<'_>, offsets: &Offsets) -> Result<BTreeMap<String, u64>, Error> {
    let mut entries = BTreeMap::new();
    for symbol in file.symbols() {
        if symbol.is_global() && symbol.is_definition() && symbol.kind() == object::SymbolKind::Text {
            let home = symbol.section_index().and_then(|home| offsets.get(&home));
            if let Some(home) = home {
                entries.insert(symbol.name().map_err(bad)?.to_owned(), home.wrapping_add(symbol.address()));
            }
        }
    }
    Ok(entries)
}

fn bad(error: object::Error) -> Error {
    Error::Object(error.to_string())
}

fn fault(section: &str, message: String) -> Error {
    Error::Image { section: section.to_owned(), message }
}
