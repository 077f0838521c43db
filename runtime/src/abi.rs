//! The C interface, declared in `include/tcc.h`. Each function checks its pointers, catches panics, and keeps the text of
//! the thread's last error.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::context::Context;
use crate::error::{Error, Result, Status};
use crate::load::Package;
use crate::object::{Object, Tensor, element_count};
use crate::package::{DType, Expr, Io, Manifest};
use crate::pool::Pool;

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::new(CString::default());
}

/// `tcc_package`.
pub struct CPackage {
    package: Arc<Package>,
    inputs: Vec<Description>,
    outputs: Vec<Description>,
}

/// `tcc_context`.
pub struct CContext(Context);

/// What `tcc_io` points to.
struct Description {
    name: CString,
    dims: Vec<i64>,
    dtype: DType,
    form: u32,
}

/// `tcc_io`.
#[repr(C)]
pub struct CIo {
    pub name: *const c_char,
    pub dtype: u32,
    pub form: u32,
    pub rank: usize,
    pub dims: *const i64,
}

/// `tcc_tensor`.
#[repr(C)]
pub struct CTensor {
    pub dtype: u32,
    pub rank: usize,
    pub shape: *const i64,
    pub data: *const u8,
    pub bytes: usize,
}

/// Runs the body of a function and turns its error into a code and a text.
fn guard(body: impl FnOnce() -> Result<()>) -> Status {
    let panicked = |_| Err(Error::Internal { cause: "the runtime panicked".into() });
    let (status, text) = match catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(panicked) {
        Ok(()) => return Status::Ok,
        Err(error) => (error.status(), error.to_string()),
    };
    LAST_ERROR.with_borrow_mut(|last| *last = c_string(&text));
    status
}

/// The text up to a NUL, which C could not see beyond.
fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

fn null(what: &str) -> Error {
    Error::Argument { cause: format!("{what} is NULL") }
}

/// # Safety
/// The pointer must be null or valid for reading during `'a`.
unsafe fn get<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// # Safety
/// The pointer must be null or valid for reading and writing during `'a`, by nobody else.
unsafe fn get_mut<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_mut() }.ok_or_else(|| null(what))
}

/// # Safety
/// The pointer must be null or valid for reading `len` items during `'a`.
unsafe fn slice<'a, T>(pointer: *const T, len: usize, what: &str) -> Result<&'a [T]> {
    match (len, pointer.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(null(what)),
        // SAFETY: as the caller promises.
        _ => Ok(unsafe { std::slice::from_raw_parts(pointer, len) }),
    }
}

fn describe(manifest: &Manifest, ios: &[Io]) -> Vec<Description> {
    let describe = |io: &Io| {
        let value = &manifest.values[io.value.index()];
        let dim = |dim: &crate::package::ExprId| match manifest.exprs[dim.index()] {
            Expr::Const(size) => size,
            _ => -1,
        };
        let dims = value.dims.iter().map(dim).collect();
        Description { name: c_string(&io.name), dims, dtype: value.dtype, form: value.form as u32 }
    };
    ios.iter().map(describe).collect()
}

/// # Safety
/// `out` must be null or valid for writing.
unsafe fn hand_out(package: Package, out: *mut *mut CPackage) -> Result<()> {
    // SAFETY: as the caller promises.
    let out = unsafe { get_mut(out, "package") }?;
    let manifest = package.manifest();
    let (inputs, outputs) = (describe(manifest, &manifest.inputs), describe(manifest, &manifest.outputs));
    *out = Box::into_raw(Box::new(CPackage { package: Arc::new(package), inputs, outputs }));
    Ok(())
}

/// Text of this thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn tcc_error() -> *const c_char {
    LAST_ERROR.with_borrow(|last| last.as_ptr())
}

/// # Safety
/// `path` must be a C string, `out` valid for writing; either may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_package_open(path: *const c_char, out: *mut *mut CPackage) -> Status {
    guard(|| {
        if path.is_null() {
            return Err(null("path"));
        }
        // SAFETY: as the caller promises.
        let path = unsafe { CStr::from_ptr(path) };
        let path = path.to_str().map_err(|_| Error::Argument { cause: "the path isn't UTF-8".into() })?;
        // SAFETY: as the caller promises.
        unsafe { hand_out(Package::open(path)?, out) }
    })
}

