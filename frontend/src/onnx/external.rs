//! Tensor bytes that lie in files beside the model.
//!
//! Invariant: nothing outside the model's folder is ever opened. A location must be relative without `..`,
//! and what it names after every link is resolved must lie in the folder of the model as it was named, or in
//! the folder where the model's own file really is: a download cache that links both the model and its
//! weights into one store is read, a link that leads elsewhere is not.

use std::fs::File;
use std::path::{Component, Path, PathBuf};

use indexmap::IndexMap;
use memmap2::Mmap;
use prost::bytes::Bytes;

use tcc_ir::diag::{Code, Diagnostic};

use super::proto::StringStringEntryProto;

/// The files beside one model, each mapped at most once.
pub struct ExternalFiles {
    /// Where locations start, and the real folders in which their targets may lie. Empty: no file allowed.
    folder: PathBuf,
    allowed: Vec<PathBuf>,
    mapped: IndexMap<PathBuf, Bytes>,
}

impl ExternalFiles {
    /// For the model at `path`, which must exist.
    pub fn beside(path: &Path) -> std::io::Result<Self> {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let mut allowed = vec![folder.canonicalize()?];
        allowed.extend(path.canonicalize()?.parent().map(Path::to_path_buf));
        Ok(ExternalFiles { folder, allowed, mapped: IndexMap::new() })
    }

    /// For a model that isn't a file: every external tensor is an error.
    pub fn none() -> Self {
        ExternalFiles { folder: PathBuf::new(), allowed: Vec::new(), mapped: IndexMap::new() }
    }

    /// The bytes that `entries` (a tensor's `external_data`) name. `needed` is what the tensor's shape takes:
    /// a stated length must equal it, and it is the length where none is stated.
    pub fn read(&mut self, entries: &[StringStringEntryProto], needed: u64) -> Result<Bytes, Diagnostic> {
        let location = entry(entries, "location")
            .filter(|location| !location.is_empty())
            .ok_or_else(|| external("external data without a location"))?;
        let offset = number(entries, "offset")?.unwrap_or(0);
        let length = number(entries, "length")?.unwrap_or(needed);
        if length != needed {
            return Err(external(format!(
                "external data in `{location}`: length is {length} bytes, but the shape needs {needed}"
            )));
        }
        let file = self.map(location)?;
        let end = offset.checked_add(length).filter(|&end| end <= file.len() as u64).ok_or_else(|| {
            external(format!(
                "external data in `{location}`: {length} bytes at offset {offset} reach past the end of the file ({} bytes)",
                file.len()
            ))
        })?;
        Ok(file.slice(offset as usize..end as usize))
    }

    fn map(&mut self, location: &str) -> Result<Bytes, Diagnostic> {
        let relative = Path::new(location);
        if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(external(format!("external data location `{location}` leaves the model's folder"))
                .help("use a relative path without `..`"));
        }
        if self.allowed.is_empty() {
            return Err(external(format!("external data in `{location}`, but the model is not a file")));
        }
        let unreadable =
            |error: std::io::Error| external(format!("external data file `{location}`: {error}"));
        let path = self.folder.join(relative).canonicalize().map_err(unreadable)?;
        if !self.allowed.iter().any(|folder| path.starts_with(folder)) {
            return Err(external(format!(
                "external data location `{location}` is a link out of the model's folder"
            ))
            .help("put the file into the model's folder"));
        }
        if let Some(file) = self.mapped.get(&path) {
            return Ok(file.clone());
        }
        let bytes = map_file(&path).map_err(unreadable)?;
        if let Some(target) = link_text(&path, &bytes) {
            return Err(external(format!("external data file `{location}` holds only the path `{target}`"))
                .help(
                    "it seems to be a link that Git or an archive stored as text: put the file itself there",
                ));
        }
        self.mapped.insert(path, bytes.clone());
        Ok(bytes)
    }
}

/// Maps a regular file for reading.
pub(super) fn map_file(path: &Path) -> std::io::Result<Bytes> {
    // Opening a pipe or a device could block for ever, so the kind is looked at first.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let file = File::open(path)?;
    // SAFETY: the map is private and read-only. As with every mapped file, a process that shortens it
    // meanwhile makes reads fail; tcc states that model files must not change while they are compiled.
    let map = unsafe { Mmap::map(&file)? };
    Ok(Bytes::from_owner(map))
}

/// The path of another file that is all the file has, as checkouts without links leave behind. Read as weights
/// it would be silently wrong.
fn link_text<'a>(path: &Path, bytes: &'a [u8]) -> Option<&'a str> {
    const LONGEST: usize = 1024;
    let text = std::str::from_utf8(bytes).ok().filter(|text| (1..=LONGEST).contains(&text.len()))?;
    let is_path = text.bytes().all(|byte| byte.is_ascii_graphic()) && path.parent()?.join(text).is_file();
    is_path.then_some(text)
}

