//! Launches between two waits, recorded into one command buffer.

use ash::vk;

use super::gpu::Gpu;
use super::kernels::{EXTRA_BINDINGS, Pipeline};
use super::memory::{Block, Blocks};
use super::session::{Loaded, kernel_fault};
use crate::error::{Error, Result};
use crate::executor::device::{Home, Launch};
use crate::memory::Place;
use crate::package::KernelId;

/// Launches in one command buffer; more are executed in turns.
const MAX_LAUNCHES: usize = 512;
/// Bytes of arguments that are taken at first.
const ARGUMENT_BYTES: usize = 1 << 16;
/// Groups in one dimension: all that Vulkan guarantees. Kernels count on this number.
const MAX_GROUPS: i64 = 65535;

/// A command buffer with the arguments of its launches.
pub(super) struct Recording {
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    fence: vk::Fence,
    sets: vk::DescriptorPool,
    /// Parameters and faults of the launches, and copies of values at places that the device can't bind.
    arguments: Block,
    used: usize,
    launches: Vec<Recorded>,
    /// Lists of one launch.
    bound: Vec<Bound>,
    infos: Vec<vk::DescriptorBufferInfo>,
}

struct Recorded {
    kernel: KernelId,
    /// Where its fault is among the arguments.
    fault: usize,
}

/// A value's memory, or its copy.
#[derive(Clone, Copy)]
struct Bound {
    buffer: vk::Buffer,
    offset: u64,
    /// Bytes that kernels may touch: whole words.
    range: u64,
    /// Bytes of the value.
    bytes: u64,
    /// Where the copy is among the arguments.
    copy: Option<usize>,
}

impl Recording {
    pub fn new(loaded: &Loaded) -> Result<Recording> {
        let gpu = &*loaded.gpu;
        let refused = |e| gpu.failure("can't record launches", e);
        let mut recording = Recording {
            pool: vk::CommandPool::null(),
            commands: vk::CommandBuffer::null(),
            fence: vk::Fence::null(),
            sets: vk::DescriptorPool::null(),
            arguments: Block::new(gpu, ARGUMENT_BYTES, Home::Host, "the kernels' arguments")?,
            used: 0,
            launches: Vec::with_capacity(MAX_LAUNCHES),
            bound: Vec::new(),
            infos: Vec::new(),
        };
        match recording.make(gpu, loaded.kernels.most_bindings()) {
            Ok(()) => Ok(recording),
            Err(error) => {
                // SAFETY: nothing was recorded.
                unsafe { recording.destroy(gpu) };
                Err(refused(error))
            }
        }
    }

