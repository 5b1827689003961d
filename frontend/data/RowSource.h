//===- RowSource.h - Rows of a tensor, gathered on the host --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_DATA_ROWSOURCE_H
#define WEFT_FRONTEND_DATA_ROWSOURCE_H

#include "frontend/graph/Graph.h"

#include <span>

namespace weft::frontend {

class UploadStream; // frontend/lazy/Upload.h

/// The present value of a tensor in host memory, from which any thread may gather rows.
class RowSource {
public:
  /// Computes and waits for the value; the graph's lock must be held.
  /// `pinnedFor`: the device in whose pinned memory rows are gathered; null for ordinary memory.
  explicit RowSource(const Tensor &tensor, runtime::Device *pinnedFor = nullptr);
  /// Copies these rows. Needs no lock. Throws Error if memory runs out.
  std::shared_ptr<runtime::Buffer> gather(std::span<const int64_t> rows) const;
  /// The gathered rows as a tensor. With `uploads`, pinned memory is copied to the device on that stream.
  Tensor wrapped(std::shared_ptr<runtime::Buffer> buffer, int64_t rows, Device device,
                 UploadStream *uploads = nullptr) const;
  Tensor tensor(std::span<const int64_t> rows, Device device) const {
    return wrapped(gather(rows), static_cast<int64_t>(rows.size()), device);
  }

private:
  Ref value_; ///< while it is held, nothing writes its storage
  std::shared_ptr<runtime::Buffer> buffer_;
  size_t rowBytes_ = 0;
  runtime::Device *pinnedFor_ = nullptr;
};

} // namespace weft::frontend

#endif // WEFT_FRONTEND_DATA_ROWSOURCE_H
