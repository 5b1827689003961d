//===- ContractionLibrary.cpp - Matrix products of oneDNN ------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN 2.6 stops the process at an extent of 0 and reads memory out of bounds at some strides of 0, so
// only what is known to be good gets there. Its relu turns NaN into 0, so that is a pass of our own. A
// residual is a binary post-operation: its `sum` would begin with the residual, and round otherwise. Products
// of f32 with AVX-512 are not described to oneDNN, but are sums of chains (ChainedContraction.h).
//
// oneDNN's own division of a product among threads depends on their number, and so would the bits of the
// result. Therefore the runtime divides the product into blocks, which depend on the shape alone
// (ContractionBlocks.h). The executor distributes them, and oneDNN computes each on one thread. If the order
// of a sum would depend on an operand's layout, the operand is copied first (PackedContraction.h).
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm/ContractionLibrary.h"

#include "runtime/gemm/ChainedContraction.h"
#include "runtime/gemm/ContractionBlocks.h"
#include "runtime/gemm/ContractionLayouts.h"
#include "runtime/gemm/PackedContraction.h"
#include "runtime/gemm/PartialSums.h"
#include "runtime/support/CpuLevel.h"
#include "runtime/threads/Executor.h"

#include <dnnl.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <new>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::runtime {
namespace {

dnnl::engine &engine() {
  static auto *const instance = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *instance;
}

// A CPU stream of oneDNN holds no state of its calls, so all threads share one.
dnnl::stream &stream() {
  static auto *const instance = new dnnl::stream(engine());
  return *instance;
}

// The stride of a dimension of extent 1 means nothing, but oneDNN looks at it.
dnnl::memory::dims strides_of(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  if (columns == 1 && rows == 1)
    return {1, 1};
  if (columns == 1)
    return row_stride == 1 ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{row_stride, 1};
  if (rows == 1)
    return column_stride == 1 ? dnnl::memory::dims{columns, 1} : dnnl::memory::dims{1, column_stride};
  return {row_stride, column_stride};
}

/// The primitive that oneDNN would run, or why it has no fast one.
struct Described {
  dnnl::matmul::primitive_desc description;
  bool adds_residual = false;
  std::string refusal;
};

/// Whether an implementation takes operands and results with room between their rows, as parts of larger
/// matrices have. `gemm:jit` does; `brg` becomes another implementation there, which adds in another order.
bool takes_room(std::string_view implementation) { return implementation.starts_with("gemm"); }

BlockCut cut_of(std::string_view implementation) {
  return takes_room(implementation) ? BlockCut::anywhere : BlockCut::rows;
}

/// Whether an implementation is one that products of this type are to have. Later oneDNNs have a `brg` of f32
/// for AVX2 too: only `gemm:jit` is asked there, so that all versions are cut and packed alike.
bool suits(std::string_view implementation, DType dtype, int64_t k) {
  if (implementation.starts_with("ref"))
    return false;
  if (dtype == DType::f32)
    return implementation.starts_with("gemm:jit");
  // With AMX, a sum over an odd k ends the process with an illegal instruction for some m (oneDNN 2.6.3:
  // k = 63, m = 198).
  return k % 2 == 0 || implementation.find("amx") == std::string_view::npos;
}

/// A primitive of oneDNN with the descriptions of its arguments.
class Product {
public:
  explicit Product(const Described &described)
      : primitive_(described.description), has_bias_(described.description.bias_desc().get_size() != 0),
        adds_residual_(described.adds_residual), a_(described.description.src_desc()),
        b_(described.description.weights_desc()), c_(described.description.dst_desc()),
        bias_(described.description.bias_desc()), scratch_(described.description.scratchpad_desc()) {}

  bool adds_residual() const { return adds_residual_; }
  size_t scratch_bytes() const { return scratch_.get_size(); }

