//! Kernels of several stages that are run as they stand at each point of the outer axes, with matrix products among
//! them: each product has rows and columns of its own at such a point, unlike those of `blocks`.

use super::contract::Contract;
use super::emitter::Emitter;
use super::span::Tiling;
use super::writer::Val;
use crate::target::Target;
use tcc_ir::Dim;
use tcc_ir::kernel::Kernel;

/// The schedule of every stage that is a product.
pub struct Stages {
    pub products: Vec<Option<Contract>>,
}

impl Stages {
    /// None when there are no products, or such as have too few rows or columns.
    pub fn of(kernel: &Kernel, target: &Target) -> Option<Stages> {
        if kernel.serial || kernel.stages.len() < 2 || target.is_gpu() {
            return None;
        }
        let of = |stage| Contract::of_stage(kernel, stage, target);
        let products: Vec<Option<Contract>> = kernel.stages.iter().map(of).collect();
        let fits = |c: &Contract| !c.has_few_rows() && c.is_known(kernel);
        let all = products.iter().flatten().all(fits) && products.iter().flatten().next().is_some();
        all.then_some(Stages { products })
    }

    pub fn tiling(&self, kernel: &Kernel) -> Tiling {
        Tiling { axes: kernel.outer.clone(), stretch: 1, inner: Dim::from(1) }
    }

    /// Writes a tile. `base` is the scratch memory already taken; gives the scratch that the whole needs.
    pub fn write(&self, e: &mut Emitter, tile: &Val, base: &Dim) -> Dim {
        let kernel = e.kernel;
        e.set_axes_from_linear(&kernel.outer, tile);
        let mut scratch = base.clone();
        for (stage, product) in kernel.stages.iter().zip(&self.products) {
            match product {
                Some(contract) => scratch = scratch.maximum(&contract.write_all(e, stage, base)),
                None => e.stage(stage, &kernel.outer),
            }
        }
        scratch
    }
}
