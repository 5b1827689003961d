// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @reductions
weft.func @reductions(%a: tensor<2x3x4xf32, #cpu>, %i: tensor<2x3xi32, #cpu>)
    -> (tensor<3xf32, #cpu>, tensor<f32, #cpu>, tensor<2x3xf32, #cpu>, tensor<2x3x4xf32, #cpu>, tensor<2xi32, #cpu>) {
  // CHECK: weft.sum %{{.*}}, dims = [0, 2] : tensor<2x3x4xf32, #cpu
  %sum = weft.sum %a, dims = [0, 2] : tensor<2x3x4xf32, #cpu>
  // CHECK: weft.rmax %{{.*}}, dims = [0, 1, 2] : tensor<2x3x4xf32, #cpu
  %max = weft.rmax %a, dims = [0, 1, 2] : tensor<2x3x4xf32, #cpu>
  // CHECK: weft.rmin %{{.*}}, dims = [2] : tensor<2x3x4xf32, #cpu
  %min = weft.rmin %a, dims = [2] : tensor<2x3x4xf32, #cpu>
  // CHECK: weft.sum %{{.*}}, dims = [] : tensor<2x3x4xf32, #cpu
  %same = weft.sum %a, dims = [] : tensor<2x3x4xf32, #cpu>
  // CHECK: weft.sum %{{.*}}, dims = [1] : tensor<2x3xi32, #cpu
  %whole = weft.sum %i, dims = [1] : tensor<2x3xi32, #cpu>
  weft.return %sum, %max, %min, %same, %whole
    : tensor<3xf32, #cpu>, tensor<f32, #cpu>, tensor<2x3xf32, #cpu>, tensor<2x3x4xf32, #cpu>, tensor<2xi32, #cpu>
}

// A sum over nothing is zero and is allowed; an extreme over nothing is not.
// CHECK-LABEL: weft.func @empty_sum
weft.func @empty_sum(%a: tensor<0x3xf32, #cpu>) -> (tensor<3xf32, #cpu>, tensor<0xf32, #cpu>) {
  // CHECK: weft.sum %{{.*}}, dims = [0] : tensor<0x3xf32, #cpu
  %sum = weft.sum %a, dims = [0] : tensor<0x3xf32, #cpu>
  // CHECK: weft.rmax %{{.*}}, dims = [1] : tensor<0x3xf32, #cpu
  %max = weft.rmax %a, dims = [1] : tensor<0x3xf32, #cpu>
  weft.return %sum, %max : tensor<3xf32, #cpu>, tensor<0xf32, #cpu>
}

// CHECK-LABEL: weft.func @argmax
weft.func @argmax(%a: tensor<4x10xf32, #cpu>) -> (tensor<4xi64, #cpu>, tensor<10xi64, #cpu>) {
  // CHECK: weft.argmax %{{.*}}, dim = 1 : tensor<4x10xf32, #cpu
  %r = weft.argmax %a, dim = 1 : tensor<4x10xf32, #cpu>
  // CHECK: weft.argmax %{{.*}}, dim = 0 : tensor<4x10xf32, #cpu
  %s = weft.argmax %a, dim = 0 : tensor<4x10xf32, #cpu>
  weft.return %r, %s : tensor<4xi64, #cpu>, tensor<10xi64, #cpu>
}

// CHECK-LABEL: weft.func @gather
weft.func @gather(%a: tensor<4x10xf32, #cpu>, %i: tensor<4x1xi64, #cpu>, %p: tensor<2x3xi32, #cpu>)
    -> (tensor<4x1xf32, #cpu>, tensor<2x3x10xf32, #cpu>, tensor<4x2x3xf32, #cpu>) {
  // CHECK: weft.gather %{{.*}}, %{{.*}}, dim = 1, kind = along : tensor<4x10xf32, #cpu{{.*}}>, tensor<4x1xi64, #cpu
  %r = weft.gather %a, %i, dim = 1, kind = along : tensor<4x10xf32, #cpu>, tensor<4x1xi64, #cpu>
  // CHECK: weft.gather %{{.*}}, %{{.*}}, dim = 0, kind = points : tensor<4x10xf32, #cpu{{.*}}>, tensor<2x3xi32, #cpu
  %s = weft.gather %a, %p, dim = 0, kind = points : tensor<4x10xf32, #cpu>, tensor<2x3xi32, #cpu>
  // CHECK: weft.gather %{{.*}}, %{{.*}}, dim = 1, kind = points : tensor<4x10xf32, #cpu{{.*}}>, tensor<2x3xi32, #cpu
  %t = weft.gather %a, %p, dim = 1, kind = points : tensor<4x10xf32, #cpu>, tensor<2x3xi32, #cpu>
  weft.return %r, %s, %t : tensor<4x1xf32, #cpu>, tensor<2x3x10xf32, #cpu>, tensor<4x2x3xf32, #cpu>
}

// CHECK-LABEL: weft.func @dot_general
weft.func @dot_general(%x: tensor<8x4xf32, #cpu>, %w: tensor<6x4xf32, #cpu>, %b: tensor<6xf32, #cpu>,
                       %q: tensor<2x8x5x4xf32, #cpu>, %k: tensor<2x8x7x4xf32, #cpu>, %v: tensor<4xf32, #cpu>)
    -> (tensor<8x6xf32, #cpu>, tensor<8x6xf32, #cpu>, tensor<2x8x5x7xf32, #cpu>, tensor<f32, #cpu>,
        tensor<4x4xf32, #cpu>) {
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, contract = [1] x [1] : tensor<8x4xf32, #cpu{{.*}}>, tensor<6x4xf32, #cpu
  %r = weft.dot_general %x, %w, contract = [1] x [1] : tensor<8x4xf32, #cpu>, tensor<6x4xf32, #cpu>
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, bias %{{.*}}, relu, contract = [1] x [1] : tensor<8x4xf32, #cpu{{.*}}>, tensor<6x4xf32, #cpu{{.*}}>, tensor<6xf32, #cpu
  %l = weft.dot_general %x, %w, bias %b, relu, contract = [1] x [1]
     : tensor<8x4xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<6xf32, #cpu>
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, bias %{{.*}}, residual %{{.*}}, relu, contract = [1] x [1] {library = #weft.library<"other", epilogues = ["bias"], least_flops = 1, workspace = 2>}
  %lr = weft.dot_general %x, %w, bias %b, residual %r, relu, contract = [1] x [1]
     {library = #weft.library<"other", epilogues = ["bias"], least_flops = 1, workspace = 2>}
     : tensor<8x4xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<6xf32, #cpu>, tensor<8x6xf32, #cpu>
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, residual %{{.*}}, plus (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}), contract = [1] x [1] : tensor<8x4xf32, #cpu{{.*}}>, tensor<6x4xf32, #cpu{{.*}}>, tensor<8x6xf32, #cpu{{.*}}>, tensor<8x4xf32, #cpu
  %m = weft.dot_general %x, %w, residual %r, plus (%x, %w, %x, %w), contract = [1] x [1]
     : tensor<8x4xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<8x6xf32, #cpu>, tensor<8x4xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<8x4xf32, #cpu>, tensor<6x4xf32, #cpu>
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, batch = [0, 1] x [0, 1], contract = [3] x [3] : tensor<2x8x5x4xf32, #cpu{{.*}}>, tensor<2x8x7x4xf32, #cpu
  %s = weft.dot_general %q, %k, batch = [0, 1] x [0, 1], contract = [3] x [3]
     : tensor<2x8x5x4xf32, #cpu>, tensor<2x8x7x4xf32, #cpu>
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, contract = [0] x [0] : tensor<4xf32, #cpu{{.*}}>, tensor<4xf32, #cpu
  %i = weft.dot_general %v, %v, contract = [0] x [0] : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, contract = [] x [] : tensor<4xf32, #cpu{{.*}}>, tensor<4xf32, #cpu
  %o = weft.dot_general %v, %v, contract = [] x [] : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %r, %l, %s, %i, %o
    : tensor<8x6xf32, #cpu>, tensor<8x6xf32, #cpu>, tensor<2x8x5x7xf32, #cpu>, tensor<f32, #cpu>, tensor<4x4xf32, #cpu>
}

// A product over nothing is one, and whether anything is true over nothing is false.
// CHECK-LABEL: weft.func @products
weft.func @products(%a: tensor<2x3x4xbf16, #cpu>, %e: tensor<0x3xi32, #cpu>, %p: tensor<2x0xi1, #cpu>)
    -> (tensor<3xbf16, #cpu>, tensor<3xi32, #cpu>, tensor<2xi1, #cpu>) {
  // CHECK: weft.prod %{{.*}}, dims = [0, 2] : tensor<2x3x4xbf16, #cpu
  %0 = weft.prod %a, dims = [0, 2] : tensor<2x3x4xbf16, #cpu>
  // CHECK: weft.prod %{{.*}}, dims = [0] : tensor<0x3xi32, #cpu
  %1 = weft.prod %e, dims = [0] : tensor<0x3xi32, #cpu>
  // CHECK: weft.any %{{.*}}, dims = [1] : tensor<2x0xi1, #cpu
  %2 = weft.any %p, dims = [1] : tensor<2x0xi1, #cpu>
  weft.return %0, %1, %2 : tensor<3xbf16, #cpu>, tensor<3xi32, #cpu>, tensor<2xi1, #cpu>
}

// Moments of halves are f32, and the count is one number.
// CHECK-LABEL: weft.func @moments
weft.func @moments(%a: tensor<4x10xf16, #cpu>) -> (tensor<10xf32, #cpu>, tensor<10xf32, #cpu>, tensor<i64, #cpu>, tensor<10xi64, #cpu>) {
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = weft.welford %{{.*}}, dims = [0] : tensor<4x10xf16, #cpu
  %mean, %m2, %count = weft.welford %a, dims = [0] : tensor<4x10xf16, #cpu>
  // CHECK: weft.argmin %{{.*}}, dim = 0 : tensor<4x10xf16, #cpu
  %least = weft.argmin %a, dim = 0 : tensor<4x10xf16, #cpu>
  weft.return %mean, %m2, %count, %least : tensor<10xf32, #cpu>, tensor<10xf32, #cpu>, tensor<i64, #cpu>, tensor<10xi64, #cpu>
}

// CHECK-LABEL: weft.func @scans
weft.func @scans(%a: tensor<4x10xf32, #cpu>, %i: tensor<7xui8, #cpu>) -> (tensor<4x10xf32, #cpu>, tensor<7xui8, #cpu>) {
  // CHECK: weft.cumsum %{{.*}}, dim = 1 : tensor<4x10xf32, #cpu
  %0 = weft.cumsum %a, dim = 1 : tensor<4x10xf32, #cpu>
  // CHECK: weft.cumsum %{{.*}}, dim = 0 reverse exclusive : tensor<4x10xf32, #cpu
  %1 = weft.cumsum %0, dim = 0 reverse exclusive : tensor<4x10xf32, #cpu>
  // CHECK: weft.cumprod %{{.*}}, dim = 0 exclusive : tensor<7xui8, #cpu
  %2 = weft.cumprod %i, dim = 0 exclusive : tensor<7xui8, #cpu>
  weft.return %1, %2 : tensor<4x10xf32, #cpu>, tensor<7xui8, #cpu>
}
