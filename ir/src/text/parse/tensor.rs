//! Reads constants: elements in the text, one repeated element, or a reference.

use super::{Parsed, Parser};
use crate::tensor::{Tensor, n_elements};
use crate::text::WeightRef;
use crate::text::lex::{Pos, Tok};
use crate::text::literal::{self, Literal};
use crate::text::print::MAX_SPLAT_BYTES;
use crate::types::{DType, TensorType};

impl Parser<'_> {
    /// The data behind the type of a constant: `[...]`, `splat ...` or `@label`.
    pub(super) fn tensor(&mut self, ty: &TensorType, pos: Pos) -> Parsed<Tensor> {
        let Some(shape) = ty.static_shape() else {
            return self.invalid(pos, format!("a constant can't have the type {ty}"));
        };
        if let Tok::At(label) = self.peek().clone() {
            self.next();
            return self.weight(label, ty.dtype, shape, pos);
        }
        let splat = self.eat_word("splat");
        let elements = if splat {
            vec![self.nested(Self::literal)?]
        } else {
            self.expect("[")?;
            self.list("]", |p| p.nested(Self::literal))?
        };
        let n = n_elements(&shape);
        let splat_fits = ty.dtype != DType::String
            && n.and_then(|n| n.checked_mul(ty.dtype.size())) <= Some(MAX_SPLAT_BYTES);
        let repeat = match n {
            Some(n) if splat && splat_fits => n,
            Some(n) if !splat && n == elements.len() => 1,
            _ if splat => return self.invalid(pos, format!("{ty} is too large for splat")),
            _ => return self.invalid(pos, format!("{} elements don't make a {ty}", elements.len())),
        };
        if ty.dtype == DType::String {
            let text = |e| if let Literal::Str(s) = e { Some(s) } else { None };
            return match elements.into_iter().map(text).collect() {
                Some(strings) => Ok(Tensor::from_strings(shape, strings)),
                None => self.invalid(pos, "expected strings"),
            };
        }
        let mut bytes = Vec::new();
        for e in &elements {
            if let Err(what) = literal::store(ty.dtype, e, &mut bytes) {
                return self.invalid(pos, what);
            }
        }
        match Tensor::from_bytes(ty.dtype, shape, bytes.repeat(repeat).into()) {
            Some(tensor) => Ok(tensor),
            None => self.invalid(pos, format!("the elements don't make a {ty}")),
        }
    }

    fn weight(&mut self, label: String, dtype: DType, shape: Vec<usize>, pos: Pos) -> Parsed<Tensor> {
        let hash = match self.peek() {
            Tok::Hash(h) => Some(*h),
            _ => None,
        };
        if hash.is_some() {
            self.next();
        }
        let reference = WeightRef { label, dtype, shape, hash };
        match (self.weights)(&reference) {
            Some(tensor) => match reference.accept(&tensor) {
                Ok(()) => Ok(tensor),
                Err(what) => self.invalid(pos, what),
            },
            None => self.invalid(pos, format!("the data of @{} isn't there", reference.label)),
        }
    }

    fn literal(&mut self) -> Parsed<Literal> {
        let sign = if self.eat("-") { "-" } else { "" };
        let literal = match self.peek().clone() {
            Tok::Int(text) | Tok::Float(text) => Literal::Number(format!("{sign}{text}")),
            Tok::Word(w) if w == "inf" || w == "nan" => Literal::Number(format!("{sign}{w}")),
            Tok::Word(w) if sign.is_empty() && (w == "true" || w == "false") => Literal::Bool(w == "true"),
            Tok::Hex(bits) if sign.is_empty() => Literal::Bits(bits),
            Tok::Str(s) if sign.is_empty() => Literal::Str(s),
            Tok::Punct("(") if sign.is_empty() => {
                self.next();
                let re = self.nested(Self::literal)?;
                self.expect(",")?;
                let im = self.nested(Self::literal)?;
                self.expect(")")?;
                return Ok(Literal::Complex(Box::new(re), Box::new(im)));
            }
            _ => return self.unexpected("an element"),
        };
        self.next();
        Ok(literal)
    }
}
