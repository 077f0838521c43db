//! Runs images for other processors under QEMU. Without QEMU and a C compiler the test says so and ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use tcc_codegen::mlir::{Buffer, Function, module_text};
use tcc_codegen::{Emit, Target, compile_module};

/// Writes `y = x * table[i % 4] + switch(i) / d0` in scalars, then the same in vectors of four: constants in memory,
/// a table or jumps, calls and divisions.
fn kernels() -> [Function; 2] {
    let mut cases = String::new();
    for case in 0..9 {
        cases += &format!(
            "      case {case} {{\n        %v{case} = arith.constant {}.25 : f32\n",
            case * case + 3 * (case % 4)
        );
        cases += &format!("        scf.yield %v{case} : f32\n      }}\n");
    }
    let scalar = format!(
        "
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    %nine = arith.constant 9 : index
    scf.for %i = %begin to %end step %one {{
      %x = memref.load %b0[%i] : memref<?xf32>
      %m = arith.remui %i, %nine : index
      %t = scf.index_switch %m -> f32
{cases}      default {{
        %v = arith.constant 0.5 : f32
        scf.yield %v : f32
      }}
      %q = arith.floordivsi %i, %d0 : index
      %qi = arith.index_cast %q : index to i32
      %qf = arith.sitofp %qi : i32 to f32
      %y0 = arith.mulf %x, %t : f32
      %y = arith.addf %y0, %qf : f32
      memref.store %y, %b1[%i] : memref<?xf32>
    }}"
    );
    let vector = "
    %four = arith.constant 4 : index
    %k = arith.constant dense<[1.5, -2.0, 3.25, 0.125]> : vector<4xf32>
    %l = arith.constant dense<[0.0625, 7.0, -1.0, 11.0]> : vector<4xf32>
    scf.for %i = %begin to %end step %four {
      %x = vector.load %b0[%i] : memref<?xf32>, vector<4xf32>
      %s = arith.mulf %x, %k : vector<4xf32>
      %y = arith.addf %s, %l : vector<4xf32>
      vector.store %y, %b1[%i] : memref<?xf32>, vector<4xf32>
    }";
    [("scalar", scalar.as_str()), ("vector", vector)].map(|(name, body)| Function {
        name: name.to_owned(),
        buffers: vec![Buffer::new("f32", 4); 2],
        n_dims: 1,
        body: body.to_owned(),
        parts: vec![],
        fault: None,
    })
}

const PROGRAM: &str = r#"
__asm__(".section .text.image,\"ax\"\n.balign 4096\n.globl image\nimage:\n.incbin \"image.bin\"\n.text\n");
typedef int (*kernel)(void *const *, const long long *, long long, long long, void *);
extern char image[];
static float x[40], y[40];
static _Alignas(64) char scratch[64];
static const float k[4] = {1.5f, -2.0f, 3.25f, 0.125f}, l[4] = {0.0625f, 7.0f, -1.0f, 11.0f};
static int run(void) {
  void *bufs[2] = {x, y};
  long long dims[1] = {7};
  for (int i = 0; i < 40; i++) x[i] = i - 9.5f;
  if (((kernel)(image + SCALAR))(bufs, dims, 1, 39, scratch)) return 2;
  for (int i = 0; i < 40; i++) {
    int c = i % 9;
    float want = i < 1 || i >= 39 ? 0 : x[i] * (c * c + 3 * (c % 4) + 0.25f) + i / 7;
    if (y[i] != want) return 3;
  }
  if (((kernel)(image + VECTOR))(bufs, dims, 0, 40, scratch)) return 4;
  for (int i = 0; i < 40; i++)
    if (y[i] != x[i] * k[i % 4] + l[i % 4]) return 5;
  return 42;
}
void _start(void) { int code = run(); EXIT }
"#;

struct Processor {
    target: &'static str,
    clang: &'static [&'static str],
    exit: &'static str,
    qemu: &'static [&'static str],
}

const PROCESSORS: &[Processor] = &[
    Processor {
        target: "aarch64",
        clang: &["--target=aarch64-linux-gnu"],
        exit: r#"register long a __asm__("x0") = code, n __asm__("x8") = 93; __asm__ volatile("svc 0" :: "r"(a), "r"(n));"#,
        qemu: &["qemu-aarch64"],
    },
    Processor {
        target: "riscv64",
        clang: &["--target=riscv64-linux-gnu", "-march=rv64gc", "-mabi=lp64d", "-mno-relax"],
        exit: r#"register long a __asm__("a0") = code, n __asm__("a7") = 93; __asm__ volatile("ecall" :: "r"(a), "r"(n));"#,
        qemu: &["qemu-riscv64"],
    },
    Processor {
        target: "riscv64-v",
        clang: &["--target=riscv64-linux-gnu", "-march=rv64gc", "-mabi=lp64d", "-mno-relax"],
        exit: r#"register long a __asm__("a0") = code, n __asm__("a7") = 93; __asm__ volatile("ecall" :: "r"(a), "r"(n));"#,
        qemu: &["qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0,vlen=128"],
    },
];

#[test]
fn images_run_on_other_processors() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    for processor in PROCESSORS {
        let clang = "clang-22";
        if !exists(clang) || !exists(processor.qemu[0]) {
            eprintln!("not run for {}: {clang} or {} is missing", processor.target, processor.qemu[0]);
            continue;
        }
        let target = Target::named(processor.target).unwrap();
        let text = module_text("", &kernels(), target.index_bits);
        let image = compile_module(&text, &target, &[Emit::Image]).unwrap_or_else(|error| panic!("{error}"));
        let image = image.image.unwrap();
        let folder = folder.join(processor.target);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("image.bin"), &image.bytes).unwrap();
        std::fs::write(folder.join("main.c"), PROGRAM.replace("EXIT", processor.exit)).unwrap();

        let mut compile = Command::new(clang);
        compile.args(processor.clang).args([
            "-O1",
            "-ffp-contract=off",
            "-nostdlib",
            "-static",
            "-fuse-ld=lld",
        ]);
        compile.args(["-fno-builtin", "-fno-stack-protector", "main.c", "-o", "main"]);
        for name in ["scalar", "vector"] {
            compile.arg(format!("-D{}={}", name.to_uppercase(), image.entries[name]));
        }
        assert!(compile.current_dir(&folder).status().unwrap().success(), "{}", processor.target);
        let mut run = Command::new(processor.qemu[0]);
        let status = run.args(&processor.qemu[1..]).arg("./main").current_dir(&folder).status().unwrap();
        assert_eq!(status.code(), Some(42), "{}: {status}", processor.target);
    }
}

fn exists(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|at| at.join(Path::new(program)).exists()))
}
