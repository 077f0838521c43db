//! What a package says about itself: dims, values, steps and kernels. Written by the compiler, validated at load.

use serde::{Deserialize, Serialize};

use super::dtype::DType;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// Position in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// Index into [`Manifest::symbols`].
    SymbolId
    /// Index into [`Manifest::exprs`].
    ExprId
    /// Index into [`Manifest::values`].
    ValueId
    /// Index into [`Manifest::checks`].
    CheckId
    /// Index into [`Manifest::blocks`].
    BlockId
    /// Index into [`Manifest::kernels`].
    KernelId
}

/// Everything but code and weights. Tables refer to each other by index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The model's name, for people.
    pub model: String,
    /// The compiler and its version, for people.
    pub producer: String,
    /// Table of integer slots: the sizes that are known only at bind time or during a run.
    pub symbols: Vec<Symbol>,
    /// Hash-consed integer expressions; a child's index is lower than its parent's.
    pub exprs: Vec<Expr>,
    pub inputs: Vec<Io>,
    pub outputs: Vec<Io>,
    pub checks: Vec<Check>,
    pub values: Vec<Value>,
    /// Steps in order; block 0 is the entry. Every other block is the body of exactly one step.
    pub blocks: Vec<Block>,
    pub kernels: Vec<Kernel>,
    /// One entry a code section; the runtime takes the first one that this machine can run, so the best comes first.
    pub sections: Vec<Code>,
    /// Constant string tensors, referred to by [`Storage::Strings`].
    pub strings: Vec<Vec<String>>,
    /// Number of growable buffers that [`Storage::Late`] values share.
    pub late_slots: u32,
    /// Number of slots for [`Storage::Object`] values.
    pub object_slots: u32,
    /// Bytes of the statically planned part of the arena (0 when all offsets are left to the runtime).
    pub arena_bytes: u64,
}

/// A named integer slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Symbol {
    pub name: String,
    pub source: SymbolSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SymbolSource {
    /// The size of an input's axis, known at bind time.
    InputDim { input: u32, axis: u32 },
    /// Set by a step during the run.
    Late,
}

/// How two integers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Cmp {
    Eq,
    Lt,
    Le,
}

/// A 64-bit integer expression. Overflow and division by zero are errors at the place of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Expr {
    Const(i64),
    Symbol(SymbolId),
    Add(ExprId, ExprId),
    Mul(ExprId, ExprId),
    /// Rounds towards minus infinity.
    FloorDiv(ExprId, ExprId),
    /// Rounds towards plus infinity.
    CeilDiv(ExprId, ExprId),
    /// Has the sign of the divisor: `a - b * floordiv(a, b)`.
    Mod(ExprId, ExprId),
    Min(ExprId, ExprId),
    Max(ExprId, ExprId),
    /// `then` where the comparison holds, else `otherwise`; the other branch may be undefined.
    Select {
        cmp: Cmp,
        a: ExprId,
        b: ExprId,
        then: ExprId,
        otherwise: ExprId,
    },
}

/// A model input or output. Its declared type and dims are those of `value`; a dim of an input that is a bare
/// [`SymbolSource::InputDim`] symbol of the same place binds the symbol, any other is checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Io {
    pub name: String,
    /// For input `i` a value with storage [`Storage::Input`]`(i)`. For outputs any storage.
    pub value: ValueId,
}

/// A condition that must hold, else the run fails with `message`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub cmp: Cmp,
    pub a: ExprId,
    pub b: ExprId,
    /// Names the node and what it needs, for example `Add "sum": dims N and M must be equal`.
    pub message: String,
    /// Evaluated when shapes are bound (then only over input dims); otherwise by a [`Step::Check`].
    pub at_bind: bool,
}

/// What kind of thing a value is. Only tensors of plain element types live in plain memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Form {
    Tensor,
    Sequence,
    Optional,
    OptionalSequence,
}

