// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>
#cuda = #weft.device<cuda:0>

// CHECK-DAG: #[[$CPU:cpu[_0-9]*]] = #weft.device<cpu>
// CHECK-DAG: #[[$CUDA:cuda[_0-9]*]] = #weft.device<cuda:0>

// CHECK-LABEL: weft.func @unary
// CHECK-SAME: (%[[A:.*]]: tensor<4x8xf32, #[[$CPU]]>)
weft.func @unary(%a: tensor<4x8xf32, #cpu>) {
  // CHECK: weft.neg %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %neg = weft.neg %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.abs %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %abs = weft.abs %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.sign %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %sign = weft.sign %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.ceil %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %ceil = weft.ceil %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.floor %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %floor = weft.floor %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.round %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %round = weft.round %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.trunc %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %trunc = weft.trunc %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.sqrt %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %sqrt = weft.sqrt %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.rsqrt %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %rsqrt = weft.rsqrt %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.recip %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %recip = weft.recip %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.exp %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %exp = weft.exp %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.expm1 %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %expm1 = weft.expm1 %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.log %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %log = weft.log %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.log1p %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %log1p = weft.log1p %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.sin %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %sin = weft.sin %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.cos %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %cos = weft.cos %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.tanh %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %tanh = weft.tanh %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.erf %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %erf = weft.erf %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.sigmoid %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %sigmoid = weft.sigmoid %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.tan %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %tan = weft.tan %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.asin %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %asin = weft.asin %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.acos %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %acos = weft.acos %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.atan %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %atan = weft.atan %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.sinh %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %sinh = weft.sinh %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.cosh %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %cosh = weft.cosh %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.asinh %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %asinh = weft.asinh %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.acosh %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %acosh = weft.acosh %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.atanh %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %atanh = weft.atanh %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.log2 %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %log2 = weft.log2 %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.log10 %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %log10 = weft.log10 %a : tensor<4x8xf32, #cpu>
  // CHECK: weft.exp2 %[[A]] : tensor<4x8xf32, #[[$CPU]]>
  %exp2 = weft.exp2 %a : tensor<4x8xf32, #cpu>
  weft.return
}

// CHECK-LABEL: weft.func @unary_integers
weft.func @unary_integers(%a: tensor<3xi16, #cpu>, %p: tensor<i1, #cpu>) {
  // CHECK: weft.neg %{{.*}} : tensor<3xi16, #[[$CPU]]>
  %neg = weft.neg %a : tensor<3xi16, #cpu>
  // CHECK: weft.abs %{{.*}} : tensor<3xi16, #[[$CPU]]>
  %abs = weft.abs %a : tensor<3xi16, #cpu>
  // CHECK: weft.sign %{{.*}} : tensor<3xi16, #[[$CPU]]>
  %sign = weft.sign %a : tensor<3xi16, #cpu>
  // CHECK: weft.bnot %{{.*}} : tensor<3xi16, #[[$CPU]]>
  %bnot = weft.bnot %a : tensor<3xi16, #cpu>
  // CHECK: weft.bnot %{{.*}} : tensor<i1, #[[$CPU]]>
  %not = weft.bnot %p : tensor<i1, #cpu>
  weft.return
}

// CHECK-LABEL: weft.func @isnan
// CHECK-SAME: -> tensor<4xi1, #[[$CPU]]>
weft.func @isnan(%a: tensor<4xbf16, #cpu>) -> tensor<4xi1, #cpu> {
  // CHECK: weft.isnan %{{.*}} : tensor<4xbf16, #[[$CPU]]>
  %r = weft.isnan %a : tensor<4xbf16, #cpu>
  weft.return %r : tensor<4xi1, #cpu>
}

// CHECK-LABEL: weft.func @binary
// CHECK-SAME: (%[[A:.*]]: tensor<2x0x3xf64, #[[$CUDA]]>, %[[B:.*]]: tensor<2x0x3xf64, #[[$CUDA]]>)
weft.func @binary(%a: tensor<2x0x3xf64, #cuda>, %b: tensor<2x0x3xf64, #cuda>) {
  // CHECK: weft.add %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %add = weft.add %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.sub %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %sub = weft.sub %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.mul %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %mul = weft.mul %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.div %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %div = weft.div %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.pow %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %pow = weft.pow %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.max %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %max = weft.max %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.min %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %min = weft.min %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.rem %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %rem = weft.rem %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.mod %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %mod = weft.mod %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.atan2 %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %atan2 = weft.atan2 %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.copysign %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %copysign = weft.copysign %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.after %[[A]], %[[B]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %after = weft.after %a, %b : tensor<2x0x3xf64, #cuda>
  // CHECK: weft.fma %[[A]], %[[B]], %[[A]] : tensor<2x0x3xf64, #[[$CUDA]]>
  %fma = weft.fma %a, %b, %a : tensor<2x0x3xf64, #cuda>
  weft.return
}

