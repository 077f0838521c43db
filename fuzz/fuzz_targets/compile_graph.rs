//! Takes bytes through reader, import and all passes, up to code generation. Each may refuse; nothing may crash, and no
//! pass may break a graph.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use prost::bytes::Bytes;
use tcc_frontend::onnx::external::ExternalFiles;
use tcc_frontend::onnx::{import, model};
use tcc_ir::diag::Code;
use tcc_ir::{Graph, text};
use tcc_passes::{FoldLimits, Options, default_pipeline};

/// Less work than by default, so that an input takes milliseconds.
const LIMITS: FoldLimits = FoldLimits {
    steps: 1 << 16,
    passes: 0,
    small_bytes: 1 << 12,
    widened_bytes: 1 << 12,
    large_bytes: 1 << 16,
};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tcc_fuzz::mutate(data, size, max_size, seed, tcc_fuzz::model::mutate)
});

fuzz_target!(|data: &[u8]| {
    let Ok(model) = model::load_bytes(Bytes::copy_from_slice(data), ExternalFiles::none()) else { return };
    let Ok(mut graph) = import::import(&model) else { return };
    let text = print(&graph);
    let parsed = text::parse(&text).map(|graph| print(&graph));
    assert_eq!(parsed.as_deref(), Ok(&text[..]), "the text form is read back as it was");
    let options = Options { fold: LIMITS, verify_each: true, ..Options::default() };
    if let Err(found) = tcc_passes::run(&mut graph, &default_pipeline(), &options, &mut |_, _| {}) {
        assert_ne!(found.code, Code::InvalidIr, "{found}");
    }
});

fn print(graph: &Graph) -> String {
    text::print_with(graph, &text::Options { inline_elements: usize::MAX, locations: true }).text
}
