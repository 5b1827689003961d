// RUN: weft-opt %s --weft-decompose-composites | FileCheck %s
// RUN: weft-opt %s --weft-decompose-composites --weft-decompose-composites | FileCheck %s
// RUN: weft-opt %s --weft-decompose-composites | FileCheck %s --check-prefix=NONE --implicit-check-not=softmax --implicit-check-not=cross_entropy --implicit-check-not=weft.sdpa

#cpu = #weft.device<cpu>
// NONE-LABEL: weft.func @row_max(

// softmax subtracts the largest element before the exponential.
// CHECK-LABEL: weft.func @row_max(
// CHECK-SAME:    %[[A:.*]]: tensor<4x8xf32, #cpu>
weft.func @row_max(%a: tensor<4x8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  // CHECK-NEXT: %[[TOP:.*]] = weft.rmax %[[A]], dims = [1]
  // CHECK-NEXT: %[[WIDE:.*]] = weft.broadcast_in_dim %[[TOP]], dims = [0]
  // CHECK-NEXT: %[[SHIFTED:.*]] = weft.sub %[[A]], %[[WIDE]]
  // CHECK-NEXT: %[[E:.*]] = weft.exp %[[SHIFTED]]
  // CHECK-NEXT: %[[TOTAL:.*]] = weft.sum %[[E]], dims = [1]
  // CHECK-NEXT: %[[SCALE:.*]] = weft.recip %[[TOTAL]]
  // CHECK-NEXT: %[[SCALES:.*]] = weft.broadcast_in_dim %[[SCALE]], dims = [0]
  // CHECK-NEXT: %[[Y:.*]] = weft.mul %[[E]], %[[SCALES]]
  %0 = weft.softmax %a, dim = 1 : tensor<4x8xf32, #cpu>
  // CHECK-NEXT: weft.return %[[Y]]
  weft.return %0 : tensor<4x8xf32, #cpu>
}

// Statistics of halves are computed in f32, and the result is rounded once.
// CHECK-LABEL: weft.func @halves(
weft.func @halves(%a: tensor<4x8xbf16, #cpu>) -> tensor<4x8xbf16, #cpu> {
  // CHECK: weft.convert %{{.*}} to f32 : tensor<4x8xbf16, #cpu>
  // CHECK: weft.log %{{.*}} : tensor<4xf32, #cpu>
  // CHECK: weft.convert %{{.*}} to bf16 : tensor<4x8xf32, #cpu>
  %0 = weft.log_softmax %a, dim = 1 : tensor<4x8xbf16, #cpu>
  weft.return %0 : tensor<4x8xbf16, #cpu>
}

// Both results of a loss are replaced, and rows of the ignored class count for nothing.
// CHECK-LABEL: weft.func @loss(
weft.func @loss(%a: tensor<4x8xf32, #cpu>, %t: tensor<4xi64, #cpu>) -> (tensor<f32, #cpu>, tensor<4xf32, #cpu>) {
  // CHECK: weft.constant dense<7> : tensor<4xi64, #cpu>
  // CHECK: %[[KEEP:.*]] = weft.ne
  // CHECK: weft.gather %{{.*}}, %{{.*}}, dim = 1, kind = {{ *}}along
  // CHECK: weft.select %[[KEEP]]
  // CHECK: %[[LOSS:.*]] = weft.div
  // CHECK-NEXT: weft.return %[[LOSS]], %{{.*}} : tensor<f32, #cpu>, tensor<4xf32, #cpu>
  %l, %lse = weft.cross_entropy %a, %t, reduction = mean ignore_index = 7 : tensor<4x8xf32, #cpu>, tensor<4xi64, #cpu>
  weft.return %l, %lse : tensor<f32, #cpu>, tensor<4xf32, #cpu>
}

