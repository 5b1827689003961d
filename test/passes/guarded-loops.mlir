// While loops that might never end, with values of a branch that is not taken, or behind an index that is refused.
// RUN: weft-opt %s --split-input-file --weft-carry-checks --weft-select-branches=always=true --symbol-dce | FileCheck %s

#gpu = #weft.device<cuda:0>
weft.func private @doubled(%a: tensor<f32, #gpu>) -> tensor<f32, #gpu> {
  %0 = weft.add %a, %a : tensor<f32, #gpu>
  weft.return %0 : tensor<f32, #gpu>
}
weft.func private @small(%a: tensor<f32, #gpu>) -> tensor<i1, #gpu> {
  %c = weft.constant dense<100.0> : tensor<f32, #gpu>
  %0 = weft.lt %a, %c : tensor<f32, #gpu>
  weft.return %0 : tensor<i1, #gpu>
}
weft.func private @searches(%a: tensor<f32, #gpu>) -> tensor<i1, #gpu> {
  %0 = weft.while @small do @doubled(%a) with() : (tensor<f32, #gpu>) -> tensor<f32, #gpu>
  %c = weft.constant dense<300.0> : tensor<f32, #gpu>
  %1 = weft.lt %0, %c : tensor<f32, #gpu>
  weft.return %1 : tensor<i1, #gpu>
}
weft.func private @loops(%a: tensor<f32, #gpu>) -> tensor<f32, #gpu> {
  %0 = weft.while @searches do @doubled(%a) with() : (tensor<f32, #gpu>) -> tensor<f32, #gpu>
  weft.return %0 : tensor<f32, #gpu>
}
weft.func private @same(%a: tensor<f32, #gpu>) -> tensor<f32, #gpu> {
  weft.return %a : tensor<f32, #gpu>
}
// The condition of a loop runs once before anything is known, and with it the loop that it has.
// CHECK-LABEL: weft.func @nested
// CHECK-SAME:    (%[[PRED:.*]]: tensor<i1, #{{.*}}>, %[[A:.*]]: tensor<f32, #{{.*}}>)
// CHECK:         weft.while @[[SEARCHES:.*]] do @{{.*}}(%[[A]]) with(%[[PRED]])
// CHECK:         weft.select
// CHECK:       weft.func private @[[SEARCHES]](%[[B:.*]]: {{.*}}, %[[RUNS:.*]]: tensor<i1, {{.*}})
// CHECK:         weft.while @[[SMALL:.*]] do @{{.*}}(%[[B]]) with(%[[RUNS]])
// CHECK:         weft.and %{{.*}}, %[[RUNS]]
// CHECK:       weft.func private @[[SMALL]](%{{.*}}, %[[RUNS:.*]]: tensor<i1, {{.*}})
// CHECK:         weft.and %{{.*}}, %[[RUNS]]
weft.func @nested(%p: tensor<i1, #gpu>, %a: tensor<f32, #gpu>) -> tensor<f32, #gpu> {
  %0 = weft.cond %p then @loops else @same(%a) : (tensor<i1, #gpu>, tensor<f32, #gpu>) -> tensor<f32, #gpu>
  weft.return %0 : tensor<f32, #gpu>
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
weft.func private @doubled(%a: tensor<f32, #cpu>) -> tensor<f32, #cpu> {
  %0 = weft.add %a, %a : tensor<f32, #cpu>
  weft.return %0 : tensor<f32, #cpu>
}
weft.func private @small(%a: tensor<f32, #cpu>) -> tensor<i1, #cpu> {
  %c = weft.constant dense<100.0> : tensor<f32, #cpu>
  %0 = weft.lt %a, %c : tensor<f32, #cpu>
  weft.return %0 : tensor<i1, #cpu>
}
weft.func private @trip(%a: tensor<f32, #cpu>) -> tensor<f32, #cpu> {
  %0 = weft.while @small do @doubled(%a) with() : (tensor<f32, #cpu>) -> tensor<f32, #cpu>
  weft.return %0 : tensor<f32, #cpu>
}
weft.func private @trips(%a: tensor<f32, #gpu>) -> tensor<f32, #gpu> {
  %0 = weft.transfer %a to #cpu : tensor<f32, #gpu>
  %1 = weft.scan @trip(%0) over() with(), length = 9 : (tensor<f32, #cpu>) -> tensor<f32, #cpu>
  %2 = weft.transfer %1 to #gpu : tensor<f32, #cpu>
  weft.return %2 : tensor<f32, #gpu>
}
weft.func private @same(%a: tensor<f32, #gpu>) -> tensor<f32, #gpu> {
  weft.return %a : tensor<f32, #gpu>
}
// A loop of the host in a branch of a GPU.
// CHECK-LABEL: weft.func @on_the_host
// CHECK:         %[[RUNS:.*]] = weft.transfer %{{.*}} to {{.*}} : tensor<i1, {{.*}}>
// CHECK:         weft.scan @[[TRIP:.*]](%{{.*}}) over() with(%[[RUNS]]), length = 9
// CHECK:       weft.func private @[[TRIP]](%[[B:.*]]: {{.*}}, %[[RUNS:.*]]: tensor<i1, {{.*}})
// CHECK:         weft.while @{{.*}} do @{{.*}}(%[[B]]) with(%[[RUNS]])
weft.func @on_the_host(%p: tensor<i1, #gpu>, %a: tensor<f32, #gpu>) -> tensor<f32, #gpu> {
  %0 = weft.cond %p then @same else @trips(%a) : (tensor<i1, #gpu>, tensor<f32, #gpu>) -> tensor<f32, #gpu>
  weft.return %0 : tensor<f32, #gpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @small(%a: tensor<f32, #cpu>, %by: tensor<f32, #cpu>) -> tensor<i1, #cpu> {
  %c = weft.constant dense<100.0> : tensor<f32, #cpu>
  %0 = weft.lt %a, %c : tensor<f32, #cpu>
  weft.return %0 : tensor<i1, #cpu>
}
weft.func private @more(%a: tensor<f32, #cpu>, %by: tensor<f32, #cpu>) -> tensor<f32, #cpu> {
  %0 = weft.add %a, %by : tensor<f32, #cpu>
  weft.return %0 : tensor<f32, #cpu>
}
weft.func private @trip(%a: tensor<f32, #cpu>, %i: tensor<i64, #cpu>, %steps: tensor<3xf32, #cpu>) -> tensor<f32, #cpu> {
  %by = weft.gather %steps, %i, dim = 0, kind = points : tensor<3xf32, #cpu>, tensor<i64, #cpu>
  %0 = weft.while @small do @more(%a) with(%by) : (tensor<f32, #cpu>, tensor<f32, #cpu>) -> tensor<f32, #cpu>
  weft.return %0 : tensor<f32, #cpu>
}
// Behind an index that this trip refuses, or one before it, the loop has no trips.
// CHECK-LABEL: weft.func @behind_an_index
// CHECK:         weft.scan @[[TRIP:.*]](%{{.*}}, %{{.*}}, %{{.*}}) over(%{{.*}}) with(%{{.*}}), length = 9
// CHECK:       weft.func private @[[TRIP]](%arg0: {{[^%]*}}, %[[BEFORE:[^:]+]]: tensor<i64, {{.*}}>, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:         %[[FINE:.*]] = weft.eq %[[BEFORE]], %{{.*}}
// CHECK:         %[[HERE:.*]] = weft.eq
// CHECK:         weft.while @{{.*}} do @{{.*}}(%{{.*}}) with(%{{.*}}, %[[HERE]], %[[FINE]])
weft.func @behind_an_index(%a: tensor<f32, #cpu>, %is: tensor<9xi64, #cpu>, %steps: tensor<3xf32, #cpu>) -> tensor<f32, #cpu> {
  %0 = weft.scan @trip(%a) over(%is) with(%steps), length = 9 {may_fail} : (tensor<f32, #cpu>, tensor<9xi64, #cpu>, tensor<3xf32, #cpu>) -> tensor<f32, #cpu>
  weft.return %0 : tensor<f32, #cpu>
}
