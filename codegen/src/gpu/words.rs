//! SPIR-V binaries as words: what MLIR doesn't write into them, and what can be read from them.

/// Words before the first instruction.
const HEADER: usize = 5;

mod op {
    pub const CAPABILITY: u32 = 17;
    pub const DECORATE: u32 = 71;
    pub const MEMBER_DECORATE: u32 = 72;
    /// Float arithmetic whose first two operands are the result's type and id.
    pub const ARITHMETIC: [u32; 5] = [127, 129, 131, 133, 136];
}

const NO_CONTRACTION: u32 = 42;

/// Capabilities beyond the plain shader's, with Vulkan's names of the features that allow them.
const FEATURES: &[(u32, &str)] = &[
    (10, "shaderFloat64"),
    (11, "shaderInt64"),
    (22, "shaderInt16"),
    (39, "shaderInt8"),
    (4433, "storageBuffer16BitAccess"),
    (4448, "storageBuffer8BitAccess"),
];

fn words(spirv: &[u8]) -> Vec<u32> {
    spirv.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

/// Instructions with their places: opcode, and all words.
fn instructions(words: &[u32]) -> impl Iterator<Item = (usize, u32, &[u32])> {
    let mut at = HEADER;
    std::iter::from_fn(move || {
        let head = *words.get(at)?;
        let place = at;
        at += (head >> 16).max(1) as usize;
        Some((place, head & 0xffff, words.get(place..at)?))
    })
}

/// The binary with all float arithmetic marked as not to be combined: without that drivers reassociate what
/// expanded math functions depend on.
pub fn uncontracted(spirv: &[u8]) -> Vec<u8> {
    let words = words(spirv);
    let is_annotation = |opcode: u32| matches!(opcode, op::DECORATE | op::MEMBER_DECORATE);
    let first = instructions(&words).find(|(_, opcode, _)| is_annotation(*opcode)).map(|(at, ..)| at);
    // A kernel has buffers, and those are decorated.
    let Some(first) = first else { return spirv.to_vec() };
    let results = instructions(&words).filter_map(|(_, opcode, words)| {
        op::ARITHMETIC.contains(&opcode).then(|| words.get(2).copied()).flatten()
    });
    let marks = results.flat_map(|id| [3 << 16 | op::DECORATE, id, NO_CONTRACTION]);
    let marked = words[..first].iter().copied().chain(marks).chain(words[first..].iter().copied());
    marked.flat_map(u32::to_le_bytes).collect()
}

/// Vulkan's names of the device features that a SPIR-V binary needs.
pub fn device_features(spirv: &[u8]) -> Vec<&'static str> {
    instructions(&words(spirv))
        .filter(|(_, opcode, _)| *opcode == op::CAPABILITY)
        .filter_map(|(_, _, words)| FEATURES.iter().find(|(number, _)| Some(number) == words.get(1)))
        .map(|(_, name)| *name)
        .collect()
}
