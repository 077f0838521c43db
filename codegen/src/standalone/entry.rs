//! The function that runs a model: its steps as straight code, over the caller's arena.

use tcc_runtime::package::{
    BlockId, Cmp, DType, ExprId, KernelStep, Manifest, Step, Storage, SymbolId, ValueId,
};

use super::interface::Interface;
use super::number::{Number, Numbers, compare};
use super::range::{Range, always};
use super::text::{Offset, Writer};
use super::{WEIGHTS, status};
use crate::mlir::Function;
use crate::target::Target;

/// The model's function and what it calls besides kernels, as text of a module.
pub fn write(
    manifest: &Manifest,
    kernels: &[Function],
    interface: &Interface,
    ranges: &[Option<Range>],
    target: &Target,
) -> String {
    let mut w = Writer::default();
    let slots = slots(&mut w, manifest, interface, target);
    let numbers = Numbers::new(&mut w, manifest, ranges, !target.can.i64_division, slots);
    let mut entry = Entry { w, manifest, kernels, interface, numbers, inputs: vec![], outputs: vec![] };
    entry.arguments(u64::from(target.pointer_bits / 8));
    for (at, check) in manifest.checks.iter().enumerate().filter(|(_, check)| check.at_bind) {
        entry.check(at, check.cmp, (check.a, check.b));
    }
    entry.block(BlockId(0));
    entry.results();
    let ok = entry.w.constant(status::OK.into(), "i32");
    entry.w.line(format_args!("llvm.br ^end({ok} : i32)"));
    entry.w.begin("^end", "%status: i32");
    entry.w.line(format_args!("llvm.return %status : i32"));
    let name = &interface.name;
    let body = entry.w.finish();
    format!(
        "{COPIES}  llvm.func @{name}_run(%inputs: !llvm.ptr, %outputs: !llvm.ptr, %arena: !llvm.ptr) -> i32 {{\n{body}  }}\n"
    )
}

/// Copies of elements of 8, 16, 32 and 64 bits: no call of a library. Both places are aligned for the elements.
const COPIES: &str = include_str!("copies.mlir");

/// Ends the call where a pointer is null.
fn require_pointer(w: &mut Writer, pointer: &str) {
    let null = w.value(format_args!("llvm.mlir.zero : !llvm.ptr"));
    let given = w.value(format_args!("llvm.icmp \"ne\" {pointer}, {null} : !llvm.ptr"));
    w.require(&given, status::ARGUMENT);
}

/// The places of the symbols' values. The caller's come from the struct of inputs, whose pointer is checked first.
fn slots(w: &mut Writer, manifest: &Manifest, interface: &Interface, target: &Target) -> Vec<String> {
    let one = w.constant(1, "i64");
    let zero = w.constant(0, "i64");
    let mut slots: Vec<String> = Vec::new();
    for _ in &manifest.symbols {
        let slot =
            w.value(format_args!("llvm.alloca {one} x i64 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr"));
        // A loop that never runs leaves the sizes that only its body sets at 0.
        w.store(&zero, &slot, "i64", 8);
        slots.push(slot);
    }
    for (pointer, is_used) in [
        ("%inputs", !interface.inputs.is_empty() || !interface.sizes.is_empty()),
        ("%outputs", !interface.outputs.is_empty()),
        ("%arena", interface.arena_bytes > 0),
    ] {
        if is_used {
            require_pointer(w, pointer);
        }
    }
    if interface.arena_bytes > 0 {
        let int = format!("i{}", target.pointer_bits);
        let address = w.value(format_args!("llvm.ptrtoint %arena : !llvm.ptr to {int}"));
        let mask = w.constant(Interface::ARENA_ALIGN as i64 - 1, &int);
        let rest = w.value(format_args!("arith.andi {address}, {mask} : {int}"));
        let zero = w.constant(0, &int);
        let aligned = w.value(format_args!("arith.cmpi eq, {rest}, {zero} : {int}"));
        w.require(&aligned, status::ARGUMENT);
    }
    for (at, size) in interface.sizes.iter().enumerate() {
        let field = w.offset("%inputs", &Offset::Const(8 * at as i64));
        let value = w.load(&field, "i64", 8);
        for (sign, bound) in [("sge", size.range.lo), ("sle", size.range.hi)] {
            let bound = w.constant(bound, "i64");
            let inside = w.value(format_args!("arith.cmpi {sign}, {value}, {bound} : i64"));
            w.require(&inside, status::SIZE);
        }
        w.store(&value, &slots[size.symbol.index()], "i64", 8);
    }
    slots
}

