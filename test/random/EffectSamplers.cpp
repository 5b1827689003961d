//===- EffectSamplers.cpp ---------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Samplers.h"

using namespace mlir;
namespace weft::randomtest {

/// An alias of a value. If it is returned, it has the same storage.
void sampleAlias(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &) { return true; });
  if (e)
    p.add<ir::AliasOp>(true, e->value);
}

/// A copy into a new tensor that no other op reads.
void sampleCopyInto(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &) { return true; });
  if (!e)
    return;
  Entry source = *e;
  auto same = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(source.shape().size())));
  Value storage = p.builder.create<ir::TransposeOp>(p.loc, source.value, same);
  p.define(p.builder.create<ir::CopyIntoOp>(p.loc, storage, source.value), source.literal,
           source.differentiable);
}

void sampleToHostScalar(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return entry.shape().empty(); });
  if (e)
    p.add<ir::ToHostScalarOp>(false, e->value);
}

/// An assertion that holds regardless of rounding: an integer equals itself.
void sampleAssert(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &entry) { return !isFloat(entry); });
  if (!e)
    return;
  Value value = e->value;
  if (p.add<ir::EqOp>(false, value, value))
    p.commit(p.builder.create<ir::AssertOp>(p.loc, p.entries.back().value, "a number is itself"));
}

/// Two streams that wait for each other, with all ops of order.
void sampleOrder(ProgramBuilder &p) {
  auto token = ir::TokenType::get(p.context);
  auto event = ir::EventType::get(p.context);
  Value start = p.builder.create<ir::TokenOp>(p.loc, token);
  auto fork =
      p.builder.create<ir::StreamForkOp>(p.loc, TypeRange{token, token}, start, ArrayRef<int64_t>{1, 2});
  auto record =
      p.builder.create<ir::EventRecordOp>(p.loc, event, token, fork.getResult(0), oneIn(p.random, 2));
  Value waited = p.builder.create<ir::EventWaitOp>(p.loc, token, record.getEvent(), fork.getResult(1));
  Value joined = p.builder.create<ir::StreamJoinOp>(p.loc, token, ValueRange{record.getToken(), waited});
  p.builder.create<ir::BarrierOp>(p.loc, token, ValueRange{joined});
}

/// A transfer to another device and back, with an op on that device in between.
void sampleTransfer(ProgramBuilder &p) {
  const Entry *e = p.find([](const Entry &) { return true; });
  if (!e)
    return;
  auto there = ir::DeviceAttr::get(p.context, ir::DeviceKind::cuda, static_cast<int64_t>(p.random.below(2)));
  auto here = ir::DeviceAttr::get(p.context, ir::DeviceKind::cpu, 0);
  Entry from = *e;
  Value value = p.builder.create<ir::TransferOp>(p.loc, from.value, there, oneIn(p.random, 4));
  if (isNumber(from) && oneIn(p.random, 2)) {
    value = p.builder.create<ir::NegOp>(p.loc, value);
    value = p.builder.create<ir::NegOp>(p.loc, value);
  }
  value = p.builder.create<ir::TransferOp>(p.loc, value, here, false);
  p.define(value, from.literal, from.differentiable);
}

} // namespace weft::randomtest
