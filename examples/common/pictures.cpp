//===- pictures.cpp - Images in files --------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "common/pictures.h"

#include "common/digits.h"

#include <weft/weft.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace example {

using namespace weft;

void save_pictures(const std::string &path, const Tensor &images, int64_t in_a_row) {
  if (images.dim() != 4 || (images.size(1) != 1 && images.size(1) != 3) || in_a_row < 1)
    throw Error("save_pictures needs images [count, channels, rows, columns] with 1 or 3 channels, and at "
                "least one in a "
                "row");
  const int64_t count = images.size(0), channels = images.size(1), rows = images.size(2),
                columns = images.size(3);
  const int64_t across = std::min(count, in_a_row), down = across ? (count + across - 1) / across : 0;
  const std::vector<float> values = (images.detach().to(f32).clamp(0, 1) * 255).round().to_vector<float>();
  std::string pixels(static_cast<size_t>(across * columns * down * rows * 3), '\0');
  for (int64_t i = 0; i < count; ++i)
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x)
        for (int64_t c = 0; c < 3; ++c) {
          const int64_t from = ((i * channels + c % channels) * rows + y) * columns + x;
          const int64_t row = i / across * rows + y, column = i % across * columns + x;
          pixels[static_cast<size_t>((row * across * columns + column) * 3 + c)] =
              static_cast<char>(static_cast<unsigned char>(values[static_cast<size_t>(from)]));
        }
  std::ofstream file(path, std::ios::binary);
  file << "P6\n" << across * columns << ' ' << down * rows << "\n255\n" << pixels;
  file.close();
  if (!file)
    throw Error("cannot write '" + path + "': check that its folder exists and has room");
}

data::Dataset cifar10_or_drawn_digits(const std::string &folder, data::Split split) {
  std::string place = folder;
  if (const char *set = std::getenv("WEFT_DATA_DIR"); place.empty() && set)
    place = set;
  if (!place.empty()) {
    const std::string inside = place + "/cifar10";
    return data::Cifar10(std::filesystem::is_directory(inside) ? inside : place, {.split = split});
  }
  const data::Dataset digits = drawn_digits(split, split == data::Split::train ? 8000 : 2000);
  // [count, 28, 28] in the middle of [count, 3, 32, 32]
  const Tensor images =
      nn::functional::pad(digits.images().unsqueeze(1), {2, 2, 2, 2}).expand({-1, 3, -1, -1});
  return data::TensorDataset(images.contiguous(), digits.labels());
}

} // namespace example
