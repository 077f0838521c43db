//! Generated pages in docs/ must be what the tables say. `TCC_BLESS=1 cargo test -p tcc-ir docs` rewrites them.

use std::path::Path;

#[test]
fn generated_docs_are_fresh() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let bless = std::env::var_os("TCC_BLESS").is_some();
    for (name, text) in [("errors.md", crate::diag::markdown()), ("ops.md", crate::ops::markdown())] {
        let path = docs.join(name);
        if bless {
            std::fs::write(&path, &text).expect("docs/ is writable");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == text, "docs/{name} is stale: run `TCC_BLESS=1 cargo test -p tcc-ir docs`");
    }
}
