// RUN: weft-opt %s --weft-split-reductions | FileCheck %s
// RUN: weft-opt %s --weft-split-reductions --weft-split-reductions | FileCheck %s

#cpu = #weft.device<cpu>
#cuda = #weft.device<cuda:0>

// A sum of everything becomes 256 sums of equal, aligned pieces and one of their results.
// CHECK-LABEL: weft.func @all(
// CHECK-SAME:    %[[A:.*]]: tensor<1024x1024xf32, #cpu>)
// CHECK-NEXT:    %[[R:.*]] = weft.reshape %[[A]] : tensor<1024x1024xf32, #cpu> -> tensor<256x4096xf32, #cpu>
// CHECK-NEXT:    %[[P:.*]] = weft.sum %[[R]], dims = [1] : tensor<256x4096xf32, #cpu>
// CHECK-NEXT:    %[[S:.*]] = weft.sum %[[P]], dims = [0] : tensor<256xf32, #cpu>
// CHECK-NEXT:    weft.return %[[S]]
weft.func @all(%a: tensor<1024x1024xf32, #cpu>) -> tensor<f32, #cpu> {
  %0 = weft.sum %a, dims = [0, 1] : tensor<1024x1024xf32, #cpu>
  weft.return %0 : tensor<f32, #cpu>
}

// Rows that are kept stay in front.
// CHECK-LABEL: weft.func @rows(
// CHECK:         weft.reshape %{{.*}} -> tensor<2x3x32x2048xf32, #cpu>
// CHECK-NEXT:    weft.rmax %{{.*}}, dims = [3] : tensor<2x3x32x2048xf32, #cpu>
// CHECK-NEXT:    weft.rmax %{{.*}}, dims = [2] : tensor<2x3x32xf32, #cpu>
weft.func @rows(%a: tensor<2x3x65536xf32, #cpu>) -> tensor<2x3xf32, #cpu> {
  %0 = weft.rmax %a, dims = [2] : tensor<2x3x65536xf32, #cpu>
  weft.return %0 : tensor<2x3xf32, #cpu>
}

// The channels of images: on a GPU, each image's plane is reduced, here in pieces, and then the planes of a channel.
// CHECK-LABEL: weft.func @channels(
// CHECK-SAME:    %[[A:.*]]: tensor<8x3x256x256xf16, #cuda{{.*}}>)
// CHECK-NEXT:    %[[W:.*]] = weft.convert %[[A]] to f32
// CHECK-NEXT:    %[[R:.*]] = weft.reshape %[[W]] : tensor<8x3x256x256xf32, #cuda{{.*}}> -> tensor<8x3x32x2048xf32, #cuda{{.*}}>
// CHECK-NEXT:    %[[P:.*]] = weft.sum %[[R]], dims = [3]
// CHECK-NEXT:    %[[Q:.*]] = weft.sum %[[P]], dims = [2] : tensor<8x3x32xf32, #cuda{{.*}}>
// CHECK-NEXT:    %[[S:.*]] = weft.sum %[[Q]], dims = [0] : tensor<8x3xf32, #cuda{{.*}}>
// CHECK-NEXT:    weft.convert %[[S]] to f16
weft.func @channels(%a: tensor<8x3x256x256xf16, #cuda>) -> tensor<3xf16, #cuda> {
  %0 = weft.sum %a, dims = [0, 2, 3] : tensor<8x3x256x256xf16, #cuda>
  weft.return %0 : tensor<3xf16, #cuda>
}

