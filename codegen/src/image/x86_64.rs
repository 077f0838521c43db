//! Relocations of x86-64.

use object::elf::{self, RelocationType};

use super::Reloc;
use super::place::{Place, signed};

pub(super) fn apply(place: &mut Place<'_>, relocs: &[Reloc]) -> Result<(), (RelocationType, String)> {
    for reloc in relocs {
        one(place, reloc).map_err(|message| (reloc.r_type, message))?;
    }
    Ok(())
}

fn one(place: &mut Place<'_>, reloc: &Reloc) -> Result<(), String> {
    let distance = reloc.target.wrapping_sub(reloc.at as i64);
    match reloc.r_type {
        elf::R_X86_64_NONE => Ok(()),
        elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => place.set_u32(reloc.at, signed(distance, 32, 1)?),
        elf::R_X86_64_PC64 => place.set_u64(reloc.at, distance as u64),
        _ => Err("not position-independent, or unknown".to_owned()),
    }
}
