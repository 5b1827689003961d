// RUN: weft-opt %s --weft-partition-capture -split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-partition-capture -split-input-file | weft-opt -split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-partition-capture=minimum=1 -split-input-file | FileCheck %s --check-prefix=ONE
// RUN: not weft-opt %s --weft-partition-capture=minimum=0 -split-input-file 2>&1 | FileCheck %s --check-prefix=ZERO

// ZERO: needs a minimum of at least 1 launch, found 0

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// A print cuts the run: three launches before it are a graph, the one after it is too few, with a note. Of one launch
// a graph is made where that is asked for.
// CHECK-LABEL: @cut
// CHECK-SAME: code = "WEFT-C002"
// CHECK-SAME: message = "the host prints this value; the graph ends here"
// CHECK-SAME: code = "WEFT-C020"
// CHECK-SAME: message = "1 launch in a row is fewer than the 3 that a graph pays for"
// ONE-LABEL: @cut
weft.func @cut(%a: tensor<8x8xf32, #gpu>) -> tensor<8x8xf32, #gpu> {
  // CHECK-COUNT-3: weft.dot_general {{.*}} {weft.capture = 0 : i64}
  // CHECK: weft.print {{.*}} : tensor
  // CHECK: weft.dot_general {{.*}} contract = [1] x [0] : tensor
  // ONE-COUNT-3: {weft.capture = 0 : i64}
  // ONE: weft.dot_general {{.*}} {weft.capture = 1 : i64}
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %1 = weft.dot_general %0, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %2 = weft.dot_general %1, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.print %2 : tensor<8x8xf32, #gpu>
  %3 = weft.dot_general %2, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %3 : tensor<8x8xf32, #gpu>
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Reasons: a read of the host, a launch on the host, and a copy of pageable memory; a copy that does not wait is in.
// CHECK-LABEL: @reasons
// CHECK-SAME: code = "WEFT-C001"
// CHECK-SAME: code = "WEFT-C003"
// CHECK-SAME: code = "WEFT-C021"
// ONE-LABEL: @reasons
weft.func @reasons(%s: tensor<f32, #gpu>, %h: tensor<8x8xf32, #cpu>, %a: tensor<8x8xf32, #gpu>) -> (tensor<f32, #cpu>, tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>) {
  %0 = weft.to_host_scalar %s : tensor<f32, #gpu>
  %1 = weft.dot_general %h, %h, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %2 = weft.transfer %1 to #gpu : tensor<8x8xf32, #cpu>
  // ONE: weft.transfer {{.*}} non_blocking {weft.capture = 0 : i64}
  %3 = weft.transfer %h to #gpu non_blocking : tensor<8x8xf32, #cpu>
  weft.return %0, %2, %3 : tensor<f32, #cpu>, tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
}

// -----

#cpu = #weft.device<cpu>
// A program for the host alone is a list like any other; an assertion does not cut it.
// CHECK-LABEL: @host
// ONE-LABEL: @host
weft.func @host(%a: tensor<8x8xf32, #cpu>, %c: tensor<i1, #cpu>) -> tensor<8x8xf32, #cpu> {
  // CHECK: weft.assert {{.*}} {weft.capture = 0 : i64}
  // CHECK-COUNT-2: weft.dot_general {{.*}} {weft.capture = 0 : i64}
  weft.assert %c, "true" : tensor<i1, #cpu>
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %0, %a, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %1 : tensor<8x8xf32, #cpu>
}

// -----

#gpu = #weft.device<cuda:0>

// The host waits for the predicate of a while loop. What is before and after it are graphs of their own.
// CHECK-LABEL: @waits
// CHECK-SAME: code = "WEFT-C008"
// CHECK-SAME: message = "is a loop on whose trips the host may have to decide; the graph ends here"
// ONE-LABEL: @waits
weft.func @waits(%a: tensor<8x8xf32, #gpu>) -> tensor<8x8xf32, #gpu> {
  // ONE: weft.dot_general {{.*}} {weft.capture = 0 : i64}
  // ONE: weft.while
  // ONE-NOT: weft.capture
  // ONE-SAME: : (
  // ONE: weft.dot_general {{.*}} {weft.capture = 1 : i64}
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %1 = weft.while @small do @squared(%0) with() : (tensor<8x8xf32, #gpu>) -> tensor<8x8xf32, #gpu>
  %2 = weft.dot_general %1, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %2 : tensor<8x8xf32, #gpu>
}
weft.func private @squared(%a: tensor<8x8xf32, #gpu>) -> tensor<8x8xf32, #gpu> {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %0 : tensor<8x8xf32, #gpu>
}
weft.func private @small(%a: tensor<8x8xf32, #gpu>) -> tensor<i1, #gpu> {
  %s = weft.sum %a, dims = [0, 1] : tensor<8x8xf32, #gpu>
  %l = weft.constant dense<100.0> : tensor<f32, #gpu>
  %0 = weft.lt %s, %l : tensor<f32, #gpu>
  weft.return %0 : tensor<i1, #gpu>
}

// -----

#gpu = #weft.device<cuda:0>

// The same for a condition.
// CHECK-LABEL: @decides
// CHECK-SAME: code = "WEFT-C009"
// CHECK-SAME: message = "has branches between which the host may have to decide; the graph ends here"
// ONE-LABEL: @decides
weft.func @decides(%p: tensor<i1, #gpu>, %a: tensor<8x8xf32, #gpu>) -> tensor<8x8xf32, #gpu> {
  // ONE: weft.dot_general {{.*}} {weft.capture = 0 : i64}
  // ONE: weft.cond
  // ONE-NOT: weft.capture
  // ONE-SAME: : (
  // ONE: weft.dot_general {{.*}} {weft.capture = 1 : i64}
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %1 = weft.cond %p then @squared else @fourth(%0) : (tensor<i1, #gpu>, tensor<8x8xf32, #gpu>) -> tensor<8x8xf32, #gpu>
  %2 = weft.dot_general %1, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %2 : tensor<8x8xf32, #gpu>
}
weft.func private @squared(%a: tensor<8x8xf32, #gpu>) -> tensor<8x8xf32, #gpu> {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %0 : tensor<8x8xf32, #gpu>
}
weft.func private @fourth(%a: tensor<8x8xf32, #gpu>) -> tensor<8x8xf32, #gpu> {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %1 = weft.dot_general %0, %0, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %1 : tensor<8x8xf32, #gpu>
}
