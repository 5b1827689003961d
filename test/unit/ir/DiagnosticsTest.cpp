//===- DiagnosticsTest.cpp - Diagnostics as failures, and what they quote -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Diagnostics.h"
#include "ir/Parse.h"
#include "ir/Reasons.h"
#include "ir/SourceExcerpt.h"

#include "Support.h"

namespace weft::ir {
namespace {

std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  registerDialect(registry);
  return std::make_unique<mlir::MLIRContext>(registry);
}

TEST(Diagnostics, KeepCodeAndLine) {
  auto context = makeContext();
  DiagnosticCollector said(context.get());
  auto line = mlir::FileLineColLoc::get(context.get(), "net.cpp", 12, 3);
  {
    mlir::InFlightDiagnostic diagnostic = mlir::emitError(line) << "two devices (" << "WEFT-P001" << ")";
    diagnostic.attachNote(mlir::FileLineColLoc::get(context.get(), "net.cpp", 9, 1)) << "one is here";
  }
  mlir::emitError(mlir::UnknownLoc::get(context.get())) << "and more";
  const Status status = said.status("nothing was said");
  EXPECT_EQ(status.message(),
            "net.cpp:12:3: two devices (WEFT-P001)\n  net.cpp:9:1: note: one is here\nand more");
  EXPECT_EQ(status.code(), "WEFT-P001");
  EXPECT_EQ(status.info()->file, "net.cpp");
  EXPECT_EQ(status.info()->line, 12u);
  EXPECT_EQ(status.info()->column, 3u);
  EXPECT_EQ(said.first("nothing").message(), "two devices (WEFT-P001)");
  EXPECT_EQ(said.first("nothing").code(), "WEFT-P001");
}

TEST(Diagnostics, WithoutAWordStillFail) {
  auto context = makeContext();
  const DiagnosticCollector said(context.get());
  EXPECT_TRUE(said.empty());
  EXPECT_EQ(said.status("nothing was said").message(), "nothing was said");
  EXPECT_EQ(said.first("nothing was said").message(), "nothing was said");
}

// A user's name that looks like a reason code is not taken for one.
TEST(Diagnostics, ACodeIsAnArgumentOfItsOwn) {
  auto context = makeContext();
  DiagnosticCollector said(context.get());
  mlir::emitError(mlir::UnknownLoc::get(context.get())) << "there is no function 'WEFT-P001'";
  EXPECT_EQ(said.status("").code(), "");
}

TEST(Diagnostics, OfTextCarryTheirCode) {
  auto context = makeContext();
  auto module = parseModule(*context,
                            "#cpu = #weft.device<cpu>\n#gpu = #weft.device<cuda:0>\n"
                            "weft.func @f(%a: tensor<4xf32, #cpu>, %b: tensor<4xf32, #gpu>) {\n"
                            "  %0 = weft.add %a, %b : tensor<4xf32, #cpu>, tensor<4xf32, #gpu>\n"
                            "  weft.return\n}\n",
                            "mixed.mlir");
  ASSERT_FALSE(module);
  EXPECT_EQ(module.status().code(), "WEFT-P001") << module.status().message();
  EXPECT_EQ(module.status().info()->file, "mixed.mlir") << module.status().message();
  EXPECT_EQ(module.status().info()->line, 4u) << module.status().message();
}

TEST(Diagnostics, QuoteAPieceOfALongLine) {
  auto context = makeContext();
  const std::string text =
      "weft.func @f() { " + std::string(400, ' ') + "weft.nonsense" + std::string(400, ' ') + "}";
  auto module = parseModule(*context, text, "long.mlir");
  ASSERT_FALSE(module);
  const std::string message = module.status().message();
  EXPECT_NE(message.find("weft.nonsense"), std::string::npos) << message;
  size_t begin = 0;
  for (size_t end; (end = message.find('\n', begin)) != std::string::npos; begin = end + 1)
    EXPECT_LE(end - begin, longestExcerpt) << message;
}

TEST(Reasons, EveryCodeHasAFamily) {
  for (const Reason &reason : reasons())
    EXPECT_FALSE(familyName(reason.family()).empty()) << reason.code.str();
}

TEST(SourceExcerpt, OfAShortLineIsTheLine) {
  const SourceExcerpt excerpt = sourceExcerpt("\tint x = y;\r", 6);
  EXPECT_EQ(excerpt.text, " int x = y;");
  EXPECT_EQ(excerpt.caret, 5u);
  EXPECT_EQ(sourceExcerpt("", 1).text, "");
  EXPECT_EQ(sourceExcerpt("abc", 0).caret, 0u);
  EXPECT_EQ(sourceExcerpt("abc", 100).caret, 3u);
  EXPECT_EQ(sourceExcerpt(std::string(longestExcerpt, 'a'), 1).text, std::string(longestExcerpt, 'a'));
}

TEST(SourceExcerpt, KeepsTheColumnInView) {
  std::string line(100000, '.');
  for (size_t column : {size_t(1), size_t(50), size_t(61), size_t(62), size_t(50000), line.size() - 70,
                        line.size() - 1, line.size()}) {
    line[column - 1] = 'X';
    const SourceExcerpt excerpt = sourceExcerpt(line, column);
    line[column - 1] = '.';
    EXPECT_EQ(excerpt.text.size(), longestExcerpt) << column;
    ASSERT_LT(excerpt.caret, excerpt.text.size()) << column;
    EXPECT_EQ(excerpt.text[excerpt.caret], 'X') << column;
  }
  const std::string letters = std::string(60, 'a') + std::string(60, 'b') + std::string(60, 'c');
  EXPECT_EQ(sourceExcerpt(letters, 1).text, std::string(60, 'a') + std::string(57, 'b') + "...");
  EXPECT_EQ(sourceExcerpt(letters, 180).text, "..." + std::string(57, 'b') + std::string(60, 'c'));
}

// A character of several bytes counts once and is never cut.
TEST(SourceExcerpt, CountsCharacters) {
  std::string line;
  for (int i = 0; i < 200; ++i)
    line += "\xC3\xA4";
  const SourceExcerpt excerpt = sourceExcerpt(line, 201);
  EXPECT_EQ(excerpt.text.size(), 3 + 2 * (longestExcerpt - 6) + 3);
  EXPECT_EQ(excerpt.text.substr(0, 5), "...\xC3\xA4");
  EXPECT_EQ(excerpt.text.substr(excerpt.text.size() - 5), "\xC3\xA4...");
  EXPECT_EQ(excerpt.caret, 60u);
}

} // namespace
} // namespace weft::ir
