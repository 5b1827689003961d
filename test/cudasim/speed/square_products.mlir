// Products with square results of three types: on plain units, and by mma. Bytes are multiplied along k, so their b is
// column-major.
#cpu = #weft.device<cpu>
weft.func @square_products(%a: tensor<2048x512xf32, #cpu>, %b: tensor<512x2048xf32, #cpu>,
                           %h: tensor<2048x512xf16, #cpu>, %g: tensor<512x2048xf16, #cpu>,
                           %i: tensor<2048x512xi8, #cpu>, %j: tensor<2048x512xi8, #cpu>)
    -> (tensor<2048x2048xf32, #cpu>, tensor<2048x2048xf16, #cpu>, tensor<2048x2048xi8, #cpu>) {
  %0 = weft.dot_general %a, %b, contract = [1] x [0] : tensor<2048x512xf32, #cpu>, tensor<512x2048xf32, #cpu>
  %1 = weft.dot_general %h, %g, contract = [1] x [0] : tensor<2048x512xf16, #cpu>, tensor<512x2048xf16, #cpu>
  %2 = weft.dot_general %i, %j, contract = [1] x [1] : tensor<2048x512xi8, #cpu>, tensor<2048x512xi8, #cpu>
  weft.return %0, %1, %2 : tensor<2048x2048xf32, #cpu>, tensor<2048x2048xf16, #cpu>, tensor<2048x2048xi8, #cpu>
}
