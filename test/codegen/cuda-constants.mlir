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

// The operands are constants only once x ^ x is 0, and the fold of atan2 makes NaN of two zeros.
// CHECK-LABEL: // zeros.loop.0
// CHECK-NOT: 32256
// CHECK: copysignf
// CHECK-NOT: 32256
weft.func @zeros(%x: tensor<7xi8, #cpu>) -> tensor<7xf16, #cpu> {
  %0 = weft.xor %x, %x : tensor<7xi8, #cpu>
  %1 = weft.convert %0 to f16 : tensor<7xi8, #cpu>
  %2 = weft.atan2 %1, %1 : tensor<7xf16, #cpu>
  weft.return %2 : tensor<7xf16, #cpu>
}

// CHECK-LABEL: // pi.loop.0
// CHECK: = 3.14159265358979
weft.func @pi() -> tensor<1xf64, #cpu> {
  %0 = weft.constant dense<0.0> : tensor<1xf64, #cpu>
  %1 = weft.constant dense<-0.0> : tensor<1xf64, #cpu>
  %2 = weft.atan2 %0, %1 : tensor<1xf64, #cpu>
  weft.return %2 : tensor<1xf64, #cpu>
}
