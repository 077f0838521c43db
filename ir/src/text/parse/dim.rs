//! Reads dims and types.

use super::{Parsed, Parser, Stop};
use crate::diag::{Code, Diagnostic};
use crate::text::lex::{Pos, Tok};
use crate::types::{Cmp, DType, Dim, Symbol, TensorType, Type};

/// Terms of a product beyond which the text is refused: polynomials grow exponentially.
const MAX_TERMS: usize = 4096;

/// A function of two dims.
type Function = fn(&Dim, &Dim) -> Dim;

const FUNCTIONS: [(&str, Function); 4] =
    [("floordiv", Dim::floor_div), ("ceildiv", Dim::ceil_div), ("min", Dim::minimum), ("max", Dim::maximum)];

impl Parser<'_> {
    /// A sum of products.
    pub(super) fn dim(&mut self) -> Parsed<Dim> {
        self.nested(|p| {
            let mut negative = p.eat("-");
            let mut sum = Dim::from(0);
            loop {
                let term = p.term(negative)?;
                sum = sum + term;
                negative = match p.peek() {
                    Tok::Punct("+") => false,
                    Tok::Punct("-") => true,
                    _ => return Ok(sum),
                };
                p.next();
            }
        })
    }

    fn term(&mut self, negative: bool) -> Parsed<Dim> {
        let pos = self.pos();
        // The sign belongs to the number: the smallest i64 has no positive counterpart.
        let mut product = match self.peek().clone() {
            Tok::Int(digits) => {
                self.next();
                match format!("{}{digits}", if negative { "-" } else { "" }).parse::<i64>() {
                    Ok(v) => Dim::from(v),
                    Err(_) => return self.syntax(pos, "the number leaves the 64-bit range"),
                }
            }
            _ => {
                let factor = self.factor()?;
                if negative { Dim::from(0) - factor } else { factor }
            }
        };
        while self.eat("*") {
            let factor = self.factor()?;
            if product.terms().count().saturating_mul(factor.terms().count()) > MAX_TERMS {
                return self.syntax(pos, "the product has too many terms");
            }
            product = product * factor;
        }
        Ok(product)
    }

    fn factor(&mut self) -> Parsed<Dim> {
        let pos = self.pos();
        match self.peek().clone() {
            Tok::Int(_) => self.integer().map(Dim::from),
            Tok::Punct("(") => {
                self.next();
                let inner = self.dim()?;
                self.expect(")")?;
                Ok(inner)
            }
            Tok::Word(w) if matches!(self.peek_second(), Tok::Punct("(")) => {
                self.next();
                self.next();
                self.call(&w, pos)
            }
            // Arithmetic that left the range when the graph was made.
            Tok::Word(w) if w == "overflow" => {
                self.next();
                Ok(Dim::from(1).floor_div(&Dim::from(0)))
            }
            Tok::Word(name) | Tok::Symbol(name) => {
                self.next();
                if let Some(s) = self.symbol(&name) {
                    return Ok(Dim::symbol(s));
                }
                match self.scopes.last_mut().filter(|s| s.open) {
                    Some(scope) => {
                        let symbol = Symbol::new(name.as_str());
                        scope.symbols.insert(name, (symbol.clone(), pos));
                        Ok(Dim::symbol(symbol))
                    }
                    None => {
                        let what = format!("unknown symbol `{name}`");
                        let help = "declare it after the graph's signature: `where N = dim(%x, 0)`";
                        self.errors.push(Diagnostic::error(Code::InvalidIr, what).at(pos).help(help));
                        Err(Stop)
                    }
                }
            }
            _ => self.unexpected("a size"),
        }
    }

    /// The arguments of a function and its value.
    fn call(&mut self, name: &str, pos: Pos) -> Parsed<Dim> {
        if name == "select" {
            let cmp = self.cmp_name()?;
            self.expect(",")?;
            let args = self.list(")", Self::dim)?;
            return match args.as_slice() {
                [a, b, then, otherwise] => Ok(Dim::select(cmp, a, b, then, otherwise)),
                _ => self.syntax(pos, "select takes a comparison and 4 sizes"),
            };
        }
        let Some((_, function)) = FUNCTIONS.iter().find(|(f, _)| *f == name) else {
            return self.syntax(pos, format!("unknown function `{name}` of sizes"));
        };
        match self.list(")", Self::dim)?.as_slice() {
            [a, b] => Ok(function(a, b)),
            _ => self.syntax(pos, format!("{name} takes 2 sizes")),
        }
    }

    fn cmp_name(&mut self) -> Parsed<Cmp> {
        let pos = self.pos();
        let word = self.word()?;
        match Cmp::ALL.iter().find(|(_, n)| *n == word) {
            Some((cmp, _)) => Ok(*cmp),
            None => self.syntax(pos, format!("expected one of {}", Cmp::ALL.map(|(_, n)| n).join(", "))),
        }
    }

    /// Whether a dim begins at the word `w`, which is next.
    pub(super) fn begins_dim(&self, w: &str) -> bool {
        let calls = matches!(self.peek_second(), Tok::Punct("("));
        let arithmetic = matches!(self.peek_second(), Tok::Punct("+" | "-" | "*"));
        calls || arithmetic || w == "overflow" || self.symbol(w).is_some()
    }

    pub(super) fn dtype(&mut self) -> Parsed<DType> {
        let pos = self.pos();
        let word = self.word()?;
        match DType::from_name(&word) {
            Some(d) => Ok(d),
            None => self.syntax(pos, format!("`{word}` is no element type")),
        }
    }

    pub(super) fn ty(&mut self) -> Parsed<Type> {
        self.nested(|p| {
            for (word, make) in [("seq", Type::Sequence as fn(Box<Type>) -> Type), ("opt", Type::Optional)] {
                if p.eat_word(word) {
                    p.expect("<")?;
                    let inner = p.ty()?;
                    p.expect(">")?;
                    return Ok(make(Box::new(inner)));
                }
            }
            let dtype = p.dtype()?;
            if !p.eat("[") {
                return Ok(TensorType::scalar(dtype).into());
            }
            if p.eat("*") {
                p.expect("]")?;
                return Ok(Type::Unranked(dtype));
            }
            Ok(TensorType { dtype, shape: p.list("]", Self::dim)? }.into())
        })
    }

    pub(super) fn tensor_type(&mut self) -> Parsed<TensorType> {
        let pos = self.pos();
        match self.ty()? {
            Type::Tensor(t) => Ok(t),
            other => self.syntax(pos, format!("expected a tensor type, found {other}")),
        }
    }
}
