//! Operator attributes: one declaration gives the struct, its text form and the visit of its dims.
//!
//! [`attrs!`](crate::attrs) declares an operator's struct; everything that prints, parses or substitutes dims
//! goes through the [`Attrs`] trait that it implements.

use crate::graph::Graph;
use crate::tensor::Tensor;
use crate::types::{DType, Dim, Type};
use std::fmt;

/// An attribute in its general form, as the text form shows it.
#[derive(Clone, PartialEq, Debug)]
pub enum Attr {
    Int(i64),
    Float(f64),
    Bool(bool),
    Dim(Dim),
    DType(DType),
    Type(Type),
    /// A bare word: the name of an enum's variant.
    Word(&'static str),
    /// A word that came from text; compares to `Word` by content.
    Name(String),
    Str(String),
    List(Vec<Attr>),
    Tensor(Tensor),
    Graph(Box<Graph>),
    Kernel(Box<crate::kernel::Kernel>),
    /// An absent optional attribute; never printed.
    None,
}

/// Why an attribute couldn't be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("attribute `{name}`: {what}")]
pub struct AttrError {
    pub name: String,
    pub what: String,
}

/// A type that can stand in an operator's struct.
pub trait AttrValue: Sized {
    fn to_attr(&self) -> Attr;
    /// Err says what was expected.
    fn from_attr(attr: &Attr) -> Result<Self, String>;
    /// Applies `f` to every dim inside.
    fn map_dims(&mut self, _f: &mut dyn FnMut(&Dim) -> Dim) {}
    /// Calls `f` on every region inside.
    fn visit_graphs<'a>(&'a self, _f: &mut dyn FnMut(&'a Graph)) {}
    fn visit_graphs_mut<'a>(&'a mut self, _f: &mut dyn FnMut(&'a mut Graph)) {}
}

/// What `attrs!` implements for an operator.
pub trait Attrs: Sized {
    /// (name, value) in declaration order; absent ones are `Attr::None`.
    fn to_attrs(&self) -> Vec<(&'static str, Attr)>;
    /// Builds the operator from named attributes; unknown and missing names are errors.
    fn from_attrs(given: &[(String, Attr)]) -> Result<Self, AttrError>;
    fn map_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim);
    fn visit_graphs<'a>(&'a self, f: &mut dyn FnMut(&'a Graph));
    fn visit_graphs_mut<'a>(&'a mut self, f: &mut dyn FnMut(&'a mut Graph));
}

/// Declares an operator: documentation, struct, attributes.
///
/// ```ignore
/// attrs! {
///     /// Sum, product... over some axes.
///     pub struct Reduce { pub kind: ReduceKind, pub axes: Vec<usize> }
/// }
/// ```
#[macro_export]
macro_rules! attrs {
    ($(#[doc = $doc:literal])* pub struct $name:ident { $($(#[doc = $fdoc:literal])* pub $field:ident : $ty:ty),* $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name { $($(#[doc = $fdoc])* pub $field: $ty),* }

        impl $name {
            /// The documentation comment, for the generated operator table.
            pub const DOC: &'static str = concat!($($doc, "\n"),*);
        }

        #[allow(unused_variables, unused_mut, reason = "an operator may have no attribute")]
        impl $crate::attr::Attrs for $name {
            fn to_attrs(&self) -> Vec<(&'static str, $crate::attr::Attr)> {
                vec![$((stringify!($field), $crate::attr::AttrValue::to_attr(&self.$field))),*]
            }
            fn from_attrs(given: &[(String, $crate::attr::Attr)]) -> Result<Self, $crate::attr::AttrError> {
                $crate::attr::reject_unknown(given, &[$(stringify!($field)),*])?;
                Ok($name { $($field: $crate::attr::take(given, stringify!($field))?),* })
            }
            fn map_dims(&mut self, f: &mut dyn FnMut(&$crate::types::Dim) -> $crate::types::Dim) {
                $($crate::attr::AttrValue::map_dims(&mut self.$field, f);)*
            }
            fn visit_graphs<'a>(&'a self, f: &mut dyn FnMut(&'a $crate::graph::Graph)) {
                $($crate::attr::AttrValue::visit_graphs(&self.$field, f);)*
            }
            fn visit_graphs_mut<'a>(&'a mut self, f: &mut dyn FnMut(&'a mut $crate::graph::Graph)) {
                $($crate::attr::AttrValue::visit_graphs_mut(&mut self.$field, f);)*
            }
        }
    };
}

/// Declares an enum whose variants have names in the text form.
#[macro_export]
macro_rules! attr_enum {
    ($(#[doc = $doc:literal])* pub enum $name:ident { $($(#[doc = $vdoc:literal])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name { $($(#[doc = $vdoc])* $variant),* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The name in the text form.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.name() == name)
            }
        }

        impl $crate::attr::AttrValue for $name {
            fn to_attr(&self) -> $crate::attr::Attr {
                $crate::attr::Attr::Word(self.name())
            }
            fn from_attr(attr: &$crate::attr::Attr) -> Result<Self, String> {
                attr.as_word().and_then(Self::from_name).ok_or_else(|| {
                    format!("expected one of {}", Self::ALL.iter().map(|v| v.name()).collect::<Vec<_>>().join(", "))
                })
            }
        }
    };
}

#[doc(hidden)]
pub fn take<T: AttrValue>(given: &[(String, Attr)], name: &str) -> Result<T, AttrError> {
    let attr = given.iter().find(|(n, _)| n == name).map_or(&Attr::None, |(_, a)| a);
    T::from_attr(attr).map_err(|what| AttrError { name: name.to_string(), what })
}

#[doc(hidden)]
pub fn reject_unknown(given: &[(String, Attr)], known: &[&str]) -> Result<(), AttrError> {
    match given.iter().find(|(n, _)| !known.contains(&n.as_str())) {
        Some((n, _)) => Err(AttrError { name: n.clone(), what: "unknown attribute".to_string() }),
        None => Ok(()),
    }
}

impl Attr {
    pub fn as_word(&self) -> Option<&str> {
        match self {
            Attr::Word(w) => Some(w),
            Attr::Name(n) => Some(n),
            // Text can't tell a word from a symbol or an element type of that name.
            Attr::Dim(d) => d.as_symbol().map(|s| &*s.name),
            Attr::DType(d) => Some(d.name()),
            _ => None,
        }
    }
}

/// A float attribute, compared and hashed by its bits.
#[derive(Clone, Copy, Debug)]
pub struct Float(pub f64);

impl Float {
    fn key(self) -> u64 {
        self.0.to_bits()
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Float {}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Float {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl std::hash::Hash for Float {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Display for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

macro_rules! scalar_attr {
    ($ty:ty, $expected:literal, $to:expr, $from:pat => $value:expr) => {
        impl AttrValue for $ty {
            fn to_attr(&self) -> Attr {
                #[allow(clippy::redundant_closure_call, reason = "the table passes closures")]
                ($to)(self)
            }
            fn from_attr(attr: &Attr) -> Result<Self, String> {
                match attr {
                    $from => $value.ok_or_else(|| concat!("expected ", $expected).to_string()),
                    _ => Err(concat!("expected ", $expected).to_string()),
                }
            }
        }
    };
}

scalar_attr!(i64, "an integer", |v: &i64| Attr::Int(*v), Attr::Int(v) => Some(*v));
scalar_attr!(usize, "a natural number", |v: &usize| Attr::Int(*v as i64), Attr::Int(v) => usize::try_from(*v).ok());
scalar_attr!(bool, "true or false", |v: &bool| Attr::Bool(*v), Attr::Bool(v) => Some(*v));
scalar_attr!(DType, "an element type", |v: &DType| Attr::DType(*v), Attr::DType(v) => Some(*v));
scalar_attr!(String, "a string", |v: &String| Attr::Str(v.clone()), Attr::Str(v) => Some(v.clone()));
scalar_attr!(Tensor, "a tensor", |v: &Tensor| Attr::Tensor(v.clone()), Attr::Tensor(v) => Some(v.clone()));

impl AttrValue for Float {
    fn to_attr(&self) -> Attr {
        Attr::Float(self.0)
    }
    fn from_attr(attr: &Attr) -> Result<Self, String> {
        match attr {
            Attr::Float(v) => Ok(Float(*v)),
            Attr::Int(v) => Ok(Float(*v as f64)),
            _ => Err("expected a number".to_string()),
        }
    }
}

impl AttrValue for Dim {
    fn to_attr(&self) -> Attr {
        Attr::Dim(self.clone())
    }
    fn from_attr(attr: &Attr) -> Result<Self, String> {
        match attr {
            Attr::Dim(d) => Ok(d.clone()),
            Attr::Int(v) => Ok(Dim::from(*v)),
            _ => Err("expected a size".to_string()),
        }
    }
    fn map_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim) {
        *self = f(self);
    }
}

impl AttrValue for Type {
    fn to_attr(&self) -> Attr {
        Attr::Type(self.clone())
    }
    fn from_attr(attr: &Attr) -> Result<Self, String> {
        match attr {
            Attr::Type(t) => Ok(t.clone()),
            _ => Err("expected a type".to_string()),
        }
    }
    fn map_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim) {
        Type::map_dims(self, f);
    }
}

impl AttrValue for Graph {
    fn to_attr(&self) -> Attr {
        Attr::Graph(Box::new(self.clone()))
    }
    fn from_attr(attr: &Attr) -> Result<Self, String> {
        match attr {
            Attr::Graph(g) => Ok((**g).clone()),
            _ => Err("expected a graph".to_string()),
        }
    }
    fn map_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim) {
        self.map_all_dims(f);
    }
    fn visit_graphs<'a>(&'a self, f: &mut dyn FnMut(&'a Graph)) {
        f(self);
    }
    fn visit_graphs_mut<'a>(&'a mut self, f: &mut dyn FnMut(&'a mut Graph)) {
        f(self);
    }
}

impl<T: AttrValue> AttrValue for Vec<T> {
    fn to_attr(&self) -> Attr {
        Attr::List(self.iter().map(AttrValue::to_attr).collect())
    }
    fn from_attr(attr: &Attr) -> Result<Self, String> {
        match attr {
            Attr::List(items) => items.iter().map(T::from_attr).collect(),
            _ => Err("expected a list".to_string()),
        }
    }
    fn map_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim) {
        self.iter_mut().for_each(|v| v.map_dims(f));
    }
    fn visit_graphs<'a>(&'a self, f: &mut dyn FnMut(&'a Graph)) {
        self.iter().for_each(|v| v.visit_graphs(f));
    }
    fn visit_graphs_mut<'a>(&'a mut self, f: &mut dyn FnMut(&'a mut Graph)) {
        self.iter_mut().for_each(|v| v.visit_graphs_mut(f));
    }
}

impl<T: AttrValue> AttrValue for Option<T> {
    fn to_attr(&self) -> Attr {
        self.as_ref().map_or(Attr::None, AttrValue::to_attr)
    }
    fn from_attr(attr: &Attr) -> Result<Self, String> {
        match attr {
            Attr::None => Ok(None),
            _ => T::from_attr(attr).map(Some),
        }
    }
    fn map_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim) {
        self.iter_mut().for_each(|v| v.map_dims(f));
    }
    fn visit_graphs<'a>(&'a self, f: &mut dyn FnMut(&'a Graph)) {
        self.iter().for_each(|v| v.visit_graphs(f));
    }
    fn visit_graphs_mut<'a>(&'a mut self, f: &mut dyn FnMut(&'a mut Graph)) {
        self.iter_mut().for_each(|v| v.visit_graphs_mut(f));
    }
}
