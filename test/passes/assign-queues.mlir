// RUN: weft-opt %s --weft-assign-queues | FileCheck %s

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// A copy is issued as soon as its operand is there, on a queue of its own; the one of the result is another.
// CHECK-LABEL: @overlap
// CHECK-SAME: weft.queues = ["cuda:0 compute", "cuda:0 from host", "cuda:0 to host"]
weft.func @overlap(%a: tensor<8x8xf32, #gpu>, %h: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> {
  // CHECK: %[[T:.*]] = weft.transfer %arg1 to #cuda0_ {weft.queue = 1 : i64}
  // CHECK: %[[D:.*]] = weft.dot_general %arg0, %arg0, contract = [1] x [0] : tensor
  // CHECK: weft.dot_general %[[D]], %[[T]]
  // CHECK: weft.transfer {{.*}} to #cpu {weft.queue = 2 : i64}
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %1 = weft.transfer %h to #gpu : tensor<8x8xf32, #cpu>
  %2 = weft.dot_general %0, %1, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %3 = weft.transfer %2 to #cpu : tensor<8x8xf32, #gpu>
  weft.return %3 : tensor<8x8xf32, #cpu>
}

// On one queue nothing is marked. An assertion moves up to its condition, but not over a print that comes before it.
// CHECK-LABEL: @effects
// CHECK-NOT: weft.queues
weft.func @effects(%a: tensor<8x8xf32, #cpu>, %c: tensor<4xi1, #cpu>) -> tensor<8x8xf32, #cpu> {
  // CHECK: weft.dot_general
  // CHECK: weft.print
  // CHECK: weft.assert %arg1, "first"
  // CHECK: weft.assert %arg1, "second"
  // CHECK: weft.dot_general
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.print %0 : tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %0, %0, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.assert %c, "first" : tensor<4xi1, #cpu>
  weft.assert %c, "second" : tensor<4xi1, #cpu>
  weft.return %1 : tensor<8x8xf32, #cpu>
}

// A barrier of the program keeps what comes after it after what comes before, and goes.
// CHECK-LABEL: @barrier
weft.func @barrier(%a: tensor<8x8xf32, #gpu>, %h: tensor<8x8xf32, #cpu>) -> (tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>) {
  // CHECK: weft.dot_general
  // CHECK-NEXT: weft.transfer
  // CHECK-NOT: weft.barrier
  // CHECK-NOT: weft.token
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %t = weft.token
  %b = weft.barrier %t
  %1 = weft.transfer %h to #gpu : tensor<8x8xf32, #cpu>
  weft.return %0, %1 : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
}
