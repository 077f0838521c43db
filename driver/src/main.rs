//! The `tcc` command. What it does is in the library; here are its options, and what it prints.

mod commands;

use std::process::ExitCode;

/// Stack of the thread that everything runs on: nested regions are walked by recursion, as deep as readers let them nest.
const STACK_BYTES: usize = 512 << 20;

fn main() -> ExitCode {
    restore_sigpipe();
    let run = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(commands::main);
    match run.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        // The panic's message was printed where it happened.
        Ok(Err(_)) => ExitCode::from(101),
        Err(error) => {
            eprintln!("error: no thread to work on: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A reader that goes away (`tcc ops | head`) ends the program quietly, as is usual for commands.
fn restore_sigpipe() {
    // SAFETY: called before there are other threads; SIG_DFL is a valid disposition for SIGPIPE.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
