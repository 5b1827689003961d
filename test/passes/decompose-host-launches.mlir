// RUN: weft-opt %s --weft-decompose-composites | FileCheck %s
// RUN: weft-opt %s --weft-decompose-composites | FileCheck %s --check-prefix=GATHERS

#cpu = #weft.device<cpu>
#cuda = #weft.device<cuda:0>

// On a CPU the runtime sorts.
// CHECK-LABEL: weft.func @cpu
// CHECK-NEXT:    weft.sort
// CHECK-NEXT:    weft.return
weft.func @cpu(%a: tensor<2x5xf32, #cpu>) -> tensor<2x5xi64, #cpu> {
  %v, %i = weft.sort %a, count = 5 : tensor<2x5xf32, #cpu>
  weft.return %i : tensor<2x5xi64, #cpu>
}

// Elsewhere runs of 1, 2 and 4 elements are merged: a search of 1, 2 and 3 steps, each of which reads two keys,
// then two keys to choose from, then the key and its place.
// CHECK-LABEL: weft.func @cuda
// CHECK-NOT:     weft.sort
// CHECK:         weft.slice
// CHECK:         weft.return
// GATHERS-LABEL: weft.func @cuda
// GATHERS-COUNT-24: weft.gather
// GATHERS-NOT:      weft.gather
weft.func @cuda(%a: tensor<2x5xf32, #cuda>) -> (tensor<2x3xf32, #cuda>, tensor<2x3xi64, #cuda>) {
  %v, %i = weft.sort %a, count = 3 descending : tensor<2x5xf32, #cuda>
  weft.return %v, %i : tensor<2x3xf32, #cuda>, tensor<2x3xi64, #cuda>
}

// The host factorizes matrices of other devices.
// CHECK-LABEL: weft.func @factorize
// CHECK:         %[[A:.*]] = weft.transfer %{{.*}} to {{.*}}
// CHECK:         %[[Q:.*]]:2 = weft.factorize %[[A]], kind = qr
// CHECK:         weft.transfer %[[Q]]#0 to
// CHECK:         weft.transfer %[[Q]]#1 to
weft.func @factorize(%a: tensor<4x3xf32, #cuda>) -> (tensor<4x3xf32, #cuda>, tensor<3x3xf32, #cuda>) {
  %q, %r = weft.factorize %a, kind = qr : tensor<4x3xf32, #cuda>
  weft.return %q, %r : tensor<4x3xf32, #cuda>, tensor<3x3xf32, #cuda>
}

// And computes their Fourier transforms.
// CHECK-LABEL: weft.func @fft
// CHECK:         %[[A:.*]] = weft.transfer %{{.*}} to {{.*}}
// CHECK:         %[[Y:.*]] = weft.fft %[[A]], kind = r2c
// CHECK:         weft.transfer %[[Y]] to
weft.func @fft(%a: tensor<4x6xf32, #cuda>) -> tensor<4x4x2xf32, #cuda> {
  %y = weft.fft %a, kind = r2c dim = 1 length = 6 scale = 1.0 : tensor<4x6xf32, #cuda>
  weft.return %y : tensor<4x4x2xf32, #cuda>
}
