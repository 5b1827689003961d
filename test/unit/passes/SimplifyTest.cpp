//===- SimplifyTest.cpp - Rewrites keep every value -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Testing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

using namespace weft;
using namespace weft::testing;

namespace {

/// Random programs of the ops that rules look for, on values with every kind of special number, before and
/// after the pass: bits agree but for NaNs, which agree in being NaN.
class Generator {
public:
  explicit Generator(uint32_t seed) : random(seed) {}

  std::string text() {
    body.clear();
    values = {{"%a", {4, 6}}, {"%b", {4, 6}}, {"%c", {4}}, {"%d", {6}}};
    for (int i = 0; i < 24; ++i)
      step();
    std::string names, types;
    for (size_t i = values.size() - 6; i < values.size(); ++i) {
      names += (names.empty() ? "" : ", ") + values[i].name;
      types += (types.empty() ? "" : ", ") + typeText(values[i].shape);
    }
    return "weft.func @f(%a: @4x6@, %b: @4x6@, %c: @4@, %d: @6@) -> (" + types + ") {\n" + body +
           "weft.return " + names + " : " + types + "\n}\n";
  }

private:
  struct Value {
    std::string name;
    std::vector<int64_t> shape;
  };

  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); }
  template <typename T> T oneOf(std::initializer_list<T> list) { return *(list.begin() + pick(list.size())); }
  const std::string &emit(const std::string &op, const std::vector<int64_t> &shape) {
    std::string name = "%v" + std::to_string(values.size());
    body += name + " = weft." + op + "\n";
    values.push_back({name, shape});
    return values.back().name;
  }
  std::string constant(const std::vector<int64_t> &shape) {
    return emit("constant dense<" + oneOf<std::string>({"0.0", "-0.0", "1.0", "-1.0", "2.5", "0.1"}) +
                    "> : " + typeText(shape),
                shape);
  }

  void step() {
    Value x = values[pick(values.size())];
    std::string at = typeText(x.shape);
    auto rank = static_cast<int64_t>(x.shape.size());
    switch (pick(9)) {
    case 0:
      emit(oneOf<std::string>({"neg", "neg", "abs", "floor"}) + " " + x.name + " : " + at, x.shape);
      return;
    case 1:
    case 2: {
      std::string other = constant(x.shape);
      std::string op = oneOf<std::string>({"add", "sub", "mul", "div", "pow"});
      bool swapped = pick(2);
      emit(op + " " + (swapped ? other : x.name) + ", " + (swapped ? x.name : other) + " : " + at, x.shape);
      return;
    }
    case 3: {
      for (size_t i = values.size(); i-- > 0;)
        if (values[i].shape == x.shape && values[i].name != x.name && pick(2)) {
          std::string name = values[i].name;
          emit(oneOf<std::string>({"add", "sub", "mul", "max"}) + " " + x.name + ", " + name + " : " + at,
               x.shape);
          return;
        }
      return;
    }
    case 4: {
      if (rank > 2)
        return;
      std::vector<int64_t> shape(x.shape), dims;
      size_t where = pick(static_cast<size_t>(rank) + 1);
      shape.insert(shape.begin() + static_cast<int64_t>(where), oneOf<int64_t>({1, 2, 3}));
      for (int64_t i = 0; i <= rank; ++i)
        if (i != static_cast<int64_t>(where))
          dims.push_back(i);
      emit("broadcast_in_dim " + x.name + ", dims = " + listText(dims) + " : " + at + " -> " +
               typeText(shape),
           shape);
      return;
    }
    case 5: {
      int64_t count = 1;
      for (int64_t size : x.shape)
        count *= size;
      std::vector<int64_t> shape;
      int64_t divisor = oneOf<int64_t>({1, 2, 3, 4, 6});
      if (count % divisor == 0 && pick(3))
        shape = {divisor, count / divisor};
      else
        shape = {count};
      if (pick(3) == 0)
        shape.insert(shape.begin() + static_cast<int64_t>(pick(shape.size() + 1)), 1);
      emit("reshape " + x.name + " : " + at + " -> " + typeText(shape), shape);
      return;
    }
    case 6: {
      if (rank == 0)
        return;
      std::vector<int64_t> perm, shape;
      for (int64_t i = 0; i < rank; ++i)
        perm.push_back(i);
      std::shuffle(perm.begin(), perm.end(), random);
      for (int64_t dim : perm)
        shape.push_back(x.shape[dim]);
      emit("transpose " + x.name + ", perm = " + listText(perm) + " : " + at, shape);
      return;
    }
    case 7: {
      std::vector<int64_t> dims, shape;
      for (int64_t i = 0; i < rank; ++i)
        if (pick(3) == 0)
          dims.push_back(i);
        else
          shape.push_back(x.shape[i]);
      emit(oneOf<std::string>({"rmax", "rmin"}) + " " + x.name + ", dims = " + listText(dims) + " : " + at,
           shape);
      return;
    }
    default: {
      std::string p = "%p" + std::to_string(values.size());
      std::string i1 = "tensor<" + at.substr(1, at.size() - 2) + (x.shape.empty() ? "" : "x") + "i1, #cpu>";
      body += p + " = weft.constant dense<" + oneOf<std::string>({"true", "false"}) + "> : " + i1 + "\n";
      std::string other = constant(x.shape);
      emit("select " + p + ", " + x.name + ", " + other + " : " + i1 + ", " + at, x.shape);
      return;
    }
    }
  }

  std::mt19937 random;
  std::string body;
  std::vector<Value> values;
};

