// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>
#batch = #weft.device<cpu, [batch]>

// CHECK-LABEL: weft.func @sort
weft.func @sort(%a: tensor<3x8xf32, #cpu>) -> (tensor<3x8xf32, #cpu>, tensor<3x8xi64, #cpu>) {
  // CHECK: weft.sort %{{.*}}, count = 8 : tensor<3x8xf32, #cpu
  %v, %i = weft.sort %a, count = 8 : tensor<3x8xf32, #cpu>
  weft.return %v, %i : tensor<3x8xf32, #cpu>, tensor<3x8xi64, #cpu>
}

// The largest elements, and none of them; of every element type.
// CHECK-LABEL: weft.func @largest
weft.func @largest(%a: tensor<3x8xi1, #cpu>, %b: tensor<8xbf16, #cpu>) -> (tensor<3x2xi1, #cpu>, tensor<0xi64, #cpu>) {
  // CHECK: weft.sort %{{.*}}, count = 2 descending : tensor<3x8xi1, #cpu
  %v, %i = weft.sort %a, count = 2 descending : tensor<3x8xi1, #cpu>
  // CHECK: weft.sort %{{.*}}, count = 0 descending : tensor<8xbf16, #cpu
  %w, %j = weft.sort %b, count = 0 descending : tensor<8xbf16, #cpu>
  weft.return %v, %j : tensor<3x2xi1, #cpu>, tensor<0xi64, #cpu>
}

// CHECK-LABEL: weft.func @dynamic
weft.func @dynamic(%a: tensor<2x?xf32, #batch>) -> (tensor<2x?xf32, #batch>, tensor<2x3xi64, #cpu>)
    attributes {weft.symbols = [#weft.symbol<"batch", 3, 64>]} {
  // CHECK: weft.sort %{{.*}}, count = batch : tensor<2x?xf32, #
  %v, %i = weft.sort %a, count = batch : tensor<2x?xf32, #batch>
  // CHECK: weft.sort %{{.*}}, count = 3 : tensor<2x?xf32, #
  %w, %j = weft.sort %a, count = 3 : tensor<2x?xf32, #batch>
  weft.return %v, %j : tensor<2x?xf32, #batch>, tensor<2x3xi64, #cpu>
}

// CHECK-LABEL: weft.func @running_extremes
weft.func @running_extremes(%a: tensor<2x4xf32, #cpu>, %i: tensor<7xui8, #cpu>)
    -> (tensor<2x4xf32, #cpu>, tensor<7xui8, #cpu>) {
  // CHECK: weft.cummax %{{.*}}, dim = 1 reverse : tensor<2x4xf32, #cpu
  %0 = weft.cummax %a, dim = 1 reverse : tensor<2x4xf32, #cpu>
  // CHECK: weft.cummin %{{.*}}, dim = 0 exclusive : tensor<7xui8, #cpu
  %1 = weft.cummin %i, dim = 0 exclusive : tensor<7xui8, #cpu>
  weft.return %0, %1 : tensor<2x4xf32, #cpu>, tensor<7xui8, #cpu>
}
