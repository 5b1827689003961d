// RUN: weft-opt %s --weft-pipeline --verify-each | FileCheck %s
// RUN: weft-opt %s --weft-simplify --weft-canonicalize --weft-split-reductions --weft-canonicalize-contractions --weft-decompose-composites | FileCheck %s

#cpu = #weft.device<cpu>

// Tensors without elements, and of one element without dimensions, pass every stage.
// CHECK-LABEL: weft.func @empty(
// CHECK:         weft.sum
// CHECK:         weft.return
weft.func @empty(%x: tensor<0x4xf32, #cpu>, %w: tensor<4x3xf32, #cpu>, %s: tensor<f32, #cpu>)
    -> (tensor<0x3xf32, #cpu>, tensor<4xf32, #cpu>, tensor<f32, #cpu>, tensor<0xf32, #cpu>, tensor<2x0xf32, #cpu>, tensor<f32, #cpu>) {
  %y = weft.dot_general %x, %w, contract = [1] x [0] : tensor<0x4xf32, #cpu>, tensor<4x3xf32, #cpu>
  %p = weft.softmax %y, dim = 1 : tensor<0x3xf32, #cpu>
  %t = weft.sum %x, dims = [0] : tensor<0x4xf32, #cpu>
  %minus = weft.constant dense<-1.0> : tensor<0xf32, #cpu>
  %none = weft.constant dense<> : tensor<0xf32, #cpu>
  %sum = weft.sum %minus, dims = [0] : tensor<0xf32, #cpu>
  %add = weft.add %minus, %none : tensor<0xf32, #cpu>
  %b = weft.broadcast_in_dim %s, dims = [] : tensor<f32, #cpu> -> tensor<2x0xf32, #cpu>
  %e = weft.exp %b : tensor<2x0xf32, #cpu>
  %r = weft.reshape %e : tensor<2x0xf32, #cpu> -> tensor<0x2xf32, #cpu>
  %u = weft.reshape %r : tensor<0x2xf32, #cpu> -> tensor<2x0xf32, #cpu>
  %f = weft.full %s, shape = [] : tensor<f32, #cpu>
  weft.return %p, %t, %sum, %add, %u, %f : tensor<0x3xf32, #cpu>, tensor<4xf32, #cpu>, tensor<f32, #cpu>, tensor<0xf32, #cpu>, tensor<2x0xf32, #cpu>, tensor<f32, #cpu>
}
