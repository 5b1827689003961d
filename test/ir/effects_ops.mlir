// RUN: weft-opt %s | FileCheck %s
// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s -verify-roundtrip -o /dev/null

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Storage: a write gives the value after it, an alias the same value.
// CHECK-LABEL: @storage
weft.func @storage(%dst: tensor<4xf32, #cpu>, %src: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // CHECK: weft.copy_into %{{.*}}, %{{.*}} : tensor<4xf32, #cpu>
  %0 = weft.copy_into %dst, %src : tensor<4xf32, #cpu>
  // CHECK: weft.alias %{{.*}} : tensor<4xf32, #cpu>
  %1 = weft.alias %0 : tensor<4xf32, #cpu>
  weft.return %1 : tensor<4xf32, #cpu>
}

// Host effects: a number of another device arrives on the host; print and assert give nothing.
// CHECK-LABEL: @host
weft.func @host(%a: tensor<f32, #gpu>, %c: tensor<4xi1, #gpu>) -> tensor<f32, #cpu> {
  // CHECK: weft.to_host_scalar %{{.*}} : tensor<f32, #cuda0_>
  %0 = weft.to_host_scalar %a : tensor<f32, #gpu>
  // CHECK: weft.print %{{.*}} label = "loss" : tensor<f32, #cuda0_>
  weft.print %a label = "loss" : tensor<f32, #gpu>
  // CHECK: weft.print %{{.*}} : tensor<4xi1, #cuda0_>
  weft.print %c : tensor<4xi1, #gpu>
  // CHECK: weft.assert %{{.*}}, "finite" : tensor<4xi1, #cuda0_>
  weft.assert %c, "finite" : tensor<4xi1, #gpu>
  weft.return %0 : tensor<f32, #cpu>
}

// Order: tokens and events of a program on three streams.
// CHECK-LABEL: @order
weft.func @order() {
  // CHECK: %[[T:.*]] = weft.token
  %t = weft.token
  // CHECK: %[[F:.*]]:2 = weft.stream_fork %[[T]], streams = [1, 2] : !weft.token, !weft.token
  %f:2 = weft.stream_fork %t, streams = [1, 2] : !weft.token, !weft.token
  // CHECK: %[[E:.*]], %[[R:.*]] = weft.event_record %[[F]]#0
  %e, %r = weft.event_record %f#0
  // CHECK: weft.event_record %[[R]] timing
  %e2, %r2 = weft.event_record %r timing
  // CHECK: %[[W:.*]] = weft.event_wait %[[E]], %[[F]]#1
  %w = weft.event_wait %e, %f#1
  // CHECK: %[[J:.*]] = weft.stream_join %{{.*}}, %[[W]]
  %j = weft.stream_join %r2, %w
  // CHECK: weft.barrier %[[J]]
  %b = weft.barrier %j
  weft.return
}

// The mixtures of devices that there are: a 0-dimensional tensor of the host joins elementwise ops at any place, and the
// result is where the other operand is, in its shape.
// CHECK-LABEL: @host_scalars
weft.func @host_scalars(%x: tensor<4xf32, #gpu>, %s: tensor<f32, #cpu>, %c: tensor<i1, #cpu>, %g: tensor<f32, #gpu>)
    -> (tensor<4xf32, #gpu>, tensor<4xf32, #gpu>, tensor<f32, #gpu>, tensor<4xi1, #gpu>) {
  // CHECK: weft.mul %{{.*}}, %{{.*}} : tensor<4xf32, #cuda0_>, tensor<f32, #cpu>
  %0 = weft.mul %x, %s : tensor<4xf32, #gpu>, tensor<f32, #cpu>
  // CHECK: weft.sub %{{.*}}, %{{.*}} : tensor<f32, #cpu>, tensor<4xf32, #cuda0_>
  %1 = weft.sub %s, %0 : tensor<f32, #cpu>, tensor<4xf32, #gpu>
  // CHECK: weft.add %{{.*}}, %{{.*}} : tensor<f32, #cpu>, tensor<f32, #cuda0_>
  %2 = weft.add %s, %g : tensor<f32, #cpu>, tensor<f32, #gpu>
  // CHECK: weft.select %{{.*}} : tensor<i1, #cpu>, tensor<f32, #cpu>, tensor<4xf32, #cuda0_>
  %3 = weft.select %c, %s, %1 : tensor<i1, #cpu>, tensor<f32, #cpu>, tensor<4xf32, #gpu>
  // CHECK: weft.lt %{{.*}} : tensor<4xf32, #cuda0_>, tensor<f32, #cpu>
  %4 = weft.lt %3, %s : tensor<4xf32, #gpu>, tensor<f32, #cpu>
  weft.return %1, %3, %2, %4 : tensor<4xf32, #gpu>, tensor<4xf32, #gpu>, tensor<f32, #gpu>, tensor<4xi1, #gpu>
}

// An index tensor of the host indexes a tensor of another device.
// CHECK-LABEL: @host_index
weft.func @host_index(%x: tensor<9x4xf32, #gpu>, %i: tensor<5xi64, #cpu>) -> tensor<5x4xf32, #gpu> {
  // CHECK: weft.gather {{.*}} : tensor<9x4xf32, #cuda0_>, tensor<5xi64, #cpu>
  %0 = weft.gather %x, %i, dim = 0, kind = points : tensor<9x4xf32, #gpu>, tensor<5xi64, #cpu>
  weft.return %0 : tensor<5x4xf32, #gpu>
}
