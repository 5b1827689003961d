//===- Runnable.cpp - A function of a program or package, with inputs --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runnable.h"

#include "codegen/Compile.h"
#include "runtime/Layout.h"

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

/// The values of the executable's symbols: those that are given, or what the shapes of all inputs say.
static Expected<std::vector<int64_t>> chooseSizes(const runtime::Executable &executable,
                                                  const std::vector<std::string> &wanted,
                                                  const std::vector<io::HostArray> &inputs) {
  const runtime::Signature &signature = executable.signature();
  std::map<std::string, int64_t> given;
  for (const std::string &text : wanted) {
    size_t equals = text.find('=');
    char *end = nullptr;
    long long value = equals == std::string::npos ? 0 : std::strtoll(text.c_str() + equals + 1, &end, 10);
    if (!end || *end || end == text.c_str() + equals + 1)
      return Status::error("--size takes NAME=NUMBER, found '" + text + "'");
    given[text.substr(0, equals)] = value;
  }
  std::vector<int64_t> sizes;
  for (const runtime::SymbolInfo &symbol : signature.symbols) {
    auto it = given.find(symbol.name);
    if (it == given.end())
      break;
    sizes.push_back(it->second);
    given.erase(it);
  }
  if (sizes.size() == signature.symbols.size() && given.empty())
    return sizes;
  if (!given.empty())
    return Status::error("'" + signature.function + "' has no symbol '" + given.begin()->first + "'" +
                         (signature.symbols.empty() ? ": its sizes are numbers" : ""));
  if (inputs.size() < signature.arguments.size())
    return Status::error("'" + signature.function + "' has the symbol '" +
                         signature.symbols[sizes.size()].name +
                         "': give its value with --size, or every argument with --input");
  std::vector<std::vector<int64_t>> shapes;
  for (const io::HostArray &input : inputs)
    shapes.push_back(input.shape);
  return executable.bind(shapes);
}

Expected<std::unique_ptr<Runnable>> makeRunnable(const std::string &path, const std::string &wanted,
                                                 const std::vector<std::string> &givenInputs,
                                                 const std::string &target,
                                                 const std::vector<std::string> &givenSizes) {
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

  std::vector<io::HostArray> inputs;
  for (const std::string &input : givenInputs) {
    auto array = readInput(input);
    if (!array)
      return array.status().context("argument " + std::to_string(inputs.size()) + ": ");
    inputs.push_back(*std::move(array));
  }
  if (size_t count = (*executable)->signature().arguments.size(); inputs.size() > count)
    return Status::error("'" + function + "' takes " + std::to_string(count) + " arguments, and " +
                         std::to_string(inputs.size()) + " inputs are given");
  auto sizes = chooseSizes(**executable, givenSizes, inputs);
  if (!sizes)
    return sizes.status();
  for (size_t i = 0; i < sizes->size(); ++i)
    runnable->sizes[(*executable)->signature().symbols[i].name] = (*sizes)[i];
  executable = (*executable)->at(*sizes);
  if (!executable)
    return executable.status();
  const runtime::Signature &signature = (*executable)->signature();
  std::mt19937_64 engine(1);
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const runtime::TensorInfo &type = signature.arguments[i].type;
    io::HostArray array = i < inputs.size() ? std::move(inputs[i]) : randomArray(type, engine);
    if (array.dtype != type.dtype || array.shape != type.shape)
      return Status::error("argument " + std::to_string(i) + " of '" + function + "' is " +
                           typeText(type.dtype, type.shape) + ", and the input is " +
                           typeText(array.dtype, array.shape));
    auto buffer = runtime::Buffer::allocate(type.bytes);
    if (!buffer)
      return buffer.status();
    auto *memory = static_cast<std::byte *>((*buffer)->data());
    if (!type.strides.empty()) {
      // There and back: elements that share memory are one value for everybody.
      runtime::scatter(type.shape, type.strides, itemsize(type.dtype), array.bytes.data(), memory);
      runtime::gather(type.shape, type.strides, itemsize(type.dtype), memory, array.bytes.data());
    } else if (type.bytes) {
      std::memcpy(memory, array.bytes.data(), type.bytes);
    }
    runnable->literals.push_back(ir::Literal::fromBytes(type.dtype, type.shape, array.bytes.data()));
    runnable->buffers.push_back(*buffer);
  }
  runnable->executable = std::move(*executable);
  return runnable;
}

} // namespace weft::tool
