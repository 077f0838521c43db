// The header says what a call takes: sizes with their bounds, tensors with types and dims, the arena, the codes.
// RUN: %tcc compile %s --emit header --dim N=2..8 | %FileCheck %s
// The macro's prefix is the file's name.
// CHECK: #define HEADER_ARENA_BYTES {{[0-9]+}}
// CHECK: #define HEADER_ARENA_ALIGN 64
// CHECK: HEADER_OK = 0,
// CHECK: #define HEADER_SIZE_N_MIN 2
// CHECK: #define HEADER_SIZE_N_MAX 8
// CHECK: /* The input "in:0": f32[N, 3] */
// CHECK: #define HEADER_INPUT_IN_0_DIM_0_MAX 8
// CHECK: #define HEADER_INPUT_IN_0_DIM_1 3
// CHECK: #define HEADER_INPUT_IN_0_MAX_ELEMENTS 24
// CHECK: #define HEADER_OUTPUT_Y_MAX_BYTES 96
// CHECK: int64_t N; /* the size N, 2 to 8 */
// CHECK: const float *in_0;
// CHECK: float *y;
// CHECK: int32_t header_run(const header_inputs *inputs, const header_outputs *outputs, void *arena);
// It is C, and C++.
// RUN: %tcc compile %s --emit header --dim N=2..8 --out-dir %t.d
// RUN: clang-22 -xc -std=c99 -Wall -Werror -pedantic -fsyntax-only %t.d/header.h
// RUN: clang-22 -xc++ -std=c++11 -Wall -Werror -fsyntax-only %t.d/header.h
graph @f(%"in:0": f32[N, 3]) {
  %0 = exp %"in:0"
  %y = neg %0
  return %y
}
