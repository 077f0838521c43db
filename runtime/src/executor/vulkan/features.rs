//! Device features by the names that the Vulkan specification gives them.

use ash::vk;

/// The features of a device, or those to enable.
#[derive(Default)]
pub(super) struct Features {
    pub core: vk::PhysicalDeviceFeatures,
    pub v11: vk::PhysicalDeviceVulkan11Features<'static>,
    pub v12: vk::PhysicalDeviceVulkan12Features<'static>,
}

impl Features {
    /// What a device of version 1.2 or later has.
    pub fn of(instance: &ash::Instance, device: vk::PhysicalDevice) -> Features {
        let mut features = Features::default();
        let mut all =
            vk::PhysicalDeviceFeatures2::default().push_next(&mut features.v11).push_next(&mut features.v12);
        // SAFETY: the device is of this instance, and the chain is of structures that version 1.2 knows.
        unsafe { instance.get_physical_device_features2(device, &mut all) };
        features.core = all.features;
        // The chain's links point into a local variable and end with it.
        features.v11.p_next = std::ptr::null_mut();
        features.v12.p_next = std::ptr::null_mut();
        features
    }

    /// The named features and no others. Unknown names are left out: no device has them.
    pub fn enabling(names: &[String]) -> Features {
        let mut features = Features::default();
        for name in names {
            if let Some(flag) = features.flag(name) {
                *flag = vk::TRUE;
            }
        }
        features
    }

    pub fn has(&mut self, name: &str) -> bool {
        self.flag(name).is_some_and(|flag| *flag == vk::TRUE)
    }

    fn flag(&mut self, name: &str) -> Option<&mut vk::Bool32> {
        let Features { core, v11, v12 } = self;
        Some(match name {
            "robustBufferAccess" => &mut core.robust_buffer_access,
            "shaderFloat64" => &mut core.shader_float64,
            "shaderInt64" => &mut core.shader_int64,
            "shaderInt16" => &mut core.shader_int16,
            "storageBuffer16BitAccess" => &mut v11.storage_buffer16_bit_access,
            "uniformAndStorageBuffer16BitAccess" => &mut v11.uniform_and_storage_buffer16_bit_access,
            "variablePointers" => &mut v11.variable_pointers,
            "variablePointersStorageBuffer" => &mut v11.variable_pointers_storage_buffer,
            "bufferDeviceAddress" => &mut v12.buffer_device_address,
            "scalarBlockLayout" => &mut v12.scalar_block_layout,
            "shaderBufferInt64Atomics" => &mut v12.shader_buffer_int64_atomics,
            "shaderFloat16" => &mut v12.shader_float16,
            "shaderInt8" => &mut v12.shader_int8,
            "shaderSharedInt64Atomics" => &mut v12.shader_shared_int64_atomics,
            "shaderSubgroupExtendedTypes" => &mut v12.shader_subgroup_extended_types,
            "storageBuffer8BitAccess" => &mut v12.storage_buffer8_bit_access,
            "uniformAndStorageBuffer8BitAccess" => &mut v12.uniform_and_storage_buffer8_bit_access,
            "vulkanMemoryModel" => &mut v12.vulkan_memory_model,
            "vulkanMemoryModelDeviceScope" => &mut v12.vulkan_memory_model_device_scope,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_enabled_by_name() {
        let mut features = Features::enabling(&["shaderInt64".into(), "warpDrive".into()]);
        assert!(features.has("shaderInt64"));
        assert!(!features.has("shaderFloat64") && !features.has("warpDrive"));
        assert_eq!(features.core.shader_int64, vk::TRUE);
    }
}
