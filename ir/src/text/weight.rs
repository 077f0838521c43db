//! References to constants whose data stands outside the text.

use crate::tensor::Tensor;
use crate::types::DType;
use xxhash_rust::xxh3::Xxh3;

/// What the text says of a constant that it doesn't contain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WeightRef {
    /// The name after `@`.
    pub label: String,
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// [`content_hash`] of the data, where the text states it.
    pub hash: Option<u64>,
}

impl WeightRef {
    /// Whether `tensor` is what the reference means. Err says what differs.
    pub(super) fn accept(&self, tensor: &Tensor) -> Result<(), String> {
        if tensor.dtype() != self.dtype || tensor.shape() != self.shape {
            return Err(format!(
                "the data of @{} is {}, not what stands here",
                self.label,
                tensor.tensor_type()
            ));
        }
        match self.hash {
            Some(hash) if hash != content_hash(tensor) => {
                Err(format!("the data of @{} has another content hash", self.label))
            }
            _ => Ok(()),
        }
    }
}

/// A hash of a tensor's elements that is the same on every machine and in every version of the text form.
pub fn content_hash(tensor: &Tensor) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(tensor.bytes());
    for s in tensor.strings() {
        hasher.update(&(s.len() as u64).to_le_bytes());
        hasher.update(s.as_bytes());
    }
    hasher.digest()
}
