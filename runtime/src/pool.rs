//! A pool of threads for one parallel loop at a time. Work is split statically, and no call allocates.

use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::os;

/// How long a thread polls for the next loop before it sleeps: the gap between two kernels is shorter, the gap
/// between two runs is usually longer.
const SPIN: Duration = Duration::from_micros(40);

/// A fixed number of threads, the caller among them.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held during a parallel loop; another caller meanwhile does its loop alone.
    busy: Mutex<()>,
    /// Threads that task graphs are spread over.
    lanes: usize,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({} threads)", self.threads())
    }
}

/// A loop body: called with the thread's number and its part of the tiles.
type Body<'a> = &'a (dyn Fn(usize, Range<i64>) + Sync);

#[derive(Clone, Copy)]
struct Job {
    /// The body with its lifetime erased; valid until `pending` is 0.
    body: *const (dyn Fn(usize, Range<i64>) + Sync),
    tiles: i64,
    threads: usize,
}

struct Shared {
    /// Counts loops; a change is the start of the next one.
    epoch: AtomicU32,
    /// Workers that haven't finished the current loop.
    pending: AtomicU32,
    sleepers: AtomicUsize,
    caller_sleeps: AtomicBool,
    stop: AtomicBool,
    panicked: AtomicBool,
    spin: Duration,
    /// Written by the caller before `epoch` changes, read by workers after: never at the same time.
    job: UnsafeCell<Option<Job>>,
}

// SAFETY: `job` is handed over by the release and acquire of `epoch` and `pending`; the rest is atomic.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Pool {
    /// A pool of this many threads, or as many as the process may use when 0. The calling thread is one of them.
    /// If the system refuses a thread, the pool is smaller.
    pub fn new(threads: usize) -> Pool {
        let usable = os::usable_cpus();
        let threads = if threads == 0 { usable } else { threads.min(MAX_THREADS) };
        let shared = Arc::new(Shared {
            epoch: AtomicU32::new(0),
            pending: AtomicU32::new(0),
            sleepers: AtomicUsize::new(0),
            caller_sleeps: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
            // Polling while another thread waits for the CPU would only delay it.
            spin: if threads <= usable { SPIN } else { Duration::ZERO },
            job: UnsafeCell::new(None),
        });
        let mut workers = Vec::new();
        for number in 1..threads {
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name(format!("tcc-{number}"));
            match thread.spawn(move || worker(&shared, number)) {
                Ok(handle) => workers.push(handle),
                Err(_) => break,
            }
        }
        // Lanes wait for each other: those beyond the CPUs that there are would only be waited for.
        let lanes = (workers.len() + 1).min(usable);
        Pool { shared, workers, busy: Mutex::new(()), lanes }
    }

    /// A pool that spreads task graphs over all of its threads, though there may be fewer CPUs: for tests.
    #[doc(hidden)]
    pub fn oversubscribed(threads: usize) -> Pool {
        let mut pool = Pool::new(threads);
        pool.lanes = pool.threads();
        pool
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes
    }

    /// How long a thread that waits for another one polls before it sleeps.
    pub(crate) fn spin(&self) -> Duration {
        self.shared.spin
    }

    /// Number of threads, the caller among them.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `body` for parts of `0..tiles` that cover it, each on its own thread, and waits for all.
    pub fn run(&self, tiles: i64, body: Body<'_>) {
        let guard = if self.workers.is_empty() || tiles <= 1 { None } else { self.busy.try_lock().ok() };
        if guard.is_none() {
            body(0, 0..tiles);
            return;
        }
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes. No worker uses the body after `pending` is 0, which is waited for below,
        // also when the body panics here.
        let body_ptr: *const (dyn Fn(usize, Range<i64>) + Sync) = unsafe { std::mem::transmute(body) };
        // SAFETY: no loop is running (`busy` is held and `pending` is 0), so no worker reads the job now.
        unsafe { *shared.job.get() = Some(Job { body: body_ptr, tiles, threads: self.threads() }) };
        shared.pending.store(self.workers.len() as u32, Ordering::Relaxed);
        // SeqCst on both sides: either the worker sees the new epoch before it sleeps, or we see that it sleeps.
        shared.epoch.fetch_add(1, Ordering::SeqCst);
        if shared.sleepers.load(Ordering::SeqCst) > 0 {
            os::wake_all(&shared.epoch);
        }
        let wait = WaitForWorkers(shared);
        body(0, part(tiles, 0, self.threads()));
        drop(wait);
        assert!(!shared.panicked.swap(false, Ordering::Relaxed), "a worker thread panicked");
    }
}

