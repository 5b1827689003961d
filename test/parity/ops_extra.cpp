//===- ops_extra.cpp - Operators of numbers, draws, windows ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;

/// Draws are compared by shape and dtype: zeros in place of the numbers.
static parity::Tensors drawn(const Tensor &tensor) { return {zeros_like(tensor)}; }

static TensorOptions optionsOf(const parity::Args &a, size_t i) {
  TensorOptions options;
  if (a.has(i))
    options.dtype = a.dtype(i);
  return options;
}

static nn::Reduction reductionOf(const std::string &word) {
  return word == "none" ? nn::Reduction::none : word == "sum" ? nn::Reduction::sum : nn::Reduction::mean;
}

/// The right operand comes first.
static void addReflected(parity::Table &table) {
  using namespace parity;
#define WEFT_REFLECTED(name, expression)                                                                     \
  table["__" #name "__"] = [](const Args &a) {                                                               \
    Arg x = a.operand(1), y = a.operand(0);                                                                  \
    return Tensors{expression};                                                                              \
  };
  WEFT_REFLECTED(radd, add(x, y))
  WEFT_REFLECTED(rsub, sub(x, y))
  WEFT_REFLECTED(rmul, mul(x, y))
  WEFT_REFLECTED(rdiv, div(x, y))
  WEFT_REFLECTED(rmod, remainder(x, y))
  WEFT_REFLECTED(rpow, pow(x, y))
  WEFT_REFLECTED(rand, bitwise_and(x, y))
  WEFT_REFLECTED(ror, bitwise_or(x, y))
  WEFT_REFLECTED(rxor, bitwise_xor(x, y))
#undef WEFT_REFLECTED
  table["__rmatmul__"] = [](const Args &a) { return Tensors{matmul(a.tensor(1), a.tensor(0))}; };
}

static void addDraws(parity::Table &table) {
  using namespace parity;
  table["bernoulli"] = [](const Args &a) { return drawn(a.tensor(0).bernoulli()); };
  table["multinomial"] = [](const Args &a) { return drawn(a.tensor(0).multinomial(a.whole(1), a.flag(2))); };
  table["cauchy"] = [](const Args &a) {
    return drawn(a.tensor(0).clone().cauchy_(a.real(1, 0), a.real(2, 1)));
  };
  table["exponential"] = [](const Args &a) { return drawn(a.tensor(0).clone().exponential_(a.real(1, 1))); };
  table["geometric"] = [](const Args &a) { return drawn(a.tensor(0).clone().geometric_(a.real(1))); };
  table["log_normal"] = [](const Args &a) {
    return drawn(a.tensor(0).clone().log_normal_(a.real(1, 1), a.real(2, 2)));
  };
  table["normal_"] = [](const Args &a) {
    return drawn(a.tensor(0).clone().normal_(a.real(1, 0), a.real(2, 1)));
  };
  table["uniform"] = [](const Args &a) {
    return drawn(a.tensor(0).clone().uniform_(a.real(1, 0), a.real(2, 1)));
  };
  table["rand_like"] = [](const Args &a) { return drawn(rand_like(a.tensor(0))); };
  table["randn_like"] = [](const Args &a) { return drawn(randn_like(a.tensor(0))); };
  table["randn"] = [](const Args &a) { return drawn(randn(a.list(0), optionsOf(a, 1))); };
  table["randint"] = [](const Args &a) {
    return drawn(randint(a.whole(0), a.whole(1), a.list(2), optionsOf(a, 3)));
  };
  // Of a probability of 0 or 1, and in evaluation, nothing is drawn.
#define WEFT_DROPOUT(name)                                                                                   \
  table[#name] = [](const Args &a) { return Tensors{name(a.tensor(0), a.real(1, 0.5), a.flag(2, true))}; };
  WEFT_DROPOUT(dropout)
  WEFT_DROPOUT(dropout2d)
  WEFT_DROPOUT(dropout3d)
  WEFT_DROPOUT(alpha_dropout)
  WEFT_DROPOUT(feature_alpha_dropout)
#undef WEFT_DROPOUT
  table["rrelu"] = [](const Args &a) {
    return Tensors{rrelu(a.tensor(0), a.real(1, 1.0 / 8), a.real(2, 1.0 / 3), a.flag(3))};
  };
}

static void addWindowsOfSpectra(parity::Table &table) {
  using namespace parity;
  // Arguments: how many, whether it is periodic, dtype, numbers.
  table["bartlett"] = [](const Args &a) {
    return Tensors{bartlett_window(a.whole(0), a.flag(1), optionsOf(a, 2))};
  };
  table["blackman"] = [](const Args &a) {
    return Tensors{blackman_window(a.whole(0), a.flag(1), optionsOf(a, 2))};
  };
  table["hann"] = [](const Args &a) { return Tensors{hann_window(a.whole(0), a.flag(1), optionsOf(a, 2))}; };
  for (const char *name : {"hamming", "general_hamming"})
    table[name] = [](const Args &a) {
      double alpha = a.real(3, 0.54);
      return Tensors{hamming_window(a.whole(0), a.flag(1), alpha, 1 - alpha, optionsOf(a, 2))};
    };
  table["kaiser"] = [](const Args &a) {
    return Tensors{kaiser_window(a.whole(0), a.flag(1), a.real(3, 12), optionsOf(a, 2))};
  };
}

void parity::addExtra(Table &table) {
  addReflected(table);
  addDraws(table);
  addWindowsOfSpectra(table);
  table["matrix_exp"] = [](const Args &a) { return Tensors{matrix_exp(a.tensor(0))}; };
  table["householder_product"] = [](const Args &a) {
    return Tensors{linalg::householder_product(a.tensor(0), a.tensor(1))};
  };
  table["frexp"] = [](const Args &a) {
    auto [mantissa, exponent] = frexp(a.tensor(0));
    return Tensors{mantissa, exponent};
  };
  table["histogram"] = [](const Args &a) {
    HistogramOptions options{.weight = a.tensorOrNone(2), .density = a.flag(3)};
    if (a.has(4)) {
      options.min = a.real(4);
      options.max = a.real(5);
    }
    bool hasEdges = std::holds_alternative<Tensor>(a.values[1]);
    auto [hist, edges] =
        hasEdges ? histogram(a.tensor(0), a.tensor(1), options) : histogram(a.tensor(0), a.whole(1), options);
    return Tensors{hist, edges};
  };
  table["multilabel_margin_loss"] = [](const Args &a) {
    return Tensors{nn::multilabel_margin_loss(a.tensor(0), a.tensor(1), reductionOf(a.word(2, "mean")))};
  };
  table["broadcast_shapes"] = [](const Args &a) {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < a.size(); ++i)
      shapes.push_back(a.list(i));
    return Tensors{tensor(broadcast_shapes(shapes))};
  };
  table["empty"] = [](const Args &a) { return Tensors{empty(a.list(0), optionsOf(a, 1)).zero_()}; };
  table["empty_like"] = [](const Args &a) { return Tensors{empty_like(a.tensor(0)).zero_()}; };
  table["new_empty"] = [](const Args &a) {
    std::optional<DType> dtype;
    if (a.has(2))
      dtype = a.dtype(2);
    return Tensors{a.tensor(0).new_empty(a.list(1), dtype).zero_()};
  };
}
