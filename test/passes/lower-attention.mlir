// RUN: weft-opt %s --weft-lower-attention=report=true | FileCheck %s
// RUN: not weft-opt %s --weft-lower-attention=target=abacus 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: weft-opt %s --weft-pipeline | FileCheck %s --check-prefix=LIST

// TARGET: unknown target 'abacus', expected one of cpu

#cpu = #weft.device<cpu>

// Heads are read where the projection wrote them, and the result is written as the next projection reads it: all that is
// left is one launch.
// CHECK-LABEL: weft.func @heads
// CHECK-NEXT: weft.slice
// CHECK:      %[[R:.*]]:2 = weft.attention %arg0 [0, 1920, 16, 192, 1], %arg0 [64, 1920, 16, 192, 1], %arg0 [128, 1920, 16, 192, 1], shape = [2, 4, 10, 10, 16, 16], order = [0, 2, 1, 3], scale = 2.500000e-01 causal
// CHECK-NEXT: weft.transpose %[[R]]#0, perm = [0, 2, 1, 3] : tensor<2x10x4x16xf32
// LIST-LABEL: weft.func @heads
// LIST-NEXT:  weft.attention
// LIST-NEXT:  weft.reshape
// LIST-NEXT:  weft.return
weft.func @heads(%qkv: tensor<2x10x192xf32, #cpu>) -> tensor<2x10x64xf32, #cpu> {
  %q0 = weft.slice %qkv, start = [0, 0, 0], limit = [2, 10, 64], step = [1, 1, 1] : tensor<2x10x192xf32, #cpu>
  %k0 = weft.slice %qkv, start = [0, 0, 64], limit = [2, 10, 128], step = [1, 1, 1] : tensor<2x10x192xf32, #cpu>
  %v0 = weft.slice %qkv, start = [0, 0, 128], limit = [2, 10, 192], step = [1, 1, 1] : tensor<2x10x192xf32, #cpu>
  %q1 = weft.reshape %q0 : tensor<2x10x64xf32, #cpu> -> tensor<2x10x4x16xf32, #cpu>
  %k1 = weft.reshape %k0 : tensor<2x10x64xf32, #cpu> -> tensor<2x10x4x16xf32, #cpu>
  %v1 = weft.reshape %v0 : tensor<2x10x64xf32, #cpu> -> tensor<2x10x4x16xf32, #cpu>
  %q = weft.transpose %q1, perm = [0, 2, 1, 3] : tensor<2x10x4x16xf32, #cpu>
  %k = weft.transpose %k1, perm = [0, 2, 1, 3] : tensor<2x10x4x16xf32, #cpu>
  %v = weft.transpose %v1, perm = [0, 2, 1, 3] : tensor<2x10x4x16xf32, #cpu>
  %o, %l = weft.sdpa %q, %k, %v, scale = 0.25 causal : tensor<2x4x10x16xf32, #cpu>, tensor<2x4x10x16xf32, #cpu>, tensor<2x4x10x16xf32, #cpu>
  %t = weft.transpose %o, perm = [0, 2, 1, 3] : tensor<2x4x10x16xf32, #cpu>
  %r = weft.reshape %t : tensor<2x10x4x16xf32, #cpu> -> tensor<2x10x64xf32, #cpu>
  weft.return %r : tensor<2x10x64xf32, #cpu>
}

