//! Non-maximum suppression of boxes.

use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Dim, Type};

crate::attrs! {
    /// For each batch and class, boxes in the order of falling score (of equals the lower index first), without those
    /// whose score isn't above the score threshold and those whose intersection over union with a box already taken
    /// is above the IoU threshold; at most `max_output` of them. Inputs: boxes [batch, n, 4] and scores [batch,
    /// classes, n] of one float type, max_output (one i64), IoU threshold and score threshold (one float each; minus
    /// infinity: no score threshold). Boxes are two opposite corners (y, x, y, x), or with `center_point_box` (x, y,
    /// width, height) around a centre. Output: i64 [m, 3] of (batch, class, box).
    pub struct Nms { pub center_point_box: bool }
}

/// A box as (low, high) on each axis.
type Extent = [(f64, f64); 2];

impl Nms {
    fn extent(&self, b: &[f64]) -> Extent {
        if self.center_point_box {
            let around = |centre: f64, size: f64| (centre - size / 2.0, centre + size / 2.0);
            [around(b[1], b[3]), around(b[0], b[2])]
        } else {
            let ordered = |p: f64, q: f64| if p >= q { (q, p) } else { (p, q) };
            [ordered(b[0], b[2]), ordered(b[1], b[3])]
        }
    }
}

impl OpDef for Nms {
    const NAME: &'static str = "nms";

    fn arity(&self) -> Arity {
        Arity::exactly(5)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (boxes, scores) = (ins[0].tensor()?, ins[1].tensor()?);
        if boxes.rank() != 3 || scores.rank() != 3 || !boxes.dtype.is_float() || scores.dtype != boxes.dtype {
            return Err(Mismatch::new(format!(
                "boxes [batch, n, 4] and scores [batch, classes, n] should be of one float type, are {boxes} and {scores}"
            )));
        }
        cx.same(&boxes.shape[0], &scores.shape[0], "boxes and scores have different batches")?;
        cx.same(&boxes.shape[1], &scores.shape[2], "boxes and scores differ in number")?;
        cx.same(&boxes.shape[2], &Dim::from(4), "a box has 4 coordinates")?;
        super::join::single(cx, &ins[2], DType::I64, "the number of boxes")?;
        super::join::single(cx, &ins[3], boxes.dtype, "the IoU threshold")?;
        super::join::single(cx, &ins[4], boxes.dtype, "the score threshold")?;
        let n = cx.fresh_dim(0, 0, 0, scores.n_elements().upper());
        Ok(vec![Type::tensor(DType::I64, [n, Dim::from(3)])])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let first = |i: usize| ins[i].tensor().floats().first().copied();
        let (max_output, iou, least) = (ins[2].tensor().ints().first().copied(), first(3), first(4));
        let (Some(max_output), Some(iou), Some(least)) = (max_output, iou, least) else {
            return Err(EvalError::new("a threshold has no element"));
        };
        let (boxes, scores) = (ins[0].tensor(), ins[1].tensor());
        let (n, classes) = (boxes.shape()[1], scores.shape()[1]);
        let extents: Vec<Extent> = boxes.floats().chunks_exact(4).map(|b| self.extent(b)).collect();
        let unfiltered = least == f64::NEG_INFINITY;
        let mut found: Vec<[usize; 3]> = Vec::new();
        for (row, scores) in scores.floats().chunks_exact(n.max(1)).enumerate() {
            let (batch, class) = (row / classes, row % classes);
            let extent = |i: usize| extents[batch * n + i];
            let mut order: Vec<usize> = (0..n).filter(|i| unfiltered || scores[*i] > least).collect();
            order.sort_by(|a, b| scores[*b].partial_cmp(&scores[*a]).unwrap_or(std::cmp::Ordering::Equal));
            let mut taken: Vec<usize> = Vec::new();
            for i in order {
                if taken.len() as i128 >= max_output {
                    break;
                }
                if taken.iter().all(|t| overlap(extent(i), extent(*t)) <= iou) {
                    taken.push(i);
                }
            }
            found.extend(taken.into_iter().map(|i| [batch, class, i]));
        }
        let elems = found.iter().flatten().map(|v| *v as i128);
        Ok(vec![Tensor::from_ints(DType::I64, vec![found.len(), 3], elems).into()])
    }
}

/// Intersection over union; minus infinity where there is no proper intersection, which never suppresses.
fn overlap(a: Extent, b: Extent) -> f64 {
    let area = |e: Extent| (e[0].1 - e[0].0) * (e[1].1 - e[1].0);
    let common = [0, 1].map(|k| (a[k].0.max(b[k].0), a[k].1.min(b[k].1)));
    let (area_a, area_b) = (area(a), area(b));
    let proper = |e: Extent| e.iter().all(|(lo, hi)| hi > lo);
    if !proper(common) || area_a <= 0.0 || area_b <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let shared = area(common);
    shared / (area_a + area_b - shared)
}
