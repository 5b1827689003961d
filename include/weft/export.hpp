//===- export.hpp - Visibility of symbols ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EXPORT_HPP
#define WEFT_EXPORT_HPP

/// Marks what libweft-runtime.so exports; everything else is hidden.
#define WEFT_RUNTIME_API __attribute__((visibility("default")))

/// Marks what libweft.so exports.
#define WEFT_API __attribute__((visibility("default")))

#endif // WEFT_EXPORT_HPP
