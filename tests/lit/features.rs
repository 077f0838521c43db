//! The words of REQUIRES and XFAIL: what this machine and this build of `tcc` can do.

use std::path::Path;
use std::process::Command;

/// Finds out whether a feature is there; it may ask the `tcc` at this path.
type Probe = fn(&Path) -> bool;

/// Every known word with its probe. A word that is not here is an error in the test that uses it.
const PROBES: [(&str, Probe); 8] = [
    ("cpu", |_| true),
    ("ptx", |tcc| has_target(tcc, "ptx")),
    ("spirv", |tcc| has_target(tcc, "spirv")),
    ("spirv-val", |_| Command::new("spirv-val").arg("--version").output().is_ok_and(|o| o.status.success())),
    ("ptx-sm90", |tcc| has_target(tcc, "ptx-sm90")),
    ("vulkan", |_| has_vulkan_driver()),
    // Nvidia's assembler; `scripts/ptxas.sh` fetches it.
    ("ptxas", |_| std::env::var_os("TCC_PTXAS").is_some()),
    ("gpu-cuda", |_| Path::new("/dev/nvidiactl").exists()),
];

/// The known words and whether each is met.
pub struct Features(Vec<(&'static str, bool)>);

impl Features {
    /// Asks every probe once.
    pub fn probe(tcc: &Path) -> Self {
        Self(PROBES.iter().map(|(word, probe)| (*word, probe(tcc))).collect())
    }

    /// Whether all `words` are met (true for none); an unknown word is an error.
    pub fn all(&self, words: &[String]) -> Result<bool, String> {
        words.iter().try_fold(true, |met, word| Ok(met & self.has(word)?))
    }

    /// Whether any of `words` is met (false for none); `*` always is, an unknown word is an error.
    pub fn any(&self, words: &[String]) -> Result<bool, String> {
        words.iter().try_fold(false, |met, word| Ok(met | (word == "*" || self.has(word)?)))
    }

    fn has(&self, word: &str) -> Result<bool, String> {
        let known = self.0.iter().find(|(name, _)| *name == word);
        known.map(|(_, met)| *met).ok_or_else(|| {
            let names: Vec<_> = self.0.iter().map(|(name, _)| *name).collect();
            format!("unknown feature '{word}'; there are {}", names.join(", "))
        })
    }
}

/// Whether `tcc targets` has a line that starts with `target`.
fn has_target(tcc: &Path, target: &str) -> bool {
    Command::new(tcc).arg("targets").output().is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        output.status.success() && text.lines().any(|line| line.split_whitespace().next() == Some(target))
    })
}

/// Whether a Vulkan driver is installed; Mesa's for CPUs will do. Whether tcc can use it is what tests find out.
fn has_vulkan_driver() -> bool {
    ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"]
        .iter()
        .any(|folder| std::fs::read_dir(folder).is_ok_and(|mut drivers| drivers.next().is_some()))
}
