//! Packages for the Vulkan executor, with kernels in SPIR-V assembly.

use std::io::{Cursor, Write};
use std::process::{Command, Stdio};

use tcc_runtime::Package;
use tcc_runtime::package::*;

use super::support::Builder;

/// Threads of a work-group; a tile is as many elements.
pub const THREADS: u32 = 64;

/// Kernels of `f32` buffers `x`, `y` and `out`: what a thread does with elements `%a` and `%b`, giving `%result`.
pub const ADD: &str = "%result = OpFAdd %float %a %b";
pub const MULTIPLY: &str = "%result = OpFMul %float %a %b";
/// Reports fault 1 where the elements are equal.
pub const DIFFERENCE: &str = "
    %result = OpFSub %float %a %b
    %equal = OpFOrdEqual %bool %a %b
    OpSelectionMerge %go_on None
    OpBranchConditional %equal %report %go_on
    %report = OpLabel
    OpStore %fault_word %one
    OpBranch %go_on
    %go_on = OpLabel";

const TEMPLATE: &str = r#"
    OpCapability Shader
    OpCapability Int64
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %main "kernel" %group_id %local_id
    OpExecutionMode %main LocalSize 64 1 1
    OpDecorate %group_id BuiltIn WorkgroupId
    OpDecorate %local_id BuiltIn LocalInvocationId
    OpDecorate %floats ArrayStride 4
    OpDecorate %longs ArrayStride 8
    OpDecorate %ints ArrayStride 4
    OpMemberDecorate %float_buffer 0 Offset 0
    OpMemberDecorate %long_buffer 0 Offset 0
    OpMemberDecorate %int_buffer 0 Offset 0
    OpDecorate %float_buffer Block
    OpDecorate %long_buffer Block
    OpDecorate %int_buffer Block
    OpDecorate %x DescriptorSet 0
    OpDecorate %x Binding 0
    OpDecorate %y DescriptorSet 0
    OpDecorate %y Binding 1
    OpDecorate %out DescriptorSet 0
    OpDecorate %out Binding 2
    OpDecorate %parameters DescriptorSet 0
    OpDecorate %parameters Binding 3
    OpDecorate %fault DescriptorSet 0
    OpDecorate %fault Binding 4
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %bool = OpTypeBool
    %int = OpTypeInt 32 1
    %uint = OpTypeInt 32 0
    %long = OpTypeInt 64 0
    %float = OpTypeFloat 32
    %uint3 = OpTypeVector %uint 3
    %uint3_pointer = OpTypePointer Input %uint3
    %floats = OpTypeRuntimeArray %float
    %longs = OpTypeRuntimeArray %long
    %ints = OpTypeRuntimeArray %int
    %float_buffer = OpTypeStruct %floats
    %long_buffer = OpTypeStruct %longs
    %int_buffer = OpTypeStruct %ints
    %float_buffer_pointer = OpTypePointer StorageBuffer %float_buffer
    %long_buffer_pointer = OpTypePointer StorageBuffer %long_buffer
    %int_buffer_pointer = OpTypePointer StorageBuffer %int_buffer
    %float_pointer = OpTypePointer StorageBuffer %float
    %long_pointer = OpTypePointer StorageBuffer %long
    %int_pointer = OpTypePointer StorageBuffer %int
    %zero = OpConstant %int 0
    %one = OpConstant %int 1
    %row = OpConstant %long 65535
    %threads = OpConstant %long 64
    %group_id = OpVariable %uint3_pointer Input
    %local_id = OpVariable %uint3_pointer Input
    %x = OpVariable %float_buffer_pointer StorageBuffer
    %y = OpVariable %float_buffer_pointer StorageBuffer
    %out = OpVariable %float_buffer_pointer StorageBuffer
    %parameters = OpVariable %long_buffer_pointer StorageBuffer
    %fault = OpVariable %int_buffer_pointer StorageBuffer
    %main = OpFunction %void None %function
    %start = OpLabel
    %group = OpLoad %uint3 %group_id
    %group_x = OpCompositeExtract %uint %group 0
    %group_y = OpCompositeExtract %uint %group 1
    %local = OpLoad %uint3 %local_id
    %local_x = OpCompositeExtract %uint %local 0
    %gx = OpUConvert %long %group_x
    %gy = OpUConvert %long %group_y
    %lx = OpUConvert %long %local_x
    %before = OpIMul %long %gy %row
    %tile = OpIAdd %long %before %gx
    %first = OpIMul %long %tile %threads
    %i = OpIAdd %long %first %lx
    %tiles_at = OpAccessChain %long_pointer %parameters %zero %zero
    %tiles = OpLoad %long %tiles_at
    %count_at = OpAccessChain %long_pointer %parameters %zero %one
    %count = OpLoad %long %count_at
    %in_tiles = OpSLessThan %bool %tile %tiles
    %in_count = OpSLessThan %bool %i %count
    %inside = OpLogicalAnd %bool %in_tiles %in_count
    %fault_word = OpAccessChain %int_pointer %fault %zero %zero
    OpSelectionMerge %end None
    OpBranchConditional %inside %work %end
    %work = OpLabel
    %a_at = OpAccessChain %float_pointer %x %zero %i
    %b_at = OpAccessChain %float_pointer %y %zero %i
    %a = OpLoad %float %a_at
    %b = OpLoad %float %b_at
    BODY
    %out_at = OpAccessChain %float_pointer %out %zero %i
    OpStore %out_at %result
    OpBranch %end
    %end = OpLabel
    OpReturn
    OpFunctionEnd
