//! 3x3 convolutions by tiles of 2x2 results: F(2x2, 3x3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural
//! Networks" (2016). A tile takes 16 products a channel in place of 36.
//!
//! With `d` a tile's 4x4 elements of a padded channel and `g` the weights: `y = A^T (G g G^T * B^T d B) A`, summed over
//! channels between the transforms, so that for each of the 16 places there is one matrix product. A block of rows of
//! tiles passes through all stages before the next one does: what lies between them stays in the cache.

use tcc_ir::kernel::{Acc, AccOp, AxisId, BufferId, Builder, ExprId, Kernel, Stage, Store};
use tcc_ir::ops::BinaryKind;
use tcc_ir::{Cmp, DType, Dim, Tensor, TensorType};

/// Results of a tile along an axis, and what they read.
const OUT: i64 = 2;
const IN: i64 = 4;
/// Elements that a tile reads: products that it takes for each pair of channels.
pub const PLACES: i64 = IN * IN;

const B_T: [[i8; 4]; 4] = [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]];
const A_T: [[i8; 4]; 2] = [[1, 1, 1, 0], [0, 1, -1, -1]];
const G: [[f64; 3]; 4] = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]];

/// What the transformed elements of a block take at most, but for blocks of few columns.
const BYTES: i64 = 1 << 20;
/// Tiles of a block: few enough for the cache, and as many as make reading the weights cheap beside their products.
const MOST: i64 = 112;
const LEAST: i64 = 32;
/// Columns that a matrix product does at once, and tiles that a vector has.
const PANEL: i64 = 16;
const VECTOR: i64 = 8;

/// `G x G`: a matrix of the 16 places by the 9 weights.
pub fn of_weights() -> Tensor {
    let rows = (0..16).flat_map(|place| (0..9).map(move |w| G[place / 4][w / 3] * G[place % 4][w % 3]));
    Tensor::from_floats(DType::F32, vec![16, 9], rows)
}

/// Sizes of a convolution, all but the batch known.
#[derive(Clone, Copy)]
struct Sizes {
    /// Channels and extents of the operand, and of the result.
    from: [i64; 3],
    to: [i64; 3],
    /// Rows of tiles, how many of them make a block, and tiles of a row: more than results need may fill up vectors.
    tile_rows: i64,
    rows: i64,
    width: i64,
}

impl Sizes {
    fn of(x: &TensorType, y: &TensorType) -> Option<Sizes> {
        let known = |ty: &TensorType| {
            let [_, c, h, w] = &ty.shape[..] else { return None };
            let [c, h, w] = [c, h, w].map(|d| d.as_const().filter(|n| (1..1 << 20).contains(n)));
            Some([c?, h?, w?])
        };
        let (from, to) = (known(x)?, known(y)?);
        let [tile_rows, columns] = [to[1], to[2]].map(|n| ceil_div(n, OUT));
        let most = (BYTES / (4 * PLACES * (from[0] + to[0]))).clamp(LEAST, MOST);
        // What fills up panels best, then what fills up vectors.
        let computed = |(rows, width): &(i64, i64)| {
            let panels = ceil_div(rows * width, PANEL);
            (ceil_div(tile_rows, *rows) * panels, -width, -rows)
        };
        let widths = [columns, ceil_div(columns, VECTOR) * VECTOR];
        let sizes = (1..=tile_rows).flat_map(|rows| widths.map(|width| (rows, width)));
        let fits = |(rows, width): &(i64, i64)| *rows == 1 || rows * width <= most;
        let (rows, width) = sizes.filter(fits).min_by_key(computed)?;
        Some(Sizes { from, to, tile_rows, rows, width })
    }

    /// Rows and columns of the padded operand that a block reads.
    fn padded(&self) -> [i64; 2] {
        [self.rows, self.width].map(|n| OUT * n + IN - OUT)
    }
}

fn ceil_div(n: i64, by: i64) -> i64 {
    (n + by - 1) / by
}

