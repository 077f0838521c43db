//! Text as it may be drawn: without control characters, not too long, sizes for people.

/// What stands for a character that can't be shown.
const UNSHOWN: char = '\u{fffd}';

/// Most letters of a line in a box, and most lines of a kind.
const MOST: usize = 44;
const MOST_LINES: usize = 6;

/// The text in one line without characters that XML forbids, that move others, or that have no shape.
pub fn clean(text: &str) -> String {
    let shown = |c: char| match c {
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => UNSHOWN,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => UNSHOWN,
        '\u{e0000}'..='\u{e007f}' => UNSHOWN,
        c if c.is_control() => UNSHOWN,
        c => c,
    };
    text.chars().map(shown).collect()
}

/// The text, or its beginning and end where it has more than `most` characters.
pub fn shorten(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_string();
    }
    let kept = most.saturating_sub(1);
    let (head, tail) = (kept - kept / 3, kept / 3);
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - tail)).collect()
}

/// The text as a line of a box.
pub fn line(text: &str) -> String {
    shorten(&clean(text), MOST)
}

/// The lines of one kind in a box: the first ones, and how many there are besides.
pub fn lines(all: &[String]) -> Vec<String> {
    let mut some: Vec<String> = all.iter().take(MOST_LINES).map(|text| line(text)).collect();
    if all.len() > MOST_LINES {
        some.push(format!("and {} more", all.len() - MOST_LINES));
    }
    some
}

/// A list of names with commas: the first ones, and how many there are besides.
pub fn names(list: &str, most: usize) -> String {
    match list.match_indices(", ").nth(most - 1) {
        Some((end, _)) => format!("{} and {} more", &list[..end], list[end + 2..].split(", ").count()),
        None => list.to_string(),
    }
}

/// Width in letters of a fixed width; those of East Asia and pictures take two, punctuation and arrows don't.
pub fn columns(text: &str) -> usize {
    let is_wide = |c: char| c >= '\u{1100}' && !('\u{2000}'..='\u{2bff}').contains(&c) && c != UNSHOWN;
    text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

/// A count of things.
pub fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A number of bytes, in the largest unit that leaves one at least.
pub fn bytes(count: u128) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let exponent = (0..UNITS.len()).rev().find(|&at| count >> (10 * at) > 0).unwrap_or(0);
    let unit = 1u128 << (10 * exponent);
    // Tenths, rounded, where they are more than noise.
    let tenths = count.saturating_mul(10).saturating_add(unit / 2) / unit;
    match tenths % 10 {
        tenth if tenth > 0 && tenths < 1000 => format!("{}.{tenth} {}", tenths / 10, UNITS[exponent]),
        _ => format!("{} {}", tenths / 10, UNITS[exponent]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_break_a_line_or_xml_is_replaced() {
        assert_eq!(
            clean("a\0b\n\u{1b}[2J\u{202e}é漢\u{ffff}"),
            "a\u{fffd}b\u{fffd}\u{fffd}[2J\u{fffd}é漢\u{fffd}"
        );
        let shapeless =
            "\u{ad}\u{61c}\u{180e}\u{200b}\u{200d}\u{2029}\u{2060}\u{2064}\u{2069}\u{feff}\u{e0041}";
        assert!(clean(shapeless).chars().all(|c| c == UNSHOWN));
    }

    #[test]
    fn long_text_keeps_its_ends() {
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("abcdefghijklmnop", 10), "abcdef…nop");
        assert_eq!(shorten("漢字漢字漢字", 4), "漢字…字");
        assert_eq!([shorten("ab", 1), shorten("ab", 0)], ["…", "…"]);
        assert_eq!(["a漢", "a…→", "\u{fffd}"].map(columns), [3, 3, 1]);
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(["", "a", "a, b"].map(|list| names(list, 2)), ["", "a", "a, b"]);
        assert_eq!(names("a, b, c, d", 2), "a, b and 2 more");
    }

    #[test]
    fn bytes_have_a_unit() {
        let found = [0, 1023, 1024, 1536, 300 << 10, 5 << 20].map(bytes);
        assert_eq!(found, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "300 KiB", "5 MiB"]);
        assert!(bytes(u128::MAX).ends_with("TiB"));
    }
}
