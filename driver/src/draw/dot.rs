//! A scene in the language of Graphviz; frames are clusters.

use std::fmt::Write;

use super::scene::{Kind, Scene};
use super::text::{line, lines};

/// Writes the scene.
pub fn print(scene: &Scene) -> String {
    let mut out = String::new();
    // Writing to a string can't fail.
    let _ = write_graph(&mut out, scene);
    out
}

fn write_graph(out: &mut String, scene: &Scene) -> std::fmt::Result {
    writeln!(out, "digraph {} {{", quoted(&[line(&scene.title)]))?;
    let label = [line(&scene.title), line(&scene.subtitle)];
    writeln!(out, "  label={}; labelloc=t; compound=true;", quoted(&label))?;
    writeln!(out, "  node [shape=box, style=\"rounded,filled\", fontname=monospace, fontsize=10];")?;
    writeln!(out, "  edge [fontname=monospace, fontsize=9, color=\"#8d99aa\"];")?;
    // A frame is closed where the next node isn't in it.
    let mut open: Vec<usize> = Vec::new();
    for (at, node) in scene.nodes.iter().enumerate() {
        while open.last().copied() != node.parent && open.pop().is_some() {
            writeln!(out, "{}}}", indent(open.len()))?;
        }
        let space = indent(open.len());
        if node.kind.is_frame() {
            let dashed = if matches!(node.kind, Kind::Choice | Kind::Loop) { "dashed" } else { "rounded" };
            writeln!(out, "{space}subgraph cluster{at} {{")?;
            let label = quoted(&[line(&node.title)]);
            writeln!(out, "{space}  label={label}; style={dashed}; color=\"#8d99aa\";")?;
            // What a wire to the frame itself ends at.
            writeln!(out, "{space}  n{at} [shape=point, style=invis];")?;
            open.push(at);
            continue;
        }
        let label = [vec![line(&node.title)], lines(&node.lines), lines(&node.constants)].concat();
        writeln!(out, "{space}n{at} [label={}, fillcolor=\"{}\"];", quoted(&label), colour(node.kind))?;
    }
    for depth in (0..open.len()).rev() {
        writeln!(out, "{}}}", indent(depth))?;
    }
    for wire in &scene.wires {
        let label = quoted(&[line(&wire.label)]);
        for &to in &wire.to {
            let frame =
                if scene.nodes[to].kind.is_frame() { format!(", lhead=cluster{to}") } else { String::new() };
            writeln!(out, "  n{} -> n{to} [label={label}{frame}];", wire.from)?;
        }
    }
    writeln!(out, "}}")
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth + 1)
}

fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Input | Kind::Output => "#e5f4ea",
        Kind::Kernel => "#e9f0fb",
        Kind::Builtin => "#f7eedf",
        _ => "#f1f2f4",
    }
}

/// Lines that were cut, as one string; `\` would begin an escape of Graphviz.
fn quoted(lines: &[String]) -> String {
    let escaped = lines.iter().map(|line| line.replace('\\', "\\\\").replace('"', "\\\""));
    format!("\"{}\"", escaped.collect::<Vec<_>>().join("\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_end_strings_or_begin_escapes() {
        let lines = ["a\"; b\\", "c\nd\0"].map(line);
        assert_eq!(quoted(&lines), "\"a\\\"; b\\\\\\nc\u{fffd}d\u{fffd}\"");
    }
}
