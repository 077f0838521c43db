//! Small manifests as scenes, and one that is too large.

use tcc_runtime::package::{Block, DType, ExprId, Form, Io, Manifest, Step, Storage, Value, ValueId};

use super::scene;
use crate::Code;

/// An input with parts, which steps read one after another.
fn manifest(parts: u32, reads: u32) -> Manifest {
    let part = Storage::Alias { of: ValueId(0), byte_offset: ExprId(0) };
    let places = [Storage::Input(0), Storage::Output(0)].into_iter().chain((0..parts).map(|_| part));
    let value = |storage: Storage| Value {
        name: String::new(),
        form: Form::Tensor,
        dtype: DType::F32,
        dims: vec![],
        storage,
    };
    let step = |at: u32| Step::Copy { from: ValueId(2 + at % parts), to: ValueId(1), sets: vec![] };
    Manifest {
        values: places.map(value).collect(),
        inputs: vec![Io { name: "x".to_string(), value: ValueId(0) }],
        outputs: vec![Io { name: "y".to_string(), value: ValueId(1) }],
        blocks: vec![Block { steps: (0..reads).map(step).collect(), task_graphs: vec![] }],
        ..Manifest::default()
    }
}

#[test]
fn parts_come_from_what_wrote_the_whole() {
    let scene = scene(&manifest(3, 5)).unwrap();
    let ends: Vec<(usize, Vec<usize>)> =
        scene.wires.iter().map(|wire| (wire.from, wire.to.clone())).collect();
    assert_eq!(ends, [(0, vec![1, 2, 3, 4, 5]), (5, vec![6])]);
}

#[test]
fn steps_that_read_one_of_very_many_parts_are_not_drawn() {
    assert!(scene(&manifest(500, 1000)).is_ok());
    // Ten thousand million looks, if there were no limit.
    let found = scene(&manifest(100_000, 100_000)).unwrap_err();
    assert!(matches!(found.0[..], [ref only] if only.code == Code::ResourceLimit), "{found}");
    assert!(found.to_string().contains("--plan"), "{found}");
}
