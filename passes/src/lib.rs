//! passes.
