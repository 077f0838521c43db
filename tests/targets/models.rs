//! The models, with what goes in.

/// A model of tests/targets/models.
pub struct Model {
    pub name: &'static str,
    pub inputs: &'static [Input],
    pub outputs: &'static [&'static str],
    /// Values of the sizes that a call chooses, by field.
    pub sizes: &'static [(&'static str, i64)],
    /// Options of `tcc compile`.
    pub options: &'static [&'static str],
    /// Whether results are f32, and compared with a tolerance; else bytes that must be equal.
    pub floats: bool,
}

/// An input; its values are made up.
pub struct Input {
    pub name: &'static str,
    /// In NumPy's words: `<f4` or `|i1`.
    pub dtype: &'static str,
    pub shape: &'static [usize],
}

const fn f32(name: &'static str, shape: &'static [usize]) -> Input {
    Input { name, dtype: "<f4", shape }
}

const PLAIN: Model = Model { name: "", inputs: &[], outputs: &["y"], sizes: &[], options: &[], floats: true };

pub const ALL: &[Model] = &[
    // A matrix product with bias and relu: blocked, with scratch memory for packing.
    Model { name: "mlp", inputs: &[f32("x", &[5, 33])], ..PLAIN },
    Model { name: "conv", inputs: &[f32("x", &[1, 3, 9, 8])], ..PLAIN },
    Model { name: "softmax", inputs: &[f32("x", &[3, 37])], ..PLAIN },
    // State that a loop carries, and rows that it stacks.
    Model {
        name: "lstm",
        inputs: &[f32("x", &[6, 2, 4]), f32("h0", &[2, 3]), f32("c0", &[2, 3])],
        outputs: &["y", "h"],
        ..PLAIN
    },
    Model {
        name: "int8",
        inputs: &[Input { name: "x", dtype: "|i1", shape: &[4, 9] }],
        floats: false,
        ..PLAIN
    },
    // A size that the call chooses, below its bound; a branch that the data decides.
    Model {
        name: "bounded",
        inputs: &[f32("x", &[3, 4])],
        sizes: &[("N", 3)],
        options: &["--dim", "N=1..8"],
        ..PLAIN
    },
];

impl Input {
    /// Values from a small generator, the same on every machine: floats between -2 and 2, or any integers.
    pub fn bytes(&self) -> Vec<u8> {
        let mut state = self.name.bytes().fold(1u32, |state, byte| state.wrapping_mul(31) + u32::from(byte));
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        let count = self.shape.iter().product();
        match self.dtype {
            "<f4" => (0..count).flat_map(|_| ((next() % 4001) as f32 / 1000.0 - 2.0).to_le_bytes()).collect(),
            _ => (0..count).map(|_| next() as u8).collect(),
        }
    }
}

impl Model {
    pub fn same(&self, expected: &[u8], found: &[u8]) -> bool {
        if !self.floats {
            return expected == found;
        }
        let close = |(a, b): (f32, f32)| (a - b).abs() <= 1e-5 * (1.0 + a.abs());
        floats(expected).zip(floats(found)).all(close)
    }

    /// The first results, for a message.
    pub fn show(&self, bytes: &[u8]) -> String {
        if self.floats {
            format!("{:?}", floats(bytes).take(16).collect::<Vec<_>>())
        } else {
            format!("{:?}", &bytes[..bytes.len().min(16)])
        }
    }
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}
