// RUN: weft-opt %s --weft-canonicalize | FileCheck %s
#cpu = #weft.device<cpu>

// One part is that part; parts without elements go; equal splats join to a splat.
// CHECK-LABEL: weft.func @concat
// CHECK-SAME: %[[A:.*]]: tensor<5x7xf32, #cpu{{.*}}>, %[[E:.*]]: tensor<0x7xf32, #cpu{{.*}}>, %[[B:.*]]: tensor<2x7xf32
weft.func @concat(%a: tensor<5x7xf32, #cpu>, %e: tensor<0x7xf32, #cpu>, %b: tensor<2x7xf32, #cpu>)
    -> (tensor<5x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<7x7xf32, #cpu>, tensor<5xf32, #cpu>) {
  %one = weft.concat(%a), dim = 0 : tensor<5x7xf32, #cpu>
  %left = weft.concat(%e, %a), dim = 0 : tensor<0x7xf32, #cpu>, tensor<5x7xf32, #cpu>
  // CHECK-DAG: %[[C:.*]] = weft.concat(%[[A]], %[[B]]), dim = 0
  %both = weft.concat(%a, %e, %b), dim = 0 : tensor<5x7xf32, #cpu>, tensor<0x7xf32, #cpu>, tensor<2x7xf32, #cpu>
  // CHECK-DAG: %[[S:.*]] = weft.constant dense<2.0{{.*}}> : tensor<5xf32
  %x = weft.constant dense<2.0> : tensor<3xf32, #cpu>
  %y = weft.constant dense<2.0> : tensor<2xf32, #cpu>
  %s = weft.concat(%x, %y), dim = 0 : tensor<3xf32, #cpu>, tensor<2xf32, #cpu>
  // CHECK: weft.return %[[A]], %[[A]], %[[C]], %[[S]]
  weft.return %one, %left, %both, %s : tensor<5x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<7x7xf32, #cpu>, tensor<5xf32, #cpu>
}

// Reversing twice is nothing, reversing a dimension of one element too, and the others are reversed once.
// CHECK-LABEL: weft.func @reverse
// CHECK-SAME: %[[A:.*]]: tensor<5x1x7xf32
weft.func @reverse(%a: tensor<5x1x7xf32, #cpu>) -> (tensor<5x1x7xf32, #cpu>, tensor<5x1x7xf32, #cpu>, tensor<5x1x7xf32, #cpu>) {
  %r = weft.reverse %a, dims = [0, 1] : tensor<5x1x7xf32, #cpu>
  %back = weft.reverse %r, dims = [0] : tensor<5x1x7xf32, #cpu>
  // CHECK: %[[O:.*]] = weft.reverse %[[A]], dims = [2]
  %other = weft.reverse %r, dims = [0, 2] : tensor<5x1x7xf32, #cpu>
  %same = weft.reverse %a, dims = [1] : tensor<5x1x7xf32, #cpu>
  // CHECK: weft.return %[[A]], %[[O]], %[[A]]
  weft.return %back, %other, %same : tensor<5x1x7xf32, #cpu>, tensor<5x1x7xf32, #cpu>, tensor<5x1x7xf32, #cpu>
}

// Bits there and back are the tensor itself.
// CHECK-LABEL: weft.func @bits
// CHECK-SAME: %[[A:.*]]: tensor<4xf32
weft.func @bits(%a: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xi32, #cpu>) {
  %n = weft.bitcast %a to i16 : tensor<4xf32, #cpu>
  %back = weft.bitcast %n to f32 : tensor<8xi16, #cpu>
  // CHECK: %[[I:.*]] = weft.bitcast %[[A]] to i32
  %i = weft.bitcast %n to i32 : tensor<8xi16, #cpu>
  // CHECK: weft.return %[[A]], %[[I]]
  weft.return %back, %i : tensor<4xf32, #cpu>, tensor<4xi32, #cpu>
}
