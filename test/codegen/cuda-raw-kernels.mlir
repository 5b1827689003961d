// Kernels of the user are shown as they are, each text and entry once.
// RUN: weft kernels %s --target=cuda:sm_90 | FileCheck %s
// RUN: not weft compile %s -o %t.weft 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not weft run %s --against=interp 2>&1 | FileCheck %s --check-prefix=HOST

#gpu = #weft.device<cuda:0>

// CHECK:      // main.raw.0, 2 launches
// CHECK-NEXT: // from {{.*}}cuda-raw-kernels.mlir:[[# @LINE + 12]]:
// CHECK-NEXT: // from {{.*}}cuda-raw-kernels.mlir:[[# @LINE + 13]]:
// CHECK-NEXT: // one, a kernel of the user
// CHECK-NEXT: extern "C" __global__ void one(float *y) { y[0] = 1; }
// CHECK-NEXT: extern "C" __global__ void two(float *y) { y[0] = 2; }
// CHECK:      // main.raw.2, 1 launch
// CHECK-NEXT: // from
// CHECK-NEXT: // two, a kernel of the user
// CHECK-NEXT: extern "C" __global__ void one
// CHECK-NOT:  // main.raw
// HOST: 'weft.raw_kernel' op 'one' is CUDA C++, for which the device cpu has no compiler (WEFT-K004)
weft.func @main() -> (tensor<1xf32, #gpu>, tensor<2xf32, #gpu>, tensor<1xf32, #gpu>) {
  %a = weft.raw_kernel "one"(), parameters = ["out"], grid = [1, 1, 1], block = [1, 1, 1], shared = 0,
       source = "extern \22C\22 __global__ void one(float *y) { y[0] = 1; }\0Aextern \22C\22 __global__ void two(float *y) { y[0] = 2; }" : () -> tensor<1xf32, #gpu>
  %b = weft.raw_kernel "one"(), parameters = ["out"], grid = [1, 1, 1], block = [2, 1, 1], shared = 0,
       source = "extern \22C\22 __global__ void one(float *y) { y[0] = 1; }\0Aextern \22C\22 __global__ void two(float *y) { y[0] = 2; }" : () -> tensor<2xf32, #gpu>
  %c = weft.raw_kernel "two"(), parameters = ["out"], grid = [1, 1, 1], block = [1, 1, 1], shared = 0,
       source = "extern \22C\22 __global__ void one(float *y) { y[0] = 1; }\0Aextern \22C\22 __global__ void two(float *y) { y[0] = 2; }" : () -> tensor<1xf32, #gpu>
  weft.return %a, %b, %c : tensor<1xf32, #gpu>, tensor<2xf32, #gpu>, tensor<1xf32, #gpu>
}
