//! Kernels for tests, of the calling convention of compiled ones. A tile is one element.
#![allow(dead_code, reason = "each test binary uses its part of the kernels")]

use std::slice::{from_raw_parts, from_raw_parts_mut};

type Bufs = *const *mut u8;

/// The part of a buffer that the tiles `begin..end` are, each of `width` floats.
unsafe fn tile<'a>(bufs: Bufs, at: usize, begin: i64, end: i64, width: i64) -> &'a mut [f32] {
    // SAFETY: the step passes as many buffers, with room for all tiles.
    unsafe {
        let start = (*bufs.add(at)).cast::<f32>().add((begin * width) as usize);
        from_raw_parts_mut(start, ((end - begin) * width) as usize)
    }
}

/// `bufs[2] = bufs[0] + bufs[1]`.
pub unsafe extern "C" fn add(bufs: Bufs, _dims: *const i64, begin: i64, end: i64, _scratch: *mut u8) -> i32 {
    // SAFETY: as `tile` needs.
    let (a, b, out) =
        unsafe { (tile(bufs, 0, begin, end, 1), tile(bufs, 1, begin, end, 1), tile(bufs, 2, begin, end, 1)) };
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = *a + *b;
    }
    0
}

/// `bufs[1] = 2 * bufs[0]`, through scratch of one float.
pub unsafe extern "C" fn double(
    bufs: Bufs,
    _dims: *const i64,
    begin: i64,
    end: i64,
    scratch: *mut u8,
) -> i32 {
    // SAFETY: as `tile` needs; the step states 4 bytes of scratch.
    let (x, out) = unsafe { (tile(bufs, 0, begin, end, 1), tile(bufs, 1, begin, end, 1)) };
    for (out, x) in out.iter_mut().zip(x) {
        // SAFETY: as above.
        unsafe {
            *scratch.cast::<f32>() = *x;
            *out = *scratch.cast::<f32>() * 2.0;
        }
    }
    0
}

/// `bufs[1] = bufs[0][0..dims[0]]` and one more element, 9.
pub unsafe extern "C" fn append_nine(bufs: Bufs, dims: *const i64, _: i64, _: i64, _: *mut u8) -> i32 {
    // SAFETY: `dims[0]` is the input's length plus one, the output's length.
    unsafe {
        let n = *dims as usize;
        let out = from_raw_parts_mut((*bufs.add(1)).cast::<f32>(), n);
        out[..n - 1].copy_from_slice(from_raw_parts((*bufs).cast::<f32>(), n - 1));
        out[n - 1] = 9.0;
    }
    0
}

/// `bufs[1] = bufs[0] < dims[1]`, one i64 in, one bool out.
pub unsafe extern "C" fn less(bufs: Bufs, dims: *const i64, _: i64, _: i64, _: *mut u8) -> i32 {
    // SAFETY: the step passes an i64 and a bool scalar, and two dims.
    unsafe { *(*bufs.add(1)) = ((*bufs).cast::<i64>().read() < *dims.add(1)).into() };
    0
}

/// Fails at any tile from 5 on.
pub unsafe extern "C" fn fail_at_five(_: Bufs, _: *const i64, _: i64, end: i64, _: *mut u8) -> i32 {
    (end > 5).into()
}
