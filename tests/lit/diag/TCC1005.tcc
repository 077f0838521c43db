// --dim for a size that the model doesn't have names those it has; so does a range the wrong way round.
// RUN: %fails %tcc compile %s --dim M=3 2>&1 | %FileCheck %s --check-prefix=NAME
// RUN: %fails %tcc compile %s --dim N=8..1 2>&1 | %FileCheck %s --check-prefix=RANGE
// NAME: error[TCC1005]: no input has a size named `M`
// NAME: help: the model's sizes are named N
// RANGE: error[TCC1005]: `--dim N=8..1`: the range is empty
graph @f(%x: f32[N]) {
  %y = exp %x
  return %y
}