  /// Throws dnnl::error.
  void run(const void *a, const void *b, void *c, const void *bias, const void *residual,
           void *scratch) const {
    const auto memory = [](const dnnl::memory::desc &description, const void *data) {
      return dnnl::memory(description, engine(), const_cast<void *>(data));
    };
    std::unordered_map<int, dnnl::memory> arguments = {{DNNL_ARG_SRC, memory(a_, a)},
                                                       {DNNL_ARG_WEIGHTS, memory(b_, b)},
                                                       {DNNL_ARG_DST, memory(c_, c)},
                                                       {DNNL_ARG_SCRATCHPAD, memory(scratch_, scratch)}};
    if (has_bias_)
      arguments.emplace(DNNL_ARG_BIAS, memory(bias_, bias));
    if (adds_residual_)
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, memory(c_, residual));
    primitive_.execute(stream(), arguments);
  }

private:
  dnnl::matmul primitive_;
  bool has_bias_, adds_residual_;
  dnnl::memory::desc a_, b_, c_, bias_, scratch_;
};

Status refused(const char *why) { return Status::error("oneDNN refused a contraction: " + std::string(why)); }

// For f32 only: adding to the rounded result in bf16 would round twice, so it is never asked for.
void add_row(void *c, const void *residual, int64_t at, int64_t columns) {
  float *values = static_cast<float *>(c) + at;
  const float *more = static_cast<const float *>(residual) + at;
  for (int64_t j = 0; j < columns; ++j)
    values[j] += more[j];
}

void relu_row(DType dtype, void *c, int64_t at, int64_t columns) {
  if (dtype == DType::f32) {
    float *values = static_cast<float *>(c) + at;
    for (int64_t j = 0; j < columns; ++j)
      values[j] = values[j] < 0 ? 0 : values[j];
  } else {
    // bf16: negative, and at most infinity in magnitude.
    uint16_t *values = static_cast<uint16_t *>(c) + at;
    for (int64_t j = 0; j < columns; ++j)
      values[j] = values[j] > 0x8000 && values[j] <= 0xff80 ? 0 : values[j];
  }
}

/// Why oneDNN cannot be asked for a product; empty where it can.
std::string refusal_of(const ContractionShape &s) {
  if (s.dtype != DType::f32 && s.dtype != DType::bf16)
    return "element type " + std::string(name(s.dtype));
  if (s.dtype == DType::bf16 && cpu_level() != CpuLevel::v4)
    return "bf16 needs AVX-512";
  if (s.dtype == DType::bf16 && s.residual)
    return "a residual of bf16";
  if (s.batch < 1 || s.m < 1 || s.n < 1 || s.k < 1)
    return "an extent of 0";
  // oneDNN counts in 32 bits: larger extents end the process with a division by zero (seen in 2.6).
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  for (int64_t size : {s.batch, s.m, s.n, s.k, s.a_strides[1], s.a_strides[2], s.b_strides[1], s.b_strides[2],
                       s.c_strides[1], s.c_strides[2]})
    if (size > most)
      return "an extent or a stride of 2^31 or more";
  return {};
}

Described describe(const ContractionShape &s) {
  const auto refuse = [](std::string why) { return Described{{}, false, std::move(why)}; };
  if (std::string why = refusal_of(s); !why.empty())
    return refuse(std::move(why));
  if (!fits(s.batch, s.m, s.k, s.a_strides) || !fits(s.batch, s.k, s.n, s.b_strides) || !result_fits(s))
    return refuse("strides");
  const bool batched = s.batch > 1;
  using memory = dnnl::memory;
  const auto type = s.dtype == DType::f32 ? memory::data_type::f32 : memory::data_type::bf16;
  const auto matrix = [&](int64_t rows, int64_t columns, const std::array<int64_t, 3> &strides) {
    memory::dims dims = {rows, columns}, steps = strides_of(rows, columns, strides[1], strides[2]);
    if (batched) {
      dims.insert(dims.begin(), s.batch);
      steps.insert(steps.begin(), strides[0]);
    }
    return memory::desc(dims, type, steps);
  };
  const OneOpenMPThread one;
  try {
    const memory::desc a = matrix(s.m, s.k, s.a_strides), b = matrix(s.k, s.n, s.b_strides),
                       c = matrix(s.m, s.n, s.c_strides);
    memory::desc bias;
    if (s.bias)
      bias = batched ? memory::desc({1, 1, s.n}, type, memory::format_tag::abc)
                     : memory::desc({1, s.n}, type, memory::format_tag::ab);
    const auto make = [&](bool residual) {
      dnnl::primitive_attr attributes;
      attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      if (residual) {
        dnnl::post_ops after;
        after.append_binary(dnnl::algorithm::binary_add, c);
        attributes.set_post_ops(after);
      }
#if DNNL_VERSION_MAJOR >= 3
      dnnl::matmul::primitive_desc found(engine(), a, b, bias, c, attributes, /*allow_empty=*/true);
#else
      const dnnl::matmul::desc operation =
          s.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
      dnnl::matmul::primitive_desc found(operation, attributes, engine(), /*allow_empty=*/true);
#endif
      // Ask for the next implementation here, because oneDNN 2 reads `operation` to find it.
      while (found.get(/*allow_empty=*/true) && !suits(found.impl_info_str(), s.dtype, s.k))
        if (!found.next_impl())
          return dnnl::matmul::primitive_desc();
      return found;
    };
    Described plain{make(false), false, {}};
    if (!plain.description.get(/*allow_empty=*/true))
      return refuse("it offers none");
    const std::string_view implementation = plain.description.impl_info_str();
    if (!s.residual)
      return plain;
    // Another implementation would add the products in another order than without the residual.
    Described whole{make(true), true, {}};
    if (whole.description.get(/*allow_empty=*/true) && whole.description.impl_info_str() == implementation)
      return whole;
    return plain;
  } catch (const dnnl::error &error) {
    return refuse(error.what());
  }
}

