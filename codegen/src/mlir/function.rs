//! Writes what surrounds a kernel's body: the entry function of the run-time ABI and the body's own signature.

use std::fmt::Write;

/// A buffer argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// Element type as MLIR writes it: `f32`, `i8`, `bf16`... bool is `i8`.
    pub element: String,
    /// Whether another argument may share its memory (an output that takes an input's place). Without it the
    /// compiler is promised that no other argument touches what this one writes.
    pub in_place: bool,
    /// Alignment in bytes that every caller keeps; a view into another value has its element's only.
    pub align: u32,
}

impl Buffer {
    /// A buffer that shares no memory, aligned for `element_bytes`.
    pub fn new(element: &str, element_bytes: u32) -> Self {
        Self { element: element.to_owned(), in_place: false, align: element_bytes.max(1) }
    }
}

/// A kernel: its body's text and what the wrapper needs to know. Names in the body: see [the module](super).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Symbol of the entry: letters, digits, `_`, `.` and `$`.
    pub name: String,
    /// Buffers, in the order of the step's arguments.
    pub buffers: Vec<Buffer>,
    /// How many dims the kernel takes.
    pub n_dims: usize,
    /// Operations, one a line.
    pub body: String,
    /// What the body calls.
    pub parts: Vec<Part>,
    /// Name of the `i32` that the body leaves as fault code; none for a kernel that can't fail.
    pub fault: Option<String>,
}

/// A function of a kernel's own, that stays out of line: what is allocated registers by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Within the kernel.
    pub name: String,
    /// Memory that it gets: names, element types, and whether it is written. No two share any of it that is written.
    pub memory: Vec<(String, String, bool)>,
    /// Sizes that it gets, as `index`.
    pub sizes: Vec<String>,
    /// Operations, one a line.
    pub body: String,
}

/// What stands for the kernel's symbol in the names that a body calls: equal kernels have equal bodies.
const OWN: &str = "@$OWN.";

impl Part {
    /// How the kernel's body names it.
    pub fn callee(&self) -> String {
        format!("{OWN}{}", self.name)
    }

    fn write(&self, text: &mut String, kernel: &str, index_bits: u32) {
        let memory = self.memory.iter().map(|(name, _, written)| {
            let only = if *written { "" } else { ", llvm.readonly" };
            format!("%abi.{name}: !llvm.ptr {{llvm.noalias{only}}}")
        });
        let sizes = self.sizes.iter().map(|name| format!("%abi.{name}: i64"));
        let params: Vec<String> = memory.chain(sizes).collect();
        line(
            text,
            format_args!(
                "  llvm.func internal @{kernel}.{}({}) attributes {{no_inline}} {{",
                self.name,
                params.join(", ")
            ),
        );
        let views = Descriptor { index_bits };
        views.write_prototype(text);
        for (name, element, _) in &self.memory {
            views.write_view(text, name, element);
        }
        for name in &self.sizes {
            line(text, format_args!("    %{name} = arith.index_cast %abi.{name} : i64 to index"));
        }
        text.push_str(&self.body);
        line(text, format_args!("    llvm.return\n  }}"));
    }
}

/// A module of kernels for a CPU, preceded by `helpers`: globals and functions that several bodies share.
pub fn module_text(helpers: &str, functions: &[Function], index_bits: u32) -> String {
    let mut text = module_head(index_bits);
    text += helpers;
    for function in functions {
        function.write(&mut text, index_bits);
    }
    text += "}\n";
    text
}

/// A module of kernels without entries: `helpers` call their bodies.
pub(crate) fn module_of_bodies(helpers: &str, functions: &[Function], index_bits: u32) -> String {
    let mut text = module_head(index_bits);
    text += helpers;
    for function in functions {
        function.write_body(&mut text, index_bits);
    }
    text += "}\n";
    text
}

/// The line that opens a module.
pub(crate) fn module_head(index_bits: u32) -> String {
    // The narrow pipeline takes the width from here.
    format!("module attributes {{dlti.dl_spec = #dlti.dl_spec<index = {index_bits} : i32>}} {{\n")
}

impl Function {
    /// Appends the functions of the kernel: its entry, its body and what that calls. `index_bits` is the target's width of
    /// `index`.
    pub fn write(&self, text: &mut String, index_bits: u32) {
        self.assert_plain_name();
        self.write_body(text, index_bits);
        self.write_entry(text);
    }

    pub(crate) fn assert_plain_name(&self) {
        let name = &self.name;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        assert!(!name.is_empty() && name.chars().all(plain), "kernel name `{name}` is not a plain symbol");
    }

