// On a GPU a size that each call chooses is the last of one place more, since a function there has no numbers of the host.
// RUN: weft-opt %s --weft-carry-checks --symbol-dce | FileCheck %s

#row = #weft.device<cuda:0, [n]>
#gpu = #weft.device<cuda:0>
weft.func private @goes_on(%i: tensor<i64, #gpu>, %t: tensor<?xi64, #row>) -> tensor<i1, #gpu> attributes {weft.symbols = [#weft.symbol<"n", 1, 100>]} {
  %z = weft.constant dense<0> : tensor<i64, #gpu>
  %p = weft.ge %i, %z : tensor<i64, #gpu>
  weft.return %p : tensor<i1, #gpu>
}
weft.func private @follows(%i: tensor<i64, #gpu>, %t: tensor<?xi64, #row>) -> tensor<i64, #gpu> attributes {weft.symbols = [#weft.symbol<"n", 1, 100>]} {
  %r = weft.gather %t, %i, dim = 0, kind = points : tensor<?xi64, #row>, tensor<i64, #gpu>
  weft.return %r : tensor<i64, #gpu>
}
// CHECK-LABEL: weft.func @dynamic
// CHECK:         weft.while @{{.*}} do @[[BODY:.*]](%arg0, %{{.*}}) with(%arg1)
weft.func @dynamic(%i: tensor<i64, #gpu>, %t: tensor<?xi64, #row>) -> tensor<i64, #gpu> attributes {weft.symbols = [#weft.symbol<"n", 1, 100>]} {
  %r = weft.while @goes_on do @follows(%i) with(%t) {may_fail} : (tensor<i64, #gpu>, tensor<?xi64, #row>) -> tensor<i64, #gpu>
  weft.return %r : tensor<i64, #gpu>
}
// CHECK:       weft.func private @[[BODY]]
// CHECK-NOT:     weft.dim
// CHECK:         %[[PLACES:.*]] = weft.iota dim = 0 : tensor<?xi64, #{{.*}}>
// CHECK:         %[[LAST:.*]] = weft.slice %[[PLACES]]
// CHECK:         %[[SIZE:.*]] = weft.reshape %[[LAST]]
// CHECK:         weft.ge %{{.*}}, %[[SIZE]]
