// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(weft.func(weft-attach-epilogues{report=true}))' | FileCheck %s

#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @bias_relu
// CHECK:         %[[D:.*]] = weft.dot_general %arg0, %arg1, bias %arg2, relu, contract = [1] x [0]
// CHECK:         weft.return %[[D]]
weft.func @bias_relu(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>, %b: tensor<8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  %z = weft.constant dense<0.0> : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %2 = weft.add %1, %0 : tensor<4x8xf32, #cpu>
  %3 = weft.max %2, %z : tensor<4x8xf32, #cpu>
  weft.return %3 : tensor<4x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A comparison of the value before relu with zero is that of the result.
// CHECK-LABEL: weft.func @mask
// CHECK:         %[[D:.*]] = weft.dot_general %arg0, %arg1, relu, contract
// CHECK:         weft.gt %[[D]], %{{.*}}
weft.func @mask(%x: tensor<4x6xf64, #cpu>, %w: tensor<6x8xf64, #cpu>) -> (tensor<4x8xf64, #cpu>, tensor<4x8xi1, #cpu>) {
  %z = weft.constant dense<0.0> : tensor<4x8xf64, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf64, #cpu>, tensor<6x8xf64, #cpu>
  %1 = weft.gt %0, %z : tensor<4x8xf64, #cpu>
  %2 = weft.max %0, %z : tensor<4x8xf64, #cpu>
  weft.return %2, %1 : tensor<4x8xf64, #cpu>, tensor<4x8xi1, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// eq(a, 0) is not eq(max(a, 0), 0).
// CHECK-LABEL: weft.func @tie
// CHECK-SAME:    code = "WEFT-N002"
// CHECK:         weft.dot_general %arg0, %arg1, contract
// CHECK:         weft.max
weft.func @tie(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>) -> (tensor<4x8xf32, #cpu>, tensor<4x8xi1, #cpu>) {
  %z = weft.constant dense<0.0> : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.eq %0, %z : tensor<4x8xf32, #cpu>
  %2 = weft.max %0, %z : tensor<4x8xf32, #cpu>
  weft.return %2, %1 : tensor<4x8xf32, #cpu>, tensor<4x8xi1, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @half
// CHECK-SAME:    code = "WEFT-N001"
// CHECK:         weft.dot_general %arg0, %arg1, contract
// CHECK:         weft.add
weft.func @half(%x: tensor<4x6xbf16, #cpu>, %w: tensor<6x8xbf16, #cpu>, %b: tensor<8xbf16, #cpu>) -> tensor<4x8xbf16, #cpu> {
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xbf16, #cpu>, tensor<6x8xbf16, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xbf16, #cpu> -> tensor<4x8xbf16, #cpu>
  %2 = weft.add %0, %1 : tensor<4x8xbf16, #cpu>
  weft.return %2 : tensor<4x8xbf16, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A product with another reader, a bias along another dimension, and max with another number stay as they are.
// CHECK-LABEL: weft.func @unlike
// CHECK-COUNT-3: weft.dot_general %arg0, %arg1, contract
weft.func @unlike(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>, %b: tensor<8xf32, #cpu>, %c: tensor<4xf32, #cpu>)
    -> (tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>) {
  %one = weft.constant dense<1.0> : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<4x8xf32, #cpu>
  %3 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %4 = weft.broadcast_in_dim %c, dims = [0] : tensor<4xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %5 = weft.add %3, %4 : tensor<4x8xf32, #cpu>
  %6 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %7 = weft.max %6, %one : tensor<4x8xf32, #cpu>
  weft.return %0, %2, %5, %7 : tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The columns of the matrix product are all that the right operand keeps: two dimensions here, and none there. A bias
// of the last dimension of the result is then no bias of the columns.
// CHECK-LABEL: weft.func @not_the_columns
// CHECK-NOT:     bias
// CHECK:         weft.return
weft.func @not_the_columns(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x2x8xf32, #cpu>, %v: tensor<6xf32, #cpu>,
                           %b: tensor<8xf32, #cpu>, %c: tensor<4xf32, #cpu>)
    -> (tensor<4x2x8xf32, #cpu>, tensor<4xf32, #cpu>) {
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x2x8xf32, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [2] : tensor<8xf32, #cpu> -> tensor<4x2x8xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<4x2x8xf32, #cpu>
  %3 = weft.dot_general %x, %v, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6xf32, #cpu>
  %4 = weft.add %3, %c : tensor<4xf32, #cpu>
  weft.return %2, %4 : tensor<4x2x8xf32, #cpu>, tensor<4xf32, #cpu>
}