    fn make(&mut self, gpu: &Gpu, bindings: usize) -> std::result::Result<(), vk::Result> {
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(gpu.queue_family)
            .flags(vk::CommandPoolCreateFlags::TRANSIENT);
        let sizes = [vk::DescriptorPoolSize::default()
            .ty(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count((MAX_LAUNCHES * bindings) as u32)];
        let sets = vk::DescriptorPoolCreateInfo::default().max_sets(MAX_LAUNCHES as u32).pool_sizes(&sizes);
        // SAFETY: the infos live until the calls return, and all objects are of this device.
        unsafe {
            self.pool = gpu.handle.create_command_pool(&info, None)?;
            let info =
                vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
            self.commands = gpu.handle.allocate_command_buffers(&info)?[0];
            self.fence = gpu.handle.create_fence(&vk::FenceCreateInfo::default(), None)?;
            self.sets = gpu.handle.create_descriptor_pool(&sets, None)?;
        }
        Ok(())
    }

    /// # Safety
    /// The device must not use the recording now or later.
    pub unsafe fn destroy(self, gpu: &Gpu) {
        // SAFETY: all are of this device, unused, or null, which is ignored.
        unsafe {
            gpu.handle.destroy_descriptor_pool(self.sets, None);
            gpu.handle.destroy_fence(self.fence, None);
            gpu.handle.destroy_command_pool(self.pool, None);
            self.arguments.destroy(gpu);
        }
    }

    pub fn launch(&mut self, loaded: &Loaded, blocks: &Blocks, launch: &Launch) -> Result<()> {
        let gpu = &*loaded.gpu;
        let kernel = &loaded.names[launch.kernel.index()];
        let Some(pipeline) = loaded.kernels.get(launch.kernel) else {
            return Err(Error::Internal { cause: format!("kernel {} wasn't loaded", kernel.name) });
        };
        if launch.buffers.len() + EXTRA_BINDINGS != pipeline.bindings {
            return Err(Error::Internal { cause: format!("kernel {} has other bindings", kernel.name) });
        }
        let place = || format!("{} (kernel {})", kernel.source, kernel.name);
        let groups = groups(launch.tiles).ok_or_else(|| Error::Size {
            place: place(),
            cause: format!("{} work-groups are more than a GPU can launch", launch.tiles),
        })?;

        let align = gpu.limits.min_storage_buffer_offset_alignment.max(4) as usize;
        self.bound.clear();
        let parameters = (launch.dims.len() + 1) * size_of::<i64>();
        let mut size = Layout { align, end: 0 };
        let (parameters_at, fault_at) = (size.add(parameters), size.add(size_of::<i32>()));
        for &value in launch.buffers {
            let mut bound = find(loaded, blocks, value).ok_or_else(|| Error::Internal {
                cause: format!("{}: a value isn't on the device", place()),
            })?;
            if value.bytes as u64 > u64::from(gpu.limits.max_storage_buffer_range) {
                let most = gpu.limits.max_storage_buffer_range;
                let cause = format!("a value has {} bytes, {} takes {most}", value.bytes, gpu.name);
                return Err(Error::Size { place: place(), cause });
            }
            if bound.offset % align as u64 != 0 {
                bound.copy = Some(size.add(bound.range as usize));
            }
            self.bound.push(bound);
        }
        self.reserve(loaded, size.end)?;

        let start = self.used;
        self.used += size.end;
        self.write(start + parameters_at, launch.tiles, launch.dims);
        self.write_fault(start + fault_at);
        for bound in &mut self.bound {
            bound.copy = bound.copy.map(|at| start + at);
        }
        let refused = |e| gpu.failure("can't record a launch", e);
        if self.launches.is_empty() {
            let info =
                vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
            // SAFETY: the command buffer is in its initial state: its pool was reset after it was used last.
            unsafe { gpu.handle.begin_command_buffer(self.commands, &info) }.map_err(refused)?;
        }
        self.launches.push(Recorded { kernel: launch.kernel, fault: start + fault_at });
        let set = self.describe(gpu, &pipeline, start + parameters_at, parameters, start + fault_at);
        self.record(gpu, &pipeline, set.map_err(refused)?, groups, launch.inputs);
        Ok(())
    }

    /// Makes room for one more launch; what was recorded is executed when there is none.
    fn reserve(&mut self, loaded: &Loaded, bytes: usize) -> Result<()> {
        let fits = |recording: &Recording| bytes <= recording.arguments.bytes - recording.used;
        if self.launches.len() == MAX_LAUNCHES || !fits(self) {
            self.execute(loaded)?;
        }
        if !fits(self) {
            let bytes = bytes.next_power_of_two();
            let block = Block::new(&loaded.gpu, bytes, Home::Host, "the kernels' arguments")?;
            let old = std::mem::replace(&mut self.arguments, block);
            // SAFETY: all launches were executed.
            unsafe { old.destroy(&loaded.gpu) };
        }
        Ok(())
    }

    fn write(&self, at: usize, tiles: i64, dims: &[i64]) {
        // SAFETY: room was reserved at an aligned place, which no recorded launch uses.
        unsafe {
            let to = self.arguments.start.as_ptr().add(at).cast::<i64>();
            to.write(tiles);
            to.add(1).copy_from_nonoverlapping(dims.as_ptr(), dims.len());
        }
    }

    fn write_fault(&self, at: usize) {
        // SAFETY: as for the parameters.
        unsafe { self.arguments.start.as_ptr().add(at).cast::<i32>().write(0) };
    }

    /// A descriptor set with the launch's values and arguments.
    fn describe(
        &mut self,
        gpu: &Gpu,
        pipeline: &Pipeline,
        parameters_at: usize,
        parameters: usize,
        fault_at: usize,
    ) -> std::result::Result<vk::DescriptorSet, vk::Result> {
        let info = |buffer, offset, range| vk::DescriptorBufferInfo { buffer, offset, range };
        let arguments = self.arguments.buffer;
        self.infos.clear();
        self.infos.extend(self.bound.iter().map(|bound| match bound.copy {
            Some(at) => info(arguments, at as u64, bound.range),
            // An empty value is at no place, and isn't touched.
            None if bound.range == 0 => info(arguments, parameters_at as u64, parameters as u64),
            None => info(bound.buffer, bound.offset, bound.range),
        }));
        self.infos.push(info(arguments, parameters_at as u64, parameters as u64));
        self.infos.push(info(arguments, fault_at as u64, size_of::<i32>() as u64));
        let layouts = [pipeline.interface.set];
        let allocate =
            vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.sets).set_layouts(&layouts);
        // SAFETY: the pool has room for as many launches as are recorded at most.
        let set = unsafe { gpu.handle.allocate_descriptor_sets(&allocate) }?[0];
        // Bindings of the same kind in a row are written as if they were one array.
        let write = vk::WriteDescriptorSet::default()
            .dst_set(set)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .buffer_info(&self.infos);
        // SAFETY: the set is new and has this many bindings; the buffers live until the launch was executed.
        unsafe { gpu.handle.update_descriptor_sets(&[write], &[]) };
        Ok(set)
    }

