graph @many(%x: f32[N, 3, 8, 8], %i: i64[2, 2], %b: bool, %s: string[2], %n: i64, %w: f32[4, 3, 3, 3], %q: seq<f32[N]>, %u: f32[2, 8, 8]) where N in 1..=4 {
  %0 = contract %w, %w {lhs_batch = [0], rhs_batch = [0], lhs = [1, 2], rhs = [1, 2], out = f32}
  %1 = conv %x, %w {strides = [2, 1], dilations = [1, 1], pads_before = [1, 1], pads_after = [1, 1], groups = 1}
  %2 = conv_transpose %1, %w {strides = [2, 2], dilations = [1, 1], pads_before = [0, 0], pads_after = [0, 0], output_padding = [1, 0], groups = 1}
  %3 = window %x {kind = max, window = [2, 2], strides = [2, 2], dilations = [1, 1], pads_before = [0, 0], pads_after = [1, 1]}
  %4 = slice %x {starts = [0, 2, 7, 0], sizes = [N, 2, 4, 8], steps = [1, -1, -2, 1]}
  %5 = constant {value = f32[] [0.0]}
  %6 = pad %x, %5 {before = [0, 0, 1, -1], after = [N, 0, 0, 0], mode = constant}
  %7 = concat %x, %x {axis = 1}
  %8 = gather %x, %i {axis = 3}
  %9 = scatter_nd %x, %i, %u {update = add}
  %10 = iota {dims = [N, 2], axis = 1, dtype = i32}
  %11 = reduce %x {kind = sum, axes = [1, 3], keepdims = true}
  %12 = arg_reduce %x {kind = max, axis = 2, last = true, keepdims = false}
  %13 = cumulative %x {kind = sum, axis = 2, exclusive = false, reverse = true}
  %14, %15 = top_k %x {axis = 3, k = 3, largest = true, sorted = true}
  %16 = transpose %x {perm = [3, 2, 1, 0]}
  %17, %18, %19, %20 = unique %i {axis = 0, sorted = true}
  %21 = broadcast %5 {dims = [N, 5]}
  %22 = if %b, %x {then_branch = graph @t(%a: f32[N, 3, 8, 8]) {
    %0 = non_zero %a
    return %0
  }, else_branch = graph @e(%a: f32[N, 3, 8, 8]) prefix "e" {
    %0 = constant {value = i64[4, 1] [0, 0, 0, 0]}
    return %0
  }}
  %23, %24 = loop %n, %x {body = graph @body(%i: i64, %c: bool, %v: f32[N, 3, 8, 8]) prefix "l" {
    %0 = exp %v
    return %c, %0, %i
  }, n_carried = 1, has_trip = true, has_cond = false}
  %25 = string_normalizer %s {case = lower, case_sensitive = false, stopwords = ["a", "b"]}
  %26 = label_encoder %s {keys = string[2] ["a", "b"], values = f32[2] [1.0, 2.0], default = f32[] [nan]}
  %27 = split_to_sequence %x, %n {axis = 0, keepdims = true}
  %28 = sequence_at %q, %n
  %29 = optional_some %28
  %30 = cast %x {to = i8, saturate = true}
  %31 = random {kind = uniform, dtype = f32, dims = [N, 2], a = 0.0, b = 1.0, seed = 3}
  return %0, %2, %22
}
