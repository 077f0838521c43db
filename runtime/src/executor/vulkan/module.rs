//! SPIR-V modules, as far as drivers rely on them without a check of their own.
//!
//! https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html, "Physical Layout of a SPIR-V Module".

/// The first word of a module.
const MAGIC: u32 = 0x0723_0203;
/// Words before the first instruction.
const HEADER: usize = 5;

const OP_ENTRY_POINT: u32 = 15;
const OP_EXECUTION_MODE: u32 = 16;
const EXECUTION_MODEL_GL_COMPUTE: u32 = 5;
const MODE_LOCAL_SIZE: u32 = 17;

/// The words of a module that has this entry point, with this many threads in x; or what is wrong with it.
pub(super) fn words(bytes: &[u8], entry: &str, threads: u32) -> Result<Vec<u32>, &'static str> {
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    if words.first() != Some(&MAGIC) || words.len() < HEADER {
        return Err("its module isn't SPIR-V");
    }
    let mut function = None;
    let mut size = None;
    let mut rest = &words[HEADER..];
    while let [first, ..] = rest {
        let length = (first >> 16) as usize;
        let Some((instruction, after)) = rest.split_at_checked(length).filter(|_| length > 0) else {
            return Err("its module ends inside of an instruction");
        };
        match (first & 0xffff, &instruction[1..]) {
            (OP_ENTRY_POINT, [EXECUTION_MODEL_GL_COMPUTE, id, name @ ..]) if is_name(name, entry) => {
                function = Some(*id);
            }
            (OP_EXECUTION_MODE, [id, MODE_LOCAL_SIZE, x, y, z]) if Some(*id) == function => {
                size = Some([*x, *y, *z]);
            }
            _ => {}
        }
        rest = after;
    }
    match (function, size) {
        (None, _) => Err("its module hasn't its entry point"),
        (_, size) if size != Some([threads, 1, 1]) => Err("its module states another size of work-groups"),
        _ => Ok(words),
    }
}

/// Whether words start with a string: its bytes, then at least one zero.
fn is_name(words: &[u32], name: &str) -> bool {
    let mut bytes = words.iter().flat_map(|word| word.to_le_bytes());
    name.bytes().all(|byte| bytes.next() == Some(byte)) && bytes.next() == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(opcode: u32, operands: &[u32]) -> Vec<u32> {
        [&[(operands.len() as u32 + 1) << 16 | opcode], operands].concat()
    }

    fn module(instructions: &[Vec<u32>]) -> Vec<u8> {
        let words = [vec![MAGIC, 0x10300, 0, 10, 0], instructions.concat()].concat();
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// `main`, function 7.
    fn entry() -> Vec<u32> {
        instruction(OP_ENTRY_POINT, &[EXECUTION_MODEL_GL_COMPUTE, 7, u32::from_le_bytes(*b"main"), 0])
    }

    fn size(threads: u32) -> Vec<u32> {
        instruction(OP_EXECUTION_MODE, &[7, MODE_LOCAL_SIZE, threads, 1, 1])
    }

    #[test]
    fn entry_point_and_size_are_found() {
        let good = module(&[entry(), size(64)]);
        assert_eq!(words(&good, "main", 64).map(|words| words.len()), Ok(good.len() / 4));
        assert_eq!(words(&good, "mai", 64), Err("its module hasn't its entry point"));
        assert_eq!(words(&good, "main2", 64), Err("its module hasn't its entry point"));
        assert!(words(&good, "main", 32).is_err());
        assert!(words(&module(&[entry()]), "main", 64).is_err());
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let cut = "its module ends inside of an instruction";
        assert_eq!(words(&module(&[entry(), vec![0]]), "main", 64), Err(cut));
        assert_eq!(words(&module(&[vec![9 << 16 | 1, 0]]), "main", 64), Err(cut));
        assert!(words(&[], "main", 64).is_err());
        assert!(words(&MAGIC.to_le_bytes(), "main", 64).is_err());
    }
}
