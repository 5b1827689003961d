//===- packed_sequence.hpp - Sequences of different lengths -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch.nn.utils.rnn: sequences of different lengths as one tensor, padded or packed, for recurrent layers.
// Lengths are numbers of the host. A function that is compiled takes them as a static argument and is
// compiled once for each set of lengths.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PACKED_SEQUENCE_HPP
#define WEFT_PACKED_SEQUENCE_HPP

#include "weft/tensor.hpp"
#include "weft/tree.hpp"

namespace weft::nn::utils::rnn {

/// Sequences one below the other, step by step: first the first elements of all sequences, then the second
/// ones of those that have two, and so on. The sequences are sorted by length, the longest first.
struct PackedSequence {
  Tensor data;                      ///< [sum of the lengths, ...]
  std::vector<int64_t> batch_sizes; ///< for each step, how many sequences have it
  /// Which of the given sequences is at each place of the sorted ones, and at which place each given one is;
  /// both empty if they were given in this order.
  std::vector<int64_t> sorted_indices = {}, unsorted_indices = {};
};

/// `input` [longest, batch, ...] (`batch_first`: [batch, longest, ...]) without what is behind each length.
/// With `enforce_sorted` lengths that grow are an error; without, sequences are sorted. Lengths that are not
/// from 1 to the longest, or not as many as sequences, are an error.
WEFT_API PackedSequence pack_padded_sequence(const Tensor &input, const std::vector<int64_t> &lengths,
                                             bool batch_first = false, bool enforce_sorted = true,
                                             Loc loc = Loc::current());
/// The same with lengths in a tensor of integers, [batch], whose values are read: an error in a compiled
/// function (WEFT-C001).
WEFT_API PackedSequence pack_padded_sequence(const Tensor &input, const Tensor &lengths,
                                             bool batch_first = false, bool enforce_sorted = true,
                                             Loc loc = Loc::current());
/// The padded sequences, [longest, batch, ...] or [batch, longest, ...], in the order in which they were
/// given, and their lengths. The longest counts `total_length` elements, if that is given; it is an error if
/// a sequence is longer.
WEFT_API std::pair<Tensor, std::vector<int64_t>>
pad_packed_sequence(const PackedSequence &sequence, bool batch_first = false, double padding_value = 0,
                    std::optional<int64_t> total_length = {}, Loc loc = Loc::current());
/// Sequences [length, ...] below each other, padded behind their ends, or with `padding_side` "left" before
/// their beginnings: [longest, count, ...] or [count, longest, ...].
WEFT_API Tensor pad_sequence(const std::vector<Tensor> &sequences, bool batch_first = false,
                             double padding_value = 0, const std::string &padding_side = "right",
                             Loc loc = Loc::current());
/// The sequences that `pad_sequence` was given.
WEFT_API std::vector<Tensor> unpad_sequence(const Tensor &padded, const std::vector<int64_t> &lengths,
                                            bool batch_first = false, Loc loc = Loc::current());
/// Sequences [length, ...] packed.
WEFT_API PackedSequence pack_sequence(const std::vector<Tensor> &sequences, bool enforce_sorted = true,
                                      Loc loc = Loc::current());
/// The sequences that `pack_sequence` was given.
WEFT_API std::vector<Tensor> unpack_sequence(const PackedSequence &sequence, Loc loc = Loc::current());

} // namespace weft::nn::utils::rnn

WEFT_STRUCT(::weft::nn::utils::rnn::PackedSequence, data, batch_sizes, sorted_indices, unsorted_indices)

#endif // WEFT_PACKED_SEQUENCE_HPP
