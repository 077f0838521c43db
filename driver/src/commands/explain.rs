//! `tcc explain`: what an error code means.

use std::ops::RangeInclusive;
use std::process::ExitCode;

use tcc::{Code, Result};
use tcc_frontend::onnx::opset;
use tcc_ir::diag::CODES;

/// Explain an error code
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tcc explain TCC1001\n  tcc explain          all codes, a line each")]
pub struct Args {
    /// Such as TCC1001; without one, all codes are listed
    #[arg(value_parser = parse)]
    code: Option<Code>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    match &args.code {
        None => CODES.iter().for_each(|code| println!("{}  {}", code.id(), code.title())),
        Some(code) => println!("{}: {}\n\n{}", code.id(), code.title(), code.explanation()),
    }
    if args.code == Some(Code::FormatVersion) {
        println!("\nThis tcc reads {}.", versions_read());
    }
    Ok(ExitCode::SUCCESS)
}

fn versions_read() -> String {
    let range = |versions: RangeInclusive<i64>| format!("{} to {}", versions.start(), versions.end());
    let (ir, opsets) = (range(opset::IR_VERSIONS), range(opset::OPSETS));
    format!("ONNX IR versions {ir} and opsets {opsets} of {}", opset::ONNX_DOMAIN)
}

fn parse(id: &str) -> std::result::Result<Code, String> {
    Code::from_id(id).ok_or_else(|| "there is no such code; `tcc explain` lists them".to_string())
}
