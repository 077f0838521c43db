//! Reductions over sliding windows, such as depthwise convolutions and pooling, in three stages: what the windows slide
//! over is copied with its padding, those places together that a stride takes together; then all results are one row, as
//! each element of the window is at one distance in the copy for all of them; and what is no padding of the row is stored.
//! No loop has guards then or is short, however few columns there are.

use super::access::{coefficient, depends};
use super::collapse::over;
use super::span::Tiling;
use crate::machine::Machine;
use crate::target::Target;
use indexmap::{IndexMap, IndexSet};
use tcc_ir::kernel::{AxisId, BufferId, Builder, ExprId, Kernel, Scalar, Stage, Store};
use tcc_ir::ops::BinaryKind;
use tcc_ir::{Cmp, Dim, Symbol, TensorType};

/// Results that a copy is made for at least.
const LEAST: i64 = 16;
/// How many times as many positions as there are results may have places in a copy.
const MOST_PADDING: i64 = 4;
/// Positions of a row are a multiple: whole vectors.
const VECTOR: i64 = 16;
/// Positions that a block has at least.
const FEW_ROWS: i64 = 4;
/// Results at most along an axis that isn't cut.
const MOST: i64 = 1 << 14;
/// What a size without an upper bound counts as.
const USUAL: i64 = 128;

/// A kernel whose windows slide over copies.
pub struct Planes {
    pub kernel: Kernel,
    leading: Vec<AxisId>,
    /// How many blocks the first axis that windows slide along is cut into.
    blocks: Dim,
}

/// How windows slide along an axis.
struct Slide {
    axis: AxisId,
    /// Along the window, if it has more than one place.
    reduce: Option<AxisId>,
    extent: Dim,
    size: i64,
    stride: i64,
    dilation: i64,
}

impl Slide {
    /// How many of the stride's steps the last place of a window is behind the first.
    fn reach(&self) -> i64 {
        (self.size - 1) * self.dilation / self.stride
    }

    /// How far the places of all windows go.
    fn span(&self) -> Dim {
        (self.extent.clone() - 1.into()) * self.stride.into() + ((self.size - 1) * self.dilation + 1).into()
    }

    /// Whether a position is a multiple of where the window's place is, and of which number.
    fn multiple(&self, kernel: &Kernel, id: ExprId) -> Option<i64> {
        let along = coefficient(kernel, id, self.axis)?;
        let within = self.reduce.map_or(Some(0), |axis| coefficient(kernel, id, axis))?;
        let m = along / self.stride;
        let moves = if self.reduce.is_some() { m.checked_mul(self.dilation)? } else { 0 };
        (along % self.stride == 0 && within == moves).then_some(m)
    }
}

/// The last axes of a stage's results, from the first one on that a window slides along.
fn slides(kernel: &Kernel, stage: &Stage) -> Option<Vec<Slide>> {
    let used = kernel.reachable(stage.accs.iter().map(|acc| acc.value));
    let loads = kernel.exprs.iter().zip(used).filter_map(|(e, used)| match e {
        Scalar::Load { index, .. } if used => Some(index),
        _ => None,
    });
    let mut windows: IndexMap<AxisId, (AxisId, i64, i64)> = IndexMap::new();
    for place in loads.flatten() {
        let on = |axes: &[AxisId]| -> Vec<AxisId> {
            axes.iter().copied().filter(|a| depends(kernel, *place, *a)).collect()
        };
        match (&on(&stage.axes)[..], &on(&stage.reduce)[..]) {
            ([], _) | (_, []) => {}
            ([along], [within]) => {
                let step = |axis| coefficient(kernel, *place, axis).filter(|n| (1..=1 << 16).contains(n));
                let window = (*within, step(*along)?, step(*within)?);
                if *windows.entry(*along).or_insert(window) != window {
                    return None;
                }
            }
            _ => return None,
        }
    }
    let once = |axis| windows.values().filter(|(within, ..)| within == axis).count() == 1;
    let first = stage.axes.iter().position(|axis| windows.contains_key(axis))?;
    let slide = |axis: &AxisId| {
        let extent = kernel.extent(*axis).clone();
        let Some((within, stride, dilation)) = windows.get(axis).copied() else {
            return Some(Slide { axis: *axis, reduce: None, extent, size: 1, stride: 1, dilation: 1 });
        };
        let size = kernel.extent(within).as_const().filter(|n| (1..=1 << 16).contains(n))?;
        Some(Slide { axis: *axis, reduce: Some(within), extent, size, stride, dilation })
    };
    stage.reduce.iter().all(once).then(|| stage.axes[first..].iter().map(slide).collect())?
}