// CHECK-LABEL: weft.func @binary_integers
// CHECK-SAME: (%[[A:.*]]: tensor<5xui8, #[[$CPU]]>, %[[B:.*]]: tensor<5xui8, #[[$CPU]]>)
weft.func @binary_integers(%a: tensor<5xui8, #cpu>, %b: tensor<5xui8, #cpu>) {
  // CHECK: weft.add %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %add = weft.add %a, %b : tensor<5xui8, #cpu>
  // CHECK: weft.sub %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %sub = weft.sub %a, %b : tensor<5xui8, #cpu>
  // CHECK: weft.mul %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %mul = weft.mul %a, %b : tensor<5xui8, #cpu>
  // CHECK: weft.div %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %div = weft.div %a, %b : tensor<5xui8, #cpu>
  // CHECK: weft.max %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %max = weft.max %a, %b : tensor<5xui8, #cpu>
  // CHECK: weft.min %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %min = weft.min %a, %b : tensor<5xui8, #cpu>
  // CHECK: weft.and %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %and = weft.and %a, %b : tensor<5xui8, #cpu>
  // CHECK: weft.or %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %or = weft.or %a, %b : tensor<5xui8, #cpu>
  // CHECK: weft.xor %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %xor = weft.xor %a, %b : tensor<5xui8, #cpu>
  // CHECK: weft.rem %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %rem = weft.rem %a, %b : tensor<5xui8, #cpu>
  // CHECK: weft.mod %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %mod = weft.mod %a, %b : tensor<5xui8, #cpu>
  // CHECK: weft.pow %[[A]], %[[B]] : tensor<5xui8, #[[$CPU]]>
  %pow = weft.pow %a, %b : tensor<5xui8, #cpu>
  weft.return
}

