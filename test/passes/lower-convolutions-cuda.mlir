// RUN: weft-opt %s --weft-differentiate --canonicalize --weft-lower-convolutions="report=true target=sm_90" | FileCheck %s
// RUN: weft-opt %s --weft-pipeline=target=sm_90 -o /dev/null

#gpu = #weft.device<cuda:0>
#n = #weft.device<cuda:0, [n]>

// A convolution of halves, which no library computes, is one launch.
// CHECK-LABEL: weft.func @halves
// CHECK-NEXT: %[[Y:.*]] = weft.implicit_gemm %arg0 {{.*}} shape = [2, 1, 3, 4], extents = [8, 8], window = [3, 3]
// CHECK-NEXT: weft.return %[[Y]]
weft.func @halves(%x: tensor<2x3x8x8xbf16, #gpu>, %w: tensor<4x3x3x3xbf16, #gpu>) -> tensor<2x4x8x8xbf16, #gpu> {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<2x3x8x8xbf16, #gpu>, tensor<4x3x3x3xbf16, #gpu>
  weft.return %y : tensor<2x4x8x8xbf16, #gpu>
}

// So is one of f64.
// CHECK-LABEL: weft.func @doubles
// CHECK-NOT: WEFT-N011
// CHECK-NEXT: %[[Y:.*]] = weft.implicit_gemm %arg0 {{.*}} shape = [2, 1, 3, 4], extents = [8, 8], window = [3, 3]
// CHECK-NEXT: weft.return %[[Y]]
weft.func @doubles(%x: tensor<2x3x8x8xf64, #gpu>, %w: tensor<4x3x3x3xf64, #gpu>) -> tensor<2x4x8x8xf64, #gpu> {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<2x3x8x8xf64, #gpu>, tensor<4x3x3x3xf64, #gpu>
  weft.return %y : tensor<2x4x8x8xf64, #gpu>
}

// Nine tiles are too few for all multiprocessors: the batch is divided into 16 groups, whose sums are added in the order
// of the weights.
// CHECK-LABEL: weft.func @weights
// CHECK: %[[P:.*]] = weft.implicit_gemm %arg0 [0, 1024, 131072, 65536, 32, 1], %{{.*}} [0, 131072, 1024, 65536, 32, 1], shape = [64, 16, 2, 64], extents = [32, 32], window = [32, 32], places = [3, 3], {{.*}}order = [1, 0, 2, 3]
// CHECK-NEXT: %[[R:.*]] = weft.reshape %[[P]] : tensor<1024x64x3x3xf32, {{.*}}> -> tensor<16x64x64x3x3xf32
// CHECK-NEXT: %[[S:.*]] = weft.sum %[[R]], dims = [0]
// CHECK-NEXT: weft.return %[[S]]
weft.func @weights(%x: tensor<32x64x32x32xf32, #gpu>, %w: tensor<64x64x3x3xf32, #gpu>) -> tensor<64x64x3x3xf32, #gpu> {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x64x32x32xf32, #gpu>, tensor<64x64x3x3xf32, #gpu>
  %m = weft.mul %y, %y : tensor<32x64x32x32xf32, #gpu>
  %dw = weft.gradient %m wrt %w : tensor<32x64x32x32xf32, #gpu>, tensor<64x64x3x3xf32, #gpu>
  weft.return %dw : tensor<64x64x3x3xf32, #gpu>
}

// The same where nothing transposes the sums: their order is that of the convolution.
// CHECK-LABEL: weft.func @pieces
// CHECK: %[[P:.*]] = weft.implicit_gemm {{.*}} shape = [2, 16, 64, 8], {{.*}}order = [1, 0, 2]
// CHECK-NEXT: %[[R:.*]] = weft.reshape %[[P]]
// CHECK-NEXT: %[[S:.*]] = weft.sum %[[R]], dims = [0]
// CHECK-NEXT: %[[T:.*]] = weft.transpose %[[S]], perm = [1, 0, 2]
// CHECK-NEXT: weft.return %[[T]]
weft.func @pieces(%x: tensor<2x1024x9xf32, #gpu>, %w: tensor<8x1024x4xf32, #gpu>) -> tensor<2x8x6xf32, #gpu> {
  %y = weft.convolution %x, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x1024x9xf32, #gpu>, tensor<8x1024x4xf32, #gpu>
  weft.return %y : tensor<2x8x6xf32, #gpu>
}

