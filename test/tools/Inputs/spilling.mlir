// Seven norms over a middle dimension, whose kernel has more values than a block of 512 threads has registers.
#gpu = #weft.device<cuda:0>
weft.func @middle(%x0: tensor<64x197x768xf32, #gpu>, %x1: tensor<64x197x768xf32, #gpu>, %x2: tensor<64x197x768xf32, #gpu>, %x3: tensor<64x197x768xf32, #gpu>, %x4: tensor<64x197x768xf32, #gpu>, %x5: tensor<64x197x768xf32, #gpu>, %x6: tensor<64x197x768xf32, #gpu>) -> tensor<64x197x768xf32, #gpu> {
  %c0 = weft.convert %x0 to f64 : tensor<64x197x768xf32, #gpu>
  %mean0, %m20, %count0 = weft.welford %c0, dims = [1] : tensor<64x197x768xf64, #gpu>
  %mr0 = weft.reshape %mean0 : tensor<64x768xf64, #gpu> -> tensor<64x1x768xf64, #gpu>
  %mb0 = weft.broadcast_in_dim %mr0, dims = [0, 1, 2] : tensor<64x1x768xf64, #gpu> -> tensor<64x197x768xf64, #gpu>
  %d0 = weft.sub %c0, %mb0 : tensor<64x197x768xf64, #gpu>
  %o0 = weft.convert %d0 to f32 : tensor<64x197x768xf64, #gpu>
  %c1 = weft.convert %x1 to f64 : tensor<64x197x768xf32, #gpu>
  %mean1, %m21, %count1 = weft.welford %c1, dims = [1] : tensor<64x197x768xf64, #gpu>
  %mr1 = weft.reshape %mean1 : tensor<64x768xf64, #gpu> -> tensor<64x1x768xf64, #gpu>
  %mb1 = weft.broadcast_in_dim %mr1, dims = [0, 1, 2] : tensor<64x1x768xf64, #gpu> -> tensor<64x197x768xf64, #gpu>
  %d1 = weft.sub %c1, %mb1 : tensor<64x197x768xf64, #gpu>
  %o1 = weft.convert %d1 to f32 : tensor<64x197x768xf64, #gpu>
  %s1 = weft.add %o0, %o1 : tensor<64x197x768xf32, #gpu>
  %c2 = weft.convert %x2 to f64 : tensor<64x197x768xf32, #gpu>
  %mean2, %m22, %count2 = weft.welford %c2, dims = [1] : tensor<64x197x768xf64, #gpu>
  %mr2 = weft.reshape %mean2 : tensor<64x768xf64, #gpu> -> tensor<64x1x768xf64, #gpu>
  %mb2 = weft.broadcast_in_dim %mr2, dims = [0, 1, 2] : tensor<64x1x768xf64, #gpu> -> tensor<64x197x768xf64, #gpu>
  %d2 = weft.sub %c2, %mb2 : tensor<64x197x768xf64, #gpu>
  %o2 = weft.convert %d2 to f32 : tensor<64x197x768xf64, #gpu>
  %s2 = weft.add %s1, %o2 : tensor<64x197x768xf32, #gpu>
  %c3 = weft.convert %x3 to f64 : tensor<64x197x768xf32, #gpu>
  %mean3, %m23, %count3 = weft.welford %c3, dims = [1] : tensor<64x197x768xf64, #gpu>
  %mr3 = weft.reshape %mean3 : tensor<64x768xf64, #gpu> -> tensor<64x1x768xf64, #gpu>
  %mb3 = weft.broadcast_in_dim %mr3, dims = [0, 1, 2] : tensor<64x1x768xf64, #gpu> -> tensor<64x197x768xf64, #gpu>
  %d3 = weft.sub %c3, %mb3 : tensor<64x197x768xf64, #gpu>
  %o3 = weft.convert %d3 to f32 : tensor<64x197x768xf64, #gpu>
  %s3 = weft.add %s2, %o3 : tensor<64x197x768xf32, #gpu>
  %c4 = weft.convert %x4 to f64 : tensor<64x197x768xf32, #gpu>
  %mean4, %m24, %count4 = weft.welford %c4, dims = [1] : tensor<64x197x768xf64, #gpu>
  %mr4 = weft.reshape %mean4 : tensor<64x768xf64, #gpu> -> tensor<64x1x768xf64, #gpu>
  %mb4 = weft.broadcast_in_dim %mr4, dims = [0, 1, 2] : tensor<64x1x768xf64, #gpu> -> tensor<64x197x768xf64, #gpu>
  %d4 = weft.sub %c4, %mb4 : tensor<64x197x768xf64, #gpu>
  %o4 = weft.convert %d4 to f32 : tensor<64x197x768xf64, #gpu>
  %s4 = weft.add %s3, %o4 : tensor<64x197x768xf32, #gpu>
  %c5 = weft.convert %x5 to f64 : tensor<64x197x768xf32, #gpu>
  %mean5, %m25, %count5 = weft.welford %c5, dims = [1] : tensor<64x197x768xf64, #gpu>
  %mr5 = weft.reshape %mean5 : tensor<64x768xf64, #gpu> -> tensor<64x1x768xf64, #gpu>
  %mb5 = weft.broadcast_in_dim %mr5, dims = [0, 1, 2] : tensor<64x1x768xf64, #gpu> -> tensor<64x197x768xf64, #gpu>
  %d5 = weft.sub %c5, %mb5 : tensor<64x197x768xf64, #gpu>
  %o5 = weft.convert %d5 to f32 : tensor<64x197x768xf64, #gpu>
  %s5 = weft.add %s4, %o5 : tensor<64x197x768xf32, #gpu>
  %c6 = weft.convert %x6 to f64 : tensor<64x197x768xf32, #gpu>
  %mean6, %m26, %count6 = weft.welford %c6, dims = [1] : tensor<64x197x768xf64, #gpu>
  %mr6 = weft.reshape %mean6 : tensor<64x768xf64, #gpu> -> tensor<64x1x768xf64, #gpu>
  %mb6 = weft.broadcast_in_dim %mr6, dims = [0, 1, 2] : tensor<64x1x768xf64, #gpu> -> tensor<64x197x768xf64, #gpu>
  %d6 = weft.sub %c6, %mb6 : tensor<64x197x768xf64, #gpu>
  %o6 = weft.convert %d6 to f32 : tensor<64x197x768xf64, #gpu>
  %s6 = weft.add %s5, %o6 : tensor<64x197x768xf32, #gpu>
  weft.return %s6 : tensor<64x197x768xf32, #gpu>
}
