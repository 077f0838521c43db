//! A limit on the memory of this process, so that one case can't take the whole machine.

use crate::{Code, Diagnostic, Result};

/// Lets this process and its threads take at most `bytes` of memory from now on; what asks for more ends the process.
///
/// # Errors
/// The system doesn't allow it.
pub fn limit(bytes: u64) -> Result<()> {
    // All private memory that may be written, used or not. Files that are mapped for reading don't count.
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the structure is valid for the call, which changes no memory.
    match unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) } {
        0 => Ok(()),
        _ => {
            let error = std::io::Error::last_os_error();
            let message = format!("can't limit memory to {bytes} bytes: {error}");
            Err(Diagnostic::error(Code::ResourceLimit, message).into())
        }
    }
}

/// Whether the last words of a process say that memory ran out.
pub(super) fn ran_out(stderr: &str) -> bool {
    const SIGNS: [&str; 4] =
        ["memory allocation of", "out of memory", "std::bad_alloc", "Cannot allocate memory"];
    SIGNS.iter().any(|sign| stderr.contains(sign))
}