// Targets that are in range are not checked, neither are the weights that they select.
// CHECK-LABEL: weft.func @checked_loss(
weft.func @checked_loss(%a: tensor<4x8xf32, #cpu>, %t: tensor<4xi64, #cpu>, %w: tensor<8xf32, #cpu>) -> tensor<f32, #cpu> {
  // CHECK: weft.gather %{{.*}}, %{{.*}}, dim = 1, kind = {{ *}}along mode = assume
  // CHECK: weft.gather %{{.*}}, %{{.*}}, dim = 0, kind = {{ *}}points mode = assume
  // CHECK: weft.return
  %l, %lse = weft.cross_entropy %a, %t weight %w, reduction = mean {weft.targets_in_range} : tensor<4x8xf32, #cpu>, tensor<4xi64, #cpu>, tensor<8xf32, #cpu>
  weft.return %l : tensor<f32, #cpu>
}

// layer_norm is a welford, and what it gives to every element; the variance is the biased one.
// CHECK-LABEL: weft.func @norm(
// CHECK-SAME:    %[[A:.*]]: tensor<4x8xf32, #cpu>, %[[W:.*]]: tensor<8xf32, #cpu>)
weft.func @norm(%a: tensor<4x8xf32, #cpu>, %w: tensor<8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  // CHECK: %[[MEAN:.*]], %[[M2:.*]], %{{.*}} = weft.welford %[[A]], dims = [1]
  // CHECK: %[[N:.*]] = weft.constant dense<8.000000e+00>
  // CHECK: %[[VAR:.*]] = weft.div %[[M2]], %[[N]]
  // CHECK: weft.rsqrt
  // CHECK: weft.sub %[[A]]
  // CHECK: weft.broadcast_in_dim %[[W]], dims = [1]
  %0, %m, %r = weft.layer_norm %a weight %w, axis = 1, eps = 1.0e-5 : tensor<4x8xf32, #cpu> weight tensor<8xf32, #cpu>
  weft.return %0 : tensor<4x8xf32, #cpu>
}

// dropout compares the bits themselves, with ceil(2^24 p) 2^8 and the highest bit flipped: 0.5 is 2^31, so 0.
// CHECK-LABEL: weft.func @drop(
weft.func @drop(%a: tensor<4x8xf32, #cpu>, %k: tensor<i64, #cpu>) -> (tensor<4x8xf32, #cpu>, tensor<i64, #cpu>) {
  // CHECK: %[[BITS:.*]], %[[NEXT:.*]] = weft.rng_bits_philox
  // CHECK: %[[FLIPPED:.*]] = weft.xor %[[BITS]]
  // CHECK: %[[LIMIT:.*]] = weft.constant dense<0> : tensor<4x8xi32
  // CHECK: weft.ge %[[FLIPPED]], %[[LIMIT]]
  // CHECK: weft.mul
  // CHECK: weft.select
  // CHECK: weft.return %{{.*}}, %[[NEXT]]
  %0, %n = weft.dropout %a, %k, %k, p = 0.5 : tensor<4x8xf32, #cpu>, tensor<i64, #cpu>
  weft.return %0, %n : tensor<4x8xf32, #cpu>, tensor<i64, #cpu>
}

