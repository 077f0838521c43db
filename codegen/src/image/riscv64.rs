//! Relocations of RISC-V (RISC-V ELF psABI, "Relocations").
//!
//! Objects are made without relaxation, so nothing moves. A low part refers to the instruction with the high part,
//! not to the target, hence the table of high parts.

use std::collections::HashMap;

use object::elf::{self, RelocationType};

use super::Reloc;
use super::place::{Place, signed};

pub(super) fn apply(place: &mut Place<'_>, relocs: &[Reloc]) -> Result<(), (RelocationType, String)> {
    let high = |reloc: &&Reloc| reloc.r_type == elf::R_RISCV_PCREL_HI20;
    let highs: HashMap<u64, i64> = relocs
        .iter()
        .filter(high)
        .map(|reloc| (reloc.at, reloc.target.wrapping_sub(reloc.at as i64)))
        .collect();
    for reloc in relocs {
        one(place, reloc, &highs).map_err(|message| (reloc.r_type, message))?;
    }
    Ok(())
}

fn one(place: &mut Place<'_>, reloc: &Reloc, highs: &HashMap<u64, i64>) -> Result<(), String> {
    let (at, target) = (reloc.at, reloc.target);
    let distance = target.wrapping_sub(at as i64);
    let low = || {
        let distance = highs.get(&(target as u64)).ok_or("its high part is missing")?;
        Ok::<_, String>(*distance as u32 & 0xfff)
    };
    match reloc.r_type {
        elf::R_RISCV_NONE | elf::R_RISCV_RELAX => Ok(()),
        elf::R_RISCV_32_PCREL | elf::R_RISCV_PLT32 => place.set_u32(at, signed(distance, 32, 1)?),
        elf::R_RISCV_PCREL_HI20 => place.set_bits(at, 0xffff_f000, high_part(distance)?),
        elf::R_RISCV_PCREL_LO12_I => place.set_bits(at, 0xfff0_0000, low()? << 20),
        elf::R_RISCV_PCREL_LO12_S => {
            let low = low()?;
            place.set_bits(at, 0xfe00_0f80, (low >> 5) << 25 | (low & 0x1f) << 7)
        }
        elf::R_RISCV_CALL | elf::R_RISCV_CALL_PLT => {
            place.set_bits(at, 0xffff_f000, high_part(distance)?)?;
            place.set_bits(at + 4, 0xfff0_0000, (distance as u32 & 0xfff) << 20)
        }
        elf::R_RISCV_BRANCH => {
            let value = signed(distance, 13, 2)?;
            let bits =
                bit(value, 12, 31) | field(value, 5, 6, 25) | field(value, 1, 4, 8) | bit(value, 11, 7);
            place.set_bits(at, 0xfe00_0f80, bits)
        }
        elf::R_RISCV_JAL => {
            let value = signed(distance, 21, 2)?;
            let bits =
                bit(value, 20, 31) | field(value, 1, 10, 21) | bit(value, 11, 20) | field(value, 12, 8, 12);
            place.set_bits(at, 0xffff_f000, bits)
        }
        elf::R_RISCV_RVC_BRANCH => {
            let value = signed(distance, 9, 2)?;
            let bits = bit(value, 8, 12)
                | field(value, 3, 2, 10)
                | field(value, 6, 2, 5)
                | field(value, 1, 2, 3)
                | bit(value, 5, 2);
            set_compressed(place, at, 0x1c7c, bits)
        }
        elf::R_RISCV_RVC_JUMP => {
            let value = signed(distance, 12, 2)?;
            let bits = bit(value, 11, 12)
                | bit(value, 4, 11)
                | field(value, 8, 2, 9)
                | bit(value, 10, 8)
                | bit(value, 6, 7)
                | bit(value, 7, 6)
                | field(value, 1, 3, 3)
                | bit(value, 5, 2);
            set_compressed(place, at, 0x1ffc, bits)
        }
        elf::R_RISCV_ADD8 => place.add(at, 1, target),
        elf::R_RISCV_ADD16 => place.add(at, 2, target),
        elf::R_RISCV_ADD32 => place.add(at, 4, target),
        elf::R_RISCV_ADD64 => place.add(at, 8, target),
        elf::R_RISCV_SUB8 => place.add(at, 1, target.wrapping_neg()),
        elf::R_RISCV_SUB16 => place.add(at, 2, target.wrapping_neg()),
        elf::R_RISCV_SUB32 => place.add(at, 4, target.wrapping_neg()),
        elf::R_RISCV_SUB64 => place.add(at, 8, target.wrapping_neg()),
        _ => Err("not position-independent, or unknown".to_owned()),
    }
}

/// The high twenty bits that, with a signed low part, give the distance.
fn high_part(distance: i64) -> Result<u32, String> {
    Ok(signed(distance.wrapping_add(0x800), 32, 1)? & 0xffff_f000)
}

/// One bit moved to another place.
fn bit(value: u32, from: u32, to: u32) -> u32 {
    field(value, from, 1, to)
}

/// `count` bits from `from` on, moved to `to`.
fn field(value: u32, from: u32, count: u32, to: u32) -> u32 {
    ((value >> from) & ((1 << count) - 1)) << to
}

fn set_compressed(place: &mut Place<'_>, at: u64, mask: u16, bits: u32) -> Result<(), String> {
    let word = place.u16(at)?;
    place.set_u16(at, word & !mask | bits as u16 & mask)
}
