//! Operators that the runtime's own library does: sizes or contents that only data decides, strings, sequences,
//! optionals.

use super::values::Home;
use super::walk::{Scope, Walk};
use tcc_ir::graph::Node;
use tcc_ir::ops::{RandomKind, TfIdfMode};
use tcc_ir::{DType, Dim, Op, Tensor, Type};
use tcc_runtime::builtin as rt;
use tcc_runtime::package::{KernelStep, Step, ValueId};

impl Walk<'_, '_> {
    /// A call of the runtime's library. An operator that it doesn't have is noted as a problem.
    pub fn builtin(&mut self, scope: &mut Scope, node: &Node) {
        let mut inputs: Vec<Option<ValueId>> = node.inputs.iter().map(|v| Some(scope.map[v])).collect();
        if let Op::TopK(op) = &node.op {
            inputs.push(Some(self.size_value(scope, &op.k)));
        }
        let outputs: Vec<ValueId> = node
            .outputs
            .iter()
            .map(|v| {
                let id = self.free_value(scope, *v);
                scope.map.insert(*v, id);
                id
            })
            .collect();
        let sets = self.sets_of(scope, &node.outputs);
        let call = Call {
            source: node.loc.to_string(),
            inputs: inputs.clone(),
            outputs: outputs.iter().copied().map(Some).collect(),
            sets,
        };
        let strings = node
            .inputs
            .iter()
            .any(|v| scope.graph.ty(*v).as_tensor().is_some_and(|t| t.dtype == DType::String));
        match routine(&node.op, strings, call) {
            Some(step) => self.push(scope.block, step, inputs.into_iter().flatten().chain(outputs)),
            None => {
                let types: Vec<String> = node.inputs.iter().map(|v| scope.graph.ty(*v).to_string()).collect();
                self.problem(
                    node,
                    format!(
                        "operator {} on ({}) has no code for this target",
                        node.op.name(),
                        types.join(", ")
                    ),
                );
            }
        }
    }

    /// A size as an i64 scalar in memory.
    fn size_value(&mut self, scope: &Scope, d: &Dim) -> ValueId {
        let ty = Type::tensor(DType::I64, Vec::<Dim>::new());
        if let Some(c) = d.as_const() {
            let home = Home::Weight(self.weights.place(&Tensor::scalar_int(DType::I64, c.into())));
            return self.new_value("", &ty, home);
        }
        let id = self.new_value("", &ty, Home::Free { output: None });
        let mut b = tcc_ir::kernel::Builder::new("size");
        let out = b.output(ty.as_tensor().expect("a tensor type"));
        let v = b.dim(d);
        b.map_stage(vec![], out, vec![], v);
        let Some((kernel, lowered)) = self.kernels.add(&b.finish(), "size", &|_| false) else { return id };
        let step = Step::Kernel(KernelStep {
            kernel: tcc_runtime::package::KernelId(kernel as u32),
            inputs: vec![],
            outputs: vec![id],
            dims: lowered.dims.iter().map(|d| self.exprs.dim(d)).collect(),
            tiles: self.exprs.dim(&lowered.tiles),
            scratch: self.exprs.dim(&lowered.scratch),
            work: None,
            spans: vec![],
        });
        self.push(scope.block, step, [id]);
        id
    }
}

/// What a step of the library needs besides the routine.
struct Call {
    source: String,
    inputs: Vec<Option<ValueId>>,
    outputs: Vec<Option<ValueId>>,
    sets: Vec<tcc_runtime::package::SymbolId>,
}

impl Call {
    fn of<T: rt::Builtin>(self, routine: &T) -> Option<Step> {
        Some(rt::step(routine, self.source, self.inputs, self.outputs, self.sets))
    }
}

