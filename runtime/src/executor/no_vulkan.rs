//! Stands in for the Vulkan executor in builds without it.

use std::sync::Arc;

use super::device::Device;
use crate::error::{Error, Result};
use crate::package::{Code, Manifest};

pub(super) fn open(_: &Manifest, _: &Code, _: &[u8], _: &[u8]) -> Result<Arc<dyn Device>> {
    Err(Error::NoDevice {
        cause:
            "its kernels are for GPUs with Vulkan, and this runtime was built without its feature `vulkan`"
                .into(),
        remedy: "build the runtime with `--features vulkan`, or compile the model for this CPU".into(),
    })
}
