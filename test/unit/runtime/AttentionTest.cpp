//===- AttentionTest.cpp - Attention against plain loops ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFixture.h"

#include "runtime/gemm/Attention.h"
#include "runtime/gemm/AttentionTask.h"
#include "runtime/plan/PlanVerifier.h"
#include "runtime/plan/plan_generated.h"
#include "runtime/support/CpuLevel.h"
#include "runtime/threads/Executor.h"
#include "test/unit/TestLevel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

using namespace weft;
using namespace weft::runtime;
using namespace weft::runtime::test;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

size_t number(AttentionPart part) { return static_cast<size_t>(part); }

/// Row-major memory of a part.
AttentionPlace row_major(const AttentionShape &shape, AttentionPart part) {
  const auto [rows, columns] = shape.extents(part);
  std::vector<int64_t> extents = shape.batch;
  extents.insert(extents.end(), {rows, columns});
  AttentionPlace place;
  place.strides.assign(extents.size(), 1);
  for (size_t d = extents.size() - 1; d-- > 0;)
    place.strides[d] = place.strides[d + 1] * extents[d + 1];
  return place;
}

AttentionShape shape_of(std::vector<int64_t> batch, int64_t rows, int64_t keys, int64_t features,
                        int64_t values, bool causal, bool backward, std::optional<DType> mask = {}) {
  AttentionShape shape;
  shape.batch = std::move(batch);
  shape.rows = rows;
  shape.keys = keys;
  shape.features = features;
  shape.values = values;
  shape.causal = causal;
  shape.backward = backward;
  shape.mask = mask;
  shape.scale = 1 / std::sqrt(static_cast<double>(features));
  for (size_t part = 0; part < attentionParts; ++part)
    shape.places[part] = row_major(shape, static_cast<AttentionPart>(part));
  return shape;
}

/// The tensors of an attention in f32; a mask of i1 in bytes.
struct Tensors {
  AttentionShape shape;
  std::array<std::vector<float>, attentionParts> parts;
  std::vector<uint8_t> choices;

  Tensors(const AttentionShape &of, uint32_t seed) : shape(of) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (size_t part = 0; part < attentionParts; ++part) {
      parts[part].assign(static_cast<size_t>(count(static_cast<AttentionPart>(part))), -7);
      if (part <= number(AttentionPart::v) || part == number(AttentionPart::grad) ||
          part == number(AttentionPart::mask))
        for (float &value : parts[part])
          value = normal(random);
    }
    for (float value : (*this)[AttentionPart::mask])
      choices.push_back(value > -0.5f);
  }

  std::vector<float> &operator[](AttentionPart part) { return parts[number(part)]; }
  int64_t count(AttentionPart part) const {
    const auto [rows, columns] = shape.extents(part);
    int64_t elements = rows * columns;
    for (int64_t extent : shape.batch)
      elements *= extent;
    return elements;
  }
  /// The arguments of run().
  std::vector<void *> pointers(const AttentionShape &of) {
    std::vector<void *> result;
    for (size_t part = 0; part < attentionParts; ++part)
      if (of.has(static_cast<AttentionPart>(part)))
        result.push_back(part == number(AttentionPart::mask) && of.mask == DType::i1
                             ? static_cast<void *>(choices.data())
                             : static_cast<void *>(parts[part].data()));
    return result;
  }
  /// Forward, and then the derivative.
  void run(bool serial = false) {
    for (bool backward : {false, true}) {
      AttentionShape of = shape;
      of.backward = backward;
      const Attention attention(of);
      std::vector<float> scratch(attention.scratch_bytes(executor().width()) / sizeof(float), NAN);
      attention.run(pointers(of).data(), scratch.data(), serial);
    }
  }
};

/// The same in doubles, for row-major parts.
struct Reference {
  std::array<std::vector<double>, attentionParts> parts;

  explicit Reference(Tensors &t) {
    const AttentionShape &s = t.shape;
    for (size_t part = 0; part < attentionParts; ++part)
      parts[part].assign(t.parts[part].size(), 0);
    int64_t batches = 1;
    for (int64_t extent : s.batch)
      batches *= extent;
    for (int64_t b = 0; b < batches; ++b)
      one(t, b);
  }

