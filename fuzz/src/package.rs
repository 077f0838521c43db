//! Mutations of packages: the manifest is changed, and the file sealed with right hashes again.

use fastrand::Rng;
use tcc_runtime::package::{Expr, ExprId, Header, Manifest, PAGE, Part, Storage, SymbolId, TaskGraph, ValueId};
use xxhash_rust::xxh3::xxh3_64;

use crate::{numbers, pick_mut, shuffle};

/// Room for a manifest whose bytes are mutated.
const GROWTH: usize = 64;

/// A changed copy of a package; `None` if its header can't be read.
pub fn mutate(file: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let header = Header::decode(file).ok()?;
    let part = |part: Part| file[part.offset as usize..][..part.len as usize].to_vec();
    let (mut manifest, code, weights) = (part(header.manifest), part(header.code), part(header.weights));
    match postcard::from_bytes::<Manifest>(&manifest) {
        Ok(mut decoded) if rng.u8(0..4) > 0 => {
            for _ in 0..1 << rng.u8(0..4) {
                change(&mut decoded, rng);
            }
            manifest = postcard::to_allocvec(&decoded).ok()?;
        }
        _ => {
            let len = manifest.len();
            manifest.resize(len + GROWTH, 0);
            let len = libfuzzer_sys::fuzzer_mutate(&mut manifest, len, len + GROWTH);
            manifest.truncate(len);
        }
    }
    Some(seal(&manifest, &code, &weights))
}

/// The file that has these parts.
fn seal(manifest: &[u8], code: &[u8], weights: &[u8]) -> Vec<u8> {
    let mut file = vec![0; Header::SIZE];
    let mut append = |bytes: &[u8], align: u64| {
        file.resize(file.len().next_multiple_of(align as usize), 0);
        let part = Part { offset: file.len() as u64, len: bytes.len() as u64, hash: xxh3_64(bytes) };
        file.extend_from_slice(bytes);
        part
    };
    let header =
        Header { manifest: append(manifest, 1), code: append(code, PAGE), weights: append(weights, PAGE) };
    file[..Header::SIZE].copy_from_slice(&header.encode());
    file
}

fn change(manifest: &mut Manifest, rng: &mut Rng) {
    let n_values = manifest.values.len() as u32 + 1;
    let n_exprs = manifest.exprs.len() as u32 + 1;
    let value = |rng: &mut Rng| ValueId(rng.u32(..n_values));
    let expr = |rng: &mut Rng| ExprId(rng.u32(..n_exprs));
    match rng.u8(0..15) {
        0 => shuffle(rng, &mut manifest.symbols),
        1 => shuffle(rng, &mut manifest.exprs),
        2 => shuffle(rng, &mut manifest.values),
        3 => shuffle(rng, &mut manifest.inputs),
        4 => shuffle(rng, &mut manifest.outputs),
        5 => shuffle(rng, &mut manifest.checks),
        6 | 7 => {
            if let Some(at) = pick_mut(rng, &mut manifest.exprs) {
                *at = change_expr(*at, expr(rng), rng);
            }
        }
        8..11 => {
            let (other, dim) = (value(rng), expr(rng));
            if let Some(at) = pick_mut(rng, &mut manifest.values) {
                match rng.u8(0..4) {
                    0 => shuffle(rng, &mut at.dims),
                    1 => at.dims.push(dim),
                    _ => change_storage(&mut at.storage, other, dim, rng),
                }
            }
        }
        11 => {
            if let Some(block) = pick_mut(rng, &mut manifest.blocks) {
                shuffle(rng, &mut block.steps);
            }
        }
        14 => {
            if let Some(block) = pick_mut(rng, &mut manifest.blocks) {
                let first = numbers::int(rng, 0) as u32;
                let steps = numbers::int(rng, block.steps.len() as i64) as u32;
                block.task_graphs.push(TaskGraph { first, steps });
                shuffle(rng, &mut block.task_graphs);
            }
        }
        12 => {
            if let Some(io) = pick_mut(rng, &mut manifest.outputs) {
                io.value = value(rng);
            }
        }
        _ => manifest.arena_bytes = numbers::int(rng, manifest.arena_bytes as i64) as u64,
    }
}

fn change_expr(old: Expr, other: ExprId, rng: &mut Rng) -> Expr {
    match (old, rng.u8(0..10)) {
        (Expr::Const(old), _) => Expr::Const(numbers::int(rng, old)),
        (_, 0) => Expr::Symbol(SymbolId(rng.u32(0..4))),
        (Expr::Add(a, _), 1) => Expr::Mul(a, other),
        (Expr::Mul(a, _), 1) => Expr::FloorDiv(a, other),
        (Expr::FloorDiv(a, _), 1) => Expr::CeilDiv(a, other),
        (Expr::CeilDiv(a, _), 1) => Expr::Mod(a, other),
        (Expr::Add(a, b) | Expr::Mul(a, b), 2) => Expr::Min(a, b),
        (Expr::Add(a, _) | Expr::Mul(a, _), _) => Expr::Add(a, other),
        _ => Expr::Const(numbers::int(rng, 1)),
    }
}

fn change_storage(storage: &mut Storage, other: ValueId, byte_offset: ExprId, rng: &mut Rng) {
    match (&mut *storage, rng.u8(0..4)) {
        (Storage::Arena { fixed: Some(region), .. }, 0) => {
            region.offset = numbers::int(rng, region.offset as i64) as u64;
        }
        (Storage::Arena { fixed: Some(region), .. }, 1) => {
            region.bytes = numbers::int(rng, region.bytes as i64) as u64;
        }
        (Storage::Arena { fixed, .. }, 2) => *fixed = None,
        (Storage::Arena { first, last, .. }, _) => {
            *first = numbers::int(rng, i64::from(*first)) as u32;
            *last = numbers::int(rng, i64::from(*last)) as u32;
        }
        (Storage::Weight { offset }, _) => *offset = numbers::int(rng, *offset as i64) as u64,
        (Storage::Alias { of, byte_offset: at }, _) => (*of, *at) = (other, byte_offset),
        (_, 0) => *storage = Storage::Alias { of: other, byte_offset },
        (_, 1) => *storage = Storage::Late { slot: rng.u32(0..4) },
        (_, 2) => *storage = Storage::Output(rng.u32(0..4)),
        _ => *storage = Storage::Arena { fixed: None, first: rng.u32(0..8), last: rng.u32(0..8) },
    }
}
