// RUN: weft-opt %s --weft-simplify | FileCheck %s
// RUN: weft-opt %s --weft-simplify --weft-simplify | FileCheck %s

#cpu = #weft.device<cpu>

// add-zero: x + (-0) is x for every x; x + (+0) is not where x is -0, and stays. Integers have one zero.
// CHECK-LABEL: weft.func @add_zero(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>, %[[I:[a-z0-9]+]]: tensor<4xi32, #cpu>)
// CHECK:         %[[KEPT:.*]] = weft.add %[[X]]
// CHECK-NEXT:    weft.return %[[X]], %[[X]], %[[KEPT]], %[[I]]
weft.func @add_zero(%x: tensor<4xf32, #cpu>, %i: tensor<4xi32, #cpu>)
    -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xi32, #cpu>) {
  %minus = weft.constant dense<-0.0> : tensor<4xf32, #cpu>
  %plus = weft.constant dense<0.0> : tensor<4xf32, #cpu>
  %zero = weft.constant dense<0> : tensor<4xi32, #cpu>
  %0 = weft.add %x, %minus : tensor<4xf32, #cpu>
  %1 = weft.add %minus, %x : tensor<4xf32, #cpu>
  %2 = weft.add %x, %plus : tensor<4xf32, #cpu>
  %3 = weft.add %i, %zero : tensor<4xi32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xi32, #cpu>
}

