//! Kernels for GPUs: work-groups of threads instead of tiles of a loop, over the same scalar bodies as on CPUs.
//!
//! A launch has as many work-groups as the kernel has tiles. In the text of a body these names exist:
//!
//! | name | type | meaning |
//! |---|---|---|
//! | `%b0`, `%b1`... | memref of [`Space::Buffer`] | buffers, inputs then outputs |
//! | `%d0`, `%d1`... | `index` | dims |
//! | `%tile`, `%tiles` | `index` | this work-group, and how many there are |
//! | `%thread` | `index` | this thread of the group |
//! | `%faults` | memref of `i32` | where a failed check leaves its code |
//! | `%s0`, `%s1`... | memref of [`Space::Shared`] | what the group shares |
//!
//! Barriers stand where all threads of a group come by: never under a condition that depends on the thread.

mod contract;
mod group;
mod module;
mod points;
mod schedule;
mod spirv;
#[cfg(test)]
pub(crate) mod tests;
mod tree;
mod words;

pub use module::module_text;
pub use spirv::serialise;
pub use words::device_features;

use crate::Lowered;
use crate::lower::collapse::collapse;
use crate::lower::emitter::{Emitter, Memory};
use crate::lower::space::Space;
use crate::lower::writer::{Ty, Val};
use crate::mlir::Function;
use crate::target::{Arch, Target};
use group::Group as Writing;
use schedule::Schedule;
use tcc_ir::kernel::{Kernel, Scalar};
use tcc_ir::ops::UnaryKind;
use tcc_ir::{DType, Dim};

/// Threads of a work-group: what every Vulkan device takes.
const THREADS: i64 = 128;

/// Bytes that a work-group may share: what every Vulkan device has.
const SHARED_BYTES: i64 = 16 << 10;

/// Bytes of arrays of its own that a thread may have.
const PRIVATE_BYTES: i64 = 4 << 10;

/// What a kernel's work-groups are made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// Threads of a group, in one dimension.
    pub threads: u32,
    /// Arrays that the threads share: `%s0`, `%s1`...
    pub shared: Vec<Shared>,
}

/// An array that a work-group shares.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shared {
    /// Element type as MLIR writes it.
    pub element: String,
    pub n: i64,
}

/// Where a failed check stores its code.
pub(crate) fn faults(arch: Arch) -> Memory {
    Memory { name: "%faults".to_owned(), ty: Space::Buffer.memref(arch, None, "i32") }
}

/// Lowers a kernel for a GPU. `name` becomes the entry point.
///
/// # Errors
/// Why the target can't do this kernel, in words.
pub fn lower(kernel: &Kernel, name: &str, target: &Target) -> Result<Lowered, String> {
    if target.arch == Arch::Spirv && needs_wide_integers(kernel) {
        return Err(
            "sine, cosine and tangent of f64 take integers of 128 bits, which SPIR-V doesn't have".to_owned()
        );
    }
    let kernel = &collapse(kernel);
    let schedule = Schedule::of(kernel);
    let mut writing = Writing::new(Emitter::new(kernel, target), schedule.threads());
    schedule.place_temps(&mut writing)?;
    let tiles = schedule.tiles(kernel);
    let (tile, n) = (Val::named("%tile", Ty::Index), Val::named("%tiles", Ty::Index));
    // The last row of work-groups may be longer than what is left to do.
    let inside = writing.e.w.cmp("slt", &tile, &n);
    writing.e.w.open_if(&inside);
    schedule.write(&mut writing, &tile);
    writing.e.w.close_if();
    let (e, group) = writing.finish()?;
    let buffers = e.operand_buffers();
    let (body, dims) = e.finish();
    let function =
        Function { name: name.to_owned(), buffers, n_dims: dims.len(), body, parts: vec![], fault: None };
    Ok(Lowered {
        function,
        dims,
        tiles,
        scratch: Dim::from(0),
        serial: kernel.serial,
        spans: vec![],
        group: Some(group),
    })
}

/// Whether the expanded functions use integers of 128 bits: the reduction of angles in f64 does.
fn needs_wide_integers(kernel: &Kernel) -> bool {
    kernel.stages.iter().any(|stage| {
        let mut todo = stage.exprs();
        let mut seen = vec![false; kernel.exprs.len()];
        while let Some(id) = todo.pop() {
            if std::mem::replace(&mut seen[id.0 as usize], true) {
                continue;
            }
            let angle =
                matches!(kernel.expr(id), Scalar::Unary(UnaryKind::Sin | UnaryKind::Cos | UnaryKind::Tan, _));
            if angle && kernel.dtype(stage, id) == DType::F64 {
                return true;
            }
            todo.extend(kernel.operands(id));
        }
        false
    })
}
