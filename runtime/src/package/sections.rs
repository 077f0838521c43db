//! Checks code sections: that code lies where it's said to be, and that launches on GPUs make sense.

use super::header::PAGE;
use super::manifest::*;
use crate::error::{Error, Result};

/// Most threads of a work-group: the limit of every desktop GPU. A device may allow fewer, which loading finds out.
const MAX_THREADS: u32 = 1024;
/// Bytes of the smallest SPIR-V module, its header.
const SPIRV_HEADER: u64 = 20;

pub(super) fn check_sections(manifest: &Manifest, code_len: u64) -> Result<()> {
    for (at, section) in manifest.sections.iter().enumerate() {
        let fail =
            |cause: &str| Err(Error::invalid(format!("code section {at} \"{}\"", section.target), cause));
        if section.format.is_gpu() && manifest.sections.len() > 1 {
            return fail("code for a GPU is the only section of its package");
        }
        let kernels = manifest.kernels.len();
        let (entries, launches) = if section.format.is_gpu() { (0, kernels) } else { (kernels, 0) };
        if section.entries.len() != entries {
            return fail(&format!("it has {} entries, {entries} were expected", section.entries.len()));
        }
        if section.launches.len() != launches {
            return fail(&format!("it has {} launches, {launches} were expected", section.launches.len()));
        }
        if section.format == CodeFormat::Native {
            continue;
        }
        let end = section.offset.checked_add(section.len);
        if section.offset % PAGE != 0 || end.is_none_or(|end| end > code_len) {
            return fail("it isn't in the code, at a multiple of the page size");
        }
        if section.format == CodeFormat::Flat && section.entries.iter().any(|&entry| entry >= section.len) {
            return fail("a kernel's entry is outside of it");
        }
        for (launch, kernel) in section.launches.iter().zip(&manifest.kernels) {
            if let Some(cause) = launch_fault(section, launch) {
                return fail(&format!("the launch of kernel {}: {cause}", kernel.name));
            }
        }
    }
    Ok(())
}

/// What is wrong with a launch, if anything is.
fn launch_fault(section: &Code, launch: &Launch) -> Option<&'static str> {
    if launch.offset.checked_add(launch.len).is_none_or(|end| end > section.len) {
        return Some("its module is outside of the section");
    }
    if launch.entry.is_empty() || launch.entry.contains('\0') {
        return Some("its entry point has no proper name");
    }
    if !(1..=MAX_THREADS).contains(&launch.threads) {
        return Some("its work-group isn't of 1 to 1024 threads");
    }
    let is_words = launch.offset % 4 == 0 && launch.len % 4 == 0 && launch.len >= SPIRV_HEADER;
    if section.format == CodeFormat::SpirV && !is_words {
        return Some("its module isn't whole SPIR-V words at a multiple of four");
    }
    None
}