// A comparison gives i1 whatever it compares.
// CHECK-LABEL: weft.func @compare
// CHECK-SAME: (%[[A:.*]]: tensor<4xf16, #[[$CPU]]>, %[[B:.*]]: tensor<4xf16, #[[$CPU]]>)
weft.func @compare(%a: tensor<4xf16, #cpu>, %b: tensor<4xf16, #cpu>)
    -> (tensor<4xi1, #cpu>, tensor<4xi1, #cpu>, tensor<4xi1, #cpu>, tensor<4xi1, #cpu>, tensor<4xi1, #cpu>, tensor<4xi1, #cpu>) {
  // CHECK: weft.eq %[[A]], %[[B]] : tensor<4xf16, #[[$CPU]]>
  %eq = weft.eq %a, %b : tensor<4xf16, #cpu>
  // CHECK: weft.ne %[[A]], %[[B]] : tensor<4xf16, #[[$CPU]]>
  %ne = weft.ne %a, %b : tensor<4xf16, #cpu>
  // CHECK: weft.lt %[[A]], %[[B]] : tensor<4xf16, #[[$CPU]]>
  %lt = weft.lt %a, %b : tensor<4xf16, #cpu>
  // CHECK: weft.le %[[A]], %[[B]] : tensor<4xf16, #[[$CPU]]>
  %le = weft.le %a, %b : tensor<4xf16, #cpu>
  // CHECK: weft.gt %[[A]], %[[B]] : tensor<4xf16, #[[$CPU]]>
  %gt = weft.gt %a, %b : tensor<4xf16, #cpu>
  // CHECK: weft.ge %[[A]], %[[B]] : tensor<4xf16, #[[$CPU]]>
  %ge = weft.ge %a, %b : tensor<4xf16, #cpu>
  weft.return %eq, %ne, %lt, %le, %gt, %ge
      : tensor<4xi1, #cpu>, tensor<4xi1, #cpu>, tensor<4xi1, #cpu>, tensor<4xi1, #cpu>, tensor<4xi1, #cpu>, tensor<4xi1, #cpu>
}

// CHECK-LABEL: weft.func @logic
weft.func @logic(%a: tensor<4xi1, #cpu>, %b: tensor<4xi1, #cpu>) {
  // CHECK: weft.and %{{.*}}, %{{.*}} : tensor<4xi1, #[[$CPU]]>
  %and = weft.and %a, %b : tensor<4xi1, #cpu>
  // CHECK: weft.or %{{.*}}, %{{.*}} : tensor<4xi1, #[[$CPU]]>
  %or = weft.or %a, %b : tensor<4xi1, #cpu>
  // CHECK: weft.xor %{{.*}}, %{{.*}} : tensor<4xi1, #[[$CPU]]>
  %xor = weft.xor %a, %b : tensor<4xi1, #cpu>
  // CHECK: weft.eq %{{.*}}, %{{.*}} : tensor<4xi1, #[[$CPU]]>
  %eq = weft.eq %a, %b : tensor<4xi1, #cpu>
  // CHECK: weft.ne %{{.*}}, %{{.*}} : tensor<4xi1, #[[$CPU]]>
  %ne = weft.ne %a, %b : tensor<4xi1, #cpu>
  weft.return
}

// CHECK-LABEL: weft.func @select
// CHECK-SAME: (%[[C:.*]]: tensor<4xi1, #[[$CPU]]>, %[[A:.*]]: tensor<4xi64, #[[$CPU]]>, %[[B:.*]]: tensor<4xi64, #[[$CPU]]>)
weft.func @select(%c: tensor<4xi1, #cpu>, %a: tensor<4xi64, #cpu>, %b: tensor<4xi64, #cpu>)
    -> tensor<4xi64, #cpu> {
  // CHECK: weft.select %[[C]], %[[A]], %[[B]] : tensor<4xi1, #[[$CPU]]>, tensor<4xi64, #[[$CPU]]>
  %r = weft.select %c, %a, %b : tensor<4xi1, #cpu>, tensor<4xi64, #cpu>
  weft.return %r : tensor<4xi64, #cpu>
}

// CHECK-LABEL: weft.func @convert
// CHECK-SAME: (%[[A:.*]]: tensor<4xf32, #[[$CPU]]>)
weft.func @convert(%a: tensor<4xf32, #cpu>) {
  // CHECK: weft.convert %[[A]] to i1 : tensor<4xf32, #[[$CPU]]>
  %i1 = weft.convert %a to i1 : tensor<4xf32, #cpu>
  // CHECK: weft.convert %[[A]] to i8 : tensor<4xf32, #[[$CPU]]>
  %i8 = weft.convert %a to i8 : tensor<4xf32, #cpu>
  // CHECK: weft.convert %[[A]] to i16 : tensor<4xf32, #[[$CPU]]>
  %i16 = weft.convert %a to i16 : tensor<4xf32, #cpu>
  // CHECK: weft.convert %[[A]] to i32 : tensor<4xf32, #[[$CPU]]>
  %i32 = weft.convert %a to i32 : tensor<4xf32, #cpu>
  // CHECK: weft.convert %[[A]] to i64 : tensor<4xf32, #[[$CPU]]>
  %i64 = weft.convert %a to i64 : tensor<4xf32, #cpu>
  // CHECK: weft.convert %[[A]] to ui8 : tensor<4xf32, #[[$CPU]]>
  %ui8 = weft.convert %a to ui8 : tensor<4xf32, #cpu>
  // CHECK: weft.convert %[[A]] to f16 : tensor<4xf32, #[[$CPU]]>
  %f16 = weft.convert %a to f16 : tensor<4xf32, #cpu>
  // CHECK: weft.convert %[[A]] to bf16 : tensor<4xf32, #[[$CPU]]>
  %bf16 = weft.convert %a to bf16 : tensor<4xf32, #cpu>
  // CHECK: weft.convert %[[A]] to f32 : tensor<4xf32, #[[$CPU]]>
  %f32 = weft.convert %a to f32 : tensor<4xf32, #cpu>
  // CHECK: weft.convert %[[A]] to f64 : tensor<4xf32, #[[$CPU]]>
  %f64 = weft.convert %a to f64 : tensor<4xf32, #cpu>
  weft.return
}

// A discardable attribute and a location survive.
// CHECK-LABEL: weft.func @attributes
weft.func @attributes(%a: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // CHECK: weft.exp %{{.*}} {weft.order = 3 : i64} : tensor<4xf32, #[[$CPU]]>
  %r = weft.exp %a {weft.order = 3 : i64} : tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}