/// The blocks of a product as oneDNN describes them, by their extents: at most two along a dimension.
struct DescribedBlocks {
  using Extents = std::array<int64_t, 4>; // batch, m, n, k
  ContractionBlocks block;
  std::map<Extents, Described> described;
  std::string refusal;

  DescribedBlocks(const ContractionShape &shape, BlockCut cut) : block(contraction_blocks(shape, cut)) {
    for_each(shape, [&](int64_t, int64_t, int64_t, int64_t, const Extents &extents) {
      if (!refusal.empty() || described.contains(extents))
        return;
      ContractionShape part = shape;
      part.batch = extents[0];
      part.m = extents[1];
      part.n = extents[2];
      part.k = extents[3];
      if (block.k < shape.k) {
        part.bias = part.residual = part.relu = false;
        part.c_strides = {part.m * part.n, part.n, 1};
      }
      Described found = describe(part);
      refusal = found.refusal;
      described.emplace(extents, std::move(found));
    });
  }

  /// Calls `visit` with where each block begins (batch, row, column, k), and its extents.
  template <typename Visit> void for_each(const ContractionShape &s, Visit visit) const {
    for (int64_t x = 0; x < s.batch; x += block.batch)
      for (int64_t i = 0; i < s.m; i += block.m)
        for (int64_t j = 0; j < s.n; j += block.n)
          for (int64_t p = 0; p < s.k; p += block.k)
            visit(x, i, j, p,
                  Extents{std::min(block.batch, s.batch - x), std::min(block.m, s.m - i),
                          std::min(block.n, s.n - j), std::min(block.k, s.k - p)});
  }
  int64_t count(const ContractionShape &s) const {
    const auto pieces = [](int64_t extent, int64_t of) { return (extent + of - 1) / of; };
    return pieces(s.batch, block.batch) * pieces(s.m, block.m) * pieces(s.n, block.n) * pieces(s.k, block.k);
  }
  /// The scratch of the library for one block, in whole cache lines.
  size_t block_bytes() const {
    size_t most = 0;
    for (const auto &[extents, found] : described)
      most = std::max<size_t>(most, found.description.scratchpad_desc().get_size());
    return (most + 63) / 64 * 64;
  }
  /// Every block has a scratch of its own, so that neither the amount, nor whether a plan's limit admits it,
  /// depends on the number of threads. After these come the partial sums where k is cut.
  size_t scratch_bytes(const ContractionShape &s) const {
    const auto blocks = static_cast<size_t>(count(s));
    return blocks * block_bytes() +
           (block.k < s.k ? blocks * static_cast<size_t>(s.m * s.n) * sizeof(float) : 0);
  }
  /// The implementations of the blocks, in the order of their extents.
  std::string implementations() const {
    std::string names;
    for (const auto &[extents, found] : described)
      if (const std::string name = found.description.impl_info_str(); names.empty())
        names = name;
      else if (!names.ends_with(name))
        names += "+" + name;
    return names;
  }
  bool adds_residual(const ContractionShape &s) const {
    return s.residual &&
           (block.k < s.k ||
            std::ranges::all_of(described, [](const auto &entry) { return entry.second.adds_residual; }));
  }
};