"#;

/// A module of one kernel, made with `spirv-as`.
pub fn assemble(body: &str) -> Vec<u8> {
    let mut assembler = Command::new("spirv-as")
        .args(["--target-env", "vulkan1.1", "-o", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("spirv-as can't be run ({e}); `make setup` installs spirv-tools"));
    let text = TEMPLATE.replace("BODY", body);
    assembler.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let done = assembler.wait_with_output().unwrap();
    assert!(done.status.success(), "spirv-as: {}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

/// A package under construction whose kernels are in SPIR-V.
pub struct GpuBuilder {
    pub b: Builder,
    modules: Vec<u8>,
}

impl GpuBuilder {
    pub fn new() -> GpuBuilder {
        let mut b = Builder::new();
        let section = &mut b.manifest.sections[0];
        section.target = "spirv".into();
        section.format = CodeFormat::SpirV;
        section.cpu_features = vec!["shaderInt64".into()];
        GpuBuilder { b, modules: vec![] }
    }

    pub fn kernel(&mut self, name: &str, body: &str) -> KernelId {
        let module = assemble(body);
        let kernels = &mut self.b.manifest.kernels;
        kernels.push(Kernel { name: name.into(), source: format!("node {name}"), serial: false });
        let id = KernelId(kernels.len() as u32 - 1);
        self.b.manifest.sections[0].launches.push(Launch {
            offset: self.modules.len() as u64,
            len: module.len() as u64,
            entry: "kernel".into(),
            threads: THREADS,
        });
        self.modules.extend(module);
        id
    }

    /// A step over `count` elements.
    pub fn call(&mut self, kernel: KernelId, inputs: [ValueId; 2], output: ValueId, count: ExprId) {
        let threads = self.b.number(THREADS.into());
        let tiles = self.b.expr(Expr::CeilDiv(count, threads));
        let scratch = self.b.number(0);
        let step = KernelStep {
            kernel,
            inputs: inputs.into(),
            outputs: vec![output],
            dims: vec![count],
            tiles,
            scratch,
            work: None,
            spans: vec![],
        };
        self.b.push(0, Step::Kernel(step));
    }

    pub fn file(&self) -> Vec<u8> {
        let mut manifest = self.b.manifest.clone();
        let mut out = Cursor::new(Vec::new());
        write_package(&mut manifest, &[&self.modules], |w| w.write_all(&self.b.weights), &mut out)
            .unwrap_or_else(|error| panic!("{error}"));
        out.into_inner()
    }

    pub fn package(&self) -> tcc_runtime::Result<Package> {
        Package::from_bytes(&self.file())
    }
}
