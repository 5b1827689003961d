//===- RecurrentTest.cpp - Recurrent layers -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values and gradients are compared with PyTorch's in test/parity/test_recurrent.py; here are the ways to
// call them.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <cmath>

using namespace weft;
namespace rnn = nn::utils::rnn;

namespace {

std::vector<std::string> namesOf(const nn::Module &module) {
  std::vector<std::string> names;
  for (const auto &[name, tensor] : module.named_parameters())
    names.push_back(name);
  return names;
}

double distance(const Tensor &a, const Tensor &b) { return (a - b).abs().max().item<float>(); }

} // namespace

TEST(Recurrent, HasTheNamesAndShapesOfPyTorch) {
  const nn::LSTM lstm(3, 4, {.num_layers = 2, .bidirectional = true, .proj_size = 2});
  EXPECT_EQ(namesOf(lstm),
            (std::vector<std::string>{"weight_ih_l0",         "weight_hh_l0",         "bias_ih_l0",
                                      "bias_hh_l0",           "weight_hr_l0",         "weight_ih_l0_reverse",
                                      "weight_hh_l0_reverse", "bias_ih_l0_reverse",   "bias_hh_l0_reverse",
                                      "weight_hr_l0_reverse", "weight_ih_l1",         "weight_hh_l1",
                                      "bias_ih_l1",           "bias_hh_l1",           "weight_hr_l1",
                                      "weight_ih_l1_reverse", "weight_hh_l1_reverse", "bias_ih_l1_reverse",
                                      "bias_hh_l1_reverse",   "weight_hr_l1_reverse"}));
  EXPECT_EQ(lstm.get_parameter("weight_ih_l1").sizes(), Shape({16, 4}));
  EXPECT_EQ(lstm.get_parameter("weight_hh_l1").sizes(), Shape({16, 2}));
  EXPECT_EQ(lstm.get_parameter("weight_hr_l1").sizes(), Shape({2, 4}));
  EXPECT_EQ(namesOf(nn::GRU(3, 4, {.bias = false})),
            (std::vector<std::string>{"weight_ih_l0", "weight_hh_l0"}));
  EXPECT_EQ(namesOf(nn::LSTMCell(3, 4)),
            (std::vector<std::string>{"weight_ih", "weight_hh", "bias_ih", "bias_hh"}));
  EXPECT_TRUE(mentions(to_string(nn::RNN(3, 4, {.num_layers = 2, .nonlinearity = "relu"})),
                       "RNN(3, 4, nonlinearity=relu, num_layers=2)"));
  EXPECT_TRUE(mentions(to_string(nn::GRUCell(3, 4, false)), "GRUCell(3, 4, bias=False)"));
}

TEST(Recurrent, ParametersAreUniformAtFirst) {
  manual_seed(0);
  const nn::GRU gru(16, 25);
  for (const Tensor &parameter : gru.parameters()) {
    EXPECT_LE(parameter.abs().max().item<float>(), 0.2F);
    EXPECT_GT(parameter.max().item<float>(), 0.15F);
    EXPECT_LT(parameter.min().item<float>(), -0.15F);
  }
}

