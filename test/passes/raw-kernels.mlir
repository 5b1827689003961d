// Kernels of the user are launches. What they change is changed in place where nothing needs the old value, and they never
// write an argument, since they do not see that a call has failed.
// RUN: weft-opt %s --weft-pipeline='target=sm_90 report' | FileCheck %s
// RUN: weft-opt %s --weft-pipeline='target=sm_90 report' | weft-opt --weft-verify-memory-plan -o /dev/null

#gpu = #weft.device<cuda:0>

// The kernel has the storage of the operand that it changes.
// CHECK-LABEL: weft.func @temporary
// CHECK-NOT: WEFT-D012
// CHECK: weft.fusion {{.*}}slices = [#weft.slice<arena, 0, 256>]
// CHECK: weft.raw_kernel "k"{{.*}}slices = [#weft.slice<arena, 0, 256>]
// CHECK: weft.fusion
weft.func @temporary(%x: tensor<64xf32, #gpu>) -> tensor<64xf32, #gpu> {
  %e = weft.exp %x : tensor<64xf32, #gpu>
  %k = weft.raw_kernel "k"(%x, %e), parameters = ["in", "in_out"], grid = [1, 1, 1], block = [64, 1, 1], shared = 0, source = "text" : (tensor<64xf32, #gpu>, tensor<64xf32, #gpu>) -> tensor<64xf32, #gpu>
  %r = weft.neg %k : tensor<64xf32, #gpu>
  weft.return %r : tensor<64xf32, #gpu>
}

// A later launch reads the old value, so that the kernel gets a copy.
// CHECK-LABEL: weft.func @needed
// CHECK-SAME: code = "WEFT-D012"
// CHECK-SAME: message = "the value before, or its storage, is still needed; 256 bytes are copied"
// CHECK: weft.raw_kernel "k"{{.*}}slices = [#weft.slice<arena, 256, 256>]
weft.func @needed(%x: tensor<64xf32, #gpu>) -> tensor<64xf32, #gpu> {
  %e = weft.exp %x : tensor<64xf32, #gpu>
  %k = weft.raw_kernel "k"(%e), parameters = ["in_out"], grid = [1, 1, 1], block = [64, 1, 1], shared = 0, source = "text" : (tensor<64xf32, #gpu>) -> tensor<64xf32, #gpu>
  %r = weft.add %k, %e : tensor<64xf32, #gpu>
  weft.return %r : tensor<64xf32, #gpu>
}

// So it does if another parameter of the kernel reads the same value, even if nothing later does.
// CHECK-LABEL: weft.func @beside
// CHECK-SAME: code = "WEFT-D012"
// CHECK: weft.raw_kernel "k"{{.*}}slices = [#weft.slice<arena, 256, 256>]
weft.func @beside(%x: tensor<64xf32, #gpu>) -> tensor<64xf32, #gpu> {
  %e = weft.exp %x : tensor<64xf32, #gpu>
  %k = weft.raw_kernel "k"(%e, %e), parameters = ["in", "in_out"], grid = [1, 1, 1], block = [64, 1, 1], shared = 0, source = "text" : (tensor<64xf32, #gpu>, tensor<64xf32, #gpu>) -> tensor<64xf32, #gpu>
  %r = weft.neg %k : tensor<64xf32, #gpu>
  weft.return %r : tensor<64xf32, #gpu>
}

// The new value of an argument is made in the arena, and copied by a kernel that sees whether the call has failed.
// CHECK-LABEL: weft.func @state
// CHECK-SAME: code = "WEFT-D015"
// CHECK-SAME: message = "a kernel of the user does not see on a device that a call has failed, and would write the argument; 256 bytes are copied"
// CHECK-SAME: code = "WEFT-D012"
// CHECK-SAME: message = "it is an argument, which only kernels of Weft write; 256 bytes are copied"
// CHECK: weft.raw_kernel "k"{{.*}}slices = [#weft.slice<arena, 0, 256>]
// CHECK: weft.fusion {{.*}}slices = [#weft.slice<argument, 0, 256>]
weft.func @state(%s: tensor<64xf32, #gpu> {weft.donated}) -> (tensor<64xf32, #gpu> {weft.tied = 0 : i64}) {
  %k = weft.raw_kernel "k"(%s), parameters = ["in_out"], grid = [1, 1, 1], block = [64, 1, 1], shared = 0, source = "text" : (tensor<64xf32, #gpu>) -> tensor<64xf32, #gpu>
  weft.return %k : tensor<64xf32, #gpu>
}

// Equal launches are one, and one whose results nothing needs does not run.
// CHECK-LABEL: weft.func @pure
// CHECK: weft.raw_kernel "k"
// CHECK-NOT: weft.raw_kernel
weft.func @pure(%x: tensor<64xf32, #gpu>) -> tensor<64xf32, #gpu> {
  %a = weft.raw_kernel "k"(%x), parameters = ["in", "out"], grid = [1, 1, 1], block = [64, 1, 1], shared = 0, source = "text" : (tensor<64xf32, #gpu>) -> tensor<64xf32, #gpu>
  %b = weft.raw_kernel "k"(%x), parameters = ["in", "out"], grid = [1, 1, 1], block = [64, 1, 1], shared = 0, source = "text" : (tensor<64xf32, #gpu>) -> tensor<64xf32, #gpu>
  %c = weft.raw_kernel "dead"(%x), parameters = ["in", "out"], grid = [1, 1, 1], block = [64, 1, 1], shared = 0, source = "text" : (tensor<64xf32, #gpu>) -> tensor<64xf32, #gpu>
  %r = weft.add %a, %b : tensor<64xf32, #gpu>
  weft.return %r : tensor<64xf32, #gpu>
}
