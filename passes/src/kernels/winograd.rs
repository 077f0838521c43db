//! 3x3 convolutions by tiles of results: F(2x2, 3x3) and F(4x4, 3x3) of Lavin and Gray, "Fast Algorithms for
//! Convolutional Neural Networks" (2016). A tile takes 16 products a channel in place of 36, or 36 in place of 144.
//!
//! With `d` a tile's elements of a padded channel and `g` the weights: `y = A^T (G g G^T * B^T d B) A`, summed over
//! channels between the transforms, so that for each place of a tile there is one matrix product. A block of rows of
//! tiles passes through all stages before the next one does: what lies between them stays in the cache. Tiles lie side by
//! side there, so that transforms are of vectors of tiles, and in panels as the matrix products read them.

use crate::Machine;
use tcc_ir::kernel::{Acc, AccOp, AxisId, BufferId, Builder, ExprId, Kernel, Stage, Store};
use tcc_ir::ops::BinaryKind;
use tcc_ir::{Cmp, DType, Dim, Tensor, TensorType};

/// A size of tiles, with its transforms.
#[derive(Debug)]
pub struct Tile {
    /// Results along an axis, which read two elements more.
    out: i64,
    b_t: &'static [&'static [f64]],
    a_t: &'static [&'static [f64]],
    g: &'static [[f64; 3]],
}

/// Interpolates at 0, 1, -1 and infinity.
pub static TWO: Tile = Tile {
    out: 2,
    b_t: &[&[1.0, 0.0, -1.0, 0.0], &[0.0, 1.0, 1.0, 0.0], &[0.0, -1.0, 1.0, 0.0], &[0.0, 1.0, 0.0, -1.0]],
    a_t: &[&[1.0, 1.0, 1.0, 0.0], &[0.0, 1.0, -1.0, -1.0]],
    g: &[[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]],
};

/// Interpolates at 0, 3/4, -3/4, 3/2, -3/2 and infinity: rounding takes half as much away as with 1 and 2.
pub static FOUR: Tile = Tile {
    out: 4,
    b_t: &[
        &[1.265625, 0.0, -2.8125, 0.0, 1.0, 0.0],
        &[0.0, -1.6875, -2.25, 0.75, 1.0, 0.0],
        &[0.0, 1.6875, -2.25, -0.75, 1.0, 0.0],
        &[0.0, -0.84375, -0.5625, 1.5, 1.0, 0.0],
        &[0.0, 0.84375, -0.5625, -1.5, 1.0, 0.0],
        &[0.0, 1.265625, 0.0, -2.8125, 0.0, 1.0],
    ],
    a_t: &[
        &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
        &[0.0, 0.75, -0.75, 1.5, -1.5, 0.0],
        &[0.0, 0.5625, 0.5625, 2.25, 2.25, 0.0],
        &[0.0, 0.421875, -0.421875, 3.375, -3.375, 1.0],
    ],
    g: &[
        [64.0 / 81.0, 0.0, 0.0],
        [-128.0 / 243.0, -32.0 / 81.0, -8.0 / 27.0],
        [-128.0 / 243.0, 32.0 / 81.0, -8.0 / 27.0],
        [32.0 / 243.0, 16.0 / 81.0, 8.0 / 27.0],
        [32.0 / 243.0, -16.0 / 81.0, 8.0 / 27.0],
        [0.0, 0.0, 1.0],
    ],
};

impl Tile {
    /// Elements along an axis that a tile shares with the next one, and that it reads.
    fn shared(&self) -> i64 {
        2
    }

    fn read(&self) -> i64 {
        self.out + self.shared()
    }

    /// Elements that a tile reads: products that it takes for each pair of channels.
    pub fn places(&self) -> i64 {
        self.read() * self.read()
    }

    /// `G x G`: a matrix of the places by the 9 weights.
    pub fn of_weights(&self) -> Tensor {
        let rows = self.g.iter().flat_map(|y| self.g.iter().map(move |x| (y, x)));
        let values = rows.flat_map(|(y, x)| (0..9).map(move |w| y[w / 3] * x[w % 3]));
        Tensor::from_floats(DType::F32, vec![self.places() as usize, 9], values)
    }
}

/// What the transformed elements of a block take at most, but for blocks of few tiles.
const BYTES: i64 = 2 << 20;
/// Tiles of a block: few enough for the cache, and as many as make reading the weights cheap beside their products.
const MOST: i64 = 112;
const LEAST: i64 = 32;