std::vector<double> specials(size_t count, uint32_t seed) {
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  static const double table[] = {0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 5e-324, -5e-324, 1.7e308, 0.1, -3.5};
  std::mt19937 random(seed);
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(table[random() % std::size(table)]);
  return values;
}

TEST(Simplify, RandomProgramsKeepTheirBits) {
  unsigned changed = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::string text = Generator(seed).text();
    SCOPED_TRACE(text);
    Program original(text), simplified(text);
    ASSERT_TRUE(original.module) << original.messages;
    ASSERT_TRUE(simplified.run(passes::createSimplify())) << simplified.messages;
    ASSERT_TRUE(simplified.run(passes::createCanonicalize())) << simplified.messages;
    size_t before = 0, after = 0;
    original.function("f").walk([&](mlir::Operation *) { ++before; });
    simplified.function("f").walk([&](mlir::Operation *) { ++after; });
    changed += before != after;
    for (uint32_t input = 0; input < 3; ++input) {
      std::vector<ir::Literal> arguments{literal({4, 6}, specials(24, seed * 7 + input)),
                                         literal({4, 6}, specials(24, seed * 11 + input + 1)),
                                         literal({4}, specials(4, seed * 13 + input + 2)),
                                         literal({6}, specials(6, seed * 17 + input + 3))};
      auto expected = original.call("f", arguments), found = simplified.call("f", arguments);
      ASSERT_EQ(expected.size(), 6u);
      ASSERT_EQ(found.size(), 6u);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(expected[i].shape, found[i].shape);
        for (size_t j = 0; j < expected[i].real.size(); ++j) {
          double e = expected[i].real[j], f = found[i].real[j];
          bool same = (std::isnan(e) && std::isnan(f)) || std::memcmp(&e, &f, sizeof e) == 0;
          ASSERT_TRUE(same) << "result " << i << ", element " << j << ": " << e << " became " << f;
        }
      }
    }
  }
  EXPECT_GT(changed, 300u);
}

/// Runs the pass, expects that no result of @f changes for an argument of this shape, and returns the number
/// of reductions that @f has afterwards.
unsigned splitReductionsOf(Program &program, llvm::ArrayRef<int64_t> shape) {
  ir::Literal a(DType::f64, shape);
  for (int64_t i = 0; i < a.count(); ++i)
    a.setReal(i, static_cast<double>((i * 7919) % 1009) - 500);
  const auto before = program.call("f", {a});
  EXPECT_TRUE(program.run(passes::createSplitReductions())) << program.messages;
  unsigned reductions = 0;
  program.function("f").walk(
      [&](mlir::Operation *op) { reductions += llvm::isa<ir::SumOp, ir::RmaxOp, ir::RminOp>(op); });
  const auto after = program.call("f", {a});
  EXPECT_FALSE(before.empty());
  EXPECT_EQ(before.size(), after.size());
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i)
    EXPECT_EQ(before[i].real, after[i].real); // integers below 2^53: every order is exact
  return reductions;
}

// A split sum has the value of the single one, up to the order of its additions; an extreme has it exactly.
TEST(SplitReductions, KeepsTheValue) {
  for (int64_t extent : {32768, 65536, 40000, 34567, 131101, 524288}) {
    std::string in = "@3x" + std::to_string(extent) + "@";
    Program program("weft.func @f(%a: " + in + ") -> (@3@, @3@, @3@) { %s = weft.sum %a, dims = [1] : " + in +
                    " %x = weft.rmax %a, dims = [1] : " + in + " %n = weft.rmin %a, dims = [1] : " + in +
                    " weft.return %s, %x, %n : @3@, @3@, @3@ }");
    ASSERT_TRUE(program.module) << program.messages;
    EXPECT_GE(splitReductionsOf(program, {3, extent}), 6u) << extent;
  }
}

// So has a sum down columns.
TEST(SplitReductions, KeepsTheValueOfColumns) {
  for (auto [outer, rows, inner] : {std::array<int64_t, 3>{1, 8192, 128}, {3, 4100, 96}, {1, 15015, 80}}) {
    std::string in =
        "@" + std::to_string(outer) + "x" + std::to_string(rows) + "x" + std::to_string(inner) + "@";
    std::string out = "@" + std::to_string(outer) + "x" + std::to_string(inner) + "@";
    Program program("weft.func @f(%a: " + in + ") -> (" + out + ", " + out +
                    ") { %s = weft.sum %a, dims = [1] : " + in + " %x = weft.rmin %a, dims = [1] : " + in +
                    " weft.return %s, %x : " + out + ", " + out + " }");
    ASSERT_TRUE(program.module) << program.messages;
    EXPECT_EQ(splitReductionsOf(program, {outer, rows, inner}), 4u) << rows;
  }
}

} // namespace
