//! Reads the scalar expressions of kernels.

use super::kernel::{KernelDraft, Named};
use super::{Parsed, Parser};
use crate::attr::Float;
use crate::kernel::{ExprId, Scalar};
use crate::ops::{BinaryKind, UnaryKind};
use crate::text::lex::{Pos, Tok};
use crate::text::literal;
use crate::text::print::{INFIX, SIGNS};
use crate::types::DType;

/// Depth of expressions, `let`s included, beyond which a kernel is refused: others walk them recursively.
const MAX_EXPR_DEPTH: usize = 2000;

impl Parser<'_> {
    /// An expression: comparisons of sums of products.
    pub(super) fn scalar(&mut self, draft: &mut KernelDraft) -> Parsed<ExprId> {
        self.nested(|p| {
            let a = p.infix(draft, &["+", "-"])?;
            if !SIGNS.iter().any(|(_, s)| p.is(s)) {
                return Ok(a);
            }
            let cmp = p.sign()?;
            let b = p.infix(draft, &["+", "-"])?;
            p.push(draft, Scalar::Compare(cmp, a, b))
        })
    }

    /// Operands joined by signs of one level, from the left.
    fn infix(&mut self, draft: &mut KernelDraft, signs: &[&str]) -> Parsed<ExprId> {
        let tighter: &[&str] = if signs.contains(&"+") { &["*", "/"] } else { &[] };
        let operand = |p: &mut Self, draft: &mut KernelDraft| {
            if tighter.is_empty() { p.primary(draft) } else { p.infix(draft, tighter) }
        };
        let mut left = operand(self, draft)?;
        while let Some((kind, _)) = INFIX.iter().find(|(_, s)| signs.contains(s) && self.is(s)) {
            self.next();
            let right = operand(self, draft)?;
            left = self.push(draft, Scalar::Binary(*kind, left, right))?;
        }
        Ok(left)
    }

    fn primary(&mut self, draft: &mut KernelDraft) -> Parsed<ExprId> {
        let pos = self.pos();
        match self.peek().clone() {
            Tok::Punct("(") => {
                self.next();
                let inner = self.scalar(draft)?;
                self.expect(")")?;
                Ok(inner)
            }
            Tok::Word(w) if w == "inf" || w == "nan" => self.number(draft),
            Tok::Punct("-") | Tok::Int(_) | Tok::Float(_) | Tok::Hex(_) => self.number(draft),
            Tok::Word(w) => {
                self.next();
                self.named(draft, &w, pos)
            }
            _ => self.unexpected("an expression"),
        }
    }

    /// A constant; without a type, integers are i64 and floats f32.
    fn number(&mut self, draft: &mut KernelDraft) -> Parsed<ExprId> {
        let pos = self.pos();
        let sign = if self.eat("-") { "-" } else { "" };
        let token = self.next();
        let typed = if self.eat(":") { Some(self.dtype()?) } else { None };
        let is_int = matches!(token, Tok::Int(_));
        let dtype = typed.unwrap_or(if is_int { DType::I64 } else { DType::F32 });
        let scalar = match token {
            Tok::Hex(bits) if dtype.is_float() && sign.is_empty() => {
                u64::try_from(bits).ok().map(|b| Scalar::Float(dtype, Float(f64::from_bits(b))))
            }
            Tok::Int(text) if !dtype.is_float() => {
                format!("{sign}{text}").parse().ok().map(|v| Scalar::Int(dtype, v))
            }
            Tok::Int(text) | Tok::Float(text) | Tok::Word(text) if dtype.is_float() => {
                literal::parse_float(dtype, &format!("{sign}{text}")).map(|v| Scalar::Float(dtype, Float(v)))
            }
            _ => None,
        };
        match scalar {
            Some(scalar) => self.push(draft, scalar),
            None => self.syntax(pos, format!("expected a constant of type {dtype}")),
        }
    }

    /// What begins with a name: a load, an axis, a `let`, an accumulator or a function.
    fn named(&mut self, draft: &mut KernelDraft, word: &str, pos: Pos) -> Parsed<ExprId> {
        match draft.names.get(word).copied() {
            Some(Named::Expr(e)) => return Ok(e),
            Some(Named::Axis(a)) => return self.push(draft, Scalar::Axis(a)),
            Some(Named::Buffer(buffer)) => {
                self.expect("[")?;
                let mut index = Vec::new();
                while !self.is("]") && !self.is_word("if") {
                    if !index.is_empty() {
                        self.expect(",")?;
                    }
                    index.push(self.scalar(draft)?);
                }
                let guard = if self.eat_word("if") { Some(self.scalar(draft)?) } else { None };
                self.expect("]")?;
                return self.push(draft, Scalar::Load { buffer, index, guard });
            }
            None => {}
        }
        if self.eat("(") {
            return self.function(draft, word, pos);
        }
        for (prefix, make) in [("acc", Scalar::Acc as fn(u32) -> Scalar), ("before", Scalar::AccBefore)] {
            if let Some(i) = word.strip_prefix(prefix).and_then(|digits| digits.parse().ok()) {
                return self.push(draft, make(i));
            }
        }
        self.invalid(pos, format!("`{word}` isn't defined"))
    }

    /// A function whose opening parenthesis is taken.
    fn function(&mut self, draft: &mut KernelDraft, word: &str, pos: Pos) -> Parsed<ExprId> {
        if word == "dim" {
            let dim = self.dim()?;
            self.expect(")")?;
            return self.push(draft, Scalar::Dim(dim));
        }
        let mut bitcast = None;
        if word == "bitcast" {
            bitcast = Some(self.dtype()?);
            self.expect(",")?;
        }
        let args = self.list(")", |p| p.scalar(draft))?;
        let binary = BinaryKind::from_name(word);
        let scalar = match args.as_slice() {
            [a] if bitcast.is_some() => bitcast.map(|to| Scalar::Bitcast(to, *a)),
            [a] => match (UnaryKind::from_name(word), DType::from_name(word)) {
                (Some(kind), _) => Some(Scalar::Unary(kind, *a)),
                (None, to) => to.map(|to| Scalar::Cast(to, *a)),
            },
            [cond, value] if word == "check" => Some(Scalar::Check { cond: *cond, value: *value }),
            [a, b] => binary.map(|kind| Scalar::Binary(kind, *a, *b)),
            [c, a, b] if word == "select" => Some(Scalar::Select(*c, *a, *b)),
            _ => None,
        };
        match scalar {
            Some(scalar) => self.push(draft, scalar),
            None => self.syntax(pos, format!("there is no function `{word}` of {} arguments", args.len())),
        }
    }

    fn push(&mut self, draft: &mut KernelDraft, scalar: Scalar) -> Parsed<ExprId> {
        let id = draft.builder.expr(scalar);
        if id.0 as usize == draft.depths.len() {
            let operands = draft.builder.kernel().operands(id);
            let depth = 1 + operands.iter().map(|o| draft.depths[o.0 as usize]).max().unwrap_or(0);
            draft.depths.push(depth);
            if depth > MAX_EXPR_DEPTH {
                let pos = self.pos();
                return self.syntax(pos, "the expression is too deep");
            }
        }
        Ok(id)
    }
}
