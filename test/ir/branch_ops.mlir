// RUN: weft-opt %s | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>

weft.func private @twice(%x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.add %x, %x : tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}
weft.func private @product(%x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.mul %x, %w : tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}
// CHECK-LABEL: weft.func @branches
weft.func @branches(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // CHECK: weft.cond %{{.*}} then @twice else @product(%{{.*}}, %{{.*}}) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  %a = weft.cond %p then @twice else @product(%x, %w) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %a : tensor<4xf32, #cpu>
}