/// A tensor (row-major, dense), or a sequence or optional of tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// For people; may be empty.
    pub name: String,
    pub form: Form,
    /// Element type; of a sequence or optional, that of its tensors.
    pub dtype: DType,
    /// Of a tensor; empty for other forms.
    pub dims: Vec<ExprId>,
    pub storage: Storage,
}

/// Where a value lives. String tensors, sequences and optionals take `Input`, `Output`, `Object` or `Strings`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Storage {
    /// The caller's buffer for input `i`; never written.
    Input(u32),
    /// The buffer of output `i`, the caller's or the context's own.
    Output(u32),
    /// In the weights at this offset, a multiple of 64; dims are constant.
    Weight { offset: u64 },
    /// In the arena. Dims depend on input dims alone. Alive at the positions `first..=last` of the linearised steps.
    Arena {
        /// The place planned by the compiler; without one the runtime plans when shapes are bound.
        fixed: Option<Region>,
        first: u32,
        last: u32,
    },
    /// A growable buffer, sized when a step writes the value. Shared by values that are never alive together.
    Late { slot: u32 },
    /// An object: strings, sequence or optional.
    Object { slot: u32 },
    /// The constant string tensor `i`.
    Strings(u32),
    /// A dense part of another value's memory, from this byte on.
    Alias { of: ValueId, byte_offset: ExprId },
}

/// A planned part of the arena: the value's bytes at any admitted shape fit in `bytes`. `offset` is a multiple of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    pub offset: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub steps: Vec<Step>,
    /// In order, without overlap.
    pub task_graphs: Vec<TaskGraph>,
}

/// Kernel steps that threads run as one parallel region: each step's share waits for the shares that made what it
/// reads, and not for whole steps. All sizes of the steps are known when shapes are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskGraph {
    /// Position of the first step in its block.
    pub first: u32,
    pub steps: u32,
}

/// One thing to do. `sets` lists the late symbols that a step defines: a dim of the written value that is a bare
/// symbol of that list takes the size found, and every other dim is checked against it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    Kernel(KernelStep),
    /// Symbol := element `index` (flat) of an integer tensor.
    ReadDim {
        symbol: SymbolId,
        value: ValueId,
        index: u64,
    },
    /// Symbol := expression.
    SetDim {
        symbol: SymbolId,
        expr: ExprId,
    },
    Check(CheckId),
    /// Copies a value of any form; nothing happens where both are the same memory.
    Copy {
        from: ValueId,
        to: ValueId,
        sets: Vec<SymbolId>,
    },
    Builtin(BuiltinStep),
    /// Runs one of two blocks, by a bool scalar. The blocks end with copies into the step's results.
    If {
        cond: ValueId,
        then_block: BlockId,
        else_block: BlockId,
    },
    Loop(LoopStep),
}

/// A call of a compiled kernel, its tiles split over the threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelStep {
    pub kernel: KernelId,
    /// `bufs` is the inputs then the outputs.
    pub inputs: Vec<ValueId>,
    pub outputs: Vec<ValueId>,
    pub dims: Vec<ExprId>,
    /// Number of tiles (on a GPU, of work-groups); with none the kernel isn't called.
    pub tiles: ExprId,
    /// Bytes of scratch a thread needs; depends on input dims alone.
    pub scratch: ExprId,
    /// How much work one call of the step is: for the profile, and to keep tiny steps on one thread.
    pub work: Option<Work>,
    /// What a tile touches of each operand, inputs then outputs; all of it where that isn't known. Or nothing at all.
    pub spans: Vec<Option<Span>>,
}

/// The bytes of an operand that a tile touches lie in `[t, t + len)` for `t = tile / tiles * step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Neighbouring tiles that share one span.
    pub tiles: ExprId,
    pub step: ExprId,
    pub len: ExprId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    pub flops: ExprId,
    /// Bytes read and written.
    pub bytes: ExprId,
}

