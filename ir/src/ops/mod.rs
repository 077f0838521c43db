//! The operator table: the only list of operators. One file each.

mod arg_reduce;
mod assemble;
mod binary;
mod bitcast;
mod broadcast_op;
mod cast;
mod compare;
mod concat;
mod constant;
mod contract;
mod conv;
mod conv_transpose;
mod cumulative;
mod gather;
mod gather_elements;
mod gather_nd;
mod if_op;
mod indexing;
mod iota;
mod join;
mod kernel;
mod label_encoder;
mod lanes;
mod loop_op;
mod markdown;
mod nms;
mod non_zero;
mod optional;
mod pad;
mod random;
mod reduce;
mod reshape;
mod scatter;
mod scatter_elements;
mod scatter_nd;
mod select;
mod sequence;
mod sequence_tensor;
mod sizes;
mod slice;
mod sliding;
mod string_normalizer;
mod string_ops;
mod string_split;
mod tf_idf;
mod top_k;
mod transpose;
mod unary;
mod unique;
mod wide;
mod window;

#[cfg(test)]
mod tests;

pub mod broadcast;
pub mod scalar;

pub use arg_reduce::{ArgKind, ArgReduce};
pub use binary::Binary;
pub use bitcast::Bitcast;
pub use broadcast_op::Broadcast;
pub use cast::Cast;
pub use compare::Compare;
pub use concat::Concat;
pub use constant::Constant;
pub use contract::Contract;
pub use conv::Conv;
pub use conv_transpose::ConvTranspose;
pub use cumulative::{Cumulative, CumulativeKind};
pub use gather::Gather;
pub use gather_elements::GatherElements;
pub use gather_nd::GatherNd;
pub use if_op::If;
pub use iota::Iota;
pub(crate) use join::is_varying;
pub use join::{join, join_elements, varying};
pub use kernel::KernelOp;
pub use label_encoder::LabelEncoder;
pub use loop_op::Loop;
pub use markdown::markdown;
pub use nms::Nms;
pub use non_zero::NonZero;
pub use optional::{OptionalGet, OptionalHas, OptionalNone, OptionalSome};
pub use pad::{Pad, PadMode};
pub use random::{Random, RandomKind};
pub use reduce::{Reduce, ReduceKind};
pub use reshape::Reshape;
pub use scalar::{BinaryKind, UnaryKind};
pub use scatter_elements::ScatterElements;
pub use scatter_nd::ScatterNd;
pub use select::Select;
pub use sequence::{
    SequenceAt, SequenceConstruct, SequenceEmpty, SequenceErase, SequenceInsert, SequenceLength,
};
pub use sequence_tensor::{ConcatFromSequence, SplitToSequence};
pub use sizes::Sizes;
pub use slice::Slice;
pub use string_normalizer::{CaseChange, StringNormalizer};
pub use string_ops::{RegexFullMatch, StringConcat};
pub use string_split::StringSplit;
pub use tf_idf::{TfIdf, TfIdfMode};
pub use top_k::TopK;
pub use transpose::Transpose;
pub use unary::Unary;
pub use unique::Unique;
pub use window::{Window, WindowKind};

use crate::attr::{Attr, AttrError, Attrs};
use crate::graph::Graph;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{Dim, TensorType, Type};

macro_rules! ops {
    ($($op:ident),* $(,)?) => {
        /// An operator with its attributes.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Op { $($op($op)),* }

        $(impl From<$op> for Op {
            fn from(op: $op) -> Op { Op::$op(op) }
        })*

        /// What the generated documentation says of an operator.
        pub struct OpInfo {
            pub name: &'static str,
            pub doc: &'static str,
        }

        /// Every operator, in the order of the table.
        pub const ALL: &[OpInfo] = &[$(OpInfo { name: <$op as OpDef>::NAME, doc: $op::DOC }),*];

        impl Op {
            pub fn name(&self) -> &'static str {
                match self { $(Op::$op(_) => <$op as OpDef>::NAME),* }
            }
            pub fn arity(&self) -> Arity {
                match self { $(Op::$op(op) => op.arity()),* }
            }
            pub fn n_outputs(&self) -> usize {
                match self { $(Op::$op(op) => op.n_outputs()),* }
            }
            pub fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
                match self { $(Op::$op(op) => op.infer(cx, ins)),* }
            }
            pub fn elems(&self, ins: &[Fact], out: &TensorType) -> Option<Vec<Dim>> {
                match self { $(Op::$op(op) => op.elems(ins, out)),* }
            }
            pub fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
                match self { $(Op::$op(op) => op.eval(cx, ins)),* }
            }
            pub fn is_elementwise(&self) -> bool {
                match self { $(Op::$op(op) => op.is_elementwise()),* }
            }
            pub fn is_random(&self) -> bool {
                match self { $(Op::$op(op) => op.is_random()),* }
            }
            pub fn to_attrs(&self) -> Vec<(&'static str, Attr)> {
                match self { $(Op::$op(op) => op.to_attrs()),* }
            }
            pub fn map_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim) {
                match self { $(Op::$op(op) => op.map_dims(f)),* }
            }
            pub fn visit_graphs<'a>(&'a self, f: &mut dyn FnMut(&'a Graph)) {
                match self { $(Op::$op(op) => op.visit_graphs(f)),* }
            }
            pub fn visit_graphs_mut<'a>(&'a mut self, f: &mut dyn FnMut(&'a mut Graph)) {
                match self { $(Op::$op(op) => op.visit_graphs_mut(f)),* }
            }
            /// The operator of that name with the given attributes; None when there is no such name.
            pub fn from_attrs(name: &str, given: &[(String, Attr)]) -> Option<Result<Op, AttrError>> {
                $(if name == <$op as OpDef>::NAME {
                    return Some(<$op as Attrs>::from_attrs(given).map(Op::from));
                })*
                None
            }
        }
    };
}

ops! {
    Constant,
    Sizes,
    Unary,
    Binary,
    Compare,
    Select,
    Cast,
    Bitcast,
    Reshape,
    Broadcast,
    Transpose,
    Slice,
    Pad,
    Concat,
    Gather,
    GatherElements,
    GatherNd,
    ScatterElements,
    ScatterNd,
    Iota,
    KernelOp,
    Reduce, ArgReduce, Contract, Conv, ConvTranspose, Window, Cumulative, TopK, NonZero,
    Unique, Nms, Random, If, Loop,
    SequenceConstruct, SequenceEmpty, SequenceInsert, SequenceErase, SequenceAt, SequenceLength,
    ConcatFromSequence, SplitToSequence, OptionalNone, OptionalSome, OptionalGet, OptionalHas,
    StringConcat, StringSplit, StringNormalizer, RegexFullMatch, TfIdf, LabelEncoder,
}
