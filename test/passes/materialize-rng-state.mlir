// RUN: weft-opt %s --weft-materialize-rng-state -split-input-file -verify-diagnostics | FileCheck %s
// RUN: weft-opt %s --weft-materialize-rng-state --weft-materialize-rng-state -split-input-file -verify-diagnostics | FileCheck %s

#cpu = #weft.device<cpu>

// The state follows the arguments, by generator name whatever the order of use; what is stored is donated and tied.
// CHECK-LABEL: weft.func @two(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<f32, #cpu>,
// CHECK-SAME:    %[[AK:[a-z0-9]+]]: tensor<i64, #cpu> {weft.name = "rng.a.key", weft.role = "random"},
// CHECK-SAME:    %[[AC:[a-z0-9]+]]: tensor<i64, #cpu> {weft.donated, weft.name = "rng.a.counter", weft.role = "random"},
// CHECK-SAME:    %[[BK:[a-z0-9]+]]: tensor<i64, #cpu> {weft.name = "rng.b.key", weft.role = "random"},
// CHECK-SAME:    %[[BC:[a-z0-9]+]]: tensor<i64, #cpu> {weft.donated, weft.name = "rng.b.counter", weft.role = "random"})
// CHECK-SAME:    -> (tensor<8xi32, #cpu>, tensor<i64, #cpu> {weft.name = "rng.a.counter", weft.tied = 2 : i64},
// CHECK-SAME:        tensor<i64, #cpu> {weft.name = "rng.b.counter", weft.tied = 4 : i64})
weft.func @two(%x: tensor<f32, #cpu>) -> tensor<8xi32, #cpu> {
  %kb, %cb = weft.rng_state_load "b" : tensor<i64, #cpu>, tensor<i64, #cpu>
  // CHECK: %[[BITS:.*]], %[[NEXT:.*]] = weft.rng_bits_philox %[[BK]], %[[BC]]
  %bits, %next = weft.rng_bits_philox %kb, %cb, shape = [8] : tensor<i64, #cpu>
  weft.rng_state_store %next, "b" : tensor<i64, #cpu>
  %ka, %ca = weft.rng_state_load "a" : tensor<i64, #cpu>, tensor<i64, #cpu>
  // CHECK: %[[BITS2:.*]], %[[NEXT2:.*]] = weft.rng_bits_philox %[[AK]], %[[AC]]
  %bits2, %next2 = weft.rng_bits_philox %ka, %ca, shape = [8] : tensor<i64, #cpu>
  weft.rng_state_store %next2, "a" : tensor<i64, #cpu>
  %sum = weft.add %bits, %bits2 : tensor<8xi32, #cpu>
  // CHECK: weft.return %{{.*}}, %[[NEXT2]], %[[NEXT]]
  weft.return %sum : tensor<8xi32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

// A load after a store reads what was stored; one pair of arguments serves all uses.
// CHECK-LABEL: weft.func @again(
// CHECK-SAME:    %[[K:[a-z0-9]+]]: tensor<i64, #cpu> {weft.name = "rng.g.key", weft.role = "random"},
// CHECK-SAME:    %[[C:[a-z0-9]+]]: tensor<i64, #cpu> {weft.donated, weft.name = "rng.g.counter", weft.role = "random"})
weft.func @again() -> tensor<8xi32, #cpu> {
  %k, %c = weft.rng_state_load "g" : tensor<i64, #cpu>, tensor<i64, #cpu>
  // CHECK: %{{.*}}, %[[N1:.*]] = weft.rng_bits_philox %[[K]], %[[C]]
  %b, %n = weft.rng_bits_philox %k, %c, shape = [8] : tensor<i64, #cpu>
  weft.rng_state_store %n, "g" : tensor<i64, #cpu>
  %k2, %c2 = weft.rng_state_load "g" : tensor<i64, #cpu>, tensor<i64, #cpu>
  // CHECK: %[[B:.*]], %[[N2:.*]] = weft.rng_bits_philox %[[K]], %[[N1]]
  %b2, %n2 = weft.rng_bits_philox %k2, %c2, shape = [8] : tensor<i64, #cpu>
  weft.rng_state_store %n2, "g" : tensor<i64, #cpu>
  // CHECK: weft.return %[[B]], %[[N2]]
  weft.return %b2 : tensor<8xi32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

// A generator that is only read is neither donated nor a result.
// CHECK-LABEL: weft.func @read(
// CHECK-SAME:    {weft.name = "rng.g.key", weft.role = "random"}, %{{.*}}: tensor<i64, #cpu> {weft.name = "rng.g.counter", weft.role = "random"})
// CHECK-SAME:    -> tensor<i64, #cpu> {
weft.func @read() -> tensor<i64, #cpu> {
  %k, %c = weft.rng_state_load "g" : tensor<i64, #cpu>, tensor<i64, #cpu>
  weft.return %c : tensor<i64, #cpu>
}

// -----

#cpu = #weft.device<cpu>
#cuda0 = #weft.device<cuda:0>

// The state of a generator lies on one device.
weft.func @devices() {
  // expected-note @+1 {{it was first used here}}
  %k, %c = weft.rng_state_load "g" : tensor<i64, #cpu>, tensor<i64, #cpu>
  %m = weft.transfer %c to #cuda0 : tensor<i64, #cpu>
  // expected-error @+1 {{uses the generator 'g' on cuda:0, but its state is on cpu (WEFT-P001)}}
  weft.rng_state_store %m, "g" : tensor<i64, #cuda0>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

// The names of the state are taken.
// expected-error @+1 {{has an argument #0 named 'rng.g.key', which is the name of the state of the generator 'g'; rename the argument}}
weft.func @taken(%a: tensor<i64, #cpu> {weft.name = "rng.g.key"}) {
  %k, %c = weft.rng_state_load "g" : tensor<i64, #cpu>, tensor<i64, #cpu>
  weft.return
}
