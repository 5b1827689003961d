// Parts of one program on the host and on a device are decided by the description of each: who multiplies, which
// epilogues are taken, what is fused, and how a kernel is cut.
// RUN: weft-opt %s --weft-query-libraries --weft-attach-epilogues --weft-fuse=report=true --weft-choose-schedules=report=true --target=cpu:16+cuda:sm_80 | FileCheck %s
// RUN: weft-opt %s --weft-query-libraries --weft-attach-epilogues --weft-fuse=report=true --weft-choose-schedules=report=true --target=sm_80 | FileCheck %s
// RUN: weft-opt %s --weft-query-libraries --target=x86-64-v3+sm_75 | FileCheck %s --check-prefix=OLD

// Without a description of a device nothing is decided for it, and the message says what to write.
// RUN: not weft-opt %s --weft-query-libraries 2>&1 | FileCheck %s --check-prefix=DOT
// RUN: not weft-opt %s --weft-attach-epilogues 2>&1 | FileCheck %s --check-prefix=DOT
// RUN: not weft-opt %s --weft-fuse --target=cpu:64 2>&1 | FileCheck %s --check-prefix=FUSE
// RUN: not weft-opt %s --weft-plan-memory 2>&1 | FileCheck %s --check-prefix=FUSE
// RUN: weft-opt %s --weft-fuse --target=sm_90 -o %t.fused
// RUN: not weft-opt %t.fused --weft-choose-schedules=target=x86-64-v4:8 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// DOT: error: 'weft.dot_general' op runs on cuda:0, and the target 'cpu' has no such device: name one beside the host, as cpu+cuda:sm_90, or map the program's devices with --weft-map-devices first
// FUSE: runs on cuda:0, and the target 'cpu{{.*}}' has no such device: name one beside the host, as cpu{{.*}}+cuda:sm_90
// SCHEDULE: error: 'weft.fusion' op runs on cuda:0, and the target 'x86-64-v4:8' has no such device: name one beside the host, as x86-64-v4:8+cuda:sm_90

// A target is one host and one kind of device.
// RUN: not weft-opt %s --weft-fuse=target=cpu+cpu:16 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not weft-opt %s --weft-fuse=target=sm_80+cpu+sm_90 2>&1 | FileCheck %s --check-prefix=CUDAS
// RUN: not weft-opt %s --weft-fuse=target=cpu+ 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not weft-opt %s --weft-fuse=target=cpu:0 2>&1 | FileCheck %s --check-prefix=CORES
// RUN: not weft-opt %s --weft-fuse=target=cpu:016 2>&1 | FileCheck %s --check-prefix=CORES
// RUN: not weft-opt %s --weft-fuse=target=cpu:1025 2>&1 | FileCheck %s --check-prefix=CORES
// RUN: not weft-opt %s --weft-fuse=target=sm_90:16 2>&1 | FileCheck %s --check-prefix=CORES
// RUN: not weft-opt %s --weft-fuse=target=cuda:cpu 2>&1 | FileCheck %s --check-prefix=CORES
// TWO: the target 'cpu+cpu:16' has two descriptions of kind 'cpu': a host and one kind of device beside it make a target
// CUDAS: the target 'sm_80+cpu+sm_90' has two descriptions of kind 'cuda'
// NONE: unknown target '', expected one of cpu, x86-64-v3
// CORES: unknown target '{{(cpu:0|cpu:016|cpu:1025|sm_90:16|cuda:cpu)}}', expected one of cpu, x86-64-v3, x86-64-v4, cuda:sm_75, cuda:sm_80, cuda:sm_86, cuda:sm_89, cuda:sm_90, cuda:sm_100, cuda:sm_120; a CPU with a number of cores, as cpu:16; or a host and its devices, as cpu:16+cuda:sm_90

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// The host's library adds a residual, the device's does not; a kernel of the host has chunks of 16 KiB, one of the device
// has 16 bytes for each thread of a block.
// CHECK-LABEL: weft.func @step
// CHECK: weft.dot_general {{.*}}residual {{.*}}library = #weft.library<"onednn", epilogues = ["bias", "residual", "relu"], least_flops = 128000{{.*}}#cpu>
// CHECK: weft.transfer
// CHECK: weft.dot_general %1, %1, contract = [1] x [0] {library = #weft.library<"cublaslt", epilogues = ["bias"], least_flops = 0, workspace = 4194304>{{.*}}#cuda0_>
// CHECK: weft.fusion loop {{.*}}schedule = #weft.schedule<loop, threads = 128, vector = 4, chunk = 512, tasks = 32, grain = 1, scratch = 0>
// CHECK: weft.fusion loop {{.*}}schedule = #weft.schedule<loop, vector = 16, chunk = {{4096|1024}}, tasks = {{4|16}}, grain = 1, scratch = 0>
// OLD-LABEL: weft.func @step
// OLD: library = #weft.library<"onednn"
// OLD: library = #weft.library<"cublaslt"
weft.func @step(%x: tensor<128x128xf32, #cpu>, %r: tensor<128x128xf32, #cpu>, %g: tensor<128x128xf32, #gpu>)
    -> (tensor<128x128xf32, #cpu>, tensor<128x128xf32, #gpu>) {
  %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<128x128xf32, #cpu>, tensor<128x128xf32, #cpu>
  %1 = weft.add %0, %r : tensor<128x128xf32, #cpu>
  %2 = weft.transfer %1 to #gpu : tensor<128x128xf32, #cpu>
  %3 = weft.dot_general %2, %2, contract = [1] x [0] : tensor<128x128xf32, #gpu>, tensor<128x128xf32, #gpu>
  %4 = weft.add %3, %g : tensor<128x128xf32, #gpu>
  %5 = weft.exp %1 : tensor<128x128xf32, #cpu>
  weft.return %5, %4 : tensor<128x128xf32, #cpu>, tensor<128x128xf32, #gpu>
}

// A bf16 product: the host of level v3 has none, and neither has a device before sm_80.
// OLD-LABEL: weft.func @half
// OLD: library = #weft.library<"weft"
// OLD: library = #weft.library<"weft"
weft.func @half(%x: tensor<64x64xbf16, #cpu>, %g: tensor<64x64xbf16, #gpu>) -> (tensor<64x64xbf16, #cpu>, tensor<64x64xbf16, #gpu>) {
  %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<64x64xbf16, #cpu>, tensor<64x64xbf16, #cpu>
  %1 = weft.dot_general %g, %g, contract = [1] x [0] : tensor<64x64xbf16, #gpu>, tensor<64x64xbf16, #gpu>
  weft.return %0, %1 : tensor<64x64xbf16, #cpu>, tensor<64x64xbf16, #gpu>
}
