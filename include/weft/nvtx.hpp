//===- nvtx.hpp - Names in the timelines of NVIDIA's tools ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranges and marks of the calling thread, as torch.cuda.nvtx has them, for tools such as Nsight Systems,
// which name a library of theirs in NVTX_INJECTION64_PATH. Where there is none, nothing happens. Weft itself
// begins a range for each launch, with the name and source line that a profile has. On a CUDA device it is
// the range in which the launch is issued, within one for the call of a function, which is alone where the
// call is one graph.
//
// What is recorded lazily is issued when it is needed: `synchronize()` at the end of a range puts it there.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_NVTX_HPP
#define WEFT_NVTX_HPP

#include "weft/export.hpp"

#include <string>

namespace weft::nvtx {

/// Whether a tool is there.
WEFT_API bool is_enabled();
/// A moment.
WEFT_API void mark(const std::string &message);
/// Begins a range within the one that the thread is in. Returns how many ranges it is within, as the tool
/// counts them; -2 without a tool.
WEFT_API int range_push(const std::string &message);
/// Ends the range that was begun last, with the same result; less than 0 if there was none.
WEFT_API int range_pop();

/// A range that ends with the scope.
class Range {
public:
  explicit Range(const std::string &message) { range_push(message); }
  ~Range() { range_pop(); }
  Range(const Range &) = delete;
  Range &operator=(const Range &) = delete;
};

} // namespace weft::nvtx

#endif // WEFT_NVTX_HPP
