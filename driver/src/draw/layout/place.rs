//! Coordinates: each layer moves towards its neighbours as far as its order allows, then rows get heights.

use super::layers::{Layers, Ports, What};
use super::{LABEL_GAP, Line, Stroke};

/// What is in a frame, from the upper left corner of the frame's inside.
#[derive(Debug, Default)]
pub struct Placed {
    pub width: f64,
    pub height: f64,
    /// The upper left corner of each member.
    pub corners: Vec<(f64, f64)>,
    pub strokes: Vec<(usize, Stroke, Ends)>,
    pub labels: Vec<(usize, (f64, f64))>,
    pub ports: Ports,
}

#[derive(Clone, Copy, Debug)]
pub struct Ends {
    pub from_port: bool,
    pub to_port: bool,
}

/// Space between neighbours of a layer, less between lines alone.
const GAP: f64 = 26.0;
const LINE_GAP: f64 = 14.0;
/// Space between layers; more where lines go far to a side.
const ROW_GAP: f64 = 34.0;
const PORT_GAP: f64 = 20.0;
const STEEPEST: f64 = 0.06;
const MOST_ROW_GAP: f64 = 110.0;
/// Sweeps that look at one neighbouring layer by turns, and then at both.
const SWEEPS: usize = 20;
const LAST_SWEEPS: usize = 6;
/// Rounds that make long lines straight, and how much a line then weighs more than a box.
const STRAIGHT_ROUNDS: usize = 6;
const STRAIGHT: f64 = 1000.0;
const SMALL_BEND: f64 = 5.0;

/// Gives the ordered layers places.
pub fn place(layers: &mut Layers, sizes: &[(f64, f64)], lines: &[Line]) -> Placed {
    make_room(layers, lines);
    let mut x = columns(layers);
    // After the columns: else each line beside another would move its boxes a little more to the same side.
    attach(layers, lines);
    x.iter_mut().for_each(|x| *x = x.round());
    let left = layers.places.iter().zip(&x).map(|(place, x)| x - place.left).fold(f64::INFINITY, f64::min);
    x.iter_mut().for_each(|x| *x -= left);
    let width = layers.places.iter().zip(&x).map(|(place, x)| x + place.right).fold(0.0, f64::max).ceil();

    let height_of = |at: usize| match layers.places[at].what {
        What::Item(item) => sizes[item].1,
        _ => 0.0,
    };
    let mut tops = Vec::new();
    let mut bottom = 0.0;
    for row in &layers.rows {
        let top = bottom;
        let height = row.iter().map(|&at| height_of(at)).fold(0.0, f64::max);
        tops.push((top, top + height));
        bottom = top + height + row_gap(layers, row, &x);
    }
    let height = tops.last().map_or(0.0, |row| row.1);

    // Top and bottom of each place: a source stands close to its reader, all else hangs from the top.
    let ys: Vec<(f64, f64)> = (0..layers.places.len())
        .map(|at| {
            let place = &layers.places[at];
            let (top, bottom) = tops[place.row];
            match place.what {
                What::Item(_) if place.above.is_empty() && !place.below.is_empty() => {
                    (bottom - height_of(at), bottom)
                }
                What::Item(_) => (top, top + height_of(at)),
                _ => (bottom, bottom),
            }
        })
        .collect();
    let mut placed = Placed { width, height, ..Placed::default() };
    for (at, place) in layers.places.iter().enumerate() {
        match place.what {
            What::Item(item) => placed.corners.push((x[at] - sizes[item].0 / 2.0, ys[at].0)),
            What::Top(_) | What::Bottom(_) => placed.ports.push((place.what, x[at] - width / 2.0)),
            What::Pass => {}
        }
    }
    for edge in &layers.edges {
        let [upper, lower] = [edge.upper, edge.lower].map(|at| &layers.places[at]);
        let arrives = matches!(lower.what, What::Item(item) if lines[edge.line].to.contains(&item));
        let (x0, x1) = (x[edge.upper] + edge.out, x[edge.lower] + edge.into);
        // Nobody sees where exactly a line meets a box, but everybody a small bend.
        let x1 = if arrives && (x0 - x1).abs() <= SMALL_BEND { x0 } else { x1 };
        let (y0, y1) = (ys[edge.upper].1, tops[upper.row].1);
        let (y2, y3) = (tops[lower.row].0, ys[edge.lower].0);
        let stroke = Stroke { x0, y0, y1, x1, y2, y3, arrives };
        let ends = Ends {
            from_port: matches!(upper.what, What::Top(_)),
            to_port: matches!(lower.what, What::Bottom(_)),
        };
        let is_new = placed.labels.last().is_none_or(|label| label.0 != edge.line);
        if is_new && upper.what == What::Item(lines[edge.line].from) {
            placed.labels.push((edge.line, (stroke.x0, stroke.y0)));
        }
        placed.strokes.push((edge.line, stroke, ends));
    }
    placed
}

