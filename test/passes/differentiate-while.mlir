// RUN: weft-opt %s --weft-differentiate --symbol-dce | FileCheck %s
// RUN: sed 's/device<cpu>/device<cuda:0>/' %s | weft-opt --weft-differentiate --symbol-dce | FileCheck %s --check-prefix=GPU

#cpu = #weft.device<cpu>

// The body counts its trips, so that the loop stays as it is. Trips are divided into segments, and these into shorter ones. The state before each
// segment is %x alone: the derivative of a trip does not read the count.
weft.func private @less(%x: tensor<4xf32, #cpu>, %i: tensor<i64, #cpu>, %w: tensor<4xf32, #cpu>, %n: tensor<i64, #cpu>) -> tensor<i1, #cpu> {
  %r = weft.lt %i, %n : tensor<i64, #cpu>
  weft.return %r : tensor<i1, #cpu>
}
weft.func private @wave(%x: tensor<4xf32, #cpu>, %i: tensor<i64, #cpu>, %w: tensor<4xf32, #cpu>, %n: tensor<i64, #cpu>) -> (tensor<4xf32, #cpu>, tensor<i64, #cpu>) {
  %m = weft.mul %x, %w : tensor<4xf32, #cpu>
  %r = weft.sin %m : tensor<4xf32, #cpu>
  %one = weft.constant dense<1> : tensor<i64, #cpu>
  %j = weft.add %i, %one : tensor<i64, #cpu>
  weft.return %r, %j : tensor<4xf32, #cpu>, tensor<i64, #cpu>
}

// A trip: the carries before it, from the nearest ones that are kept, and then its derivative.
// CHECK-LABEL: weft.func private @wave.reversed(
// CHECK-SAME:    %[[LEFT:[a-z0-9]*]]: tensor<i64, #cpu>, %[[DX:[a-z0-9]*]]: tensor<4xf32, #cpu>, %[[DW:[a-z0-9]*]]: tensor<4xf32, #cpu>, %[[STRIDE:[a-z0-9]*]]: tensor<i64, #cpu>, %[[STACK:[a-z0-9]*]]: tensor<16x4xf32, #cpu>, %[[W:[a-z0-9]*]]: tensor<4xf32, #cpu>)
// CHECK:         weft.sub %[[LEFT]],
// CHECK:         %[[TRIP:.*]] = weft.sub %[[LEFT]],
// CHECK:         %[[ROW:.*]] = weft.div %[[TRIP]], %[[STRIDE]]
// CHECK:         %[[SLICE:.*]] = weft.dynamic_slice %[[STACK]], starts(%[[ROW]], %{{.*}}), sizes = [1, 4]
// CHECK:         %[[NEAREST:.*]] = weft.reshape %[[SLICE]]
// CHECK:         %[[BEHIND:.*]] = weft.mul %[[ROW]], %[[STRIDE]]
// CHECK:         %[[MORE:.*]] = weft.sub %[[TRIP]], %[[BEHIND]]
// CHECK:         %[[X:.*]]:2 = weft.while @wave.advance.condition do @wave.advance(%[[MORE]], %[[NEAREST]]) with(%[[W]])
// CHECK:         %[[M:.*]] = weft.mul %[[X]]#1, %[[W]]
// CHECK:         %[[COS:.*]] = weft.cos %[[M]]
// CHECK:         %[[D:.*]] = weft.mul %{{.*}}, %[[COS]]
// CHECK:         %[[TO_X:.*]] = weft.mul %[[D]], %[[W]]
// CHECK:         %[[TO_W:.*]] = weft.mul %[[D]], %[[X]]#1
// CHECK:         %[[SUM:.*]] = weft.add %[[DW]], %[[TO_W]]
// CHECK:         weft.return %{{.*}}, %[[TO_X]], %[[SUM]]

// A segment of the last level: its trips again, with those that are kept, and then from the last to the first.
// CHECK-LABEL: weft.func private @wave.segments(
// CHECK:         %[[KEPT:.*]]:3 = weft.scan @wave.kept(%{{.*}}, %{{.*}}) over() with(%{{.*}}, %{{.*}}), length = 16
// CHECK:         %[[R:.*]]:3 = weft.while @wave.reversed.condition do @wave.reversed(%{{.*}}) with(%{{.*}}, %[[KEPT]]#2, %{{.*}})
// CHECK:         weft.return %{{.*}}, %[[R]]#1, %[[R]]#2

