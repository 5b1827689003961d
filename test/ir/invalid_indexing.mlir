// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
// A join needs something to join.
weft.func @empty() {
  // expected-error@+2 {{'weft.concat' op needs at least one tensor}}
  // expected-error@+1 {{'weft.concat' op failed to infer returned types}}
  %r = "weft.concat"() {dim = 0 : i64} : () -> tensor<5xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Parts agree in element type.
weft.func @concat_element(%a: tensor<5x7xf32, #cpu>, %b: tensor<5x7xf64, #cpu>) {
  // expected-error@+1 {{'weft.concat' op joins elements of 'f32' with elements of 'f64' (tensor 1)}}
  %r = weft.concat(%a, %b), dim = 0 : tensor<5x7xf32, #cpu>, tensor<5x7xf64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Parts agree in the other dimensions.
weft.func @concat_shape(%a: tensor<5x7xf32, #cpu>, %b: tensor<5x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.concat' op joins tensors that differ in dimensions other than 0: [5, 7] and [5, 6] (tensor 1)}}
  %r = weft.concat(%a, %b), dim = 0 : tensor<5x7xf32, #cpu>, tensor<5x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Parts agree in rank.
weft.func @concat_rank(%a: tensor<5x7xf32, #cpu>, %b: tensor<7xf32, #cpu>) {
  // expected-error@+1 {{'weft.concat' op joins tensors that differ in dimensions other than 0: [5, 7] and [7] (tensor 1)}}
  %r = weft.concat(%a, %b), dim = 0 : tensor<5x7xf32, #cpu>, tensor<7xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// The dimension is one of the tensor.
weft.func @concat_dim(%a: tensor<5x7xf32, #cpu>) {
  // expected-error@+1 {{'weft.concat' op has dimension 2 outside of rank 2}}
  %r = weft.concat(%a, %a), dim = 2 : tensor<5x7xf32, #cpu>, tensor<5x7xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// A dimension is reversed once.
weft.func @reverse(%a: tensor<5x7xf32, #cpu>) {
  // expected-error@+1 {{'weft.reverse' op needs dimensions in increasing order, found [1, 1]}}
  %r = weft.reverse %a, dims = [1, 1] : tensor<5x7xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Every dimension has a start.
weft.func @starts(%a: tensor<5x7xf32, #cpu>, %i: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.dynamic_slice' op needs one start per dimension: rank 2, found 1}}
  %r = weft.dynamic_slice %a, starts(%i), sizes = [2, 2] : tensor<5x7xf32, #cpu>, tensor<i64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Every dimension has a size.
weft.func @sizes(%a: tensor<5x7xf32, #cpu>, %i: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.dynamic_slice' op needs sizes of rank 2, found 1}}
  %r = weft.dynamic_slice %a, starts(%i, %i), sizes = [2] : tensor<5x7xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// A window fits the tensor.
weft.func @window(%a: tensor<5x7xf32, #cpu>, %i: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.dynamic_slice' op takes 8 elements of dimension 1, which has size 7}}
  %r = weft.dynamic_slice %a, starts(%i, %i), sizes = [2, 8] : tensor<5x7xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// A window has the element type of the tensor.
weft.func @update_type(%a: tensor<5x7xf32, #cpu>, %u: tensor<2x2xf64, #cpu>, %i: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.dynamic_update_slice' op writes a window of type 'tensor<2x2xf64, #weft.device<cpu>>' to a tensor of type 'tensor<5x7xf32, #weft.device<cpu>>'; they must agree in element type and rank}}
  %r = weft.dynamic_update_slice %a, %u, starts(%i, %i) : tensor<5x7xf32, #cpu>, tensor<2x2xf64, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// A window that is written fits the tensor.
weft.func @update_window(%a: tensor<5x7xf32, #cpu>, %u: tensor<6x2xf32, #cpu>, %i: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.dynamic_update_slice' op writes a window of size 6 in dimension 0, which has size 5}}
  %r = weft.dynamic_update_slice %a, %u, starts(%i, %i) : tensor<5x7xf32, #cpu>, tensor<6x2xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// The bytes of a bool are not free.
weft.func @bits_of_bool(%a: tensor<5xi1, #cpu>) {
  // expected-error@+1 {{'weft.bitcast' op cannot take bits of 'i1' for 'i8': expected i8, i16, i32, i64, ui8, f16, bf16, f32 or f64 on both sides}}
  %r = weft.bitcast %a to i8 : tensor<5xi1, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Elements are cut whole.
weft.func @bits(%a: tensor<5x7xf32, #cpu>) {
  // expected-error@+1 {{'weft.bitcast' op cannot take elements of 4 bytes for elements of 8: the last dimension of [5, 7] is no whole number of them}}
  %r = weft.bitcast %a to f64 : tensor<5x7xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Elements in between are not taken away.
weft.func @pad_interior(%a: tensor<5x7xf32, #cpu>) {
  // expected-error@+1 {{'weft.pad' op adds -1 elements between those of dimension 1; expected a number that is not negative}}
  %r = weft.pad %a, low = [0, 0], high = [0, 0], interior = [0, -1] : tensor<5x7xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// There are only so many elements to take away.
weft.func @pad_crop(%a: tensor<5x7xf32, #cpu>) {
  // expected-error@+1 {{'weft.pad' op takes more away from dimension 0 than the 5 elements that it has: -3 before and -3 after}}
  %r = weft.pad %a, low = [-3, 0], high = [-3, 0], interior = [0, 0] : tensor<5x7xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// The value of a pad is an element.
weft.func @pad_value(%a: tensor<5x7xf32, #cpu>, %v: tensor<1xf32, #cpu>) {
  // expected-error@+1 {{'weft.pad' op needs a 0-dimensional value of 'f32', found 'tensor<1xf32, #weft.device<cpu>>'}}
  %r = weft.pad %a value %v, low = [0, 0], high = [0, 0], interior = [0, 0] : tensor<5x7xf32, #cpu>, tensor<1xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Nothing can be clipped into nothing.
weft.func @clip(%a: tensor<0x7xf32, #cpu>, %i: tensor<2xi64, #cpu>) {
  // expected-error@+1 {{'weft.gather' op cannot clip an index of 2 elements into a dimension of size 0}}
  %r = weft.gather %a, %i, dim = 0, kind = points mode = clip : tensor<0x7xf32, #cpu>, tensor<2xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// A scatter writes elements of its own type.
weft.func @scatter_element(%a: tensor<5x7xf32, #cpu>, %i: tensor<5x7xi64, #cpu>, %u: tensor<5x7xf64, #cpu>) {
  // expected-error@+1 {{'weft.scatter' op writes elements of 'f64' to a tensor of 'f32'}}
  %r = weft.scatter %a, %i, %u, dim = 0, kind = add : tensor<5x7xf32, #cpu>, tensor<5x7xi64, #cpu>, tensor<5x7xf64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Bools are set and not added.
weft.func @scatter_bool(%a: tensor<5xi1, #cpu>, %i: tensor<5xi64, #cpu>) {
  // expected-error@+1 {{'weft.scatter' op cannot combine elements of i1; only set them}}
  %r = weft.scatter %a, %i, %a, dim = 0, kind = add : tensor<5xi1, #cpu>, tensor<5xi64, #cpu>, tensor<5xi1, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Index and elements have the rank of the tensor.
weft.func @scatter_rank(%a: tensor<5x7xf32, #cpu>, %i: tensor<5xi64, #cpu>) {
  // expected-error@+1 {{'weft.scatter' op needs an index and elements of the operand's rank 2, found ranks 1 and 2}}
  %r = weft.scatter %a, %i, %a, dim = 0, kind = add : tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>, tensor<5x7xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// The index is no larger than the tensor.
weft.func @scatter_operand(%a: tensor<5x7xf32, #cpu>, %i: tensor<5x8xi64, #cpu>, %u: tensor<5x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.scatter' op has an index of size 8 in dimension 1, where the operand has size 7}}
  %r = weft.scatter %a, %i, %u, dim = 0, kind = set : tensor<5x7xf32, #cpu>, tensor<5x8xi64, #cpu>, tensor<5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// The index is no larger than what is written.
weft.func @scatter_update(%a: tensor<5x7xf32, #cpu>, %i: tensor<6x7xi64, #cpu>) {
  // expected-error@+1 {{'weft.scatter' op has an index of size 6 in dimension 0, where what is written has size 5}}
  %r = weft.scatter %a, %i, %a, dim = 0, kind = set : tensor<5x7xf32, #cpu>, tensor<6x7xi64, #cpu>, tensor<5x7xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// The dimension is one of the tensor.
weft.func @scatter_dim(%a: tensor<5x7xf32, #cpu>, %i: tensor<5x7xi64, #cpu>) {
  // expected-error@+1 {{'weft.scatter' op has dimension 2 outside of rank 2}}
  %r = weft.scatter %a, %i, %a, dim = 2, kind = set : tensor<5x7xf32, #cpu>, tensor<5x7xi64, #cpu>, tensor<5x7xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// An index is of i64 or i32.
weft.func @update_index(%a: tensor<5x7xf32, #cpu>, %i: tensor<5xi8, #cpu>) {
  // expected-error@+1 {{'weft.index_update' op needs an index of i64 or i32, found 'i8'}}
  %r = weft.index_update %a, %a, %i, dim = 0 : tensor<5x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5xi8, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Slices have the shape that the index asks for.
weft.func @update_shape(%a: tensor<5x7xf32, #cpu>, %i: tensor<4xi64, #cpu>) {
  // expected-error@+1 {{'weft.index_update' op needs slices of shape [4, 7], found [5, 7]}}
  %r = weft.index_update %a, %a, %i, dim = 0 : tensor<5x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<4xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// An update is the one result of a fusion of its own.
weft.func @update_in_loop(%a: tensor<5x7xf32, #cpu>, %u: tensor<2x7xf32, #cpu>, %i: tensor<2xi64, #cpu>) {
  %r = weft.fusion loop (%a, %u, %i) : (tensor<5x7xf32, #cpu>, tensor<2x7xf32, #cpu>, tensor<2xi64, #cpu>) -> (tensor<5x7xf32, #cpu>) {
  ^bb0(%x: tensor<5x7xf32, #cpu>, %y: tensor<2x7xf32, #cpu>, %z: tensor<2xi64, #cpu>):
    // expected-error@+1 {{'weft.index_update' op cannot be in a fusion of kind loop: an update is the one result of a fusion of its own}}
    %w = weft.index_update %x, %y, %z, dim = 0 mode = assume : tensor<5x7xf32, #cpu>, tensor<2x7xf32, #cpu>, tensor<2xi64, #cpu>
    weft.yield %w : tensor<5x7xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// A fusion of kind update holds an update.
weft.func @no_update(%a: tensor<5x7xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op of kind update needs one result, made by weft.scatter, weft.index_update or weft.dynamic_update_slice}}
  %r = weft.fusion update (%a) : (tensor<5x7xf32, #cpu>) -> (tensor<5x7xf32, #cpu>) {
  ^bb0(%x: tensor<5x7xf32, #cpu>):
    weft.yield %x : tensor<5x7xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// The index of an update on the launch list was checked before.
weft.func @unchecked(%a: tensor<5x7xf32, #cpu>, %u: tensor<2x7xf32, #cpu>, %i: tensor<2xi64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op of kind update needs its operand 0 as the base of the update and nowhere else, and an index that was checked before}}
  %r = weft.fusion update (%a, %u, %i) : (tensor<5x7xf32, #cpu>, tensor<2x7xf32, #cpu>, tensor<2xi64, #cpu>) -> (tensor<5x7xf32, #cpu>) {
  ^bb0(%x: tensor<5x7xf32, #cpu>, %y: tensor<2x7xf32, #cpu>, %z: tensor<2xi64, #cpu>):
    %w = weft.index_update %x, %y, %z, dim = 0 : tensor<5x7xf32, #cpu>, tensor<2x7xf32, #cpu>, tensor<2xi64, #cpu>
    weft.yield %w : tensor<5x7xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Windows are lists of six numbers for each extent.
weft.func @pooled_type(%a: tensor<2x5xf32, #cpu>, %i: tensor<2x3xi64, #cpu>) {
  // expected-error@+1 {{'weft.gather' op weft.pooled has 6 numbers of type i64 for each of one to 3 extents, found 5 : i64}}
  %r = weft.gather %a, %i, dim = 1, kind = along {weft.pooled = 5 : i64} : tensor<2x5xf32, #cpu>, tensor<2x3xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @pooled_count(%a: tensor<2x5xf32, #cpu>, %i: tensor<2x3xi64, #cpu>) {
  // expected-error@+1 {{'weft.gather' op weft.pooled has 6 numbers of type i64 for each of one to 3 extents, found array<i64: 5, 2, 2, 1, 1>}}
  %r = weft.gather %a, %i, dim = 1, kind = along {weft.pooled = array<i64: 5, 2, 2, 1, 1>} : tensor<2x5xf32, #cpu>, tensor<2x3xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @pooled_kind(%a: tensor<5xf32, #cpu>, %i: tensor<3xi64, #cpu>) {
  // expected-error@+1 {{'weft.gather' op weft.pooled is of a gather along a dimension, found kind = points}}
  %r = weft.gather %a, %i, dim = 0, kind = points {weft.pooled = array<i64: 5, 2, 2, 1, 1, 3>} : tensor<5xf32, #cpu>, tensor<3xi64, #cpu>
  weft.return
}
