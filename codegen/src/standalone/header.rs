//! The C header of a model that is an object of its own.

use std::fmt::{Result, Write};

use tcc_runtime::package::DType;

use super::interface::{Interface, Port};
use super::names::comment;
use super::status;

/// The header's text: C99, and C++ too.
pub fn write(interface: &Interface) -> String {
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ = write_header(&mut out, interface);
    out
}

fn write_header(out: &mut String, interface: &Interface) -> Result {
    let name = &interface.name;
    let upper = name.to_ascii_uppercase();
    writeln!(
        out,
        "/* {name}: the model \"{}\", compiled for {}.\n *\n\
         \x20* Link the object that lies beside this file: it calls nothing outside of itself, allocates nothing and keeps\n\
         \x20* no state. Tensors are row-major and dense. Memory that a call writes must not overlap any other that it is\n\
         \x20* given. Calls with different arenas and outputs may run at the same time.\n */",
        comment(&interface.model),
        comment(&interface.target)
    )?;
    writeln!(out, "#ifndef TCC_MODEL_{upper}_H\n#define TCC_MODEL_{upper}_H\n\n#include <stdint.h>\n")?;
    writeln!(out, "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n")?;
    writeln!(out, "/* What a call works in: the caller's, for the time of the call. */")?;
    writeln!(out, "#define {upper}_ARENA_BYTES {}", interface.arena_bytes)?;
    writeln!(out, "#define {upper}_ARENA_ALIGN {}\n", Interface::ARENA_ALIGN)?;
    write_status(out, interface, &upper)?;
    if !interface.sizes.is_empty() {
        writeln!(out, "/* The sizes that a call chooses. */")?;
        for size in &interface.sizes {
            let field = size.field.to_ascii_uppercase();
            for (end, bound) in [("MIN", size.range.lo), ("MAX", size.range.hi)] {
                writeln!(out, "#define {upper}_SIZE_{field}_{end} {bound}")?;
            }
        }
        writeln!(out)?;
    }
    for (kind, ports) in [("INPUT", &interface.inputs), ("OUTPUT", &interface.outputs)] {
        for port in ports {
            write_port(out, &format!("{upper}_{kind}_{}", port.field.to_ascii_uppercase()), kind, port)?;
        }
    }
    write_struct(out, interface, "inputs", "const ", &interface.inputs)?;
    write_struct(out, interface, "outputs", "", &interface.outputs)?;
    writeln!(
        out,
        "/* Runs the model once, on this thread. Returns one of the codes above; outputs are complete only with\n\
         \x20* {upper}_OK. `arena` has {upper}_ARENA_BYTES bytes at a multiple of {upper}_ARENA_ALIGN; every pointer is\n\
         \x20* aligned for its type. What the arena holds before and after a call has no meaning. */"
    )?;
    writeln!(
        out,
        "int32_t {name}_run(const {name}_inputs *inputs, const {name}_outputs *outputs, void *arena);\n"
    )?;
    writeln!(out, "#ifdef __cplusplus\n}}\n#endif\n\n#endif")
}

fn write_status(out: &mut String, interface: &Interface, upper: &str) -> Result {
    writeln!(out, "/* What a call returns. */\nenum {{")?;
    for (name, code, meaning) in status::NAMES {
        writeln!(out, "    {upper}_{name} = {code}, /* {meaning} */")?;
    }
    writeln!(out, "}};")?;
    if !interface.checks.is_empty() {
        writeln!(out, "/* Conditions that the model needs:")?;
        for (at, check) in &interface.checks {
            writeln!(out, " * {upper}_ERROR_CHECK + {at}: {}", comment(check))?;
        }
        writeln!(out, " */")?;
    }
    writeln!(out)
}

fn write_port(out: &mut String, prefix: &str, kind: &str, port: &Port) -> Result {
    let kind = kind.to_ascii_lowercase();
    writeln!(out, "/* The {kind} \"{}\": {} */", comment(&port.name), comment(&port.type_text()))?;
    for (axis, (_, range)) in port.dims.iter().enumerate() {
        match range.as_const() {
            Some(size) => writeln!(out, "#define {prefix}_DIM_{axis} {size}")?,
            None => writeln!(out, "#define {prefix}_DIM_{axis}_MAX {}", range.hi)?,
        }
    }
    let most = if port.dims.iter().all(|(_, range)| range.as_const().is_some()) { "" } else { "MAX_" };
    writeln!(out, "#define {prefix}_{most}ELEMENTS {}", port.elements)?;
    writeln!(out, "#define {prefix}_{most}BYTES {}\n", port.bytes())
}

fn write_struct(
    out: &mut String,
    interface: &Interface,
    kind: &str,
    constant: &str,
    ports: &[Port],
) -> Result {
    let name = &interface.name;
    let sizes = if kind == "inputs" { &interface.sizes[..] } else { &[] };
    writeln!(out, "typedef struct {name}_{kind} {{")?;
    for size in sizes {
        let range = format!("{} to {}", size.range.lo, size.range.hi);
        writeln!(out, "    int64_t {}; /* the size {}, {range} */", size.field, comment(&size.name))?;
    }
    for port in ports {
        let (ty, note) = c_type(port.dtype);
        let note = if note.is_empty() { String::new() } else { format!(", {note}") };
        let text = comment(&port.type_text());
        writeln!(out, "    {constant}{ty} *{}; /* {text}{note} */", port.field)?;
    }
    if sizes.is_empty() && ports.is_empty() {
        writeln!(out, "    char unused;")?;
    }
    writeln!(out, "}} {name}_{kind};\n")
}

/// The C type of an element, and how it stands for it where that isn't plain.
fn c_type(dtype: DType) -> (&'static str, &'static str) {
    match dtype {
        DType::F64 => ("double", ""),
        DType::F32 => ("float", ""),
        DType::F16 | DType::BF16 => ("uint16_t", "the bits of each number"),
        DType::F8E4M3FN
        | DType::F8E4M3FNUZ
        | DType::F8E5M2
        | DType::F8E5M2FNUZ
        | DType::F8E8M0
        | DType::F4E2M1 => ("uint8_t", "the bits of each number"),
        DType::I64 => ("int64_t", ""),
        DType::I32 => ("int32_t", ""),
        DType::I16 => ("int16_t", ""),
        DType::I8 => ("int8_t", ""),
        DType::I4 | DType::I2 => ("int8_t", "a number a byte"),
        DType::U64 => ("uint64_t", ""),
        DType::U32 => ("uint32_t", ""),
        DType::U16 => ("uint16_t", ""),
        DType::U8 => ("uint8_t", ""),
        DType::U4 | DType::U2 => ("uint8_t", "a number a byte"),
        DType::Bool => ("uint8_t", "0 or 1"),
        DType::C64 => ("float", "real and imaginary parts in turn"),
        DType::C128 => ("double", "real and imaginary parts in turn"),
        DType::String => unreachable!("models with strings were refused"),
    }
}
