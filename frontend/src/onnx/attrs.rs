//! Reading a node's attributes. Each is looked at by name with the kind that the operator gives it; one that no
//! import function asks for is an error, since ignoring it could change what the model means.

use tcc_ir::DType;

use super::attribute::Attribute;
use super::dtype::DataType;
use super::model::GraphId;
use super::node::{ImportError, NodeCx, Result};
use super::to_ir;
use super::types::ValueType;

/// A reader of one kind of attribute: absent is `None`, another kind an error.
macro_rules! readers {
    ($($(#[doc = $doc:literal])* $name:ident: $variant:ident => $ty:ty = $value:expr;)*) => {
        impl<'m> NodeCx<'_, 'm> {
            $($(#[doc = $doc])*
            pub fn $name(&self, name: &str) -> Result<Option<$ty>> {
                match self.attribute(name) {
                    None => Ok(None),
                    Some(Attribute::$variant(value)) => Ok(Some(($value)(value))),
                    Some(_) => Err(ImportError::invalid(format!("attribute `{name}` is of the wrong kind"))),
                }
            })*
        }
    };
}

readers! {
    opt_int: Int => i64 = |value: &i64| *value;
    opt_float: Float => f64 = |value: &f32| f64::from(*value);
    opt_string: String => &'m str = String::as_str;
    opt_ints: Ints => &'m [i64] = Vec::as_slice;
    opt_floats: Floats => &'m [f32] = Vec::as_slice;
    opt_strings: Strings => &'m [String] = Vec::as_slice;
    opt_graph: Graph => GraphId = |value: &GraphId| *value;
    opt_type: Type => &'m ValueType = std::convert::identity;
    opt_raw_tensor: Tensor => &'m super::tensor::Tensor = std::convert::identity;
}

impl<'m> NodeCx<'_, 'm> {
    pub fn has_attribute(&self, name: &str) -> bool {
        self.node.attributes.contains_key(name)
    }

    /// An attribute that doesn't change what the node computes.
    pub fn ignore_attribute(&self, name: &str) {
        _ = self.attribute(name);
    }

    pub fn int(&self, name: &str, default: i64) -> Result<i64> {
        Ok(self.opt_int(name)?.unwrap_or(default))
    }

    /// An integer attribute that says yes (not 0) or no.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool> {
        Ok(self.opt_int(name)?.map_or(default, |value| value != 0))
    }

    pub fn float(&self, name: &str, default: f64) -> Result<f64> {
        Ok(self.opt_float(name)?.unwrap_or(default))
    }

    pub fn string(&self, name: &str, default: &'m str) -> Result<&'m str> {
        Ok(self.opt_string(name)?.unwrap_or(default))
    }

    pub fn graph(&self, name: &str) -> Result<GraphId> {
        self.opt_graph(name)?.ok_or_else(|| self.missing(name))
    }

    pub fn required_int(&self, name: &str) -> Result<i64> {
        self.opt_int(name)?.ok_or_else(|| self.missing(name))
    }

    pub fn required_ints(&self, name: &str) -> Result<&'m [i64]> {
        self.opt_ints(name)?.ok_or_else(|| self.missing(name))
    }

    pub fn opt_tensor(&self, name: &str) -> Result<Option<tcc_ir::Tensor>> {
        let Some(tensor) = self.opt_raw_tensor(name)? else { return Ok(None) };
        let invalid = |what: tcc_ir::Diagnostic| {
            ImportError::Wrong(what.code, format!("attribute `{name}`: {}", what.message))
        };
        to_ir::tensor(tensor).map(Some).map_err(invalid)
    }

    /// A type attribute, as the type of what an optional or sequence holds.
    pub fn stated_element_type(&self, name: &str) -> Result<Option<tcc_ir::Type>> {
        let ty = self.opt_type(name)?.map(|ty| to_ir::element_type(Some(ty))).transpose();
        ty.map_err(|what| ImportError::Wrong(what.code, what.message))
    }

    /// An integer attribute that is the number of an element type; 0 is no type.
    pub fn opt_dtype(&self, name: &str) -> Result<Option<DType>> {
        match self.opt_int(name)? {
            None | Some(0) => Ok(None),
            Some(number) => i32::try_from(number)
                .ok()
                .and_then(DataType::from_number)
                .ok_or_else(|| {
                    ImportError::invalid(format!("attribute `{name}`: {number} is no element type"))
                })
                .and_then(|dtype| {
                    to_ir::dtype(dtype).map(Some).map_err(|what| ImportError::Wrong(what.code, what.message))
                }),
        }
    }

    pub fn required_dtype(&self, name: &str) -> Result<DType> {
        self.opt_dtype(name)?.ok_or_else(|| self.missing(name))
    }

    fn attribute(&self, name: &str) -> Option<&'m Attribute> {
        let (name, value) = self.node.attributes.get_key_value(name)?;
        self.seen_attributes.borrow_mut().insert(name);
        Some(value)
    }

    fn missing(&self, name: &str) -> ImportError {
        ImportError::invalid(format!("required attribute `{name}` is missing"))
    }
}
