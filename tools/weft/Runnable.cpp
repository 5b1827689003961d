//===- Runnable.cpp - A function of a program or package, with inputs --------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Runnable.h"

#include "codegen/Compile.h"
#include "frontend/io/Npz.h"
#include "frontend/io/Safetensors.h"
#include "ir/Dialect.h"
#include "runtime/device/Registry.h"
#include "runtime/execution/StatefulExecutable.h"
#include "runtime/memory/Layout.h"
#include "runtime/plan/State.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>

using namespace mlir;

namespace weft::tool {

/// Random numbers in [-1, 1), or small integers, which are valid indices into most tensors.
static Expected<io::HostArray> randomArray(const runtime::TensorInfo &type, std::mt19937_64 &engine) {
  auto array = io::HostArray::allocate(type.dtype, type.shape);
  if (!array)
    return array.status();
  ir::Literal literal(type.dtype, type.shape);
  for (int64_t i = 0, e = literal.count(); i < e; ++i) {
    auto bits = static_cast<double>(engine() >> 11) * 0x1p-53;
    if (literal.isReal())
      literal.setReal(i, 2 * bits - 1);
    else
      literal.setWhole(i, static_cast<int64_t>(bits * 2));
  }
  literal.toBytes(array->bytes.data());
  return array;
}

std::string typeText(DType dtype, const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + std::string(name(dtype));
}

Expected<std::vector<std::byte>> bytesOf(const runtime::Buffer &buffer) {
  std::vector<std::byte> bytes(buffer.bytes());
  if (Status status = buffer.read(0, bytes); !status)
    return status;
  return bytes;
}

/// The devices on which the request is to run. Without --device, WEFT_DEVICE says so, unless a target with a
/// GPU is asked for, whose devices are then those of the program's names.
static std::string devicesOf(const RunRequest &request) {
  if (!request.device.empty() || !request.target.empty())
    return request.device;
  const char *wanted = std::getenv("WEFT_DEVICE");
  return wanted ? wanted : "";
}

/// A GPU among the devices, which are there; null if there is none.
static runtime::Device *gpuOf(const std::string &devices) {
  const auto named = runtime::parse_named_devices(devices);
  std::vector<std::string> names;
  if (named && !named->all.empty())
    names.push_back(named->all);
  if (named)
    for (const auto &[logical, real] : named->each)
      names.push_back(real);
  for (const std::string &name : names)
    if (const auto device = runtime::open_device(name); device && !(*device)->is_host())
      return *device;
  return nullptr;
}

/// Whether a program has values on another device than the host.
static bool namesDevices(ModuleOp module) {
  const auto isElsewhere = [](Type type) {
    const ir::DeviceAttr device = ir::deviceOf(type);
    return device && !device.isCpu();
  };
  return module
      .walk([&](Operation *op) {
        auto function = dyn_cast<ir::FuncOp>(op);
        const bool found = llvm::any_of(op->getResultTypes(), isElsewhere) ||
                           (function && llvm::any_of(function.getArgumentTypes(), isElsewhere));
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Compiles a program to a package, or opens the file if it is a package. A program of the host moves to the
/// GPU on which it is to run.
static Expected<std::shared_ptr<const runtime::Package>>
packageOf(Program &program, const RunRequest &request, const std::string &devices) {
  const std::string &path = request.path, &target = request.target;
  if (isPackage(path)) {
    if (!target.empty())
      return Status::error("--target is for programs: '" + path +
                           "' is compiled, and its kernels are chosen by "
                           "the processor");
    auto opened = runtime::Package::open(path);
    if (!opened)
      return opened.status();
    return std::shared_ptr<const runtime::Package>(*opened);
  }
  if (Status status = program.read(path); !status)
    return status;
  OwningOpRef<ModuleOp> compiledModule = program.module->clone();
  const runtime::Device *gpu = gpuOf(devices);
  ir::CompilerOptions options;
  options.target = !target.empty() ? target : gpu ? "cpu+" + std::string(gpu->code()) : "cpu";
  std::string problem;
  const auto known = ir::Target::parse(options.target, problem);
  if (known && gpu && known->isHostOnly())
    return Status::error("--target=" + target + " has no kernels for '" + gpu->name() +
                         "': leave --target out, or name cpu+" + std::string(gpu->code()));
  if (known && !known->isHostOnly() && !namesDevices(*compiledModule))
    options.devices = "cuda:0";
  auto compiled = codegen::compileModule(*compiledModule, options);
  if (!compiled)
    return compiled.status();
  auto made = runtime::Package::from_memory(std::move(compiled->package));
  if (!made)
    return made.status();
  return std::shared_ptr<const runtime::Package>(*made);
}

static Status unknownFormat(const std::string &path) {
  return Status::error("'" + path +
                       "' is no file of named arrays: expected a name that ends in .npz or "
                       ".safetensors");
}

Expected<std::vector<io::NamedArray>> readArrays(const std::string &path) {
  if (endsIn(path, ".npz"))
    return io::read_npz(path);
  if (!endsIn(path, ".safetensors"))
    return unknownFormat(path);
  auto file = io::read_safetensors(path);
  if (!file)
    return file.status();
  return std::move(file->tensors);
}

Status writeArrays(const std::string &path, std::span<const io::NamedView> arrays) {
  if (endsIn(path, ".npz"))
    return io::write_npz(path, arrays);
  return endsIn(path, ".safetensors") ? io::write_safetensors(path, arrays) : unknownFormat(path);
}

/// The values of state from a file or the package, by argument. If both have a value, the file's is used.
static Expected<std::vector<std::optional<io::HostArray>>>
stateOf(const runtime::Package &package, const runtime::Signature &signature, const std::string &stateFile) {
  std::vector<std::optional<io::HostArray>> values(signature.arguments.size());
  auto argumentOf = [&](const std::string &name) -> std::optional<size_t> {
    for (size_t i = 0; i < signature.arguments.size(); ++i)
      if (signature.arguments[i].role != runtime::ArgumentRole::argument &&
          signature.arguments[i].name == name)
        return i;
    return std::nullopt;
  };
  auto kept = runtime::read_state(package, signature.function);
  if (!kept)
    return kept.status();
  for (const runtime::StateValue &value : *kept) {
    auto argument = argumentOf(value.name);
    if (!argument)
      return Status::error("package '" + package.source() + "' keeps a value of '" + value.name +
                               "', which is no state of '" + signature.function + "'",
                           "WEFT-L012");
    auto array = io::HostArray::allocate(value.dtype, value.shape);
    if (!array)
      return array.status();
    std::copy(value.bytes.begin(), value.bytes.end(), array->bytes.begin());
    values[*argument] = *std::move(array);
  }
  if (stateFile.empty())
    return values;
  auto arrays = readArrays(stateFile);
  if (!arrays)
    return arrays.status();
  for (io::NamedArray &given : *arrays) {
    auto argument = argumentOf(given.name);
    if (!argument) {
      std::string list;
      for (const runtime::ArgumentInfo &known : signature.arguments)
        if (known.role != runtime::ArgumentRole::argument)
          list += (list.empty() ? "'" : ", '") + known.name + "'";
      return Status::error(stateFile + ": '" + given.name + "' is no state of '" + signature.function +
                           "', which has " + (list.empty() ? "none" : list));
    }
    values[*argument] = std::move(given.array);
  }
  return values;
}

/// Parses the values of symbols, NAME=NUMBER.
static Expected<std::map<std::string, int64_t>> parseSizes(const runtime::Signature &signature,
                                                           const std::vector<std::string> &wanted) {
  std::map<std::string, int64_t> given;
  for (const std::string &text : wanted) {
    const auto [name, number] = llvm::StringRef(text).split('=');
    int64_t value = 0;
    if (number.getAsInteger(10, value))
      return Status::error("--size must be NAME=NUMBER, found '" + text + "'");
    if (llvm::none_of(signature.symbols,
                      [&, &name = name](const auto &symbol) { return symbol.name == name; })) {
      std::string list;
      for (const runtime::SymbolInfo &symbol : signature.symbols)
        list += (list.empty() ? "; it has '" : ", '") + symbol.name + "'";
      return Status::error("'" + signature.function + "' has no symbol '" + name.str() + "'" +
                           (list.empty() ? ": its sizes are numbers" : list));
    }
    if (!given.try_emplace(name.str(), value).second)
      return Status::error("--size gives '" + name.str() + "' twice");
  }
  return given;
}

/// The values of the executable's symbols: the given ones, and for the others those of the inputs' shapes.
static Expected<std::vector<int64_t>> chooseSizes(const runtime::Executable &executable,
                                                  const std::vector<std::string> &wanted,
                                                  const std::vector<std::optional<io::HostArray>> &values) {
  const runtime::Signature &signature = executable.signature();
  auto given = parseSizes(signature, wanted);
  if (!given)
    return given.status();
  std::vector<int64_t> sizes;
  if (given->size() == signature.symbols.size()) {
    for (const runtime::SymbolInfo &symbol : signature.symbols)
      sizes.push_back(given->at(symbol.name));
    return sizes;
  }
  if (!llvm::all_of(values, [](const auto &value) { return value.has_value(); })) {
    auto missing =
        llvm::find_if(signature.symbols, [&](const auto &symbol) { return !given->count(symbol.name); });
    return Status::error("'" + signature.function + "' has the symbol '" + missing->name +
                         "': give its value with --size, or every argument with --input");
  }
  std::vector<std::vector<int64_t>> shapes;
  for (const std::optional<io::HostArray> &value : values)
    shapes.push_back(value->shape);
  auto bound = executable.bind(shapes);
  if (!bound)
    return bound.status();
  for (auto [symbol, size] : llvm::zip_equal(signature.symbols, *bound))
    if (auto it = given->find(symbol.name); it != given->end() && it->second != size)
      return Status::error("'" + symbol.name + "' is " + std::to_string(it->second) + " by --size, and " +
                           std::to_string(size) + " by the inputs' shapes");
  return bound;
}

/// Sets the arguments that are not state to the inputs, in order.
static Status takeInputs(const std::vector<std::string> &inputs, const Runnable &runnable,
                         std::vector<std::optional<io::HostArray>> &values) {
  size_t next = 0, taken = 0;
  for (const std::string &input : inputs) {
    while (next < values.size() && runnable.isState[next])
      ++next;
    if (next == values.size())
      return Status::error("'" + runnable.function + "' takes " + std::to_string(taken) + " arguments, and " +
                           std::to_string(inputs.size()) + " inputs are given");
    auto array = readInput(input);
    if (!array)
      return array.status().context("argument " + std::to_string(next) + ": ");
    values[next++] = *std::move(array);
    ++taken;
  }
  return {};
}

/// The array in memory of the argument's strides. If elements share memory, the array gets the value that is
/// there afterwards.
static Expected<std::shared_ptr<runtime::Buffer>> upload(const runtime::TensorInfo &type,
                                                         io::HostArray &array, runtime::Device &device) {
  auto buffer = runtime::Buffer::allocate(type.bytes, 0, device);
  if (!buffer)
    return buffer.status();
  std::span<const std::byte> bytes = std::span(array.bytes).first(type.strides.empty() ? type.bytes : 0);
  std::vector<std::byte> strided;
  if (!type.strides.empty()) {
    strided.resize(type.bytes);
    runtime::scatter(type.shape, type.strides, itemsize(type.dtype), array.bytes.data(), strided.data());
    runtime::gather(type.shape, type.strides, itemsize(type.dtype), strided.data(), array.bytes.data());
    bytes = strided;
  }
  if (Status status = (*buffer)->write(0, bytes); !status)
    return status;
  return buffer;
}

/// Says which contractions of a package the library of a GPU does not carry out as the package says.
static void noteRefused(const runtime::Executable &executable) {
  size_t count = 0;
  runtime::RefusedContraction first;
  for (runtime::RefusedContraction &refused : executable.refused_contractions())
    if (refused.refuses_candidates && count++ == 0)
      first = std::move(refused);
  if (count > 0)
    std::fprintf(stderr, "weft run: note: kernels of Weft compute %s, first '%s'%s: %s\n",
                 ir::amountText(count, "contraction").c_str(), first.name.c_str(),
                 first.location.empty() ? "" : (" (" + first.location + ")").c_str(), first.refusal.c_str());
}

Expected<std::unique_ptr<Runnable>> makeRunnable(const RunRequest &request) {
  const std::string devices = devicesOf(request);
  if (Status status = runtime::check_device_map(devices); !status)
    return status;
  auto runnable = std::make_unique<Runnable>();
  auto package = packageOf(runnable->program, request, devices);
  if (!package)
    return package.status();
  std::string &function = runnable->function;
  function = request.function;
  // A package has the functions for which it has plans.
  const std::vector<std::string> functions = runtime::package_functions(**package);
  if (!function.empty() && !llvm::is_contained(functions, function))
    return Status::error("'" + request.path + "' has no function '" + function + "'; it has '" +
                             llvm::join(functions, "', '") + "'",
                         "WEFT-L007");
  if (function.empty()) {
    if (functions.size() != 1)
      return Status::error("'" + request.path + "' has " + std::to_string(functions.size()) + " functions (" +
                           llvm::join(functions, ", ") + "); choose one with --function");
    function = functions[0];
  }
  auto opened = runtime::open_named_devices(**package, function, devices);
  if (!opened)
    return opened.status();
  auto executable = runtime::Executable::load(*package, function, nullptr, *opened);
  if (!executable)
    return executable.status();

  auto values = stateOf(**package, (*executable)->signature(), request.stateFile);
  if (!values)
    return values.status();
  for (const auto &value : *values)
    runnable->isState.push_back(value.has_value());
  if (Status status = takeInputs(request.inputs, *runnable, *values); !status)
    return status;
  auto sizes = chooseSizes(**executable, request.sizes, *values);
  if (!sizes)
    return sizes.status();
  for (size_t i = 0; i < sizes->size(); ++i)
    runnable->sizes[(*executable)->signature().symbols[i].name] = (*sizes)[i];
  executable = (*executable)->at(*sizes);
  if (!executable)
    return executable.status();
  noteRefused(**executable);
  const runtime::Signature &signature = (*executable)->signature();
  std::mt19937_64 engine(1);
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const runtime::TensorInfo &type = signature.arguments[i].type;
    if (!(*values)[i]) {
      auto made = randomArray(type, engine);
      if (!made)
        return made.status();
      (*values)[i] = *std::move(made);
    }
    io::HostArray &array = *(*values)[i];
    if (array.dtype != type.dtype || array.shape != type.shape)
      return Status::error("argument " + std::to_string(i) + " of '" + function + "' is " +
                           typeText(type.dtype, type.shape) + ", and the " +
                           (runnable->isState[i] ? "state '" + signature.arguments[i].name + "'" : "input") +
                           " is " + typeText(array.dtype, array.shape));
    auto buffer = upload(type, array, (*executable)->argument_device(i));
    if (!buffer)
      return buffer.status();
    runnable->literals.push_back(ir::Literal::fromBytes(type.dtype, type.shape, array.bytes.data()));
    runnable->buffers.push_back(*std::move(buffer));
  }
  runnable->executable = std::move(*executable);
  return runnable;
}

} // namespace weft::tool
