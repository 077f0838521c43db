// A size that is only known when the model is called, and a branch that the data decides.
graph @bounded(%x: f32[N, 4]) {
  %s = reduce %x {kind = sum, axes = [0, 1], keepdims = false}
  %zero = constant {value = f32[] [0.0]}
  %positive = gt %s, %zero
  %u = if %positive, %x {then_branch = graph @then(%x: f32[N, 4]) prefix "r1" {
    %t = exp %x
    return %t
  }, else_branch = graph @else(%x: f32[N, 4]) prefix "r2" {
    %e = neg %x
    return %e
  }}
  %y = cumulative %u {kind = sum, axis = 0, exclusive = false, reverse = false}
  return %y
}