impl Planes {
    /// None where no windows slide, where they don't overlap, or where there is too little to do.
    pub fn of(kernel: &Kernel, target: &Target) -> Option<Planes> {
        let [stage] = &kernel.stages[..] else { return None };
        let checks = kernel.exprs.iter().any(|e| matches!(e, Scalar::Check { .. }));
        let positions = stage.accs.iter().any(|acc| acc.op.is_arg());
        if target.is_gpu() || target.vector_bits == 0 || kernel.serial || stage.scan || checks || positions {
            return None;
        }
        let slides = slides(kernel, stage)?;
        let product = |of: fn(&Slide) -> i64| slides.iter().map(of).fold(1i64, i64::saturating_mul);
        let results = Dim::product(slides.iter().map(|s| s.extent.clone())).as_const();
        let copied = Dim::product(slides.iter().map(|s| s.extent.clone() + s.reach().into())).as_const();
        let few = results.is_some_and(|n| n < LEAST || copied.is_some_and(|c| c > MOST_PADDING * n));
        if few || product(|s| s.size) <= product(|s| s.stride) {
            return None;
        }
        let mut sliding = Sliding::new(kernel, stage, slides);
        let separable = stage.accs.iter().all(|acc| sliding.is_separable(acc.value));
        (separable && sliding.cut(target)).then(|| sliding.rewrite())
    }

    /// How tiles are numbered, for the kernel whose axes aren't cut: blocks are innermost.
    pub fn tiling(&self) -> Tiling {
        Tiling { axes: self.leading.clone(), stretch: 1, inner: self.blocks.clone() }
    }
}

struct Sliding<'k> {
    kernel: &'k Kernel,
    stage: &'k Stage,
    slides: Vec<Slide>,
    /// Which expressions move with the windows.
    moves: Vec<bool>,
    /// Which have one value for each place that a window has somewhere.
    places: Vec<bool>,
    /// The first axis is cut into blocks of so many positions; None where it isn't.
    block: Option<i64>,
    /// Where the present block starts.
    start: Option<ExprId>,
    /// What loads that move are guarded by too.
    inside: Option<ExprId>,
    /// Elements of a copy between neighbours along the axes.
    pitches: Vec<Dim>,
    b: Builder,
}

/// What expressions are in the new kernel.
type Done = IndexMap<ExprId, ExprId>;

impl<'k> Sliding<'k> {
    fn new(kernel: &'k Kernel, stage: &'k Stage, slides: Vec<Slide>) -> Self {
        let mut pitches = vec![Dim::from(1)];
        for slide in slides[1..].iter().rev() {
            pitches.insert(0, (slide.extent.clone() + slide.reach().into()) * pitches[0].clone());
        }
        let b = Builder::resume(Kernel { exprs: vec![], stages: vec![], ..kernel.clone() });
        let mut sliding = Sliding {
            kernel,
            stage,
            slides,
            moves: vec![],
            places: vec![],
            block: None,
            start: None,
            inside: None,
            pitches,
            b,
        };
        (0..kernel.exprs.len()).for_each(|i| sliding.judge(ExprId(i as u32)));
        sliding
    }

    /// Operands come before what uses them.
    fn judge(&mut self, id: ExprId) {
        let moves = |o: &ExprId| self.moves[o.0 as usize];
        let operands = self.kernel.operands(id);
        let (moving, in_reach) = match self.kernel.expr(id) {
            Scalar::Axis(axis) => {
                (self.slides.iter().any(|s| s.axis == *axis || s.reduce == Some(*axis)), false)
            }
            // Between the places of windows there may be some that are nobody's: memory reaches there too.
            Scalar::Load { index, .. } => {
                let linear = |i: &ExprId| !moves(i) || self.multiples(*i).is_some();
                (operands.iter().any(moves), index.iter().all(linear))
            }
            _ => (operands.iter().any(moves), true),
        };
        let places = in_reach && operands.iter().all(|o| self.places[o.0 as usize]);
        self.places.push(!moving || places || self.multiples(id).is_some());
        self.moves.push(moving);
    }

