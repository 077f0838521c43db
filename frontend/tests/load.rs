//! Every model file of a folder loads, or is refused: never a crash.
//!
//! `models/` beside this file holds a few. With `TCC_CASES=DIR[:DIR]` every `*.onnx` below those folders is
//! loaded too; one must load unless a `case.json` beside it expects an error.

use std::path::{Path, PathBuf};

use tcc_frontend::onnx::model::load;

fn models_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "onnx") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no models below {}", folder.display());
    found
}

fn own(folder: &str) -> Vec<PathBuf> {
    models_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(folder))
}

#[test]
fn good_models_load() {
    for path in own("loads") {
        load(&path).unwrap_or_else(|problems| panic!("{}: {problems}", path.display()));
    }
}

#[test]
fn bad_models_are_refused() {
    for path in own("refused") {
        assert!(load(&path).is_err(), "{}", path.display());
    }
}

#[test]
fn models_of_the_given_folders_load_as_expected() {
    let Some(folders) = std::env::var_os("TCC_CASES") else { return };
    let mut failures = Vec::new();
    for path in std::env::split_paths(&folders).flat_map(|folder| models_below(&folder)) {
        let case = std::fs::read_to_string(path.with_file_name("case.json")).unwrap_or_default();
        let may_fail = case.contains(r#""expect": "error""#) || case.contains(r#""alt": "error""#);
        match load(&path) {
            Ok(_) => {}
            Err(problems) if may_fail => println!("refused {}: {problems}", path.display()),
            Err(problems) => failures.push(format!("{}: {problems}", path.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
