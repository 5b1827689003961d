//===- AttentionSubject.cpp - Attention whose kernel is changed -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AttentionSubject.h"

#include "codegen/cuda/attention/PrintAttention.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace weft::cudasim {

using codegen::AttentionOperand;
using testing::placeOf;

void AttentionSubject::prepare() {
  const AttentionOperand *mask = attention.find("mask");
  // The last key raises the maximum of each row that sees it.
  if (mask && mask->dtype == DType::f32)
    for (int64_t row = 0; row < mask->rows; ++row)
      tensors.at("mask").put(placeOf(attention, *mask, 0, row, mask->columns - 1), 6.0f);
  if (!attention.backward)
    return;
  // In one row the number that is subtracted is infinite, and 0 times that is NaN. The row sees all keys, and
  // the sums of one feature are infinite there.
  const int64_t matrix = attention.extents.batchCount() - 1;
  const AttentionOperand &out = *attention.find("out"), &k = *attention.find("k");
  const int64_t row = out.rows - 1;
  for (int64_t key = 0; key < k.rows; ++key) {
    tensors.at("k").putReal(placeOf(attention, k, matrix, key, 0), 0.5);
    if (mask && mask->dtype == DType::i1)
      tensors.at("mask").bytes[static_cast<size_t>(placeOf(attention, *mask, matrix, row, key))] =
          std::byte(1);
  }
  testing::fillForward(attention, schedule, tensors);
  tensors.at("out").putReal(placeOf(attention, out, matrix, row, 0), std::numeric_limits<double>::infinity());
}

Expected<std::unique_ptr<Subject>> AttentionSubject::make(DType dtype,
                                                          const testing::AttentionCase &described,
                                                          const std::optional<AttentionTiles> &tiles) {
  const ir::TargetDescription device = *ir::findDescription("cuda:sm_90");
  auto made = std::make_unique<AttentionSubject>(testing::makeAttention(dtype, described));
  const codegen::CudaAttention &attention = made->attention;
  auto schedule = codegen::chooseAttentionSchedule(attention, device);
  if (!schedule)
    return schedule.status();
  if (tiles) {
    schedule->warps = tiles->warps;
    schedule->others = tiles->others;
    schedule->stages = tiles->stages;
    schedule->resident = 1;
  }
  auto text = codegen::printAttention(attention, *schedule, device);
  if (!text)
    return text.status();
  made->schedule = *schedule;
  std::mt19937 random(1);
  made->tensors = testing::randomTensors(attention, random);
  made->prepare();
  made->kernel.symbol = symbol;
  made->kernel.text = *text;
  for (size_t i = 0; i < attention.operands.size(); ++i)
    made->kernel.slots.push_back(static_cast<int64_t>(i));
  made->kernel.threads = static_cast<uint32_t>(schedule->threads());
  made->kernel.dynamicShared = static_cast<uint32_t>(schedule->sharedBytes(attention));
  return std::unique_ptr<Subject>(std::move(made));
}

Status AttentionSubject::run(const std::string &, std::shared_ptr<Module> module) {
  kernel.module = std::move(module);
  testing::Tensors found = tensors;
  // Memory of the host whose addresses are as aligned as those of a device.
  std::vector<std::vector<std::byte>> memory;
  KernelCall call;
  for (const AttentionOperand &operand : attention.operands) {
    const std::vector<std::byte> &bytes = found.at(operand.name).bytes;
    std::vector<std::byte> &each = memory.emplace_back(bytes.size() + Memory::granule);
    std::byte *data =
        each.data() + (Memory::granule - reinterpret_cast<uintptr_t>(each.data())) % Memory::granule;
    std::memcpy(data, bytes.data(), bytes.size());
    call.operands.push_back({data, bytes.size(), operand.isWritten});
  }
  call.tasks = codegen::attentionBlocks(schedule, attention);
  RunStyle style;
  style.race = true;
  style.seed = 3;
  style.budget = budget;
  LaunchNotes notes;
  const Status status = runKernel(kernel, call, style, notes);
  mostSteps = std::max(mostSteps, notes.steps);
  if (!status)
    return status;
  for (size_t i = 0; i < call.operands.size(); ++i)
    std::memcpy(found.at(attention.operands[i].name).bytes.data(), call.operands[i].data,
                call.operands[i].bytes);
  const std::string wrong = testing::differences(attention, schedule, found);
  return wrong.empty() ? Status() : Status::error("wrong: " + wrong);
}

} // namespace weft::cudasim
