//===- KernelMutants.cpp - A kernel with one mistake each -----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelMutants.h"

#include <algorithm>
#include <regex>

namespace weft::cudasim {

std::string_view nameOf(MutantKind kind) {
  constexpr std::string_view names[] = {"barrier", "mask", "bound", "offset", "predicate"};
  return names[static_cast<size_t>(kind)];
}

namespace {

std::string trimmed(const std::string &text) {
  const size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first, last - first + 1);
}

/// Replaces what a pattern finds, one place at a time. In the replacement, `$1` is a group of the pattern.
struct Rule {
  MutantKind kind;
  std::regex pattern;
  const char *replacement;
  bool ofIndices = false; ///< what is compared must be no value; values have names as v12
};

std::vector<Rule> makeRules() {
  using enum MutantKind;
  std::vector<Rule> rules;
  auto add = [&](MutantKind kind, const char *pattern, std::initializer_list<const char *> replacements) {
    for (const char *each : replacements)
      rules.push_back({kind, std::regex(pattern), each});
  };
  add(barrier, R"(__sync(threads|warp)\([^)]*\);)", {""});
  add(barrier, R"(\bweft_commit\(\);)", {""});
  add(barrier, R"(\bweft_wait<([^>]*)>\(\);)", {"", "weft_wait<$1 + 1>();"});

  add(mask, R"((weft_(?:later|earlier|of)\(.*, )(\d+)u, (\d+)u\))", {"$1$2u + 1u, $3u)", "$1$2u, $3u / 2u)"});
  add(mask, R"((__shfl_xor_sync\()0xffffffffu)", {"$010x7fffffffu"});
  add(mask, R"(0xffffffffu >> \(32 - group\))", {"0xffffffffu >> (33 - group)"});
  add(mask, R"(% 32 / group \* group)", {"% 32"});

  const char *operand = R"(([\w.)\]]+(?: [-+*/%] \(?\w+\)?)*))";
  auto compare = [&](const std::string &op, std::initializer_list<const char *> replacements) {
    for (const char *each : replacements)
      rules.push_back({bound, std::regex(operand + (" " + op + " ")), each, /*ofIndices=*/true});
  };
  compare("<", {"$1 <= ", "$1 + 1 < "});
  compare("<=", {"$1 < ", "$1 - 1 <= "});
  compare(">", {"$1 >= ", "$1 - 1 > "});
  compare(">=", {"$1 > ", "$1 + 1 >= "});
  add(bound, R"((\bm(?:in|ax)\(.*, (?:\((?:long long|index)\))?)(-?\d+)((?:u|ull|ll)?\)))",
      {"$1$2 + 1$3", "$1$2 - 1$3"});

  add(offset, R"((\b(?:s\d+|tiles_?[ABkvab]|tileOf[AB]|tile|scores|own_[qab]|shifts|inner)) \+ )",
      {"$1 + 1 + "});
  add(offset, R"((\b(?:s\d+|tiles[AB]|tileOf[AB]|scores|shifts|inner)\[))", {"$011 + "});
  add(offset, R"(\((shared\d+) \+ )", {"($1 + 16 + "});

  add(predicate, R"(\bif \((.*)\)( \{)?$)", {"if (true)$2", "if (false)$2"});
  add(predicate, R"(([^!]= |\()(v\d+|a\d+) \? )", {"$1true ? ", "$1false ? "});
  add(predicate, R"(const bool (v\d+) = (v\d+) [&|] (v\d+);)",
      {"const bool $1 = $2;", "const bool $1 = $3;"});
  add(predicate, R"(const bool (v\d+) = !(v\d+);)", {"const bool $1 = $2;"});
  rules.push_back({predicate, std::regex(operand + std::string(" == ")), "$1 != ", /*ofIndices=*/true});
  return rules;
}

/// Whether a mutant ends a loop later.
bool endsLater(const std::string &replacement) { return replacement == "$1 <= "; }

class Reader {
public:
  explicit Reader(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      lines.emplace_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  std::vector<KernelMutant> mutants(bool functions);

private:
  void apply(const Rule &rule, size_t number);
  bool isCode(const std::string &line) const {
    return !line.empty() && line[0] != '#' && !line.starts_with("//") && !line.starts_with("template <") &&
           line.find("asm") == std::string::npos && line.find("if constexpr") == std::string::npos;
  }

  std::vector<std::string> lines;
  std::vector<KernelMutant> made;
};

void Reader::apply(const Rule &rule, size_t number) {
  static const std::regex values(R"((\bv\d+(\[[^\]]*\])?|\bvalue) \S+ $)");
  const std::string &line = lines[number];
  // A loop over registers that ends later reads none that there is.
  const bool unrolled =
      number > 0 && trimmed(lines[number - 1]) == "#pragma unroll" && line.find("for (") != std::string::npos;
  if (unrolled && endsLater(rule.replacement))
    return;
  for (std::sregex_iterator match(line.begin(), line.end(), rule.pattern), end; match != end; ++match) {
    const std::string until = line.substr(0, static_cast<size_t>(match->position() + match->length()));
    if (rule.ofIndices && std::regex_search(until, values))
      continue;
    const std::string mutant = line.substr(0, static_cast<size_t>(match->position())) +
                               match->format(rule.replacement) + match->suffix().str();
    KernelMutant &one = made.emplace_back();
    one.kind = rule.kind;
    one.line = number + 1;
    one.before = trimmed(line);
    one.after = trimmed(mutant);
    for (size_t each = 0; each < lines.size(); ++each)
      (one.text += each == number ? mutant : lines[each]) += '\n';
  }
}

std::vector<KernelMutant> Reader::mutants(bool functions) {
  const std::vector<Rule> rules = makeRules();
  const std::regex moves(
      R"(\bweft_(load|store|later|earlier|of|copy|wait|commit|fetch|exchange|own|other|column|row|scores?|accumulate|write|statistics)\w*\()"),
      function(R"(^(static |template <.*> )?__device__ .* weft_\w+\()");
  bool skips = false;
  for (size_t number = 0; number < lines.size(); ++number) {
    const std::string &line = lines[number];
    skips = skips && line != "}";
    if (std::regex_search(line, function))
      skips = !functions || !std::regex_search(line, moves);
    if (skips || !isCode(trimmed(line)))
      continue;
    for (const Rule &rule : rules)
      apply(rule, number);
  }
  return std::move(made);
}

} // namespace

std::vector<KernelMutant> mutantsOf(std::string_view text, bool functions) {
  return Reader(text).mutants(functions);
}

} // namespace weft::cudasim
