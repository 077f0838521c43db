//! Packages written and read back, and damaged ones refused.

use std::io::Cursor;

use super::*;
use crate::error::{Error, Status};

/// `y = x + w` over f32[N], with a code section of 16 meaningless bytes.
pub(crate) fn sample() -> Manifest {
    let e = ExprId;
    let v = ValueId;
    let value = |name: &str, dims: Vec<ExprId>, storage| Value {
        name: name.into(),
        form: Form::Tensor,
        dtype: DType::F32,
        dims,
        storage,
    };
    Manifest {
        model: "sample".into(),
        producer: "test".into(),
        symbols: vec![Symbol { name: "N".into(), source: SymbolSource::InputDim { input: 0, axis: 0 } }],
        exprs: vec![Expr::Symbol(SymbolId(0)), Expr::Const(4), Expr::Const(0), Expr::CeilDiv(e(0), e(1))],
        inputs: vec![Io { name: "x".into(), value: v(0) }],
        outputs: vec![Io { name: "y".into(), value: v(2) }],
        checks: vec![Check {
            cmp: Cmp::Le,
            a: e(0),
            b: e(1),
            message: "N is at most 4".into(),
            at_bind: true,
        }],
        values: vec![
            value("x", vec![e(0)], Storage::Input(0)),
            value("w", vec![e(1)], Storage::Weight { offset: 64 }),
            value("y", vec![e(0)], Storage::Output(0)),
        ],
        blocks: vec![Block {
            steps: vec![Step::Kernel(KernelStep {
                kernel: KernelId(0),
                inputs: vec![v(0), v(1)],
                outputs: vec![v(2)],
                dims: vec![e(0)],
                tiles: e(3),
                scratch: e(2),
                work: None,
                spans: vec![],
            })],
            task_graphs: vec![TaskGraph { first: 0, steps: 1 }],
        }],
        kernels: vec![Kernel { name: "add".into(), source: "Add \"y\"".into(), serial: false }],
        sections: vec![Code {
            target: "test".into(),
            arch: std::env::consts::ARCH.into(),
            format: CodeFormat::Flat,
            cpu_features: vec![],
            offset: 0,
            len: 0,
            entries: vec![0],
            launches: vec![],
        }],
        ..Manifest::default()
    }
}

fn file_of(mut manifest: Manifest) -> Result<Vec<u8>, WriteError> {
    let mut out = Cursor::new(Vec::new());
    write_package(&mut manifest, &[&[0xcc; 16]], |w| w.write_all(&[7; 80]), &mut out)?;
    Ok(out.into_inner())
}

fn refusal(change: impl FnOnce(&mut Manifest)) -> String {
    let mut manifest = sample();
    change(&mut manifest);
    match file_of(manifest) {
        Err(WriteError::Invalid(e)) => e.to_string(),
        other => panic!("expected an invalid manifest, got {other:?}"),
    }
}

fn launch() -> Launch {
    Launch { offset: 0, len: 16, entry: "add".into(), threads: 64 }
}

fn on_gpu(manifest: &mut Manifest, format: CodeFormat, launch: Launch) {
    let section = &mut manifest.sections[0];
    (section.format, section.entries, section.launches) = (format, vec![], vec![launch]);
}

#[test]
fn packages_for_gpus_are_read_back() {
    let mut manifest = sample();
    on_gpu(&mut manifest, CodeFormat::Ptx, launch());
    let file = file_of(manifest).unwrap();
    assert_eq!(read_package(&file).unwrap().manifest.sections[0].launches, [launch()]);
}

#[test]
fn what_is_written_is_read_back() {
    let file = file_of(sample()).unwrap();
    let contents = read_package(&file).unwrap();
    let mut expected = sample();
    expected.sections[0].len = 16;
    assert_eq!(contents.manifest, expected);
    assert_eq!(contents.header.weights.len, 80);
    assert_eq!(contents.header.weights.offset % PAGE, 0);
    contents.verify_weights(&file).unwrap();
}

#[test]
fn a_package_cut_anywhere_is_refused() {
    let file = file_of(sample()).unwrap();
    for len in 0..file.len() {
        assert!(read_package(&file[..len]).is_err(), "cut to {len} of {} bytes", file.len());
    }
    let mut longer = file;
    longer.push(0);
    assert!(read_package(&longer).is_err());
}

#[test]
fn a_package_with_any_byte_flipped_is_refused() {
    let mut file = file_of(sample()).unwrap();
    for at in 0..file.len() {
        file[at] ^= 1 << (at % 8);
        let refused = read_package(&file).and_then(|contents| contents.verify_weights(&file));
        assert!(refused.is_err(), "byte {at} flipped");
        file[at] ^= 1 << (at % 8);
    }
}

