//! Reductions over a sliding window: pooling.

use super::reduce::ReduceKind;
use super::sliding::Sliding;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Dim, Type};

crate::attr_enum! {
    /// What is computed over each place of the window.
    pub enum WindowKind {
        /// NaN if any element is NaN; without elements the smallest value (minus infinity).
        Max = "max",
        /// Without elements 0.
        Sum = "sum",
        /// Where the maximum is: i64 position, row-major over the windowed axes of the input; the first of equals;
        /// NaN is largest; without elements 0.
        ArgMax = "arg_max",
    }
}

crate::attrs! {
    /// `kind` over each place of a window that slides over the trailing axes of x, one entry of each attribute a
    /// windowed axis. Places outside x contribute nothing; negative pads crop. Windowed extents become
    /// `floor((n + before + after - ((w-1)*dilation + 1)) / stride) + 1`. Floats are accumulated wide, integers wrap.
    pub struct Window {
        pub kind: WindowKind,
        pub window: Vec<usize>,
        pub strides: Vec<usize>,
        pub dilations: Vec<usize>,
        pub pads_before: Vec<Dim>,
        pub pads_after: Vec<Dim>,
    }
}

impl Window {
    fn sliding(&self) -> Sliding<'_> {
        Sliding {
            strides: &self.strides,
            dilations: &self.dilations,
            before: &self.pads_before,
            after: &self.pads_after,
        }
    }

    fn reduce(&self) -> ReduceKind {
        match self.kind {
            WindowKind::Sum => ReduceKind::Sum,
            WindowKind::Max | WindowKind::ArgMax => ReduceKind::Max,
        }
    }

    /// Folds every place of the window with `step(acc, element, position)`.
    fn fold<T: Copy, A: Copy>(
        &self,
        x: (&[T], &[usize]),
        places: &[usize],
        before: &[i64],
        init: A,
        step: impl Fn(A, T, usize) -> A,
    ) -> Vec<A> {
        let (elems, shape) = x;
        let lead = shape.len() - self.window.len();
        let planes: usize = shape[..lead].iter().product();
        let (in_size, out_size): (usize, usize) = (shape[lead..].iter().product(), places.iter().product());
        let mut out = vec![init; planes * out_size];
        self.sliding().for_each_tap(&self.window, &shape[lead..], places, before, |_, runs| {
            for p in 0..planes {
                for (o, i) in runs.iter().flat_map(|r| r.pairs()) {
                    let slot = &mut out[p * out_size + o];
                    *slot = step(*slot, elems[p * in_size + i], i);
                }
            }
        });
        out
    }
}

impl OpDef for Window {
    const NAME: &'static str = "window";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        self.reduce().check(x.dtype)?;
        let Some(lead) = x.rank().checked_sub(self.window.len()) else {
            return Err(Mismatch::new(format!("a window over {} axes on {x}", self.window.len())));
        };
        let window: Vec<Dim> = self.window.iter().map(|w| Dim::from(*w)).collect();
        let mut shape = x.shape[..lead].to_vec();
        shape.extend(self.sliding().out_extents(cx, &x.shape[lead..], &window)?);
        Ok(vec![Type::tensor(if self.kind == WindowKind::ArgMax { DType::I64 } else { x.dtype }, shape)])
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (dtype, shape) = cx.out(0)?;
        let x = ins[0].tensor();
        let before = self.sliding().offsets(cx)?;
        let places = &shape[shape.len() - self.window.len()..];
        let reduce = self.reduce();
        let f = reduce.binary();
        let none: Option<(f64, usize)> = None;
        let found = match (self.kind, x.dtype().is_float()) {
            (WindowKind::ArgMax, true) => {
                let best =
                    self.fold((&x.floats(), x.shape()), places, &before, none, |acc, v, i| match acc {
                        Some((b, _)) if !(v > b || (v.is_nan() && !b.is_nan())) => acc,
                        _ => Some((v, i)),
                    });
                positions(shape, best)
            }
            (WindowKind::ArgMax, false) => {
                let best = self.fold((&x.ints(), x.shape()), places, &before, None, |acc, v, i| match acc {
                    Some((b, _)) if v <= b => acc,
                    _ => Some((v, i)),
                });
                positions(shape, best)
            }
            (WindowKind::Max | WindowKind::Sum, true) => {
                let init = reduce.float_identity();
                let out = self.fold((&x.floats(), x.shape()), places, &before, init, |a, v, _| f.float(a, v));
                Tensor::from_floats(dtype, shape, out)
            }
            (WindowKind::Max | WindowKind::Sum, false) => {
                let init = reduce.int_identity(dtype);
                let step = |a, v, _| dtype.wrap_int(f.int(dtype, a, v));
                let out = self.fold((&x.ints(), x.shape()), places, &before, init, step);
                Tensor::from_ints(dtype, shape, out)
            }
        };
        Ok(vec![found.into()])
    }
}

fn positions<T>(shape: Vec<usize>, best: Vec<Option<(T, usize)>>) -> Tensor {
    let at = best.into_iter().map(|b| b.map_or(0, |(_, i)| i as i128));
    Tensor::from_ints(DType::I64, shape, at)
}
