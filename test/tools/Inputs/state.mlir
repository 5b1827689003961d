// A step with state: w <- w - lr * x, and the sum of the new w.
#cpu = #weft.device<cpu>
weft.func @step(%w: tensor<4xf32, #cpu> {weft.name = "w", weft.role = "state", weft.donated},
                %lr: tensor<f32, #cpu> {weft.name = "lr", weft.role = "scalar"},
                %x: tensor<4xf32, #cpu> {weft.name = "x"})
    -> (tensor<f32, #cpu>, tensor<4xf32, #cpu> {weft.name = "w", weft.tied = 0 : i64}) {
  %b = weft.broadcast_in_dim %lr, dims = [] : tensor<f32, #cpu> -> tensor<4xf32, #cpu>
  %0 = weft.mul %b, %x : tensor<4xf32, #cpu>
  %1 = weft.sub %w, %0 : tensor<4xf32, #cpu>
  %2 = weft.sum %1, dims = [0] : tensor<4xf32, #cpu>
  weft.return %2, %1 : tensor<f32, #cpu>, tensor<4xf32, #cpu>
}
