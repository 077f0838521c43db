//! Runs kernels on GPUs through Vulkan, version 1.2 or later.
//!
//! The loader is opened at run time. All memory but the weights is mapped and coherent, so the host's steps use it as it
//! is. Launches are recorded; waiting submits them as one command buffer.

mod choice;
mod features;
mod gpu;
mod instance;
mod kernels;
mod memory;
mod module;
mod recording;
mod session;
mod weights;

use std::sync::Arc;

use super::device::Device;
use crate::error::Result;
use crate::package::{Code, Manifest};
use gpu::Gpu;
use instance::Instance;
use session::Loaded;

/// Puts a package's kernels and weights on the best device there is.
pub(super) fn open(
    manifest: &Manifest,
    code: &Code,
    modules: &[u8],
    weights: &[u8],
) -> Result<Arc<dyn Device>> {
    let instance = Instance::new()?;
    let choice = choice::choose(&instance, &code.cpu_features)?;
    let gpu = Gpu::new(instance, choice, &code.cpu_features)?;
    Ok(Arc::new(Loaded::new(Arc::new(gpu), manifest, code, modules, weights)?))
}
