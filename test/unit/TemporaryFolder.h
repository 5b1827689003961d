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
#include <fstream>
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
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  std::string operator/(const std::string &name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  /// Writes a file and returns its path.
  std::string file(const std::string &name, const std::string &bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

private:
  std::filesystem::path path_;
};

/// The bytes of a file; empty if there is none.
inline std::string contentOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace weft::test

#endif // WEFT_TEST_UNIT_TEMPORARYFOLDER_H
