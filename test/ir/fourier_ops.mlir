// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>
#batch = #weft.device<cpu, [batch]>

// CHECK-LABEL: weft.func @fft
weft.func @fft(%a: tensor<3x8x2xf32, #cpu>, %b: tensor<3x8xf64, #cpu>)
    -> (tensor<3x8x2xf32, #cpu>, tensor<3x5x2xf64, #cpu>, tensor<2x8x2xf64, #cpu>, tensor<3x9xf64, #cpu>) {
  // CHECK: weft.fft %{{.*}}, kind = c2c dim = 1 length = 8 scale = 1.250000e-01 inverse : tensor<3x8x2xf32, #cpu
  %y = weft.fft %a, kind = c2c dim = 1 length = 8 scale = 0.125 inverse : tensor<3x8x2xf32, #cpu>
  // CHECK: weft.fft %{{.*}}, kind = r2c dim = 1 length = 8 scale = 1.000000e+00 : tensor<3x8xf64, #cpu
  %r = weft.fft %b, kind = r2c dim = 1 length = 8 scale = 1.0 : tensor<3x8xf64, #cpu>
  // CHECK: weft.fft %{{.*}}, kind = r2c dim = 0 length = 3 scale = 1.000000e+00 inverse adjoint : tensor<3x8xf64, #cpu
  %t = weft.fft %b, kind = r2c dim = 0 length = 3 scale = 1.0 inverse adjoint : tensor<3x8xf64, #cpu>
  // CHECK: weft.fft %{{.*}}, kind = c2r dim = 1 length = 9 scale = 1.000000e+00 adjoint : tensor<3x5x2xf64, #cpu
  %x = weft.fft %r, kind = c2r dim = 1 length = 9 scale = 1.0 adjoint : tensor<3x5x2xf64, #cpu>
  weft.return %y, %r, %t, %x : tensor<3x8x2xf32, #cpu>, tensor<3x5x2xf64, #cpu>, tensor<2x8x2xf64, #cpu>, tensor<3x9xf64, #cpu>
}

// All other dimensions may be dynamic.
// CHECK-LABEL: weft.func @dynamic
weft.func @dynamic(%a: tensor<?x6xf32, #batch>) -> tensor<?x4x2xf32, #batch>
    attributes {weft.symbols = [#weft.symbol<"batch", 0, 64>]} {
  // CHECK: weft.fft %{{.*}}, kind = r2c dim = 1 length = 6 scale = 1.000000e+00 : tensor<?x6xf32, #
  %y = weft.fft %a, kind = r2c dim = 1 length = 6 scale = 1.0 : tensor<?x6xf32, #batch>
  weft.return %y : tensor<?x4x2xf32, #batch>
}
