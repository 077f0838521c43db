//! `cargo xtask COMMAND`: checks and generators of the repository itself.

mod tidy;

use anyhow::{Result, bail};

type Command = fn() -> Result<()>;

/// Every command: its name, what it does, how.
const COMMANDS: [(&str, &str, Command); 1] =
    [("tidy", "check the rules that are about the repository, not about one crate", tidy::run)];

fn main() -> Result<()> {
    let asked = std::env::args().nth(1).unwrap_or_default();
    match COMMANDS.iter().find(|(name, ..)| *name == asked) {
        Some((_, _, run)) => run(),
        None => {
            let list: Vec<_> =
                COMMANDS.iter().map(|(name, what, _)| format!("\n  {name:8} {what}")).collect();
            bail!("usage: cargo xtask COMMAND{}", list.concat())
        }
    }
}
