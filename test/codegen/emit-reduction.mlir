// RUN: weft-opt %s --pass-pipeline='builtin.module(weft.func(weft-choose-schedules),weft-emit-kernels)' | FileCheck %s
// RUN: weft-opt %s --pass-pipeline='builtin.module(weft.func(weft-choose-schedules))' | FileCheck %s --check-prefix=SCHEDULE

#cpu = #weft.device<cpu>

// Three passes over each row. The maxima and the sums have four vectors of partial results; the exponentials of the
// second pass wait in scratch for the third, which computes none again. Of the maximum only exponentials are made, so the
// sign of a zero does not matter to it.
// SCHEDULE: #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 4096, tasks = 8, grain = 1, scratch = 4096, keep = [3]>
// CHECK-LABEL: func.func @softmax.0(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[SCRATCH:[a-z0-9]+]]: memref<?xi8>
// CHECK:         %[[E:.*]] = memref.view %[[SCRATCH]]
// CHECK:         scf.for
// CHECK:           scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4:     arith.maximumf {{.*}} fastmath<nsz> : vector<16xf32>
// CHECK:             scf.yield
// CHECK:           scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:             math.exp {{.*}} : vector<16xf32>
// CHECK:             vector.store %{{.*}}, %[[E]]
// CHECK:             scf.yield
// CHECK:           scf.for
// CHECK-NOT:         math.exp
// CHECK:             vector.load %[[E]]
// CHECK:             arith.divf {{.*}} : vector<16xf32>
// CHECK:             vector.store %{{.*}}, %[[Y]]
// CHECK-NOT:         math.exp
// CHECK:         return
weft.func @softmax(%x: tensor<8x1024xf32, #cpu>) -> tensor<8x1024xf32, #cpu> {
  %0 = weft.fusion row (%x) : (tensor<8x1024xf32, #cpu>) -> tensor<8x1024xf32, #cpu> {
  ^bb0(%a: tensor<8x1024xf32, #cpu>):
    %1 = weft.rmax %a, dims = [1] : tensor<8x1024xf32, #cpu>
    %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<8xf32, #cpu> -> tensor<8x1024xf32, #cpu>
    %3 = weft.sub %a, %2 : tensor<8x1024xf32, #cpu>
    %4 = weft.exp %3 : tensor<8x1024xf32, #cpu>
    %5 = weft.sum %4, dims = [1] : tensor<8x1024xf32, #cpu>
    %6 = weft.broadcast_in_dim %5, dims = [0] : tensor<8xf32, #cpu> -> tensor<8x1024xf32, #cpu>
    %7 = weft.div %4, %6 : tensor<8x1024xf32, #cpu>
    weft.yield %7 : tensor<8x1024xf32, #cpu>
  }
  weft.return %0 : tensor<8x1024xf32, #cpu>
}

// Halves accumulate in f32 and are rounded once; the last elements of a row that fills no vector are added by scalars.
// CHECK-LABEL: func.func @halves.1(
// CHECK:         arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK:         arith.addf {{.*}} : vector<16xf32>
// CHECK:         scf.for {{.*}} -> (f32)
// CHECK:           arith.extf {{.*}} : bf16 to f32
// CHECK:         arith.truncf {{.*}} : f32 to bf16
weft.func @halves(%x: tensor<8x37xbf16, #cpu>) -> tensor<8xbf16, #cpu> {
  %0 = weft.fusion row (%x) : (tensor<8x37xbf16, #cpu>) -> tensor<8xbf16, #cpu> {
  ^bb0(%a: tensor<8x37xbf16, #cpu>):
    %1 = weft.sum %a, dims = [1] : tensor<8x37xbf16, #cpu>
    weft.yield %1 : tensor<8xbf16, #cpu>
  }
  weft.return %0 : tensor<8xbf16, #cpu>
}

// Eight rows at a time over a block of columns, whose partial sums lie in scratch.
// SCHEDULE: #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = 2, grain = 1, scratch = 1024>
// CHECK-LABEL: func.func @column.2(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[SCRATCH:[a-z0-9]+]]: memref<?xi8>
// CHECK:         %[[P:.*]] = memref.view %[[SCRATCH]]
// CHECK:         scf.for
// CHECK:           vector.store %{{.*}}, %[[P]]
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK-COUNT-8:       vector.load %[[X]]
// CHECK-COUNT-7:       arith.addf {{.*}} : vector<16xf32>
// CHECK:               vector.load %[[P]]
// CHECK:               arith.addf
// CHECK:               vector.store %{{.*}}, %[[P]]
// CHECK:           vector.store %{{.*}}, %[[Y]]
weft.func @column(%x: tensor<64x512xf32, #cpu>) -> tensor<512xf32, #cpu> {
  %0 = weft.fusion column (%x) : (tensor<64x512xf32, #cpu>) -> tensor<512xf32, #cpu> {
  ^bb0(%a: tensor<64x512xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<64x512xf32, #cpu>
    weft.yield %1 : tensor<512xf32, #cpu>
  }
  weft.return %0 : tensor<512xf32, #cpu>
}

// Here the difference itself is seen, with the sign of its zeros.
// CHECK-LABEL: func.func @shifted.
// CHECK-NOT:     fastmath
// CHECK:         arith.maximumf {{.*}} : vector<16xf32>
// CHECK-NOT:     fastmath
// CHECK:         return
weft.func @shifted(%x: tensor<8x64xf32, #cpu>) -> (tensor<8x64xf32, #cpu>, tensor<8x64xf32, #cpu>) {
  %0:2 = weft.fusion row (%x) : (tensor<8x64xf32, #cpu>) -> (tensor<8x64xf32, #cpu>, tensor<8x64xf32, #cpu>) {
  ^bb0(%a: tensor<8x64xf32, #cpu>):
    %1 = weft.rmax %a, dims = [1] : tensor<8x64xf32, #cpu>
    %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<8xf32, #cpu> -> tensor<8x64xf32, #cpu>
    %3 = weft.sub %a, %2 : tensor<8x64xf32, #cpu>
    %4 = weft.exp %3 : tensor<8x64xf32, #cpu>
    weft.yield %3, %4 : tensor<8x64xf32, #cpu>, tensor<8x64xf32, #cpu>
  }
  weft.return %0#0, %0#1 : tensor<8x64xf32, #cpu>, tensor<8x64xf32, #cpu>
}
