//! What every layout keeps to, on small graphs, odd ones and made-up ones.

use super::*;

fn item(parent: Option<usize>) -> Item {
    Item { parent, width: 80.0, height: 30.0 }
}

fn line(from: usize, to: &[usize]) -> Line {
    Line { from, to: to.to_vec(), label: 40.0 }
}

/// Lays the graph out and checks that boxes don't overlap, frames hold what is in them, and lines go down, from their box
/// to theirs, through no other.
fn check(items: &[Item], lines: &[Line]) -> Layout {
    let layout = layout(items, lines).unwrap();
    let boxes = &layout.boxes;
    let bottom = |rect: &Rect| rect.y + rect.height;
    let right = |rect: &Rect| rect.x + rect.width;
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|&a, &b| boxes[a].y.total_cmp(&boxes[b].y));
    for (nth, &a) in order.iter().enumerate() {
        for &b in order[nth + 1..].iter().take_while(|&&b| boxes[b].y < bottom(&boxes[a])) {
            let apart = right(&boxes[a]) <= boxes[b].x || right(&boxes[b]) <= boxes[a].x;
            assert!(apart || items[a].parent != items[b].parent, "{a} and {b} overlap");
        }
    }
    for (at, item) in items.iter().enumerate() {
        let around = match item.parent {
            Some(parent) => boxes[parent],
            None => Rect { x: 0.0, y: 0.0, width: layout.width, height: layout.height },
        };
        let rect = &boxes[at];
        assert!(rect.width >= item.width && rect.height >= item.height);
        assert!(rect.x >= around.x && rect.y >= around.y, "{at} begins outside");
        assert!(right(rect) <= right(&around) && bottom(rect) <= bottom(&around), "{at} ends outside");
    }
    let touches = |x: f64, rect: &Rect| (rect.x..=right(rect)).contains(&x);
    for (line, strokes) in lines.iter().zip(&layout.lines) {
        for stroke in strokes {
            let Stroke { y0, y1, y2, y3, .. } = *stroke;
            assert!(y0 <= y1 && y1 < y2 && y2 <= y3, "{stroke:?}");
        }
        let begins = |stroke: &&Stroke| {
            stroke.y0 == bottom(&boxes[line.from]) && touches(stroke.x0, &boxes[line.from])
        };
        assert_eq!(strokes.iter().filter(begins).count().min(1), line.to.len().min(1));
        for &to in &line.to {
            let ends = |stroke: &&Stroke| stroke.y3 == boxes[to].y && touches(stroke.x1, &boxes[to]);
            assert_eq!(strokes.iter().filter(|stroke| stroke.arrives).filter(ends).count(), 1, "{to}");
        }
    }
    layout
}

/// No part of a line is inside a box between the boxes that it connects.
fn check_clear(items: &[Item], layout: &Layout) {
    let is_frame = |at: usize| items.iter().any(|item| item.parent == Some(at));
    for stroke in layout.lines.iter().flatten() {
        let (left, right) = (stroke.x0.min(stroke.x1), stroke.x0.max(stroke.x1));
        for (at, rect) in layout.boxes.iter().enumerate().filter(|(at, _)| !is_frame(*at)) {
            let parts = [(stroke.x0, stroke.x0, stroke.y0, stroke.y1), (left, right, stroke.y1, stroke.y2)];
            for (left, right, top, bottom) in parts {
                let apart = right < rect.x || rect.x + rect.width < left;
                assert!(apart || bottom <= rect.y || rect.y + rect.height <= top, "{stroke:?} is in {at}");
            }
        }
    }
}

#[test]
fn nothing_and_one_box() {
    let empty = check(&[], &[]);
    assert_eq!((empty.width, empty.height), (0.0, 0.0));
    let one = check(&[item(None)], &[]);
    assert_eq!((one.width, one.height), (80.0, 30.0));
    check(&[item(None)], &[line(0, &[])]);
}

