//! Prints fused kernels: expressions as infix trees, with `let` where one is used twice or grows deep.

use super::{Printer, sign};
use crate::kernel::{AxisId, ExprId};
use crate::kernel::{BufferKind, Kernel, Scalar, Stage, Store};
use crate::ops::BinaryKind;
use crate::text::literal;
use crate::text::name::name;
use crate::types::DType;
use std::fmt::Write;

/// Operators deeper than this get a `let`, so that lines stay readable and parsing needs little stack.
const MAX_DEPTH: usize = 12;

/// How tightly an expression binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Compare,
    Sum,
    Product,
    Primary,
}

/// Binary kinds with a sign.
pub(in crate::text) const INFIX: [(BinaryKind, &str); 4] =
    [(BinaryKind::Add, "+"), (BinaryKind::Sub, "-"), (BinaryKind::Mul, "*"), (BinaryKind::Div, "/")];

pub(in crate::text) fn buffer_kind_name(kind: BufferKind) -> &'static str {
    match kind {
        BufferKind::Input => "input",
        BufferKind::Output => "output",
        BufferKind::Temp => "temp",
    }
}

impl Printer<'_> {
    /// A kernel, without the line break at its end.
    pub(super) fn kernel(&mut self, kernel: &Kernel, indent: usize) -> String {
        let kernel = kernel.canonical();
        let (close, pad) = ("  ".repeat(indent), "  ".repeat(indent + 1));
        let mut out = format!("kernel @{} {{\n", name(&kernel.name));
        for (i, buffer) in kernel.buffers.iter().enumerate() {
            let ty = self.ty(&buffer.ty.clone().into());
            let _ = writeln!(out, "{pad}{} b{i}: {ty}", buffer_kind_name(buffer.kind));
        }
        for (i, extent) in kernel.axes.iter().enumerate() {
            let _ = writeln!(out, "{pad}axis i{i}: {}", self.dim(extent));
        }
        if kernel.serial || !kernel.outer.is_empty() {
            let serial = if kernel.serial { "serial " } else { "" };
            let _ = writeln!(out, "{pad}{serial}outer({})", axes(&kernel.outer));
        }
        let mut exprs = Exprs::new(&kernel);
        for stage in &kernel.stages {
            let _ = write!(out, "{pad}stage");
            for (word, list) in [("map", &stage.axes), ("reduce", &stage.reduce)] {
                if !list.is_empty() {
                    let _ = write!(out, " {word}({})", axes(list));
                }
            }
            let _ = writeln!(out, "{} {{", if stage.scan { " scan" } else { "" });
            for line in self.stage(stage, &mut exprs) {
                let _ = writeln!(out, "{pad}  {line}");
            }
            let _ = writeln!(out, "{pad}}}");
        }
        out + &close + "}"
    }

    fn stage(&mut self, stage: &Stage, exprs: &mut Exprs) -> Vec<String> {
        let mut lines = Vec::new();
        for (i, acc) in stage.accs.iter().enumerate() {
            exprs.name_shared(self, acc.value, &mut lines);
            let value = exprs.print(self, acc.value).0;
            lines.push(format!("acc{i} = {}({}, {value})", acc.op.name(), acc.dtype));
        }
        for store in &stage.stores {
            let Store { buffer, index, value, update, guard } = store;
            for id in index.iter().chain([value]).chain(guard) {
                exprs.name_shared(self, *id, &mut lines);
            }
            let index: Vec<String> = index.iter().map(|e| exprs.print(self, *e).0).collect();
            let update = update.map(|k| format!("{} ", k.name())).unwrap_or_default();
            let guard = guard.map(|g| format!(" if {}", exprs.print(self, g).0)).unwrap_or_default();
            let value = exprs.print(self, *value).0;
            lines.push(format!("b{}[{}] {update}= {value}{guard}", buffer.0, index.join(", ")));
        }
        lines
    }
}

fn axes(axes: &[AxisId]) -> String {
    axes.iter().map(|a| format!("i{}", a.0)).collect::<Vec<_>>().join(", ")
}

/// The expressions of one kernel and which of them have a name.
struct Exprs<'k> {
    kernel: &'k Kernel,
    /// Whether an expression is to get a name when it is first needed.
    shared: Vec<bool>,
    names: Vec<Option<String>>,
    next: usize,
}

