//! Whether symbolic elements are those that a tensor holds: arithmetic on elements wraps, that on sizes doesn't.

use super::{Graph, SymbolSource};
use crate::types::{DType, Dim};

impl Graph {
    /// The elements as a tensor of this type holds them: constants are wrapped. None where others may have to be, or
    /// where that can't be told: then they are data, which the operator computes.
    pub(super) fn held(&self, dtype: DType, elems: Vec<Dim>) -> Option<Vec<Dim>> {
        elems.into_iter().map(|d| self.held_element(dtype, d)).collect()
    }

    fn held_element(&self, dtype: DType, d: Dim) -> Option<Dim> {
        if let Some(v) = d.as_const() {
            return i64::try_from(dtype.wrap_int(v.into())).ok().map(Dim::from);
        }
        let (least, most) = dtype.int_range()?;
        let (lo, hi) = d.bounds();
        let above = lo.is_some_and(|lo| i128::from(lo) >= least);
        let below = hi.is_some_and(|hi| i128::from(hi) <= most);
        if d.overflows() {
            None
        } else if above && below {
            Some(d)
        } else {
            let size = (above || dtype.is_signed_int()) && self.is_size(dtype, &d);
            size.then_some(d)
        }
    }

    /// Whether it is as sizes are, which 32 bits are taken to hold: no extent times a number that leaves it no room,
    /// nothing read from a tensor of 32 bits, whose values needn't be sizes.
    fn is_size(&self, dtype: DType, d: &Dim) -> bool {
        let bits = dtype.bits();
        let mut size = bits >= 32 && d.terms().all(|(c, _)| c.unsigned_abs() < 1 << (bits / 4 * 3));
        if bits == 32 {
            d.visit_symbols(&mut |s| {
                size &= s.lo >= 0 && !matches!(self.symbol_source(s), Some(SymbolSource::Elem { .. }));
            });
        }
        size
    }
}

/// Bounds of what is read from a tensor. Those of 64 bits leave room for arithmetic; the run checks them.
pub(super) fn element_bounds(dtype: DType) -> (i64, Option<i64>) {
    match dtype.int_range() {
        Some((lo, hi)) if dtype.bits() < 64 => (lo as i64, Some(hi as i64)),
        Some((0, _)) => (0, None),
        _ => (i64::MIN / 4, None),
    }
}
