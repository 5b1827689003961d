//===- IndexingTest.cpp - Reading and writing by index ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values and gradients beside PyTorch are in test/parity; here are errors, compiled functions and failing
// steps.
//
//===----------------------------------------------------------------------===//
#include "Helpers.h"

using namespace weft;

static Tensor ints(std::vector<int64_t> values) {
  auto count = static_cast<int64_t>(values.size());
  return Tensor::from(values, {count});
}

TEST(Indexing, ATriangleMayHaveAnyDiagonal) { // far out, too, where numbers would wrap
  const Tensor square = ones({3, 3});
  for (int64_t far : {INT64_MAX, INT64_MAX - 1, int64_t(1) << 62, int64_t(4)}) {
    EXPECT_EQ(floats(tril(square, far)), Floats(9, 1)) << far;
    EXPECT_EQ(floats(triu(square, far)), Floats(9, 0)) << far;
    EXPECT_EQ(floats(tril(square, -far)), Floats(9, 0)) << far;
    EXPECT_EQ(floats(triu(square, -far)), Floats(9, 1)) << far;
  }
  EXPECT_EQ(floats(tril(square, INT64_MIN)), Floats(9, 0));
  EXPECT_EQ(floats(triu(square, INT64_MIN)), Floats(9, 1));
}

