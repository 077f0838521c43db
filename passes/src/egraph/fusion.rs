//! Fusion rules: the kernels that can compute each class.
//!
//! One rule makes a kernel of an operator. The others compose a kernel with one that makes an operand of it, in the
//! ways of `crate::kernels`: its expression goes to where it is read, or the reader's into its store, or both become
//! stages over one row. Composition of everything with everything explodes over diamonds, so each class keeps a beam
//! of its best kernels, by an estimate of what a solution with them costs; what the beam drops is counted.

use super::FusionLevel;
use super::analysis::EGraph;
use super::bits::Bits;
use super::cost::{self, Cost};
use super::language::{Head, Id, Term};
use super::machine::Machine;
use super::order::Order;
use super::products::{self, Block, has_product};
use super::seeds::Seeds;
use super::shares::Shares;
use super::siblings::Split;
use crate::kernels::compose::{Bound, append_consumer, inline_producer, is_map};
use crate::kernels::rows::join_rows;
use indexmap::IndexSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use tcc_ir::graph::{Check, KnownSymbols};
use tcc_ir::kernel::{BufferKind, Kernel, Scalar};
use tcc_ir::ops::KernelOp;
use tcc_ir::{DType, Dim, Op};

/// Expressions beyond which a kernel takes in no more: compile time grows faster than memory traffic shrinks.
const MAX_EXPRS: usize = 400;
/// Expressions of a kernel that one takes in which a rule made with more than that.
const FEW_EXPRS: usize = 40;
/// Kernels that composition goes on from, and kernels that a class keeps.
const BEAM: usize = 2;
const KEPT: usize = 2;
/// Rounds of composition that find nothing better before it ends.
const PATIENCE: usize = 2;
/// Kernels made for a class at most.
const MAX_TRIES: usize = 48;

/// A way to compute a class.
#[derive(Clone)]
pub struct Way {
    pub term: Term,
    /// Classes that must be computed before.
    pub reads: Vec<usize>,
    pub cost: Cost,
    pub kernel: Option<Rc<Bound<Id>>>,
    /// Classes whose work is done inside.
    pub absorbed: Bits,
    /// Nothing runs for it: a value that is there, or part of one.
    pub view: bool,
}

/// The ways to compute each class, in the order of classes, best first.
pub struct Ways {
    pub of: Vec<Vec<Way>>,
    /// Kernels that were made and not kept.
    pub dropped: usize,
}

/// What fusion may look at.
pub struct Fusion<'a> {
    pub egraph: &'a EGraph,
    pub order: &'a Order,
    pub machine: &'a Machine,
    /// Terms that the graph came with.
    pub originals: IndexSet<Term>,
    pub roots: Vec<Id>,
    /// Classes that are parts of others.
    pub splits: &'a [Split],
    pub level: FusionLevel,
    /// Sizes that scratch memory may have.
    pub known_at_bind: &'a KnownSymbols,
}

impl Way {
    /// Whether composition may begin with it. Of a view, a part may be worth to be computed instead of the whole.
    fn may_compose(&self) -> bool {
        self.kernel.is_some() && (!self.view || matches!(self.term.op(), Some(Op::Slice(_))))
    }

    /// Whether something runs for it.
    pub fn is_kernel(&self) -> bool {
        !self.view
    }
}

