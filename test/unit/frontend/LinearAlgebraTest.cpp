//===- LinearAlgebraTest.cpp - Products, einsum, diagonals ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values and gradients beside PyTorch are in test/parity; here are einsum's equations against loops, views,
// and errors.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

#include <algorithm>
#include <map>
#include <random>

using namespace weft;

static Tensor numbers(Shape shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return (arange(count).to(f64) % 7 - 3).reshape(shape);
}

TEST(Products, HaveTheShapesOfTheirNames) {
  Tensor a = numbers({2, 3}), b = numbers({3, 4}), v = numbers({3});
  EXPECT_TRUE(equal(mm(a, b), matmul(a, b)));
  EXPECT_TRUE(equal(mv(a, v), matmul(a, v)));
  EXPECT_EQ(dot(v, v).item<double>(), 9 + 4 + 1);
  EXPECT_TRUE(equal(outer(v, numbers({2})), v.unsqueeze(1) * numbers({2})));
  Tensor x = numbers({5, 2, 3}), y = numbers({5, 3, 4}), bias = numbers({4});
  EXPECT_TRUE(equal(x.bmm(y), matmul(x, y)));
  EXPECT_TRUE(equal(addmm(bias, a, b, 0.5, 2), bias * 0.5 + matmul(a, b) * 2));
  EXPECT_TRUE(equal(bias.addmm(a, b), bias + matmul(a, b)));
  EXPECT_TRUE(equal(baddbmm(bias, x, y), bias + matmul(x, y)));
  // The input that beta = 0 excludes may be NaN.
  EXPECT_TRUE(equal(addmm(full({2, 4}, NAN, {.dtype = f64}), a, b, 0), matmul(a, b)));
  Tensor whole = arange(4).reshape({2, 2});
  EXPECT_EQ(addmm(whole, whole, whole, 2, 3).to_vector<int64_t>(), (std::vector<int64_t>{6, 11, 22, 39}));
}

TEST(Products, OfTruthValuesAreErrorsThatSayWhatToDo) {
  Tensor a = ones({2, 2}) > 0, v = a[0], x = a.expand({3, 2, 2});
  const char *text =
      "matmul() is not implemented for 'Bool' (i1): sums of products of truth values are numbers, "
      "so convert the operands first, as in a.to(weft::i32)";
  EXPECT_ERROR(matmul(a, a), text);
  EXPECT_ERROR(mm(a, a), text);
  EXPECT_ERROR(mv(a, v), text);
  EXPECT_ERROR(dot(v, v), text);
  EXPECT_ERROR(bmm(x, x), text);
  EXPECT_ERROR(nn::linear(v, a), text);
  EXPECT_ERROR(addmm(a, a, a), text);
  EXPECT_ERROR(einsum("ij,jk->ik", {a, a}), "einsum() is not implemented for 'Bool' (i1)");
  EXPECT_EQ(matmul(a.to(i32), a.to(i32)).to_vector<int32_t>(), std::vector<int32_t>(4, 2));
}

TEST(Products, OfNothingMayHaveAnyExtents) {
  const Tensor none = zeros({0, int64_t(1) << 21, int64_t(1) << 21});
  EXPECT_EQ(bmm(none, none).to_vector<float>().size(), 0u);
  const Tensor vast = zeros({1, 1}).expand({int64_t(1) << 22, int64_t(1) << 22});
  EXPECT_ERROR(mm(vast, vast).to_vector<float>(),
               "takes more than 2^62 multiplications, which no machine ends");
}