    fn write_body(&self, text: &mut String, index_bits: u32) {
        let mut params = Vec::new();
        for (idx, buffer) in self.buffers.iter().enumerate() {
            let noalias = if buffer.in_place { "" } else { "llvm.noalias, " };
            params.push(format!("%abi.b{idx}: !llvm.ptr {{{noalias}llvm.align = {} : i64}}", buffer.align));
        }
        params.extend((0..self.n_dims).map(|idx| format!("%abi.d{idx}: i64")));
        params.push("%abi.begin: i64, %abi.end: i64".to_owned());
        params.push("%abi.scratch: !llvm.ptr {llvm.noalias, llvm.align = 64 : i64}".to_owned());
        line(text, format_args!("  llvm.func internal @{}.body({}) -> i32", self.name, params.join(", ")));
        // Out of line: `noalias` of arguments says more than the metadata that inlining makes of it.
        line(text, format_args!("      attributes {{no_inline}} {{"));

        let views = Descriptor { index_bits };
        views.write_prototype(text);
        for (idx, buffer) in self.buffers.iter().enumerate() {
            views.write_view(text, &format!("b{idx}"), &buffer.element);
        }
        views.write_view(text, "scratch", "i8");
        let indices = (0..self.n_dims).map(|idx| format!("d{idx}"));
        for name in indices.chain(["begin".to_owned(), "end".to_owned()]) {
            line(text, format_args!("    %{name} = arith.index_cast %abi.{name} : i64 to index"));
        }
        text.push_str(&self.body.replace(OWN, &format!("@{}.", self.name)));
        if !self.body.ends_with('\n') {
            text.push('\n');
        }
        let fault = self.fault.as_deref().unwrap_or("%abi.ok");
        if self.fault.is_none() {
            line(text, format_args!("    %abi.ok = llvm.mlir.constant(0 : i32) : i32"));
        }
        line(text, format_args!("    llvm.return {fault} : i32\n  }}"));
        self.parts.iter().for_each(|part| part.write(text, &self.name, index_bits));
    }

    fn write_entry(&self, text: &mut String) {
        let name = &self.name;
        line(
            text,
            format_args!(
                "  llvm.func @{name}(%bufs: !llvm.ptr {{llvm.readonly}}, %dims: !llvm.ptr {{llvm.readonly}}, \
                 %begin: i64, %end: i64, %scratch: !llvm.ptr) -> i32 {{"
            ),
        );
        let mut args = Vec::new();
        let mut types = Vec::new();
        let slots = (0..self.buffers.len()).map(|idx| ("bufs", "b", idx, "!llvm.ptr"));
        for (table, prefix, idx, ty) in slots.chain((0..self.n_dims).map(|idx| ("dims", "d", idx, "i64"))) {
            let value = format!("%{prefix}{idx}");
            line(
                text,
                format_args!(
                    "    {value}.at = llvm.getelementptr %{table}[{idx}] : (!llvm.ptr) -> !llvm.ptr, {ty}"
                ),
            );
            line(text, format_args!("    {value} = llvm.load {value}.at : !llvm.ptr -> {ty}"));
            args.push(value);
            types.push(ty);
        }
        args.extend(["%begin", "%end", "%scratch"].map(str::to_owned));
        types.extend(["i64", "i64", "!llvm.ptr"]);
        let (args, types) = (args.join(", "), types.join(", "));
        line(text, format_args!("    %fault = llvm.call @{name}.body({args}) : ({types}) -> i32"));
        line(text, format_args!("    llvm.return %fault : i32\n  }}"));
    }
}

/// Writes the cast between a bare pointer and `memref<?xT>` through MLIR's descriptor struct.
pub(crate) struct Descriptor {
    pub index_bits: u32,
}

impl Descriptor {
    pub fn ty(&self) -> String {
        let int = format!("i{}", self.index_bits);
        format!("!llvm.struct<(ptr, ptr, {int}, array<1 x {int}>, array<1 x {int}>)>")
    }

    /// Offset 0, the largest extent, stride 1: the same for every buffer.
    pub fn write_prototype(&self, text: &mut String) {
        let (ty, bits) = (self.ty(), self.index_bits);
        let largest = if bits == 64 { i64::MAX } else { i64::from(i32::MAX) };
        line(text, format_args!("    %abi.m0 = llvm.mlir.poison : {ty}"));
        for (step, (value, at)) in [(0, "2"), (largest, "3, 0"), (1, "4, 0")].into_iter().enumerate() {
            line(text, format_args!("    %abi.c{step} = llvm.mlir.constant({value} : i{bits}) : i{bits}"));
            let next = step + 1;
            line(
                text,
                format_args!("    %abi.m{next} = llvm.insertvalue %abi.c{step}, %abi.m{step}[{at}] : {ty}"),
            );
        }
    }

    pub fn write_view(&self, text: &mut String, name: &str, element: &str) {
        let ty = self.ty();
        line(text, format_args!("    %abi.{name}.p = llvm.insertvalue %abi.{name}, %abi.m3[0] : {ty}"));
        line(text, format_args!("    %abi.{name}.q = llvm.insertvalue %abi.{name}, %abi.{name}.p[1] : {ty}"));
        line(
            text,
            format_args!(
                "    %{name} = builtin.unrealized_conversion_cast %abi.{name}.q : {ty} to memref<?x{element}>"
            ),
        );
    }
}

pub(crate) fn line(text: &mut String, args: std::fmt::Arguments<'_>) {
    // Writing to a String can't fail.
    let _ = text.write_fmt(args);
    text.push('\n');
}
