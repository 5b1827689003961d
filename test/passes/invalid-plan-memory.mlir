// RUN: weft-opt %s --verify-diagnostics --pass-pipeline='builtin.module(weft.func(weft-fuse,weft-plan-memory))'

#cpu = #weft.device<cpu>
// Each fits, and what lives together does not.
// expected-error @below {{has temporaries of more than 2^63 bytes in all: no memory holds them, use smaller tensors}}
weft.func @vast(%x: tensor<144115188075855872x2xf32, #cpu>, %w: tensor<2x2xf32, #cpu>) -> tensor<144115188075855872x2xf32, #cpu> {
  %v0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<144115188075855872x2xf32, #cpu>, tensor<2x2xf32, #cpu>
  %v1 = weft.dot_general %v0, %w, contract = [1] x [0] : tensor<144115188075855872x2xf32, #cpu>, tensor<2x2xf32, #cpu>
  %v2 = weft.dot_general %v1, %w, contract = [1] x [0] : tensor<144115188075855872x2xf32, #cpu>, tensor<2x2xf32, #cpu>
  %v3 = weft.dot_general %v2, %w, contract = [1] x [0] : tensor<144115188075855872x2xf32, #cpu>, tensor<2x2xf32, #cpu>
  %v4 = weft.dot_general %v3, %w, contract = [1] x [0] : tensor<144115188075855872x2xf32, #cpu>, tensor<2x2xf32, #cpu>
  %v5 = weft.dot_general %v4, %w, contract = [1] x [0] : tensor<144115188075855872x2xf32, #cpu>, tensor<2x2xf32, #cpu>
  %v6 = weft.dot_general %v5, %w, contract = [1] x [0] : tensor<144115188075855872x2xf32, #cpu>, tensor<2x2xf32, #cpu>
  %v7 = weft.dot_general %v6, %w, contract = [1] x [0] : tensor<144115188075855872x2xf32, #cpu>, tensor<2x2xf32, #cpu>
  %v8 = weft.dot_general %v7, %w, contract = [1] x [0] : tensor<144115188075855872x2xf32, #cpu>, tensor<2x2xf32, #cpu>
  %s7 = weft.add %v8, %v7 : tensor<144115188075855872x2xf32, #cpu>
  %s6 = weft.add %s7, %v6 : tensor<144115188075855872x2xf32, #cpu>
  %s5 = weft.add %s6, %v5 : tensor<144115188075855872x2xf32, #cpu>
  %s4 = weft.add %s5, %v4 : tensor<144115188075855872x2xf32, #cpu>
  %s3 = weft.add %s4, %v3 : tensor<144115188075855872x2xf32, #cpu>
  %s2 = weft.add %s3, %v2 : tensor<144115188075855872x2xf32, #cpu>
  %s1 = weft.add %s2, %v1 : tensor<144115188075855872x2xf32, #cpu>
  %s0 = weft.add %s1, %v0 : tensor<144115188075855872x2xf32, #cpu>
  weft.return %s0 : tensor<144115188075855872x2xf32, #cpu>
}
