//! Which schedule a kernel gets.

use super::contract::Contract;
use super::group::Group;
use super::{PRIVATE_BYTES, SHARED_BYTES, THREADS};
use crate::lower::access::product;
use crate::lower::writer::Val;
use tcc_ir::Dim;
use tcc_ir::kernel::{AxisId, BufferKind, Kernel, Stage};

/// How a kernel's work is shared out.
pub enum Schedule {
    /// A thread a point of these axes. The point does its stages alone.
    Points(Vec<AxisId>),
    /// A work-group a point of these axes. Its threads share out each stage.
    Groups(Vec<AxisId>),
    /// One work-group, which takes the points of the outer axes one after the other.
    Serial,
    /// A work-group a tile of a matrix product.
    Contract(Box<Contract>),
}

/// Up to so many steps a thread does a point alone, rather than with its group.
const ALONE: i64 = 64;
/// From so many points on, threads have enough to do without sharing points of up to [`LONG`] steps.
const MANY_POINTS: i64 = 1 << 13;
const LONG: i64 = 1024;

impl Schedule {
    pub fn of(kernel: &Kernel) -> Schedule {
        if kernel.serial {
            return Schedule::Serial;
        }
        match kernel.stages.as_slice() {
            [stage] => Schedule::of_stage(kernel, stage),
            stages => {
                let work =
                    Dim::sum(stages.iter().map(|s| product(kernel, &s.axes) * product(kernel, &s.reduce)));
                let small = work.as_const().is_some_and(|n| n <= ALONE)
                    && temp_bytes(kernel).is_some_and(|n| n <= PRIVATE_BYTES);
                match small && !kernel.outer.is_empty() {
                    true => Schedule::Points(kernel.outer.clone()),
                    false => Schedule::Groups(kernel.outer.clone()),
                }
            }
        }
    }

    fn of_stage(kernel: &Kernel, stage: &Stage) -> Schedule {
        if let Some(contract) = Contract::of(kernel, stage) {
            return Schedule::Contract(Box::new(contract));
        }
        let axes: Vec<AxisId> = kernel.outer.iter().chain(&stage.axes).copied().collect();
        // Temporaries are of a point of the outer axes: one stage has no use for any, but may have them.
        let temps = kernel.buffers_of(BufferKind::Temp).next().is_some();
        if temps {
            return Schedule::Groups(kernel.outer.clone());
        }
        let steps = product(kernel, &stage.reduce).as_const();
        let points = product(kernel, &axes).as_const();
        let alone = stage.scan
            || stage.accs.is_empty()
            || steps.is_some_and(|n| n <= ALONE)
            || (points.is_some_and(|n| n >= MANY_POINTS) && steps.is_some_and(|n| n <= LONG));
        if alone { Schedule::Points(axes) } else { Schedule::Groups(axes) }
    }

    pub fn threads(&self) -> i64 {
        THREADS
    }

    /// How many work-groups there are.
    pub fn tiles(&self, kernel: &Kernel) -> Dim {
        match self {
            Schedule::Points(axes) => product(kernel, axes).ceil_div(&Dim::from(THREADS)),
            Schedule::Groups(axes) => product(kernel, axes),
            Schedule::Serial => Dim::from(1),
            Schedule::Contract(contract) => contract.tiles(kernel),
        }
    }

    /// Gives temporaries their memory: of the thread where points are done alone, else of the group.
    ///
    /// # Errors
    /// The temporaries need more than there is.
    pub fn place_temps(&self, group: &mut Group) -> Result<(), String> {
        let kernel = group.e.kernel;
        if kernel.buffers_of(BufferKind::Temp).next().is_none() {
            return Ok(());
        }
        let private = matches!(self, Schedule::Points(_));
        let (limit, whose) = if private { (PRIVATE_BYTES, "thread") } else { (SHARED_BYTES, "work-group") };
        let Some(bytes) = temp_bytes(kernel) else {
            return Err(format!(
                "its temporaries have no upper bound, and a {whose} has {limit} bytes: bound the sizes with `--dim NAME=LO..HI`"
            ));
        };
        if bytes > limit {
            return Err(format!("its temporaries take {bytes} bytes, and a {whose} has {limit}"));
        }
        for (id, buffer) in kernel.buffers_of(BufferKind::Temp) {
            let n = buffer.ty.n_elements().upper().unwrap_or(1).max(1);
            let ty = group.e.element(id);
            let memory = if private { group.private(ty, n) } else { group.shared(ty, n) };
            group.e.place(id, memory);
        }
        Ok(())
    }

    pub fn write(&self, group: &mut Group, tile: &Val) {
        match self {
            Schedule::Points(axes) => group.point_a_thread(axes, tile),
            Schedule::Groups(axes) => {
                group.e.set_axes_from_linear(axes, tile);
                group.stages(axes);
            }
            Schedule::Serial => group.points_in_order(),
            Schedule::Contract(contract) => contract.write(group, tile),
        }
    }
}

/// Bytes that the temporaries take at most; None where a size has no bound.
fn temp_bytes(kernel: &Kernel) -> Option<i64> {
    kernel.buffers_of(BufferKind::Temp).try_fold(0i64, |sum, (_, b)| sum.checked_add(b.ty.n_bytes().upper()?))
}
