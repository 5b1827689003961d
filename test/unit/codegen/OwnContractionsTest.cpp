//===- OwnContractionsTest.cpp - No contraction needs a library -----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every contraction of every program under test/ and examples/, with its epilogue, is computed by Weft's own
// kernel, and by the library if that supports it. Operands are multiples of 1/8, so that no sum of products
// is rounded in any order, and the results must have the same bits.
//
//===----------------------------------------------------------------------===//
#include "codegen/Compile.h"
#include "codegen/HostLibrary.h"

#include "ir/Contraction.h"
#include "ir/Parse.h"
#include "runtime/gemm/Contraction.h"
#include "runtime/queue/Buffer.h"
#include "runtime/threads/Executor.h"

#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <bit>
#include <filesystem>
#include <map>
#include <random>

using namespace mlir;

namespace weft::testing {
namespace {

using runtime::ContractionShape;

constexpr const char *own = "weft";

/// A library that supports no contraction, so that Weft's own kernel computes all.
class NoLibrary final : public ir::ContractionLibrary {
public:
  ir::ContractionAnswer ask(const ir::ContractionSignature &) const override {
    return ir::ownAnswer("supports nothing at all");
  }
};

ContractionShape shapeOf(const ir::ContractionSignature &signature, ir::DotGeneralOp dot) {
  ContractionShape shape = codegen::shapeOf(signature);
  shape.bias = dot.getBias() != nullptr;
  shape.residual = dot.getResidual() != nullptr;
  shape.relu = dot.getRelu();
  return shape;
}

/// Collects the contractions of one program, and checks that its text gives none of them to a library.
void collect(StringRef text, const std::string &name, std::map<ContractionShape, std::string> &found) {
  DialectRegistry registry;
  ir::registerDialect(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  auto module = ir::parseModule(context, text, name);
  if (!module)
    return; // many are wrong on purpose
  NoLibrary none;
  ir::CompilerOptions options;
  options.library = &none;
  options.to = "fusion";
  if (!codegen::runPipeline(**module, options))
    return;
  (*module)->walk([&](ir::DotGeneralOp dot) {
    auto function = dot->getParentOfType<ir::FuncOp>();
    // An answer that the text has is not replaced.
    if (ir::LibraryAttr library = dot.getLibraryAttr(); library && !text.contains("weft.library"))
      EXPECT_EQ(library.getName().str(), own) << name;
    if (auto signature = ir::getSignature(dot, ir::rangesOf(function)))
      found.try_emplace(shapeOf(*signature, dot), name);
  });
}

std::map<ContractionShape, std::string> contractionsOfTests() {
  std::map<ContractionShape, std::string> found;
  for (const char *folder : {"/test", "/examples"})
    for (const auto &entry :
         std::filesystem::recursive_directory_iterator(std::string(WEFT_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".mlir")
        continue;
      auto buffer = llvm::MemoryBuffer::getFile(entry.path().string());
      if (!buffer || !(*buffer)->getBuffer().contains("weft.dot_general"))
        continue;
      SmallVector<StringRef> parts;
      (*buffer)->getBuffer().split(parts, "// -----");
      for (StringRef part : parts)
        collect(part, entry.path().filename().string(), found);
    }
  return found;
}

int64_t reach(const std::array<int64_t, 3> &strides, int64_t x, int64_t y, int64_t z) {
  return std::max<int64_t>(x - 1, 0) * strides[0] + std::max<int64_t>(y - 1, 0) * strides[1] +
         std::max<int64_t>(z - 1, 0) * strides[2] + 1;
}

using Bytes = std::vector<std::byte>;

/// Eighths in [-1, 1], or whole numbers in [-8, 8].
Bytes eighths(DType dtype, int64_t count, std::mt19937 &random) {
  Bytes bytes(static_cast<size_t>(count) * itemsize(dtype));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t whole = static_cast<int64_t>(random() % 17) - 8;
    const float real = static_cast<float>(whole) / 8;
    std::byte *at = bytes.data() + static_cast<size_t>(i) * itemsize(dtype);
    const auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
    switch (dtype) {
    case DType::f64:
      put(static_cast<double>(real));
      break;
    case DType::f32:
      put(real);
      break;
    case DType::f16:
      put(static_cast<_Float16>(real));
      break;
    case DType::bf16: // eighths have few enough bits to be cut off
      put(static_cast<uint16_t>(std::bit_cast<uint32_t>(real) >> 16));
      break;
    default:
      std::memcpy(at, &whole, itemsize(dtype));
    }
  }
  return bytes;
}

struct Operands {
  Bytes a, b, bias, residual;
  size_t result;
  explicit Operands(const ContractionShape &s) {
    std::mt19937 random(7);
    a = eighths(s.dtype, reach(s.a_strides, s.batch, s.m, s.k), random);
    b = eighths(s.dtype, reach(s.b_strides, s.batch, s.k, s.n), random);
    bias = eighths(s.dtype, std::max<int64_t>(s.n, 1), random);
    const int64_t count = s.batch * s.m * s.n;
    residual = eighths(s.dtype, std::max<int64_t>(count, 1), random);
    result = static_cast<size_t>(count) * itemsize(s.dtype);
  }
  Bytes run(const runtime::Contraction &contraction) const {
    Bytes c(result, std::byte{0x5a});
    const auto scratch =
        runtime::Buffer::allocate(contraction.scratch_bytes(runtime::executor().width())).value_or_throw();
    const Status status =
        contraction.run({a.data(), b.data(), c.data(), bias.data(), residual.data(), scratch->data()});
    EXPECT_TRUE(status.ok()) << status.message();
    return c;
  }
};

/// The same in plain loops, of f32 and f64.
template <typename T> Bytes plain(const ContractionShape &s, const Operands &operands) {
  const auto get = [](const Bytes &bytes, int64_t i) {
    return static_cast<double>(reinterpret_cast<const T *>(bytes.data())[i]);
  };
  Bytes c(operands.result);
  int64_t at = 0;
  for (int64_t x = 0; x < s.batch; ++x)
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j, ++at) {
        double sum = 0;
        for (int64_t p = 0; p < s.k; ++p)
          sum += get(operands.a, x * s.a_strides[0] + i * s.a_strides[1] + p * s.a_strides[2]) *
                 get(operands.b, x * s.b_strides[0] + p * s.b_strides[1] + j * s.b_strides[2]);
        sum += (s.bias ? get(operands.bias, j) : 0) + (s.residual ? get(operands.residual, at) : 0);
        reinterpret_cast<T *>(c.data())[at] = static_cast<T>(s.relu ? std::max(sum, 0.0) : sum);
      }
  return c;
}

TEST(OwnContractions, AllOfTheTestsAreWhatTheLibraryComputes) {
  const auto all = contractionsOfTests();
  size_t byLibrary = 0, byLoops = 0;
  for (const auto &[shape, name] : all) {
    SCOPED_TRACE(name + ": " + std::to_string(shape.batch) + " x " + std::to_string(shape.m) + " x " +
                 std::to_string(shape.n) + " x " + std::to_string(shape.k) + " of " +
                 std::string(weft::name(shape.dtype)) + (shape.bias ? ", bias" : "") +
                 (shape.residual ? ", residual" : "") + (shape.relu ? ", relu" : ""));
    const double operations = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                              static_cast<double>(shape.n) * static_cast<double>(shape.k);
    if (operations > 1e8 || shape.k > (1 << 18))
      continue; // a limit of something else, whose operands are never made
    const auto made = runtime::Contraction::make(
        shape, runtime::Contraction::select(shape, {.library = own}).value_or_throw());
    ASSERT_TRUE(made.ok()) << made.status().message();
    ASSERT_TRUE((*made)->implementation().starts_with(own)) << (*made)->implementation();
    const Operands operands(shape);
    const Bytes result = operands.run(**made);
    if (const auto library = runtime::Contraction::make_library(shape)) {
      ++byLibrary;
      EXPECT_TRUE(result == operands.run(**library)) << (*library)->implementation();
    }
    if (operations < 1e6 && (shape.dtype == DType::f32 || shape.dtype == DType::f64)) {
      ++byLoops;
      EXPECT_TRUE(result == (shape.dtype == DType::f32 ? plain<float>(shape, operands)
                                                       : plain<double>(shape, operands)));
    }
  }
  std::printf("%zu contractions, %zu against the library, %zu against plain loops\n", all.size(), byLibrary,
              byLoops);
  EXPECT_GT(all.size(), 30u);
  EXPECT_GT(byLibrary, 20u);
  EXPECT_GT(byLoops, 20u);
}

} // namespace
} // namespace weft::testing
