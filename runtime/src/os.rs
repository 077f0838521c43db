//! Every call of the operating system. Linux first; elsewhere files are read instead of mapped, and threads poll.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU32;

use crate::error::{Error, Result};

/// A file's bytes, mapped read-only for as long as this lives.
///
/// The file must not be changed meanwhile: a map shows changes, and a truncated file stops the process on access.
#[derive(Debug)]
pub(crate) struct Map {
    start: *mut u8,
    len: usize,
}

// SAFETY: the memory is read-only and belongs to the map until it's dropped.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

/// What a mapped page may be used for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Execute,
}

impl Map {
    /// Opens a file and maps all of it for reading.
    pub fn whole(path: &Path) -> Result<(File, Map)> {
        let opened = File::open(path).and_then(|file| {
            let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
            let map = Map::file(&file, 0, len, Access::Read)?;
            Ok((file, map))
        });
        opened.map_err(|e| Error::Io { path: path.display().to_string(), cause: e.to_string() })
    }

    /// Maps `len` bytes of the file from `offset` on, a multiple of the page size.
    pub fn file(file: &File, offset: u64, len: usize, access: Access) -> io::Result<Map> {
        use std::os::fd::AsRawFd;
        if len == 0 {
            return Ok(Map { start: std::ptr::null_mut(), len: 0 });
        }
        let offset = libc::off_t::try_from(offset).map_err(io::Error::other)?;
        let protection = match access {
            Access::Read => libc::PROT_READ,
            Access::Execute => libc::PROT_READ | libc::PROT_EXEC,
        };
        // SAFETY: a new private mapping at an address of the system's choice touches no existing memory.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_PRIVATE, file.as_raw_fd(), offset)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Map { start: start.cast(), len })
    }

    /// Copies bytes into memory of their own that can be executed and no longer be written.
    pub fn executable_copy(bytes: &[u8]) -> io::Result<Map> {
        if bytes.is_empty() {
            return Ok(Map { start: std::ptr::null_mut(), len: 0 });
        }
        // SAFETY: a new anonymous mapping touches no existing memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes.len(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map = Map { start: start.cast(), len: bytes.len() };
        // SAFETY: the mapping is writable, at least as long as `bytes`, and nobody else knows it yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), map.start, bytes.len()) };
        // SAFETY: changes the protection of our own mapping, which is only read from now on.
        if unsafe { libc::mprotect(start, map.len, libc::PROT_READ | libc::PROT_EXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(map)
    }

    pub fn bytes(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the mapping is readable, `len` long, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: `start` and `len` are those of a mapping that we own. Failure leaves it mapped, which is harmless.
            unsafe { libc::munmap(self.start.cast(), self.len) };
        }
    }
}

/// The system's page size in bytes.
pub(crate) fn page_size() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// Number of threads that this process may usefully run: its CPU affinity, cut by the cgroup's CPU quota.
pub(crate) fn usable_cpus() -> usize {
    let affinity = affinity().unwrap_or(1);
    match cgroup_cpus() {
        Some(quota) => affinity.min(quota),
        None => affinity,
    }
}

#[cfg(target_os = "linux")]
fn affinity() -> Option<usize> {
    // SAFETY: a CPU set of zeros is valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is as large as stated and may be written.
    let status = unsafe { libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set) };
    if status != 0 {
        return std::thread::available_parallelism().ok().map(|n| n.get());
    }
    // SAFETY: reads the set that was just filled.
    usize::try_from(unsafe { libc::CPU_COUNT(&set) }).ok().filter(|&n| n > 0)
}

#[cfg(not(target_os = "linux"))]
fn affinity() -> Option<usize> {
    std::thread::available_parallelism().ok().map(|n| n.get())
}

/// CPUs that the quotas of this process's cgroups allow, rounded up. `None` without a quota.
fn cgroup_cpus() -> Option<usize> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut best: Option<usize> = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        let is_v1 = controllers.split(',').any(|name| name == "cpu");
        if !is_v1 && !controllers.is_empty() {
            continue;
        }
        let root = Path::new(if is_v1 { "/sys/fs/cgroup/cpu" } else { "/sys/fs/cgroup" });
        // Each ancestor may have a tighter quota. Inside a container the path may not exist below the mount: then only
        // the mount's own files are seen.
        for group in Path::new(path).ancestors() {
            let quota = if is_v1 { quota_v1(&root.join(group)) } else { quota_v2(&root.join(group)) };
            best = [best, quota].into_iter().flatten().min();
        }
    }
    best
}

fn quota_v2(group: &Path) -> Option<usize> {
    parse_quota(&std::fs::read_to_string(group.join("cpu.max")).ok()?)
}

fn quota_v1(group: &Path) -> Option<usize> {
    let quota = std::fs::read_to_string(group.join("cpu.cfs_quota_us")).ok()?;
    let period = std::fs::read_to_string(group.join("cpu.cfs_period_us")).ok()?;
    parse_quota(&format!("{} {}", quota.trim(), period.trim()))
}

