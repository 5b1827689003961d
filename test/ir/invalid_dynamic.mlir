// RUN: weft-opt %s -split-input-file -verify-diagnostics

// A dynamic dimension has no size.
#cpu = #weft.device<cpu>
// expected-error @+1 {{takes and returns tensors with a device, found 'tensor<?x4xf32, #weft.device<cpu>>'}}
weft.func @no_size(%a: tensor<?x4xf32, #cpu>) { weft.return }

// -----

// More sizes than dynamic dimensions.
// expected-error @+1 {{takes and returns tensors with a device}}
weft.func @two_sizes(%a: tensor<?x4xf32, #weft.device<cpu, [n, m]>>) { weft.return }

// -----

// A size that is a number belongs into the shape.
// expected-error @+1 {{the size of a dynamic dimension is a sum of products of symbols, found 4; a size that is a number belongs into the shape}}
weft.func @number(%a: tensor<?xf32, #weft.device<cpu, [4]>>) { weft.return }

// -----

// A rounded quotient is no size of a dimension.
// expected-error @+1 {{the size of a dynamic dimension is a sum of products of symbols, found ceildiv(n, 4)}}
weft.func @quotient(%a: tensor<?xf32, #weft.device<cpu, [ceildiv(n, 4)]>>) { weft.return }

// -----

// What is a type to the parser of other things cannot be a symbol.
// expected-error @+1 {{'ceildiv' cannot be a symbol of a size}}
weft.func @reserved(%a: tensor<?xf32, #weft.device<cpu, [2 * ceildiv]>>) { weft.return }

// -----

// Text from strangers is bounded: factors.
// expected-error @+1 {{a size multiplies at most 8 symbols}}
weft.func @factors(%a: tensor<?xf32, #weft.device<cpu, [n * n * n * n * n * n * n * n * n]>>) { weft.return }

// -----

// Text from strangers is bounded: terms.
// expected-error @+1 {{a size adds at most 16 terms}}
weft.func @terms(%a: tensor<?xf32, #weft.device<cpu, [n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n]>>) { weft.return }

// -----

// Division by nothing.
#cpu = #weft.device<cpu>
weft.func @division(%a: tensor<?xf32, #weft.device<cpu, [n]>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error @+1 {{ceildiv divides by a number above 0, found 0}}
  %0 = weft.dim ceildiv(n, 0) : tensor<i64, #cpu>
  weft.return
}

// -----

// A symbol's name is an identifier.
// expected-error @+1 {{"2n" cannot be a symbol: expected a letter, then letters, digits and underscores}}
weft.func @name(%a: tensor<4xf32, #weft.device<cpu>>) attributes {weft.symbols = [#weft.symbol<"2n", 1, 64>]} { weft.return }

// -----

// A symbol's range holds a value.
// expected-error @+1 {{the symbol 'n' needs 0 <= min <= max, found 4 and 3}}
weft.func @range(%a: tensor<4xf32, #weft.device<cpu>>) attributes {weft.symbols = [#weft.symbol<"n", 4, 3>]} { weft.return }

// -----

// The symbols of a function are a list.
// expected-error @+1 {{@list needs weft.symbols as a list of #weft.symbol, found 3}}
weft.func @list(%a: tensor<4xf32, #weft.device<cpu>>) attributes {weft.symbols = 3 : i64} { weft.return }

// -----

// The symbols of a function are symbols.
// expected-error @+1 {{@element needs weft.symbols as a list of #weft.symbol, found "n"}}
weft.func @element(%a: tensor<4xf32, #weft.device<cpu>>) attributes {weft.symbols = ["n"]} { weft.return }

// -----

// One declaration a symbol.
// expected-error @+1 {{@twice declares the symbol 'n' twice}}
weft.func @twice(%a: tensor<?xf32, #weft.device<cpu, [n]>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 2>, #weft.symbol<"n", 1, 3>]} { weft.return }

// -----

// A call takes the value of a symbol from a dimension that is the symbol.
// expected-error @+1 {{@unbound declares the symbol 'n', but no argument has a dimension of that size to take it from}}
weft.func @unbound(%a: tensor<?xf32, #weft.device<cpu, [2 * n]>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 2>]} { weft.return }

// -----

// Every symbol of a type is declared.
// expected-error @+1 {{has a value of type 'tensor<?x?xf32, #weft.device<cpu, [n, m]>>', whose symbol 'm' the function does not declare; add it to weft.symbols}}
weft.func @undeclared(%a: tensor<?x?xf32, #weft.device<cpu, [n, m]>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 2>]} { weft.return }

// -----

// No size may be negative, whatever the symbols are.
// expected-error @+1 {{has a value of type 'tensor<?x?xf32, #weft.device<cpu, [n, n + -2]>>' whose size n + -2 may be negative in the ranges of its symbols}}
weft.func @negative(%a: tensor<?x?xf32, #weft.device<cpu, [n, n + -2]>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} { weft.return }

// -----

// Bytes are counted at the largest sizes.
// expected-error @+1 {{has a value of type 'tensor<?x?xf32, #weft.device<cpu, [n, n * n]>>', which takes more than 2^63 bytes where its symbols are largest}}
weft.func @large(%a: tensor<?x?xf32, #weft.device<cpu, [n, n * n]>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4194304>]} { weft.return }

// -----

// Values inside of the function are checked as its arguments are.
#n = #weft.device<cpu, [n]>
weft.func @inside(%a: tensor<?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4194304>]} {
  // expected-error @+1 {{which takes more than 2^63 bytes where its symbols are largest}}
  %0 = weft.broadcast_in_dim %a, dims = [0] : tensor<?xf32, #n> -> tensor<?x4398046511104xf32, #n>
  weft.return
}

// -----

// A size that is an attribute has declared symbols as well.
#cpu = #weft.device<cpu>
weft.func @dim(%a: tensor<?xf32, #weft.device<cpu, [n]>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{uses the symbol 'm', which its function does not declare}}
  %0 = weft.dim 2 * m : tensor<i64, #cpu>
  weft.return
}

// -----

// A size is not negative.
#cpu = #weft.device<cpu>
weft.func @negative_dim(%a: tensor<4xf32, #cpu>) {
  // expected-error @+1 {{needs a size that is not negative, found -3}}
  %0 = weft.dim -3 : tensor<i64, #cpu>
  weft.return
}

// -----

// A constant over dynamic dimensions repeats one element of its type.
#n = #weft.device<cpu, [n]>
weft.func @constant(%a: tensor<?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{over dynamic dimensions repeats one element: it needs a value of type 'tensor<f32>', found 'tensor<2xf32>'}}
  %0 = weft.constant dense<[1.0, 2.0]> : tensor<2xf32> -> tensor<?xf32, #n>
  weft.return
}

// -----

// Different expressions are different sizes, even where a call could make them equal.
#n = #weft.device<cpu, [n]>
#m = #weft.device<cpu, [m]>
weft.func @differ(%a: tensor<?xf32, #n>, %b: tensor<?xf32, #m>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>, #weft.symbol<"m", 1, 4>]} {
  // expected-error @+1 {{needs operands of one shape, but operand #0 has shape [n] and operand #1 has shape [m]; insert weft.broadcast_in_dim}}
  %0 = weft.add %a, %b : tensor<?xf32, #n>, tensor<?xf32, #m>
  weft.return
}

// -----

// A symbol is never stretched: it does not count as 1.
#n = #weft.device<cpu, [n]>
weft.func @stretch(%a: tensor<?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{cannot stretch dimension 0 of size n to size 4 (dimension 0 of the result)}}
  %0 = weft.broadcast_in_dim %a, dims = [0] : tensor<?xf32, #n> -> tensor<4xf32, #weft.device<cpu>>
  weft.return
}

// -----

// A reshape keeps the number of elements as an expression.
#n = #weft.device<cpu, [n]>
weft.func @reshape(%a: tensor<?x3xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{cannot turn 3 * n elements of shape [n, 3] into 4 * n of shape [4 * n]}}
  %0 = weft.reshape %a : tensor<?x3xf32, #n> -> tensor<?xf32, #weft.device<cpu, [4 * n]>>
  weft.return
}

// -----

// A step along a dynamic dimension has to divide what is taken.
#n = #weft.device<cpu, [n]>
weft.func @step(%a: tensor<?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{takes 0:n:2 of dimension 0, which has size n; a step has to divide a dynamic size}}
  %0 = weft.slice %a, start = [0], limit = [n], step = [2] : tensor<?xf32, #n>
  weft.return
}

// -----

// So does one that could begin before the first element.
#n = #weft.device<cpu, [n]>
weft.func @slice_start(%a: tensor<?xf32, #n>) -> tensor<2xf32, #weft.device<cpu>> attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{takes n + -2:n of dimension 0, which has size n; it cannot be proven that this is inside for every value of the symbols: give them a larger min, or take less}}
  %0 = weft.slice %a, start = [n + -2], limit = [n], step = [1] : tensor<?xf32, #n>
  weft.return %0 : tensor<2xf32, #weft.device<cpu>>
}

// -----

// A slice is inside for every value of the symbols.
#n = #weft.device<cpu, [n]>
weft.func @slice(%a: tensor<?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{takes 0:2 of dimension 0, which has size n; it cannot be proven that this is inside for every value of the symbols}}
  %0 = weft.slice %a, start = [0], limit = [2], step = [1] : tensor<?xf32, #n>
  weft.return
}

// -----

// What a pad adds to a dynamic dimension is not negative.
#n = #weft.device<cpu, [n]>
weft.func @pad(%a: tensor<?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{adds n + -2 and 0 elements to dimension 0, which is dynamic; it cannot be proven that neither is negative}}
  %0 = weft.pad %a, low = [n + -2], high = [0], interior = [0] : tensor<?xf32, #n>
  weft.return
}

// -----

// Between the elements of nothing there is no place.
#n = #weft.device<cpu, [n]>
weft.func @interior(%a: tensor<?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 0, 4>]} {
  // expected-error @+1 {{adds elements between those of dimension 0, of size n, which may be 0: give its symbols a min of 1}}
  %0 = weft.pad %a, low = [0], high = [1], interior = [1] : tensor<?xf32, #n>
  weft.return
}

// -----

// A window fits for every value of the symbols, whichever of the two sizes depends on them.
#n = #weft.device<cpu, [n]>
#m = #weft.device<cpu, [m]>
weft.func @takes(%a: tensor<?xf32, #n>, %i: tensor<i64, #weft.device<cpu>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{takes a window of size 3 in dimension 0, which has size n; it cannot be proven that it fits for every value of the symbols}}
  %0 = weft.dynamic_slice %a, starts(%i), sizes = [3] : tensor<?xf32, #n>, tensor<i64, #weft.device<cpu>>
  weft.return
}

// -----

#n = #weft.device<cpu, [n]>
#m = #weft.device<cpu, [m]>
weft.func @writes(%a: tensor<?xf32, #n>, %u: tensor<?xf32, #m>, %i: tensor<i64, #weft.device<cpu>>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 4>, #weft.symbol<"m", 1, 4>]} {
  // expected-error @+1 {{writes a window of size m in dimension 0, which has size n; it cannot be proven that it fits for every value of the symbols}}
  %0 = weft.dynamic_update_slice %a, %u, starts(%i) : tensor<?xf32, #n>, tensor<?xf32, #m>, tensor<i64, #weft.device<cpu>>
  weft.return
}

// -----

// Elements become larger ones only where every size is a whole number of them.
#n = #weft.device<cpu, [n]>
weft.func @bits(%a: tensor<2x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{cannot take elements of 4 bytes for elements of 8: the last dimension of [2, n] is no whole number of them}}
  %0 = weft.bitcast %a to f64 : tensor<2x?xf32, #n>
  weft.return
}

// -----

// Among no elements there is no position.
#n = #weft.device<cpu, [n]>
weft.func @position(%a: tensor<2x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 0, 4>]} {
  // expected-error @+1 {{looks for a position along dimension 1 of size n, which may be 0: give its symbols a min of 1}}
  %0 = weft.argmin %a, dim = 1 : tensor<2x?xf32, #n>
  weft.return
}

// -----

// What a function relies on of a symbol holds for whoever calls it.
#n = #weft.device<cpu, [n]>
weft.func @callee(%a: tensor<?xf32, #n>) -> tensor<?xf32, #n> attributes {weft.symbols = [#weft.symbol<"n", 2, 8>]} {
  weft.return %a : tensor<?xf32, #n>
}
weft.func @caller(%a: tensor<?xf32, #n>) -> tensor<?xf32, #n> attributes {weft.symbols = [#weft.symbol<"n", 1, 8>]} {
  // expected-error @+1 {{calls 'callee', where 'n' goes from 2 to 8, with values from 1 to 8 (WEFT-S001); give the symbol of the caller a range inside of it}}
  %0 = weft.call @callee(%a) : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  weft.return %0 : tensor<?xf32, #n>
}

// -----

// What falls with a symbol is largest at its min.
#n = #weft.device<cpu, [n]>
#m = #weft.device<cpu, [m]>
#falls = #weft.device<cpu, [m + -1 * n]>
// expected-error @+1 {{which takes more than 2^63 bytes where its symbols are largest}}
weft.func @falling(%a: tensor<?xi1, #n>, %b: tensor<?xi1, #m>, %c: tensor<?x2xf64, #falls>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1152921504606846976>, #weft.symbol<"m", 1152921504606846976, 1152921504606846976>]} {
  weft.return
}

// -----

// An index has no place in a dimension without elements.
#n = #weft.device<cpu, [n]>
weft.func @nothing(%a: tensor<?x2xf32, #n>, %i: tensor<3xi64, #weft.device<cpu>>) attributes {weft.symbols = [#weft.symbol<"n", 0, 4>]} {
  // expected-error @+1 {{reads along a dimension of size n, which may be 0: give its symbols a min of 1}}
  %0 = weft.gather %a, %i, dim = 0, kind = points mode = clip : tensor<?x2xf32, #n>, tensor<3xi64, #weft.device<cpu>>
  weft.return
}

// -----

#n = #weft.device<cpu, [n]>
weft.func @along(%a: tensor<2x5xf32, #weft.device<cpu>>, %i: tensor<?x5xi64, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{has an index of size n in dimension 0, where the operand has size 2}}
  %0 = weft.gather %a, %i, dim = 1, kind = along mode = clip : tensor<2x5xf32, #weft.device<cpu>>, tensor<?x5xi64, #n>
  weft.return
}

// -----

#n = #weft.device<cpu, [n]>
weft.func @smoothing(%a: tensor<2x?xf32, #n>, %t: tensor<2xi64, #weft.device<cpu>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{cannot spread a label_smoothing over n classes: their number has to be known}}
  %0:2 = weft.cross_entropy %a, %t, reduction = mean ignore_index = -100 label_smoothing = 0.1 : tensor<2x?xf32, #n>, tensor<2xi64, #weft.device<cpu>>
  weft.return
}
