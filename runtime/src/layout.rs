//! How large a value is, from its dims.

use crate::error::{Error, Result};
use crate::expr::Exprs;
use crate::package::Value;

/// Number of elements of a tensor; an error when a dim is negative or the product overflows.
pub(crate) fn element_count(exprs: &mut Exprs, value: &Value, place: impl Fn() -> String) -> Result<u64> {
    let mut count: u64 = 1;
    let mut empty = false;
    for &dim in &value.dims {
        let size = exprs.require(dim, &place)?;
        let size = u64::try_from(size)
            .map_err(|_| Error::Size { place: place(), cause: format!("a dim would be {size}") })?;
        empty |= size == 0;
        // A zero makes the tensor empty however large the other dims are.
        count = count.checked_mul(size.max(1)).ok_or_else(|| too_large(&place))?;
    }
    Ok(if empty { 0 } else { count })
}

/// Bytes of a tensor of plain elements; never more than a signed size can hold.
pub(crate) fn byte_size(exprs: &mut Exprs, value: &Value, place: impl Fn() -> String) -> Result<u64> {
    element_count(exprs, value, &place)?
        .checked_mul(value.dtype.size() as u64)
        .filter(|&bytes| bytes <= isize::MAX as u64)
        .ok_or_else(|| too_large(&place))
}

fn too_large(place: impl Fn() -> String) -> Error {
    Error::Size { place: place(), cause: "the tensor is larger than memory can be".into() }
}
