// RUN: weft kernels %s --emit=llvm | FileCheck %s

// Of an index without elements nothing is read, not even to check it: the loop over it does not run, and what looks as
// if it did not depend on the loop must stay in it.
// CHECK-LABEL: define hidden void @main.row.0(
// CHECK-NOT:   load i64
// CHECK-NOT:   icmp ugt
// CHECK:       store float 0.000000e+00
#cpu = #weft.device<cpu>
weft.func @main(%x: tensor<5xf32, #cpu>, %at: tensor<0xi64, #cpu>) -> tensor<f32, #cpu> {
  %rows = weft.gather %x, %at, dim = 0, kind = points : tensor<5xf32, #cpu>, tensor<0xi64, #cpu>
  %sum = weft.sum %rows, dims = [0] : tensor<0xf32, #cpu>
  weft.return %sum : tensor<f32, #cpu>
}
