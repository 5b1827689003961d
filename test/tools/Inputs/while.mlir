#cpu = #weft.device<cpu>

// The greatest common divisor by subtraction: the trips swap the carries.
weft.func private @differ(%a: tensor<i64, #cpu>, %b: tensor<i64, #cpu>, %steps: tensor<i64, #cpu>, %one: tensor<i64, #cpu>) -> tensor<i1, #cpu> {
  %r = weft.ne %a, %b : tensor<i64, #cpu>
  weft.return %r : tensor<i1, #cpu>
}
weft.func private @subtract(%a: tensor<i64, #cpu>, %b: tensor<i64, #cpu>, %steps: tensor<i64, #cpu>, %one: tensor<i64, #cpu>) -> (tensor<i64, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>) {
  %high = weft.max %a, %b : tensor<i64, #cpu>
  %low = weft.min %a, %b : tensor<i64, #cpu>
  %rest = weft.sub %high, %low : tensor<i64, #cpu>
  %next = weft.add %steps, %one : tensor<i64, #cpu>
  weft.return %low, %rest, %next : tensor<i64, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
}
weft.func @divisor(%a: tensor<i64, #cpu>, %b: tensor<i64, #cpu>) -> (tensor<i64, #cpu>, tensor<i64, #cpu>) {
  %none = weft.constant dense<0> : tensor<i64, #cpu>
  %one = weft.constant dense<1> : tensor<i64, #cpu>
  %r:3 = weft.while @differ do @subtract(%a, %b, %none) with(%one) : (tensor<i64, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>) -> (tensor<i64, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>)
  weft.return %r#0, %r#2 : tensor<i64, #cpu>, tensor<i64, #cpu>
}
