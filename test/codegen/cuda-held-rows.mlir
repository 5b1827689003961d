// Rows that shared memory holds: the first pass reads an operand and stores it there, and later passes read it from there. Each
// thread finds what it stored itself, so the barriers are those of the reductions. Beyond 48 KiB, a launch asks for the memory.
// RUN: weft kernels %s --target=cuda:sm_90 --device=cuda:0 | FileCheck %s
#gpu = #weft.device<cuda:0>

// CHECK-LABEL: // large.row.0
// CHECK: extern __shared__ __align__(16) unsigned char shared0[];
// CHECK: float *const [[HELD:s[0-9]+]] = (float *)(shared0 + 256);
// CHECK: weft_load<uint4>([[V:v[0-9]+]], b0
// CHECK-NEXT: weft_store<uint4>([[HELD]] + {{i[0-9]+}}, [[V]]);
// CHECK-NOT: b0
// CHECK: __syncthreads();
// CHECK-NOT: b0
// CHECK: weft_load<uint4>({{v[0-9]+}}, [[HELD]] + {{i[0-9]+}});
// CHECK-NOT: b0
// CHECK: __syncthreads();
// CHECK-NOT: {{__syncthreads|b0}}
// CHECK: weft_load<uint4>({{v[0-9]+}}, [[HELD]] + {{i[0-9]+}});
// CHECK-NOT: {{__syncthreads|b0}}
weft.func @large(%x: tensor<100x32772xf32, #gpu>) -> tensor<100x32772xf32, #gpu> {
  %0 = weft.softmax %x, dim = 1 : tensor<100x32772xf32, #gpu>
  weft.return %0 : tensor<100x32772xf32, #gpu>
}

// CHECK-LABEL: // small.row.0
// CHECK: __shared__ __align__(16) unsigned char shared0[40256];
// CHECK: weft_store<uint2>({{s[0-9]+}}
weft.func @small(%x: tensor<100x20000xf16, #gpu>, %y: tensor<100x20000xf32, #gpu>, %z: tensor<100x20000xf32, #gpu>) -> tensor<100x20000xf32, #gpu> {
  %0 = weft.softmax %x, dim = 1 : tensor<100x20000xf16, #gpu>
  %1 = weft.convert %0 to f32 : tensor<100x20000xf16, #gpu>
  %2 = weft.mul %1, %y : tensor<100x20000xf32, #gpu>
  %3 = weft.add %2, %z : tensor<100x20000xf32, #gpu>
  weft.return %3 : tensor<100x20000xf32, #gpu>
}
