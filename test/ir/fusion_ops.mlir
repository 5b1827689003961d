// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @loop
weft.func @loop(%x: tensor<4x8xf32, #cpu>, %b: tensor<8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  // CHECK: weft.fusion loop (%{{.*}}, %{{.*}}) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0, streaming>, slices = [#weft.slice<result, 0, 128>]} : (tensor<4x8xf32, #cpu{{.*}}>, tensor<8xf32, #cpu{{.*}}>) -> tensor<4x8xf32, #cpu
  // CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4x8xf32, #cpu{{.*}}>, %[[B:.*]]: tensor<8xf32, #cpu{{.*}}>):
  %r = weft.fusion loop (%x, %b)
      {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0, streaming>,
       slices = [#weft.slice<result, 0, 128>]}
      : (tensor<4x8xf32, #cpu>, tensor<8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  ^bb0(%fx: tensor<4x8xf32, #cpu>, %fb: tensor<8xf32, #cpu>):
    %w = weft.broadcast_in_dim %fb, dims = [1] : tensor<8xf32, #cpu> -> tensor<4x8xf32, #cpu>
    // CHECK: weft.add %[[X]], %{{.*}} : tensor<4x8xf32, #cpu
    %s = weft.add %fx, %w : tensor<4x8xf32, #cpu>
    // CHECK: weft.yield %{{.*}} : tensor<4x8xf32, #cpu
    weft.yield %s : tensor<4x8xf32, #cpu>
  }
  weft.return %r : tensor<4x8xf32, #cpu>
}

// CHECK-LABEL: weft.func @row
weft.func @row(%x: tensor<4x8xf32, #cpu>) -> (tensor<4x8xf32, #cpu>, tensor<4xf32, #cpu>) {
  // CHECK: weft.fusion row (%{{.*}}) : (tensor<4x8xf32, #cpu{{.*}}>) -> (tensor<4x8xf32, #cpu{{.*}}>, tensor<4xf32, #cpu
  %r:2 = weft.fusion row (%x) : (tensor<4x8xf32, #cpu>) -> (tensor<4x8xf32, #cpu>, tensor<4xf32, #cpu>) {
  ^bb0(%a: tensor<4x8xf32, #cpu>):
    %m = weft.rmax %a, dims = [1] : tensor<4x8xf32, #cpu>
    %w = weft.broadcast_in_dim %m, dims = [0] : tensor<4xf32, #cpu> -> tensor<4x8xf32, #cpu>
    %s = weft.sub %a, %w : tensor<4x8xf32, #cpu>
    %t = weft.sum %s, dims = [1] : tensor<4x8xf32, #cpu>
    weft.yield %s, %t : tensor<4x8xf32, #cpu>, tensor<4xf32, #cpu>
  }
  weft.return %r#0, %r#1 : tensor<4x8xf32, #cpu>, tensor<4xf32, #cpu>
}

// CHECK-LABEL: weft.func @column
weft.func @column(%x: tensor<4x8xf32, #cpu>) -> tensor<8xf32, #cpu> {
  // CHECK: weft.fusion column (%{{.*}}) : (tensor<4x8xf32, #cpu{{.*}}>) -> tensor<8xf32, #cpu
  %r = weft.fusion column (%x) : (tensor<4x8xf32, #cpu>) -> tensor<8xf32, #cpu> {
  ^bb0(%a: tensor<4x8xf32, #cpu>):
    %s = weft.sum %a, dims = [0] : tensor<4x8xf32, #cpu>
    weft.yield %s : tensor<8xf32, #cpu>
  }
  weft.return %r : tensor<8xf32, #cpu>
}

// Rows in the middle, of two dimensions; and a reduction that depends on another.
// CHECK-LABEL: weft.func @middle
weft.func @middle(%x: tensor<4x2x3x8xf32, #cpu>) -> (tensor<4x2x3x8xf32, #cpu>, tensor<4x8xf32, #cpu>) {
  // CHECK: weft.fusion column (%{{.*}}) : (tensor<4x2x3x8xf32, #cpu{{.*}}>) -> (tensor<4x2x3x8xf32, #cpu{{.*}}>, tensor<4x8xf32, #cpu
  %r:2 = weft.fusion column (%x) : (tensor<4x2x3x8xf32, #cpu>) -> (tensor<4x2x3x8xf32, #cpu>, tensor<4x8xf32, #cpu>) {
  ^bb0(%a: tensor<4x2x3x8xf32, #cpu>):
    %s = weft.sum %a, dims = [1, 2] : tensor<4x2x3x8xf32, #cpu>
    %b = weft.broadcast_in_dim %s, dims = [0, 3] : tensor<4x8xf32, #cpu> -> tensor<4x2x3x8xf32, #cpu>
    %d = weft.sub %a, %b : tensor<4x2x3x8xf32, #cpu>
    %m = weft.rmax %d, dims = [1, 2] : tensor<4x2x3x8xf32, #cpu>
    weft.yield %d, %m : tensor<4x2x3x8xf32, #cpu>, tensor<4x8xf32, #cpu>
  }
  weft.return %r#0, %r#1 : tensor<4x2x3x8xf32, #cpu>, tensor<4x8xf32, #cpu>
}

// CHECK-LABEL: weft.func @multi_tensor
weft.func @multi_tensor(%p: tensor<4xf32, #cpu>, %q: tensor<2x3xf32, #cpu>, %step: tensor<i64, #cpu>,
                        %lr: tensor<f64, #cpu>) -> (tensor<4xf32, #cpu>, tensor<2x3xf32, #cpu>) {
  // CHECK: weft.fusion multi_tensor (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (
  %r:2 = weft.fusion multi_tensor (%p, %q, %step, %lr)
      : (tensor<4xf32, #cpu>, tensor<2x3xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>)
      -> (tensor<4xf32, #cpu>, tensor<2x3xf32, #cpu>) {
  ^bb0(%fp: tensor<4xf32, #cpu>, %fq: tensor<2x3xf32, #cpu>, %fs: tensor<i64, #cpu>, %fl: tensor<f64, #cpu>):
    %a = weft.sgd_step (%fp, %fp, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    %b = weft.sgd_step (%fq, %fq, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<2x3xf32, #cpu>, tensor<2x3xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    weft.yield %a, %b : tensor<4xf32, #cpu>, tensor<2x3xf32, #cpu>
  }
  weft.return %r#0, %r#1 : tensor<4xf32, #cpu>, tensor<2x3xf32, #cpu>
}
