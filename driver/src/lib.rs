//! The `tcc` library: what the command line and other programs use to load, compile and run models.

pub mod npy;
