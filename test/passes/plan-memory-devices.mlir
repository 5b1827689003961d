// A library call on a device does not see that a check of the call has failed, so its result reaches an argument by way of
// the arena and a kernel. On the host it is written in place.
// RUN: weft-opt %s --split-input-file --weft-plan-memory=target=sm_90 | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-plan-memory=target=cpu+host | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-plan-memory=target=sm_90 --weft-verify-memory-plan | FileCheck %s

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// CHECK-LABEL: weft.func @product
// CHECK-SAME:    weft.arena_bytes = 256 : i64, weft.arena_lower_bound = 256 : i64
// CHECK-SAME:    code = "WEFT-D015"
// CHECK-SAME:    the library does not see on a device that a call has failed, and would write the argument; 256 bytes are copied
// CHECK:         weft.dot_general {{.*}}slices = [#weft.slice<arena, 0, 256>]
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<argument, 1, 256>]
weft.func @product(%x: tensor<8x8xf32, #gpu>, %s: tensor<8x8xf32, #gpu> {weft.donated}) -> (tensor<8x8xf32, #gpu> {weft.tied = 1 : i64}) {
  %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %0 : tensor<8x8xf32, #gpu>
}

// -----
#gpu = #weft.device<cuda:0>

// A result that replaces no argument is not seen after a failure, and stays where it is.
// CHECK-LABEL: weft.func @fresh
// CHECK-SAME:    weft.arena_bytes = 0 : i64
// CHECK-NOT:     WEFT-D015
// CHECK:         weft.dot_general {{.*}}slices = [#weft.slice<result, 0, 256>]
weft.func @fresh(%x: tensor<8x8xf32, #gpu>) -> tensor<8x8xf32, #gpu> {
  %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %0 : tensor<8x8xf32, #gpu>
}

// -----
#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @host
// CHECK-SAME:    weft.arena_bytes = 0 : i64
// CHECK-NOT:     WEFT-D015
// CHECK:         weft.dot_general {{.*}}slices = [#weft.slice<argument, 1, 256>]
weft.func @host(%x: tensor<8x8xf32, #cpu>, %s: tensor<8x8xf32, #cpu> {weft.donated}) -> (tensor<8x8xf32, #cpu> {weft.tied = 1 : i64}) {
  %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %0 : tensor<8x8xf32, #cpu>
}

// -----
#gpu = #weft.device<cuda:0>

// A loop is many launches, of which each would have to see whether the call has failed.
// CHECK-LABEL: weft.func @loop
// CHECK-SAME:    a launch of a loop does not see on a device that a call has failed, and would write the argument; 32 bytes are copied
// CHECK:         weft.scan @body{{.*}}slices = [#weft.slice<arena, 0, 32>]
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<argument, 1, 32>]
weft.func @loop(%x: tensor<8xf32, #gpu>, %s: tensor<8xf32, #gpu> {weft.donated}) -> (tensor<8xf32, #gpu> {weft.tied = 1 : i64}) {
  %0 = weft.scan @body(%x) over() with(), length = 9 : (tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu>
  weft.return %0 : tensor<8xf32, #gpu>
}
weft.func private @body(%h: tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu> {
  %0 = weft.fusion loop (%h) : (tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu> {
  ^bb0(%a: tensor<8xf32, #gpu>):
    %1 = weft.neg %a : tensor<8xf32, #gpu>
    weft.yield %1 : tensor<8xf32, #gpu>
  }
  weft.return %0 : tensor<8xf32, #gpu>
}
