//! Builds small packages by hand, with kernels written in Rust.
#![allow(dead_code, reason = "each test binary uses its part of the builder")]

use std::sync::Arc;

use tcc_runtime::builtin::Builtin;
use tcc_runtime::package::*;
use tcc_runtime::{Context, Data, KernelFn, Object, Package, Pool, Tensor, builtin};

#[derive(Default)]
pub struct Builder {
    pub manifest: Manifest,
    functions: Vec<KernelFn>,
    pub weights: Vec<u8>,
}

impl Builder {
    pub fn new() -> Builder {
        let mut builder = Builder::default();
        builder.manifest.blocks.push(Block::default());
        builder.manifest.sections.push(Code {
            target: "native".into(),
            arch: std::env::consts::ARCH.into(),
            format: CodeFormat::Native,
            cpu_features: vec![],
            offset: 0,
            len: 0,
            entries: vec![],
            launches: vec![],
        });
        builder
    }

    pub fn expr(&mut self, expr: Expr) -> ExprId {
        self.manifest.exprs.push(expr);
        ExprId(self.manifest.exprs.len() as u32 - 1)
    }

    pub fn number(&mut self, number: i64) -> ExprId {
        self.expr(Expr::Const(number))
    }

    pub fn numbers(&mut self, numbers: &[i64]) -> Vec<ExprId> {
        numbers.iter().map(|&number| self.number(number)).collect()
    }

    fn symbol(&mut self, name: &str, source: SymbolSource) -> SymbolId {
        self.manifest.symbols.push(Symbol { name: name.into(), source });
        SymbolId(self.manifest.symbols.len() as u32 - 1)
    }

    pub fn late(&mut self, name: &str) -> (SymbolId, ExprId) {
        let symbol = self.symbol(name, SymbolSource::Late);
        (symbol, self.expr(Expr::Symbol(symbol)))
    }

    pub fn value(&mut self, name: &str, dtype: DType, dims: &[ExprId], storage: Storage) -> ValueId {
        self.typed(name, Form::Tensor, dtype, dims, storage)
    }

    pub fn typed(
        &mut self,
        name: &str,
        form: Form,
        dtype: DType,
        dims: &[ExprId],
        storage: Storage,
    ) -> ValueId {
        self.manifest.values.push(Value { name: name.into(), form, dtype, dims: dims.into(), storage });
        ValueId(self.manifest.values.len() as u32 - 1)
    }

    /// An input, all of whose dims are symbols of their own.
    pub fn input(&mut self, name: &str, form: Form, dtype: DType, rank: u32) -> (ValueId, Vec<ExprId>) {
        let input = self.manifest.inputs.len() as u32;
        let dims: Vec<ExprId> = (0..rank)
            .map(|axis| {
                let symbol = self.symbol(&format!("{name}.{axis}"), SymbolSource::InputDim { input, axis });
                self.expr(Expr::Symbol(symbol))
            })
            .collect();
        let value = self.typed(name, form, dtype, &dims, Storage::Input(input));
        self.manifest.inputs.push(Io { name: name.into(), value });
        (value, dims)
    }

    pub fn output(&mut self, name: &str, form: Form, dtype: DType, dims: &[ExprId]) -> ValueId {
        let storage = Storage::Output(self.manifest.outputs.len() as u32);
        let value = self.typed(name, form, dtype, dims, storage);
        self.manifest.outputs.push(Io { name: name.into(), value });
        value
    }

    pub fn arena(&mut self, name: &str, dtype: DType, dims: &[ExprId], first: u32, last: u32) -> ValueId {
        self.value(name, dtype, dims, Storage::Arena { fixed: None, first, last })
    }

    pub fn late_value(&mut self, name: &str, dtype: DType, dims: &[ExprId]) -> ValueId {
        let slot = self.manifest.late_slots;
        self.manifest.late_slots += 1;
        self.value(name, dtype, dims, Storage::Late { slot })
    }

    pub fn object(&mut self, name: &str, form: Form, dtype: DType, dims: &[ExprId]) -> ValueId {
        let slot = self.manifest.object_slots;
        self.manifest.object_slots += 1;
        self.typed(name, form, dtype, dims, Storage::Object { slot })
    }

    pub fn weight(&mut self, name: &str, dtype: DType, dims: &[i64], bytes: &[u8]) -> ValueId {
        self.weights.resize(self.weights.len().next_multiple_of(64), 0);
        let offset = self.weights.len() as u64;
        self.weights.extend(bytes);
        let dims = self.numbers(dims);
        self.value(name, dtype, &dims, Storage::Weight { offset })
    }