/// The convolution of `x` with stride 1, so many zeros `before` (none of them negative), and transformed weights `u` ([16, M, C]), which gives
/// `y`. None where sizes aren't known.
pub fn winograd(x: &TensorType, u: &TensorType, y: &TensorType, before: [i64; 2]) -> Option<Kernel> {
    let sizes = Sizes::of(x, y)?;
    let mut b = Builder::new("winograd");
    let (x, u, y) = (b.input(x), b.input(u), b.output(y));
    let batch = b.kernel().buffer(x).ty.shape[0].clone();
    let outer = b.axes(&[batch, Dim::from(ceil_div(sizes.tile_rows, sizes.rows))]);
    b.kernel_mut().outer.clone_from(&outer);
    let ([c_in, ..], [c_out, ..]) = (sizes.from, sizes.to);
    let [rows, columns] = sizes.padded();
    let tiles = sizes.rows * sizes.width;
    let mut temp = |shape: [i64; 3]| b.temp(TensorType::new(DType::F32, shape.map(Dim::from)));
    let padded = temp([c_in, rows, columns]);
    // One channel more keeps the places of a tile from falling on the same sets of a cache.
    let transformed = temp([PLACES, c_in + 1, tiles]);
    let products = temp([PLACES, c_out + 1, tiles]);
    let mut winograd = Winograd { b, sizes, outer };
    winograd.pad(x, padded, before);
    winograd.transform(padded, transformed);
    winograd.multiply(u, transformed, products);
    winograd.finish(products, y);
    Some(winograd.b.finish())
}

struct Winograd {
    b: Builder,
    sizes: Sizes,
    /// The image, and the block of rows of tiles.
    outer: Vec<AxisId>,
}

impl Winograd {
    /// Copies what a block reads, with zeros around: loads that needn't ask where they are.
    fn pad(&mut self, x: BufferId, padded: BufferId, before: [i64; 2]) {
        let [channels, height, width] = self.sizes.from;
        let [rows, columns] = self.sizes.padded();
        let b = &mut self.b;
        for (n, first) in [(before[1], 0), (columns - before[1] - width, before[1] + width)] {
            if n > 0 {
                let axes = b.axes(&[channels, rows, n].map(Dim::from));
                let mut index = b.all(&axes);
                index[2] = shifted(b, index[2], first);
                let zero = b.float(DType::F32, 0.0);
                b.map_stage(axes, padded, index, zero);
            }
        }
        let axes = b.axes(&[channels, rows, width].map(Dim::from));
        let [channel, row, column] = [0, 1, 2].map(|i| b.at(axes[i]));
        let (image, block) = (b.at(self.outer[0]), b.at(self.outer[1]));
        let (block_rows, above) = (b.int(OUT * self.sizes.rows), b.int(before[0]));
        let first = b.mul(block, block_rows);
        let place = b.add(first, row);
        let place = b.sub(place, above);
        let guard = b.in_range(place, &height.into());
        let value = b.load_if(x, vec![image, channel, place, column], Some(guard));
        let to = shifted(b, column, before[1]);
        b.map_stage(axes, padded, vec![channel, row, to], value);
    }

    /// `B^T d B`.
    fn transform(&mut self, padded: BufferId, transformed: BufferId) {
        let Sizes { from, rows, width, .. } = self.sizes;
        let (axes, [channel, row, column]) = self.tiles([from[0], rows, width]);
        let tile = self.tile(row, column);
        let b = &mut self.b;
        let two = b.int(OUT);
        let (first_row, first_column) = (b.mul(row, two), b.mul(column, two));
        let elements = [0, 1, 2, 3].map(|i| {
            [0, 1, 2, 3].map(|j| {
                let index = vec![channel, shifted(b, first_row, i), shifted(b, first_column, j)];
                b.load(padded, index)
            })
        });
        let values = both_sides(b, &B_T, &elements);
        let stores = values.into_iter().flatten().enumerate().map(|(place, value)| {
            let place = b.int(place as i64);
            plain_store(transformed, vec![place, channel, tile], value, None)
        });
        let stores = stores.collect();
        b.stage(Stage { axes, stores, ..Stage::default() });
    }

    /// A matrix product for each place.
    fn multiply(&mut self, u: BufferId, transformed: BufferId, products: BufferId) {
        let b = &mut self.b;
        let tiles = self.sizes.rows * self.sizes.width;
        let axes = b.axes(&[PLACES, self.sizes.to[0], tiles].map(Dim::from));
        let [place, channel, tile] = [0, 1, 2].map(|i| b.at(axes[i]));
        let reduce = b.axis(self.sizes.from[0]);
        let from = b.at(reduce);
        let weight = b.load(u, vec![place, channel, from]);
        let element = b.load(transformed, vec![place, from, tile]);
        let value = b.binary(BinaryKind::Mul, weight, element);
        let acc = Acc { op: AccOp::Sum, value, dtype: DType::F32 };
        let to = (products, vec![place, channel, tile]);
        b.reduce_stage((axes, vec![reduce]), acc, to, |_, sum| sum);
    }