// A segment of the first level: its trips again, with those before the segments that it consists of, and then these
// from the last to the first.
// CHECK-LABEL: weft.func private @wave.groups(
// CHECK-SAME:    %[[LEFT:[a-z0-9]*]]: tensor<i64, #cpu>, %{{.*}}, %{{.*}}, %[[ALL:[a-z0-9]*]]: tensor<i64, #cpu>, %[[LENGTH:[a-z0-9]*]]: tensor<i64, #cpu>, %[[SHORT:[a-z0-9]*]]: tensor<i64, #cpu>, %[[STRIDE:[a-z0-9]*]]: tensor<i64, #cpu>, %{{.*}}: tensor<16x4xf32, #cpu>, %{{.*}}: tensor<4xf32, #cpu>)
// CHECK:         %[[BEFORE:.*]] = weft.mul %{{.*}}, %[[LENGTH]]
// CHECK:         %[[BEHIND:.*]] = weft.sub %[[ALL]], %[[BEFORE]]
// CHECK:         %[[OWN:.*]] = weft.min %[[BEHIND]], %[[LENGTH]]
// CHECK:         %[[KEPT:.*]]:3 = weft.scan @wave.kept(%{{.*}}, %{{.*}}) over() with(%[[SHORT]], %{{.*}}), length = 16
// CHECK:         %[[G:.*]]:3 = weft.while @wave.segments.condition do @wave.segments(%{{.*}}) with(%[[OWN]], %[[SHORT]], %[[STRIDE]], %[[KEPT]]#2, %{{.*}})
// CHECK:         weft.return %{{.*}}, %[[G]]#1, %[[G]]#2

// CHECK-LABEL: weft.func private @wave.advance(
// CHECK-SAME:    tensor<i64, #cpu>, %[[X:[a-z0-9]*]]: tensor<4xf32, #cpu>, %[[W:[a-z0-9]*]]: tensor<4xf32, #cpu>) -> (tensor<i64, #cpu>, tensor<4xf32, #cpu>)
// CHECK:         %[[M:.*]] = weft.mul %[[X]], %[[W]]
// CHECK:         %[[S:.*]] = weft.sin %[[M]]
// CHECK-NEXT:    weft.return %{{.*}}, %[[S]]

// CHECK-LABEL: weft.func private @wave.kept(
// CHECK-SAME:    %[[LEFT:[a-z0-9]*]]: tensor<i64, #cpu>, %[[X:[a-z0-9]*]]: tensor<4xf32, #cpu>, %[[STRIDE:[a-z0-9]*]]: tensor<i64, #cpu>,
// CHECK:         %[[GOES_ON:.*]] = weft.gt %[[LEFT]],
// CHECK:         %[[TRIPS:.*]] = weft.select %[[GOES_ON]], %[[STRIDE]], %
// CHECK:         %[[NEXT:.*]]:2 = weft.while @wave.advance.condition do @wave.advance(%[[TRIPS]], %[[X]])
// CHECK:         weft.return %{{.*}}, %[[NEXT]]#1, %[[X]]

// CHECK-LABEL: weft.func @counted(
// CHECK:         %[[R:.*]]:2 = weft.while @less do @wave(
// CHECK:         %[[STACK:.*]]:3 = weft.scan @wave.kept(
// CHECK:         %[[G:.*]]:3 = weft.while @wave.groups.condition do @wave.groups({{.*}}) with(%[[R]]#1, %{{.*}}, %{{.*}}, %{{.*}}, %[[STACK]]#2, %arg1)
// CHECK:         weft.return %[[G]]#1, %[[G]]#2

