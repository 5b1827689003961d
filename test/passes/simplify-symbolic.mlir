// RUN: weft-opt %s --weft-simplify | FileCheck %s

// What is taken of a tensor of numbers may depend on symbols: rules that compare places leave it.
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>

// CHECK-LABEL: @of_concat
// CHECK: %[[C:.*]] = weft.concat
// CHECK: weft.slice %[[C]], start = [n], limit = [n + 2], step = [1]
weft.func @of_concat(%a: tensor<8xf32, #cpu>, %b: tensor<4xf32, #cpu>, %k: tensor<?xf32, #n>) -> tensor<2xf32, #cpu>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 8>]} {
  %0 = weft.concat(%a, %b), dim = 0 : tensor<8xf32, #cpu>, tensor<4xf32, #cpu>
  %1 = weft.slice %0, start = [n], limit = [n + 2], step = [1] : tensor<12xf32, #cpu>
  weft.return %1 : tensor<2xf32, #cpu>
}

// CHECK-LABEL: @of_slice
// CHECK: weft.slice %{{.*}}, start = [2], limit = [12], step = [1]
// CHECK: weft.slice %{{.*}}, start = [n], limit = [n + 2], step = [1]
weft.func @of_slice(%a: tensor<16xf32, #cpu>, %k: tensor<?xf32, #n>) -> tensor<2xf32, #cpu>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 8>]} {
  %0 = weft.slice %a, start = [2], limit = [12], step = [1] : tensor<16xf32, #cpu>
  %1 = weft.slice %0, start = [n], limit = [n + 2], step = [1] : tensor<10xf32, #cpu>
  weft.return %1 : tensor<2xf32, #cpu>
}

// CHECK-LABEL: @of_pad
// CHECK: weft.pad
// CHECK: weft.slice %{{.*}}, start = [n], limit = [n + 2], step = [1]
weft.func @of_pad(%a: tensor<16xf32, #cpu>, %k: tensor<?xf32, #n>) -> tensor<2xf32, #cpu>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 8>]} {
  %0 = weft.pad %a, low = [2], high = [2], interior = [0] : tensor<16xf32, #cpu>
  %1 = weft.slice %0, start = [n], limit = [n + 2], step = [1] : tensor<20xf32, #cpu>
  weft.return %1 : tensor<2xf32, #cpu>
}

// CHECK-LABEL: @window
// CHECK: weft.dynamic_slice
weft.func @window(%a: tensor<16xf32, #cpu>, %k: tensor<?xf32, #n>) -> tensor<?xf32, #n>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 8>]} {
  %i = weft.constant dense<3> : tensor<i64, #cpu>
  %0 = weft.dynamic_slice %a, starts(%i), sizes = [n] : tensor<16xf32, #cpu>, tensor<i64, #cpu>
  weft.return %0 : tensor<?xf32, #n>
}
