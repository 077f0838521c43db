//! Tensors of every storage form, good and broken.

use super::*;

fn proto(dtype: DataType, dims: &[i64]) -> TensorProto {
    TensorProto { data_type: Some(dtype as i32), dims: dims.to_vec(), ..Default::default() }
}

fn raw(dtype: DataType, dims: &[i64], bytes: &[u8]) -> TensorProto {
    TensorProto { raw_data: Some(Bytes::copy_from_slice(bytes)), ..proto(dtype, dims) }
}

fn ints(dtype: DataType, dims: &[i64], values: &[i32]) -> TensorProto {
    TensorProto { int32_data: values.to_vec(), ..proto(dtype, dims) }
}

fn bytes(proto: &TensorProto) -> Vec<u8> {
    match decode(proto, &mut ExternalFiles::none()).unwrap().data {
        TensorData::Bytes(bytes) => bytes.to_vec(),
        TensorData::Strings(_) => panic!("strings"),
    }
}

fn error(proto: &TensorProto) -> String {
    decode(proto, &mut ExternalFiles::none()).unwrap_err().message
}

#[test]
fn raw_data_is_a_slice_of_the_file() {
    let proto = raw(DataType::I16, &[2], &[1, 0, 2, 0]);
    let TensorData::Bytes(bytes) = decode(&proto, &mut ExternalFiles::none()).unwrap().data else { panic!() };
    assert_eq!(bytes.as_ptr(), proto.raw_data.unwrap().as_ptr());
}

#[test]
fn typed_fields_become_little_endian_bytes() {
    let f32s = TensorProto { float_data: vec![1.5, -2.0], ..proto(DataType::F32, &[2]) };
    assert_eq!(bytes(&f32s), [1.5f32.to_le_bytes(), (-2.0f32).to_le_bytes()].concat());
    let i64s = TensorProto { int64_data: vec![-1], ..proto(DataType::I64, &[]) };
    assert_eq!(bytes(&i64s), [0xff; 8]);
    let u32s = TensorProto { uint64_data: vec![7], ..proto(DataType::U32, &[1]) };
    assert_eq!(bytes(&u32s), [7, 0, 0, 0]);
    let complex = TensorProto { double_data: vec![1.0, 2.0], ..proto(DataType::Complex128, &[1]) };
    assert_eq!(bytes(&complex).len(), 16);
    assert_eq!(bytes(&ints(DataType::F16, &[2], &[0x3c00, 0xbc00])), [0, 0x3c, 0, 0xbc]);
    assert_eq!(bytes(&ints(DataType::I8, &[2], &[-1, 5])), [0xff, 5]);
    assert_eq!(bytes(&ints(DataType::Bool, &[3], &[0, 1, 2])), [0, 1, 1]);
    assert_eq!(bytes(&ints(DataType::F6E3M2, &[1], &[0x3f])), [0x3f]);
}

#[test]
fn sub_byte_types_take_a_byte_each() {
    // 1, -1, 7: low nibble first, the last one alone in its byte.
    assert_eq!(bytes(&raw(DataType::I4, &[3], &[0xf1, 0x07])), [1, 0xff, 7]);
    assert_eq!(bytes(&raw(DataType::U4, &[3], &[0xf1, 0x07])), [1, 15, 7]);
    assert_eq!(bytes(&ints(DataType::U4, &[3], &[0xf1, 0x07])), [1, 15, 7]);
    assert_eq!(bytes(&raw(DataType::I2, &[5], &[0b11_10_01_00, 0b11])), [0, 1, 0xfe, 0xff, 0xff]);
    assert_eq!(bytes(&raw(DataType::U2, &[4], &[0b11_10_01_00])), [0, 1, 2, 3]);
    assert_eq!(bytes(&raw(DataType::F4E2M1, &[2], &[0x8f])), [15, 8]);
}

#[test]
fn six_bit_types_share_bytes() {
    let values = [0x2a, 0x15, 0x3f, 0x01, 0x33];
    let [x0, x1, x2, x3, x4] = values;
    let packed = [x0 | (x1 & 3) << 6, x1 >> 2 | (x2 & 15) << 4, x2 >> 4 | x3 << 2, x4];
    assert_eq!(bytes(&raw(DataType::F6E2M3, &[5], &packed)), values);
}

#[test]
fn strings_are_checked_texts() {
    let mut strings = proto(DataType::String, &[2]);
    strings.string_data = vec![Bytes::from_static(b"a"), Bytes::from_static("\u{e9}".as_bytes())];
    let tensor = decode(&strings, &mut ExternalFiles::none()).unwrap();
    assert_eq!(tensor.data, TensorData::Strings(vec!["a".into(), "\u{e9}".into()]));
    strings.string_data[0] = Bytes::from_static(&[0xff]);
    assert!(error(&strings).contains("UTF-8"));
    strings.string_data.pop();
    assert!(error(&strings).contains("1 strings"));
}

#[test]
fn data_that_does_not_fit_is_refused() {
    assert!(error(&raw(DataType::F32, &[2], &[0; 7])).contains("needs 8"));
    assert!(error(&raw(DataType::I4, &[3], &[0; 3])).contains("needs 2"));
    assert!(error(&ints(DataType::I8, &[1], &[256])).contains("out of range"));
    assert!(error(&ints(DataType::I64, &[1], &[1])).contains("doesn't use"));
    assert!(error(&raw(DataType::F32, &[-1], &[])).contains("negative"));
    assert!(error(&raw(DataType::F32, &[1 << 40, 1 << 40], &[])).contains("addressed"));
    assert!(error(&raw(DataType::F32, &[0, 1 << 40, 1 << 40], &[])).contains("addressed"));
    assert!(error(&TensorProto::default()).contains("unknown element type 0"));
    let both = TensorProto { int32_data: vec![1], ..raw(DataType::I32, &[1], &[1, 0, 0, 0]) };
    assert!(error(&both).contains("both"));
}

#[test]
fn stale_external_entries_are_ignored_where_the_data_is_inline() {
    let mut inline = raw(DataType::U8, &[1], &[3]);
    inline.external_data.push(Default::default());
    assert_eq!(bytes(&inline), [3]);
}