/// Sizes of a convolution, all but the batch known.
#[derive(Clone, Copy)]
struct Sizes {
    tile: &'static Tile,
    /// Channels and extents of the operand, and of the result.
    from: [i64; 3],
    to: [i64; 3],
    /// Rows of tiles, how many of them make a block, and tiles of a row.
    tile_rows: i64,
    rows: i64,
    width: i64,
    /// Columns that a matrix product does at once.
    panel: i64,
}

impl Sizes {
    fn of(tile: &'static Tile, machine: &Machine, x: &TensorType, y: &TensorType) -> Option<Sizes> {
        let known = |ty: &TensorType| {
            let [_, c, h, w] = &ty.shape[..] else { return None };
            let [c, h, w] = [c, h, w].map(|d| d.as_const().filter(|n| (1..1 << 20).contains(n)));
            Some([c?, h?, w?])
        };
        let (from, to) = (known(x)?, known(y)?);
        let panel = Some(i64::from(machine.panel)).filter(|n| *n > 0)?;
        let [tile_rows, width] = [to[1], to[2]].map(|n| ceil_div(n, tile.out));
        let images = x.shape[0].as_const().unwrap_or(1).clamp(1, 1 << 20);
        let most = (BYTES / (4 * tile.places() * (from[0] + to[0]))).clamp(LEAST, MOST);
        // What the busiest core has to do, then all of it, then how often weights are read.
        let cost = |rows: &i64| {
            let (blocks, panels) = (ceil_div(tile_rows, *rows), ceil_div(rows * width, panel));
            (ceil_div(images * blocks, machine.cores.max(1).into()) * panels, blocks * panels, blocks)
        };
        let fits = |rows: &i64| *rows == 1 || rows * width <= most;
        let rows = (1..=tile_rows).filter(fits).min_by_key(cost)?;
        Some(Sizes { tile, from, to, tile_rows, rows, width, panel })
    }

    fn panels(&self) -> i64 {
        ceil_div(self.rows * self.width, self.panel)
    }
}

fn ceil_div(n: i64, by: i64) -> i64 {
    (n + by - 1) / by
}

/// The convolution of `x` with stride 1, so many zeros `before` (none of them negative), and transformed weights `u`
/// ([places, M, C]), which gives `y`. None where sizes aren't known, or the machine has no schedule for matrix products.
pub fn winograd(
    tile: &'static Tile,
    machine: &Machine,
    x: &TensorType,
    u: &TensorType,
    y: &TensorType,
    before: [i64; 2],
) -> Option<Kernel> {
    let sizes = Sizes::of(tile, machine, x, y)?;
    let mut b = Builder::new(format!("winograd{}", tile.out));
    let (x, u, y) = (b.input(x), b.input(u), b.output(y));
    let batch = b.kernel().buffer(x).ty.shape[0].clone();
    let outer = b.axes(&[batch, Dim::from(ceil_div(sizes.tile_rows, sizes.rows))]);
    b.kernel_mut().outer.clone_from(&outer);
    let ([c_in, ..], [c_out, ..]) = (sizes.from, sizes.to);
    let (panels, panel) = (sizes.panels(), sizes.panel);
    let mut temp = |shape: [i64; 4]| b.temp(TensorType::new(DType::F32, shape.map(Dim::from)));
    let padded = temp([c_in, tile.out, tile.read(), panels * panel + sizes.width]);
    // One channel more keeps the places of a tile from falling on the same sets of a cache.
    let transformed = temp([panels, tile.places(), c_in + 1, panel]);
    let products = temp([panels, c_out, tile.places(), panel]);
    let results = temp([c_out, tile.out, tile.out, panels * panel]);
    let mut winograd = Winograd { b, sizes, outer };
    winograd.pad(x, padded, before);
    winograd.transform(padded, transformed);
    winograd.multiply(u, transformed, products);
    winograd.transform_back(products, results);
    winograd.finish(results, y);
    Some(winograd.b.finish())
}

struct Winograd {
    b: Builder,
    sizes: Sizes,
    /// The image, and the block of rows of tiles.
    outer: Vec<AxisId>,
}

