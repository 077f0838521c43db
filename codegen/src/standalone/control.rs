//! If and Loop as blocks of code.

use tcc_runtime::package::{BlockId, LoopStep, ScanOut, ValueId};

use super::entry::Entry;
use super::number::{Number, compare};
use super::status;
use super::text::Offset;
use tcc_runtime::package::Cmp;

impl Entry<'_> {
    pub fn if_step(&mut self, cond: ValueId, then_block: BlockId, else_block: BlockId) {
        let truth = self.truth(cond);
        let [on_true, on_false, next] = [(); 3].map(|()| self.w.label());
        self.w.line(format_args!("llvm.cond_br {truth}, {on_true}, {on_false}"));
        for (label, block) in [(on_true, then_block), (on_false, else_block)] {
            self.w.begin(&label, "");
            self.block(block);
            self.w.line(format_args!("llvm.br {next}"));
        }
        self.w.begin(&next, "");
    }

    pub fn loop_step(&mut self, step: &LoopStep) {
        let trip = step.trip.map(|value| self.read_integer(value, 0));
        let go = match step.cond_in {
            Some(value) => self.truth(value),
            None => self.w.value(format_args!("arith.constant true")),
        };
        for carried in &step.carried {
            self.copy(carried.init, carried.param);
        }
        let [head, body, exit] = [(); 3].map(|()| self.w.label());
        let zero = self.w.constant(0, "i64");
        self.w.line(format_args!("llvm.br {head}({zero}, {go} : i64, i1)"));

        // Block arguments are seen in the whole function, so each loop has names of its own.
        let (count, go) = (format!("%count.{}", &head[1..]), format!("%go.{}", &head[1..]));
        self.w.begin(&head, &format!("{count}: i64, {go}: i1"));
        let more = match trip {
            Some(trip) => {
                let left = self.w.value(format_args!("arith.cmpi slt, {count}, {trip} : i64"));
                self.w.value(format_args!("arith.andi {left}, {go} : i1"))
            }
            None => go,
        };
        self.w.line(format_args!("llvm.cond_br {more}, {body}, {exit}"));

        self.w.begin(&body, "");
        if let Some(iter) = step.iter {
            let place = self.place(iter);
            self.w.store(&count, &place, "i64", 8);
        }
        self.block(step.body);
        let go = match step.cond_out {
            Some(value) => self.truth(value),
            None => self.w.value(format_args!("arith.constant true")),
        };
        for scan in &step.scans {
            self.append(scan, &count);
        }
        // No `next` lives where another's `param` does, so one may follow the other.
        for carried in &step.carried {
            self.copy(carried.next, carried.param);
        }
        let one = self.w.constant(1, "i64");
        let next = self.w.value(format_args!("arith.addi {count}, {one} : i64"));
        self.w.line(format_args!("llvm.br {head}({next}, {go} : i64, i1)"));

        self.w.begin(&exit, "");
        for scan in &step.scans {
            let rows = self.rows(scan.stacked);
            let count = Number::Computed { value: count.clone(), defined: None };
            let complete = compare(&mut self.w, Cmp::Eq, &count, &rows);
            self.w.require(&complete, status::SIZE);
        }
    }

    /// Writes an iteration's element as row `count` of the stacked result, if that has such a row.
    fn append(&mut self, scan: &ScanOut, count: &str) {
        let row = Number::Computed { value: count.to_string(), defined: None };
        let rows = self.rows(scan.stacked);
        let inside = compare(&mut self.w, Cmp::Lt, &row, &rows);
        self.w.require(&inside, status::SIZE);
        let elements = self.elements(scan.elem);
        let dtype = self.manifest.values[scan.elem.index()].dtype;
        let bytes = elements.value(&mut self.w);
        let size = self.w.constant(dtype.size() as i64, "i64");
        let bytes = self.w.value(format_args!("arith.muli {bytes}, {size} : i64"));
        let offset = self.w.value(format_args!("arith.muli {bytes}, {count} : i64"));
        let start = self.place(scan.stacked);
        let to = self.w.offset(&start, &Offset::Computed(offset));
        let from = self.place(scan.elem);
        self.copy_elements(&from, &to, &elements, dtype);
    }

    /// How many rows a stacked result has.
    fn rows(&mut self, stacked: ValueId) -> Number {
        let dim = self.manifest.values[stacked.index()].dims.first().copied();
        dim.map_or(Number::Const(0), |dim| self.size(dim))
    }

    /// The name of an i1: whether a bool scalar is true.
    fn truth(&mut self, value: ValueId) -> String {
        let number = self.read_integer(value, 0);
        let zero = self.w.constant(0, "i64");
        self.w.value(format_args!("arith.cmpi ne, {number}, {zero} : i64"))
    }
}
