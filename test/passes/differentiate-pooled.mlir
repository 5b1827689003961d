// RUN: weft-opt %s --weft-differentiate --canonicalize | FileCheck %s

#gpu = #weft.device<cuda:0>
#cpu = #weft.device<cpu>

// A gather from windows of two elements a step apart, with padding before the first: the derivative adds the last element
// of each window to 0, and then the first, which is that of a later one.
// CHECK-LABEL: weft.func @pooled
// CHECK-DAG: %[[OWN:.*]] = weft.iota dim = 0 : tensor<5xi64
// CHECK-DAG: %[[AT:.*]] = weft.broadcast_in_dim %[[OWN]], dims = [1]
// CHECK: %[[I1:.*]] = weft.pad %arg1{{.*}}low = [0, 0], high = [0, 0], interior = [0, 1]
// CHECK: %[[C1:.*]] = weft.eq %[[I1]], %[[AT]]
// CHECK: %[[G1:.*]] = weft.pad %{{.*}}low = [0, 0], high = [0, 0], interior = [0, 1]
// CHECK: %[[S1:.*]] = weft.select %[[C1]], %[[G1]]
// CHECK: %[[T1:.*]] = weft.add %[[S1]], %{{.*}}
// CHECK: weft.pad %arg1{{.*}}low = [0, -1], high = [0, 1], interior = [0, 1]
// CHECK: %[[S0:.*]] = weft.select
// CHECK: %[[SUM:.*]] = weft.add %[[T1]], %[[S0]]
// CHECK: weft.return %[[SUM]]
// CHECK-NOT: weft.scatter
weft.func @pooled(%x: tensor<2x5xf32, #gpu>, %i: tensor<2x3xi64, #gpu>) -> tensor<2x5xf32, #gpu> {
  %y = weft.gather %x, %i, dim = 1, kind = along mode = assume {weft.pooled = array<i64: 5, 2, 2, 1, 1, 3>} : tensor<2x5xf32, #gpu>, tensor<2x3xi64, #gpu>
  %z = weft.mul %y, %y : tensor<2x3xf32, #gpu>
  %dx = weft.gradient %z wrt %x : tensor<2x3xf32, #gpu>, tensor<2x5xf32, #gpu>
  weft.return %dx : tensor<2x5xf32, #gpu>
}

// On a CPU a scatter is faster.
// CHECK-LABEL: weft.func @cpu
// CHECK: weft.scatter
weft.func @cpu(%x: tensor<2x5xf32, #cpu>, %i: tensor<2x3xi64, #cpu>) -> tensor<2x5xf32, #cpu> {
  %y = weft.gather %x, %i, dim = 1, kind = along mode = assume {weft.pooled = array<i64: 5, 2, 2, 1, 1, 3>} : tensor<2x5xf32, #cpu>, tensor<2x3xi64, #cpu>
  %dx = weft.gradient %y wrt %x : tensor<2x3xf32, #cpu>, tensor<2x5xf32, #cpu>
  weft.return %dx : tensor<2x5xf32, #cpu>
}

// Numbers that are not those of the operands, and windows of many elements.
// CHECK-LABEL: weft.func @others
// CHECK-COUNT-3: weft.scatter
weft.func @others(%x: tensor<2x60xf32, #gpu>, %i: tensor<2x3xi64, #gpu>) -> (tensor<2x60xf32, #gpu>, tensor<2x60xf32, #gpu>, tensor<2x60xf32, #gpu>) {
  %0 = weft.gather %x, %i, dim = 1, kind = along mode = assume {weft.pooled = array<i64: 60, 2, 2, 1, 1, 4>} : tensor<2x60xf32, #gpu>, tensor<2x3xi64, #gpu>
  %1 = weft.gradient %0 wrt %x : tensor<2x3xf32, #gpu>, tensor<2x60xf32, #gpu>
  %2 = weft.gather %x, %i, dim = 1, kind = along mode = assume {weft.pooled = array<i64: 60, 2, 0, 1, 1, 3>} : tensor<2x60xf32, #gpu>, tensor<2x3xi64, #gpu>
  %3 = weft.gradient %2 wrt %x : tensor<2x3xf32, #gpu>, tensor<2x60xf32, #gpu>
  %4 = weft.gather %x, %i, dim = 1, kind = along mode = assume {weft.pooled = array<i64: 60, 50, 5, 0, 1, 3>} : tensor<2x60xf32, #gpu>, tensor<2x3xi64, #gpu>
  %5 = weft.gradient %4 wrt %x : tensor<2x3xf32, #gpu>, tensor<2x60xf32, #gpu>
  weft.return %1, %3, %5 : tensor<2x60xf32, #gpu>, tensor<2x60xf32, #gpu>, tensor<2x60xf32, #gpu>
}
