//! Names of a model as identifiers of C and C++.

use std::collections::BTreeSet;

/// Words that neither C nor C++ takes as the name of a field.
const KEYWORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "concept",
    "const",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
];

/// A name with what isn't a letter, a digit or `_` replaced; never empty, never beginning with a digit.
pub fn identifier(name: &str) -> String {
    let mut plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // A leading underscore is the compiler's own.
    if !plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
        plain.insert_str(0, "m_");
    }
    plain
}

/// Identifiers for all names, in order, each once even when case is ignored: macros spell them in capitals.
pub fn fields<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut fields = Vec::new();
    for name in names {
        let plain = identifier(name);
        let mut field = if KEYWORDS.contains(&plain.as_str()) { format!("{plain}_") } else { plain.clone() };
        let mut number = 2;
        while !taken.insert(field.to_ascii_uppercase()) {
            field = format!("{plain}_{number}");
            number += 1;
        }
        fields.push(field);
    }
    fields
}

/// A text that a comment of C can hold: one line, and no end of the comment.
pub fn comment(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.replace("*/", "* /").replace("/*", "/ *").replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_plain_and_different() {
        let names = ["input.1", "input:1", "X", "x", "float", "1st", "", "größe"];
        let expected = ["input_1", "input_1_2", "X", "x_2", "float_", "m_1st", "m_", "gr__e"];
        assert_eq!(fields(names), expected);
    }

    #[test]
    fn a_comment_ends_where_it_should() {
        assert_eq!(comment("a */ int x; /* \n\\"), "a * / int x; / *  /");
    }
}
