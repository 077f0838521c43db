//! Kernels as compute pipelines, made when the package is opened.

use std::collections::BTreeMap;
use std::ffi::CString;

use ash::vk;

use super::gpu::Gpu;
use super::module;
use crate::error::{Error, Result};
use crate::package::{Code, Kernel, KernelId, Launch, Manifest, Step};

/// Bindings after a step's values: parameters and fault.
pub(super) const EXTRA_BINDINGS: usize = 2;

/// A kernel that is ready to be launched.
#[derive(Clone, Copy)]
pub(super) struct Pipeline {
    pub handle: vk::Pipeline,
    pub interface: Interface,
    /// Values, and [`EXTRA_BINDINGS`].
    pub bindings: usize,
}

/// What all kernels with the same number of bindings share.
#[derive(Clone, Copy)]
pub(super) struct Interface {
    pub set: vk::DescriptorSetLayout,
    pub pipeline: vk::PipelineLayout,
}

/// The kernels of a package. Their owner destroys them.
#[derive(Default)]
pub(super) struct Kernels {
    /// `None` where no step uses the kernel.
    pipelines: Vec<Option<Pipeline>>,
    /// By number of bindings.
    interfaces: BTreeMap<usize, Interface>,
}

impl Kernels {
    /// Adds all kernels that steps use. What was made before an error stays, to be destroyed.
    pub fn load(&mut self, gpu: &Gpu, manifest: &Manifest, code: &Code, modules: &[u8]) -> Result<()> {
        let bindings = bindings(manifest)?;
        for ((launch, kernel), bindings) in code.launches.iter().zip(&manifest.kernels).zip(bindings) {
            let pipeline = match bindings {
                Some(bindings) => {
                    check_limits(gpu, kernel, launch, bindings)?;
                    let interface = self.interface(gpu, bindings)?;
                    Some(pipeline(gpu, kernel, launch, modules, bindings, interface)?)
                }
                None => None,
            };
            self.pipelines.push(pipeline);
        }
        Ok(())
    }

    pub fn get(&self, kernel: KernelId) -> Option<Pipeline> {
        *self.pipelines.get(kernel.index())?
    }

    /// The most bindings of a kernel.
    pub fn most_bindings(&self) -> usize {
        self.interfaces.keys().next_back().copied().unwrap_or(EXTRA_BINDINGS)
    }

    fn interface(&mut self, gpu: &Gpu, bindings: usize) -> Result<Interface> {
        if let Some(interface) = self.interfaces.get(&bindings) {
            return Ok(*interface);
        }
        let refused = |e| gpu.failure("can't describe a kernel's buffers", e);
        let slots: Vec<_> = (0..bindings as u32)
            .map(|at| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(at)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&slots);
        // SAFETY: the info and the bindings live until the call returns.
        let set = unsafe { gpu.handle.create_descriptor_set_layout(&info, None) }.map_err(refused)?;
        let sets = [set];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        // SAFETY: as above, and the layout was made of this device.
        match unsafe { gpu.handle.create_pipeline_layout(&info, None) } {
            Ok(pipeline) => {
                let interface = Interface { set, pipeline };
                self.interfaces.insert(bindings, interface);
                Ok(interface)
            }
            Err(error) => {
                // SAFETY: nobody uses the layout.
                unsafe { gpu.handle.destroy_descriptor_set_layout(set, None) };
                Err(refused(error))
            }
        }
    }

    /// # Safety
    /// The device must not use a kernel now or later.
    pub unsafe fn destroy(&mut self, gpu: &Gpu) {
        // SAFETY: all are of this device and, by the caller's promise, unused.
        unsafe {
            for pipeline in self.pipelines.drain(..).flatten() {
                gpu.handle.destroy_pipeline(pipeline.handle, None);
            }
            for interface in std::mem::take(&mut self.interfaces).into_values() {
                gpu.handle.destroy_pipeline_layout(interface.pipeline, None);
                gpu.handle.destroy_descriptor_set_layout(interface.set, None);
            }
        }
    }
}

/// For each kernel the number of bindings that its steps give it.
fn bindings(manifest: &Manifest) -> Result<Vec<Option<usize>>> {
    let mut bindings = vec![None; manifest.kernels.len()];
    for step in manifest.blocks.iter().flat_map(|block| &block.steps) {
        let Step::Kernel(step) = step else { continue };
        let count = step.inputs.len() + step.outputs.len() + EXTRA_BINDINGS;
        let known = bindings[step.kernel.index()].get_or_insert(count);
        if *known != count {
            let name = &manifest.kernels[step.kernel.index()].name;
            return Err(Error::invalid(
                format!("kernel {name}"),
                "its steps give it different numbers of values",
            ));
        }
    }
    Ok(bindings)
}

fn check_limits(gpu: &Gpu, kernel: &Kernel, launch: &Launch, bindings: usize) -> Result<()> {
    let limits = &gpu.limits;
    let most_threads = limits.max_compute_work_group_invocations.min(limits.max_compute_work_group_size[0]);
    let most_bindings = limits.max_per_stage_descriptor_storage_buffers;
    let cause = if launch.threads > most_threads {
        format!("runs {} threads in a group, {} has {most_threads}", launch.threads, gpu.name)
    } else if bindings as u64 > most_bindings.into() {
        format!("uses {bindings} buffers, {} has room for {most_bindings}", gpu.name)
    } else {
        return Ok(());
    };
    Err(Error::NoDevice {
        cause: format!("kernel {} ({}) {cause}", kernel.name, kernel.source),
        remedy: "use another device, or compile the model for this CPU".into(),
    })
}

fn pipeline(
    gpu: &Gpu,
    kernel: &Kernel,
    launch: &Launch,
    modules: &[u8],
    bindings: usize,
    interface: Interface,
) -> Result<Pipeline> {
    let invalid = |cause: &str| Error::invalid(format!("kernel {}", kernel.name), cause);
    let bytes = &modules[launch.offset as usize..][..launch.len as usize];
    let words = module::words(bytes, &launch.entry, launch.threads).map_err(invalid)?;
    let entry = CString::new(&launch.entry[..]).map_err(|_| invalid("its entry point has no proper name"))?;
    let refused = |e| gpu.failure(&format!("can't compile kernel {} ({})", kernel.name, kernel.source), e);
    let info = vk::ShaderModuleCreateInfo::default().code(&words);
    // SAFETY: the words are a module's, as far as the package vouches for its code.
    let module = unsafe { gpu.handle.create_shader_module(&info, None) }.map_err(refused)?;
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module)
        .name(&entry);
    let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(interface.pipeline)];
    // SAFETY: the module and the layout are of this device, and the package vouches that they fit each other.
    let made = unsafe { gpu.handle.create_compute_pipelines(vk::PipelineCache::null(), &info, None) };
    // SAFETY: a pipeline doesn't need its module once it's made.
    unsafe { gpu.handle.destroy_shader_module(module, None) };
    match made {
        Ok(pipelines) => Ok(Pipeline { handle: pipelines[0], interface, bindings }),
        Err((_, error)) => Err(refused(error)),
    }
}
