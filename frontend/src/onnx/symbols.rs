//! Names of symbolic dims: what the file calls them, made fit for the text form and unique.

use indexmap::{IndexMap, IndexSet};
use tcc_ir::Symbol;

/// The symbols of a model's inputs.
#[derive(Default)]
pub(super) struct SymbolNames {
    by_text: IndexMap<String, Symbol>,
    taken: IndexSet<String>,
}

impl SymbolNames {
    /// The symbol that the file spells `text`: the same for the same text, unless that is no name at all (Paddle's
    /// exporter writes `?` for every unknown extent).
    pub fn named(&mut self, text: &str) -> Symbol {
        if !text.chars().any(|c| c.is_alphanumeric()) {
            return self.fresh(text);
        }
        if let Some(symbol) = self.by_text.get(text) {
            return symbol.clone();
        }
        let symbol = self.fresh(text);
        self.by_text.insert(text.to_owned(), symbol.clone());
        symbol
    }

    /// A new symbol with a name like `text`.
    pub fn fresh(&mut self, text: &str) -> Symbol {
        let mut name = identifier(text);
        while is_generated(&name) || self.taken.contains(&name) {
            name.push('_');
        }
        self.taken.insert(name.clone());
        Symbol::new(name)
    }
}

/// `text` with everything but ASCII letters, digits and underscores replaced, and a letter or underscore first.
fn identifier(text: &str) -> String {
    let mut name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    name
}

/// Whether inference could make the same name: `v3d0` (an axis) or `v3e0` (an element), after a region's prefix.
fn is_generated(name: &str) -> bool {
    let Some((head, index)) = name.rsplit_once(['d', 'e']) else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number(index) && head.rsplit_once('v').is_some_and(|(_, value)| is_number(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_the_same_symbol() {
        let mut names = SymbolNames::default();
        assert_eq!(names.named("batch"), names.named("batch"));
        assert_ne!(names.named("a+b"), names.named("a b"));
        assert_ne!(names.fresh("x_0"), names.fresh("x_0"));
        assert_ne!(names.named("?"), names.named("?"));
    }

    #[test]
    fn names_are_identifiers_that_inference_never_makes() {
        let mut names = SymbolNames::default();
        let name = |symbol: Symbol| symbol.name.to_string();
        assert_eq!(name(names.named("2*N")), "_2_N");
        assert_eq!(name(names.named("v3d0")), "v3d0_");
        assert_eq!(name(names.named("r1v3e12")), "r1v3e12_");
        assert_eq!(name(names.named("v3d")), "v3d");
        assert_eq!(name(names.named("")), "_");
    }
}
