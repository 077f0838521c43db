//! The order within layers: each place goes to the mean of its neighbours in the layer before, down and up by turns.

use super::layers::{Edge, Layers};

/// Sweeps over all layers, and how many without progress are enough.
const SWEEPS: usize = 24;
const PATIENCE: usize = 6;

/// Orders all layers; the best of all orders that were tried stays.
pub fn order(layers: &mut Layers) {
    let mut ranks = vec![0; layers.places.len()];
    layers.rows.iter().for_each(|row| rank(row, &mut ranks));
    let mut best = (crossings(layers, &ranks), layers.rows.clone());
    let mut since_best = 0;
    for sweep in 0..SWEEPS {
        if best.0 == 0 || since_best >= PATIENCE {
            break;
        }
        let is_down = sweep % 2 == 0;
        let count = layers.rows.len();
        for step in 1..count {
            let at = if is_down { step } else { count - 1 - step };
            let mut row = std::mem::take(&mut layers.rows[at]);
            sort(&mut row, layers, &ranks, is_down);
            rank(&row, &mut ranks);
            layers.rows[at] = row;
        }
        let found = crossings(layers, &ranks);
        since_best += 1;
        if found < best.0 {
            best = (found, layers.rows.clone());
            since_best = 0;
        }
    }
    layers.rows = best.1;
}

fn rank(row: &[usize], ranks: &mut [usize]) {
    row.iter().enumerate().for_each(|(at, &place)| ranks[place] = at);
}

/// Where an edge touches its upper or lower place, in units of places.
fn touch(layers: &Layers, ranks: &[usize], edge: &Edge, upper: bool) -> f64 {
    let (at, offset) = if upper { (edge.upper, edge.out) } else { (edge.lower, edge.into) };
    let place = &layers.places[at];
    let width = place.left + place.right;
    ranks[at] as f64 + if width > 0.0 { offset / width } else { 0.0 }
}

fn sort(row: &mut Vec<usize>, layers: &Layers, ranks: &[usize], is_down: bool) {
    let mut keyed: Vec<(f64, usize)> = row
        .iter()
        .map(|&at| {
            let place = &layers.places[at];
            let edges = if is_down { &place.above } else { &place.below };
            let sum: f64 = edges.iter().map(|&edge| touch(layers, ranks, &layers.edges[edge], is_down)).sum();
            // What hangs on nothing stays where it is.
            let key = if edges.is_empty() { ranks[at] as f64 } else { sum / edges.len() as f64 };
            (key, at)
        })
        .collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    *row = keyed.into_iter().map(|(_, at)| at).collect();
}

/// Pairs of edges between the same two layers that cross.
fn crossings(layers: &Layers, ranks: &[usize]) -> usize {
    let mut total = 0;
    for row in &layers.rows {
        let mut ends: Vec<(f64, f64)> = row
            .iter()
            .flat_map(|&at| &layers.places[at].below)
            .map(|&edge| {
                let edge = &layers.edges[edge];
                (touch(layers, ranks, edge, true), touch(layers, ranks, edge, false))
            })
            .collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut sorted: Vec<f64> = ends.iter().map(|end| end.1).collect();
        sorted.sort_by(f64::total_cmp);
        // A tree of counts: for each end, how many before it lie to its right.
        let mut counts = vec![0usize; sorted.len() + 1];
        for (before, &(_, end)) in ends.iter().enumerate() {
            let at = sorted.partition_point(|&other| other <= end);
            let not_right: usize = prefixes(at).map(|at| counts[at]).sum();
            total += before - not_right;
            let mut at = sorted.partition_point(|&other| other < end) + 1;
            while at < counts.len() {
                counts[at] += 1;
                at += at & at.wrapping_neg();
            }
        }
    }
    total
}

/// Places in a tree of counts that together count what is up to `at`.
fn prefixes(at: usize) -> impl Iterator<Item = usize> {
    let some = |at: usize| (at > 0).then_some(at);
    std::iter::successors(some(at), move |&at| some(at & (at - 1)))
}
