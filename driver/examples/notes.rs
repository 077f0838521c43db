//! `notes OUT.npz`: names the notes in what basic-pitch says about a piece of sound.
//!
//! Two of the model's outputs are posteriograms f32 [windows, 172 frames, 88 keys]: how likely a key sounds, and how likely it is struck.
//! A note starts where the second has a peak and lasts while the first stays high.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use tcc::npy;
use tcc_ir::Tensor;

const SOUNDING: &str = "StatefulPartitionedCall:1";
const STRUCK: &str = "StatefulPartitionedCall:2";

const FRAMES: usize = 172;
const KEYS: usize = 88;
/// MIDI number of the lowest key of a piano, A0.
const LOWEST_KEY: usize = 21;
const FRAME_SECONDS: f64 = 256.0 / 22050.0;
const WINDOW_SECONDS: f64 = 43844.0 / 22050.0;

const STRUCK_THRESHOLD: f64 = 0.5;
const SOUNDING_THRESHOLD: f64 = 0.3;
/// Shorter ones (under 0.1 s) are overtones that flare up when a key is struck.
const SHORTEST_NOTE: usize = 8;

fn main() -> Result<()> {
    let path: PathBuf = std::env::args_os().nth(1).context("usage: notes OUT.npz")?.into();
    let outputs = npy::read_npz(&path)?;
    let sounding = posteriogram(&outputs, SOUNDING)?;
    let struck = posteriogram(&outputs, STRUCK)?;
    ensure!(sounding.len() == struck.len(), "the two posteriograms differ in size");
    let notes = decode(&sounding, &struck);
    for note in &notes {
        println!("{:6.2} s  {:4} for {:.2} s", note.start, name(note.midi), note.seconds);
    }
    let names: Vec<String> = notes.iter().map(|note| name(note.midi)).collect();
    println!("notes: {}", names.join(" "));
    Ok(())
}

fn posteriogram(outputs: &[(String, Tensor)], name: &str) -> Result<Vec<f64>> {
    let (_, tensor) =
        outputs.iter().find(|(known, _)| known == name).with_context(|| format!("no output {name}"))?;
    ensure!(matches!(tensor.shape(), [_, FRAMES, KEYS]), "{name} has shape {:?}", tensor.shape());
    Ok(tensor.floats())
}

#[derive(Debug, PartialEq)]
struct Note {
    midi: usize,
    start: f64,
    seconds: f64,
}

/// The notes of all windows, in order of time, then pitch.
fn decode(sounding: &[f64], struck: &[f64]) -> Vec<Note> {
    let mut notes = Vec::new();
    let windows = sounding.chunks_exact(FRAMES * KEYS).zip(struck.chunks_exact(FRAMES * KEYS));
    for (window, (sounding, struck)) in windows.enumerate() {
        for frame in 0..FRAMES {
            for key in 0..KEYS {
                let at = |frame: usize| struck[frame * KEYS + key];
                let before = if frame > 0 { at(frame - 1) } else { 0.0 };
                let after = if frame + 1 < FRAMES { at(frame + 1) } else { 0.0 };
                let peak = at(frame) >= STRUCK_THRESHOLD && at(frame) > before && at(frame) >= after;
                let frames =
                    (frame..FRAMES).take_while(|f| sounding[f * KEYS + key] >= SOUNDING_THRESHOLD).count();
                if peak && frames >= SHORTEST_NOTE {
                    notes.push(Note {
                        midi: LOWEST_KEY + key,
                        start: window as f64 * WINDOW_SECONDS + frame as f64 * FRAME_SECONDS,
                        seconds: frames as f64 * FRAME_SECONDS,
                    });
                }
            }
        }
    }
    notes
}

/// Scientific pitch notation: 60 is C4.
fn name(midi: usize) -> String {
    const NAMES: [&str; 12] = ["C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"];
    let octave = midi as i64 / 12 - 1;
    format!("{}{octave}", NAMES[midi % 12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_scientific_pitch() {
        assert_eq!([21, 60, 66, 69, 108].map(name), ["A0", "C4", "F#4", "A4", "C8"]);
    }

    /// Two windows with one struck key each; the shorter sound beside it is an overtone.
    #[test]
    fn a_note_is_a_peak_that_keeps_sounding() {
        let (mut sounding, mut struck) = (vec![0.0; 2 * FRAMES * KEYS], vec![0.0; 2 * FRAMES * KEYS]);
        let mut play = |window: usize, frame: usize, midi: usize, frames: usize| {
            let at = |f: usize| (window * FRAMES + f) * KEYS + midi - LOWEST_KEY;
            for (f, likely) in [(frame - 1, 0.6), (frame, 0.9), (frame + 1, 0.7)] {
                struck[at(f)] = likely;
            }
            (frame..frame + frames).for_each(|f| sounding[at(f)] = 0.8);
        };
        play(0, 10, 60, 20);
        play(0, 10, 72, SHORTEST_NOTE - 1);
        play(1, 160, 67, 12);
        let notes = decode(&sounding, &struck);
        let seen: Vec<_> = notes.iter().map(|note| name(note.midi)).collect();
        assert_eq!(seen, ["C4", "G4"]);
        assert_eq!(notes[0].start, 10.0 * FRAME_SECONDS);
        assert_eq!(notes[0].seconds, 20.0 * FRAME_SECONDS);
        assert_eq!(notes[1].start, WINDOW_SECONDS + 160.0 * FRAME_SECONDS);
    }
}
