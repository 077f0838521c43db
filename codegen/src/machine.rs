//! A machine as schedules see it: registers, caches, cores and rates. Detected for the host, fixed for named targets.

use std::fs;
use std::path::Path;

use crate::target::{Arch, Target};

/// What a schedule may count on. Sizes are bytes; rates are of the whole machine unless said otherwise, and rough:
/// good for choosing between schedules, not for predicting times.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Width of a vector register; at least 32, so that a scalar machine has vectors of one f32.
    pub vector_bits: u32,
    /// Vector registers (scalar float registers where there are no vectors).
    pub vector_registers: u32,
    /// Data cache next to a core.
    pub l1: u64,
    /// Second-level cache of a core; `l1` where there is none.
    pub l2: u64,
    /// Last-level cache, shared by all cores; `l2` where there is none.
    pub l3: u64,
    /// Cores that may run at once.
    pub cores: u32,
    /// f32 operations a core does a cycle at best, a fused multiply-add counted as two.
    pub flops_per_cycle: u32,
    /// The same in sums of products of 16-bit integers.
    pub pairs_per_cycle: u32,
    /// Cycles a second.
    pub hertz: f64,
    /// Bytes a second from memory, all cores together.
    pub bandwidth: f64,
}

impl Machine {
    /// The machine of a target: this one for `host`, a typical one for others.
    pub fn of(target: &Target) -> Self {
        let typical = Self::typical(target);
        if target.name == "host" { typical.detected() } else { typical }
    }

    /// Elements of `bytes` bytes in a vector register.
    pub fn lanes(&self, bytes: u32) -> u32 {
        (self.vector_bits / 8 / bytes.max(1)).max(1)
    }

    /// f32 operations a second at best, on all cores.
    pub fn peak_flops(&self) -> f64 {
        f64::from(self.flops_per_cycle) * self.hertz * f64::from(self.cores)
    }

    fn typical(target: &Target) -> Self {
        const KIB: u64 = 1 << 10;
        const MIB: u64 = 1 << 20;
        let vector_bits = target.vector_bits.max(32);
        let fma = if target.can.fma { 2 } else { 1 };
        // Units that multiply a cycle: two on application cores, one on small ones.
        let (units, l1, l2, l3, cores, hertz, bandwidth) = match target.arch {
            Arch::X86_64 => (2, 32 * KIB, 512 * KIB, 16 * MIB, 8, 3.0e9, 40.0e9),
            Arch::Aarch64 => (2, 64 * KIB, 512 * KIB, 8 * MIB, 8, 2.5e9, 40.0e9),
            Arch::Riscv64 => (1, 32 * KIB, 256 * KIB, 2 * MIB, 4, 1.5e9, 10.0e9),
            Arch::Wasm32 => (2, 32 * KIB, 256 * KIB, 4 * MIB, 1, 2.5e9, 10.0e9),
            // A multiprocessor counts as a core of 64 units.
            Arch::Nvptx | Arch::Spirv => (64, 192 * KIB, 40 * MIB, 40 * MIB, 108, 1.4e9, 1.5e12),
            Arch::Thumb => (1, 16 * KIB, 16 * KIB, 16 * KIB, 1, 0.15e9, 0.3e9),
        };
        Self {
            vector_bits,
            vector_registers: if target.vector_registers == 0 { 16 } else { target.vector_registers },
            l1,
            l2,
            l3,
            cores,
            flops_per_cycle: units * fma * vector_bits / 32,
            pairs_per_cycle: units
                * if target.arch == Arch::X86_64 { vector_bits / 8 } else { fma * vector_bits / 32 },
            hertz,
            bandwidth,
        }
    }

    /// Replaces what the operating system tells about this machine; the rest stays typical.
    fn detected(mut self) -> Self {
        if let Ok(cores) = std::thread::available_parallelism() {
            self.cores = u32::try_from(cores.get()).unwrap_or(u32::MAX);
        }
        let caches = Path::new("/sys/devices/system/cpu/cpu0/cache");
        for (level, size) in (0..8).filter_map(|idx| read_cache(&caches.join(format!("index{idx}")))) {
            match level {
                1 => self.l1 = size,
                2 => self.l2 = size,
                3 => self.l3 = size,
                _ => {}
            }
        }
        self.l2 = self.l2.max(self.l1);
        self.l3 = self.l3.max(self.l2);
        if let Some(hertz) = read_hertz() {
            self.hertz = hertz;
        }
        self
    }
}

/// Level and bytes of a cache that holds data.
fn read_cache(folder: &Path) -> Option<(u32, u64)> {
    let field = |name: &str| fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned());
    if field("type")? == "Instruction" {
        return None;
    }
    Some((field("level")?.parse().ok()?, parse_size(&field("size")?)?))
}

/// A size as the kernel writes it: `32K`, `16384K`, `32M`.
fn parse_size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits, text.as_bytes()[digits.len()]),
        None => (text, b' '),
    };
    let shift = match unit {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        _ => 0,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|size| *size > 0)
}

fn read_hertz() -> Option<f64> {
    let khz = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").ok();
    if let Some(khz) = khz.and_then(|text| text.trim().parse::<f64>().ok()) {
        return Some(khz * 1e3);
    }
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("cpu MHz"))?;
    line.split(':').nth(1)?.trim().parse::<f64>().ok().map(|mhz| mhz * 1e6).filter(|hertz| *hertz > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_the_kernel_writes_them() {
        assert_eq!(parse_size("32K"), Some(32 << 10));
        assert_eq!(parse_size("32M"), Some(32 << 20));
        assert_eq!(parse_size("64"), Some(64));
        assert_eq!(parse_size("K"), None);
        assert_eq!(parse_size("0K"), None);
    }

    #[test]
    fn named_machines_do_not_depend_on_this_one() {
        let machine = Machine::of(&Target::named("x86-64-v3").unwrap());
        assert_eq!((machine.lanes(4), machine.lanes(8), machine.lanes(1)), (8, 4, 32));
        assert_eq!(machine.flops_per_cycle, 32);
        assert_eq!(machine.cores, 8);
    }

    #[test]
    fn caches_of_the_host_grow_with_their_level() {
        let machine = Machine::of(&Target::host().unwrap());
        assert!(machine.l1 > 0 && machine.l1 <= machine.l2 && machine.l2 <= machine.l3, "{machine:?}");
        assert!(machine.cores >= 1 && machine.peak_flops() > 0.0);
    }

    #[test]
    fn scalar_machines_have_vectors_of_one() {
        let machine = Machine::of(&Target::named("thumbv7em").unwrap());
        assert_eq!((machine.lanes(4), machine.lanes(8)), (1, 1));
    }
}