// Attention: the largest score of a row comes off before the exponential, rows that see nothing are 0, and the division
// is one of each row.
// CHECK-LABEL: weft.func @attention(
weft.func @attention(%q: tensor<2x3x4xf16, #cpu>, %k: tensor<2x5x4xf16, #cpu>, %v: tensor<2x5x6xf16, #cpu>, %m: tensor<1x3x1xi1, #cpu>)
    -> (tensor<2x3x6xf16, #cpu>, tensor<2x3xf32, #cpu>) {
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, batch = [0] x [0], contract = [2] x [2] : tensor<2x3x4xf32, #cpu>, tensor<2x5x4xf32, #cpu>
  // CHECK: weft.broadcast_in_dim %{{.*}}, dims = [0, 1, 2] : tensor<1x3x1xi1, #cpu> -> tensor<2x3x5xi1, #cpu>
  // CHECK: %[[SEEN:.*]] = weft.le
  // CHECK: %[[SCORES:.*]] = weft.select %[[SEEN]]
  // CHECK: %[[TOP:.*]] = weft.rmax %[[SCORES]], dims = [2]
  // CHECK: %[[SEES:.*]] = weft.ne %[[TOP]]
  // CHECK: weft.exp
  // CHECK: %[[TOTAL:.*]] = weft.sum %{{.*}}, dims = [2] : tensor<2x3x5xf32, #cpu>
  // CHECK: %[[RECIP:.*]] = weft.recip %[[TOTAL]]
  // CHECK: weft.select %[[SEES]], %[[RECIP]]
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, batch = [0] x [0], contract = [2] x [1] : tensor<2x3x5xf32, #cpu>, tensor<2x5x6xf32, #cpu>
  // CHECK: weft.convert %{{.*}} to f16 : tensor<2x3x6xf32, #cpu>
  %o, %l = weft.sdpa %q, %k, %v mask %m, scale = 0.5 causal
         : tensor<2x3x4xf16, #cpu>, tensor<2x5x4xf16, #cpu>, tensor<2x5x6xf16, #cpu> mask tensor<1x3x1xi1, #cpu>
  weft.return %o, %l : tensor<2x3x6xf16, #cpu>, tensor<2x3xf32, #cpu>
}

// Without keys there is no largest score.
// CHECK-LABEL: weft.func @no_keys(
// CHECK-NOT: weft.rmax
// CHECK: weft.return
weft.func @no_keys(%q: tensor<3x4xf32, #cpu>, %k: tensor<0x4xf32, #cpu>) -> tensor<3x4xf32, #cpu> {
  %o, %l = weft.sdpa %q, %k, %k, scale = 0.5 : tensor<3x4xf32, #cpu>, tensor<0x4xf32, #cpu>, tensor<0x4xf32, #cpu>
  weft.return %o : tensor<3x4xf32, #cpu>
}

// Its derivative: five products, the first of which gives the scores again.
// CHECK-LABEL: weft.func @attention_backward(
// CHECK-COUNT-5: weft.dot_general
// CHECK-NOT: weft.dot_general
// CHECK: weft.return
weft.func @attention_backward(%q: tensor<3x4xf32, #cpu>, %l: tensor<3xf32, #cpu>)
    -> (tensor<3x4xf32, #cpu>, tensor<3x4xf32, #cpu>, tensor<3x4xf32, #cpu>) {
  %dq, %dk, %dv = weft.sdpa_backward %q, %q, %q, %q, %l, %q, scale = 0.5
                : tensor<3x4xf32, #cpu>, tensor<3x4xf32, #cpu>, tensor<3x4xf32, #cpu>, tensor<3x4xf32, #cpu>, tensor<3xf32, #cpu>, tensor<3x4xf32, #cpu>
  weft.return %dq, %dk, %dv : tensor<3x4xf32, #cpu>, tensor<3x4xf32, #cpu>, tensor<3x4xf32, #cpu>
}

// A convolution is a product of the weights and the windows of all images. Places are more than elements of a window:
// they are innermost.
// CHECK-LABEL: weft.func @convolution(
weft.func @convolution(%a: tensor<2x3x8x8xf32, #cpu>, %w: tensor<4x3x3x3xf32, #cpu>) -> tensor<2x4x8x8xf32, #cpu> {
  // CHECK: %[[PADDED:.*]] = weft.pad %{{.*}}, low = [0, 0, 1, 1], high = [0, 0, 1, 1], interior = [0, 0, 0, 0]
  // CHECK: %[[WINDOWS:.*]] = weft.windows %[[PADDED]], size = [3, 3], stride = [1, 1], dilation = [1, 1]
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, batch = [0] x [0], contract = [2, 3, 4] x [1, 2, 3] : tensor<1x4x3x3x3xf32, #cpu>, tensor<1x3x3x3x2x8x8xf32, #cpu>
  %y = weft.convolution %a, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1],
      window_dilation = [1, 1], groups = 1 : tensor<2x3x8x8xf32, #cpu>, tensor<4x3x3x3xf32, #cpu>
  weft.return %y : tensor<2x4x8x8xf32, #cpu>
}

// The derivative with respect to weights has a large window, whose elements are innermost.
// CHECK-LABEL: weft.func @large_window(
weft.func @large_window(%a: tensor<3x2x10x10xf32, #cpu>, %w: tensor<4x2x8x8xf32, #cpu>) -> tensor<3x4x3x3xf32, #cpu> {
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, batch = [0] x [0], contract = [2, 3, 4] x [4, 5, 6] : tensor<1x4x2x8x8xf32, #cpu>, tensor<1x3x3x3x2x8x8xf32, #cpu>
  %y = weft.convolution %a, %w, stride = [1, 1], low = [0, 0], high = [0, 0], base_dilation = [1, 1],
      window_dilation = [1, 1], groups = 1 : tensor<3x2x10x10xf32, #cpu>, tensor<4x2x8x8xf32, #cpu>
  weft.return %y : tensor<3x4x3x3xf32, #cpu>
}

// Elements that lie apart are multiplied first; then the products are added where they lie. What is between two
// neighbours is not multiplied.
// CHECK-LABEL: weft.func @apart(
// NONE-LABEL: weft.func @apart(
weft.func @apart(%a: tensor<2x3x4xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) -> tensor<2x4x9xf32, #cpu> {
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, batch = [0] x [1], contract = [2] x [2] : tensor<1x4x3x3xf32, #cpu>, tensor<2x1x3x4xf32, #cpu>
  // CHECK-COUNT-2: weft.add %{{.*}}, %{{.*}} : tensor<2x4x9xf32, #cpu>
  // NONE-NOT: weft.overlap_add
  // NONE: weft.return
  %y = weft.convolution %a, %w, stride = [1], low = [2], high = [2], base_dilation = [2], window_dilation = [1],
      groups = 1 : tensor<2x3x4xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return %y : tensor<2x4x9xf32, #cpu>
}

