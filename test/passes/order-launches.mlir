// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(weft.func(weft-order-launches{limit=40000},weft-plan-memory,weft-verify-memory-plan))' | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-plan-memory | FileCheck %s --check-prefix=PLAIN
// RUN: weft-opt %s --split-input-file --weft-order-launches -o %t.1
// RUN: weft-opt %s --split-input-file -o %t.2
// RUN: cmp %t.1 %t.2

// Without a limit nothing moves: the last three lines above. A matrix of 64x64 is 16,384 bytes.

#cpu = #weft.device<cpu>

// Four products are made before the first is used. With the limit each is reduced as soon as it is there, and the plan
// has two matrices at a time instead of four.
// CHECK-LABEL: weft.func @late
// CHECK-SAME:    weft.arena_bytes = 32768 : i64
// CHECK-SAME:    code = "ordered"
// CHECK-SAME:    message = "65536 bytes of temporaries at one time, the limit is 40000; in another order 32768"
// CHECK:         weft.dot_general
// CHECK:         weft.fusion row
// CHECK:         weft.dot_general
// PLAIN-LABEL: weft.func @late
// PLAIN-SAME:    weft.arena_bytes = 65536 : i64
weft.func @late(%a: tensor<64x64xf32, #cpu>) -> (tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>) {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %1 = weft.dot_general %a, %a, contract = [1] x [1] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %2 = weft.dot_general %a, %a, contract = [0] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %3 = weft.dot_general %a, %a, contract = [0] x [1] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %4 = weft.fusion row (%0) : (tensor<64x64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  ^bb0(%x: tensor<64x64xf32, #cpu>):
    %s = weft.sum %x, dims = [1] : tensor<64x64xf32, #cpu>
    weft.yield %s : tensor<64xf32, #cpu>
  }
  %5 = weft.fusion row (%1) : (tensor<64x64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  ^bb0(%x: tensor<64x64xf32, #cpu>):
    %s = weft.sum %x, dims = [1] : tensor<64x64xf32, #cpu>
    weft.yield %s : tensor<64xf32, #cpu>
  }
  %6 = weft.fusion row (%2) : (tensor<64x64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  ^bb0(%x: tensor<64x64xf32, #cpu>):
    %s = weft.sum %x, dims = [1] : tensor<64x64xf32, #cpu>
    weft.yield %s : tensor<64xf32, #cpu>
  }
  %7 = weft.fusion row (%3) : (tensor<64x64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  ^bb0(%x: tensor<64x64xf32, #cpu>):
    %s = weft.sum %x, dims = [1] : tensor<64x64xf32, #cpu>
    weft.yield %s : tensor<64xf32, #cpu>
  }
  weft.return %4, %5, %6, %7 : tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// What keeps the limit keeps its order, and what cannot keep it says so.
// CHECK-LABEL: weft.func @fits
// CHECK-NOT:     ordered
// CHECK-LABEL: weft.func @cannot
// CHECK-SAME:    message = "49152 bytes of temporaries at one time, the limit is 40000; no order was found that needs less"
weft.func @fits(%a: tensor<64x64xf32, #cpu>) -> tensor<64x64xf32, #cpu> {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %1 = weft.dot_general %a, %a, contract = [1] x [1] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %2 = weft.dot_general %0, %1, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  weft.return %2 : tensor<64x64xf32, #cpu>
}
weft.func @cannot(%a: tensor<64x64xf32, #cpu>) -> tensor<64x64xf32, #cpu> {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %1 = weft.dot_general %a, %0, contract = [1] x [1] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %2 = weft.dot_general %0, %1, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %3 = weft.dot_general %2, %0, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  weft.return %3 : tensor<64x64xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A reader of an argument stays before the launch that writes it, and a launch that may fail too: the state is still
// written in place, whatever the limit.
// CHECK-LABEL: weft.func @state
// CHECK-NOT:     WEFT-D
// CHECK:         weft.dot_general %arg1
// CHECK:         weft.assert
// CHECK:         weft.fusion loop
// CHECK-SAME:      #weft.slice<argument, 0, 16384>
weft.func @state(%s: tensor<64x64xf32, #cpu> {weft.donated}, %a: tensor<64x64xf32, #cpu>, %c: tensor<i1, #cpu>)
    -> (tensor<64x64xf32, #cpu> {weft.tied = 0 : i64}, tensor<64x64xf32, #cpu>) {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %1 = weft.dot_general %0, %s, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %2 = weft.dot_general %1, %0, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  weft.assert %c, "true" : tensor<i1, #cpu>
  %3 = weft.fusion loop (%s) : (tensor<64x64xf32, #cpu>) -> tensor<64x64xf32, #cpu> {
  ^bb0(%x: tensor<64x64xf32, #cpu>):
    %n = weft.neg %x : tensor<64x64xf32, #cpu>
    weft.yield %n : tensor<64x64xf32, #cpu>
  }
  %4 = weft.dot_general %2, %1, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %5 = weft.dot_general %4, %0, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  weft.return %3, %5 : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A step writes two arguments. What reads the first stays before it as what reads the second does: no copy of either,
// though the step is the cheapest launch when there is no room for that reader.
// CHECK-LABEL: weft.func @two_states
// CHECK-SAME:    weft.arena_bytes = 32768 : i64
// CHECK-SAME:    code = "ordered"
// CHECK-NOT:     WEFT-D
// CHECK:         weft.dot_general %arg1
// CHECK:         weft.fusion row
// CHECK:         weft.dot_general %arg0
// CHECK:         weft.fusion loop (%arg0, %arg1) {slices = [#weft.slice<argument, 0, 16384>, #weft.slice<argument, 1, 16384>]}
weft.func @two_states(%s: tensor<64x64xf32, #cpu> {weft.donated}, %t: tensor<64x64xf32, #cpu> {weft.donated}, %a: tensor<64x64xf32, #cpu>)
    -> (tensor<64x64xf32, #cpu> {weft.tied = 0 : i64}, tensor<64x64xf32, #cpu> {weft.tied = 1 : i64}, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>) {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %1 = weft.dot_general %t, %a, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %2 = weft.dot_general %s, %a, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %3:2 = weft.fusion loop (%s, %t) : (tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>) -> (tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>) {
  ^bb0(%x: tensor<64x64xf32, #cpu>, %y: tensor<64x64xf32, #cpu>):
    %n = weft.neg %x : tensor<64x64xf32, #cpu>
    %m = weft.neg %y : tensor<64x64xf32, #cpu>
    weft.yield %n, %m : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  }
  %4 = weft.fusion loop (%0) : (tensor<64x64xf32, #cpu>) -> tensor<64x64xf32, #cpu> {
  ^bb0(%x: tensor<64x64xf32, #cpu>):
    %n = weft.neg %x : tensor<64x64xf32, #cpu>
    weft.yield %n : tensor<64x64xf32, #cpu>
  }
  %5 = weft.fusion row (%4, %1) : (tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  ^bb0(%x: tensor<64x64xf32, #cpu>, %y: tensor<64x64xf32, #cpu>):
    %b = weft.add %x, %y : tensor<64x64xf32, #cpu>
    %r = weft.sum %b, dims = [1] : tensor<64x64xf32, #cpu>
    weft.yield %r : tensor<64xf32, #cpu>
  }
  %6 = weft.fusion row (%2) : (tensor<64x64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  ^bb0(%x: tensor<64x64xf32, #cpu>):
    %r = weft.sum %x, dims = [1] : tensor<64x64xf32, #cpu>
    weft.yield %r : tensor<64xf32, #cpu>
  }
  weft.return %3#0, %3#1, %5, %6 : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>
}
