//! Output files: whole or not at all.

use std::fmt::Display;
use std::path::Path;

use crate::{Result, report};

/// Has `write` make a file beside `path`, which takes its place when it is complete. Folders are made.
pub fn whole<E: Display>(path: &Path, write: impl FnOnce(&Path) -> std::result::Result<(), E>) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| report::unwritable(folder, error))?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = write(&temporary)
        .map_err(|error| report::unwritable(path, error))
        .and_then(|()| std::fs::rename(&temporary, path).map_err(|error| report::unwritable(path, error)));
    if written.is_err() {
        // The error that is reported is the first one.
        let _ = std::fs::remove_file(&temporary);
    }
    Ok(written?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made/out");
        let failing = |at: &Path| {
            std::fs::write(at, "half").unwrap();
            Err("no space")
        };
        let found = whole(&path, failing).unwrap_err();
        assert!(found.0[0].message.ends_with("out: no space"));
        assert_eq!(std::fs::read_dir(folder.path().join("made")).unwrap().count(), 0);
        whole(&path, |at| std::fs::write(at, "all")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "all");
    }
}
