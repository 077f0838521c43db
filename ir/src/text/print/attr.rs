//! Prints attributes: words, numbers, types, tensors, regions.

use super::Printer;
use crate::attr::Attr;
use crate::tensor::Tensor;
use crate::text::literal;
use crate::text::name::quoted;
use crate::text::weight::content_hash;
use crate::types::{DType, Type};

/// Tensors of one repeated element print as `splat` up to this size; the parser makes them no larger.
pub(in crate::text) const MAX_SPLAT_BYTES: usize = 1 << 26;

impl Printer<'_> {
    /// ` {name = value, ...}`; nothing when there is none.
    pub(super) fn attrs(&mut self, attrs: &[(&'static str, Attr)], indent: usize) -> String {
        let shown: Vec<String> = attrs
            .iter()
            .filter(|(_, a)| *a != Attr::None)
            .map(|(name, a)| format!("{name} = {}", self.attr(a, indent)))
            .collect();
        if shown.is_empty() { String::new() } else { format!(" {{{}}}", shown.join(", ")) }
    }

    fn attr(&mut self, attr: &Attr, indent: usize) -> String {
        match attr {
            Attr::Int(v) => v.to_string(),
            Attr::Float(v) => literal::float(DType::F64, *v),
            Attr::Bool(v) => v.to_string(),
            Attr::Dim(d) => self.dim(d),
            Attr::DType(d) => d.to_string(),
            // A bare element type would be an attribute of its own kind.
            Attr::Type(Type::Tensor(t)) if t.rank() == 0 => format!("{}[]", t.dtype),
            Attr::Type(t) => self.ty(t),
            Attr::Word(w) => w.to_string(),
            Attr::Name(w) => w.clone(),
            Attr::Str(s) => quoted(s),
            Attr::List(items) => {
                let items: Vec<String> = items.iter().map(|a| self.attr(a, indent)).collect();
                format!("[{}]", items.join(", "))
            }
            Attr::Tensor(t) => self.tensor(t),
            Attr::Graph(g) => self.graph(g, indent),
            Attr::Kernel(k) => self.kernel(k, indent),
            Attr::None => "_".to_string(),
        }
    }

    fn tensor(&mut self, tensor: &Tensor) -> String {
        let dims: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
        let head = format!("{}[{}]", tensor.dtype(), dims.join(", "));
        if tensor.n_elements() <= self.options.inline_elements {
            return format!("{head} [{}]", elements(tensor).join(", "));
        }
        if let Some(element) = splat(tensor) {
            return format!("{head} splat {element}");
        }
        let (index, _) = self.weights.insert_full(tensor.clone());
        format!("{head} @{} #{:016x}", super::weight_label(index), content_hash(tensor))
    }
}

fn elements(tensor: &Tensor) -> Vec<String> {
    if tensor.dtype() == DType::String {
        return tensor.strings().iter().map(|s| literal::string(s)).collect();
    }
    let chunks = tensor.bytes().chunks_exact(tensor.dtype().size());
    chunks.map(|c| literal::element(tensor.dtype(), c)).collect()
}

/// The element that all of a tensor's elements are.
fn splat(tensor: &Tensor) -> Option<String> {
    let (bytes, size) = (tensor.bytes(), tensor.dtype().size());
    if bytes.is_empty() || bytes.len() > MAX_SPLAT_BYTES {
        return None;
    }
    let first = &bytes[..size];
    bytes.chunks_exact(size).all(|c| c == first).then(|| literal::element(tensor.dtype(), first))
}
