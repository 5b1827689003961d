//===- Lanes.h - Loops over the lanes of a warp ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers made of a function of one lane. They compute all 32 lanes and store those of the mask, so they are
// for functions that are cheap and cannot fail. Operand 0 is the result.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_LANES_H
#define WEFT_TEST_CUDASIM_LANES_H

#include "Decoder.h"

namespace weft::cudasim {

template <class Op, class D, class A> void unaryLanes(Warp &warp, const Instruction &i, uint32_t mask) {
  const A *a = warp.at<A>(i.operand[1]);
  D values[lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
    values[lane] = Op::run(a[lane]);
  store(warp.at<D>(i.operand[0]), values, mask);
}

template <class Op, class D, class A, class B = A>
void binaryLanes(Warp &warp, const Instruction &i, uint32_t mask) {
  const A *a = warp.at<A>(i.operand[1]);
  const B *b = warp.at<B>(i.operand[2]);
  D values[lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
    values[lane] = Op::run(a[lane], b[lane]);
  store(warp.at<D>(i.operand[0]), values, mask);
}

template <class Op, class D, class A, class C = A>
void ternaryLanes(Warp &warp, const Instruction &i, uint32_t mask) {
  const A *a = warp.at<A>(i.operand[1]), *b = warp.at<A>(i.operand[2]);
  const C *c = warp.at<C>(i.operand[3]);
  D values[lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
    values[lane] = Op::run(a[lane], b[lane], c[lane]);
  store(warp.at<D>(i.operand[0]), values, mask);
}

/// The result of `make.template operator()<T>()` for the C++ type of an integer type, or null. Untyped bits
/// are unsigned.
template <class Make> Handler forInteger(Type type, Make make) {
  switch (type) {
  case Type::u16:
  case Type::b16:
    return make.template operator()<uint16_t>();
  case Type::s16:
    return make.template operator()<int16_t>();
  case Type::u32:
  case Type::b32:
    return make.template operator()<uint32_t>();
  case Type::s32:
    return make.template operator()<int32_t>();
  case Type::u64:
  case Type::b64:
    return make.template operator()<uint64_t>();
  case Type::s64:
    return make.template operator()<int64_t>();
  default:
    return nullptr;
  }
}

template <class Op> Handler unaryInteger(Type type) {
  return forInteger(type, []<class T>() -> Handler { return unaryLanes<Op, T, T>; });
}
template <class Op> Handler binaryInteger(Type type) {
  return forInteger(type, []<class T>() -> Handler { return binaryLanes<Op, T, T>; });
}
template <class Op> Handler ternaryInteger(Type type) {
  return forInteger(type, []<class T>() -> Handler { return ternaryLanes<Op, T, T>; });
}

/// Emits a handler of `count` sources of one type.
inline void emitUniform(Decoder &decoder, Handler handler, Type type, size_t count) {
  if (!handler)
    decoder.failType(type);
  decoder.finish(count + 1);
  uint32_t operands[4] = {};
  for (size_t k = 1; k <= count; ++k)
    operands[k] = decoder.source(k, type);
  operands[0] = decoder.result(0, type);
  decoder.emit(handler, {operands[0], operands[1], operands[2], operands[3]});
}

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_LANES_H