TEST(Indexing, ErrorsNameWhatWasExpected) {
  Tensor a = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_ERROR(cat({}), "non-empty list");
  EXPECT_ERROR(cat({a, tensor({1, 2}, {1, 2})}), "differ in dimensions other than 0: [2, 3] and [1, 2]");
  EXPECT_ERROR(cat({a, a}, 2), "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  EXPECT_ERROR(cat({scalar(1)}), "zero-dimensional tensor (at position 0) cannot be concatenated");
  EXPECT_ERROR(stack({a, a.t()}), "equal size, but got [2, 3] at entry 0 and [3, 2] at entry 1");
  EXPECT_ERROR(split(a, std::vector<int64_t>{1, 1}, 1), "sum exactly to 3");
  EXPECT_ERROR(chunk(a, 0), "greater than 0, got: 0");
  EXPECT_ERROR(narrow(a, 1, 2, 2), "exceeds dimension size (3)");
  EXPECT_ERROR(flip(a, {0, 0}), "multiple times");
  EXPECT_ERROR(roll(a, {1, 2}, {0}), "must align");
  EXPECT_ERROR(pad(a, {1, 2, 3}), "divisible by 2");
  EXPECT_ERROR(pad(a, {-2, -2}), "negative output size");
  EXPECT_ERROR(tril(ints({1, 2})), "at least 2 dimensions");
  EXPECT_ERROR(take(a, a), "must be an integer tensor, found f32");
  EXPECT_ERROR(index(a, {ints({0}), ints({0}), ints({0})}), "too many indices");
  EXPECT_ERROR(index(a, {ints({0, 1}), ints({0, 1, 2})}), "could not be broadcast");
  EXPECT_ERROR(index(a, {ones({5}) > 0}), "The shape of the mask [5] at index 0 does not match the shape");
  EXPECT_ERROR(embedding(ints({0}), ints({0})), "must be 2-D");
  EXPECT_ERROR(embedding(ints({0}), a, 2), "within num_embeddings: 2 of 2");
  EXPECT_ERROR(scatter_reduce(a, 0, ints({0}), a, "median"), "found 'median'");
  EXPECT_ERROR(scatter_reduce(a > 0, 0, ints({0}), a > 0, "mean"), "bools have no mean");
  EXPECT_ERROR(index_add(a, 0, ints({0}), a), "expected a source of shape [1, 3], found [2, 3]");
  EXPECT_ERROR(index_copy(a, 0, ints({0, 1}), a.to(f64)), "same dtype, but got f32 and f64");
  EXPECT_ERROR(masked_fill(a, a, 1), "boolean masks");
  EXPECT_ERROR(arange(0, 5, 0), "nonzero");
  EXPECT_ERROR(arange(0, 5, -1), "inconsistent with step sign");
  EXPECT_ERROR(arange(0, 5.5, 0.5, {.dtype = i64}), "nonzero");
  EXPECT_ERROR(arange(0, 1e300, 1e299, {.dtype = i64}), "does not fit in i64");
  EXPECT_ERROR(linspace(0, 1, -1), "non-negative");
  EXPECT_ERROR(index_select(scalar(1), 0, ints({0, 0})), "can have only 1 value, got 2");
}

TEST(Indexing, OutOfRangeIsAnErrorOfTheRead) {
  Tensor a = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_ERROR(index_select(a, 1, ints({0, 3})).to_vector<float>(), "index 3 is out of bounds");
  EXPECT_ERROR(index_add(a, 0, ints({-1}), tensor({1, 1, 1}, {1, 3})).to_vector<float>(),
               "index -1 is out of bounds");
  EXPECT_ERROR(index_put(a, {ints({2})}, a.slice(0, 0, 1)).to_vector<float>(), "index 2 is out of bounds");
  // A second index does not make up for the first.
  EXPECT_ERROR(index(a, {ints({0}), ints({3})}).to_vector<float>(), "index 3 is out of bounds");
  EXPECT_ERROR(one_hot(ints({4}), 3).to_vector<int64_t>(), "index 4 is out of bounds");
  // The message is the same for every op that makes the check: a read, a separate gather before a write, or
  // an assertion if a rewrite has removed the read.
  const Tensor nine = ints({9}), same = full({1, 1}, 4.0).expand({2, 3});
  const std::string said = "index 9 is out of bounds for dimension 1 with size 3 (at position 0)";
  EXPECT_ERROR(index_select(a, 1, nine).to_vector<float>(), said);
  EXPECT_ERROR(index_select(same, 1, nine).to_vector<float>(), said);
  EXPECT_ERROR(index_add(a, 1, nine, ones({2, 1})).to_vector<float>(), said);
  EXPECT_ERROR(index_select(a, 1, nine).slice(0, 0, 0).to_vector<float>(), said);
  auto f = compile([](Tensor x, Tensor i) { return (x + index_select(x, 1, i)).slice(0, 0, 0); });
  EXPECT_ERROR(f(a, nine).to_vector<float>(), said);
  // An index of a dimension of size 1 is checked too.
  EXPECT_ERROR(index_select(a.slice(0, 0, 1), 0, ints({1})).to_vector<float>(), "index 1 is out of bounds");
  EXPECT_ERROR(
      scatter(a.slice(0, 0, 1), 0, Tensor::from(std::vector<int64_t>{1}, {1, 1}), 3.0).to_vector<float>(),
      "index 1 is out of bounds");
}

TEST(Indexing, AFailingStepChangesNothing) {
  Tensor weight = tensor({1, 2, 3, 4, 5, 6}, {3, 2});
  weight.requires_grad_();
  optim::SGD optimizer({weight}, {.lr = 0.5});
  auto step = compile([&](Tensor which) {
    Tensor loss = embedding(which, weight).sum();
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    return loss;
  });
  EXPECT_EQ(step(ints({0, 2, 2})).item<float>(), 1 + 2 + 2 * (5 + 6));
  std::vector<float> after{0.5f, 1.5f, 3, 4, 4, 5};
  EXPECT_EQ(weight.to_vector<float>(), after);
  EXPECT_ERROR(step(ints({0, 3, 2})).item<float>(), "index 3 is out of bounds");
  EXPECT_EQ(weight.to_vector<float>(), after);
  EXPECT_EQ(step(ints({1, 1, 1})).item<float>(), 3 * (3 + 4));
}

TEST(Indexing, AWindowOfStateIsWrittenInPlace) {
  Tensor cache = zeros({64, 4});
  auto write = compile([&](Tensor row, Tensor at) {
    cache.copy_(index_copy(cache, 0, at, row));
    return cache.sum();
  });
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_EQ(write(ones({1, 4}), ints({20 * i})).item<float>(), 4.0f * static_cast<float>(i + 1));
  EXPECT_EQ(cache.select(0, 40).to_vector<float>(), std::vector<float>(4, 1));
  EXPECT_EQ(cache.select(0, 41).to_vector<float>(), std::vector<float>(4, 0));
}

TEST(Indexing, ManyPartsJoin) {
  std::vector<Tensor> parts;
  std::vector<float> expected;
  for (int i = 0; i < 37; ++i) {
    parts.push_back(full({static_cast<int64_t>(i % 4), 3}, i));
    expected.insert(expected.end(), static_cast<size_t>(i % 4) * 3, static_cast<float>(i));
  }
  EXPECT_EQ(cat(parts, 0).to_vector<float>(), expected);
}

TEST(Indexing, LastWriteStays) {
  Tensor a = zeros({4}), u = tensor({1, 2, 3}, {3});
  u.requires_grad_();
  Tensor made = scatter(a, 0, ints({1, 1, 2}), u);
  EXPECT_EQ(made.to_vector<float>(), (std::vector<float>{0, 2, 3, 0}));
  made.sum().backward();
  EXPECT_EQ(u.grad().to_vector<float>(), (std::vector<float>{0, 1, 1}));
}

TEST(Indexing, AScalarIsAVectorOfOneElement) {
  Tensor a = scalar(3), zero = Tensor::from(std::vector<int64_t>{0}, {});
  EXPECT_EQ(gather(a, 0, zero).sizes(), Shape{});
  EXPECT_EQ(gather(a, -1, ints({0, 0})).to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(gather(tensor({1, 2}, {2}), 0, zero).sizes(), Shape{});
  EXPECT_EQ(index_select(a, 0, ints({0})).sizes(), Shape{});
  EXPECT_EQ(index_select(tensor({1, 2}, {2}), 0, zero).sizes(), Shape{1});
  EXPECT_ERROR(index_select(a, 0, ints({1})).to_vector<float>(), "index 1 is out of bounds");
  // An index without elements goes with any rank.
  EXPECT_EQ(gather(tensor({1, 2}, {2}), 0, zeros({0, 4}, {.dtype = i64})).sizes(), (Shape{0, 4}));
}

TEST(Indexing, BoolsAreCombinedByIndex) {
  Tensor a = tensor({1, 0, 0}, {3}) > 0, many = ones({256}) > 0;
  // A count of 256 would be 0 in eight bits.
  EXPECT_EQ(index_add(a, 0, zeros({256}, {.dtype = i64}) + 2, many).to(f32).to_vector<float>(),
            (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(scatter_reduce(a, 0, ints({0, 1}), a.slice(0, 1), "prod").to(f32).to_vector<float>(),
            (std::vector<float>{0, 0, 0}));
}

TEST(Indexing, RangesOfWholeNumbersDropFractionsFirst) {
  EXPECT_EQ(arange(0.5, 3.2, 1.0, {.dtype = i64}).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(arange(0, 1.5, 0.5, {.dtype = i32}).to_vector<int32_t>(), (std::vector<int32_t>{0, 0, 0}));
  EXPECT_EQ(linspace(4.3, 1.9, 2, {.dtype = i64}).to_vector<int64_t>(), (std::vector<int64_t>{4, 1}));
}

// The shapes and values of PyTorch 2.13.
TEST(Indexing, BytesAreAMask) {
  using indexing::Slice;
  const Tensor bytes = weft::tensor({1, 0, 1}, u8), x = arange(3);
  EXPECT_EQ(x.index({bytes}).to_vector<int64_t>(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(index(x, {bytes}).to_vector<int64_t>(), (std::vector<int64_t>{0, 2}));
  Tensor written = arange(3);
  written.index_put_({bytes}, 7);
  EXPECT_EQ(written.to_vector<int64_t>(), (std::vector<int64_t>{7, 1, 7}));
  Tensor rows = zeros({2, 2});
  rows.index_put_({weft::tensor({{1, 0}, {0, 1}}, u8)}, weft::tensor({3., 4.}));
  EXPECT_EQ(floats(rows), Floats({3, 0, 0, 4}));
  EXPECT_EQ(floats(index_put(ones({3}), {bytes}, zeros({2}))), Floats({0, 1, 0}));
  auto f = compile([](Tensor t, Tensor mask) { return t.index({mask}); });
  EXPECT_ERROR(f(ones({3}), bytes), "WEFT-C001");
  EXPECT_EQ(countTo(6).reshape({2, 3}).index({Slice(), bytes}).sizes(), (Shape{2, 2}));
}

TEST(Indexing, AMaskWithoutDimensionsAddsOne) {
  using namespace indexing;
  const Tensor x = ones({2, 3}), yes = weft::tensor(true), no = weft::tensor(false);
  EXPECT_EQ(x.index({yes}).sizes(), (Shape{1, 2, 3}));
  EXPECT_EQ(x.index({no}).sizes(), (Shape{0, 2, 3}));
  EXPECT_EQ(x.index({weft::tensor(1, u8)}).sizes(), (Shape{1, 2, 3}));
  EXPECT_EQ(x.index({Slice(), yes}).sizes(), (Shape{2, 1, 3}));
  EXPECT_EQ(x.index({yes, ints({0, 1})}).sizes(), (Shape{2, 3}));
  EXPECT_EQ(floats(scalar(5).index({yes})), Floats({5}));
  EXPECT_EQ(scalar(5).index({no}).sizes(), Shape{0});
  Tensor a = zeros({2}), b = scalar(1);
  a.index_put_({no}, 3);
  EXPECT_EQ(floats(a), Floats({0, 0}));
  a.index_put_({yes}, 3);
  EXPECT_EQ(floats(a), Floats({3, 3}));
  a.index_put_({yes}, weft::tensor({3., 4.}));
  EXPECT_EQ(floats(a), Floats({3, 4}));
  b.index_put_({yes}, 3);
  EXPECT_EQ(b.item<float>(), 3);
  // In a compiled function, whose sizes do not depend on values, it can be written.
  auto f = compile([](Tensor t, Tensor flag) {
    Tensor copy = t.clone();
    copy.index_put_({flag}, 2);
    return copy;
  });
  EXPECT_EQ(floats(f(ones({2}), yes)), Floats({2, 2}));
  EXPECT_EQ(floats(f(ones({2}), no)), Floats({1, 1}));
}

TEST(Indexing, AnIndexWithoutDimensionsSelectsAsAnIntegerDoes) { // with the values of PyTorch
  using namespace indexing;
  const Tensor zero = weft::tensor(0), last = weft::tensor(-1), two = ints({0, 1});
  Tensor x = countTo(12).reshape({2, 2, 3});
  EXPECT_EQ(floats(x.index({zero, Slice(), two})), Floats({0, 1, 3, 4}));
  EXPECT_EQ(floats(x.index({last, Slice(), two})), Floats({6, 7, 9, 10}));
  EXPECT_EQ(floats(x.index({two, Slice(), last})), Floats({2, 5, 8, 11}));
  EXPECT_EQ(floats(x.index({Slice(), zero, two})), Floats({0, 1, 6, 7}));
  EXPECT_EQ(x.index({zero, Slice(), zero}).sizes(), Shape{2});
  x.index_put_({zero, Slice(), two}, weft::tensor({{1., 2.}, {3., 4.}}));
  EXPECT_EQ(floats(x), Floats({1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  x.index_put_({two, Slice(), last}, weft::tensor({{0., 1.}, {2., 3.}}));
  EXPECT_EQ(floats(x), Floats({1, 2, 0, 3, 4, 1, 6, 7, 2, 9, 10, 3}));
  auto f = compile([](Tensor t, Tensor place, Tensor rows) { return t.index({place, Slice(), rows}); });
  EXPECT_EQ(floats(f(countTo(12).reshape({2, 2, 3}), zero, two)), Floats({0, 1, 3, 4}));
}

TEST(Indexing, ErrorsNameTheDimensionOfTheTensor) {
  using namespace indexing;
  EXPECT_ERROR(ones({2, 2}).index({0, 5}), "index 5 is out of bounds for dimension 1 with size 2");
  EXPECT_ERROR(ones({2, 2, 3}).index({None, 0, Ellipsis, 3}),
               "index 3 is out of bounds for dimension 2 with size 3");
  EXPECT_ERROR(ones({2, 2, 3}).index({ones({2, 2}) > 0, 4}),
               "index 4 is out of bounds for dimension 2 with size 3");
}

TEST(Indexing, AFilledRealIsTruncated) {
  const Tensor x = weft::tensor({1, 2}), mask = weft::tensor({true, false});
  EXPECT_EQ(x.masked_fill(mask, 2.5).to_vector<int64_t>(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(x.masked_fill(mask, -2.5).to_vector<int64_t>(), (std::vector<int64_t>{-2, 2}));
  EXPECT_EQ(x.masked_fill(mask, scalar(2.5)).to_vector<int64_t>(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ((x > 5).masked_fill(mask, 0.5).to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_ERROR(x.masked_fill(mask, NAN), "value cannot be converted to type i64 without overflow");
  EXPECT_ERROR(x.masked_fill(mask, 1e30), "value cannot be converted to type i64 without overflow");
}