TEST(Recurrent, LayersAreCellsStepByStep) {
  manual_seed(1);
  const Tensor x = randn({5, 2, 3});
  const auto load = [](auto &cell, const auto &layer) {
    StateDict state;
    for (const char *name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
      state.emplace_back(name, layer.get_parameter(std::string(name) + "_l0"));
    cell.load_state_dict(state);
  };
  const nn::RNN rnn(3, 4);
  nn::RNNCell rnn_cell(3, 4);
  load(rnn_cell, rnn);
  const nn::LSTM lstm(3, 4);
  nn::LSTMCell lstm_cell(3, 4);
  load(lstm_cell, lstm);
  const nn::GRU gru(3, 4);
  nn::GRUCell gru_cell(3, 4);
  load(gru_cell, gru);
  auto [rnn_out, rnn_last] = rnn(x);
  auto [lstm_out, lstm_last] = lstm(x);
  auto [gru_out, gru_last] = gru(x);
  Tensor h, u;
  std::optional<nn::LSTMState> state;
  for (int64_t i = 0; i < 5; ++i) {
    h = rnn_cell(x.select(0, i), h);
    u = gru_cell(x.select(0, i), u);
    state = lstm_cell(x.select(0, i), state);
    EXPECT_LT(distance(rnn_out.select(0, i), h), 1e-6);
    EXPECT_LT(distance(gru_out.select(0, i), u), 1e-6);
    EXPECT_LT(distance(lstm_out.select(0, i), state->first), 1e-6);
  }
  EXPECT_LT(distance(rnn_last.select(0, 0), h), 1e-6);
  EXPECT_LT(distance(gru_last.select(0, 0), u), 1e-6);
  EXPECT_LT(distance(lstm_last.second.select(0, 0), state->second), 1e-6);
}

TEST(Recurrent, APackedSequenceGivesWhatEachSequenceGivesAlone) {
  manual_seed(2);
  const nn::LSTM lstm(3, 4, {.num_layers = 2, .batch_first = true, .bidirectional = true});
  const std::vector<int64_t> lengths{2, 5, 3};
  const Tensor x = randn({3, 5, 3}), h = randn({4, 3, 4}), c = randn({4, 3, 4});
  const rnn::PackedSequence packed = rnn::pack_padded_sequence(x, lengths, true, /*enforce_sorted=*/false);
  EXPECT_EQ(packed.batch_sizes, (std::vector<int64_t>{3, 3, 2, 1, 1}));
  EXPECT_EQ(packed.sorted_indices, (std::vector<int64_t>{1, 2, 0}));
  EXPECT_EQ(packed.unsorted_indices, (std::vector<int64_t>{2, 0, 1}));
  auto [out, last] = lstm(packed, nn::LSTMState{h, c});
  auto [padded, found] = rnn::pad_packed_sequence(out, true, -1, 6);
  EXPECT_EQ(found, lengths);
  EXPECT_EQ(padded.sizes(), Shape({3, 6, 8}));
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t length = lengths[static_cast<size_t>(i)];
    auto [alone, state] =
        lstm(x.select(0, i).narrow(0, 0, length), nn::LSTMState{h.select(1, i), c.select(1, i)});
    EXPECT_LT(distance(padded.select(0, i).narrow(0, 0, length), alone), 1e-6);
    EXPECT_EQ(padded.select(0, i).narrow(0, length, 6 - length).amax().item<float>(), -1);
    EXPECT_LT(distance(last.first.select(1, i), state.first), 1e-6);
    EXPECT_LT(distance(last.second.select(1, i), state.second), 1e-6);
  }
}

// What is behind the end of a sequence, here NaN, reaches neither results nor gradients.
TEST(Recurrent, WhatIsBehindAnEndDoesNotCount) {
  manual_seed(2);
  const nn::GRU gru(3, 4);
  Tensor x = randn({4, 2, 3});
  x.select(1, 1).narrow(0, 1, 3).copy_(full({3, 3}, NAN));
  x.requires_grad_();
  auto [out, last] = gru(rnn::pack_padded_sequence(x, std::vector<int64_t>{4, 1}));
  (out.data.sum() + last.sum()).backward();
  EXPECT_TRUE(std::isfinite(last.sum().item<float>()));
  for (const Tensor &parameter : gru.parameters())
    EXPECT_TRUE(isfinite(parameter.grad()).all().item<bool>());
  EXPECT_EQ(x.grad().select(1, 1).narrow(0, 1, 3).abs().sum().item<float>(), 0);
}

TEST(Recurrent, CompiledItGivesTheSameBits) {
  manual_seed(3);
  nn::LSTM lstm(3, 4, {.num_layers = 2, .bidirectional = true});
  const auto run = [&](Tensor x, nn::LSTMState state) {
    auto [out, last] = lstm(x, state);
    return std::tuple(out, last.first, last.second);
  };
  auto compiled = compile(run);
  for (int64_t length : {1, 6}) {
    const Tensor x = randn({length, 2, 3});
    const nn::LSTMState state{randn({4, 2, 4}), randn({4, 2, 4})};
    const auto [a, b, c] = compiled(x, state);
    const auto [d, e, f] = run(x, state);
    EXPECT_EQ(a.to_vector<float>(), d.to_vector<float>());
    EXPECT_EQ(b.to_vector<float>(), e.to_vector<float>());
    EXPECT_EQ(c.to_vector<float>(), f.to_vector<float>());
  }
}

TEST(Recurrent, OneFunctionTakesABatchOfAnySize) {
  manual_seed(3);
  nn::GRU gru(3, 4, {.bidirectional = true});
  const Dim rows("rows", 1, 16);
  auto compiled = compile([&](Tensor x) { return gru(x).first; }, {spec({5, rows, 3})});
  for (int64_t batch : {1, 7}) {
    const Tensor x = randn({5, batch, 3});
    EXPECT_LT(distance(compiled(x), gru(x).first), 1e-6);
  }
  EXPECT_EQ(compiled.variants().size(), 1U);
  // Each step is recorded, so their number is one.
  const Dim length("length", 1, 16);
  auto any_length = compile([&](Tensor x) { return gru(x).first; }, {spec({length, 2, 3})});
  EXPECT_ERROR(any_length(randn({5, 2, 3})), "sym_size()");
}

