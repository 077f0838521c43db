//! How names are spelled: bare where they are plain words, quoted otherwise.

/// Words that mean something in dims, attributes and kernels, so that no symbol stands bare under them.
const RESERVED: [&str; 15] = [
    "floordiv", "ceildiv", "min", "max", "select", "overflow", "true", "false", "inf", "nan", "graph",
    "kernel", "seq", "opt", "_",
];

/// Whether the lexer reads `name` as one word.
pub(super) fn is_word(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.split('.').all(|part| !part.is_empty() && part.chars().all(plain))
}

/// A string between double quotes, on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A name after a sigil (`%`, `@`) or alone.
pub(super) fn name(name: &str) -> String {
    if is_word(name) { name.to_string() } else { quoted(name) }
}

/// A symbol as it stands in a dim: its name, or `$"past + 1"` where that is no plain word.
pub(crate) fn symbol(name: &str) -> String {
    let bare = is_word(name) && !RESERVED.contains(&name) && crate::types::DType::from_name(name).is_none();
    if bare { name.to_string() } else { format!("${}", quoted(name)) }
}
