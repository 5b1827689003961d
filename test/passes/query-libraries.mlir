// RUN: weft-opt %s --weft-query-libraries=report=true | FileCheck %s
// RUN: sed 's/weft.device<cpu/weft.device<cuda:0/g' %s > %t.cuda
// RUN: weft-opt %t.cuda --weft-query-libraries --target=sm_80 | FileCheck %s --check-prefix=CUDA
// RUN: weft-opt %s --weft-query-libraries=target=x86-64-v3 | FileCheck %s --check-prefix=V3
// RUN: not weft-opt %s --weft-query-libraries=target=abacus 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: weft-opt %s --weft-query-libraries -o %t.1
// RUN: weft-opt %t.1 --weft-query-libraries=target=sm_90 -o %t.2
// RUN: cmp %t.1 %t.2

// An answer that stands in the text stays, whoever else is asked: the last three lines above.
// TARGET: unknown target 'abacus', expected one of cpu

#cpu = #weft.device<cpu>

// The table of the device answers.
// CHECK-LABEL: weft.func @taken
// CHECK: library = #weft.library<"onednn", epilogues = ["bias", "residual", "relu"], least_flops = 128000, workspace = 268435456>
// CUDA-LABEL: weft.func @taken
// CUDA: library = #weft.library<"cublaslt", epilogues = ["bias"], least_flops = 0, workspace = 4194304>
// No one has measured how cuBLASLt rounds a bias in f64.
// CUDA-LABEL: weft.func @refused
// CUDA: library = #weft.library<"cublaslt", epilogues = [], least_flops = 0, workspace = 4194304>
weft.func @taken(%x: tensor<64x64xf32, #cpu>) -> tensor<64x64xf32, #cpu> {
  %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  weft.return %0 : tensor<64x64xf32, #cpu>
}

// What the library does not take, a kernel of Weft's own does, with a reason: an element type, so few operations that
// calling it takes longer, no elements, and a layout without a contiguous dimension.
// CHECK-LABEL: weft.func @refused
// CHECK-SAME:    code = "WEFT-N004"
// CHECK-SAME:    message = "onednn does not multiply f64; a kernel of Weft computes it"
// CHECK-SAME:    message = "onednn takes longer to be called than so few operations take; a kernel of Weft computes it"
// CHECK-SAME:    message = "onednn does not multiply matrices with an extent of 0; a kernel of Weft computes it"
// CHECK-SAME:    message = "onednn cannot read operands with such strides; a kernel of Weft computes it"
// CHECK-COUNT-4: library = #weft.library<"weft", epilogues = ["bias", "residual", "relu"], least_flops = 0, workspace = 0>
weft.func @refused(%d: tensor<64x64xf64, #cpu>, %s: tensor<4x4xf32, #cpu>, %e: tensor<64x0xf32, #cpu>,
                   %i: tensor<64x64x3xf32, #cpu>)
    -> (tensor<64x64xf64, #cpu>, tensor<4x4xf32, #cpu>, tensor<64x64xf32, #cpu>, tensor<3x64x64xf32, #cpu>) {
  %0 = weft.dot_general %d, %d, contract = [1] x [0] : tensor<64x64xf64, #cpu>, tensor<64x64xf64, #cpu>
  %1 = weft.dot_general %s, %s, contract = [1] x [0] : tensor<4x4xf32, #cpu>, tensor<4x4xf32, #cpu>
  %2 = weft.dot_general %e, %e, contract = [1] x [1] : tensor<64x0xf32, #cpu>, tensor<64x0xf32, #cpu>
  %3 = weft.dot_general %i, %i, batch = [2] x [2], contract = [1] x [0] : tensor<64x64x3xf32, #cpu>, tensor<64x64x3xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<64x64xf64, #cpu>, tensor<4x4xf32, #cpu>, tensor<64x64xf32, #cpu>, tensor<3x64x64xf32, #cpu>
}

// bf16 needs a processor with AVX-512.
// CHECK-LABEL: weft.func @half
// CHECK: library = #weft.library<"onednn"
// V3-LABEL: weft.func @half
// V3: library = #weft.library<"weft"
weft.func @half(%x: tensor<64x64xbf16, #cpu>) -> tensor<64x64xbf16, #cpu> {
  %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<64x64xbf16, #cpu>, tensor<64x64xbf16, #cpu>
  weft.return %0 : tensor<64x64xbf16, #cpu>
}

// Of a dynamic contraction each call decides by its sizes: the answer is that of the element type.
// CHECK-LABEL: weft.func @dynamic
// CHECK: library = #weft.library<"onednn"{{.*}} least_flops = 128000
weft.func @dynamic(%x: tensor<?x4xf32, #weft.device<cpu, [batch]>>, %w: tensor<4x4xf32, #cpu>) -> tensor<?x4xf32, #weft.device<cpu, [batch]>>
    attributes {weft.symbols = [#weft.symbol<"batch", 1, 64>]} {
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<?x4xf32, #weft.device<cpu, [batch]>>, tensor<4x4xf32, #cpu>
  weft.return %0 : tensor<?x4xf32, #weft.device<cpu, [batch]>>
}