/// Blocks that each take one thread, handed out by the executor.
class BlockedContraction final : public Contraction {
public:
  BlockedContraction(const DescribedBlocks &blocks, const ContractionShape &s)
      : shape_(s), sums_cut_(blocks.block.k < s.k), scratch_bytes_(blocks.scratch_bytes(s)),
        block_bytes_(blocks.block_bytes()), name_("onednn:" + blocks.implementations()) {
    for (const auto &[extents, found] : blocks.described)
      products_.emplace(extents, found);
    const auto item = static_cast<int64_t>(itemsize(s.dtype));
    blocks.for_each(s, [&](int64_t x, int64_t i, int64_t j, int64_t p, const Extents &extents) {
      Block block;
      block.product = &products_.at(extents);
      block.batch = extents[0];
      block.m = extents[1];
      block.n = extents[2];
      block.a = item * (x * s.a_strides[0] + i * s.a_strides[1] + p * s.a_strides[2]);
      block.b = item * (x * s.b_strides[0] + p * s.b_strides[1] + j * s.b_strides[2]);
      block.c = item * (x * s.c_strides[0] + i * s.c_strides[1] + j * s.c_strides[2]);
      block.bias = item * j;
      blocks_.push_back(block);
    });
  }

  size_t scratch_bytes(int width) const override { return scratch_bytes_; }
  size_t workspace_bytes() const override { return scratch_bytes_; }
  std::string implementation() const override { return name_; }

  Status run(const ContractionCall &call, const ContractionPlace &place) const override {
    if (place.stream)
      return refuse_stream(place);
    const auto [a, b, c, bias, residual, scratch, more] = call;
    const auto count = static_cast<int64_t>(blocks_.size());
    auto *const own = static_cast<std::byte *>(scratch);
    auto *const sums = reinterpret_cast<float *>(own + blocks_.size() * block_bytes_);
    // No exception may leave the body, because the executor's threads do not catch it.
    std::atomic<const char *> refusal{nullptr};
    std::atomic<bool> exhausted{false};
    const auto body = [&](int64_t begin, int64_t end, int) {
      const OneOpenMPThread one;
      try {
        for (int64_t t = begin; t < end; ++t) {
          const Block &block = blocks_[static_cast<size_t>(t)];
          void *const result = sums_cut_ ? static_cast<void *>(sums + t * shape_.m * shape_.n)
                                         : static_cast<char *>(c) + block.c;
          const void *const more = shape_.residual ? static_cast<const char *>(residual) + block.c : nullptr;
          block.product->run(static_cast<const char *>(a) + block.a, static_cast<const char *>(b) + block.b,
                             result, shape_.bias ? static_cast<const char *>(bias) + block.bias : nullptr,
                             more, own + static_cast<size_t>(t) * block_bytes_);
          if (!sums_cut_)
            finish(block, result, more);
        }
      } catch (const dnnl::error &error) {
        refusal = error.message;
      } catch (const std::bad_alloc &) {
        exhausted = true;
      }
    };
    if (place.serial)
      body(0, count, 0);
    else
      executor().parallel_for(count, 1, body);
    if (exhausted)
      throw std::bad_alloc();
    if (const char *why = refusal)
      return refused(why);
    if (sums_cut_)
      join(sums, static_cast<float *>(c), static_cast<const float *>(bias),
           static_cast<const float *>(residual));
    return {};
  }

private:
  using Extents = DescribedBlocks::Extents;
  struct Block {
    const Product *product;
    int64_t batch, m, n;
    int64_t a, b, c, bias; // where its operands begin, in bytes
  };

