//! Relocation arithmetic: carries and ranges.

use super::place::{Place, signed};

#[test]
fn label_differences_carry_between_bytes() {
    let mut bytes = [0u8; 6];
    let mut place = Place { bytes: &mut bytes };
    place.add(1, 4, 0x1_00ff).unwrap();
    place.add(1, 4, -0x1_0000).unwrap();
    place.add(1, 4, 0xff01).unwrap();
    assert_eq!(bytes, [0, 0, 0, 1, 0, 0]);
}

#[test]
fn values_out_of_range_are_errors() {
    assert_eq!(signed(-4, 21, 4), Ok(-4i32 as u32));
    assert!(signed(1 << 20, 21, 4).is_err());
    assert!(signed(2, 21, 4).is_err());
    assert!(Place { bytes: &mut [0; 3] }.set_u32(0, 0).is_err());
}
