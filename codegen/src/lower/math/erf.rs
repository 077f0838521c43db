//! The error function: an odd polynomial below 1, above it 1 - exp(P(|x|)) with P near ln(erfc). Polynomials come from
//! Chebyshev interpolation in high precision; those of erfc are centred where subtracting the centre is exact.

use super::super::writer::Val;
use super::arith::{Arith, Coefficients};
use super::exp::exp;

/// erf t / t - 1 in z = t^2, |t| <= 1.
const SMALL: Coefficients = Coefficients {
    f32: &[
        0.128379167061543415,
        -0.376126384680287104,
        0.112837824952368445,
        -0.0268654307276702429,
        0.0052210318078580228,
        -8.48408040553510629e-4,
        1.1265959025606609e-4,
        -9.66704457148699642e-6,
    ],
    f64: &[
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
    ],
};

/// ln(erfc(t)) around a centre.
struct Piece {
    centre: f64,
    coefficients: &'static [f64],
}

/// For f32, from 1 to 4.
const F32: Piece = Piece {
    centre: 2.0,
    coefficients: &[
        -5.36494126541521293,
        -4.41816086769388895,
        -0.923750867771048738,
        -0.016464675099429373,
        0.00357086824401977522,
        -7.33360537490897308e-4,
        1.35353986446610876e-4,
        -1.98636200556914822e-5,
        1.63715141459364356e-6,
    ],
};

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
    let z = a.mul(&size, &size);
    let tail = a.polynomial(&z, &SMALL);
    let near = a.fma(&size, &tail, &size);
    // Beyond the limit the result rounds to 1.
    let limit = a.pick(4.0, 6.0);
    let beyond = a.test("ogt", &size, limit);
    let t = a.sel_c(&beyond, limit, &size);
    let log = if a.width == 32 {
        piece(a, &t, &F32)
    } else {
        let (first, second) = (piece(a, &t, &F64_NEAR), piece(a, &t, &F64_FAR));
        let is_first = a.test("olt", &t, 2.25);
        a.sel(&is_first, &first, &second)
    };
    let rest = exp(a, &log);
    let one = a.c(1.0);
    let far = a.sub(&one, &rest);
    let small = a.test("olt", &size, 1.0);
    let y = a.sel(&small, &near, &far);
    a.copysign(&y, x)
}

fn piece(a: &mut Arith, t: &Val, piece: &Piece) -> Val {
    let centre = a.c(piece.centre);
    let u = a.sub(t, &centre);
    a.horner(&u, piece.coefficients)
}