fn entry<'a>(entries: &'a [StringStringEntryProto], key: &str) -> Option<&'a str> {
    entries
        .iter()
        .find(|entry| entry.key.as_deref() == Some(key))
        .map(|entry| entry.value.as_deref().unwrap_or(""))
}

fn number(entries: &[StringStringEntryProto], key: &str) -> Result<Option<u64>, Diagnostic> {
    let Some(text) = entry(entries, key) else { return Ok(None) };
    let number = text.parse().map_err(|_| external(format!("external data {key} `{text}` is not a size")))?;
    Ok(Some(number))
}

fn external(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::ExternalData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(pairs: &[(&str, &str)]) -> Vec<StringStringEntryProto> {
        pairs
            .iter()
            .map(|(key, value)| StringStringEntryProto {
                key: Some(key.to_string()),
                value: Some(value.to_string()),
            })
            .collect()
    }

    /// A folder with a model, 8 bytes of data inside and a file outside.
    fn folder() -> (tempfile::TempDir, ExternalFiles) {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("secret"), [9; 8]).unwrap();
        let model = root.path().join("model");
        std::fs::create_dir_all(model.join("sub")).unwrap();
        std::fs::write(model.join("model.onnx"), []).unwrap();
        std::fs::write(model.join("w"), [0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        let files = ExternalFiles::beside(&model.join("model.onnx")).unwrap();
        (root, files)
    }

    #[test]
    fn reads_a_part_of_a_file_inside() {
        let (_root, mut files) = folder();
        let entries = entries(&[("location", "w"), ("offset", "2"), ("length", "4")]);
        assert_eq!(files.read(&entries, 4).unwrap()[..], [2, 3, 4, 5]);
    }

    #[test]
    fn without_a_length_takes_what_the_shape_needs() {
        let (_root, mut files) = folder();
        assert_eq!(files.read(&entries(&[("location", "./w")]), 3).unwrap()[..], [0, 1, 2]);
    }

    #[test]
    fn refuses_bad_places_and_sizes() {
        let (_root, mut files) = folder();
        for bad in [
            &[][..],
            &[("location", "")],
            &[("location", "../secret")],
            &[("location", "sub/../../secret")],
            &[("location", "sub")],
            &[("location", "absent")],
            &[("location", "/etc/hostname")],
            &[("location", "w"), ("offset", "-1")],
            &[("location", "w"), ("offset", "x")],
            &[("location", "w"), ("offset", "5")],
            &[("location", "w"), ("offset", "18446744073709551615")],
            &[("location", "w"), ("length", "3")],
        ] {
            let problem = files.read(&entries(bad), 4).unwrap_err();
            assert_eq!(problem.code, Code::ExternalData, "{bad:?}");
        }
        assert!(ExternalFiles::none().read(&entries(&[("location", "w")]), 4).is_err());
    }

    #[test]
    fn a_link_stored_as_text_is_no_data() {
        let (root, mut files) = folder();
        std::fs::write(root.path().join("model/link"), "../secret").unwrap();
        std::fs::write(root.path().join("model/text"), "../absent").unwrap();
        assert!(files.read(&entries(&[("location", "link")]), 8).is_err());
        assert!(files.read(&entries(&[("location", "text")]), 8).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn follows_links_that_stay_inside_only() {
        use std::os::unix::fs::symlink;
        let (root, mut files) = folder();
        let model = root.path().join("model");
        symlink("w", model.join("inside")).unwrap();
        symlink("../secret", model.join("outside")).unwrap();
        symlink("..", model.join("up")).unwrap();
        assert!(files.read(&entries(&[("location", "inside")]), 8).is_ok());
        assert!(files.read(&entries(&[("location", "outside")]), 8).is_err());
        assert!(files.read(&entries(&[("location", "up/secret")]), 8).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_model_that_is_a_link_may_use_the_store_it_is_in() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        let (store, view) = (root.path().join("blobs"), root.path().join("snapshot"));
        std::fs::create_dir(&store).unwrap();
        std::fs::create_dir(&view).unwrap();
        std::fs::write(store.join("a"), []).unwrap();
        std::fs::write(store.join("b"), [7; 4]).unwrap();
        symlink("../blobs/a", view.join("model.onnx")).unwrap();
        symlink("../blobs/b", view.join("model.data")).unwrap();
        let mut files = ExternalFiles::beside(&view.join("model.onnx")).unwrap();
        assert_eq!(files.read(&entries(&[("location", "model.data")]), 4).unwrap()[..], [7; 4]);
    }
}