    pub fn block(&mut self) -> BlockId {
        self.manifest.blocks.push(Block::default());
        BlockId(self.manifest.blocks.len() as u32 - 1)
    }

    pub fn push(&mut self, block: u32, step: Step) {
        self.manifest.blocks[block as usize].steps.push(step);
    }

    pub fn kernel(&mut self, name: &str, function: KernelFn) -> KernelId {
        self.manifest.kernels.push(Kernel {
            name: name.into(),
            source: format!("node {name}"),
            serial: false,
        });
        self.manifest.sections[0].entries.push(self.functions.len() as u64);
        self.functions.push(function);
        KernelId(self.functions.len() as u32 - 1)
    }

    /// A kernel step with a tile an element of the first dim and no scratch.
    pub fn call(
        &mut self,
        block: u32,
        kernel: KernelId,
        inputs: &[ValueId],
        outputs: &[ValueId],
        dims: &[ExprId],
    ) {
        let scratch = self.number(0);
        let step = KernelStep {
            kernel,
            inputs: inputs.into(),
            outputs: outputs.into(),
            dims: dims.into(),
            tiles: dims[0],
            scratch,
            work: None,
            spans: vec![],
        };
        self.push(block, Step::Kernel(step));
    }

    pub fn builtin<T: Builtin>(
        &mut self,
        block: u32,
        routine: &T,
        inputs: &[ValueId],
        outputs: &[ValueId],
        sets: &[SymbolId],
    ) {
        let some = |ids: &[ValueId]| ids.iter().copied().map(Some).collect();
        self.push(block, builtin::step(routine, "node".into(), some(inputs), some(outputs), sets.into()));
    }

    pub fn package(&self) -> tcc_runtime::Result<Package> {
        Package::in_memory(self.manifest.clone(), &self.functions, &self.weights)
    }

    pub fn context(&self, threads: usize) -> Context {
        let package = self.package().unwrap_or_else(|error| panic!("{error}"));
        Context::new(Arc::new(package), Arc::new(Pool::oversubscribed(threads)))
    }
}

pub fn bytes_f32(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

pub fn bytes_i64(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

pub fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect()
}

pub fn i64s(bytes: &[u8]) -> Vec<i64> {
    bytes.chunks_exact(8).map(|b| i64::from_ne_bytes(b.try_into().unwrap())).collect()
}

/// Runs one routine on these arguments; each result is given by its form, type and rank.
pub fn run_builtin<T: Builtin>(
    routine: &T,
    inputs: &[Object],
    outputs: &[(Form, DType, usize)],
) -> tcc_runtime::Result<Vec<Object>> {
    let mut b = Builder::new();
    let mut arguments = Vec::new();
    for (at, object) in inputs.iter().enumerate() {
        let (form, dtype, rank) = match object {
            Object::Tensor(tensor) => (Form::Tensor, tensor.dtype, tensor.shape.len()),
            Object::Sequence(tensors) => (Form::Sequence, tensors.first().map_or(DType::F32, |t| t.dtype), 0),
            Object::Optional(_) => (Form::Optional, DType::F32, 0),
        };
        arguments.push(b.input(&format!("in{at}"), form, dtype, rank as u32).0);
    }
    let mut results = Vec::new();
    let mut sets = Vec::new();
    for (at, &(form, dtype, rank)) in outputs.iter().enumerate() {
        let mut dims = Vec::new();
        for axis in 0..rank {
            let (symbol, dim) = b.late(&format!("out{at}.{axis}"));
            sets.push(symbol);
            dims.push(dim);
        }
        results.push(b.output(&format!("out{at}"), form, dtype, &dims));
    }
    b.builtin(0, routine, &arguments, &results, &sets);
    let mut context = b.context(1);
    for (at, object) in inputs.iter().enumerate() {
        match object {
            Object::Tensor(Tensor { dtype, shape, data: Data::Bytes(bytes) }) => {
                context.set_input(at, *dtype, shape, bytes)?;
            }
            object => context.set_input_object(at, object.clone())?,
        }
    }
    context.run()?;
    (0..outputs.len())
        .map(|at| match outputs[at] {
            (Form::Tensor, dtype, _) if dtype != DType::String => {
                let view = context.output(at)?;
                Ok(Object::Tensor(Tensor::plain(view.dtype, view.shape.to_vec(), view.bytes.to_vec())))
            }
            _ => context.output_object(at).cloned(),
        })
        .collect()
}
