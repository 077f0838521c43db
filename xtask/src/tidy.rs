//! Rules of the repository that neither compiler nor clippy checks, each also a test.
//!
//! `cargo xtask tidy` checks them all and lists the largest files, which is information and fails nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// A rule looks at all files of the repository and names what breaks it, one line each.
type Rule = fn(&[SourceFile]) -> Result<Vec<String>>;

const RULES: [(&str, Rule); 4] = [
    ("every .rs file begins with a //! line that says what it is", header),
    ("a file is named after its one idea", file_names),
    ("no path of somebody's own machine", machine_paths),
    ("dependencies point one way", layers),
];

/// A text file of the repository; `path` is relative to its root.
struct SourceFile {
    path: PathBuf,
    text: String,
}

/// Checks every rule; the error lists everything that breaks one.
pub fn run() -> Result<()> {
    let files = files()?;
    let mut sizes: Vec<_> = files
        .iter()
        .filter(|file| is_rust(&file.path))
        .map(|file| (file.text.lines().count(), file.path.display()))
        .collect();
    sizes.sort_by_key(|(lines, _)| std::cmp::Reverse(*lines));
    println!("largest files (lines):");
    for (lines, path) in sizes.iter().take(10) {
        println!("{lines:6}  {path}");
    }
    let mut broken = Vec::new();
    for (rule, check) in RULES {
        broken.extend(check(&files)?.into_iter().map(|what| format!("\n  {what}  ({rule})")));
    }
    ensure!(broken.is_empty(), "tidy:{}", broken.concat());
    Ok(())
}

fn header(files: &[SourceFile]) -> Result<Vec<String>> {
    let bare = files.iter().filter(|file| is_rust(&file.path) && !file.text.starts_with("//! "));
    Ok(bare.map(|file| file.path.display().to_string()).collect())
}

/// Names that say nothing and so collect everything.
const EMPTY_NAMES: [&str; 6] = ["util.rs", "utils.rs", "misc.rs", "common.rs", "base.rs", "helpers.rs"];

fn file_names(files: &[SourceFile]) -> Result<Vec<String>> {
    let vague = files.iter().filter(|file| EMPTY_NAMES.iter().any(|name| file.path.ends_with(name)));
    Ok(vague.map(|file| file.path.display().to_string()).collect())
}

/// Top-level folders whose content differs from machine to machine.
const MACHINE_FOLDERS: [&str; 6] = ["home", "root", "work", "tmp", "mnt", "Users"];

fn machine_paths(files: &[SourceFile]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            if MACHINE_FOLDERS.iter().any(|folder| has_absolute_path(line, folder)) {
                found.push(format!("{}:{}: {}", file.path.display(), index + 1, line.trim()));
            }
        }
    }
    Ok(found)
}

/// Whether `line` has `/folder/` at the start of a path, not inside a longer path or an address.
fn has_absolute_path(line: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    line.match_indices(&path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "/._-})*$".contains(c)))
    })
}

const NATIVE: &[&str] = &["llvm", "mlir", "melior", "inkwell"];

/// What must not be in the dependency tree of a crate: parts of package names.
const LAYERS: [(&str, &[&[&str]]); 5] = [
    ("tcc-runtime", &[NATIVE, &["egg", "petgraph", "prost", "tcc-"]]),
    ("tcc-ir", &[NATIVE, &["egg", "prost", "tcc-"]]),
    ("tcc-frontend", &[NATIVE, &["egg", "tcc-passes", "tcc-codegen", "tcc-runtime"]]),
    ("tcc-passes", &[NATIVE, &["prost", "tcc-frontend", "tcc-codegen", "tcc-runtime"]]),
    ("tcc-codegen", &[&["prost", "tcc-frontend"]]),
];

fn layers(_: &[SourceFile]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (package, forbidden) in LAYERS {
        let tree = ["tree", "--package", package, "--edges", "normal", "--prefix", "none", "--offline"];
        for line in output(&cargo(), &tree)?.lines() {
            let dependency = line.split_whitespace().next().unwrap_or_default();
            let bad = forbidden.iter().copied().flatten().any(|part| dependency.contains(part));
            if bad && dependency != package {
                found.push(format!("{package} depends on {dependency}"));
            }
        }
    }
    Ok(found)
}

/// Every text file that git tracks or would track.
fn files() -> Result<Vec<SourceFile>> {
    let list = output("git", &["ls-files", "--cached", "--others", "--exclude-standard"])?;
    let mut files = Vec::new();
    for line in list.lines() {
        // Deleted files are still listed, and binary files have no lines to judge.
        if let Ok(text) = std::fs::read_to_string(root().join(line)) {
            files.push(SourceFile { path: line.into(), text });
        }
    }
    ensure!(!files.is_empty(), "git lists no files");
    Ok(files)
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

fn output(program: &str, args: &[&str]) -> Result<String> {
    let command = format!("{program} {}", args.join(" "));
    let output =
        Command::new(program).args(args).current_dir(root()).output().with_context(|| command.clone())?;
    if !output.status.success() {
        bail!("{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_is_tidy() {
        if let Err(broken) = run() {
            panic!("{broken}");
        }
    }

    #[test]
    fn each_rule_finds_what_breaks_it() {
        let file = |path: &str, text: &str| SourceFile { path: path.into(), text: text.into() };
        let files = [
            file("a/good.rs", "//! What it is.\nfn f() {} // https://x.org/home/page target/tmp/x\n"),
            file("a/bare.rs", "fn f() {}\n"),
            file("a/util.rs", "//! Everything.\n"),
            file("run.sh", concat!("echo ok\ncp x \"/", "home/me/y\"\n")),
        ];
        assert_eq!(header(&files).unwrap(), ["a/bare.rs"]);
        assert_eq!(file_names(&files).unwrap(), ["a/util.rs"]);
        assert_eq!(machine_paths(&files).unwrap(), [concat!("run.sh:2: cp x \"/", "home/me/y\"")]);
    }
}
