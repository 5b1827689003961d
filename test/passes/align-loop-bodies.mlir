// A trip passes rows, which begin at multiples of their bytes. Bodies of the host, whose kernels do not depend on alignment,
// stay as they are.
// RUN: weft-opt %s --weft-align-loop-bodies | FileCheck %s
// RUN: weft-opt %s --weft-align-loop-bodies --weft-align-loop-bodies | FileCheck %s

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Rows of 20 and of 48 bytes, a constant that the caller has at a multiple of 8, and a carry that is written as it is read.
// CHECK-LABEL: weft.func private @body
// CHECK-SAME:    (%{{.*}}: tensor<12xf32, [[GPU:#[a-z0-9_]+]]>, %{{.*}}: tensor<5xf32, [[GPU]]> {weft.alignment = 4 : i64}, %{{.*}}: tensor<12xf32, [[GPU]]> {weft.alignment = 16 : i64}, %{{.*}}: tensor<12xf32, [[GPU]]> {weft.alignment = 8 : i64}, %{{.*}}: tensor<f32, [[GPU]]> {weft.alignment = 4 : i64})
// CHECK-SAME:    -> (tensor<12xf32, [[GPU]]>, tensor<5xf32, [[GPU]]> {weft.alignment = 4 : i64})
weft.func private @body(%h: tensor<12xf32, #gpu> {weft.alignment = 4 : i64}, %x: tensor<5xf32, #gpu>, %z: tensor<12xf32, #gpu>, %c: tensor<12xf32, #gpu>, %s: tensor<f32, #gpu>) -> (tensor<12xf32, #gpu>, tensor<5xf32, #gpu>) {
  %m = weft.add %h, %z : tensor<12xf32, #gpu>
  %n = weft.mul %m, %c : tensor<12xf32, #gpu>
  %y = weft.neg %x : tensor<5xf32, #gpu>
  weft.return %n, %y : tensor<12xf32, #gpu>, tensor<5xf32, #gpu>
}
// CHECK-LABEL: weft.func @rows
weft.func @rows(%h: tensor<12xf32, #gpu>, %x: tensor<6x5xf32, #gpu>, %z: tensor<6x12xf32, #gpu>, %c: tensor<12xf32, #gpu> {weft.alignment = 8 : i64}, %s: tensor<f32, #gpu>) -> (tensor<12xf32, #gpu>, tensor<6x5xf32, #gpu>) {
  %r:2 = weft.scan @body(%h) over(%x, %z) with(%c, %s), length = 6 : (tensor<12xf32, #gpu>, tensor<6x5xf32, #gpu>, tensor<6x12xf32, #gpu>, tensor<12xf32, #gpu>, tensor<f32, #gpu>) -> (tensor<12xf32, #gpu>, tensor<6x5xf32, #gpu>)
  weft.return %r#0, %r#1 : tensor<12xf32, #gpu>, tensor<6x5xf32, #gpu>
}

// A carry that begins at another address than the others has the least of them. What a body passes on is as aligned as what
// it is passed.
// CHECK-LABEL: weft.func private @inner
// CHECK-SAME:    (%{{.*}}: tensor<8xf32, [[GPU]]> {weft.alignment = 16 : i64})
// CHECK-SAME:    -> tensor<8xf32, [[GPU]]>
weft.func private @inner(%h: tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu> {
  %n = weft.neg %h : tensor<8xf32, #gpu>
  weft.return %n : tensor<8xf32, #gpu>
}
// CHECK-LABEL: weft.func private @outer
// CHECK-SAME:    (%{{.*}}: tensor<8xf32, [[GPU]]> {weft.alignment = 16 : i64})
weft.func private @outer(%h: tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu> {
  %n = weft.scan @inner(%h) over() with(), length = 5 : (tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu>
  weft.return %n : tensor<8xf32, #gpu>
}
weft.func @nested(%h: tensor<8xf32, #gpu> {weft.alignment = 16 : i64}) -> tensor<8xf32, #gpu> {
  %n = weft.scan @outer(%h) over() with(), length = 5 : (tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu>
  weft.return %n : tensor<8xf32, #gpu>
}

// A condition and a body are passed a carry where it begins, where the result is, and a second place, and constants.
// CHECK-LABEL: weft.func private @goes_on
// CHECK-SAME:    (%{{.*}}: tensor<8xf32, [[GPU]]> {weft.alignment = 8 : i64}, %{{.*}}: tensor<8xf32, [[GPU]]> {weft.alignment = 16 : i64})
// CHECK-SAME:    -> tensor<i1, [[GPU]]> {
weft.func private @goes_on(%h: tensor<8xf32, #gpu>, %c: tensor<8xf32, #gpu>) -> tensor<i1, #gpu> {
  %m = weft.mul %h, %c : tensor<8xf32, #gpu>
  %s = weft.sum %m, dims = [0] : tensor<8xf32, #gpu>
  %l = weft.constant dense<100.0> : tensor<f32, #gpu>
  %p = weft.lt %s, %l : tensor<f32, #gpu>
  weft.return %p : tensor<i1, #gpu>
}
// CHECK-LABEL: weft.func private @grown
// CHECK-SAME:    (%{{.*}}: tensor<8xf32, [[GPU]]> {weft.alignment = 8 : i64}, %{{.*}}: tensor<8xf32, [[GPU]]> {weft.alignment = 16 : i64})
// CHECK-SAME:    -> tensor<8xf32, [[GPU]]> {
weft.func private @grown(%h: tensor<8xf32, #gpu>, %c: tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu> {
  %n = weft.add %h, %c : tensor<8xf32, #gpu>
  weft.return %n : tensor<8xf32, #gpu>
}
weft.func @while(%h: tensor<8xf32, #gpu> {weft.alignment = 8 : i64}, %c: tensor<8xf32, #gpu> {weft.alignment = 16 : i64}) -> tensor<8xf32, #gpu> {
  %n = weft.while @goes_on do @grown(%h) with(%c) : (tensor<8xf32, #gpu>, tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu>
  weft.return %n : tensor<8xf32, #gpu>
}

// A branch is passed the operands behind the predicate, and writes where the results are.
// CHECK-LABEL: weft.func private @taken
// CHECK-SAME:    (%{{.*}}: tensor<8xf32, [[GPU]]> {weft.alignment = 8 : i64}, %{{.*}}: tensor<8xf32, [[GPU]]> {weft.alignment = 16 : i64})
// CHECK-SAME:    -> tensor<8xf32, [[GPU]]> {
weft.func private @taken(%h: tensor<8xf32, #gpu>, %c: tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu> {
  %n = weft.add %h, %c : tensor<8xf32, #gpu>
  weft.return %n : tensor<8xf32, #gpu>
}
// CHECK-LABEL: weft.func private @left
// CHECK-SAME:    (%{{.*}}: tensor<8xf32, [[GPU]]> {weft.alignment = 8 : i64}, %{{.*}}: tensor<8xf32, [[GPU]]> {weft.alignment = 16 : i64})
// CHECK-SAME:    -> tensor<8xf32, [[GPU]]> {
weft.func private @left(%h: tensor<8xf32, #gpu>, %c: tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu> {
  %n = weft.sub %h, %c : tensor<8xf32, #gpu>
  weft.return %n : tensor<8xf32, #gpu>
}
weft.func @cond(%p: tensor<i1, #gpu>, %h: tensor<8xf32, #gpu> {weft.alignment = 8 : i64}, %c: tensor<8xf32, #gpu> {weft.alignment = 16 : i64}) -> tensor<8xf32, #gpu> {
  %n = weft.cond %p then @taken else @left(%h, %c) : (tensor<i1, #gpu>, tensor<8xf32, #gpu>, tensor<8xf32, #gpu>) -> tensor<8xf32, #gpu>
  weft.return %n : tensor<8xf32, #gpu>
}

// CHECK-LABEL: weft.func private @on_host
// CHECK-NOT:     weft.alignment
weft.func private @on_host(%h: tensor<5xf32, #cpu>, %x: tensor<5xf32, #cpu>) -> tensor<5xf32, #cpu> {
  %n = weft.add %h, %x : tensor<5xf32, #cpu>
  weft.return %n : tensor<5xf32, #cpu>
}
weft.func @host(%h: tensor<5xf32, #cpu>, %x: tensor<6x5xf32, #cpu>) -> tensor<5xf32, #cpu> {
  %n = weft.scan @on_host(%h) over(%x) with(), length = 6 : (tensor<5xf32, #cpu>, tensor<6x5xf32, #cpu>) -> tensor<5xf32, #cpu>
  weft.return %n : tensor<5xf32, #cpu>
}
