// RUN: weft-opt %s --weft-normalize-layouts -split-input-file -verify-diagnostics | FileCheck %s
// RUN: weft-opt %s --weft-normalize-layouts --weft-normalize-layouts -split-input-file | FileCheck %s

#cpu = #weft.device<cpu>
// Another order of dimensions is a transposition of row-major memory.
// CHECK-LABEL: @transposed
// CHECK-SAME: (%[[A:.*]]: tensor<8x64xf32, #cpu> {weft.shape = array<i64: 64, 8>, weft.strides = array<i64: 1, 64>})
weft.func @transposed(%a: tensor<64x8xf32, #cpu> {weft.strides = array<i64: 1, 64>}) -> tensor<64x8xf32, #cpu> {
  // CHECK: %[[T:.*]] = weft.transpose %[[A]], perm = [1, 0]
  // CHECK: weft.neg %[[T]]
  %0 = weft.neg %a : tensor<64x8xf32, #cpu>
  weft.return %0 : tensor<64x8xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Rows with gaps are a slice of whole rows, the last of which ends with its last element.
// CHECK-LABEL: @columns
// CHECK-SAME: (%[[A:.*]]: tensor<4x10xf32, #cpu> {weft.shape = array<i64: 4, 3>, weft.strides = array<i64: 10, 2>})
weft.func @columns(%a: tensor<4x3xf32, #cpu> {weft.strides = array<i64: 10, 2>}) -> tensor<4x3xf32, #cpu> {
  // CHECK: %[[S:.*]] = weft.slice %[[A]], start = [0, 0], limit = [4, 5], step = [1, 2]
  // CHECK: weft.neg %[[S]]
  %0 = weft.neg %a : tensor<4x3xf32, #cpu>
  weft.return %0 : tensor<4x3xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// A stride of 0 repeats; of a dimension of size 1 the stride means nothing.
// CHECK-LABEL: @repeated
// CHECK-SAME: (%[[A:.*]]: tensor<3xf32, #cpu> {weft.shape = array<i64: 5, 1, 3>, weft.strides = array<i64: 0, 7, 1>})
weft.func @repeated(%a: tensor<5x1x3xf32, #cpu> {weft.strides = array<i64: 0, 7, 1>}) -> tensor<5x1x3xf32, #cpu> {
  // CHECK: %[[B:.*]] = weft.broadcast_in_dim %[[A]], dims = [2] : tensor<3xf32, #cpu> -> tensor<5x1x3xf32, #cpu>
  // CHECK: weft.neg %[[B]]
  %0 = weft.neg %a : tensor<5x1x3xf32, #cpu>
  weft.return %0 : tensor<5x1x3xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Every second of the middle rows: steps of whole rows where the outer stride is no multiple of the inner.
// CHECK-LABEL: @middle
// CHECK-SAME: (%[[A:.*]]: tensor<2x5x4xf32, #cpu> {weft.shape = array<i64: 4, 2, 3>, weft.strides = array<i64: 1, 20, 8>})
weft.func @middle(%a: tensor<4x2x3xf32, #cpu> {weft.strides = array<i64: 1, 20, 8>}) -> tensor<4x2x3xf32, #cpu> {
  // CHECK: %[[S:.*]] = weft.slice %[[A]], start = [0, 0, 0], limit = [2, 5, 4], step = [1, 2, 1]
  // CHECK: %[[T:.*]] = weft.transpose %[[S]], perm = [2, 0, 1]
  // CHECK: weft.neg %[[T]]
  %0 = weft.neg %a : tensor<4x2x3xf32, #cpu>
  weft.return %0 : tensor<4x2x3xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// What is row-major after all needs no attribute.
// CHECK-LABEL: @plain
// CHECK-SAME: (%{{.*}}: tensor<4x1x3xf32, #cpu>)
weft.func @plain(%a: tensor<4x1x3xf32, #cpu> {weft.strides = array<i64: 3, 100, 1>}) -> tensor<4x1x3xf32, #cpu> {
  %0 = weft.neg %a : tensor<4x1x3xf32, #cpu>
  weft.return %0 : tensor<4x1x3xf32, #cpu>
}
