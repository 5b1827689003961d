// RUN: weft-opt %s --weft-assign-queues --weft-plan-memory=target=sm_90 --weft-schedule-launches --weft-verify-memory-plan | FileCheck %s
// RUN: weft-opt %s --weft-assign-queues --weft-plan-memory=target=sm_90 --weft-schedule-launches -verify-roundtrip -o /dev/null
#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Temporaries of the host and of a GPU lie in parts of their own of one range of offsets. A buffer that is copied
// stands behind those of its device that are computed.
// CHECK-LABEL: @two_devices
// CHECK-SAME: weft.arena_begins = #weft.sizes<[0, 512]>
// CHECK-SAME: weft.arena_bytes = 1280 : i64
// CHECK-SAME: weft.arena_devices = [#[[CPU:.*]], #[[GPU:.*]]]
weft.func @two_devices(%a: tensor<8x8xf32, #gpu>, %h: tensor<8x8xf32, #cpu>) -> (tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>) {
  // CHECK: weft.dot_general %arg1, %arg1{{.*}}slices = [#weft.slice<arena, 256, 256>]
  %0 = weft.dot_general %h, %h, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  // CHECK: weft.transfer {{.*}}slices = [#weft.slice<arena, 768, 256>]
  %1 = weft.transfer %0 to #gpu : tensor<8x8xf32, #cpu>
  // CHECK: weft.dot_general %arg0{{.*}}slices = [#weft.slice<arena, 512, 256>]
  %2 = weft.dot_general %a, %1, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %3 = weft.dot_general %2, %1, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %4 = weft.transfer %3 to #cpu : tensor<8x8xf32, #gpu>
  %5 = weft.dot_general %0, %h, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %6 = weft.dot_general %5, %h, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %4, %6 : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
}

// Temporaries of one device need no division, whatever the devices of arguments are.
// What an earlier plan divided is forgotten.
// CHECK-LABEL: @one_device
// CHECK-NOT: weft.arena_devices
// CHECK-NOT: weft.arena_begins
weft.func @one_device(%a: tensor<8x8xf32, #gpu>) -> tensor<8x8xf32, #cpu>
    attributes {weft.arena_devices = [#cpu, #cpu], weft.arena_begins = #weft.sizes<[0, 256]>} {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %1 = weft.transfer %0 to #cpu : tensor<8x8xf32, #gpu>
  weft.return %1 : tensor<8x8xf32, #cpu>
}