    fn record(
        &mut self,
        gpu: &Gpu,
        pipeline: &Pipeline,
        set: vk::DescriptorSet,
        [x, y]: [u32; 2],
        inputs: usize,
    ) {
        let sets = [set];
        // A launch may read or overwrite what any launch before it wrote or read.
        self.barrier(gpu);
        if self.bound.iter().any(|bound| bound.copy.is_some()) {
            // Outputs too: a kernel needn't write all of them.
            for bound in &self.bound {
                self.copy(gpu, bound, true);
            }
            self.barrier(gpu);
        }
        // SAFETY: the command buffer is being recorded, all objects are of this device and fit each other.
        unsafe {
            let point = vk::PipelineBindPoint::COMPUTE;
            gpu.handle.cmd_bind_pipeline(self.commands, point, pipeline.handle);
            let layout = pipeline.interface.pipeline;
            gpu.handle.cmd_bind_descriptor_sets(self.commands, point, layout, 0, &sets, &[]);
            gpu.handle.cmd_dispatch(self.commands, x, y, 1);
        }
        if self.bound[inputs..].iter().any(|bound| bound.copy.is_some()) {
            self.barrier(gpu);
            for bound in &self.bound[inputs..] {
                self.copy(gpu, bound, false);
            }
        }
    }

    /// Copies a value to its copy, or back.
    fn copy(&self, gpu: &Gpu, bound: &Bound, there: bool) {
        let Some(copy) = bound.copy.filter(|_| bound.range > 0) else { return };
        // Back go the value's own bytes alone: the next byte may belong to another result.
        let region = vk::BufferCopy::default().size(if there { bound.range } else { bound.bytes });
        let (value, copy) = ((bound.buffer, bound.offset), (self.arguments.buffer, copy as u64));
        let (from, to) = if there { (value, copy) } else { (copy, value) };
        // SAFETY: both regions are inside their buffers, which are different ones.
        unsafe {
            let regions = [region.src_offset(from.1).dst_offset(to.1)];
            gpu.handle.cmd_copy_buffer(self.commands, from.0, to.0, &regions);
        }
    }

    /// Makes all that was recorded before happen before all that comes after.
    fn barrier(&self, gpu: &Gpu) {
        let stages = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
        let written = vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE;
        let used = vk::AccessFlags::SHADER_READ | vk::AccessFlags::TRANSFER_READ | written;
        self.memory_barrier(gpu, (stages, written), (stages, used));
    }