// If there are fewer places than elements of a window, the operand is multiplied by windows of the weights: here two,
// from the last place to the first, with the distances that the zeros between elements have. It is the derivative with
// respect to the weights of a transposed convolution.
// CHECK-LABEL: weft.func @few_places(
weft.func @few_places(%a: tensor<16x2x16x16xf32, #cpu>, %w: tensor<8x2x32x32xf32, #cpu>) -> tensor<16x8x2x2xf32, #cpu> {
  // CHECK: %[[WINDOWS:.*]] = weft.windows %{{.*}}, size = [16, 16], stride = [1, 1], dilation = [2, 2] : tensor<8x2x32x32xf32, #cpu>
  // CHECK: %[[LAST:.*]] = weft.reverse %[[WINDOWS]], dims = [4, 5] : tensor<8x2x16x16x2x2xf32, #cpu>
  // CHECK: weft.dot_general %{{.*}}, %{{.*}}, batch = [1] x [0], contract = [2, 3, 4] x [2, 3, 4] : tensor<16x1x2x16x16xf32, #cpu>, tensor<1x8x2x16x16x2x2xf32, #cpu>
  // CHECK-NOT: weft.overlap_add
  %y = weft.convolution %a, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [2, 2],
      window_dilation = [1, 1], groups = 1 : tensor<16x2x16x16xf32, #cpu>, tensor<8x2x32x32xf32, #cpu>
  weft.return %y : tensor<16x8x2x2xf32, #cpu>
}

// With one output for each group, windows are reduced where they lie. Products of halves are added in f32.
// CHECK-LABEL: weft.func @depthwise(
weft.func @depthwise(%a: tensor<2x3x8xf16, #cpu>, %w: tensor<3x1x3xf16, #cpu>) -> tensor<2x3x6xf16, #cpu> {
  // CHECK: weft.mul %{{.*}}, %{{.*}} : tensor<2x3x1x3x6xf32, #cpu>
  // CHECK: weft.sum %{{.*}}, dims = [2, 3] : tensor<2x3x1x3x6xf32, #cpu>
  // CHECK: weft.convert %{{.*}} to f16
  %y = weft.convolution %a, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1],
      groups = 3 : tensor<2x3x8xf16, #cpu>, tensor<3x1x3xf16, #cpu>
  weft.return %y : tensor<2x3x6xf16, #cpu>
}

