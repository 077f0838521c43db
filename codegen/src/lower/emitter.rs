//! The state of writing one kernel's body: sizes, buffers, positions on axes, and memory accesses.

use super::repr;
use super::scalar::INDEX;
use super::space::Space;
use super::writer::{Ty, Val, Writer};
use crate::mlir::{Buffer, Part};
use crate::target::{Arch, Target};
use indexmap::{IndexMap, IndexSet};
use tcc_ir::kernel::{AxisId, BufferId, BufferKind, ExprId, Kernel, Places, Stage};
use tcc_ir::{DType, Dim};

pub struct Emitter<'a> {
    pub kernel: &'a Kernel,
    pub target: &'a Target,
    pub w: Writer,
    /// Sizes that aren't constants, in the order of the kernel's dim arguments.
    dims: IndexSet<Dim>,
    /// The memref behind each buffer.
    memory: Vec<Memory>,
    /// Present positions on axes.
    axes: IndexMap<AxisId, Val>,
    /// An axis of which a tile does only the positions `lo..hi`.
    pub stretch: Option<(AxisId, Val, Val)>,
    /// Expressions computed at the present point.
    pub known: IndexMap<ExprId, Val>,
    /// Checks and loads of temporaries done in front of the present loops, which they don't depend on.
    pub hoisted: IndexMap<ExprId, Val>,
    /// In front of loops: whether they run. Where they don't, a load may have nothing to read.
    pub reached: Option<Val>,
    pub accs: Vec<Val>,
    pub accs_before: Vec<Val>,
    pub can_fail: bool,
    /// Arrays on the stack: made once, outside of every loop.
    arrays: Vec<(String, Ty, i64)>,
    /// Constant arrays, filled at the start.
    tables: IndexMap<(Ty, &'static [u64]), String>,
    /// Functions that the body calls.
    parts: Vec<Part>,
}

/// A memref that bodies use: its name and its type.
#[derive(Clone, Default, Debug)]
pub struct Memory {
    pub name: String,
    pub ty: String,
}

/// Alignment of temporaries in scratch memory.
const ALIGN: i64 = 64;

impl<'a> Emitter<'a> {
    /// Starts a body. Buffers that are operands are `%b0`, `%b1`... in the order inputs, outputs; temporaries have no
    /// place yet.
    pub fn new(kernel: &'a Kernel, target: &'a Target) -> Self {
        let mut e = Emitter {
            kernel,
            target,
            w: Writer::default(),
            dims: IndexSet::new(),
            memory: vec![Memory::default(); kernel.buffers.len()],
            axes: IndexMap::new(),
            stretch: None,
            known: IndexMap::new(),
            hoisted: IndexMap::new(),
            reached: None,
            accs: Vec::new(),
            accs_before: Vec::new(),
            can_fail: false,
            arrays: Vec::new(),
            tables: IndexMap::new(),
            parts: Vec::new(),
        };
        e.w.carries_in_memory = Some(target.arch).filter(|arch| *arch == Arch::Spirv);
        for (i, id) in operands(kernel).enumerate() {
            let elem = e.element(id);
            e.place(id, Memory { name: format!("%b{i}"), ty: Space::Buffer.memref(target.arch, None, elem) });
        }
        e
    }

    /// Says where a buffer is.
    pub fn place(&mut self, buffer: BufferId, memory: Memory) {
        self.memory[buffer.0 as usize] = memory;
    }

    /// Gives temporaries their place in scratch memory. Returns the bytes that they take.
    pub fn temps_in_scratch(&mut self) -> Dim {
        let places = Places::of(self.kernel);
        let mut starts = vec![Dim::from(0)];
        for bytes in &places.bytes {
            let used = &starts[starts.len() - 1];
            starts.push(used.clone() + aligned(bytes));
        }
        for (id, place) in &places.of {
            let (at, n) = (self.dim(&starts[*place]), self.dim(&self.kernel.buffer(*id).ty.n_elements()));
            let elem = self.element(*id);
            let at = self.w.index_cast(&at, Ty::Index);
            let n = self.w.index_cast(&n, Ty::Index);
            let memory = Memory { name: format!("%t{}", id.0), ty: format!("memref<?x{elem}>") };
            self.w.line(format_args!(
                "{} = memref.view %scratch[{at}][{n}] : memref<?xi8> to {}",
                memory.name, memory.ty
            ));
            self.place(*id, memory);
        }
        starts.pop().expect("the end of the last one")
    }

