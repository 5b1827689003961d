// Conversions to i1 keep the lowest bit, as everywhere; and a function of a constant is our own arithmetic, not what the
// C library of the compiling machine gives.
// RUN: weft kernels %s --target=cuda:sm_90 --device=cuda:0 | FileCheck %s
#cpu = #weft.device<cpu>

// CHECK-LABEL: // bits.loop.0
// CHECK: weft_kernel(unsigned char *b0)
// CHECK: & 1) != 0
weft.func @bits() -> tensor<5x9xi1, #cpu> {
  %0 = weft.iota dim = 1 : tensor<5x9xi1, #cpu>
  weft.return %0 : tensor<5x9xi1, #cpu>
}

// CHECK-LABEL: // function.loop.0
// CHECK: weft_kernel(float *b0)
// CHECK: fma(0.28294255945591923
// CHECK-NOT: 0.684814
weft.func @function() -> tensor<1xf32, #cpu> {
  %0 = weft.constant dense<-0.594640553> : tensor<1xf32, #cpu>
  %1 = weft.atanh %0 : tensor<1xf32, #cpu>
  weft.return %1 : tensor<1xf32, #cpu>
}
