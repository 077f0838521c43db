//! codegen.