impl Fusion<'_> {
    pub fn ways(&self) -> Ways {
        let n = self.order.len();
        let Seeds { of: seeds, readers } = Seeds::new(self);
        let mut state = State {
            fusion: self,
            ways: Ways { of: Vec::with_capacity(n), dropped: 0 },
            closure: Vec::with_capacity(n),
            seconds: Vec::new(),
            shares: Shares::new(self.splits, n),
            readers,
            needed: self.root_places().collect(),
        };
        state.seconds.resize(state.shares.len(), 0.0);
        for (i, seeds) in seeds.into_iter().enumerate() {
            let composed =
                if self.level >= FusionLevel::Vertical { state.compose(i, &seeds) } else { Vec::new() };
            let found = state.keep(i, seeds, composed);
            let best = found.first();
            state.pay(i, best);
            let mut closure = best.map(|way| state.below(way, i)).unwrap_or_default();
            closure.insert(i);
            state.closure.push(closure);
            state.ways.of.push(found);
        }
        state.ways
    }

    /// The composition that there is, the cheaper one of two.
    pub fn compose(&self, consumer: &Bound<Id>, maker: &Bound<Id>, value: Id) -> Option<Bound<Id>> {
        let inlined = (is_map(&maker.kernel) && may_inline(consumer, maker, value))
            .then(|| inline_producer(consumer, maker, value))
            .flatten();
        let made = has_product(&maker.kernel);
        let appended = if inlined.is_none() { append_consumer(maker, consumer, value, made) } else { None };
        let products = has_product(&consumer.kernel) || made;
        // What a map computes isn't worth to tie a product to the map's rows.
        let may_join = !products || self.level >= FusionLevel::Horizontal && !is_map(&maker.kernel);
        let joined = if may_join && (appended.is_none() || products) {
            join_rows(consumer, maker, value).filter(|bound| self.fits(&bound.kernel, products))
        } else {
            None
        };
        let seconds = |bound: &Bound<Id>| self.cost(&bound.kernel, &bound.inputs).seconds;
        match (inlined.or(appended), joined) {
            (Some(a), Some(b)) => Some(if seconds(&b) < seconds(&a) { b } else { a }),
            (a, b) => a.or(b),
        }
    }

    /// Whether there is a schedule for its products, if it has any, that pays; and see [`Fusion::holds`].
    fn fits(&self, kernel: &Kernel, products: bool) -> bool {
        // Operands of products are packed into scratch memory too.
        let sized = || kernel.axes.iter().all(|d| self.known_at_bind.suffice_for(d));
        let pays = || Block::of(kernel, self.machine).is_some_and(|block| block.pays(kernel));
        (!products || sized() && pays()) && self.holds(kernel)
    }

    /// Whether there is a schedule for the products of a kernel with temporaries, which a rule may have made for other
    /// machines. It fuses what would be several kernels.
    pub fn runs(&self, kernel: &Kernel) -> bool {
        let scheduled =
            || products::has_matrices(kernel, self.machine) || Block::of(kernel, self.machine).is_some();
        let staged = kernel.buffers_of(BufferKind::Temp).next().is_some() && has_product(kernel);
        !staged || self.level > FusionLevel::None && scheduled() && self.holds(kernel)
    }

    /// Whether the temporaries have sizes that are known when scratch memory is made, and stay in the cache.
    pub fn holds(&self, kernel: &Kernel) -> bool {
        let machine = self.machine;
        // What products work on long enough may come from a share of the last cache too.
        let shared = machine.caches[1].max(machine.caches[2] / u64::from(machine.cores.max(1)));
        let (bytes, limit) = match Block::of(kernel, machine) {
            _ if products::has_matrices(kernel, machine) => (products::temp_bytes(kernel), shared),
            Some(block) => (block.temp_bytes(kernel), shared),
            None => (products::temp_bytes(kernel), machine.caches[1]),
        };
        let known = |d: &Dim| self.known_at_bind.suffice_for(d);
        let temps = || kernel.buffers_of(BufferKind::Temp).map(|(_, b)| &b.ty);
        let bound = || temps().map(|t| t.n_bytes().upper()).sum::<Option<i64>>();
        let held = machine.scratch.is_none_or(|limit| bound().is_some_and(|n| n as u64 <= limit));
        held && temps().flat_map(|t| &t.shape).all(known) && bytes <= limit as f64 / 2.0
    }

    pub fn root_places(&self) -> impl Iterator<Item = usize> {
        self.roots.iter().filter_map(|id| self.order.index(self.egraph.find(*id)))
    }
}

/// Whether kernels have too many expressions to become one.
pub fn are_too_large(a: &Kernel, b: &Kernel) -> bool {
    let (few, many) = (a.exprs.len().min(b.exprs.len()), a.exprs.len().max(b.exprs.len()));
    few + many > MAX_EXPRS && (many <= MAX_EXPRS || few > FEW_EXPRS)
}

struct State<'a> {
    fusion: &'a Fusion<'a>,
    ways: Ways,
    /// Classes that the best way to compute each class needs, itself among them.
    closure: Vec<Bits>,
    /// Seconds of the best way, without what it reads; of classes, then of shares.
    seconds: Vec<f64>,
    shares: Shares,
    readers: Vec<Bits>,
    needed: Bits,
}

