//! PTX from the body text that CPUs take too.

use std::process::Command;

use tcc_codegen::mlir::{Buffer, Entry, Function, module_with_entries};
use tcc_codegen::{Emit, Target, compile_module};

#[test]
fn a_map_becomes_a_ptx_kernel_over_global_memory() {
    let body = "
    %one = arith.constant 1 : index
    %k = arith.constant 0.5 : f32
    scf.for %i = %begin to %end step %one {
      %x = memref.load %b0[%i] : memref<?xf32>
      %row = arith.remui %i, %d0 : index
      %y = memref.load %b1[%row] : memref<?xf32>
      %s = math.fma %x, %k, %y : f32
      memref.store %s, %b2[%i] : memref<?xf32>
    }";
    let buffers = vec![Buffer::new("f32", 4); 3];
    let function =
        Function { name: "scale".to_owned(), buffers, n_dims: 1, body: body.to_owned(), fault: None };
    let target = Target::named("ptx").unwrap();
    let text = module_with_entries("", &[function], Entry::Gpu, target.index_bits);
    let ptx =
        compile_module(&text, &target, &[Emit::Assembly]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let ptx = ptx.assembly.unwrap();
    for expected in
        [".target sm_80", ".visible .entry scale", "ld.global", "st.global", "fma.rn.f32", "%ctaid.x"]
    {
        assert!(ptx.contains(expected), "{expected} is not in\n{ptx}");
    }
    assert!(!ptx.contains(".extern"), "{ptx}");

    // Nvidia's assembler has the last word where there is one.
    let Some(ptxas) = std::env::var_os("TCC_PTXAS") else { return };
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("scale.ptx"), &ptx).unwrap();
    let output = Command::new(ptxas)
        .args(["-arch=sm_90", "scale.ptx", "-o", "scale.cubin"])
        .current_dir(folder)
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}\n{ptx}", String::from_utf8_lossy(&output.stderr));
}
