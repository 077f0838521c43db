//! Transposed convolution: the gradient of convolution with respect to its input.

use super::conv::{conv_operands, divides};
use super::sliding::Sliding;
use super::wide::Wide;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Dim, Type};

crate::attrs! {
    /// Every element `x[n, c, i..]` adds `x * w[c, m, k..]` to `y[n, g*M/groups + m, i*stride + k*dilation -
    /// before..]`, where g is the group of c; places outside y are dropped. x: [N, C, spatial..], w: [C, M/groups,
    /// window..], both of one number type; y: [N, M, `(n-1)*stride + output_padding + (k-1)*dilation + 1 - before -
    /// after`..]. Attributes have one entry a spatial axis; negative pads widen. Sums are accumulated wide; integers
    /// wrap.
    pub struct ConvTranspose {
        pub strides: Vec<usize>,
        pub dilations: Vec<usize>,
        pub pads_before: Vec<Dim>,
        pub pads_after: Vec<Dim>,
        pub output_padding: Vec<usize>,
        pub groups: usize,
    }
}

impl ConvTranspose {
    fn sliding(&self) -> Sliding<'_> {
        Sliding {
            strides: &self.strides,
            dilations: &self.dilations,
            before: &self.pads_before,
            after: &self.pads_after,
        }
    }

    fn run<T: Wide>(&self, x: &Tensor, w: &Tensor, before: &[i64], shape: Vec<usize>) -> Tensor {
        let (n, c, per_group) = (x.shape()[0], x.shape()[1], w.shape()[1]);
        let (m, c_per_group) = (per_group * self.groups, c / self.groups);
        let size = |s: &[usize]| s[2..].iter().product::<usize>();
        let (in_size, out_size, taps) = (size(x.shape()), size(&shape), size(w.shape()));
        let (xs, ws) = (T::load(x), T::load(w));
        let mut out = vec![T::ZERO; n * m * out_size];
        // The places of the window are the positions in x; what the window covers are positions in y.
        let (window, places, covered) = (&w.shape()[2..], &x.shape()[2..], &shape[2..]);
        self.sliding().for_each_tap(window, covered, places, before, |tap, runs| {
            for (row, acc) in out.chunks_exact_mut(out_size.max(1)).enumerate() {
                let (image, filter) = (row / m, row % m);
                let (group, column) = (filter / per_group, filter % per_group);
                for ch in group * c_per_group..(group + 1) * c_per_group {
                    let weight = ws[(ch * per_group + column) * taps + tap];
                    let plane = &xs[(image * c + ch) * in_size..][..in_size];
                    for (i, o) in runs.iter().flat_map(|r| r.pairs()) {
                        acc[o] = acc[o].add_product(plane[i], weight);
                    }
                }
            }
        });
        T::store(x.dtype(), shape, out)
    }
}

impl OpDef for ConvTranspose {
    const NAME: &'static str = "conv_transpose";

    fn arity(&self) -> Arity {
        Arity::exactly(2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (x, w) = conv_operands(ins, self.groups)?;
        if self.output_padding.len() != x.rank() - 2 {
            return Err(Mismatch::new("output_padding must have an entry for each spatial axis"));
        }
        cx.same(&x.shape[1], &w.shape[0], "channels of the input differ from those of the weights")?;
        divides(cx, self.groups, &x.shape[1], "channels don't divide into groups")?;
        let mut shape = vec![x.shape[0].clone(), w.shape[1].clone() * Dim::from(self.groups)];
        let (spatial, window) = (&x.shape[2..], &w.shape[2..]);
        shape.extend(self.sliding().transposed_extents(cx, spatial, window, &self.output_padding)?);
        Ok(vec![Type::tensor(x.dtype, shape)])
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (dtype, shape) = cx.out(0)?;
        let (x, w) = (ins[0].tensor(), ins[1].tensor());
        let before = self.sliding().offsets(cx)?;
        let run = if dtype.is_float() { ConvTranspose::run::<f64> } else { ConvTranspose::run::<i64> };
        Ok(vec![run(self, x, w, &before, shape).into()])
    }
}