TEST(Products, RefuseOtherShapes) {
  Tensor a = zeros({2, 3}), v = zeros({3}), x = zeros({5, 2, 3});
  EXPECT_ERROR(mm(a, v), "mm: mat2 must be a matrix, but got 1-D of shape [3]");
  EXPECT_ERROR(mm(a, a), "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
  EXPECT_ERROR(bmm(a, x), "batch1 must be a 3D tensor");
  EXPECT_ERROR(bmm(x, x),
               "Expected size for first two dimensions of batch2 tensor to be: [5, 3] but got: [5, 2].");
  EXPECT_ERROR(mv(a, zeros({2})), "size mismatch, got mat (2x3), vec (2)");
  EXPECT_ERROR(dot(v, zeros({2})), "inconsistent tensor size, expected tensor [3] and src [2]");
  EXPECT_ERROR(dot(a, v), "1D tensors expected, but got 2-D of shape [2, 3]");
  EXPECT_ERROR(outer(a, v), "Expected 1-D argument self");
  EXPECT_ERROR(addmm(zeros({3}), a, a.t()), "must match the existing size (3) at non-singleton");
  EXPECT_ERROR(addmm(zeros({2}, {.dtype = f64}), a, a.t()), "same dtype, but got f64 and f32");
  Tensor whole = arange(4).reshape({2, 2});
  EXPECT_ERROR(addmm(whole, whole, whole, 0.5), "beta and alpha must be whole numbers, found 0.5");
  EXPECT_ERROR(trace(v), "expected a matrix");
  EXPECT_ERROR(diag(x), "Supports 1D or 2D tensors");
}

//===----------------------------------------------------------------------===//
// einsum
//===----------------------------------------------------------------------===//

namespace {

/// The definition: a loop over all letters. No ellipses.
std::vector<double> reference(const std::vector<std::string> &inputs, const std::string &output,
                              const std::vector<Tensor> &operands) {
  std::map<char, int64_t> sizes;
  std::vector<std::vector<double>> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t d = 0; d < inputs[i].size(); ++d)
      sizes[inputs[i][d]] = std::max(sizes[inputs[i][d]], operands[i].sizes()[d]);
    values.push_back(operands[i].to_vector<double>());
  }
  std::map<char, int64_t> at;
  int64_t count = 1;
  for (char letter : output)
    count *= sizes[letter];
  std::vector<double> result(static_cast<size_t>(count));
  std::vector<char> letters;
  int64_t steps = 1;
  for (auto [letter, size] : sizes) {
    letters.push_back(letter);
    steps *= size;
  }
  for (int64_t step = 0; step < steps; ++step) {
    int64_t rest = step;
    for (char letter : letters) {
      at[letter] = rest % sizes[letter];
      rest /= sizes[letter];
    }
    double product = 1;
    for (size_t i = 0; i < operands.size(); ++i) {
      int64_t place = 0;
      for (size_t d = 0; d < inputs[i].size(); ++d) {
        int64_t size = operands[i].sizes()[d];
        place = place * size + (size == 1 ? 0 : at[inputs[i][d]]);
      }
      product *= values[i][static_cast<size_t>(place)];
    }
    int64_t place = 0;
    for (char letter : output)
      place = place * sizes[letter] + at[letter];
    result[static_cast<size_t>(place)] += product;
  }
  return result;
}

} // namespace

// Random equations over up to four operands, sizes of 1 that broadcast and repeated letters among them.
TEST(Einsum, IsItsDefinition) {
  std::mt19937 random(7);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 24; ++round) {
    std::map<char, int64_t> sizes;
    for (char letter : {'a', 'b', 'C', 'd', 'e'})
      sizes[letter] = 1 + below(4);
    std::vector<std::string> inputs;
    std::vector<Tensor> operands;
    std::string all;
    for (int i = 0, e = 1 + below(4); i < e; ++i) {
      std::string subscripts;
      Shape shape;
      for (int d = 0, rank = below(4); d < rank; ++d) {
        char letter = "abCde"[below(5)];
        bool repeated = subscripts.find(letter) != std::string::npos;
        subscripts += letter;
        shape.push_back(!repeated && below(5) == 0 ? 1 : sizes[letter]);
        if (repeated) // a diagonal has one size
          for (size_t k = 0; k < subscripts.size(); ++k)
            if (subscripts[k] == letter)
              shape[k] = sizes[letter];
      }
      all += subscripts;
      inputs.push_back(subscripts);
      operands.push_back(numbers(shape));
    }
    std::string output, equation;
    for (char letter : {'d', 'a', 'e', 'C', 'b'})
      if (all.find(letter) != std::string::npos && below(2))
        output += letter;
    for (const std::string &input : inputs)
      equation += (&input == inputs.data() ? "" : ",") + input;
    equation += "->" + output;
    EXPECT_EQ(einsum(equation, operands).to_vector<double>(), reference(inputs, output, operands))
        << equation;
  }
}

TEST(Einsum, EllipsesAndImplicitResults) {
  Tensor x = numbers({4, 5, 2, 3}), y = numbers({5, 3, 2}), m = numbers({3, 3});
  EXPECT_TRUE(equal(einsum("...ij,...jk->...ik", {x, y}), matmul(x, y)));
  EXPECT_TRUE(equal(einsum("...ij,...jk", {x, y}), matmul(x, y)));
  EXPECT_TRUE(equal(einsum("i...->...", {x}), x.sum(0)));
  EXPECT_TRUE(equal(einsum("...ij->...", {x}), x.sum({-2, -1})));
  EXPECT_TRUE(equal(einsum("ba", {m}), m.t())); // the result's letters are in the order of the alphabet
  EXPECT_EQ(einsum("ii", {m}).item<double>(), trace(m).item<double>());
  EXPECT_TRUE(equal(einsum(" i i -> i ", {m}), m.diagonal()));
  EXPECT_TRUE(equal(einsum("ij,jk,kl->il", {m, m, m}), matmul(matmul(m, m), m)));
  EXPECT_EQ(einsum(",", {scalar(2), scalar(3)}).item<float>(), 6);
  EXPECT_EQ(einsum("bhqd,bhkd->bhqk", {zeros({2, 3, 4, 5}), zeros({2, 3, 6, 5})}).sizes(),
            (Shape{2, 3, 4, 6}));
}

