//! What C code and generated code agree on: the fields of the structs, the sizes, the arena.

use tcc_runtime::package::{DType, Form, Io, Manifest, Step, Storage, SymbolId, SymbolSource};

use super::names::{fields, identifier};
use super::range::{Range, always};
use crate::program::expr_text;
use crate::target::Target;

/// The interface of a model that is an object of its own.
#[derive(Clone, Debug)]
pub struct Interface {
    /// What all names begin with, an identifier.
    pub name: String,
    pub model: String,
    pub target: String,
    /// The sizes that the caller chooses: fields of the struct of inputs, before the pointers.
    pub sizes: Vec<Size>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    /// Conditions that the model needs, beside what is added to their status code.
    pub checks: Vec<(usize, String)>,
    /// Where the scratch memory of kernels begins in the arena, if any takes some.
    pub scratch_offset: Option<u64>,
    pub arena_bytes: u64,
}

/// A size that the caller chooses.
#[derive(Clone, Debug)]
pub struct Size {
    pub symbol: SymbolId,
    pub name: String,
    pub field: String,
    pub range: Range,
}

/// An input or output.
#[derive(Clone, Debug)]
pub struct Port {
    pub name: String,
    pub field: String,
    pub dtype: DType,
    /// The dims as text, and what they can be.
    pub dims: Vec<(String, Range)>,
    /// Elements at the largest dims.
    pub elements: u64,
}

impl Interface {
    /// What the arena's address must be a multiple of.
    pub const ARENA_ALIGN: u64 = 64;

    /// The interface of a manifest that needs no runtime. None where a size doesn't fit in 64 bits.
    pub fn of(
        manifest: &Manifest,
        ranges: &[Option<Range>],
        name: &str,
        target: &Target,
    ) -> Option<Interface> {
        let symbols = manifest.symbols.iter().enumerate();
        let chosen: Vec<usize> = symbols
            .filter(|(_, symbol)| matches!(symbol.source, SymbolSource::InputDim { .. }))
            .map(|(at, _)| at)
            .collect();
        let size_names = chosen.iter().map(|&at| manifest.symbols[at].name.as_str());
        // Sizes and inputs are fields of one struct.
        let io_names = |list: &[Io]| list.iter().map(|io| io.name.clone()).collect::<Vec<_>>();
        let input_names = io_names(&manifest.inputs);
        let mut input_fields = fields(size_names.chain(input_names.iter().map(String::as_str)));
        let port_fields = input_fields.split_off(chosen.len());
        let output_names = io_names(&manifest.outputs);
        let output_fields = fields(output_names.iter().map(String::as_str));

        let sizes = chosen
            .into_iter()
            .zip(input_fields)
            .map(|(at, field)| {
                let symbol = SymbolId(at as u32);
                let range = manifest.exprs.iter().zip(ranges).find_map(|(expr, range)| {
                    matches!(expr, tcc_runtime::package::Expr::Symbol(s) if *s == symbol).then_some(*range)?
                });
                // A size that nothing uses has no expression: any will do.
                let range = range.unwrap_or(Range { lo: 0, hi: i64::MAX });
                Size { symbol, name: manifest.symbols[at].name.clone(), field, range }
            })
            .collect();
        let port = |(io, field): (&Io, String)| Port::of(manifest, ranges, io, field);
        let scratch_offset = manifest.arena_bytes.checked_next_multiple_of(Self::ARENA_ALIGN)?;
        let scratch = most_scratch(manifest, ranges)?;
        Some(Interface {
            name: identifier(name),
            model: manifest.model.clone(),
            target: match target.name == target.cpu {
                true => target.name.clone(),
                false => format!("{} ({})", target.name, target.cpu),
            },
            sizes,
            inputs: manifest.inputs.iter().zip(port_fields).map(port).collect::<Option<_>>()?,
            outputs: manifest.outputs.iter().zip(output_fields).map(port).collect::<Option<_>>()?,
            checks: open_checks(manifest, ranges),
            scratch_offset: (scratch > 0).then_some(scratch_offset),
            arena_bytes: if scratch == 0 {
                manifest.arena_bytes
            } else {
                scratch_offset.checked_add(scratch)?
            },
        })
    }
}

impl Port {
    fn of(manifest: &Manifest, ranges: &[Option<Range>], io: &Io, field: String) -> Option<Port> {
        let value = &manifest.values[io.value.index()];
        debug_assert!(value.form == Form::Tensor && value.dtype != DType::String);
        let dim = |id: &tcc_runtime::package::ExprId| Some((expr_text(manifest, *id), ranges[id.index()]?));
        let dims: Vec<(String, Range)> = value.dims.iter().map(dim).collect::<Option<_>>()?;
        let mut most = dims.iter().map(|(_, range)| u64::try_from(range.hi.max(0)).ok());
        let elements = most.try_fold(1u64, |product, size| product.checked_mul(size?))?;
        elements.checked_mul(value.dtype.size() as u64)?;
        Some(Port { name: io.name.clone(), field, dtype: value.dtype, dims, elements })
    }

    pub fn bytes(&self) -> u64 {
        self.elements * self.dtype.size() as u64
    }

    /// The type, for people.
    pub fn type_text(&self) -> String {
        let dims: Vec<&str> = self.dims.iter().map(|(text, _)| text.as_str()).collect();
        format!("{}[{}]", self.dtype, dims.join(", "))
    }
}

/// The checks that the sizes' ranges leave open.
fn open_checks(manifest: &Manifest, ranges: &[Option<Range>]) -> Vec<(usize, String)> {
    let checks = manifest.checks.iter().enumerate();
    let open = checks.filter(|(_, check)| {
        let (a, b) = (ranges[check.a.index()], ranges[check.b.index()]);
        !matches!((a, b), (Some(a), Some(b)) if always(check.cmp, a, b) == Some(true))
    });
    open.map(|(at, check)| (at, check.message.clone())).collect()
}

/// The most scratch memory that a kernel takes.
fn most_scratch(manifest: &Manifest, ranges: &[Option<Range>]) -> Option<u64> {
    let mut most = 0;
    for step in manifest.blocks.iter().flat_map(|block| &block.steps) {
        if let Step::Kernel(step) = step {
            most = most.max(u64::try_from(ranges[step.scratch.index()]?.hi.max(0)).ok()?);
        }
    }
    Some(most)
}

/// Whether a value lives in memory that is planned, given or constant.
pub fn is_placed(storage: Storage) -> bool {
    match storage {
        Storage::Input(_) | Storage::Output(_) | Storage::Weight { .. } | Storage::Alias { .. } => true,
        Storage::Arena { fixed, .. } => fixed.is_some(),
        Storage::Late { .. } | Storage::Object { .. } | Storage::Strings(_) => false,
    }
}
