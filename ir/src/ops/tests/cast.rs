//! Cast and Bitcast.

use super::{floats, ints, run};
use crate::ops::{Bitcast, Cast};
use crate::{DType, Tensor};

fn cast(x: &Tensor, to: DType, saturate: bool) -> Result<Tensor, String> {
    run(Cast { to, saturate }, std::slice::from_ref(x))
}

fn strings(elems: &[&str]) -> Tensor {
    Tensor::from_strings(vec![elems.len()], elems.iter().map(|s| s.to_string()).collect())
}

#[test]
fn integers_become_floats_in_one_rounding() {
    // A tie for f32 (and bf16) but for the last bit, which f64 loses.
    let f32_tie = (1i64 << 60) + (1 << 36) + 1;
    let bf16_tie = (1i64 << 60) + (1 << 52) + 1;
    let x = ints(&[4], &[f32_tie, -f32_tie, f32_tie - 2, i64::MAX]);
    let up = ((1i64 << 60) + (1 << 37)) as f64;
    let want = [up, -up, (1i64 << 60) as f64, 2f64.powi(63)];
    assert_eq!(cast(&x, DType::F32, true).unwrap().floats(), want);
    let y = cast(&ints(&[1], &[bf16_tie]), DType::BF16, true).unwrap();
    assert_eq!(y.floats(), [((1i64 << 60) + (1 << 53)) as f64]);
    let y = cast(&ints(&[2], &[65519, 65520]), DType::F16, true).unwrap();
    assert_eq!(y.floats(), [65504.0, f64::INFINITY]);
}

#[test]
fn floats_become_integers_by_truncation_within_the_range() {
    let x = floats(DType::F32, &[1.9, -1.9, 300.7, -1e30, f64::NAN, f64::INFINITY, -0.0]);
    assert_eq!(cast(&x, DType::I8, true).unwrap().ints(), [1, -1, 127, -128, 0, 127, 0]);
    assert_eq!(cast(&x, DType::U8, true).unwrap().ints(), [1, 0, 255, 0, 0, 255, 0]);
    assert_eq!(cast(&x, DType::Bool, true).unwrap().ints(), [1, 1, 1, 1, 1, 1, 0]);
}

#[test]
fn integers_wrap() {
    let x = ints(&[3], &[200, -1, 1 << 40]);
    assert_eq!(cast(&x, DType::I8, true).unwrap().ints(), [-56, -1, 0]);
    assert_eq!(cast(&x, DType::U4, true).unwrap().ints(), [8, 15, 0]);
    assert_eq!(cast(&x, DType::Bool, true).unwrap().ints(), [1, 1, 1]);
}

#[test]
fn saturation_matters_to_small_floats_only() {
    let x = floats(DType::F32, &[1000.0, -1000.0, f64::INFINITY, 17.0]);
    let e4 = |sat| cast(&x, DType::F8E4M3FN, sat).unwrap().floats();
    assert_eq!(e4(true), [448.0, -448.0, 448.0, 16.0]);
    assert!(e4(false)[..3].iter().all(|v| v.is_nan()));
    let big = floats(DType::F32, &[1e9, f64::NEG_INFINITY]);
    assert_eq!(cast(&big, DType::F8E5M2, true).unwrap().floats(), [57344.0, -57344.0]);
    assert_eq!(cast(&big, DType::F8E5M2, false).unwrap().floats(), [f64::INFINITY, f64::NEG_INFINITY]);
    let wide = floats(DType::F64, &[1e300]);
    assert_eq!(cast(&wide, DType::F32, true).unwrap().floats(), [f64::INFINITY]);
    // The 4-bit float has no NaN.
    let nan = cast(&floats(DType::F32, &[f64::NAN]), DType::F4E2M1, true).unwrap();
    assert!(nan.floats()[0] == 0.0 && nan.floats()[0].is_sign_negative());
}

#[test]
fn numbers_become_text() {
    let x = floats(
        DType::F32,
        &[0.47892547f32 as f64, 1.0, 1e10, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0],
    );
    assert_eq!(
        cast(&x, DType::String, true).unwrap().strings(),
        ["0.47892547", "1", "10000000000", "NaN", "INF", "-INF", "-0"]
    );
    let half = cast(&floats(DType::F16, &[0.1]), DType::String, true).unwrap();
    assert_eq!(half.strings(), ["0.099975586"]);
    let x = ints(&[2], &[i64::MIN, 7]);
    assert_eq!(cast(&x, DType::String, true).unwrap().strings(), ["-9223372036854775808", "7"]);
    let bits = Tensor::from_ints(DType::Bool, vec![2], [1, 0]);
    assert_eq!(cast(&bits, DType::String, true).unwrap().strings(), ["1", "0"]);
}

#[test]
fn text_becomes_numbers() {
    let x = strings(&["3.14", " 1e-5", "1E8 ", "+INF", "inf", "-Inf"]);
    let want = [3.14f32 as f64, 1e-5f32 as f64, 1e8, f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY];
    assert_eq!(cast(&x, DType::F32, true).unwrap().floats(), want);
    assert!(cast(&strings(&["nan"]), DType::F64, true).unwrap().floats()[0].is_nan());
    assert_eq!(cast(&strings(&["100.5", "300", "-1"]), DType::U8, true).unwrap().ints(), [100, 44, 255]);
    for (text, to) in [("Hello", DType::F32), ("", DType::I64), ("INF", DType::I32), ("0x10", DType::F32)] {
        let error = cast(&strings(&[text]), to, true).unwrap_err();
        assert!(error.contains(&format!("`{text}`")), "{error}");
    }
}

#[test]
fn complex_numbers_are_not_converted() {
    let x = Tensor::from_bytes(DType::C64, vec![1], vec![0; 8].into()).unwrap();
    assert!(cast(&x, DType::F32, true).unwrap_err().contains("c64"));
    assert!(cast(&x, DType::C64, true).is_ok());
}

#[test]
fn bits_are_kept() {
    let bitcast = |x: &Tensor, to| run(Bitcast { to }, std::slice::from_ref(x));
    let x = floats(DType::F32, &[1.0, -0.0]);
    let bits = bitcast(&x, DType::I32).unwrap();
    assert_eq!(bits.ints(), [0x3f80_0000, i128::from(i32::MIN)]);
    assert_eq!(bitcast(&bits, DType::F32).unwrap(), x);
    let nibbles = Tensor::from_ints(DType::I4, vec![3], [-1, -8, 7]);
    let unsigned = bitcast(&nibbles, DType::U4).unwrap();
    assert_eq!(unsigned, Tensor::from_ints(DType::U4, vec![3], [15, 8, 7]));
    let small = bitcast(&nibbles, DType::F4E2M1).unwrap();
    assert_eq!(small.floats(), [-6.0, -0.0, 6.0]);
    assert_eq!(bitcast(&small, DType::I4).unwrap(), nibbles);
    assert!(bitcast(&x, DType::I16).unwrap_err().contains("width"));
}
