// RUN: weft-opt %s --weft-carry-checks --symbol-dce | FileCheck %s

#cpu = #weft.device<cpu>

weft.func private @row(%t: tensor<5x4xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<3x4xf32, #cpu> {
  %r = weft.gather %t, %i, dim = 0, kind = points : tensor<5x4xf32, #cpu>, tensor<3xi64, #cpu>
  weft.return %r : tensor<3x4xf32, #cpu>
}
weft.func private @none(%t: tensor<5x4xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<3x4xf32, #cpu> {
  %r = weft.constant dense<0.0> : tensor<3x4xf32, #cpu>
  weft.return %r : tensor<3x4xf32, #cpu>
}
// The branch clamps the index and returns one that is out of range as a number, and its position; the other branch
// returns 0. The check is of three indices, so that its message names the position.
// CHECK-LABEL: weft.func @condition
// CHECK:         %[[R:.*]]:3 = weft.cond %{{.*}} then @row.checked else @none.checked(%{{.*}}, %{{.*}}) : {{.*}} -> (tensor<3x4xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>)
// CHECK:         %[[PLACES:.*]] = weft.iota dim = 0 : tensor<3xi64, #cpu>
// CHECK:         %[[AT:.*]] = weft.broadcast_in_dim %[[R]]#2
// CHECK:         %[[HERE:.*]] = weft.eq %[[PLACES]], %[[AT]]
// CHECK:         %[[NUMBER:.*]] = weft.broadcast_in_dim %[[R]]#1
// CHECK:         %[[INDEX:.*]] = weft.select %[[HERE]], %[[NUMBER]], %{{.*}}
// CHECK:         %[[ALL:.*]] = weft.iota {{.*}} : tensor<5xi64, #cpu>
// CHECK:         %[[I:.*]] = weft.gather %[[ALL]], %[[INDEX]], dim = 0, kind = points
// CHECK:         %[[LEAST:.*]] = weft.rmin %[[I]], dims = [0]
// CHECK:         %[[GOOD:.*]] = weft.ge %[[LEAST]], %{{.*}}
// CHECK:         weft.assert %[[GOOD]], "an index is out of bounds" {weft.recorded_check}
// CHECK:         weft.return %[[R]]#0
weft.func @condition(%p: tensor<i1, #cpu>, %t: tensor<5x4xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<3x4xf32, #cpu> {
  %r = weft.cond %p then @row else @none(%t, %i) {may_fail} : (tensor<i1, #cpu>, tensor<5x4xf32, #cpu>, tensor<3xi64, #cpu>) -> tensor<3x4xf32, #cpu>
  weft.return %r : tensor<3x4xf32, #cpu>
}

weft.func private @differs(%i: tensor<i64, #cpu>, %t: tensor<5xi64, #cpu>) -> tensor<i1, #cpu> {
  %z = weft.constant dense<0> : tensor<i64, #cpu>
  %r = weft.ne %i, %z : tensor<i64, #cpu>
  weft.return %r : tensor<i1, #cpu>
}
weft.func private @follow(%i: tensor<i64, #cpu>, %t: tensor<5xi64, #cpu>) -> tensor<i64, #cpu> {
  %r = weft.gather %t, %i, dim = 0, kind = points : tensor<5xi64, #cpu>, tensor<i64, #cpu>
  weft.return %r : tensor<i64, #cpu>
}
// The number is a carry, and the loop ends once it is not 0.
// CHECK-LABEL: weft.func @loop
// CHECK:         %[[R:.*]]:2 = weft.while @differs.checked do @follow.checked(%{{.*}}, %{{.*}}) with(%{{.*}})
// CHECK:         weft.gather %{{.*}}, %[[R]]#1
// CHECK:         weft.assert
// CHECK:         weft.return %[[R]]#0
weft.func @loop(%i: tensor<i64, #cpu>, %t: tensor<5xi64, #cpu>) -> tensor<i64, #cpu> {
  %r = weft.while @differs do @follow(%i) with(%t) {may_fail} : (tensor<i64, #cpu>, tensor<5xi64, #cpu>) -> tensor<i64, #cpu>
  weft.return %r : tensor<i64, #cpu>
}

// In a scan the numbers and their positions are carries as well, and the trips go on. The checks are of the indices of all
// trips.
weft.func private @trip(%h: tensor<4xf32, #cpu>, %x: tensor<3xi64, #cpu>, %t: tensor<5x4xf32, #cpu>, %l: tensor<3x5xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %r = weft.gather %t, %x, dim = 0, kind = points : tensor<5x4xf32, #cpu>, tensor<3xi64, #cpu>
  %s = weft.sum %r, dims = [0] : tensor<3x4xf32, #cpu>
  %n = weft.add %h, %s : tensor<4xf32, #cpu>
  %loss, %lse = weft.cross_entropy %l, %x, reduction = mean : tensor<3x5xf32, #cpu>, tensor<3xi64, #cpu>
  weft.return %n, %loss : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}
// CHECK-LABEL: weft.func @scan
// CHECK:         %[[R:.*]]:6 = weft.scan @trip.checked(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) over(%{{.*}}) with(%{{.*}}, %{{.*}}), length = 9 :
// CHECK:         weft.broadcast_in_dim %[[R]]#3, {{.*}} -> tensor<27xi64, #cpu>
// CHECK:         weft.broadcast_in_dim %[[R]]#1, {{.*}} -> tensor<27xi64, #cpu>
// CHECK:         weft.assert
// CHECK:         weft.broadcast_in_dim %[[R]]#4, {{.*}} -> tensor<27xi64, #cpu>
// CHECK:         weft.broadcast_in_dim %[[R]]#2, {{.*}} -> tensor<27xi64, #cpu>
// CHECK:         weft.gather {{.*}}weft.index_name = "Target"
// CHECK:         weft.assert
// CHECK:         weft.return %[[R]]#0, %[[R]]#5
weft.func @scan(%h: tensor<4xf32, #cpu>, %x: tensor<9x3xi64, #cpu>, %t: tensor<5x4xf32, #cpu>, %l: tensor<3x5xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<9xf32, #cpu>) {
  %r:2 = weft.scan @trip(%h) over(%x) with(%t, %l), length = 9 {may_fail} : (tensor<4xf32, #cpu>, tensor<9x3xi64, #cpu>, tensor<5x4xf32, #cpu>, tensor<3x5xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<9xf32, #cpu>)
  weft.return %r#0, %r#1 : tensor<4xf32, #cpu>, tensor<9xf32, #cpu>
}

// What nothing reads is not checked.
// CHECK-LABEL: weft.func @unread
// CHECK-NOT:     weft.scan
// CHECK-NOT:     weft.assert
// CHECK:         weft.return
weft.func @unread(%h: tensor<4xf32, #cpu>, %x: tensor<9x3xi64, #cpu>, %t: tensor<5x4xf32, #cpu>, %l: tensor<3x5xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r:2 = weft.scan @trip(%h) over(%x) with(%t, %l), length = 9 {may_fail} : (tensor<4xf32, #cpu>, tensor<9x3xi64, #cpu>, tensor<5x4xf32, #cpu>, tensor<3x5xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<9xf32, #cpu>)
  weft.return %h : tensor<4xf32, #cpu>
}

// No index is in range of a dimension without elements: the branch says whether there is one.
weft.func private @nothing(%t: tensor<0x4xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<3x4xf32, #cpu> {
  %r = weft.gather %t, %i, dim = 0, kind = points : tensor<0x4xf32, #cpu>, tensor<3xi64, #cpu>
  weft.return %r : tensor<3x4xf32, #cpu>
}
weft.func private @zeros(%t: tensor<0x4xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<3x4xf32, #cpu> {
  %r = weft.constant dense<0.0> : tensor<3x4xf32, #cpu>
  weft.return %r : tensor<3x4xf32, #cpu>
}
// CHECK-LABEL: weft.func @empty
// CHECK:         %[[R:.*]]:2 = weft.cond %{{.*}} then @nothing.checked else @zeros.checked
// CHECK:         %[[NONE:.*]] = weft.eq %[[R]]#1, %{{.*}}
// CHECK:         weft.assert %[[NONE]], "an index is out of bounds for dimension 0 with size 0" :
// CHECK:         weft.return %[[R]]#0
weft.func @empty(%p: tensor<i1, #cpu>, %t: tensor<0x4xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<3x4xf32, #cpu> {
  %r = weft.cond %p then @nothing else @zeros(%t, %i) {may_fail} : (tensor<i1, #cpu>, tensor<0x4xf32, #cpu>, tensor<3xi64, #cpu>) -> tensor<3x4xf32, #cpu>
  weft.return %r : tensor<3x4xf32, #cpu>
}

// CHECK-LABEL: weft.func private @row.checked
// CHECK-SAME:    (%[[T:.*]]: tensor<5x4xf32, #cpu>, %[[I:.*]]: tensor<3xi64, #cpu>)
// CHECK:         %[[REFUSED:.*]] = weft.or
// CHECK:         %[[PLACES:.*]] = weft.select %[[REFUSED]]
// CHECK:         %[[FIRST:.*]] = weft.rmin %[[PLACES]], dims = [0]
// CHECK:         %[[AT:.*]] = weft.select %{{.*}}, %[[FIRST]], %{{.*}}
// CHECK:         %[[GIVEN:.*]] = weft.gather %[[I]], %[[AT]], dim = 0, kind = points mode = assume
// CHECK:         %[[N:.*]] = weft.select %{{.*}}, %[[GIVEN]], %{{.*}}
// CHECK:         %[[R:.*]] = weft.gather %[[T]], %[[I]], dim = 0, kind = points mode = clip
// CHECK:         weft.return %[[R]], %[[N]], %[[AT]]
// CHECK-LABEL: weft.func private @none.checked
// CHECK:         %[[Z:.*]] = weft.constant dense<0> : tensor<i64, #cpu>
// CHECK:         %[[Y:.*]] = weft.constant dense<0> : tensor<i64, #cpu>
// CHECK:         weft.return %{{.*}}, %[[Z]], %[[Y]]
// CHECK-LABEL: weft.func private @follow.checked
// CHECK-SAME:    (%{{.*}}: tensor<i64, #cpu>, %[[BEFORE:.*]]: tensor<i64, #cpu>, %{{.*}}: tensor<5xi64, #cpu>)
// CHECK:         %[[BAD:.*]] = weft.ne %[[BEFORE]]
// CHECK:         %[[KEPT:.*]] = weft.select %[[BAD]], %[[BEFORE]], %{{.*}}
// CHECK:         weft.return %{{.*}}, %[[KEPT]]
// CHECK-LABEL: weft.func private @differs.checked
// CHECK:         %[[FINE:.*]] = weft.eq
// CHECK:         weft.and %{{.*}}, %[[FINE]]
// The numbers of the first trip that refuses one of its two indices stay. A position is added to that of the trip, which is
// three indices behind the one before. If a target is refused, all are of class 0.
// CHECK-LABEL: weft.func private @trip.checked
// CHECK-SAME:    (%{{.*}}: tensor<4xf32, #cpu>, %[[A:.*]]: tensor<i64, #cpu>, %[[B:.*]]: tensor<i64, #cpu>, %[[ATA:.*]]: tensor<i64, #cpu>, %[[ATB:.*]]: tensor<i64, #cpu>, %{{.*}}: tensor<3xi64, #cpu>,
// CHECK:         weft.gather {{.*}} mode = clip
// CHECK:         %[[GOOD:.*]] = weft.eq
// CHECK:         %[[ALL:.*]] = weft.broadcast_in_dim %[[GOOD]]
// CHECK:         %[[TARGET:.*]] = weft.select %[[ALL]]
// CHECK:         weft.cross_entropy %{{.*}}, %[[TARGET]], reduction = mean {weft.targets_in_range}
// CHECK-DAG:     %[[STEP:.*]] = weft.constant dense<3> : tensor<i64, #cpu>
// CHECK:         %[[ONE:.*]] = weft.ne %[[A]]
// CHECK:         %[[OTHER:.*]] = weft.ne %[[B]]
// CHECK:         %[[ANY:.*]] = weft.or %[[ONE]], %[[OTHER]]
// CHECK:         %[[MOREA:.*]] = weft.select %{{.*}}, %{{.*}}, %[[STEP]]
// CHECK:         %[[NEXTA:.*]] = weft.add %[[ATA]], %[[MOREA]]
// CHECK:         %[[NEXTB:.*]] = weft.add %[[ATB]]
// CHECK:         %[[KEPTA:.*]] = weft.select %[[ANY]], %[[A]]
// CHECK:         %[[KEPTB:.*]] = weft.select %[[ANY]], %[[B]]
// CHECK:         %[[KEPTATA:.*]] = weft.select %[[ANY]], %[[ATA]], %[[NEXTA]]
// CHECK:         %[[KEPTATB:.*]] = weft.select %[[ANY]], %[[ATB]], %[[NEXTB]]
// CHECK:         weft.return %{{.*}}, %[[KEPTA]], %[[KEPTB]], %[[KEPTATA]], %[[KEPTATB]], %{{.*}}
// CHECK-LABEL: weft.func private @nothing.checked
// CHECK:         %[[ONE:.*]] = weft.constant dense<1> : tensor<i64, #cpu>
// CHECK:         weft.return %{{.*}}, %[[ONE]]
