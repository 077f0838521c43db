//! Writes MLIR text: names SSA values, keeps indentation, and forms structured loops.

use super::emitter::Memory;
use super::space::Space;
use crate::target::Arch;
use std::fmt::{self, Write};
use std::rc::Rc;

/// Type of an SSA value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    Index,
    Int(u32),
    Float(u32),
}

pub const I1: Ty = Ty::Int(1);
pub const I8: Ty = Ty::Int(8);
pub const I16: Ty = Ty::Int(16);
pub const I32: Ty = Ty::Int(32);
pub const I64: Ty = Ty::Int(64);
pub const F32: Ty = Ty::Float(32);
pub const F64: Ty = Ty::Float(64);

impl Ty {
    /// Bytes in memory.
    pub fn bytes(self) -> i64 {
        match self {
            Ty::Index => 8,
            Ty::Int(bits) | Ty::Float(bits) => i64::from(bits.div_ceil(8)),
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Index => f.write_str("index"),
            Ty::Int(bits) => write!(f, "i{bits}"),
            Ty::Float(bits) => write!(f, "f{bits}"),
        }
    }
}

/// An SSA value: its name with the percent sign, and its type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Val {
    name: Rc<str>,
    pub ty: Ty,
}

impl Val {
    /// A value that something else defines under a known name.
    pub fn named(name: &str, ty: Ty) -> Val {
        Val { name: name.into(), ty }
    }
}

impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The text of a body in the making.
#[derive(Default)]
pub struct Writer {
    text: String,
    depth: usize,
    n_values: usize,
    /// Loops carry values through memory of this target: MLIR's lowering to SPIR-V leaves the results of a loop without
    /// iterations undefined.
    pub carries_in_memory: Option<Arch>,
}

impl Writer {
    pub fn finish(self) -> String {
        self.text
    }

    /// A name that no other value has.
    pub fn fresh(&mut self) -> String {
        self.n_values += 1;
        format!("%v{}", self.n_values)
    }

    /// One line.
    pub fn line(&mut self, line: impl fmt::Display) {
        // Writing to a String can't fail.
        let _ = writeln!(self.text, "{:width$}{line}", "", width = 4 + 2 * self.depth);
    }

    /// Defines a value of type `ty` as the result of an operation.
    pub fn def(&mut self, ty: Ty, op: impl fmt::Display) -> Val {
        let name = self.fresh();
        self.line(format_args!("{name} = {op}"));
        Val { name: name.into(), ty }
    }

    pub fn int(&mut self, ty: Ty, v: i64) -> Val {
        match ty {
            I1 => self.def(ty, format_args!("arith.constant {}", v != 0)),
            _ => self.def(ty, format_args!("arith.constant {v} : {ty}")),
        }
    }

    pub fn index(&mut self, v: i64) -> Val {
        self.int(Ty::Index, v)
    }

    /// A float constant, by its bits so that every value is exact.
    pub fn float(&mut self, ty: Ty, v: f64) -> Val {
        match ty {
            F64 => self.def(ty, format_args!("arith.constant {:#018x} : f64", v.to_bits())),
            _ => self.def(ty, format_args!("arith.constant {:#010x} : {ty}", (v as f32).to_bits())),
        }
    }

    /// `op a, b` where operands and result have one type.
    pub fn bin(&mut self, op: &str, a: &Val, b: &Val) -> Val {
        debug_assert_eq!(a.ty, b.ty, "{op}");
        self.def(a.ty, format_args!("{op} {a}, {b} : {}", a.ty))
    }

    pub fn un(&mut self, op: &str, a: &Val) -> Val {
        self.def(a.ty, format_args!("{op} {a} : {}", a.ty))
    }

    /// `arith.cmpi` or `arith.cmpf` with a predicate.
    pub fn cmp(&mut self, predicate: &str, a: &Val, b: &Val) -> Val {
        debug_assert_eq!(a.ty, b.ty, "{predicate}");
        let op = if matches!(a.ty, Ty::Float(_)) { "arith.cmpf" } else { "arith.cmpi" };
        self.def(I1, format_args!("{op} {predicate}, {a}, {b} : {}", a.ty))
    }

