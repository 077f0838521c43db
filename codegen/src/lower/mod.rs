//! Kernels to MLIR: one function of the run-time ABI each.
//!
//! `lower` is the only way in. It picks the tiles (what the run time splits over threads), then writes the loop
//! nests; the schedule of contractions (see `contract`) is asked first.

pub(crate) mod access;
mod blocks;
mod bounds;
pub(crate) mod collapse;
mod contract;
pub(crate) mod emitter;
mod hoist;
mod math;
mod nest;
mod parts;
mod planes;
pub(crate) mod product;
pub(crate) mod repr;
mod scalar;
pub(crate) mod space;
mod span;
mod stages;
#[cfg(test)]
pub(crate) mod tests;
mod window;
pub(crate) mod writer;

pub use blocks::row_block;
pub use contract::panel;
pub use contract::{Layout, prepack};
pub use span::Span;

use crate::gpu::Group;
use crate::mlir::Function;
use crate::target::Target;
use blocks::Blocks;
use contract::Contract;
use emitter::Emitter;
use planes::Planes;
use span::Tiling;
use stages::Stages;
use tcc_ir::Dim;
use tcc_ir::kernel::{AxisId, Kernel, Stage};

/// A kernel as the run time calls it.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    pub function: Function,
    /// The sizes to pass, in order.
    pub dims: Vec<Dim>,
    /// How many tiles there are; each may run on another thread.
    pub tiles: Dim,
    /// Bytes of scratch memory that a thread needs.
    pub scratch: Dim,
    /// All tiles must be given to one call.
    pub serial: bool,
    /// What a tile touches of each operand, where that is a part; nothing at all where it wasn't looked for.
    pub spans: Vec<Option<Span>>,
    /// On a GPU, where a tile is a work-group: what a group is made of.
    pub group: Option<Group>,
}

/// Elements that a tile should have at least, so that starting one costs little beside it.
const TILE: i64 = 4096;

/// Lowers a kernel for a CPU target. `name` becomes the symbol.
pub fn lower(kernel: &Kernel, name: &str, target: &Target) -> Lowered {
    let kernel = &collapse::collapse(kernel);
    if let Some(blocks) = Blocks::of(kernel, target, &|_| false) {
        let spans = blocks.tiling(kernel).spans(kernel);
        return write(&blocks.kernel, name, target, Schedule::Blocks(&blocks), spans);
    }
    if let Some(stages) = Stages::of(kernel, target) {
        let spans = stages.tiling(kernel).spans(kernel);
        return write(kernel, name, target, Schedule::Stages(&stages), spans);
    }
    if let Some(contract) = Contract::of(kernel, target) {
        let spans = contract.tiling(kernel).spans(kernel);
        return write(kernel, name, target, Schedule::Contract(contract), spans);
    }
    if let Some(planes) = Planes::of(kernel, target) {
        let spans = planes.tiling().spans(kernel);
        let split = Split::Points(planes.kernel.outer.clone());
        return write(&planes.kernel, name, target, Schedule::Nests(split), spans);
    }
    nests(kernel, name, target)
}

/// As [`lower`], without schedules that take scratch memory beyond the kernel's own temporaries.
pub fn lower_without_packing(kernel: &Kernel, name: &str, target: &Target) -> Lowered {
    nests(&collapse::collapse(kernel), name, target)
}

fn nests(kernel: &Kernel, name: &str, target: &Target) -> Lowered {
    let split = Split::of(kernel);
    let spans = split.tiling().spans(kernel);
    write(kernel, name, target, Schedule::Nests(split), spans)
}

/// How a kernel is written.
enum Schedule<'a> {
    /// All of it is one blocked matrix product.
    Contract(Contract),
    /// Its stages run over blocks of rows.
    Blocks(&'a Blocks),
    /// Its stages, some of them blocked matrix products, run at each point of the outer axes.
    Stages(&'a Stages),
    /// Each stage is a loop nest, at each point of the outer axes.
    Nests(Split),
}

impl Schedule<'_> {
    fn tiles(&self, kernel: &Kernel) -> Dim {
        match self {
            Schedule::Contract(contract) => contract.tiles(kernel),
            Schedule::Blocks(_) | Schedule::Stages(_) => access::product(kernel, &kernel.outer),
            Schedule::Nests(split) => split.tiles(kernel),
        }
    }

    /// Writes a tile. `temps` is the scratch memory that temporaries take; gives what the whole needs.
    fn write(&self, e: &mut Emitter, tile: &writer::Val, temps: &Dim) -> Dim {
        let kernel = e.kernel;
        match self {
            Schedule::Contract(contract) => contract.write(e, &kernel.stages[0], tile, temps),
            Schedule::Blocks(blocks) => blocks.write(e, tile, temps),
            Schedule::Stages(stages) => stages.write(e, tile, temps),
            Schedule::Nests(split) => {
                split.enter(e, tile, &mut |e, fixed| {
                    kernel.stages.iter().for_each(|stage| e.stage(stage, fixed));
                });
                temps.clone()
            }
        }
    }
}

