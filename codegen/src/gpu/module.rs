//! What surrounds a kernel's body on a GPU: the entry point, its arguments and the positions of group and thread.
//! The order of arguments is the package's: buffers, params, faults.

use super::Group;
use crate::Lowered;
use crate::lower::space::Space;
use crate::mlir::{Descriptor, Function, line, module_head};
use crate::target::{Arch, Target};

/// Groups in x; more come in rows of so many. The runtime counts likewise.
const GROUPS_IN_X: i64 = 65535;

/// What SPIR-V modules may use; each states what it does use.
const SPIRV_ENVIRONMENT: &str = "#spirv.target_env<#spirv.vce<v1.3, [Shader, Int64, Int16, Int8, Float64, \
     StorageBuffer8BitAccess, StorageBuffer16BitAccess], [SPV_KHR_storage_buffer_storage_class, \
     SPV_KHR_8bit_storage, SPV_KHR_16bit_storage]>, #spirv.resource_limits<>>";

/// The module of one kernel.
///
/// # Panics
/// The kernel was not lowered for a GPU.
pub fn module_text(lowered: &Lowered, target: &Target) -> String {
    let group = lowered.group.as_ref().expect("a kernel for a GPU has work-groups");
    let function = &lowered.function;
    function.assert_plain_name();
    match target.arch {
        Arch::Spirv => spirv(function, group, target),
        _ => ptx(function, group, target),
    }
}

/// A module that has nothing but the `spirv.module`, in the form that can be written as a binary.
pub(super) fn around_spirv(module: &str) -> String {
    format!(
        "module attributes {{gpu.container_module}} {{\ngpu.module @binary [{SPIRV_ENVIRONMENT}] {{\n{module}\n}}\n}}\n"
    )
}

fn spirv(function: &Function, group: &Group, target: &Target) -> String {
    let name = &function.name;
    // The environment is said twice: passes on functions look for it on the outer module.
    let mut text =
        format!("module attributes {{gpu.container_module, spirv.target_env = {SPIRV_ENVIRONMENT}}} {{\n");
    line(&mut text, format_args!("gpu.module @{name} [{SPIRV_ENVIRONMENT}] {{"));
    let memref = |element: &str| Space::Buffer.memref(target.arch, None, element);
    let buffers = function.buffers.iter().enumerate().map(|(i, b)| format!("%b{i}: {}", memref(&b.element)));
    let rest = [format!("%params: {}", memref("i64")), format!("%faults: {}", memref("i32"))];
    let params: Vec<String> = buffers.chain(rest).collect();
    line(&mut text, format_args!("  gpu.func @{name}({}) kernel attributes {{", params.join(", ")));
    line(
        &mut text,
        format_args!(
            "      spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = [{}, 1, 1]>}} {{",
            group.threads
        ),
    );
    for (i, shared) in group.shared.iter().enumerate() {
        let ty = Space::Shared.memref(target.arch, Some(shared.n), &shared.element);
        line(&mut text, format_args!("    %s{i} = memref.alloc() : {ty}"));
    }
    for (value, op) in [("%thread", "thread_id x"), ("%abi.x", "block_id x"), ("%abi.y", "block_id y")] {
        line(&mut text, format_args!("    {value} = gpu.{op}"));
    }
    write_positions(&mut text, function, target);
    text += "    gpu.return\n  }\n}\n}\n";
    text
}

fn ptx(function: &Function, group: &Group, target: &Target) -> String {
    let mut text = module_head(target.index_bits);
    for (i, shared) in group.shared.iter().enumerate() {
        let ty = Space::Shared.memref(target.arch, Some(shared.n), &shared.element);
        line(&mut text, format_args!("  memref.global \"private\" @shared{i} : {ty} = uninitialized"));
    }
    let pointer = |name: &str, align: u32| {
        format!("%abi.{name}: !llvm.ptr {{llvm.noalias, llvm.align = {align} : i64}}")
    };
    let buffers = function.buffers.iter().enumerate().map(|(i, b)| pointer(&format!("b{i}"), b.align));
    let params: Vec<String> = buffers.chain([pointer("params", 8), pointer("faults", 4)]).collect();
    line(&mut text, format_args!("  llvm.func @{}({})", function.name, params.join(", ")));
    line(
        &mut text,
        format_args!(
            "      attributes {{nvvm.kernel, nvvm.maxntid = array<i32: {}, 1, 1>}} {{",
            group.threads
        ),
    );
    let views = Descriptor { index_bits: target.index_bits };
    views.write_prototype(&mut text);
    for (i, buffer) in function.buffers.iter().enumerate() {
        views.write_view(&mut text, &format!("b{i}"), &buffer.element);
    }
    views.write_view(&mut text, "params", "i64");
    views.write_view(&mut text, "faults", "i32");
    for (i, shared) in group.shared.iter().enumerate() {
        let ty = Space::Shared.memref(target.arch, Some(shared.n), &shared.element);
        line(&mut text, format_args!("    %s{i} = memref.get_global @shared{i} : {ty}"));
    }
    for (value, register) in [("thread", "tid.x"), ("abi.x", "ctaid.x"), ("abi.y", "ctaid.y")] {
        line(&mut text, format_args!("    %{value}.i32 = nvvm.read.ptx.sreg.{register} : i32"));
        line(&mut text, format_args!("    %{value} = arith.index_castui %{value}.i32 : i32 to index"));
    }
    write_positions(&mut text, function, target);
    text += "    llvm.return\n  }\n}\n";
    text
}

/// From the position of the group to its tile, and from the params to the sizes; then the body.
fn write_positions(text: &mut String, function: &Function, target: &Target) {
    line(text, format_args!("    %abi.row = arith.constant {GROUPS_IN_X} : index"));
    line(text, format_args!("    %abi.first = arith.muli %abi.y, %abi.row : index"));
    line(text, format_args!("    %tile = arith.addi %abi.first, %abi.x : index"));
    let params = Space::Buffer.memref(target.arch, None, "i64");
    let sizes = std::iter::once("tiles".to_owned()).chain((0..function.n_dims).map(|i| format!("d{i}")));
    for (i, size) in sizes.enumerate() {
        line(text, format_args!("    %abi.p{i} = arith.constant {i} : index"));
        line(text, format_args!("    %abi.{size} = memref.load %params[%abi.p{i}] : {params}"));
        line(text, format_args!("    %{size} = arith.index_cast %abi.{size} : i64 to index"));
    }
    text.push_str(&function.body);
}
