// RUN: weft-opt %s -pass-pipeline='builtin.module(weft-pipeline,weft.func(weft-fuse-optimizer-steps,weft-attach-epilogues,weft-fuse,weft-plan-memory))' | FileCheck %s

// A training step of a perceptron with three layers is 16 launches: three contractions with their epilogues, two kernels
// of the loss, one that checks the targets for the derivative, one kernel per layer for the gradient through relu with the gradient of the bias, five contractions,
// one kernel for all parameters and one for the step count. Every state is written in place.

// CHECK-LABEL: weft.func @step
// CHECK-NOT:     weft.decisions
// CHECK:         weft.dot_general {{.*}} bias %{{[0-9a-z]+}}, relu, contract
// CHECK:         weft.dot_general {{.*}} bias %{{[0-9a-z]+}}, relu, contract
// CHECK:         weft.dot_general {{.*}} bias %{{[0-9a-z]+}}, contract
// CHECK:         weft.fusion row
// CHECK:         weft.gather
// CHECK:         weft.fusion row
// CHECK:         weft.fusion column
// CHECK-DAG:     weft.dot_general
// CHECK-DAG:     weft.dot_general
// CHECK:         weft.fusion column
// CHECK:         weft.le
// CHECK-DAG:     weft.dot_general
// CHECK-DAG:     weft.dot_general
// CHECK:         weft.fusion column
// CHECK:         weft.dot_general
// CHECK:         weft.fusion multi_tensor
// CHECK-SAME:      #weft.slice<argument, 2, 384>, #weft.slice<argument, 3, 384>, #weft.slice<argument, 4, 384>
// CHECK-COUNT-6: weft.adam_step
// CHECK:         weft.fusion loop
// CHECK-SAME:      #weft.slice<argument, 20, 8>
// CHECK-NOT:     weft.fusion
// CHECK-NOT:     weft.dot_general
// CHECK:         weft.return

