// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(weft.func(weft-gather-capturable,weft-partition-capture,weft-plan-memory{target=sm_90}))' | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-partition-capture | FileCheck %s --check-prefix=PLAIN
// RUN: not weft-opt %s --split-input-file --weft-gather-capturable=minimum=0 2>&1 | FileCheck %s --check-prefix=ZERO

// ZERO: needs a minimum of at least 1 launch, found 0

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Two launches on each side of a print are too few for a graph. What the print does not need, and what does not need the
// print, moves to one side: four are enough.
// CHECK-LABEL: @across
// CHECK-SAME:    code = "gathered"
// CHECK-SAME:    message = "moved across cuts: 4 launches in 1 graph instead of 0 launches in 0 graphs"
// CHECK-COUNT-4: weft.dot_general {{.*}}weft.capture = 0 : i64
// CHECK:         weft.print
// PLAIN-LABEL: @across
// PLAIN-NOT:     weft.capture
weft.func @across(%a: tensor<8x8xf32, #gpu>) -> tensor<8x8xf32, #gpu> {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %1 = weft.dot_general %0, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.print %1 : tensor<8x8xf32, #gpu>
  %2 = weft.dot_general %1, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %3 = weft.dot_general %2, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %3 : tensor<8x8xf32, #gpu>
}

// -----
#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Three graphs become one: the copy of pageable memory, which the last products need, is issued before all of them, and
// the prints come after, in their order.
// PLAIN-LABEL: @cuts
// CHECK-LABEL: @cuts
// CHECK-SAME:    message = "moved across cuts: 9 launches in 1 graph instead of 9 launches in 3 graphs"
// CHECK:         weft.transfer
// CHECK-COUNT-9: weft.dot_general {{.*}}weft.capture = 0 : i64
// CHECK:         weft.print {{.*}} label = "first"
// CHECK:         weft.print {{.*}} label = "second"
weft.func @cuts(%a: tensor<8x8xf32, #gpu>, %h: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #gpu> {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %1 = weft.dot_general %0, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %2 = weft.dot_general %1, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.print %2 label = "first" : tensor<8x8xf32, #gpu>
  %3 = weft.dot_general %2, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %4 = weft.dot_general %3, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %5 = weft.dot_general %4, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.print %5 label = "second" : tensor<8x8xf32, #gpu>
  %t = weft.transfer %h to #gpu : tensor<8x8xf32, #cpu>
  %6 = weft.dot_general %5, %t, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %7 = weft.dot_general %6, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %8 = weft.dot_general %7, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %8 : tensor<8x8xf32, #gpu>
}

// -----
#cpu = #weft.device<cpu>

// Where as much is captured in as many graphs, the order of the text stays.
// CHECK-LABEL: @same
// CHECK-NOT:     gathered
// CHECK:         weft.print
// CHECK-COUNT-3: weft.dot_general {{.*}}weft.capture = 0 : i64
weft.func @same(%a: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> {
  weft.print %a : tensor<8x8xf32, #cpu>
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %0, %a, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %2 = weft.dot_general %1, %a, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %2 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A launch that may fail keeps its place between prints: a call that fails has printed what it printed before.
// CHECK-LABEL: @observed
// CHECK:         weft.print {{.*}} label = "before"
// CHECK:         weft.assert
// CHECK:         weft.print {{.*}} label = "after"
weft.func @observed(%a: tensor<8x8xf32, #cpu>, %c: tensor<i1, #cpu>) -> tensor<8x8xf32, #cpu> {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.print %0 label = "before" : tensor<8x8xf32, #cpu>
  weft.assert %c, "true" : tensor<i1, #cpu>
  weft.print %0 label = "after" : tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %0, %a, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %2 = weft.dot_general %1, %a, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %2 : tensor<8x8xf32, #cpu>
}