/// Writes a kernel whose axes are collapsed.
fn write(
    kernel: &Kernel,
    name: &str,
    target: &Target,
    schedule: Schedule,
    spans: Vec<Option<Span>>,
) -> Lowered {
    let mut e = Emitter::new(kernel, target);
    let temps = e.temps_in_scratch();
    let (begin, end) =
        (writer::Val::named("%begin", writer::Ty::Index), writer::Val::named("%end", writer::Ty::Index));
    let mut scratch = temps.clone();
    let tiles = schedule.tiles(kernel);
    e.for_loop((&begin, &end), 1, &[], |e, tile, _| {
        scratch = schedule.write(e, &tile, &temps);
        vec![]
    });
    let buffers = e.operand_buffers();
    let fault = e.can_fail.then(|| "%fault.code".to_string());
    let parts = e.take_parts();
    let (body, dims) = e.finish();
    let function = Function { name: name.to_string(), buffers, n_dims: dims.len(), body, parts, fault };
    Lowered { function, dims, tiles, scratch, serial: kernel.serial, spans, group: None }
}

/// What one tile is: a point of some axes, or a stretch of one.
enum Split {
    /// A point of these axes.
    Points(Vec<AxisId>),
    /// A stretch of that many positions of the axis.
    Stretch(AxisId, i64),
}

impl Split {
    fn of(kernel: &Kernel) -> Split {
        match (kernel.outer.as_slice(), kernel.stages.as_slice()) {
            ([], _) if kernel.serial => Split::Points(vec![]),
            ([], [stage]) => Split::of_stage(kernel, stage),
            (outer, _) => Split::Points(outer.to_vec()),
        }
    }

    /// Leading axes become the tile's point, as long as enough work stays inside.
    fn of_stage(kernel: &Kernel, stage: &Stage) -> Split {
        let work = |axes: &[AxisId]| -> i64 {
            let extents =
                axes.iter().chain(&stage.reduce).map(|a| kernel.extent(*a).as_const().unwrap_or(64).max(1));
            extents.fold(1i64, i64::saturating_mul)
        };
        if stage.axes.len() == 1 {
            let per_element = work(&[]).max(1);
            // Where reductions run along the axis, a narrow stretch would read a few elements here and there.
            let least = if nest::wants_block(kernel, stage, Some(stage.axes[0])) { nest::BLOCK } else { 1 };
            return Split::Stretch(stage.axes[0], (TILE / per_element).clamp(least, TILE));
        }
        let n = (0..stage.axes.len()).rev().find(|n| work(&stage.axes[*n..]) >= TILE / 8).unwrap_or(0);
        Split::Points(stage.axes[..n].to_vec())
    }

    fn tiles(&self, kernel: &Kernel) -> Dim {
        match self {
            Split::Points(axes) => Dim::product(axes.iter().map(|a| kernel.extent(*a).clone())),
            Split::Stretch(axis, n) => kernel.extent(*axis).ceil_div(&Dim::from(*n)),
        }
    }

    fn tiling(&self) -> Tiling {
        match self {
            Split::Points(axes) => Tiling { axes: axes.clone(), stretch: 1, inner: Dim::from(1) },
            Split::Stretch(axis, n) => Tiling { axes: vec![*axis], stretch: *n, inner: Dim::from(1) },
        }
    }

    fn enter(&self, e: &mut Emitter, tile: &writer::Val, body: &mut dyn FnMut(&mut Emitter, &[AxisId])) {
        match self {
            Split::Points(axes) => {
                e.set_axes_from_linear(axes, tile);
                body(e, axes);
            }
            Split::Stretch(axis, n) => {
                let step = e.w.index(*n);
                let extent = e.kernel.extent(*axis).clone();
                let extent = e.dim_index(&extent);
                let lo = e.w.bin("arith.muli", tile, &step);
                let hi = e.w.bin("arith.addi", &lo, &step);
                let hi = e.w.bin("arith.minsi", &hi, &extent);
                e.stretch = Some((*axis, lo, hi));
                body(e, &[]);
                e.stretch = None;
            }
        }
    }
}
