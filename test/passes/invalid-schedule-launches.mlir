// RUN: weft-opt %s --weft-schedule-launches -verify-diagnostics

// Queues of a text that begins here were given by no pass.
#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
weft.func @unknown_queue(%h: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #gpu>
    attributes {weft.queues = ["cuda:0 compute", "cuda:0 from host"]} {
  // expected-error @+1 {{'weft.transfer' op is on queue 2, but the function has 2 queues}}
  %0 = weft.transfer %h to #gpu {slices = [#weft.slice<result, 0, 256>], weft.queue = 2 : i64} : tensor<8x8xf32, #cpu>
  weft.return %0 : tensor<8x8xf32, #gpu>
}
