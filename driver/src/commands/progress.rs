//! Says on a terminal what takes long.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shown after a second, until it is dropped.
pub struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// `what` is being done from now on.
    pub fn start(what: impl Into<String>) -> Progress {
        if !std::io::stderr().is_terminal() {
            return Progress(None);
        }
        let (what, start) = (what.into(), Instant::now());
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            let mut shown = false;
            while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                eprint!("\r{what} ... {} s", start.elapsed().as_secs());
                let _ = std::io::stderr().flush();
                shown = true;
            }
            if shown {
                eprint!("\r\x1b[K");
            }
        });
        Progress(Some((stop, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // A thread that failed has shown less than it should; nothing more is lost.
            let _ = thread.join();
        }
    }
}