    /// Adds a function for the body to call, if it isn't there: what the body calls it.
    pub fn part(&mut self, mut part: Part) -> String {
        let like = |known: &&Part| {
            (&known.memory, &known.sizes, &known.body) == (&part.memory, &part.sizes, &part.body)
        };
        if let Some(known) = self.parts.iter().find(like) {
            return known.callee();
        }
        part.name += &self.parts.len().to_string();
        let callee = part.callee();
        self.parts.push(part);
        callee
    }

    /// The functions that the body calls.
    pub fn take_parts(&mut self) -> Vec<Part> {
        std::mem::take(&mut self.parts)
    }

    /// The finished body and its dims.
    pub fn finish(self) -> (String, Vec<Dim>) {
        let mut head = Writer::default();
        for i in 0..self.dims.len() {
            head.line(format_args!("%dim{i} = arith.index_cast %d{i} : index to {INDEX}"));
        }
        for (name, ty, n) in &self.arrays {
            head.line(format_args!("{name} = memref.alloca() : {}", self.array_type(*ty, *n)));
        }
        for ((ty, words), name) in &self.tables {
            for (i, word) in words.iter().enumerate() {
                head.line(format_args!("{name}.at{i} = arith.constant {i} : index"));
                head.line(format_args!("{name}.word{i} = arith.constant {word} : {ty}"));
                let array = self.array_type(*ty, words.len() as i64);
                head.line(format_args!("memref.store {name}.word{i}, {name}[{name}.at{i}] : {array}"));
            }
        }
        // On a GPU faults go to the launch's own buffer.
        let keeps_fault = self.can_fail && !self.target.is_gpu();
        if keeps_fault {
            head.line("%fault = memref.alloca() : memref<1xi32>");
            head.line("%fault.none = arith.constant 0 : i32");
            head.line("%fault.at = arith.constant 0 : index");
            head.line("memref.store %fault.none, %fault[%fault.at] : memref<1xi32>");
        }
        let mut tail = Writer::default();
        if keeps_fault {
            tail.line("%fault.code = memref.load %fault[%fault.at] : memref<1xi32>");
        }
        (head.finish() + &self.w.finish() + &tail.finish(), self.dims.into_iter().collect())
    }

    /// A size as i64.
    pub fn dim(&mut self, d: &Dim) -> Val {
        match d.as_const() {
            Some(c) => self.w.int(INDEX, c),
            None => {
                let (i, _) = self.dims.insert_full(d.clone());
                Val::named(&format!("%dim{i}"), INDEX)
            }
        }
    }

    /// A size as index.
    pub fn dim_index(&mut self, d: &Dim) -> Val {
        match d.as_const() {
            Some(c) => self.w.index(c),
            None => {
                let (i, _) = self.dims.insert_full(d.clone());
                Val::named(&format!("%d{i}"), Ty::Index)
            }
        }
    }

    /// The memref type of an array on the stack.
    pub fn array_type(&self, ty: Ty, n: i64) -> String {
        Space::Private.memref(self.target.arch, Some(n), ty)
    }

    /// An array of `n` elements on the stack: the name of its memref.
    pub fn array(&mut self, ty: Ty, n: i64) -> String {
        let name = self.w.fresh();
        self.arrays.push((name.clone(), ty, n));
        name
    }

    /// A constant array of integers.
    pub fn table(&mut self, ty: Ty, words: &'static [u64]) -> Memory {
        let n = words.len() as i64;
        let name = match self.tables.get(&(ty, words)) {
            Some(name) => name.clone(),
            None => {
                let name = self.array(ty, n);
                self.tables.insert((ty, words), name.clone());
                name
            }
        };
        Memory { name, ty: self.array_type(ty, n) }
    }

    /// The present position on an axis, as i64.
    pub fn axis(&self, axis: AxisId) -> Val {
        self.axes[&axis].clone()
    }

