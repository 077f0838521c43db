//! Blocks of device memory that the host has mapped, found by their address on the host.

use std::collections::BTreeMap;
use std::ptr::NonNull;

use ash::vk;

use super::gpu::Gpu;
use crate::error::{Error, Result};
use crate::executor::device::Home;

use vk::MemoryPropertyFlags as Kind;

/// A buffer with memory of its own. Its owner destroys it.
pub(super) struct Block {
    pub buffer: vk::Buffer,
    pub bytes: usize,
    memory: vk::DeviceMemory,
    /// Where the host sees it.
    pub start: NonNull<u8>,
}

// SAFETY: a block owns its memory, like a Vec.
unsafe impl Send for Block {}
// SAFETY: shared references give no access to the memory but by raw pointer.
unsafe impl Sync for Block {}

impl Block {
    /// Takes memory near its user, and maps it. It isn't zeroed.
    pub fn new(gpu: &Gpu, bytes: usize, home: Home, place: &str) -> Result<Block> {
        let no_memory = |_| Error::Memory { place: format!("{place} on {}", gpu.name), bytes: bytes as u64 };
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default().size(bytes as u64).usage(usage);
        // SAFETY: the info is complete; the size isn't zero.
        let buffer = unsafe { gpu.handle.create_buffer(&info, None) }.map_err(no_memory)?;
        match take_memory(gpu, buffer, home) {
            Ok((memory, start)) => Ok(Block { buffer, bytes, memory, start }),
            Err(error) => {
                // SAFETY: the buffer was just made and nobody uses it.
                unsafe { gpu.handle.destroy_buffer(buffer, None) };
                Err(no_memory(error))
            }
        }
    }

    /// # Safety
    /// Neither the device nor the host may use the block now or later.
    pub unsafe fn destroy(self, gpu: &Gpu) {
        // SAFETY: both are of this device and, by the caller's promise, unused. Freeing unmaps.
        unsafe {
            gpu.handle.destroy_buffer(self.buffer, None);
            gpu.handle.free_memory(self.memory, None);
        }
    }
}

/// Memory for a buffer, bound and mapped: of the first kind in order of preference that isn't exhausted.
fn take_memory(
    gpu: &Gpu,
    buffer: vk::Buffer,
    home: Home,
) -> std::result::Result<(vk::DeviceMemory, NonNull<u8>), vk::Result> {
    // SAFETY: the buffer is of this device.
    let needs = unsafe { gpu.handle.get_buffer_memory_requirements(buffer) };
    let mut last = vk::Result::ERROR_FEATURE_NOT_PRESENT;
    for index in preference(&gpu.memory, needs.memory_type_bits, home) {
        let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(index);
        // SAFETY: the size and the type are those that the buffer needs.
        let memory = match unsafe { gpu.handle.allocate_memory(&info, None) } {
            Ok(memory) => memory,
            Err(error) => {
                last = error;
                continue;
            }
        };
        // SAFETY: the memory is new, large enough, of a kind that the host sees, and mapped once.
        let mapped = unsafe {
            gpu.handle
                .bind_buffer_memory(buffer, memory, 0)
                .and_then(|()| gpu.handle.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()))
        };
        let error = match mapped.map(|start| NonNull::new(start.cast())) {
            Ok(Some(start)) => return Ok((memory, start)),
            Ok(None) => vk::Result::ERROR_MEMORY_MAP_FAILED,
            Err(error) => error,
        };
        // SAFETY: nobody uses the memory; the buffer that it may be bound to is destroyed by the caller.
        unsafe { gpu.handle.free_memory(memory, None) };
        // A buffer can be bound once: there is no second try.
        return Err(error);
    }
    Err(last)
}

/// The types of memory to try, best first. All are seen by the host without flushing.
fn preference(memory: &vk::PhysicalDeviceMemoryProperties, allowed: u32, home: Home) -> Vec<u32> {
    let wanted = match home {
        Home::Device => Kind::DEVICE_LOCAL,
        Home::Host => Kind::HOST_CACHED,
    };
    let mut types: Vec<u32> = (0..memory.memory_type_count)
        .filter(|&at| allowed & (1 << at) != 0)
        .filter(|&at| {
            let flags = memory.memory_types[at as usize].property_flags;
            flags.contains(Kind::HOST_VISIBLE | Kind::HOST_COHERENT)
        })
        .collect();
    types.sort_by_key(|&at| !memory.memory_types[at as usize].property_flags.contains(wanted));
    types
}

/// Blocks by the address at which the host sees them.
#[derive(Default)]
pub(super) struct Blocks(BTreeMap<usize, Block>);

impl Blocks {
    pub fn insert(&mut self, block: Block) {
        self.0.insert(block.start.as_ptr() as usize, block);
    }

    pub fn remove(&mut self, start: NonNull<u8>) -> Option<Block> {
        self.0.remove(&(start.as_ptr() as usize))
    }

    /// The block that an address is in, and how far.
    pub fn find(&self, address: usize) -> Option<(&Block, usize)> {
        let (start, block) = self.0.range(..=address).next_back()?;
        let offset = address - start;
        (offset < block.bytes).then_some((block, offset))
    }

    /// Any block at all.
    pub fn drain(&mut self) -> impl Iterator<Item = Block> {
        std::mem::take(&mut self.0).into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_near_its_user_comes_first() {
        let mut memory = vk::PhysicalDeviceMemoryProperties { memory_type_count: 4, ..Default::default() };
        let host = Kind::HOST_VISIBLE | Kind::HOST_COHERENT;
        let kinds = [Kind::DEVICE_LOCAL, host, host | Kind::HOST_CACHED, host | Kind::DEVICE_LOCAL];
        for (entry, flags) in memory.memory_types.iter_mut().zip(kinds) {
            entry.property_flags = flags;
        }
        assert_eq!(preference(&memory, 0b1111, Home::Device), [3, 1, 2]);
        assert_eq!(preference(&memory, 0b1111, Home::Host), [2, 1, 3]);
        assert_eq!(preference(&memory, 0b0011, Home::Host), [1]);
    }
}
