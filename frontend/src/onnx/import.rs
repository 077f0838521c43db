//! From a checked model to graph IR: walks graphs in order and has every node imported by its entry in the
//! operator table (`ops/`).
//!
//! A node that fails poisons its outputs: nodes that need them are passed over, and everything else is still
//! looked at, so that one run says all that stands in the way.

use std::rc::Rc;

use indexmap::{IndexMap, IndexSet};
use tcc_ir::diag::{Code, Diagnostic, Diagnostics};
use tcc_ir::ops::Sizes;
use tcc_ir::{Graph, Loc, Symbol, Type, ValueId};

use super::model::{self, GraphId, Model, Node};
use super::node::{ImportError, NodeCx};
use super::ops::{self, Found};
use super::problems::Problems;
use super::symbols::SymbolNames;
use super::to_ir;

/// Stack for the import of a model: bodies are imported by recursion, as deep as the loader lets them nest.
const STACK_BYTES: usize = 256 << 20;

/// Builds the graph IR of `model`, or says all that stands in the way.
pub fn import(model: &Model) -> Result<Graph, Diagnostics> {
    find_unsupported(model)?;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let import = thread.spawn_scoped(scope, || Importer::new(model).run());
        let import =
            import.map_err(|error| Diagnostic::error(Code::ResourceLimit, format!("no thread: {error}")))?;
        import.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Every node without an entry in the operator table, wherever it is.
fn find_unsupported(model: &Model) -> Result<(), Diagnostics> {
    let mut problems = Problems::default();
    for node in model.graphs.iter().flat_map(|graph| &graph.nodes) {
        let label = &node.label;
        let (message, help) = match ops::find(&label.domain, &label.op_type, label.opset) {
            Found::Entry(_) => continue,
            Found::OnlySince(since) => (
                format!("operator {} isn't supported in opset {}", label.op_type, label.opset),
                format!("it is from opset {since} on: convert the model with onnx.version_converter"),
            ),
            Found::Nothing => (
                format!("operator {} of domain {} isn't supported", label.op_type, label.domain),
                "`tcc ops` lists what is; the exporter may be able to write it with other operators"
                    .to_owned(),
            ),
        };
        problems.push(Diagnostic::error(Code::UnsupportedOperator, message).at(label).help(help));
    }
    problems.or(())
}

/// What the import of all graphs shares.
pub(super) struct Importer<'m> {
    pub model: &'m Model,
    pub problems: Problems,
    /// The tensors of all constants, by value.
    constants: IndexMap<model::ValueId, tcc_ir::Tensor>,
    n_regions: usize,
}

/// A graph that is being built, and what the model's values are in it.
pub(super) struct Region {
    pub graph: Graph,
    values: IndexMap<model::ValueId, Binding>,
    /// Symbols of the graphs around it.
    outer_symbols: Rc<IndexSet<Symbol>>,
}

#[derive(Clone)]
enum Binding {
    Value(ValueId),
    /// Integers known at compile time in terms of symbols, made a node where one is needed.
    Sizes(Sizes),
    Poisoned,
}

impl<'m> Importer<'m> {
    fn new(model: &'m Model) -> Self {
        Importer { model, problems: Problems::default(), constants: IndexMap::new(), n_regions: 0 }
    }

    fn run(mut self) -> Result<Graph, Diagnostics> {
        for (value, tensor) in self.model.graphs.iter().flat_map(|graph| &graph.constants) {
            let name = &self.model.value(*value).name;
            let tensor =
                to_ir::tensor(tensor).map_err(|problem| problem.at(format_args!("constant `{name}`")));
            if let Some(tensor) = self.problems.check(tensor) {
                self.constants.insert(*value, tensor);
            }
        }
        let main = self.model.main();
        let mut region = Region::new(Graph::new(&main.name), Rc::default());
        let mut symbols = SymbolNames::default();
        for input in &main.inputs {
            let name = &self.model.value(input.value).name;
            let ty = to_ir::input_type(input.ty.as_ref(), name, &mut symbols);
            match self.problems.check(ty.map_err(|problem| problem.at(format_args!("input `{name}`")))) {
                Some(ty) => {
                    let id = region.graph.add_input(name, ty);
                    region.bind(input.value, Some(id));
                }
                None => region.bind(input.value, None),
            }
        }
        self.nodes(Model::MAIN, &mut region);
        self.outputs(&mut region);
        self.problems.or(region.graph)
    }

    fn outputs(&mut self, region: &mut Region) {
        let mut outputs = Vec::new();
        for output in &self.model.main().outputs {
            let Some(value) = self.lookup(output.value, region) else { continue };
            let declared = to_ir::stated_dtype(output.ty.as_ref());
            if let (Some(declared), Type::Tensor(ty)) = (declared, region.graph.ty(value))
                && declared != ty.dtype
            {
                self.problems.push(
                    Diagnostic::error(
                        Code::AnnotationMismatch,
                        "an output's element type isn't the one stated",
                    )
                    .at(format_args!("output `{}`", output.name))
                    .note(format!("stated {declared}, inferred {}", ty.dtype)),
                );
            }
            outputs.push((value, output.name.clone()));
        }
        region.graph.set_outputs(outputs);
    }

