//===- Calibration.h - What the calibration programs share -----*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_CALIBRATION_H
#define WEFT_TEST_CUDASIM_CALIBRATION_H

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

/// Ends the program with the call's text where a call fails that has to work for the rest to mean anything.
#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    if (int code = static_cast<int>(call)) {                                                                 \
      std::fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, code);                          \
      std::exit(1);                                                                                          \
    }                                                                                                        \
  } while (false)

/// Writes one JSON object of objects, lists and values to standard output, a line an entry.
class Json {
public:
  Json() { std::printf("{"); }
  ~Json() { std::printf("\n}\n"); }
  void open(const char *name, char bracket = '{') {
    separate();
    if (name)
      std::printf("\"%s\": ", name);
    std::printf("%c", bracket);
    first_ = true;
    ++depth_;
  }
  void close(char bracket = '}') {
    --depth_;
    std::printf("\n%*s%c", 2 * depth_, "", bracket);
    first_ = false;
  }
  /// `format` makes the value as JSON text.
  __attribute__((format(printf, 3, 4))) void value(const char *name, const char *format, ...) {
    separate();
    if (name)
      std::printf("\"%s\": ", name);
    va_list arguments;
    va_start(arguments, format);
    std::vprintf(format, arguments);
    va_end(arguments);
  }

private:
  void separate() {
    std::printf("%s\n%*s", first_ ? "" : ",", 2 * depth_, "");
    first_ = false;
  }
  bool first_ = true;
  int depth_ = 1;
};

#endif // WEFT_TEST_CUDASIM_CALIBRATION_H
