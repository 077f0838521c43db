//! Values of a package in the making: where they live and how long.

use super::exprs::Exprs;
use tcc_ir::{DType, Dim};
use tcc_passes::plan::{self, Lifetime};
use tcc_runtime::package::{DType as RtDType, ExprId, Form, Region, Storage, Value, ValueId};

/// Where a value lives, as far as its definition decides.
#[derive(Clone, PartialEq, Debug)]
pub enum Home {
    Input(u32),
    Weight(u64),
    Strings(u32),
    /// Memory of another value, from this byte on.
    Alias {
        of: ValueId,
        offset: Dim,
    },
    /// To be placed: arena, growable buffer, object, or an output's buffer.
    Free {
        output: Option<u32>,
    },
}

#[derive(Clone, Debug)]
pub struct Draft {
    pub name: String,
    pub form: Form,
    pub dtype: DType,
    pub dims: Vec<Dim>,
    pub home: Home,
    first: u32,
    last: u32,
}

/// The values and the position of the step that is being written.
#[derive(Default)]
pub struct Values {
    drafts: Vec<Draft>,
    position: u32,
}

impl Values {
    pub fn add(&mut self, name: &str, form: Form, dtype: DType, dims: Vec<Dim>, home: Home) -> ValueId {
        let at = self.position;
        self.drafts.push(Draft { name: name.to_string(), form, dtype, dims, home, first: at, last: at });
        ValueId(self.drafts.len() as u32 - 1)
    }

    pub fn get(&self, id: ValueId) -> &Draft {
        &self.drafts[id.index()]
    }

    pub fn get_mut(&mut self, id: ValueId) -> &mut Draft {
        &mut self.drafts[id.index()]
    }

    /// The value whose memory an alias is part of.
    pub fn root(&self, mut id: ValueId) -> ValueId {
        while let Home::Alias { of, .. } = &self.get(id).home {
            id = *of;
        }
        id
    }

    /// Moves to the next step.
    pub fn step(&mut self) {
        self.position += 1;
    }

    pub fn position(&self) -> u32 {
        self.position
    }

    /// The present step uses the value.
    pub fn touch(&mut self, id: ValueId) {
        let (root, at) = (self.root(id), self.position);
        let draft = &mut self.drafts[root.index()];
        draft.last = draft.last.max(at);
        draft.first = draft.first.min(at);
    }

    /// A loop ran from position `start` to now: what it used from before must stay alive to its end.
    pub fn close_loop(&mut self, start: u32) {
        let end = self.position;
        for d in &mut self.drafts {
            if d.first <= start && d.last >= start {
                d.last = d.last.max(end);
            }
        }
    }

    /// Places all values. Gives the table, the numbers of growable buffers and of objects, and the arena's size.
    pub fn finish(self, exprs: &mut Exprs) -> Placed {
        let mut placed = Placed::default();
        let mut storages: Vec<Option<Storage>> = vec![None; self.drafts.len()];
        let mut arena: Vec<usize> = Vec::new();
        let mut late: Vec<usize> = Vec::new();
        for (i, d) in self.drafts.iter().enumerate() {
            let object = d.form != Form::Tensor || d.dtype == DType::String;
            storages[i] = match &d.home {
                Home::Input(n) => Some(Storage::Input(*n)),
                Home::Weight(offset) => Some(Storage::Weight { offset: *offset }),
                Home::Strings(n) => Some(Storage::Strings(*n)),
                Home::Alias { of, offset } => {
                    Some(Storage::Alias { of: *of, byte_offset: exprs.dim(offset) })
                }
                Home::Free { output: Some(n) } => Some(Storage::Output(*n)),
                Home::Free { output: None } if object => {
                    placed.object_slots += 1;
                    Some(Storage::Object { slot: placed.object_slots - 1 })
                }
                Home::Free { output: None } => {
                    let depends = d.dims.iter().any(|n| exprs.is_late(n));
                    if depends {
                        late.push(i)
                    } else {
                        arena.push(i)
                    }
                    None
                }
            };
        }
        self.place_late(&late, &mut storages, &mut placed);
        self.place_arena(&arena, &mut storages, &mut placed);
        placed.values = self
            .drafts
            .iter()
            .zip(storages)
            .map(|(d, storage)| Value {
                name: d.name.clone(),
                form: d.form,
                dtype: runtime_dtype(d.dtype),
                dims: d.dims.iter().map(|n| exprs.dim(n)).collect::<Vec<ExprId>>(),
                storage: storage.expect("every value is placed"),
            })
            .collect();
        placed
    }

    /// Growable buffers are shared by values that are never alive together.
    fn place_late(&self, late: &[usize], storages: &mut [Option<Storage>], placed: &mut Placed) {
        let mut busy_until: Vec<u32> = Vec::new();
        for i in late {
            let d = &self.drafts[*i];
            let slot = busy_until.iter().position(|last| *last < d.first).unwrap_or_else(|| {
                busy_until.push(0);
                busy_until.len() - 1
            });
            busy_until[slot] = d.last;
            storages[*i] = Some(Storage::Late { slot: slot as u32 });
        }
        placed.late_slots = busy_until.len() as u32;
    }

    /// The arena is planned here when every size has an upper bound, else by the runtime when shapes are bound.
    fn place_arena(&self, arena: &[usize], storages: &mut [Option<Storage>], placed: &mut Placed) {
        let sizes: Option<Vec<u64>> = arena.iter().map(|i| upper_bytes(&self.drafts[*i])).collect();
        let planned = sizes.and_then(|sizes| {
            let lifetimes: Vec<Lifetime> = arena
                .iter()
                .zip(&sizes)
                .map(|(i, size)| {
                    let d = &self.drafts[*i];
                    Lifetime { first: d.first, last: d.last, size: *size, align: ARENA_ALIGN }
                })
                .collect();
            let plan = plan::plan(&lifetimes, plan::DEFAULT_STEPS).ok()?;
            if let Err(faults) = plan::check(&lifetimes, &plan) {
                let faults: Vec<String> = faults.iter().map(|fault| fault.to_string()).collect();
                panic!("a wrong memory plan: {}", faults.join("; "));
            }
            placed.arena_bytes = plan.peak;
            Some(
                plan.offsets
                    .into_iter()
                    .zip(sizes)
                    .map(|(offset, bytes)| Region { offset, bytes })
                    .collect::<Vec<_>>(),
            )
        });
        for (n, i) in arena.iter().enumerate() {
            let d = &self.drafts[*i];
            let fixed = planned.as_ref().map(|p| p[n]);
            storages[*i] = Some(Storage::Arena { fixed, first: d.first, last: d.last });
        }
    }
}

const ARENA_ALIGN: u64 = 64;

/// The most bytes that the value can take.
fn upper_bytes(d: &Draft) -> Option<u64> {
    let n = d.dims.iter().try_fold(d.dtype.size() as i64, |n, dim| n.checked_mul(dim.upper()?))?;
    u64::try_from(n).ok()
}

#[derive(Default)]
pub struct Placed {
    pub values: Vec<Value>,
    pub late_slots: u32,
    pub object_slots: u32,
    pub arena_bytes: u64,
}

/// The runtime's name of an element type.
pub fn runtime_dtype(d: DType) -> RtDType {
    RtDType::from_name(d.name()).expect("both tables have the same names")
}

impl Draft {
    /// The value is alive from an earlier position on.
    pub fn starts_at(&mut self, position: u32) {
        self.first = self.first.min(position);
    }
}
