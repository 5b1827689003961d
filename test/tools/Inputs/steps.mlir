// Optimiser steps of several kinds in one kernel, and over sizes that a call chooses.
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
!i = tensor<i64, #cpu>
!n = tensor<f64, #cpu>
!b = tensor<i1, #cpu>
!s = tensor<100xf32, #cpu>
!l = tensor<9001xf32, #cpu>
!e = tensor<0xf32, #cpu>
!h = tensor<65xbf16, #cpu>
!d = tensor<7x5xf64, #cpu>
!v = tensor<?xf32, #n>
weft.func @mixed(%p0: !s {weft.donated}, %g0: !s, %m0: !s {weft.donated}, %v0: !s {weft.donated},
    %p1: !l {weft.donated}, %g1: !l, %m1: !l {weft.donated}, %v1: !l {weft.donated}, %p2: !d {weft.donated}, %g2: !d,
    %b2: !d {weft.donated}, %p3: !e {weft.donated}, %g3: !e, %m3: !e {weft.donated}, %v3: !e {weft.donated},
    %p4: !s {weft.donated}, %g4: !s, %m4: !s {weft.donated}, %v4: !s {weft.donated}, %p5: !l {weft.donated}, %g5: !l,
    %m5: !l {weft.donated}, %v5: !l {weft.donated}, %x5: !l {weft.donated}, %p6: !h {weft.donated}, %g6: !h,
    %m6: !h {weft.donated}, %v6: !h {weft.donated}, %p7: !s {weft.donated}, %g7: !s, %b7: !s {weft.donated},
    %p8: !s {weft.donated}, %g8: !s, %m8: !s {weft.donated}, %v8: !s {weft.donated}, %t: !i, %inf: !b)
    -> (!s {weft.tied = 0}, !s {weft.tied = 2}, !s {weft.tied = 3}, !l {weft.tied = 4}, !l {weft.tied = 6},
        !l {weft.tied = 7}, !d {weft.tied = 8}, !d {weft.tied = 10}, !e {weft.tied = 11}, !e {weft.tied = 13},
        !e {weft.tied = 14}, !s {weft.tied = 15}, !s {weft.tied = 17}, !s {weft.tied = 18}, !l {weft.tied = 19},
        !l {weft.tied = 21}, !l {weft.tied = 22}, !l {weft.tied = 23}, !h {weft.tied = 24}, !h {weft.tied = 26},
        !h {weft.tied = 27}, !s {weft.tied = 28}, !s {weft.tied = 30}, !s {weft.tied = 31}, !s {weft.tied = 33},
        !s {weft.tied = 34}) {
  %lr = weft.constant dense<1.0e-2> : !n
  %lrb = weft.constant dense<5.0e-1> : !n
  %ba = weft.constant dense<9.0e-1> : !n
  %bb = weft.constant dense<9.99e-1> : !n
  %eps = weft.constant dense<1.0e-3> : !n
  %dec = weft.constant dense<1.0e-1> : !n
  %r:26 = weft.fusion multi_tensor (%p0, %g0, %m0, %v0, %p1, %g1, %m1, %v1, %p2, %g2, %b2, %p3, %g3, %m3, %v3, %p4,
      %g4, %m4, %v4, %p5, %g5, %m5, %v5, %x5, %p6, %g6, %m6, %v6, %p7, %g7, %b7, %p8, %g8, %m8, %v8, %t, %lr, %lrb,
      %ba, %bb, %eps, %dec, %inf)
      : (!s, !s, !s, !s, !l, !l, !l, !l, !d, !d, !d, !e, !e, !e, !e, !s, !s, !s, !s, !l, !l, !l, !l, !l, !h, !h, !h,
          !h, !s, !s, !s, !s, !s, !s, !s, !i, !n, !n, !n, !n, !n, !n, !b)
      -> (!s, !s, !s, !l, !l, !l, !d, !d, !e, !e, !e, !s, !s, !s, !l, !l, !l, !l, !h, !h, !h, !s, !s, !s, !s, !s) {
  ^bb0(%p0_: !s, %g0_: !s, %m0_: !s, %v0_: !s, %p1_: !l, %g1_: !l, %m1_: !l, %v1_: !l, %p2_: !d, %g2_: !d, %b2_: !d,
      %p3_: !e, %g3_: !e, %m3_: !e, %v3_: !e, %p4_: !s, %g4_: !s, %m4_: !s, %v4_: !s, %p5_: !l, %g5_: !l, %m5_: !l,
      %v5_: !l, %x5_: !l, %p6_: !h, %g6_: !h, %m6_: !h, %v6_: !h, %p7_: !s, %g7_: !s, %b7_: !s, %p8_: !s, %g8_: !s,
      %m8_: !s, %v8_: !s, %t_: !i, %lr_: !n, %lrb_: !n, %ba_: !n, %bb_: !n, %eps_: !n, %dec_: !n, %inf_: !b):
    %r0_0, %r0_1, %r0_2 = weft.adam_step(%p0_, %g0_, m %m0_, v %v0_, step %t_, lr %lr_, betas %ba_, %bb_, eps %eps_,
        decay %dec_) : !s, !s, !s, !s, !i, !n
    %r1_0, %r1_1, %r1_2 = weft.adam_step(%p1_, %g1_, m %m1_, v %v1_, step %t_, lr %lr_, betas %ba_, %bb_, eps %eps_,
        decay %dec_) : !l, !l, !l, !l, !i, !n
    %r2_0, %r2_1 = weft.sgd_step(%p2_, %g2_ buf %b2_, step %t_, lr %lr_, momentum %ba_, dampening %bb_,
        decay %dec_) nesterov : !d, !d buf !d, !i, !n
    %r3_0, %r3_1, %r3_2 = weft.adam_step(%p3_, %g3_, m %m3_, v %v3_, step %t_, lr %lr_, betas %ba_, %bb_, eps %eps_,
        decay %dec_) : !e, !e, !e, !e, !i, !n
    %r4_0, %r4_1, %r4_2 = weft.adam_step(%p4_, %g4_, m %m4_, v %v4_, step %t_, lr %lrb_, betas %ba_, %bb_, eps %eps_,
        decay %dec_) : !s, !s, !s, !s, !i, !n
    %r5_0, %r5_1, %r5_2, %r5_3 = weft.adam_step(%p5_, %g5_, m %m5_, v %v5_ vmax %x5_, step %t_, lr %lr_, betas %ba_,
        %bb_, eps %eps_, decay %dec_, found_inf %inf_) decoupled : !l, !l, !l, !l vmax !l, !i, !n found_inf !b
    %r6_0, %r6_1, %r6_2 = weft.adam_step(%p6_, %g6_, m %m6_, v %v6_, step %t_, lr %lr_, betas %ba_, %bb_, eps %eps_,
        decay %dec_, found_inf %inf_) maximize : !h, !h, !h, !h, !i, !n found_inf !b
    %r7_0, %r7_1 = weft.sgd_step(%p7_, %g7_ buf %b7_, step %t_, lr %lr_, momentum %ba_, dampening %bb_, decay %dec_,
        found_inf %inf_) : !s, !s buf !s, !i, !n found_inf !b
    %r8_0, %r8_1, %r8_2 = weft.adam_step(%p8_, %g8_, m %m8_, v %v8_, step %t_, lr %lr_, betas %ba_, %bb_, eps %eps_,
        decay %dec_) : !s, !s, !s, !s, !i, !n
    weft.yield %r0_0, %r0_1, %r0_2, %r1_0, %r1_1, %r1_2, %r2_0, %r2_1, %r3_0, %r3_1, %r3_2, %r4_0, %r4_1, %r4_2,
        %r5_0, %r5_1, %r5_2, %r5_3, %r6_0, %r6_1, %r6_2, %r7_0, %r7_1, %r8_0, %r8_1, %r8_2 : !s, !s, !s, !l, !l, !l,
        !d, !d, !e, !e, !e, !s, !s, !s, !l, !l, !l, !l, !h, !h, !h, !s, !s, !s, !s, !s
  }
  weft.return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6, %r#7, %r#8, %r#9, %r#10, %r#11, %r#12, %r#13, %r#14, %r#15,
      %r#16, %r#17, %r#18, %r#19, %r#20, %r#21, %r#22, %r#23, %r#24, %r#25 : !s, !s, !s, !l, !l, !l, !d, !d, !e, !e,
      !e, !s, !s, !s, !l, !l, !l, !l, !h, !h, !h, !s, !s, !s, !s, !s
}
weft.func @sized(%p0: !v {weft.donated}, %g0: !v, %m0: !v {weft.donated}, %v0: !v {weft.donated},
    %p1: !s {weft.donated}, %g1: !s, %m1: !s {weft.donated}, %v1: !s {weft.donated}, %p2: !v {weft.donated}, %g2: !v,
    %m2: !v {weft.donated}, %v2: !v {weft.donated}, %t: !i)
    -> (!v {weft.tied = 0}, !v {weft.tied = 2}, !v {weft.tied = 3}, !s {weft.tied = 4}, !s {weft.tied = 6},
        !s {weft.tied = 7}, !v {weft.tied = 8}, !v {weft.tied = 10},
        !v {weft.tied = 11}) attributes {weft.symbols = [#weft.symbol<"n", 0, 30000>]} {
  %lr = weft.constant dense<1.0e-2> : !n
  %ba = weft.constant dense<9.0e-1> : !n
  %bb = weft.constant dense<9.99e-1> : !n
  %eps = weft.constant dense<1.0e-3> : !n
  %dec = weft.constant dense<1.0e-1> : !n
  %r:9 = weft.fusion multi_tensor (%p0, %g0, %m0, %v0, %p1, %g1, %m1, %v1, %p2, %g2, %m2, %v2, %t, %lr, %ba, %bb,
      %eps, %dec)
      : (!v, !v, !v, !v, !s, !s, !s, !s, !v, !v, !v, !v, !i, !n, !n, !n, !n, !n)
      -> (!v, !v, !v, !s, !s, !s, !v, !v, !v) {
  ^bb0(%p0_: !v, %g0_: !v, %m0_: !v, %v0_: !v, %p1_: !s, %g1_: !s, %m1_: !s, %v1_: !s, %p2_: !v, %g2_: !v, %m2_: !v,
      %v2_: !v, %t_: !i, %lr_: !n, %ba_: !n, %bb_: !n, %eps_: !n, %dec_: !n):
    %r0_0, %r0_1, %r0_2 = weft.adam_step(%p0_, %g0_, m %m0_, v %v0_, step %t_, lr %lr_, betas %ba_, %bb_, eps %eps_,
        decay %dec_) : !v, !v, !v, !v, !i, !n
    %r1_0, %r1_1, %r1_2 = weft.adam_step(%p1_, %g1_, m %m1_, v %v1_, step %t_, lr %lr_, betas %ba_, %bb_, eps %eps_,
        decay %dec_) : !s, !s, !s, !s, !i, !n
    %r2_0, %r2_1, %r2_2 = weft.adam_step(%p2_, %g2_, m %m2_, v %v2_, step %t_, lr %lr_, betas %ba_, %bb_, eps %eps_,
        decay %dec_) : !v, !v, !v, !v, !i, !n
    weft.yield %r0_0, %r0_1, %r0_2, %r1_0, %r1_1, %r1_2, %r2_0, %r2_1, %r2_2 : !v, !v, !v, !s, !s, !s, !v, !v, !v
  }
  weft.return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6, %r#7, %r#8 : !v, !v, !v, !s, !s, !s, !v, !v, !v
}
