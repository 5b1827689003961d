//===- Settings.cpp - What the environment asks for ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/cudasim/driver/Settings.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>

namespace weft::cusim {
namespace {

std::optional<uint64_t> numberOf(const std::string &text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return {};
  return value;
}

class Reader {
public:
  explicit Reader(Settings &settings) : settings(settings) {}

  std::optional<std::string> text(const char *variable) {
    const char *value = std::getenv(variable);
    return value && *value ? std::optional<std::string>(value) : std::nullopt;
  }
  void number(const char *variable, uint64_t least, uint64_t most, uint64_t &into) {
    std::optional<std::string> value = text(variable);
    if (!value)
      return;
    std::optional<uint64_t> found = numberOf(*value);
    if (!found || *found < least || *found > most)
      return fail(variable, *value, "a number from " + std::to_string(least) + " to " + std::to_string(most));
    into = *found;
  }
  void flag(const char *variable, bool &into) {
    uint64_t value = into;
    number(variable, 0, 1, value);
    into = value;
  }
  void order() {
    std::optional<std::string> value = text("CUSIM_ORDER");
    if (!value || *value == "forward")
      return;
    if (*value == "reverse") {
      settings.order = cudasim::Order::reverse;
      return;
    }
    std::optional<uint64_t> seed = numberOf(*value);
    if (!seed)
      return fail("CUSIM_ORDER", *value, "forward, reverse or a number");
    settings.order = cudasim::Order::shuffled;
    settings.seed = *seed;
  }
  /// FUNCTION:CALL:CODE, and more of them after commas.
  void failures() {
    std::optional<std::string> value = text("CUSIM_FAIL");
    std::istringstream rules(value.value_or(""));
    for (std::string rule; std::getline(rules, rule, ',');) {
      const size_t first = rule.find(':'), second = rule.find(':', first + 1);
      std::optional<uint64_t> call, code;
      if (first != std::string::npos && second != std::string::npos) {
        call = numberOf(rule.substr(first + 1, second - first - 1));
        code = numberOf(rule.substr(second + 1));
      }
      if (!first || !call.value_or(0) || !code)
        return fail("CUSIM_FAIL", rule, "FUNCTION:CALL:CODE with numbers from 1 on, as cuMemAlloc:3:2");
      settings.failures.push_back({rule.substr(0, first), *call, int(*code)});
    }
  }

private:
  void fail(const char *variable, const std::string &value, const std::string &expected) {
    if (settings.problem.empty())
      settings.problem = std::string(variable) + " is '" + value + "': it must be " + expected;
  }
  Settings &settings;
};

Settings read() {
  Settings made;
  Reader reader(made);
  reader.number("CUSIM_DEVICES", 0, 16, made.devices);
  reader.number("CUSIM_CC", 75, 120, made.computeCapability);
  reader.number("CUSIM_MEM", 1, uint64_t(1) << 37, made.memory);
  reader.number("CUSIM_CUBLASLT", 130000, 139999, made.cublasLtRelease);
  reader.flag("CUSIM_RACE", made.race);
  reader.flag("CUSIM_EAGER", made.eager);
  reader.flag("CUSIM_LEAKS", made.leaks);
  reader.number("CUSIM_SPOIL", 1, UINT64_MAX, made.spoiltLaunch);
  reader.number("CUSIM_UNBLOCK", 1, UINT64_MAX, made.unblockedLaunch);
  reader.order();
  reader.failures();
  made.log = reader.text("CUSIM_LOG").value_or("");
  // Set and empty means no device.
  if (const char *visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    made.visibleDevices = visible;
  return made;
}

} // namespace

const Settings &settings() {
  static const Settings made = read();
  return made;
}

std::optional<int> injectedFailure(const std::string &function) {
  const std::vector<InjectedFailure> &rules = settings().failures;
  if (rules.empty())
    return {};
  static std::mutex mutex;
  static std::map<std::string, uint64_t> calls;
  std::lock_guard<std::mutex> lock(mutex);
  const uint64_t call = ++calls[function];
  for (const InjectedFailure &rule : rules)
    if (rule.function == function && rule.call == call)
      return rule.code;
  return {};
}

void writeLog(const std::string &line) {
  if (settings().log.empty())
    return;
  // Driver and wrapper are two libraries that append to one file: a line is one write.
  static std::FILE *const file = [] {
    std::FILE *opened = std::fopen(settings().log.c_str(), "a");
    if (!opened)
      complain("the file '" + settings().log +
               "' that CUSIM_LOG names cannot be written: choose another one");
    return opened;
  }();
  if (!file)
    return;
  std::fputs((line + "\n").c_str(), file);
  std::fflush(file);
}

void complain(const std::string &text) { std::fputs(("cusim: " + text + "\n").c_str(), stderr); }

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

} // namespace weft::cusim