// Many channels have a block each, few elements are one block's, and so are the elements of short pieces.
// CHECK-LABEL: weft.func @whole_channels(
// CHECK-NEXT:    weft.rmax %{{.*}}, dims = [0, 2] : tensor<64x64x1024xf32, #cuda{{.*}}>
// CHECK-NEXT:    weft.rmax %{{.*}}, dims = [0, 2] : tensor<8x3x1024xf32, #cuda{{.*}}>
// CHECK-NEXT:    weft.rmax %{{.*}}, dims = [0, 2] : tensor<1024x3x63xf32, #cuda{{.*}}>
// CHECK-NEXT:    weft.rmax %{{.*}}, dims = [0, 2] : tensor<32x3x1024xf32, #cpu>
// CHECK-NEXT:    weft.return
weft.func @whole_channels(%a: tensor<64x64x1024xf32, #cuda>, %b: tensor<8x3x1024xf32, #cuda>, %c: tensor<1024x3x63xf32, #cuda>, %d: tensor<32x3x1024xf32, #cpu>)
    -> (tensor<64xf32, #cuda>, tensor<3xf32, #cuda>, tensor<3xf32, #cuda>, tensor<3xf32, #cpu>) {
  %0 = weft.rmax %a, dims = [0, 2] : tensor<64x64x1024xf32, #cuda>
  %1 = weft.rmax %b, dims = [0, 2] : tensor<8x3x1024xf32, #cuda>
  %2 = weft.rmax %c, dims = [0, 2] : tensor<1024x3x63xf32, #cuda>
  %3 = weft.rmax %d, dims = [0, 2] : tensor<32x3x1024xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<64xf32, #cuda>, tensor<3xf32, #cuda>, tensor<3xf32, #cuda>, tensor<3xf32, #cpu>
}

// A prime number of elements: equal pieces, and a rest that is added last.
// CHECK-LABEL: weft.func @prime(
// CHECK-SAME:    %[[A:.*]]: tensor<1000003xf32, #cpu>)
// CHECK-NEXT:    %[[HEAD:.*]] = weft.slice %[[A]], start = [0], limit = [999424], step = [1]
// CHECK-NEXT:    %[[TAIL:.*]] = weft.slice %[[A]], start = [999424], limit = [1000003], step = [1]
// CHECK-NEXT:    %[[R:.*]] = weft.reshape %[[HEAD]] : tensor<999424xf32, #cpu> -> tensor<256x3904xf32, #cpu>
// CHECK-NEXT:    %[[P:.*]] = weft.sum %[[R]], dims = [1]
// CHECK-NEXT:    %[[S:.*]] = weft.sum %[[P]], dims = [0]
// CHECK-NEXT:    %[[T:.*]] = weft.sum %[[TAIL]], dims = [0]
// CHECK-NEXT:    weft.add %[[S]], %[[T]]
weft.func @prime(%a: tensor<1000003xf32, #cpu>) -> tensor<f32, #cpu> {
  %0 = weft.sum %a, dims = [0] : tensor<1000003xf32, #cpu>
  weft.return %0 : tensor<f32, #cpu>
}

// A sum of halves is rounded once, as the single sum is; the smallest of halves needs no wider type.
// CHECK-LABEL: weft.func @halves(
// CHECK-NEXT:    weft.convert %{{.*}} to f32
// CHECK-NEXT:    weft.reshape %{{.*}} -> tensor<32x2048xf32, #cpu>
// CHECK-NEXT:    weft.sum
// CHECK-NEXT:    weft.sum
// CHECK-NEXT:    weft.convert %{{.*}} to bf16 : tensor<f32, #cpu>
// CHECK-NEXT:    weft.reshape %{{.*}} -> tensor<32x2048xbf16, #cpu>
// CHECK-NEXT:    weft.rmin %{{.*}} : tensor<32x2048xbf16, #cpu>
weft.func @halves(%a: tensor<65536xbf16, #cpu>) -> (tensor<bf16, #cpu>, tensor<bf16, #cpu>) {
  %0 = weft.sum %a, dims = [0] : tensor<65536xbf16, #cpu>
  %1 = weft.rmin %a, dims = [0] : tensor<65536xbf16, #cpu>
  weft.return %0, %1 : tensor<bf16, #cpu>, tensor<bf16, #cpu>
}

// Rows above columns are cut into pieces that lie one after the other in memory: 64 for each 256 columns, or
// fewer, where that divides the rows.
// CHECK-LABEL: weft.func @columns(
// CHECK-SAME:    %[[A:[a-z0-9]*]]: tensor<8192x1024xf32, #cpu>
// CHECK-NEXT:    %[[R:.*]] = weft.reshape %[[A]] : tensor<8192x1024xf32, #cpu> -> tensor<16x512x1024xf32, #cpu>
// CHECK-NEXT:    %[[P:.*]] = weft.sum %[[R]], dims = [1] : tensor<16x512x1024xf32, #cpu>
// CHECK-NEXT:    %[[S:.*]] = weft.sum %[[P]], dims = [0] : tensor<16x1024xf32, #cpu>
// CHECK-NEXT:    weft.reshape %{{.*}} -> tensor<50x1000x64xf32, #cpu>
// CHECK-NEXT:    weft.rmax %{{.*}}, dims = [1] : tensor<50x1000x64xf32, #cpu>
// CHECK-NEXT:    weft.rmax %{{.*}}, dims = [0] : tensor<50x64xf32, #cpu>
// CHECK-NEXT:    weft.return %[[S]]
weft.func @columns(%a: tensor<8192x1024xf32, #cpu>, %b: tensor<50000x64xf32, #cpu>) -> (tensor<1024xf32, #cpu>, tensor<64xf32, #cpu>) {
  %0 = weft.sum %a, dims = [0] : tensor<8192x1024xf32, #cpu>
  %1 = weft.rmax %b, dims = [0] : tensor<50000x64xf32, #cpu>
  weft.return %0, %1 : tensor<1024xf32, #cpu>, tensor<64xf32, #cpu>
}

// Neighbouring dimensions in the middle are rows too, and halves are added in f32 and rounded once.
// CHECK-LABEL: weft.func @middle(
// CHECK-NEXT:    weft.convert %{{.*}} to f32
// CHECK-NEXT:    weft.reshape %{{.*}} : tensor<2x64x128x256xf32, #cpu> -> tensor<2x32x256x256xf32, #cpu>
// CHECK-NEXT:    weft.sum %{{.*}}, dims = [2] : tensor<2x32x256x256xf32, #cpu>
// CHECK-NEXT:    weft.sum %{{.*}}, dims = [1] : tensor<2x32x256xf32, #cpu>
// CHECK-NEXT:    weft.convert %{{.*}} to bf16 : tensor<2x256xf32, #cpu>
weft.func @middle(%a: tensor<2x64x128x256xbf16, #cpu>) -> tensor<2x256xbf16, #cpu> {
  %0 = weft.sum %a, dims = [1, 2] : tensor<2x64x128x256xbf16, #cpu>
  weft.return %0 : tensor<2x256xbf16, #cpu>
}

// Rows stay whole where there are few of them, few elements, columns enough, no good divisor (here a prime), and where the
// reduced dimensions are apart.
// CHECK-LABEL: weft.func @whole_columns(
// CHECK-NOT:     weft.reshape
// CHECK:         weft.return
weft.func @whole_columns(%few: tensor<4095x1024xf32, #cpu>, %small: tensor<4096x255xf32, #cpu>, %wide: tensor<4096x16384xf32, #cpu>,
                         %prime: tensor<8191x1024xf32, #cpu>, %apart: tensor<64x16x8192xf32, #cpu>)
    -> (tensor<1024xf32, #cpu>, tensor<255xf32, #cpu>, tensor<16384xf32, #cpu>, tensor<1024xf32, #cpu>, tensor<16xf32, #cpu>) {
  %0 = weft.sum %few, dims = [0] : tensor<4095x1024xf32, #cpu>
  %1 = weft.sum %small, dims = [0] : tensor<4096x255xf32, #cpu>
  %2 = weft.sum %wide, dims = [0] : tensor<4096x16384xf32, #cpu>
  %3 = weft.sum %prime, dims = [0] : tensor<8191x1024xf32, #cpu>
  %4 = weft.sum %apart, dims = [0, 2] : tensor<64x16x8192xf32, #cpu>
  weft.return %0, %1, %2, %3, %4 : tensor<1024xf32, #cpu>, tensor<255xf32, #cpu>, tensor<16384xf32, #cpu>, tensor<1024xf32, #cpu>, tensor<16xf32, #cpu>
}

// On a GPU there are blocks of 64 columns, of which 512 fill it: 32 pieces for 1,024 columns; pieces have 128 rows or more.
// CHECK-LABEL: weft.func @columns_of_a_gpu(
// CHECK:         weft.reshape {{.*}} -> tensor<32x256x1024xf32
// CHECK-NEXT:    weft.sum {{.*}}, dims = [1]
// CHECK-NEXT:    weft.sum {{.*}}, dims = [0] : tensor<32x1024xf32
// CHECK:         weft.convert {{.*}} to f32
// CHECK-NEXT:    weft.reshape {{.*}} -> tensor<16x128x128xf32
weft.func @columns_of_a_gpu(%many: tensor<8192x1024xf32, #cuda>, %halves: tensor<2048x128xf16, #cuda>)
    -> (tensor<1024xf32, #cuda>, tensor<128xf16, #cuda>) {
  %0 = weft.sum %many, dims = [0] : tensor<8192x1024xf32, #cuda>
  %1 = weft.sum %halves, dims = [0] : tensor<2048x128xf16, #cuda>
  weft.return %0, %1 : tensor<1024xf32, #cuda>, tensor<128xf16, #cuda>
}

// There, too, few rows, few elements, columns that fill it in fewer than four pieces, and a prime stay whole.
// CHECK-LABEL: weft.func @whole_columns_of_a_gpu(
// CHECK-NOT:     weft.reshape
// CHECK:         weft.return
weft.func @whole_columns_of_a_gpu(%few: tensor<2047x1024xf32, #cuda>, %small: tensor<2048x63xf32, #cuda>, %wide: tensor<2048x8256xf32, #cuda>,
                                  %prime: tensor<8191x1024xf32, #cuda>)
    -> (tensor<1024xf32, #cuda>, tensor<63xf32, #cuda>, tensor<8256xf32, #cuda>, tensor<1024xf32, #cuda>) {
  %0 = weft.sum %few, dims = [0] : tensor<2047x1024xf32, #cuda>
  %1 = weft.sum %small, dims = [0] : tensor<2048x63xf32, #cuda>
  %2 = weft.sum %wide, dims = [0] : tensor<2048x8256xf32, #cuda>
  %3 = weft.sum %prime, dims = [0] : tensor<8191x1024xf32, #cuda>
  weft.return %0, %1, %2, %3 : tensor<1024xf32, #cuda>, tensor<63xf32, #cuda>, tensor<8256xf32, #cuda>, tensor<1024xf32, #cuda>
}

// Enough rows, a short extent, and few rows of columns are left as they are.
// CHECK-LABEL: weft.func @left(
// CHECK-NOT:     weft.reshape
// CHECK:         weft.return
weft.func @left(%a: tensor<64x65536xf32, #cpu>, %b: tensor<32767xf32, #cpu>, %c: tensor<65536x4xf32, #cpu>)
    -> (tensor<64xf32, #cpu>, tensor<f32, #cpu>, tensor<4xf32, #cpu>) {
  %0 = weft.sum %a, dims = [1] : tensor<64x65536xf32, #cpu>
  %1 = weft.sum %b, dims = [0] : tensor<32767xf32, #cpu>
  %2 = weft.sum %c, dims = [0] : tensor<65536x4xf32, #cpu>
  weft.return %0, %1, %2 : tensor<64xf32, #cpu>, tensor<f32, #cpu>, tensor<4xf32, #cpu>
}
