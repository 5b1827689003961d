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

// Eight rows are combined over a block of columns, whose partial sums lie in scratch; the first four wait in scratch for the
// other four.
// SCHEDULE: #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = 2, grain = 1, scratch = 2048>
// CHECK-LABEL: func.func @column.2(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[SCRATCH:[a-z0-9]+]]: memref<?xi8>
// CHECK:         %[[P:.*]] = memref.view %[[SCRATCH]]
// CHECK:         %[[H:.*]] = memref.view %[[SCRATCH]]
// CHECK:         scf.for
// CHECK:           vector.store %{{.*}}, %[[P]]
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK-COUNT-4:       vector.load %[[X]]
// CHECK-COUNT-3:       arith.addf {{.*}} : vector<16xf32>
// CHECK:               vector.store %{{.*}}, %[[H]]
// CHECK:             scf.for
// CHECK-COUNT-4:       vector.load %[[X]]
// CHECK-COUNT-3:       arith.addf {{.*}} : vector<16xf32>
// CHECK:               vector.load %[[H]]
// CHECK:               arith.addf
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

// Three passes down the rows of a block in the middle of the domain; of rows that are in the cache, eight at a time. The
// maxima and the reciprocals of the sums are spread from scratch, where the exponentials wait too; nothing is divided for
// each element.
// SCHEDULE: #weft.schedule<column, vector = 16, rows = 8, block = 64, tasks = 6, grain = 1, scratch = 17664, keep = [3]>
// CHECK-LABEL: func.func @middle.
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[SCRATCH:[a-z0-9]+]]: memref<?xi8>
// CHECK:         %[[MAXIMA:.*]] = memref.view %[[SCRATCH]]
// CHECK:         %[[SUMS:.*]] = memref.view %[[SCRATCH]]
// CHECK:         %[[HALF:.*]] = memref.view %[[SCRATCH]]
// CHECK:         %[[TOP:.*]] = memref.view %[[SCRATCH]]
// CHECK:         %[[SCALE:.*]] = memref.view %[[SCRATCH]]
// CHECK:         %[[E:.*]] = memref.view %[[SCRATCH]]
// CHECK-COUNT-4: vector.load %[[X]]
// CHECK:         vector.store %{{.*}}, %[[HALF]]
// CHECK-COUNT-4: vector.load %[[X]]
// CHECK:         vector.store %{{.*}}, %[[MAXIMA]]
// CHECK:         vector.store %{{.*}}, %[[TOP]]
// CHECK:         vector.load %[[TOP]]
// CHECK-COUNT-8: math.exp {{.*}} : vector<16xf32>
// CHECK:         vector.store %{{.*}}, %[[E]]
// CHECK:         vector.store %{{.*}}, %[[SUMS]]
// CHECK:         vector.load %[[SUMS]]
// CHECK:         arith.divf {{.*}} : vector<16xf32>
// CHECK:         vector.store %{{.*}}, %[[SCALE]]
// CHECK-NOT:     math.exp
// CHECK-NOT:     arith.divf
// CHECK:         vector.load %[[SCALE]]
// CHECK:         vector.load %[[E]]
// CHECK:         arith.mulf {{.*}} : vector<16xf32>
// CHECK:         vector.store %{{.*}}, %[[Y]]
// CHECK:         return
weft.func @middle(%x: tensor<6x64x64xf32, #cpu>) -> tensor<6x64x64xf32, #cpu> {
  %0 = weft.fusion column (%x) : (tensor<6x64x64xf32, #cpu>) -> tensor<6x64x64xf32, #cpu> {
  ^bb0(%a: tensor<6x64x64xf32, #cpu>):
    %1 = weft.rmax %a, dims = [1] : tensor<6x64x64xf32, #cpu>
    %2 = weft.broadcast_in_dim %1, dims = [0, 2] : tensor<6x64xf32, #cpu> -> tensor<6x64x64xf32, #cpu>
    %3 = weft.sub %a, %2 : tensor<6x64x64xf32, #cpu>
    %4 = weft.exp %3 : tensor<6x64x64xf32, #cpu>
    %5 = weft.sum %4, dims = [1] : tensor<6x64x64xf32, #cpu>
    %6 = weft.recip %5 : tensor<6x64xf32, #cpu>
    %7 = weft.broadcast_in_dim %6, dims = [0, 2] : tensor<6x64xf32, #cpu> -> tensor<6x64x64xf32, #cpu>
    %8 = weft.mul %4, %7 : tensor<6x64x64xf32, #cpu>
    weft.yield %8 : tensor<6x64x64xf32, #cpu>
  }
  weft.return %0 : tensor<6x64x64xf32, #cpu>
}

// Where each side has as many elements, the factors of the moments' formula are powers of two. Of what was f32 their
// products in f64 are exact, so that 7 of 8 means are one operation and the squares of pairs are halved together.
// CHECK-LABEL: func.func @moments.5(
// CHECK-NOT:     math.fma
// CHECK:         arith.extf {{.*}} : vector<16xf32> to vector<16xf64>
// CHECK-COUNT-4: math.fma {{.*}} : vector<16xf64>
// CHECK:         vector.store
// CHECK-COUNT-6: math.fma {{.*}} : vector<16xf64>
// CHECK:         return
// Of f64 they may round, in subnormal numbers.
// CHECK-LABEL: func.func @moments.6(
// CHECK-NOT:     math.fma
// CHECK:         return
weft.func @moments(%x: tensor<64x64xf32, #cpu>, %y: tensor<64x64xf64, #cpu>) -> (tensor<64xf64, #cpu>, tensor<64xf64, #cpu>) {
  %0 = weft.fusion column (%x) : (tensor<64x64xf32, #cpu>) -> tensor<64xf64, #cpu> {
  ^bb0(%a: tensor<64x64xf32, #cpu>):
    %1 = weft.convert %a to f64 : tensor<64x64xf32, #cpu>
    %mean, %m2, %count = weft.welford %1, dims = [0] : tensor<64x64xf64, #cpu>
    weft.yield %m2 : tensor<64xf64, #cpu>
  }
  %2 = weft.fusion column (%y) : (tensor<64x64xf64, #cpu>) -> tensor<64xf64, #cpu> {
  ^bb0(%a: tensor<64x64xf64, #cpu>):
    %mean, %m2, %count = weft.welford %a, dims = [0] : tensor<64x64xf64, #cpu>
    weft.yield %m2 : tensor<64xf64, #cpu>
  }
  weft.return %0, %2 : tensor<64xf64, #cpu>, tensor<64xf64, #cpu>
}

// Of a pad whose bounds are multiples of the vector's length a vector lies inside or outside as a whole, and is loaded as
// one; of another one the lanes inside are loaded.
// CHECK-LABEL: func.func @pads.7(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>
// CHECK:         arith.maxsi
// CHECK:         vector.load %[[X]]{{.*}} vector<16xf32>
// CHECK:         arith.select {{.*}} vector<16xi1>, vector<16xf32>
// CHECK:         vector.store %{{.*}}, %[[Y]]
// CHECK-LABEL: func.func @pads.8(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>
// CHECK-NOT:     memref.load %[[X]]
// CHECK:         %[[FROM:.*]] = arith.cmpi sge, {{.*}} : vector<16xi32>
// CHECK:         %[[TO:.*]] = arith.cmpi slt, {{.*}} : vector<16xi32>
// CHECK:         %[[MASK:.*]] = arith.andi %[[FROM]], %[[TO]]
// CHECK:         vector.maskedload %[[X]][{{.*}}], %[[MASK]]
// CHECK:         return
weft.func @pads(%x: tensor<64x128xf32, #cpu>) -> (tensor<64x512xf32, #cpu>, tensor<512xf32, #cpu>, tensor<512xf32, #cpu>) {
  %0:2 = weft.fusion column (%x) : (tensor<64x128xf32, #cpu>) -> (tensor<64x512xf32, #cpu>, tensor<512xf32, #cpu>) {
  ^bb0(%a: tensor<64x128xf32, #cpu>):
    %1 = weft.pad %a, low = [0, 256], high = [0, 128], interior = [0, 0] : tensor<64x128xf32, #cpu>
    %2 = weft.sum %1, dims = [0] : tensor<64x512xf32, #cpu>
    weft.yield %1, %2 : tensor<64x512xf32, #cpu>, tensor<512xf32, #cpu>
  }
  %3 = weft.fusion column (%x) : (tensor<64x128xf32, #cpu>) -> tensor<512xf32, #cpu> {
  ^bb0(%a: tensor<64x128xf32, #cpu>):
    %1 = weft.pad %a, low = [0, 255], high = [0, 129], interior = [0, 0] : tensor<64x128xf32, #cpu>
    %2 = weft.sum %1, dims = [0] : tensor<64x512xf32, #cpu>
    weft.yield %2 : tensor<512xf32, #cpu>
  }
  weft.return %0#0, %0#1, %3 : tensor<64x512xf32, #cpu>, tensor<512xf32, #cpu>, tensor<512xf32, #cpu>
}
