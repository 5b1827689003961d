//===- PackedSequence.cpp - Sequences of different lengths ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/packed_sequence.hpp"

#include "frontend/ops/Ops.h"
#include "weft/gather_scatter.hpp"
#include "weft/joining.hpp"
#include "weft/math.hpp"

#include <algorithm>
#include <numeric>

namespace weft::nn::utils::rnn {

using namespace frontend;

static Tensor indexOf(const std::vector<int64_t> &rows, const Tensor &of, Loc loc) {
  return Tensor::from(rows, {static_cast<int64_t>(rows.size())}, {.device = of.device(loc)}, loc);
}

static std::string listText(const std::vector<int64_t> &numbers) { return shapeText(numbers); }

/// Throws Error unless there is a length for each sequence, from 1 to `longest`.
static void checkLengths(const std::vector<int64_t> &lengths, int64_t batch, int64_t longest, Loc loc) {
  if (static_cast<int64_t>(lengths.size()) != batch)
    fail("Expected `len(lengths)` to be equal to batch_size, but got " + std::to_string(lengths.size()) +
             " (batch_size=" + std::to_string(batch) + ")",
         loc);
  for (const int64_t length : lengths)
    if (length < 1 || length > longest)
      fail("pack_padded_sequence needs lengths from 1 to the padded length, " + std::to_string(longest) +
               ", found " + listText(lengths),
           loc);
}

PackedSequence pack_padded_sequence(const Tensor &input, const std::vector<int64_t> &lengths,
                                    bool batch_first, bool enforce_sorted, Loc loc) {
  if (input.dim(loc) < 2)
    fail("pack_padded_sequence needs an input of two dimensions or more, found " +
             shapeText(input.sizes(loc)),
         loc, {use(input, loc)});
  const Tensor steps = batch_first ? input.transpose(0, 1, loc) : input;
  const int64_t longest = steps.size(0, loc), batch = steps.size(1, loc);
  if (batch == 0)
    fail("Cannot pack empty tensors.", loc, {use(input, loc)});
  checkLengths(lengths, batch, longest, loc);
  PackedSequence packed;
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  if (enforce_sorted && !std::ranges::is_sorted(lengths, std::greater<>()))
    fail("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True, found " +
             listText(lengths) + ". You can pass `enforce_sorted=False`, and the sequences are sorted",
         loc);
  if (!enforce_sorted) {
    std::ranges::sort(order, {}, [&](int64_t i) { return std::pair(-lengths[static_cast<size_t>(i)], i); });
    packed.sorted_indices = order;
    packed.unsorted_indices.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      packed.unsorted_indices[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  std::vector<int64_t> rows;
  for (int64_t step = 0; step < lengths[static_cast<size_t>(order[0])]; ++step) {
    packed.batch_sizes.push_back(0);
    for (const int64_t sequence : order)
      if (lengths[static_cast<size_t>(sequence)] > step) {
        rows.push_back(step * batch + sequence);
        ++packed.batch_sizes.back();
      }
  }
  packed.data = index_select(steps.flatten(0, 1, loc), 0, indexOf(rows, input, loc), loc);
  return packed;
}

PackedSequence pack_padded_sequence(const Tensor &input, const Tensor &lengths, bool batch_first,
                                    bool enforce_sorted, Loc loc) {
  if (lengths.dim(loc) != 1 || is_floating_point(lengths.dtype(loc)))
    fail("pack_padded_sequence needs lengths that are a vector of integers, found " +
             shapeText(lengths.sizes(loc)) + " of " + std::string(name(lengths.dtype(loc))),
         loc, {use(lengths, loc)});
  return pack_padded_sequence(input, lengths.to_vector<int64_t>(loc), batch_first, enforce_sorted, loc);
}

/// Throws Error unless the sequence is one that a function here made, or could have made.
static void checkPacked(const PackedSequence &sequence, Loc loc) {
  const auto &sizes = sequence.batch_sizes;
  const bool falls = std::ranges::is_sorted(sizes, std::greater<>());
  if (sizes.empty() || !falls || sizes.back() < 1 ||
      std::accumulate(sizes.begin(), sizes.end(), int64_t(0)) != sequence.data.size(0, loc))
    fail("a PackedSequence needs batch_sizes above 0 that do not grow and add up to the rows of its data, "
         "found " +
             listText(sizes) + " for " + std::to_string(sequence.data.size(0, loc)) + " rows",
         loc, {use(sequence.data, loc)});
  std::vector<bool> seen(static_cast<size_t>(sizes.front()));
  for (const int64_t place : sequence.unsorted_indices)
    if (place >= 0 && place < sizes.front())
      seen[static_cast<size_t>(place)] = true;
  if (!sequence.unsorted_indices.empty() &&
      (sequence.unsorted_indices.size() != seen.size() || !std::ranges::all_of(seen, std::identity())))
    fail("a PackedSequence needs unsorted_indices with each place of its sequences once, found " +
             listText(sequence.unsorted_indices),
         loc);
}

std::pair<Tensor, std::vector<int64_t>> pad_packed_sequence(const PackedSequence &sequence, bool batch_first,
                                                            double padding_value,
                                                            std::optional<int64_t> total_length, Loc loc) {
  checkPacked(sequence, loc);
  const auto longest = static_cast<int64_t>(sequence.batch_sizes.size());
  const int64_t batch = sequence.batch_sizes.front(), length = total_length.value_or(longest);
  if (length < longest)
    fail("Expected total_length to be at least the length of the longest sequence in input, but got "
         "total_length=" +
             std::to_string(length) + " and max sequence length being " + std::to_string(longest),
         loc);
  // Each place of the result reads a row of the data; what is behind an end reads the first row, and is
  // replaced.
  std::vector<int64_t> rows, lengths(static_cast<size_t>(batch));
  std::vector<bool> present;
  int64_t before = 0;
  for (int64_t step = 0; step < length; ++step) {
    const int64_t size = step < longest ? sequence.batch_sizes[static_cast<size_t>(step)] : 0;
    for (int64_t i = 0; i < batch; ++i) {
      const int64_t place =
          sequence.unsorted_indices.empty() ? i : sequence.unsorted_indices[static_cast<size_t>(i)];
      present.push_back(place < size);
      rows.push_back(place < size ? before + place : 0);
      lengths[static_cast<size_t>(i)] += place < size ? 1 : 0;
    }
    before += size;
  }
  const Tensor &data = sequence.data;
  Tensor padded = index_select(data, 0, indexOf(rows, data, loc), loc).unflatten(0, {length, batch}, loc);
  if (!std::ranges::all_of(present, std::identity())) {
    Shape shape{length, batch};
    shape.resize(padded.sizes(loc).size(), 1);
    padded = where(Tensor::from(present, shape, {.device = data.device(loc)}, loc), {padded, loc},
                   {padding_value, loc}, loc);
  }
  return {batch_first ? padded.transpose(0, 1, loc) : padded, std::move(lengths)};
}

Tensor pad_sequence(const std::vector<Tensor> &sequences, bool batch_first, double padding_value,
                    const std::string &padding_side, Loc loc) {
  if (sequences.empty())
    fail("received an empty list of sequences", loc);
  if (padding_side != "right" && padding_side != "left")
    fail("Expected padding_side to be one of left or right, but got " + padding_side, loc);
  int64_t longest = 0;
  for (const Tensor &sequence : sequences) {
    if (sequence.dim(loc) < 1)
      fail("pad_sequence needs sequences of one dimension or more", loc, {use(sequence, loc)});
    longest = std::max(longest, sequence.size(0, loc));
  }
  std::vector<Tensor> padded;
  for (const Tensor &sequence : sequences) {
    const int64_t missing = longest - sequence.size(0, loc);
    std::vector<int64_t> amounts(2 * static_cast<size_t>(sequence.dim(loc)));
    amounts[amounts.size() - (padding_side == "left" ? 2 : 1)] = missing;
    padded.push_back(missing == 0 ? sequence : pad(sequence, amounts, {padding_value, loc}, loc));
  }
  return stack(padded, batch_first ? 0 : 1, loc);
}

std::vector<Tensor> unpad_sequence(const Tensor &padded, const std::vector<int64_t> &lengths,
                                   bool batch_first, Loc loc) {
  const Tensor rows = batch_first ? padded : padded.transpose(0, 1, loc);
  checkLengths(lengths, rows.size(0, loc), rows.size(1, loc), loc);
  std::vector<Tensor> sequences;
  for (size_t i = 0; i < lengths.size(); ++i)
    sequences.push_back(rows.select(0, static_cast<int64_t>(i), loc).narrow(0, 0, lengths[i], loc));
  return sequences;
}

PackedSequence pack_sequence(const std::vector<Tensor> &sequences, bool enforce_sorted, Loc loc) {
  const Tensor padded = pad_sequence(sequences, false, 0, "right", loc);
  std::vector<int64_t> lengths;
  for (const Tensor &sequence : sequences)
    lengths.push_back(sequence.size(0, loc));
  return pack_padded_sequence(padded, lengths, false, enforce_sorted, loc);
}

std::vector<Tensor> unpack_sequence(const PackedSequence &sequence, Loc loc) {
  auto [padded, lengths] = pad_packed_sequence(sequence, /*batch_first=*/true, 0, {}, loc);
  return unpad_sequence(padded, lengths, /*batch_first=*/true, loc);
}

} // namespace weft::nn::utils::rnn
