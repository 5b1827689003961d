// RUN: weft-opt %s --weft-pipeline -split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-pipeline -split-input-file | weft-opt -split-input-file --verify-each -o /dev/null

// A perceptron for any batch becomes the launches of a static one: contractions with their epilogues, a kernel a
// row. Arena offsets are multiples of the batch; what the plan prints parses back and is proven again.
// CHECK-LABEL: weft.func @mlp
// CHECK-SAME:  weft.arena_bytes = #weft.size<640 * batch>
// CHECK-SAME:  weft.arena_lower_bound = #weft.size<640 * batch>
// CHECK:         weft.dot_general %{{.*}} bias %{{.*}}, relu, contract = [1] x [1] {library = #weft.library<"onednn", {{.*}} slices = [#weft.slice<arena, 0, 512 * batch>], weft.capture = 0 : i64}
// CHECK:         weft.dot_general %{{.*}} bias %{{.*}}, contract = [1] x [1] {library = #weft.library<"onednn", {{.*}} slices = [#weft.slice<arena, 512 * batch, 80 * batch>], weft.capture = 0 : i64}
// CHECK:         weft.fusion row
// CHECK-SAME:      #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 4096, tasks = batch, grain =
// CHECK-SAME:      #weft.slice<result, 0, 80 * batch>
// CHECK-NOT:     weft.fusion
// CHECK:         weft.return
#cpu = #weft.device<cpu>
#b = #weft.device<cpu, [batch]>
weft.func @mlp(%x: tensor<?x784xf32, #b>, %w1: tensor<128x784xf32, #cpu>, %b1: tensor<128xf32, #cpu>,
               %w2: tensor<20x128xf32, #cpu>, %b2: tensor<20xf32, #cpu>) -> tensor<?x20xf32, #b>
    attributes {weft.symbols = [#weft.symbol<"batch", 1, 4096>]} {
  %h = weft.dot_general %x, %w1, contract = [1] x [1] : tensor<?x784xf32, #b>, tensor<128x784xf32, #cpu>
  %bb = weft.broadcast_in_dim %b1, dims = [1] : tensor<128xf32, #cpu> -> tensor<?x128xf32, #b>
  %hb = weft.add %h, %bb : tensor<?x128xf32, #b>
  %z = weft.constant dense<0.0> : tensor<f32> -> tensor<?x128xf32, #b>
  %r = weft.max %hb, %z : tensor<?x128xf32, #b>
  %o = weft.dot_general %r, %w2, contract = [1] x [1] : tensor<?x128xf32, #b>, tensor<20x128xf32, #cpu>
  %ob = weft.broadcast_in_dim %b2, dims = [1] : tensor<20xf32, #cpu> -> tensor<?x20xf32, #b>
  %l = weft.add %o, %ob : tensor<?x20xf32, #b>
  %p = weft.softmax %l, dim = 1 : tensor<?x20xf32, #b>
  weft.return %p : tensor<?x20xf32, #b>
}

// -----

// Equal expressions are equal domains: chains over n and over 4 n elements in another shape are one kernel, and
// what has m elements is another. Tasks are counted by the call.
// CHECK-LABEL: weft.func @domains
// CHECK:         weft.fusion loop
// CHECK-SAME:      tasks = ceildiv({{4 \* n|m}}, 4096)
// CHECK:         weft.fusion loop
// CHECK-SAME:      tasks = ceildiv({{4 \* n|m}}, 4096)
// CHECK-NOT:     weft.fusion
// CHECK:         weft.return
#n = #weft.device<cpu, [n]>
#m = #weft.device<cpu, [m]>
#n4 = #weft.device<cpu, [4 * n]>
weft.func @domains(%a: tensor<?x4xf32, #n>, %b: tensor<?xf32, #m>) -> (tensor<?xf32, #n4>, tensor<?xf32, #m>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 100000>, #weft.symbol<"m", 1, 100000>]} {
  %0 = weft.exp %a : tensor<?x4xf32, #n>
  %1 = weft.reshape %0 : tensor<?x4xf32, #n> -> tensor<?xf32, #n4>
  %2 = weft.neg %1 : tensor<?xf32, #n4>
  %3 = weft.exp %b : tensor<?xf32, #m>
  weft.return %2, %3 : tensor<?xf32, #n4>, tensor<?xf32, #m>
}

// -----

// The derivative of a mean over a dynamic batch divides by its size; long sums over it are not split, so that one
// order serves all sizes.
// CHECK-LABEL: weft.func @gradient
// CHECK-NOT:     weft.gradient
// CHECK:         weft.dim n : tensor<i64
// CHECK-NOT:     weft.slice %
// CHECK:         weft.return
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
weft.func @gradient(%a: tensor<?xf32, #n>) -> (tensor<f32, #cpu>, tensor<?xf32, #n>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1000000>]} {
  %0 = weft.mul %a, %a : tensor<?xf32, #n>
  %1 = weft.sum %0, dims = [0] : tensor<?xf32, #n>
  %2 = weft.dim n : tensor<i64, #cpu>
  %3 = weft.convert %2 to f32 : tensor<i64, #cpu>
  %4 = weft.div %1, %3 : tensor<f32, #cpu>
  %g = weft.gradient %4 wrt %a : tensor<f32, #cpu>, tensor<?xf32, #n>
  weft.return %4, %g : tensor<f32, #cpu>, tensor<?xf32, #n>
}