impl Winograd {
    /// Copies what a block reads, with zeros around. What tiles read at the same place of theirs lies side by side, but
    /// that a row which is read by tiles of two rows is there once.
    fn pad(&mut self, x: BufferId, padded: BufferId, before: [i64; 2]) {
        let Sizes { tile, rows, .. } = self.sizes;
        for columns in self.column_parts(before[1]) {
            self.pad_part(x, padded, before, (0, tile.shared(), rows + 1), columns);
            self.pad_part(x, padded, before, (tile.shared(), tile.out - tile.shared(), rows), columns);
        }
    }

    /// Columns of tiles, and one more, with zeros at the same places: the first one and how many there are.
    fn column_parts(&self, left: i64) -> Vec<(i64, i64)> {
        let mut parts: Vec<(i64, i64)> = Vec::new();
        for column in 0..=self.sizes.width {
            let like = |first: i64| {
                let at_end = first == 0 || column == self.sizes.width;
                !at_end && self.inside(first, left) == self.inside(column, left)
            };
            match parts.last_mut() {
                Some((first, n)) if like(*first) => *n += 1,
                _ => parts.push((column, 1)),
            }
        }
        parts
    }

    /// Which of the places of a tile that the next one doesn't begin with are inside of the image.
    fn inside(&self, column: i64, left: i64) -> Vec<bool> {
        let Sizes { tile, from, .. } = self.sizes;
        (0..tile.out).map(|j| (0..from[2]).contains(&(tile.out * column + j - left))).collect()
    }

    /// The rows number `first_row` and on of so many rows of tiles, for a part of the columns.
    fn pad_part(
        &mut self,
        x: BufferId,
        padded: BufferId,
        before: [i64; 2],
        (first_row, n_rows, tile_rows): (i64, i64, i64),
        (first_column, n_columns): (i64, i64),
    ) {
        if n_rows == 0 {
            return;
        }
        let Sizes { tile, from, rows, width, .. } = self.sizes;
        let inside = self.inside(first_column, before[1]);
        let b = &mut self.b;
        let axes = b.axes(&[from[0], n_rows, tile_rows, n_columns].map(Dim::from));
        let [channel, row, tile_row, column] = [0, 1, 2, 3].map(|i| b.at(axes[i]));
        let (image, block) = (b.at(self.outer[0]), b.at(self.outer[1]));
        let (row, column) = (shifted(b, row, first_row), shifted(b, column, first_column));
        let above = scaled(b, block, rows);
        let place = b.add(above, tile_row);
        let place = scaled(b, place, tile.out);
        let place = b.add(place, row);
        let place = shifted(b, place, -before[0]);
        let guard = b.in_range(place, &from[1].into());
        let to = scaled(b, tile_row, width);
        let to = b.add(to, column);
        let first = scaled(b, column, tile.out);
        let mut stores = Vec::new();
        for (j, inside) in (0..).zip(inside) {
            let value = if inside {
                let at = shifted(b, first, j - before[1]);
                b.load_if(x, vec![image, channel, place, at], Some(guard))
            } else {
                b.float(DType::F32, 0.0)
            };
            let mut store = |j: i64, back: i64| {
                let (j, to) = (b.int(j), shifted(b, to, -back));
                stores.push(plain_store(padded, vec![channel, row, j, to], value, None));
            };
            if first_column < width {
                store(j, 0);
            }
            // The tile before reads it too.
            if j < tile.shared() && first_column > 0 {
                store(j + tile.out, 1);
            }
        }
        if !stores.is_empty() {
            b.stage(Stage { axes, stores, ..Stage::default() });
        }
    }

    /// `B^T d B`.
    fn transform(&mut self, padded: BufferId, transformed: BufferId) {
        let Sizes { tile, from, width, .. } = self.sizes;
        let (axes, [panel, channel, lane], at) = self.tiles(from[0]);
        let b = &mut self.b;
        let elements = table(tile.read(), |i, j| {
            let (row, j, at) = (b.int(i % tile.out), b.int(j), shifted(b, at, i / tile.out * width));
            b.load(padded, vec![channel, row, j, at])
        });
        let values = both_sides(b, tile.b_t, &elements);
        let stores = values.into_iter().flatten().zip(0..).map(|(value, place)| {
            let place = b.int(place);
            plain_store(transformed, vec![panel, place, channel, lane], value, None)
        });
        let stores = stores.collect();
        b.stage(Stage { axes, stores, ..Stage::default() });
    }

