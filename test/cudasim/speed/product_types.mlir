// The rows product_bf16, product_f64 and product_i32: by mma, and on plain units with sums of 64 and of 32 bits.
#cpu = #weft.device<cpu>
weft.func @product_types(%a: tensor<512x512xbf16, #cpu>, %b: tensor<512x512xbf16, #cpu>,
                         %c: tensor<512x512xf64, #cpu>, %d: tensor<512x512xf64, #cpu>,
                         %e: tensor<512x512xi32, #cpu>, %f: tensor<512x512xi32, #cpu>)
    -> (tensor<512x512xbf16, #cpu>, tensor<512x512xf64, #cpu>, tensor<512x512xi32, #cpu>) {
  %0 = weft.dot_general %a, %b, contract = [1] x [0] : tensor<512x512xbf16, #cpu>, tensor<512x512xbf16, #cpu>
  %1 = weft.dot_general %c, %d, contract = [1] x [0] : tensor<512x512xf64, #cpu>, tensor<512x512xf64, #cpu>
  %2 = weft.dot_general %e, %f, contract = [1] x [0] : tensor<512x512xi32, #cpu>, tensor<512x512xi32, #cpu>
  weft.return %0, %1, %2 : tensor<512x512xbf16, #cpu>, tensor<512x512xf64, #cpu>, tensor<512x512xi32, #cpu>
}