/// Damage that comes with right hashes: what an attacker, or a broken compiler, would make.
#[test]
fn a_manifest_with_any_byte_changed_never_panics() {
    let mut encoded = postcard::to_allocvec(&sample()).unwrap();
    let mut accepted = 0;
    for at in 0..encoded.len() {
        let original = encoded[at];
        for change in [1, 2, 4, 16, 64, 128, 255] {
            encoded[at] = original ^ change;
            if let Ok(manifest) = postcard::from_bytes::<Manifest>(&encoded) {
                accepted += validate(&manifest, 16, 80).is_ok() as u32;
            }
        }
        encoded[at] = original;
    }
    assert!(accepted > 0, "changed letters of names are fine");
}

#[test]
fn another_version_is_named() {
    let mut file = file_of(sample()).unwrap();
    file[8] = 9;
    let error = read_package(&file).unwrap_err();
    assert_eq!(error, Error::Version { what: "format", found: 9, known: FORMAT_VERSION });
    assert_eq!(error.status(), Status::Version);
}

#[test]
fn contradictions_are_found_and_placed() {
    let cases: [(&str, &str, fn(&mut Manifest)); 23] = [
        ("expression 3", "expression 3", |m| m.exprs[3] = Expr::Add(ExprId(3), ExprId(0))),
        ("symbol \"N\"", "axis 1", |m| m.symbols[0].source = SymbolSource::InputDim { input: 0, axis: 1 }),
        ("value 1 \"w\"", "64", |m| m.values[1].storage = Storage::Weight { offset: 65 }),
        ("value 1 \"w\"", "weights", |m| m.values[1].storage = Storage::Weight { offset: 128 }),
        ("value 1 \"w\"", "late slot", |m| m.values[1].storage = Storage::Late { slot: 0 }),
        ("value 2 \"y\"", "input", |m| m.values[2].storage = Storage::Input(0)),
        ("value 2 \"y\"", "alias", |m| {
            m.values[2].storage = Storage::Alias { of: ValueId(2), byte_offset: ExprId(2) }
        }),
        ("value 2 \"y\"", "storage", |m| m.values[2].storage = Storage::Strings(0)),
        ("block 0, step 0", "read-only", |m| match &mut m.blocks[0].steps[0] {
            Step::Kernel(step) => step.outputs[0] = ValueId(1),
            _ => unreachable!("the sample has one kernel step"),
        }),
        ("block 0, step 1", "body of another", |m| {
            m.values[0].dtype = DType::Bool;
            let (then_block, else_block) = (BlockId(0), BlockId(0));
            m.blocks[0].steps.push(Step::If { cond: ValueId(0), then_block, else_block });
        }),
        ("block 0, task graph at step 0", "more steps", |m| m.blocks[0].task_graphs[0].steps = 2),
        ("block 0, task graph at step 0", "overlaps", |m| {
            m.blocks[0].task_graphs.push(TaskGraph { first: 0, steps: 1 })
        }),
        ("block 0, task graph at step 0", "isn't a kernel", |m| {
            m.blocks[0].steps[0] = Step::Copy { from: ValueId(0), to: ValueId(2), sets: vec![] }
        }),
        ("block 0, step 0", "some operands only", |m| match &mut m.blocks[0].steps[0] {
            Step::Kernel(step) => step.spans.push(None),
            _ => unreachable!("the sample has one kernel step"),
        }),
        ("block 1", "no step", |m| m.blocks.push(Block::default())),
        ("section 0", "outside", |m| m.sections[0].entries[0] = 16),
        ("section 0", "1 launches, 0", |m| m.sections[0].launches.push(launch())),
        ("section 0", "1 entries, 0", |m| m.sections[0].format = CodeFormat::Ptx),
        ("section 0", "only section", |m| {
            m.sections.push(m.sections[0].clone());
            on_gpu(m, CodeFormat::Ptx, launch());
        }),
        ("section 0", "add: its module is outside", |m| {
            on_gpu(m, CodeFormat::Ptx, Launch { offset: u64::MAX, ..launch() })
        }),
        ("section 0", "entry point", |m| {
            on_gpu(m, CodeFormat::Ptx, Launch { entry: String::new(), ..launch() })
        }),
        ("section 0", "1024", |m| on_gpu(m, CodeFormat::Ptx, Launch { threads: 0, ..launch() })),
        // 16 bytes are too few for the header of a SPIR-V module.
        ("section 0", "SPIR-V words", |m| on_gpu(m, CodeFormat::SpirV, launch())),
    ];
    for (place, cause, change) in cases {
        let message = refusal(change);
        assert!(message.contains(place) && message.contains(cause), "{place}, {cause}: {message}");
    }
}
