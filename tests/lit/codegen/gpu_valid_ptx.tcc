// Nvidia's assembler takes the kernels of both generations.
// RUN: rm -rf %t && %tcc compile %S/Inputs/mlp.tcc --target ptx --emit=ptx --out-dir %t/80
// RUN: %tcc compile %S/Inputs/mlp.tcc --target ptx-sm90 --emit=ptx --out-dir %t/90
// RUN: for f in %t/80/*.ptx; do $TCC_PTXAS -arch=sm_80 $f -o %t/out; done
// RUN: for f in %t/80/*.ptx %t/90/*.ptx; do $TCC_PTXAS -arch=sm_90 $f -o %t/out; done
// REQUIRES: ptx, ptxas
