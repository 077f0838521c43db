//! `scale OUT.npy`: writes the C major scale as sound, in the form basic-pitch takes: f32 [1, 43844, 1] at 22050 Hz.
//!
//! Each note is a struck string as simple as can be: five harmonics that fade.

use std::f32::consts::TAU;
use std::path::PathBuf;

use anyhow::{Context, Result};
use tcc::npy;
use tcc_ir::{DType, Tensor};

const SAMPLE_RATE: f32 = 22050.0;
/// Samples in the one window the model looks at, a little under two seconds.
const WINDOW: usize = 43844;
/// C4 to C5 as MIDI numbers; A4 is 69.
const SCALE: [u8; 8] = [60, 62, 64, 65, 67, 69, 71, 72];
const NOTE_SECONDS: f32 = 0.24;

fn main() -> Result<()> {
    let path: PathBuf = std::env::args_os().nth(1).context("usage: scale OUT.npy")?.into();
    let samples = (0..WINDOW).map(|index| f64::from(sample(index)));
    npy::write_file(&path, &Tensor::from_floats(DType::F32, vec![1, WINDOW, 1], samples))
}

/// The sound at sample `index`; silence after the last note.
fn sample(index: usize) -> f32 {
    let seconds = index as f32 / SAMPLE_RATE;
    let Some(&note) = SCALE.get((seconds / NOTE_SECONDS) as usize) else { return 0.0 };
    let t = seconds % NOTE_SECONDS;
    let pitch = 440.0 * ((f32::from(note) - 69.0) / 12.0).exp2();
    let sound: f32 = (1..=5).map(|h| h as f32).map(|h| (TAU * pitch * h * t).sin() / h).sum();
    // A fast attack, a decay, and a release that ends in silence, so that notes don't click.
    let envelope = (t / 0.01).min(1.0) * (-3.0 * t).exp() * ((NOTE_SECONDS - t) / 0.02).min(1.0);
    0.3 * envelope * sound
}
