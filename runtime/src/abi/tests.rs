//! The C functions called as C would, and the header compared with the enums.

use std::ptr::{null, null_mut};

use super::*;
use crate::package::tests::sample;
use crate::package::{Block, write_package};

const HEADER: &str = include_str!("../../include/tcc.h");

/// Name and number of the header's enumerators that start with a prefix.
fn enumerators(prefix: &str) -> Vec<(String, u32)> {
    let lines = HEADER
        .lines()
        .filter_map(|line| line.trim().trim_end_matches(',').strip_prefix(prefix)?.split_once(" = "));
    lines.map(|(name, number)| (name.to_lowercase(), number.parse().unwrap())).collect()
}

#[test]
fn the_header_has_every_element_type() {
    let names: Vec<(String, u32)> = enumerators("TCC_")
        .into_iter()
        .filter(|(name, _)| name != "ok" && !name.starts_with("error"))
        .collect();
    let expected: Vec<(String, u32)> =
        DType::all().map(|dtype| (dtype.name().to_string(), dtype as u32)).collect();
    assert_eq!(names, expected);
}

#[test]
fn the_header_has_every_status() {
    use Status::*;
    let all = [
        Io,
        NotAPackage,
        Version,
        Corrupt,
        Invalid,
        Target,
        Argument,
        Unbound,
        Shape,
        Type,
        Check,
        Kernel,
        Builtin,
        Size,
        Memory,
        Device,
        Internal,
    ];
    let expected: Vec<(String, u32)> =
        all.iter().map(|&status| (format!("{status:?}").to_lowercase(), status as u32)).collect();
    let found: Vec<(String, u32)> =
        enumerators("TCC_ERROR_").into_iter().map(|(name, number)| (name.replace('_', ""), number)).collect();
    assert_eq!(found, expected);
}

/// A package whose output is its input.
fn identity() -> Vec<u8> {
    let mut manifest = sample();
    manifest.blocks[0] = Block::default();
    manifest.kernels.clear();
    manifest.sections.clear();
    manifest.outputs[0].value = manifest.inputs[0].value;
    manifest.values.truncate(2);
    let mut out = std::io::Cursor::new(Vec::new());
    write_package(&mut manifest, &[], |w| w.write_all(&[0; 80]), &mut out).unwrap();
    out.into_inner()
}

fn error_text() -> String {
    // SAFETY: the text is a C string until the next call.
    unsafe { CStr::from_ptr(tcc_error()) }.to_str().unwrap().to_string()
}

#[test]
fn a_model_runs_through_the_c_interface() {
    let file = identity();
    let x = [1f32, 2.0];
    // SAFETY: all pointers are to live variables of the right types.
    unsafe {
        let (mut package, mut context) = (null_mut(), null_mut());
        assert_eq!(
            tcc_package_open_memory(file.as_ptr(), file.len(), &mut package),
            Status::Ok,
            "{}",
            error_text()
        );
        assert_eq!((tcc_input_count(package), tcc_output_count(package)), (1, 1));
        let mut info = CIo { name: null(), dtype: 0, form: 9, rank: 0, dims: null() };
        assert_eq!(tcc_input_info(package, 0, &mut info), Status::Ok);
        assert_eq!(CStr::from_ptr(info.name).to_str(), Ok("x"));
        assert_eq!((info.dtype, info.form, info.rank, *info.dims), (DType::F32 as u32, 0, 1, -1));
        assert_eq!(tcc_output_info(package, 1, &mut info), Status::Argument);
        assert_eq!(error_text(), "there is no output 1, there are 1");

        assert_eq!(tcc_context_create(package, 1, &mut context), Status::Ok);
        tcc_package_close(package);
        assert_eq!(tcc_run(context), Status::Unbound);
        assert!(error_text().contains("input \"x\""), "{}", error_text());
        let shape = [2i64];
        assert_eq!(tcc_set_input(context, 0, 99, shape.as_ptr(), 1, x.as_ptr().cast()), Status::Argument);
        assert_eq!(tcc_set_input(context, 0, 1, shape.as_ptr(), 1, null()), Status::Argument);
        assert_eq!(tcc_set_input(context, 0, 1, shape.as_ptr(), 1, x.as_ptr().cast()), Status::Ok);
        assert_eq!(tcc_prepare(context), Status::Ok);
        assert_eq!(tcc_run(context), Status::Ok, "{}", error_text());
        let mut y = CTensor { dtype: 0, rank: 0, shape: null(), data: null(), bytes: 0 };
        assert_eq!(tcc_output(context, 0, &mut y), Status::Ok);
        assert_eq!((y.dtype, y.rank, *y.shape, y.bytes), (1, 1, 2, 8));
        assert_eq!(y.data, x.as_ptr().cast());
        tcc_context_destroy(context);
    }
}

#[test]
fn null_is_an_error_and_not_a_crash() {
    // SAFETY: null is allowed everywhere.
    unsafe {
        assert_eq!(tcc_package_open(null(), null_mut()), Status::Argument);
        assert_eq!(tcc_package_open(c"/nowhere".as_ptr(), null_mut()), Status::Io);
        assert_eq!(tcc_run(null_mut()), Status::Argument);
        assert_eq!(error_text(), "context is NULL");
        assert_eq!(tcc_output(null(), 0, null_mut()), Status::Argument);
        assert_eq!(tcc_set_input(null_mut(), 0, 0, null(), 3, null()), Status::Argument);
        tcc_package_close(null_mut());
        tcc_context_destroy(null_mut());
    }
}
