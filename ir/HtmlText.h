//===- HtmlText.h - Text in a page of HTML ----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All pages that Weft writes pass foreign text (names, source lines, messages) through this function. This
// header is plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_IR_HTMLTEXT_H
#define WEFT_IR_HTMLTEXT_H

#include <string>
#include <string_view>

namespace weft::ir {

/// The text with HTML's special characters written as entities, for use in elements and in attributes with
/// double quotes.
inline std::string htmlEscaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

} // namespace weft::ir

#endif // WEFT_IR_HTMLTEXT_H
