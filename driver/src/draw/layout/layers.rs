//! Layers: boxes by the longest path to them, and a place for each line in the layers that it passes.

use std::collections::BTreeMap;

use super::TooLarge;
use super::group::{Group, Section};

/// The graph in one frame as layers of places.
#[derive(Debug, Default)]
pub struct Layers {
    /// Members come first, in their order.
    pub places: Vec<Place>,
    /// Places from left to right.
    pub rows: Vec<Vec<usize>>,
    /// Parts of lines, each from one layer to the next.
    pub edges: Vec<Edge>,
}

#[derive(Clone, Debug)]
pub struct Place {
    pub what: What,
    pub row: usize,
    /// Room that it takes to the left and to the right of its middle.
    pub left: f64,
    pub right: f64,
    /// Edges from above and to below.
    pub above: Vec<usize>,
    pub below: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Item(usize),
    /// Where a line crosses the frame's top or bottom.
    Top(usize),
    Bottom(usize),
    /// Where a line passes a layer.
    Pass,
}

#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub line: usize,
    pub upper: usize,
    pub lower: usize,
    /// Where it touches the places, from their middle.
    pub out: f64,
    pub into: f64,
}

/// Where lines enter and leave a frame, from its middle.
pub type Ports = Vec<(What, f64)>;

impl Layers {
    pub fn new(
        group: &Group,
        sizes: &[(f64, f64)],
        ports: &[Ports],
        places_left: &mut usize,
    ) -> Result<Layers, TooLarge> {
        let mut layers = Layers::default();
        let local: BTreeMap<usize, usize> =
            group.members.iter().enumerate().map(|(at, &m)| (m, at)).collect();
        for (row, &member) in rows(group, &local).into_iter().zip(&group.members) {
            layers.add(What::Item(member), row, sizes[member].0);
        }
        let last = layers.places.iter().map(|place| place.row).max().unwrap_or(0);
        let ports_of: Vec<BTreeMap<What, f64>> =
            group.members.iter().map(|&member| ports[member].iter().copied().collect()).collect();
        for (&line, section) in &group.lines {
            *places_left = places_left.checked_sub(layers.needs(section, &local, last)).ok_or(TooLarge)?;
            layers.draw(line, section, &local, &ports_of, last);
        }
        layers.rows = vec![Vec::new(); last + 2];
        for (at, place) in layers.places.iter().enumerate() {
            layers.rows[place.row].push(at);
        }
        while layers.rows.last().is_some_and(Vec::is_empty) {
            layers.rows.pop();
        }
        Ok(layers)
    }

    fn add(&mut self, what: What, row: usize, width: f64) -> usize {
        let half = width / 2.0;
        self.places.push(Place { what, row, left: half, right: half, above: Vec::new(), below: Vec::new() });
        self.places.len() - 1
    }

    fn first(&self, section: &Section, local: &BTreeMap<usize, usize>) -> usize {
        section.from.map_or(0, |from| self.places[local[&from]].row)
    }

    /// Places that a line needs at most.
    fn needs(&self, section: &Section, local: &BTreeMap<usize, usize>, last: usize) -> usize {
        let first = self.first(section, local);
        let lowest = section.to.iter().map(|to| self.places[local[to]].row).max();
        2 + if section.leaves { last + 1 - first } else { lowest.unwrap_or(first) - first }
    }

    /// Gives one line its places: all ends share one way down.
    fn draw(
        &mut self,
        line: usize,
        section: &Section,
        local: &BTreeMap<usize, usize>,
        ports: &[BTreeMap<What, f64>],
        last: usize,
    ) {
        let offset = |what: What, at: usize| ports.get(at).and_then(|p| p.get(&what)).copied().unwrap_or(0.0);
        let mut row = self.first(section, local);
        let (mut at, mut out) = match section.from {
            Some(from) => (local[&from], offset(What::Bottom(line), local[&from])),
            None => (self.add(What::Top(line), 0, 0.0), 0.0),
        };
        let mut ends: Vec<(usize, usize)> =
            section.to.iter().map(|to| (self.places[local[to]].row, local[to])).collect();
        if section.leaves {
            let bottom = self.add(What::Bottom(line), last + 1, 0.0);
            ends.push((last + 1, bottom));
        }
        ends.sort_unstable();
        for (end, lower) in ends {
            while row + 1 < end {
                row += 1;
                let pass = self.add(What::Pass, row, 0.0);
                self.edge(Edge { line, upper: at, lower: pass, out, into: 0.0 });
                (at, out) = (pass, 0.0);
            }
            self.edge(Edge { line, upper: at, lower, out, into: offset(What::Top(line), lower) });
        }
    }

    fn edge(&mut self, edge: Edge) {
        let at = self.edges.len();
        self.places[edge.upper].below.push(at);
        self.places[edge.lower].above.push(at);
        self.edges.push(edge);
    }
}

/// The layer of each member: one below the lowest that it takes values from. Where nothing comes in, just above the first
/// that takes its values.
fn rows(group: &Group, local: &BTreeMap<usize, usize>) -> Vec<usize> {
    let sections = || group.lines.values();
    let has_top = sections().any(|section| section.from.is_none());
    let mut rows = vec![usize::from(has_top); group.members.len()];
    let mut targets: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    let mut is_source = vec![true; rows.len()];
    for section in sections() {
        for to in &section.to {
            is_source[local[to]] = false;
            if let Some(from) = section.from {
                targets[local[&from]].push(local[to]);
            }
        }
    }
    for at in 0..rows.len() {
        for &to in &targets[at] {
            rows[to] = rows[to].max(rows[at] + 1);
        }
    }
    for at in 0..rows.len() {
        if let (true, Some(first)) = (is_source[at], targets[at].iter().map(|&to| rows[to]).min()) {
            rows[at] = first - 1;
        }
    }
    rows
}
