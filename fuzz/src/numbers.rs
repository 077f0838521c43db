//! Numbers on which code tends to go wrong.

use fastrand::Rng;

const INTS: [i64; 24] = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    8,
    64,
    127,
    128,
    255,
    256,
    -128,
    65_535,
    65_536,
    1 << 24,
    i32::MAX as i64,
    i32::MIN as i64,
    u32::MAX as i64,
    1 << 53,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
];

const FLOATS: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    1e-7,
    1e10,
    -1e10,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    f32::EPSILON,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
];

/// A number near or far from `old`.
pub fn int(rng: &mut Rng, old: i64) -> i64 {
    match rng.u8(0..6) {
        0 => INTS[rng.usize(..INTS.len())],
        1 => old.wrapping_neg(),
        2 => old ^ (1 << rng.u32(0..64)),
        3 => rng.i64(-8..32),
        _ => old.wrapping_add(rng.i64(-3..=3)),
    }
}

/// A number near or far from `old`.
pub fn float(rng: &mut Rng, old: f32) -> f32 {
    match rng.u8(0..4) {
        0 => FLOATS[rng.usize(..FLOATS.len())],
        1 => f32::from_bits(old.to_bits() ^ (1 << rng.u32(0..32))),
        2 => rng.i32(-4..16) as f32,
        _ => -old,
    }
}
