//! Text of MLIR's LLVM and arith dialects: values with numbers for names, and blocks.

use std::fmt::{Arguments, Write};

/// Text in the making.
#[derive(Default)]
pub struct Writer {
    text: String,
    next: u32,
}

impl Writer {
    pub fn line(&mut self, line: Arguments<'_>) {
        // Writing to a String can't fail.
        let _ = self.text.write_fmt(format_args!("    {line}\n"));
    }

    /// A new value, defined by what the text says.
    pub fn value(&mut self, definition: Arguments<'_>) -> String {
        self.next += 1;
        let name = format!("%v{}", self.next);
        self.line(format_args!("{name} = {definition}"));
        name
    }

    pub fn constant(&mut self, value: i64, ty: &str) -> String {
        self.value(format_args!("llvm.mlir.constant({value} : {ty}) : {ty}"))
    }

    /// The name of a block to begin later.
    pub fn label(&mut self) -> String {
        self.next += 1;
        format!("^b{}", self.next)
    }

    /// Begins a block; the one before must have ended.
    pub fn begin(&mut self, label: &str, params: &str) {
        let params = if params.is_empty() { String::new() } else { format!("({params})") };
        let _ = self.text.write_fmt(format_args!("  {label}{params}:\n"));
    }

    /// A pointer some bytes further; `offset` is a number or the name of an i64.
    pub fn offset(&mut self, pointer: &str, offset: &Offset) -> String {
        match offset {
            Offset::Const(0) => pointer.to_string(),
            // The constant of the operation itself has 32 bits.
            Offset::Const(bytes) => {
                let bytes = self.constant(*bytes, "i64");
                self.offset(pointer, &Offset::Computed(bytes))
            }
            Offset::Computed(value) => self.value(format_args!(
                "llvm.getelementptr inbounds {pointer}[{value}] : (!llvm.ptr, i64) -> !llvm.ptr, i8"
            )),
        }
    }

    pub fn load(&mut self, pointer: &str, ty: &str, align: u64) -> String {
        self.value(format_args!("llvm.load {pointer} {{alignment = {align} : i64}} : !llvm.ptr -> {ty}"))
    }

    pub fn store(&mut self, value: &str, pointer: &str, ty: &str, align: u64) {
        self.line(format_args!(
            "llvm.store {value}, {pointer} {{alignment = {align} : i64}} : {ty}, !llvm.ptr"
        ));
    }

    /// Goes on only where the condition holds, else ends the function with a status.
    pub fn require(&mut self, condition: &str, status: i32) {
        let next = self.label();
        let status = self.constant(status.into(), "i32");
        self.line(format_args!("llvm.cond_br {condition}, {next}, ^end({status} : i32)"));
        self.begin(&next, "");
    }

    pub fn finish(self) -> String {
        self.text
    }
}

/// A number of bytes.
#[derive(Clone, Debug)]
pub enum Offset {
    Const(i64),
    /// The name of an i64.
    Computed(String),
}