TEST(Recurrent, APackedSequenceIsAnArgumentOfACompiledFunction) {
  manual_seed(4);
  nn::LSTM lstm(3, 4);
  auto compiled = compile([&](rnn::PackedSequence x) { return lstm(x).first; });
  const Tensor x = randn({5, 2, 3});
  for (int repeat = 0; repeat < 2; ++repeat)
    for (int64_t shorter : {2, 4}) {
      const auto packed = rnn::pack_padded_sequence(x, std::vector<int64_t>{shorter, 5}, false, false);
      const rnn::PackedSequence out = compiled(packed);
      EXPECT_EQ(out.batch_sizes, packed.batch_sizes);
      EXPECT_EQ(out.unsorted_indices, packed.unsorted_indices);
      EXPECT_LT(distance(out.data, lstm(packed).first.data), 1e-6);
    }
  EXPECT_EQ(compiled.variants().size(), 2U);
  auto reads = compile([&](Tensor x, Tensor lengths) { return rnn::pack_padded_sequence(x, lengths).data; });
  EXPECT_ERROR(reads(x, Tensor::from(std::vector<int64_t>{5, 2}, {2})), "WEFT-C001");
}

TEST(Recurrent, DropsBetweenLayersInTrainingAlone) {
  manual_seed(5);
  nn::RNN rnn(3, 4, {.num_layers = 2, .dropout = 0.5});
  const Tensor x = randn({6, 2, 3});
  EXPECT_GT(distance(rnn(x).first, rnn(x).first), 0);
  rnn.eval();
  EXPECT_EQ(distance(rnn(x).first, rnn(x).first), 0);
  nn::RNN single(3, 4, {.dropout = 0.5}); // the last layer drops nothing
  EXPECT_EQ(distance(single(x).first, single(x).first), 0);
}

TEST(Recurrent, CopiesShareAndClonesDoNot) {
  manual_seed(6);
  nn::LSTM lstm(3, 4, {.num_layers = 2});
  const Tensor x = randn({5, 2, 3});
  nn::LSTM copy = lstm, twin = nn::clone(lstm), assigned(3, 4);
  assigned = lstm;
  {
    NoGradGuard guard;
    lstm.all_weights[1].weight_hh.zero_();
  }
  const Tensor out = lstm(x).first;
  EXPECT_EQ(distance(copy(x).first, out), 0);
  EXPECT_EQ(distance(assigned(x).first, out), 0);
  EXPECT_GT(distance(twin(x).first, out), 0);
  twin(x).first.sum().backward();
  EXPECT_TRUE(twin.all_weights[1].weight_hh.grad().defined());
  EXPECT_FALSE(lstm.all_weights[1].weight_hh.grad().defined());
  // A layer's weights tied to another's.
  nn::LSTM tied(3, 4, {.num_layers = 2});
  tied.all_weights[1].weight_hh = lstm.all_weights[0].weight_hh;
  tied(x).first.sum().backward();
  EXPECT_TRUE(lstm.get_parameter("weight_hh_l0").grad().defined());
}

TEST(Recurrent, SaysWhatDoesNotFit) {
  EXPECT_ERROR(nn::LSTM(3, 0), "hidden_size must be greater than zero, found 0");
  EXPECT_ERROR(nn::LSTM(-1, 2), "input_size must not be negative, found -1");
  EXPECT_ERROR(nn::GRU(3, 2, {.num_layers = 0}), "num_layers must be greater than zero, found 0");
  EXPECT_ERROR(nn::GRU(3, 2, {.dropout = 1.5}), "dropout should be a number in range [0, 1]");
  EXPECT_ERROR(nn::LSTM(3, 4, {.proj_size = 4}), "proj_size has to be smaller than hidden_size");
  EXPECT_ERROR(nn::RNN(3, 4, {.nonlinearity = "gelu"}), "\"tanh\" or \"relu\", found \"gelu\"");
  EXPECT_ERROR(nn::RNNCell(3, 4, true, "gelu"), "\"tanh\" or \"relu\", found \"gelu\"");
  EXPECT_ERROR(nn::GRUCell(3, 0), "hidden_size above 0, found 3 and 0");
  const nn::LSTM lstm(3, 4);
  const Tensor x = zeros({5, 2, 3}), state = zeros({1, 2, 4});
  EXPECT_ERROR(lstm(zeros({3})), "LSTM: Expected input to be 2D or 3D, got 1D instead");
  EXPECT_ERROR(lstm(zeros({5, 2, 4})), "input.size(-1) must be equal to input_size. Expected 3, got 4");
  EXPECT_ERROR(lstm(zeros({5, 2, 3}, {.dtype = f64})), "does not match weight dtype (f32)");
  EXPECT_ERROR(lstm(zeros({0, 2, 3})), "Expected sequence length to be larger than 0 in RNN");
  EXPECT_ERROR(lstm(x, nn::LSTMState{state, zeros({1, 3, 4})}),
               "Expected hidden[1] size [1, 2, 4], got [1, 3, 4]");
  EXPECT_ERROR(lstm(x, nn::LSTMState{zeros({1, 4}), state}),
               "For batched 3-D input, hx and cx should also be 3-D but got 2-D tensor");
  EXPECT_ERROR(nn::GRU(3, 4)(zeros({5, 3}), state),
               "For unbatched 2-D input, hx should also be 2-D but got 3-D tensor");
  EXPECT_ERROR(nn::GRU(3, 4)(x, zeros({2, 2, 4})), "Expected hidden size [1, 2, 4], got [2, 2, 4]");
  EXPECT_ERROR(nn::LSTMCell(3, 4)(zeros({1, 2, 3})), "LSTMCell: Expected input to be 1D or 2D, got 3D");
  EXPECT_ERROR(nn::GRUCell(3, 4)(zeros({2, 5})), "got [2, 5], expected 3 as its last size");
  EXPECT_ERROR(nn::GRUCell(3, 4)(zeros({2, 3}), zeros({3, 4})), "a state of shape [2, 4], found [3, 4]");
}

