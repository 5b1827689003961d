// RUN: weft-opt %s -split-input-file --verify-diagnostics --pass-pipeline='builtin.module(weft.func(weft-fuse,weft-choose-schedules,weft-plan-memory))'

// Nothing is written where a size of it cannot be expressed.

#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [72057594037927936 * n]>
// expected-error @below {{has temporaries whose bytes in all cannot be expressed, or are more than 2^62 where its symbols are largest; use smaller tensors, or fewer symbols}}
weft.func @vast(%k: tensor<?xf32, #weft.device<cpu, [n]>>, %x: tensor<?x2xf32, #n>, %w: tensor<2x2xf32, #cpu>) -> tensor<?x2xf32, #n> attributes {weft.symbols = [#weft.symbol<"n", 1, 2>]} {
  %v0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<?x2xf32, #n>, tensor<2x2xf32, #cpu>
  %v1 = weft.dot_general %v0, %w, contract = [1] x [0] : tensor<?x2xf32, #n>, tensor<2x2xf32, #cpu>
  %v2 = weft.dot_general %v1, %w, contract = [1] x [0] : tensor<?x2xf32, #n>, tensor<2x2xf32, #cpu>
  %v3 = weft.dot_general %v2, %w, contract = [1] x [0] : tensor<?x2xf32, #n>, tensor<2x2xf32, #cpu>
  %v4 = weft.dot_general %v3, %w, contract = [1] x [0] : tensor<?x2xf32, #n>, tensor<2x2xf32, #cpu>
  %v5 = weft.dot_general %v4, %w, contract = [1] x [0] : tensor<?x2xf32, #n>, tensor<2x2xf32, #cpu>
  %v6 = weft.dot_general %v5, %w, contract = [1] x [0] : tensor<?x2xf32, #n>, tensor<2x2xf32, #cpu>
  %v7 = weft.dot_general %v6, %w, contract = [1] x [0] : tensor<?x2xf32, #n>, tensor<2x2xf32, #cpu>
  %v8 = weft.dot_general %v7, %w, contract = [1] x [0] : tensor<?x2xf32, #n>, tensor<2x2xf32, #cpu>
  %s7 = weft.add %v8, %v7 : tensor<?x2xf32, #n>
  %s6 = weft.add %s7, %v6 : tensor<?x2xf32, #n>
  %s5 = weft.add %s6, %v5 : tensor<?x2xf32, #n>
  %s4 = weft.add %s5, %v4 : tensor<?x2xf32, #n>
  %s3 = weft.add %s4, %v3 : tensor<?x2xf32, #n>
  %s2 = weft.add %s3, %v2 : tensor<?x2xf32, #n>
  %s1 = weft.add %s2, %v1 : tensor<?x2xf32, #n>
  %s0 = weft.add %s1, %v0 : tensor<?x2xf32, #n>
  weft.return %s0 : tensor<?x2xf32, #n>
}

// -----

#m = #weft.device<cpu, [m]>
weft.func @tasks(%x: tensor<288230376151711744x1x?xf32, #m>, %k: tensor<?xf32, #m>) -> tensor<288230376151711744x1x?xf32, #m> attributes {weft.symbols = [#weft.symbol<"m", 1, 3>]} {
  // expected-error @+1 {{'weft.fusion' op has more tasks than can be expressed; make its tensors smaller, or give their sizes fewer symbols}}
  %0 = weft.cumsum %x, dim = 1 : tensor<288230376151711744x1x?xf32, #m>
  weft.return %0 : tensor<288230376151711744x1x?xf32, #m>
}
