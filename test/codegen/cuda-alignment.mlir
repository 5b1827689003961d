// Accesses of several elements need aligned addresses. Results, what the plan places, and arguments without the attribute
// are; the kernels of an argument with it check the address, or read one element at a time. The others do not change.
// RUN: weft kernels %s --target=cuda:sm_90 | FileCheck %s
// RUN: weft kernels %s --target=cuda:sm_90 --emit=kernel | FileCheck %s --check-prefix=IR

#gpu = #weft.device<cuda:0>

// One block of 1,024 elements, in which each thread has one place: neither a loop nor a condition.
// IR:         func.func @aligned.loop.0(%{{.*}}: memref<?xf32> {llvm.align = 32 : i64}, %{{.*}}: memref<?xf32> {llvm.align = 32 : i64}
// CHECK:      // aligned.loop.0, 1 launch
// CHECK-NOT:  _any
// CHECK:      weft_kernel(const float *b0, float *b1) {
// CHECK-NEXT: const int [[I:i[0-9]+]] = ((int)blockIdx.x * 512) + ((int)threadIdx.x * 4);
// CHECK-NEXT: float [[X:v[0-9]+]][4];
// CHECK-NEXT: weft_load<uint4>([[X]], b0 + [[I]]);
// CHECK-NOT:  {{if|for}} ({{int i|v}}
weft.func @aligned(%x: tensor<1024xf32, #gpu>) -> tensor<1024xf32, #gpu> {
  %0 = weft.sqrt %x : tensor<1024xf32, #gpu>
  weft.return %0 : tensor<1024xf32, #gpu>
}

// IR:         func.func @shifted.loop.0(%{{.*}}: memref<?xf32> {llvm.align = 4 : i64}, %{{.*}}: memref<?xf32> {llvm.align = 32 : i64}, %{{.*}}: memref<?xf32> {llvm.align = 32 : i64}
// CHECK:      // shifted.loop.0, 1 launch
// CHECK:      weft_load_any<uint4>({{.*}}, b0 +
// CHECK:      weft_load<uint4>({{.*}}, b1 +
// CHECK:      weft_store<uint4>(b2 +
weft.func @shifted(%x: tensor<1024xf32, #gpu> {weft.alignment = 4 : i64}, %y: tensor<1024xf32, #gpu>) -> tensor<1024xf32, #gpu> {
  %0 = weft.mul %x, %y : tensor<1024xf32, #gpu>
  weft.return %0 : tensor<1024xf32, #gpu>
}

// Rows of 1,001 elements begin anywhere, wherever their tensor does.
// CHECK:      // odd_rows.row.0, 1 launch
// CHECK:      weft_load_any<uint4>({{.*}}, b0 +
weft.func @odd_rows(%x: tensor<64x1001xf32, #gpu>) -> tensor<64xf32, #gpu> {
  %0 = weft.sum %x, dims = [1] : tensor<64x1001xf32, #gpu>
  weft.return %0 : tensor<64xf32, #gpu>
}

// A result in the storage of a donated argument begins where that does; what reads the result, too.
// IR:         func.func @tied.loop.0(%{{.*}}: memref<?xf32> {llvm.align = 8 : i64}, %{{.*}}: memref<?xf32> {llvm.align = 8 : i64}
// CHECK:      // tied.loop.0, 1 launch
// CHECK:      weft_store_any<uint4>(b1 +
weft.func @tied(%x: tensor<1024xf32, #gpu> {weft.donated, weft.alignment = 8 : i64}) -> (tensor<1024xf32, #gpu> {weft.tied = 0 : i64}) {
  %0 = weft.sqrt %x : tensor<1024xf32, #gpu>
  weft.return %0 : tensor<1024xf32, #gpu>
}

// Each operand of a product has accesses of its own.
// CHECK:      // product.contraction.0, 1 launch
// CHECK:      // fma {{.*}}, a along k, async by 1 + {{.*}}, b across k, async by 4 + {{.*}}
weft.func @product(%a: tensor<64x64xf32, #gpu> {weft.alignment = 4 : i64}, %b: tensor<64x64xf32, #gpu>) -> tensor<64x64xf32, #gpu> {
  %0 = weft.dot_general %a, %b, contract = [1] x [0] : tensor<64x64xf32, #gpu>, tensor<64x64xf32, #gpu>
  weft.return %0 : tensor<64x64xf32, #gpu>
}
