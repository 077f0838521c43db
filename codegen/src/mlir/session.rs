//! The owner of an MLIR context. Nothing outside this folder sees melior's types or MLIR's diagnostics.
//!
//! A session serves one thread; it may compile any number of modules, and contexts are costly enough that it
//! should.

use std::cell::RefCell;
use std::rc::Rc;

use inkwell::llvm_sys::prelude::LLVMModuleRef;
use melior::Context;
use melior::diagnostic::{Diagnostic, DiagnosticSeverity};
use melior::dialect::DialectRegistry;
use melior::ir::operation::{OperationLike, OperationRef};
use melior::ir::{AttributeLike, BlockLike};
use melior::pass::PassManager;
use melior::utility::{
    parse_pass_pipeline, register_all_dialects, register_all_llvm_translations, register_all_passes,
};

use crate::error::{Error, MlirMessage};

/// An MLIR context with all dialects and passes registered and its diagnostics kept for [`Error`].
pub struct Session {
    context: Context,
    messages: Rc<RefCell<Vec<MlirMessage>>>,
    verify: bool,
}

/// A module inside a [`Session`], with the text it came from for messages.
pub struct Module<'s> {
    session: &'s Session,
    module: melior::ir::Module<'s>,
    source: &'s str,
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

impl Session {
    /// A session of its own context. MLIR's verifier runs after each pass in debug builds only; a module
    /// is always verified when parsed.
    pub fn new() -> Self {
        register_all_passes();
        let registry = DialectRegistry::new();
        register_all_dialects(&registry);
        // Threads are taken by whole modules, not inside of one.
        let context = Context::new_with_registry(&registry, false);
        register_all_llvm_translations(&context);
        let messages = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&messages);
        context.attach_diagnostic_handler(move |diagnostic| {
            if matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
                sink.borrow_mut().push(message(&diagnostic));
            }
            true
        });
        Self { context, messages, verify: cfg!(debug_assertions) }
    }

    /// Verifies after each pass, or not.
    pub fn set_verify(&mut self, verify: bool) {
        self.verify = verify;
    }

    /// Parses and verifies a module's text.
    pub fn parse<'s>(&'s self, source: &'s str) -> Result<Module<'s>, Error> {
        self.messages.borrow_mut().clear();
        if source.contains('\0') {
            let text = "the text holds a NUL character".to_owned();
            return Err(Error::Parse(vec![MlirMessage { line: 0, column: 0, text, source: String::new() }]));
        }
        match melior::ir::Module::parse(&self.context, source) {
            Some(module) => Ok(Module { session: self, module, source }),
            None => Err(Error::Parse(self.take_messages(source))),
        }
    }

    fn take_messages(&self, source: &str) -> Vec<MlirMessage> {
        let mut messages = std::mem::take(&mut *self.messages.borrow_mut());
        for message in &mut messages {
            let line = (message.line as usize).checked_sub(1).and_then(|line| source.lines().nth(line));
            message.source = line.unwrap_or_default().to_owned();
        }
        messages
    }
}

