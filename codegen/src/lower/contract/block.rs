//! The register block as a function of its own, where its rows are streams of memory. Within a kernel's body its vectors
//! would share the registers with everything around, and LLVM moves and spills them in the innermost loop then.

use super::multiply::Panel;
use super::{Contract, Pass, RowLayout, Tile};
use crate::lower::emitter::{Emitter, Memory};
use crate::lower::writer::{Ty, Val, join};
use crate::mlir::{Descriptor, Part};
use tcc_ir::kernel::{AxisId, BufferId, ExprId, Scalar};

/// Rows in memory, from a pass's first position on k.
struct Streams {
    load: ExprId,
    buffer: BufferId,
    /// Where each stream begins.
    starts: Vec<Val>,
    /// Rows that lie side by side in a stream.
    rows: i64,
}

impl Tile<'_> {
    /// Calls the register block for these rows and a panel, if the rows are streams.
    pub fn call_block(
        &self,
        e: &mut Emitter,
        pass: &Pass,
        rows: &[Vec<(AxisId, Val)>],
        panel: &Panel,
        sums: &Val,
    ) -> bool {
        let Some(streams) = self.streams(e, pass, rows) else { return false };
        let elem = e.element(streams.buffer).to_string();
        let part = self.block(e, &elem, streams.starts.len(), &|inner, name, k, row| {
            let step = inner.w.index(streams.rows);
            let first = inner.w.bin("arith.muli", k, &step);
            let row = inner.w.index(row);
            let at = inner.w.bin("arith.addi", &first, &row);
            inner.place(streams.buffer, Memory { name: name.to_owned(), ty: format!("memref<?x{elem}>") });
            inner.known.clear();
            let value = inner.load(streams.buffer, &at);
            inner.known.insert(streams.load, value);
            inner.eval(self.stage, self.c.rows)
        });
        let memory = e.memref(streams.buffer).0.name;
        self.call(e, &part, (&memory, &elem, &streams.starts), panel, sums, &pass.k_len);
        true
    }

    /// Calls a register block whose rows begin at these places of a memref. `k` is how many positions there are.
    pub fn call(
        &self,
        e: &mut Emitter,
        part: &str,
        (memory, elem, starts): (&str, &str, &[Val]),
        panel: &Panel,
        sums: &Val,
        k: &Val,
    ) {
        let mut args: Vec<String> = starts.iter().map(|start| pointer(e, memory, elem, start)).collect();
        args.push(pointer(e, &panel.memory, self.c.elem(), &panel.at));
        args.push(pointer(e, &self.sums, self.c.elem(), sums));
        let types = args.iter().map(|_| "!llvm.ptr").chain(["i64"]).collect::<Vec<_>>();
        args.push(e.w.index_cast(k, Ty::Int(64)).to_string());
        e.w.line(format_args!("llvm.call {part}({}) : ({}) -> ()", join(args), join(types)));
    }

    fn streams(&self, e: &mut Emitter, pass: &Pass, rows: &[Vec<(AxisId, Val)>]) -> Option<Streams> {
        let (load, first, side_by_side) = match self.c.row_layout {
            RowLayout::Flat(load) => (load, rows, 1),
            RowLayout::Blocked(load) => (load, &rows[..1], self.c.mr),
            RowLayout::Any => return None,
        };
        let Scalar::Load { buffer, .. } = e.kernel.expr(load) else { unreachable!("a load") };
        let buffer = *buffer;
        let start = |row: &Vec<(AxisId, Val)>| {
            row.iter().for_each(|(a, v)| e.set_axis(*a, v.clone()));
            self.start_of_k(e, pass, load)
        };
        let starts = first.iter().map(start).collect();
        Some(Streams { load, buffer, starts, rows: side_by_side })
    }

    /// What to call for the function that does a register block over `streams` streams of elements `elem`; written once.
    /// `value` gives a row's value from the memref of its stream, at a position on k, as that row of the stream.
    pub fn block(
        &self,
        e: &mut Emitter,
        elem: &str,
        streams: usize,
        value: &dyn Fn(&mut Emitter, &str, &Val, i64) -> Val,
    ) -> String {
        let c = self.c;
        debug_assert!(c.mr % streams as i64 == 0, "streams share the rows out evenly");
        let side_by_side = c.mr / streams as i64;
        let names: Vec<String> = (0..streams).map(|i| format!("rows{i}")).collect();
        let mut memory: Vec<_> = names.iter().map(|name| (name.clone(), elem.to_owned(), false)).collect();
        memory.push(("panel".to_owned(), c.elem().to_owned(), false));
        memory.push(("sums".to_owned(), c.elem().to_owned(), true));

        let mut inner = Emitter::new(e.kernel, e.target);
        let low = inner.w.index(0);
        let panel = Panel { memory: "%panel".to_owned(), at: low.clone() };
        let places = c.places_of_sums(&mut inner, &low);
        let inits = c.first_sums(&mut inner, "%sums", &places);
        let k_len = Val::named("%k", Ty::Index);
        let finals = inner.vector_loop((&low, &k_len), &inits, &c.vector(), |inner, k, accs| {
            let values: Vec<Val> = (0..c.mr)
                .map(|i| {
                    let name = format!("%{}", names[(i / side_by_side) as usize]);
                    value(inner, &name, k, i % side_by_side)
                })
                .collect();
            self.update(inner, &panel, k, &values, accs)
        });
        c.store_sums(&mut inner, "%sums", &places, &finals);
        assert!(!inner.can_fail, "a register block reads its operands only");
        let (body, dims) = inner.finish();
        assert!(dims.is_empty(), "a register block knows its sizes");
        e.part(Part { name: "block".to_owned(), memory, sizes: vec!["k".to_owned()], body })
    }
}

