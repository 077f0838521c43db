//! Made-up input values: `--fill zeros|ones|random:SEED`.

use std::str::FromStr;

use tcc_ir::tensor::n_elements;
use tcc_ir::{DType, Tensor, Value};

use crate::port::{Port, PortDim, PortType};
use crate::{Code, Diagnostic, Result};

/// What an input is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    Zeros,
    Ones,
    /// Floats from -1 to 1; integers and bools 0 or 1, which are valid as masks and as indices alike.
    Random(u64),
}

impl FromStr for Fill {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.split_once(':') {
            None if text == "zeros" => Ok(Fill::Zeros),
            None if text == "ones" => Ok(Fill::Ones),
            None if text == "random" => Ok(Fill::Random(0)),
            Some(("random", seed)) => {
                let seed = seed.parse().map_err(|_| format!("`{seed}` is no number to seed with"))?;
                Ok(Fill::Random(seed))
            }
            _ => Err("expected zeros, ones or random:SEED".to_string()),
        }
    }
}

/// Sizes by name: what `--dim` gives, and which names were asked for in vain.
#[derive(Debug, Default)]
pub struct Sizes {
    pub known: Vec<(String, i64)>,
    /// Names without a size. They were taken as 1.
    pub assumed: Vec<String>,
}

impl Sizes {
    fn of(&mut self, name: &str) -> i64 {
        if let Some((_, size)) = self.known.iter().find(|(known, _)| known == name) {
            return *size;
        }
        if !self.assumed.iter().any(|known| known == name) {
            self.assumed.push(name.to_string());
        }
        1
    }
}

impl Fill {
    /// A value for a port. Only tensors can be filled; an optional stays empty.
    pub fn value(self, port: &Port, sizes: &mut Sizes) -> Result<Value> {
        let PortType::Tensor { dtype, dims } = &port.ty else {
            return match port.ty {
                PortType::Optional(_) => Ok(Value::Optional(None)),
                _ => Err(cannot(port, "only tensors can be filled")),
            };
        };
        let size = |dim: &PortDim| match dim {
            PortDim::Fixed(size) => Ok(*size),
            PortDim::Named(name) => Ok(sizes.of(name)),
            PortDim::Other(text) => Err(cannot(port, &format!("nothing says how large `{text}` is"))),
        };
        let shape: Vec<i64> = dims.iter().map(size).collect::<Result<_>>()?;
        let too_large = || cannot(port, &format!("shape {shape:?} is too large"));
        let shape: Option<Vec<usize>> = shape.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let shape = shape.ok_or_else(too_large)?;
        let count = n_elements(&shape).filter(|&n| n <= LARGEST).ok_or_else(too_large)?;
        Ok(Value::Tensor(self.tensor(*dtype, shape, count)))
    }

    fn tensor(self, dtype: DType, shape: Vec<usize>, count: usize) -> Tensor {
        let mut random = match self {
            Fill::Random(seed) => Some(SplitMix64(seed)),
            Fill::Zeros | Fill::Ones => None,
        };
        let constant = if self == Fill::Ones { 1 } else { 0 };
        let mut bit = || random.as_mut().map_or(constant, |random| (random.next() >> 63) as i32);
        match dtype {
            DType::String => {
                let texts = (0..count).map(|_| if bit() == 0 { String::new() } else { "1".to_string() });
                Tensor::from_strings(shape, texts.collect())
            }
            DType::C64 | DType::C128 => complex(dtype, shape, count, bit),
            _ if dtype.is_float() => {
                let mut float = || random.as_mut().map_or(f64::from(constant), SplitMix64::float);
                Tensor::from_floats(dtype, shape, (0..count).map(|_| float()).collect::<Vec<_>>())
            }
            _ => Tensor::from_ints(dtype, shape, (0..count).map(|_| i128::from(bit())).collect::<Vec<_>>()),
        }
    }
}

/// Real numbers 0 or 1 as complex ones.
fn complex(dtype: DType, shape: Vec<usize>, count: usize, mut bit: impl FnMut() -> i32) -> Tensor {
    let part = if dtype == DType::C64 { DType::F32 } else { DType::F64 };
    let mut bytes = Vec::new();
    for _ in 0..count {
        part.store_float(f64::from(bit()), &mut bytes);
        part.store_float(0.0, &mut bytes);
    }
    Tensor::from_bytes(dtype, shape, bytes.into()).expect("two parts an element")
}

/// Elements of the largest input that is made up.
const LARGEST: usize = 1 << 31;

fn cannot(port: &Port, why: &str) -> crate::Diagnostics {
    let message = format!("input `{}` ({}) can't be filled: {why}", port.name, port.ty);
    Diagnostic::error(Code::InputMismatch, message)
        .help(format!("give it with --input '{}=FILE.npy', or its sizes with --dim NAME=V", port.name))
        .into()
}

/// The generator of Steele, Lea and Flood (2014): a few lines, and the same numbers everywhere.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [-1, 1).
    fn float(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_read() {
        assert_eq!("random:7".parse(), Ok(Fill::Random(7)));
        assert_eq!("ones".parse(), Ok(Fill::Ones));
        assert!("random:x".parse::<Fill>().is_err() && "twos".parse::<Fill>().is_err());
    }

    #[test]
    fn random_floats_lie_in_their_range_and_repeat() {
        let port = |dims| Port { name: "x".into(), ty: PortType::Tensor { dtype: DType::F32, dims } };
        let dims = vec![PortDim::Named("n".into()), PortDim::Fixed(100)];
        let mut sizes = Sizes { known: vec![("n".into(), 3)], assumed: Vec::new() };
        let value = Fill::Random(1).value(&port(dims.clone()), &mut sizes).unwrap();
        assert_eq!(value, Fill::Random(1).value(&port(dims.clone()), &mut sizes).unwrap());
        assert_ne!(value, Fill::Random(2).value(&port(dims), &mut sizes).unwrap());
        assert_eq!(value.tensor().shape(), [3, 100]);
        assert!(value.tensor().floats().iter().all(|v| (-1.0..=1.0).contains(v)));
        assert!(sizes.assumed.is_empty());
        let named = Fill::Ones.value(&port(vec![PortDim::Named("m".into())]), &mut sizes).unwrap();
        assert_eq!((named.tensor().floats(), &sizes.assumed[..]), (vec![1.0], &["m".to_string()][..]));
        assert!(Fill::Ones.value(&port(vec![PortDim::Other("m*2".into())]), &mut sizes).is_err());
    }
}
