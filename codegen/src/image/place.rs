//! Bounds-checked reads and writes of little-endian fields, and range checks of relocated values.

/// The image's bytes while relocations are applied.
pub(super) struct Place<'a> {
    pub bytes: &'a mut [u8],
}

impl Place<'_> {
    fn field<const N: usize>(&mut self, at: u64) -> Result<&mut [u8; N], String> {
        let start = usize::try_from(at).ok();
        let field = start.and_then(|start| self.bytes.get_mut(start..start.checked_add(N)?));
        field
            .and_then(|field| field.try_into().ok())
            .ok_or_else(|| format!("offset {at} is outside of the image"))
    }

    pub fn u16(&mut self, at: u64) -> Result<u16, String> {
        self.field(at).map(|field| u16::from_le_bytes(*field))
    }

    pub fn u32(&mut self, at: u64) -> Result<u32, String> {
        self.field(at).map(|field| u32::from_le_bytes(*field))
    }

    pub fn set_u16(&mut self, at: u64, value: u16) -> Result<(), String> {
        *self.field(at)? = value.to_le_bytes();
        Ok(())
    }

    pub fn set_u32(&mut self, at: u64, value: u32) -> Result<(), String> {
        *self.field(at)? = value.to_le_bytes();
        Ok(())
    }

    pub fn set_u64(&mut self, at: u64, value: u64) -> Result<(), String> {
        *self.field(at)? = value.to_le_bytes();
        Ok(())
    }

    /// Replaces the bits of `mask` in an instruction word.
    pub fn set_bits(&mut self, at: u64, mask: u32, value: u32) -> Result<(), String> {
        let word = self.u32(at)?;
        self.set_u32(at, word & !mask | value & mask)
    }

    /// Adds to a little-endian number of `size` bytes, wrapping: differences of labels are sums of two of these.
    pub fn add(&mut self, at: u64, size: u64, value: i64) -> Result<(), String> {
        let mut carry = value as u64;
        for byte in at..at.saturating_add(size) {
            let field: &mut [u8; 1] = self.field(byte)?;
            let sum = u64::from(field[0]) + (carry & 0xff);
            field[0] = sum as u8;
            carry = (carry >> 8).wrapping_add(sum >> 8);
        }
        Ok(())
    }
}

/// The value if it is a signed number of `bits` bits and a multiple of `step`.
pub(super) fn signed(value: i64, bits: u32, step: i64) -> Result<u32, String> {
    let limit = 1i64 << (bits - 1);
    if value < -limit || value >= limit {
        return Err(format!("distance {value} needs more than {bits} bits"));
    }
    if value % step != 0 {
        return Err(format!("distance {value} is not a multiple of {step}"));
    }
    Ok(value as u32)
}
