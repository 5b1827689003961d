// A product of f32 and an attention of halves, whose kernels need many registers.
#gpu = #weft.device<cuda:0>
weft.func @own(%a: tensor<2048x512xf32, #gpu>, %b: tensor<512x2048xf32, #gpu>, %q: tensor<32x512x64xf16, #gpu>)
    -> (tensor<2048x2048xf32, #gpu>, tensor<32x512x64xf16, #gpu>) {
  %0 = weft.dot_general %a, %b, contract = [1] x [0] : tensor<2048x512xf32, #gpu>, tensor<512x2048xf32, #gpu>
  %out, %lse = weft.sdpa %q, %q, %q, scale = 0.125 : tensor<32x512x64xf16, #gpu>, tensor<32x512x64xf16, #gpu>, tensor<32x512x64xf16, #gpu>
  weft.return %0, %out : tensor<2048x2048xf32, #gpu>, tensor<32x512x64xf16, #gpu>
}
