//! Marks functions so that LLVM adds no calls of its own, and runs its optimiser.

use inkwell::attributes::{Attribute, AttributeLoc};
use std::ffi::CStr;
use std::sync::Once;

use inkwell::context::Context;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::module::{Linkage, Module};
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::TargetMachine;

use crate::compile::OptLevel;
use crate::error::Error;
use crate::target::Target;

/// Gives the module its target and its functions the attributes of self-contained code.
pub(crate) fn prepare(context: &Context, module: &Module<'_>, target: &Target, machine: &TargetMachine) {
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    let width = target.vector_bits.to_string();
    let mut attributes = vec![
        // Zeroing loops stay loops: no memset, no libm by way of idiom recognition.
        context.create_string_attribute("no-builtins", "true"),
        context.create_enum_attribute(Attribute::get_named_enum_kind_id("nounwind"), 0),
        context.create_string_attribute("frame-pointer", "none"),
    ];
    if target.vector_bits > 0 {
        attributes.push(context.create_string_attribute("prefer-vector-width", &width));
    }
    for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
        for attribute in &attributes {
            function.add_attribute(AttributeLoc::Function, *attribute);
        }
    }
}

/// Gives a constant that the module declares its bytes, and makes it local.
pub(crate) fn define(context: &Context, module: &Module<'_>, symbol: &str, bytes: &[u8]) {
    let Some(global) = module.get_global(symbol) else { return };
    global.set_initializer(&context.const_string(bytes, false));
    global.set_linkage(Linkage::Internal);
}

/// Runs LLVM's standard pipeline of the level.
pub(crate) fn optimise(
    module: &Module<'_>,
    machine: &TargetMachine,
    level: OptLevel,
    verify: bool,
) -> Result<(), Error> {
    limit_unrolling();
    let options = PassBuilderOptions::create();
    options.set_loop_vectorization(true);
    options.set_loop_slp_vectorization(true);
    options.set_loop_interleaving(true);
    options.set_loop_unrolling(true);
    options.set_verify_each(false);
    if verify {
        module
            .verify()
            .map_err(|error| Error::Llvm { stage: "verifying the module", message: error.to_string() })?;
    }
    module
        .run_passes(level.pipeline(), machine, options)
        .map_err(|error| Error::Llvm { stage: "optimising", message: error.to_string() })
}

/// Keeps LLVM from writing a loop out whole where it turns more often than this: the code of a kernel of many stages
/// grows to tens of thousands of instructions then, over which other passes take minutes, and it is no faster.
const MOST_TURNS: &CStr = c"-unroll-full-max-count=16";

/// Sets what passes have as an option of the process only.
fn limit_unrolling() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let arguments = [c"tcc".as_ptr(), MOST_TURNS.as_ptr()];
        // SAFETY: two strings that live on; once, before LLVM optimises anything for us.
        unsafe { LLVMParseCommandLineOptions(2, arguments.as_ptr(), c"".as_ptr()) };
    });
}
