//! Collects the errors that LLVM reports through its context (as inline assembly or instruction selection do).

use std::cell::RefCell;
use std::ffi::{CStr, c_void};

use inkwell::context::Context;
use inkwell::llvm_sys::LLVMDiagnosticSeverity::LLVMDSError;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;

/// Errors reported since they were last taken.
pub(super) struct Diagnostics {
    errors: RefCell<Vec<String>>,
}

impl Diagnostics {
    /// Collects the context's errors for as long as the result lives, which must be as long as the context is used.
    pub(super) fn install(context: &Context) -> Box<Self> {
        let this = Box::new(Self { errors: RefCell::new(Vec::new()) });
        let data: *const Self = &*this;
        // SAFETY: the box does not move its content, and it is dropped after the context (field order in LlvmContext).
        unsafe { LLVMContextSetDiagnosticHandler(context.raw(), Some(handle), data.cast_mut().cast()) };
        this
    }

    pub(super) fn take(&self) -> Option<String> {
        let errors = std::mem::take(&mut *self.errors.borrow_mut());
        if errors.is_empty() { None } else { Some(errors.join("; ")) }
    }
}

extern "C" fn handle(info: LLVMDiagnosticInfoRef, data: *mut c_void) {
    // SAFETY: `data` is the Diagnostics that `install` gave; LLVM's description is a C string that we dispose of.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) != LLVMDSError {
            return;
        }
        let text = LLVMGetDiagInfoDescription(info);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        (*data.cast::<Diagnostics>()).errors.borrow_mut().push(message);
    }
}