TEST(Einsum, GradientsAreThoseOfTheProducts) {
  Tensor a = numbers({2, 3}).requires_grad_(), b = numbers({3, 2}).requires_grad_();
  einsum("ij,ji->", {a, b}).backward();
  EXPECT_TRUE(equal(a.grad(), b.detach().t()));
  EXPECT_TRUE(equal(b.grad(), a.detach().t()));
}

TEST(Einsum, ErrorsNameSubscriptAndOperand) {
  Tensor a = zeros({2, 3});
  EXPECT_ERROR(einsum("ij->ij", {}), "must provide at least one operand");
  EXPECT_ERROR(einsum("ij,jk->ik", {a}), "has subscripts for 2 operands, and 1 were given");
  EXPECT_ERROR(einsum("i1->i", {a}), "invalid subscript '1'");
  EXPECT_ERROR(einsum("......->", {a}), "more than once");
  EXPECT_ERROR(einsum("i->i", {a}), "does not match the number of dimensions (2) for operand 0");
  EXPECT_ERROR(einsum("...ijk->", {a}), "is more than the number of dimensions (2)");
  EXPECT_ERROR(einsum("ij->ik", {a}), "output subscript k does not appear");
  EXPECT_ERROR(einsum("ij->ii", {a}), "output subscript i appears more than once");
  EXPECT_ERROR(einsum("ii->i", {a}),
               "subscript i is repeated for one operand, but the sizes don't match, 3 != 2");
  EXPECT_ERROR(einsum("ij,ij->ij", {a, zeros({2, 4})}),
               "subscript j has size 4 for operand 1 which does not broadcast with previously seen size 3");
  EXPECT_ERROR(einsum("ij,ij->ij", {a, a.to(f64)}), "same dtype, but found f32 and f64");
}

//===----------------------------------------------------------------------===//
// Diagonals, transpositions
//===----------------------------------------------------------------------===//

TEST(Diagonals, AreViewsThatAreWrittenThrough) {
  Tensor a = zeros({3, 4});
  a.diagonal(1).fill_(2);
  a.diagonal(-2) += 5;
  EXPECT_EQ(a.to_vector<float>(), (Floats{0, 2, 0, 0, 0, 0, 2, 0, 5, 0, 0, 2}));
  EXPECT_EQ(a.diagonal(4).sizes(), Shape{0});
  EXPECT_EQ(a.diagonal(-7).sizes(), Shape{0});
  EXPECT_EQ(numbers({2, 3, 4}).diagonal(0, 0, 2).sizes(), (Shape{3, 2}));
  EXPECT_ERROR(a.diagonal(0, 1, -1), "cannot be identical");
  EXPECT_EQ(diag(arange(2) + 1, -1).to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 0, 1, 0, 0, 0, 2, 0}));
  EXPECT_EQ(diag(a, 1).to_vector<float>(), (Floats{2, 2, 2}));
}

TEST(Shapes, OfTranspositionsAndMoves) {
  Tensor a = zeros({2, 3, 4});
  EXPECT_EQ(a.mT().sizes(), (Shape{2, 4, 3}));
  EXPECT_EQ(a.T().sizes(), (Shape{4, 3, 2}));
  EXPECT_ERROR(zeros({2}).mT(), "only supported on matrices");
  EXPECT_EQ(a.movedim(0, -1).sizes(), (Shape{3, 4, 2}));
  EXPECT_EQ(movedim(a, {0, 1}, {1, 0}).sizes(), (Shape{3, 2, 4}));
  EXPECT_ERROR(a.movedim({0, 1}, {1}), "should contain the same number of dims");
  EXPECT_ERROR(a.movedim({0, 0}, {1, 2}), "repeated dim");
  EXPECT_EQ(zeros({1, 2, 1, 3, 1}).squeeze().sizes(), (Shape{2, 3}));
  EXPECT_EQ(zeros({1, 2, 1}).squeeze({0, 1}).sizes(), (Shape{2, 1}));
  EXPECT_ERROR(a.squeeze({0, -3}), "appears multiple times");
  EXPECT_EQ(zeros({2, 12}).unflatten(1, {3, -1}).sizes(), (Shape{2, 3, 4}));
  EXPECT_ERROR(zeros({2, 12}).unflatten(1, {5, -1}), "don't multiply up to the size of dim 1 (12)");
  EXPECT_ERROR(zeros({2, 12}).unflatten(1, {-1, -1}), "don't multiply up");
}
