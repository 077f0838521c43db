//! Round trips, errors and mutations of the text form.

mod errors;
mod examples;
mod mutate;
mod random;

use super::*;

/// Parses a text that must be right.
fn read(text: &str) -> Graph {
    parse(text).unwrap_or_else(|e| {
        let shown: Vec<String> = e.iter().map(ToString::to_string).collect();
        panic!("{}\n{text}", shown.join("\n"))
    })
}

/// A graph equals what its text says of it.
fn assert_round_trip(graph: &Graph) {
    let Printed { text, weights } = print_with(graph, &Options { inline_elements: 8, ..Options::default() });
    let lookup = |w: &WeightRef| weights.iter().find(|(l, _)| *l == w.label).map(|(_, t)| t.clone());
    let back = parse_with(&text, &lookup).unwrap_or_else(|e| {
        let shown: Vec<String> = e.iter().map(ToString::to_string).collect();
        panic!("{}\n{text}", shown.join("\n"))
    });
    assert_eq!(graph.renumbered(), back.renumbered(), "{text}");
    let again = print_with(&back, &Options { inline_elements: 8, ..Options::default() });
    assert_eq!(again.text, text);
}
