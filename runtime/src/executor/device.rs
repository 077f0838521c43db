//! What the executor needs of a GPU: memory that the host sees too, launches, and waiting for them.
//!
//! Kernels run on the device; every other step runs on the host, on the same memory, after waiting. So the memory plan,
//! the built-in routines and control flow are those of CPUs.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::error::Result;
use crate::memory::Place;
use crate::package::{Code, KernelId, Manifest};

#[cfg(not(feature = "vulkan"))]
use super::no_vulkan as vulkan;
#[cfg(feature = "vulkan")]
use super::vulkan;

/// A package's kernels and weights on a device.
pub(crate) trait Device: fmt::Debug + Send + Sync {
    /// Memory and launches for one context.
    fn session(self: Arc<Self>) -> Arc<dyn Session>;

    /// The device's name, for people.
    fn name(&self) -> &str;
}

/// The memory and the launches of one context.
///
/// A launch may be executed at once or be kept until [`Session::wait`]. The host may touch memory that launches use only
/// when none is kept; taking and giving back memory waits by itself.
pub(crate) trait Session: fmt::Debug + Send + Sync {
    /// Zeroed memory, aligned to [`crate::buffer::ALIGN`]. `place` names it in the error.
    fn allocate(&self, bytes: usize, home: Home, place: &str) -> Result<NonNull<u8>>;

    /// Gives back memory of this session.
    fn free(&self, start: NonNull<u8>);

    /// Adds a launch. Its buffers are in memory of this session or in the package's weights.
    fn launch(&self, launch: &Launch) -> Result<()>;

    /// Executes all launches; the error is that of the first kernel that reported a fault.
    fn wait(&self) -> Result<()>;

    /// Forgets launches that weren't executed, after a run that failed.
    fn discard(&self);
}

/// Who uses a piece of memory most: where it's best kept when the device has memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Device,
    Host,
}

/// One kernel call.
#[cfg_attr(not(feature = "vulkan"), expect(dead_code, reason = "only executors for devices read it"))]
pub(crate) struct Launch<'a> {
    pub kernel: KernelId,
    /// Number of work-groups, at least 1.
    pub tiles: i64,
    /// Inputs, then outputs.
    pub buffers: &'a [Place],
    /// How many of the buffers are inputs.
    pub inputs: usize,
    pub dims: &'a [i64],
}

/// Puts a package's kernels and weights on a device.
pub(crate) fn open(
    manifest: &Manifest,
    code: &Code,
    modules: &[u8],
    weights: &[u8],
) -> Result<Arc<dyn Device>> {
    match code.format {
        crate::package::CodeFormat::SpirV => vulkan::open(manifest, code, modules, weights),
        _ => Err(crate::error::Error::NoDevice {
            cause: "its kernels are PTX for NVIDIA GPUs, and this runtime has no executor for CUDA".into(),
            remedy: "compile with --target spirv, which such GPUs run through Vulkan, or for a CPU; \
                     `tcc compile --emit=ptx` writes the kernels for programs of your own"
                .into(),
        }),
    }
}