/// A call of a routine of the runtime's own library, `crate::builtin`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BuiltinStep {
    /// A name in the builtin table.
    pub op: String,
    /// The routine's attribute struct, serialised; `builtin::step` fills both.
    pub attrs: Vec<u8>,
    /// Nodes of the model, for errors.
    pub source: String,
    pub inputs: Vec<Option<ValueId>>,
    pub outputs: Vec<Option<ValueId>>,
    pub sets: Vec<SymbolId>,
}

/// Runs a block while the trip count isn't reached and the condition holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoopStep {
    /// Highest number of iterations, an i64 scalar; without one only the conditions end the loop.
    pub trip: Option<ValueId>,
    /// Whether to start at all, a bool scalar.
    pub cond_in: Option<ValueId>,
    /// An i64 scalar that the runtime sets to the number of the iteration.
    pub iter: Option<ValueId>,
    /// Whether to go on, a bool scalar that the body computes.
    pub cond_out: Option<ValueId>,
    /// All `next` values are taken before any `param` is replaced; a `next` must not live in another's `param`.
    pub carried: Vec<Carried>,
    pub scans: Vec<ScanOut>,
    pub body: BlockId,
    /// Symbols that only the body sets and dims of results use: 0 when the body never runs.
    pub zero_if_empty: Vec<SymbolId>,
}

/// State of a loop: `param` is `init` at first, then `next` of the iteration before. The result is `param` at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    pub init: ValueId,
    pub param: ValueId,
    pub next: ValueId,
    /// Late symbols among `param`'s dims that each replacement defines.
    pub sets: Vec<SymbolId>,
}

/// A loop's stacked result: each iteration appends `elem` as one more row of `stacked`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScanOut {
    pub elem: ValueId,
    /// Late or output storage, or any other that is large enough.
    pub stacked: ValueId,
    /// Set to the number of iterations; without one `stacked`'s dims must agree with what was appended.
    pub count: Option<SymbolId>,
}

/// A compiled routine; its entry is in each code section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    pub name: String,
    /// Nodes of the model that it computes, for errors and the profile.
    pub source: String,
    /// One call over all tiles, on one thread.
    pub serial: bool,
}

/// How a code section is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CodeFormat {
    /// Position-independent machine code for a CPU, mapped and jumped into.
    Flat,
    /// Functions of the running process, given to `Package::in_memory`.
    Native,
    /// PTX text for NVIDIA GPUs.
    Ptx,
    /// SPIR-V modules for compute shaders of Vulkan.
    SpirV,
}

impl CodeFormat {
    /// Whether kernels are launched on a device rather than called.
    pub fn is_gpu(self) -> bool {
        matches!(self, CodeFormat::Ptx | CodeFormat::SpirV)
    }
}

/// One code section: all kernels for one target. A package has sections for CPUs, or exactly one for a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Code {
    /// Target's name, for example `x86-64-v3`.
    pub target: String,
    /// Architecture as Rust names it, for example `x86_64`.
    pub arch: String,
    pub format: CodeFormat,
    /// What the code needs: CPU features as Rust names them (`avx2`), for SPIR-V device features as Vulkan names them
    /// (`shaderInt64`).
    pub cpu_features: Vec<String>,
    /// Place in the code part of the file, set by the writer; a multiple of the page size.
    pub offset: u64,
    pub len: u64,
    /// One entry a kernel: byte offset into the section (for `Flat`), index of the function (for `Native`). None for GPUs.
    pub entries: Vec<u64>,
    /// One entry a kernel for GPUs, none for CPUs.
    pub launches: Vec<Launch>,
}

/// How a kernel is launched on a GPU. Its tiles are work-groups: tile `t` is group `(t % 65535, t / 65535)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Place of the kernel's module, SPIR-V words or PTX text, inside the section.
    pub offset: u64,
    pub len: u64,
    /// Name of the entry point.
    pub entry: String,
    /// Threads of a work-group, in x; y and z are 1. SPIR-V modules state the same local size.
    pub threads: u32,
}
