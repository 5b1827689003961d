// Attention and its derivative are one kernel each, whose text follows from its schedule.
// RUN: weft kernels %s --target=cuda:sm_90 | FileCheck %s
// RUN: weft kernels %s --target=cuda:sm_75 | FileCheck %s --check-prefix=OLD

#gpu = #weft.device<cuda:0>

// Heads are read from the result of one op, two for each of the matrices. It begins at an aligned address.
// CHECK:      // heads.attention.0, 1 launch
// CHECK-NEXT: // from {{.*}}cuda-attention.mlir:
// CHECK-NEXT: // mma, {{.*}} 2 rows a thread, 2 stages, {{.*}} accesses 8 async 8 async 8 async 8 1
// CHECK:      constexpr int rows = 100, keys = 100, features = 16, values = 16;
// CHECK:      constexpr index q_row = 96, q_column = 1;
// CHECK:      float weft_score(float product, int row, int key) {
// CHECK-NEXT: if (key >= keys)
// CHECK:      if (key > row)
// CHECK-NEXT: return weft_lowest();
// CHECK:      __launch_bounds__({{[0-9]+, [0-9]+}})
// CHECK-NEXT: weft_kernel(const unsigned short *q, const unsigned short *k, const unsigned short *v, unsigned short *out, float *lse)
// CHECK:      q += (matrix % 2) * 16ll + (matrix / 2) * 9600ll;
// CHECK:      k += 32ll + (matrix % 2) * 16ll + (matrix / 2) * 9600ll;
// CHECK:      const int end = min(keys, own0 + own);
// CHECK:      weft_write_exchanged<uint4, values>(out, result,
// OLD:        // fma, 4 warps
// OLD-NOT:    mma
// OLD-NOT:    cp.async
weft.func @heads(%x: tensor<8x100x96xf16, #gpu>) -> tensor<8x100x32xf16, #gpu> {
  %qkv = weft.neg %x : tensor<8x100x96xf16, #gpu>
  %q0 = weft.slice %qkv, start = [0, 0, 0], limit = [8, 100, 32], step = [1, 1, 1] : tensor<8x100x96xf16, #gpu>
  %k0 = weft.slice %qkv, start = [0, 0, 32], limit = [8, 100, 64], step = [1, 1, 1] : tensor<8x100x96xf16, #gpu>
  %v0 = weft.slice %qkv, start = [0, 0, 64], limit = [8, 100, 96], step = [1, 1, 1] : tensor<8x100x96xf16, #gpu>
  %q1 = weft.reshape %q0 : tensor<8x100x32xf16, #gpu> -> tensor<8x100x2x16xf16, #gpu>
  %k1 = weft.reshape %k0 : tensor<8x100x32xf16, #gpu> -> tensor<8x100x2x16xf16, #gpu>
  %v1 = weft.reshape %v0 : tensor<8x100x32xf16, #gpu> -> tensor<8x100x2x16xf16, #gpu>
  %q = weft.transpose %q1, perm = [0, 2, 1, 3] : tensor<8x100x2x16xf16, #gpu>
  %k = weft.transpose %k1, perm = [0, 2, 1, 3] : tensor<8x100x2x16xf16, #gpu>
  %v = weft.transpose %v1, perm = [0, 2, 1, 3] : tensor<8x100x2x16xf16, #gpu>
  %o, %l = weft.sdpa %q, %k, %v, scale = 0.25 causal : tensor<8x2x100x16xf16, #gpu>, tensor<8x2x100x16xf16, #gpu>, tensor<8x2x100x16xf16, #gpu>
  %t = weft.transpose %o, perm = [0, 2, 1, 3] : tensor<8x2x100x16xf16, #gpu>
  %r = weft.reshape %t : tensor<8x100x2x16xf16, #gpu> -> tensor<8x100x32xf16, #gpu>
  %n = weft.neg %r : tensor<8x100x32xf16, #gpu>
  weft.return %n : tensor<8x100x32xf16, #gpu>
}

// Blocks that own keys come before those that own rows; a mask of numbers is added, and one mask is for all matrices.
// CHECK:      // derivative.attention.0, 1 launch
// An argument that may begin anywhere is copied element by element; the others, and results, are aligned.
// CHECK:      // fma, 4 warps, {{.*}} accesses 1 async 1 async 1 async 1 1 4 async 4 4 4 1
// CHECK:      constexpr index mask_row = 64, mask_column = 1;
// CHECK:      return score + mask[row * mask_row + key * mask_column];
// CHECK:      weft_keys(int block,
// CHECK-NOT:  mask +=
// CHECK:      weft_accumulate<value_group>(sum_b, score, scores,
// CHECK:      weft_accumulate<feature_group>(sum_a, slope, scores,
// CHECK:      weft_rows(int block,
// CHECK:      weft_statistics(own, own0, out, grad, lse, shifts, inner);
// CHECK:      if (block < key_blocks)
weft.func @derivative(%q: tensor<6x64x32xf32, #gpu> {weft.alignment = 4 : i64}, %m: tensor<1x64x64xf32, #gpu>, %o: tensor<6x64x32xf32, #gpu>, %l: tensor<6x64xf32, #gpu>)
    -> (tensor<6x64x32xf32, #gpu>, tensor<6x64x32xf32, #gpu>, tensor<6x64x32xf32, #gpu>) {
  %0:3 = weft.sdpa_backward %q, %q, %q, %o, %l, %o mask %m, scale = 0.5
      : tensor<6x64x32xf32, #gpu>, tensor<6x64x32xf32, #gpu>, tensor<6x64x32xf32, #gpu>, tensor<6x64x32xf32, #gpu>, tensor<6x64xf32, #gpu>, tensor<6x64x32xf32, #gpu> mask tensor<1x64x64xf32, #gpu>
  weft.return %0#0, %0#1, %0#2 : tensor<6x64x32xf32, #gpu>, tensor<6x64x32xf32, #gpu>, tensor<6x64x32xf32, #gpu>
}