impl State<'_> {
    /// Notes what class `i` takes at best, and what of it its parts are charged.
    fn pay(&mut self, i: usize, best: Option<&Way>) {
        let seconds = best.map_or(0.0, |way| way.cost.seconds);
        self.seconds[i] = seconds;
        let shares = self.shares.of(i);
        self.seconds[shares.clone()].fill(seconds / shares.len().max(1) as f64);
        if let Some(way) = best {
            let closure = &self.closure;
            self.shares.set(i, &way.reads, |read| closure[read].clone());
        }
    }

    /// Classes that a solution with this way for class `i` needs besides: what it reads, and what it computes inside
    /// that others need too.
    fn below(&self, way: &Way, i: usize) -> Bits {
        let mut all = Bits::default();
        let inside = |class: usize| class == i || way.absorbed.contains(class);
        for r in &way.reads {
            match self.shares.needs(*r, inside) {
                Some(parts) => all.extend(&parts),
                None => all.extend(&self.closure[*r]),
            }
        }
        for a in way.absorbed.iter() {
            if self.escapes(a, &way.absorbed, i) {
                all.extend(&self.closure[a]);
            }
        }
        all
    }

    /// Whether nothing that it computes inside is needed elsewhere too.
    fn is_clean(&self, way: &Way, i: usize) -> bool {
        way.absorbed.iter().all(|a| !self.escapes(a, &way.absorbed, i))
    }

    /// Whether class `a`, which is computed inside of a kernel for class `i` as `absorbed` are, is needed elsewhere too.
    fn escapes(&self, a: usize, absorbed: &Bits, i: usize) -> bool {
        self.needed.contains(a) || !self.readers[a].iter().all(|r| r == i || absorbed.contains(r))
    }

    /// Whether class `a`, or what is computed from it inside, is needed elsewhere too: then it is computed there again.
    fn leaks(&self, a: usize, absorbed: &Bits, i: usize) -> bool {
        let (mut seen, mut above) = (Bits::default(), vec![a]);
        while let Some(class) = above.pop() {
            if self.escapes(class, absorbed, i) {
                return true;
            }
            seen.insert(class);
            let inside = |r: &usize| *r != i && absorbed.contains(*r) && !seen.contains(*r);
            above.extend(self.readers[class].iter().filter(inside));
        }
        false
    }

    /// The best of these, and the best one that computes nothing twice if it isn't among them.
    fn best(&self, i: usize, mut ways: Vec<(f64, Way)>, n: usize) -> Vec<(f64, Way)> {
        ways.sort_by(by_estimate);
        let rest = ways.split_off(n.min(ways.len()));
        if !ways.iter().any(|(_, way)| self.is_clean(way, i)) {
            ways.extend(rest.into_iter().find(|(_, way)| self.is_clean(way, i)));
        }
        ways
    }

    /// Whether a kernel of several results makes the class, which is there for others then.
    fn is_result(&self, class: usize) -> bool {
        self.ways.of[class].iter().any(|way| matches!(way.term.head(), Head::Result(..)))
    }

    /// Estimate of a solution with this way, without what has nothing to do with it.
    fn estimate(&self, way: &Way, i: usize) -> f64 {
        way.cost.seconds + self.below(way, i).iter().map(|c| self.seconds[c]).sum::<f64>()
    }

    /// Kernels made of `seeds` and of those that make their operands.
    fn compose(&mut self, i: usize, seeds: &[Way]) -> Vec<(f64, Way)> {
        let mut frontier: Vec<(f64, Way)> =
            seeds.iter().filter(|w| w.may_compose()).map(|w| (self.estimate(w, i), w.clone())).collect();
        frontier = self.best(i, frontier, BEAM);
        let mut best = frontier.first().map_or(f64::INFINITY, |(e, _)| *e);
        let (mut found, mut seen, mut idle) = (Vec::new(), IndexSet::new(), 0);
        while !frontier.is_empty() && idle < PATIENCE && seen.len() < MAX_TRIES {
            let mut next: Vec<(f64, Way)> = Vec::new();
            for (_, way) in &frontier {
                for made in way.reads.iter().flat_map(|read| self.joins(i, way, *read)) {
                    if seen.insert(signature(&made)) {
                        next.push((self.estimate(&made, i), made));
                    }
                }
            }
            found.extend(next.iter().cloned());
            next = self.best(i, next, BEAM);
            match next.first() {
                Some((e, _)) if *e < best => (best, idle) = (*e, 0),
                _ => idle += 1,
            }
            frontier = next;
        }
        found
    }

    /// `way` with each kernel that makes its operand `read` inside. A view's work is nothing, so taking it in is worth
    /// nothing either but for what can be taken in next.
    fn joins(&self, i: usize, way: &Way, read: usize) -> Vec<Way> {
        let mut found = Vec::new();
        for producer in &self.ways.of[read] {
            let Some(made) = self.join(i, way, producer, read) else { continue };
            if producer.view {
                for below in &producer.reads {
                    let makers = self.ways.of[*below].iter().filter(|maker| !maker.view);
                    found.extend(makers.filter_map(|maker| self.join(i, &made, maker, *below)));
                }
            }
            found.push(made);
        }
        found
    }

    /// `way` with the kernel `producer` of its operand `read` inside.
    fn join(&self, i: usize, way: &Way, producer: &Way, read: usize) -> Option<Way> {
        let (consumer, maker) = (way.kernel.as_ref()?, producer.kernel.as_ref()?);
        if are_too_large(&consumer.kernel, &maker.kernel) {
            return None;
        }
        let value = self.fusion.order.class(read);
        let mut absorbed = way.absorbed.clone();
        absorbed.extend(&producer.absorbed);
        absorbed.insert(read);
        // Matrix products aren't computed twice, whatever the estimate says: it knows their best case only.
        if has_product(&maker.kernel) && (self.leaks(read, &absorbed, i) || self.is_result(read)) {
            return None;
        }
        let mut bound = self.fusion.compose(consumer, maker, value)?;
        bound.kernel = Kernel { name: bound.kernel.name.clone(), ..bound.kernel.canonical() };
        let checks = union(way.term.checks(), producer.term.checks());
        let mut reads: Vec<usize> = Vec::new();
        for id in &bound.inputs {
            reads.push(self.fusion.order.index(*id)?);
        }
        let outs = self.fusion.egraph[self.fusion.order.class(i)].data.outs.clone();
        let op = Op::from(KernelOp { kernel: bound.kernel.clone() });
        let term = Term::new(Head::Op { op, outs, checks }, bound.inputs.iter().copied());
        let cost = self.fusion.cost(&bound.kernel, &bound.inputs);
        reads.sort_unstable();
        reads.dedup();
        Some(Way { term, reads, cost, kernel: Some(Rc::new(bound)), absorbed, view: false })
    }

    /// The best of all ways, and always one that composes nothing.
    fn keep(&mut self, i: usize, seeds: Vec<Way>, composed: Vec<(f64, Way)>) -> Vec<Way> {
        let mut seeds: Vec<(f64, Way)> = seeds.into_iter().map(|w| (self.estimate(&w, i), w)).collect();
        seeds.sort_by(by_estimate);
        let mut all = composed;
        all.extend(seeds.iter().skip(1).cloned());
        all.extend(seeds.first().cloned());
        let part = |way: &Way| self.fusion.splits.iter().any(|s| s.is_cut_by(i, &way.reads));
        // Reading through it may be cheaper than it is by itself.
        let cut = seeds.iter().find(|(_, way)| part(way)).cloned();
        let simplest = seeds.into_iter().next();
        let made = all.len();
        let mut all = self.best(i, all, KEPT);
        self.ways.dropped += made - all.len();
        for must in [simplest, cut].into_iter().flatten() {
            if !all.iter().any(|(_, w)| w.term == must.1.term) {
                all.push(must);
            }
        }
        all.into_iter().map(|(_, way)| way).collect()
    }
}

