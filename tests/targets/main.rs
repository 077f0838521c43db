//! Models as objects of their own, really run on every kind of CPU: under QEMU, in Node, or here. What they compute is
//! compared with the reference evaluator. A machine whose tools are missing is reported as ignored, with what is missing.

mod machines;
mod models;
mod npy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use libtest_mimic::{Arguments, Failed, Trial};

use machines::Machine;
use models::Model;

const TCC: &str = env!("CARGO_BIN_EXE_tcc");

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for machine in machines::ALL {
        for model in models::ALL {
            let name = format!("{}/{}", machine.name, model.name);
            let trial = Trial::test(name, move || check(machine, model));
            trials.push(match machine.obstacle(model) {
                None => trial,
                Some(why) => trial.with_kind(why).with_ignored_flag(true),
            });
        }
    }
    trials.push(Trial::test("host/example", example));
    trials.push(Trial::test("host/statuses", statuses));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs a model on a machine, and compares.
fn check(machine: &Machine, model: &Model) -> Result<(), Failed> {
    let folder = folder(&format!("{}-{}", machine.name, model.name))?;
    let file = root().join("tests/targets/models").join(format!("{}.tcc", model.name));
    let expected = reference(&file, model, &folder)?;
    compile(&file, machine, model, &folder)?;
    let sizes: Vec<usize> = expected.iter().map(Vec::len).collect();
    let (expected, found) = (expected.concat(), machine.run(model, &sizes, &folder)?);
    if found.len() != expected.len() {
        return Err(format!("{} bytes of results, {} expected", found.len(), expected.len()).into());
    }
    if !model.same(&expected, &found) {
        let message =
            format!("results differ\nexpected {}\n   found {}", model.show(&expected), model.show(&found));
        return Err(message.into());
    }
    Ok(())
}

/// The bytes of each result by the reference evaluator.
fn reference(file: &Path, model: &Model, folder: &Path) -> Result<Vec<Vec<u8>>, Failed> {
    let mut tcc = Command::new(TCC);
    tcc.arg("run").arg(file).args(["--reference", "--output-dir"]).arg(folder);
    for input in model.inputs {
        let path = folder.join(format!("{}.npy", input.name));
        std::fs::write(&path, npy::encode(input))?;
        tcc.arg("--input").arg(format!("{}={}", input.name, path.display()));
    }
    run(&mut tcc)?;
    model.outputs.iter().map(|output| npy::read(&folder.join(format!("{output}.npy")))).collect()
}

fn compile(file: &Path, machine: &Machine, model: &Model, folder: &Path) -> Result<(), Failed> {
    let mut tcc = Command::new(TCC);
    tcc.arg("compile").arg(file).args(["--target", machine.target, "--emit", machine.emit]);
    tcc.arg("--out-dir").arg(folder).args(model.options);
    run(&mut tcc).map(drop)
}

/// The C example of docs/embedding.md, built with the system's compiler and nothing else.
fn example() -> Result<(), Failed> {
    let folder = folder("example")?;
    let examples = root().join("runtime/examples/c");
    let (model, program) = (examples.join("mlp.tcc"), examples.join("standalone.c"));
    run(Command::new(TCC)
        .arg("compile")
        .arg(&model)
        .args(["--emit", "obj,header", "--out-dir"])
        .arg(&folder))?;
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(&folder).arg(&program);
    run(cc.arg(folder.join("mlp.o")).arg("-o").arg(folder.join("example")))?;
    let printed = run(&mut Command::new(folder.join("example")))?;
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    let found: Vec<f32> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;

    // The example's input is 0, 0.125, 0.25...
    let x: Vec<f32> = (0..8).map(|i| i as f32 / 8.0).collect();
    let path = folder.join("x.npy");
    std::fs::write(&path, npy::encode_f32(&[1, 8], &x))?;
    let input = format!("x={}", path.display());
    run(Command::new(TCC)
        .arg("run")
        .arg(&model)
        .args(["--reference", "--input", &input, "--output-dir"])
        .arg(&folder))?;
    let expected = npy::read(&folder.join("y.npy"))?;
    let expected: Vec<f32> =
        expected.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let close = expected.iter().zip(&found).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + a.abs()));
    if expected.len() != found.len() || !close {
        return Err(format!("expected {expected:?}, the program printed {text}").into());
    }
    Ok(())
}

/// What a call refuses: null pointers, an arena at a wrong address, sizes out of bounds.
fn statuses() -> Result<(), Failed> {
    let folder = folder("statuses")?;
    let tests = root().join("tests/targets");
    let mut tcc = Command::new(TCC);
    tcc.arg("compile").arg(tests.join("models/bounded.tcc")).args([
        "--dim",
        "N=1..8",
        "--emit",
        "obj,header",
    ]);
    run(tcc.arg("--out-dir").arg(&folder))?;
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Werror", "-I"])
        .arg(&folder)
        .arg(tests.join("statuses.c"))
        .arg(folder.join("bounded.o"));
    run(cc.arg("-o").arg(folder.join("statuses")))?;
    run(&mut Command::new(folder.join("statuses"))).map(drop)
}

/// Runs a program to its end; its output, or all that it said when it failed.
fn run(command: &mut Command) -> Result<Output, Failed> {
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(output);
    }
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    Err(format!("{command:?}: {}\n{said}", output.status).into())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A new folder for a test.
fn folder(name: &str) -> Result<PathBuf, Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("targets").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