    pub fn select(&mut self, cond: &Val, a: &Val, b: &Val) -> Val {
        debug_assert_eq!(a.ty, b.ty);
        self.def(a.ty, format_args!("arith.select {cond}, {a}, {b} : {}", a.ty))
    }

    /// An element of a memref.
    pub fn load(&mut self, memory: &Memory, ty: Ty, at: &Val) -> Val {
        self.def(ty, format_args!("memref.load {}[{at}] : {}", memory.name, memory.ty))
    }

    pub fn store(&mut self, value: &Val, memory: &Memory, at: &Val) {
        self.line(format_args!("memref.store {value}, {}[{at}] : {}", memory.name, memory.ty));
    }

    /// A conversion operation such as `arith.extf`.
    pub fn convert(&mut self, op: &str, a: &Val, to: Ty) -> Val {
        self.def(to, format_args!("{op} {a} : {} to {to}", a.ty))
    }

    /// Between `index` and integers.
    pub fn index_cast(&mut self, a: &Val, to: Ty) -> Val {
        if a.ty == to { a.clone() } else { self.convert("arith.index_cast", a, to) }
    }

    /// Opens `for iv in lo..hi step` with loop-carried values. [`Writer::close_for`] ends it.
    pub fn open_for(&mut self, (lo, hi, step): (&Val, &Val, &Val), carried: &[Val]) -> Loop {
        let iv = Val { name: self.fresh().into(), ty: Ty::Index };
        if let Some(arch) = self.carries_in_memory {
            return self.open_for_in_memory(arch, iv, (lo, hi, step), carried);
        }
        let inside: Vec<Val> = carried.iter().map(|c| Val { name: self.fresh().into(), ty: c.ty }).collect();
        let result = self.fresh();
        if carried.is_empty() {
            self.line(format_args!("scf.for {iv} = {lo} to {hi} step {step} {{"));
        } else {
            let inits = join(inside.iter().zip(carried).map(|(a, b)| format!("{a} = {b}")));
            let types = join(carried.iter().map(|c| c.ty));
            let head = head(&result, carried.len());
            self.line(format_args!(
                "{head} = scf.for {iv} = {lo} to {hi} step {step} iter_args({inits}) -> ({types}) {{"
            ));
        }
        self.depth += 1;
        Loop { iv, carried: inside, result, memory: None }
    }

    fn open_for_in_memory(
        &mut self,
        arch: Arch,
        iv: Val,
        (lo, hi, step): (&Val, &Val, &Val),
        carried: &[Val],
    ) -> Loop {
        let zero = self.index(0);
        let places: Vec<Memory> = carried
            .iter()
            .map(|init| {
                let place = Memory { name: self.fresh(), ty: Space::Private.memref(arch, Some(1), init.ty) };
                self.line(format_args!("{} = memref.alloca() : {}", place.name, place.ty));
                self.store(init, &place, &zero);
                place
            })
            .collect();
        self.line(format_args!("scf.for {iv} = {lo} to {hi} step {step} {{"));
        self.depth += 1;
        let inside = carried.iter().zip(&places).map(|(c, place)| self.load(place, c.ty, &zero)).collect();
        Loop { iv, carried: inside, result: String::new(), memory: Some((zero, places)) }
    }

    /// As [`Writer::open_for`], carrying vectors of one type, which go by their names.
    pub fn open_vector_for(
        &mut self,
        (lo, hi, step): (&Val, &Val, &Val),
        inits: &[String],
        vector: &str,
    ) -> VectorLoop {
        let iv = Val { name: self.fresh().into(), ty: Ty::Index };
        let carried: Vec<String> = inits.iter().map(|_| self.fresh()).collect();
        let result = self.fresh();
        let pairs = join(carried.iter().zip(inits).map(|(a, b)| format!("{a} = {b}")));
        let types = join(inits.iter().map(|_| vector));
        let head = head(&result, inits.len());
        self.line(format_args!(
            "{head} = scf.for {iv} = {lo} to {hi} step {step} iter_args({pairs}) -> ({types}) {{"
        ));
        self.depth += 1;
        VectorLoop { iv, carried, result }
    }