// The derivative reads what the forward launch wrote, where it lies.
// CHECK-LABEL: weft.func @backward
// CHECK: %[[F:.*]]:2 = weft.attention %arg0 [0, 64, 8, 16, 1], %arg0 [0, 64, 8, 16, 1], %arg0 [0, 64, 8, 16, 1], shape
// CHECK: weft.attention %arg0 [0, 64, 8, 16, 1], %arg0 [0, 64, 8, 16, 1], %arg0 [0, 64, 8, 16, 1] backward %[[F]]#0 [0, 64, 8, 16, 1], %[[F]]#1, %arg1 [0, 64, 32, 8, 1], shape = [2, 2, 4, 4, 8, 8], order = [0, 2, 1, 3]
weft.func @backward(%x: tensor<2x4x2x8xf32, #cpu>, %g: tensor<2x2x4x8xf32, #cpu>) -> tensor<2x2x4x8xf32, #cpu> {
  %q = weft.transpose %x, perm = [0, 2, 1, 3] : tensor<2x4x2x8xf32, #cpu>
  %o, %l = weft.sdpa %q, %q, %q, scale = 1.0 : tensor<2x2x4x8xf32, #cpu>, tensor<2x2x4x8xf32, #cpu>, tensor<2x2x4x8xf32, #cpu>
  %dq, %dk, %dv = weft.sdpa_backward %q, %q, %q, %o, %l, %g, scale = 1.0
                : tensor<2x2x4x8xf32, #cpu>, tensor<2x2x4x8xf32, #cpu>, tensor<2x2x4x8xf32, #cpu>, tensor<2x2x4x8xf32, #cpu>,
                  tensor<2x2x4xf32, #cpu>, tensor<2x2x4x8xf32, #cpu>
  weft.return %dq : tensor<2x2x4x8xf32, #cpu>
}

// What a mask repeats along has no stride; nor has what is stretched, which stays as small as it is.
// CHECK-LABEL: weft.func @repeated
// CHECK: weft.attention %arg0 [0, 40, 8, 1], %arg1 [0, 0, 8, 1], %arg1 [0, 0, 8, 1] mask %arg2 [0, 7, 0, 1], shape = [3, 5, 7, 8, 8], order = [0, 1, 2]
weft.func @repeated(%q: tensor<3x5x8xf32, #cpu>, %k: tensor<7x8xf32, #cpu>, %m: tensor<3x1x7xi1, #cpu>) -> tensor<3x5x8xf32, #cpu> {
  %b = weft.broadcast_in_dim %k, dims = [1, 2] : tensor<7x8xf32, #cpu> -> tensor<3x7x8xf32, #cpu>
  %o, %l = weft.sdpa %q, %b, %b mask %m, scale = 1.0
         : tensor<3x5x8xf32, #cpu>, tensor<3x7x8xf32, #cpu>, tensor<3x7x8xf32, #cpu> mask tensor<3x1x7xi1, #cpu>
  weft.return %o : tensor<3x5x8xf32, #cpu>
}

// A slice of what is computed for it alone is computed as small as it is; and a reshape across strides is no view.
// CHECK-LABEL: weft.func @copies
// CHECK: %[[E:.*]] = weft.exp
// CHECK: %[[S:.*]] = weft.slice %[[E]]
// CHECK: %[[R:.*]] = weft.transpose
// CHECK: weft.attention %[[S]] [0, 16, 1], %[[R]] [0, 16, 1], %[[R]] [0, 16, 1], shape = [4, 2, 16, 16], order = [0, 1]
weft.func @copies(%a: tensor<64x16xf32, #cpu>, %b: tensor<8x4xf32, #cpu>) -> tensor<4x16xf32, #cpu> {
  %e = weft.exp %a : tensor<64x16xf32, #cpu>
  %q = weft.slice %e, start = [8, 0], limit = [12, 16], step = [1, 1] : tensor<64x16xf32, #cpu>
  %t = weft.transpose %b, perm = [1, 0] : tensor<8x4xf32, #cpu>
  %k = weft.reshape %t : tensor<4x8xf32, #cpu> -> tensor<2x16xf32, #cpu>
  %o, %l = weft.sdpa %q, %k, %k, scale = 1.0 : tensor<4x16xf32, #cpu>, tensor<2x16xf32, #cpu>, tensor<2x16xf32, #cpu>
  weft.return %o : tensor<4x16xf32, #cpu>
}