impl Module<'_> {
    /// Runs a pass pipeline, written as for `mlir-opt --pass-pipeline`.
    pub fn run(&mut self, pipeline: &str) -> Result<(), Error> {
        let session = self.session;
        session.messages.borrow_mut().clear();
        let manager = PassManager::new(&session.context);
        manager.enable_verifier(session.verify);
        parse_pass_pipeline(manager.as_operation_pass_manager(), pipeline)
            .map_err(|error| Error::Pipeline { pipeline: pipeline.to_owned(), message: error.to_string() })?;
        manager.run(&mut self.module).map_err(|_| Error::Lower(session.take_messages(self.source)))
    }

    /// The module's present text.
    pub fn print(&self) -> String {
        self.module.as_operation().to_string()
    }

    /// The text of the first operation of this name at the top of the module.
    pub fn print_operation(&self, name: &str) -> Option<String> {
        self.operation(name).map(|operation| operation.to_string())
    }

    /// The bytes of the first object of the first `gpu.binary`.
    pub fn gpu_object(&self) -> Option<Vec<u8>> {
        let objects = self.operation("gpu.binary")?.attribute("objects").ok()?.to_raw();
        // SAFETY: each attribute is asked for its kind before it is read as one, and the bytes are copied while the
        // context, which owns them, is alive.
        unsafe {
            if !mlir_sys::mlirAttributeIsAArray(objects) || mlir_sys::mlirArrayAttrGetNumElements(objects) < 1
            {
                return None;
            }
            let object = mlir_sys::mlirArrayAttrGetElement(objects, 0);
            if !mlir_sys::mlirAttributeIsAGPUObjectAttr(object) {
                return None;
            }
            let bytes = mlir_sys::mlirGPUObjectAttrGetObject(object);
            Some(std::slice::from_raw_parts(bytes.data.cast::<u8>(), bytes.length).to_vec())
        }
    }

    fn operation(&self, name: &str) -> Option<OperationRef<'_, '_>> {
        let mut next = self.module.body().first_operation();
        while let Some(operation) = next {
            if operation.name().as_string_ref().as_str() == Ok(name) {
                return Some(operation);
            }
            next = operation.next_in_block();
        }
        None
    }

    /// Translates a module of the LLVM dialect into an LLVM module of `context`, which the caller owns.
    pub(crate) fn translate(&self, context: &inkwell::context::Context) -> Result<LLVMModuleRef, Error> {
        let session = self.session;
        session.messages.borrow_mut().clear();
        place_loop_annotations(self.module.as_operation().to_raw());
        // SAFETY: the operation lives as long as `self`. Both bindings name LLVM's one LLVMContextRef, and the
        // module that comes back belongs to that context, or is null.
        let raw = unsafe {
            mlir_sys::mlirTranslateModuleToLLVMIR(self.module.as_operation().to_raw(), context.raw().cast())
        };
        if raw.is_null() {
            return Err(Error::Lower(session.take_messages(self.source)));
        }
        Ok(raw.cast())
    }
}

/// Moves what is said about loops to where the translation looks for it. The lowering of `scf.for` leaves it on the
/// branch as an attribute like any other.
fn place_loop_annotations(module: mlir_sys::MlirOperation) {
    fn name(text: &'static str) -> mlir_sys::MlirStringRef {
        mlir_sys::MlirStringRef { data: text.as_ptr().cast(), length: text.len() }
    }
    unsafe extern "C" fn visit(
        operation: mlir_sys::MlirOperation,
        _: *mut std::ffi::c_void,
    ) -> mlir_sys::MlirWalkResult {
        let kept = name("llvm.loop_annotation");
        // SAFETY: the walk gives live operations. Only branches get the attribute, and they define `loop_annotation`.
        unsafe {
            let annotation = mlir_sys::mlirOperationGetDiscardableAttributeByName(operation, kept);
            if !annotation.ptr.is_null() {
                let place = name("loop_annotation");
                mlir_sys::mlirOperationSetInherentAttributeByName(operation, place, annotation);
                mlir_sys::mlirOperationRemoveDiscardableAttributeByName(operation, kept);
            }
        }
        mlir_sys::MlirWalkResult_MlirWalkResultAdvance
    }
    let order = mlir_sys::MlirWalkOrder_MlirWalkPreOrder;
    // SAFETY: the callback takes no data and doesn't unwind.
    unsafe { mlir_sys::mlirOperationWalk(module, Some(visit), std::ptr::null_mut(), order) };
}

fn message(diagnostic: &Diagnostic) -> MlirMessage {
    let location = diagnostic.location().to_raw();
    // SAFETY: the location belongs to the context that reports; line and column are read from file locations only.
    let (line, column) = unsafe {
        if mlir_sys::mlirLocationIsAFileLineColRange(location) {
            let line = mlir_sys::mlirLocationFileLineColRangeGetStartLine(location);
            (line, mlir_sys::mlirLocationFileLineColRangeGetStartColumn(location))
        } else {
            (0, 0)
        }
    };
    let mut text = diagnostic.to_string();
    for idx in 0..diagnostic.note_count() {
        if let Ok(note) = diagnostic.note(idx) {
            text += &format!("; note: {note}");
        }
    }
    MlirMessage {
        line: u32::try_from(line).unwrap_or(0),
        column: u32::try_from(column).unwrap_or(0),
        text,
        source: String::new(),
    }
}
