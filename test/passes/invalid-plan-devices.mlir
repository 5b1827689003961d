// RUN: weft-opt %s --split-input-file --verify-diagnostics --weft-verify-memory-plan

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

weft.func @wrong_part(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu>
    attributes {weft.arena_bytes = 512 : i64, weft.arena_devices = [#cpu, #gpu], weft.arena_begins = #weft.sizes<[0, 256]>} {
  // expected-error @below {{result #0 is on cpu, which has bytes [0, 256) of the arena, but is in bytes [256, 512)}}
  %0 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<arena, 256, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %0, %x, contract = [1] x [0] {slices = [#weft.slice<result, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %1 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

weft.func @no_part(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu>
    attributes {weft.arena_bytes = 512 : i64, weft.arena_devices = [#gpu], weft.arena_begins = #weft.sizes<[0]>} {
  // expected-error @below {{result #0 is on cpu, which has no part of the arena}}
  %0 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<arena, 256, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %0, %x, contract = [1] x [0] {slices = [#weft.slice<result, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %1 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// An arena without weft.arena_devices is of one device.
weft.func @undivided(%x: tensor<8x8xf32, #cpu>, %y: tensor<8x8xf32, #gpu>) -> (tensor<8x8xf32, #cpu>, tensor<8x8xf32, #gpu>)
    attributes {weft.arena_bytes = 512 : i64} {
  %0 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<arena, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  // expected-error @below {{result #0 is on cuda:0, which has no part of the arena}}
  %1 = weft.dot_general %y, %y, contract = [1] x [0] {slices = [#weft.slice<arena, 256, 256>]} : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  %2 = weft.dot_general %0, %x, contract = [1] x [0] {slices = [#weft.slice<result, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %3 = weft.dot_general %1, %y, contract = [1] x [0] {slices = [#weft.slice<result, 1, 256>]} : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %2, %3 : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #gpu>
}

// -----
#cpu = #weft.device<cpu>

// expected-error @below {{weft.arena_devices has cpu twice}}
weft.func @twice() attributes {weft.arena_bytes = 512 : i64, weft.arena_devices = [#cpu, #cpu], weft.arena_begins = #weft.sizes<[0, 256]>} {
  weft.return
}

// -----
#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// expected-error @below {{needs a device in weft.arena_devices for each size in weft.arena_begins}}
weft.func @uneven() attributes {weft.arena_bytes = 512 : i64, weft.arena_devices = [#cpu, #gpu], weft.arena_begins = #weft.sizes<[0]>} {
  weft.return
}

// -----
#cpu = #weft.device<cpu>

// expected-error @below {{needs a device in weft.arena_devices}}
weft.func @half() attributes {weft.arena_bytes = 512 : i64, weft.arena_devices = [#cpu]} {
  weft.return
}

// -----

// expected-error @below {{weft.arena_devices has 3 : i64, expected a device}}
weft.func @number() attributes {weft.arena_bytes = 512 : i64, weft.arena_devices = [3], weft.arena_begins = #weft.sizes<[0]>} {
  weft.return
}

// -----
#cpu = #weft.device<cpu>

// expected-error @below {{has the part of cpu in its arena at 64, expected 0}}
weft.func @late() attributes {weft.arena_bytes = 512 : i64, weft.arena_devices = [#cpu], weft.arena_begins = #weft.sizes<[64]>} {
  weft.return
}

// -----
#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
#next = #weft.device<cuda:1>

// expected-error @below {{has the part of cuda:1 in its arena at 256, before the part that comes first}}
weft.func @disorder() attributes {weft.arena_bytes = 512 : i64, weft.arena_devices = [#cpu, #gpu, #next], weft.arena_begins = #weft.sizes<[0, 320, 256]>} {
  weft.return
}

// -----
#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// expected-error @below {{has an arena of 512 bytes, and the part of cuda:0 begins at 576}}
weft.func @beyond() attributes {weft.arena_bytes = 512 : i64, weft.arena_devices = [#cpu, #gpu], weft.arena_begins = #weft.sizes<[0, 576]>} {
  weft.return
}

// -----

// expected-error @below {{has no memory plan: it needs the attribute weft.arena_bytes}}
weft.func @no_plan() {
  weft.return
}
