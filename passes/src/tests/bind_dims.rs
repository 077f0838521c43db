//! `--dim`.

use crate::{DimBinding, Options, default_pipeline, run};
use tcc_ir::diag::Code;
use tcc_ir::eval::evaluate;
use tcc_ir::ops::{Binary, BinaryKind};
use tcc_ir::{DType, Diagnostic, Dim, Graph, Loc, Symbol, Tensor, Type, Value};

/// y = x + b with x: [n, m] and b: [4].
fn graph() -> Graph {
    let mut g = Graph::new("g");
    let dim = |name: &str| Dim::symbol(Symbol::new(name));
    let x = g.add_input("x", Type::tensor(DType::F32, [dim("n"), dim("m")]));
    let b = g.add_input("b", Type::tensor(DType::F32, [4i64]));
    let y = g.add1(Binary { kind: BinaryKind::Add }, &[x, b], &Loc::default()).unwrap();
    g.set_outputs(vec![(y, "y".into())]);
    g
}

fn bound(options: &[&str]) -> Result<Graph, Diagnostic> {
    let dims = options.iter().map(|o| DimBinding::parse(o)).collect::<Result<_, _>>()?;
    let mut g = graph();
    run(&mut g, &default_pipeline(), &Options { dims, ..Options::default() }, &mut |_, _| {})?;
    Ok(g)
}

#[test]
fn a_value_fixes_the_size_everywhere() {
    let g = bound(&["n=2", "m=4"]).unwrap();
    assert_eq!(g.ty(g.inputs()[0]), &Type::tensor(DType::F32, [2i64, 4]));
    assert_eq!(g.ty(g.outputs()[0]), &Type::tensor(DType::F32, [2i64, 4]));
    assert!(g.symbols().is_empty());
    assert!(g.nodes().all(|(_, node)| node.checks.is_empty()), "m against 4 is decided");
}

#[test]
fn a_range_bounds_the_size_and_is_checked_when_it_runs() {
    let g = bound(&["n=1..3"]).unwrap();
    let shape = &g.ty(g.inputs()[0]).as_tensor().unwrap().shape;
    assert_eq!(shape[0].bounds(), (Some(1), Some(3)));
    let given = |n: usize| -> Vec<Value> {
        [vec![n, 4], vec![4]]
            .into_iter()
            .map(|shape| {
                let count = shape.iter().product();
                Tensor::from_floats(DType::F32, shape, vec![1.0; count]).into()
            })
            .collect()
    };
    assert!(evaluate(&g, &given(3)).is_ok());
    assert!(evaluate(&g, &given(4)).is_err());
}

#[test]
fn what_does_not_fit_is_an_error_with_advice() {
    for (options, part) in [
        (&["k=2"][..], "named n, m"),
        (&["n=2", "n=3"], "no input has a size named `n`"),
        (&["n=1..3", "n=4..5"], "the model says 1 to 3"),
        (&["m=3"], "sizes disagree"),
        (&["n"], "there is no `=`"),
        (&["n=3..1"], "the range is empty"),
        (&["n=-1"], "a size is a number"),
        (&["=1"], "there is no name"),
    ] {
        let error = bound(options).unwrap_err();
        assert_eq!(error.code, Code::DimOption, "{options:?}");
        assert!(error.to_string().contains(part), "{options:?}: {error}");
    }
    assert_eq!(DimBinding::parse("a=b=7").unwrap(), DimBinding { name: "a=b".into(), lo: 7, hi: 7 });
}
