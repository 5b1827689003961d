// RUN: weft-opt %s --weft-elide-checks -split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-pipeline='to=decomposition' -split-input-file | FileCheck %s --check-prefix=ALL

#cpu = #weft.device<cpu>
// The reading makes the check: its record goes, and all that was there for it.
// CHECK-LABEL: @made
// CHECK-NEXT:    %[[G:.*]] = weft.gather %arg0, %arg1
// CHECK-NEXT:    weft.return %[[G]]
// ALL-LABEL: @made
// ALL-NEXT:    %[[G:.*]] = weft.gather %arg0, %arg1
// ALL-NEXT:    weft.return %[[G]]
weft.func @made(%x: tensor<10xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<3xf32, #cpu> {
  %zero = weft.constant dense<0> : tensor<3xi64, #cpu>
  %table = weft.iota dim = 0 : tensor<10xi64, #cpu>
  %0 = weft.gather %table, %i, dim = 0, kind = points : tensor<10xi64, #cpu>, tensor<3xi64, #cpu>
  %1 = weft.ge %0, %zero : tensor<3xi64, #cpu>
  weft.assert %1, "an index is out of bounds" {weft.recorded_check} : tensor<3xi1, #cpu>
  %2 = weft.gather %x, %i, dim = 0, kind = points : tensor<10xf32, #cpu>, tensor<3xi64, #cpu>
  weft.return %2 : tensor<3xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Nothing else looks at the index: the assertion is one of the program from now on. Of two equal ones one is enough.
// CHECK-LABEL: @lost
// CHECK:         weft.assert %{{.*}}, "an index is out of bounds" : tensor<3xi1, #cpu>
// CHECK-NOT:     weft.assert
// CHECK:         weft.return %arg0
weft.func @lost(%x: tensor<10xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<10xf32, #cpu> {
  %zero = weft.constant dense<0> : tensor<3xi64, #cpu>
  %table = weft.iota dim = 0 : tensor<10xi64, #cpu>
  %0 = weft.gather %table, %i, dim = 0, kind = points : tensor<10xi64, #cpu>, tensor<3xi64, #cpu>
  %1 = weft.ge %0, %zero : tensor<3xi64, #cpu>
  weft.assert %1, "an index is out of bounds" {weft.recorded_check} : tensor<3xi1, #cpu>
  weft.assert %1, "an index is out of bounds" {weft.recorded_check} : tensor<3xi1, #cpu>
  weft.return %x : tensor<10xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Another bound is another check.
// CHECK-LABEL: @bounds
// CHECK:         %[[T:.*]] = weft.iota dim = 0 : tensor<8xi64, #cpu>
// CHECK:         weft.assert
// CHECK-NOT:     weft.assert
// ALL-LABEL: @bounds
// ALL:         weft.assert
// ALL-NOT:     weft.assert
// ALL:         weft.return
weft.func @bounds(%x: tensor<10xf32, #cpu>, %y: tensor<9xf32, #cpu>, %i: tensor<3xi64, #cpu>)
    -> (tensor<1xf32, #cpu>, tensor<3xf32, #cpu>) {
  %zero = weft.constant dense<0> : tensor<3xi64, #cpu>
  %table = weft.iota dim = 0 : tensor<10xi64, #cpu>
  %0 = weft.gather %table, %i, dim = 0, kind = points : tensor<10xi64, #cpu>, tensor<3xi64, #cpu>
  %1 = weft.ge %0, %zero : tensor<3xi64, #cpu>
  weft.assert %1, "an index is out of bounds" {weft.recorded_check} : tensor<3xi1, #cpu>
  %table8 = weft.iota dim = 0 : tensor<8xi64, #cpu>
  %2 = weft.gather %table8, %i, dim = 0, kind = points : tensor<8xi64, #cpu>, tensor<3xi64, #cpu>
  %3 = weft.ge %2, %zero : tensor<3xi64, #cpu>
  weft.assert %3, "an index is out of bounds" {weft.recorded_check} : tensor<3xi1, #cpu>
  %4 = weft.gather %x, %i, dim = 0, kind = points : tensor<10xf32, #cpu>, tensor<3xi64, #cpu>
  %5 = weft.slice %4, start = [0], limit = [1], step = [1] : tensor<3xf32, #cpu>
  %6 = weft.gather %y, %i, dim = 0, kind = points : tensor<9xf32, #cpu>, tensor<3xi64, #cpu>
  weft.return %5, %6 : tensor<1xf32, #cpu>, tensor<3xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// A rewrite drops the reading, and not its check.
// ALL-LABEL: @folded
// ALL:         weft.gather {{.*}} : tensor<10xi64, #cpu>, tensor<3xi64, #cpu>
// ALL:         weft.assert
// ALL-NOT:     weft.select
// ALL:         weft.return
weft.func @folded(%x: tensor<10xf32, #cpu>, %y: tensor<3xf32, #cpu>, %i: tensor<3xi64, #cpu>) -> tensor<3xf32, #cpu> {
  %0 = weft.gather %x, %i, dim = 0, kind = points : tensor<10xf32, #cpu>, tensor<3xi64, #cpu>
  %true = weft.constant dense<true> : tensor<3xi1, #cpu>
  %1 = weft.select %true, %y, %0 : tensor<3xi1, #cpu>, tensor<3xf32, #cpu>
  weft.return %1 : tensor<3xf32, #cpu>
}