  /// Does what the block's primitive did not do, while the block is in the thread's cache.
  void finish(const Block &block, void *c, const void *residual) const {
    const bool adds = shape_.residual && !block.product->adds_residual();
    if (!adds && !shape_.relu)
      return;
    for (int64_t x = 0; x < block.batch; ++x)
      for (int64_t i = 0; i < block.m; ++i) {
        const int64_t at = x * shape_.c_strides[0] + i * shape_.c_strides[1];
        if (adds)
          add_row(c, residual, at, block.n);
        if (shape_.relu)
          relu_row(shape_.dtype, c, at, block.n);
      }
  }

  /// Adds the partial sums over k in order, then the bias and the residual, and applies relu.
  void join(const float *sums, float *c, const float *bias, const float *residual) const {
    for (int64_t i = 0; i < shape_.m; ++i) {
      const int64_t at = i * shape_.c_strides[1];
      sum_pieces(shape_, sums, static_cast<int64_t>(blocks_.size()), i, c + at);
      finish_row(shape_, c + at, bias, shape_.residual ? residual + at : nullptr, shape_.n);
    }
  }

  const ContractionShape shape_;
  const bool sums_cut_;
  const size_t scratch_bytes_, block_bytes_;
  const std::string name_;
  std::map<Extents, Product> products_;
  std::vector<Block> blocks_;
};

/// The layout of an operand or result that oneDNN supports.
enum class Layout {
  rows,     ///< one row after the other
  columns,  ///< one column after the other
  anything, ///< with room between them, or otherwise
};

Layout layout_of(int64_t batch, int64_t rows, int64_t columns, const std::array<int64_t, 3> &strides) {
  const dnnl::memory::dims found = strides_of(rows, columns, strides[1], strides[2]);
  if (batch > 1 && strides[0] != rows * columns)
    return Layout::anything;
  if (found == strides_of(rows, columns, columns, 1))
    return Layout::rows;
  return found == strides_of(rows, columns, 1, rows) ? Layout::columns : Layout::anything;
}

/// Which operands have to be copied, so that `implementation`, which computes the product of rows, adds in
/// the same order for this layout. Found by comparing bits over random shapes, and held by
/// Contraction.BitsDoNotDependOnHowOperandsLie: `brg`, which bf16 has, takes columns for either operand, but
/// adds otherwise where those of `a` are longer than 1,024; a block of rows is no dense part of them.
/// `gemm:jit` adds otherwise for columns. Those stay as they are, since their copies would cost as much as
/// small products: without AVX-512 the bits of a product follow from its shape and from which operands are
/// transposed.
Packing packing_of(const ContractionShape &s, std::string_view implementation) {
  if (takes_room(implementation))
    return {!fits(s.batch, s.m, s.k, s.a_strides), !fits(s.batch, s.k, s.n, s.b_strides), !result_fits(s)};
  const Layout a = layout_of(s.batch, s.m, s.k, s.a_strides), b = layout_of(s.batch, s.k, s.n, s.b_strides),
               c = layout_of(s.batch, s.m, s.n, s.c_strides);
  constexpr int64_t longest = 1024;
  const bool isCut = contraction_blocks(s, BlockCut::rows).m < s.m;
  return {a == Layout::anything || (a == Layout::columns && (s.k > longest || isCut)), b == Layout::anything,
          c != Layout::rows};
}

/// Whether elements of an operand repeat: a copy would be larger than the operand.
bool repeats(const ContractionShape &s) {
  const auto any = [&](const std::array<int64_t, 3> &strides, int64_t rows, int64_t columns) {
    return (strides[0] == 0 && s.batch > 1) || (strides[1] == 0 && rows > 1) ||
           (strides[2] == 0 && columns > 1);
  };
  return any(s.a_strides, s.m, s.k) || any(s.b_strides, s.k, s.n);
}

/// The implementation of a product: the blocks of `shape` with packed operands, or why there is none.
struct Choice {
  Packing packing;
  ContractionShape shape;
  std::unique_ptr<DescribedBlocks> blocks; ///< null if it is refused
  std::string refusal;
};