/// # Safety
/// `data` must be valid for reading `bytes` bytes, `out` valid for writing; either may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_package_open_memory(
    data: *const u8,
    bytes: usize,
    out: *mut *mut CPackage,
) -> Status {
    // SAFETY: as the caller promises.
    guard(|| unsafe { hand_out(Package::from_bytes(slice(data, bytes, "data")?)?, out) })
}

/// # Safety
/// `package` must be an open package or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_package_verify_weights(package: *const CPackage) -> Status {
    // SAFETY: as the caller promises.
    guard(|| unsafe { get(package, "package") }?.package.verify_weights())
}

/// # Safety
/// `package` must be an open package, not used any more, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_package_close(package: *mut CPackage) {
    if !package.is_null() {
        // SAFETY: it came from `Box::into_raw` and isn't used any more.
        drop(unsafe { Box::from_raw(package) });
    }
}

/// # Safety
/// `package` must be an open package or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_input_count(package: *const CPackage) -> usize {
    // SAFETY: as the caller promises.
    unsafe { package.as_ref() }.map_or(0, |package| package.inputs.len())
}

/// # Safety
/// `package` must be an open package or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_output_count(package: *const CPackage) -> usize {
    // SAFETY: as the caller promises.
    unsafe { package.as_ref() }.map_or(0, |package| package.outputs.len())
}

/// # Safety
/// `package` must be an open package, `info` valid for writing; either may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_input_info(package: *const CPackage, index: usize, info: *mut CIo) -> Status {
    // SAFETY: as the caller promises.
    guard(|| unsafe { fill_info(&get(package, "package")?.inputs, "input", index, get_mut(info, "info")?) })
}

/// # Safety
/// `package` must be an open package, `info` valid for writing; either may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_output_info(package: *const CPackage, index: usize, info: *mut CIo) -> Status {
    // SAFETY: as the caller promises.
    guard(|| unsafe { fill_info(&get(package, "package")?.outputs, "output", index, get_mut(info, "info")?) })
}

fn fill_info(all: &[Description], what: &str, index: usize, info: &mut CIo) -> Result<()> {
    let one = all.get(index);
    let one = one.ok_or_else(|| Error::Argument {
        cause: format!("there is no {what} {index}, there are {}", all.len()),
    })?;
    *info = CIo {
        name: one.name.as_ptr(),
        dtype: one.dtype as u32,
        form: one.form,
        rank: one.dims.len(),
        dims: one.dims.as_ptr(),
    };
    Ok(())
}

/// # Safety
/// `package` must be an open package, `out` valid for writing; either may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_context_create(
    package: *const CPackage,
    threads: usize,
    out: *mut *mut CContext,
) -> Status {
    guard(|| {
        // SAFETY: as the caller promises.
        let (package, out) = unsafe { (get(package, "package")?, get_mut(out, "context")?) };
        let context = Context::new(package.package.clone(), Arc::new(Pool::new(threads)));
        *out = Box::into_raw(Box::new(CContext(context)));
        Ok(())
    })
}

/// # Safety
/// `context` must be a context, not used any more, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_context_destroy(context: *mut CContext) {
    if !context.is_null() {
        // SAFETY: it came from `Box::into_raw` and isn't used any more.
        drop(unsafe { Box::from_raw(context) });
    }
}

/// # Safety
/// `context` must be a context, `shape` valid for reading `rank` sizes; either may be null. `data` must be valid for
/// reading the shape's elements, aligned for them, during every run until the input is set again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_set_input(
    context: *mut CContext,
    index: usize,
    dtype: u32,
    shape: *const i64,
    rank: usize,
    data: *const u8,
) -> Status {
    guard(|| {
        // SAFETY: as the caller promises.
        let (context, shape) = unsafe { (get_mut(context, "context")?, slice(shape, rank, "shape")?) };
        let dtype = DType::from_code(dtype);
        let dtype = dtype.ok_or_else(|| Error::Argument { cause: "there is no such element type".into() })?;
        let bytes = element_count(shape).and_then(|count| count.checked_mul(dtype.size()));
        let bytes = bytes.ok_or_else(|| Error::Argument { cause: format!("{shape:?} is no shape") })?;
        if bytes > 0 && data.is_null() {
            return Err(null("data"));
        }
        // SAFETY: as the caller promises.
        unsafe { context.0.bind_input(index, dtype, shape, data, bytes) }
    })
}

