//! What a model's function returns.

/// All went well.
pub const OK: i32 = 0;
/// A kernel met an index that is out of range.
pub const INDEX: i32 = 1;
/// A kernel met an integer division by zero, or an overflow.
pub const INTEGER: i32 = 2;
/// A pointer is null, or the arena isn't aligned.
pub const ARGUMENT: i32 = 3;
/// A size is out of its bounds, or doesn't fit what the model does with it.
pub const SIZE: i32 = 4;
/// The first condition of the model that doesn't hold is number `status - CHECK`.
pub const CHECK: i32 = 100;

/// The names that C code has for the codes of every model.
pub const NAMES: &[(&str, i32, &str)] = &[
    ("OK", OK, "all went well"),
    ("ERROR_INDEX", INDEX, "an index that the data decides is out of range"),
    ("ERROR_INTEGER", INTEGER, "an integer division by zero, or an overflow"),
    ("ERROR_ARGUMENT", ARGUMENT, "a pointer is null, or the arena isn't aligned"),
    ("ERROR_SIZE", SIZE, "a size is out of its bounds, or doesn't fit what the model does with it"),
    ("ERROR_CHECK", CHECK, "from here on: a condition that the model needs doesn't hold"),
];