/// The step for an operator; `strings` when it works on string tensors.
fn routine(op: &Op, strings: bool, call: Call) -> Option<Step> {
    let axis = |a: usize| a as i64;
    match op {
        Op::TopK(op) => call.of(&rt::TopK { axis: axis(op.axis), largest: op.largest }),
        Op::NonZero(_) => call.of(&rt::NonZero {}),
        Op::Unique(op) => call.of(&rt::Unique { axis: op.axis.map(axis), sorted: op.sorted }),
        Op::Nms(op) => call.of(&rt::NonMaxSuppression { center_point_box: op.center_point_box }),
        Op::Random(op) => {
            let seed = Some(op.seed as u64);
            match op.kind {
                RandomKind::Normal => call.of(&rt::RandomNormal { mean: op.a.0, scale: op.b.0, seed }),
                RandomKind::Uniform => call.of(&rt::RandomUniform { low: op.a.0, high: op.b.0, seed }),
                RandomKind::Bernoulli => call.of(&rt::Bernoulli { seed }),
                RandomKind::Multinomial => {
                    let samples =
                        op.dims.get(1).and_then(Dim::as_const).and_then(|n| u64::try_from(n).ok())?;
                    call.of(&rt::Multinomial { samples, seed })
                }
            }
        }
        Op::SequenceConstruct(_) => call.of(&rt::SequenceConstruct {}),
        Op::SequenceEmpty(_) => call.of(&rt::SequenceEmpty {}),
        Op::SequenceInsert(_) => call.of(&rt::SequenceInsert {}),
        Op::SequenceErase(_) => call.of(&rt::SequenceErase {}),
        Op::SequenceAt(_) => call.of(&rt::SequenceAt {}),
        Op::SequenceLength(_) => call.of(&rt::SequenceLength {}),
        Op::ConcatFromSequence(op) => {
            call.of(&rt::ConcatFromSequence { axis: axis(op.axis), new_axis: op.new_axis })
        }
        Op::SplitToSequence(op) => {
            call.of(&rt::SplitToSequence { axis: axis(op.axis), keepdims: op.keepdims })
        }
        Op::OptionalNone(_) | Op::OptionalSome(_) => call.of(&rt::OptionalWrap {}),
        Op::OptionalGet(_) => call.of(&rt::OptionalGetElement {}),
        Op::OptionalHas(_) => call.of(&rt::OptionalHasElement {}),
        Op::StringConcat(_) => call.of(&rt::StringConcat {}),
        Op::RegexFullMatch(op) => {
            let routine = rt::RegexFullMatch { pattern: op.pattern.clone() };
            routine.check().is_ok().then(|| call.of(&routine)).flatten()
        }
        Op::StringSplit(op) => call.of(&rt::StringSplit {
            delimiter: op.delimiter.clone(),
            maxsplit: op.max_splits.map(|n| n as u64),
        }),
        Op::StringNormalizer(op) => call.of(&rt::StringNormalizer {
            case_change: match op.case {
                tcc_ir::ops::CaseChange::None => rt::CaseChange::None,
                tcc_ir::ops::CaseChange::Lower => rt::CaseChange::Lower,
                tcc_ir::ops::CaseChange::Upper => rt::CaseChange::Upper,
            },
            case_sensitive: op.case_sensitive,
            stopwords: op.stopwords.clone(),
        }),
        Op::TfIdf(op) => call.of(&rt::TfIdfVectorizer {
            mode: match op.mode {
                TfIdfMode::Tf => rt::TfIdfMode::Tf,
                TfIdfMode::Idf => rt::TfIdfMode::Idf,
                TfIdfMode::TfIdf => rt::TfIdfMode::TfIdf,
            },
            min_gram_length: op.min_gram_length as u64,
            max_gram_length: op.max_gram_length as u64,
            max_skip_count: op.max_skip_count as u64,
            ngram_counts: op.ngram_counts.iter().map(|n| *n as u64).collect(),
            ngram_indexes: op.ngram_indexes.iter().map(|n| *n as u64).collect(),
            pool: if op.pool_strings.is_empty() {
                rt::TfIdfPool::Integers(op.pool_ints.clone())
            } else {
                rt::TfIdfPool::Strings(op.pool_strings.clone())
            },
            weights: op.weights.iter().map(|w| w.0 as f32).collect(),
        }),
        Op::LabelEncoder(op) => call.of(&rt::LabelEncoder {
            keys: labels(&op.keys)?,
            values: labels(&op.values)?,
            default: labels(&op.default)?,
        }),
        Op::Cast(op) if strings && op.to != DType::String => call.of(&rt::StringToNumber {}),
        Op::Cast(op) if !strings && op.to == DType::String => call.of(&rt::NumberToString {}),
        Op::Compare(op) if strings && op.cmp == tcc_ir::Cmp::Eq => call.of(&rt::StringEqual {}),
        Op::Gather(op) if strings => call.of(&rt::StringGather { axis: axis(op.axis) }),
        _ => None,
    }
}

fn labels(t: &Tensor) -> Option<rt::Labels> {
    match t.dtype() {
        DType::String => Some(rt::Labels::Strings(t.strings().to_vec())),
        d if d.is_float() => Some(rt::Labels::Floats(t.floats())),
        _ => t
            .ints()
            .into_iter()
            .map(|v| i64::try_from(v).ok())
            .collect::<Option<_>>()
            .map(rt::Labels::Integers),
    }
}
