//===- Runnable.cpp - A function of a program or package, with inputs --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runnable.h"

#include "codegen/Compile.h"

#include <cstring>
#include <random>

using namespace mlir;

namespace weft::tool {

/// Numbers in [-1, 1), or small integers that are valid as an index of most things.
static io::HostArray randomArray(const runtime::TensorInfo &type, std::mt19937_64 &engine) {
  io::HostArray array = io::HostArray::allocate(type.dtype, type.shape).value_or_throw();
  ir::Literal literal(type.dtype, type.shape);
  for (int64_t i = 0, e = literal.count(); i < e; ++i) {
    auto bits = static_cast<double>(engine() >> 11) * 0x1p-53;
    if (literal.isReal())
      literal.setReal(i, 2 * bits - 1);
    else
      literal.setWhole(i, static_cast<int64_t>(bits * 2));
  }
  literal.toBytes(array.bytes.data());
  return array;
}

std::string typeText(DType dtype, const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + std::string(name(dtype));
}

/// The package of a program, or of a file that is one.
static Expected<std::shared_ptr<const runtime::Package>> packageOf(Program &program, const std::string &path,
                                                                   const std::string &target) {
  if (path.size() > 5 && path.substr(path.size() - 5) == ".weft") {
    auto opened = runtime::Package::open(path);
    if (!opened)
      return opened.status();
    return std::shared_ptr<const runtime::Package>(*opened);
  }
  if (Status status = program.read(path); !status)
    return status;
  OwningOpRef<ModuleOp> compiledModule = program.module->clone();
  codegen::CompileOptions options;
  options.pipeline.target = target;
  auto compiled = codegen::compileModule(*compiledModule, options);
  if (!compiled)
    return compiled.status();
  auto made = runtime::Package::from_memory(std::move(compiled->package));
  if (!made)
    return made.status();
  return std::shared_ptr<const runtime::Package>(*made);
}

Expected<std::unique_ptr<Runnable>> makeRunnable(const std::string &path, const std::string &wanted,
                                                 const std::vector<std::string> &inputs,
                                                 const std::string &target) {
  auto runnable = std::make_unique<Runnable>();
  auto package = packageOf(runnable->program, path, target);
  if (!package)
    return package.status();
  std::string &function = runnable->function;
  function = wanted;
  // The functions of a package are what it has plans for.
  std::vector<std::string> functions;
  for (const std::string &section : (*package)->names())
    if (section.rfind("plan.", 0) == 0 && section.size() > 9)
      functions.push_back(section.substr(5, section.size() - 9));
  if (function.empty()) {
    if (functions.size() != 1) {
      std::string list;
      for (const std::string &f : functions)
        list += (list.empty() ? "" : ", ") + f;
      return Status::error("'" + path + "' has " + std::to_string(functions.size()) + " functions (" + list +
                           "); choose one with --function");
    }
    function = functions[0];
  }
  auto executable = runtime::Executable::load(*package, function);
  if (!executable)
    return executable.status();
  const runtime::Signature &signature = (*executable)->signature();

  if (inputs.size() > signature.arguments.size())
    return Status::error("'" + function + "' takes " + std::to_string(signature.arguments.size()) +
                         " arguments, and " + std::to_string(inputs.size()) + " inputs are given");
  std::mt19937_64 engine(1);
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const runtime::TensorInfo &type = signature.arguments[i].type;
    auto array =
        i < inputs.size() ? readInput(inputs[i]) : Expected<io::HostArray>(randomArray(type, engine));
    if (!array)
      return array.status().context("argument " + std::to_string(i) + ": ");
    if (array->dtype != type.dtype || array->shape != type.shape)
      return Status::error("argument " + std::to_string(i) + " of '" + function + "' is " +
                           typeText(type.dtype, type.shape) + ", and the input is " +
                           typeText(array->dtype, array->shape));
    auto buffer = runtime::Buffer::allocate(type.bytes);
    if (!buffer)
      return buffer.status();
    if (type.bytes)
      std::memcpy((*buffer)->data(), array->bytes.data(), type.bytes);
    runnable->literals.push_back(ir::Literal::fromBytes(type.dtype, type.shape, array->bytes.data()));
    runnable->buffers.push_back(*buffer);
  }
  runnable->executable = std::move(*executable);
  return runnable;
}

} // namespace weft::tool
