//! `.npy` and `.npz` against bytes that NumPy wrote, through round trips, and on broken files.

use super::*;

/// A version 1 file by hand; the header is not padded, which NumPy accepts too.
fn file(dict: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((dict.len() as u16).to_le_bytes());
    bytes.extend(dict.as_bytes());
    bytes.extend(data);
    bytes
}

fn error(bytes: &[u8]) -> String {
    format!("{:#}", read(bytes).expect_err("must be refused"))
}

#[test]
fn writes_what_numpy_writes() {
    let tensor = Tensor::from_floats(DType::F32, vec![2, 1], [1.0, -2.0]);
    let mut bytes = Vec::new();
    write(&mut bytes, &tensor).unwrap();
    // What numpy.save writes for the same array.
    let mut want =
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }".to_vec();
    want.resize(127, b' ');
    want.extend(b"\n\x00\x00\x80\x3f\x00\x00\x00\xc0");
    assert_eq!(bytes, want);
    assert_eq!(read(&want[..]).unwrap(), tensor);
}

#[test]
fn every_type_comes_back_with_its_bits() {
    for dtype in DType::all().filter(|dtype| *dtype != DType::String) {
        for shape in [vec![], vec![0], vec![3], vec![2, 0, 4], vec![2, 3]] {
            let count: usize = shape.iter().product::<usize>() * dtype.size();
            let bytes: Vec<u8> = (0..count).map(|byte| (byte % 2) as u8).collect();
            let tensor = Tensor::from_bytes(dtype, shape, bytes.into()).unwrap();
            let mut stored = Vec::new();
            write(&mut stored, &tensor).unwrap();
            let back = read(&stored[..]).unwrap();
            assert_eq!(reinterpret(&back, dtype).as_ref(), Some(&tensor));
        }
    }
}

#[test]
fn reinterpret_keeps_to_what_the_file_can_mean() {
    let bytes = Tensor::from_ints(DType::U8, vec![2], [3, 17]);
    assert!(reinterpret(&bytes, DType::F8E5M2).is_some());
    assert!(reinterpret(&bytes, DType::U4).is_none(), "17 is no u4");
    assert!(reinterpret(&bytes, DType::F32).is_none());
    assert!(reinterpret(&bytes, DType::I8).is_none());
}

#[test]
fn strings_come_back() {
    let strings = ["", "a", "größer", "\u{1f600}"].map(String::from).to_vec();
    let tensor = Tensor::from_strings(vec![2, 2], strings);
    let mut stored = Vec::new();
    write(&mut stored, &tensor).unwrap();
    assert_eq!(read(&stored[..]).unwrap(), tensor);
    let bytes = file("{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", b"ab\0xyz");
    assert_eq!(read(&bytes[..]).unwrap().strings(), ["ab", "xyz"]);
}

#[test]
fn foreign_orders_are_turned() {
    let big = file("{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}", &[1, 2, 3, 4]);
    assert_eq!(read(&big[..]).unwrap().ints(), [0x0102, 0x0304]);
    let column_major = file("{'shape': (2, 3), 'fortran_order': True, 'descr': '|u1'}", &[1, 4, 2, 5, 3, 6]);
    assert_eq!(read(&column_major[..]).unwrap(), Tensor::from_ints(DType::U8, vec![2, 3], 1..=6));
}

#[test]
fn broken_files_are_refused() {
    let dict = |descr: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}")
    };
    let refused = |descr: &str, shape: &str| error(&file(&dict(descr, shape), &[0; 8]));
    assert!(error(b"PK\x03\x04 and so on").contains("no .npy file"));
    assert!(error(b"\x93NUM").contains("too short"));
    assert!(error(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").contains("claims"));
    assert!(refused("<f4", "(3,)").contains("ends after 8 of 12 bytes"));
    assert!(refused("<f4", "(4294967296, 4294967296)").contains("larger than memory"));
    for text in ["<U9999999999999999999", "|U0", "|S", "|S-1"] {
        assert!(refused(text, "(0,)").contains("impossible length"));
    }
    assert!(refused("|O", "(1,)").contains("Python objects"));
    assert!(refused("<M8[ns]", "(1,)").contains("not supported"));
    assert!(refused("<f4", "(-1,)").contains("no number"));
    // Every prefix of a good file is an error, not a panic.
    let good = file(&dict("<f4", "(2,)"), &[0; 8]);
    (0..good.len()).for_each(|end| drop(error(&good[..end])));
}

#[test]
fn archives_keep_names_and_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.npz");
    let arrays = [("b:0", Tensor::from_i64s(&[1, 2])), ("a/x", Tensor::scalar_float(DType::F16, 0.5))];
    write_npz(&path, arrays.iter().map(|(name, tensor)| (*name, tensor))).unwrap();
    let back = read_npz(&path).unwrap();
    assert_eq!(back, arrays.map(|(name, tensor)| (name.to_string(), tensor)));
    assert!(format!("{:#}", read_npz(&folder.path().join("none.npz")).unwrap_err()).contains("none.npz"));
}

#[test]
fn file_names_stay_in_their_folder() {
    assert_eq!(file_name("logits:0"), "logits:0.npy");
    assert_eq!(file_name("../../x"), "%2E.%2F..%2Fx.npy");
    assert_ne!(file_name("a/b"), file_name("a%2Fb"));
}
