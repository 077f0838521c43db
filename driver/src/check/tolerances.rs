//! `cases.jsonl` beside a suite: one JSON object a line with kind, name, rtol and atol of a case. What outputs that are
//! sums may be off besides is in [`Tolerance::of_sum`].

use std::collections::BTreeMap;
use std::path::Path;

use crate::compare::Tolerance;

/// Tolerances by `kind/name`.
#[derive(Debug, Default)]
pub struct Tolerances(BTreeMap<String, Tolerance>);

impl Tolerances {
    /// Those of the suite in `folder`, whose list lies in it or, where only one kind is run, beside it.
    pub fn of_suite(folder: &Path) -> Tolerances {
        let beside = folder.canonicalize().ok().and_then(|path| path.parent().map(Path::to_path_buf));
        let folders = std::iter::once(folder.to_path_buf()).chain(beside);
        let text = folders.into_iter().find_map(|at| std::fs::read_to_string(at.join("cases.jsonl")).ok());
        Tolerances::parse(&text.unwrap_or_default())
    }

    fn parse(text: &str) -> Tolerances {
        let row = |line: &str| {
            let row: serde_json::Value = serde_json::from_str(line).ok()?;
            let text = |key: &str| row.get(key).and_then(|value| value.as_str());
            let number = |key: &str| row.get(key).and_then(serde_json::Value::as_f64);
            let (rtol, atol) = (number("rtol")?, number("atol")?);
            let tolerance = Tolerance { rtol, atol, ..Tolerance::default() };
            Some((format!("{}/{}", text("kind")?, text("name")?), tolerance))
        };
        Tolerances(text.lines().filter_map(row).collect())
    }

    /// That of the case in `folder`, else the default.
    pub fn of_case(&self, folder: &Path) -> Tolerance {
        let part = |path: Option<&Path>| Some(path?.file_name()?.to_string_lossy().into_owned());
        let key = part(folder.parent()).zip(part(Some(folder))).map(|(kind, name)| format!("{kind}/{name}"));
        key.and_then(|key| self.0.get(&key).copied()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_found_by_kind_and_name() {
        let text = "{\"kind\": \"node\", \"name\": \"a\", \"rtol\": 0.5, \"atol\": 0}\nnot json\n";
        let tolerances = Tolerances::parse(text);
        assert_eq!(
            tolerances.of_case(Path::new("/x/node/a")),
            Tolerance { rtol: 0.5, atol: 0.0, noise: 0.0 }
        );
        assert_eq!(tolerances.of_case(Path::new("/x/simple/a")), Tolerance::default());
    }
}
