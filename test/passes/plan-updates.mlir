// RUN: weft-opt %s --weft-pipeline=report=true | FileCheck %s
#cpu = #weft.device<cpu>

// An update of a donated argument, which its result replaces, writes the argument and nothing else; the index is
// checked by a launch before.
// CHECK-LABEL: weft.func @donated
weft.func @donated(%a: tensor<9x4xf32, #cpu> {weft.donated}, %u: tensor<6x4xf32, #cpu>, %i: tensor<6xi64, #cpu>)
    -> (tensor<9x4xf32, #cpu> {weft.tied = 0}) {
  // CHECK: %[[I:.*]] = weft.fusion loop
  // CHECK: weft.gather
  // CHECK: %[[R:.*]] = weft.fusion update (%arg0, %arg1, %[[I]])
  // CHECK-SAME: slices = [#weft.slice<argument, 0, 144>]
  // CHECK: weft.index_update %{{.*}}, %{{.*}}, %{{.*}}, dim = 0 accumulate mode = assume
  // CHECK-NOT: weft.fusion
  // CHECK: weft.return %[[R]]
  %r = weft.index_update %a, %u, %i, dim = 0 accumulate : tensor<9x4xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<6xi64, #cpu>
  weft.return %r : tensor<9x4xf32, #cpu>
}

// Two windows of a donated argument, one after the other, both write it.
// CHECK-LABEL: weft.func @windows
weft.func @windows(%a: tensor<9x4xf32, #cpu> {weft.donated}, %u: tensor<1x4xf32, #cpu>, %i: tensor<i64, #cpu>, %j: tensor<i64, #cpu>)
    -> (tensor<9x4xf32, #cpu> {weft.tied = 0}) {
  // CHECK: weft.fusion update
  // CHECK-SAME: slices = [#weft.slice<argument, 0, 144>]
  // CHECK: weft.fusion update
  // CHECK-SAME: slices = [#weft.slice<argument, 0, 144>]
  // CHECK-NOT: weft.fusion
  %r = weft.dynamic_update_slice %a, %u, starts(%i, %j) : tensor<9x4xf32, #cpu>, tensor<1x4xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  %s = weft.dynamic_update_slice %r, %u, starts(%j, %i) : tensor<9x4xf32, #cpu>, tensor<1x4xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  weft.return %s : tensor<9x4xf32, #cpu>
}

// A window at a fixed place reads its base there only: nothing is copied.
// CHECK-LABEL: weft.func @window
// CHECK-NOT: WEFT-D012
weft.func @window(%a: tensor<9x4xf32, #cpu> {weft.donated}, %u: tensor<1x4xf32, #cpu>) -> (tensor<9x4xf32, #cpu> {weft.tied = 0 : i64}) {
  // CHECK: weft.fusion update
  // CHECK-SAME: slices = [#weft.slice<argument, 0, 144>]
  // CHECK: weft.return
  %i = weft.constant dense<2> : tensor<i64, #cpu>
  %j = weft.constant dense<0> : tensor<i64, #cpu>
  %old = weft.slice %a, start = [2, 0], limit = [3, 4], step = [1, 1] : tensor<9x4xf32, #cpu>
  %new = weft.add %old, %u : tensor<1x4xf32, #cpu>
  %r = weft.dynamic_update_slice %a, %new, starts(%i, %j) : tensor<9x4xf32, #cpu>, tensor<1x4xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  weft.return %r : tensor<9x4xf32, #cpu>
}

// A window that reads another row than it writes gets a copy of its base.
// CHECK-LABEL: weft.func @shifted
// CHECK-SAME: WEFT-D012
weft.func @shifted(%a: tensor<9x4xf32, #cpu> {weft.donated}, %u: tensor<1x4xf32, #cpu>) -> (tensor<9x4xf32, #cpu> {weft.tied = 0 : i64}) {
  %i = weft.constant dense<2> : tensor<i64, #cpu>
  %j = weft.constant dense<0> : tensor<i64, #cpu>
  %old = weft.slice %a, start = [3, 0], limit = [4, 4], step = [1, 1] : tensor<9x4xf32, #cpu>
  %new = weft.add %old, %u : tensor<1x4xf32, #cpu>
  %r = weft.dynamic_update_slice %a, %new, starts(%i, %j) : tensor<9x4xf32, #cpu>, tensor<1x4xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  weft.return %r : tensor<9x4xf32, #cpu>
}

// Zeros are made in the storage of the result, and the update writes there.
// CHECK-LABEL: weft.func @zeros
weft.func @zeros(%u: tensor<6x4xf32, #cpu>, %i: tensor<6xi64, #cpu>) -> tensor<9x4xf32, #cpu> {
  // CHECK-DAG: weft.fusion loop (){{.*}}slices = [#weft.slice<result, 0, 144>]
  // CHECK: weft.fusion update
  // CHECK-SAME: slices = [#weft.slice<result, 0, 144>]
  %z = weft.constant dense<0.0> : tensor<9x4xf32, #cpu>
  %r = weft.index_update %z, %u, %i, dim = 0 accumulate : tensor<9x4xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<6xi64, #cpu>
  weft.return %r : tensor<9x4xf32, #cpu>
}

// What is still needed is copied before.
// CHECK-LABEL: weft.func @needed
// CHECK-SAME: WEFT-D012
weft.func @needed(%a: tensor<9x4xf32, #cpu>, %u: tensor<6x4xf32, #cpu>, %i: tensor<i64, #cpu>) -> tensor<9x4xf32, #cpu> {
  // CHECK: %[[C:.*]] = weft.fusion loop (%arg0){{.*}}slices = [#weft.slice<result, 0, 144>]
  // CHECK: weft.fusion update (%[[C]], %arg1
  %r = weft.dynamic_update_slice %a, %u, starts(%i, %i) : tensor<9x4xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  weft.return %r : tensor<9x4xf32, #cpu>
}
