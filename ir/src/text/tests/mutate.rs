//! Damaged texts: an error with a place, or a graph that prints and reads again; never a panic.

use super::random::Rng;
use super::{examples, random};
use crate::text::{parse, print};

/// Snippets that damage a text in ways that bytes seldom do.
const SNIPPETS: [&str; 24] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "=",
    "-",
    "%0",
    "%x",
    "\"",
    "//",
    "\n",
    "9999999999999999999",
    "0",
    "-1",
    "f32[]",
    "min(N, 2)",
    "return",
    "graph @g() {",
    "holds ?",
    "check ?",
];

#[test]
fn damaged_texts_never_panic() {
    let mut texts: Vec<String> = examples::FIXED.iter().map(|t| t.to_string()).collect();
    texts.push(examples::KERNEL.to_string());
    // Often, as it has the most to damage.
    texts.extend((0..10).map(|_| examples::MANY.to_string()));
    texts.extend((0..20).map(|seed| print(&random::graph(&mut Rng::new(seed), 2))));
    let mut rng = Rng::new(7);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..3000 {
        let mut text = texts[rng.below(texts.len())].clone();
        for _ in 0..1 + rng.below(3) {
            damage(&mut text, &mut rng);
        }
        match parse(&text) {
            Ok(graph) => {
                read += 1;
                // Values that were read print in a form that can be read.
                let printed = print(&graph);
                let again = parse(&printed).unwrap_or_else(|e| panic!("{}\n{printed}\nfrom\n{text}", e[0]));
                assert_eq!(graph.renumbered(), again.renumbered(), "{printed}");
            }
            Err(errors) => {
                refused += 1;
                for e in errors {
                    let place = e.place.first().and_then(|p| p.split_once(':'));
                    let place =
                        place.and_then(|(l, c)| Some((l.parse::<usize>().ok()?, c.parse::<usize>().ok()?)));
                    let (line, column) = place.unwrap_or_else(|| panic!("no place: {e}"));
                    assert!(line >= 1 && line <= text.split('\n').count() && column >= 1, "{e}");
                }
            }
        }
    }
    assert!(read > 100 && refused > 500, "{read} read, {refused} refused");
}

/// Removes, repeats or replaces a part of the text.
fn damage(text: &mut String, rng: &mut Rng) {
    let places: Vec<usize> = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
    let from = rng.below(places.len());
    let to = (from + rng.below(12)).min(places.len() - 1);
    let (from, to) = (places[from], places[to]);
    let put = match rng.below(5) {
        0 => String::new(),
        1 => text[from..to].repeat(2),
        2 => SNIPPETS[rng.below(SNIPPETS.len())].to_string(),
        3 => {
            // Another part of the same text.
            let start = places[rng.below(places.len())];
            text[start..].chars().take(rng.below(20)).collect()
        }
        _ => char::from(b' ' + rng.below(95) as u8).to_string(),
    };
    text.replace_range(from..to, &put);
}
