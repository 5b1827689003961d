#cpu = #weft.device<cpu>
// A step that prints, asserts, writes state, and returns an alias of its argument.
weft.func @step(%x: tensor<4xf32, #cpu>, %s: tensor<4xf32, #cpu> {weft.donated}) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %y = weft.add %x, %x : tensor<4xf32, #cpu>
  weft.print %y label = "y" : tensor<4xf32, #cpu>
  %z = weft.mul %y, %y : tensor<4xf32, #cpu>
  weft.print %z label = "z" : tensor<4xf32, #cpu>
  %c = weft.le %z, %z : tensor<4xf32, #cpu>
  weft.assert %c, "z is a number" : tensor<4xi1, #cpu>
  %t = weft.sum %z, dims = [0] : tensor<4xf32, #cpu>
  %h = weft.to_host_scalar %t : tensor<f32, #cpu>
  %n = weft.add %s, %z : tensor<4xf32, #cpu>
  %w = weft.copy_into %s, %n : tensor<4xf32, #cpu>
  %a = weft.alias %x : tensor<4xf32, #cpu>
  weft.return %w, %a, %h : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<f32, #cpu>
}
