//===- TemporaryFolder.h - A folder of a test -----------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_UNIT_TEMPORARYFOLDER_H
#define WEFT_TEST_UNIT_TEMPORARYFOLDER_H

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <stdlib.h>
#include <string>
#include <system_error>

namespace weft::test {

/// An empty folder, which the destructor removes.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    if (char *made = ::mkdtemp(name.data()))
      path_ = made;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  std::string operator/(const std::string &name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

private:
  std::filesystem::path path_;
};

} // namespace weft::test

#endif // WEFT_TEST_UNIT_TEMPORARYFOLDER_H