    /// A matrix product for each place.
    fn multiply(&mut self, u: BufferId, transformed: BufferId, products: BufferId) {
        let Sizes { tile, from, to, .. } = self.sizes;
        let panel = self.sizes.panel;
        let tiles = self.sizes.panels() * panel;
        let b = &mut self.b;
        let axes = b.axes(&[tile.places(), to[0], tiles].map(Dim::from));
        let [place, channel, at] = [0, 1, 2].map(|i| b.at(axes[i]));
        let reduce = b.axis(from[0]);
        let from = b.at(reduce);
        let size = b.int(panel);
        let (panel, lane) = (b.binary(BinaryKind::Div, at, size), b.binary(BinaryKind::Mod, at, size));
        let weight = b.load(u, vec![place, channel, from]);
        let element = b.load(transformed, vec![panel, place, from, lane]);
        let value = b.binary(BinaryKind::Mul, weight, element);
        let acc = Acc { op: AccOp::Sum, value, dtype: DType::F32 };
        let to = (products, vec![panel, channel, place, lane]);
        b.reduce_stage((axes, vec![reduce]), acc, to, |_, sum| sum);
    }

    /// `A^T m A`.
    fn transform_back(&mut self, products: BufferId, results: BufferId) {
        let Sizes { tile, to, .. } = self.sizes;
        let (axes, [panel, channel, lane], at) = self.tiles(to[0]);
        let b = &mut self.b;
        let elements = table(tile.read(), |i, j| {
            let place = b.int(i * tile.read() + j);
            b.load(products, vec![panel, channel, place, lane])
        });
        let values = both_sides(b, tile.a_t, &elements);
        let mut stores = Vec::new();
        for (i, values) in (0..).zip(values) {
            for (j, value) in (0..).zip(values) {
                let (i, j) = (b.int(i), b.int(j));
                stores.push(plain_store(results, vec![channel, i, j, at], value, None));
            }
        }
        b.stage(Stage { axes, stores, ..Stage::default() });
    }

    /// Moves results to their places: all of whole tiles, a part of the tiles that the last row or column cuts.
    fn finish(&mut self, results: BufferId, y: BufferId) {
        let Sizes { tile, to: [_, height, width], .. } = self.sizes;
        let parts = |n: i64| [(0, n / tile.out, tile.out), (n / tile.out, 1, n % tile.out)];
        for rows in parts(height) {
            for columns in parts(width) {
                self.finish_part(results, y, rows, columns);
            }
        }
    }

    /// For each axis: the first tile, how many there are, and how many results of each are wanted.
    fn finish_part(
        &mut self,
        results: BufferId,
        y: BufferId,
        (first_row, n_rows, height): (i64, i64, i64),
        (first_column, n_columns, width): (i64, i64, i64),
    ) {
        if n_rows * height == 0 || n_columns * width == 0 {
            return;
        }
        let Sizes { tile, rows, tile_rows, to, .. } = self.sizes;
        let blocks = ceil_div(tile_rows, rows);
        // The last row is in one of the blocks.
        let last = first_row > 0;
        let b = &mut self.b;
        let axes = b.axes(&[to[0], if last { n_rows } else { rows }, height, n_columns].map(Dim::from));
        let [channel, tile_row, i, column] = [0, 1, 2, 3].map(|i| b.at(axes[i]));
        let (image, block) = (b.at(self.outer[0]), b.at(self.outer[1]));
        let above = scaled(b, block, rows);
        let (tile_row, in_block) = if last {
            let row = shifted(b, tile_row, first_row);
            (row, b.sub(row, above))
        } else {
            (b.add(above, tile_row), tile_row)
        };
        let end = b.int(n_rows);
        let guard = match last {
            true => (blocks > 1).then(|| b.in_range(in_block, &rows.into())),
            false => (blocks * rows > n_rows).then(|| b.compare(Cmp::Lt, tile_row, end)),
        };
        let column = shifted(b, column, first_column);
        let at = scaled(b, in_block, self.sizes.width);
        let at = b.add(at, column);
        let row = scaled(b, tile_row, tile.out);
        let row = b.add(row, i);
        let first = scaled(b, column, tile.out);
        let mut stores = Vec::new();
        for j in 0..width {
            let (place, column) = (b.int(j), shifted(b, first, j));
            let value = b.load_if(results, vec![channel, i, place, at], guard.filter(|_| last));
            stores.push(plain_store(y, vec![image, channel, row, column], value, guard));
        }
        b.stage(Stage { axes, stores, ..Stage::default() });
    }

