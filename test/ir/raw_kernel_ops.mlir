// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#gpu = #weft.device<cuda:0>

// CHECK-LABEL: weft.func @launches
weft.func @launches(%x: tensor<100xf32, #gpu>, %y: tensor<100xf32, #gpu>) -> (tensor<100xf32, #gpu>, tensor<4x25xi32, #gpu>) {
  // CHECK: weft.raw_kernel "saxpy"(%{{.*}}, %{{.*}}), parameters = ["in", "in_out", 2.000000e+00 : f32, 100], grid = [4, 1, 1], block = [32, 1, 1], shared = 0, source = "text" : (tensor<100xf32, #{{.*}}>, tensor<100xf32, #{{.*}}>) -> tensor<100xf32
  %z = weft.raw_kernel "saxpy"(%x, %y), parameters = ["in", "in_out", 2.0 : f32, 100], grid = [4, 1, 1], block = [32, 1, 1], shared = 0, source = "text" : (tensor<100xf32, #gpu>, tensor<100xf32, #gpu>) -> tensor<100xf32, #gpu>
  // The kernel has no operands; where its text is in the user's program is for errors.
  // CHECK: weft.raw_kernel "fill"(), parameters = ["out", true, -1 : i8, 5.000000e-01 : bf16], grid = [1, 2, 3], block = [8, 8, 8], shared = 4096, source = "text" at "fill.cpp:3:20" : () -> tensor<4x25xi32
  %f = weft.raw_kernel "fill"(), parameters = ["out", true, -1 : i8, 0.5 : bf16], grid = [1, 2, 3], block = [8, 8, 8], shared = 4096, source = "text" at "fill.cpp:3:20" : () -> tensor<4x25xi32, #gpu>
  weft.return %z, %f : tensor<100xf32, #gpu>, tensor<4x25xi32, #gpu>
}

#rows = #weft.device<cuda:0, [n]>
// CHECK-LABEL: weft.func @sizes
weft.func @sizes(%x: tensor<?xf32, #rows>) -> tensor<?xf32, #rows>
    attributes {weft.symbols = [#weft.symbol<"n", 0, 64>]} {
  // CHECK: weft.raw_kernel "scale"(%{{.*}}), parameters = ["in_out", #weft.size<4 * n>], grid = [ceildiv(n, 32), 1, 1], block = [32, 1, 1]
  %y = weft.raw_kernel "scale"(%x), parameters = ["in_out", #weft.size<4 * n>], grid = [ceildiv(n, 32), 1, 1], block = [32, 1, 1], shared = 0, source = "text" : (tensor<?xf32, #rows>) -> tensor<?xf32, #rows>
  weft.return %y : tensor<?xf32, #rows>
}
