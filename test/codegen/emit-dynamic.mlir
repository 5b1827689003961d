// RUN: weft-opt %s --pass-pipeline='builtin.module(weft.func(weft-choose-schedules),weft-emit-kernels)' | FileCheck %s

#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#nm = #weft.device<cpu, [n, m]>

// A leading dynamic dimension is in no address: one loop of vectors, whose end comes from the size that the kernel is
// called with. What vectors do not fill is done one by one.
// CHECK-LABEL: func.func @loop.0(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[N:[a-z0-9]+]]: index, %{{.*}}: memref<?xi8>
// CHECK-NOT:     arith.div
// CHECK:         arith.muli %[[N]], %{{.*}} : index
// CHECK:         scf.for
// CHECK:           vector.load %[[X]]
// CHECK:           vector.store %{{.*}}, %[[Y]]
// CHECK:         scf.for
// CHECK:           memref.store %{{.*}}, %[[Y]]
weft.func @loop(%x: tensor<?x5xf32, #n>) -> tensor<?x5xf32, #n> attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %0 = weft.fusion loop (%x) : (tensor<?x5xf32, #n>) -> tensor<?x5xf32, #n> {
  ^bb0(%a: tensor<?x5xf32, #n>):
    %1 = weft.neg %a : tensor<?x5xf32, #n>
    weft.yield %1 : tensor<?x5xf32, #n>
  }
  weft.return %0 : tensor<?x5xf32, #n>
}

// A count of elements that vectors fill for every size leaves no rest.
// CHECK-LABEL: func.func @exact.1(
// CHECK:         scf.for
// CHECK:           vector.store
// CHECK-NOT:     scf.for
// CHECK:         return
weft.func @exact(%x: tensor<?x32xf32, #n>) -> tensor<?x32xf32, #n> attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %0 = weft.fusion loop (%x) : (tensor<?x32xf32, #n>) -> tensor<?x32xf32, #n> {
  ^bb0(%a: tensor<?x32xf32, #n>):
    %1 = weft.neg %a : tensor<?x32xf32, #n>
    weft.yield %1 : tensor<?x32xf32, #n>
  }
  weft.return %0 : tensor<?x32xf32, #n>
}

// Strides are expressions where a dynamic dimension is not the first; both symbols are arguments, in alphabetical order.
// CHECK-LABEL: func.func @stride.2(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>, %{{.*}}: memref<?xf32>, %[[M:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index, %{{.*}}: memref<?xi8>
// CHECK-DAG:     arith.muli %[[M]], %[[N]]
// CHECK-DAG:     arith.{{div|rem}}ui
weft.func @stride(%x: tensor<?x?xf32, #nm>) -> tensor<3x?x?xf32, #nm>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>, #weft.symbol<"m", 1, 64>]} {
  %0 = weft.fusion loop (%x) : (tensor<?x?xf32, #nm>) -> tensor<3x?x?xf32, #nm> {
  ^bb0(%a: tensor<?x?xf32, #nm>):
    %1 = weft.broadcast_in_dim %a, dims = [1, 2] : tensor<?x?xf32, #nm> -> tensor<3x?x?xf32, #nm>
    weft.yield %1 : tensor<3x?x?xf32, #nm>
  }
  weft.return %0 : tensor<3x?x?xf32, #nm>
}

// A row of static length in any number is the kernel of a static number of rows: rows are tasks.
// CHECK-LABEL: func.func @rows.3(
// CHECK:         scf.for
// CHECK-COUNT-2:   vector.load
// CHECK-NOT:     scf.for
// CHECK:         return
weft.func @rows(%x: tensor<?x32xf32, #n>) -> tensor<?xf32, #n> attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %0 = weft.fusion row (%x) : (tensor<?x32xf32, #n>) -> tensor<?xf32, #n> {
  ^bb0(%a: tensor<?x32xf32, #n>):
    %1 = weft.sum %a, dims = [1] : tensor<?x32xf32, #n>
    weft.yield %1 : tensor<?xf32, #n>
  }
  weft.return %0 : tensor<?xf32, #n>
}

// A row of dynamic length has the order of a static one: blocks of 64, up to three groups of 16, the rest.
// CHECK-LABEL: func.func @length.4(
// CHECK:         scf.for
// CHECK:           arith.remui %{{.*}}, %{{.*}} : index
// CHECK:           scf.for {{.*}} iter_args
// CHECK-COUNT-4:     vector.load
// CHECK-COUNT-3:   scf.for {{.*}} iter_args
// CHECK:           scf.for {{.*}} iter_args
// CHECK:             memref.load
weft.func @length(%x: tensor<8x?xf32, #n>) -> tensor<8xf32, #cpu> attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %0 = weft.fusion row (%x) : (tensor<8x?xf32, #n>) -> tensor<8xf32, #cpu> {
  ^bb0(%a: tensor<8x?xf32, #n>):
    %1 = weft.sum %a, dims = [1] : tensor<8x?xf32, #n>
    weft.yield %1 : tensor<8xf32, #cpu>
  }
  weft.return %0 : tensor<8xf32, #cpu>
}

// Columns over a dynamic number of rows: eight at once, then one by one, as for a number.
// CHECK-LABEL: func.func @columns.5(
// CHECK:         %[[REST:.*]] = arith.remui %[[N:.*]], %{{.*}} : index
// CHECK:         arith.subi %[[N]], %[[REST]]
// CHECK:         scf.for
weft.func @columns(%x: tensor<?x100xf32, #n>) -> tensor<100xf32, #cpu> attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %0 = weft.fusion column (%x) : (tensor<?x100xf32, #n>) -> tensor<100xf32, #cpu> {
  ^bb0(%a: tensor<?x100xf32, #n>):
    %1 = weft.sum %a, dims = [0] : tensor<?x100xf32, #n>
    weft.yield %1 : tensor<100xf32, #cpu>
  }
  weft.return %0 : tensor<100xf32, #cpu>
}