fn by_estimate(a: &(f64, Way), b: &(f64, Way)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0)
}

fn signature(way: &Way) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Some(bound) = &way.kernel {
        let kernel = &bound.kernel;
        (&kernel.axes, &kernel.outer, &kernel.exprs, &kernel.stages, &bound.inputs).hash(&mut hasher);
    }
    hasher.finish()
}

/// The checks of both, each once.
pub fn union(a: &[Check], b: &[Check]) -> Vec<Check> {
    let mut all = a.to_vec();
    all.extend(b.iter().filter(|c| !a.contains(c)).cloned());
    all
}

/// Operands of matrix products and convolutions are packed or streamed by the schedule: only movements of elements
/// may go into them, and only such that read each element about once; and integers of few bits are widened on the way.
fn may_inline(consumer: &Bound<Id>, maker: &Bound<Id>, value: Id) -> bool {
    let kernel = &consumer.kernel;
    let at = consumer.inputs.iter().position(|v| *v == value);
    let buffer = at.and_then(|at| kernel.buffers_of(BufferKind::Input).nth(at)).map(|(id, _)| id);
    let streamed =
        kernel.stages.iter().any(|stage| {
            products::contracted(kernel, stage).is_some_and(|(x, y)| {
                let used = kernel.reachable([x, y]);
                kernel.exprs.iter().zip(used).any(|(e, used)| {
                    used && matches!(e, Scalar::Load { buffer: b, .. } if Some(*b) == buffer)
                })
            })
        });
    !streamed || moves_only(&maker.kernel)
}

fn moves_only(kernel: &Kernel) -> bool {
    let store = &kernel.stages[0].stores[0];
    let value = kernel.expr(store.value);
    let moved = if let Scalar::Cast(DType::I32, narrow) = value { kernel.expr(*narrow) } else { value };
    let Scalar::Load { buffer, guard: None, .. } = moved else { return false };
    let plain = kernel
        .exprs
        .iter()
        .all(|e| !matches!(e, Scalar::Unary(..) | Scalar::Select(..) | Scalar::Check { .. }));
    let (from, to) = (&kernel.buffer(*buffer).ty, &kernel.buffer(store.buffer).ty);
    let widened = from.dtype == to.dtype || from.dtype.fits_i16();
    plain && widened && cost::size(&from.n_elements()) >= cost::size(&to.n_elements())
}
