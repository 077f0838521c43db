//! A fused kernel as an operator of the graph.

use crate::attr::{Attr, AttrError, AttrValue, Attrs};
use crate::graph::Graph;
use crate::kernel::{BufferKind, Kernel};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{Dim, Type};

/// A fused kernel: its inputs are the kernel's input buffers, its outputs the output buffers, in order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KernelOp {
    pub kernel: Kernel,
}

impl KernelOp {
    /// For the generated operator table.
    pub const DOC: &'static str = " A fused kernel: its inputs are the kernel's input buffers, its outputs the output buffers, in order.\n";
}

impl Attrs for KernelOp {
    fn to_attrs(&self) -> Vec<(&'static str, Attr)> {
        vec![("kernel", self.kernel.to_attr())]
    }

    fn from_attrs(given: &[(String, Attr)]) -> Result<Self, AttrError> {
        crate::attr::reject_unknown(given, &["kernel"])?;
        Ok(KernelOp { kernel: crate::attr::take(given, "kernel")? })
    }

    fn map_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim) {
        self.kernel.map_dims(f);
    }

    fn visit_graphs<'a>(&'a self, _f: &mut dyn FnMut(&'a Graph)) {}

    fn visit_graphs_mut<'a>(&'a mut self, _f: &mut dyn FnMut(&'a mut Graph)) {}
}

impl OpDef for KernelOp {
    const NAME: &'static str = "kernel";

    fn arity(&self) -> Arity {
        Arity::exactly(self.kernel.buffers_of(BufferKind::Input).count())
    }

    fn n_outputs(&self) -> usize {
        self.kernel.buffers_of(BufferKind::Output).count()
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        for ((_, buffer), fact) in self.kernel.buffers_of(BufferKind::Input).zip(ins) {
            let t = fact.tensor()?;
            if t.dtype != buffer.ty.dtype {
                return Err(Mismatch::new(format!("kernel expects {}, got {t}", buffer.ty)));
            }
            cx.same_shape(&t.shape, &buffer.ty.shape, "kernel operand")?;
        }
        Ok(self.kernel.buffers_of(BufferKind::Output).map(|(_, b)| b.ty.clone().into()).collect())
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let tensors: Vec<_> = ins.iter().map(|v| v.tensor().clone()).collect();
        let outs = crate::kernel::interpret(&self.kernel, cx, &tensors)?;
        Ok(outs.into_iter().map(Value::Tensor).collect())
    }
}