/// Makes room for text that hangs over the right side of its box: that of boxes with a single line.
fn make_room(layers: &mut Layers, lines: &[Line]) {
    for place in &mut layers.places {
        let What::Item(item) = place.what else { continue };
        let mut starts = place.below.iter().map(|&edge| layers.edges[edge].line);
        let Some(first) = starts.next() else { continue };
        if lines[first].from == item && starts.all(|line| line == first) {
            place.right = place.right.max(lines[first].label + 2.0 * LABEL_GAP);
        }
    }
}

/// Decides where lines touch boxes that have no ports.
fn attach(layers: &mut Layers, lines: &[Line]) {
    let mut ranks = vec![0; layers.places.len()];
    for row in &layers.rows {
        row.iter().enumerate().for_each(|(at, &place)| ranks[place] = at);
    }
    for at in 0..layers.places.len() {
        let What::Item(item) = layers.places[at].what else { continue };
        let width = layers.places[at].left * 2.0;
        let mut above = layers.places[at].above.clone();
        if above.len() > 1 && above.iter().all(|&edge| layers.edges[edge].into == 0.0) {
            above.sort_by_key(|&edge| ranks[layers.edges[edge].upper]);
            let between = (width * 0.8 / (above.len() - 1) as f64).min(28.0);
            for (nth, &edge) in above.iter().enumerate() {
                layers.edges[edge].into = (nth as f64 - (above.len() - 1) as f64 / 2.0) * between;
            }
        }
        // Edges of one line follow each other.
        let mut starts: Vec<(usize, Vec<usize>)> = Vec::new();
        for &edge in
            layers.places[at].below.iter().filter(|&&edge| lines[layers.edges[edge].line].from == item)
        {
            match starts.last_mut() {
                Some((_, edges)) if layers.edges[edges[0]].line == layers.edges[edge].line => {
                    edges.push(edge)
                }
                _ => starts.push((ranks[layers.edges[edge].lower], vec![edge])),
            }
        }
        starts.sort();
        if starts.len() < 2 {
            continue;
        }
        let label = |edges: &[usize]| lines[layers.edges[edges[0]].line].label + 2.0 * LABEL_GAP;
        let labels: Vec<f64> = starts.iter().map(|(_, edges)| label(edges)).collect();
        let mut out = -labels.iter().sum::<f64>() / 2.0;
        for ((_, edges), label) in starts.iter().zip(labels) {
            edges.iter().for_each(|&edge| layers.edges[edge].out = out);
            out += label;
        }
    }
}

/// The middle of each place.
fn columns(layers: &Layers) -> Vec<f64> {
    let mut x = vec![0.0; layers.places.len()];
    for row in &layers.rows {
        let mut right = 0.0;
        for pair in row.windows(2) {
            right += distance(layers, pair[0], pair[1]);
            x[pair[1]] = right;
        }
        row.iter().for_each(|&at| x[at] -= right / 2.0);
    }
    for sweep in 0..SWEEPS + LAST_SWEEPS {
        let is_down = sweep % 2 == 0;
        for step in 0..layers.rows.len() {
            let at = if is_down { step } else { layers.rows.len() - 1 - step };
            let both = sweep >= SWEEPS;
            let wishes: Vec<(f64, f64)> = layers.rows[at]
                .iter()
                .map(|&place| wish(layers, place, &x, both || is_down, both || !is_down))
                .collect();
            settle(layers, &layers.rows[at], &wishes, &mut x);
        }
    }
    straighten(layers, &mut x);
    x
}

