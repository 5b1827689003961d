// RUN: weft-opt %s --weft-select-branches=report=true | FileCheck %s
// RUN: weft-opt %s --weft-select-branches=always=true --symbol-dce | FileCheck %s --check-prefix=ALWAYS
// RUN: weft-opt %s --weft-select-branches=target=cuda:sm_90 --symbol-dce | FileCheck %s --check-prefix=ALWAYS
// RUN: not weft-opt %s --weft-select-branches="always=true max-ops=20" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not weft-opt %S/Inputs/gradient-of-while.mlir --weft-select-branches=target=cuda:sm_90 2>&1 | FileCheck %s --check-prefix=WHILE

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

weft.func private @twice(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %r = weft.add %x, %x : tensor<4xf32, #cpu>
  %s = weft.sum %x, dims = [0] : tensor<4xf32, #cpu>
  weft.return %r, %s : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}
weft.func private @negative(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %r = weft.neg %x : tensor<4xf32, #cpu>
  %s = weft.rmax %x, dims = [0] : tensor<4xf32, #cpu>
  weft.return %r, %s : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}
// CHECK-LABEL:  weft.func @host
// CHECK-NOT:    WEFT-T009
// CHECK:        weft.cond %{{.*}} then @twice else @negative
// ALWAYS-LABEL: weft.func @host
// ALWAYS-SAME:    (%[[P:.*]]: tensor<i1, #cpu>, %[[X:.*]]: tensor<4xf32, #cpu>)
// ALWAYS:         %[[A:.*]] = weft.add %[[X]], %[[X]]
// ALWAYS:         %[[S:.*]] = weft.sum
// ALWAYS:         %[[N:.*]] = weft.neg %[[X]]
// ALWAYS:         %[[M:.*]] = weft.rmax
// ALWAYS:         %[[WIDE:.*]] = weft.broadcast_in_dim %[[P]], dims = [] {{.*}} -> tensor<4xi1, #cpu>
// ALWAYS:         %[[R:.*]] = weft.select %[[WIDE]], %[[A]], %[[N]]
// ALWAYS:         %[[T:.*]] = weft.select %[[P]], %[[S]], %[[M]]
// ALWAYS:         weft.return %[[R]], %[[T]]
weft.func @host(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %r:2 = weft.cond %p then @twice else @negative(%p, %x) : (tensor<i1, #cpu>, tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>)
  weft.return %r#0, %r#1 : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}

// A condition in a branch of another.
weft.func private @nested(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %r:2 = weft.cond %p then @negative else @twice(%p, %x) : (tensor<i1, #cpu>, tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>)
  weft.return %r#0, %r#1 : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}
// ALWAYS-LABEL: weft.func @outer
// ALWAYS-NOT:     weft.cond
// ALWAYS-COUNT-4: weft.select
weft.func @outer(%p: tensor<i1, #cpu>, %q: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %r:2 = weft.cond %p then @nested else @twice(%q, %x) : (tensor<i1, #cpu>, tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>)
  weft.return %r#0, %r#1 : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}

weft.func private @same_on_gpu(%x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  weft.return %x : tensor<4xf32, #gpu>
}
// CHECK-LABEL: weft.func @gpu
// CHECK-SAME:    "WEFT-T009"{{.*}}both branches of a condition are computed: only the host chooses one
// CHECK:         weft.return %arg1
weft.func @gpu(%p: tensor<i1, #gpu>, %x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.cond %p then @same_on_gpu else @same_on_gpu(%x) : (tensor<i1, #gpu>, tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}

// MANY: conditions would become more than 20 operations with both of their branches (WEFT-T005)
// WHILE: a while loop in a program of 'cuda:sm_90', where only the host has them (WEFT-T010)
// WHILE: or use scan, with a number of trips
