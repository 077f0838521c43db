//! Reads attributes. Their kind follows from how they are written; the operator says whether it fits.

use super::{Parsed, Parser};
use crate::attr::Attr;
use crate::text::lex::{Pos, Tok};
use crate::types::{DType, Dim, Type};

impl Parser<'_> {
    /// `{name = value, ...}` with the place of each.
    pub(super) fn attrs(&mut self) -> Parsed<Vec<(String, Attr, Pos)>> {
        self.expect("{")?;
        let attrs = self.list("}", |p| {
            let pos = p.pos();
            let name = p.word()?;
            p.expect("=")?;
            Ok((name, p.attr()?, pos))
        })?;
        for (i, (name, _, pos)) in attrs.iter().enumerate() {
            if attrs[..i].iter().any(|(n, _, _)| n == name) {
                return self.syntax(*pos, format!("attribute `{name}` is given twice"));
            }
        }
        Ok(attrs)
    }

    fn attr(&mut self) -> Parsed<Attr> {
        self.nested(|p| {
            let pos = p.pos();
            match p.peek().clone() {
                Tok::Word(w) => p.attr_word(&w, pos),
                Tok::Str(s) => {
                    p.next();
                    Ok(Attr::Str(s))
                }
                Tok::Punct("[") => {
                    p.next();
                    p.list("]", Self::attr).map(Attr::List)
                }
                Tok::Float(_) | Tok::Hex(_) => p.float().map(Attr::Float),
                Tok::Punct("-") if p.second_is_float() => p.float().map(Attr::Float),
                Tok::Int(_) | Tok::Symbol(_) | Tok::Punct("-" | "(") => p.dim().map(dim_attr),
                _ => p.unexpected("a value"),
            }
        })
    }

    fn second_is_float(&self) -> bool {
        match self.peek_second() {
            Tok::Float(_) => true,
            Tok::Word(w) => w == "inf" || w == "nan",
            _ => false,
        }
    }

    fn attr_word(&mut self, w: &str, pos: Pos) -> Parsed<Attr> {
        match w {
            "true" | "false" => {
                self.next();
                Ok(Attr::Bool(w == "true"))
            }
            "inf" | "nan" => self.float().map(Attr::Float),
            "_" => {
                self.next();
                Ok(Attr::None)
            }
            "graph" if matches!(self.peek_second(), Tok::At(_)) => {
                self.graph().map(|g| Attr::Graph(Box::new(g)))
            }
            "kernel" if matches!(self.peek_second(), Tok::At(_)) => {
                self.kernel().map(|k| Attr::Kernel(Box::new(k)))
            }
            "seq" | "opt" if matches!(self.peek_second(), Tok::Punct("<")) => self.ty().map(Attr::Type),
            _ if DType::from_name(w).is_some() => self.typed(pos),
            _ if self.begins_dim(w) => self.dim().map(dim_attr),
            _ => {
                self.next();
                Ok(Attr::Name(w.to_string()))
            }
        }
    }

    /// What begins with an element type: itself, a tensor type, or a constant.
    fn typed(&mut self, pos: Pos) -> Parsed<Attr> {
        if !matches!(self.peek_second(), Tok::Punct("[")) {
            return self.dtype().map(Attr::DType);
        }
        let ty = self.ty()?;
        match (&ty, self.peek()) {
            (Type::Tensor(t), Tok::Punct("[") | Tok::At(_)) => self.tensor(t, pos).map(Attr::Tensor),
            (Type::Tensor(t), Tok::Word(w)) if w == "splat" => self.tensor(t, pos).map(Attr::Tensor),
            _ => Ok(Attr::Type(ty)),
        }
    }

    /// A 64-bit float: decimal, `inf`, `nan`, or its bits.
    pub(super) fn float(&mut self) -> Parsed<f64> {
        let pos = self.pos();
        let negative = self.eat("-");
        let value = match self.peek().clone() {
            Tok::Hex(bits) if !negative => u64::try_from(bits).ok().map(f64::from_bits),
            Tok::Float(text) | Tok::Int(text) => text.parse().ok(),
            Tok::Word(w) if w == "inf" || w == "nan" => w.parse().ok(),
            _ => return self.unexpected("a number"),
        };
        self.next();
        match value {
            Some(v) => Ok(if negative { -v } else { v }),
            None => self.syntax(pos, "the number can't be read"),
        }
    }
}

fn dim_attr(dim: Dim) -> Attr {
    dim.as_const().map_or(Attr::Dim(dim), Attr::Int)
}
