// RUN: weft-opt %s --weft-pipeline="report=true" -split-input-file | FileCheck %s
// RUN: not weft-opt %s --weft-pipeline="strict=donate" -split-input-file 2>&1 | FileCheck %s --check-prefix=STRICT

#cpu = #weft.device<cpu>
// The kernel reads through the strides: one launch, and no copy.
// CHECK-LABEL: @elementwise
// CHECK: weft.fusion
// CHECK: weft.transpose
// CHECK-NOT: weft.fusion
weft.func @elementwise(%a: tensor<64x32xf32, #cpu> {weft.strides = array<i64: 1, 64>},
                       %b: tensor<64x32xf32, #cpu>) -> tensor<64x32xf32, #cpu> {
  %0 = weft.add %a, %b : tensor<64x32xf32, #cpu>
  weft.return %0 : tensor<64x32xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// A contraction takes a transposition as its own.
// CHECK-LABEL: @transposed_matmul
// CHECK-NOT: weft.fusion
// CHECK: weft.dot_general
weft.func @transposed_matmul(%a: tensor<64x32xf32, #cpu> {weft.strides = array<i64: 1, 64>},
                             %b: tensor<32x16xf32, #cpu>) -> tensor<64x16xf32, #cpu> {
  %0 = weft.dot_general %a, %b, contract = [1] x [0] : tensor<64x32xf32, #cpu>, tensor<32x16xf32, #cpu>
  weft.return %0 : tensor<64x16xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// It takes no rows with gaps: one copy, which is said.
// CHECK-LABEL: @sliced_matmul
// CHECK-SAME: WEFT-D014
// CHECK-SAME: 8192 bytes are copied
// CHECK: weft.fusion
// CHECK: weft.dot_general
// STRICT: argument 0 -> weft.dot_general: a contraction does not support these strides; 8192 bytes are copied (WEFT-D014, an error under strict=donate)
weft.func @sliced_matmul(%a: tensor<64x32xf32, #cpu> {weft.strides = array<i64: 40, 1>},
                         %b: tensor<32x16xf32, #cpu>) -> tensor<64x16xf32, #cpu> {
  %0 = weft.dot_general %a, %b, contract = [1] x [0] : tensor<64x32xf32, #cpu>, tensor<32x16xf32, #cpu>
  weft.return %0 : tensor<64x16xf32, #cpu>
}
