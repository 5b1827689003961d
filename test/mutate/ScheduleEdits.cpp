//===- ScheduleEdits.cpp --------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ScheduleEdits.h"

#include "codegen/Compile.h"
#include "ir/Parse.h"
#include "ir/Schedule.h"
#include "runtime/execution/Executable.h"
#include "runtime/execution/StatefulExecutable.h"
#include "runtime/memory/CachingAllocator.h"
#include "runtime/package/Package.h"
#include "test/unit/codegen/RandomSchedule.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace mlir;
namespace weft::mutate {

namespace {

using Random = std::mt19937_64;

DialectRegistry registry() {
  DialectRegistry registry;
  ir::registerDialect(registry);
  return registry;
}

std::string printed(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

/// A module in a context of its own, whose diagnostics are not printed to the terminal.
class Parsed {
public:
  explicit Parsed(const std::string &text) : context(registry(), MLIRContext::Threading::DISABLED) {
    context.getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
    auto parsed = ir::parseModule(context, text, "mutated.mlir");
    if (parsed)
      module = std::move(*parsed);
    else
      status = parsed.status();
  }
  Status status;

private:
  MLIRContext context;

public:
  OwningOpRef<ModuleOp> module;
};

/// The launch list of a program and its changed version, or nothing if it has no schedule to change.
std::optional<ScheduleEdit> makeEdit(const std::string &program, Random &random) {
  Parsed parsed(program);
  if (!parsed.status || !codegen::runPipeline(*parsed.module))
    return std::nullopt;
  std::vector<ir::FusionOp> fusions;
  parsed.module->walk([&](ir::FusionOp fusion) {
    if (fusion.getSchedule())
      fusions.push_back(fusion);
  });
  if (fusions.empty())
    return std::nullopt;
  ScheduleEdit edit;
  edit.before = printed(*parsed.module);
  size_t chosen = random() % fusions.size();
  edit.isRight = random() % 3 == 0;
  if (edit.isRight) {
    fusions[chosen].setScheduleAttr(testing::randomSchedule(fusions[chosen], random));
    edit.after = printed(*parsed.module);
    return edit;
  }
  const std::string word = "#weft.schedule<";
  size_t at = edit.before.find(word);
  for (; chosen > 0; --chosen)
    at = edit.before.find(word, at + 1);
  at += word.size();
  const size_t end = edit.before.find('>', at);
  edit.after = edit.before.substr(0, at) + editField(edit.before.substr(at, end - at), random) +
               edit.before.substr(end);
  return edit;
}

/// The outcome of a call: the bytes of its results, or an error message.
struct Outcome {
  bool refused = false; ///< before it ran
  std::string message;
  std::vector<std::vector<std::byte>> results;
};

/// Fills memory with small numbers whose sums are inexact, so that another order of additions gives other
/// bits.
void fill(std::byte *data, const runtime::TensorInfo &type, Random &random) {
  const auto put = [&](size_t i, auto value) { std::memcpy(data + i * sizeof value, &value, sizeof value); };
  const auto real = [&] { return static_cast<double>(random() % 30001) / 10000.0 - 1.5; };
  const size_t count = type.bytes / itemsize(type.dtype);
  for (size_t i = 0; i < count; ++i)
    switch (type.dtype) {
    case DType::f64:
      put(i, real());
      break;
    case DType::f32:
      put(i, static_cast<float>(real()));
      break;
    case DType::f16: // sign, an exponent near that of 1, fraction
      put(i, static_cast<uint16_t>((random() % 2) << 15 | (12 + random() % 4) << 10 | random() % 1024));
      break;
    case DType::bf16:
      put(i, static_cast<uint16_t>((random() % 2) << 15 | (124 + random() % 4) << 7 | random() % 128));
      break;
    case DType::i64:
      put(i, static_cast<int64_t>(random() % 3));
      break;
    case DType::i32:
      put(i, static_cast<int32_t>(random() % 3));
      break;
    case DType::i16:
      put(i, static_cast<int16_t>(random() % 3));
      break;
    default: // bytes
      put(i, static_cast<uint8_t>(random() % (type.dtype == DType::i1 ? 2 : 3)));
    }
}

/// Calls every function of a package. The memory for results is filled with `poison` first, so that an
/// unwritten element is found.
Outcome run(std::shared_ptr<const runtime::Package> package, uint64_t seed, int poison) {
  Outcome outcome;
  const auto refuse = [&](const Status &status) {
    outcome.refused = true;
    outcome.message = status.message();
    return outcome;
  };
  for (const std::string &function : runtime::package_functions(*package)) {
    auto executable = runtime::Executable::load(package, function);
    if (!executable)
      return refuse(executable.status());
    std::vector<int64_t> sizes;
    for (const runtime::SymbolInfo &symbol : (*executable)->signature().symbols)
      sizes.push_back(std::clamp(static_cast<int64_t>(3 + seed % 70), symbol.min, symbol.max));
    executable = (*executable)->at(sizes);
    if (!executable)
      return refuse(executable.status());
    const runtime::Signature &signature = (*executable)->signature();
    std::vector<std::shared_ptr<runtime::Buffer>> arguments, results(signature.results.size()), outputs;
    Random random(seed);
    for (const runtime::ArgumentInfo &argument : signature.arguments) {
      auto buffer = runtime::Buffer::allocate(argument.type.bytes);
      if (!buffer)
        return refuse(buffer.status());
      fill(static_cast<std::byte *>((*buffer)->data()), argument.type, random);
      arguments.push_back(*buffer);
    }
    for (const runtime::ResultInfo &result : signature.results) {
      if (result.tied_to >= 0 || result.is_alias()) {
        outputs.push_back(nullptr);
        continue;
      }
      auto buffer = runtime::Buffer::allocate(result.type.bytes);
      if (!buffer)
        return refuse(buffer.status());
      std::memset((*buffer)->data(), poison, result.type.bytes);
      outputs.push_back(*buffer);
    }
    runtime::RunOptions options;
    options.outputs = outputs;
    Status status = (*executable)->run(arguments, results, options);
    for (size_t i = 0; status.ok() && i < results.size(); ++i)
      status = results[i]->wait();
    (void)runtime::Queue::get_default().synchronize();
    if (!status.ok()) {
      outcome.message = status.message();
      continue;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const auto *data = static_cast<const std::byte *>(results[i]->data());
      outcome.results.emplace_back(data, data + signature.results[i].type.bytes);
    }
  }
  return outcome;
}

/// Compiles a launch list and calls its functions.
Outcome compileAndRun(const std::string &text, uint64_t seed, int poison) {
  Outcome outcome;
  const auto refuse = [&](const Status &status) {
    outcome.refused = true;
    outcome.message = status.message();
    return outcome;
  };
  // Cached memory may have results of an earlier run, which would hide unwritten elements, so it is freed.
  runtime::Queue::trim_all();
  (void)runtime::CachingAllocator::get().empty_cache();
  Parsed parsed(text);
  if (!parsed.status)
    return refuse(parsed.status);
  ir::CompilerOptions options;
  options.threads = 1;
  options.from = "scheduling";
  auto compiled = codegen::compileModule(*parsed.module, options);
  if (!compiled)
    return refuse(compiled.status());
  auto package = runtime::Package::from_memory(std::move(compiled->package));
  if (!package)
    return refuse(package.status());
  return run(*package, seed, poison);
}

} // namespace

std::string editField(const std::string &schedule, Random &random) {
  // Splits "loop, vector = 16, keep = [1, 2]" at commas outside of lists.
  std::vector<std::string> fields(1);
  int depth = 0;
  for (const char c : schedule) {
    depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    if (c == ',' && depth == 0)
      fields.emplace_back();
    else if (c != ' ' || !fields.back().empty())
      fields.back() += c;
  }
  const auto number = [&](const std::string &old) -> std::string {
    const int64_t value = std::strtoll(old.c_str(), nullptr, 10);
    const int64_t others[] = {value + 1,  value - 1, value * 2,       value / 2, 0,  1,  2,
                              value + 64, 64,        value + 16 * 64, 4096,      -1, 17, int64_t(1) << 40};
    return std::to_string(others[random() % std::size(others)]);
  };
  const size_t at = 1 + random() % (fields.size() - 1);
  const char *const kinds[] = {"loop", "row", "column", "multi_tensor", "scan", "update"};
  switch (random() % 10) {
  case 0:
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
    break;
  case 1:
    fields[0] = kinds[random() % std::size(kinds)];
    break;
  case 2:
    if (fields.back() == "streaming")
      fields.pop_back();
    else
      fields.emplace_back("streaming");
    break;
  case 3: {
    const auto &known = ir::scheduleFields();
    fields.push_back(random() % 4 ? known[random() % known.size()].name.str() + " = " + number("64")
                                  : "keep = [" + std::to_string(random() % 6) + "]");
    break;
  }
  default: {
    const size_t equals = fields[at].find(" = ");
    if (equals == std::string::npos)
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
    else if (fields[at][equals + 3] == '[')
      fields[at] = "keep = [" + std::to_string(random() % 6) + "]";
    else
      fields[at] = fields[at].substr(0, equals + 3) + number(fields[at].substr(equals + 3));
  }
  }
  std::string text;
  for (const std::string &field : fields)
    text += (text.empty() ? "" : ", ") + field;
  return text;
}

EditOutcome checkScheduleEdit(const Mutator &mutator, uint64_t seed,
                              const std::function<void(const std::string &)> &keep) {
  Random random(seed * 0x9e3779b97f4a7c15u + 7);
  // Most programs of the test suite can be compiled and called. If one cannot, another one is tried.
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string program = mutator.good(random());
    // The elements of an undef are not defined, so results could differ.
    if (program.find("weft.undef") != std::string::npos)
      continue;
    std::optional<ScheduleEdit> edit = makeEdit(program, random);
    if (!edit)
      continue;
    const Outcome expected = compileAndRun(edit->before, seed, 0x5A);
    if (expected.refused)
      continue;
    keep(edit->after);
    const Outcome found = compileAndRun(edit->after, seed, 0xA5);
    if (found.refused) {
      if (edit->isRight)
        return {"a right schedule is refused: " + found.message, true};
      if (found.message.empty())
        return {"refused without a message", true};
      const llvm::StringRef text = found.message;
      return {text.contains("error of Weft") ? "an internal error: " + found.message : "", true};
    }
    // The call of a large program may be just within this process's limit, and the edit needs some scratch.
    if (llvm::StringRef(found.message).contains("out of memory. Tried to allocate"))
      return {"", true};
    if (found.message != expected.message)
      return {"fails with '" + found.message + "', expected '" + expected.message + "'", false};
    for (size_t i = 0; i < expected.results.size(); ++i)
      for (size_t at = 0; at < expected.results[i].size(); ++at)
        if (found.results[i][at] != expected.results[i][at])
          return {"another schedule gives other bits: result " + std::to_string(i) + " differs at byte " +
                      std::to_string(at) + " of " + std::to_string(expected.results[i].size()),
                  false};
    return {};
  }
  return {"no program of the corpus has a schedule and can be called", false};
}

} // namespace weft::mutate
