//! What is in each frame, and the lines there as far as the frame's border.

use std::collections::{BTreeMap, BTreeSet};

use super::{Item, Line};

/// The graph in one frame, or outside of all.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Items with this parent, in order.
    pub members: Vec<usize>,
    /// By number of the line.
    pub lines: BTreeMap<usize, Section>,
}

/// The part of a line in one frame.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The member where it begins; without one it comes in through the frame's top.
    pub from: Option<usize>,
    pub to: BTreeSet<usize>,
    /// Whether it goes out through the frame's bottom.
    pub leaves: bool,
}

/// The groups: first that outside of all frames, then one for each item.
pub fn split(items: &[Item], lines: &[Line]) -> Vec<Group> {
    let mut groups = vec![Group::default(); items.len() + 1];
    let group_of = |item: usize| items[item].parent.map_or(0, |parent| parent + 1);
    for (at, item) in items.iter().enumerate() {
        debug_assert!(item.parent.is_none_or(|parent| parent < at));
        groups[group_of(at)].members.push(at);
    }
    for (number, line) in lines.iter().enumerate() {
        // The items around the line's start with itself, from the inside out.
        let around: Vec<usize> = std::iter::successors(Some(line.from), |&at| items[at].parent).collect();
        let met = |group: usize| around.iter().position(|&item| group_of(item) == group);
        for &to in &line.to {
            debug_assert!(line.from < to);
            let mut inside = to;
            let meeting = loop {
                let group = group_of(inside);
                if let Some(meeting) = met(group) {
                    break meeting;
                }
                // Only the outermost group has no item around it, and every line's start is in it.
                let Some(frame) = items[inside].parent else { break around.len() - 1 };
                groups[group].lines.entry(number).or_default().to.insert(inside);
                inside = frame;
            };
            if around[meeting] >= inside {
                continue;
            }
            for &item in &around[..meeting] {
                let section = groups[group_of(item)].lines.entry(number).or_default();
                section.from = Some(item);
                section.leaves = true;
            }
            let section = groups[group_of(inside)].lines.entry(number).or_default();
            section.from = Some(around[meeting]);
            section.to.insert(inside);
        }
    }
    groups
}