/// oneDNN is asked about row-major operands, so that neither its answer nor the implementation depends on the
/// layout of the operands, unless their elements repeat.
Choice choose(const ContractionShape &s) {
  const auto refuse = [](std::string why) { return Choice{{}, {}, nullptr, std::move(why)}; };
  const auto is_rows = [&](int64_t rows, int64_t columns, const std::array<int64_t, 3> &strides) {
    return layout_of(s.batch, rows, columns, strides) == Layout::rows;
  };
  const Packing all = {!is_rows(s.m, s.k, s.a_strides), !is_rows(s.k, s.n, s.b_strides),
                       !is_rows(s.m, s.n, s.c_strides)};
  const Described whole = describe(packed_shape(s, all));
  if (!whole.refusal.empty())
    return refuse(whole.refusal);
  if (all.any() && repeats(s))
    return refuse("an operand whose elements repeat");
  const std::string implementation = whole.description.impl_info_str();
  const auto with = [&](const Packing &packing) {
    const ContractionShape shape = packed_shape(s, packing);
    return Choice{packing, shape, std::make_unique<DescribedBlocks>(shape, cut_of(implementation)), {}};
  };
  Choice rows = with(all);
  if (!rows.blocks->refusal.empty())
    return refuse(rows.blocks->refusal);
  if (!all.any())
    return rows;
  Choice some = with(packing_of(s, implementation));
  const bool same =
      some.blocks->refusal.empty() && some.blocks->implementations() == rows.blocks->implementations();
  return same ? std::move(some) : std::move(rows);
}

/// Why a product is no sum of chains; empty where it is one.
std::string refusal_of_chains(const ContractionShape &s, const Packing &packing) {
  if (packing.any() && repeats(s))
    return "an operand whose elements repeat";
  return refusal_of(packed_shape(s, packing));
}

} // namespace

/// What was described to oneDNN, so that a contraction is made of it without asking again.
struct PreparedContraction {
  Choice choice;
  bool chained = false; ///< a sum of chains, of which nothing had to be described
  Packing packing;      ///< of its operands
};

std::shared_ptr<const PreparedContraction> prepare_library_contraction(const ContractionShape &shape,
                                                                       ContractionSelection &selection) {
  auto prepared = std::make_shared<PreparedContraction>();
  if (is_chained(shape)) {
    prepared->chained = true;
    prepared->packing = packing_of_chains(shape);
    selection.refusal = refusal_of_chains(shape, prepared->packing);
    if (!selection.refusal.empty())
      return nullptr;
    selection.implementation = implementation_of_chains(shape);
    selection.workspace_bytes = scratch_bytes_of_chains(shape);
    return prepared;
  }
  prepared->choice = choose(shape);
  const Choice &choice = prepared->choice;
  if (!choice.blocks) {
    selection.refusal = choice.refusal;
    return nullptr;
  }
  selection.implementation = "onednn:" + choice.blocks->implementations();
  selection.workspace_bytes = choice.blocks->scratch_bytes(choice.shape);
  return prepared;
}

Expected<std::shared_ptr<const Contraction>> make_library_contraction(const ContractionShape &shape,
                                                                      const PreparedContraction &prepared) {
  if (prepared.chained) {
    std::shared_ptr<const Contraction> made = make_chained(packed_shape(shape, prepared.packing));
    return prepared.packing.any() ? make_packed(shape, prepared.packing, std::move(made)) : std::move(made);
  }
  const Choice &choice = prepared.choice;
  try {
    const OneOpenMPThread one;
    std::shared_ptr<const Contraction> made =
        std::make_shared<BlockedContraction>(*choice.blocks, choice.shape);
    return choice.packing.any() ? make_packed(shape, choice.packing, std::move(made)) : std::move(made);
  } catch (const dnnl::error &error) {
    return Status::error(std::string("oneDNN has no fast implementation of this contraction: ") +
                         error.what());
  }
}

ContractionSupport ask_library_contraction(const ContractionShape &shape) {
  ContractionSelection selection;
  const std::shared_ptr<const PreparedContraction> prepared = prepare_library_contraction(shape, selection);
  if (!prepared)
    return {false, std::move(selection.refusal), false, 0};
  const Choice &choice = prepared->choice;
  const bool residual = prepared->chained ? shape.residual : choice.blocks->adds_residual(choice.shape);
  return {true, {}, residual, selection.workspace_bytes};
}

std::string Contraction::library() {
  const dnnl_version_t &version = *dnnl_version();
  return "oneDNN " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

} // namespace weft::runtime
