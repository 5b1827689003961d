// RUN: weft-opt %s --weft-assign-queues --weft-plan-memory=target=sm_90 --weft-schedule-launches --weft-verify-memory-plan | FileCheck %s
// RUN: weft-opt %s --weft-assign-queues --weft-plan-memory=target=sm_90 --weft-schedule-launches -verify-roundtrip -o /dev/null

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// One event for two readers of a copy: the second wait is implied by the first. The copy of the result waits for what
// it reads, and all queues are forked and joined.
// CHECK-LABEL: @events
weft.func @events(%a: tensor<8x8xf32, #gpu>, %h: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> {
  // CHECK: %[[T:.*]] = weft.token
  // CHECK: %[[F:.*]]:2 = weft.stream_fork %[[T]], streams = [1, 2]
  // CHECK: weft.transfer %arg1 to #cuda0_
  // CHECK: %[[E:.*]], %[[T1:.*]] = weft.event_record %[[F]]#0 {weft.queue = 1 : i64}
  // CHECK: %[[W:.*]] = weft.event_wait %[[E]], %[[T]]{{$}}
  // CHECK-NEXT: weft.dot_general
  // CHECK-NEXT: weft.dot_general
  // CHECK-NEXT: %[[E2:.*]], %[[T0:.*]] = weft.event_record %[[W]]{{$}}
  // CHECK-NEXT: %[[W2:.*]] = weft.event_wait %[[E2]], %[[F]]#1 {weft.queue = 2 : i64}
  // CHECK-NEXT: weft.transfer
  // CHECK-NEXT: weft.stream_join %[[T0]], %[[T1]], %[[W2]]
  %1 = weft.transfer %h to #gpu : tensor<8x8xf32, #cpu>
  %2 = weft.dot_general %a, %1, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %3 = weft.dot_general %2, %1, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %4 = weft.transfer %3 to #cpu : tensor<8x8xf32, #gpu>
  weft.return %4 : tensor<8x8xf32, #cpu>
}

// A list on one queue needs no events.
// CHECK-LABEL: @one_queue
// CHECK-NOT: weft.token
weft.func @one_queue(%a: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> {
  %2 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %2 : tensor<8x8xf32, #cpu>
}
