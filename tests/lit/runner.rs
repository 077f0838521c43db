//! Runs the lit tests below this folder: one `cargo test --test lit` test a file.
//!
//! The files are ordinary lit files checked by LLVM's FileCheck (see `lit.cfg.py`, which runs the same files under
//! LLVM's own `lit`); this runner makes cargo rebuild `tcc` first and report each file as a test.
//! Invariant: nothing is skipped in silence. No FileCheck, no files or a file without a RUN line is an error,
//! and an unmet REQUIRES is counted as ignored.
//!
//! `TCC_FILECHECK` names another FileCheck, `TCC_LIT_TIMEOUT` another limit for one test in seconds.

mod directives;
mod features;
mod script;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};

use directives::Directives;
use features::Features;
use script::{Outcome, Tools};

/// What makes a file a test; folders named `Inputs` hold files that tests read.
const SUFFIXES: [&str; 3] = ["tcc", "test", "mlir"];

fn main() {
    let args = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&args, trials).exit(),
        Err(message) => {
            eprintln!("error: {message}");
            std::process::exit(1);
        }
    }
}

fn trials() -> Result<Vec<Trial>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/lit")
        .canonicalize()
        .map_err(|e| e.to_string())?;
    let tools = Arc::new(Tools {
        tcc: PathBuf::from(env!("CARGO_BIN_EXE_tcc")),
        filecheck: filecheck()?,
        fails: root.join("fails"),
        scratch: Path::new(env!("CARGO_TARGET_TMPDIR")).join("lit"),
        timeout: timeout()?,
    });
    let features = Features::probe(&tools.tcc);

    let mut files = Vec::new();
    find(&root, &mut files)?;
    if files.is_empty() {
        return Err(format!("no tests (*.{}) below {}", SUFFIXES.join(", *."), root.display()));
    }
    files.sort();
    let mut trials = directives::self_tests();
    trials.extend(script::self_tests(&tools.scratch));
    for file in files {
        let name = file.strip_prefix(&root).expect("found below root").display().to_string();
        let must_fail = name.starts_with("runner/fail/");
        trials.push(trial(name, file, must_fail, &features, Arc::clone(&tools)));
    }
    Ok(trials)
}

/// The test of one file. `must_fail` is for the files that show that the runner notices a failure.
fn trial(name: String, file: PathBuf, must_fail: bool, features: &Features, tools: Arc<Tools>) -> Trial {
    let parsed = std::fs::read_to_string(&file)
        .map_err(|e| format!("{}: {e}", file.display()))
        .and_then(|text| Directives::parse(&text))
        .and_then(|directives| {
            let ignored = !features.all(&directives.requires)?;
            let xfail = features.any(&directives.xfail)?;
            Ok((directives, ignored, xfail))
        });
    match parsed {
        Err(message) => Trial::test(name, move || verdict(Err(message), must_fail)),
        Ok((directives, ignored, xfail)) => Trial::test(name.clone(), move || {
            let outcome = script::run(&directives, &name, &file, &tools);
            verdict(judge(outcome, xfail), must_fail)
        })
        .with_ignored_flag(ignored),
    }
}

/// XFAIL turns a failure into success and success into a failure; a time-out is never what was expected.
fn judge(outcome: Outcome, xfail: bool) -> Result<(), String> {
    match (outcome, xfail) {
        (Outcome::Passed, false) | (Outcome::Failed(_), true) => Ok(()),
        (Outcome::Passed, true) => Err("passed, but is marked XFAIL: remove the mark".into()),
        (Outcome::Failed(report), false) | (Outcome::TimedOut(report), _) => Err(report),
    }
}

fn verdict(result: Result<(), String>, must_fail: bool) -> Result<(), Failed> {
    match (result, must_fail) {
        (Ok(()), false) | (Err(_), true) => Ok(()),
        (Ok(()), true) => Err("the runner took this file for a passing test".into()),
        (Err(report), false) => Err(report.into()),
    }
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        if path.is_dir() {
            if !path.ends_with("Inputs") && !path.ends_with("Output") {
                find(&path, files)?;
            }
        } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| SUFFIXES.contains(&e)) {
            files.push(path);
        }
    }
    Ok(())
}

fn filecheck() -> Result<String, String> {
    let program = std::env::var("TCC_FILECHECK").unwrap_or_else(|_| "FileCheck-22".into());
    let works =
        std::process::Command::new(&program).arg("--version").output().is_ok_and(|o| o.status.success());
    if works {
        Ok(program)
    } else {
        Err(format!(
            "{program} does not run; `make setup` installs it (llvm-22-tools), TCC_FILECHECK names another"
        ))
    }
}

fn timeout() -> Result<Duration, String> {
    match std::env::var("TCC_LIT_TIMEOUT") {
        Err(_) => Ok(Duration::from_secs(60)),
        Ok(text) => match text.parse::<u64>() {
            Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
            _ => Err(format!("TCC_LIT_TIMEOUT is a number of seconds, not '{text}'")),
        },
    }
}
