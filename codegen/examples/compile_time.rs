//! Prints where the time goes when a module of many kernels is compiled:
//! `cargo run -p tcc-codegen --example compile_time -- [kernels] [target]`.

use std::fmt::Write;
use std::time::{Duration, Instant};

use tcc_codegen::compile::OptLevel;
use tcc_codegen::mlir::{Buffer, Function, Session, module_text, to_llvm_dialect};
use tcc_codegen::{Emit, Options, Target, compile_image, compile_in};

fn main() {
    let mut args = std::env::args().skip(1);
    let n_kernels = args.next().and_then(|text| text.parse().ok()).unwrap_or(50);
    let target = Target::named(&args.next().unwrap_or_else(|| "host".to_owned())).expect("a target's name");
    let functions: Vec<_> =
        (0..n_kernels).map(|idx| if idx % 2 == 0 { gemm(idx) } else { map(idx) }).collect();
    let text = module_text("", &functions, target.index_bits);
    println!("{n_kernels} kernels, {} lines", text.lines().count());

    let session = timed("session", Session::new);
    let mut module = timed("parse", || session.parse(&text)).expect("valid text");
    timed("lower", || module.run(&to_llvm_dialect(target.index_bits))).expect("it lowers");
    for opt in [OptLevel::Full, OptLevel::Fast, OptLevel::None] {
        for emit in [Emit::LlvmIr, Emit::Object, Emit::Image] {
            let options = Options { opt, verify: false, ..Options::new(std::slice::from_ref(&emit)) };
            let name = format!("all of it, {opt:?}, {emit:?}");
            timed(&name, || compile_in(&session, &text, &target, &options)).expect("it compiles");
        }
    }
    in_parts(&functions, &target);
}

fn in_parts(functions: &[Function], target: &Target) {
    let options = Options { verify: false, ..Options::new(&[]) };
    for parts in [1, 2, 4, 8] {
        let size = functions.len().div_ceil(parts).max(1);
        let texts: Vec<_> =
            functions.chunks(size).map(|part| module_text("", part, target.index_bits)).collect();
        for threads in [1, 2, 4] {
            let name = format!("{parts} modules, {threads} threads");
            timed(&name, || compile_image(&texts, target, &options, threads)).expect("it compiles");
        }
    }
}

fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    let time: Duration = start.elapsed();
    println!("{name:32} {:8.1} ms", time.as_secs_f64() * 1e3);
    result
}

fn kernel(name: String, n_buffers: usize, body: String) -> Function {
    Function {
        name,
        buffers: vec![Buffer::new("f32", 4); n_buffers],
        n_dims: 3,
        body,
        parts: vec![],
        fault: None,
    }
}

/// A register block of 6 rows and 16 columns over K, in loops over columns and rows, with a bias and a clamp.
fn gemm(idx: usize) -> Function {
    let blocks: Vec<_> = (0..6).flat_map(|row| [(row, 0), (row, 1)]).collect();
    let list = |f: &dyn Fn(usize, usize) -> String| {
        blocks.iter().map(|&(r, c)| f(r, c)).collect::<Vec<_>>().join(", ")
    };
    let types = list(&|_, _| "vector<8xf32>".to_owned());
    let mut body = String::from(
        "    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 6 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %z = arith.constant dense<0.0> : vector<8xf32>
    scf.for %t = %begin to %end step %c1 {
    %j = arith.muli %t, %c16 : index
    %panel = arith.muli %j, %d0 : index
    scf.for %i = %c0 to %d2 step %c6 {\n",
    );
    let inits = list(&|row, col| format!("%acc{row}{col} = %z"));
    let _ = writeln!(body, "    %r:12 = scf.for %k = %c0 to %d0 step %c1 iter_args({inits}) -> ({types}) {{");
    body += "      %kb0 = arith.muli %k, %c16 : index
      %kb = arith.addi %panel, %kb0 : index
      %kb8 = arith.addi %kb, %c8 : index
      %v0 = vector.load %b1[%kb] : memref<?xf32>, vector<8xf32>
      %v1 = vector.load %b1[%kb8] : memref<?xf32>, vector<8xf32>\n";
    for row in 0..6 {
        let _ = write!(
            body,
            "      %r{row} = arith.constant {row} : index
      %w{row} = arith.addi %i, %r{row} : index
      %m{row} = arith.muli %w{row}, %d0 : index
      %i{row} = arith.addi %m{row}, %k : index
      %a{row} = memref.load %b0[%i{row}] : memref<?xf32>
      %s{row} = vector.broadcast %a{row} : f32 to vector<8xf32>
      %n{row}0 = vector.fma %s{row}, %v0, %acc{row}0 : vector<8xf32>
      %n{row}1 = vector.fma %s{row}, %v1, %acc{row}1 : vector<8xf32>\n"
        );
    }
    let _ = writeln!(body, "      scf.yield {} : {types}\n    }}", list(&|row, col| format!("%n{row}{col}")));
    for (at, (row, col)) in blocks.iter().enumerate() {
        let _ = write!(
            body,
            "    %o{at} = arith.constant {row} : index
    %q{at} = arith.constant {} : index
    %oi{at} = arith.addi %i, %o{at} : index
    %or{at} = arith.muli %oi{at}, %d1 : index
    %oj{at} = arith.addi %j, %q{at} : index
    %oo{at} = arith.addi %or{at}, %oj{at} : index
    %bias{at} = vector.load %b3[%oj{at}] : memref<?xf32>, vector<8xf32>
    %sum{at} = arith.addf %r#{at}, %bias{at} : vector<8xf32>
    %clamp{at} = arith.maximumf %sum{at}, %z : vector<8xf32>
    vector.store %clamp{at}, %b2[%oo{at}] : memref<?xf32>, vector<8xf32>\n",
            8 * col
        );
    }
    body += "    }\n    }\n";
    kernel(format!("gemm{idx}"), 4, body)
}

/// A map of thirty operations with a vector body and a scalar tail.
fn map(idx: usize) -> Function {
    let mut body = String::from(
        "    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %n = arith.subi %end, %begin : index
    %rest = arith.remui %n, %c8 : index
    %stop = arith.subi %end, %rest : index\n",
    );
    for (from, to, step, ty) in
        [("%begin", "%stop", "%c8", "vector<8xf32>"), ("%stop", "%end", "%c1", "vector<1xf32>")]
    {
        let _ = writeln!(body, "    scf.for %i = {from} to {to} step {step} {{");
        for buffer in 0..2 {
            let _ = writeln!(body, "      %x{buffer} = vector.load %b{buffer}[%i] : memref<?xf32>, {ty}");
        }
        let _ = writeln!(body, "      %y0 = arith.addf %x0, %x1 : {ty}");
        for op in 0..30 {
            let coefficient = 0.5 + (op + idx) as f64 / 64.0;
            let _ = writeln!(body, "      %k{op} = arith.constant dense<{coefficient:?}> : {ty}");
            let _ = writeln!(body, "      %y{} = math.fma %y{op}, %x0, %k{op} : {ty}", op + 1);
        }
        let _ = writeln!(body, "      vector.store %y30, %b2[%i] : memref<?xf32>, {ty}\n    }}");
    }
    kernel(format!("map{idx}"), 3, body)
}
