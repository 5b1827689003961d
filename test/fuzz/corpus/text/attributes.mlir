#a0 = [1, 2]
#a1 = [#a0, {b = dense<[1, 2]> : tensor<2xi64>}]
module attributes {c = #a1, d = affine_map<(d0) -> (d0 + 1)>} {} loc(fused["a", "b.mlir":1:2])