// A device beside the host has no loops of known length that have a while loop in them: the stack is a carry.
// GPU-LABEL:   weft.func private @wave.kept(
// GPU-SAME:      %[[LEFT:[a-z0-9]*]]: tensor<i64, #{{[a-z0-9_]*}}>, %[[X:[a-z0-9]*]]: tensor<4xf32, #{{[a-z0-9_]*}}>, %[[STACK:[a-z0-9]*]]: tensor<16x4xf32, #{{[a-z0-9_]*}}>, %[[ROWS:[a-z0-9]*]]: tensor<i64, #{{[a-z0-9_]*}}>,
// GPU:           %[[ROW:.*]] = weft.sub %[[ROWS]], %[[LEFT]]
// GPU:           %[[NEXT:.*]]:2 = weft.while @wave.advance.condition
// GPU:           %[[HIGH:.*]] = weft.reshape %[[X]]
// GPU:           %[[MADE:.*]] = weft.dynamic_update_slice %[[STACK]], %[[HIGH]], starts(%[[ROW]],
// GPU:           weft.return %{{.*}}, %[[NEXT]]#1, %[[MADE]]
// GPU-LABEL:   weft.func @counted(
// GPU-NOT:       weft.scan
// GPU:           weft.return
weft.func @counted(%x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>, %n: tensor<i64, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %z = weft.constant dense<0> : tensor<i64, #cpu>
  %r:2 = weft.while @less do @wave(%x, %z) with(%w, %n) : (tensor<4xf32, #cpu>, tensor<i64, #cpu>, tensor<4xf32, #cpu>, tensor<i64, #cpu>) -> (tensor<4xf32, #cpu>, tensor<i64, #cpu>)
  %l = weft.sum %r#0, dims = [0] : tensor<4xf32, #cpu>
  %g:2 = weft.gradient %l wrt %x, %w : tensor<f32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %g#0, %g#1 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// The derivative of a trip reads nothing, so that nothing is kept. The loop gets a carry that counts its trips.
weft.func private @small(%x: tensor<4xf32, #cpu>) -> tensor<i1, #cpu> {
  %s = weft.sum %x, dims = [0] : tensor<4xf32, #cpu>
  %l = weft.constant dense<100.0> : tensor<f32, #cpu>
  %r = weft.lt %s, %l : tensor<f32, #cpu>
  weft.return %r : tensor<i1, #cpu>
}
weft.func private @twice(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.add %x, %x : tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}
// CHECK-LABEL: weft.func @uncounted(
// CHECK:         %[[R:.*]]:2 = weft.while @small.counting do @twice.counting(%arg0, %{{.*}})
// CHECK:         %[[G:.*]]:2 = weft.while @twice.groups.condition do @twice.groups({{.*}}) with(%[[R]]#1,
// CHECK:         weft.return %[[R]]#0, %[[G]]#1
weft.func @uncounted(%x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %r = weft.while @small do @twice(%x) with() : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  %l = weft.sum %r, dims = [0] : tensor<4xf32, #cpu>
  %g = weft.gradient %l wrt %x : tensor<f32, #cpu>, tensor<4xf32, #cpu>
  weft.return %r, %g : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// No carry depends on what wants the gradient, but the condition does.
// CHECK-LABEL: weft.func @condition_alone(
// CHECK:         weft.while @below do @once(
// CHECK-NOT:     weft.while
// CHECK:         weft.return
weft.func private @below(%x: tensor<f32, #cpu>, %l: tensor<f32, #cpu>) -> tensor<i1, #cpu> {
  %r = weft.lt %x, %l : tensor<f32, #cpu>
  weft.return %r : tensor<i1, #cpu>
}
weft.func private @once(%x: tensor<f32, #cpu>, %l: tensor<f32, #cpu>) -> tensor<f32, #cpu> {
  %r = weft.add %x, %x : tensor<f32, #cpu>
  weft.return %r : tensor<f32, #cpu>
}
weft.func @condition_alone(%x: tensor<f32, #cpu>, %l: tensor<f32, #cpu>) -> tensor<f32, #cpu> {
  %r = weft.while @below do @once(%x) with(%l) : (tensor<f32, #cpu>, tensor<f32, #cpu>) -> tensor<f32, #cpu>
  %p = weft.mul %r, %l : tensor<f32, #cpu>
  %g = weft.gradient %p wrt %l : tensor<f32, #cpu>, tensor<f32, #cpu>
  weft.return %g : tensor<f32, #cpu>
}

// CHECK-LABEL: weft.func private @twice.counting(
// CHECK:         %[[ONE:.*]] = weft.constant dense<1>
// CHECK:         %[[NEXT:.*]] = weft.add %arg1, %[[ONE]]
// CHECK:         weft.return %{{.*}}, %[[NEXT]]
