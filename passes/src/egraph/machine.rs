//! The machine that costs are estimated for.

/// Sizes and rates of a machine, rough: good for choosing between ways to compute the same, not for predicting times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    /// Cores that share a kernel's tiles.
    pub cores: u32,
    /// Bytes in a vector register.
    pub vector_bytes: u32,
    /// Cycles a second.
    pub hertz: f64,
    /// f32 operations a core does a cycle at best, a fused multiply-add counted as two.
    pub flops_per_cycle: u32,
    /// Operations in sums of products of 8- and 16-bit integers, counted alike.
    pub pairs_per_cycle: u32,
    /// Bytes of the caches, nearest first; the last one is shared by all cores.
    pub caches: [u64; 3],
    /// Bytes that a core reads a cycle from each cache.
    pub cache_bytes_per_cycle: [f64; 3],
    /// Bytes a second from memory, all cores together.
    pub bandwidth: f64,
    /// Bytes that the temporaries of a kernel may take at most, where that is a fixed part of the machine: their sizes
    /// must have a bound then.
    pub scratch: Option<u64>,
    /// Rows that are done at once at most where matrix products are among the stages of a kernel; 0 where there is no
    /// schedule for such kernels.
    pub row_block: u32,
    /// Columns that the schedule of matrix products does side by side; 0 where it has none.
    pub panel: u32,
    /// Seconds to start a kernel and to wait for its end.
    pub launch: f64,
}

/// What of a machine is assumed in place of what is known of it, by the names of `--machine`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Assumed(Vec<(Field, f64)>);

type Set = fn(&mut Machine, f64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Field(usize);

/// The numbers that can be assumed. Casts saturate.
const FIELDS: [(&str, Set); 10] = [
    ("cores", |m, v| m.cores = v as u32),
    ("vector-bytes", |m, v| m.vector_bytes = v as u32),
    ("hertz", |m, v| m.hertz = v),
    ("flops-per-cycle", |m, v| m.flops_per_cycle = v as u32),
    ("pairs-per-cycle", |m, v| m.pairs_per_cycle = v as u32),
    ("l1", |m, v| m.caches[0] = v as u64),
    ("l2", |m, v| m.caches[1] = v as u64),
    ("l3", |m, v| m.caches[2] = v as u64),
    ("bandwidth", |m, v| m.bandwidth = v),
    ("launch", |m, v| m.launch = v),
];

impl Assumed {
    /// Reads `NAME=NUMBER`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Assumed, String> {
        let names = || FIELDS.map(|(name, _)| name).join(", ");
        let (name, value) = text.split_once('=').ok_or("NAME=NUMBER is expected")?;
        let field = FIELDS.iter().position(|(known, _)| *known == name);
        let field = field.ok_or_else(|| format!("the name is one of {}", names()))?;
        let value = value.parse::<f64>().ok().filter(|v| v.is_finite() && *v > 0.0);
        let value = value.ok_or_else(|| format!("{name} is a positive number"))?;
        Ok(Assumed(vec![(Field(field), value)]))
    }

    /// Both; where they disagree the later one holds.
    #[must_use]
    pub fn and(mut self, later: &Assumed) -> Assumed {
        self.0.extend(&later.0);
        self
    }

    /// The machine with that.
    pub fn of(&self, mut machine: Machine) -> Machine {
        self.0.iter().for_each(|(field, value)| FIELDS[field.0].1(&mut machine, *value));
        machine
    }
}

impl Default for Machine {
    /// A desktop machine with 256-bit vectors.
    fn default() -> Self {
        Machine {
            cores: 8,
            vector_bytes: 32,
            hertz: 3e9,
            flops_per_cycle: 32,
            pairs_per_cycle: 64,
            caches: [32 << 10, 512 << 10, 16 << 20],
            cache_bytes_per_cycle: [32.0, 16.0, 8.0],
            bandwidth: 40e9,
            scratch: None,
            row_block: 96,
            panel: 16,
            launch: 1e-6,
        }
    }
}

impl Machine {
    /// Seconds that a core takes to read `bytes` from a buffer of `size` bytes that was written a short while ago.
    pub fn transfer(&self, bytes: f64, size: f64) -> f64 {
        // Half of a cache is left to everything else.
        let level = self.caches.iter().position(|cache| size <= *cache as f64 / 2.0);
        match level {
            Some(level) => bytes / (self.cache_bytes_per_cycle[level] * self.hertz),
            None => bytes / self.bandwidth.min(self.cache_bytes_per_cycle[2] * self.hertz),
        }
    }
}
