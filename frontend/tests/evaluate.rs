//! Test cases in the layout of the ONNX backend suite, from the file to the values: import, then the reference
//! evaluator. Nothing may be wrong; what isn't supported must be refused.
//!
//! `models/evaluate/` beside this file holds a few. With `TCC_CASES=DIR[:DIR]` every case below those folders
//! runs too, those whose path contains `TCC_MATCH` if that is set; the refusals are listed with
//! `TCC_SHOW=refused`.

use std::path::{Path, PathBuf};

use tcc_frontend::onnx::types::ValueType;
use tcc_frontend::onnx::{data, import, model, to_ir};
use tcc_ir::{Tensor, Value, eval};

enum Outcome {
    Pass,
    Wrong(String),
    Refused(String),
}

fn cases_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if folder.join("model.onnx").is_file() {
            found.push(folder);
            continue;
        }
        folders.extend(
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).filter(|p| p.is_dir()),
        );
    }
    found.sort();
    assert!(!found.is_empty(), "no cases below {}", folder.display());
    found
}

/// What `case.json` says, with the suite's defaults where there is none.
struct Expectation {
    error: bool,
    alternative: bool,
    rtol: f64,
    atol: f64,
}

impl Expectation {
    fn read(case: &Path) -> Self {
        let json = std::fs::read_to_string(case.join("case.json")).unwrap_or_default();
        let number = |key: &str, default: f64| {
            let rest = json.split_once(&format!("\"{key}\": ")).map(|(_, rest)| rest);
            rest.and_then(|rest| rest.split([',', '}']).next()?.trim().parse().ok()).unwrap_or(default)
        };
        Expectation {
            error: json.contains(r#""expect": "error""#),
            alternative: json.contains(r#""alt""#),
            rtol: number("rtol", 1e-3),
            atol: number("atol", 1e-7),
        }
    }
}

fn run(case: &Path) -> Outcome {
    let expectation = Expectation::read(case);
    match evaluate(case, &expectation) {
        Outcome::Refused(_) if expectation.error => Outcome::Pass,
        Outcome::Pass if expectation.error && !expectation.alternative => {
            Outcome::Wrong("should have been refused".into())
        }
        Outcome::Refused(why) if expectation.alternative => {
            println!("refused, which is allowed: {}: {why}", case.display());
            Outcome::Pass
        }
        other => other,
    }
}

fn evaluate(case: &Path, expectation: &Expectation) -> Outcome {
    let model = match model::load(&case.join("model.onnx")) {
        Ok(model) => model,
        Err(problems) => return Outcome::Refused(problems.to_string()),
    };
    let graph = match import::import(&model) {
        Ok(graph) => graph,
        Err(problems) => return Outcome::Refused(problems.to_string()),
    };
    if let Err(violations) = graph.verify() {
        return Outcome::Wrong(format!("the graph breaks an invariant: {}", violations[0]));
    }
    let main = model.main();
    // Of random values the type alone can be compared.
    let is_random = graph.nodes().any(|(_, node)| node.op.is_random());
    for set in 0.. {
        let folder = case.join(format!("test_data_set_{set}"));
        // A model without inputs may come without data: it runs all the same.
        if !folder.is_dir() && (set > 0 || !main.inputs.is_empty()) {
            break;
        }
        let read = |kind: &str, index: usize, ty: Option<&ValueType>| {
            let path = folder.join(format!("{kind}_{index}.pb"));
            let data = data::read(&path, ty.expect("a type")).map_err(|problem| problem.to_string())?;
            to_ir::value(&data).map_err(|problem| problem.to_string())
        };
        let inputs: Result<Vec<Value>, String> = main
            .inputs
            .iter()
            .enumerate()
            .map(|(index, input)| read("input", index, input.ty.as_ref()))
            .collect();
        let got = match inputs
            .and_then(|inputs| eval::evaluate(&graph, &inputs).map_err(|error| error.to_string()))
        {
            Ok(got) => got,
            Err(error) => return Outcome::Refused(error),
        };
        if expectation.error {
            continue;
        }
        for (index, (output, got)) in main.outputs.iter().zip(&got).enumerate() {
            let expected = match read("output", index, output.ty.as_ref()) {
                Ok(expected) => expected,
                Err(error) => return Outcome::Refused(error),
            };
            let difference = match (got, &expected) {
                (Value::Tensor(got), Value::Tensor(expected)) if is_random => same_type(got, expected),
                _ => compare(got, &expected, expectation),
            };
            if let Err(difference) = difference {
                return Outcome::Wrong(format!("output {}: {difference}", output.name));
            }
        }
    }
    Outcome::Pass
}

fn compare(got: &Value, expected: &Value, expectation: &Expectation) -> Result<(), String> {
    match (got, expected) {
        (Value::Tensor(got), Value::Tensor(expected)) => compare_tensors(got, expected, expectation),
        (Value::Sequence(got), Value::Sequence(expected)) if got.len() == expected.len() => {
            got.iter().zip(expected).try_for_each(|(got, expected)| compare(got, expected, expectation))
        }
        (Value::Optional(None), Value::Optional(None)) => Ok(()),
        (Value::Optional(Some(got)), Value::Optional(Some(expected))) => compare(got, expected, expectation),
        _ => Err(format!("got {got:?}, expected {expected:?}")),
    }
}

fn same_type(got: &Tensor, expected: &Tensor) -> Result<(), String> {
    match got.dtype() == expected.dtype() && got.shape() == expected.shape() {
        true => Ok(()),
        false => Err(format!("got {got:?}, expected {expected:?}")),
    }
}

fn compare_tensors(got: &Tensor, expected: &Tensor, expectation: &Expectation) -> Result<(), String> {
    same_type(got, expected)?;
    let is_close = |(a, b): (&f64, &f64)| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= expectation.atol + expectation.rtol * b.abs()
    };
    let same_elements = match got.dtype().is_float() {
        true => got.floats().iter().zip(&expected.floats()).all(is_close),
        false => got.bytes() == expected.bytes() && got.strings() == expected.strings(),
    };
    if same_elements { Ok(()) } else { Err(format!("got {got:?}, expected {expected:?}")) }
}

#[test]
fn own_cases_pass() {
    for case in cases_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/evaluate")) {
        match run(&case) {
            Outcome::Pass => {}
            Outcome::Wrong(what) | Outcome::Refused(what) => panic!("{}: {what}", case.display()),
        }
    }
}

#[test]
fn cases_of_the_given_folders_are_never_wrong() {
    let Some(folders) = std::env::var_os("TCC_CASES") else { return };
    let wanted = std::env::var("TCC_MATCH").unwrap_or_default();
    let show_refused = std::env::var("TCC_SHOW").is_ok_and(|what| what == "refused");
    let (mut n_passed, mut n_refused, mut wrong) = (0, 0, Vec::new());
    let cases = std::env::split_paths(&folders).flat_map(|folder| cases_below(&folder));
    for case in cases.filter(|case| case.to_string_lossy().contains(&wanted)) {
        match std::panic::catch_unwind(|| run(&case)) {
            Ok(Outcome::Pass) => n_passed += 1,
            Ok(Outcome::Refused(why)) => {
                n_refused += 1;
                if show_refused {
                    println!("{}: {why}", case.display());
                }
            }
            Ok(Outcome::Wrong(what)) => wrong.push(format!("{}: {what}", case.display())),
            Err(_) => wrong.push(format!("{}: panicked", case.display())),
        }
    }
    println!("{n_passed} passed, {n_refused} refused, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
