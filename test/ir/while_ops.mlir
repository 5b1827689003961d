// RUN: weft-opt %s | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>

weft.func private @twice(%x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.add %x, %x : tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}
weft.func private @small(%x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>) -> tensor<i1, #cpu> {
  %s = weft.sum %x, dims = [0] : tensor<4xf32, #cpu>
  %l = weft.sum %w, dims = [0] : tensor<4xf32, #cpu>
  %r = weft.lt %s, %l : tensor<f32, #cpu>
  weft.return %r : tensor<i1, #cpu>
}

// CHECK-LABEL: weft.func @loop
weft.func @loop(%x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // CHECK: weft.while @small do @twice(%{{.*}}) with(%{{.*}}) : (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  %b = weft.while @small do @twice(%x) with(%w) : (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %b : tensor<4xf32, #cpu>
}