// What no launch computes stays for the decomposition, with a reason.
// CHECK-LABEL: weft.func @refused
// CHECK-SAME: code = "WEFT-N009"
// CHECK-SAME: message = "a launch of attention computes in f32, and this is f64; it is several kernels, which hold all scores"
// CHECK-SAME: message = "there is nothing to attend to; it is several kernels, which hold all scores"
// CHECK-SAME: message = "a launch of attention has up to 1024 columns on cpu, and this has 1025; it is several kernels, which hold all scores"
// CHECK-COUNT-3: weft.sdpa
weft.func @refused(%d: tensor<5x8xf64, #cpu>, %q: tensor<5x8xf32, #cpu>, %k: tensor<0x8xf32, #cpu>, %w: tensor<4x1025xf32, #cpu>)
    -> (tensor<5x8xf64, #cpu>, tensor<5x8xf32, #cpu>, tensor<4x1025xf32, #cpu>) {
  %0, %l0 = weft.sdpa %d, %d, %d, scale = 1.0 : tensor<5x8xf64, #cpu>, tensor<5x8xf64, #cpu>, tensor<5x8xf64, #cpu>
  %1, %l1 = weft.sdpa %q, %k, %k, scale = 1.0 : tensor<5x8xf32, #cpu>, tensor<0x8xf32, #cpu>, tensor<0x8xf32, #cpu>
  %2, %l2 = weft.sdpa %w, %w, %w, scale = 1.0 : tensor<4x1025xf32, #cpu>, tensor<4x1025xf32, #cpu>, tensor<4x1025xf32, #cpu>
  weft.return %0, %1, %2 : tensor<5x8xf64, #cpu>, tensor<5x8xf32, #cpu>, tensor<4x1025xf32, #cpu>
}

// CHECK-LABEL: weft.func @dynamic
// CHECK-SAME: message = "a launch of attention has sizes that are numbers, and these are known at run time only; it is several kernels, which hold all scores"
// CHECK: weft.sdpa
// LIST-LABEL: weft.func @dynamic
// LIST-NOT: weft.sdpa
// LIST: weft.dot_general
weft.func @dynamic(%q: tensor<?x8xf32, #weft.device<cpu, [rows]>>) -> tensor<?x8xf32, #weft.device<cpu, [rows]>>
    attributes {weft.symbols = [#weft.symbol<"rows", 1, 512>]} {
  %o, %l = weft.sdpa %q, %q, %q, scale = 1.0 causal
         : tensor<?x8xf32, #weft.device<cpu, [rows]>>, tensor<?x8xf32, #weft.device<cpu, [rows]>>, tensor<?x8xf32, #weft.device<cpu, [rows]>>
  weft.return %o : tensor<?x8xf32, #weft.device<cpu, [rows]>>
}

// Views are followed as far as sizes are known: here to the slice of a value that has none.
// CHECK-LABEL: @slice_of_dynamic
// CHECK: weft.slice
// CHECK: weft.attention
weft.func @slice_of_dynamic(%x: tensor<?x16x8xf32, #weft.device<cpu, [n]>>) -> tensor<1x16x8xf32, #cpu> attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %q = weft.slice %x, start = [0, 0, 0], limit = [1, 16, 8], step = [1, 1, 1] : tensor<?x16x8xf32, #weft.device<cpu, [n]>>
  %out, %lse = weft.sdpa %q, %q, %q, scale = 5.000000e-01 : tensor<1x16x8xf32, #cpu>, tensor<1x16x8xf32, #cpu>, tensor<1x16x8xf32, #cpu>
  weft.return %out : tensor<1x16x8xf32, #cpu>
}

// Long sequences are one launch: all scores would be 32 GiB.
// CHECK-LABEL: @long
// CHECK: weft.attention
weft.func @long(%q: tensor<32x16384x64xf32, #cpu>) -> tensor<32x16384x64xf32, #cpu> {
  %out, %lse = weft.sdpa %q, %q, %q, scale = 5.000000e-01 : tensor<32x16384x64xf32, #cpu>, tensor<32x16384x64xf32, #cpu>, tensor<32x16384x64xf32, #cpu>
  weft.return %out : tensor<32x16384x64xf32, #cpu>
}
