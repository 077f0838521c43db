//! A scene as SVG that stands alone: no scripts, fonts or other files.

use std::fmt::Write;

use super::layout::{Item, LABEL_GAP, Layout, Line, PADDING, Rect, Stroke, TITLE, layout};
use super::scene::{Kind, Node, Scene, Wire};
use super::text::{self, clean, columns, shorten};
use crate::{Code, Diagnostic, Result};

/// Letters of titles, of lines below them and of texts on wires: height, and width of one.
const LARGE: (f64, f64) = (12.0, 7.3);
const SMALL: (f64, f64) = (10.5, 6.4);
/// Most letters on a wire.
const MOST_ON_WIRE: usize = 28;
/// Most letters of a line of a `<title>`, which viewers show when asked; it has all lines.
const MOST_IN_TITLE: usize = 2000;
const LINE_HEIGHT: f64 = 15.0;
const MARGIN: f64 = 24.0;
/// Room for the picture's own title.
const HEAD: f64 = 46.0;

const STYLE: &str = "\
text{font-family:monospace;font-size:10.5px;fill:#3c4656}
.h{font-size:12px;font-weight:600;fill:#1d2735}
.big{font-size:15px;font-weight:600;fill:#1d2735}
.c{fill:#78828f}
.l{fill:#5a6678}
.halo{stroke:#fcfcfd;stroke-width:3px;stroke-linejoin:round;fill:#fcfcfd}
.bg{fill:#fcfcfd}
.w{fill:none;stroke:#8d99aa;stroke-width:1.2px}
.a{fill:#8d99aa}
.n{stroke-width:1px}
.kernel{fill:#e9f0fb;stroke:#6f93c9}
.builtin{fill:#f7eedf;stroke:#c29a5b}
.input,.output{fill:#e5f4ea;stroke:#67a67e}
.small{fill:#f1f2f4;stroke:#b0b6c0}
.tasks{fill:#f4f7fb;stroke:#b9c7dc}
.choice,.loop{fill:#fbf8f2;stroke:#d0b98f;stroke-dasharray:5 3}
.branch{fill:#fdfbf7;stroke:#dccdb0}
@media (prefers-color-scheme:dark){
text{fill:#c3cad6}
.h,.big{fill:#eef2f8}
.c{fill:#939dac}
.l{fill:#aab4c4}
.bg{fill:#15181d}
.halo{stroke:#15181d;fill:#15181d}
.w{stroke:#6d7888}
.a{fill:#6d7888}
.kernel{fill:#1f2e45;stroke:#5c82bb}
.builtin{fill:#3a2f1d;stroke:#a5824b}
.input,.output{fill:#1d3526;stroke:#57906b}
.small{fill:#272b32;stroke:#606978}
.tasks{fill:#1a1f28;stroke:#3f4d63}
.choice,.loop{fill:#221e17;stroke:#7c6a48}
.branch{fill:#1c1a16;stroke:#5d5240}
}
";

/// Draws the scene.
///
/// # Errors
/// It has too many boxes and lines for a picture.
pub fn print(scene: &Scene) -> Result<String> {
    let boxes: Vec<Text> = scene.nodes.iter().map(Text::of).collect();
    let lines: Vec<Line> = scene.wires.iter().map(|wire| line(scene, wire)).collect();
    let items: Vec<Item> = std::iter::zip(&scene.nodes, &boxes)
        .map(|(node, text)| {
            let (width, height) = text.size();
            Item { parent: node.parent, width, height }
        })
        .collect();
    let layout = layout(&items, &lines).map_err(|_| {
        let message = "the graph is too large to be drawn as SVG";
        let found = Diagnostic::error(Code::ResourceLimit, message);
        found.help("draw it for Graphviz (`--draw FILE.dot`), or read the steps of its package with `--plan`")
    })?;
    Ok(write(scene, &boxes, &layout))
}

fn line(scene: &Scene, wire: &Wire) -> Line {
    let label = columns(&on_wire(scene, wire)) as f64 * SMALL.1;
    Line { from: wire.from, to: wire.to.clone(), label }
}

/// The text on a wire; a node of one line says the same itself.
fn on_wire(scene: &Scene, wire: &Wire) -> String {
    let from = &scene.nodes[wire.from];
    let says_it = matches!(from.kind, Kind::Input | Kind::Small) && from.lines.first() == Some(&wire.label);
    if says_it { String::new() } else { shorten(&clean(&wire.label), MOST_ON_WIRE) }
}

/// What is written in a box.
struct Text {
    title: String,
    lines: Vec<String>,
    constants: Vec<String>,
    /// All lines of the node, each up to [`MOST_IN_TITLE`] letters.
    full: String,
    has_box: bool,
}

impl Text {
    fn of(node: &Node) -> Text {
        let all = [&node.title].into_iter().chain(&node.lines).chain(&node.constants);
        let full: Vec<String> = all.map(|line| shorten(&clean(line), MOST_IN_TITLE)).collect();
        Text {
            title: text::line(&node.title),
            lines: text::lines(&node.lines),
            constants: text::lines(&node.constants),
            full: full.join("\n"),
            has_box: !node.kind.is_frame(),
        }
    }

    fn size(&self) -> (f64, f64) {
        let lines = self.lines.iter().chain(&self.constants);
        let widest = lines.clone().map(|line| columns(line) as f64 * SMALL.1).fold(0.0, f64::max);
        let width = widest.max(columns(&self.title) as f64 * LARGE.1) + 20.0;
        let height = if self.has_box { LINE_HEIGHT * lines.count() as f64 + 26.0 } else { TITLE + PADDING };
        (width.ceil(), height)
    }
}

fn write(scene: &Scene, boxes: &[Text], layout: &Layout) -> String {
    let mut out = String::new();
    // Writing to a string can't fail.
    let _ = write_picture(&mut out, scene, boxes, layout);
    out
}

fn write_picture(out: &mut String, scene: &Scene, boxes: &[Text], layout: &Layout) -> std::fmt::Result {
    let title = text::line(&scene.title);
    let head_width = columns(&title) as f64 * 9.5;
    let width = layout.width.max(head_width) + 2.0 * MARGIN;
    let height = layout.height + HEAD + 2.0 * MARGIN;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">"
    )?;
    writeln!(out, "<title>{}</title>", escape(&shorten(&clean(&scene.title), MOST_IN_TITLE)))?;
    writeln!(out, "<style>\n{STYLE}</style>")?;
    writeln!(out, "<rect class=\"bg\" width=\"{width}\" height=\"{height}\"/>")?;
    writeln!(out, "<text class=\"big\" x=\"{MARGIN}\" y=\"36\">{}</text>", escape(&title))?;
    writeln!(out, "<text class=\"c\" x=\"{MARGIN}\" y=\"54\">{}</text>", escape(&clean(&scene.subtitle)))?;
    writeln!(out, "<g transform=\"translate({MARGIN} {})\">", MARGIN + HEAD)?;
    // Frames lie below lines, and boxes on top of them.
    for is_frame in [true, false] {
        let all = scene.nodes.iter().zip(boxes).zip(&layout.boxes);
        for ((node, text), rect) in all.filter(|((node, _), _)| node.kind.is_frame() == is_frame) {
            write_box(out, node.kind, text, rect)?;
        }
        if is_frame {
            write_wires(out, scene, layout)?;
        }
    }
    writeln!(out, "</g>\n</svg>")
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Input => "input",
        Kind::Output => "output",
        Kind::Kernel => "kernel",
        Kind::Builtin => "builtin",
        Kind::Small => "small",
        Kind::Tasks => "tasks",
        Kind::Choice => "choice",
        Kind::Branch => "branch",
        Kind::Loop => "loop",
    }
}

fn write_box(out: &mut String, kind: Kind, text: &Text, rect: &Rect) -> std::fmt::Result {
    let Rect { x, y, width, height } = *rect;
    let radius = match kind {
        Kind::Kernel | Kind::Builtin => 5.0,
        Kind::Input | Kind::Output | Kind::Small => 12.0,
        _ => 8.0,
    };
    writeln!(out, "<g><title>{}</title>", escape(&text.full))?;
    writeln!(
        out,
        "<rect class=\"n {}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>",
        class(kind)
    )?;
    let left = x + 10.0;
    writeln!(out, "<text class=\"h\" x=\"{left}\" y=\"{}\">{}</text>", y + 17.0, escape(&text.title))?;
    let lines = text.lines.iter().map(|line| ("", line));
    let constants = text.constants.iter().map(|line| (" class=\"c\"", line));
    let mut base = y + 17.0;
    for (class, line) in lines.chain(constants) {
        base += LINE_HEIGHT;
        writeln!(out, "<text{class} x=\"{left}\" y=\"{base}\">{}</text>", escape(line))?;
    }
    writeln!(out, "</g>")
}

fn write_wires(out: &mut String, scene: &Scene, layout: &Layout) -> std::fmt::Result {
    for (wire, strokes) in scene.wires.iter().zip(&layout.lines) {
        let name = format!("{} {}", clean(&wire.label), clean(&wire.name));
        let name = shorten(name.trim_end(), MOST_IN_TITLE);
        write!(out, "<g><title>{}</title><path class=\"w\" d=\"", escape(&name))?;
        let mut heads = String::new();
        for Stroke { x0, y0, y1, x1, y2, y3, arrives } in strokes {
            write!(out, "M{x0} {y0}")?;
            if y1 > y0 {
                write!(out, "V{y1}")?;
            }
            let middle = (y1 + y2) / 2.0;
            match x0 == x1 {
                true => write!(out, "V{y2}")?,
                false => write!(out, "C{x0} {middle} {x1} {middle} {x1} {y2}")?,
            }
            if y3 > y2 {
                write!(out, "V{y3}")?;
            }
            if *arrives {
                write!(heads, "M{x1} {y3}l-3 -6h6z")?;
            }
        }
        write!(out, "\"/>")?;
        if !heads.is_empty() {
            write!(out, "<path class=\"a\" d=\"{heads}\"/>")?;
        }
        writeln!(out, "</g>")?;
    }
    for (wire, place) in scene.wires.iter().zip(&layout.labels) {
        let (text, Some((x, y))) = (on_wire(scene, wire), place) else { continue };
        if !text.is_empty() {
            let (x, y, text) = (x + LABEL_GAP, y + 13.0, escape(&text));
            writeln!(out, "<text class=\"halo\" x=\"{x}\" y=\"{y}\">{text}</text>")?;
            writeln!(out, "<text class=\"l\" x=\"{x}\" y=\"{y}\">{text}</text>")?;
        }
    }
    Ok(())
}

/// Text that was cleaned, as it is written in XML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(title: &str, lines: &[&str]) -> Node {
        let lines = lines.iter().map(ToString::to_string).collect();
        Node { kind: Kind::Kernel, parent: None, title: title.to_string(), lines, constants: Vec::new() }
    }

    /// All tags, in order, after a look at what is between them.
    fn tags(svg: &str) -> Vec<&str> {
        assert!(svg.chars().all(|c| c == '\n' || !c.is_control()));
        let mut tags = Vec::new();
        for part in svg.split('<').skip(1) {
            let (tag, text) = part.split_once('>').unwrap();
            assert!(!text.contains('>'));
            for reference in text.split('&').skip(1) {
                let name = reference.split(';').next().unwrap();
                assert!(["amp", "lt", "gt", "quot", "apos"].contains(&name), "{reference}");
            }
            tags.push(tag.split(' ').next().unwrap());
        }
        tags
    }

    #[test]
    fn names_are_only_text() {
        let plain = Scene { nodes: vec![node("a", &["b"])], ..Scene::default() };
        let name = "</text><script>&\"'\0\u{1b}\n]]>\u{202e}";
        let odd = Scene { title: name.to_string(), nodes: vec![node(name, &[name])], ..Scene::default() };
        let odd = print(&odd).unwrap();
        assert_eq!(tags(&print(&plain).unwrap()), tags(&odd));
        assert!(odd.contains(
            ">&lt;/text&gt;&lt;script&gt;&amp;&quot;&apos;\u{fffd}\u{fffd}\u{fffd}]]&gt;\u{fffd}</text>"
        ));
    }

    #[test]
    fn long_names_and_many_lines_are_cut() {
        let long = "n".repeat(1 << 20);
        let lines = vec!["line"; 1000];
        let scene = Scene { title: long.clone(), nodes: vec![node(&long, &lines)], ..Scene::default() };
        let svg = print(&scene).unwrap();
        assert!(svg.len() < 20_000 && svg.contains(">and 994 more</text>") && svg.contains(&"n".repeat(900)));
    }

    #[test]
    fn an_empty_scene_is_a_picture() {
        let tags_of = tags(&print(&Scene::default()).unwrap()).len();
        assert!(tags_of > 5);
    }
}