  void one(Tensors &t, int64_t b) {
    const AttentionShape &s = t.shape;
    const auto at = [&](AttentionPart part, int64_t i, int64_t j) {
      const auto [rows, columns] = s.extents(part);
      return static_cast<size_t>((b * rows + i) * columns + j);
    };
    const auto get = [&](AttentionPart part, int64_t i, int64_t j) -> double {
      return t[part][at(part, i, j)];
    };
    const auto set = [&](AttentionPart part, int64_t i, int64_t j) -> double & {
      return parts[number(part)][at(part, i, j)];
    };
    using enum AttentionPart;
    for (int64_t i = 0; i < s.rows; ++i) {
      std::vector<double> p(static_cast<size_t>(s.keys), -HUGE_VAL);
      double top = -HUGE_VAL, total = 0, inner = 0;
      for (int64_t j = 0; j < s.keys; ++j) {
        if ((s.causal && j > i) || (s.mask == DType::i1 && !t.choices[at(mask, i, j)]))
          continue;
        double score = 0;
        for (int64_t e = 0; e < s.features; ++e)
          score += get(q, i, e) * get(k, j, e);
        p[static_cast<size_t>(j)] = score * s.scale + (s.mask == DType::f32 ? get(mask, i, j) : 0);
        top = std::max(top, p[static_cast<size_t>(j)]);
      }
      for (double &score : p)
        total += score = top == -HUGE_VAL ? 0 : std::exp(score - top);
      set(lse, i, 0) = top + std::log(total);
      for (int64_t e = 0; e < s.values; ++e) {
        for (int64_t j = 0; j < s.keys && total > 0; ++j)
          set(out, i, e) += p[static_cast<size_t>(j)] / total * get(v, j, e);
        inner += set(out, i, e) * get(grad, i, e);
      }
      for (int64_t j = 0; j < s.keys && total > 0; ++j) {
        const double probability = p[static_cast<size_t>(j)] / total;
        double dp = 0;
        for (int64_t e = 0; e < s.values; ++e) {
          dp += get(grad, i, e) * get(v, j, e);
          set(dv, j, e) += probability * get(grad, i, e);
        }
        const double ds = probability * (dp - inner) * s.scale;
        for (int64_t e = 0; e < s.features; ++e) {
          set(dq, i, e) += ds * get(k, j, e);
          set(dk, j, e) += ds * get(q, i, e);
        }
      }
    }
  }
};

constexpr AttentionPart results[] = {AttentionPart::out, AttentionPart::lse, AttentionPart::dq,
                                     AttentionPart::dk, AttentionPart::dv};

void expect_near(Tensors &found, const Reference &expected, double tolerance) {
  for (AttentionPart part : results) {
    const std::vector<double> &right = expected.parts[number(part)];
    double largest = 1;
    for (double value : right)
      largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
    for (size_t i = 0; i < right.size(); ++i)
      if (!(right[i] == found[part][i] || std::fabs(right[i] - found[part][i]) <= tolerance * largest)) {
        ADD_FAILURE() << "part " << number(part) << ", element " << i << ": " << found[part][i]
                      << ", expected " << right[i];
        return;
      }
  }
}

TEST(Attention, AgreesWithDoubles) {
  const int64_t sizes[][4] = {{1, 1, 1, 1},     {5, 7, 8, 6},       {33, 130, 16, 16}, {70, 300, 17, 5},
                              {64, 64, 32, 32}, {129, 257, 64, 48}, {200, 10, 40, 8},  {31, 128, 80, 16},
                              {1, 300, 32, 32}, {4, 257, 64, 48},   {3, 16, 17, 5}};
  uint32_t seed = 1;
  for (const auto &[rows, keys, features, values] : sizes)
    for (bool causal : {false, true})
      for (std::optional<DType> mask :
           {std::optional<DType>(), std::optional(DType::i1), std::optional(DType::f32)})
        for (const std::vector<int64_t> &batch : {std::vector<int64_t>{}, {2, 1}, {17}}) {
          if ((batch.size() == 1 && rows * keys > 10000) || weft::testing::passedOver())
            continue;
          SCOPED_TRACE(::testing::Message() << rows << " rows, " << keys << " keys, " << features << ", "
                                            << values << (causal ? ", causal" : "") << ", mask "
                                            << mask.has_value() << ", batch dimensions " << batch.size());
          Tensors t(shape_of(batch, rows, keys, features, values, causal, false, mask), seed++);
          t.run();
          expect_near(t, Reference(t), 3e-6);
        }
}