// Zeros between the elements of the operand, and the padding around them, are not multiplied, with any number of extents
// whose elements lie apart, and places a stride apart: an infinite weight gives no NaN there.
// CHECK-LABEL: weft.func @depthwise_apart(
weft.func @depthwise_apart(%a: tensor<2x3x4x5xf32, #cpu>, %w: tensor<3x1x3x2xf32, #cpu>) -> tensor<2x3x9x3xf32, #cpu> {
  // CHECK: %[[ALL:.*]] = weft.constant dense<true> : tensor<4x5xi1, #cpu>
  // CHECK: %[[ELEMENTS:.*]] = weft.pad %[[ALL]], low = [2, 0], high = [2, 1], interior = [1, 0]
  // CHECK: %[[WINDOWS:.*]] = weft.windows %[[ELEMENTS]], size = [3, 2], stride = [1, 2], dilation = [1, 1]
  // CHECK: %[[ARE:.*]] = weft.broadcast_in_dim %[[WINDOWS]], dims = [3, 4, 5, 6] : tensor<3x2x9x3xi1, #cpu> -> tensor<2x3x1x3x2x9x3xi1, #cpu>
  // CHECK: %[[PRODUCTS:.*]] = weft.select %[[ARE]], %{{.*}}, %{{.*}}
  // CHECK: weft.sum %[[PRODUCTS]], dims = [2, 3, 4]
  %y = weft.convolution %a, %w, stride = [1, 2], low = [2, 0], high = [2, 1], base_dilation = [2, 1], window_dilation = [1, 1],
      groups = 3 : tensor<2x3x4x5xf32, #cpu>, tensor<3x1x3x2xf32, #cpu>
  weft.return %y : tensor<2x3x9x3xf32, #cpu>
}

// The same of a window that is larger than its places: its elements are innermost.
// CHECK-LABEL: weft.func @depthwise_apart_few_places(
weft.func @depthwise_apart_few_places(%a: tensor<2x3x4xf32, #cpu>, %w: tensor<3x1x6xf32, #cpu>) -> tensor<2x3x2xf32, #cpu> {
  // CHECK: %[[TURNED:.*]] = weft.transpose %{{.*}}, perm = [1, 0] : tensor<6x2xi1, #cpu>
  // CHECK: weft.broadcast_in_dim %[[TURNED]], dims = [2, 4] : tensor<2x6xi1, #cpu> -> tensor<2x3x2x1x6xi1, #cpu>
  %y = weft.convolution %a, %w, stride = [1], low = [0], high = [0], base_dilation = [2], window_dilation = [1],
      groups = 3 : tensor<2x3x4xf32, #cpu>, tensor<3x1x6xf32, #cpu>
  weft.return %y : tensor<2x3x2xf32, #cpu>
}

// Windows that share no element are moved; those of many elements are added along a diagonal.
// CHECK-LABEL: weft.func @overlap_add(
weft.func @overlap_add(%a: tensor<2x2x4xf32, #cpu>, %b: tensor<60x9xf32, #cpu>)
    -> (tensor<2x9xf32, #cpu>, tensor<68xf32, #cpu>) {
  // CHECK: weft.transpose %{{.*}}, perm = [0, 2, 1] : tensor<2x2x4xf32, #cpu>
  // CHECK: weft.reshape
  // CHECK: weft.pad %{{.*}}, low = [0, 0], high = [0, 1]
  %y = weft.overlap_add %a, shape = [9], stride = [2], dilation = [1] : tensor<2x2x4xf32, #cpu>
  // CHECK: weft.windows %{{.*}}, size = [60], stride = [1], dilation = [1]
  // CHECK: weft.slice %{{.*}}, start = [0, 0], limit = [3600, 68], step = [61, 1]
  // CHECK: weft.sum %{{.*}}, dims = [0] : tensor<60x68xf32, #cpu>
  %z = weft.overlap_add %b, shape = [68], stride = [1], dilation = [1] : tensor<60x9xf32, #cpu>
  weft.return %y, %z : tensor<2x9xf32, #cpu>, tensor<68xf32, #cpu>
}