TEST(Recurrent, SequencesArePaddedAndPackedAndBack) {
  const std::vector<Tensor> sequences{countTo(4).reshape({2, 2}), countTo(6).reshape({3, 2}) * -1};
  const Tensor padded = rnn::pad_sequence(sequences, true, 9);
  EXPECT_EQ(padded.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 9, 9, 0, -1, -2, -3, -4, -5}));
  EXPECT_EQ(rnn::pad_sequence(sequences, true, 9, "left").select(0, 0).to_vector<float>(),
            (std::vector<float>{9, 9, 0, 1, 2, 3}));
  const std::vector<Tensor> back = rnn::unpad_sequence(padded, {2, 3}, true);
  const std::vector<Tensor> unpacked =
      rnn::unpack_sequence(rnn::pack_sequence(sequences, /*enforce_sorted=*/false));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back[i].to_vector<float>(), sequences[i].to_vector<float>());
    EXPECT_EQ(unpacked[i].to_vector<float>(), sequences[i].to_vector<float>());
  }
  EXPECT_EQ(rnn::pack_padded_sequence(padded, Tensor::from(std::vector<int64_t>{3, 1}, {2}), true)
                .data.select(1, 0)
                .to_vector<float>(),
            (std::vector<float>{0, 0, 2, 9}));
}

TEST(Recurrent, SequencesThatCannotBePackedAreRefused) {
  const Tensor x = zeros({5, 2, 3});
  const std::vector<int64_t> grows{2, 5};
  EXPECT_ERROR(rnn::pack_padded_sequence(x, grows), "sorted in decreasing order when `enforce_sorted`");
  EXPECT_ERROR(rnn::pack_padded_sequence(x, std::vector<int64_t>{5}), "but got 1 (batch_size=2)");
  EXPECT_ERROR(rnn::pack_padded_sequence(x, std::vector<int64_t>{6, 2}), "from 1 to the padded length, 5");
  EXPECT_ERROR(rnn::pack_padded_sequence(x, std::vector<int64_t>{5, 0}), "found [5, 0]");
  EXPECT_ERROR(rnn::pack_padded_sequence(zeros({5}), grows), "two dimensions or more, found [5]");
  EXPECT_ERROR(rnn::pack_padded_sequence(zeros({5, 0, 3}), std::vector<int64_t>{}), "Cannot pack empty");
  EXPECT_ERROR(rnn::pack_padded_sequence(x, zeros({2})), "a vector of integers, found [2] of f32");
  EXPECT_ERROR(rnn::pad_sequence({}), "an empty list of sequences");
  EXPECT_ERROR(rnn::pad_sequence({x}, false, 0, "top"), "one of left or right, but got top");
  EXPECT_ERROR(rnn::pad_sequence({zeros({})}), "one dimension or more");
  const auto packed = rnn::pack_padded_sequence(x, grows, false, false);
  EXPECT_ERROR(rnn::pad_packed_sequence(packed, false, 0, 4),
               "total_length=4 and max sequence length being 5");
  EXPECT_ERROR(rnn::pad_packed_sequence({zeros({4, 3}), {1, 2}}), "do not grow and add up to the rows");
  EXPECT_ERROR(rnn::pad_packed_sequence({zeros({4, 3}), {2, 2}, {0, 0}, {0, 0}}),
               "each place of its sequences");
  EXPECT_ERROR(nn::GRU(3, 4)(rnn::PackedSequence{zeros({4}), {2, 2}}), "input must have 2 dimensions, got 1");
}
