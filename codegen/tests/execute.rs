//! Runs compiled images on this machine through the kernel ABI: text to code to numbers.

use std::ffi::c_void;

use tcc_codegen::image::Image;
use tcc_codegen::mlir::{Buffer, Function, module_text};
use tcc_codegen::target::Arch;
use tcc_codegen::{Emit, Error, Options, Target, compile_image, compile_module};

type Kernel = unsafe extern "C" fn(*const *mut c_void, *const i64, i64, i64, *mut c_void) -> i32;

/// An image mapped executable, as the run time maps it.
struct Mapped {
    address: *mut c_void,
    len: usize,
    image: Image,
}

impl Mapped {
    fn new(image: Image) -> Self {
        let len = image.bytes.len().next_multiple_of(Image::ALIGN as usize);
        // SAFETY: a fresh anonymous mapping of `len` bytes is filled while writable and then made executable.
        let address = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let address =
                libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(address, libc::MAP_FAILED);
            std::ptr::copy_nonoverlapping(image.bytes.as_ptr(), address.cast(), image.bytes.len());
            assert_eq!(libc::mprotect(address, len, libc::PROT_READ | libc::PROT_EXEC), 0);
            address
        };
        Self { address, len, image }
    }

    fn call(&self, name: &str, bufs: &[*mut c_void], dims: &[i64], tiles: std::ops::Range<i64>) -> i32 {
        let mut scratch = Scratch([0; 4096]);
        let entry = self.image.entries[name] as usize;
        // SAFETY: the entry is a kernel of this ABI, and each test gives buffers as large as its dims say.
        unsafe {
            let kernel: Kernel = std::mem::transmute(self.address.cast::<u8>().add(entry));
            kernel(bufs.as_ptr(), dims.as_ptr(), tiles.start, tiles.end, scratch.0.as_mut_ptr().cast())
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no kernel is running.
        unsafe { libc::munmap(self.address, self.len) };
    }
}

#[repr(align(64))]
struct Scratch([u8; 4096]);

fn kernel(name: &str, buffers: &[(&str, u32)], n_dims: usize, body: &str) -> Function {
    Function {
        name: name.to_owned(),
        buffers: buffers.iter().map(|(element, bytes)| Buffer::new(element, *bytes)).collect(),
        n_dims,
        body: body.to_owned(),
        parts: vec![],
        fault: body.contains("%fault").then(|| "%fault".to_owned()),
    }
}

