//! Which versions a model is written in: the file format (IR version) and its operator sets.

use indexmap::IndexMap;

use tcc_ir::diag::{Code, Diagnostic};

use super::problems::Problems;
use super::proto::OperatorSetIdProto;

/// IR versions that are read. Version 3 (2017) is the first with operator-set imports.
pub const IR_VERSIONS: std::ops::RangeInclusive<i64> = 3..=14;

/// Versions of the default domain that are read; which operators exist in which is the import table's matter.
pub const OPSETS: std::ops::RangeInclusive<i64> = 1..=28;

/// The default domain's long name, used in messages and tables; files mostly leave it empty.
pub const ONNX_DOMAIN: &str = "ai.onnx";

/// The domain under its canonical name.
pub fn canonical_domain(domain: Option<&str>) -> &str {
    match domain {
        None | Some("") => ONNX_DOMAIN,
        Some(domain) => domain,
    }
}

/// Imported operator sets: canonical domain to version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opsets(IndexMap<String, i64>);

impl Opsets {
    /// Reads the imports of a model or a function.
    pub(super) fn from_imports(imports: &[OperatorSetIdProto], problems: &mut Problems) -> Self {
        let mut opsets = Opsets::default();
        for import in imports {
            let domain = canonical_domain(import.domain.as_deref());
            let version = import.version.unwrap_or(0);
            if domain == ONNX_DOMAIN && !OPSETS.contains(&version) {
                problems.push(
                    Diagnostic::error(
                        Code::FormatVersion,
                        format!(
                            "opset {version} of {ONNX_DOMAIN} isn't one of {} to {}",
                            OPSETS.start(),
                            OPSETS.end()
                        ),
                    )
                    .help("convert the model to a supported opset with onnx.version_converter"),
                );
            }
            match opsets.0.insert(domain.to_owned(), version) {
                Some(other) if other != version => problems.push(Diagnostic::error(
                    Code::FileMalformed,
                    format!("domain {domain} is imported in versions {other} and {version}"),
                )),
                _ => {}
            }
        }
        opsets
    }

    /// The imported version of a canonical domain.
    pub fn version(&self, domain: &str) -> Option<i64> {
        self.0.get(domain).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(domain, &version)| (domain.as_str(), version))
    }

    /// These, and those of `other` whose domain these lack.
    pub(super) fn or(mut self, other: &Opsets) -> Self {
        for (domain, &version) in &other.0 {
            self.0.entry(domain.clone()).or_insert(version);
        }
        self
    }
}

/// Refuses IR versions that this reader doesn't know.
pub(super) fn check_ir_version(version: i64) -> Result<(), Diagnostic> {
    if IR_VERSIONS.contains(&version) {
        return Ok(());
    }
    let (first, last) = (IR_VERSIONS.start(), IR_VERSIONS.end());
    Err(Diagnostic::error(
        Code::FormatVersion,
        format!("IR version {version} isn't one of {first} to {last}"),
    )
    .help("save the model again with a newer or older exporter"))
}
