// RUN: weft-opt %s -split-input-file -verify-diagnostics

#gpu = #weft.device<cuda:0>
weft.func @name(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op needs the name of a kernel, found '2k'}}
  %y = weft.raw_kernel "2k"(%x), parameters = ["in", "out"], grid = [1, 1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @no_name(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op needs the name of a kernel, found 'a::b'}}
  %y = weft.raw_kernel "a::b"(%x), parameters = ["in", "out"], grid = [1, 1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @grid(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op needs a grid of three numbers from 1 to [2147483647, 65535, 65535], found [1, 65536, 1] (WEFT-K005)}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in", "out"], grid = [1, 65536, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @two(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op needs a grid of three numbers from 1 to [2147483647, 65535, 65535], found [1, 1] (WEFT-K005)}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in", "out"], grid = [1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @block(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op needs a block of three numbers from 1 to [1024, 1024, 64], found [1, 0, 1] (WEFT-K005)}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in", "out"], grid = [1, 1, 1], block = [1, 0, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @threads(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op needs blocks of up to 1024 threads, found 2048 (WEFT-K005)}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in", "out"], grid = [1, 1, 1], block = [32, 32, 2], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @shared(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op needs from 0 to 1048576 bytes of shared memory, found -1 (WEFT-K005)}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in", "out"], grid = [1, 1, 1], block = [1, 1, 1], shared = -1, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @keyword(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op parameter 0 is "inout", expected "in", "out", "in_out", a number of up to 64 bits, or a size}}
  %y = weft.raw_kernel "k"(%x), parameters = ["inout"], grid = [1, 1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @wide(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op parameter 2 is 1 : i128, expected "in", "out", "in_out", a number of up to 64 bits, or a size}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in", "out", 1 : i128], grid = [1, 1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @other(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op parameter 2 is unit, expected}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in", "out", unit], grid = [1, 1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @changed(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op parameter 0 changes a tensor of type 'tensor<4xf32, #weft.device<cuda:0>>', and its result has type 'tensor<4xf16, #weft.device<cuda:0>>'}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in_out"], grid = [1, 1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf16, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @few(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op has parameters for 0 operands and 1 results, and has 1 and 1}}
  %y = weft.raw_kernel "k"(%x), parameters = ["out"], grid = [1, 1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @many(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op has parameters for 1 operands and 2 results, and has 1 and 1}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in", "out", "out"], grid = [1, 1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @nothing(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op needs a parameter that it writes: without results it would never run}}
  weft.raw_kernel "k"(%x), parameters = ["in"], grid = [1, 1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> ()
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @host(%x: tensor<4xf32, #weft.device<cpu>>) {
  // expected-error@+1 {{'weft.raw_kernel' op 'k' is CUDA C++, for which the device cpu has no compiler (WEFT-K004); to fix, move its tensors with .to("cuda"), and compile for a target with a GPU, as cuda:sm_90}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in", "out"], grid = [1, 1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #weft.device<cpu>>) -> tensor<4xf32, #weft.device<cpu>>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @devices(%x: tensor<4xf32, #gpu>) {
  // expected-error@+1 {{'weft.raw_kernel' op has tensors on cuda:0 and cuda:1, and runs on one device}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in", "out"], grid = [1, 1, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<4xf32, #gpu>) -> tensor<4xf32, #weft.device<cuda:1>>
  weft.return
}

// -----

#dynamic = #weft.device<cuda:0, [n]>
weft.func @sizes(%x: tensor<?xf32, #dynamic>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error@+1 {{'weft.raw_kernel' op needs a grid of three numbers from 1 to [2147483647, 65535, 65535], found [n, 70000, 1] (WEFT-K005)}}
  %y = weft.raw_kernel "k"(%x), parameters = ["in_out", #weft.size<n>], grid = [n, 70000, 1], block = [1, 1, 1], shared = 0, source = "text" : (tensor<?xf32, #dynamic>) -> tensor<?xf32, #dynamic>
  weft.return
}
