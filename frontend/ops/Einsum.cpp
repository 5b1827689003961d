//===- Einsum.cpp - Sums of products in Einstein's notation ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every dimension gets a label: that of its letter, or a number for one of "...", counted from the last. Two
// operands at a time become one by `dot_general`: labels that both have and nothing else needs are
// contracted, those that something else needs are batch dimensions.
//
//===----------------------------------------------------------------------===//
#include "frontend/graph/Symbols.h"
#include "frontend/ops/Ops.h"
#include "weft/linear_algebra.hpp"

#include <algorithm>
#include <map>

namespace weft {

using namespace frontend;

namespace {

/// A letter, or for a dimension of an ellipsis 256 less its distance from the last of these.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 256;

bool has(const Labels &labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::string labelText(Label label) {
  return label < 128 ? std::string(1, static_cast<char>(label)) : "'...'";
}

struct Term {
  Tensor tensor;
  Labels labels; ///< distinct, one a dimension
};

/// The subscripts of one operand, or of the result: letters, and kEllipsis for "...".
Labels parseSubscripts(std::string_view text, Loc loc) {
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ')
      continue;
    if (text.substr(i, 3) == "...") {
      if (has(labels, kEllipsis))
        fail("einsum(): found \"...\" more than once in \"" + std::string(text) + "\"", loc);
      labels.push_back(kEllipsis);
      i += 2;
    } else if ((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z')) {
      labels.push_back(text[i]);
    } else {
      fail("einsum(): invalid subscript '" + std::string(1, text[i]) + "' in \"" + std::string(text) +
               "\": subscripts are letters and \"...\"",
           loc);
    }
  }
  return labels;
}

std::vector<std::string_view> separate(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string_view::npos)
      return parts;
    begin = comma + 1;
  }
}

/// kEllipsis replaced by a label for each of `count` dimensions.
Labels spread(const Labels &labels, int64_t count) {
  Labels result;
  for (Label label : labels) {
    if (label != kEllipsis)
      result.push_back(label);
    for (int64_t i = count; label == kEllipsis && i-- > 0;)
      result.push_back(kEllipsis - static_cast<Label>(i));
  }
  return result;
}

/// One operand with distinct labels: of a letter that occurs twice the diagonal.
Term takeDiagonals(Term term, Loc loc) {
  for (size_t i = 0; i < term.labels.size(); ++i)
    for (size_t j = i + 1; j < term.labels.size();) {
      if (term.labels[i] != term.labels[j]) {
        ++j;
        continue;
      }
      auto first = static_cast<int64_t>(i), second = static_cast<int64_t>(j);
      if (term.tensor.size(first, loc) != term.tensor.size(second, loc))
        fail("einsum(): subscript " + labelText(term.labels[i]) +
                 " is repeated for one operand, but the sizes don't match, " +
                 std::to_string(term.tensor.size(second, loc)) +
                 " != " + std::to_string(term.tensor.size(first, loc)),
             loc, {use(term.tensor, loc)});
      term.tensor = term.tensor.diagonal(0, first, second, loc).movedim(-1, first, loc);
      term.labels.erase(term.labels.begin() + second);
    }
  return term;
}

/// Without the dimensions whose label `dropped` names.
template <typename Predicate> Term sumOver(Term term, Predicate dropped, Loc loc) {
  IntList dims;
  Labels kept;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (dropped(term.labels[i]))
      dims.push_back(static_cast<int64_t>(i));
    else
      kept.push_back(term.labels[i]);
  }
  return dims.empty() ? term : Term{term.tensor.sum(dims, false, loc), kept};
}

Term multiply(const Term &a, const Term &b, const Labels &needed, Loc loc) {
  std::vector<int64_t> batchA, batchB, contractA, contractB;
  Labels labels, freeA, freeB;
  for (size_t i = 0; i < a.labels.size(); ++i) {
    Label label = a.labels[i];
    auto found = std::find(b.labels.begin(), b.labels.end(), label);
    if (found == b.labels.end()) {
      freeA.push_back(label);
      continue;
    }
    bool batch = has(needed, label);
    (batch ? batchA : contractA).push_back(static_cast<int64_t>(i));
    (batch ? batchB : contractB).push_back(found - b.labels.begin());
    if (batch)
      labels.push_back(label);
  }
  for (Label label : b.labels)
    if (!has(a.labels, label))
      freeB.push_back(label);
  labels.insert(labels.end(), freeA.begin(), freeA.end());
  labels.insert(labels.end(), freeB.begin(), freeB.end());
  GraphLock lock(graphMutex());
  return {wrap(record1("dot_general", {use(a.tensor, loc), use(b.tensor, loc)},
                       {{"batch_a", batchA},
                        {"batch_b", batchB},
                        {"contract_a", contractA},
                        {"contract_b", contractB},
                        {"operandSegmentSizes", std::vector<int64_t>{1, 1, 0, 0, 0}}},
                       loc),
               loc),
          labels};
}

/// The output if there is no "->": an ellipsis, then the letters that occur once.
Labels implicitResult(const std::vector<Labels> &inputs, int64_t ellipsis) {
  std::map<Label, int> count;
  for (const Labels &labels : inputs)
    for (Label label : labels)
      ++count[label];
  Labels result = spread({kEllipsis}, ellipsis);
  for (auto [label, times] : count)
    if (label < 128 && times == 1)
      result.push_back(label);
  return result;
}

/// The operands of an equation with the letters of their dimensions.
struct Operands {
  std::vector<Ref> refs;
  std::vector<Labels> labels; ///< of each, with one label for each dimension
  int64_t ellipsis = 0;       ///< the most dimensions that an ellipsis stands for
};