// sub-zero: x - (+0) is x; x - (-0) turns -0 into +0, and 0 - x is no negation of +0.
// CHECK-LABEL: weft.func @sub_zero(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>)
// CHECK:         %[[A:.*]] = weft.sub %[[X]]
// CHECK-NEXT:    %[[B:.*]] = weft.sub %{{.*}}, %[[X]]
// CHECK-NEXT:    weft.return %[[X]], %[[A]], %[[B]]
weft.func @sub_zero(%x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %minus = weft.constant dense<-0.0> : tensor<4xf32, #cpu>
  %plus = weft.constant dense<0.0> : tensor<4xf32, #cpu>
  %0 = weft.sub %x, %plus : tensor<4xf32, #cpu>
  %1 = weft.sub %x, %minus : tensor<4xf32, #cpu>
  %2 = weft.sub %plus, %x : tensor<4xf32, #cpu>
  weft.return %0, %1, %2 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// mul-one, div-one: exact on either side of a product and below a quotient; 1 / x is no x.
// CHECK-LABEL: weft.func @one(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf16, #cpu>, %[[I:[a-z0-9]+]]: tensor<4xui8, #cpu>)
// CHECK:         %[[D:.*]] = weft.div %{{.*}}, %[[X]]
// CHECK-NEXT:    weft.return %[[X]], %[[X]], %[[X]], %[[D]], %[[I]]
weft.func @one(%x: tensor<4xf16, #cpu>, %i: tensor<4xui8, #cpu>)
    -> (tensor<4xf16, #cpu>, tensor<4xf16, #cpu>, tensor<4xf16, #cpu>, tensor<4xf16, #cpu>, tensor<4xui8, #cpu>) {
  %one = weft.constant dense<1.0> : tensor<4xf16, #cpu>
  %whole = weft.constant dense<1> : tensor<4xui8, #cpu>
  %0 = weft.mul %x, %one : tensor<4xf16, #cpu>
  %1 = weft.mul %one, %x : tensor<4xf16, #cpu>
  %2 = weft.div %x, %one : tensor<4xf16, #cpu>
  %3 = weft.div %one, %x : tensor<4xf16, #cpu>
  %4 = weft.mul %i, %whole : tensor<4xui8, #cpu>
  weft.return %0, %1, %2, %3, %4
    : tensor<4xf16, #cpu>, tensor<4xf16, #cpu>, tensor<4xf16, #cpu>, tensor<4xf16, #cpu>, tensor<4xui8, #cpu>
}

// mul-integer-zero: integers times zero are zero; NaN, infinity and the sign survive in floats.
// CHECK-LABEL: weft.func @times_zero(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>
// CHECK-DAG:     %[[ZERO:.*]] = weft.constant dense<0> : tensor<4xi64, #cpu>
// CHECK-DAG:     %[[KEPT:.*]] = weft.mul %[[X]]
// CHECK:         weft.return %[[KEPT]], %[[ZERO]]
weft.func @times_zero(%x: tensor<4xf32, #cpu>, %i: tensor<4xi64, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xi64, #cpu>) {
  %real = weft.constant dense<0.0> : tensor<4xf32, #cpu>
  %whole = weft.constant dense<0> : tensor<4xi64, #cpu>
  %0 = weft.mul %x, %real : tensor<4xf32, #cpu>
  %1 = weft.mul %i, %whole : tensor<4xi64, #cpu>
  weft.return %0, %1 : tensor<4xf32, #cpu>, tensor<4xi64, #cpu>
}

// neg-neg, bnot-bnot: twice is nothing; once, or one inside of the other, is something.
// CHECK-LABEL: weft.func @twice(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>, %[[I:[a-z0-9]+]]: tensor<4xi32, #cpu>)
// CHECK-NEXT:    %[[B:.*]] = weft.bnot %[[I]]
// CHECK-NEXT:    %[[N:.*]] = weft.neg %[[B]]
// CHECK-NEXT:    weft.return %[[X]], %[[I]], %[[N]]
weft.func @twice(%x: tensor<4xf32, #cpu>, %i: tensor<4xi32, #cpu>)
    -> (tensor<4xf32, #cpu>, tensor<4xi32, #cpu>, tensor<4xi32, #cpu>) {
  %0 = weft.neg %x : tensor<4xf32, #cpu>
  %1 = weft.neg %0 : tensor<4xf32, #cpu>
  %2 = weft.bnot %i : tensor<4xi32, #cpu>
  %3 = weft.bnot %2 : tensor<4xi32, #cpu>
  %4 = weft.neg %2 : tensor<4xi32, #cpu>
  weft.return %1, %3, %4 : tensor<4xf32, #cpu>, tensor<4xi32, #cpu>, tensor<4xi32, #cpu>
}

// and-ones, or-zero: neutral elements of the bitwise ops; the other constant is none.
// CHECK-LABEL: weft.func @bits(
// CHECK-SAME:    %[[I:[a-z0-9]+]]: tensor<4xi8, #cpu>)
// CHECK:         %[[A:.*]] = weft.and %[[I]]
// CHECK-NEXT:    %[[O:.*]] = weft.or %[[I]]
// CHECK-NEXT:    weft.return %[[I]], %[[I]], %[[I]], %[[A]], %[[O]]
weft.func @bits(%i: tensor<4xi8, #cpu>)
    -> (tensor<4xi8, #cpu>, tensor<4xi8, #cpu>, tensor<4xi8, #cpu>, tensor<4xi8, #cpu>, tensor<4xi8, #cpu>) {
  %ones = weft.constant dense<-1> : tensor<4xi8, #cpu>
  %zero = weft.constant dense<0> : tensor<4xi8, #cpu>
  %0 = weft.and %i, %ones : tensor<4xi8, #cpu>
  %1 = weft.or %i, %zero : tensor<4xi8, #cpu>
  %2 = weft.xor %i, %zero : tensor<4xi8, #cpu>
  %3 = weft.and %i, %zero : tensor<4xi8, #cpu>
  %4 = weft.or %i, %ones : tensor<4xi8, #cpu>
  weft.return %0, %1, %2, %3, %4
    : tensor<4xi8, #cpu>, tensor<4xi8, #cpu>, tensor<4xi8, #cpu>, tensor<4xi8, #cpu>, tensor<4xi8, #cpu>
}

// select-constant, select-same: known conditions and equal branches choose; others do not.
// CHECK-LABEL: weft.func @select(
// CHECK-SAME:    %[[C:[a-z0-9]+]]: tensor<4xi1, #cpu>, %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>, %[[Y:[a-z0-9]+]]: tensor<4xf32, #cpu>)
// CHECK:         %[[KEPT:.*]] = weft.select %{{.*}}, %[[X]], %[[Y]]
// CHECK-NEXT:    weft.return %[[X]], %[[Y]], %[[X]], %[[KEPT]]
weft.func @select(%c: tensor<4xi1, #cpu>, %x: tensor<4xf32, #cpu>, %y: tensor<4xf32, #cpu>)
    -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %yes = weft.constant dense<true> : tensor<4xi1, #cpu>
  %no = weft.constant dense<false> : tensor<4xi1, #cpu>
  %some = weft.constant dense<[true, false, true, true]> : tensor<4xi1, #cpu>
  %0 = weft.select %yes, %x, %y : tensor<4xi1, #cpu>, tensor<4xf32, #cpu>
  %1 = weft.select %no, %x, %y : tensor<4xi1, #cpu>, tensor<4xf32, #cpu>
  %2 = weft.select %c, %x, %x : tensor<4xi1, #cpu>, tensor<4xf32, #cpu>
  %3 = weft.select %some, %x, %y : tensor<4xi1, #cpu>, tensor<4xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// convert-same, convert-convert: by way of a type that has every value of the first, conversions are one.
// CHECK-LABEL: weft.func @convert(
// CHECK-SAME:    %[[H:[a-z0-9]+]]: tensor<4xbf16, #cpu>, %[[B:[a-z0-9]+]]: tensor<4xui8, #cpu>)
// CHECK-NEXT:    %[[D:.*]] = weft.convert %[[H]] to f64
// CHECK-NEXT:    %[[F:.*]] = weft.convert %[[B]] to f32
// CHECK-NEXT:    weft.return %[[H]], %[[H]], %[[D]], %[[F]]
weft.func @convert(%h: tensor<4xbf16, #cpu>, %b: tensor<4xui8, #cpu>)
    -> (tensor<4xbf16, #cpu>, tensor<4xbf16, #cpu>, tensor<4xf64, #cpu>, tensor<4xf32, #cpu>) {
  %0 = weft.convert %h to bf16 : tensor<4xbf16, #cpu>
  %f = weft.convert %h to f32 : tensor<4xbf16, #cpu>
  %1 = weft.convert %f to bf16 : tensor<4xf32, #cpu>
  %2 = weft.convert %f to f64 : tensor<4xf32, #cpu>
  %i = weft.convert %b to i32 : tensor<4xui8, #cpu>
  %3 = weft.convert %i to f32 : tensor<4xi32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<4xbf16, #cpu>, tensor<4xbf16, #cpu>, tensor<4xf64, #cpu>, tensor<4xf32, #cpu>
}

// convert-convert does not apply where the way rounds (f32 by f16), saturates (i32 by f64 to i8), or where the direct way
// would round twice (i64 by f64 to f16), nor by i1.
// CHECK-LABEL: weft.func @convert_stays(
// CHECK-COUNT-8: weft.convert
// CHECK-NOT:     weft.convert
// CHECK:         weft.return
weft.func @convert_stays(%f: tensor<4xf32, #cpu>, %i: tensor<4xi32, #cpu>)
    -> (tensor<4xf32, #cpu>, tensor<4xi8, #cpu>, tensor<4xf16, #cpu>, tensor<4xi32, #cpu>) {
  %h = weft.convert %f to f16 : tensor<4xf32, #cpu>
  %0 = weft.convert %h to f32 : tensor<4xf16, #cpu>
  %d = weft.convert %i to f64 : tensor<4xi32, #cpu>
  %1 = weft.convert %d to i8 : tensor<4xf64, #cpu>
  %neg = weft.neg %i : tensor<4xi32, #cpu>
  %e = weft.convert %neg to f64 : tensor<4xi32, #cpu>
  %2 = weft.convert %e to f16 : tensor<4xf64, #cpu>
  %b = weft.convert %i to i1 : tensor<4xi32, #cpu>
  %3 = weft.convert %b to i32 : tensor<4xi1, #cpu>
  weft.return %0, %1, %2, %3 : tensor<4xf32, #cpu>, tensor<4xi8, #cpu>, tensor<4xf16, #cpu>, tensor<4xi32, #cpu>
}

// full-constant: a known number that is repeated is a constant; an argument is not.
// CHECK-LABEL: weft.func @full(
// CHECK-DAG:     %[[C:.*]] = weft.constant dense<2.000000e+00> : tensor<2x3xf32, #cpu>
// CHECK-DAG:     %[[F:.*]] = weft.full
// CHECK:         weft.return %[[C]], %[[F]]
weft.func @full(%x: tensor<f32, #cpu>) -> (tensor<2x3xf32, #cpu>, tensor<2x3xf32, #cpu>) {
  %two = weft.constant dense<2.0> : tensor<f32, #cpu>
  %0 = weft.full %two, shape = [2, 3] : tensor<f32, #cpu>
  %1 = weft.full %x, shape = [2, 3] : tensor<f32, #cpu>
  weft.return %0, %1 : tensor<2x3xf32, #cpu>, tensor<2x3xf32, #cpu>
}

// reduce-nothing: a product and an any over no dimension are the operand.
// CHECK-LABEL: weft.func @fold_nothing(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>, %[[P:[a-z0-9]+]]: tensor<4xi1, #cpu>)
// CHECK-NEXT:    weft.return %[[X]], %[[P]]
weft.func @fold_nothing(%x: tensor<4xf32, #cpu>, %p: tensor<4xi1, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xi1, #cpu>) {
  %0 = weft.prod %x, dims = [] : tensor<4xf32, #cpu>
  %1 = weft.any %p, dims = [] : tensor<4xi1, #cpu>
  weft.return %0, %1 : tensor<4xf32, #cpu>, tensor<4xi1, #cpu>
}

// scan-of-one, arg-of-one: along a dimension of size 1 a product is its element, what is before it is the identity,
// and the position is 0. A sum stays, as it may begin at +0.
// CHECK-LABEL: weft.func @along_one(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x1xf32, #cpu>)
// CHECK-DAG:     %[[ONE:.*]] = weft.constant dense<1.000000e+00> : tensor<4x1xf32, #cpu>
// CHECK-DAG:     %[[ZERO:.*]] = weft.constant dense<0> : tensor<4xi64, #cpu>
// CHECK-DAG:     %[[SUM:.*]] = weft.cumsum %[[X]], dim = 1
// CHECK:         weft.return %[[X]], %[[ONE]], %[[ZERO]], %[[SUM]]
weft.func @along_one(%x: tensor<4x1xf32, #cpu>) -> (tensor<4x1xf32, #cpu>, tensor<4x1xf32, #cpu>, tensor<4xi64, #cpu>, tensor<4x1xf32, #cpu>) {
  %0 = weft.cumprod %x, dim = 1 : tensor<4x1xf32, #cpu>
  %1 = weft.cumprod %x, dim = 1 exclusive : tensor<4x1xf32, #cpu>
  %2 = weft.argmin %x, dim = 1 : tensor<4x1xf32, #cpu>
  %3 = weft.cumsum %x, dim = 1 : tensor<4x1xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<4x1xf32, #cpu>, tensor<4x1xf32, #cpu>, tensor<4xi64, #cpu>, tensor<4x1xf32, #cpu>
}

// pow-zero, pow-one, pow-two, pow-minus-one: constants, products and quotients that are rounded as the power; a cube
// of floats and roots stay, and so do powers of f64, which the C library need not round as a product.
// CHECK-LABEL: weft.func @wide_power(
// CHECK:         weft.pow
weft.func @wide_power(%x: tensor<4xf64, #cpu>) -> tensor<4xf64, #cpu> {
  %two = weft.constant dense<2.0> : tensor<4xf64, #cpu>
  %0 = weft.pow %x, %two : tensor<4xf64, #cpu>
  weft.return %0 : tensor<4xf64, #cpu>
}

// CHECK-LABEL: weft.func @powers(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>)
// CHECK-DAG:     %[[ONE:.*]] = weft.constant dense<1.000000e+00>
// CHECK-DAG:     %[[SQUARE:.*]] = weft.mul %[[X]], %[[X]]
// CHECK-DAG:     %[[INVERSE:.*]] = weft.recip %[[X]]
// CHECK-DAG:     %[[CUBE:.*]] = weft.pow %[[X]], %{{.*}}
// CHECK-DAG:     %[[ROOT:.*]] = weft.pow %[[X]], %{{.*}}
// CHECK:         weft.return %[[ONE]], %[[X]], %[[SQUARE]], %[[INVERSE]], %{{.*}}, %{{.*}} :
weft.func @powers(%x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>,
    tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %zero = weft.constant dense<-0.0> : tensor<4xf32, #cpu>
  %one = weft.constant dense<1.0> : tensor<4xf32, #cpu>
  %two = weft.constant dense<2.0> : tensor<4xf32, #cpu>
  %minus = weft.constant dense<-1.0> : tensor<4xf32, #cpu>
  %three = weft.constant dense<3.0> : tensor<4xf32, #cpu>
  %half = weft.constant dense<0.5> : tensor<4xf32, #cpu>
  %0 = weft.pow %x, %zero : tensor<4xf32, #cpu>
  %1 = weft.pow %x, %one : tensor<4xf32, #cpu>
  %2 = weft.pow %x, %two : tensor<4xf32, #cpu>
  %3 = weft.pow %x, %minus : tensor<4xf32, #cpu>
  %4 = weft.pow %x, %three : tensor<4xf32, #cpu>
  %5 = weft.pow %x, %half : tensor<4xf32, #cpu>
  weft.return %0, %1, %2, %3, %4, %5 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>,
    tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// pow-integer-three: integers wrap, so that a cube is two products; x^-1 of integers is no quotient and stays.
// CHECK-LABEL: weft.func @integer_powers(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xi32, #cpu>)
// CHECK-DAG:     %[[ONE:.*]] = weft.constant dense<1> : tensor<4xi32, #cpu>
// CHECK-DAG:     %[[SQUARE:.*]] = weft.mul %[[X]], %[[X]]
// CHECK-DAG:     %[[CUBE:.*]] = weft.mul %{{.*}}, %[[X]]
// CHECK-DAG:     %[[KEPT:.*]] = weft.pow %[[X]]
// CHECK:         weft.return %[[ONE]], %{{.*}}, %{{.*}}, %[[KEPT]] :
weft.func @integer_powers(%x: tensor<4xi32, #cpu>)
    -> (tensor<4xi32, #cpu>, tensor<4xi32, #cpu>, tensor<4xi32, #cpu>, tensor<4xi32, #cpu>) {
  %zero = weft.constant dense<0> : tensor<4xi32, #cpu>
  %two = weft.constant dense<2> : tensor<4xi32, #cpu>
  %three = weft.constant dense<3> : tensor<4xi32, #cpu>
  %minus = weft.constant dense<-1> : tensor<4xi32, #cpu>
  %0 = weft.pow %x, %zero : tensor<4xi32, #cpu>
  %1 = weft.pow %x, %two : tensor<4xi32, #cpu>
  %2 = weft.pow %x, %three : tensor<4xi32, #cpu>
  %3 = weft.pow %x, %minus : tensor<4xi32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<4xi32, #cpu>, tensor<4xi32, #cpu>, tensor<4xi32, #cpu>, tensor<4xi32, #cpu>
}

// remainder-by-unit: nothing is left of a whole number by 1 or -1; of a float its fraction is, and 255 is no -1.
// CHECK-LABEL: weft.func @remainders(
// CHECK-SAME:    %[[I:[a-z0-9]+]]: tensor<4xi32, #cpu>, %[[U:[a-z0-9]+]]: tensor<4xui8, #cpu>, %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>)
// CHECK-DAG:     %[[ZERO:.*]] = weft.constant dense<0> : tensor<4xi32, #cpu>
// CHECK-DAG:     %[[KEPT:.*]] = weft.rem %[[U]]
// CHECK-DAG:     %[[FRACTION:.*]] = weft.mod %[[X]]
// CHECK:         weft.return %[[ZERO]], %[[ZERO]], %[[KEPT]], %[[FRACTION]] :
weft.func @remainders(%i: tensor<4xi32, #cpu>, %u: tensor<4xui8, #cpu>, %x: tensor<4xf32, #cpu>)
    -> (tensor<4xi32, #cpu>, tensor<4xi32, #cpu>, tensor<4xui8, #cpu>, tensor<4xf32, #cpu>) {
  %one = weft.constant dense<1> : tensor<4xi32, #cpu>
  %minus = weft.constant dense<-1> : tensor<4xi32, #cpu>
  %large = weft.constant dense<255> : tensor<4xui8, #cpu>
  %real = weft.constant dense<1.0> : tensor<4xf32, #cpu>
  %0 = weft.rem %i, %one : tensor<4xi32, #cpu>
  %1 = weft.mod %i, %minus : tensor<4xi32, #cpu>
  %2 = weft.rem %u, %large : tensor<4xui8, #cpu>
  %3 = weft.mod %x, %real : tensor<4xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<4xi32, #cpu>, tensor<4xi32, #cpu>, tensor<4xui8, #cpu>, tensor<4xf32, #cpu>
}
