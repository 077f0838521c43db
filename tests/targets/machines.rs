//! The machines that objects are run on, and how a program around an object is built there.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;

use super::models::Model;
use super::run;

pub struct Machine {
    pub name: &'static str,
    /// For `tcc compile --target`.
    pub target: &'static str,
    pub emit: &'static str,
    /// A model that can't be run there, and why.
    except: Option<(&'static str, &'static str)>,
    how: How,
}

enum How {
    /// Built and run with what this system has.
    Here,
    /// A program without a C library, under QEMU.
    Qemu { clang: &'static [&'static str], system: System, qemu: &'static [&'static str] },
    /// A module in Node.
    Node,
}

/// How a program asks Linux for something: a C function, and the numbers of `write` and `exit`.
struct System {
    call: &'static str,
    write: u32,
    exit: u32,
}

const AARCH64: System = System {
    call: r#"register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");"#,
    write: 64,
    exit: 93,
};
const RISCV64: System = System {
    call: r#"register long a7 __asm__("a7") = n, a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");"#,
    write: 64,
    exit: 93,
};
// The register that Linux reads the number from is Thumb's frame pointer.
const ARM: System = System {
    call: r#"register long r3 __asm__("r3") = n, r0 __asm__("r0") = a, r1 __asm__("r1") = b, r2 __asm__("r2") = c;
  __asm__ volatile("push {r7}\n mov r7, r3\n svc 0\n pop {r7}" : "+r"(r0) : "r"(r3), "r"(r1), "r"(r2) : "memory");"#,
    write: 4,
    exit: 1,
};

const RISCV_CLANG: &[&str] = &["--target=riscv64-linux-gnu", "-march=rv64gc", "-mabi=lp64d", "-mno-relax"];

pub const ALL: &[Machine] = &[
    Machine { name: "host", target: "host", emit: "obj,header", except: None, how: How::Here },
    Machine {
        name: "aarch64",
        target: "aarch64",
        emit: "obj,header",
        except: None,
        how: How::Qemu { clang: &["--target=aarch64-linux-gnu"], system: AARCH64, qemu: &["qemu-aarch64"] },
    },
    Machine {
        name: "riscv64",
        target: "riscv64",
        emit: "obj,header",
        except: None,
        how: How::Qemu { clang: RISCV_CLANG, system: RISCV64, qemu: &["qemu-riscv64"] },
    },
    Machine {
        name: "riscv64-v",
        target: "riscv64-v",
        emit: "obj,header",
        except: Some(("int8", "QEMU 7.2 stops at vfncvt.rtz.x.f.w")),
        how: How::Qemu {
            clang: RISCV_CLANG,
            system: RISCV64,
            qemu: &["qemu-riscv64", "-cpu", "rv64,v=true,vext_spec=v1.0,vlen=128"],
        },
    },
    // Code for a microcontroller, in a program of Linux: QEMU has no bare Cortex-M here.
    Machine {
        name: "thumbv7em",
        target: "thumbv7em",
        emit: "obj,header",
        except: None,
        how: How::Qemu {
            clang: &["--target=thumbv7em-none-eabihf", "-mcpu=cortex-m4"],
            system: ARM,
            qemu: &["qemu-arm", "-cpu", "max"],
        },
    },
    Machine { name: "wasm32", target: "wasm32", emit: "shared,header", except: None, how: How::Node },
];

const CLANG: &str = "clang-22";

impl Machine {
    /// Why the model can't be run here: a tool that is missing, or a fault of one.
    pub fn obstacle(&self, model: &Model) -> Option<String> {
        if let Some((_, why)) = self.except.filter(|(name, _)| *name == model.name) {
            return Some(why.to_string());
        }

        let needed = match &self.how {
            How::Here => vec!["cc"],
            How::Qemu { qemu, .. } => vec![CLANG, "ld.lld-22", qemu[0]],
            How::Node => vec!["node", "wasm-ld-22"],
        };
        let missing = needed.into_iter().find(|tool| !is_on_path(tool))?;
        Some(format!("{missing} is missing"))
    }

