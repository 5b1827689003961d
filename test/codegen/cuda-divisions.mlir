// Rows that a reshape cuts anew, of an operand that lies across them: what depends on the column alone is divided once for
// all rows of a thread, as 480 is a multiple of 96.
// RUN: weft kernels %s --target=cuda:sm_90 --device=cuda:0 | FileCheck %s
#gpu = #weft.device<cuda:0>

// CHECK-LABEL: // reshaped.loop.0
// CHECK: } else {
// CHECK: % (unsigned)96)
// CHECK: / (unsigned)96)
// CHECK: for (int [[ROW:i[0-9]+]] =
// CHECK-NOT: (unsigned)96
// CHECK: % (unsigned)7)
// CHECK-NOT: (unsigned)96
// CHECK: b2[
weft.func @reshaped(%x: tensor<96x7x50xf32, #gpu>, %y: tensor<70x480xf32, #gpu>) -> tensor<70x480xf32, #gpu> {
  %0 = weft.transpose %x, perm = [2, 1, 0] : tensor<96x7x50xf32, #gpu>
  %1 = weft.reshape %0 : tensor<50x7x96xf32, #gpu> -> tensor<70x480xf32, #gpu>
  %2 = weft.add %1, %y : tensor<70x480xf32, #gpu>
  weft.return %2 : tensor<70x480xf32, #gpu>
}
