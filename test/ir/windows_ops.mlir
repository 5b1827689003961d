// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>
#batch = #weft.device<cpu, [batch]>

// Elements behind the last window are in none.
// CHECK-LABEL: weft.func @windows
weft.func @windows(%a: tensor<2x3x9x8xf32, #cpu>)
    -> (tensor<2x3x2x3x4x4xf32, #cpu>, tensor<2x3x9x3x3xf32, #cpu>) {
  // CHECK: weft.windows %{{.*}}, size = [2, 3], stride = [2, 1], dilation = [1, 2] : tensor<2x3x9x8xf32, #cpu
  %r = weft.windows %a, size = [2, 3], stride = [2, 1], dilation = [1, 2] : tensor<2x3x9x8xf32, #cpu>
  // CHECK: weft.windows %{{.*}}, size = [3], stride = [2], dilation = [1] : tensor<2x3x9x8xf32, #cpu
  %s = weft.windows %a, size = [3], stride = [2], dilation = [1] : tensor<2x3x9x8xf32, #cpu>
  weft.return %r, %s : tensor<2x3x2x3x4x4xf32, #cpu>, tensor<2x3x9x3x3xf32, #cpu>
}

// CHECK-LABEL: weft.func @overlap_add
weft.func @overlap_add(%a: tensor<2x3x2x3x4x4xf32, #cpu>) -> tensor<2x3x9x8xf32, #cpu> {
  // CHECK: weft.overlap_add %{{.*}}, shape = [9, 8], stride = [2, 1], dilation = [1, 2] : tensor<2x3x2x3x4x4xf32, #cpu
  %r = weft.overlap_add %a, shape = [9, 8], stride = [2, 1], dilation = [1, 2] : tensor<2x3x2x3x4x4xf32, #cpu>
  weft.return %r : tensor<2x3x9x8xf32, #cpu>
}

// CHECK-LABEL: weft.func @convolution
weft.func @convolution(%a: tensor<?x4x8x8xf32, #batch>, %w: tensor<6x2x3x3xf32, #cpu>)
    -> (tensor<?x6x4x4xf32, #batch>, tensor<?x6x16x14xf32, #batch>)
    attributes {weft.symbols = [#weft.symbol<"batch", 0, 64>]} {
  // CHECK: weft.convolution %{{.*}}, %{{.*}}, stride = [2, 2], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 2 : tensor<?x4x8x8xf32, #{{.*}}>, tensor<6x2x3x3xf32, #cpu
  %y = weft.convolution %a, %w, stride = [2, 2], low = [1, 1], high = [1, 1], base_dilation = [1, 1],
      window_dilation = [1, 1], groups = 2 : tensor<?x4x8x8xf32, #batch>, tensor<6x2x3x3xf32, #cpu>
  // CHECK: weft.convolution %{{.*}}, %{{.*}}, stride = [1, 1], low = [1, -1], high = [2, 2], base_dilation = [2, 2], window_dilation = [1, 1], groups = 2 : tensor<?x4x8x8xf32, #{{.*}}>, tensor<6x2x3x3xf32, #cpu
  %t = weft.convolution %a, %w, stride = [1, 1], low = [1, -1], high = [2, 2], base_dilation = [2, 2],
      window_dilation = [1, 1], groups = 2 : tensor<?x4x8x8xf32, #batch>, tensor<6x2x3x3xf32, #cpu>
  weft.return %y, %t : tensor<?x6x4x4xf32, #batch>, tensor<?x6x16x14xf32, #batch>
}

// An extent may be dynamic, too.
// CHECK-LABEL: weft.func @dynamic_extent
weft.func @dynamic_extent(%a: tensor<2x4x?xf32, #weft.device<cpu, [n]>>, %w: tensor<6x4x3xf32, #cpu>)
    -> tensor<2x6x?xf32, #weft.device<cpu, [n + -2]>> attributes {weft.symbols = [#weft.symbol<"n", 3, 64>]} {
  // CHECK: weft.convolution
  %y = weft.convolution %a, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1],
      groups = 1 : tensor<2x4x?xf32, #weft.device<cpu, [n]>>, tensor<6x4x3xf32, #cpu>
  weft.return %y : tensor<2x6x?xf32, #weft.device<cpu, [n + -2]>>
}