    /// Imports the nodes of a graph, whose inputs are bound.
    pub fn nodes(&mut self, id: GraphId, region: &mut Region) {
        for node in &self.model.graph(id).nodes {
            let outputs = self.node(node, region);
            for (index, &output) in node.outputs.iter().enumerate() {
                let Some(output) = output else { continue };
                let value = outputs.as_ref().map(|outputs| outputs[index]);
                if let Some(value) = value
                    && region.graph.value(value).name.is_none()
                {
                    region.graph.set_name(value, &self.model.value(output).name);
                }
                region.bind(output, value);
            }
        }
    }

    /// Imports one node: its outputs, as many as it names, or `None` with the reason recorded.
    fn node(&mut self, node: &'m Node, region: &mut Region) -> Option<Vec<ValueId>> {
        let label = &node.label;
        let Found::Entry(entry) = ops::find(&label.domain, &label.op_type, label.opset) else {
            unreachable!("find_unsupported has looked for every node")
        };
        let mut inputs = Vec::new();
        for &input in &node.inputs {
            inputs.push(match input {
                Some(input) => Some(self.lookup(input, region)?),
                None => None,
            });
        }
        let mut cx = NodeCx::new(self, region, node, inputs);
        let outputs = (entry.import)(&mut cx).and_then(|outputs| cx.finish(outputs));
        let operands = cx.describe_operands();
        match outputs {
            Ok(outputs) => Some(outputs),
            Err(ImportError::Reported) => None,
            Err(ImportError::Wrong(code, message)) => {
                let problem = Diagnostic::error(code, message).at(label);
                self.problems.push(operands.into_iter().fold(problem, Diagnostic::note));
                None
            }
        }
    }

    /// What `value` is in the region; `None` where its definition failed.
    pub fn lookup(&mut self, value: model::ValueId, region: &mut Region) -> Option<ValueId> {
        let added = match region.values.get(&value) {
            Some(Binding::Value(id)) => return Some(*id),
            Some(Binding::Poisoned) => return None,
            Some(Binding::Sizes(sizes)) => region.graph.add1(sizes.clone(), &[], &Loc::default()).ok()?,
            None => region.graph.constant(self.constants.get(&value)?.clone(), &Loc::default()),
        };
        region.graph.set_name(added, &self.model.value(value).name);
        region.bind(value, Some(added));
        Some(added)
    }

    /// Those of `values` that a region inside `region` must take as inputs: what is known at compile time is
    /// made again inside instead.
    pub fn needed_inputs(&mut self, values: &[model::ValueId], region: &Region) -> Vec<model::ValueId> {
        let is_input = |value: &model::ValueId| match region.values.get(value) {
            Some(Binding::Value(id)) => {
                let fact = region.graph.fact(*id);
                fact.elems.is_none() && fact.constant.is_none()
            }
            Some(Binding::Sizes(_) | Binding::Poisoned) | None => false,
        };
        values.iter().copied().filter(is_input).collect()
    }

    pub fn n_regions(&self) -> usize {
        self.n_regions
    }

    /// An empty region inside `outer` that knows what `outer` knows of `values` at compile time.
    pub fn inner_region(&mut self, name: &str, values: &[model::ValueId], outer: &Region) -> Region {
        self.n_regions += 1;
        let mut symbols = (*outer.outer_symbols).clone();
        symbols.extend(outer.graph.symbols().iter().map(|(symbol, _)| symbol.clone()));
        let graph = Graph::region(name, format!("r{}", self.n_regions));
        let mut region = Region::new(graph, Rc::new(symbols));
        for &value in values {
            let Some(binding) = outer.values.get(&value) else { continue };
            let known = match binding {
                Binding::Value(id) => match outer.graph.fact(*id) {
                    fact if let Some(constant) = fact.constant => {
                        Binding::Value(region.graph.constant(constant.clone(), &Loc::default()))
                    }
                    fact => match (fact.elems, fact.ty.as_tensor()) {
                        (Some(elems), Some(ty)) => Binding::Sizes(Sizes {
                            dtype: ty.dtype,
                            shape: ty.static_shape().unwrap_or_default(),
                            elems: elems.to_vec(),
                        }),
                        _ => continue,
                    },
                },
                other => other.clone(),
            };
            region.values.insert(value, known);
        }
        region
    }
}

impl Region {
    fn new(graph: Graph, outer_symbols: Rc<IndexSet<Symbol>>) -> Self {
        Region { graph, values: IndexMap::new(), outer_symbols }
    }

    /// Says what `value` is here; `None`: it has no definition because of an error.
    pub fn bind(&mut self, value: model::ValueId, id: Option<ValueId>) {
        self.values.insert(value, id.map_or(Binding::Poisoned, Binding::Value));
    }

    /// What `value` is here already.
    pub fn bound(&self, value: model::ValueId) -> Option<ValueId> {
        match self.values.get(&value) {
            Some(Binding::Value(id)) => Some(*id),
            _ => None,
        }
    }

    /// Adds an input whose symbols may be those of the graphs around.
    pub fn add_input(&mut self, name: &str, ty: Type) -> ValueId {
        let outer = Rc::clone(&self.outer_symbols);
        self.graph.add_region_input(name, ty, &|symbol| outer.contains(symbol))
    }
}