    fn moves(&self, id: ExprId) -> bool {
        self.moves[id.0 as usize]
    }

    /// Of a position that moves with the windows only: its multiple along each axis.
    fn multiples(&self, id: ExprId) -> Option<Vec<i64>> {
        if !matches!(self.kernel.expr(id), Scalar::Axis(_) | Scalar::Binary(..)) {
            return None;
        }
        self.slides.iter().map(|slide| slide.multiple(self.kernel, id)).collect()
    }

    /// Whether an expression moves along the results' axes only by what there is one of for each place.
    fn is_separable(&self, id: ExprId) -> bool {
        let fixed = |axis: &AxisId| self.slides.iter().all(|s| s.axis != *axis);
        !self.moves(id)
            || self.places[id.0 as usize]
            || match self.kernel.expr(id) {
                Scalar::Axis(axis) => fixed(axis),
                _ => self.kernel.operands(id).iter().all(|o| self.is_separable(*o)),
            }
    }

    /// Cuts the first axis so that what a block copies and computes leaves room in the first-level cache. False where it
    /// can't.
    fn cut(&mut self, target: &Target) -> bool {
        let usual = |s: &Symbol| Some(s.hi.unwrap_or(USUAL).clamp(s.lo.max(1), USUAL.max(s.lo)));
        let pitch = self.pitches[0].eval(&usual).unwrap_or(USUAL).max(1);
        let skipped = self.slides.iter().map(|s| s.stride).fold(1i64, i64::saturating_mul);
        let size = self.stage.accs.iter().map(|acc| acc.dtype.size() as i64).max().unwrap_or(1);
        let bytes = pitch.saturating_mul(size).saturating_mul(skipped.saturating_add(1));
        let rows = (Machine::of(target).l1 as i64 * 3 / 4 / bytes).max(FEW_ROWS);
        let extent = self.slides[0].extent.as_const();
        if self.slides.len() == 1 {
            return extent.is_some_and(|n| n <= MOST);
        }
        if extent.is_none_or(|n| n > rows) {
            let ceil_div = |n: i64, by: i64| (n + by - 1) / by;
            self.block = Some(extent.map_or(rows, |n| ceil_div(n, ceil_div(n, rows))));
        }
        true
    }

    fn rewrite(mut self) -> Planes {
        let n_leading = self.stage.axes.len() - self.slides.len();
        let leading = [&self.kernel.outer[..], &self.stage.axes[..n_leading]].concat();
        let mut outer = leading.clone();
        let extent = self.slides[0].extent.clone();
        let blocks = self.block.map_or(Dim::from(1), |n| extent.ceil_div(&n.into()));
        if let Some(n) = self.block {
            let block = self.b.axis(blocks.clone());
            outer.push(block);
            let (block, n) = (self.b.at(block), self.b.int(n));
            self.start = Some(self.b.mul(block, n));
        }
        self.b.kernel_mut().outer = outer;
        let rows = self.block.map_or(extent, Dim::from);
        let results = self.slide(&rows);
        self.store(rows, &results);
        Planes { kernel: self.b.finish(), leading, blocks }
    }

    /// The stages up to what is computed of windows alone, and where that is.
    fn slide(&mut self, rows: &Dim) -> IndexMap<ExprId, BufferId> {
        let n = (rows.clone() * self.pitches[0].clone()).ceil_div(&VECTOR.into()) * VECTOR.into();
        let row = self.b.axis(n.clone());
        let at = self.b.at(row);
        let mut done = Done::new();
        let mut accs = self.stage.accs.clone();
        for acc in &mut accs {
            acc.value = self.copy(acc.value, &mut done, &mut |this, id| {
                let whole = this.moves(id) && this.places[id.0 as usize];
                whole.then(|| this.moved(id, rows, (&n, at)))
            });
        }
        let mut results = IndexMap::new();
        let mut stores = Vec::new();
        for value in self.wanted() {
            let dtype = self.kernel.dtype(self.stage, value);
            let buffer = self.b.temp(TensorType::new(dtype, [n.clone()]));
            let value_there = self.copy(value, &mut done, &mut |_, _| None);
            stores.push(Store { buffer, index: vec![at], value: value_there, update: None, guard: None });
            results.insert(value, buffer);
        }
        let reduce = self.stage.reduce.clone();
        self.b.stage(Stage { axes: vec![row], reduce, accs, scan: false, stores });
        results
    }