    /// `A^T m A`: all of it for whole tiles, a part for the tiles that the last row or column of an odd number cuts.
    fn finish(&mut self, products: BufferId, y: BufferId) {
        let [_, height, width] = self.sizes.to;
        let parts = |n: i64| [(0, n / OUT, OUT as usize), (n / OUT, n % OUT, 1)];
        for rows in parts(height) {
            for columns in parts(width) {
                self.finish_part(products, y, rows, columns);
            }
        }
    }

    /// For each axis: the first tile, how many there are, and how many results of each are wanted.
    fn finish_part(
        &mut self,
        products: BufferId,
        y: BufferId,
        (first_row, n_rows, height): (i64, i64, usize),
        (first_column, n_columns, width): (i64, i64, usize),
    ) {
        if n_rows == 0 || n_columns == 0 {
            return;
        }
        let Sizes { rows, tile_rows, .. } = self.sizes;
        let blocks = ceil_div(tile_rows, rows);
        // The last row is in one of the blocks.
        let last = first_row > 0;
        let (axes, [channel, row, column]) =
            self.tiles([self.sizes.to[0], if last { n_rows } else { rows }, n_columns]);
        let b = &mut self.b;
        let (image, block) = (b.at(self.outer[0]), b.at(self.outer[1]));
        let block_rows = b.int(rows);
        let above = b.mul(block, block_rows);
        let (row, in_block) = if last {
            let row = shifted(b, row, first_row);
            (row, b.sub(row, above))
        } else {
            (b.add(above, row), row)
        };
        let end = b.int(n_rows);
        let guard = match last {
            true => (blocks > 1).then(|| b.in_range(in_block, &rows.into())),
            false => (blocks * rows > n_rows).then(|| b.compare(Cmp::Lt, row, end)),
        };
        let column = shifted(b, column, first_column);
        let tile = self.tile(in_block, column);
        let b = &mut self.b;
        let elements = [0, 1, 2, 3].map(|i| {
            [0, 1, 2, 3].map(|j| {
                let place = b.int(i * IN + j);
                b.load_if(products, vec![place, channel, tile], guard.filter(|_| last))
            })
        });
        let values = both_sides(b, &A_T, &elements);
        let two = b.int(OUT);
        let (first_row, first_column) = (b.mul(row, two), b.mul(column, two));
        let mut stores = Vec::new();
        for (i, values) in values.into_iter().enumerate().take(height) {
            for (j, value) in values.into_iter().enumerate().take(width) {
                let (row, column) = (shifted(b, first_row, i as i64), shifted(b, first_column, j as i64));
                stores.push(plain_store(y, vec![image, channel, row, column], value, guard));
            }
        }
        b.stage(Stage { axes, stores, ..Stage::default() });
    }

    /// Axes of channels, rows of tiles, and columns of tiles.
    fn tiles(&mut self, extents: [i64; 3]) -> (Vec<AxisId>, [ExprId; 3]) {
        let b = &mut self.b;
        let axes = b.axes(&extents.map(Dim::from));
        let at = [0, 1, 2].map(|i| b.at(axes[i]));
        (axes, at)
    }

    /// The number of a tile in its block.
    fn tile(&mut self, row: ExprId, column: ExprId) -> ExprId {
        let width = self.b.int(self.sizes.width);
        let first = self.b.mul(row, width);
        self.b.add(first, column)
    }
}

fn shifted(b: &mut Builder, at: ExprId, by: i64) -> ExprId {
    let by = b.int(by);
    b.add(at, by)
}

fn plain_store(buffer: BufferId, index: Vec<ExprId>, value: ExprId, guard: Option<ExprId>) -> Store {
    Store { buffer, index, value, update: None, guard }
}

/// `T d T^T`.
fn both_sides<const N: usize>(b: &mut Builder, t: &[[i8; 4]; N], d: &[[ExprId; 4]; 4]) -> [[ExprId; N]; N] {
    let columns = t.map(|row| [0, 1, 2, 3].map(|j| combined(b, row, [0, 1, 2, 3].map(|i| d[i][j]))));
    columns.map(|elements| t.map(|row| combined(b, row, elements)))
}

/// The sum of elements with these signs, one of which at least is positive.
fn combined(b: &mut Builder, signs: [i8; 4], elements: [ExprId; 4]) -> ExprId {
    let with = |sign: i8| (0..4).filter(move |i| signs[*i] == sign).map(|i| elements[i]);
    let sum = with(1).reduce(|sum, e| b.add(sum, e)).expect("a positive sign");
    with(-1).fold(sum, |sum, e| b.sub(sum, e))
}