fn compile(functions: &[Function]) -> Mapped {
    let host = Target::host().unwrap();
    let text = module_text("", functions, host.index_bits);
    let artifacts =
        compile_module(&text, &host, &[Emit::Image]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Mapped::new(artifacts.image.unwrap())
}

fn pointer<T>(slice: &mut [T]) -> *mut c_void {
    slice.as_mut_ptr().cast()
}

const F32: (&str, u32) = ("f32", 4);

const ADD: &str = "
    %one = arith.constant 1 : index
    scf.for %i = %begin to %end step %one {
      %x = memref.load %b0[%i] : memref<?xf32>
      %y = memref.load %b1[%i] : memref<?xf32>
      %z = arith.addf %x, %y : f32
      memref.store %z, %b2[%i] : memref<?xf32>
    }";

#[test]
fn adds_elementwise_and_only_its_tiles() {
    let mapped = compile(&[kernel("add", &[F32, F32, F32], 0, ADD)]);
    for (begin, end) in [(0, 0), (0, 1), (3, 77), (0, 100)] {
        let mut x: Vec<f32> = (0..100).map(|i| i as f32).collect();
        let mut y: Vec<f32> = (0..100).map(|i| 0.5 * i as f32 - 3.0).collect();
        let mut z = vec![-1.0f32; 100];
        let bufs = [pointer(&mut x), pointer(&mut y), pointer(&mut z)];
        assert_eq!(mapped.call("add", &bufs, &[], begin..end), 0);
        for i in 0..100 {
            let want = if (begin..end).contains(&(i as i64)) { x[i] + y[i] } else { -1.0 };
            assert_eq!(z[i], want, "element {i} of {begin}..{end}");
        }
    }
}

#[test]
fn map_is_vectorised_without_overlap_checks() {
    let target = Target::named("x86-64-v3").unwrap();
    let text = module_text("", &[kernel("add", &[F32, F32, F32], 0, ADD)], target.index_bits);
    let artifacts = compile_module(&text, &target, &[Emit::Assembly, Emit::LlvmIr]).unwrap();
    let assembly = artifacts.assembly.unwrap();
    assert!(assembly.lines().any(|line| line.contains("vaddps") && line.contains("ymm")), "{assembly}");
    let ir = artifacts.llvm_ir.unwrap();
    assert!(!ir.contains("vector.memcheck"), "{ir}");
}

#[test]
fn sums_rows_in_vectors_where_reassociation_is_allowed() {
    // One tile is one row of %d0 elements.
    let body = "
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %init = arith.constant 0.0 : f32
    scf.for %row = %begin to %end step %one {
      %base = arith.muli %row, %d0 overflow<nsw> : index
      %sum = scf.for %col = %zero to %d0 step %one iter_args(%acc = %init) -> (f32) {
        %at = arith.addi %base, %col overflow<nsw> : index
        %x = memref.load %b0[%at] : memref<?xf32>
        %next = arith.addf %acc, %x fastmath<reassoc> : f32
        scf.yield %next : f32
      }
      memref.store %sum, %b1[%row] : memref<?xf32>
    }";
    let function = kernel("sum", &[F32, F32], 1, body);
    let target = Target::named("x86-64-v3").unwrap();
    let text = module_text("", std::slice::from_ref(&function), target.index_bits);
    let assembly = compile_module(&text, &target, &[Emit::Assembly]).unwrap().assembly.unwrap();
    assert!(assembly.lines().any(|line| line.contains("vaddps") && line.contains("ymm")), "{assembly}");

    let mapped = compile(&[function]);
    for cols in [0usize, 1, 7, 64, 129] {
        let mut x: Vec<f32> = (0..3 * cols).map(|i| (i % 13) as f32 - 5.0).collect();
        let mut y = [9.0f32; 3];
        let bufs = [pointer(&mut x), pointer(&mut y)];
        assert_eq!(mapped.call("sum", &bufs, &[cols as i64], 0..3), 0);
        for row in 0..3 {
            // Small integers: exact in whatever order.
            assert_eq!(y[row], x[row * cols..(row + 1) * cols].iter().sum::<f32>(), "row {row} of {cols}");
        }
    }
}

#[test]
fn multiplies_matrices_with_accumulators_in_registers() {
    // C[4, 16] = A[4, %d0] * B[%d0, 16]: eight accumulators through the loop.
    let mut body = String::from(
        "
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %z = arith.constant dense<0.0> : vector<8xf32>
",
    );
    let pairs: Vec<_> = (0..4).flat_map(|row| [(row, 0), (row, 1)]).collect();
    let list = |f: &dyn Fn(usize, usize) -> String| {
        pairs.iter().map(|&(r, c)| f(r, c)).collect::<Vec<_>>().join(", ")
    };
    let types = list(&|_, _| "vector<8xf32>".to_owned());
    body += &format!(
        "    %r:8 = scf.for %k = %c0 to %d0 step %c1 iter_args({}) -> ({types}) {{\n",
        list(&|row, col| format!("%acc{row}{col} = %z"))
    );
    body += "      %kb = arith.muli %k, %c16 : index\n      %kb8 = arith.addi %kb, %c8 : index\n";
    body += "      %v0 = vector.load %b1[%kb] : memref<?xf32>, vector<8xf32>\n";
    body += "      %v1 = vector.load %b1[%kb8] : memref<?xf32>, vector<8xf32>\n";
    for row in 0..4 {
        body += &format!(
            "      %r{row} = arith.constant {row} : index
      %m{row} = arith.muli %r{row}, %d0 : index
      %i{row} = arith.addi %m{row}, %k : index
      %a{row} = memref.load %b0[%i{row}] : memref<?xf32>
      %s{row} = vector.broadcast %a{row} : f32 to vector<8xf32>
      %n{row}0 = vector.fma %s{row}, %v0, %acc{row}0 : vector<8xf32>
      %n{row}1 = vector.fma %s{row}, %v1, %acc{row}1 : vector<8xf32>\n"
        );
    }
    body += &format!("      scf.yield {} : {types}\n    }}\n", list(&|row, col| format!("%n{row}{col}")));
    for (idx, _) in pairs.iter().enumerate() {
        body += &format!(
            "    %o{idx} = arith.constant {} : index\n    vector.store %r#{idx}, %b2[%o{idx}] : memref<?xf32>, vector<8xf32>\n",
            idx * 8
        );
    }
    let mapped = compile(&[kernel("gemm", &[F32, F32, F32], 1, &body)]);
    let depth = 37;
    let mut a: Vec<f32> = (0..4 * depth).map(|i| (i % 7) as f32 - 3.0).collect();
    let mut b: Vec<f32> = (0..depth * 16).map(|i| (i % 11) as f32 - 5.0).collect();
    let mut c = vec![0f32; 64];
    let bufs = [pointer(&mut a), pointer(&mut b), pointer(&mut c)];
    assert_eq!(mapped.call("gemm", &bufs, &[depth as i64], 0..1), 0);
    for row in 0..4 {
        for col in 0..16 {
            let want: f32 = (0..depth).map(|k| a[row * depth + k] * b[k * 16 + col]).sum();
            assert_eq!(c[row * 16 + col], want, "{row}, {col}");
        }
    }
}

#[test]
fn masked_tail_scratch_constants_and_faults() {
    // Copies %d0 floats times a table's entry through scratch, eight at a time, and faults with 1 if %d0 < 2.
    let body = "
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %pass = arith.constant dense<0.0> : vector<8xf32>
    %panel = memref.view %scratch[%c0][] : memref<?xi8> to memref<8xf32>
    %table = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : vector<8xf32>
    scf.for %i = %c0 to %d0 step %c8 {
      %left = arith.subi %d0, %i : index
      %mask = vector.create_mask %left : vector<8xi1>
      %x = vector.maskedload %b0[%i], %mask, %pass : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
      %y = arith.mulf %x, %table : vector<8xf32>
      vector.store %y, %panel[%c0] : memref<8xf32>, vector<8xf32>
      %z = vector.load %panel[%c0] : memref<8xf32>, vector<8xf32>
      vector.maskedstore %b1[%i], %mask, %z : memref<?xf32>, vector<8xi1>, vector<8xf32>
    }
    %short = arith.cmpi slt, %d0, %c2 : index
    %fault = arith.extui %short : i1 to i32";
    let mapped = compile(&[kernel("tail", &[F32, F32], 1, body)]);
    for n in [1usize, 5, 8, 19] {
        let mut x: Vec<f32> = (0..32).map(|i| i as f32 + 1.0).collect();
        let mut y = vec![-1f32; 32];
        let fault = mapped.call("tail", &[pointer(&mut x), pointer(&mut y)], &[n as i64], 0..1);
        assert_eq!(fault, i32::from(n < 2));
        for i in 0..32 {
            let want = if i < n { x[i] * (i % 8 + 1) as f32 } else { -1.0 };
            assert_eq!(y[i], want, "element {i} of {n}");
        }
    }
}

#[test]
fn zeroing_loop_stays_free_of_memset_and_libm_is_refused() {
    let zero = "
    %one = arith.constant 1 : index
    %z = arith.constant 0.0 : f32
    scf.for %i = %begin to %end step %one {
      memref.store %z, %b0[%i] : memref<?xf32>
    }";
    let copy = "
    %one = arith.constant 1 : index
    scf.for %i = %begin to %end step %one {
      %x = memref.load %b0[%i] : memref<?xf32>
      memref.store %x, %b1[%i] : memref<?xf32>
    }";
    let exp = "
    %x = memref.load %b0[%begin] : memref<?xf32>
    %y = math.exp %x : f32
    memref.store %y, %b0[%begin] : memref<?xf32>";
    for name in Target::names() {
        let target = Target::named(name).unwrap();
        let emit = match target.arch {
            // SPIR-V comes from MLIR, not from LLVM.
            Arch::Spirv => continue,
            Arch::Nvptx => Emit::Assembly,
            _ => Emit::Object,
        };
        let functions = [kernel("zero", &[F32], 0, zero), kernel("copy", &[F32, F32], 0, copy)];
        let text = module_text("", &functions, target.index_bits);
        compile_module(&text, &target, &[emit]).unwrap_or_else(|error| panic!("{name}: {error}"));

        let text = module_text("", &[kernel("exp", &[F32], 0, exp)], target.index_bits);
        match compile_module(&text, &target, &[emit]) {
            Err(Error::OutsideRoutines { symbols, .. }) => assert_eq!(symbols, ["llvm.exp.f32"], "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn operations_that_end_code_generators_are_found_before() {
    let bodies = [
        (
            "arithmetic on bf16",
            "
    %x = memref.load %b0[%begin] : memref<?xbf16>
    %y = arith.addf %x, %x : bf16
    memref.store %y, %b0[%begin] : memref<?xbf16>",
        ),
        (
            "frem",
            "
    %x = memref.load %b1[%begin] : memref<?xf32>
    %y = arith.remf %x, %x : f32
    memref.store %y, %b1[%begin] : memref<?xf32>",
        ),
    ];
    for target in ["host", "wasm32", "ptx"].map(|name| Target::named(name).unwrap()) {
        for (operation, body) in bodies {
            let text = module_text("", &[kernel("k", &[("bf16", 2), F32], 0, body)], target.index_bits);
            match compile_module(&text, &target, &[Emit::Assembly]) {
                Err(Error::OutsideRoutines { symbols, .. }) => {
                    assert_eq!(symbols, [operation], "{}", target.name)
                }
                other => panic!("{}: {other:?}", target.name),
            }
        }
    }
}

#[test]
fn mistakes_in_text_are_errors_with_a_line() {
    let host = Target::host().unwrap();
    let text = module_text(
        "",
        &[kernel("bad", &[F32], 0, "    %x = memref.load %b0[%nothing] : memref<?xf32>")],
        64,
    );
    match compile_module(&text, &host, &[Emit::Object]) {
        Err(Error::Parse(messages)) => {
            assert!(messages[0].source.contains("%nothing"), "{messages:?}");
            assert!(messages[0].line > 1);
        }
        other => panic!("{other:?}"),
    }
    let text = "module { func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> } }";
    match compile_module(text, &host, &[Emit::Object]) {
        Err(Error::Lower(messages)) => assert!(!messages.is_empty()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn compiles_the_same_bytes_twice() {
    let compile = || compile(&[kernel("add", &[F32, F32, F32], 0, ADD)]).image.clone();
    assert_eq!(compile(), compile());
}

#[test]
fn modules_compiled_on_threads_join_into_one_image() {
    let host = Target::host().unwrap();
    let one = |name: &str, constant: f32| {
        let body = format!(
            "
    %k = arith.constant dense<{constant:?}> : vector<8xf32>
    vector.store %k, %b0[%begin] : memref<?xf32>, vector<8xf32>"
        );
        module_text("", &[kernel(name, &[F32], 0, &body)], host.index_bits)
    };
    let texts: Vec<_> = (0..5).map(|i| one(&format!("k{i}"), i as f32 + 0.5)).collect();
    let options = Options::new(&[]);
    let image = compile_image(&texts, &host, &options, 3).unwrap();
    assert_eq!(image, compile_image(&texts, &host, &options, 1).unwrap());
    let mapped = Mapped::new(image);
    for i in 0..5 {
        let mut y = [0f32; 8];
        assert_eq!(mapped.call(&format!("k{i}"), &[pointer(&mut y)], &[], 0..1), 0);
        assert_eq!(y, [i as f32 + 0.5; 8]);
    }
    let twice = [texts[0].clone(), texts[0].clone()];
    assert!(compile_image(&twice, &host, &options, 2).unwrap_err().to_string().contains("k0"));
}