// A row that sees no key is 0, its sum of exponentials is empty, and no gradient flows from it.
TEST(Attention, RowsThatSeeNothing) {
  for (std::optional<DType> mask : {std::optional(DType::i1), std::optional(DType::f32)}) {
    Tensors t(shape_of({2}, 40, 150, 16, 16, false, false, mask), 3);
    for (int64_t i : {0, 33, 79})
      for (int64_t j = 0; j < 150; ++j) {
        t.choices[static_cast<size_t>(i * 150 + j)] = 0;
        t[AttentionPart::mask][static_cast<size_t>(i * 150 + j)] = -inf;
      }
    t.run();
    EXPECT_EQ(t[AttentionPart::lse][33], -inf);
    EXPECT_EQ(t[AttentionPart::out][33 * 16], 0);
    EXPECT_EQ(t[AttentionPart::dq][33 * 16], 0);
    expect_near(t, Reference(t), 3e-6);

    Tensors one(shape_of({2}, 1, 150, 16, 16, false, false, mask), 3);
    for (int64_t j = 0; j < 150; ++j) {
      one.choices[static_cast<size_t>(j)] = 0;
      one[AttentionPart::mask][static_cast<size_t>(j)] = -inf;
    }
    one.run();
    EXPECT_EQ(one[AttentionPart::lse][0], -inf);
    EXPECT_EQ(one[AttentionPart::out][0], 0);
    expect_near(one, Reference(one), 3e-6);
  }
}

// Scores for which exp overflows: the running maximum is subtracted first.
TEST(Attention, LargeScores) {
  Tensors t(shape_of({2}, 70, 300, 32, 8, true, false), 5);
  for (float &value : t[AttentionPart::q])
    value *= 60;
  t.run();
  expect_near(t, Reference(t), 3e-4); // the scores are rounded, at magnitudes of hundreds
  for (float value : t[AttentionPart::out])
    ASSERT_TRUE(std::isfinite(value));
}

TEST(Attention, NaNStaysInItsRow) {
  Tensors t(shape_of({1}, 40, 40, 16, 16, false, false), 5);
  t[AttentionPart::q][3 * 16] = NAN;
  t.run();
  for (int64_t i = 0; i < 40; ++i)
    EXPECT_EQ(std::isnan(t[AttentionPart::out][static_cast<size_t>(i * 16)]), i == 3) << i;

  Tensors few(shape_of({1}, 4, 40, 16, 16, false, false), 5);
  few[AttentionPart::q][3 * 16] = NAN;
  few.run();
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(std::isnan(few[AttentionPart::out][static_cast<size_t>(i * 16)]), i == 3) << i;
}

// The bits follow from the extents: not from threads, nor from whether a batch index is one task or many.
TEST(Attention, SameBitsHoweverItIsCut) {
  const AttentionShape shape = shape_of({20}, 100, 300, 32, 24, true, false, DType::f32);
  Tensors alone(shape, 9);
  alone.run(/*serial=*/true);
  for (int width : {1, 2, 5}) {
    const auto pool = make_thread_executor(width);
    set_executor(pool.get());
    Tensors team(shape, 9);
    team.run();
    set_executor(nullptr);
    for (AttentionPart part : results)
      EXPECT_EQ(std::memcmp(team[part].data(), alone[part].data(), 4 * alone[part].size()), 0) << width;
  }
  // One batch index by itself has too few tasks to be one each.
  for (int64_t b : {0, 19}) {
    Tensors one(shape_of({}, 100, 300, 32, 24, true, false, DType::f32), 1);
    for (AttentionPart part :
         {AttentionPart::q, AttentionPart::k, AttentionPart::v, AttentionPart::grad, AttentionPart::mask})
      std::copy_n(alone[part].begin() + b * one.count(part), one.count(part), one[part].begin());
    one.run();
    for (AttentionPart part : results)
      EXPECT_EQ(std::memcmp(one[part].data(), alone[part].data() + b * one.count(part), 4 * one[part].size()),
                0)
          << b << ", part " << number(part);
  }
}

