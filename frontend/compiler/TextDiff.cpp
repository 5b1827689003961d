//===- TextDiff.cpp - Differences of two texts ----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiler/TextDiff.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

namespace weft::frontend {

static std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// A line without the numbers of its values.
static std::string unnumbered(std::string_view line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    text += line[i];
    if (line[i] == '%')
      while (i + 1 < line.size() && std::isdigit(static_cast<unsigned char>(line[i + 1])))
        ++i;
  }
  return text;
}

/// E. W. Myers, "An O(ND) difference algorithm and its variations", 1986: finds the smallest set of lines
/// that differ. Empty if more than `most` differ.
static std::vector<DiffLine> shortest(const std::vector<int> &a, const std::vector<int> &b,
                                      const std::vector<std::string_view> &oldLines,
                                      const std::vector<std::string_view> &newLines, int most) {
  const int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  most = std::min(most, n + m);
  // For each diagonal x - y, the furthest x that is reached with d differing lines. `steps` keeps these to
  // trace the path back.
  std::vector<int> furthest(2 * static_cast<size_t>(most) + 3, 0);
  std::vector<std::vector<int>> steps;
  const auto at = [&](std::vector<int> &of, int64_t d, int64_t k) -> int & {
    return of[static_cast<size_t>(k + d + 1)];
  };
  const auto end = [&](int64_t k) -> int & { return furthest[static_cast<size_t>(k + most + 1)]; };
  bool found = false;
  for (int d = 0; d <= most && !found; ++d) {
    for (int k = -d; k <= d && !found; k += 2) {
      int x = k == -d || (k != d && end(k - 1) < end(k + 1)) ? end(k + 1) : end(k - 1) + 1;
      for (int y = x - k; x < n && y < m && a[static_cast<size_t>(x)] == b[static_cast<size_t>(y)]; ++y)
        ++x;
      end(k) = x;
      found = x >= n && x - k >= m;
    }
    std::vector<int> &kept = steps.emplace_back(static_cast<size_t>(2 * d + 3));
    for (int k = -d - 1; k <= d + 1; ++k)
      if (k + most + 1 >= 0 && k + most + 1 < static_cast<int>(furthest.size()))
        at(kept, d, k) = end(k);
  }
  if (!found)
    return {};
  std::vector<DiffLine> lines;
  int x = n, y = m;
  for (int d = static_cast<int>(steps.size()) - 1; d >= 0; --d) {
    const int k = x - y;
    int fromX = 0, fromY = 0;
    if (d > 0) {
      std::vector<int> &before = steps[static_cast<size_t>(d - 1)];
      const bool down = k == -d || (k != d && at(before, d - 1, k - 1) < at(before, d - 1, k + 1));
      const int fromK = down ? k + 1 : k - 1;
      fromX = at(before, d - 1, fromK);
      fromY = fromX - fromK;
    }
    while (x > fromX && y > fromY) {
      --x, --y;
      lines.push_back({' ', newLines[static_cast<size_t>(y)]});
    }
    if (d == 0)
      break;
    if (y > fromY)
      lines.push_back({'+', newLines[static_cast<size_t>(--y)]});
    else
      lines.push_back({'-', oldLines[static_cast<size_t>(--x)]});
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

std::vector<DiffLine> diffLines(std::string_view before, std::string_view after) {
  const std::vector<std::string_view> oldLines = linesOf(before), newLines = linesOf(after);
  std::unordered_map<std::string, int> numbers;
  const auto numbered = [&](const std::vector<std::string_view> &lines) {
    std::vector<int> ids;
    ids.reserve(lines.size());
    for (std::string_view line : lines)
      ids.push_back(numbers.try_emplace(unnumbered(line), static_cast<int>(numbers.size())).first->second);
    return ids;
  };
  const std::vector<int> a = numbered(oldLines), b = numbered(newLines);
  constexpr int most = 2000;
  std::vector<DiffLine> lines = shortest(a, b, oldLines, newLines, most);
  if (lines.empty()) {
    for (std::string_view line : oldLines)
      lines.push_back({'-', line});
    for (std::string_view line : newLines)
      lines.push_back({'+', line});
  }
  return lines;
}

} // namespace weft::frontend
