//===- OpFactsTest.cpp - What ops state about themselves ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/OpFacts.h"
#include "ir/Dialect.h"
#include "ir/Parse.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace weft::ir;

namespace {

struct Facts : ::testing::Test {
  Facts() : context(registry()) { context.loadDialect<WeftDialect>(); }
  static DialectRegistry registry() {
    DialectRegistry made;
    registerDialect(made);
    return made;
  }
  /// The first op of this name in a function on `%x` and `%i`.
  Operation *first(const std::string &body, StringRef name) {
    const std::string text =
        "#cpu = #weft.device<cpu>\nweft.func @f(%x: tensor<8x4xf32, #cpu>, %i: tensor<3xi64, #cpu>, "
        "%c: tensor<3xi1, #cpu>, %y: tensor<3x4xf32, #cpu>) {\n" +
        body + "\nweft.return\n}\n";
    module = parseSourceString<ModuleOp>(text, &context);
    Operation *found = nullptr;
    if (module)
      module->walk([&](Operation *op) {
        if (!found && op->getName().stripDialect() == name)
          found = op;
      });
    return found;
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

const std::string onX = " : tensor<8x4xf32, #cpu>";

} // namespace

TEST_F(Facts, AnElementwiseOpStatesItsCostAndAccuracy) {
  unsigned ops = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<ElementwiseOp>()) {
      ++ops;
      EXPECT_TRUE(name.hasInterface<CostOp>()) << name.getStringRef().str();
    }
  EXPECT_GT(ops, 50U);
  struct Case {
    const char *name;
    int64_t additions;
    int ulps;
    bool monotone;
  };
  for (const Case &c : {Case{"neg", 1, 0, true}, Case{"sqrt", 8, 0, true}, Case{"exp", 13, 2, true},
                        Case{"sin", 25, 2, false}, Case{"tanh", 15, 5, true}, Case{"isnan", 1, 0, true}}) {
    Operation *op = first("%0 = weft." + std::string(c.name) + " %x" + onX, c.name);
    ASSERT_TRUE(op) << c.name;
    EXPECT_EQ(additionsPerElement(op), c.additions) << c.name;
    EXPECT_EQ(cast<ElementwiseOp>(op).accuracy().ulps, c.ulps) << c.name;
    EXPECT_EQ(cast<ElementwiseOp>(op).accuracy().monotone, c.monotone) << c.name;
  }
  EXPECT_EQ(additionsPerElement(first("%0 = weft.convert %x to f64" + onX, "convert")), 1);
}

TEST_F(Facts, MovingAndAddingUpElementsIsNoArithmetic) {
  EXPECT_EQ(additionsPerElement(first("%0 = weft.transpose %x, perm = [1, 0]" + onX, "transpose")), 0);
  EXPECT_EQ(additionsPerElement(first("%0 = weft.sum %x, dims = [0]" + onX, "sum")), 0);
  auto gather = [&](int64_t dim) {
    return first("%0 = weft.gather %x, %i, dim = " + std::to_string(dim) +
                     ", kind = points : tensor<8x4xf32, #cpu>, tensor<3xi64, #cpu>",
                 "gather");
  };
  EXPECT_EQ(additionsPerElement(gather(0)), 1);  // rows, in one piece
  EXPECT_EQ(additionsPerElement(gather(1)), 10); // lane by lane
}

TEST_F(Facts, WhoMayFailOnValues) {
  auto gather = [&](const std::string &mode) {
    return first("%0 = weft.gather %x, %i, dim = 0, kind = points" + mode +
                     " : tensor<8x4xf32, #cpu>, tensor<3xi64, #cpu>",
                 "gather");
  };
  EXPECT_TRUE(mayFail(gather("")));
  EXPECT_FALSE(mayFail(gather(" mode = clip")));
  EXPECT_FALSE(mayFail(gather(" mode = assume")));
  const auto loss = [&](const std::string &attributes) {
    return first("%l, %s = weft.cross_entropy %y, %i, reduction = mean" + attributes +
                     " : tensor<3x4xf32, #cpu>, tensor<3xi64, #cpu>",
                 "cross_entropy");
  };
  EXPECT_TRUE(mayFail(loss("")));
  EXPECT_FALSE(mayFail(loss(" {weft.targets_in_range}")));
  EXPECT_TRUE(mayFail(first("weft.assert %c, \"no\" : tensor<3xi1, #cpu>", "assert")));
  EXPECT_FALSE(mayFail(first("%0 = weft.exp %x" + onX, "exp")));
  std::vector<std::string> names;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<FallibleOp>())
      names.push_back(name.stripDialect().str());
  llvm::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"assert", "cond", "cross_entropy", "fusion", "gather",
                                             "index_update", "scan", "scatter", "while"}));
}

// Every word of an enumeration is an attribute of the op that has it; no other word is.
TEST_F(Facts, KeywordsBecomeAttributes) {
  EXPECT_EQ(GatherOp::keywordAttr(&context, "kind", "points"),
            GatherKindAttr::get(&context, GatherKind::points));
  EXPECT_EQ(GatherOp::keywordAttr(&context, "mode", "clip"), IndexModeAttr::get(&context, IndexMode::clip));
  EXPECT_EQ(ScatterOp::keywordAttr(&context, "kind", "mul"),
            ScatterKindAttr::get(&context, ScatterKind::mul));
  EXPECT_EQ(IndexUpdateOp::keywordAttr(&context, "mode", "assume"),
            IndexModeAttr::get(&context, IndexMode::assume));
  EXPECT_EQ(CrossEntropyOp::keywordAttr(&context, "reduction", "sum"),
            ReductionKindAttr::get(&context, ReductionKind::sum));
  EXPECT_FALSE(GatherOp::keywordAttr(&context, "kind", "mul"));
  EXPECT_FALSE(GatherOp::keywordAttr(&context, "reduction", "sum"));
}
