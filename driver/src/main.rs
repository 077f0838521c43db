//! The `tcc` command.

fn main() {}
