#cpu = #weft.device<cpu>
#b = #weft.device<cpu, [batch]>
#b2 = #weft.device<cpu, [2 * batch]>
weft.func @f(%x: tensor<?x12xf32, #b>, %i: tensor<?xi64, #b>, %key: tensor<i64, #cpu>, %counter: tensor<i64, #cpu>,
             %old: tensor<?x12xf32, #b> {weft.donated}, %step: tensor<i64, #cpu>, %rate: tensor<f64, #cpu>)
    -> (tensor<?x12xf32, #b>, tensor<?xf32, #b>, tensor<?x12xf32, #b>, tensor<i64, #cpu>, tensor<?x12xf32, #b2>,
        tensor<?x24xf32, #b>, tensor<?x12xf32, #b>, tensor<?x12xf32, #b>, tensor<?x12xf32, #b>, tensor<12xf32, #cpu>,
        tensor<i64, #cpu>, tensor<20x12xf32, #cpu>, tensor<?x12xf32, #b>, tensor<?x4xf32, #b>, tensor<?x12xf32, #b>,
        tensor<?x12xi32, #b>, tensor<12xf32, #cpu>, tensor<?xi64, #b>, tensor<?x12xf32, #b>)
    attributes {weft.symbols = [#weft.symbol<"batch", 1, 600>]} {
  %y, %mean, %rstd = weft.layer_norm %x, axis = 1, eps = 1.0e-5 : tensor<?x12xf32, #b>
  %dropped, %next = weft.dropout %y, %key, %counter, p = 0.5 : tensor<?x12xf32, #b>, tensor<i64, #cpu>
  %rows = weft.concat(%x, %y), dim = 0 : tensor<?x12xf32, #b>, tensor<?x12xf32, #b>
  %columns = weft.concat(%dropped, %y), dim = 1 : tensor<?x12xf32, #b>, tensor<?x12xf32, #b>
  %turned = weft.reverse %x, dims = [0] : tensor<?x12xf32, #b>
  %down = weft.cumsum %x, dim = 0 reverse : tensor<?x12xf32, #b>
  %along = weft.cumprod %x, dim = 1 exclusive : tensor<?x12xf32, #b>
  %m, %m2, %count = weft.welford %x, dims = [0] : tensor<?x12xf32, #b>
  %zeros = weft.constant dense<0.0> : tensor<20x12xf32, #cpu>
  %added = weft.index_update %zeros, %x, %i, dim = 0 accumulate mode = clip : tensor<20x12xf32, #cpu>, tensor<?x12xf32, #b>, tensor<?xi64, #b>
  %wide = weft.broadcast_in_dim %i, dims = [0] : tensor<?xi64, #b> -> tensor<?x12xi64, #b>
  %scattered = weft.scatter %x, %wide, %y, dim = 1, kind = max mode = clip : tensor<?x12xf32, #b>, tensor<?x12xi64, #b>, tensor<?x12xf32, #b>
  %window = weft.dynamic_slice %x, starts(%key, %counter), sizes = [batch, 4] : tensor<?x12xf32, #b>, tensor<i64, #cpu>, tensor<i64, #cpu>
  %written = weft.dynamic_update_slice %y, %window, starts(%key, %counter) : tensor<?x12xf32, #b>, tensor<?x4xf32, #b>, tensor<i64, #cpu>, tensor<i64, #cpu>
  %bits = weft.bitcast %x to i32 : tensor<?x12xf32, #b>
  %product = weft.prod %x, dims = [0] : tensor<?x12xf32, #b>
  %least = weft.argmin %x, dim = 1 : tensor<?x12xf32, #b>
  %large = weft.constant dense<1.0e30> : tensor<f32> -> tensor<?x12xf32, #b>
  %small = weft.lt %x, %large : tensor<?x12xf32, #b>
  weft.assert %small, "small" : tensor<?x12xi1, #b>
  weft.print %least label = "least" : tensor<?xi64, #b>
  %stepped = weft.sgd_step(%old, %y, step %step, lr %rate, momentum %rate, dampening %rate, decay %rate) : tensor<?x12xf32, #b>, tensor<?x12xf32, #b>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %new = weft.copy_into %old, %stepped : tensor<?x12xf32, #b>
  weft.return %y, %mean, %dropped, %next, %rows, %columns, %turned, %down, %along, %m, %count, %added, %scattered, %window, %written, %bits, %product, %least, %new
      : tensor<?x12xf32, #b>, tensor<?xf32, #b>, tensor<?x12xf32, #b>, tensor<i64, #cpu>, tensor<?x12xf32, #b2>,
        tensor<?x24xf32, #b>, tensor<?x12xf32, #b>, tensor<?x12xf32, #b>, tensor<?x12xf32, #b>, tensor<12xf32, #cpu>,
        tensor<i64, #cpu>, tensor<20x12xf32, #cpu>, tensor<?x12xf32, #b>, tensor<?x4xf32, #b>, tensor<?x12xf32, #b>,
        tensor<?x12xi32, #b>, tensor<12xf32, #cpu>, tensor<?xi64, #b>, tensor<?x12xf32, #b>
}
