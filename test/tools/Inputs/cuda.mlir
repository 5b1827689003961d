#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// A training step on a CUDA device, with bytes and a learning rate of the host.
weft.func @step(%x: tensor<64x128xui8, #cpu>, %w: tensor<128x32xf32, #gpu> {weft.donated}, %lr: tensor<f32, #cpu>) -> (tensor<128x32xf32, #gpu> {weft.tied = 1 : i64}, tensor<f32, #cpu>) {
  %xf = weft.convert %x to f32 : tensor<64x128xui8, #cpu>
  %xg = weft.transfer %xf to #gpu : tensor<64x128xf32, #cpu>
  %h = weft.dot_general %xg, %w, contract = [1] x [0] : tensor<64x128xf32, #gpu>, tensor<128x32xf32, #gpu>
  %hh = weft.mul %h, %h : tensor<64x32xf32, #gpu>
  %s = weft.sum %hh, dims = [0, 1] : tensor<64x32xf32, #gpu>
  %g = weft.gradient %s wrt %w : tensor<f32, #gpu>, tensor<128x32xf32, #gpu>
  %d = weft.mul %g, %lr : tensor<128x32xf32, #gpu>, tensor<f32, #cpu>
  %n = weft.sub %w, %d : tensor<128x32xf32, #gpu>
  weft.print %s label = "loss" : tensor<f32, #gpu>
  %r = weft.copy_into %w, %n : tensor<128x32xf32, #gpu>
  %host = weft.transfer %s to #cpu : tensor<f32, #gpu>
  weft.return %r, %host : tensor<128x32xf32, #gpu>, tensor<f32, #cpu>
}
