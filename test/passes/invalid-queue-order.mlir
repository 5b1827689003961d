// RUN: weft-opt %s --weft-verify-memory-plan -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// A value that is read without waiting for the queue that makes it.
weft.func @value(%a: tensor<8x8xf32, #gpu>, %h: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #gpu>
  attributes {weft.arena_bytes = 256 : i64, weft.arena_lower_bound = 256 : i64, weft.queues = ["cuda:0 compute", "cuda:0 from host"]} {
  %t = weft.token
  %f = weft.stream_fork %t, streams = [1] : !weft.token
  // expected-note@+1 {{this launch used the same bytes before}}
  %1 = weft.transfer %h to #gpu {slices = [#weft.slice<arena, 0, 256>], weft.queue = 1 : i64} : tensor<8x8xf32, #cpu>
  // expected-error@+1 {{on queue 0 uses bytes of a launch on queue 1 without waiting for it}}
  %2 = weft.dot_general %a, %1, contract = [1] x [0] {slices = [#weft.slice<result, 0, 256>]} : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %j = weft.stream_join %t, %f
  weft.return %2 : tensor<8x8xf32, #gpu>
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Bytes that are written again while a launch of another queue may still read them.
weft.func @reuse(%a: tensor<8x8xf32, #gpu>, %h: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #gpu>
  attributes {weft.arena_bytes = 256 : i64, weft.arena_lower_bound = 256 : i64, weft.queues = ["cuda:0 compute", "cuda:0 from host"]} {
  %t = weft.token
  %f = weft.stream_fork %t, streams = [1] : !weft.token
  %1 = weft.transfer %h to #gpu {slices = [#weft.slice<arena, 0, 256>], weft.queue = 1 : i64} : tensor<8x8xf32, #cpu>
  %e, %r = weft.event_record %f {weft.queue = 1 : i64}
  %w = weft.event_wait %e, %t
  // expected-note@+1 {{this launch used the same bytes before}}
  %2 = weft.dot_general %a, %1, contract = [1] x [0] {slices = [#weft.slice<result, 0, 256>]} : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  // expected-error@+1 {{on queue 1 uses bytes of a launch on queue 0 without waiting for it}}
  %3 = weft.transfer %h to #gpu {slices = [#weft.slice<arena, 0, 256>], weft.queue = 1 : i64} : tensor<8x8xf32, #cpu>
  %j = weft.stream_join %w, %r
  weft.return %2 : tensor<8x8xf32, #gpu>
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// A queue begins with a fork from the first.
weft.func @not_forked(%h: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #gpu>
  attributes {weft.arena_bytes = 256 : i64, weft.arena_lower_bound = 256 : i64, weft.queues = ["cuda:0 compute", "cuda:0 from host"]} {
  %t = weft.token
  // expected-error@+1 {{is on queue 1, which is not forked from the first queue before it (WEFT-C010)}}
  %1 = weft.transfer %h to #gpu {slices = [#weft.slice<result, 0, 256>], weft.queue = 1 : i64} : tensor<8x8xf32, #cpu>
  weft.return %1 : tensor<8x8xf32, #gpu>
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// A queue ends with a join.
weft.func @not_joined(%h: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #gpu>
  attributes {weft.arena_bytes = 256 : i64, weft.arena_lower_bound = 256 : i64, weft.queues = ["cuda:0 compute", "cuda:0 from host"]} {
  %t = weft.token
  %f = weft.stream_fork %t, streams = [1] : !weft.token
  // expected-error@+1 {{is the last launch of queue 1, which the first queue does not join (WEFT-C010)}}
  %1 = weft.transfer %h to #gpu {slices = [#weft.slice<result, 0, 256>], weft.queue = 1 : i64} : tensor<8x8xf32, #cpu>
  weft.return %1 : tensor<8x8xf32, #gpu>
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Queues have names.
weft.func @unknown_queue(%h: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #gpu>
  attributes {weft.arena_bytes = 256 : i64, weft.arena_lower_bound = 256 : i64, weft.queues = ["cuda:0 compute", "cuda:0 from host"]} {
  %t = weft.token
  // expected-error@+1 {{is on queue 2, but the function has 2 queues}}
  %1 = weft.transfer %h to #gpu {slices = [#weft.slice<result, 0, 256>], weft.queue = 2 : i64} : tensor<8x8xf32, #cpu>
  weft.return %1 : tensor<8x8xf32, #gpu>
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Only a queue of the function is forked.
weft.func @unknown_stream()
  attributes {weft.arena_bytes = 256 : i64, weft.arena_lower_bound = 256 : i64, weft.queues = ["cuda:0 compute", "cuda:0 from host"]} {
  %t = weft.token
  // expected-error@+1 {{forks stream 5, but the function has 2 queues}}
  %f = weft.stream_fork %t, streams = [5] : !weft.token
  weft.return
}
