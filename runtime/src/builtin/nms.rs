//! Non-maximum suppression: of boxes that overlap much, the one with the best score is kept.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::number::floats;
use super::{Builtin, Routine};
use crate::executor::{Call, Outcome};
use crate::package::DType;

/// ONNX NonMaxSuppression. Arguments: boxes f32[batches, boxes, 4], scores f32[batches, classes, boxes], then optional
/// scalars: most boxes a class (without it, none), highest overlap (0), lowest score (excluded; without it, all).
/// Result: i64[count, 3] of batch, class and box, by batch, class and falling score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NonMaxSuppression {
    /// Boxes are centre x, centre y, width, height, instead of two opposite corners y, x, y, x.
    pub center_point_box: bool,
}

impl Builtin for NonMaxSuppression {
    const NAME: &'static str = "nms";
    const INPUTS: RangeInclusive<usize> = 2..=5;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

/// A box by its lowest and highest corner.
#[derive(Clone, Copy)]
struct Corners {
    low: [f32; 2],
    high: [f32; 2],
}

impl Routine for NonMaxSuppression {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let (boxes, scores) = (call.tensor(0)?, call.tensor(1)?);
        let (&[batches, n, 4], &[score_batches, classes, score_boxes]) = (boxes.shape, scores.shape) else {
            return Err(format!("boxes are {:?} and scores {:?}", boxes.shape, scores.shape).into());
        };
        if (batches, n) != (score_batches, score_boxes) {
            return Err(format!("boxes are {:?} and scores {:?}", boxes.shape, scores.shape).into());
        }
        let scalar = |index| -> Outcome<Option<f32>> {
            Ok(call
                .optional(index)?
                .map(|input| floats(&input))
                .transpose()?
                .and_then(|mut all| all.next())
                .map(|x| x as f32))
        };
        let most = match call.optional(2)? {
            Some(_) => usize::try_from(call.integer(2)?).unwrap_or(0),
            None => 0,
        };
        let overlap_limit = scalar(3)?.unwrap_or(0.0);
        let score_limit = scalar(4)?;
        let boxes: Vec<f32> = floats(&boxes)?.map(|x| x as f32).collect();
        let scores: Vec<f32> = floats(&scores)?.map(|x| x as f32).collect();
        let corners: Vec<Corners> =
            boxes.chunks_exact(4).map(|b| self.corners([b[0], b[1], b[2], b[3]])).collect();

        let n = n as usize;
        let mut kept: Vec<[i64; 3]> = Vec::new();
        for batch in 0..batches as usize {
            let corners = &corners[batch * n..][..n];
            for class in 0..classes as usize {
                let scores = &scores[(batch * classes as usize + class) * n..][..n];
                let chosen = suppress(corners, scores, most, overlap_limit, score_limit);
                kept.extend(chosen.into_iter().map(|at| [batch as i64, class as i64, at as i64]));
            }
        }
        let out = call.output(0, DType::I64, &[kept.len() as i64, 3])?;
        for (to, number) in out.chunks_exact_mut(8).zip(kept.iter().flatten()) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    }
}

impl NonMaxSuppression {
    fn corners(&self, b: [f32; 4]) -> Corners {
        if self.center_point_box {
            let (half_width, half_height) = (b[2] / 2.0, b[3] / 2.0);
            return Corners {
                low: [b[0] - half_width, b[1] - half_height],
                high: [b[0] + half_width, b[1] + half_height],
            };
        }
        Corners { low: [b[0].min(b[2]), b[1].min(b[3])], high: [b[0].max(b[2]), b[1].max(b[3])] }
    }
}

/// The boxes of one class that stay, best first.
fn suppress(
    corners: &[Corners],
    scores: &[f32],
    most: usize,
    overlap_limit: f32,
    score_limit: Option<f32>,
) -> Vec<usize> {
    let mut candidates: Vec<usize> =
        (0..corners.len()).filter(|&at| score_limit.is_none_or(|limit| scores[at] > limit)).collect();
    candidates.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut kept: Vec<usize> = Vec::new();
    for at in candidates {
        if kept.len() == most {
            break;
        }
        if kept.iter().all(|&other| overlap(corners[at], corners[other]) <= overlap_limit) {
            kept.push(at);
        }
    }
    kept
}

/// Intersection over union; 0 for boxes without area.
fn overlap(a: Corners, b: Corners) -> f32 {
    let side = |low: f32, high: f32| (high - low).max(0.0);
    let area = |c: Corners| side(c.low[0], c.high[0]) * side(c.low[1], c.high[1]);
    let common = area(Corners {
        low: [a.low[0].max(b.low[0]), a.low[1].max(b.low[1])],
        high: [a.high[0].min(b.high[0]), a.high[1].min(b.high[1])],
    });
    let (area_a, area_b) = (area(a), area(b));
    if common <= 0.0 || area_a <= 0.0 || area_b <= 0.0 { 0.0 } else { common / (area_a + area_b - common) }
}
