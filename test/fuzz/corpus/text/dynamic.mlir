#cpu = #weft.device<cpu>
#s = #weft.device<cpu, [seq]>
#ss = #weft.device<cpu, [seq, seq]>
#fl = #weft.device<cpu, [12 * seq]>
#p = #weft.device<cpu, [seq + 2]>
#m = #weft.device<cpu, [seq + -1]>
weft.func @f(%x: tensor<2x?x6xf32, #s>, %y: tensor<2x?x6xf32, #s>, %v: tensor<?xi64, #s>)
    -> (tensor<2x?x?xf32, #ss>, tensor<?xf32, #fl>, tensor<6xf32, #cpu>, tensor<f32, #cpu>, tensor<2x?x6xf32, #p>, tensor<2x?x6xf32, #m>, tensor<2x6xi64, #cpu>)
    attributes {weft.symbols = [#weft.symbol<"seq", 1, 600>]} {
  %s = weft.dot_general %x, %y, batch = [0] x [0], contract = [2] x [2] : tensor<2x?x6xf32, #s>, tensor<2x?x6xf32, #s>
  %p = weft.softmax %s, dim = 2 : tensor<2x?x?xf32, #ss>
  %t = weft.transpose %x, perm = [0, 2, 1] : tensor<2x?x6xf32, #s>
  %e = weft.exp %t : tensor<2x6x?xf32, #s>
  %fl = weft.reshape %e : tensor<2x6x?xf32, #s> -> tensor<?xf32, #fl>
  %sum = weft.sum %x, dims = [0, 1] : tensor<2x?x6xf32, #s>
  %all = weft.sum %x, dims = [0, 1, 2] : tensor<2x?x6xf32, #s>
  %d = weft.dim 12 * seq : tensor<i64, #cpu>
  %df = weft.convert %d to f32 : tensor<i64, #cpu>
  %mean = weft.div %all, %df : tensor<f32, #cpu>
  %pad = weft.pad %x, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0] : tensor<2x?x6xf32, #s>
  %sl = weft.slice %x, start = [0, 1, 0], limit = [2, seq, 6], step = [1, 1, 1] : tensor<2x?x6xf32, #s>
  %neg = weft.neg %sl : tensor<2x?x6xf32, #m>
  %am = weft.argmax %x, dim = 1 : tensor<2x?x6xf32, #s>
  weft.return %p, %fl, %sum, %mean, %pad, %neg, %am : tensor<2x?x?xf32, #ss>, tensor<?xf32, #fl>, tensor<6xf32, #cpu>, tensor<f32, #cpu>, tensor<2x?x6xf32, #p>, tensor<2x?x6xf32, #m>, tensor<2x6xi64, #cpu>
}
