//! The copy of a package's weights on a device, in blocks that every device can have.

use std::ops::Range;

use super::gpu::Gpu;
use super::memory::Block;
use crate::buffer::ALIGN;
use crate::error::Result;
use crate::executor::device::Home;
use crate::expr::Exprs;
use crate::layout::byte_size;
use crate::package::{Manifest, Storage};

/// The largest block that all devices of Vulkan 1.2 can allocate (`maxMemoryAllocationSize`). A larger value is tried all
/// the same.
const BLOCK_BYTES: usize = 1 << 30;

/// Blocks with the addresses on the host that they are copies of. Their owner destroys them.
#[derive(Default)]
pub(super) struct Weights(Vec<(usize, Block)>);

impl Weights {
    /// Copies the weights to the device. What was made before an error stays, to be destroyed.
    pub fn load(&mut self, gpu: &Gpu, manifest: &Manifest, weights: &[u8]) -> Result<()> {
        for range in cut(values(manifest)?, BLOCK_BYTES) {
            let Some(bytes) = weights.get(range).filter(|bytes| !bytes.is_empty()) else { continue };
            // Whole words, since kernels may read them.
            let size = bytes.len().next_multiple_of(ALIGN);
            let block = Block::new(gpu, size, Home::Device, "the weights")?;
            // SAFETY: the block is large enough, new, and mapped; its end is zeroed.
            unsafe {
                block.start.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                block.start.as_ptr().add(bytes.len()).write_bytes(0, size - bytes.len());
            }
            self.0.push((bytes.as_ptr() as usize, block));
        }
        Ok(())
    }

    /// The block that has the weight at an address of the host, and how far in.
    pub fn find(&self, address: usize) -> Option<(&Block, usize)> {
        // In ascending order, as they were made.
        let (start, block) = self.0[..self.0.partition_point(|(start, _)| *start <= address)].last()?;
        Some((block, address - start)).filter(|(block, offset)| *offset < block.bytes)
    }

    /// # Safety
    /// The device must not use the weights now or later.
    pub unsafe fn destroy(&mut self, gpu: &Gpu) {
        for (_, block) in self.0.drain(..) {
            // SAFETY: as above.
            unsafe { block.destroy(gpu) };
        }
    }
}

/// Where the values are, in ascending order.
fn values(manifest: &Manifest) -> Result<Vec<Range<usize>>> {
    let mut exprs = Exprs::new(manifest);
    let mut ranges = Vec::new();
    for value in &manifest.values {
        if let Storage::Weight { offset } = value.storage {
            let bytes = byte_size(&mut exprs, value, || value.name.clone())?;
            ranges.push(offset as usize..(offset + bytes) as usize);
        }
    }
    ranges.sort_by_key(|range| (range.start, range.end));
    Ok(ranges)
}

/// Joins neighbours as far as they fit in `limit` bytes. No value is cut, so those that overlap stay together.
fn cut(values: Vec<Range<usize>>, limit: usize) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for value in values {
        match joined.last_mut() {
            Some(last) if value.start < last.end || value.end - last.start <= limit => {
                last.end = last.end.max(value.end);
            }
            _ => joined.push(value),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_never_cut() {
        let values = vec![0..64, 64..128, 64..192, 192..200, 256..2000, 2048..2049, 2048..2050];
        assert_eq!(cut(values, 200), [0..200, 256..2000, 2048..2050]);
        assert_eq!(cut(vec![], 200), []);
    }
}