pub(super) struct Entry<'a> {
    pub w: Writer,
    pub manifest: &'a Manifest,
    kernels: &'a [Function],
    interface: &'a Interface,
    pub numbers: Numbers<'a>,
    /// Names of the caller's pointers.
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl Entry<'_> {
    /// Loads the caller's pointers.
    fn arguments(&mut self, pointer_bytes: u64) {
        let first = 8 * self.interface.sizes.len() as u64;
        let interface = self.interface;
        for (table, start, ports) in
            [("%inputs", first, &interface.inputs), ("%outputs", 0, &interface.outputs)]
        {
            let mut pointers = Vec::new();
            for (at, port) in ports.iter().enumerate() {
                let field = Offset::Const((start + at as u64 * pointer_bytes) as i64);
                let field = self.w.offset(table, &field);
                let pointer = self.w.load(&field, "!llvm.ptr", pointer_bytes);
                // Of a tensor without elements nothing is touched.
                if port.elements > 0 {
                    require_pointer(&mut self.w, &pointer);
                }
                pointers.push(pointer);
            }
            if table == "%inputs" { self.inputs = pointers } else { self.outputs = pointers }
        }
    }

    pub fn block(&mut self, block: BlockId) {
        for step in &self.manifest.blocks[block.index()].steps {
            match step {
                Step::Kernel(step) => self.kernel(step),
                Step::ReadDim { symbol, value, index } => {
                    let number = self.read_integer(*value, *index);
                    self.set(*symbol, &number, None);
                }
                Step::SetDim { symbol, expr } => {
                    let number = self.size(*expr).value(&mut self.w);
                    self.set(*symbol, &number, self.numbers.range(*expr));
                }
                Step::Check(id) => {
                    let check = &self.manifest.checks[id.index()];
                    self.check(id.index(), check.cmp, (check.a, check.b));
                }
                Step::Copy { from, to, .. } => self.copy(*from, *to),
                Step::If { cond, then_block, else_block } => self.if_step(*cond, *then_block, *else_block),
                Step::Loop(step) => self.loop_step(step),
                Step::Builtin(step) => unreachable!("{} was refused", step.op),
            }
        }
    }

    pub fn size(&mut self, expr: ExprId) -> Number {
        self.numbers.get(&mut self.w, expr, status::SIZE)
    }

    /// Sets a symbol, after a check that sizes of it can be computed with.
    fn set(&mut self, symbol: SymbolId, number: &str, range: Option<Range>) {
        if !range.is_some_and(|range| range.is_within(Range::LATE)) {
            for (sign, bound) in [("sge", Range::LATE.lo), ("sle", Range::LATE.hi)] {
                let bound = self.w.constant(bound, "i64");
                let inside = self.w.value(format_args!("arith.cmpi {sign}, {number}, {bound} : i64"));
                self.w.require(&inside, status::SIZE);
            }
        }
        let slot = self.numbers.slot(symbol).to_string();
        self.w.store(number, &slot, "i64", 8);
    }

    fn check(&mut self, at: usize, cmp: Cmp, (a, b): (ExprId, ExprId)) {
        if let (Some(x), Some(y)) = (self.numbers.range(a), self.numbers.range(b))
            && always(cmp, x, y) == Some(true)
        {
            return;
        }
        let (a, b) = (self.size(a), self.size(b));
        let holds = compare(&mut self.w, cmp, &a, &b);
        self.w.require(&holds, status::CHECK + at as i32);
    }

    fn kernel(&mut self, step: &KernelStep) {
        let function = &self.kernels[step.kernel.index()];
        let values = || step.inputs.iter().chain(&step.outputs);
        for dim in values().flat_map(|value| &self.manifest.values[value.index()].dims) {
            self.extent(*dim);
        }
        let tiles = self.size(step.tiles);
        if matches!(tiles, Number::Const(..=0)) {
            return;
        }
        let skip = match &tiles {
            Number::Const(_) => None,
            Number::Computed { value, .. } => {
                let (run, next) = (self.w.label(), self.w.label());
                let zero = self.w.constant(0, "i64");
                let some = self.w.value(format_args!("arith.cmpi sgt, {value}, {zero} : i64"));
                self.w.line(format_args!("llvm.cond_br {some}, {run}, {next}"));
                self.w.begin(&run, "");
                Some(next)
            }
        };
        let mut arguments = Vec::new();
        let mut types = Vec::new();
        for value in values() {
            arguments.push(self.place(*value));
            types.push("!llvm.ptr");
        }
        for dim in &step.dims {
            let dim = self.size(*dim);
            arguments.push(dim.value(&mut self.w));
            types.push("i64");
        }
        arguments.push(self.w.constant(0, "i64"));
        arguments.push(tiles.value(&mut self.w));
        let scratch = Offset::Const(self.interface.scratch_offset.map_or(0, |offset| offset as i64));
        arguments.push(self.w.offset("%arena", &scratch));
        types.extend(["i64", "i64", "!llvm.ptr"]);
        let (name, arguments, types) = (&function.name, arguments.join(", "), types.join(", "));
        let fault = self.w.value(format_args!("llvm.call @{name}.body({arguments}) : ({types}) -> i32"));
        if function.fault.is_some() {
            let zero = self.w.constant(0, "i32");
            let failed = self.w.value(format_args!("arith.cmpi ne, {fault}, {zero} : i32"));
            let done = self.w.label();
            self.w.line(format_args!("llvm.cond_br {failed}, ^end({fault} : i32), {done}"));
            self.w.begin(&done, "");
        }
        if let Some(next) = skip {
            self.w.line(format_args!("llvm.br {next}"));
            self.w.begin(&next, "");
        }
    }

    /// Where a value is.
    pub fn place(&mut self, value: ValueId) -> String {
        match self.manifest.values[value.index()].storage {
            Storage::Input(i) => self.inputs[i as usize].clone(),
            Storage::Output(i) => self.outputs[i as usize].clone(),
            Storage::Weight { offset } => {
                let start = self.w.value(format_args!("llvm.mlir.addressof @{WEIGHTS} : !llvm.ptr"));
                self.w.offset(&start, &Offset::Const(offset as i64))
            }
            Storage::Arena { fixed, .. } => {
                let region = fixed.expect("what isn't planned was refused");
                self.w.offset("%arena", &Offset::Const(region.offset as i64))
            }
            Storage::Alias { of, byte_offset } => {
                let start = self.place(of);
                let offset = self.size(byte_offset);
                self.w.offset(&start, &offset.into())
            }
            Storage::Late { .. } | Storage::Object { .. } | Storage::Strings(_) => {
                unreachable!("values without planned memory were refused")
            }
        }
    }

    /// An element of an integer or bool tensor, as an i64.
    pub fn read_integer(&mut self, value: ValueId, index: u64) -> String {
        let dtype = self.manifest.values[value.index()].dtype;
        let size = dtype.size() as u64;
        let count = self.elements(value);
        if !matches!(count, Number::Const(count) if index < count as u64) {
            let exists = compare(&mut self.w, Cmp::Lt, &Number::Const(index as i64), &count);
            self.w.require(&exists, status::SIZE);
        }
        let place = self.place(value);
        let at = self.w.offset(&place, &Offset::Const((index * size) as i64));
        let int = format!("i{}", 8 * size);
        let element = self.w.load(&at, &int, size);
        let signed =
            matches!(dtype, DType::I64 | DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I2);
        match size {
            8 => element,
            _ if signed => self.w.value(format_args!("arith.extsi {element} : {int} to i64")),
            _ => self.w.value(format_args!("arith.extui {element} : {int} to i64")),
        }
    }

    /// The number of elements of a value.
    pub fn elements(&mut self, value: ValueId) -> Number {
        let mut product = Number::Const(1);
        for dim in &self.manifest.values[value.index()].dims {
            let dim = self.extent(*dim);
            product = match (&product, &dim) {
                // A later 0 makes the tensor empty, however large the others are.
                (Number::Const(a), Number::Const(b)) => Number::Const(a.saturating_mul(*b)),
                (Number::Const(1), _) => dim,
                _ => {
                    let (a, b) = (product.value(&mut self.w), dim.value(&mut self.w));
                    let value = self.w.value(format_args!("arith.muli {a}, {b} : i64"));
                    Number::Computed { value, defined: None }
                }
            };
        }
        product
    }

    /// A size that is the extent of an axis: not negative.
    fn extent(&mut self, dim: ExprId) -> Number {
        let extent = self.size(dim);
        if self.numbers.range(dim).is_some_and(|range| range.lo < 0) {
            let possible = compare(&mut self.w, Cmp::Le, &Number::Const(0), &extent);
            self.w.require(&possible, status::SIZE);
        }
        extent
    }

    /// Copies a value into another of its type; the sizes agree.
    pub fn copy(&mut self, from: ValueId, to: ValueId) {
        let elements = self.elements(from);
        let (source, destination) = (self.place(from), self.place(to));
        self.copy_elements(&source, &destination, &elements, self.manifest.values[from.index()].dtype);
    }

    pub fn copy_elements(&mut self, from: &str, to: &str, elements: &Number, dtype: DType) {
        if from == to {
            return;
        }
        let size = dtype.size() as u64;
        // A number of two parts has the alignment of a part.
        let (unit, parts) = if size > 8 { (8, size / 8) } else { (size, 1) };
        let int = format!("i{}", 8 * unit);
        match elements {
            Number::Const(0) => {}
            Number::Const(1) if parts == 1 => {
                let element = self.w.load(from, &int, unit);
                self.w.store(&element, to, &int, unit);
            }
            _ => {
                let mut count = elements.value(&mut self.w);
                if parts > 1 {
                    let parts = self.w.constant(parts as i64, "i64");
                    count = self.w.value(format_args!("arith.muli {count}, {parts} : i64"));
                }
                self.w.line(format_args!(
                    "llvm.call @tcc.copy.{int}({to}, {from}, {count}) : (!llvm.ptr, !llvm.ptr, i64) -> ()"
                ));
            }
        }
    }

    /// Copies the results that weren't computed in the caller's memory.
    fn results(&mut self) {
        for (at, output) in self.manifest.outputs.iter().enumerate() {
            let elements = self.elements(output.value);
            let (from, to) = (self.place(output.value), self.outputs[at].clone());
            self.copy_elements(&from, &to, &elements, self.manifest.values[output.value.index()].dtype);
        }
    }
}
