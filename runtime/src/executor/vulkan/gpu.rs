//! An opened device, its queue, and the kinds of memory it has.

use std::sync::{Mutex, PoisonError};

use ash::vk;

use super::choice::Choice;
use super::features::Features;
use super::instance::Instance;
use crate::error::{Error, Result};

pub(super) struct Gpu {
    pub handle: ash::Device,
    pub name: String,
    pub queue_family: u32,
    pub limits: vk::PhysicalDeviceLimits,
    pub memory: vk::PhysicalDeviceMemoryProperties,
    /// Submissions of several threads take turns.
    queue: Mutex<vk::Queue>,
    /// After the device: fields are dropped in order, and a device goes before its instance.
    _instance: Instance,
}

impl Gpu {
    pub fn new(instance: Instance, choice: Choice, needs: &[String]) -> Result<Gpu> {
        let Choice { handle, name, queue_family, limits } = choice;
        let mut features = Features::enabling(needs);
        let queues =
            [vk::DeviceQueueCreateInfo::default().queue_family_index(queue_family).queue_priorities(&[1.0])];
        let mut enabled = vk::PhysicalDeviceFeatures2::default()
            .features(features.core)
            .push_next(&mut features.v11)
            .push_next(&mut features.v12);
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut enabled);
        // SAFETY: the device is of this instance and has these features and this queue family.
        let device = unsafe { instance.handle.create_device(handle, &info, None) };
        let device = device.map_err(|e| failure(&name, "can't be opened", e))?;
        // SAFETY: the queue was asked for above, and the device is of this instance.
        let (queue, memory) = unsafe {
            (
                device.get_device_queue(queue_family, 0),
                instance.handle.get_physical_device_memory_properties(handle),
            )
        };
        let queue = Mutex::new(queue);
        Ok(Gpu { handle: device, name, queue_family, limits, memory, queue, _instance: instance })
    }

    /// Executes a command buffer and waits until it's done.
    pub fn execute(&self, commands: vk::CommandBuffer, fence: vk::Fence) -> Result<()> {
        let commands = [commands];
        let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
        let submitted = {
            let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the command buffer is complete and not in use, the fence unsignalled; the queue is locked.
            unsafe { self.handle.queue_submit(*queue, &submit, fence) }
        };
        submitted.map_err(|e| self.failure("refused work", e))?;
        // SAFETY: the fence was just given to the queue.
        unsafe { self.handle.wait_for_fences(&[fence], true, u64::MAX) }
            .and_then(|()| {
                // SAFETY: the fence is of this device and nobody waits for it any more.
                unsafe { self.handle.reset_fences(&[fence]) }
            })
            .map_err(|e| self.failure("stopped", e))
    }

    /// The error for a call that failed.
    pub fn failure(&self, what: &str, result: vk::Result) -> Error {
        failure(&self.name, what, result)
    }
}

fn failure(device: &str, what: &str, result: vk::Result) -> Error {
    match result {
        vk::Result::ERROR_OUT_OF_HOST_MEMORY | vk::Result::ERROR_OUT_OF_DEVICE_MEMORY => {
            Error::Memory { place: format!("the driver of {device}"), bytes: 0 }
        }
        vk::Result::ERROR_DEVICE_LOST => Error::Device {
            cause: format!("{device} was lost: a kernel hung or crashed it, or the driver did"),
        },
        result => Error::Device { cause: format!("{device} {what} ({result})") },
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: all that was made from the device is gone: its owners hold the device.
        unsafe { self.handle.destroy_device(None) };
    }
}
