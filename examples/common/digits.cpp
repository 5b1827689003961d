//===- digits.cpp - Digits to learn from -------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each class has one to three ways of being written, as strokes in a unit square. A stroke is bent, turned,
// sheared, scaled and moved by random amounts, then drawn with a round pen. The amounts were chosen so that
// the task is like MNIST: with 8,000 images to train and 2,000 to test, ten epochs of Adam take a linear
// classifier to 87 % and the MLP 784-512-256-10 from 92 % after two epochs to 98 %.
//
// The code uses only additions, multiplications, divisions and square roots, which IEEE 754 rounds exactly,
// and CMakeLists.txt turns off contraction (fused multiply-add) for this file. So the pixels are the same
// everywhere.
//
//===----------------------------------------------------------------------===//
#include "common/digits.h"

#include <weft/philox.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

using weft::PhiloxSequence;

namespace example {

namespace {

constexpr int side = 28;
constexpr double pi = 3.14159265358979323846;
/// Separates these random streams from others with the same seed.
constexpr uint64_t streamTag = uint64_t{0xd161} << 48;

/// Sine to better than 1e-10, from its series: the sines of C libraries differ in the last bit.
double sine(double x) {
  x -= 2 * pi * std::floor(x / (2 * pi) + 0.5);
  if (x > pi / 2)
    x = pi - x;
  else if (x < -pi / 2)
    x = -pi - x;
  const double square = x * x;
  double term = x, sum = x;
  for (int k = 1; k < 8; ++k) {
    term *= -square / (2 * k * (2 * k + 1));
    sum += term;
  }
  return sum;
}
double cosine(double x) { return sine(x + pi / 2); }

struct Point {
  double x, y;
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

Stroke line(std::initializer_list<Point> points) { return points; }

/// A part of an ellipse, in degrees; 0 points right and 90 down.
Stroke arc(Point centre, double rx, double ry, double from, double to) {
  constexpr int pieces = 18;
  Stroke stroke;
  for (int i = 0; i <= pieces; ++i) {
    const double angle = (from + (to - from) * i / pieces) * pi / 180;
    stroke.push_back({centre.x + rx * cosine(angle), centre.y + ry * sine(angle)});
  }
  return stroke;
}

Stroke join(Stroke first, const Stroke &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const std::array<std::vector<Glyph>, 10> &glyphs() {
  static const std::array<std::vector<Glyph>, 10> all = {{
      {{arc({.5, .5}, .25, .36, 0, 360)}, {arc({.5, .5}, .2, .36, -80, 290)}},
      {{line({{.5, .14}, {.5, .86}})},
       {line({{.36, .28}, {.53, .14}, {.53, .86}})},
       {line({{.37, .27}, {.52, .14}, {.52, .86}}), line({{.33, .86}, {.71, .86}})}},
      {{join(arc({.5, .34}, .23, .2, 190, 400), line({{.26, .85}, {.77, .85}}))},
       {join(arc({.49, .33}, .22, .19, 200, 410),
             join(arc({.36, .76}, .1, .09, 60, 300), line({{.56, .83}, {.78, .82}})))}},
      {{join(arc({.47, .32}, .22, .18, 205, 450), arc({.47, .68}, .25, .19, 275, 520))},
       {line({{.27, .15}, {.72, .15}, {.46, .44}}), arc({.47, .65}, .24, .21, 265, 515)}},
      {{line({{.58, .13}, {.23, .6}, {.79, .6}}), line({{.61, .36}, {.61, .88}})},
       {line({{.29, .15}, {.26, .52}, {.74, .52}}), line({{.71, .15}, {.69, .88}})}},
      {{line({{.73, .15}, {.34, .15}, {.31, .46}}), arc({.47, .64}, .25, .21, 228, 510)},
       {join(line({{.72, .14}, {.36, .16}, {.33, .44}, {.5, .42}}), arc({.47, .65}, .26, .21, 290, 500))}},
      {{join(line({{.64, .13}, {.44, .3}, {.31, .54}}), arc({.5, .67}, .21, .19, 200, 560))},
       {join(line({{.52, .13}, {.35, .36}, {.29, .62}}), arc({.48, .68}, .19, .18, 180, 500))}},
      {{line({{.25, .16}, {.76, .16}, {.42, .87}})},
       {line({{.24, .2}, {.26, .15}, {.75, .15}, {.46, .87}}), line({{.36, .5}, {.7, .5}})}},
      {{arc({.5, .31}, .18, .17, 0, 360), arc({.5, .67}, .22, .19, 0, 360)},
       {join(arc({.5, .32}, .19, .18, -40, -270), arc({.5, .68}, .21, .18, -90, 270)),
        line({{.5, .5}, {.66, .22}})}},
      {{join(arc({.49, .34}, .21, .2, 0, 360), line({{.7, .36}, {.68, .62}, {.58, .87}}))},
       {join(arc({.49, .33}, .2, .18, -20, -340), line({{.69, .28}, {.7, .87}}))}},
  }};
  return all;
}

double between(PhiloxSequence &random, double low, double high) {
  return low + (high - low) * static_cast<double>(random.uniform());
}

/// Where the points of a glyph go: a slow bend, then an affine map into pixels.
class Hand {
public:
  explicit Hand(PhiloxSequence &random) {
    for (auto *wave : {&bend_x_, &bend_y_})
      *wave = {between(random, 0, .045), between(random, 3, 8), between(random, 0, 2 * pi)};
    const double angle = between(random, -.3, .3), shear = between(random, -.3, .3);
    const double wide = between(random, .68, 1.1), high = between(random, .72, 1.08);
    const double c = cosine(angle), s = sine(angle);
    xx_ = c * wide;
    xy_ = c * shear - s * high;
    yx_ = s * wide;
    yy_ = s * shear + c * high;
    dx_ = between(random, -2.5, 2.5);
    dy_ = between(random, -2, 2);
  }

  Point operator()(Point p) const {
    const double x = p.x - .5 + bend_x_(p.y), y = p.y - .5 + bend_y_(p.x);
    constexpr double pixels = 25;
    return {side / 2.0 + pixels * (xx_ * x + xy_ * y) + dx_, side / 2.0 + pixels * (yx_ * x + yy_ * y) + dy_};
  }

private:
  struct Wave {
    double height = 0, frequency = 0, phase = 0;
    double operator()(double t) const { return height * sine(frequency * t + phase); }
  };
  Wave bend_x_, bend_y_;
  double xx_, xy_, yx_, yy_, dx_, dy_;
};

using Ink = std::array<double, side * side>;

/// Draws from `a` to `b`: a pixel is covered by how far the pen's edge passes its centre.
void draw_segment(Ink &ink, Point a, Point b, double radius) {
  const double reach = radius + 1;
  const auto first = [&](double low) {
    return std::clamp(static_cast<int>(std::floor(low - reach)), 0, side);
  };
  const auto last = [&](double high) {
    return std::clamp(static_cast<int>(std::floor(high + reach)) + 1, 0, side);
  };
  const double ux = b.x - a.x, uy = b.y - a.y, square = ux * ux + uy * uy;
  for (int y = first(std::min(a.y, b.y)); y < last(std::max(a.y, b.y)); ++y)
    for (int x = first(std::min(a.x, b.x)); x < last(std::max(a.x, b.x)); ++x) {
      const double px = x + .5 - a.x, py = y + .5 - a.y;
      const double t = square > 0 ? std::clamp((px * ux + py * uy) / square, 0.0, 1.0) : 0.0;
      const double ex = px - t * ux, ey = py - t * uy;
      const double cover = std::clamp(radius + .5 - std::sqrt(ex * ex + ey * ey), 0.0, 1.0);
      double &pixel = ink[static_cast<size_t>(y) * side + static_cast<size_t>(x)];
      pixel = std::max(pixel, cover);
    }
}

/// A data set with a note on where it comes from.
class WithNote : public weft::data::Dataset {
public:
  WithNote(weft::Tensor images, weft::Tensor labels, std::string note)
      : Dataset(std::move(images), std::move(labels)) {
    note_ = std::move(note);
  }
};

} // namespace

int draw_digit(uint64_t seed, uint64_t index, std::span<uint8_t, 784> pixels) {
  PhiloxSequence random(seed, streamTag ^ index);
  const auto label = static_cast<size_t>(random.below(10));
  const std::vector<Glyph> &ways = glyphs()[label];
  const Glyph &glyph = ways[random.below(ways.size())];
  const Hand hand(random);
  const double radius = between(random, .6, 1.6), strength = between(random, 170, 255),
               noise = between(random, 0, 45);
  Ink ink{};
  for (const Stroke &stroke : glyph)
    for (size_t i = 1; i < stroke.size(); ++i)
      draw_segment(ink, hand(stroke[i - 1]), hand(stroke[i]), radius);
  for (size_t i = 0; i < pixels.size(); ++i) {
    const double value = strength * ink[i] + noise * (2 * static_cast<double>(random.uniform()) - 1);
    pixels[i] = static_cast<uint8_t>(std::clamp(std::floor(value + .5), 0.0, 255.0));
  }
  return static_cast<int>(label);
}

weft::data::Dataset drawn_digits(weft::data::Split split, int64_t count, uint64_t seed) {
  // Training images have the numbers from 0 on, test images those from here on.
  constexpr int64_t first_test_image = int64_t{1} << 40;
  if (count < 0 || count > first_test_image)
    throw weft::Error("drawn_digits: the count must be 0 to 2^40, found " + std::to_string(count));
  const int64_t first = split == weft::data::Split::train ? 0 : first_test_image;
  std::vector<uint8_t> pixels(static_cast<size_t>(count) * 784);
  std::vector<int64_t> labels(static_cast<size_t>(count));
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] =
        draw_digit(seed, static_cast<uint64_t>(first) + i, std::span(pixels).subspan(i * 784).first<784>());
  return WithNote(weft::Tensor::from(pixels, {count, side, side}), weft::Tensor::from(labels, {count}),
                  "the digits are drawn by the program, not MNIST's");
}

weft::data::Dataset mnist_or_drawn_digits(const std::string &folder, weft::data::Split split) {
  std::string found = folder;
  if (const char *variable = std::getenv("WEFT_DATA_DIR"); found.empty() && variable)
    found = variable;
  if (found.empty())
    return drawn_digits(split, split == weft::data::Split::train ? 8000 : 2000);
  std::error_code ignored; // a folder that cannot be read has no subfolder; Mnist reports what is wrong
  if (std::filesystem::is_directory(found + "/mnist", ignored))
    found += "/mnist";
  return weft::data::Mnist(found, {.split = split});
}

} // namespace example