#cpu = #weft.device<cpu>
weft.func @step(%x: tensor<6x12xf32, #cpu>,
                %t: tensor<6xi64, #cpu>,
                %w0: tensor<8x12xf32, #cpu> {weft.donated, weft.role = "state"},
                %m_w0: tensor<8x12xf32, #cpu> {weft.donated, weft.role = "state"},
                %v_w0: tensor<8x12xf32, #cpu> {weft.donated, weft.role = "state"},
                %b0: tensor<8xf32, #cpu> {weft.donated, weft.role = "state"},
                %m_b0: tensor<8xf32, #cpu> {weft.donated, weft.role = "state"},
                %v_b0: tensor<8xf32, #cpu> {weft.donated, weft.role = "state"},
                %w1: tensor<8x8xf32, #cpu> {weft.donated, weft.role = "state"},
                %m_w1: tensor<8x8xf32, #cpu> {weft.donated, weft.role = "state"},
                %v_w1: tensor<8x8xf32, #cpu> {weft.donated, weft.role = "state"},
                %b1: tensor<8xf32, #cpu> {weft.donated, weft.role = "state"},
                %m_b1: tensor<8xf32, #cpu> {weft.donated, weft.role = "state"},
                %v_b1: tensor<8xf32, #cpu> {weft.donated, weft.role = "state"},
                %w2: tensor<5x8xf32, #cpu> {weft.donated, weft.role = "state"},
                %m_w2: tensor<5x8xf32, #cpu> {weft.donated, weft.role = "state"},
                %v_w2: tensor<5x8xf32, #cpu> {weft.donated, weft.role = "state"},
                %b2: tensor<5xf32, #cpu> {weft.donated, weft.role = "state"},
                %m_b2: tensor<5xf32, #cpu> {weft.donated, weft.role = "state"},
                %v_b2: tensor<5xf32, #cpu> {weft.donated, weft.role = "state"},
                %step: tensor<i64, #cpu> {weft.donated, weft.role = "state"},
                %lr: tensor<f64, #cpu>,
                %beta1: tensor<f64, #cpu>,
                %beta2: tensor<f64, #cpu>,
                %eps: tensor<f64, #cpu>,
                %decay: tensor<f64, #cpu>) ->
    (tensor<f32, #cpu>,
     tensor<8x12xf32, #cpu> {weft.tied = 2 : i64},
     tensor<8x12xf32, #cpu> {weft.tied = 3 : i64},
     tensor<8x12xf32, #cpu> {weft.tied = 4 : i64},
     tensor<8xf32, #cpu> {weft.tied = 5 : i64},
     tensor<8xf32, #cpu> {weft.tied = 6 : i64},
     tensor<8xf32, #cpu> {weft.tied = 7 : i64},
     tensor<8x8xf32, #cpu> {weft.tied = 8 : i64},
     tensor<8x8xf32, #cpu> {weft.tied = 9 : i64},
     tensor<8x8xf32, #cpu> {weft.tied = 10 : i64},
     tensor<8xf32, #cpu> {weft.tied = 11 : i64},
     tensor<8xf32, #cpu> {weft.tied = 12 : i64},
     tensor<8xf32, #cpu> {weft.tied = 13 : i64},
     tensor<5x8xf32, #cpu> {weft.tied = 14 : i64},
     tensor<5x8xf32, #cpu> {weft.tied = 15 : i64},
     tensor<5x8xf32, #cpu> {weft.tied = 16 : i64},
     tensor<5xf32, #cpu> {weft.tied = 17 : i64},
     tensor<5xf32, #cpu> {weft.tied = 18 : i64},
     tensor<5xf32, #cpu> {weft.tied = 19 : i64},
     tensor<i64, #cpu> {weft.tied = 20 : i64}) {
  %d0 = weft.dot_general %x, %w0, contract = [1] x [1] : tensor<6x12xf32, #cpu>, tensor<8x12xf32, #cpu>
  %bb0 = weft.broadcast_in_dim %b0, dims = [1] : tensor<8xf32, #cpu> -> tensor<6x8xf32, #cpu>
  %a0 = weft.add %d0, %bb0 : tensor<6x8xf32, #cpu>
  %z0 = weft.constant dense<0.0> : tensor<6x8xf32, #cpu>
  %h0 = weft.max %a0, %z0 {weft.relu} : tensor<6x8xf32, #cpu>
  %d1 = weft.dot_general %h0, %w1, contract = [1] x [1] : tensor<6x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %bb1 = weft.broadcast_in_dim %b1, dims = [1] : tensor<8xf32, #cpu> -> tensor<6x8xf32, #cpu>
  %a1 = weft.add %d1, %bb1 : tensor<6x8xf32, #cpu>
  %z1 = weft.constant dense<0.0> : tensor<6x8xf32, #cpu>
  %h1 = weft.max %a1, %z1 {weft.relu} : tensor<6x8xf32, #cpu>
  %d2 = weft.dot_general %h1, %w2, contract = [1] x [1] : tensor<6x8xf32, #cpu>, tensor<5x8xf32, #cpu>
  %bb2 = weft.broadcast_in_dim %b2, dims = [1] : tensor<5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %a2 = weft.add %d2, %bb2 : tensor<6x5xf32, #cpu>
  %loss, %lse = weft.cross_entropy %a2, %t, reduction = mean : tensor<6x5xf32, #cpu>, tensor<6xi64, #cpu>
  %g:6 = weft.gradient %loss wrt %w0, %b0, %w1, %b1, %w2, %b2
    : tensor<f32, #cpu>, tensor<8x12xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8x8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5xf32, #cpu>
  %n_w0:3 = weft.adam_step(%w0, %g#0, m %m_w0, v %v_w0, step %step, lr %lr, betas %beta1, %beta2, eps %eps, decay %decay)
    : tensor<8x12xf32, #cpu>, tensor<8x12xf32, #cpu>, tensor<8x12xf32, #cpu>, tensor<8x12xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %n_b0:3 = weft.adam_step(%b0, %g#1, m %m_b0, v %v_b0, step %step, lr %lr, betas %beta1, %beta2, eps %eps, decay %decay)
    : tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %n_w1:3 = weft.adam_step(%w1, %g#2, m %m_w1, v %v_w1, step %step, lr %lr, betas %beta1, %beta2, eps %eps, decay %decay)
    : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %n_b1:3 = weft.adam_step(%b1, %g#3, m %m_b1, v %v_b1, step %step, lr %lr, betas %beta1, %beta2, eps %eps, decay %decay)
    : tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %n_w2:3 = weft.adam_step(%w2, %g#4, m %m_w2, v %v_w2, step %step, lr %lr, betas %beta1, %beta2, eps %eps, decay %decay)
    : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %n_b2:3 = weft.adam_step(%b2, %g#5, m %m_b2, v %v_b2, step %step, lr %lr, betas %beta1, %beta2, eps %eps, decay %decay)
    : tensor<5xf32, #cpu>, tensor<5xf32, #cpu>, tensor<5xf32, #cpu>, tensor<5xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %one = weft.constant dense<1> : tensor<i64, #cpu>
  %ns = weft.add %step, %one : tensor<i64, #cpu>
  weft.return %loss, %n_w0#0, %n_w0#1, %n_w0#2, %n_b0#0, %n_b0#1, %n_b0#2, %n_w1#0, %n_w1#1, %n_w1#2, %n_b1#0, %n_b1#1, %n_b1#2, %n_w2#0, %n_w2#1, %n_w2#2, %n_b2#0, %n_b2#1, %n_b2#2, %ns
    : tensor<f32, #cpu>, tensor<8x12xf32, #cpu>, tensor<8x12xf32, #cpu>, tensor<8x12xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5xf32, #cpu>, tensor<5xf32, #cpu>, tensor<5xf32, #cpu>, tensor<i64, #cpu>
}
