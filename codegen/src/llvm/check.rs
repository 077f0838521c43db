//! Finds, in an optimised module, operations that LLVM does by calling a routine whatever the target, or can't do at
//! all. Some back ends would end the process over them, so they are found before code is generated.

use inkwell::llvm_sys::LLVMOpcode::{self, *};
use inkwell::llvm_sys::LLVMTypeKind::{LLVMBFloatTypeKind, LLVMScalableVectorTypeKind, LLVMVectorTypeKind};
use inkwell::llvm_sys::core::{
    LLVMGetElementType, LLVMGetInstructionOpcode, LLVMGetNumOperands, LLVMGetOperand, LLVMGetTypeKind,
    LLVMTypeOf,
};
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::module::Module;
use inkwell::values::{AsValueRef, BasicValue};

/// Intrinsics that become calls to libm.
const CALLS: &[&str] = &[
    "acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "exp10", "exp2", "frexp", "ldexp", "log", "log10",
    "log2", "modf", "pow", "powi", "sin", "sincos", "sinh", "tan", "tanh",
];

/// Operations that no target does inline, sorted: empty for code that can stand alone.
pub(crate) fn outside_operations(module: &Module<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for function in module.get_functions() {
        let name = function.get_name().to_string_lossy().into_owned();
        if function.count_basic_blocks() == 0 {
            let outside = match name.strip_prefix("llvm.") {
                None => true,
                Some(intrinsic) => {
                    let (operation, types) = intrinsic.split_once('.').unwrap_or((intrinsic, ""));
                    CALLS.contains(&operation) || (operation != "masked" && types.contains("bf16"))
                }
            };
            if outside && function.as_global_value().as_pointer_value().get_first_use().is_some() {
                found.push(name);
            }
            continue;
        }
        for block in function.get_basic_blocks() {
            found.extend(
                block.get_instructions().filter_map(|instruction| outside(instruction.as_value_ref())),
            );
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn outside(instruction: LLVMValueRef) -> Option<String> {
    // SAFETY: an instruction of a live module; operand 0 is read only where there is one.
    let (opcode, bf16) = unsafe {
        let opcode = LLVMGetInstructionOpcode(instruction);
        let operand = LLVMGetNumOperands(instruction) > 0 && is_bf16(LLVMGetOperand(instruction, 0));
        (opcode, operand || is_bf16(instruction))
    };
    match opcode {
        LLVMFRem => Some("frem".to_owned()),
        _ if bf16 && is_arithmetic(opcode) => Some("arithmetic on bf16".to_owned()),
        _ => None,
    }
}

fn is_arithmetic(opcode: LLVMOpcode) -> bool {
    matches!(
        opcode,
        LLVMFNeg
            | LLVMFAdd
            | LLVMFSub
            | LLVMFMul
            | LLVMFDiv
            | LLVMFCmp
            | LLVMFPExt
            | LLVMFPTrunc
            | LLVMFPToSI
            | LLVMFPToUI
            | LLVMSIToFP
            | LLVMUIToFP
    )
}

/// # Safety
///
/// `value` belongs to a live module.
unsafe fn is_bf16(value: LLVMValueRef) -> bool {
    // SAFETY: the caller's promise; an element type is asked of vectors only.
    unsafe {
        let mut ty = LLVMTypeOf(value);
        if matches!(LLVMGetTypeKind(ty), LLVMVectorTypeKind | LLVMScalableVectorTypeKind) {
            ty = LLVMGetElementType(ty);
        }
        LLVMGetTypeKind(ty) == LLVMBFloatTypeKind
    }
}
