// RUN: weft-opt %s --weft-unroll-scans --symbol-dce | FileCheck %s
// RUN: weft-opt %s --weft-unroll-scans=may-fail=true | FileCheck %s --check-prefix=FAIL
// RUN: weft-opt %s --weft-unroll-scans=report=true | FileCheck %s --check-prefix=REPORT

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

weft.func private @body(%h: tensor<4xf32, #cpu>, %x: tensor<4xf32, #cpu>, %c: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %m = weft.mul %x, %c : tensor<4xf32, #cpu>
  %n = weft.add %h, %m : tensor<4xf32, #cpu>
  weft.return %n, %m : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// In reverse, the first trip reads the last row, and its y is the last row of the result.
// CHECK-LABEL: weft.func @short
// CHECK-SAME:    (%[[H:.*]]: tensor<4xf32, #cpu>, %[[X:.*]]: tensor<2x4xf32, #cpu>, %[[C:.*]]: tensor<4xf32, #cpu>)
// CHECK:         %[[S1:.*]] = weft.slice %[[X]], start = [1, 0], limit = [2, 4]
// CHECK:         %[[R1:.*]] = weft.reshape %[[S1]]
// CHECK:         %[[M1:.*]] = weft.mul %[[R1]], %[[C]]
// CHECK:         %[[N1:.*]] = weft.add %[[H]], %[[M1]]
// CHECK:         %[[Y1:.*]] = weft.reshape %[[M1]]
// CHECK:         weft.slice %[[X]], start = [0, 0], limit = [1, 4]
// CHECK:         %[[M0:.*]] = weft.mul
// CHECK:         %[[N0:.*]] = weft.add %[[N1]], %[[M0]]
// CHECK:         %[[Y0:.*]] = weft.reshape %[[M0]]
// CHECK:         %[[Y:.*]] = weft.concat(%[[Y0]], %[[Y1]]), dim = 0
// CHECK:         weft.return %[[N0]], %[[Y]]
// FAIL-LABEL:  weft.func @short
// FAIL:          weft.scan @body
// REPORT:      weft.func @short{{.*}}"WEFT-T004"{{.*}}a loop of 2 trips is unrolled: fewer than 4
weft.func @short(%h: tensor<4xf32, #cpu>, %x: tensor<2x4xf32, #cpu>, %c: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<2x4xf32, #cpu>) {
  %r:2 = weft.scan @body(%h) over(%x) with(%c), length = 2 reverse : (tensor<4xf32, #cpu>, tensor<2x4xf32, #cpu>, tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<2x4xf32, #cpu>)
  weft.return %r#0, %r#1 : tensor<4xf32, #cpu>, tensor<2x4xf32, #cpu>
}

// CHECK-LABEL: weft.func @long
// CHECK:         weft.scan @body
weft.func @long(%h: tensor<4xf32, #cpu>, %x: tensor<64x4xf32, #cpu>, %c: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<64x4xf32, #cpu>) {
  %r:2 = weft.scan @body(%h) over(%x) with(%c), length = 64 : (tensor<4xf32, #cpu>, tensor<64x4xf32, #cpu>, tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<64x4xf32, #cpu>)
  weft.return %r#0, %r#1 : tensor<4xf32, #cpu>, tensor<64x4xf32, #cpu>
}

weft.func private @gathers(%h: tensor<4xf32, #cpu>, %i: tensor<4xi64, #cpu>) -> tensor<4xf32, #cpu> {
  %g = weft.gather %h, %i, dim = 0, kind = along : tensor<4xf32, #cpu>, tensor<4xi64, #cpu>
  weft.return %g : tensor<4xf32, #cpu>
}
// Where its checks are moved behind it, it stays a loop.
// FAIL-LABEL:  weft.func @fallible
// FAIL:          weft.scan @gathers
// REPORT:      weft.func @fallible{{.*}}an op of its body may fail
weft.func @fallible(%h: tensor<4xf32, #cpu>, %i: tensor<4xi64, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.scan @gathers(%h) over() with(%i), length = 16 {may_fail} : (tensor<4xf32, #cpu>, tensor<4xi64, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// Each of a few trips has its checks.
// FAIL-LABEL:  weft.func @few
// FAIL-COUNT-3:  weft.gather
// FAIL-NOT:      weft.gather
// REPORT:      weft.func @few
weft.func @few(%h: tensor<4xf32, #cpu>, %i: tensor<4xi64, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.scan @gathers(%h) over() with(%i), length = 3 {may_fail} : (tensor<4xf32, #cpu>, tensor<4xi64, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// No trip: the carry as it was, and a result without rows.
// CHECK-LABEL: weft.func @none
// CHECK-SAME:    (%[[H:.*]]: tensor<4xf32, #cpu>,
// CHECK:         %[[EMPTY:.*]] = weft.constant {{.*}}tensor<0x4xf32, #cpu>
// CHECK:         weft.return %[[H]], %[[EMPTY]]
weft.func @none(%h: tensor<4xf32, #cpu>, %x: tensor<0x4xf32, #cpu>, %c: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<0x4xf32, #cpu>) {
  %r:2 = weft.scan @body(%h) over(%x) with(%c), length = 0 : (tensor<4xf32, #cpu>, tensor<0x4xf32, #cpu>, tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<0x4xf32, #cpu>)
  weft.return %r#0, %r#1 : tensor<4xf32, #cpu>, tensor<0x4xf32, #cpu>
}

// A loop in the body of one that is unrolled is a loop in each trip.
weft.func private @outer(%h: tensor<4xf32, #cpu>, %x: tensor<64x4xf32, #cpu>, %c: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r:2 = weft.scan @body(%h) over(%x) with(%c), length = 64 : (tensor<4xf32, #cpu>, tensor<64x4xf32, #cpu>, tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<64x4xf32, #cpu>)
  weft.return %r#0 : tensor<4xf32, #cpu>
}
// CHECK-LABEL: weft.func @nested
// CHECK-COUNT-3: weft.scan @body
// CHECK-NOT:     weft.scan
// CHECK:         weft.return
weft.func @nested(%h: tensor<4xf32, #cpu>, %x: tensor<3x64x4xf32, #cpu>, %c: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.scan @outer(%h) over(%x) with(%c), length = 3 : (tensor<4xf32, #cpu>, tensor<3x64x4xf32, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

weft.func private @on_gpu(%h: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %n = weft.neg %h : tensor<4xf32, #gpu>
  weft.return %n : tensor<4xf32, #gpu>
}
// A device has loops, too.
// CHECK-LABEL: weft.func @device
// CHECK:         weft.scan @on_gpu
weft.func @device(%h: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.scan @on_gpu(%h) over() with(), length = 10 : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}

weft.func private @on_both(%h: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %a = weft.transfer %h to <cpu> : tensor<4xf32, #gpu>
  %b = weft.neg %a : tensor<4xf32, #cpu>
  %n = weft.transfer %b to <cuda:0> : tensor<4xf32, #cpu>
  weft.return %n : tensor<4xf32, #gpu>
}
// CHECK-LABEL: weft.func @two_devices
// CHECK-COUNT-10: weft.neg
// REPORT:      weft.func @two_devices{{.*}}"WEFT-T004"{{.*}}its body is not on one device
weft.func @two_devices(%h: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.scan @on_both(%h) over() with(), length = 10 : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}

// The host waits for a while loop of a GPU, so that the loop around it is none of the plan, also where others wait for later.
weft.func private @goes_on(%x: tensor<4xf32, #gpu>) -> tensor<i1, #gpu> {
  %s = weft.sum %x, dims = [0] : tensor<4xf32, #gpu>
  %l = weft.constant dense<100.0> : tensor<f32, #gpu>
  %r = weft.lt %s, %l : tensor<f32, #gpu>
  weft.return %r : tensor<i1, #gpu>
}
weft.func private @doubled(%x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.add %x, %x : tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}
weft.func private @waits(%h: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.while @goes_on do @doubled(%h) with() : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}
// CHECK-LABEL:   weft.func @has_while
// CHECK-COUNT-5:   weft.while @goes_on do @doubled
// FAIL-LABEL:    weft.func @has_while
// FAIL-COUNT-5:    weft.while @goes_on do @doubled
// REPORT:        weft.func @has_while{{.*}}"WEFT-T004"{{.*}}a loop of 5 trips is unrolled: a while loop in its body is launched apart from it
weft.func @has_while(%h: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.scan @waits(%h) over() with(), length = 5 : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}