// The derivative of a convolution with a stride with respect to its operand: zeros lie between the elements of the
// cotangent, and one launch leaves them out. The weights are read where they lie, from the last to the first.
// CHECK-LABEL: weft.func @stride
// CHECK-NOT: WEFT-N011
// CHECK: weft.implicit_gemm %{{.*}}, %arg1 [8, 0, 9, 27, -3, -1], shape = [2, 1, 4, 3], extents = [4, 4], window = [3, 3], places = [8, 8], stride = [1, 1], low = [1, 1], base_dilation = [2, 2]
// CHECK-NOT: weft.convolution
weft.func @stride(%x: tensor<2x3x8x8xf32, #gpu>, %w: tensor<4x3x3x3xf32, #gpu>) -> tensor<2x3x8x8xf32, #gpu> {
  %y = weft.convolution %x, %w, stride = [2, 2], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<2x3x8x8xf32, #gpu>, tensor<4x3x3x3xf32, #gpu>
  %m = weft.mul %y, %y : tensor<2x4x4x4xf32, #gpu>
  %dx = weft.gradient %m wrt %x : tensor<2x4x4x4xf32, #gpu>, tensor<2x3x8x8xf32, #gpu>
  weft.return %dx : tensor<2x3x8x8xf32, #gpu>
}

// The derivative of a transposed convolution with respect to its weights, over a batch of any size: operand and weights
// have each other's role, and there are no zeros. Places are counted from the last one.
// CHECK-LABEL: weft.func @exchanged
// CHECK-NOT: WEFT-N011
// CHECK: %[[Y:.*]] = weft.implicit_gemm {{.*}}extents = [20], window = [9], places = [4], stride = [1], low = [1], base_dilation = [1], window_dilation = [2]
// CHECK: weft.reverse %[[Y]], dims = [2]
// CHECK-NOT: weft.convolution
weft.func @exchanged(%x: tensor<?x4x9xf32, #n>, %w: tensor<3x4x4xf32, #gpu>)
    -> tensor<3x4x4xf32, #gpu> attributes {weft.symbols = [#weft.symbol<"n", 1, 16>]} {
  %y = weft.convolution %x, %w, stride = [1], low = [2], high = [4], base_dilation = [2], window_dilation = [1], groups = 1
     : tensor<?x4x9xf32, #n>, tensor<3x4x4xf32, #gpu>
  %m = weft.mul %y, %y : tensor<?x3x20xf32, #n>
  %dw = weft.gradient %m wrt %w : tensor<?x3x20xf32, #n>, tensor<3x4x4xf32, #gpu>
  weft.return %dw : tensor<3x4x4xf32, #gpu>
}

// The same of an operand without elements, which has no launch and no product.
// CHECK-LABEL: weft.func @empty
// CHECK-NOT: weft.implicit_gemm
// CHECK: weft.return
weft.func @empty(%x: tensor<2x4x0xf32, #gpu>, %w: tensor<3x4x4xf32, #gpu>) -> (tensor<2x3x1xf32, #gpu>, tensor<3x4x4xf32, #gpu>) {
  %y = weft.convolution %x, %w, stride = [1], low = [2], high = [2], base_dilation = [2], window_dilation = [1], groups = 1
     : tensor<2x4x0xf32, #gpu>, tensor<3x4x4xf32, #gpu>
  %dw = weft.gradient %y wrt %w : tensor<2x3x1xf32, #gpu>, tensor<3x4x4xf32, #gpu>
  weft.return %y, %dw : tensor<2x3x1xf32, #gpu>, tensor<3x4x4xf32, #gpu>
}

