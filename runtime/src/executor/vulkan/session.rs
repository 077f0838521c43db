//! What a package and its contexts have on a device.

use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::gpu::Gpu;
use super::kernels::Kernels;
use super::memory::{Block, Blocks};
use super::recording::Recording;
use super::weights::Weights;
use crate::error::{Error, Result};
use crate::executor::device::{Device, Home, Launch, Session};
use crate::package::{Code, Kernel, Manifest};

/// A package's kernels and weights.
pub(super) struct Loaded {
    pub gpu: Arc<Gpu>,
    pub kernels: Kernels,
    /// The kernels' names and sources, for errors.
    pub names: Vec<Kernel>,
    pub weights: Weights,
}

impl Loaded {
    pub fn new(
        gpu: Arc<Gpu>,
        manifest: &Manifest,
        code: &Code,
        modules: &[u8],
        weights: &[u8],
    ) -> Result<Loaded> {
        let mut loaded = Loaded {
            gpu,
            kernels: Kernels::default(),
            names: manifest.kernels.clone(),
            weights: Weights::default(),
        };
        loaded.kernels.load(&loaded.gpu, manifest, code, modules)?;
        loaded.weights.load(&loaded.gpu, manifest, weights)?;
        Ok(loaded)
    }
}

impl Device for Loaded {
    fn session(self: Arc<Self>) -> Arc<dyn Session> {
        Arc::new(Context { loaded: self, state: Mutex::default() })
    }

    fn name(&self) -> &str {
        &self.gpu.name
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vulkan({:?})", self.gpu.name)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: sessions hold what they use, and wait for it: nothing runs any more.
        unsafe {
            self.kernels.destroy(&self.gpu);
            self.weights.destroy(&self.gpu);
        }
    }
}

/// The memory and launches of one context.
struct Context {
    loaded: Arc<Loaded>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    blocks: Blocks,
    /// Made at the first launch.
    recording: Option<Recording>,
}

impl Context {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session for Context {
    fn allocate(&self, bytes: usize, home: Home, place: &str) -> Result<NonNull<u8>> {
        let mut state = self.state();
        // The host is about to copy what is in the memory that this replaces.
        state.wait(&self.loaded)?;
        let block = Block::new(&self.loaded.gpu, bytes, home, place)?;
        let start = block.start;
        // SAFETY: the block is new, mapped, and this large.
        unsafe { start.as_ptr().write_bytes(0, bytes) };
        state.blocks.insert(block);
        Ok(start)
    }

    fn free(&self, start: NonNull<u8>) {
        let mut state = self.state();
        if let Some(recording) = &mut state.recording {
            // Launches are only left when a run failed, and nobody waits for them.
            recording.discard(&self.loaded.gpu);
        }
        if let Some(block) = state.blocks.remove(start) {
            // SAFETY: nothing is recorded or runs; the owner gives the memory back.
            unsafe { block.destroy(&self.loaded.gpu) };
        }
    }

    fn launch(&self, launch: &Launch) -> Result<()> {
        let state = &mut *self.state();
        let recording = match &mut state.recording {
            Some(recording) => recording,
            None => state.recording.insert(Recording::new(&self.loaded)?),
        };
        recording.launch(&self.loaded, &state.blocks, launch)
    }

    fn wait(&self) -> Result<()> {
        self.state().wait(&self.loaded)
    }

    fn discard(&self) {
        if let Some(recording) = &mut self.state().recording {
            recording.discard(&self.loaded.gpu);
        }
    }
}

impl State {
    fn wait(&mut self, loaded: &Loaded) -> Result<()> {
        self.recording.as_mut().map_or(Ok(()), |recording| recording.execute(loaded))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({:?})", self.loaded)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let gpu = &self.loaded.gpu;
        // SAFETY: whoever waits for a launch holds the session, so nothing runs; buffers hold the session too, so no
        // block is left unless one was leaked.
        unsafe {
            if let Some(recording) = state.recording.take() {
                recording.destroy(gpu);
            }
            state.blocks.drain().for_each(|block| block.destroy(gpu));
        }
    }
}

/// The error for a kernel that reported a fault.
pub(super) fn kernel_fault(kernel: &Kernel, code: i32) -> Error {
    Error::Kernel { kernel: kernel.name.clone(), source: kernel.source.clone(), code }
}
