//! Time of each step of a run.

use std::time::Duration;

use crate::package::{Manifest, Step};

/// What was measured of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileRow {
    /// The kernel's or routine's name.
    pub name: String,
    /// The model's nodes that it computes.
    pub source: String,
    pub calls: u64,
    pub time: Duration,
    /// Work of all calls together, where the compiler stated it.
    pub flops: u64,
    pub bytes: u64,
}

/// Counters per step of each block.
#[derive(Debug)]
pub(crate) struct Profile {
    blocks: Vec<Vec<Counter>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    calls: u64,
    time: Duration,
    flops: u64,
    bytes: u64,
}

impl Profile {
    pub fn new(manifest: &Manifest) -> Profile {
        Profile {
            blocks: manifest.blocks.iter().map(|block| vec![Counter::default(); block.steps.len()]).collect(),
        }
    }

    pub fn add(&mut self, block: usize, step: usize, time: Duration, flops: u64, bytes: u64) {
        let counter = &mut self.blocks[block][step];
        counter.calls += 1;
        counter.time += time;
        counter.flops = counter.flops.saturating_add(flops);
        counter.bytes = counter.bytes.saturating_add(bytes);
    }

    /// A row for each step that did work; control flow is seen through the steps inside of it.
    pub fn rows(&self, manifest: &Manifest) -> Vec<ProfileRow> {
        let steps = manifest.blocks.iter().flat_map(|block| &block.steps);
        steps
            .zip(self.blocks.iter().flatten())
            .filter_map(|(step, counter)| {
                let (name, source) = match step {
                    Step::Kernel(step) => {
                        let kernel = &manifest.kernels[step.kernel.index()];
                        (kernel.name.clone(), kernel.source.clone())
                    }
                    Step::Builtin(step) => (step.op.clone(), step.source.clone()),
                    Step::Copy { .. } => ("copy".into(), String::new()),
                    _ => return None,
                };
                let Counter { calls, time, flops, bytes } = *counter;
                Some(ProfileRow { name, source, calls, time, flops, bytes })
            })
            .collect()
    }
}
