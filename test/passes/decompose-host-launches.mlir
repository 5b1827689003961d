// RUN: weft-opt %s --weft-decompose-composites | FileCheck %s
// RUN: weft-opt %s --weft-decompose-composites | FileCheck %s --check-prefix=GATHERS
// RUN: weft-opt %s --weft-decompose-composites=target=sm_90 | FileCheck %s --check-prefix=GPU

#cpu = #weft.device<cpu>
#cuda = #weft.device<cuda:0>
#n = #weft.device<cuda:0, [n]>

// On a CPU the runtime sorts.
// CHECK-LABEL: weft.func @cpu
// CHECK-NEXT:    weft.sort
// CHECK-NEXT:    weft.return
weft.func @cpu(%a: tensor<2x5xf32, #cpu>) -> tensor<2x5xi64, #cpu> {
  %v, %i = weft.sort %a, count = 5 : tensor<2x5xf32, #cpu>
  weft.return %i : tensor<2x5xi64, #cpu>
}

// A GPU has a kernel for rows that a block holds. Where devices run code of the host, runs of 1, 2 and 4 elements are merged: a search of 1, 2 and 3 steps, each of which reads two keys,
// then two keys to choose from, then the key and its place.
// CHECK-LABEL: weft.func @cuda
// CHECK-NOT:     weft.sort
// CHECK:         weft.slice
// CHECK:         weft.return
// GATHERS-LABEL: weft.func @cuda
// GATHERS-COUNT-24: weft.gather
// GATHERS-NOT:      weft.gather
// GPU-LABEL: weft.func @cuda
// GPU-NEXT:    weft.sort
// GPU-NEXT:    weft.return
weft.func @cuda(%a: tensor<2x5xf32, #cuda>) -> (tensor<2x3xf32, #cuda>, tensor<2x3xi64, #cuda>) {
  %v, %i = weft.sort %a, count = 3 descending : tensor<2x5xf32, #cuda>
  weft.return %v, %i : tensor<2x3xf32, #cuda>, tensor<2x3xi64, #cuda>
}

// The longest rows that a block holds, of any number, and longer ones.
// GATHERS-LABEL: weft.func @longest
// GPU-LABEL: weft.func @longest
// GPU-COUNT-2: weft.sort
// GPU:         weft.return
weft.func @longest(%a: tensor<?x8192xf32, #n>, %b: tensor<16384xbf16, #cuda>)
    -> (tensor<?x8192xi64, #n>, tensor<16384xi64, #cuda>) attributes {weft.symbols = [#weft.symbol<"n", 1, 9>]} {
  %v, %i = weft.sort %a, count = 8192 : tensor<?x8192xf32, #n>
  %w, %j = weft.sort %b, count = 16384 : tensor<16384xbf16, #cuda>
  weft.return %i, %j : tensor<?x8192xi64, #n>, tensor<16384xi64, #cuda>
}

// GPU-LABEL: weft.func @longer
// GPU-NOT:     weft.sort
// GPU:         weft.return
weft.func @longer(%a: tensor<8193xf32, #cuda>, %b: tensor<3x?xf32, #n>)
    -> (tensor<8193xi64, #cuda>, tensor<3x?xi64, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 9>]} {
  %v, %i = weft.sort %a, count = 8193 : tensor<8193xf32, #cuda>
  %w, %j = weft.sort %b, count = n : tensor<3x?xf32, #n>
  weft.return %i, %j : tensor<8193xi64, #cuda>, tensor<3x?xi64, #n>
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