Operands parseOperands(const std::vector<std::string_view> &parts, const std::vector<Tensor> &operands,
                       Loc loc) {
  Operands parsed;
  std::vector<Ref> &refs = parsed.refs;
  for (size_t i = 0; i < parts.size(); ++i) {
    refs.push_back(use(operands[i], loc));
    if (refs[i].spec().dtype != refs[0].spec().dtype)
      fail("einsum(): expected all operands to have the same dtype, but found " +
               std::string(name(refs[0].spec().dtype)) + " and " + std::string(name(refs[i].spec().dtype)),
           loc, {refs[0], refs[i]});
    Labels labels = parseSubscripts(parts[i], loc);
    bool open = has(labels, kEllipsis);
    auto named = static_cast<int64_t>(labels.size()) - open;
    int64_t rank = rankOf(refs[i]);
    if (open ? named > rank : named != rank)
      fail("einsum(): the number of subscripts in the equation (" + std::to_string(named) +
               (open ? ") is more than the number of dimensions ("
                     : ") does not match the number of dimensions (") +
               std::to_string(rank) + ") for operand " + std::to_string(i) +
               (open ? "" : " and no ellipsis was given"),
           loc, {refs[i]});
    if (open)
      parsed.ellipsis = std::max(parsed.ellipsis, rank - named);
    parsed.labels.push_back(spread(labels, rank - named));
  }
  return parsed;
}

/// The letters after "->".
Labels parseResult(std::string_view subscripts, const Operands &operands, Loc loc) {
  Labels output = spread(parseSubscripts(subscripts, loc), operands.ellipsis);
  for (Label label : output) {
    bool known = std::any_of(operands.labels.begin(), operands.labels.end(),
                             [&](const Labels &labels) { return has(labels, label); });
    if (!known)
      fail("einsum(): output subscript " + labelText(label) +
               " does not appear in the equation for any input operand",
           loc);
    if (std::count(output.begin(), output.end(), label) > 1)
      fail("einsum(): output subscript " + labelText(label) + " appears more than once in the output", loc);
  }
  return output;
}

/// The operands, each with every letter at most once. A letter has one size everywhere: a dimension of size 1
/// matches any size, and is dropped if the other size differs.
std::vector<Term> alignedTerms(const std::vector<Tensor> &operands, const Operands &parsed, Loc loc) {
  std::map<Label, int64_t> sizes;
  std::vector<Term> terms;
  for (size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(takeDiagonals({operands[i], parsed.labels[i]}, loc));
    for (size_t d = 0; d < terms[i].labels.size(); ++d) {
      int64_t own = terms[i].tensor.sizes(loc)[d];
      int64_t &size = sizes.try_emplace(terms[i].labels[d], own).first->second;
      if (size != own && size != 1 && own != 1)
        fail("einsum(): subscript " + labelText(terms[i].labels[d]) + " has size " + sizeText(own) +
                 " for operand " + std::to_string(i) +
                 " which does not broadcast with previously seen size " + sizeText(size),
             loc, parsed.refs);
      size = size == 1 ? own : size;
    }
  }
  for (Term &term : terms) {
    IntList single;
    Labels kept;
    for (size_t d = 0; d < term.labels.size(); ++d) {
      if (term.tensor.sizes(loc)[d] == 1 && sizes[term.labels[d]] != 1)
        single.push_back(static_cast<int64_t>(d));
      else
        kept.push_back(term.labels[d]);
    }
    if (!single.empty())
      term = {term.tensor.squeeze(single, loc), kept};
  }
  return terms;
}

/// The product of the terms from left to right, summed over the labels that `output` lacks.
Term contract(const std::vector<Term> &terms, const Labels &output, Loc loc) {
  Term result = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels needed = output;
    for (size_t later = i + 1; later < terms.size(); ++later)
      needed.insert(needed.end(), terms[later].labels.begin(), terms[later].labels.end());
    auto lonely = [&](const Term &other) {
      return [&](Label label) { return !has(other.labels, label) && !has(needed, label); };
    };
    Term left = sumOver(result, lonely(terms[i]), loc), right = sumOver(terms[i], lonely(result), loc);
    // Sums of integers are i64.
    DType dtype = promote(left.tensor.dtype(loc), right.tensor.dtype(loc));
    left.tensor = left.tensor.to(dtype, loc);
    right.tensor = right.tensor.to(dtype, loc);
    result = multiply(left, right, needed, loc);
  }
  return sumOver(result, [&](Label label) { return !has(output, label); }, loc);
}

} // namespace

Tensor einsum(const std::string &equation, const std::vector<Tensor> &operands, Loc loc) {
  size_t arrow = equation.find("->");
  std::vector<std::string_view> parts = separate(std::string_view(equation).substr(0, arrow));
  if (operands.empty())
    fail("einsum(): must provide at least one operand", loc);
  if (parts.size() != operands.size())
    fail("einsum(): the equation \"" + equation + "\" has subscripts for " + std::to_string(parts.size()) +
             " operands, and " + std::to_string(operands.size()) + " were given",
         loc);
  GraphLock lock(graphMutex());
  const Operands parsed = parseOperands(parts, operands, loc);
  if (operands.size() > 1)
    checkContracted("einsum()", parsed.refs, loc);
  const Labels output = arrow == std::string::npos
                            ? implicitResult(parsed.labels, parsed.ellipsis)
                            : parseResult(std::string_view(equation).substr(arrow + 2), parsed, loc);
  const Term result = contract(alignedTerms(operands, parsed, loc), output, loc);
  IntList order;
  for (Label label : output)
    order.push_back(std::find(result.labels.begin(), result.labels.end(), label) - result.labels.begin());
  return result.tensor.permute(order, loc);
}

} // namespace weft
