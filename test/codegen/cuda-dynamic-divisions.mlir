// A kernel with sizes of the call does not divide by them: the launch gives it a reciprocal of each divisor, and a quotient
// is a multiplication. A size that several indices are divided by is one of them.
// RUN: weft kernels %s --target=cuda:sm_90 --device=cuda:0 | FileCheck %s
// RUN: weft kernels %s --target=cuda:sm_90 --device=cuda:0 --emit=ptx | FileCheck %s --check-prefix=PTX
#n = #weft.device<cuda:0, [n]>
#nm = #weft.device<cuda:0, [n, m]>
#mn = #weft.device<cuda:0, [m, n]>

// Tiles of a block are counted by sizes that are rounded up.
// CHECK-LABEL: // transposed.loop.0
// CHECK: weft_kernel({{.*}}, long long n0, long long n1, weft_reciprocal r0, weft_reciprocal r1)
// CHECK: [[ROWS:i[0-9]+]] = (long long)((unsigned long long)(n1 + 31ll) / (unsigned long long)32ll);
// CHECK: = weft_quotient([[BLOCK:i[0-9]+]], r0);
// CHECK: = [[BLOCK]] - weft_quotient([[BLOCK]], r0) * [[ROWS]];
// PTX-LABEL: // transposed.loop.0
// PTX-NOT: {{(div|rem)\.}}
// PTX: mul.hi.u64
// PTX-NOT: {{(div|rem)\.}}
weft.func @transposed(%x: tensor<?x?xf32, #nm>, %y: tensor<?x?xf32, #mn>) -> tensor<?x?xf32, #mn>
    attributes {weft.symbols = [#weft.symbol<"m", 1, 1000000>, #weft.symbol<"n", 1, 1000000>]} {
  %0 = weft.transpose %x, perm = [1, 0] : tensor<?x?xf32, #nm>
  %1 = weft.add %0, %y : tensor<?x?xf32, #mn>, tensor<?x?xf32, #mn>
  weft.return %1 : tensor<?x?xf32, #mn>
}

// An element's index is divided by a row's length.
// CHECK-LABEL: // scaled.loop.0
// CHECK: weft_kernel({{.*}}, long long n0, long long n1, weft_reciprocal r0)
// CHECK-NOT: / (unsigned long long)n
// CHECK-NOT: % (unsigned long long)n
// CHECK: weft_quotient(
// PTX-LABEL: // scaled.loop.0
// PTX-NOT: {{(div|rem)\.}}
// PTX: mul.hi.u64
// PTX-NOT: {{(div|rem)\.}}
weft.func @scaled(%x: tensor<?x?xf32, #mn>, %y: tensor<?xf32, #n>) -> tensor<?xf32, #weft.device<cuda:0, [m * n]>>
    attributes {weft.symbols = [#weft.symbol<"m", 1, 1000000>, #weft.symbol<"n", 1, 1000000>]} {
  %0 = weft.broadcast_in_dim %y, dims = [1] : tensor<?xf32, #n> -> tensor<?x?xf32, #mn>
  %1 = weft.mul %x, %0 : tensor<?x?xf32, #mn>, tensor<?x?xf32, #mn>
  %2 = weft.reshape %1 : tensor<?x?xf32, #mn> -> tensor<?xf32, #weft.device<cuda:0, [m * n]>>
  weft.return %2 : tensor<?xf32, #weft.device<cuda:0, [m * n]>>
}
