// RUN: weft-opt %s --weft-clean-transfers | FileCheck %s

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Constants and counters are made where they are read.
// CHECK-LABEL: @generators
weft.func @generators() -> (tensor<4xf32, #gpu>, tensor<3xf32, #gpu>, tensor<8xi64, #gpu>) {
  // CHECK-DAG: weft.constant dense<1.0{{.*}}> : tensor<4xf32, #cuda0_>
  // CHECK-DAG: weft.constant dense<[1.0{{.*}}, 2.0{{.*}}, 3.0{{.*}}]> : tensor<3xf32, #cuda0_>
  // CHECK-DAG: weft.iota {{.*}} tensor<8xi64, #cuda0_>
  // CHECK-NOT: weft.transfer
  %0 = weft.constant dense<1.0> : tensor<4xf32, #cpu>
  %1 = weft.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32, #cpu>
  %2 = weft.iota dim = 0 : tensor<8xi64, #cpu>
  %3 = weft.transfer %0 to #gpu : tensor<4xf32, #cpu>
  %4 = weft.transfer %1 to #gpu : tensor<3xf32, #cpu>
  %5 = weft.transfer %2 to #gpu : tensor<8xi64, #cpu>
  weft.return %3, %4, %5 : tensor<4xf32, #gpu>, tensor<3xf32, #gpu>, tensor<8xi64, #gpu>
}

// Sizes of the call are those of the constant's type, and not of its one element.
// CHECK-LABEL: @dynamic_generators
weft.func @dynamic_generators(%a: tensor<?xf32, #weft.device<cuda:0, [n]>>) -> tensor<?xf32, #weft.device<cpu, [n]>>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // CHECK: weft.constant dense<-2.0{{.*}}> : tensor<f32> -> tensor<?xf32, #weft.device<cpu, [n]>>
  // CHECK-NOT: weft.transfer
  %0 = weft.constant dense<-2.0> : tensor<f32> -> tensor<?xf32, #weft.device<cuda:0, [n]>>
  %1 = weft.transfer %0 to #cpu : tensor<?xf32, #weft.device<cuda:0, [n]>>
  weft.return %1 : tensor<?xf32, #weft.device<cpu, [n]>>
}

// What repeats elements is copied before it does.
// CHECK-LABEL: @repeat
weft.func @repeat(%a: tensor<8xf32, #cpu>, %s: tensor<f32, #cpu>) -> (tensor<64x8xf32, #gpu>, tensor<16xf32, #gpu>) {
  // CHECK-DAG: %[[A:.*]] = weft.transfer %arg0 to #cuda0_ : tensor<8xf32, #cpu>
  // CHECK-DAG: weft.broadcast_in_dim %[[A]], dims = [1] : tensor<8xf32, #cuda0_> -> tensor<64x8xf32, #cuda0_>
  // CHECK-DAG: %[[S:.*]] = weft.transfer %arg1 to #cuda0_ : tensor<f32, #cpu>
  // CHECK-DAG: weft.full %[[S]]
  %0 = weft.broadcast_in_dim %a, dims = [1] : tensor<8xf32, #cpu> -> tensor<64x8xf32, #cpu>
  %1 = weft.transfer %0 to #gpu : tensor<64x8xf32, #cpu>
  %2 = weft.full %s, shape = [16] : tensor<f32, #cpu>
  %3 = weft.transfer %2 to #gpu : tensor<16xf32, #cpu>
  weft.return %1, %3 : tensor<64x8xf32, #gpu>, tensor<16xf32, #gpu>
}

// A cast is done where it makes the copy smaller: bytes become floats on the device, floats halves on the host.
// CHECK-LABEL: @casts
weft.func @casts(%a: tensor<8xui8, #cpu>, %b: tensor<8xf32, #cpu>) -> (tensor<8xf32, #gpu>, tensor<8xf16, #gpu>) {
  // CHECK: %[[A:.*]] = weft.transfer %arg0 to #cuda0_ : tensor<8xui8, #cpu>
  // CHECK: weft.convert %[[A]] to f32
  // CHECK: %[[B:.*]] = weft.convert %arg1 to f16 : tensor<8xf32, #cpu>
  // CHECK: weft.transfer %[[B]] to #cuda0_ : tensor<8xf16, #cpu>
  %0 = weft.convert %a to f32 : tensor<8xui8, #cpu>
  %1 = weft.transfer %0 to #gpu : tensor<8xf32, #cpu>
  %2 = weft.transfer %b to #gpu : tensor<8xf32, #cpu>
  %3 = weft.convert %2 to f16 : tensor<8xf32, #gpu>
  weft.return %1, %3 : tensor<8xf32, #gpu>, tensor<8xf16, #gpu>
}

// Where something else reads the wide copy, it stays.
// CHECK-LABEL: @wide_copy_is_read
weft.func @wide_copy_is_read(%b: tensor<8xf32, #cpu>) -> (tensor<8xf32, #gpu>, tensor<8xf16, #gpu>) {
  // CHECK: %[[B:.*]] = weft.transfer %arg0 to #cuda0_ : tensor<8xf32, #cpu>
  // CHECK: weft.convert %[[B]] to f16
  %0 = weft.transfer %b to #gpu : tensor<8xf32, #cpu>
  %1 = weft.convert %0 to f16 : tensor<8xf32, #gpu>
  weft.return %0, %1 : tensor<8xf32, #gpu>, tensor<8xf16, #gpu>
}

// Equal copies are one, whether or not the host waits for them.
// CHECK-LABEL: @equal
weft.func @equal(%a: tensor<8xf32, #cpu>) -> (tensor<8xf32, #gpu>, tensor<8xf32, #gpu>) {
  // CHECK: weft.transfer
  // CHECK-NOT: weft.transfer
  %0 = weft.transfer %a to #gpu : tensor<8xf32, #cpu>
  %1 = weft.transfer %a to #gpu non_blocking : tensor<8xf32, #cpu>
  weft.return %0, %1 : tensor<8xf32, #gpu>, tensor<8xf32, #gpu>
}
