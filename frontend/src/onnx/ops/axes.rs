//! Axes that operators take as input, which may be known at run time only.

use tcc_ir::{Cmp, Dim};

use crate::onnx::node::{ImportError, NodeCx, Result};

/// Highest rank of a tensor whose axes the run decides: each extent of the result asks for each axis whether it's meant,
/// which comes to the fourth power of the rank.
const MAX_RANK_UNKNOWN: usize = 16;

/// A list of axes, each counted from the front, and what can be asked of it for a given axis. The answers are
/// numbers where the axes are constants, else expressions of the symbols that they are read into.
pub(super) struct Axes {
    entries: Vec<Dim>,
}

impl Axes {
    /// Axes of a tensor of rank `rank`; negative ones count from the end.
    pub fn new(cx: &NodeCx, axes: &[Dim], rank: usize) -> Result<Self> {
        if axes.len() > rank {
            return Err(ImportError::invalid(format!("{} axes of a tensor of rank {rank}", axes.len())));
        }
        let known: Vec<i64> = axes.iter().filter_map(Dim::as_const).collect();
        cx.axes(&known, rank)?;
        if known.len() < axes.len() && rank > MAX_RANK_UNKNOWN {
            let cause = format!("axes of a tensor of rank {rank} must be known at compile time");
            return Err(ImportError::unsupported(cause));
        }
        let (zero, rank) = (Dim::from(0), Dim::from(rank));
        let from_front = |axis: &Dim| Dim::select(Cmp::Lt, axis, &zero, &(axis.clone() + rank.clone()), axis);
        Ok(Axes { entries: axes.iter().map(from_front).collect() })
    }

    /// Axes where the operator was given `n_entries` values and maybe a list of the axes they are for; without
    /// it they are for the first ones.
    pub fn of_entries(cx: &NodeCx, axes: Option<Vec<Dim>>, n_entries: usize, rank: usize) -> Result<Self> {
        let axes = axes.unwrap_or_else(|| (0..n_entries).map(Dim::from).collect());
        if axes.len() != n_entries {
            return Err(ImportError::invalid(format!(
                "{} axes are given for {n_entries} entries",
                axes.len()
            )));
        }
        Axes::new(cx, &axes, rank)
    }

    /// The one of `entries` (as many as axes) that is for `axis`, or `default`.
    pub fn entry(&self, axis: usize, entries: &[Dim], default: &Dim) -> Result<Dim> {
        if entries.len() != self.entries.len() {
            return Err(ImportError::invalid(format!(
                "{} entries, but {} axes",
                entries.len(),
                self.entries.len()
            )));
        }
        let axis = Dim::from(axis);
        Ok(self
            .entries
            .iter()
            .zip(entries)
            .fold(default.clone(), |found, (of, entry)| Dim::select(Cmp::Eq, of, &axis, entry, &found)))
    }

    /// 1 where `axis` is in the list, else 0.
    pub fn contains(&self, axis: usize) -> Dim {
        let (zero, one, axis) = (Dim::from(0), Dim::from(1), Dim::from(axis));
        self.entries.iter().fold(zero, |found, of| Dim::select(Cmp::Eq, of, &axis, &one, &found))
    }

    /// How many of the axes before `axis` are not in the list.
    pub fn n_others_before(&self, axis: usize) -> Dim {
        (0..axis).fold(Dim::from(axis), |count, other| count - self.contains(other))
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }
}
