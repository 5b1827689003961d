// RUN: weft-opt %s --pass-pipeline='builtin.module(weft.func(weft-choose-schedules),weft-emit-kernels)' | FileCheck %s

#cpu = #weft.device<cpu>
!s = tensor<100xf32, #cpu>
!l = tensor<20000xf32, #cpu>
!n = tensor<f64, #cpu>
!i = tensor<i64, #cpu>

// One function for both parameters, called for the part of each that the tasks cover; its numbers are computed once.
// CHECK:       func.func private @adam_step1(
// CHECK-SAME:    passthrough = ["noinline"]
// CHECK:         scf.for
// CHECK:           math.sqrt {{.*}} : vector<16xf32>
// CHECK-NOT:   func.func private
// CHECK-LABEL: func.func @step.0(
// CHECK-COUNT-2: math.powf {{.*}} : f64
// CHECK:         arith.truncf {{.*}} : f64 to f32
// CHECK:         scf.if
// CHECK:           call @adam_step1(
// CHECK-NOT:     math.powf
// CHECK:         scf.if
// CHECK:           call @adam_step1(
// CHECK:         return
weft.func @step(%p: !s, %g: !s, %m: !s, %v: !s, %q: !l, %h: !l, %n: !l, %w: !l, %t: !i, %lr: !n, %b: !n, %c: !n, %e: !n, %d: !n)
    -> (!s, !s, !s, !l, !l, !l) {
  %0:6 = weft.fusion multi_tensor (%p, %g, %m, %v, %q, %h, %n, %w, %t, %lr, %b, %c, %e, %d)
      : (!s, !s, !s, !s, !l, !l, !l, !l, !i, !n, !n, !n, !n, !n) -> (!s, !s, !s, !l, !l, !l) {
  ^bb0(%p0: !s, %g0: !s, %m0: !s, %v0: !s, %p1: !l, %g1: !l, %m1: !l, %v1: !l, %t0: !i, %l0: !n, %b0: !n, %c0: !n, %e0: !n, %d0: !n):
    %1, %2, %3 = weft.adam_step(%p0, %g0, m %m0, v %v0, step %t0, lr %l0, betas %b0, %c0, eps %e0, decay %d0) : !s, !s, !s, !s, !i, !n
    %4, %5, %6 = weft.adam_step(%p1, %g1, m %m1, v %v1, step %t0, lr %l0, betas %b0, %c0, eps %e0, decay %d0) : !l, !l, !l, !l, !i, !n
    weft.yield %1, %2, %3, %4, %5, %6 : !s, !s, !s, !l, !l, !l
  }
  weft.return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5 : !s, !s, !s, !l, !l, !l
}
