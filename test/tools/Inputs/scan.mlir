// Loops that are loops of the plan: one with its derivative, one without stacks, and one in the body of another.
#cpu = #weft.device<cpu>

weft.func private @cell(%h: tensor<3x4xf32, #cpu>, %x: tensor<3x5xf32, #cpu>, %w: tensor<4x4xf32, #cpu>, %u: tensor<5x4xf32, #cpu>) -> (tensor<3x4xf32, #cpu>, tensor<3x4xf32, #cpu>) {
  %a = weft.dot_general %x, %u, contract = [1] x [0] : tensor<3x5xf32, #cpu>, tensor<5x4xf32, #cpu>
  %b = weft.dot_general %h, %w, contract = [1] x [0] : tensor<3x4xf32, #cpu>, tensor<4x4xf32, #cpu>
  %s = weft.add %a, %b : tensor<3x4xf32, #cpu>
  %n = weft.tanh %s : tensor<3x4xf32, #cpu>
  weft.return %n, %n : tensor<3x4xf32, #cpu>, tensor<3x4xf32, #cpu>
}
weft.func @gradient(%h: tensor<3x4xf32, #cpu>, %xs: tensor<12x3x5xf32, #cpu>, %w: tensor<4x4xf32, #cpu>, %u: tensor<5x4xf32, #cpu>) -> (tensor<f32, #cpu>, tensor<3x4xf32, #cpu>, tensor<12x3x5xf32, #cpu>, tensor<4x4xf32, #cpu>, tensor<5x4xf32, #cpu>) {
  %r:2 = weft.scan @cell(%h) over(%xs) with(%w, %u), length = 12 : (tensor<3x4xf32, #cpu>, tensor<12x3x5xf32, #cpu>, tensor<4x4xf32, #cpu>, tensor<5x4xf32, #cpu>) -> (tensor<3x4xf32, #cpu>, tensor<12x3x4xf32, #cpu>)
  %sq = weft.mul %r#1, %r#1 : tensor<12x3x4xf32, #cpu>
  %l1 = weft.sum %sq, dims = [0, 1, 2] : tensor<12x3x4xf32, #cpu>
  %l2 = weft.sum %r#0, dims = [0, 1] : tensor<3x4xf32, #cpu>
  %l = weft.add %l1, %l2 : tensor<f32, #cpu>
  %g:4 = weft.gradient %l wrt %h, %xs, %w, %u : tensor<f32, #cpu>, tensor<3x4xf32, #cpu>, tensor<12x3x5xf32, #cpu>, tensor<4x4xf32, #cpu>, tensor<5x4xf32, #cpu>
  weft.return %l, %g#0, %g#1, %g#2, %g#3 : tensor<f32, #cpu>, tensor<3x4xf32, #cpu>, tensor<12x3x5xf32, #cpu>, tensor<4x4xf32, #cpu>, tensor<5x4xf32, #cpu>
}

weft.func private @halve(%h: tensor<7xf32, #cpu>, %i: tensor<i64, #cpu>) -> (tensor<7xf32, #cpu>, tensor<i64, #cpu>) {
  %half = weft.constant dense<0.5> : tensor<7xf32, #cpu>
  %one = weft.constant dense<1> : tensor<i64, #cpu>
  %n = weft.mul %h, %half : tensor<7xf32, #cpu>
  %j = weft.add %i, %one : tensor<i64, #cpu>
  weft.return %n, %j : tensor<7xf32, #cpu>, tensor<i64, #cpu>
}
weft.func @carries(%h: tensor<7xf32, #cpu>, %i: tensor<i64, #cpu>) -> (tensor<7xf32, #cpu>, tensor<i64, #cpu>) {
  %r:2 = weft.scan @halve(%h, %i) over() with(), length = 9 : (tensor<7xf32, #cpu>, tensor<i64, #cpu>) -> (tensor<7xf32, #cpu>, tensor<i64, #cpu>)
  weft.return %r#0, %r#1 : tensor<7xf32, #cpu>, tensor<i64, #cpu>
}

weft.func private @add(%s: tensor<3xf32, #cpu>, %x: tensor<3xf32, #cpu>) -> (tensor<3xf32, #cpu>, tensor<3xf32, #cpu>) {
  %t = weft.add %s, %x : tensor<3xf32, #cpu>
  weft.return %t, %t : tensor<3xf32, #cpu>, tensor<3xf32, #cpu>
}
weft.func private @rows(%s: tensor<3xf32, #cpu>, %xs: tensor<8x3xf32, #cpu>) -> (tensor<3xf32, #cpu>, tensor<8x3xf32, #cpu>) {
  %r:2 = weft.scan @add(%s) over(%xs) with(), length = 8 reverse : (tensor<3xf32, #cpu>, tensor<8x3xf32, #cpu>) -> (tensor<3xf32, #cpu>, tensor<8x3xf32, #cpu>)
  weft.return %r#0, %r#1 : tensor<3xf32, #cpu>, tensor<8x3xf32, #cpu>
}
weft.func @nested(%s: tensor<3xf32, #cpu>, %xs: tensor<10x8x3xf32, #cpu>) -> (tensor<3xf32, #cpu>, tensor<10x8x3xf32, #cpu>) {
  %r:2 = weft.scan @rows(%s) over(%xs) with(), length = 10 : (tensor<3xf32, #cpu>, tensor<10x8x3xf32, #cpu>) -> (tensor<3xf32, #cpu>, tensor<10x8x3xf32, #cpu>)
  weft.return %r#0, %r#1 : tensor<3xf32, #cpu>, tensor<10x8x3xf32, #cpu>
}
