// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>
#batch = #weft.device<cpu, [batch]>

// CHECK-LABEL: weft.func @factorize
weft.func @factorize(%a: tensor<2x3x3xf32, #cpu>, %b: tensor<5x3xf64, #cpu>)
    -> (tensor<2x3x3xf32, #cpu>, tensor<2xi32, #cpu>, tensor<5xi64, #cpu>, tensor<5x3xf64, #cpu>, tensor<5x5xf64, #cpu>,
        tensor<2x3xf32, #cpu>, tensor<3x3xf64, #cpu>) {
  // CHECK: weft.factorize %{{.*}}, kind = cholesky : tensor<2x3x3xf32, #cpu
  %l, %info = weft.factorize %a, kind = cholesky : tensor<2x3x3xf32, #cpu>
  // CHECK: weft.factorize %{{.*}}, kind = lu : tensor<5x3xf64, #cpu
  %f, %pivots, %order = weft.factorize %b, kind = lu : tensor<5x3xf64, #cpu>
  // CHECK: weft.factorize %{{.*}}, kind = qr : tensor<5x3xf64, #cpu
  %q, %r = weft.factorize %b, kind = qr : tensor<5x3xf64, #cpu>
  // CHECK: weft.factorize %{{.*}}, kind = qr full : tensor<5x3xf64, #cpu
  %q5, %r5 = weft.factorize %b, kind = qr full : tensor<5x3xf64, #cpu>
  // CHECK: weft.factorize %{{.*}}, kind = eigh : tensor<2x3x3xf32, #cpu
  %w, %v = weft.factorize %a, kind = eigh : tensor<2x3x3xf32, #cpu>
  // CHECK: weft.factorize %{{.*}}, kind = svd : tensor<5x3xf64, #cpu
  %u, %s, %vt = weft.factorize %b, kind = svd : tensor<5x3xf64, #cpu>
  weft.return %l, %info, %order, %q, %q5, %w, %vt : tensor<2x3x3xf32, #cpu>, tensor<2xi32, #cpu>, tensor<5xi64, #cpu>,
      tensor<5x3xf64, #cpu>, tensor<5x5xf64, #cpu>, tensor<2x3xf32, #cpu>, tensor<3x3xf64, #cpu>
}

// The batch may be dynamic.
// CHECK-LABEL: weft.func @triangular_solve
weft.func @triangular_solve(%a: tensor<?x3x3xf32, #batch>, %b: tensor<?x3x2xf32, #batch>) -> tensor<?x3x2xf32, #batch>
    attributes {weft.symbols = [#weft.symbol<"batch", 0, 64>]} {
  // CHECK: weft.triangular_solve %{{.*}}, %{{.*}} upper unit : tensor<?x3x3xf32, #{{.*}}>, tensor<?x3x2xf32, #
  %x = weft.triangular_solve %a, %b upper unit : tensor<?x3x3xf32, #batch>, tensor<?x3x2xf32, #batch>
  // CHECK: weft.triangular_solve %{{.*}}, %{{.*}} : tensor<?x3x3xf32, #{{.*}}>, tensor<?x3x2xf32, #
  %y = weft.triangular_solve %a, %x : tensor<?x3x3xf32, #batch>, tensor<?x3x2xf32, #batch>
  weft.return %y : tensor<?x3x2xf32, #batch>
}