    /// Runs a compiled model on its inputs. `results` has the size of each result in bytes; gives all their bytes.
    pub fn run(&self, model: &Model, results: &[usize], folder: &Path) -> Result<Vec<u8>, Failed> {
        let mut command = match &self.how {
            How::Here => {
                let system = "#include <stdio.h>\n\
                    static void put(const void *from, long n) { fwrite(from, 1, n, stdout); }\n";
                let main = "int main(void) { return run(); }\n";
                std::fs::write(folder.join("main.c"), program(model, results, system, main))?;
                run(Command::new("cc")
                    .args(["-Wall", "-Werror", "main.c"])
                    .arg(object(model))
                    .args(["-o", "main"])
                    .current_dir(folder))?;
                Command::new(folder.join("main"))
            }
            How::Qemu { clang, system: System { call, write, exit }, qemu } => {
                let system = format!(
                    "static void call(long n, long a, long b, long c) {{\n  {call}\n}}\n\
                     static void put(const void *from, long n) {{ call({write}, 1, (long)from, n); }}\n"
                );
                let main = format!("void _start(void) {{ call({exit}, run(), 0, 0); }}\n");
                std::fs::write(folder.join("main.c"), program(model, results, &system, &main))?;
                let mut build = Command::new(CLANG);
                build.args(*clang).args([
                    "-O1",
                    "-Wall",
                    "-Werror",
                    "-ffreestanding",
                    "-fno-stack-protector",
                ]);
                build.args(["-fno-builtin", "-nostdlib", "-static", "-fuse-ld=lld", "main.c"]);
                run(build.arg(object(model)).args(["-o", "main"]).current_dir(folder))?;
                let mut command = Command::new(qemu[0]);
                command.args(&qemu[1..]).arg(folder.join("main"));
                command
            }
            How::Node => {
                std::fs::write(folder.join("call.json"), module_call(model, results, folder)?)?;
                let mut command = Command::new("node");
                command
                    .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/targets/run.mjs"))
                    .arg("call.json");
                command
            }
        };
        Ok(run(command.current_dir(folder))?.stdout)
    }
}

fn object(model: &Model) -> String {
    format!("{}.o", model.name)
}

/// A C program that calls the model once, writes its results and ends with its status.
fn program(model: &Model, results: &[usize], system: &str, main: &str) -> String {
    let (name, upper) = (model.name, model.name.to_ascii_uppercase());
    let mut text = format!("#include \"{name}.h\"\n{system}");
    text += &format!("static _Alignas({upper}_ARENA_ALIGN) unsigned char arena[{upper}_ARENA_BYTES + 1];\n");
    let mut fields = String::new();
    for (field, size) in model.sizes {
        let _ = write!(fields, ".{field} = {size}, ");
    }
    for input in model.inputs {
        let bytes: Vec<String> = input.bytes().iter().map(u8::to_string).collect();
        let field = input.name;
        let _ =
            writeln!(text, "static const _Alignas(8) unsigned char in_{field}[] = {{{}}};", bytes.join(","));
        let _ = write!(fields, ".{field} = (const void *)in_{field}, ");
    }
    let (mut places, mut puts) = (String::new(), String::new());
    for (field, size) in model.outputs.iter().zip(results) {
        let _ = writeln!(text, "static _Alignas(8) unsigned char out_{field}[{size}];");
        let _ = write!(places, ".{field} = (void *)out_{field}, ");
        let _ = write!(puts, "  put(out_{field}, {size});\n");
    }
    text += &format!(
        "static int run(void) {{\n  {name}_inputs inputs = {{{fields}}};\n  {name}_outputs outputs = {{{places}}};\n\
         \x20 int status = {name}_run(&inputs, &outputs, arena);\n  if (status) return status;\n{puts}  return 0;\n}}\n"
    );
    text + main
}

/// What run.mjs has to call, as JSON.
fn module_call(model: &Model, results: &[usize], folder: &Path) -> Result<String, Failed> {
    let name = model.name;
    let header = std::fs::read_to_string(folder.join(format!("{name}.h")))?;
    let define = format!("#define {}_ARENA_BYTES ", name.to_ascii_uppercase());
    let arena =
        header.lines().find_map(|line| line.strip_prefix(&define)).ok_or("the header names no arena")?;
    let mut inputs = Vec::new();
    for input in model.inputs {
        let file = format!("{}.bin", input.name);
        std::fs::write(folder.join(&file), input.bytes())?;
        inputs.push(format!("\"{file}\""));
    }
    let sizes: Vec<String> = model.sizes.iter().map(|(_, size)| size.to_string()).collect();
    let results: Vec<String> = results.iter().map(usize::to_string).collect();
    Ok(format!(
        "{{\"module\": \"{name}.wasm\", \"function\": \"{name}_run\", \"arena\": {arena}, \"sizes\": [{}], \"inputs\": [{}], \"results\": [{}]}}",
        sizes.join(","),
        inputs.join(","),
        results.join(",")
    ))
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
