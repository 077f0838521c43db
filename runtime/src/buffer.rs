//! A growable, aligned, zero-initialised block of memory.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::executor::device::{Home, Session};

/// Alignment of every tensor that the runtime places, in bytes: a cache line, and the widest vector.
pub(crate) const ALIGN: usize = 64;

/// Memory for tensors. It only grows: going back to a smaller size costs nothing.
#[derive(Debug)]
pub(crate) struct Buffer {
    start: NonNull<u8>,
    capacity: usize,
    /// Where the memory comes from, when a device must see it.
    source: Option<(Arc<dyn Session>, Home)>,
}

// SAFETY: a buffer owns its memory, like a Vec.
unsafe impl Send for Buffer {}
// SAFETY: shared references give no access to the memory but by raw pointer.
unsafe impl Sync for Buffer {}

impl Buffer {
    pub const fn new() -> Buffer {
        // SAFETY: the alignment isn't zero. It's a dangling pointer, as good as any for zero bytes.
        let start = unsafe { NonNull::new_unchecked(std::ptr::without_provenance_mut(ALIGN)) };
        Buffer { start, capacity: 0, source: None }
    }

    /// A buffer in memory that the session's device sees; of the host alone without a session.
    pub fn shared(session: Option<&Arc<dyn Session>>, home: Home) -> Buffer {
        Buffer { source: session.map(|session| (session.clone(), home)), ..Buffer::new() }
    }

    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Makes room for `bytes`; what is in the buffer stays, the rest is zero. `place` names the buffer in the error.
    pub fn reserve(&mut self, bytes: u64, place: &str) -> Result<()> {
        if bytes <= self.capacity as u64 {
            return Ok(());
        }
        let no_memory = || Error::Memory { place: place.into(), bytes };
        let wanted = usize::try_from(bytes).ok().and_then(|n| n.checked_next_multiple_of(ALIGN));
        let layout =
            Layout::from_size_align(wanted.ok_or_else(no_memory)?, ALIGN).map_err(|_| no_memory())?;
        let start = match &self.source {
            Some((session, home)) => session.allocate(layout.size(), *home, place)?,
            // SAFETY: the layout's size isn't zero: `bytes` is above the capacity.
            None => NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(no_memory)?,
        };
        // SAFETY: both blocks are at least the old capacity long, and distinct.
        unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr(), start.as_ptr(), self.capacity) };
        *self = Buffer { start, capacity: layout.size(), source: self.source.clone() };
        Ok(())
    }

    /// As [`Buffer::reserve`], but grows by half at least, so that appending piece by piece stays linear.
    pub fn reserve_appending(&mut self, bytes: u64, place: &str) -> Result<()> {
        if bytes <= self.capacity as u64 {
            return Ok(());
        }
        let generous = bytes.max((self.capacity + self.capacity / 2) as u64);
        self.reserve(generous, place).or_else(|_| self.reserve(bytes, place))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.capacity == 0 {
            return;
        }
        match &self.source {
            Some((session, _)) => session.free(self.start),
            // SAFETY: the block was allocated with this layout.
            None => unsafe {
                dealloc(self.start.as_ptr(), Layout::from_size_align_unchecked(self.capacity, ALIGN))
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_keeps_what_is_there() {
        let mut buffer = Buffer::new();
        buffer.reserve(3, "test").unwrap();
        assert_eq!(buffer.as_ptr() as usize % ALIGN, 0);
        // SAFETY: three bytes were reserved.
        unsafe { buffer.as_ptr().copy_from(b"abc".as_ptr(), 3) };
        buffer.reserve_appending(1000, "test").unwrap();
        // SAFETY: a thousand bytes are initialised.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.as_ptr(), 1000) };
        assert_eq!(&bytes[..4], b"abc\0");
        let start = buffer.as_ptr();
        buffer.reserve(10, "test").unwrap();
        assert_eq!(buffer.as_ptr(), start);
    }

    #[test]
    fn too_much_is_an_error() {
        let error = Buffer::new().reserve(u64::MAX, "the arena").unwrap_err();
        assert_eq!(error, Error::Memory { place: "the arena".into(), bytes: u64::MAX });
        assert!(Buffer::new().reserve(isize::MAX as u64 - 100, "the arena").is_err());
    }
}
