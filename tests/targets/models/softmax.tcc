// Three passes over each row.
graph @softmax(%x: f32[3, 37]) {
  %0 = reduce %x {kind = max, axes = [1], keepdims = true}
  %1 = sub %x, %0
  %2 = exp %1
  %3 = reduce %2 {kind = sum, axes = [1], keepdims = true}
  %y = div %2, %3
  return %y
}
