// Conditions that are launches of the plan: with derivatives, and one in the branch of another. No GPU decides for less than
// a sort.
#cpu = #weft.device<cpu>

weft.func private @layer(%x: tensor<3x4xf32, #cpu>, %w: tensor<4x4xf32, #cpu>, %b: tensor<4xf32, #cpu>) -> (tensor<3x4xf32, #cpu>, tensor<f32, #cpu>) {
  %v, %i = weft.sort %x, count = 4 : tensor<3x4xf32, #cpu>
  %m = weft.dot_general %v, %w, contract = [1] x [0] : tensor<3x4xf32, #cpu>, tensor<4x4xf32, #cpu>
  %n = weft.tanh %m : tensor<3x4xf32, #cpu>
  %s = weft.sum %n, dims = [0, 1] : tensor<3x4xf32, #cpu>
  weft.return %n, %s : tensor<3x4xf32, #cpu>, tensor<f32, #cpu>
}
weft.func private @shift(%x: tensor<3x4xf32, #cpu>, %w: tensor<4x4xf32, #cpu>, %b: tensor<4xf32, #cpu>) -> (tensor<3x4xf32, #cpu>, tensor<f32, #cpu>) {
  %c = weft.broadcast_in_dim %b, dims = [1] : tensor<4xf32, #cpu> -> tensor<3x4xf32, #cpu>
  %n = weft.mul %x, %c : tensor<3x4xf32, #cpu>
  %z = weft.constant dense<0.25> : tensor<f32, #cpu>
  weft.return %n, %z : tensor<3x4xf32, #cpu>, tensor<f32, #cpu>
}
weft.func @gradient(%x: tensor<3x4xf32, #cpu>, %w: tensor<4x4xf32, #cpu>, %b: tensor<4xf32, #cpu>) -> (tensor<f32, #cpu>, tensor<3x4xf32, #cpu>, tensor<4x4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %t = weft.sum %x, dims = [0, 1] : tensor<3x4xf32, #cpu>
  %z = weft.constant dense<0.0> : tensor<f32, #cpu>
  %p = weft.lt %t, %z : tensor<f32, #cpu>
  %q = weft.ge %t, %z : tensor<f32, #cpu>
  %r:2 = weft.cond %p then @layer else @shift(%x, %w, %b) : (tensor<i1, #cpu>, tensor<3x4xf32, #cpu>, tensor<4x4xf32, #cpu>, tensor<4xf32, #cpu>) -> (tensor<3x4xf32, #cpu>, tensor<f32, #cpu>)
  %s:2 = weft.cond %q then @layer else @shift(%r#0, %w, %b) : (tensor<i1, #cpu>, tensor<3x4xf32, #cpu>, tensor<4x4xf32, #cpu>, tensor<4xf32, #cpu>) -> (tensor<3x4xf32, #cpu>, tensor<f32, #cpu>)
  %sq = weft.mul %s#0, %r#0 : tensor<3x4xf32, #cpu>
  %l1 = weft.sum %sq, dims = [0, 1] : tensor<3x4xf32, #cpu>
  %l2 = weft.add %l1, %r#1 : tensor<f32, #cpu>
  %l = weft.add %l2, %s#1 : tensor<f32, #cpu>
  %g:3 = weft.gradient %l wrt %x, %w, %b : tensor<f32, #cpu>, tensor<3x4xf32, #cpu>, tensor<4x4xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %l, %g#0, %g#1, %g#2 : tensor<f32, #cpu>, tensor<3x4xf32, #cpu>, tensor<4x4xf32, #cpu>, tensor<4xf32, #cpu>
}

weft.func private @identity(%x: tensor<i64, #cpu>, %one: tensor<i64, #cpu>) -> (tensor<i64, #cpu>, tensor<i64, #cpu>) {
  weft.return %x, %x : tensor<i64, #cpu>, tensor<i64, #cpu>
}
weft.func private @swapped(%x: tensor<i64, #cpu>, %one: tensor<i64, #cpu>) -> (tensor<i64, #cpu>, tensor<i64, #cpu>) {
  weft.return %one, %x : tensor<i64, #cpu>, tensor<i64, #cpu>
}
weft.func private @nested(%x: tensor<i64, #cpu>, %one: tensor<i64, #cpu>) -> (tensor<i64, #cpu>, tensor<i64, #cpu>) {
  %p = weft.lt %x, %one : tensor<i64, #cpu>
  %r:2 = weft.cond %p then @identity else @swapped(%x, %one) : (tensor<i1, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>) -> (tensor<i64, #cpu>, tensor<i64, #cpu>)
  weft.return %r#0, %r#1 : tensor<i64, #cpu>, tensor<i64, #cpu>
}
weft.func @values(%p: tensor<i1, #cpu>, %x: tensor<i64, #cpu>, %one: tensor<i64, #cpu>) -> (tensor<i64, #cpu>, tensor<i64, #cpu>) {
  %r:2 = weft.cond %p then @nested else @identity(%x, %one) : (tensor<i1, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>) -> (tensor<i64, #cpu>, tensor<i64, #cpu>)
  weft.return %r#0, %r#1 : tensor<i64, #cpu>, tensor<i64, #cpu>
}