// Heads where a projection wrote them, a mask that repeats: the bits of row-major copies.
TEST(Attention, OperandsWhereTheyLie) {
  const int64_t heads = 3, rows = 50, size = 16;
  const AttentionShape plain = shape_of({2, heads}, rows, rows, size, size, true, false, DType::f32);
  Tensors expected(plain, 11);
  for (int64_t i = 0; i < expected.count(AttentionPart::mask); ++i) // the same row everywhere
    expected[AttentionPart::mask][static_cast<size_t>(i)] = static_cast<float>(i % rows) / 8;
  expected.run();
  AttentionShape shape = plain;
  for (AttentionPart part : {AttentionPart::q, AttentionPart::k, AttentionPart::v, AttentionPart::out,
                             AttentionPart::grad, AttentionPart::dq, AttentionPart::dk, AttentionPart::dv})
    shape.places[number(part)].strides = {rows * heads * size, size, heads * size, 1};
  shape.places[number(AttentionPart::mask)] = {2, {0, 0, 0, 1}};
  Tensors found(shape, 11);
  const auto swapped = [&](const std::vector<float> &from, bool back) {
    std::vector<float> to(from.size());
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t e = 0; e < size; ++e) {
            const auto a = static_cast<size_t>(((b * heads + h) * rows + i) * size + e),
                       c = static_cast<size_t>(((b * rows + i) * heads + h) * size + e);
            to[back ? a : c] = from[back ? c : a];
          }
    return to;
  };
  for (AttentionPart part : {AttentionPart::q, AttentionPart::k, AttentionPart::v, AttentionPart::grad})
    found[part] = swapped(expected[part], false);
  for (int64_t i = 0; i < rows; ++i)
    found[AttentionPart::mask][static_cast<size_t>(i + 2)] = static_cast<float>(i) / 8;
  found.run();
  for (AttentionPart part : results)
    EXPECT_EQ(part == AttentionPart::lse ? found[part] : swapped(found[part], true), expected[part])
        << number(part);
}

// All processor levels of this machine agree, except for the order of sums.
TEST(Attention, EveryLevel) {
  std::vector<const AttentionTable *> tables{&attentionBaseline};
  if (cpu_level() != CpuLevel::baseline)
    tables.push_back(&attentionV3);
  if (cpu_level() == CpuLevel::v4)
    tables.push_back(&attentionV4);
  for (const AttentionTable *table : tables) {
    Tensors t(shape_of({}, 70, 150, 20, 33, true, true, DType::i1), 13);
    AttentionTask task = {};
    task.rows = task.end = 70;
    task.keys = 150;
    task.features = 20;
    task.values = 33;
    task.scale = static_cast<float>(t.shape.scale);
    task.causal = true;
    task.mask_kind = AttentionMask::choice;
    const auto matrix = [&](AttentionPart part) {
      return AttentionMatrix{reinterpret_cast<char *>(t[part].data()), t.shape.extents(part).second, 1};
    };
    task.q = matrix(AttentionPart::q);
    task.k = matrix(AttentionPart::k);
    task.v = matrix(AttentionPart::v);
    task.out = matrix(AttentionPart::out);
    task.lse = matrix(AttentionPart::lse);
    task.grad = matrix(AttentionPart::grad);
    task.dq = matrix(AttentionPart::dq);
    task.dk = matrix(AttentionPart::dk);
    task.dv = matrix(AttentionPart::dv);
    task.mask = {reinterpret_cast<char *>(t.choices.data()), 150, 1};
    std::vector<float> scratch(static_cast<size_t>(
        std::max(attention_forward_floats(20, 33), attention_backward_floats(20, 33, 150)) + 16));
    auto *aligned = scratch.data();
    while (reinterpret_cast<uintptr_t>(aligned) % 64)
      ++aligned;
    task.scratch = aligned;
    const AttentionFunctions &functions = table->functions[static_cast<size_t>(DType::f32)];
    functions.forward(&task);
    functions.backward(&task);
    expect_near(t, Reference(t), 3e-6);
  }
}

// Scratch holds blocks: it does not grow with rows times keys.
TEST(Attention, NoMatrixOfScores) {
  for (int64_t batch : {1, 64})
    for (bool backward : {false, true}) {
      const Attention attention(shape_of({batch}, 16384, 16384, 64, 64, true, backward));
      EXPECT_LT(attention.scratch_bytes(1), size_t(2) << 20);
    }
}

