//===- Record.cpp - Programs with their values, for other machines --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Record.h"
#include "GpuBackend.h"
#include "Inputs.h"

#include "test/gpu/RecordedCase.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace weft::randomtest {

static std::vector<std::byte> bytesOf(const ir::Literal &literal) {
  std::vector<std::byte> bytes(static_cast<size_t>(literal.count()) * itemsize(literal.dtype));
  literal.toBytes(bytes.data());
  return bytes;
}

Status recordProgram(const std::string &path, ModuleOp module, ArrayRef<ir::Literal> inputs, uint64_t seed,
                     ArrayRef<Bounded> results) {
  testing::RecordedCase recorded;
  const ir::GeneratorState state = makeGenerators(seed).generators[kGenerator];
  recorded.key = state.key;
  recorded.counter = state.counter;
  for (const ir::Literal &input : inputs)
    recorded.arguments.push_back(bytesOf(input));
  const std::vector<bool> unknown = unknownResults(module);
  for (auto [i, result] : llvm::enumerate(results))
    recorded.results.push_back(
        {result.value.dtype, bytesOf(result.value), result.error, i < unknown.size() && unknown[i]});
  if (!recorded.write(path + ".case"))
    return Status::error("cannot write '" + path + ".case'");
  std::error_code error;
  llvm::raw_fd_ostream file(path + ".mlir", error);
  if (error)
    return Status::error("cannot write '" + path + ".mlir': " + error.message());
  file << module << "\n";
  return {};
}

} // namespace weft::randomtest
