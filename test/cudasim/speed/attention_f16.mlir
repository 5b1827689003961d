// Attention of halves and its derivative by mma, and attention whose heads are so wide that plain units multiply.
#cpu = #weft.device<cpu>
weft.func @attention_f16(%q: tensor<16x512x64xf16, #cpu>, %k: tensor<16x512x64xf16, #cpu>, %v: tensor<16x512x64xf16, #cpu>,
                         %g: tensor<16x512x64xf16, #cpu>, %w: tensor<8x256x256xf16, #cpu>)
    -> (tensor<16x512x64xf16, #cpu>, tensor<16x512x64xf16, #cpu>, tensor<16x512x64xf16, #cpu>,
        tensor<16x512x64xf16, #cpu>, tensor<8x256x256xf16, #cpu>) {
  %out, %lse = weft.sdpa %q, %k, %v, scale = 0.125 causal
      : tensor<16x512x64xf16, #cpu>, tensor<16x512x64xf16, #cpu>, tensor<16x512x64xf16, #cpu>
  %dq, %dk, %dv = weft.sdpa_backward %q, %k, %v, %out, %lse, %g, scale = 0.125 causal
      : tensor<16x512x64xf16, #cpu>, tensor<16x512x64xf16, #cpu>, tensor<16x512x64xf16, #cpu>, tensor<16x512x64xf16, #cpu>, tensor<16x512xf32, #cpu>, tensor<16x512x64xf16, #cpu>
  %wide, %wide_lse = weft.sdpa %w, %w, %w, scale = 0.0625
      : tensor<8x256x256xf16, #cpu>, tensor<8x256x256xf16, #cpu>, tensor<8x256x256xf16, #cpu>
  weft.return %out, %dq, %dk, %dv, %wide : tensor<16x512x64xf16, #cpu>, tensor<16x512x64xf16, #cpu>,
      tensor<16x512x64xf16, #cpu>, tensor<16x512x64xf16, #cpu>, tensor<8x256x256xf16, #cpu>
}
