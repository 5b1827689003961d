// RUN: weft-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(weft.func(weft-query-libraries{target=x86-64-v4:8}))'

#gpu = #weft.device<cuda:0>
weft.func @product(%x: tensor<64x64xf32, #gpu>) -> tensor<64x64xf32, #gpu> {
  // expected-error@+1 {{runs on cuda:0, and the target 'x86-64-v4:8' has no such device: name one beside the host, as x86-64-v4:8+cuda:sm_90, or map the program's devices with --weft-map-devices first}}
  %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<64x64xf32, #gpu>, tensor<64x64xf32, #gpu>
  weft.return %0 : tensor<64x64xf32, #gpu>
}