impl Contract {
    /// Where the vectors of the register block are kept, row by row, from `first` on.
    pub fn places_of_sums(&self, e: &mut Emitter, first: &Val) -> Vec<Val> {
        let vectors = (0..self.mr).flat_map(|i| (0..self.vectors).map(move |v| (i, v)));
        vectors
            .map(|(i, v)| {
                let offset = e.w.index(i * self.kept_columns() + v * self.lanes);
                e.w.bin("arith.addi", first, &offset)
            })
            .collect()
    }

    /// What the sums begin with: what is there already, where k is done in blocks.
    pub fn first_sums(&self, e: &mut Emitter, sums: &str, places: &[Val]) -> Vec<String> {
        let (vector, elem) = (self.vector(), self.elem());
        if self.k_block.is_none() {
            let zero = e.w.fresh();
            e.w.line(format_args!("{zero} = arith.constant dense<{}> : {vector}", self.zero()));
            return vec![zero; places.len()];
        }
        let load = |at: &Val| {
            let name = e.w.fresh();
            e.w.line(format_args!("{name} = vector.load {sums}[{at}] : memref<?x{elem}>, {vector}"));
            name
        };
        places.iter().map(load).collect()
    }

    pub fn store_sums(&self, e: &mut Emitter, sums: &str, places: &[Val], values: &[String]) {
        let (vector, elem) = (self.vector(), self.elem());
        for (at, value) in places.iter().zip(values) {
            e.w.line(format_args!("vector.store {value}, {sums}[{at}] : memref<?x{elem}>, {vector}"));
        }
    }
}

/// A pointer to an element of a memref.
fn pointer(e: &mut Emitter, memory: &str, elem: &str, at: &Val) -> String {
    let descriptor = Descriptor { index_bits: e.target.index_bits }.ty();
    let (whole, base, place) = (e.w.fresh(), e.w.fresh(), e.w.fresh());
    let at = e.w.index_cast(at, Ty::Int(64));
    e.w.line(format_args!(
        "{whole} = builtin.unrealized_conversion_cast {memory} : memref<?x{elem}> to {descriptor}"
    ));
    e.w.line(format_args!("{base} = llvm.extractvalue {whole}[1] : {descriptor}"));
    e.w.line(format_args!(
        "{place} = llvm.getelementptr {base}[{at}] : (!llvm.ptr, i64) -> !llvm.ptr, {elem}"
    ));
    place
}