/// Puts the places of each line that passes layers below each other, as far as there is room.
fn straighten(layers: &Layers, x: &mut [f64]) {
    // Places are numbered down each line.
    let next = |at: usize| {
        let mut below = layers.places[at].below.iter().map(|&edge| layers.edges[edge].lower);
        below.find(|&lower| layers.places[lower].what == What::Pass)
    };
    let mut chains: Vec<Vec<usize>> = Vec::new();
    let mut is_inside = vec![false; x.len()];
    for at in (0..x.len()).filter(|&at| layers.places[at].what == What::Pass) {
        if !std::mem::replace(&mut is_inside[at], true) {
            let chain: Vec<usize> = std::iter::successors(Some(at), |&at| next(at)).collect();
            chain.iter().for_each(|&at| is_inside[at] = true);
            chains.push(chain);
        }
    }
    for _ in 0..STRAIGHT_ROUNDS {
        let mut wishes: Vec<(f64, f64)> = x.iter().map(|&x| (x, 1.0)).collect();
        for chain in &chains {
            let mean = chain.iter().map(|&at| x[at]).sum::<f64>() / chain.len() as f64;
            chain.iter().for_each(|&at| wishes[at] = (mean, STRAIGHT));
        }
        for row in &layers.rows {
            let wishes: Vec<(f64, f64)> = row.iter().map(|&at| wishes[at]).collect();
            settle(layers, row, &wishes, x);
        }
    }
}

fn distance(layers: &Layers, a: usize, b: usize) -> f64 {
    let [a, b] = [a, b].map(|at| &layers.places[at]);
    let is_line = |what: What| !matches!(what, What::Item(_));
    a.right + b.left + if is_line(a.what) && is_line(b.what) { LINE_GAP } else { GAP }
}

/// Moves a row's places as close to where they want to be, each with a weight, as order and room allow: the isotonic
/// regression of what is wanted, by pooling neighbours that are in each other's way.
fn settle(layers: &Layers, row: &[usize], wishes: &[(f64, f64)], x: &mut [f64]) {
    struct Pool {
        weight: f64,
        mean: f64,
        count: usize,
    }
    let mut pools: Vec<Pool> = Vec::new();
    let mut room = 0.0;
    let mut rooms = Vec::new();
    for (nth, &at) in row.iter().enumerate() {
        room += nth.checked_sub(1).map_or(0.0, |before| distance(layers, row[before], at));
        rooms.push(room);
        let (wanted, weight) = wishes[nth];
        pools.push(Pool { weight, mean: wanted - room, count: 1 });
        while let [.., left, right] = &mut pools[..] {
            if left.mean <= right.mean {
                break;
            }
            let weight = left.weight + right.weight;
            left.mean = (left.mean * left.weight + right.mean * right.weight) / weight;
            left.weight = weight;
            left.count += right.count;
            pools.pop();
        }
    }
    let means = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.mean, pool.count));
    for ((&at, mean), room) in row.iter().zip(means).zip(rooms) {
        x[at] = mean + room;
    }
}

/// Where a place would like to be, and how much. Long lines pull most at themselves, so that they are straight, and less
/// at boxes; boxes with one line alone hardly pull, so that they make way for chains.
fn wish(layers: &Layers, at: usize, x: &[f64], above: bool, below: bool) -> (f64, f64) {
    let place = &layers.places[at];
    let (mut sum, mut weight) = (0.0, 0.0);
    let is_pass = |at: usize| layers.places[at].what == What::Pass;
    let is_end = |at: usize| {
        let place = &layers.places[at];
        matches!(place.what, What::Item(_)) && place.above.len() + place.below.len() == 1
    };
    let mut pull = |other: usize, shift: f64| {
        let strength = match (is_pass(at), is_pass(other)) {
            (true, true) => 8.0,
            (true, false) => 2.0,
            (false, true) => 1.0,
            (false, false) if is_end(at) || is_end(other) => 0.1,
            (false, false) => 4.0,
        };
        sum += (x[other] + shift) * strength;
        weight += strength;
    };
    if above {
        for edge in place.above.iter().map(|&edge| &layers.edges[edge]) {
            pull(edge.upper, edge.out - edge.into);
        }
    }
    if below {
        for edge in place.below.iter().map(|&edge| &layers.edges[edge]) {
            pull(edge.lower, edge.into - edge.out);
        }
    }
    // What hangs on nothing stays, unless it is in the way.
    if weight > 0.0 { (sum / weight, weight) } else { (x[at], 0.01) }
}

/// Space below a row: lines that go far to a side need more to be told apart.
fn row_gap(layers: &Layers, row: &[usize], x: &[f64]) -> f64 {
    let edges = row.iter().flat_map(|&at| &layers.places[at].below).map(|&edge| &layers.edges[edge]);
    let farthest =
        edges.map(|edge| (x[edge.upper] + edge.out - x[edge.lower] - edge.into).abs()).fold(0.0, f64::max);
    let from_border = row.iter().all(|&at| matches!(layers.places[at].what, What::Top(_)));
    let least = if from_border { PORT_GAP } else { ROW_GAP };
    (least + farthest * STEEPEST).min(MOST_ROW_GAP).round()
}
