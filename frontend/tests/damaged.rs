//! Damaged models: flipped bits, changed bytes, cut ends. Reader, import and passes may refuse them or take them, but
//! neither crash nor hang.
//!
//! A few changes of each small model in `models/` are tried, always the same. `TCC_DAMAGE_RUNS=N` tries N, and
//! `TCC_DAMAGE_MODELS=DIR` takes the models of a folder instead (not of those below); `ulimit -d` limits memory.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use prost::Message;
use prost::bytes::Bytes;
use tcc_frontend::onnx::external::ExternalFiles;
use tcc_frontend::onnx::proto::{GraphProto, ModelProto, TensorProto};
use tcc_frontend::onnx::{import, model};
use tcc_ir::diag::Code;
use tcc_passes::{Options, default_pipeline};

/// Time for one input: what a few hundred times the work would take.
const LIMIT: Duration = Duration::from_secs(120);
const RUNS: u64 = 8;
/// A tensor's bytes from this length on are weights, whose value hardly matters.
const WEIGHTS: usize = 256;

#[test]
fn damaged_models_are_refused_or_taken() {
    let runs = std::env::var("TCC_DAMAGE_RUNS").map_or(RUNS, |runs| runs.parse().expect("a number"));
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let models = match std::env::var_os("TCC_DAMAGE_MODELS") {
        Some(folder) => models_in(Path::new(&folder)),
        None => models_below(&own),
    };
    assert!(!models.is_empty(), "no models");
    for path in models {
        let bytes = std::fs::read(&path).unwrap();
        let structure = structure_of(&bytes);
        let (mut taken, mut slowest) = (0, Duration::ZERO);
        for run in 0..runs {
            let damaged =
                damage(&bytes, &structure, &mut Random(run.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
            let start = Instant::now();
            taken += u64::from(compile(damaged, &format!("{}, run {run}", path.display())));
            slowest = slowest.max(start.elapsed());
        }
        println!("{}: {runs} changes, {taken} taken, {slowest:.1?} at most", path.display());
    }
}

/// Inputs on which something went wrong once.
#[test]
fn found_by_fuzzing() {
    for path in models_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/fuzzed")) {
        compile(std::fs::read(&path).unwrap(), &path.display().to_string());
    }
}

/// Takes bytes through reader, import and passes; whether all of them take it.
fn compile(bytes: Vec<u8>, what: &str) -> bool {
    let (send, receive) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let taken = try_compile(bytes);
        // Nobody waits for an answer that comes too late.
        let _ = send.send(taken);
    });
    match receive.recv_timeout(LIMIT) {
        Ok(taken) => taken.unwrap_or_else(|broken| panic!("{what}: {broken}")),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what}: no answer in {LIMIT:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let panic = thread.join().expect_err("it sends before it ends");
            let words = panic.downcast_ref::<String>().cloned();
            panic!(
                "{what}: {}",
                words.or(panic.downcast_ref().map(|s: &&str| s.to_string())).unwrap_or_default()
            )
        }
    }
}

fn try_compile(bytes: Vec<u8>) -> Result<bool, String> {
    let Ok(model) = model::load_bytes(Bytes::from(bytes), ExternalFiles::none()) else { return Ok(false) };
    let Ok(mut graph) = import::import(&model) else { return Ok(false) };
    match tcc_passes::run(&mut graph, &default_pipeline(), &Options::default(), &mut |_, _| {}) {
        Err(found) if found.code == Code::InvalidIr => Err(found.to_string()),
        result => Ok(result.is_ok()),
    }
}

fn damage(bytes: &[u8], structure: &[usize], random: &mut Random) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    if bytes.is_empty() {
        return damaged;
    }
    match random.below(8) {
        0 => damaged.truncate(random.below(bytes.len())),
        1 => damaged.insert(random.below(bytes.len()), random.next() as u8),
        2 => drop(damaged.remove(random.below(bytes.len()))),
        kind => {
            for _ in 0..=random.below(4) {
                // Mostly what says what the model is, not its weights.
                let anywhere = kind == 3 || structure.is_empty();
                let at = if anywhere {
                    random.below(bytes.len())
                } else {
                    structure[random.below(structure.len())]
                };
                match kind {
                    4 => damaged[at] = random.next() as u8,
                    _ => damaged[at] ^= 1 << random.below(8),
                }
            }
        }
    }
    damaged
}

/// The positions of all bytes that aren't weights.
fn structure_of(bytes: &[u8]) -> Vec<usize> {
    let shared = Bytes::copy_from_slice(bytes);
    let mut weights = vec![false; bytes.len()];
    if let Ok(model) = ModelProto::decode(shared.clone()) {
        let mut mark = |tensor: &TensorProto| {
            if let Some(raw) = tensor.raw_data.as_ref().filter(|raw| raw.len() >= WEIGHTS) {
                // Decoding copies nothing: what it gives is a part of the file.
                let start = raw.as_ptr() as usize - shared.as_ptr() as usize;
                weights[start..start + raw.len()].fill(true);
            }
        };
        model.graph.iter().for_each(|graph| visit(graph, &mut mark));
    }
    (0..bytes.len()).filter(|&at| !weights[at]).collect()
}

fn visit(graph: &GraphProto, mark: &mut dyn FnMut(&TensorProto)) {
    graph.initializer.iter().for_each(&mut *mark);
    for attribute in graph.node.iter().flat_map(|node| &node.attribute) {
        attribute.t.iter().for_each(&mut *mark);
        if let Some(Ok(inner)) = attribute.g.clone().map(GraphProto::decode) {
            visit(&inner, mark);
        }
    }
}

fn models_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| is_model(path)).collect();
    found.sort();
    found
}

fn models_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = models_in(folder);
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(models_below(&entry));
        }
    }
    found.sort();
    found
}

fn is_model(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "onnx")
}

/// Xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 16) % bound as u64) as usize
    }
}
