//! Model files in, graph IR out: one module a file format.

pub mod onnx;
