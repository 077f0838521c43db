//! Canonical form, bounds and rounding.

use super::*;

fn sym(name: &str) -> Dim {
    Dim::symbol(Symbol::new(name))
}

#[test]
fn polynomials_are_canonical() {
    let (n, m) = (sym("n"), sym("m"));
    let a = (n.clone() + m.clone()) * (n.clone() - m.clone());
    let b = n.clone() * n.clone() - m.clone() * m.clone();
    assert_eq!(a, b);
    assert_eq!((n.clone() * 6.into() + 3.into()).floor_div(&3.into()), n.clone() * 2.into() + 1.into());
    assert_eq!((n.clone() * 4.into() + 3.into()).floor_div(&4.into()), n);
    assert_eq!((n.clone() * 4.into()).modulo(&4.into()), Dim::from(0));
}

#[test]
fn bounds_decide_min_max_and_select() {
    let n = Dim::symbol(Symbol::bounded("n", 1, Some(32)));
    assert_eq!(n.maximum(&Dim::from(0)), n);
    assert_eq!(n.minimum(&Dim::from(32)), n);
    assert_eq!(Dim::select(Cmp::Lt, &n, &Dim::from(0), &Dim::from(7), &n), n);
    assert_eq!((n.clone() * n.clone()).bounds(), (Some(1), Some(1024)));
    assert_eq!((Dim::from(0) - n).bounds(), (Some(-32), Some(-1)));
}

#[test]
fn evaluation_matches_euclid_and_reports_overflow() {
    let n = sym("n");
    let d = (n.clone() * 3.into() - 7.into()).floor_div(&2.into());
    for v in [0i64, 1, 2, 3, 10] {
        assert_eq!(d.eval(&|_| Some(v)), Ok((3 * v - 7).div_euclid(2)));
    }
    assert_eq!((n.clone() * n).eval(&|_| Some(i64::MAX)), Err(DimError::Overflow));
    assert_eq!((Dim::from(i64::MAX) + 1.into()).eval(&|_| None), Err(DimError::Overflow));
}

#[test]
fn small_floats_round_to_nearest_even_and_keep_their_codes() {
    for dtype in DType::all().filter(|d| d.format8().is_some()) {
        let format = dtype.format8().expect("small float");
        let n_codes = 1u32 << dtype.bits();
        for code in 0..n_codes {
            let v = format.decode(code as u8);
            if !v.is_nan() {
                assert_eq!(format.encode(v, false) as u32, code, "{dtype} {code:#x} = {v}");
            }
        }
    }
    assert!(DType::F8E4M3FN.round_float(465.0).is_nan());
    assert_eq!(DType::F8E4M3FN.round_float(464.0), 448.0);
    assert_eq!(DType::F8E4M3FN.round_saturating(1e9), 448.0);
    assert_eq!(DType::F8E5M2.round_float(1e9), f64::INFINITY);
}

#[test]
fn integers_wrap() {
    assert_eq!(DType::I8.wrap_int(200), -56);
    assert_eq!(DType::U4.wrap_int(-1), 15);
    assert_eq!(DType::I4.wrap_int(8), -8);
    assert_eq!(DType::Bool.wrap_int(256), 1);
}

#[test]
fn halves_round_once() {
    // Just above a tie, by less than f32 can hold.
    let above = |tie: f64| tie * (1.0 + f64::EPSILON);
    assert_eq!(DType::F16.round_float(above(1.0 + 2f64.powi(-11))), 1.0 + 2f64.powi(-10));
    assert_eq!(DType::F16.round_float(1.0 + 2f64.powi(-11)), 1.0);
    assert_eq!(DType::BF16.round_float(above(1.0 + 2f64.powi(-8))), 1.0 + 2f64.powi(-7));
    assert_eq!(DType::BF16.round_float(-above(1.0 + 2f64.powi(-8))), -1.0 - 2f64.powi(-7));
    assert_eq!(DType::F16.round_float(1e300), f64::INFINITY);
    assert_eq!(DType::F16.round_float(65519.99999999999), 65504.0);
    assert_eq!(DType::F16.round_float(65520.0), f64::INFINITY);
    assert_eq!(DType::BF16.round_float(-f64::MAX), f64::NEG_INFINITY);
    assert_eq!(DType::F16.round_float(above(2f64.powi(-25))), 2f64.powi(-24));
    assert_eq!(DType::F16.round_float(2f64.powi(-25)), 0.0);
}
