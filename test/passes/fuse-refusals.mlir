// RUN: weft-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(weft.func(weft-fuse{report=true}))' | FileCheck %s
// RUN: not weft-opt %s --split-input-file --pass-pipeline='builtin.module(weft.func(weft-fuse{target=abacus}))' 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: unknown target 'abacus', expected one of cpu

#cpu = #weft.device<cpu>

// What is done is recorded with what it saves, at the line of the consumer.
// CHECK-LABEL: weft.func @done
// CHECK-SAME:    {code = "fused", consumer = "weft.neg#1", location = "{{.*}}fuse-refusals.mlir{{.*}}:[[@LINE+4]]:{{[0-9]+}}", message = "loop",
// CHECK-SAME:     producer = "weft.exp#0", saved_ps = {{[1-9][0-9]*}} : i64}
weft.func @done(%x: tensor<8xf32, #cpu>) -> tensor<8xf32, #cpu> {
  %0 = weft.exp %x : tensor<8xf32, #cpu>
  %1 = weft.neg %0 : tensor<8xf32, #cpu>
  weft.return %1 : tensor<8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @domain
// CHECK-SAME:    code = "WEFT-F001"
// CHECK-SAME:    message = "domains [8, 4] (row) and [8, 4] (column) differ; 2 kernels take {{[0-9]+}} ns and move {{[0-9]+}} bytes, one would take {{[0-9]+}} ns and move {{[0-9]+}}"
weft.func @domain(%x: tensor<8x4xf32, #cpu>) -> (tensor<8xf32, #cpu>, tensor<4xf32, #cpu>) {
  %0 = weft.sum %x, dims = [1] : tensor<8x4xf32, #cpu>
  %1 = weft.sum %x, dims = [0] : tensor<8x4xf32, #cpu>
  weft.return %0, %1 : tensor<8xf32, #cpu>, tensor<4xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A column kernel reduces many columns at a time; the place of one column is read where it is complete.
// CHECK-LABEL: weft.func @column_by_index
// CHECK-SAME:    code = "WEFT-F001"
// CHECK-SAME:    message = "the consumer reads by the results of one column, and a kernel has those of many
// CHECK:         weft.fusion column
// CHECK:         weft.fusion loop
weft.func @column_by_index(%x: tensor<3x9x40xf32, #cpu>, %y: tensor<3x90xf32, #cpu>) -> tensor<3x40xf32, #cpu> {
  %0 = weft.argmax %x, dim = 1 : tensor<3x9x40xf32, #cpu>
  %1 = weft.gather %y, %0, dim = 1, kind = along mode = assume : tensor<3x90xf32, #cpu>, tensor<3x40xi64, #cpu>
  weft.return %1 : tensor<3x40xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @cycle
// CHECK-SAME:    code = "WEFT-F002"
weft.func @cycle(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> {
  %0 = weft.exp %x : tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %0, %0, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<8x8xf32, #cpu>
  weft.return %2 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @scans
// CHECK-SAME:    code = "WEFT-F003"
// CHECK-SAME:    message = "a kernel holds one scan
weft.func @scans(%x: tensor<64x128xf32, #cpu>) -> tensor<64x128xf32, #cpu> {
  %0 = weft.cumsum %x, dim = 0 : tensor<64x128xf32, #cpu>
  %1 = weft.cumsum %0, dim = 0 : tensor<64x128xf32, #cpu>
  weft.return %1 : tensor<64x128xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Nine reductions of one row are one too many.
// CHECK-LABEL: weft.func @reductions
// CHECK-SAME:    code = "WEFT-F006"
// CHECK-SAME:    message = "would hold 9 reductions, the limit is 8; 2 kernels take {{[0-9]+}} ns and move {{[0-9]+}} bytes, one would take {{[0-9]+}} ns and move {{[0-9]+}}"
// CHECK:         weft.fusion row
// CHECK:         weft.fusion row
// CHECK-NOT:     weft.fusion
weft.func @reductions(%x: tensor<8x4xf32, #cpu>, %y: tensor<8x4xf32, #cpu>) -> tensor<8xf32, #cpu> {
  %0 = weft.sum %x, dims = [1] : tensor<8x4xf32, #cpu>
  %1 = weft.rmax %x, dims = [1] : tensor<8x4xf32, #cpu>
  %2 = weft.rmin %x, dims = [1] : tensor<8x4xf32, #cpu>
  %3 = weft.sum %y, dims = [1] : tensor<8x4xf32, #cpu>
  %4 = weft.rmax %y, dims = [1] : tensor<8x4xf32, #cpu>
  %5 = weft.rmin %y, dims = [1] : tensor<8x4xf32, #cpu>
  %e = weft.exp %x : tensor<8x4xf32, #cpu>
  %6 = weft.sum %e, dims = [1] : tensor<8x4xf32, #cpu>
  %7 = weft.rmax %e, dims = [1] : tensor<8x4xf32, #cpu>
  %8 = weft.rmin %e, dims = [1] : tensor<8x4xf32, #cpu>
  %9 = weft.add %0, %1 : tensor<8xf32, #cpu>
  %10 = weft.add %9, %2 : tensor<8xf32, #cpu>
  %11 = weft.add %10, %3 : tensor<8xf32, #cpu>
  %12 = weft.add %11, %4 : tensor<8xf32, #cpu>
  %13 = weft.add %12, %5 : tensor<8xf32, #cpu>
  %14 = weft.add %13, %6 : tensor<8xf32, #cpu>
  %15 = weft.add %14, %7 : tensor<8xf32, #cpu>
  %16 = weft.add %15, %8 : tensor<8xf32, #cpu>
  weft.return %16 : tensor<8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The exponentials of a million elements would all be computed by the one task that adds them.
// CHECK-LABEL: weft.func @parallel
// CHECK-SAME:    code = "WEFT-F007"
// CHECK:         weft.fusion loop
// CHECK:         weft.fusion row
weft.func @parallel(%x: tensor<1048576xf32, #cpu>) -> (tensor<1048576xf32, #cpu>, tensor<f32, #cpu>) {
  %0 = weft.tanh %x : tensor<1048576xf32, #cpu>
  %1 = weft.erf %0 : tensor<1048576xf32, #cpu>
  %2 = weft.tanh %1 : tensor<1048576xf32, #cpu>
  %3 = weft.sum %2, dims = [0] : tensor<1048576xf32, #cpu>
  weft.return %2, %3 : tensor<1048576xf32, #cpu>, tensor<f32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Exponentials of a vector are not computed again for each of 4,096 rows.
// CHECK-LABEL: weft.func @again
// CHECK-SAME:    code = "WEFT-F008"
// CHECK:         weft.fusion loop
// CHECK:           weft.exp %{{.*}} : tensor<1024xf32, #cpu>
// CHECK:         weft.fusion loop
weft.func @again(%x: tensor<1024xf32, #cpu>, %y: tensor<4096x1024xf32, #cpu>) -> tensor<4096x1024xf32, #cpu> {
  %0 = weft.exp %x : tensor<1024xf32, #cpu>
  %1 = weft.broadcast_in_dim %0, dims = [1] : tensor<1024xf32, #cpu> -> tensor<4096x1024xf32, #cpu>
  %2 = weft.add %1, %y : tensor<4096x1024xf32, #cpu>
  weft.return %2 : tensor<4096x1024xf32, #cpu>
}
