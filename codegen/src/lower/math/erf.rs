//! The error function: -expm1(P(|x|)) with P near ln(erfc), which has a zero where erf has one. In f64, where P would be
//! long, an odd polynomial below 1, and above it 1 - exp(P(|x|)). Polynomials are near-minimax, from interpolation in high
//! precision; those of pieces are centred where subtracting the centre is exact.

use super::super::writer::Val;
use super::arith::Arith;
use super::exp::{exp, expm1_below_zero};

/// For f64: erf t / t - 1 in z = t^2, |t| <= 1.
const SMALL: &[f64] = &[
    0.128379167095512574,
    -0.376126389031837524,
    0.112837916709551202,
    -0.0268661706451298408,
    0.00522397762542329831,
    -8.5483270219348296e-4,
    1.20553329028887354e-4,
    -1.49256475675193321e-5,
    1.64620454414684189e-6,
    -1.63646421581676153e-7,
    1.4792401209404813e-8,
    -1.21645600572834501e-9,
    8.70904512905310669e-11,
    -4.23094582429533782e-12,
];

/// ln(erfc(t)) around a centre.
struct Piece {
    centre: f64,
    coefficients: &'static [f64],
}

/// For f32: ln(erfc(t)) / t + 1, 0 <= t <= 4, with the error that erf can bear.
const F32: &[f64] = &[
    -0.12837917161119668,
    -0.636619381956442247,
    -0.102777830664278827,
    0.019153064653883975,
    1.60394465429436716e-4,
    -0.00166702571855507657,
    6.3283584917397529e-4,
    -1.1764097918905223e-4,
    9.25623167236797121e-6,
];

/// For f64, from 1 to 2.25.
const F64_NEAR: Piece = Piece {
    centre: 1.5,
    coefficients: &[
        -3.38449208955155272,
        -3.5088008017795277,
        -0.892640330615037704,
        -0.0258241406336431786,
        0.0060067463864977524,
        -0.00125721668690490677,
        2.15963303856917639e-4,
        -2.24736861588960465e-5,
        -2.64682395387653272e-6,
        2.37081866023347277e-6,
        -8.18815260045350852e-7,
        1.927144545773174e-7,
        -2.77569680377847149e-8,
        -1.40934844729983879e-9,
        2.41349425815461825e-9,
        -6.07175821678858641e-10,
    ],
};

/// For f64, from 2.25 to 6.
const F64_FAR: Piece = Piece {
    centre: 4.0,
    coefficients: &[
        -17.9877783121030071,
        -8.23637689270019011,
        -0.973444588501971072,
        -0.00379314313566388126,
        5.82148573384372559e-4,
        -9.10255494167492776e-5,
        1.41388259351842107e-5,
        -2.14633659255385677e-6,
        3.13864514952698691e-7,
        -4.34468797202756834e-8,
        5.53557890585627542e-9,
        -6.10167905003332151e-10,
        4.75813785733909849e-11,
        2.8211791466199477e-13,
        -1.16106862149748215e-12,
        4.52719744785997392e-13,
        -1.29043139736867349e-13,
        1.61956609397999993e-14,
    ],
};

pub fn erf(a: &mut Arith, x: &Val) -> Val {
    let size = a.abs(x);
    // Beyond the limit the result rounds to 1.
    let limit = a.pick(4.0, 6.0);
    let beyond = a.test("ogt", &size, limit);
    let t = a.sel_c(&beyond, limit, &size);
    let y = if a.width == 32 { single(a, &t) } else { double(a, &t) };
    a.copysign(&y, x)
}

fn single(a: &mut Arith, t: &Val) -> Val {
    let more = a.horner(t, F32);
    let minus = a.neg(t);
    let log = a.fma(t, &more, &minus);
    expm1_below_zero(a, &log)
}

fn double(a: &mut Arith, t: &Val) -> Val {
    let z = a.mul(t, t);
    let tail = a.horner(&z, SMALL);
    let near = a.fma(t, &tail, t);
    let (first, second) = (piece(a, t, &F64_NEAR), piece(a, t, &F64_FAR));
    let is_first = a.test("olt", t, 2.25);
    let log = a.sel(&is_first, &first, &second);
    let rest = exp(a, &log);
    let one = a.c(1.0);
    let far = a.sub(&one, &rest);
    let small = a.test("olt", t, 1.0);
    a.sel(&small, &near, &far)
}

fn piece(a: &mut Arith, t: &Val, piece: &Piece) -> Val {
    let centre = a.c(piece.centre);
    let u = a.sub(t, &centre);
    a.horner(&u, piece.coefficients)
}
