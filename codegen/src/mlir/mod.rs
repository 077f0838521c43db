//! MLIR: the one place that parses kernels' text, runs MLIR's passes and hands the result to LLVM.
//!
//! Kernels are written as text, so whatever lowers them needs no MLIR types and a mistake is a message with a
//! line, never a crash inside MLIR's C++.
//!
//! # How a kernel looks
//!
//! [`Function`] writes what surrounds a body; a kernel `@NAME` is two functions, and one more for each of its parts:
//!
//! * `@NAME(%bufs, %dims, %begin, %end, %scratch) -> i32` with the run-time ABI; it loads each pointer and each
//!   dim and calls
//! * `@NAME.body(pointers..., dims..., begin, end, scratch) -> i32`, which has each buffer as an argument of its
//!   own. `noalias` is only effective on arguments, and it is what lets LLVM vectorise without run-time overlap
//!   checks; the body is therefore kept out of line;
//! * `@NAME.PART(pointers..., sizes...)` for each [`Part`], which the body calls, with pointers and sizes of its own.
//!
//! On a GPU a kernel is one function: see [`gpu`](crate::gpu).
//!
//! In the body's text these names exist:
//!
//! | name | type | meaning |
//! |---|---|---|
//! | `%b0`, `%b1`... | `memref<?xT>` | buffers, in the order of the step's arguments |
//! | `%d0`, `%d1`... | `index` | dims |
//! | `%begin`, `%end` | `index` | tiles to do |
//! | `%scratch` | `memref<?xi8>` | scratch of this thread; take typed parts with `memref.view` |
//!
//! Names that begin with `%abi.` are the wrapper's. A body uses arith, math, scf, vector, memref, index and ub, is
//! straight-line or structured (scf), and ends by naming an `i32` fault code, if it can fail.
//!
//! Rules a body has to keep:
//!
//! * Indices are flat element offsets and never negative: address arithmetic is `inbounds nuw`.
//! * A memref's extent is not known (`memref.dim` gives the largest index). So `vector.transfer_read` never
//!   masks by itself: use `vector.maskedload` or a scalar tail.
//! * A buffer that shares memory with another one that is written must be declared [`Buffer::in_place`].
//! * `vector.load` and `vector.store` assume the element's alignment only.
//! * No allocation but `memref.alloca` of constant size outside loops; no `memref.copy` (it is a call).
//! * Math functions that LLVM can't do inline for the target have to be expanded before; the compiler refuses
//!   the module otherwise. That is exp, log, sin, pow, tanh, erf and `arith.remf` everywhere, f64 to f16 casts on
//!   most targets, and what [`Capabilities`](crate::target::Capabilities) denies.
//! * bf16 is for loads, stores and casts to and from f32; arithmetic on it is refused. The f8 types have no
//!   lowering: treat them as i8.
//! * Where the target's `index_bits` is 32, vectors have one dimension and no `vector.step` or `create_mask`.
//! * `vector.multi_reduction` has no lowering: reduce rows with arith and the last one with `vector.reduction`.
//! * Shared helper functions are `llvm.func internal @name(...)` and called with `llvm.call`.

mod function;
mod pipeline;
mod session;

pub use function::{Buffer, Function, Part, module_text};
pub(crate) use function::{Descriptor, line, module_head, module_of_bodies};
pub use pipeline::{to_binary, to_llvm_dialect, to_spirv_dialect};
pub use session::{Module, Session};
