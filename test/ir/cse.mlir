// RUN: weft-opt %s --cse | FileCheck %s

#cpu = #weft.device<cpu>

// Equal ops on equal operands are one, commutative ones in either order; different attributes keep them apart.
// CHECK-LABEL: weft.func @equal
// CHECK-NEXT: %[[R:.*]] = weft.add
// CHECK-NEXT: %[[S0:.*]] = weft.sum %[[R]], dims = [0]
// CHECK-NEXT: %[[S1:.*]] = weft.sum %[[R]], dims = [1]
// CHECK-NEXT: weft.return %[[S0]], %[[S0]], %[[S1]]
weft.func @equal(%a: tensor<4x4xf32, #cpu>, %b: tensor<4x4xf32, #cpu>)
    -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %r = weft.add %a, %b : tensor<4x4xf32, #cpu>
  %s = weft.add %b, %a : tensor<4x4xf32, #cpu>
  %x = weft.sum %r, dims = [0] : tensor<4x4xf32, #cpu>
  %y = weft.sum %s, dims = [0] : tensor<4x4xf32, #cpu>
  %z = weft.sum %s, dims = [1] : tensor<4x4xf32, #cpu>
  weft.return %x, %y, %z : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// A difference has an order.
// CHECK-LABEL: weft.func @ordered
// CHECK: weft.sub
// CHECK: weft.sub
weft.func @ordered(%a: tensor<4xf32, #cpu>, %b: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %r = weft.sub %a, %b : tensor<4xf32, #cpu>
  %s = weft.sub %b, %a : tensor<4xf32, #cpu>
  weft.return %r, %s : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}
