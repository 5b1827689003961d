// RUN: weft-opt %s --weft-schedule-launches --weft-verify-memory-plan -split-input-file -o /dev/null
// RUN: weft-opt %s --weft-verify-memory-plan -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// The reuse of a buffer is an edge: the second copy writes the bytes that the product reads, and waits for it. With that
// event the list is sound.
weft.func @reuse(%a: tensor<8x8xf32, #gpu>, %h: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #gpu>
  attributes {weft.arena_bytes = 256 : i64, weft.arena_lower_bound = 256 : i64, weft.queues = ["cuda:0 compute", "cuda:0 from host"]} {
  %t = weft.token
  %f = weft.stream_fork %t, streams = [1] : !weft.token
  %1 = weft.transfer %h to #gpu {slices = [#weft.slice<arena, 0, 256>], weft.queue = 1 : i64} : tensor<8x8xf32, #cpu>
  %e, %r = weft.event_record %f {weft.queue = 1 : i64}
  %w = weft.event_wait %e, %t
  %2 = weft.dot_general %a, %1, contract = [1] x [0] {slices = [#weft.slice<result, 0, 256>]} : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %e2, %r2 = weft.event_record %w
  %w2 = weft.event_wait %e2, %r {weft.queue = 1 : i64}
  %3 = weft.transfer %h to #gpu {slices = [#weft.slice<arena, 0, 256>], weft.queue = 1 : i64} : tensor<8x8xf32, #cpu>
  %j = weft.stream_join %r2, %w2
  weft.return %2 : tensor<8x8xf32, #gpu>
}
