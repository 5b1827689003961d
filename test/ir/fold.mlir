// RUN: weft-opt %s --weft-canonicalize | FileCheck %s

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// CHECK: #[[$CUDA1:cuda1[_0-9]*]] = #weft.device<cuda:1>

// CHECK-LABEL: weft.func @identities
// CHECK-SAME: (%[[A:.*]]: tensor<4x8xf32
// CHECK-NEXT: weft.return %[[A]], %[[A]], %[[A]], %[[A]], %[[A]] :
weft.func @identities(%a: tensor<4x8xf32, #cpu>) -> (tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>,
    tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>) {
  %b = weft.broadcast_in_dim %a, dims = [0, 1] : tensor<4x8xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %r = weft.reshape %a : tensor<4x8xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %t = weft.transpose %a, perm = [0, 1] : tensor<4x8xf32, #cpu>
  %s = weft.slice %a, start = [0, 0], limit = [4, 8], step = [1, 1] : tensor<4x8xf32, #cpu>
  %x = weft.transfer %a to #cpu : tensor<4x8xf32, #cpu>
  weft.return %b, %r, %t, %s, %x : tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>,
    tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>
}

// Equal types are not enough for a transposition of a square.
// CHECK-LABEL: weft.func @square
// CHECK: weft.transpose
weft.func @square(%a: tensor<4x4xf32, #cpu>) -> tensor<4x4xf32, #cpu> {
  %t = weft.transpose %a, perm = [1, 0] : tensor<4x4xf32, #cpu>
  weft.return %t : tensor<4x4xf32, #cpu>
}

// CHECK-LABEL: weft.func @broadcast_of_broadcast
// CHECK-SAME: (%[[A:.*]]: tensor<3xf32
// CHECK-NEXT: %[[R:.*]] = weft.broadcast_in_dim %[[A]], dims = [2] : tensor<3xf32, #cpu> -> tensor<5x4x3xf32, #cpu>
// CHECK-NEXT: weft.return %[[R]]
weft.func @broadcast_of_broadcast(%a: tensor<3xf32, #cpu>) -> tensor<5x4x3xf32, #cpu> {
  %b = weft.broadcast_in_dim %a, dims = [1] : tensor<3xf32, #cpu> -> tensor<4x3xf32, #cpu>
  %c = weft.broadcast_in_dim %b, dims = [1, 2] : tensor<4x3xf32, #cpu> -> tensor<5x4x3xf32, #cpu>
  weft.return %c : tensor<5x4x3xf32, #cpu>
}

// CHECK-LABEL: weft.func @reshape_of_reshape
// CHECK-SAME: (%[[A:.*]]: tensor<4x6xf32
// CHECK-NEXT: %[[R:.*]] = weft.reshape %[[A]] : tensor<4x6xf32, #cpu> -> tensor<24xf32, #cpu>
// CHECK-NEXT: weft.return %[[R]], %[[A]]
weft.func @reshape_of_reshape(%a: tensor<4x6xf32, #cpu>) -> (tensor<24xf32, #cpu>, tensor<4x6xf32, #cpu>) {
  %b = weft.reshape %a : tensor<4x6xf32, #cpu> -> tensor<2x12xf32, #cpu>
  %c = weft.reshape %b : tensor<2x12xf32, #cpu> -> tensor<24xf32, #cpu>
  %d = weft.reshape %b : tensor<2x12xf32, #cpu> -> tensor<4x6xf32, #cpu>
  weft.return %c, %d : tensor<24xf32, #cpu>, tensor<4x6xf32, #cpu>
}

// Dimension i of the outer is perm_inner[perm_outer[i]] of the operand.
// CHECK-LABEL: weft.func @transpose_of_transpose
// CHECK-SAME: (%[[A:.*]]: tensor<2x3x4xf32
// CHECK-NEXT: %[[R:.*]] = weft.transpose %[[A]], perm = [0, 2, 1] : tensor<2x3x4xf32, #cpu>
// CHECK-NEXT: weft.return %[[R]], %[[A]]
weft.func @transpose_of_transpose(%a: tensor<2x3x4xf32, #cpu>) -> (tensor<2x4x3xf32, #cpu>, tensor<2x3x4xf32, #cpu>) {
  %b = weft.transpose %a, perm = [2, 0, 1] : tensor<2x3x4xf32, #cpu>
  %c = weft.transpose %b, perm = [1, 0, 2] : tensor<4x2x3xf32, #cpu>
  %d = weft.transpose %b, perm = [1, 2, 0] : tensor<4x2x3xf32, #cpu>
  weft.return %c, %d : tensor<2x4x3xf32, #cpu>, tensor<2x3x4xf32, #cpu>
}