/// # Safety
/// `context` must be a context, `shape` valid for reading `rank` sizes, `strings` valid for reading as many C strings as
/// the shape has elements; each may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_set_input_strings(
    context: *mut CContext,
    index: usize,
    shape: *const i64,
    rank: usize,
    strings: *const *const c_char,
) -> Status {
    guard(|| {
        // SAFETY: as the caller promises.
        let (context, shape) = unsafe { (get_mut(context, "context")?, slice(shape, rank, "shape")?) };
        let count = element_count(shape)
            .ok_or_else(|| Error::Argument { cause: format!("{shape:?} is no shape") })?;
        // SAFETY: as the caller promises.
        let pointers = unsafe { slice(strings, count, "strings") }?;
        let text = |&pointer: &*const c_char| {
            if pointer.is_null() {
                return Err(null("a string"));
            }
            // SAFETY: as the caller promises.
            let text = unsafe { CStr::from_ptr(pointer) }.to_str();
            text.map(String::from).map_err(|_| Error::Argument { cause: "a string isn't UTF-8".into() })
        };
        let strings = pointers.iter().map(text).collect::<Result<_>>()?;
        context.0.set_input_object(index, Object::Tensor(Tensor::strings(shape.to_vec(), strings)))
    })
}

/// # Safety
/// `context` must be a context or null. `data` must be null or valid for writing `capacity` bytes, aligned for the
/// output's elements, during every run until the output is set again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_set_output(
    context: *mut CContext,
    index: usize,
    data: *mut u8,
    capacity: usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller promises.
        let context = unsafe { get_mut(context, "context") }?;
        match data.is_null() {
            true => context.0.unbind_output(index),
            // SAFETY: as the caller promises.
            false => unsafe { context.0.bind_output(index, data, capacity) },
        }
    })
}

/// # Safety
/// `context` must be a context or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_prepare(context: *mut CContext) -> Status {
    // SAFETY: as the caller promises.
    guard(|| unsafe { get_mut(context, "context") }?.0.prepare())
}

/// # Safety
/// `context` must be a context or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_run(context: *mut CContext) -> Status {
    // SAFETY: as the caller promises.
    guard(|| unsafe { get_mut(context, "context") }?.0.run())
}

/// # Safety
/// `context` must be a context, `tensor` valid for writing; either may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_output(context: *const CContext, index: usize, tensor: *mut CTensor) -> Status {
    guard(|| {
        // SAFETY: as the caller promises.
        let (context, tensor) = unsafe { (get(context, "context")?, get_mut(tensor, "tensor")?) };
        let view = context.0.output(index)?;
        *tensor = CTensor {
            dtype: view.dtype as u32,
            rank: view.shape.len(),
            shape: view.shape.as_ptr(),
            data: view.bytes.as_ptr(),
            bytes: view.bytes.len(),
        };
        Ok(())
    })
}

/// # Safety
/// `context` must be a context, the other pointers valid for writing; each may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tcc_output_string(
    context: *const CContext,
    index: usize,
    element: usize,
    text: *mut *const c_char,
    bytes: *mut usize,
    count: *mut usize,
) -> Status {
    guard(|| {
        // SAFETY: as the caller promises.
        let context = unsafe { get(context, "context") }?;
        let Object::Tensor(tensor) = context.0.output_object(index)? else {
            return Err(Error::Argument { cause: format!("output {index} isn't a tensor of strings") });
        };
        let strings = tensor.as_strings().unwrap_or_default();
        // SAFETY: as the caller promises.
        if let Some(count) = unsafe { count.as_mut() } {
            *count = strings.len();
        }
        // SAFETY: as the caller promises.
        let (text, bytes) = unsafe { (get_mut(text, "text")?, get_mut(bytes, "bytes")?) };
        let string = strings.get(element).ok_or_else(|| Error::Argument {
            cause: format!("there is no element {element}, there are {}", strings.len()),
        })?;
        (*text, *bytes) = (string.as_ptr().cast(), string.len());
        Ok(())
    })
}

#[cfg(test)]
mod tests;
