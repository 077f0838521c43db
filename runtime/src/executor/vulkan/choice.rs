//! Chooses a device: one that has all that the kernels need; a GPU before a driver that runs on the CPU.

use std::ffi::CStr;

use ash::vk;

use super::features::Features;
use super::instance::{Instance, VERSION, show_version};
use crate::error::{Error, Result};

/// The environment variable that names a device: its number, or a part of its name.
const VARIABLE: &str = "TCC_VULKAN_DEVICE";

/// A device and how to use it.
pub(super) struct Choice {
    pub handle: vk::PhysicalDevice,
    pub name: String,
    pub queue_family: u32,
    pub limits: vk::PhysicalDeviceLimits,
}

/// A device of this machine.
struct Candidate {
    name: String,
    kind: vk::PhysicalDeviceType,
    /// How to use it, or why it can't be.
    usable: std::result::Result<Choice, String>,
}

pub(super) fn choose(instance: &Instance, needs: &[String]) -> Result<Choice> {
    // SAFETY: the instance is alive.
    let devices = unsafe { instance.handle.enumerate_physical_devices() };
    let devices = devices.map_err(|e| Error::Device { cause: format!("devices can't be listed ({e})") })?;
    let candidates = devices.into_iter().map(|device| candidate(&instance.handle, device, needs)).collect();
    select(candidates, std::env::var(VARIABLE).ok().filter(|wanted| !wanted.is_empty()))
}

/// The wanted device, else the best one that is usable; the first of equals.
fn select(mut candidates: Vec<Candidate>, wanted: Option<String>) -> Result<Choice> {
    let list: Vec<String> = candidates
        .iter()
        .enumerate()
        .map(|(at, candidate)| match &candidate.usable {
            Ok(_) => format!("{at} \"{}\"", candidate.name),
            Err(reason) => format!("{at} \"{}\" {reason}", candidate.name),
        })
        .collect();
    let list = list.join("; ");
    if let Some(wanted) = &wanted {
        let is_wanted = |at: usize, candidate: &Candidate| match wanted.parse::<usize>() {
            Ok(number) => number == at,
            Err(_) => candidate.name.to_lowercase().contains(&wanted.to_lowercase()),
        };
        let mut at = 0..;
        candidates.retain(|candidate| at.next().is_some_and(|at| is_wanted(at, candidate)));
        if candidates.is_empty() {
            return Err(Error::NoDevice {
                cause: format!("{VARIABLE} is \"{wanted}\", and there is no such device"),
                remedy: format!("set it to the number or a part of the name of one of: {list}"),
            });
        }
    }
    // Stable: the first of equals stays first.
    candidates.sort_by_key(|candidate| rank(candidate.kind));
    if let Some(choice) = candidates.into_iter().find_map(|candidate| candidate.usable.ok()) {
        return Ok(choice);
    }
    let cause = match list.is_empty() {
        true => "its kernels are for GPUs with Vulkan, and no driver offers one".into(),
        false => format!("no device can run its kernels: {list}"),
    };
    Err(Error::NoDevice {
        cause,
        remedy:
            "install the driver of the GPU (Debian: mesa-vulkan-drivers, which also runs without a GPU), \
                 or compile the model for this CPU"
                .into(),
    })
}

fn rank(kind: vk::PhysicalDeviceType) -> u8 {
    match kind {
        vk::PhysicalDeviceType::DISCRETE_GPU => 0,
        vk::PhysicalDeviceType::INTEGRATED_GPU => 1,
        vk::PhysicalDeviceType::VIRTUAL_GPU => 2,
        vk::PhysicalDeviceType::OTHER => 3,
        _ => 4,
    }
}

fn candidate(instance: &ash::Instance, handle: vk::PhysicalDevice, needs: &[String]) -> Candidate {
    // SAFETY: the device is of this instance.
    let properties = unsafe { instance.get_physical_device_properties(handle) };
    let name = properties.device_name_as_c_str().map_or("?".into(), CStr::to_string_lossy).into_owned();
    let usable = usable(instance, handle, &properties, needs).map(|queue_family| Choice {
        handle,
        name: name.clone(),
        queue_family,
        limits: properties.limits,
    });
    Candidate { name, kind: properties.device_type, usable }
}

/// The queue family to use, or why the device can't be used.
fn usable(
    instance: &ash::Instance,
    handle: vk::PhysicalDevice,
    properties: &vk::PhysicalDeviceProperties,
    needs: &[String],
) -> std::result::Result<u32, String> {
    if properties.api_version < VERSION {
        return Err(format!("has Vulkan {}, 1.2 is needed", show_version(properties.api_version)));
    }
    let mut features = Features::of(instance, handle);
    let missing: Vec<&str> = needs.iter().map(|name| &name[..]).filter(|name| !features.has(name)).collect();
    if !missing.is_empty() {
        return Err(format!("lacks {}", missing.join(", ")));
    }
    // SAFETY: the device is of this instance.
    let families = unsafe { instance.get_physical_device_queue_family_properties(handle) };
    let can = |family: &vk::QueueFamilyProperties| family.queue_flags.contains(vk::QueueFlags::COMPUTE);
    families.iter().position(can).map(|at| at as u32).ok_or_else(|| "has no queue for compute".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(name: &str, kind: vk::PhysicalDeviceType, missing: Option<&str>) -> Candidate {
        let choice = Choice {
            handle: vk::PhysicalDevice::null(),
            name: name.into(),
            queue_family: 0,
            limits: vk::PhysicalDeviceLimits::default(),
        };
        Candidate {
            name: name.into(),
            kind,
            usable: missing.map_or(Ok(choice), |name| Err(format!("lacks {name}"))),
        }
    }

    fn machine() -> Vec<Candidate> {
        vec![
            candidate("llvmpipe", vk::PhysicalDeviceType::CPU, None),
            candidate("Old card", vk::PhysicalDeviceType::DISCRETE_GPU, Some("shaderInt64")),
            candidate("Chip", vk::PhysicalDeviceType::INTEGRATED_GPU, None),
        ]
    }

    #[test]
    fn the_best_usable_device_is_taken() {
        assert_eq!(select(machine(), None).map(|choice| choice.name).ok(), Some("Chip".into()));
    }

    #[test]
    fn a_device_is_named_by_number_or_name() {
        for wanted in ["0", "LLVM"] {
            let choice = select(machine(), Some(wanted.into())).map(|choice| choice.name);
            assert_eq!(choice.ok(), Some("llvmpipe".into()), "{wanted}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let refusal = |candidates, wanted: Option<&str>| {
            select(candidates, wanted.map(str::to_string)).map(|choice| choice.name).unwrap_err().to_string()
        };
        let error = refusal(machine(), Some("1"));
        assert!(error.contains("1 \"Old card\" lacks shaderInt64"), "{error}");
        let error = refusal(machine(), Some("Voodoo"));
        assert!(error.contains("\"Voodoo\"") && error.contains("2 \"Chip\""), "{error}");
        let error = refusal(vec![], None);
        assert!(error.contains("mesa-vulkan-drivers"), "{error}");
    }
}