/// A forward launch of a plan: 4 rows, 5 keys, 8 features and values.
PlanBuilder attention_plan() {
  PlanBuilder b("f");
  b.argument("x", DType::f32, {5, 8});
  b.argument("m", DType::i1, {4, 5});
  b.result("y", DType::f32, {4, 8});
  b.plan.arena_bytes = 128;
  const uint32_t x = b.buffer(fb::Storage::argument, 0, 0, 160),
                 m = b.buffer(fb::Storage::argument, 1, 0, 20), y = b.buffer(fb::Storage::result, 0, 0, 128),
                 l = b.buffer(fb::Storage::arena, 0, 64, 16);
  fb::AttentionLaunchT attention;
  attention.dtype = static_cast<uint8_t>(DType::f32);
  attention.mask_dtype = static_cast<uint8_t>(DType::i1);
  attention.rows = 4;
  attention.keys = 5;
  attention.features = attention.values = 8;
  attention.masked = true;
  attention.scale = 1;
  for (const auto &[buffer, row] : {std::pair(x, 8), {x, 8}, {x, 8}, {y, 8}, {l, 1}, {m, 5}}) {
    auto place = std::make_unique<fb::MatrixPlaceT>();
    place->buffer = buffer;
    place->strides = {row, 1};
    attention.places.push_back(std::move(place));
  }
  b.launch("attention").op.Set(std::move(attention));
  return b;
}

TEST(Attention, PlansAreProven) {
  const auto verify = [](const PlanBuilder &builder) {
    const std::vector<std::byte> bytes = builder.bytes();
    const Expected<const fb::Plan *> plan = read_plan(bytes);
    return plan ? verify_plan(**plan, 0, nullptr) : plan.status();
  };
  EXPECT_TRUE(verify(attention_plan()).ok()) << verify(attention_plan()).message();
  const struct {
    const char *message;
    std::function<void(fb::AttentionLaunchT &)> damage;
  } cases[] = {
      {"has no attention of element type number 9", [](auto &a) { a.dtype = 9; }},
      {"has no attention of element type number 77", [](auto &a) { a.dtype = 77; }},
      {"has a mask of element type number 4", [](auto &a) { a.mask_dtype = 4; }},
      {"has extents that are not positive or too large: 0 rows", [](auto &a) { a.rows = 0; }},
      {"extents that are not positive or too large", [](auto &a) { a.keys = int64_t(1) << 62; }},
      {"extents that are not positive or too large", [](auto &a) { a.features = 1025; }},
      {"extents that are not positive or too large", [](auto &a) { a.batch = {-1}; }},
      {"has a scale that is not finite", [](auto &a) { a.scale = HUGE_VAL; }},
      {": q reaches beyond the 160 bytes of buffer 0", [](auto &a) { a.places[0]->offset = 9; }},
      {": k reaches beyond the 160 bytes of buffer 0", [](auto &a) { a.places[1]->strides[0] = 9; }},
      {": k reaches beyond the 160 bytes of buffer 0", [](auto &a) { a.keys = 6; }},
      {": v reaches beyond the 160 bytes of buffer 0", [](auto &a) { a.places[2]->offset = -1; }},
      {": v reaches beyond the 160 bytes of buffer 0", [](auto &a) { a.places[2]->strides[1] = INT64_MAX; }},
      {": q is buffer 17 of 4", [](auto &a) { a.places[0]->buffer = 17; }},
      {": q has misaligned strides, or not 2", [](auto &a) { a.places[0]->strides.push_back(1); }},
      {": out has elements that share memory: stride 7, reach 7",
       [](auto &a) { a.places[3]->strides[0] = 7; }},
      {": mask reaches beyond the 20 bytes of buffer 1", [](auto &a) { a.mask_dtype = 8; }},
      {"has 6 places, expected 5", [](auto &a) { a.masked = false; }},
      {"has no place for mask", [](auto &a) { a.places.pop_back(); }},
      {"has no place for dk",
       [](auto &a) {
         a.backward = true;
         a.places[5]->buffer = 0; // the gradient, in the place of the mask
         a.places[5]->strides = {8, 1};
         a.places.push_back(std::make_unique<fb::MatrixPlaceT>(*a.places[3]));
       }},
      {"what it writes overlaps another of its parts",
       [](auto &a) { a.places[0]->buffer = a.places[3]->buffer; }},
      {"writes argument 0, which is not donated",
       [](auto &a) {
         a.places[3]->buffer = 0;
         for (size_t part : {0, 1, 2})
           a.places[part]->buffer = 2;
         a.keys = 4;
       }},
  };
  for (const auto &c : cases) {
    PlanBuilder damaged = attention_plan();
    c.damage(*damaged.plan.launches[0]->op.AsAttentionLaunch());
    const Status status = verify(damaged);
    ASSERT_FALSE(status.ok()) << c.message;
    EXPECT_EQ(status.code(), "WEFT-L008");
    EXPECT_NE(status.message().find(c.message), std::string::npos)
        << status.message() << "\nexpected " << c.message;
  }
}

} // namespace
