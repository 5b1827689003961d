// RUN: weft-opt %s --weft-pipeline=target=cpu+host | FileCheck %s --check-prefix=APART
// RUN: not weft-opt %s --weft-pipeline=target=cpu+host+sm_90 2>&1 | FileCheck %s --check-prefix=TWICE

// TWICE: the target 'cpu+host+sm_90' has devices that run code of the host beside 'sm_90'

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Devices that run code of the host keep their memory, and each of their tasks is one thread's.
// APART-LABEL: @apart
// APART: weft.transfer %arg0 to #cuda0_
// APART: weft.fusion loop {{.*}}schedule = #weft.schedule<loop, threads = 1, vector = 16
// APART: weft.transfer {{.*}} to #cpu
weft.func @apart(%x: tensor<64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  %0 = weft.transfer %x to #gpu : tensor<64xf32, #cpu>
  %1 = weft.exp %0 : tensor<64xf32, #gpu>
  %2 = weft.transfer %1 to #cpu : tensor<64xf32, #gpu>
  weft.return %2 : tensor<64xf32, #cpu>
}