    /// Moves to a position on an axis; what was computed elsewhere is forgotten.
    pub fn set_axis(&mut self, axis: AxisId, at: Val) {
        self.axes.insert(axis, at);
        self.known.clear();
    }

    /// Row-major offset of an element.
    pub fn position(&mut self, stage: &Stage, buffer: BufferId, index: &[ExprId]) -> Val {
        let shape = &self.kernel.buffer(buffer).ty.shape;
        let mut at: Option<Val> = None;
        for (extent, i) in shape.iter().zip(index) {
            let i = self.eval(stage, *i);
            at = Some(match at {
                None => i,
                Some(outer) => {
                    let n = self.dim(extent);
                    let scaled = self.w.bin("arith.muli", &outer, &n);
                    self.w.bin("arith.addi", &scaled, &i)
                }
            });
        }
        match at {
            Some(at) => self.w.index_cast(&at, Ty::Index),
            None => self.w.index(0),
        }
    }

    /// The type of a buffer's elements in memory.
    pub fn element(&self, buffer: BufferId) -> Ty {
        repr::memory(self.kernel.buffer(buffer).ty.dtype, &self.target.can)
    }

    pub fn memref(&self, buffer: BufferId) -> (Memory, Ty, DType) {
        let dtype = self.kernel.buffer(buffer).ty.dtype;
        (self.memory[buffer.0 as usize].clone(), self.element(buffer), dtype)
    }

    pub fn load(&mut self, buffer: BufferId, at: &Val) -> Val {
        let (memory, ty, dtype) = self.memref(buffer);
        let raw = self.w.load(&memory, ty, at);
        repr::widen(&mut self.w, dtype, &raw, &self.target.can)
    }

    /// A load where `guard` holds, else zero.
    pub fn load_if(&mut self, buffer: BufferId, at: &Val, guard: &Val) -> Val {
        let (memory, ty, dtype) = self.memref(buffer);
        let zero = match ty {
            Ty::Float(_) if ty == Ty::Float(16) => self.w.def(ty, "arith.constant 0.0 : f16"),
            Ty::Float(_) => self.w.float(ty, 0.0),
            _ => self.w.int(ty, 0),
        };
        let raw = self.w.if_else(guard, &[ty], |w| vec![w.load(&memory, ty, at)], |_| vec![zero]);
        let value = repr::widen(&mut self.w, dtype, &raw[0], &self.target.can);
        if repr::code_0_is_zero(dtype) {
            return value;
        }
        let zero = self.zero(dtype);
        self.w.select(guard, &value, &zero)
    }

    pub fn store(&mut self, buffer: BufferId, at: &Val, value: &Val) {
        let (memory, _, dtype) = self.memref(buffer);
        let raw = repr::narrow(&mut self.w, dtype, value, &self.target.can);
        self.w.store(&raw, &memory, at);
    }

    /// The operands as arguments of the kernel's function.
    pub fn operand_buffers(&self) -> Vec<Buffer> {
        operands(self.kernel)
            .map(|id| {
                Buffer::new(&self.element(id).to_string(), self.kernel.buffer(id).ty.dtype.size() as u32)
            })
            .collect()
    }

    /// Splits a linear number into positions on axes, last axis fastest.
    pub fn set_axes_from_linear(&mut self, axes: &[AxisId], linear: &Val) {
        // On the target's own index type: not every target divides 64-bit integers.
        let mut left = linear.clone();
        for (i, axis) in axes.iter().enumerate().rev() {
            if i == 0 {
                self.enter(*axis, &left);
                break;
            }
            let n = self.dim_index(&self.kernel.extent(*axis).clone());
            let at = self.w.bin("arith.remui", &left, &n);
            left = self.w.bin("arith.divui", &left, &n);
            self.enter(*axis, &at);
        }
    }
}

/// Operand buffers: inputs in order, then outputs in order.
pub fn operands(kernel: &Kernel) -> impl Iterator<Item = BufferId> {
    kernel.buffers_of(BufferKind::Input).chain(kernel.buffers_of(BufferKind::Output)).map(|(id, _)| id)
}

/// Bytes rounded up to the alignment of temporaries.
pub fn aligned(bytes: &Dim) -> Dim {
    bytes.ceil_div(&ALIGN.into()) * ALIGN.into()
}
