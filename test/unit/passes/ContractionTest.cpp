//===- ContractionTest.cpp - Contractions as matrix products --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Contraction.h"
#include "Testing.h"

#include <algorithm>
#include <random>

using namespace weft;
using namespace weft::testing;

namespace {

/// The only contraction of @f.
ir::DotGeneralOp contractionOf(Program &program) {
  ir::DotGeneralOp found;
  program.function("f").walk([&](ir::DotGeneralOp op) { found = op; });
  return found;
}

std::string contraction(const std::string &a, const std::string &b, const std::string &dims,
                        const std::string &result) {
  return "weft.func @f(%a: " + a + ", %b: " + b + ") -> " + result + " { %r = weft.dot_general %a, %b, " +
         dims + " : " + a + ", " + b + " weft.return %r : " + result + " }";
}

using Strides = std::array<ir::Size, 3>;

TEST(Contraction, StridesOfMatrices) {
  struct {
    std::string text;
    int64_t batch, m, n, k;
    Strides a, b;
  } rows[] = {
      {contraction("@5x3@", "@3x4@", "contract = [1] x [0]", "@5x4@"), 1, 5, 4, 3, {15, 3, 1}, {12, 4, 1}},
      {contraction("@3x5@", "@4x3@", "contract = [0] x [1]", "@5x4@"), 1, 5, 4, 3, {15, 1, 5}, {12, 1, 3}},
      {contraction("@2x5x3@", "@3x4@", "contract = [2] x [0]", "@2x5x4@"),
       1,
       10,
       4,
       3,
       {30, 3, 1},
       {12, 4, 1}},
      {contraction("@7x5x3@", "@7x3x4@", "batch = [0] x [0], contract = [2] x [1]", "@7x5x4@"),
       7,
       5,
       4,
       3,
       {15, 3, 1},
       {12, 4, 1}},
      {contraction("@5x7x3@", "@3x7x4@", "batch = [1] x [1], contract = [2] x [0]", "@7x5x4@"),
       7,
       5,
       4,
       3,
       {3, 21, 1},
       {4, 28, 1}},
      // A vector is a matrix of one row or column, with a leading dimension that a library accepts.
      {contraction("@3@", "@3x4@", "contract = [0] x [0]", "@4@"), 1, 1, 4, 3, {3, 3, 1}, {12, 4, 1}},
      {contraction("@5x3@", "@3@", "contract = [1] x [0]", "@5@"), 1, 5, 1, 3, {15, 3, 1}, {3, 1, 3}},
      {contraction("@5@", "@4@", "contract = [] x []", "@5x4@"), 1, 5, 4, 1, {5, 1, 5}, {4, 4, 1}},
      {contraction("@0x3@", "@3x4@", "contract = [1] x [0]", "@0x4@"), 1, 0, 4, 3, {0, 3, 1}, {12, 4, 1}},
  };
  for (auto &row : rows) {
    SCOPED_TRACE(row.text);
    Program program(row.text);
    ASSERT_TRUE(program.module) << program.messages;
    auto shape = ir::getContractionShape(contractionOf(program));
    ASSERT_TRUE(shape);
    EXPECT_EQ(shape->batch, row.batch);
    EXPECT_EQ(shape->m, row.m);
    EXPECT_EQ(shape->n, row.n);
    EXPECT_EQ(shape->k, row.k);
    EXPECT_EQ(shape->aStrides, row.a);
    EXPECT_EQ(shape->bStrides, row.b);
    EXPECT_EQ(shape->cStrides, (Strides{row.m * row.n, row.n, 1}));
  }
}

TEST(Contraction, InterleavedDimensionsAreNoMatrix) {
  for (const std::string &text :
       {contraction("@5x3x6@", "@3x4@", "contract = [1] x [0]", "@5x6x4@"),
        contraction("@2x5x3x8@", "@2x7x3x8@", "batch = [0, 2] x [0, 2], contract = [3] x [3]", "@2x3x5x7@"),
        contraction("@5x2x3@", "@4x2x3@", "contract = [2, 1] x [2, 1]", "@5x4@")}) {
    Program program(text);
    ASSERT_TRUE(program.module) << program.messages;
    EXPECT_FALSE(ir::getContractionShape(contractionOf(program))) << text;
  }
}

// For contractions of random dimensions, the pass keeps the value and makes a product of matrices, and
// multiplying by the strides of getContractionShape gives the value of the interpreter.
TEST(Contraction, StridesComputeTheProduct) {
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    // Dimensions in groups, then shuffled over each operand.
    std::vector<int64_t> sizes[3];
    for (auto &group : sizes)
      for (int64_t i = pick(0, 2); i > 0; --i)
        group.push_back(pick(1, 3));
    std::vector<int64_t> freeB;
    for (int64_t i = pick(0, 2); i > 0; --i)
      freeB.push_back(pick(1, 3));
    auto operand = [&](const std::vector<int64_t> &free, std::vector<int64_t> &shape,
                       std::vector<int64_t> &batch, std::vector<int64_t> &contract) {
      std::vector<std::pair<int, size_t>> order;
      for (size_t i = 0; i < sizes[0].size(); ++i)
        order.push_back({0, i});
      for (size_t i = 0; i < free.size(); ++i)
        order.push_back({1, i});
      for (size_t i = 0; i < sizes[2].size(); ++i)
        order.push_back({2, i});
      std::shuffle(order.begin(), order.end(), random);
      batch.resize(sizes[0].size());
      contract.resize(sizes[2].size());
      for (auto [group, i] : order) {
        auto dim = static_cast<int64_t>(shape.size());
        shape.push_back(group == 0 ? sizes[0][i] : group == 1 ? free[i] : sizes[2][i]);
        if (group == 0)
          batch[i] = dim;
        if (group == 2)
          contract[i] = dim;
      }
    };
    std::vector<int64_t> shapeA, shapeB, batchA, batchB, contractA, contractB;
    operand(sizes[1], shapeA, batchA, contractA);
    operand(freeB, shapeB, batchB, contractB);
    std::vector<int64_t> result(sizes[0]);
    for (size_t i = 0; i < shapeA.size(); ++i)
      if (!llvm::is_contained(batchA, static_cast<int64_t>(i)) &&
          !llvm::is_contained(contractA, static_cast<int64_t>(i)))
        result.push_back(shapeA[i]);
    for (size_t i = 0; i < shapeB.size(); ++i)
      if (!llvm::is_contained(batchB, static_cast<int64_t>(i)) &&
          !llvm::is_contained(contractB, static_cast<int64_t>(i)))
        result.push_back(shapeB[i]);
    std::string batches =
        batchA.empty() ? "" : "batch = " + listText(batchA) + " x " + listText(batchB) + ", ";
    std::string text = contraction(
        typeText(shapeA), typeText(shapeB),
        batches + "contract = " + listText(contractA) + " x " + listText(contractB), typeText(result));
    SCOPED_TRACE(text);
    Program program(text);
    ASSERT_TRUE(program.module) << program.messages;
    ir::Literal a(DType::f64, shapeA), b(DType::f64, shapeB);
    for (ir::Literal *value : {&a, &b})
      for (int64_t i = 0; i < value->count(); ++i)
        value->setReal(i, static_cast<double>(pick(-9, 9)));
    auto before = program.call("f", {a, b});
    ASSERT_TRUE(program.run(passes::createCanonicalizeContractions())) << program.messages;
    auto after = program.call("f", {a, b});
    ASSERT_EQ(before.size(), 1u);
    ASSERT_EQ(after.size(), 1u);
    EXPECT_EQ(before[0].real, after[0].real);

    auto shape = ir::getContractionShape(contractionOf(program));
    ASSERT_TRUE(shape);
    // The operands as the contraction sees them: transposed where the pass put a transposition.
    auto storage = [&](mlir::Value value, const ir::Literal &argument) {
      auto transpose = value.getDefiningOp<ir::TransposeOp>();
      if (!transpose)
        return argument.real;
      std::vector<double> moved;
      auto strides = argument.strides();
      auto to = transpose.getType().getShape();
      ir::forEachIndex(to, [&](llvm::ArrayRef<int64_t> index, int64_t) {
        int64_t offset = 0;
        for (size_t i = 0; i < index.size(); ++i)
          offset += index[i] * strides[transpose.getPerm()[i]];
        moved.push_back(argument.real[offset]);
      });
      return moved;
    };
    auto op = contractionOf(program);
    auto left = storage(op.getA(), a), right = storage(op.getB(), b);
    auto numbers = [](llvm::ArrayRef<ir::Size> sizes) { return *ir::numbersOf(sizes); };
    auto of = numbers({shape->batch, shape->m, shape->n, shape->k}), aStrides = numbers(shape->aStrides),
         bStrides = numbers(shape->bStrides), cStrides = numbers(shape->cStrides);
    for (int64_t p = 0; p < of[0]; ++p)
      for (int64_t i = 0; i < of[1]; ++i)
        for (int64_t j = 0; j < of[2]; ++j) {
          double sum = 0;
          for (int64_t q = 0; q < of[3]; ++q)
            sum += left.at(p * aStrides[0] + i * aStrides[1] + q * aStrides[2]) *
                   right.at(p * bStrides[0] + q * bStrides[1] + j * bStrides[2]);
          EXPECT_EQ(sum, before[0].real.at(p * cStrides[0] + i * cStrides[1] + j * cStrides[2]));
        }
  }
}

} // namespace
