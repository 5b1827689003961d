//===- DeviceImage.cpp - The kernels of a GPU -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/DeviceImage.h"

#include "runtime/plan/AttentionPlan.h"
#include "runtime/plan/ConvolutionPlan.h"
#include "runtime/plan/DecodedBytes.h"
#include "runtime/plan/DynamicPlan.h"
#include "runtime/plan/KernelAlignments.h"
#include "runtime/plan/LaunchAccesses.h"
#include "runtime/plan/PlanFields.h"
#include "runtime/plan/RawPlan.h"
#include "runtime/plan/SortPlan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <tuple>

namespace weft::runtime {
namespace {

// What every GPU that Weft compiles for can launch.
constexpr uint32_t mostThreads = 1024, mostSharedBytes = 256 << 10;
constexpr int64_t mostBlocks = INT32_MAX;
/// Of the parameters of a kernel, in bytes.
constexpr size_t mostParameterBytes = 4096;
/// m, n, k, and three strides each of a, b and c.
constexpr uint32_t productNumbers = 12;
constexpr int64_t isParameter = -1;

std::string problem_of_product(const fb::ProductKernel &product, uint32_t sizes) {
  if (!aligned(product.numbers()) || length(product.numbers()) != productNumbers)
    return "has " + number(length(product.numbers())) + " numbers of a product, expected " +
           number(productNumbers);
  if (product.tile_m() == 0 || product.tile_n() == 0)
    return "has tiles of " + number(product.tile_m()) + " by " + number(product.tile_n()) + " elements";
  const auto parameters = std::ranges::count(*product.numbers(), isParameter);
  if (parameters != static_cast<int64_t>(sizes))
    return "has " + number(sizes) + " sizes, and its product has " +
           number(static_cast<uint64_t>(parameters));
  return "";
}

std::string problem_of_convolution(const fb::ConvolutionKernel &convolution, uint32_t sizes) {
  if (!convolution.launch())
    return "is of a convolution without numbers";
  if (std::string problem = convolution_lists_problem(*convolution.launch()); !problem.empty())
    return problem;
  if (convolution.tile_m() == 0 || convolution.tile_n() == 0)
    return "has tiles of " + number(convolution.tile_m()) + " by " + number(convolution.tile_n()) +
           " elements";
  const uint32_t parameters = (convolution.launch()->batch() == isParameter ? 1 : 0) +
                              (convolution.launch()->channels() == isParameter ? 1 : 0);
  return parameters == sizes
             ? ""
             : "has " + number(sizes) + " sizes, and its convolution has " + number(parameters);
}

std::string problem_of_sort(const fb::SortKernel &sort, const fb::DeviceKernel &kernel) {
  if (sort.block_rows() == 0)
    return "is of a sort with no rows of a block";
  // A row has a team of threads, each of which has up to 16 of its elements.
  constexpr uint32_t mostOfThread = 16;
  const uint32_t team = kernel.threads() / sort.block_rows();
  if (!std::has_single_bit(team) || team * sort.block_rows() != kernel.threads() || sort.extent() < 0 ||
      sort.extent() > int64_t(team) * mostOfThread)
    return "is of a sort of " + number(sort.block_rows()) + " rows of " + number(sort.extent()) +
           " elements by " + number(kernel.threads()) + " threads";
  if (kernel.takes_table() || kernel.takes_checks() || kernel.takes_predicate())
    return "is of a sort, and takes more than pointers and a size";
  if (kernel.sizes() != 1 || length(kernel.pointers()) != 3)
    return "is of a sort with " + number(length(kernel.pointers())) + " pointers and " +
           number(kernel.sizes()) + " sizes, expected 3 and 1";
  return "";
}

/// Whether every divisor is a size over the kernel's.
bool has_divisors(const fb::DeviceKernel &kernel) {
  for (uint32_t i = 0; i < length(kernel.divisors()); ++i) {
    const fb::SizeExpression &size = *kernel.divisors()->Get(i);
    if (size.divisor() < 1)
      return false;
    for (uint32_t j = 0; j < length(size.terms()); ++j) {
      const auto *symbols = size.terms()->Get(j)->symbols();
      for (uint32_t k = 0; k < length(symbols); ++k)
        if (symbols->Get(k) >= kernel.sizes())
          return false;
    }
  }
  return true;
}

/// Empty, or what is wrong with it.
std::string problem_of(const fb::DeviceKernel &kernel) {
  if (length(kernel.cubin()) == 0 && length(kernel.ptx()) == 0)
    return "has no code";
  if (kernel.threads() == 0 || kernel.threads() > mostThreads)
    return "has blocks of " + number(kernel.threads()) + " threads, expected 1 to " + number(mostThreads);
  if (kernel.block_tasks() < 1)
    return "has blocks of " + number(kernel.block_tasks()) + " tasks";
  if (uint64_t(kernel.shared_bytes()) + kernel.static_shared_bytes() > mostSharedBytes)
    return "needs " + number(uint64_t(kernel.shared_bytes()) + kernel.static_shared_bytes()) +
           " bytes of shared memory, more than " + number(mostSharedBytes);
  const uint64_t divisors = length(kernel.divisors());
  if ((uint64_t(length(kernel.pointers())) + kernel.sizes()) * sizeof(uint64_t) +
          divisors * sizeof(Reciprocal) >
      mostParameterBytes)
    return "has " + number(length(kernel.pointers())) + " pointers, " + number(kernel.sizes()) +
           " sizes and " + number(divisors) + " divisors as parameters, more than " +
           number(mostParameterBytes) + " bytes";
  if (!has_divisors(kernel))
    return "has a divisor that is no expression over its " + number(kernel.sizes()) + " sizes";
  if (std::string problem = alignments_problem(kernel); !problem.empty())
    return problem;
  if ((kernel.product() != nullptr) + (kernel.attention() != nullptr) + (kernel.convolution() != nullptr) +
          (kernel.sort() != nullptr) + (kernel.raw() != nullptr) >
      1)
    return "is of more than one of a product, attention, a convolution, a sort, and the user";
  if (kernel.raw())
    return raw_kernel_problem(kernel);
  if (kernel.product())
    return problem_of_product(*kernel.product(), kernel.sizes());
  if (kernel.convolution())
    return problem_of_convolution(*kernel.convolution(), kernel.sizes());
  if (kernel.sort())
    return problem_of_sort(*kernel.sort(), kernel);
  if (kernel.attention() && (kernel.sizes() || kernel.blocks() < 0 || kernel.blocks() > mostBlocks))
    return "is of attention with " + number(kernel.blocks()) + " blocks and " + number(kernel.sizes()) +
           " sizes";
  return "";
}

Status bad_image(const std::string &message) {
  return Status::error("kernel image: " + message, "WEFT-L009");
}

/// As many blocks as tasks need; an error if no grid has so many.
Expected<uint32_t> blocks_for(int64_t tasks, int64_t of_block) {
  const int64_t blocks = tasks / of_block + (tasks % of_block != 0);
  if (blocks > mostBlocks)
    return Status::error("has " + number(tasks) + " tasks in blocks of " + number(of_block) +
                         ", and a grid has at most " + number(mostBlocks) + " blocks");
  return static_cast<uint32_t>(blocks);
}

/// The blocks of a launch whose tiles cover a matrix for each batch index.
Status take_blocks(int64_t batch, int64_t rows, uint32_t tile_m, int64_t columns, uint32_t tile_n,
                   DeviceLaunch &made) {
  const auto tiles = [](int64_t extent, uint32_t tile) { return extent / tile + (extent % tile != 0); };
  int64_t blocks = 0;
  if (__builtin_mul_overflow(batch, tiles(rows, tile_m), &blocks) ||
      __builtin_mul_overflow(blocks, tiles(columns, tile_n), &blocks))
    blocks = INT64_MAX;
  Expected<uint32_t> checked = blocks_for(blocks, 1);
  if (!checked)
    return checked.status();
  made.blocks = *checked;
  return {};
}

/// Completes the launch of one of the products of a contraction.
Status take_product(const fb::ContractionLaunch &launch, const fb::ProductKernel &kernel, size_t product,
                    DeviceLaunch &made) {
  // Further products add to the result so far, which is their residual.
  const bool first = product == 0;
  if (launch.dtype() != kernel.dtype() || kernel.bias() != (first && launch.bias() >= 0) ||
      kernel.residual() != (!first || launch.residual() >= 0) || kernel.relu() != (first && launch.relu()))
    return Status::error("is another product than its kernel was made for");
  const ContractionShape s = contraction_shape(launch);
  const auto &[a, b, c] = std::tie(s.a_strides, s.b_strides, s.c_strides);
  const std::array<int64_t, productNumbers> numbers = {s.m,  s.n,  s.k,  a[0], a[1], a[2],
                                                       b[0], b[1], b[2], c[0], c[1], c[2]};
  // The extent along each stride: with one index, which is 0, the stride says nothing.
  const std::array<int64_t, productNumbers> along = {
      INT64_MAX,      INT64_MAX,  INT64_MAX,  launch.batch(), launch.m(), launch.k(),
      launch.batch(), launch.k(), launch.n(), launch.batch(), launch.m(), launch.n()};
  for (uint32_t i = 0; i < productNumbers; ++i)
    if (const int64_t expected = kernel.numbers()->Get(i); expected == isParameter)
      made.sizes.push_back(numbers[i]);
    else if (numbers[i] != expected && along[i] > 1)
      return Status::error("has " + number(numbers[i]) + " as number " + number(i) +
                           " of its product, and its kernel was made for " + number(expected));
  return take_blocks(launch.batch(), launch.m(), kernel.tile_m(), launch.n(), kernel.tile_n(), made);
}

/// Completes the launch of a convolution.
Status take_convolution(const fb::ConvolutionLaunch &launch, const fb::ConvolutionKernel &kernel,
                        DeviceLaunch &made) {
  const ConvolutionShape given = convolution_shape(launch);
  ConvolutionShape expected = convolution_shape(*kernel.launch());
  // The verifier has found that the product of all of these is a number.
  const auto whole = [](const ConvolutionNumbers &numbers) { return numbers[0] * numbers[1] * numbers[2]; };
  // Places with equal remainders are a matrix, and all of these have as many columns.
  int64_t columns = given.batch;
  for (size_t d = 0; d < 3; ++d)
    columns *= (given.places[d] + given.base_dilation[d] - 1) / given.base_dilation[d];
  if (expected.batch == isParameter) {
    expected.batch = given.batch;
    made.sizes.push_back(columns);
  }
  if (expected.channels == isParameter) {
    expected.channels = given.channels;
    made.sizes.push_back(given.channels * whole(given.window));
  }
  if (given != expected)
    return Status::error("is another convolution than its kernel was made for");
  return take_blocks(given.groups * whole(given.base_dilation), given.outputs, kernel.tile_m(), columns,
                     kernel.tile_n(), made);
}

/// Completes the launch of a sort.
Status take_sort(const fb::SortLaunch &launch, const fb::SortKernel &kernel, DeviceLaunch &made) {
  const SortShape shape = sort_shape(launch);
  if (static_cast<uint8_t>(shape.dtype) != kernel.dtype() || shape.extent != kernel.extent() ||
      shape.count != kernel.count() || shape.descending != kernel.descending())
    return Status::error("is another sort than its kernel was made for");
  made.sizes.push_back(shape.rows);
  Expected<uint32_t> blocks = blocks_for(shape.count ? shape.rows : 0, kernel.block_rows());
  if (!blocks)
    return blocks.status();
  made.blocks = *blocks;
  return {};
}

} // namespace

Reciprocal Reciprocal::of(int64_t d) {
  if (d <= 0)
    return {};
  const auto divisor = static_cast<uint64_t>(d);
  const auto shift = static_cast<uint64_t>(std::bit_width(divisor - 1)); // ceil(log2 d)
  using Wide = unsigned __int128;
  const Wide above = (Wide(1) << shift) - divisor;
  return {static_cast<uint64_t>((above << 64) / divisor) + 1, shift};
}

Expected<std::vector<Reciprocal>> reciprocals_of(const fb::DeviceKernel &kernel,
                                                 std::span<const int64_t> sizes) {
  std::vector<Reciprocal> made;
  bool failed = false;
  for (uint32_t i = 0; i < length(kernel.divisors()); ++i)
    made.push_back(Reciprocal::of(value_of_expression(*kernel.divisors()->Get(i), sizes, failed)));
  if (failed)
    return Status::error("gives its kernel '" + text(kernel.symbol()) +
                         "' sizes of which a divisor is negative or "
                         "above 2^63");
  return made;
}

Expected<std::shared_ptr<const DeviceImage>> DeviceImage::load(std::span<const std::byte> section) {
  if (section.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return bad_image("kernels of a GPU in " + number(section.size()) + " bytes");
  const std::shared_ptr<DeviceImage> image(new DeviceImage);
  image->bytes_.resize((section.size() + 7) / 8);
  if (!section.empty())
    std::memcpy(image->bytes_.data(), section.data(), section.size());
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(image->bytes_.data()), section.size(),
                                 /*max_depth=*/16, /*max_tables=*/50'000'000);
  if (!verifier.VerifyBuffer<fb::DeviceImage>(nullptr))
    return bad_image("the kernels of a GPU are damaged");
  const auto *content = flatbuffers::GetRoot<fb::DeviceImage>(image->bytes_.data());
  if (!DecodedBytes(section.size()).fits(*content))
    return bad_image("the " + number(section.size()) +
                     " bytes of kernels of a GPU stand for more than as many: parts of them are shared");
  std::string_view before;
  for (uint32_t i = 0; i < length(content->kernels()); ++i) {
    const fb::DeviceKernel &kernel = *content->kernels()->Get(i);
    const std::string_view symbol = kernel.symbol() ? kernel.symbol()->string_view() : "";
    if (symbol.empty() || symbol <= before)
      return bad_image("kernel " + number(i) + " of a GPU, '" + std::string(symbol) +
                       "', has no name, or is out of order");
    if (const std::string problem = problem_of(kernel); !problem.empty())
      return bad_image("kernel '" + std::string(symbol) + "' of a GPU " + problem);
    before = symbol;
  }
  image->content_ = content;
  return std::shared_ptr<const DeviceImage>(image);
}

std::string_view DeviceImage::architecture() const {
  return content_->architecture() ? content_->architecture()->string_view() : std::string_view();
}

const fb::DeviceKernel *DeviceImage::find(std::string_view symbol) const {
  if (!content_->kernels())
    return nullptr;
  const auto found =
      std::ranges::lower_bound(*content_->kernels(), symbol, {}, [](const fb::DeviceKernel *kernel) {
        return kernel->symbol()->string_view();
      });
  return found != content_->kernels()->end() && found->symbol()->string_view() == symbol ? *found : nullptr;
}

Expected<DeviceLaunch> DeviceImage::launch_of(const fb::KernelLaunch &launch) const {
  DeviceLaunch made;
  made.kernel = find(launch.symbol()->string_view());
  if (!made.kernel || made.kernel->product() || made.kernel->attention() || made.kernel->convolution() ||
      made.kernel->sort() || made.kernel->raw())
    return Status::error("launches '" + text(launch.symbol()) +
                         "', which is no kernel of a fusion among the " +
                         number(length(content_->kernels())) + " of " + std::string(architecture()));
  for (uint32_t i = 0; i < length(made.kernel->pointers()); ++i) {
    made.pointers.push_back(made.kernel->pointers()->Get(i));
    if (made.pointers.back() >= length(launch.buffers()))
      return Status::error("has " + number(length(launch.buffers())) +
                           " buffers, and its kernel needs number " + number(made.pointers.back()));
  }
  // A kernel over a table reads the sizes of its steps there.
  if (made.kernel->sizes() > length(launch.sizes()))
    return Status::error("has " + number(length(launch.sizes())) + " run-time sizes, and its kernel needs " +
                         number(made.kernel->sizes()));
  for (uint32_t i = 0; i < made.kernel->sizes(); ++i)
    made.sizes.push_back(launch.sizes()->Get(i));
  Expected<std::vector<Reciprocal>> reciprocals = reciprocals_of(*made.kernel, made.sizes);
  if (!reciprocals)
    return reciprocals.status();
  made.reciprocals = *std::move(reciprocals);
  Expected<uint32_t> blocks = blocks_for(launch.tasks(), made.kernel->block_tasks());
  if (!blocks)
    return blocks.status();
  made.blocks = *blocks;
  return made;
}

/// Whether these are the pointers of a convolution's kernel: w, a, what its steps read, and y, of the
/// operands a, w, y and what its steps read.
static bool are_of_convolution(const std::vector<uint32_t> &pointers, size_t operands) {
  std::vector<uint32_t> expected{1, 0};
  for (uint32_t i = 3; i < operands; ++i)
    expected.push_back(i);
  expected.push_back(2);
  return pointers == expected;
}

/// Whether these are the pointers of a product's kernel: a, b, the bias, the residual and c, of the operands
/// a, b, c, the bias, the residual, and a and b of each further product. One of these adds to c.
static bool are_of_product(const std::vector<uint32_t> &pointers, const fb::ContractionLaunch &launch,
                           size_t product) {
  constexpr uint32_t c = 2;
  const bool has_bias = launch.bias() >= 0, has_residual = launch.residual() >= 0;
  const uint32_t bias = c + 1, residual = bias + has_bias, more = residual + has_residual;
  if (product > 0) {
    const auto a = more + 2 * static_cast<uint32_t>(product - 1);
    return pointers == std::vector<uint32_t>{a, a + 1, c, c};
  }
  std::vector<uint32_t> expected{0, 1};
  if (has_bias)
    expected.push_back(bias);
  if (has_residual)
    expected.push_back(residual);
  expected.push_back(c);
  return pointers == expected;
}

/// Whether a kernel gets the operands of its launch in their order, as those of attention and sorts do.
static bool are_in_order(const std::vector<uint32_t> &pointers, size_t operands) {
  for (uint32_t i = 0; i < pointers.size(); ++i)
    if (pointers[i] != i)
      return false;
  return pointers.size() == operands;
}

Expected<DeviceLaunch> DeviceImage::own_launch(const fb::Launch &launch, const fb::OwnKernel &own,
                                               size_t number_of_kernel, size_t operands) const {
  DeviceLaunch made;
  made.kernel = own.symbol() ? find(own.symbol()->string_view()) : nullptr;
  if (!made.kernel)
    return Status::error("is carried out by '" + text(own.symbol()) + "', which is no kernel of " +
                         std::string(architecture()));
  if (const fb::RawLaunch *raw = launch.op_as_RawLaunch()) {
    if (!made.kernel->raw())
      return Status::error("is of a kernel of the user, and '" + text(own.symbol()) + "' is another");
    Expected<RawForm> form = raw_form(*raw, *made.kernel);
    if (!form)
      return form.status();
    made.blocks = form->grid.x;
    made.raw = *std::move(form);
    return made;
  }
  for (uint32_t i = 0; i < length(made.kernel->pointers()); ++i) {
    const uint32_t place = made.kernel->pointers()->Get(i);
    if (place >= length(own.operands()) || own.operands()->Get(place) >= operands)
      return Status::error("gives its kernel '" + text(own.symbol()) + "' no operand for pointer " +
                           number(i));
    made.pointers.push_back(own.operands()->Get(place));
  }
  if (const fb::ContractionLaunch *product = launch.op_as_ContractionLaunch()) {
    if (!made.kernel->product())
      return Status::error("is a product, and its kernel '" + text(own.symbol()) + "' is not");
    if (Status status = take_product(*product, *made.kernel->product(), number_of_kernel, made); !status)
      return status;
    if (!are_of_product(made.pointers, *product, number_of_kernel))
      return Status::error("gives its kernel '" + text(own.symbol()) +
                           "' other operands than both matrices, what is added, and the result");
    return made;
  }
  if (const fb::ConvolutionLaunch *convolution = launch.op_as_ConvolutionLaunch()) {
    if (!made.kernel->convolution())
      return Status::error("is a convolution, and its kernel '" + text(own.symbol()) + "' is not");
    if (!are_of_convolution(made.pointers, operands))
      return Status::error(
          "gives its kernel '" + text(own.symbol()) +
          "' other operands than the weights, the operand, what its steps read, and the result");
    if (Status status = take_convolution(*convolution, *made.kernel->convolution(), made); !status)
      return status;
    return made;
  }
  if (const fb::SortLaunch *sort = launch.op_as_SortLaunch()) {
    if (!made.kernel->sort())
      return Status::error("is a sort, and its kernel '" + text(own.symbol()) + "' is not");
    if (!are_in_order(made.pointers, operands))
      return Status::error("gives its kernel '" + text(own.symbol()) +
                           "' other operands than source, values and indices");
    if (Status status = take_sort(*sort, *made.kernel->sort(), made); !status)
      return status;
    return made;
  }
  if (!made.kernel->attention() ||
      attention_shape(*launch.op_as_AttentionLaunch()) != attention_shape(*made.kernel->attention()))
    return Status::error("is other attention than its kernel '" + text(own.symbol()) + "' was made for");
  if (!are_in_order(made.pointers, operands))
    return Status::error("gives its kernel '" + text(own.symbol()) +
                         "' other operands than those of attention in their order");
  made.blocks = static_cast<uint32_t>(made.kernel->blocks());
  return made;
}

Expected<std::vector<DeviceLaunch>> DeviceImage::own_launches(const fb::Launch &launch) const {
  std::vector<DeviceLaunch> made;
  const fb::ContractionLaunch *product = launch.op_as_ContractionLaunch();
  const uint32_t expected = product ? 1 + length(product->more()) / 2 : 1;
  if (length(launch.own()) != expected)
    return Status::error("has " + number(length(launch.own())) + " kernels of our own, expected " +
                         number(expected));
  const size_t operands = accesses_of(launch).size();
  for (uint32_t i = 0; i < expected; ++i) {
    Expected<DeviceLaunch> one = own_launch(launch, *launch.own()->Get(i), i, operands);
    if (!one)
      return one.status();
    made.push_back(*std::move(one));
  }
  return made;
}

} // namespace weft::runtime
