// RUN: weft-opt %s | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>

weft.func private @add_row(%sum: tensor<4xf32, #cpu>, %row: tensor<4xf32, #cpu>, %scale: tensor<f32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %s = weft.broadcast_in_dim %scale, dims = [] : tensor<f32, #cpu> -> tensor<4xf32, #cpu>
  %scaled = weft.mul %row, %s : tensor<4xf32, #cpu>
  %next = weft.add %sum, %scaled : tensor<4xf32, #cpu>
  weft.return %next, %scaled : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// CHECK-LABEL: weft.func @scans
weft.func @scans(%begin: tensor<4xf32, #cpu>, %rows: tensor<8x4xf32, #cpu>, %scale: tensor<f32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<8x4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<8x4xf32, #cpu>) {
  // CHECK: weft.scan @add_row(%{{.*}}) over(%{{.*}}) with(%{{.*}}), length = 8 : (tensor<4xf32, #cpu>, tensor<8x4xf32, #cpu>, tensor<f32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<8x4xf32, #cpu>)
  %a:2 = weft.scan @add_row(%begin) over(%rows) with(%scale), length = 8 : (tensor<4xf32, #cpu>, tensor<8x4xf32, #cpu>, tensor<f32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<8x4xf32, #cpu>)
  // CHECK: weft.scan @add_row(%{{.*}}) over(%{{.*}}) with(%{{.*}}), length = 8 reverse : (
  %b:2 = weft.scan @add_row(%begin) over(%rows) with(%scale), length = 8 reverse : (tensor<4xf32, #cpu>, tensor<8x4xf32, #cpu>, tensor<f32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<8x4xf32, #cpu>)
  weft.return %a#0, %a#1, %b#0, %b#1 : tensor<4xf32, #cpu>, tensor<8x4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<8x4xf32, #cpu>
}