    /// The values that are stored wherever they belong, and the accumulators that others are made of there.
    fn wanted(&self) -> Vec<ExprId> {
        let stores = &self.stage.stores;
        let (fixed, moving): (Vec<ExprId>, Vec<ExprId>) =
            stores.iter().map(|s| s.value).partition(|value| !self.moves(*value));
        let elsewhere = stores.iter().flat_map(|s| s.index.iter().chain(&s.guard)).copied();
        let used = self.kernel.reachable(moving.into_iter().chain(elsewhere));
        let all = (0..used.len()).map(|i| ExprId(i as u32));
        let accs = all.filter(|id| used[id.0 as usize] && matches!(self.kernel.expr(*id), Scalar::Acc(_)));
        let wanted: IndexSet<ExprId> = fixed.into_iter().chain(accs).collect();
        wanted.into_iter().collect()
    }

    /// The stage that stores the results where they belong.
    fn store(&mut self, rows: Dim, results: &IndexMap<ExprId, BufferId>) {
        let mut axes: Vec<AxisId> = self.slides.iter().map(|s| s.axis).collect();
        if self.block.is_some() {
            axes[0] = self.b.axis(rows);
        }
        let at = self.b.all(&axes);
        let in_row = self.in_row(&at);
        let first = self.slides[0].axis;
        let position = self.from_start(at[0]);
        let inside = self.passes_end().then(|| {
            let end = self.slides[0].extent.clone();
            let end = self.b.dim(&end);
            self.b.compare(Cmp::Lt, position, end)
        });
        let mut done = Done::new();
        let mut copy = |this: &mut Self, id: ExprId| {
            this.copy(id, &mut done, &mut |this, id| match results.get(&id) {
                Some(buffer) => Some(this.b.load(*buffer, vec![in_row])),
                None if *this.kernel.expr(id) == Scalar::Axis(first) => Some(position),
                None => None,
            })
        };
        let stage = self.stage;
        let mut stores = Vec::new();
        for store in &stage.stores {
            let value = copy(self, store.value);
            let index = store.index.iter().map(|i| copy(self, *i)).collect();
            let guard = store.guard.map(|guard| copy(self, guard));
            let guard = self.b.all_of(inside.into_iter().chain(guard));
            stores.push(Store { index, value, guard, ..store.clone() });
        }
        self.b.stage(Stage { axes, stores, ..Stage::default() });
    }

    /// A position on the first axis, of one in the block.
    fn from_start(&mut self, at: ExprId) -> ExprId {
        match self.start {
            Some(start) => self.b.add(start, at),
            None => at,
        }
    }

    /// Whether the last block may have positions that aren't any.
    fn passes_end(&self) -> bool {
        self.block.is_some_and(|n| self.slides[0].extent.as_const().is_none_or(|extent| extent % n != 0))
    }

    /// Where positions on the axes are in the row of all.
    fn in_row(&mut self, at: &[ExprId]) -> ExprId {
        let mut place = self.b.int(0);
        for (at, pitch) in at.iter().zip(self.pitches.clone()) {
            let pitch = self.b.dim(&pitch);
            let there = self.b.mul(*at, pitch);
            place = self.b.add(place, there);
        }
        place
    }

    /// An element of a copy of `id`, which this makes the stage for: at the window's place, for a position `at` in the row
    /// of all `n`.
    fn moved(&mut self, id: ExprId, rows: &Dim, (n, at): (&Dim, ExprId)) -> ExprId {
        let mut steps = Vec::new();
        let mut index = Vec::new();
        let mut shape = Vec::new();
        let mut reach = Dim::from(0);
        for f in 0..self.slides.len() {
            let Slide { reduce, stride, dilation, .. } = self.slides[f];
            reach = reach + self.pitches[f].clone() * self.slides[f].reach().into();
            let within = match reduce {
                Some(axis) => self.b.at(axis),
                None => self.b.int(0),
            };
            let [by, dilation] = [stride, dilation].map(|n| self.b.int(n));
            let moved = self.b.mul(within, dilation);
            steps.push(self.b.binary(BinaryKind::Div, moved, by));
            if stride > 1 {
                index.push(self.b.binary(BinaryKind::Mod, moved, by));
                shape.push(Dim::from(stride));
            }
        }
        let step = self.in_row(&steps);
        index.push(self.b.add(at, step));
        shape.push(n.clone() + reach);
        let buffer = self.b.temp(TensorType::new(self.kernel.dtype(self.stage, id), shape));
        self.copy_places(id, rows, buffer);
        self.b.load(buffer, index)
    }

