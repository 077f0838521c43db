//! The kernels of a program: lowered, and equal ones once.

use crate::gpu::{self, Group};
use crate::lower::{Lowered, lower, lower_without_packing};
use crate::mlir::{Buffer, Part, module_text};
use crate::target::Target;
use indexmap::IndexMap;
use tcc_ir::Dim;
use tcc_ir::diag::{Code, Diagnostic};
use tcc_ir::kernel::Kernel;
use tcc_runtime::package as rt;

/// Kernels in one module on CPUs: enough to share what a module costs, few enough to keep several threads busy. On
/// GPUs each has a module of its own.
const KERNELS_PER_MODULE: usize = 12;

/// What tells kernels apart.
type Key = ((String, Vec<Part>), Vec<Buffer>, bool, Option<Group>);

pub struct Kernels<'a> {
    pub target: &'a Target,
    known: IndexMap<Key, usize>,
    /// Lowered kernels, with the nodes that the first of equal ones computes.
    pub list: Vec<(Lowered, String)>,
    /// What the target can't do, in words.
    refused: Vec<String>,
}

impl<'a> Kernels<'a> {
    pub fn new(target: &'a Target) -> Self {
        Kernels { target, known: IndexMap::new(), list: Vec::new(), refused: Vec::new() }
    }

    /// Lowers a kernel; gives its number and how to call it, or None for one that the target can't do: see
    /// [`Kernels::refusal`]. Kernels with the same text are one. The runtime takes scratch memory when shapes are
    /// bound: where `is_late` says that a size is known only later, the kernel is written without packing.
    pub fn add(
        &mut self,
        kernel: &Kernel,
        source: &str,
        is_late: &dyn Fn(&Dim) -> bool,
    ) -> Option<(usize, Lowered)> {
        let plain: String =
            kernel.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let name = format!("k{}_{plain}", self.list.len());
        let lowered = match self.target.is_gpu() {
            true => gpu::lower(kernel, &name, self.target),
            false => {
                let packed = lower(kernel, &name, self.target);
                let late = is_late(&packed.scratch);
                Ok(if late { lower_without_packing(kernel, &name, self.target) } else { packed })
            }
        };
        let lowered = match lowered {
            Ok(lowered) => lowered,
            Err(reason) => {
                self.refused.push(format!("kernel {} of node {source}: {reason}", kernel.name));
                return None;
            }
        };
        let function = &lowered.function;
        let code = (function.body.clone(), function.parts.clone());
        let key = (code, function.buffers.clone(), lowered.serial, lowered.group.clone());
        let id = *self.known.entry(key).or_insert_with(|| {
            self.list.push((lowered.clone(), source.to_string()));
            self.list.len() - 1
        });
        Some((id, lowered))
    }

    /// One error about all kernels that the target can't do.
    pub fn refusal(&self) -> Option<Diagnostic> {
        let n = self.refused.len();
        let message = format!(
            "target {} can't do {n} kernel{} of this model yet",
            self.target.name,
            if n == 1 { "" } else { "s" }
        );
        let error = Diagnostic::error(Code::TargetUnsupported, message)
            .help("compile for a CPU: `tcc targets` lists them");
        (n > 0).then(|| self.refused.iter().fold(error, |error, reason| error.note(reason)))
    }

    /// MLIR text of the modules, in order.
    pub fn modules(&self) -> Vec<String> {
        if self.target.is_gpu() {
            return self.list.iter().map(|(lowered, _)| gpu::module_text(lowered, self.target)).collect();
        }
        self.list
            .chunks(KERNELS_PER_MODULE)
            .map(|chunk| {
                let functions: Vec<_> = chunk.iter().map(|(lowered, _)| lowered.function.clone()).collect();
                module_text("", &functions, self.target.index_bits)
            })
            .collect()
    }

    pub fn manifest(&self) -> Vec<rt::Kernel> {
        let kernel = |(lowered, source): &(Lowered, String)| rt::Kernel {
            name: lowered.function.name.clone(),
            source: source.clone(),
            serial: lowered.serial,
        };
        self.list.iter().map(kernel).collect()
    }
}
