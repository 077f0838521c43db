//! Kinds of memory, and how memref types tell each target which one is meant.

use crate::target::Arch;
use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Operands.
    Buffer,
    /// What the threads of a work-group share; on GPUs only.
    Shared,
    /// A thread's own.
    Private,
}

impl Space {
    /// The type of a memref of `n` elements, or of an unknown number of them.
    pub fn memref(self, arch: Arch, n: Option<i64>, elem: impl fmt::Display) -> String {
        let n = n.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let space = match (arch, self) {
            (Arch::Spirv, Space::Buffer) => ", #spirv.storage_class<StorageBuffer>",
            (Arch::Spirv, Space::Shared) => ", #spirv.storage_class<Workgroup>",
            (Arch::Spirv, Space::Private) => ", #spirv.storage_class<Function>",
            (Arch::Nvptx, Space::Shared) => ", 3",
            _ => "",
        };
        format!("memref<{n}x{elem}{space}>")
    }
}
