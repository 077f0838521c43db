//! Convolutions as sums over channels and window places.

use super::reduce::product;
use super::{Operands, accumulator, buffers};
use tcc_ir::Cmp;
use tcc_ir::Dim;
use tcc_ir::kernel::{Acc, AccOp, AxisId, Builder, ExprId, Kernel};
use tcc_ir::ops::{BinaryKind, Conv, ConvTranspose};

/// The axes of a grouped convolution's result and their positions: batch, group (when there are several), channel
/// within the group.
struct Channels {
    axes: Vec<AxisId>,
    batch: ExprId,
    /// None when there is one group.
    group: Option<ExprId>,
    within: ExprId,
}

impl Channels {
    fn new(b: &mut Builder, batch: &Dim, groups: usize, within: &Dim) -> Self {
        let n = b.axis(batch);
        let mut axes = vec![n];
        let batch = b.at(n);
        let group = (groups > 1).then(|| {
            let g = b.axis(groups);
            axes.push(g);
            b.at(g)
        });
        // A group of one channel needs no axis.
        let within = if group.is_some() && within.is_const(1) {
            b.int(0)
        } else {
            let m = b.axis(within);
            axes.push(m);
            b.at(m)
        };
        Channels { axes, batch, group, within }
    }

    /// Channel number when each group has `per_group` of them.
    fn channel(&self, b: &mut Builder, per_group: &Dim, within: ExprId) -> ExprId {
        match self.group {
            None => within,
            Some(g) => {
                let n = b.dim(per_group);
                let first = b.mul(g, n);
                b.add(first, within)
            }
        }
    }
}

/// An axis to sum over; none for an extent of one.
fn sum_axis(b: &mut Builder, extent: &Dim, axes: &mut Vec<AxisId>) -> ExprId {
    if extent.is_const(1) {
        return b.int(0);
    }
    let a = b.axis(extent);
    axes.push(a);
    b.at(a)
}

pub fn conv(io: &Operands, op: &Conv) -> Kernel {
    let mut b = Builder::new("conv");
    let (ins, outs) = buffers(&mut b, io);
    let (x, w, y) = (io.ins[0], io.ins[1], io.outs[0]);
    let per_group = w.shape[0].floor_div(&op.groups.into());
    let mut channels = Channels::new(&mut b, &x.shape[0], op.groups, &per_group);
    let out = b.axes(&y.shape[2..]);
    channels.axes.extend(&out);
    let mut reduce = Vec::new();
    let c = sum_axis(&mut b, &w.shape[1], &mut reduce);
    let k: Vec<ExprId> = w.shape[2..].iter().map(|n| sum_axis(&mut b, n, &mut reduce)).collect();

    let m = channels.channel(&mut b, &per_group, channels.within);
    let from = channels.channel(&mut b, &w.shape[1], c);
    let mut index = vec![channels.batch, from];
    let mut guards = Vec::new();
    let zero = Dim::from(0);
    for (i, o) in out.iter().enumerate() {
        let (stride, dilation) = (b.int(op.strides[i] as i64), b.int(op.dilations[i] as i64));
        let o = b.at(*o);
        let base = b.mul(o, stride);
        let step = b.mul(k[i], dilation);
        let place = b.add(base, step);
        let before = b.dim(&op.pads_before[i]);
        let place = b.sub(place, before);
        let inside = [&op.pads_before[i], &op.pads_after[i]]
            .iter()
            .all(|p| Dim::compare(Cmp::Le, p, &zero) == Some(true));
        if !inside {
            guards.push(b.in_range(place, &x.shape[2 + i]));
        }
        index.push(place);
    }
    let guard = b.all_of(guards);
    let xv = b.load_if(ins[0], index, guard);
    let weight = b.load(ins[1], [&[m, c], k.as_slice()].concat());
    let dtype = accumulator(y.dtype);
    let value = product(&mut b, dtype, (weight, w.dtype), (xv, x.dtype));
    let to = [&[channels.batch, m], b.all(&out).as_slice()].concat();
    b.reduce_stage((channels.axes, reduce), Acc { op: AccOp::Sum, value, dtype }, (outs[0], to), |_, acc| {
        acc
    });
    b.finish()
}

/// Each place of the result collects what reaches it: input place `i` with `i*stride + k*dilation - before = o`.
pub fn conv_transpose(io: &Operands, op: &ConvTranspose) -> Kernel {
    let mut b = Builder::new("conv_transpose");
    let (ins, outs) = buffers(&mut b, io);
    let (x, w, y) = (io.ins[0], io.ins[1], io.outs[0]);
    let per_group = w.shape[0].floor_div(&op.groups.into());
    let mut channels = Channels::new(&mut b, &x.shape[0], op.groups, &w.shape[1]);
    let out = b.axes(&y.shape[2..]);
    channels.axes.extend(&out);
    let mut reduce = Vec::new();
    let c = sum_axis(&mut b, &per_group, &mut reduce);
    let k: Vec<ExprId> = w.shape[2..].iter().map(|n| sum_axis(&mut b, n, &mut reduce)).collect();

    let from = channels.channel(&mut b, &per_group, c);
    let m = channels.channel(&mut b, &w.shape[1], channels.within);
    let mut index = vec![channels.batch, from];
    let mut guards = Vec::new();
    for (i, o) in out.iter().enumerate() {
        let (stride, dilation) = (b.int(op.strides[i] as i64), b.int(op.dilations[i] as i64));
        let o = b.at(*o);
        let before = b.dim(&op.pads_before[i]);
        let shifted = b.add(o, before);
        let step = b.mul(k[i], dilation);
        let reach = b.sub(shifted, step);
        let zero = b.int(0);
        if op.strides[i] != 1 {
            let rest = b.binary(BinaryKind::Mod, reach, stride);
            guards.push(b.compare(Cmp::Eq, rest, zero));
        }
        let place = b.binary(BinaryKind::Div, reach, stride);
        guards.push(b.compare(Cmp::Ge, reach, zero));
        let n = b.dim(&x.shape[2 + i]);
        guards.push(b.compare(Cmp::Lt, place, n));
        index.push(place);
    }
    let guard = b.all_of(guards);
    let xv = b.load_if(ins[0], index, guard);
    let weight = b.load(ins[1], [&[from, channels.within], k.as_slice()].concat());
    let dtype = accumulator(y.dtype);
    let value = product(&mut b, dtype, (weight, w.dtype), (xv, x.dtype));
    let to = [&[channels.batch, m], b.all(&out).as_slice()].concat();
    b.reduce_stage((channels.axes, reduce), Acc { op: AccOp::Sum, value, dtype }, (outs[0], to), |_, acc| {
        acc
    });
    b.finish()
}
