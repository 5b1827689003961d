// RUN: weft-opt %s --weft-select-branches=report=true | FileCheck %s
// RUN: weft-opt %s --weft-select-branches=always=true --symbol-dce | FileCheck %s --check-prefix=ALWAYS
// RUN: weft-opt %s --weft-select-branches=always=true | FileCheck %s --check-prefix=LOOPS
// RUN: weft-opt %s --weft-select-branches=least-work=9 | FileCheck %s --check-prefix=LEAST
// RUN: not weft-opt %s --weft-select-branches="always=true max-ops=20" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not weft-opt %S/Inputs/while-on-both.mlir --weft-select-branches 2>&1 | FileCheck %s --check-prefix=SEVERAL

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

weft.func private @twice(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %r = weft.add %x, %x : tensor<4xf32, #cpu>
  %s = weft.sum %x, dims = [0] : tensor<4xf32, #cpu>
  weft.return %r, %s : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}
weft.func private @negative(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %r = weft.neg %x : tensor<4xf32, #cpu>
  %s = weft.rmax %x, dims = [0] : tensor<4xf32, #cpu>
  weft.return %r, %s : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}
// CHECK-LABEL:  weft.func @host
// CHECK-NOT:    WEFT-T009
// CHECK:        weft.cond %{{.*}} then @twice else @negative
// ALWAYS-LABEL: weft.func @host
// ALWAYS-SAME:    (%[[P:.*]]: tensor<i1, #cpu>, %[[X:.*]]: tensor<4xf32, #cpu>)
// ALWAYS:         %[[A:.*]] = weft.add %[[X]], %[[X]]
// ALWAYS:         %[[S:.*]] = weft.sum
// ALWAYS:         %[[N:.*]] = weft.neg %[[X]]
// ALWAYS:         %[[M:.*]] = weft.rmax
// ALWAYS:         %[[WIDE:.*]] = weft.broadcast_in_dim %[[P]], dims = [] {{.*}} -> tensor<4xi1, #cpu>
// ALWAYS:         %[[R:.*]] = weft.select %[[WIDE]], %[[A]], %[[N]]
// ALWAYS:         %[[T:.*]] = weft.select %[[P]], %[[S]], %[[M]]
// ALWAYS:         weft.return %[[R]], %[[T]]
weft.func @host(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %r:2 = weft.cond %p then @twice else @negative(%p, %x) : (tensor<i1, #cpu>, tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>)
  weft.return %r#0, %r#1 : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}

// A condition in a branch of another.
weft.func private @nested(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %r:2 = weft.cond %p then @negative else @twice(%p, %x) : (tensor<i1, #cpu>, tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>)
  weft.return %r#0, %r#1 : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}
// ALWAYS-LABEL: weft.func @outer
// ALWAYS-NOT:     weft.cond
// ALWAYS-COUNT-4: weft.select
weft.func @outer(%p: tensor<i1, #cpu>, %q: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %r:2 = weft.cond %p then @nested else @twice(%q, %x) : (tensor<i1, #cpu>, tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>)
  weft.return %r#0, %r#1 : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}

weft.func private @same_on_gpu(%x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  weft.return %x : tensor<4xf32, #gpu>
}
// CHECK-LABEL: weft.func @gpu
// CHECK-SAME:    "WEFT-T009"{{.*}}both branches of a condition are computed: together they take less time than a decision
// CHECK:         weft.return %arg1
weft.func @gpu(%p: tensor<i1, #gpu>, %x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.cond %p then @same_on_gpu else @same_on_gpu(%x) : (tensor<i1, #gpu>, tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}

// Values of the host, and a branch that takes some from a GPU.
weft.func private @by_way_of_gpu(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %a = weft.transfer %x to <cuda:0> : tensor<4xf32, #cpu>
  %b = weft.neg %a : tensor<4xf32, #gpu>
  %c = weft.transfer %b to <cpu> : tensor<4xf32, #gpu>
  weft.return %c : tensor<4xf32, #cpu>
}
weft.func private @nested_on_both(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.scan @by_way_of_gpu(%x) over() with(), length = 5 : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
// CHECK-LABEL: weft.func @on_both
// CHECK-SAME:    "WEFT-T009"{{.*}}both branches of a condition are computed: they are not on one device
// CHECK-NOT:     weft.cond %
// CHECK:         weft.select
weft.func @on_both(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.cond %p then @nested_on_both else @same(%x) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// A loop in a branch has no trip unless its branch, and that around it, is taken.
weft.func private @small(%x: tensor<4xf32, #gpu>) -> tensor<i1, #gpu> {
  %s = weft.sum %x, dims = [0] : tensor<4xf32, #gpu>
  %l = weft.constant dense<100.0> : tensor<f32, #gpu>
  %r = weft.lt %s, %l : tensor<f32, #gpu>
  weft.return %r : tensor<i1, #gpu>
}
weft.func private @doubled(%x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.add %x, %x : tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}
weft.func private @loops(%p: tensor<i1, #gpu>, %x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.while @small do @doubled(%x) with() : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}
weft.func private @second(%p: tensor<i1, #gpu>, %x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  weft.return %x : tensor<4xf32, #gpu>
}
weft.func private @chooses(%p: tensor<i1, #gpu>, %x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.cond %p then @second else @loops(%p, %x) : (tensor<i1, #gpu>, tensor<i1, #gpu>, tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}
// CHECK-LABEL: weft.func @loop_in_branches
// CHECK:         weft.cond %{{.*}} then @chooses else @second
// LOOPS-LABEL: weft.func @loop_in_branches
// LOOPS-SAME:    (%[[P:.*]]: tensor<i1, [[GPU:#[a-z0-9_]+]]>, %[[Q:.*]]: tensor<i1, [[GPU]]>, %[[X:.*]]: tensor<4xf32, [[GPU]]>)
// LOOPS:         %[[T:.*]] = weft.constant dense<true>
// LOOPS:         %[[NOT:.*]] = weft.xor %[[Q]], %[[T]]
// LOOPS:         weft.while @[[SMALL:.*]] do @[[DOUBLED:.*]](%[[X]]) with(%[[P]], %[[NOT]])
weft.func @loop_in_branches(%p: tensor<i1, #gpu>, %q: tensor<i1, #gpu>, %x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.cond %p then @chooses else @second(%q, %x) : (tensor<i1, #gpu>, tensor<i1, #gpu>, tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}
// LOOPS:       weft.func private @[[SMALL]](%{{.*}}: tensor<4xf32, [[GPU]]>, %[[OUTER:.*]]: tensor<i1, [[GPU]]>, %[[INNER:.*]]: tensor<i1, [[GPU]]>)
// LOOPS:         %[[GOES:.*]] = weft.lt
// LOOPS:         %[[BOTH:.*]] = weft.and %[[GOES]], %[[OUTER]]
// LOOPS:         %[[ALL:.*]] = weft.and %[[BOTH]], %[[INNER]]
// LOOPS:         weft.return %[[ALL]]
// LOOPS:       weft.func private @[[DOUBLED]](%{{.*}}: tensor<4xf32, [[GPU]]>, %{{.*}}: tensor<i1, [[GPU]]>, %{{.*}}: tensor<i1, [[GPU]]>)

// On one device, a branch with 2^20 multiplications is worth a decision, and so is one that has them in a branch of its own.
weft.func private @product(%p: tensor<i1, #gpu>, %x: tensor<128x128xf32, #gpu>) -> tensor<128x128xf32, #gpu> {
  %r = weft.dot_general %x, %x, contract = [1] x [0] : tensor<128x128xf32, #gpu>, tensor<128x128xf32, #gpu>
  weft.return %r : tensor<128x128xf32, #gpu>
}
weft.func private @matrix(%p: tensor<i1, #gpu>, %x: tensor<128x128xf32, #gpu>) -> tensor<128x128xf32, #gpu> {
  weft.return %x : tensor<128x128xf32, #gpu>
}
weft.func private @around(%p: tensor<i1, #gpu>, %x: tensor<128x128xf32, #gpu>) -> tensor<128x128xf32, #gpu> {
  %r = weft.cond %p then @matrix else @product(%p, %x) : (tensor<i1, #gpu>, tensor<i1, #gpu>, tensor<128x128xf32, #gpu>) -> tensor<128x128xf32, #gpu>
  weft.return %r : tensor<128x128xf32, #gpu>
}
// CHECK-LABEL: weft.func private @around
// CHECK:         weft.cond %{{.*}} then @matrix else @product
// CHECK-LABEL: weft.func @worth_it
// CHECK-NOT:     WEFT-T009
// CHECK:         weft.cond %{{.*}} then @around else @matrix
weft.func @worth_it(%p: tensor<i1, #gpu>, %x: tensor<128x128xf32, #gpu>) -> tensor<128x128xf32, #gpu> {
  %r = weft.cond %p then @around else @matrix(%p, %x) : (tensor<i1, #gpu>, tensor<i1, #gpu>, tensor<128x128xf32, #gpu>) -> tensor<128x128xf32, #gpu>
  weft.return %r : tensor<128x128xf32, #gpu>
}

// A small product is not.
weft.func private @small_product(%x: tensor<4x4xf32, #gpu>) -> tensor<4x4xf32, #gpu> {
  %r = weft.dot_general %x, %x, contract = [1] x [0] : tensor<4x4xf32, #gpu>, tensor<4x4xf32, #gpu>
  weft.return %r : tensor<4x4xf32, #gpu>
}
weft.func private @no_product(%x: tensor<4x4xf32, #gpu>) -> tensor<4x4xf32, #gpu> {
  weft.return %x : tensor<4x4xf32, #gpu>
}
// CHECK-LABEL: weft.func @small_products
// CHECK-SAME:    "WEFT-T009"
// CHECK-NOT:     weft.cond %
// CHECK:         weft.select
weft.func @small_products(%p: tensor<i1, #gpu>, %x: tensor<4x4xf32, #gpu>) -> tensor<4x4xf32, #gpu> {
  %r = weft.cond %p then @small_product else @no_product(%x) : (tensor<i1, #gpu>, tensor<4x4xf32, #gpu>) -> tensor<4x4xf32, #gpu>
  weft.return %r : tensor<4x4xf32, #gpu>
}

// Of a large table the rows that are read count, and numbers that are not read do not.
weft.func private @two_rows(%t: tensor<262144x4xf32, #gpu>, %i: tensor<2xi64, #gpu>) -> tensor<2x4xf32, #gpu> {
  %r = weft.gather %t, %i, dim = 0, kind = points mode = clip : tensor<262144x4xf32, #gpu>, tensor<2xi64, #gpu>
  weft.return %r : tensor<2x4xf32, #gpu>
}
weft.func private @numbers(%t: tensor<262144x4xf32, #gpu>, %i: tensor<2xi64, #gpu>) -> tensor<2x4xf32, #gpu> {
  %n = weft.iota dim = 0 : tensor<1048576xi64, #gpu>
  %s = weft.slice %n, start = [8], limit = [16], step = [1] : tensor<1048576xi64, #gpu>
  %c = weft.convert %s to f32 : tensor<8xi64, #gpu>
  %r = weft.reshape %c : tensor<8xf32, #gpu> -> tensor<2x4xf32, #gpu>
  weft.return %r : tensor<2x4xf32, #gpu>
}
// CHECK-LABEL: weft.func @of_a_table
// CHECK-SAME:    "WEFT-T009"
// CHECK-NOT:     weft.cond %
// CHECK:         weft.select
weft.func @of_a_table(%p: tensor<i1, #gpu>, %t: tensor<262144x4xf32, #gpu>, %i: tensor<2xi64, #gpu>) -> tensor<2x4xf32, #gpu> {
  %r = weft.cond %p then @two_rows else @numbers(%t, %i) : (tensor<i1, #gpu>, tensor<262144x4xf32, #gpu>, tensor<2xi64, #gpu>) -> tensor<2x4xf32, #gpu>
  weft.return %r : tensor<2x4xf32, #gpu>
}

// The least number of elements is one more than those of a sum of eight.
weft.func private @eight(%x: tensor<8xf32, #gpu>) -> tensor<f32, #gpu> {
  %r = weft.sum %x, dims = [0] : tensor<8xf32, #gpu>
  weft.return %r : tensor<f32, #gpu>
}
weft.func private @nine(%x: tensor<8xf32, #gpu>) -> tensor<f32, #gpu> {
  %s = weft.sum %x, dims = [0] : tensor<8xf32, #gpu>
  %r = weft.neg %s : tensor<f32, #gpu>
  weft.return %r : tensor<f32, #gpu>
}
// LEAST-LABEL: weft.func @small_sums
// LEAST-NOT:     weft.cond
// LEAST:         weft.select
weft.func @small_sums(%p: tensor<i1, #gpu>, %x: tensor<8xf32, #gpu>) -> tensor<f32, #gpu> {
  %r = weft.cond %p then @eight else @eight(%x) : (tensor<i1, #gpu>, tensor<8xf32, #gpu>) -> tensor<f32, #gpu>
  weft.return %r : tensor<f32, #gpu>
}
// LEAST-LABEL: weft.func @large_sums
// LEAST:         weft.cond %{{.*}} then @eight else @nine
weft.func @large_sums(%p: tensor<i1, #gpu>, %x: tensor<8xf32, #gpu>) -> tensor<f32, #gpu> {
  %r = weft.cond %p then @eight else @nine(%x) : (tensor<i1, #gpu>, tensor<8xf32, #gpu>) -> tensor<f32, #gpu>
  weft.return %r : tensor<f32, #gpu>
}

// A dynamic size is its least value.
weft.func private @dynamic(%x: tensor<?xf32, #weft.device<cuda:0, [n]>>) -> tensor<f32, #gpu>
    attributes {weft.symbols = [#weft.symbol<"n", 9, 1000000>]} {
  %r = weft.sum %x, dims = [0] : tensor<?xf32, #weft.device<cuda:0, [n]>>
  weft.return %r : tensor<f32, #gpu>
}
// LEAST-LABEL: weft.func @dynamic_sums
// LEAST:         weft.cond %{{.*}} then @dynamic else @dynamic
weft.func @dynamic_sums(%p: tensor<i1, #gpu>, %x: tensor<?xf32, #weft.device<cuda:0, [n]>>) -> tensor<f32, #gpu>
    attributes {weft.symbols = [#weft.symbol<"n", 9, 1000000>]} {
  %r = weft.cond %p then @dynamic else @dynamic(%x) : (tensor<i1, #gpu>, tensor<?xf32, #weft.device<cuda:0, [n]>>) -> tensor<f32, #gpu>
  weft.return %r : tensor<f32, #gpu>
}

weft.func private @any(%x: tensor<?xf32, #weft.device<cuda:0, [n]>>) -> tensor<f32, #gpu>
    attributes {weft.symbols = [#weft.symbol<"n", 0, 1073741824>]} {
  %r = weft.sum %x, dims = [0] : tensor<?xf32, #weft.device<cuda:0, [n]>>
  weft.return %r : tensor<f32, #gpu>
}
// LEAST-LABEL: weft.func @any_sums
// LEAST-NOT:     weft.cond %
// LEAST:         weft.select
weft.func @any_sums(%p: tensor<i1, #gpu>, %x: tensor<?xf32, #weft.device<cuda:0, [n]>>) -> tensor<f32, #gpu>
    attributes {weft.symbols = [#weft.symbol<"n", 0, 1073741824>]} {
  %r = weft.cond %p then @any else @any(%x) : (tensor<i1, #gpu>, tensor<?xf32, #weft.device<cuda:0, [n]>>) -> tensor<f32, #gpu>
  weft.return %r : tensor<f32, #gpu>
}

// What a loop of known length runs has both branches, also in a function that it runs.
weft.func private @deeper(%p: tensor<i1, #gpu>, %x: tensor<128x128xf32, #gpu>) -> tensor<128x128xf32, #gpu> {
  %r = weft.cond %p then @matrix else @product(%p, %x) : (tensor<i1, #gpu>, tensor<i1, #gpu>, tensor<128x128xf32, #gpu>) -> tensor<128x128xf32, #gpu>
  weft.return %r : tensor<128x128xf32, #gpu>
}
// CHECK-LABEL: weft.func private @trip
// CHECK-SAME:    "WEFT-T009"{{.*}}the trips of a loop of known length are issued at once
// CHECK-NOT:     weft.cond %
// CHECK:         weft.dot_general
weft.func private @trip(%x: tensor<128x128xf32, #gpu>, %p: tensor<i1, #gpu>) -> tensor<128x128xf32, #gpu> {
  %r = weft.cond %p then @deeper else @matrix(%p, %x) : (tensor<i1, #gpu>, tensor<i1, #gpu>, tensor<128x128xf32, #gpu>) -> tensor<128x128xf32, #gpu>
  weft.return %r : tensor<128x128xf32, #gpu>
}
weft.func @in_trips(%p: tensor<i1, #gpu>, %x: tensor<128x128xf32, #gpu>) -> tensor<128x128xf32, #gpu> {
  %r = weft.scan @trip(%x) over() with(%p), length = 6 : (tensor<128x128xf32, #gpu>, tensor<i1, #gpu>) -> tensor<128x128xf32, #gpu>
  weft.return %r : tensor<128x128xf32, #gpu>
}

// MANY: conditions would become more than 20 operations with both of their branches (WEFT-T005)
// SEVERAL: a while loop on 'cuda:0' that also computes on 'cpu' (WEFT-T010)
// SEVERAL: have its carries and all that its condition and body read on one device
