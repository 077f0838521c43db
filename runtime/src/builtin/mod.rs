//! Routines of the runtime's own library: operators whose result sizes depend on data, or that work on strings,
//! sequences and optionals. Each is a struct of attributes, which the compiler fills and serialises, with a `run`.

mod broadcast;
mod compress;
mod label_encoder;
mod nms;
mod nonzero;
mod number;
mod optional;
mod order;
mod random;
mod regex;
mod regex_full_match;
mod sequence;
mod string_cast;
mod string_concat;
mod string_equal;
mod string_normalizer;
mod string_split;
mod string_take;
mod tfidf;
mod topk;
mod unique;

use std::ops::RangeInclusive;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::executor::{Call, Outcome};
use crate::package::{BuiltinStep, Manifest, Step, SymbolId, ValueId};

pub use compress::Compress;
pub use label_encoder::{LabelEncoder, Labels};
pub use nms::NonMaxSuppression;
pub use nonzero::NonZero;
pub(crate) use number::integers;
pub use optional::{OptionalGetElement, OptionalHasElement, OptionalWrap};
pub use random::{Bernoulli, Multinomial, RandomNormal, RandomUniform};
pub use regex_full_match::RegexFullMatch;
pub use sequence::{
    ConcatFromSequence, SequenceAt, SequenceConstruct, SequenceEmpty, SequenceErase, SequenceInsert,
    SequenceLength, SplitToSequence,
};
pub use string_cast::{NumberToString, StringToNumber};
pub use string_concat::StringConcat;
pub use string_equal::StringEqual;
pub use string_normalizer::{CaseChange, StringNormalizer};
pub use string_split::StringSplit;
pub use string_take::{StringGather, StringTake};
pub use tfidf::{Pool as TfIdfPool, TfIdfMode, TfIdfVectorizer};
pub use topk::{Sort, TopK};
pub use unique::Unique;

/// Attributes of a built-in routine.
pub trait Builtin: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The routine's name in packages.
    const NAME: &'static str;
    /// Fewest and most arguments.
    const INPUTS: RangeInclusive<usize>;
    /// Fewest and most results.
    const OUTPUTS: RangeInclusive<usize>;
}

/// What a routine does.
pub(crate) trait Routine: Send + Sync {
    fn run(&self, call: &mut Call<'_>) -> Outcome;

    /// Bytes of scratch for arguments of these element counts, as far as they are known.
    fn scratch(&self, _inputs: &[Option<u64>]) -> u64 {
        0
    }
}

/// One row of the table of routines.
struct Entry {
    name: &'static str,
    inputs: RangeInclusive<usize>,
    outputs: RangeInclusive<usize>,
    decode: fn(&[u8]) -> Option<Box<dyn Routine>>,
}

const fn entry<T: Builtin + Routine>() -> Entry {
    Entry {
        name: T::NAME,
        inputs: T::INPUTS,
        outputs: T::OUTPUTS,
        decode: |attrs| match postcard::take_from_bytes::<T>(attrs) {
            Ok((routine, [])) => Some(Box::new(routine)),
            _ => None,
        },
    }
}

/// All routines.
const TABLE: &[Entry] = &[
    entry::<Bernoulli>(),
    entry::<Compress>(),
    entry::<ConcatFromSequence>(),
    entry::<LabelEncoder>(),
    entry::<Multinomial>(),
    entry::<NonMaxSuppression>(),
    entry::<NonZero>(),
    entry::<NumberToString>(),
    entry::<OptionalGetElement>(),
    entry::<OptionalHasElement>(),
    entry::<OptionalWrap>(),
    entry::<RandomNormal>(),
    entry::<RandomUniform>(),
    entry::<RegexFullMatch>(),
    entry::<SequenceAt>(),
    entry::<SequenceConstruct>(),
    entry::<SequenceEmpty>(),
    entry::<SequenceErase>(),
    entry::<SequenceInsert>(),
    entry::<SequenceLength>(),
    entry::<Sort>(),
    entry::<SplitToSequence>(),
    entry::<StringConcat>(),
    entry::<StringEqual>(),
    entry::<StringGather>(),
    entry::<StringNormalizer>(),
    entry::<StringSplit>(),
    entry::<StringTake>(),
    entry::<StringToNumber>(),
    entry::<TfIdfVectorizer>(),
    entry::<TopK>(),
    entry::<Unique>(),
];

/// A step that calls a routine. `source` names the model's node; `sets` are the late symbols among the results' dims.
pub fn step<T: Builtin>(
    routine: &T,
    source: String,
    inputs: Vec<Option<ValueId>>,
    outputs: Vec<Option<ValueId>>,
    sets: Vec<SymbolId>,
) -> Step {
    let attrs = postcard::to_allocvec(routine).expect("attributes are plain data, which always serialises");
    Step::Builtin(BuiltinStep { op: T::NAME.into(), attrs, source, inputs, outputs, sets })
}

/// Finds a step's routine and decodes its attributes.
pub(crate) fn prepare(_manifest: &Manifest, step: &BuiltinStep) -> Result<Box<dyn Routine>> {
    let fail = |cause: String| Error::invalid(format!("{} ({})", step.source, step.op), cause);
    let entry = TABLE.iter().find(|entry| entry.name == step.op);
    let entry = entry.ok_or_else(|| fail("this runtime has no such routine".into()))?;
    for (what, count, range) in
        [("arguments", step.inputs.len(), &entry.inputs), ("results", step.outputs.len(), &entry.outputs)]
    {
        if !range.contains(&count) {
            return Err(fail(format!("it has {count} {what}, the routine takes {range:?}")));
        }
    }
    (entry.decode)(&step.attrs).ok_or_else(|| fail("its attributes can't be decoded".into()))
}

/// An axis counted from either end.
fn resolve_axis(axis: i64, rank: usize) -> Outcome<usize> {
    let from_front = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let axis_in_range = from_front.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank);
    axis_in_range.ok_or_else(|| format!("axis {axis} doesn't exist in {rank} dims").into())
}

/// Elements before, along and after an axis.
fn split_at_axis(shape: &[i64], axis: usize) -> (usize, usize, usize) {
    let product = |dims: &[i64]| dims.iter().product::<i64>() as usize;
    (product(&shape[..axis]), shape[axis] as usize, product(&shape[axis + 1..]))
}
