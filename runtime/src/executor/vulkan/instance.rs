//! The Vulkan loader and an instance of it.

use ash::vk;

use crate::error::{Error, Result};

/// The oldest version that has all features which kernels may need.
pub(super) const VERSION: u32 = vk::API_VERSION_1_2;

pub(super) struct Instance {
    pub handle: ash::Instance,
    /// Keeps the loader's library open.
    _entry: ash::Entry,
}

impl Instance {
    pub fn new() -> Result<Instance> {
        // SAFETY: the loader of the system is trusted, as the drivers that it opens are.
        let entry = unsafe { ash::Entry::load() }.map_err(|e| no_vulkan(&e.to_string()))?;
        // SAFETY: `entry` is a loaded Vulkan library, here and below.
        let version = unsafe { entry.try_enumerate_instance_version() };
        let version = version.map_err(|e| no_vulkan(&e.to_string()))?.unwrap_or(vk::API_VERSION_1_0);
        if version < VERSION {
            return Err(no_vulkan(&format!("its version is {}, 1.2 is needed", show_version(version))));
        }
        let application =
            vk::ApplicationInfo::default().application_name(c"tcc").engine_name(c"tcc").api_version(VERSION);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: the info and all it points to live until the call returns.
        let handle = unsafe { entry.create_instance(&info, None) }.map_err(|e| no_vulkan(&e.to_string()))?;
        Ok(Instance { handle, _entry: entry })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: all that was made from the instance is gone: its owners hold the instance.
        unsafe { self.handle.destroy_instance(None) };
    }
}

pub(super) fn show_version(version: u32) -> String {
    format!("{}.{}", vk::api_version_major(version), vk::api_version_minor(version))
}

fn no_vulkan(cause: &str) -> Error {
    Error::NoDevice {
        cause: format!("its kernels are for GPUs with Vulkan, and Vulkan can't be used ({cause})"),
        remedy: "install the Vulkan loader and a driver (Debian: libvulkan1, and mesa-vulkan-drivers or the GPU's own; \
                 Mesa's also runs without a GPU), or compile the model for this CPU"
            .into(),
    }
}
