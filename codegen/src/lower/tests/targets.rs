//! Math functions on every target: nothing is left to a library, and what models spend time on is vectorised.

use super::super::math::tests::outputs;
use crate::mlir::Session;
use crate::target::Arch;
use crate::{Emit, Error, OptLevel, Options, Target, compile_in};
use tcc_ir::DType;
use tcc_ir::ops::{BinaryKind, UnaryKind};

fn compile(
    session: &Session,
    kernel: &tcc_ir::kernel::Kernel,
    target: &Target,
    (emit, opt): (Emit, OptLevel),
) -> Result<crate::Artifacts, Error> {
    let lowered = super::super::lower(kernel, "k", target);
    let text = crate::mlir::module_text("", &[lowered.function], target.index_bits);
    compile_in(session, &text, target, &Options { emit: &[emit], opt, verify: true })
}

#[test]
fn no_function_needs_a_library() {
    let session = Session::new();
    let cpus =
        Target::names().filter_map(|name| Target::named(name).ok()).filter(|t| ARCHES.contains(&t.arch));
    for target in cpus {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::I64, DType::U8] {
            let wide = matches!(dtype, DType::F64 | DType::I64);
            if wide && !(target.can.f64 && target.can.i64_division) {
                continue;
            }
            let k = outputs(dtype, 100, 2, |b, x| {
                let unary = UnaryKind::ALL
                    .iter()
                    .filter(|k| **k != UnaryKind::IsNan && (dtype.is_float() || k.takes_ints()));
                let mut out: Vec<_> = unary.map(|kind| b.unary(*kind, x[0])).collect();
                let binary = BinaryKind::ALL.iter().filter(|k| !dtype.is_float() || k.takes_floats());
                out.extend(binary.map(|kind| b.binary(*kind, x[0], x[1])));
                out
            });
            let result = compile(&session, &k, &target, (Emit::Object, OptLevel::None));
            assert!(result.is_ok(), "{} {dtype}: {}", target.name, result.unwrap_err());
        }
    }
}

const ARCHES: [Arch; 5] = [Arch::X86_64, Arch::Aarch64, Arch::Riscv64, Arch::Wasm32, Arch::Thumb];

#[test]
fn activations_are_vectorised() {
    let session = Session::new();
    let target = Target::named("x86-64-v3").expect("a target");
    use UnaryKind::*;
    for kind in [Exp, Tanh, Erf, Sigmoid, Log, Sqrt, Round, Sin, Cos] {
        let k = outputs(DType::F32, 10_000, 1, |b, x| vec![b.unary(kind, x[0])]);
        let ir = compile(&session, &k, &target, (Emit::LlvmIr, OptLevel::Fast))
            .expect("compiles")
            .llvm_ir
            .expect("asked for");
        assert!(ir.contains("<8 x float>"), "{} isn't vectorised:\n{ir}", kind.name());
    }
}