// A transposed convolution whose places are fewer than the elements of the window has no zeros that meet its operand: an
// infinite element outside of a window gives no NaN. So is the derivative with respect to the operand of one with a stride,
// also over a batch of any size.
// CHECK-LABEL: weft.func @fewPlaces
// CHECK-NOT: WEFT-N011
// CHECK: weft.implicit_gemm %arg0 {{.*}}extents = [4], window = [9], places = [5], stride = [1], low = [3], base_dilation = [2]
// CHECK-NOT: weft.convolution
weft.func @fewPlaces(%x: tensor<1x2x4xf32, #gpu>, %w: tensor<2x2x9xf32, #gpu>) -> tensor<1x2x5xf32, #gpu> {
  %y = weft.convolution %x, %w, stride = [1], low = [3], high = [3], base_dilation = [2], window_dilation = [1], groups = 1
     : tensor<1x2x4xf32, #gpu>, tensor<2x2x9xf32, #gpu>
  weft.return %y : tensor<1x2x5xf32, #gpu>
}

// CHECK-LABEL: weft.func @fewPlacesOfAnyBatch
// CHECK-NOT: WEFT-N011
// CHECK: weft.implicit_gemm {{.*}}extents = [1, 1], window = [3, 3], places = [2, 2], stride = [1, 1], low = [1, 1], base_dilation = [2, 2]
// CHECK-NOT: weft.convolution
weft.func @fewPlacesOfAnyBatch(%x: tensor<?x4x2x2xf32, #n>, %w: tensor<3x4x3x3xf32, #gpu>)
    -> tensor<?x4x2x2xf32, #n> attributes {weft.symbols = [#weft.symbol<"n", 1, 16>]} {
  %y = weft.convolution %x, %w, stride = [2, 2], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<?x4x2x2xf32, #n>, tensor<3x4x3x3xf32, #gpu>
  %m = weft.mul %y, %y : tensor<?x3x1x1xf32, #n>
  %dx = weft.gradient %m wrt %x : tensor<?x3x1x1xf32, #n>, tensor<?x4x2x2xf32, #n>
  weft.return %dx : tensor<?x4x2x2xf32, #n>
}

// Windows that share no element, also of halves: the products are moved, and nothing is said.
// CHECK-LABEL: weft.func @disjoint
// CHECK-NOT: WEFT-N011
// CHECK: weft.convolution
weft.func @disjoint(%x: tensor<2x4x8xf16, #gpu>, %w: tensor<6x4x2xf16, #gpu>) -> tensor<2x6x16xf16, #gpu> {
  %y = weft.convolution %x, %w, stride = [1], low = [1], high = [1], base_dilation = [2], window_dilation = [1], groups = 1
     : tensor<2x4x8xf16, #gpu>, tensor<6x4x2xf16, #gpu>
  weft.return %y : tensor<2x6x16xf16, #gpu>
}

