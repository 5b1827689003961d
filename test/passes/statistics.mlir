// RUN: weft-opt %s --weft-pipeline=report=true --weft-statistics -o %t.1 2> %t.statistics
// RUN: FileCheck %s < %t.statistics
// RUN: weft-opt %s --weft-pipeline=report=true --weft-statistics --mlir-disable-threading -o %t.2 2> %t.again
// RUN: cmp %t.statistics %t.again
// RUN: weft-opt %s --weft-pipeline=report=true -o %t.3 2>&1 | count 0
// RUN: cmp %t.1 %t.3

// What each pass did, in the order in which they run, summed over the functions and over the runs of a pass. Counting
// changes nothing.
// CHECK: weft-decompose-composites 2 runs, {{[0-9]+}} -> {{[0-9]+}} ops: {{.*}}weft.rmax +1, weft.softmax -1
// CHECK: weft-query-libraries 2 runs, {{[0-9]+}} -> {{[0-9]+}} ops; decisions: WEFT-N004 1
// CHECK: weft-attach-epilogues 2 runs, {{.*}}weft.add -1; decisions: WEFT-N005 1
// CHECK: weft-fuse 2 runs, {{.*}} weft.fusion +2, {{.*}}; decisions: {{.*}}fused
// CHECK: weft-plan-memory

#cpu = #weft.device<cpu>
weft.func @softmax(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> {
  %0 = weft.softmax %x, dim = 1 : tensor<8x8xf32, #cpu>
  weft.return %0 : tensor<8x8xf32, #cpu>
}
weft.func @linear(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>, %b: tensor<8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<4x8xf32, #cpu>
  %3 = weft.tanh %2 : tensor<4x8xf32, #cpu>
  weft.return %3 : tensor<4x8xf32, #cpu>
}
