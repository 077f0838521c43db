//! What a target's [`Capabilities`] promise is what LLVM does: an operation compiles without a routine outside
//! exactly where they say so.

use tcc_codegen::compile::OptLevel;
use tcc_codegen::mlir::{Buffer, Function, Session, module_text};
use tcc_codegen::target::Capabilities;
use tcc_codegen::{Emit, Error, Options, Target, compile_in};

/// An operation on `%x` that gives `%y`, with the types of both, and what has to be true of a target to do it inline.
struct Operation {
    text: &'static str,
    from: &'static str,
    to: &'static str,
    inline: fn(&Capabilities) -> bool,
}

const OPERATIONS: &[Operation] = &[
    op("%y = math.fma %x, %x, %x : f32", "f32", "f32", |can| can.fma),
    op("%y = math.fma %x, %x, %x : f64", "f64", "f64", |can| can.fma && can.f64),
    op("%y = math.floor %x : f32", "f32", "f32", |can| can.rounding),
    op("%y = math.roundeven %x : f32", "f32", "f32", |can| can.rounding),
    op("%y = math.ceil %x : f64", "f64", "f64", |can| can.rounding && can.f64),
    op("%y = math.sqrt %x : f32", "f32", "f32", |_| true),
    op("%y = arith.maximumf %x, %x : f32", "f32", "f32", |_| true),
    op("%y = arith.extf %x : f16 to f32", "f16", "f32", |can| can.f16_casts),
    op("%y = arith.truncf %x : f32 to f16", "f32", "f16", |can| can.f16_casts),
    op("%y = arith.extf %x : bf16 to f32", "bf16", "f32", |_| true),
    op("%y = arith.truncf %x : f32 to bf16", "f32", "bf16", |_| true),
    op("%y = arith.divf %x, %x : f64", "f64", "f64", |can| can.f64),
    op("%y = arith.truncf %x : f64 to f32", "f64", "f32", |can| can.f64),
    op("%y = arith.divsi %x, %k : i64", "i64", "i64", |can| can.i64_division),
    op("%y = arith.floordivsi %x, %k : i64", "i64", "i64", |can| can.i64_division),
    op("%y = arith.sitofp %x : i64 to f32", "i64", "f32", |can| can.i64_division),
    op("%y = arith.remsi %x, %x : i32", "i32", "i32", |_| true),
    op("%y = arith.fptosi %x : f32 to i32", "f32", "i32", |_| true),
];

const fn op(
    text: &'static str,
    from: &'static str,
    to: &'static str,
    inline: fn(&Capabilities) -> bool,
) -> Operation {
    Operation { text, from, to, inline }
}

#[test]
fn targets_do_inline_what_they_promise_and_nothing_else() {
    let session = Session::new();
    for name in Target::names() {
        let target = Target::named(name).unwrap();
        if target.is_gpu() {
            continue;
        }
        for operation in OPERATIONS {
            let text = module_text("", &[kernel(operation)], target.index_bits);
            let options = Options { opt: OptLevel::Fast, ..Options::new(&[Emit::Object]) };
            let inline = match compile_in(&session, &text, &target, &options) {
                Ok(_) => true,
                Err(Error::OutsideRoutines { .. }) => false,
                Err(error) => panic!("{name}, {}: {error}", operation.text),
            };
            assert_eq!(inline, (operation.inline)(&target.can), "{name}: {}", operation.text);
        }
    }
}

fn kernel(operation: &Operation) -> Function {
    let Operation { text, from, to, .. } = operation;
    let body = format!(
        "
    %x = memref.load %b0[%begin] : memref<?x{from}>
    %k = arith.index_cast %d0 : index to i64
    {text}
    memref.store %y, %b1[%begin] : memref<?x{to}>"
    );
    Function {
        name: "kernel".to_owned(),
        buffers: vec![Buffer::new(from, 1), Buffer::new(to, 1)],
        n_dims: 1,
        body,
        parts: vec![],
        fault: None,
    }
}
