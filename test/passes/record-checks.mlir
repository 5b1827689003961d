// RUN: weft-opt %s --weft-record-checks -split-input-file | FileCheck %s

#cpu = #weft.device<cpu>
// The check of an index is written down, under the same name.
// CHECK-LABEL: @read
// CHECK:         weft.gather %arg0, %arg1
// CHECK:         %[[T:.*]] = weft.iota dim = 0 : tensor<10xi64, #cpu>
// CHECK:         %[[C:.*]] = weft.gather %[[T]], %arg1, dim = 0, kind = points :
// CHECK:         %[[I:.*]] = weft.ge %[[C]]
// CHECK:         weft.assert %[[I]], "an index is out of bounds" {weft.recorded_check}
weft.func @read(%x: tensor<10x4xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<3x4xf32, #cpu> {
  %0 = weft.gather %x, %i, dim = 0, kind = points : tensor<10x4xf32, #cpu>, tensor<3xi64, #cpu>
  weft.return %0 : tensor<3x4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// The message names the dimension that the index was made for.
// CHECK-LABEL: @columns
// CHECK:         %[[T:.*]] = weft.iota dim = 0 : tensor<4xi64, #cpu>
// CHECK:         weft.gather %[[T]], %arg1, dim = 0, kind = points {weft.index_dim = 1 : i64}
weft.func @columns(%x: tensor<10x4xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<10x3xf32, #cpu> {
  %0 = weft.gather %x, %i, dim = 1, kind = points : tensor<10x4xf32, #cpu>, tensor<3xi64, #cpu>
  weft.return %0 : tensor<10x3xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Of a loss the targets that count.
// CHECK-LABEL: @loss
// CHECK:         weft.cross_entropy
// CHECK:         %[[K:.*]] = weft.ne %arg1
// CHECK:         %[[S:.*]] = weft.select %[[K]], %arg1
// CHECK:         weft.gather %{{.*}}, %[[S]]{{.*}} {weft.index_name = "Target"}
// CHECK:         weft.assert {{.*}} {weft.recorded_check}
weft.func @loss(%x: tensor<8x10xf32, #cpu>, %t: tensor<8xi64, #cpu>) -> tensor<f32, #cpu> {
  %loss, %lse = weft.cross_entropy %x, %t, reduction = mean : tensor<8x10xf32, #cpu>, tensor<8xi64, #cpu>
  weft.return %loss : tensor<f32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// What is not checked, and what nothing reads, has no assertion; the latter goes.
// CHECK-LABEL: @nothing
// CHECK-NOT:     weft.assert
// CHECK:         weft.gather {{.*}} mode = clip
// CHECK-NOT:     weft.gather
// CHECK:         weft.return
weft.func @nothing(%x: tensor<10xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<3xf32, #cpu> {
  %0 = weft.gather %x, %i, dim = 0, kind = points mode = clip : tensor<10xf32, #cpu>, tensor<3xi64, #cpu>
  %1 = weft.gather %x, %i, dim = 0, kind = points : tensor<10xf32, #cpu>, tensor<3xi64, #cpu>
  %2 = weft.exp %1 : tensor<3xf32, #cpu>
  weft.return %0 : tensor<3xf32, #cpu>
}