impl<'k> Exprs<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        let n = kernel.exprs.len();
        let (mut uses, mut depth) = (vec![0usize; n], vec![0usize; n]);
        let mut shared = vec![false; n];
        let operands: Vec<Vec<ExprId>> = (0..n).map(|i| kernel.operands(ExprId(i as u32))).collect();
        let roots = kernel.stages.iter().flat_map(Stage::exprs);
        roots.chain(operands.iter().flatten().copied()).for_each(|e| uses[e.0 as usize] += 1);
        for i in 0..n {
            // Leaves are as short as a name.
            let leaf = operands[i].is_empty() && !matches!(kernel.exprs[i], Scalar::Load { .. });
            depth[i] = 1 + operands[i].iter().map(|o| depth[o.0 as usize]).max().unwrap_or(0);
            shared[i] = !leaf && (uses[i] > 1 || depth[i] > MAX_DEPTH);
            if shared[i] {
                depth[i] = 0;
            }
        }
        Exprs { kernel, shared, names: vec![None; n], next: 0 }
    }

    /// Adds a `let` line for every shared expression under `id` that has no name yet, operands first.
    fn name_shared(&mut self, printer: &mut Printer, id: ExprId, lines: &mut Vec<String>) {
        if self.names[id.0 as usize].is_some() {
            return;
        }
        for operand in self.kernel.operands(id) {
            self.name_shared(printer, operand, lines);
        }
        if self.shared[id.0 as usize] {
            let value = self.print(printer, id).0;
            let label = format!("t{}", self.next);
            self.next += 1;
            lines.push(format!("let {label} = {value}"));
            self.names[id.0 as usize] = Some(label);
        }
    }

    fn print(&self, printer: &mut Printer, id: ExprId) -> (String, Level) {
        if let Some(label) = &self.names[id.0 as usize] {
            return (label.clone(), Level::Primary);
        }
        let text = match self.kernel.expr(id) {
            Scalar::Float(dtype, v) => {
                let text = literal::float(*dtype, v.0);
                let bare = *dtype == DType::F32 && !text.starts_with("0x");
                if bare { text } else { format!("{text}:{dtype}") }
            }
            Scalar::Int(DType::I64, v) => v.to_string(),
            Scalar::Int(dtype, v) => format!("{v}:{dtype}"),
            Scalar::Axis(a) => format!("i{}", a.0),
            Scalar::Dim(d) => format!("dim({})", printer.dim(d)),
            Scalar::Acc(i) => format!("acc{i}"),
            Scalar::AccBefore(i) => format!("before{i}"),
            Scalar::Load { buffer, index, guard } => {
                let guard = guard.map(|g| format!("if {}", self.print(printer, g).0));
                let index = self.list(printer, index);
                let parts: Vec<String> =
                    Some(index).filter(|i| !i.is_empty()).into_iter().chain(guard).collect();
                format!("b{}[{}]", buffer.0, parts.join(" "))
            }
            Scalar::Unary(kind, a) => format!("{}({})", kind.name(), self.list(printer, &[*a])),
            Scalar::Binary(kind, a, b) => match INFIX.iter().find(|(k, _)| k == kind) {
                Some((_, sign)) => {
                    let level = if matches!(*sign, "+" | "-") { Level::Sum } else { Level::Product };
                    return (self.infix(printer, (*a, level), sign, (*b, above(level))), level);
                }
                None => format!("{}({})", kind.name(), self.list(printer, &[*a, *b])),
            },
            Scalar::Compare(cmp, a, b) => {
                let level = above(Level::Compare);
                return (self.infix(printer, (*a, level), sign(*cmp), (*b, level)), Level::Compare);
            }
            Scalar::Select(c, a, b) => format!("select({})", self.list(printer, &[*c, *a, *b])),
            Scalar::Cast(to, a) => format!("{to}({})", self.list(printer, &[*a])),
            Scalar::Bitcast(to, a) => format!("bitcast({to}, {})", self.list(printer, &[*a])),
            Scalar::Check { cond, value } => format!("check({})", self.list(printer, &[*cond, *value])),
        };
        (text, Level::Primary)
    }

    fn list(&self, printer: &mut Printer, ids: &[ExprId]) -> String {
        ids.iter().map(|e| self.print(printer, *e).0).collect::<Vec<_>>().join(", ")
    }

    /// `a sign b`, each operand in parentheses when it binds less tightly than is asked of it.
    fn infix(&self, printer: &mut Printer, a: (ExprId, Level), sign: &str, b: (ExprId, Level)) -> String {
        let mut side = |(id, least): (ExprId, Level)| {
            let (text, level) = self.print(printer, id);
            if level < least { format!("({text})") } else { text }
        };
        format!("{} {sign} {}", side(a), side(b))
    }
}

fn above(level: Level) -> Level {
    match level {
        Level::Compare => Level::Sum,
        Level::Sum => Level::Product,
        Level::Product | Level::Primary => Level::Primary,
    }
}
