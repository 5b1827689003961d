// Tiles that a block transposes: all reads before the first write, rows of 33 vectors in shared memory, and one barrier.
// RUN: weft kernels %s --target=cuda:sm_90 --device=cuda:0 | FileCheck %s
#gpu = #weft.device<cuda:0>
#n = #weft.device<cuda:0, [n]>

// Whole tiles: no bounds, and the four rows of a thread are read before the first is written.
// CHECK-LABEL: // words.loop.0
// CHECK: __launch_bounds__(256)
// CHECK: __shared__ __align__(16) unsigned char shared0[4224];
// CHECK-COUNT-4: = b0[
// CHECK-NOT: = b0[
// CHECK: [[AT:i[0-9]+]] = ([[LANE:i[0-9]+]] * 33) + [[WARP:i[0-9]+]];
// CHECK-NEXT: s0{{\[}}[[AT]]] = v0;
// CHECK-NEXT: s0{{\[}}[[AT]] + 8] = v1;
// CHECK-NEXT: s0{{\[}}[[AT]] + 16] = v2;
// CHECK-NEXT: s0{{\[}}[[AT]] + 24] = v3;
// CHECK-NEXT: __syncthreads();
// CHECK-NOT: if (
// CHECK: = s0{{\[}}([[WARP]] * 33) + [[LANE]]];
// CHECK-COUNT-4: = b1[
// CHECK-COUNT-4: b2[{{.*}}] = v
// CHECK-NOT: __syncthreads
weft.func @words(%x: tensor<64x96xf32, #gpu>, %y: tensor<96x64xf32, #gpu>) -> tensor<96x64xf32, #gpu> {
  %0 = weft.transpose %x, perm = [1, 0] : tensor<64x96xf32, #gpu>
  %1 = weft.add %0, %y : tensor<96x64xf32, #gpu>
  weft.return %1 : tensor<96x64xf32, #gpu>
}

// Halves in pairs: a thread exchanges those of two columns, and writes words. Tiles at the edge read within the operand, and
// are written row by row.
// CHECK-LABEL: // halves.loop.0
// CHECK: min({{.*}}, 1038)
// CHECK: weft_load<unsigned>(v0, b0
// CHECK: weft_load<unsigned>(v1, b0
// CHECK: unsigned short v8[2] = {v0[0], v1[0]};
// CHECK-NEXT: unsigned short v9[2] = {v0[1], v1[1]};
// CHECK: weft_store<unsigned>(s0
// CHECK: __syncthreads();
// CHECK: if (
// CHECK: } else {
// CHECK: if (
// CHECK: for (
// CHECK: weft_load<unsigned>({{.*}}, s0
weft.func @halves(%x: tensor<1100x1040xf16, #gpu>) -> tensor<1040x1100xf16, #gpu> {
  %0 = weft.transpose %x, perm = [1, 0] : tensor<1100x1040xf16, #gpu>
  %1 = weft.neg %0 : tensor<1040x1100xf16, #gpu>
  weft.return %1 : tensor<1040x1100xf16, #gpu>
}

// With a number of rows that the call knows, a block may have no tile: its threads agree about that before the barrier.
// CHECK-LABEL: // dynamic.loop.0
// CHECK: const bool [[EXISTS:v[0-9]+]] = {{.*}} & {{.*}};
// CHECK-NEXT: if ([[EXISTS]]) {
// CHECK: __syncthreads();
weft.func @dynamic(%x: tensor<100x?xf32, #n>) -> tensor<?x100xf32, #n>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 100000>]} {
  %0 = weft.transpose %x, perm = [1, 0] : tensor<100x?xf32, #n>
  %1 = weft.neg %0 : tensor<?x100xf32, #n>
  weft.return %1 : tensor<?x100xf32, #n>
}
