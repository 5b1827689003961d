// RUN: weft-opt %s --weft-differentiate -split-input-file -verify-diagnostics | FileCheck %s
#cpu = #weft.device<cpu>

// The gradient of rows that are read by index is added to where they were read, under the same check.
// CHECK-LABEL: weft.func @rows
weft.func @rows(%w: tensor<9x4xf32, #cpu>, %i: tensor<6xi64, #cpu>) -> tensor<9x4xf32, #cpu> {
  %r = weft.gather %w, %i, dim = 0, kind = points : tensor<9x4xf32, #cpu>, tensor<6xi64, #cpu>
  %g = weft.gradient %r wrt %w : tensor<6x4xf32, #cpu>, tensor<9x4xf32, #cpu>
  // CHECK: %[[Z:.*]] = weft.constant dense<0.0{{.*}}> : tensor<9x4xf32
  // CHECK: weft.index_update %[[Z]], %{{.*}}, %{{.*}}, dim = 0 accumulate : tensor<9x4xf32
  weft.return %g : tensor<9x4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Where several writes meet, the last one has the gradient.
// CHECK-LABEL: weft.func @last
weft.func @last(%w: tensor<9xf32, #cpu>, %i: tensor<6xi64, #cpu>, %u: tensor<6xf32, #cpu>) -> tensor<6xf32, #cpu> {
  %r = weft.scatter %w, %i, %u, dim = 0, kind = set : tensor<9xf32, #cpu>, tensor<6xi64, #cpu>, tensor<6xf32, #cpu>
  %g = weft.gradient %r wrt %u : tensor<9xf32, #cpu>, tensor<6xf32, #cpu>
  // CHECK: %[[N:.*]] = weft.iota dim = 0 : tensor<6xi64
  // CHECK: %[[W:.*]] = weft.scatter %{{.*}}, %{{.*}}, %[[N]], dim = 0, kind = set
  // CHECK: %[[R:.*]] = weft.gather %[[W]]
  // CHECK: %[[L:.*]] = weft.eq %[[R]], %[[N]]
  // CHECK: weft.select %[[L]]
  weft.return %g : tensor<6xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Equal extremes that meet share the gradient.
// CHECK-LABEL: weft.func @extreme
weft.func @extreme(%w: tensor<9xf32, #cpu>, %i: tensor<6xi64, #cpu>, %u: tensor<6xf32, #cpu>) -> tensor<6xf32, #cpu> {
  // CHECK: %[[R:.*]] = weft.scatter %{{.*}}, %{{.*}}, %{{.*}}, dim = 0, kind = max
  %r = weft.scatter %w, %i, %u, dim = 0, kind = max : tensor<9xf32, #cpu>, tensor<6xi64, #cpu>, tensor<6xf32, #cpu>
  // CHECK: weft.gather %[[R]]
  // CHECK: %[[N:.*]] = weft.scatter {{.*}} kind = add
  // CHECK: weft.div %{{.*}}, %[[N]]
  %g = weft.gradient %r wrt %u : tensor<9xf32, #cpu>, tensor<6xf32, #cpu>
  weft.return %g : tensor<6xf32, #cpu>
}
