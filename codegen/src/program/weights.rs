//! Constant tensors as they lie in a package: each once, 64-byte aligned.

use indexmap::IndexMap;
use std::io::{self, Write};
use tcc_ir::Tensor;

/// The weights of a package, in the order of their offsets.
#[derive(Default)]
pub struct Weights {
    placed: IndexMap<Tensor, u64>,
    end: u64,
}

const ALIGN: u64 = 64;

impl Weights {
    /// The offset of a tensor's bytes.
    pub fn place(&mut self, tensor: &Tensor) -> u64 {
        if let Some(at) = self.placed.get(tensor) {
            return *at;
        }
        let at = self.end.next_multiple_of(ALIGN);
        self.end = at + tensor.bytes().len() as u64;
        self.placed.insert(tensor.clone(), at);
        at
    }

    pub fn n_bytes(&self) -> u64 {
        self.end
    }

    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut at = 0;
        for (tensor, offset) in &self.placed {
            out.write_all(&vec![0; (offset - at) as usize])?;
            out.write_all(tensor.bytes())?;
            at = offset + tensor.bytes().len() as u64;
        }
        Ok(())
    }
}
