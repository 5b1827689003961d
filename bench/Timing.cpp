//===- Timing.cpp - Measuring contenders in turn --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

namespace weft::bench {

double milliseconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

double median(std::vector<double> values) {
  if (values.empty())
    return NAN;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double Samples::median() const { return bench::median(ms); }
double Samples::min() const { return *std::min_element(ms.begin(), ms.end()); }

std::string number(double value) {
  if (!std::isfinite(value))
    return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (const char c : text) {
    char code[8];
    if (c == '"' || c == '\\')
      (result += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      std::snprintf(code, sizeof code, "\\u%04x", c), result += code;
    else
      result += c;
  }
  return result + "\"";
}

std::string Samples::json() const {
  std::string text =
      "{\"ms\": " + number(median()) + ", \"min_ms\": " + number(min()) + ", \"samples_ms\": [";
  for (size_t i = 0; i < ms.size(); ++i)
    text += (i ? ", " : "") + number(ms[i]);
  return text + "]}";
}

namespace {

double one_block(const Contender &contender, int calls, bool each) {
  std::vector<double> times;
  const double start = milliseconds_now();
  double last = start;
  for (int i = 0; i < calls; ++i) {
    contender.call();
    if (each) {
      const double now = milliseconds_now();
      times.push_back(now - last);
      last = now;
    }
  }
  if (contender.wait)
    contender.wait();
  return each ? median(std::move(times)) : (milliseconds_now() - start) / calls;
}

} // namespace

std::vector<Samples> alternate(const std::vector<Contender> &contenders, Schedule schedule) {
  constexpr int mostCalls = 20000;
  std::vector<Samples> results;
  std::vector<char> each;
  for (const Contender &contender : contenders) {
    one_block(contender, 3, false);
    const double once =
        std::max(std::min(one_block(contender, 1, false), one_block(contender, 2, false)), 1e-5);
    results.push_back(
        {contender.name, {}, std::clamp(static_cast<int>(schedule.block_ms / once), 1, mostCalls)});
    each.push_back(once >= 1 && !contender.wait);
  }
  for (int turn = 0; turn < schedule.alternations; ++turn)
    for (size_t k = 0; k < contenders.size(); ++k) {
      const size_t i = (k + static_cast<size_t>(turn)) % contenders.size();
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
      one_block(contenders[i], 1, false);
      results[i].ms.push_back(one_block(contenders[i], results[i].calls, each[i]));
    }
  return results;
}

} // namespace weft::bench
