// What is returned beside its own place is one more result of a fusion, not a launch of its own.
// RUN: weft-opt %s --weft-fuse-result-copies | FileCheck %s

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// The carry %n is also a row, and the derivative needs %h and %c from before the trip.
// CHECK-LABEL: weft.func @body
// CHECK:         %[[F:.*]]:4 = weft.fusion loop (%arg0, %arg1, %arg2)
// CHECK:         ^bb0(%[[H:.*]]: tensor<8xf32, #cpu>, %[[X:.*]]: tensor<8xf32, #cpu>, %[[C:.*]]: tensor<8xf32, #cpu>):
// CHECK:           %[[N:.*]] = weft.add
// CHECK:           weft.yield %[[N]], %[[N]], %[[H]], %[[C]]
// CHECK:         weft.return %[[F]]#0, %[[F]]#1, %[[F]]#2, %[[F]]#3
weft.func @body(%h: tensor<8xf32, #cpu>, %x: tensor<8xf32, #cpu>, %c: tensor<8xf32, #cpu>) -> (tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>) {
  %n = weft.fusion loop (%h, %x) : (tensor<8xf32, #cpu>, tensor<8xf32, #cpu>) -> tensor<8xf32, #cpu> {
  ^bb0(%a: tensor<8xf32, #cpu>, %b: tensor<8xf32, #cpu>):
    %s = weft.add %a, %b : tensor<8xf32, #cpu>
    weft.yield %s : tensor<8xf32, #cpu>
  }
  weft.return %n, %n, %h, %c : tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>
}

// A value that replaces an argument is copied for its other result, which is the first here.
// CHECK-LABEL: weft.func @tied
// CHECK:         %[[F:.*]]:2 = weft.fusion loop
// CHECK:         weft.return %[[F]]#1, %[[F]]#0
weft.func @tied(%h: tensor<8xf32, #cpu> {weft.donated}) -> (tensor<8xf32, #cpu>, tensor<8xf32, #cpu> {weft.tied = 0 : i64}) {
  %n = weft.fusion loop (%h) : (tensor<8xf32, #cpu>) -> tensor<8xf32, #cpu> {
  ^bb0(%a: tensor<8xf32, #cpu>):
    %s = weft.neg %a : tensor<8xf32, #cpu>
    weft.yield %s : tensor<8xf32, #cpu>
  }
  weft.return %n, %n : tensor<8xf32, #cpu>, tensor<8xf32, #cpu>
}

// Of another shape or device, of a reduction, and of an argument that the call may write, the memory plan makes copies.
// CHECK-LABEL: weft.func @others
// CHECK:         %[[F:.*]] = weft.fusion loop
// CHECK:         %[[R:.*]] = weft.fusion row
// CHECK:         weft.return %[[F]], %arg1, %arg2, %arg3, %[[R]], %[[R]]
weft.func @others(%h: tensor<8xf32, #cpu>, %short: tensor<4xf32, #cpu>, %far: tensor<8xf32, #gpu>, %given: tensor<8xf32, #cpu> {weft.donated}) -> (tensor<8xf32, #cpu>, tensor<4xf32, #cpu>, tensor<8xf32, #gpu>, tensor<8xf32, #cpu>, tensor<f32, #cpu>, tensor<f32, #cpu>) {
  %n = weft.fusion loop (%h) : (tensor<8xf32, #cpu>) -> tensor<8xf32, #cpu> {
  ^bb0(%a: tensor<8xf32, #cpu>):
    %s = weft.neg %a : tensor<8xf32, #cpu>
    weft.yield %s : tensor<8xf32, #cpu>
  }
  %r = weft.fusion row (%h) : (tensor<8xf32, #cpu>) -> tensor<f32, #cpu> {
  ^bb0(%a: tensor<8xf32, #cpu>):
    %s = weft.sum %a, dims = [0] : tensor<8xf32, #cpu>
    weft.yield %s : tensor<f32, #cpu>
  }
  weft.return %n, %short, %far, %given, %r, %r : tensor<8xf32, #cpu>, tensor<4xf32, #cpu>, tensor<8xf32, #gpu>, tensor<8xf32, #cpu>, tensor<f32, #cpu>, tensor<f32, #cpu>
}

// Every time that a value is returned again is another result.
// CHECK-LABEL: weft.func @four_times
// CHECK:         %[[F:.*]]:4 = weft.fusion loop
// CHECK:         weft.return %[[F]]#0, %[[F]]#1, %[[F]]#2, %[[F]]#3
weft.func @four_times(%h: tensor<8xf32, #cpu>) -> (tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>) {
  %n = weft.fusion loop (%h) : (tensor<8xf32, #cpu>) -> tensor<8xf32, #cpu> {
  ^bb0(%a: tensor<8xf32, #cpu>):
    %s = weft.neg %a : tensor<8xf32, #cpu>
    weft.yield %s : tensor<8xf32, #cpu>
  }
  weft.return %n, %n, %n, %n : tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>
}

// A kernel takes so many operands and results; the memory plan copies the other arguments. Here 48.
// CHECK-LABEL: weft.func @many
// CHECK:         %[[F:.*]]:24 = weft.fusion loop
// CHECK:         weft.return %[[F]]#0, {{.*}}%[[F]]#23, %arg24, %arg25
weft.func @many(%a0: tensor<8xf32, #cpu>, %a1: tensor<8xf32, #cpu>, %a2: tensor<8xf32, #cpu>, %a3: tensor<8xf32, #cpu>, %a4: tensor<8xf32, #cpu>, %a5: tensor<8xf32, #cpu>, %a6: tensor<8xf32, #cpu>, %a7: tensor<8xf32, #cpu>, %a8: tensor<8xf32, #cpu>, %a9: tensor<8xf32, #cpu>, %a10: tensor<8xf32, #cpu>, %a11: tensor<8xf32, #cpu>, %a12: tensor<8xf32, #cpu>, %a13: tensor<8xf32, #cpu>, %a14: tensor<8xf32, #cpu>, %a15: tensor<8xf32, #cpu>, %a16: tensor<8xf32, #cpu>, %a17: tensor<8xf32, #cpu>, %a18: tensor<8xf32, #cpu>, %a19: tensor<8xf32, #cpu>, %a20: tensor<8xf32, #cpu>, %a21: tensor<8xf32, #cpu>, %a22: tensor<8xf32, #cpu>, %a23: tensor<8xf32, #cpu>, %a24: tensor<8xf32, #cpu>, %a25: tensor<8xf32, #cpu>) -> (tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>) {
  %n = weft.fusion loop (%a0) : (tensor<8xf32, #cpu>) -> tensor<8xf32, #cpu> {
  ^bb0(%a: tensor<8xf32, #cpu>):
    %s = weft.neg %a : tensor<8xf32, #cpu>
    weft.yield %s : tensor<8xf32, #cpu>
  }
  weft.return %n, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %a13, %a14, %a15, %a16, %a17, %a18, %a19, %a20, %a21, %a22, %a23, %a24, %a25 : tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>
}
