//===- DecodedBytes.h - Bounds of decoded plans -----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any number of offsets in a FlatBuffer may lead to the same string, list or table, so that a few megabytes
// can stand for terabytes. What Weft writes shares nothing: each part of it has bytes of its own.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_PLAN_DECODEDBYTES_H
#define WEFT_RUNTIME_PLAN_DECODEDBYTES_H

#include "runtime/plan/plan_generated.h"

#include <cstdint>

namespace weft::runtime {

/// Counts what a verified FlatBuffer stands for when every offset is followed, and stops where that is more
/// than the bytes it is written in. It takes time in proportion to these bytes.
class DecodedBytes {
public:
  explicit DecodedBytes(uint64_t section_bytes) : left_(section_bytes) {}

  bool fits(const fb::Plan &plan) {
    return table() && string(plan.function()) && string(plan.target()) && string(plan.image()) &&
           each(plan.arguments(),
                [&](const fb::Argument &argument) {
                  return string(argument.name()) && type(argument.type()) && list(argument.strides());
                }) &&
           each(plan.results(),
                [&](const fb::Result &result) { return string(result.name()) && type(result.type()); }) &&
           each(plan.buffers(), [](const fb::Buffer &) { return true; }) &&
           each(plan.launches(), [&](const fb::Launch &value) { return launch(value); }) &&
           each(plan.checks(),
                [&](const fb::Check &check) {
                  return string(check.location()) && place(check.place()) && string(check.subject());
                }) &&
           each(plan.symbols(), [&](const fb::Symbol &symbol) { return string(symbol.name()); }) &&
           each(plan.sizes(), [&](const fb::SizeExpression &value) { return size(value); }) &&
           each(plan.devices(), [&](const fb::DevicePart &device) { return string(device.name()); }) &&
           (!plan.failure_key() || table()) &&
           each(plan.scalars(), [](const fb::ScalarPlace &) { return true; }) &&
           each(plan.segments(), [&](const fb::Segment &segment) { return list(segment.waits()); });
  }

  bool fits(const fb::ImageSignatures &signatures) {
    return table() &&
           each(signatures.kernels(),
                [&](const fb::KernelSignature &kernel) {
                  return string(kernel.symbol()) && list(kernel.bytes()) && groups(kernel.groups());
                }) &&
           each(signatures.sizes(), [&](const fb::SizeExpression &value) { return size(value); });
  }

  bool fits(const fb::DeviceImage &image) {
    return table() && string(image.architecture()) && list(image.signatures()) &&
           each(image.kernels(), [&](const fb::DeviceKernel &kernel) {
             return string(kernel.symbol()) && list(kernel.cubin()) && string(kernel.ptx()) &&
                    list(kernel.pointers()) && list(kernel.alignments()) &&
                    (!kernel.product() || (table() && list(kernel.product()->numbers()))) &&
                    (!kernel.attention() || (table() && attention(*kernel.attention()))) &&
                    (!kernel.convolution() ||
                     (table() && (!kernel.convolution()->launch() ||
                                  (table() && convolution(*kernel.convolution()->launch()))))) &&
                    (!kernel.sort() || table()) &&
                    (!kernel.raw() ||
                     (table() && string(kernel.raw()->entry()) && list(kernel.raw()->parameters())));
           });
  }

  bool fits(const fb::StateIndex &index) {
    return table() && each(index.entries(), [&](const fb::StateEntry &entry) {
             return string(entry.name()) && type(entry.type());
           });
  }

private:
  bool take(uint64_t bytes) {
    if (bytes > left_)
      return false;
    left_ -= bytes;
    return true;
  }
  /// The least that a table takes: the way to its fields.
  bool table() { return take(sizeof(flatbuffers::soffset_t)); }
  bool string(const flatbuffers::String *text) {
    return !text || take(sizeof(flatbuffers::uoffset_t) + text->size() + 1);
  }
  template <typename T> bool list(const flatbuffers::Vector<T> *values) {
    return !values || take(sizeof(flatbuffers::uoffset_t) + uint64_t(values->size()) * sizeof(T));
  }
  template <typename T, typename Visit>
  bool each(const flatbuffers::Vector<flatbuffers::Offset<T>> *values, Visit visit) {
    if (!list(values))
      return false;
    for (uint32_t i = 0; values && i < values->size(); ++i)
      if (!table() || !visit(*values->Get(i)))
        return false;
    return true;
  }
  bool size(const fb::SizeExpression &size) {
    return each(size.terms(), [&](const fb::SizeTerm &term) { return list(term.symbols()); });
  }
  bool type(const fb::TensorType *type) {
    return !type || (table() && list(type->shape()) && string(type->device()));
  }
  bool place(const fb::Place *place) { return !place || (table() && string(place->file())); }
  bool groups(const flatbuffers::Vector<flatbuffers::Offset<fb::StepGroup>> *groups) {
    return each(groups, [&](const fb::StepGroup &group) { return list(group.number_bytes()); });
  }
  bool attention(const fb::AttentionLaunch &launch) {
    return list(launch.batch()) &&
           each(launch.places(), [&](const fb::MatrixPlace &place) { return list(place.strides()); });
  }
  bool matrix(const fb::MatrixPlace *place) { return !place || (table() && list(place->strides())); }
  bool convolution(const fb::ConvolutionLaunch &launch) {
    for (const auto *numbers : {launch.extents(), launch.window(), launch.places(), launch.stride(),
                                launch.low(), launch.base_dilation(), launch.window_dilation()})
      if (!list(numbers))
        return false;
    return matrix(launch.a()) && matrix(launch.w()) && matrix(launch.y()) && list(launch.steps()) &&
           list(launch.beside());
  }
  bool launch(const fb::Launch &launch) {
    if (!string(launch.name()) || !string(launch.location()) || !place(launch.place()) ||
        (launch.op() && !table()) || !each(launch.own(), [&](const fb::OwnKernel &kernel) {
          return string(kernel.symbol()) && list(kernel.operands());
        }))
      return false;
    if (const auto *kernel = launch.op_as_KernelLaunch())
      return string(kernel->symbol()) && list(kernel->buffers()) && list(kernel->sizes()) &&
             groups(kernel->groups());
    if (const auto *product = launch.op_as_ContractionLaunch())
      return list(product->a_strides()) && list(product->b_strides()) && list(product->c_strides()) &&
             string(product->library()) && list(product->more()) &&
             each(product->candidates(),
                  [&](const fb::ProductAlgorithm &algorithm) { return list(algorithm.words()); });
    if (const auto *of_attention = launch.op_as_AttentionLaunch())
      return attention(*of_attention);
    if (const auto *of_convolution = launch.op_as_ConvolutionLaunch())
      return convolution(*of_convolution);
    if (const auto *matrices = launch.op_as_MatrixLaunch())
      return list(matrices->buffers());
    if (const auto *loop = launch.op_as_LoopLaunch())
      return string(loop->body()) && list(loop->buffers());
    if (const auto *branch = launch.op_as_BranchLaunch())
      return string(branch->then_body()) && string(branch->else_body()) && list(branch->buffers());
    if (const auto *loop = launch.op_as_WhileLaunch())
      return string(loop->condition()) && string(loop->body()) && list(loop->buffers());
    if (const auto *raw = launch.op_as_RawLaunch())
      return list(raw->buffers()) && list(raw->grid()) && list(raw->block()) &&
             each(raw->arguments(), [](const fb::RawArgument &) { return true; });
    if (const auto *host = launch.op_as_HostLaunch())
      return list(host->shape()) && string(host->text());
    return true;
  }

  uint64_t left_;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_PLAN_DECODEDBYTES_H
