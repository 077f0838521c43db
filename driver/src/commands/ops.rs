//! `tcc ops`: which operators of models are read, and which operators the IR has.

use std::collections::BTreeMap;
use std::process::ExitCode;

use tcc::{Result, source};
use tcc_frontend::onnx::ops as table;

/// List the supported operators
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tcc ops
  tcc ops --json | jq '.onnx[] | select(.name == \"Conv\")'")]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let mut onnx: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for entry in table::all() {
        onnx.entry(source::qualified(entry.domain, entry.op_type)).or_default().push(entry.since);
    }
    onnx.values_mut().for_each(|since| since.sort_unstable());
    if args.json {
        let rows = |(name, since): (&String, &Vec<i64>)| serde_json::json!({"name": name, "since": since});
        let ir =
            |info: &tcc_ir::ops::OpInfo| serde_json::json!({"name": info.name, "doc": summary(info.doc)});
        let onnx: Vec<_> = onnx.iter().map(rows).collect();
        let ir: Vec<_> = tcc_ir::ops::ALL.iter().map(ir).collect();
        println!("{}", serde_json::json!({"onnx": onnx, "ir": ir}));
        return Ok(ExitCode::SUCCESS);
    }
    let width = onnx.keys().map(String::len).max().unwrap_or(0);
    println!("ONNX operators ({}), and the opsets from which on each reading of them holds:", onnx.len());
    for (name, since) in &onnx {
        let since: Vec<String> = since.iter().map(i64::to_string).collect();
        println!("  {name:<width$}  {}", since.join(", "));
    }
    println!("\nOperators of the graph IR ({}), which those become:", tcc_ir::ops::ALL.len());
    for info in tcc_ir::ops::ALL {
        println!("  {:<22}  {}", info.name, summary(info.doc));
    }
    Ok(ExitCode::SUCCESS)
}

/// The first sentence of a description.
fn summary(doc: &str) -> String {
    let text = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.find(". ") {
        Some(end) => text[..=end].to_string(),
        None => text,
    }
}