/// Reads `QUOTA PERIOD` in microseconds; `max` or -1 means no quota.
fn parse_quota(text: &str) -> Option<usize> {
    let mut words = text.split_whitespace();
    let quota: i64 = words.next()?.parse().ok()?;
    let period: i64 = words.next()?.parse().ok()?;
    if quota <= 0 || period <= 0 {
        return None;
    }
    Some((quota as usize).div_ceil(period as usize))
}

/// Sleeps while the word has this value; may also return early.
#[cfg(target_os = "linux")]
pub(crate) fn wait(word: &AtomicU32, value: u32) {
    // SAFETY: the word outlives the call; without a timeout the fourth argument is null.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            value,
            std::ptr::null::<libc::timespec>(),
        );
    }
}

/// Wakes all threads that sleep on the word.
#[cfg(target_os = "linux")]
pub(crate) fn wake_all(word: &AtomicU32) {
    // SAFETY: waking touches no memory.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, i32::MAX);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn wait(_word: &AtomicU32, _value: u32) {
    std::thread::sleep(std::time::Duration::from_micros(50));
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn wake_all(_word: &AtomicU32) {}

/// Whether this CPU has a feature, by the name that Rust gives it. Unknown names count as missing.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_cpu_feature(name: &str) -> bool {
    macro_rules! detect {
        ($($feature:tt)*) => {
            match name {
                $($feature => std::arch::is_x86_feature_detected!($feature),)*
                _ => false,
            }
        };
    }
    detect! {
        "sse" "sse2" "sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "cmpxchg16b" "avx" "avx2" "fma" "f16c" "bmi1" "bmi2"
        "lzcnt" "movbe" "avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl" "avx512vnni" "avx512bf16" "avx512fp16"
        "avx512ifma" "avx512vbmi" "avx512vbmi2" "avx512bitalg" "avx512vpopcntdq" "avxvnni" "vpclmulqdq" "gfni" "vaes"
        "aes" "pclmulqdq" "adx" "sha"
    }
}

#[cfg(target_arch = "aarch64")]
pub(crate) fn has_cpu_feature(name: &str) -> bool {
    macro_rules! detect {
        ($($feature:tt)*) => {
            match name {
                $($feature => std::arch::is_aarch64_feature_detected!($feature),)*
                _ => false,
            }
        };
    }
    detect! {
        "neon" "fp" "fp16" "dotprod" "i8mm" "bf16" "sve" "sve2" "lse" "rdm" "rcpc" "fcma" "crc" "aes" "sha2"
    }
}

/// Rust's own detection isn't stable on RISC-V. Linux tells the extensions of one letter in the auxiliary vector, the
/// others by the system call `riscv_hwprobe`, which older kernels lack: then these count as missing.
#[cfg(all(target_arch = "riscv64", target_os = "linux"))]
pub(crate) fn has_cpu_feature(name: &str) -> bool {
    match name.as_bytes() {
        // SAFETY: getauxval has no preconditions.
        [letter @ b'a'..=b'z'] => (unsafe { libc::getauxval(libc::AT_HWCAP) }) >> (letter - b'a') & 1 == 1,
        b"zfhmin" => riscv_extensions() >> 28 & 1 == 1,
        b"zvfhmin" => riscv_extensions() >> 31 & 1 == 1,
        _ => false,
    }
}

/// The bits of `RISCV_HWPROBE_KEY_IMA_EXT_0`, see Documentation/arch/riscv/hwprobe.rst of the kernel.
#[cfg(all(target_arch = "riscv64", target_os = "linux"))]
fn riscv_extensions() -> u64 {
    #[repr(C)]
    struct Probe {
        key: i64,
        value: u64,
    }
    const RISCV_HWPROBE: libc::c_long = 258;
    const IMA_EXT_0: i64 = 4;
    let mut probe = Probe { key: IMA_EXT_0, value: 0 };
    // SAFETY: one pair that may be written; a CPU set of no bytes means all CPUs.
    let status = unsafe {
        libc::syscall(RISCV_HWPROBE, &raw mut probe, 1usize, 0usize, std::ptr::null::<libc::c_void>(), 0)
    };
    // An unknown key comes back as -1.
    if status == 0 && probe.key == IMA_EXT_0 { probe.value } else { 0 }
}

#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    all(target_arch = "riscv64", target_os = "linux")
)))]
pub(crate) fn has_cpu_feature(_name: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_round_up() {
        assert_eq!(parse_quota("max 100000\n"), None);
        assert_eq!(parse_quota("-1 100000"), None);
        assert_eq!(parse_quota("150000 100000"), Some(2));
        assert_eq!(parse_quota("200000 100000"), Some(2));
        assert_eq!(parse_quota("1000 100000"), Some(1));
        assert_eq!(parse_quota(""), None);
    }

    #[test]
    fn this_process_may_use_a_cpu() {
        assert!(usable_cpus() >= 1);
        assert!(page_size() >= 4096);
    }

    #[test]
    fn an_executable_copy_holds_the_bytes() {
        assert_eq!(Map::executable_copy(&[1, 2, 3]).unwrap().bytes(), [1, 2, 3]);
        assert!(Map::executable_copy(&[]).unwrap().bytes().is_empty());
    }
}