    pub fn close_vector_for(&mut self, open: VectorLoop, next: &[String], vector: &str) -> Vec<String> {
        self.line(format_args!("scf.yield {} : {}", join(next), join(next.iter().map(|_| vector))));
        self.depth -= 1;
        // The vectors fill the registers: an unrolled copy with a remainder beside it makes them move and spill.
        self.line("} {llvm.loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}");
        let n = next.len();
        (0..n).map(|i| if n == 1 { open.result.clone() } else { format!("{}#{i}", open.result) }).collect()
    }

    /// Ends a loop with the carried values of the next iteration. Gives the final ones.
    pub fn close_for(&mut self, open: Loop, next: &[Val]) -> Vec<Val> {
        debug_assert_eq!(next.len(), open.carried.len());
        if let Some((zero, places)) = open.memory {
            next.iter().zip(&places).for_each(|(v, place)| self.store(v, place, &zero));
            self.depth -= 1;
            self.line("}");
            return places.iter().zip(next).map(|(place, v)| self.load(place, v.ty, &zero)).collect();
        }
        if !next.is_empty() {
            self.line(format_args!("scf.yield {} : {}", join(next), join(next.iter().map(|v| v.ty))));
        }
        self.depth -= 1;
        self.line("}");
        results(&open.result, open.carried.iter().map(|c| c.ty))
    }

    /// `if cond { then } else { otherwise }` with results of the given types.
    pub fn if_else(
        &mut self,
        cond: &Val,
        types: &[Ty],
        then: impl FnOnce(&mut Writer) -> Vec<Val>,
        otherwise: impl FnOnce(&mut Writer) -> Vec<Val>,
    ) -> Vec<Val> {
        let (result, list) = (self.fresh(), join(types));
        let head = head(&result, types.len());
        self.line(format_args!("{head} = scf.if {cond} -> ({list}) {{"));
        self.nested_open(|w| {
            let values = then(w);
            w.line(format_args!("scf.yield {} : {list}", join(&values)));
        });
        self.line("} else {");
        self.nested(|w| {
            let values = otherwise(w);
            w.line(format_args!("scf.yield {} : {list}", join(&values)));
        });
        results(&result, types.iter().copied())
    }

    /// `if cond { then }`.
    pub fn if_then(&mut self, cond: &Val, then: impl FnOnce(&mut Writer)) {
        self.line(format_args!("scf.if {cond} {{"));
        self.nested(then);
    }

    /// Opens `if cond {`. [`Writer::close_if`] ends it.
    pub fn open_if(&mut self, cond: &Val) {
        self.line(format_args!("scf.if {cond} {{"));
        self.depth += 1;
    }

    /// Goes on with `} else {`.
    pub fn open_else(&mut self) {
        self.depth -= 1;
        self.line("} else {");
        self.depth += 1;
    }

    pub fn close_if(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// Writes `inside` one level deeper and closes the brace.
    pub fn nested(&mut self, inside: impl FnOnce(&mut Writer)) {
        self.nested_open(inside);
        self.line("}");
    }

    fn nested_open(&mut self, inside: impl FnOnce(&mut Writer)) {
        self.depth += 1;
        inside(self);
        self.depth -= 1;
    }
}

/// A loop that is open: its position, and the carried values inside.
pub struct Loop {
    pub iv: Val,
    pub carried: Vec<Val>,
    result: String,
    /// Where the values are carried in memory: index 0, and the places.
    memory: Option<(Val, Vec<Memory>)>,
}

/// An open loop that carries vectors.
pub struct VectorLoop {
    pub iv: Val,
    pub carried: Vec<String>,
    result: String,
}

fn head(result: &str, n: usize) -> String {
    if n == 1 { result.to_string() } else { format!("{result}:{n}") }
}

/// Items separated by commas.
pub fn join(items: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let shown: Vec<String> = items.into_iter().map(|i| i.to_string()).collect();
    shown.join(", ")
}

fn results(name: &str, types: impl ExactSizeIterator<Item = Ty>) -> Vec<Val> {
    let single = types.len() == 1;
    types
        .enumerate()
        .map(|(i, ty)| Val { name: if single { name.into() } else { format!("{name}#{i}").into() }, ty })
        .collect()
}
