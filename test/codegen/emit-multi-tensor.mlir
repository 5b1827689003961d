// RUN: weft-opt %s --pass-pipeline='builtin.module(weft.func(weft-choose-schedules),weft-emit-kernels)' | FileCheck %s
// RUN: weft kernels %s | FileCheck %s --check-prefix=KERNELS

#cpu = #weft.device<cpu>
#dyn = #weft.device<cpu, [n]>
!s = tensor<100xf32, #cpu>
!l = tensor<20000xf32, #cpu>
!v = tensor<?xf32, #dyn>
!d = tensor<9xf64, #cpu>
!n = tensor<f64, #cpu>
!i = tensor<i64, #cpu>

// The kernel has no tensor and no size of its own: which tensors a task works on, and on how many of their elements, is
// in a table. The numbers of the steps are computed once for all of them.
// CHECK-DAG:   func.func private @weft.buffer.f32(index) -> memref<?xf32>
// CHECK-DAG:   func.func private @weft.size(index) -> index
// CHECK:       func.func private @adam_step1(
// CHECK-SAME:    passthrough = ["noinline"]
// CHECK:         scf.for
// CHECK:           math.sqrt {{.*}} : vector<16xf32>
// CHECK-NOT:   func.func private
// CHECK-LABEL: func.func @step.0(
// CHECK-SAME:    %{{.*}}: memref<?xi64>, %{{.*}}: memref<?xf64>, %{{.*}}: memref<?xf64>, %{{.*}}: memref<?xf64>, %{{.*}}: memref<?xf64>, %{{.*}}: memref<?xf64>, %{{.*}}: memref<?xi8>, %{{.*}}: memref<3xi64>, %{{.*}}: index, %{{.*}}: index)
// CHECK-SAME:    weft.buffers = array<i64: 0, 1, 2, 3, 4, 5>
// The first step whose tasks end behind the first task.
// CHECK:         scf.while
// CHECK:           @weft.size
// CHECK:         scf.if
// CHECK-COUNT-2:   math.powf {{.*}} : f64
// CHECK:           arith.truncf {{.*}} : f64 to f32
// CHECK-NOT:       math.powf
// CHECK:           scf.while
// CHECK-COUNT-7:     func.call @weft.buffer.f32
// CHECK:             func.call @adam_step1(
// CHECK-NOT:     adam_step1
// CHECK:         return

// Two, three and one tensors of other sizes, one of them with a size that the call chooses, are one kernel.
// KERNELS:     // step.multi_tensor.0
// KERNELS:     // groups.multi_tensor.0
// KERNELS-NOT: // {{[a-z]+}}.multi_tensor
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

weft.func @three(%p: !l, %g: !l, %m: !l, %v: !l, %t: !i, %lr: !n, %b: !n, %c: !n, %e: !n, %d: !n) -> (!l, !l, !l, !l, !l, !l, !l, !l, !l) {
  %1, %2, %3 = weft.adam_step(%p, %g, m %m, v %v, step %t, lr %lr, betas %b, %c, eps %e, decay %d) : !l, !l, !l, !l, !i, !n
  %4, %5, %6 = weft.adam_step(%g, %p, m %m, v %v, step %t, lr %lr, betas %b, %c, eps %e, decay %d) : !l, !l, !l, !l, !i, !n
  %7, %8, %9 = weft.adam_step(%m, %g, m %p, v %v, step %t, lr %lr, betas %b, %c, eps %e, decay %d) : !l, !l, !l, !l, !i, !n
  weft.return %1, %2, %3, %4, %5, %6, %7, %8, %9 : !l, !l, !l, !l, !l, !l, !l, !l, !l
}

weft.func @sized(%p: !v, %g: !v, %m: !v, %v: !v, %t: !i, %lr: !n, %b: !n, %c: !n, %e: !n, %d: !n) -> (!v, !v, !v)
    attributes {weft.symbols = [#weft.symbol<"n", 0, 30000>]} {
  %1, %2, %3 = weft.adam_step(%p, %g, m %m, v %v, step %t, lr %lr, betas %b, %c, eps %e, decay %d) : !v, !v, !v, !v, !i, !n
  weft.return %1, %2, %3 : !v, !v, !v
}

// Three groups: the first step and the last differ in their tensors only. Groups of one kind share a function.
// CHECK:       func.func private @sgd_step1(
// CHECK:       func.func private @sgd_step2(
// CHECK-LABEL: func.func @groups.{{[0-9]+}}(
// CHECK-SAME:    weft.buffers = array<i64: 0, 1, {{.*}}, 14>
// CHECK:         func.call @sgd_step1(
// CHECK:         func.call @sgd_step2(
// CHECK:         func.call @sgd_step1(
// CHECK-NOT:     func.call @sgd
weft.func @groups(%p: !s, %g: !s, %q: !d, %h: !d, %t: !i, %lr: !n, %z: !n) -> (!s, !d, !s, !s) {
  %0:4 = weft.fusion multi_tensor (%p, %g, %q, %h, %t, %lr, %z) : (!s, !s, !d, !d, !i, !n, !n) -> (!s, !d, !s, !s) {
  ^bb0(%p0: !s, %g0: !s, %q0: !d, %h0: !d, %t0: !i, %l0: !n, %z0: !n):
    %1 = weft.sgd_step(%p0, %g0, step %t0, lr %l0, momentum %z0, dampening %z0, decay %z0) : !s, !s, !i, !n
    %2 = weft.sgd_step(%q0, %h0, step %t0, lr %l0, momentum %z0, dampening %z0, decay %z0) : !d, !d, !i, !n
    %3 = weft.sgd_step(%p0, %g0, step %t0, lr %z0, momentum %z0, dampening %z0, decay %z0) : !s, !s, !i, !n
    %4 = weft.sgd_step(%g0, %p0, step %t0, lr %l0, momentum %z0, dampening %z0, decay %z0) : !s, !s, !i, !n
    weft.yield %1, %2, %3, %4 : !s, !d, !s, !s
  }
  weft.return %0#0, %0#1, %0#2, %0#3 : !s, !d, !s, !s
}