    fn memory_barrier(
        &self,
        gpu: &Gpu,
        (from, written): (vk::PipelineStageFlags, vk::AccessFlags),
        (to, used): (vk::PipelineStageFlags, vk::AccessFlags),
    ) {
        let barrier = [vk::MemoryBarrier::default().src_access_mask(written).dst_access_mask(used)];
        let none = vk::DependencyFlags::empty();
        // SAFETY: the command buffer is being recorded.
        unsafe { gpu.handle.cmd_pipeline_barrier(self.commands, from, to, none, &barrier, &[], &[]) };
    }

    /// Executes what was recorded and waits; the error is that of the first launch that reported a fault.
    pub fn execute(&mut self, loaded: &Loaded) -> Result<()> {
        if self.launches.is_empty() {
            return Ok(());
        }
        let gpu = &*loaded.gpu;
        let stages = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
        let written = vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE;
        let host = (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ | vk::AccessFlags::HOST_WRITE);
        self.memory_barrier(gpu, (stages, written), host);
        // SAFETY: the command buffer is being recorded.
        let executed = unsafe { gpu.handle.end_command_buffer(self.commands) }
            .map_err(|e| gpu.failure("can't record launches", e))
            .and_then(|()| gpu.execute(self.commands, self.fence));
        let faulty = self.launches.iter().find_map(|launch| {
            // SAFETY: the launch had a place of its own there, and the device is done.
            let code = unsafe { self.arguments.start.as_ptr().add(launch.fault).cast::<i32>().read() };
            (code != 0).then(|| kernel_fault(&loaded.names[launch.kernel.index()], code))
        });
        self.discard(gpu);
        executed.and(faulty.map_or(Ok(()), Err))
    }

    /// Forgets what was recorded.
    pub fn discard(&mut self, gpu: &Gpu) {
        if self.launches.is_empty() {
            return;
        }
        self.launches.clear();
        self.used = 0;
        // SAFETY: the device doesn't use them: each submission is waited for. Where resetting fails, for lack of memory or
        // because the device is lost, the next recording fails with that error.
        unsafe {
            let _ = gpu.handle.reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty());
            let _ = gpu.handle.reset_descriptor_pool(self.sets, vk::DescriptorPoolResetFlags::empty());
        }
    }
}

/// Places one after the other.
struct Layout {
    align: usize,
    end: usize,
}

impl Layout {
    fn add(&mut self, bytes: usize) -> usize {
        let at = self.end;
        self.end = (at + bytes).next_multiple_of(self.align.max(size_of::<i64>()));
        at
    }
}

/// Where a value is on the device. Its end is rounded up to whole words, which its buffer has room for.
fn find(loaded: &Loaded, blocks: &Blocks, value: Place) -> Option<Bound> {
    if value.bytes == 0 {
        return Some(Bound { buffer: vk::Buffer::null(), offset: 0, range: 0, bytes: 0, copy: None });
    }
    let address = value.start as usize;
    let (block, offset) = blocks.find(address).or_else(|| loaded.weights.find(address))?;
    let room = block.bytes - offset;
    if value.bytes > room {
        return None;
    }
    let range = value.bytes.next_multiple_of(4).min(room) as u64;
    Some(Bound { buffer: block.buffer, offset: offset as u64, range, bytes: value.bytes as u64, copy: None })
}

/// Groups in x and y for a number of tiles; kernels skip what is too many.
fn groups(tiles: i64) -> Option<[u32; 2]> {
    if tiles <= MAX_GROUPS {
        return Some([u32::try_from(tiles).ok()?, 1]);
    }
    let rows = (tiles - 1) / MAX_GROUPS + 1;
    (rows <= MAX_GROUPS).then_some([MAX_GROUPS as u32, rows as u32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_cover_all_tiles() {
        assert_eq!(groups(1), Some([1, 1]));
        assert_eq!(groups(65535), Some([65535, 1]));
        assert_eq!(groups(65536), Some([65535, 2]));
        assert_eq!(groups(65535 * 65535), Some([65535, 65535]));
        assert_eq!(groups(65535 * 65535 + 1), None);
        assert_eq!(groups(i64::MAX), None);
    }
}
