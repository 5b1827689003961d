//===- PlanFields.h - Reading the fields of a plan --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A field of a FlatBuffer that was not written is null. These functions read it as empty.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_PLANFIELDS_H
#define WEFT_RUNTIME_PLAN_PLANFIELDS_H

#include "runtime/plan/plan_generated.h"

#include <cstdint>
#include <string>

namespace weft::runtime {

template <typename T> uint32_t length(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

inline std::string text(const flatbuffers::String *string) { return string ? string->str() : std::string(); }

/// A buffer of a plan; null if there is none of that number.
inline const fb::Buffer *buffer_of(const fb::Plan &plan, uint32_t index) {
  return index < length(plan.buffers()) ? plan.buffers()->Get(index) : nullptr;
}

/// Whether the elements of a vector may be read through a pointer. The FlatBuffers verifier checks where a
/// vector begins, not that its 8-byte elements are aligned.
inline bool aligned(const flatbuffers::Vector<int64_t> *vector) {
  return !vector || reinterpret_cast<uintptr_t>(vector->Data()) % alignof(int64_t) == 0;
}

/// A number in a message.
std::string number(auto value) { return std::to_string(value); }

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_PLANFIELDS_H
