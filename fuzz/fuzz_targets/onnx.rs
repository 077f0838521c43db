//! Reads bytes as an ONNX model, and imports what was read. Either may fail; nothing may crash.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use prost::bytes::Bytes;
use tcc_frontend::onnx::external::ExternalFiles;
use tcc_frontend::onnx::{import, model};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tcc_fuzz::mutate(data, size, max_size, seed, tcc_fuzz::model::mutate)
});

fuzz_target!(|data: &[u8]| {
    if let Ok(model) = model::load_bytes(Bytes::copy_from_slice(data), ExternalFiles::none())
        && let Ok(graph) = import::import(&model)
    {
        graph.verify().expect("what is imported is valid");
    }
});
