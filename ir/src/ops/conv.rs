//! Convolution over any number of spatial axes.

use super::sliding::Sliding;
use super::wide::Wide;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Cmp, Dim, TensorType, Type};

crate::attrs! {
    /// `y[n, m, o..] = sum over c, k.. of x[n, g*C/groups + c, o*stride + k*dilation - before..] * w[m, c, k..]`,
    /// where g is the group of m; outside x is 0. x: [N, C, spatial..], w: [M, C/groups, window..], both of one
    /// number type; y: [N, M, `floor((n + before + after - ((k-1)*dilation + 1)) / stride) + 1`..]. Attributes have
    /// one entry a spatial axis; negative pads crop. Sums are accumulated wide; integers wrap.
    pub struct Conv {
        pub strides: Vec<usize>,
        pub dilations: Vec<usize>,
        pub pads_before: Vec<Dim>,
        pub pads_after: Vec<Dim>,
        pub groups: usize,
    }
}

impl Conv {
    fn sliding(&self) -> Sliding<'_> {
        Sliding {
            strides: &self.strides,
            dilations: &self.dilations,
            before: &self.pads_before,
            after: &self.pads_after,
        }
    }

    fn run<T: Wide>(&self, x: &Tensor, w: &Tensor, before: &[i64], shape: Vec<usize>) -> Tensor {
        let (n, c, m) = (x.shape()[0], x.shape()[1], w.shape()[0]);
        let (per_group, m_per_group) = (w.shape()[1], m / self.groups);
        let size = |s: &[usize]| s[2..].iter().product::<usize>();
        let (in_size, out_size, taps) = (size(x.shape()), size(&shape), size(w.shape()));
        let (xs, ws) = (T::load(x), T::load(w));
        let mut out = vec![T::ZERO; n * m * out_size];
        self.sliding().for_each_tap(&w.shape()[2..], &x.shape()[2..], &shape[2..], before, |tap, runs| {
            for (row, acc) in out.chunks_exact_mut(out_size.max(1)).enumerate() {
                let (image, filter) = (row / m, row % m);
                let first = image * c + filter / m_per_group * per_group;
                for ch in 0..per_group {
                    let weight = ws[(filter * per_group + ch) * taps + tap];
                    let plane = &xs[(first + ch) * in_size..][..in_size];
                    for r in runs {
                        accumulate(&mut acc[r.place..][..r.len], &plane[r.position..], r.step, weight);
                    }
                }
            }
        });
        T::store(x.dtype(), shape, out)
    }
}

impl OpDef for Conv {
    const NAME: &'static str = "conv";

    fn arity(&self) -> Arity {
        Arity::exactly(2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (x, w) = conv_operands(ins, self.groups)?;
        let what = "channels of the input differ from those of the weights";
        cx.same(&x.shape[1], &(w.shape[1].clone() * Dim::from(self.groups)), what)?;
        divides(cx, self.groups, &w.shape[0], "filters don't divide into groups")?;
        let mut shape = vec![x.shape[0].clone(), w.shape[0].clone()];
        shape.extend(self.sliding().out_extents(cx, &x.shape[2..], &w.shape[2..])?);
        Ok(vec![Type::tensor(x.dtype, shape)])
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (dtype, shape) = cx.out(0)?;
        let (x, w) = (ins[0].tensor(), ins[1].tensor());
        let before = self.sliding().offsets(cx)?;
        let run = if dtype.is_float() { Conv::run::<f64> } else { Conv::run::<i64> };
        Ok(vec![run(self, x, w, &before, shape).into()])
    }
}

/// Adds `weight` times every `step`th element of x.
fn accumulate<T: Wide>(acc: &mut [T], x: &[T], step: usize, weight: T) {
    // The common case without the cost of a stepping iterator.
    if step == 1 {
        acc.iter_mut().zip(x).for_each(|(a, x)| *a = a.add_product(*x, weight));
    } else {
        acc.iter_mut().zip(x.iter().step_by(step)).for_each(|(a, x)| *a = a.add_product(*x, weight));
    }
}

/// The operands of a convolution, with ranks and types checked.
pub(super) fn conv_operands<'a>(
    ins: &[Fact<'a>],
    groups: usize,
) -> Result<(&'a TensorType, &'a TensorType), Mismatch> {
    let (x, w) = (ins[0].tensor()?, ins[1].tensor()?);
    if x.dtype != w.dtype || !(x.dtype.is_float() || x.dtype.is_int()) {
        return Err(Mismatch::new(format!("no convolution of {x} with {w}")));
    }
    if x.rank() < 2 || x.rank() != w.rank() {
        return Err(Mismatch::new(format!("input {x} and weights {w} should have one rank, at least 2")));
    }
    if groups == 0 {
        return Err(Mismatch::new("a convolution has at least one group"));
    }
    Ok((x, w))
}

/// Requires that `groups` divides `d`.
pub(super) fn divides(cx: &mut InferCx, groups: usize, d: &Dim, what: &str) -> Result<(), Mismatch> {
    cx.require(Cmp::Eq, &d.modulo(&Dim::from(groups)), &Dim::from(0), what)
}