    /// Axes of panels, channels, and tiles of a panel, and the number of the tile.
    fn tiles(&mut self, channels: i64) -> (Vec<AxisId>, [ExprId; 3], ExprId) {
        let (panels, panel) = (self.sizes.panels(), self.sizes.panel);
        let b = &mut self.b;
        let axes = b.axes(&[panels, channels, panel].map(Dim::from));
        let at = [0, 1, 2].map(|i| b.at(axes[i]));
        let first = scaled(b, at[0], panel);
        let tile = b.add(first, at[2]);
        (axes, at, tile)
    }
}

fn shifted(b: &mut Builder, at: ExprId, by: i64) -> ExprId {
    let by_abs = b.int(by.abs());
    if by < 0 { b.sub(at, by_abs) } else { b.add(at, by_abs) }
}

fn scaled(b: &mut Builder, at: ExprId, by: i64) -> ExprId {
    let by = b.int(by);
    b.mul(at, by)
}

fn plain_store(buffer: BufferId, index: Vec<ExprId>, value: ExprId, guard: Option<ExprId>) -> Store {
    Store { buffer, index, value, update: None, guard }
}

fn table(n: i64, mut f: impl FnMut(i64, i64) -> ExprId) -> Vec<Vec<ExprId>> {
    (0..n).map(|i| (0..n).map(|j| f(i, j)).collect()).collect()
}

/// `T d T^T`.
fn both_sides(b: &mut Builder, t: &[&[f64]], d: &[Vec<ExprId>]) -> Vec<Vec<ExprId>> {
    let columns: Vec<_> =
        (0..d.len()).map(|j| times(b, t, &d.iter().map(|row| row[j]).collect::<Vec<_>>())).collect();
    (0..t.len()).map(|i| times(b, t, &columns.iter().map(|column| column[i]).collect::<Vec<_>>())).collect()
}

/// `T d` of a column. Where two columns of `T` differ in signs alone, it takes sums and differences of the elements; where
/// two rows do, they share the part that agrees and the part that doesn't.
fn times(b: &mut Builder, t: &[&[f64]], d: &[ExprId]) -> Vec<ExprId> {
    let mut t: Vec<Vec<f64>> = t.iter().map(|row| row.to_vec()).collect();
    let mut d = d.to_vec();
    for j in 0..d.len() {
        let twin = |k: &usize| t.iter().all(|row| row[j].abs() == row[*k].abs());
        let Some(k) = (j + 1..d.len()).find(twin) else { continue };
        (d[j], d[k]) = (b.add(d[j], d[k]), b.sub(d[j], d[k]));
        for row in &mut t {
            (row[j], row[k]) = if row[j] == row[k] { (row[j], 0.0) } else { (0.0, row[j]) };
        }
    }
    let twin = |i: usize| {
        let differs = |k: usize| t[k].iter().zip(&t[i]).all(|(x, y)| x.abs() == y.abs());
        (0..t.len()).find(|k| *k != i && differs(*k))
    };
    let mut row = |i: usize| {
        let terms = |agrees: &dyn Fn(usize) -> bool, row: usize| -> Vec<(f64, ExprId)> {
            let places = (0..d.len()).filter(|j| t[row][*j] != 0.0 && agrees(*j));
            places.map(|j| (t[row][j], d[j])).collect()
        };
        let Some(k) = twin(i) else { return combined(b, &terms(&|_| true, i)) };
        let agrees = |j: usize| t[i][j] == t[k][j];
        let even = combined(b, &terms(&agrees, i));
        let odd = combined(b, &terms(&|j| !agrees(j), i.min(k)));
        if i < k { b.add(even, odd) } else { b.sub(even, odd) }
    };
    (0..t.len()).map(&mut row).collect()
}

/// The sum of elements with these factors.
fn combined(b: &mut Builder, terms: &[(f64, ExprId)]) -> ExprId {
    let mut scaled = |factor: f64, e: ExprId| {
        let by = b.float(DType::F32, factor);
        if factor == 1.0 { e } else { b.mul(e, by) }
    };
    let parts: Vec<(bool, ExprId)> = terms.iter().map(|(f, e)| (*f > 0.0, scaled(f.abs(), *e))).collect();
    let first = parts.iter().position(|(positive, _)| *positive).expect("a positive factor");
    let others = (0..parts.len()).filter(|i| *i != first);
    others.fold(parts[first].1, |sum, i| {
        let (positive, e) = parts[i];
        if positive { b.add(sum, e) } else { b.sub(sum, e) }
    })
}
