//! Loads packages: maps code and weights, picks the code section for this machine, prepares the built-in routines.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::builtin::{self, Routine};
use crate::error::{Error, Result};
use crate::executor::device::{self, Device};
use crate::os::{self, Access, Map};
use crate::package::{Code, CodeFormat, Contents, Header, KernelId, Manifest, Step, read_package, validate};

/// A kernel's entry: buffers (inputs, then outputs), dims, first tile, end of tiles, scratch. Returns 0 or a fault.
pub type KernelFn = unsafe extern "C" fn(*const *mut u8, *const i64, i64, i64, *mut u8) -> i32;

/// A loaded model, ready to be run by any number of contexts.
pub struct Package {
    manifest: Manifest,
    /// Empty when a device has them.
    kernels: Vec<KernelFn>,
    /// Has the kernels and weights, when they're for one.
    device: Option<Arc<dyn Device>>,
    /// For each block and step the prepared routine of a built-in step.
    routines: Vec<Vec<Option<Box<dyn Routine>>>>,
    section: usize,
    weights: Weights,
    /// Keeps the kernels' code mapped.
    _code: Option<Map>,
    /// The mapped file, unless the package came from memory.
    file: Option<(Map, Header)>,
}

enum Weights {
    /// In the package file, from this offset on.
    Mapped {
        offset: usize,
        len: usize,
    },
    Owned {
        buffer: Buffer,
        len: usize,
    },
}

/// Loaded code.
enum Executable {
    Mapped(Map),
    Device(Arc<dyn Device>),
}

impl fmt::Debug for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Package({:?}, target {:?})", self.manifest.model, self.target())
    }
}

impl Package {
    /// Opens a package file and checks everything but the weights' hash.
    ///
    /// A package contains machine code that runs with all rights of this process: the checks find damage, not malice.
    /// The file must not be changed while the package is open.
    pub fn open(path: impl AsRef<Path>) -> Result<Package> {
        let path = path.as_ref();
        let io = |e: std::io::Error| Error::Io { path: path.display().to_string(), cause: e.to_string() };
        let (file, map) = Map::whole(path)?;
        let Contents { header, manifest } = read_package(map.bytes())?;

        let section = choose_section(&manifest)?;
        let (at, bytes) = section_range(&manifest, section);
        let at = header.code.offset + at;
        let weights =
            Weights::Mapped { offset: header.weights.offset as usize, len: header.weights.len as usize };
        let code_bytes = &map.bytes()[at as usize..][..bytes];
        let code = match manifest.sections.get(section).filter(|code| code.format.is_gpu()) {
            Some(code) => {
                let weights = &map.bytes()[header.weights.offset as usize..][..header.weights.len as usize];
                Executable::Device(device::open(&manifest, code, code_bytes, weights)?)
            }
            None if at % os::page_size() == 0 => {
                Executable::Mapped(Map::file(&file, at, bytes, Access::Execute).map_err(io)?)
            }
            None => Executable::Mapped(Map::executable_copy(code_bytes).map_err(io)?),
        };
        Self::assemble(manifest, section, code, weights, Some((map, header)))
    }

    /// Loads a package from bytes, which are copied: for packages that are embedded in a program or fetched.
    pub fn from_bytes(file: &[u8]) -> Result<Package> {
        let contents = read_package(file)?;
        contents.verify_weights(file)?;
        let Contents { header, manifest } = contents;
        let section = choose_section(&manifest)?;
        let (at, len) = section_range(&manifest, section);
        let bytes = &file[(header.code.offset + at) as usize..][..len];
        let weights = &file[header.weights.offset as usize..][..header.weights.len as usize];
        let weights = Weights::copied(weights)?;
        let code = match manifest.sections.get(section).filter(|code| code.format.is_gpu()) {
            Some(code) => Executable::Device(device::open(&manifest, code, bytes, weights.bytes(None))?),
            None => Executable::Mapped(
                Map::executable_copy(bytes)
                    .map_err(|e| Error::Io { path: "package in memory".into(), cause: e.to_string() })?,
            ),
        };
        Self::assemble(manifest, section, code, weights, None)
    }

    /// A package whose kernels are functions of this program: statically linked models, and tests. Section 0 must have
    /// the format [`CodeFormat::Native`]; its entries are indices into `functions`.
    pub fn in_memory(manifest: Manifest, functions: &[KernelFn], weights: &[u8]) -> Result<Package> {
        validate(&manifest, 0, weights.len() as u64)?;
        let entries = match manifest.sections.first() {
            Some(code) if code.format == CodeFormat::Native => &code.entries[..],
            None if manifest.kernels.is_empty() => &[],
            _ => return Err(Error::Target { cause: "the first section isn't native".into() }),
        };
        let function = |&entry: &u64| usize::try_from(entry).ok().and_then(|at| functions.get(at)).copied();
        let kernels: Option<Vec<KernelFn>> = entries.iter().map(function).collect();
        let kernels = kernels.ok_or_else(|| Error::invalid("code section 0", "an entry has no function"))?;
        let weights = Weights::copied(weights)?;
        let routines = prepare_routines(&manifest)?;
        Ok(Package {
            manifest,
            kernels,
            device: None,
            routines,
            section: 0,
            weights,
            _code: None,
            file: None,
        })
    }