/// More threads than any machine has CPUs would only waste memory.
const MAX_THREADS: usize = 1024;

/// Waits when dropped, so that the body's borrow ends after its last use even when the caller's part panics.
struct WaitForWorkers<'a>(&'a Shared);

impl Drop for WaitForWorkers<'_> {
    fn drop(&mut self) {
        let shared = self.0;
        if poll(shared.spin, || shared.pending.load(Ordering::Acquire) == 0) {
            return;
        }
        shared.caller_sleeps.store(true, Ordering::SeqCst);
        loop {
            let pending = shared.pending.load(Ordering::SeqCst);
            if pending == 0 {
                break;
            }
            os::wait(&shared.pending, pending);
        }
        shared.caller_sleeps.store(false, Ordering::Relaxed);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.epoch.fetch_add(1, Ordering::SeqCst);
        os::wake_all(&self.shared.epoch);
        for worker in self.workers.drain(..) {
            // A worker can't panic outside of a body, and that is reported where it happens.
            let _ = worker.join();
        }
    }
}

/// The share of thread `number` of `threads`.
pub(crate) fn part(tiles: i64, number: usize, threads: usize) -> Range<i64> {
    let edge = |n: usize| (tiles as i128 * n as i128 / threads as i128) as i64;
    edge(number)..edge(number + 1)
}

fn worker(shared: &Shared, number: usize) {
    let mut seen = 0;
    loop {
        let changed = || shared.epoch.load(Ordering::Acquire) != seen;
        if !poll(shared.spin, changed) {
            shared.sleepers.fetch_add(1, Ordering::SeqCst);
            while shared.epoch.load(Ordering::SeqCst) == seen {
                os::wait(&shared.epoch, seen);
            }
            shared.sleepers.fetch_sub(1, Ordering::SeqCst);
        }
        seen = shared.epoch.load(Ordering::Acquire);
        if shared.stop.load(Ordering::Acquire) {
            return;
        }
        // SAFETY: the epoch changed after the job was written, and it isn't written again before `pending` is 0.
        let job = unsafe { *shared.job.get() };
        if let Some(job) = job {
            let range = part(job.tiles, number, job.threads);
            if !range.is_empty() {
                // SAFETY: the caller keeps the body alive until `pending` is 0.
                let body = unsafe { &*job.body };
                let call = std::panic::AssertUnwindSafe(|| body(number, range));
                if std::panic::catch_unwind(call).is_err() {
                    shared.panicked.store(true, Ordering::Relaxed);
                }
            }
        }
        if shared.pending.fetch_sub(1, Ordering::SeqCst) == 1 && shared.caller_sleeps.load(Ordering::SeqCst) {
            os::wake_all(&shared.pending);
        }
    }
}

/// Polls for a while; whether the condition came true.
pub(crate) fn poll(limit: Duration, done: impl Fn() -> bool) -> bool {
    for _ in 0..64 {
        if done() {
            return true;
        }
        std::hint::spin_loop();
    }
    if limit.is_zero() {
        return false;
    }
    let start = Instant::now();
    while start.elapsed() < limit {
        for _ in 0..64 {
            if done() {
                return true;
            }
            std::hint::spin_loop();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicI64;

    #[test]
    fn parts_cover_all_tiles_once() {
        for (tiles, threads) in [(0, 3), (1, 4), (7, 3), (i64::MAX, 5), (12, 4)] {
            let mut at = 0;
            for number in 0..threads {
                let range = part(tiles, number, threads);
                assert_eq!(range.start, at);
                at = range.end;
            }
            assert_eq!(at, tiles);
        }
    }

    #[test]
    fn every_tile_runs_exactly_once() {
        for threads in [1, 2, 3, 8] {
            let pool = Pool::new(threads);
            assert_eq!(pool.threads(), threads);
            for round in 0..200 {
                let counts: Vec<AtomicI64> = (0..round % 23).map(|_| AtomicI64::new(0)).collect();
                pool.run(counts.len() as i64, &|_, range| {
                    for tile in range {
                        counts[tile as usize].fetch_add(1, Ordering::Relaxed);
                    }
                });
                assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
                if round % 50 == 0 {
                    // Long enough for the workers to sleep, so that waking them is tested too.
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
    }

    #[test]
    fn two_callers_share_a_pool() {
        let pool = Pool::new(3);
        let total = AtomicI64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        pool.run(10, &|_, range| {
                            total.fetch_add(range.end - range.start, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(total.load(Ordering::Relaxed), 4000);
    }
}