    /// The stage that copies `id` for all places of windows.
    fn copy_places(&mut self, id: ExprId, rows: &Dim, buffer: BufferId) {
        let (mut axes, mut at, mut skipped, mut places) = (vec![], vec![], vec![], vec![]);
        let last = self.slides.len() - 1;
        for f in 0..self.slides.len() {
            let (stride, reach) = (self.slides[f].stride, self.slides[f].reach());
            let extent = if f == 0 { rows.clone() } else { self.slides[f].extent.clone() };
            let step = self.b.axis(extent + reach.into());
            axes.push(step);
            at.push(self.b.at(step));
            let from = if f == 0 { self.from_start(at[0]) } else { at[f] };
            let by = self.b.int(stride);
            let mut place = self.b.mul(from, by);
            if stride > 1 {
                let between = self.b.axis(stride);
                // Vectors run along the steps.
                axes.insert(if f == last { axes.len() - 1 } else { axes.len() }, between);
                skipped.push(self.b.at(between));
                place = self.b.add(place, skipped[skipped.len() - 1]);
            }
            places.push(place);
        }
        self.inside = self.inside(&places);
        let (mut done, mut fixed) = (Done::new(), Done::new());
        let value = self.copy(id, &mut done, &mut |this, id| {
            let multiples = this.multiples(id).filter(|_| this.moves(id))?;
            let mut sum = this.copy(id, &mut fixed, &mut |this, id| {
                let moves = this.moves(id) && matches!(this.kernel.expr(id), Scalar::Axis(_));
                moves.then(|| this.b.int(0))
            });
            for (m, place) in multiples.into_iter().zip(&places) {
                let m = this.b.int(m);
                let moved = this.b.mul(*place, m);
                sum = this.b.add(moved, sum);
            }
            Some(sum)
        });
        self.inside = None;
        let mut index = skipped;
        index.push(self.in_row(&at));
        self.b.map_stage(axes, buffer, index, value);
    }

    /// Whether places are of windows at all, where copies have more than these.
    fn inside(&mut self, places: &[ExprId]) -> Option<ExprId> {
        let mut guards = Vec::new();
        for (f, place) in places.iter().enumerate() {
            let slide = &self.slides[f];
            let skipped = slide.stride - 1 - (slide.size - 1) * slide.dilation % slide.stride;
            if skipped > 0 || f == 0 && self.passes_end() {
                let span = slide.span();
                let span = self.b.dim(&span);
                guards.push(self.b.compare(Cmp::Lt, *place, span));
            }
        }
        self.b.all_of(guards)
    }

    /// An expression in the new kernel, where `instead` may give another one for a part of it.
    fn copy(
        &mut self,
        id: ExprId,
        done: &mut Done,
        instead: &mut dyn FnMut(&mut Self, ExprId) -> Option<ExprId>,
    ) -> ExprId {
        if let Some(known) = done.get(&id) {
            return *known;
        }
        let copied = match instead(self, id) {
            Some(other) => other,
            None => {
                for operand in self.kernel.operands(id) {
                    self.copy(operand, done, instead);
                }
                let copied = over(&mut self.b, self.kernel.expr(id), |o| done[o]);
                match (self.inside, self.b.kernel().expr(copied).clone()) {
                    (Some(inside), Scalar::Load { buffer, index, guard }) if self.moves(id) => {
                        let guard = self.b.all_of(guard.into_iter().chain([inside]));
                        self.b.load_if(buffer, index, guard)
                    }
                    _ => copied,
                }
            }
        };
        done.insert(id, copied);
        copied
    }
}
