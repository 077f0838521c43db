//! Places for boxes and lines: layers from top to bottom, as few crossings as a few sweeps find.
//!
//! The method is Sugiyama's: K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical System
//! Structures", IEEE Transactions on Systems, Man, and Cybernetics 11(2), 1981. Layers come from longest paths, lines that
//! pass a layer get a place in it ([`layers`]), barycentres order each layer ([`order`]), and places follow from an
//! isotonic regression ([`place`]).
//!
//! Frames are laid out from the inside out: what is in a frame is a graph of its own, with a port at the border for each
//! line that crosses it, and around it the frame is one box. Lines change sides between layers only, where no boxes are.
//! Nothing recurses, and equal input gives equal output.

mod group;
mod layers;
mod order;
mod place;
#[cfg(test)]
mod tests;

use group::{Group, split};
use layers::{Layers, What};

/// A box, or a frame if it is the parent of others.
#[derive(Clone, Debug)]
pub struct Item {
    /// A lower number.
    pub parent: Option<usize>,
    /// At least: frames, and boxes with several lines, may need more.
    pub width: f64,
    pub height: f64,
}

/// A line from the bottom of one box to the tops of others, all with higher numbers.
#[derive(Clone, Debug)]
pub struct Line {
    pub from: usize,
    pub to: Vec<usize>,
    /// Room for text, where it begins.
    pub label: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// A part of a line: down from `(x0, y0)` to `y1`, across to `(x1, y2)`, down to `y3`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    pub x0: f64,
    pub y0: f64,
    pub y1: f64,
    pub x1: f64,
    pub y2: f64,
    pub y3: f64,
    /// Whether it ends at one of the line's boxes.
    pub arrives: bool,
}

#[derive(Debug, Default)]
pub struct Layout {
    /// A rectangle an item.
    pub boxes: Vec<Rect>,
    /// The parts of each line.
    pub lines: Vec<Vec<Stroke>>,
    /// Where each line's text begins; none for lines without an end.
    pub labels: Vec<Option<(f64, f64)>>,
    pub width: f64,
    pub height: f64,
}

/// The picture needs more places than are worth to draw.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Space between a frame and what is in it; on top there is a title.
pub const PADDING: f64 = 16.0;
pub const TITLE: f64 = 26.0;

/// Space on both sides of a line's text.
pub const LABEL_GAP: f64 = 6.0;

/// Most places of boxes and lines in layers, all frames together.
const MOST_PLACES: usize = 300_000;

/// Gives all boxes and lines places.
pub fn layout(items: &[Item], lines: &[Line]) -> Result<Layout, TooLarge> {
    let groups = split(items, lines);
    let mut sizes: Vec<(f64, f64)> = items
        .iter()
        .zip(room(items, lines))
        .map(|(item, room)| (item.width.max(room), item.height))
        .collect();
    let mut places_left = MOST_PLACES;
    // Where lines cross the border of each frame, from its middle.
    let mut ports = vec![Vec::new(); items.len()];
    let mut done: Vec<Option<place::Placed>> = Vec::new();
    done.resize_with(groups.len(), || None);
    // Inner frames have higher numbers than those around them; the whole picture is the first.
    for (at, group) in groups.iter().enumerate().rev() {
        if group.members.is_empty() {
            continue;
        }
        let mut layers = Layers::new(group, &sizes, &ports, &mut places_left)?;
        order::order(&mut layers);
        let placed = place::place(&mut layers, &sizes, lines);
        if let Some(frame) = at.checked_sub(1) {
            let width = sizes[frame].0.max(placed.width + 2.0 * PADDING);
            // Lines that leave are the last row, and have their space above it.
            let leaves = placed.ports.iter().any(|port| matches!(port.0, What::Bottom(_)));
            let below = if leaves { 0.0 } else { PADDING };
            sizes[frame] = (width, placed.height + TITLE + below);
            ports[frame].clone_from(&placed.ports);
        }
        done[at] = Some(placed);
    }
    Ok(assemble(items, lines.len(), &groups, &sizes, done))
}

/// The width that each box needs for the texts of lines that leave it side by side.
fn room(items: &[Item], lines: &[Line]) -> Vec<f64> {
    let mut room = vec![(0usize, 0.0); items.len()];
    for line in lines.iter().filter(|line| !line.to.is_empty()) {
        let (count, width) = &mut room[line.from];
        *count += 1;
        *width += line.label + 2.0 * LABEL_GAP;
    }
    // Text of a single line may be longer than the box is wide.
    room.into_iter().map(|(count, width)| if count > 1 { width.ceil() } else { 0.0 }).collect()
}

/// Puts what is in frames where the frames are.
fn assemble(
    items: &[Item],
    n_lines: usize,
    groups: &[Group],
    sizes: &[(f64, f64)],
    done: Vec<Option<place::Placed>>,
) -> Layout {
    let mut all = Layout {
        boxes: vec![Rect::default(); items.len()],
        lines: vec![Vec::new(); n_lines],
        labels: vec![None; n_lines],
        ..Layout::default()
    };
    for (at, (group, placed)) in groups.iter().zip(done).enumerate() {
        let Some(placed) = placed else { continue };
        // A frame's own place is known: it has a lower number than what is in it.
        let (x, y, top, bottom) = match at.checked_sub(1) {
            None => {
                (all.width, all.height) = (placed.width, placed.height);
                (0.0, 0.0, 0.0, placed.height)
            }
            Some(frame) => {
                let Rect { x, y, width, height } = all.boxes[frame];
                let inner = y + TITLE;
                (x + (width - placed.width) / 2.0, inner, y, y + height)
            }
        };
        for (&member, &(left, above)) in group.members.iter().zip(&placed.corners) {
            let (width, height) = sizes[member];
            all.boxes[member] = Rect { x: x + left, y: y + above, width, height };
        }
        for (line, stroke, ends) in placed.strokes {
            let mut stroke = Stroke {
                x0: stroke.x0 + x,
                y0: stroke.y0 + y,
                y1: stroke.y1 + y,
                x1: stroke.x1 + x,
                y2: stroke.y2 + y,
                y3: stroke.y3 + y,
                ..stroke
            };
            // Lines from and to ports go on to the border itself.
            if ends.from_port {
                stroke.y0 = top;
            }
            if ends.to_port {
                stroke.y3 = bottom;
            }
            all.lines[line].push(stroke);
        }
        for (line, (left, above)) in placed.labels {
            all.labels[line] = Some((x + left, y + above));
        }
    }
    all
}
