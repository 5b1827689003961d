// RUN: weft-opt %s --pass-pipeline='builtin.module(weft.func(weft-choose-schedules),weft-emit-kernels)' | FileCheck %s

#cpu = #weft.device<cpu>

// Operands of one shape merge into one contiguous dimension, whatever the rank: one loop of vectors over the chunk,
// no remainder where the count is a multiple of the width, no division.
// CHECK-LABEL: func.func @merged.0(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[Z:[a-z0-9]+]]: memref<?xf32>,
// CHECK-SAME:    memref<?xi8>, %{{.*}}: memref<3xi64>, %{{.*}}: index, %{{.*}}: index)
// CHECK-SAME:    weft.buffers = array<i64: 0, 1, 2>
// CHECK-NOT:     arith.{{div|rem}}
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-DAG:       vector.load %[[X]][%[[I]]] : memref<?xf32>, vector<16xf32>
// CHECK-DAG:       vector.load %[[Y]][%[[I]]] : memref<?xf32>, vector<16xf32>
// CHECK:           arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK:           vector.store %{{.*}}, %[[Z]][%[[I]]] : memref<?xf32>, vector<16xf32>
// CHECK-NOT:     scf.for
// CHECK:         return
weft.func @merged(%x: tensor<8x4x100xf32, #cpu>, %y: tensor<8x4x100xf32, #cpu>) -> tensor<8x4x100xf32, #cpu> {
  %0 = weft.fusion loop (%x, %y) : (tensor<8x4x100xf32, #cpu>, tensor<8x4x100xf32, #cpu>) -> tensor<8x4x100xf32, #cpu> {
  ^bb0(%a: tensor<8x4x100xf32, #cpu>, %b: tensor<8x4x100xf32, #cpu>):
    %1 = weft.add %a, %b : tensor<8x4x100xf32, #cpu>
    weft.yield %1 : tensor<8x4x100xf32, #cpu>
  }
  weft.return %0 : tensor<8x4x100xf32, #cpu>
}

// An operand that varies by rows only is read once a row, outside of the loop of vectors; division happens once
// a task, to find its rows.
// CHECK-LABEL: func.func @broadcast.1(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>, %[[R:[a-z0-9]+]]: memref<?xf32>, %[[C:[a-z0-9]+]]: memref<?xf32>, %{{.*}}: memref<?xf32>,
// CHECK:         scf.for %[[ROW:.*]] =
// CHECK:           memref.load %[[C]][%[[ROW]]] : memref<?xf32>
// CHECK:           scf.for %[[I:.*]] =
// CHECK-NOT:         arith.{{div|rem}}
// CHECK-NOT:         memref.load
// CHECK-DAG:         vector.load %[[X]]
// CHECK-DAG:         vector.load %[[R]][%[[I]]] : memref<?xf32>, vector<16xf32>
// CHECK:             vector.store
weft.func @broadcast(%x: tensor<30x64xf32, #cpu>, %r: tensor<64xf32, #cpu>, %c: tensor<30xf32, #cpu>) -> tensor<30x64xf32, #cpu> {
  %0 = weft.fusion loop (%x, %r, %c) : (tensor<30x64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<30xf32, #cpu>) -> tensor<30x64xf32, #cpu> {
  ^bb0(%a: tensor<30x64xf32, #cpu>, %b: tensor<64xf32, #cpu>, %d: tensor<30xf32, #cpu>):
    %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<64xf32, #cpu> -> tensor<30x64xf32, #cpu>
    %2 = weft.broadcast_in_dim %d, dims = [0] : tensor<30xf32, #cpu> -> tensor<30x64xf32, #cpu>
    %3 = weft.add %a, %1 : tensor<30x64xf32, #cpu>
    %4 = weft.mul %3, %2 : tensor<30x64xf32, #cpu>
    weft.yield %4 : tensor<30x64xf32, #cpu>
  }
  weft.return %0 : tensor<30x64xf32, #cpu>
}

// A result larger than the last cache is stored past it, in whole cache lines through a second view of its buffer, where
// its address allows that; the other branch stores as usual.
// CHECK-LABEL: func.func @streaming.2(
// CHECK-SAME:    %[[V:[a-z0-9]+]]: memref<?xvector<16xf32>>,
// CHECK-SAME:    weft.buffers = array<i64: 0, 1, 1>
// CHECK:         scf.if
// CHECK:           memref.store %{{.*}}, %[[V]][%{{.*}}] {nontemporal = true} : memref<?xvector<16xf32>>
// CHECK:         } else {
// CHECK:           vector.store
weft.func @streaming(%x: tensor<8388608xf32, #cpu>) -> tensor<8388608xf32, #cpu> {
  %0 = weft.fusion loop (%x) : (tensor<8388608xf32, #cpu>) -> tensor<8388608xf32, #cpu> {
  ^bb0(%a: tensor<8388608xf32, #cpu>):
    %1 = weft.neg %a : tensor<8388608xf32, #cpu>
    weft.yield %1 : tensor<8388608xf32, #cpu>
  }
  weft.return %0 : tensor<8388608xf32, #cpu>
}

// A transposed operand is loaded along its own rows, 16 vectors at a time, turned in registers, and read back from
// scratch as the rows of the result.
// CHECK-LABEL: func.func @transposed.3(
// CHECK:         memref.view
// CHECK-COUNT-16: vector.load %{{.*}} : memref<?xf32>, vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store
// CHECK:         scf.for
// CHECK-NOT:       memref.load
// CHECK:           vector.store
// CHECK:         return
weft.func @transposed(%x: tensor<128x64xf32, #cpu>, %y: tensor<64x128xf32, #cpu>) -> tensor<64x128xf32, #cpu> {
  %0 = weft.fusion loop (%x, %y) : (tensor<128x64xf32, #cpu>, tensor<64x128xf32, #cpu>) -> tensor<64x128xf32, #cpu> {
  ^bb0(%a: tensor<128x64xf32, #cpu>, %b: tensor<64x128xf32, #cpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<128x64xf32, #cpu>
    %2 = weft.add %1, %b : tensor<64x128xf32, #cpu>
    weft.yield %2 : tensor<64x128xf32, #cpu>
  }
  weft.return %0 : tensor<64x128xf32, #cpu>
}

// An index from memory is checked before it is used; the first one in row-major order that is out of range is kept.
// CHECK-LABEL: func.func @gather.4(
// CHECK-SAME:    %[[T:[a-z0-9]+]]: memref<?xf32>, %[[I:[a-z0-9]+]]: memref<?xi64>, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xi8>, %[[CHECK:[a-z0-9]+]]: memref<3xi64>
// CHECK:         scf.for
// CHECK:           %[[V:.*]] = memref.load %[[I]]
// CHECK:           %[[BAD:.*]] = arith.cmpi uge, %[[V]]
// CHECK:           scf.if %[[BAD]]
// CHECK:             memref.load %[[CHECK]]
// CHECK:           arith.select %[[BAD]]
// CHECK:           scf.for
// CHECK:             vector.load %[[T]]
weft.func @gather(%t: tensor<8x64xf32, #cpu>, %i: tensor<5xi64, #cpu>) -> tensor<5x64xf32, #cpu> {
  %0 = weft.fusion loop (%t, %i) : (tensor<8x64xf32, #cpu>, tensor<5xi64, #cpu>) -> tensor<5x64xf32, #cpu> {
  ^bb0(%a: tensor<8x64xf32, #cpu>, %b: tensor<5xi64, #cpu>):
    %1 = weft.gather %a, %b, dim = 0, kind = points : tensor<8x64xf32, #cpu>, tensor<5xi64, #cpu>
    weft.yield %1 : tensor<5x64xf32, #cpu>
  }
  weft.return %0 : tensor<5x64xf32, #cpu>
}

// Every third element is taken from vectors of neighbours, the last of which ends with the last element that is read.
// The last vector of a row of 28 ends with the row, and computes four elements again. A task that has less than a vector
// of a row takes narrower ones.
// CHECK-LABEL: func.func @apart.5(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>, %{{.*}}: memref<?xf32>,
// CHECK:         scf.if
// CHECK:           scf.for %[[I:.*]] =
// CHECK:             arith.minsi %[[I]], %{{.*}} : index
// CHECK:             vector.load %[[X]]{{.*}} : memref<?xf32>, vector<16xf32>
// CHECK-COUNT-2:     vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// CHECK:             %[[LAST:.*]] = arith.constant 30 : index
// CHECK:             %[[AT:.*]] = arith.addi %{{.*}}, %[[LAST]]
// CHECK:             vector.load %[[X]][%[[AT]]] : memref<?xf32>, vector<16xf32>
// CHECK:             vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// CHECK:             vector.store {{.*}} vector<16xf32>
// CHECK:         } else {
// CHECK:           vector.store {{.*}} vector<8xf32>
// CHECK:           vector.store {{.*}} vector<4xf32>
// CHECK:         return
weft.func @apart(%x: tensor<30x86xf32, #cpu>) -> tensor<30x28xf32, #cpu> {
  %0 = weft.fusion loop (%x) : (tensor<30x86xf32, #cpu>) -> tensor<30x28xf32, #cpu> {
  ^bb0(%a: tensor<30x86xf32, #cpu>):
    %1 = weft.slice %a, start = [0, 0], limit = [30, 84], step = [1, 3] : tensor<30x86xf32, #cpu>
    %2 = weft.neg %1 : tensor<30x28xf32, #cpu>
    weft.yield %2 : tensor<30x28xf32, #cpu>
  }
  weft.return %0 : tensor<30x28xf32, #cpu>
}

// A result that may replace an operand is computed once: what a row of 28 leaves of a vector of 16 is computed in vectors
// of 8 and 4.
// CHECK-LABEL: func.func @once.6(
// CHECK-NOT:     scf.if
// CHECK:         vector.store {{.*}} vector<16xf32>
// CHECK:         vector.store {{.*}} vector<8xf32>
// CHECK:         vector.store {{.*}} vector<4xf32>
// CHECK-NOT:     scf.if
// CHECK:         return
weft.func @once(%x: tensor<30x86xf32, #cpu>, %y: tensor<30x28xf32, #cpu>) -> tensor<30x28xf32, #cpu> {
  %0 = weft.fusion loop (%x, %y) : (tensor<30x86xf32, #cpu>, tensor<30x28xf32, #cpu>) -> tensor<30x28xf32, #cpu> {
  ^bb0(%a: tensor<30x86xf32, #cpu>, %b: tensor<30x28xf32, #cpu>):
    %1 = weft.slice %a, start = [0, 0], limit = [30, 84], step = [1, 3] : tensor<30x86xf32, #cpu>
    %2 = weft.add %1, %b : tensor<30x28xf32, #cpu>
    weft.yield %2 : tensor<30x28xf32, #cpu>
  }
  weft.return %0 : tensor<30x28xf32, #cpu>
}

// An element that is never in the padding is read without a mask or a comparison; of the others, the side that a mask
// excludes is compared, in 32 bits.
// CHECK-LABEL: func.func @padded.7(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?xf32>
// CHECK:         vector.maskedload %[[X]]{{.*}} vector<16xf32>
// CHECK-NOT:     vector.maskedload
// CHECK:         arith.cmpi ult, %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK-NOT:     vector.maskedload
// CHECK:         vector.store {{.*}} vector<16xf32>
// CHECK:         return
weft.func @padded(%x: tensor<30x64xf32, #cpu>) -> tensor<30x32xf32, #cpu> {
  %0 = weft.fusion loop (%x) : (tensor<30x64xf32, #cpu>) -> tensor<30x32xf32, #cpu> {
  ^bb0(%a: tensor<30x64xf32, #cpu>):
    %c = weft.constant dense<0xFF800000> : tensor<f32, #cpu>
    %p = weft.pad %a value %c, low = [0, 1], high = [0, 1], interior = [0, 0] : tensor<30x64xf32, #cpu>, tensor<f32, #cpu>
    %1 = weft.slice %p, start = [0, 0], limit = [30, 64], step = [1, 2] : tensor<30x66xf32, #cpu>
    %2 = weft.slice %p, start = [0, 1], limit = [30, 64], step = [1, 2] : tensor<30x66xf32, #cpu>
    %3 = weft.max %1, %2 : tensor<30x32xf32, #cpu>
    weft.yield %3 : tensor<30x32xf32, #cpu>
  }
  weft.return %0 : tensor<30x32xf32, #cpu>
}

// A gather along one dimension, by an index that is computed from values of two: rows of the loop are rows of the values,
// so nothing is divided in the inner loop, and the index is a vector whose lanes are taken.
// CHECK-LABEL: func.func @chosen.8(
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK-NOT:         arith.{{div|rem}}
// CHECK:             arith.cmpf ogt, {{.*}} : vector<16xf32>
// CHECK:             arith.minsi {{.*}} : vector<16xi64>
// CHECK-COUNT-16:    vector.extract {{.*}} : index from vector<16xindex>
// CHECK:             vector.store {{.*}} vector<16xf32>
// CHECK:         return
weft.func @chosen(%x: tensor<30x100xf32, #cpu>, %y: tensor<30x4x32xf32, #cpu>, %z: tensor<30x4x32xf32, #cpu>) -> tensor<30x128xf32, #cpu> {
  %0 = weft.fusion loop (%x, %y, %z) : (tensor<30x100xf32, #cpu>, tensor<30x4x32xf32, #cpu>, tensor<30x4x32xf32, #cpu>) -> tensor<30x128xf32, #cpu> {
  ^bb0(%a: tensor<30x100xf32, #cpu>, %b: tensor<30x4x32xf32, #cpu>, %c: tensor<30x4x32xf32, #cpu>):
    %1 = weft.gt %b, %c : tensor<30x4x32xf32, #cpu>
    %2 = weft.convert %1 to i64 : tensor<30x4x32xi1, #cpu>
    %3 = weft.iota dim = 2 : tensor<30x4x32xi64, #cpu>
    %4 = weft.add %2, %3 : tensor<30x4x32xi64, #cpu>
    %5 = weft.reshape %4 : tensor<30x4x32xi64, #cpu> -> tensor<30x128xi64, #cpu>
    %6 = weft.gather %a, %5, dim = 1, kind = along mode = assume : tensor<30x100xf32, #cpu>, tensor<30x128xi64, #cpu>
    weft.yield %6 : tensor<30x128xf32, #cpu>
  }
  weft.return %0 : tensor<30x128xf32, #cpu>
}
