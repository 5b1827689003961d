module {
  weft.func @joins(%arg0: tensor<5x7xf32, #weft.device<cpu>>, %arg1: tensor<3x7xf32, #weft.device<cpu>>) -> (tensor<8x7xf32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>) attributes {weft.arena_bytes = 0 : i64, weft.arena_lower_bound = 0 : i64, weft.decisions = [{code = "WEFT-F001", consumer = "weft.reverse#1", location = "mutated.mlir:4:8", message = "domains [8, 7] (loop) and [5, 7] (loop) differ; 2 kernels take 4008 ns and move 728 bytes, one would take 2006 ns and move 588", producer = "weft.concat#0", saved_ps = 2001556 : i64}, {code = "WEFT-F008", consumer = "weft.return#2", location = "mutated.mlir:5:3", message = "holds an op that is not computed twice; its own kernel takes 2005 ns and moves 448 bytes", producer = "weft.concat#0", saved_ps = 0 : i64}, {code = "WEFT-C020", consumer = "", location = "mutated.mlir:3:8", message = "2 launches in a row are fewer than the 3 that a graph pays for", producer = "weft.fusion", saved_ps = 0 : i64}]} {
    %0 = weft.fusion loop (%arg0, %arg1) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 0, 224>]} : (tensor<5x7xf32, #weft.device<cpu>>, tensor<3x7xf32, #weft.device<cpu>>) -> tensor<8x7xf32, #weft.device<cpu>> {
    ^bb0(%arg2: tensor<5x7xf32, #weft.device<cpu>>, %arg3: tensor<3x7xf32, #weft.device<cpu>>):
      %2 = weft.concat(%arg2, %arg3), dim = 0 : tensor<5x7xf32, #weft.device<cpu>>, tensor<3x7xf32, #weft.device<cpu>>
      weft.yield %2 : tensor<8x7xf32, #weft.device<cpu>>
    }
    %1 = weft.fusion loop (%arg0) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 1, 140>]} : (tensor<5x7xf32, #weft.device<cpu>>) -> tensor<5x7xf32, #weft.device<cpu>> {
    ^bb0(%arg2: tensor<5x7xf32, #weft.device<cpu>>):
      %2 = weft.reverse %arg2, dims = [0, 1] : tensor<5x7xf32, #weft.device<cpu>>
      weft.yield %2 : tensor<5x7xf32, #weft.device<cpu>>
    }
    weft.return %0, %1 : tensor<8x7xf32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>
  }
  weft.func @pads(%arg0: tensor<5x7xf32, #weft.device<cpu>>, %arg1: tensor<f32, #weft.device<cpu>>) -> (tensor<8x5xf32, #weft.device<cpu>>, tensor<4x9xf32, #weft.device<cpu>>) attributes {weft.arena_bytes = 0 : i64, weft.arena_lower_bound = 0 : i64, weft.decisions = [{code = "WEFT-F001", consumer = "weft.pad#1", location = "mutated.mlir:9:8", message = "domains [8, 5] (loop) and [4, 9] (loop) differ; 2 kernels take 4006 ns and move 588 bytes, one would take 2005 ns and move 448", producer = "weft.pad#0", saved_ps = 2001555 : i64}, {code = "WEFT-C020", consumer = "", location = "mutated.mlir:8:8", message = "2 launches in a row are fewer than the 3 that a graph pays for", producer = "weft.fusion", saved_ps = 0 : i64}]} {
    %0 = weft.fusion loop (%arg0, %arg1) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 0, 160>]} : (tensor<5x7xf32, #weft.device<cpu>>, tensor<f32, #weft.device<cpu>>) -> tensor<8x5xf32, #weft.device<cpu>> {
    ^bb0(%arg2: tensor<5x7xf32, #weft.device<cpu>>, %arg3: tensor<f32, #weft.device<cpu>>):
      %2 = weft.pad %arg2 value %arg3, low = [1, -1], high = [2, -1], interior = [0, 0] : tensor<5x7xf32, #weft.device<cpu>>, tensor<f32, #weft.device<cpu>>
      weft.yield %2 : tensor<8x5xf32, #weft.device<cpu>>
    }
    %1 = weft.fusion loop (%arg0) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 1, 144>]} : (tensor<5x7xf32, #weft.device<cpu>>) -> tensor<4x9xf32, #weft.device<cpu>> {
    ^bb0(%arg2: tensor<5x7xf32, #weft.device<cpu>>):
      %2 = weft.pad %arg2, low = [-1, 1], high = [0, 1], interior = [0, 0] : tensor<5x7xf32, #weft.device<cpu>>
      weft.yield %2 : tensor<4x9xf32, #weft.device<cpu>>
    }
    weft.return %0, %1 : tensor<8x5xf32, #weft.device<cpu>>, tensor<4x9xf32, #weft.device<cpu>>
  }
  weft.func @windows(%arg0: tensor<5x7xf32, #weft.device<cpu>>, %arg1: tensor<i64, #weft.device<cpu>>, %arg2: tensor<f32, #weft.device<cpu>>) -> (tensor<2x7xf32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>, tensor<f32, #weft.device<cpu>>) attributes {weft.arena_bytes = 0 : i64, weft.arena_lower_bound = 0 : i64, weft.decisions = [{code = "WEFT-F001", consumer = "weft.dynamic_update_slice#1", location = "mutated.mlir:15:8", message = "an update writes in place and stands alone; 2 kernels take 4006 ns and move 548 bytes, one would take 2003 ns and move 344", producer = "weft.dynamic_slice#0", saved_ps = 2002267 : i64}, {code = "WEFT-F005", consumer = "weft.return#2", location = "mutated.mlir:18:3", message = "is too large to be computed again by its readers; its own kernel takes 2003 ns and moves 344 bytes", producer = "weft.dynamic_update_slice#1", saved_ps = 0 : i64}, {code = "WEFT-D012", consumer = "", location = "mutated.mlir:15:8", message = "the base is an argument that the function does not replace by the result, or not at this point; 140 bytes are copied", producer = "base of an update", saved_ps = 0 : i64}, {code = "WEFT-D004", consumer = "", location = "mutated.mlir:12:70", message = "the result is an argument; 4 bytes are copied", producer = "result 2", saved_ps = 2000133 : i64}]} {
    %0 = weft.fusion loop (%arg0, %arg1) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 0, 56>], weft.capture = 0 : i64} : (tensor<5x7xf32, #weft.device<cpu>>, tensor<i64, #weft.device<cpu>>) -> tensor<2x7xf32, #weft.device<cpu>> {
    ^bb0(%arg3: tensor<5x7xf32, #weft.device<cpu>>, %arg4: tensor<i64, #weft.device<cpu>>):
      %4 = weft.dynamic_slice %arg3, starts(%arg4, %arg4), sizes = [2, 7] : tensor<5x7xf32, #weft.device<cpu>>, tensor<i64, #weft.device<cpu>>, tensor<i64, #weft.device<cpu>>
      weft.yield %4 : tensor<2x7xf32, #weft.device<cpu>>
    }
    %1 = weft.fusion loop (%arg0) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 1, 140>], weft.capture = 0 : i64} : (tensor<5x7xf32, #weft.device<cpu>>) -> tensor<5x7xf32, #weft.device<cpu>> {
    ^bb0(%arg3: tensor<5x7xf32, #weft.device<cpu>>):
      weft.yield %arg3 : tensor<5x7xf32, #weft.device<cpu>>
    }
    %2 = weft.fusion update (%1, %0, %arg1) {schedule = #weft.schedule<update, vector = 2, chunk = 5120, tasks = 1, grain = 1, scratch = 41>, slices = [#weft.slice<result, 1, 140>], weft.capture = 0 : i64} : (tensor<5x7xf32, #weft.device<cpu>>, tensor<2x7xf32, #weft.device<cpu>>, tensor<i64, #weft.device<cpu>>) -> tensor<5x7xf32, #weft.device<cpu>> {
    ^bb0(%arg3: tensor<5x7xf32, #weft.device<cpu>>, %arg4: tensor<2x7xf32, #weft.device<cpu>>, %arg5: tensor<i64, #weft.device<cpu>>):
      %4 = weft.dynamic_update_slice %arg3, %arg4, starts(%arg5, %arg5) : tensor<5x7xf32, #weft.device<cpu>>, tensor<2x7xf32, #weft.device<cpu>>, tensor<i64, #weft.device<cpu>>, tensor<i64, #weft.device<cpu>>
      weft.yield %4 : tensor<5x7xf32, #weft.device<cpu>>
    }
    %3 = weft.fusion loop (%arg2) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 2, 4>], weft.capture = 0 : i64} : (tensor<f32, #weft.device<cpu>>) -> tensor<f32, #weft.device<cpu>> {
    ^bb0(%arg3: tensor<f32, #weft.device<cpu>>):
      weft.yield %arg3 : tensor<f32, #weft.device<cpu>>
    }
    weft.return %0, %2, %3 : tensor<2x7xf32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>, tensor<f32, #weft.device<cpu>>
  }
  weft.func @indices(%arg0: tensor<5x7xf32, #weft.device<cpu>>, %arg1: tensor<5x3xi32, #weft.device<cpu>>, %arg2: tensor<4xi64, #weft.device<cpu>>, %arg3: tensor<4x7xf32, #weft.device<cpu>>) -> (tensor<4x7xf32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>) attributes {weft.arena_bytes = 64 : i64, weft.arena_lower_bound = 64 : i64, weft.decisions = [{code = "WEFT-F001", consumer = "weft.scatter#2", location = "mutated.mlir:23:8", message = "an update writes in place and stands alone; 2 kernels take 4007 ns and move 624 bytes, one would take 2005 ns and move 484", producer = "weft.gather#0", saved_ps = 2001556 : i64}, {code = "WEFT-F001", consumer = "weft.index_update#3", location = "mutated.mlir:24:8", message = "an update writes in place and stands alone; 2 kernels take 4007 ns and move 708 bytes, one would take 2006 ns and move 536", producer = "weft.gather#0", saved_ps = 2001912 : i64}, {code = "WEFT-F001", consumer = "weft.scatter#2", location = "mutated.mlir:23:8", message = "an update writes in place and stands alone; 2 kernels take 4010 ns and move 460 bytes, one would take 2007 ns and move 340", producer = "weft.gather#1", saved_ps = 2003062 : i64}, {code = "WEFT-F001", consumer = "weft.index_update#3", location = "mutated.mlir:24:8", message = "an update writes in place and stands alone; 2 kernels take 4008 ns and move 764 bytes, one would take 2007 ns and move 624", producer = "weft.scatter#2", saved_ps = 2001556 : i64}, {code = "WEFT-F001", consumer = "weft.gather#4", location = "mutated.mlir:25:8", message = "an update writes in place and stands alone; 2 kernels take 4006 ns and move 488 bytes, one would take 2005 ns and move 456", producer = "weft.index_update#3", saved_ps = 2001264 : i64}, {code = "WEFT-F001", consumer = "weft.index_update#5", location = "mutated.mlir:25:8", message = "an update writes in place and stands alone; 2 kernels take 4009 ns and move 848 bytes, one would take 2006 ns and move 596", producer = "weft.index_update#3", saved_ps = 2002801 : i64}, {code = "WEFT-F001", consumer = "weft.index_update#5", location = "mutated.mlir:25:8", message = "an update writes in place and stands alone; 2 kernels take 4006 ns and move 488 bytes, one would take 2004 ns and move 424", producer = "weft.gather#4", saved_ps = 2001619 : i64}, {code = "WEFT-F005", consumer = "weft.return#6", location = "mutated.mlir:26:3", message = "is too large to be computed again by its readers; its own kernel takes 2004 ns and moves 424 bytes", producer = "weft.index_update#5", saved_ps = 0 : i64}, {code = "WEFT-F008", consumer = "weft.index_update#5", location = "mutated.mlir:25:8", message = "holds an op that is not computed twice; its own kernel takes 2001 ns and moves 64 bytes", producer = "weft.gather#4", saved_ps = 0 : i64}, {code = "WEFT-F005", consumer = "weft.return#6", location = "mutated.mlir:26:3", message = "is too large to be computed again by its readers; its own kernel takes 2004 ns and moves 424 bytes", producer = "weft.index_update#3", saved_ps = 0 : i64}, {code = "WEFT-F005", consumer = "weft.return#6", location = "mutated.mlir:26:3", message = "is too large to be computed again by its readers; its own kernel takes 2003 ns and moves 340 bytes", producer = "weft.scatter#2", saved_ps = 0 : i64}, {code = "WEFT-F008", consumer = "weft.scatter#2", location = "mutated.mlir:23:8", message = "holds an op that is not computed twice; its own kernel takes 2006 ns and moves 120 bytes", producer = "weft.gather#1", saved_ps = 0 : i64}, {code = "WEFT-F008", consumer = "weft.return#6", location = "mutated.mlir:26:3", message = "holds an op that is not computed twice; its own kernel takes 2003 ns and moves 284 bytes", producer = "weft.gather#0", saved_ps = 0 : i64}, {code = "WEFT-D012", consumer = "", location = "mutated.mlir:23:8", message = "the update reads its base at other indices than it writes; 140 bytes are copied", producer = "base of an update", saved_ps = 0 : i64}, {code = "WEFT-D012", consumer = "", location = "mutated.mlir:24:8", message = "the value before the update is still needed; 140 bytes are copied", producer = "base of an update", saved_ps = 0 : i64}, {code = "WEFT-D012", consumer = "", location = "mutated.mlir:25:8", message = "the base is an argument that the function does not replace by the result, or not at this point; 140 bytes are copied", producer = "base of an update", saved_ps = 0 : i64}]} {
    %0 = weft.fusion loop (%arg0, %arg2) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 0, 112>], weft.capture = 0 : i64} : (tensor<5x7xf32, #weft.device<cpu>>, tensor<4xi64, #weft.device<cpu>>) -> tensor<4x7xf32, #weft.device<cpu>> {
    ^bb0(%arg4: tensor<5x7xf32, #weft.device<cpu>>, %arg5: tensor<4xi64, #weft.device<cpu>>):
      %9 = weft.gather %arg4, %arg5, dim = 0, kind =  points mode =  clip : tensor<5x7xf32, #weft.device<cpu>>, tensor<4xi64, #weft.device<cpu>>
      weft.yield %9 : tensor<4x7xf32, #weft.device<cpu>>
    }
    %1 = weft.fusion loop (%arg1) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<arena, 0, 60>], weft.capture = 0 : i64} : (tensor<5x3xi32, #weft.device<cpu>>) -> tensor<5x3xi32, #weft.device<cpu>> {
    ^bb0(%arg4: tensor<5x3xi32, #weft.device<cpu>>):
      %9 = weft.iota dim = 0 : tensor<7xi32, #weft.device<cpu>>
      %10 = weft.gather %9, %arg4, dim = 0, kind =  points {weft.index_name = "index"} : tensor<7xi32, #weft.device<cpu>>, tensor<5x3xi32, #weft.device<cpu>>
      weft.yield %10 : tensor<5x3xi32, #weft.device<cpu>>
    }
    %2 = weft.fusion loop (%arg0) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 1, 140>], weft.capture = 0 : i64} : (tensor<5x7xf32, #weft.device<cpu>>) -> tensor<5x7xf32, #weft.device<cpu>> {
    ^bb0(%arg4: tensor<5x7xf32, #weft.device<cpu>>):
      weft.yield %arg4 : tensor<5x7xf32, #weft.device<cpu>>
    }
    %3 = weft.fusion update (%2, %1, %arg0) {schedule = #weft.schedule<update, vector = 1, tasks = 5, grain = 1, scratch = 0>, slices = [#weft.slice<result, 1, 140>], weft.capture = 0 : i64} : (tensor<5x7xf32, #weft.device<cpu>>, tensor<5x3xi32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>) -> tensor<5x7xf32, #weft.device<cpu>> {
    ^bb0(%arg4: tensor<5x7xf32, #weft.device<cpu>>, %arg5: tensor<5x3xi32, #weft.device<cpu>>, %arg6: tensor<5x7xf32, #weft.device<cpu>>):
      %9 = weft.scatter %arg4, %arg5, %arg6, dim = 1, kind =  mul mode =  assume : tensor<5x7xf32, #weft.device<cpu>>, tensor<5x3xi32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>
      weft.yield %9 : tensor<5x7xf32, #weft.device<cpu>>
    }
    %4 = weft.fusion loop (%arg0) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 2, 140>], weft.capture = 0 : i64} : (tensor<5x7xf32, #weft.device<cpu>>) -> tensor<5x7xf32, #weft.device<cpu>> {
    ^bb0(%arg4: tensor<5x7xf32, #weft.device<cpu>>):
      weft.yield %arg4 : tensor<5x7xf32, #weft.device<cpu>>
    }
    %5 = weft.fusion update (%4, %arg3, %arg2) {schedule = #weft.schedule<update, vector = 16, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 2, 140>], weft.capture = 0 : i64} : (tensor<5x7xf32, #weft.device<cpu>>, tensor<4x7xf32, #weft.device<cpu>>, tensor<4xi64, #weft.device<cpu>>) -> tensor<5x7xf32, #weft.device<cpu>> {
    ^bb0(%arg4: tensor<5x7xf32, #weft.device<cpu>>, %arg5: tensor<4x7xf32, #weft.device<cpu>>, %arg6: tensor<4xi64, #weft.device<cpu>>):
      %9 = weft.index_update %arg4, %arg5, %arg6, dim = 0 accumulate mode =  assume : tensor<5x7xf32, #weft.device<cpu>>, tensor<4x7xf32, #weft.device<cpu>>, tensor<4xi64, #weft.device<cpu>>
      weft.yield %9 : tensor<5x7xf32, #weft.device<cpu>>
    }
    %6 = weft.fusion loop (%arg2) {schedule = #weft.schedule<loop, vector = 8, chunk = 2048, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<arena, 0, 32>], weft.capture = 0 : i64} : (tensor<4xi64, #weft.device<cpu>>) -> tensor<4xi64, #weft.device<cpu>> {
    ^bb0(%arg4: tensor<4xi64, #weft.device<cpu>>):
      %9 = weft.iota dim = 0 : tensor<5xi64, #weft.device<cpu>>
      %10 = weft.gather %9, %arg4, dim = 0, kind =  points {weft.index_name = "index"} : tensor<5xi64, #weft.device<cpu>>, tensor<4xi64, #weft.device<cpu>>
      weft.yield %10 : tensor<4xi64, #weft.device<cpu>>
    }
    %7 = weft.fusion loop (%arg0) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 3, 140>], weft.capture = 0 : i64} : (tensor<5x7xf32, #weft.device<cpu>>) -> tensor<5x7xf32, #weft.device<cpu>> {
    ^bb0(%arg4: tensor<5x7xf32, #weft.device<cpu>>):
      weft.yield %arg4 : tensor<5x7xf32, #weft.device<cpu>>
    }
    %8 = weft.fusion update (%7, %arg3, %6) {schedule = #weft.schedule<update, vector = 16, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 3, 140>], weft.capture = 0 : i64} : (tensor<5x7xf32, #weft.device<cpu>>, tensor<4x7xf32, #weft.device<cpu>>, tensor<4xi64, #weft.device<cpu>>) -> tensor<5x7xf32, #weft.device<cpu>> {
    ^bb0(%arg4: tensor<5x7xf32, #weft.device<cpu>>, %arg5: tensor<4x7xf32, #weft.device<cpu>>, %arg6: tensor<4xi64, #weft.device<cpu>>):
      %9 = weft.index_update %arg4, %arg5, %arg6, dim = 0 mode =  assume : tensor<5x7xf32, #weft.device<cpu>>, tensor<4x7xf32, #weft.device<cpu>>, tensor<4xi64, #weft.device<cpu>>
      weft.yield %9 : tensor<5x7xf32, #weft.device<cpu>>
    }
    weft.return %0, %3, %5, %8 : tensor<4x7xf32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>, tensor<5x7xf32, #weft.device<cpu>>
  }
  weft.func @bits(%arg0: tensor<5x4xf32, #weft.device<cpu>>) -> (tensor<5x8xi16, #weft.device<cpu>>, tensor<5x2xf64, #weft.device<cpu>>, tensor<3xf32, #weft.device<cpu>>) attributes {weft.arena_bytes = 0 : i64, weft.arena_lower_bound = 0 : i64, weft.decisions = [{code = "WEFT-D004", consumer = "", location = "mutated.mlir:29:8", message = "the result is an argument; 80 bytes are copied", producer = "result 0", saved_ps = 2002666 : i64}, {code = "WEFT-D004", consumer = "", location = "mutated.mlir:30:8", message = "the result is an argument; 80 bytes are copied", producer = "result 1", saved_ps = 2002666 : i64}, {code = "WEFT-C020", consumer = "", location = "mutated.mlir:29:8", message = "2 launches in a row are fewer than the 3 that a graph pays for", producer = "weft.fusion", saved_ps = 0 : i64}]} {
    %0 = weft.bitcast %arg0 to i16 {slices = [#weft.slice<argument, 0, 80>]} : tensor<5x4xf32, #weft.device<cpu>>
    %1 = weft.bitcast %arg0 to f64 {slices = [#weft.slice<argument, 0, 80>]} : tensor<5x4xf32, #weft.device<cpu>>
    %2 = weft.undef {slices = [#weft.slice<result, 2, 12>]} : tensor<3xf32, #weft.device<cpu>>
    %3 = weft.fusion loop (%0) {schedule = #weft.schedule<loop, vector = 16, chunk = 8192, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 0, 80>]} : (tensor<5x8xi16, #weft.device<cpu>>) -> tensor<5x8xi16, #weft.device<cpu>> {
    ^bb0(%arg1: tensor<5x8xi16, #weft.device<cpu>>):
      weft.yield %arg1 : tensor<5x8xi16, #weft.device<cpu>>
    }
    %4 = weft.fusion loop (%1) {schedule = #weft.schedule<loop, vector = 8, chunk = 2048, tasks = 1, grain = 1, scratch = 0>, slices = [#weft.slice<result, 1, 80>]} : (tensor<5x2xf64, #weft.device<cpu>>) -> tensor<5x2xf64, #weft.device<cpu>> {
    ^bb0(%arg1: tensor<5x2xf64, #weft.device<cpu>>):
      weft.yield %arg1 : tensor<5x2xf64, #weft.device<cpu>>
    }
    weft.return %3, %4, %2 : tensor<5x8xi16, #weft.device<cpu>>, tensor<5x2xf64, #weft.device<cpu>>, tensor<3xf32, #weft.device<cpu>>
  }
}