    fn assemble(
        manifest: Manifest,
        section: usize,
        code: Executable,
        weights: Weights,
        file: Option<(Map, Header)>,
    ) -> Result<Package> {
        let routines = prepare_routines(&manifest)?;
        let (code, device) = match code {
            Executable::Mapped(map) => (Some(map), None),
            Executable::Device(device) => (None, Some(device)),
        };
        let start = code.as_ref().map_or(std::ptr::null(), |map| map.bytes().as_ptr());
        // Code for a device has no entries.
        let entries = manifest.sections.get(section).map_or(&[][..], |code| &code.entries);
        let kernels = entries
            .iter()
            .map(|&entry| {
                let entry = start.wrapping_add(entry as usize);
                // SAFETY: the entry is inside the mapped section (validated), which the package vouches to hold kernels
                // of this interface; the map lives as long as the package.
                unsafe { std::mem::transmute::<*const u8, KernelFn>(entry) }
            })
            .collect();
        Ok(Package { manifest, kernels, device, routines, section, weights, _code: code, file })
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The target of the code section in use; empty when the model has no kernels.
    pub fn target(&self) -> &str {
        self.manifest.sections.get(self.section).map_or("", |code| &code.target)
    }

    /// Reads all weights and compares their hash with the one in the package. Takes time on large models.
    pub fn verify_weights(&self) -> Result<()> {
        match &self.file {
            None => Ok(()),
            Some((map, header)) => {
                let contents = Contents { header: *header, manifest: Manifest::default() };
                contents.verify_weights(map.bytes())
            }
        }
    }

    /// Size of the weights in bytes.
    pub fn weights_bytes(&self) -> u64 {
        self.weights().len() as u64
    }

    /// The weights' bytes.
    pub(crate) fn weights(&self) -> &[u8] {
        self.weights.bytes(self.file.as_ref().map(|(map, _)| map))
    }

    /// The device that has the kernels, when they're for one.
    pub(crate) fn device(&self) -> Option<&Arc<dyn Device>> {
        self.device.as_ref()
    }

    /// Name of the device that executes the kernels; none when this machine's CPUs do.
    pub fn device_name(&self) -> Option<&str> {
        self.device.as_ref().map(|device| device.name())
    }

    pub(crate) fn kernel(&self, kernel: KernelId) -> KernelFn {
        self.kernels[kernel.index()]
    }

    pub(crate) fn routine(&self, block: usize, step: usize) -> Option<&dyn Routine> {
        self.routines[block][step].as_deref()
    }
}

impl Weights {
    /// The bytes; `file` is the mapped package.
    fn bytes<'a>(&'a self, file: Option<&'a Map>) -> &'a [u8] {
        match (self, file) {
            (Weights::Mapped { offset, len }, Some(map)) => &map.bytes()[*offset..][..*len],
            (Weights::Mapped { .. }, None) => &[],
            // SAFETY: the buffer was filled with `len` bytes and isn't written any more.
            (Weights::Owned { buffer, len }, _) => unsafe {
                std::slice::from_raw_parts(buffer.as_ptr(), *len)
            },
        }
    }

    fn copied(bytes: &[u8]) -> Result<Weights> {
        let mut buffer = Buffer::new();
        buffer.reserve(bytes.len() as u64, "the weights")?;
        // SAFETY: the buffer has room for the bytes and is new.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.as_ptr(), bytes.len()) };
        Ok(Weights::Owned { buffer, len: bytes.len() })
    }
}

/// The first section that this machine can run, or why there is none.
fn choose_section(manifest: &Manifest) -> Result<usize> {
    if manifest.kernels.is_empty() {
        return Ok(manifest.sections.len());
    }
    let mut reasons = Vec::new();
    for (at, code) in manifest.sections.iter().enumerate() {
        match unfit(code) {
            None => return Ok(at),
            Some(reason) => reasons.push(format!("{}: {reason}", code.target)),
        }
    }
    let cause = if reasons.is_empty() { "it has no code at all".into() } else { reasons.join("; ") };
    Err(Error::Target { cause })
}

/// Offset in the code part and length of a section; nothing when no section is needed.
fn section_range(manifest: &Manifest, section: usize) -> (u64, usize) {
    manifest.sections.get(section).map_or((0, 0), |code| (code.offset, code.len as usize))
}

/// Why this machine can't run a section. Of code for a GPU the device has the say, when it's opened.
fn unfit(code: &Code) -> Option<String> {
    if code.format.is_gpu() {
        return None;
    }
    if code.format != CodeFormat::Flat {
        return Some("not code for a CPU".into());
    }
    if code.arch != std::env::consts::ARCH {
        return Some(format!("it is for {}, this is {}", code.arch, std::env::consts::ARCH));
    }
    let missing: Vec<&str> =
        code.cpu_features.iter().map(|name| &name[..]).filter(|name| !os::has_cpu_feature(name)).collect();
    (!missing.is_empty()).then(|| format!("this CPU lacks {}", missing.join(", ")))
}

fn prepare_routines(manifest: &Manifest) -> Result<Vec<Vec<Option<Box<dyn Routine>>>>> {
    let prepare = |step: &Step| match step {
        Step::Builtin(step) => builtin::prepare(manifest, step).map(Some),
        _ => Ok(None),
    };
    manifest.blocks.iter().map(|block| block.steps.iter().map(prepare).collect()).collect()
}