// CHECK-LABEL: weft.func @constants
weft.func @constants() -> (tensor<4x3xf32, #cpu>, tensor<3x2xf32, #cpu>, tensor<3x2xi64, #cpu>, tensor<2xi64, #cpu>) {
  // CHECK-DAG: %[[WIDE:.*]] = weft.constant dense<2.000000e+00> : tensor<4x3xf32, #cpu>
  // CHECK-DAG: %[[RESHAPED:.*]] = weft.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00]]> : tensor<3x2xf32, #cpu>
  // CHECK-DAG: %[[TRANSPOSED:.*]] = weft.constant dense<7> : tensor<3x2xi64, #cpu>
  // CHECK-DAG: %[[SLICED:.*]] = weft.constant dense<7> : tensor<2xi64, #cpu>
  // CHECK: weft.return %[[WIDE]], %[[RESHAPED]], %[[TRANSPOSED]], %[[SLICED]]
  %s = weft.constant dense<2.0> : tensor<1x3xf32, #cpu>
  %a = weft.broadcast_in_dim %s, dims = [0, 1] : tensor<1x3xf32, #cpu> -> tensor<4x3xf32, #cpu>
  %d = weft.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32, #cpu>
  %b = weft.reshape %d : tensor<2x3xf32, #cpu> -> tensor<3x2xf32, #cpu>
  %i = weft.constant dense<7> : tensor<2x3xi64, #cpu>
  %c = weft.transpose %i, perm = [1, 0] : tensor<2x3xi64, #cpu>
  %j = weft.constant dense<7> : tensor<4xi64, #cpu>
  %e = weft.slice %j, start = [1], limit = [4], step = [2] : tensor<4xi64, #cpu>
  weft.return %a, %b, %c, %e : tensor<4x3xf32, #cpu>, tensor<3x2xf32, #cpu>, tensor<3x2xi64, #cpu>, tensor<2xi64, #cpu>
}

// A constant that is no splat keeps its values where the folder cannot move them.
// CHECK-LABEL: weft.func @not_a_splat
// CHECK: weft.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32
// CHECK: weft.broadcast_in_dim
weft.func @not_a_splat() -> tensor<3x2xf32, #cpu> {
  %s = weft.constant dense<[1.0, 2.0]> : tensor<2xf32, #cpu>
  %a = weft.broadcast_in_dim %s, dims = [1] : tensor<2xf32, #cpu> -> tensor<3x2xf32, #cpu>
  weft.return %a : tensor<3x2xf32, #cpu>
}

// There and back is nothing; a detour is one transfer.
// CHECK-LABEL: weft.func @transfers
// CHECK-SAME: (%[[A:.*]]: tensor<4xf32, #cpu>)
// CHECK-NEXT: %[[R:.*]] = weft.transfer %[[A]] to #[[$CUDA1]] : tensor<4xf32, #cpu>
// CHECK-NEXT: weft.return %[[A]], %[[R]]
weft.func @transfers(%a: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #weft.device<cuda:1>>) {
  %b = weft.transfer %a to #gpu : tensor<4xf32, #cpu>
  %c = weft.transfer %b to #cpu : tensor<4xf32, #gpu>
  %d = weft.transfer %b to <cuda:1> : tensor<4xf32, #gpu>
  weft.return %c, %d : tensor<4xf32, #cpu>, tensor<4xf32, #weft.device<cuda:1>>
}

// Ops without effects go when nothing reads them; the state of a generator stays.
// CHECK-LABEL: weft.func @unused
// CHECK-NOT: weft.exp
// CHECK: weft.rng_state_load
// CHECK-NOT: weft.dot_general
// CHECK: weft.rng_state_store
// CHECK-NEXT: weft.return
weft.func @unused(%a: tensor<4x4xf32, #cpu>) {
  %e = weft.exp %a : tensor<4x4xf32, #cpu>
  %key, %counter = weft.rng_state_load "g" : tensor<i64, #cpu>, tensor<i64, #cpu>
  %d = weft.dot_general %a, %a, contract = [1] x [0] : tensor<4x4xf32, #cpu>, tensor<4x4xf32, #cpu>
  weft.rng_state_store %counter, "g" : tensor<i64, #cpu>
  weft.return
}

// A write of what the storage holds is none; of two writes in a row only the second counts.
// CHECK-LABEL: @writes
weft.func @writes(%d: tensor<4xf32, #cpu>, %a: tensor<4xf32, #cpu>, %b: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  // CHECK: %[[W:.*]] = weft.copy_into %arg0, %arg2
  // CHECK-NOT: weft.copy_into
  // CHECK: weft.return %arg1, %[[W]]
  %0 = weft.copy_into %a, %a : tensor<4xf32, #cpu>
  %1 = weft.copy_into %d, %a : tensor<4xf32, #cpu>
  %2 = weft.copy_into %1, %b : tensor<4xf32, #cpu>
  weft.return %0, %2 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}