#[test]
fn a_chain_is_straight() {
    let items = vec![item(None); 4];
    let layout = check(&items, &[line(0, &[1]), line(1, &[2]), line(2, &[3])]);
    assert!(layout.boxes.iter().all(|rect| rect.x == layout.boxes[0].x));
}

#[test]
fn a_line_goes_around_the_boxes_between_its_ends() {
    let items = vec![item(None); 5];
    let layout = check(&items, &[line(0, &[1, 4]), line(1, &[2]), line(2, &[3]), line(3, &[4])]);
    check_clear(&items, &layout);
}

#[test]
fn lines_do_not_cross_where_they_need_not() {
    // Two pairs whose ends come in the wrong order.
    let items = vec![item(None); 4];
    let layout = check(&items, &[line(0, &[3]), line(1, &[2])]);
    let x = |at: usize| layout.boxes[at].x;
    assert_eq!(x(0) < x(1), x(3) < x(2));
}

#[test]
fn five_hundred_inputs() {
    let items = vec![item(None); 501];
    let lines: Vec<Line> = (0..500).map(|at| line(at, &[500])).collect();
    check(&items, &lines);
}

#[test]
fn five_thousand_boxes_in_a_chain() {
    let items = vec![item(None); 5000];
    let lines: Vec<Line> = (1..5000).map(|at| line(at - 1, &[at])).collect();
    check(&items, &lines);
}

#[test]
fn five_thousand_frames_around_each_other() {
    let items: Vec<Item> = (0..5000usize).map(|at| item(at.checked_sub(1))).collect();
    check(&items, &[]);
}

#[test]
fn lines_cross_the_borders_of_frames() {
    // 1 holds 2 and 3, and 3 holds 4; 5 holds 6.
    let parents = [None, None, Some(1), Some(1), Some(3), None, Some(5), None];
    let items: Vec<Item> = parents.map(item).to_vec();
    let lines = [line(0, &[2, 4, 6, 7]), line(2, &[4]), line(4, &[6, 7]), line(2, &[5]), line(6, &[7])];
    let layout = check(&items, &lines);
    check_clear(&items, &layout);
    // Both are lines from 2, side by side.
    assert_ne!(layout.labels[1], layout.labels[3]);
}

#[test]
fn made_up_graphs() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..60 {
        let mut items: Vec<Item> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        // Frames are closed before what comes after them, as a scene's are.
        for at in 0..1 + random(40) {
            let mut made = item(open.last().copied());
            made.width += random(120) as f64;
            made.height += random(60) as f64;
            items.push(made);
            match random(6) {
                0 => open.push(at),
                1 => drop(open.pop()),
                _ => {}
            }
        }
        let frames: Vec<bool> =
            (0..items.len()).map(|at| items.iter().any(|item| item.parent == Some(at))).collect();
        let mut lines = Vec::new();
        for from in (0..items.len()).filter(|&from| !frames[from]) {
            let to: Vec<usize> =
                (from + 1..items.len()).filter(|&to| !frames[to] && random(6) == 0).collect();
            // A box is as wide as what is written on its lines.
            lines.push(Line { label: 20.0, ..line(from, &to) });
        }
        let layout = check(&items, &lines);
        check_clear(&items, &layout);
        let again = super::layout(&items, &lines).unwrap();
        assert_eq!(layout.lines, again.lines);
    }
}

#[test]
fn more_places_than_are_allowed() {
    // Each of 1,500 lines passes every layer of a chain of 1,500.
    let n = 1500;
    let items = vec![item(None); 2 * n + 1];
    let chain = (1..2 * n + 1).map(|at| line(at - 1, &[at]));
    let long = (0..n).map(|at| line(at, &[2 * n]));
    let lines: Vec<Line> = chain.chain(long).collect();
    assert_eq!(layout(&items, &lines).unwrap_err(), TooLarge);
}
