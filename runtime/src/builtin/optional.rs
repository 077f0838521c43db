//! Optional values.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Builtin, Routine};
use crate::executor::{Call, Outcome};
use crate::object::Object;
use crate::package::DType;

/// ONNX Optional. Argument: a tensor or sequence, or none. Result: the optional.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptionalWrap {}

/// Argument: anything, or none. Result: bool scalar, false for an empty optional or no argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptionalHasElement {}

/// Argument: an optional, or a tensor or sequence that is passed on. Result: what it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptionalGetElement {}

impl Builtin for OptionalWrap {
    const NAME: &'static str = "optional_wrap";
    const INPUTS: RangeInclusive<usize> = 0..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Builtin for OptionalHasElement {
    const NAME: &'static str = "optional_has_element";
    const INPUTS: RangeInclusive<usize> = 0..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Builtin for OptionalGetElement {
    const NAME: &'static str = "optional_get_element";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Routine for OptionalWrap {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let inner = element(call)?;
        call.set(0, Object::Optional(inner.map(Box::new)))
    }
}

impl Routine for OptionalHasElement {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let is_there = match call.object(0) {
            Some(Object::Optional(inner)) => inner.is_some(),
            Some(_) => true,
            None => call.optional(0)?.is_some(),
        };
        call.output(0, DType::Bool, &[])?.copy_from_slice(&[is_there.into()]);
        Ok(())
    }
}

impl Routine for OptionalGetElement {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let inner = match call.object(0) {
            Some(Object::Optional(inner)) => inner.as_deref().cloned(),
            _ => element(call)?,
        };
        call.set(0, inner.ok_or("the optional is empty")?)
    }
}

/// The first argument, if there is one.
fn element(call: &Call<'_>) -> Outcome<Option<Object>> {
    if let Some(object) = call.object(0) {
        return Ok(Some(object.clone()));
    }
    match call.optional(0)? {
        Some(_) => Ok(Some(Object::Tensor(call.owned(0)?))),
        None => Ok(None),
    }
}