// Where the call knows the extent, or a group has one output, windows are stored or added instead, which is said.
// CHECK-LABEL: weft.func @disjointOfAnyExtent
// CHECK-SAME: WEFT-N011{{[^;]*}}these are known at run time only
// CHECK-SAME: WEFT-N011{{[^;]*}}groups of one output are sums over windows
weft.func @disjointOfAnyExtent(%x: tensor<2x4x?xf32, #n>, %w: tensor<6x4x2xf32, #gpu>, %z: tensor<2x4x8xf32, #gpu>, %v: tensor<1x4x2xf32, #gpu>)
    -> (tensor<2x6x?xf32, #weft.device<cuda:0, [2 * n]>>, tensor<2x1x16xf32, #gpu>) attributes {weft.symbols = [#weft.symbol<"n", 1, 16>]} {
  %y = weft.convolution %x, %w, stride = [1], low = [1], high = [1], base_dilation = [2], window_dilation = [1], groups = 1
     : tensor<2x4x?xf32, #n>, tensor<6x4x2xf32, #gpu>
  %1 = weft.convolution %z, %v, stride = [1], low = [1], high = [1], base_dilation = [2], window_dilation = [1], groups = 1
     : tensor<2x4x8xf32, #gpu>, tensor<1x4x2xf32, #gpu>
  weft.return %y, %1 : tensor<2x6x?xf32, #weft.device<cuda:0, [2 * n]>>, tensor<2x1x16xf32, #gpu>
}

// And of f64.
// CHECK-LABEL: weft.func @piecesOfDoubles
// CHECK: weft.implicit_gemm {{.*}} shape = [2, 16, 64, 8], {{.*}}order = [1, 0, 2]
// CHECK: weft.sum
weft.func @piecesOfDoubles(%x: tensor<2x1024x9xf64, #gpu>, %w: tensor<8x1024x4xf64, #gpu>) -> tensor<2x8x6xf64, #gpu> {
  %y = weft.convolution %x, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x1024x9xf64, #gpu>, tensor<8x1024x4xf64, #gpu>
  weft.return %y : tensor<2x8x6xf64, #gpu>
}

// And of halves, whose sums are added in f32 and rounded once.
// CHECK-LABEL: weft.func @piecesOfHalves
// CHECK-NOT: WEFT-N011
// CHECK: %[[P:.*]] = weft.implicit_gemm {{.*}} shape = [2, 16, 64, 8], {{.*}}order = [1, 0, 2] epilogue ["wide"]
// CHECK-NEXT: %[[R:.*]] = weft.reshape %[[P]] : tensor<128x2x6xf32, {{.*}}> -> tensor<16x8x2x6xf32
// CHECK-NEXT: %[[S:.*]] = weft.sum %[[R]], dims = [0]
// CHECK-NEXT: %[[C:.*]] = weft.convert %[[S]] to f16
// CHECK-NEXT: %[[T:.*]] = weft.transpose %[[C]], perm = [1, 0, 2]
// CHECK-NEXT: weft.return %[[T]]
weft.func @piecesOfHalves(%x: tensor<2x1024x9xf16, #gpu>, %w: tensor<8x1024x4xf16, #gpu>) -> tensor<2x8x6xf16, #gpu> {
  %y = weft.convolution %x, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x1024x9xf16, #gpu>, tensor<8x1024x4xf16, #gpu>
  weft.return %y : tensor<2x8x6xf16, #gpu>
}

// A product, for which nothing is said; and what no launch of a GPU computes, and why.
// CHECK-LABEL: weft.func @others
// CHECK-SAME: WEFT-N011{{[^;]*}}no launch of sm_90 computes a convolution of i32
// CHECK-SAME: WEFT-N011{{[^;]*}}its results are few and its sums long, so that the library divides the sums
// CHECK-SAME: WEFT-N011{{[^;]*}}its windows reach too far
// CHECK-NOT: WEFT-N011
// CHECK-NOT: weft.implicit_gemm
weft.func @others(%p: tensor<2x4x8xf32, #gpu>, %q: tensor<6x4x1xf32, #gpu>, %d: tensor<2x3x8xi32, #gpu>, %e: tensor<4x3x3xi32, #gpu>,
                  %w: tensor<2x4x3xf32, #gpu>, %h: tensor<2x2048x9xf16, #gpu>, %v: tensor<8x1024x4xf16, #gpu>)
    -> (tensor<2x6x8xf32, #gpu>, tensor<2x4x6xi32, #gpu>, tensor<2x8x6xf16, #gpu>, tensor<2x2x6xf32, #gpu>) {
  %0 = weft.convolution %p, %q, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x4x8xf32, #gpu>, tensor<6x4x1xf32, #gpu>
  %1 = weft.convolution %d, %e, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x3x8xi32, #gpu>, tensor<4x3x3xi32, #gpu>
  %2 = weft.convolution %h, %v, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 2
     : tensor<2x2048x9xf16, #gpu>, tensor<8x1024x4xf16, #gpu>
  %3 = weft.convolution %p, %w, stride = [1], low = [1073741824], high = [-1073741824], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x4x8xf32, #gpu>, tensor<2x4x3xf32, #gpu>
  weft.return %0, %1, %2, %3 : tensor<2x6x8xf32, #gpu>, tensor<2x4x6xi32, #gpu>, tensor<2x8x6xf16, #gpu>, tensor<2x2x6xf32, #gpu>
}
