//! Relocations of AArch64 (ELF for the Arm 64-bit Architecture, section 5.7).

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
    let (at, target) = (reloc.at, reloc.target);
    let distance = target.wrapping_sub(at as i64);
    match reloc.r_type {
        elf::R_AARCH64_NONE => Ok(()),
        elf::R_AARCH64_PREL64 => place.set_u64(at, distance as u64),
        elf::R_AARCH64_PREL32 | elf::R_AARCH64_PLT32 => place.set_u32(at, signed(distance, 32, 1)?),
        elf::R_AARCH64_PREL16 => place.set_u16(at, signed(distance, 16, 1)? as u16),
        elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26 => {
            place.set_bits(at, 0x03ff_ffff, signed(distance, 28, 4)? >> 2)
        }
        elf::R_AARCH64_CONDBR19 | elf::R_AARCH64_LD_PREL_LO19 => {
            place.set_bits(at, 0x7_ffff << 5, (signed(distance, 21, 4)? >> 2) << 5)
        }
        elf::R_AARCH64_TSTBR14 => place.set_bits(at, 0x3fff << 5, (signed(distance, 16, 4)? >> 2) << 5),
        elf::R_AARCH64_ADR_PREL_LO21 => set_adr(place, at, signed(distance, 21, 1)?),
        elf::R_AARCH64_ADR_PREL_PG_HI21 => {
            // The image lies at a multiple of the page, so pages of offsets are pages of addresses.
            let pages = (target >> 12).wrapping_sub(at as i64 >> 12);
            set_adr(place, at, signed(pages, 21, 1)?)
        }
        elf::R_AARCH64_ADD_ABS_LO12_NC | elf::R_AARCH64_LDST8_ABS_LO12_NC => set_lo12(place, at, target, 0),
        elf::R_AARCH64_LDST16_ABS_LO12_NC => set_lo12(place, at, target, 1),
        elf::R_AARCH64_LDST32_ABS_LO12_NC => set_lo12(place, at, target, 2),
        elf::R_AARCH64_LDST64_ABS_LO12_NC => set_lo12(place, at, target, 3),
        elf::R_AARCH64_LDST128_ABS_LO12_NC => set_lo12(place, at, target, 4),
        _ => Err("not position-independent, or unknown".to_owned()),
    }
}

/// The immediate of ADR and ADRP: two low bits at 29, nineteen at 5.
fn set_adr(place: &mut Place<'_>, at: u64, value: u32) -> Result<(), String> {
    let mask = 3 << 29 | 0x7_ffff << 5;
    place.set_bits(at, mask, (value & 3) << 29 | ((value >> 2) & 0x7_ffff) << 5)
}

/// The low twelve bits of an address, scaled by the size of the access.
fn set_lo12(place: &mut Place<'_>, at: u64, target: i64, shift: u32) -> Result<(), String> {
    let low = (target & 0xfff) as u32;
    if low & ((1 << shift) - 1) != 0 {
        return Err(format!("offset {target} is not aligned for the access"));
    }
    place.set_bits(at, 0xfff << 10, (low >> shift) << 10)
}
